// SPDX-License-Identifier: MIT
/* SMEM: scalar loads, stores, atomics and clocks. */
#include "machine.h"

#define AT 0x100u /* in machine->data */

/* s[2:3]: an address; s[40:43]: a buffer that starts there and has 0x28 bytes. */
static void operands_set(struct machine *m)
{
	u64 base = MACHINE_DATA + AT;

	for (u32 i = 0; i < MACHINE_DATA_BYTES / sizeof(u32); i++)
		((u32 *)m->data)[i] = 0x1000 + i;
	memset(m->wave->s, 0x5a, 100 * sizeof(u32));
	gp_isa_set_pair(m->wave, 2, base);
	gp_isa_set_pair(m->wave, 40, base);
	m->wave->s[42] = 0x28;
	m->wave->s[43] = 0;
}

static u32 word_at(struct machine *m, s32 bytes)
{
	return *(u32 *)(m->data + AT + bytes);
}

static void loads_fill_as_many_registers_as_they_say(void **state)
{
	struct machine *m = *state;
	const u32 words[] = {0xc0020401, 0xc0060401, 0xc00a0401, 0xc00e0401, 0xc0120401};

	for (u32 i = 0; i < GP_ARRAY_SIZE(words); i++) {
		operands_set(m);
		RUN(m, words[i], 0x10); /* s_load_dword s16, s[2:3], 0x10; x2; x4; x8; x16 */
		for (u32 n = 0; n < 20; n++)
			assert_int_equal(m->wave->s[16 + n],
					 n < 1u << i ? 0x1000 + (AT + 0x10) / 4 + n : 0x5a5a5a5a);
	}
}

static void offsets_are_added(void **state)
{
	struct machine *m = *state;

	operands_set(m);
	m->wave->s[7] = 0x20;
	m->wave->s[GP_ISA_M0] = 0x31;
	RUN(m, 0xc0020401, 0x001ffffc); /* s_load_dword s16, s[2:3], -0x4 */
	assert_int_equal(m->wave->s[16], word_at(m, -4));
	RUN(m, 0xc0000401, 0x7); /* s_load_dword s16, s[2:3], s7 */
	assert_int_equal(m->wave->s[16], word_at(m, 0x20));
	RUN(m, 0xc0024401, 0x0e000012); /* s_load_dword s16, s[2:3], s7 offset:0x12 */
	assert_int_equal(m->wave->s[16], word_at(m, 0x30));
	RUN(m, 0xc0000401, 0x7c); /* s_load_dword s16, s[2:3], m0 */
	assert_int_equal(m->wave->s[16], word_at(m, 0x30));
}

static void base_may_be_overwritten(void **state)
{
	struct machine *m = *state;

	operands_set(m);
	RUN(m, 0xc0060081, 0x8); /* s_load_dwordx2 s[2:3], s[2:3], 0x8 */
	assert_int_equal(m->wave->s[2], word_at(m, 8));
	assert_int_equal(m->wave->s[3], word_at(m, 12));
}

static void buffers_end(void **state)
{
	struct machine *m = *state;
	const u32 words[] = {0xc0220414, 0xc0260414, 0xc02a0414, 0xc02e0414, 0xc0320414};

	for (u32 i = 0; i < GP_ARRAY_SIZE(words); i++) {
		operands_set(m);
		RUN(m, words[i],
		    0x10); /* s_buffer_load_dword s16, s[40:43], 0x10; x2; x4; x8; x16 */
		for (u32 n = 0; n < 1u << i; n++)
			assert_int_equal(m->wave->s[16 + n],
					 n < 6 ? word_at(m, (s32)(0x10 + 4 * n)) : 0);
	}
	/* With a stride the size is in records. */
	m->wave->s[41] |= 4 << 16;
	m->wave->s[42] = 5;
	RUN(m, 0xc02a0414, 0x10); /* s_buffer_load_dwordx4 s[16:19], s[40:43], 0x10 */
	assert_int_equal(m->wave->s[16], word_at(m, 0x10));
	assert_int_equal(m->wave->s[17], 0);
}

static void stores_write_memory(void **state)
{
	struct machine *m = *state;
	const u32 words[] = {0xc0420401, 0xc0460401, 0xc04a0401};
	const u32 buffers[] = {0xc0620414, 0xc0660414, 0xc06a0414};

	for (u32 i = 0; i < GP_ARRAY_SIZE(words); i++) {
		operands_set(m);
		RUN(m, words[i], 0x10); /* s_store_dword s16, s[2:3], 0x10; x2; x4 */
		for (u32 n = 0; n < 5; n++)
			assert_int_equal(word_at(m, (s32)(0x10 + 4 * n)),
					 n < 1u << i ? 0x5a5a5a5a : 0x1000 + (AT + 0x10) / 4 + n);
		operands_set(m);
		m->wave->s[42] = 0x18;
		RUN(m, buffers[i], 0x10); /* s_buffer_store_dword s16, s[40:43], 0x10; x2; x4 */
		for (u32 n = 0; n < 5; n++)
			assert_int_equal(word_at(m, (s32)(0x10 + 4 * n)),
					 n < GP_MIN(1u << i, 2u) ? 0x5a5a5a5a
								 : 0x1000 + (AT + 0x10) / 4 + n);
	}
}

static void fault_changes_no_register(void **state)
{
	struct machine *m = *state;

	operands_set(m);
	gp_isa_set_pair(m->wave, 2, MACHINE_DATA + MACHINE_DATA_BYTES - 0x18);
	assert_int_equal(STOP(m, 0xc00a0401, 0x10),
			 GP_ISA_FAULT); /* s_load_dwordx4 s[16:19], s[2:3] */
	assert_int_equal(m->wave->fault, MACHINE_DATA + MACHINE_DATA_BYTES);
	assert_int_equal(m->wave->pc, MACHINE_CODE);
	assert_int_equal(m->wave->executed, 0);
	assert_int_equal(m->wave->s[16], 0x5a5a5a5a);
	gp_isa_set_pair(m->wave, 2, MACHINE_CONST);
	assert_int_equal(STOP(m, 0xc0420401, 0x10),
			 GP_ISA_FAULT); /* s_store_dword s16, s[2:3], 0x10 */
	assert_int_equal(STOP(m, 0xc20b0401, 0x10), GP_ISA_FAULT); /* s_atomic_add s16, ... glc */
	assert_int_equal(m->wave->fault, MACHINE_CONST + 0x10);
	assert_int_equal(m->wave->s[16], 0x5a5a5a5a);
	RUN(m, 0xc0020401, 0x10); /* s_load_dword s16, s[2:3], 0x10 */
	assert_int_equal(m->wave->s[16], 0);
}

static u64 expected(u32 operation, u64 old, u64 data, u64 compare, bool wide)
{
	s64 sold = wide ? (s64)old : (s32)old, sdata = wide ? (s64)data : (s32)data;
	const u64 results[] = {
		data,
		old == compare ? data : old,
		old + data,
		old - data,
		sold < sdata ? old : data,
		old < data ? old : data,
		sold > sdata ? old : data,
		old > data ? old : data,
		old & data,
		old | data,
		old ^ data,
		old >= data ? 0 : old + 1,
		old == 0 || old > data ? data : old - 1,
	};

	return wide ? results[operation] : (u32)results[operation];
}

/* s_atomic_swap s16, s[2:3], 0x10 glc and the twelve that follow it, of 32 and 64 bits, on
 * addresses and buffers. */
static void atomics_return_the_old_value(void **state)
{
	struct machine *m = *state;
	const u64 values[] = {0,    1, 7, 0x7fffffff, 0x80000000, 0xffffffff, 0x8000000000000000,
			      ~0ull};

	for (u32 i = 0; i < 13 * 4 * 64; i++) {
		u32 operation = i % 13, form = i / 13 % 4, pick = i / 52;
		bool wide = form & 1, buffer = form & 2;
		u64 mask = wide ? ~0ull : 0xffffffff;
		u64 old = values[pick % 8] & mask, data = values[pick / 8] & mask;
		u64 compare = (pick & 1 ? old : old + 1) & mask, result = 0;
		u32 opcode = (buffer ? 0x40 : 0x80) + (wide ? 0x20 : 0) + operation;

		operands_set(m);
		memcpy(m->data + AT + 0x10, &old, wide ? 8 : 4);
		memcpy(&m->wave->s[16], &data, wide ? 8 : 4);
		memcpy(&m->wave->s[wide ? 18 : 17], &compare, wide ? 8 : 4);
		RUN(m, 0xc0030400 | opcode << 18 | (buffer ? 0x14 : 1), 0x10);
		memcpy(&result, m->data + AT + 0x10, wide ? 8 : 4);
		assert_int_equal(result, expected(operation, old, data, compare, wide));
		assert_memory_equal(&m->wave->s[16], &old, wide ? 8 : 4);
	}
	operands_set(m);
	RUN(m, 0xc20a0401, 0x10); /* s_atomic_add s16, s[2:3], 0x10 */
	assert_int_equal(m->wave->s[16], 0x5a5a5a5a);
	m->wave->s[42] = 0x10;
	RUN(m, 0xc10b0414, 0x10); /* s_buffer_atomic_add s16, s[40:43], 0x10 glc: beyond its end */
	assert_int_equal(m->wave->s[16], 0);
}

static void clocks_are_the_hosts(void **state)
{
	struct machine *m = *state;

	m->clock = 0x123456789abcdef0;
	m->clock_real = 0xfedcba9876543210;
	RUN(m, 0xc0900400, 0); /* s_memtime s[16:17] */
	assert_int_equal(gp_isa_pair(m->wave, 16), 0x123456789abcdef0);
	RUN(m, 0xc0940400, 0); /* s_memrealtime s[16:17] */
	assert_int_equal(gp_isa_pair(m->wave, 16), 0xfedcba9876543210);
}

static void caches_are_not_there(void **state)
{
	struct machine *m = *state;
	u32 before[GP_ISA_SCALARS];

	operands_set(m);
	memcpy(before, m->wave->s, sizeof(before));
	RUN(m, 0xc0800000, 0,  /* s_dcache_inv */
	    0xc0840000, 0,     /* s_dcache_wb */
	    0xc0880000, 0,     /* s_dcache_inv_vol */
	    0xc08c0000, 0,     /* s_dcache_wb_vol */
	    0xc09a0041, 0x10,  /* s_atc_probe 1, s[2:3], 0x10 */
	    0xc09e0054, 0x10,  /* s_atc_probe_buffer 1, s[40:43], 0x10 */
	    0xc0a20001, 0x10,  /* s_dcache_discard s[2:3], 0x10 */
	    0xc0a60001, 0x10); /* s_dcache_discard_x2 s[2:3], 0x10 */
	assert_memory_equal(before, m->wave->s, sizeof(before));
	assert_int_equal(word_at(m, 0x10), 0x1000 + (AT + 0x10) / 4);
	assert_int_equal(STOP(m, 0xc0160401, 0x10), GP_ISA_REFUSED); /* s_scratch_load_dword */
	/* s_load_dwordx16 into s[124:139] */
	assert_int_equal(STOP(m, 0xc0121f01, 0x10), GP_ISA_ILLEGAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(loads_fill_as_many_registers_as_they_say,
						machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(offsets_are_added, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(base_may_be_overwritten, machine_gfx942,
						machine_down),
		cmocka_unit_test_setup_teardown(buffers_end, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(stores_write_memory, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(fault_changes_no_register, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(atomics_return_the_old_value, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(clocks_are_the_hosts, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(caches_are_not_there, machine_gfx90a, machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
