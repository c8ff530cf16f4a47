// SPDX-License-Identifier: MIT
/*
 * The layouts of SDMA queues, gfx9 to gfx12. A slot prints its registers in ranges of addresses; a
 * descriptor holds the same registers in the same order without the gaps, then the engine and the
 * queue that the driver chose.
 */
#include "abi/kfd_hqd.h"
#include "gpu/kfd/slot.h"

#define RANGES_MAX 5

struct range {
	size_t index; /* of its first register */
	u32 offset;   /* in bytes from RB_CNTL */
};

struct gp_kfd_sdma_layout {
	enum gp_kfd_sdma_family family;
	u32 first_major, last_major; /* gfx versions */
	size_t words_min, words_max; /* of a slot */
	size_t mqd_words, engine;    /* of a descriptor; the queue follows the engine */
	u32 doorbell, doorbell_offset;
	size_t range_count;
	struct range ranges[RANGES_MAX];
};

#define RANGE(index, offset) {(index), (offset)},

/* Sources: Linux 6.12, as in abi/kfd_hqd.h. */
static const struct gp_kfd_sdma_layout layouts[] = {
	{.family = GP_SDMA_GFX9,
	 .first_major = 9,
	 .last_major = 9,
	 .words_min = GP_SDMA_WORDS_MIN,
	 .words_max = GP_SDMA_WORDS_MAX,
	 .mqd_words = 128,
	 .engine = 126,
	 .doorbell = GP_SDMA_DOORBELL,
	 .doorbell_offset = GP_SDMA_DOORBELL_OFFSET,
	 .range_count = 4,
	 .ranges = {GP_SDMA_RANGES(RANGE)}},
	{.family = GP_SDMA_GFX9,
	 .first_major = 10,
	 .last_major = 10,
	 .words_min = GP_SDMA_WORDS_MIN,
	 .words_max = GP_SDMA_WORDS_MAX,
	 .mqd_words = 130,
	 .engine = 128,
	 .doorbell = GP_SDMA_DOORBELL,
	 .doorbell_offset = GP_SDMA_DOORBELL_OFFSET,
	 .range_count = 4,
	 .ranges = {GP_SDMA_RANGES(RANGE)}},
	{.family = GP_SDMA_GFX11,
	 .first_major = 11,
	 .last_major = 11,
	 .words_min = 43,
	 .words_max = 43,
	 .mqd_words = 128,
	 .engine = 126,
	 .doorbell = GP_SDMA11_DOORBELL,
	 .doorbell_offset = GP_SDMA11_DOORBELL_OFFSET,
	 .range_count = 5,
	 .ranges = {{0, 0x00}, {7, 0x20}, {18, 0xa4}, {19, 0xac}, {31, 0x100}}},
	{.family = GP_SDMA_GFX12,
	 .first_major = 12,
	 .last_major = 12,
	 .words_min = 49,
	 .words_max = 49,
	 .mqd_words = 128,
	 .engine = 126,
	 .doorbell = GP_SDMA12_DOORBELL,
	 .doorbell_offset = GP_SDMA12_DOORBELL_OFFSET,
	 .range_count = 1,
	 .ranges = {{0, 0x00}}},
};

#undef RANGE

static bool layout_is_for(const struct gp_kfd_sdma_layout *layout, u32 gfx_version)
{
	u32 major = gfx_version / 10000;

	return !gfx_version || (major >= layout->first_major && major <= layout->last_major);
}

static bool layout_fits(const struct gp_kfd_sdma_layout *layout, const struct gp_kfd_block *block)
{
	size_t range = 0;

	if (block->count < layout->words_min || block->count > layout->words_max)
		return false;
	for (size_t i = 0; i < block->count; i++) {
		u32 offset;

		if (range + 1 < layout->range_count && i == layout->ranges[range + 1].index)
			range++;
		offset = layout->ranges[range].offset + 4 * (u32)(i - layout->ranges[range].index);
		if (block->addresses[i] - block->addresses[0] != offset)
			return false;
	}
	return true;
}

const struct gp_kfd_sdma_layout *gp_kfd_sdma_slot(u32 gfx_version, const struct gp_kfd_block *block)
{
	for (size_t i = 0; i < GP_ARRAY_SIZE(layouts); i++)
		if (layout_is_for(&layouts[i], gfx_version) && layout_fits(&layouts[i], block))
			return &layouts[i];
	return NULL;
}

/* The driver enables the doorbell of every queue it creates, at another place in each layout. */
static bool doorbell_is_on(const struct gp_kfd_sdma_layout *layout, const u32 *words)
{
	return gp_bits(words[layout->doorbell], GP_SDMA_DOORBELL__ENABLE__FROM,
		       GP_SDMA_DOORBELL__ENABLE__TO);
}

const struct gp_kfd_sdma_layout *gp_kfd_sdma_descriptor(u32 gfx_version,
							const struct gp_kfd_block *block)
{
	const struct gp_kfd_sdma_layout *first = NULL;

	for (size_t i = 0; i < GP_ARRAY_SIZE(layouts); i++) {
		const struct gp_kfd_sdma_layout *layout = &layouts[i];

		if (!layout_is_for(layout, gfx_version) || block->count != layout->mqd_words)
			continue;
		if (gfx_version || doorbell_is_on(layout, block->words))
			return layout;
		first = first ? first : layout;
	}
	return first;
}

void gp_kfd_sdma_place(const struct gp_kfd_sdma_layout *layout, const u32 *words,
		       struct gp_kfd_slot *slot)
{
	slot->pipe = words[layout->engine];
	slot->queue = words[layout->engine + 1];
}

void gp_kfd_slot_decode_sdma(struct gp_kfd_slot *slot, const struct gp_kfd_sdma_layout *layout,
			     const u32 *w)
{
	slot->valid |= GP_SLOT_REGISTERS | GP_SLOT_VMID | GP_SLOT_DOORBELL;
	slot->sdma_family = layout->family;
	/*
	 * RB_ENABLE alone stays set in slots that were left: a captured MI308X shows seven, four
	 * of them with one ring. Without a doorbell such a slot can never be given work.
	 */
	slot->doorbell_enabled = doorbell_is_on(layout, w);
	slot->active = GP_SDMA_FIELD(w, RB_CNTL, RB_ENABLE) && slot->doorbell_enabled;
	slot->vmid = GP_SDMA_FIELD(w, RB_CNTL, RB_VMID);
	slot->ring = gp_join64(w[GP_SDMA_RB_BASE], w[GP_SDMA_RB_BASE_HI]) << GP_HQD_ADDRESS_SHIFT;
	slot->doorbell = gp_bits(w[layout->doorbell_offset], GP_SDMA_DOORBELL_OFFSET__OFFSET__FROM,
				 GP_SDMA_DOORBELL_OFFSET__OFFSET__TO);
	/* These pointers are in bytes. */
	gp_kfd_slot_set_ring(slot, GP_SDMA_FIELD(w, RB_CNTL, RB_SIZE),
			     gp_join64(w[GP_SDMA_RB_RPTR], w[GP_SDMA_RB_RPTR_HI]) / 4,
			     gp_join64(w[GP_SDMA_RB_WPTR], w[GP_SDMA_RB_WPTR_HI]) / 4);
}
