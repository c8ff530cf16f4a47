// SPDX-License-Identifier: MIT
/* Streams with priorities, events, stream memory operations, kernels and graphs. */
#include "hip_check.h"

#define STREAMS 9
#define BYTES   (256u << 10)

static const char source[] =
	"extern \"C\" __global__ void spin(float *a, int n)"
	"{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] += 1; }";

static void launch(hipFunction_t kernel, void *buffer, unsigned int groups, hipStream_t stream)
{
	int n = 64;
	void *arguments[] = {&buffer, &n};

	HIP(hipModuleLaunchKernel(kernel, groups, 1, 1, 64, 1, 1, 0, stream, arguments, NULL));
}

static void priorities(hipFunction_t kernel)
{
	hipStream_t streams[STREAMS];
	hipEvent_t before[STREAMS], after[STREAMS];
	unsigned char *in[STREAMS], *out[STREAMS];
	void *device[STREAMS];
	int low, high;
	float ms;

	HIP(hipDeviceGetStreamPriorityRange(&low, &high));
	CHECK(low > high);
	for (int i = 0; i < STREAMS; i++) {
		HIP(hipStreamCreateWithPriority(&streams[i], hipStreamNonBlocking,
						i % 3 == 0   ? low
						: i % 3 == 1 ? 0
							     : high));
		HIP(hipEventCreate(&before[i]));
		HIP(hipEventCreate(&after[i]));
		HIP(hipMalloc(&device[i], BYTES));
		HIP(hipHostMalloc((void **)&in[i], BYTES, 0));
		HIP(hipHostMalloc((void **)&out[i], BYTES, 0));
		fill_bytes(in[i], BYTES, (unsigned int)i + 1);
		memset(out[i], 0, BYTES);
	}
	for (int i = 0; i < STREAMS; i++) {
		HIP(hipEventRecord(before[i], streams[i]));
		HIP(hipMemcpyAsync(device[i], in[i], BYTES, hipMemcpyHostToDevice, streams[i]));
		launch(kernel, device[i], 10, streams[i]);
		HIP(hipMemcpyAsync(out[i], device[i], BYTES, hipMemcpyDeviceToHost, streams[i]));
		HIP(hipEventRecord(after[i], streams[i]));
	}
	for (int i = 0; i < STREAMS; i++) {
		HIP(hipStreamSynchronize(streams[i]));
		CHECK(hipEventQuery(after[i]) == hipSuccess);
		HIP(hipEventElapsedTime(&ms, before[i], after[i]));
		CHECK(ms >= 0 && ms < 60000);
		CHECK(!memcmp(in[i] + 256, out[i] + 256, BYTES - 256));
	}
	for (int i = 0; i < STREAMS; i++) {
		HIP(hipStreamDestroy(streams[i]));
		HIP(hipEventDestroy(before[i]));
		HIP(hipEventDestroy(after[i]));
		HIP(hipFree(device[i]));
		HIP(hipHostFree(in[i]));
		HIP(hipHostFree(out[i]));
	}
}

/* One stream waits for another's event: the copy must see the fill. */
static void dependencies(void)
{
	unsigned char *device, *out = new_bytes(BYTES, 0);
	hipStream_t first, second;
	hipEvent_t event;

	HIP(hipStreamCreate(&first));
	HIP(hipStreamCreate(&second));
	HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
	HIP(hipMalloc((void **)&device, BYTES));
	for (int i = 1; i <= 20; i++) {
		HIP(hipMemsetAsync(device, i, BYTES, first));
		HIP(hipEventRecord(event, first));
		HIP(hipStreamWaitEvent(second, event, 0));
		HIP(hipMemcpyAsync(out, device, BYTES, hipMemcpyDeviceToHost, second));
		HIP(hipStreamSynchronize(second));
		CHECK(out[0] == i && out[BYTES - 1] == i);
	}
	HIP(hipFree(device));
	HIP(hipStreamDestroy(first));
	HIP(hipStreamDestroy(second));
	HIP(hipEventDestroy(event));
	free(out);
}

static void memory_operations(void)
{
	hipStream_t stream;
	hipEvent_t reached;
	uint64_t *place;

	HIP(hipStreamCreate(&stream));
	HIP(hipEventCreateWithFlags(&reached, hipEventDisableTiming));
	HIP(hipExtMallocWithFlags((void **)&place, 8, hipMallocSignalMemory));
	*place = 0;
	HIP(hipStreamWriteValue32(stream, place, 7, 0));
	HIP(hipStreamSynchronize(stream));
	CHECK((uint32_t)*place == 7);
	HIP(hipEventRecord(reached, stream));
	HIP(hipStreamWaitValue64(stream, place, 9, hipStreamWaitValueEq, ~0ull));
	HIP(hipStreamWriteValue64(stream, place, 11, 0));
	/* It has come to the wait, and no further. */
	HIP(hipEventSynchronize(reached));
	CHECK(*(volatile uint64_t *)place == 7);
	CHECK(hipStreamQuery(stream) == hipErrorNotReady);
	*(volatile uint64_t *)place = 9;
	HIP(hipStreamSynchronize(stream));
	CHECK(*place == 11);
	HIP(hipFree(place));
	HIP(hipEventDestroy(reached));
	HIP(hipStreamDestroy(stream));
}

static void graph(hipFunction_t kernel)
{
	unsigned char *in = new_bytes(BYTES, 21), *out = new_bytes(BYTES, 0);
	hipGraphExec_t executable;
	hipStream_t stream;
	hipGraph_t captured;
	void *first, *second;

	HIP(hipMalloc(&first, BYTES));
	HIP(hipMalloc(&second, BYTES));
	HIP(hipStreamCreate(&stream));
	HIP(hipMemcpy(first, in, BYTES, hipMemcpyHostToDevice));
	HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
	HIP(hipMemcpyAsync(second, first, BYTES, hipMemcpyDeviceToDevice, stream));
	launch(kernel, first, 4, stream);
	HIP(hipMemcpyAsync(out, second, BYTES, hipMemcpyDeviceToHost, stream));
	HIP(hipStreamEndCapture(stream, &captured));
	HIP(hipGraphInstantiate(&executable, captured, NULL, NULL, 0));
	for (int i = 0; i < 5; i++) {
		memset(out, 0, BYTES);
		HIP(hipGraphLaunch(executable, stream));
		HIP(hipStreamSynchronize(stream));
		CHECK(!memcmp(in, out, BYTES));
	}
	HIP(hipGraphExecDestroy(executable));
	HIP(hipGraphDestroy(captured));
	HIP(hipStreamDestroy(stream));
	HIP(hipFree(first));
	HIP(hipFree(second));
	free(in);
	free(out);
}

int main(void)
{
	hipFunction_t kernel = compile_kernel(source, "spin");

	priorities(kernel);
	dependencies();
	memory_operations();
	graph(kernel);
	HIP(hipDeviceSynchronize());
	return 0;
}
