/* SPDX-License-Identifier: MIT */
/*
 * A page of shared memory under /dev/shm that a workload's kernels write their progress to, so that
 * another process can see, within a microsecond or two, when they stop and when they go on.
 */
#ifndef GP_BENCH_PAGE_H
#define GP_BENCH_PAGE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct page {
	volatile uint64_t progress; /* written by the GPU */
	uint64_t pad0[7];
	volatile uint32_t stop; /* at 64: read by the GPU */
	uint32_t pad1[15];
	volatile uint32_t ready, pad2;
	volatile uint64_t copies; /* at 136: round trips that ended, written by the host */
};

static inline struct page *page_map(const char *name, int create)
{
	char path[128];
	void *map;
	int fd;

	snprintf(path, sizeof(path), "/dev/shm/%s", name);
	fd = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0), 0600);
	if (fd < 0 || (create && ftruncate(fd, 4096)))
		return NULL;
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

static inline uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline void sleep_ns(uint64_t ns)
{
	struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	nanosleep(&time, NULL);
}

#endif
