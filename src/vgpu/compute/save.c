// SPDX-License-Identifier: MIT
/*
 * The waves of a held queue in its save area, one area per XCC: a header, the control stack, which
 * grows down from its end, and behind that the waves, which grow up.
 *
 * A dispatch whose waves do not fit, or whose area cannot be written, keeps them here instead.
 */
#include <errno.h>

#include "abi/kfd_driver.h"
#include "abi/kfd_ioctl.h"
#include "abi/kfd_queue.h"
#include "vgpu/compute/job.h"
#include "vgpu/isa/save.h"
#include "vgpu/heap.h"

#define STACK_PACKETS 2 /* words on top of the control stack */
#define WAVE_WORDS    (GP_KFD_CTL_WAVE_BYTES / sizeof(u32))

/* One area while it is filled. */
struct area {
	u64 address;
	u32 bytes, stack_bytes;
	u32 used, waves; /* bytes behind the stack, and entries on it */
	u32 *stack;      /* the entries, the first wave last */
};

static bool area_open(struct area *area, const struct gp_vgpu_save_area *of, u32 xcc)
{
	*area = (struct area){
		.address = of->address + (u64)xcc * of->bytes,
		.bytes = of->bytes,
		.stack_bytes = of->stack_bytes,
		.stack = gp_vgpu_alloc(of->stack_bytes),
	};
	return area->stack;
}

static u32 stack_used(const struct area *area)
{
	return area->waves ? area->waves * GP_KFD_CTL_WAVE_BYTES + STACK_PACKETS * 4 : 0;
}

/* 0, or why the wave is not in the area. */
static int area_push(struct area *area, struct gp_vgpu_group *group, u32 index, bool last,
		     const struct gp_vgpu_job *job, u8 *buffer)
{
	const struct gp_isa_wave *wave = group->waves[index];
	bool first = index == group->saved_first;
	u32 bytes = gp_isa_saved_bytes(wave, first);
	u32 room = area->stack_bytes - sizeof(struct gp_kfd_context_save_area_header);
	u32 *top;

	if (stack_used(area) + 2 * GP_KFD_CTL_WAVE_BYTES > room ||
	    (u64)area->stack_bytes + area->used + bytes > area->bytes)
		return -ENOSPC;
	gp_isa_save(job->launch.gfx, wave, first, buffer);
	group->saved[index] = area->address + area->stack_bytes + area->used;
	if (gp_vgpu_copy_out(group->saved[index], buffer, bytes))
		return -EFAULT;
	area->used += bytes;
	area->waves++;
	top = area->stack + area->stack_bytes / sizeof(u32) - area->waves * WAVE_WORDS;
	top[0] = gp_isa_relaunch_state(wave);
	top[1] = gp_isa_relaunch_wave(group->place * job->group_waves + index, job->launch.scratch,
				      first, last);
	return 0;
}

static u32 wave_after(const struct gp_vgpu_group *group, u32 index)
{
	while (index < group->group.waves && group->waves[index]->stop == GP_ISA_ENDED)
		index++;
	return index;
}

static int group_save(struct area *area, const struct gp_vgpu_job *job, struct gp_vgpu_group *group)
{
	u8 *buffer = gp_vgpu_alloc(gp_isa_saved_bytes(group->waves[0], true));
	u32 index = wave_after(group, 0), used = area->used, waves = area->waves;
	int result = buffer ? 0 : -ENOMEM;

	memset(group->saved, 0, sizeof(group->saved));
	group->saved_first = index;
	while (!result && index < group->group.waves) {
		u32 next = wave_after(group, index + 1);

		result = area_push(area, group, index, next >= group->group.waves, job, buffer);
		index = next;
	}
	if (result) { /* no part of a group */
		area->used = used;
		area->waves = waves;
	}
	group->is_saved = !result;
	if (group->is_saved && job->compute->handler)
		gp_vgpu_handler_save(job->compute->handler, job, group);
	gp_vgpu_free(buffer);
	return result;
}

/* The header and the stack; the header says how much there is of both. */
static int area_close(struct area *area)
{
	u32 used = stack_used(area);
	struct gp_kfd_context_save_area_header header = {
		.wave_state =
			{
				.control_stack_offset = area->stack_bytes - used,
				.control_stack_size = used,
				.wave_state_offset = area->stack_bytes + area->used,
				.wave_state_size = area->used,
			},
	};
	u32 *top = area->stack + (area->stack_bytes - used) / sizeof(u32);
	int result;

	if (used)
		memset(top, 0, STACK_PACKETS * sizeof(u32));
	result = gp_vgpu_copy_out(area->address + area->stack_bytes - used, top, used);
	if (!result)
		result = gp_vgpu_copy_out(area->address, &header.wave_state,
					  sizeof(header.wave_state));
	gp_vgpu_free(area->stack);
	return result;
}

static int job_save(struct gp_vgpu_job *job, struct area *areas, u32 xccs)
{
	int result = 0;

	for (struct gp_list *at = job->ready.next; at != &job->ready && !result; at = at->next) {
		struct gp_vgpu_group *group = gp_container(at, struct gp_vgpu_group, link);

		result = group_save(&areas[group->place % xccs], job, group);
	}
	return result;
}

void gp_vgpu_jobs_save(struct gp_vgpu_compute *compute, u32 queue_id, struct gp_vgpu_save_area *of)
{
	u32 xccs = GP_MAX(of->xccs, 1u), open = 0;
	struct area *areas;

	of->stack_used = of->waves_used = 0;
	if (!of->address || of->stack_bytes < GP_KFD_PAGE || of->bytes < of->stack_bytes)
		return;
	gp_vgpu_jobs_restore(compute, queue_id); /* it was released and held again unseen */
	areas = gp_vgpu_alloc(xccs * sizeof(*areas));
	while (areas && open < xccs && area_open(&areas[open], of, open))
		open++;
	gp_list_each (struct gp_vgpu_job, job, link, &compute->jobs)
		if (open == xccs && job->queue_id == queue_id && !job->dropped)
			(void)job_save(job, areas, xccs); /* what is not saved stays as it is */
	for (u32 i = 0; i < open; i++) {
		if (!i) {
			of->stack_used = stack_used(&areas[i]);
			of->waves_used = areas[i].used;
		}
		(void)area_close(&areas[i]);
	}
	gp_vgpu_free(areas);
}

/* All waves of the group, or none: they wait for each other. */
static void group_restore(struct gp_vgpu_job *job, struct gp_vgpu_group *group)
{
	u8 *buffers[GP_ISA_GROUP_WAVES] = {NULL};
	bool all = true;

	if (job->compute->handler && gp_vgpu_handler_restore(job->compute->handler, job, group)) {
		group->is_saved = false;
		return;
	}

	for (u32 i = 0; i < group->group.waves && all; i++) {
		u32 bytes;

		if (!group->saved[i])
			continue;
		bytes = gp_isa_saved_bytes(group->waves[i], i == group->saved_first);
		buffers[i] = gp_vgpu_alloc(bytes);
		all = buffers[i] && !gp_vgpu_copy_in(buffers[i], group->saved[i], bytes);
	}
	for (u32 i = 0; i < group->group.waves; i++) {
		if (all && buffers[i])
			gp_isa_restore(group->waves[i], i == group->saved_first, buffers[i]);
		gp_vgpu_free(buffers[i]);
	}
	if (all)
		gp_isa_restore_group(&group->group);
	group->is_saved = false;
}

void gp_vgpu_jobs_restore(struct gp_vgpu_compute *compute, u32 queue_id)
{
	gp_list_each (struct gp_vgpu_job, job, link, &compute->jobs) {
		if (job->queue_id != queue_id)
			continue;
		for (struct gp_list *at = job->ready.next; at != &job->ready; at = at->next) {
			struct gp_vgpu_group *group = gp_container(at, struct gp_vgpu_group, link);

			if (group->is_saved)
				group_restore(job, group);
		}
	}
}
