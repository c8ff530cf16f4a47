// SPDX-License-Identifier: MIT
/* What a program gives the GPU to do: names, classes, sizes, rates, pauses; and comparing two. */
#include "logs.h"
#include "trace/analyse/compare.h"

static void feed(struct gp_trace_workload *workload, const char *text)
{
	struct gp_trace_amdlog_options options = {.name = "x.log"};
	struct gp_trace_amdlog_stats stats;
	int fd = test_memory_file(text, strlen(text));

	assert_int_equal(gp_trace_workload_init(workload), 0);
	assert_int_equal(gp_trace_amdlog_read(fd, &options, NULL, gp_trace_workload_event, workload,
					      &stats),
			 0);
	assert_int_equal(gp_trace_workload_finish(workload), 0);
	close(fd);
}

#define AT(us, tid)         ":4:rocvirtual.cpp           :1076: " us " us: [pid:77    tid:" tid "] "
#define NAME(us, tid, name) AT(us, tid) "ShaderName : " name "\n"
#define RUN(us, tid, queue, grid)                                                              \
	AT(us, tid)                                                                            \
	"SWq=0x7f0000001000, HWq=" queue                                                       \
	", id=1, Dispatch Header = 0xb02 (type=2, barrier=1, acquire=1, release=1), setup=3, " \
	"grid=[" grid "], workgroup=[64, 1, 1], private_seg_size=0, rptr=1, wptr=4\n"

static const struct gp_trace_kernel_use *kernel(const struct gp_trace_workload *workload,
						const char *name)
{
	for (size_t i = 0; i < workload->kernel_count; i++)
		if (!strcmp(workload->names.items[workload->kernels[i].name].text, name))
			return &workload->kernels[i];
	fail_msg("no kernel %s", name);
	return NULL;
}

static void a_name_belongs_to_the_next_dispatch_of_its_thread(void **state)
{
	struct gp_trace_workload workload;

	(void)state;
	feed(&workload,
	     NAME("0000001000", "0x7f01", "alpha_gemm")
		     NAME("0000001001", "0x7f02", "beta [clone .kd]")
			     RUN("0000001002", "0x7f02", "0x7f1000", "128, 2, 1")
				     RUN("0000001003", "0x7f01", "0x7f1000", "64, 1, 1")
					     RUN("0000001004", "0x7f01", "0x7f1000", "64, 1, 1"));
	assert_int_equal(workload.dispatches, 3);
	assert_int_equal(workload.named, 2); /* the third has no name: its was used */
	assert_int_equal(kernel(&workload, "beta")->grid_low, 256);
	assert_int_equal(kernel(&workload, "alpha_gemm")->grid_high, 64);
	assert_int_equal(kernel(&workload, "alpha_gemm")->workgroup, 64);
	assert_int_equal(workload.classes[GP_KERNEL_GEMM], 1);
	assert_int_equal(workload.ahead_high, 3);
	gp_trace_workload_free(&workload);
}

static void pauses_are_counted_and_the_longest_kept(void **state)
{
	struct gp_trace_workload workload;

	(void)state;
	feed(&workload, RUN("0000001000", "0x1", "0x7f1000", "1, 1, 1") RUN("0000001500", "0x1",
									    "0x7f1000", "1, 1, 1")
				RUN("0000003500", "0x1", "0x7f1000", "1, 1, 1")
					RUN("0000003400", "0x2", "0x7f1000", "1, 1, 1")
						RUN("0000013500", "0x1", "0x7f1000", "1, 1, 1"));
	assert_int_equal(workload.idle_gaps, 2);
	assert_int_equal(workload.idle_ns, 12000000);
	assert_int_equal(workload.gaps[0].length_ns, 10000000);
	assert_int_equal(workload.gaps[0].line, 5);
	assert_int_equal(workload.gaps[1].length_ns, 2000000);
	assert_true(gp_trace_workload_rate(&workload) > 319 &&
		    gp_trace_workload_rate(&workload) < 321);
	gp_trace_workload_free(&workload);
}

#define ROCR(us, queue)                                                                           \
	":amd_blit_kernel.cpp      :925 : " us " us: [pid:77    tid:0x1] [***rocr***] HWq=" queue \
	", id=3, Dispatch Header = 0x1402 (type=2, barrier=0, acquire=2, release=2), setup=1, "   \
	"grid=[64, 1, 1], workgroup=[64, 1, 1], completion_signal=0x7f rptr=6, wptr=6\n"

/* ROCr's clock may be seconds away from HIP's. */
static void times_of_two_clocks_are_not_mixed(void **state)
{
	struct gp_trace_workload workload;

	(void)state;
	feed(&workload,
	     ROCR("0900000000", "0x7f1000") ROCR("0900500000", "0x7f1000")
		     RUN("0000001000", "0x1", "0x7f1000", "1, 1, 1") ROCR("0900700000", "0x7f1000")
			     RUN("0000001500", "0x1", "0x7f1000", "1, 1, 1"));
	assert_int_equal(workload.dispatches, 5);
	assert_int_equal(workload.timed, 2);
	assert_int_equal(workload.clock, GP_CLOCK_MONOTONIC);
	assert_int_equal(workload.last_ns - workload.first_ns, 500000);
	assert_int_equal(workload.idle_gaps, 0);
	assert_true(gp_trace_workload_rate(&workload) > 1999 &&
		    gp_trace_workload_rate(&workload) < 2001);
	gp_trace_workload_free(&workload);
	/* Where there is nothing else, it will do. */
	feed(&workload, ROCR("0900000000", "0x7f1000") ROCR("0900500000", "0x7f1000"));
	assert_int_equal(workload.clock, GP_CLOCK_MONOTONIC_RAW);
	assert_int_equal(workload.idle_ns, 500000000);
	gp_trace_workload_free(&workload);
}

/* As in the logs of two boots in one file. */
static void nothing_is_measured_across_a_clock_that_went_back(void **state)
{
	struct gp_trace_workload workload;

	(void)state;
	feed(&workload, RUN("0900000000", "0x1", "0x7f1000", "1, 1, 1") RUN("0900000100", "0x1",
									    "0x7f1000", "1, 1, 1")
				RUN("0000001000", "0x1", "0x7f1000", "1, 1, 1")
					RUN("0000001300", "0x1", "0x7f1000", "1, 1, 1")
						RUN("0000003300", "0x1", "0x7f1000", "1, 1, 1"));
	assert_int_equal(workload.jumps, 1);
	assert_int_equal(workload.last_ns - workload.first_ns, 100000 + 300000 + 2000000);
	assert_int_equal(workload.idle_gaps, 1);
	assert_int_equal(workload.idle_ns, 2000000);
	gp_trace_workload_free(&workload);
}

static void more_pauses_than_are_kept_keep_the_longest(void **state)
{
	struct gp_trace_workload workload;
	struct gp_event event = {.kind = GP_EVENT_DISPATCH, .valid = GP_EV_TIME};

	(void)state;
	assert_int_equal(gp_trace_workload_init(&workload), 0);
	for (u64 i = 0; i < 12; i++) {
		event.time_ns += (i % 7 + 2) * 1000000;
		event.line = i + 1;
		assert_int_equal(gp_trace_workload_event(&workload, &event), 0);
	}
	assert_int_equal(gp_trace_workload_finish(&workload), 0);
	assert_int_equal(workload.gap_count, GP_WORKLOAD_GAPS);
	for (size_t i = 1; i < workload.gap_count; i++)
		assert_true(workload.gaps[i - 1].length_ns >= workload.gaps[i].length_ns);
	assert_int_equal(workload.gaps[0].length_ns, 8000000);
	assert_int_equal(workload.gaps[4].length_ns, 5000000);
	gp_trace_workload_free(&workload);
}

static void queues_of_one_window_are_at_once(void **state)
{
	struct gp_trace_workload workload;

	(void)state;
	feed(&workload, RUN("0000001000", "0x1", "0x7f1000", "1, 1, 1")
				RUN("0000002000", "0x1", "0x7f2000", "1, 1, 1")
					RUN("0000003000", "0x1", "0x7f1000", "1, 1, 1")
						RUN("0000021500", "0x1", "0x7f1000", "1, 1, 1"));
	assert_int_equal(workload.windows[2], 1);
	assert_int_equal(workload.windows[1], 1);
	gp_trace_workload_free(&workload);
}

static void the_curve_holds_everything_however_long_it_takes(void **state)
{
	struct gp_trace_workload workload;
	struct gp_event event = {.kind = GP_EVENT_DISPATCH, .valid = GP_EV_TIME};
	u64 sum = 0;

	(void)state;
	assert_int_equal(gp_trace_workload_init(&workload), 0);
	for (u64 i = 0; i < 1000; i++, event.time_ns += 777777777)
		assert_int_equal(gp_trace_workload_event(&workload, &event), 0);
	for (size_t i = 0; i < GP_WORKLOAD_BINS; i++)
		sum += workload.bins[i];
	assert_int_equal(sum, 1000);
	assert_true(workload.bin_ns * GP_WORKLOAD_BINS > 999ull * 777777777);
	gp_trace_workload_free(&workload);
}

/* clang-format off */
static const char odd_copies[] =
	AT("0000001000", "0x1") "HSA Async Copy on copy_engine=0x1, dst=0x7f00, src=0x7f80, size=4096, forceSDMA=0, wait_event=0x0, completion_signal=0x1\n"
	AT("0000001000", "0x1") "HSA Async Copy staged H2D dst=0x7f00, src=0x7f80, size=100, completion_signal=0x1\n"
	AT("0000001001", "0x1") "HSA Asycn Copy dst=0x7f00, src=0x7f80, size=9999, wait_event=0x0, completion_signal=0x1\n"
	AT("0000001001", "0x1") "HSA Async something else\n"
	AT("0000001001", "0x1") " hipDeviceSynchronize ( ) \n";

/* 6.4.3 and 7.2.4: a copy each from pageable memory, a rectangle, a row of another. */
static const char new_copies[] =
	AT("0000001000", "0x1") "HSA Async Copy staged H2D\n"
	AT("0000001000", "0x1") "HSA Async Copy on copy_engine=0x1, dst=0x7f00, src=0x7f80, size=4096, forceSDMA=0, wait_event=0x0, completion_signal=0x1\n"
	AT("0000001001", "0x1") "HSA Async Copy staged D2H, Async=0\n"
	AT("0000001001", "0x1") "HSA Copy copy_engine=0x1, dst=0x7f00, src=0x7f80, size=65536, forceSDMA=0, engineType=2, wait_event=0x0, completion_signal=0x1\n"
	AT("0000001002", "0x1") "HSA Async Copy Rect dst=0x7f00, src=0x7f80, wait_event=0x0, completion_signal=0x2\n"
	AT("0000001003", "0x1") "HSA Async Copy wait_event=0x0, completion_signal=0x2\n";
/* clang-format on */

static void copies_have_sizes_unless_the_release_prints_junk(void **state)
{
	struct gp_trace_workload workload;

	(void)state;
	feed(&workload, odd_copies);
	assert_int_equal(workload.copies, 3);
	assert_int_equal(workload.copy_bytes, 4196);
	assert_int_equal(workload.unsized_copies, 1);
	assert_int_equal(workload.waits, 1);
	gp_trace_workload_free(&workload);
}

static void a_copy_counts_once(void **state)
{
	struct gp_trace_workload workload;

	(void)state;
	feed(&workload, new_copies);
	assert_int_equal(workload.copies, 4);
	assert_int_equal(workload.copy_bytes, 4096 + 65536);
	assert_int_equal(workload.unsized_copies, 2);
	gp_trace_workload_free(&workload);
}

static void a_name_tells_the_class(void **state)
{
	static const struct {
		const char *name;
		enum gp_trace_kernel_class expected;
	} cases[] = {
		{"Cijk_Ailk_Bljk_SB_MT128x128x16", GP_KERNEL_GEMM},
		{"igemm_fwd_gtcx3_nhwc_fp32", GP_KERNEL_CONVOLUTION},
		{"_ZN2ck6kernel_batched_gemm_softmax", GP_KERNEL_GEMM},
		{"void softmax_warp_forward<float>", GP_KERNEL_SOFTMAX},
		{"flash_fwd_kernel", GP_KERNEL_ATTENTION},
		{"layer_norm_kernel", GP_KERNEL_NORMALISATION},
		{"__amd_rocclr_copyBuffer", GP_KERNEL_COPY},
		{"__amd_rocclr_fillBufferAligned", GP_KERNEL_FILL},
		{"ncclDevKernel_AllReduce", GP_KERNEL_COMMUNICATION},
		{"reduce_kernel", GP_KERNEL_REDUCTION},
		{"mystery", GP_KERNEL_OTHER},
		{"", GP_KERNEL_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(cases); i++) {
		assert_int_equal(gp_trace_kernel_class(cases[i].name, strlen(cases[i].name)),
				 cases[i].expected);
		assert_non_null(gp_trace_kernel_class_code(cases[i].expected));
		assert_non_null(gp_trace_kernel_class_name(cases[i].expected));
	}
}

/* ---- comparing ---- */

#define PLAIN(us, pid, queue)                                                                   \
	":4:rocvirtual.cpp           :1076: " us " us: [pid:" pid " tid:0x7f01] "               \
	"SWq=0x7f0000001000, HWq=" queue ", id=1, Dispatch Header = 0xb02 (type=2, barrier=1, " \
	"acquire=1, release=1), rptr=1, wptr=1\n"

static struct gp_trace_comparison compared(const char *a, const char *b, char **text)
{
	struct gp_trace_workload cases[2];
	struct gp_trace_comparison out;
	struct gp_doc *doc;
	json_t *json;

	feed(&cases[0], a);
	feed(&cases[1], b);
	assert_int_equal(gp_trace_compare(&cases[0], "a", &cases[1], "b", &out), 0);
	doc = gp_trace_compare_doc(&out);
	json = gp_doc_json(doc);
	if (text)
		*text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	gp_doc_free(doc);
	gp_trace_workload_free(&cases[0]);
	gp_trace_workload_free(&cases[1]);
	return out;
}

static void two_processes_are_suspended_as_a_whole(void **state)
{
	struct gp_trace_comparison c = compared(PLAIN("0000001000", "77", "0x7f1000"),
						PLAIN("0000001000", "78", "0x7f1000"), NULL);

	(void)state;
	assert_int_equal(c.strategy, GP_STRATEGY_SUSPEND_PROCESS);
	assert_int_equal(c.shared_queues, 0); /* one address in two address spaces */
	assert_int_equal(c.same_ids, 1);
}

static void one_process_with_its_own_queues_is_suspended_by_queue(void **state)
{
	struct gp_trace_comparison c = compared(PLAIN("0000001000", "77", "0x7f1000"),
						PLAIN("0000002000", "77", "0x7f2000"), NULL);

	(void)state;
	assert_int_equal(c.strategy, GP_STRATEGY_SUSPEND_QUEUES);
	assert_true(c.has_overlap);
	assert_int_equal(c.overlap_ns, 0);
}

static void a_batch_job_that_pauses_often_is_waited_for(void **state)
{
	struct gp_trace_comparison c;
	char *text = NULL;

	(void)state;
	/* A is idle for 50 ms. B pauses for 1.2 ms every 1.9 ms. */
	c = compared(PLAIN("0000001000", "77", "0x7f1000") PLAIN("0000051000", "77", "0x7f1000"),
		     PLAIN("0000001000", "78", "0x7f1000") PLAIN("0000001700", "78", "0x7f1000")
			     PLAIN("0000002900", "78", "0x7f1000")
				     PLAIN("0000003600", "78", "0x7f1000")
					     PLAIN("0000004800", "78", "0x7f1000"),
		     &text);
	assert_int_equal(c.online, 0);
	assert_int_equal(c.batch_pause_ns, 1900000);
	assert_int_equal(c.strategy, GP_STRATEGY_WAIT);
	assert_non_null(strstr(text, "\"online\":\"A\""));
	free(text);
	/* The same without a pause. */
	c = compared(PLAIN("0000001000", "77", "0x7f1000") PLAIN("0000051000", "77", "0x7f1000"),
		     PLAIN("0000001000", "78", "0x7f1000") PLAIN("0000001900", "78", "0x7f1000"),
		     NULL);
	assert_int_equal(c.online, 0);
	assert_int_equal(c.batch_pause_ns, 0);
	assert_int_equal(c.strategy, GP_STRATEGY_SUSPEND_PROCESS);
	c = compared(PLAIN("0000001000", "78", "0x7f1000") PLAIN("0000001900", "78", "0x7f1000"),
		     PLAIN("0000001000", "77", "0x7f1000") PLAIN("0000051000", "77", "0x7f1000"),
		     NULL);
	assert_int_equal(c.online, 1);
}

static void logs_without_pids_or_kernels_say_so(void **state)
{
	struct gp_trace_comparison c;
	char *text = NULL;

	(void)state;
	c = compared(":4:rocvirtual.cpp           :1076: 0000001000 us:  HWq=0x7f1000, Dispatch "
		     "Header = 0xb02 (type=2), setup=3\n",
		     PLAIN("0000001000", "78", "0x7f1000"), &text);
	assert_int_equal(c.strategy, GP_STRATEGY_UNKNOWN);
	assert_non_null(strstr(text, "\"same_process\":null"));
	free(text);
	c = compared(PREFIX " hipMalloc ( ) \n", PLAIN("0000001000", "78", "0x7f1000"), NULL);
	assert_int_equal(c.strategy, GP_STRATEGY_UNKNOWN);
	assert_false(c.has_overlap);
}

/* A log with everything the report has a line for. */
#define FULL                                                                                       \
	":3:rocdevice.cpp            :3048: 0000000900 us: [pid:77 tid:0x7f01] Created "           \
	"SWq=0x7f0000001000 to map on HWq=0x7f1000 with size 16384 with priority 2, cooperative: " \
	"0\n" NAME("0000001000", "0x7f01",                                                         \
		   "alpha_gemm_with_a_name_that_is_longer_than_the_table_is_"                      \
		   "wide_so_that_people_see_its_start_only")                                       \
		RUN("0000001002", "0x7f01", "0x7f1000", "128, 2, 1")                               \
			NAME("0000001003", "0x7f01", "beta")                                       \
				RUN("0000009002", "0x7f01", "0x7f1000", "64, 1, 1")

static void the_report_has_every_section(void **state)
{
	char *text = NULL;
	struct gp_trace_comparison c = compared(FULL, FULL, &text);

	(void)state;
	assert_int_equal(c.strategy, GP_STRATEGY_TIME_SLICE);
	assert_non_null(strstr(text, "\"strategy\":\"time-slice\""));
	assert_non_null(strstr(text, "see_its_start_only\"")); /* JSON has all of a name */
	assert_non_null(strstr(text, "\"priority\":\"high\""));
	assert_non_null(strstr(text, "\"grid_low\":256"));
	assert_non_null(strstr(text, "\"length_ns\":8000000"));
	assert_non_null(strstr(text, "\"class\":\"gemm\",\"a\":1,\"a_share\":50.0"));
	free(text);
}

static void texts_are_kept_once(void **state)
{
	struct gp_strings strings = {0};
	char text[32];
	u32 id;

	(void)state;
	assert_int_equal(gp_strings_find(&strings, "a", 1), GP_MAP_NONE);
	for (int round = 0; round < 2; round++) {
		for (u32 i = 0; i < 1000; i++) {
			size_t len = (size_t)snprintf(text, sizeof(text), "text number %u", i);

			assert_int_equal(gp_strings_add(&strings, text, len, &id), 0);
			assert_int_equal(id, i);
		}
	}
	assert_int_equal(gp_strings_find(&strings, "text number 7", 13), 7);
	assert_int_equal(gp_strings_find(&strings, "text number 7", 12), GP_MAP_NONE);
	gp_strings_free(&strings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_belongs_to_the_next_dispatch_of_its_thread),
		cmocka_unit_test(pauses_are_counted_and_the_longest_kept),
		cmocka_unit_test(times_of_two_clocks_are_not_mixed),
		cmocka_unit_test(nothing_is_measured_across_a_clock_that_went_back),
		cmocka_unit_test(more_pauses_than_are_kept_keep_the_longest),
		cmocka_unit_test(queues_of_one_window_are_at_once),
		cmocka_unit_test(the_curve_holds_everything_however_long_it_takes),
		cmocka_unit_test(copies_have_sizes_unless_the_release_prints_junk),
		cmocka_unit_test(a_copy_counts_once),
		cmocka_unit_test(a_name_tells_the_class),
		cmocka_unit_test(two_processes_are_suspended_as_a_whole),
		cmocka_unit_test(one_process_with_its_own_queues_is_suspended_by_queue),
		cmocka_unit_test(a_batch_job_that_pauses_often_is_waited_for),
		cmocka_unit_test(logs_without_pids_or_kernels_say_so),
		cmocka_unit_test(the_report_has_every_section),
		cmocka_unit_test(texts_are_kept_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
