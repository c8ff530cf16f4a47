// SPDX-License-Identifier: MIT
/*
 * What the records of a GPU say about jobs: how long each had it, how often it was switched, and
 * how often it lost the GPU although it had work.
 *
 * The driver does not say why a process lost the GPU. It had work if it waited, and it can only
 * have waited while another process was within its time slice: the hardware switches when a slice
 * is over and another process has work. So a time without the GPU counts as a preemption if at
 * least half of it were slices of others, and as idleness otherwise.
 *
 * Records may be missing. What they were about is not known, so nothing is concluded until the next
 * switch, and times that began before are not counted: figures are too small, never too large.
 */
#include <string.h>

#include "daemon/daemon.h"
#include "gpu/gpu.h"

#define SLICE_NS  (2048 * GP_NS_PER_US) /* of a process whose slice is not known */
#define SWITCH_NS (500 * GP_NS_PER_US)  /* a slice may last so much longer */
#define IDLE_NS   (100 * GP_NS_PER_MS)  /* without the GPU, although it could have it */
#define TURN_NS   (20 * GP_NS_PER_MS)   /* the same of one in its turn, if no process has it */
#define RECENT_NS (100 * GP_NS_PER_MS)  /* a strict job is served that long afterwards */
#define ENDS      2 /* of others, after which it would have had its turn by the hardware */
#define SHARE_NS  GP_NS_PER_S
#define LINES     2000 /* of the timeline, per second and device */

/* ---- processes ---- */

static u32 device_of(const struct gp_daemon *daemon, const struct gp_daemon_client *client)
{
	for (u32 i = 0; client->queue_count && i < daemon->device_count; i++) {
		if (daemon->devices[i].gpu_id == client->queues[0].gpu_id)
			return i;
	}
	return GP_DAEMON_NONE;
}

static void forget(struct gp_daemon_client_activity *activity)
{
	activity->open_ns = activity->ended_ns = GP_DAEMON_NEVER;
	activity->shown = false;
}

void gp_daemon_activity_join(struct gp_daemon_client *client)
{
	client->on_gpu = (struct gp_daemon_client_activity){.from_ns = gp_monotonic_ns()};
	forget(&client->on_gpu);
}

/* ---- the timeline ---- */

static void show(struct gp_daemon *daemon, u32 device, const struct gp_daemon_client *client,
		 u64 at_ns, enum gp_sched_work work)
{
	gp_daemon_record_add_work(&daemon->record, &(struct gp_proto_msg_work){
							   .at_ns = at_ns,
							   .job = client->job->id,
							   .pid = client->who.pid,
							   .kfd_id = GP_DAEMON_NONE,
							   .gpu_id = daemon->devices[device].gpu_id,
							   .work = work,
						   });
}

/* A GPU that changes all the time must not push everything else out of the record. */
static bool may_show(struct gp_daemon_device_activity *device, u64 at_ns)
{
	if (at_ns >= device->refilled_ns + GP_NS_PER_S) {
		device->refilled_ns = at_ns;
		device->allowance = LINES;
	}
	if (!device->allowance)
		return false;
	device->allowance--;
	return true;
}

/* ---- switches ---- */

static u64 slice_of(const struct gp_daemon_client *client)
{
	return client && client->share.slice_us && !client->share.error
		       ? client->share.slice_us * GP_NS_PER_US
		       : SLICE_NS;
}

/* It had the GPU for so long: others may have waited for its slice, and no longer. */
static void contend(struct gp_daemon_device_activity *device, const struct gp_daemon_client *client,
		    u64 length)
{
	u64 slice = slice_of(client);

	device->contended_ns += length <= slice + SWITCH_NS ? length : slice;
}

static void begin(struct gp_daemon *daemon, u32 index, struct gp_daemon_client *client, u64 at_ns)
{
	struct gp_daemon_device_activity *device = &daemon->devices[index].on_gpu;
	struct gp_daemon_client_activity *activity = &client->on_gpu;

	if (activity->open_ns != GP_DAEMON_NEVER)
		return; /* its end is missing; the first start holds */
	if (activity->ended_ns != GP_DAEMON_NEVER && at_ns > activity->ended_ns) {
		u64 away = at_ns - activity->ended_ns;

		if (2 * (device->contended_ns - activity->contended_ns) >= away) {
			activity->preempted++;
			activity->lost_ns += away;
		}
	}
	activity->open_ns = at_ns;
	activity->device = index;
	activity->switches++;
	device->active++;
	client->job->on_gpu.idle = false;
	activity->shown = may_show(device, at_ns);
	if (activity->shown)
		show(daemon, index, client, at_ns, GP_SCHED_BUSY);
}

static void end(struct gp_daemon *daemon, u32 index, struct gp_daemon_client *client, u64 at_ns)
{
	struct gp_daemon_device_activity *device = &daemon->devices[index].on_gpu;
	struct gp_daemon_client_activity *activity = &client->on_gpu;
	u64 length;

	if (activity->open_ns == GP_DAEMON_NEVER || activity->device != index)
		return; /* it began before it was known, or on another GPU */
	length = at_ns - GP_MIN(activity->open_ns, at_ns);
	activity->active_ns += length;
	device->active_ns += length;
	device->active -= device->active != 0;
	contend(device, client, length);
	activity->contended_ns = device->contended_ns;
	activity->open_ns = GP_DAEMON_NEVER;
	activity->ended_ns = at_ns;
	activity->ends = device->ends;
	if (activity->shown)
		show(daemon, index, client, at_ns, GP_SCHED_DRAINED);
	activity->shown = false;
}

void gp_daemon_activity_leave(struct gp_daemon_client *client)
{
	struct gp_daemon *daemon = client->daemon;
	struct gp_daemon_client_activity *activity = &client->on_gpu;
	struct gp_daemon_job_activity *job = &client->job->on_gpu;

	if (activity->open_ns != GP_DAEMON_NEVER)
		end(daemon, activity->device, client,
		    GP_MAX(daemon->devices[activity->device].on_gpu.until_ns, activity->open_ns));
	job->known |= activity->switches != 0;
	job->active_ns += activity->active_ns;
	job->switches += activity->switches;
	job->preempted += activity->preempted;
	job->lost_ns += activity->lost_ns;
	*activity = (struct gp_daemon_client_activity){.from_ns = GP_DAEMON_NEVER};
	forget(activity);
}

/* A process that is not a job: another user's, the driver's own, or one that is not scheduled. */
static void note_other(struct gp_daemon_device_activity *device, const struct gp_gpu_switch *what)
{
	if (what->begins) {
		device->other_ns = what->at_ns;
	} else if (device->other_ns != GP_DAEMON_NEVER) {
		u64 length = what->at_ns - GP_MIN(device->other_ns, what->at_ns);

		device->active_ns += length;
		contend(device, NULL, length);
		device->other_ns = GP_DAEMON_NEVER;
	}
}

void gp_daemon_activity_switch(struct gp_daemon *daemon, u32 index,
			       const struct gp_gpu_switch *what)
{
	struct gp_daemon_device_activity *device = &daemon->devices[index].on_gpu;
	struct gp_daemon_client *client =
		what->pid == GP_ACTIVITY_HIDDEN || what->pid == GP_ACTIVITY_KERNEL
			? NULL
			: gp_daemon_host_client(daemon, what->pid);

	/* Whoever had it is known from now on. */
	device->known = true;
	device->ends += !what->begins;
	if (!client || !client->job)
		note_other(device, what);
	else if (what->at_ns < client->on_gpu.from_ns)
		return; /* of a process that had this pid before */
	else if (what->begins)
		begin(daemon, index, client, what->at_ns);
	else
		end(daemon, index, client, what->at_ns);
}

static void forget_device(struct gp_daemon *daemon, u32 index)
{
	struct gp_daemon_device_activity *device = &daemon->devices[index].on_gpu;

	device->known = false;
	device->active = 0;
	device->other_ns = GP_DAEMON_NEVER;
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients) {
		bool open = client->on_gpu.open_ns != GP_DAEMON_NEVER;

		if (!client->job ||
		    (open ? client->on_gpu.device : device_of(daemon, client)) != index)
			continue;
		if (client->on_gpu.shown)
			show(daemon, index, client, gp_monotonic_ns(), GP_SCHED_DRAINED);
		forget(&client->on_gpu);
		client->job->on_gpu.idle = client->job->on_gpu.read = false;
		client->job->on_gpu.recent = false;
	}
}

void gp_daemon_activity_lost(struct gp_daemon *daemon, u32 index, u64 count)
{
	daemon->devices[index].on_gpu.lost += count;
	forget_device(daemon, index);
}

void gp_daemon_activity_state(struct gp_daemon *daemon, u32 index, enum gp_proto_reading state,
			      int error)
{
	struct gp_daemon_device_activity *device = &daemon->devices[index].on_gpu;

	if (device->state == state && device->error == error)
		return;
	forget_device(daemon, index);
	device->state = state;
	device->error = error;
	if (state == GP_READING_FAILED)
		gp_diag(daemon->diag, GP_NOTE,
			"GPU %u: cannot read which process uses it: %s; scheduling is not affected",
			daemon->devices[index].gpu_id, strerror(-error));
	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		if (state == GP_READING_FAILED && job->strict == GP_STRICT_ACTIVITY)
			gp_diag(daemon->diag, GP_WARNING,
				"rule '%s': strict = activity works as strict = requests on GPU "
				"%u, because its use cannot be read",
				job->rule, daemon->devices[index].gpu_id);
	}
}

/* ---- what follows ---- */

/* Up to now: a process that has the GPU is counted while it has it. */
static u64 active_ns(const struct gp_daemon_client_activity *activity, u64 until_ns)
{
	u64 more = activity->open_ns == GP_DAEMON_NEVER
			   ? 0
			   : until_ns - GP_MIN(activity->open_ns, until_ns);

	return activity->active_ns + more;
}

static void measure_share(struct gp_daemon_client_activity *activity, u64 until_ns)
{
	u64 span = until_ns - GP_MIN(activity->mark_ns, until_ns), active;

	if (activity->mark_ns && span < SHARE_NS)
		return;
	active = active_ns(activity, until_ns);
	if (activity->mark_ns)
		activity->share_ppm =
			(u32)GP_MIN((active - GP_MIN(activity->mark_active_ns, active)) * 1000 /
					    (span / 1000),
				    1000000ull);
	activity->mark_ns = until_ns;
	activity->mark_active_ns = active;
}

/* It could have had the GPU for a while and did not take it. */
static bool is_idle(const struct gp_daemon *daemon, struct gp_daemon_client *client,
		    const struct gp_daemon_device_activity *device)
{
	struct gp_daemon_client_activity *activity = &client->on_gpu;
	u64 since;

	if (client->held || client->job->wanted_held || !device->known || device->active > 1) {
		activity->runnable_ns = device->until_ns;
		activity->ends = device->ends;
		return false;
	}
	since = GP_MAX(activity->runnable_ns, activity->from_ns);
	if (activity->ended_ns != GP_DAEMON_NEVER)
		since = GP_MAX(since, activity->ended_ns);
	if (activity->open_ns != GP_DAEMON_NEVER)
		return false;
	/* In its turn, with the GPU free: others wait for it. */
	if (!device->active && device->other_ns == GP_DAEMON_NEVER)
		return device->until_ns >=
		       since + (daemon->in_turns && client->job->spec.in_turns ? TURN_NS : IDLE_NS);
	/* One that has it all the time may keep it from this one. */
	return device->until_ns >= since + IDLE_NS && device->ends >= activity->ends + ENDS;
}

static bool was_recent(const struct gp_daemon_client_activity *activity, u64 until_ns)
{
	return activity->open_ns != GP_DAEMON_NEVER ||
	       (activity->ended_ns != GP_DAEMON_NEVER && until_ns < activity->ended_ns + RECENT_NS);
}

void gp_daemon_activity_until(struct gp_daemon *daemon, u32 index, u64 until_ns)
{
	struct gp_daemon_device_activity *device = &daemon->devices[index].on_gpu;

	device->until_ns = until_ns;
	gp_list_each (struct gp_daemon_job, job, link, &daemon->jobs) {
		bool idle = true, here = false, recent = false;

		gp_list_each (struct gp_daemon_client, client, job_link, &job->clients) {
			if (device_of(daemon, client) != index) {
				idle &= !client->queue_count;
				continue;
			}
			here = true;
			measure_share(&client->on_gpu, until_ns);
			idle &= is_idle(daemon, client, device);
			recent |= was_recent(&client->on_gpu, until_ns);
		}
		if (!here)
			continue;
		job->on_gpu.idle |= idle;
		job->on_gpu.read = device->known;
		job->on_gpu.recent = recent;
	}
	/* Jobs of class normal take turns, or do not any more, when records begin or end. */
	gp_daemon_share_check(daemon, index);
}

void gp_daemon_activity_view(const struct gp_daemon *daemon, const struct gp_daemon_job *job,
			     struct gp_proto_msg_job *out)
{
	out->activity = job->on_gpu.known;
	out->active_ns = job->on_gpu.active_ns;
	out->switches = job->on_gpu.switches;
	out->switched_out = job->on_gpu.preempted;
	out->lost_ns = job->on_gpu.lost_ns;
	gp_list_each (const struct gp_daemon_client, client, job_link, &job->clients) {
		const struct gp_daemon_client_activity *activity = &client->on_gpu;
		u32 device = device_of(daemon, client);

		if (device == GP_DAEMON_NONE)
			continue;
		/* Before the first record it may have the GPU since long ago. */
		if (activity->switches || (daemon->devices[device].on_gpu.state == GP_READING_ON &&
					   daemon->devices[device].on_gpu.known))
			out->activity = 1;
		out->active_ns += active_ns(activity, daemon->devices[device].on_gpu.until_ns);
		out->switches += activity->switches;
		out->switched_out += activity->preempted;
		out->lost_ns += activity->lost_ns;
		out->share_ppm += activity->share_ppm;
	}
}
