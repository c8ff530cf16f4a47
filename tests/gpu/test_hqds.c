// SPDX-License-Identifier: MIT
/* The reader of debugfs hqds. */
#include "debugfs_text.h"

static void check_gfx9(const struct gp_kfd_slot_list *list, bool inst)
{
	const struct gp_kfd_slot *slot = slot_at(list, GP_SLOT_COMPUTE, 0, 0, 2);

	assert_int_equal(list->count, 8);
	assert_int_equal(!!(slot->valid & GP_SLOT_XCC), inst);
	assert_int_equal(slot->node, 1);
	assert_int_equal(slot->gpu_id, 0x5f21);
	assert_true(slot->active && slot->aql);
	assert_int_equal(slot->vmid, 8);
	assert_int_equal(slot->pipe_priority, 1);
	assert_int_equal(slot->queue_priority, 7);
	assert_int_equal(slot->quantum, 0x111);
	assert_int_equal(slot->mqd_address, 0x2000005d0000);
	assert_int_equal(slot->ring, 0x7f1000200000);
	assert_int_equal(slot->ring_bytes, 4096);
	assert_int_equal(slot->object, 0x7f1000100000);
	assert_int_equal(slot->rptr, 18);
	assert_int_equal(slot->wptr, 19);
	assert_int_equal(slot->backlog, 1);
	assert_int_equal(slot->doorbell, 0x800);
	assert_true(slot->doorbell_enabled);
	assert_int_equal(slot->cwsr_address, 0x7f1000480000);
	assert_int_equal(slot->cwsr_bytes, 0xba6000);
	assert_int_equal(slot->cwsr_stack_used, 0);
	assert_int_equal(slot->eop_address, 0x7f1000300000);
	assert_int_equal(slot->eop_bytes, 4096);
	assert_int_equal(slot->word_count, 56);
	assert_int_equal(slot->addresses[55], 0xc914 + 55 * 4);
}

static void slots_of_both_kernel_eras_are_decoded(void **state)
{
	struct gp_kfd_slot_list list = hqds_fixture("debugfs/gfx9/hqds");

	(void)state;
	check_gfx9(&list, true);
	gp_kfd_slot_list_free(&list);
	list = hqds_fixture("debugfs/gfx9/hqds_61");
	check_gfx9(&list, false);
	gp_kfd_slot_list_free(&list);
}

static void backlog_is_taken_modulo_the_ring(void **state)
{
	struct gp_kfd_slot_list list = hqds_fixture("debugfs/gfx9/hqds");
	const struct gp_kfd_slot *wrapped = slot_at(&list, GP_SLOT_COMPUTE, 0, 1, 2);
	const struct gp_kfd_slot *kernel = slot_at(&list, GP_SLOT_HIQ, 0, 0, 0);

	(void)state;
	assert_int_equal(wrapped->rptr, 63);
	assert_int_equal(wrapped->wptr, 65);
	assert_int_equal(wrapped->backlog, 2);
	assert_int_equal(wrapped->cwsr_stack_used, 64);
	/* 0x61c - 0x1c is three times the ring of 512 dwords. */
	assert_false(kernel->aql);
	assert_int_equal(kernel->wptr, 0x61c);
	/* Both count on. */
	assert_int_equal(kernel->rptr, 0x61c);
	assert_int_equal(kernel->backlog, 0);
	assert_false(kernel->valid & GP_SLOT_OBJECT);
	gp_kfd_slot_list_free(&list);
}

static void stale_slots_are_inactive(void **state)
{
	struct gp_kfd_slot_list list = hqds_fixture("debugfs/gfx9/hqds");
	const struct gp_kfd_slot *compute = slot_at(&list, GP_SLOT_COMPUTE, 0, 1, 3);
	const struct gp_kfd_slot *sdma = slot_at(&list, GP_SLOT_SDMA, 0, 0, 1);

	(void)state;
	assert_false(compute->active);
	assert_int_equal(compute->ring, 0x7f1000200000);
	/* RB_ENABLE is still set, but no doorbell leads there. */
	assert_true(sdma->valid & GP_SLOT_REGISTERS);
	assert_int_equal(sdma->words[0] & 1, 1);
	assert_false(sdma->active);
	gp_kfd_slot_list_free(&list);
}

static void sdma_slots_are_decoded(void **state)
{
	struct gp_kfd_slot_list list = hqds_fixture("debugfs/gfx9/hqds");
	const struct gp_kfd_slot *slot = slot_at(&list, GP_SLOT_SDMA, 0, 0, 0);
	const struct gp_kfd_slot *refused = slot_at(&list, GP_SLOT_SDMA, 0, 0, 2);

	(void)state;
	assert_true(slot->active);
	assert_int_equal(slot->word_count, 42);
	assert_int_equal(slot->vmid, 8);
	assert_int_equal(slot->ring, 0x7f1000a00000);
	assert_int_equal(slot->ring_bytes, 1 << 20);
	assert_int_equal(slot->rptr, 0x40);
	assert_int_equal(slot->backlog, 0x20);
	assert_int_equal(slot->doorbell, 0x840);
	assert_false(slot->valid & (GP_SLOT_PRIORITY | GP_SLOT_MQD | GP_SLOT_CWSR));
	assert_int_equal(refused->word_count, 0);
	assert_int_equal(refused->valid, 0);
	gp_kfd_slot_list_free(&list);
}

static void every_xcc_has_its_own_slots(void **state)
{
	struct gp_kfd_slot_list list = hqds_fixture("debugfs/gfx942/hqds");
	const struct gp_kfd_slot *first = slot_at(&list, GP_SLOT_COMPUTE, 0, 0, 2);
	const struct gp_kfd_slot *second = slot_at(&list, GP_SLOT_COMPUTE, 1, 0, 2);
	const struct gp_kfd_slot *sdma = slot_at(&list, GP_SLOT_SDMA, 0, 0, 0);

	(void)state;
	assert_int_equal(list.count, 9);
	assert_int_equal(first->ring, second->ring);
	assert_int_equal(first->mqd_address, 0x352000);
	assert_int_equal(second->mqd_address, 0x355000);
	assert_int_equal(second->addresses[0], 0xcc914);
	assert_int_equal(sdma->word_count, 44);
	assert_true(sdma->active);
	gp_kfd_slot_list_free(&list);
}

static void gfx10_is_known_by_its_addresses(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_kfd_slot_list list = parse_hqds(fixture("debugfs/gfx10/hqds"), &sink);

	(void)state;
	assert_int_equal(list.count, 1);
	assert_true(list.items[0].active);
	assert_false(list.items[0].aql);
	assert_int_equal(list.items[0].backlog, 32);
	assert_non_null(strstr(gp_buf_str(&sink.text), "GPU 0xa200 is stopped"));
	gp_buf_free(&sink.text);
	gp_kfd_slot_list_free(&list);
}

static void sdma_slots_of_gfx11_and_gfx12_have_orders_of_their_own(void **state)
{
	static const char *const files[] = {"debugfs/gfx11/sys/kernel/debug/kfd/hqds",
					    "debugfs/gfx12/hqds"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct gp_kfd_slot_list list = {0};
		const struct gp_kfd_slot *slot;
		struct text text;

		text_load(&text, fixture(files[i / 2]));
		if (i % 2)
			text.source.gfx_version = i / 2 ? version_gfx12 : version_gfx11;
		assert_int_equal(gp_kfd_parse_hqds(&text.source, NULL, &list), 0);
		slot = &list.items[list.count - 1];
		assert_int_equal(slot->kind, GP_SLOT_SDMA);
		assert_int_equal(slot->sdma_family, i / 2 ? GP_SDMA_GFX12 : GP_SDMA_GFX11);
		assert_true(slot->valid & GP_SLOT_REGISTERS);
		assert_int_equal(slot->doorbell, 0x155);
		assert_true(slot->active);
		assert_int_equal(slot->backlog, 64);
		gp_kfd_slot_list_free(&list);
		/* In the layout of another GPU it is no slot. */
		text.source.gfx_version = i / 2 ? version_gfx11 : version_gfx12;
		assert_int_equal(gp_kfd_parse_hqds(&text.source, NULL, &list), 0);
		assert_false(list.items[list.count - 1].valid & GP_SLOT_REGISTERS);
		gp_kfd_slot_list_free(&list);
		gp_buf_free(&text.buf);
	}
}

static void a_gpu_that_is_not_known_keeps_its_rows_without_a_claim(void **state)
{
	struct gp_kfd_slot_list list = {0};
	struct text text;

	(void)state;
	text_load(&text, fixture("debugfs/gfx9/hqds"));
	text.source.gfx_version = version_gfx13;
	assert_int_equal(gp_kfd_parse_hqds(&text.source, NULL, &list), 0);
	assert_int_equal(list.count, 8);
	for (size_t i = 0; i < list.count; i++)
		assert_int_equal(list.items[i].valid & GP_SLOT_REGISTERS, 0);
	assert_int_equal(list.items[1].word_count, 56);
	gp_kfd_slot_list_free(&list);
	/* With a version that is known, addresses are not asked. */
	for (char *c = text.buf.data; (c = strstr(c, "0000c9")); c++)
		c[4] = 'd';
	text.source.gfx_version = version_gfx90a;
	assert_int_equal(gp_kfd_parse_hqds(&text.source, NULL, &list), 0);
	assert_true(list.items[1].valid & GP_SLOT_REGISTERS);
	gp_kfd_slot_list_free(&list);
	text.source.gfx_version = NULL;
	assert_int_equal(gp_kfd_parse_hqds(&text.source, NULL, &list), 0);
	assert_false(list.items[1].valid & GP_SLOT_REGISTERS);
	gp_kfd_slot_list_free(&list);
	gp_buf_free(&text.buf);
}

/* ---- bad input ---- */

static void refused_with(const char *text, size_t len, const char *message)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_kfd_slot_list list = {0};
	struct gp_gpu_debugfs_source source = {.name = "input", .text = text, .len = len};

	assert_int_equal(gp_kfd_parse_hqds(&source, &sink.diag, &list), -EINVAL);
	assert_int_equal(list.count, 0);
	assert_null(list.items);
	assert_int_equal(sink.errors, 1);
	if (!strstr(gp_buf_str(&sink.text), message))
		fail_msg("'%s' is not in '%s'", message, gp_buf_str(&sink.text));
	gp_buf_free(&sink.text);
}

static void text_of_another_kind_is_refused_with_its_line(void **state)
{
	(void)state;
	refused_with("\x1f\x8b\x08", sizeof("\x1f\x8b\x08") - 1,
		     "input is compressed (gzip); decompress it first: zcat FILE > NEWFILE");
	refused_with("\x04\x22\x4d\x18x", 5, "compressed (lz4)");
	refused_with("PK\x03\x04x", 5, "compressed (zip); decompress it first: unzip -p FILE");
	refused_with("\xfd\x37zXZ\0x", 7, "compressed (xz)");
	refused_with("Node\0", sizeof("Node\0") - 1, "input:1: the file is binary");
	refused_with("hello\nworld\n", sizeof("hello\nworld\n") - 1,
		     "input:1: not a copy of the debugfs file hqds");
	refused_with("\nProcess 1 PASID 0x1:\n", sizeof("\nProcess 1 PASID 0x1:\n") - 1,
		     "input:2: this is a copy of mqds");
	refused_with("Node 1, gpu_id a:\n  00000000: c013a100\n",
		     sizeof("Node 1, gpu_id a:\n  00000000: c013a100\n") - 1,
		     "input:2: this is a copy of rls");
	refused_with("Node 1, gpu_id a:\n  No active runlist\n",
		     sizeof("Node 1, gpu_id a:\n  No active runlist\n") - 1,
		     "input:2: this is a copy of rls");
	refused_with("Node 1, gpu_id a:\n", sizeof("Node 1, gpu_id a:\n") - 1,
		     "input:1: the text ends before");
	refused_with("Node 1, gpu_id a:\n Inst 0,  CP Pipe 0, Queue 2\n",
		     sizeof("Node 1, gpu_id a:\n Inst 0,  CP Pipe 0, Queue 2\n") - 1,
		     "input:2: the text ends before");
	refused_with("Node 1, gpu_id fffffffff:\n", sizeof("Node 1, gpu_id fffffffff:\n") - 1,
		     "input:1: not a copy");
}

static void empty_text_is_an_empty_list(void **state)
{
	struct gp_gpu_debugfs_source source = source_of("");
	struct gp_kfd_slot_list list = {0};

	(void)state;
	assert_int_equal(gp_kfd_parse_hqds(&source, NULL, &list), 0);
	assert_int_equal(list.count, 0);
}

static void cut_text_gives_what_was_complete(void **state)
{
	struct text text;
	size_t complete_once = 0;

	(void)state;
	text_load(&text, fixture("debugfs/gfx9/hqds"));
	text.source.partial = true;
	/* Wherever it is cut, whole slots and only whole slots are there. */
	for (size_t len = 1; len < text.buf.len; len++) {
		struct test_diag sink = TEST_DIAG;
		struct gp_kfd_slot_list list = {0};
		int error;

		text.source.len = len;
		error = gp_kfd_parse_hqds(&text.source, &sink.diag, &list);
		assert_int_equal(error, list.count ? 0 : -EINVAL);
		for (size_t i = 0; i < list.count; i++) {
			size_t words = list.items[i].word_count;

			assert_true(words == 56 || words == 42 || i == 7);
		}
		if (len < text.buf.len - 40)
			assert_true(error || sink.warnings || text.buf.data[len - 1] == '\n' ||
				    text.buf.data[len] == '\n');
		complete_once += list.count == 4;
		gp_kfd_slot_list_free(&list);
		gp_buf_free(&sink.text);
	}
	assert_true(complete_once > 500);
	gp_buf_free(&text.buf);
}

static void damaged(struct text *text, const char *message)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_kfd_slot_list list = {0};

	assert_int_equal(gp_kfd_parse_hqds(&text->source, &sink.diag, &list), -EBADMSG);
	assert_null(list.items);
	assert_int_equal(sink.errors, 1);
	assert_int_equal(sink.warnings, 0);
	if (!strstr(gp_buf_str(&sink.text), message))
		fail_msg("'%s' is not in '%s'", message, gp_buf_str(&sink.text));
	gp_buf_free(&sink.text);
}

static void damaged_text_is_refused_unless_parts_are_wanted(void **state)
{
	struct gp_kfd_slot_list list = {0};
	struct text text;
	size_t whole;

	(void)state;
	text_load(&text, fixture("debugfs/gfx9/hqds"));
	whole = text.source.len;
	text.source.len = whole / 2;
	damaged(&text,
		"input:26: the text ends in the middle of this block; save the debugfs file hqds");
	text.source.live = true;
	damaged(&text,
		"input:26: the text ends in the middle of this block; run the command again");
	text.source.partial = true;
	assert_int_equal(gp_kfd_parse_hqds(&text.source, NULL, &list), 0);
	assert_true(list.incomplete);
	gp_kfd_slot_list_free(&list);
	assert_false(list.incomplete);
	text.source.len = whole;
	assert_int_equal(gp_kfd_parse_hqds(&text.source, NULL, &list), 0);
	assert_false(list.incomplete);
	gp_kfd_slot_list_free(&list);
	memcpy(strstr(text.buf.data, "0000c934:") + 10, "zzzz", 4);
	text.source.partial = false;
	damaged(&text,
		"input:2: rows of this block are missing or garbled (damaged blocks: 1); run");
	text.source.live = false;
	damaged(&text, "(damaged blocks: 1); save the debugfs file hqds again");
	gp_buf_free(&text.buf);
}

/* The first compute slot of the fixture with other pointers, in dwords of its ring of 1024. */
static u64 backlog_of(u32 rptr, u64 wptr, bool empty)
{
	struct gp_kfd_slot_list list = {0};
	struct text text;
	char words[64], *at;
	u64 backlog;

	text_load(&text, fixture("debugfs/gfx9/hqds"));
	at = strstr(text.buf.data, "CP Pipe 0, Queue 2\n");
	snprintf(words, sizeof(words), "%08x", rptr);
	memcpy(strstr(at, "0000c934:") + 10 + 2 * 9, words, 8);
	snprintf(words, sizeof(words), "%08x", empty ? 0x1401c509 : 0x14014509);
	memcpy(strstr(at, "0000c954:") + 10 + 9, words, 8);
	snprintf(words, sizeof(words), "%08x %08x", (u32)wptr, (u32)(wptr >> 32));
	memcpy(strstr(at, "0000c9d4:") + 10 + 6 * 9, words, 17);
	assert_int_equal(gp_kfd_parse_hqds(&text.source, NULL, &list), 0);
	backlog = slot_at(&list, GP_SLOT_COMPUTE, 0, 0, 2)->backlog;
	gp_kfd_slot_list_free(&list);
	gp_buf_free(&text.buf);
	return backlog;
}

static void full_ring_is_told_from_an_empty_one(void **state)
{
	(void)state;
	assert_int_equal(backlog_of(288, 304, false), 1);
	/* A ring behind, and the hardware does not call it empty: full. */
	assert_int_equal(backlog_of(288, 288 + 1024, false), 64);
	assert_int_equal(backlog_of(0, 1024, false), 64);
	assert_int_equal(backlog_of(0, 7ull << 32, false), 64);
	/* The same pointers some rounds later, empty. */
	assert_int_equal(backlog_of(288, 288 + 5 * 1024, true), 0);
	/* Equal as they stand: a queue that was never filled, whatever the bit. */
	assert_int_equal(backlog_of(0, 0, false), 0);
	assert_int_equal(backlog_of(288, 288, false), 0);
}

static void garbled_rows_cost_only_their_slot(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_kfd_slot_list list = {0};
	struct text text;
	char *at;

	(void)state;
	text_load(&text, fixture("debugfs/gfx9/hqds"));
	at = strstr(text.buf.data, "CP Pipe 0, Queue 2\n");
	assert_non_null(at);
	memcpy(strstr(at, "0000c934:") + 10, "zzzz", 4);
	at = strstr(at, "CP Pipe 0, Queue 3\n");
	memcpy(strstr(at, "    0000c934:"), "interleaved t", 13);
	text.source.partial = true;
	assert_int_equal(gp_kfd_parse_hqds(&text.source, &sink.diag, &list), 0);
	assert_true(list.incomplete);
	assert_int_equal(list.count, 8);
	assert_false(list.items[1].valid & GP_SLOT_REGISTERS);
	assert_false(list.items[2].valid & GP_SLOT_REGISTERS);
	assert_true(list.items[3].valid & GP_SLOT_REGISTERS);
	assert_non_null(strstr(gp_buf_str(&sink.text), "(damaged blocks: 2)"));
	assert_non_null(
		strstr(gp_buf_str(&sink.text), "cannot parse this line (unknown lines: 1)"));
	gp_kfd_slot_list_free(&list);
	gp_buf_free(&sink.text);
	gp_buf_free(&text.buf);
}

static void windows_line_ends_are_read(void **state)
{
	struct gp_kfd_slot_list list = {0};
	struct gp_buf crlf = {0};
	struct gp_gpu_debugfs_source source = {.name = "input"};
	struct text text;

	(void)state;
	text_load(&text, fixture("debugfs/gfx9/hqds"));
	for (size_t i = 0; i < text.buf.len; i++) {
		if (text.buf.data[i] == '\n')
			gp_buf_puts(&crlf, "\r");
		gp_buf_add(&crlf, &text.buf.data[i], 1);
	}
	source.text = crlf.data;
	source.len = crlf.len;
	assert_int_equal(gp_kfd_parse_hqds(&source, NULL, &list), 0);
	check_gfx9(&list, true);
	gp_kfd_slot_list_free(&list);
	gp_buf_free(&crlf);
	gp_buf_free(&text.buf);
}

static void a_block_has_an_end(void **state)
{
	struct gp_kfd_slot_list list = {0};
	struct gp_buf text = {0};
	struct gp_gpu_debugfs_source source = {.name = "input"};

	(void)state;
	gp_buf_puts(&text, "Node 1, gpu_id a:\n  CP Pipe 0, Queue 0\n");
	for (int i = 0; i < 1000; i++)
		gp_buf_printf(&text, "    %08x: 0 1\n", i);
	for (int i = 0; i < 1000; i++)
		gp_buf_printf(&text, "    %08x: 00000000 00000001 00000002\n", i);
	gp_buf_puts(&text, "  CP Pipe 0, Queue 1\n    stray\n");
	source.text = text.data;
	source.len = text.len;
	source.partial = true;
	assert_int_equal(gp_kfd_parse_hqds(&source, NULL, &list), 0);
	assert_int_equal(list.count, 1);
	assert_true(list.items[0].word_count <= 1024);
	assert_false(list.items[0].valid & GP_SLOT_REGISTERS);
	gp_kfd_slot_list_free(&list);
	gp_buf_free(&text);
}

static void gfx_names_are_versions(void **state)
{
	(void)state;
	assert_int_equal(gp_kfd_gfx_parse("gfx942"), 90402);
	assert_int_equal(gp_kfd_gfx_parse("gfx90a"), 90010);
	assert_int_equal(gp_kfd_gfx_parse("gfx1103"), 110003);
	assert_int_equal(gp_kfd_gfx_parse("gfx9"), 0);
	assert_int_equal(gp_kfd_gfx_parse("gfx9x2"), 0);
	assert_int_equal(gp_kfd_gfx_parse("gfxz42"), 0);
	assert_int_equal(gp_kfd_gfx_parse("navi31"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_of_both_kernel_eras_are_decoded),
		cmocka_unit_test(backlog_is_taken_modulo_the_ring),
		cmocka_unit_test(stale_slots_are_inactive),
		cmocka_unit_test(sdma_slots_are_decoded),
		cmocka_unit_test(every_xcc_has_its_own_slots),
		cmocka_unit_test(gfx10_is_known_by_its_addresses),
		cmocka_unit_test(sdma_slots_of_gfx11_and_gfx12_have_orders_of_their_own),
		cmocka_unit_test(a_gpu_that_is_not_known_keeps_its_rows_without_a_claim),
		cmocka_unit_test(text_of_another_kind_is_refused_with_its_line),
		cmocka_unit_test(empty_text_is_an_empty_list),
		cmocka_unit_test(cut_text_gives_what_was_complete),
		cmocka_unit_test(damaged_text_is_refused_unless_parts_are_wanted),
		cmocka_unit_test(full_ring_is_told_from_an_empty_one),
		cmocka_unit_test(garbled_rows_cost_only_their_slot),
		cmocka_unit_test(windows_line_ends_are_read),
		cmocka_unit_test(a_block_has_an_end),
		cmocka_unit_test(gfx_names_are_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
