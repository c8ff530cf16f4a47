// SPDX-License-Identifier: MIT
/* Typed buffers: MTBUF, and MUBUF with the format of the descriptor. */
#include "machine.h"

enum { UNORM, SNORM, USCALED, SSCALED, UINT, SINT, RESERVED, FLOAT };

/* s[8:11]: the data, one element of 16 bytes per lane (the lane is the index). */
static void buffer_put(struct machine *m, u32 word3)
{
	m->wave->s[8] = (u32)MACHINE_DATA;
	m->wave->s[9] = (u32)(MACHINE_DATA >> 32) | 16 << 16;
	m->wave->s[10] = 64;
	m->wave->s[11] = word3;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		m->wave->v[0][lane] = lane;
}

/* A tbuffer instruction with another format. */
static void run_typed(struct machine *m, const u32 words[2], u32 data, u32 number)
{
	const u32 typed[] = {(words[0] & ~0x03f80000u) | data << 19 | number << 23, words[1]};

	machine_run_to_end(m, typed, GP_ARRAY_SIZE(typed));
}

struct load {
	u32 data, number;
	u32 memory[4];
	u32 want[4];
};

static const struct load loads[] = {
	{1, UINT, {0xff}, {0xff}}, /* 8 */
	{1, SINT, {0x80}, {0xffffff80}},
	{1, UNORM, {0xff}, {0x3f800000}},
	{1, UNORM, {0x33}, {0x3e4ccccd}}, /* 51 / 255 = 0.2 */
	{1, SNORM, {0x80}, {0xbf800000}}, /* -128 is -1 */
	{1, USCALED, {0xff}, {0x437f0000}},
	{1, SSCALED, {0xff}, {0xbf800000}},
	{2, FLOAT, {0x3c00}, {0x3f800000}}, /* 16 */
	{2, SINT, {0x8000}, {0xffff8000}},
	{3, UINT, {0x1234}, {0x34, 0x12}},      /* 8_8 */
	{4, FLOAT, {0x7f800001}, {0x7f800001}}, /* 32: as it is */
	{4, UNORM, {0x12345678}, {0x12345678}},
	{5, FLOAT, {0xc0003c00}, {0x3f800000, 0xc0000000}}, /* 16_16 */
	{6, UINT, {0x003ff801}, {1, 0x7ff, 0}},             /* 10_11_11 */
	{7, UINT, {0xffe00001}, {1, 0, 0x7ff}},             /* 11_11_10 */
	{8, UINT, {0x00001007}, {3, 0x401 & 0x3ff, 1, 0}},  /* 10_10_10_2 */
	{9, UINT, {0xc0100401}, {1, 1, 1, 3}},              /* 2_10_10_10 */
	{9, SNORM, {0x401ff201}, {0xbf800000, 0xbc004020, 0x3b004020, 0x3f800000}},
	{10, UINT, {0x04030201}, {1, 2, 3, 4}}, /* 8_8_8_8 */
	{10, UNORM, {0xff00ff00}, {0, 0x3f800000, 0, 0x3f800000}},
	{11, FLOAT, {1, 2}, {1, 2}}, /* 32_32 */
	{12, SINT, {0x8000ffff, 0x00017fff}, {0xffffffff, 0xffff8000, 0x7fff, 1}},
	{13, UINT, {1, 2, 3}, {1, 2, 3}},
	{14, UINT, {1, 2, 3, 4}, {1, 2, 3, 4}},
};

static void every_format_is_loaded(void **state)
{
	static const u32 words[] = {
		0xe809a000, 0x80020200 /* tbuffer_load_format_xyzw v[2:5], v0, s[8:11], 0 idxen */};
	struct machine *m = *state;

	buffer_put(m, 0x00027fac);
	for (size_t n = 0; n < GP_ARRAY_SIZE(loads); n++) {
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			memcpy(m->data + 16 * lane, loads[n].memory, 16);
		run_typed(m, words, loads[n].data, loads[n].number);
		for (u32 i = 0; i < 4; i++)
			if (m->wave->v[2 + i][63] != loads[n].want[i])
				fail_msg("case %zu: component %u is %08x, not %08x", n, i,
					 m->wave->v[2 + i][63], loads[n].want[i]);
	}
}

/* What was loaded and is stored again is what was there. */
static void every_format_is_stored(void **state)
{
	static const u32 load[] = {
		0xe809a000, 0x80020200 /* tbuffer_load_format_xyzw v[2:5], v0, s[8:11], 0 idxen */};
	static const u32 store[] = {
		0xe80ba000,
		0x80020200 /* tbuffer_store_format_xyzw v[2:5], v0, s[8:11], 0 idxen */};
	struct machine *m = *state;

	buffer_put(m, 0x00027fac);
	for (u32 data = 1; data < 15; data++)
		for (u32 number = 0; number <= FLOAT; number++) {
			bool small = data == 1 || data == 3 || (data >= 6 && data <= 10);
			u8 want[64 * 16];

			if (number == RESERVED || (number == FLOAT && small))
				continue;
			for (u32 i = 0; i < sizeof(want); i++)
				want[i] = m->data[i] = (u8)(i * 7 + i / 16) & 0xbb; /* no NaN */
			run_typed(m, load, data, number);
			memset(m->data, 0xee, 1); /* or nothing would be seen */
			run_typed(m, store, data, number);
			/* Of a signed norm there are two for -1. */
			for (u32 lane = 0; lane < GP_ISA_LANES && number != SNORM; lane++)
				if (memcmp(m->data + lane * 16, want + lane * 16, 16))
					fail_msg("format %u %u lane %u", data, number, lane);
		}
}

static void stores_clamp_and_round(void **state)
{
	static const u32 words[] = {
		0xe80a2000, 0x80020200 /* tbuffer_store_format_x v2, v0, s[8:11], 0 idxen */};
	static const struct {
		u32 number, value, want;
	} cases[] = {
		{UNORM, 0x3f000000, 128}, /* 0.5 * 255 = 127.5: to even */
		{UNORM, 0x40000000, 255},   {UNORM, 0xbf800000, 0},      {UNORM, 0x7fc00000, 0},
		{SNORM, 0xbf800000, 0x81},  {SNORM, 0xc0000000, 0x81},   {SNORM, 0x3f800000, 0x7f},
		{USCALED, 0x43fa0000, 255}, {SSCALED, 0xc3fa0000, 0x80}, {UINT, 300, 255},
		{SINT, (u32)-300, 0x80},    {SINT, 300, 0x7f},
	};
	struct machine *m = *state;

	buffer_put(m, 0x00027fac);
	for (size_t n = 0; n < GP_ARRAY_SIZE(cases); n++) {
		m->wave->v[2][3] = cases[n].value;
		m->data[3 * 16 + 1] = 0x77;
		run_typed(m, words, 1, cases[n].number);
		if (m->data[3 * 16] != cases[n].want)
			fail_msg("case %zu: %x", n, m->data[3 * 16]);
		assert_int_equal(m->data[3 * 16 + 1], 0x77);
	}
}

static void halves_of_registers(void **state)
{
	struct machine *m = *state;
	u32 element[] = {0x40ff8000, 0, 0, 0};

	buffer_put(m, 0x00027fac);
	memcpy(m->data, element, sizeof(element));
	run_typed(
		m,
		(const u32[]){
			0xe80da000,
			0x80020200 /* tbuffer_load_format_d16_xyzw v[2:3], v0, s[8:11], 0 idxen */},
		10, UNORM); /* 0, 128 / 255, 1, 64 / 255 in f16 */
	assert_int_equal(m->wave->v[2][0], 0x38040000);
	assert_int_equal(m->wave->v[3][0], 0x34043c00);
	run_typed(
		m,
		(const u32[]){
			0xe80d2000,
			0x80020200 /* tbuffer_load_format_d16_xyz v[2:3], v0, s[8:11], 0 idxen */},
		10, SINT);
	assert_int_equal(m->wave->v[2][0], 0xff800000);
	assert_int_equal(m->wave->v[3][0], 0x0000ffff);
	m->wave->v[2][0] = 0x3c003800; /* 0.5, 1 */
	run_typed(m,
		  (const u32[]){
			  0xe80ea000,
			  0x80020200 /* tbuffer_store_format_d16_xy v2, v0, s[8:11], 0 idxen */},
		  3, UNORM);
	assert_int_equal(m->data[0], 0x80);
	assert_int_equal(m->data[1], 0xff);
}

/* MUBUF: format, order and constants are the descriptor's. */
static void format_of_the_descriptor(void **state)
{
	struct machine *m = *state;
	u32 element[] = {0x04030201, 0, 0, 0};

	/* x = B, y = 1, z = 0, w = R; 8_8_8_8, uint */
	buffer_put(m, 6 | 1 << 3 | 0 << 6 | 4 << 9 | UINT << 12 | 10 << 15);
	memcpy(m->data, element, sizeof(element));
	RUN(m, 0xe00c2000, 0x80020200 /* buffer_load_format_xyzw v[2:5], v0, s[8:11], 0 idxen */);
	assert_int_equal(m->wave->v[2][0], 3);
	assert_int_equal(m->wave->v[3][0], 1);
	assert_int_equal(m->wave->v[4][0], 0);
	assert_int_equal(m->wave->v[5][0], 1);
	assert_int_equal(
		STOP(m, 0xe01c2000,
		     0x80020200 /* buffer_store_format_xyzw v[2:5], v0, s[8:11], 0 idxen */),
		GP_ISA_REFUSED);
	buffer_put(m, 0xfac | UNORM << 12 | 1 << 15); /* 8, unorm */
	RUN(m, 0xe0982000, 0x80020200 /* buffer_load_format_d16_hi_x v2, v0, s[8:11], 0 idxen */);
	assert_int_equal(m->wave->v[2][0], 0x1c04 << 16); /* 1 / 255 */
	m->wave->v[2][1] = 0x38000000;
	RUN(m, 0xe09c2000, 0x80020200 /* buffer_store_format_d16_hi_x v2, v0, s[8:11], 0 idxen */);
	assert_int_equal(m->data[16], 0x80);
	m->wave->v[3][2] = 0x3f800000;
	RUN(m, 0xe0102000, 0x80020300 /* buffer_store_format_x v3, v0, s[8:11], 0 idxen */);
	assert_int_equal(m->data[32], 0xff);
}

static void beyond_the_end(void **state)
{
	struct machine *m = *state;

	buffer_put(m, 0xfac | UINT << 12 | 11 << 15); /* 32_32, uint */
	memset(m->data, 0x11, 64 * 16);
	m->wave->s[9] &= 0xffff; /* raw: bytes */
	m->wave->s[10] = 20;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		m->wave->v[0][lane] = lane * 8;
	RUN(m, 0xe0041000, 0x80020200 /* buffer_load_format_xy v[2:3], v0, s[8:11], 0 offen */);
	assert_int_equal(m->wave->v[3][1], 0x11111111);
	assert_int_equal(m->wave->v[2][2], 0); /* all or nothing */
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		m->wave->v[2][lane] = m->wave->v[3][lane] = 0;
	RUN(m, 0xe0141000, 0x80020200 /* buffer_store_format_xy v[2:3], v0, s[8:11], 0 offen */);
	assert_int_equal(m->data[15], 0);
	assert_int_equal(m->data[16], 0x11);
}

static void refused_formats(void **state)
{
	struct machine *m = *state;
	u32 words[] = {0xe8082000, 0x80020200 /* tbuffer_load_format_x v2, v0, s[8:11], 0 idxen */};
	char name[GP_ISA_NAME];

	buffer_put(m, 0x00027fac);
	words[0] = (words[0] & ~0x03f80000u) | 6u << 19 | (u32)FLOAT << 23;
	assert_int_equal(machine_run(m, words, 2, 10), GP_ISA_REFUSED);
	gp_isa_describe(&m->runner, m->wave, name);
	assert_string_equal(name, "tbuffer_load_format_x");
}

/* Each number of components: of 16_16_16_16, uint, as 32 bits and as 16. */
static void every_number_of_components(void **state)
{
	static const struct {
		u32 load[2][2], store[2][2]; /* tbuffer, buffer */
		u32 count;
		bool half;
	} ops[] = {
		{{{0xe8082000, 0x80020200 /* tbuffer_load_format_x v2, v0, s[8:11], 0 idxen */},
		  {0xe0002000, 0x80020200 /* buffer_load_format_x v2, v0, s[8:11], 0 idxen */}},
		 {{0xe80a2000, 0x80020200 /* tbuffer_store_format_x v2, v0, s[8:11], 0 idxen */},
		  {0xe0102000, 0x80020200 /* buffer_store_format_x v2, v0, s[8:11], 0 idxen */}},
		 1,
		 false},
		{{{0xe808a000,
		   0x80020200 /* tbuffer_load_format_xy v[2:3], v0, s[8:11], 0 idxen */},
		  {0xe0042000,
		   0x80020200 /* buffer_load_format_xy v[2:3], v0, s[8:11], 0 idxen */}},
		 {{0xe80aa000,
		   0x80020200 /* tbuffer_store_format_xy v[2:3], v0, s[8:11], 0 idxen */},
		  {0xe0142000,
		   0x80020200 /* buffer_store_format_xy v[2:3], v0, s[8:11], 0 idxen */}},
		 2,
		 false},
		{{{0xe8092000,
		   0x80020200 /* tbuffer_load_format_xyz v[2:4], v0, s[8:11], 0 idxen */},
		  {0xe0082000,
		   0x80020200 /* buffer_load_format_xyz v[2:4], v0, s[8:11], 0 idxen */}},
		 {{0xe80b2000,
		   0x80020200 /* tbuffer_store_format_xyz v[2:4], v0, s[8:11], 0 idxen */},
		  {0xe0182000,
		   0x80020200 /* buffer_store_format_xyz v[2:4], v0, s[8:11], 0 idxen */}},
		 3,
		 false},
		{{{0xe809a000,
		   0x80020200 /* tbuffer_load_format_xyzw v[2:5], v0, s[8:11], 0 idxen */},
		  {0xe00c2000,
		   0x80020200 /* buffer_load_format_xyzw v[2:5], v0, s[8:11], 0 idxen */}},
		 {{0xe80ba000,
		   0x80020200 /* tbuffer_store_format_xyzw v[2:5], v0, s[8:11], 0 idxen */},
		  {0xe01c2000,
		   0x80020200 /* buffer_store_format_xyzw v[2:5], v0, s[8:11], 0 idxen */}},
		 4,
		 false},
		{{{0xe80c2000, 0x80020200 /* tbuffer_load_format_d16_x v2, v0, s[8:11], 0 idxen */},
		  {0xe0202000, 0x80020200 /* buffer_load_format_d16_x v2, v0, s[8:11], 0 idxen */}},
		 {{0xe80e2000,
		   0x80020200 /* tbuffer_store_format_d16_x v2, v0, s[8:11], 0 idxen */},
		  {0xe0302000,
		   0x80020200 /* buffer_store_format_d16_x v2, v0, s[8:11], 0 idxen */}},
		 1,
		 true},
		{{{0xe80ca000,
		   0x80020200 /* tbuffer_load_format_d16_xy v2, v0, s[8:11], 0 idxen */},
		  {0xe0242000,
		   0x80020200 /* buffer_load_format_d16_xy v2, v0, s[8:11], 0 idxen */}},
		 {{0xe80ea000,
		   0x80020200 /* tbuffer_store_format_d16_xy v2, v0, s[8:11], 0 idxen */},
		  {0xe0342000,
		   0x80020200 /* buffer_store_format_d16_xy v2, v0, s[8:11], 0 idxen */}},
		 2,
		 true},
		{{{0xe80d2000,
		   0x80020200 /* tbuffer_load_format_d16_xyz v[2:3], v0, s[8:11], 0 idxen */},
		  {0xe0282000,
		   0x80020200 /* buffer_load_format_d16_xyz v[2:3], v0, s[8:11], 0 idxen */}},
		 {{0xe80f2000,
		   0x80020200 /* tbuffer_store_format_d16_xyz v[2:3], v0, s[8:11], 0 idxen */},
		  {0xe0382000,
		   0x80020200 /* buffer_store_format_d16_xyz v[2:3], v0, s[8:11], 0 idxen */}},
		 3,
		 true},
		{{{0xe80da000,
		   0x80020200 /* tbuffer_load_format_d16_xyzw v[2:3], v0, s[8:11], 0 idxen */},
		  {0xe02c2000,
		   0x80020200 /* buffer_load_format_d16_xyzw v[2:3], v0, s[8:11], 0 idxen */}},
		 {{0xe80fa000,
		   0x80020200 /* tbuffer_store_format_d16_xyzw v[2:3], v0, s[8:11], 0 idxen */},
		  {0xe03c2000,
		   0x80020200 /* buffer_store_format_d16_xyzw v[2:3], v0, s[8:11], 0 idxen */}},
		 4,
		 true},
	};
	static const u32 formats[] = {2, 5, 0, 12}; /* 16, 16_16, none, 16_16_16_16 */
	static const u16 element[] = {1, 0x8002, 3, 4};
	struct machine *m = *state;

	for (size_t n = 0; n < 2 * GP_ARRAY_SIZE(ops); n++) {
		u32 count = ops[n / 2].count, typed = n % 2 == 0;
		u32 words[2], wide = count == 3 ? 4 : count;

		buffer_put(m, 0xfac | UINT << 12 | 12 << 15);
		memcpy(m->data + 5 * 16, element, sizeof(element));
		for (u32 row = 2; row < 6; row++)
			m->wave->v[row][5] = 0x77;
		memcpy(words, ops[n / 2].load[!typed], sizeof(words));
		if (typed)
			run_typed(m, words, 12, UINT);
		else
			machine_run_to_end(m, words, 2);
		for (u32 i = 0; i < 4; i++) {
			u32 row = m->wave->v[2 + (ops[n / 2].half ? i / 2 : i)][5];
			u32 value = !ops[n / 2].half ? row : i % 2 ? row >> 16 : row & 0xffff;
			u32 rows = ops[n / 2].half ? (count + 1) / 2 * 2 : count;

			if (i < rows)
				assert_int_equal(value, i < count ? element[i] : 0);
		}
		/* Stored with a format of as many components; there is none of three. */
		memset(m->data + 5 * 16, 0x55, 16);
		memcpy(words, ops[n / 2].store[!typed], sizeof(words));
		buffer_put(m, 0xfac | UINT << 12 | formats[wide - 1] << 15);
		if (typed)
			words[0] = (words[0] & ~0x03f80000u) | formats[wide - 1] << 19 | UINT << 23;
		if (count == 3) {
			assert_int_equal(machine_run(m, words, 2, 10), GP_ISA_REFUSED);
			continue;
		}
		machine_run_to_end(m, words, 2);
		assert_memory_equal(m->data + 5 * 16, element, count * 2);
		assert_int_equal(m->data[5 * 16 + count * 2], 0x55);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_format_is_loaded, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(every_format_is_stored, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(stores_clamp_and_round, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(halves_of_registers, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(every_number_of_components, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(format_of_the_descriptor, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(beyond_the_end, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(refused_formats, machine_gfx90a, machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
