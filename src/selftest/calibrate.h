/* SPDX-License-Identifier: MIT */
/* What suspending costs on this GPU, as figures for GPU files: calibrate.c says how they are
 * measured. */
#ifndef GP_SELFTEST_CALIBRATE_H
#define GP_SELFTEST_CALIBRATE_H

#include "selftest/least.h"
#include "selftest/selftest.h"

/* 0: not measured; it was not seen, or is lost in the noise of the host. */
struct gp_selftest_costs {
	u64 unmap_ns, unmap_queue_ns, map_ns, map_queue_ns;
	u64 dispatch_ns, complete_ns;
	u64 save_ns, save_bytes_per_us, restore_ns, restore_bytes_per_us; /* rates per XCC */
	u64 create_ns; /* hsa_queue_create(); not part of a GPU file */
};

/* The shortest times of several cycles with so many queues. */
struct gp_selftest_shortest {
	struct gp_selftest_least unmap, map;
	u64 queues;                     /* that were mapped: the runtime may have some as well */
	u64 bytes;                      /* of waves that were saved, per XCC */
	enum gp_selftest_command crowd; /* that they are of */
};

/* ---- costs.c ---- */

/* unmap and map from those with few and with many queues; dispatch_ns and complete_ns are set. */
void gp_selftest_costs_take(struct gp_selftest_costs *costs, const struct gp_selftest_shortest *few,
			    const struct gp_selftest_shortest *many);

/* save and restore from those without waves, with few and with many. */
void gp_selftest_costs_take_waves(struct gp_selftest_costs *costs,
				  const struct gp_selftest_shortest *idle,
				  const struct gp_selftest_shortest *few,
				  const struct gp_selftest_shortest *many);

/* ---- calibrate.c ---- */

/* XCCs of the GPU file to which rates refer: a virtual GPU may show fewer than it has. */
int gp_selftest_calibration_xccs(const struct gp_selftest_report *report, const char *base,
				 struct gp_diag *diag);
/* -errno and the reason, in the user's language. */
int gp_selftest_calibrate(struct gp_selftest_place *place, struct gp_selftest_report *report,
			  u32 xccs, struct gp_selftest_costs *costs, char *reason, size_t size);

/* A GPU file with these costs marked as measured. The rest is that of `base`; NULL: the file for
 * this kind of GPU. `named`: the user chose the path, and a link there is followed. */
int gp_selftest_calibration_write(const struct gp_selftest_report *report,
				  const struct gp_selftest_costs *costs, const char *base,
				  const char *path, bool named, struct gp_diag *diag);

#endif
