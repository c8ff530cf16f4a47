// SPDX-License-Identifier: MIT
/* v_fma_mix_*, dot products and v_accvgpr_*. */
#include "packed.h"

/* op_sel_hi: the source is a half; neg_hi: its magnitude. */
static void mixed_sources_are_halves_or_singles(void **state)
{
	static const u32 words[][2] = {
		{0xd3a0000a, 0x040a0300}, /* v_fma_mix_f32 v10, v0, v1, v2 */
		{0xd3a1000a, 0x040a0300}, /* v_fma_mixlo_f16 v10, v0, v1, v2 */
		{0xd3a2000a, 0x040a0300}, /* v_fma_mixhi_f16 v10, v0, v1, v2 */
	};
	struct machine *m = *state;
	u64 seed = 5;

	for (u32 round = 0; round < 300; round++) {
		u32 n = round % GP_ARRAY_SIZE(words), bits = machine_random(&seed);
		struct modifiers x = {bits & 7, bits >> 3 & 7, bits >> 6 & 7, bits >> 9 & 7,
				      (bits >> 12 & 3) == 3};

		for (u32 row = 0; row < 3; row++)
			for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
				m->wave->v[row][lane] = x.op_sel_hi >> row & 1
								? random_half(&seed, false) |
									  random_half(&seed, false)
										  << 16
								: random_single(&seed);
		memset(m->wave->v[DST], 0x5a, sizeof(m->wave->v[DST]));
		run(m, words[n], x);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			float s[3], sum;
			u32 want;

			for (u32 i = 0; i < 3; i++) {
				u32 word = m->wave->v[i][lane];

				s[i] = x.op_sel_hi >> i & 1
					       ? (float)half_number(word >>
								    (x.op_sel >> i & 1 ? 16 : 0))
					       : single(word);
				s[i] = x.neg_hi >> i & 1 ? fabsf(s[i]) : s[i];
				s[i] = x.neg_lo >> i & 1 ? -s[i] : s[i];
			}
			sum = fmaf(s[0], s[1], s[2]);
			if (x.clamp)
				sum = sum > 1 ? 1 : sum > 0 ? sum : 0;
			want = n == 0   ? single_bits(sum)
			       : n == 1 ? 0x5a5a0000 | half_bits((double)sum)
					: 0x5a5a | half_bits((double)sum) << 16;
			assert_int_equal(m->wave->v[DST][lane], want);
		}
	}
}

static s64 part(u32 word, u32 bits, u32 n, bool is_signed)
{
	s64 value = word >> bits * n & (u32)((1ull << bits) - 1);

	return is_signed && value >> (bits - 1) ? value - (1ll << bits) : value;
}

static void integer_dot_products_add_exactly(void **state)
{
	static const struct {
		u32 words[2], bits;
		bool is_signed;
	} ops[] = {
		{{0xd3a6400a, 0x1c0a0300}, 16, true},  /* v_dot2_i32_i16 v10, v0, v1, v2 */
		{{0xd3a7400a, 0x1c0a0300}, 16, false}, /* v_dot2_u32_u16 v10, v0, v1, v2 */
		{{0xd3a8400a, 0x1c0a0300}, 8, true},   /* v_dot4_i32_i8 v10, v0, v1, v2 */
		{{0xd3a9400a, 0x1c0a0300}, 8, false},  /* v_dot4_u32_u8 v10, v0, v1, v2 */
		{{0xd3aa400a, 0x1c0a0300}, 4, true},   /* v_dot8_i32_i4 v10, v0, v1, v2 */
		{{0xd3ab400a, 0x1c0a0300}, 4, false},  /* v_dot8_u32_u4 v10, v0, v1, v2 */
	};
	struct machine *m = *state;
	u64 seed = 6;

	for (u32 round = 0; round < 120; round++) {
		u32 n = round % GP_ARRAY_SIZE(ops);
		struct modifiers x = {.op_sel_hi = 7, .clamp = round & 8};

		fill(m, 3, &seed);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane += 2) /* C near the limits */
			m->wave->v[2][lane] = (ops[n].is_signed ? 0x7ffffff0 : 0xfffffff0) +
					      machine_random(&seed) % 32;
		run(m, ops[n].words, x);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			u32 c = m->wave->v[2][lane];
			s64 sum = ops[n].is_signed ? (s32)c : (s64)c;

			for (u32 i = 0; i < 32 / ops[n].bits; i++)
				sum += part(m->wave->v[0][lane], ops[n].bits, i, ops[n].is_signed) *
				       part(m->wave->v[1][lane], ops[n].bits, i, ops[n].is_signed);
			sum = ops[n].is_signed ? limited(sum, x.clamp, INT32_MIN, INT32_MAX)
					       : limited(sum, x.clamp, 0, UINT32_MAX);
			assert_int_equal(m->wave->v[DST][lane], (u32)sum);
		}
	}
}

static void dot2_of_halves_adds_in_f32(void **state)
{
	struct machine *m = *state;
	u64 seed = 7;

	for (u32 round = 0; round < 64; round++) {
		u32 bits = machine_random(&seed);
		struct modifiers x = {bits & 3, bits >> 3 & 7, bits >> 6 & 7, bits >> 9 & 7, false};

		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			m->wave->v[0][lane] = random_half(&seed, true) | random_half(&seed, true)
										 << 16;
			m->wave->v[1][lane] = random_half(&seed, true) | random_half(&seed, true)
										 << 16;
			m->wave->v[2][lane] = random_single(&seed);
		}
		run(m, (const u32[]){0xd3a3400a, 0x1c0a0300},
		    x); /* v_dot2_f32_f16 v10, v0, v1, v2 */
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			float sum = single(m->wave->v[2][lane]);

			sum = x.neg_hi & 4 ? fabsf(sum) : sum;
			sum = x.neg_lo & 4 ? -sum : sum;
			for (u32 upper = 0; upper < 2; upper++) {
				u32 negative = upper ? x.neg_hi : x.neg_lo;
				float a = (float)half_number(half_of(m, x, 0, lane, upper));
				float b = (float)half_number(half_of(m, x, 1, lane, upper));

				sum += (negative & 1 ? -a : a) * (negative & 2 ? -b : b);
			}
			assert_int_equal(m->wave->v[DST][lane], single_bits(sum));
		}
	}
}

static void dot2_of_halves_flushes_denormals(void **state)
{
	struct machine *m = *state;
	bool halves = m->runner.gfx == GP_ISA_GFX90A;

	m->wave->mode |= GP_ISA_MODE_DENORM_32 | GP_ISA_MODE_DENORM_64;
	m->wave->v[0][0] = 1; /* 2^-24 */
	m->wave->v[1][0] = 0x3c00;
	m->wave->v[2][0] = 0;
	RUN(m, 0xd3a3400a, 0x1c0a0300); /* v_dot2_f32_f16 v10, v0, v1, v2 */
	assert_int_equal(m->wave->v[DST][0], halves ? 0 : 0x33800000);
	m->wave->v[0][0] = 0;
	m->wave->v[2][0] = 0x400000;
	RUN(m, 0xd3a3400a, 0x1c0a0300);
	assert_int_equal(m->wave->v[DST][0], 0);
}

/* The forms of VOP2 that add to their destination. */
static void accumulating_dot_products_are_the_same(void **state)
{
	static const u32 words[][3] = {
		{0xd3a3400a, 0x1c0a0300, 0x6e040300}, /* v_dot2c_f32_f16 v2, v0, v1 */
		{0xd3a6400a, 0x1c0a0300, 0x70040300}, /* v_dot2c_i32_i16 v2, v0, v1 */
		{0xd3a8400a, 0x1c0a0300, 0x72040300}, /* v_dot4c_i32_i8 v2, v0, v1 */
		{0xd3aa400a, 0x1c0a0300, 0x74040300}, /* v_dot8c_i32_i4 v2, v0, v1 */
	};
	struct machine *m = *state;
	u64 seed = 9;

	for (u32 n = 0; n < GP_ARRAY_SIZE(words); n++)
		for (u32 mode = 0; mode < 256; mode += 51) {
			m->wave->mode = (m->wave->mode & ~0xffu) | mode;
			fill(m, 3, &seed);
			RUN(m, words[n][0], words[n][1], words[n][2]);
			assert_memory_equal(m->wave->v[DST], m->wave->v[2], sizeof(m->wave->v[2]));
		}
}

static void accumulation_registers_are_moved_under_exec(void **state)
{
	struct machine *m = *state;
	u64 seed = 8, exec = 0x00ff00ff12345678;

	fill(m, 1, &seed);
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, exec);
	RUN(m, 0xd3d94007, 0x18000100); /* v_accvgpr_write_b32 a7, v0 */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		assert_int_equal(m->wave->v[256 + 7][lane],
				 exec >> lane & 1 ? m->wave->v[0][lane] : 0);
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, ~exec);
	m->wave->s[4] = 77;
	RUN(m, 0xd3d94007, 0x18000004); /* v_accvgpr_write_b32 a7, s4 */
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, ~0ull);
	RUN(m, 0xd3d8400a, 0x18000107); /* v_accvgpr_read_b32 v10, a7 */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		assert_int_equal(m->wave->v[DST][lane],
				 exec >> lane & 1 ? m->wave->v[0][lane] : 77);
	RUN(m, 0xd3d94007, 0x180000f2); /* v_accvgpr_write_b32 a7, 1.0 */
	assert_int_equal(m->wave->v[256 + 7][63], 0x3f800000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(mixed_sources_are_halves_or_singles),
		BOTH(integer_dot_products_add_exactly),
		BOTH(dot2_of_halves_adds_in_f32),
		BOTH(dot2_of_halves_flushes_denormals),
		BOTH(accumulating_dot_products_are_the_same),
		BOTH(accumulation_registers_are_moved_under_exec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
