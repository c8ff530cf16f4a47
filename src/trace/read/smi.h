/* SPDX-License-Identifier: MIT */
/*
 * Reader of lists of processes that use GPUs: `rocm-smi --showpids`, `amd-smi process` as text and
 * as JSON. Each becomes an event of kind PROCESS; these tools print no time. Facts:
 * docs/reference/formats/smi.md.
 */
#ifndef GP_TRACE_READ_SMI_H
#define GP_TRACE_READ_SMI_H

#include "base/diag.h"
#include "trace/read/event.h"

#define GP_SMI_MAX (16u << 20) /* bytes; a list is small */

struct gp_trace_smi_stats {
	u64 recognised; /* lines or objects that belong to such a list, also to an empty one */
	u64 processes;
	u64 damaged; /* rows without a pid */
};

/* 0, the return of the callback, or -errno after an error message; -EINVAL if it is not such a
 * list. */
int gp_trace_smi_read(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn, void *ctx,
		      struct gp_trace_smi_stats *stats);

#endif
