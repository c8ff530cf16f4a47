/* SPDX-License-Identifier: MIT */
/* What suspending costs on this GPU, as figures for GPU files: calibrate.c says how they are
 * measured. */
#ifndef GP_SELFTEST_CALIBRATE_H
#define GP_SELFTEST_CALIBRATE_H

#include <stdio.h>

#include "selftest/least.h"
#include "selftest/selftest.h"
#include "show/term.h"

/* A time and by how much it may be wrong. */
struct gp_selftest_figure {
	u64 ns, doubt;
};

/* 0: not measured; it was not seen, or is lost in the noise of the host: its doubt is more than a
 * tenth of it. */
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
	u32 grace;                      /* that they get before; 0: the shortest */
};

/* ---- costs.c ---- */

/* From packets that do not wait for the one before, and that do. True: both costs are known. */
bool gp_selftest_costs_take_packets(struct gp_selftest_costs *costs,
				    const struct gp_selftest_figure *pipelined,
				    const struct gp_selftest_figure *serial);

/* unmap and map from those with few and with many queues; `serial`: one packet is part of map.
 * True: all four are known. */
bool gp_selftest_costs_take(struct gp_selftest_costs *costs,
			    const struct gp_selftest_figure *serial,
			    const struct gp_selftest_shortest *few,
			    const struct gp_selftest_shortest *many);

/* The shortest grace period, from a crowd with it and with one that is `longer` units longer. */
struct gp_selftest_figure gp_selftest_costs_grace(const struct gp_selftest_shortest *crowd,
						  const struct gp_selftest_shortest *graceful,
						  u32 longer);

/* save and restore from those without waves, with few and with many. True: all four are known. */
bool gp_selftest_costs_take_waves(struct gp_selftest_costs *costs,
				  const struct gp_selftest_shortest *idle,
				  const struct gp_selftest_shortest *few,
				  const struct gp_selftest_shortest *many);

/* ---- calibrate.c ---- */

/* Takes minutes; `progress` shows what it does, or is NULL. -errno and the reason, in the user's
 * language. */
int gp_selftest_calibrate(struct gp_selftest_place *place, struct gp_selftest_report *report,
			  u32 xccs, struct gp_progress *progress, struct gp_selftest_costs *costs,
			  char *reason, size_t size);

/* One line for each, in the user's language. */
void gp_selftest_costs_print(const struct gp_selftest_costs *costs, FILE *out);

/* Writes the GPU file `file` (base.h) with these costs marked as measured. `named`: the user chose
 * the path, and a link there is followed. */
int gp_selftest_calibration_write(const struct gp_selftest_report *report,
				  const struct gp_selftest_costs *costs, json_t *file,
				  const char *path, bool named, struct gp_diag *diag);

#endif
