// SPDX-License-Identifier: MIT
/* Queues come, change and go: the CP's side of CREATE_QUEUE, UPDATE_QUEUE and DESTROY_QUEUE. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vgpu/compute/compute.h"
#include "vgpu/cp/execute.h"

/* CPU address of what the GPU has at va; the same number where the driver does not check. */
static void *translate(struct gp_vgpu_cp *cp, u32 gpu_id, u64 va, u64 size)
{
	void *pointer = gp_vgpu_gpu_pointer(cp->client, gpu_id, va, size);

	return pointer ? pointer : (void *)(uintptr_t)va;
}

/* ROCr's queue structure around the read pointer, if it is one. */
static u64 find_amd_queue(const struct gp_vgpu_cp_ring *ring)
{
	u64 address = (u64)(uintptr_t)ring->read_pointer -
		      offsetof(struct gp_amd_queue, read_dispatch_id);
	struct gp_amd_queue queue;

	if ((u64)(uintptr_t)ring->write_pointer !=
		    address + offsetof(struct gp_amd_queue, write_dispatch_id) ||
	    gp_vgpu_copy_in(&queue, address, sizeof(queue)) ||
	    queue.hsa_queue.base_address != ring->queue.ring ||
	    (u64)queue.hsa_queue.size * GP_AQL_PACKET_BYTES != ring->queue.ring_bytes)
		return 0;
	return address;
}

static int place(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
		 const struct gp_vgpu_cp_queue *queue)
{
	u8 probe;

	ring->queue = *queue;
	ring->base = NULL; /* a ring at 0 or too small is off */
	if (!queue->ring || queue->ring_bytes < GP_AQL_PACKET_BYTES)
		return 0;
	ring->base = translate(cp, ring->gpu_id, queue->ring, queue->ring_bytes);
	if (gp_vgpu_copy_in(&probe, (u64)(uintptr_t)ring->base, 1) ||
	    gp_vgpu_copy_in(&probe, (u64)(uintptr_t)ring->base + queue->ring_bytes - 1, 1)) {
		ring->base = NULL;
		return -EFAULT;
	}
	return 0;
}

static struct gp_vgpu_cp_ring *find(struct gp_vgpu_cp *cp, u32 queue_id)
{
	for (u32 i = 0; i < cp->ring_end; i++) {
		if (cp->rings[i].used && cp->rings[i].queue.id == queue_id)
			return &cp->rings[i];
	}
	return NULL;
}

static void forget(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring)
{
	u32 index = (u32)(ring - cp->rings);

	gp_vgpu_cp_execute_drop(cp, ring->queue.id);
	for (u32 i = 0; ring->in_flight && i < GP_CP_RECORDS; i++) {
		if (cp->records[i].generation && cp->records[i].ring == index)
			gp_vgpu_cp_record_free(cp, &cp->records[i]);
	}
	memset(ring, 0, sizeof(*ring));
	while (cp->ring_end && !cp->rings[cp->ring_end - 1].used)
		cp->ring_end--;
}

static int fill_in(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
		   const struct gp_vgpu_cp_queue *queue)
{
	u64 probe;
	int result;

	*ring = (struct gp_vgpu_cp_ring){
		.gpu_id = cp->client->machine.gpus[queue->gpu_index].gpu_id,
		.sdma = queue->type != GP_KFD_QUEUE_COMPUTE_AQL &&
			queue->type != GP_KFD_QUEUE_COMPUTE,
		.pm4_packets = queue->type == GP_KFD_QUEUE_COMPUTE,
	};
	ring->read_pointer = translate(cp, ring->gpu_id, queue->read_pointer, sizeof(u64));
	ring->write_pointer = translate(cp, ring->gpu_id, queue->write_pointer, sizeof(u64));
	if (gp_vgpu_copy_in(&probe, (u64)(uintptr_t)ring->write_pointer, sizeof(probe)) ||
	    gp_vgpu_copy_in(&probe, (u64)(uintptr_t)ring->read_pointer, sizeof(probe)))
		return -EFAULT;
	result = place(cp, ring, queue);
	if (result)
		return result;
	/* The read pointer of a PM4 queue has 32 bits. */
	ring->fetched = ring->launched = ring->sdma          ? probe & ~3ull
					 : ring->pm4_packets ? (u32)probe
							     : probe;
	ring->doorbell = &cp->doorbells.slices[queue->gpu_index].slots[queue->doorbell_slot];
	*ring->doorbell = UINT64_MAX; /* the first value rung may be 0 */
	if (!ring->sdma && !ring->pm4_packets)
		ring->amd_queue = find_amd_queue(ring);
	cp->client->shared->mirrors[queue->id].write_index = ring->fetched;
	cp->client->shared->mirrors[queue->id].read_index = ring->fetched;
	return 0;
}

static int add_locked(struct gp_vgpu_cp *cp, const struct gp_vgpu_cp_queue *queue)
{
	struct gp_vgpu_cp_ring *ring = find(cp, queue->id);
	int result;
	u32 i;

	if (ring)
		forget(cp, ring);
	for (i = 0; i < GP_VGPU_MAX_QUEUES && cp->rings[i].used; i++)
		;
	if (i == GP_VGPU_MAX_QUEUES)
		return -ENOSPC;
	ring = &cp->rings[i];
	result = fill_in(cp, ring, queue);
	if (result)
		return result;
	ring->used = true;
	if (cp->ring_end <= i)
		cp->ring_end = i + 1;
	return 0;
}

/* Without a lock: libc allocates memory for a thread from the application's allocator
 * (vgpu/heap.h). */
static int threads_start(struct gp_vgpu_cp *cp)
{
	struct gp_vgpu_compute *compute;
	int result = gp_vgpu_cp_start(cp);

	if (result)
		return result;
	pthread_mutex_lock(&cp->lock);
	compute = gp_vgpu_cp_computes(cp) ? cp->compute : NULL;
	pthread_mutex_unlock(&cp->lock);
	return compute ? gp_vgpu_compute_ready(compute) : 0;
}

int gp_vgpu_cp_add(struct gp_vgpu_client *client, const struct gp_vgpu_cp_queue *queue)
{
	struct gp_vgpu_cp *cp = gp_vgpu_cp_get(client);
	int result;

	if (!cp)
		return -ENOMEM;
	if (queue->gpu_index >= client->machine.gpu_count || queue->id >= GP_VGPU_MAX_QUEUES ||
	    queue->doorbell_slot >= GP_VGPU_DOORBELL_BYTES / sizeof(u64))
		return -EINVAL;
	result = gp_vgpu_cp_doorbell_fd(client, queue->gpu_index);
	if (result < 0)
		return result;
	gp_vgpu_cp_kernels_attach(cp->kernels);
	result = threads_start(cp);
	if (result)
		return result;
	pthread_mutex_lock(&cp->lock);
	result = add_locked(cp, queue);
	pthread_mutex_unlock(&cp->lock);
	gp_vgpu_cp_wake(cp);
	return result;
}

int gp_vgpu_cp_update(struct gp_vgpu_client *client, const struct gp_vgpu_cp_queue *queue)
{
	struct gp_vgpu_cp *cp = __atomic_load_n(&client->cp, __ATOMIC_ACQUIRE);
	struct gp_vgpu_cp_ring *ring;
	struct gp_vgpu_cp_queue changed;
	int result = -ENOENT;

	if (!cp)
		return -ENOENT;
	pthread_mutex_lock(&cp->lock);
	ring = find(cp, queue->id);
	if (ring) {
		changed = ring->queue;
		changed.ring = queue->ring;
		changed.ring_bytes = queue->ring_bytes;
		result = place(cp, ring, &changed);
	}
	pthread_mutex_unlock(&cp->lock);
	gp_vgpu_cp_wake(cp);
	return result;
}

void gp_vgpu_cp_remove(struct gp_vgpu_client *client, u32 queue_id)
{
	struct gp_vgpu_cp *cp = __atomic_load_n(&client->cp, __ATOMIC_ACQUIRE);
	struct gp_vgpu_cp_ring *ring;

	if (!cp)
		return;
	pthread_mutex_lock(&cp->lock);
	ring = find(cp, queue_id);
	if (ring)
		forget(cp, ring);
	pthread_mutex_unlock(&cp->lock);
}

static bool within(const volatile void *pointer, u64 bytes, u64 address, u64 size)
{
	u64 start = (u64)(uintptr_t)pointer;

	return start < address + size && address < start + bytes;
}

void gp_vgpu_cp_unmapped(struct gp_vgpu_client *client, u64 address, u64 size)
{
	struct gp_vgpu_cp *cp = __atomic_load_n(&client->cp, __ATOMIC_ACQUIRE);

	if (!cp || !__atomic_load_n(&cp->ring_end, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&cp->lock);
	for (u32 i = 0; i < cp->ring_end; i++) {
		struct gp_vgpu_cp_ring *ring = &cp->rings[i];

		if (!ring->used || !(within(ring->base, ring->queue.ring_bytes, address, size) ||
				     within(ring->read_pointer, sizeof(u64), address, size) ||
				     within(ring->write_pointer, sizeof(u64), address, size)))
			continue;
		ring->hold = GP_CP_HALTED;
		ring->faulted = true;
	}
	cp->step++; /* pages known to be readable may not be any more */
	if (cp->compute)
		gp_vgpu_compute_flush(cp->compute);
	pthread_mutex_unlock(&cp->lock);
}

void gp_vgpu_cp_remapped(struct gp_vgpu_client *client)
{
	struct gp_vgpu_cp *cp = __atomic_load_n(&client->cp, __ATOMIC_ACQUIRE);

	if (cp && __atomic_load_n(&cp->compute, __ATOMIC_ACQUIRE))
		gp_vgpu_compute_flush(cp->compute);
}

/*
 * The lock may have been held by a thread that is not here any more; nothing of the old state is
 * used again, so its memory is left alone rather than handed back under that lock.
 */
void gp_vgpu_cp_forked(struct gp_vgpu_client *client)
{
	struct gp_vgpu_cp *cp = client->cp;

	client->cp = NULL;
	if (!cp)
		return;
	gp_vgpu_cp_doorbells_forget(&cp->doorbells);
	gp_vgpu_close_own(cp->command_fd);
}
