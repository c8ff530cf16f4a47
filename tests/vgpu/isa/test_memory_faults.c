// SPDX-License-Identifier: MIT
/* Vector memory that is not there, and what other threads see of stores. */
#include <pthread.h>

#include "machine.h"

static void address_put(struct machine *m, u32 lane, u64 address)
{
	m->wave->v[0][lane] = (u32)address;
	m->wave->v[1][lane] = (u32)(address >> 32);
}

static void registers_mark(struct machine *m)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		for (u32 row = 2; row < 10; row++)
			m->wave->v[row][lane] = 0x77;
}

static void registers_check(struct machine *m)
{
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		for (u32 row = 2; row < 10; row++)
			assert_int_equal(m->wave->v[row][lane], 0x77);
	assert_int_equal(m->wave->pc, MACHINE_CODE);
	assert_int_equal(m->wave->executed, 0);
}

static void load_faults_at_the_first_lane(void **state)
{
	struct machine *m = *state;

	registers_mark(m);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		address_put(m, lane, MACHINE_DATA + lane * 4);
	address_put(m, 40, 0x1234560);
	address_put(m, 20, 0x9876540);
	assert_int_equal(STOP(m, 0xdc508000, 0x027f0000 /* global_load_dword v2, v[0:1], off */),
			 GP_ISA_FAULT);
	assert_int_equal(m->wave->fault, 0x9876540);
	registers_check(m);
	assert_int_equal(STOP(m, 0xdc5c0000, 0x02000000 /* flat_load_dwordx4 v[2:5], v[0:1] */),
			 GP_ISA_FAULT);
	assert_int_equal(m->wave->fault, 0x9876540);
	registers_check(m);
	gp_isa_set_pair(m->wave, GP_ISA_EXEC, ~(1ull << 20 | 1ull << 40));
	RUN(m, 0xdc508000, 0x027f0000 /* global_load_dword v2, v[0:1], off */);
}

static void end_of_memory(void **state)
{
	struct machine *m = *state;

	registers_mark(m);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		address_put(m, lane, MACHINE_DATA + MACHINE_DATA_BYTES - 64 * 16 + lane * 16 + 4);
	assert_int_equal(STOP(m, 0xdc5c8000,
			      0x027f0000 /* global_load_dwordx4 v[2:5], v[0:1], off */),
			 GP_ISA_FAULT);
	assert_int_equal(m->wave->fault, MACHINE_DATA + MACHINE_DATA_BYTES);
	registers_check(m);
	m->wave->fault = 0;
	assert_int_equal(STOP(m, 0xdc7c8000,
			      0x007f0200 /* global_store_dwordx4 v[0:1], v[2:5], off */),
			 GP_ISA_FAULT);
	assert_int_equal(m->wave->fault, MACHINE_DATA + MACHINE_DATA_BYTES);
	for (u32 i = 0; i < 64 * 16; i++) /* not even what is mapped */
		assert_int_equal(m->data[MACHINE_DATA_BYTES - 64 * 16 + i], 0);
}

static void stores_need_memory_that_can_be_written(void **state)
{
	struct machine *m = *state;

	registers_mark(m);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		address_put(m, lane, lane == 9 ? MACHINE_CONST + 8 : MACHINE_DATA + lane * 4);
	m->wave->executed = 0;
	RUN(m, 0xdc508000, 0x027f0000 /* global_load_dword v2, v[0:1], off */);
	registers_mark(m);
	m->wave->executed = 0;
	assert_int_equal(STOP(m, 0xdc708000, 0x007f0200 /* global_store_dword v[0:1], v2, off */),
			 GP_ISA_FAULT);
	assert_int_equal(m->wave->fault, MACHINE_CONST + 8);
	assert_int_equal(m->data[0], 0);
	assert_int_equal(STOP(m, 0xdd098000,
			      0x037f0200 /* global_atomic_add v3, v[0:1], v2, off glc */),
			 GP_ISA_FAULT);
	assert_int_equal(m->wave->fault, MACHINE_CONST + 8);
	assert_int_equal(m->data[0], 0);
	registers_check(m);
}

static void private_memory_ends(void **state)
{
	struct machine *m = *state;

	registers_mark(m);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		m->wave->v[0][lane] = lane == 30 ? MACHINE_SCRATCH_LANE_BYTES - 4 : 0;
	RUN(m, 0xdc704000, 0x007f0200 /* scratch_store_dword v0, v2, off */);
	m->wave->executed = 0;
	assert_int_equal(STOP(m, 0xdc544000, 0x027f0000 /* scratch_load_dwordx2 v[2:3], v0, off */),
			 GP_ISA_FAULT);
	assert_int_equal(m->wave->fault, MACHINE_PRIVATE + MACHINE_SCRATCH_LANE_BYTES - 4);
	registers_check(m);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		m->wave->v[0][lane] = 0;
	assert_int_equal(STOP(m, 0xdc605fff,
			      0x007f0200 /* scratch_store_byte v0, v2, off offset:-1 */),
			 GP_ISA_FAULT);
	assert_int_equal(m->wave->fault, MACHINE_PRIVATE + 0xffffffff);
}

/* Of lanes that fault in memory and in private memory the first is named. */
static void first_of_two_memories(void **state)
{
	struct machine *m = *state;

	registers_mark(m);
	for (u32 n = 0; n < 2; n++) {
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			address_put(m, lane, MACHINE_DATA + lane * 4);
		address_put(m, n ? 3 : 50, MACHINE_PRIVATE + 0x10000);
		address_put(m, 17, 0x1230000);
		assert_int_equal(STOP(m, 0xdc500000, 0x02000000 /* flat_load_dword v2, v[0:1] */),
				 GP_ISA_FAULT);
		assert_int_equal(m->wave->fault, n ? MACHINE_PRIVATE + 0x10000 : 0x1230000);
		registers_check(m);
		assert_int_equal(STOP(m, 0xdc700000, 0x00000200 /* flat_store_dword v[0:1], v2 */),
				 GP_ISA_FAULT);
		assert_int_equal(m->wave->fault, n ? MACHINE_PRIVATE + 0x10000 : 0x1230000);
	}
}

/* Out of a buffer's range there may be no memory at all. */
static void buffers_fault_within_their_range_only(void **state)
{
	struct machine *m = *state;

	registers_mark(m);
	gp_isa_set_pair(m->wave, 8, MACHINE_DATA + MACHINE_DATA_BYTES - 128);
	m->wave->s[10] = 128;
	m->wave->s[11] = 0x00027fac;
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		m->wave->v[0][lane] = lane * 8;
	RUN(m, 0xe0741000, 0x80020200 /* buffer_store_dwordx2 v[2:3], v0, s[8:11], 0 offen */);
	assert_int_equal(m->data[MACHINE_DATA_BYTES - 4], 0x77);
	m->wave->s[10] = 136;
	m->wave->executed = 0;
	assert_int_equal(STOP(m, 0xe0541000,
			      0x80020200 /* buffer_load_dwordx2 v[2:3], v0, s[8:11], 0 offen */),
			 GP_ISA_FAULT);
	assert_int_equal(m->wave->fault, MACHINE_DATA + MACHINE_DATA_BYTES);
	registers_check(m);
}

/* ---- what other threads see ---- */

#define ROUNDS 3000

struct watch {
	u8 *memory;
	u32 stride, stop, torn;
};

static void *watch_pairs(void *data)
{
	struct watch *watch = data;

	while (!__atomic_load_n(&watch->stop, __ATOMIC_ACQUIRE))
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++) {
			u64 *pair = (u64 *)(watch->memory + lane * watch->stride);
			u64 value = __atomic_load_n(pair, __ATOMIC_RELAXED);

			watch->torn += (u32)value != (u32)(value >> 32);
		}
	return NULL;
}

/* Aligned pairs are one store, whether lanes follow each other or not, and whether all are on. */
static void aligned_stores_are_not_torn(void **state)
{
	static const u32 strides[] = {8, 24};
	struct machine *m = *state;

	for (u32 round = 0; round < 4; round++) {
		struct watch watch = {m->data, strides[round % 2], 0, 0};
		pthread_t id;

		gp_isa_set_pair(m->wave, GP_ISA_EXEC, round / 2 ? ~0x10ull : ~0ull);
		for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
			address_put(m, lane, MACHINE_DATA + lane * watch.stride);
		assert_int_equal(pthread_create(&id, NULL, watch_pairs, &watch), 0);
		for (u32 i = 0; i < ROUNDS; i++) {
			for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
				m->wave->v[2][lane] = m->wave->v[3][lane] = i * 0x10001;
			RUN(m, 0xdc748000,
			    0x007f0200 /* global_store_dwordx2 v[0:1], v[2:3], off */);
		}
		__atomic_store_n(&watch.stop, 1, __ATOMIC_RELEASE);
		pthread_join(id, NULL);
		assert_int_equal(watch.torn, 0);
	}
}

/* ---- lines that end with a flag ---- */

#define DIFFERENT 2000 /* times that a line was seen while it was written */

static const struct width {
	u32 bytes, load[2], store[2]; /* v[2:5] at v[0:1] */
} widths[] = {
	{4, {0xdc508000, 0x027f0000}, {0xdc708000, 0x007f0200}},
	{8, {0xdc548000, 0x027f0000}, {0xdc748000, 0x007f0200}},
	{12, {0xdc588000, 0x027f0000}, {0xdc788000, 0x007f0200}},
	{16, {0xdc5c8000, 0x027f0000}, {0xdc7c8000, 0x007f0200}},
};

struct line {
	u8 *memory;
	u32 stride, dwords, stop, wrong, different;
};

static volatile u32 *line_word(const struct line *line, u32 i)
{
	return (u32 *)(line->memory + i / line->dwords * line->stride) + i % line->dwords;
}

/* Upwards, so that whoever sees a word may expect all before it. */
static void *line_write(void *data)
{
	struct line *line = data;

	for (u32 n = 1; !__atomic_load_n(&line->stop, __ATOMIC_ACQUIRE); n++)
		for (u32 i = 0; i < GP_ISA_LANES * line->dwords; i++)
			*line_word(line, i) = n;
	return NULL;
}

static void *line_watch(void *data)
{
	struct line *line = data;
	u32 different = 0;

	while (!__atomic_load_n(&line->stop, __ATOMIC_ACQUIRE)) {
		u32 newest = 0;

		for (u32 i = GP_ISA_LANES * line->dwords; i--;) {
			u32 value = *line_word(line, i);

			line->wrong += value < newest;
			different += newest && value != newest;
			newest = value;
		}
		__atomic_store_n(&line->different, different, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void line_begin(struct machine *m, struct line *line, const struct width *width, bool apart,
		       pthread_t *id, void *(*run)(void *data))
{
	*line = (struct line){.memory = m->data,
			      .stride = width->bytes + (apart ? 16 : 0),
			      .dwords = width->bytes / 4};
	memset(m->data, 0, GP_ISA_LANES * line->stride);
	for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
		address_put(m, lane, MACHINE_DATA + lane * line->stride);
	assert_int_equal(pthread_create(id, NULL, run, line), 0);
}

/* On one processor a line is seldom seen while it is written. */
static bool line_goes_on(const struct line *line, u32 round)
{
	return round < ROUNDS || (round < 100 * ROUNDS &&
				  __atomic_load_n(&line->different, __ATOMIC_ACQUIRE) < DIFFERENT);
}

static void line_end(struct line *line, pthread_t id)
{
	__atomic_store_n(&line->stop, 1, __ATOMIC_RELEASE);
	pthread_join(id, NULL);
	assert_int_equal(line->wrong, 0);
}

static void a_load_that_finds_the_flag_finds_the_line(void **state)
{
	struct machine *m = *state;

	for (u32 i = 0; i < 2 * GP_ARRAY_SIZE(widths); i++) {
		const struct width *width = &widths[i / 2];
		struct line line;
		pthread_t id;

		line_begin(m, &line, width, i % 2, &id, line_write);
		for (u32 round = 0; line_goes_on(&line, round); round++) {
			u32 newest = 0, last = GP_ISA_LANES * line.dwords;

			RUN(m, width->load[0], width->load[1]);
			for (u32 k = last; k--;) {
				u32 value = m->wave->v[2 + k % line.dwords][k / line.dwords];

				line.wrong += value < newest;
				line.different += k + 1 < last && value != newest;
				newest = value;
			}
		}
		line_end(&line, id);
	}
}

static void who_sees_the_flag_of_a_store_sees_the_line(void **state)
{
	struct machine *m = *state;

	for (u32 i = 0; i < 2 * GP_ARRAY_SIZE(widths); i++) {
		const struct width *width = &widths[i / 2];
		struct line line;
		pthread_t id;

		line_begin(m, &line, width, i % 2, &id, line_watch);
		for (u32 n = 1; line_goes_on(&line, n); n++) {
			for (u32 row = 2; row < 6; row++)
				for (u32 lane = 0; lane < GP_ISA_LANES; lane++)
					m->wave->v[row][lane] = n;
			RUN(m, width->store[0], width->store[1]);
		}
		line_end(&line, id);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(load_faults_at_the_first_lane, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(end_of_memory, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(stores_need_memory_that_can_be_written,
						machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(private_memory_ends, machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(first_of_two_memories, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(buffers_fault_within_their_range_only,
						machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(aligned_stores_are_not_torn, machine_gfx90a,
						machine_down),
		cmocka_unit_test_setup_teardown(a_load_that_finds_the_flag_finds_the_line,
						machine_gfx90a, machine_down),
		cmocka_unit_test_setup_teardown(who_sees_the_flag_of_a_store_sees_the_line,
						machine_gfx90a, machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
