/* SPDX-License-Identifier: MIT */
/*
 * What the KFD kind of GPU is made of; kfd.c puts these into its table of operations (gpu.h says
 * what each promises). sysfs gives devices and processes, debugfs the hardware queues.
 */
#ifndef GP_GPU_KFD_KFD_H
#define GP_GPU_KFD_KFD_H

#include "gpu/gpu.h"

int gp_kfd_discover(const struct gp_root *root, struct gp_diag *diag, struct gp_gpu_list *out);
int gp_kfd_describe(const struct gp_root *root, struct gp_diag *diag, u32 pid,
		    struct gp_gpu_process_list *out);
/* Reads debugfs hqds and mqds and joins them. */
int gp_kfd_watch(const struct gp_root *root, struct gp_diag *diag, struct gp_gpu_state *out);

/* Interface version of the running driver, asked through /dev/kfd; when the caller exits, having
 * had it open makes the driver preempt every queue of the device once. */
int gp_kfd_probe_version(u32 *major, u32 *minor);

/* The topology: a directory per node. A properties file is about 1 KiB, and at most a page. */
#define GP_KFD_NODES            "/sys/class/kfd/kfd/topology/nodes"
#define GP_KFD_PROPERTIES_LIMIT 65536u

/* A "key number" line of a topology properties file that the caller wants. */
struct gp_kfd_property {
	const char *key;
	u64 value;
	bool known;
};

/* Fills what is found; returns the number of lines that are not "key number". */
size_t gp_kfd_parse_properties(const char *text, size_t len, struct gp_kfd_property *wanted,
			       size_t count);

#endif
