// SPDX-License-Identifier: MIT
/*
 * Seeing launches. CUDA's runtime, in a program or beside it, finds the driver's functions with
 * dlsym() and cuGetProcAddress(). Of those that launch, that come after launches, that wait for the
 * whole device or that end a context, it gets a way of auto_launches.S instead, which notes the
 * call and jumps on. What is found otherwise (linked with libcuda, RTLD_DEFAULT) goes without.
 */
#include "agent/auto.h"

#include <dlfcn.h>
#include <string.h>

#include "agent/interpose.h"

#define WAYS      128
#define WAY_BYTES 32
/* Addresses of programs have 47 bits. */
#define KIND_SHIFT 56
#define REAL_MASK  ((1ull << KIND_SHIFT) - 1)

enum kind { LAUNCH, AFTER, SYNC, END };

/* Of CUDA's names, without the suffixes of versions and of streams per thread. */
static const struct {
	const char *name;
	enum kind kind;
} names[] = {
	{"cuLaunchKernel", LAUNCH},
	{"cuLaunchKernelEx", LAUNCH},
	{"cuLaunchCooperativeKernel", LAUNCH},
	{"cuGraphLaunch", LAUNCH},
	{"cuMemcpyAsync", AFTER},
	{"cuMemcpyHtoDAsync", AFTER},
	{"cuMemcpyDtoHAsync", AFTER},
	{"cuMemcpyDtoDAsync", AFTER},
	{"cuMemcpy2DAsync", AFTER},
	{"cuMemcpyDtoH", AFTER},
	{"cuMemcpy", AFTER},
	{"cuEventRecord", AFTER},
	{"cuEventRecordWithFlags", AFTER},
	{"cuEventQuery", AFTER},
	{"cuEventSynchronize", AFTER},
	{"cuStreamQuery", AFTER},
	{"cuStreamSynchronize", AFTER},
	{"cuStreamWaitEvent", AFTER},
	{"cuLaunchHostFunc", AFTER},
	{"cuCtxSynchronize", SYNC},
	{"cuMemFree", SYNC},
	{"cuMemFreeHost", SYNC},
	{"cuMemHostUnregister", SYNC},
	{"cuModuleUnload", SYNC},
	{"cuLibraryUnload", SYNC},
	{"cuCtxDestroy", END},
	{"cuDevicePrimaryCtxRelease", END},
	{"cuDevicePrimaryCtxReset", END},
};

typedef void *dlsym_function(void *handle, const char *name);
typedef int get_function(const char *name, void **out, int version, u64 flags, void *status);

extern const char gp_agent_ways[] __attribute__((visibility("hidden")));
dlsym_function *gp_agent_next_dlsym __attribute__((visibility("hidden")));

static struct {
	/* What each way leads to and of which kind it is, in one word: a thread that is given a way
	 * that another one has just made sees both. 0: free. */
	u64 target[WAYS];
	get_function *get, *get_v2; /* cuGetProcAddress */
} ways;

/* From auto_launches.S. */
void *gp_agent_way_taken(u64 index);
dlsym_function *gp_agent_find_dlsym(void);
void *gp_agent_cuda_symbol(void *handle, const char *name);

void *gp_agent_way_taken(u64 index)
{
	u64 target = __atomic_load_n(&ways.target[index], __ATOMIC_ACQUIRE);

	switch ((enum kind)(target >> KIND_SHIFT)) {
	case LAUNCH:
		gp_agent_auto_launch();
		break;
	case AFTER:
		gp_agent_auto_after();
		break;
	case SYNC:
		gp_agent_auto_sync();
		break;
	case END:
		gp_agent_auto_end();
		break;
	}
	return (void *)(target & REAL_MASK);
}

/* "_v2", "_ptsz", "_v2_ptds"... or nothing. */
static bool is_suffix(const char *text)
{
	while (*text) {
		if (strncmp(text, "_v", 2) == 0 && text[2] >= '0' && text[2] <= '9')
			text += 3;
		else if (strncmp(text, "_ptsz", 5) == 0 || strncmp(text, "_ptds", 5) == 0)
			text += 5;
		else
			return false;
	}
	return true;
}

/* The way to a function, always the same; the function itself when there are no more. */
static void *way_to(void *real, enum kind kind)
{
	u64 target = (u64)real | (u64)kind << KIND_SHIFT;

	if ((u64)real & ~REAL_MASK)
		return real;
	for (u32 i = 0; i < WAYS; i++) {
		u64 there = 0;

		if (__atomic_compare_exchange_n(&ways.target[i], &there, target, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
		    (there & REAL_MASK) == (u64)real)
			return (char *)gp_agent_ways + (size_t)i * WAY_BYTES;
	}
	return real;
}

static int own_get(const char *name, void **out, int version, u64 flags, void *status);
static int own_get_v2(const char *name, void **out, int version, u64 flags, void *status);

static void *in_front_of(const char *name, void *real)
{
	if (!real)
		return real;
	if (real == (void *)ways.get)
		return (void *)own_get;
	if (real == (void *)ways.get_v2)
		return (void *)own_get_v2;
	for (size_t i = 0; i < GP_ARRAY_SIZE(names); i++) {
		size_t length = strlen(names[i].name);

		if (strncmp(name, names[i].name, length) == 0 && is_suffix(name + length))
			return way_to(real, names[i].kind);
	}
	return real;
}

static int get(get_function *real, const char *name, void **out, int version, u64 flags,
	       void *status)
{
	int error = real(name, out, version, flags, status);

	if (!error && name && out)
		*out = in_front_of(name, *out);
	return error;
}

/* The first has no status; what is in its register then is handed on unread. */
static int own_get(const char *name, void **out, int version, u64 flags, void *status)
{
	return get(ways.get, name, out, version, flags, status);
}

static int own_get_v2(const char *name, void **out, int version, u64 flags, void *status)
{
	return get(ways.get_v2, name, out, version, flags, status);
}

/* ---- dlsym ---- */

dlsym_function *gp_agent_find_dlsym(void)
{
	dlsym_function *found = (dlsym_function *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");

	if (!found)
		found = (dlsym_function *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	__atomic_store_n(&gp_agent_next_dlsym, found, __ATOMIC_RELEASE);
	return found;
}

static dlsym_function *next(void)
{
	return gp_agent_next_dlsym ? gp_agent_next_dlsym : gp_agent_find_dlsym();
}

void *gp_agent_cuda_symbol(void *handle, const char *name)
{
	void *found = next()(handle, name);

	if (!found || !gp_agent_auto_on)
		return found;
	if (strcmp(name, "cuGetProcAddress") == 0)
		ways.get = (get_function *)found;
	else if (strcmp(name, "cuGetProcAddress_v2") == 0)
		ways.get_v2 = (get_function *)found;
	return in_front_of(name, found);
}

void *gp_agent_auto_symbol(void *library, const char *name)
{
	return next()(library, name);
}
