// SPDX-License-Identifier: MIT
/*
 * Which jobs take turns on a GPU that the hardware shares by time slices (NVIDIA,
 * docs/internals/gpu.md). A batch job has slices of some 30 us beside a server, so that the server
 * has the GPU as soon as it has work. Two such jobs would keep the GPU changing between them, and
 * neither would get on. So where there are two or more, they count as having work without end, and
 * the core runs one of them at a time (sched/policy_turns.c).
 *
 * Batch jobs are those with a lower priority than class normal. Those of class normal may be idle
 * for hours and would waste their turns, so they take some only where the driver reports which
 * process uses the GPU, and beside a job of higher priority, which makes their slices short. Strict
 * jobs and jobs that are not controlled take no turns. Nor do jobs that did not use the GPU
 * although they could, where the driver reports that (activity_account.c): they are not suspended,
 * and take turns again once they use it.
 */
#include "daemon/daemon.h"
#include "gpu/gpu.h"

/* The device of a queue where there are turns; NONE. */
static u32 device_of(struct gp_daemon *daemon, const struct gp_daemon_client_queue *queue)
{
	struct gp_sched_device_state state;
	u32 device;

	if (!gp_gpu_has(queue->gpu_id, GP_GPU_SLICES) ||
	    gp_gpu_has(queue->gpu_id, GP_GPU_SEES_WORK))
		return GP_DAEMON_NONE;
	device = gp_daemon_host_device(daemon, queue->gpu_id);
	if (device == GP_DAEMON_NONE || gp_sched_device_state(daemon->sched, device, &state) ||
	    state.policy != GP_SCHED_PRIORITY)
		return GP_DAEMON_NONE;
	return device;
}

/* A bit for each device with turns where the job has a queue. */
static u64 devices_of(struct gp_daemon *daemon, const struct gp_daemon_job *job)
{
	u64 devices = 0;

	gp_list_each (const struct gp_daemon_client, client, job_link, &job->clients) {
		for (size_t i = 0; i < client->queue_count; i++) {
			u32 device = device_of(daemon, &client->queues[i]);

			if (device != GP_DAEMON_NONE)
				devices |= 1ull << device;
		}
	}
	return devices;
}

bool gp_daemon_turns_may(const struct gp_sched_job_spec *spec)
{
	return spec->priority < GP_SCHED_PRIORITY_NORMAL ||
	       (spec->class == GP_SCHED_CLASS_NORMAL && spec->priority < GP_SCHED_PRIORITY_ONLINE);
}

/* Of these devices it is read, and known by now, which process uses them. */
static bool is_read(const struct gp_daemon *daemon, u64 devices)
{
	for (; devices; devices &= devices - 1) {
		const struct gp_daemon_device_activity *device =
			&daemon->devices[gp_lowest_bit(devices)].on_gpu;

		if (device->state != GP_READING_ON || !device->known)
			return false;
	}
	return true;
}

static bool is_outranked(struct gp_daemon *daemon, const struct gp_daemon_job *job, u64 devices)
{
	gp_list_each (const struct gp_daemon_job, other, link, &daemon->jobs) {
		if (other != job && other->spec.priority >= GP_SCHED_PRIORITY_ONLINE &&
		    other->spec.priority > job->spec.priority && !other->away.by &&
		    (devices_of(daemon, other) & devices))
			return true;
	}
	return false;
}

bool gp_daemon_turns_would(struct gp_daemon *daemon, const struct gp_daemon_job *job)
{
	u64 devices;

	if (!job->spec.in_turns || job->pin == GP_SCHED_PIN_RUN)
		return false;
	if (job->spec.priority < GP_SCHED_PRIORITY_NORMAL)
		return true;
	devices = devices_of(daemon, job);
	return devices && is_read(daemon, devices) && is_outranked(daemon, job, devices);
}

bool gp_daemon_turns_takes(struct gp_daemon *daemon, const struct gp_daemon_job *job)
{
	return !job->on_gpu.idle && gp_daemon_turns_would(daemon, job);
}

void gp_daemon_turns_count(struct gp_daemon *daemon, u32 *takers)
{
	for (u32 i = 0; i < GP_SCHED_MAX_DEVICES; i++)
		takers[i] = 0;
	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		u64 devices = gp_daemon_turns_takes(daemon, job) ? devices_of(daemon, job) : 0;

		for (; devices; devices &= devices - 1)
			takers[gp_lowest_bit(devices)]++;
	}
}
