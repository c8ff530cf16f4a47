/* SPDX-License-Identifier: MIT */
/* gpreempt why --driver: what the scheduler inside the driver (kernel/patches) decided. */
#ifndef GP_CLI_WATCH_WHY_DRIVER_H
#define GP_CLI_WATCH_WHY_DRIVER_H

#include "base/diag.h"
#include "base/file.h"
#include "show/doc.h"

/* Its decisions about pid, and for it, from debugfs, in *doc; the last `lines`, in JSON all. */
int gp_cli_why_driver(const struct gp_root *root, struct gp_diag *diag, u32 pid, u64 lines,
		      struct gp_doc **doc);

#endif
