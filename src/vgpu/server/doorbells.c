// SPDX-License-Identifier: MIT
#include <errno.h>

#include "vgpu/server/state.h"

/* Lowest first, over all devices of the process, as the driver's bitmap. */
int gp_vgpu_queue_id(const struct gp_vgpu_process *process, u32 *id)
{
	for (u32 i = 0; i < GP_VGPU_MAX_QUEUES; i++)
		if (!process->queues[i]) {
			*id = i;
			return 0;
		}
	return -ENOMEM;
}

static bool slot_taken(const u64 *bitmap, u32 slot)
{
	return bitmap[slot / 64] >> slot % 64 & 1;
}

static bool slot_reserved(u32 slot)
{
	u32 folded = slot % GP_KFD_DOORBELL_MIRROR;

	return folded >= GP_KFD_DOORBELL_NON_CP && folded <= GP_KFD_DOORBELL_LAST_NON_CP;
}

static int slot_for(const struct gp_vgpu_process *process, const struct gp_vgpu_queue *queue,
		    u32 queue_on_engine, u32 *slot)
{
	const u64 *bitmap = process->doorbells[queue->device->index];

	if (gp_vgpu_is_sdma(queue->args.queue_type)) {
		*slot = GP_KFD_DOORBELL_NON_CP + queue->sdma_engine * GP_KFD_DOORBELL_SDMA_STEP +
			(queue_on_engine & 1) * GP_KFD_DOORBELL_MIRROR + queue_on_engine / 2;
		return *slot < GP_KFD_DOORBELLS && !slot_taken(bitmap, *slot) ? 0 : -EBUSY;
	}
	for (u32 i = 0; i < GP_KFD_DOORBELLS; i++)
		if (!slot_taken(bitmap, i) && !slot_reserved(i)) {
			*slot = i;
			return 0;
		}
	return -EBUSY;
}

int gp_vgpu_doorbell_take(struct gp_vgpu_process *process, struct gp_vgpu_queue *queue)
{
	u32 slot, queue_on_engine = 0;
	int error = 0;

	if (gp_vgpu_is_sdma(queue->args.queue_type))
		error = gp_vgpu_sdma_take(queue, &queue_on_engine);
	if (error)
		return error;
	error = slot_for(process, queue, queue_on_engine, &slot);
	if (error) {
		gp_vgpu_sdma_drop(queue);
		return error;
	}
	process->doorbells[queue->device->index][slot / 64] |= 1ull << slot % 64;
	queue->doorbell_id = slot;
	queue->doorbell = GP_KFD_DOORBELL_BAR_BASE + process->index * GP_KFD_DOORBELL_BAR_PROCESS +
			  slot * (GP_KFD_DOORBELL_BYTES / 4);
	return 0;
}

void gp_vgpu_doorbell_drop(struct gp_vgpu_process *process, struct gp_vgpu_queue *queue)
{
	u32 slot = queue->doorbell_id;

	process->doorbells[queue->device->index][slot / 64] &= ~(1ull << slot % 64);
	gp_vgpu_sdma_drop(queue);
}

struct engines {
	u32 first, count;
	u32 pool; /* index of its bitmap */
};

static struct engines engines_of(const struct gp_vgpu_device *device, u32 pool)
{
	u32 pcie = device->file.sdma_engines;

	if (pool)
		return (struct engines){.first = pcie,
					.count = device->file.sdma_xgmi_engines,
					.pool = 1};
	return (struct engines){.first = 0, .count = pcie, .pool = 0};
}

#define POOL_BITS 128u

/* More queues than the bitmap has bits are not given out. */
static u32 pool_size(const struct gp_vgpu_device *device, const struct engines *engines)
{
	return GP_MIN(engines->count * device->file.chip.sdma_queues_per_engine, POOL_BITS);
}

static int take_from(struct gp_vgpu_queue *queue, const struct engines *engines, u32 wanted,
		     u32 *queue_on_engine)
{
	struct gp_vgpu_device *device = queue->device;
	u32 size = pool_size(device, engines);

	for (u32 bit = 0; bit < size; bit++) {
		u32 engine = engines->first + bit % engines->count;

		if (slot_taken(device->sdma_used[engines->pool], bit))
			continue;
		if (wanted != GP_MODEL_NONE && engine != wanted)
			continue;
		device->sdma_used[engines->pool][bit / 64] |= 1ull << bit % 64;
		queue->sdma_engine = engine;
		queue->sdma_queue = bit / engines->count;
		*queue_on_engine = queue->sdma_queue;
		return 0;
	}
	return -ENOMEM;
}

int gp_vgpu_sdma_take(struct gp_vgpu_queue *queue, u32 *queue_on_engine)
{
	u32 *type = &queue->args.queue_type, wanted = GP_MODEL_NONE;
	struct engines engines;

	/* From here on such a queue is an ordinary one of its engine's kind, in sysfs too. */
	if (*type == GP_KFD_QUEUE_SDMA_BY_ENGINE) {
		wanted = queue->args.sdma_engine_id;
		*type = wanted < engines_of(queue->device, 0).count ? GP_KFD_QUEUE_SDMA
								    : GP_KFD_QUEUE_SDMA_XGMI;
	}
	engines = engines_of(queue->device, *type == GP_KFD_QUEUE_SDMA_XGMI);
	return take_from(queue, &engines, wanted, queue_on_engine);
}

void gp_vgpu_sdma_drop(struct gp_vgpu_queue *queue)
{
	struct engines engines;
	u32 bit;

	if (!gp_vgpu_is_sdma(queue->args.queue_type))
		return;
	engines = engines_of(queue->device, 0);
	if (queue->sdma_engine >= engines.count)
		engines = engines_of(queue->device, 1);
	bit = queue->sdma_queue * engines.count + queue->sdma_engine - engines.first;
	queue->device->sdma_used[engines.pool][bit / 64] &= ~(1ull << bit % 64);
}
