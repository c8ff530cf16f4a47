// SPDX-License-Identifier: MIT
/* CUDA's functions. See fake_cuda.h. */
#include "fake_cuda.h"

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/nvrm_ioctl.h"

#define CONTEXTS  128
#define PAGES     4096
#define SMS       2
#define NOT_READY 600
#define FLAGS     1 /* CU_STREAM_NON_BLOCKING: does not wait for the program's default stream */

enum failure { FAIL_LOAD = 1, FAIL_STREAM, FAIL_LAUNCH, FAIL_REGISTER };

static struct context contexts[CONTEXTS];
static __thread struct context *current = contexts;

static struct {
	struct fake fake;
	struct fake_program program;
	const char *fault;
	int made;
	/* Host memory is registered by one context at a time, until that takes it back or ends. */
	struct {
		void *memory;
		const struct context *by; /* NULL: not registered any more */
	} pages[PAGES];
	int page_count, modules, fails; /* fails: enum failure */
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool full, waits; /* launches for the agent must wait; one does */
} g = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

#define FUNCTION(symbol, arguments) \
	int symbol arguments;       \
	int symbol arguments

bool fake_cuda_has_fault(const char *name)
{
	return g.fault && strcmp(g.fault, name) == 0;
}

void fake_cuda_wait(const struct fake_object *channel)
{
	while (atomic_load(&channel->disabled) && !fake_cuda_has_fault("stop"))
		syscall(SYS_futex, &channel->disabled, FUTEX_WAIT, 1, NULL, NULL, 0);
}

static void *engine(void *data)
{
	struct context *c = data;

	for (;;) {
		struct launch l;

		pthread_mutex_lock(&c->lock);
		while (c->put == c->got)
			pthread_cond_wait(&c->change, &c->lock);
		l = c->ring[c->got % FAKE_RING];
		pthread_mutex_unlock(&c->lock);
		fake_cuda_wait(c->channel);
		l.kernel->run(c, &l);
		pthread_mutex_lock(&c->lock);
		c->got++;
		pthread_cond_broadcast(&c->change);
		pthread_mutex_unlock(&c->lock);
	}
	return NULL;
}

static int drain_to(struct context *c, u64 end)
{
	pthread_mutex_lock(&c->lock);
	while (c->got < end)
		pthread_cond_wait(&c->change, &c->lock);
	pthread_mutex_unlock(&c->lock);
	return 0;
}

/* ---- devices ---- */

FUNCTION(cuInit, (unsigned flags))
{
	const char *dir = getenv("GPREEMPT_FAKE_NVIDIA");

	if (flags || !dir || fake_join(&g.fake, dir))
		return 100;
	g.fault = getenv("FAKE_CUDA_FAULT");
	/* As the real one, where preloaded libraries see it; one of them is the fake manager. */
	if (getenv("LD_PRELOAD"))
		fake_through_libc(&g.fake);
	return fake_program_start(&g.fake, &g.program) ? 999 : 0;
}

FUNCTION(cuDriverGetVersion, (int *version))
{
	*version = 13000;
	return 0;
}

FUNCTION(cuGetErrorString, (int error, const char **text))
{
	*text = error == 100 ? "no device" : "a fault of the fake";
	return 0;
}

FUNCTION(cuDeviceGetCount, (int *count))
{
	*count = 2;
	return 0;
}

FUNCTION(cuDeviceGet, (int *device, int ordinal))
{
	*device = ordinal;
	return ordinal > 1 ? 101 : 0;
}

FUNCTION(cuDeviceGetName, (char *name, int size, int device))
{
	(void)device;
	snprintf(name, (size_t)size, "NVIDIA Fake");
	return 0;
}

/* The first is one that the driver does not list. */
FUNCTION(cuDeviceGetPCIBusId, (char *id, int size, int device))
{
	snprintf(id, (size_t)size, "0000%s", device ? "0000:65:00.0" : "0000:01:00.0");
	return 0;
}

FUNCTION(cuDeviceGetAttribute, (int *value, int which, int device))
{
	(void)device;
	*value = SMS;
	return which != 16;
}

/* ---- contexts ---- */

static int make_context(struct context **out)
{
	struct context *c = &contexts[g.made];
	pthread_t thread;

	if (g.made == CONTEXTS || fake_program_context(&g.fake, &g.program, false))
		return 2;
	g.made++;
	for (u32 i = 0; i < atomic_load(&g.fake.rm->object_count); i++) {
		struct fake_object *o = &g.fake.rm->objects[i];

		if (o->client != g.program.client)
			continue;
		if (o->handle == g.program.group)
			c->group = o;
		else if (o->parent == g.program.group && gp_nv_class_is_channel(o->class_id))
			c->channel = o;
		else if (gp_nv_class_is_channel(o->class_id))
			c->copier = o;
	}
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->change, NULL);
	*out = current = c;
	return pthread_create(&thread, NULL, engine, c);
}

FUNCTION(cuCtxCreate_v2, (struct context * *out, unsigned flags, int device))
{
	(void)flags;
	return device != 1 ? 2 : make_context(out);
}

FUNCTION(cuDevicePrimaryCtxRetain, (struct context * *out, int device))
{
	return device ? 2 : make_context(out);
}

FUNCTION(cuCtxSetCurrent, (struct context * context))
{
	current = context;
	return 0;
}

FUNCTION(cuCtxGetCurrent, (struct context * *out))
{
	*out = current;
	return 0;
}

FUNCTION(cuCtxGetId, (const struct context *c, unsigned long long *id))
{
	*id = 7 + (unsigned long long)(c - contexts) + (unsigned long long)c->generation * CONTEXTS;
	return c != current;
}

FUNCTION(cuCtxSynchronize, (void))
{
	return drain_to(current, current->put);
}

FUNCTION(cuThreadExchangeStreamCaptureMode, (int *mode))
{
	*mode = 0;
	return 0;
}

/* ---- modules, streams, events ---- */

FUNCTION(cuModuleLoadData, (struct context * *module, const char *image))
{
	if (g.fails == FAIL_LOAD)
		return 2;
	current->loads++;
	g.modules++;
	*module = current;
	return strncmp(image, ".version", 8) != 0;
}

FUNCTION(cuModuleLoadDataEx,
	 (struct context * *module, const char *image, unsigned count, int *options, void **values))
{
	(void)count, (void)options, (void)values;
	return cuModuleLoadData(module, image);
}

FUNCTION(cuModuleUnload, (struct context * module))
{
	g.modules--;
	return module != current;
}

FUNCTION(cuModuleGetFunction, (struct handle * *function, struct context *module, const char *name))
{
	u32 i = 0;

	while (i < FAKE_KERNELS && strcmp(fake_kernels[i].name, name) != 0)
		i++;
	if (i == FAKE_KERNELS || module != current)
		return 500;
	*function = &current->functions[i];
	**function = (struct handle){.context = current, .index = i};
	return 0;
}

FUNCTION(cuFuncSetAttribute, (struct handle * function, int attribute, int value))
{
	(void)function, (void)attribute, (void)value;
	return 0;
}

FUNCTION(cuStreamCreate, (struct handle * *stream, unsigned flags))
{
	u32 i = current->stream_count++ % FAKE_STREAMS;

	*stream = &current->streams[i];
	**stream = (struct handle){.context = current, .index = i};
	return g.fails == FAIL_STREAM ? 2 : flags != FLAGS;
}

FUNCTION(cuStreamQuery, (struct handle * stream))
{
	struct context *c = stream->context;
	bool ended;

	pthread_mutex_lock(&c->lock);
	ended = c->put == c->got;
	pthread_mutex_unlock(&c->lock);
	return ended ? 0 : NOT_READY;
}

/* Copies have ended when their call does. */
FUNCTION(cuStreamSynchronize, (struct handle * stream))
{
	return stream && stream->index ? 0 : drain_to(current, current->put);
}

FUNCTION(cuEventCreate, (u64 * *event, unsigned flags))
{
	(void)flags;
	*event = calloc(1, sizeof(**event));
	return !*event;
}

FUNCTION(cuEventRecord, (u64 * event, struct handle *stream))
{
	(void)stream;
	*event = current->put;
	return 0;
}

FUNCTION(cuEventSynchronize, (const u64 *event))
{
	return drain_to(current, *event);
}

/* ---- memory ---- */

FUNCTION(cuMemHostRegister_v2, (void *memory, size_t size, unsigned flags))
{
	int i = 0;

	if (!memory || size < sizeof(u32) || !(flags & 2) || g.fails == FAIL_REGISTER)
		return 1;
	while (i < g.page_count && g.pages[i].memory != memory)
		i++;
	if (i == PAGES || g.pages[i].by)
		return 712; /* CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED */
	g.page_count += i == g.page_count;
	g.pages[i].memory = memory;
	g.pages[i].by = current;
	return 0;
}

FUNCTION(cuMemHostUnregister, (void *memory))
{
	for (int i = 0; i < g.page_count; i++) {
		if (g.pages[i].memory != memory || !g.pages[i].by)
			continue;
		g.pages[i].by = NULL;
		return 0;
	}
	return 713; /* CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED */
}

FUNCTION(cuMemHostAlloc, (void **memory, size_t size, unsigned flags))
{
	*memory = calloc(1, size);
	return flags ? cuMemHostRegister_v2(*memory, size, flags) : !*memory;
}

FUNCTION(cuMemHostGetDevicePointer_v2, (u64 * out, void *memory, unsigned flags))
{
	*out = (uintptr_t)memory;
	for (int i = 0; i < g.page_count; i++)
		if (g.pages[i].memory == memory && g.pages[i].by == current)
			return flags != 0;
	return 1; /* another context's would go with that */
}

FUNCTION(cuMemAlloc_v2, (u64 * out, size_t size))
{
	*out = (uintptr_t)calloc(1, size);
	return *out ? 0 : 2;
}

FUNCTION(cuMemsetD8_v2, (u64 pointer, unsigned char value, size_t size))
{
	memset((void *)(uintptr_t)pointer, value, size);
	return 0;
}

FUNCTION(cuMemcpyHtoD_v2, (u64 to, const void *from, size_t size))
{
	memcpy((void *)(uintptr_t)to, from, size);
	return 0;
}

FUNCTION(cuMemcpyDtoH_v2, (void *to, u64 from, size_t size))
{
	memcpy(to, (const void *)(uintptr_t)from, size);
	return 0;
}

FUNCTION(cuMemcpyDtoHAsync_v2, (void *to, u64 from, size_t size, struct handle *stream))
{
	(void)stream;
	fake_cuda_wait(current->copier);
	return cuMemcpyDtoH_v2(to, from, size);
}

FUNCTION(cuMemcpyHtoDAsync_v2, (u64 to, const void *from, size_t size, struct handle *stream))
{
	(void)stream;
	fake_cuda_wait(current->copier);
	return cuMemcpyHtoD_v2(to, from, size);
}

/* ---- launches ---- */

/* One for the agent can be made to wait, as when the GPU's queue is full. */
static int launch_at_once(const struct launch *l)
{
	if (g.fails == FAIL_LAUNCH || l->blocks * l->threads != 1)
		return 1;
	pthread_mutex_lock(&g.lock);
	while (g.full) {
		g.waits = true;
		pthread_cond_broadcast(&g.change);
		pthread_cond_wait(&g.change, &g.lock);
	}
	l->kernel->run(current, l);
	pthread_mutex_unlock(&g.lock);
	return 0;
}

FUNCTION(cuLaunchKernel,
	 (struct handle * function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
	  unsigned bz, unsigned shared, struct handle *stream, void **parameters, void **extra))
{
	struct context *c = current;
	struct launch l = {.blocks = gx, .threads = bx};

	if (function->context != c || (stream && stream->context != c) || gy * gz * by * bz != 1 ||
	    extra)
		return 1;
	l.kernel = &fake_kernels[function->index];
	for (size_t i = 0; l.kernel->sizes[i]; i++)
		memcpy(&l.a[i], parameters[i], (size_t)(l.kernel->sizes[i] - '0'));
	if (l.kernel->at_once)
		return shared ? 1 : launch_at_once(&l);
	pthread_mutex_lock(&c->lock);
	while (c->put - c->got == FAKE_RING)
		pthread_cond_wait(&c->change, &c->lock);
	c->ring[c->put++ % FAKE_RING] = l;
	pthread_cond_broadcast(&c->change);
	pthread_mutex_unlock(&c->lock);
	return 0;
}

/* As CUDA's runtime finds the others. */
FUNCTION(cuGetProcAddress_v2, (const char *name, void **out, int version, u64 flags, int *status))
{
	(void)version, (void)flags;
	*out = strcmp(name, "cuLaunchKernel") == 0     ? (void *)cuLaunchKernel
	       : strcmp(name, "cuCtxSynchronize") == 0 ? (void *)cuCtxSynchronize
						       : NULL;
	if (status)
		*status = !*out;
	return *out ? 0 : 500;
}

/* ---- for fake_target ---- */

void fake_use(int context);
void fake_use(int context)
{
	current = &contexts[context % CONTEXTS];
}

/* Contexts in which a kernel waits. */
FUNCTION(fake_waiting, (void))
{
	int sum = 0;

	for (const struct context *c = contexts; c < contexts + CONTEXTS; c++)
		sum += c->flag && __atomic_load_n(c->flag, __ATOMIC_ACQUIRE) < c->until;
	return sum;
}

FUNCTION(fake_hints, (void))
{
	int sum = 0;

	for (const struct context *c = contexts; c < contexts + CONTEXTS; c++)
		sum += c->launches;
	return sum;
}

/* All, and 1000 for each context in which one of them waits. */
FUNCTION(fake_launches, (void))
{
	return fake_hints() + 1000 * fake_waiting();
}

/* The thread that made the last of them, and launches by the program. */
FUNCTION(fake_last_thread, (void))
{
	return contexts[0].last_thread;
}

FUNCTION(fake_other_launches, (void))
{
	return contexts[0].other_launches;
}

FUNCTION(fake_loads, (void))
{
	int sum = 0;

	for (int i = 0; i < CONTEXTS; i++)
		sum += contexts[i].loads;
	return sum;
}

/* Different pages that were ever registered; those that are. */
FUNCTION(fake_pages, (void))
{
	return g.page_count;
}

FUNCTION(fake_pinned, (void))
{
	int sum = 0;

	for (int i = 0; i < g.page_count; i++)
		sum += g.pages[i].by != NULL;
	return sum;
}

FUNCTION(fake_modules, (void))
{
	return g.modules;
}

/* The context ends, and with it what is in it; another takes its number here. */
void fake_end(int context);
void fake_end(int context)
{
	struct context *c = &contexts[context % CONTEXTS];

	for (int i = 0; i < g.page_count; i++)
		g.pages[i].by = g.pages[i].by == c ? NULL : g.pages[i].by;
	c->flag = NULL;
	c->generation++;
}

void fake_fail(int what);
void fake_fail(int what)
{
	g.fails = what;
}

void fake_fill(bool full);
void fake_fill(bool full)
{
	pthread_mutex_lock(&g.lock);
	g.full = full;
	pthread_cond_broadcast(&g.change);
	pthread_mutex_unlock(&g.lock);
}

void fake_await_waiting(void);
void fake_await_waiting(void)
{
	pthread_mutex_lock(&g.lock);
	while (!g.waits)
		pthread_cond_wait(&g.change, &g.lock);
	pthread_mutex_unlock(&g.lock);
}
