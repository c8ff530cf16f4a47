/* SPDX-License-Identifier: MIT */
/*
 * Positions of many rings of one process, read from outside in one system call. Needs the right to
 * read its memory (ptrace); changes nothing.
 */
#ifndef GP_GPU_RINGS_H
#define GP_GPU_RINGS_H

#include "base/types.h"

enum { GP_RINGS_MAX = 256 }; /* in one call */

struct gp_gpu_ring {
	u64 object; /* address of the queue object in that process */
	u64 write_index, read_index;
	bool known; /* false: could not be read */
};

/* How many are known, or -errno when nothing could be read. */
int gp_kfd_read_rings(u32 pid, struct gp_gpu_ring *rings, size_t count);

#endif
