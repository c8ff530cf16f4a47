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

/* gfx9 and gfx10 are the layouts known; 0 when the version is not. */
bool gp_kfd_gfx_has_layout(u32 gfx_version);
/* Whether the addresses are those of a CP block of gfx9 or gfx10 / of an SDMA block. */
enum gp_gpu_cp_layout { GP_CP_UNKNOWN, GP_CP_GFX9, GP_CP_GFX10 };
enum gp_gpu_cp_layout gp_kfd_block_cp_layout(const struct gp_kfd_block *block);
bool gp_kfd_block_is_sdma(const struct gp_kfd_block *block);

/* `words` is a block of GP_HQD_WORDS, or of at least GP_SDMA_WORDS_MIN. */
void gp_kfd_slot_decode_cp(struct gp_kfd_slot *slot, const u32 *words);
void gp_kfd_slot_decode_sdma(struct gp_kfd_slot *slot, const u32 *words);

/* Appends the slot with a copy of the block's words. */
int gp_kfd_slot_push(struct gp_kfd_slot_list *list, const struct gp_kfd_slot *slot,
		     const struct gp_kfd_block *block);

#endif
