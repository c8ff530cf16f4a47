/* SPDX-License-Identifier: MIT */
/*
 * What the scalar operations with one or two operands share: a table says how wide the operands
 * and the result are, and which function makes the result. Private to vgpu/isa.
 */
#ifndef GP_VGPU_ISA_SCALAR_H
#define GP_VGPU_ISA_SCALAR_H

#include "vgpu/isa/vector/lanes.h"

/* Bits of the shape. */
enum gp_isa_scalar_shape {
	GP_ISA_A64 = 1u << 0,
	GP_ISA_B64_OPERAND = 1u << 1,
	GP_ISA_D64 = 1u << 2,
	GP_ISA_SCC_NONZERO = 1u << 3, /* SCC says whether the result is not 0 */
	GP_ISA_W64 = GP_ISA_A64 | GP_ISA_B64_OPERAND | GP_ISA_D64,
};

/* The result; operands of 32 bits have zeros above. Changes SCC itself where it is not the above.
 */
typedef u64 gp_isa_scalar_function(struct gp_isa_wave *wave, u64 a, u64 b);

#define GP_ISA_SCALAR(function_) .function = (void (*)(void))(function_)

static inline u64 gp_isa_scalar_operand(const struct gp_isa_runner *runner,
					const struct gp_isa_wave *wave,
					const struct gp_isa_inst *inst, u32 n, bool wide)
{
	return wide ? gp_isa_scalar64(runner, wave, inst, inst->src[n], GP_ISA_B64)
		    : gp_isa_scalar32(runner, wave, inst, inst->src[n], GP_ISA_B32);
}

/* Registers that exist: a pair does not reach behind the last. */
static inline bool gp_isa_scalar_exists(u32 code, u32 registers)
{
	return code + registers <= GP_ISA_SCALARS;
}

/* A result of 32 or 64 bits into its register. */
static inline enum gp_isa_stop gp_isa_scalar_put(struct gp_isa_wave *wave, u32 code, u64 value,
						 bool wide)
{
	if (!gp_isa_scalar_exists(code, wide ? 2 : 1))
		return GP_ISA_ILLEGAL;
	if (wide)
		gp_isa_set_pair(wave, code, value);
	else
		wave->s[code] = (u32)value;
	return GP_ISA_RUNNING;
}

/* sop2.c: executes what has a gp_isa_scalar_function. */
gp_isa_execute gp_isa_execute_scalar;

/* hwreg.c: the register STATUS. */
u32 gp_isa_status(const struct gp_isa_wave *wave);
/* hwreg.c: false: no such register, or not this one. */
bool gp_isa_hwreg_read(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
		       u32 number, u32 *value);
/* `mask` has the bits that change. */
bool gp_isa_hwreg_write(struct gp_isa_wave *wave, u32 number, u32 mask, u32 value);

#endif
