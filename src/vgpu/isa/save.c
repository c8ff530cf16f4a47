// SPDX-License-Identifier: MIT
/*
 * Sources of the layout: cwsr_trap_handler_gfx9.asm of the driver for the wave, AMD's debugger
 * library (rocdbgapi) for the control stack.
 */
#include "vgpu/isa/save.h"

#include "vgpu/isa/scalar/scalar.h"

/* GPR_ALLOC, in blocks of 8 vector registers, 4 of them before a0, and 16 scalar ones. */
#define VECTOR_SIZE(alloc)  ((alloc) >> 6 & 0x3f)
#define ACCUM_OFFSET(alloc) ((alloc) >> 12 & 0x3f)
#define SCALAR_BLOCKS       (GP_ISA_SAVED_SCALARS / 16 - 1)
/* LDS_ALLOC: bits 12 to 20 count blocks of 256 bytes. */
#define LDS_SHIFT            12
#define LDS_BLOCK            256u

#define ROW_BYTES            (GP_ISA_LANES * sizeof(u32))
#define SCALAR_BYTES         (GP_ISA_SAVED_SCALARS * sizeof(u32))
#define HARDWARE_BYTES       128u
#define PAD_BYTES            64u

#define STATUS_NOT_SAVED     (3u << 1 | 1u << 17) /* SPI_PRIO, ECC_ERR */
#define TRAPSTS_SAVE_CONTEXT (1u << 10)
#define REPLAY_BITS          0xfc000000u /* where the handler keeps part of IB_STS, which is 0 */
#define PC_HIGH_BITS         0xffffu
#define BARRIER_BYTES        sizeof(u32) /* of s_barrier */

/* Registers of the hardware, as dwords behind the scalar registers. */
enum {
	AT_M0,
	AT_PC,
	AT_PC_HIGH,
	AT_EXEC,
	AT_EXEC_HIGH,
	AT_STATUS,
	AT_TRAPSTS,
	AT_XNACK_MASK,
	AT_XNACK_MASK_HIGH,
	AT_MODE,
};
#define HARDWARE_WORDS (HARDWARE_BYTES / sizeof(u32))
#define AT_TTMP        16

u32 gp_isa_gpr_alloc(const struct gp_isa_launch *launch)
{
	return (launch->rsrc1 & 0x3f) << 6 | (launch->rsrc3 & 0x3f) << 12 | SCALAR_BLOCKS << 24;
}

u32 gp_isa_lds_alloc(const struct gp_isa_launch *launch)
{
	return launch->lds_bytes / LDS_BLOCK << LDS_SHIFT;
}

u32 gp_isa_vectors(u32 gpr_alloc)
{
	return (VECTOR_SIZE(gpr_alloc) + 1) * 8;
}

/* Of those, the ones that are not accumulation registers. */
static u32 plain_vectors(u32 gpr_alloc)
{
	return GP_MIN((ACCUM_OFFSET(gpr_alloc) + 1) * 4, gp_isa_vectors(gpr_alloc));
}

static u32 lds_bytes(const struct gp_isa_wave *wave)
{
	return GP_MIN((wave->lds_alloc >> LDS_SHIFT & 0x1ff) * LDS_BLOCK, wave->group->lds_bytes);
}

u32 gp_isa_saved_bytes(const struct gp_isa_wave *wave, bool first)
{
	return (u32)(gp_isa_vectors(wave->gpr_alloc) * ROW_BYTES + SCALAR_BYTES) + HARDWARE_BYTES +
	       (first ? lds_bytes(wave) : 0) + PAD_BYTES;
}

/* Of the ttmp registers that are saved, the one that the handler uses. */
static u32 handler_ttmp(enum gp_isa_gfx gfx)
{
	return gfx == GP_ISA_GFX942 ? 13 : 11;
}

u64 gp_isa_saved_pc(const struct gp_isa_wave *wave)
{
	/* One that the others have released since it last ran is behind it. */
	bool waits = wave->at_barrier && wave->barrier == wave->group->barrier;

	return waits ? wave->pc - BARRIER_BYTES : wave->pc;
}

/* The handler runs with privileges, so that this is how it reads STATUS. */
static void save_hardware(enum gp_isa_gfx gfx, const struct gp_isa_wave *wave, u32 *out)
{
	u64 pc = gp_isa_saved_pc(wave);

	memset(out, 0, HARDWARE_BYTES);
	out[AT_M0] = wave->s[GP_ISA_M0];
	out[AT_PC] = (u32)pc;
	out[AT_PC_HIGH] = (u32)(pc >> 32) & PC_HIGH_BITS;
	out[AT_EXEC] = wave->s[GP_ISA_EXEC];
	out[AT_EXEC_HIGH] = wave->s[GP_ISA_EXEC + 1];
	out[AT_STATUS] = (gp_isa_status(wave) & ~STATUS_NOT_SAVED) | GP_ISA_STATUS_PRIV;
	out[AT_TRAPSTS] = wave->trapsts & ~TRAPSTS_SAVE_CONTEXT;
	out[AT_XNACK_MASK] = wave->s[GP_ISA_XNACK_MASK];
	out[AT_XNACK_MASK_HIGH] = wave->s[GP_ISA_XNACK_MASK + 1];
	out[AT_MODE] = wave->mode;
	for (u32 i = 4; i <= 13; i++)
		if (i != 12)
			out[AT_TTMP + i] = wave->s[GP_ISA_TTMP + i] &
					   (i == handler_ttmp(gfx) ? ~REPLAY_BITS : UINT32_MAX);
}

/* At `in` or `out`: rows of vector registers, those of the accumulation registers, the rest. */
struct rows {
	size_t plain, accum, all; /* bytes */
};

static struct rows rows_of(u32 gpr_alloc)
{
	u32 plain = plain_vectors(gpr_alloc), all = gp_isa_vectors(gpr_alloc);

	return (struct rows){
		.plain = plain * ROW_BYTES,
		.accum = GP_MIN(all - plain, (u32)GP_ISA_VECTORS) * ROW_BYTES,
		.all = all * ROW_BYTES,
	};
}

void gp_isa_save(enum gp_isa_gfx gfx, const struct gp_isa_wave *wave, bool first, u8 *out)
{
	struct rows rows = rows_of(wave->gpr_alloc);
	u32 scalars[GP_ISA_SAVED_SCALARS] = {0}, hardware[HARDWARE_WORDS];

	memcpy(out, wave->v[0], rows.plain);
	memcpy(out + rows.plain, wave->v[GP_ISA_VECTORS], rows.accum);
	memset(out + rows.plain + rows.accum, 0, rows.all - rows.plain - rows.accum);
	out += rows.all;
	memcpy(scalars, wave->s, GP_ISA_TTMP * sizeof(u32));
	memcpy(out, scalars, SCALAR_BYTES);
	out += SCALAR_BYTES;
	save_hardware(gfx, wave, hardware);
	memcpy(out, hardware, HARDWARE_BYTES);
	out += HARDWARE_BYTES;
	if (first) {
		memcpy(out, wave->group->lds, lds_bytes(wave));
		out += lds_bytes(wave);
	}
	memset(out, 0, PAD_BYTES);
}

static void restore_hardware(struct gp_isa_wave *wave, const u32 *in)
{
	wave->s[GP_ISA_M0] = in[AT_M0];
	wave->pc = in[AT_PC] | (u64)(in[AT_PC_HIGH] & PC_HIGH_BITS) << 32;
	wave->s[GP_ISA_EXEC] = in[AT_EXEC];
	wave->s[GP_ISA_EXEC + 1] = in[AT_EXEC_HIGH];
	wave->scc = in[AT_STATUS] & GP_ISA_STATUS_SCC;
	wave->status = (in[AT_STATUS] & ~(u32)GP_ISA_STATUS_PRIV & ~STATUS_NOT_SAVED) |
		       (wave->status & STATUS_NOT_SAVED);
	wave->trapsts = in[AT_TRAPSTS] & ~TRAPSTS_SAVE_CONTEXT;
	wave->s[GP_ISA_XNACK_MASK] = in[AT_XNACK_MASK];
	wave->s[GP_ISA_XNACK_MASK + 1] = in[AT_XNACK_MASK_HIGH];
	wave->mode = in[AT_MODE];
	for (u32 i = 4; i <= 13; i++)
		if (i != 12)
			wave->s[GP_ISA_TTMP + i] = in[AT_TTMP + i];
	wave->at_barrier = false;
}

void gp_isa_restore(struct gp_isa_wave *wave, bool first, const u8 *in)
{
	struct rows rows = rows_of(wave->gpr_alloc);
	u32 hardware[HARDWARE_WORDS];

	memcpy(wave->v[0], in, rows.plain);
	memcpy(wave->v[GP_ISA_VECTORS], in + rows.plain, rows.accum);
	in += rows.all;
	memcpy(wave->s, in, GP_ISA_TTMP * sizeof(u32));
	in += SCALAR_BYTES;
	memcpy(hardware, in, HARDWARE_BYTES);
	restore_hardware(wave, hardware);
	in += HARDWARE_BYTES;
	if (first)
		memcpy(wave->group->lds, in, lds_bytes(wave));
}

void gp_isa_restore_group(struct gp_isa_group *group)
{
	group->at_barrier = 0;
}

/* rocdbgapi counts 16 scalar registers more than are saved, for the ttmp. */
u32 gp_isa_relaunch_state(const struct gp_isa_wave *wave)
{
	return VECTOR_SIZE(wave->gpr_alloc) | (SCALAR_BLOCKS + 1) << 6 |
	       (lds_bytes(wave) / (2 * LDS_BLOCK)) << 9 | ACCUM_OFFSET(wave->gpr_alloc) << 24 |
	       1u << 31;
}

u32 gp_isa_relaunch_wave(u32 scratch_slot, bool scratch, bool first, bool last)
{
	return (scratch_slot & 0x1ff) | (scratch ? 1u << 15 : 0) | (last ? 1u << 16 : 0) |
	       (first ? 1u << 17 : 0);
}
