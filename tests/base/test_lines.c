// SPDX-License-Identifier: MIT
/* Lines of any text: ends, clipping, what is refused. */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "logs.h"
#include "base/lines.h"

struct seen {
	size_t count;
	struct gp_line lines[8];
	char start[8][16];
	int stop_at;
};

static int keep(void *ctx, const struct gp_line *line)
{
	struct seen *seen = ctx;

	if (seen->count < 8) {
		seen->lines[seen->count] = *line;
		snprintf(seen->start[seen->count], 16, "%.*s", (int)line->len, line->text);
		seen->count++;
	}
	return seen->stop_at && seen->count == (size_t)seen->stop_at ? 7 : 0;
}

static int read_bytes(struct seen *seen, const void *data, size_t len, struct gp_lines_stats *stats,
		      struct gp_diag *diag)
{
	int fd = test_memory_file(data, len), ret;

	ret = gp_lines_read(fd, "some.txt", diag, keep, seen, stats);
	close(fd);
	return ret;
}

static void lines_end_with_newline_return_or_the_file(void **state)
{
	struct seen seen = {0};
	struct gp_lines_stats stats;

	(void)state;
	assert_int_equal(read_bytes(&seen, "one\r\n\ntwo\nlast\r", 15, &stats, NULL), 0);
	assert_int_equal(seen.count, 4);
	assert_string_equal(seen.start[0], "one");
	assert_string_equal(seen.start[1], "");
	assert_string_equal(seen.start[3], "last\r");
	assert_false(seen.lines[2].cut);
	assert_true(seen.lines[3].cut);
	assert_int_equal(seen.lines[3].number, 4);
	assert_int_equal(stats.bytes, 15);
}

static void a_long_line_is_clipped_and_the_next_one_is_whole(void **state)
{
	size_t size = GP_LINE_MAX * 12;
	char *text = malloc(size);
	struct seen seen = {0};
	struct gp_lines_stats stats;

	(void)state;
	memset(text, 'x', size);
	text[size - 5] = '\n';
	memcpy(text + size - 4, "end\n", 4);
	assert_int_equal(read_bytes(&seen, text, size, &stats, NULL), 0);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.lines[0].len, GP_LINE_MAX);
	assert_true(seen.lines[0].cut);
	assert_string_equal(seen.start[1], "end");
	assert_int_equal(stats.overlong, 1);
	assert_int_equal(stats.lines, 2);
	free(text);
}

static void a_callback_stops_the_reader(void **state)
{
	struct seen seen = {.stop_at = 1};
	struct gp_lines_stats stats;

	(void)state;
	assert_int_equal(read_bytes(&seen, "a\nb\n", 4, &stats, NULL), 7);
	assert_int_equal(seen.count, 1);
}

static void compressed_input_and_unreadable_input_are_refused(void **state)
{
	struct test_diag diag = TEST_DIAG;
	struct seen seen = {0};
	struct gp_lines_stats stats;
	int fd = open(".", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(read_bytes(&seen, "\x1f\x8b\x08 and so on and on", 20, &stats, &diag.diag),
			 -EINVAL);
	assert_non_null(strstr(diag.text.data, "some.txt is compressed (gzip)"));
	assert_int_equal(gp_lines_read(fd, "dir", &diag.diag, keep, &seen, &stats), -EISDIR);
	assert_int_equal(seen.count, 0);
	close(fd);
	gp_buf_free(&diag.text);
}

static void null_bytes_are_counted(void **state)
{
	struct seen seen = {0};
	struct gp_lines_stats stats;

	(void)state;
	assert_int_equal(read_bytes(&seen, "a\0b\nc\n", 6, &stats, NULL), 0);
	assert_int_equal(stats.nulls, 1);
}

static void a_pipe_that_is_not_ready_is_waited_for(void **state)
{
	struct seen seen = {0};
	struct gp_lines_stats stats;
	int ends[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		ssize_t wrote = write(ends[1], "late\n", 5);

		_exit(wrote != 5);
	}
	close(ends[1]);
	assert_int_equal(gp_lines_read(ends[0], "pipe", NULL, keep, &seen, &stats), 0);
	assert_string_equal(seen.start[0], "late");
	close(ends[0]);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_end_with_newline_return_or_the_file),
		cmocka_unit_test(a_long_line_is_clipped_and_the_next_one_is_whole),
		cmocka_unit_test(a_callback_stops_the_reader),
		cmocka_unit_test(compressed_input_and_unreadable_input_are_refused),
		cmocka_unit_test(null_bytes_are_counted),
		cmocka_unit_test(a_pipe_that_is_not_ready_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
