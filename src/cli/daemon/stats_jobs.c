// SPDX-License-Identifier: MIT
/* Totals of single jobs, current and ended: see stats_jobs.h. */
#include "cli/daemon/stats_jobs.h"

#include <errno.h>
#include <fnmatch.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/watch/top_view.h"
#include "show/doc.h"

struct list {
	struct gp_proto_msg_account *items;
	size_t count, capacity;
};

bool gp_cli_stats_filter_set(const struct gp_cli_stats_filter *filter)
{
	return filter->jobs || filter->pid || filter->group || filter->cgroup || filter->user ||
	       filter->since_ns;
}

static bool is_user(const struct gp_proto_msg_account *account, const char *user)
{
	u64 number;

	return strcmp(account->user, user) == 0 ||
	       (gp_argument_u64(user, &number) && number == account->job.uid);
}

static bool matches(const struct gp_proto_msg_account *account,
		    const struct gp_cli_stats_filter *filter)
{
	u64 now = gp_monotonic_ns(), ended = account->job.ended_ns;

	if (filter->group && fnmatch(filter->group, account->job.group, 0) != 0)
		return false;
	if (filter->cgroup && fnmatch(filter->cgroup, account->cgroup, 0) != 0)
		return false;
	if (filter->user && !is_user(account, filter->user))
		return false;
	return !filter->since_ns || ended == GP_DAEMON_NEVER ||
	       now - GP_MIN(ended, now) <= filter->since_ns;
}

/* Text that another program wrote is cut at its room and cannot drive the terminal. */
static void clean(struct gp_proto_msg_account *account)
{
	account->job.name[sizeof(account->job.name) - 1] = 0;
	account->job.group[sizeof(account->job.group) - 1] = 0;
	account->user[sizeof(account->user) - 1] = 0;
	account->cgroup[sizeof(account->cgroup) - 1] = 0;
	gp_text_make_safe(account->job.name);
	gp_text_make_safe(account->job.group);
	gp_text_make_safe(account->cgroup);
}

/* A job may end between two answers, and then comes twice. */
static bool has(const struct list *list, u64 id)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].job.id == id)
			return true;
	}
	return false;
}

static int read_all(struct gp_cli_daemon_client *client, struct gp_diag *diag,
		    const struct gp_cli_stats_filter *filter, struct list *out)
{
	for (u64 seen = 0;;) {
		struct gp_proto_msg_daemon_ask ask = {.first = seen, .pid = filter->pid};
		const struct gp_proto_msg_accounts *answer;
		int total =
			gp_cli_daemon_ask(client, diag, GP_MSG_DAEMON_ACCOUNTS, &ask, sizeof(ask),
					  sizeof(*answer), sizeof(answer->accounts[0]));

		if (total < 0)
			return total;
		answer = (const struct gp_proto_msg_accounts *)client->message.body;
		for (u32 i = 0; i < answer->count; i++) {
			struct gp_proto_msg_account account = answer->accounts[i];

			clean(&account);
			if (!matches(&account, filter) || has(out, account.job.id))
				continue;
			if (gp_array_grow((void **)&out->items, out->count, &out->capacity,
					  sizeof(account)))
				return gp_fail(diag, -ENOMEM, "out of memory");
			out->items[out->count++] = account;
		}
		seen += answer->count;
		if (!answer->count || seen >= (u64)total)
			return 0;
	}
}

/* What happened, and what mode act would have done while gpreemptd only observed: a daemon may have
 * been in both modes. */
struct sides {
	bool did, would;
};

static struct sides sides_of(const struct list *list, bool observed)
{
	struct sides sides = {.did = !observed, .would = observed};

	for (size_t i = 0; i < list->count; i++) {
		sides.did |= list->items[i].job.held_ns || list->items[i].job.suspends;
		sides.would |=
			list->items[i].job.would_held_ns || list->items[i].job.would_suspends;
	}
	return sides;
}

static void add_columns(struct gp_doc *doc, struct sides shown)
{
	const struct {
		const char *key, *title;
		bool right;
	} columns[] = {
		{"pid", "PID", true},
		{"user", "USER", false},
		{"class", "CLASS", false},
		{"state", "STATE", false},
		{"ran_ns", "RAN", true},
		{"switches", NULL, true},
		{"switched_out", NULL, true},
		{"lost_ns", NULL, true},
		{"held_ns", shown.did ? N_("HELD") : NULL, true},
		{"suspends", shown.did ? "SUSPENDS" : NULL, true},
		{"longest_hold_ns", NULL, true},
		{"would_held_ns", shown.would ? N_("WOULD BE HELD") : NULL, true},
		{"would_suspends", shown.would ? N_("WOULD SUSPEND") : NULL, true},
		{"would_longest_hold_ns", NULL, true},
		{"waited_ns", "WAITED", true},
		{"latency_p50_ns", N_("LATENCY P50"), true},
		{"latency_p99_ns", N_("LATENCY P99"), true},
		{"latency_of", N_("LATENCY OF"), false},
		{"backlog", "BACKLOG", true},
		{"group", "GROUP", false},
		{"name", "NAME", false},
		{"latency_count", NULL, true},
		{"preempted", NULL, true},
		{"would_preempted", NULL, true},
		{"would_waited_ns", NULL, true},
		{"failures", NULL, true},
		{"started_ns", NULL, true},
		{"ended_ns", NULL, true},
		{"cgroup", NULL, false},
	};

	for (size_t i = 0; i < GP_ARRAY_SIZE(columns); i++) {
		gp_doc_column(doc, columns[i].key, columns[i].title);
		if (columns[i].right)
			gp_doc_right(doc);
	}
}

/* Only a program that announces its requests shows how long its users wait. */
static struct gp_show_value latency_of(const struct gp_proto_msg_job *job)
{
	return job->latency_of ? gp_v_as(gp_v_text("requests"), _("requests"))
			       : gp_v_as(gp_v_text("bursts"), _("bursts"));
}

static void add_row(struct gp_doc *doc, const struct gp_proto_msg_account *account)
{
	const struct gp_proto_msg_job *job = &account->job;
	bool ended = job->ended_ns != GP_DAEMON_NEVER, timed = job->latency_count;

	gp_doc_cell(doc, gp_v_count(job->pid));
	gp_doc_cell(doc, gp_v_text_or_missing(account->user));
	gp_doc_cell(doc, gp_v_text(gp_cli_class_name(job->job_class)));
	gp_doc_cell(doc, gp_v_as(gp_v_text(ended ? "ended" : "current"),
				 ended ? _("ended") : _("current")));
	gp_doc_cell(doc, gp_v_if(gp_cli_top_sees_work(job->gpu_id) || job->activity,
				 gp_v_ns(gp_cli_top_ran_ns(job))));
	gp_doc_cell(doc, gp_v_if(job->activity, gp_v_count(job->switches)));
	gp_doc_cell(doc, gp_v_if(job->activity, gp_v_count(job->switched_out)));
	gp_doc_cell(doc, gp_v_if(job->activity, gp_v_ns(job->lost_ns)));
	gp_doc_cell(doc, gp_v_ns(job->held_ns));
	gp_doc_cell(doc, gp_v_count(job->suspends));
	gp_doc_cell(doc, gp_v_ns(job->longest_ns));
	gp_doc_cell(doc, gp_v_ns(job->would_held_ns));
	gp_doc_cell(doc, gp_v_count(job->would_suspends));
	gp_doc_cell(doc, gp_v_ns(job->would_longest_ns));
	gp_doc_cell(doc, gp_v_ns(job->waited_ns));
	gp_doc_cell(doc, gp_v_if(timed, gp_v_ns(job->latency_p50_ns)));
	gp_doc_cell(doc, gp_v_if(timed, gp_v_ns(job->latency_p99_ns)));
	gp_doc_cell(doc, gp_v_if(timed, latency_of(job)));
	gp_doc_cell(doc,
		    gp_v_if(!ended && job->backlog != GP_DAEMON_UNKNOWN, gp_v_count(job->backlog)));
	gp_doc_cell(doc, gp_v_text_or_missing(job->group));
	gp_doc_cell(doc, gp_v_text(job->name));
	gp_doc_cell(doc, gp_v_count(job->latency_count));
	gp_doc_cell(doc, gp_v_count(job->preempted));
	gp_doc_cell(doc, gp_v_count(job->would_preempted));
	gp_doc_cell(doc, gp_v_ns(job->would_waited_ns));
	gp_doc_cell(doc, gp_v_count(job->failures));
	gp_doc_cell(doc, gp_v_ns(job->started_ns));
	gp_doc_cell(doc, gp_v_if(ended, gp_v_ns(job->ended_ns)));
	gp_doc_cell(doc, gp_v_text_or_missing(account->cgroup));
}

static void add_total(struct gp_doc *doc, const struct list *list, struct sides shown)
{
	bool sees = !list->count;
	u64 ran = 0, held = 0, suspends = 0, longest = 0, would_held = 0, would_suspends = 0;

	for (size_t i = 0; i < list->count; i++) {
		sees |= gp_cli_top_sees_work(list->items[i].job.gpu_id) ||
			list->items[i].job.activity;
		ran += gp_cli_top_ran_ns(&list->items[i].job);
		held += list->items[i].job.held_ns;
		suspends += list->items[i].job.suspends;
		would_held += list->items[i].job.would_held_ns;
		would_suspends += list->items[i].job.would_suspends;
		longest = GP_MAX(longest, list->items[i].job.longest_ns);
	}
	gp_doc_fact(doc, "count", NULL, gp_v_count(list->count));
	gp_doc_fact(doc, "ran_ns", NULL, gp_v_ns(ran));
	gp_doc_fact(doc, "held_ns", NULL, gp_v_ns(held));
	gp_doc_fact(doc, "suspends", NULL, gp_v_count(suspends));
	gp_doc_fact(doc, "longest_hold_ns", NULL, gp_v_ns(longest));
	gp_doc_fact(doc, "would_held_ns", NULL, gp_v_ns(would_held));
	gp_doc_fact(doc, "would_suspends", NULL, gp_v_count(would_suspends));
	if (shown.did)
		gp_doc_line(doc, _("jobs: %zu; ran %s, held %s; suspensions: %llu"), list->count,
			    sees ? gp_duration_text(ran).text : "?", gp_duration_text(held).text,
			    (unsigned long long)suspends);
	else
		gp_doc_line(doc, _("jobs: %zu; ran %s"), list->count,
			    sees ? gp_duration_text(ran).text : "?");
	if (shown.would)
		gp_doc_line(doc,
			    _("in mode observe, mode act would have held them for %s "
			      "(suspensions: %llu)"),
			    gp_duration_text(would_held).text, (unsigned long long)would_suspends);
}

/* A name that was mistyped has no jobs either. */
static int check_user(const char *user, struct gp_diag *diag)
{
	u64 number;

	if (gp_argument_u64(user, &number) || getpwnam(user))
		return 0;
	return gp_fail(diag, -ESRCH,
		       "there is no user '%s' on this machine, and gpreemptd knows no job of one; "
		       "'gpreempt stats --jobs' lists the users of all jobs",
		       user);
}

int gp_cli_stats_jobs(struct gp_cli_daemon_client *client, struct gp_diag *diag,
		      const struct gp_cli_stats_filter *filter, struct gp_doc **out)
{
	struct gp_proto_msg_daemon_status status = {0};
	struct list list = {0};
	struct sides sides;
	struct gp_doc *doc;
	int error =
		gp_cli_daemon_ask(client, diag, GP_MSG_DAEMON_STATUS, NULL, 0, sizeof(status), 0);

	if (error >= 0) {
		memcpy(&status, client->message.body, sizeof(status));
		error = read_all(client, diag, filter, &list);
	}
	if (!error && !list.count && filter->user)
		error = check_user(filter->user, diag);
	if (error) {
		free(list.items);
		return error;
	}
	doc = gp_doc_new_answer();
	sides = sides_of(&list, !status.mode);
	add_total(doc, &list, sides);
	gp_doc_table(doc, "jobs", NULL);
	add_columns(doc, sides);
	for (size_t i = 0; i < list.count; i++)
		add_row(doc, &list.items[i]);
	*out = doc;
	free(list.items);
	return 0;
}
