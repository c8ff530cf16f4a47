// SPDX-License-Identifier: MIT
/*
 * DBG_TRAP: permissions, enabling and disabling, and the dispatch of its operations, with the
 * checks in the order of amdkfd (kfd_ioctl_set_debug_trap()).
 */
#include <errno.h>
#include <stdlib.h>

#include "vgpu/server/state.h"

static bool needs_runtime(u32 op)
{
	return op >= GP_KFD_DBG_SET_WAVE_LAUNCH_OVERRIDE && op <= GP_KFD_DBG_SET_FLAGS;
}

static int task_of(struct gp_vgpu_server *server, u32 tid, struct gp_vgpu_server_task *task)
{
	return tid > INT32_MAX ? -ESRCH : server->host.task(server->host.context, (pid_t)tid, task);
}

/* The target's process object; ENABLE by its tracer makes one. */
static int find_target(struct gp_vgpu_server *server, struct gp_vgpu_request *request,
		       struct gp_vgpu_process **target)
{
	const struct gp_kfd_dbg_trap_args *args = GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args);
	struct gp_vgpu_server_task task;
	bool traced;

	if (task_of(server, args->pid, &task) || !task.has_memory)
		return -ESRCH;
	traced = args->pid != (u32)request->header.tid && task.tracer == request->header.tid;
	*target = gp_vgpu_process_find(server, task.tgid);
	if (!*target && args->op == GP_KFD_DBG_ENABLE && traced) {
		*target = gp_vgpu_process_add(server, task.tgid);
		return *target ? 0 : -ESRCH;
	}
	/* It came into being while this request stood in its caller's line. */
	if (*target != request->owner)
		return -ESRCH;
	return *target ? 0 : -ESRCH;
}

/* The very thread that traces the lead thread or, since the fix, the process that got that far. */
static int check_ptrace(struct gp_vgpu_server *server, const struct gp_vgpu_request *request,
			const struct gp_vgpu_process *target)
{
	const struct gp_kfd_dbg_trap_args *args = GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args);
	struct gp_vgpu_server_task caller, lead;

	if (target == request->process)
		return 0;
	if (server->options.era == GP_ERA_6_5 && args->op == GP_KFD_DBG_DISABLE)
		return 0;
	if (server->options.era >= GP_ERA_6_12 && target->debug.debugger == request->process)
		return 0;
	/* A client must not use the thread id of another process. */
	if (task_of(server, (u32)request->header.tid, &caller) ||
	    caller.tgid != request->process->pid)
		return -EPERM;
	if (task_of(server, (u32)target->pid, &lead) || lead.tracer != request->header.tid)
		return -EPERM;
	return 0;
}

static int check_state(struct gp_vgpu_server *server, const struct gp_vgpu_request *request,
		       const struct gp_vgpu_process *target)
{
	const struct gp_kfd_dbg_trap_args *args = GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args);

	if (args->op != GP_KFD_DBG_ENABLE && !target->debug.enabled)
		return -EINVAL;
	if (needs_runtime(args->op) && target->runtime_state != GP_KFD_RUNTIME_ENABLED)
		return -EPERM;
	if (args->op == GP_KFD_DBG_SET_NODE_ADDRESS_WATCH &&
	    !gp_vgpu_device(server, args->set_node_address_watch.gpu_id))
		return -ENODEV;
	if (args->op == GP_KFD_DBG_CLEAR_NODE_ADDRESS_WATCH &&
	    !gp_vgpu_device(server, args->clear_node_address_watch.gpu_id))
		return -ENODEV;
	return 0;
}

/* ---- ENABLE and DISABLE ---- */

/* Runtime information back to the debugger. */
static void put_runtime_info(struct gp_vgpu_request *request, const struct gp_vgpu_process *target,
			     u32 asked)
{
	struct gp_kfd_runtime_info info = {
		.r_debug = target->r_debug,
		.runtime_state = target->runtime_state,
		.ttmp_setup = target->ttmp_setup,
	};
	u32 size = GP_MIN(asked, (u32)sizeof(info));

	gp_vgpu_payload(request, &info, size);
}

static int enable(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
		  struct gp_vgpu_request *request)
{
	struct gp_kfd_dbg_trap_enable_args *args =
		&GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args)->enable;
	u32 asked = args->rinfo_size;
	int error;

	/* Before anything can fail, and not undone: a process that tries ENABLE becomes the
	 * debugger. */
	if (target != request->process) {
		target->debug.debugger = request->process;
		target->debug.dangling = false;
	}
	if (target->debug.enabled)
		return -EALREADY;
	error = gp_vgpu_debug_possible(server, target);
	if (error)
		return error;
	if (request->received_fd < 0)
		return -EBADF;
	args->rinfo_size = sizeof(struct gp_kfd_runtime_info);
	if (asked && request->header.flags & (GP_VGPU_NULL_ARRAY | GP_VGPU_BAD_ARRAY))
		return -EFAULT;
	target->debug.event_fd = gp_vgpu_foreign_adopt(request->received_fd);
	request->received_fd = -1;
	target->debug.enabled = true;
	if (target->debug.debugger)
		target->debug.debugger->debugging++;
	target->debug.exception_mask = args->exception_mask;
	put_runtime_info(request, target, asked);
	/* Without a runtime the hardware is left alone until there is one. */
	if (target->runtime_state == GP_KFD_RUNTIME_ENABLED)
		gp_vgpu_debug_refresh(server, request);
	return 0;
}

static int disable(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
		   struct gp_vgpu_request *request)
{
	if (!target->debug.enabled)
		return 0;
	if (target->runtime_state == GP_KFD_RUNTIME_ENABLED)
		gp_vgpu_debug_deactivate(server, target, request);
	else if (target->runtime_state != GP_KFD_RUNTIME_DISABLED)
		target->runtime_state = GP_KFD_RUNTIME_ENABLED;
	gp_vgpu_foreign_close(target->debug.event_fd);
	target->debug.event_fd = -1;
	if (target->debug.debugger)
		target->debug.debugger->debugging--;
	/* The driver counts down in an object that is gone; here it is only counted. */
	server->freed_writes += target->debug.dangling;
	target->debug.dangling = false;
	target->debug.debugger = NULL;
	target->debug.enabled = false;
	target->debug.exception_mask = 0;
	gp_vgpu_debug_clear_status(target);
	gp_vgpu_wake_waiters(server, target);
	return 0;
}

void gp_vgpu_debug_process_gone(struct gp_vgpu_server *server, struct gp_vgpu_process *process)
{
	(void)disable(server, process, NULL);
	/* The driver looks for targets only while its counter says that there are some. */
	for (struct gp_vgpu_process *p = server->processes; p; p = p->next)
		if (process->debugging > 0 && p->debug.debugger == process)
			(void)disable(server, p, NULL);
	/* It keeps a pointer to freed memory in a stolen target; this keeps none. */
	for (struct gp_vgpu_process *p = server->processes; p; p = p->next)
		if (p->debug.debugger == process) {
			p->debug.debugger = NULL;
			p->debug.dangling = p->debug.enabled;
		}
}

/* A DESTROY whose queue is not suspended any more. */
static bool may_destroy(struct gp_vgpu_process *process, const struct gp_vgpu_request *request)
{
	const struct gp_vgpu_queue *queue;

	if (request->header.ioctl_nr != _IOC_NR(GP_KFD_IOC_DESTROY_QUEUE))
		return false;
	queue = gp_vgpu_queue(process, (u32)request->context[0]);
	return queue && !queue->suspended;
}

void gp_vgpu_wake_waiters(struct gp_vgpu_server *server, struct gp_vgpu_process *process)
{
	struct gp_vgpu_request *request = process->parked;

	while (request) {
		if (!may_destroy(process, request)) {
			request = request->next;
			continue;
		}
		gp_vgpu_request_unpark(server, request);
		request = process->parked; /* what runs now may have changed the list */
	}
}

/* ---- dispatch ---- */

static int send_runtime_event(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
			      struct gp_vgpu_request *request)
{
	const struct gp_kfd_dbg_trap_send_runtime_event_args *args =
		&GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args)->send_runtime_event;
	u64 rest = args->exception_mask;

	if (rest & GP_KFD_EC_MASK(GP_KFD_EC_DEVICE_MEMORY_VIOLATION)) {
		const struct gp_vgpu_device *device = gp_vgpu_device(server, args->gpu_id);

		if (!device)
			return -ENODEV;
		gp_vgpu_ring_tell(target, &(struct gp_vgpu_done){.kind = GP_VGPU_FAULT,
								 .tag = device->index});
		rest &= ~GP_KFD_EC_MASK(GP_KFD_EC_DEVICE_MEMORY_VIOLATION);
	}
	if (rest & GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME)) {
		gp_vgpu_runtime_post(server, target);
		rest &= ~GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME);
	}
	/* The driver does not say that there is no such queue (seen in kernel/testbed). */
	if (!rest || !gp_vgpu_queue(target, args->queue_id))
		return 0;
	gp_vgpu_ring_tell(target, &(struct gp_vgpu_done){.kind = GP_VGPU_PASSED,
							 .queue_id = args->queue_id,
							 .tag = rest});
	return 0;
}

static int set_flags(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
		     struct gp_vgpu_request *request)
{
	struct gp_kfd_dbg_trap_set_flags_args *args =
		&GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args)->set_flags;
	u32 wanted = args->flags, before = target->debug.flags;

	args->flags = before;
	if (wanted & GP_KFD_DBG_FLAG_SINGLE_MEM_OP &&
	    !(server->devices[0].file.capability & GP_KFD_CAP_PRECISE_MEMORY))
		return -EACCES;
	target->debug.flags = wanted & GP_KFD_DBG_FLAG_SINGLE_MEM_OP;
	gp_vgpu_debug_refresh(server, request);
	return 0;
}

static gp_vgpu_debug_operation *const operations[] = {
	[GP_KFD_DBG_ENABLE] = enable,
	[GP_KFD_DBG_DISABLE] = disable,
	[GP_KFD_DBG_SEND_RUNTIME_EVENT] = send_runtime_event,
	[GP_KFD_DBG_SET_EXCEPTIONS_ENABLED] = gp_vgpu_debug_set_mask,
	[GP_KFD_DBG_SET_WAVE_LAUNCH_OVERRIDE] = gp_vgpu_debug_launch,
	[GP_KFD_DBG_SET_WAVE_LAUNCH_MODE] = gp_vgpu_debug_launch,
	[GP_KFD_DBG_SUSPEND_QUEUES] = gp_vgpu_debug_suspend,
	[GP_KFD_DBG_RESUME_QUEUES] = gp_vgpu_debug_resume,
	[GP_KFD_DBG_SET_NODE_ADDRESS_WATCH] = gp_vgpu_debug_watch,
	[GP_KFD_DBG_CLEAR_NODE_ADDRESS_WATCH] = gp_vgpu_debug_watch,
	[GP_KFD_DBG_SET_FLAGS] = set_flags,
	[GP_KFD_DBG_QUERY_DEBUG_EVENT] = gp_vgpu_debug_query_event,
	[GP_KFD_DBG_QUERY_EXCEPTION_INFO] = gp_vgpu_debug_query_info,
	[GP_KFD_DBG_GET_QUEUE_SNAPSHOT] = gp_vgpu_debug_queue_snapshot,
	[GP_KFD_DBG_GET_DEVICE_SNAPSHOT] = gp_vgpu_debug_device_snapshot,
};

int gp_vgpu_serve_dbg_trap(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	u32 op = GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args)->op;
	struct gp_vgpu_process *target = NULL;
	int error;

	if (request->process->context != GP_VGPU_PRIMARY)
		return -EOPNOTSUPP;
	if (server->options.policy == GP_POLICY_NO_HWS)
		return -EINVAL;
	error = find_target(server, request, &target);
	if (!error)
		error = check_ptrace(server, request, target);
	if (!error)
		error = check_state(server, request, target);
	if (error)
		return error;
	return op < GP_ARRAY_SIZE(operations) && operations[op]
		       ? operations[op](server, target, request)
		       : -EINVAL;
}
