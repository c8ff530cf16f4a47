// SPDX-License-Identifier: MIT
#include "tree.h"

#include <errno.h>
#include <sys/inotify.h>

#include "inspect/ps.h"
#include "reuse.h"

#define KFD "/sys/class/kfd/kfd"

static void machine_without_kfd_is_an_empty_list_and_a_note(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct tree tree;
	struct gp_inspect_ps ps;

	(void)state;
	tree_make(&tree);
	assert_int_equal(gp_inspect_ps_read(&tree.root, &sink.diag, &ps), 0);
	assert_false(ps.driver_present);
	assert_int_equal(ps.count, 0);
	assert_int_equal(sink.errors + sink.warnings, 0);
	assert_non_null(strstr(gp_buf_str(&sink.text), "no GPU driver found: neither "));
	gp_inspect_ps_free(&ps);
	gp_buf_free(&sink.text);
	tree_remove(&tree);
}

static void pids_of_another_namespace_are_not_joined_with_strangers(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct tree tree;
	struct gp_inspect_ps ps;

	(void)state;
	tree_make(&tree);
	tree_link(&tree, "/proc/self/ns/pid", "pid:[4026532999]");
	tree_text(&tree, "/proc/40/stat",
		  "40 (bash) S 1 2 3 0 -1 4 9 0 0 0 8 7 0 0 20 0 1 0 5 1\n");
	tree_text(&tree, KFD "/proc/40/pasid", "1\n");
	assert_int_equal(gp_inspect_ps_read(&tree.root, &sink.diag, &ps), 0);
	assert_int_equal(ps.count, 1);
	assert_false(ps.rows[0].process_known);
	assert_non_null(strstr(gp_buf_str(&sink.text), "KFD lists host pids"));
	gp_inspect_ps_free(&ps);
	gp_buf_free(&sink.text);
	tree_remove(&tree);
}

static void process_is_not_shown_with_the_container_of_its_successor(void **state)
{
	struct reuse reuse;
	struct tree tree;
	struct gp_inspect_ps ps;

	(void)state;
	tree_make(&tree);
	tree_text(&tree, KFD "/proc/9/pasid", "1\n");
	tree_text(&tree, KFD "/proc/10/pasid", "2\n");
	reuse_start(&reuse, &tree, "/proc/9/stat", "/proc/9/cgroup", "0::/lxc.payload.other\n");
	assert_int_equal(gp_inspect_ps_read(&tree.root, NULL, &ps), 0);
	reuse_end(&reuse);
	assert_int_equal(ps.count, 1);
	assert_int_equal(ps.rows[0].gpu->pid, 10);
	gp_inspect_ps_free(&ps);
	tree_remove(&tree);
}

#define PODMAN "/var/lib/containers/storage/overlay-containers/containers.json"

static void names_of_all_containers_are_read_once(void **state)
{
	char events[4096], path[512];
	int opened = 0, watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct gp_buf inventory = {0};
	struct tree tree;
	struct gp_inspect_ps ps;
	ssize_t len;

	(void)state;
	tree_make(&tree);
	for (int pid = 100; pid < 110; pid++) {
		char id[65], text[256];

		snprintf(id, sizeof(id), "%064x", pid);
		gp_buf_printf(&inventory, "%s{\"id\": \"%s\", \"names\": [\"c%d\"]}",
			      pid > 100 ? "," : "[", id, pid);
		snprintf(path, sizeof(path), KFD "/proc/%d/pasid", pid);
		tree_text(&tree, path, "1\n");
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		tree_text(&tree, path, "9 " REUSE_STAT "100 1\n");
		snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
		snprintf(text, sizeof(text), "0::/libpod-%s.scope\n", id);
		tree_text(&tree, path, text);
	}
	gp_buf_puts(&inventory, "]");
	tree_text(&tree, PODMAN, gp_buf_str(&inventory));
	tree_path(&tree, path, sizeof(path), PODMAN);
	assert_true(inotify_add_watch(watch, path, IN_OPEN | IN_CLOSE) >= 0);
	assert_int_equal(gp_inspect_ps_read(&tree.root, NULL, &ps), 0);
	assert_int_equal(ps.count, 10);
	assert_string_equal(ps.rows[9].container.name, "c109");
	len = read(watch, events, sizeof(events));
	for (ssize_t at = 0; at < len;) {
		const struct inotify_event *event = (const void *)(events + at);

		opened += (event->mask & IN_OPEN) != 0;
		at += (ssize_t)(sizeof(*event) + event->len);
	}
	assert_int_equal(opened, 1);
	close(watch);
	gp_inspect_ps_free(&ps);
	gp_buf_free(&inventory);
	tree_remove(&tree);
}

static void unreadable_process_list_is_an_error(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct tree tree;
	struct gp_inspect_ps ps;

	(void)state;
	tree_make(&tree);
	tree_link(&tree, KFD "/proc", "proc");
	assert_int_equal(gp_inspect_ps_read(&tree.root, &sink.diag, &ps), -ELOOP);
	assert_int_equal(sink.errors, 1);
	gp_buf_free(&sink.text);
	tree_remove(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machine_without_kfd_is_an_empty_list_and_a_note),
		cmocka_unit_test(pids_of_another_namespace_are_not_joined_with_strangers),
		cmocka_unit_test(process_is_not_shown_with_the_container_of_its_successor),
		cmocka_unit_test(names_of_all_containers_are_read_once),
		cmocka_unit_test(unreadable_process_list_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
