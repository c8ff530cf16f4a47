// SPDX-License-Identifier: MIT
/* The counters of a timeline: what runs, packets in queues, suspended jobs. */
#include "logs.h"
#include "trace/analyse/perfetto_parts.h"

#include <jansson.h>

struct stage {
	struct gp_trace_perfetto *perfetto;
	FILE *out;
	char *text;
	size_t len;
};

static void begin(struct stage *stage)
{
	stage->out = open_memstream(&stage->text, &stage->len);
	stage->perfetto = gp_trace_perfetto_new(stage->out);
	assert_non_null(stage->perfetto);
}

/* The values of all counters with this name, in the order of the file, as "1 2 0". */
static void values_are(struct stage *stage, const char *name, const char *wanted)
{
	struct gp_buf seen = {0};
	const json_t *item;
	json_t *json;
	size_t i;

	assert_int_equal(gp_trace_perfetto_end(stage->perfetto), 0);
	fclose(stage->out);
	json = json_loadb(stage->text, stage->len, 0, NULL);
	assert_non_null(json);
	json_array_foreach(json_object_get(json, "traceEvents"), i, item)
	{
		const char *phase = json_string_value(json_object_get(item, "ph"));
		json_t *args = json_object_get(item, "args");

		if (strcmp(phase, "C") != 0 ||
		    strcmp(json_string_value(json_object_get(item, "name")), name) != 0)
			continue;
		gp_buf_printf(&seen, "%s%lld", seen.len ? " " : "",
			      (long long)json_integer_value(
				      json_object_iter_value(json_object_iter(args))));
	}
	assert_string_equal(gp_buf_str(&seen), wanted);
	gp_buf_free(&seen);
	json_decref(json);
	free(stage->text);
}

/* Out of order, one right after another, two at once, and one without length. */
static void what_runs_is_counted_by_gpu(void **state)
{
	struct stage stage;

	(void)state;
	begin(&stage);
	assert_int_equal(gp_trace_perfetto_count_run(stage.perfetto, 2, 500, 600), 0);
	assert_int_equal(gp_trace_perfetto_count_run(stage.perfetto, 1, 300, 400), 0);
	assert_int_equal(gp_trace_perfetto_count_run(stage.perfetto, 1, 100, 300), 0);
	assert_int_equal(gp_trace_perfetto_count_run(stage.perfetto, 1, 200, 350), 0);
	assert_int_equal(gp_trace_perfetto_count_run(stage.perfetto, 1, 700, 700), 0);
	/* GPU 1 at 100, 200, 300, 350, 400, 700; GPU 2 at 500, 600. */
	values_are(&stage, "running on the GPU", "1 2 2 1 0 0 1 0");
}

static void queues_have_as_many_packets_as_were_not_read(void **state)
{
	struct gp_event event = {.valid = GP_EV_RPTR | GP_EV_WPTR | GP_EV_QUEUE,
				 .queue = 0x7f10,
				 .rptr = 3,
				 .wptr = 10};
	struct stage stage;

	(void)state;
	begin(&stage);
	gp_trace_perfetto_count_depth(stage.perfetto, 1, 100, &event);
	event.rptr = 10;
	gp_trace_perfetto_count_depth(stage.perfetto, 1, 200, &event);
	event.rptr = 11; /* damaged, or of two moments */
	gp_trace_perfetto_count_depth(stage.perfetto, 1, 300, &event);
	event.valid = GP_EV_WPTR;
	gp_trace_perfetto_count_depth(stage.perfetto, 1, 400, &event);
	values_are(&stage, "packets in queue 0x7f10", "7 0");
}

static void decide(struct stage *stage, u32 pid, const char *kind, bool partial)
{
	struct gp_event event = {.valid = GP_EV_PID,
				 .pid = pid,
				 .name = kind,
				 .name_len = strlen(kind),
				 .partial = partial};

	assert_int_equal(gp_trace_perfetto_count_held(stage->perfetto, 100, &event), 0);
}

static void suspended_jobs_are_counted_once(void **state)
{
	struct gp_event nobody = {.name = "suspend", .name_len = 7};
	struct stage stage;

	(void)state;
	begin(&stage);
	decide(&stage, 70, "suspend", false);
	decide(&stage, 70, "suspend", false);
	decide(&stage, 80, "suspend", false);
	decide(&stage, 90, "suspend", true); /* only observed */
	decide(&stage, 80, "note", false);
	decide(&stage, 70, "resume", false);
	decide(&stage, 70, "resume", false);
	decide(&stage, 80, "went", false);
	assert_int_equal(gp_trace_perfetto_count_held(stage.perfetto, 100, &nobody), 0);
	values_are(&stage, "suspended jobs", "1 2 1 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_runs_is_counted_by_gpu),
		cmocka_unit_test(queues_have_as_many_packets_as_were_not_read),
		cmocka_unit_test(suspended_jobs_are_counted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
