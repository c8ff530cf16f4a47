// SPDX-License-Identifier: MIT
/*
 * Where matrix operations find their elements: results are compared with a plain triple loop over
 * matrices of small integers, whose sums are exact in every order.
 */
#include "matrix.h"

#define RUNS 4 /* digits that tell the elements apart */

/* Over all runs the digits of no two elements are the same. */
static double digit(u32 index, u32 run)
{
	return (double)(index >> 3 * run & 7) - 3;
}

static double other_digit(u32 index, u32 run)
{
	return 4 - (double)(index >> 3 * run & 7);
}

static void index_fill(struct matrices *x, u64 *seed)
{
	static const u8 pairs[][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

	for (u32 n = 0; n < GP_ARRAY_SIZE(x->index); n += 2)
		memcpy(&x->index[n], pairs[machine_random(seed) % 6], 2);
}

static void matrices_fill(const struct shape *shape, struct matrices *x, u32 run_a, u32 run_b)
{
	enum type wide = shape_result(shape);
	u64 seed = run_a * 16 + run_b;

	for (u32 n = 0; n < GP_ARRAY_SIZE(x->a); n++) {
		x->a[n] = type_bits(shape->a, digit(n, run_a));
		x->b[n] = type_bits(shape->b, other_digit(n, run_b));
	}
	for (u32 n = 0; n < GP_ARRAY_SIZE(x->c); n++)
		x->c[n] = wide == TYPE_I8 ? n * 3 + 1 : type_bits(wide, n * 3 + 1);
	index_fill(x, &seed);
}

static double wide_number(const struct shape *shape, u64 bits)
{
	enum type wide = shape_result(shape);

	return wide == TYPE_I8 ? (s32)bits : type_number(wide, bits);
}

/* D against the triple loop. Of f64 the bits of blgp negate A, B and C. */
static void matrices_check(const struct shape *shape, struct fields fields,
			   const struct matrices *x, const char *what)
{
	u32 negative = shape->a == TYPE_F64 ? fields.blgp : 0;
	double sign = (negative & 1) != (negative >> 1 & 1) ? -1 : 1;

	for (u32 block = 0; block < shape->blocks; block++)
		for (u32 i = 0; i < shape->size; i++)
			for (u32 j = 0; j < shape->size; j++) {
				u32 at = at_c(shape, block, i, j);
				double sum = wide_number(shape, x->c[at]) * (negative & 4 ? -1 : 1);
				double got = wide_number(shape, x->d[at]);
				struct factors f;

				matrices_factors(shape, fields, x, block, i, j, &f);
				for (u32 s = 0; s < f.count; s++)
					sum += f.a[s] * f.b[s] * sign;
				if (sum != got)
					fail_msg("%s, %s: block %u, row %u, column %u: %g, not %g",
						 shape->name, what, block, i, j, got, sum);
			}
}

static void for_each_shape(struct machine *m,
			   void (*test)(struct machine *m, const struct shape *shape))
{
	u32 done = 0;

	for (u32 n = 0; n < matrix_shape_count; n++)
		if (matrix_shapes[n].gfx == m->runner.gfx) {
			test(m, &matrix_shapes[n]);
			done++;
		}
	assert_int_equal(done, m->runner.gfx == GP_ISA_GFX90A ? 27 : 46);
}

static void shape_elements(struct machine *m, const struct shape *shape)
{
	static struct matrices x;

	for (u32 run = 0; run < RUNS * RUNS; run++) {
		matrices_fill(shape, &x, run / RUNS, run % RUNS);
		matrices_multiply(m, shape, (struct fields){0}, &x);
		matrices_check(shape, (struct fields){0}, &x, "elements");
	}
}

static void every_element_is_where_the_document_says(void **state)
{
	for_each_shape(*state, shape_elements);
}

/* I * B + 0 is B, for as many rows as I has columns. */
static void shape_identity(struct machine *m, const struct shape *shape)
{
	static struct matrices x;

	if (shape->sparse)
		return;
	matrices_fill(shape, &x, 0, 1);
	memset(x.c, 0, sizeof(x.c));
	for (u32 block = 0; block < shape->blocks; block++)
		for (u32 i = 0; i < shape->size; i++)
			for (u32 k = 0; k < shape->k; k++)
				x.a[at_a(shape, block, i, k)] = type_bits(shape->a, i == k);
	matrices_multiply(m, shape, (struct fields){0}, &x);
	for (u32 block = 0; block < shape->blocks; block++)
		for (u32 i = 0; i < shape->size; i++)
			for (u32 j = 0; j < shape->size; j++) {
				double want = i >= shape->k
						      ? 0
						      : type_number(shape->b,
								    x.b[at_b(shape, block, i, j)]);

				assert_true(want ==
					    wide_number(shape, x.d[at_c(shape, block, i, j)]));
			}
}

static void identity_leaves_b(void **state)
{
	for_each_shape(*state, shape_identity);
}

/* Nothing but D is written, whatever EXEC is. */
static void shape_exec(struct machine *m, const struct shape *shape)
{
	static u32 before[2 * GP_ISA_VECTORS][GP_ISA_LANES];
	u32 words = shape->size * shape->size * shape->blocks / 64 * (shape->a == TYPE_F64 ? 2 : 1);
	static struct matrices x;

	matrices_fill(shape, &x, 1, 0);
	matrices_load(m, shape, &x);
	memcpy(before, m->wave->v, sizeof(before));
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, 0);
	matrices_multiply(m, shape, (struct fields){0}, &x);
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, ~0ull);
	matrices_check(shape, (struct fields){0}, &x, "exec 0");
	if (shape->sparse)
		memcpy(before[MATRIX_INDEX], m->wave->v[MATRIX_INDEX], sizeof(before[0]));
	memcpy(before[MATRIX_D], m->wave->v[MATRIX_D], words * sizeof(before[0]));
	assert_memory_equal(before, m->wave->v, sizeof(before));
}

static void exec_is_ignored_and_only_d_is_written(void **state)
{
	for_each_shape(*state, shape_exec);
}

static void shape_broadcast(struct machine *m, const struct shape *shape)
{
	static struct matrices x;
	char what[64];

	for (u32 cbsz = 0; !shape->sparse && 1u << cbsz <= shape->blocks; cbsz++)
		for (u32 abid = 0; abid < 1u << cbsz && shape->a != TYPE_F64; abid++) {
			snprintf(what, sizeof(what), "cbsz:%u abid:%u", cbsz, abid);
			matrices_fill(shape, &x, 0, 1);
			matrices_multiply(m, shape, (struct fields){cbsz, abid, 0}, &x);
			matrices_check(shape, (struct fields){cbsz, abid, 0}, &x, what);
		}
}

static void blocks_of_a_are_broadcast(void **state)
{
	for_each_shape(*state, shape_broadcast);
}

static bool takes_pattern(const struct shape *shape)
{
	if (shape->gfx == GP_ISA_GFX90A)
		return shape->a != TYPE_F64;
	return shape->a == TYPE_F64 || shape->a == TYPE_F32 || shape->blocks > 1;
}

static void shape_pattern(struct machine *m, const struct shape *shape)
{
	static struct matrices x;
	char what[64];

	for (u32 blgp = 1; blgp < 8; blgp++) {
		struct fields fields = {.blgp = blgp};

		if (!takes_pattern(shape)) {
			assert_int_equal(STOP(m, shape->words[0], shape->words[1] | blgp << 29),
					 GP_ISA_ILLEGAL);
			continue;
		}
		snprintf(what, sizeof(what), "blgp:%u", blgp);
		for (u32 run = 0; run < 2; run++) {
			matrices_fill(shape, &x, run, 1 - run);
			matrices_multiply(m, shape, fields, &x);
			matrices_check(shape, fields, &x, what);
		}
	}
}

static void lanes_of_b_are_permuted(void **state)
{
	for_each_shape(*state, shape_pattern);
}

static void shape_illegal(struct machine *m, const struct shape *shape)
{
	u32 beyond = 0;

	if (shape->sparse)
		return;
	while (1u << beyond <= shape->blocks)
		beyond++;
	assert_int_equal(STOP(m, shape->words[0] | beyond << 8, shape->words[1]), GP_ISA_ILLEGAL);
	assert_int_equal(STOP(m, shape->words[0] | 1 << 11, shape->words[1]), GP_ISA_ILLEGAL);
}

static void broadcasts_of_blocks_that_are_not_there_are_illegal(void **state)
{
	for_each_shape(*state, shape_illegal);
}

/* cbsz 0: abid chooses the set of indices; otherwise it is the first. */
static void shape_sets(struct machine *m, const struct shape *shape)
{
	u32 sets = type_width(shape->a) == 16 ? 4 : 2;
	static struct matrices x;

	if (!shape->sparse)
		return;
	for (u32 abid = 0; abid < sets; abid++)
		for (u32 cbsz = 0; cbsz < 2; cbsz++) {
			struct fields fields = {cbsz, abid, 0};

			memset(m->wave->v[MATRIX_INDEX], 0xe4, sizeof(m->wave->v[0]));
			matrices_fill(shape, &x, 0, abid);
			matrices_multiply(m, shape, fields, &x);
			matrices_check(shape, fields, &x, "set of indices");
		}
}

static void sparse_index_has_sets(void **state)
{
	for_each_shape(*state, shape_sets);
}

/* D may be where A, B or C is: everything is read before. */
static void shape_overlap(struct machine *m, const struct shape *shape)
{
	static struct matrices x;

	if (shape->sparse)
		return;
	for (u32 dst = 0; dst <= MATRIX_C; dst += 8) {
		matrices_fill(shape, &x, 2, 0);
		matrices_load(m, shape, &x);
		RUN(m, (shape->words[0] & ~0xffu) | dst, shape->words[1]);
		matrices_take(m, shape, dst, &x);
		matrices_check(shape, (struct fields){0}, &x, "overlap");
	}
}

static void d_may_overlap_sources(void **state)
{
	for_each_shape(*state, shape_overlap);
}

/* Bits of the second word that make A and B AGPRs; bit 15 of the first: C and D. */
static void shape_accumulators(struct machine *m, const struct shape *shape)
{
	static struct matrices x;

	for (u32 acc = 0; acc < 8; acc++) {
		u32 c = shape->sparse ? MATRIX_D : MATRIX_C, d = acc & 4 ? 256 : 0;

		matrices_fill(shape, &x, 0, 1);
		matrices_multiply(m, shape, (struct fields){0}, &x); /* and the index */
		matrices_load(m, shape, &x);
		if (acc & 1)
			memcpy(m->wave->v[256 + MATRIX_A], m->wave->v[MATRIX_A], 8 * 256);
		if (acc & 2)
			memcpy(m->wave->v[256 + MATRIX_B], m->wave->v[MATRIX_B], 8 * 256);
		if (acc & 4)
			memcpy(m->wave->v[256 + c], m->wave->v[c], 32 * 256);
		memset(m->wave->v[acc & 1 ? 0 : 256 + MATRIX_A], 0x33, 8 * 256);
		memset(m->wave->v[acc & 2 ? MATRIX_B : 256 + MATRIX_B], 0x33, 8 * 256);
		memset(m->wave->v[acc & 4 ? c : 256 + c], 0x33, 32 * 256);
		RUN(m, shape->words[0] | (acc & 4) << 13, shape->words[1] | (acc & 3) << 27);
		matrices_take(m, shape, MATRIX_D + d, &x);
		matrices_check(shape, (struct fields){0}, &x, "accumulation registers");
	}
}

static void every_operand_may_be_an_accumulation_register(void **state)
{
	for_each_shape(*state, shape_accumulators);
}

/* src2 as an inline constant: 1.0 (of i32: its bits), -4.0, 64, -16 and 0. */
static void shape_constants(struct machine *m, const struct shape *shape)
{
	static const struct {
		u32 code;
		double real;
		s32 integer;
	} constants[] = {{242, 1, 0x3f800000},
			 {247, -4, (s32)0xc0800000},
			 {128, 0, 0},
			 {192, 0, 64},
			 {208, 0, -16}};
	static struct matrices x;

	if (shape->sparse)
		return;
	for (u32 n = 0; n < GP_ARRAY_SIZE(constants); n++) {
		bool integer = shape->a == TYPE_I8;

		if (!integer && n > 2)
			continue; /* integers are denormals */
		matrices_fill(shape, &x, 0, 2);
		matrices_load(m, shape, &x);
		RUN(m, shape->words[0],
		    (shape->words[1] & ~(0x1ffu << 18)) | constants[n].code << 18);
		matrices_take(m, shape, MATRIX_D, &x);
		for (u32 at = 0; at < GP_ARRAY_SIZE(x.c); at++)
			x.c[at] = integer ? (u32)constants[n].integer
					  : type_bits(shape_result(shape), constants[n].real);
		matrices_check(shape, (struct fields){0}, &x, "constant");
	}
}

static void c_may_be_a_constant(void **state)
{
	for_each_shape(*state, shape_constants);
}

#define BOTH(test)                                                           \
	cmocka_unit_test_setup_teardown(test, machine_gfx90a, machine_down), \
		cmocka_unit_test_setup_teardown(test, machine_gfx942, machine_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(every_element_is_where_the_document_says),
		BOTH(identity_leaves_b),
		BOTH(exec_is_ignored_and_only_d_is_written),
		BOTH(blocks_of_a_are_broadcast),
		BOTH(lanes_of_b_are_permuted),
		BOTH(broadcasts_of_blocks_that_are_not_there_are_illegal),
		BOTH(sparse_index_has_sets),
		BOTH(d_may_overlap_sources),
		BOTH(every_operand_may_be_an_accumulation_register),
		BOTH(c_may_be_a_constant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
