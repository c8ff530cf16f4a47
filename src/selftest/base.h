/* SPDX-License-Identifier: MIT */
/* The GPU file from which --calibrate takes what it does not measure. */
#ifndef GP_SELFTEST_BASE_H
#define GP_SELFTEST_BASE_H

#include "selftest/selftest.h"

/* The file of the directory for the report's GPU. 0: it has its gfx version, CUs and XCCs; 1: it is
 * the nearest of its gfx family; -ENOENT: none is of that family. */
int gp_selftest_base_find(const char *directory, const struct gp_selftest_report *report,
			  char *path, size_t size);
/* The file `named`; NULL: the one for the GPU, with a line on diag when it does not quite fit. */
json_t *gp_selftest_base_load(const struct gp_selftest_report *report, const char *named,
			      struct gp_diag *diag);
/* The XCCs over which the GPU spreads waves: those of its topology. A virtual GPU may show fewer
 * than it has; there they are those of the file. */
u32 gp_selftest_base_xccs(const struct gp_selftest_report *report, const json_t *file);

#endif
