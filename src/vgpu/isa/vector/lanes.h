/* SPDX-License-Identifier: MIT */
/*
 * Operands as rows of 64 lanes, and results under the EXEC mask: what every vector operation
 * shares. Private to vgpu/isa.
 *
 * An operation computes all 64 lanes, in a loop that the compiler vectorises, and gp_isa_put32()
 * keeps those that EXEC has. A lane that is off must therefore not fault or be slow, only be
 * ignored.
 */
#ifndef GP_VGPU_ISA_LANES_H
#define GP_VGPU_ISA_LANES_H

#include "vgpu/isa/inst.h"

/* How wide an operand is and what its inline constants mean. */
enum gp_isa_type {
	GP_ISA_B16,
	GP_ISA_F16,
	GP_ISA_B32,
	GP_ISA_F32,
	GP_ISA_B64,
	GP_ISA_F64,
};

struct gp_isa_row {
	_Alignas(32) u32 lane[GP_ISA_LANES];
};

struct gp_isa_row64 {
	_Alignas(32) u64 lane[GP_ISA_LANES];
};

static inline u64 gp_isa_pair(const struct gp_isa_wave *wave, u32 code)
{
	return wave->s[code] | (u64)wave->s[code + 1] << 32;
}

static inline void gp_isa_set_pair(struct gp_isa_wave *wave, u32 code, u64 value)
{
	wave->s[code] = (u32)value;
	wave->s[code + 1] = (u32)(value >> 32);
}

static inline u64 gp_isa_exec(const struct gp_isa_wave *wave)
{
	return gp_isa_pair(wave, GP_ISA_EXEC);
}

/* operand.c: the value of a scalar operand, an inline constant or the literal. A type of 16 bits:
 * in the low half. 64 bits: register pairs; the literal as the type wants it. */
u32 gp_isa_scalar32(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
		    const struct gp_isa_inst *inst, u32 code, enum gp_isa_type type);
u64 gp_isa_scalar64(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
		    const struct gp_isa_inst *inst, u32 code, enum gp_isa_type type);

/* Row of wave->v that an operand code from GP_ISA_VGPR on names. */
static inline u32 gp_isa_row_of(u32 code)
{
	return code - GP_ISA_VGPR;
}

/* sources.c: the row of operand n, moved by the index mode. */
u32 gp_isa_row_indexed(const struct gp_isa_wave *wave, u32 code, u32 n);

/*
 * Source n of a vector operation as a row: the register itself, or *room, filled. SDWA selection
 * and DPP are applied; neg and abs are not, because they depend on the type (gp_isa_modify32() and
 * its kin).
 */
const u32 *gp_isa_source32(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
			   const struct gp_isa_inst *inst, u32 n, enum gp_isa_type type,
			   struct gp_isa_row *room);
/* 64-bit operands are joined from two rows. */
void gp_isa_source64(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
		     const struct gp_isa_inst *inst, u32 n, enum gp_isa_type type,
		     struct gp_isa_row64 *out);

/* Writes the lanes that EXEC (and DPP's masks) allow; SDWA's dst_sel is applied. `row` is that of
 * wave->v. */
void gp_isa_put32(struct gp_isa_wave *wave, const struct gp_isa_inst *inst, u32 row,
		  const struct gp_isa_row *value);
void gp_isa_put64(struct gp_isa_wave *wave, const struct gp_isa_inst *inst, u32 row,
		  const struct gp_isa_row64 *value);
/* A mask of lanes into a pair of scalar registers: lanes that are off are 0. */
void gp_isa_put_mask(struct gp_isa_wave *wave, u32 code, u64 mask);

/* The lanes that this instruction writes: EXEC, less what DPP's masks and bounds leave out. */
u64 gp_isa_active(const struct gp_isa_wave *wave, const struct gp_isa_inst *inst);

/* ---- memory.c ---- */

/* CPU address of some bytes within one page, or NULL; remembers pages. */
void *gp_isa_address_slow(struct gp_isa_runner *runner, u64 va, bool write);

static inline void *gp_isa_address(struct gp_isa_runner *runner, u64 va, bool write)
{
	u64 page = va / GP_ISA_PAGE_BYTES;
	const struct gp_isa_page *entry = &runner->pages[page % GP_ISA_PAGES];

	if (entry->page == page + 1 && (entry->writable || !write))
		return entry->memory + va % GP_ISA_PAGE_BYTES;
	return gp_isa_address_slow(runner, va, write);
}

/* Any alignment, across pages. False and wave->fault: nothing was transferred to registers. */
bool gp_isa_load(struct gp_isa_runner *runner, struct gp_isa_wave *wave, u64 va, void *to,
		 u32 bytes);
bool gp_isa_store(struct gp_isa_runner *runner, struct gp_isa_wave *wave, u64 va, const void *from,
		  u32 bytes);

#endif
