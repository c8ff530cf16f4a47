// SPDX-License-Identifier: MIT
/* The reader of debugfs rls, and the join of a runlist with descriptors. */
#include "debugfs_text.h"

static struct gp_kfd_runlist parse_fixture(const char *name)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_kfd_runlist list = {0};
	struct text text;

	text_load(&text, fixture(name));
	assert_int_equal(gp_kfd_parse_rls(&text.source, &sink.diag, &list), 0);
	assert_int_equal(sink.errors + sink.warnings, 0);
	gp_buf_free(&text.buf);
	gp_buf_free(&sink.text);
	return list;
}

static void processes_come_with_their_queues(void **state)
{
	struct gp_kfd_runlist list = parse_fixture("debugfs/gfx9/rls");

	(void)state;
	assert_int_equal(list.node_count, 1);
	assert_true(list.nodes[0].active);
	assert_int_equal(list.nodes[0].gpu_id, 0x5f21);
	assert_int_equal(list.count, 6);
	assert_int_equal(list.items[0].kind, GP_RUNLIST_PROCESS);
	assert_int_equal(list.items[0].pasid, 0x8002);
	assert_int_equal(list.items[0].quantum, 10);
	assert_int_equal(list.items[0].queue_count, 1);
	assert_int_equal(list.items[0].mapped_count, 1);
	assert_int_equal(list.items[0].page_table, 0x312b47d001);
	assert_int_equal(list.items[1].kind, GP_RUNLIST_QUEUE);
	assert_int_equal(list.items[1].offset, 21 * 4);
	assert_int_equal(list.items[1].doorbell, 0x1000);
	assert_int_equal(list.items[1].mqd_address, 0x2000005f0000);
	assert_int_equal(list.items[1].wptr_address, 0x7f1000100038);
	assert_int_equal(list.items[2].pasid, 0x8001);
	assert_int_equal(list.items[2].mapped_count, 3);
	assert_int_equal(list.items[4].engine, 2);
	gp_kfd_runlist_free(&list);
}

static void oversubscribed_list_ends_in_a_chain(void **state)
{
	struct gp_kfd_runlist list = parse_fixture("debugfs/gfx9/rls_oversubscribed");

	(void)state;
	assert_int_equal(list.count, 7);
	assert_int_equal(list.items[0].quantum, 1);
	assert_int_equal(list.items[2].kind, GP_RUNLIST_OTHER);
	assert_int_equal(list.items[2].opcode, 0x10);
	assert_int_equal(list.items[3].extended_engine, 1);
	assert_int_equal(list.items[5].type, 2);
	assert_int_equal(list.items[6].kind, GP_RUNLIST_CHAIN);
	assert_int_equal(list.node_count, 2);
	assert_false(list.nodes[1].active);
	gp_kfd_runlist_free(&list);
}

static struct gp_kfd_slot_list descriptors(void)
{
	struct gp_kfd_slot_list list = {0};
	struct text text;

	text_load(&text, fixture("debugfs/gfx9/mqds"));
	assert_int_equal(gp_kfd_parse_mqds(&text.source, NULL, &list), 0);
	gp_buf_free(&text.buf);
	return list;
}

static void queues_get_pid_and_ring_from_their_descriptor(void **state)
{
	struct gp_kfd_runlist list = parse_fixture("debugfs/gfx9/rls");
	struct gp_kfd_slot_list owners = descriptors();

	(void)state;
	gp_kfd_runlist_join(&list, &owners);
	assert_int_equal(list.items[0].pid, 502);
	assert_int_equal(list.items[1].pid, 502);
	assert_int_equal(list.items[1].ring, 0x7f1000200000);
	assert_int_equal(list.items[2].pid, 501);
	assert_int_equal(list.items[3].ring, 0x7f1000600000);
	assert_int_equal(list.items[4].ring, 0x7f1000a00000);
	assert_int_equal(list.items[5].pid, 501);
	gp_kfd_runlist_free(&list);
	gp_kfd_slot_list_free(&owners);
}

static void process_without_mapped_queues_is_known_by_its_pasid(void **state)
{
	struct gp_kfd_runlist list = parse_fixture("debugfs/gfx9/rls_suspended");
	struct gp_kfd_slot_list owners = descriptors();

	(void)state;
	gp_kfd_runlist_join(&list, &owners);
	assert_int_equal(list.count, 3);
	assert_int_equal(list.items[2].pid, 501);
	assert_int_equal(list.items[2].queue_count, 3);
	assert_int_equal(list.items[2].mapped_count, 0);
	/* Two processes with one PASID: unknown. */
	owners.items[3].pasid = 0x8001;
	gp_kfd_runlist_join(&list, &owners);
	assert_int_equal(list.items[2].pid, 0);
	gp_kfd_runlist_free(&list);
	gp_kfd_slot_list_free(&owners);
}

/* The entries of the fixture after a join with descriptors that were changed. */
static struct gp_kfd_runlist join_after(void (*change)(struct gp_kfd_slot *descriptor))
{
	struct gp_kfd_runlist list = parse_fixture("debugfs/gfx9/rls");
	struct gp_kfd_slot_list owners = descriptors();

	for (size_t i = 0; i < owners.count; i++)
		change(&owners.items[i]);
	gp_kfd_runlist_join(&list, &owners);
	gp_kfd_slot_list_free(&owners);
	return list;
}

static void other_doorbell(struct gp_kfd_slot *descriptor)
{
	descriptor->doorbell += 2;
}

static void other_address(struct gp_kfd_slot *descriptor)
{
	descriptor->mqd_address += 0x1000;
}

static void other_pasid(struct gp_kfd_slot *descriptor)
{
	descriptor->pasid += 0x10;
}

static void no_pasid(struct gp_kfd_slot *descriptor)
{
	descriptor->pasid = 0;
}

static void descriptor_that_contradicts_is_not_the_queues(void **state)
{
	struct gp_kfd_runlist list = join_after(other_doorbell);

	(void)state;
	for (size_t i = 0; i < list.count; i++) {
		if (list.items[i].kind == GP_RUNLIST_QUEUE)
			assert_int_equal(list.items[i].pid + list.items[i].ring, 0);
	}
	gp_kfd_runlist_free(&list);
	list = join_after(other_address);
	assert_int_equal(list.items[1].pid, 0);
	assert_int_equal(list.items[1].ring, 0);
	/* SDMA is joined by its doorbell alone. */
	assert_int_equal(list.items[4].pid, 501);
	gp_kfd_runlist_free(&list);
	list = join_after(other_pasid);
	for (size_t i = 0; i < list.count; i++)
		assert_int_equal(list.items[i].pid, 0);
	gp_kfd_runlist_free(&list);
	/* Where the kernel prints no PASID there is none to contradict. */
	list = join_after(no_pasid);
	assert_int_equal(list.items[0].pid, 502);
	assert_int_equal(list.items[5].pid, 501);
	gp_kfd_runlist_free(&list);
}

static void refused_with(const char *text, const char *message)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_kfd_runlist list = {0};
	struct gp_gpu_debugfs_source source = source_of(text);

	assert_int_equal(gp_kfd_parse_rls(&source, &sink.diag, &list), -EINVAL);
	assert_null(list.items);
	assert_null(list.nodes);
	if (!strstr(gp_buf_str(&sink.text), message))
		fail_msg("'%s' is not in '%s'", message, gp_buf_str(&sink.text));
	gp_buf_free(&sink.text);
}

static void text_of_another_kind_is_refused_with_its_line(void **state)
{
	(void)state;
	refused_with("\x28\xb5\x2f\xfd", "compressed (zstd)");
	refused_with("x\n", "input:1: not a copy of the debugfs file rls");
	refused_with("  00000000: c013a100\n", "input:1: not a copy of the debugfs file rls");
	refused_with("Process 1 PASID 0x1:\n", "input:1: this is a copy of mqds");
	refused_with("Node 1, gpu_id a:\n  CP Pipe 0, Queue 0\n",
		     "input:2: this is a copy of hqds");
	refused_with("Node 1, gpu_id a:\n", "input:1: the text ends before");
	refused_with("Node 1, gpu_id a:\n  No act", "the text ends before");
	refused_with("Node 1, gpu_id a:\n  00000000: c013a100 00000000\n", "the text ends before");
}

static void cut_text_gives_whole_packets(void **state)
{
	struct text text;
	size_t most = 0;

	(void)state;
	text_load(&text, fixture("debugfs/gfx9/rls"));
	text.source.partial = true;
	for (size_t len = 1; len < text.buf.len; len++) {
		struct gp_kfd_runlist list = {0};
		int error;

		text.source.len = len;
		error = gp_kfd_parse_rls(&text.source, NULL, &list);
		assert_int_equal(error, list.count ? 0 : -EINVAL);
		assert_true(list.count >= most);
		most = list.count;
		gp_kfd_runlist_free(&list);
	}
	assert_true(most >= 5);
	gp_buf_free(&text.buf);
}

static void damaged_text_is_refused_unless_parts_are_wanted(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_kfd_runlist list = {0};
	struct text text;

	(void)state;
	text_load(&text, fixture("debugfs/gfx9/rls"));
	text.source.len -= 20;
	assert_int_equal(gp_kfd_parse_rls(&text.source, &sink.diag, &list), -EBADMSG);
	assert_null(list.items);
	assert_non_null(strstr(gp_buf_str(&sink.text), "the text ends in the middle"));
	assert_non_null(strstr(gp_buf_str(&sink.text), "save the debugfs file rls again"));
	text.source.partial = true;
	assert_int_equal(gp_kfd_parse_rls(&text.source, NULL, &list), 0);
	assert_true(list.incomplete);
	gp_kfd_runlist_free(&list);
	text.source.len += 20;
	/* Without the last newline a word may be missing as well. */
	text.source.partial = false;
	text.source.len--;
	assert_int_equal(gp_kfd_parse_rls(&text.source, NULL, &list), -EBADMSG);
	text.source.len++;
	assert_int_equal(gp_kfd_parse_rls(&text.source, NULL, &list), 0);
	assert_false(list.incomplete);
	gp_kfd_runlist_free(&list);
	gp_buf_free(&sink.text);
	gp_buf_free(&text.buf);
}

static void garbled_rows_cost_what_comes_after_them(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_kfd_runlist list = {0};
	struct gp_gpu_debugfs_source source =
		source_of("Node 1, gpu_id a:\n"
			  "  00000000: c0011000 00000000 00000000 c0011000 00000000 00000000\n"
			  "  00000040: c0011000 00000000 00000000\n"
			  "  00000060: c0011000 00000000 zzz\n"
			  "noise\n"
			  "Node 2, gpu_id b:\n"
			  "  00000000: 00000000 c0011000\n"
			  "Node 3, gpu_id c:\n"
			  "  No active runlist\n");

	(void)state;
	assert_int_equal(gp_kfd_parse_rls(&source, &sink.diag, &list), -EBADMSG);
	assert_null(list.items);
	assert_null(list.nodes);
	assert_non_null(strstr(gp_buf_str(&sink.text), "input:1: rows of this block"));
	gp_buf_free(&sink.text);
	source.partial = true;
	assert_int_equal(gp_kfd_parse_rls(&source, &sink.diag, &list), 0);
	assert_true(list.incomplete);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.node_count, 3);
	assert_non_null(strstr(gp_buf_str(&sink.text), "(damaged blocks: 2)"));
	assert_non_null(strstr(gp_buf_str(&sink.text), "input:5: cannot parse this line"));
	gp_kfd_runlist_free(&list);
	gp_buf_free(&sink.text);
}

static void the_samples_are_those_of_the_packet_log(void **state)
{
	static const char *const names[] = {"kfd612/rls_running.txt", "kfd612/rls_suspended.txt"};
	/* MAP_PROCESS headers are c013a100, MAP_QUEUES c005a200. */
	(void)state;
	for (size_t s = 0; s < GP_ARRAY_SIZE(names); s++) {
		struct gp_kfd_runlist list = {0};
		struct text text;
		size_t processes = 0, queues = 0, found_processes = 0, found_queues = 0;

		if (!corpus(names[s]))
			skip();
		text_load(&text, corpus(names[s]));
		assert_int_equal(gp_kfd_parse_rls(&text.source, NULL, &list), 0);
		for (const char *at = text.buf.data; (at = strstr(at, "c013a100")); at++)
			processes++;
		for (const char *at = text.buf.data; (at = strstr(at, "c005a200")); at++)
			queues++;
		for (size_t i = 0; i < list.count; i++) {
			found_processes += list.items[i].kind == GP_RUNLIST_PROCESS;
			found_queues += list.items[i].kind == GP_RUNLIST_QUEUE;
		}
		assert_int_equal(found_processes, processes);
		assert_int_equal(found_queues, queues);
		assert_int_equal(processes, 2);
		assert_int_equal(queues, s ? 2 : 5);
		/* As the packet log of the same driver prints them. */
		assert_int_equal(list.items[0].pasid, 2);
		assert_int_equal(list.items[0].quantum, 10);
		assert_int_equal(list.items[2].mqd_address, 0x1000003ea000);
		assert_int_equal(list.items[2].doorbell, 0x1000);
		assert_int_equal(list.items[3].queue_count, 3);
		gp_kfd_runlist_free(&list);
		gp_buf_free(&text.buf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_come_with_their_queues),
		cmocka_unit_test(oversubscribed_list_ends_in_a_chain),
		cmocka_unit_test(queues_get_pid_and_ring_from_their_descriptor),
		cmocka_unit_test(process_without_mapped_queues_is_known_by_its_pasid),
		cmocka_unit_test(descriptor_that_contradicts_is_not_the_queues),
		cmocka_unit_test(damaged_text_is_refused_unless_parts_are_wanted),
		cmocka_unit_test(text_of_another_kind_is_refused_with_its_line),
		cmocka_unit_test(cut_text_gives_whole_packets),
		cmocka_unit_test(garbled_rows_cost_what_comes_after_them),
		cmocka_unit_test(the_samples_are_those_of_the_packet_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
