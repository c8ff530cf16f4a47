// SPDX-License-Identifier: MIT
/* Atomics in LDS, with and without a result. */
#include "atomics.h"

#define KEEP_ALL 0xf0 /* of MODE: denormals */
#define CELLS    24   /* fewer than lanes: some meet */

struct op {
	u32 plain[2], returning[2]; /* plain: 0 if there is none */
	atomic_want *want;
	u32 bytes;
	bool floats;
};

static void op_check(struct machine *m, const u32 words[2], const struct op *op, bool returns,
		     u64 lanes, u64 *seed)
{
	u64 cells[CELLS], results[GP_ISA_LANES], a[GP_ISA_LANES], b[GP_ISA_LANES];
	u64 mask = op->bytes == 4 ? 0xffffffff : ~0ull;
	u32 at[GP_ISA_LANES];

	for (u32 i = 0; i < CELLS; i++)
		cells[i] =
			op->floats ? atomic_float(op->bytes, seed) : atomic_number(op->bytes, seed);
	for (u32 i = 0; i < CELLS; i++)
		memcpy(m->lds + 8 + i * 8, &cells[i], op->bytes);
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, lanes);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		at[lane] = machine_random(seed) % CELLS;
		a[lane] =
			op->floats ? atomic_float(op->bytes, seed) : atomic_number(op->bytes, seed);
		b[lane] = atomic_number(op->bytes, seed);
		if (machine_random(seed) % 2)
			a[lane] = cells[at[lane]]; /* so that compare-and-store stores */
		m->wave->v[0][lane] = at[lane] * 8;
		for (u32 i = 0; i < 2; i++) {
			m->wave->v[2 + i][lane] = (u32)(a[lane] >> 32 * i);
			m->wave->v[4 + i][lane] = (u32)(b[lane] >> 32 * i);
			m->wave->v[6 + i][lane] = 7;
		}
	}
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		results[lane] = op->bytes == 4 ? 7 : 7 | 7ull << 32;
		if (!(lanes >> lane & 1))
			continue;
		if (returns)
			results[lane] = cells[at[lane]];
		cells[at[lane]] = op->want(cells[at[lane]], a[lane], b[lane]) & mask;
	}
	machine_run_to_end(m, words, 2);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u64 result = m->wave->v[6][lane];

		if (op->bytes == 8)
			result |= (u64)m->wave->v[7][lane] << 32;
		if (result != results[lane])
			fail_msg("%08x lane %u: %llx, not %llx", words[0], lane,
				 (unsigned long long)result, (unsigned long long)results[lane]);
	}
	for (u32 i = 0; i < CELLS; i++)
		if (memcmp(m->lds + 8 + i * 8, &cells[i], op->bytes))
			fail_msg("%08x cell %u is not %llx", words[0], i,
				 (unsigned long long)cells[i]);
}

static void every_operation(void **state)
{
	static const struct op ops[] = {
		{{0xd8000008, 0x00000200 /* ds_add_u32 v0, v2 offset:8 */},
		 {0xd8400008, 0x06000200 /* ds_add_rtn_u32 v6, v0, v2 offset:8 */},
		 want_add,
		 4,
		 false},
		{{0xd8020008, 0x00000200 /* ds_sub_u32 v0, v2 offset:8 */},
		 {0xd8420008, 0x06000200 /* ds_sub_rtn_u32 v6, v0, v2 offset:8 */},
		 want_sub,
		 4,
		 false},
		{{0xd8040008, 0x00000200 /* ds_rsub_u32 v0, v2 offset:8 */},
		 {0xd8440008, 0x06000200 /* ds_rsub_rtn_u32 v6, v0, v2 offset:8 */},
		 want_rsub,
		 4,
		 false},
		{{0xd8060008, 0x00000200 /* ds_inc_u32 v0, v2 offset:8 */},
		 {0xd8460008, 0x06000200 /* ds_inc_rtn_u32 v6, v0, v2 offset:8 */},
		 want_inc,
		 4,
		 false},
		{{0xd8080008, 0x00000200 /* ds_dec_u32 v0, v2 offset:8 */},
		 {0xd8480008, 0x06000200 /* ds_dec_rtn_u32 v6, v0, v2 offset:8 */},
		 want_dec,
		 4,
		 false},
		{{0xd80a0008, 0x00000200 /* ds_min_i32 v0, v2 offset:8 */},
		 {0xd84a0008, 0x06000200 /* ds_min_rtn_i32 v6, v0, v2 offset:8 */},
		 want_smin32,
		 4,
		 false},
		{{0xd80c0008, 0x00000200 /* ds_max_i32 v0, v2 offset:8 */},
		 {0xd84c0008, 0x06000200 /* ds_max_rtn_i32 v6, v0, v2 offset:8 */},
		 want_smax32,
		 4,
		 false},
		{{0xd80e0008, 0x00000200 /* ds_min_u32 v0, v2 offset:8 */},
		 {0xd84e0008, 0x06000200 /* ds_min_rtn_u32 v6, v0, v2 offset:8 */},
		 want_umin,
		 4,
		 false},
		{{0xd8100008, 0x00000200 /* ds_max_u32 v0, v2 offset:8 */},
		 {0xd8500008, 0x06000200 /* ds_max_rtn_u32 v6, v0, v2 offset:8 */},
		 want_umax,
		 4,
		 false},
		{{0xd8120008, 0x00000200 /* ds_and_b32 v0, v2 offset:8 */},
		 {0xd8520008, 0x06000200 /* ds_and_rtn_b32 v6, v0, v2 offset:8 */},
		 want_and,
		 4,
		 false},
		{{0xd8140008, 0x00000200 /* ds_or_b32 v0, v2 offset:8 */},
		 {0xd8540008, 0x06000200 /* ds_or_rtn_b32 v6, v0, v2 offset:8 */},
		 want_or,
		 4,
		 false},
		{{0xd8160008, 0x00000200 /* ds_xor_b32 v0, v2 offset:8 */},
		 {0xd8560008, 0x06000200 /* ds_xor_rtn_b32 v6, v0, v2 offset:8 */},
		 want_xor,
		 4,
		 false},
		{{0xd8180008, 0x00040200 /* ds_mskor_b32 v0, v2, v4 offset:8 */},
		 {0xd8580008, 0x06040200 /* ds_mskor_rtn_b32 v6, v0, v2, v4 offset:8 */},
		 want_mskor,
		 4,
		 false},
		{{0xd8200008, 0x00040200 /* ds_cmpst_b32 v0, v2, v4 offset:8 */},
		 {0xd8600008, 0x06040200 /* ds_cmpst_rtn_b32 v6, v0, v2, v4 offset:8 */},
		 want_cmpst,
		 4,
		 false},
		{{0},
		 {0xd85a0008, 0x06000200 /* ds_wrxchg_rtn_b32 v6, v0, v2 offset:8 */},
		 want_swap,
		 4,
		 false},
		{{0xd8220008, 0x00040200 /* ds_cmpst_f32 v0, v2, v4 offset:8 */},
		 {0xd8620008, 0x06040200 /* ds_cmpst_rtn_f32 v6, v0, v2, v4 offset:8 */},
		 want_cmpst_f32,
		 4,
		 true},
		{{0xd82a0008, 0x00000200 /* ds_add_f32 v0, v2 offset:8 */},
		 {0xd86a0008, 0x06000200 /* ds_add_rtn_f32 v6, v0, v2 offset:8 */},
		 want_add_f32,
		 4,
		 true},
		{{0xd8240008, 0x00000200 /* ds_min_f32 v0, v2 offset:8 */},
		 {0xd8640008, 0x06000200 /* ds_min_rtn_f32 v6, v0, v2 offset:8 */},
		 want_min_f32,
		 4,
		 true},
		{{0xd8260008, 0x00000200 /* ds_max_f32 v0, v2 offset:8 */},
		 {0xd8660008, 0x06000200 /* ds_max_rtn_f32 v6, v0, v2 offset:8 */},
		 want_max_f32,
		 4,
		 true},
		{{0xd8800008, 0x00000200 /* ds_add_u64 v0, v[2:3] offset:8 */},
		 {0xd8c00008, 0x06000200 /* ds_add_rtn_u64 v[6:7], v0, v[2:3] offset:8 */},
		 want_add,
		 8,
		 false},
		{{0xd8820008, 0x00000200 /* ds_sub_u64 v0, v[2:3] offset:8 */},
		 {0xd8c20008, 0x06000200 /* ds_sub_rtn_u64 v[6:7], v0, v[2:3] offset:8 */},
		 want_sub,
		 8,
		 false},
		{{0xd8840008, 0x00000200 /* ds_rsub_u64 v0, v[2:3] offset:8 */},
		 {0xd8c40008, 0x06000200 /* ds_rsub_rtn_u64 v[6:7], v0, v[2:3] offset:8 */},
		 want_rsub,
		 8,
		 false},
		{{0xd8860008, 0x00000200 /* ds_inc_u64 v0, v[2:3] offset:8 */},
		 {0xd8c60008, 0x06000200 /* ds_inc_rtn_u64 v[6:7], v0, v[2:3] offset:8 */},
		 want_inc,
		 8,
		 false},
		{{0xd8880008, 0x00000200 /* ds_dec_u64 v0, v[2:3] offset:8 */},
		 {0xd8c80008, 0x06000200 /* ds_dec_rtn_u64 v[6:7], v0, v[2:3] offset:8 */},
		 want_dec,
		 8,
		 false},
		{{0xd88a0008, 0x00000200 /* ds_min_i64 v0, v[2:3] offset:8 */},
		 {0xd8ca0008, 0x06000200 /* ds_min_rtn_i64 v[6:7], v0, v[2:3] offset:8 */},
		 want_smin64,
		 8,
		 false},
		{{0xd88c0008, 0x00000200 /* ds_max_i64 v0, v[2:3] offset:8 */},
		 {0xd8cc0008, 0x06000200 /* ds_max_rtn_i64 v[6:7], v0, v[2:3] offset:8 */},
		 want_smax64,
		 8,
		 false},
		{{0xd88e0008, 0x00000200 /* ds_min_u64 v0, v[2:3] offset:8 */},
		 {0xd8ce0008, 0x06000200 /* ds_min_rtn_u64 v[6:7], v0, v[2:3] offset:8 */},
		 want_umin,
		 8,
		 false},
		{{0xd8900008, 0x00000200 /* ds_max_u64 v0, v[2:3] offset:8 */},
		 {0xd8d00008, 0x06000200 /* ds_max_rtn_u64 v[6:7], v0, v[2:3] offset:8 */},
		 want_umax,
		 8,
		 false},
		{{0xd8920008, 0x00000200 /* ds_and_b64 v0, v[2:3] offset:8 */},
		 {0xd8d20008, 0x06000200 /* ds_and_rtn_b64 v[6:7], v0, v[2:3] offset:8 */},
		 want_and,
		 8,
		 false},
		{{0xd8940008, 0x00000200 /* ds_or_b64 v0, v[2:3] offset:8 */},
		 {0xd8d40008, 0x06000200 /* ds_or_rtn_b64 v[6:7], v0, v[2:3] offset:8 */},
		 want_or,
		 8,
		 false},
		{{0xd8960008, 0x00000200 /* ds_xor_b64 v0, v[2:3] offset:8 */},
		 {0xd8d60008, 0x06000200 /* ds_xor_rtn_b64 v[6:7], v0, v[2:3] offset:8 */},
		 want_xor,
		 8,
		 false},
		{{0xd8980008, 0x00040200 /* ds_mskor_b64 v0, v[2:3], v[4:5] offset:8 */},
		 {0xd8d80008,
		  0x06040200 /* ds_mskor_rtn_b64 v[6:7], v0, v[2:3], v[4:5] offset:8 */},
		 want_mskor,
		 8,
		 false},
		{{0xd8a00008, 0x00040200 /* ds_cmpst_b64 v0, v[2:3], v[4:5] offset:8 */},
		 {0xd8e00008,
		  0x06040200 /* ds_cmpst_rtn_b64 v[6:7], v0, v[2:3], v[4:5] offset:8 */},
		 want_cmpst,
		 8,
		 false},
		{{0},
		 {0xd8da0008, 0x06000200 /* ds_wrxchg_rtn_b64 v[6:7], v0, v[2:3] offset:8 */},
		 want_swap,
		 8,
		 false},
		{{0xd8a20008, 0x00040200 /* ds_cmpst_f64 v0, v[2:3], v[4:5] offset:8 */},
		 {0xd8e20008,
		  0x06040200 /* ds_cmpst_rtn_f64 v[6:7], v0, v[2:3], v[4:5] offset:8 */},
		 want_cmpst_f64,
		 8,
		 true},
		{{0xd8b80008, 0x00000200 /* ds_add_f64 v0, v[2:3] offset:8 */},
		 {0xd8f80008, 0x06000200 /* ds_add_rtn_f64 v[6:7], v0, v[2:3] offset:8 */},
		 want_add_f64,
		 8,
		 true},
		{{0xd8a40008, 0x00000200 /* ds_min_f64 v0, v[2:3] offset:8 */},
		 {0xd8e40008, 0x06000200 /* ds_min_rtn_f64 v[6:7], v0, v[2:3] offset:8 */},
		 want_min_f64,
		 8,
		 true},
		{{0xd8a60008, 0x00000200 /* ds_max_f64 v0, v[2:3] offset:8 */},
		 {0xd8e60008, 0x06000200 /* ds_max_rtn_f64 v[6:7], v0, v[2:3] offset:8 */},
		 want_max_f64,
		 8,
		 true},
		{{0},
		 {0xd8680008, 0x06040200 /* ds_wrap_rtn_b32 v6, v0, v2, v4 offset:8 */},
		 want_wrap,
		 4,
		 false},
	};
	struct machine *m = *state;
	u64 seed = 3;

	m->wave->mode = KEEP_ALL;
	for (size_t n = 0; n < GP_ARRAY_SIZE(ops); n++)
		for (u32 round = 0; round < 20; round++) {
			u64 lanes = round % 2 ? ~0ull
					      : machine_random(&seed) | (u64)machine_random(&seed)
										<< 32;

			if (ops[n].plain[0])
				op_check(m, ops[n].plain, &ops[n], false, lanes, &seed);
			op_check(m, ops[n].returning, &ops[n], true, lanes, &seed);
		}
}

/* What lane 0 makes of a cell. */
static u64 cell(struct machine *m, const u32 words[2], u64 old, u64 data, u64 second, u32 bytes)
{
	u64 value = 0;

	gp_isa_set_pair(m->wave, GP_ISA_EXEC, 1);
	memcpy(m->lds, &old, sizeof(old));
	m->wave->v[0][0] = 0;
	for (u32 i = 0; i < 2; i++) {
		m->wave->v[2 + i][0] = (u32)(data >> 32 * i);
		m->wave->v[4 + i][0] = (u32)(second >> 32 * i);
	}
	machine_run_to_end(m, words, 2);
	memcpy(&value, m->lds, bytes);
	return value;
}

#define ROUND_UP 0x5 /* of f32, f64 and f16: LDS does not care */

static void floats_that_are_special(void **state)
{
	static const u32 add[] = {0xd82a0000, 0x00000200 /* ds_add_f32 v0, v2 */},
			 min[] = {0xd8240000, 0x00000200 /* ds_min_f32 v0, v2 */},
			 max[] = {0xd8260000, 0x00000200 /* ds_max_f32 v0, v2 */},
			 swap[] = {0xd8220000, 0x00040200 /* ds_cmpst_f32 v0, v2, v4 */};
	static const struct {
		const u32 *words;
		u32 mode, old, data, second, want;
	} cases[] = {
		{add, KEEP_ALL, 0x7fc01234, 0x3f800000, 0, 0x7fc01234}, /* a NaN stays itself */
		{add, KEEP_ALL, 0x3f800000, 0xff801234, 0, 0xffc01234}, /* and becomes quiet */
		{add, KEEP_ALL, 0x7f801111, 0x7fc02222, 0, 0x7fc01111}, /* of two the first */
		{add, KEEP_ALL, 0x7f800000, 0xff800000, 0, 0x7fc00000}, /* infinities */
		{add, KEEP_ALL, 0x80000000, 0x00000000, 0, 0x00000000},
		{add, KEEP_ALL, 0x00000001, 0x00000001, 0, 0x00000002}, /* denormals */
		{add, 0, 0x00000001, 0x3f800000, 0, 0x3f800000},
		{add, 0x10, 0x00800001, 0x80800000, 0, 0x00000000}, /* the result is flushed */
		{add, 0x20, 0x00000005, 0x80000001, 0, 0x00000000}, /* the sources are */
		{add, KEEP_ALL | ROUND_UP, 0x3f800000, 0x33000000, 0, 0x3f800000}, /* nearest */
		{min, KEEP_ALL, 0x7fc00001, 0x3f800000, 0, 0x3f800000}, /* a quiet NaN loses */
		{min, KEEP_ALL, 0x3f800000, 0x7fc00001, 0, 0x3f800000},
		{min, KEEP_ALL, 0x3f800000, 0x7f800001, 0, 0x7fc00001}, /* a signalling one wins */
		{min, KEEP_ALL, 0x00000000, 0x80000000, 0, 0x80000000},
		{max, KEEP_ALL, 0x80000000, 0x00000000, 0, 0x00000000},
		{max, KEEP_ALL, 0x00000001, 0x00000002, 0, 0x00000002},
		{max, 0, 0x00000001, 0x00000002, 0, 0x00000001}, /* equal when flushed */
		{max, KEEP_ALL, 0xff800000, 0x7fc00001, 0, 0xff800000},
		{swap, KEEP_ALL, 0x80000000, 0x00000000, 5, 5}, /* the zeros are equal */
		{swap, KEEP_ALL, 0x7fc00000, 0x7fc00000, 5, 0x7fc00000},
		{swap, 0, 0x00000001, 0x00000002, 0x3f800000, 0x3f800000},
	};
	struct machine *m = *state;

	for (size_t n = 0; n < GP_ARRAY_SIZE(cases); n++) {
		u64 value;

		m->wave->mode = cases[n].mode;
		value = cell(m, cases[n].words, cases[n].old, cases[n].data, cases[n].second, 4);
		if (value != cases[n].want)
			fail_msg("case %zu: %llx, not %x", n, (unsigned long long)value,
				 cases[n].want);
	}
	m->wave->mode = 0; /* sums of f64 keep denormals, comparisons do not */
	assert_int_equal(cell(m, (const u32[]){0xd8b80000, 0x00000200 /* ds_add_f64 v0, v[2:3] */},
			      1, 2, 0, 8),
			 3);
	assert_int_equal(cell(m, (const u32[]){0xd8a60000, 0x00000200 /* ds_max_f64 v0, v[2:3] */},
			      1, 2, 0, 8),
			 1);
}

static void packed_sums(void **state)
{
	static const u32 half[] = {0xd82e0000, 0x00000200 /* ds_pk_add_f16 v0, v2 */},
			 brain[] = {0xd8300000, 0x00000200 /* ds_pk_add_bf16 v0, v2 */};
	struct machine *m = *state;

	m->wave->mode = KEEP_ALL;
	/* 1 + 2 and 65504 + 32, which is rounded to 65536: infinity */
	assert_int_equal(cell(m, half, 0x7bff3c00, 0x50004000, 0, 4), 0x7c004200);
	/* 1024 + 0.5 is halfway: to even; the smallest denormals */
	assert_int_equal(cell(m, half, 0x00016400, 0x00013800, 0, 4), 0x00026400);
	assert_int_equal(cell(m, half, 0x7c017e01, 0x3c003c00, 0, 4), 0x7e017e01); /* NaN */
	/* 1 + 2; 256 + 1 is halfway: to even */
	assert_int_equal(cell(m, brain, 0x43803f80, 0x3f804000, 0, 4), 0x43804040);
	m->wave->mode = 0;
	assert_int_equal(cell(m, half, 0x00013c00, 0x00013c00, 0, 4), 0x00004000);
	assert_int_equal(cell(m, brain, 0x00013f80, 0x00013f80, 0, 4), 0x00004000);
	m->wave->v[0][0] = 0;
	m->wave->v[2][0] = 0x40004000;
	RUN(m, 0xd96e0000, 0x06000200 /* ds_pk_add_rtn_f16 v6, v0, v2 */, 0xd9700000,
	    0x07000200 /* ds_pk_add_rtn_bf16 v7, v0, v2 */);
	assert_int_equal(m->wave->v[6][0], 0x00004000);
	assert_int_equal(m->wave->v[7][0], 0x40004400);
}

static void misaligned_faults(void **state)
{
	struct machine *m = *state;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		m->wave->v[0][lane] = lane * 8;
		m->wave->v[2][lane] = 1;
		m->wave->v[6][lane] = 7;
	}
	m->wave->v[0][9] = 4;
	assert_int_equal(STOP(m, 0xd8c00000, 0x06000200 /* ds_add_rtn_u64 v[6:7], v0, v[2:3] */),
			 GP_ISA_FAULT);
	assert_int_equal(m->wave->fault, MACHINE_SHARED + 4);
	assert_int_equal(m->wave->pc, MACHINE_CODE);
	assert_int_equal(m->wave->v[6][0], 7);
	assert_int_equal(m->lds[0], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_operation, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(floats_that_are_special, machine_gfx942,
						machine_down),
		cmocka_unit_test_setup_teardown(packed_sums, machine_gfx942, machine_down),
		cmocka_unit_test_setup_teardown(misaligned_faults, machine_gfx90a, machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
