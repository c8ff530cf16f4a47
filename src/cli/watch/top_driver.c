// SPDX-License-Identifier: MIT
/*
 * The scheduler inside the driver (kernel/patches) for gpreempt top: a reading of driver_sched.h as
 * jobs and devices of the daemon, so that the same columns show both.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core.h"
#include "cli/watch/top_view.h"

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
			       "%s has an unknown format; the driver may be a different version",
			       GP_DRIVER_SCHED);
	if (error)
		return gp_fail(diag, error,
			       "cannot read %s: %s (requires root and an amdgpu driver with the "
			       "built-in scheduler; see 'gpreempt doctor')",
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
