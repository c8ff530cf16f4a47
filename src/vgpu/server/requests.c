// SPDX-License-Identifier: MIT
/*
 * The order of ioctls. The driver holds the process's mutex through most of them, and DBG_TRAP
 * holds that of its target: so each request stands in the line of one process (`owner`), and only
 * the first of a line runs. A request that gives the mutex up while it waits is parked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vgpu/server/server.h"

typedef void handler(struct gp_vgpu_server *vm, struct gp_vgpu_server_request *request);

/* Its turn has come; the client does the rest. */
static void take_turn(struct gp_vgpu_server *vm, struct gp_vgpu_server_request *request)
{
	(void)vm;
	request->result = 0;
}

static handler *handler_of(u32 nr)
{
	switch (nr) {
	case _IOC_NR(GP_KFD_IOC_CREATE_QUEUE):
	case _IOC_NR(GP_KFD_IOC_DESTROY_QUEUE):
	case _IOC_NR(GP_KFD_IOC_UPDATE_QUEUE):
	case _IOC_NR(GP_KFD_IOC_SET_CU_MASK):
	case _IOC_NR(GP_KFD_IOC_GET_QUEUE_WAVE_STATE):
	case _IOC_NR(GP_KFD_IOC_ALLOC_QUEUE_GWS):
		return gp_vgpu_server_ioctl_queue;
	case _IOC_NR(GP_KFD_IOC_ALLOC_MEMORY_OF_GPU):
	case _IOC_NR(GP_KFD_IOC_FREE_MEMORY_OF_GPU):
	case _IOC_NR(GP_KFD_IOC_AVAILABLE_MEMORY):
		return gp_vgpu_server_ioctl_memory;
	case _IOC_NR(GP_KFD_IOC_SMI_EVENTS):
		return gp_vgpu_server_ioctl_smi;
	case _IOC_NR(GP_KFD_IOC_CRIU_OP):
		return gp_vgpu_server_ioctl_criu;
	case _IOC_NR(GP_KFD_IOC_GET_CLOCK_COUNTERS):
		return take_turn;
	case _IOC_NR(GP_KFD_IOC_RUNTIME_ENABLE):
		return gp_vgpu_server_ioctl_runtime;
	case _IOC_NR(GP_KFD_IOC_DBG_TRAP):
		return gp_vgpu_server_ioctl_debug;
	default:
		return NULL;
	}
}

void gp_vgpu_server_request_free(struct gp_vgpu_server_request *request)
{
	gp_vgpu_server_foreign_close(request->received_fd);
	if (request->send_fd >= 0)
		close(request->send_fd);
	free(request->payload);
	free(request);
}

void gp_vgpu_server_payload(struct gp_vgpu_server_request *request, const void *data, u32 size)
{
	u32 end = request->payload_out + size;
	u8 *larger;

	if (end > GP_VGPU_PAYLOAD_MAX || !size)
		return;
	larger = realloc(request->payload, end);
	if (!larger)
		return;
	request->payload = larger;
	memcpy(larger + request->payload_out, data, size);
	request->payload_out = end;
}

static void line_add(struct gp_vgpu_server_process *owner, struct gp_vgpu_server_request *request)
{
	request->owner = owner;
	request->next = NULL;
	*owner->requests_tail = request;
	owner->requests_tail = &request->next;
}

static void line_remove(struct gp_vgpu_server_process *owner,
			struct gp_vgpu_server_request *request)
{
	struct gp_vgpu_server_request **at = &owner->requests;

	while (*at && *at != request)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = request->next;
	if (!*at)
		owner->requests_tail = at;
}

static void parked_remove(struct gp_vgpu_server_process *owner,
			  struct gp_vgpu_server_request *request)
{
	struct gp_vgpu_server_request **at = &owner->parked;

	while (*at && *at != request)
		at = &(*at)->next;
	if (*at)
		*at = request->next;
}

static void complete(struct gp_vgpu_server *vm, struct gp_vgpu_server_request *request)
{
	line_remove(request->owner, request);
	if (request->process)
		vm->host.reply(vm, request);
	gp_vgpu_server_request_free(request);
}

static bool is_suspend(const struct gp_vgpu_server_request *request)
{
	return request->header.ioctl_nr == _IOC_NR(GP_KFD_IOC_DBG_TRAP) &&
	       GP_VM_ARGS(request, gp_kfd_dbg_trap_args)->op == GP_KFD_DBG_SUSPEND_QUEUES;
}

/* The client answers some calls itself: it must know when the driver would not let it. */
static void show_locks(struct gp_vgpu_server_process *process)
{
	const struct gp_vgpu_server_request *first = process->requests;
	u32 locks = first ? GP_VGPU_LOCK_PROCESS : 0;

	if (first && first->waiting && is_suspend(first))
		locks |= GP_VGPU_LOCK_EVENTS;
	if (process->shared)
		__atomic_store_n(&process->shared->locks, locks, __ATOMIC_RELEASE);
}

void gp_vgpu_server_serve(struct gp_vgpu_server *vm, struct gp_vgpu_server_process *process)
{
	struct gp_vgpu_server_request *request;

	if (process->serving || process->dead)
		return;
	process->serving = true;
	while ((request = process->requests) && !request->started) {
		handler *handle = handler_of(request->header.ioctl_nr);

		request->started = true;
		if (request->resume)
			request->resume(vm, request); /* parked before, awake now */
		else if (handle)
			handle(vm, request);
		else
			request->result = -ENOTTY;
		if (!request->waiting)
			complete(vm, request);
	}
	process->serving = false;
	show_locks(process);
}

/* Whose line: DBG_TRAP takes the target's mutex, CRIU_OP that of whose descriptor it is. */
static struct gp_vgpu_server_process *owner_of(struct gp_vgpu_server *vm,
					       const struct gp_vgpu_server_request *request)
{
	const struct gp_kfd_dbg_trap_args *args = GP_VM_ARGS(request, gp_kfd_dbg_trap_args);
	struct gp_vgpu_server_process *target = NULL;
	struct gp_vgpu_server_task task;

	if (request->header.ioctl_nr == _IOC_NR(GP_KFD_IOC_CRIU_OP))
		target = gp_vgpu_server_process_find(vm, gp_vgpu_server_criu_pid(request));
	else if (request->header.ioctl_nr == _IOC_NR(GP_KFD_IOC_DBG_TRAP) &&
		 vm->host.task(vm->host.context, (pid_t)args->pid, &task) == 0)
		target = gp_vgpu_server_process_find(vm, task.tgid);
	return target ? target : request->process;
}

void gp_vgpu_server_request_submit(struct gp_vgpu_server *vm,
				   struct gp_vgpu_server_request *request)
{
	struct gp_vgpu_server_process *owner = owner_of(vm, request);

	line_add(owner, request);
	gp_vgpu_server_serve(vm, owner);
}

void gp_vgpu_server_request_updated(struct gp_vgpu_server *vm,
				    struct gp_vgpu_server_request *request)
{
	struct gp_vgpu_server_process *owner = request->owner;

	request->waiting = false;
	if (request->resume)
		request->resume(vm, request);
	if (!request->waiting)
		complete(vm, request);
	gp_vgpu_server_serve(vm, owner);
}

void gp_vgpu_server_request_park(struct gp_vgpu_server_request *request)
{
	line_remove(request->owner, request);
	request->next = request->owner->parked;
	request->owner->parked = request;
	request->waiting = request->parked = true;
}

void gp_vgpu_server_request_unpark(struct gp_vgpu_server *vm,
				   struct gp_vgpu_server_request *request)
{
	struct gp_vgpu_server_process *owner = request->owner;

	parked_remove(owner, request);
	request->waiting = request->parked = request->started = false;
	line_add(owner, request);
	gp_vgpu_server_serve(vm, owner);
}

void gp_vgpu_server_request_cancel(struct gp_vgpu_server *vm,
				   const struct gp_vgpu_server_connection *connection, u32 sequence)
{
	for (struct gp_vgpu_server_process *p = vm->processes; p; p = p->next)
		for (struct gp_vgpu_server_request *r = p->parked; r; r = r->next)
			if (r->connection == connection && r->header.sequence == sequence) {
				r->interrupted = true;
				gp_vgpu_server_request_unpark(vm, r);
				return;
			}
}

static void drop(struct gp_vgpu_server *vm, struct gp_vgpu_server_request *request)
{
	gp_vgpu_server_update_forget(vm, request);
	gp_vgpu_server_request_free(request);
}

/* The line of a target that died: those who asked about it are told. */
static void fail_line(struct gp_vgpu_server *vm, struct gp_vgpu_server_process *dead,
		      struct gp_vgpu_server_request *list)
{
	struct gp_vgpu_server_request *next;

	for (; list; list = next) {
		next = list->next;
		if (list->process && list->process != dead) {
			list->result = -ESRCH;
			vm->host.reply(vm, list);
		}
		drop(vm, list);
	}
}

/* What the dead process asked about others: what began goes on, unheard. */
static void orphan(struct gp_vgpu_server *vm, struct gp_vgpu_server_process *dead,
		   struct gp_vgpu_server_process *other)
{
	struct gp_vgpu_server_request *request = other->requests, *next;

	for (; request; request = next) {
		next = request->next;
		if (request->process != dead)
			continue;
		request->process = NULL;
		request->connection = NULL;
		if (!request->started) {
			line_remove(other, request);
			drop(vm, request);
		}
	}
}

void gp_vgpu_server_requests_drop(struct gp_vgpu_server *vm, struct gp_vgpu_server_process *process)
{
	struct gp_vgpu_server_request *line = process->requests, *parked = process->parked;

	process->requests = process->parked = NULL;
	process->requests_tail = &process->requests;
	fail_line(vm, process, line);
	fail_line(vm, process, parked);
	for (struct gp_vgpu_server_process *p = vm->processes; p; p = p->next)
		if (p != process)
			orphan(vm, process, p);
}
