/* SPDX-License-Identifier: MIT */
/*
 * What a file is, by its content, and how two clocks relate.
 */
#ifndef GP_TRACE_READ_SOURCE_H
#define GP_TRACE_READ_SOURCE_H

#include "trace/read/event.h"

enum gp_trace_source_kind {
	GP_SOURCE_UNKNOWN,
	GP_SOURCE_AMDLOG,    /* AMD_LOG_LEVEL */
	GP_SOURCE_FTRACE,    /* text of ftrace */
	GP_SOURCE_KFDLOG,    /* dmesg with lines of KFD */
	GP_SOURCE_ROCPROF,   /* a profiler's CSV or JSON */
	GP_SOURCE_TRACEDAT,  /* binary of trace-cmd */
	GP_SOURCE_HSAKMT,    /* lines of libhsakmt */
	GP_SOURCE_SMI,       /* processes of rocm-smi or amd-smi */
	GP_SOURCE_DECISIONS, /* gpreempt log --json */
	GP_SOURCE_CLOCKS,    /* readings of clocks, of gpreempt trace */
	GP_SOURCE_KINDS,
};

/* Looks at the start of a file that can be read at any place; its position stays. The reader that
 * understands most of it wins. 0 or -errno. */
int gp_trace_source_identify(int fd, const char *name, enum gp_trace_source_kind *kind);
/* "AMD log"; never translated. */
const char *gp_trace_source_name(enum gp_trace_source_kind kind);
const char *gp_trace_clock_name(enum gp_trace_clock clock);

/* The same moment on two clocks. */
struct gp_trace_anchor {
	u64 a_ns, b_ns;
};

struct gp_trace_alignment {
	bool known;
	s64 offset_ns;   /* a = b + offset: the median of the anchors */
	u64 residual_ns; /* farthest anchor from it */
	size_t anchors;
};

/* Sorts the anchors. */
void gp_trace_align(struct gp_trace_anchor *anchors, size_t count, struct gp_trace_alignment *out);

#endif
