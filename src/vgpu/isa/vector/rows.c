// SPDX-License-Identifier: MIT
/* Rows of 64 dwords between memory and registers. */
#include <immintrin.h>

#include "vgpu/isa/memory/access.h"

void gp_isa_spread(u64 lanes, struct gp_isa_row *mask)
{
	const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);

	for (u32 i = 0; i < GP_ISA_LANES / 8; i++) {
		__m256i byte = _mm256_set1_epi32((int)(lanes >> 8 * i & 0xff));

		_mm256_store_si256((__m256i *)mask->lane + i,
				   _mm256_cmpeq_epi32(_mm256_and_si256(byte, bit), bit));
	}
}

void gp_isa_put_rows(struct gp_isa_wave *wave, u32 row, u32 count, u64 lanes,
		     const gp_isa_lanes *rows)
{
	struct gp_isa_row mask;

	if (lanes == GP_ISA_ALL) {
		memcpy(wave->v[row], rows, count * sizeof(*rows));
		return;
	}
	gp_isa_spread(lanes, &mask);
	for (u32 i = 0; i < count; i++) {
		u32 *to = wave->v[row + i];

		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			to[lane] =
				(rows[i][lane] & mask.lane[lane]) | (to[lane] & ~mask.lane[lane]);
	}
}

void gp_isa_extend(u32 shape, u32 *row)
{
	u32 shift = 32 - 8 * (shape & GP_ISA_BYTES);

	if (!(shape & GP_ISA_SIGNED))
		return;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		row[lane] = (u32)((s32)(row[lane] << shift) >> shift);
}

/*
 * The other half of the register becomes 0: registers with ECC, which both GPUs have, are written
 * as a whole.
 */
static void halve(u32 shape, u32 *row)
{
	if (shape & GP_ISA_D16)
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			row[lane] &= 0xffff;
	if (shape & GP_ISA_D16_HI)
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			row[lane] <<= 16;
}

void gp_isa_put_loaded(struct gp_isa_wave *wave, u32 row, u32 shape, u64 lanes, gp_isa_lanes *rows)
{
	gp_isa_extend(shape, rows[0]);
	halve(shape, rows[0]);
	gp_isa_put_rows(wave, row, gp_isa_dwords(shape & GP_ISA_BYTES), lanes, rows);
}

const gp_isa_lanes *gp_isa_stored(const struct gp_isa_wave *wave, u32 row, u32 shape,
				  gp_isa_lanes *room)
{
	if (!(shape & GP_ISA_D16_HI))
		return &wave->v[row];
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		(*room)[lane] = wave->v[row][lane] >> 16;
	return room;
}
