// SPDX-License-Identifier: MIT
/* The multi-process experiment: see experiment.h. */
#include "sim/experiment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/i18n.h"
#include "base/json.h"
#include "show/table.h"
#include "sim/engine.h"

#define CHIP_CUS 80
#define RUN_NS   4000000000ull

/* What the study measured on an MI308X: requests a second, all processes together. */
static const struct row {
	u32 processes, cus;
	double measured; /* 0: not in the study as a figure */
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

/* The causes the study suspects, as switches of the model. */
static const struct cause {
	const char *name, *what;
	bool serialise, one_ring, saturate, reload, overlap;
} causes[] = {
	{.name = "none", .what = N_("the model as it is")},
	{.name = "active_runlist",
	 .what = N_("processes take turns on the whole GPU (one VMID)"),
	 .serialise = true},
	{.name = "doorbell overlap",
	 .what = N_("a doorbell is taken for the other process's and seen a quantum later"),
	 .overlap = true},
	{.name = "ring sharing",
	 .what = N_("all processes' kernels go through one ring, in order"),
	 .one_ring = true},
	{.name = "CU saturation",
	 .what = N_("kernels beside another process's take twice as long"),
	 .saturate = true},
	{.name = "runlist reloads",
	 .what = N_("every request reloads the runlist once"),
	 .reload = true},
};

/* Two numbers, fewer than the three rows they are fitted on. */
struct fit {
	u64 host_ns;   /* of a request, in which its process has nothing on the GPU */
	u64 kernel_ns; /* on all 80 CUs; its 80 workgroups take two rounds on 70 or 60 */
};

/*
 * One process: seconds a request = host + kernel * ceil(80 / CUs). With 80, 70 and 60 CUs that is
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
	struct gp_sim_job *job = &s->jobs[0];
	int error = gp_sim_scenario_init(s, diag);

	if (error)
		return error;
	s->device.policy = GP_SCHED_OFF;
	s->time_ns = RUN_NS;
	s->job_count = 1;
	s->chip.model.jitter_permille = 0;
	if (cause->serialise)
		s->chip.model.vmids = 1;
	s->chip.model.contention_permille = cause->saturate ? 1000 : 0;
	*job = (struct gp_sim_job){.name = "client",
				   .stream = GP_SCHED_STREAM_NORMAL,
				   .spec = {.priority = GP_SCHED_NONE},
				   .processes = cause->one_ring ? 1 : row->processes,
				   .queues = 1,
				   .depth = cause->one_ring ? row->processes : 1,
				   .kernels = 1,
				   .kernel_ns = fit->kernel_ns,
				   .rounds = 1,
				   .vgprs = 512, /* one workgroup to a CU */
				   .think_ns = fit->host_ns,
				   .cu_limit = row->cus < CHIP_CUS ? row->cus : 0};
	if (cause->reload)
		job->think_ns += s->chip.model.unmap_ns + s->chip.model.map_ns;
	if (cause->overlap && row->processes > 1)
		job->think_ns += s->chip.model.quantum_ns;
	error = gp_sim_run(s, &options, diag, &result);
	if (error)
		return error;
	*per_second = (double)result.jobs[0].completed * 1e9 / (double)result.time_ns;
	gp_sim_result_free(&result);
	return 0;
}

static const char paragraph[] = N_(
	"What this shows, and what it cannot: the two parameters describe the one-process rows "
	"(the\n"
	"errors beside them), because work that fills 80 CUs takes two rounds on fewer. With them, "
	"two\n"
	"processes that share nothing but the CUs should do more together than one, not less, "
	"since one\n"
	"uses the host while the other uses the GPU. The study measured less. No switch here "
	"explains\n"
	"that by itself unless its row is near the measured one. A model of CUs and runlists has "
	"no\n"
	"caches, no power limit, no clock changes, no host contention and no framework behind the\n"
	"requests; any of these may be the cause. On the driver's own code active_runlist makes "
	"nobody\n"
	"wait and doorbells of two processes never overlap; only measuring on the machine can "
	"decide.\n");

static void add_row(struct gp_table *table, json_t *list, const struct cause *cause,
		    const struct row *row, double got)
{
	double error = row->measured ? 100 * (got / row->measured - 1) : 0;

	gp_table_cell(table, cause->name);
	gp_table_cellf(table, "%u", row->processes);
	gp_table_cellf(table, "%u", row->cus);
	gp_table_cellf(table, "%.1f", row->measured);
	gp_table_cellf(table, "%.1f", got);
	gp_table_cellf(table, "%+.1f %%", error);
	gp_table_cell(table, row->fitted ? _("fitted") : _("predicted"));
	json_array_append_new(list, json_pack("{s:s, s:i, s:i, s:f, s:f, s:f, s:b}", "cause",
					      cause->name, "processes", (int)row->processes, "cus",
					      (int)row->cus, "measured", row->measured, "model",
					      got, "error_percent", error, "fitted", row->fitted));
}

static int print(FILE *out, bool json, bool colour, struct gp_table *table, json_t *list,
		 const struct fit *fit)
{
	int error;

	if (json) {
		json_t *root =
			json_pack("{s:s, s:{s:I, s:I}, s:O}", "kind", "model, not a measurement",
				  "parameters", "host_ns", (json_int_t)fit->host_ns, "kernel_ns",
				  (json_int_t)fit->kernel_ns, "rows", list);

		error = root ? gp_json_print(out, root, false) : -ENOMEM;
		json_decref(root);
		return error;
	}
	fprintf(out,
		_("Parameters, fitted on the three one-process rows: host %.2f ms a request, "
		  "kernel %.2f "
		  "ms on 80 CUs.\n\n"),
		(double)fit->host_ns / 1e6, (double)fit->kernel_ns / 1e6);
	error = gp_table_print(table, out, colour);
	fputc('\n', out);
	for (size_t i = 0; i < GP_ARRAY_SIZE(causes); i++)
		fprintf(out, "  %-16s %s\n", causes[i].name, _(causes[i].what));
	fprintf(out, "\n%s", _(paragraph));
	return error ? error : ferror(out) ? -EIO : 0;
}

int gp_sim_experiment(FILE *out, bool json, bool colour, struct gp_diag *diag)
{
	struct gp_sim_scenario *scenario = malloc(sizeof(*scenario));
	struct gp_table *table = gp_table_new();
	json_t *list = json_array();
	struct fit fit = fit_rows();
	int error = scenario && list ? 0 : -ENOMEM;

	gp_table_column(table, _("suspected cause"), GP_LEFT);
	gp_table_column(table, _("processes"), GP_RIGHT);
	gp_table_column(table, "CU", GP_RIGHT);
	gp_table_column(table, _("study, requests/s"), GP_RIGHT);
	gp_table_column(table, _("model"), GP_RIGHT);
	gp_table_column(table, _("error"), GP_RIGHT);
	gp_table_column(table, "", GP_LEFT);
	for (size_t c = 0; !error && c < GP_ARRAY_SIZE(causes); c++) {
		for (size_t r = 0; !error && r < GP_ARRAY_SIZE(rows); r++) {
			double got = 0;

			/* With one process every cause but reloads is the same model. */
			if (c && rows[r].fitted)
				continue;
			error = predict(&rows[r], &causes[c], &fit, scenario, diag, &got);
			if (!error)
				add_row(table, list, &causes[c], &rows[r], got);
		}
	}
	if (!error)
		error = print(out, json, colour, table, list, &fit);
	gp_table_free(table);
	json_decref(list);
	free(scenario);
	return error;
}
