// SPDX-License-Identifier: MIT
/*
 * SUSPEND on a GPU with MES (gfx11 and later): the firmware is asked to take the queues off one
 * after another. The grace period is not passed on, and the first failure ends the loop: what comes
 * after it in the list stays INVALID and is not touched. (The model has no unmap of a single queue:
 * each of them is one of the whole device.)
 */
#include <errno.h>

#include "vgpu/server/state.h"

/* In request->context: how many queues of the list are done with, and how many count. */
enum { DONE, COUNT };

static u32 *ids_of(struct gp_vgpu_request *request)
{
	return (u32 *)(void *)request->payload;
}

static const struct gp_kfd_dbg_trap_suspend_queues_args *args_of(struct gp_vgpu_request *request)
{
	return &GP_VGPU_ARGS(request, gp_kfd_dbg_trap_args)->suspend_queues;
}

static struct gp_vgpu_queue *queue_at(const struct gp_vgpu_process *target, u64 position)
{
	struct gp_vgpu_queue *queue = target->newest;

	for (; queue && position; position--)
		queue = queue->older;
	return queue;
}

static void succeeded(struct gp_vgpu_request *request, struct gp_vgpu_queue *queue, u32 at)
{
	ids_of(request)[at] &= ~GP_KFD_DBG_QUEUE_INVALID;
	queue->exception_status &= ~args_of(request)->exception_mask;
	request->context[COUNT]++;
}

static void finish(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	request->result = (s64)request->context[COUNT];
	for (struct gp_vgpu_queue *q = request->owner->newest; q && request->result; q = q->older)
		gp_vgpu_save_headers(server, q, q->args.ctx_save_restore_address);
}

/* False when its removal was asked for and is waited for, or failed. */
static bool suspend_next(struct gp_vgpu_server *server, struct gp_vgpu_request *request,
			 struct gp_vgpu_queue *queue)
{
	u32 at = gp_vgpu_debug_index(ids_of(request), args_of(request)->num_queues, queue->id);
	bool active = gp_vgpu_queue_active(queue);

	if (at == UINT32_MAX || (!queue->suspended && !gp_vgpu_debug_may_suspend(queue)))
		return true;
	if (queue->suspended || !active) {
		queue->suspended = true;
		succeeded(request, queue, at);
		return true;
	}
	queue->suspended = true;
	gp_vgpu_queue_apply(server, queue);
	gp_vgpu_update(server, queue->device, GP_KFD_GRACE_DEFAULT, request);
	return false;
}

static void go_on(struct gp_vgpu_server *server, struct gp_vgpu_request *request);

static void removed(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_vgpu_queue *queue = queue_at(request->owner, request->context[DONE]);
	u32 at = gp_vgpu_debug_index(ids_of(request), args_of(request)->num_queues, queue->id);

	if (request->update_error) {
		ids_of(request)[at] |= GP_KFD_DBG_QUEUE_ERROR;
		finish(server, request);
		return;
	}
	succeeded(request, queue, at);
	request->context[DONE]++;
	go_on(server, request);
}

static void go_on(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_vgpu_queue *queue;

	request->resume = removed;
	while ((queue = queue_at(request->owner, request->context[DONE]))) {
		if (!suspend_next(server, request, queue)) {
			if (!request->waiting)
				removed(server, request);
			return;
		}
		request->context[DONE]++;
	}
	finish(server, request);
}

void gp_vgpu_debug_suspend_mes(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	request->context[DONE] = request->context[COUNT] = 0;
	go_on(server, request);
}
