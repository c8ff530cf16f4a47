/* SPDX-License-Identifier: MIT */
/*
 * Decoding of a register block into a slot, and the list operations the readers of hqds and mqds
 * share. Private to gpu/kfd.
 */
#ifndef GP_GPU_KFD_SLOT_H
#define GP_GPU_KFD_SLOT_H

#include "gpu/gpu.h"

/* A descriptor has 512 words and a slot 56; more than this is not a block. */
#define GP_BLOCK_WORDS 1024

/* A block while its rows come in. */
struct gp_kfd_block {
	u32 words[GP_BLOCK_WORDS];
	u32 addresses[GP_BLOCK_WORDS];
	size_t count;
	bool broken; /* a row was garbled, out of order or too many */
};

struct gp_kfd_row;
void gp_kfd_block_add(struct gp_kfd_block *block, const struct gp_kfd_row *row);
bool gp_kfd_block_contiguous(const struct gp_kfd_block *block);

/* The layouts of gfx9 to gfx12 are known. */
bool gp_kfd_gfx_has_layout(u32 gfx_version);
/* Whether the addresses are those of a CP block of gfx9, or of gfx10, gfx11 and gfx12. */
enum gp_gpu_cp_layout { GP_CP_UNKNOWN, GP_CP_GFX9, GP_CP_GFX10_ON };
enum gp_gpu_cp_layout gp_kfd_block_cp_layout(const struct gp_kfd_block *block);

/* `words` is a block of GP_HQD_WORDS. */
void gp_kfd_slot_decode_cp(struct gp_kfd_slot *slot, const u32 *words);

/*
 * The SDMA layout of a slot or of a descriptor: of that gfx version, or, for version 0, the one
 * that the words fit. NULL if there is none.
 */
struct gp_kfd_sdma_layout;
const struct gp_kfd_sdma_layout *gp_kfd_sdma_slot(u32 gfx_version,
						  const struct gp_kfd_block *block);
const struct gp_kfd_sdma_layout *gp_kfd_sdma_descriptor(u32 gfx_version,
							const struct gp_kfd_block *block);
void gp_kfd_slot_decode_sdma(struct gp_kfd_slot *slot, const struct gp_kfd_sdma_layout *layout,
			     const u32 *words);
/* Engine and queue of a descriptor. */
void gp_kfd_sdma_place(const struct gp_kfd_sdma_layout *layout, const u32 *words,
		       struct gp_kfd_slot *slot);
/* Size and pointers of a ring whose hardware does not report whether it is empty. */
void gp_kfd_slot_set_ring(struct gp_kfd_slot *slot, u32 log2_dwords, u64 rptr_dwords,
			  u64 wptr_dwords);

/* Appends the slot with a copy of the block's words. */
int gp_kfd_slot_push(struct gp_kfd_slot_list *list, const struct gp_kfd_slot *slot,
		     const struct gp_kfd_block *block);

#endif
