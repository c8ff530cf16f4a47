// SPDX-License-Identifier: MIT
/*
 * gpreempt why --driver: /sys/kernel/debug/kfd/sched_decisions in sentences. The driver keeps the
 * last 256 decisions, one per line, as key=value pairs in a fixed order
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
#include "cli/command.h"
#include "cli/watch/row.h"
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

static void put_decision(struct gp_cli_row *row, const struct decision *decision)
{
	const struct gp_sched_reason *r = &decision->reason;
	char text[512];

	sentence(decision, text, sizeof(text));
	gp_cli_put(row, "id", NULL, 0, gp_v_count(r->id));
	gp_cli_put(row, "cause", NULL, 0, gp_v_count(r->cause));
	gp_cli_put(row, "at_ns", NULL, 0, gp_v_count(r->at_ns));
	gp_cli_put(row, "action", NULL, 0, gp_v_text(decision->action));
	gp_cli_put(row, "why", NULL, 0, gp_v_text(decision->why));
	gp_cli_put(row, "policy", NULL, 0, gp_v_text(decision->policy));
	gp_cli_put(row, "pid", NULL, 0, gp_v_json(json_integer(decision->pid)));
	gp_cli_put(row, "other", NULL, 0, gp_v_json(json_integer(decision->other)));
	gp_cli_put(row, "priority", NULL, 0, gp_v_count(r->job_priority));
	gp_cli_put(row, "other_priority", NULL, 0, gp_v_count(r->other_priority));
	gp_cli_put(row, "took_ns", NULL, 0, gp_v_count(decision->took_ns));
	gp_cli_put(row, "error", NULL, 0, gp_v_json(json_integer(r->error)));
	gp_cli_put(row, "text", NULL, 0, gp_v_text(gp_cli_text(row, "%s", text)));
}

/* All decisions in JSON, the last `lines` as sentences. */
static struct gp_doc *make_doc(u32 pid, const struct decision *list, size_t count, u64 lines)
{
	struct gp_doc *doc = gp_doc_new_answer();
	struct gp_cli_row row = {.part = GP_CLI_JSON};
	char text[512];

	gp_doc_fact(doc, "pid", NULL, gp_v_count(pid));
	if (!count)
		gp_doc_line(doc, "The driver has recorded no decisions about this process.");
	for (size_t i = count > lines ? count - (size_t)lines : 0; i < count; i++) {
		sentence(&list[i], text, sizeof(text));
		gp_cli_line(doc, "  %llu.%06llu s %s",
			    (unsigned long long)(list[i].reason.at_ns / GP_NS_PER_S),
			    (unsigned long long)(list[i].reason.at_ns % GP_NS_PER_S / GP_NS_PER_US),
			    text);
	}
	gp_doc_table(doc, "decisions", NULL);
	put_decision(&row, &(struct decision){0});
	gp_cli_row_columns(&row, doc);
	for (size_t i = 0; i < count; i++) {
		put_decision(&row, &list[i]);
		gp_cli_row_cells(&row, doc);
	}
	return doc;
}

int gp_cli_why_driver(const struct gp_root *root, struct gp_diag *diag, u32 pid, u64 lines,
		      struct gp_doc **doc)
{
	struct decision *list = NULL, next;
	size_t count = 0, capacity = 0;
	struct gp_buf text = {0};
	char *line, *rest = NULL;
	int error = gp_root_read(root, FILE_LIMIT, &text, DECISIONS);

	if (error)
		return gp_fail(diag, error,
			       "cannot read %s: %s (requires root and an amdgpu driver with the "
			       "built-in scheduler; see 'gpreempt doctor')",
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
	if (!error)
		*doc = make_doc(pid, list, count, lines);
	free(list);
	gp_buf_free(&text);
	return error;
}
