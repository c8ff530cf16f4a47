// SPDX-License-Identifier: MIT
/*
 * Where clients execute kernels, a queue that is off the hardware must stand still in its client as
 * well. The server counts a word of each queue up when that changes (odd: off), and the client
 * repeats the word when its threads have followed. A call that takes queues off returns after that.
 *
 * A client that does not answer is waited for no longer than SETTLE_NS: it is stopped, and executes
 * nothing, or it harms only itself.
 */
#include "base/core.h"
#include "vgpu/server/state.h"

#define SETTLE_NS (100 * GP_NS_PER_MS) /* real time */

static bool is_off(u32 word)
{
	return word & 1;
}

/* The word of an earlier queue with this id does not count. */
void gp_vgpu_settle_begin(const struct gp_vgpu_queue *queue)
{
	struct gp_vgpu_shared *shared = queue->process->shared;

	if (!shared)
		return;
	shared->mirrors[queue->id].saved_stack = shared->mirrors[queue->id].saved_waves = 0;
	__atomic_store_n(&shared->mirrors[queue->id].off, queue->off, __ATOMIC_RELEASE);
}

/* `off`: the unmap is over, and queues that are not active any more are off. Otherwise the map is.
 */
void gp_vgpu_settle_publish(struct gp_vgpu_server *server, const struct gp_vgpu_device *device,
			    bool off)
{
	if (!server->options.compute)
		return;
	for (struct gp_vgpu_process *p = server->processes; p; p = p->next) {
		for (struct gp_vgpu_queue *queue = p->newest; queue; queue = queue->older) {
			if (!p->shared || queue->device != device ||
			    gp_vgpu_queue_active(queue) == off || is_off(queue->off) == off)
				continue;
			queue->off++;
			__atomic_store_n(&p->shared->mirrors[queue->id].off, queue->off,
					 __ATOMIC_RELEASE);
			p->dones_new = true;
		}
	}
}

/* One that was waited for in vain is not waited for again. */
static bool queue_settled(const struct gp_vgpu_queue *queue)
{
	const struct gp_vgpu_mirror *mirror = &queue->process->shared->mirrors[queue->id];

	return !is_off(queue->off) || queue->given_up == queue->off ||
	       __atomic_load_n(&mirror->off_seen, __ATOMIC_ACQUIRE) == queue->off;
}

/* `give_up`: those that are not are not waited for any more. */
static bool all_settled(struct gp_vgpu_server *server, bool give_up)
{
	bool all = true;

	for (struct gp_vgpu_process *p = server->processes; p; p = p->next) {
		for (struct gp_vgpu_queue *queue = p->newest; queue; queue = queue->older) {
			if (!p->shared || p->dead || queue_settled(queue))
				continue;
			if (give_up)
				queue->given_up = queue->off;
			all = false;
		}
	}
	return all;
}

bool gp_vgpu_settle_wait(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	if (!server->options.compute || all_settled(server, false))
		return false;
	request->settle_until =
		server->now_ns + gp_scale(SETTLE_NS, server->options.speed_permille, 1000);
	request->settle_next = server->settling;
	server->settling = request;
	return true;
}

void gp_vgpu_settle_forget(struct gp_vgpu_server *server, const struct gp_vgpu_request *request)
{
	struct gp_vgpu_request **at = &server->settling;

	while (*at && *at != request)
		at = &(*at)->settle_next;
	if (*at)
		*at = request->settle_next;
}

void gp_vgpu_settle_check(struct gp_vgpu_server *server)
{
	struct gp_vgpu_request *request = server->settling;

	while (request) {
		bool late = server->now_ns >= request->settle_until;

		if (!all_settled(server, late) && !late) {
			request = request->settle_next;
			continue;
		}
		gp_vgpu_settle_forget(server, request);
		gp_vgpu_request_updated(server, request);
		request = server->settling; /* the list may have changed */
	}
}

u64 gp_vgpu_settle_next(const struct gp_vgpu_server *server)
{
	u64 next = GP_MODEL_NEVER;

	for (const struct gp_vgpu_request *r = server->settling; r; r = r->settle_next)
		next = GP_MIN(next, r->settle_until);
	return next;
}
