// SPDX-License-Identifier: MIT
/* What hqd, mqd and runlist read: rows, checks, registers. */
#include <errno.h>
#include <stdlib.h>

#include "inspect/runlist.h"
#include "inspect/slots.h"
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

static size_t rows_of(const struct gp_inspect_slots *slots, bool all, bool per_xcc)
{
	struct gp_inspect_slot_row *rows;
	size_t count;

	assert_int_equal(gp_inspect_slot_rows(slots, all, per_xcc, &rows, &count), 0);
	free(rows);
	return count;
}

static void only_active_slots_are_rows(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx9/hqds", "debugfs/gfx9/mqds");
	struct gp_inspect_slots slots = read_hqd(&query);
	struct gp_inspect_slot_counts counts = gp_inspect_slot_count(&slots);

	(void)state;
	assert_int_equal(counts.total, 8);
	assert_int_equal(counts.active, 5);
	assert_int_equal(counts.inactive, 2);
	assert_int_equal(counts.empty, 1);
	assert_int_equal(rows_of(&slots, false, false), 5);
	assert_int_equal(rows_of(&slots, true, false), 8);
	gp_inspect_slots_free(&slots);
}

static void a_queue_on_two_xccs_is_one_row(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx942/hqds", "debugfs/gfx942/mqds");
	struct gp_inspect_slots slots = read_hqd(&query);

	(void)state;
	assert_int_equal(rows_of(&slots, false, false), 4);
	assert_int_equal(rows_of(&slots, false, true), 7);
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
	assert_string_equal(gp_inspect_slot_check(&slot).state, "ok");
	slot.backlog = 100;
	assert_string_equal(gp_inspect_slot_check(&slot).state, "high");
	slot.aql = false;
	assert_null(gp_inspect_slot_check(&slot).backlog);
	/* 512 has no enable bit. */
	slot.quantum = 512;
	assert_string_equal(gp_inspect_slot_check(&slot).state, "off");
	slot.active = false;
	assert_string_equal(gp_inspect_slot_check(&slot).state, "inactive");
	assert_null(gp_inspect_slot_check(&slot).quantum);
	slot.valid = 0;
	assert_null(gp_inspect_slot_check(&slot).state);
}

static void registers_have_names_and_fields(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx9/hqds", NULL);
	struct gp_inspect_slots slots = read_hqd(&query);
	const struct gp_kfd_slot *slot = &slots.list.items[1];
	struct gp_inspect_register reg;

	(void)state;
	assert_int_equal(gp_inspect_register_count(slot), 56);
	reg = gp_inspect_register_at(slot, 3);
	assert_string_equal(reg.name, "CP_HQD_VMID");
	assert_int_equal(reg.value, 0x808);
	assert_string_equal(reg.fields[0].name, "VMID");
	assert_int_equal(reg.fields[0].value, 8);
	gp_inspect_slots_free(&slots);
}

static void runlist_is_filtered(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx9/rls", "debugfs/gfx9/mqds");
	struct gp_inspect_runlists runlists = {0};

	(void)state;
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

static void damaged_files_are_read_only_when_asked(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx9/hqds", "debugfs/gfx9/mqds");
	struct test_diag sink = TEST_DIAG;
	struct gp_inspect_runlists runlists = {0};
	struct gp_inspect_slots slots = {0};
	struct tree tree;

	(void)state;
	tree_make(&tree);
	/* The slots are whole; what tells their pids is not. */
	query.mqds_file = cut_file(&tree, "/mqds", "debugfs/gfx9/mqds", 0.9);
	assert_int_equal(gp_inspect_hqd_read(&query, &sink.diag, &slots), -EBADMSG);
	assert_int_equal(sink.errors, 1);
	assert_non_null(strstr(gp_buf_str(&sink.text), "use --partial to show"));
	gp_inspect_slots_free(&slots);
	query.partial = true;
	assert_int_equal(gp_inspect_hqd_read(&query, &sink.diag, &slots), 0);
	assert_int_equal(sink.warnings, 1);
	assert_true(slots.incomplete);
	/* The process whose descriptor was cut is unknown, not another one. */
	assert_int_equal(slots.list.items[1].pid, 501);
	assert_int_equal(slots.list.items[2].pid, 0);
	gp_inspect_slots_free(&slots);
	query = query_of("debugfs/gfx9/rls", NULL);
	query.file = cut_file(&tree, "/rls", "debugfs/gfx9/rls", 0.9);
	assert_int_equal(gp_inspect_runlist_read(&query, NULL, &runlists), -EBADMSG);
	gp_inspect_runlists_free(&runlists);
	query.partial = true;
	assert_int_equal(gp_inspect_runlist_read(&query, NULL, &runlists), 0);
	assert_true(runlists.incomplete);
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
	assert_non_null(strstr(gp_buf_str(&sink.text), "; run the command again"));
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
	assert_true(slots.list.items[0].valid & GP_SLOT_REGISTERS);
	assert_int_equal(gp_inspect_register_count(&slots.list.items[2]), 43);
	assert_string_equal(gp_inspect_register_at(&slots.list.items[2], 17).name,
			    "SDMA_RLC_DOORBELL");
	assert_string_equal(gp_inspect_register_at(&slots.list.items[2], 17).fields[0].name,
			    "ENABLE");
	assert_int_equal(gp_inspect_register_at(&slots.list.items[2], 17).fields[0].value, 1);
	assert_non_null(strstr(slots.pids_from, "/sys/kernel/debug/kfd/mqds"));
	gp_inspect_slots_free(&slots);
	/* What the user says goes before the topology. */
	assert_true(gp_inspect_kfd_query_set_gfx(&query, "gfx1300"));
	assert_false(gp_inspect_kfd_query_set_gfx(&(struct gp_inspect_kfd_query){0}, "1030"));
	slots = read_hqd(&query);
	assert_false(slots.list.items[0].valid & GP_SLOT_REGISTERS);
	gp_inspect_slots_free(&slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_active_slots_are_rows),
		cmocka_unit_test(a_queue_on_two_xccs_is_one_row),
		cmocka_unit_test(checks_judge_the_registers_of_a_slot),
		cmocka_unit_test(registers_have_names_and_fields),
		cmocka_unit_test(runlist_is_filtered),
		cmocka_unit_test(filters_keep_what_was_asked_for),
		cmocka_unit_test(damaged_files_are_read_only_when_asked),
		cmocka_unit_test(damaged_descriptors_of_a_live_system_leave_the_pids_unknown),
		cmocka_unit_test(unreadable_sources_say_what_to_do),
		cmocka_unit_test(live_text_is_joined_with_live_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
