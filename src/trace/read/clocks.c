// SPDX-License-Identifier: MIT
/*
 * Reads clocks.json and aligns a clock with MONOTONIC through its readings; the largest error of a
 * reading is part of what the alignment leaves uncertain.
 */
#include "trace/read/clocks.h"

#include <errno.h>

#include "base/i18n.h"
#include "base/jsonwalk.h"

static int take_reading(void *ctx, size_t which, const json_t *value)
{
	struct gp_trace_clocks *clocks = ctx;
	struct gp_trace_clock_reading reading;

	(void)which;
	if (clocks->count < GP_CLOCK_READINGS &&
	    gp_json_get_u64(value, "monotonic_ns", &reading.monotonic_ns) &&
	    gp_json_get_u64(value, "monotonic_raw_ns", &reading.raw_ns) &&
	    gp_json_get_u64(value, "boottime_ns", &reading.boottime_ns) &&
	    gp_json_get_u64(value, "error_ns", &reading.error_ns))
		clocks->items[clocks->count++] = reading;
	return 0;
}

int gp_trace_clocks_read(int fd, const char *name, struct gp_diag *diag,
			 struct gp_trace_clocks *clocks)
{
	static const char *const paths[] = {"/clocks/#"};
	struct gp_json_stats stats;
	size_t before = clocks->count;
	int ret = gp_json_walk(fd, name, diag, paths, 1, take_reading, clocks, &stats);

	if (!ret && clocks->count == before)
		ret = gp_fail(diag, -EINVAL, "%s: no clock readings", name);
	return ret;
}

void gp_trace_clocks_align(const struct gp_trace_clocks *clocks, enum gp_trace_clock clock,
			   struct gp_trace_alignment *out)
{
	struct gp_trace_anchor anchors[GP_CLOCK_READINGS];
	u64 error = 0;

	for (size_t i = 0; i < clocks->count; i++) {
		const struct gp_trace_clock_reading *reading = &clocks->items[i];

		anchors[i] =
			(struct gp_trace_anchor){clock == GP_CLOCK_BOOTTIME ? reading->boottime_ns
									    : reading->raw_ns,
						 reading->monotonic_ns};
		error = reading->error_ns > error ? reading->error_ns : error;
	}
	gp_trace_align(anchors, clocks->count, out);
	if (out->known && out->residual_ns <= UINT64_MAX - error)
		out->residual_ns += error;
}
