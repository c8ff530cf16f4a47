// SPDX-License-Identifier: MIT
/*
 * The functions of libc that the agent stands in front of, and the one agent of this process. Only
 * ioctls of KFD that concern queues, and allocations of NVIDIA's resource manager, are looked at;
 * everything else goes on at once.
 */
#include "agent/auto.h"
#include "agent/interpose.h"

#include <dlfcn.h>
#include <link.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "abi/kfd_debug.h"
#include "abi/nvrm_ioctl.h"

#define NR(request) _IOC_NR(GP_KFD_IOC_##request)

/* For headers older than these functions. */
int close_range(unsigned int first, unsigned int last, int flags);
void closefrom(int first);

/*
 * Our own functions by names that nobody else's can stand in front of. Where we are not the first
 * library (a tool of the runtime), `ioctl` in this file is somebody else's.
 */
#ifndef __clang__
#pragma GCC diagnostic ignored \
	"-Wmissing-attributes" /* libc's "throws nothing" is no concern here */
#endif
int gp_agent_ioctl(int fd, unsigned long request, ...) __attribute__((alias("ioctl")));
static int own_close(int fd) __attribute__((alias("close")));
static int own_close_range(unsigned int first, unsigned int last, int flags)
	__attribute__((alias("close_range")));
static void own_closefrom(int first) __attribute__((alias("closefrom")));
static int own_dup2(int fd, int to) __attribute__((alias("dup2")));
static int own_dup3(int fd, int to, int flags) __attribute__((alias("dup3")));
#define own_ioctl gp_agent_ioctl

/* Where two addresses are in the order in which the program's libraries were linked. */
struct order {
	uintptr_t ours, libcs;
	bool ours_seen, libcs_seen, in_front;
};

static int look_in(struct dl_phdr_info *info, size_t size, void *data)
{
	struct order *order = data;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		order->ours_seen |= order->ours - start < info->dlpi_phdr[i].p_memsz;
		order->libcs_seen |= order->libcs - start < info->dlpi_phdr[i].p_memsz;
	}
	order->in_front |= order->ours_seen && !order->libcs_seen;
	return order->libcs_seen;
}

/* Preloaded, not opened later as a tool of the runtime. */
static bool is_in_front(const void *ours)
{
	struct order order = {.ours = (uintptr_t)ours,
			      .libcs = (uintptr_t)dlsym(RTLD_NEXT, "gnu_get_libc_version")};

	dl_iterate_phdr(look_in, &order);
	return order.in_front;
}

/* The program's and other libraries' functions behind ours. Loaded as a tool of the runtime ours
 * are not in front of anybody, and what the program uses is the default one. A program with
 * functions of its own (a sanitizer's) comes before a preloaded library and calls what is in that.
 */
void *gp_agent_behind(const char *name, void *ours)
{
	void *found = is_in_front(ours) ? NULL : dlsym(RTLD_DEFAULT, name);

	return found && found != ours ? found : dlsym(RTLD_NEXT, name);
}

static struct {
	__typeof__(&ioctl) ioctl;
	__typeof__(&close) close;
	__typeof__(&close_range) close_range; /* NULL before glibc 2.34, as closefrom */
	__typeof__(&closefrom) closefrom;
	__typeof__(&dup2) dup2;
	__typeof__(&dup3) dup3;
} next;

/* Early, because dlsym() has no place in a signal handler or a forked child. */
__attribute__((constructor)) static void find_next(void)
{
	if (next.dup3)
		return;
	next.ioctl = (__typeof__(next.ioctl))gp_agent_behind("ioctl", (void *)own_ioctl);
	next.close = (__typeof__(next.close))gp_agent_behind("close", (void *)own_close);
	next.close_range = (__typeof__(next.close_range))gp_agent_behind("close_range",
									 (void *)own_close_range);
	next.closefrom =
		(__typeof__(next.closefrom))gp_agent_behind("closefrom", (void *)own_closefrom);
	next.dup2 = (__typeof__(next.dup2))gp_agent_behind("dup2", (void *)own_dup2);
	next.dup3 = (__typeof__(next.dup3))gp_agent_behind("dup3", (void *)own_dup3);
}

/* Another library's constructor may come before ours. */
#define BEHIND(name) (__builtin_expect(!next.name, 0) ? (find_next(), next.name) : next.name)

static int driver_call(void *data, int fd, unsigned long request, void *argument)
{
	(void)data;
	return BEHIND(ioctl)(fd, request, argument);
}

static u64 driver_now(void *data)
{
	(void)data;
	return gp_monotonic_ns();
}

static void *driver_symbol(void *data, const char *name)
{
	(void)data;
	return dlsym(RTLD_DEFAULT, name);
}

static void driver_ahead(void *data, struct gp_proto_msg_ahead *out)
{
	(void)data;
	if (gp_agent_hooks.describe)
		gp_agent_hooks.describe(out);
}

struct gp_agent_hooks gp_agent_hooks;
static struct gp_agent self;
static int ready; /* 0 not yet, 1 being made, 2 made */

struct gp_agent *gp_agent_self(void)
{
	static const struct gp_agent_driver driver = {.call = driver_call,
						      .now = driver_now,
						      .symbol = driver_symbol,
						      .ahead = driver_ahead};
	int none = 0;

	if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) == 2)
		return &self;
	if (__atomic_compare_exchange_n(&ready, &none, 1, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE)) {
		gp_agent_init(&self, &driver);
		gp_agent_prepare(&self);
		__atomic_store_n(&ready, 2, __ATOMIC_RELEASE);
	}
	while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != 2)
		syscall(SYS_sched_yield);
	return &self;
}

struct gp_agent *gp_agent_if_any(void)
{
	return __atomic_load_n(&ready, __ATOMIC_ACQUIRE) == 2 ? &self : NULL;
}

/* ---- ioctl ---- */

static int queue_call(int fd, unsigned long request, void *argument)
{
	switch (_IOC_NR(request)) {
	case NR(GET_VERSION):
		return gp_agent_get_version(gp_agent_self(), fd, request, argument);
	case NR(CREATE_QUEUE):
		return gp_agent_create_queue(gp_agent_self(), fd, request, argument);
	case NR(DESTROY_QUEUE):
		return gp_agent_destroy_queue(gp_agent_self(), fd, request, argument);
	case NR(UPDATE_QUEUE):
		return gp_agent_update_queue(gp_agent_self(), fd, request, argument);
	case NR(SET_CU_MASK):
		return gp_agent_set_cu_mask(gp_agent_self(), fd, request, argument);
	case NR(RUNTIME_ENABLE):
		return gp_agent_runtime_enable(gp_agent_self(), fd, request, argument);
	default:
		return BEHIND(ioctl)(fd, request, argument);
	}
}

/* ioctl() is no place where a thread is cancelled, and what we do around it must not become one: a
 * thread that ends there would keep our lock for ever. */
static int kfd_call(int fd, unsigned long request, void *argument)
{
	int cancel, result, error;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	result = queue_call(fd, request, argument);
	error = errno;
	pthread_setcancelstate(cancel, NULL);
	errno = error;
	return result;
}

/* ---- NVIDIA's resource manager: what libcuda makes is noted after it was made ---- */

static bool nv_wanted(u32 class_id)
{
	return class_id == GP_NV_CLASS_DEVICE || class_id == GP_NV_CLASS_GROUP ||
	       gp_nv_class_is_channel(class_id) || gp_nv_class_is_compute(class_id);
}

static void nv_note(unsigned long request, const void *argument)
{
	const struct gp_nv_free *freed = argument;
	const struct gp_nv_alloc *a = argument; /* NVOS64 begins the same */
	struct gp_agent_nv_object made;
	u32 status;

	if (request == GP_NV_IOC_FREE) {
		struct gp_agent *agent = gp_agent_if_any();

		if (!freed->status && agent && agent->nv.highest)
			gp_agent_nv_freed(agent, freed->root, freed->object);
		return;
	}
	status = request == GP_NV_IOC_ALLOC ? a->status
					    : ((const struct gp_nv_alloc64 *)argument)->status;
	if (status || !nv_wanted(a->class_id))
		return;
	made = (struct gp_agent_nv_object){.client = a->root,
					   .parent = a->parent,
					   .handle = a->object};
	/* NV0080_ALLOC_PARAMETERS begins with the number of the GPU. */
	if (a->class_id == GP_NV_CLASS_DEVICE && a->params)
		made.device = *(const u32 *)(uintptr_t)a->params;
	gp_agent_nv_made(gp_agent_self(), &made, a->class_id);
}

static int nv_call(int fd, unsigned long request, void *argument)
{
	int cancel, error, result = BEHIND(ioctl)(fd, request, argument);

	if (result)
		return result;
	error = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* as kfd_call() */
	nv_note(request, argument);
	pthread_setcancelstate(cancel, NULL);
	errno = error;
	return result;
}

GP_AGENT_EXPORT int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *argument;

	va_start(list, request);
	argument = va_arg(list, void *);
	va_end(list);
	/* The console's ioctls have the same letter, but no size. */
	if (__builtin_expect(_IOC_TYPE(request) == GP_KFD_IOC_TYPE && _IOC_SIZE(request) >= 8 &&
				     argument,
			     0))
		return kfd_call(fd, request, argument);
	if (__builtin_expect((request == GP_NV_IOC_ALLOC64 || request == GP_NV_IOC_ALLOC ||
			      request == GP_NV_IOC_FREE) &&
				     argument,
			     0))
		return nv_call(fd, request, argument);
	return BEHIND(ioctl)(fd, request, argument);
}

/* ---- descriptors: ours are not the program's to close ---- */

static void note_closed(int fd)
{
	if (__builtin_expect(gp_agent_hooks.closed != NULL, 0))
		gp_agent_hooks.closed(fd);
}

static bool is_ours(int fd)
{
	struct gp_agent *agent = gp_agent_if_any();

	return agent && agent->pid && gp_agent_owns(agent, fd);
}

GP_AGENT_EXPORT int close(int fd)
{
	if (is_ours(fd)) {
		errno = EBADF;
		return -1;
	}
	note_closed(fd);
	return BEHIND(close)(fd);
}

/* In a stretch of descriptors to be closed: our lowest, or -1. */
static int lowest_of_ours(unsigned int first, unsigned int last)
{
	struct gp_agent *agent = gp_agent_if_any();
	int lowest = -1;

	for (u32 i = 0; agent && agent->pid && i < GP_AGENT_OWN_FDS; i++) {
		int fd = __atomic_load_n(&agent->own_fd[i], __ATOMIC_ACQUIRE);

		if (fd >= 0 && (unsigned int)fd >= first && (unsigned int)fd <= last &&
		    (lowest < 0 || fd < lowest))
			lowest = fd;
	}
	return lowest;
}

static int close_stretch(unsigned int first, unsigned int last, int flags)
{
	return BEHIND(close_range) ? next.close_range(first, last, flags)
				   : (int)syscall(SYS_close_range, first, last, flags);
}

GP_AGENT_EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
	int result = 0, fd;

	for (unsigned int i = first;
	     gp_agent_hooks.closed && !flags && i <= last && i < GP_AGENT_AUTO_FDS; i++)
		note_closed((int)i);
	if (flags) /* unshared or close-on-exec: as ours are already */
		return close_stretch(first, last, flags);
	while (!result && first <= last && (fd = lowest_of_ours(first, last)) >= 0) {
		if (first < (unsigned int)fd)
			result = close_stretch(first, (unsigned int)fd - 1, 0);
		first = (unsigned int)fd + 1;
	}
	return result || first > last ? result : close_stretch(first, last, 0);
}

GP_AGENT_EXPORT void closefrom(int first)
{
	unsigned int from = first < 0 ? 0 : (unsigned int)first;

	if (lowest_of_ours(from, INT_MAX) < 0 && BEHIND(closefrom)) {
		for (int i = (int)from; gp_agent_hooks.closed && i < GP_AGENT_AUTO_FDS; i++)
			note_closed(i);
		next.closefrom(first);
	} else {
		close_range(from, ~0u, 0);
	}
}

/* Onto one of ours: the program means a number that is free for all it knows. */
GP_AGENT_EXPORT int dup2(int fd, int to)
{
	if (fd != to && is_ours(to)) {
		errno = EBUSY;
		return -1;
	}
	if (fd != to)
		note_closed(to);
	return BEHIND(dup2)(fd, to);
}

GP_AGENT_EXPORT int dup3(int fd, int to, int flags)
{
	if (fd != to && is_ours(to)) {
		errno = EBUSY;
		return -1;
	}
	if (fd != to)
		note_closed(to);
	return BEHIND(dup3)(fd, to, flags);
}

/* ---- hints ---- */

GP_AGENT_EXPORT int gpreempt_agent_request(int begin, uint64_t deadline_us)
{
	struct gp_agent *agent = gp_agent_if_any();

	/* First the word that brings a held program back: the calls behind it may wait for that. */
	if (agent)
		gp_agent_request(agent, begin != 0, deadline_us);
	else
		gp_agent_early_request(NULL, begin != 0);
	if (agent && agent->nv.groups)
		gp_agent_ahead(begin != 0);
	return 0;
}
