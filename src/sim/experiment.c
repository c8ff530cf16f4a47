// SPDX-License-Identifier: MIT
#include "sim/experiment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/i18n.h"
#include "show/doc.h"
#include "sim/engine.h"

#define CHIP_CUS 80
#define RUN_NS   4000000000ull

/* Requests per second that a study measured on an MI308X, all processes together. */
static const struct row {
	u32 processes, cus;
	double measured;
	bool fitted;
} rows[] = {
	{1, 80, 118.7, true},
	{1, 70, 85.0, true},
	{1, 60, 79.0, true},
	{2, 80, 72.0, false},
	{2, 70, 72.0 * (1 - 0.133), false},
	{2, 60, 72.0 * (1 - 0.215), false},
	{6, 80, 72.0, false},
};

/* Causes that the study suspects, as switches of the model. */
static const struct cause {
	const char *name, *what;
	bool serialise, one_ring, saturate, reload, overlap;
} causes[] = {
	{.name = "none", .what = N_("the unchanged model")},
	{.name = "active_runlist",
	 .what = N_("processes take turns on the whole GPU (one VMID)"),
	 .serialise = true},
	{.name = "doorbell overlap",
	 .what = N_("a doorbell is attributed to the other process and seen one quantum later"),
	 .overlap = true},
	{.name = "ring sharing",
	 .what = N_("the kernels of all processes go through one ring, in order"),
	 .one_ring = true},
	{.name = "CU saturation",
	 .what = N_("kernels take twice as long while kernels of another process run"),
	 .saturate = true},
	{.name = "runlist reloads",
	 .what = N_("every request reloads the runlist once"),
	 .reload = true},
};

#define TARGET_PERCENT 95 /* of one process, for two together */

/*
 * The forecast of the study for two processes on all CUs: what they would do after each repair, on
 * top of those before. For the model, the causes that are left at that step.
 */
static const struct step {
	const char *name;
	double low, high; /* requests per second */
	struct cause left;
} steps[] = {
	{N_("as measured"), 72, 72, {.serialise = true, .overlap = true, .one_ring = true}},
	{N_("+ active_runlist repaired"), 92, 102, {.overlap = true, .one_ring = true}},
	{N_("+ doorbells separated"), 102, 117, {.one_ring = true}},
	{N_("+ rings separated"), 112, 127, {0}},
	{N_("upper limit"), 140, 140, {0}},
};

/* Two parameters, fitted on three rows. */
struct fit {
	u64 host_ns;   /* time of a request in which its process has no work on the GPU */
	u64 kernel_ns; /* on all 80 CUs; its 80 workgroups take two rounds on 70 or 60 */
};

/*
 * One process: seconds per request = host + kernel * ceil(80 / CUs). With 80, 70 and 60 CUs that is
 * one round, two and two, so least squares has a closed form: the mean of the two limited rows
 * minus the first is the kernel.
 */
static struct fit fit_rows(void)
{
	double full = 1e9 / rows[0].measured;
	double limited = (1e9 / rows[1].measured + 1e9 / rows[2].measured) / 2;

	return (struct fit){.host_ns = (u64)(2 * full - limited),
			    .kernel_ns = (u64)(limited - full)};
}

static int predict(const struct row *row, const struct cause *cause, const struct fit *fit,
		   struct gp_sim_scenario *s, struct gp_diag *diag, double *per_second)
{
	struct gp_sim_options options = {.only_job = GP_SCHED_NONE};
	struct gp_sim_result result;
	struct gp_sim_job *job;
	int error = gp_sim_scenario_init(s, diag);

	if (error)
		return error;
	job = gp_sim_scenario_add_job(s);
	if (!job)
		return -ENOMEM;
	s->device.policy = GP_SCHED_OFF;
	s->time_ns = RUN_NS;
	s->chip.model.jitter_permille = 0;
	if (cause->serialise)
		s->chip.model.vmids = 1;
	s->chip.model.contention_permille = cause->saturate ? 1000 : 0;
	strcpy(job->name, "client");
	job->processes = cause->one_ring ? 1 : row->processes;
	job->depth = cause->one_ring ? row->processes : 1;
	job->kernel_ns = fit->kernel_ns;
	job->vgprs = 512; /* one workgroup to a CU */
	job->think_ns = fit->host_ns;
	job->cu_limit = row->cus < CHIP_CUS ? row->cus : 0;
	if (cause->reload)
		job->think_ns += s->chip.model.unmap_ns + s->chip.model.map_ns;
	if (cause->overlap && row->processes > 1)
		job->think_ns += s->chip.model.quantum_ns;
	error = gp_sim_run(s, &options, diag, &result);
	gp_sim_scenario_free(s);
	if (error)
		return error;
	*per_second = (double)result.jobs[0].completed * 1e9 / (double)result.time_ns;
	gp_sim_result_free(&result);
	return 0;
}

static void put_reading(struct gp_doc *doc)
{
	gp_doc_open(doc, NULL, "How to read this");
	gp_doc_line(doc, "The two parameters reproduce the rows with one process: work that fills "
			 "80 CUs takes two rounds on fewer CUs.");
	gp_doc_line(doc, "With these parameters, two processes that share only the CUs should "
			 "together complete more requests than one process, because one can use "
			 "the host while the other uses the GPU.");
	gp_doc_line(
		doc,
		"The study measured fewer requests than with one process. A suspected cause is a "
		"sufficient explanation only if its modelled rate is close to the measured rate.");
	gp_doc_line(doc, "The model has no caches, power limit, clock changes, host contention or "
			 "framework; any of these may be the cause. Only measurements on the "
			 "machine can decide.");
	gp_doc_line(doc, "The forecast adds gains that were assumed per repair; nothing in it was "
			 "measured. Its model column has the causes that are left at each step.");
	gp_doc_line(doc, "In the driver code, active_runlist does not make any process wait, and "
			 "the doorbells of two processes never overlap.");
}

static void put_columns(struct gp_doc *doc)
{
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "cause", "SUSPECTED CAUSE");
	gp_doc_column(doc, "processes", "PROCESSES");
	gp_doc_column(doc, "cus", "CUS");
	gp_doc_column(doc, "measured", "MEASURED");
	gp_doc_column(doc, "measured_of_one_percent", "OF ONE PROCESS");
	gp_doc_column(doc, "measured_meets_target", "TARGET 95 %");
	gp_doc_column(doc, "model", "MODEL");
	gp_doc_column(doc, "model_of_one_percent", "OF ONE PROCESS");
	gp_doc_column(doc, "model_meets_target", "TARGET 95 %");
	gp_doc_column(doc, "error_percent", "ERROR");
	gp_doc_column(doc, "fitted", "KIND");
}

/* Relative to one process on the same CUs, and whether that reaches the target. */
static void put_relative(struct gp_doc *doc, const struct row *row, double rate, double one)
{
	double percent = 100 * rate / one;
	bool met = percent >= TARGET_PERCENT;

	gp_doc_cell(doc, gp_v_percent(percent));
	gp_doc_cell(doc, row->processes == 1
				 ? gp_v_missing()
				 : gp_v_as(gp_v_bool(met), met ? _("met") : _("missed")));
}

static const struct row *one_process(u32 cus)
{
	const struct row *row = rows;

	while (row->processes != 1 || row->cus != cus)
		row++;
	return row;
}

static void put_row(struct gp_doc *doc, const struct cause *cause, const struct row *row,
		    double got, double one)
{
	double error = 100 * (got / row->measured - 1);
	char text[32];

	snprintf(text, sizeof(text), "%+.1f %%", error);
	gp_doc_cell(doc, gp_v_text(cause->name));
	gp_doc_cell(doc, gp_v_count(row->processes));
	gp_doc_cell(doc, gp_v_count(row->cus));
	gp_doc_cell(doc, gp_v_real(GP_UNIT_RATE, row->measured));
	put_relative(doc, row, row->measured, one_process(row->cus)->measured);
	gp_doc_cell(doc, gp_v_real(GP_UNIT_RATE, got));
	put_relative(doc, row, got, one);
	gp_doc_cell(doc, gp_v_as(gp_v_percent(error), text));
	gp_doc_cell(doc,
		    gp_v_as(gp_v_bool(row->fitted), row->fitted ? _("fitted") : _("predicted")));
}

static int put_rows(struct gp_doc *doc, const struct fit *fit, struct gp_sim_scenario *scenario,
		    struct gp_diag *diag)
{
	double one[GP_ARRAY_SIZE(rows)] = {0}; /* the model's, of the rows with one process */
	int error = 0;

	for (size_t c = 0; !error && c < GP_ARRAY_SIZE(causes); c++) {
		for (size_t r = 0; !error && r < GP_ARRAY_SIZE(rows); r++) {
			double got = 0;

			/* With one process every cause but reloads is the same model. */
			if (c && rows[r].fitted)
				continue;
			error = predict(&rows[r], &causes[c], fit, scenario, diag, &got);
			if (rows[r].processes == 1)
				one[r] = got;
			if (!error)
				put_row(doc, &causes[c], &rows[r], got,
					one[one_process(rows[r].cus) - rows]);
		}
	}
	return error;
}

static int put_forecast(struct gp_doc *doc, const struct fit *fit, struct gp_sim_scenario *scenario,
			struct gp_diag *diag)
{
	const struct row two = {2, CHIP_CUS, 72, false};
	double one = rows[0].measured;
	int error = 0;

	gp_doc_table(doc, "forecast", "Forecast for two processes, cumulative");
	gp_doc_column(doc, "step", "STEP");
	gp_doc_column(doc, "low", "LOW");
	gp_doc_column(doc, "high", "HIGH");
	gp_doc_column(doc, "low_of_one_percent", "LOW OF ONE");
	gp_doc_column(doc, "high_of_one_percent", "HIGH OF ONE");
	gp_doc_column(doc, "high_meets_target", "TARGET 95 %");
	gp_doc_column(doc, "model", "MODEL");
	for (size_t i = 0; !error && i < GP_ARRAY_SIZE(steps); i++) {
		bool surely = 100 * steps[i].low / one >= TARGET_PERCENT;
		bool perhaps = 100 * steps[i].high / one >= TARGET_PERCENT;
		double got = 0;

		error = predict(&two, &steps[i].left, fit, scenario, diag, &got);
		gp_doc_cell(doc, gp_v_text(gettext(steps[i].name)));
		gp_doc_cell(doc, gp_v_real(GP_UNIT_RATE, steps[i].low));
		gp_doc_cell(doc, gp_v_real(GP_UNIT_RATE, steps[i].high));
		gp_doc_cell(doc, gp_v_percent(100 * steps[i].low / one));
		gp_doc_cell(doc, gp_v_percent(100 * steps[i].high / one));
		gp_doc_cell(doc, gp_v_as(gp_v_bool(perhaps), surely    ? _("met")
							     : perhaps ? _("met at best")
								       : _("missed")));
		gp_doc_cell(doc, gp_v_real(GP_UNIT_RATE, got));
	}
	return error;
}

struct gp_doc *gp_sim_experiment(struct gp_diag *diag)
{
	struct gp_doc *doc = gp_doc_new_answer();
	struct gp_sim_scenario *scenario = malloc(sizeof(*scenario));
	struct fit fit = fit_rows();
	int error = scenario ? 0 : -ENOMEM;

	gp_doc_title(doc, _("Throughput of one to six processes, measured and modelled"));
	gp_doc_fact(doc, "kind", NULL, gp_v_text("model, not a measurement"));
	gp_doc_line(doc, "Parameters, fitted on the three rows with one process:");
	gp_doc_open(doc, "parameters", NULL);
	gp_doc_fact(doc, "host_ns", "host time per request", gp_v_ns(fit.host_ns));
	gp_doc_fact(doc, "kernel_ns", "kernel time on 80 CUs", gp_v_ns(fit.kernel_ns));
	gp_doc_close(doc);
	put_columns(doc);
	if (!error)
		error = put_rows(doc, &fit, scenario, diag);
	if (!error)
		error = put_forecast(doc, &fit, scenario, diag);
	free(scenario);
	gp_doc_open(doc, NULL, "Suspected causes");
	for (size_t i = 0; i < GP_ARRAY_SIZE(causes); i++)
		gp_doc_fact(doc, NULL, causes[i].name, gp_v_text(gettext(causes[i].what)));
	gp_doc_close(doc);
	put_reading(doc);
	if (!error)
		return doc;
	gp_doc_free(doc);
	return NULL;
}
