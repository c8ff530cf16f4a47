// SPDX-License-Identifier: MIT
/* Starts, follows and ends what vgpu/compute runs; see execute.h for the order of packets. */
#include "vgpu/cp/execute.h"

#include <stdio.h>
#include <stdlib.h>

#include "abi/kfd_debug.h"
#include "vgpu/compute/compute.h"
#include "vgpu/cp/launch.h"

#define GFX_942 90402 /* and 940, 941: one instruction set */
#define GFX_940 90400

bool gp_vgpu_cp_computes(struct gp_vgpu_cp *cp)
{
	if (!cp->client->machine.compute || cp->cannot_compute)
		return false;
	if (cp->compute)
		return true;
	if (!gp_isa_supported())
		gp_vgpu_say("kernels compute nothing: this processor has no AVX2, FMA and F16C",
			    "");
	else
		cp->compute = gp_vgpu_compute_new(cp->client, cp->command_fd);
	cp->cannot_compute = !cp->compute;
	return cp->compute;
}

static u64 tag_of(const struct gp_vgpu_cp *cp, const struct gp_vgpu_cp_record *record)
{
	return (u64)record->generation << 32 | (u64)(record - cp->records);
}

/* ---- errors ---- */

/* ROCr prints what the error means; what it cannot know is said here. */
static void say_where(const struct gp_vgpu_computed *what)
{
	char text[GP_ISA_NAME + 48];

	snprintf(text, sizeof(text), "%s at 0x%llx", what->text, (unsigned long long)what->address);
	if (what->stop == GP_ISA_REFUSED && !what->address)
		gp_vgpu_say("a dispatch cannot be executed, its queue fails: ", what->text);
	else if (what->stop == GP_ISA_REFUSED)
		gp_vgpu_say("this instruction is not implemented, its queue fails: ", text);
	else if (what->stop == GP_ISA_ILLEGAL)
		gp_vgpu_say("illegal instruction, its queue fails: ", text);
}

static void fail(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
		 const struct gp_vgpu_computed *what)
{
	u32 exception = what->stop == GP_ISA_TRAPPED ? GP_KFD_EC_QUEUE_WAVE_ABORT
						     : GP_KFD_EC_QUEUE_WAVE_ILLEGAL_INSTRUCTION;

	if (ring->faulted)
		return;
	say_where(what);
	if (what->stop == GP_ISA_FAULT) {
		gp_vgpu_cp_fault(cp, ring, what->address);
		return;
	}
	ring->faulted = true;
	ring->hold = GP_CP_HALTED;
	if (ring->pm4_packets || gp_vgpu_cp_exception(cp, ring, exception)) {
		if (ring->pm4_packets)
			gp_vgpu_event_hw_exception(cp->client, ring->gpu_id, false);
		return;
	}
	gp_vgpu_cp_queue_error(cp, ring,
			       what->stop == GP_ISA_TRAPPED ? GP_AQL_ERROR_EXCEPTION
							    : GP_AQL_ERROR_ILLEGAL);
}

/* ---- starting ---- */

enum gp_isa_gfx gp_vgpu_cp_gfx(const struct gp_vgpu_cp *cp, const struct gp_vgpu_cp_ring *ring)
{
	u32 version = cp->client->machine.gpus[ring->queue.gpu_index].gfx_version;

	return version >= GFX_940 && version <= GFX_942 ? GP_ISA_GFX942 : GP_ISA_GFX90A;
}

/* False: the packet executes nothing. */
static bool launch_of(struct gp_vgpu_cp *cp, const struct gp_vgpu_cp_ring *ring,
		      const struct gp_vgpu_cp_record *record, struct gp_isa_launch *launch)
{
	u64 packets = ring->queue.ring_bytes / GP_AQL_PACKET_BYTES;
	struct gp_kernel_descriptor descriptor;
	struct gp_amd_queue queue;
	struct gp_vgpu_cp_packet from = {
		.packet = &record->dispatch,
		.descriptor = &descriptor,
		.queue_address = ring->amd_queue,
		.packet_address =
			ring->queue.ring + (record->end - 1) % packets * GP_AQL_PACKET_BYTES,
		.id = record->end - 1,
		.xccs = cp->client->machine.gpus[ring->queue.gpu_index].xcc_count,
	};

	if (ring->pm4_packets) {
		if (record->launch)
			*launch = *record->launch;
		return record->launch;
	}
	if (gp_aql_type(record->dispatch.header) != GP_AQL_KERNEL_DISPATCH ||
	    gp_vgpu_cp_read(cp, ring->gpu_id, record->dispatch.kernel_object, &descriptor,
			    sizeof(descriptor)))
		return false;
	if (gp_vgpu_cp_amd_queue(ring, &queue))
		from.queue = &queue;
	gp_vgpu_cp_launch(gp_vgpu_cp_gfx(cp, ring), &from, launch);
	return true;
}

static void complete(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_record *record)
{
	struct gp_vgpu_done done = record->done;

	gp_vgpu_cp_complete(cp, record, &done);
}

static const char *start_error(int error)
{
	if (error == -E2BIG)
		return "a grid of 2^32 work-items";
	if (error == -EDOM)
		return "a work-group that no compute unit holds";
	return error == -ENOSPC ? "scratch below a work-group" : "out of memory";
}

/* True if it was over at once. */
static bool begin(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
		  struct gp_vgpu_cp_record *record)
{
	struct gp_isa_launch launch;
	struct gp_vgpu_computed failed = {.stop = GP_ISA_REFUSED};

	if (!ring->faulted && launch_of(cp, ring, record, &launch)) {
		int error = gp_vgpu_compute_start(cp->compute, &launch, ring->queue.gpu_index,
						  ring->queue.id, tag_of(cp, record));

		if (!error) {
			ring->computing++;
			return false;
		}
		snprintf(failed.text, sizeof(failed.text), "%s", start_error(error));
		fail(cp, ring, &failed);
	}
	record->ended = true;
	return record->completed;
}

static struct gp_vgpu_cp_record *line_first(const struct gp_vgpu_cp *cp,
					    const struct gp_vgpu_cp_ring *ring)
{
	return ring->line_first ? &cp->records[ring->line_first - 1] : NULL;
}

/* Lets packets pass until one has to wait. */
static void pass(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring)
{
	struct gp_vgpu_cp_record *record;

	while ((record = line_first(cp, ring)) && !(record->ordered && ring->computing)) {
		ring->line_first = record->next_in_line;
		if (!ring->line_first)
			ring->line_last = 0;
		if (begin(cp, ring, record))
			complete(cp, record);
	}
}

void gp_vgpu_cp_execute(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_record *record)
{
	struct gp_vgpu_cp_ring *ring = &cp->rings[record->ring];
	u32 name = (u32)(record - cp->records) + 1;

	record->next_in_line = 0;
	if (ring->line_last)
		cp->records[ring->line_last - 1].next_in_line = name;
	else
		ring->line_first = name;
	ring->line_last = name;
	pass(cp, ring);
}

bool gp_vgpu_cp_executed(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_record *record,
			 const struct gp_vgpu_done *done)
{
	(void)cp;
	record->completed = true;
	record->done = *done;
	return record->ended;
}

/* ---- ending ---- */

static void take(struct gp_vgpu_cp *cp, const struct gp_vgpu_computed *what)
{
	u32 index = (u32)what->tag;
	struct gp_vgpu_cp_record *record = &cp->records[index];
	struct gp_vgpu_cp_ring *ring;

	if (index >= GP_CP_RECORDS || record->generation != (u32)(what->tag >> 32) ||
	    record->ring == GP_CP_NONE)
		return;
	ring = &cp->rings[record->ring];
	ring->computing--;
	record->ended = true;
	if (what->stop != GP_ISA_ENDED)
		fail(cp, ring, what);
	if (record->completed)
		complete(cp, record);
	pass(cp, ring);
}

static void hold(struct gp_vgpu_cp *cp, const struct gp_vgpu_cp_ring *ring,
		 struct gp_vgpu_mirror *mirror)
{
	u32 xccs = cp->client->machine.gpus[ring->queue.gpu_index].xcc_count;
	u64 bytes = (u64)ring->queue.save_bytes * GP_MAX(xccs, 1u);
	void *at = gp_vgpu_gpu_pointer(cp->client, ring->gpu_id, ring->queue.save_area, bytes);
	struct gp_vgpu_save_area area = {
		.address = at ? (u64)(uintptr_t)at : ring->queue.save_area,
		.bytes = ring->queue.save_bytes,
		.stack_bytes = ring->queue.stack_bytes,
		.xccs = xccs,
	};

	if (ring->sdma)
		area.address = 0; /* no waves */
	gp_vgpu_compute_hold(cp->compute, ring->queue.id, &area);
	mirror->saved_stack = area.stack_used;
	mirror->saved_waves = area.waves_used;
}

/* Follows the server: a queue that is off the hardware stands still. */
static bool follow(struct gp_vgpu_cp *cp, const struct gp_vgpu_cp_ring *ring)
{
	struct gp_vgpu_mirror *mirror = &cp->client->shared->mirrors[ring->queue.id];
	u32 off = __atomic_load_n(&mirror->off, __ATOMIC_ACQUIRE);

	if (off == mirror->off_seen)
		return false;
	if (cp->compute && off & 1)
		hold(cp, ring, mirror);
	else if (cp->compute)
		gp_vgpu_compute_release(cp->compute, ring->queue.id);
	__atomic_store_n(&mirror->off_seen, off, __ATOMIC_RELEASE);
	cp->submitted = true; /* the server is woken */
	return true;
}

bool gp_vgpu_cp_execute_step(struct gp_vgpu_cp *cp)
{
	struct gp_vgpu_computed what;
	bool any = false;

	if (!cp->client->machine.compute)
		return false;
	(void)gp_vgpu_cp_computes(cp); /* where it cannot, the server still waits for an answer */
	for (u32 i = 0; i < cp->ring_end; i++)
		if (cp->rings[i].used)
			any |= follow(cp, &cp->rings[i]);
	while (cp->compute && gp_vgpu_compute_take(cp->compute, &what)) {
		take(cp, &what);
		any = true;
	}
	return any;
}

void gp_vgpu_cp_execute_drop(struct gp_vgpu_cp *cp, u32 queue_id)
{
	if (cp->compute)
		gp_vgpu_compute_drop(cp->compute, queue_id);
}
