// SPDX-License-Identifier: MIT
/* The daemon and its GPUs as commands, metrics and the diary show them: state, devices, totals. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "gpu/gpu.h"

_Static_assert((int)GP_SCHED_WHYS <= (int)GP_DAEMON_WHYS, "counts by reason fit");

void gp_daemon_report_status(struct gp_daemon *daemon, struct gp_proto_msg_daemon_status *out)
{
	struct gp_sched_stats stats;

	gp_sched_stats(daemon->sched, &stats);
	*out = (struct gp_proto_msg_daemon_status){
		.started_ns = daemon->started_ns,
		.now_ns = gp_monotonic_ns(),
		.first_decision = gp_daemon_record_first(&daemon->record),
		.next_decision = daemon->record.next,
		.pid = (u32)getpid(),
		.mode = daemon->config.mode,
		.jobs = stats.jobs,
		.processes = stats.processes,
		.queues = stats.queues,
		.held = stats.held,
		.devices = daemon->device_count,
		.configured = daemon->config_path != NULL,
		.urgency = daemon->urgency,
		.latency_target_us = (u32)(daemon->config.latency_target_ns / 1000),
	};
	if (daemon->config_path)
		snprintf(out->config, sizeof(out->config), "%s", daemon->config_path);
	snprintf(out->problem, sizeof(out->problem), "%s", daemon->problem);
}

void gp_daemon_report_device_view(struct gp_daemon *daemon, u32 index,
				  struct gp_proto_msg_device *out)
{
	const struct gp_daemon_device *device = &daemon->devices[index];
	struct gp_sched_device_state state = {0};
	struct gp_sched_device_config config;
	u64 now = gp_monotonic_ns();

	gp_sched_device_state(daemon->sched, index, &state);
	gp_daemon_config_device(&daemon->config, device->gpu_id, device->node,
				gp_gpu_has(device->gpu_id, GP_GPU_SLICES), &config);
	*out = (struct gp_proto_msg_device){
		.gpu_id = device->gpu_id,
		.node = device->node,
		.policy = state.policy,
		.can_suspend = config.can_suspend && !device->broken && !device->worth.why,
		.can_share = config.can_share,
		.broken = device->broken != 0,
		.members = state.members,
		.running = state.running,
		.held = state.held,
		.admitted_ppm = state.admitted_ppm,
		.suspend_ns = state.suspend_ns,
		.resume_ns = state.resume_ns,
		.busy_ns = device->busy_ns,
		.stands_down = device->worth.why,
		.again_ns = device->worth.why ? device->worth.again_ns : GP_DAEMON_NEVER,
		.stood_down = device->worth.times,
		.reading = gp_gpu_kind(device->gpu_id)->activity && !device->on_gpu.state
				   ? GP_READING_UNUSED
				   : device->on_gpu.state,
		.reading_error = device->on_gpu.error,
		.active_ns = device->on_gpu.active_ns,
		.switches_lost = device->on_gpu.lost,
		.memory_total = device->memory.total,
		.memory_free = device->memory.free,
		.milliwatts = device->memory.milliwatts,
		.celsius = device->memory.celsius,
		.mhz = device->memory.mhz,
	};
	if (device->running)
		out->busy_ns += now - GP_MIN(device->busy_since, now);
	memcpy(out->name, device->name, sizeof(out->name));
}

void gp_daemon_report_stats(struct gp_daemon *daemon, struct gp_proto_msg_stats *out)
{
	struct gp_sched_stats stats;
	u64 now = gp_monotonic_ns();

	gp_sched_stats(daemon->sched, &stats);
	*out = daemon->stats;
	out->started_ns = daemon->started_ns;
	out->now_ns = now;
	out->events = stats.events;
	out->mode = daemon->config.mode;
	out->jobs = stats.jobs;
	out->processes = stats.processes;
	out->queues = stats.queues;
	out->held = stats.held;
	out->why_count = GP_SCHED_WHYS;
	memcpy(out->why, stats.why, sizeof(stats.why));
	gp_daemon_figures_stats(daemon, out);
}
