// SPDX-License-Identifier: MIT
#include "tree.h"

#include <errno.h>

#include "base/host/process.h"
#include "reuse.h"

#define TAIL " S 1 2 3 0 -1 4194560 9172 0 0 0 812 77 0 0 20 0 12 0 880123 10737418240 51200\n"

static struct gp_root fixture_root(void)
{
	return (struct gp_root){.dir = fixture("root")};
}

static bool parse_stat(const char *text, struct gp_process *out)
{
	*out = (struct gp_process){0};
	return gp_process_parse_stat(text, strlen(text), out);
}

static void everything_proc_tells_is_read(void **state)
{
	struct gp_root root = fixture_root();
	struct gp_process p;

	(void)state;
	assert_int_equal(gp_process_read(&root, 4242, &p), 0);
	assert_string_equal(p.comm, "python3");
	assert_string_equal(p.command, "python3 train.py --epochs 90");
	assert_string_equal(p.user, "ada");
	assert_int_equal(p.uid, 1000);
	assert_int_equal(p.start_time, 880123);
	assert_int_equal(p.tgid, 4242);
	assert_int_equal(p.nspid_count, 2);
	assert_int_equal(p.nspid[1], 7);
	assert_string_equal(p.pid_namespace, "pid:[4026532101]");
	assert_int_equal(p.valid, 0x3f);
}

static void comm_may_hold_parentheses_blanks_newlines_and_escapes(void **state)
{
	struct gp_root root = fixture_root();
	struct gp_process p;

	(void)state;
	assert_true(parse_stat("12 (a) (b)" TAIL, &p));
	assert_string_equal(p.comm, "a) (b");
	assert_int_equal(p.start_time, 880123);
	assert_true(parse_stat("12 ()" TAIL, &p));
	assert_string_equal(p.comm, "");
	/* As /proc has it: no command line, so the comm in brackets. */
	assert_int_equal(gp_process_read(&root, 4900, &p), 0);
	assert_string_equal(p.comm, "a) (b\n\033[31m");
	assert_string_equal(p.command, "[a) (b\n\033[31m]");
	assert_int_equal(p.start_time, 886000);
	/* A uid without a name is shown as a number. */
	assert_string_equal(p.user, "4999");
}

static void stat_that_is_cut_or_broken_gives_no_start_time(void **state)
{
	static const char *const bad[] = {
		"",
		"12",
		"12 (python3",
		") (",
		"12 (python3)",
		"12 (python3) S 1 2 3",
		"12 (python3)S 1 2 3 0 -1 4 9 0 0 0 812 77 0 0 20 0 12 0 880123",
		"12 (x) S 1 2 3 0 -1 4 9 0 0 0 812 77 0 0 20 0 12 0 x",
		"12 (x) S 1 2 3 0 -1 4 9 0 0 0 812 77 0 0 20 0 12 0 99999999999999999999999",
	};
	struct gp_process p;
	char longest[512];

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(bad); i++) {
		assert_false(parse_stat(bad[i], &p));
		assert_int_equal(p.valid, 0);
	}
	memset(longest, 'c', 200);
	memcpy(longest, "12 (", 4);
	strcpy(longest + 200, ")" TAIL);
	assert_true(parse_stat(longest, &p));
	assert_int_equal(strlen(p.comm), sizeof(p.comm) - 1);
}

static void namespace_pids_have_one_to_many_levels(void **state)
{
	static const struct {
		const char *text;
		u32 count, last;
	} cases[] = {
		{"NSpid:\t4600\n", 1, 4600},
		{"Name:\tx\nNSpid:\t4500\t120\t9", 3, 9},
		{"NSpid:\n", 0, 0},
		{"NSpid:\t12 x\n", 0, 0},
		{"NSpid:\t4294967296\n", 0, 0},
		{"XNSpid:\t3\n", 0, 0},
	};
	struct gp_buf many = {0};
	struct gp_process p;

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(cases); i++) {
		p = (struct gp_process){0};
		gp_process_parse_status(cases[i].text, strlen(cases[i].text), &p);
		assert_int_equal(p.nspid_count, cases[i].count);
		assert_int_equal(p.valid & GP_PROCESS_NSPID, cases[i].count ? GP_PROCESS_NSPID : 0);
		if (cases[i].count)
			assert_int_equal(p.nspid[p.nspid_count - 1], cases[i].last);
	}
	/* More levels than a kernel has are refused, not written past the array. */
	gp_buf_puts(&many, "NSpid:");
	for (int i = 0; i < 100; i++)
		gp_buf_printf(&many, "\t%d", i);
	p = (struct gp_process){0};
	gp_process_parse_status(gp_buf_str(&many), many.len, &p);
	assert_int_equal(p.nspid_count, 0);
	gp_buf_free(&many);
}

static void uid_and_tgid_of_broken_status_lines_are_missing(void **state)
{
	static const char text[] = "Uid:\tx\nUid:\t5\nTgid:\t\nUid:\t5 -1\n";
	struct gp_process p = {0};

	(void)state;
	gp_process_parse_status(text, sizeof(text) - 1, &p);
	assert_int_equal(p.valid, 0);
}

static void what_is_unreadable_is_missing(void **state)
{
	struct gp_root root = fixture_root();
	struct gp_process p;

	(void)state;
	assert_int_equal(gp_process_read(&root, 4700, &p), 0);
	assert_int_equal(p.valid, GP_PROCESS_COMM | GP_PROCESS_START);
	assert_string_equal(p.command, "[hidden]");
	assert_string_equal(p.user, "");
	assert_int_equal(gp_process_read(&root, 4800, &p), -ESRCH);
}

static void pid_reused_while_it_is_read_is_no_process(void **state)
{
	struct gp_process p;
	struct reuse reuse;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	reuse_start(&reuse, &tree, "/proc/9/stat", "/proc/9/cmdline", "stranger");
	assert_int_equal(gp_process_read(&tree.root, 9, &p), -ESRCH);
	reuse_end(&reuse);
	tree_remove(&tree);
}

static void reused_pid_is_not_the_same_process(void **state)
{
	struct gp_process p;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	tree_text(&tree, "/proc/12/stat", "12 (first)" TAIL);
	assert_int_equal(gp_process_read(&tree.root, 12, &p), 0);
	assert_true(gp_process_same(&tree.root, &p));
	tree_text(&tree, "/proc/12/stat",
		  "12 (second) S 1 2 3 0 -1 4194560 9172 0 0 0 812 77 0 0 20 0 12 0 880124 1\n");
	assert_false(gp_process_same(&tree.root, &p));
	p.pid = 13;
	assert_false(gp_process_same(&tree.root, &p));
	/* Without a start time nothing can be promised. */
	p = (struct gp_process){.pid = 12};
	assert_false(gp_process_same(&tree.root, &p));
	tree_remove(&tree);
}

static void huge_command_line_is_cut(void **state)
{
	static char huge[200000];
	struct gp_process p;
	struct tree tree;

	(void)state;
	memset(huge, 'a', sizeof(huge));
	tree_make(&tree);
	tree_text(&tree, "/proc/12/stat", "12 (x)" TAIL);
	tree_write(&tree, "/proc/12/cmdline", huge, sizeof(huge));
	assert_int_equal(gp_process_read(&tree.root, 12, &p), 0);
	assert_int_equal(strlen(p.command), sizeof(p.command) - 1);
	tree_remove(&tree);
}

static void environment_variables_are_found_whole(void **state)
{
	struct gp_root root = fixture_root();
	struct tree tree;
	char value[64];

	(void)state;
	assert_int_equal(gp_process_environment(&root, 4400, "HOSTNAME", value, sizeof(value)), 0);
	assert_string_equal(value, "bert-0");
	assert_int_equal(gp_process_environment(&root, 4400, "HOSTNAME", value, 4), -ENAMETOOLONG);
	assert_int_equal(gp_process_environment(&root, 4400, "HOST", value, sizeof(value)),
			 -ENOENT);
	assert_int_equal(gp_process_environment(&root, 4600, "HOSTNAME", value, sizeof(value)),
			 -ENOENT);
	tree_make(&tree);
	tree_text(&tree, "/proc/9/environ", "HOSTNAME=last");
	assert_int_equal(gp_process_environment(&tree.root, 9, "HOSTNAME", value, sizeof(value)),
			 0);
	assert_string_equal(value, "last");
	tree_remove(&tree);
}

static void users_come_from_the_roots_own_passwd(void **state)
{
	struct gp_root root = fixture_root(), live = {.dir = ""};
	struct gp_user user;
	struct tree tree;

	(void)state;
	assert_int_equal(gp_user_read(&root, 1001, &user), 0);
	assert_string_equal(user.name, "serve");
	assert_string_equal(user.home, "/home/serve");
	assert_int_equal(gp_user_read(&root, 77, &user), -ENOENT);
	assert_int_equal(gp_user_read(&live, 0, &user), 0);
	assert_string_equal(user.name, "root");
	assert_int_equal(gp_user_read(&live, 3999999999u, &user), -ENOENT);
	tree_make(&tree);
	assert_int_equal(gp_user_read(&tree.root, 0, &user), -ENOENT);
	tree_text(&tree, "/etc/passwd",
		  "short:x\n:x:5:5::/:\nnumber:x:99999999999999999999:1::/:\n");
	assert_int_equal(gp_user_read(&tree.root, 5, &user), -ENOENT);
	tree_remove(&tree);
}

static void live_process_reads_itself(void **state)
{
	struct gp_root live = {.dir = ""};
	struct gp_process p;
	size_t count, at;
	u32 *pids;

	(void)state;
	assert_int_equal(gp_process_read(&live, (u32)getpid(), &p), 0);
	assert_int_equal(p.uid, geteuid());
	assert_true(gp_process_same(&live, &p));
	assert_int_equal(gp_process_list(&live, &pids, &count), 0);
	for (at = 0; at < count && pids[at] != (u32)getpid(); at++)
		;
	assert_true(at < count);
	free(pids);
}

static void container_with_its_own_pids_is_not_the_host_view(void **state)
{
	struct gp_root root = fixture_root();
	struct tree tree;
	size_t count;
	u32 *pids;

	(void)state;
	assert_true(gp_process_host_view(&root));
	tree_make(&tree);
	assert_true(gp_process_host_view(&tree.root));
	assert_int_equal(gp_process_list(&tree.root, &pids, &count), -ENOENT);
	assert_null(pids);
	tree_link(&tree, "/proc/self/ns/pid", "pid:[4026532999]");
	assert_false(gp_process_host_view(&tree.root));
	tree_remove(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_proc_tells_is_read),
		cmocka_unit_test(comm_may_hold_parentheses_blanks_newlines_and_escapes),
		cmocka_unit_test(stat_that_is_cut_or_broken_gives_no_start_time),
		cmocka_unit_test(namespace_pids_have_one_to_many_levels),
		cmocka_unit_test(uid_and_tgid_of_broken_status_lines_are_missing),
		cmocka_unit_test(what_is_unreadable_is_missing),
		cmocka_unit_test(reused_pid_is_not_the_same_process),
		cmocka_unit_test(pid_reused_while_it_is_read_is_no_process),
		cmocka_unit_test(huge_command_line_is_cut),
		cmocka_unit_test(environment_variables_are_found_whole),
		cmocka_unit_test(users_come_from_the_roots_own_passwd),
		cmocka_unit_test(live_process_reads_itself),
		cmocka_unit_test(container_with_its_own_pids_is_not_the_host_view),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
