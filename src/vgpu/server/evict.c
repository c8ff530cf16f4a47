// SPDX-License-Identifier: MIT
/*
 * Evictions: the driver takes all queues of a process off the hardware for an internal reason and
 * restores them. They are counted for each device, and independent of a debugger's suspensions:
 * a queue runs when it is neither evicted nor suspended. Only CRIU_OP evicts here.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "vgpu/server/state.h"

/* Event numbers are hexadecimal in the text (KFD_SMI_EVENT_QUEUE_EVICTION and _RESTORE). */
#define EVICTION_FORMAT "9 %llu -%d %x %d\n"
#define RESTORE_FORMAT  "a %llu -%d %x%s\n"

static unsigned long long boot_ns(void)
{
	return gp_clock_ns(CLOCK_BOOTTIME);
}

static void set_evicted(struct gp_vgpu_server *server, struct gp_vgpu_process *process,
			const struct gp_vgpu_device *device, bool evicted)
{
	for (struct gp_vgpu_queue *queue = process->newest; queue; queue = queue->older)
		if (queue->device == device) {
			queue->evicted = evicted;
			gp_vgpu_queue_apply(server, queue);
		}
}

void gp_vgpu_evict(struct gp_vgpu_server *server, struct gp_vgpu_process *process,
		   enum gp_vgpu_eviction why, struct gp_vgpu_request *request)
{
	char text[96];

	for (u32 i = 0; i < server->device_count; i++) {
		struct gp_vgpu_device *device = &server->devices[i];
		u32 gpu_id = device->file.gpu.gpu_id;

		snprintf(text, sizeof(text), EVICTION_FORMAT, boot_ns(), (int)process->pid, gpu_id,
			 (int)why);
		gp_vgpu_smi_event(server, gpu_id, process->pid, text);
		if (process->evictions[i]++)
			continue;
		process->evicted_since[i] = server->host.raw_ns(server->host.context);
		set_evicted(server, process, device, true);
		gp_vgpu_update(server, device, GP_KFD_GRACE_DEFAULT, request);
	}
}

void gp_vgpu_restore(struct gp_vgpu_server *server, struct gp_vgpu_process *process,
		     struct gp_vgpu_request *request)
{
	char text[96];

	for (u32 i = 0; i < server->device_count; i++) {
		struct gp_vgpu_device *device = &server->devices[i];
		u32 gpu_id = device->file.gpu.gpu_id;

		/* Whether it was rescheduled, which Linux 6.1 says only when it was. */
		snprintf(text, sizeof(text), RESTORE_FORMAT, boot_ns(), (int)process->pid, gpu_id,
			 server->options.era == GP_ERA_6_1 ? "" : " 0");
		gp_vgpu_smi_event(server, gpu_id, process->pid, text);
		if (!process->evictions[i] || --process->evictions[i])
			continue;
		process->evicted_raw_ns[i] +=
			server->host.raw_ns(server->host.context) - process->evicted_since[i];
		set_evicted(server, process, device, false);
		gp_vgpu_update(server, device, GP_KFD_GRACE_DEFAULT, request);
	}
}

/* ---- reset ---- */

static void smi_reset(struct gp_vgpu_server *server, struct gp_vgpu_device *device, bool over)
{
	char text[96];

	snprintf(text, sizeof(text), "%d %x %s\n", over ? 4 : 3, device->resets,
		 over ? "" : "HWS hang");
	gp_vgpu_smi_event(server, device->file.gpu.gpu_id, 0, text);
}

/* kgd2kfd_pre_reset() evicts as for a suspend, and nothing restores what was evicted there. */
static void lose_process(struct gp_vgpu_server *server, struct gp_vgpu_process *process,
			 const struct gp_vgpu_device *device)
{
	if (!process->device_queues[device->index])
		return;
	process->reset[device->index] = true;
	process->evictions[device->index]++;
	set_evicted(server, process, device, true);
	for (struct gp_vgpu_queue *queue = process->newest; queue; queue = queue->older)
		if (queue->device == device)
			(void)gp_model_queue_abandon(device->model, queue->model_queue);
	gp_vgpu_ring_tell(process,
			  &(struct gp_vgpu_done){.kind = GP_VGPU_RESET, .tag = device->index});
}

void gp_vgpu_reset(struct gp_vgpu_server *server, struct gp_vgpu_device *device)
{
	device->resets++;
	smi_reset(server, device, false);
	for (struct gp_vgpu_process *p = server->processes; p; p = p->next)
		lose_process(server, p, device);
	gp_model_end_grace(device->model);
	device->hung = false;
	gp_vgpu_update_silent(server, device);
	smi_reset(server, device, true);
}

/* ---- CRIU_OP ---- */

pid_t gp_vgpu_criu_pid(const struct gp_vgpu_request *request)
{
	s32 pid = 0;

	if (request->header.payload_size >= sizeof(pid))
		memcpy(&pid, request->payload, sizeof(pid));
	return pid;
}

/* Its own process, or the thread that traces its lead thread; no other process has a right to it.
 */
static bool may_use(struct gp_vgpu_server *server, const struct gp_vgpu_request *request)
{
	struct gp_vgpu_server_task caller, lead;

	if (request->owner->pid != gp_vgpu_criu_pid(request))
		return false;
	if (request->owner == request->process)
		return true;
	if (server->host.task(server->host.context, request->header.tid, &caller) ||
	    caller.tgid != request->process->pid)
		return false;
	return !server->host.task(server->host.context, request->owner->pid, &lead) &&
	       lead.tracer == request->header.tid;
}

static void paused(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_kfd_criu_args *args = GP_VGPU_ARGS(request, gp_kfd_criu_args);
	struct gp_vgpu_process *process = request->owner;
	const struct gp_vgpu_shared *shared = process->shared;

	process->paused = true;
	args->pid = (u32)process->pid;
	args->num_devices = server->device_count;
	args->num_bos = shared ? __atomic_load_n(&shared->buffers, __ATOMIC_RELAXED) : 0;
	args->num_objects = process->queue_count;
	args->num_objects += shared ? __atomic_load_n(&shared->events, __ATOMIC_RELAXED) : 0;
	args->priv_data_size = 0; /* nothing is saved here */
	request->result = 0;
}

static void unpaused(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	(void)server;
	request->owner->paused = false;
	request->result = 0;
}

static int change(struct gp_vgpu_server *server, struct gp_vgpu_request *request, bool pause)
{
	request->resume = pause ? paused : unpaused;
	if (pause)
		gp_vgpu_evict(server, request->owner, GP_VGPU_EVICTED_BY_CRIU, request);
	else
		gp_vgpu_restore(server, request->owner, request);
	if (!request->waiting)
		request->resume(server, request);
	return 0;
}

int gp_vgpu_serve_criu(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	u32 op = GP_VGPU_ARGS(request, gp_kfd_criu_args)->op;

	if (!may_use(server, request))
		return -EBADF;
	if (!server->options.checkpoint)
		return -EACCES;
	if (request->header.flags & GP_VGPU_BAD_ARRAY)
		return -EFAULT;
	if (op == GP_KFD_CRIU_PROCESS_INFO)
		return change(server, request, true);
	if (!request->owner->paused)
		return -EINVAL;
	if (op == GP_KFD_CRIU_UNPAUSE)
		return change(server, request, false);
	return op == GP_KFD_CRIU_CHECKPOINT ? -EOPNOTSUPP : -EINVAL; /* nothing is saved here */
}
