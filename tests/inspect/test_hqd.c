// SPDX-License-Identifier: MIT
/* What hqd, mqd and runlist show: rows, marks, checks, JSON, registers. */
#include <errno.h>

#include "inspect/hqd.h"
#include "inspect/runlist.h"
#include "inspect/slot_check.h"
#include "tree.h"

static char hqds_path[4096], mqds_path[4096];

static struct gp_inspect_kfd_query query_of(const char *hqds, const char *mqds)
{
	snprintf(hqds_path, sizeof(hqds_path), "%s", fixture(hqds));
	if (mqds)
		snprintf(mqds_path, sizeof(mqds_path), "%s", fixture(mqds));
	return (struct gp_inspect_kfd_query){.file = hqds_path,
					     .mqds_file = mqds ? mqds_path : NULL};
}

static struct gp_inspect_slots read_hqd(const struct gp_inspect_kfd_query *query)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_inspect_slots slots = {0};

	assert_int_equal(gp_inspect_hqd_read(query, &sink.diag, &slots), 0);
	assert_int_equal(sink.errors + sink.warnings, 0);
	gp_buf_free(&sink.text);
	return slots;
}

static char *print_table(const struct gp_inspect_grid *grid, const struct gp_inspect_grid *before,
			 bool colour)
{
	struct gp_table *table = gp_inspect_grid_table(grid, before, colour);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(table);
	assert_int_equal(gp_table_print(table, out, colour), 0);
	fclose(out);
	gp_table_free(table);
	return text;
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (; (text = strstr(text, part)); text++)
		count++;
	return count;
}

static void only_active_slots_are_rows(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx9/hqds", "debugfs/gfx9/mqds");
	struct gp_inspect_slots slots = read_hqd(&query);
	struct gp_inspect_slot_options show = {0};
	struct gp_inspect_slot_counts counts = gp_inspect_slot_count(&slots.list, GP_VIEW_SLOTS);
	struct gp_inspect_grid grid = {0}, all = {0};
	char *text;

	(void)state;
	assert_int_equal(counts.total, 8);
	assert_int_equal(counts.active, 5);
	assert_int_equal(counts.inactive, 2);
	assert_int_equal(counts.empty, 1);
	assert_int_equal(gp_inspect_slot_grid(&slots.list, &show, &grid), 0);
	assert_int_equal(grid.row_count, 5);
	text = print_table(&grid, NULL, false);
	/* The ring of the stale slot is that of two queues. */
	assert_int_equal(count_of(text, "0x7f1000200000"), 2);
	assert_int_equal(count_of(text, "high"), 1);
	free(text);
	show.all = true;
	assert_int_equal(gp_inspect_slot_grid(&slots.list, &show, &all), 0);
	assert_int_equal(all.row_count, 8);
	text = print_table(&all, NULL, false);
	assert_int_equal(count_of(text, "0x7f1000200000"), 2);
	assert_int_equal(count_of(text, "inactive"), 2);
	free(text);
	gp_inspect_grid_free(&grid);
	gp_inspect_grid_free(&all);
	gp_inspect_slots_free(&slots);
}

static void a_queue_on_two_xccs_is_one_row(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx942/hqds", "debugfs/gfx942/mqds");
	struct gp_inspect_slots slots = read_hqd(&query);
	struct gp_inspect_slot_options show = {0};
	struct gp_inspect_grid grid = {0}, each = {0};
	char *text;

	(void)state;
	assert_int_equal(gp_inspect_slot_grid(&slots.list, &show, &grid), 0);
	assert_int_equal(grid.row_count, 4);
	text = print_table(&grid, NULL, false);
	assert_int_equal(count_of(text, " x2 "), 3);
	/* The row is that of the first XCC. */
	assert_non_null(strstr(text, "0x7f2000480000+11.6M"));
	assert_null(strstr(text, "0x7f2001026000"));
	free(text);
	show.per_xcc = true;
	assert_int_equal(gp_inspect_slot_grid(&slots.list, &show, &each), 0);
	assert_int_equal(each.row_count, 7);
	gp_inspect_grid_free(&grid);
	gp_inspect_grid_free(&each);
	gp_inspect_slots_free(&slots);
}

static void changed_cells_are_marked(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx9/hqds", "debugfs/gfx9/mqds");
	struct gp_inspect_slots slots = read_hqd(&query);
	struct gp_inspect_slot_options show = {0};
	struct gp_inspect_grid before = {0}, now = {0};
	char *text;

	(void)state;
	assert_int_equal(gp_inspect_slot_grid(&slots.list, &show, &before), 0);
	slots.list.items[1].wptr += 3;
	slots.list.items[1].backlog += 3;
	slots.list.items[4].active = true;
	assert_int_equal(gp_inspect_slot_grid(&slots.list, &show, &now), 0);
	text = print_table(&now, &before, false);
	assert_int_equal(count_of(text, " 22* "), 1);
	assert_int_equal(count_of(text, " 4* "), 1);
	/* A row that was not there is new as a whole: 17 cells, and two cells changed. */
	assert_int_equal(count_of(text, "*"), 19);
	free(text);
	text = print_table(&now, &before, true);
	assert_int_equal(count_of(text, "\033[7m"), 19);
	free(text);
	text = print_table(&before, &before, false);
	assert_null(strstr(text, "*"));
	free(text);
	gp_inspect_grid_free(&before);
	gp_inspect_grid_free(&now);
	gp_inspect_slots_free(&slots);
}

static void checks_judge_the_registers_of_a_slot(void **state)
{
	struct gp_kfd_slot slot = {.valid = GP_SLOT_REGISTERS | GP_SLOT_POINTERS | GP_SLOT_BACKLOG |
					    GP_SLOT_PRIORITY,
				   .active = true,
				   .aql = true,
				   .backlog = 99,
				   .quantum = 0x111};

	(void)state;
	assert_int_equal(gp_inspect_check_slot(&slot), GP_CHECK_OK);
	slot.backlog = 100;
	assert_int_equal(gp_inspect_check_slot(&slot), GP_CHECK_HIGH);
	slot.aql = false;
	assert_int_equal(gp_inspect_check_backlog(&slot), GP_CHECK_UNKNOWN);
	/* 512 has no enable bit. */
	slot.quantum = 512;
	assert_string_equal(gp_inspect_check_word(gp_inspect_check_slot(&slot)), "off");
	slot.active = false;
	assert_string_equal(gp_inspect_check_word(gp_inspect_check_slot(&slot)), "inactive");
	slot.valid = 0;
	assert_null(gp_inspect_check_word(gp_inspect_check_slot(&slot)));
}

static json_t *slot_json(const json_t *root, size_t index)
{
	return json_array_get(json_object_get(root, "slots"), index);
}

static void json_has_every_slot_and_null_for_what_is_stale(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx9/hqds", "debugfs/gfx9/mqds");
	struct gp_inspect_slots slots = read_hqd(&query);
	struct gp_inspect_slot_options show = {.raw = true, .registers = true};
	json_t *root = gp_inspect_slots_json(&slots, &show), *slot = slot_json(root, 1);

	(void)state;
	assert_true(json_is_false(json_object_get(root, "incomplete")));
	assert_int_equal(json_array_size(json_object_get(root, "slots")), 8);
	assert_int_equal(json_integer_value(json_object_get(slot, "pid")), 501);
	assert_string_equal(json_string_value(json_object_get(slot, "ring")), "0x7f1000200000");
	assert_string_equal(json_string_value(json_object_get(slot, "unit")), "packets");
	assert_int_equal(json_array_size(json_object_get(slot, "words")), 56);
	assert_int_equal(json_object_size(json_object_get(slot, "registers")), 56);
	slot = slot_json(root, 4);
	assert_true(json_is_false(json_object_get(slot, "active")));
	assert_true(json_is_null(json_object_get(slot, "ring")));
	assert_true(json_is_null(json_object_get(slot, "rptr")));
	slot = slot_json(root, 5);
	assert_true(json_is_null(json_object_get(slot, "pipe")));
	assert_int_equal(json_integer_value(json_object_get(slot, "engine")), 0);
	assert_int_equal(json_object_size(json_object_get(slot, "registers")), 42);
	slot = slot_json(root, 7);
	assert_true(json_is_null(json_object_get(slot, "active")));
	assert_true(json_is_null(json_object_get(slot, "check")));
	assert_true(json_is_null(json_object_get(slot, "registers")));
	json_decref(root);
	gp_inspect_slots_free(&slots);
}

static void raw_rows_are_the_kernels(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx9/hqds", NULL);
	struct gp_inspect_slots slots = read_hqd(&query);
	struct gp_inspect_slot_options show = {.all = true};
	struct gp_buf text = {0}, original = {0};
	char *line, *rest;
	size_t rows = 0;

	(void)state;
	gp_inspect_slot_raw(&slots.list, &show, &text);
	assert_int_equal(gp_file_read(hqds_path, 1 << 20, &original), 0);
	for (line = strtok_r(original.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, "    0", 5) != 0)
			continue;
		assert_non_null(strstr(text.data, line));
		rows++;
	}
	assert_int_equal(rows, 5 * 7 + 2 * 7);
	assert_int_equal(count_of(text.data, "\n    0"), rows);
	gp_buf_free(&text);
	gp_inspect_slot_registers(&slots.list, &show, &text);
	assert_non_null(
		strstr(text.data, "    CP_HQD_VMID = 0x00000808 (VMID 8, IB_VMID 8, VQID 0)\n"));
	assert_non_null(
		strstr(text.data, "    SDMA_RLC_RB_CNTL = 0x08061025 (RB_ENABLE 1, RB_SIZE 18"));
	assert_non_null(strstr(text.data, "GPU 5f21 CP 1.3 XCC 0 inactive:\n"));
	gp_buf_free(&text);
	gp_buf_free(&original);
	gp_inspect_slots_free(&slots);
}

static void filters_keep_what_was_asked_for(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx9/hqds", "debugfs/gfx9/mqds");
	struct gp_inspect_slots slots;

	(void)state;
	query.pid = 502;
	slots = read_hqd(&query);
	assert_int_equal(slots.list.count, 1);
	assert_int_equal(slots.list.items[0].doorbell, 0x1000);
	gp_inspect_slots_free(&slots);
	query.pid = 0;
	query.has_gpu = true;
	query.gpu_id = 0x5f22;
	slots = read_hqd(&query);
	assert_int_equal(slots.list.count, 0);
	gp_inspect_slots_free(&slots);
}

static void descriptors_are_rows_of_their_own(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx9/mqds", NULL);
	struct gp_inspect_slots slots = {0};
	struct gp_inspect_slot_options show = {.view = GP_VIEW_DESCRIPTORS, .registers = true};
	struct gp_inspect_grid grid = {0};
	struct gp_buf text = {0};
	json_t *root;
	char *table;

	(void)state;
	assert_int_equal(gp_inspect_mqd_read(&query, NULL, &slots), 0);
	assert_int_equal(gp_inspect_slot_grid(&slots.list, &show, &grid), 0);
	assert_int_equal(grid.row_count, 4);
	table = print_table(&grid, NULL, false);
	assert_non_null(strstr(table, "SDMA 0.0"));
	assert_int_equal(count_of(table, "0x8001"), 3);
	free(table);
	root = gp_inspect_slots_json(&slots, &show);
	assert_int_equal(json_array_size(json_object_get(root, "descriptors")), 4);
	gp_inspect_slot_registers(&slots.list, &show, &text);
	assert_non_null(
		strstr(text.data, "GPU 5f21 compute PID 502:\n    CP_MQD_BASE_ADDR = 0x005f0000"));
	json_decref(root);
	gp_buf_free(&text);
	gp_inspect_grid_free(&grid);
	gp_inspect_slots_free(&slots);
}

static void runlist_shows_turns_and_what_is_not_mapped(void **state)
{
	struct gp_inspect_kfd_query query =
		query_of("debugfs/gfx9/rls_suspended", "debugfs/gfx9/mqds");
	struct gp_inspect_runlists runlists = {0};
	struct gp_inspect_grid grid = {0};
	struct gp_buf text = {0};
	json_t *root, *gpu;
	char *table;

	(void)state;
	assert_int_equal(gp_inspect_runlist_read(&query, NULL, &runlists), 0);
	assert_int_equal(gp_inspect_runlist_grid(&runlists, &grid), 0);
	assert_int_equal(grid.row_count, 2);
	table = print_table(&grid, NULL, false);
	assert_non_null(strstr(table, "0/3"));
	free(table);
	gp_inspect_runlist_summary(&runlists, &text);
	assert_non_null(strstr(text.data, "processes 2, queues mapped 1, not oversubscribed"));
	gp_inspect_grid_free(&grid);
	gp_buf_free(&text);
	gp_inspect_runlists_free(&runlists);
	query = query_of("debugfs/gfx9/rls_oversubscribed", NULL);
	assert_int_equal(gp_inspect_runlist_read(&query, NULL, &runlists), 0);
	gp_inspect_runlist_summary(&runlists, &text);
	assert_non_null(
		strstr(text.data, "GPU 5f21: processes 1, queues mapped 4, oversubscribed"));
	assert_non_null(strstr(text.data, "GPU 5f22: no active runlist"));
	gp_buf_free(&text);
	gp_inspect_runlist_raw(&runlists, &text);
	assert_non_null(strstr(text.data, "Node 2, gpu_id 5f22:\n  No active runlist\n"));
	gp_buf_free(&text);
	root = gp_inspect_runlist_json(&runlists, true);
	gpu = json_array_get(json_object_get(root, "gpus"), 0);
	assert_true(json_is_true(json_object_get(gpu, "oversubscribed")));
	assert_int_equal(json_integer_value(json_object_get(gpu, "other_packets")), 1);
	assert_int_equal(json_array_size(json_object_get(gpu, "words")), 51);
	json_decref(root);
	gp_inspect_runlists_free(&runlists);
	query = query_of("debugfs/gfx9/rls", "debugfs/gfx9/mqds");
	query.pid = 502;
	assert_int_equal(gp_inspect_runlist_read(&query, NULL, &runlists), 0);
	assert_int_equal(runlists.list.count, 2);
	gp_inspect_runlists_free(&runlists);
	query.pid = 0;
	query.has_gpu = true;
	query.gpu_id = 1;
	assert_int_equal(gp_inspect_runlist_read(&query, NULL, &runlists), 0);
	assert_int_equal(runlists.list.count + runlists.list.node_count, 0);
	gp_inspect_runlists_free(&runlists);
}

/* A file of the tree with the first part of a fixture. */
static const char *cut_file(const struct tree *tree, const char *name, const char *from,
			    double share)
{
	static char path[PATH_MAX];
	struct gp_buf text = {0};

	assert_int_equal(gp_file_read(fixture(from), 1 << 20, &text), 0);
	tree_write(tree, name, gp_buf_str(&text), (size_t)((double)text.len * share));
	gp_buf_free(&text);
	tree_path(tree, path, sizeof(path), name);
	return path;
}

static void damaged_files_are_shown_only_when_asked_and_json_says_so(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx9/hqds", "debugfs/gfx9/mqds");
	struct test_diag sink = TEST_DIAG;
	struct gp_inspect_runlists runlists = {0};
	struct gp_inspect_slots slots = {0};
	struct tree tree;
	json_t *root;

	(void)state;
	tree_make(&tree);
	/* The slots are whole; what tells their pids is not. */
	query.mqds_file = cut_file(&tree, "/mqds", "debugfs/gfx9/mqds", 0.9);
	assert_int_equal(gp_inspect_hqd_read(&query, &sink.diag, &slots), -EBADMSG);
	assert_int_equal(sink.errors, 1);
	assert_non_null(strstr(gp_buf_str(&sink.text), "--partial shows"));
	gp_inspect_slots_free(&slots);
	query.partial = true;
	assert_int_equal(gp_inspect_hqd_read(&query, &sink.diag, &slots), 0);
	assert_int_equal(sink.warnings, 1);
	root = gp_inspect_slots_json(&slots, &(struct gp_inspect_slot_options){0});
	assert_true(json_is_true(json_object_get(root, "incomplete")));
	/* The process whose descriptor was cut is unknown, not another one. */
	assert_int_equal(slots.list.items[1].pid, 501);
	assert_int_equal(slots.list.items[2].pid, 0);
	json_decref(root);
	gp_inspect_slots_free(&slots);
	query = query_of("debugfs/gfx9/rls", NULL);
	query.file = cut_file(&tree, "/rls", "debugfs/gfx9/rls", 0.9);
	assert_int_equal(gp_inspect_runlist_read(&query, NULL, &runlists), -EBADMSG);
	gp_inspect_runlists_free(&runlists);
	query.partial = true;
	assert_int_equal(gp_inspect_runlist_read(&query, NULL, &runlists), 0);
	root = gp_inspect_runlist_json(&runlists, false);
	assert_true(json_is_true(json_object_get(root, "incomplete")));
	json_decref(root);
	gp_inspect_runlists_free(&runlists);
	gp_buf_free(&sink.text);
	tree_remove(&tree);
}

static void damaged_descriptors_of_a_live_system_leave_the_pids_unknown(void **state)
{
	struct gp_inspect_kfd_query query = {0};
	struct test_diag sink = TEST_DIAG;
	struct gp_inspect_slots slots = {0};
	struct tree tree;

	(void)state;
	tree_make(&tree);
	query.root = tree.root;
	cut_file(&tree, GP_DEBUGFS_HQDS, "debugfs/gfx9/hqds", 1);
	cut_file(&tree, GP_DEBUGFS_MQDS, "debugfs/gfx9/mqds", 0.9);
	assert_int_equal(gp_inspect_hqd_read(&query, &sink.diag, &slots), 0);
	assert_string_equal(slots.pids_from, "");
	assert_false(slots.incomplete);
	assert_string_equal(gp_buf_str(&sink.text), "");
	gp_inspect_slots_free(&slots);
	query.partial = true;
	assert_int_equal(gp_inspect_hqd_read(&query, &sink.diag, &slots), 0);
	assert_true(slots.incomplete);
	assert_int_equal(sink.warnings, 1);
	gp_inspect_slots_free(&slots);
	cut_file(&tree, GP_DEBUGFS_HQDS, "debugfs/gfx9/hqds", 0.7);
	query.partial = false;
	assert_int_equal(gp_inspect_hqd_read(&query, &sink.diag, &slots), -EBADMSG);
	assert_non_null(strstr(gp_buf_str(&sink.text), "; read it again"));
	gp_inspect_slots_free(&slots);
	gp_buf_free(&sink.text);
	tree_remove(&tree);
}

static void unreadable_sources_say_what_to_do(void **state)
{
	struct gp_inspect_kfd_query query = {.root = {.dir = "/nonexistent"}};
	struct test_diag sink = TEST_DIAG;
	struct gp_inspect_slots slots = {0};

	(void)state;
	assert_int_equal(gp_inspect_hqd_read(&query, &sink.diag, &slots), -ENOENT);
	assert_non_null(strstr(sink.text.data, "the amdgpu driver is not loaded"));
	gp_buf_free(&sink.text);
	query = query_of("debugfs/missing", NULL);
	assert_int_equal(gp_inspect_hqd_read(&query, &sink.diag, &slots), -ENOENT);
	assert_non_null(strstr(sink.text.data, "missing: cannot read"));
	gp_buf_free(&sink.text);
	query = query_of("debugfs/gfx9/hqds", "debugfs/gfx9/hqds");
	assert_int_equal(gp_inspect_hqd_read(&query, &sink.diag, &slots), -EINVAL);
	assert_non_null(strstr(sink.text.data, "this is a copy of hqds"));
	gp_buf_free(&sink.text);
	gp_inspect_slots_free(&slots);
}

static void live_text_is_joined_with_live_descriptors(void **state)
{
	struct gp_inspect_kfd_query query = {0};
	struct gp_inspect_slots slots;
	char root[4096];

	(void)state;
	snprintf(root, sizeof(root), "%s", fixture("debugfs/gfx11"));
	query.root.dir = root;
	slots = read_hqd(&query);
	assert_int_equal(slots.list.items[0].pid, 701);
	assert_false(slots.list.items[0].valid & GP_SLOT_REGISTERS);
	assert_non_null(strstr(slots.pids_from, "/sys/kernel/debug/kfd/mqds"));
	gp_inspect_slots_free(&slots);
	/* What the user says goes before the topology. */
	assert_true(gp_inspect_kfd_query_set_gfx(&query, "gfx1030"));
	assert_false(gp_inspect_kfd_query_set_gfx(&(struct gp_inspect_kfd_query){0}, "1030"));
	slots = read_hqd(&query);
	assert_true(slots.list.items[0].valid & GP_SLOT_REGISTERS);
	gp_inspect_slots_free(&slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_active_slots_are_rows),
		cmocka_unit_test(a_queue_on_two_xccs_is_one_row),
		cmocka_unit_test(changed_cells_are_marked),
		cmocka_unit_test(checks_judge_the_registers_of_a_slot),
		cmocka_unit_test(json_has_every_slot_and_null_for_what_is_stale),
		cmocka_unit_test(raw_rows_are_the_kernels),
		cmocka_unit_test(filters_keep_what_was_asked_for),
		cmocka_unit_test(descriptors_are_rows_of_their_own),
		cmocka_unit_test(runlist_shows_turns_and_what_is_not_mapped),
		cmocka_unit_test(damaged_files_are_shown_only_when_asked_and_json_says_so),
		cmocka_unit_test(damaged_descriptors_of_a_live_system_leave_the_pids_unknown),
		cmocka_unit_test(unreadable_sources_say_what_to_do),
		cmocka_unit_test(live_text_is_joined_with_live_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
