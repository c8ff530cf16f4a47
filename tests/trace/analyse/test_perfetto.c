// SPDX-License-Identifier: MIT
/* The timeline: valid JSON whatever the names, tracks by clock, lanes, flows. */
#include "logs.h"
#include "trace/read/amdlog.h"
#include "trace/analyse/perfetto.h"

#include <jansson.h>

static json_t *written(const struct gp_event *events, size_t count)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct gp_trace_perfetto *perfetto = gp_trace_perfetto_new(out);
	json_t *json;

	assert_non_null(perfetto);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(gp_trace_perfetto_event(perfetto, &events[i]), 0);
	assert_int_equal(gp_trace_perfetto_end(perfetto), 0);
	fclose(out);
	json = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
	assert_non_null(json);
	free(text);
	return json;
}

/* The nth element of a phase, or NULL. */
static const json_t *phase(const json_t *json, const char *which, size_t nth)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(json, "traceEvents"), i, item)
	{
		if (!strcmp(json_string_value(json_object_get(item, "ph")), which) && !nth--)
			return item;
	}
	return NULL;
}

static json_int_t tid(const json_t *item)
{
	return json_integer_value(json_object_get(item, "tid"));
}

static json_int_t flow(const json_t *item)
{
	return json_integer_value(json_object_get(item, "id"));
}

#define KERNEL(begin, length, number)                                                              \
	{                                                                                          \
		.kind = GP_EVENT_KERNEL, .clock = GP_CLOCK_BOOTTIME,                               \
		.valid =                                                                           \
			GP_EV_TIME | GP_EV_DURATION | GP_EV_QUEUE | GP_EV_GPU | GP_EV_CORRELATION, \
		.time_ns = begin, .duration_ns = length, .queue = 1, .gpu = 4,                     \
		.correlation = number, .name = "k", .name_len = 1,                                 \
	}

static void overlapping_kernels_of_a_queue_have_lanes(void **state)
{
	const struct gp_event events[] = {KERNEL(1000, 500, 1), KERNEL(1200, 100, 2),
					  KERNEL(1500, 100, 3)};
	json_t *json = written(events, 3);

	(void)state;
	assert_int_equal(tid(phase(json, "X", 0)), tid(phase(json, "X", 2)));
	assert_int_not_equal(tid(phase(json, "X", 0)), tid(phase(json, "X", 1)));
	assert_true(json_real_value(json_object_get(phase(json, "X", 1), "ts")) == 1.2);
	json_decref(json);
}

#define LAUNCH(number)                                                                            \
	{                                                                                         \
		.kind = GP_EVENT_CALL, .clock = GP_CLOCK_BOOTTIME,                                \
		.valid = GP_EV_TIME | GP_EV_DURATION | GP_EV_CORRELATION | GP_EV_PID | GP_EV_TID, \
		.time_ns = 500, .duration_ns = 100, .correlation = number, .pid = 5, .tid = 6,    \
		.name = "hipLaunchKernel", .name_len = 15,                                        \
	}

static void a_flow_goes_from_the_call_to_its_kernel(void **state)
{
	const struct gp_event events[] = {LAUNCH(7), KERNEL(1000, 500, 7)};
	json_t *json = written(events, 2);

	(void)state;
	assert_int_equal(flow(phase(json, "s", 0)), 7);
	assert_int_equal(flow(phase(json, "f", 0)), 7);
	assert_string_equal(json_string_value(json_object_get(phase(json, "f", 0), "bp")), "e");
	json_decref(json);
}

static void names_cannot_break_out(void **state)
{
	struct gp_event event = KERNEL(1000, 500, 1);
	json_t *json;

	(void)state;
	event.name = "a\"b\\c\n\x01\xff</script>";
	event.name_len = strlen(event.name);
	json = written(&event, 1);
	assert_string_equal(json_string_value(json_object_get(phase(json, "X", 0), "name")),
			    "a\"b\\c\n\x01\xef\xbf\xbd</script>");
	json_decref(json);
}

static void a_dispatch_has_the_name_its_thread_said_before(void **state)
{
	const struct gp_event events[] = {
		{.kind = GP_EVENT_KERNEL_NAME,
		 .valid = GP_EV_PID | GP_EV_TID,
		 .pid = 5,
		 .tid = 6,
		 .name = "gemm",
		 .name_len = 4},
		{.kind = GP_EVENT_DISPATCH,
		 .valid = GP_EV_PID | GP_EV_TID | GP_EV_TIME | GP_EV_QUEUE,
		 .pid = 5,
		 .tid = 6,
		 .time_ns = 10,
		 .queue = 0x7f00},
		{.kind = GP_EVENT_BARRIER,
		 .valid = GP_EV_PID | GP_EV_TID | GP_EV_TIME | GP_EV_QUEUE,
		 .pid = 5,
		 .tid = 6,
		 .time_ns = 20,
		 .queue = 0x7f00},
		{.kind = GP_EVENT_QUEUE_CREATED, .valid = GP_EV_PID | GP_EV_TIME, .pid = 5},
		{.kind = GP_EVENT_API_ENTER, .valid = GP_EV_PID | GP_EV_TIME, .pid = 5},
	};
	json_t *json = written(events, 5);

	(void)state;
	assert_string_equal(json_string_value(json_object_get(phase(json, "X", 0), "name")),
			    "gemm");
	assert_string_equal(json_string_value(json_object_get(phase(json, "X", 1), "name")),
			    "barrier");
	assert_string_equal(json_string_value(json_object_get(phase(json, "i", 0), "name")),
			    "queue created");
	assert_null(phase(json, "B", 0)); /* whose call it is cannot be told without a thread */
	json_decref(json);
}

static void returns_make_slices_and_lost_events_are_marked(void **state)
{
	const struct gp_event events[] = {
		{.kind = GP_EVENT_ENTER,
		 .clock = GP_CLOCK_TRACE,
		 .valid = GP_EV_PID | GP_EV_TIME,
		 .time_ns = 100,
		 .name = "f",
		 .name_len = 1,
		 .text = "a=1",
		 .text_len = 3},
		{.kind = GP_EVENT_LEAVE,
		 .clock = GP_CLOCK_TRACE,
		 .valid = GP_EV_PID | GP_EV_TIME,
		 .time_ns = 400,
		 .name = "f",
		 .name_len = 1},
		{.kind = GP_EVENT_LEAVE,
		 .clock = GP_CLOCK_TRACE,
		 .valid = GP_EV_PID | GP_EV_TIME,
		 .time_ns = 400,
		 .name = "never_entered",
		 .name_len = 13},
		{.kind = GP_EVENT_LOST,
		 .clock = GP_CLOCK_TRACE,
		 .valid = GP_EV_TIME,
		 .time_ns = 500},
		{.kind = GP_EVENT_LEAVE, .valid = GP_EV_TIME},
		{.kind = GP_EVENT_TOTAL, .valid = GP_EV_TIME},
		{.kind = GP_EVENT_MARK, .valid = 0},
	};
	json_t *json = written(events, GP_ARRAY_SIZE(events));

	(void)state;
	assert_true(json_real_value(json_object_get(phase(json, "X", 0), "dur")) == 0.3);
	assert_null(phase(json, "X", 1));
	assert_string_equal(json_string_value(
				    json_object_get(json_object_get(phase(json, "i", 0), "args"),
						    "text")),
			    "a=1");
	assert_string_equal(json_string_value(json_object_get(phase(json, "i", 1), "name")),
			    "EVENTS LOST");
	json_decref(json);
}

static void copies_and_calls_of_logs_have_tracks(void **state)
{
	const struct gp_event events[] = {
		{.kind = GP_EVENT_COPY,
		 .clock = GP_CLOCK_BOOTTIME,
		 .valid = GP_EV_TIME | GP_EV_DURATION | GP_EV_GRID,
		 .time_ns = 5000000000000,
		 .duration_ns = 10,
		 .name = "c",
		 .name_len = 1},
		{.kind = GP_EVENT_API_ENTER,
		 .valid = GP_EV_PID | GP_EV_TIME | GP_EV_TID,
		 .pid = 5,
		 .tid = 0x7f0012345678,
		 .name = "hipMalloc",
		 .name_len = 9},
		{.kind = GP_EVENT_API_RETURN,
		 .valid = GP_EV_PID | GP_EV_TIME | GP_EV_TID,
		 .pid = 5,
		 .tid = 0x7f0012345678,
		 .name = "hipMalloc",
		 .name_len = 9},
		{.kind = GP_EVENT_DISPATCH,
		 .valid = GP_EV_PID | GP_EV_TIME | GP_EV_QUEUE,
		 .pid = 5,
		 .queue = 1},
	};
	json_t *json = written(events, GP_ARRAY_SIZE(events));

	(void)state;
	assert_non_null(phase(json, "B", 0));
	assert_int_equal(tid(phase(json, "B", 0)), tid(phase(json, "E", 0)));
	assert_string_equal(json_string_value(json_object_get(phase(json, "X", 1), "name")),
			    "kernel");
	/* A late clock starts one hour in: rows before the first still have a time. */
	assert_true(json_real_value(json_object_get(phase(json, "X", 0), "ts")) == 3600000000.0);
	json_decref(json);
}

/* ---- the way of a packet, from a log's lines ---- */

static json_t *of_log(const char *text)
{
	struct gp_trace_amdlog_options options = {.name = "x.log"};
	struct gp_trace_amdlog_stats stats;
	int fd = test_memory_file(text, strlen(text));
	char *out_text = NULL;
	size_t len;
	FILE *out = open_memstream(&out_text, &len);
	struct gp_trace_perfetto *perfetto = gp_trace_perfetto_new(out);
	json_t *json;

	assert_int_equal(gp_trace_amdlog_read(fd, &options, NULL, gp_trace_perfetto_event, perfetto,
					      &stats),
			 0);
	assert_int_equal(gp_trace_perfetto_end(perfetto), 0);
	fclose(out);
	close(fd);
	json = json_loadb(out_text, len, 0, NULL);
	assert_non_null(json);
	free(out_text);
	return json;
}

#define LINE(us, text) \
	":4:rocvirtual.cpp           :827 : " us " us: [pid:77    tid:0x7f00] " text "\n"
#define PACKET(kind, signal)                                                                    \
	"HWq=0x7f10000, " kind                                                                  \
	" Header = 0xb02 (type=2, barrier=1, acquire=1, release=1), setup=1, grid=[64, 1, 1], " \
	"workgroup=[64, 1, 1], completion_signal=" signal
#define BARRIER(signal)                                                                         \
	"HWq=0x7f10000, BarrierAND Header = 0x1503 (type=3, barrier=1, acquire=2, release=2), " \
	"dep_signal=[0x0, 0x0, 0x0, 0x0, 0x0], completion_signal=" signal

/* The title of an element's track. */
static const char *title(const json_t *json, const json_t *of)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(json, "traceEvents"), i, item)
	{
		if (!strcmp(json_string_value(json_object_get(item, "name")), "thread_name") &&
		    tid(item) == tid(of))
			return json_string_value(
				json_object_get(json_object_get(item, "args"), "name"));
	}
	return "";
}

static double at(const json_t *item)
{
	return json_number_value(json_object_get(item, "ts"));
}

static void a_flow_goes_from_call_to_packet_to_completion(void **state)
{
	json_t *json = of_log(
		LINE("0000001000", "hipModuleLaunchKernel ( 0x1, 16, stream:0x5500, 0x2 )") LINE(
			"0000001001", "ihipModuleLaunchKernel ( 0x1, 16, stream:0x5500 )")
			LINE("0000001002",
			     "ShaderName : gemm") LINE("0000001003",
						       PACKET("Dispatch",
							      "0x0")) LINE("0000001004",
									   "hipModuleLaunchKernel: "
									   "Returned hipSuccess : ")
				LINE("0000001010", "hipStreamSynchronize ( stream:0x5500 )") LINE(
					"0000001011", BARRIER("0x7f80"))
					LINE("0000001012", "Host wait on completion_signal=0x7f80")
						LINE("0000001013",
						     "Host active wait for Signal = (0x7f80) "
						     "for -1 ns")
							LINE("0000002000", "Command 0x55 complete")
								LINE("0000002001",
								     "hipStreamSynchronize: "
								     "Returned hipSuccess : "));
	const json_t *id = json_object_get(phase(json, "s", 0), "id");

	(void)state;
	assert_string_equal(title(json, phase(json, "s", 0)), "thread 32512");
	/* Over its stream to its queue; */
	assert_string_equal(title(json, phase(json, "t", 0)), "stream 0x5500");
	assert_string_equal(title(json, phase(json, "t", 1)), "queue 0x7f10000");
	assert_true(json_equal(json_object_get(phase(json, "t", 1), "id"), id));
	assert_true(at(phase(json, "t", 1)) == 1003);
	/* a thread that waited for a later packet of the queue saw it complete, in the line behind.
	 */
	assert_true(json_equal(json_object_get(phase(json, "f", 0), "id"), id));
	assert_true(at(phase(json, "f", 0)) == 2000);
	assert_string_equal(title(json, phase(json, "f", 0)), "queue 0x7f10000");
	assert_non_null(phase(json, "f", 1)); /* the barrier itself */
	assert_null(phase(json, "f", 2));
	json_decref(json);
}

static void calls_that_never_return_do_not_pile_up(void **state)
{
	json_t *json =
		of_log(LINE("0000001000", "hipInit: Returned hipSuccess : ")
			       LINE("0000001001", "hipA ( 1 )") LINE("0000001002", "hipB ( 1 )")
				       LINE("0000001003", "hipA: Returned hipSuccess : ")
					       LINE("0000001004", "hipB ( 1 )")
						       LINE("0000001005", "hipB ( 1 )"));

	(void)state;
	/* A return of what was not entered ends nothing; B ends with A around it, */
	assert_string_equal(json_string_value(json_object_get(phase(json, "E", 0), "name")),
			    "hipB");
	assert_string_equal(json_string_value(json_object_get(phase(json, "E", 1), "name")),
			    "hipA");
	assert_true(at(phase(json, "E", 0)) == 1003);
	/* or when it is entered again. */
	assert_true(at(phase(json, "E", 2)) == 1005);
	assert_null(phase(json, "E", 3));
	assert_non_null(phase(json, "B", 3));
	json_decref(json);
}

static void calls_without_end_stay_shallow(void **state)
{
	struct gp_buf text = {0};
	json_t *json;
	int open = 0, deepest = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		gp_buf_printf(&text, LINE("0000001000", "hip%d ( 1 )"), i);
	json = of_log(gp_buf_str(&text));
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(json, "traceEvents"), i, item)
	{
		const char *which = json_string_value(json_object_get(item, "ph"));

		open += !strcmp(which, "B") - !strcmp(which, "E");
		deepest = open > deepest ? open : deepest;
	}
	assert_in_range(deepest, 1, 16);
	json_decref(json);
	gp_buf_free(&text);
}

static void waits_for_what_nobody_wrote_complete_nothing(void **state)
{
	json_t *json =
		of_log(LINE("0000001003", PACKET("Dispatch", "0x7f90"))
			       LINE("0000001012", "Host wait on completion_signal=0x7f80")
				       LINE("0000002000", "Command 0x55 complete")
					       LINE("0000002001", "Host wait on nothing")
						       LINE("0000002002", "Command 0x55 complete"));

	(void)state;
	/* Without a call around it the flow begins at the queue. */
	assert_string_equal(title(json, phase(json, "s", 0)), "queue 0x7f10000");
	assert_null(phase(json, "f", 0));
	json_decref(json);
}

static void more_packets_than_are_kept_lose_their_end(void **state)
{
	struct gp_buf text = {0};
	size_t ends = 0;
	json_t *json;

	(void)state;
	for (int i = 0; i < 300; i++)
		gp_buf_puts(&text, LINE("0000001003", PACKET("Dispatch", "0x0")));
	gp_buf_puts(&text, LINE("0000001004", BARRIER("0x7f80")));
	gp_buf_puts(&text, LINE("0000001012", "Host blocked wait for Signal = (0x7f80)"));
	gp_buf_puts(&text, LINE("0000002000", "Command 0x55 complete"));
	json = of_log(gp_buf_str(&text));
	while (phase(json, "f", ends))
		ends++;
	assert_int_equal(ends, 256);
	json_decref(json);
	gp_buf_free(&text);
}

/* Times of a text are rounded, durations are not. */
static void functions_nest_whatever_the_rounding(void **state)
{
#define GRAPH(which, time, length, text)                                           \
	{                                                                          \
		.kind = which, .clock = GP_CLOCK_TRACE, .pid = 1, .time_ns = time, \
		.duration_ns = length, .name = text, .name_len = 1,                \
		.valid = GP_EV_PID | GP_EV_TIME |                                  \
			 ((which) == GP_EVENT_LEAVE ? (u32)GP_EV_DURATION : 0),    \
	}
	const struct gp_event events[] = {
		GRAPH(GP_EVENT_ENTER, 1000, 0, "a"),    GRAPH(GP_EVENT_ENTER, 1000, 0, "b"),
		GRAPH(GP_EVENT_LEAVE, 1000, 1900, "b"), GRAPH(GP_EVENT_LEAVE, 2000, 2100, "a"),
		GRAPH(GP_EVENT_ENTER, 2000, 0, "c"),    GRAPH(GP_EVENT_LEAVE, 2000, 500, "c"),
	};
	json_t *json = written(events, GP_ARRAY_SIZE(events));
	double ends[3];

	(void)state;
	for (size_t i = 0; i < 3; i++)
		ends[i] = at(phase(json, "X", i)) +
			  json_number_value(json_object_get(phase(json, "X", i), "dur"));
	assert_true(at(phase(json, "X", 0)) == 1 && ends[0] == 2.9);
	/* The one around it ends with it, and the next begins behind. */
	assert_true(at(phase(json, "X", 1)) == 1 && ends[1] == 2.9);
	assert_true(at(phase(json, "X", 2)) == 2.9);
	json_decref(json);
}

static void a_function_entered_before_the_trace_and_one_never_left(void **state)
{
	struct gp_event events[80];
	json_t *json;

	(void)state;
	for (size_t i = 0; i < 78; i++)
		events[i] = (struct gp_event)GRAPH(GP_EVENT_ENTER, 5000 + i, 0, "x");
	events[78] = (struct gp_event)GRAPH(GP_EVENT_LEAVE, 6000, 3000, "y");
	events[79] = (struct gp_event)GRAPH(GP_EVENT_LEAVE, 6000, 7000, "z");
	json = written(events, 80);
	assert_string_equal(json_string_value(json_object_get(phase(json, "X", 0), "name")), "y");
	assert_true(at(phase(json, "X", 0)) == 3);
	/* It would have begun before time did. */
	assert_null(phase(json, "X", 1));
	json_decref(json);
}

static void kernels_are_on_their_stream_and_v1_knows_who_dispatched(void **state)
{
	struct gp_event events[] = {KERNEL(1000, 500, 7), KERNEL(2000, 500, 0), LAUNCH(7)};
	json_t *json;

	(void)state;
	events[0].valid |= GP_EV_STREAM;
	events[0].stream = 3;
	events[1].valid =
		(events[1].valid & ~(u32)GP_EV_CORRELATION) | GP_EV_STAGES | GP_EV_PID | GP_EV_TID;
	events[1].dispatch_ns = 1900;
	events[1].pid = 5;
	events[1].tid = 6;
	json = written(events, 3);
	assert_string_equal(title(json, phase(json, "t", 0)), "stream 3");
	assert_string_equal(title(json, phase(json, "s", 0)), "thread 6");
	assert_true(at(phase(json, "s", 0)) == 1.9);
	assert_true(json_equal(json_object_get(phase(json, "s", 0), "id"),
			       json_object_get(phase(json, "f", 0), "id")));
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overlapping_kernels_of_a_queue_have_lanes),
		cmocka_unit_test(a_flow_goes_from_the_call_to_its_kernel),
		cmocka_unit_test(names_cannot_break_out),
		cmocka_unit_test(a_dispatch_has_the_name_its_thread_said_before),
		cmocka_unit_test(returns_make_slices_and_lost_events_are_marked),
		cmocka_unit_test(copies_and_calls_of_logs_have_tracks),
		cmocka_unit_test(a_flow_goes_from_call_to_packet_to_completion),
		cmocka_unit_test(calls_that_never_return_do_not_pile_up),
		cmocka_unit_test(calls_without_end_stay_shallow),
		cmocka_unit_test(waits_for_what_nobody_wrote_complete_nothing),
		cmocka_unit_test(more_packets_than_are_kept_lose_their_end),
		cmocka_unit_test(functions_nest_whatever_the_rounding),
		cmocka_unit_test(a_function_entered_before_the_trace_and_one_never_left),
		cmocka_unit_test(kernels_are_on_their_stream_and_v1_knows_who_dispatched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
