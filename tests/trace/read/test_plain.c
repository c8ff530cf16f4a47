// SPDX-License-Identifier: MIT
/* Compressed files: read like plain ones, whole, cut off, damaged, or made to fill a disk. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "testlib.h"
#include "trace/read/plain.h"
#include "trace/read/source.h"

static int file_of(const void *data, size_t len)
{
	int fd = memfd_create("packed", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Appends a gzip member or a zstd frame with the text. */
static void pack(struct gp_buf *out, bool zstd, const void *text, size_t len)
{
	size_t room = compressBound((uLong)len) + 64, got;
	Bytef *packed = malloc(room > ZSTD_compressBound(len) ? room : ZSTD_compressBound(len));

	assert_non_null(packed);
	if (zstd) {
		got = ZSTD_compress(packed, ZSTD_compressBound(len), text, len, 3);
		assert_false(ZSTD_isError(got));
	} else {
		z_stream stream = {.next_in = (Bytef *)(uintptr_t)text,
				   .avail_in = (uInt)len,
				   .next_out = packed,
				   .avail_out = (uInt)room};

		assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, 0), Z_OK);
		assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
		got = stream.total_out;
		deflateEnd(&stream);
	}
	gp_buf_add(out, (const char *)packed, got);
	free(packed);
}

static size_t content_of(int fd, char *out, size_t size)
{
	size_t fill = 0;
	ssize_t got;

	while ((got = read(fd, out + fill, size - fill)) > 0)
		fill += (size_t)got;
	assert_true(got == 0);
	return fill;
}

static void members_and_frames_are_read_in_sequence(void **state)
{
	(void)state;
	for (int zstd = 0; zstd < 2; zstd++) {
		struct test_diag sink = TEST_DIAG;
		struct gp_buf packed = {0};
		char text[64];
		int fd;

		pack(&packed, zstd, "first\n", 6);
		pack(&packed, zstd, "second\n", 7);
		fd = gp_trace_plain(file_of(packed.data, packed.len), "x", &sink.diag);
		assert_true(fd >= 0);
		assert_int_equal(content_of(fd, text, sizeof(text)), 13);
		assert_memory_equal(text, "first\nsecond\n", 13);
		assert_int_equal(sink.errors + sink.warnings, 0);
		close(fd);
		gp_buf_free(&packed);
	}
}

/* Text that does not shrink much, so that half a file is half the text. */
static void fill_text(char *text, size_t len)
{
	unsigned int seed = 7;

	for (size_t i = 0; i < len; i++) {
		seed = seed * 1103515245u + 12345u;
		text[i] = (char)(i % 80 == 79 ? '\n' : 'a' + (seed >> 16) % 26);
	}
}

static void a_file_that_is_cut_off_gives_its_start_with_a_warning(void **state)
{
	enum { SIZE = 1 << 20 };
	char *text = malloc(SIZE), *back = malloc(SIZE);

	(void)state;
	fill_text(text, SIZE);
	for (int zstd = 0; zstd < 2; zstd++) {
		struct test_diag sink = TEST_DIAG;
		struct gp_buf packed = {0};
		size_t got;
		int fd;

		pack(&packed, zstd, text, SIZE);
		fd = gp_trace_plain(file_of(packed.data, packed.len / 2), "cut.log", &sink.diag);
		assert_true(fd >= 0);
		got = content_of(fd, back, SIZE);
		assert_true(got > SIZE / 4 && got < SIZE);
		assert_memory_equal(back, text, got);
		assert_int_equal(sink.warnings, 1);
		assert_non_null(strstr(sink.text.data, "cut.log"));
		close(fd);
		/* The end of gzip is a checksum; that of zstd has one only if it was asked for. */
		packed.data[packed.len - 8] ^= 1;
		fd = gp_trace_plain(file_of(packed.data, packed.len), "bad.log", &sink.diag);
		assert_true(fd >= 0);
		assert_int_equal(sink.warnings, zstd ? 1 : 2);
		close(fd);
		assert_int_equal(gp_trace_plain(file_of(packed.data, 5), "five", &sink.diag),
				 -EBADMSG);
		gp_buf_free(&packed);
		gp_buf_free(&sink.text);
	}
	free(text);
	free(back);
}

static void a_file_that_expands_beyond_measure_is_refused(void **state)
{
	size_t size = 96u << 20;
	char *zeros = calloc(1, size);

	(void)state;
	for (int zstd = 0; zstd < 2; zstd++) {
		struct test_diag sink = TEST_DIAG;
		struct gp_buf packed = {0};

		pack(&packed, zstd, zeros, size);
		assert_int_equal(gp_trace_plain(file_of(packed.data, packed.len), "bomb",
						&sink.diag),
				 -EFBIG);
		assert_int_equal(sink.errors, 1);
		gp_buf_free(&packed);
		gp_buf_free(&sink.text);
	}
	free(zeros);
}

static void without_a_directory_the_content_is_kept_in_memory(void **state)
{
	char before[4096] = "", text[64];
	struct gp_buf packed = {0};
	int fd;

	(void)state;
	if (getenv("TMPDIR"))
		snprintf(before, sizeof(before), "%s", getenv("TMPDIR"));
	setenv("TMPDIR", "/nonexistent", 1);
	pack(&packed, true, "kept\n", 5);
	fd = gp_trace_plain(file_of(packed.data, packed.len), "x", NULL);
	assert_true(fd >= 0);
	assert_int_equal(content_of(fd, text, sizeof(text)), 5);
	close(fd);
	if (*before)
		setenv("TMPDIR", before, 1);
	else
		unsetenv("TMPDIR");
	gp_buf_free(&packed);
}

/* A disk that is full: nothing can be written to what the content goes to. */
static void a_full_disk_is_an_error_that_names_the_file(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct rlimit limit, small;
	struct gp_buf packed = {0};
	char *text = malloc(1 << 20);

	(void)state;
	fill_text(text, 1 << 20);
	pack(&packed, false, text, 1 << 20);
	int fd = file_of(packed.data, packed.len);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = (struct rlimit){.rlim_cur = 4096, .rlim_max = limit.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(gp_trace_plain(fd, "full.log", &sink.diag), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_non_null(strstr(sink.text.data, "cannot decompress full.log: File too large"));
	gp_buf_free(&packed);
	gp_buf_free(&sink.text);
	free(text);
}

static void other_files_and_pipes_stay_as_they_are(void **state)
{
	int ends[2], fd = file_of("plain text\n", 11);

	(void)state;
	assert_int_equal(gp_trace_plain(fd, "x", NULL), fd);
	close(fd);
	fd = file_of("\xfd"
		     "7zXZ\0rest of it",
		     16);
	assert_int_equal(gp_trace_plain(fd, "x", NULL), fd);
	close(fd);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(gp_trace_plain(ends[0], "x", NULL), ends[0]);
	close(ends[0]);
	close(ends[1]);
}

static void a_compressed_file_is_identified_by_its_content(void **state)
{
	static const char log[] =
		":3:hip_module.cpp :100 : 1000 us: 17 : [tid:0x7f] hipLaunchKernel\n"
		":3:hip_stream.cpp :200 : 2000 us: 17 : [tid:0x7f] hipStreamCreate\n";

	(void)state;
	for (int zstd = 0; zstd < 2; zstd++) {
		enum gp_trace_source_kind kind, plain;
		struct gp_buf packed = {0};
		char text[8];
		int fd, as_is = file_of(log, sizeof(log) - 1);

		pack(&packed, zstd, log, sizeof(log) - 1);
		fd = file_of(packed.data, packed.len);
		assert_int_equal(gp_trace_source_identify(as_is, "x", &plain), 0);
		assert_int_equal(gp_trace_source_identify(fd, "x", &kind), 0);
		assert_int_equal(kind, plain);
		assert_int_not_equal(kind, GP_SOURCE_UNKNOWN);
		assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
		assert_int_equal(gp_trace_plain_start(fd, text, 4), 4);
		assert_memory_equal(text, log, 4);
		close(fd);
		close(as_is);
		gp_buf_free(&packed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_and_frames_are_read_in_sequence),
		cmocka_unit_test(a_file_that_is_cut_off_gives_its_start_with_a_warning),
		cmocka_unit_test(a_file_that_expands_beyond_measure_is_refused),
		cmocka_unit_test(without_a_directory_the_content_is_kept_in_memory),
		cmocka_unit_test(a_full_disk_is_an_error_that_names_the_file),
		cmocka_unit_test(other_files_and_pipes_stay_as_they_are),
		cmocka_unit_test(a_compressed_file_is_identified_by_its_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
