// SPDX-License-Identifier: MIT
/*
 * Calls that move data and that no other program here has: the asynchronous and driver-style ones,
 * fills and copies in two and three dimensions on the device, copies between GPUs on a stream, and
 * graphs that are built of nodes. Checked by content.
 */
#include "hip_check.h"

#define BYTES (1u << 20)

static unsigned char *device_new(size_t size)
{
	unsigned char *device;

	HIP(hipMalloc((void **)&device, size));
	return device;
}

static void check_same(const void *device, const unsigned char *expected, size_t size)
{
	unsigned char *out = new_bytes(size, 0);

	HIP(hipMemcpy(out, device, size, hipMemcpyDeviceToHost));
	CHECK(!memcmp(out, expected, size));
	free(out);
}

/* In every kind, and with the kind left to HIP. */
static void asynchronous(hipStream_t stream, size_t size)
{
	unsigned char *in = new_bytes(size, 11), *out = new_bytes(size, 0);
	unsigned char *first = device_new(size), *second = device_new(size);

	HIP(hipMemcpyHtoDAsync(first, in, size, stream));
	HIP(hipMemcpyDtoDAsync(second, first, size, stream));
	HIP(hipMemcpyDtoHAsync(out, second, size, stream));
	HIP(hipStreamSynchronize(stream));
	CHECK(!memcmp(in, out, size));
	memset(out, 0, size);
	in[0] ^= 0xff;
	HIP(hipMemcpyAsync(first, in, size, hipMemcpyDefault, stream));
	HIP(hipMemcpyAsync(second, first, size, hipMemcpyDefault, stream));
	HIP(hipMemcpyAsync(out, second, size, hipMemcpyDefault, stream));
	HIP(hipStreamSynchronize(stream));
	CHECK(!memcmp(in, out, size));
	in[0] ^= 0x0f;
	HIP(hipMemcpyHtoD(first, in, size));
	HIP(hipMemcpyDtoD(second, first, size));
	HIP(hipMemcpyDtoH(out, second, size));
	CHECK(!memcmp(in, out, size));
	HIP(hipMemcpyWithStream(first, out, size, hipMemcpyHostToDevice, stream));
	check_same(first, in, size);
	HIP(hipFree(first));
	HIP(hipFree(second));
	free(in);
	free(out);
}

/* Rows on the device, part of them overwritten. */
static void planes(hipStream_t stream)
{
	const size_t width = 1000, height = 37, pitch = 1024;
	unsigned char *first = device_new(pitch * height), *second = device_new(pitch * height);
	unsigned char *expected = new_bytes(pitch * height, 0);

	HIP(hipMemsetAsync(first, 0, pitch * height, stream));
	HIP(hipMemset2DAsync(first, pitch, 0x21, width, height, stream));
	HIP(hipMemset2DAsync(first + 10 * pitch + 3, pitch, 0x22, 17, 5, stream));
	HIP(hipMemsetAsync(second, 0x7f, pitch * height, stream));
	HIP(hipMemcpy2DAsync(second, pitch, first, pitch, width, height, hipMemcpyDeviceToDevice,
			     stream));
	HIP(hipStreamSynchronize(stream));
	for (size_t y = 0; y < height; y++) {
		memset(expected + y * pitch, 0x21, width);
		memset(expected + y * pitch + width, 0x7f, pitch - width);
		if (y >= 10 && y < 15)
			memset(expected + y * pitch + 3, 0x22, 17);
	}
	check_same(second, expected, pitch * height);
	HIP(hipFree(first));
	HIP(hipFree(second));
	free(expected);
}

static void boxes(hipStream_t stream)
{
	struct hipExtent extent = {65, 9, 6};
	size_t size = extent.width * extent.height * extent.depth;
	unsigned char *out = new_bytes(size, 0);
	hipPitchedPtr first, second;
	hipMemcpy3DParms copy = {0};

	HIP(hipMalloc3D(&first, extent));
	HIP(hipMalloc3D(&second, extent));
	HIP(hipMemset3D(first, 0x31, extent));
	HIP(hipMemset3DAsync(second, 0x32, extent, stream));
	HIP(hipStreamSynchronize(stream));
	HIP(hipDeviceSynchronize());
	/* The middle of one into the other. */
	copy.srcPtr = first;
	copy.dstPtr = second;
	copy.srcPos = copy.dstPos = (struct hipPos){4, 2, 1};
	copy.extent = (struct hipExtent){30, 3, 2};
	copy.kind = hipMemcpyDeviceToDevice;
	HIP(hipMemcpy3DAsync(&copy, stream));
	HIP(hipStreamSynchronize(stream));
	memset(&copy, 0, sizeof(copy));
	copy.srcPtr = second;
	copy.dstPtr = (hipPitchedPtr){out, extent.width, extent.width, extent.height};
	copy.extent = extent;
	copy.kind = hipMemcpyDeviceToHost;
	HIP(hipMemcpy3D(&copy));
	for (size_t i = 0; i < size; i++) {
		size_t x = i % extent.width, y = i / extent.width % extent.height;
		size_t z = i / (extent.width * extent.height);
		int inside = x >= 4 && x < 34 && y >= 2 && y < 5 && z >= 1 && z < 3;

		CHECK(out[i] == (inside ? 0x31 : 0x32));
	}
	HIP(hipFree(first.ptr));
	HIP(hipFree(second.ptr));
	free(out);
}

static void fills(hipStream_t stream)
{
	unsigned char *device = device_new(BYTES), *expected = new_bytes(BYTES, 0);

	HIP(hipMemsetD8Async(device, 0x41, BYTES, stream));
	HIP(hipMemsetD16Async(device + 4096, 0x4342, 1000, stream));
	HIP(hipMemsetD32Async(device + 16384, 0x47464544, 3001, stream));
	HIP(hipStreamSynchronize(stream));
	memset(expected, 0x41, BYTES);
	for (size_t i = 0; i < 2000; i++)
		expected[4096 + i] = (unsigned char)(0x42 + i % 2);
	for (size_t i = 0; i < 4 * 3001; i++)
		expected[16384 + i] = (unsigned char)(0x44 + i % 4);
	check_same(device, expected, BYTES);
	HIP(hipFree(device));
	free(expected);
}

static void between_gpus(hipStream_t stream)
{
	unsigned char *in = new_bytes(BYTES, 51), *first = device_new(BYTES), *second;

	HIP(hipMemcpy(first, in, BYTES, hipMemcpyHostToDevice));
	HIP(hipSetDevice(1));
	second = device_new(BYTES);
	HIP(hipSetDevice(0));
	HIP(hipMemcpyPeerAsync(second, 1, first, 0, BYTES, stream));
	HIP(hipStreamSynchronize(stream));
	check_same(second, in, BYTES);
	HIP(hipMemset(first, 0, BYTES));
	HIP(hipDeviceSynchronize());
	HIP(hipMemcpyAsync(first, second, BYTES, hipMemcpyDeviceToDevice, stream));
	HIP(hipStreamSynchronize(stream));
	check_same(first, in, BYTES);
	HIP(hipFree(first));
	HIP(hipFree(second));
	free(in);
}

static void function_of_host(void *data)
{
	(*(int *)data)++;
}

/* Fill, copy on the device, a function of the host, copy back: nodes in a row. */
static void nodes(hipStream_t stream)
{
	unsigned char *first = device_new(BYTES), *second = device_new(BYTES);
	unsigned char *out = new_bytes(BYTES, 0);
	hipGraphNode_t fill, copy, call, back;
	hipMemsetParams what = {.dst = first, .elementSize = 4, .value = 0x61616161, .height = 1};
	hipHostNodeParams function = {.fn = function_of_host};
	hipGraphExec_t executable;
	hipGraph_t graph;
	int calls = 0;

	what.width = BYTES / 4;
	what.pitch = BYTES;
	function.userData = &calls;
	HIP(hipGraphCreate(&graph, 0));
	HIP(hipGraphAddMemsetNode(&fill, graph, NULL, 0, &what));
	HIP(hipGraphAddMemcpyNode1D(&copy, graph, &fill, 1, second, first, BYTES,
				    hipMemcpyDeviceToDevice));
	HIP(hipGraphAddHostNode(&call, graph, &copy, 1, &function));
	HIP(hipGraphAddMemcpyNode1D(&back, graph, &call, 1, out, second, BYTES,
				    hipMemcpyDeviceToHost));
	HIP(hipGraphInstantiate(&executable, graph, NULL, NULL, 0));
	for (int round = 1; round <= 3; round++) {
		memset(out, 0, BYTES);
		HIP(hipMemset(second, 0, BYTES));
		HIP(hipDeviceSynchronize());
		HIP(hipGraphLaunch(executable, stream));
		HIP(hipStreamSynchronize(stream));
		CHECK(calls == round);
		for (size_t i = 0; i < BYTES; i++)
			CHECK(out[i] == 0x61);
	}
	HIP(hipGraphExecDestroy(executable));
	HIP(hipGraphDestroy(graph));
	HIP(hipFree(first));
	HIP(hipFree(second));
	free(out);
}

int main(void)
{
	static const size_t sizes[] = {1, 4095, 65536, 300001, 20u << 20};
	hipStream_t stream;
	int devices;

	HIP(hipGetDeviceCount(&devices));
	HIP(hipStreamCreate(&stream));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		asynchronous(stream, sizes[i]);
	planes(stream);
	boxes(stream);
	fills(stream);
	if (devices > 1)
		between_gpus(stream);
	nodes(stream);
	HIP(hipStreamDestroy(stream));
	return 0;
}
