/* SPDX-License-Identifier: MIT */
/*
 * Where the resource manager is: the system's /dev/nvidiactl, or a test's stand-in with the same
 * ABI. Everything in gpu/nvrm that touches a device goes through a port.
 */
#ifndef GP_GPU_NVRM_PORT_H
#define GP_GPU_NVRM_PORT_H

#include "base/file.h"
#include "base/types.h"

struct gp_nvrm_port {
	struct gp_root root; /* of /proc/driver/nvidia and the MPS directories */
	/* A new descriptor of the control device, or -errno. */
	int (*open_control)(const struct gp_nvrm_port *port);
	/* A new descriptor of a GPU, by its minor, or -errno. */
	int (*open_gpu)(const struct gp_nvrm_port *port, u32 minor);
	/* 0 or -errno. Async-signal-safe: the lifeline calls it after fork(). */
	int (*ioctl)(const struct gp_nvrm_port *port, int fd, unsigned long request, void *arg);
	/* Whether the descriptor is of the control device, whatever its path says. */
	bool (*is_control)(const struct gp_nvrm_port *port, int fd);
};

extern const struct gp_nvrm_port gp_nvrm_port_system;

#endif
