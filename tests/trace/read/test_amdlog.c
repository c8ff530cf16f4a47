// SPDX-License-Identifier: MIT
/* The log reader: prefixes and messages of every era, wrappers, and what is neither. */
#include "logs.h"

static const char *name_of(const struct test_log *log, const struct gp_event *event)
{
	return log->names[event - log->events];
}

/* ---- eras ---- */

static void rocm45_has_no_pid_but_a_thread_in_some_messages(void **state)
{
	struct test_log log;
	const struct gp_event *event;

	(void)state;
	test_log_fixture(&log, "rocm45.log");
	assert_int_equal(log.ret, 0);
	assert_int_equal(log.stats.recognised, 8);
	assert_int_equal(log.stats.without_pid, 8);
	assert_int_equal(log.stats.lines, 9);
	assert_int_equal(log.stats.unknown, 0);
	event = find_event(&log, GP_EVENT_DISPATCH, 0);
	assert_int_equal(event->valid, GP_EV_TIME | GP_EV_TID | GP_EV_QUEUE);
	assert_int_equal(event->tid, 0x7a31c0de4440);
	assert_int_equal(event->time_ns, 73101777000);
	assert_int_equal(event->queue, 0x7a31c4480000);
	event = find_event(&log, GP_EVENT_KERNEL_NAME, 0);
	assert_string_equal(name_of(&log, event), "_Z9saxpyTilePKfPff");
	event = find_event(&log, GP_EVENT_QUEUE_SELECTED, 0);
	assert_int_equal(event->refcount, 2);
	find_event(&log, GP_EVENT_OLD_RUNTIME, 0);
	event = find_event(&log, GP_EVENT_QUEUE_DELETED, 0);
	assert_int_equal(event->refcount, 0);
	assert_true(event->valid & GP_EV_REFCOUNT);
	test_log_free(&log);
}

static void rocm52_prints_pid_colon_and_thread(void **state)
{
	struct test_log log;
	const struct gp_event *event;

	(void)state;
	test_log_fixture(&log, "rocm52.log");
	event = find_event(&log, GP_EVENT_QUEUE_CREATED, 1);
	assert_int_equal(event->pid, 733);
	assert_int_equal(event->tid, 0x7b2e1130f740);
	assert_int_equal(event->size, 2048);
	assert_int_equal(event->priority, 2);
	assert_int_equal(event->line, 5);
	event = find_event(&log, GP_EVENT_QUEUE_ERROR, 0);
	assert_false(event->valid & GP_EV_QUEUE);
	assert_int_equal(log.stats.without_pid, 0);
	test_log_free(&log);
}

static void rocm56_hostcall_and_mask_lines_are_no_queue_events(void **state)
{
	struct test_log log;

	(void)state;
	test_log_fixture(&log, "rocm56.log");
	assert_int_equal(find_event(&log, GP_EVENT_QUEUE_RELEASED, 0)->queue, 0x7c0d40c1e000);
	assert_int_equal(find_event(&log, GP_EVENT_QUEUE_RELEASED, 0)->refcount, 1);
	assert_int_equal(find_event(&log, GP_EVENT_BARRIER, 0)->queue, 0x7c0d55200000);
	for (size_t i = 0; i < log.event_count; i++)
		assert_int_not_equal(log.events[i].kind, GP_EVENT_QUEUE_DELETED);
	assert_int_equal(log.stats.unknown, 1);
	assert_int_equal(log.stats.torn, 0);
	test_log_free(&log);
}

static void rocm57_pads_a_short_pid_with_blanks(void **state)
{
	struct test_log log;
	const struct gp_event *event;

	(void)state;
	test_log_fixture(&log, "rocm57.log");
	event = find_event(&log, GP_EVENT_QUEUE_CREATED, 0);
	assert_int_equal(event->pid, 23);
	assert_int_equal(event->priority, 0);
	assert_int_equal(event->time_ns, 512441333000);
	event = find_event(&log, GP_EVENT_QUEUE_ERROR, 0);
	assert_int_equal(event->queue, 0x7d1a44700000);
	event = find_event(&log, GP_EVENT_QUEUE_DELETED, 0);
	assert_int_equal(event->queue, 0x7d1a44700000);
	event = find_event(&log, GP_EVENT_API_RETURN, 0);
	assert_string_equal(name_of(&log, event), "hipMemcpyWithStream");
	assert_false(event->valid & GP_EV_STREAM);
	test_log_free(&log);
}

static void stream_handles_grouped_by_a_locale_are_read(void **state)
{
	struct test_log log;
	const struct gp_event *event;

	(void)state;
	test_log_fixture(&log, "rocm60_locale.log");
	event = find_event(&log, GP_EVENT_API_RETURN, 0);
	assert_true(event->valid & GP_EV_STREAM);
	assert_int_equal(event->stream, 0x7d9022ab4c60);
	test_log_free(&log);
}

static void rocm62_prints_both_addresses_and_pointers(void **state)
{
	struct test_log log;
	const struct gp_event *event;

	(void)state;
	test_log_fixture(&log, "rocm62.log");
	event = find_event(&log, GP_EVENT_VERSION, 0);
	assert_string_equal(name_of(&log, event), "6.2.40909.0a1b2c3d4");
	assert_string_equal(name_of(&log, find_event(&log, GP_EVENT_VERSION, 1)), "0a1b2c3d4");
	event = find_event(&log, GP_EVENT_API_ENTER, 1);
	assert_string_equal(name_of(&log, event), "hipStreamCreate");
	event = find_event(&log, GP_EVENT_DISPATCH, 1);
	assert_int_equal(event->object, 0x7e5244a80000);
	assert_int_equal(event->queue, 0x7e4f99c00000);
	assert_int_equal(event->hsa_id, 1);
	assert_int_equal(event->rptr, 1);
	assert_int_equal(event->wptr, 3);
	event = find_event(&log, GP_EVENT_BARRIER, 0);
	assert_false(event->valid & (GP_EV_RPTR | GP_EV_WPTR));
	test_log_free(&log);
}

static void rocm63_d_after_the_time_is_no_damage(void **state)
{
	struct test_log log;
	const struct gp_event *event;

	(void)state;
	test_log_fixture(&log, "rocm63.log");
	event = find_event(&log, GP_EVENT_DISPATCH, 0);
	assert_int_equal(event->time_ns, 4410220090000);
	assert_int_equal(event->pid, 34567);
	assert_int_equal(event->tid, 0x7e6a41f0c6c0);
	assert_int_equal(event->wptr, 52);
	assert_int_equal(log.stats.recognised, 4);
	test_log_free(&log);
}

static void rocm70_level3_has_neither_pid_nor_thread(void **state)
{
	struct test_log log;
	const struct gp_event *event;

	(void)state;
	test_log_fixture(&log, "rocm70_level3.log");
	assert_int_equal(log.stats.recognised, 11);
	assert_int_equal(log.stats.without_pid, 11);
	assert_int_equal(log.stats.unknown, 1);
	event = find_event(&log, GP_EVENT_QUEUE_CREATED, 0);
	assert_int_equal(event->valid & (GP_EV_PID | GP_EV_TID), 0);
	assert_int_equal(event->time_ns, 91733001990000);
	find_event(&log, GP_EVENT_API_ENTER, 1);
	test_log_free(&log);
}

static void rocm71_packets_of_every_spelling_are_counted(void **state)
{
	struct test_log log;
	const struct gp_event *event;

	(void)state;
	test_log_fixture(&log, "rocm71.log");
	event = find_event(&log, GP_EVENT_BARRIER, 1);
	assert_int_equal(event->rptr, 904419);
	event = find_event(&log, GP_EVENT_DISPATCH, 0);
	assert_true(event->rptr == UINT64_MAX - 25 && event->wptr == UINT64_MAX - 1);
	assert_int_equal(event->hsa_id, 4);
	event = find_event(&log, GP_EVENT_API_RETURN, 0);
	assert_int_equal(event->stream, 0x7e8c05a1d3b0);
	event = find_event(&log, GP_EVENT_QUEUE_ACQUIRED, 0);
	assert_int_equal(event->refcount, 1);
	assert_int_equal(log.stats.torn, 0);
	test_log_free(&log);
}

static void rocr_lines_carry_the_raw_clock(void **state)
{
	struct test_log log;
	const struct gp_event *event;

	(void)state;
	test_log_fixture(&log, "rocr.log");
	event = find_event(&log, GP_EVENT_BARRIER, 0);
	assert_int_equal(event->clock, GP_CLOCK_MONOTONIC_RAW);
	assert_int_equal(event->pid, 4031);
	assert_int_equal(event->hsa_id, 7);
	assert_int_equal(event->rptr, 21);
	assert_int_equal(event->wptr, 23);
	test_log_free(&log);
}

static void lines_without_level_and_the_runtimes_helpers_are_recognised(void **state)
{
	struct test_log log;

	(void)state;
	test_log_fixture(&log, "quill.log");
	assert_int_equal(find_event(&log, GP_EVENT_DISPATCH, 0)->pid, 51515);
	assert_int_equal(log.stats.recognised, 3);
	assert_int_equal(log.stats.unknown, 0);
	test_log_free(&log);
}

static void abort_dump_names_a_queue_but_dispatches_nothing(void **state)
{
	struct test_log log;

	(void)state;
	test_log_fixture(&log, "crash_dump.log");
	assert_int_equal(log.ret, 0);
	assert_int_equal(log.event_count, 1);
	assert_int_equal(log.events[0].kind, GP_EVENT_OTHER);
	assert_int_equal(log.events[0].valid, GP_EV_QUEUE | GP_EV_OBJECT | GP_EV_HSA_ID);
	assert_int_equal(log.events[0].queue, 0x7ebe77a00000);
	assert_int_equal(log.stats.torn, 0);
	test_log_free(&log);
}

static void every_wrapper_is_looked_through(void **state)
{
	struct test_log log;

	(void)state;
	test_log_fixture(&log, "wrapped.log");
	assert_int_equal(log.event_count, 10);
	for (u32 i = 0; i < 10; i++) {
		const struct gp_event *event = &log.events[i];

		assert_int_equal(event->kind, GP_EVENT_DISPATCH);
		assert_int_equal(event->pid, 901 + i);
		assert_int_equal(event->tid, 0x7ee000c0de01 + i);
		assert_int_equal(event->queue, 0x7ee200001000 + i * 0x1000);
		assert_int_equal(event->time_ns, 70900110220000 + i * 1000);
		assert_int_equal(event->wptr, i + 3);
	}
	assert_int_equal(log.stats.unknown, 1);
	assert_int_equal(log.stats.torn, 0);
	test_log_free(&log);
}

static void ordinary_lines_are_other(void **state)
{
	static const char *const lines[] = {
		PREFIX "Arg0:   = val:8",
		PREFIX "12 : things",
		PREFIX "",
		PREFIX "[12] thing",
		PREFIX "^caret",
		PREFIX "Event 0x7f693a0 wait completed",
		PREFIX "command 0x1 x",
		PREFIX "aborted",
		PREFIX "retry",
		PREFIX "hip",
		PREFIX "hipMalloc: failed",
		PREFIX "Released SDMA engine",
		PREFIX "Device not Stable, while waiting",
		PREFIX "Callback: other",
		PREFIX "Created hostcall buffer 0x1 for hardware queue 0x2",
		PREFIX "Deleting hostcall buffer 0x1 for hardware queue 0x2",
		":4:rocvirtual.cpp           :1076: 0000001000 us:",
		":4:rocvirtual.cpp           :1076: 0000001000 us: 12 packets",
	};
	struct test_log log;
	char text[512];

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(lines); i++) {
		snprintf(text, sizeof(text), "%s\r\n", lines[i]);
		test_log_text(&log, text);
		assert_int_equal(log.event_count, 1);
		if (log.events[0].kind != GP_EVENT_OTHER || log.stats.torn)
			fail_msg("kind %d, torn %d: %s", log.events[0].kind, (int)log.stats.torn,
				 lines[i]);
		test_log_free(&log);
	}
}

static void what_only_looks_like_a_prefix_is_not_one(void **state)
{
	static const char *const lines[] = {
		"the copy took 15 us: fine",
		"us: 12",
		" us: x",
		"x us: y",
		": 15 us: fine",
		"12: 15 us: fine",
		"file:12: 15 us: fine",
		":  :12: 15 us: fine",
		":3:file:12345678901: 15 us: fine",
		"file.cpp:12: 12345678901234567890123 us: too long a time",
		":3:",
		":12:file.cpp:1: x",
		":1:file:1: x",
		":1:file.cpp x",
		":1:file.cpp:x: y",
	};
	struct test_log log;
	char text[512];

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(lines); i++) {
		snprintf(text, sizeof(text), "%s\n" PREFIX "x\n", lines[i]);
		test_log_text(&log, text);
		if (log.stats.recognised != 1 || log.stats.unknown != 1)
			fail_msg("taken for a log line: %s", lines[i]);
		test_log_free(&log);
	}
}

static void wrapped_line_without_location_is_recognised(void **state)
{
	struct test_log log;

	(void)state;
	test_log_text(&log, "> :4:   :0   : 12345678901234567 us: [pid:8 tid: 0x9] x\n");
	assert_int_equal(log.event_count, 1);
	assert_int_equal(log.events[0].pid, 8);
	assert_int_equal(log.events[0].time_ns, 12345678901234567000u);
	test_log_free(&log);
}

static void many_threads_and_processes_are_told_apart(void **state)
{
	struct gp_buf text = {0};
	struct test_log log;

	(void)state;
	for (u32 i = 0; i < TEST_EVENTS; i++)
		gp_buf_printf(
			&text,
			":3:a.cpp                    :1   : 1 us: [pid:%-5u tid: 0x7f%06x] x\n",
			1000 + i / 32, (i % 32) << 12);
	test_log_text(&log, gp_buf_str(&text));
	assert_int_equal(log.event_count, TEST_EVENTS);
	for (u32 i = 0; i < TEST_EVENTS; i++) {
		assert_int_equal(log.events[i].pid, 1000 + i / 32);
		assert_int_equal(log.events[i].tid, 0x7f000000 | (i % 32) << 12);
	}
	test_log_free(&log);
	gp_buf_free(&text);
}

static void fast_mode_knows_queues_from_their_counts_alone(void **state)
{
	static const char *const lines[] = {
		PREFIX "acquireQueue refCount: 0x7f20 (1)\n",
		PREFIX "releaseQueue refCount:0x7f20 (1)\n",
		PREFIX "selected queue with least refCount: 0x7f20 (1)\n",
		PREFIX "created hardware queue 0x7f20 with size 64 with priority 1\n",
		PREFIX "Deleting CG enabled hardware queue 0x7f20\n",
	};
	struct test_log log;

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(lines); i++) {
		test_log_bytes(&log, lines[i], strlen(lines[i]), true);
		assert_int_equal(log.count, 1);
		assert_int_equal(log.rows[0].address, 0x7f20);
		test_log_free(&log);
	}
}

static void fast_mode_takes_an_ordinary_log_without_queues(void **state)
{
	struct test_log log;

	(void)state;
	test_log_bytes(&log, "hello\n" PREFIX "x\n", 6 + sizeof(PREFIX) - 1 + 2, true);
	assert_int_equal(log.ret, 0);
	assert_int_equal(log.event_count, 0);
	assert_int_equal(log.stats.lines, 2);
	test_log_free(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rocm45_has_no_pid_but_a_thread_in_some_messages),
		cmocka_unit_test(rocm52_prints_pid_colon_and_thread),
		cmocka_unit_test(rocm56_hostcall_and_mask_lines_are_no_queue_events),
		cmocka_unit_test(rocm57_pads_a_short_pid_with_blanks),
		cmocka_unit_test(stream_handles_grouped_by_a_locale_are_read),
		cmocka_unit_test(rocm62_prints_both_addresses_and_pointers),
		cmocka_unit_test(rocm63_d_after_the_time_is_no_damage),
		cmocka_unit_test(rocm70_level3_has_neither_pid_nor_thread),
		cmocka_unit_test(rocm71_packets_of_every_spelling_are_counted),
		cmocka_unit_test(rocr_lines_carry_the_raw_clock),
		cmocka_unit_test(lines_without_level_and_the_runtimes_helpers_are_recognised),
		cmocka_unit_test(abort_dump_names_a_queue_but_dispatches_nothing),
		cmocka_unit_test(every_wrapper_is_looked_through),
		cmocka_unit_test(ordinary_lines_are_other),
		cmocka_unit_test(what_only_looks_like_a_prefix_is_not_one),
		cmocka_unit_test(wrapped_line_without_location_is_recognised),
		cmocka_unit_test(many_threads_and_processes_are_told_apart),
		cmocka_unit_test(fast_mode_knows_queues_from_their_counts_alone),
		cmocka_unit_test(fast_mode_takes_an_ordinary_log_without_queues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
