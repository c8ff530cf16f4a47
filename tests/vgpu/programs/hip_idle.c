// SPDX-License-Identifier: MIT
/*
 * Eight streams, used once, then idle: hip_idle SECONDS. Prints the CPU time that this process
 * spent while idle, as a share of one core.
 */
#include <time.h>
#include <unistd.h>

#include "hip_check.h"

#define STREAMS 8

static double seconds(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	unsigned int length = argc > 1 ? (unsigned int)atoi(argv[1]) : 2;
	hipStream_t streams[STREAMS];
	double wall, used;
	void *memory;

	HIP(hipMalloc(&memory, 4096));
	for (int i = 0; i < STREAMS; i++) {
		HIP(hipStreamCreateWithPriority(&streams[i], hipStreamNonBlocking, i % 3 - 1));
		HIP(hipMemsetAsync(memory, i, 4096, streams[i]));
	}
	HIP(hipDeviceSynchronize());
	wall = seconds(CLOCK_MONOTONIC);
	used = seconds(CLOCK_PROCESS_CPUTIME_ID);
	sleep(length);
	used = seconds(CLOCK_PROCESS_CPUTIME_ID) - used;
	wall = seconds(CLOCK_MONOTONIC) - wall;
	printf("idle with %d streams: %.3f %% of a core\n", STREAMS, 100 * used / wall);
	return 0;
}
