// SPDX-License-Identifier: MIT
/*
 * gpreempt top of the scheduler inside the driver (kernel/patches): what driver_sched.h reads, in
 * the daemon's words, so that the same tables show both; and what only the driver tells.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core.h"
#include "base/units.h"
#include "cli/watch/top_view.h"
#include "show/reason.h"

static bool is_held(const struct gp_inspect_driver_job *job)
{
	return job->run == GP_DRIVER_SUSPENDING || job->run == GP_DRIVER_SUSPENDED;
}

/* Both are the core's numbers. */
_Static_assert((int)GP_DRIVER_SUSPENDING == (int)GP_DAEMON_SUSPENDING &&
		       (int)GP_DRIVER_SUSPENDED == (int)GP_DAEMON_SUSPENDED &&
		       (int)GP_DRIVER_RESUMING == (int)GP_DAEMON_RESUMING,
	       "a state of one is that of the other");

static struct gp_proto_msg_job to_job(const struct gp_inspect_driver_job *from)
{
	struct gp_proto_msg_job job = {
		.id = from->pid,
		.uid = from->uid,
		.pid = from->pid,
		.processes = 1,
		.queues = from->queues,
		.busy_queues = from->busy,
		.priority = from->priority,
		.run = from->run,
		.gpu_id = from->item_count ? from->items[0].gpu_id : 0,
		.held_for = from->held_for ? from->held_for : GP_DAEMON_NONE,
		.held_since = is_held(from) ? 0 : GP_DAEMON_NEVER,
		.held_ns = from->held_ns,
		.ran_ns = from->ran_ns,
		.suspends = from->suspends,
		.declined = from->declined,
		.failures = from->failures,
		.backlog = GP_DAEMON_UNKNOWN,
	};

	snprintf(job.name, sizeof(job.name), "%s", from->comm);
	return job;
}

static struct gp_proto_msg_device *device_of(struct gp_cli_top_data *top, u32 gpu_id)
{
	for (size_t i = 0; i < top->device_count; i++) {
		if (top->devices[i].gpu_id == gpu_id)
			return &top->devices[i];
	}
	if (top->device_count == GP_DAEMON_DEVICES)
		return NULL;
	top->devices[top->device_count] = (struct gp_proto_msg_device){.gpu_id = gpu_id};
	return &top->devices[top->device_count++];
}

/* On each GPU once, however many queues it has there. */
static void count_on_devices(struct gp_cli_top_data *top, const struct gp_inspect_driver_job *job)
{
	for (size_t i = 0; i < job->item_count; i++) {
		struct gp_proto_msg_device *device = device_of(top, job->items[i].gpu_id);
		bool counted = false;

		for (size_t j = 0; j < i; j++)
			counted |= job->items[j].gpu_id == job->items[i].gpu_id;
		if (counted || !device)
			continue;
		device->members++;
		device->held += is_held(job);
		device->running += job->run == GP_DRIVER_RUNNING && job->busy &&
				   !gp_inspect_driver_job_is_off(job);
	}
}

int gp_cli_top_read_driver(struct gp_cli_top_data *top, const struct gp_root *root,
			   struct gp_diag *diag)
{
	int error;

	gp_cli_top_free(top);
	error = gp_inspect_driver_sched_read(root, &top->driver);
	if (error == -EPROTO)
		return gp_fail(diag, error,
			       "unknown format of %s; the driver may be a different version",
			       GP_DRIVER_SCHED);
	if (error)
		return gp_fail(diag, error,
			       "cannot read %s: %s (requires root and an amdgpu with the built-in "
			       "scheduler; see gpreempt doctor)",
			       GP_DRIVER_SCHED, strerror(-error));
	top->from_driver = true;
	top->status.mode = 1;
	top->status.held = (u32)top->driver.held;
	top->status.jobs = (u32)top->driver.job_count;
	top->jobs = calloc(top->driver.job_count + 1, sizeof(*top->jobs));
	if (!top->jobs)
		return gp_fail(diag, -ENOMEM, "out of memory");
	for (size_t i = 0; i < top->driver.job_count; i++) {
		top->jobs[top->job_count++] = to_job(&top->driver.jobs[i]);
		count_on_devices(top, &top->driver.jobs[i]);
	}
	return 0;
}

const struct gp_inspect_driver_job *gp_cli_top_driver_job(const struct gp_cli_top_data *top,
							  const struct gp_proto_msg_job *job)
{
	for (size_t i = 0; i < top->driver.job_count; i++) {
		if (top->driver.jobs[i].pid == job->pid)
			return &top->driver.jobs[i];
	}
	return NULL;
}

void gp_cli_top_driver_text(const struct gp_cli_top_data *top, char *out, size_t size)
{
	snprintf(out, size, _("driver scheduler, policy %s: %u jobs, %u held"), top->driver.policy,
		 top->status.jobs, top->status.held);
}

static u64 suspended_ns(const struct gp_inspect_driver_queue *queue)
{
	u64 ns;

	return __builtin_mul_overflow(queue->suspended_ms, GP_NS_PER_MS, &ns) ? UINT64_MAX : ns;
}

struct gp_table *gp_cli_top_queues(const struct gp_cli_top_data *top)
{
	struct gp_table *table = gp_table_new();

	gp_table_column(table, _("PID"), GP_RIGHT);
	gp_table_column(table, _("QUEUE"), GP_RIGHT);
	gp_table_column(table, _("GPU"), GP_RIGHT);
	gp_table_column(table, _("PRIO"), GP_RIGHT);
	gp_table_column(table, _("OFF FOR"), GP_RIGHT);
	gp_table_column(table, _("STATE"), GP_LEFT);
	for (size_t i = 0; i < top->job_count; i++) {
		const struct gp_inspect_driver_job *job = gp_cli_top_driver_job(top, &top->jobs[i]);

		for (size_t j = 0; job && j < job->item_count; j++) {
			const struct gp_inspect_driver_queue *queue = &job->items[j];

			gp_table_cellf(table, "%u", job->pid);
			gp_table_cellf(table, "%u", queue->id);
			gp_table_cellf(table, "%x", queue->gpu_id);
			if (queue->valid & GP_DRIVER_QUEUE_PRIORITY)
				gp_table_cellf(table, "%u", queue->logical_priority);
			else
				gp_table_missing(table);
			if (queue->valid & GP_DRIVER_QUEUE_SUSPENDED)
				gp_table_cell(table, gp_duration_text(suspended_ns(queue)).text);
			else
				gp_table_missing(table);
			/* The driver's own words. */
			gp_table_cell(table, queue->state);
		}
	}
	return table;
}

/* ---- JSON ---- */

json_t *gp_cli_top_queues_json(const struct gp_inspect_driver_job *job)
{
	json_t *list = json_array();

	for (size_t i = 0; i < job->item_count; i++) {
		const struct gp_inspect_driver_queue *queue = &job->items[i];
		json_t *item = json_object();

		json_object_set_new(item, "id", json_integer(queue->id));
		json_object_set_new(item, "gpu_id", json_integer(queue->gpu_id));
		json_object_set_new(item, "logical_priority",
				    gp_json_u64_if(queue->valid & GP_DRIVER_QUEUE_PRIORITY,
						   queue->logical_priority));
		json_object_set_new(item, "state", gp_json_str_or_null(queue->state));
		json_object_set_new(item, "suspended_ms",
				    gp_json_u64_if(queue->valid & GP_DRIVER_QUEUE_SUSPENDED,
						   queue->suspended_ms));
		json_array_append_new(list, item);
	}
	return list;
}

json_t *gp_cli_top_driver_json(const struct gp_cli_top_data *top)
{
	const struct gp_inspect_driver_sched *driver = &top->driver;
	json_t *json =
		json_pack("{sI sI sI sI sI sI sI}", "poll_us", (json_int_t)driver->poll_us, "polls",
			  (json_int_t)driver->polls, "events", (json_int_t)driver->events,
			  "suspends", (json_int_t)driver->suspends, "resumes",
			  (json_int_t)driver->resumes, "errors", (json_int_t)driver->errors,
			  "lines_not_understood", (json_int_t)driver->unread);

	json_object_set_new(json, "policy", gp_json_str(driver->policy));
	return json;
}
