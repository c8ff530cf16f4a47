// SPDX-License-Identifier: MIT
/*
 * The self-test's kernel, run on the CPU one work item after the other: it finds nothing where
 * nothing was changed, and each kind of value that a preemption could lose.
 */
#include "testlib.h"

#include <string.h>

#include "selftest/work.h"

enum change { NOTHING, A_VECTOR, A_SCALAR, A_WORD };

static struct {
	enum change change;
	unsigned int at; /* which value */
} preemption;

static unsigned int lane_now, group_now;

/* What OpenCL C for a GPU has and C for a CPU has not. */
#define kernel
#define global
#define local static
#define reqd_work_group_size(x, y, z)
#define __builtin_amdgcn_workitem_id_x()   lane_now
#define __builtin_amdgcn_workgroup_id_x()  group_now
#define __builtin_amdgcn_readfirstlane(x)  (x)
#define __builtin_amdgcn_fence(order, who) ((void)0)
#define __builtin_amdgcn_s_barrier()       ((void)0)

static void preempt(unsigned int *v, unsigned int *s, volatile unsigned int *words)
{
	if (v && preemption.change == A_VECTOR)
		v[preemption.at] ^= 1u << 31;
	if (s && preemption.change == A_SCALAR)
		s[preemption.at] ^= 1;
	if (words && preemption.change == A_WORD)
		words[preemption.at] ^= 1u << 5;
}
#define PREEMPTED(v, s, words) preempt(v, s, words)

void gpreempt_selftest(volatile unsigned int *stop, volatile unsigned int *done,
		       volatile unsigned int *bad, unsigned int seed, unsigned int steps,
		       unsigned int most);
#pragma GCC diagnostic ignored "-Wattributes"
#include "selftest/kernel.cl"

static unsigned int stop_word, done[2 * GROUP], bad[2 * GROUP];

/* All work items of two groups. LDS is the group's: filled by a first pass without rounds. */
static void run(enum change change, unsigned int at)
{
	static unsigned int nobody[2 * GROUP];

	memset(done, 0, sizeof(done));
	memset(bad, 0, sizeof(bad));
	for (group_now = 0; group_now < 2; group_now++) {
		preemption.change = NOTHING;
		for (lane_now = 0; lane_now < GROUP; lane_now++)
			gpreempt_selftest(&stop_word, nobody, nobody, 3, 4, 0);
		preemption.change = change;
		preemption.at = at;
		for (lane_now = 0; lane_now < GROUP; lane_now++)
			gpreempt_selftest(&stop_word, done, bad, 3, 4, 2);
	}
}

static void what_was_not_changed_is_right(void **state)
{
	(void)state;
	assert_int_equal(GROUP, GP_WORK_GROUP);
	run(NOTHING, 0);
	for (unsigned int i = 0; i < 2 * GROUP; i++) {
		assert_int_equal(done[i], 1);
		assert_int_equal(bad[i], 0);
	}
}

static void a_changed_vector_register_is_found(void **state)
{
	(void)state;
	for (unsigned int at = 0; at < VECTORS; at++) {
		run(A_VECTOR, at);
		for (unsigned int i = 0; i < 2 * GROUP; i++)
			assert_int_equal(bad[i], BAD_VECTOR);
	}
}

static void a_changed_scalar_register_is_found(void **state)
{
	(void)state;
	for (unsigned int at = 0; at < SCALARS; at++) {
		run(A_SCALAR, at);
		assert_int_equal(bad[5], BAD_SCALAR);
	}
}

static void a_changed_word_of_lds_is_found(void **state)
{
	unsigned int found = 0;

	(void)state;
	/* Each work item changes it once: whoever looks at it in between sees it wrong. */
	run(A_WORD, 7 * WORDS + 2);
	for (unsigned int i = 0; i < 2 * GROUP; i++)
		found |= bad[i];
	assert_int_equal(found, BAD_LDS);
}

static void it_ends_when_it_is_told_to(void **state)
{
	(void)state;
	stop_word = 1;
	memset(done, 0, sizeof(done));
	preemption.change = NOTHING;
	group_now = lane_now = 0;
	gpreempt_selftest(&stop_word, done, bad, 3, 4, UINT32_MAX);
	stop_word = 0;
	assert_int_equal(done[0], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_not_changed_is_right),
		cmocka_unit_test(a_changed_vector_register_is_found),
		cmocka_unit_test(a_changed_scalar_register_is_found),
		cmocka_unit_test(a_changed_word_of_lds_is_found),
		cmocka_unit_test(it_ends_when_it_is_told_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
