// SPDX-License-Identifier: MIT
/* The queue analysis: what only the whole log can tell, and what not even that can. */
#include "queue_events.h"

/* ---- created under one address, used under another ---- */

static void created_object_and_used_ring_become_one_row(void **state)
{
	struct test_log log;
	const struct gp_trace_log_queue *row;

	(void)state;
	test_log_fixture(&log, "rocm56.log");
	assert_int_equal(log.count, 1);
	row = &log.rows[0];
	assert_int_equal(row->address, 0x7c0d55200000);
	assert_int_equal(row->key, GP_ADDRESS_RING);
	assert_int_equal(row->object, 0x7c0d40c1e000);
	assert_int_equal(row->size_packets, 32768);
	assert_int_equal(row->dispatches, 1);
	assert_int_equal(row->barriers, 1);
	assert_int_equal(row->first_ns, 15300703410000);
	assert_int_equal(row->streams_max, 2);
	assert_int_equal(row->stream_count, 1);
	assert_true(row->created);
	test_log_free(&log);
}

static void two_created_queues_are_not_paired(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	feed_created(queues, 7, 0x1000);
	feed_created(queues, 7, 0x2000);
	feed_packet(queues, 7, 0x9000, 50, GP_CLOCK_MONOTONIC);
	rows = finish(queues, &count);
	assert_int_equal(count, 3);
	assert_int_equal(rows[2].key, GP_ADDRESS_UNKNOWN);
	gp_trace_log_queues_free(queues);
}

static void log_that_uses_one_address_for_both_is_not_paired(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	size_t count;

	feed_created(queues, 7, 0x1000);
	feed_packet(queues, 7, 0x1000, 50, GP_CLOCK_MONOTONIC);
	feed_created(queues, 7, 0x2000);
	feed_packet(queues, 7, 0x9000, 50, GP_CLOCK_MONOTONIC);
	finish(queues, &count);
	assert_int_equal(count, 3);
	gp_trace_log_queues_free(queues);
}

static void queue_used_before_the_creation_is_another(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	/* By its place in the log. */
	feed_packet(queues, 7, 0x9000, 50, GP_CLOCK_MONOTONIC);
	feed_created(queues, 7, 0x1000);
	/* By its time: lines of threads are not in order. */
	feed_created(queues, 8, 0x1000);
	feed_packet(queues, 8, 0x9000, 4, GP_CLOCK_MONOTONIC);
	/* Gone before. */
	feed_created(queues, 9, 0x1000);
	feed_life(queues, GP_EVENT_QUEUE_DELETED, 9, 0x1000, 0);
	feed_packet(queues, 9, 0x9000, 50, GP_CLOCK_MONOTONIC);
	/* Not seen at its creation, or together with another that was not. */
	feed_life(queues, GP_EVENT_QUEUE_SELECTED, 10, 0x1000, 2);
	feed_packet(queues, 10, 0x9000, 50, GP_CLOCK_MONOTONIC);
	feed_life(queues, GP_EVENT_QUEUE_SELECTED, 11, 0x2000, 2);
	feed_created(queues, 11, 0x1000);
	feed_packet(queues, 11, 0x9000, 50, GP_CLOCK_MONOTONIC);
	rows = finish(queues, &count);
	assert_int_equal(count, 11);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(rows[i].key, GP_ADDRESS_UNKNOWN);
	gp_trace_log_queues_free(queues);
}

static void rows_without_pid_are_never_paired(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	size_t count;

	feed(queues, (struct gp_event){.kind = GP_EVENT_QUEUE_CREATED,
				       .valid = GP_EV_QUEUE,
				       .queue = 0x1000});
	feed_packet(queues, 0, 0x9000, 50, GP_CLOCK_MONOTONIC);
	finish(queues, &count);
	assert_int_equal(count, 2);
	gp_trace_log_queues_free(queues);
}

/* ---- lines whose pid was torn off ---- */

static void tail_without_pid_goes_to_the_only_user_of_its_address(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	feed_tail(queues, 0x1000);
	feed_tail(queues, 0x2000);
	feed_tail(queues, 0x3000);
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
	gp_trace_log_queues_free(queues);
}

static void log_without_pids_is_not_given_to_a_process_of_another_log(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	gp_trace_log_queues_next_input(queues);
	feed_packet(queues, 9, 0x1000, 70, GP_CLOCK_MONOTONIC);
	feed_tail(queues, 0x2000);
	gp_trace_log_queues_next_input(queues);
	feed_packet(queues, 0, 0x1000, 70, GP_CLOCK_MONOTONIC);
	feed_packet(queues, 9, 0x2000, 70, GP_CLOCK_MONOTONIC);
	gp_trace_log_queues_next_input(queues);
	feed_packet(queues, 0, 0x1000, 70, GP_CLOCK_MONOTONIC);
	feed_tail(queues, 0x1000);
	rows = finish(queues, &count);
	/* Not even the two logs without pids are one process's. */
	assert_int_equal(count, 5);
	assert_int_equal(rows[0].address, 0x2000);
	assert_int_equal(rows[1].dispatches, 1);
	assert_int_equal(rows[2].dispatches, 2);
	assert_int_equal(rows[2].pid, 0);
	assert_int_equal(rows[3].pid, 9);
	assert_int_equal(rows[3].dispatches, 1);
	gp_trace_log_queues_free(queues);
}

static void process_of_two_logs_adopts_in_both(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	for (int i = 0; i < 2; i++) {
		gp_trace_log_queues_next_input(queues);
		feed_packet(queues, 9, 0x1000, 70, GP_CLOCK_MONOTONIC);
		feed_tail(queues, 0x1000);
	}
	rows = finish(queues, &count);
	assert_int_equal(count, 1);
	assert_int_equal(rows[0].dispatches, 4);
	gp_trace_log_queues_free(queues);
}

static void prefix_without_pid_is_torn_only_where_nearly_all_have_one(void **state)
{
	for (u32 with = 15; with <= 16; with++) {
		struct gp_trace_log_queues *queues = queues_new(state);
		const struct gp_trace_log_queue *rows;
		size_t count;

		for (u32 i = 0; i < with; i++)
			feed_packet(queues, 9, 0x1000, 70, GP_CLOCK_MONOTONIC);
		feed_packet(queues, 0, 0x1000, 70, GP_CLOCK_MONOTONIC);
		rows = finish(queues, &count);
		assert_int_equal(count, with == 16 ? 1 : 2);
		assert_int_equal(rows[count - 1].dispatches, with == 16 ? 17 : 15);
		gp_trace_log_queues_free(queues);
	}
}

static void thread_without_pid_is_how_an_old_release_writes(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	size_t count;

	for (u32 i = 0; i < 40; i++)
		feed_packet(queues, 9, 0x1000, 70, GP_CLOCK_MONOTONIC);
	feed(queues, (struct gp_event){.kind = GP_EVENT_DISPATCH,
				       .valid = GP_EV_QUEUE | GP_EV_TID,
				       .tid = 5,
				       .queue = 0x1000});
	finish(queues, &count);
	assert_int_equal(count, 2);
	gp_trace_log_queues_free(queues);
}

static void merged_row_keeps_the_later_pointers_and_every_fact(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	feed(queues, (struct gp_event){.kind = GP_EVENT_BARRIER,
				       .valid = GP_EV_PID | GP_EV_QUEUE | GP_EV_RPTR | GP_EV_WPTR,
				       .pid = 9,
				       .queue = 0x1000,
				       .rptr = 1,
				       .wptr = 2});
	feed(queues, (struct gp_event){.kind = GP_EVENT_BARRIER,
				       .headless = true,
				       .valid = GP_EV_QUEUE | GP_EV_RPTR | GP_EV_OBJECT |
						GP_EV_HSA_ID | GP_EV_TIME,
				       .queue = 0x1000,
				       .object = 0x500,
				       .hsa_id = 3,
				       .time_ns = 900,
				       .rptr = 4});
	feed(queues,
	     (struct gp_event){.kind = GP_EVENT_QUEUE_CREATED,
			       .headless = true,
			       .valid = GP_EV_QUEUE | GP_EV_SIZE | GP_EV_PRIORITY | GP_EV_REFCOUNT,
			       .queue = 0x1000,
			       .size = 64,
			       .priority = 2,
			       .refcount = 1});
	feed_created(queues, 9, 0x7000);
	feed(queues, (struct gp_event){.kind = GP_EVENT_QUEUE_CREATED,
				       .headless = true,
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
	assert_int_equal(rows[0].valid, GP_LQ_PACKETS | GP_LQ_RPTR | GP_LQ_OBJECT | GP_LQ_HSA_ID |
						GP_LQ_FIRST | GP_LQ_SIZE | GP_LQ_PRIORITY |
						GP_LQ_STREAMS | GP_LQ_FAILED);
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
	gp_trace_log_queues_free(queues);
}

/* ---- addresses that are used again ---- */

static void queue_created_where_one_was_deleted_is_a_new_row(void **state)
{
	for (u32 pid = 0; pid <= 7; pid += 7) {
		struct gp_trace_log_queues *queues = queues_new(state);
		const struct gp_trace_log_queue *rows;
		size_t count;

		feed_life(queues, GP_EVENT_QUEUE_CREATED, pid, 0x1000, -1);
		feed_life(queues, GP_EVENT_QUEUE_ACQUIRED, pid, 0x1000, 1);
		feed_packet(queues, pid, 0x1000, 50, GP_CLOCK_MONOTONIC);
		feed_life(queues, GP_EVENT_QUEUE_DELETED, pid, 0x1000, 0);
		/* Late, of another thread: still the old one's. */
		feed_packet(queues, pid, 0x1000, 49, GP_CLOCK_MONOTONIC);
		feed_life(queues, GP_EVENT_QUEUE_RELEASED, pid, 0x1000, 0);
		feed_life(queues, GP_EVENT_QUEUE_CREATED, pid, 0x1000, -1);
		feed_life(queues, GP_EVENT_QUEUE_ACQUIRED, pid, 0x1000, 1);
		feed_packet(queues, pid, 0x1000, 90, GP_CLOCK_MONOTONIC);
		feed_packet(queues, pid, 0x1000, 95, GP_CLOCK_MONOTONIC);
		feed_packet(queues, pid, 0x1000, 99, GP_CLOCK_MONOTONIC);
		rows = finish(queues, &count);
		assert_int_equal(count, 2);
		assert_true(rows[0].deleted && !rows[1].deleted);
		assert_int_equal(rows[0].dispatches, 2);
		assert_int_equal(rows[0].first_ns, 49);
		assert_int_equal(rows[0].last_ns, 50);
		assert_int_equal(rows[0].streams, 0);
		assert_int_equal(rows[1].dispatches, 3);
		assert_int_equal(rows[1].first_ns, 90);
		assert_int_equal(rows[1].streams, 1);
		gp_trace_log_queues_free(queues);
	}
}

static void new_queue_shows_even_when_a_line_was_lost(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	/* The deletion: a process ended without, and the next one appends to its log. */
	feed_created(queues, 7, 0x1000);
	feed_packet(queues, 7, 0x1000, 50, GP_CLOCK_MONOTONIC);
	feed_created(queues, 7, 0x1000);
	feed_packet(queues, 7, 0x1000, 20, GP_CLOCK_MONOTONIC);
	/* The creation. */
	feed_life(queues, GP_EVENT_QUEUE_DELETED, 7, 0x1000, 0);
	feed_life(queues, GP_EVENT_QUEUE_SELECTED, 7, 0x1000, 2);
	rows = finish(queues, &count);
	assert_int_equal(count, 3);
	assert_true(rows[0].deleted && rows[1].deleted && !rows[2].deleted);
	assert_int_equal(rows[1].last_ns, 20);
	assert_int_equal(rows[2].streams, 2);
	assert_false(rows[2].created);
	gp_trace_log_queues_free(queues);
}

static void tail_is_nobodys_when_two_queues_had_its_address(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	size_t count;

	feed_created(queues, 7, 0x1000);
	feed_tail(queues, 0x1000);
	feed_life(queues, GP_EVENT_QUEUE_DELETED, 7, 0x1000, 0);
	feed_created(queues, 7, 0x1000);
	finish(queues, &count);
	assert_int_equal(count, 3);
	gp_trace_log_queues_free(queues);
}

/* ---- failures ---- */

static void error_callback_marks_the_queue_by_either_address(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
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
	gp_trace_log_queues_free(queues);
}

static void feed_unnamed_error(struct gp_trace_log_queues *queues, u32 pid)
{
	feed(queues, (struct gp_event){.kind = GP_EVENT_QUEUE_ERROR,
				       .valid = pid ? GP_EV_PID : 0,
				       .pid = pid});
}

static void error_without_a_queue_is_of_the_only_one(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	feed_created(queues, 7, 0x1000);
	feed_life(queues, GP_EVENT_QUEUE_DELETED, 7, 0x1000, 0);
	feed_created(queues, 7, 0x2000);
	feed_created(queues, 8, 0x1000);
	feed_unnamed_error(queues, 7);
	feed_unnamed_error(queues, 7);
	feed_created(queues, 7, 0x3000);
	rows = finish(queues, &count);
	assert_int_equal(count, 4);
	for (size_t i = 0; i < count; i++) {
		assert_true(rows[i].valid & GP_LQ_FAILED);
		assert_int_equal(rows[i].failed, rows[i].address == 0x2000);
	}
	gp_trace_log_queues_free(queues);
}

static void error_without_a_queue_leaves_several_in_doubt(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	feed_created(queues, 7, 0x1000);
	feed_created(queues, 7, 0x2000);
	feed_life(queues, GP_EVENT_QUEUE_DELETED, 7, 0x2000, 0);
	feed_unnamed_error(queues, 7);
	/* There before the log began, though named later. */
	feed_packet(queues, 7, 0x3000, 50, GP_CLOCK_MONOTONIC);
	rows = finish(queues, &count);
	assert_int_equal(count, 3);
	assert_false(rows[0].valid & GP_LQ_FAILED);
	assert_true(rows[1].valid & GP_LQ_FAILED);
	assert_false(rows[2].valid & GP_LQ_FAILED);
	for (size_t i = 0; i < count; i++)
		assert_false(rows[i].failed);
	gp_trace_log_queues_free(queues);
}

static void error_whose_pid_was_torn_off_leaves_its_input_in_doubt(void **state)
{
	struct gp_trace_log_queues *queues = queues_new(state);
	const struct gp_trace_log_queue *rows;
	size_t count;

	feed_created(queues, 6, 0x1000);
	gp_trace_log_queues_next_input(queues);
	feed_created(queues, 7, 0x1000);
	feed_unnamed_error(queues, 0);
	rows = finish(queues, &count);
	assert_true(rows[0].valid & GP_LQ_FAILED);
	assert_false(rows[1].valid & GP_LQ_FAILED);
	gp_trace_log_queues_free(queues);
}

static void a_failure_has_its_name_and_line(void **state)
{
	static const char named[] =
		PREFIX "created hardware queue 0x7f20 with size 64 with priority 1\n" PREFIX
		       "Callback: Queue 0x7f20 aborting with error : "
		       "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent ...\n" PREFIX
		       "Callback: Queue 0x7f20 aborting with error : HSA_STATUS_ERROR\n";
	static const char unnamed[] =
		PREFIX "created hardware queue 0x7f20 with size 64 with priority 1\n" PREFIX
		       "Device::callbackQueue aborting with error : "
		       "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION: The agent ...\n";
	struct test_log log;

	(void)state;
	test_log_bytes(&log, named, sizeof(named) - 1, false);
	assert_string_equal(log.rows[0].failure.error,
			    "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION");
	assert_int_equal(log.rows[0].failure.line, 2);
	test_log_free(&log);
	test_log_bytes(&log, unnamed, sizeof(unnamed) - 1, false);
	assert_string_equal(log.rows[0].failure.error, "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION");
	assert_int_equal(log.rows[0].failure.line, 2);
	test_log_free(&log);
}

static void fast_mode_does_not_know_failures(void **state)
{
	static const char text[] =
		PREFIX "created hardware queue 0x7f20 with size 64 with priority 1\n" PREFIX
		       "Callback: Queue 0x7f20 aborting with error : x\n";
	struct test_log log;

	(void)state;
	test_log_bytes(&log, text, sizeof(text) - 1, true);
	assert_false(log.rows[0].failed);
	assert_false(log.rows[0].valid & GP_LQ_FAILED);
	test_log_free(&log);
	test_log_bytes(&log, text, sizeof(text) - 1, false);
	assert_true(log.rows[0].failed);
	assert_true(log.rows[0].valid & GP_LQ_FAILED);
	test_log_free(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(created_object_and_used_ring_become_one_row),
		cmocka_unit_test(two_created_queues_are_not_paired),
		cmocka_unit_test(log_that_uses_one_address_for_both_is_not_paired),
		cmocka_unit_test(queue_used_before_the_creation_is_another),
		cmocka_unit_test(rows_without_pid_are_never_paired),
		cmocka_unit_test(tail_without_pid_goes_to_the_only_user_of_its_address),
		cmocka_unit_test(log_without_pids_is_not_given_to_a_process_of_another_log),
		cmocka_unit_test(process_of_two_logs_adopts_in_both),
		cmocka_unit_test(prefix_without_pid_is_torn_only_where_nearly_all_have_one),
		cmocka_unit_test(thread_without_pid_is_how_an_old_release_writes),
		cmocka_unit_test(merged_row_keeps_the_later_pointers_and_every_fact),
		cmocka_unit_test(queue_created_where_one_was_deleted_is_a_new_row),
		cmocka_unit_test(new_queue_shows_even_when_a_line_was_lost),
		cmocka_unit_test(tail_is_nobodys_when_two_queues_had_its_address),
		cmocka_unit_test(error_callback_marks_the_queue_by_either_address),
		cmocka_unit_test(error_without_a_queue_is_of_the_only_one),
		cmocka_unit_test(error_without_a_queue_leaves_several_in_doubt),
		cmocka_unit_test(error_whose_pid_was_torn_off_leaves_its_input_in_doubt),
		cmocka_unit_test(a_failure_has_its_name_and_line),
		cmocka_unit_test(fast_mode_does_not_know_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
