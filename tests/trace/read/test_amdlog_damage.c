// SPDX-License-Identifier: MIT
/* The log reader: torn, cut, overlong and binary input, and what it refuses. */
#include "logs.h"

/* ---- damage ---- */

static void torn_lines_give_what_is_whole_in_them(void **state)
{
	struct test_log log;
	const struct gp_event *event;

	(void)state;
	test_log_fixture(&log, "torn.log");
	/* Line 1: the pid 8823 is the beginning of 88231 and must not appear. */
	for (size_t i = 0; i < log.event_count; i++)
		assert_int_not_equal(log.events[i].valid & GP_EV_PID ? log.events[i].pid : 0, 8823);
	/* Line 2: a tail without pid and time. */
	event = find_event(&log, GP_EVENT_BARRIER, 0);
	assert_int_equal(event->line, 2);
	assert_int_equal(event->valid & (GP_EV_PID | GP_EV_TIME | GP_EV_TID), 0);
	assert_int_equal(event->wptr, 4);
	/* Line 3: two packets; the first one's write pointer touches the tear. */
	event = find_event(&log, GP_EVENT_DISPATCH, 0);
	assert_int_equal(event->line, 3);
	assert_int_equal(event->rptr, 6);
	assert_false(event->valid & GP_EV_WPTR);
	event = find_event(&log, GP_EVENT_BARRIER, 1);
	assert_int_equal(event->pid, 410552);
	assert_int_equal(event->wptr, 33);
	/* Line 5: two tails and a whole message; the second tail's write pointer is cut. */
	event = find_event(&log, GP_EVENT_DISPATCH, 1);
	assert_int_equal(event->line, 5);
	assert_int_equal(event->wptr, 18);
	event = find_event(&log, GP_EVENT_DISPATCH, 2);
	assert_int_equal(event->rptr, 19);
	assert_false(event->valid & GP_EV_WPTR);
	find_event(&log, GP_EVENT_API_RETURN, 0);
	/* Line 6: the end of a creation. */
	event = find_event(&log, GP_EVENT_QUEUE_CREATED, 0);
	assert_int_equal(event->queue, 0x7ebfe0a00000);
	assert_int_equal(event->size, 32768);
	/* Line 7 breaks off in an address; the last line in a pointer. */
	event = find_event(&log, GP_EVENT_DISPATCH, 3);
	assert_int_equal(event->line, 8);
	assert_int_equal(event->valid & (GP_EV_RPTR | GP_EV_WPTR), GP_EV_RPTR);
	assert_int_equal(log.count, 4);
	assert_int_equal(log.stats.first_bad_line, 1);
	assert_int_equal(log.stats.lines, 8);
	assert_int_equal(log.stats.torn, 7);
	test_log_free(&log);
}

static void log_cut_anywhere_never_invents_a_queue_or_a_process(void **state)
{
	static const char text[] =
		PREFIX "Created SWq=0x7f51b4000000 to map on HWq=0x7f51a0e00000 with "
		       "size 16384 with priority 1, cooperative: 0\n" PREFIX
		       "SWq=0x7f51b4000000, HWq=0x7f51a0e00000, id=1, Dispatch "
		       "Header = 0xb02 (type=2), rptr=120, wptr=345\n" PREFIX
		       "Selected queue refCount: 0x7f51a0e00000 (12)\n" PREFIX
		       "Deleting hardware queue 0x7f51a0e00000 with refCount 0\n";

	(void)state;
	for (size_t cut = 1; cut < sizeof(text); cut++) {
		struct test_log log;

		test_log_bytes(&log, text, cut, false);
		assert_true(log.count <= 1);
		if (log.count) {
			assert_int_equal(log.rows[0].address, 0x7f51a0e00000);
			assert_int_equal(log.rows[0].pid, 77);
			if (log.rows[0].valid & GP_LQ_OBJECT)
				assert_int_equal(log.rows[0].object, 0x7f51b4000000);
			if (log.rows[0].valid & GP_LQ_WPTR)
				assert_int_equal(log.rows[0].wptr, 345);
			if (log.rows[0].valid & GP_LQ_SIZE)
				assert_int_equal(log.rows[0].size_packets, 16384);
			assert_true(log.rows[0].streams_max == 0 || log.rows[0].streams_max == 12);
		}
		if (cut == sizeof(text) - 1) {
			assert_int_equal(log.count, 1);
			assert_int_equal(log.rows[0].streams_max, 12);
		}
		test_log_free(&log);
	}
}

static void broken_fields_are_counted_as_torn(void **state)
{
	static const char *const lines[] = {
		PREFIX "HWq=0x7f20",
		PREFIX "SWq=0x7f20, HWq=0x7f30, id=, Dispatch Header",
		PREFIX "SWq=zz, HWq=0x7f30, id=1, Dispatch Header",
		PREFIX "HWq=0x7f30, id=1, Disp",
		PREFIX "Selected queue ref",
		PREFIX "selected queue refCount: 0x7f20",
		PREFIX "acquireQueue refCount: 0x7f20 (",
		PREFIX "releaseQueue refCount:zz (1)",
		PREFIX "deleting hardware queue 0x7f20",
		PREFIX "created hardware queue 0x7f20",
		PREFIX "created hardware queue 0x7f20 with size ",
		PREFIX "Created SWq=0x7f10 to map on HWq=0x7f20",
		PREFIX "Callback: Queue 0x7f20 aba",
		":4:rocvirtual.cpp           :1076: 0000001000 us: [pid:77 ti",
		":4:rocvirtual.cpp           :1076: 0000001000 us: [pid:99999999999 tid:0x1] x",
		":4:rocvirtual.cpp           :1076: 0000001000 us: 811  : [tid:0x7f",
	};
	struct test_log log;
	char text[512];

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(lines); i++) {
		snprintf(text, sizeof(text), "%s\n", lines[i]);
		test_log_text(&log, text);
		if (log.stats.torn == 0)
			fail_msg("not torn: %s", lines[i]);
		assert_int_equal(log.stats.first_bad_line, 1);
		test_log_free(&log);
	}
}

static void second_queue_key_starts_another_message(void **state)
{
	struct test_log log;

	(void)state;
	test_log_text(&log, PREFIX "SWq=0x10, SWq=0x20, HWq=0x30, HWq=0x40, Dispatch Header = 0x1 "
				   "(x), rptr=1, wptr=2\n");
	assert_int_equal(log.stats.torn, 1);
	assert_int_equal(test_log_row(&log, 0x40)->dispatches, 1);
	assert_int_equal(test_log_row(&log, 0x30)->dispatches, 0);
	test_log_free(&log);
}

static void line_torn_many_times_is_one_torn_line(void **state)
{
	struct gp_buf text = {0};
	struct test_log log;

	(void)state;
	for (int line = 0; line < 3; line++) {
		for (int i = 0; i < 500; i++)
			gp_buf_printf(&text, "%s", PREFIX "HWq=0x30, x HWq=0x40, y");
		gp_buf_printf(&text, "\n");
	}
	test_log_text(&log, gp_buf_str(&text));
	assert_int_equal(log.stats.lines, 3);
	assert_int_equal(log.stats.torn, 3);
	assert_int_equal(log.stats.recognised, 3);
	test_log_free(&log);
	gp_buf_free(&text);
	/* Lines without pid as well. */
	test_log_text(&log, ":3:a.cpp :1: 7 us: x :3:a.cpp :1: 8 us: y\n");
	assert_int_equal(log.event_count, 2);
	assert_int_equal(log.stats.without_pid, 1);
	test_log_free(&log);
}

static void number_of_more_than_64_bits_is_no_address(void **state)
{
	struct test_log log;

	(void)state;
	test_log_text(&log,
		      PREFIX "HWq=0x1000000000000000f, Dispatch Header = 0x1\n" PREFIX
			     "SWq=0x1000000000000000f, HWq=0x30, Dispatch Header = 0x1\n" PREFIX
			     "selected queue refCount: 0x1000000000000000f (2)\n" PREFIX
			     "HWq=0xfffffffffffffff0, Dispatch Header = 0x1\n");
	assert_int_equal(log.count, 2);
	assert_int_equal(log.rows[0].address, 0x30);
	assert_false(log.rows[0].valid & GP_LQ_OBJECT);
	assert_true(log.rows[1].address == 0xfffffffffffffff0u);
	assert_int_equal(log.stats.torn, 3);
	test_log_free(&log);
}

static void size_that_cannot_be_one_is_unknown(void **state)
{
	static const struct {
		const char *text;
		bool known;
	} sizes[] = {
		{"0", false},
		{"1", true},
		{"4294967296", true},
		{"4294967297", false},
		{"288230376151711744", false}, /* 2^58: in bytes 2^64 */
		{"18446744073709551613", false},
	};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(sizes); i++) {
		struct test_log log;
		char text[512];

		snprintf(text, sizeof(text),
			 PREFIX "created hardware queue 0x30 with size %s with priority 2, c\n",
			 sizes[i].text);
		test_log_text(&log, text);
		assert_int_equal(!!(log.rows[0].valid & GP_LQ_SIZE), sizes[i].known);
		assert_int_equal(log.rows[0].priority, 2);
		assert_int_equal(log.stats.torn, 0);
		test_log_free(&log);
	}
}

static void lines_end_in_crlf_as_well(void **state)
{
	struct test_log log;

	(void)state;
	test_log_text(&log, PREFIX "SWq=0x10, HWq=0x30, id=1, Dispatch Header = 0x1, rptr=1, "
				   "wptr=2\r\n\r\n");
	assert_int_equal(log.rows[0].wptr, 2);
	assert_true(log.rows[0].valid & GP_LQ_WPTR);
	assert_int_equal(log.stats.unknown, 0);
	test_log_free(&log);
}

static void hole_of_nul_bytes_does_not_hide_the_line_behind_it(void **state)
{
	static const char line[] = PREFIX "HWq=0x30, Dispatch Header = 0x1\n";
	size_t hole = 3u << 20, len = hole + 2 * sizeof(line);
	char *data = calloc(1, len);
	struct test_log log;

	(void)state;
	assert_non_null(data);
	memcpy(data, line, sizeof(line) - 1);
	memcpy(data + hole, line, sizeof(line) - 1);
	memcpy(data + hole + sizeof(line) - 1, line, sizeof(line) - 1);
	for (int fast = 0; fast < 2; fast++) {
		test_log_bytes(&log, data, hole + 2 * (sizeof(line) - 1), fast);
		assert_int_equal(log.ret, 0);
		assert_int_equal(log.rows[0].dispatches, 3);
		assert_true(log.stats.binary);
		assert_int_equal(log.stats.lines, 3);
		assert_int_equal(log.stats.overlong, 0);
		test_log_free(&log);
	}
	free(data);
}

static void overlong_line_is_read_at_its_start_only(void **state)
{
	static const char packet[] = PREFIX "HWq=0x30, Dispatch Header = 0x1, ";
	static const size_t lengths[] = {70u << 10, 300u << 10, 5u << 20};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(lengths); i++) {
		size_t len = lengths[i] + sizeof(packet);
		char *data = malloc(len);

		assert_non_null(data);
		for (size_t at = 0; at < len; at++)
			data[at] = "HWq=0x40, Dispatch Header "[at % 26];
		memcpy(data, packet, sizeof(packet) - 1);
		data[lengths[i]] = '\n';
		memcpy(data + lengths[i] + 1, packet, sizeof(packet) - 1);
		for (int fast = 0; fast < 2; fast++) {
			struct test_log log;

			test_log_bytes(&log, data, len, fast);
			assert_int_equal(log.ret, 0);
			assert_int_equal(log.stats.overlong, 1);
			assert_int_equal(log.stats.first_bad_line, 1);
			assert_int_equal(log.stats.lines, 2);
			assert_int_equal(test_log_row(&log, 0x30)->dispatches, 2);
			assert_true(test_log_row(&log, 0x40)->dispatches <
				    GP_AMDLOG_LINE_MAX / 26 + 1);
			test_log_free(&log);
		}
		free(data);
	}
}

/* ---- refusals ---- */

static void assert_refused(const void *data, size_t len, const char *what)
{
	for (int fast = 0; fast < 2; fast++) {
		struct test_log log;

		test_log_bytes(&log, data, len, fast);
		assert_int_equal(log.ret, -EINVAL);
		assert_int_equal(log.diag.errors, 1);
		if (!strstr(gp_buf_str(&log.diag.text), what) ||
		    !strstr(gp_buf_str(&log.diag.text), "some.log"))
			fail_msg("'%s' does not say '%s'", gp_buf_str(&log.diag.text), what);
		test_log_free(&log);
	}
}

static void compressed_input_is_refused_with_the_command_to_use(void **state)
{
	(void)state;
	assert_refused("\x1f\x8b\x08\0\0\0\0\0", 8, "zcat FILE > text");
	assert_refused("\xfd"
		       "7zXZ\0\0\0",
		       8, "xzcat FILE > text");
	assert_refused("\x28\xb5\x2f\xfd\0\0\0\0", 8, "zstdcat FILE > text");
	assert_refused("BZh91AY&SY", 10, "bzcat FILE > text");
	assert_refused("\x04\x22\x4d\x18\0\0\0\0", 8, "lz4cat FILE > text");
	assert_refused("PK\x03\x04\0\0\0\0", 8, "unzip -p FILE > text");
	assert_refused("\x1f\x8b", 2, "zcat FILE");
}

static void input_that_is_no_log_is_refused(void **state)
{
	(void)state;
	assert_refused("", 0, "AMD_LOG_LEVEL=4");
	assert_refused("x", 1, "AMD_LOG_LEVEL=4");
	assert_refused("hello\nworld\n", 12, "lines read: 2");
	assert_refused("\x7f"
		       "ELF\n\0\0\0\n",
		       9, "line 2: not a text log (it contains NUL bytes");
	assert_refused("ab\ncd\0ef\n", 9, "line 2: not a text log (it contains NUL bytes");
}

static void unreadable_input_is_said_with_its_reason(void **state)
{
	struct gp_trace_amdlog_options options = {.name = "gone.log"};
	struct test_diag diag = TEST_DIAG;
	struct gp_trace_amdlog_stats stats;

	(void)state;
	assert_int_equal(gp_trace_amdlog_read(-1, &options, &diag.diag, NULL, NULL, &stats),
			 -EBADF);
	assert_non_null(strstr(gp_buf_str(&diag.text), "cannot read gone.log: "));
	gp_buf_free(&diag.text);
}

static int stop_at_once(void *ctx, const struct gp_event *event)
{
	(void)event;
	(*(int *)ctx)++;
	return 42;
}

static void callback_stops_the_reader(void **state)
{
	static const char *const texts[] = {
		PREFIX "HWq=0x30, Dispatch Header = 0x1, HWq=0x40, Dispatch Header = 0x1\n" PREFIX
		       "x\n",
		"HWq=0x30, Dispatch Header = 0x1\n" PREFIX "x\n",
		"HWq=0x30, Dispatch Header = 0x1, " PREFIX "x\n",
		PREFIX "HWq=0x30, Dispatch Header = 0x1 " PREFIX "x\n",
		PREFIX "HWq=0x30, Dispatch Header = 0x1",
	};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(texts); i++) {
		for (int fast = 0; fast < 2; fast++) {
			struct gp_trace_amdlog_options options = {.name = "x", .fast = fast};
			int fd = test_memory_file(texts[i], strlen(texts[i])), calls = 0;
			struct gp_trace_amdlog_stats stats;

			assert_int_equal(gp_trace_amdlog_read(fd, &options, NULL, stop_at_once,
							      &calls, &stats),
					 42);
			assert_int_equal(calls, 1);
			close(fd);
		}
	}
}

static void pid_that_may_have_lost_digits_is_not_taken(void **state)
{
	struct test_log log;

	(void)state;
	test_log_text(&log, ":4:rocvirtual.cpp           :1076: 0000001000 us: [pid:8823\n");
	assert_int_equal(log.event_count, 1);
	assert_int_equal(log.events[0].valid, GP_EV_TIME);
	test_log_free(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(torn_lines_give_what_is_whole_in_them),
		cmocka_unit_test(log_cut_anywhere_never_invents_a_queue_or_a_process),
		cmocka_unit_test(broken_fields_are_counted_as_torn),
		cmocka_unit_test(second_queue_key_starts_another_message),
		cmocka_unit_test(line_torn_many_times_is_one_torn_line),
		cmocka_unit_test(number_of_more_than_64_bits_is_no_address),
		cmocka_unit_test(size_that_cannot_be_one_is_unknown),
		cmocka_unit_test(lines_end_in_crlf_as_well),
		cmocka_unit_test(hole_of_nul_bytes_does_not_hide_the_line_behind_it),
		cmocka_unit_test(overlong_line_is_read_at_its_start_only),
		cmocka_unit_test(compressed_input_is_refused_with_the_command_to_use),
		cmocka_unit_test(input_that_is_no_log_is_refused),
		cmocka_unit_test(unreadable_input_is_said_with_its_reason),
		cmocka_unit_test(callback_stops_the_reader),
		cmocka_unit_test(pid_that_may_have_lost_digits_is_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
