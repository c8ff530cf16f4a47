// SPDX-License-Identifier: MIT
/* What was found, as a table for people and as JSON to send to a colleague. */
#include <stdio.h>
#include <sys/utsname.h>

#include "base/i18n.h"
#include "selftest/selftest.h"

static void time_cell(struct gp_doc *doc, bool valid, u64 ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%.1f", (double)ns / 1e3);
	gp_doc_cell(doc, gp_v_if(valid, gp_v_as(gp_v_ns(ns), text)));
}

static void add_row(struct gp_doc *doc, const struct gp_selftest_result *result,
		    const struct gp_selftest_figures *figures)
{
	bool valid = figures->valid;

	gp_doc_cell(doc, gp_v_text(result->name));
	gp_doc_cell(doc, gp_v_text(valid ? _("works") : _("fails")));
	gp_doc_paint(doc, valid ? GP_GREEN : GP_RED);
	gp_doc_cell(doc, gp_v_if(figures->queues, gp_v_count(figures->queues)));
	time_cell(doc, valid, figures->suspend.p50_ns);
	time_cell(doc, valid, figures->suspend.p99_ns);
	time_cell(doc, valid, figures->resume.p50_ns);
	time_cell(doc, valid, figures->resume.p99_ns);
	time_cell(doc, valid, figures->recovery_ns);
	gp_doc_cell(doc, gp_v_if(valid, gp_v_count(figures->packets)));
}

static void add_table(struct gp_doc *doc, const struct gp_selftest_report *report)
{
	static const char *const titles[] = {N_("MECHANISM"),      N_("RESULT"),
					     N_("QUEUES"),         N_("SUSPEND p50 us"),
					     N_("SUSPEND p99 us"), N_("RESUME p50 us"),
					     N_("RESUME p99 us"),  N_("RECOVERY us"),
					     N_("PACKETS")};

	gp_doc_table(doc, NULL, NULL);
	for (size_t i = 0; i < GP_ARRAY_SIZE(titles); i++) {
		gp_doc_column(doc, NULL, titles[i]);
		if (i > 1)
			gp_doc_right(doc);
	}
	for (size_t i = 0; i < GP_SELFTEST_MECHANISMS; i++) {
		const struct gp_selftest_result *result = &report->results[i];

		/* After a failure, larger numbers of queues are not tried. */
		for (size_t k = 0; result->name && k < GP_SELFTEST_SIZES; k++) {
			add_row(doc, result, &result->figures[k]);
			if (!result->figures[k].valid)
				break;
		}
	}
}

static void add_times(struct gp_doc *doc, const char *key, const struct gp_selftest_times *times)
{
	gp_doc_open(doc, key, NULL);
	gp_doc_fact(doc, "p50_ns", NULL, gp_v_ns(times->p50_ns));
	gp_doc_fact(doc, "p99_ns", NULL, gp_v_ns(times->p99_ns));
	gp_doc_close(doc);
}

static void add_result(struct gp_doc *doc, const struct gp_selftest_result *result)
{
	gp_doc_open(doc, NULL, NULL);
	gp_doc_fact(doc, "name", NULL, gp_v_text(result->name));
	gp_doc_fact(doc, "works", NULL, gp_v_bool(result->works));
	gp_doc_fact(doc, "reason", NULL, gp_v_text_or_missing(result->reason));
	gp_doc_open_list(doc, "measured", NULL);
	for (size_t i = 0; i < GP_SELFTEST_SIZES; i++) {
		const struct gp_selftest_figures *figures = &result->figures[i];

		if (!figures->valid)
			continue;
		gp_doc_open(doc, NULL, NULL);
		gp_doc_fact(doc, "queues", NULL, gp_v_count(figures->queues));
		gp_doc_fact(doc, "packets", NULL, gp_v_count(figures->packets));
		add_times(doc, "suspend", &figures->suspend);
		add_times(doc, "resume", &figures->resume);
		gp_doc_fact(doc, "holder_killed_ns", NULL, gp_v_ns(figures->recovery_ns));
		gp_doc_close(doc);
	}
	gp_doc_close(doc);
	gp_doc_close(doc);
}

static const char *const work_words[] = {NULL, "barriers", "kernel", "hiprtc"};

static void add_facts(struct gp_doc *doc, const struct gp_selftest_report *report)
{
	const struct gp_gpu *gpu = report->gpu;
	struct utsname machine;
	char gfx[16] = "";

	if (gpu->valid & GP_GPU_GFX)
		gp_kfd_gfx_name(gpu->gfx_version, gfx, sizeof(gfx));
	gp_doc_fact(doc, "gpreempt", NULL, gp_v_text(gpreempt_version()));
	gp_doc_fact(doc, "kernel", NULL, gp_v_text(uname(&machine) == 0 ? machine.release : NULL));
	gp_doc_open(doc, "gpu", NULL);
	gp_doc_fact(doc, "node", NULL, gp_v_count(gpu->node));
	gp_doc_fact(doc, "gpu_id", NULL, gp_v_count(gpu->gpu_id));
	gp_doc_fact(doc, "name", NULL, gp_v_text_or_missing(gpu->name));
	gp_doc_fact(doc, "gfx", NULL, gp_v_text_or_missing(gfx));
	gp_doc_fact(doc, "mec_firmware", NULL,
		    gp_v_if(gpu->valid & GP_GPU_FIRMWARE, gp_v_count(gpu->firmware)));
	gp_doc_close(doc);
	gp_doc_fact(doc, "virtual", NULL, gp_v_bool(report->virtual_gpu));
	gp_doc_fact(doc, "work", NULL, gp_v_text(work_words[report->work]));
	gp_doc_fact(doc, "work_reason", NULL, gp_v_text_or_missing(report->work_reason));
	gp_doc_fact(doc, "cycles", NULL, gp_v_count(report->cycles));
	gp_doc_open_list(doc, "mechanisms", NULL);
	for (size_t i = 0; i < GP_SELFTEST_MECHANISMS && report->results[i].name; i++)
		add_result(doc, &report->results[i]);
	gp_doc_close(doc);
}

struct gp_doc *gp_selftest_doc(const struct gp_selftest_report *report)
{
	struct gp_doc *doc = gp_doc_new_answer();

	add_facts(doc, report);
	add_table(doc, report);
	return doc;
}
