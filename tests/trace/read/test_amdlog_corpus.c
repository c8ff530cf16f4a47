// SPDX-License-Identifier: MIT
/*
 * Real logs: the queues, counts and last pointers that the reader finds against those that regular
 * expressions over whole lines find. Skipped where the samples are not.
 */
#include <regex.h>

#include "logs.h"

#define QUEUES_MAX 64

struct expected {
	u64 address;
	u64 dispatches, barriers;
	bool has_pointers;
	u64 rptr, wptr;
};

struct answer {
	struct expected queues[QUEUES_MAX];
	size_t count;
};

static struct expected *expect(struct answer *answer, const char *address)
{
	u64 value = strtoull(address, NULL, 16);

	for (size_t i = 0; i < answer->count; i++)
		if (answer->queues[i].address == value)
			return &answer->queues[i];
	assert_true(answer->count < QUEUES_MAX);
	answer->queues[answer->count] = (struct expected){.address = value};
	return &answer->queues[answer->count++];
}

/* Runs a pattern over a line; group 1.. are copied as text. */
static bool match(const char *pattern, const char *line, char groups[3][32])
{
	regmatch_t found[4];
	regex_t regex;
	bool ok;

	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED), 0);
	ok = regexec(&regex, line, 4, found, 0) == 0;
	for (int i = 1; ok && i < 4; i++)
		snprintf(groups[i - 1], 32, "%.*s",
			 found[i].rm_so < 0 ? 0 : (int)(found[i].rm_eo - found[i].rm_so),
			 line + (found[i].rm_so < 0 ? 0 : found[i].rm_so));
	regfree(&regex);
	return ok;
}

static void judge_line(struct answer *answer, const char *line)
{
	struct expected *queue;
	char groups[3][32];

	if (match("HWq=0x([0-9a-f]+),( [a-z_]+=[0-9]+,)* *(Dispatch|Barrier[A-Za-z-]*) Header",
		  line, groups)) {
		queue = expect(answer, groups[0]);
		if (groups[2][0] == 'D')
			queue->dispatches++;
		else
			queue->barriers++;
		if (match("rptr=([0-9]+), wptr=([0-9]+)", line, groups)) {
			queue->has_pointers = true;
			queue->rptr = strtoull(groups[0], NULL, 10);
			queue->wptr = strtoull(groups[1], NULL, 10);
		}
	} else if (match("HWq=0x([0-9a-f]+)[ ,]", line, groups) ||
		   match("created hardware queue 0x([0-9a-f]+) with", line, groups) ||
		   match("[Dd]eleting hardware queue 0x([0-9a-f]+) with", line, groups) ||
		   match("(refCount): ?0x([0-9a-f]+) \\(", line, groups)) {
		expect(answer, strcmp(groups[0], "refCount") == 0 ? groups[1] : groups[0]);
	}
}

static void judge_file(struct answer *answer, const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t size = 0;

	assert_non_null(file);
	while (getline(&line, &size, file) >= 0)
		judge_line(answer, line);
	free(line);
	fclose(file);
}

static void compare(const char *name, const struct test_log *log, const struct answer *answer)
{
	if (log->count != answer->count)
		fail_msg("%s: %zu queues, %zu expected", name, log->count, answer->count);
	for (size_t i = 0; i < answer->count; i++) {
		const struct expected *want = &answer->queues[i];
		const struct gp_trace_log_queue *got = test_log_row(log, want->address);

		if (got->dispatches != want->dispatches || got->barriers != want->barriers)
			fail_msg("%s: 0x%llx has %llu + %llu packets", name,
				 (unsigned long long)want->address,
				 (unsigned long long)got->dispatches,
				 (unsigned long long)got->barriers);
		assert_int_equal(!!(got->valid & GP_LQ_RPTR), want->has_pointers);
		if (want->has_pointers) {
			assert_int_equal(got->rptr, want->rptr);
			assert_int_equal(got->wptr, want->wptr);
		}
	}
}

static void check(const char *name)
{
	const char *path = corpus(name);
	struct answer answer = {.count = 0};

	if (!path) {
		print_message("no sample %s\n", name);
		skip();
	}
	judge_file(&answer, path);
	for (int fast = 0; fast < 2; fast++) {
		struct test_log log;

		test_log_read(&log, open(path, O_RDONLY | O_CLOEXEC), name, fast);
		assert_int_equal(log.ret, 0);
		compare(name, &log, &answer);
		test_log_free(&log);
	}
}

#define SAMPLE(test, name)             \
	static void test(void **state) \
	{                              \
		(void)state;           \
		check(name);           \
	}

SAMPLE(hsakmt_lines_among_a_log, "amd_log/hsakmt_debug_level.log")
SAMPLE(rocm_5_4, "amd_log/rocm54_level4_vadd_gentoo_wiki.log")
SAMPLE(rocm_5_6, "amd_log/rocm56_level5_rccl_blankline.log")
SAMPLE(rocm_5_6_two_processes, "amd_log/rocm56_two_processes_interleaved.log")
SAMPLE(rocm_5_7, "amd_log/rocm57_level3_torch_repl.log")
SAMPLE(rocm_6_0_locale, "amd_log/rocm60_locale_grouped_hex_blender.log")
SAMPLE(rocm_6_2, "amd_log/rocm62_level4_queue_create_copy.log")
SAMPLE(rocm_6_3, "amd_log/rocm632_level5_d_us_quirk_invokeai.log")
SAMPLE(rocm_7_0, "amd_log/rocm702_level3_16streams_refcount.log")
SAMPLE(rocm_7_1, "amd_log/rocm71_level5_detail_moved_to_5.log")
SAMPLE(rocm_7_crash_dump, "amd_log/rocm7x_crash_dump_multiline.log")
SAMPLE(kubernetes, "derived/cri_k8s_prefix.log")
SAMPLE(crlf, "derived/crlf_rocm62_level4.log")
SAMPLE(cut_at_both_ends, "derived/cut_both_ends_rocm702.log")
SAMPLE(docker_compose, "derived/docker_compose_prefix.log")
SAMPLE(mpirun, "derived/mpirun_tag_output_prefix.log")
SAMPLE(pytest_dedicated, "derived/reconstructed_pytest_prefix_dedicated.log")
SAMPLE(rocm_4_5, "derived/reconstructed_rocm45_level4.log")
SAMPLE(rocr_blit, "derived/reconstructed_rocr_blit_log.log")
SAMPLE(threads_out_of_order, "derived/reconstructed_threads_out_of_order.log")
SAMPLE(torn_and_interleaved, "derived/torn_interleaved_two_processes.log")
SAMPLE(real_5_2_level3, "hip523_memcpy_streams_L3.log")
SAMPLE(real_5_2_level4, "hip523_memcpy_streams_L4.log")
SAMPLE(real_5_2_level5, "hip523_memcpy_streams_L5.log")
SAMPLE(real_5_2_queue_error, "hip523_queueerror_illegalinsn_L4.log")
SAMPLE(real_5_2_first_of_two, "hip523_twoproc_p1_L4.log")
SAMPLE(real_5_2_second_of_two, "hip523_twoproc_p2_L4.log")
SAMPLE(real_5_2_twelve_streams, "hip523_wide_12streams_L4.log")

static void sixteen_streams_share_four_queues(void **state)
{
	const char *name = "amd_log/rocm702_level3_16streams_refcount.log", *path = corpus(name);
	struct test_log log;
	size_t streams = 0;

	(void)state;
	if (!path)
		skip();
	test_log_read(&log, open(path, O_RDONLY | O_CLOEXEC), name, false);
	assert_int_equal(log.count, 4);
	for (size_t i = 0; i < log.count; i++) {
		assert_int_equal(log.rows[i].streams_max, 4);
		assert_int_equal(log.rows[i].streams, 0);
		assert_true(log.rows[i].created && log.rows[i].deleted);
		assert_int_equal(log.rows[i].key, GP_ADDRESS_RING);
		streams += log.rows[i].stream_count;
	}
	assert_int_equal(streams, 16);
	test_log_free(&log);
}

static void runtime_of_5_2_prints_objects(void **state)
{
	const char *name = "hip523_wide_12streams_L4.log", *path = corpus(name);
	struct test_log log;

	(void)state;
	if (!path)
		skip();
	test_log_read(&log, open(path, O_RDONLY | O_CLOEXEC), name, false);
	for (size_t i = 0; i < log.count; i++)
		assert_int_equal(log.rows[i].key, GP_ADDRESS_OBJECT);
	assert_int_equal(log.stats.torn, 0);
	test_log_free(&log);
}

static void error_of_5_2_is_of_its_only_queue(void **state)
{
	const char *name = "hip523_queueerror_illegalinsn_L4.log", *path = corpus(name);
	struct test_log log;

	(void)state;
	if (!path)
		skip();
	for (int fast = 0; fast < 2; fast++) {
		test_log_read(&log, open(path, O_RDONLY | O_CLOEXEC), name, fast);
		assert_int_equal(log.count, 1);
		assert_int_equal(log.rows[0].failed, !fast);
		assert_int_equal(!!(log.rows[0].valid & GP_LQ_FAILED), !fast);
		test_log_free(&log);
	}
}

static size_t count_lines(const char *path, const char *pattern)
{
	FILE *file = fopen(path, "r");
	char *line = NULL, groups[3][32];
	size_t size = 0, count = 0;

	assert_non_null(file);
	while (getline(&line, &size, file) >= 0)
		count += match(pattern, line, groups);
	free(line);
	fclose(file);
	return count;
}

static void streams_of_5_2_are_bound_and_counted(void **state)
{
	const char *name = "hip523_wide_12streams_L4.log", *path = corpus(name);
	const u32 both = GP_LQ_STREAMS | GP_LQ_HANDLES;
	struct test_log log;
	size_t handles = 0, streams = 0;

	(void)state;
	if (!path)
		skip();
	test_log_read(&log, open(path, O_RDONLY | O_CLOEXEC), name, false);
	for (size_t i = 0; i < log.count; i++) {
		handles += log.rows[i].stream_count;
		streams += log.rows[i].streams;
		if (log.rows[i].stream_count)
			assert_int_equal(log.rows[i].valid & both, both);
	}
	assert_int_equal(handles,
			 count_lines(path, "hip(Ext)?StreamCreate[A-Za-z]*: Returned hipSuccess"));
	/* The null stream has no handle. */
	assert_int_equal(streams, handles + 1);
	test_log_free(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hsakmt_lines_among_a_log),
		cmocka_unit_test(rocm_5_4),
		cmocka_unit_test(rocm_5_6),
		cmocka_unit_test(rocm_5_6_two_processes),
		cmocka_unit_test(rocm_5_7),
		cmocka_unit_test(rocm_6_0_locale),
		cmocka_unit_test(rocm_6_2),
		cmocka_unit_test(rocm_6_3),
		cmocka_unit_test(rocm_7_0),
		cmocka_unit_test(rocm_7_1),
		cmocka_unit_test(rocm_7_crash_dump),
		cmocka_unit_test(kubernetes),
		cmocka_unit_test(crlf),
		cmocka_unit_test(cut_at_both_ends),
		cmocka_unit_test(docker_compose),
		cmocka_unit_test(mpirun),
		cmocka_unit_test(pytest_dedicated),
		cmocka_unit_test(rocm_4_5),
		cmocka_unit_test(rocr_blit),
		cmocka_unit_test(threads_out_of_order),
		cmocka_unit_test(torn_and_interleaved),
		cmocka_unit_test(real_5_2_level3),
		cmocka_unit_test(real_5_2_level4),
		cmocka_unit_test(real_5_2_level5),
		cmocka_unit_test(real_5_2_queue_error),
		cmocka_unit_test(real_5_2_first_of_two),
		cmocka_unit_test(real_5_2_second_of_two),
		cmocka_unit_test(real_5_2_twelve_streams),
		cmocka_unit_test(sixteen_streams_share_four_queues),
		cmocka_unit_test(runtime_of_5_2_prints_objects),
		cmocka_unit_test(error_of_5_2_is_of_its_only_queue),
		cmocka_unit_test(streams_of_5_2_are_bound_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
