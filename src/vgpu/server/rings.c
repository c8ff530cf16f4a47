// SPDX-License-Identifier: MIT
/*
 * The two rings of a client. Its side of them is memory it can write at any moment: a slot is
 * copied before it is looked at, and the server keeps its own indices.
 */
#include <errno.h>
#include <sys/socket.h>

#include "base/i18n.h"
#include "vgpu/server/state.h"

/* Far beyond any kernel; keeps the model's arithmetic away from its limits. */
#define MAX_WORKGROUPS   (1ull << 40)
#define MAX_WORKGROUP_NS (1ull << 40)
#define MAX_WAVES        64u
#define MAX_VGPRS        512u
#define MAX_LDS          (64u << 10)
/*
 * What one SDMA packet of a correct client moves, and everybody's unmap may have to wait for: 2^30
 * bytes in a line (a 30-bit count), or a slice of 2^14 by 2^14 elements of 16 bytes.
 */
#define MAX_BYTES (1ull << 32)

int gp_vgpu_work_check(const struct gp_vgpu_work *work, bool sdma, struct gp_model_work *out)
{
	bool kernel = work->flags & GP_VGPU_KERNEL;

	if (work->flags & ~(GP_VGPU_BARRIER | GP_VGPU_KERNEL) || work->bytes > MAX_BYTES)
		return -EPROTO;
	if (kernel && (sdma || !work->workgroups || work->workgroups > MAX_WORKGROUPS ||
		       work->workgroup_ns > MAX_WORKGROUP_NS || !work->waves_per_workgroup ||
		       work->waves_per_workgroup > MAX_WAVES || work->vgprs > MAX_VGPRS ||
		       work->lds_bytes > MAX_LDS))
		return -EPROTO;
	*out = (struct gp_model_work){
		.tag = work->tag,
		.barrier = work->flags & GP_VGPU_BARRIER,
		.kernel = kernel,
		.bytes = work->bytes,
	};
	if (kernel) {
		out->workgroups = work->workgroups;
		out->waves_per_workgroup = work->waves_per_workgroup;
		out->vgprs = work->vgprs;
		out->lds_bytes = work->lds_bytes;
		out->workgroup_ns = work->workgroup_ns;
	}
	return 0;
}

/* One packet to the model. -EAGAIN: not now. */
static int submit(struct gp_vgpu_server *server, struct gp_vgpu_process *process,
		  const struct gp_vgpu_work *slot)
{
	struct gp_vgpu_queue *queue = gp_vgpu_queue(process, slot->queue_id);
	struct gp_model_work work;
	int error;

	if (slot->queue_id >= GP_VGPU_MAX_QUEUES)
		return -EPROTO;
	if (!queue || process->work_consumed < process->stale[slot->queue_id])
		return 0; /* destroyed while the packet was on its way */
	error = gp_vgpu_work_check(slot, gp_vgpu_is_sdma(queue->args.queue_type), &work);
	if (error)
		return error;
	error = gp_model_submit(queue->device->model, gp_vgpu_server_now(server),
				queue->model_queue, &work);
	if (error)
		return error == -EAGAIN ? error : -EPROTO;
	queue->in_flight++;
	queue->dones_due += 2;
	process->outstanding++;
	process->dones_due += 2;
	return 0;
}

void gp_vgpu_ring_tell(struct gp_vgpu_process *process, const struct gp_vgpu_done *done)
{
	u32 consumed, unread;

	if (!process->shared)
		return;
	consumed = __atomic_load_n(&process->shared->done_ring.consumed, __ATOMIC_ACQUIRE);
	unread = process->done_produced - consumed;
	/* A client that does not read gets no more; packets under way have their room. */
	if (unread + process->dones_due + 1 > GP_VGPU_DONE_SLOTS)
		return;
	process->dones_due++;
	gp_vgpu_ring_done(process, done);
}

/* Room for the launch and the completion of one more packet, whatever the client reads. */
static int check_room(const struct gp_vgpu_process *process)
{
	u32 consumed = __atomic_load_n(&process->shared->done_ring.consumed, __ATOMIC_ACQUIRE);
	u32 unread = process->done_produced - consumed;

	if (unread > GP_VGPU_DONE_SLOTS)
		return -EPROTO;
	if (process->outstanding >= GP_VGPU_WORK_SLOTS ||
	    unread + process->dones_due + 2 > GP_VGPU_DONE_SLOTS)
		return -EAGAIN;
	return 0;
}

static int read_slots(struct gp_vgpu_server *server, struct gp_vgpu_process *process, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		struct gp_vgpu_work slot;
		int error = check_room(process);

		memcpy(&slot, &process->shared->work[process->work_consumed % GP_VGPU_WORK_SLOTS],
		       sizeof(slot));
		/* The slot is copied once: the compiler must not read it again after the check. */
		__asm__ volatile("" : : : "memory");
		if (!error)
			error = submit(server, process, &slot);
		if (error)
			return error;
		process->work_consumed++;
	}
	return 0;
}

void gp_vgpu_ring_forget(struct gp_vgpu_process *process, u32 queue_id)
{
	u32 produced;

	if (!process->shared)
		return;
	produced = __atomic_load_n(&process->shared->work_ring.produced, __ATOMIC_ACQUIRE);
	process->stale[queue_id] =
		process->work_consumed + (u32)(produced - (u32)process->work_consumed);
}

int gp_vgpu_ring_read(struct gp_vgpu_server *server, struct gp_vgpu_process *process)
{
	u32 count;
	int error;

	if (!process->shared || process->dead || process->condemned)
		return 0;
	count = __atomic_load_n(&process->shared->work_ring.produced, __ATOMIC_ACQUIRE) -
		(u32)process->work_consumed;
	error = count > GP_VGPU_WORK_SLOTS ? -EPROTO : read_slots(server, process, count);
	process->stalled = error == -EAGAIN;
	__atomic_store_n(&process->shared->work_ring.consumed, (u32)process->work_consumed,
			 __ATOMIC_RELEASE);
	if (error == -EPROTO)
		gp_diag(server->diag, GP_WARNING,
			"malformed packet in the work ring of process %d; connection closed",
			(int)process->pid);
	return error;
}

void gp_vgpu_ring_done(struct gp_vgpu_process *process, const struct gp_vgpu_done *done)
{
	struct gp_vgpu_shared *shared = process->shared;

	process->dones_due--;
	if (!shared)
		return;
	shared->done[process->done_produced % GP_VGPU_DONE_SLOTS] = *done;
	process->done_produced++;
	__atomic_store_n(&shared->done_ring.produced, process->done_produced, __ATOMIC_RELEASE);
	process->dones_new = true;
}

void gp_vgpu_ring_notify(struct gp_vgpu_server *server)
{
	for (struct gp_vgpu_process *p = server->processes; p; p = p->next) {
		if (!p->dones_new)
			continue;
		p->dones_new = false;
		/* Full: it has heard before and does not listen. */
		(void)!send(p->bell_fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
}
