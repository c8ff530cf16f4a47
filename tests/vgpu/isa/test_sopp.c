// SPDX-License-Identifier: MIT
/* SOPP: branches, barriers, messages, and where a wave stops. */
#include "machine.h"

/* Whether the branch skips what follows it. */
static bool branches(struct machine *m, u32 word)
{
	m->wave->s[8] = 0;
	RUN(m, word, 0xb0080001); /* s_movk_i32 s8, 1 */
	return !m->wave->s[8];
}

static void branches_depend_on_their_condition(void **state)
{
	struct machine *m = *state;

	for (u32 on = 0; on < 2; on++) {
		m->wave->scc = on;
		gp_isa_set_pair(m->wave, GP_ISA_VCC, on ? 1ull << 63 : 0);
		gp_isa_set_pair(m->wave, GP_ISA_EXEC, on ? 1ull << 40 : 0);
		assert_true(branches(m, 0xbf820001));           /* s_branch 1 */
		assert_int_equal(branches(m, 0xbf840001), !on); /* s_cbranch_scc0 1 */
		assert_int_equal(branches(m, 0xbf850001), on);  /* s_cbranch_scc1 1 */
		assert_int_equal(branches(m, 0xbf860001), !on); /* s_cbranch_vccz 1 */
		assert_int_equal(branches(m, 0xbf870001), on);  /* s_cbranch_vccnz 1 */
		assert_int_equal(branches(m, 0xbf880001), !on); /* s_cbranch_execz 1 */
		assert_int_equal(branches(m, 0xbf890001), on);  /* s_cbranch_execnz 1 */
	}
	for (u32 bits = 0; bits < 4; bits++) {
		bool user = bits & 1, system = bits & 2;

		m->wave->status = (user ? GP_ISA_STATUS_DEBUG_USER : 0) |
				  (system ? GP_ISA_STATUS_DEBUG_SYSTEM : 0);
		assert_int_equal(branches(m, 0xbf970001), system); /* s_cbranch_cdbgsys 1 */
		assert_int_equal(branches(m, 0xbf980001), user);   /* s_cbranch_cdbguser 1 */
		assert_int_equal(branches(m, 0xbf990001), system || user); /* ..._or_user 1 */
		assert_int_equal(branches(m, 0xbf9a0001), system && user); /* ..._and_user 1 */
	}
}

static void branch_goes_back_as_well(void **state)
{
	struct machine *m = *state;

	m->wave->s[8] = 0;
	RUN(m, 0xb7080001, /* s_addk_i32 s8, 1 */
	    0xb4880005,    /* s_cmpk_lg_u32 s8, 5 */
	    0xbf85fffd);   /* s_cbranch_scc1 -3 */
	assert_int_equal(m->wave->s[8], 5);
	assert_int_equal(m->wave->executed, 5 * 3 + 1);
}

static void budget_leaves_a_wave_between_instructions(void **state)
{
	struct machine *m = *state;
	const u32 words[] = {0xb7080001, 0xb7080001, 0xb7080001}; /* s_addk_i32 s8, 1 */

	m->wave->s[8] = 0;
	assert_int_equal(machine_run(m, words, GP_ARRAY_SIZE(words), 2), GP_ISA_RUNNING);
	assert_int_equal(m->wave->s[8], 2);
	assert_int_equal(m->wave->pc, MACHINE_CODE + 8);
	assert_int_equal(gp_isa_run(&m->runner, m->wave, 100), GP_ISA_ENDED);
	assert_int_equal(m->wave->s[8], 3);
}

static void barrier_holds_until_all_have_arrived(void **state)
{
	struct machine *m = *state;
	struct gp_isa_wave *second = machine_wave(m), *third = machine_wave(m);
	const u32 words[] = {0xbf8a0000, 0xb7080001, 0xbf8a0000}; /* s_barrier; s_addk_i32 s8, 1 */
	const u32 end = MACHINE_ENDPGM;

	assert_int_equal(machine_run(m, words, GP_ARRAY_SIZE(words), 100), GP_ISA_AT_BARRIER);
	assert_int_equal(gp_isa_run(&m->runner, m->wave, 100), GP_ISA_AT_BARRIER);
	assert_int_equal(m->wave->executed, 1);
	assert_int_equal(gp_isa_run(&m->runner, second, 100), GP_ISA_AT_BARRIER);
	/* The last goes through the first barrier and waits at the second. */
	assert_int_equal(gp_isa_run(&m->runner, third, 100), GP_ISA_AT_BARRIER);
	assert_int_equal(third->s[8], 1);
	assert_int_equal(gp_isa_run(&m->runner, third, 100), GP_ISA_AT_BARRIER);
	assert_int_equal(gp_isa_run(&m->runner, m->wave, 100), GP_ISA_AT_BARRIER);
	assert_int_equal(m->wave->s[8], 1);
	assert_int_equal(m->group.at_barrier, 2);
	/* A wave that ends is not waited for. */
	memcpy(m->code + sizeof(u32), &end, sizeof(end));
	assert_int_equal(gp_isa_run(&m->runner, second, 100), GP_ISA_ENDED);
	assert_int_equal(gp_isa_run(&m->runner, m->wave, 100), GP_ISA_ENDED);
	assert_int_equal(gp_isa_run(&m->runner, third, 100), GP_ISA_ENDED);
	assert_int_equal(m->group.ended, 3);
	assert_int_equal(m->group.barrier, 2);
	free(second);
	free(third);
}

static void wave_alone_passes_a_barrier(void **state)
{
	struct machine *m = *state;

	RUN(m, 0xbf8a0000, 0xbf8a0000); /* s_barrier */
	assert_int_equal(m->group.barrier, 2);
}

static void sleep_lets_others_run(void **state)
{
	struct machine *m = *state;

	assert_int_equal(STOP(m, 0xbf8e0001), GP_ISA_WAITS); /* s_sleep 1 */
	assert_int_equal(m->wave->pc, MACHINE_CODE + 4);
	assert_int_equal(gp_isa_run(&m->runner, m->wave, 100), GP_ISA_ENDED);
	m->group.ended = 0;
	RUN(m, 0xbf8e0000); /* s_sleep 0 */
}

static void halted_wave_stands_still(void **state)
{
	struct machine *m = *state;

	m->wave->s[8] = 0;
	assert_int_equal(STOP(m, 0xbf8d0001, 0xb7080001), GP_ISA_WAITS); /* s_sethalt 1 */
	assert_int_equal(gp_isa_run(&m->runner, m->wave, 100), GP_ISA_WAITS);
	assert_int_equal(m->wave->s[8], 0);
	m->wave->status &= ~(u32)GP_ISA_STATUS_HALT;
	assert_int_equal(gp_isa_run(&m->runner, m->wave, 100), GP_ISA_ENDED);
	assert_int_equal(m->wave->s[8], 1);
	m->group.ended = 0;
	m->wave->status = GP_ISA_STATUS_PRIV;
	RUN(m, 0xbf8d0001, 0xbf8d0000); /* s_sethalt 1; s_sethalt 0: in a trap handler */
	assert_int_equal(m->wave->status, GP_ISA_STATUS_PRIV);
}

static void messages_go_to_the_host(void **state)
{
	struct machine *m = *state;

	m->wave->s[GP_ISA_M0] = 0x42;
	RUN(m, 0xbf900001); /* s_sendmsg sendmsg(MSG_INTERRUPT) */
	assert_int_equal(m->messages, 1);
	assert_int_equal(m->message, 1);
	assert_int_equal(m->message_m0, 0x42);
	assert_int_equal(STOP(m, 0xbf910001), GP_ISA_WAITS); /* s_sendmsghalt */
	assert_int_equal(m->messages, 2);
	assert_int_equal(m->wave->status, GP_ISA_STATUS_HALT);
	m->wave->status = 0;
	m->wave->doorbell = 0x1238;
	RUN(m, 0xbf90000a); /* s_sendmsg sendmsg(MSG_GET_DOORBELL) */
	assert_int_equal(m->messages, 2);
	assert_int_equal(gp_isa_exec(m->wave), 0x1238);
}

static void trap_stops_at_itself(void **state)
{
	struct machine *m = *state;

	assert_int_equal(STOP(m, 0xbf800000, 0xbf920002), GP_ISA_TRAPPED); /* s_nop 0; s_trap 2 */
	assert_int_equal(m->wave->trap, 2);
	assert_int_equal(m->wave->pc, MACHINE_CODE + 4);
	assert_int_equal(m->wave->executed, 1);
}

static void the_rest_changes_nothing(void **state)
{
	struct machine *m = *state;
	struct gp_isa_wave *before = malloc(sizeof(*before));
	const u32 words[] = {
		0xbf830000, /* s_wakeup */
		0xbf8c0000, /* s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0) */
		0xbf930000, /* s_icache_inv */
		0xbf940001, /* s_incperflevel 1 */
		0xbf950001, /* s_decperflevel 1 */
		0xbf960000, /* s_ttracedata */
		0xbf8b0000, /* s_setkill 0 */
	};

	assert_non_null(before);
	memcpy(before, m->wave, sizeof(*before));
	machine_run_to_end(m, words, GP_ARRAY_SIZE(words));
	assert_memory_equal(before->s, m->wave->s, sizeof(before->s));
	assert_memory_equal(before->v, m->wave->v, sizeof(before->v));
	assert_int_equal(m->wave->executed, GP_ARRAY_SIZE(words) + 1);
	RUN(m, 0xbf8f0003); /* s_setprio 3 */
	assert_int_equal(m->wave->status, 3 << 3);
	free(before);
}

static void wave_ends_or_is_saved(void **state)
{
	struct machine *m = *state;

	assert_int_equal(STOP(m, 0xbf9b0000), GP_ISA_ILLEGAL); /* s_endpgm_saved */
	m->wave->status |= GP_ISA_STATUS_PRIV;
	assert_int_equal(STOP(m, 0xbf9b0000), GP_ISA_SAVED);
	m->wave->status &= ~(u32)GP_ISA_STATUS_PRIV;
	assert_int_equal(STOP(m, 0xbf8b0001), GP_ISA_ENDED);   /* s_setkill 1 */
	assert_int_equal(STOP(m, 0xbf800000), GP_ISA_ENDED);   /* s_nop 0 */
	assert_int_equal(m->group.ended, 2);                   /* a saved wave comes back */
	assert_int_equal(STOP(m, 0xbf9e0000), GP_ISA_REFUSED); /* s_endpgm_ordered_ps_done */
	assert_int_equal(STOP(m, 0xbfff0000), GP_ISA_ILLEGAL);
}

/* Not mapped, not a multiple of 4, and the one whose successor is 0. */
static void addresses_without_code_are_faults(void **state)
{
	static const u64 wild[] = {0x10, MACHINE_CODE + MACHINE_CODE_BYTES - 1, UINT64_MAX};
	struct machine *m = *state;
	char text[GP_ISA_NAME];

	m->code[MACHINE_CODE_BYTES - 1] = 0xff;
	for (u32 i = 0; i < GP_ARRAY_SIZE(wild); i++) {
		m->wave->pc = wild[i];
		assert_int_equal(gp_isa_run(&m->runner, m->wave, 1), GP_ISA_FAULT);
		assert_true(m->wave->fault == wild[i] && m->wave->pc == wild[i]);
		gp_isa_describe(&m->runner, m->wave, text); /* reads nothing behind the page */
		assert_string_equal(text, "unknown 00000000 00000000");
	}
}

static void code_that_changes_is_decoded_again(void **state)
{
	struct machine *m = *state;

	RUN(m, 0xb0080001); /* s_movk_i32 s8, 1 */
	RUN(m, 0xb0080002); /* s_movk_i32 s8, 2 */
	assert_int_equal(m->wave->s[8], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(branches_depend_on_their_condition, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(branch_goes_back_as_well, machine_gfx942,
						machine_down),
		cmocka_unit_test_setup_teardown(budget_leaves_a_wave_between_instructions,
						machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(barrier_holds_until_all_have_arrived,
						machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(wave_alone_passes_a_barrier, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(sleep_lets_others_run, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(halted_wave_stands_still, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(messages_go_to_the_host, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(trap_stops_at_itself, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(the_rest_changes_nothing, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(wave_ends_or_is_saved, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(addresses_without_code_are_faults, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(code_that_changes_is_decoded_again, machine_gfx90a,
						machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
