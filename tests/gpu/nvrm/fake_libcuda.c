/*
 * A libcuda with what the agent uses to switch ahead: one context, and a kernel that "waits" as
 * long as the word it was given is less than what it waits for.
 */
#include <stddef.h>
#include <stdint.h>

static uint32_t word;
static const uint32_t *flag;
static uint32_t until;
static int launched;
static int context;

int cuCtxGetCurrent(void **out);
int cuCtxGetId(void *of, unsigned long long *id);
int cuThreadExchangeStreamCaptureMode(int *mode);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuStreamCreate(void **stream, unsigned flags);
int cuMemHostAlloc(void **memory, size_t size, unsigned flags);
int cuMemHostGetDevicePointer_v2(uint64_t *out, void *memory, unsigned flags);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **parameters, void **extra);
int fake_launches(void);

int cuCtxGetCurrent(void **out)
{
	*out = &context;
	return 0;
}

int cuCtxGetId(void *of, unsigned long long *id)
{
	*id = 7;
	return of != &context;
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
	*mode = 0;
	return 0;
}

int cuModuleLoadData(void **module, const void *image)
{
	*module = &context;
	return !image;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
	*function = module;
	return name[0] != 'g';
}

int cuStreamCreate(void **stream, unsigned flags)
{
	*stream = &context;
	return flags != 1; /* it must not wait for the program's default stream */
}

int cuMemHostAlloc(void **memory, size_t size, unsigned flags)
{
	*memory = &word;
	return size != sizeof(word) || !flags;
}

int cuMemHostGetDevicePointer_v2(uint64_t *out, void *memory, unsigned flags)
{
	*out = (uint64_t)(uintptr_t)memory;
	return flags != 0;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **parameters, void **extra)
{
	if (!function || gx * gy * gz * bx * by * bz != 1 || shared || !stream || extra)
		return 1;
	flag = (const uint32_t *)(uintptr_t) * (const uint64_t *)parameters[0];
	if (*(const uint32_t *)parameters[1])
		until = *(const uint32_t *)parameters[1];
	launched++;
	return 0;
}

int fake_launches(void)
{
	return launched + (flag && *flag < until ? 1000 : 0);
}
