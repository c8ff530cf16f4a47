// SPDX-License-Identifier: MIT
/*
 * A libcuda with just enough in it to run the benchmark's programs without a GPU: a context makes
 * its objects in the fake resource manager (GPREEMPT_FAKE_NVIDIA), and one thread does the kernels'
 * work as long as the context's channels are not stopped. For trying the programs out; its times
 * mean nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/nvrm_ioctl.h"
#include "cu.h"
#include "fake.h"
#include "kernels.h"
#include "page.h"

#define EXPORT        __attribute__((visibility("default")))
#define SMS           2
#define RING          64
#define CHUNKS_PER_US 50u

struct launch {
	int endless;
	uint64_t a[6]; /* parameters */
	unsigned blocks, threads;
};

static struct {
	struct fake fake;
	struct fake_program program;
	struct fake_object *channel, *copier; /* one of each kind stands for all */
	pthread_mutex_t lock;
	pthread_cond_t change;
	struct launch ring[RING];
	uint64_t put, got;
} g = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static void wait_for(struct fake_object *channel)
{
	while (atomic_load(&channel->disabled))
		syscall(SYS_futex, &channel->disabled, FUTEX_WAIT, 1, NULL, NULL, 0);
}

static void wait_enabled(void)
{
	wait_for(g.channel);
}

static void do_tick(const struct launch *l)
{
	volatile uint64_t *progress = (volatile uint64_t *)(uintptr_t)l->a[0];
	uint64_t done = 0;

	while (done < l->a[3]) {
		uint64_t step = l->a[3] - done < 1000 ? l->a[3] - done : 1000;

		sleep_ns(step * 1000 / CHUNKS_PER_US);
		wait_enabled();
		done += step;
		*progress = l->a[1] + done;
	}
	(*(uint64_t *)(uintptr_t)l->a[2])++;
}

static uint32_t step(uint32_t x, uint64_t steps)
{
	for (uint64_t i = 0; i < steps; i++)
		x = x * LCG_A + LCG_C;
	return x;
}

static void do_endless(const struct launch *l)
{
	struct page *page = (struct page *)(uintptr_t)l->a[0];
	uint32_t *x = (uint32_t *)(uintptr_t)l->a[2];
	uint64_t *n = (uint64_t *)(uintptr_t)l->a[3], chunks = 0;

	while (!page->stop) {
		sleep_ns(20000);
		wait_enabled();
		page->progress = ++chunks;
	}
	for (unsigned i = 0; i < l->blocks * l->threads; i++) {
		n[i] = i ? 1024 : 64 * (chunks % 1000);
		x[i] = step(i * 747796405u + 12345u, n[i]);
	}
}

static void *engine(void *unused)
{
	(void)unused;
	for (;;) {
		struct launch l;

		pthread_mutex_lock(&g.lock);
		while (g.put == g.got)
			pthread_cond_wait(&g.change, &g.lock);
		l = g.ring[g.got % RING];
		pthread_mutex_unlock(&g.lock);
		wait_enabled();
		if (l.endless)
			do_endless(&l);
		else
			do_tick(&l);
		pthread_mutex_lock(&g.lock);
		g.got++;
		pthread_cond_broadcast(&g.change);
		pthread_mutex_unlock(&g.lock);
	}
	return NULL;
}

static CUresult drain_to(uint64_t end)
{
	pthread_mutex_lock(&g.lock);
	while (g.got < end)
		pthread_cond_wait(&g.change, &g.lock);
	pthread_mutex_unlock(&g.lock);
	return 0;
}

static int open_by_libc(const struct gp_nvrm_port *port)
{
	int fd = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);

	(void)port;
	return fd < 0 ? -errno : fd;
}

static int call_by_libc(const struct gp_nvrm_port *port, int fd, unsigned long request, void *arg)
{
	(void)port;
	return ioctl(fd, request, arg) ? -errno : 0;
}

#define FUNCTION(symbol, arguments)       \
	EXPORT CUresult symbol arguments; \
	EXPORT CUresult symbol arguments

FUNCTION(cuInit, (unsigned flags))
{
	const char *dir = getenv("GPREEMPT_FAKE_NVIDIA");

	(void)flags;
	if (!dir || fake_join(&g.fake, dir))
		return 100;
	/* As the real one, where preloaded libraries see it; one of them is the fake manager. */
	if (getenv("LD_PRELOAD")) {
		g.fake.port.open_control = open_by_libc;
		g.fake.port.ioctl = call_by_libc;
	}
	return 0;
}

FUNCTION(cuDriverGetVersion, (int *version))
{
	*version = 13000;
	return 0;
}

FUNCTION(cuDeviceGet, (CUdevice * device, int ordinal))
{
	*device = ordinal;
	return ordinal ? 101 : 0;
}

FUNCTION(cuDeviceGetName, (char *name, int size, CUdevice device))
{
	(void)device;
	snprintf(name, (size_t)size, "NVIDIA Fake");
	return 0;
}

FUNCTION(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))
{
	(void)attribute, (void)device;
	*value = SMS;
	return 0;
}

FUNCTION(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))
{
	pthread_t thread;

	(void)device;
	*context = NULL;
	if (fake_program_start(&g.fake, &g.program) ||
	    fake_program_context(&g.fake, &g.program, false))
		return 2;
	for (u32 i = 0; i < atomic_load(&g.fake.rm->object_count); i++) {
		struct fake_object *o = &g.fake.rm->objects[i];

		if (o->client == g.program.client && o->parent == g.program.group)
			g.channel = o;
		else if (o->client == g.program.client && gp_nv_class_is_channel(o->class_id))
			g.copier = o;
	}
	return pthread_create(&thread, NULL, engine, NULL);
}

FUNCTION(cuCtxSetCurrent, (CUcontext context))
{
	(void)context;
	return 0;
}

FUNCTION(cuCtxSynchronize, (void))
{
	return drain_to(g.put);
}

FUNCTION(cuModuleLoadDataEx,
	 (CUmodule * module, const void *image, unsigned count, int *options, void **values))
{
	(void)module, (void)image, (void)count, (void)options, (void)values;
	return 0;
}

FUNCTION(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))
{
	(void)module;
	*function = (CUfunction)(uintptr_t)(strcmp(name, "endless") == 0 ? 2 : 1);
	return 0;
}

FUNCTION(cuFuncSetAttribute, (CUfunction function, int attribute, int value))
{
	(void)function, (void)attribute, (void)value;
	return 0;
}

FUNCTION(cuMemAlloc_v2, (CUdeviceptr * pointer, size_t size))
{
	*pointer = (uintptr_t)calloc(1, size);
	return *pointer ? 0 : 2;
}

FUNCTION(cuMemsetD8_v2, (CUdeviceptr pointer, unsigned char value, size_t size))
{
	memset((void *)(uintptr_t)pointer, value, size);
	return 0;
}

FUNCTION(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t size))
{
	memcpy(to, (const void *)(uintptr_t)from, size);
	return 0;
}

FUNCTION(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t size, CUstream stream))
{
	(void)stream;
	wait_for(g.copier);
	return cuMemcpyDtoH_v2(to, from, size);
}

FUNCTION(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t size, CUstream stream))
{
	(void)stream;
	wait_for(g.copier);
	memcpy((void *)(uintptr_t)to, from, size);
	return 0;
}

FUNCTION(cuMemHostAlloc, (void **pointer, size_t size, unsigned flags))
{
	(void)flags;
	*pointer = calloc(1, size);
	return *pointer ? 0 : 2;
}

FUNCTION(cuMemHostRegister_v2, (void *pointer, size_t size, unsigned flags))
{
	(void)pointer, (void)size, (void)flags;
	return 0;
}

FUNCTION(cuMemHostGetDevicePointer_v2, (CUdeviceptr * device, void *host, unsigned flags))
{
	(void)flags;
	*device = (uintptr_t)host;
	return 0;
}

FUNCTION(cuStreamCreate, (CUstream * stream, unsigned flags))
{
	static uintptr_t count;

	(void)flags;
	*stream = (CUstream)++count;
	return 0;
}

/* The first is the kernels'; copies have ended when their call does. */
FUNCTION(cuStreamSynchronize, (CUstream stream))
{
	return (uintptr_t)stream > 1 ? 0 : drain_to(g.put);
}

FUNCTION(cuEventCreate, (CUevent * event, unsigned flags))
{
	(void)flags;
	*event = calloc(1, sizeof(uint64_t));
	return 0;
}

FUNCTION(cuEventRecord, (CUevent event, CUstream stream))
{
	(void)stream;
	*(uint64_t *)event = g.put;
	return 0;
}

FUNCTION(cuEventSynchronize, (CUevent event))
{
	return drain_to(*(uint64_t *)event);
}

FUNCTION(cuGetErrorString, (CUresult result, const char **text))
{
	(void)result;
	*text = "fake";
	return 0;
}

FUNCTION(cuLaunchKernel,
	 (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
	  unsigned bz, unsigned shared, CUstream stream, void **parameters, void **extra))
{
	struct launch l = {.endless = (uintptr_t)function == 2, .blocks = gx, .threads = bx};

	(void)gy, (void)gz, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
	for (int i = 0; i < 5; i++)
		memcpy(&l.a[i], parameters[i], sizeof(l.a[i]));
	pthread_mutex_lock(&g.lock);
	while (g.put - g.got == RING)
		pthread_cond_wait(&g.change, &g.lock);
	g.ring[g.put++ % RING] = l;
	pthread_cond_broadcast(&g.change);
	pthread_mutex_unlock(&g.lock);
	return 0;
}
