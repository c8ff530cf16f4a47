// SPDX-License-Identifier: MIT
#include "trace/read/rocprof.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/i18n.h"
#include "base/parse.h"
#include "trace/read/rocprof_parts.h"

static const struct {
	const char *name;
	int version;
} kinds[] = {
	[GP_ROCPROF_NONE] = {"unknown", 0},
	[GP_ROCPROF_V1_KERNELS] = {"rocprof kernels", 1},
	[GP_ROCPROF_V1_STATS] = {"rocprof summary", 1},
	[GP_ROCPROF_V1_JSON] = {"rocprof trace (JSON)", 1},
	[GP_ROCPROF_V2_KERNELS] = {"rocprofv2 kernels", 2},
	[GP_ROCPROF_V3_KERNELS] = {"rocprofv3 kernels", 3},
	[GP_ROCPROF_V3_CALLS] = {"rocprofv3 calls", 3},
	[GP_ROCPROF_V3_COPIES] = {"rocprofv3 copies", 3},
	[GP_ROCPROF_V3_STATS] = {"rocprofv3 summary", 3},
	[GP_ROCPROF_V3_AGENTS] = {"rocprofv3 agents", 3},
	[GP_ROCPROF_V3_JSON] = {"rocprofv3 trace (JSON)", 3},
	[GP_ROCPROF_V3_DB] = {"rocprofv3 database", 3},
	[GP_ROCPROF_V3_ALLOCATIONS] = {"rocprofv3 memory allocations", 3},
	[GP_ROCPROF_V3_SCRATCH] = {"rocprofv3 scratch memory", 3},
	[GP_ROCPROF_V3_SAMPLES] = {"rocprofv3 PC samples", 3},
};

const char *gp_trace_rocprof_kind_name(enum gp_trace_rocprof_kind kind)
{
	return kinds[kind].name;
}

bool gp_trace_rocprof_beside(enum gp_trace_rocprof_kind kind)
{
	return kind == GP_ROCPROF_V3_ALLOCATIONS || kind == GP_ROCPROF_V3_SCRATCH ||
	       kind == GP_ROCPROF_V3_SAMPLES;
}

int gp_trace_rocprof_version(enum gp_trace_rocprof_kind kind)
{
	return kinds[kind].version;
}

bool gp_trace_rocprof_times(struct gp_event *event, u64 begin, u64 end,
			    struct gp_trace_rocprof_stats *stats)
{
	if (end < begin) {
		stats->backwards++;
		return false;
	}
	event->time_ns = begin;
	event->duration_ns = end - begin;
	event->valid |= GP_EV_TIME | GP_EV_DURATION;
	return true;
}

enum gp_trace_layer gp_trace_rocprof_layer(const char *domain, const char *name, size_t len)
{
	const char *p = name, *end = name + len;

	if (domain)
		return !strncmp(domain, "HIP_", 4)   ? GP_LAYER_HIP
		       : !strncmp(domain, "HSA_", 4) ? GP_LAYER_HSA
						     : GP_LAYER_OTHER;
	GP_PARSE_LITERAL(&p, end, "__");
	if (GP_PARSE_LITERAL(&p, end, "hip"))
		return GP_LAYER_HIP;
	return GP_PARSE_LITERAL(&p, end, "hsa_") ? GP_LAYER_HSA : GP_LAYER_OTHER;
}

void gp_trace_rocprof_bytes(struct gp_event *event, const char *arguments, size_t len)
{
	static const char *const keys[] = {" size(", " sizeBytes("};
	const char *end = arguments + len;

	for (size_t i = 0; i < GP_ARRAY_SIZE(keys); i++) {
		const char *p = memmem(arguments, len, keys[i], strlen(keys[i]));
		u64 bytes;

		if (!p)
			continue;
		p += strlen(keys[i]);
		if (gp_parse_u64(&p, end, &bytes) && p < end && *p == ')') {
			event->size = bytes;
			event->valid |= GP_EV_BYTES;
		}
	}
}

bool gp_trace_rocprof_is_db(const char *bytes, size_t len)
{
	static const char magic[] = "SQLite format 3";

	return len >= sizeof(magic) && memcmp(bytes, magic, sizeof(magic)) == 0;
}

int gp_trace_rocprof_read(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn, void *ctx,
			  struct gp_trace_rocprof_stats *stats)
{
	char head[64];
	ssize_t got;

	memset(stats, 0, sizeof(*stats));
	got = pread(fd, head, sizeof(head), 0);
	if (got < 0)
		return gp_fail(diag, -errno,
			       "cannot read %s: %s (a profile must be a file, not a pipe)", name,
			       strerror(errno));
	if (gp_trace_rocprof_is_db(head, (size_t)got))
		return gp_trace_rocpd(fd, name, diag, fn, ctx, stats);
	for (ssize_t i = 0; i < got; i++) {
		if (head[i] == '{')
			return gp_trace_rocprof_json(fd, name, diag, fn, ctx, stats);
		if (head[i] != ' ' && head[i] != '\n' && head[i] != '\r' && head[i] != '\t')
			break;
	}
	return gp_trace_rocprof_csv(fd, name, diag, fn, ctx, stats);
}
