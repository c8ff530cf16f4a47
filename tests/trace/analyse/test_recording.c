// SPDX-License-Identifier: MIT
/* Recordings: kernels of every source, as requests of a scenario. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testlib.h"
#include "trace/analyse/recording.h"

#define HEADER "KernelName,gpu-id,queue-id,pid,tid,grd,wgr,vgpr,sgpr,BeginNs,EndNs\n"

static int text_fd(const char *text)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int add(struct gp_trace_recording *r, const char *name, const char *job_class,
	       const char *text, struct test_diag *diag)
{
	int fd = text_fd(text),
	    error = gp_trace_recording_read(r, fd, name, job_class, &diag->diag);

	close(fd);
	return error;
}

static char *written(struct gp_trace_recording *r)
{
	struct test_diag diag = TEST_DIAG;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(gp_trace_recording_finish(r, &diag.diag), 0);
	assert_int_equal(gp_trace_recording_write(r, out), 0);
	fclose(out);
	gp_trace_recording_free(r);
	return text;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

static void kernels_close_together_are_one_request(void **state)
{
	struct gp_trace_recording r = {.burst_ns = 100000};
	struct test_diag diag = TEST_DIAG;
	char *text;

	(void)state;
	/* Queue 7 has a burst of two and one kernel later; queue 9 one in between. */
	assert_int_equal(add(&r, "dir/ser[ver].csv", "online",
			     HEADER "a,3,7,50,50,1000,64,12,16,5000000,5010000\n"
				    "b,3,9,50,50,64,64,90,16,5005000,5030000\n"
				    "c,3,7,50,50,64,64,24,16,5110000,5130000\n"
				    "d,3,7,50,50,64,64,24,16,5230001,5240001\n",
			     &diag),
			 0);
	text = written(&r);
	assert_has(text,
		   "[job ser_ver_]\nclass = online\narrival = recorded\nqueues = 2\nvgprs = 90\n"
		   "[work ser_ver_]\n"
		   "0ns 0 10000ns 16\n+ 0 20000ns 1\n"
		   "5000ns 1 25000ns 1\n"
		   "230001ns 0 10000ns 1\n");
	assert_null(strstr(text, "count ="));
	free(text);
}

static void batch_work_is_a_request_for_each_kernel(void **state)
{
	struct gp_trace_recording r = {.burst_ns = 100000};
	struct test_diag diag = TEST_DIAG;
	char *text;

	(void)state;
	assert_int_equal(add(&r, "trainer.csv", "offline",
			     HEADER "a,0,1,50,50,64,64,8,16,1000,2000\n"
				    "a,0,1,50,50,64,64,8,16,2000,3000\n",
			     &diag),
			 0);
	text = written(&r);
	assert_has(text, "arrival = recorded closed\n");
	assert_has(text, "0ns 0 1000ns 1\n1000ns 0 1000ns 1\n");
	free(text);
}

static void recordings_of_one_time_stay_beside_each_other(void **state)
{
	static const char first[] = HEADER "a,0,1,50,50,64,64,8,16,1000,9000\n";
	static const char beside[] = HEADER "a,0,1,51,51,64,64,8,16,4000,6000\n";
	static const char later[] = HEADER "a,0,1,51,51,64,64,8,16,94000,96000\n";
	struct gp_trace_recording r = {0};
	struct test_diag diag = TEST_DIAG;
	char *text;

	(void)state;
	assert_int_equal(add(&r, "a.csv", NULL, first, &diag), 0);
	assert_int_equal(add(&r, "b.csv", NULL, beside, &diag), 0);
	text = written(&r);
	assert_has(text, "[work a]\n0ns 0 8000ns");
	assert_has(text, "[work b]\n3000ns 0 2000ns");
	free(text);

	assert_int_equal(add(&r, "a.csv", NULL, first, &diag), 0);
	assert_int_equal(add(&r, "b.csv", NULL, later, &diag), 0);
	text = written(&r);
	assert_has(text, "[work b]\n0ns 0 2000ns");
	free(text);
}

static void processes_and_gpus_are_jobs_of_their_own(void **state)
{
	struct gp_trace_recording r = {0};
	struct test_diag diag = TEST_DIAG;
	char *text;

	(void)state;
	assert_int_equal(add(&r, "x.csv", NULL,
			     HEADER "a,4,1,50,50,64,64,8,16,1000,2000\n"
				    "a,9,1,50,50,64,64,8,16,1000,2000\n"
				    "a,4,1,51,51,64,64,8,16,3000,4000\n",
			     &diag),
			 0);
	text = written(&r);
	assert_has(text, "[gpu]\ncount = 2\n");
	assert_has(text, "[job x-0-50-gpu0]\n");
	assert_has(text, "[job x-0-50-gpu1]\narrival = recorded\nqueues = 1\ngpu = 1\n");
	assert_has(text, "[job x-0-51-gpu0]\n");
	free(text);
}

static void a_log_needs_to_be_told_how_long_kernels_take(void **state)
{
	static const char log[] =
		":4:rocvirtual.cpp           :866 : 15300703410 us: 2040477: [tid:0x7c0d31b0a8c0] "
		"HWq=0x7c0d55200000, Dispatch Header = 0xb02 (type=2, barrier=1, acquire=2, "
		"release=1), setup=2, grid=[672, 3, 1], workgroup=[96, 1, 1], private_seg_size=16, "
		"group_seg_size=224, kernel_obj=0x7e0007c0de40, kernarg_address=0x7e0007a4b000, "
		"completion_signal=0x0\n";
	struct gp_trace_recording r = {0};
	struct test_diag diag = TEST_DIAG;
	char *text;

	(void)state;
	assert_int_equal(add(&r, "app.log", NULL, log, &diag), -EINVAL);
	assert_has(gp_buf_str(&diag.text), "--kernel TIME");
	gp_buf_free(&diag.text);
	gp_trace_recording_free(&r);
	r.kernel_ns = 25000;
	assert_int_equal(add(&r, "app.log", NULL, log, &diag), 0);
	assert_int_equal(r.guessed, 1);
	text = written(&r);
	assert_has(text, "[work app]\n0ns 0 25000ns 21\n");
	free(text);
}

#define LINE(time, kind, job, other)                                                               \
	"{\"id\":1,\"monotonic_ns\":" #time ",\"kind\":\"" kind "\",\"gpu_id\":41411,\"job\":" job \
	",\"other\":" other ",\"job_priority\":500,\"other_priority\":2000,\"ran_ns\":100}\n"
#define TRAINER "{\"id\":7,\"pid\":70,\"name\":\"t\"}"
#define SECOND  "{\"id\":8,\"pid\":80,\"name\":\"u\"}"
#define SERVER  "{\"id\":9,\"pid\":90,\"name\":\"s\"}"

/* The server is served from the first that waits for it to the last. */
static void the_daemons_record_tells_who_was_served_and_when(void **state)
{
	struct gp_trace_recording r = {0};
	struct test_diag diag = TEST_DIAG;
	char *text;

	(void)state;
	assert_int_equal(add(&r, "log.jsonl", NULL,
			     LINE(1000, "came", TRAINER, "null") LINE(5000, "suspend", TRAINER,
								      SERVER)
				     LINE(5500, "suspend", SECOND, SERVER) LINE(8000, "resume",
										TRAINER, SERVER)
					     LINE(9000, "resume", SECOND, SERVER) "a torn li\n",
			     &diag),
			 0);
	text = written(&r);
	assert_has(text, "priority = 500\narrival = recorded\nqueues = 1\n"
			 "[work log-0-70-gpu0]\n0ns 0 4000ns\n");
	assert_has(text, "[work log-0-80-gpu0]\n4400ns 0 100ns\n");
	assert_has(text, "priority = 2000\narrival = recorded\nqueues = 1\n"
			 "[work log-0-90-gpu0]\n4000ns 0 4000ns\n");
	free(text);
}

static void what_cannot_be_replayed_is_said(void **state)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
		{"hello\n", "x: unknown format (expected a rocprof file"},
		{"{\"a\": 1}\n", "x: unknown format"},
		{"", "x: unknown format"},
		{HEADER "a,0,1,50,50,64,64,8,16,9000,1000\n",
		 "x contains no kernels with timestamps"},
	};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(rows); i++) {
		struct gp_trace_recording r = {0};
		struct test_diag diag = TEST_DIAG;

		assert_int_not_equal(add(&r, "x", NULL, rows[i].text, &diag), 0);
		assert_has(gp_buf_str(&diag.text), rows[i].said);
		gp_buf_free(&diag.text);
		gp_trace_recording_free(&r);
	}
}

static void a_pipe_cannot_be_read_twice(void **state)
{
	static const char text[] = HEADER "a,3,7,50,50,64,64,12,16,5000000,5010000\n";
	struct gp_trace_recording r = {.burst_ns = 100000};
	struct test_diag diag = TEST_DIAG;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], text, sizeof(text) - 1), sizeof(text) - 1);
	close(ends[1]);
	assert_int_equal(gp_trace_recording_read(&r, ends[0], "pipe", "online", &diag.diag),
			 -ESPIPE);
	close(ends[0]);
	gp_buf_free(&diag.text);
	gp_trace_recording_free(&r);
}

static void nothing_is_not_replayed(void **state)
{
	struct gp_trace_recording r = {.burst_ns = 100000};
	struct test_diag diag = TEST_DIAG;

	(void)state;
	assert_int_equal(gp_trace_recording_finish(&r, &diag.diag), -ENODATA);
	gp_buf_free(&diag.text);
	gp_trace_recording_free(&r);
}

static void of_kernels_that_begin_together_the_shorter_comes_first(void **state)
{
	struct gp_trace_recording r = {.burst_ns = 100000};
	struct test_diag diag = TEST_DIAG;
	char *text;

	(void)state;
	assert_int_equal(add(&r, "s.csv", "online",
			     HEADER "a,3,7,50,50,64,64,12,16,5000000,5030000\n"
				    "b,3,7,50,50,64,64,12,16,5000000,5010000\n",
			     &diag),
			 0);
	text = written(&r);
	assert_has(text, "\n0ns 0 10000ns ");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_close_together_are_one_request),
		cmocka_unit_test(batch_work_is_a_request_for_each_kernel),
		cmocka_unit_test(recordings_of_one_time_stay_beside_each_other),
		cmocka_unit_test(processes_and_gpus_are_jobs_of_their_own),
		cmocka_unit_test(a_log_needs_to_be_told_how_long_kernels_take),
		cmocka_unit_test(the_daemons_record_tells_who_was_served_and_when),
		cmocka_unit_test(what_cannot_be_replayed_is_said),
		cmocka_unit_test(a_pipe_cannot_be_read_twice),
		cmocka_unit_test(nothing_is_not_replayed),
		cmocka_unit_test(of_kernels_that_begin_together_the_shorter_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
