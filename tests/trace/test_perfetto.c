/* The timeline: valid JSON whatever the names, tracks by clock, lanes, flows. */
#include "testlib.h"
#include "trace/perfetto.h"

#include <jansson.h>

static json_t *written(const struct gp_event *events, size_t count)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct gp_perfetto *perfetto = gp_perfetto_new(out);
	json_t *json;

	assert_non_null(perfetto);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(gp_perfetto_event(perfetto, &events[i]), 0);
	assert_int_equal(gp_perfetto_end(perfetto), 0);
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

static void a_flow_goes_from_the_call_to_its_kernel(void **state)
{
	const struct gp_event events[] = {{.kind = GP_EVENT_CALL,
					   .clock = GP_CLOCK_BOOTTIME,
					   .valid = GP_EV_TIME | GP_EV_DURATION |
						    GP_EV_CORRELATION | GP_EV_PID | GP_EV_TID,
					   .time_ns = 500,
					   .duration_ns = 100,
					   .correlation = 7,
					   .pid = 5,
					   .tid = 6,
					   .name = "hipLaunchKernel",
					   .name_len = 15},
					  KERNEL(1000, 500, 7)};
	json_t *json = written(events, 2);

	(void)state;
	assert_int_equal(json_integer_value(json_object_get(phase(json, "s", 0), "id")), 7);
	assert_int_equal(json_integer_value(json_object_get(phase(json, "f", 0), "id")), 7);
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
	assert_string_equal(json_string_value(json_object_get(phase(json, "i", 0), "name")),
			    "gemm");
	assert_string_equal(json_string_value(json_object_get(phase(json, "i", 1), "name")),
			    "barrier");
	assert_string_equal(json_string_value(json_object_get(phase(json, "i", 2), "name")),
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
	assert_string_equal(json_string_value(json_object_get(phase(json, "i", 0), "name")),
			    "kernel");
	/* A late clock starts one hour in: rows before the first still have a time. */
	assert_true(json_real_value(json_object_get(phase(json, "X", 0), "ts")) == 3600000000.0);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
