// SPDX-License-Identifier: MIT
#include "abi/sdma.h"
#include "fake_machine.h"

#define RING_BYTES 4096u

/* An SDMA queue; words are appended and announced by hand. */
struct engine {
	u32 *ring;
	u64 *pointers; /* read, write */
	u64 at;
};

static struct engine engine_new(void)
{
	struct engine engine = {
		.ring = fake_take(RING_BYTES, 4096),
		.pointers = fake_take(4096, 4096),
	};
	struct gp_vgpu_cp_queue queue = {
		.id = 2,
		.type = GP_KFD_QUEUE_SDMA,
		.ring = va(engine.ring),
		.ring_bytes = RING_BYTES,
		.read_pointer = va(&engine.pointers[0]),
		.write_pointer = va(&engine.pointers[1]),
		.doorbell_slot = 0x100,
	};

	assert_int_equal(gp_vgpu_cp_add(&fake->client, &queue), 0);
	return engine;
}

static void put(struct engine *engine, const u32 *words, u32 count)
{
	for (u32 i = 0; i < count; i++, engine->at += sizeof(u32))
		engine->ring[engine->at % RING_BYTES / sizeof(u32)] = words[i];
}

static void ring(struct engine *engine)
{
	engine->pointers[1] = engine->at;
	*fake_doorbell(0x100) = engine->at;
	fake_step();
}

#define PUT(engine, ...)                                    \
	do {                                                \
		const u32 words_[] = {__VA_ARGS__};         \
		put(engine, words_, GP_ARRAY_SIZE(words_)); \
	} while (0)
#define LO(pointer) ((u32)va(pointer))
#define HI(pointer) ((u32)(va(pointer) >> 32))

static void put_copy(struct engine *engine, const void *to, const void *from, u32 bytes)
{
	PUT(engine, GP_SDMA_COPY, bytes - 1, 0, LO(from), HI(from), LO(to), HI(to));
}

static void put_poll(struct engine *engine, const u32 *at, u32 function, u32 value, u32 mask)
{
	PUT(engine, 1u << 31 | function << 28 | GP_SDMA_POLL_REGMEM, LO(at), HI(at), value, mask,
	    0xfffu << 16 | 4);
}

static u8 *bytes_new(u32 size, u8 seed)
{
	u8 *bytes = fake_take(size, 64);

	for (u32 i = 0; i < size; i++)
		bytes[i] = (u8)(seed ? i * 7 + seed : 0);
	return bytes;
}

static void a_broadcast_copies_to_both(void **state)
{
	struct engine engine = engine_new();
	u8 *from = bytes_new(100, 3), *first = bytes_new(100, 0), *second = bytes_new(100, 0);
	u32 *fence = fake_take(4, 4);

	(void)state;
	*fence = 0;
	PUT(&engine, GP_SDMA_COPY | GP_SDMA_COPY_BROADCAST, 99, 0, LO(from), HI(from), LO(first),
	    HI(first), LO(second), HI(second));
	PUT(&engine, GP_SDMA_FENCE, LO(fence), HI(fence), 5);
	ring(&engine);
	fake_run(fake_work());
	assert_memory_equal(first, from, 100);
	assert_memory_equal(second, from, 100);
	assert_int_equal(*fence, 5);
	/* What is not known stops the queue, with a word. */
	PUT(&engine, 0x7f);
	ring(&engine);
	assert_null(fake_work());
	assert_string_equal(fake->last_said, "0x0000007f");
}

static void a_copy_with_all_rocr_adds_is_one_command(void **state)
{
	struct engine engine = engine_new();
	struct gp_amd_signal *signal = fake_signal(1);
	u8 *from = bytes_new(1000, 3), *to = bytes_new(1000, 0);
	u64 *start = fake_take(8, 8), *end = fake_take(8, 8);
	u32 *mailbox = fake_take(8, 8);
	struct gp_vgpu_work work;

	(void)state;
	PUT(&engine, GP_SDMA_TIMESTAMP | GP_SDMA_TIMESTAMP_GET_GLOBAL << 8, LO(start), HI(start));
	PUT(&engine, GP_SDMA_POLL_REGMEM, 0, 0x80000000, 0, 0, 0); /* HDP flush */
	put_copy(&engine, to, from, 1000);
	PUT(&engine, GP_SDMA_TIMESTAMP | GP_SDMA_TIMESTAMP_GET_GLOBAL << 8, LO(end), HI(end));
	PUT(&engine, GP_SDMA_ATOMIC_ADD64 << 25 | GP_SDMA_ATOMIC, LO(&signal->value),
	    HI(&signal->value), ~0u, ~0u, 0, 0, 0);
	PUT(&engine, GP_SDMA_FENCE, LO(mailbox), HI(mailbox), 41);
	PUT(&engine, GP_SDMA_TRAP, 41);
	ring(&engine);
	work = *fake_work();
	assert_null(fake_work());
	assert_int_equal(work.bytes, 1000);
	assert_int_equal(work.flags, GP_VGPU_BARRIER);
	assert_int_equal(fake->client.shared->mirrors[2].write_index, engine.at);
	fake_done(&work, GP_VGPU_LAUNCHED);
	assert_int_equal(engine.pointers[0], 0);
	assert_int_equal(to[999], 0);
	assert_int_equal(signal->value, 1);
	fake_done(&work, GP_VGPU_COMPLETED);
	assert_int_equal(engine.pointers[0], engine.at);
	assert_int_equal(fake->client.shared->mirrors[2].read_index, engine.at);
	assert_memory_equal(to, from, 1000);
	assert_int_equal(signal->value, 0);
	assert_int_equal(*start, FAKE_START / 10);
	assert_int_equal(*end, FAKE_END / 10);
	assert_int_equal(*mailbox, 41);
	assert_int_equal(fake->event_count, 1);
	assert_int_equal(fake->events[0], 41);
}

static void poll_looks_when_all_before_it_is_done(void **state)
{
	struct engine engine = engine_new();
	u32 *flag = fake_take(4, 4);
	u8 *from = bytes_new(64, 1), *to = bytes_new(64, 0);

	(void)state;
	*flag = 0;
	PUT(&engine, GP_SDMA_FENCE, LO(flag), HI(flag), 9); /* then somebody clears it */
	put_poll(&engine, flag, GP_SDMA_EQ, 0, ~0u);
	put_copy(&engine, to, from, 64);
	ring(&engine);
	fake_run(fake_work());
	assert_int_equal(*flag, 9);
	assert_null(fake_work());
	fake_step();
	assert_null(fake_work());
	assert_int_equal(engine.pointers[0], 16);
	*flag = 0;
	assert_true(fake_step());
	fake_run(fake_work());
	assert_memory_equal(to, from, 64);
	assert_int_equal(engine.pointers[0], engine.at);
}

static void poll_compares_as_it_says(void **state)
{
	static const struct {
		u32 function, reference, wrong, right;
	} rows[] = {
		{GP_SDMA_LT, 5, 5, 4}, {GP_SDMA_LE, 5, 6, 5}, {GP_SDMA_EQ, 5, 4, 0x15},
		{GP_SDMA_NE, 5, 5, 6}, {GP_SDMA_GE, 5, 4, 5}, {GP_SDMA_GT, 5, 5, 6},
	};
	struct engine engine = engine_new();
	u32 *flag = fake_take(4, 4);

	(void)state;
	for (u32 i = 0; i < GP_ARRAY_SIZE(rows); i++) {
		*flag = rows[i].wrong;
		put_poll(&engine, flag, rows[i].function, rows[i].reference, 0xf);
		ring(&engine);
		assert_null(fake_work());
		*flag = rows[i].right;
		assert_true(fake_step());
		fake_run(fake_work());
		assert_int_equal(engine.pointers[0], engine.at);
	}
	put_poll(&engine, flag, GP_SDMA_ALWAYS, 0, 0);
	ring(&engine);
	assert_non_null(fake_work());
}

static void fill_covers_every_element(void **state)
{
	struct engine engine = engine_new();
	u32 *words = fake_take(4096, 64);
	u8 *bytes = fake_take(64, 64);

	(void)state;
	memset(words, 0xee, 4096);
	memset(bytes, 0xee, 64);
	/* ROCr: (count - 1) * 4 for dwords. */
	PUT(&engine, 2u << 30 | GP_SDMA_CONST_FILL, LO(words), HI(words), 0x12345678, 999 * 4);
	PUT(&engine, 0u << 30 | GP_SDMA_CONST_FILL, LO(bytes), HI(bytes), 0x55, 32);
	ring(&engine);
	assert_int_equal(fake_work()->bytes, 4000);
	fake_run(&fake->client.shared->work[0]);
	fake_run(fake_work());
	for (u32 i = 0; i < 1000; i++)
		assert_int_equal(words[i], 0x12345678);
	assert_int_equal(words[1000], 0xeeeeeeee);
	assert_int_equal(bytes[32], 0x55);
	assert_int_equal(bytes[33], 0xee);
}

static void rect_moves_a_window(void **state)
{
	struct engine engine = engine_new();
	u8 *from = bytes_new(4096, 5), *to = bytes_new(4096, 0);
	/* Elements of 4 bytes; rows of 16 and 32, slices of 64 and 128 elements; 5 x 3 x 2. */
	const u32 words[] = {
		2u << 29 | GP_SDMA_COPY_RECT << 8 | GP_SDMA_COPY,
		LO(from),
		HI(from),
		2 | 1 << 16,
		15u << 13,
		63,
		LO(to),
		HI(to),
		1 | 2 << 16,
		1 | 31u << 13,
		127,
		4 | 2 << 16,
		1,
	};

	(void)state;
	put(&engine, words, GP_ARRAY_SIZE(words));
	ring(&engine);
	assert_int_equal(fake_work()->bytes, 5 * 3 * 2 * 4);
	fake_run(&fake->client.shared->work[0]);
	for (u32 i = 0; i < 4096; i++) {
		u32 element = i / 4, z = element / 128, y = element % 128 / 32, x = element % 32;
		bool inside = z >= 1 && z < 3 && y >= 2 && y < 4 + 1 && x >= 1 && x < 6;
		u32 source = ((z - 1) * 64 + (y - 2 + 1) * 16 + (x - 1 + 2)) * 4 + i % 4;

		/* y 4 is the first row of the next slice: 128 elements are 4 rows of 32. */
		if (y > 3)
			inside = false;
		if (inside && y < 4)
			assert_int_equal(to[i], from[source]);
	}
	/* The third row of each slice lands in the next slice's first row, as pitches say. */
	assert_int_equal(to[(128 + 4 * 32 + 1) * 4], from[(3 * 16 + 2) * 4]);
	assert_int_equal(to[(128 + 2 * 32 + 6) * 4], 0);
	assert_int_equal(to[(128 + 2 * 32 + 0) * 4], 0);
}

static void write_and_nop(void **state)
{
	struct engine engine = engine_new();
	u32 *to = fake_take(16, 16);

	(void)state;
	PUT(&engine, 3u << 16 | GP_SDMA_NOP, 0xffffffff, 0xffffffff, 0xffffffff);
	PUT(&engine, GP_SDMA_WRITE, LO(to), HI(to), 2, 11, 22, 33);
	PUT(&engine, GP_SDMA_GCR | 1 << 8, 0, 0, 0, 0);
	PUT(&engine, GP_SDMA_ATOMIC_ADD32 << 25 | GP_SDMA_ATOMIC, LO(to), HI(to), 5, 0, 0, 0, 0);
	ring(&engine);
	assert_int_equal(fake_work()->bytes, 12);
	fake_run(&fake->client.shared->work[0]);
	assert_int_equal(to[0], 16);
	assert_int_equal(to[1], 22);
	assert_int_equal(to[2], 33);
	assert_int_equal(engine.pointers[0], engine.at);
}

static void ring_wraps_inside_a_packet(void **state)
{
	struct engine engine = engine_new();
	u8 *from = bytes_new(64, 9), *to = bytes_new(64, 0);

	(void)state;
	for (u32 i = 0; i < 200; i++) {
		memset(to, 0, 64);
		put_copy(&engine, to, from, 64); /* 28 bytes do not divide the ring */
		ring(&engine);
		fake_run(fake_work());
		assert_memory_equal(to, from, 64);
	}
	assert_int_equal(engine.pointers[0], 200 * 28);
}

static void half_a_packet_is_waited_for(void **state)
{
	struct engine engine = engine_new();
	u8 *from = bytes_new(64, 9), *to = bytes_new(64, 0);
	const u32 words[] = {GP_SDMA_COPY, 63, 0, LO(from), HI(from), LO(to), HI(to)};

	(void)state;
	put(&engine, words, 4);
	ring(&engine);
	assert_null(fake_work());
	put(&engine, words + 4, 3);
	ring(&engine);
	assert_non_null(fake_work());
}

static void wild_pointer_is_a_fault_and_stops_the_engine(void **state)
{
	struct engine engine = engine_new();
	struct gp_amd_signal *signal = fake_signal(1);
	u8 *to = bytes_new(64, 0);

	(void)state;
	put_copy(&engine, to, (void *)0x10000, 64);
	PUT(&engine, GP_SDMA_ATOMIC_ADD64 << 25 | GP_SDMA_ATOMIC, LO(&signal->value),
	    HI(&signal->value), ~0u, ~0u, 0, 0, 0);
	ring(&engine);
	fake_run(fake_work());
	assert_int_equal(fake->fault_count, 1);
	assert_int_equal(fake->faults[0], 0x10000);
	assert_int_equal(signal->value, 1);
	put_copy(&engine, to, to, 1);
	ring(&engine);
	assert_null(fake_work());
}

static void read_only_memory_is_a_fault_for_stores(void **state)
{
	u8 *page = fake_take(4096, 4096);
	struct gp_amd_signal *signal = fake_signal(1);

	(void)state;
	page[0] = 7;
	assert_int_equal(mprotect(page, 4096, PROT_READ), 0);
	for (u32 i = 0; i < 3; i++) {
		struct engine engine = engine_new();

		if (i == 0)
			PUT(&engine, GP_SDMA_FENCE, LO(page), HI(page), 41);
		else if (i == 1)
			PUT(&engine, GP_SDMA_ATOMIC_ADD64 << 25 | GP_SDMA_ATOMIC, LO(page),
			    HI(page), 1, 0, 0, 0, 0);
		else
			PUT(&engine, GP_SDMA_TIMESTAMP_GET << 8 | GP_SDMA_TIMESTAMP, LO(page),
			    HI(page));
		ring(&engine);
		fake_run(fake_work());
		assert_int_equal(fake->fault_count, i + 1);
		assert_int_equal(fake->faults[i], va(page));
	}
	assert_int_equal(page[0], 7);
	/* To read it is fine. */
	assert_non_null(gp_vgpu_cp_pointer(fake->client.cp, FAKE_GPU_ID, va(page), 8));
	assert_null(gp_vgpu_cp_place(fake->client.cp, FAKE_GPU_ID, va(page), 8));
	assert_non_null(gp_vgpu_cp_place(fake->client.cp, FAKE_GPU_ID, va(signal), 8));
	assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
}

static void unknown_packet_stops_the_engine_after_what_came_before(void **state)
{
	struct engine engine = engine_new();
	u32 *flag = fake_take(4, 4);

	(void)state;
	PUT(&engine, GP_SDMA_FENCE, LO(flag), HI(flag), 1);
	PUT(&engine, 0x7f);
	ring(&engine);
	fake_run(fake_work());
	assert_int_equal(*flag, 1);
	assert_int_equal(engine.pointers[0], 16);
	PUT(&engine, GP_SDMA_FENCE, LO(flag), HI(flag), 2);
	ring(&engine);
	assert_null(fake_work());
}

static void write_pointer_beyond_the_ring_stops_the_engine(void **state)
{
	struct engine engine = engine_new();

	(void)state;
	engine.at = RING_BYTES + 4;
	ring(&engine);
	assert_null(fake_work());
	assert_int_equal(fake->client.cp->rings[0].hold, GP_CP_HALTED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_broadcast_copies_to_both),
		TEST(a_copy_with_all_rocr_adds_is_one_command),
		TEST(poll_looks_when_all_before_it_is_done),
		TEST(poll_compares_as_it_says),
		TEST(fill_covers_every_element),
		TEST(rect_moves_a_window),
		TEST(write_and_nop),
		TEST(ring_wraps_inside_a_packet),
		TEST(half_a_packet_is_waited_for),
		TEST(wild_pointer_is_a_fault_and_stops_the_engine),
		TEST(read_only_memory_is_a_fault_for_stores),
		TEST(unknown_packet_stops_the_engine_after_what_came_before),
		TEST(write_pointer_beyond_the_ring_stops_the_engine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
