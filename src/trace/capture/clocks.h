/* SPDX-License-Identifier: MIT */
/*
 * Readings of the kernel's clocks at one moment, at the start and the end of a recording, so that
 * what was written by different clocks can be related (trace/read/clocks.h reads them).
 */
#ifndef GP_TRACE_CAPTURE_CLOCKS_H
#define GP_TRACE_CAPTURE_CLOCKS_H

#include "base/buf.h"

struct gp_capture_clock_sample {
	u64 monotonic_ns, monotonic_raw_ns, boottime_ns, realtime_ns;
	u64 error_ns; /* none of them was read farther from the others than this */
};

void gp_capture_clock_sample(struct gp_capture_clock_sample *out);
/* {"clocks": [...]} */
void gp_capture_clock_samples_json(const struct gp_capture_clock_sample *samples, size_t count,
				   struct gp_buf *out);

#endif
