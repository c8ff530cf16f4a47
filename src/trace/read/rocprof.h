/* SPDX-License-Identifier: MIT */
/*
 * Readers of what rocprof (v1, v2) and rocprofv3 write: CSV of every column generation, chosen by
 * column name, both JSON forms, and the SQLite database of ROCm 7. Events: CALL, KERNEL, COPY with
 * begin and duration on CLOCK_BOOTTIME, TOTAL for the profilers' own summaries, AGENT. Facts:
 * docs/reference/formats/rocprof.md.
 */
#ifndef GP_TRACE_READ_ROCPROF_H
#define GP_TRACE_READ_ROCPROF_H

#include "base/diag.h"
#include "trace/read/event.h"

enum gp_trace_rocprof_kind {
	GP_ROCPROF_NONE,
	GP_ROCPROF_V1_KERNELS, /* results.csv */
	GP_ROCPROF_V1_STATS,   /* *stats.csv: Name,Calls,...,Percentage */
	GP_ROCPROF_V1_JSON,
	GP_ROCPROF_V2_KERNELS,
	GP_ROCPROF_V3_KERNELS, /* kernel_trace */
	GP_ROCPROF_V3_CALLS,   /* hip_api_trace, hsa_api_trace, ... */
	GP_ROCPROF_V3_COPIES,  /* memory_copy_trace */
	GP_ROCPROF_V3_STATS,   /* with MinNs, MaxNs, StdDev */
	GP_ROCPROF_V3_AGENTS,  /* agent_info */
	GP_ROCPROF_V3_JSON,
	GP_ROCPROF_V3_DB, /* rocpd */
	/* Known, and nothing in them is about queues or submission: no rows. */
	GP_ROCPROF_V3_ALLOCATIONS,
	GP_ROCPROF_V3_SCRATCH,
	GP_ROCPROF_V3_SAMPLES,
};

struct gp_trace_rocprof_stats {
	enum gp_trace_rocprof_kind kind; /* NONE: nothing known was found */
	u64 rows;                        /* delivered */
	u64 damaged;                     /* rows, records or elements that could not be read */
	u64 first_bad_line;              /* CSV; 0 = none or not known */
	u64 backwards;                   /* rows whose end is before their begin: not delivered */
	bool cut;                        /* JSON that ends inside */
};

/*
 * `name` is the file's: where rows do not say what they are (a summary), it does. 0, the
 * callback's return, or -errno after an error message; a file with nothing known in it is 0 with
 * kind NONE. The first byte decides between JSON and CSV.
 */
int gp_trace_rocprof_read(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn, void *ctx,
			  struct gp_trace_rocprof_stats *stats);

/* The start of a SQLite database. Whether rocprofv3 wrote it only reading shows. */
bool gp_trace_rocprof_is_db(const char *bytes, size_t len);

/* "rocprof v1 kernels"; never translated. */
const char *gp_trace_rocprof_kind_name(enum gp_trace_rocprof_kind kind);
/* True for the kinds without rows. */
bool gp_trace_rocprof_beside(enum gp_trace_rocprof_kind kind);
/* 1, 2 or 3; 0 for NONE. */
int gp_trace_rocprof_version(enum gp_trace_rocprof_kind kind);

#endif
