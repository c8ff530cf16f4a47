// SPDX-License-Identifier: MIT
/* gpreempt-sim: the command line of the simulator; `gpreempt sim` runs it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "show/term.h"
#include "sim/cluster/output.h"
#include "sim/program/command.h"
#include "sim/experiment.h"
#include "sim/grid.h"
#include "sim/judge.h"
#include "sim/output.h"

#define MAX_POLICIES   8
#define DEFAULT_EVENTS 300000000ull
#define TRACE_EVENTS   2000000ull

struct request {
	const char *file;
	enum gp_sched_policy_id policies[MAX_POLICIES];
	u32 policy_count;
	bool seed_given, alone, json, faults, replay, experiment, grid, oracle;
	u64 seed, time_ns, events;
	const char *html, *perfetto;
	struct gp_diag *diag;
};

static int take_policies(struct request *request, const char *list)
{
	char *copy = strdup(list), *rest, names[128];
	bool known = copy != NULL;

	for (char *name = copy ? strtok_r(copy, ",", &rest) : NULL; name && known;
	     name = strtok_r(NULL, ",", &rest))
		known = request->policy_count < MAX_POLICIES &&
			gp_sim_parse_policy(name, &request->policies[request->policy_count++]);
	free(copy);
	if (known)
		return 0;
	gp_sim_policy_names(names, sizeof(names));
	return gp_usage_error(&gp_sim_command,
			      "invalid list of policies '%s' (use %s, separated by commas)", list,
			      names);
}

static int take_option(void *ctx, int option, const char *value)
{
	struct request *request = ctx;
	const struct gp_command *command = &gp_sim_command;

	switch (option) {
	case GP_SIM_OPTION_POLICY:
		return take_policies(request, value);
	case GP_SIM_OPTION_SEED:
		request->seed_given = true;
		return gp_option_count(command, "seed", value, 0, UINT64_MAX, &request->seed);
	case GP_SIM_OPTION_REPLAY:
		request->faults = request->replay = true;
		return gp_option_count(command, "replay", value, 0, UINT64_MAX, &request->seed);
	case GP_SIM_OPTION_EVENTS:
		return gp_option_count(command, "events", value, 0, UINT64_MAX, &request->events);
	case GP_SIM_OPTION_TIME:
		return gp_option_duration(command, "time", value, 1, GP_SIM_CLUSTER_TIME_MAX,
					  &request->time_ns);
	case GP_SIM_OPTION_ALONE:
		request->alone = true;
		return 0;
	case GP_SIM_OPTION_JSON:
		request->json = true;
		return 0;
	case GP_SIM_OPTION_HTML:
		request->html = value;
		return 0;
	case GP_SIM_OPTION_PERFETTO:
		request->perfetto = value;
		return 0;
	case GP_SIM_OPTION_FAULTS:
		request->faults = true;
		return 0;
	case GP_SIM_OPTION_EXPERIMENT:
		request->experiment = true;
		return 0;
	case GP_SIM_OPTION_ORACLE:
		request->oracle = true;
		return 0;
	case GP_SIM_OPTION_GRID:
		request->grid = true;
		return 0;
	default:
		return gp_usage_error(command, "--output, --kernel and --burst need --from");
	}
}

/* 0, 1 after --help, or -EINVAL. */
static int take_options(struct request *request, int argc, char **argv)
{
	const struct gp_command *command = &gp_sim_command;
	const char *wrong = NULL;
	int first, status = gp_command_parse(command, argc, argv, take_option, request, &first);

	if (status)
		return status;
	if (first < argc)
		request->file = argv[first++];
	if (first < argc) {
		gp_usage_error(command, "unexpected argument '%s' (one scenario per run)",
			       argv[first]);
		return -EINVAL;
	}
	if (!!request->file + request->faults + request->experiment + request->grid > 1)
		wrong = N_("a scenario, --faults, --replay SEED, --experiment and --grid cannot be "
			   "combined");
	else if (request->oracle && (request->perfetto || !request->file))
		wrong = N_("--oracle needs a scenario and cannot be combined with --perfetto");
	else if (request->grid &&
		 (request->policy_count > 1 || request->perfetto || request->alone))
		wrong = N_("--grid accepts only --policy (one policy), --seed, --time, --json and "
			   "--html");
	else if (request->experiment &&
		 (request->policy_count || request->perfetto || request->alone || request->time_ns))
		wrong = N_("--experiment accepts only --json and --html");
	else if (request->faults && (request->json || request->policy_count || request->html ||
				     request->perfetto || request->alone || request->time_ns))
		wrong = N_("--faults and --replay accept only --seed and --events");
	else if (!request->file && request->time_ns > GP_SIM_TIME_MAX)
		wrong = N_("--time: only a cluster scenario can run for more than 24h");
	else if (!request->file && !request->faults && !request->experiment && !request->grid)
		wrong = N_(
			"nothing to simulate: give a scenario (serve, fair, deadline, "
			"multi-process, cluster or a file), --from FILE, --faults, --replay SEED, "
			"--experiment or --grid");
	if (!wrong)
		return 0;
	gp_usage_error(command, "%s", gettext(wrong));
	return -EINVAL;
}

static int write_file(struct gp_diag *diag, const char *path, const struct gp_buf *text)
{
	int error = text->error ? text->error : gp_file_write_atomic(path, text->data, text->len);

	return error ? gp_fail(diag, error, "cannot write %s: %s", path, strerror(-error)) : 0;
}

/* ---- fault tests ---- */

/* Random scenarios, seed after seed, until that many events were checked. */
static int run_faults(const struct request *request)
{
	struct gp_sim_scenario *scenario = malloc(sizeof(*scenario));
	u64 wanted = request->events ? request->events : 1000000, seed = request->seed, seeds = 0;
	u64 windows = 0, excepted = 0;
	u64 events = 0, begin = gp_monotonic_ns();
	struct gp_progress progress;
	int error = scenario ? 0 : -ENOMEM;

	gp_progress_start(&progress, request->diag);
	while (!error && (!seeds || (!request->replay && events < wanted))) {
		struct gp_sim_options options = {.check = true,
						 .only_job = GP_SCHED_NONE,
						 .max_events = 5000000};
		struct gp_sim_result result;

		error = gp_sim_scenario_init(scenario, request->diag);
		if (error)
			break;
		gp_sim_scenario_random(scenario, seed);
		error = gp_sim_run(scenario, &options, request->diag, &result);
		if (error) {
			fprintf(stderr, _("%s: failed; reproduce it with '%s --replay %llu'\n"),
				"gpreempt sim", "gpreempt sim", (unsigned long long)seed);
			break;
		}
		events += result.events;
		windows += result.windows;
		excepted += result.excepted_ns;
		gp_sim_result_free(&result);
		gp_sim_scenario_free(scenario);
		seeds++;
		seed++;
		gp_progress_count(&progress, "gpreempt sim", events, wanted);
	}
	gp_progress_end(&progress);
	free(scenario);
	if (error)
		return error;
	u64 took = gp_monotonic_ns() - begin;

	printf(_("all invariants held: events %llu, random scenarios %llu, first seed %llu (%.1f "
		 "million checked events per second)\n"),
	       (unsigned long long)events, (unsigned long long)seeds,
	       (unsigned long long)request->seed, took ? (double)events * 1e3 / (double)took : 0);
	printf(_("at least half a fair share in each window of 5 s: %llu windows; not counted: "
		 "%.1f s in which jobs were stopped or operations failed\n"),
	       (unsigned long long)windows, (double)excepted / 1e9);
	return 0;
}

/* ---- scenarios ---- */

struct runs {
	struct gp_sim_row rows[MAX_POLICIES + 1];
	struct gp_sim_scenario *scenarios[MAX_POLICIES + 1];
	struct gp_sim_verdict verdicts[MAX_POLICIES + 1];
	char labels[MAX_POLICIES + 1][32];
	size_t count;
};

static int run_one(struct runs *runs, const struct request *request,
		   const struct gp_sim_scenario *scenario, const char *label, u32 only,
		   const struct gp_sim_observer *observer)
{
	struct gp_sim_row *row = &runs->rows[runs->count];
	struct gp_sim_options options = {.max_events =
						 request->events ? request->events : DEFAULT_EVENTS,
					 .only_job = only,
					 .observer = observer};
	int error = gp_sim_run(scenario, &options, request->diag, &row->result);

	if (error)
		return error;
	if (row->result.cut)
		gp_diag(request->diag, GP_WARNING,
			"stopped after %llu events, at %.3f s of %.3f s of virtual time (use "
			"--events N to raise the limit)",
			(unsigned long long)(row->result.events + row->result.gpu_events),
			(double)row->result.time_ns / 1e9, (double)scenario->time_ns / 1e9);
	row->label = label;
	row->scenario = scenario;
	runs->count++;
	return 0;
}

/* The same, compared with the oracle. */
static int run_judged(struct runs *runs, const struct request *request,
		      const struct gp_sim_scenario *scenario)
{
	struct gp_sim_judge *judge = malloc(sizeof(*judge));
	struct gp_sim_alone alone;
	size_t index = runs->count;
	int error = judge ? 0 : -ENOMEM;

	if (error)
		return error;
	error = gp_sim_judge_alone(scenario, 0, request->events ? request->events : DEFAULT_EVENTS,
				   request->diag, &alone);
	gp_sim_judge_begin(judge, scenario, 0, &alone);
	if (!error)
		error = run_one(runs, request, scenario,
				gp_sched_policy_name(scenario->device.policy), GP_SCHED_NONE,
				&judge->observer);
	if (!error)
		error = gp_sim_judge_end(judge, &runs->rows[index].result, &runs->verdicts[index]);
	if (!error)
		runs->rows[index].verdict = &runs->verdicts[index];
	gp_sim_judge_free(judge);
	free(judge);
	return error;
}

/* Every job by itself, as one row: what the others cost each. */
static int run_alone(struct runs *runs, const struct request *request,
		     const struct gp_sim_scenario *scenario)
{
	struct gp_sim_row *row = &runs->rows[runs->count];
	int error = run_one(runs, request, scenario, "alone", 0, NULL);

	for (u32 job = 1; !error && job < scenario->job_count; job++) {
		struct gp_sim_row *other = &runs->rows[runs->count];

		error = run_one(runs, request, scenario, "alone", job, NULL);
		if (error)
			break;
		row->result.jobs[job] = other->result.jobs[job];
		row->result.events += other->result.events;
		row->result.gpu_events += other->result.gpu_events;
		runs->count--;
		gp_sim_result_free(&other->result);
	}
	return error;
}

/* Prints the document, and writes its page; frees it. */
static int show(const struct request *request, struct gp_doc *doc)
{
	struct gp_buf page = {0};
	bool quiet = gp_file_is_standard(request->html) || gp_file_is_standard(request->perfetto);
	int error = quiet ? gp_doc_error(doc)
			  : gp_show_print(doc, stdout, request->json ? GP_SHOW_JSON : GP_SHOW_TEXT);

	if (!error && request->html) {
		error = gp_doc_html(doc, &page);
		error = error ? error : write_file(request->diag, request->html, &page);
		gp_buf_free(&page);
	}
	gp_doc_free(doc);
	return error;
}

/* A scenario with a section [cluster]. */
static int run_cluster(const struct request *request, const char *name, const struct gp_buf *text)
{
	struct gp_doc *doc;

	if (request->policy_count || request->alone || request->oracle || request->perfetto)
		return gp_usage_error(&gp_sim_command,
				      "a cluster scenario accepts only --seed, --time, --events, "
				      "--json and --html");
	doc = gp_sim_cluster_compare(name, gp_buf_str(text), text->len,
				     request->seed_given ? &request->seed : NULL, request->time_ns,
				     request->events, request->diag);
	return doc ? show(request, doc) : -ECANCELED;
}

static int run_scenario(const struct request *request, struct gp_sim_scenario *base,
			struct runs *runs, const char *name, const struct gp_buf *text)
{
	struct gp_sim_trace trace;
	int error = gp_sim_scenario_init(base, request->diag);

	if (!error)
		error = gp_sim_scenario_parse(base, name, gp_buf_str(text), text->len,
					      request->diag);
	if (error)
		return error;
	if (request->seed_given)
		base->seed = request->seed;
	if (request->time_ns > GP_SIM_TIME_MAX)
		return gp_usage_error(&gp_sim_command,
				      "--time: only a cluster scenario can run for more than 24h");
	if (request->time_ns)
		base->time_ns = request->time_ns;
	if (request->oracle && gp_sim_judge_can(base, request->diag))
		return -EINVAL;
	if (request->alone)
		error = run_alone(runs, request, base);
	for (u32 i = 0; !error && i < GP_MAX(request->policy_count, 1u); i++) {
		struct gp_sim_scenario *scenario = malloc(sizeof(*scenario));
		bool traced = request->perfetto && i == 0;

		if (!scenario)
			return -ENOMEM;
		*scenario = *base;
		if (request->policy_count)
			scenario->device.policy = request->policies[i];
		runs->scenarios[i] = scenario;
		if (traced)
			gp_sim_trace_begin(&trace, scenario, TRACE_EVENTS);
		if (request->oracle)
			error = run_judged(runs, request, scenario);
		else
			error = run_one(runs, request, scenario,
					gp_sched_policy_name(scenario->device.policy),
					GP_SCHED_NONE, traced ? &trace.observer : NULL);
		if (traced) {
			if (trace.dropped)
				gp_diag(request->diag, GP_WARNING,
					"the trace is truncated (events written: %llu, omitted: "
					"%llu)",
					(unsigned long long)trace.events,
					(unsigned long long)trace.dropped);
			if (!error)
				error = gp_sim_trace_end(&trace);
			if (!error)
				error = write_file(request->diag, request->perfetto,
						   &trace.timeline.text);
			gp_sim_trace_free(&trace);
		}
	}
	return error ? error : show(request, gp_sim_doc(runs->rows, runs->count));
}

/* A scenario of one machine. */
static int run_machine(const struct request *request, const char *name, const struct gp_buf *text)
{
	struct gp_sim_scenario *base = calloc(1, sizeof(*base));
	struct runs *runs = calloc(1, sizeof(*runs));
	int error = base && runs ? run_scenario(request, base, runs, name, text) : -ENOMEM;

	for (size_t i = 0; runs && i < runs->count; i++)
		gp_sim_result_free(&runs->rows[i].result);
	for (size_t i = 0; runs && i < GP_ARRAY_SIZE(runs->scenarios); i++)
		free(runs->scenarios[i]);
	free(runs);
	if (base)
		gp_sim_scenario_free(base);
	free(base);
	return error;
}

/* 0, -errno or GP_EXIT_USAGE. */
static int run(const struct request *request)
{
	struct gp_buf text = {0};
	char name[PATH_MAX];
	int error;

	if (request->grid || request->experiment) {
		struct gp_sim_grid grid = {.policy = request->policy_count ? request->policies[0]
									   : GP_SCHED_PRIORITY,
					   .seed = request->seed,
					   .time_ns = request->time_ns};
		struct gp_doc *doc = request->grid ? gp_sim_grid(&grid, request->diag)
						   : gp_sim_experiment(request->diag);

		return doc ? show(request, doc) : -ECANCELED;
	}
	if (request->faults)
		return run_faults(request);
	error = gp_sim_scenario_read(request->file, request->diag, name, &text);
	if (!error)
		error = gp_sim_cluster_is(gp_buf_str(&text), text.len)
				? run_cluster(request, name, &text)
				: run_machine(request, name, &text);
	gp_buf_free(&text);
	return error;
}
int main(int argc, char **argv)
{
	struct gp_command_diag sink;
	struct request request = {.seed = 1, .diag = &sink.diag};
	int status;

	gp_i18n_init();
	gp_command_diag_init(&sink, &gp_sim_command);
	status = take_options(&request, argc, argv);
	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	status = run(&request);
	return gp_command_finish(&gp_sim_command, status < 0 ? GP_EXIT_FAILED : status);
}
