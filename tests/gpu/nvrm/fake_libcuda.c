// SPDX-License-Identifier: MIT
/*
 * A libcuda with what the agent uses to switch ahead: contexts, each with a kernel that "waits" as
 * long as the word it was given is less than what it waits for. A launch can be made to wait, too,
 * as one does when the GPU's queue is full. Host memory is registered by one context at a time,
 * until that takes it back or ends.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTEXTS 128
#define PAGES    4096

static struct context {
	const uint32_t *flag;
	uint32_t until;
	int loads, launches;
	int generation; /* how often it ended */
} contexts[CONTEXTS];
static struct {
	void *memory;
	const struct context *by; /* NULL: not registered any more */
} pages[PAGES];
static int page_count, modules, fails; /* fails: enum failure */
enum failure { FAIL_LOAD = 1, FAIL_STREAM, FAIL_LAUNCH, FAIL_REGISTER };
static __thread struct context *current = contexts;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool full, waits; /* launches must wait; one does */
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false};

int cuCtxGetCurrent(void **out);
int cuCtxGetId(void *of, unsigned long long *id);
int cuThreadExchangeStreamCaptureMode(int *mode);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuStreamCreate(void **stream, unsigned flags);
int cuModuleUnload(void *module);
int cuMemHostRegister_v2(void *memory, size_t size, unsigned flags);
int cuMemHostUnregister(void *memory);
int cuMemHostGetDevicePointer_v2(uint64_t *out, void *memory, unsigned flags);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **parameters, void **extra);
void fake_use(int context);
int fake_launches(void);
int fake_loads(void);
int fake_pages(void);
int fake_pinned(void);
int fake_modules(void);
void fake_end(int context);
void fake_fail(int what);
void fake_fill(bool full);
void fake_await_waiting(void);

int cuCtxGetCurrent(void **out)
{
	*out = current;
	return 0;
}

int cuCtxGetId(void *of, unsigned long long *id)
{
	const struct context *c = of;

	*id = 7 + (unsigned long long)(c - contexts) + (unsigned long long)c->generation * CONTEXTS;
	return of != current;
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
	*mode = 0;
	return 0;
}

int cuModuleLoadData(void **module, const void *image)
{
	if (fails == FAIL_LOAD)
		return 2;
	current->loads++;
	modules++;
	*module = current;
	return !image;
}

int cuModuleUnload(void *module)
{
	modules--;
	return module != current;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
	*function = module;
	return name[0] != 'g';
}

int cuStreamCreate(void **stream, unsigned flags)
{
	*stream = current;
	/* It must not wait for the program's default stream. */
	return fails == FAIL_STREAM ? 2 : flags != 1;
}

int cuMemHostRegister_v2(void *memory, size_t size, unsigned flags)
{
	int i = 0;

	if (!memory || size < sizeof(uint32_t) || flags != 3 || fails == FAIL_REGISTER)
		return 1;
	while (i < page_count && pages[i].memory != memory)
		i++;
	if (i == PAGES || pages[i].by)
		return 712; /* CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED */
	page_count += i == page_count;
	pages[i].memory = memory;
	pages[i].by = current;
	return 0;
}

int cuMemHostUnregister(void *memory)
{
	for (int i = 0; i < page_count; i++) {
		if (pages[i].memory != memory || !pages[i].by)
			continue;
		pages[i].by = NULL;
		return 0;
	}
	return 713; /* CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED */
}

int cuMemHostGetDevicePointer_v2(uint64_t *out, void *memory, unsigned flags)
{
	*out = (uint64_t)(uintptr_t)memory;
	for (int i = 0; i < page_count; i++)
		if (pages[i].memory == memory && pages[i].by == current)
			return flags != 0;
	return 1; /* another context's would go with that */
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **parameters, void **extra)
{
	if (function != current || gx * gy * gz * bx * by * bz != 1 || shared ||
	    stream != current || extra || fails == FAIL_LAUNCH)
		return 1;
	pthread_mutex_lock(&queue.lock);
	while (queue.full) {
		queue.waits = true;
		pthread_cond_broadcast(&queue.change);
		pthread_cond_wait(&queue.change, &queue.lock);
	}
	current->flag = (const uint32_t *)(uintptr_t) * (const uint64_t *)parameters[0];
	if (*(const uint32_t *)parameters[1])
		current->until = *(const uint32_t *)parameters[1];
	current->launches++;
	pthread_mutex_unlock(&queue.lock);
	return 0;
}

/* ---- for the program ---- */

void fake_use(int context)
{
	current = &contexts[context % CONTEXTS];
}

/* All, and 1000 for each context in which one of them waits. */
int fake_launches(void)
{
	int sum = 0;

	for (int i = 0; i < CONTEXTS; i++) {
		const struct context *c = &contexts[i];

		sum += c->launches +
		       (c->flag && __atomic_load_n(c->flag, __ATOMIC_ACQUIRE) < c->until ? 1000
											 : 0);
	}
	return sum;
}

int fake_loads(void)
{
	int sum = 0;

	for (int i = 0; i < CONTEXTS; i++)
		sum += contexts[i].loads;
	return sum;
}

/* Different pages that were ever registered; those that are. */
int fake_pages(void)
{
	return page_count;
}

int fake_pinned(void)
{
	int sum = 0;

	for (int i = 0; i < page_count; i++)
		sum += pages[i].by != NULL;
	return sum;
}

int fake_modules(void)
{
	return modules;
}

/* The context ends, and with it what is in it; another takes its number here. */
void fake_end(int context)
{
	struct context *c = &contexts[context % CONTEXTS];

	for (int i = 0; i < page_count; i++)
		pages[i].by = pages[i].by == c ? NULL : pages[i].by;
	c->flag = NULL;
	c->generation++;
}

void fake_fail(int what)
{
	fails = what;
}

void fake_fill(bool full)
{
	pthread_mutex_lock(&queue.lock);
	queue.full = full;
	pthread_cond_broadcast(&queue.change);
	pthread_mutex_unlock(&queue.lock);
}

void fake_await_waiting(void)
{
	pthread_mutex_lock(&queue.lock);
	while (!queue.waits)
		pthread_cond_wait(&queue.change, &queue.lock);
	pthread_mutex_unlock(&queue.lock);
}
