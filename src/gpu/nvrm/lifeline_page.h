/* SPDX-License-Identifier: MIT */
/*
 * The memory that both sides of a lifeline share, without locks, because either side may be stopped
 * or killed at any instruction.
 */
#ifndef GP_GPU_NVRM_LIFELINE_PAGE_H
#define GP_GPU_NVRM_LIFELINE_PAGE_H

#include <stdatomic.h>

#include "base/clock.h"
#include "gpu/nvrm/lifeline.h"

/* Values of the lease that are not a time. */
enum { GP_LEASE_IDLE = 0, GP_LEASE_FIRING = 1, GP_LEASE_FIRED = 2 };

struct gp_nvrm_page {
	/* When it ends, or a word above. The holder's side moves it from anything but FIRING; the
	 * lifeline only from a time that has passed, or FIRED, to FIRING and from there to FIRED.
	 */
	_Atomic u64 lease;
	_Atomic u32 unsure; /* the holder is between arm() and confirm() */
	_Atomic u32 pid;    /* of the lifeline */
	/* Entries below the count are complete. Only the holder's side writes, and it starts over
	 * only when the lease is not FIRING. */
	_Atomic u32 channel_count, slice_count;
	struct gp_nvrm_entry channels[GP_NVRM_LIFELINE_ROOM], slices[GP_NVRM_LIFELINE_ROOM];
};

/* The lifeline's own process: never returns. */
_Noreturn void gp_nvrm_lifeline_run(const struct gp_nvrm_port *port, struct gp_nvrm_page *page,
				    int socket, int pidfd);

#endif
