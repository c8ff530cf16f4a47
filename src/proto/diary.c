// SPDX-License-Identifier: MIT
/* Decisions on disk: see diary.h. */
#include "proto/diary.h"

#include <stdio.h>
#include <string.h>

#include "base/core.h"
#include "base/json.h"

enum type { END, U32, S32, U64, TEXT };

struct field {
	const char *name;
	enum type type;
	size_t offset, size;
};

/* clang-format off */
#define FIELD(structure, member, kind) \
	{#member, kind, offsetof(struct structure, member), sizeof(((struct structure *)0)->member)}

#define D(member, kind) FIELD(gp_proto_msg_decision, member, kind)
static const struct field decision_fields[] = {
	D(id, U64), D(reason, U64), D(cause, U64), D(at_ns, U64), D(kind, U32), D(why, U32),
	D(policy, U32), D(shield, U32), D(job, U64), D(other, U64), D(job_pid, U32),
	D(other_pid, U32), D(gpu_id, U32), D(observed, U32), D(job_priority, U32),
	D(other_priority, U32), D(job_rank, U64), D(other_rank, U64), D(waited_ns, U64),
	D(ran_ns, U64), D(cost_ns, U64), D(saves_ns, U64), D(limit_ns, U64), D(used_ppm, U32),
	D(needs_ppm, U32), D(limit_ppm, U32), D(error, S32), D(share, U32), D(job_class, U32),
	D(away, U32), D(away_by, U32), D(slice_us, U32), D(job_name, TEXT), D(other_name, TEXT),
	{0},
};

#define S(member, kind) FIELD(gp_proto_msg_daemon_status, member, kind)
static const struct field state_fields[] = {
	S(started_ns, U64), S(now_ns, U64), S(first_decision, U64), S(next_decision, U64),
	S(pid, U32), S(mode, U32), S(jobs, U32), S(processes, U32), S(queues, U32), S(held, U32),
	S(devices, U32), S(configured, U32), S(urgency, U32), S(latency_target_us, U32), S(config, TEXT), S(problem, TEXT),
	{0},
};

#define G(member, kind) FIELD(gp_proto_msg_device, member, kind)
static const struct field device_fields[] = {
	G(gpu_id, U32), G(node, U32), G(policy, U32), G(can_suspend, U32), G(can_share, U32),
	G(broken, U32), G(members, U32), G(running, U32), G(held, U32), G(admitted_ppm, U32),
	G(suspend_ns, U64), G(resume_ns, U64), G(busy_ns, U64), G(stands_down, U32),
	G(again_ns, U64), G(stood_down, U64), G(reading, U32), G(reading_error, S32),
	G(active_ns, U64), G(switches_lost, U64), G(memory_total, U64), G(memory_free, U64),
	G(milliwatts, U32), G(celsius, U32), G(mhz, U32), G(name, TEXT),
	{0},
};

#define J(member, kind) FIELD(gp_proto_msg_job, member, kind)
static const struct field job_fields[] = {
	J(id, U64), J(uid, U32), J(pid, U32), J(processes, U32), J(queues, U32),
	J(busy_queues, U32), J(devices, U32), J(job_class, U32), J(priority, U32), J(weight, U32),
	J(pin, U32), J(run, U32), J(gpu_id, U32), J(attached, U32), J(held_for, U32),
	J(claim, U32), J(ceiling, U32), J(held_since, U64), J(held_ns, U64), J(ran_ns, U64),
	J(suspends, U64), J(declined, U64), J(failures, U64), J(preempted, U64), J(waited_ns, U64),
	J(suspend_ns, U64), J(resume_ns, U64), J(burst_ns, U64), J(backlog, U64),
	J(started_ns, U64), J(ended_ns, U64), J(away, U32), J(away_by, U32), J(away_since, U64),
	J(latency_of, U32), J(slice_state, U32), J(latency_count, U64), J(latency_p50_ns, U64),
	J(latency_p99_ns, U64), J(slice_us, U32), J(slice_error, S32), J(activity, U32),
	J(share_ppm, U32), J(active_ns, U64), J(switches, U64), J(switched_out, U64),
	J(lost_ns, U64), J(kept, U32), J(keep_error, S32), J(changed, U32), J(longest_ns, U64),
	J(would_held_ns, U64), J(would_longest_ns, U64), J(would_suspends, U64),
	J(would_preempted, U64), J(would_waited_ns, U64), J(memory, U64), J(swapped, U64), J(swap_said, TEXT), J(owner, TEXT), J(name, TEXT),
	J(group, TEXT), J(rule, TEXT),
	{0},
};
/* clang-format on */

static const struct {
	const char *name;
	const struct field *fields;
} kinds[GP_DIARY_KINDS] = {
	[GP_DIARY_DECISION] = {"decision", decision_fields},
	[GP_DIARY_STATE] = {"state", state_fields},
	[GP_DIARY_DEVICE] = {"device", device_fields},
	[GP_DIARY_JOB] = {"job", job_fields},
};

/* ---- writing ---- */

static void write_number(struct gp_buf *out, const struct field *field, const void *from)
{
	u64 wide;
	u32 narrow;

	if (field->type == U64) {
		memcpy(&wide, from, sizeof(wide));
		if (wide == UINT64_MAX)
			gp_buf_printf(out, ",\"%s\":null", field->name);
		else if (wide) /* times and counts: far below the 63 bits of a number in JSON */
			gp_buf_printf(out, ",\"%s\":%lld", field->name,
				      (long long)(wide & INT64_MAX));
		return;
	}
	memcpy(&narrow, from, sizeof(narrow));
	if (narrow && field->type == S32)
		gp_buf_printf(out, ",\"%s\":%d", field->name, (s32)narrow);
	else if (narrow)
		gp_buf_printf(out, ",\"%s\":%u", field->name, narrow);
}

void gp_proto_diary_write(struct gp_buf *out, const struct gp_proto_diary_line *line)
{
	gp_buf_printf(out, "{\"is\":\"%s\",\"wall_ns\":%lld", kinds[line->kind].name,
		      (long long)line->wall_ns);
	for (const struct field *field = kinds[line->kind].fields; field->name; field++) {
		const char *from = (const char *)&line->is + field->offset;

		if (field->type != TEXT) {
			write_number(out, field, from);
		} else if (*from) {
			gp_buf_printf(out, ",\"%s\":", field->name);
			gp_json_escape(out, from, strnlen(from, field->size));
		}
	}
	gp_buf_puts(out, "}\n");
}

/* ---- reading ---- */

static void read_field(const struct field *field, const json_t *value, char *to)
{
	json_int_t number = json_integer_value(value);
	u64 wide = json_is_null(value) ? UINT64_MAX : (u64)number;
	u32 narrow = (u32)number;

	if (field->type == TEXT && json_is_string(value))
		snprintf(to, field->size, "%s", json_string_value(value));
	else if (field->type == U64 && (json_is_null(value) || json_is_integer(value)))
		memcpy(to, &wide, sizeof(wide));
	else if ((field->type == U32 || field->type == S32) && json_is_integer(value))
		memcpy(to, &narrow, sizeof(narrow));
}

static bool kind_of(const json_t *object, enum gp_proto_diary_kind *out)
{
	const char *name = json_string_value(json_object_get(object, "is"));

	for (u32 i = 0; name && i < GP_DIARY_KINDS; i++) {
		if (strcmp(name, kinds[i].name) == 0) {
			*out = i;
			return true;
		}
	}
	return false;
}

bool gp_proto_diary_read(const char *text, size_t len, struct gp_proto_diary_line *out)
{
	json_t *object = json_loadb(text, len, 0, NULL);
	const json_t *wall = json_object_get(object, "wall_ns");
	bool known = json_is_integer(wall) && kind_of(object, &out->kind);

	if (known) {
		out->wall_ns = json_integer_value(wall);
		memset(&out->is, 0, sizeof(out->is));
		for (const struct field *field = kinds[out->kind].fields; field->name; field++) {
			const json_t *value = json_object_get(object, field->name);

			if (value)
				read_field(field, value, (char *)&out->is + field->offset);
		}
	}
	json_decref(object);
	return known;
}

const char *gp_proto_decision_kind_name(u32 kind)
{
	static const char *const names[] = {"suspend",   "resume", "share",  "renew", "timer",
					    "note",      "done",   "came",   "went",  "stand_down",
					    "act_again", "kept",   "let_go", "set"};

	return kind < GP_ARRAY_SIZE(names) ? names[kind] : NULL;
}
