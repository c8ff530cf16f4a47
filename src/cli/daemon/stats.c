// SPDX-License-Identifier: MIT
/* gpreempt stats: what gpreemptd has done in all, or would have done. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "show/table.h"
#include "show/term.h"
#include "cli/daemon/daemon_client.h"
#include "show/reason.h"

enum { OPTION_JSON = 'j' };

static int set(void *ctx, int id, const char *value)
{
	(void)value;
	if (id == OPTION_JSON)
		*(bool *)ctx = true;
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

static void row(struct gp_table *table, const char *name,
		const struct gp_proto_daemon_histogram *histogram)
{
	gp_table_cell(table, name);
	gp_table_cellf(table, "%llu", (unsigned long long)histogram->count);
	if (!histogram->count) {
		for (int i = 0; i < 4; i++)
			gp_table_missing(table);
		return;
	}
	gp_table_cell(table, gp_duration_text(histogram->sum_ns / histogram->count).text);
	gp_table_cell(table, gp_duration_text(quantile(histogram, 500)).text);
	gp_table_cell(table, gp_duration_text(quantile(histogram, 990)).text);
	gp_table_cell(table, gp_duration_text(histogram->max_ns).text);
}

static int print_times(const struct gp_proto_msg_stats *stats)
{
	struct gp_table *table = gp_table_new();
	int error;

	gp_table_column(table, _("TIME"), GP_LEFT);
	gp_table_column(table, _("COUNT"), GP_RIGHT);
	gp_table_column(table, _("MEAN"), GP_RIGHT);
	gp_table_column(table, _("P50 UP TO"), GP_RIGHT);
	gp_table_column(table, _("P99 UP TO"), GP_RIGHT);
	gp_table_column(table, _("MAX"), GP_RIGHT);
	row(table, _("online: work came until drained"), &stats->burst[1]);
	row(table, _("normal: work came until drained"), &stats->burst[0]);
	row(table, _("offline: work came until drained"), &stats->burst[2]);
	row(table, _("work came until others must yield"), &stats->waited);
	row(table, _("stop, in the driver"), &stats->suspend);
	row(table, _("continue, in the driver"), &stats->resume);
	error = gp_table_print(table, stdout, gp_term_colour(stdout));
	gp_table_free(table);
	return error;
}

/* What observing shows. It is an upper bound: nobody knows how the two would have shared. */
static void print_estimate(const struct gp_proto_msg_stats *stats)
{
	u64 saved = stats->beside_ns > stats->would_cost_ns
			    ? stats->beside_ns - stats->would_cost_ns
			    : 0;

	printf(_("Nothing was done (mode = observe). Acting would have preempted %llu times, at "
		 "an\n"
		 "estimated cost of %s. Work ran %s beside work that would have been held for\n"
		 "it: acting would have spared it at most %s of sharing the GPU.\n"),
	       (unsigned long long)stats->would_preemptions,
	       gp_duration_text(stats->would_cost_ns).text, gp_duration_text(stats->beside_ns).text,
	       gp_duration_text(saved).text);
}

static void print_counts(const struct gp_proto_msg_stats *stats)
{
	printf(stats->mode ? _("gpreemptd, for %s: %u jobs, %u processes, %u queues; %u held; "
			       "%llu events\n")
			   : _("gpreemptd, for %s: %u jobs, %u processes, %u queues; %u would be "
			       "held; %llu events\n"),
	       gp_duration_text(stats->now_ns - stats->started_ns).text, stats->jobs,
	       stats->processes, stats->queues, stats->held, (unsigned long long)stats->events);
	printf(_("%llu preemptions; held in all: offline %s, normal %s, online %s\n"),
	       (unsigned long long)stats->preemptions,
	       gp_duration_text(stats->suspended_ns[2]).text,
	       gp_duration_text(stats->suspended_ns[0]).text,
	       gp_duration_text(stats->suspended_ns[1]).text);
	printf(_("%llu operations, %llu failed; %llu renewals, %llu leases lost\n"),
	       (unsigned long long)stats->operations, (unsigned long long)stats->failures,
	       (unsigned long long)stats->renewals, (unsigned long long)stats->leases_lost);
	if (stats->refused_clients || stats->dropped_messages)
		printf(_("over their user's limits: %llu clients left out, %llu times slowed "
			 "down\n"),
		       (unsigned long long)stats->refused_clients,
		       (unsigned long long)stats->dropped_messages);
}

static int print(const struct gp_proto_msg_stats *stats)
{
	struct gp_table *table = gp_table_new();
	int error;

	print_counts(stats);
	if (!stats->mode)
		print_estimate(stats);
	putchar('\n');
	error = print_times(stats);
	gp_table_column(table, _("REASON"), GP_LEFT);
	gp_table_column(table, _("TIMES"), GP_RIGHT);
	for (u32 i = 0; i < stats->why_count && i < GP_SCHED_WHY_ROUTINE; i++) {
		if (!stats->why[i])
			continue;
		gp_table_cell(table, gp_sched_why_name(i));
		gp_table_cellf(table, "%llu", (unsigned long long)stats->why[i]);
	}
	if (!error && gp_table_rows(table)) {
		putchar('\n');
		error = gp_table_print(table, stdout, gp_term_colour(stdout));
	}
	gp_table_free(table);
	return error;
}

static json_t *histogram_json(const struct gp_proto_daemon_histogram *histogram)
{
	json_t *json =
		json_pack("{sI sI sI}", "count", (json_int_t)histogram->count, "sum_ns",
			  (json_int_t)histogram->sum_ns, "max_ns", (json_int_t)histogram->max_ns);
	json_t *buckets = json_array();

	for (u32 i = 0; i < GP_DAEMON_BUCKETS; i++)
		json_array_append_new(buckets, json_integer((json_int_t)histogram->bucket[i]));
	json_object_set_new(json, "log2_buckets", buckets);
	return json;
}

static json_t *by_class(const struct gp_proto_msg_stats *stats)
{
	json_t *json = json_object();

	for (u32 i = 0; i < GP_DAEMON_CLASSES; i++)
		json_object_set_new(json, gp_cli_class_name(i),
				    json_pack("{sI so}", "suspended_ns",
					      (json_int_t)stats->suspended_ns[i], "burst",
					      histogram_json(&stats->burst[i])));
	return json;
}

static int print_json(const struct gp_proto_msg_stats *stats)
{
	const struct {
		const char *name;
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
	json_t *json = json_object(), *why = json_object();
	int error;

	json_object_set_new(json, "mode", json_string(stats->mode ? "act" : "observe"));
	for (size_t i = 0; i < GP_ARRAY_SIZE(counts); i++)
		json_object_set_new(json, counts[i].name,
				    json_integer((json_int_t)counts[i].value));
	json_object_set_new(json, "classes", by_class(stats));
	json_object_set_new(json, "waited", histogram_json(&stats->waited));
	json_object_set_new(json, "suspend", histogram_json(&stats->suspend));
	json_object_set_new(json, "resume", histogram_json(&stats->resume));
	for (u32 i = 0; i < stats->why_count && i < GP_SCHED_WHYS; i++)
		json_object_set_new(why, gp_sched_why_name(i),
				    json_integer((json_int_t)stats->why[i]));
	json_object_set_new(json, "reasons", why);
	error = gp_json_print(stdout, json, false);
	json_decref(json);
	return error;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct gp_cli_daemon_client client;
	struct gp_proto_msg_stats stats;
	struct gp_command_diag sink;
	bool json = false;
	int first, error, status = gp_command_parse(command, argc, argv, set, &json, &first);

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (first < argc)
		return gp_usage_error(command, "there is nothing to do with '%s'", argv[first]);
	gp_command_diag_init(&sink, command);
	if (gp_cli_daemon_open(&client, &sink.diag))
		return GP_EXIT_FAILED;
	error = gp_cli_daemon_ask(&client, &sink.diag, GP_MSG_DAEMON_STATS, NULL, 0, sizeof(stats),
				  0);
	if (error >= 0) {
		memcpy(&stats, client.message.body, sizeof(stats));
		error = json ? print_json(&stats) : print(&stats);
	}
	gp_cli_daemon_close(&client);
	return error < 0 ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static const struct gp_option options[] = {
	{OPTION_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print JSON (schema: docs/reference/json.md)")},
	{0},
};

const struct gp_command gp_cli_stats = {
	.name = "stats",
	.arguments = "",
	.completion = GP_COMPLETE_NONE,
	.summary = N_("Show what gpreemptd has done in all, or would have done"),
	.description = N_(
		"Preemptions, time held, operations and what they took, latencies by class, and "
		"how\noften each reason counted, since gpreemptd started. With mode = observe it "
		"estimates\nwhat acting would have gained."),
	.options = options,
	.examples = "  gpreempt stats\n"
		    "  gpreempt stats --json | jq .preemptions\n",
	.run = run,
};
