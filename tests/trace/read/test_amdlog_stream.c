// SPDX-License-Identifier: MIT
/* How the bytes arrive makes no difference: pipes, chunk boundaries, vector width, mode. */
#include <pthread.h>
#include <signal.h>

#include "logs.h"
#include "trace/read/scan.h"

static const char *const fixtures[] = {
	"rocm45.log", "rocm52.log",     "rocm56.log",        "rocm57.log", "rocm60_locale.log",
	"rocm62.log", "rocm63.log",     "rocm70_level3.log", "rocm71.log", "rocr.log",
	"quill.log",  "crash_dump.log", "wrapped.log",       "torn.log",
};

static void read_fixture(const char *name, struct gp_buf *out)
{
	char path[256];

	snprintf(path, sizeof(path), "amdlog/%s", name);
	*out = (struct gp_buf){0};
	assert_int_equal(gp_file_read(fixture(path), 1 << 20, out), 0);
}

static void assert_same_queues(const struct test_log *a, const struct test_log *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct gp_trace_log_queue *x = &a->rows[i], *y = &b->rows[i];

		assert_int_equal(x->pid, y->pid);
		assert_int_equal(x->address, y->address);
		assert_int_equal(x->dispatches, y->dispatches);
		assert_int_equal(x->barriers, y->barriers);
		assert_int_equal(x->first_ns, y->first_ns);
		assert_int_equal(x->last_ns, y->last_ns);
		assert_int_equal(x->rptr, y->rptr);
		assert_int_equal(x->wptr, y->wptr);
		assert_int_equal(x->hsa_id, y->hsa_id);
	}
}

struct writer {
	int fd;
	const char *data;
	size_t len, step;
};

static void *write_in_steps(void *arg)
{
	struct writer *writer = arg;

	/* The reader may stop early; then the write fails, which ends this thread. */
	for (size_t at = 0; at < writer->len; at += writer->step) {
		size_t left = writer->len - at;
		size_t want = left < writer->step ? left : writer->step;

		if (write(writer->fd, writer->data + at, want) != (ssize_t)want)
			break;
	}
	close(writer->fd);
	return NULL;
}

static void read_through_pipe(struct test_log *log, const struct gp_buf *text, size_t step,
			      int flags, bool fast)
{
	struct writer writer = {.data = text->data, .len = text->len, .step = step};
	pthread_t thread;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	/* Packets keep the steps apart even when the reader is late. */
	assert_int_equal(fcntl(ends[0], F_SETFL, flags), 0);
	assert_int_equal(fcntl(ends[1], F_SETFL, O_DIRECT), 0);
	writer.fd = ends[1];
	assert_int_equal(pthread_create(&thread, NULL, write_in_steps, &writer), 0);
	test_log_read(log, ends[0], "pipe", fast);
	pthread_join(thread, NULL);
}

static void pipe_in_small_pieces_gives_the_same_as_a_file(void **state)
{
	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(fixtures); i++) {
		struct test_log whole, pieces;
		struct gp_buf text;

		read_fixture(fixtures[i], &text);
		for (int fast = 0; fast < 2; fast++) {
			test_log_bytes(&whole, text.data, text.len, fast);
			for (size_t step = 1; step <= 4093; step += 4092) {
				read_through_pipe(&pieces, &text, step, step == 1 ? 0 : O_NONBLOCK,
						  fast);
				assert_int_equal(pieces.ret, whole.ret);
				assert_memory_equal(&pieces.stats, &whole.stats,
						    sizeof(whole.stats));
				assert_int_equal(pieces.event_count, whole.event_count);
				assert_same_queues(&pieces, &whole);
				test_log_free(&pieces);
			}
			test_log_free(&whole);
		}
		gp_buf_free(&text);
	}
}

static void compression_is_noticed_byte_by_byte(void **state)
{
	char magic[] = "\xfd"
		       "7zXZ\0\0\0";
	struct gp_buf text = {.data = magic, .len = 8};
	struct test_log log;

	(void)state;
	read_through_pipe(&log, &text, 1, 0, false);
	assert_int_equal(log.ret, -EINVAL);
	assert_non_null(strstr(gp_buf_str(&log.diag.text), "xzcat FILE"));
	test_log_free(&log);
}

static void fast_mode_finds_the_same_queues(void **state)
{
	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(fixtures); i++) {
		struct test_log full, fast;
		struct gp_buf text;

		read_fixture(fixtures[i], &text);
		test_log_bytes(&full, text.data, text.len, false);
		test_log_bytes(&fast, text.data, text.len, true);
		assert_same_queues(&full, &fast);
		assert_int_equal(full.stats.lines, fast.stats.lines);
		assert_int_equal(full.stats.bytes, fast.stats.bytes);
		test_log_free(&full);
		test_log_free(&fast);
		gp_buf_free(&text);
	}
}

static void log_longer_than_the_buffer_loses_nothing_at_its_seams(void **state)
{
	struct gp_buf fixture_text, text = {0};
	struct test_log once, many;
	const size_t copies = 700; /* some megabytes, so that lines cross every kind of seam */

	(void)state;
	read_fixture("rocm62.log", &fixture_text);
	for (size_t i = 0; i < copies; i++) {
		gp_buf_add(&text, fixture_text.data, fixture_text.len);
		/* A line of odd length moves the seams. */
		gp_buf_printf(&text, "%*s\n", (int)(i % 97), "");
	}
	assert_int_equal(text.error, 0);
	test_log_bytes(&once, fixture_text.data, fixture_text.len, false);
	for (int fast = 0; fast < 2; fast++) {
		test_log_bytes(&many, text.data, text.len, fast);
		/* Each copy creates the queue anew. */
		assert_int_equal(many.count, copies);
		for (size_t i = 0; i < copies; i++) {
			assert_int_equal(many.rows[i].dispatches, once.rows[0].dispatches);
			assert_int_equal(many.rows[i].barriers, once.rows[0].barriers);
		}
		assert_int_equal(many.stats.lines, copies * (once.stats.lines + 1));
		assert_int_equal(many.stats.recognised, fast ? 0 : copies * once.stats.recognised);
		test_log_free(&many);
	}
	test_log_free(&once);
	gp_buf_free(&fixture_text);
	gp_buf_free(&text);
}

static void log_that_becomes_dense_and_sparse_again_gives_the_same(void **state)
{
	/* What is rare in logs and decides which lines fast mode looks at. */
	static const char *const odd[] = {PREFIX "selected queue refCount: 0x40 (3)\n",
					  PREFIX "fC dw q= f= qw, nothing\n",
					  "HWq=0x50, Dispatch Header = 0x1 (a tail)\n",
					  "no log line\n", "\n"};
	struct gp_buf text = {0};
	struct test_log full, fast, pieces;
	u32 random = 7;

	(void)state;
	for (u32 i = 0; i < 12000; i++) {
		u32 share = i / 1000 % 3 == 1 ? 9 : i / 1000 % 3; /* of 10 lines */

		random = random * 1664525 + 1013904223;
		if ((random >> 16) % 10 < share)
			gp_buf_printf(&text, "%sHWq=0x%x, Dispatch Header = 0x1\n", PREFIX,
				      0x30 + (random >> 30));
		else if ((random >> 8) % 64 == 0)
			gp_buf_printf(&text, "%s", odd[(random >> 24) % GP_ARRAY_SIZE(odd)]);
		else if ((random >> 8) % 64 == 1)
			gp_buf_printf(&text, "%*sHWq=0x60, BarrierAND Header = 0x1\n", 70000, "");
		else
			gp_buf_printf(&text, "%shipMalloc: Returned hipSuccess : 0x1\n", PREFIX);
	}
	assert_int_equal(text.error, 0);
	test_log_bytes(&full, text.data, text.len, false);
	test_log_bytes(&fast, text.data, text.len, true);
	read_through_pipe(&pieces, &text, 3001, 0, true);
	assert_same_queues(&full, &fast);
	assert_same_queues(&fast, &pieces);
	assert_int_equal(fast.stats.lines, full.stats.lines);
	assert_memory_equal(&fast.stats, &pieces.stats, sizeof(fast.stats));
	test_log_free(&full);
	test_log_free(&fast);
	test_log_free(&pieces);
	gp_buf_free(&text);
}

static void dense_log_is_looked_at_no_closer_than_a_sparse_one(void **state)
{
	struct gp_buf text = {0};
	struct test_log log;

	(void)state;
	for (u32 i = 0; i < 100; i++)
		gp_buf_printf(&text, "%sHWq=0x30, Dispatch Header = 0x1\n", PREFIX);
	gp_buf_printf(&text, "%*s\n", 70000, "overlong, but it names no queue");
	gp_buf_add(&text, "\0\n", 2);
	gp_buf_printf(&text, "%sHWq=0x30, Dispatch Header = 0x1\n", PREFIX);
	test_log_bytes(&log, text.data, text.len, true);
	assert_int_equal(log.rows[0].dispatches, 101);
	assert_int_equal(log.stats.lines, 103);
	assert_int_equal(log.stats.overlong, 0);
	assert_false(log.stats.binary);
	test_log_free(&log);
	gp_buf_free(&text);
}

struct heard {
	u64 calls, last;
};

static void hear(void *ctx, u64 done_bytes)
{
	struct heard *heard = ctx;

	assert_true(done_bytes > heard->last);
	heard->last = done_bytes;
	heard->calls++;
}

static void progress_is_told_block_by_block(void **state)
{
	struct heard heard = {0};
	struct gp_trace_amdlog_options options = {.name = "x",
						  .progress = hear,
						  .progress_ctx = &heard};
	struct gp_trace_amdlog_stats stats;
	struct gp_buf text = {0};
	int fd;

	(void)state;
	for (u32 i = 0; i < 30000; i++)
		gp_buf_printf(&text, "%sx\n", PREFIX);
	fd = test_memory_file(text.data, text.len);
	assert_int_equal(gp_trace_amdlog_read(fd, &options, NULL, NULL, NULL, &stats), 0);
	assert_true(heard.calls > 2);
	assert_int_equal(heard.last, text.len);
	close(fd);
	gp_buf_free(&text);
}

static void every_vector_width_gives_the_same_marks(void **state)
{
	static const char pieces[][8] = {"us:", "u", "s:", "q=", "q", "=", "fC", "dw",
					 "\n",  " ", "x",  "d",  "w", "f", "C",  "HWq="};
	const struct gp_trace_scan *scans[4];
	size_t count = gp_trace_scan_all(scans, GP_ARRAY_SIZE(scans));
	char text[512 + GP_SCAN_PAD];
	u32 random = 1;

	(void)state;
	assert_true(count >= 1);
	for (int round = 0; round < 20000; round++) {
		size_t len = 0, limit = 1 + (size_t)round % 500;

		memset(text, 0, sizeof(text));
		while (len < limit) {
			random = random * 1664525 + 1013904223;
			for (const char *c = pieces[random >> 28]; *c && len < limit; c++)
				text[len++] = *c;
		}
		text[len] = '\n';
		for (size_t i = 1; i < count; i++) {
			struct gp_trace_marks a, b;
			u64 a_lines = 0, b_lines = 0;

			scans[0]->line(text, &a);
			scans[i]->line(text, &b);
			assert_ptr_equal(a.end, b.end);
			assert_ptr_equal(a.time[0], b.time[0]);
			assert_ptr_equal(a.time[1], b.time[1]);
			assert_ptr_equal(a.queue, b.queue);
			assert_int_equal(a.queues, b.queues);
			assert_ptr_equal(scans[0]->queue(text, text + len, &a_lines),
					 scans[i]->queue(text, text + len, &b_lines));
			assert_int_equal(a_lines, b_lines);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pipe_in_small_pieces_gives_the_same_as_a_file),
		cmocka_unit_test(compression_is_noticed_byte_by_byte),
		cmocka_unit_test(fast_mode_finds_the_same_queues),
		cmocka_unit_test(log_longer_than_the_buffer_loses_nothing_at_its_seams),
		cmocka_unit_test(log_that_becomes_dense_and_sparse_again_gives_the_same),
		cmocka_unit_test(dense_log_is_looked_at_no_closer_than_a_sparse_one),
		cmocka_unit_test(progress_is_told_block_by_block),
		cmocka_unit_test(every_vector_width_gives_the_same_marks),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
