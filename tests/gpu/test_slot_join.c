// SPDX-License-Identifier: MIT
/* Whose a slot is: the join of slots with descriptors, a whole reading, and the real samples. */
#include "debugfs_text.h"
#include "gpu/kfd/kfd.h"
#include "tree.h"

static struct gp_kfd_slot_list descriptors_of(const char *name)
{
	struct gp_kfd_slot_list list = {0};
	struct text text;

	text_load(&text, fixture(name));
	assert_int_equal(gp_kfd_parse_mqds(&text.source, NULL, &list), 0);
	gp_buf_free(&text.buf);
	return list;
}

static void same_ring_of_two_processes_is_told_apart(void **state)
{
	struct gp_kfd_slot_list list = hqds_fixture("debugfs/gfx9/hqds");
	struct gp_kfd_slot_list owners = descriptors_of("debugfs/gfx9/mqds");

	(void)state;
	gp_kfd_slots_join(&list, &owners);
	assert_int_equal(slot_at(&list, GP_SLOT_COMPUTE, 0, 0, 2)->pid, 501);
	assert_int_equal(slot_at(&list, GP_SLOT_COMPUTE, 0, 0, 3)->pid, 502);
	assert_int_equal(slot_at(&list, GP_SLOT_COMPUTE, 0, 1, 2)->pid, 501);
	assert_int_equal(slot_at(&list, GP_SLOT_HIQ, 0, 0, 0)->pid, 0);
	assert_int_equal(slot_at(&list, GP_SLOT_SDMA, 0, 0, 0)->pid, 501);
	gp_kfd_slot_list_free(&list);
	gp_kfd_slot_list_free(&owners);
}

static void stale_slot_is_nobodys_though_everything_in_it_is_a_queues(void **state)
{
	struct gp_kfd_slot_list list = hqds_fixture("debugfs/gfx9/hqds");
	struct gp_kfd_slot_list owners = descriptors_of("debugfs/gfx9/mqds");
	struct gp_kfd_slot *gone = &list.items[4];
	const struct gp_kfd_slot *queue = slot_at(&list, GP_SLOT_COMPUTE, 0, 0, 2);

	(void)state;
	assert_false(gone->active);
	assert_int_equal(gone->ring, queue->ring);
	assert_int_equal(gone->mqd_address, queue->mqd_address);
	assert_int_equal(gone->doorbell, queue->doorbell);
	gone->pid = 501;
	gp_kfd_slots_join(&list, &owners);
	assert_int_equal(gone->pid, 0);
	assert_int_equal(queue->pid, 501);
	gp_kfd_slot_list_free(&list);
	gp_kfd_slot_list_free(&owners);
}

/* Drops a process as if it had no descriptor (yet, or any more). */
static void forget(struct gp_kfd_slot_list *owners, u32 pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < owners->count; i++) {
		struct gp_kfd_slot *slot = &owners->items[i];

		if (slot->pid == pid) {
			free(slot->words);
			free(slot->addresses);
		} else {
			owners->items[kept++] = *slot;
		}
	}
	owners->count = kept;
}

static void slot_whose_owner_has_no_descriptor_gets_no_other_pid(void **state)
{
	struct gp_kfd_slot_list list = hqds_fixture("live/sys/kernel/debug/kfd/hqds");
	struct gp_kfd_slot_list owners = descriptors_of("live/sys/kernel/debug/kfd/mqds");

	(void)state;
	gp_kfd_slots_join(&list, &owners);
	assert_int_equal(slot_at(&list, GP_SLOT_COMPUTE, 0, 0, 3)->pid, 158122);
	forget(&owners, 158122);
	gp_kfd_slots_join(&list, &owners);
	for (u32 xcc = 0; xcc < 4; xcc++) {
		assert_int_equal(slot_at(&list, GP_SLOT_COMPUTE, xcc, 0, 2)->pid, 158036);
		assert_int_equal(slot_at(&list, GP_SLOT_COMPUTE, xcc, 0, 3)->pid, 0);
	}
	gp_kfd_slot_list_free(&list);
	gp_kfd_slot_list_free(&owners);
}

enum { MQD = 1, DOORBELL = 2, GPU = 4 };

/* Whose the first compute slot is when its one descriptor contradicts it in these. */
static u32 owner_despite(int contradicted)
{
	struct gp_kfd_slot_list list = hqds_fixture("debugfs/gfx9/hqds");
	struct gp_kfd_slot_list owners = descriptors_of("debugfs/gfx9/mqds");
	u32 pid;

	forget(&owners, 502);
	for (size_t i = 0; i < owners.count; i++) {
		owners.items[i].mqd_address += contradicted & MQD ? 0x1000 : 0;
		owners.items[i].doorbell += contradicted & DOORBELL ? 2 : 0;
		owners.items[i].gpu_id += contradicted & GPU ? 1 : 0;
	}
	gp_kfd_slots_join(&list, &owners);
	pid = slot_at(&list, GP_SLOT_COMPUTE, 0, 0, 2)->pid;
	/* An SDMA descriptor holds no address that could contradict. */
	assert_int_equal(slot_at(&list, GP_SLOT_SDMA, 0, 0, 0)->pid, contradicted & ~MQD ? 0 : 501);
	gp_kfd_slot_list_free(&list);
	gp_kfd_slot_list_free(&owners);
	return pid;
}

static void contradiction_is_no_match(void **state)
{
	(void)state;
	assert_int_equal(owner_despite(0), 501);
	assert_int_equal(owner_despite(MQD), 0);
	assert_int_equal(owner_despite(DOORBELL), 0);
	assert_int_equal(owner_despite(GPU), 0);
}

static void doorbell_decides_where_ring_and_mqd_are_two_processes(void **state)
{
	struct gp_kfd_slot_list list = hqds_fixture("debugfs/gfx9/hqds");
	struct gp_kfd_slot_list owners = descriptors_of("debugfs/gfx9/mqds");
	const struct gp_kfd_slot *a = slot_at(&list, GP_SLOT_COMPUTE, 0, 0, 2);

	(void)state;
	for (size_t i = 0; i < owners.count; i++)
		owners.items[i].mqd_address = a->mqd_address;
	gp_kfd_slots_join(&list, &owners);
	assert_int_equal(a->pid, 501);
	/* Both have the doorbell as well: unknown. */
	for (size_t i = 0; i < owners.count; i++)
		owners.items[i].doorbell = a->doorbell;
	gp_kfd_slots_join(&list, &owners);
	assert_int_equal(a->pid, 0);
	gp_kfd_slot_list_free(&list);
	gp_kfd_slot_list_free(&owners);
}

static void watch_reads_joins_and_knows_gfx11_by_topology(void **state)
{
	struct gp_gpu_state now = {0};
	struct gp_root root = {.dir = fixture("debugfs/gfx11")};
	char copy[4096];

	(void)state;
	snprintf(copy, sizeof(copy), "%s", root.dir);
	root.dir = copy;
	assert_int_equal(gp_kfd_watch(&root, NULL, &now), 0);
	assert_int_equal(now.valid, GP_WATCH_SLOTS | GP_WATCH_DESCRIPTORS);
	assert_int_equal(now.slots.count, 3);
	assert_true(now.slots.items[0].valid & GP_SLOT_REGISTERS);
	assert_int_equal(now.slots.items[0].pid, 701);
	assert_int_equal(now.slots.items[1].pid, 0);
	assert_int_equal(now.slots.items[2].sdma_family, GP_SDMA_GFX11);
	assert_int_equal(now.slots.items[2].pid, 701);
	assert_int_equal(now.descriptors.count, 2);
	gp_gpu_state_free(&now);
	root.dir = "/nonexistent";
	assert_int_equal(gp_kfd_watch(&root, NULL, &now), 0);
	assert_int_equal(now.valid, 0);
	assert_int_equal(now.slots_error, -ENOENT);
	assert_int_equal(now.descriptors_error, -ENOENT);
	gp_gpu_state_free(&now);
}

static void watch_takes_no_part_of_a_damaged_text(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_gpu_state now = {0};
	struct tree tree;
	struct text text;

	(void)state;
	text_load(&text, fixture("debugfs/gfx9/hqds"));
	tree_make(&tree);
	text.buf.data[text.buf.len / 2] = '\0';
	tree_text(&tree, GP_DEBUGFS_HQDS, text.buf.data);
	tree_text(&tree, GP_DEBUGFS_MQDS, "");
	assert_int_equal(gp_kfd_watch(&tree.root, &sink.diag, &now), 0);
	assert_int_equal(now.valid, GP_WATCH_DESCRIPTORS);
	assert_int_equal(now.slots_error, -EBADMSG);
	assert_int_equal(now.slots.count, 0);
	assert_non_null(strstr(gp_buf_str(&sink.text), "run the command again"));
	gp_gpu_state_free(&now);
	gp_buf_free(&sink.text);
	gp_buf_free(&text.buf);
	tree_remove(&tree);
}

/* ---- the real samples, read once more in another way ---- */

/* Finds the dump under a header and takes one word of it by sscanf. */
static u32 word_of(const char *text, const char *header, unsigned int index)
{
	const char *at = strstr(text, header);
	unsigned int w[8], address;

	assert_non_null(at);
	for (unsigned int row = 0; row <= index / 8; row++)
		at = strchr(at, '\n') + 1;
	assert_int_equal(sscanf(at, " %x: %x %x %x %x %x %x %x %x", &address, &w[0], &w[1], &w[2],
				&w[3], &w[4], &w[5], &w[6], &w[7]),
			 9);
	return w[index % 8];
}

static size_t check_sample(const char *path, const char *mqds_path, const char *format)
{
	struct gp_kfd_slot_list list = {0}, owners = {0};
	struct text text, mqds;
	size_t active = 0;

	text_load(&text, path);
	text_load(&mqds, mqds_path);
	assert_int_equal(gp_kfd_parse_hqds(&text.source, NULL, &list), 0);
	assert_int_equal(gp_kfd_parse_mqds(&mqds.source, NULL, &owners), 0);
	gp_kfd_slots_join(&list, &owners);
	for (size_t i = 0; i < list.count; i++) {
		const struct gp_kfd_slot *slot = &list.items[i];
		char header[64];
		u64 ring;

		if (slot->kind != GP_SLOT_COMPUTE)
			continue;
		snprintf(header, sizeof(header), format, slot->xcc, slot->pipe, slot->queue);
		ring = ((u64)word_of(text.buf.data, header, 9) << 32 |
			word_of(text.buf.data, header, 8))
		       << 8;
		assert_int_equal(slot->active, word_of(text.buf.data, header, 2) & 1);
		assert_int_equal(slot->ring, ring);
		assert_int_equal(slot->vmid, word_of(text.buf.data, header, 3) & 15);
		assert_int_equal(slot->doorbell,
				 (word_of(text.buf.data, header, 15) >> 2) & 0x3ffffff);
		if (!slot->active) {
			assert_int_equal(slot->pid, 0);
			continue;
		}
		assert_int_equal(slot->rptr, word_of(text.buf.data, header, 10) / 16);
		assert_int_equal(slot->wptr, word_of(text.buf.data, header, 54) / 16);
		assert_int_equal(slot->ring_bytes,
				 4ull << ((word_of(text.buf.data, header, 17) & 63) + 1));
		assert_int_not_equal(slot->pid, 0);
		active++;
	}
	gp_kfd_slot_list_free(&list);
	gp_kfd_slot_list_free(&owners);
	gp_buf_free(&text.buf);
	gp_buf_free(&mqds.buf);
	return active;
}

static void every_slot_of_the_samples_is_right(void **state)
{
	static const struct {
		const char *hqds, *mqds, *format;
		size_t active;
	} samples[] = {
		{"kfd_debugfs/hqds_mi308x_gfx942_node2_active.txt",
		 "kfd_debugfs/mqds_mi308x_gfx942_pid94314.txt", "Inst %u,  CP Pipe %u, Queue %u\n",
		 20},
		{"kfd612/hqds_running.txt", "kfd612/mqds_running.txt",
		 "Inst %u,  CP Pipe %u, Queue %u\n", 5},
		{"kfd612/hqds_suspended.txt", "kfd612/mqds_suspended.txt",
		 "Inst %u,  CP Pipe %u, Queue %u\n", 2},
	};
	char hqds[4096];

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(samples); i++) {
		if (!corpus(samples[i].hqds))
			skip();
		snprintf(hqds, sizeof(hqds), "%s", corpus(samples[i].hqds));
		assert_int_equal(check_sample(hqds, corpus(samples[i].mqds), samples[i].format),
				 samples[i].active);
	}
}

static void owners_of_the_sample_are_those_of_its_doorbells(void **state)
{
	struct gp_kfd_slot_list list = {0}, owners = {0};
	struct text text, mqds;

	(void)state;
	if (!corpus("kfd612/hqds_running.txt"))
		skip();
	text_load(&text, corpus("kfd612/hqds_running.txt"));
	text_load(&mqds, corpus("kfd612/mqds_running.txt"));
	assert_int_equal(gp_kfd_parse_hqds(&text.source, NULL, &list), 0);
	assert_int_equal(gp_kfd_parse_mqds(&mqds.source, NULL, &owners), 0);
	gp_kfd_slots_join(&list, &owners);
	/* Doorbell slices: 0x800.. is process 171, 0x1000.. process 172 (packet log). */
	for (size_t i = 0; i < list.count; i++) {
		if (list.items[i].kind == GP_SLOT_COMPUTE && list.items[i].active)
			assert_int_equal(list.items[i].pid,
					 list.items[i].doorbell < 0x1000 ? 171 : 172);
	}
	gp_kfd_slot_list_free(&list);
	gp_kfd_slot_list_free(&owners);
	gp_buf_free(&text.buf);
	gp_buf_free(&mqds.buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_ring_of_two_processes_is_told_apart),
		cmocka_unit_test(stale_slot_is_nobodys_though_everything_in_it_is_a_queues),
		cmocka_unit_test(slot_whose_owner_has_no_descriptor_gets_no_other_pid),
		cmocka_unit_test(contradiction_is_no_match),
		cmocka_unit_test(doorbell_decides_where_ring_and_mqd_are_two_processes),
		cmocka_unit_test(watch_takes_no_part_of_a_damaged_text),
		cmocka_unit_test(watch_reads_joins_and_knows_gfx11_by_topology),
		cmocka_unit_test(every_slot_of_the_samples_is_right),
		cmocka_unit_test(owners_of_the_sample_are_those_of_its_doorbells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
