// SPDX-License-Identifier: MIT
/* Where lanes and parts of registers come from and go: DPP, SDWA, EXEC, carries, the index mode. */
#include "machine.h"

#define OLD 0xabcd1234u

static void rows_set(struct machine *m, u32 rows, u64 *seed)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		m->wave->v[0][lane] = OLD;
		for (u32 row = 1; row < rows; row++)
			m->wave->v[row][lane] = machine_random(seed);
	}
}

/* The lane that is read, -1 for none that is there. */
static s32 quad_perm(s32 lane)
{
	static const s32 from[] = {3, 1, 0, 2};

	return lane / 4 * 4 + from[lane % 4];
}

static s32 row_shl_3(s32 lane)
{
	return lane % 16 < 13 ? lane + 3 : -1;
}

static s32 row_shr_5(s32 lane)
{
	return lane % 16 > 4 ? lane - 5 : -1;
}

static s32 row_ror_7(s32 lane)
{
	return lane / 16 * 16 + (lane + 9) % 16;
}

static s32 wave_shl(s32 lane)
{
	return lane == 63 ? -1 : lane + 1;
}

static s32 wave_rol(s32 lane)
{
	return lane == 63 ? 0 : lane + 1;
}

static s32 wave_shr(s32 lane)
{
	return lane - 1;
}

static s32 wave_ror(s32 lane)
{
	return lane ? lane - 1 : 63;
}

static s32 mirror(s32 lane)
{
	return lane / 16 * 16 + 15 - lane % 16;
}

static s32 half_mirror(s32 lane)
{
	return lane / 8 * 8 + 7 - lane % 8;
}

static s32 broadcast_15(s32 lane)
{
	return lane / 16 * 16 - 1;
}

static s32 broadcast_31(s32 lane)
{
	return lane < 32 ? -1 : 31;
}

static s32 broadcast_9(s32 lane)
{
	return lane / 16 * 16 + 9;
}

/* Second words of v_mov_b32_dpp v0, v1 */
static const struct {
	u32 word;
	s32 (*from)(s32 lane);
	u32 rows, banks;
	bool zero;
} moves[] = {
	{0xff008701, quad_perm, 15, 15, false},    /* quad_perm:[3,1,0,2] */
	{0xff010301, row_shl_3, 15, 15, false},    /* row_shl:3 */
	{0xff091501, row_shr_5, 15, 15, true},     /* row_shr:5 bound_ctrl:1 */
	{0xff012701, row_ror_7, 15, 15, false},    /* row_ror:7 */
	{0xff013001, wave_shl, 15, 15, false},     /* wave_shl:1 */
	{0xff013401, wave_rol, 15, 15, false},     /* wave_rol:1 */
	{0xff093801, wave_shr, 15, 15, true},      /* wave_shr:1 bound_ctrl:1 */
	{0xff013c01, wave_ror, 15, 15, false},     /* wave_ror:1 */
	{0xff014001, mirror, 15, 15, false},       /* row_mirror */
	{0xff014101, half_mirror, 15, 15, false},  /* row_half_mirror */
	{0xff014201, broadcast_15, 15, 15, false}, /* row_bcast:15 */
	{0xcf014301, broadcast_31, 12, 15, false}, /* row_bcast:31 row_mask:0xc */
	{0xff015901, broadcast_9, 15, 15, false},  /* row_newbcast:9 */
	{0x69014001, mirror, 6, 9, false},         /* row_mirror row_mask:0x6 bank_mask:0x9 */
};

static void dpp_moves_lanes(void **state)
{
	struct machine *m = *state;
	u64 seed = 1;

	for (u32 n = 0; n < GP_ARRAY_SIZE(moves) * 2; n++) {
		u32 move = n / 2;
		u64 exec = n % 2 ? 0xf0f3ffff8001fffeull : ~0ull;

		rows_set(m, 2, &seed);
		gp_isa_set_pair(m->wave, GP_ISA_EXEC, exec);
		RUN(m, 0x7e0002fa, moves[move].word);
		for (s32 lane = 0; lane < GP_ISA_LANES; lane++) {
			s32 from = moves[move].from(lane);
			bool on = exec >> lane & 1 && moves[move].rows >> lane / 16 & 1 &&
				  moves[move].banks >> lane % 16 / 4 & 1;
			bool there = from >= 0 && exec >> from & 1;
			u32 wanted = there ? m->wave->v[1][from] : 0;

			if (!on || (!there && !moves[move].zero))
				wanted = OLD;
			if (m->wave->v[0][lane] != wanted)
				fail_msg("%08x, lane %d: %08x, not %08x", moves[move].word, lane,
					 m->wave->v[0][lane], wanted);
		}
	}
}

static void dpp_is_part_of_arithmetic(void **state)
{
	struct machine *m = *state;
	float a[GP_ISA_LANES], b[GP_ISA_LANES];

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		a[lane] = (float)lane - 9.5f;
		b[lane] = (float)lane * 3;
	}
	memcpy(m->wave->v[1], a, sizeof(a));
	memcpy(m->wave->v[2], b, sizeof(b));
	RUN(m, 0x020004fa, 0xff312101); /* v_add_f32_dpp v0, -|v1|, v2 row_ror:1 */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		float read = a[lane / 16 * 16 + (lane + 15) % 16], got;
		float wanted = b[lane] - (read < 0 ? -read : read);

		memcpy(&got, &m->wave->v[0][lane], sizeof(got));
		assert_true(got == wanted);
	}
}

/* v_mov_b32_sdwa v0, v1 with this second word, and what it makes of v1 and v0. */
static void sdwa_selects_and_places(void **state)
{
	struct machine *m = *state;
	u64 seed = 2;
	u32 got[7][GP_ISA_LANES];

	rows_set(m, 3, &seed);
	RUN(m, 0x7e0002f9, 0x00020601, /* dst_sel:DWORD src0_sel:BYTE_2 */
	    0x7e0602f9, 0x000b0601,    /* v3, sext(v1) src0_sel:BYTE_3 */
	    0x7e0802f9, 0x000d0601,    /* v4, sext(v1) src0_sel:WORD_1 */
	    0x7e0a02f9, 0x00000101,    /* v5, dst_sel:BYTE_1 UNUSED_PAD src0_sel:BYTE_0 */
	    0x7e0c02f9, 0x00000901);   /* v6, dst_sel:BYTE_1 UNUSED_SEXT */
	memcpy(got[0], m->wave->v[0], sizeof(got[0]));
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u32 v = m->wave->v[1][lane];

		assert_int_equal(got[0][lane], v / 65536 % 256);
		assert_int_equal((s32)m->wave->v[3][lane], (int8_t)(v >> 24));
		assert_int_equal((s32)m->wave->v[4][lane], (int16_t)(v >> 16));
		assert_int_equal(m->wave->v[5][lane], v % 256 * 256);
		assert_int_equal((s32)m->wave->v[6][lane], (int8_t)v * 256);
		m->wave->v[0][lane] = OLD;
	}
	RUN(m, 0x7e0002f9, 0x00001201); /* dst_sel:BYTE_2 UNUSED_PRESERVE src0_sel:BYTE_0 */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		assert_int_equal(m->wave->v[0][lane],
				 0xab001234 + m->wave->v[1][lane] % 256 * 65536);
	RUN(m, 0x7e0002f9, 0x00041501); /* dst_sel:WORD_1 UNUSED_PRESERVE src0_sel:WORD_0 */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		assert_int_equal(m->wave->v[0][lane], m->wave->v[1][lane] << 16 | 0x1234);
}

static void sdwa_is_part_of_arithmetic(void **state)
{
	struct machine *m = *state;
	u64 seed = 3, wanted = 0;

	rows_set(m, 3, &seed);
	m->wave->s[6] = 0xfedc0000;
	/* v_add_u32_sdwa v0, v1, sext(v2) src0_sel:BYTE_1 src1_sel:WORD_0 */
	RUN(m, 0x680004f9, 0x0c010601);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		assert_int_equal((s32)m->wave->v[0][lane], (s32)(m->wave->v[1][lane] >> 8 & 0xff) +
								   (int16_t)m->wave->v[2][lane]);
	/* v_add_u32_sdwa v0, s6, v2 src0_sel:WORD_1 */
	RUN(m, 0x680004f9, 0x06850606);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		assert_int_equal(m->wave->v[0][lane], m->wave->v[2][lane] + 0xfedc);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		m->wave->v[1][lane] = lane % 3;
		m->wave->v[2][lane] = lane % 2 << 24;
		wanted |= (u64)(lane % 3 == lane % 2) << lane;
		m->wave->v[3][lane] = 0x3c004000; /* 1 and 2 */
		m->wave->v[0][lane] = OLD;
	}
	/* v_cmp_eq_u32_sdwa s[20:21], v1, v2 src0_sel:BYTE_0 src1_sel:BYTE_3 */
	RUN(m, 0x7d9404f9, 0x03009401);
	assert_true(gp_isa_pair(m->wave, 20) == wanted);
	/* v_add_f16_sdwa v0, -v3, v3 dst_sel:WORD_1 UNUSED_PRESERVE src0: WORD_1, src1: WORD_0 */
	RUN(m, 0x3e0006f9, 0x04151503);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		assert_int_equal(m->wave->v[0][lane], 0x3c001234);
}

static u64 wide(const struct machine *m, u32 low, u32 high, u32 lane)
{
	return m->wave->v[low][lane] | (u64)m->wave->v[high][lane] << 32;
}

static void carries_make_sums_of_64_bits(void **state)
{
	struct machine *m = *state;
	u64 seed = 4;

	for (u32 round = 0; round < 20; round++) {
		u64 carry = 0;

		rows_set(m, 6, &seed);
		for (u32 lane = 0; lane < 8; lane++) { /* carries through */
			m->wave->v[4][lane] = ~m->wave->v[5][lane];
			m->wave->v[1][lane] = ~0u;
		}
		RUN(m, 0x32000501, /* v_add_co_u32_e32 v0, vcc, v1, v2 */
		    0x38060b04);   /* v_addc_co_u32_e32 v3, vcc, v4, v5, vcc */
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			u64 a = wide(m, 1, 4, lane), b = wide(m, 2, 5, lane);

			assert_true(wide(m, 0, 3, lane) == a + b);
			carry |= (u64)(a + b < a) << lane;
		}
		assert_true(gp_isa_pair(m->wave, GP_ISA_VCC) == carry);
		RUN(m, 0xd11a1e00, 0x00020501, /* v_sub_co_u32_e64 v0, s[30:31], v1, v2 */
		    0xd11d2003, 0x007a0b04); /* v_subb_co_u32_e64 v3, s[32:33], v4, v5, s[30:31] */
		carry = 0;
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			u64 a = wide(m, 1, 4, lane), b = wide(m, 2, 5, lane);

			assert_true(wide(m, 0, 3, lane) == a - b);
			carry |= (u64)(a < b) << lane;
		}
		assert_true(gp_isa_pair(m->wave, 32) == carry);
		RUN(m, 0x36000302, /* v_subrev_co_u32_e32 v0, vcc, v2, v1 */
		    0x3c060905);   /* v_subbrev_co_u32_e32 v3, vcc, v5, v4, vcc */
		assert_true(gp_isa_pair(m->wave, GP_ISA_VCC) == carry);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			assert_true(wide(m, 0, 3, lane) ==
				    wide(m, 1, 4, lane) - wide(m, 2, 5, lane));
	}
}

static void operations_of_64_bits(void **state)
{
	struct machine *m = *state;
	u64 seed = 5, over = 0;

	rows_set(m, 8, &seed);
	RUN(m, 0xd1e81e00, 0x04120702); /* v_mad_u64_u32 v[0:1], s[30:31], v2, v3, v[4:5] */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u64 product = (u64)m->wave->v[2][lane] * m->wave->v[3][lane];

		assert_true(wide(m, 0, 1, lane) == product + wide(m, 4, 5, lane));
		over |= (u64)(product + wide(m, 4, 5, lane) < product) << lane;
	}
	assert_true(gp_isa_pair(m->wave, 30) == over);
	RUN(m, 0xd1e91e00, 0x04120702); /* v_mad_i64_i32 */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		assert_true(wide(m, 0, 1, lane) ==
			    (u64)((s64)(s32)m->wave->v[2][lane] * (s32)m->wave->v[3][lane]) +
				    wide(m, 4, 5, lane));
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		m->wave->v[2][lane] = lane + (lane & 1 ? 64 : 0);
	RUN(m, 0xd28f0000, 0x00020902); /* v_lshlrev_b64 v[0:1], v2, v[4:5] */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		assert_true(wide(m, 0, 1, lane) == wide(m, 4, 5, lane) << lane);
	RUN(m, 0xd2900000, 0x00020902); /* v_lshrrev_b64 */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		assert_true(wide(m, 0, 1, lane) == wide(m, 4, 5, lane) >> lane);
	RUN(m, 0xd2910000, 0x00020902); /* v_ashrrev_i64 */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		assert_true((s64)wide(m, 0, 1, lane) == (s64)wide(m, 4, 5, lane) >> lane);
}

static void operations_of_gfx942(void **state)
{
	struct machine *m = *state;
	u64 seed = 6;

	rows_set(m, 8, &seed);
	RUN(m, 0x7e007102); /* v_mov_b64_e32 v[0:1], v[2:3] */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		assert_true(wide(m, 0, 1, lane) == wide(m, 2, 3, lane));
		m->wave->v[4][lane] = lane % 5;
	}
	RUN(m, 0xd2080000, 0x041a0902); /* v_lshl_add_u64 v[0:1], v[2:3], v4, v[6:7] */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		assert_true(wide(m, 0, 1, lane) ==
			    (wide(m, 2, 3, lane) << lane % 5) + wide(m, 6, 7, lane));
}

static void lanes_and_scalars(void **state)
{
	struct machine *m = *state;
	u64 seed = 7;

	rows_set(m, 2, &seed);
	m->wave->s[8] = 64 + 5;
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, 0xff0);
	RUN(m, 0x7e0e0501); /* v_readfirstlane_b32 s7, v1 */
	assert_int_equal(m->wave->s[7], m->wave->v[1][4]);
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, 0);
	RUN(m, 0x7e0e0501);
	assert_int_equal(m->wave->s[7], m->wave->v[1][0]);
	RUN(m, 0xd2890007, 0x00017b01); /* v_readlane_b32 s7, v1, 61 */
	assert_int_equal(m->wave->s[7], m->wave->v[1][61]);
	RUN(m, 0xd2890007, 0x00001101); /* v_readlane_b32 s7, v1, s8 */
	assert_int_equal(m->wave->s[7], m->wave->v[1][5]);
	RUN(m, 0xd28a0000, 0x00010e08); /* v_writelane_b32 v0, s8, 7 */
	assert_int_equal(m->wave->v[0][7], 69);
	assert_int_equal(m->wave->v[0][6], OLD);
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, 2);
	m->wave->v[1][1] = 77;
	RUN(m, 0x7e00a301); /* v_swap_b32 v0, v1 */
	assert_int_equal(m->wave->v[0][1], 77);
	assert_int_equal(m->wave->v[1][1], OLD);
	assert_int_equal(m->wave->v[0][2], OLD);
	m->wave->v[256 + 5][1] = 88;
	RUN(m, 0x7e06a505); /* v_accvgpr_mov_b32 a3, a5 */
	assert_int_equal(m->wave->v[256 + 3][1], 88);
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, 0);
	RUN(m, 0x68000501); /* v_add_u32_e32 v0, v1, v2 */
	assert_int_equal(m->wave->v[0][2], OLD);
}

static void conditions_choose_per_lane(void **state)
{
	struct machine *m = *state;
	u64 seed = 8;

	rows_set(m, 3, &seed);
	gp_isa_set_pair(m->wave, 30, 0x123456789abcdef0);
	RUN(m, 0xd1000000, 0x407a0501); /* v_cndmask_b32_e64 v0, v1, -v2, s[30:31] */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		assert_int_equal(m->wave->v[0][lane], 0x123456789abcdef0 >> lane & 1
							      ? m->wave->v[2][lane] ^ 0x80000000
							      : m->wave->v[1][lane]);
}

static void index_mode_moves_registers(void **state)
{
	struct machine *m = *state;
	u64 seed = 9;

	rows_set(m, 12, &seed);
	m->wave->s[8] = 5;
	/* s_set_gpr_idx_on s8, gpr_idx(SRC0); v_mov_b32_e32 v0, v1; s_set_gpr_idx_off */
	RUN(m, 0xbf110108, 0x7e000301, 0xbf9c0000);
	assert_memory_equal(m->wave->v[0], m->wave->v[6], sizeof(m->wave->v[0]));
	/* s_set_gpr_idx_on s8, gpr_idx(DST) */
	RUN(m, 0xbf110808, 0x7e000301, 0xbf9c0000);
	assert_memory_equal(m->wave->v[5], m->wave->v[1], sizeof(m->wave->v[0]));
	RUN(m, 0x7e000301);
	assert_memory_equal(m->wave->v[0], m->wave->v[1], sizeof(m->wave->v[0]));
}

/* Four windows over the first source. */
static void sums_of_differences_slide(void **state)
{
	struct machine *m = *state;
	u64 seed = 10;

	rows_set(m, 12, &seed);
	RUN(m, 0xd1e70000, 0x04220d04); /* v_mqsad_u32_u8 v[0:3], v[4:5], v6, v[8:11] */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		for (u32 n = 0; n < 4; n++) {
			u32 sum = m->wave->v[8 + n][lane];

			for (u32 byte = 0; byte < 4; byte++) {
				s32 a = (u8)(wide(m, 4, 5, lane) >> ((n + byte) * 8));
				s32 b = (u8)(m->wave->v[6][lane] >> (byte * 8));

				sum += b ? (u32)(a > b ? a - b : b - a) : 0;
			}
			assert_int_equal(m->wave->v[n][lane], sum);
		}
}

/* The fields of some encodings name more registers than there are. */
static void operands_that_are_not_there_are_illegal(void **state)
{
	struct machine *m = *state;
	struct gp_isa_group *group = m->wave->group;

	/* v_cmp_lt_u32_e64: scalar register 206, and 127, which begins no pair */
	assert_int_equal(STOP(m, 0xd0c900ce, 0x00020501), GP_ISA_ILLEGAL);
	assert_int_equal(STOP(m, 0xd0c9007f, 0x00020501), GP_ISA_ILLEGAL);
	assert_int_equal(STOP(m, 0x7d9204f9, 0x0606ff01), GP_ISA_ILLEGAL); /* the same, SDWA */
	assert_int_equal(STOP(m, 0xd1197f01, 0x00020501), GP_ISA_ILLEGAL); /* v_add_co_u32_e64 */
	assert_int_equal(STOP(m, 0xd28900c8, 0x00000501), GP_ISA_ILLEGAL); /* v_readlane_b32 */
	assert_int_equal(STOP(m, 0x7f900501), GP_ISA_ILLEGAL);             /* v_readfirstlane_b32 */
	assert_int_equal(STOP(m, 0x7e02a205), GP_ISA_ILLEGAL);             /* v_swap_b32 v1, s5 */
	assert_int_equal(STOP(m, 0x7e02a405), GP_ISA_ILLEGAL); /* v_accvgpr_mov_b32 a1, s5 */
	assert_ptr_equal(m->wave->group, group);
}

#define ON_90A(name) cmocka_unit_test_setup_teardown(name, machine_gfx90a, machine_down)
#define ON_942(name) cmocka_unit_test_setup_teardown(name, machine_gfx942, machine_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_90A(dpp_moves_lanes),
		ON_942(dpp_is_part_of_arithmetic),
		ON_90A(sdwa_selects_and_places),
		ON_942(sdwa_is_part_of_arithmetic),
		ON_90A(carries_make_sums_of_64_bits),
		ON_942(operations_of_64_bits),
		ON_942(operations_of_gfx942),
		ON_90A(lanes_and_scalars),
		ON_90A(operands_that_are_not_there_are_illegal),
		ON_90A(conditions_choose_per_lane),
		ON_942(index_mode_moves_registers),
		ON_90A(sums_of_differences_slide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
