/* SPDX-License-Identifier: MIT */
/* What suspending costs on this GPU, as figures for GPU files: calibrate.c says how they are
 * measured. */
#ifndef GP_SELFTEST_CALIBRATE_H
#define GP_SELFTEST_CALIBRATE_H

#include "selftest/selftest.h"

struct gp_selftest_costs {
	u64 unmap_ns, unmap_queue_ns, map_ns, map_queue_ns;
	u64 dispatch_ns, complete_ns;
	u64 create_ns; /* hsa_queue_create(); not part of a GPU file */
};

/* -errno and the reason, in the user's language. */
int gp_selftest_calibrate(struct gp_selftest_place *place, struct gp_selftest_report *report,
			  struct gp_selftest_costs *costs, char *reason, size_t size);

/* A GPU file with these costs marked as measured. The rest is that of `base`; NULL: the file for
 * this kind of GPU. */
int gp_selftest_calibration_write(const struct gp_selftest_report *report,
				  const struct gp_selftest_costs *costs, const char *base,
				  const char *path, struct gp_diag *diag);

#endif
