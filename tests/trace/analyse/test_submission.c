// SPDX-License-Identifier: MIT
/* The submission report: division of time, duplicates, checks, and a document's figures. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "logs.h"
#include "trace/analyse/submission.h"
#include "trace/read/rocprof.h"

static void add_file(struct gp_trace_submission *s, const char *name)
{
	struct gp_trace_rocprof_stats stats;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "rocprof/%s", name);
	fd = open(fixture(path), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	gp_trace_submission_next_input(s);
	assert_int_equal(gp_trace_rocprof_read(fd, name, NULL, gp_trace_submission_event, s,
					       &stats),
			 0);
	close(fd);
}

static void add_v1(struct gp_trace_submission *s)
{
	add_file(s, "v1/results.json");
	add_file(s, "v1/results.csv");
	add_file(s, "v1/results.hip_stats.csv");
	add_file(s, "v1/results.hsa_stats.csv");
	add_file(s, "v1/results.copy_stats.csv");
	assert_int_equal(gp_trace_submission_finish(s), 0);
}

static json_t *doc_of(const struct gp_trace_submission *s)
{
	struct gp_doc *doc = gp_doc_new("report", "r");
	json_t *json;

	gp_trace_submission_doc(s, doc);
	gp_trace_submission_checks(s, doc);
	json = gp_doc_json(doc);
	assert_non_null(json);
	gp_doc_free(doc);
	return json;
}

/* The row whose `key` is `value`. */
static const json_t *row(const json_t *json, const char *section, const char *table,
			 const char *key, const char *value)
{
	const json_t *rows = json_object_get(json_object_get(json, section), table), *item;
	size_t i;

	json_array_foreach(rows, i, item)
	{
		const char *text = json_string_value(json_object_get(item, key));

		if (text && !strcmp(text, value))
			return item;
	}
	fail_msg("no %s in %s", value, section);
	return NULL;
}

static json_int_t number(const json_t *object, const char *key)
{
	assert_true(json_is_integer(json_object_get(object, key)));
	return json_integer_value(json_object_get(object, key));
}

/* The use of the kernel whose name starts so, or NULL. */
static const struct gp_trace_use *find_kernel(const struct gp_trace_submission *s, const char *name)
{
	for (size_t i = 0; i < s->use_count; i++)
		if (s->uses[i].layer == GP_LAYER_KERNEL &&
		    !strncmp(s->names.items[s->uses[i].name].text, name, strlen(name)))
			return &s->uses[i];
	return NULL;
}

static void the_same_kernel_in_two_files_is_counted_once(void **state)
{
	struct gp_trace_submission s = {0};
	const struct gp_trace_use *use;

	(void)state;
	add_v1(&s);
	assert_int_equal(s.duplicates, 1);
	use = find_kernel(&s, "scale(");
	assert_non_null(use);
	assert_int_equal(use->calls, 1);
	assert_int_equal(use->queued_ns / use->stages, 40000);
	assert_int_equal(s.queue_count, 2);
	assert_int_equal(s.pid, 4711);
	gp_trace_submission_free(&s);
}

/* 1 ms .. 5.1 ms: hipMemcpy 1-3.9 and 4-4.1, queue_create 1.1-2, copies 25 us each, launches
 * 4.9-5.1, kernels 10 and 5 us inside the launches. */
static void each_moment_belongs_to_the_deepest_layer(void **state)
{
	struct gp_trace_submission s = {0};
	u64 sum = 0;

	(void)state;
	add_v1(&s);
	assert_int_equal(s.alone_ns[GP_LAYER_KERNEL], 15000);
	assert_int_equal(s.alone_ns[GP_LAYER_COPY], 50000);
	assert_int_equal(s.alone_ns[GP_LAYER_HSA], 900000);
	assert_int_equal(s.alone_ns[GP_LAYER_HIP], 3200000 - 900000 - 50000 - 15000);
	assert_int_equal(s.application_ns, 100000 + 800000);
	for (size_t i = 0; i < GP_SUBMISSION_LAYERS; i++)
		sum += s.alone_ns[i];
	assert_int_equal(sum + s.application_ns, s.last_ns - s.first_ns);
	gp_trace_submission_free(&s);
}

static void a_hip_call_says_what_it_waited_for(void **state)
{
	struct gp_trace_submission s = {0};
	json_t *json;
	const json_t *copy;

	(void)state;
	add_v1(&s);
	json = doc_of(&s);
	copy = row(json, "critical_path", "rows", "name", "hipMemcpy");
	assert_int_equal(number(copy, "total_ns"), 3000000);
	assert_int_equal(number(copy, "max_ns"), 2900000);
	assert_int_equal(number(copy, "hsa_ns"), 900000);
	assert_int_equal(number(copy, "gpu_ns"), 50000);
	assert_int_equal(number(copy, "rest_ns"), 2050000);
	json_decref(json);
	gp_trace_submission_free(&s);
}

static void checks_say_yes_no_or_not_in_this_data(void **state)
{
	static const struct {
		const char *check, *verdict;
	} expected[] = {
		{"launch", "yes"},  {"queue", "yes"},    {"memory", "no"},
		{"doorbell", "no"}, {"ioctl", "absent"}, {"scheduler", "absent"},
		{"kernels", "yes"}, {"transfer", "no"},  {"totals", "yes"},
	};
	struct gp_trace_submission s = {0};
	json_t *json;

	(void)state;
	add_v1(&s);
	json = doc_of(&s);
	for (size_t i = 0; i < GP_ARRAY_SIZE(expected); i++) {
		const json_t *check = row(json, "checks", "rows", "check", expected[i].check);

		assert_string_equal(json_string_value(json_object_get(check, "verdict")),
				    expected[i].verdict);
	}
	json_decref(json);
	gp_trace_submission_free(&s);
}

static void a_summary_that_disagrees_is_named(void **state)
{
	struct gp_trace_submission s = {0};
	struct gp_event event = {.kind = GP_EVENT_TOTAL,
				 .layer = GP_LAYER_HIP,
				 .name = "hipMemcpy",
				 .name_len = 9,
				 .count = 5,
				 .duration_ns = 1};
	json_t *json;
	const json_t *check;

	(void)state;
	add_file(&s, "v1/results.json");
	assert_int_equal(gp_trace_submission_event(&s, &event), 0);
	assert_int_equal(gp_trace_submission_finish(&s), 0);
	json = doc_of(&s);
	check = row(json, "checks", "rows", "check", "totals");
	assert_string_equal(json_string_value(json_object_get(check, "verdict")), "no");
	assert_non_null(strstr(json_string_value(json_object_get(check, "evidence")), "hipMemcpy"));
	json_decref(json);
	gp_trace_submission_free(&s);
}

static void summaries_alone_make_tables_without_a_division(void **state)
{
	struct gp_trace_submission s = {0};
	json_t *json;

	(void)state;
	add_file(&s, "v1/results.hip_stats.csv");
	assert_int_equal(gp_trace_submission_finish(&s), 0);
	json = doc_of(&s);
	assert_int_equal(number(row(json, "hip", "rows", "name", "hipMemcpy"), "average_ns"),
			 1500000);
	assert_true(json_is_null(json_object_get(json_object_get(json, "run"), "wall_ns")));
	assert_int_equal(json_array_size(
				 json_object_get(json_object_get(json, "critical_path"), "rows")),
			 0);
	json_decref(json);
	gp_trace_submission_free(&s);
}

static void nothing_at_all_is_a_report_too(void **state)
{
	struct gp_trace_submission s = {0};
	json_t *json;

	(void)state;
	assert_int_equal(gp_trace_submission_finish(&s), 0);
	json = doc_of(&s);
	json_decref(json);
	gp_trace_submission_free(&s);
}

static void two_processes_are_told(void **state)
{
	struct gp_trace_submission s = {0};
	json_t *json;

	(void)state;
	add_file(&s, "v1/results.json");
	add_file(&s, "v3/host/77_hip_api_trace.csv");
	add_file(&s, "v3/host/77_kernel_trace.csv");
	add_file(&s, "v3.json");
	assert_int_equal(gp_trace_submission_finish(&s), 0);
	assert_true(s.several_pids);
	json = doc_of(&s);
	assert_true(json_is_null(json_object_get(json_object_get(json, "run"), "pid")));
	json_decref(json);
	gp_trace_submission_free(&s);
}

static void more_spans_than_are_kept_are_counted(void **state)
{
	struct gp_trace_submission s = {0};
	struct gp_event event = {.kind = GP_EVENT_COPY,
				 .name = "c",
				 .name_len = 1,
				 .valid = GP_EV_TIME | GP_EV_DURATION,
				 .time_ns = UINT64_MAX - 5,
				 .duration_ns = 10};

	(void)state;
	assert_int_equal(gp_trace_submission_event(&s, &event), 0); /* its end does not exist */
	assert_int_equal(s.use_count, 0);
	s.spans[GP_LAYER_COPY].count = GP_SUBMISSION_SPANS_MAX;
	event.time_ns = 5;
	assert_int_equal(gp_trace_submission_event(&s, &event), 0);
	assert_int_equal(s.spans_left_out, 1);
	s.spans[GP_LAYER_COPY].count = 0;
	assert_int_equal(gp_trace_submission_finish(&s), 0);
	json_decref(doc_of(&s));
	gp_trace_submission_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_kernel_in_two_files_is_counted_once),
		cmocka_unit_test(each_moment_belongs_to_the_deepest_layer),
		cmocka_unit_test(a_hip_call_says_what_it_waited_for),
		cmocka_unit_test(checks_say_yes_no_or_not_in_this_data),
		cmocka_unit_test(a_summary_that_disagrees_is_named),
		cmocka_unit_test(summaries_alone_make_tables_without_a_division),
		cmocka_unit_test(nothing_at_all_is_a_report_too),
		cmocka_unit_test(two_processes_are_told),
		cmocka_unit_test(more_spans_than_are_kept_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
