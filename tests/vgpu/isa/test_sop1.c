// SPDX-License-Identifier: MIT
/* SOP1: one operand, calls, and what changes EXEC. */
#include "machine.h"

#define RESULT_BEFORE 0x1111111122222222ull

/* The word, s[2:3] and SCC before; s[4:5] and SCC after. */
static const struct {
	u32 word;
	u64 a;
	bool scc;
	u64 result;
	bool scc_after;
} cases[] = {
	/* clang-format off */
	/* s_mov_b32 s4, s2 */
	{0xbe840002, 0xdead0001ffffffff, 0, 0x11111111ffffffff, 0},
	{0xbe840002, 0xdead0001a6a3a450, 0, 0x11111111a6a3a450, 0},
	{0xbe840002, 0xdead0001ffff3333, 0, 0x11111111ffff3333, 0},
	{0xbe840002, 0xdead00019531985d, 1, 0x111111119531985d, 1},
	/* s_mov_b64 s[4:5], s[2:3] */
	{0xbe840102, 0x7fffffffffff3333, 0, 0x7fffffffffff3333, 0},
	{0xbe840102, 0x6b0d549b6f03675a, 0, 0x6b0d549b6f03675a, 0},
	{0xbe840102, 0xffff333300000001, 0, 0xffff333300000001, 0},
	{0xbe840102, 0x90c192cfd3ac94af, 1, 0x90c192cfd3ac94af, 1},
	/* s_cmov_b32 s4, s2 */
	{0xbe840202, 0xdead00017fffffff, 1, 0x111111117fffffff, 1},
	{0xbe840202, 0xdead0001953f48f1, 0, 0x1111111122222222, 0},
	{0xbe840202, 0xdead000155555555, 0, 0x1111111122222222, 0},
	{0xbe840202, 0xdead00010cb1e29c, 0, 0x1111111122222222, 0},
	/* s_cmov_b64 s[4:5], s[2:3] */
	{0xbe840302, 0xffff333300000000, 0, 0x1111111122222222, 0},
	{0xbe840302, 0x24ede6a46b4cb242, 0, 0x1111111122222222, 0},
	{0xbe840302, 0x8000000055555555, 1, 0x8000000055555555, 1},
	{0xbe840302, 0x2e44158bae97ba94, 1, 0x2e44158bae97ba94, 1},
	/* s_not_b32 s4, s2 */
	{0xbe840402, 0xdead000155555555, 0, 0x11111111aaaaaaaa, 1},
	{0xbe840402, 0xdead00015f557203, 1, 0x11111111a0aa8dfc, 1},
	{0xbe840402, 0xdead000100010000, 1, 0x11111111fffeffff, 1},
	{0xbe840402, 0xdead00010f4205b4, 0, 0x11111111f0bdfa4b, 1},
	/* s_not_b64 s[4:5], s[2:3] */
	{0xbe840502, 0xaaaaaaaa0000cccc, 0, 0x55555555ffff3333, 1},
	{0xbe840502, 0x506bf2efc6f87718, 1, 0xaf940d10390788e7, 1},
	{0xbe840502, 0xffffffff0000cccc, 0, 0xffff3333, 1},
	{0xbe840502, 0x2e05319acb5c7427, 1, 0xd1face6534a38bd8, 1},
	/* s_wqm_b32 s4, s2 */
	{0xbe840602, 0xdead00017fffffff, 1, 0x11111111ffffffff, 1},
	{0xbe840602, 0xdead00014cdd2055, 0, 0x11111111fffff0ff, 1},
	{0xbe840602, 0xdead0001ffffffff, 0, 0x11111111ffffffff, 1},
	{0xbe840602, 0xdead000149b64a08, 1, 0x11111111ffffff0f, 1},
	/* s_wqm_b64 s[4:5], s[2:3] */
	{0xbe840702, 0x100000001, 0, 0xf0000000f, 1},
	{0xbe840702, 0xc1d3fcff2a3af4d4, 0, 0xffffffffffffffff, 1},
	{0xbe840702, 0xfffffffe0000cccc, 1, 0xffffffff0000ffff, 1},
	{0xbe840702, 0x13deef86ab1031d0, 1, 0xfffffffffff0fff0, 1},
	/* s_quadmask_b32 s4, s2 */
	{0xbe842802, 0xdead000155555555, 0, 0x11111111000000ff, 1},
	{0xbe842802, 0xdead0001b1fee08f, 1, 0x11111111000000fb, 1},
	{0xbe842802, 0xdead00010000cccc, 1, 0x111111110000000f, 1},
	{0xbe842802, 0xdead000174c9df6a, 1, 0x11111111000000ff, 1},
	/* s_quadmask_b64 s[4:5], s[2:3] */
	{0xbe842902, 0x8000000000000001, 1, 0x8001, 1},
	{0xbe842902, 0x10a3d6b2aa05e11a, 1, 0xbfdf, 1},
	{0xbe842902, 0x8000000000010000, 1, 0x8010, 1},
	{0xbe842902, 0xae658f33fe3b890b, 0, 0xfffd, 1},
	/* s_brev_b32 s4, s2 */
	{0xbe840802, 0xdead000180000000, 0, 0x1111111100000001, 0},
	{0xbe840802, 0xdead0001e3151288, 0, 0x111111111148a8c7, 0},
	{0xbe840802, 0xdead000100000000, 0, 0x1111111100000000, 0},
	{0xbe840802, 0xdead00012b0537e6, 0, 0x1111111167eca0d4, 0},
	/* s_brev_b64 s[4:5], s[2:3] */
	{0xbe840902, 0xcccc, 1, 0x3333000000000000, 1},
	{0xbe840902, 0x211c70cf49952399, 0, 0x99c4a992f30e3884, 0},
	{0xbe840902, 0xfffffffefffffffe, 0, 0x7fffffff7fffffff, 0},
	{0xbe840902, 0x72fdf2022a96fb1a, 1, 0x58df6954404fbf4e, 1},
	/* s_bcnt0_i32_b32 s4, s2 */
	{0xbe840a02, 0xdead000180000000, 1, 0x111111110000001f, 1},
	{0xbe840a02, 0xdead00016e36aab0, 1, 0x1111111100000010, 1},
	{0xbe840a02, 0xdead000180000000, 0, 0x111111110000001f, 1},
	{0xbe840a02, 0xdead0001fc891b4a, 1, 0x1111111100000010, 1},
	/* s_bcnt0_i32_b64 s4, s[2:3] */
	{0xbe840b02, 0x7ffffffffffffffe, 0, 0x1111111100000002, 1},
	{0xbe840b02, 0x26bb7dbd2d1c9af0, 1, 0x111111110000001c, 1},
	{0xbe840b02, 0x7fffffff, 1, 0x1111111100000021, 1},
	{0xbe840b02, 0x2eae05cf96d0cc5f, 0, 0x111111110000001e, 1},
	/* s_bcnt1_i32_b32 s4, s2 */
	{0xbe840c02, 0xdead000100000000, 0, 0x1111111100000000, 0},
	{0xbe840c02, 0xdead000188daf401, 1, 0x111111110000000d, 1},
	{0xbe840c02, 0xdead000155555555, 1, 0x1111111100000010, 1},
	{0xbe840c02, 0xdead000120203626, 1, 0x1111111100000009, 1},
	/* s_bcnt1_i32_b64 s4, s[2:3] */
	{0xbe840d02, 0x55555555ffff3333, 1, 0x1111111100000028, 1},
	{0xbe840d02, 0xdd27a65bd628881, 1, 0x111111110000001d, 1},
	{0xbe840d02, 0xffff3333aaaaaaaa, 0, 0x1111111100000028, 1},
	{0xbe840d02, 0x64e50cad66237a04, 0, 0x111111110000001c, 1},
	/* s_ff0_i32_b32 s4, s2 */
	{0xbe840e02, 0xdead0001aaaaaaaa, 0, 0x1111111100000000, 0},
	{0xbe840e02, 0xdead000130cbc97d, 1, 0x1111111100000001, 1},
	{0xbe840e02, 0xdead00017fffffff, 0, 0x111111110000001f, 0},
	{0xbe840e02, 0xdead00011c2442f9, 1, 0x1111111100000001, 1},
	/* s_ff0_i32_b64 s4, s[2:3] */
	{0xbe840f02, 0x100000000, 1, 0x1111111100000000, 1},
	{0xbe840f02, 0x895fd7b326b94c7f, 1, 0x1111111100000007, 1},
	{0xbe840f02, 0x55555555ffffffff, 0, 0x1111111100000021, 0},
	{0xbe840f02, 0x353c631cdfd43f37, 0, 0x1111111100000003, 0},
	/* s_ff1_i32_b32 s4, s2 */
	{0xbe841002, 0xdead000100000002, 0, 0x1111111100000001, 0},
	{0xbe841002, 0xdead0001f4998d7c, 1, 0x1111111100000002, 1},
	{0xbe841002, 0xdead0001ffffffff, 0, 0x1111111100000000, 0},
	{0xbe841002, 0xdead00011d87cec3, 0, 0x1111111100000000, 0},
	/* s_ff1_i32_b64 s4, s[2:3] */
	{0xbe841102, 0xcccc0000cccc, 0, 0x1111111100000002, 0},
	{0xbe841102, 0x24e4e25a15fc899e, 1, 0x1111111100000001, 1},
	{0xbe841102, 0x10000ffffffff, 0, 0x1111111100000000, 0},
	{0xbe841102, 0xb12aa1f6d42fddbb, 1, 0x1111111100000000, 1},
	/* s_flbit_i32_b32 s4, s2 */
	{0xbe841202, 0xdead000100000000, 1, 0x11111111ffffffff, 1},
	{0xbe841202, 0xdead0001f3b7a50d, 0, 0x1111111100000000, 0},
	{0xbe841202, 0xdead000100000002, 1, 0x111111110000001e, 1},
	{0xbe841202, 0xdead0001ea057543, 1, 0x1111111100000000, 1},
	/* s_flbit_i32_b64 s4, s[2:3] */
	{0xbe841302, 0x80000000ffff3333, 1, 0x1111111100000000, 1},
	{0xbe841302, 0xb239f3c7174c77a2, 0, 0x1111111100000000, 0},
	{0xbe841302, 0xffffffffffff3333, 0, 0x1111111100000000, 0},
	{0xbe841302, 0x3908f227c59db916, 1, 0x1111111100000002, 1},
	/* s_flbit_i32 s4, s2 */
	{0xbe841402, 0xdead0001ffff3333, 1, 0x1111111100000010, 1},
	{0xbe841402, 0xdead000139194242, 1, 0x1111111100000002, 1},
	{0xbe841402, 0xdead00017fffffff, 1, 0x1111111100000001, 1},
	{0xbe841402, 0xdead000166934036, 1, 0x1111111100000001, 1},
	/* s_flbit_i32_i64 s4, s[2:3] */
	{0xbe841502, 0x7fffffff7fffffff, 0, 0x1111111100000001, 0},
	{0xbe841502, 0xbb2313f55b06258e, 1, 0x1111111100000001, 1},
	{0xbe841502, 0x8000000000000000, 0, 0x1111111100000001, 0},
	{0xbe841502, 0xb1491e243192b704, 1, 0x1111111100000001, 1},
	/* s_sext_i32_i8 s4, s2 */
	{0xbe841602, 0xdead0001ffffffff, 1, 0x11111111ffffffff, 1},
	{0xbe841602, 0xdead0001efe09f07, 1, 0x1111111100000007, 1},
	{0xbe841602, 0xdead0001ffffffff, 0, 0x11111111ffffffff, 0},
	{0xbe841602, 0xdead000138703800, 0, 0x1111111100000000, 0},
	/* s_sext_i32_i16 s4, s2 */
	{0xbe841702, 0xdead00010000cccc, 0, 0x11111111ffffcccc, 0},
	{0xbe841702, 0xdead00013451d013, 1, 0x11111111ffffd013, 1},
	{0xbe841702, 0xdead000155555555, 0, 0x1111111100005555, 0},
	{0xbe841702, 0xdead0001e8c14743, 0, 0x1111111100004743, 0},
	/* s_abs_i32 s4, s2 */
	{0xbe843002, 0xdead0001aaaaaaaa, 1, 0x1111111155555556, 1},
	{0xbe843002, 0xdead0001a91c2439, 1, 0x1111111156e3dbc7, 1},
	{0xbe843002, 0xdead0001fffffffe, 1, 0x1111111100000002, 1},
	{0xbe843002, 0xdead0001330698a1, 1, 0x11111111330698a1, 1},
	/* s_bitreplicate_b64_b32 s[4:5], s2 */
	{0xbe843702, 0xdead000100000002, 1, 0xc, 1},
	{0xbe843702, 0xdead0001a2c68e45, 0, 0xcc0cf03cc0fc3033, 0},
	{0xbe843702, 0xdead000100010000, 0, 0x300000000, 0},
	{0xbe843702, 0xdead000166c1494e, 1, 0x3c3cf00330c330fc, 1},
	/* s_bitset0_b32 s4, s2; s_bitset0_b64; s_bitset1_b32; s_bitset1_b64 */
	{0xbe841802, 33, 1, 0x1111111122222220, 1},
	{0xbe841902, 32, 0, 0x1111111022222222, 0},
	{0xbe841a02, 32, 0, 0x1111111122222223, 0},
	{0xbe841b02, 63, 1, 0x9111111122222222, 1},
	/* s_mov_b64 s[4:5], 1.0; s_mov_b32 s4, 0.5; s_mov_b32 s4, -16; s_mov_b32 s4, 64; s_mov_b64 s[4:5], -1 */
	{0xbe8401f2, 0, 0, 0x3ff0000000000000, 0},
	{0xbe8400f0, 0, 0, 0x111111113f000000, 0},
	{0xbe8400d0, 0, 0, 0x11111111fffffff0, 0},
	{0xbe8400c0, 0, 0, 0x1111111100000040, 0},
	{0xbe8401c1, 0, 0, 0xffffffffffffffff, 0},
	/* s_mov_b32 s4, src_scc; s_mov_b64 s[4:5], src_shared_base; s_mov_b64 s[4:5], src_private_limit */
	{0xbe8400fd, 0, 1, 0x1111111100000001, 1},
	{0xbe8401eb, 0, 0, MACHINE_SHARED, 0},
	{0xbe8401ee, 0, 0, MACHINE_PRIVATE + 0xffffffff, 0},
	/* clang-format on */
};

static void operations_have_the_results_of_the_manual(void **state)
{
	struct machine *m = *state;

	for (size_t i = 0; i < GP_ARRAY_SIZE(cases); i++) {
		gp_isa_set_pair(m->wave, 2, cases[i].a);
		gp_isa_set_pair(m->wave, 4, RESULT_BEFORE);
		m->wave->scc = cases[i].scc;
		RUN(m, cases[i].word);
		if (gp_isa_pair(m->wave, 4) != cases[i].result ||
		    m->wave->scc != cases[i].scc_after)
			fail_msg("case %zu: %08x: %llx, scc %d", i, cases[i].word,
				 (unsigned long long)gp_isa_pair(m->wave, 4), m->wave->scc);
	}
}

static void literals_fill_64_bits_with_zeros(void **state)
{
	struct machine *m = *state;

	RUN(m, 0xbe8401ff, 0x80000001); /* s_mov_b64 s[4:5], 0x80000001 */
	assert_int_equal(gp_isa_pair(m->wave, 4), 0x80000001);
	RUN(m, 0xbe8400ff, 0x12345678); /* s_mov_b32 s4, 0x12345678 */
	assert_int_equal(m->wave->s[4], 0x12345678);
}

static void exec_changes_and_its_old_value_is_kept(void **state)
{
	struct machine *m = *state;
	const u64 a = 0xff00ff00f0f0000full, e = 0x0ff00ff0ffff00ffull;
	/* clang-format off */
	const struct {
		u32 word;
		u64 exec, saved;
	} masks[] = {
		{0xbe842002, a & e, e},		 /* s_and_saveexec_b64 s[4:5], s[2:3] */
		{0xbe842102, a | e, e},		 /* s_or_saveexec_b64 */
		{0xbe842202, a ^ e, e},		 /* s_xor_saveexec_b64 */
		{0xbe842302, a & ~e, e},	 /* s_andn2_saveexec_b64 */
		{0xbe842402, a | ~e, e},	 /* s_orn2_saveexec_b64 */
		{0xbe842502, ~(a & e), e},	 /* s_nand_saveexec_b64 */
		{0xbe842602, ~(a | e), e},	 /* s_nor_saveexec_b64 */
		{0xbe842702, ~(a ^ e), e},	 /* s_xnor_saveexec_b64 */
		{0xbe843302, ~a & e, e},	 /* s_andn1_saveexec_b64 */
		{0xbe843402, ~a | e, e},	 /* s_orn1_saveexec_b64 */
		{0xbe843502, ~a & e, ~a & e},	 /* s_andn1_wrexec_b64 */
		{0xbe843602, a & ~e, a & ~e},	 /* s_andn2_wrexec_b64 */
	};
	/* clang-format on */

	for (size_t i = 0; i < GP_ARRAY_SIZE(masks); i++) {
		gp_isa_set_pair(m->wave, 2, a);
		gp_isa_set_pair(m->wave, GP_ISA_EXEC, e);
		m->wave->scc = false;
		RUN(m, masks[i].word);
		assert_int_equal(gp_isa_exec(m->wave), masks[i].exec);
		assert_int_equal(gp_isa_pair(m->wave, 4), masks[i].saved);
		assert_true(m->wave->scc);
	}
	gp_isa_set_pair(m->wave, 2, 0);
	RUN(m, 0xbe842002); /* s_and_saveexec_b64 s[4:5], s[2:3] */
	assert_int_equal(gp_isa_exec(m->wave), 0);
	assert_false(m->wave->scc);
}

static void calls_return_behind_themselves(void **state)
{
	struct machine *m = *state;

	RUN(m, 0xbf800000, 0xbe841c00); /* s_nop 0; s_getpc_b64 s[4:5] */
	assert_int_equal(gp_isa_pair(m->wave, 4), MACHINE_CODE + 8);
	gp_isa_set_pair(m->wave, 2, MACHINE_CODE + 12);
	m->wave->s[8] = 0;
	RUN(m, 0xbe841e02, /* s_swappc_b64 s[4:5], s[2:3] */
	    0xb7080001,    /* s_addk_i32 s8, 1 */
	    0xbf820002,    /* s_branch 2 */
	    0xb7080010,    /* s_addk_i32 s8, 0x10 */
	    0xbe801d04);   /* s_setpc_b64 s[4:5] */
	assert_int_equal(gp_isa_pair(m->wave, 4), MACHINE_CODE + 4);
	assert_int_equal(m->wave->s[8], 0x11);
}

static void return_from_a_trap_needs_its_privilege(void **state)
{
	struct machine *m = *state;

	gp_isa_set_pair(m->wave, 2, MACHINE_CODE + 8);
	assert_int_equal(STOP(m, 0xbe801f02), GP_ISA_ILLEGAL); /* s_rfe_b64 s[2:3] */
	m->wave->status = GP_ISA_STATUS_PRIV;
	RUN(m, 0xbe801f02, 0xbf920002); /* s_rfe_b64 s[2:3]; s_trap 2 */
	assert_int_equal(m->wave->status, 0);
}

static void registers_are_indexed_by_m0(void **state)
{
	struct machine *m = *state;

	m->wave->s[GP_ISA_M0] = 10;
	m->wave->s[17] = 0xabcd;
	RUN(m, 0xbe852a07); /* s_movrels_b32 s5, s7 */
	assert_int_equal(m->wave->s[5], 0xabcd);
	m->wave->s[7] = 0x1234;
	RUN(m, 0xbe852c07); /* s_movreld_b32 s5, s7 */
	assert_int_equal(m->wave->s[15], 0x1234);
	gp_isa_set_pair(m->wave, 16, 0x1122334455667788);
	RUN(m, 0xbe842b06); /* s_movrels_b64 s[4:5], s[6:7] */
	assert_int_equal(gp_isa_pair(m->wave, 4), 0x1122334455667788);
	gp_isa_set_pair(m->wave, 6, 0x99aabbccddeeff00);
	RUN(m, 0xbe842d06); /* s_movreld_b64 s[4:5], s[6:7] */
	assert_int_equal(gp_isa_pair(m->wave, 14), 0x99aabbccddeeff00);
	m->wave->s[GP_ISA_M0] = 0xffffffff;
	assert_int_equal(STOP(m, 0xbe852c07), GP_ISA_ILLEGAL); /* s_movreld_b32 s5, s7 */
	m->wave->s[GP_ISA_M0] = 120;
	assert_int_equal(STOP(m, 0xbe852a07), GP_ISA_ILLEGAL); /* s_movrels_b32 s5, s7 */
}

static void index_mode_moves_vector_registers(void **state)
{
	struct machine *m = *state;

	m->wave->s[GP_ISA_M0] = 0xabcd0f00;
	m->wave->s[2] = 0x303;
	RUN(m, 0xbf110902); /* s_set_gpr_idx_on s2, gpr_idx(SRC0,DST) */
	assert_int_equal(m->wave->s[GP_ISA_M0], 0xabcd9f03);
	assert_true(m->wave->mode & GP_ISA_MODE_GPR_IDX);
	m->wave->s[2] = 5;
	RUN(m, 0xbe803202, /* s_set_gpr_idx_idx s2 */
	    0xbf9d0002);   /* s_set_gpr_idx_mode gpr_idx(SRC1) */
	assert_int_equal(m->wave->s[GP_ISA_M0], 0xabcd2f05);
	RUN(m, 0xbf9c0000); /* s_set_gpr_idx_off */
	assert_false(m->wave->mode & GP_ISA_MODE_GPR_IDX);
	assert_int_equal(STOP(m, 0xbe802e02), GP_ISA_REFUSED); /* s_cbranch_join s2 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(operations_have_the_results_of_the_manual,
						machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(literals_fill_64_bits_with_zeros, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(exec_changes_and_its_old_value_is_kept,
						machine_gfx942, machine_down),
		cmocka_unit_test_setup_teardown(calls_return_behind_themselves, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(return_from_a_trap_needs_its_privilege,
						machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(registers_are_indexed_by_m0, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(index_mode_moves_vector_registers, machine_gfx90a,
						machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
