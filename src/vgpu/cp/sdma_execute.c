// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>

#include "abi/bits.h"
#include "abi/sdma.h"
#include "vgpu/cp/cp_state.h"

static int copy_rect(struct gp_vgpu_cp *cp, u32 gpu_id, const u32 *words, u64 *fault)
{
	struct gp_sdma_rect_side from = gp_sdma_rect_side(words + 1);
	struct gp_sdma_rect_side to = gp_sdma_rect_side(words + 6);
	u32 shift = gp_bits(words[0], 29, 31);
	struct gp_vgpu_cp_box box = {
		.width = (gp_bits(words[11], 0, 13) + 1ull) << shift,
		.height = gp_bits(words[11], 16, 29) + 1ull,
		.depth = gp_bits(words[12], 0, 10) + 1ull,
		.to_pitch = to.pitch << shift,
		.to_slice = to.slice << shift,
		.from_pitch = from.pitch << shift,
		.from_slice = from.slice << shift,
	};

	box.from = from.address + ((u64)from.x << shift) + from.y * box.from_pitch +
		   from.z * box.from_slice;
	box.to = to.address + ((u64)to.x << shift) + to.y * box.to_pitch + to.z * box.to_slice;
	return gp_vgpu_cp_copy_box(cp, gpu_id, &box, fault);
}

/* To one or two targets. */
static int copy_linear(struct gp_vgpu_cp *cp, u32 gpu_id, const u32 *words, u32 *used, u64 *fault)
{
	u64 from = gp_join64(words[3], words[4]), bytes = gp_sdma_copy_bytes(words[1]);
	int result = gp_vgpu_cp_copy(cp, gpu_id, gp_join64(words[5], words[6]), from, bytes, fault);

	*used = GP_SDMA_COPY_LINEAR_DWORDS;
	if (!(words[0] & GP_SDMA_COPY_BROADCAST))
		return result;
	*used += GP_SDMA_COPY_TARGET_DWORDS;
	return result ? result
		      : gp_vgpu_cp_copy(cp, gpu_id, gp_join64(words[7], words[8]), from, bytes,
					fault);
}

static int add_atomic(struct gp_vgpu_cp *cp, u32 gpu_id, const u32 *words, u64 *fault)
{
	u64 address = gp_join64(words[1], words[2]);
	u32 operation = gp_bits(words[0], 25, 31);
	size_t size = operation == GP_SDMA_ATOMIC_ADD64 ? sizeof(u64) : sizeof(u32);
	void *target = gp_vgpu_cp_place(cp, gpu_id, address, size);

	*fault = address;
	if (operation != GP_SDMA_ATOMIC_ADD64 && operation != GP_SDMA_ATOMIC_ADD32)
		return -EOPNOTSUPP;
	if (!target || address % size)
		return -EFAULT;
	if (size == sizeof(u64))
		__atomic_fetch_add((u64 *)target, gp_join64(words[3], words[4]), __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_add((u32 *)target, words[3], __ATOMIC_SEQ_CST);
	return 0;
}

/* 32 or 64 bits in one store, so that a thread that polls the place never sees a half. */
static int store(struct gp_vgpu_cp *cp, u32 gpu_id, u64 address, u64 value, size_t size, u64 *fault)
{
	void *target = gp_vgpu_cp_place(cp, gpu_id, address, size);

	*fault = address;
	if (!target || address % size)
		return -EFAULT;
	if (size == sizeof(u64))
		__atomic_store_n((u64 *)target, value, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n((u32 *)target, (u32)value, __ATOMIC_SEQ_CST);
	return 0;
}

/* *used: dwords of the packet. */
static int execute(struct gp_vgpu_cp *cp, u32 gpu_id, const u32 *words, u64 raw_ns, u32 *used,
		   u64 *fault)
{
	u64 address = gp_join64(words[1], words[2]);
	u32 shift;

	switch (gp_sdma_op(words[0])) {
	case GP_SDMA_COPY:
		if (gp_sdma_sub_op(words[0]) == GP_SDMA_COPY_RECT) {
			*used = GP_SDMA_COPY_RECT_DWORDS;
			return copy_rect(cp, gpu_id, words, fault);
		}
		return copy_linear(cp, gpu_id, words, used, fault);
	case GP_SDMA_CONST_FILL:
		*used = GP_SDMA_FILL_DWORDS;
		shift = gp_bits(words[0], 30, 31);
		if (shift > 2)
			return -EOPNOTSUPP;
		return gp_vgpu_cp_fill(cp, gpu_id, address, &words[3], 1u << shift,
				       gp_sdma_fill_elements(words[0], words[4]), fault);
	case GP_SDMA_WRITE:
		*used = GP_SDMA_WRITE_FIXED_DWORDS + 1 + gp_bits(words[3], 0, 19);
		*fault = address;
		return gp_vgpu_cp_write(cp, gpu_id, address, words + GP_SDMA_WRITE_FIXED_DWORDS,
					(*used - GP_SDMA_WRITE_FIXED_DWORDS) * sizeof(u32));
	case GP_SDMA_FENCE:
		*used = GP_SDMA_FENCE_DWORDS;
		return store(cp, gpu_id, address, words[3], sizeof(u32), fault);
	case GP_SDMA_TIMESTAMP:
		*used = GP_SDMA_TIMESTAMP_DWORDS;
		return store(cp, gpu_id, address, raw_ns / GP_GPU_CLOCK_NS, sizeof(u64), fault);
	case GP_SDMA_ATOMIC:
		*used = GP_SDMA_ATOMIC_DWORDS;
		return add_atomic(cp, gpu_id, words, fault);
	case GP_SDMA_TRAP:
		*used = GP_SDMA_TRAP_DWORDS;
		gp_vgpu_event_set(cp->client, words[1] & GP_SDMA_TRAP_CONTEXT_MASK);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static bool moves_data(u32 header)
{
	u32 op = gp_sdma_op(header);

	return op == GP_SDMA_COPY || op == GP_SDMA_CONST_FILL || op == GP_SDMA_WRITE;
}

void gp_vgpu_cp_sdma_completed(struct gp_vgpu_cp *cp, struct gp_vgpu_cp_ring *ring,
			       struct gp_vgpu_cp_record *record, const struct gp_vgpu_done *done)
{
	u64 raw_ns = done->start_raw_ns; /* what times say until the data has moved */
	u64 fault = 0;
	u32 used = 0;

	for (u32 at = 0; at < record->words; at += used) {
		int result = execute(cp, ring->gpu_id, record->sdma + at, raw_ns, &used, &fault);

		if (result == -EFAULT) {
			gp_vgpu_cp_fault(cp, ring, fault);
			return;
		}
		if (result) {
			ring->hold = GP_CP_HALTED;
			ring->faulted = true;
			return;
		}
		if (moves_data(record->sdma[at]))
			raw_ns = done->end_raw_ns;
	}
	/* Programs that wait for the read pointer find what the packets before it did. */
	ring->launched = record->end;
	__atomic_store_n(ring->read_pointer, record->end, __ATOMIC_RELEASE);
	cp->client->shared->mirrors[ring->queue.id].read_index = record->end;
}
