// SPDX-License-Identifier: MIT
/* Operations that have no family: one row of sources and the result that the documents define. */
#include "machine.h"

#define ONE16   0x3c00u
#define TWO16   0x4000u
#define THREE16 0x4200u
#define ONE     0x3f800000u
#define TWO     0x40000000u
#define THREE   0x40400000u

/* Rows v0, v2, v3, v4, v5, v6, v7 before, v0 and v1 after; of v1 only what `wide` says. */
struct check {
	const char *text;
	u32 words[2], count;
	u32 before, source[6], result, upper;
	bool wide;
};

/* clang-format off */
static const struct check checks[] = {
	{"v_cubeid_f32 v0, v2, v4, v6", {0xd1c40000, 0x041a0902}, 2, 0, {ONE, 0, TWO, 0, 0xc0400000}, 0x40a00000, 0, false},
	{"v_cubeid_f32 v0, v2, v4, v6", {0xd1c40000, 0x041a0902}, 2, 0, {ONE, 0, 0xc0000000, 0, ONE}, THREE, 0, false},
	{"v_cubesc_f32 v0, v2, v4, v6", {0xd1c50000, 0x041a0902}, 2, 0, {ONE, 0, TWO, 0, 0xc0400000}, 0xbf800000, 0, false},
	{"v_cubetc_f32 v0, v2, v4, v6", {0xd1c60000, 0x041a0902}, 2, 0, {ONE, 0, TWO, 0, 0xc0400000}, 0xc0000000, 0, false},
	{"v_cubema_f32 v0, v2, v4, v6", {0xd1c70000, 0x041a0902}, 2, 0, {ONE, 0, TWO, 0, 0xc0400000}, 0xc0c00000, 0, false},
	/* The first 53 bits of 2 / pi, and the next. */
	{"v_trig_preop_f64 v[0:1], v[2:3], v4", {0xd2920000, 0x00020902}, 2, 0, {0, 0x3ff00000, 0}, 0x6dc9c882, 0x3fe45f30, true},
	{"v_trig_preop_f64 v[0:1], v[2:3], v4", {0xd2920000, 0x00020902}, 2, 0, {0, 0x3ff00000, 1}, 0x9d5f47d4, 0x3c94a7f0, true},
	/* Sums of the bytes from 0, 1, 2 and 3 on: 9, 13, 17 and 21, to which v[6:7] is added without carry. */
	{"v_qsad_pk_u16_u8 v[0:1], v[2:3], v4, v[6:7]", {0xd1e50000, 0x041a0902}, 2, 0, {0x04030201, 0x08070605, 0x00000001, 0, 0x00010000, 0xffff0000}, 0x000e0009, 0x00140011, true},
	{"v_mqsad_pk_u16_u8 v[0:1], v[2:3], v4, v[6:7]", {0xd1e60000, 0x041a0902}, 2, 0, {0x04030201, 0x08070605, 0x00000001, 0, 0x00010000, 0xffff0000}, 0x00020000, 0x00020002, true},
	{"v_cvt_pkaccum_u8_f32 v0, v2, v4", {0xd1f00000, 0x00020902}, 2, 0x11223344, {0x42c80000, 0, 1}, 0x11226444, 0, false},
	{"v_min3_f16 v0, v2, v4, v6", {0xd1f40000, 0x041a0902}, 2, 0x55550000, {TWO16, 0, 0xbc00, 0, THREE16}, 0x5555bc00, 0, false},
	{"v_max3_f16 v0, v2, v4, v6", {0xd1f70000, 0x041a0902}, 2, 0x55550000, {TWO16, 0, 0xbc00, 0, THREE16}, 0x55554200, 0, false},
	{"v_med3_f16 v0, v2, v4, v6", {0xd1fa0000, 0x041a0902}, 2, 0x55550000, {TWO16, 0, 0xbc00, 0, THREE16}, 0x55554000, 0, false},
	{"v_cvt_pknorm_i16_f16 v0, v2, v4", {0xd2990000, 0x00020902}, 2, 0, {ONE16, 0, 0xbc00}, 0x80017fff, 0, false},
	{"v_cvt_pknorm_u16_f16 v0, v2, v4", {0xd29a0000, 0x00020902}, 2, 0, {ONE16, 0, 0x3800}, 0x8000ffff, 0, false},
	{"v_max_f64 v[0:1], v[2:3], v[4:5]", {0xd2830000, 0x00020902}, 2, 0, {7, 0x3ff00000, 9, 0xc0000000}, 7, 0x3ff00000, true},
	{"v_div_fixup_legacy_f16 v0, v2, v4, v6", {0xd1ef0000, 0x041a0902}, 2, 0x55550000, {ONE16, 0, 0x8000, 0, TWO16}, 0xfc00, 0, false},
	{"v_sqrt_f16_e32 v0, v2", {0x7e007d02}, 1, 0, {0x4880}, THREE16, 0, false},
	{"v_rsq_f16_e32 v0, v2", {0x7e007f02}, 1, 0, {0x4400}, 0x3800, 0, false},
	{"v_log_f16_e32 v0, v2", {0x7e008102}, 1, 0, {0x4800}, THREE16, 0, false},
	{"v_sin_f16_e32 v0, v2", {0x7e009302}, 1, 0, {0x3a00}, 0xbc00, 0, false},
	{"v_cos_f16_e32 v0, v2", {0x7e009502}, 1, 0, {0x3800}, 0xbc00, 0, false},
	{"v_exp_legacy_f32_e32 v0, v2", {0x7e009702}, 1, 0, {TWO}, 0x40800000, 0, false},
	{"v_log_legacy_f32_e32 v0, v2", {0x7e009902}, 1, 0, {TWO}, ONE, 0, false},
	{"v_rcp_iflag_f32_e32 v0, v2", {0x7e004702}, 1, 0, {TWO}, 0x3f000000, 0, false},
	{"v_fract_f16_e32 v0, v2", {0x7e009102}, 1, 0, {0xbe00}, 0x3800, 0, false},
	{"v_fract_f16_e32 v0, v2", {0x7e009102}, 1, 0, {0x8001}, 0x3bff, 0, false},
	{"v_fract_f64_e32 v[0:1], v[2:3]", {0x7e006502}, 1, 0, {0, 0xbff40000}, 0, 0x3fe80000, true},
	{"v_cvt_norm_i16_f16_e32 v0, v2", {0x7e009b02}, 1, 0, {0xbc00}, 0x8001, 0, false},
	{"v_cvt_norm_u16_f16_e32 v0, v2", {0x7e009d02}, 1, 0, {ONE16}, 0xffff, 0, false},
	{"v_rcp_f64_e32 v[0:1], v[2:3]", {0x7e004b02}, 1, 0, {0, 0x40100000}, 0, 0x3fd00000, true},
	{"v_rsq_f64_e32 v[0:1], v[2:3]", {0x7e004d02}, 1, 0, {0, 0x40100000}, 0, 0x3fe00000, true},
	{"v_frexp_mant_f64_e32 v[0:1], v[2:3]", {0x7e006302}, 1, 0, {3, 0}, 0, 0x3fe80000, true},
	{"v_nop", {0x7e000000}, 1, 5, {0}, 5, 0, false},
	{"v_clrexcp", {0x7e006a00}, 1, 5, {0}, 5, 0, false},
	{"v_dot2c_f32_f16_e32 v0, v2, v4", {0x6e000902}, 1, ONE, {TWO16 << 16 | THREE16, 0, THREE16 << 16 | ONE16}, 0x41200000, 0, false},
	{"v_madmk_f16 v0, v2, 0x4200, v4", {0x48000902, 0x00004200}, 2, 0x55550000, {TWO16, 0, ONE16}, 0x55554700, 0, false},
	{"v_madak_f16 v0, v2, v4, 0x4200", {0x4a000902, 0x00004200}, 2, 0x55550000, {TWO16, 0, ONE16}, 0x55554500, 0, false},
	{"v_mac_f16_e32 v0, v2, v4", {0x46000902}, 1, 0x55550000 | ONE16, {TWO16, 0, THREE16}, 0x55554700, 0, false},
	{"v_pk_fmac_f16 v0, v2, v4", {0x78000902}, 1, ONE16 << 16 | TWO16, {TWO16 << 16 | THREE16, 0, THREE16 << 16 | ONE16}, 0x47004500, 0, false},
	/* v_madmk_f32 and v_madak_f32 on gfx90a, v_fmamk_f32 and v_fmaak_f32 on gfx942 */
	{"v0, v2, 0x40400000, v4", {0x2e000902, 0x40400000}, 2, 0, {TWO, 0, ONE}, 0x40e00000, 0, false},
	{"v0, v2, v4, 0x40400000", {0x30000902, 0x40400000}, 2, 0, {TWO, 0, ONE}, 0x40a00000, 0, false},
};

static const struct check checks_gfx942[] = {
	{"v_cvt_pk_f32_fp8_e32 v[0:1], v2", {0x7e00ad02}, 1, 0, {0xffff4840}, ONE, TWO, true},
	{"v_cvt_pk_f32_bf8_e32 v[0:1], v2", {0x7e00af02}, 1, 0, {0xffff4440}, ONE, TWO, true},
	{"v_cvt_sr_bf8_f32 v0, v2, v4", {0xd2a50000, 0x00020902}, 2, 0x11223344, {ONE, 0, 0xffffffff}, 0x11223340, 0, false},
	/* Fused: the product of 1 + 2^-23 and 3 is not rounded before -3 is added. */
	{"v_fmaak_f32 v0, v2, v4, 0xc0400000", {0x30000902, 0xc0400000}, 2, 0, {0x3f800001, 0, THREE}, 0x34c00000, 0, false},
};
/* clang-format on */

static void run(struct machine *m, const struct check *list, size_t count)
{
	u32 wrong = 0;

	m->wave->mode = GP_ISA_MODE_DENORM_32 | GP_ISA_MODE_DENORM_64 | GP_ISA_MODE_IEEE;
	for (size_t n = 0; n < count; n++) {
		const struct check *check = &list[n];

		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			m->wave->v[0][lane] = check->before;
			for (u32 row = 0; row < GP_ARRAY_SIZE(check->source); row++)
				m->wave->v[2 + row][lane] = check->source[row];
		}
		machine_run_to_end(m, check->words, check->count);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			u32 low = m->wave->v[0][lane], high = m->wave->v[1][lane];

			if (low == check->result && (!check->wide || high == check->upper))
				continue;
			print_message("%s: %08x %08x, not %08x %08x\n", check->text, high, low,
				      check->upper, check->result);
			wrong++;
			break;
		}
	}
	assert_int_equal(wrong, 0);
}

static void operations_give_what_the_documents_define(void **state)
{
	run(*state, checks, GP_ARRAY_SIZE(checks));
}

static void operations_of_gfx942_do(void **state)
{
	run(*state, checks_gfx942, GP_ARRAY_SIZE(checks_gfx942));
}

/* v_clrexcp clears what TRAPSTS has of floating point. */
static void exceptions_are_cleared(void **state)
{
	struct machine *m = *state;

	m->wave->trapsts = 0x3ff;
	RUN(m, 0x7e006a00);
	assert_int_equal(m->wave->trapsts, 0x200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(operations_give_what_the_documents_define,
						machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(operations_give_what_the_documents_define,
						machine_gfx942, machine_down),
		cmocka_unit_test_setup_teardown(operations_of_gfx942_do, machine_gfx942,
						machine_down),
		cmocka_unit_test_setup_teardown(exceptions_are_cleared, machine_gfx90a,
						machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
