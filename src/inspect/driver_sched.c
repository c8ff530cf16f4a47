// SPDX-License-Identifier: MIT
/* Reading the scheduler inside the driver: see driver_sched.h. */
#include "inspect/driver_sched.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "gpu/gpu.h"
#include "base/host/process.h"

#define PARAMETER  "/sys/module/amdgpu/parameters/kfd_sched"
#define QUEUES     "/sys/class/kfd/kfd/proc/%u/queues/%u/"
#define FILE_LIMIT (1u << 20) /* 512 jobs of 200 bytes */

static const char *const run_names[] = {"running", "suspending", "suspended", "resuming"};

/* ---- one line: words and key=value pairs, in any order ---- */

struct line {
	const char *text, *end;
};

/* The value of a key, up to the next blank. */
static bool value_of(const struct line *line, const char *key, struct line *value)
{
	size_t len = strlen(key);

	for (const char *p = line->text; p < line->end;) {
		const char *end = memchr(p, ' ', (size_t)(line->end - p));

		if (!end)
			end = line->end;
		if ((size_t)(end - p) > len && memcmp(p, key, len) == 0 && p[len] == '=') {
			*value = (struct line){p + len + 1, end};
			return true;
		}
		p = end + 1;
	}
	return false;
}

static bool number(const struct line *line, const char *key, u64 *out)
{
	struct line value;

	return value_of(line, key, &value) && gp_parse_u64(&value.text, value.end, out) &&
	       value.text == value.end;
}

static bool small_number(const struct line *line, const char *key, u32 *out)
{
	u64 value;

	if (!number(line, key, &value) || value > UINT32_MAX)
		return false;
	*out = (u32)value;
	return true;
}

static bool word(const struct line *line, const char *key, char *out, size_t size)
{
	struct line value;
	size_t len;

	if (!value_of(line, key, &value))
		return false;
	len = (size_t)(value.end - value.text);
	if (!len || len >= size)
		return false;
	memcpy(out, value.text, len);
	out[len] = '\0';
	return true;
}

/* ---- the file ---- */

static bool parse_job(const struct line *line, struct gp_inspect_driver_job *job)
{
	char run[16];

	*job = (struct gp_inspect_driver_job){0};
	if (!small_number(line, "pid", &job->pid) || !job->pid ||
	    !small_number(line, "priority", &job->priority) ||
	    !word(line, "state", run, sizeof(run)) || !small_number(line, "queues", &job->queues) ||
	    !small_number(line, "busy", &job->busy) || !small_number(line, "for", &job->held_for) ||
	    !number(line, "held_ns", &job->held_ns) || !number(line, "ran_ns", &job->ran_ns) ||
	    !number(line, "suspends", &job->suspends) ||
	    !number(line, "declined", &job->declined) || !number(line, "failures", &job->failures))
		return false;
	while (job->run < GP_DRIVER_RUNS && strcmp(run, run_names[job->run]) != 0)
		job->run++;
	return job->run < GP_DRIVER_RUNS;
}

/* It is shown unchanged, and the text may come from anywhere. */
static bool is_name(const char *text)
{
	return *text && text[strspn(text, "abcdefghijklmnopqrstuvwxyz_")] == '\0';
}

static bool parse_policy(const struct line *line, struct gp_inspect_driver_sched *out)
{
	return word(line, "policy", out->policy, sizeof(out->policy)) && is_name(out->policy) &&
	       number(line, "poll_us", &out->poll_us) && number(line, "polls", &out->polls);
}

static bool parse_counters(const struct line *line, struct gp_inspect_driver_sched *out)
{
	return number(line, "held", &out->held) && number(line, "events", &out->events) &&
	       number(line, "suspends", &out->suspends) && number(line, "resumes", &out->resumes) &&
	       number(line, "errors", &out->errors);
}

static bool begins(const struct line *line, const char *with)
{
	size_t len = strlen(with);

	return (size_t)(line->end - line->text) >= len && memcmp(line->text, with, len) == 0;
}

static int add_line(const struct line *line, struct gp_inspect_driver_sched *out)
{
	struct gp_inspect_driver_job job;
	int error;

	if (begins(line, "why "))
		return 0; /* counts by reason; gpreempt why --driver has each decision */
	if (!begins(line, "job ") || !parse_job(line, &job)) {
		out->unread++;
		return 0;
	}
	error = gp_array_grow((void **)&out->jobs, out->job_count, &out->job_capacity, sizeof(job));
	if (!error)
		out->jobs[out->job_count++] = job;
	return error;
}

int gp_inspect_driver_sched_parse(const char *text, size_t len, struct gp_inspect_driver_sched *out)
{
	const char *end = text + len;
	size_t lines = 0;
	int error = 0;

	*out = (struct gp_inspect_driver_sched){0};
	for (const char *p = text; p < end && !error; lines++) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		struct line line = {p, stop ? stop : end};

		p = line.end + 1;
		if (lines == 0)
			error = parse_policy(&line, out) ? 0 : -EPROTO;
		else if (lines == 1)
			error = parse_counters(&line, out) ? 0 : -EPROTO;
		else if (!stop)
			out->unread++; /* cut, perhaps in a number */
		else
			error = add_line(&line, out);
	}
	if (!error && lines < 2)
		error = -EPROTO;
	if (error)
		gp_inspect_driver_sched_free(out);
	return error;
}

void gp_inspect_driver_sched_free(struct gp_inspect_driver_sched *sched)
{
	for (size_t i = 0; i < sched->job_count; i++)
		free(sched->jobs[i].items);
	free(sched->jobs);
	*sched = (struct gp_inspect_driver_sched){0};
}

/* ---- queues and processes ---- */

static void read_state(const struct gp_root *root, u32 pid, struct gp_inspect_driver_queue *queue)
{
	struct gp_buf text = {0};
	size_t len;

	if (gp_root_read(root, sizeof(queue->state), &text, QUEUES "state", pid, queue->id) == 0 &&
	    text.data) {
		len = strcspn(text.data, "\n");
		if (len && len < sizeof(queue->state)) {
			memcpy(queue->state, text.data, len);
			queue->valid |= GP_DRIVER_QUEUE_STATE;
		}
	}
	gp_buf_free(&text);
}

static void read_queue(const struct gp_root *root, u32 pid, struct gp_inspect_driver_queue *queue)
{
	u64 value;

	read_state(root, pid, queue);
	if (gp_root_read_u64(root, &value, QUEUES "logical_priority", pid, queue->id) == 0 &&
	    value <= UINT32_MAX) {
		queue->logical_priority = (u32)value;
		queue->valid |= GP_DRIVER_QUEUE_PRIORITY;
	}
	if (gp_root_read_u64(root, &queue->suspended_ms, QUEUES "suspended_ms", pid, queue->id) ==
	    0)
		queue->valid |= GP_DRIVER_QUEUE_SUSPENDED;
}

static int read_queues(const struct gp_root *root, struct gp_inspect_driver_job *job)
{
	struct gp_gpu_process_list list = {0};
	int error = gp_kfd_ops.describe(root, NULL, job->pid, &list);

	/* It may have exited since. */
	for (size_t i = 0; !error && list.count && i < list.items[0].queue_count; i++) {
		struct gp_inspect_driver_queue queue = {.id = list.items[0].queues[i].id,
							.gpu_id = list.items[0].queues[i].gpu_id};

		error = gp_array_grow((void **)&job->items, job->item_count, &job->item_capacity,
				      sizeof(queue));
		if (error)
			break;
		read_queue(root, job->pid, &queue);
		job->items[job->item_count++] = queue;
	}
	gp_gpu_process_list_free(&list);
	return error == -ENOMEM ? error : 0;
}

static void read_process(const struct gp_root *root, struct gp_inspect_driver_job *job)
{
	struct gp_process process;

	/* The driver has host pids. */
	if (!gp_process_host_view(root) || gp_process_read(root, job->pid, &process))
		return;
	job->known = process.valid & GP_PROCESS_COMM && process.valid & GP_PROCESS_UID;
	snprintf(job->comm, sizeof(job->comm), "%s", process.comm);
	job->uid = process.uid;
}

int gp_inspect_driver_sched_read(const struct gp_root *root, struct gp_inspect_driver_sched *out)
{
	struct gp_buf text = {0};
	int error = gp_root_read(root, FILE_LIMIT, &text, GP_DRIVER_SCHED);

	*out = (struct gp_inspect_driver_sched){0};
	if (!error)
		error = gp_inspect_driver_sched_parse(text.data ? text.data : "", text.len, out);
	gp_buf_free(&text);
	for (size_t i = 0; i < out->job_count && !error; i++) {
		read_process(root, &out->jobs[i]);
		error = read_queues(root, &out->jobs[i]);
	}
	if (error)
		gp_inspect_driver_sched_free(out);
	return error;
}

void gp_inspect_driver_sched_policy(const struct gp_root *root, char *out, size_t size)
{
	struct gp_buf text = {0};

	out[0] = '\0';
	if (gp_root_read(root, 64, &text, PARAMETER) == 0 && text.data)
		snprintf(out, size, "%.*s", (int)strcspn(text.data, "\n"), text.data);
	if (!is_name(out))
		out[0] = '\0';
	gp_buf_free(&text);
}

bool gp_inspect_driver_job_is_off(const struct gp_inspect_driver_job *job)
{
	if (job->run != GP_DRIVER_RUNNING || !job->item_count)
		return false;
	for (size_t i = 0; i < job->item_count; i++)
		if (!(job->items[i].valid & GP_DRIVER_QUEUE_STATE) ||
		    strcmp(job->items[i].state, "active") == 0)
			return false;
	return true;
}
