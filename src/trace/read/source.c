// SPDX-License-Identifier: MIT
#include "trace/read/source.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/read/amdlog.h"
#include "trace/read/clocks.h"
#include "trace/read/decision_log.h"
#include "trace/read/ftrace.h"
#include "trace/read/hsakmt.h"
#include "trace/read/kfdlog.h"
#include "trace/read/plain.h"
#include "trace/read/rocprof.h"
#include "trace/read/smi.h"
#include "trace/read/tracedat.h"

/* How much of a file decides what it is. */
#define LOOK_AT (256u << 10)

static int ignore(void *ctx, const struct gp_event *event)
{
	(void)ctx;
	(void)event;
	return 0;
}

/* A separate file with the start of another. */
static int copy_start(int fd)
{
	int copy = memfd_create("start", MFD_CLOEXEC), error = 0;
	char *buffer = malloc(LOOK_AT);
	long got = 0;

	if (copy < 0 || !buffer)
		error = buffer ? -errno : -ENOMEM;
	if (!error && (got = gp_trace_plain_start(fd, buffer, LOOK_AT)) < 0)
		error = (int)got;
	if (!error && write(copy, buffer, (size_t)got) != got)
		error = -EIO;
	free(buffer);
	if (error && copy >= 0)
		close(copy);
	return error ? error : copy;
}

static bool is_tracedat(int fd)
{
	char bytes[16];
	ssize_t got = pread(fd, bytes, sizeof(bytes), 0);

	return got > 0 && gp_trace_tracedat_is(bytes, (size_t)got);
}

static bool is_database(int fd)
{
	char bytes[16];
	ssize_t got = pread(fd, bytes, sizeof(bytes), 0);

	return got > 0 && gp_trace_rocprof_is_db(bytes, (size_t)got);
}

/* The formats that need no comparison: nothing else looks like them. */
static void identify_small(int fd, const char *name, u64 best, enum gp_trace_source_kind *kind)
{
	struct gp_trace_hsakmt_stats hsakmt;
	struct gp_trace_decision_log_stats decisions;
	struct gp_trace_clocks clocks = {0};
	struct gp_trace_smi_stats smi;

	lseek(fd, 0, SEEK_SET);
	gp_trace_decision_log_read(fd, name, NULL, ignore, NULL, &decisions);
	lseek(fd, 0, SEEK_SET);
	gp_trace_hsakmt_read(fd, name, NULL, ignore, NULL, &hsakmt);
	lseek(fd, 0, SEEK_SET);
	gp_trace_smi_read(fd, name, NULL, ignore, NULL, &smi);
	lseek(fd, 0, SEEK_SET);
	if (decisions.decisions > best)
		*kind = GP_SOURCE_DECISIONS;
	else if (hsakmt.recognised > best && hsakmt.recognised >= smi.recognised)
		*kind = GP_SOURCE_HSAKMT;
	else if (smi.recognised > best)
		*kind = GP_SOURCE_SMI;
	else if (!best && gp_trace_clocks_read(fd, name, NULL, &clocks) == 0)
		*kind = GP_SOURCE_CLOCKS;
}

int gp_trace_source_identify(int fd, const char *name, enum gp_trace_source_kind *kind)
{
	struct gp_trace_amdlog_options log = {.name = name};
	struct gp_trace_ftrace_options trace = {.name = name};
	struct gp_trace_amdlog_stats log_stats;
	struct gp_trace_ftrace_stats trace_stats;
	struct gp_trace_kfdlog_stats kfd_stats;
	struct gp_trace_rocprof_stats prof_stats;
	int start = copy_start(fd);
	bool is_log;
	u64 best = 0;

	*kind = GP_SOURCE_UNKNOWN;
	if (start < 0)
		return start;
	if (is_tracedat(start)) {
		*kind = GP_SOURCE_TRACEDAT;
		close(start);
		return 0;
	}
	if (is_database(start)) {
		*kind = GP_SOURCE_ROCPROF;
		close(start);
		return 0;
	}
	lseek(start, 0, SEEK_SET);
	is_log = gp_trace_amdlog_read(start, &log, NULL, ignore, NULL, &log_stats) == 0;
	if (log_stats.recognised > best) {
		best = log_stats.recognised;
		*kind = GP_SOURCE_AMDLOG;
	}
	lseek(start, 0, SEEK_SET);
	gp_trace_ftrace_read(start, &trace, NULL, ignore, NULL, &trace_stats);
	if (trace_stats.events > best) {
		best = trace_stats.events;
		*kind = GP_SOURCE_FTRACE;
	}
	lseek(start, 0, SEEK_SET);
	gp_trace_kfdlog_read(start, name, NULL, ignore, NULL, &kfd_stats);
	if (kfd_stats.recognised > best) {
		best = kfd_stats.recognised;
		*kind = GP_SOURCE_KFDLOG;
	}
	lseek(start, 0, SEEK_SET);
	gp_trace_rocprof_read(start, name, NULL, ignore, NULL, &prof_stats);
	if (prof_stats.kind != GP_ROCPROF_NONE && prof_stats.rows >= best)
		*kind = GP_SOURCE_ROCPROF;
	if (*kind != GP_SOURCE_ROCPROF)
		identify_small(start, name, best, kind);
	/* An abort's dump has packets and no line with a prefix. */
	if (*kind == GP_SOURCE_UNKNOWN && is_log)
		*kind = GP_SOURCE_AMDLOG;
	close(start);
	return 0;
}

const char *gp_trace_source_name(enum gp_trace_source_kind kind)
{
	static const char *const names[] = {
		[GP_SOURCE_UNKNOWN] = "unknown",     [GP_SOURCE_AMDLOG] = "AMD log",
		[GP_SOURCE_FTRACE] = "ftrace",       [GP_SOURCE_KFDLOG] = "KFD prints",
		[GP_SOURCE_ROCPROF] = "rocprof",     [GP_SOURCE_TRACEDAT] = "trace.dat",
		[GP_SOURCE_HSAKMT] = "libhsakmt",    [GP_SOURCE_SMI] = "SMI",
		[GP_SOURCE_DECISIONS] = "decisions", [GP_SOURCE_CLOCKS] = "clocks",
	};

	_Static_assert(GP_ARRAY_SIZE(names) == GP_SOURCE_KINDS, "every kind has a name");
	return names[kind];
}

const char *gp_trace_clock_name(enum gp_trace_clock clock)
{
	static const char *const names[] = {"MONOTONIC", "MONOTONIC_RAW", "BOOTTIME", "ftrace",
					    "dmesg"};

	return names[clock];
}

static s64 distance(const struct gp_trace_anchor *anchor)
{
	return (s64)(anchor->a_ns - anchor->b_ns);
}

static int by_distance(const void *a, const void *b)
{
	s64 x = distance(a), y = distance(b);

	return x < y ? -1 : x > y;
}

void gp_trace_align(struct gp_trace_anchor *anchors, size_t count, struct gp_trace_alignment *out)
{
	*out = (struct gp_trace_alignment){.anchors = count, .known = count > 0};
	if (!count)
		return;
	qsort(anchors, count, sizeof(*anchors), by_distance);
	out->offset_ns = distance(&anchors[count / 2]);
	for (size_t i = 0; i < count; i++) {
		s64 off = distance(&anchors[i]);
		u64 size = off < out->offset_ns ? (u64)out->offset_ns - (u64)off
						: (u64)off - (u64)out->offset_ns;

		out->residual_ns = size > out->residual_ns ? size : out->residual_ns;
	}
}
