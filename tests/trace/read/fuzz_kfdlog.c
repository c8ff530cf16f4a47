// SPDX-License-Identifier: MIT
/* KFD's prints from any bytes, through the analysis and every writer. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/read/kfdlog.h"
#include "trace/analyse/kfdqueues.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct gp_trace_kfd_queues *queues = gp_trace_kfd_queues_new();
	struct gp_buf page = {0}, markdown = {0};
	struct gp_trace_kfdlog_stats stats;
	struct gp_doc *doc;

	require(fd >= 0 && queues && write(fd, data, size) == (ssize_t)size);
	require(lseek(fd, 0, SEEK_SET) == 0);
	gp_trace_kfdlog_read(fd, "fuzz", NULL, gp_trace_kfd_queues_event, queues, &stats);
	require(stats.recognised <= stats.lines.lines);
	require(gp_trace_kfd_queues_finish(queues) == 0);
	doc = gp_trace_kfd_queues_doc(queues);
	require(doc && gp_doc_html(doc, &page) == 0 && gp_doc_markdown(doc, &markdown) == 0);
	json_decref(gp_doc_json(doc));
	gp_buf_free(&page);
	gp_buf_free(&markdown);
	gp_doc_free(doc);
	gp_trace_kfd_queues_free(queues);
	close(fd);
	return 0;
}
