// SPDX-License-Identifier: MIT
/* The rings of work and dones, and time: what a turn of the loop does with both. */
#include "fake_server.h"

#define TARGET   100
#define DEBUGGER 200

static int start(void **state)
{
	*state = fake_start(1, GP_ERA_6_12, GP_COMPAT);
	return 0;
}

static int stop(void **state)
{
	fake_stop(*state);
	return 0;
}

/* ---- rings ---- */

static void every_packet_is_launched_and_completed_once_and_in_order(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET);
	u64 launched[2] = {0}, finished[2] = {0};
	struct gp_vgpu_done done;

	create(fake, a);
	create(fake, a);
	for (u32 i = 0; i < 3000; i++)
		ring_put(a, &(struct gp_vgpu_work){.queue_id = i % 2,
						   .tag = i / 2,
						   .flags = GP_VGPU_BARRIER});
	assert_int_equal(gp_vgpu_ring_read(&fake->server, a), 0);
	while (a->outstanding)
		pass(fake, MS);
	while (ring_get(a, &done)) {
		u64 *next = done.kind == GP_VGPU_LAUNCHED ? launched : finished;

		assert_int_equal(done.tag, next[done.queue_id]++);
	}
	assert_int_equal(launched[0] + launched[1], 3000);
	assert_int_equal(finished[0] + finished[1], 3000);
	assert_int_equal(a->dones_due, 0);
}

static void a_full_done_ring_holds_up_only_its_own_process(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET), *b = process_add(fake, DEBUGGER);
	u32 put = 0, got = 0;

	create(fake, a);
	create(fake, b);
	for (u32 i = 0; i < GP_VGPU_WORK_SLOTS; i++, put++)
		ring_put(a, &(struct gp_vgpu_work){.tag = i});
	gp_vgpu_ring_read(&fake->server, a);
	pass(fake, 100 * MS);
	assert_int_equal(a->shared->done_ring.produced, 2 * GP_VGPU_WORK_SLOTS);
	for (u32 i = 0; i < 100; i++, put++)
		ring_put(a, &(struct gp_vgpu_work){.tag = i});
	assert_int_equal(gp_vgpu_ring_read(&fake->server, a), -EAGAIN);
	assert_true(a->stalled);
	ring_put(b, &(struct gp_vgpu_work){.tag = 1});
	assert_int_equal(gp_vgpu_ring_read(&fake->server, b), 0);
	pass(fake, MS);
	assert_int_equal(completed(b), 1);
	got += completed(a);
	pass(fake, 10 * MS);
	assert_false(a->stalled);
	got += completed(a);
	assert_int_equal(got, put);
}

static void more_work_than_the_model_takes_waits(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *all[17];
	u32 got = 0;

	for (u32 p = 0; p < 17; p++) {
		all[p] = gp_vgpu_process_add(&fake->server, 1000 + (pid_t)p);
		assert_int_equal(gp_vgpu_process_share(all[p]), 0);
		create(fake, all[p]);
		for (u32 i = 0; i < GP_VGPU_WORK_SLOTS; i++)
			ring_put(all[p], &(struct gp_vgpu_work){.tag = i});
		gp_vgpu_ring_read(&fake->server, all[p]);
	}
	assert_true(all[16]->stalled); /* 16 * 4096 is all the model holds */
	for (u32 turn = 0; turn < 100; turn++) {
		pass(fake, 20 * MS);
		for (u32 p = 0; p < 17; p++)
			got += completed(all[p]);
	}
	assert_int_equal(got, 17 * GP_VGPU_WORK_SLOTS);
}

static void a_ring_that_lies_is_noticed(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET);
	struct gp_model_work out;
	struct gp_vgpu_work work = kernel(0, 1, 1000), bad;

	create(fake, a);
	a->shared->work_ring.produced = GP_VGPU_WORK_SLOTS + 1;
	assert_int_equal(gp_vgpu_ring_read(&fake->server, a), -EPROTO);
	assert_int_equal(fake->diag.warnings, 1);
	a->shared->work_ring.produced = 0;
	a->shared->done_ring.consumed = 1;
	ring_put(a, &work);
	assert_int_equal(gp_vgpu_ring_read(&fake->server, a), -EPROTO);
	a->shared->done_ring.consumed = 0;
	assert_int_equal(gp_vgpu_ring_read(&fake->server, a), 0);
	bad = work;
	bad.queue_id = GP_VGPU_MAX_QUEUES;
	ring_put(a, &bad);
	assert_int_equal(gp_vgpu_ring_read(&fake->server, a), -EPROTO);
#define LIES(field, value, sdma)                                                 \
	do {                                                                     \
		bad = work;                                                      \
		bad.field = (value);                                             \
		assert_int_equal(gp_vgpu_work_check(&bad, sdma, &out), -EPROTO); \
	} while (0)
	LIES(flags, 0x80, false);
	LIES(workgroups, 0, false);
	LIES(workgroups, 1ull << 60, false);
	LIES(workgroup_ns, UINT64_MAX, false);
	LIES(waves_per_workgroup, 0, false);
	LIES(waves_per_workgroup, 65, false);
	LIES(vgprs, 513, false);
	LIES(lds_bytes, 65537, false);
	LIES(bytes, UINT64_MAX, false);
	LIES(bytes, (1ull << 32) + 1, false);
	LIES(tag, 0, true); /* a kernel on an SDMA queue */
	assert_int_equal(gp_vgpu_work_check(&work, false, &out), 0);
	assert_int_equal(out.workgroups, 8);
	/* The largest that a correct client makes of one packet. */
	work = (struct gp_vgpu_work){.bytes = 1ull << 32};
	assert_int_equal(gp_vgpu_work_check(&work, true, &out), 0);
}

/* Dones that are due have their place, whatever the client reads: so they are counted too. */
static void room_is_kept_for_dones_that_are_still_to_come(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET);
	struct gp_vgpu_work work = kernel(0, 1, 1000);

	create(fake, a);
	for (u32 i = 0; i < GP_VGPU_WORK_SLOTS / 2; i++)
		ring_put(a, &work);
	assert_int_equal(gp_vgpu_ring_read(&fake->server, a), 0);
	pass(fake, 1000 * MS);
	assert_int_equal(a->outstanding, 0);
	assert_int_equal(a->shared->done_ring.produced, GP_VGPU_WORK_SLOTS); /* unread */
	for (u32 i = 0; i < GP_VGPU_WORK_SLOTS; i++)
		ring_put(a, &work);
	assert_int_equal(gp_vgpu_ring_read(&fake->server, a), -EAGAIN);
	assert_int_equal(a->outstanding, GP_VGPU_WORK_SLOTS / 2);
	pass(fake, 1000 * MS);
	/* Full and not overrun. */
	assert_int_equal(a->shared->done_ring.produced, GP_VGPU_DONE_SLOTS);
	assert_int_equal(completed(a), GP_VGPU_WORK_SLOTS);
	pass(fake, 1000 * MS);
	assert_int_equal(completed(a), GP_VGPU_WORK_SLOTS / 2);
}

static void what_the_ring_holds_for_a_destroyed_queue_is_not_for_the_next_of_its_id(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET);
	struct gp_vgpu_work old = kernel(0, 1, 1000), other = kernel(1, 2, 1000),
			    fresh = kernel(0, 3, 1000);
	struct gp_vgpu_done done;
	u32 seen = 0;

	assert_int_equal(create(fake, a), 0);
	assert_int_equal(create(fake, a), 1);
	a->shared->done_ring.consumed -= GP_VGPU_DONE_SLOTS; /* it has read nothing: stalled */
	ring_put(a, &old);
	ring_put(a, &other);
	assert_int_equal(gp_vgpu_ring_read(&fake->server, a), -EAGAIN);
	assert_int_equal(destroy(fake, a, 0), 0);
	assert_int_equal(create(fake, a), 0);
	ring_put(a, &fresh);
	a->shared->done_ring.consumed += GP_VGPU_DONE_SLOTS;
	pass(fake, 10 * MS);
	while (ring_get(a, &done)) {
		seen += done.kind == GP_VGPU_COMPLETED;
		assert_int_not_equal(done.tag, 1);
	}
	assert_int_equal(seen, 2);
}

static void work_for_a_queue_that_is_gone_is_dropped(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET);
	struct gp_vgpu_work work = kernel(3, 1, 1000);

	ring_put(a, &work);
	assert_int_equal(gp_vgpu_ring_read(&fake->server, a), 0);
	assert_int_equal(a->shared->work_ring.consumed, 1);
	assert_int_equal(a->outstanding, 0);
}

static void sdma_time_is_counted(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET);

	create_on(fake, a, 0, GP_KFD_QUEUE_SDMA);
	ring_put(a, &(struct gp_vgpu_work){.bytes = 10000000, .flags = GP_VGPU_BARRIER});
	gp_vgpu_ring_read(&fake->server, a);
	pass(fake, 10 * MS);
	assert_int_equal(completed(a), 1);
	assert_true(a->sdma_ns[0] >= MS);
}

/* ---- time ---- */

static void speed_stretches_time_both_ways(void **state)
{
	struct fake_server *fake = *state;

	fake->server.options.speed_permille = 500;
	fake->now = fake->server.raw_epoch_ns + 1000;
	gp_vgpu_server_tick(&fake->server);
	assert_int_equal(gp_vgpu_server_now(&fake->server), 500);
	assert_int_equal(gp_vgpu_server_raw_time(&fake->server, 500), fake->now);
	fake->server.options.speed_permille = 3000;
	assert_int_equal(gp_vgpu_server_raw_time(&fake->server, 3001),
			 fake->server.raw_epoch_ns + 1001);
	fake->server.options.speed_permille = 500;
	fake->now -= 100; /* a clock that goes back does not turn the model back */
	gp_vgpu_server_tick(&fake->server);
	assert_int_equal(gp_vgpu_server_now(&fake->server), 500);
}

/* Rotating, with batches that end all the time, at a thousand times real time. */
static struct gp_vgpu_process *overload(struct fake_server *fake)
{
	struct gp_vgpu_process *a = process_add(fake, TARGET);
	struct gp_vgpu_work work = kernel(0, 1, 1000);

	fake->server.options.speed_permille = 1000 * 1000;
	work.workgroups = 1ull << 30;
	for (u32 i = 0; i < fake_chip.slots + 8; i++) {
		assert_int_equal(create(fake, a), i);
		work.queue_id = i;
		work.tag = i;
		ring_put(a, &work);
	}
	return a;
}

static void a_turn_does_so_much_and_no_more_whatever_is_due(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_server *server = &fake->server;
	struct gp_vgpu_process *a = overload(fake);
	struct gp_model_stats before, after;
	u64 last, first;

	gp_vgpu_server_tick(server);
	assert_int_equal(gp_vgpu_ring_read(server, a), 0);
	first = gp_vgpu_server_now(server);
	for (u32 i = 0; i < 20; i++) {
		gp_model_stats(server->devices[0].model, &before);
		last = gp_vgpu_server_now(server);
		fake->now += 1000 * MS; /* a thousand seconds of model time */
		gp_vgpu_server_tick(server);
		gp_vgpu_server_advance(server);
		gp_model_stats(server->devices[0].model, &after);
		assert_true(after.batches - before.batches <= 8 * GP_VGPU_EVENTS);
		assert_true(after.batches > before.batches);
		assert_true(gp_vgpu_server_now(server) > last);
		assert_true(after.now_ns == gp_vgpu_server_now(server));
	}
	/* Far behind the clock, and not trying to catch up. */
	assert_true(gp_vgpu_server_now(server) - first < 20ull * 1000 * 1000 * MS / 100);
	last = gp_vgpu_server_now(server);
	gp_vgpu_server_tick(server);
	gp_vgpu_server_advance(server);
	assert_int_equal(gp_vgpu_server_now(server), last);
	/* Model time that has been is never ahead of the clock. */
	assert_true(gp_vgpu_server_raw_time(server, last) <= fake->now);
	assert_true(gp_vgpu_server_raw_time(server, last) + 1 >= fake->now);
}

static void a_machine_that_fell_behind_keeps_its_order_and_its_calls_end(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = overload(fake), *b = process_add(fake, DEBUGGER);
	struct gp_vgpu_work work = kernel(0, 7, MS);
	struct gp_vgpu_done done;
	u64 end = 0, asked;

	gp_vgpu_server_tick(&fake->server);
	assert_int_equal(gp_vgpu_ring_read(&fake->server, a), 0);
	fake->now += 1000 * MS;
	gp_vgpu_server_tick(&fake->server);
	gp_vgpu_server_advance(&fake->server);
	assert_true(fake->server.behind_ns > 0);
	assert_int_equal(create(fake, b), 0);
	process_end(fake, a);
	asked = fake->now;
	for (u64 i = 0; i < 3; i++) {
		ring_put(b, &work);
		gp_vgpu_ring_read(&fake->server, b);
		pass(fake, MS);
	}
	while (ring_get(b, &done)) {
		if (done.kind != GP_VGPU_COMPLETED)
			continue;
		assert_true(done.start_raw_ns >= asked && done.start_raw_ns >= end);
		assert_true(done.end_raw_ns >= done.start_raw_ns + MS / 1000);
		end = done.end_raw_ns;
	}
	assert_true(end && end <= fake->now);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(every_packet_is_launched_and_completed_once_and_in_order),
		WITH(a_full_done_ring_holds_up_only_its_own_process),
		WITH(more_work_than_the_model_takes_waits),
		WITH(a_ring_that_lies_is_noticed),
		WITH(room_is_kept_for_dones_that_are_still_to_come),
		WITH(what_the_ring_holds_for_a_destroyed_queue_is_not_for_the_next_of_its_id),
		WITH(work_for_a_queue_that_is_gone_is_dropped),
		WITH(sdma_time_is_counted),
		WITH(speed_stretches_time_both_ways),
		WITH(a_turn_does_so_much_and_no_more_whatever_is_due),
		WITH(a_machine_that_fell_behind_keeps_its_order_and_its_calls_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
