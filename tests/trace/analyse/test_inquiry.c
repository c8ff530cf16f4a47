// SPDX-License-Identifier: MIT
/* What a file is, how clocks are aligned, and the answers with their evidence. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "logs.h"
#include "trace/analyse/inquiry.h"

static enum gp_trace_source_kind kind_of(const char *name)
{
	enum gp_trace_source_kind kind;
	int fd = open(fixture(name), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(gp_trace_source_identify(fd, name, &kind), 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
	close(fd);
	return kind;
}

static void files_are_recognised_by_content(void **state)
{
	enum gp_trace_source_kind kind;
	int fd = test_memory_file("nothing of the kind\n", 20);

	(void)state;
	assert_int_equal(kind_of("demo/case_a_cnn.log"), GP_SOURCE_AMDLOG);
	assert_int_equal(kind_of("ftrace/function.txt"), GP_SOURCE_FTRACE);
	assert_int_equal(kind_of("ftrace/graph_plain.txt"), GP_SOURCE_FTRACE);
	assert_int_equal(kind_of("kfdtrace/dynamic_debug.txt"), GP_SOURCE_KFDLOG);
	assert_int_equal(kind_of("kfdtrace/v4_two_processes.txt"), GP_SOURCE_KFDLOG);
	assert_int_equal(kind_of("rocprof/v1/results.csv"), GP_SOURCE_ROCPROF);
	assert_int_equal(kind_of("rocprof/v3.json"), GP_SOURCE_ROCPROF);
	assert_int_equal(gp_trace_source_identify(fd, "x", &kind), 0);
	assert_int_equal(kind, GP_SOURCE_UNKNOWN);
	close(fd);
	assert_int_equal(gp_trace_source_identify(-1, "x", &kind), -EBADF);
	assert_string_equal(gp_trace_source_name(GP_SOURCE_FTRACE), "ftrace");
	assert_string_equal(gp_trace_clock_name(GP_CLOCK_BOOTTIME), "BOOTTIME");
}

static void clocks_are_aligned_by_the_median_and_the_residual_is_told(void **state)
{
	struct gp_trace_anchor anchors[] = {{1000, 100}, {2000, 1110}, {3050, 2150}};
	struct gp_trace_anchor behind[] = {{100, 1000}};
	struct gp_trace_alignment out;

	(void)state;
	gp_trace_align(anchors, 3, &out);
	assert_true(out.known);
	assert_int_equal(out.offset_ns, 900);
	assert_int_equal(out.residual_ns, 10);
	gp_trace_align(behind, 1, &out);
	assert_int_equal(out.offset_ns, -900);
	gp_trace_align(NULL, 0, &out);
	assert_false(out.known);
}

static void add(struct gp_trace_inquiry *inquiry, const char *name)
{
	int fd = open(fixture(name), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(gp_trace_inquiry_add(inquiry, fd, name, NULL), 0);
	close(fd);
}

static void add_text(struct gp_trace_inquiry *inquiry, const char *name, const char *text)
{
	int fd = test_memory_file(text, strlen(text));

	assert_int_equal(gp_trace_inquiry_add(inquiry, fd, name, NULL), 0);
	close(fd);
}

static json_t *answers(struct gp_trace_inquiry *inquiry)
{
	struct gp_doc *doc;
	json_t *json;

	assert_int_equal(gp_trace_inquiry_finish(inquiry), 0);
	doc = gp_trace_inquiry_doc(inquiry);
	assert_non_null(doc);
	json = gp_doc_json(doc);
	gp_doc_free(doc);
	return json;
}

static const json_t *item(const json_t *json, const char *section, const char *table,
			  const char *column, const char *code)
{
	const json_t *rows = json_object_get(json_object_get(json, section), table), *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const char *text = json_string_value(json_object_get(row, column));

		if (text && !strcmp(text, code))
			return row;
	}
	fail_msg("no %s in %s", code, section);
	return NULL;
}

static void expect(const json_t *json, const char *section, const char *code, const char *evidence,
		   json_int_t value)
{
	const json_t *row = item(json, section, "answers", "item", code);
	const json_t *place = json_object_get(row, "evidence");

	if (evidence)
		assert_string_equal(json_string_value(place), evidence);
	else
		assert_true(json_is_null(place));
	assert_true(json_is_integer(json_object_get(row, "answer")));
	assert_int_equal(json_integer_value(json_object_get(row, "answer")), value);
}

static void expect_word(const json_t *json, const char *section, const char *code, const char *word)
{
	assert_string_equal(json_string_value(
				    json_object_get(item(json, section, "answers", "item", code),
						    "answer")),
			    word);
}

static void every_question_is_answered_with_its_line(void **state)
{
	struct gp_trace_inquiry inquiry;
	json_t *json;

	(void)state;
	assert_int_equal(gp_trace_inquiry_init(&inquiry, GP_CLOCK_TRACE), 0);
	add(&inquiry, "demo/case_a_cnn.log");
	add(&inquiry, "ftrace/graph.txt");
	add(&inquiry, "ftrace/kprobe.txt");
	json = answers(&inquiry);
	expect(json, "creation", "driver", "graph.txt:6", 2);
	expect(json, "creation", "driver_ns", "graph.txt:6", 320000);
	expect(json, "mqd", "allocated", "graph.txt:10", 1);
	expect_word(json, "mqd", "loaded", "not-seen");
	expect_word(json, "mqd", "contents", "absent");
	expect(json, "preemption", "suspends", "kprobe.txt:6", 1);
	expect(json, "preemption", "suspend_ns", "kprobe.txt:6", 1000000);
	expect(json, "doorbell", "allocated", "graph.txt:8", 1);
	expect(json, "use", "shared", "case_a_cnn.log:6", 0);
	assert_string_equal(json_string_value(json_object_get(item(json, "indicators", "rows",
								   "indicator", "creation"),
							      "verdict")),
			    "met");
	assert_string_equal(json_string_value(json_object_get(item(json, "indicators", "rows",
								   "indicator", "kcq"),
							      "verdict")),
			    "absent");
	/* The log saw other queues than the trace. */
	assert_true(json_is_null(json_object_get(json_object_get(json, "clocks"), "residual_ns")));
	json_decref(json);
	gp_trace_inquiry_free(&inquiry);
}

static void what_the_files_do_not_hold_is_absent(void **state)
{
	struct gp_trace_inquiry inquiry;
	json_t *json;

	(void)state;
	assert_int_equal(gp_trace_inquiry_init(&inquiry, GP_CLOCK_TRACE), 0);
	add(&inquiry, "rocprof/v1/results.json");
	add(&inquiry, "kfdtrace/v5_hashed.txt");
	json = answers(&inquiry);
	expect_word(json, "creation", "runtime", "absent");
	expect_word(json, "creation", "driver_ns", "absent");
	expect(json, "creation", "driver", NULL, 5);
	expect_word(json, "mqd", "allocated", "absent");
	expect_word(json, "use", "queues", "absent");
	expect_word(json, "doorbell", "packets", "absent");
	expect_word(json, "preemption", "priorities", "absent");
	json_decref(json);
	gp_trace_inquiry_free(&inquiry);
}

#define LOG(us, text) \
	":3:rocdevice.cpp            :2000: " us " us: [pid:177 tid:0x7f00] " text "\n"
#define CREATED                                                                                  \
	"Created SWq=0x7f0000001000 to map on HWq=0x7f0000200000 with size 16384 with priority " \
	"2, cooperative: 0"

static void log_and_trace_are_aligned_by_the_queues_both_saw(void **state)
{
	struct gp_trace_inquiry inquiry;
	json_t *json;

	(void)state;
	assert_int_equal(gp_trace_inquiry_init(&inquiry, GP_CLOCK_TRACE), 0);
	add_text(&inquiry, "app.log",
		 LOG("0101000000", "Number of allocated hardware queues") LOG("0101000700", CREATED)
			 LOG("0102000000", "Number of allocated hardware queues")
				 LOG("0102000510", CREATED));
	add_text(&inquiry, "ftrace.txt",
		 "a-177 [000] 1.000000: e: (create_queue_cpsch+0x0/0x1)\n"
		 "a-177 [000] 1.000500: e: (x+0x1/0x2 <- create_queue_cpsch) ret=0\n"
		 "a-177 [000] 2.000000: e: (create_queue_cpsch+0x0/0x1)\n"
		 "a-177 [000] 2.000300: e: (x+0x1/0x2 <- create_queue_cpsch) ret=0\n"
		 "CPU:0 [LOST 5 EVENTS]\n");
	json = answers(&inquiry);
	expect(json, "creation", "runtime", "app.log:2", 2);
	expect(json, "creation", "runtime_ns", "app.log:2", 605000);
	expect(json, "creation", "driver_ns", "ftrace.txt:1", 400000);
	expect(json, "creation", "driver_longest_ns", "ftrace.txt:1", 500000);
	assert_int_equal(inquiry.alignment.offset_ns, 100000210000);
	assert_int_equal(inquiry.alignment.residual_ns, 10000);
	assert_true(json_is_true(
		json_object_get(item(json, "preemption", "answers", "item", "priorities"),
				"answer")));
	assert_int_equal(json_integer_value(
				 json_object_get(item(json, "files", "rows", "file", "ftrace.txt"),
						 "lost")),
			 5);
	json_decref(json);
	gp_trace_inquiry_free(&inquiry);
}

#define ROCR(us) \
	":amd_blit_kernel.cpp      :925 : " us " us: [pid:177   tid:0x7f00] [***rocr***] text\n"

static const char *text_of(const json_t *json, const char *section, const char *table,
			   const char *key, const char *value, const char *field)
{
	return json_string_value(json_object_get(item(json, section, table, key, value), field));
}

static bool notes_have(const json_t *json, const char *section, const char *text)
{
	const json_t *notes = json_object_get(json_object_get(json, section), "notes"), *note;
	size_t i;

	json_array_foreach(notes, i, note)
	{
		if (strstr(json_string_value(note), text))
			return true;
	}
	return false;
}

static void a_log_of_two_clocks_shows_both_and_compares_none(void **state)
{
	struct gp_trace_inquiry inquiry;
	json_t *json;

	(void)state;
	assert_int_equal(gp_trace_inquiry_init(&inquiry, GP_CLOCK_MONOTONIC), 0);
	/* ROCr's line is between the two, by a clock that is far ahead. */
	add_text(&inquiry, "/some/where/app.log",
		 LOG("0101000000", "Number of allocated hardware queues") ROCR("0901000000")
			 LOG("0101000700", CREATED));
	add_text(&inquiry, "ftrace.txt", "a-1 [000] 1.000000: e: (create_queue_cpsch+0x0/0x1)\n");
	json = answers(&inquiry);
	expect(json, "creation", "runtime_ns", "app.log:3", 700000);
	assert_string_equal(text_of(json, "files", "rows", "file", "/some/where/app.log", "clock"),
			    "MONOTONIC, MONOTONIC_RAW");
	assert_int_equal(inquiry.inputs[0]->jumps, 0);
	assert_true(notes_have(json, "clocks", "MONOTONIC: MONOTONIC_RAW."));
	json_decref(json);
	gp_trace_inquiry_free(&inquiry);
}

/* Which functions were traced is not in a trace: one that is not in it may have run. */
static void functions_that_were_not_traced_are_not_zero(void **state)
{
	static const char trace[] = "a-1 [000] 1.000000: e: (create_queue_cpsch+0x0/0x1)\n";

	(void)state;
	for (int known = 0; known < 2; known++) {
		struct gp_trace_inquiry inquiry;
		json_t *json;

		assert_int_equal(gp_trace_inquiry_init(&inquiry, GP_CLOCK_TRACE), 0);
		inquiry.kcq_traced = known;
		add_text(&inquiry, "ftrace.txt", trace);
		json = answers(&inquiry);
		assert_string_equal(text_of(json, "indicators", "rows", "indicator", "kcq",
					    "verdict"),
				    known ? "met" : "absent");
		json_decref(json);
		gp_trace_inquiry_free(&inquiry);
	}
}

static void the_roadmaps_table_is_whole(void **state)
{
	struct gp_trace_inquiry inquiry;
	json_t *json;

	(void)state;
	assert_int_equal(gp_trace_inquiry_init(&inquiry, GP_CLOCK_TRACE), 0);
	add_text(&inquiry, "app.log",
		 LOG("0101000000",
		     "SWq=0x7f0000001000, HWq=0x7f10000, id=1, Dispatch Header = 0xb02 (type=2, "
		     "barrier=1, acquire=1, release=1), setup=3, grid=[64, 1, 1], "
		     "workgroup=[64, 1, 1], private_seg_size=0, rptr=1, wptr=401"));
	json = answers(&inquiry);
	assert_string_equal(text_of(json, "indicators", "rows", "indicator", "backlog", "verdict"),
			    "missed");
	assert_int_equal(json_integer_value(json_object_get(item(json, "indicators", "rows",
								 "indicator", "backlog"),
							    "found")),
			 400);
	assert_string_equal(text_of(json, "indicators", "rows", "indicator", "quantum", "verdict"),
			    "absent");
	json_decref(json);
	gp_trace_inquiry_free(&inquiry);
}

static void a_profile_that_was_cut_says_so(void **state)
{
	static const char text[] =
		"{ \"traceEvents\":[{}\n"
		",{\"ph\":\"X\",\"name\":\"hipMalloc\",\"pid\":2,\"tid\":5,\"ts\":\"1\",\"dur\":"
		"\"2\","
		"\"args\":{\"BeginNs\":\"1000\",\"EndNs\":\"3000\",\"pid\":\"5\",\"tid\":\"5\"}}\n"
		",{\"ph\":\"X\",\"name\":\"hipFr";
	struct gp_trace_inquiry inquiry;
	struct test_diag diag = TEST_DIAG;
	int fd = test_memory_file(text, strlen(text));

	(void)state;
	assert_int_equal(gp_trace_inquiry_init(&inquiry, GP_CLOCK_TRACE), 0);
	assert_int_equal(gp_trace_inquiry_add(&inquiry, fd, "cut.json", &diag.diag), 0);
	assert_int_equal(inquiry.inputs[0]->kind, GP_SOURCE_ROCPROF);
	assert_non_null(strstr(gp_buf_str(&diag.text), "truncated"));
	close(fd);
	gp_trace_inquiry_free(&inquiry);
	gp_buf_free(&diag.text);
}

static void a_file_nobody_understands_is_refused(void **state)
{
	struct gp_trace_inquiry inquiry;
	struct test_diag diag = TEST_DIAG;
	int fd = test_memory_file("what?\n", 6);

	(void)state;
	assert_int_equal(gp_trace_inquiry_init(&inquiry, GP_CLOCK_TRACE), 0);
	assert_int_equal(gp_trace_inquiry_add(&inquiry, fd, "odd.txt", &diag.diag), -EINVAL);
	assert_non_null(strstr(diag.text.data, "odd.txt"));
	assert_non_null(strstr(diag.text.data, "unknown format (expected an AMD log"));
	assert_int_equal(gp_trace_inquiry_add(&inquiry, -1, "closed", &diag.diag), -EBADF);
	close(fd);
	gp_trace_inquiry_free(&inquiry);
	gp_buf_free(&diag.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_recognised_by_content),
		cmocka_unit_test(clocks_are_aligned_by_the_median_and_the_residual_is_told),
		cmocka_unit_test(every_question_is_answered_with_its_line),
		cmocka_unit_test(what_the_files_do_not_hold_is_absent),
		cmocka_unit_test(log_and_trace_are_aligned_by_the_queues_both_saw),
		cmocka_unit_test(a_log_of_two_clocks_shows_both_and_compares_none),
		cmocka_unit_test(functions_that_were_not_traced_are_not_zero),
		cmocka_unit_test(the_roadmaps_table_is_whole),
		cmocka_unit_test(a_profile_that_was_cut_says_so),
		cmocka_unit_test(a_file_nobody_understands_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
