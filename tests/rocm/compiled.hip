// SPDX-License-Identifier: MIT
// What hipcc makes: a kernel in the program itself, launched with <<<>>>, and copies around it. The copies are checked;
// the kernel writes what was there before, because kernels on the virtual GPU may compute nothing.
#include <cstdio>
#include <vector>

#include <hip/hip_runtime.h>

__global__ void same(float *data, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		data[i] *= 1.0f;
}

int main()
{
	const int count = 1 << 20;
	std::vector<float> in(count), out(count);
	float *device = nullptr;

	for (int i = 0; i < count; i++)
		in[i] = float(i);
	if (hipMalloc(&device, count * sizeof(float)) != hipSuccess ||
	    hipMemcpy(device, in.data(), count * sizeof(float), hipMemcpyHostToDevice) != hipSuccess)
		return 1;
	same<<<count / 256, 256>>>(device, count);
	if (hipGetLastError() != hipSuccess || hipDeviceSynchronize() != hipSuccess ||
	    hipMemcpy(out.data(), device, count * sizeof(float), hipMemcpyDeviceToHost) != hipSuccess || in != out)
		return 1;
	std::puts("ok");
	return hipFree(device) != hipSuccess;
}
