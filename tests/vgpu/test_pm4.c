// SPDX-License-Identifier: MIT
#include "abi/pm4.h"
#include "fake_machine.h"
#include "vgpu/compute/compute.h"
#include "vgpu/cp/execute.h"
#include "vgpu/isa/isa.h"

#define RING_WORDS 256u
#define QUEUE      2u
#define SLOT       0x100u
#define PATIENT    2000 /* turns of 5 ms */

static struct {
	u32 *ring;
	u64 *pointers; /* read, write */
	u64 at;
} queue;

static int pm4_setup(void **state)
{
	struct gp_vgpu_cp_queue made;

	fake_setup(state);
	queue.ring = fake_take(RING_WORDS * sizeof(u32), 4096);
	queue.pointers = fake_take(4096, 4096);
	queue.at = 0;
	memset(queue.pointers, 0, 4096);
	made = (struct gp_vgpu_cp_queue){
		.id = QUEUE,
		.type = GP_KFD_QUEUE_COMPUTE,
		.ring = va(queue.ring),
		.ring_bytes = RING_WORDS * sizeof(u32),
		.read_pointer = va(&queue.pointers[0]),
		.write_pointer = va(&queue.pointers[1]),
		.doorbell_slot = SLOT,
	};
	assert_int_equal(gp_vgpu_cp_add(&fake->client, &made), 0);
	return 0;
}

static u32 header(u32 opcode, u32 words)
{
	return (u32)GP_PM4_TYPE3 << 30 | (words - 2) << 16 | opcode << 8;
}

static void put(const u32 *words, u32 count)
{
	for (u32 i = 0; i < count; i++)
		queue.ring[queue.at++ % RING_WORDS] = words[i];
}

static void announce(void)
{
	queue.pointers[1] = queue.at;
	*fake_doorbell(SLOT) = queue.at;
	fake_step();
}

static u32 read_pointer(void)
{
	return (u32)queue.pointers[0];
}

/* The packet of `opcode` with these words behind its header. */
#define PUT(opcode, ...)                                          \
	do {                                                      \
		const u32 words_[] = {0, __VA_ARGS__};            \
		u32 copy_[GP_ARRAY_SIZE(words_)];                 \
		memcpy(copy_, words_, sizeof(words_));            \
		copy_[0] = header(opcode, GP_ARRAY_SIZE(words_)); \
		put(copy_, GP_ARRAY_SIZE(words_));                \
	} while (0)
#define LO(pointer) ((u32)va(pointer))
#define HI(pointer) ((u32)(va(pointer) >> 32))
#define MEMORY      (5u << 8) /* the destination of WRITE_DATA and COPY_DATA */

static u64 *place_new(void)
{
	u64 *place = fake_take(64, 64);

	memset(place, 0, 64);
	return place;
}

static void packets_without_waves_take_effect_in_order_at_completion(void **state)
{
	u64 *place = place_new();
	struct gp_vgpu_work work;

	(void)state;
	put((const u32[]){0x80000000, 0xffff1000}, 2); /* fillers of one word */
	PUT(GP_PM4_NOP, 1, 2, 3);
	PUT(GP_PM4_WRITE_DATA, MEMORY, LO(place), HI(place), 7, 8, 9);
	PUT(GP_PM4_ACQUIRE_MEM, 0, 0, 0, 0, 0, 0);
	PUT(GP_PM4_COPY_DATA, 1 | MEMORY, LO(place), HI(place), LO(place + 3), HI(place + 3));
	PUT(GP_PM4_ATOMIC_MEM, GP_PM4_ATOMIC_ADD | GP_PM4_ATOMIC_64, LO(place + 4), HI(place + 4),
	    5, 1, 0, 0, 0);
	PUT(GP_PM4_RELEASE_MEM, 0x514, GP_PM4_DATA_LOW << 29 | GP_PM4_INTERRUPT_CONFIRMED << 24,
	    LO(place + 5), HI(place + 5), 41, 0, 41);
	PUT(GP_PM4_RELEASE_MEM, 0x514, GP_PM4_DATA_CLOCK << 29, LO(place + 6), HI(place + 6), 0, 0,
	    0);
	PUT(GP_PM4_EVENT_WRITE, 0x407);
	announce();
	work = *fake_work();
	assert_null(fake_work());
	assert_int_equal(work.flags, GP_VGPU_BARRIER);
	fake_done(&work, GP_VGPU_LAUNCHED);
	assert_int_equal(place[0], 0);
	assert_int_equal(read_pointer(), 0);
	fake_done(&work, GP_VGPU_COMPLETED);
	assert_true(place[0] == (8ull << 32 | 7) && place[1] == 9);
	assert_int_equal(place[3], 7);
	assert_true(place[4] == (1ull << 32 | 5));
	assert_int_equal(place[5], 41);
	assert_int_equal(place[6], FAKE_END / GP_GPU_CLOCK_NS);
	assert_int_equal(fake->event_count, 1);
	assert_int_equal(fake->events[0], 41);
	assert_int_equal(read_pointer(), queue.at);
	assert_int_equal(fake->client.shared->mirrors[QUEUE].read_index, queue.at);
}

static void the_ring_wraps_and_its_read_pointer_with_it(void **state)
{
	u64 *place = place_new();

	(void)state;
	for (u32 i = 0; i < 200; i++) {
		PUT(GP_PM4_WRITE_DATA, MEMORY, LO(place), HI(place), i, ~i);
		announce();
		fake_run(fake_work());
		assert_true(place[0] == ((u64)~i << 32 | i));
		assert_int_equal(read_pointer(), queue.at % RING_WORDS);
	}
}

static void a_wait_holds_what_is_behind_it(void **state)
{
	static const struct {
		u32 function, wrong, right;
	} rows[] = {{1, 5, 4}, {2, 6, 5}, {3, 4, 5}, {4, 5, 6}, {5, 4, 5}, {6, 5, 6}};
	u64 *place = place_new();

	(void)state;
	for (u32 i = 0; i < GP_ARRAY_SIZE(rows); i++) {
		place[0] = rows[i].wrong | 0xff00;
		place[1] = 0;
		PUT(GP_PM4_WAIT_REG_MEM, GP_PM4_WAIT_MEMORY << 4 | rows[i].function, LO(place),
		    HI(place), 5, 0xff, 4);
		PUT(GP_PM4_WRITE_DATA, MEMORY, LO(place + 1), HI(place + 1), 1);
		announce();
		assert_null(fake_work());
		place[0] = rows[i].right | 0xff00;
		assert_true(fake_step());
		fake_run(fake_work());
		fake_run(fake_work());
		assert_int_equal(place[1], 1);
	}
}

/* As kfdtest dispatches: registers, the dispatch and a fence in an indirect buffer. */
static void a_dispatch_in_an_indirect_buffer_takes_its_time(void **state)
{
	u64 *place = place_new();
	u32 *buffer = fake_take(256, 256), at = 0;
	const u32 threads[] = {header(GP_PM4_SET_SH_REG, 5), GP_PM4_NUM_THREAD_X - GP_PM4_SH_BASE,
			       64, 2, 1};
	const u32 resources[] = {header(GP_PM4_SET_SH_REG, 3), GP_PM4_PGM_RSRC1 - GP_PM4_SH_BASE,
				 4};
	const u32 dispatch[] = {header(GP_PM4_DISPATCH_DIRECT, 5), 640, 4, 3,
				GP_PM4_DISPATCH_THREADS | 1};
	const u32 fence[] = {header(GP_PM4_RELEASE_MEM, 8),
			     0x514,
			     GP_PM4_DATA_LOW << 29,
			     LO(place),
			     HI(place),
			     9,
			     0,
			     0};
	struct gp_vgpu_work work;

	(void)state;
	for (u32 i = 0; i < 4; i++) {
		const u32 *const parts[] = {threads, resources, dispatch, fence};
		const u32 sizes[] = {sizeof(threads), sizeof(resources), sizeof(dispatch),
				     sizeof(fence)};

		memcpy(buffer + at, parts[i], sizes[i]);
		at += sizes[i] / (u32)sizeof(u32);
	}
	PUT(GP_PM4_INDIRECT_BUFFER, LO(buffer), HI(buffer), 1u << 23 | at);
	PUT(GP_PM4_WRITE_DATA, MEMORY, LO(place + 1), HI(place + 1), 3);
	announce();
	fake_run(fake_work()); /* the registers */
	assert_int_equal(read_pointer(), 0);
	work = *fake_work();
	assert_int_equal(work.flags, GP_VGPU_BARRIER | GP_VGPU_KERNEL);
	assert_int_equal(work.workgroups, 10 * 2 * 3);
	assert_int_equal(work.waves_per_workgroup, 2);
	assert_int_equal(work.vgprs, 40);
	fake_run(&work);
	assert_int_equal(place[0], 0);
	fake_run(fake_work());
	assert_int_equal(place[0], 9);
	assert_int_equal(read_pointer(), 4);
	fake_run(fake_work());
	assert_int_equal(place[1], 3);
	assert_int_equal(read_pointer(), queue.at);
}

static void what_is_not_known_or_not_there_stops_the_queue(void **state)
{
	u64 *place = place_new();

	(void)state;
	PUT(GP_PM4_WRITE_DATA, MEMORY, LO(place), HI(place), 1);
	PUT(0x7f, 1, 2);
	PUT(GP_PM4_WRITE_DATA, MEMORY, LO(place), HI(place), 2);
	announce();
	fake_run(fake_work());
	assert_null(fake_work());
	assert_int_equal(place[0], 1);
	assert_int_equal(fake->said, 1);
	assert_string_equal(fake->last_said, "0xc0017f00");
	assert_int_equal(fake->exceptions, 1);
}

static void chain(u32 *from, const u32 *to, u32 words)
{
	const u32 packet[] = {header(GP_PM4_INDIRECT_BUFFER, 4), LO(to), HI(to),
			      GP_PM4_INDIRECT_CHAIN | words};

	memcpy(from, packet, sizeof(packet));
}

static void buffers_that_chain_to_themselves_end_with_an_error(void **state)
{
	u32 *one = fake_take(64, 64), *other = fake_take(64, 64);
	char where[32];

	(void)state;
	chain(one, other, 4);
	chain(other, one, 4);
	PUT(GP_PM4_INDIRECT_BUFFER, LO(one), HI(one), 4);
	PUT(GP_PM4_NOP, 1);
	announce();
	assert_null(fake_work());
	assert_int_equal(fake->said, 1);
	snprintf(where, sizeof(where), "0x%08llx", (unsigned long long)va(one));
	assert_string_equal(fake->last_said, where);
	assert_int_equal(fake->exceptions, 1);
	assert_int_equal(read_pointer(), 0);
}

/* The count begins anew with every packet of the ring. */
static void a_long_chain_with_an_end_is_no_error(void **state)
{
	enum { LINKS = 1000, ROUNDS = 5 };
	u32 *links = fake_take(LINKS * 16, 64);

	(void)state;
	for (u32 i = 0; i + 1 < LINKS; i++)
		chain(links + i * 4, links + (i + 1) * 4, 4);
	links[(LINKS - 1) * 4] = header(GP_PM4_NOP, 4);
	for (u32 i = 0; i < ROUNDS; i++) {
		PUT(GP_PM4_INDIRECT_BUFFER, LO(links), HI(links), 4);
		announce();
		fake_run(fake_work());
		assert_int_equal(read_pointer(), queue.at);
	}
	assert_int_equal(fake->said, 0);
}

/* It is not over as if it had run. */
static void a_group_that_is_too_large_is_an_error(void **state)
{
	(void)state;
	if (!gp_isa_supported())
		skip();
	fake->client.machine.compute = true;
	PUT(GP_PM4_SET_SH_REG, GP_PM4_NUM_THREAD_X - GP_PM4_SH_BASE, 64, 32, 1);
	PUT(GP_PM4_DISPATCH_DIRECT, 64, 32, 1, GP_PM4_DISPATCH_THREADS | 1);
	announce();
	fake_run(fake_work()); /* the registers */
	fake_run(fake_work());
	assert_int_equal(fake->said, 1);
	assert_string_equal(fake->last_said, "a work-group that no compute unit holds");
	assert_int_equal(fake->exceptions, 1);
	assert_int_not_equal(read_pointer(), queue.at);
	gp_vgpu_compute_free(fake->client.cp->compute);
}

/* Modulo 2^32 this grid has 64 work-items. */
static void a_grid_that_is_too_large_is_an_error(void **state)
{
	(void)state;
	if (!gp_isa_supported())
		skip();
	fake->client.machine.compute = true;
	PUT(GP_PM4_SET_SH_REG, GP_PM4_NUM_THREAD_X - GP_PM4_SH_BASE, 64, 1, 1);
	PUT(GP_PM4_DISPATCH_DIRECT, (1u << 26) + 1, 1, 1, 1);
	announce();
	fake_run(fake_work()); /* the registers */
	fake_run(fake_work());
	assert_int_equal(fake->said, 1);
	assert_string_equal(fake->last_said, "a grid of 2^32 work-items");
	gp_vgpu_compute_free(fake->client.cp->compute);
}

static void wild_addresses_are_faults(void **state)
{
	(void)state;
	PUT(GP_PM4_WRITE_DATA, MEMORY, 0x5000, 0, 1);
	announce();
	fake_run(fake_work());
	assert_int_equal(fake->fault_count, 1);
	assert_int_equal(fake->faults[0], 0x5000);
	assert_int_equal(read_pointer(), 0);
}

/* As the driver evicts the process: what is under way is not completed, and nothing begins. */
static void a_fault_stops_all_queues_of_the_process(void **state)
{
	struct fake_queue other = fake_queue(3, 64);
	struct gp_aql_dispatch packet = fake_dispatch(fake_kernel(NULL, 0));
	struct gp_amd_signal *signal = fake_signal(1);
	struct gp_vgpu_work work;

	(void)state;
	packet.completion_signal = va(signal);
	fake_put(&other, &packet);
	fake_step();
	work = *fake_work();
	PUT(GP_PM4_INDIRECT_BUFFER, 0x6000, 0, 1u << 23 | 8);
	announce();
	assert_int_equal(fake->fault_count, 1);
	fake_run(&work);
	assert_int_equal(signal->value, 1);
	fake_put(&other, &packet);
	assert_false(fake_step());
	assert_null(fake_work());
}

static void a_fault_stops_waves_of_other_queues(void **state)
{
	static const u32 endless[] = {
		0x24020082,             /* v_lshlrev_b32_e32 v1, 2, v0 */
		0x7e040281,             /* v_mov_b32_e32 v2, 1 */
		0xdd088000, 0x00000201, /* global_atomic_add v1, v2, s[0:1] */
		0xbf8c0f70,             /* s_waitcnt vmcnt(0) */
		0xbf82fffc,             /* s_branch to the addition */
	};
	struct fake_queue other = fake_queue(3, 64);
	u32 *code = fake_take(4096, 4096), *counters = fake_take(4096, 4096), stood;
	struct gp_isa_launch launch = {
		.gfx = GP_ISA_GFX90A,
		.entry = va(code),
		.rsrc2 = 2u << 1,
		.user = {LO(counters), HI(counters)},
		.grid = {64, 1, 1},
		.group = {64, 1, 1},
	};
	struct gp_vgpu_cp *cp = fake->client.cp;
	bool stands;

	(void)state, (void)other;
	if (!gp_isa_supported())
		skip();
	fake->client.machine.compute = true;
	memcpy(code, endless, sizeof(endless));
	memset(counters, 0, 4096);
	assert_true(gp_vgpu_cp_computes(cp));
	assert_int_equal(gp_vgpu_compute_start(cp->compute, &launch, 0, 3, 77), 0);
	for (u32 i = 0; i < PATIENT && !__atomic_load_n(counters, __ATOMIC_SEQ_CST); i++)
		usleep(5000);
	assert_int_not_equal(__atomic_load_n(counters, __ATOMIC_SEQ_CST), 0);
	PUT(GP_PM4_INDIRECT_BUFFER, 0x6000, 0, 1u << 23 | 8);
	announce();
	assert_int_equal(fake->fault_count, 1);
	stood = __atomic_load_n(counters, __ATOMIC_SEQ_CST);
	usleep(200000);
	stands = __atomic_load_n(counters, __ATOMIC_SEQ_CST) == stood;
	gp_vgpu_compute_free(
		cp->compute); /* before a failure: the memory is taken from its threads */
	assert_true(stands);
}

static void a_buffer_that_is_not_there_is_a_fault(void **state)
{
	(void)state;
	PUT(GP_PM4_INDIRECT_BUFFER, 0x6000, 0, 1u << 23 | 8);
	announce();
	assert_null(fake_work());
	assert_int_equal(fake->faults[0], 0x6000);
}

static void copies_and_atomics_of_the_command_processor(void **state)
{
	u64 *place = place_new();
	u8 *from = fake_take(64, 64), *to = fake_take(64, 64);

	(void)state;
	memset(from, 0x31, 64);
	memset(to, 0, 64);
	place[0] = 10, place[1] = 20;
	PUT(GP_PM4_DMA_DATA, 0, LO(from), HI(from), LO(to), HI(to), 32);
	PUT(GP_PM4_DMA_DATA, GP_PM4_DMA_VALUE << 29, 0x01010101, 0, LO(to + 32), HI(to + 32), 16);
	PUT(GP_PM4_ATOMIC_MEM, GP_PM4_ATOMIC_SUB, LO(place), HI(place), 3, 0, 0, 0, 0);
	PUT(GP_PM4_ATOMIC_MEM, GP_PM4_ATOMIC_COMPARE_SWAP, LO(place + 1), HI(place + 1), 21, 0, 20,
	    0, 0);
	PUT(GP_PM4_ATOMIC_MEM, GP_PM4_ATOMIC_SWAP | GP_PM4_ATOMIC_64, LO(place + 2), HI(place + 2),
	    22, 0, 0, 0, 0);
	PUT(GP_PM4_COPY_DATA, GP_PM4_COPY_IMMEDIATE | MEMORY | GP_PM4_COPY_WIDE, 1, 2,
	    LO(place + 3), HI(place + 3));
	PUT(GP_PM4_COPY_DATA, GP_PM4_COPY_CLOCK | MEMORY | GP_PM4_COPY_WIDE, 0, 0, LO(place + 4),
	    HI(place + 4));
	announce();
	fake_run(fake_work());
	assert_memory_equal(to, from, 32);
	assert_int_equal(to[47], 1);
	assert_int_equal(to[48], 0);
	assert_int_equal(place[0], 7);
	assert_int_equal(place[1], 21);
	assert_int_equal(place[2], 22);
	assert_true(place[3] == (2ull << 32 | 1));
	assert_int_equal(place[4], FAKE_END / GP_GPU_CLOCK_NS);
	PUT(GP_PM4_ATOMIC_MEM, 0x3f & ~GP_PM4_ATOMIC_64, LO(place), HI(place), 0, 0, 0, 0, 0);
	announce();
	fake_run(fake_work());
	assert_int_equal(fake->said, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, pm4_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(packets_without_waves_take_effect_in_order_at_completion),
		TEST(the_ring_wraps_and_its_read_pointer_with_it),
		TEST(a_wait_holds_what_is_behind_it),
		TEST(a_dispatch_in_an_indirect_buffer_takes_its_time),
		TEST(what_is_not_known_or_not_there_stops_the_queue),
		TEST(buffers_that_chain_to_themselves_end_with_an_error),
		TEST(a_long_chain_with_an_end_is_no_error),
		TEST(a_group_that_is_too_large_is_an_error),
		TEST(a_grid_that_is_too_large_is_an_error),
		TEST(wild_addresses_are_faults),
		TEST(a_fault_stops_all_queues_of_the_process),
		TEST(a_fault_stops_waves_of_other_queues),
		TEST(a_buffer_that_is_not_there_is_a_fault),
		TEST(copies_and_atomics_of_the_command_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
