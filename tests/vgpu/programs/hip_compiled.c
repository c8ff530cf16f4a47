// SPDX-License-Identifier: MIT
/*
 * Launches as a compiler writes them for kernel<<<...>>>: a fat binary that is registered first,
 * and a function of the host that stands for the kernel. Only such kernels can be nodes of a graph
 * or launched cooperatively; HIP 5.2.3 runs a module's kernel at once, even while a stream is
 * captured. Also callbacks of a stream and what HIP says of occupancy.
 */
#include <time.h>

#include "hip_check.h"

#define BUNDLE_MAGIC  "__CLANG_OFFLOAD_BUNDLE__"
#define WRAPPER_MAGIC 0x48495046u /* "HIPF" */
#define CODE_OFFSET   4096u
#define KERNEL_MS     0.99 /* spin_1ms, with the model's variation */
#define GROUPS        80

/* What hipcc's host code calls; not in HIP's headers. */
void **__hipRegisterFatBinary(const void *wrapper);
void __hipRegisterFunction(void **binary, const void *host, char *device, const char *name,
			   unsigned int threads, void *tid, void *bid, void *block, void *grid,
			   int *size);

static const char source[] =
	"extern \"C\" __global__ void spin_1ms(int *a, int n) { a[blockIdx.x] = n + threadIdx.x; }";

/* The place of the kernel on the host; its address alone counts. */
static void spin_1ms(void)
{
}

static char *put(char *at, const void *data, size_t size)
{
	memcpy(at, data, size);
	return at + size;
}

static char *put_number(char *at, uint64_t number)
{
	return put(at, &number, sizeof(number));
}

/* An offload bundle of two entries: nothing for the host, the code for the GPU. */
static char *bundle(const char *code, size_t size)
{
	const char *const targets[] = {"host-x86_64-unknown-linux--",
				       gpu_name("hipv4-amdgcn-amd-amdhsa--")};
	char *all = calloc(1, CODE_OFFSET + size), *at = all;

	CHECK(all);
	at = put(at, BUNDLE_MAGIC, strlen(BUNDLE_MAGIC));
	at = put_number(at, 2);
	for (int i = 0; i < 2; i++) {
		at = put_number(at, CODE_OFFSET);
		at = put_number(at, i ? size : 0);
		at = put_number(at, strlen(targets[i]));
		at = put(at, targets[i], strlen(targets[i]));
	}
	memcpy(all + CODE_OFFSET, code, size);
	return all;
}

static void register_kernel(void)
{
	static struct {
		uint32_t magic, version;
		const void *binary;
		void *unused;
	} wrapper = {WRAPPER_MAGIC, 1, NULL, NULL};
	const char *options[] = {gpu_name("--offload-arch=")};
	static char name[] = "spin_1ms";
	hiprtcProgram program;
	size_t size;
	char *code;

	CHECK(hiprtcCreateProgram(&program, source, "k.hip", 0, NULL, NULL) == HIPRTC_SUCCESS);
	CHECK(hiprtcCompileProgram(program, 1, options) == HIPRTC_SUCCESS);
	CHECK(hiprtcGetCodeSize(program, &size) == HIPRTC_SUCCESS);
	code = malloc(size);
	CHECK(code && hiprtcGetCode(program, code) == HIPRTC_SUCCESS);
	wrapper.binary = bundle(code, size); /* HIP keeps the address */
	__hipRegisterFunction(__hipRegisterFatBinary(&wrapper), (const void *)spin_1ms, name, name,
			      UINT32_MAX, NULL, NULL, NULL, NULL, NULL);
	hiprtcDestroyProgram(&program);
	free(code);
}

static void launch(void *buffer, hipStream_t stream)
{
	int n = 3;
	void *arguments[] = {&buffer, &n};

	HIP(hipLaunchKernel((const void *)spin_1ms, (dim3){GROUPS, 1, 1}, (dim3){64, 1, 1},
			    arguments, 0, stream));
}

static double now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

/* Every launch of the graph takes at least that long: its kernels ran, all of them, again. */
static void launch_graph(hipGraph_t graph, hipStream_t stream, double least_ms)
{
	hipGraphExec_t executable;

	HIP(hipGraphInstantiate(&executable, graph, NULL, NULL, 0));
	for (int i = 0; i < 3; i++) {
		double start = now_ms();

		HIP(hipGraphLaunch(executable, stream));
		HIP(hipDeviceSynchronize());
		CHECK(now_ms() - start >= least_ms);
	}
	HIP(hipGraphExecDestroy(executable));
	HIP(hipGraphDestroy(graph));
}

static void graphs(void *buffer, hipStream_t stream)
{
	hipStream_t other;
	hipEvent_t fork, join;
	hipGraph_t graph;

	HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
	for (int i = 0; i < 4; i++)
		launch(buffer, stream);
	HIP(hipStreamEndCapture(stream, &graph));
	launch_graph(graph, stream, 4 * KERNEL_MS);

	/* One, then two side by side, then one. */
	HIP(hipStreamCreate(&other));
	HIP(hipEventCreateWithFlags(&fork, hipEventDisableTiming));
	HIP(hipEventCreateWithFlags(&join, hipEventDisableTiming));
	HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
	launch(buffer, stream);
	HIP(hipEventRecord(fork, stream));
	HIP(hipStreamWaitEvent(other, fork, 0));
	launch(buffer, other);
	launch(buffer, stream);
	HIP(hipEventRecord(join, other));
	HIP(hipStreamWaitEvent(stream, join, 0));
	launch(buffer, stream);
	HIP(hipStreamEndCapture(stream, &graph));
	launch_graph(graph, stream, 3 * KERNEL_MS);
	HIP(hipEventDestroy(fork));
	HIP(hipEventDestroy(join));
	HIP(hipStreamDestroy(other));
}

static void cooperative(void *buffer, hipStream_t stream)
{
	int per_cu, cus, n = 3;
	void *arguments[] = {&buffer, &n};
	dim3 block = {64, 1, 1};

	HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&per_cu, (const void *)spin_1ms, 64, 0));
	HIP(hipDeviceGetAttribute(&cus, hipDeviceAttributeMultiprocessorCount, 0));
	CHECK(per_cu >= 1 && cus >= 1);
	HIP(hipLaunchCooperativeKernel((const void *)spin_1ms,
				       (dim3){(unsigned int)(per_cu * cus), 1, 1}, block, arguments,
				       0, stream));
	HIP(hipStreamSynchronize(stream));
	CHECK(hipLaunchCooperativeKernel((const void *)spin_1ms,
					 (dim3){(unsigned int)(per_cu * cus + 1), 1, 1}, block,
					 arguments, 0,
					 stream) == hipErrorCooperativeLaunchTooLarge);
	(void)hipGetLastError();
}

static void called(hipStream_t stream, hipError_t status, void *data)
{
	int *count = data;

	(void)stream;
	CHECK(status == hipSuccess);
	__atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
}

/* HIP lets the stream go on only when the callback has returned. */
static void callbacks(void *buffer, hipStream_t stream)
{
	const struct timespec nap = {0, 1000000};
	int count = 0;

	for (int i = 0; i < 5; i++) {
		launch(buffer, stream);
		HIP(hipStreamAddCallback(stream, called, &count, 0));
	}
	HIP(hipStreamSynchronize(stream));
	for (int i = 0; i < 60000 && __atomic_load_n(&count, __ATOMIC_SEQ_CST) < 5; i++)
		nanosleep(&nap, NULL);
	CHECK(__atomic_load_n(&count, __ATOMIC_SEQ_CST) == 5);
}

int main(void)
{
	hipStream_t stream;
	void *buffer;
	double start;

	register_kernel();
	HIP(hipMalloc(&buffer, 1 << 20));
	HIP(hipStreamCreate(&stream));
	start = now_ms();
	launch(buffer, stream);
	HIP(hipStreamSynchronize(stream));
	CHECK(now_ms() - start >= KERNEL_MS);
	graphs(buffer, stream);
	cooperative(buffer, stream);
	callbacks(buffer, stream);
	HIP(hipStreamDestroy(stream));
	HIP(hipFree(buffer));
	return 0;
}
