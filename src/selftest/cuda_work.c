// SPDX-License-Identifier: MIT
/*
 * gpreempt-selftest-cuda PCI CONTEXTS: the CUDA program that `gpreempt selftest` stops and
 * continues on an NVIDIA GPU. In each of its contexts it launches a kernel that waits at a gate and
 * behind it kernels that check themselves until they are told to stop (cuda_kernel.h). A kernel
 * that ends before an earlier one, twice or never is an error, and so is a wrong value in a
 * register or in shared memory. It talks as work.c does: one letter on stdin is a command, one line
 * on stdout its answer, "ok NUMBER" or "bad SENTENCE"; the first line is "ok CONTEXTS kernel". It
 * ends when stdin does.
 *
 * Only CUDA's driver library is used, found at run time; no toolkit is needed to build it.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "selftest/cuda_kernel.h"

#define LIBRARY    "libcuda.so.1"
#define CONTEXTS   16
#define KERNELS    16 /* of one batch in each context; the first is the gate */
#define PAGE_BYTES 4096
#define WAIT_S     120
#define POLL_NS    200000

/* cuda.h */
enum {
	NOT_READY = 600,
	SCHED_BLOCKING = 4,
	STREAM_ASIDE = 1,
	HOST_DEVICEMAP = 2,
	SM_COUNT = 16,
};

#define FUNCTIONS(X)                                                                          \
	X(init, "cuInit", (unsigned flags))                                                   \
	X(error_string, "cuGetErrorString", (int error, const char **text))                   \
	X(device_count, "cuDeviceGetCount", (int *count))                                     \
	X(device_get, "cuDeviceGet", (int *device, int ordinal))                              \
	X(device_pci, "cuDeviceGetPCIBusId", (char *id, int size, int device))                \
	X(device_attribute, "cuDeviceGetAttribute", (int *value, int which, int device))      \
	X(context_create, "cuCtxCreate_v2", (void **context, unsigned flags, int device))     \
	X(context_set, "cuCtxSetCurrent", (void *context))                                    \
	X(module_load, "cuModuleLoadData", (void **module, const void *image))                \
	X(module_function, "cuModuleGetFunction", (void **f, void *module, const char *n))    \
	X(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                   \
	X(stream_query, "cuStreamQuery", (void *stream))                                      \
	X(host_alloc, "cuMemHostAlloc", (void **memory, size_t size, unsigned flags))         \
	X(host_device, "cuMemHostGetDevicePointer_v2", (uint64_t * out, void *m, unsigned f)) \
	X(alloc, "cuMemAlloc_v2", (uint64_t * out, size_t size))                              \
	X(to_device, "cuMemcpyHtoD_v2", (uint64_t to, const void *from, size_t size))         \
	X(from_device, "cuMemcpyDtoH_v2", (void *to, uint64_t from, size_t size))             \
	X(launch, "cuLaunchKernel",                                                           \
	  (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,   \
	   unsigned bz, unsigned shared, void *stream, void **parameters, void **extra))

struct context {
	void *context, *stream, *gate, *work;
	char *page; /* host memory that both see */
	uint64_t page_device, x, steps, aside;
};

struct program {
	struct {
#define DECLARE(name, symbol, arguments) int(*name) arguments;
		FUNCTIONS(DECLARE)
#undef DECLARE
	} cuda;
	uint32_t count;  /* contexts that were made */
	uint32_t blocks; /* of a kernel */
	struct context contexts[CONTEXTS];
	uint32_t *x; /* what comes back, of all threads */
	uint64_t *steps;
	char error[256];
};

__attribute__((format(printf, 2, 3))) static long fail(struct program *program, const char *format,
						       ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(program->error, sizeof(program->error), format, args);
	va_end(args);
	return -1;
}

static long fail_call(struct program *program, const char *call, int error)
{
	const char *text = NULL;

	if (program->cuda.error_string(error, &text) || !text)
		text = "?";
	return fail(program, "%s: %.160s (%d)", call, text, error);
}

/* In functions that return -1 on an error. */
#define CALL(name, ...)                                                        \
	do {                                                                   \
		int call_error = program->cuda.name(__VA_ARGS__);              \
		if (call_error)                                                \
			return fail_call(program, "CUDA: " #name, call_error); \
	} while (0)

static volatile uint32_t *word(const struct context *context, size_t at)
{
	return (volatile uint32_t *)(void *)(context->page + at);
}

static size_t threads(const struct program *program)
{
	return (size_t)program->blocks * GP_CUDA_THREADS;
}

static uint32_t first_x(size_t thread)
{
	return (uint32_t)thread * 747796405u + 12345u;
}

/* ---- making it ---- */

static long load(struct program *program)
{
	void *library = dlopen(LIBRARY, RTLD_NOW);

	if (!library)
		return fail(program, "no CUDA driver library: %s", dlerror());
		/* dlsym() gives an object's pointer; POSIX wants that it can be a function's. */
#define FIND(name, symbol, arguments)                           \
	*(void **)&program->cuda.name = dlsym(library, symbol); \
	if (!program->cuda.name)                                \
		return fail(program, LIBRARY " has no " symbol);
	FUNCTIONS(FIND)
#undef FIND
	return 0;
}

/* CUDA numbers GPUs in an order of its own; their PCI addresses are the system's. */
static long find_device(struct program *program, const char *pci, int *device)
{
	int count = 0;

	CALL(device_count, &count);
	for (int i = 0; i < count; i++) {
		char id[32] = "";

		CALL(device_get, device, i);
		CALL(device_pci, id, sizeof(id), *device);
		/* The domain may have four digits or eight. */
		if (pci[0] == '-' || (strlen(id) >= strlen(pci) &&
				      strcasecmp(id + strlen(id) - strlen(pci), pci) == 0))
			return 0;
	}
	return fail(program, "CUDA does not list GPU %s; it may be hidden by CUDA_VISIBLE_DEVICES",
		    pci);
}

static long make_memory(struct program *program, struct context *c)
{
	static const char zeros[PAGE_BYTES];
	size_t count = threads(program);
	void *page;

	CALL(host_alloc, &page, PAGE_BYTES, HOST_DEVICEMAP);
	memset(page, 0, PAGE_BYTES);
	c->page = page;
	CALL(host_device, &c->page_device, page, 0);
	CALL(alloc, &c->x, count * sizeof(*program->x));
	CALL(alloc, &c->steps, count * sizeof(*program->steps));
	CALL(alloc, &c->aside, PAGE_BYTES);
	for (size_t i = 0; i < count; i++) {
		program->x[i] = first_x(i);
		program->steps[i] = 0;
	}
	CALL(to_device, c->x, program->x, count * sizeof(*program->x));
	CALL(to_device, c->steps, program->steps, count * sizeof(*program->steps));
	CALL(to_device, c->aside, zeros, PAGE_BYTES);
	return 0;
}

static long put_one(struct program *program, struct context *c);
static long await_one(struct program *program, struct context *c, time_t begin);

/* CUDA may load a kernel at its first launch and wait for those that run: none must wait for us
 * then. */
static long try_kernels(struct program *program, struct context *c)
{
	if (put_one(program, c) < 0)
		return -1;
	*word(c, GP_CUDA_STOP) = 1;
	*word(c, GP_CUDA_GO) = 1;
	return await_one(program, c, time(NULL));
}

static long make_context(struct program *program, struct context *c, int device)
{
	void *module;

	CALL(context_create, &c->context, SCHED_BLOCKING, device);
	CALL(module_load, &module, gp_cuda_kernels);
	CALL(module_function, &c->gate, module, "gate");
	CALL(module_function, &c->work, module, "work");
	CALL(stream_create, &c->stream, STREAM_ASIDE);
	if (make_memory(program, c) < 0)
		return -1;
	program->count++;
	return try_kernels(program, c);
}

static long prepare(struct program *program, const char *pci, uint32_t count)
{
	int device = 0, multiprocessors = 0;

	/* See try_kernels(). */
	if (setenv("CUDA_MODULE_LOADING", "EAGER", 1) || load(program) < 0)
		return -1;
	CALL(init, 0);
	if (find_device(program, pci, &device) < 0)
		return -1;
	CALL(device_attribute, &multiprocessors, SM_COUNT, device);
	program->blocks = 2 * (uint32_t)multiprocessors;
	program->x = calloc(threads(program), sizeof(*program->x));
	program->steps = calloc(threads(program), sizeof(*program->steps));
	if (!program->x || !program->steps)
		return fail(program, "out of memory");
	for (uint32_t i = 0; i < count; i++)
		if (make_context(program, &program->contexts[i], device) < 0)
			return -1;
	return 0;
}

/* ---- the work ---- */

static long put_one(struct program *program, struct context *c)
{
	void *gate[] = {&c->page_device};
	static const uint32_t no;

	*word(c, GP_CUDA_GO) = *word(c, GP_CUDA_STOP) = 0;
	*(volatile uint64_t *)(void *)(c->page + GP_CUDA_PROGRESS) = 0;
	for (size_t i = 0; i < KERNELS; i++)
		*word(c, GP_CUDA_DONE + 4 * i) = 0;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	CALL(context_set, c->context);
	CALL(to_device, c->aside + GP_CUDA_TOLD, &no, sizeof(no));
	CALL(launch, c->gate, 1, 1, 1, 1, 1, 1, 0, c->stream, gate, NULL);
	for (uint32_t i = 1; i < KERNELS; i++) {
		void *work[] = {&c->page_device, &c->x, &c->steps, &c->aside, &i};

		CALL(launch, c->work, program->blocks, 1, 1, GP_CUDA_THREADS, 1, 1, 0, c->stream,
		     work, NULL);
	}
	return 0;
}

/* A batch in every context, all of it behind the gate. The one before must have ended. */
static long put(struct program *program)
{
	for (uint32_t i = 0; i < program->count; i++)
		if (put_one(program, &program->contexts[i]) < 0)
			return -1;
	return (long)program->count * KERNELS;
}

static long set(struct program *program, bool stop)
{
	for (uint32_t i = 0; i < program->count; i++) {
		if (stop)
			*word(&program->contexts[i], GP_CUDA_STOP) = 1;
		*word(&program->contexts[i], GP_CUDA_GO) = 1;
	}
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return 0;
}

/* How many kernels have ended. Read from the last: those before an ended one must have, too. */
static long look(struct program *program)
{
	long count = 0;

	for (uint32_t c = 0; c < program->count; c++) {
		bool later = false;

		for (int i = KERNELS - 1; i >= 0; i--) {
			uint32_t ended = *word(&program->contexts[c], GP_CUDA_DONE + 4 * (size_t)i);

			if (ended > 1)
				return fail(program, "kernel %d of context %u completed %u times",
					    i, c, ended);
			if (!ended && later)
				return fail(program,
					    "a later kernel overtook kernel %d of context %u", i,
					    c);
			later = later || ended;
			count += ended;
		}
	}
	return count;
}

/* Rounds of the first thread of every context, since the batch was put. */
static long progress(struct program *program)
{
	uint64_t rounds = 0;

	for (uint32_t c = 0; c < program->count; c++)
		rounds += *(volatile uint64_t *)(void *)(program->contexts[c].page +
							 GP_CUDA_PROGRESS);
	return (long)(rounds & 0x7fffffff);
}

static long pause_until(struct program *program, time_t begin, const char *what)
{
	if (look(program) < 0)
		return -1;
	if (time(NULL) - begin > WAIT_S)
		return fail(program, "%s within %d s", what, WAIT_S);
	nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	return 0;
}

/* The first kernel of each context runs when this is answered, and goes on until it is told. */
static long run(struct program *program)
{
	time_t begin = time(NULL);

	set(program, false);
	for (uint32_t c = 0; c < program->count; c++)
		while (!*(volatile uint64_t *)(void *)(program->contexts[c].page +
						       GP_CUDA_PROGRESS))
			if (pause_until(program, begin, "no kernel started") < 0)
				return -1;
	return 0;
}

/* x after so many steps, without taking each. */
static uint32_t after(uint32_t x, uint64_t steps)
{
	uint32_t a = GP_CUDA_A, c = GP_CUDA_C, all_a = 1, all_c = 0;

	for (; steps; steps >>= 1) {
		if (steps & 1) {
			all_c = a * all_c + c;
			all_a *= a;
		}
		c *= a + 1;
		a *= a;
	}
	return all_a * x + all_c;
}

static long check_state(struct program *program, struct context *c, uint32_t index)
{
	uint32_t bad = 0;

	CALL(context_set, c->context);
	CALL(from_device, program->x, c->x, threads(program) * sizeof(*program->x));
	CALL(from_device, program->steps, c->steps, threads(program) * sizeof(*program->steps));
	CALL(from_device, &bad, c->aside + GP_CUDA_BAD, sizeof(bad));
	if (bad)
		return fail(program, "%u words of shared memory were corrupted in context %u", bad,
			    index);
	for (size_t i = 0; i < threads(program); i++)
		if (!program->steps[i] || after(first_x(i), program->steps[i]) != program->x[i])
			return fail(program, "a register of thread %zu in context %u was corrupted",
				    i, index);
	return 0;
}

static long await_one(struct program *program, struct context *c, time_t begin)
{
	int error;

	CALL(context_set, c->context);
	while ((error = program->cuda.stream_query(c->stream)) == NOT_READY)
		if (pause_until(program, begin, "the kernels did not finish") < 0)
			return -1;
	return error ? fail_call(program, "CUDA: running the kernels", error) : 0;
}

static long finish(struct program *program)
{
	time_t begin = time(NULL);

	set(program, true);
	for (uint32_t i = 0; i < program->count; i++) {
		struct context *c = &program->contexts[i];

		if (await_one(program, c, begin) < 0 || check_state(program, c, i) < 0)
			return -1;
	}
	return look(program);
}

/* ---- commands ---- */

static void answer(const struct program *program, long result)
{
	if (result < 0)
		printf("bad %s\n", program->error);
	else
		printf("ok %ld\n", result);
	fflush(stdout);
}

static bool obey(struct program *program, char command)
{
	switch (command) {
	case 'p':
		answer(program, put(program));
		return true;
	case 'g':
		answer(program, set(program, true));
		return true;
	case 'r':
		answer(program, run(program));
		return true;
	case 'l':
		answer(program, look(program));
		return true;
	case 'c':
		answer(program, progress(program));
		return true;
	case 'f':
		answer(program, finish(program));
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	static struct program program;
	uint32_t count;
	char command;

	if (argc != 3)
		return 2;
	count = (uint32_t)strtoul(argv[2], NULL, 10);
	if (!count || count > CONTEXTS)
		return 2;
	if (prepare(&program, argv[1], count) < 0) {
		answer(&program, -1);
		return 1;
	}
	printf("ok %u kernel \n", program.count);
	fflush(stdout);
	while (read(STDIN_FILENO, &command, 1) == 1 && obey(&program, command))
		;
	set(&program, true);
	/* Without CUDA's exit handlers, which would wait for kernels that somebody may hold. */
	_exit(0);
}
