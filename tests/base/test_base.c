// SPDX-License-Identifier: MIT
#include "testlib.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core.h"
#include "base/json.h"
#include "base/parse.h"
#include "base/utf8.h"

static void numbers_that_do_not_fit_are_refused(void **state)
{
	const char *text = "18446744073709551616", *p = text;
	u64 wide = 7;
	u32 narrow = 7;

	(void)state;
	assert_false(gp_parse_u64(&p, text + strlen(text), &wide));
	assert_ptr_equal(p, text);
	p = text;
	assert_true(gp_parse_u64(&p, text + 19, &wide));
	assert_int_equal(wide, 1844674407370955161ull);
	p = text = "4294967296";
	assert_false(gp_parse_u32(&p, text + 10, &narrow));
	p = text = "0x10000000000000000";
	assert_false(gp_parse_hex(&p, text + strlen(text), &wide));
}

static void parsing_stops_at_the_end_given(void **state)
{
	const char *text = "0x0x1fz", *p = text;
	u64 value = 0;

	(void)state;
	assert_true(gp_parse_hex(&p, text + 5, &value));
	assert_int_equal(value, 1);
	p = text;
	assert_true(gp_parse_hex(&p, text + 7, &value));
	assert_int_equal(value, 0x1f);
	assert_int_equal(*p, 'z');
	p = text;
	assert_false(gp_parse_hex(&p, text + 2, &value));
}

static void pid_arguments_are_checked_whole(void **state)
{
	static const char *const bad[] = {"", "0", "-1", "12x", " 12", "2147483648", "0x10"};
	u32 pid;

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(bad); i++)
		assert_false(gp_argument_pid(bad[i], &pid));
	assert_true(gp_argument_pid("158036", &pid));
	assert_int_equal(pid, 158036);
}

static void buffer_grows_and_stays_terminated(void **state)
{
	struct gp_buf buf = {0};

	(void)state;
	assert_string_equal(gp_buf_str(&buf), "");
	for (int i = 0; i < 1000; i++)
		gp_buf_printf(&buf, "%d,", i);
	assert_int_equal(buf.error, 0);
	assert_int_equal(buf.len, strlen(buf.data));
	assert_memory_equal(buf.data, "0,1,2,", 6);
	assert_int_equal(gp_buf_reserve(&buf, SIZE_MAX), -ENOMEM);
	gp_buf_puts(&buf, "lost");
	assert_null(strstr(buf.data, "lost"));
	gp_buf_free(&buf);
}

static void the_smaller_and_the_larger_are_evaluated_once(void **state)
{
	int calls = 0;
	u64 big = UINT64_MAX;

	(void)state;
	assert_int_equal(GP_MIN(calls++, 5), 0);
	assert_int_equal(calls, 1);
	assert_int_equal(GP_MAX(5, calls++), 5);
	assert_int_equal(calls, 2);
	assert_true(GP_MAX(GP_MIN(big, 7u), GP_MIN(calls++, 9)) == 7);
	assert_int_equal(calls, 3);
	assert_true(GP_MIN(big, big - 1) == UINT64_MAX - 1);
}

static void atomic_write_replaces_whole_or_not_at_all(void **state)
{
	char dir[64], path[128], missing[128];
	struct gp_buf text = {0};
	struct gp_names names;
	struct gp_root root;
	struct stat info;

	(void)state;
	assert_non_null(place_make(dir, sizeof(dir)));
	root.dir = dir;
	snprintf(path, sizeof(path), "%s/out.py", dir);
	snprintf(missing, sizeof(missing), "%s/no/out.py", dir);
	assert_int_equal(gp_file_write_atomic(path, "one\n", 4), 0);
	assert_int_equal(gp_file_write_atomic(path, "two\n", 4), 0);
	assert_int_equal(gp_file_write_atomic(missing, "x", 1), -ENOENT);
	assert_int_equal(gp_file_read(path, 100, &text), 0);
	assert_string_equal(text.data, "two\n");
	assert_int_equal(gp_file_read(path, 3, &text), -EFBIG);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0400, 0400);
	/* Nothing but the file itself is left. */
	assert_int_equal(gp_root_list(&root, &names, "/"), 0);
	assert_int_equal(names.count, 1);
	gp_names_free(&names);
	gp_buf_free(&text);
	place_remove(dir);
}

static void a_write_that_fails_half_way_leaves_nothing(void **state)
{
	char dir[64], path[128], *big = calloc(1, 65536);
	struct rlimit old, small;
	struct gp_names names;
	struct gp_root root;
	struct stat info;
	mode_t mask = umask(027);

	(void)state;
	assert_non_null(place_make(dir, sizeof(dir)));
	root.dir = dir;
	snprintf(path, sizeof(path), "%s/out", dir);
	assert_int_equal(gp_file_write_atomic(path, "old", 3), 0);
	umask(mask);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0640);
	/* A limit on file size stands in for a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){.rlim_cur = 4096, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(gp_file_write_atomic(path, big, 65536), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(gp_root_list(&root, &names, "/"), 0);
	assert_int_equal(names.count, 1);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_size, 3);
	gp_names_free(&names);
	free(big);
	place_remove(dir);
}

static void devices_are_written_to_and_links_followed(void **state)
{
	char dir[64], link[128], path[128];
	struct gp_buf text = {0};
	struct stat info;

	(void)state;
	assert_non_null(place_make(dir, sizeof(dir)));
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(gp_file_write_atomic("/dev/null", "x", 1), 0);
	assert_int_equal(stat("/dev/null", &info), 0);
	assert_true(S_ISCHR(info.st_mode));
	assert_int_equal(gp_file_write_atomic("/dev/full", "x", 1), -ENOSPC);
	assert_int_equal(gp_file_write_atomic(dir, "x", 1), -EISDIR);
	assert_int_equal(gp_file_write_atomic(path, "old", 3), 0);
	assert_int_equal(symlink("file", link), 0);
	assert_int_equal(gp_file_write_atomic(link, "new", 3), 0);
	assert_int_equal(lstat(link, &info), 0);
	assert_true(S_ISLNK(info.st_mode));
	assert_int_equal(gp_file_read(path, 100, &text), 0);
	assert_string_equal(text.data, "new");
	/* A name that the user did not choose: the link goes, its target stays. */
	assert_int_equal(gp_file_replace(link, "other", 5), 0);
	assert_int_equal(lstat(link, &info), 0);
	assert_true(S_ISREG(info.st_mode));
	assert_int_equal(gp_file_read(path, 100, &text), 0);
	assert_string_equal(text.data, "new");
	gp_buf_free(&text);
	place_remove(dir);
}

static void directories_list_numbers_by_value(void **state)
{
	char dir[64], path[128];
	static const char *const sorted[] = {"2", "10", "100"};
	struct gp_root root = {.dir = dir};
	struct gp_names names;

	(void)state;
	assert_non_null(place_make(dir, sizeof(dir)));
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, sorted[2 - i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	assert_int_equal(gp_root_list(&root, &names, "/"), 0);
	assert_int_equal(names.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(names.items[i], sorted[i]);
		snprintf(path, sizeof(path), "%s/%s", dir, sorted[i]);
		rmdir(path);
	}
	gp_names_free(&names);
	place_remove(dir);
	assert_int_equal(gp_root_list(&root, &names, "/"), -ENOENT);
}

static void a_number_file_holds_one_number(void **state)
{
	char dir[64], path[128];
	struct gp_root root = {.dir = dir};
	u64 value = 0;

	(void)state;
	assert_non_null(place_make(dir, sizeof(dir)));
	snprintf(path, sizeof(path), "%s/size", dir);
	/* KFD's queue files have no newline. */
	assert_int_equal(gp_file_write_atomic(path, "65536", 5), 0);
	assert_int_equal(gp_root_read_u64(&root, &value, "/%s", "size"), 0);
	assert_int_equal(value, 65536);
	assert_int_equal(gp_file_write_atomic(path, "12 apples\n", 10), 0);
	assert_int_equal(gp_root_read_u64(&root, &value, "/size"), -EINVAL);
	unlink(path);
	assert_int_equal(gp_root_read_u64(&root, &value, "/size"), -ENOENT);
	place_remove(dir);
}

static void text_from_outside_becomes_valid_json(void **state)
{
	static const char bad[] = "a\xff\xc0\xaf\xed\xa0\x80z\xe4\xb8\xad";
	json_t *json = gp_json_text(bad, sizeof(bad) - 1);

	(void)state;
	assert_non_null(json);
	assert_non_null(strstr(json_string_value(json), "\xef\xbf\xbd"));
	assert_non_null(strstr(json_string_value(json), "z\xe4\xb8\xad"));
	json_decref(json);
	json = gp_json_u64_if(false, 3);
	assert_true(json_is_null(json));
	json = gp_json_u64_if(true, 1ull << 63);
	assert_string_equal(json_string_value(json), "0x8000000000000000");
	json_decref(json);
	json = gp_json_hex(0xfedcba9876543210ull);
	assert_string_equal(json_string_value(json), "0xfedcba9876543210");
	json_decref(json);
}

static void text_from_outside_cannot_drive_a_terminal(void **state)
{
	char text[] = "a\033[31m\x7f\xc2\x9b\xe4\xb8\xad\xff\nb";

	(void)state;
	gp_text_make_safe(text);
	assert_string_equal(text, "a?[31m???\xe4\xb8\xad??b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_that_do_not_fit_are_refused),
		cmocka_unit_test(parsing_stops_at_the_end_given),
		cmocka_unit_test(pid_arguments_are_checked_whole),
		cmocka_unit_test(buffer_grows_and_stays_terminated),
		cmocka_unit_test(the_smaller_and_the_larger_are_evaluated_once),
		cmocka_unit_test(atomic_write_replaces_whole_or_not_at_all),
		cmocka_unit_test(a_write_that_fails_half_way_leaves_nothing),
		cmocka_unit_test(devices_are_written_to_and_links_followed),
		cmocka_unit_test(directories_list_numbers_by_value),
		cmocka_unit_test(a_number_file_holds_one_number),
		cmocka_unit_test(text_from_outside_becomes_valid_json),
		cmocka_unit_test(text_from_outside_cannot_drive_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
