// SPDX-License-Identifier: MIT
/* Managed memory, and copies between two GPUs when there are two. */
#include "hip_check.h"

#define BYTES (1u << 20)

static void managed(void)
{
	unsigned char *shared, *device, *expected = new_bytes(BYTES, 4);

	HIP(hipMallocManaged((void **)&shared, BYTES, hipMemAttachGlobal));
	memcpy(shared, expected, BYTES);
	HIP(hipMemPrefetchAsync(shared, BYTES, 0, NULL));
	HIP(hipMalloc((void **)&device, BYTES));
	HIP(hipMemcpy(device, shared, BYTES, hipMemcpyDefault));
	HIP(hipDeviceSynchronize());
	memset(shared, 0, BYTES);
	HIP(hipMemcpy(shared, device, BYTES, hipMemcpyDefault));
	HIP(hipDeviceSynchronize());
	CHECK(!memcmp(shared, expected, BYTES));
	HIP(hipMemset(shared, 0x31, BYTES));
	HIP(hipDeviceSynchronize());
	CHECK(shared[0] == 0x31 && shared[BYTES - 1] == 0x31);
	HIP(hipFree(shared));
	HIP(hipFree(device));
	free(expected);
}

static void peers(void)
{
	unsigned char *in = new_bytes(BYTES, 8), *out = new_bytes(BYTES, 0);
	void *first, *second;
	int can;

	HIP(hipSetDevice(0));
	HIP(hipMalloc(&first, BYTES));
	HIP(hipMemcpy(first, in, BYTES, hipMemcpyHostToDevice));
	HIP(hipSetDevice(1));
	HIP(hipMalloc(&second, BYTES));
	HIP(hipDeviceCanAccessPeer(&can, 1, 0));
	if (can)
		HIP(hipDeviceEnablePeerAccess(0, 0));
	HIP(hipMemcpyPeer(second, 1, first, 0, BYTES));
	HIP(hipMemcpy(out, second, BYTES, hipMemcpyDeviceToHost));
	CHECK(!memcmp(in, out, BYTES));
	HIP(hipMemset(second, 0x44, BYTES));
	HIP(hipDeviceSynchronize());
	HIP(hipMemcpyPeer(first, 0, second, 1, BYTES));
	HIP(hipSetDevice(0));
	HIP(hipMemcpy(out, first, BYTES, hipMemcpyDeviceToHost));
	CHECK(out[0] == 0x44 && out[BYTES - 1] == 0x44);
	HIP(hipFree(first));
	HIP(hipFree(second));
	free(in);
	free(out);
}

int main(void)
{
	int count;

	HIP(hipGetDeviceCount(&count));
	managed();
	if (count > 1)
		peers();
	return 0;
}
