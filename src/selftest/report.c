// SPDX-License-Identifier: MIT
/* What was found, as a table for people and as JSON to send to a colleague. */
#include <stdio.h>
#include <sys/utsname.h>

#include "base/i18n.h"
#include "selftest/selftest.h"

static void add_time(struct gp_table *table, bool valid, u64 ns)
{
	if (valid)
		gp_table_cellf(table, "%.1f", (double)ns / 1e3);
	else
		gp_table_missing(table);
}

static void add_row(struct gp_table *table, const struct gp_selftest_result *result,
		    const struct gp_selftest_figures *figures)
{
	bool valid = figures->valid;

	gp_table_cell(table, result->name);
	gp_table_cell(table, valid ? _("works") : _("does not"));
	gp_table_paint(table, valid ? GP_GREEN : GP_RED);
	if (figures->queues)
		gp_table_cellf(table, "%u", figures->queues);
	else
		gp_table_missing(table);
	add_time(table, valid, figures->suspend.p50_ns);
	add_time(table, valid, figures->suspend.p99_ns);
	add_time(table, valid, figures->resume.p50_ns);
	add_time(table, valid, figures->resume.p99_ns);
	add_time(table, valid, figures->recovery_ns);
	if (valid)
		gp_table_cellf(table, "%llu", (unsigned long long)figures->packets);
	else
		gp_table_missing(table);
}

struct gp_table *gp_selftest_table(const struct gp_selftest_report *report)
{
	struct gp_table *table = gp_table_new();

	if (!table)
		return NULL;
	gp_table_column(table, _("MECHANISM"), GP_LEFT);
	gp_table_column(table, _("RESULT"), GP_LEFT);
	gp_table_column(table, _("QUEUES"), GP_RIGHT);
	gp_table_column(table, _("SUSPEND p50 us"), GP_RIGHT);
	gp_table_column(table, _("p99"), GP_RIGHT);
	gp_table_column(table, _("RESUME p50 us"), GP_RIGHT);
	gp_table_column(table, _("p99"), GP_RIGHT);
	gp_table_column(table, _("HOLDER KILLED us"), GP_RIGHT);
	gp_table_column(table, _("PACKETS"), GP_RIGHT);
	for (size_t i = 0; i < GP_SELFTEST_MECHANISMS; i++) {
		const struct gp_selftest_result *result = &report->results[i];

		/* Nothing is tried with more queues after a failure. */
		for (size_t k = 0; result->name && k < GP_SELFTEST_SIZES; k++) {
			add_row(table, result, &result->figures[k]);
			if (!result->figures[k].valid)
				break;
		}
	}
	return table;
}

static json_t *times_json(const struct gp_selftest_times *times)
{
	return json_pack("{s:I, s:I}", "p50_ns", (json_int_t)times->p50_ns, "p99_ns",
			 (json_int_t)times->p99_ns);
}

static json_t *result_json(const struct gp_selftest_result *result)
{
	json_t *sizes = json_array();

	for (size_t i = 0; i < GP_SELFTEST_SIZES; i++) {
		const struct gp_selftest_figures *figures = &result->figures[i];

		if (figures->valid)
			json_array_append_new(sizes,
					      json_pack("{s:i, s:I, s:o, s:o, s:I}", "queues",
							(int)figures->queues, "packets",
							(json_int_t)figures->packets, "suspend",
							times_json(&figures->suspend), "resume",
							times_json(&figures->resume),
							"holder_killed_ns",
							(json_int_t)figures->recovery_ns));
	}
	return json_pack("{s:s, s:b, s:o, s:o}", "name", result->name, "works", result->works,
			 "reason", gp_json_str_or_null(result->reason), "measured", sizes);
}

static const char *const work_words[] = {NULL, "barriers", "kernel", "hiprtc"};

json_t *gp_selftest_json(const struct gp_selftest_report *report)
{
	const struct gp_gpu *gpu = report->gpu;
	json_t *mechanisms = json_array();
	struct utsname machine;
	char gfx[16] = "";

	for (size_t i = 0; i < GP_SELFTEST_MECHANISMS && report->results[i].name; i++)
		json_array_append_new(mechanisms, result_json(&report->results[i]));
	if (gpu->valid & GP_GPU_GFX)
		gp_kfd_gfx_name(gpu->gfx_version, gfx, sizeof(gfx));
	return json_pack("{s:s, s:o, s:{s:i, s:I, s:o, s:o, s:o}, s:b, s:o, s:o, s:i, s:o}",
			 "gpreempt", gpreempt_version(), "kernel",
			 gp_json_str(uname(&machine) == 0 ? machine.release : NULL), "gpu", "node",
			 (int)gpu->node, "gpu_id", (json_int_t)gpu->gpu_id, "name",
			 gp_json_str_or_null(gpu->name), "gfx", gp_json_str_or_null(gfx),
			 "mec_firmware",
			 gp_json_u64_if(gpu->valid & GP_GPU_FIRMWARE, gpu->firmware), "virtual",
			 report->virtual_gpu, "work", gp_json_str(work_words[report->work]),
			 "work_reason", gp_json_str_or_null(report->work_reason), "cycles",
			 (int)report->cycles, "mechanisms", mechanisms);
}
