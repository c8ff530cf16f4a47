// SPDX-License-Identifier: MIT
/*
 * Work of which every packet is known, for comparing what HIP logs with what the machine has: on
 * each of N streams, of different priorities, M launches of a kernel and COPIES copies each way of
 * pinned memory, too large for a copy kernel. Then prints "ready N M COPIES" and keeps its queues
 * until standard input ends.
 *
 * usage: hip_logged [STREAMS [LAUNCHES]]
 */
#include "hip_check.h"

#define COPIES 3
#define BYTES  (1 << 20)

static const char source[] = "extern \"C\" __global__ void counted(int *p) { p[0] += 1; }";

int main(int argc, char **argv)
{
	int streams = argc > 1 ? atoi(argv[1]) : 3, launches = argc > 2 ? atoi(argv[2]) : 50;
	int lowest, highest;
	hipStream_t stream[8];
	hipFunction_t counted;
	unsigned char *host;
	void *device;

	CHECK(streams > 0 && streams <= 8);
	HIP(hipDeviceGetStreamPriorityRange(&lowest, &highest));
	HIP(hipHostMalloc((void **)&host, BYTES, 0));
	HIP(hipMalloc(&device, BYTES));
	counted = compile_kernel(source, "counted");
	for (int i = 0; i < streams; i++) {
		void *arguments[] = {&device};

		HIP(hipStreamCreateWithPriority(&stream[i], hipStreamNonBlocking,
						i % 2 ? 0 : highest));
		for (int j = 0; j < launches; j++)
			HIP(hipModuleLaunchKernel(counted, 1, 1, 1, 64, 1, 1, 0, stream[i],
						  arguments, NULL));
		for (int j = 0; j < COPIES; j++) {
			HIP(hipMemcpyAsync(device, host, BYTES, hipMemcpyHostToDevice, stream[i]));
			HIP(hipMemcpyAsync(host, device, BYTES, hipMemcpyDeviceToHost, stream[i]));
		}
		HIP(hipStreamSynchronize(stream[i]));
	}
	printf("ready %d %d %d\n", streams, launches, COPIES);
	fflush(stdout);
	while (getchar() != EOF)
		;
	for (int i = 0; i < streams; i++)
		HIP(hipStreamDestroy(stream[i]));
	return 0;
}
