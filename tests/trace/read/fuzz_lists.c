// SPDX-License-Identifier: MIT
/* Any bytes as libhsakmt's lines, lists of processes, decisions and readings of clocks. */
#include <sys/mman.h>
#include <unistd.h>

#include "trace/read/clocks.h"
#include "trace/read/decision_log.h"
#include "trace/read/hsakmt.h"
#include "trace/analyse/inquiry.h"
#include "trace/read/smi.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static int touch(void *ctx, const struct gp_event *event)
{
	u32 sum = 0;

	(void)ctx;
	for (size_t i = 0; event->name && i < event->name_len; i++)
		sum += (u8)event->name[i];
	for (size_t i = 0; event->text && i < event->text_len; i++)
		sum += (u8)event->text[i];
	__asm__ volatile("" : : "r"(sum));
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct gp_trace_hsakmt_stats hsakmt;
	struct gp_trace_smi_stats smi;
	struct gp_trace_decision_log_stats decisions;
	struct gp_trace_clocks clocks = {0};
	struct gp_trace_alignment alignment;
	struct gp_trace_inquiry inquiry;
	struct gp_buf page = {0};
	struct gp_doc *doc;

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	lseek(fd, 0, SEEK_SET);
	gp_trace_hsakmt_read(fd, "fuzz", NULL, touch, NULL, &hsakmt);
	lseek(fd, 0, SEEK_SET);
	gp_trace_smi_read(fd, "fuzz", NULL, touch, NULL, &smi);
	lseek(fd, 0, SEEK_SET);
	gp_trace_decision_log_read(fd, "fuzz", NULL, touch, NULL, &decisions);
	require(decisions.decisions + decisions.damaged <= decisions.lines.lines);
	lseek(fd, 0, SEEK_SET);
	gp_trace_clocks_read(fd, "fuzz", NULL, &clocks);
	gp_trace_clocks_align(&clocks, GP_CLOCK_BOOTTIME, &alignment);
	lseek(fd, 0, SEEK_SET);
	require(gp_trace_inquiry_init(&inquiry, GP_CLOCK_TRACE) == 0);
	gp_trace_inquiry_add(&inquiry, fd, "fuzz", NULL);
	require(gp_trace_inquiry_finish(&inquiry) == 0);
	doc = gp_trace_inquiry_doc(&inquiry);
	require(doc && gp_doc_html(doc, &page) == 0);
	gp_buf_free(&page);
	gp_doc_free(doc);
	gp_trace_inquiry_free(&inquiry);
	close(fd);
	return 0;
}
