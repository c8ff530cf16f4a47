// SPDX-License-Identifier: MIT
/* DS: loads, stores and what has an address in LDS; atomics are in test_ds_atomics.c. */
#include "transfers.h"

static u32 byte_at(u32 lane, u32 at)
{
	(void)lane;
	return at;
}

/* The operations have an offset of 16; lanes that are off keep an address out of bounds. */
static void address(struct machine *machine, u32 lane, u32 at)
{
	machine->wave->v[0][lane] = at - 16;
}

static struct space lds(struct machine *machine)
{
	return (struct space){
		.memory = machine->lds,
		.memory_bytes = MACHINE_LDS_BYTES,
		.range = 0x4000,
		.byte_at = byte_at,
		.address = address,
	};
}

static void loads_of_every_width(void **state)
{
	static const struct transfer ops[] = {
		{{0xd8740010, 0x02000000 /* ds_read_u8 v2, v0 offset:16 */}, 1, false, WHOLE, 2},
		{{0xd8720010, 0x02000000 /* ds_read_i8 v2, v0 offset:16 */}, 1, true, WHOLE, 2},
		{{0xd8780010, 0x02000000 /* ds_read_u16 v2, v0 offset:16 */}, 2, false, WHOLE, 2},
		{{0xd8760010, 0x02000000 /* ds_read_i16 v2, v0 offset:16 */}, 2, true, WHOLE, 2},
		{{0xd86c0010, 0x02000000 /* ds_read_b32 v2, v0 offset:16 */}, 4, false, WHOLE, 2},
		{{0xd8ec0010, 0x02000000 /* ds_read_b64 v[2:3], v0 offset:16 */},
		 8,
		 false,
		 WHOLE,
		 2},
		{{0xd9fc0010, 0x02000000 /* ds_read_b96 v[2:4], v0 offset:16 */},
		 12,
		 false,
		 WHOLE,
		 2},
		{{0xd9fe0010, 0x02000000 /* ds_read_b128 v[2:5], v0 offset:16 */},
		 16,
		 false,
		 WHOLE,
		 2},
		{{0xd8ac0010, 0x02000000 /* ds_read_u8_d16 v2, v0 offset:16 */}, 1, false, LOW, 2},
		{{0xd8ae0010, 0x02000000 /* ds_read_u8_d16_hi v2, v0 offset:16 */},
		 1,
		 false,
		 HIGH,
		 2},
		{{0xd8b00010, 0x02000000 /* ds_read_i8_d16 v2, v0 offset:16 */}, 1, true, LOW, 2},
		{{0xd8b20010, 0x02000000 /* ds_read_i8_d16_hi v2, v0 offset:16 */},
		 1,
		 true,
		 HIGH,
		 2},
		{{0xd8b40010, 0x02000000 /* ds_read_u16_d16 v2, v0 offset:16 */}, 2, false, LOW, 2},
		{{0xd8b60010, 0x02000000 /* ds_read_u16_d16_hi v2, v0 offset:16 */},
		 2,
		 false,
		 HIGH,
		 2},
		{{0xdbfe0010, 0x04000000 /* ds_read_b128 a[4:7], v0 offset:16 */},
		 16,
		 false,
		 WHOLE,
		 256 + 4},
	};
	struct machine *m = *state;
	struct space space = lds(m);

	loads_check(m, ops, GP_ARRAY_SIZE(ops), &space);
}

static void stores_of_every_width(void **state)
{
	static const struct transfer ops[] = {
		{{0xd83c0010, 0x00000200 /* ds_write_b8 v0, v2 offset:16 */}, 1, false, WHOLE, 2},
		{{0xd83e0010, 0x00000200 /* ds_write_b16 v0, v2 offset:16 */}, 2, false, WHOLE, 2},
		{{0xd81a0010, 0x00000200 /* ds_write_b32 v0, v2 offset:16 */}, 4, false, WHOLE, 2},
		{{0xd89a0010, 0x00000200 /* ds_write_b64 v0, v[2:3] offset:16 */},
		 8,
		 false,
		 WHOLE,
		 2},
		{{0xd9bc0010, 0x00000200 /* ds_write_b96 v0, v[2:4] offset:16 */},
		 12,
		 false,
		 WHOLE,
		 2},
		{{0xd9be0010, 0x00000200 /* ds_write_b128 v0, v[2:5] offset:16 */},
		 16,
		 false,
		 WHOLE,
		 2},
		{{0xd8a80010, 0x00000200 /* ds_write_b8_d16_hi v0, v2 offset:16 */},
		 1,
		 false,
		 HIGH,
		 2},
		{{0xd8aa0010, 0x00000200 /* ds_write_b16_d16_hi v0, v2 offset:16 */},
		 2,
		 false,
		 HIGH,
		 2},
		{{0xda9a0010, 0x00000400 /* ds_write_b64 v0, a[4:5] offset:16 */},
		 8,
		 false,
		 WHOLE,
		 256 + 4},
	};
	struct machine *m = *state;
	struct space space = lds(m);

	stores_check(m, ops, GP_ARRAY_SIZE(ops), &space);
}

static u32 lds_word(struct machine *m, u32 at)
{
	u32 word;

	memcpy(&word, m->lds + at, sizeof(word));
	return word;
}

static void lds_fill(struct machine *m)
{
	for (u32 i = 0; i < MACHINE_LDS_BYTES; i += 4) {
		u32 word = 0x5a000000 + i;

		memcpy(m->lds + i, &word, sizeof(word));
	}
}

static void two_addresses_at_once(void **state)
{
	static const struct {
		u32 read[2], write[2];
		u32 dwords, first, second; /* distances in bytes */
	} ops[] = {
		{{0xd86ec803, 0x02000000 /* ds_read2_b32 v[2:3], v0 offset0:3 offset1:200 */},
		 {0xd81cc803, 0x00060400 /* ds_write2_b32 v0, v4, v6 offset0:3 offset1:200 */},
		 1,
		 12,
		 800},
		{{0xd8700502, 0x02000000 /* ds_read2st64_b32 v[2:3], v0 offset0:2 offset1:5 */},
		 {0xd81e0502, 0x00060400 /* ds_write2st64_b32 v0, v4, v6 offset0:2 offset1:5 */},
		 1,
		 512,
		 1280},
		{{0xd8eec803, 0x02000000 /* ds_read2_b64 v[2:5], v0 offset0:3 offset1:200 */},
		 {0xd89cc803,
		  0x00060400 /* ds_write2_b64 v0, v[4:5], v[6:7] offset0:3 offset1:200 */},
		 2,
		 24,
		 1600},
		{{0xd8f00301, 0x02000000 /* ds_read2st64_b64 v[2:5], v0 offset0:1 offset1:3 */},
		 {0xd89e0301,
		  0x00060400 /* ds_write2st64_b64 v0, v[4:5], v[6:7] offset0:1 offset1:3 */},
		 2,
		 512,
		 1536},
	};
	struct machine *m = *state;
	const u64 lanes = 0xfffffffffffffff0;

	for (size_t n = 0; n < GP_ARRAY_SIZE(ops); n++) {
		u32 dwords = ops[n].dwords;

		lds_fill(m);
		gp_isa_set_pair(m->wave, GP_ISA_EXEC, lanes);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			m->wave->v[0][lane] = (63 - lane) * 8;
			for (u32 row = 2; row < 8; row++)
				m->wave->v[row][lane] = row << 16 | lane;
		}
		machine_run_to_end(m, ops[n].read, 2);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			for (u32 i = 0; i < 2 * dwords; i++) {
				u32 at = (63 - lane) * 8 + 4 * (i % dwords);

				at += i < dwords ? ops[n].first : ops[n].second;
				assert_int_equal(m->wave->v[2 + i][lane],
						 lane < 4 ? (2 + i) << 16 | lane : 0x5a000000 + at);
			}
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			for (u32 row = 2; row < 8; row++)
				m->wave->v[row][lane] = row << 16 | lane;
		machine_run_to_end(m, ops[n].write, 2);
		for (u32 lane = 4; lane < GP_ISA_LANES; lane++)
			for (u32 i = 0; i < dwords; i++) {
				u32 at = (63 - lane) * 8 + 4 * i;

				assert_int_equal(lds_word(m, at + ops[n].first),
						 (4 + i) << 16 | lane);
				assert_int_equal(lds_word(m, at + ops[n].second),
						 (6 + i) << 16 | lane);
			}
	}
}

static void equal_offsets_write_the_first_data(void **state)
{
	struct machine *m = *state;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		m->wave->v[0][lane] = lane * 4;
		m->wave->v[4][lane] = 1;
		m->wave->v[6][lane] = 2;
	}
	RUN(m, 0xd81c0101, 0x00060400 /* ds_write2_b32 v0, v4, v6 offset0:1 offset1:1 */);
	assert_int_equal(lds_word(m, 4), 1);
}

static void beyond_lds_reads_zero_and_writes_nothing(void **state)
{
	struct machine *m = *state;

	lds_fill(m);
	m->group.lds_bytes = 512;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		m->wave->v[0][lane] = lane * 16;
		for (u32 row = 2; row < 6; row++)
			m->wave->v[row][lane] = 7;
	}
	m->wave->v[0][5] = 0xfffffff8; /* wraps to 0 with the offset: in range */
	m->wave->v[0][6] = 0x80000000;
	RUN(m, 0xd9fe0008, 0x02000000 /* ds_read_b128 v[2:5], v0 offset:8 */);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		for (u32 i = 0; i < 4; i++) {
			u32 at = lane == 5 ? 0 : lane * 16 + 8;
			u32 want = lane == 6 || at + 16 > 512 ? 0 : 0x5a000000 + at + 4 * i;

			assert_int_equal(m->wave->v[2 + i][lane], want);
		}
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		m->wave->v[2][lane] = m->wave->v[3][lane] = 7;
	RUN(m, 0xd89a0008, 0x00000200 /* ds_write_b64 v0, v[2:3] offset:8 */);
	assert_int_equal(lds_word(m, 504), 7);
	assert_int_equal(lds_word(m, 508), 7);
	for (u32 at = 512; at < 2048; at += 4)
		assert_int_equal(lds_word(m, at), 0x5a000000 + at);
	RUN(m, 0xd8400008, 0x06000200 /* ds_add_rtn_u32 v6, v0, v2 offset:8 */);
	assert_int_equal(m->wave->v[6][63], 0);
	assert_int_equal(lds_word(m, 63 * 16 + 8), 0x5a000000 + 63 * 16 + 8);
}

static void lanes_have_dwords_of_their_own(void **state)
{
	struct machine *m = *state;

	lds_fill(m);
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, ~1ull);
	m->wave->s[GP_ISA_M0] = 0xabc00100;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		m->wave->v[2][lane] = lane;
	RUN(m, 0xd96c000c, 0x03000000 /* ds_read_addtid_b32 v3 offset:12 */, 0xd83a040c,
	    0x00000200 /* ds_write_addtid_b32 v2 offset:1036 */);
	assert_int_equal(m->wave->v[3][0], 0);
	assert_int_equal(lds_word(m, 0x100 + 1036), 0x5a000000 + 0x100 + 1036);
	for (u32 lane = 1; lane < GP_ISA_LANES; lane++) {
		assert_int_equal(m->wave->v[3][lane], 0x5a000000 + 0x100 + 12 + 4 * lane);
		assert_int_equal(lds_word(m, 0x100 + 1036 + 4 * lane), lane);
	}
}

static void append_and_consume_count_lanes(void **state)
{
	struct machine *m = *state;
	u32 start = 1000;

	memcpy(m->lds + 0x110, &start, sizeof(start));
	m->wave->s[GP_ISA_M0] = 0x100;
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, 0xf0f);
	RUN(m, 0xd97c0010, 0x02000000 /* ds_append v2 offset:16 */, 0xd97c0010,
	    0x03000000 /* ds_append v3 offset:16 */, 0xd97a0010,
	    0x04000000 /* ds_consume v4 offset:16 */);
	assert_int_equal(m->wave->v[2][0], 1000);
	assert_int_equal(m->wave->v[3][11], 1008);
	assert_int_equal(m->wave->v[4][8], 1016);
	assert_int_equal(m->wave->v[4][4], 0);
	assert_int_equal(lds_word(m, 0x110), 1008);
}

static void exchange_of_two_and_of_marked(void **state)
{
	struct machine *m = *state;

	lds_fill(m);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		m->wave->v[0][lane] = lane * 8;
		m->wave->v[2][lane] = lane;
		m->wave->v[3][lane] = lane | (lane % 2 ? 0x80000000 : 0);
		m->wave->v[4][lane] = 100 + lane;
		m->wave->v[5][lane] = 200 + lane;
	}
	RUN(m, 0xd85c8001,
	    0x06040200 /* ds_wrxchg2_rtn_b32 v[6:7], v0, v2, v4 offset0:1 offset1:128 */, 0xd8de0604, 0x08040200 /* ds_wrxchg2st64_rtn_b64 v[8:11], v0, v[2:3], v[4:5] offset0:4 offset1:6 */);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		assert_int_equal(m->wave->v[6][lane], 0x5a000000 + lane * 8 + 4);
		assert_int_equal(m->wave->v[7][lane], 0x5a000000 + lane * 8 + 512);
		assert_int_equal(lds_word(m, lane * 8 + 4), lane);
		assert_int_equal(lds_word(m, lane * 8 + 512), 100 + lane);
		for (u32 i = 0; i < 4; i++)
			assert_int_equal(m->wave->v[8 + i][lane],
					 0x5a000000 + lane * 8 + (i < 2 ? 2048 : 3072) + i % 2 * 4);
		assert_int_equal(lds_word(m, lane * 8 + 2048 + 4), m->wave->v[3][lane]);
		assert_int_equal(lds_word(m, lane * 8 + 3072 + 4), 200 + lane);
	}
	lds_fill(m);
	RUN(m, 0xd85e0804,
	    0x06040200 /* ds_wrxchg2st64_rtn_b32 v[6:7], v0, v2, v4 offset0:4 offset1:8 */,
	    0xd8dc4000, 0x08040200 /* ds_wrxchg2_rtn_b64 v[8:11], v0, v[2:3], v[4:5] offset1:64 */);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		assert_int_equal(m->wave->v[6][lane], 0x5a000000 + lane * 8 + 1024);
		assert_int_equal(m->wave->v[7][lane], 0x5a000000 + lane * 8 + 2048);
		assert_int_equal(lds_word(m, lane * 8 + 1024), lane);
		assert_int_equal(lds_word(m, lane * 8 + 2048), 100 + lane);
		for (u32 i = 0; i < 4; i++)
			assert_int_equal(m->wave->v[8 + i][lane],
					 0x5a000000 + lane * 8 + (i < 2 ? 0 : 512) + i % 2 * 4);
		assert_int_equal(lds_word(m, lane * 8 + 4), m->wave->v[3][lane]);
		assert_int_equal(lds_word(m, lane * 8 + 512), 100 + lane);
	}
	lds_fill(m);
	RUN(m, 0xd8fc1000, 0x06000200 /* ds_condxchg32_rtn_b64 v[6:7], v0, v[2:3] offset:4096 */);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u32 at = 4096 + lane * 8;

		assert_int_equal(m->wave->v[6][lane], 0x5a000000 + at);
		assert_int_equal(m->wave->v[7][lane], 0x5a000000 + at + 4);
		assert_int_equal(lds_word(m, at), 0x5a000000 + at);
		assert_int_equal(lds_word(m, at + 4), lane % 2 ? lane : 0x5a000000 + at + 4);
	}
}

static void gds_and_gws_are_refused_by_name(void **state)
{
	static const struct {
		u32 words[2];
		const char *name;
	} gws[] = {
		{{0xd9330000, 0x00000000 /* ds_gws_init v0 gds */}, "ds_gws_init"},
		{{0xd93b0000, 0x00000000 /* ds_gws_barrier v0 gds */}, "ds_gws_barrier"},
		{{0xd9370000, 0x00000000 /* ds_gws_sema_br v0 gds */}, "ds_gws_sema_br"},
		{{0xd9390000, 0x00000000 /* ds_gws_sema_p gds */}, "ds_gws_sema_p"},
		{{0xd9350000, 0x00000000 /* ds_gws_sema_v gds */}, "ds_gws_sema_v"},
		{{0xd9310000, 0x00000000 /* ds_gws_sema_release_all gds */},
		 "ds_gws_sema_release_all"},
	};
	struct machine *m = *state;
	char name[GP_ISA_NAME];

	assert_int_equal(STOP(m, 0xd8010000,
			      0x00000200 /* ds_add_u32 v0, v2 with the bit of GDS */),
			 GP_ISA_REFUSED);
	gp_isa_describe(&m->runner, m->wave, name);
	assert_string_equal(name, "ds_add_u32");
	for (size_t n = 0; n < GP_ARRAY_SIZE(gws); n++) {
		assert_int_equal(machine_run(m, gws[n].words, 2, 10), GP_ISA_REFUSED);
		gp_isa_describe(&m->runner, m->wave, name);
		assert_string_equal(name, gws[n].name);
		assert_int_equal(m->wave->pc, MACHINE_CODE);
	}
}

static void without_lanes_nothing_happens(void **state)
{
	struct machine *m = *state;

	lds_fill(m);
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, 0);
	m->wave->v[2][0] = 5;
	RUN(m, 0xd8280000, 0x00000000 /* ds_nop */, 0xd97c0000, 0x02000000 /* ds_append v2 */,
	    0xd8400000, 0x02000200 /* ds_add_rtn_u32 v2, v0, v2 */, 0xd81a0000,
	    0x00000200 /* ds_write_b32 v0, v2 */, 0xd87e0000,
	    0x02000200 /* ds_bpermute_b32 v2, v0, v2 */);
	assert_int_equal(m->wave->v[2][0], 5);
	assert_int_equal(lds_word(m, 0), 0x5a000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(loads_of_every_width, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(stores_of_every_width, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(two_addresses_at_once, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(equal_offsets_write_the_first_data, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(beyond_lds_reads_zero_and_writes_nothing,
						machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(lanes_have_dwords_of_their_own, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(append_and_consume_count_lanes, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(exchange_of_two_and_of_marked, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(gds_and_gws_are_refused_by_name, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(without_lanes_nothing_happens, machine_gfx90a,
						machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
