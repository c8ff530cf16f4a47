/* SPDX-License-Identifier: MIT */
/*
 * How much memory GPUs have and processes keep on them, and the sensors of the GPUs, as NVML
 * reports them (NVIDIA). A helper reads them (child.h), because the daemon must not contain NVML;
 * it runs while there is a job on such a GPU.
 */
#ifndef GP_DAEMON_HELPER_MEMORY_H
#define GP_DAEMON_HELPER_MEMORY_H

#include "daemon/helper/child.h"

struct gp_daemon_device_memory {
	u64 total, free;              /* total 0: not known */
	u32 milliwatts, celsius, mhz; /* each 0: not known */
};

#define GP_DAEMON_MEMORY_HELPER "--memory-helper" /* of gpreemptd: be that helper */

/* Starts or ends the helper. */
void gp_daemon_memory_adapt(struct gp_daemon *daemon);

#endif
