// SPDX-License-Identifier: MIT
#include "trace/capture/clocks.h"

#include <time.h>

#include "base/clock.h"

#define TRIES 8 /* of which the one that was interrupted least is taken */

void gp_capture_clock_sample(struct gp_capture_clock_sample *out)
{
	for (int i = 0; i < TRIES; i++) {
		struct gp_capture_clock_sample sample;
		u64 first = gp_clock_ns(CLOCK_MONOTONIC), last;

		sample.monotonic_raw_ns = gp_clock_ns(CLOCK_MONOTONIC_RAW);
		sample.boottime_ns = gp_clock_ns(CLOCK_BOOTTIME);
		sample.realtime_ns = gp_clock_ns(CLOCK_REALTIME);
		last = gp_clock_ns(CLOCK_MONOTONIC);
		sample.monotonic_ns = first + (last - first) / 2;
		sample.error_ns = (last - first + 1) / 2;
		if (!i || sample.error_ns < out->error_ns)
			*out = sample;
	}
}

void gp_capture_clock_samples_json(const struct gp_capture_clock_sample *samples, size_t count,
				   struct gp_buf *out)
{
	gp_buf_puts(out, "{\"clocks\": [");
	for (size_t i = 0; i < count; i++)
		gp_buf_printf(out,
			      "%s\n  {\"monotonic_ns\": %llu, \"monotonic_raw_ns\": %llu, "
			      "\"boottime_ns\": %llu, \"realtime_ns\": %llu, \"error_ns\": %llu}",
			      i ? "," : "", (unsigned long long)samples[i].monotonic_ns,
			      (unsigned long long)samples[i].monotonic_raw_ns,
			      (unsigned long long)samples[i].boottime_ns,
			      (unsigned long long)samples[i].realtime_ns,
			      (unsigned long long)samples[i].error_ns);
	gp_buf_puts(out, "\n]}\n");
}
