// SPDX-License-Identifier: MIT
/* Lines of the daemon's record, for people and for programs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "base/utf8.h"
#include "cli/daemon/daemon_client.h"
#include "cli/watch/row.h"
#include "proto/diary.h"
#include "show/reason.h"

const char *gp_cli_class_name(u32 job_class)
{
	static const char *const names[] = GP_CLASS_NAMES;

	return job_class < GP_ARRAY_SIZE(names) ? names[job_class] : NULL;
}

void gp_cli_decision_who(const char *name, u32 pid, char *out, size_t size)
{
	char text[GP_PROTO_NAME];

	gp_wire_text(text, sizeof(text), name, GP_PROTO_NAME);
	/* A program's name must not be able to drive the terminal. */
	gp_text_make_safe(text);
	if (pid)
		snprintf(out, size, _("%s (pid %u)"), text, pid);
	else
		snprintf(out, size, "%s", *text ? text : "?");
}

bool gp_cli_decision_is_routine(const struct gp_proto_msg_decision *line)
{
	/* Turns of batch jobs, several per second, are what is to be expected. */
	if (line->policy == GP_SCHED_PRIORITY && line->kind <= GP_DECISION_RESUME &&
	    (line->why == GP_SCHED_WHY_TURN || line->why == GP_SCHED_WHY_TURN_OVER))
		return true;
	if (line->kind == GP_DECISION_DONE && line->why == GP_DECISION_SHARE)
		return false;
	return line->kind >= GP_DECISION_DONE && line->kind < GP_DECISION_STAND_DOWN &&
	       !(line->kind == GP_DECISION_DONE && line->error);
}

/* Where nobody sees work it counts as being without end, which is no estimate to be shown. */
static u64 saves_of(const struct gp_proto_msg_decision *line)
{
	return line->saves_ns > GP_SCHED_SPAN_MAX / 2 ? GP_SCHED_UNKNOWN : line->saves_ns;
}

static void reason_of(const struct gp_proto_msg_decision *line, struct gp_sched_reason *out)
{
	*out = (struct gp_sched_reason){
		.id = line->reason,
		.cause = line->cause,
		.at_ns = line->at_ns,
		.why = line->why,
		.policy = line->policy,
		.shield = line->shield,
		.job_priority = line->job_priority,
		.other_priority = line->other_priority,
		.job_rank = line->job_rank,
		.other_rank = line->other_rank,
		.waited_ns = line->waited_ns,
		.ran_ns = line->ran_ns,
		.cost_ns = line->cost_ns,
		.saves_ns = saves_of(line),
		.limit_ns = line->limit_ns,
		.used_ppm = line->used_ppm,
		.needs_ppm = line->needs_ppm,
		.limit_ppm = line->limit_ppm,
		.error = line->error,
	};
}

static void done_text(const struct gp_proto_msg_decision *line, const char *job, char *out,
		      size_t size)
{
	bool suspend = line->why == GP_DECISION_SUSPEND;

	if (line->why == GP_DECISION_SHARE && line->error)
		snprintf(out, size, _("cannot set the time slice of %s, retrying: %s"), job,
			 strerror(-line->error));
	else if (line->why == GP_DECISION_SHARE)
		snprintf(out, size, _("the driver reports a time slice of %s for %s"),
			 gp_duration_text(line->slice_us * 1000ull).text, job);
	else if (line->error)
		snprintf(out, size,
			 suspend ? _("suspending %s failed after %s: %s")
				 : _("resuming %s failed after %s: %s"),
			 job, gp_duration_text(line->waited_ns).text, strerror(-line->error));
	else
		snprintf(out, size,
			 suspend ? _("suspending %s took %s (%s in the driver)")
				 : _("resuming %s took %s (%s in the driver)"),
			 job, gp_duration_text(line->waited_ns).text,
			 gp_duration_text(line->cost_ns).text);
}

static void stand_text(const struct gp_proto_msg_decision *line, char *out, size_t size)
{
	struct gp_units_text pause = gp_duration_text(line->limit_ns);

	if (line->kind == GP_DECISION_ACT_AGAIN)
		snprintf(out, size, _("GPU 0x%x: gpreemptd starts preempting again"), line->gpu_id);
	else if (line->why == GP_STAND_FAILURES)
		snprintf(out, size,
			 _("GPU 0x%x: gpreemptd stops preempting for %s because several operations "
			   "failed in a row"),
			 line->gpu_id, pause.text);
	else
		snprintf(
			out, size,
			_("GPU 0x%x: gpreemptd stops preempting for %s because preemptions cost %s "
			  "and saved only %s"),
			line->gpu_id, pause.text, gp_duration_text(line->cost_ns).text,
			gp_duration_text(line->saves_ns).text);
}

const char *gp_cli_away_name(u32 away)
{
	static const char *const names[] = {NULL,   "stopped", "traced", "frozen",
					    "hand", "owner",   "swapped"};

	return away < GP_ARRAY_SIZE(names) ? names[away] : NULL;
}

const char *gp_cli_kept_name(u32 kept)
{
	static const char *const names[] = {NULL, "held", "requested", "failed"};

	return kept < GP_ARRAY_SIZE(names) ? names[kept] : NULL;
}

static bool swapped_text(const struct gp_proto_msg_decision *line, const char *job, char *out,
			 size_t size)
{
	struct gp_units_text waited = gp_duration_text(line->waited_ns);

	switch (line->why) {
	case GP_SCHED_WHY_ABSENT:
		snprintf(out, size,
			 _("the GPU memory of %s is moved to host memory; gpreemptd does not "
			   "schedule it until it is back"),
			 job);
		return true;
	case GP_SCHED_WHY_WITHDRAWN:
		snprintf(out, size,
			 _("%s is released after %s: its GPU memory is moved to host memory"), job,
			 waited.text);
		return true;
	case GP_SCHED_WHY_PRESENT:
		snprintf(out, size, _("%s is scheduled again after being swapped out for %s"), job,
			 waited.text);
		return true;
	default:
		return false;
	}
}

/* What the core calls absent, in the words of its cause. False: it is not about that. */
static bool away_text(const struct gp_proto_msg_decision *line, const char *job, char *out,
		      size_t size)
{
	if (line->away == GP_AWAY_SWAPPED && swapped_text(line, job, out, size))
		return true;
	if (line->kind != GP_DECISION_NOTE || line->why != GP_SCHED_WHY_ABSENT)
		return false;
	switch (line->away) {
	case GP_AWAY_TRACED:
		snprintf(out, size,
			 _("%s is stopped by a debugger; gpreemptd does not schedule it until it "
			   "continues"),
			 job);
		return true;
	case GP_AWAY_FROZEN:
		snprintf(out, size,
			 _("%s is stopped because its control group is frozen; gpreemptd does not "
			   "schedule it until it continues"),
			 job);
		return true;
	case GP_AWAY_OWNER:
		snprintf(out, size,
			 _("%s is held by %s; gpreemptd does not schedule it until that ends"), job,
			 line->other_name);
		return true;
	case GP_AWAY_HAND:
		if (line->away_by)
			snprintf(out, size,
				 _("%s is suspended by process %u; gpreemptd does not schedule it "
				   "until it is resumed"),
				 job, line->away_by);
		else
			snprintf(out, size,
				 _("%s is suspended by hand; gpreemptd does not schedule it until "
				   "it is resumed"),
				 job);
		return true;
	default:
		return false;
	}
}

/* GPU work that follows the host's stop, or a hold by name. */
static void kept_text(const struct gp_proto_msg_decision *line, const char *job, char *out,
		      size_t size)
{
	struct gp_units_text waited = gp_duration_text(line->waited_ns);

	if (line->kind == GP_DECISION_LET_GO)
		snprintf(out, size, _("%s: its GPU work resumes after %s"), job, waited.text);
	else if (line->error)
		snprintf(out, size, _("%s: its GPU work cannot be suspended: %s"), job,
			 strerror(-line->error));
	else if (line->away == GP_AWAY_OWNER)
		snprintf(out, size, _("%s: its GPU work is suspended for %s (after %s)"), job,
			 line->other_name, waited.text);
	else
		snprintf(out, size,
			 _("%s: its GPU work is suspended as well, because the process is stopped "
			   "(after %s)"),
			 job, waited.text);
}

static void set_text(const struct gp_proto_msg_decision *line, const char *job, const char *user,
		     char *out, size_t size)
{
	if (line->why == GP_DAEMON_SET_PRIORITY)
		snprintf(out, size, _("%s: priority set to %u by user %s (renice)"), job,
			 line->job_priority, user);
	else if (line->why == GP_DAEMON_SET_CLASS)
		snprintf(out, size, _("%s: class set to %s by user %s"), job,
			 gp_cli_class_name(line->job_class), user);
	else
		snprintf(out, size, _("%s: weight set to %u by user %s"), job, line->share, user);
}

void gp_cli_decision_text(const struct gp_proto_msg_decision *line, char *out, size_t size)
{
	char job[128], other[128];
	struct gp_sched_reason reason;

	gp_cli_decision_who(line->job_name, line->job_pid, job, sizeof(job));
	gp_cli_decision_who(line->other_name, line->other_pid, other, sizeof(other));
	switch (line->kind) {
	case GP_DECISION_DONE:
		done_text(line, job, out, size);
		break;
	case GP_DECISION_CAME:
		snprintf(out, size, _("new job: %s, class %s, priority %u"), job,
			 gp_cli_class_name(line->job_class), line->job_priority);
		break;
	case GP_DECISION_STAND_DOWN:
	case GP_DECISION_ACT_AGAIN:
		stand_text(line, out, size);
		break;
	case GP_DECISION_KEPT:
	case GP_DECISION_LET_GO:
		kept_text(line, job, out, size);
		break;
	case GP_DECISION_SET:
		set_text(line, job, other, out, size);
		break;
	case GP_DECISION_WENT:
		snprintf(out, size, _("job ended: %s"), job);
		break;
	default:
		if (away_text(line, job, out, size))
			break;
		reason_of(line, &reason);
		gp_show_reason(&reason, job, other, out, size);
	}
}

/* "12:34:56.123456" */
static void decision_time(const struct gp_cli_daemon_client *client, u64 at_ns, char *out,
			  size_t size)
{
	s64 wall = (s64)at_ns + client->wall_ns;
	time_t seconds = (time_t)(wall / (s64)GP_NS_PER_S);
	struct tm local;
	char text[32];

	localtime_r(&seconds, &local);
	strftime(text, sizeof(text), "%H:%M:%S", &local);
	snprintf(out, size, "%s.%06lld", text, (long long)(wall % (s64)GP_NS_PER_S / 1000));
}

const char *gp_cli_decision_kind_name(u32 kind)
{
	return gp_proto_decision_kind_name(kind);
}

/* Where the members of a decision go: an object, or the head or a row of a table. */
struct place {
	struct gp_doc *doc;
	enum { FACTS, HEAD, ROW } is;
};

static void put(const struct place *place, const char *key, struct gp_show_value value)
{
	if (place->is == FACTS) {
		gp_doc_fact(place->doc, key, NULL, value);
	} else if (place->is == ROW) {
		gp_doc_cell(place->doc, value);
	} else {
		gp_doc_column(place->doc, key, NULL);
		json_decref(value.json);
	}
}

static void put_time(const struct place *place, const char *key, u64 ns)
{
	put(place, key, gp_v_if(ns != GP_DAEMON_UNKNOWN, gp_v_ns(ns)));
}

/* `value` if the line has it: 0 means that it has not. */
static void put_if(const struct place *place, const char *key, u64 has, u64 value)
{
	put(place, key, gp_v_if(has, gp_v_count(value)));
}

/* An object with three members; of a table, three columns. */
static void put_job(const struct place *place, const char *key, u64 id, u32 pid, const char *name)
{
	const char *const keys[] = {"id", "pid", "name"};
	struct gp_show_value values[] = {gp_v_if(id, gp_v_count(id)), gp_v_if(id, gp_v_count(pid)),
					 gp_v_if(id,
						 gp_v_textn(name, strnlen(name, GP_PROTO_NAME)))};

	if (place->is == FACTS && !id) {
		put(place, key, gp_v_missing());
		return;
	}
	if (place->is == FACTS)
		gp_doc_open(place->doc, key, NULL);
	for (size_t i = 0; i < GP_ARRAY_SIZE(keys); i++) {
		char column[32];

		snprintf(column, sizeof(column), "%s_%s", key, keys[i]);
		put(place, place->is == FACTS ? keys[i] : column, values[i]);
	}
	if (place->is == FACTS)
		gp_doc_close(place->doc);
}

static void put_decision(const struct place *place, const struct gp_cli_daemon_client *client,
			 const struct gp_proto_msg_decision *line)
{
	bool core = line->kind <= GP_DECISION_NOTE, done = line->kind == GP_DECISION_DONE;
	char text[512];

	gp_cli_decision_text(line, text, sizeof(text));
	put(place, "id", gp_v_count(line->id));
	put(place, "monotonic_ns", gp_v_ns(line->at_ns));
	put(place, "time_ns", gp_v_ns(line->at_ns + (u64)client->wall_ns));
	put(place, "kind", gp_v_text(gp_cli_decision_kind_name(line->kind)));
	put(place, "why", gp_v_text(core ? gp_sched_why_name(line->why) : NULL));
	put(place, "operation", gp_v_text(done ? gp_cli_decision_kind_name(line->why) : NULL));
	put(place, "policy", gp_v_text(core ? gp_sched_policy_name(line->policy) : NULL));
	put(place, "observed", gp_v_bool(line->observed));
	put_job(place, "job", line->job, line->job_pid, line->job_name);
	put_job(place, "other", line->other, line->other_pid, line->other_name);
	put_if(place, "gpu_id", line->gpu_id, line->gpu_id);
	put(place, "job_priority", gp_v_count(line->job_priority));
	put_if(place, "other_priority", line->other, line->other_priority);
	put_if(place, "reason", line->reason, line->reason);
	put_if(place, "cause", line->cause, line->cause);
	put_time(place, "waited_ns", line->waited_ns);
	put_time(place, "ran_ns", line->ran_ns);
	put_time(place, "cost_ns", line->cost_ns);
	put_time(place, "saves_ns", saves_of(line));
	put_time(place, "limit_ns", line->limit_ns);
	put_if(place, "slice_us", line->slice_us, line->slice_us);
	put(place, "error", gp_v_json(json_integer(line->error)));
	put(place, "away", gp_v_text(gp_cli_away_name(line->away)));
	put(place, "text", gp_v_text(text));
}

void gp_cli_decision_facts(struct gp_doc *doc, const struct gp_cli_daemon_client *client,
			   const struct gp_proto_msg_decision *line)
{
	put_decision(&(struct place){doc, FACTS}, client, line);
}

void gp_cli_decision_table(struct gp_doc *doc, const struct gp_cli_daemon_client *client)
{
	gp_doc_table(doc, "decisions", NULL);
	gp_doc_main(doc);
	put_decision(&(struct place){doc, HEAD}, client, &(struct gp_proto_msg_decision){0});
}

void gp_cli_decision_row(struct gp_doc *doc, const struct gp_cli_daemon_client *client,
			 const struct gp_proto_msg_decision *line)
{
	put_decision(&(struct place){doc, ROW}, client, line);
}

/* As the daemon counts it: gp_daemon_keep_account(). */
enum gp_cli_off gp_cli_decision_off(const struct gp_proto_msg_decision *line)
{
	bool note = line->kind == GP_DECISION_NOTE, kept = line->kind == GP_DECISION_KEPT;

	if ((kept && !line->error) ||
	    (note && line->why == GP_SCHED_WHY_ABSENT && line->away == GP_AWAY_HAND))
		return GP_CLI_OFF_BEGINS;
	if (kept || line->kind == GP_DECISION_LET_GO || line->kind == GP_DECISION_WENT ||
	    (note && line->why == GP_SCHED_WHY_PRESENT))
		return GP_CLI_OFF_ENDS;
	return GP_CLI_OFF_SAME;
}

bool gp_cli_decision_repeats(const struct gp_proto_msg_decision *line,
			     const struct gp_proto_msg_decision *before)
{
	return line->kind == before->kind && line->kind != GP_DECISION_SET &&
	       line->why == before->why && line->job == before->job &&
	       line->other == before->other && line->gpu_id == before->gpu_id &&
	       line->error == before->error && line->away == before->away &&
	       line->observed == before->observed && line->job_pid == before->job_pid;
}

void gp_cli_decision_line(struct gp_doc *doc, const struct gp_cli_daemon_client *client,
			  const struct gp_proto_msg_decision *line, const char *indent)
{
	gp_cli_decision_lines(doc, client, line, line, 1, indent);
}

void gp_cli_decision_lines(struct gp_doc *doc, const struct gp_cli_daemon_client *client,
			   const struct gp_proto_msg_decision *line,
			   const struct gp_proto_msg_decision *last, u64 times, const char *indent)
{
	char at[48], until[48], count[128] = "", text[512];

	decision_time(client, line->at_ns, at, sizeof(at));
	decision_time(client, last->at_ns, until, sizeof(until));
	gp_cli_decision_text(line, text, sizeof(text));
	if (times > 1)
		snprintf(count, sizeof(count),
			 ngettext(" (%llu time until %s)", " (%llu times until %s)",
				  (unsigned long)times),
			 (unsigned long long)times, until);
	gp_cli_line(doc, "%s%s %s%s%s", indent, at, line->observed ? _("[observe mode] ") : "",
		    text, count);
}
