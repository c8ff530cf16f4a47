// SPDX-License-Identifier: MIT
/*
 * A libcuda for the self-test's CUDA program: a context makes its objects in the fake resource
 * manager (GPREEMPT_FAKE_NVIDIA), and a thread does what its kernels would, as long as its channels
 * are not stopped and as much of it as its timeslice allows. FAKE_CUDA_FAULT spoils it: `stop` goes
 * on while stopped, `register` loses a step, `twice` runs a kernel twice, `slice` knows no
 * timeslices.
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
#include <time.h>
#include <unistd.h>

#include "abi/nvrm_ioctl.h"
#include "fake.h"
#include "selftest/cuda_kernel.h"

#define EXPORT    __attribute__((visibility("default")))
#define SMS       2
#define RING      32
#define NOT_READY 600
#define PAUSE_NS  100000
#define DEFAULT   2048u /* us of a round */

struct launch {
	bool gate;
	u32 threads, index;
	u64 page, x, steps, aside;
};

struct context {
	struct fake_object *channel, *group;
	pthread_mutex_t lock;
	pthread_cond_t change;
	struct launch ring[RING];
	u64 put, got;
	u64 credit; /* us of timeslices that were not used yet */
};

static struct {
	struct fake fake;
	struct fake_program program;
	const char *fault;
} g;

static __thread struct context *current;

static bool has_fault(const char *name)
{
	return g.fault && strcmp(g.fault, name) == 0;
}

/* ---- the GPU ---- */

static void wait_enabled(struct context *c)
{
	while (atomic_load(&c->channel->disabled) && !has_fault("stop"))
		syscall(SYS_futex, &c->channel->disabled, FUTEX_WAIT, 1, NULL, NULL, 0);
}

static void rest(void)
{
	nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

static u32 look(u64 page, size_t at)
{
	return __atomic_load_n((u32 *)(uintptr_t)(page + at), __ATOMIC_SEQ_CST);
}

static u32 after(u32 x, u64 steps)
{
	u32 a = GP_CUDA_A, c = GP_CUDA_C, all_a = 1, all_c = 0;

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

/* Returns rounds. What says stop is read before it is seen whether the channels are: it is said
 * only after they were stopped, so that nothing ends behind a suspension's back. */
static u64 do_rounds(struct context *c, const struct launch *l)
{
	u64 *progress = (u64 *)(uintptr_t)(l->page + GP_CUDA_PROGRESS), rounds = 0;
	u32 stop;

	do {
		rest();
		stop = look(l->page, GP_CUDA_STOP);
		wait_enabled(c);
		c->credit += has_fault("slice") ? DEFAULT : atomic_load(&c->group->timeslice);
		rounds += c->credit / DEFAULT;
		__atomic_fetch_add(progress, c->credit / DEFAULT, __ATOMIC_SEQ_CST);
		c->credit %= DEFAULT;
	} while (!stop || !rounds);
	return rounds;
}

static void do_work(struct context *c, const struct launch *l)
{
	u64 steps = do_rounds(c, l) * GP_CUDA_STEPS;
	u32 *x = (u32 *)(uintptr_t)l->x;
	u64 *all = (u64 *)(uintptr_t)l->steps;

	for (u32 i = 0; i < l->threads; i++) {
		x[i] = after(x[i], steps);
		all[i] += steps - (has_fault("register") && i == 7);
	}
}

static void do_gate(struct context *c, const struct launch *l)
{
	u32 go;

	do {
		rest();
		go = look(l->page, GP_CUDA_GO);
		wait_enabled(c);
	} while (!go);
}

static void *engine(void *data)
{
	struct context *c = data;

	for (;;) {
		struct launch l;

		pthread_mutex_lock(&c->lock);
		while (c->put == c->got)
			pthread_cond_wait(&c->change, &c->lock);
		l = c->ring[c->got % RING];
		pthread_mutex_unlock(&c->lock);
		if (l.gate)
			do_gate(c, &l);
		else
			do_work(c, &l);
		__atomic_fetch_add((u32 *)(uintptr_t)(l.page + GP_CUDA_DONE + 4 * (u64)l.index),
				   has_fault("twice") && l.index == 3 ? 2 : 1, __ATOMIC_SEQ_CST);
		pthread_mutex_lock(&c->lock);
		c->got++;
		pthread_mutex_unlock(&c->lock);
	}
	return NULL;
}

/* ---- as libcuda, which asks the manager through libc ---- */

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

#define FUNCTION(symbol, arguments)  \
	EXPORT int symbol arguments; \
	EXPORT int symbol arguments

FUNCTION(cuInit, (unsigned flags))
{
	const char *dir = getenv("GPREEMPT_FAKE_NVIDIA");

	if (flags || !dir || fake_join(&g.fake, dir))
		return 100;
	g.fault = getenv("FAKE_CUDA_FAULT");
	g.fake.port.open_control = open_by_libc;
	g.fake.port.ioctl = call_by_libc;
	return fake_program_start(&g.fake, &g.program) ? 999 : 0;
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
	*value = SMS;
	return which != 16 || device != 1;
}

FUNCTION(cuCtxCreate_v2, (void **out, unsigned flags, int device))
{
	struct context *c = calloc(1, sizeof(*c));
	pthread_t thread;

	(void)flags;
	if (device != 1 || !c || fake_program_context(&g.fake, &g.program, false))
		return 2;
	for (u32 i = 0; i < atomic_load(&g.fake.rm->object_count); i++) {
		struct fake_object *o = &g.fake.rm->objects[i];

		if (o->client != g.program.client)
			continue;
		if (o->parent == g.program.group && gp_nv_class_is_channel(o->class_id))
			c->channel = o;
		if (o->handle == g.program.group)
			c->group = o;
	}
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->change, NULL);
	*out = current = c;
	return pthread_create(&thread, NULL, engine, c);
}

FUNCTION(cuCtxSetCurrent, (void *context))
{
	current = context;
	return 0;
}

FUNCTION(cuModuleLoadData, (void **module, const void *image))
{
	*module = NULL;
	return strncmp(image, ".version", 8) != 0;
}

FUNCTION(cuModuleGetFunction, (void **function, void *module, const char *name))
{
	*function = (void *)(uintptr_t)(strcmp(name, "gate") == 0 ? 1 : 2);
	return module != NULL;
}

FUNCTION(cuStreamCreate, (void **stream, unsigned flags))
{
	*stream = current;
	return flags != 1;
}

FUNCTION(cuStreamQuery, (void *stream))
{
	struct context *c = stream;
	bool ended;

	pthread_mutex_lock(&c->lock);
	ended = c->put == c->got;
	pthread_mutex_unlock(&c->lock);
	return ended ? 0 : NOT_READY;
}

FUNCTION(cuMemHostAlloc, (void **memory, size_t size, unsigned flags))
{
	*memory = calloc(1, size);
	return flags != 2;
}

FUNCTION(cuMemHostGetDevicePointer_v2, (u64 * out, void *memory, unsigned flags))
{
	*out = (uintptr_t)memory;
	return flags != 0;
}

FUNCTION(cuMemAlloc_v2, (u64 * out, size_t size))
{
	*out = (uintptr_t)calloc(1, size);
	return !*out;
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

FUNCTION(cuLaunchKernel,
	 (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
	  unsigned bz, unsigned shared, void *stream, void **parameters, void **extra))
{
	struct context *c = stream;
	struct launch l = {.gate = (uintptr_t)function == 1, .threads = gx * bx};

	if (c != current || gy * gz * by * bz != 1 || shared || extra)
		return 1;
	l.page = *(u64 *)parameters[0];
	if (!l.gate) {
		l.x = *(u64 *)parameters[1];
		l.steps = *(u64 *)parameters[2];
		l.aside = *(u64 *)parameters[3];
		l.index = *(u32 *)parameters[4];
	}
	pthread_mutex_lock(&c->lock);
	c->ring[c->put++ % RING] = l;
	pthread_cond_signal(&c->change);
	pthread_mutex_unlock(&c->lock);
	return 0;
}
