// SPDX-License-Identifier: MIT
/*
 * The scheduler core and its host: devices, jobs and queues go in, actions come out. The core takes
 * an event only when its actions have been taken, so answers that are known while an action is
 * carried out wait in `answers` until the round is over.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "gpu/gpu.h"

static void sched_time(struct gp_timer *timer)
{
	struct gp_daemon *daemon = gp_container(timer, struct gp_daemon, sched_timer);

	gp_sched_timer(daemon->sched, gp_monotonic_ns());
	gp_daemon_host_settle(daemon);
	/* It may have been early by the clock's grain. */
	if (!gp_timer_armed(timer))
		gp_timer_set(&daemon->loop, timer, gp_sched_next(daemon->sched));
}

/* ---- devices ---- */

static void name_device(struct gp_daemon_device *device, const struct gp_gpu *gpu)
{
	device->node = gpu->node;
	device->places = gpu->processes;
	snprintf(device->name, sizeof(device->name), "%s", gpu->name);
	snprintf(device->product, sizeof(device->product), "%s", gpu->product);
	snprintf(device->uuid, sizeof(device->uuid), "%s", gpu->uuid);
	if (gpu->valid & GP_GPU_PCI)
		snprintf(device->pci, sizeof(device->pci), "%04x:%02x:%02x.%x",
			 gpu->pci_domain & 0xffffff, gpu->pci_bus & 0xff, gpu->pci_device & 0x1f,
			 gpu->pci_function & 7);
}

static void discover(struct gp_daemon *daemon)
{
	for (size_t kind = 0; gp_gpu_kinds[kind]; kind++) {
		struct gp_gpu_list list = {0};

		if (gp_gpu_kinds[kind]->discover(&daemon->root, NULL, &list) == 0) {
			for (size_t i = 0; i < list.count; i++) {
				u32 index;

				if (!list.items[i].gpu_id)
					continue;
				index = gp_daemon_host_device(daemon, list.items[i].gpu_id);
				if (index == GP_DAEMON_NONE)
					break;
				name_device(&daemon->devices[index], &list.items[i]);
			}
		}
		gp_gpu_list_free(&list);
	}
}

/* Those that it has now; others may come with the programs that use them. */
u32 gp_daemon_host_absent(struct gp_daemon *daemon)
{
	struct gp_daemon_config_gpu gpus[GP_SCHED_MAX_DEVICES];

	for (u32 i = 0; i < daemon->device_count; i++)
		gpus[i] = (struct gp_daemon_config_gpu){daemon->devices[i].gpu_id,
							daemon->devices[i].node};
	return gp_daemon_config_absent(&daemon->config, gpus, daemon->device_count, daemon->diag);
}

void gp_daemon_host_set_device(struct gp_daemon *daemon, u32 index)
{
	struct gp_daemon_device *device = &daemon->devices[index];
	struct gp_sched_device_config config;

	gp_daemon_config_device(&daemon->config, device->gpu_id, device->node,
				gp_gpu_has(device->gpu_id, GP_GPU_SLICES), &config);
	if (gp_daemon_config_parks(&daemon->config, device->gpu_id, device->node))
		config.places = device->places;
	if (device->broken || device->worth.why)
		config.can_suspend = false;
	int error = gp_sched_device_set(daemon->sched, gp_monotonic_ns(), index, &config);
	if (error)
		gp_diag(daemon->diag, GP_ERROR, "GPU 0x%x: invalid configuration: %s",
			device->gpu_id, strerror(-error));
}

static void configure_device(struct gp_daemon *daemon, u32 index)
{
	gp_daemon_host_set_device(daemon, index);
	gp_daemon_host_settle(daemon);
}

void gp_daemon_host_configure(struct gp_daemon *daemon)
{
	for (u32 i = 0; i < daemon->device_count; i++)
		configure_device(daemon, i);
}

u32 gp_daemon_host_device(struct gp_daemon *daemon, u32 gpu_id)
{
	u32 index;

	for (index = 0; index < daemon->device_count; index++) {
		if (daemon->devices[index].gpu_id == gpu_id)
			return index;
	}
	if (index == GP_SCHED_MAX_DEVICES)
		return GP_DAEMON_NONE;
	daemon->devices[index] = (struct gp_daemon_device){.gpu_id = gpu_id,
							   .node = GP_DAEMON_NONE,
							   .on_gpu.other_ns = GP_DAEMON_NEVER};
	daemon->device_count++;
	configure_device(daemon, index);
	return index;
}

/* ---- the core ---- */

int gp_daemon_host_init(struct gp_daemon *daemon)
{
	const struct gp_daemon_config *config = &daemon->config;
	struct gp_sched_config sched;

	gp_sched_defaults(&sched);
	sched.devices = GP_SCHED_MAX_DEVICES;
	sched.max_jobs = config->max_jobs;
	sched.max_processes = config->max_processes;
	sched.max_queues = config->max_queues;
	sched.lease_ns = config->lease_ns;
	sched.max_suspend_ns = config->max_suspend_ns;
	sched.op_timeout_ns = config->operation_timeout_ns;
	gp_timer_init(&daemon->sched_timer, sched_time);
	size_t size = gp_sched_memory(&sched);
	if (!size)
		return -EINVAL;
	/* Most of it is never touched, and costs nothing then. */
	daemon->sched_memory = aligned_alloc(64, (size + 63) / 64 * 64);
	daemon->by_handle = calloc(config->max_jobs, sizeof(*daemon->by_handle));
	if (!daemon->sched_memory || !daemon->by_handle)
		return -ENOMEM;
	int error = gp_sched_init(&daemon->sched, daemon->sched_memory, size, &sched);
	if (error)
		return error;
	discover(daemon);
	/* [device node N] applies now that nodes are known. */
	gp_daemon_host_configure(daemon);
	gp_daemon_host_absent(daemon);
	return 0;
}

void gp_daemon_host_free(struct gp_daemon *daemon)
{
	free(daemon->sched_memory);
	free(daemon->by_handle);
	free(daemon->answers);
	daemon->sched_memory = NULL;
	daemon->by_handle = NULL;
	daemon->answers = NULL;
}

static struct gp_daemon_job *job_of(struct gp_daemon *daemon, u32 handle)
{
	return handle < daemon->config.max_jobs ? daemon->by_handle[handle] : NULL;
}

static void carry_out(struct gp_daemon *daemon, const struct gp_sched_action *action)
{
	struct gp_daemon_job *job = job_of(daemon, action->job);

	if (action->kind == GP_SCHED_TIMER) {
		gp_timer_set(&daemon->loop, &daemon->sched_timer, action->until_ns);
		return;
	}
	if (action->kind == GP_SCHED_RENEW) {
		gp_daemon_act_renew(daemon);
		return;
	}
	gp_daemon_report_action(daemon, action);
	if (!job)
		return;
	switch (action->kind) {
	case GP_SCHED_SUSPEND:
		job->wanted_held = true;
		gp_daemon_worth_suspend(daemon, job, &action->reason);
		gp_daemon_act_suspend(daemon, job, action);
		break;
	case GP_SCHED_RESUME:
		job->wanted_held = false;
		gp_daemon_worth_resume(daemon, job);
		gp_daemon_act_resume(daemon, job, action);
		break;
	case GP_SCHED_NOTE:
		if (action->reason.why == GP_SCHED_WHY_LEASE_LOST)
			gp_daemon_act_lost(job);
		break;
	case GP_SCHED_SHARE:
		gp_daemon_act_share(daemon, job, action->device, action->share);
		break;
	default:
		break;
	}
}

static void measure_devices(struct gp_daemon *daemon)
{
	struct gp_sched_device_state state;
	u64 now = gp_sched_now(daemon->sched);

	for (u32 i = 0; i < daemon->device_count; i++) {
		struct gp_daemon_device *device = &daemon->devices[i];

		if (gp_sched_device_state(daemon->sched, i, &state))
			continue;
		/* What is only observed runs. */
		if (daemon->config.mode != GP_MODE_ACT)
			state.running += state.held;
		if (device->running && !state.running)
			device->busy_ns += now - GP_MIN(device->busy_since, now);
		else if (!device->running && state.running)
			device->busy_since = now;
		device->running = state.running;
	}
}

static void give_answer(struct gp_daemon *daemon, const struct gp_daemon_answer *answer)
{
	u64 now = gp_monotonic_ns();

	if (answer->token) {
		gp_sched_operation(daemon->sched, now, answer->token, answer->result,
				   answer->cost_ns);
	} else {
		daemon->stats.leases_lost++;
		gp_sched_lease_lost(daemon->sched, now, answer->job);
	}
}

void gp_daemon_host_settle(struct gp_daemon *daemon)
{
	struct gp_sched_action action;

	/* An action may cause another event; the round under way handles it. */
	if (daemon->settling)
		return;
	daemon->settling = true;
	gp_daemon_strict_look(daemon);
	for (;;) {
		while (gp_sched_take(daemon->sched, &action))
			carry_out(daemon, &action);
		if (!daemon->answer_count) {
			if (!gp_daemon_absent_step(daemon) && !gp_daemon_worth_step(daemon) &&
			    !gp_daemon_strict_step(daemon))
				break;
			continue;
		}
		struct gp_daemon_answer answer = daemon->answers[0];
		memmove(daemon->answers, daemon->answers + 1,
			--daemon->answer_count * sizeof(answer));
		give_answer(daemon, &answer);
	}
	daemon->settling = false;
	measure_devices(daemon);
	gp_daemon_attach_adapt(daemon);
	gp_daemon_absent_adapt(daemon);
	gp_daemon_activity_adapt(daemon);
	gp_daemon_hold_answer(daemon);
	gp_daemon_memory_adapt(daemon);
	gp_daemon_swap_step(daemon);
}

void gp_daemon_act_answer(struct gp_daemon *daemon, u64 token, u32 job, int result, u64 cost_ns)
{
	/* Without memory the answer is missing, which the core tolerates. */
	if (gp_array_grow((void **)&daemon->answers, daemon->answer_count, &daemon->answer_capacity,
			  sizeof(*daemon->answers)))
		return;
	daemon->answers[daemon->answer_count++] = (struct gp_daemon_answer){.token = token,
									    .job = job,
									    .result = result,
									    .cost_ns = cost_ns};
}
