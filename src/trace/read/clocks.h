/* SPDX-License-Identifier: MIT */
/*
 * How the kernel's clocks related while something was recorded: readings of all of them at one
 * moment, in a file that `gpreempt trace` leaves beside its recording (clocks.json). Two readings,
 * at the start and the end, also give the drift between the clocks.
 */
#ifndef GP_TRACE_READ_CLOCKS_H
#define GP_TRACE_READ_CLOCKS_H

#include "base/diag.h"
#include "trace/read/source.h"

#define GP_CLOCK_READINGS 64

struct gp_trace_clock_reading {
	u64 monotonic_ns, raw_ns, boottime_ns;
	u64 error_ns; /* the readings are at most so far apart */
};

struct gp_trace_clocks {
	struct gp_trace_clock_reading items[GP_CLOCK_READINGS];
	size_t count;
};

/* Adds the readings of a file. 0 or -errno after an error message. */
int gp_trace_clocks_read(int fd, const char *name, struct gp_diag *diag,
			 struct gp_trace_clocks *clocks);
/* How a clock relates to MONOTONIC: clock = MONOTONIC + offset, farthest reading and its error. */
void gp_trace_clocks_align(const struct gp_trace_clocks *clocks, enum gp_trace_clock clock,
			   struct gp_trace_alignment *out);

#endif
