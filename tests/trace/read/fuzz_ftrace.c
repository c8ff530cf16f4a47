// SPDX-License-Identifier: MIT
/* Any bytes as ftrace's text, and through the whole inquiry, whatever they are taken for. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/read/ftrace.h"
#include "trace/analyse/inquiry.h"
#include "trace/analyse/perfetto.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct gp_trace_ftrace_options options = {.name = "fuzz", .clock = GP_CLOCK_TRACE};
	struct gp_trace_ftrace_stats stats;
	struct gp_trace_kfdpath path = {0};
	struct gp_trace_inquiry inquiry;
	struct gp_buf page = {0};
	struct gp_doc *doc;
	char *timeline = NULL;
	size_t timeline_len;
	FILE *out = open_memstream(&timeline, &timeline_len);
	json_t *json;

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	require(lseek(fd, 0, SEEK_SET) == 0);
	gp_trace_ftrace_read(fd, &options, NULL, gp_trace_kfdpath_event, &path, &stats);
	gp_trace_kfdpath_finish(&path);
	for (size_t i = 0; i < path.function_count; i++)
		require(path.functions[i].low_ns <= path.functions[i].high_ns);
	require(stats.events <= 2 * stats.lines.lines);
	gp_trace_kfdpath_free(&path);
	require(gp_trace_inquiry_init(&inquiry, GP_CLOCK_TRACE) == 0);
	inquiry.tap = gp_trace_perfetto_event;
	inquiry.tap_ctx = gp_trace_perfetto_new(out);
	require(lseek(fd, 0, SEEK_SET) == 0);
	gp_trace_inquiry_add(&inquiry, fd, "fuzz", NULL);
	require(gp_trace_inquiry_finish(&inquiry) == 0);
	require(gp_trace_perfetto_end(inquiry.tap_ctx) == 0);
	fclose(out);
	json = json_loadb(timeline, timeline_len, JSON_ALLOW_NUL, NULL);
	require(json);
	json_decref(json);
	free(timeline);
	doc = gp_trace_inquiry_doc(&inquiry);
	require(doc && gp_doc_html(doc, &page) == 0);
	gp_buf_free(&page);
	gp_doc_free(doc);
	gp_trace_inquiry_free(&inquiry);
	close(fd);
	return 0;
}
