/* SPDX-License-Identifier: MIT */
/*
 * What the programs that speak to /dev/kfd themselves share. They run on a live machine, under
 * `gpreempt vgpu`, print the line that failed, and exit with 0 when all held.
 */
#ifndef GP_TEST_CLIENT_PROGRAM_H
#define GP_TEST_CLIENT_PROGRAM_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/kfd_debug.h"
#include "abi/kfd_driver.h"
#include "base/types.h"

#define CHECK(condition)                                                                          \
	do {                                                                                      \
		if (!(condition)) {                                                               \
			fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, \
				errno);                                                           \
			exit(1);                                                                  \
		}                                                                                 \
	} while (0)

static int kfd, render;
static u32 gpu_id;

/* 0 or more, or -errno. */
static inline int call(int fd, unsigned long request, void *args)
{
	int result = ioctl(fd, request, args);

	return result < 0 ? -errno : result;
}

static inline void open_devices(void)
{
	struct gp_kfd_process_device_apertures gpu;
	struct gp_kfd_get_process_apertures_new_args apertures = {
		.kfd_process_device_apertures_ptr = (uintptr_t)&gpu, .num_of_nodes = 1};
	struct gp_kfd_acquire_vm_args server;

	kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	CHECK(kfd >= 0);
	render = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
	CHECK(render >= 0);
	CHECK(call(kfd, GP_KFD_IOC_GET_PROCESS_APERTURES_NEW, &apertures) == 0);
	gpu_id = gpu.gpu_id;
	server = (struct gp_kfd_acquire_vm_args){.drm_fd = (u32)render, .gpu_id = gpu_id};
	CHECK(call(kfd, GP_KFD_IOC_ACQUIRE_VM, &server) == 0);
}

#endif
