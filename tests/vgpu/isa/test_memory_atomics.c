// SPDX-License-Identifier: MIT
/* Atomics on memory: GLOBAL, FLAT and MUBUF, with and without a result, and against other
 * threads. */
#include <pthread.h>

#include "atomics.h"

#define KEEP_ALL 0xf0               /* of MODE: denormals */
#define CELLS    24                 /* fewer than lanes: some meet */
#define CELL(n)  ((n)*8 + 8 + 4080) /* on both sides of a page's end */

enum kind { GLOBAL, FLAT, BUFFER, KINDS };

struct op {
	u32 words[KINDS][2]; /* without result; 0: none */
	atomic_want *want;
	u32 bytes;
	bool floats;
};

/* The bit that asks for the old value; GLOBAL and FLAT have a register for it as well. */
static const u32 result_bit[KINDS] = {1u << 16, 1u << 16, 1u << 14};

/* v[0:1] is the address of GLOBAL and FLAT, v8 the offset of MUBUF; v[2:5] data, v[6:7] result. */
static void registers_put(struct machine *m, enum kind kind, u32 lane, u32 at, u64 a, u64 b,
			  u32 bytes)
{
	u64 address = MACHINE_DATA + at - 8;
	u32 dwords = bytes / 4;

	m->wave->v[0][lane] = (u32)address;
	m->wave->v[1][lane] = (u32)(address >> 32);
	m->wave->v[8][lane] = at - 8;
	for (u32 i = 0; i < dwords; i++) {
		m->wave->v[2 + i][lane] = (u32)(a >> 32 * i);
		m->wave->v[2 + dwords + i][lane] = (u32)(b >> 32 * i);
	}
	m->wave->v[6][lane] = m->wave->v[7][lane] = 7;
	if (kind == BUFFER) { /* a raw buffer */
		gp_isa_set_pair(m->wave, 8, MACHINE_DATA);
		m->wave->s[10] = MACHINE_DATA_BYTES;
		m->wave->s[11] = 0x00027000;
	}
}

static void op_check(struct machine *m, const struct op *op, enum kind kind, bool returns,
		     u64 lanes, u64 *seed)
{
	u32 words[2] = {op->words[kind][0] | (returns ? result_bit[kind] : 0), op->words[kind][1]};
	u64 cells[CELLS], results[GP_ISA_LANES], a, b;
	u32 row = kind == BUFFER ? 2 : 6;

	if (returns && kind != BUFFER)
		words[1] |= row << 24;
	for (u32 i = 0; i < CELLS; i++) {
		cells[i] =
			op->floats ? atomic_float(op->bytes, seed) : atomic_number(op->bytes, seed);
		memcpy(m->data + CELL(i), &cells[i], op->bytes);
	}
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, lanes);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u32 n = machine_random(seed) % CELLS;

		a = op->floats ? atomic_float(op->bytes, seed) : atomic_number(op->bytes, seed);
		b = machine_random(seed) % 2 ? cells[n] : atomic_number(op->bytes, seed);
		registers_put(m, kind, lane, CELL(n), a, b, op->bytes);
		results[lane] = row == 2 ? a : op->bytes == 4 ? 7 : 7 | 7ull << 32;
		if (!(lanes >> lane & 1)) {
			m->wave->v[1][lane] = m->wave->v[8][lane] = 0x80000000; /* nowhere */
			continue;
		}
		if (returns)
			results[lane] = cells[n];
		cells[n] = op->want(cells[n], a, b) & (op->bytes == 4 ? 0xffffffff : ~0ull);
	}
	machine_run_to_end(m, words, 2);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u64 result = m->wave->v[row][lane];

		if (op->bytes == 8)
			result |= (u64)m->wave->v[row + 1][lane] << 32;
		if (result != results[lane])
			fail_msg("%08x lane %u: %llx, not %llx", words[0], lane,
				 (unsigned long long)result, (unsigned long long)results[lane]);
	}
	for (u32 i = 0; i < CELLS; i++)
		if (memcmp(m->data + CELL(i), &cells[i], op->bytes))
			fail_msg("%08x cell %u is not %llx", words[0], i,
				 (unsigned long long)cells[i]);
}

static const struct op ops[] = {
	{{{0xdd008008, 0x007f0200 /* global_atomic_swap v[0:1], v2, off offset:8 */},
	  {0xdd000008, 0x00000200 /* flat_atomic_swap v[0:1], v2 offset:8 */},
	  {0xe1001008, 0x80020208 /* buffer_atomic_swap v2, v8, s[8:11], 0 offen offset:8 */}},
	 want_swap,
	 4,
	 false},
	{{{0xdd088008, 0x007f0200 /* global_atomic_add v[0:1], v2, off offset:8 */},
	  {0xdd080008, 0x00000200 /* flat_atomic_add v[0:1], v2 offset:8 */},
	  {0xe1081008, 0x80020208 /* buffer_atomic_add v2, v8, s[8:11], 0 offen offset:8 */}},
	 want_add,
	 4,
	 false},
	{{{0xdd0c8008, 0x007f0200 /* global_atomic_sub v[0:1], v2, off offset:8 */},
	  {0xdd0c0008, 0x00000200 /* flat_atomic_sub v[0:1], v2 offset:8 */},
	  {0xe10c1008, 0x80020208 /* buffer_atomic_sub v2, v8, s[8:11], 0 offen offset:8 */}},
	 want_sub,
	 4,
	 false},
	{{{0xdd208008, 0x007f0200 /* global_atomic_and v[0:1], v2, off offset:8 */},
	  {0xdd200008, 0x00000200 /* flat_atomic_and v[0:1], v2 offset:8 */},
	  {0xe1201008, 0x80020208 /* buffer_atomic_and v2, v8, s[8:11], 0 offen offset:8 */}},
	 want_and,
	 4,
	 false},
	{{{0xdd248008, 0x007f0200 /* global_atomic_or v[0:1], v2, off offset:8 */},
	  {0xdd240008, 0x00000200 /* flat_atomic_or v[0:1], v2 offset:8 */},
	  {0xe1241008, 0x80020208 /* buffer_atomic_or v2, v8, s[8:11], 0 offen offset:8 */}},
	 want_or,
	 4,
	 false},
	{{{0xdd288008, 0x007f0200 /* global_atomic_xor v[0:1], v2, off offset:8 */},
	  {0xdd280008, 0x00000200 /* flat_atomic_xor v[0:1], v2 offset:8 */},
	  {0xe1281008, 0x80020208 /* buffer_atomic_xor v2, v8, s[8:11], 0 offen offset:8 */}},
	 want_xor,
	 4,
	 false},
	{{{0xdd2c8008, 0x007f0200 /* global_atomic_inc v[0:1], v2, off offset:8 */},
	  {0xdd2c0008, 0x00000200 /* flat_atomic_inc v[0:1], v2 offset:8 */},
	  {0xe12c1008, 0x80020208 /* buffer_atomic_inc v2, v8, s[8:11], 0 offen offset:8 */}},
	 want_inc,
	 4,
	 false},
	{{{0xdd308008, 0x007f0200 /* global_atomic_dec v[0:1], v2, off offset:8 */},
	  {0xdd300008, 0x00000200 /* flat_atomic_dec v[0:1], v2 offset:8 */},
	  {0xe1301008, 0x80020208 /* buffer_atomic_dec v2, v8, s[8:11], 0 offen offset:8 */}},
	 want_dec,
	 4,
	 false},
	{{{0xdd148008, 0x007f0200 /* global_atomic_umin v[0:1], v2, off offset:8 */},
	  {0xdd140008, 0x00000200 /* flat_atomic_umin v[0:1], v2 offset:8 */},
	  {0xe1141008, 0x80020208 /* buffer_atomic_umin v2, v8, s[8:11], 0 offen offset:8 */}},
	 want_umin,
	 4,
	 false},
	{{{0xdd1c8008, 0x007f0200 /* global_atomic_umax v[0:1], v2, off offset:8 */},
	  {0xdd1c0008, 0x00000200 /* flat_atomic_umax v[0:1], v2 offset:8 */},
	  {0xe11c1008, 0x80020208 /* buffer_atomic_umax v2, v8, s[8:11], 0 offen offset:8 */}},
	 want_umax,
	 4,
	 false},
	{{{0xdd108008, 0x007f0200 /* global_atomic_smin v[0:1], v2, off offset:8 */},
	  {0xdd100008, 0x00000200 /* flat_atomic_smin v[0:1], v2 offset:8 */},
	  {0xe1101008, 0x80020208 /* buffer_atomic_smin v2, v8, s[8:11], 0 offen offset:8 */}},
	 want_smin32,
	 4,
	 false},
	{{{0xdd188008, 0x007f0200 /* global_atomic_smax v[0:1], v2, off offset:8 */},
	  {0xdd180008, 0x00000200 /* flat_atomic_smax v[0:1], v2 offset:8 */},
	  {0xe1181008, 0x80020208 /* buffer_atomic_smax v2, v8, s[8:11], 0 offen offset:8 */}},
	 want_smax32,
	 4,
	 false},
	{{{0xdd048008, 0x007f0200 /* global_atomic_cmpswap v[0:1], v[2:3], off offset:8 */},
	  {0xdd040008, 0x00000200 /* flat_atomic_cmpswap v[0:1], v[2:3] offset:8 */},
	  {0xe1041008,
	   0x80020208 /* buffer_atomic_cmpswap v[2:3], v8, s[8:11], 0 offen offset:8 */}},
	 want_cmpswap,
	 4,
	 false},
	{{{0xdd808008, 0x007f0200 /* global_atomic_swap_x2 v[0:1], v[2:3], off offset:8 */},
	  {0xdd800008, 0x00000200 /* flat_atomic_swap_x2 v[0:1], v[2:3] offset:8 */},
	  {0xe1801008,
	   0x80020208 /* buffer_atomic_swap_x2 v[2:3], v8, s[8:11], 0 offen offset:8 */}},
	 want_swap,
	 8,
	 false},
	{{{0xdd888008, 0x007f0200 /* global_atomic_add_x2 v[0:1], v[2:3], off offset:8 */},
	  {0xdd880008, 0x00000200 /* flat_atomic_add_x2 v[0:1], v[2:3] offset:8 */},
	  {0xe1881008,
	   0x80020208 /* buffer_atomic_add_x2 v[2:3], v8, s[8:11], 0 offen offset:8 */}},
	 want_add,
	 8,
	 false},
	{{{0xdd8c8008, 0x007f0200 /* global_atomic_sub_x2 v[0:1], v[2:3], off offset:8 */},
	  {0xdd8c0008, 0x00000200 /* flat_atomic_sub_x2 v[0:1], v[2:3] offset:8 */},
	  {0xe18c1008,
	   0x80020208 /* buffer_atomic_sub_x2 v[2:3], v8, s[8:11], 0 offen offset:8 */}},
	 want_sub,
	 8,
	 false},
	{{{0xdda08008, 0x007f0200 /* global_atomic_and_x2 v[0:1], v[2:3], off offset:8 */},
	  {0xdda00008, 0x00000200 /* flat_atomic_and_x2 v[0:1], v[2:3] offset:8 */},
	  {0xe1a01008,
	   0x80020208 /* buffer_atomic_and_x2 v[2:3], v8, s[8:11], 0 offen offset:8 */}},
	 want_and,
	 8,
	 false},
	{{{0xdda48008, 0x007f0200 /* global_atomic_or_x2 v[0:1], v[2:3], off offset:8 */},
	  {0xdda40008, 0x00000200 /* flat_atomic_or_x2 v[0:1], v[2:3] offset:8 */},
	  {0xe1a41008, 0x80020208 /* buffer_atomic_or_x2 v[2:3], v8, s[8:11], 0 offen offset:8 */}},
	 want_or,
	 8,
	 false},
	{{{0xdda88008, 0x007f0200 /* global_atomic_xor_x2 v[0:1], v[2:3], off offset:8 */},
	  {0xdda80008, 0x00000200 /* flat_atomic_xor_x2 v[0:1], v[2:3] offset:8 */},
	  {0xe1a81008,
	   0x80020208 /* buffer_atomic_xor_x2 v[2:3], v8, s[8:11], 0 offen offset:8 */}},
	 want_xor,
	 8,
	 false},
	{{{0xddac8008, 0x007f0200 /* global_atomic_inc_x2 v[0:1], v[2:3], off offset:8 */},
	  {0xddac0008, 0x00000200 /* flat_atomic_inc_x2 v[0:1], v[2:3] offset:8 */},
	  {0xe1ac1008,
	   0x80020208 /* buffer_atomic_inc_x2 v[2:3], v8, s[8:11], 0 offen offset:8 */}},
	 want_inc,
	 8,
	 false},
	{{{0xddb08008, 0x007f0200 /* global_atomic_dec_x2 v[0:1], v[2:3], off offset:8 */},
	  {0xddb00008, 0x00000200 /* flat_atomic_dec_x2 v[0:1], v[2:3] offset:8 */},
	  {0xe1b01008,
	   0x80020208 /* buffer_atomic_dec_x2 v[2:3], v8, s[8:11], 0 offen offset:8 */}},
	 want_dec,
	 8,
	 false},
	{{{0xdd948008, 0x007f0200 /* global_atomic_umin_x2 v[0:1], v[2:3], off offset:8 */},
	  {0xdd940008, 0x00000200 /* flat_atomic_umin_x2 v[0:1], v[2:3] offset:8 */},
	  {0xe1941008,
	   0x80020208 /* buffer_atomic_umin_x2 v[2:3], v8, s[8:11], 0 offen offset:8 */}},
	 want_umin,
	 8,
	 false},
	{{{0xdd9c8008, 0x007f0200 /* global_atomic_umax_x2 v[0:1], v[2:3], off offset:8 */},
	  {0xdd9c0008, 0x00000200 /* flat_atomic_umax_x2 v[0:1], v[2:3] offset:8 */},
	  {0xe19c1008,
	   0x80020208 /* buffer_atomic_umax_x2 v[2:3], v8, s[8:11], 0 offen offset:8 */}},
	 want_umax,
	 8,
	 false},
	{{{0xdd908008, 0x007f0200 /* global_atomic_smin_x2 v[0:1], v[2:3], off offset:8 */},
	  {0xdd900008, 0x00000200 /* flat_atomic_smin_x2 v[0:1], v[2:3] offset:8 */},
	  {0xe1901008,
	   0x80020208 /* buffer_atomic_smin_x2 v[2:3], v8, s[8:11], 0 offen offset:8 */}},
	 want_smin64,
	 8,
	 false},
	{{{0xdd988008, 0x007f0200 /* global_atomic_smax_x2 v[0:1], v[2:3], off offset:8 */},
	  {0xdd980008, 0x00000200 /* flat_atomic_smax_x2 v[0:1], v[2:3] offset:8 */},
	  {0xe1981008,
	   0x80020208 /* buffer_atomic_smax_x2 v[2:3], v8, s[8:11], 0 offen offset:8 */}},
	 want_smax64,
	 8,
	 false},
	{{{0xdd848008, 0x007f0200 /* global_atomic_cmpswap_x2 v[0:1], v[2:5], off offset:8 */},
	  {0xdd840008, 0x00000200 /* flat_atomic_cmpswap_x2 v[0:1], v[2:5] offset:8 */},
	  {0xe1841008,
	   0x80020208 /* buffer_atomic_cmpswap_x2 v[2:5], v8, s[8:11], 0 offen offset:8 */}},
	 want_cmpswap,
	 8,
	 false},
	{{{0xdd348008, 0x007f0200 /* global_atomic_add_f32 v[0:1], v2, off offset:8 */},
	  {0},
	  {0xe1341008, 0x80020208 /* buffer_atomic_add_f32 v2, v8, s[8:11], 0 offen offset:8 */}},
	 want_add_f32,
	 4,
	 true},
	{{{0xdd3c8008, 0x007f0200 /* global_atomic_add_f64 v[0:1], v[2:3], off offset:8 */},
	  {0xdd3c0008, 0x00000200 /* flat_atomic_add_f64 v[0:1], v[2:3] offset:8 */},
	  {0xe13c1008,
	   0x80020208 /* buffer_atomic_add_f64 v[2:3], v8, s[8:11], 0 offen offset:8 */}},
	 want_add_f64,
	 8,
	 true},
	{{{0xdd408008, 0x007f0200 /* global_atomic_min_f64 v[0:1], v[2:3], off offset:8 */},
	  {0xdd400008, 0x00000200 /* flat_atomic_min_f64 v[0:1], v[2:3] offset:8 */},
	  {0xe1401008,
	   0x80020208 /* buffer_atomic_min_f64 v[2:3], v8, s[8:11], 0 offen offset:8 */}},
	 want_min_f64,
	 8,
	 true},
	{{{0xdd448008, 0x007f0200 /* global_atomic_max_f64 v[0:1], v[2:3], off offset:8 */},
	  {0xdd440008, 0x00000200 /* flat_atomic_max_f64 v[0:1], v[2:3] offset:8 */},
	  {0xe1441008,
	   0x80020208 /* buffer_atomic_max_f64 v[2:3], v8, s[8:11], 0 offen offset:8 */}},
	 want_max_f64,
	 8,
	 true},
};

static void every_operation(void **state)
{
	struct machine *m = *state;
	u64 seed = 4;

	for (size_t n = 0; n < GP_ARRAY_SIZE(ops); n++)
		for (enum kind kind = 0; kind < KINDS; kind++)
			for (u32 round = 0; round < 8 && ops[n].words[kind][0]; round++)
				op_check(m, &ops[n], kind, round % 2,
					 round / 2 % 2 ? ~0ull
						       : machine_random(&seed) |
								 (u64)machine_random(&seed) << 32,
					 &seed);
}

/* What lane 0 makes of a cell of memory. */
static u32 cell(struct machine *m, const u32 words[2], u32 old, u32 data)
{
	u32 value;

	gp_isa_set_pair(m->wave, GP_ISA_EXEC, 1);
	registers_put(m, BUFFER, 0, CELL(0), data, 0, 4);
	memcpy(m->data + CELL(0), &old, sizeof(old));
	machine_run_to_end(m, words, 2);
	memcpy(&value, m->data + CELL(0), sizeof(value));
	return value;
}

/* Memory of gfx90a flushes denormals of f32, that of gfx942 does not; MODE does not matter. */
static void denormals_in_memory(void **state)
{
	static const u32
		global[] = {0xdd348008,
			    0x007f0200 /* global_atomic_add_f32 v[0:1], v2, off offset:8 */},
		packed[] = {0xdd388008,
			    0x007f0200 /* global_atomic_pk_add_f16 v[0:1], v2, off offset:8 */};
	static const u32 buffer[] = {
		0xe1341008,
		0x80020208 /* buffer_atomic_add_f32 v2, v8, s[8:11], 0 offen offset:8 */};
	struct machine *m = *state;
	bool kept = m->runner.gfx == GP_ISA_GFX942;

	for (u32 mode = 0; mode <= KEEP_ALL; mode += KEEP_ALL) {
		m->wave->mode = mode | 5; /* rounds up, elsewhere */
		assert_int_equal(cell(m, global, 1, 1), kept ? 2 : 0);
		assert_int_equal(cell(m, buffer, 0x00800001, 0x80800000), kept ? 1 : 0);
		assert_int_equal(cell(m, global, 0x3f800000, 0x33000000), 0x3f800000);
		assert_int_equal(cell(m, global, 0x7f800000, 0xff800000), 0x7fc00000);
		assert_int_equal(cell(m, packed, 0x00013c00, 0x00014000), 0x00024200);
	}
}

static void packed_sums_of_gfx942(void **state)
{
	static const u32 words[][2] = {
		{0xdd380008, 0x00000200 /* flat_atomic_pk_add_f16 v[0:1], v2 offset:8 */},
		{0xe1381008,
		 0x80020208 /* buffer_atomic_pk_add_f16 v2, v8, s[8:11], 0 offen offset:8 */},
		{0xdd480008, 0x00000200 /* flat_atomic_pk_add_bf16 v[0:1], v2 offset:8 */},
		{0xdd488008, 0x007f0200 /* global_atomic_pk_add_bf16 v[0:1], v2, off offset:8 */},
	};
	static const u32 single[] = {0xdd340008,
				     0x00000200 /* flat_atomic_add_f32 v[0:1], v2 offset:8 */};
	struct machine *m = *state;

	for (u32 n = 0; n < 2; n++) /* 1 + 2, -1 + 1 */
		assert_int_equal(cell(m, words[n], 0xbc003c00, 0x3c004000), 0x00004200);
	for (u32 n = 2; n < 4; n++)
		assert_int_equal(cell(m, words[n], 0xbf803f80, 0x3f804000), 0x00004040);
	assert_int_equal(cell(m, single, 0x3f800000, 0x40000000), 0x40400000);
}

/* A flat atomic in LDS and in private memory. */
static void flat_atomics_in_apertures(void **state)
{
	struct machine *m = *state;
	u32 word;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		u64 base = lane % 2 ? MACHINE_SHARED : MACHINE_PRIVATE;

		registers_put(m, FLAT, lane, 0, 5, 6, 4);
		m->wave->v[0][lane] = 16;
		m->wave->v[1][lane] = (u32)(base >> 32);
	}
	RUN(m, 0xdd090008, 0x06000200 /* flat_atomic_add v6, v[0:1], v2 offset:8 glc */);
	memcpy(&word, m->lds + 24, sizeof(word));
	assert_int_equal(word, 32 * 5);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
		memcpy(&word, m->scratch + 6 * 256 + lane * 4, sizeof(word));
		assert_int_equal(word, lane % 2 ? 0 : 5);
		assert_int_equal(m->wave->v[6][lane], lane % 2 ? lane / 2 * 5 : 0);
	}
	assert_int_equal(STOP(m, 0xdd880008,
			      0x00000200 /* flat_atomic_add_x2 v[0:1], v[2:3] offset:8 */),
			 GP_ISA_REFUSED); /* 64 bits of private memory */
}

static void misaligned_faults(void **state)
{
	struct machine *m = *state;

	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		registers_put(m, GLOBAL, lane, lane == 9 ? 2 : lane * 4, 5, 0, 4);
	assert_int_equal(STOP(m, 0xdd098008,
			      0x067f0200 /* global_atomic_add v6, v[0:1], v2, off offset:8 glc */),
			 GP_ISA_FAULT);
	assert_int_equal(m->wave->fault, MACHINE_DATA + 2);
	assert_int_equal(m->wave->v[6][0], 7);
	assert_int_equal(m->data[0], 0);
}

/* ---- against other threads ---- */

#define ROUNDS 4000

struct runner_thread {
	struct machine *machine;
	struct gp_isa_runner runner;
	struct gp_isa_wave *wave;
};

static void *run_rounds(void *data)
{
	struct runner_thread *thread = data;

	for (u32 i = 0; i < ROUNDS; i++) {
		thread->wave->pc = MACHINE_CODE;
		if (gp_isa_run(&thread->runner, thread->wave, 100) != GP_ISA_ENDED)
			return thread;
	}
	return NULL;
}

/* Two threads that run waves and this one add to the same counters; nothing is lost. */
static void threads_lose_nothing(void **state)
{
	static const u32 words[] = {
		0xdd088008, 0x007f0200 /* global_atomic_add v[0:1], v2, off offset:8 */,
		0xdd2d8010, 0x067f0300 /* global_atomic_inc v6, v[0:1], v3, off offset:16 glc */,
		0xdd3c8018, 0x007f0400 /* global_atomic_add_f64 v[0:1], v[4:5], off offset:24 */,
	};
	struct machine *m = *state;
	struct runner_thread threads[2];
	pthread_t ids[2];
	u32 *counter = (u32 *)(m->data + CELL(0));
	u32 *stepper = (u32 *)(m->data + CELL(0) + 8);
	double sum;

	machine_load(m, words, GP_ARRAY_SIZE(words));
	for (u32 n = 0; n < 2; n++) {
		threads[n] = (struct runner_thread){m, m->runner, machine_wave(m)};
		threads[n].runner.cache = calloc(1, gp_isa_cache_bytes());
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			u64 address = MACHINE_DATA + CELL(0) - 8;

			threads[n].wave->v[0][lane] = (u32)address;
			threads[n].wave->v[1][lane] = (u32)(address >> 32);
			threads[n].wave->v[2][lane] = 1;
			threads[n].wave->v[3][lane] = ~0u;
			threads[n].wave->v[5][lane] = 0x3ff00000; /* 1.0 */
		}
	}
	for (u32 n = 0; n < 2; n++)
		assert_int_equal(pthread_create(&ids[n], NULL, run_rounds, &threads[n]), 0);
	for (u32 i = 0; i < ROUNDS; i++)
		__atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
	for (u32 n = 0; n < 2; n++) {
		void *failed;

		pthread_join(ids[n], &failed);
		assert_null(failed);
		free(threads[n].runner.cache);
		free(threads[n].wave);
	}
	memcpy(&sum, m->data + CELL(0) + 16, sizeof(sum));
	assert_int_equal(*counter, ROUNDS * (2 * 64 + 1));
	assert_int_equal(*stepper, ROUNDS * 2 * 64);
	assert_true(sum == ROUNDS * 2 * 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_operation, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(every_operation, machine_gfx942, machine_down),
		cmocka_unit_test_setup_teardown(denormals_in_memory, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(denormals_in_memory, machine_gfx942, machine_down),
		cmocka_unit_test_setup_teardown(packed_sums_of_gfx942, machine_gfx942,
						machine_down),
		cmocka_unit_test_setup_teardown(flat_atomics_in_apertures, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(misaligned_faults, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(threads_lose_nothing, machine_gfx90a, machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
