// SPDX-License-Identifier: MIT
#include "gpu/kfd/slot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/bits.h"
#include "abi/kfd_hqd.h"
#include "base/buf.h"
#include "gpu/kfd/text.h"

void gp_kfd_block_add(struct gp_kfd_block *block, const struct gp_kfd_row *row)
{
	if (row->count > GP_BLOCK_WORDS - block->count) {
		block->broken = true;
		return;
	}
	for (size_t i = 0; i < row->count; i++) {
		block->words[block->count] = row->words[i];
		block->addresses[block->count] = row->address + (u32)i * 4;
		block->count++;
	}
}

bool gp_kfd_block_contiguous(const struct gp_kfd_block *block)
{
	for (size_t i = 1; i < block->count; i++) {
		if (block->addresses[i] != block->addresses[i - 1] + 4)
			return false;
	}
	return true;
}

bool gp_kfd_gfx_has_layout(u32 gfx_version)
{
	u32 major = gfx_version / 10000;

	return major >= 9 && major <= 12;
}

enum gp_gpu_cp_layout gp_kfd_block_cp_layout(const struct gp_kfd_block *block)
{
	u32 first;

	if (block->count != GP_HQD_WORDS || !gp_kfd_block_contiguous(block))
		return GP_CP_UNKNOWN;
	first = block->addresses[0] / 4;
	if (first == GP_HQD_SEGMENT_GFX10 + GP_HQD_FIRST_DWORD_GFX10)
		return GP_CP_GFX10_ON;
	/* Every XCC has its own base, so only what is left after it is compared. */
	if (first >= GP_HQD_FIRST_DWORD_GFX9 &&
	    (first - GP_HQD_FIRST_DWORD_GFX9) % GP_HQD_SEGMENT_ALIGN_GFX9 == 0)
		return GP_CP_GFX9;
	return GP_CP_UNKNOWN;
}

/* Ring size from log2 of its dwords; false when the register cannot be right. */
static bool set_ring_size(struct gp_kfd_slot *slot, u32 log2_dwords)
{
	if (log2_dwords > GP_HQD_SIZE_LIMIT)
		return false;
	slot->ring_bytes = 4ull << log2_dwords;
	return true;
}

/*
 * The write pointer counts on, the read pointer wraps at the ring's end, so only their difference
 * modulo the ring means anything; the slot's read pointer is what counts on in the same way, where
 * that difference is known. A difference of 0 is an empty ring or a full one: `empty` is what
 * the hardware says of it, where it does; without that, pointers that are not equal themselves are
 * a full ring's.
 */
static void set_pointers(struct gp_kfd_slot *slot, u64 rptr_dwords, u64 wptr_dwords, bool empty)
{
	u64 unit = slot->aql ? GP_AQL_PACKET_DWORDS : 1;
	u64 ring_dwords = slot->ring_bytes / 4;
	u64 used = (wptr_dwords - rptr_dwords) & (ring_dwords - 1);

	slot->rptr = rptr_dwords / unit;
	slot->wptr = wptr_dwords / unit;
	slot->valid |= GP_SLOT_POINTERS;
	if (!used && wptr_dwords != rptr_dwords) {
		/* A descriptor's PQ_EMPTY is not kept up to date: it does not distinguish full from
		 * empty.
		 */
		if (slot->node == GP_SLOT_NO_NODE)
			return;
		if (!empty)
			used = ring_dwords;
	}
	slot->backlog = used / unit;
	slot->valid |= GP_SLOT_BACKLOG;
	/* Beyond what was written a read pointer is damaged, and shown as it is. */
	if (used <= wptr_dwords)
		slot->rptr = (wptr_dwords - used) / unit;
}

static void decode_save_area(struct gp_kfd_slot *slot, const u32 *w)
{
	u32 size = w[GP_CP_HQD_CNTL_STACK_SIZE], offset = w[GP_CP_HQD_CNTL_STACK_OFFSET];

	slot->cwsr_address =
		gp_join64(w[GP_CP_HQD_CTX_SAVE_BASE_ADDR_LO], w[GP_CP_HQD_CTX_SAVE_BASE_ADDR_HI]);
	if (slot->cwsr_address) {
		slot->cwsr_bytes = w[GP_CP_HQD_CTX_SAVE_SIZE];
		/* The stack grows down from its end. */
		slot->cwsr_stack_used = size > offset ? size - offset : 0;
		slot->valid |= GP_SLOT_CWSR;
	}
	slot->eop_address = gp_join64(w[GP_CP_HQD_EOP_BASE_ADDR], w[GP_CP_HQD_EOP_BASE_ADDR_HI])
			    << GP_HQD_ADDRESS_SHIFT;
	if (slot->eop_address) {
		u32 log2_dwords = GP_HQD_FIELD(w, CP_HQD_EOP_CONTROL, EOP_SIZE) + 1;

		slot->eop_bytes = log2_dwords <= GP_HQD_SIZE_LIMIT ? 4ull << log2_dwords : 0;
		slot->valid |= GP_SLOT_EOP;
	}
}

void gp_kfd_slot_decode_cp(struct gp_kfd_slot *slot, const u32 *w)
{
	u64 report =
		gp_join64(w[GP_CP_HQD_PQ_RPTR_REPORT_ADDR], w[GP_CP_HQD_PQ_RPTR_REPORT_ADDR_HI]);

	slot->valid |= GP_SLOT_REGISTERS | GP_SLOT_VMID | GP_SLOT_PRIORITY | GP_SLOT_DOORBELL |
		       GP_SLOT_MQD;
	slot->active = GP_HQD_FIELD(w, CP_HQD_ACTIVE, ACTIVE);
	slot->aql = GP_HQD_FIELD(w, CP_HQD_AQL_CONTROL, CONTROL0) != 0;
	slot->vmid = GP_HQD_FIELD(w, CP_HQD_VMID, VMID);
	slot->pipe_priority = GP_HQD_FIELD(w, CP_HQD_PIPE_PRIORITY, PIPE_PRIORITY);
	slot->queue_priority = GP_HQD_FIELD(w, CP_HQD_QUEUE_PRIORITY, PRIORITY_LEVEL);
	slot->quantum = w[GP_CP_HQD_QUANTUM];
	slot->mqd_address = gp_join64(w[GP_CP_MQD_BASE_ADDR], w[GP_CP_MQD_BASE_ADDR_HI]);
	slot->ring = gp_join64(w[GP_CP_HQD_PQ_BASE], w[GP_CP_HQD_PQ_BASE_HI])
		     << GP_HQD_ADDRESS_SHIFT;
	slot->doorbell = GP_HQD_FIELD(w, CP_HQD_PQ_DOORBELL_CONTROL, DOORBELL_OFFSET);
	slot->doorbell_enabled = GP_HQD_FIELD(w, CP_HQD_PQ_DOORBELL_CONTROL, DOORBELL_EN);
	if (slot->aql && report >= GP_AQL_READ_INDEX) {
		slot->object = report - GP_AQL_READ_INDEX;
		slot->valid |= GP_SLOT_OBJECT;
	}
	if (set_ring_size(slot, GP_HQD_FIELD(w, CP_HQD_PQ_CONTROL, QUEUE_SIZE) + 1))
		set_pointers(slot, w[GP_CP_HQD_PQ_RPTR],
			     gp_join64(w[GP_CP_HQD_PQ_WPTR_LO], w[GP_CP_HQD_PQ_WPTR_HI]),
			     GP_HQD_FIELD(w, CP_HQD_PQ_CONTROL, PQ_EMPTY));
	decode_save_area(slot, w);
}

void gp_kfd_slot_set_ring(struct gp_kfd_slot *slot, u32 log2_dwords, u64 rptr_dwords,
			  u64 wptr_dwords)
{
	if (set_ring_size(slot, log2_dwords))
		set_pointers(slot, rptr_dwords, wptr_dwords, false);
}

int gp_kfd_slot_push(struct gp_kfd_slot_list *list, const struct gp_kfd_slot *slot,
		     const struct gp_kfd_block *block)
{
	struct gp_kfd_slot copy = *slot;
	size_t size = block->count * sizeof(u32);

	if (gp_array_grow((void **)&list->items, list->count, &list->capacity,
			  sizeof(*list->items)))
		return -ENOMEM;
	if (block->count) {
		copy.words = malloc(size);
		copy.addresses = malloc(size);
		if (!copy.words || !copy.addresses) {
			free(copy.words);
			free(copy.addresses);
			return -ENOMEM;
		}
		memcpy(copy.words, block->words, size);
		memcpy(copy.addresses, block->addresses, size);
		copy.word_count = block->count;
	}
	list->items[list->count++] = copy;
	return 0;
}
