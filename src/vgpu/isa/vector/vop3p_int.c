// SPDX-License-Identifier: MIT
/*
 * Packed 16-bit integers. op_sel chooses the half of each source for the lower result, op_sel_hi
 * that for the upper one; neg_lo and neg_hi mean nothing here. Inline constants are 32 bits wide:
 * integers with their sign, floats as f32.
 */
#include "vgpu/isa/vector/vop3p.h"

void gp_isa_split_halves(const struct gp_isa_runner *runner, const struct gp_isa_wave *wave,
			 const struct gp_isa_inst *inst, u32 count, enum gp_isa_type type,
			 struct gp_isa_split *out)
{
	for (u32 n = 0; n < count; n++) {
		struct gp_isa_row room;
		const u32 *row = gp_isa_source32(runner, wave, inst, n, type, &room);
		u32 low = inst->opsel >> n & 1 ? 16 : 0, high = inst->opsel_hi >> n & 1 ? 16 : 0;

		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			out->low[n].lane[lane] = row[lane] >> low & 0xffff;
			out->high[n].lane[lane] = row[lane] >> high & 0xffff;
		}
	}
}

void gp_isa_put_halves(struct gp_isa_wave *wave, const struct gp_isa_inst *inst,
		       const struct gp_isa_row *low, const struct gp_isa_row *high)
{
	struct gp_isa_row both;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		both.lane[lane] = (low->lane[lane] & 0xffff) | high->lane[lane] << 16;
	gp_isa_put32(wave, inst, inst->dst, &both);
}

static inline s32 clamp_s16(s32 value, bool clamp)
{
	s32 high = value > INT16_MAX ? INT16_MAX : value;

	return clamp ? (high < INT16_MIN ? INT16_MIN : high) : value;
}

static inline s32 clamp_u16(s32 value, bool clamp)
{
	s32 high = value > UINT16_MAX ? UINT16_MAX : value;

	return clamp ? (high < 0 ? 0 : high) : value;
}

/* One half: sources as they are and with their sign. */
struct half {
	u32 a, b, c;
	s32 sa, sb, sc;
	bool clamp;
};

static inline u32 mad_i16(struct half x)
{
	return (u32)clamp_s16(x.sa * x.sb + x.sc, x.clamp);
}

static inline u32 mad_u16(struct half x)
{
	u32 sum = x.a * x.b + x.c; /* at most 0xffff0000 */

	return x.clamp && sum > UINT16_MAX ? UINT16_MAX : sum;
}

static inline u32 mul_lo_u16(struct half x)
{
	u32 value = x.a * x.b;

	return x.clamp && value > UINT16_MAX ? UINT16_MAX : value;
}

static inline u32 add_i16(struct half x)
{
	return (u32)clamp_s16(x.sa + x.sb, x.clamp);
}

static inline u32 sub_i16(struct half x)
{
	return (u32)clamp_s16(x.sa - x.sb, x.clamp);
}

static inline u32 add_u16(struct half x)
{
	return (u32)clamp_u16((s32)(x.a + x.b), x.clamp);
}

static inline u32 sub_u16(struct half x)
{
	return (u32)clamp_u16((s32)x.a - (s32)x.b, x.clamp);
}

static inline u32 lshlrev_b16(struct half x)
{
	return x.b << (x.a & 15);
}

static inline u32 lshrrev_b16(struct half x)
{
	return x.b >> (x.a & 15);
}

static inline u32 ashrrev_i16(struct half x)
{
	return (u32)(x.sb >> (x.a & 15));
}

static inline u32 max_i16(struct half x)
{
	return x.sa > x.sb ? x.a : x.b;
}

static inline u32 min_i16(struct half x)
{
	return x.sa < x.sb ? x.a : x.b;
}

static inline u32 max_u16(struct half x)
{
	return x.a > x.b ? x.a : x.b;
}

static inline u32 min_u16(struct half x)
{
	return x.a < x.b ? x.a : x.b;
}

static inline struct half half_of(const struct gp_isa_row *sources, u32 count, u32 lane, bool clamp)
{
	u32 c = count > 2 ? sources[2].lane[lane] : 0;

	return (struct half){
		.a = sources[0].lane[lane],
		.b = sources[1].lane[lane],
		.c = c,
		.sa = (int16_t)sources[0].lane[lane],
		.sb = (int16_t)sources[1].lane[lane],
		.sc = (int16_t)c,
		.clamp = clamp,
	};
}

/* The loop over the lanes for one of the functions above; clamp is constant in each loop. */
#define PACKED(function, count)                                                                \
	enum gp_isa_stop gp_isa_pk_##function(struct gp_isa_runner *runner,                    \
					      struct gp_isa_wave *wave,                        \
					      const struct gp_isa_inst *inst)                  \
	{                                                                                      \
		struct gp_isa_split x;                                                         \
		struct gp_isa_row low, high;                                                   \
                                                                                               \
		gp_isa_split_halves(runner, wave, inst, count, GP_ISA_B32, &x);                \
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {                              \
			low.lane[lane] = function(half_of(x.low, count, lane, inst->clamp));   \
			high.lane[lane] = function(half_of(x.high, count, lane, inst->clamp)); \
		}                                                                              \
		gp_isa_put_halves(wave, inst, &low, &high);                                    \
		return GP_ISA_RUNNING;                                                         \
	}

PACKED(mad_i16, 3)
PACKED(mad_u16, 3)
PACKED(mul_lo_u16, 2)
PACKED(add_i16, 2)
PACKED(sub_i16, 2)
PACKED(add_u16, 2)
PACKED(sub_u16, 2)
PACKED(lshlrev_b16, 2)
PACKED(lshrrev_b16, 2)
PACKED(ashrrev_i16, 2)
PACKED(max_i16, 2)
PACKED(min_i16, 2)
PACKED(max_u16, 2)
PACKED(min_u16, 2)
