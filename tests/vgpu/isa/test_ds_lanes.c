// SPDX-License-Identifier: MIT
/* DS operations that move data between lanes. */
#include "machine.h"

/* v2 is 0x100 + lane; the swizzles give v3. */
static void lanes_number(struct machine *m, u64 lanes)
{
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, lanes);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		m->wave->v[2][lane] = 0x100 + lane;
		m->wave->v[3][lane] = 7;
	}
}

/* `from` is the lane of 32 that each lane reads. */
static void swizzle_check(struct machine *m, const u32 words[2], const u8 from[32])
{
	const u64 masks[] = {~0ull, 0x0ff0f0f0aaaa5555};

	for (size_t n = 0; n < GP_ARRAY_SIZE(masks); n++) {
		lanes_number(m, masks[n]);
		machine_run_to_end(m, words, 2);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			u32 source = from[lane % 32] + lane / 32 * 32;
			u32 want = masks[n] >> source & 1 ? 0x100 + source : 0;

			assert_int_equal(m->wave->v[3][lane], masks[n] >> lane & 1 ? want : 7);
		}
	}
}

/* The sequences are those of the ISA document, which counts lanes from 1. */
static void swizzle_for_fft(void **state)
{
	static const u8 all[32] = {0x01, 0x11, 0x09, 0x19, 0x05, 0x15, 0x0d, 0x1d, 0x03, 0x13, 0x0b,
				   0x1b, 0x07, 0x17, 0x0f, 0x1f, 0x02, 0x12, 0x0a, 0x1a, 0x06, 0x16,
				   0x0e, 0x1e, 0x04, 0x14, 0x0c, 0x1c, 0x08, 0x18, 0x10, 0x20};
	static const u8 half[32] = {0x01, 0x09, 0x05, 0x0d, 0x03, 0x0b, 0x07, 0x0f,
				    0x02, 0x0a, 0x06, 0x0e, 0x04, 0x0c, 0x08, 0x10,
				    0x11, 0x19, 0x15, 0x1d, 0x13, 0x1b, 0x17, 0x1f,
				    0x12, 0x1a, 0x16, 0x1e, 0x14, 0x1c, 0x18, 0x20};
	u8 a[32], b[32], none[32];

	for (u32 lane = 0; lane < 32; lane++) {
		a[lane] = (u8)(all[lane] - 1);
		b[lane] = (u8)(half[lane] - 1);
		none[lane] = (u8)lane;
	}
	swizzle_check(*state,
		      (const u32[]){0xd87ae000,
				    0x03000002 /* ds_swizzle_b32 v3, v2 offset:0xe000 */},
		      a);
	swizzle_check(*state,
		      (const u32[]){0xd87ae010,
				    0x03000002 /* ds_swizzle_b32 v3, v2 offset:0xe010 */},
		      b);
	swizzle_check(*state,
		      (const u32[]){0xd87ae01f,
				    0x03000002 /* ds_swizzle_b32 v3, v2 offset:0xe01f */},
		      none);
}

static void swizzle_that_rotates(void **state)
{
	u8 left[32], right[32], odd_left[32], odd_right[32];

	for (u32 lane = 0; lane < 32; lane++) {
		left[lane] = (u8)((lane + 1) % 32);
		right[lane] = (u8)((lane + 31) % 32);
		odd_left[lane] = (u8)(lane % 2 ? (lane + 2) % 32 : lane);
		odd_right[lane] = (u8)(lane % 2 ? lane : (lane + 30) % 32);
	}
	swizzle_check(*state,
		      (const u32[]){0xd87ac020,
				    0x03000002 /* ds_swizzle_b32 v3, v2 offset:0xc020 */},
		      left);
	swizzle_check(*state,
		      (const u32[]){0xd87ac420,
				    0x03000002 /* ds_swizzle_b32 v3, v2 offset:0xc420 */},
		      right);
	swizzle_check(*state,
		      (const u32[]){0xd87ac021,
				    0x03000002 /* ds_swizzle_b32 v3, v2 offset:0xc021 */},
		      odd_left);
	swizzle_check(*state,
		      (const u32[]){0xd87ac421,
				    0x03000002 /* ds_swizzle_b32 v3, v2 offset:0xc421 */},
		      odd_right);
}

static void swizzle_of_quads_and_by_masks(void **state)
{
	u8 quads[32], swapped[32], first[32], reversed[32];

	for (u32 lane = 0; lane < 32; lane++) {
		quads[lane] = (u8)(lane / 4 * 4 + (const u8[]){3, 0, 0, 2}[lane % 4]);
		swapped[lane] = (u8)(lane ^ 16);
		first[lane] = (u8)(lane / 8 * 8 + 5);
		reversed[lane] = (u8)(31 - lane);
	}
	swizzle_check(*state, (const u32[]){0xd87a8083, 0x03000002 /* ds_swizzle_b32 v3, v2 offset:swizzle(QUAD_PERM, 3, 0, 0, 2) */}, quads);
	swizzle_check(
		*state,
		(const u32[]){0xd87a401f,
			      0x03000002 /* ds_swizzle_b32 v3, v2 offset:swizzle(SWAP, 16) */},
		swapped);
	swizzle_check(
		*state,
		(const u32[]){
			0xd87a00b8,
			0x03000002 /* ds_swizzle_b32 v3, v2 offset:swizzle(BROADCAST, 8, 5) */},
		first);
	swizzle_check(
		*state,
		(const u32[]){0xd87a7c1f,
			      0x03000002 /* ds_swizzle_b32 v3, v2 offset:swizzle(REVERSE, 32) */},
		reversed);
}

static void permute_sends_and_bpermute_fetches(void **state)
{
	const u64 masks[] = {~0ull, 0x0ff0f0f0aaaa5555};
	struct machine *m = *state;

	for (size_t n = 0; n < GP_ARRAY_SIZE(masks); n++) {
		u32 sent[GP_ISA_LANES] = {0};

		lanes_number(m, masks[n]);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			/* All but the low bits of the lane count; several lanes meet. */
			m->wave->v[0][lane] = lane * lane * 4 + 0x100 * lane + 2;
			m->wave->v[4][lane] = 7;
			if (masks[n] >> lane & 1)
				sent[(lane * lane + 1) % 64] = 0x100 + lane;
		}
		RUN(m, 0xd87c0004, 0x03000200 /* ds_permute_b32 v3, v0, v2 offset:4 */, 0xd87e0004,
		    0x04000200 /* ds_bpermute_b32 v4, v0, v2 offset:4 */);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			u32 from = (lane * lane + 1) % 64;
			u32 want = masks[n] >> from & 1 ? 0x100 + from : 0;
			bool on = masks[n] >> lane & 1;

			assert_int_equal(m->wave->v[3][lane], on ? sent[lane] : 7);
			assert_int_equal(m->wave->v[4][lane], on ? want : 7);
		}
	}
}

/* A semaphore of two: the third wave waits until one is given back. */
static void semaphore_of_all_groups_counts(void **state)
{
	struct machine *m = *state;
	u64 gws[GP_ISA_GWS] = {0};

	m->host.gws = gws;
	m->wave->v[4][0] = 2;
	RUN(m, 0xd9330002, 0x00000004); /* ds_gws_init v4 offset:2 gds */
	RUN(m, 0xd9390002, 0x00000000); /* ds_gws_sema_p offset:2 gds */
	RUN(m, 0xd9390002, 0x00000000);
	assert_int_equal(STOP(m, 0xd9390002, 0x00000000), GP_ISA_WAITS);
	assert_int_equal(m->wave->pc, MACHINE_CODE);
	RUN(m, 0xd9350002, 0x00000000); /* ds_gws_sema_v offset:2 gds */
	RUN(m, 0xd9390002, 0x00000000);
	RUN(m, 0xd9370002, 0x00000004); /* ds_gws_sema_br v4 offset:2 gds */
	assert_int_equal(gws[2], 2);
	m->wave->s[GP_ISA_M0] = 5u << 16; /* moves the number */
	RUN(m, 0xd9330002, 0x00000004);
	assert_int_equal(gws[7], 2);
	assert_int_equal(STOP(m, 0xd93b0002, 0x00000004), GP_ISA_WAITS); /* ds_gws_barrier v4 */
	assert_int_equal(gws[7], 1);
	assert_int_equal(gp_isa_run(&m->runner, m->wave, 1), GP_ISA_WAITS); /* arrives once */
	assert_int_equal(gws[7], 1);
	gws[7] = 1ull << 32; /* others came */
	assert_int_equal(gp_isa_run(&m->runner, m->wave, 9), GP_ISA_ENDED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(swizzle_for_fft, machine_gfx942, machine_down),
		cmocka_unit_test_setup_teardown(swizzle_that_rotates, machine_gfx942, machine_down),
		cmocka_unit_test_setup_teardown(swizzle_of_quads_and_by_masks, machine_gfx942,
						machine_down),
		cmocka_unit_test_setup_teardown(permute_sends_and_bpermute_fetches, machine_gfx942,
						machine_down),
		cmocka_unit_test_setup_teardown(semaphore_of_all_groups_counts, machine_gfx90a,
						machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
