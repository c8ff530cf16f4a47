// SPDX-License-Identifier: MIT
/*
 * Kernels: scratch that grows, times that follow the cost of the name, modules that come and go,
 * module variables, errors that are reported.
 */
#include "hip_check.h"

static const char source[] =
	"__device__ int table[1024];"
	"extern \"C\" __global__ void spin_1ms(int *a) { a[blockIdx.x] = threadIdx.x; }"
	"extern \"C\" __global__ void deep(int *a, int n)"
	"{ int local[512]; for (int i = 0; i < 512; i++) local[i] = a[i] * n;"
	"  for (int i = 0; i < n; i++) a[i] = local[(a[i] + i) & 511]; }"
	"extern \"C\" __global__ void deeper(int *a, int n)"
	"{ int local[4096]; for (int i = 0; i < 4096; i++) local[i] = a[i & 511] * n;"
	"  for (int i = 0; i < n; i++) a[i] = local[(a[i] + i) & 4095] + table[i & 1023]; }";

static void launch(hipFunction_t kernel, void *buffer, int n, hipStream_t stream)
{
	void *arguments[] = {&buffer, &n};

	HIP(hipModuleLaunchKernel(kernel, 8, 1, 1, 64, 1, 1, 0, stream, arguments, NULL));
}

static float time_of(hipFunction_t kernel, void *buffer, int count)
{
	hipEvent_t start, end;
	float ms;

	HIP(hipEventCreate(&start));
	HIP(hipEventCreate(&end));
	HIP(hipEventRecord(start, NULL));
	for (int i = 0; i < count; i++)
		launch(kernel, buffer, 1, NULL);
	HIP(hipEventRecord(end, NULL));
	HIP(hipEventSynchronize(end));
	HIP(hipEventElapsedTime(&ms, start, end));
	HIP(hipEventDestroy(start));
	HIP(hipEventDestroy(end));
	return ms;
}

static char *code;
static size_t code_size;

static hipModule_t load(void)
{
	hipModule_t module;
	char *copy = malloc(code_size);

	CHECK(copy);
	memcpy(copy, code, code_size);
	HIP(hipModuleLoadData(&module, copy));
	free(copy); /* legal: the runtime has its own */
	return module;
}

static hipFunction_t function(hipModule_t module, const char *name)
{
	hipFunction_t found;

	HIP(hipModuleGetFunction(&found, module, name));
	return found;
}

static void compile(void)
{
	const char *options[] = {gpu_name("--offload-arch=")};
	hiprtcProgram program;

	CHECK(hiprtcCreateProgram(&program, source, "k.hip", 0, NULL, NULL) == HIPRTC_SUCCESS);
	CHECK(hiprtcCompileProgram(program, 1, options) == HIPRTC_SUCCESS);
	CHECK(hiprtcGetCodeSize(program, &code_size) == HIPRTC_SUCCESS);
	code = malloc(code_size);
	CHECK(code && hiprtcGetCode(program, code) == HIPRTC_SUCCESS);
	hiprtcDestroyProgram(&program);
}

static void variables(hipModule_t module)
{
	int in[1024], out[1024];
	hipDeviceptr_t table;
	size_t size;

	HIP(hipModuleGetGlobal(&table, &size, module, "table"));
	CHECK(size == sizeof(in));
	fill_bytes((unsigned char *)in, sizeof(in), 6);
	HIP(hipMemcpyHtoD(table, in, sizeof(in)));
	HIP(hipMemcpyDtoH(out, table, sizeof(out)));
	CHECK(!memcmp(in, out, sizeof(in)));
}

int main(void)
{
	void *buffer, *too_much;
	hipModule_t module;
	size_t available, total;
	float ms;

	compile();
	HIP(hipMalloc(&buffer, 1 << 20));
	module = load();
	variables(module);
	ms = time_of(function(module, "spin_1ms"), buffer, 10);
	/* A millisecond each, one after the other, by the GPU's clock; more on a busy host. */
	CHECK(ms >= 9.9f);
	for (int i = 0; i < 3; i++) {
		launch(function(module, "deep"), buffer, 100, NULL);
		launch(function(module, "deeper"), buffer, 100, NULL);
		HIP(hipDeviceSynchronize());
	}
	for (int i = 0; i < 5; i++) {
		HIP(hipModuleUnload(module));
		module = load();
		ms = time_of(function(module, "spin_1ms"), buffer, 2);
		CHECK(ms >= 1.9f);
	}
	HIP(hipMemGetInfo(&available, &total));
	CHECK(hipMalloc(&too_much, total + (1ull << 30)) == hipErrorOutOfMemory);
	HIP(hipModuleUnload(module));
	HIP(hipFree(buffer));
	free(code);
	return 0;
}
