// SPDX-License-Identifier: MIT
/* SOPK and SOPC: comparisons, constants of 16 bits, and the registers of the hardware. */
#include "machine.h"

static const u32 edges[] = {0, 1,          0x7fff,     0x8000,     0x8001,     0xffff,
			    7, 0x7fffffff, 0x80000000, 0xffff8000, 0xffff8001, 0xffffffff};

static bool holds(u32 opcode, s64 a, s64 b)
{
	switch (opcode % 6) {
	case 0:
		return a == b;
	case 1:
		return a != b;
	case 2:
		return a > b;
	case 3:
		return a >= b;
	case 4:
		return a < b;
	default:
		return a <= b;
	}
}

static void comparisons_set_scc(void **state)
{
	struct machine *m = *state;

	for (size_t i = 0; i < GP_ARRAY_SIZE(edges); i++)
		for (size_t j = 0; j < GP_ARRAY_SIZE(edges); j++)
			for (u32 opcode = 0; opcode < 12; opcode++) {
				u32 a = edges[i], b = edges[j];
				bool signs = opcode < 6;

				m->wave->s[2] = a;
				m->wave->s[6] = b;
				/* s_cmp_eq_i32 s2, s6 and those that follow it */
				RUN(m, 0xbf000602 | opcode << 16);
				assert_int_equal(m->wave->scc,
						 holds(opcode, signs ? (s32)a : (s64)a,
						       signs ? (s32)b : (s64)b));
			}
}

static void comparisons_with_constants_set_scc(void **state)
{
	struct machine *m = *state;

	for (size_t i = 0; i < GP_ARRAY_SIZE(edges); i++)
		for (u32 opcode = 0; opcode < 12; opcode++) {
			u32 a = edges[i];
			bool signs = opcode < 6;

			m->wave->s[4] = a;
			/* s_cmpk_eq_i32 s4, 0x8001 and those that follow it */
			RUN(m, 0xb1048001 + (opcode << 23));
			assert_int_equal(m->wave->scc, holds(opcode, signs ? (s32)a : (s64)a,
							     signs ? -0x7fff : 0x8001));
		}
}

static void bits_and_wide_values_are_compared(void **state)
{
	struct machine *m = *state;

	gp_isa_set_pair(m->wave, 2, 0x8000000000000002);
	m->wave->s[6] = 33;
	RUN(m, 0xbf0d0602); /* s_bitcmp1_b32 s2, s6 */
	assert_true(m->wave->scc);
	RUN(m, 0xbf0c0602); /* s_bitcmp0_b32 s2, s6 */
	assert_false(m->wave->scc);
	RUN(m, 0xbf0f0602); /* s_bitcmp1_b64 s[2:3], s6 */
	assert_false(m->wave->scc);
	RUN(m, 0xbf0e0602); /* s_bitcmp0_b64 s[2:3], s6 */
	assert_true(m->wave->scc);
	m->wave->s[6] = 63;
	RUN(m, 0xbf0f0602); /* s_bitcmp1_b64 s[2:3], s6 */
	assert_true(m->wave->scc);
	gp_isa_set_pair(m->wave, 6, 0x8000000000000002);
	RUN(m, 0xbf120602); /* s_cmp_eq_u64 s[2:3], s[6:7] */
	assert_true(m->wave->scc);
	m->wave->s[7] = 0;
	RUN(m, 0xbf120602); /* s_cmp_eq_u64 s[2:3], s[6:7] */
	assert_false(m->wave->scc);
	RUN(m, 0xbf130602); /* s_cmp_lg_u64 s[2:3], s[6:7] */
	assert_true(m->wave->scc);
}

static void constants_have_their_sign(void **state)
{
	struct machine *m = *state;

	RUN(m, 0xb0048001); /* s_movk_i32 s4, 0x8001 */
	assert_int_equal(m->wave->s[4], 0xffff8001);
	m->wave->scc = false;
	RUN(m, 0xb0847fff); /* s_cmovk_i32 s4, 0x7fff */
	assert_int_equal(m->wave->s[4], 0xffff8001);
	m->wave->scc = true;
	RUN(m, 0xb0847fff); /* s_cmovk_i32 s4, 0x7fff */
	assert_int_equal(m->wave->s[4], 0x7fff);
	m->wave->s[4] = 0x7fffffff;
	RUN(m, 0xb7047fff); /* s_addk_i32 s4, 0x7fff */
	assert_int_equal(m->wave->s[4], 0x80007ffe);
	assert_true(m->wave->scc);
	RUN(m, 0xb7848001); /* s_mulk_i32 s4, 0x8001 */
	assert_int_equal(m->wave->s[4], (u32)(0x80007ffeu * -0x7fff));
	assert_true(m->wave->scc);
	m->wave->s[4] = 5;
	RUN(m, 0xb7048001); /* s_addk_i32 s4, 0x8001 */
	assert_int_equal(m->wave->s[4], 0xffff8006);
	assert_false(m->wave->scc);
}

static void calls_are_relative(void **state)
{
	struct machine *m = *state;

	m->wave->s[8] = 0;
	RUN(m, 0xba840002, /* s_call_b64 s[4:5], 2 */
	    0xb7080001,    /* s_addk_i32 s8, 1 */
	    0xbf820002,    /* s_branch 2 */
	    0xb7080010,    /* s_addk_i32 s8, 0x10 */
	    0xbe801d04);   /* s_setpc_b64 s[4:5] */
	assert_int_equal(gp_isa_pair(m->wave, 4), MACHINE_CODE + 4);
	assert_int_equal(m->wave->s[8], 0x11);
	assert_int_equal(STOP(m, 0xb8040001), GP_ISA_REFUSED); /* s_cbranch_i_fork s[4:5], 1 */
}

static void mode_is_read_and_written_by_fields(void **state)
{
	struct machine *m = *state;

	m->wave->mode = 0x3c5;
	RUN(m, 0xb884f801); /* s_getreg_b32 s4, hwreg(HW_REG_MODE) */
	assert_int_equal(m->wave->s[4], 0x3c5);
	RUN(m, 0xb8841901); /* s_getreg_b32 s4, hwreg(HW_REG_MODE, 4, 4) */
	assert_int_equal(m->wave->s[4], 0xc);
	m->wave->s[2] = 0xfffffff5;
	RUN(m, 0xb9021901); /* s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s2 */
	assert_int_equal(m->wave->mode, 0x355);
	RUN(m, 0xba001801, 0xaa); /* s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0xaa */
	assert_int_equal(m->wave->mode, 0x35a);
}

static void status_is_made_from_what_it_shows(void **state)
{
	struct machine *m = *state;

	m->wave->status = GP_ISA_STATUS_VALID;
	m->wave->scc = true;
	gp_isa_set_pair(m->wave, GP_ISA_VCC, 0);
	RUN(m, 0xb884f802); /* s_getreg_b32 s4, hwreg(HW_REG_STATUS) */
	assert_int_equal(m->wave->s[4],
			 GP_ISA_STATUS_VALID | GP_ISA_STATUS_SCC | GP_ISA_STATUS_VCCZ);
	m->wave->s[2] = 0;
	RUN(m, 0xb902f802); /* s_setreg_b32 hwreg(HW_REG_STATUS), s2: without privilege */
	assert_true(m->wave->scc);
	assert_int_equal(m->wave->status, GP_ISA_STATUS_VALID);
	m->wave->status |= GP_ISA_STATUS_PRIV;
	m->wave->s[2] = GP_ISA_STATUS_PRIV;
	RUN(m, 0xb902f802); /* s_setreg_b32 hwreg(HW_REG_STATUS), s2 */
	assert_false(m->wave->scc);
	assert_int_equal(m->wave->status, GP_ISA_STATUS_PRIV);
}

static void other_registers_are_the_waves(void **state)
{
	struct machine *m = *state;

	m->wave->trapsts = 0xff;
	m->wave->hw_id = 0x1234;
	m->wave->lds_alloc = 0x5678;
	m->wave->gpr_alloc = 0x9abc;
	m->wave->trap_memory = 0x1122334455667788;
	m->wave->trap_base = 0x99;
	m->wave->s[2] = 0x100;
	RUN(m, 0xb9024003, /* s_setreg_b32 hwreg(HW_REG_TRAPSTS, 0, 9), s2 */
	    0xb884f803);   /* s_getreg_b32 s4, hwreg(HW_REG_TRAPSTS) */
	assert_int_equal(m->wave->s[4], 0x100);
	RUN(m, 0xb884f804); /* s_getreg_b32 s4, hwreg(HW_REG_HW_ID) */
	assert_int_equal(m->wave->s[4], 0x1234);
	RUN(m, 0xb884f806); /* s_getreg_b32 s4, hwreg(HW_REG_LDS_ALLOC) */
	assert_int_equal(m->wave->s[4], 0x5678);
	RUN(m, 0xb884f805); /* s_getreg_b32 s4, hwreg(HW_REG_GPR_ALLOC) */
	assert_int_equal(m->wave->s[4], 0x9abc);
	RUN(m, 0xb884f80f); /* s_getreg_b32 s4, hwreg(HW_REG_SH_MEM_BASES) */
	assert_int_equal(m->wave->s[4], (MACHINE_SHARED >> 48) << 16 | MACHINE_PRIVATE >> 48);
	RUN(m, 0xb884f807); /* s_getreg_b32 s4, hwreg(HW_REG_IB_STS) */
	assert_int_equal(m->wave->s[4], 0);
	RUN(m, 0xb884f812); /* s_getreg_b32 s4, hwreg(HW_REG_TMA_LO) */
	assert_int_equal(m->wave->s[4], 0x55667788);
	RUN(m, 0xb884f813); /* s_getreg_b32 s4, hwreg(HW_REG_TMA_HI) */
	assert_int_equal(m->wave->s[4], 0x11223344);
	RUN(m, 0xb884f810); /* s_getreg_b32 s4, hwreg(HW_REG_TBA_LO) */
	assert_int_equal(m->wave->s[4], 0x99);
}

static void unknown_registers_are_refused(void **state)
{
	struct machine *m = *state;

	m->wave->s[4] = 7;
	assert_int_equal(STOP(m, 0xb884f83f), GP_ISA_REFUSED); /* s_getreg_b32 s4, hwreg(63) */
	assert_int_equal(m->wave->s[4], 7);
	assert_int_equal(STOP(m, 0xb884f814), GP_ISA_REFUSED); /* hwreg(20): XCC_ID of gfx942 */
	m->runner.gfx = GP_ISA_GFX942;
	m->wave->xcc_id = 3;
	RUN(m, 0xb884f814); /* s_getreg_b32 s4, hwreg(HW_REG_XCC_ID) */
	assert_int_equal(m->wave->s[4], 3);
}

static void skip_mode_leaves_out_vector_instructions(void **state)
{
	struct machine *m = *state;

	memset(m->wave->v[1], 0, sizeof(m->wave->v[1]));
	RUN(m, 0xbf108081, /* s_setvskip 1, 0 */
	    0x7e020285,    /* v_mov_b32 v1, 5 */
	    0xb0048001);   /* s_movk_i32 s4, 0x8001 */
	assert_int_equal(m->wave->v[1][7], 0);
	assert_int_equal(m->wave->s[4], 0xffff8001);
	RUN(m, 0xbf108080, /* s_setvskip 0, 0 */
	    0x7e020285);   /* v_mov_b32 v1, 5 */
	assert_int_equal(m->wave->v[1][7], 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(comparisons_set_scc, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(comparisons_with_constants_set_scc, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(bits_and_wide_values_are_compared, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(constants_have_their_sign, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(calls_are_relative, machine_gfx942, machine_down),
		cmocka_unit_test_setup_teardown(mode_is_read_and_written_by_fields, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(status_is_made_from_what_it_shows, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(other_registers_are_the_waves, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(unknown_registers_are_refused, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(skip_mode_leaves_out_vector_instructions,
						machine_gfx90a, machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
