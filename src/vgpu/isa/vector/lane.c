// SPDX-License-Identifier: MIT
/* Vector operations that are not lane by lane, or write more than one register. */
#include "vgpu/isa/vector/vop.h"

#define EXCEPTIONS 0x1ffu /* of TRAPSTS */

enum gp_isa_stop gp_isa_nop(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			    const struct gp_isa_inst *inst)
{
	(void)runner;
	(void)wave;
	(void)inst;
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_clear_exceptions(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
					 const struct gp_isa_inst *inst)
{
	(void)runner;
	(void)inst;
	wave->trapsts &= ~EXCEPTIONS;
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_swap(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
			     const struct gp_isa_inst *inst)
{
	struct gp_isa_row first, second;
	u32 other = gp_isa_row_of(inst->src[0]);

	(void)runner;
	if (inst->src[0] < GP_ISA_VGPR)
		return GP_ISA_ILLEGAL;
	memcpy(first.lane, wave->v[inst->dst], sizeof(first.lane));
	memcpy(second.lane, wave->v[other], sizeof(second.lane));
	gp_isa_put32(wave, inst, inst->dst, &second);
	gp_isa_put32(wave, inst, other, &first);
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_accvgpr_mov(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				    const struct gp_isa_inst *inst)
{
	struct gp_isa_row value;

	(void)runner;
	if (inst->src[0] < GP_ISA_AGPR)
		return GP_ISA_ILLEGAL;
	memcpy(value.lane, wave->v[gp_isa_row_indexed(wave, inst->src[0], 0)], sizeof(value.lane));
	gp_isa_put32(wave, inst, inst->dst, &value);
	return GP_ISA_RUNNING;
}

/* The first lane that is on; lane 0 where none is. */
enum gp_isa_stop gp_isa_read_first_lane(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
					const struct gp_isa_inst *inst)
{
	u64 exec = gp_isa_exec(wave);
	struct gp_isa_row room;
	const u32 *row = gp_isa_source32(runner, wave, inst, 0, GP_ISA_B32, &room);

	wave->s[inst->dst] = row[exec ? __builtin_ctzll(exec) : 0];
	return GP_ISA_RUNNING;
}

/* The second source is a scalar; EXEC does not count. */
enum gp_isa_stop gp_isa_read_lane(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				  const struct gp_isa_inst *inst)
{
	u32 lane = gp_isa_scalar32(runner, wave, inst, inst->src[1], GP_ISA_B32);
	struct gp_isa_row room;
	const u32 *row = gp_isa_source32(runner, wave, inst, 0, GP_ISA_B32, &room);

	wave->s[inst->dst] = row[lane % GP_ISA_LANES];
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_write_lane(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				   const struct gp_isa_inst *inst)
{
	u32 lane = gp_isa_scalar32(runner, wave, inst, inst->src[1], GP_ISA_B32);
	u32 value = gp_isa_scalar32(runner, wave, inst, inst->src[0], GP_ISA_B32);

	wave->v[inst->dst][lane % GP_ISA_LANES] = value;
	return GP_ISA_RUNNING;
}

/* Two bytes of the low half, or of the half that SDWA selects, into two registers. */
static enum gp_isa_stop bytes_unpack(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				     const struct gp_isa_inst *inst, float (*convert)(u32))
{
	struct gp_isa_row room, low, high;
	const u32 *row = gp_isa_source32(runner, wave, inst, 0, GP_ISA_B32, &room);
	u64 active = gp_isa_active(wave, inst);

	for (u32 i = 0; i < GP_ISA_LANES; i++) {
		bool on = active >> i & 1;

		low.lane[i] = on ? gp_isa_bits32(convert(row[i] & 0xff)) : 0;
		high.lane[i] = on ? gp_isa_bits32(convert(row[i] >> 8 & 0xff)) : 0;
	}
	if (inst->omod || inst->clamp) {
		gp_isa_finish32(low.lane, inst, wave->mode, GP_ISA_OF_F32);
		gp_isa_finish32(high.lane, inst, wave->mode, GP_ISA_OF_F32);
	}
	gp_isa_put32(wave, inst, inst->dst, &low);
	gp_isa_put32(wave, inst, inst->dst + 1u, &high);
	return GP_ISA_RUNNING;
}

enum gp_isa_stop gp_isa_cvt_pk_f32_fp8(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				       const struct gp_isa_inst *inst)
{
	return bytes_unpack(runner, wave, inst, gp_isa_fp8);
}

enum gp_isa_stop gp_isa_cvt_pk_f32_bf8(struct gp_isa_runner *runner, struct gp_isa_wave *wave,
				       const struct gp_isa_inst *inst)
{
	return bytes_unpack(runner, wave, inst, gp_isa_bf8);
}
