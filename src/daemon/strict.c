// SPDX-License-Identifier: MIT
/*
 * Strict holds on GPUs that do not show whether a program has work (NVIDIA, docs/internals/gpu.md).
 * There the core knows of no work and the hardware shares the GPU by time slices; suspending costs
 * more than changing slices. A rule can still ask for it: `strict = requests` for a job whose
 * program announces its requests, `strict = always` for one that does not, and `strict = activity`
 * for one that uses the GPU now and then, where the driver reports that (elsewhere as `requests`).
 *
 * While such a job is served, it counts as having work, and so does every job of lower priority on
 * its GPU; the policy `priority` of the core does the rest, within its bounds. Other jobs are not
 * affected. A suspended job keeps its work until the core resumes it, which may be a little after
 * the end of the request.
 *
 * Batch jobs that take turns (turns.c) have work in the same sense, always.
 *
 * Nothing here follows events. Each time the daemon has settled, the work that should be is
 * compared with the work that the core knows. The memory of programs is read once before that, so
 * that a program that changes it all the time does not keep the daemon busy.
 */
#include "daemon/daemon.h"
#include "gpu/gpu.h"

#define NOBODY (-1)

bool gp_daemon_strict_serves(const struct gp_daemon_job *job)
{
	if (job->strict == GP_STRICT_NO || job->strict == GP_STRICT_ALWAYS)
		return job->strict == GP_STRICT_ALWAYS;
	if (job->strict == GP_STRICT_ACTIVITY && job->on_gpu.read)
		return job->on_gpu.recent;
	gp_list_each (const struct gp_daemon_client, client, job_link, &job->clients) {
		if (client->open)
			return true;
	}
	return false;
}

void gp_daemon_strict_look(struct gp_daemon *daemon)
{
	if (!daemon->strict)
		return;
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients) {
		if (client->activity)
			client->open =
				__atomic_load_n(&client->activity->open_requests, __ATOMIC_ACQUIRE);
	}
}

/* The device of a queue where strict holds are possible; NONE. */
static u32 device_of(struct gp_daemon *daemon, const struct gp_daemon_client_queue *queue)
{
	struct gp_sched_device_state state;
	u32 device;

	if (gp_gpu_has(queue->gpu_id, GP_GPU_SEES_WORK))
		return GP_DAEMON_NONE;
	device = gp_daemon_host_device(daemon, queue->gpu_id);
	if (device == GP_DAEMON_NONE || gp_sched_device_state(daemon->sched, device, &state) ||
	    state.policy != GP_SCHED_PRIORITY)
		return GP_DAEMON_NONE;
	return device;
}

/* The highest priority that is served on each device. */
static void find_served(struct gp_daemon *daemon, s64 *served)
{
	for (u32 i = 0; i < GP_SCHED_MAX_DEVICES; i++)
		served[i] = NOBODY;
	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		if (!gp_daemon_strict_serves(job))
			continue;
		gp_list_each (const struct gp_daemon_client, client, job_link, &job->clients) {
			for (size_t i = 0; i < client->queue_count; i++) {
				u32 device = device_of(daemon, &client->queues[i]);

				if (device != GP_DAEMON_NONE)
					served[device] =
						GP_MAX(served[device], (s64)job->spec.priority);
			}
		}
	}
}

/* Suspended while a job with precedence has work there: the core resumes it. */
static bool is_kept(const struct gp_daemon *daemon, const struct gp_daemon_job *job, u32 device)
{
	struct gp_sched_device_state of_device;
	struct gp_sched_job_state of_job;

	return gp_sched_job_state(daemon->sched, job->handle, &of_job) == 0 &&
	       of_job.held_since != GP_SCHED_NEVER &&
	       gp_sched_device_state(daemon->sched, device, &of_device) == 0 && of_device.running;
}

/* What all jobs together mean for the work of each. */
struct view {
	s64 served[GP_SCHED_MAX_DEVICES];
	u32 takers[GP_SCHED_MAX_DEVICES];
};

static enum gp_sched_work wanted(struct gp_daemon *daemon, const struct gp_daemon_job *job,
				 const struct gp_daemon_client_queue *queue,
				 const struct view *view)
{
	const s64 *served = view->served;
	u32 device = device_of(daemon, queue);

	if (device == GP_DAEMON_NONE)
		return GP_SCHED_DRAINED;
	if (view->takers[device] > 1 && gp_daemon_turns_takes(daemon, job))
		return GP_SCHED_BUSY;
	/* One that does not use the GPU is not held, and does not age, until it does. */
	if (gp_daemon_strict_serves(job) ||
	    ((s64)job->spec.priority < served[device] && !job->on_gpu.idle) ||
	    (queue->work == GP_SCHED_BUSY && is_kept(daemon, job, device)))
		return GP_SCHED_BUSY;
	return GP_SCHED_DRAINED;
}

/* Of requests it is known when they began and ended, which is worth a line in the record. Of the
 * others nothing is, least of all that they will soon be done. */
static void tell(struct gp_daemon *daemon, struct gp_daemon_client *client,
		 struct gp_daemon_client_queue *queue, enum gp_sched_work work)
{
	u64 now = gp_monotonic_ns();
	bool known = work == GP_SCHED_BUSY ? client->job->strict != GP_STRICT_ALWAYS &&
						     gp_daemon_strict_serves(client->job)
					   : client->busy;

	if (known) {
		gp_daemon_host_work(daemon, client, queue, work, now);
		return;
	}
	queue->work = work;
	gp_sched_work(daemon->sched, now, queue->handle, work, GP_SCHED_SPAN_MAX);
}

static bool is_needed(const struct gp_daemon *daemon)
{
	for (u32 i = 0; i < daemon->device_count; i++) {
		if (gp_gpu_has(daemon->devices[i].gpu_id, GP_GPU_SLICES))
			return true;
	}
	return daemon->strict;
}

bool gp_daemon_strict_step(struct gp_daemon *daemon)
{
	struct view view;
	bool told = false;

	if (!is_needed(daemon))
		return false;
	find_served(daemon, view.served);
	gp_daemon_turns_count(daemon, view.takers);
	daemon->in_turns = false;
	for (u32 i = 0; i < daemon->device_count; i++)
		daemon->in_turns |= view.takers[i] > 1;
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients) {
		for (size_t i = 0; client->job && i < client->queue_count; i++) {
			struct gp_daemon_client_queue *queue = &client->queues[i];
			enum gp_sched_work work;

			if (gp_gpu_has(queue->gpu_id, GP_GPU_SEES_WORK))
				continue;
			work = wanted(daemon, client->job, queue, &view);
			if (queue->work == work)
				continue;
			tell(daemon, client, queue, work);
			told = true;
			/* What the core makes of it comes first. Most queues change nothing more.
			 */
			if (gp_sched_pending(daemon->sched))
				return true;
		}
	}
	return told;
}
