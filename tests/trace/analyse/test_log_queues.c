// SPDX-License-Identifier: MIT
/* The queue analysis: rows, streams and addresses. */
#include "queue_events.h"
#include "base/map.h"

static void log_of_6_2_gives_ring_object_id_and_pointers(void **state)
{
	struct test_log log;
	const struct gp_trace_log_queue *row;

	(void)state;
	test_log_fixture(&log, "rocm62.log");
	assert_int_equal(log.count, 1);
	row = &log.rows[0];
	assert_int_equal(row->pid, 60411);
	assert_int_equal(row->key, GP_ADDRESS_RING);
	assert_int_equal(row->object, 0x7e5244a80000);
	assert_int_equal(row->hsa_id, 1);
	assert_int_equal(row->size_packets, 32768);
	assert_int_equal(row->priority, 1);
	assert_int_equal(row->dispatches, 2);
	assert_int_equal(row->barriers, 1);
	/* The barrier of another thread was written later but happened first. */
	assert_int_equal(row->first_ns, 2750010255000);
	assert_int_equal(row->last_ns, 2750010900000);
	assert_int_equal(row->rptr, 1);
	assert_int_equal(row->wptr, 3);
	assert_int_equal(row->streams, 1);
	assert_int_equal(row->streams_max, 2);
	assert_int_equal(row->stream_count, 2);
	assert_int_equal(row->stream_handles[0], 0x5c0ffe0);
	assert_int_equal(row->stream_handles[1], 0x5c1ace0);
	assert_true(row->created && !row->deleted && !row->failed);
	test_log_free(&log);
}

static void log_without_threads_binds_streams_by_line_order(void **state)
{
	struct test_log log;

	(void)state;
	test_log_fixture(&log, "rocm70_level3.log");
	assert_int_equal(log.count, 1);
	assert_int_equal(log.rows[0].pid, 0);
	assert_int_equal(log.rows[0].stream_count, 2);
	assert_int_equal(log.rows[0].stream_handles[1], 0x2ab1ef0);
	assert_int_equal(log.rows[0].streams, 0);
	assert_true(log.rows[0].deleted);
	/* No packet is in the log: from its creation to its deletion. */
	assert_int_equal(log.rows[0].first_ns, 91733001990000);
	assert_int_equal(log.rows[0].last_ns, 91733009050000);
	test_log_free(&log);
}

static void log_of_5_2_prints_queue_objects(void **state)
{
	struct test_log log;

	(void)state;
	test_log_fixture(&log, "rocm52.log");
	assert_int_equal(log.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(log.rows[i].key, GP_ADDRESS_OBJECT);
		assert_true(log.rows[i].valid & GP_LQ_OBJECT);
		assert_int_equal(log.rows[i].object, log.rows[i].address);
		assert_int_equal(log.rows[i].stream_count, 1);
		assert_true(log.rows[i].valid & GP_LQ_HANDLES);
		assert_int_equal(log.rows[i].streams, 1);
	}
	assert_int_equal(log.rows[1].stream_handles[0], 0x561100c1ace0);
	test_log_free(&log);
}

static void times_of_two_clocks_are_not_mixed(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	feed_packet(queues, 7, 0x1000, 5000, GP_CLOCK_MONOTONIC_RAW);
	feed_packet(queues, 7, 0x1000, 90, GP_CLOCK_MONOTONIC);
	feed_packet(queues, 7, 0x1000, 9000, GP_CLOCK_MONOTONIC_RAW);
	feed_packet(queues, 7, 0x1000, 80, GP_CLOCK_MONOTONIC);
	rows = finish(queues, &count);
	assert_int_equal(rows[0].first_ns, 80);
	assert_int_equal(rows[0].last_ns, 90);
	gp_trace_log_queues_free(queues);
}

static void pointers_of_two_packets_are_not_mixed(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	for (u32 i = 0; i < 2; i++)
		feed(queues, (struct gp_event){.kind = GP_EVENT_DISPATCH,
					       .valid = GP_EV_PID | GP_EV_QUEUE | GP_EV_RPTR |
							(i == 0 ? GP_EV_WPTR : 0),
					       .pid = 7,
					       .queue = 0x1000,
					       .rptr = 10 + i,
					       .wptr = 10});
	rows = finish(queues, &count);
	assert_int_equal(rows[0].rptr, 11);
	assert_int_equal(rows[0].valid, GP_LQ_RPTR | GP_LQ_FAILED | GP_LQ_PACKETS);
	gp_trace_log_queues_free(queues);
}

static void streams_of_threads_that_create_at_once_are_told_apart(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	feed_call(queues, GP_EVENT_API_ENTER, 1, 0);
	feed_call(queues, GP_EVENT_API_ENTER, 2, 0);
	feed_selected(queues, 1, 0x1000);
	feed_selected(queues, 2, 0x2000);
	feed_selected(queues, 3, 0x3000);
	feed_call(queues, GP_EVENT_API_RETURN, 2, 0xb);
	feed_call(queues, GP_EVENT_API_RETURN, 1, 0xa);
	feed_call(queues, GP_EVENT_API_RETURN, 1, 0xc); /* never entered */
	feed_call(queues, GP_EVENT_API_ENTER, 1, 0);
	feed_call(queues, GP_EVENT_API_RETURN, 1, 0xd); /* no queue in between */
	/* The handle is reused by a later stream on the same queue: still one stream. */
	feed_call(queues, GP_EVENT_API_ENTER, 1, 0);
	feed_call(queues, GP_EVENT_API_ENTER, 1, 0);
	feed_selected(queues, 1, 0x1000);
	feed_call(queues, GP_EVENT_API_RETURN, 1, 0xa);
	rows = finish(queues, &count);
	assert_int_equal(count, 3);
	assert_int_equal(rows[0].stream_count, 1);
	assert_int_equal(rows[0].stream_handles[0], 0xa);
	assert_int_equal(rows[1].stream_count, 1);
	assert_int_equal(rows[1].stream_handles[0], 0xb);
	assert_int_equal(rows[2].stream_count, 0);
	gp_trace_log_queues_free(queues);
}

static void calls_that_never_return_push_out_the_oldest(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	for (u64 tid = 1; tid <= 65; tid++)
		feed_call(queues, GP_EVENT_API_ENTER, tid, 0);
	feed_selected(queues, 1, 0x1000);
	feed_call(queues, GP_EVENT_API_RETURN, 1, 0xa);
	feed_selected(queues, 65, 0x2000);
	feed_call(queues, GP_EVENT_API_RETURN, 65, 0xb);
	rows = finish(queues, &count);
	assert_int_equal(rows[0].stream_count, 0);
	assert_int_equal(rows[1].stream_count, 1);
	gp_trace_log_queues_free(queues);
}

/* A call as level 3 of 6.3 and later prints it: no pid, no thread. */
static void feed_bare_call(struct gp_trace_log_queues *queues, enum gp_event_kind kind,
			   const char *name, u64 stream)
{
	feed(queues, (struct gp_event){.kind = kind,
				       .valid = stream ? GP_EV_STREAM : 0,
				       .stream = stream,
				       .name = name,
				       .name_len = strlen(name)});
}

static void without_threads_a_call_inside_another_binds_nothing(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	feed_bare_call(queues, GP_EVENT_API_ENTER, "hipStreamCreate", 0);
	feed_bare_call(queues, GP_EVENT_API_ENTER, "hipStreamCreateWithFlags", 0);
	feed_life(queues, GP_EVENT_QUEUE_SELECTED, 0, 0x1000, 2);
	feed_bare_call(queues, GP_EVENT_API_RETURN, "hipStreamCreate", 0xa);
	feed_life(queues, GP_EVENT_QUEUE_SELECTED, 0, 0x2000, 2);
	feed_bare_call(queues, GP_EVENT_API_RETURN, "hipStreamCreateWithFlags", 0xb);
	/* With one queue for both, neither stream is known to be on it. */
	for (int i = 0; i < 2; i++)
		feed_bare_call(queues, GP_EVENT_API_ENTER, "hipStreamCreate", 0);
	feed_life(queues, GP_EVENT_QUEUE_SELECTED, 0, 0x1000, 2);
	for (u64 i = 0; i < 2; i++)
		feed_bare_call(queues, GP_EVENT_API_RETURN, "hipStreamCreate", 0x1a + i);
	/* A call of another kind may have created the queue for itself. */
	feed_bare_call(queues, GP_EVENT_API_ENTER, "hipStreamCreate", 0);
	feed_bare_call(queues, GP_EVENT_API_ENTER, "hipMemcpy", 0);
	feed_life(queues, GP_EVENT_QUEUE_SELECTED, 0, 0x3000, 2);
	feed_bare_call(queues, GP_EVENT_API_RETURN, "hipStreamCreate", 0xc);
	/* Two queues in one call. */
	feed_bare_call(queues, GP_EVENT_API_ENTER, "hipStreamCreate", 0);
	feed_life(queues, GP_EVENT_QUEUE_SELECTED, 0, 0x1000, 3);
	feed_life(queues, GP_EVENT_QUEUE_SELECTED, 0, 0x2000, 3);
	feed_bare_call(queues, GP_EVENT_API_RETURN, "hipStreamCreate", 0xd);
	/* One call by itself still binds. */
	feed_bare_call(queues, GP_EVENT_API_RETURN, "hipMemcpy", 0);
	feed_bare_call(queues, GP_EVENT_API_ENTER, "hipStreamCreate", 0);
	feed_life(queues, GP_EVENT_QUEUE_SELECTED, 0, 0x4000, 2);
	feed_bare_call(queues, GP_EVENT_API_RETURN, "hipStreamCreate", 0xe);
	rows = finish(queues, &count);
	assert_int_equal(count, 4);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(rows[i].stream_count, 0);
		assert_false(rows[i].valid & GP_LQ_HANDLES);
		assert_true(rows[i].valid & GP_LQ_STREAMS);
	}
	assert_int_equal(rows[3].stream_count, 1);
	gp_trace_log_queues_free(queues);
}

static void call_without_thread_ends_with_its_input(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	feed_call(queues, GP_EVENT_API_ENTER, 1, 0);
	feed_bare_call(queues, GP_EVENT_API_ENTER, "hipStreamCreate", 0);
	gp_trace_log_queues_next_input(queues);
	feed_life(queues, GP_EVENT_QUEUE_SELECTED, 0, 0x1000, 2);
	feed_bare_call(queues, GP_EVENT_API_RETURN, "hipStreamCreate", 0xa);
	/* A thread of a process goes on in the next part of its log. */
	feed_selected(queues, 1, 0x2000);
	feed_call(queues, GP_EVENT_API_RETURN, 1, 0xb);
	rows = finish(queues, &count);
	assert_int_equal(rows[0].stream_count, 0);
	assert_int_equal(rows[1].stream_count, 1);
	gp_trace_log_queues_free(queues);
}

static void creation_without_count_is_for_one_stream(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	/* Up to 5.4: a stream's queue, the null stream's, and one that is deleted with its count.
	 */
	for (u64 queue = 0x1000; queue <= 0x3000; queue += 0x1000) {
		if (queue != 0x2000)
			feed_call(queues, GP_EVENT_API_ENTER, 1, 0);
		feed(queues, (struct gp_event){.kind = GP_EVENT_QUEUE_CREATED,
					       .valid = GP_EV_PID | GP_EV_TID | GP_EV_QUEUE,
					       .pid = 7,
					       .tid = 1,
					       .queue = queue});
		if (queue != 0x2000)
			feed_call(queues, GP_EVENT_API_RETURN, 1, queue + 0xa);
	}
	feed_life(queues, GP_EVENT_QUEUE_DELETED, 7, 0x3000, 0);
	/* Seen when it was there already: how many it has is not known. */
	feed_call(queues, GP_EVENT_API_ENTER, 1, 0);
	feed_selected(queues, 1, 0x4000);
	feed_call(queues, GP_EVENT_API_RETURN, 1, 0xd);
	rows = finish(queues, &count);
	assert_int_equal(count, 4);
	assert_int_equal(rows[0].valid & (GP_LQ_STREAMS | GP_LQ_HANDLES),
			 GP_LQ_STREAMS | GP_LQ_HANDLES);
	assert_int_equal(rows[0].streams, 1);
	assert_int_equal(rows[0].streams_max, 1);
	assert_int_equal(rows[0].stream_handles[0], 0x100a);
	assert_int_equal(rows[1].valid & (GP_LQ_STREAMS | GP_LQ_HANDLES), 0);
	assert_int_equal(rows[2].streams, 0);
	assert_int_equal(rows[2].streams_max, 1);
	assert_int_equal(rows[3].valid & (GP_LQ_STREAMS | GP_LQ_HANDLES), GP_LQ_HANDLES);
	gp_trace_log_queues_free(queues);
}

static void hundred_thousand_queues_are_all_found_again(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	for (int pass = 0; pass < 2; pass++)
		for (u64 i = 0; i < 100000; i++)
			feed_packet(queues, 1 + (u32)(i % 3), 0x7f0000000000 + i * 0x200000, 1 + i,
				    GP_CLOCK_MONOTONIC);
	rows = finish(queues, &count);
	assert_int_equal(count, 100000);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(rows[i].dispatches, 2);
	gp_trace_log_queues_free(queues);
}

/* The inverse of an odd number modulo 2^64. */
static u64 inverse(u64 odd)
{
	u64 x = odd;

	for (int i = 0; i < 5; i++)
		x *= 2 - odd * x;
	return x;
}

static void keys_made_to_collide_do_not(void **state)
{
	/* Keys of one process that an unkeyed hash of this shape puts into one slot. */
	const u64 first = 0xbf58476d1ce4e5b9u, back = inverse(0x94d049bb133111ebu);
	struct gp_map map = {0};
	u64 start = (7 + 0x9e3779b97f4a7c15u) * first;

	(void)state;
	start ^= start >> 29;
	for (u64 i = 0; i < 80000; i++) {
		u64 key = (i << 32 | i) * back ^ start;

		assert_int_equal(gp_map_put(&map, 7, key, (u32)i), 0);
	}
	assert_int_equal(map.count, 80000);
	/* Half full at most: two and a half visits a key are usual. */
	assert_true(gp_map_probes(&map) < 8 * map.count);
	gp_map_free(&map);
	/* Neither do keys with a pattern: pages, and pids of one address. */
	for (u64 i = 0; i < 80000; i++) {
		assert_int_equal(gp_map_put(&map, 7, i << 44, (u32)i), 0);
		assert_int_equal(gp_map_put(&map, i + 8, 0x1000, (u32)i), 0);
	}
	assert_true(gp_map_probes(&map) < 8 * map.count);
	gp_map_free(&map);
}

static void no_two_maps_have_the_same_keys(void **state)
{
	struct gp_map a = {0}, b = {0};

	(void)state;
	assert_int_equal(gp_map_put(&a, 1, 2, 3), 0);
	assert_int_equal(gp_map_put(&b, 1, 2, 3), 0);
	assert_memory_not_equal(a.key, b.key, sizeof(a.key));
	for (size_t i = 0; i < GP_ARRAY_SIZE(a.key); i++)
		assert_true(a.key[i] & 1);
	gp_map_free(&a);
	gp_map_free(&b);
}

static void map_replaces_a_value(void **state)
{
	struct gp_map map = {0};

	(void)state;
	assert_int_equal(gp_map_get(&map, 1, 2), GP_MAP_NONE);
	assert_int_equal(gp_map_put(&map, 1, 2, 3), 0);
	assert_int_equal(gp_map_put(&map, 1, 2, 4), 0);
	assert_int_equal(gp_map_put(&map, 2, 1, 5), 0);
	assert_int_equal(gp_map_get(&map, 1, 2), 4);
	assert_int_equal(map.count, 2);
	gp_map_free(&map);
	gp_trace_log_queues_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log_of_6_2_gives_ring_object_id_and_pointers),
		cmocka_unit_test(log_without_threads_binds_streams_by_line_order),
		cmocka_unit_test(log_of_5_2_prints_queue_objects),
		cmocka_unit_test(times_of_two_clocks_are_not_mixed),
		cmocka_unit_test(pointers_of_two_packets_are_not_mixed),
		cmocka_unit_test(streams_of_threads_that_create_at_once_are_told_apart),
		cmocka_unit_test(calls_that_never_return_push_out_the_oldest),
		cmocka_unit_test(hundred_thousand_queues_are_all_found_again),
		cmocka_unit_test(without_threads_a_call_inside_another_binds_nothing),
		cmocka_unit_test(call_without_thread_ends_with_its_input),
		cmocka_unit_test(creation_without_count_is_for_one_stream),
		cmocka_unit_test(keys_made_to_collide_do_not),
		cmocka_unit_test(no_two_maps_have_the_same_keys),
		cmocka_unit_test(map_replaces_a_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
