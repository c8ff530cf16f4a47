/* The queue analysis: rows, streams, addresses, and what only the whole log can tell. */
#include "logs.h"
#include "trace/map.h"

static struct gp_log_queues *queues_new(void **state)
{
	struct gp_log_queues *queues = gp_log_queues_new();

	(void)state;
	assert_non_null(queues);
	return queues;
}

static void feed(struct gp_log_queues *queues, struct gp_event event)
{
	assert_int_equal(gp_log_queues_event(queues, &event), 0);
}

static void feed_call(struct gp_log_queues *queues, enum gp_event_kind kind, u64 tid, u64 stream)
{
	const char *name = "hipStreamCreateWithFlags";

	feed(queues, (struct gp_event){.kind = kind,
				       .valid = GP_EV_PID | GP_EV_TID | (stream ? GP_EV_STREAM : 0),
				       .pid = 7,
				       .tid = tid,
				       .stream = stream,
				       .name = name,
				       .name_len = strlen(name)});
}

static void feed_selected(struct gp_log_queues *queues, u64 tid, u64 queue)
{
	feed(queues, (struct gp_event){.kind = GP_EVENT_QUEUE_SELECTED,
				       .valid = GP_EV_PID | GP_EV_TID | GP_EV_QUEUE,
				       .pid = 7,
				       .tid = tid,
				       .queue = queue});
}

static void feed_packet(struct gp_log_queues *queues, u32 pid, u64 queue, u64 time_ns,
			enum gp_clock clock)
{
	feed(queues, (struct gp_event){.kind = GP_EVENT_DISPATCH,
				       .clock = clock,
				       .valid = (pid ? GP_EV_PID : 0) | GP_EV_QUEUE |
						(time_ns ? GP_EV_TIME : 0),
				       .pid = pid,
				       .time_ns = time_ns,
				       .queue = queue});
}

static void feed_created(struct gp_log_queues *queues, u32 pid, u64 queue)
{
	feed(queues, (struct gp_event){.kind = GP_EVENT_QUEUE_CREATED,
				       .valid = GP_EV_PID | GP_EV_QUEUE | GP_EV_SIZE | GP_EV_TIME |
						GP_EV_PRIORITY,
				       .pid = pid,
				       .time_ns = 5,
				       .size = 64,
				       .priority = 2,
				       .queue = queue});
}

static const struct gp_log_queue *finish(struct gp_log_queues *queues, size_t *count)
{
	assert_int_equal(gp_log_queues_finish(queues), 0);
	return gp_log_queues_items(queues, count);
}

static void log_of_6_2_gives_ring_object_id_and_pointers(void **state)
{
	struct test_log log;
	const struct gp_log_queue *row;

	(void)state;
	test_log_fixture(&log, "rocm62.log");
	assert_int_equal(log.count, 1);
	row = &log.rows[0];
	assert_int_equal(row->pid, 19349);
	assert_int_equal(row->key, GP_ADDRESS_RING);
	assert_int_equal(row->object, 0x14dd00c94000);
	assert_int_equal(row->hsa_id, 1);
	assert_int_equal(row->size_packets, 16384);
	assert_int_equal(row->priority, 1);
	assert_int_equal(row->dispatches, 2);
	assert_int_equal(row->barriers, 1);
	/* The barrier of another thread was written later but happened first. */
	assert_int_equal(row->first_ns, 8803163705000);
	assert_int_equal(row->last_ns, 8803163800000);
	assert_int_equal(row->rptr, 1);
	assert_int_equal(row->wptr, 2);
	assert_int_equal(row->streams, 1);
	assert_int_equal(row->streams_max, 2);
	assert_int_equal(row->stream_count, 2);
	assert_int_equal(row->stream_handles[0], 0x7f693a0);
	assert_int_equal(row->stream_handles[1], 0x7f79000);
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
	assert_int_equal(log.rows[0].stream_handles[1], 0x1c7f000);
	assert_int_equal(log.rows[0].streams, 0);
	assert_true(log.rows[0].deleted);
	/* Never used: the time of its creation. */
	assert_int_equal(log.rows[0].first_ns, 418551159100000);
	assert_int_equal(log.rows[0].last_ns, 418551159100000);
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
	}
	assert_int_equal(log.rows[1].stream_handles[0], 0x55aa10002000);
	test_log_free(&log);
}

static void created_object_and_used_ring_become_one_row(void **state)
{
	struct test_log log;
	const struct gp_log_queue *row;

	(void)state;
	test_log_fixture(&log, "rocm56.log");
	assert_int_equal(log.count, 1);
	row = &log.rows[0];
	assert_int_equal(row->address, 0x7fcc12300000);
	assert_int_equal(row->key, GP_ADDRESS_RING);
	assert_int_equal(row->object, 0x7fcc0066a000);
	assert_int_equal(row->size_packets, 16384);
	assert_int_equal(row->dispatches, 1);
	assert_int_equal(row->barriers, 1);
	assert_int_equal(row->first_ns, 22175033600000);
	assert_int_equal(row->streams_max, 2);
	assert_int_equal(row->stream_count, 1);
	assert_true(row->created);
	test_log_free(&log);
}

static void two_created_queues_are_not_paired(void **state)
{
	struct gp_log_queues *queues = queues_new(state);
	const struct gp_log_queue *rows;
	size_t count;

	feed_created(queues, 7, 0x1000);
	feed_created(queues, 7, 0x2000);
	feed_packet(queues, 7, 0x9000, 50, GP_CLOCK_MONOTONIC);
	rows = finish(queues, &count);
	assert_int_equal(count, 3);
	assert_int_equal(rows[2].key, GP_ADDRESS_UNKNOWN);
	gp_log_queues_free(queues);
}

static void log_that_uses_one_address_for_both_is_not_paired(void **state)
{
	struct gp_log_queues *queues = queues_new(state);
	size_t count;

	feed_created(queues, 7, 0x1000);
	feed_packet(queues, 7, 0x1000, 50, GP_CLOCK_MONOTONIC);
	feed_created(queues, 7, 0x2000);
	feed_packet(queues, 7, 0x9000, 50, GP_CLOCK_MONOTONIC);
	finish(queues, &count);
	assert_int_equal(count, 3);
	gp_log_queues_free(queues);
}

static void packet_without_pid_goes_to_the_only_user_of_its_address(void **state)
{
	struct gp_log_queues *queues = queues_new(state);
	const struct gp_log_queue *rows;
	size_t count;

	feed_packet(queues, 0, 0x1000, 0, GP_CLOCK_MONOTONIC);
	feed_packet(queues, 0, 0x2000, 0, GP_CLOCK_MONOTONIC);
	feed_packet(queues, 0, 0x3000, 0, GP_CLOCK_MONOTONIC);
	feed_packet(queues, 9, 0x1000, 70, GP_CLOCK_MONOTONIC);
	feed_packet(queues, 9, 0x2000, 70, GP_CLOCK_MONOTONIC);
	feed_packet(queues, 8, 0x2000, 70, GP_CLOCK_MONOTONIC);
	rows = finish(queues, &count);
	assert_int_equal(count, 5);
	/* Ordered by pid, then by first appearance. */
	assert_int_equal(rows[0].pid, 0);
	assert_int_equal(rows[0].address, 0x2000);
	assert_int_equal(rows[1].address, 0x3000);
	assert_int_equal(rows[2].pid, 8);
	assert_int_equal(rows[3].pid, 9);
	assert_int_equal(rows[3].address, 0x1000);
	assert_int_equal(rows[3].dispatches, 2);
	assert_int_equal(rows[4].dispatches, 1);
	gp_log_queues_free(queues);
}

static void merged_row_keeps_the_later_pointers_and_every_fact(void **state)
{
	struct gp_log_queues *queues = queues_new(state);
	const struct gp_log_queue *rows;
	size_t count;

	feed(queues, (struct gp_event){.kind = GP_EVENT_BARRIER,
				       .valid = GP_EV_PID | GP_EV_QUEUE | GP_EV_RPTR | GP_EV_WPTR,
				       .pid = 9,
				       .queue = 0x1000,
				       .rptr = 1,
				       .wptr = 2});
	feed(queues, (struct gp_event){.kind = GP_EVENT_BARRIER,
				       .valid = GP_EV_QUEUE | GP_EV_RPTR | GP_EV_OBJECT |
						GP_EV_HSA_ID | GP_EV_TIME,
				       .queue = 0x1000,
				       .object = 0x500,
				       .hsa_id = 3,
				       .time_ns = 900,
				       .rptr = 4});
	feed(queues,
	     (struct gp_event){.kind = GP_EVENT_QUEUE_CREATED,
			       .valid = GP_EV_QUEUE | GP_EV_SIZE | GP_EV_PRIORITY | GP_EV_REFCOUNT,
			       .queue = 0x1000,
			       .size = 64,
			       .priority = 2,
			       .refcount = 1});
	feed_created(queues, 9, 0x7000);
	feed(queues, (struct gp_event){.kind = GP_EVENT_QUEUE_CREATED,
				       .valid = GP_EV_QUEUE | GP_EV_TIME,
				       .time_ns = 3,
				       .queue = 0x8000});
	feed(queues, (struct gp_event){.kind = GP_EVENT_OTHER,
				       .valid = GP_EV_PID | GP_EV_QUEUE,
				       .pid = 9,
				       .queue = 0x8000});
	rows = finish(queues, &count);
	assert_int_equal(count, 3);
	assert_int_equal(rows[0].rptr, 4);
	assert_int_equal(rows[0].valid, GP_LQ_RPTR | GP_LQ_OBJECT | GP_LQ_HSA_ID | GP_LQ_FIRST |
						GP_LQ_SIZE | GP_LQ_PRIORITY | GP_LQ_STREAMS);
	assert_int_equal(rows[0].object, 0x500);
	assert_int_equal(rows[0].hsa_id, 3);
	assert_int_equal(rows[0].first_ns, 900);
	assert_int_equal(rows[0].size_packets, 64);
	assert_int_equal(rows[0].priority, 2);
	assert_int_equal(rows[0].streams, 1);
	assert_int_equal(rows[0].key, GP_ADDRESS_RING);
	assert_int_equal(rows[2].address, 0x8000);
	assert_int_equal(rows[2].first_ns, 3);
	assert_true(rows[2].created);
	gp_log_queues_free(queues);
}

static void address_used_again_after_deletion_is_not_deleted(void **state)
{
	struct gp_log_queues *queues = queues_new(state);
	const struct gp_log_queue *rows;
	size_t count;

	feed_created(queues, 7, 0x1000);
	feed_packet(queues, 7, 0x1000, 50, GP_CLOCK_MONOTONIC);
	feed(queues, (struct gp_event){.kind = GP_EVENT_QUEUE_DELETED,
				       .valid = GP_EV_PID | GP_EV_QUEUE,
				       .pid = 7,
				       .queue = 0x1000});
	feed_created(queues, 7, 0x1000);
	feed_packet(queues, 7, 0x1000, 90, GP_CLOCK_MONOTONIC);
	rows = finish(queues, &count);
	assert_int_equal(count, 1);
	assert_false(rows[0].deleted);
	assert_int_equal(rows[0].dispatches, 2);
	assert_int_equal(rows[0].first_ns, 50);
	gp_log_queues_free(queues);
}

static void times_of_two_clocks_are_not_mixed(void **state)
{
	struct gp_log_queues *queues = queues_new(state);
	const struct gp_log_queue *rows;
	size_t count;

	feed_packet(queues, 7, 0x1000, 5000, GP_CLOCK_MONOTONIC_RAW);
	feed_packet(queues, 7, 0x1000, 90, GP_CLOCK_MONOTONIC);
	feed_packet(queues, 7, 0x1000, 9000, GP_CLOCK_MONOTONIC_RAW);
	feed_packet(queues, 7, 0x1000, 80, GP_CLOCK_MONOTONIC);
	rows = finish(queues, &count);
	assert_int_equal(rows[0].first_ns, 80);
	assert_int_equal(rows[0].last_ns, 90);
	gp_log_queues_free(queues);
}

static void pointers_of_two_packets_are_not_mixed(void **state)
{
	struct gp_log_queues *queues = queues_new(state);
	const struct gp_log_queue *rows;
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
	assert_int_equal(rows[0].valid, GP_LQ_RPTR);
	gp_log_queues_free(queues);
}

static void streams_of_threads_that_create_at_once_are_told_apart(void **state)
{
	struct gp_log_queues *queues = queues_new(state);
	const struct gp_log_queue *rows;
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
	gp_log_queues_free(queues);
}

static void calls_that_never_return_push_out_the_oldest(void **state)
{
	struct gp_log_queues *queues = queues_new(state);
	const struct gp_log_queue *rows;
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
	gp_log_queues_free(queues);
}

static void error_callback_marks_the_queue_by_either_address(void **state)
{
	struct gp_log_queues *queues = queues_new(state);
	const struct gp_log_queue *rows;
	size_t count;

	feed(queues, (struct gp_event){.kind = GP_EVENT_DISPATCH,
				       .valid = GP_EV_PID | GP_EV_QUEUE | GP_EV_OBJECT,
				       .pid = 7,
				       .queue = 0x1000,
				       .object = 0x500});
	for (u64 address = 0x500; address <= 0x600; address += 0x100)
		feed(queues, (struct gp_event){.kind = GP_EVENT_QUEUE_ERROR,
					       .valid = GP_EV_PID | GP_EV_QUEUE,
					       .pid = 7,
					       .queue = address});
	feed(queues, (struct gp_event){.kind = GP_EVENT_QUEUE_ERROR});
	feed(queues, (struct gp_event){.kind = GP_EVENT_VERSION});
	rows = finish(queues, &count);
	assert_int_equal(count, 2);
	assert_true(rows[0].failed && rows[1].failed);
	assert_int_equal(rows[1].address, 0x600);
	gp_log_queues_free(queues);
}

static void hundred_thousand_queues_are_all_found_again(void **state)
{
	struct gp_log_queues *queues = queues_new(state);
	const struct gp_log_queue *rows;
	size_t count;

	for (int pass = 0; pass < 2; pass++)
		for (u64 i = 0; i < 100000; i++)
			feed_packet(queues, 1 + (u32)(i % 3), 0x7f0000000000 + i * 0x200000, 1 + i,
				    GP_CLOCK_MONOTONIC);
	rows = finish(queues, &count);
	assert_int_equal(count, 100000);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(rows[i].dispatches, 2);
	gp_log_queues_free(queues);
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
	gp_log_queues_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log_of_6_2_gives_ring_object_id_and_pointers),
		cmocka_unit_test(log_without_threads_binds_streams_by_line_order),
		cmocka_unit_test(log_of_5_2_prints_queue_objects),
		cmocka_unit_test(created_object_and_used_ring_become_one_row),
		cmocka_unit_test(two_created_queues_are_not_paired),
		cmocka_unit_test(log_that_uses_one_address_for_both_is_not_paired),
		cmocka_unit_test(packet_without_pid_goes_to_the_only_user_of_its_address),
		cmocka_unit_test(merged_row_keeps_the_later_pointers_and_every_fact),
		cmocka_unit_test(address_used_again_after_deletion_is_not_deleted),
		cmocka_unit_test(times_of_two_clocks_are_not_mixed),
		cmocka_unit_test(pointers_of_two_packets_are_not_mixed),
		cmocka_unit_test(streams_of_threads_that_create_at_once_are_told_apart),
		cmocka_unit_test(calls_that_never_return_push_out_the_oldest),
		cmocka_unit_test(error_callback_marks_the_queue_by_either_address),
		cmocka_unit_test(hundred_thousand_queues_are_all_found_again),
		cmocka_unit_test(map_replaces_a_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
