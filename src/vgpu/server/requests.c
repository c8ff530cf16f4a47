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

#include "vgpu/server/state.h"

/* Its turn has come; the client does the rest. */
static int take_turn(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	(void)server, (void)request;
	return 0;
}

/* The calls that the server answers (ioctls.c says which). */
static gp_vgpu_server_handler *const handlers[GP_KFD_NR_END] = {
	[_IOC_NR(GP_KFD_IOC_CREATE_QUEUE)] = gp_vgpu_serve_create_queue,
	[_IOC_NR(GP_KFD_IOC_DESTROY_QUEUE)] = gp_vgpu_serve_destroy_queue,
	[_IOC_NR(GP_KFD_IOC_UPDATE_QUEUE)] = gp_vgpu_serve_update_queue,
	[_IOC_NR(GP_KFD_IOC_SET_CU_MASK)] = gp_vgpu_serve_set_cu_mask,
	[_IOC_NR(GP_KFD_IOC_GET_QUEUE_WAVE_STATE)] = gp_vgpu_serve_wave_state,
	[_IOC_NR(GP_KFD_IOC_ALLOC_QUEUE_GWS)] = gp_vgpu_serve_alloc_gws,
	[_IOC_NR(GP_KFD_IOC_ALLOC_MEMORY_OF_GPU)] = gp_vgpu_serve_alloc_memory,
	[_IOC_NR(GP_KFD_IOC_FREE_MEMORY_OF_GPU)] = gp_vgpu_serve_free_memory,
	[_IOC_NR(GP_KFD_IOC_AVAILABLE_MEMORY)] = gp_vgpu_serve_available_memory,
	[_IOC_NR(GP_KFD_IOC_SMI_EVENTS)] = gp_vgpu_serve_smi_events,
	[_IOC_NR(GP_KFD_IOC_CRIU_OP)] = gp_vgpu_serve_criu,
	[_IOC_NR(GP_KFD_IOC_GET_CLOCK_COUNTERS)] = take_turn,
	[_IOC_NR(GP_KFD_IOC_RUNTIME_ENABLE)] = gp_vgpu_serve_runtime_enable,
	[_IOC_NR(GP_KFD_IOC_DBG_TRAP)] = gp_vgpu_serve_dbg_trap,
};

static gp_vgpu_server_handler *handler_of(u32 nr)
{
	return nr < GP_KFD_NR_END ? handlers[nr] : NULL;
}

void gp_vgpu_request_free(struct gp_vgpu_request *request)
{
	gp_vgpu_foreign_close(request->received_fd);
	if (request->send_fd >= 0)
		close(request->send_fd);
	free(request->payload);
	free(request);
}

void gp_vgpu_payload(struct gp_vgpu_request *request, const void *data, u32 size)
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

static void line_add(struct gp_vgpu_process *owner, struct gp_vgpu_request *request)
{
	request->owner = owner;
	request->next = NULL;
	*owner->requests_tail = request;
	owner->requests_tail = &request->next;
}

static void line_remove(struct gp_vgpu_process *owner, struct gp_vgpu_request *request)
{
	struct gp_vgpu_request **at = &owner->requests;

	while (*at && *at != request)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = request->next;
	if (!*at)
		owner->requests_tail = at;
}

static void parked_remove(struct gp_vgpu_process *owner, struct gp_vgpu_request *request)
{
	struct gp_vgpu_request **at = &owner->parked;

	while (*at && *at != request)
		at = &(*at)->next;
	if (*at)
		*at = request->next;
}

static void complete(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	line_remove(request->owner, request);
	if (request->process)
		server->host.reply(server, request);
	gp_vgpu_request_free(request);
}

static bool is_suspend(const struct gp_vgpu_request *request)
{
	return request->header.ioctl_nr == _IOC_NR(GP_KFD_IOC_DBG_TRAP) &&
	       GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args)->op == GP_KFD_DBG_SUSPEND_QUEUES;
}

/* The client answers some calls itself: it must know when the driver would not let it. */
static void show_locks(struct gp_vgpu_process *process)
{
	const struct gp_vgpu_request *first = process->requests;
	u32 locks = first ? GP_VGPU_LOCK_PROCESS : 0;

	if (first && first->waiting && is_suspend(first))
		locks |= GP_VGPU_LOCK_EVENTS;
	if (process->shared)
		__atomic_store_n(&process->shared->locks, locks, __ATOMIC_RELEASE);
}

void gp_vgpu_serve(struct gp_vgpu_server *server, struct gp_vgpu_process *process)
{
	struct gp_vgpu_request *request;

	if (process->serving || process->dead)
		return;
	process->serving = true;
	while ((request = process->requests) && !request->started) {
		gp_vgpu_server_handler *handle = handler_of(request->header.ioctl_nr);

		request->started = true;
		if (request->resume)
			request->resume(server, request); /* parked before, awake now */
		else
			request->result = handle ? handle(server, request) : -ENOTTY;
		if (!request->waiting)
			complete(server, request);
	}
	process->serving = false;
	show_locks(process);
}

/* Whose line: DBG_TRAP takes the target's mutex, CRIU_OP that of whose descriptor it is. */
static struct gp_vgpu_process *owner_of(struct gp_vgpu_server *server,
					const struct gp_vgpu_request *request)
{
	const struct gp_kfd_dbg_trap_args *args = GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args);
	struct gp_vgpu_process *target = NULL;
	struct gp_vgpu_server_task task;

	if (request->header.ioctl_nr == _IOC_NR(GP_KFD_IOC_CRIU_OP))
		target = gp_vgpu_process_find(server, gp_vgpu_criu_pid(request));
	else if (request->header.ioctl_nr == _IOC_NR(GP_KFD_IOC_DBG_TRAP) &&
		 server->host.task(server->host.context, (pid_t)args->pid, &task) == 0)
		target = gp_vgpu_process_find(server, task.tgid);
	return target ? target : request->process;
}

void gp_vgpu_request_submit(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_vgpu_process *owner = owner_of(server, request);

	line_add(owner, request);
	gp_vgpu_serve(server, owner);
}

void gp_vgpu_request_updated(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_vgpu_process *owner = request->owner;

	request->waiting = false;
	if (request->resume)
		request->resume(server, request);
	if (!request->waiting)
		complete(server, request);
	gp_vgpu_serve(server, owner);
}

void gp_vgpu_request_park(struct gp_vgpu_request *request)
{
	line_remove(request->owner, request);
	request->next = request->owner->parked;
	request->owner->parked = request;
	request->waiting = request->parked = true;
}

void gp_vgpu_request_unpark(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_vgpu_process *owner = request->owner;

	parked_remove(owner, request);
	request->waiting = request->parked = request->started = false;
	line_add(owner, request);
	gp_vgpu_serve(server, owner);
}

void gp_vgpu_request_cancel(struct gp_vgpu_server *server,
			    const struct gp_vgpu_connection *connection, u32 sequence)
{
	for (struct gp_vgpu_process *p = server->processes; p; p = p->next) {
		/* Not interruptible where it is, but the signal stays pending. */
		for (struct gp_vgpu_request *r = p->requests; r; r = r->next)
			if (r->connection == connection && r->header.sequence == sequence)
				r->interrupted = true;
		for (struct gp_vgpu_request *r = p->parked; r; r = r->next)
			if (r->connection == connection && r->header.sequence == sequence) {
				r->interrupted = true;
				gp_vgpu_request_unpark(server, r);
				return;
			}
	}
}

static void drop(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	gp_vgpu_update_forget(server, request);
	gp_vgpu_request_free(request);
}

/* The line of a target that died: requests of other processes fail. */
static void fail_line(struct gp_vgpu_server *server, struct gp_vgpu_process *dead,
		      struct gp_vgpu_request *list)
{
	struct gp_vgpu_request *next;

	for (; list; list = next) {
		next = list->next;
		if (list->process && list->process != dead) {
			list->result = -ESRCH;
			server->host.reply(server, list);
		}
		drop(server, list);
	}
}

/* Requests of the dead process about others: a request that began continues without a reply. */
static void orphan(struct gp_vgpu_server *server, struct gp_vgpu_process *dead,
		   struct gp_vgpu_process *other)
{
	struct gp_vgpu_request *request = other->requests, *next;

	for (; request; request = next) {
		next = request->next;
		if (request->process != dead)
			continue;
		request->process = NULL;
		request->connection = NULL;
		if (!request->started) {
			line_remove(other, request);
			drop(server, request);
		}
	}
}

void gp_vgpu_requests_drop(struct gp_vgpu_server *server, struct gp_vgpu_process *process)
{
	struct gp_vgpu_request *line = process->requests, *parked = process->parked;

	process->requests = process->parked = NULL;
	process->requests_tail = &process->requests;
	fail_line(server, process, line);
	fail_line(server, process, parked);
	for (struct gp_vgpu_process *p = server->processes; p; p = p->next)
		if (p != process)
			orphan(server, process, p);
}
