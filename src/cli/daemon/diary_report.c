// SPDX-License-Identifier: MIT
/*
 * A span of time from decisions on disk. How long jobs ran and were held comes from the snapshots,
 * which are ten seconds apart; which job was held for which comes from the decisions. A hold by
 * name or by hand can be older than the span: then a snapshot shows it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core.h"
#include "base/i18n.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/diary.h"
#include "cli/daemon/diary_holds.h"
#include "sched/sched.h"

#define STATES_NS (10 * (s64)GP_NS_PER_S) /* from one state to the next */

enum { SLOTS = 12 };

/* Of one life of the daemon: ids of jobs begin anew with the next. */
struct job {
	u64 life, id;                 /* life 0: no state has named it yet */
	struct gp_proto_msg_job last; /* its last snapshot; zero: only decisions name it */
	bool came, seen;
	u32 pid;
	char name[GP_PROTO_NAME];
	s64 first_wall, last_wall, figures_wall; /* of its last snapshot */
	u64 ran_ns, held_ns, suspends;           /* in the span */
	u64 would_held_ns, would_suspends;
	u64 ran[SLOTS], held[SLOTS];
	/* A hold by the scheduler that is not over. */
	s64 held_at; /* 0: none */
	struct gp_proto_msg_decision why;
	/* One by an owner, by hand, or because the host has stopped the job. */
	s64 off_at; /* 0: none */
	u32 off_by; /* enum gp_proto_away */
	char owner[GP_PROTO_NAME];
};

struct span {
	s64 from, to, slot_ns;
	s64 first; /* of the lines in the span; 0: there is none */
	u32 slots;
	u64 life, decisions;
	s64 state_wall; /* of the last state, and its now_ns */
	u64 state_ns;
	s64 decision_wall; /* of the last decision */
	u64 preemptions, would;
	struct job *jobs;
	size_t job_count, job_capacity;
	struct gp_cli_diary_holds holds;
	struct gp_cli_diary_gpus gpus;
};

static struct job *job_of(struct span *span, u64 id, u32 pid, const char *name, s64 at)
{
	struct job *job;

	for (size_t i = span->job_count; i > 0; i--) {
		job = &span->jobs[i - 1];
		if (job->id == id && job->life == span->life) {
			job->last_wall = at;
			return job;
		}
	}
	if (gp_array_grow((void **)&span->jobs, span->job_count, &span->job_capacity,
			  sizeof(*span->jobs)))
		return NULL;
	job = &span->jobs[span->job_count++];
	*job = (struct job){
		.life = span->life, .id = id, .pid = pid, .first_wall = at, .last_wall = at};
	snprintf(job->name, sizeof(job->name), "%s", name);
	return job;
}

/* ---- holds ---- */

static int end_hold(struct span *span, struct job *job, s64 at, bool open)
{
	struct gp_cli_diary_hold hold = {.gpu_id = job->why.gpu_id,
					 .why = gp_sched_why_name(job->why.why),
					 .observed = job->why.observed,
					 .open = open,
					 .at = job->held_at,
					 .ns = (u64)GP_MAX(at - job->held_at, 0)};

	if (!job->held_at)
		return 0;
	gp_cli_decision_who(job->name, job->pid, hold.job, sizeof(hold.job));
	if (job->why.other)
		gp_cli_decision_who(job->why.other_name, job->why.other_pid, hold.other,
				    sizeof(hold.other));
	job->held_at = 0;
	return gp_cli_diary_holds_add(&span->holds, &hold);
}

static void begin_off(struct job *job, u32 by, const char *owner, s64 at)
{
	if (job->off_at)
		return;
	job->off_at = at;
	job->off_by = by;
	snprintf(job->owner, sizeof(job->owner), "%s", by == GP_AWAY_OWNER ? owner : "");
}

static int end_off(struct span *span, struct job *job, s64 at, bool open)
{
	bool owned = job->off_by == GP_AWAY_OWNER;
	struct gp_cli_diary_hold hold = {.gpu_id = job->last.gpu_id,
					 .why = owned                         ? "owner"
						: job->off_by == GP_AWAY_HAND ? "hand"
									      : "stop",
					 .open = open,
					 .apart = !owned,
					 .at = job->off_at,
					 .ns = (u64)GP_MAX(at - job->off_at, 0)};

	if (!job->off_at)
		return 0;
	gp_cli_decision_who(job->name, job->pid, hold.job, sizeof(hold.job));
	if (owned)
		gp_cli_decision_who(job->owner, 0, hold.other, sizeof(hold.other));
	job->off_at = 0;
	return gp_cli_diary_holds_add(&span->holds, &hold);
}

static int end_holds(struct span *span, struct job *job, s64 at, bool open)
{
	int error = end_hold(span, job, at, open);

	return error ? error : end_off(span, job, at, open);
}

static int take_off(struct span *span, struct job *job, const struct gp_proto_diary_line *line)
{
	const struct gp_proto_msg_decision *decision = &line->is.decision;
	enum gp_cli_off off = gp_cli_decision_off(decision);

	if (off == GP_CLI_OFF_BEGINS)
		begin_off(job, decision->away, decision->other_name, line->wall_ns);
	return off == GP_CLI_OFF_ENDS ? end_off(span, job, line->wall_ns, false) : 0;
}

static int take_decision(struct span *span, const struct gp_proto_diary_line *line)
{
	const struct gp_proto_msg_decision *decision = &line->is.decision;
	struct job *job;

	span->decisions++;
	span->decision_wall = line->wall_ns;
	if (!decision->job)
		return 0;
	job = job_of(span, decision->job, decision->job_pid, decision->job_name, line->wall_ns);
	if (!job)
		return -ENOMEM;
	/* It came in this period: all that it has is of this period. */
	if (decision->kind == GP_DECISION_CAME)
		job->came = true;
	if (decision->kind == GP_DECISION_SUSPEND && decision->why != GP_SCHED_WHY_JOINED) {
		/* As `gpreempt stats` counts: turns that batch jobs take anyway are none. */
		bool preempts = decision->other && !gp_cli_decision_is_routine(decision);

		span->preemptions += preempts && !decision->observed;
		span->would += preempts && decision->observed;
		if (!job->held_at) {
			job->held_at = line->wall_ns;
			job->why = *decision;
		}
	}
	if (decision->kind == GP_DECISION_WENT)
		return end_holds(span, job, line->wall_ns, false);
	/* Also where its lease ended, and where gpreemptd changed from one mode to the other. */
	if (decision->kind == GP_DECISION_RESUME ||
	    (decision->kind == GP_DECISION_NOTE && decision->why == GP_SCHED_WHY_LEASE_LOST))
		return end_hold(span, job, line->wall_ns, false);
	return take_off(span, job, line);
}

/* ---- snapshots ---- */

static u32 slot_of(const struct span *span, s64 wall)
{
	return (u32)GP_MIN(GP_MAX(wall - span->from, 0) / span->slot_ns, (s64)span->slots - 1);
}

/* A time that passed between two snapshots, which need not be in the same slot. */
static void spread(const struct span *span, u64 *slots, u64 ns, s64 begin, s64 end)
{
	u64 left = ns;

	for (u32 slot = slot_of(span, begin); slot < slot_of(span, end); slot++) {
		s64 from = span->from + slot * span->slot_ns;
		s64 part = from + span->slot_ns - GP_MAX(begin, from);
		u64 share = (u64)((double)ns * (double)part / (double)(end - begin));

		slots[slot] += GP_MIN(share, left);
		left -= GP_MIN(share, left);
	}
	slots[slot_of(span, end)] += left;
}

/* What the decisions of the span do not say, because it began before. */
static int look_off(struct span *span, struct job *job, s64 wall)
{
	const struct gp_proto_msg_job *now = &job->last;
	bool held = now->kept == GP_KEPT_HELD, hand = now->away == GP_AWAY_HAND;
	u64 since = held ? now->held_since : now->away_since;

	/* One that is held anew, after a stop, stays held to its owner. */
	if (now->kept == GP_KEPT_ASKED && !hand)
		return 0;
	if ((!held && !hand) || now->ended_ns != GP_DAEMON_NEVER)
		return end_off(span, job, wall, false);
	if (since < span->state_ns)
		wall = span->state_wall - (s64)(span->state_ns - since);
	begin_off(job, now->away, now->owner, GP_MAX(wall, span->from));
	return 0;
}

static int take_job(struct span *span, const struct gp_proto_diary_line *line)
{
	const struct gp_proto_msg_job *now = &line->is.job;
	struct job *job = job_of(span, now->id, now->pid, now->name, line->wall_ns);
	/* Where the driver reports who had the GPU, that counts. */
	u64 ran = now->activity ? now->active_ns : now->ran_ns, before, held;
	s64 since;

	if (!job)
		return -ENOMEM;
	if (job->seen || job->came) {
		before = job->last.activity ? job->last.active_ns : job->last.ran_ns;
		ran = ran > before ? ran - before : 0;
		held = now->held_ns - GP_MIN(job->last.held_ns, now->held_ns);
		since = job->seen ? job->figures_wall : job->first_wall;
		spread(span, job->ran, ran, since, line->wall_ns);
		spread(span, job->held, held, since, line->wall_ns);
		job->ran_ns += ran;
		job->held_ns += held;
		job->suspends += now->suspends - GP_MIN(job->last.suspends, now->suspends);
		job->would_held_ns +=
			now->would_held_ns - GP_MIN(job->last.would_held_ns, now->would_held_ns);
		job->would_suspends +=
			now->would_suspends - GP_MIN(job->last.would_suspends, now->would_suspends);
	}
	job->last = *now;
	job->figures_wall = line->wall_ns;
	job->seen = true;
	return look_off(span, job, line->wall_ns);
}

static void take_device(struct span *span, const struct gp_proto_msg_device *device)
{
	u32 i = 0;

	while (i < span->gpus.count && span->gpus.devices[i].gpu_id != device->gpu_id)
		i++;
	if (i == GP_DAEMON_DEVICES)
		return;
	span->gpus.devices[i] = *device;
	span->gpus.count = GP_MAX(span->gpus.count, i + 1);
}

/* A state names the life of the daemon. What came before the first one is of the same life, if the
 * daemon ran then; otherwise another one has begun, and what was held is released. */
static int take_state(struct span *span, const struct gp_proto_diary_line *line)
{
	const struct gp_proto_msg_daemon_status *state = &line->is.state;
	s64 started_wall = line->wall_ns - (s64)(state->now_ns - state->started_ns);
	int error = 0;

	for (size_t i = 0; state->started_ns != span->life && i < span->job_count && !error; i++) {
		struct job *job = &span->jobs[i];

		if (!job->life && job->first_wall >= started_wall)
			job->life = state->started_ns;
		else
			error = end_holds(span, job, job->last_wall, false);
	}
	span->life = state->started_ns;
	span->state_wall = line->wall_ns;
	span->state_ns = state->now_ns;
	return error;
}

static int take(void *ctx, const struct gp_proto_diary_line *line)
{
	struct span *span = ctx;

	if (line->wall_ns >= span->to)
		return 0;
	if (!span->first)
		span->first = line->wall_ns;
	switch (line->kind) {
	case GP_DIARY_DECISION:
		return take_decision(span, line);
	case GP_DIARY_JOB:
		return take_job(span, line);
	case GP_DIARY_DEVICE:
		take_device(span, &line->is.device);
		return 0;
	default: /* GP_DIARY_STATE */
		return take_state(span, line);
	}
}

/* ---- the document ---- */

static void put_summary(const struct span *span, struct gp_doc *doc, const char *path)
{
	char from[32], to[32], first[32];

	gp_cli_diary_time(span->from, from, sizeof(from));
	gp_cli_diary_time(span->first, first, sizeof(first));
	gp_cli_diary_time(span->to, to, sizeof(to));
	gp_doc_section(doc, "span", N_("Period"));
	gp_doc_fact(doc, "from", N_("from"), gp_v_text(from));
	gp_doc_fact(doc, "to", N_("to"), gp_v_text(to));
	/* The oldest file is gone, or gpreemptd did not run. */
	if (span->first > span->from + STATES_NS)
		gp_doc_fact(doc, "recorded_from", N_("recorded from"), gp_v_text(first));
	gp_doc_fact(doc, "file", N_("file"), gp_v_text(path));
	gp_doc_fact(doc, "decisions", N_("decisions"), gp_v_count(span->decisions));
	gp_doc_fact(doc, "preemptions", N_("preemptions"), gp_v_count(span->preemptions));
	if (span->would)
		gp_doc_fact(doc, "would_preemptions", N_("preemptions in mode act (observed)"),
			    gp_v_count(span->would));
}

/* The other tables come from decisions, which are written at once. */
static void put_newest_figures(const struct span *span, struct gp_doc *doc)
{
	char text[32];

	if (!span->state_wall || span->decision_wall - span->state_wall < (s64)GP_NS_PER_S)
		return;
	gp_cli_diary_time(span->state_wall, text, sizeof(text));
	gp_doc_note(
		doc,
		"These figures are as of %s, when gpreemptd last wrote its state (it does every "
		"10 s); decisions are counted up to the end of the period.",
		text);
}

static void put_jobs(const struct span *span, struct gp_doc *doc)
{
	gp_doc_section(doc, "jobs", N_("Jobs"));
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "job", N_("JOB"));
	gp_doc_column(doc, "group", N_("GROUP"));
	gp_doc_optional(doc);
	gp_doc_column(doc, "uid", N_("UID"));
	gp_doc_column(doc, "class", N_("CLASS"));
	gp_doc_column(doc, "gpu", N_("GPU"));
	gp_doc_column(doc, "from", N_("FROM"));
	gp_doc_column(doc, "to", N_("TO"));
	gp_doc_column(doc, "ran_ns", N_("RAN"));
	gp_doc_bars(doc);
	gp_doc_column(doc, "held_ns", N_("HELD"));
	gp_doc_bars(doc);
	gp_doc_column(doc, "suspends", N_("SUSPENDS"));
	gp_doc_column(doc, "would_held_ns", N_("WOULD BE HELD"));
	gp_doc_optional(doc);
	gp_doc_column(doc, "would_suspends", N_("WOULD SUSPEND"));
	gp_doc_optional(doc);
	gp_doc_column(doc, "p99_ns", N_("LATENCY P99"));
	for (size_t i = 0; i < span->job_count; i++) {
		const struct job *job = &span->jobs[i];
		char text[96];

		gp_cli_decision_who(job->name, job->pid, text, sizeof(text));
		gp_doc_cell(doc, gp_v_text(text));
		gp_doc_cell(doc, gp_v_text_or_missing(job->last.group));
		gp_doc_cell(doc, gp_v_if(job->seen, gp_v_count(job->last.uid)));
		gp_doc_cell(doc,
			    gp_v_if(job->seen, gp_v_text(gp_cli_class_name(job->last.job_class))));
		gp_cli_diary_gpu(&span->gpus, doc, job->last.gpu_id);
		gp_cli_diary_time(job->first_wall, text, sizeof(text));
		gp_doc_cell(doc, gp_v_text(text));
		gp_cli_diary_time(job->last_wall, text, sizeof(text));
		gp_doc_cell(doc, gp_v_text(text));
		gp_doc_cell(doc, gp_v_if(job->seen, gp_v_ns(job->ran_ns)));
		gp_doc_cell(doc, gp_v_if(job->seen, gp_v_ns(job->held_ns)));
		gp_doc_cell(doc, gp_v_if(job->seen, gp_v_count(job->suspends)));
		gp_doc_cell(doc, gp_v_if(job->would_suspends, gp_v_ns(job->would_held_ns)));
		gp_doc_cell(doc, gp_v_if(job->would_suspends, gp_v_count(job->would_suspends)));
		gp_doc_cell(doc, gp_v_if(job->last.latency_count != 0,
					 gp_v_ns(job->last.latency_p99_ns)));
	}
	put_newest_figures(span, doc);
}

static void put_slots(const struct span *span, struct gp_doc *doc)
{
	gp_doc_section(doc, "usage", N_("GPU use over time"));
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "from", N_("FROM"));
	gp_doc_column(doc, "gpu", N_("GPU"));
	gp_doc_column(doc, "job", N_("JOB"));
	gp_doc_column(doc, "ran_ns", N_("RAN"));
	gp_doc_bars(doc);
	gp_doc_column(doc, "held_ns", N_("HELD"));
	gp_doc_bars(doc);
	for (u32 slot = 0; slot < span->slots; slot++) {
		for (size_t i = 0; i < span->job_count; i++) {
			const struct job *job = &span->jobs[i];
			char text[96];

			if (!job->ran[slot] && !job->held[slot])
				continue;
			gp_cli_diary_time(span->from + slot * span->slot_ns, text, sizeof(text));
			gp_doc_cell(doc, gp_v_text(text));
			gp_cli_diary_gpu(&span->gpus, doc, job->last.gpu_id);
			gp_cli_decision_who(job->name, job->pid, text, sizeof(text));
			gp_doc_cell(doc, gp_v_text(text));
			gp_doc_cell(doc, gp_v_ns(job->ran[slot]));
			gp_doc_cell(doc, gp_v_ns(job->held[slot]));
		}
	}
}

struct gp_doc *gp_cli_diary_report(const char *path, s64 from_wall_ns, s64 to_wall_ns,
				   struct gp_diag *diag)
{
	const s64 snapshot = 10 * (s64)GP_NS_PER_S;
	struct span span = {.from = from_wall_ns, .to = to_wall_ns};
	struct gp_doc *doc = NULL;
	int error;

	span.slots = (u32)GP_MAX(GP_MIN((span.to - span.from) / snapshot, (s64)SLOTS), 1);
	span.slot_ns = GP_MAX((span.to - span.from) / span.slots, 1);
	error = gp_cli_diary_read(path, true, span.from, diag, take, &span);
	for (size_t i = 0; i < span.job_count && !error; i++)
		error = end_holds(&span, &span.jobs[i], span.to, true);
	if (error == -ENOMEM)
		gp_fail(diag, error, "out of memory");
	if (!error)
		doc = gp_doc_new("usage", N_("GPUs and jobs"));
	if (doc) {
		put_summary(&span, doc, path);
		put_jobs(&span, doc);
		gp_cli_diary_holds_put(&span.holds, &span.gpus, doc);
		put_slots(&span, doc);
	}
	free(span.jobs);
	gp_cli_diary_holds_free(&span.holds);
	return doc;
}
