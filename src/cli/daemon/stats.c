// SPDX-License-Identifier: MIT
/* gpreempt stats: what gpreemptd has done in all, or would have done. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/stats_jobs.h"
#include "cli/view.h"
#include "show/doc.h"
#include "show/reason.h"

enum { OPTION_JOBS = 256, OPTION_PID, OPTION_GROUP, OPTION_USER, OPTION_CGROUP, OPTION_SINCE };

struct settings {
	const struct gp_command *command;
	struct gp_command_diag sink;
	struct gp_cli_stats_filter filter;
	struct gp_cli_view view;
	struct gp_cli_daemon_client client;
};

static int set(void *ctx, int id, const char *value)
{
	struct settings *settings = ctx;
	struct gp_cli_stats_filter *filter = &settings->filter;

	if (gp_cli_view_has(id))
		return gp_cli_view_set(&settings->view, settings->command, id, value);
	switch (id) {
	case OPTION_JOBS:
		filter->jobs = true;
		break;
	case OPTION_PID:
		if (!gp_argument_pid(value, &filter->pid))
			return gp_usage_error(
				settings->command,
				"'%s' is not a pid; 'gpreempt ps' lists the processes that use a "
				"GPU",
				value);
		break;
	case OPTION_GROUP:
		filter->group = value;
		break;
	case OPTION_USER:
		filter->user = value;
		break;
	case OPTION_CGROUP:
		filter->cgroup = value;
		break;
	default:
		return gp_option_duration(settings->command, "since", value, GP_NS_PER_MS,
					  GP_SCHED_TIME_MAX / 2, &filter->since_ns);
	}
	return 0;
}

/* The value below which so many thousandths are: the upper end of its bucket, or the maximum. */
static u64 quantile(const struct gp_proto_daemon_histogram *histogram, u64 thousandths)
{
	u64 wanted = (histogram->count * thousandths + 999) / 1000, seen = 0;

	for (u32 i = 0; i < GP_DAEMON_BUCKETS; i++) {
		seen += histogram->bucket[i];
		if (seen >= wanted) {
			u64 end = 2ull << i;

			return end < histogram->max_ns ? end : histogram->max_ns;
		}
	}
	return histogram->max_ns;
}

static void row(struct gp_doc *doc, const char *name,
		const struct gp_proto_daemon_histogram *histogram)
{
	bool any = histogram->count;

	gp_doc_cell(doc, gp_v_text(name));
	gp_doc_cell(doc, gp_v_count(histogram->count));
	gp_doc_cell(doc, gp_v_if(any, gp_v_ns(any ? histogram->sum_ns / histogram->count : 0)));
	gp_doc_cell(doc, gp_v_if(any, gp_v_ns(quantile(histogram, 500))));
	gp_doc_cell(doc, gp_v_if(any, gp_v_ns(quantile(histogram, 990))));
	gp_doc_cell(doc, gp_v_if(any, gp_v_ns(histogram->max_ns)));
}

static void add_times(struct gp_doc *doc, const struct gp_proto_msg_stats *stats)
{
	static const char *const titles[] = {N_("INTERVAL"), N_("COUNT"),  N_("MEAN"),
					     N_("P50 <="),   N_("P99 <="), N_("MAX")};

	gp_doc_table(doc, NULL, NULL);
	for (size_t i = 0; i < GP_ARRAY_SIZE(titles); i++) {
		gp_doc_column(doc, NULL, titles[i]);
		if (i)
			gp_doc_right(doc);
	}
	row(doc, _("online: work arrival to drain"), &stats->burst[1]);
	row(doc, _("normal: work arrival to drain"), &stats->burst[0]);
	row(doc, _("offline: work arrival to drain"), &stats->burst[2]);
	row(doc, _("work arrival to preemption"), &stats->waited);
	if (!stats->mode || stats->would_waited.count)
		row(doc, _("the same, in mode observe"), &stats->would_waited);
	row(doc, _("suspend, time in the driver"), &stats->suspend);
	row(doc, _("resume, time in the driver"), &stats->resume);
}

/* An upper bound: how the two would have shared the GPU is not known. */
static void add_estimate(struct gp_doc *doc, const struct gp_proto_msg_stats *stats)
{
	u64 saved = stats->beside_ns > stats->would_cost_ns
			    ? stats->beside_ns - stats->would_cost_ns
			    : 0;

	gp_doc_line(doc,
		    ngettext("No action was taken (mode = observe). With mode = act there would "
			     "have been %llu preemption (estimated cost %s).",
			     "No action was taken (mode = observe). With mode = act there would "
			     "have been %llu preemptions (estimated cost %s).",
			     (unsigned long)stats->would_preemptions),
		    (unsigned long long)stats->would_preemptions,
		    gp_duration_text(stats->would_cost_ns).text);
	gp_doc_line(doc,
		    "For %s, jobs shared the GPU with work that mode = act would have suspended; "
		    "suspending it would have saved up to %s.",
		    gp_duration_text(stats->beside_ns).text, gp_duration_text(saved).text);
}

static void add_counts(struct gp_doc *doc, const struct gp_proto_msg_stats *stats)
{
	char jobs[48], processes[48], queues[48];

	snprintf(jobs, sizeof(jobs), ngettext("%u job", "%u jobs", stats->jobs), stats->jobs);
	snprintf(processes, sizeof(processes),
		 ngettext("%u process", "%u processes", stats->processes), stats->processes);
	snprintf(queues, sizeof(queues), ngettext("%u queue", "%u queues", stats->queues),
		 stats->queues);
	if (stats->mode)
		gp_doc_line(doc, "gpreemptd, up %s: %s, %s, %s; jobs held: %u; events: %llu",
			    gp_duration_text(stats->now_ns - stats->started_ns).text, jobs,
			    processes, queues, stats->held, (unsigned long long)stats->events);
	else
		gp_doc_line(
			doc,
			"gpreemptd, up %s: %s, %s, %s; jobs that would be held: %u; events: %llu",
			gp_duration_text(stats->now_ns - stats->started_ns).text, jobs, processes,
			queues, stats->held, (unsigned long long)stats->events);
	gp_doc_line(doc, "preemptions: %llu; total time held: offline %s, normal %s, online %s",
		    (unsigned long long)stats->preemptions,
		    gp_duration_text(stats->suspended_ns[2]).text,
		    gp_duration_text(stats->suspended_ns[0]).text,
		    gp_duration_text(stats->suspended_ns[1]).text);
	gp_doc_line(doc, "operations: %llu, failed: %llu; lease renewals: %llu, leases lost: %llu",
		    (unsigned long long)stats->operations, (unsigned long long)stats->failures,
		    (unsigned long long)stats->renewals, (unsigned long long)stats->leases_lost);
	if (stats->refused_clients || stats->dropped_messages)
		gp_doc_line(doc,
			    "due to per-user limits: clients refused: %llu, messages delayed: %llu",
			    (unsigned long long)stats->refused_clients,
			    (unsigned long long)stats->dropped_messages);
}

static void add_reasons(struct gp_doc *doc, const struct gp_proto_msg_stats *stats)
{
	gp_doc_table(doc, NULL, NULL);
	gp_doc_if_empty(doc, NULL);
	gp_doc_column(doc, NULL, "REASON");
	gp_doc_column(doc, NULL, "COUNT");
	for (u32 i = 0; i < stats->why_count && i < GP_SCHED_WHY_ROUTINE; i++) {
		if (!stats->why[i])
			continue;
		gp_doc_cell(doc, gp_v_text(gp_sched_why_name(i)));
		gp_doc_cell(doc, gp_v_count(stats->why[i]));
	}
}

/* ---- JSON only ---- */

static void add_histogram(struct gp_doc *doc, const char *key,
			  const struct gp_proto_daemon_histogram *histogram)
{
	gp_doc_open(doc, key, NULL);
	gp_doc_fact(doc, "count", NULL, gp_v_count(histogram->count));
	gp_doc_fact(doc, "sum_ns", NULL, gp_v_ns(histogram->sum_ns));
	gp_doc_fact(doc, "max_ns", NULL, gp_v_ns(histogram->max_ns));
	gp_doc_open_list(doc, "log2_buckets", NULL);
	for (u32 i = 0; i < GP_DAEMON_BUCKETS; i++)
		gp_doc_fact(doc, "", NULL, gp_v_count(histogram->bucket[i]));
	gp_doc_close(doc);
	gp_doc_close(doc);
}

static void add_facts(struct gp_doc *doc, const struct gp_proto_msg_stats *stats)
{
	const struct {
		const char *key;
		u64 value;
	} counts[] = {
		{"up_ns", stats->now_ns - stats->started_ns},
		{"events", stats->events},
		{"jobs", stats->jobs},
		{"processes", stats->processes},
		{"queues", stats->queues},
		{"held", stats->held},
		{"preemptions", stats->preemptions},
		{"operations", stats->operations},
		{"failures", stats->failures},
		{"renewals", stats->renewals},
		{"leases_lost", stats->leases_lost},
		{"would_preemptions", stats->would_preemptions},
		{"would_cost_ns", stats->would_cost_ns},
		{"beside_ns", stats->beside_ns},
		{"refused_clients", stats->refused_clients},
		{"slowed_down", stats->dropped_messages},
	};

	gp_doc_fact(doc, "mode", NULL, gp_v_text(stats->mode ? "act" : "observe"));
	for (size_t i = 0; i < GP_ARRAY_SIZE(counts); i++)
		gp_doc_fact(doc, counts[i].key, NULL, gp_v_count(counts[i].value));
	gp_doc_open(doc, "classes", NULL);
	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++) {
		gp_doc_open(doc, gp_cli_class_name(i), NULL);
		gp_doc_fact(doc, "suspended_ns", NULL, gp_v_ns(stats->suspended_ns[i]));
		add_histogram(doc, "burst", &stats->burst[i]);
		gp_doc_close(doc);
	}
	gp_doc_close(doc);
	add_histogram(doc, "waited", &stats->waited);
	add_histogram(doc, "would_waited", &stats->would_waited);
	add_histogram(doc, "suspend", &stats->suspend);
	add_histogram(doc, "resume", &stats->resume);
	gp_doc_open(doc, "reasons", NULL);
	for (u32 i = 0; i < stats->why_count && i < GP_SCHED_WHYS; i++)
		gp_doc_fact(doc, gp_sched_why_name(i), NULL, gp_v_count(stats->why[i]));
	gp_doc_close(doc);
}

static struct gp_doc *totals(const struct gp_proto_msg_stats *stats)
{
	struct gp_doc *doc = gp_doc_new_answer();

	add_facts(doc, stats);
	add_counts(doc, stats);
	if (!stats->mode)
		add_estimate(doc, stats);
	add_times(doc, stats);
	add_reasons(doc, stats);
	return doc;
}

static int make(void *ctx, struct gp_doc **doc)
{
	struct settings *settings = ctx;
	struct gp_cli_daemon_client *client = &settings->client;
	struct gp_proto_msg_stats stats;
	struct gp_diag *diag = &settings->sink.diag;
	int error = gp_cli_daemon_open(client, diag);

	if (error)
		return error;
	if (gp_cli_stats_filter_set(&settings->filter)) {
		error = gp_cli_stats_jobs(client, diag, &settings->filter, doc);
	} else {
		error = gp_cli_daemon_ask(client, diag, GP_MSG_DAEMON_STATS, NULL, 0, sizeof(stats),
					  0);
		if (error >= 0) {
			memcpy(&stats, client->message.body, sizeof(stats));
			*doc = totals(&stats);
		}
	}
	gp_cli_daemon_close(client);
	return error < 0 ? error : 0;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct settings settings = {.command = command, .client = {.socket = -1}};
	int first, status = gp_command_parse(command, argc, argv, set, &settings, &first);

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (first < argc)
		return gp_usage_error(command, "unexpected argument '%s'", argv[first]);
	if (gp_cli_view_check(&settings.view, command))
		return GP_EXIT_USAGE;
	gp_command_diag_init(&settings.sink, command);
	settings.view.passes = gp_cli_daemon_is_away;
	return gp_cli_view_run(&settings.view, &settings.sink, make, &settings) ? GP_EXIT_FAILED
										: GP_EXIT_OK;
}

static const struct gp_option options[] = {
	{OPTION_JOBS, "jobs", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("list the totals and latencies of individual jobs: the\n"
	    "current ones and the last 1,000 that ended")},
	{OPTION_PID, "pid", GP_REQUIRED_ARGUMENT, "PID", GP_COMPLETE_PID,
	 N_("list the jobs to which process PID belongs or belonged")},
	{OPTION_GROUP, "group", GP_REQUIRED_ARGUMENT, "PATTERN", GP_COMPLETE_NONE,
	 N_("list the jobs of a group (shell pattern)")},
	{OPTION_USER, "user", GP_REQUIRED_ARGUMENT, "USER", GP_COMPLETE_NONE,
	 N_("list the jobs of a user (name or number)")},
	{OPTION_CGROUP, "cgroup", GP_REQUIRED_ARGUMENT, "PATTERN", GP_COMPLETE_NONE,
	 N_("list the jobs of a control group (shell pattern)")},
	{OPTION_SINCE, "since", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("list current jobs and those that ended within the last TIME")},
	GP_VIEW_OPTIONS(N_("print JSON (schema: docs/reference/json.md)")),
	{0},
};

const struct gp_command gp_cli_stats = {
	.name = "stats",
	.arguments = "",
	.completion = GP_COMPLETE_NONE,
	.summary = N_("Show totals of what gpreemptd did or, in observe mode, would have done"),
	.description = N_(
		"Prints preemptions, time held, operations and their duration, latencies "
		"by class, and\n"
		"how often each reason applied since gpreemptd started. With mode = "
		"observe, estimates\n"
		"how much time mode = act would have saved.\n"
		"\n"
		"With --jobs, --pid, --group, --user, --cgroup or --since, lists "
		"individual jobs instead:\n"
		"time run and held, suspensions, and latency percentiles. LATENCY OF requests is "
		"what users\n"
		"of the program wait for; only programs that announce requests have it. "
		"LATENCY OF bursts is\n"
		"the time in which a program had work without a break, with any number of "
		"requests in it.\n"
		"What is under way counts with its time so far once that is longer than usual. "
		"BACKLOG is\n"
		"the number of packets that have not been started."),
	.options = options,
	.examples = "  gpreempt stats\n"
		    "  gpreempt stats --group training --since 1h\n"
		    "  gpreempt stats --json | jq .preemptions\n"
		    "  gpreempt stats --jobs --format csv > jobs.csv\n",
	.run = run,
};
