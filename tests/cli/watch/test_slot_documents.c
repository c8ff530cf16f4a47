// SPDX-License-Identifier: MIT
/* The documents of hqd, mqd and runlist: their text, their marks and their JSON. */
#include <errno.h>

#include "cli/watch/documents.h"
#include "printed.h"
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

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (; (text = strstr(text, part)); text++)
		count++;
	return count;
}

static char *slots_text(const struct gp_inspect_slots *slots, struct gp_cli_slot_options options)
{
	return text_of(gp_cli_slots_doc(slots, &options));
}

static void only_active_slots_are_rows(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx9/hqds", "debugfs/gfx9/mqds");
	struct gp_inspect_slots slots = read_hqd(&query);
	char *text = slots_text(&slots, (struct gp_cli_slot_options){0});

	(void)state;
	/* The ring of the stale slot is that of two queues. */
	assert_int_equal(count_of(text, "0x7f1000200000"), 2);
	assert_int_equal(count_of(text, "high"), 1);
	assert_int_equal(count_of(text, "0x5f21"), 5);
	free(text);
	text = slots_text(&slots, (struct gp_cli_slot_options){.all = true});
	assert_int_equal(count_of(text, "0x7f1000200000"), 2);
	assert_int_equal(count_of(text, "inactive"), 2);
	assert_int_equal(count_of(text, "0x5f21"), 8);
	free(text);
	gp_inspect_slots_free(&slots);
}

static void a_queue_on_two_xccs_is_one_row(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx942/hqds", "debugfs/gfx942/mqds");
	struct gp_inspect_slots slots = read_hqd(&query);
	char *text = slots_text(&slots, (struct gp_cli_slot_options){0});

	(void)state;
	assert_int_equal(count_of(text, " x2 "), 3);
	/* The row is that of the first XCC. */
	assert_non_null(strstr(text, "0x7f2000480000+11.6M"));
	assert_null(strstr(text, "0x7f2001026000"));
	free(text);
	text = slots_text(&slots, (struct gp_cli_slot_options){.per_xcc = true});
	assert_int_equal(count_of(text, "0xf701"), 7);
	assert_null(strstr(text, " x2 "));
	free(text);
	gp_inspect_slots_free(&slots);
}

static char *marked_text(const struct gp_inspect_slots *slots, struct gp_cli_marks *marks)
{
	struct gp_cli_slot_options options = {.marks = marks};
	struct gp_doc *doc = gp_cli_slots_doc(slots, &options);

	gp_cli_marks_next(marks);
	return print(doc, marks->colour ? GP_SHOW_COLOUR : GP_SHOW_TEXT);
}

static void changed_cells_are_marked(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx9/hqds", "debugfs/gfx9/mqds");
	struct gp_inspect_slots slots = read_hqd(&query);
	struct gp_cli_marks plain = {0}, colour = {.colour = true};
	char *text;

	(void)state;
	free(marked_text(&slots, &plain));
	free(marked_text(&slots, &colour));
	text = marked_text(&slots, &plain);
	assert_null(strstr(text, "*"));
	free(text);
	slots.list.items[1].wptr += 3;
	slots.list.items[1].backlog += 3;
	slots.list.items[4].active = true;
	text = marked_text(&slots, &plain);
	assert_int_equal(count_of(text, " 22* "), 1);
	assert_int_equal(count_of(text, " 4* "), 1);
	/* A row that was not there is new as a whole: 17 cells, and two cells changed. */
	assert_int_equal(count_of(text, "*"), 19);
	free(text);
	text = marked_text(&slots, &colour);
	assert_int_equal(count_of(text, "\033[7m"), 19);
	assert_null(strstr(text, "*"));
	free(text);
	gp_cli_marks_free(&plain);
	gp_cli_marks_free(&colour);
	gp_inspect_slots_free(&slots);
}

static json_t *slot_json(const json_t *root, size_t index)
{
	return json_array_get(json_object_get(root, "slots"), index);
}

static void json_has_every_slot_and_null_for_what_is_stale(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx9/hqds", "debugfs/gfx9/mqds");
	struct gp_inspect_slots slots = read_hqd(&query);
	struct gp_cli_slot_options show = {.json = true, .raw = true, .registers = true};
	json_t *root = json_of(gp_cli_slots_doc(&slots, &show)), *slot = slot_json(root, 1);

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
	struct gp_buf original = {0};
	char *line, *rest, *text;
	size_t rows = 0;

	(void)state;
	text = slots_text(&slots, (struct gp_cli_slot_options){.all = true, .raw = true});
	assert_int_equal(gp_file_read(hqds_path, 1 << 20, &original), 0);
	for (line = strtok_r(original.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, "    0", 5) != 0)
			continue;
		assert_non_null(strstr(text, line));
		rows++;
	}
	assert_int_equal(rows, 5 * 7 + 2 * 7);
	assert_int_equal(count_of(text, "\n    0"), rows);
	free(text);
	text = slots_text(&slots, (struct gp_cli_slot_options){.all = true, .registers = true});
	assert_non_null(strstr(text, "    CP_HQD_VMID = 0x00000808 (VMID 8, IB_VMID 8, VQID 0)\n"));
	assert_non_null(strstr(text, "    SDMA_RLC_RB_CNTL = 0x08061025 (RB_ENABLE 1, RB_SIZE 18"));
	assert_non_null(strstr(text, "GPU 0x5f21 CP 1.3 XCC 0 inactive:\n"));
	free(text);
	gp_buf_free(&original);
	gp_inspect_slots_free(&slots);
}

static void descriptors_are_rows_of_their_own(void **state)
{
	struct gp_inspect_kfd_query query = query_of("debugfs/gfx9/mqds", NULL);
	struct gp_inspect_slots slots = {0};
	json_t *root;
	char *text;

	(void)state;
	assert_int_equal(gp_inspect_mqd_read(&query, NULL, &slots), 0);
	text = slots_text(&slots, (struct gp_cli_slot_options){0});
	assert_int_equal(count_of(text, "0x5f21"), 4);
	assert_non_null(strstr(text, "SDMA 0.0"));
	assert_int_equal(count_of(text, "0x8001"), 3);
	free(text);
	root = json_of(gp_cli_slots_doc(&slots, &(struct gp_cli_slot_options){.json = true}));
	assert_int_equal(json_array_size(json_object_get(root, "descriptors")), 4);
	json_decref(root);
	text = slots_text(&slots, (struct gp_cli_slot_options){.registers = true});
	assert_non_null(
		strstr(text, "GPU 0x5f21 compute PID 502:\n    CP_MQD_BASE_ADDR = 0x005f0000"));
	free(text);
	gp_inspect_slots_free(&slots);
}

static char *runlist_text(const struct gp_inspect_runlists *runlists, bool raw)
{
	struct gp_cli_slot_options options = {.raw = raw};

	return text_of(gp_cli_runlist_doc(runlists, &options));
}

static void runlist_shows_turns_and_what_is_not_mapped(void **state)
{
	struct gp_inspect_kfd_query query =
		query_of("debugfs/gfx9/rls_suspended", "debugfs/gfx9/mqds");
	struct gp_inspect_runlists runlists = {0};
	json_t *root, *gpu;
	char *text;

	(void)state;
	assert_int_equal(gp_inspect_runlist_read(&query, NULL, &runlists), 0);
	text = runlist_text(&runlists, false);
	assert_non_null(strstr(text, "0/3"));
	assert_int_equal(count_of(text, "5f21  "), 2);
	assert_non_null(strstr(text, "not oversubscribed: all mapped queues are on the GPU at once "
				     "(processes: 2, mapped queues: 1)"));
	free(text);
	gp_inspect_runlists_free(&runlists);
	query = query_of("debugfs/gfx9/rls_oversubscribed", NULL);
	assert_int_equal(gp_inspect_runlist_read(&query, NULL, &runlists), 0);
	text = runlist_text(&runlists, false);
	assert_non_null(strstr(text, "GPU 0x5f21: oversubscribed: processes take turns "
				     "(processes: 1, mapped queues: 4)"));
	assert_non_null(strstr(text, "GPU 0x5f22: no active runlist"));
	free(text);
	text = runlist_text(&runlists, true);
	assert_non_null(strstr(text, "Node 2, gpu_id 5f22:\n  No active runlist\n"));
	free(text);
	root = json_of(gp_cli_runlist_doc(&runlists, &(struct gp_cli_slot_options){.json = true,
										   .raw = true}));
	gpu = json_array_get(json_object_get(root, "gpus"), 0);
	assert_true(json_is_true(json_object_get(gpu, "oversubscribed")));
	assert_int_equal(json_integer_value(json_object_get(gpu, "other_packets")), 1);
	assert_int_equal(json_array_size(json_object_get(gpu, "words")), 51);
	json_decref(root);
	gp_inspect_runlists_free(&runlists);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_active_slots_are_rows),
		cmocka_unit_test(a_queue_on_two_xccs_is_one_row),
		cmocka_unit_test(changed_cells_are_marked),
		cmocka_unit_test(json_has_every_slot_and_null_for_what_is_stale),
		cmocka_unit_test(raw_rows_are_the_kernels),
		cmocka_unit_test(descriptors_are_rows_of_their_own),
		cmocka_unit_test(runlist_shows_turns_and_what_is_not_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
