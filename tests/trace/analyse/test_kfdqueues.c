// SPDX-License-Identifier: MIT
/* KFD's prints: the reader, and what ids and doorbells mean. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "logs.h"
#include "trace/read/kfdlog.h"
#include "trace/analyse/kfdqueues.h"

static struct gp_trace_kfd_queues *analyse(int fd, struct gp_trace_kfdlog_stats *stats, int *ret)
{
	struct gp_trace_kfd_queues *queues = gp_trace_kfd_queues_new();

	assert_non_null(queues);
	assert_true(fd >= 0);
	*ret = gp_trace_kfdlog_read(fd, "trace.txt", NULL, gp_trace_kfd_queues_event, queues,
				    stats);
	assert_int_equal(gp_trace_kfd_queues_finish(queues), 0);
	close(fd);
	return queues;
}

static struct gp_trace_kfd_queues *analyse_text(const char *text)
{
	struct gp_trace_kfdlog_stats stats;
	int ret;

	return analyse(test_memory_file(text, strlen(text)), &stats, &ret);
}

static struct gp_trace_kfd_queues *analyse_fixture(const char *name)
{
	struct gp_trace_kfdlog_stats stats;
	struct gp_trace_kfd_queues *queues;
	char path[128];
	int ret;

	snprintf(path, sizeof(path), "kfdtrace/%s", name);
	queues = analyse(open(fixture(path), O_RDONLY | O_CLOEXEC), &stats, &ret);
	assert_int_equal(ret, 0);
	return queues;
}

static const struct gp_trace_kfd_process *process(const struct gp_trace_kfd_queues *queues, u32 pid)
{
	size_t count;
	const struct gp_trace_kfd_process *items = gp_trace_kfd_queues_processes(queues, &count);

	for (size_t i = 0; i < count; i++)
		if (items[i].pid == pid)
			return &items[i];
	fail_msg("no process %u", pid);
	return NULL;
}

static void ids_from_zero_are_the_stock_drivers(void **state)
{
	struct gp_trace_kfd_queues *queues = analyse_fixture("v4_two_processes.txt");
	const struct gp_trace_kfd_process *one = process(queues, 3932831),
					  *two = process(queues, 3932832);

	(void)state;
	assert_int_equal(one->hash, GP_HASH_STOCK);
	assert_int_equal(two->hash, GP_HASH_STOCK);
	assert_int_equal(one->reading, GP_OFFSET_BYTES);
	assert_false(one->has_slice);
	assert_int_equal(two->offset_high, 8);
	gp_trace_kfd_queues_free(queues);
}

/* SPEC section 6: 3935030 % 256 = 54, 54 x 4 = 216; the document's 86 is a slip. */
static void hashed_ids_match_all_three_processes_of_the_document(void **state)
{
	struct gp_trace_kfd_queues *queues = analyse_fixture("v5_hashed.txt");
	const struct gp_trace_kfd_process *p = process(queues, 3935030);

	(void)state;
	assert_int_equal(p->id_low, 216);
	assert_int_equal(p->hash, GP_HASH_MATCH);
	assert_int_equal(process(queues, 3935031)->hash, GP_HASH_MATCH);
	assert_int_equal(process(queues, 3933841)->hash, GP_HASH_MATCH);
	assert_int_equal(p->reading, GP_OFFSET_SLICE);
	assert_int_equal(p->slice, 2);
	assert_int_equal(process(queues, 3935031)->slice, 1);
	assert_int_equal(process(queues, 3933841)->slice, 1);
	assert_int_equal(process(queues, 3933841)->alive, 0);
	gp_trace_kfd_queues_free(queues);
}

static void every_print_of_a_queue_adds_to_its_row(void **state)
{
	struct gp_trace_kfd_queues *queues = analyse_fixture("v5_hashed.txt");
	size_t count;
	const struct gp_trace_kfd_queue *items = gp_trace_kfd_queues_items(queues, &count);

	(void)state;
	assert_int_equal(count, 5);
	assert_int_equal(items[0].id, 580);
	assert_true(items[0].valid & GP_KQ_DESTROYED);
	assert_false(items[0].valid & GP_KQ_ABSOLUTE); /* the mmap cookie is no place on the BAR */
	assert_int_equal(items[0].index, 145);
	assert_int_equal(items[0].created_ns, 12000100000);
	assert_int_equal(items[3].absolute, 0x1802);
	assert_int_equal(items[3].doorbell_id, 1);
	assert_int_equal(items[3].mqd, 0x7f0012340000);
	assert_int_equal(items[3].created_ns, 14000200000);
	assert_int_equal(items[4].absolute, 0x1000);
	assert_int_equal(items[4].pasid, 32789);
	gp_trace_kfd_queues_free(queues);
}

static void dynamic_debug_names_the_ring_and_the_process(void **state)
{
	struct gp_trace_kfd_queues *queues = analyse_fixture("dynamic_debug.txt");
	size_t count;
	const struct gp_trace_kfd_queue *items = gp_trace_kfd_queues_items(queues, &count);

	(void)state;
	assert_int_equal(count, 2);
	assert_false(items[0].valid & GP_KQ_PID); /* PASID is no pid */
	assert_false(items[0].valid & GP_KQ_RING);
	assert_int_equal(items[1].pid, 5150);
	assert_int_equal(items[1].id, 3);
	assert_int_equal(items[1].gpu, 0x41c2);
	assert_int_equal(items[1].ring, 0x7e10b5200000);
	assert_true(items[1].valid & GP_KQ_DESTROYED);
	gp_trace_kfd_queues_free(queues);
}

static void an_id_used_again_after_destroy_is_a_new_queue(void **state)
{
	struct gp_trace_kfd_queues *queues =
		analyse_text("[KFD-TRACE] CREATE_QUEUE_SUCCESS: pid=5 queue_id=1 pasid=1\n"
			     "[KFD-TRACE] DESTROY_QUEUE: pid=5 queue_id=1\n"
			     "[KFD-TRACE] CREATE_QUEUE_SUCCESS: pid=5 queue_id=1 pasid=2\n");
	size_t count;
	const struct gp_trace_kfd_queue *items = gp_trace_kfd_queues_items(queues, &count);

	(void)state;
	assert_int_equal(count, 2);
	assert_int_equal(items[1].pasid, 2);
	assert_int_equal(process(queues, 5)->alive, 1);
	gp_trace_kfd_queues_free(queues);
}

static void offsets_that_fit_no_rule_say_so(void **state)
{
	struct gp_trace_kfd_queues *queues = analyse_text(
		"[KFD-TRACE] CREATE_QUEUE: pid=5 queue_id=7 doorbell_offset_in_process=0x123\n");

	(void)state;
	assert_int_equal(process(queues, 5)->reading, GP_OFFSET_UNKNOWN);
	assert_int_equal(process(queues, 5)->hash, GP_HASH_OTHER);
	gp_trace_kfd_queues_free(queues);
}

static void a_number_cut_at_the_end_is_not_taken(void **state)
{
	struct gp_trace_kfd_queues *queues = analyse_text(
		"[KFD-TRACE] CREATE_QUEUE: pid=5 queue_id=1 doorbell_offset_in_process=0x18");
	size_t count;
	const struct gp_trace_kfd_queue *items = gp_trace_kfd_queues_items(queues, &count);

	(void)state;
	assert_int_equal(count, 1);
	assert_false(items[0].valid & GP_KQ_IN_PROCESS);
	gp_trace_kfd_queues_free(queues);
}

static void keys_are_whole_words_and_numbers_whole(void **state)
{
	u64 value;
	const char *text = "xqueue_id=9 queue_id=12abc other=5) big=99999999999999999999999 h=0xzz";

	(void)state;
	assert_false(gp_trace_text_key(text, strlen(text), "queue_id", &value));
	assert_true(gp_trace_text_key(text, strlen(text), "other", &value));
	assert_int_equal(value, 5);
	assert_false(gp_trace_text_key(text, strlen(text), "big", &value));
	assert_false(gp_trace_text_key(text, strlen(text), "h", &value));
	assert_false(gp_trace_text_key(text, strlen(text), "missing", &value));
}

static void a_file_without_prints_is_refused_with_what_to_do(void **state)
{
	struct test_diag diag = TEST_DIAG;
	struct gp_trace_kfdlog_stats stats;
	const char *text = "hello\n[KFD-TRACE] nonsense\n[KFD-TRACE] \namdgpu: other\n";
	int fd = test_memory_file(text, strlen(text));

	(void)state;
	assert_int_equal(gp_trace_kfdlog_read(fd, "x", &diag.diag, NULL, NULL, &stats), -EINVAL);
	assert_non_null(strstr(diag.text.data, "dynamic_debug"));
	close(fd);
	gp_buf_free(&diag.text);
}

static void the_report_says_which_overlaps_mean_nothing(void **state)
{
	struct gp_trace_kfd_queues *queues = analyse_fixture("v5_hashed.txt");
	struct gp_doc *doc = gp_trace_kfd_queues_doc(queues);
	json_t *json = gp_doc_json(doc), *row;

	(void)state;
	assert_int_equal(json_integer_value(json_object_get(json_object_get(json, "meaning"),
							    "pid_hash_matches")),
			 3);
	row = json_array_get(json_object_get(json_object_get(json, "overlaps"), "rows"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "meaning")), "slice-reused");
	json_decref(json);
	gp_doc_free(doc);
	gp_trace_kfd_queues_free(queues);
}

static const char *word(const json_t *json, const char *section, size_t row, const char *key)
{
	return json_string_value(json_object_get(
		json_array_get(json_object_get(json_object_get(json, section), "rows"), row), key));
}

static json_t *report(struct gp_trace_kfd_queues *queues)
{
	struct gp_doc *doc = gp_trace_kfd_queues_doc(queues);
	json_t *json = gp_doc_json(doc);

	gp_doc_free(doc);
	gp_trace_kfd_queues_free(queues);
	return json;
}

static void the_report_names_every_reading_and_overlap(void **state)
{
	json_t *json = report(analyse_fixture("v4_two_processes.txt"));

	(void)state;
	assert_string_equal(word(json, "processes", 0, "pid_hash"), "stock");
	assert_string_equal(word(json, "processes", 0, "offset_meaning"), "bytes-in-slice");
	assert_string_equal(word(json, "overlaps", 0, "meaning"), "separate");
	json_decref(json);
	/* One slice for two that live, one whose offsets fit nothing, one 8 apart, one nameless. */
	json = report(analyse_text(
		"[KFD-TRACE] CREATE_QUEUE: queue_id=1 pasid=3\n"
		"[KFD-TRACE] CREATE_QUEUE: pid=5 queue_id=7 doorbell_offset_in_process=0x1000\n"
		"[KFD-TRACE] CREATE_QUEUE: pid=5 queue_id=8 doorbell_offset_in_process=0x1008\n"
		"[KFD-TRACE] CREATE_QUEUE: pid=6 queue_id=9 doorbell_offset_in_process=0x1000\n"
		"[KFD-TRACE] CREATE_QUEUE: pid=7 queue_id=9 doorbell_offset_in_process=0x123\n"));
	assert_null(word(json, "processes", 0, "pid_hash"));
	assert_string_equal(word(json, "processes", 3, "offset_meaning"), "unknown");
	assert_string_equal(word(json, "processes", 3, "pid_hash"), "other");
	assert_string_equal(word(json, "overlaps", 0, "meaning"), "same-slice");
	assert_string_equal(word(json, "overlaps", 1, "meaning"), "separate");
	assert_non_null(
		strstr(json_string_value(json_array_get(
			       json_object_get(json_object_get(json, "meaning"), "notes"), 0)),
		       "Process 5: the first offset is the start of a doorbell slice"));
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_from_zero_are_the_stock_drivers),
		cmocka_unit_test(hashed_ids_match_all_three_processes_of_the_document),
		cmocka_unit_test(every_print_of_a_queue_adds_to_its_row),
		cmocka_unit_test(dynamic_debug_names_the_ring_and_the_process),
		cmocka_unit_test(an_id_used_again_after_destroy_is_a_new_queue),
		cmocka_unit_test(offsets_that_fit_no_rule_say_so),
		cmocka_unit_test(a_number_cut_at_the_end_is_not_taken),
		cmocka_unit_test(keys_are_whole_words_and_numbers_whole),
		cmocka_unit_test(a_file_without_prints_is_refused_with_what_to_do),
		cmocka_unit_test(the_report_says_which_overlaps_mean_nothing),
		cmocka_unit_test(the_report_names_every_reading_and_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
