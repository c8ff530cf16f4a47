// SPDX-License-Identifier: MIT
/* Packed operations. */
#include "packed.h"

typedef u32 half_reference(u32 a, u32 b, u32 c, bool clamp);

#define S(x)      ((s64)(int16_t)(x))
#define SIGNED(x) ((u32)limited(x, clamp, INT16_MIN, INT16_MAX) & 0xffff)
#define PLAIN(x)  ((u32)limited(x, clamp, 0, UINT16_MAX) & 0xffff)
#define REFERENCE(name, value)                                 \
	static u32 ref_##name(u32 a, u32 b, u32 c, bool clamp) \
	{                                                      \
		(void)a, (void)b, (void)c, (void)clamp;        \
		return value;                                  \
	}

REFERENCE(mad_i16, SIGNED(S(a) * S(b) + S(c)))
REFERENCE(mad_u16, PLAIN((s64)a *b + c))
REFERENCE(mul_lo_u16, PLAIN((s64)a *b))
REFERENCE(add_i16, SIGNED(S(a) + S(b)))
REFERENCE(sub_i16, SIGNED(S(a) - S(b)))
REFERENCE(add_u16, PLAIN((s64)a + b))
REFERENCE(sub_u16, PLAIN((s64)a - b))
REFERENCE(lshlrev_b16, b << a % 16 & 0xffff)
REFERENCE(lshrrev_b16, b >> a % 16)
REFERENCE(ashrrev_i16, (u32)(S(b) >> a % 16) & 0xffff)
REFERENCE(max_i16, S(a) > S(b) ? a : b)
REFERENCE(min_i16, S(a) < S(b) ? a : b)
REFERENCE(max_u16, a > b ? a : b)
REFERENCE(min_u16, a < b ? a : b)

static const struct {
	u32 words[2];
	half_reference *reference;
} integers[] = {
	{{0xd380400a, 0x1c0a0300}, ref_mad_i16},     /* v_pk_mad_i16 v10, v0, v1, v2 */
	{{0xd381400a, 0x18020300}, ref_mul_lo_u16},  /* v_pk_mul_lo_u16 v10, v0, v1 */
	{{0xd382400a, 0x18020300}, ref_add_i16},     /* v_pk_add_i16 v10, v0, v1 */
	{{0xd383400a, 0x18020300}, ref_sub_i16},     /* v_pk_sub_i16 v10, v0, v1 */
	{{0xd384400a, 0x18020300}, ref_lshlrev_b16}, /* v_pk_lshlrev_b16 v10, v0, v1 */
	{{0xd385400a, 0x18020300}, ref_lshrrev_b16}, /* v_pk_lshrrev_b16 v10, v0, v1 */
	{{0xd386400a, 0x18020300}, ref_ashrrev_i16}, /* v_pk_ashrrev_i16 v10, v0, v1 */
	{{0xd387400a, 0x18020300}, ref_max_i16},     /* v_pk_max_i16 v10, v0, v1 */
	{{0xd388400a, 0x18020300}, ref_min_i16},     /* v_pk_min_i16 v10, v0, v1 */
	{{0xd389400a, 0x1c0a0300}, ref_mad_u16},     /* v_pk_mad_u16 v10, v0, v1, v2 */
	{{0xd38a400a, 0x18020300}, ref_add_u16},     /* v_pk_add_u16 v10, v0, v1 */
	{{0xd38b400a, 0x18020300}, ref_sub_u16},     /* v_pk_sub_u16 v10, v0, v1 */
	{{0xd38c400a, 0x18020300}, ref_max_u16},     /* v_pk_max_u16 v10, v0, v1 */
	{{0xd38d400a, 0x18020300}, ref_min_u16},     /* v_pk_min_u16 v10, v0, v1 */
};

static void packed_integers_take_the_halves_of_op_sel(void **state)
{
	struct machine *m = *state;
	u64 seed = 1;

	for (u32 n = 0; n < GP_ARRAY_SIZE(integers); n++)
		for (u32 fields = 0; fields < 128; fields++) {
			struct modifiers x = {.op_sel = fields & 7,
					      .op_sel_hi = fields >> 3 & 7,
					      .clamp = fields >> 6};

			fill(m, 3, &seed);
			run(m, integers[n].words, x);
			for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
				for (u32 upper = 0; upper < 2; upper++) {
					u32 want =
						integers[n].reference(half_of(m, x, 0, lane, upper),
								      half_of(m, x, 1, lane, upper),
								      half_of(m, x, 2, lane, upper),
								      x.clamp);

					assert_int_equal(m->wave->v[DST][lane] >> 16 * upper &
								 0xffff,
							 want);
				}
		}
}

enum half_op { FMA, ADD, MUL, MIN, MAX };

static double half_result(enum half_op op, double a, double b, double c)
{
	switch (op) {
	case FMA:
		return a * b + c; /* exact: see below */
	case ADD:
		return a + b;
	case MUL:
		return a * b;
	case MIN:
		return a < b || (a == b && signbit(a)) ? a : b;
	default:
		return a > b || (a == b && signbit(b)) ? a : b;
	}
}

static void packed_halves_round_once(void **state)
{
	static const struct {
		u32 words[2];
		enum half_op op;
	} ops[] = {
		{{0xd38e400a, 0x1c0a0300}, FMA}, /* v_pk_fma_f16 v10, v0, v1, v2 */
		{{0xd38f400a, 0x18020300}, ADD}, /* v_pk_add_f16 v10, v0, v1 */
		{{0xd390400a, 0x18020300}, MUL}, /* v_pk_mul_f16 v10, v0, v1 */
		{{0xd391400a, 0x18020300}, MIN}, /* v_pk_min_f16 v10, v0, v1 */
		{{0xd392400a, 0x18020300}, MAX}, /* v_pk_max_f16 v10, v0, v1 */
	};
	struct machine *m = *state;
	u64 seed = 2;

	for (u32 round = 0; round < 512; round++) {
		u32 n = round % GP_ARRAY_SIZE(ops), bits = machine_random(&seed);
		struct modifiers x = {bits & 7, bits >> 3 & 7, bits >> 6 & 7, bits >> 9 & 7,
				      (bits >> 12 & 3) == 3};

		for (u32 row = 0; row < 3; row++)
			for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
				m->wave->v[row][lane] = random_half(&seed, ops[n].op == FMA) |
							random_half(&seed, ops[n].op == FMA) << 16;
		run(m, ops[n].words, x);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			for (u32 upper = 0; upper < 2; upper++) {
				u32 negative = upper ? x.neg_hi : x.neg_lo;
				double s[3], want;

				for (u32 i = 0; i < 3; i++)
					s[i] = half_number(half_of(m, x, i, lane, upper)) *
					       (negative >> i & 1 ? -1 : 1);
				want = half_result(ops[n].op, s[0], s[1], s[2]);
				if (x.clamp)
					want = want > 1 ? 1 : want > 0 ? want : 0;
				assert_int_equal(m->wave->v[DST][lane] >> 16 * upper & 0xffff,
						 half_bits(want));
			}
	}
}

static void packed_halves_obey_mode(void **state)
{
	static const u32 add[] = {0xd38f400a, 0x18020300}, max[] = {0xd392400a, 0x18020300};
	const struct modifiers plain = {.op_sel_hi = 7};
	struct machine *m = *state;

	m->wave->v[0][0] = 0x3c000001; /* the smallest denormal; 1 */
	m->wave->v[1][0] = 0x10000001; /* the same; 2^-11 */
	run(m, add, plain);
	assert_int_equal(m->wave->v[DST][0], 0x3c000002); /* the tie goes to even */
	m->wave->mode |= 1 << 2;                          /* up */
	run(m, add, plain);
	assert_int_equal(m->wave->v[DST][0], 0x3c010002);
	m->wave->mode &= ~GP_ISA_MODE_DENORM_64;
	run(m, add, plain);
	assert_int_equal(m->wave->v[DST][0], 0x3c010000);

	/* NaN: the number wins, but against a signalling one in IEEE mode only a NaN can */
	m->wave->v[0][0] = 0x7e017d01;
	m->wave->v[1][0] = 0xbc00bc00;
	m->wave->mode |= GP_ISA_MODE_IEEE;
	run(m, max, plain);
	assert_int_equal(m->wave->v[DST][0], 0xbc007f01);
	m->wave->mode &= ~GP_ISA_MODE_IEEE;
	run(m, max, plain);
	assert_int_equal(m->wave->v[DST][0], 0xbc00bc00);
}

/* Lower halves: (1 + 2^-10)^2 - (1 + 2^-9) is 2^-20, which a product of 11 bits does not have.
 * Upper halves: 1141 * 1838 is 2^21 + 6, so that 1 + 2^-11 * (1 + 6 / 2^21) is above a tie by less
 * than f32 has room for. */
static void packed_fma_rounds_once(void **state)
{
	struct machine *m = *state;

	m->wave->v[0][0] = 0x3c753c01;
	m->wave->v[1][0] = 0x0f2e3c01;
	m->wave->v[2][0] = 0x3c00bc02;
	RUN(m, 0xd38e400a, 0x1c0a0300); /* v_pk_fma_f16 v10, v0, v1, v2 */
	assert_int_equal(m->wave->v[DST][0], 0x3c010010);
}

static void inline_constants_fill_the_lower_half(void **state)
{
	struct machine *m = *state;

	m->wave->v[0][5] = 0x00100020;
	RUN(m, 0xd38a400a, 0x18010300); /* v_pk_add_u16 v10, v0, 1 */
	assert_int_equal(m->wave->v[DST][5], 0x00100021);
	RUN(m, 0xd38a400a, 0x08010300); /* v_pk_add_u16 v10, v0, 1 op_sel_hi:[1,0] */
	assert_int_equal(m->wave->v[DST][5], 0x00110021);
	RUN(m, 0xd38a400a, 0x18018300); /* v_pk_add_u16 v10, v0, -1 */
	assert_int_equal(m->wave->v[DST][5], 0x000f001f);
	RUN(m, 0xd38a400a, 0x1801e500); /* v_pk_add_u16 v10, v0, 1.0 */
	assert_int_equal(m->wave->v[DST][5], 0x3f900020);
	m->wave->s[4] = 0x70000006;
	RUN(m, 0xd38a400a, 0x18000900); /* v_pk_add_u16 v10, v0, s4 */
	assert_int_equal(m->wave->v[DST][5], 0x70100026);
	m->wave->v[0][5] = 0x3c003c00;
	RUN(m, 0xd38f400a, 0x1801e500); /* v_pk_add_f16 v10, v0, 1.0 */
	assert_int_equal(m->wave->v[DST][5], 0x3c004000);
	RUN(m, 0xd38f400a, 0x0801e500); /* v_pk_add_f16 v10, v0, 1.0 op_sel_hi:[1,0] */
	assert_int_equal(m->wave->v[DST][5], 0x40004000);
}

static void packed_singles_take_the_words_of_op_sel(void **state)
{
	static const u32 words[][2] = {
		{0xd3b0400a, 0x1c120500}, /* v_pk_fma_f32 v[10:11], v[0:1], v[2:3], v[4:5] */
		{0xd3b1400a, 0x18020500}, /* v_pk_mul_f32 v[10:11], v[0:1], v[2:3] */
		{0xd3b2400a, 0x18020500}, /* v_pk_add_f32 v[10:11], v[0:1], v[2:3] */
	};
	struct machine *m = *state;
	u64 seed = 3;

	for (u32 round = 0; round < 256; round++) {
		u32 n = round % GP_ARRAY_SIZE(words), bits = machine_random(&seed);
		struct modifiers x = {bits & 7, bits >> 3 & 7, bits >> 6 & 7, bits >> 9 & 7,
				      (bits >> 12 & 3) == 3};

		for (u32 row = 0; row < 6; row++)
			for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
				m->wave->v[row][lane] = random_single(&seed);
		run(m, words[n], x);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			for (u32 upper = 0; upper < 2; upper++) {
				u32 select = upper ? x.op_sel_hi : x.op_sel;
				u32 negative = upper ? x.neg_hi : x.neg_lo;
				float s[3], want;

				for (u32 i = 0; i < 3; i++)
					s[i] = single(m->wave->v[2 * i + (select >> i & 1)][lane]) *
					       (negative >> i & 1 ? -1.0f : 1.0f);
				want = n == 0   ? fmaf(s[0], s[1], s[2])
				       : n == 1 ? s[0] * s[1]
						: s[0] + s[1];
				if (x.clamp)
					want = want > 1 ? 1 : want > 0 ? want : 0;
				assert_int_equal(m->wave->v[DST + upper][lane], single_bits(want));
			}
	}
	m->wave->s[4] = 0x3f800000;
	m->wave->s[5] = 0x40000000;
	m->wave->v[0][1] = m->wave->v[1][1] = 0x3f800000;
	RUN(m, 0xd3b2400a, 0x18000900); /* v_pk_add_f32 v[10:11], v[0:1], s[4:5] */
	assert_int_equal(m->wave->v[DST][1], 0x40000000);
	assert_int_equal(m->wave->v[DST + 1][1], 0x40400000);
	RUN(m, 0xd3b2400a, 0x0801e500); /* v_pk_add_f32 v[10:11], v[0:1], 1.0 op_sel_hi:[1,0] */
	assert_int_equal(m->wave->v[DST][1], 0x40000000);
	assert_int_equal(m->wave->v[DST + 1][1], 0x40000000);
}

static void pk_mov_takes_one_word_of_each(void **state)
{
	struct machine *m = *state;
	u32 before[2][GP_ISA_LANES];
	u64 seed = 4;

	fill(m, 4, &seed);
	for (u32 select = 0; select < 4; select++) {
		/* v_pk_mov_b32 v[10:11], v[0:1], v[2:3] */
		run(m, (const u32[]){0xd3b3400a, 0x18020500},
		    (struct modifiers){.op_sel = select, .op_sel_hi = 3});
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			assert_int_equal(m->wave->v[DST][lane], m->wave->v[select & 1][lane]);
			assert_int_equal(m->wave->v[DST + 1][lane],
					 m->wave->v[2 + (select >> 1)][lane]);
		}
	}
	memcpy(before, m->wave->v, sizeof(before));
	RUN(m, 0xd3b34800, 0x18020100); /* v_pk_mov_b32 v[0:1], v[0:1], v[0:1] op_sel:[1,0] */
	assert_memory_equal(m->wave->v[0], before[1], sizeof(before[1]));
	assert_memory_equal(m->wave->v[1], before[0], sizeof(before[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(packed_integers_take_the_halves_of_op_sel),
		BOTH(packed_halves_round_once),
		BOTH(packed_halves_obey_mode),
		BOTH(packed_fma_rounds_once),
		BOTH(inline_constants_fill_the_lower_half),
		BOTH(packed_singles_take_the_words_of_op_sel),
		BOTH(pk_mov_takes_one_word_of_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
