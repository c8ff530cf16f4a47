/* SPDX-License-Identifier: MIT */
/*
 * kfd-module: suspends a process with all its queues through gpreempt.ko (kernel/module). Each
 * control opens the device itself: when it closes the device or dies, the process resumes, and the
 * kernel ends a lease that is not renewed.
 */
#ifndef GP_GPU_KFD_MODULE_H
#define GP_GPU_KFD_MODULE_H

#include "gpu/control.h"

/* The device; tests have another. Both return -errno. */
struct gp_kfd_module_port {
	int (*open)(const char *path);
	int (*call)(int fd, unsigned long request, void *args);
};

/* As in gp_gpu_control_ops. -ENXIO: the module is not loaded. */
int gp_kfd_module_probe(const struct gp_kfd_module_port *port, u32 pid,
			struct gp_proto_message *why);
int gp_kfd_module_attach(const struct gp_kfd_module_port *port, int pidfd, u32 pid,
			 struct gp_proto_message *why, struct gp_gpu_control **out);

#endif
