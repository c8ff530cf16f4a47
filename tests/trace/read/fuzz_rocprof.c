// SPDX-License-Identifier: MIT
/*
 * Files of rocprof from any bytes, under a name that makes it a summary or not, through the
 * analysis and every writer. The division of time must never exceed the run.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/analyse/submission.h"
#include "trace/read/rocprof.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct gp_trace_submission submission = {0};
	struct gp_buf page = {0}, markdown = {0};
	struct gp_trace_rocprof_stats stats;
	struct gp_doc *doc = gp_doc_new("report", "fuzz");
	u64 sum = 0;

	require(fd >= 0 && doc && write(fd, data, size) == (ssize_t)size);
	for (u32 input = 0; input < 2; input++) {
		require(lseek(fd, 0, SEEK_SET) == 0);
		gp_trace_submission_next_input(&submission);
		gp_trace_rocprof_read(fd, input ? "x.hip_stats.csv" : "x.csv", NULL,
				      gp_trace_submission_event, &submission, &stats);
	}
	require(gp_trace_submission_finish(&submission) == 0);
	for (u32 i = 0; i < GP_SUBMISSION_LAYERS; i++)
		sum += submission.alone_ns[i];
	require(!submission.has_wall || sum <= submission.last_ns - submission.first_ns);
	gp_trace_submission_doc(&submission, doc);
	gp_trace_submission_checks(&submission, doc);
	require(gp_doc_html(doc, &page) == 0 && gp_doc_markdown(doc, &markdown) == 0);
	json_decref(gp_doc_json(doc));
	gp_buf_free(&page);
	gp_buf_free(&markdown);
	gp_doc_free(doc);
	gp_trace_submission_free(&submission);
	close(fd);
	return 0;
}
