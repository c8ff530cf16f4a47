// SPDX-License-Identifier: MIT
/* Arrays: what is copied into one comes out again, whole or in part, in one to three dimensions. */
#include "hip_check.h"

static void plane(hipChannelFormatDesc format, size_t element, size_t width, size_t height)
{
	size_t row = width * element, pitch = row + 3 * element; /* whole elements, as HIP counts */
	size_t size = pitch * height;
	unsigned char *in = new_bytes(size, 17), *out = new_bytes(size, 0);
	hipArray_t array;

	if (hipMallocArray(&array, &format, width, height, 0) == hipErrorNotSupported)
		exit(NOT_APPLICABLE); /* gfx94x has no images */
	HIP(hipMemcpy2DToArray(array, 0, 0, in, pitch, row, height, hipMemcpyHostToDevice));
	HIP(hipMemcpy2DFromArray(out, pitch, array, 0, 0, row, height, hipMemcpyDeviceToHost));
	for (size_t y = 0; y < height; y++)
		CHECK(!memcmp(in + y * pitch, out + y * pitch, row));
	/* A window of it. */
	memset(out, 0, size);
	HIP(hipMemcpy2DFromArray(out, pitch, array, 2 * element, 1, row - 2 * element, height - 1,
				 hipMemcpyDeviceToHost));
	for (size_t y = 1; y < height; y++)
		CHECK(!memcmp(in + y * pitch + 2 * element, out + (y - 1) * pitch,
			      row - 2 * element));
	HIP(hipFreeArray(array));
	free(in);
	free(out);
}

static void box(size_t width, size_t height, size_t depth)
{
	hipChannelFormatDesc format = {32, 0, 0, 0, hipChannelFormatKindFloat};
	size_t size = width * height * depth * 4;
	unsigned char *in = new_bytes(size, 23), *out = new_bytes(size, 0);
	struct hipExtent extent = {width, height, depth};
	hipMemcpy3DParms copy = {0};
	hipArray_t first, second;

	HIP(hipMalloc3DArray(&first, &format, extent, 0));
	HIP(hipMalloc3DArray(&second, &format, extent, 0));
	copy.extent = extent;
	copy.srcPtr = (hipPitchedPtr){in, width * 4, width, height};
	copy.dstArray = first;
	copy.kind = hipMemcpyHostToDevice;
	HIP(hipMemcpy3D(&copy));
	memset(&copy.srcPtr, 0, sizeof(copy.srcPtr));
	copy.srcArray = first;
	copy.dstArray = second;
	copy.kind = hipMemcpyDeviceToDevice;
	HIP(hipMemcpy3D(&copy));
	copy.srcArray = second;
	copy.dstArray = NULL;
	copy.dstPtr = (hipPitchedPtr){out, width * 4, width, height};
	copy.kind = hipMemcpyDeviceToHost;
	HIP(hipMemcpy3D(&copy));
	CHECK(!memcmp(in, out, size));
	HIP(hipFreeArray(first));
	HIP(hipFreeArray(second));
	free(in);
	free(out);
}

int main(void)
{
	plane((hipChannelFormatDesc){8, 0, 0, 0, hipChannelFormatKindUnsigned}, 1, 100, 40);
	plane((hipChannelFormatDesc){16, 0, 0, 0, hipChannelFormatKindSigned}, 2, 33, 7);
	plane((hipChannelFormatDesc){32, 0, 0, 0, hipChannelFormatKindFloat}, 4, 64, 64);
	plane((hipChannelFormatDesc){8, 8, 8, 8, hipChannelFormatKindUnsigned}, 4, 31, 17);
	plane((hipChannelFormatDesc){32, 32, 32, 32, hipChannelFormatKindFloat}, 16, 20, 9);
	box(16, 8, 4);
	box(31, 5, 3);
	return 0;
}
