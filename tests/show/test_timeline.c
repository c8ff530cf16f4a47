// SPDX-License-Identifier: MIT
/* Timelines: valid JSON whatever the names hold, written at once or as it goes. */
#include <jansson.h>

#include "base/json.h"
#include "show/timeline.h"
#include "testlib.h"

static void add_all(struct gp_timeline *timeline)
{
	gp_timeline_name_process(timeline, 1, "a \"process\"");
	gp_timeline_name_track(timeline, 1, 2, "a\\track\n\xff");
	gp_timeline_add(timeline,
			&(struct gp_timeline_event){.phase = 'X',
						    .pid = 1,
						    .tid = 2,
						    .name = "slice and more",
						    .name_len = 5,
						    .time_ns = 1234567,
						    .length_ns = 5,
						    .args = {{"n", .number = 7},
							     {"t", "\xc3\xa9\x80", 3, 0}}});
	gp_timeline_add(timeline, &(struct gp_timeline_event){
					  .phase = 'f', .name = "go", .flow = "go", .flow_id = 9});
	gp_timeline_add(timeline, &(struct gp_timeline_event){.phase = 'i', .everywhere = true});
	gp_timeline_add(timeline, &(struct gp_timeline_event){.phase = 'E'});
}

static const char wanted[] =
	"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
	"{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"a "
	"\\\"process\\\"\"}},\n"
	"{\"ph\":\"M\",\"pid\":1,\"tid\":2,\"name\":\"thread_name\",\"args\":{\"name\":"
	"\"a\\\\track\\u000a\\ufffd\"}},\n"
	"{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"name\":\"slice\",\"ts\":1234.567,\"dur\":0.005,"
	"\"args\":{\"n\":7,\"t\":\"\xc3\xa9\\ufffd\"}},\n"
	"{\"ph\":\"f\",\"pid\":0,\"tid\":0,\"name\":\"go\",\"ts\":0.000,\"cat\":\"go\",\"id\":9,"
	"\"bp\":\"e\"},\n"
	"{\"ph\":\"i\",\"pid\":0,\"tid\":0,\"ts\":0.000,\"s\":\"g\"},\n"
	"{\"ph\":\"E\",\"pid\":0,\"tid\":0,\"ts\":0.000}\n]}\n";

static void every_kind_of_event_is_escaped_json(void **state)
{
	struct gp_timeline timeline;

	(void)state;
	gp_timeline_begin(&timeline, NULL);
	add_all(&timeline);
	assert_int_equal(gp_timeline_end(&timeline), 0);
	assert_string_equal(gp_buf_str(&timeline.text), wanted);
	gp_timeline_free(&timeline);
}

static void a_stream_gets_all_events_as_they_come(void **state)
{
	struct gp_timeline timeline;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	json_t *json;

	(void)state;
	gp_timeline_begin(&timeline, out);
	for (int i = 0; i < 1000; i++)
		add_all(&timeline);
	fflush(out);
	assert_true(len > 100000); /* most of it, before the end */
	assert_int_equal(gp_timeline_end(&timeline), 0);
	gp_timeline_free(&timeline);
	fclose(out);
	json = json_loads(text, 0, NULL);
	assert_int_equal(json_array_size(json_object_get(json, "traceEvents")), 6000);
	json_decref(json);
	free(text);
}

static void a_full_disk_is_an_error(void **state)
{
	struct gp_timeline timeline;
	FILE *out = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(out);
	gp_timeline_begin(&timeline, out);
	add_all(&timeline);
	assert_true(gp_timeline_end(&timeline) < 0);
	gp_timeline_free(&timeline);
	fclose(out);
}

/* The phase of each event that is not a name, in order. */
static void phases(const char *text, char *out)
{
	for (const char *at = text; (at = strstr(at, "{\"ph\":\"")) != NULL; at++)
		if (at[7] != 'M')
			*out++ = at[7];
	*out = '\0';
}

static void slices_that_overlap_have_lanes_and_beyond_them_spans(void **state)
{
	struct gp_timeline timeline;
	struct gp_timeline_lanes lanes = {0};
	char seen[64];

	(void)state;
	gp_timeline_begin(&timeline, NULL);
	for (u64 i = 0; i < GP_TIMELINE_LANES + 2; i++) {
		struct gp_timeline_event event = {
			.pid = 1, .tid = 16, .name = "k", .time_ns = 100 + i, .length_ns = 50};
		bool beyond = i >= GP_TIMELINE_LANES;

		assert_int_equal(gp_timeline_slice(&timeline, &lanes, "queue", &event), beyond);
		assert_int_equal(event.tid, beyond ? 16 : 16 + i);
	}
	/* The first lane is free again when its slice has ended. */
	struct gp_timeline_event next = {
		.pid = 1, .tid = 16, .name = "k", .time_ns = 150, .length_ns = 1};

	assert_int_equal(gp_timeline_slice(&timeline, &lanes, "queue", &next), 0);
	assert_int_equal(next.tid, 16);
	assert_int_equal(gp_timeline_end(&timeline), 0);
	phases(gp_buf_str(&timeline.text), seen);
	assert_string_equal(seen, "XXXXXXXXbebeX");
	gp_timeline_lanes_free(&lanes);
	gp_timeline_free(&timeline);
}

static void any_bytes_become_a_json_string_and_valid_text_stays(void **state)
{
	(void)state;
	for (unsigned a = 0; a < 256; a++) {
		for (unsigned b = 0; b < 256; b++) {
			const char bytes[] = {'x', (char)a, (char)b, 'y'};
			struct gp_buf out = {0};
			json_t *direct = gp_json_text(bytes, sizeof(bytes)), *read;

			gp_json_escape(&out, bytes, sizeof(bytes));
			read = json_loadb(out.data, out.len, JSON_DECODE_ANY | JSON_ALLOW_NUL,
					  NULL);
			assert_non_null(read);
			assert_true(json_equal(read, direct));
			json_decref(read);
			json_decref(direct);
			gp_buf_free(&out);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_event_is_escaped_json),
		cmocka_unit_test(a_stream_gets_all_events_as_they_come),
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(slices_that_overlap_have_lanes_and_beyond_them_spans),
		cmocka_unit_test(any_bytes_become_a_json_string_and_valid_text_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
