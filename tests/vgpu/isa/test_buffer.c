// SPDX-License-Identifier: MIT
/* MUBUF: addresses, range checks, private memory, LDS. Conversions are in test_buffer_format.c. */
#include "transfers.h"

#define WINDOW      0x4000
#define FORMAT      0x00027fac /* 32 bits, float; components in order */
#define ADD_LANE    (1u << 23)
#define SWIZZLED    (1u << 31)
#define PRIVATE_END 0x00f00000 /* index stride 64, add lane; as drivers make it */

/* The descriptor in s[8:11]. */
static void buffer_put(struct machine *m, u64 base, u32 stride, u32 records, u32 flags, u32 word3)
{
	m->wave->s[8] = (u32)base;
	m->wave->s[9] = (u32)(base >> 32) | stride << 16 | flags;
	m->wave->s[10] = records;
	m->wave->s[11] = word3;
}

static u32 data_byte(u32 lane, u32 at)
{
	(void)lane;
	return at;
}

static u32 private_byte(u32 lane, u32 at)
{
	return at / 4 * 256 + lane * 4 + at % 4;
}

static u32 record_byte(u32 lane, u32 at)
{
	return lane * 48 + at;
}

static void address_raw(struct machine *m, u32 lane, u32 at)
{
	m->wave->s[4] = 0x100;
	m->wave->v[0][lane] = at - 16;
}

static void address_record(struct machine *m, u32 lane, u32 at)
{
	m->wave->s[4] = 0x100;
	m->wave->v[0][lane] = at == 0xfffffff0 ? at : lane;
	m->wave->v[1][lane] = at - 16;
}

static const struct transfer raw_loads[] = {
	{{0xe0401010, 0x04020200 /* buffer_load_ubyte v2, v0, s[8:11], s4 offen offset:16 */},
	 1,
	 false,
	 WHOLE,
	 2},
	{{0xe0441010, 0x04020200 /* buffer_load_sbyte v2, v0, s[8:11], s4 offen offset:16 */},
	 1,
	 true,
	 WHOLE,
	 2},
	{{0xe0481010, 0x04020200 /* buffer_load_ushort v2, v0, s[8:11], s4 offen offset:16 */},
	 2,
	 false,
	 WHOLE,
	 2},
	{{0xe04c1010, 0x04020200 /* buffer_load_sshort v2, v0, s[8:11], s4 offen offset:16 */},
	 2,
	 true,
	 WHOLE,
	 2},
	{{0xe0501010, 0x04020200 /* buffer_load_dword v2, v0, s[8:11], s4 offen offset:16 */},
	 4,
	 false,
	 WHOLE,
	 2},
	{{0xe0541010, 0x04020200 /* buffer_load_dwordx2 v[2:3], v0, s[8:11], s4 offen offset:16 */},
	 8,
	 false,
	 WHOLE,
	 2},
	{{0xe0581010, 0x04020200 /* buffer_load_dwordx3 v[2:4], v0, s[8:11], s4 offen offset:16 */},
	 12,
	 false,
	 WHOLE,
	 2},
	{{0xe05c1010, 0x04020200 /* buffer_load_dwordx4 v[2:5], v0, s[8:11], s4 offen offset:16 */},
	 16,
	 false,
	 WHOLE,
	 2},
	{{0xe0801010, 0x04020200 /* buffer_load_ubyte_d16 v2, v0, s[8:11], s4 offen offset:16 */},
	 1,
	 false,
	 LOW,
	 2},
	{{0xe0841010,
	  0x04020200 /* buffer_load_ubyte_d16_hi v2, v0, s[8:11], s4 offen offset:16 */},
	 1,
	 false,
	 HIGH,
	 2},
	{{0xe0881010, 0x04020200 /* buffer_load_sbyte_d16 v2, v0, s[8:11], s4 offen offset:16 */},
	 1,
	 true,
	 LOW,
	 2},
	{{0xe08c1010,
	  0x04020200 /* buffer_load_sbyte_d16_hi v2, v0, s[8:11], s4 offen offset:16 */},
	 1,
	 true,
	 HIGH,
	 2},
	{{0xe0901010, 0x04020200 /* buffer_load_short_d16 v2, v0, s[8:11], s4 offen offset:16 */},
	 2,
	 false,
	 LOW,
	 2},
	{{0xe0941010,
	  0x04020200 /* buffer_load_short_d16_hi v2, v0, s[8:11], s4 offen offset:16 */},
	 2,
	 false,
	 HIGH,
	 2},
	{{0xe0541010, 0x04820400 /* buffer_load_dwordx2 a[4:5], v0, s[8:11], s4 offen offset:16 */},
	 8,
	 false,
	 WHOLE,
	 256 + 4},
};

static const struct transfer raw_stores[] = {
	{{0xe0601010, 0x04020200 /* buffer_store_byte v2, v0, s[8:11], s4 offen offset:16 */},
	 1,
	 false,
	 WHOLE,
	 2},
	{{0xe0681010, 0x04020200 /* buffer_store_short v2, v0, s[8:11], s4 offen offset:16 */},
	 2,
	 false,
	 WHOLE,
	 2},
	{{0xe0701010, 0x04020200 /* buffer_store_dword v2, v0, s[8:11], s4 offen offset:16 */},
	 4,
	 false,
	 WHOLE,
	 2},
	{{0xe0741010,
	  0x04020200 /* buffer_store_dwordx2 v[2:3], v0, s[8:11], s4 offen offset:16 */},
	 8,
	 false,
	 WHOLE,
	 2},
	{{0xe0781010,
	  0x04020200 /* buffer_store_dwordx3 v[2:4], v0, s[8:11], s4 offen offset:16 */},
	 12,
	 false,
	 WHOLE,
	 2},
	{{0xe07c1010,
	  0x04020200 /* buffer_store_dwordx4 v[2:5], v0, s[8:11], s4 offen offset:16 */},
	 16,
	 false,
	 WHOLE,
	 2},
	{{0xe0641010,
	  0x04020200 /* buffer_store_byte_d16_hi v2, v0, s[8:11], s4 offen offset:16 */},
	 1,
	 false,
	 HIGH,
	 2},
	{{0xe06c1010,
	  0x04020200 /* buffer_store_short_d16_hi v2, v0, s[8:11], s4 offen offset:16 */},
	 2,
	 false,
	 HIGH,
	 2},
	{{0xe0701010, 0x04820400 /* buffer_store_dword a4, v0, s[8:11], s4 offen offset:16 */},
	 4,
	 false,
	 WHOLE,
	 256 + 4},
};

static const struct transfer record_loads[] = {
	{{0xe0403010,
	  0x04020200 /* buffer_load_ubyte v2, v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 1,
	 false,
	 WHOLE,
	 2},
	{{0xe0443010,
	  0x04020200 /* buffer_load_sbyte v2, v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 1,
	 true,
	 WHOLE,
	 2},
	{{0xe0483010,
	  0x04020200 /* buffer_load_ushort v2, v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 2,
	 false,
	 WHOLE,
	 2},
	{{0xe04c3010,
	  0x04020200 /* buffer_load_sshort v2, v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 2,
	 true,
	 WHOLE,
	 2},
	{{0xe0503010,
	  0x04020200 /* buffer_load_dword v2, v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 4,
	 false,
	 WHOLE,
	 2},
	{{0xe0543010,
	  0x04020200 /* buffer_load_dwordx2 v[2:3], v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 8,
	 false,
	 WHOLE,
	 2},
	{{0xe0583010,
	  0x04020200 /* buffer_load_dwordx3 v[2:4], v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 12,
	 false,
	 WHOLE,
	 2},
	{{0xe05c3010,
	  0x04020200 /* buffer_load_dwordx4 v[2:5], v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 16,
	 false,
	 WHOLE,
	 2},
	{{0xe0803010,
	  0x04020200 /* buffer_load_ubyte_d16 v2, v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 1,
	 false,
	 LOW,
	 2},
	{{0xe0843010,
	  0x04020200 /* buffer_load_ubyte_d16_hi v2, v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 1,
	 false,
	 HIGH,
	 2},
	{{0xe0883010,
	  0x04020200 /* buffer_load_sbyte_d16 v2, v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 1,
	 true,
	 LOW,
	 2},
	{{0xe08c3010,
	  0x04020200 /* buffer_load_sbyte_d16_hi v2, v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 1,
	 true,
	 HIGH,
	 2},
	{{0xe0903010,
	  0x04020200 /* buffer_load_short_d16 v2, v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 2,
	 false,
	 LOW,
	 2},
	{{0xe0943010,
	  0x04020200 /* buffer_load_short_d16_hi v2, v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 2,
	 false,
	 HIGH,
	 2},
	{{0xe0543010,
	  0x04820400 /* buffer_load_dwordx2 a[4:5], v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 8,
	 false,
	 WHOLE,
	 256 + 4},
};

static const struct transfer record_stores[] = {
	{{0xe0603010,
	  0x04020200 /* buffer_store_byte v2, v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 1,
	 false,
	 WHOLE,
	 2},
	{{0xe0683010,
	  0x04020200 /* buffer_store_short v2, v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 2,
	 false,
	 WHOLE,
	 2},
	{{0xe0703010,
	  0x04020200 /* buffer_store_dword v2, v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 4,
	 false,
	 WHOLE,
	 2},
	{{0xe0743010,
	  0x04020200 /* buffer_store_dwordx2 v[2:3], v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 8,
	 false,
	 WHOLE,
	 2},
	{{0xe0783010,
	  0x04020200 /* buffer_store_dwordx3 v[2:4], v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 12,
	 false,
	 WHOLE,
	 2},
	{{0xe07c3010,
	  0x04020200 /* buffer_store_dwordx4 v[2:5], v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 16,
	 false,
	 WHOLE,
	 2},
	{{0xe0643010,
	  0x04020200 /* buffer_store_byte_d16_hi v2, v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 1,
	 false,
	 HIGH,
	 2},
	{{0xe06c3010,
	  0x04020200 /* buffer_store_short_d16_hi v2, v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 2,
	 false,
	 HIGH,
	 2},
	{{0xe0703010,
	  0x04820400 /* buffer_store_dword a4, v[0:1], s[8:11], s4 idxen offen offset:16 */},
	 4,
	 false,
	 WHOLE,
	 256 + 4},
};
static void raw_buffer(void **state)
{
	struct machine *m = *state;
	struct space space = {m->data, 2 * WINDOW, WINDOW, data_byte, address_raw};

	buffer_put(m, MACHINE_DATA - 0x100, 0, 2 * WINDOW, 0, FORMAT);
	loads_check(m, raw_loads, GP_ARRAY_SIZE(raw_loads), &space);
	stores_check(m, raw_stores, GP_ARRAY_SIZE(raw_stores), &space);
}

/* Records of 48 bytes, one per lane. */
static void structured_buffer(void **state)
{
	struct machine *m = *state;
	struct space space = {m->data, WINDOW, 48, record_byte, address_record};

	buffer_put(m, MACHINE_DATA - 0x100, 48, 64, 0, FORMAT);
	loads_check(m, record_loads, GP_ARRAY_SIZE(record_loads), &space);
	stores_check(m, record_stores, GP_ARRAY_SIZE(record_stores), &space);
}

/* The buffer that a dispatch hands to code which spills: the memory of scratch and flat. */
static void private_buffer(void **state)
{
	struct machine *m = *state;
	struct space space = {m->scratch, MACHINE_SCRATCH_LANE_BYTES * GP_ISA_LANES,
			      MACHINE_SCRATCH_LANE_BYTES, private_byte, address_raw};

	buffer_put(m, MACHINE_SCRATCH - 0x100, 4, ~0u, SWIZZLED, PRIVATE_END);
	loads_check(m, raw_loads, GP_ARRAY_SIZE(raw_loads), &space);
	stores_check(m, raw_stores, GP_ARRAY_SIZE(raw_stores), &space);
}

static void private_buffer_is_the_memory_of_flat(void **state)
{
	struct machine *m = *state;

	buffer_put(m, MACHINE_SCRATCH, 0, ~0u, SWIZZLED, PRIVATE_END);
	m->wave->s[32] = 5 * 256; /* a stack pointer, which counts for all lanes */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		m->wave->v[0][lane] = 5 * 4 + 12;
		m->wave->v[1][lane] = (u32)(MACHINE_PRIVATE >> 32);
		m->wave->v[2][lane] = 1000 + lane;
	}
	RUN(m, 0xe070000c, 0x20020200 /* buffer_store_dword v2, off, s[8:11], s32 offset:12 */,
	    0xdc500000, 0x03000000 /* flat_load_dword v3, v[0:1] */, 0xdc504000,
	    0x047f0000 /* scratch_load_dword v4, v0, off */);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		assert_int_equal(m->wave->v[3][lane], 1000 + lane);
		assert_int_equal(m->wave->v[4][lane], 1000 + lane);
	}
}

static u32 word_at(const u8 *memory, u32 at)
{
	u32 word;

	memcpy(&word, memory + at, sizeof(word));
	return word;
}

static void words_put(u8 *memory, u32 bytes)
{
	for (u32 i = 0; i < bytes; i += 4) {
		u32 word = 0x5a000000 + i;

		memcpy(memory + i, &word, sizeof(word));
	}
}

/* Bytes are counted, dword by dword; the scalar offset is not. */
static void raw_buffer_ends(void **state)
{
	struct machine *m = *state;

	words_put(m->data, WINDOW);
	buffer_put(m, MACHINE_DATA, 0, 512, 0, FORMAT);
	m->wave->s[4] = 0x1000;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		m->wave->v[0][lane] = lane * 8 + 4;
		for (u32 row = 2; row < 6; row++)
			m->wave->v[row][lane] = row;
	}
	m->wave->v[0][9] = 0x80000000;
	RUN(m, 0xe05c1000, 0x04020200 /* buffer_load_dwordx4 v[2:5], v0, s[8:11], s4 offen */);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		for (u32 i = 0; i < 4; i++) {
			u32 at = lane * 8 + 4 + 4 * i;

			assert_int_equal(m->wave->v[2 + i][lane],
					 lane == 9 || at >= 512 ? 0 : 0x5a001000 + at);
		}
	RUN(m, 0xe07c1000, 0x04020600 /* buffer_store_dwordx4 v[6:9], v0, s[8:11], s4 offen */);
	assert_int_equal(word_at(m->data, 0x1000 + 508), 0);
	assert_int_equal(word_at(m->data, 0x1000 + 512), 0x5a001000 + 512);
	assert_int_equal(word_at(m->data, 0x1000), 0x5a001000);
}

static void structured_buffer_ends(void **state)
{
	struct machine *m = *state;

	words_put(m->data, WINDOW);
	buffer_put(m, MACHINE_DATA, 16, 60, 0, FORMAT);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		m->wave->v[0][lane] = lane;
		m->wave->v[6][lane] = 0;
	}
	RUN(m, 0xe0502008, 0x80020200 /* buffer_load_dword v2, v0, s[8:11], 0 idxen offset:8 */,
	    0xe0702004, 0x80020600 /* buffer_store_dword v6, v0, s[8:11], 0 idxen offset:4 */);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u32 at = lane * 16;

		assert_int_equal(m->wave->v[2][lane], lane < 60 ? 0x5a000000 + at + 8 : 0);
		assert_int_equal(word_at(m->data, at + 4), lane < 60 ? 0 : 0x5a000000 + at + 4);
	}
}

/* Linear, with the lane as index; then 8 records side by side. */
static void lane_as_index_and_swizzle(void **state)
{
	struct machine *m = *state;

	words_put(m->data, WINDOW);
	buffer_put(m, MACHINE_DATA, 12, 0, 0, ADD_LANE);
	RUN(m, 0xe0500004, 0x80020200 /* buffer_load_dword v2, off, s[8:11], 0 offset:4 */);
	words_put(m->data, MACHINE_DATA_BYTES);
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, 0xff);
	buffer_put(m, MACHINE_DATA, 4, 0, 0, ADD_LANE | 1 << 15); /* 14 bits are not enough */
	RUN(m, 0xe0500000, 0x80020300 /* buffer_load_dword v3, off, s[8:11], 0 */);
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, ~0ull);
	buffer_put(m, MACHINE_DATA, 16, 64, SWIZZLED, FORMAT); /* index stride 8 */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		m->wave->v[0][lane] = lane;
	RUN(m, 0xe0542004,
	    0x80020400 /* buffer_load_dwordx2 v[4:5], v0, s[8:11], 0 idxen offset:4 */);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u32 row = lane / 8 * 16 * 8 + lane % 8 * 4;

		assert_int_equal(m->wave->v[2][lane], 0x5a000000 + lane * 12 + 4);
		if (lane < 8)
			assert_int_equal(m->wave->v[3][lane], 0x5a000000 + lane * 0x4004);
		assert_int_equal(m->wave->v[4][lane], 0x5a000000 + row + 1 * 32);
		assert_int_equal(m->wave->v[5][lane], 0x5a000000 + row + 2 * 32);
	}
}

static void unbound_buffer(void **state)
{
	struct machine *m = *state;

	words_put(m->data, WINDOW);
	buffer_put(m, MACHINE_DATA, 0, WINDOW, 0, 0);
	m->wave->v[2][0] = 5;
	RUN(m, 0xe0700000, 0x80020200 /* buffer_store_dword v2, off, s[8:11], 0 */, 0xe0500000,
	    0x80020200 /* buffer_load_dword v2, off, s[8:11], 0 */);
	assert_int_equal(m->wave->v[2][0], 0);
	assert_int_equal(word_at(m->data, 0), 0x5a000000);
}

static void atomics_beyond_the_end_return_zero(void **state)
{
	struct machine *m = *state;

	words_put(m->data, WINDOW);
	buffer_put(m, MACHINE_DATA, 0, 36, 0, FORMAT);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		m->wave->v[0][lane] = lane * 8;
		m->wave->v[2][lane] = 1;
		m->wave->v[3][lane] = 0;
	}
	RUN(m, 0xe1885000, 0x80020200 /* buffer_atomic_add_x2 v[2:3], v0, s[8:11], 0 offen glc */);
	for (u32 lane = 0; lane < 6; lane++) { /* the fifth would reach beyond: not at all */
		assert_int_equal(m->wave->v[2][lane], lane < 4 ? 0x5a000000 + lane * 8 : 0);
		assert_int_equal(word_at(m->data, lane * 8), 0x5a000000 + lane * 8 + (lane < 4));
	}
}

static void lds_from_and_to_a_buffer(void **state)
{
	struct machine *m = *state;

	words_put(m->data, WINDOW);
	buffer_put(m, MACHINE_DATA, 0, 200, 0, FORMAT);
	m->wave->s[GP_ISA_M0] = 0x00010200; /* 16 bits count */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		m->wave->v[0][lane] = lane * 4;
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, ~1ull);
	RUN(m, 0xe0511008, 0x80020000 /* buffer_load_dword v0, s[8:11], 0 offen offset:8 lds */);
	assert_int_equal(word_at(m->lds, 0x208), 0);
	for (u32 lane = 1; lane < GP_ISA_LANES; lane++)
		assert_int_equal(word_at(m->lds, 0x208 + 4 * lane),
				 lane * 4 + 8 < 200 ? 0x5a000000 + lane * 4 + 8 : 0);
	m->data[8 + 4] = 0x99;
	RUN(m, 0xe0451008, 0x80020000 /* buffer_load_sbyte v0, s[8:11], 0 offen offset:8 lds */);
	assert_int_equal(word_at(m->lds, 0x208 + 4), 0xffffff99);
	words_put(m->lds, 0x1000);
	buffer_put(m, MACHINE_DATA, 4, 0, 0, ADD_LANE);
	RUN(m, 0xe0f50010, 0x80020000 /* buffer_store_lds_dword s[8:11], 0 offset:16 lds */);
	assert_int_equal(word_at(m->data, 16), 0x5a000000 + 16); /* lane 0 is off */
	for (u32 lane = 1; lane < GP_ISA_LANES; lane++)
		assert_int_equal(word_at(m->data, 16 + lane * 4), 0x5a000000 + 0x210 + lane * 4);
}

static void caches_do_nothing(void **state)
{
	struct machine *m = *state;

	if (m->runner.gfx == GP_ISA_GFX942)
		RUN(m, 0xe0a0c000, 0x00000000 /* buffer_wbl2 sc0 sc1 */, 0xe0a48000,
		    0x00000000 /* buffer_inv sc1 */);
	else
		RUN(m, 0xe0a00000, 0x00000000 /* buffer_wbl2 */, 0xe0a40000,
		    0x00000000 /* buffer_invl2 */, 0xe0f80000, 0x00000000 /* buffer_wbinvl1 */,
		    0xe0fc0000, 0x00000000 /* buffer_wbinvl1_vol */);
}

static void images_are_refused_by_name(void **state)
{
	struct machine *m = *state;
	char name[GP_ISA_NAME];

	assert_int_equal(STOP(m, 0xf0000f00,
			      0x00010402 /* image_load v[4:7], v2, s[4:11] dmask:0xf */),
			 GP_ISA_REFUSED);
	gp_isa_describe(&m->runner, m->wave, name);
	assert_string_equal(name, "image_load");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(raw_buffer, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(structured_buffer, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(private_buffer, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(private_buffer_is_the_memory_of_flat,
						machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(raw_buffer_ends, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(structured_buffer_ends, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(lane_as_index_and_swizzle, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(unbound_buffer, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(atomics_beyond_the_end_return_zero, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(lds_from_and_to_a_buffer, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(caches_do_nothing, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(caches_do_nothing, machine_gfx942, machine_down),
		cmocka_unit_test_setup_teardown(images_are_refused_by_name, machine_gfx90a,
						machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
