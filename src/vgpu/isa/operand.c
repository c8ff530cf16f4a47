// SPDX-License-Identifier: MIT
/* Operands and results of vector operations; see lanes.h. */
#include "vgpu/isa/vector/lanes.h"

#define INLINE_INTEGER  128
#define INLINE_NEGATIVE 193
#define INLINE_FLOAT    240
#define SHARED_BASE     235
#define SHARED_LIMIT    236
#define PRIVATE_BASE    237
#define PRIVATE_LIMIT   238
#define VCCZ            251
#define EXECZ           252
#define SCC             253
#define APERTURE_LIMIT  0xffffffffull

static const struct {
	u16 half;
	u32 single;
	u64 wide;
} inline_floats[] = {
	{0x3800, 0x3f000000, 0x3fe0000000000000}, /* 0.5 */
	{0xb800, 0xbf000000, 0xbfe0000000000000}, /* -0.5 */
	{0x3c00, 0x3f800000, 0x3ff0000000000000}, /* 1 */
	{0xbc00, 0xbf800000, 0xbff0000000000000}, /* -1 */
	{0x4000, 0x40000000, 0x4000000000000000}, /* 2 */
	{0xc000, 0xc0000000, 0xc000000000000000}, /* -2 */
	{0x4400, 0x40800000, 0x4010000000000000}, /* 4 */
	{0xc400, 0xc0800000, 0xc010000000000000}, /* -4 */
	{0x3118, 0x3e22f983, 0x3fc45f306dc9c882}, /* 1 / (2 pi) */
};

static u64 inline_float(u32 code, enum gp_isa_type type)
{
	u32 index = code - INLINE_FLOAT;

	switch (type) {
	case GP_ISA_B16:
	case GP_ISA_F16:
		return inline_floats[index].half;
	case GP_ISA_B64:
	case GP_ISA_F64:
		return inline_floats[index].wide;
	default:
		return inline_floats[index].single;
	}
}

/* What is neither register nor literal. */
static u64 constant(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave, u32 code,
		    enum gp_isa_type type)
{
	const struct gp_isa_host *host = runner->host;

	if (code < INLINE_NEGATIVE)
		return code - INLINE_INTEGER;
	if (code <= 208)
		return (u64)(s64)((s32)INLINE_NEGATIVE - 1 - (s32)code);
	if (code >= INLINE_FLOAT && code < INLINE_FLOAT + GP_ARRAY_SIZE(inline_floats))
		return inline_float(code, type);
	switch (code) {
	case SHARED_BASE:
		return host->shared_base;
	case SHARED_LIMIT:
		return host->shared_base | APERTURE_LIMIT;
	case PRIVATE_BASE:
		return host->private_base;
	case PRIVATE_LIMIT:
		return host->private_base | APERTURE_LIMIT;
	case VCCZ:
		return !gp_isa_pair(wave, GP_ISA_VCC);
	case EXECZ:
		return !gp_isa_exec(wave);
	case SCC:
		return wave->scc;
	default:
		return 0;
	}
}

u32 gp_isa_scalar32(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
		    const struct gp_isa_inst *inst, u32 code, enum gp_isa_type type)
{
	if (code < GP_ISA_SCALARS)
		return wave->s[code];
	if (code == GP_ISA_LITERAL)
		return inst->literal;
	return (u32)constant(runner, wave, code, type);
}

/* The literal of a float is its upper half; that of an integer is extended with zeros. */
u64 gp_isa_scalar64(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
		    const struct gp_isa_inst *inst, u32 code, enum gp_isa_type type)
{
	if (code < GP_ISA_SCALARS - 1)
		return gp_isa_pair(wave, code);
	if (code == GP_ISA_LITERAL)
		return type == GP_ISA_F64 ? (u64)inst->literal << 32 : inst->literal;
	return constant(runner, wave, code, type);
}
