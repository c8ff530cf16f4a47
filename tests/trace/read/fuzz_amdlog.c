// SPDX-License-Identifier: MIT
/*
 * Both modes of the log reader over any bytes, through the analysis. Whatever the input, the two
 * modes must count the same packets.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/read/amdlog.h"
#include "trace/analyse/queues.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

struct total {
	u64 dispatches, barriers, lines;
	size_t queues;
};

static void require(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static struct total run(int fd, bool fast)
{
	struct gp_trace_amdlog_options options = {.name = "fuzz", .fast = fast};
	struct gp_trace_log_queues *queues = gp_trace_log_queues_new();
	struct gp_trace_amdlog_stats stats;
	const struct gp_trace_log_queue *rows;
	struct total total = {0};

	require(queues && lseek(fd, 0, SEEK_SET) == 0);
	gp_trace_amdlog_read(fd, &options, NULL, gp_trace_log_queues_event, queues, &stats);
	require(gp_trace_log_queues_finish(queues) == 0);
	rows = gp_trace_log_queues_items(queues, &total.queues);
	for (size_t i = 0; i < total.queues; i++) {
		total.dispatches += rows[i].dispatches;
		total.barriers += rows[i].barriers;
		require(!(rows[i].valid & GP_LQ_FIRST) || rows[i].first_ns <= rows[i].last_ns);
		require(rows[i].streams <= rows[i].streams_max);
		require(!(rows[i].valid & GP_LQ_HANDLES) == !rows[i].stream_count);
		require(!rows[i].failed || rows[i].valid & GP_LQ_FAILED);
	}
	require(stats.torn <= stats.lines && stats.without_pid <= stats.recognised);
	require(stats.recognised + stats.unknown <= stats.lines);
	total.lines = stats.lines;
	gp_trace_log_queues_free(queues);
	return total;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct total full, fast;

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	full = run(fd, false);
	fast = run(fd, true);
	require(full.dispatches == fast.dispatches && full.barriers == fast.barriers);
	require(full.lines == fast.lines);
	close(fd);
	return 0;
}
