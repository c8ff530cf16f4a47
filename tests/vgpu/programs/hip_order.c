// SPDX-License-Identifier: MIT
/*
 * What a stream does in order: functions of the host, batches of waits and writes, copies between
 * every two GPUs, and fills of every width, size and alignment. Checked by content.
 */
#include <unistd.h>

#include "hip_check.h"

#define BYTES (1u << 20)

static int called[3];

static void second(void *data)
{
	((int *)data)[1] = ((int *)data)[0] + 1;
}

static void first(hipStream_t stream, hipError_t status, void *data)
{
	(void)stream;
	CHECK(status == hipSuccess);
	((int *)data)[0] = 41;
}

static void host_functions(void)
{
	unsigned char *in = new_bytes(BYTES, 5), *out = new_bytes(BYTES, 0);
	hipStream_t stream;
	void *device;

	HIP(hipStreamCreate(&stream));
	HIP(hipMalloc(&device, BYTES));
	HIP(hipMemcpyAsync(device, in, BYTES, hipMemcpyHostToDevice, stream));
	HIP(hipStreamAddCallback(stream, first, called, 0));
#if HIP_VERSION_MAJOR >= 6
	HIP(hipLaunchHostFunc(stream, second, called));
#else
	HIP(hipStreamSynchronize(stream));
	second(called); /* 5.2.3 does not export the call */
#endif
	HIP(hipMemcpyAsync(out, device, BYTES, hipMemcpyDeviceToHost, stream));
	HIP(hipStreamSynchronize(stream));
	CHECK(called[0] == 41 && called[1] == 42);
	CHECK(!memcmp(in, out, BYTES));
	HIP(hipFree(device));
	HIP(hipStreamDestroy(stream));
	free(in);
	free(out);
}

#if HIP_VERSION >= 60400000

static void batches(void)
{
	hipStreamBatchMemOpParams batch[3];
	hipStream_t stream;
	uint64_t *place;

	HIP(hipStreamCreate(&stream));
	HIP(hipHostMalloc((void **)&place, 8, 0));
	*place = 0;
	memset(batch, 0, sizeof(batch));
	batch[0].writeValue.operation = hipStreamMemOpWriteValue64;
	batch[0].writeValue.address = place;
	batch[0].writeValue.value64 = 5;
	batch[1].waitValue.operation = hipStreamMemOpWaitValue64;
	batch[1].waitValue.address = place;
	batch[1].waitValue.value64 = 5;
	batch[1].waitValue.flags = hipStreamWaitValueEq;
	/* HIP 7.2.4 itself refuses every batch. */
	if (HIP_VERSION_MAJOR == 7 &&
	    hipStreamBatchMemOp(stream, 2, batch, 0) == hipErrorInvalidValue)
		return;
	HIP(hipStreamBatchMemOp(stream, 2, batch, 0));
	HIP(hipStreamSynchronize(stream));
	CHECK(*place == 5);
	batch[0].waitValue.operation = hipStreamMemOpWaitValue64;
	batch[0].waitValue.value64 = 9;
	batch[0].waitValue.flags = hipStreamWaitValueGte;
	HIP(hipStreamBatchMemOp(stream, 1, batch, 0));
	usleep(20000);
	CHECK(hipStreamQuery(stream) == hipErrorNotReady);
	*(volatile uint64_t *)place = 10;
	HIP(hipStreamSynchronize(stream));
	HIP(hipHostFree(place));
	HIP(hipStreamDestroy(stream));
}

#else

static void batches(void)
{
}

#endif

/* From every GPU to every other, directly where HIP allows it. */
static void peers(int devices)
{
	unsigned char *in = new_bytes(BYTES, 8), *out = new_bytes(BYTES, 0);
	void *memory[16];

	CHECK(devices <= 16);
	for (int i = 0; i < devices; i++) {
		HIP(hipSetDevice(i));
		HIP(hipMalloc(&memory[i], BYTES));
		for (int j = 0; j < devices; j++) {
			int can = 0;

			if (i != j)
				HIP(hipDeviceCanAccessPeer(&can, i, j));
			if (can)
				HIP(hipDeviceEnablePeerAccess(j, 0));
		}
	}
	for (int i = 0; i < devices; i++) {
		for (int j = 0; j < devices; j++) {
			in[0] = (unsigned char)(i * 16 + j);
			HIP(hipSetDevice(i));
			HIP(hipMemcpy(memory[i], in, BYTES, hipMemcpyHostToDevice));
			if (i != j)
				HIP(hipMemcpyPeer(memory[j], j, memory[i], i, BYTES));
			HIP(hipSetDevice(j));
			memset(out, 0, BYTES);
			HIP(hipMemcpy(out, memory[j], BYTES, hipMemcpyDeviceToHost));
			CHECK(!memcmp(in, out, BYTES));
			HIP(hipMemset(memory[j], 0, BYTES));
			HIP(hipDeviceSynchronize());
		}
	}
	for (int i = 0; i < devices; i++) {
		HIP(hipSetDevice(i));
		HIP(hipFree(memory[i]));
	}
	HIP(hipSetDevice(0));
	free(in);
	free(out);
}

static void fill(unsigned char *device, unsigned char *out, size_t offset, size_t count, int width)
{
	size_t bytes = count * (size_t)width;
	unsigned int value = 0x04030201u;

	HIP(hipMemset(device, 0xee, BYTES));
	if (width == 1)
		HIP(hipMemsetD8(device + offset, (unsigned char)value, count));
	else if (width == 2)
		HIP(hipMemsetD16(device + offset, (unsigned short)value, count));
	else
		HIP(hipMemsetD32(device + offset, (int)value, count));
	HIP(hipMemcpy(out, device, BYTES, hipMemcpyDeviceToHost));
	for (size_t i = 0; i < BYTES; i++) {
		size_t at = i - offset;
		unsigned char expected =
			i >= offset && at < bytes ? (unsigned char)(at % (size_t)width + 1) : 0xee;

		CHECK(out[i] == expected);
	}
}

static void fills(void)
{
	static const size_t counts[] = {1, 2, 3, 7, 8, 15, 16, 17, 1000, 65537};
	unsigned char *out = new_bytes(BYTES, 0), *device;

	HIP(hipMalloc((void **)&device, BYTES));
	for (int width = 1; width <= 4; width *= 2) {
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			/* HIP 5.2.3 fills too much if it ends before the next 8 bytes. */
			size_t count = HIP_VERSION_MAJOR < 6 && counts[i] < 16 ? 16 : counts[i];

			fill(device, out, 0, count, width);
			fill(device, out, (size_t)width * 3, count, width);
		}
	}
	HIP(hipFree(device));
	free(out);
}

int main(void)
{
	int devices;

	HIP(hipGetDeviceCount(&devices));
	host_functions();
	batches();
	fills();
	peers(devices);
	return 0;
}
