// SPDX-License-Identifier: MIT
/*
 * gpreempt why --driver: /sys/kernel/debug/kfd/sched_decisions in sentences. The driver keeps the
 * last 256 decisions, one a line, as key=value pairs in a fixed order
 * (kernel/kfd/kfd_sched_watch.c).
 */
#include "cli/watch/why_driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/core.h"
#include "base/i18n.h"
#include "base/json.h"
#include "show/reason.h"

#define DECISIONS  "/sys/kernel/debug/kfd/sched_decisions"
#define FILE_LIMIT (1u << 20)

struct decision {
	struct gp_sched_reason reason;
	char action[16], why[32], policy[16];
	u64 took_ns;
	int pid, other;
};

static bool parse(const char *line, struct decision *out)
{
	struct gp_sched_reason *r = &out->reason;
	unsigned long long id, cause, at, took;
	long long waited, ran, cost, saves, limit;

	*out = (struct decision){0};
	if (sscanf(line,
		   "id=%llu cause=%llu at_ns=%llu action=%15s why=%31s policy=%15s pid=%d "
		   "other=%d priority=%u other_priority=%u waited_ns=%lld ran_ns=%lld "
		   "cost_ns=%lld saves_ns=%lld limit_ns=%lld took_ns=%llu error=%d",
		   &id, &cause, &at, out->action, out->why, out->policy, &out->pid, &out->other,
		   &r->job_priority, &r->other_priority, &waited, &ran, &cost, &saves, &limit,
		   &took, &r->error) != 17)
		return false;
	out->took_ns = took;
	r->id = id;
	r->cause = cause;
	r->at_ns = at;
	r->waited_ns = (u64)waited; /* -1: unknown, in both */
	r->ran_ns = (u64)ran;
	r->cost_ns = (u64)cost;
	r->saves_ns = (u64)saves;
	r->limit_ns = (u64)limit;
	for (r->why = 0; r->why < GP_SCHED_WHYS; r->why++)
		if (strcmp(out->why, gp_sched_why_name(r->why)) == 0)
			break;
	return true;
}

static void sentence(const struct decision *decision, char *out, size_t size)
{
	char job[32], other[32];

	snprintf(job, sizeof(job), _("pid %d"), decision->pid);
	snprintf(other, sizeof(other), _("pid %d"), decision->other);
	gp_show_reason(&decision->reason, job, other, out, size);
}

static json_t *to_json(const struct decision *decision)
{
	const struct gp_sched_reason *r = &decision->reason;
	char text[512];

	sentence(decision, text, sizeof(text));
	return json_pack("{s:I,s:I,s:I,s:s,s:s,s:s,s:i,s:i,s:i,s:i,s:I,s:i,s:s}", "id",
			 (json_int_t)r->id, "cause", (json_int_t)r->cause, "at_ns",
			 (json_int_t)r->at_ns, "action", decision->action, "why", decision->why,
			 "policy", decision->policy, "pid", decision->pid, "other", decision->other,
			 "priority", (int)r->job_priority, "other_priority", (int)r->other_priority,
			 "took_ns", (json_int_t)decision->took_ns, "error", r->error, "text", text);
}

static int tell_json(u32 pid, const struct decision *list, size_t count)
{
	json_t *lines = json_array(), *json = json_object();
	int error;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(lines, to_json(&list[i]));
	json_object_set_new(json, "pid", json_integer(pid));
	json_object_set_new(json, "decisions", lines);
	error = gp_json_print(stdout, json, false);
	json_decref(json);
	return error;
}

static void tell(const struct decision *list, size_t count, u64 lines)
{
	size_t first = count > lines ? count - (size_t)lines : 0;
	char text[512];

	if (!count)
		puts(_("No decision of the driver concerns this process."));
	for (size_t i = first; i < count; i++) {
		sentence(&list[i], text, sizeof(text));
		printf("  %llu.%06llu s %s\n",
		       (unsigned long long)(list[i].reason.at_ns / GP_NS_PER_S),
		       (unsigned long long)(list[i].reason.at_ns % GP_NS_PER_S / 1000), text);
	}
}

int gp_cli_why_driver(const struct gp_root *root, struct gp_diag *diag, u32 pid, u64 lines,
		      bool json)
{
	struct decision *list = NULL, next;
	size_t count = 0, capacity = 0;
	struct gp_buf text = {0};
	char *line, *rest = NULL;
	int error = gp_root_read(root, FILE_LIMIT, &text, DECISIONS);

	if (error)
		return gp_fail(diag, error,
			       "cannot read %s: %s (requires root and an amdgpu with the built-in "
			       "scheduler; see gpreempt doctor)",
			       DECISIONS, strerror(-error));
	for (line = text.data ? strtok_r(text.data, "\n", &rest) : NULL; line && !error;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (!parse(line, &next) || ((u32)next.pid != pid && (u32)next.other != pid))
			continue;
		if (gp_array_grow((void **)&list, count, &capacity, sizeof(*list)))
			error = gp_fail(diag, -ENOMEM, "out of memory");
		else
			list[count++] = next;
	}
	if (!error && json)
		error = tell_json(pid, list, count);
	else if (!error)
		tell(list, count, lines);
	free(list);
	gp_buf_free(&text);
	return error;
}
