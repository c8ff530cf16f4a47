// SPDX-License-Identifier: MIT
/* Rows of 64 dwords between memory and registers. */
#include "vgpu/isa/access.h"

/*
 * Rows of the lanes that are on. The mask is spread to one dword per lane, which the compiler turns
 * into vectors; a copy when all are on.
 */
void gp_isa_put_rows(struct gp_isa_wave *wave, u32 row, u32 count, u64 lanes,
		     const gp_isa_lanes *rows)
{
	struct gp_isa_row mask;

	if (lanes == GP_ISA_ALL) {
		memcpy(wave->v[row], rows, count * sizeof(*rows));
		return;
	}
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		mask.lane[lane] = -(u32)(lanes >> lane & 1);
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
