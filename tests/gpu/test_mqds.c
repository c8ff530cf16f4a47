// SPDX-License-Identifier: MIT
/* The reader of debugfs mqds. */
#include "debugfs_text.h"

#include "abi/kfd_hqd.h"
#include "gpu/kfd/slot.h"

static struct gp_kfd_slot_list parse_fixture(const char *name)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_kfd_slot_list list = {0};
	struct text text;

	text_load(&text, fixture(name));
	assert_int_equal(gp_kfd_parse_mqds(&text.source, &sink.diag, &list), 0);
	assert_int_equal(sink.errors + sink.warnings, 0);
	gp_buf_free(&text.buf);
	gp_buf_free(&sink.text);
	return list;
}

static void descriptors_belong_to_their_process(void **state)
{
	struct gp_kfd_slot_list list = parse_fixture("debugfs/gfx9/mqds");
	const struct gp_kfd_slot *slot = &list.items[0];

	(void)state;
	assert_int_equal(list.count, 4);
	assert_int_equal(slot->pid, 501);
	assert_int_equal(slot->pasid, 0x8001);
	assert_int_equal(slot->gpu_id, 0x5f21);
	assert_int_equal(slot->node, ~0u);
	assert_int_equal(slot->line, 2);
	assert_int_equal(slot->word_count, 512);
	assert_int_equal(slot->mqd_address, 0x2000005e0000);
	assert_int_equal(slot->ring, 0x7f1000600000);
	assert_int_equal(slot->object, 0x7f1000700000);
	assert_int_equal(slot->queue_priority, 15);
	assert_int_equal(slot->backlog, 2);
	assert_int_equal(slot->cwsr_stack_used, 64);
	assert_false(slot->valid & (GP_SLOT_XCC | GP_SLOT_VMID));
	assert_int_equal(list.items[1].kind, GP_SLOT_SDMA);
	assert_int_equal(list.items[1].ring, 0x7f1000a00000);
	assert_int_equal(list.items[1].vmid, 8);
	assert_int_equal(list.items[2].ring, list.items[3].ring);
	assert_int_equal(list.items[3].pid, 502);
	assert_int_equal(list.items[3].pasid, 0x8002);
	gp_kfd_slot_list_free(&list);
}

static void one_dump_per_xcc_under_one_header(void **state)
{
	struct gp_kfd_slot_list list = parse_fixture("debugfs/gfx942/mqds");

	(void)state;
	assert_int_equal(list.count, 4);
	for (size_t i = 0; i < list.count; i++) {
		assert_true(list.items[i].valid & GP_SLOT_XCC);
		assert_int_equal(list.items[i].xcc, i % 2);
		assert_int_equal(list.items[i].pid, 94001);
		/* The pid in the place of the PASID is none. */
		assert_int_equal(list.items[i].pasid, 0);
		assert_int_equal(list.items[i].vmid, 3);
	}
	assert_int_equal(list.items[3].mqd_address, 0x355000);
	gp_kfd_slot_list_free(&list);
}

static void a_decimal_pasid_that_is_not_the_pid_is_kept(void **state)
{
	struct gp_kfd_slot_list list = {0};
	struct gp_buf text = {0};
	struct text mqds;

	(void)state;
	text_load(&mqds, fixture("debugfs/gfx9/mqds"));
	gp_buf_puts(&text, "Process 501 PASID 32769:");
	gp_buf_puts(&text, strchr(mqds.buf.data, '\n'));
	mqds.source.text = text.data;
	mqds.source.len = text.len;
	assert_int_equal(gp_kfd_parse_mqds(&mqds.source, NULL, &list), 0);
	assert_int_equal(list.items[0].pasid, 32769);
	gp_kfd_slot_list_free(&list);
	gp_buf_free(&text);
	gp_buf_free(&mqds.buf);
}

/* The same queue in the layouts of gfx10, gfx11 and gfx12, with the version known and not. */
static void sdma_descriptors_are_read_in_the_layout_of_their_gpu(void **state)
{
	static const struct {
		const char *file;
		u32 (*version)(void *ctx, u32 gpu_id);
		size_t at, words;
		u64 ring;
		u32 doorbell;
	} rows[] = {
		{"debugfs/gfx10/mqds", version_gfx10, 0, 130, 0x7f1000a00000, 0x840},
		{"debugfs/gfx11/sys/kernel/debug/kfd/mqds", version_gfx11, 1, 128, 0x7f2000000000,
		 0x155},
		{"debugfs/gfx12/mqds", version_gfx12, 1, 128, 0x7f2000000000, 0x155},
	};

	(void)state;
	for (size_t i = 0; i < 2 * GP_ARRAY_SIZE(rows); i++) {
		size_t row = i / 2;
		struct gp_kfd_slot_list list = {0};
		const struct gp_kfd_slot *slot;
		struct text text;

		text_load(&text, fixture(rows[row].file));
		text.source.gfx_version = i % 2 ? rows[row].version : NULL;
		assert_int_equal(gp_kfd_parse_mqds(&text.source, NULL, &list), 0);
		assert_int_equal(list.count, rows[row].at + 1);
		slot = &list.items[rows[row].at];
		assert_int_equal(slot->kind, GP_SLOT_SDMA);
		assert_int_equal(slot->word_count, rows[row].words);
		assert_true(slot->valid & GP_SLOT_REGISTERS);
		assert_true(slot->active);
		assert_int_equal(slot->ring, rows[row].ring);
		assert_int_equal(slot->doorbell, rows[row].doorbell);
		assert_int_equal(slot->pipe, 1);
		assert_int_equal(slot->queue, 3);
		assert_int_equal(slot->backlog, row ? 64 : 32);
		gp_kfd_slot_list_free(&list);
		gp_buf_free(&text.buf);
	}
}

static void layouts_not_known_keep_their_words(void **state)
{
	struct gp_kfd_slot_list list = {0};
	struct text text;

	(void)state;
	text_load(&text, fixture("debugfs/gfx9/mqds"));
	text.source.gfx_version = version_gfx13;
	assert_int_equal(gp_kfd_parse_mqds(&text.source, NULL, &list), 0);
	assert_int_equal(list.count, 4);
	for (size_t i = 0; i < list.count; i++) {
		assert_int_equal(list.items[i].valid, 0);
		assert_true(list.items[i].word_count > 0);
		assert_true(list.items[i].pid > 0);
	}
	gp_kfd_slot_list_free(&list);
	/* Without a version the first word has to be the one KFD writes. */
	text.source.gfx_version = NULL;
	memcpy(strstr(text.buf.data, "c0310800"), "c0310801", 8);
	assert_int_equal(gp_kfd_parse_mqds(&text.source, NULL, &list), 0);
	assert_false(list.items[0].valid & GP_SLOT_REGISTERS);
	assert_true(list.items[2].valid & GP_SLOT_REGISTERS);
	gp_kfd_slot_list_free(&list);
	text.source.gfx_version = version_gfx90a;
	assert_int_equal(gp_kfd_parse_mqds(&text.source, NULL, &list), 0);
	assert_true(list.items[0].valid & GP_SLOT_REGISTERS);
	gp_kfd_slot_list_free(&list);
	gp_buf_free(&text.buf);
}

static void refused_with(const char *text, const char *message)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_kfd_slot_list list = {0};
	struct gp_gpu_debugfs_source source = source_of(text);

	assert_int_equal(gp_kfd_parse_mqds(&source, &sink.diag, &list), -EINVAL);
	assert_null(list.items);
	if (!strstr(gp_buf_str(&sink.text), message))
		fail_msg("'%s' is not in '%s'", message, gp_buf_str(&sink.text));
	gp_buf_free(&sink.text);
}

static void text_of_another_kind_is_refused_with_its_line(void **state)
{
	(void)state;
	refused_with("BZh9", "compressed (bzip2)");
	refused_with("x\n", "input:1: not a copy of the debugfs file mqds");
	refused_with("    00000000: c0310800\n", "input:1: not a copy of the debugfs file mqds");
	refused_with("Node 1, gpu_id a:\n Inst 0,  CP Pipe 0, Queue 0\n",
		     "input:1: this is a copy of hqds");
	refused_with("Node 1, gpu_id a:\n  No active runlist\n", "input:1: this is a copy of rls");
	refused_with("Process 1 PASID 0x1:\n  Compute queue on device a\n",
		     "input:2: the text ends before");
	refused_with("Process 1 PASID 0x1:\n  Compute qu", "input:2: the text ends before");
}

static void processes_without_queues_are_no_queues(void **state)
{
	struct gp_gpu_debugfs_source source = source_of(
		"Process 1 PASID 0x1:\n\nProcess 2 PASID 0x2:\n  Bad user queue type 9\n");
	struct test_diag sink = TEST_DIAG;
	struct gp_kfd_slot_list list = {0};

	(void)state;
	assert_int_equal(gp_kfd_parse_mqds(&source, &sink.diag, &list), 0);
	assert_int_equal(list.count, 0);
	assert_int_equal(sink.warnings, 1);
	gp_buf_free(&sink.text);
}

static void cut_text_gives_what_was_complete(void **state)
{
	struct text text;

	(void)state;
	text_load(&text, fixture("debugfs/gfx9/mqds"));
	text.source.partial = true;
	for (size_t len = 1; len < text.buf.len; len += 7) {
		struct gp_kfd_slot_list list = {0};
		int error;

		text.source.len = len;
		error = gp_kfd_parse_mqds(&text.source, NULL, &list);
		assert_true(list.count ? error == 0 : true);
		for (size_t i = 0; i < list.count; i++) {
			assert_true(list.items[i].valid & GP_SLOT_REGISTERS);
			assert_int_equal(list.items[i].word_count, i == 1 ? 128 : 512);
		}
		gp_kfd_slot_list_free(&list);
	}
	gp_buf_free(&text.buf);
}

static void garbled_rows_cost_only_their_descriptor(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_kfd_slot_list list = {0};
	struct text text;
	char *at;

	(void)state;
	text_load(&text, fixture("debugfs/gfx9/mqds"));
	/* A row missing in the first, a line of something else in the third. */
	memcpy(strstr(text.buf.data, "00000240:"), "00000260:", 9);
	at = strstr(strstr(text.buf.data, "SDMA"), "Compute");
	memcpy(strstr(at, "    00000240:"), "interleaved t", 13);
	assert_int_equal(gp_kfd_parse_mqds(&text.source, &sink.diag, &list), -EBADMSG);
	assert_null(list.items);
	assert_non_null(strstr(gp_buf_str(&sink.text),
			       "(damaged blocks: 2); save the debugfs file mqds again"));
	gp_buf_free(&sink.text);
	text.source.partial = true;
	assert_int_equal(gp_kfd_parse_mqds(&text.source, &sink.diag, &list), 0);
	assert_true(list.incomplete);
	assert_int_equal(list.count, 4);
	assert_false(list.items[0].valid & GP_SLOT_REGISTERS);
	assert_true(list.items[1].valid & GP_SLOT_REGISTERS);
	assert_false(list.items[2].valid & GP_SLOT_REGISTERS);
	assert_true(list.items[3].valid & GP_SLOT_REGISTERS);
	assert_non_null(strstr(gp_buf_str(&sink.text), "input:2: rows of this block are missing"));
	gp_kfd_slot_list_free(&list);
	gp_buf_free(&sink.text);
	gp_buf_free(&text.buf);
}

static void debug_queues_are_read(void **state)
{
	struct gp_kfd_slot_list list = {0};
	struct text text;
	char *at;

	(void)state;
	text_load(&text, fixture("debugfs/gfx9/mqds"));
	at = strstr(text.buf.data, "  Compute queue on device");
	memcpy(at, "            DIQ on device", 25);
	assert_int_equal(gp_kfd_parse_mqds(&text.source, NULL, &list), 0);
	assert_int_equal(list.items[0].kind, GP_SLOT_DIQ);
	gp_kfd_slot_list_free(&list);
	gp_buf_free(&text.buf);
}

static void every_descriptor_of_the_samples_is_right(void **state)
{
	static const char *const samples[] = {"kfd_debugfs/mqds_mi308x_gfx942_pid94314.txt",
					      "kfd612/mqds_running.txt",
					      "kfd612/mqds_suspended.txt"};
	static const size_t counts[] = {20, 5, 5};

	(void)state;
	for (size_t s = 0; s < GP_ARRAY_SIZE(samples); s++) {
		struct gp_kfd_slot_list list = {0};
		struct text text;
		size_t seen = 0;

		if (!corpus(samples[s]))
			skip();
		text_load(&text, corpus(samples[s]));
		assert_int_equal(gp_kfd_parse_mqds(&text.source, NULL, &list), 0);
		assert_int_equal(list.count, counts[s]);
		/* The row at 0x220 starts with PQ_BASE, PQ_RPTR and the read index's address. */
		for (const char *at = text.buf.data; (at = strstr(at, "    00000220: ")); at++) {
			const struct gp_kfd_slot *slot = &list.items[seen++];
			unsigned int lo, hi, rptr, report_lo, report_hi;

			assert_int_equal(sscanf(at, " 00000220: %x %x %x %x %x", &lo, &hi, &rptr,
						&report_lo, &report_hi),
					 5);
			assert_int_equal(slot->ring, ((u64)hi << 32 | lo) << 8);
			assert_int_equal(slot->rptr, rptr / 16);
			assert_int_equal(slot->object, ((u64)report_hi << 32 | report_lo) - 0x80);
		}
		assert_int_equal(seen, counts[s]);
		gp_kfd_slot_list_free(&list);
		gp_buf_free(&text.buf);
	}
}

static void a_descriptor_does_not_tell_a_full_ring_from_an_empty_one(void **state)
{
	struct gp_kfd_slot slot = {.kind = GP_SLOT_COMPUTE, .node = GP_SLOT_NO_NODE};
	u32 words[GP_HQD_WORDS] = {0};

	(void)state;
	words[GP_CP_HQD_PQ_CONTROL] = 0x09; /* 1024 dwords, 64 packets */
	words[GP_CP_HQD_AQL_CONTROL] = 1;
	words[GP_CP_HQD_PQ_RPTR] = 32;
	words[GP_CP_HQD_PQ_WPTR_LO] = 32 + 3 * 1024;
	gp_kfd_slot_decode_cp(&slot, words);
	assert_true(slot.valid & GP_SLOT_POINTERS);
	assert_false(slot.valid & GP_SLOT_BACKLOG);
	words[GP_CP_HQD_PQ_WPTR_LO] += 16;
	gp_kfd_slot_decode_cp(&slot, words);
	assert_true(slot.valid & GP_SLOT_BACKLOG);
	assert_int_equal(slot.backlog, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_descriptor_does_not_tell_a_full_ring_from_an_empty_one),
		cmocka_unit_test(descriptors_belong_to_their_process),
		cmocka_unit_test(one_dump_per_xcc_under_one_header),
		cmocka_unit_test(a_decimal_pasid_that_is_not_the_pid_is_kept),
		cmocka_unit_test(sdma_descriptors_are_read_in_the_layout_of_their_gpu),
		cmocka_unit_test(layouts_not_known_keep_their_words),
		cmocka_unit_test(text_of_another_kind_is_refused_with_its_line),
		cmocka_unit_test(processes_without_queues_are_no_queues),
		cmocka_unit_test(cut_text_gives_what_was_complete),
		cmocka_unit_test(garbled_rows_cost_only_their_descriptor),
		cmocka_unit_test(debug_queues_are_read),
		cmocka_unit_test(every_descriptor_of_the_samples_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
