/* SPDX-License-Identifier: MIT */
/*
 * Whether the GPU memory of a process fits into host memory. The commands use it before they move
 * anything; gpu/nvrm/swap.h moves.
 */
#ifndef GP_INSPECT_SWAP_H
#define GP_INSPECT_SWAP_H

#include "base/file.h"
#include "gpu/nvrm/swap.h"

struct gp_inspect_swap_host {
	u64 total, available; /* of the machine, and what a process may still get */
	u64 limit;            /* the rest of the limit of its control group; UINT64_MAX */
};

int gp_inspect_swap_host(const struct gp_root *root, u32 pid, struct gp_inspect_swap_host *out);

/* The host memory that moving so many bytes needs until the process runs again: the restore has
 * copies in flight while the memory is still full. */
u64 gp_inspect_swap_need(u64 bytes);

#endif
