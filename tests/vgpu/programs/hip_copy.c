// SPDX-License-Identifier: MIT
/* Copies and fills in all directions and sizes, checked byte by byte. */
#include "hip_check.h"

static void linear(size_t size, size_t from_offset, size_t to_offset)
{
	unsigned char *in = new_bytes(size, (unsigned int)size + 1), *out = new_bytes(size, 0);
	unsigned char *first, *second;

	HIP(hipMalloc((void **)&first, size + 64));
	HIP(hipMalloc((void **)&second, size + 64));
	HIP(hipMemcpy(first + from_offset, in, size, hipMemcpyHostToDevice));
	HIP(hipMemcpy(second + to_offset, first + from_offset, size, hipMemcpyDeviceToDevice));
	HIP(hipMemcpy(out, second + to_offset, size, hipMemcpyDeviceToHost));
	CHECK(!memcmp(in, out, size));
	HIP(hipFree(first));
	HIP(hipFree(second));
	free(in);
	free(out);
}

static void pinned(size_t size)
{
	unsigned char *in, *out, *device, *registered = new_bytes(size + 100, 5);

	HIP(hipHostMalloc((void **)&in, size, 0));
	HIP(hipHostMalloc((void **)&out, size, 0));
	HIP(hipMalloc((void **)&device, size));
	fill_bytes(in, size, 77);
	memset(out, 0, size);
	HIP(hipMemcpyAsync(device, in, size, hipMemcpyHostToDevice, NULL));
	HIP(hipMemcpyAsync(out, device, size, hipMemcpyDeviceToHost, NULL));
	HIP(hipStreamSynchronize(NULL));
	CHECK(!memcmp(in, out, size));
	HIP(hipMemcpy(out, in, size / 2, hipMemcpyHostToHost));
	HIP(hipHostRegister(registered + 50, size, 0));
	HIP(hipMemcpy(device, registered + 50, size, hipMemcpyHostToDevice));
	memset(out, 0, size);
	HIP(hipMemcpy(out, device, size, hipMemcpyDeviceToHost));
	CHECK(!memcmp(registered + 50, out, size));
	HIP(hipHostUnregister(registered + 50));
	HIP(hipFree(device));
	HIP(hipHostFree(in));
	HIP(hipHostFree(out));
	free(registered);
}

/* Rows of `width` bytes through pitched device memory and back. */
static void planes(size_t width, size_t height)
{
	size_t pitch, other_pitch, host_pitch = width + 13;
	unsigned char *in = new_bytes(host_pitch * height, 3);
	unsigned char *out = new_bytes(host_pitch * height, 0);
	void *first, *second;

	HIP(hipMallocPitch(&first, &pitch, width, height));
	HIP(hipMallocPitch(&second, &other_pitch, width + 300, height));
	HIP(hipMemcpy2D(first, pitch, in, host_pitch, width, height, hipMemcpyHostToDevice));
	HIP(hipMemcpy2D(second, other_pitch, first, pitch, width, height, hipMemcpyDeviceToDevice));
	HIP(hipMemcpy2D(out, host_pitch, second, other_pitch, width, height,
			hipMemcpyDeviceToHost));
	for (size_t y = 0; y < height; y++) {
		CHECK(!memcmp(in + y * host_pitch, out + y * host_pitch, width));
		CHECK(!out[y * host_pitch + width]);
	}
	HIP(hipFree(first));
	HIP(hipFree(second));
	free(in);
	free(out);
}

static void boxes(size_t width, size_t height, size_t depth)
{
	size_t size = width * height * depth;
	unsigned char *in = new_bytes(size, 9), *out = new_bytes(size, 0);
	struct hipExtent extent = {width, height, depth};
	hipPitchedPtr device;
	hipMemcpy3DParms up = {0}, down = {0};

	HIP(hipMalloc3D(&device, extent));
	up.srcPtr = (hipPitchedPtr){in, width, width, height};
	up.dstPtr = device;
	up.extent = extent;
	up.kind = hipMemcpyHostToDevice;
	down.srcPtr = device;
	down.dstPtr = (hipPitchedPtr){out, width, width, height};
	down.extent = extent;
	down.kind = hipMemcpyDeviceToHost;
	HIP(hipMemcpy3D(&up));
	HIP(hipMemcpy3D(&down));
	CHECK(!memcmp(in, out, size));
	HIP(hipFree(device.ptr));
	free(in);
	free(out);
}

static void fills(size_t size)
{
	unsigned char *out = new_bytes(size + 16, 0), *device;
	size_t pitch, width = 123, height = 45;

	HIP(hipMalloc((void **)&device, size + 16));
	HIP(hipMemset(device, 0xee, size + 16));
	HIP(hipMemset(device + 3, 0x5a, size));
	HIP(hipMemcpy(out, device, size + 16, hipMemcpyDeviceToHost));
	CHECK(out[2] == 0xee && out[3] == 0x5a && out[2 + size] == 0x5a && out[3 + size] == 0xee);
	for (size_t i = 0; i < size; i++)
		CHECK(out[3 + i] == 0x5a);
	HIP(hipMemsetD32(device, 0x01020304, size / 4));
	HIP(hipMemcpy(out, device, size, hipMemcpyDeviceToHost));
	for (size_t i = 0; i < size / 4; i++)
		CHECK(((uint32_t *)out)[i] == 0x01020304);
	HIP(hipMemsetD16(device, 0x0a0b, size / 2));
	HIP(hipMemcpy(out, device, size, hipMemcpyDeviceToHost));
	CHECK(((uint16_t *)out)[size / 2 - 1] == 0x0a0b);
	HIP(hipFree(device));
	free(out);

	HIP(hipMallocPitch((void **)&device, &pitch, width, height));
	HIP(hipMemset(device, 0, pitch * height));
	HIP(hipMemset2D(device, pitch, 0x77, width, height));
	out = new_bytes(pitch * height, 0);
	HIP(hipMemcpy(out, device, pitch * height, hipMemcpyDeviceToHost));
	for (size_t y = 0; y < height; y++) {
		for (size_t x = 0; x < width; x++)
			CHECK(out[y * pitch + x] == 0x77);
		CHECK(pitch == width || !out[y * pitch + width]);
	}
	HIP(hipFree(device));
	free(out);
}

int main(void)
{
	static const size_t sizes[] = {
		1, 3, 4, 5, 63, 64, 255, 4096, 65537, 1u << 20, (9u << 20) + 7, 64u << 20};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		linear(sizes[i], 0, 0);
		linear(sizes[i], 4, 8);
		linear(sizes[i], 1, 2);
	}
	pinned(3u << 20);
	planes(64, 64);
	planes(100, 33);
	planes(1, 7);
	planes(20000, 3);
	boxes(32, 8, 4);
	boxes(31, 7, 5);
	fills(100000);
	return 0;
}
