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
	return line->kind >= GP_DECISION_DONE && !(line->kind == GP_DECISION_DONE && line->error);
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

	if (line->error)
		snprintf(out, size,
			 suspend ? _("suspending %s failed after %s: %s")
				 : _("resuming %s failed after %s: %s"),
			 job, gp_duration_text(line->waited_ns).text, strerror(-line->error));
	else
		snprintf(out, size,
			 suspend ? _("%s was suspended in %s (%s in the driver)")
				 : _("%s was resumed in %s (%s in the driver)"),
			 job, gp_duration_text(line->waited_ns).text,
			 gp_duration_text(line->cost_ns).text);
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
		snprintf(out, size, _("%s started: %s, priority %u"), job,
			 gp_cli_class_name(line->job_class), line->job_priority);
		break;
	case GP_DECISION_WENT:
		snprintf(out, size, _("%s ended"), job);
		break;
	default:
		reason_of(line, &reason);
		gp_show_reason(&reason, job, other, out, size);
	}
}

void gp_cli_decision_time(const struct gp_cli_daemon_client *client, u64 at_ns, char *out,
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
	static const char *const names[] = {"suspend", "resume", "share", "renew", "timer",
					    "note",    "done",   "came",  "went"};

	return kind < GP_ARRAY_SIZE(names) ? names[kind] : NULL;
}

static json_t *time_json(u64 ns)
{
	return gp_json_u64_if(ns != GP_DAEMON_UNKNOWN, ns);
}

static json_t *job_json(u64 id, u32 pid, const char *name)
{
	json_t *json;

	if (!id)
		return json_null();
	json = json_pack("{sI sI}", "id", (json_int_t)id, "pid", (json_int_t)pid);
	json_object_set_new(json, "name", gp_json_text(name, strnlen(name, GP_PROTO_NAME)));
	return json;
}

json_t *gp_cli_decision_json(const struct gp_cli_daemon_client *client,
			     const struct gp_proto_msg_decision *line)
{
	bool core = line->kind <= GP_DECISION_NOTE;
	json_t *json = json_pack("{sI sI sI}", "id", (json_int_t)line->id, "monotonic_ns",
				 (json_int_t)line->at_ns, "time_ns",
				 (json_int_t)((s64)line->at_ns + client->wall_ns));
	char text[512];

	json_object_set_new(json, "kind", gp_json_str(gp_cli_decision_kind_name(line->kind)));
	json_object_set_new(json, "why", gp_json_str(core ? gp_sched_why_name(line->why) : NULL));
	json_object_set_new(json, "operation",
			    gp_json_str(line->kind == GP_DECISION_DONE
						? gp_cli_decision_kind_name(line->why)
						: NULL));
	json_object_set_new(json, "policy",
			    gp_json_str(core ? gp_sched_policy_name(line->policy) : NULL));
	json_object_set_new(json, "observed", json_boolean(line->observed));
	json_object_set_new(json, "job", job_json(line->job, line->job_pid, line->job_name));
	json_object_set_new(json, "other",
			    job_json(line->other, line->other_pid, line->other_name));
	json_object_set_new(json, "gpu_id", gp_json_u64_if(line->gpu_id != 0, line->gpu_id));
	json_object_set_new(json, "job_priority", json_integer(line->job_priority));
	json_object_set_new(json, "other_priority",
			    gp_json_u64_if(line->other != 0, line->other_priority));
	json_object_set_new(json, "reason", gp_json_u64_if(line->reason != 0, line->reason));
	json_object_set_new(json, "cause", gp_json_u64_if(line->cause != 0, line->cause));
	json_object_set_new(json, "waited_ns", time_json(line->waited_ns));
	json_object_set_new(json, "ran_ns", time_json(line->ran_ns));
	json_object_set_new(json, "cost_ns", time_json(line->cost_ns));
	json_object_set_new(json, "saves_ns", time_json(saves_of(line)));
	json_object_set_new(json, "limit_ns", time_json(line->limit_ns));
	json_object_set_new(json, "error", json_integer(line->error));
	gp_cli_decision_text(line, text, sizeof(text));
	json_object_set_new(json, "text", gp_json_str(text));
	return json;
}
