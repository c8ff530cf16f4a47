// SPDX-License-Identifier: MIT
/* Packets under way: each has a record from the moment it is handed to the server until it is over.
 */
#include "vgpu/cp/cp_state.h"
#include "vgpu/heap.h"

/*
 * A queue may have a quarter of what is free: one that stands still (suspended) then never takes
 * the room the others need.
 */
static bool has_share(const struct gp_vgpu_cp *cp, const struct gp_vgpu_cp_ring *ring)
{
	u32 share = (GP_CP_RECORDS - cp->records_used) / 4;

	return ring->in_flight < (share < GP_CP_QUEUE_SHARE ? share : GP_CP_QUEUE_SHARE);
}

struct gp_vgpu_cp_record *gp_vgpu_cp_record_take(struct gp_vgpu_cp *cp,
						 struct gp_vgpu_cp_ring *ring)
{
	const struct gp_vgpu_ring *work = &cp->client->shared->work_ring;
	struct gp_vgpu_cp_record *record;
	u32 generation;

	if (!has_share(cp, ring) ||
	    work->produced - __atomic_load_n(&work->consumed, __ATOMIC_ACQUIRE) >=
		    GP_VGPU_WORK_SLOTS)
		return NULL;
	if (cp->free_record != GP_CP_NONE) {
		record = &cp->records[cp->free_record];
		cp->free_record = record->next_free;
	} else {
		record = &cp->records[cp->records_touched++];
	}
	cp->records_used++;
	generation = record->generation + 1;
	record->generation = generation;
	record->ring = (u32)(ring - cp->rings);
	record->launched = record->ended = record->completed = false;
	record->ordered = true;
	record->launch = NULL;
	record->blit = GP_CP_BLIT_NONE;
	record->words = 0;
	ring->in_flight++;
	return record;
}

void gp_vgpu_cp_record_free(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_record *record)
{
	cp->rings[record->ring].in_flight--;
	gp_vgpu_free(record->launch);
	record->launch = NULL;
	record->ring = GP_CP_NONE;
	record->next_free = cp->free_record;
	cp->free_record = (u32)(record - cp->records);
	cp->records_used--;
}

void gp_vgpu_cp_submit(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_record *record,
		       struct gp_vgpu_work *work)
{
	struct gp_vgpu_shared *shared = cp->client->shared;
	u32 produced = shared->work_ring.produced;

	work->queue_id = cp->rings[record->ring].queue.id;
	work->tag = (u64)record->generation << 32 | (u64)(record - cp->records);
	shared->work[produced % GP_VGPU_WORK_SLOTS] = *work;
	__atomic_store_n(&shared->work_ring.produced, produced + 1, __ATOMIC_RELEASE);
	cp->submitted = true;
}
