/* SPDX-License-Identifier: MIT */
/*
 * How much memory GPUs have and processes keep on them, as NVML reports it (NVIDIA). A helper reads
 * it (child.h), because the daemon must not contain NVML; it runs while a figure is needed: batch
 * jobs take turns, so that those that wait keep memory, or a rule swaps jobs out on pressure.
 */
#ifndef GP_DAEMON_MEMORY_H
#define GP_DAEMON_MEMORY_H

#include "daemon/swap/child.h"

struct gp_daemon_device_memory {
	u64 total, free; /* total 0: not known */
};

#define GP_DAEMON_MEMORY_HELPER "--memory-helper" /* of gpreemptd: be that helper */

/* Starts or ends the helper. */
void gp_daemon_memory_adapt(struct gp_daemon *daemon);

#endif
