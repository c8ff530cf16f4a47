/* SPDX-License-Identifier: MIT */
/*
 * The operations of AMD GPUs under KFD; gpu.h describes them. Devices and processes come from
 * sysfs, hardware queues from debugfs.
 */
#ifndef GP_GPU_KFD_KFD_H
#define GP_GPU_KFD_KFD_H

#include "gpu/gpu.h"

int gp_kfd_discover(const struct gp_root *root, struct gp_diag *diag, struct gp_gpu_list *out);
int gp_kfd_lists_queue(const struct gp_root *root, u32 pid, u32 gpu_id, u32 queue);
int gp_kfd_describe(const struct gp_root *root, struct gp_diag *diag, u32 pid,
		    struct gp_gpu_process_list *out);
/* Reads debugfs hqds and mqds and joins them. */
int gp_kfd_watch(const struct gp_root *root, struct gp_diag *diag, struct gp_gpu_state *out);

/* Interface version of the running driver, from /dev/kfd. When a process that had it open exits,
 * the driver preempts every queue of the device once. */
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
