// SPDX-License-Identifier: MIT
#include "tree.h"

#include <errno.h>
#include <sys/inotify.h>

#include "inspect/ps.h"
#include "reuse.h"

#define KFD "/sys/class/kfd/kfd"

static char *text_of(const struct gp_inspect_ps *ps)
{
	struct gp_table *table = gp_inspect_ps_table(ps);
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(gp_table_print(table, out, false), 0);
	fclose(out);
	gp_table_free(table);
	return text;
}

/* The line of a pid, with runs of blanks made one; the buffer is overwritten by the next call. */
static const char *line_of(const char *text, const char *pid)
{
	static char line[512];
	size_t n = 0, len = strlen(pid);

	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		p += strspn(p, " ");
		if (strncmp(p, pid, len) || p[len] != ' ')
			continue;
		for (; *p && *p != '\n' && n + 1 < sizeof(line); p++) {
			if (*p != ' ' || line[n - 1] != ' ')
				line[n++] = *p;
		}
		line[n] = '\0';
		return line;
	}
	fail_msg("no line for %s in:\n%s", pid, text);
	return NULL;
}

static void table_sums_over_gpus_and_shows_missing_as_dash(void **state)
{
	struct gp_root root = {.dir = fixture("root")};
	struct test_diag sink = TEST_DIAG;
	struct gp_inspect_ps ps;
	char *text;

	(void)state;
	assert_int_equal(gp_inspect_ps_read(&root, &sink.diag, &ps), 0);
	assert_string_equal(gp_buf_str(&sink.text), "");
	text = text_of(&ps);
	assert_string_equal(line_of(text, "4242"),
			    "4242 ada docker:trainer 1,2 4 compute, 2 sdma, 1 xgmi 5.0 GiB 1.5 s "
			    "80 12 ms python3 train.py --epochs 90");
	assert_string_equal(line_of(text, "4300"),
			    "4300 serve podman:serve-prod 1 1 compute, 1 sdma 2.0 GiB 0 ns 4 1.5 s "
			    "/opt/serve --port 8000");
	assert_string_equal(line_of(text, "4400"),
			    "4400 root kubernetes:bert-0 2 1 compute 512.0 MiB - - - bert-server");
	/* Without queues is 0, a fact. */
	assert_string_equal(line_of(text, "4600"), "4600 ada - 1 0 0 B 0 ns 0 0 ns idle --wait");
	/* A sum that lacks one GPU says so. */
	assert_string_equal(line_of(text, "4700"),
			    "4700 - - 1,2 1 compute >=120.6 KiB >=7 us - - [hidden]");
	assert_string_equal(line_of(text, "4800"), "4800 - - 1 1 compute 1 B 1 us 1 1 ms -");
	/* A command cannot drive the terminal. */
	assert_non_null(strstr(line_of(text, "4900"), "[a) (b??[31m]"));
	free(text);
	gp_inspect_ps_free(&ps);
}

static json_t *row_of(json_t *json, u32 pid)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(json, "processes"), i, row)
	{
		if (json_integer_value(json_object_get(row, "pid")) == pid)
			return row;
	}
	fail_msg("no process %u", pid);
	return NULL;
}

static void json_has_each_gpu_and_null_for_unknown(void **state)
{
	struct gp_root root = {.dir = fixture("root")};
	json_t *json, *row, *gpu, *container;
	struct gp_inspect_ps ps;

	(void)state;
	assert_int_equal(gp_inspect_ps_read(&root, NULL, &ps), 0);
	json = gp_inspect_ps_json(&ps);
	assert_int_equal(json_array_size(json_object_get(json, "processes")), 8);
	row = row_of(json, 4242);
	assert_int_equal(json_integer_value(json_object_get(row, "start_time")), 880123);
	assert_int_equal(json_array_size(json_object_get(row, "queues")), 7);
	assert_int_equal(json_array_size(json_object_get(row, "gpus")), 2);
	gpu = json_array_get(json_object_get(row, "gpus"), 1);
	assert_int_equal(json_integer_value(json_object_get(gpu, "gpu_id")), 51154);
	assert_int_equal(json_integer_value(json_object_get(gpu, "node")), 1);
	assert_int_equal(json_integer_value(json_object_get(gpu, "vram_bytes")), 4294967296);
	container = json_object_get(row, "container");
	assert_string_equal(json_string_value(json_object_get(container, "name")), "trainer");
	assert_int_equal(json_integer_value(json_object_get(container, "pid")), 7);
	row = row_of(json, 4700);
	assert_true(json_is_null(json_object_get(row, "pasid")));
	assert_true(json_is_null(json_object_get(row, "uid")));
	assert_true(json_is_null(json_object_get(row, "container")));
	gpu = json_array_get(json_object_get(row, "gpus"), 0);
	assert_true(json_is_null(json_object_get(gpu, "vram_bytes")));
	assert_int_equal(json_integer_value(json_object_get(gpu, "sdma_us")), 7);
	assert_true(json_is_null(json_object_get(row_of(json, 4800), "command")));
	json_decref(json);
	gp_inspect_ps_free(&ps);
}

static void machine_without_kfd_is_an_empty_list_and_a_note(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct tree tree;
	struct gp_inspect_ps ps;
	json_t *json;

	(void)state;
	tree_make(&tree);
	assert_int_equal(gp_inspect_ps_read(&tree.root, &sink.diag, &ps), 0);
	assert_int_equal(ps.count, 0);
	assert_int_equal(sink.errors + sink.warnings, 0);
	assert_non_null(strstr(gp_buf_str(&sink.text), "no KFD on this machine"));
	json = gp_inspect_ps_json(&ps);
	assert_int_equal(json_array_size(json_object_get(json, "processes")), 0);
	assert_true(json_is_false(json_object_get(json, "kfd")));
	json_decref(json);
	gp_inspect_ps_free(&ps);
	gp_buf_free(&sink.text);
	tree_remove(&tree);
}

static void nvidia_processes_are_listed_without_queues(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct tree tree;
	struct gp_inspect_ps ps;
	json_t *json, *row;

	(void)state;
	tree_make(&tree);
	tree_text(&tree, "/proc/driver/nvidia/gpus/0000:65:00.0/information",
		  "Model: \t\t NVIDIA H200\nDevice Minor: \t 3\n");
	tree_link(&tree, "/proc/41/fd/3", "/dev/nvidiactl");
	tree_link(&tree, "/proc/41/fd/4", "/dev/nvidia3");
	assert_int_equal(gp_inspect_ps_read(&tree.root, &sink.diag, &ps), 0);
	assert_int_equal(ps.count, 1);
	json = gp_inspect_ps_json(&ps);
	assert_true(json_is_true(json_object_get(json, "nvidia")));
	row = row_of(json, 41);
	assert_true(json_is_null(json_object_get(row, "queues")));
	assert_int_equal(json_integer_value(
				 json_object_get(json_array_get(json_object_get(row, "gpus"), 0),
						 "node")),
			 3);
	json_decref(json);
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

static void unlisted_gpus_go_by_id_and_sums_saturate(void **state)
{
	struct tree tree;
	struct gp_inspect_ps ps;
	char *text;

	(void)state;
	tree_make(&tree);
	tree_text(&tree, KFD "/proc/41/vram_7", "18446744073709551615\n");
	tree_text(&tree, KFD "/proc/41/vram_9", "18446744073709551615\n");
	tree_text(&tree, KFD "/proc/41/sdma_7", "2500\n");
	tree_text(&tree, KFD "/proc/41/sdma_9", "0\n");
	assert_int_equal(gp_inspect_ps_read(&tree.root, NULL, &ps), 0);
	text = text_of(&ps);
	assert_string_equal(line_of(text, "41"), "41 - - #7,#9 0 16777216.0 TiB 2.5 ms - - -");
	free(text);
	gp_inspect_ps_free(&ps);
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
		cmocka_unit_test(table_sums_over_gpus_and_shows_missing_as_dash),
		cmocka_unit_test(json_has_each_gpu_and_null_for_unknown),
		cmocka_unit_test(machine_without_kfd_is_an_empty_list_and_a_note),
		cmocka_unit_test(nvidia_processes_are_listed_without_queues),
		cmocka_unit_test(pids_of_another_namespace_are_not_joined_with_strangers),
		cmocka_unit_test(unlisted_gpus_go_by_id_and_sums_saturate),
		cmocka_unit_test(process_is_not_shown_with_the_container_of_its_successor),
		cmocka_unit_test(names_of_all_containers_are_read_once),
		cmocka_unit_test(unreadable_process_list_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
