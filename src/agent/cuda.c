/*
 * Switching ahead for CUDA programs: a program that says when a request begins
 * (gpreempt_request_begin) has the GPU changed over to it while it still prepares the request. One
 * thread of a kernel waits on the GPU, at most as long as GPREEMPT_AHEAD_US says, until the request
 * ends; a few empty kernels wait behind it, because the hardware takes a process with nothing left
 * to launch for idle and changes back to another one although its kernel runs (measured on an H200,
 * docs/nvidia.md).
 *
 * Off unless asked for: a program that waits for the whole device, and not for a stream or an
 * event, waits for that kernel, too. Nothing here is linked with CUDA; without it, or without a
 * context on the calling thread, nothing happens.
 */
#include "agent/interpose.h"

#include <dlfcn.h>
#include <stdlib.h>

#define BEHIND          8 /* empty kernels */
#define LONGEST_US      20000u
#define STREAM_ASIDE    1 /* CU_STREAM_NON_BLOCKING */
#define HOST_PORTABLE   3 /* CU_MEMHOSTALLOC_PORTABLE | _DEVICEMAP */
#define CAPTURE_RELAXED 2 /* CU_STREAM_CAPTURE_MODE_RELAXED */

/* cuda.h, from 12.0 on: every function returns 0 or an error. */
#define CUDA_FUNCTIONS(X)                                                                   \
	X(context, "cuCtxGetCurrent", (void **context))                                     \
	X(context_id, "cuCtxGetId", (void *context, unsigned long long *id))                \
	X(capture_mode, "cuThreadExchangeStreamCaptureMode", (int *mode))                   \
	X(load, "cuModuleLoadData", (void **module, const void *image))                     \
	X(function, "cuModuleGetFunction", (void **function, void *module, const char *n))  \
	X(stream, "cuStreamCreate", (void **stream, unsigned flags))                        \
	X(host, "cuMemHostAlloc", (void **memory, size_t size, unsigned flags))             \
	X(device, "cuMemHostGetDevicePointer_v2", (u64 * out, void *memory, unsigned f))    \
	X(launch, "cuLaunchKernel",                                                         \
	  (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, \
	   unsigned bz, unsigned shared, void *stream, void **parameters, void **extra))

/* Waits until *flag reaches `until`, or for `ns`. */
static const char kernel[] = ".version 6.0\n"
			     ".target sm_50\n"
			     ".address_size 64\n"
			     ".visible .entry gpreempt_ahead(.param .u64 flag, .param .u32 until,\n"
			     "                               .param .u64 ns)\n"
			     "{\n"
			     " .reg .pred %p<3>;\n"
			     " .reg .u32 %r<3>;\n"
			     " .reg .u64 %d<6>;\n"
			     " ld.param.u64 %d1, [flag];\n"
			     " ld.param.u32 %r1, [until];\n"
			     " ld.param.u64 %d2, [ns];\n"
			     " mov.u64 %d3, %globaltimer;\n"
			     "again:\n"
			     " ld.volatile.global.u32 %r2, [%d1];\n"
			     " setp.ge.u32 %p1, %r2, %r1;\n"
			     " @%p1 bra done;\n"
			     " mov.u64 %d4, %globaltimer;\n"
			     " sub.u64 %d5, %d4, %d3;\n"
			     " setp.lt.u64 %p2, %d5, %d2;\n"
			     " @%p2 bra again;\n"
			     "done:\n"
			     " ret;\n"
			     "}\n";

#define DECLARE(name, symbol, arguments) int(*name) arguments;
static struct {
	pthread_mutex_t lock;
	struct {
		CUDA_FUNCTIONS(DECLARE)
	} cuda;
	bool looked, usable; /* for the functions above */
	u64 ns;              /* 0: not wanted */
	/* Of the context it was last used in. */
	bool ready;
	unsigned long long context;
	void *function, *stream;
	u32 *flag; /* host memory that the GPU reads */
	u64 device_flag;
	u32 count, open;
} ahead = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool find_functions(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	bool all = library != NULL;

	/* dlsym() gives an object's pointer; POSIX wants that it can be a function's. */
#define FIND(name, symbol, arguments)                                         \
	*(void **)&ahead.cuda.name = library ? dlsym(library, symbol) : NULL; \
	all = all && ahead.cuda.name;
	CUDA_FUNCTIONS(FIND)
#undef FIND
	return all;
}

static bool wanted(void)
{
	const char *text;
	long us;

	if (!ahead.looked) {
		ahead.looked = true;
		text = getenv("GPREEMPT_AHEAD_US");
		us = text ? atol(text) : 0;
		if (us > 0 && us <= (long)LONGEST_US)
			ahead.ns = (u64)us * 1000;
		ahead.usable = ahead.ns && find_functions();
	}
	return ahead.usable;
}

static bool set_up(unsigned long long context)
{
	void *module, *memory;
	int mode = CAPTURE_RELAXED;
	bool good;

	/* Another thread may be recording a graph, which these calls would end otherwise. */
	if (ahead.cuda.capture_mode(&mode))
		return false;
	good = !ahead.cuda.load(&module, kernel) &&
	       !ahead.cuda.function(&ahead.function, module, "gpreempt_ahead") &&
	       !ahead.cuda.stream(&ahead.stream, STREAM_ASIDE) &&
	       !ahead.cuda.host(&memory, sizeof(u32), HOST_PORTABLE) &&
	       !ahead.cuda.device(&ahead.device_flag, memory, 0);
	ahead.cuda.capture_mode(&mode);
	if (!good) {
		ahead.usable = false; /* it would fail every time */
		return false;
	}
	ahead.flag = memory;
	__atomic_store_n(ahead.flag, ahead.count, __ATOMIC_RELEASE);
	ahead.context = context;
	return ahead.ready = true;
}

static void launch(u32 until)
{
	void *parameters[] = {&ahead.device_flag, &until, &ahead.ns};

	if (ahead.cuda.launch(ahead.function, 1, 1, 1, 1, 1, 1, 0, ahead.stream, parameters, NULL))
		ahead.ready = false;
}

static void wake(void)
{
	unsigned long long id;
	void *context;

	if (ahead.cuda.context(&context) || !context || ahead.cuda.context_id(context, &id))
		return;
	if ((!ahead.ready || ahead.context != id) && !set_up(id))
		return;
	launch(++ahead.count);
	for (int i = 0; i < BEHIND && ahead.ready; i++)
		launch(0);
}

void gp_agent_ahead(bool begin)
{
	/* Requests that overlap: the first of them has the GPU changed over. */
	pthread_mutex_lock(&ahead.lock);
	if (begin && wanted() && !ahead.open++)
		wake();
	else if (!begin && ahead.open && !--ahead.open && ahead.flag)
		__atomic_store_n(ahead.flag, ahead.count, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&ahead.lock);
}
