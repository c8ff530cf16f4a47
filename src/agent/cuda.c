// SPDX-License-Identifier: MIT
/*
 * Switching ahead for CUDA programs: a program that says when a request begins
 * (gpreempt_request_begin) has the GPU changed over to it while it still prepares the request. One
 * thread of a kernel waits on the GPU, at most as long as GPREEMPT_AHEAD_US says, until the request
 * ends; a few empty kernels wait behind it, because the hardware takes a process with nothing left
 * to launch for idle and changes back to another one although its kernel runs (measured on an H200,
 * docs/internals/gpu.md).
 *
 * Off unless asked for: a program that waits for the whole device, and not for a stream or an
 * event, waits for that kernel, too. Nothing here is linked with CUDA; without it, or without a
 * context on the calling thread, nothing happens.
 *
 * Each context has its kernel and stream, made once, and a page of host memory that the GPU reads.
 * There are as many pages as places, and no more: the next context gets the page of one that ended,
 * which is known by CUDA's letting us register it again. While all belong to contexts that live,
 * others do without.
 *
 * No CUDA call is made under the lock: it may wait for the GPU, or for a lock inside CUDA whose
 * owner waits for ours.
 */
#include "agent/interpose.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BEHIND          8 /* empty kernels */
#define CONTEXTS        64
#define TRIES           4 /* places that a context asks for at a time, when none is free */
#define PAGE            4096u
#define LONGEST_US      20000u
#define AUTO_US         2000 /* announced requests of a program with --ahead auto */
#define STREAM_ASIDE    1    /* CU_STREAM_NON_BLOCKING */
#define HOST_PORTABLE   3    /* CU_MEMHOSTREGISTER_PORTABLE | _DEVICEMAP */
#define CAPTURE_RELAXED 2    /* CU_STREAM_CAPTURE_MODE_RELAXED */

/* cuda.h, from 12.0 on: every function returns 0 or an error. */
#define CUDA_FUNCTIONS(X)                                                                   \
	X(context, "cuCtxGetCurrent", (void **context))                                     \
	X(set_context, "cuCtxSetCurrent", (void *context))                                  \
	X(context_id, "cuCtxGetId", (void *context, unsigned long long *id))                \
	X(capture_mode, "cuThreadExchangeStreamCaptureMode", (int *mode))                   \
	X(load, "cuModuleLoadData", (void **module, const void *image))                     \
	X(function, "cuModuleGetFunction", (void **function, void *module, const char *n))  \
	X(stream, "cuStreamCreate", (void **stream, unsigned flags))                        \
	X(unload, "cuModuleUnload", (void *module))                                         \
	X(host, "cuMemHostRegister_v2", (void *memory, size_t size, unsigned flags))        \
	X(host_off, "cuMemHostUnregister", (void *memory))                                  \
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

enum state {
	NONE,
	MAKING, /* a thread is at it; the others do without */
	READY,
	STALE,  /* a launch failed: it is made once more */
	BROKEN, /* it would fail every time */
};

/* What is in a context. */
struct place {
	enum state state;
	unsigned long long id;   /* CUDA never gives it again */
	unsigned long long next; /* MAKING: the context it is for */
	void *function, *stream;
	/* Host memory that the GPU reads. Ours, and of this place for ever: it is written when a
	 * request ends, maybe after its context did. */
	u32 *flag;
	u64 device_flag;
	u32 count;  /* kernels that were told to wait */
	bool armed; /* the last of them was not told yet that it need not any more */
	bool again; /* it was made a second time */
	u64 used;   /* the place that was used longest ago is the first to be asked for */
};

#define DECLARE(name, symbol, arguments) int(*name) arguments;
static struct {
	pthread_mutex_t lock;
	struct {
		CUDA_FUNCTIONS(DECLARE)
	} cuda;
	bool looked, usable; /* for the functions above */
	u64 ns;              /* 0: not wanted */
	u64 uses;
	u32 open; /* requests */
	struct place places[CONTEXTS];
} ahead = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *find_symbol(void *library, const char *name)
{
	return gp_agent_hooks.symbol ? gp_agent_hooks.symbol(library, name) : dlsym(library, name);
}

static bool find_functions(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	bool all = library != NULL;

	/* dlsym() gives an object's pointer; POSIX wants that it can be a function's. */
#define FIND(name, symbol, arguments)                                               \
	*(void **)&ahead.cuda.name = library ? find_symbol(library, symbol) : NULL; \
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
		text = getenv("GPREEMPT_AHEAD");
		if (!us && text && strcmp(text, "auto") == 0)
			us = AUTO_US;
		if (us > 0 && us <= (long)LONGEST_US)
			ahead.ns = (u64)us * 1000;
		ahead.usable = ahead.ns && find_functions();
	}
	return ahead.usable;
}

static struct place *find_place(unsigned long long id)
{
	for (u32 i = 0; i < CONTEXTS; i++) {
		struct place *p = &ahead.places[i];

		if (p->state != NONE && (p->id == id || (p->state == MAKING && p->next == id)))
			return p;
	}
	return NULL;
}

/* The place that was used longest ago, and not within a request: its context has most likely ended.
 * NULL: all are in use. */
static struct place *oldest_place(void)
{
	struct place *oldest = NULL;

	for (u32 i = 0; i < CONTEXTS; i++) {
		struct place *p = &ahead.places[i];

		if (p->state != MAKING && !p->armed && (!oldest || p->used < oldest->used))
			oldest = p;
	}
	return oldest;
}

/* What is made in a context and not in its page; leaves nothing behind when it fails. */
static bool make_kernel(struct place *out)
{
	void *module;

	if (ahead.cuda.device(&out->device_flag, out->flag, 0) || ahead.cuda.load(&module, kernel))
		return false;
	if (!ahead.cuda.function(&out->function, module, "gpreempt_ahead") &&
	    !ahead.cuda.stream(&out->stream, STREAM_ASIDE))
		return true;
	ahead.cuda.unload(module);
	return false;
}

/* In the current context; `out` is nobody else's. READY, BROKEN, or NONE: its page is registered by
 * another context, which lives. `own`: if so, it is by this one. */
static enum state set_up(struct place *out, bool own)
{
	bool registered, good = false, first = !out->flag;
	int mode = CAPTURE_RELAXED;

	if (first) {
		void *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (memory == MAP_FAILED)
			return BROKEN;
		out->flag = memory;
	}
	/* Another thread may be recording a graph, which these calls would end otherwise. */
	if (ahead.cuda.capture_mode(&mode))
		return BROKEN;
	registered = !ahead.cuda.host(out->flag, PAGE, HOST_PORTABLE);
	if (registered || own)
		good = make_kernel(out);
	if (registered && !good)
		ahead.cuda.host_off(out->flag);
	ahead.cuda.capture_mode(&mode);
	return good ? READY : registered || own || first ? BROKEN : NONE;
}

static bool launch(const struct place *place, u32 until, u64 ns)
{
	u64 device_flag = place->device_flag;
	void *parameters[] = {&device_flag, &until, &ns};

	return !ahead.cuda.launch(place->function, 1, 1, 1, 1, 1, 1, 0, place->stream, parameters,
				  NULL);
}

/* With the lock held, which is let go of meanwhile: nobody takes a place that is being made. False:
 * it is another context's, and stays so. */
static bool make_place(struct place *place, unsigned long long id)
{
	enum state was = place->state, is;
	bool stale = was == STALE && place->id == id;
	struct place made = {.id = id, .flag = place->flag, .count = place->count, .again = stale};

	place->id = was == NONE ? id : place->id;
	place->next = id;
	place->state = MAKING;
	pthread_mutex_unlock(&ahead.lock);
	is = set_up(&made, stale);
	pthread_mutex_lock(&ahead.lock);
	if (is != NONE)
		*place = made;
	place->state = is != NONE ? is : was;
	place->used = ++ahead.uses;
	return is != NONE;
}

/* The current context's, made if it was not; NULL: none. */
static struct place *own_place(unsigned long long id)
{
	struct place *place = find_place(id);

	if (place && place->state == STALE && !make_place(place, id))
		return NULL;
	for (int i = 0; i < TRIES && !place; i++) {
		place = oldest_place();
		if (!place)
			return NULL;
		if (!make_place(place, id))
			place = NULL;
	}
	return place && place->state == READY ? place : NULL;
}

/* The current context's, as the threads of this program have it; *until is what its next kernel
 * waits for. False: none, or there is no need. */
static bool take_place(unsigned long long id, struct place *out, u32 *until)
{
	struct place *place = own_place(id);

	if (!place || place->armed)
		return false;
	place->used = ++ahead.uses;
	*until = ++place->count;
	*out = *place;
	/* A request that ended meanwhile, in another thread, leaves nothing to wait for. */
	if (ahead.open)
		place->armed = true;
	else
		__atomic_store_n(place->flag, *until, __ATOMIC_RELEASE);
	return true;
}

/* The context may have been reset under its number; if that was not it, it is left alone. */
static void forget(const struct place *failed)
{
	struct place *place;

	pthread_mutex_lock(&ahead.lock);
	place = find_place(failed->id);
	if (place && place->state == READY) {
		place->state = place->again ? BROKEN : STALE;
		place->armed = false;
		__atomic_store_n(place->flag, place->count, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&ahead.lock);
}

static bool current_id(unsigned long long *id)
{
	void *context;

	return !ahead.cuda.context(&context) && context && !ahead.cuda.context_id(context, id);
}

static bool wake(u64 ns)
{
	unsigned long long id;
	struct place place;
	bool good;
	u32 until;

	if (!current_id(&id))
		return false;
	pthread_mutex_lock(&ahead.lock);
	good = take_place(id, &place, &until);
	pthread_mutex_unlock(&ahead.lock);
	if (!good)
		return false;
	good = launch(&place, until, ns);
	for (int i = 0; i < BEHIND && good; i++)
		good = launch(&place, 0, ns);
	if (!good)
		forget(&place);
	return good;
}

static void let_go(void)
{
	for (u32 i = 0; i < CONTEXTS; i++) {
		struct place *p = &ahead.places[i];

		if (p->state != READY || !p->armed)
			continue;
		__atomic_store_n(p->flag, p->count, __ATOMIC_RELEASE);
		p->armed = false;
	}
}

void gp_agent_ahead(bool begin)
{
	bool usable;

	/* Of requests that overlap in a context the first has the GPU changed over, and the last to
	 * end lets it go. */
	pthread_mutex_lock(&ahead.lock);
	usable = wanted();
	if (begin && usable)
		ahead.open++;
	else if (!begin && ahead.open && !--ahead.open)
		let_go();
	pthread_mutex_unlock(&ahead.lock);
	if (begin && usable)
		wake(ahead.ns);
}

void *gp_agent_ahead_context(void)
{
	void *context = NULL;
	bool usable;

	pthread_mutex_lock(&ahead.lock);
	usable = wanted();
	pthread_mutex_unlock(&ahead.lock);
	return usable && !ahead.cuda.context(&context) ? context : NULL;
}

void gp_agent_ahead_prepare(void *context)
{
	unsigned long long id;

	pthread_mutex_lock(&ahead.lock);
	if (wanted()) {
		pthread_mutex_unlock(&ahead.lock);
		if (ahead.cuda.set_context(context) || !current_id(&id))
			return;
		pthread_mutex_lock(&ahead.lock);
		(void)own_place(id);
	}
	pthread_mutex_unlock(&ahead.lock);
}

bool gp_agent_ahead_begin(void *context, u64 ns)
{
	bool usable;

	pthread_mutex_lock(&ahead.lock);
	usable = wanted();
	ahead.open += usable;
	pthread_mutex_unlock(&ahead.lock);
	if (!usable)
		return false;
	if (!ahead.cuda.set_context(context) && wake(ns))
		return true;
	gp_agent_ahead_end();
	return false;
}

void gp_agent_ahead_end(void)
{
	gp_agent_ahead(false);
}

/* Never back to an earlier count: a kernel that was let go may not have read it yet. */
void gp_agent_ahead_release(void)
{
	for (u32 i = 0; i < CONTEXTS; i++) {
		struct place *p = &ahead.places[i];
		u32 *flag = __atomic_load_n(&p->flag, __ATOMIC_ACQUIRE);
		u32 count = __atomic_load_n(&p->count, __ATOMIC_ACQUIRE), seen;

		if (!flag || !__atomic_load_n(&p->armed, __ATOMIC_ACQUIRE))
			continue;
		seen = __atomic_load_n(flag, __ATOMIC_RELAXED);
		while (seen < count &&
		       !__atomic_compare_exchange_n(flag, &seen, count, true, __ATOMIC_RELEASE,
						    __ATOMIC_RELAXED))
			;
	}
}

/* Locks of threads that are not in this process; CUDA is not here either. */
void gp_agent_ahead_forked(void)
{
	pthread_mutex_init(&ahead.lock, NULL);
	ahead.open = 0;
}
