// SPDX-License-Identifier: MIT
/* hqds, mqds and rls of a virtual GPU, read with the readers for the real ones. */
#include "abi/kfd_hqd.h"
#include "gpu/kfd/debugfs.h"
#include "small_machine.h"

#define PQ_EMPTY (1u << 15)

struct reading {
	struct gp_buf hqds_text, mqds_text, rls_text;
	struct gp_kfd_slot_list slots, descriptors;
	struct gp_kfd_runlist runlist;
};

static u32 gfx_version(void *ctx, u32 gpu_id)
{
	const struct gp_vgpu_server *server = ctx;

	for (u32 i = 0; i < server->device_count; i++)
		if (server->devices[i].file.gpu.gpu_id == gpu_id)
			return server->devices[i].file.gpu.gfx_version;
	return 0;
}

/* One of our texts, as gpreempt's own readers take it. */
static struct gp_gpu_debugfs_source source(struct small_machine *m, const char *name,
					   const struct gp_buf *text)
{
	return (struct gp_gpu_debugfs_source){.name = name,
					      .text = gp_buf_str(text),
					      .len = text->len,
					      .gfx_version = gfx_version,
					      .ctx = &m->server};
}

static void read_all(struct small_machine *m, struct reading *r)
{
	struct gp_gpu_debugfs_source hqds, mqds, rls;

	memset(r, 0, sizeof(*r));
	gp_vgpu_debugfs_hqds(&m->server, &r->hqds_text);
	gp_vgpu_debugfs_mqds(&m->server, &r->mqds_text);
	gp_vgpu_debugfs_rls(&m->server, &r->rls_text);
	hqds = source(m, "hqds", &r->hqds_text);
	mqds = source(m, "mqds", &r->mqds_text);
	rls = source(m, "rls", &r->rls_text);
	assert_int_equal(gp_kfd_parse_hqds(&hqds, &m->diag.diag, &r->slots), 0);
	assert_int_equal(gp_kfd_parse_mqds(&mqds, &m->diag.diag, &r->descriptors), 0);
	assert_int_equal(gp_kfd_parse_rls(&rls, &m->diag.diag, &r->runlist), 0);
	gp_kfd_slots_join(&r->slots, &r->descriptors);
	gp_kfd_runlist_join(&r->runlist, &r->descriptors);
	/* Nothing in them that a reader has to warn about. */
	if (m->diag.warnings + m->diag.errors)
		fail_msg("%s", gp_buf_str(&m->diag.text));
}

static void reading_free(struct reading *r)
{
	gp_buf_free(&r->hqds_text);
	gp_buf_free(&r->mqds_text);
	gp_buf_free(&r->rls_text);
	gp_kfd_slot_list_free(&r->slots);
	gp_kfd_slot_list_free(&r->descriptors);
	gp_kfd_runlist_free(&r->runlist);
}

static const struct gp_kfd_slot *slot_of(const struct gp_kfd_slot_list *list,
					 const struct gp_vgpu_queue *queue, u32 xcc)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].ring == queue->args.ring_base_address &&
		    list->items[i].xcc == xcc)
			return &list->items[i];
	return NULL;
}

static u32 count_active(const struct gp_kfd_slot_list *list, enum gp_kfd_slot_kind kind)
{
	u32 count = 0;

	for (size_t i = 0; i < list->count; i++)
		count += list->items[i].kind == kind && list->items[i].active;
	return count;
}

static void an_empty_machine_has_slots_but_no_queues(void **state)
{
	struct small_machine m;
	struct reading r;

	(void)state;
	small_machine_make(&m, "mi308x", 2, GP_NATIVE);
	read_all(&m, &r);
	/* Two GPUs: 4 XCCs with a HIQ and 24 slots each, 8 engines with 8. */
	assert_int_equal(r.slots.count, 2 * (4 * 25 + 8 * 8));
	assert_int_equal(count_active(&r.slots, GP_SLOT_HIQ), 8);
	assert_int_equal(count_active(&r.slots, GP_SLOT_COMPUTE), 0);
	assert_int_equal(r.descriptors.count, 0);
	assert_int_equal(r.runlist.node_count, 2);
	assert_false(r.runlist.nodes[0].active);
	assert_non_null(strstr(r.rls_text.data, "  No active runlist\n"));
	/* XCC 1 lies where an MI308X has it. */
	assert_non_null(strstr(r.hqds_text.data, " Inst 1,  CP Pipe 0, Queue 2\n    000cc914: "));
	reading_free(&r);
	small_machine_free(&m);
}

static void a_mapped_queue_is_in_a_slot_with_all_its_registers(void **state)
{
	struct small_machine m;
	struct gp_vgpu_process *process;
	struct gp_vgpu_queue *queue;
	struct reading r;

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	process = small_process(&m, 4711);
	queue = small_queue(&m, process, 0, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	queue->launched = 1023;
	process->shared->mirrors[0].write_index = 1030;
	small_update(&m);
	read_all(&m, &r);
	for (int i = 0; i < 2; i++) {
		const struct gp_kfd_slot *slot = slot_of(i ? &r.descriptors : &r.slots, queue, 0);

		assert_non_null(slot);
		assert_int_equal(slot->pid, 4711);
		assert_true(slot->aql);
		assert_int_equal(slot->ring_bytes, 65536);
		assert_int_equal(slot->object, queue->args.read_pointer_address - 0x80);
		assert_int_equal(slot->mqd_address, queue->mqd_address);
		assert_int_equal(slot->pipe_priority, 1);
		assert_int_equal(slot->queue_priority, 7);
		assert_int_equal(slot->quantum, 0x111);
		assert_int_equal(slot->doorbell, queue->doorbell);
		assert_int_equal(slot->eop_address, queue->args.eop_buffer_address);
		assert_int_equal(slot->eop_bytes, 4096);
		assert_int_equal(slot->cwsr_address, queue->args.ctx_save_restore_address);
		assert_int_equal(slot->cwsr_bytes, 63508480);
		assert_int_equal(slot->cwsr_stack_used, 0);
		assert_int_equal(slot->backlog, 7);
	}
	assert_true(slot_of(&r.slots, queue, 0)->active);
	assert_false(slot_of(&r.slots, queue, 0)->words[GP_CP_HQD_PQ_CONTROL] & PQ_EMPTY);
	assert_int_equal(slot_of(&r.slots, queue, 0)->vmid, 3);
	assert_int_equal(slot_of(&r.slots, queue, 0)->pipe, 0);
	assert_int_equal(slot_of(&r.slots, queue, 0)->queue, 2);
	reading_free(&r);

	/* All is read: the slot says that there is no more. */
	queue->launched = 1030;
	read_all(&m, &r);
	assert_true(slot_of(&r.slots, queue, 0)->words[GP_CP_HQD_PQ_CONTROL] & PQ_EMPTY);
	reading_free(&r);
	small_machine_free(&m);
}

static void registers_are_those_the_driver_wrote(void **state)
{
	/* Linux 6.12.115, an AQL queue of 64 KiB on a gfx90a. */
	struct small_machine m;
	struct gp_vgpu_queue *queue;
	struct reading r;
	const u32 *words;

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	queue = small_queue(&m, small_process(&m, 1), 0, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	small_update(&m);
	read_all(&m, &r);
	words = slot_of(&r.descriptors, queue, 0)->words;
	assert_non_null(strstr(r.mqds_text.data, "    00000000: c0310800 "));
	assert_non_null(
		strstr(r.mqds_text.data, "Process 1 PASID 0x8001:\n  Compute queue on device "));
	words += slot_of(&r.descriptors, queue, 0)->word_count > 56 ? 128 : 0;
	assert_int_equal(words[4], 0x40005301);
	assert_int_equal(words[17], 0x1c01450d);
	assert_int_equal(words[21], 0x00b00000);
	assert_int_equal(words[32], 0x4000);
	assert_int_equal(words[34], 0x100);
	assert_int_equal(words[39], 9);
	assert_int_equal(words[46], 0x9000);
	assert_int_equal(words[48], 0x9000);
	assert_int_equal(words[49], 0x03c91000);
	assert_int_equal(words[53], 1);
	reading_free(&r);
	small_machine_free(&m);
}

static void on_several_xccs_each_has_its_descriptor_and_save_area(void **state)
{
	struct small_machine m;
	struct gp_vgpu_queue *queue;
	struct reading r;

	(void)state;
	small_machine_make(&m, "mi308x", 1, GP_NATIVE);
	queue = small_queue(&m, small_process(&m, 1), 0, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	small_update(&m);
	read_all(&m, &r);
	assert_int_equal(r.descriptors.count, 4);
	assert_int_equal(count_active(&r.slots, GP_SLOT_COMPUTE), 4);
	for (u32 xcc = 0; xcc < 4; xcc++) {
		const struct gp_kfd_slot *slot = slot_of(&r.slots, queue, xcc);

		assert_non_null(slot);
		assert_int_equal(slot->pid, 1);
		assert_int_equal(slot->mqd_address, queue->mqd_address + xcc * 0x3000);
		assert_int_equal(slot->cwsr_address,
				 queue->args.ctx_save_restore_address + xcc * 0xba6000);
		/* XCC 0 alone reports the read pointer. */
		assert_int_equal(slot->words[17] >> 27 & 1, xcc != 0);
	}
	reading_free(&r);
	small_machine_free(&m);
}

static void a_suspended_queue_is_in_mqds_alone(void **state)
{
	struct small_machine m;
	struct gp_vgpu_process *process;
	struct gp_vgpu_queue *kept, *suspended;
	struct reading r;
	u32 processes = 0, queues = 0;

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	process = small_process(&m, 7);
	kept = small_queue(&m, process, 0, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	suspended = small_queue(&m, process, 0, 1, GP_KFD_QUEUE_COMPUTE_AQL);
	small_enable(suspended, false);
	small_update(&m);
	read_all(&m, &r);
	assert_non_null(slot_of(&r.slots, kept, 0));
	assert_null(slot_of(&r.slots, suspended, 0));
	assert_non_null(slot_of(&r.descriptors, suspended, 0));
	for (size_t i = 0; i < r.runlist.count; i++) {
		const struct gp_kfd_runlist_entry *entry = &r.runlist.items[i];

		if (entry->kind == GP_RUNLIST_PROCESS) {
			processes++;
			assert_int_equal(entry->queue_count, 2);
			assert_int_equal(entry->mapped_count, 1);
			assert_int_equal(entry->quantum, 10);
			assert_int_equal(entry->pasid, process->pasid);
		} else if (entry->kind == GP_RUNLIST_QUEUE) {
			queues++;
			assert_int_equal(entry->mqd_address, kept->mqd_address);
			assert_int_equal(entry->doorbell, kept->doorbell);
			assert_int_equal(entry->wptr_address, kept->args.write_pointer_address);
			assert_int_equal(entry->pid, 7);
		}
	}
	assert_int_equal(processes, 1);
	assert_int_equal(queues, 1);
	reading_free(&r);

	/* The last one goes: the driver sends no runlist at all. */
	small_enable(kept, false);
	small_update(&m);
	read_all(&m, &r);
	assert_false(r.runlist.nodes[0].active);
	assert_int_equal(r.descriptors.count, 2);
	reading_free(&r);
	small_machine_free(&m);
}

static void a_cu_mask_is_dealt_out_to_the_shader_engines(void **state)
{
	struct small_machine m;
	struct gp_vgpu_queue *queue;
	struct gp_buf text = {0};

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	queue = small_queue(&m, small_process(&m, 1), 0, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	gp_vgpu_debugfs_mqds(&m.server, &text);
	assert_non_null(strstr(text.data, "00000040: 00000000 00000000 00000000 00000000 00000040 "
					  "00000000 00000000 ffffffff\n"));
	gp_buf_free(&text);
	/* 20 CUs on 8 engines: four have three, four have two. */
	queue->cu_mask[0] = 0xfffff;
	gp_vgpu_debugfs_mqds(&m.server, &text);
	assert_non_null(strstr(text.data, "00000040: 00000000 00000000 00000000 00000000 00000040 "
					  "00000000 00000000 00000007\n"));
	assert_non_null(strstr(text.data, "00000060: 00000007 00000000 00000007 00000007 "));
	assert_non_null(strstr(text.data, "000000a0: 00000003 00000003 00000003 "));
	gp_buf_free(&text);
	small_machine_free(&m);

	/* Every fourth bit is an XCC's; a real one has other things behind the fourth engine. */
	small_machine_make(&m, "mi308x", 1, GP_NATIVE);
	queue = small_queue(&m, small_process(&m, 1), 0, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	queue->cu_mask[0] = 1u << 0 | 1u << 4 | 1u << 8 | 1u << 12; /* CUs 0 to 3 of XCC 0 */
	gp_vgpu_debugfs_mqds(&m.server, &text);
	assert_non_null(strstr(text.data, "00000060: 00000001 00000000 00000001 00000001 "));
	assert_non_null(strstr(text.data, "00000060: 00000000 00000000 00000000 00000000 "));
	assert_non_null(strstr(text.data, "000000a0: ffffffff 00000001 ffffffff "));
	gp_buf_free(&text);
	small_machine_free(&m);
}

static void newest_queues_come_first_in_mqds(void **state)
{
	struct small_machine m;
	struct gp_vgpu_process *process;
	struct reading r;

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	process = small_process(&m, 7);
	small_queue(&m, process, 0, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	small_queue(&m, process, 0, 4, GP_KFD_QUEUE_COMPUTE_AQL);
	read_all(&m, &r);
	assert_int_equal(r.descriptors.items[0].ring, process->queues[4]->args.ring_base_address);
	assert_int_equal(r.descriptors.items[1].ring, process->queues[0]->args.ring_base_address);
	reading_free(&r);
	small_machine_free(&m);
}

static void sdma_queues_are_on_their_engine(void **state)
{
	struct small_machine m;
	struct gp_vgpu_process *process;
	struct gp_vgpu_queue *queue;
	const struct gp_kfd_slot *slot;
	struct reading r;

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	process = small_process(&m, 7);
	queue = small_queue(&m, process, 0, 0, GP_KFD_QUEUE_SDMA);
	process->shared->mirrors[0].read_index = 64;
	process->shared->mirrors[0].write_index = 96;
	small_update(&m);
	read_all(&m, &r);
	slot = slot_of(&r.slots, queue, 0);
	assert_non_null(slot);
	assert_int_equal(slot->kind, GP_SLOT_SDMA);
	assert_true(slot->active);
	assert_int_equal(slot->ring_bytes, 65536);
	assert_int_equal(slot->backlog, 8); /* dwords */
	assert_int_equal(slot->doorbell, queue->doorbell);
	assert_non_null(strstr(r.mqds_text.data, "  SDMA queue on device "));
	assert_int_equal(r.runlist.items[1].kind, GP_RUNLIST_QUEUE);
	assert_int_equal(r.runlist.items[1].engine, 2);
	reading_free(&r);
	small_machine_free(&m);
}

static void more_processes_than_vmids_close_the_loop(void **state)
{
	struct small_machine m;
	struct reading r;

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	for (pid_t pid = 1; pid <= 14; pid++)
		small_queue(&m, small_process(&m, pid), 0, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	assert_int_equal(gp_model_runlist_update(m.server.devices[0].model, 0, 0, 1), 0);
	gp_model_advance(m.server.devices[0].model, 5000000);
	read_all(&m, &r);
	assert_int_equal(r.runlist.items[r.runlist.count - 1].kind, GP_RUNLIST_CHAIN);
	assert_int_equal(count_active(&r.slots, GP_SLOT_COMPUTE), 13);
	reading_free(&r);
	small_machine_free(&m);
}

/* The text with every number that may differ taken out: words after "address:", ids, pids. */
static void shape(const char *text, struct gp_buf *out, size_t lines)
{
	for (; *text && lines; lines--) {
		size_t len = strcspn(text, "\n"), indent = strspn(text, " ");
		size_t row = strcspn(text, ":");

		if (indent >= 2 && row == indent + 8 && text[indent] == '0')
			gp_buf_printf(out, "%.*s: %zu words\n", (int)row, text, (len - row) / 9);
		else if (strncmp(text, "Node ", 5) == 0)
			gp_buf_puts(out, "Node\n");
		else if (strncmp(text, "Process ", 8) == 0)
			gp_buf_puts(out, "Process\n");
		else if (strncmp(text, "  Compute queue on device ", 26) == 0)
			gp_buf_puts(out, "Compute\n");
		else
			gp_buf_printf(out, "%.*s\n", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

static void same_shape(const char *sample, const char *ours, size_t lines)
{
	struct gp_buf text = {0}, theirs = {0}, mine = {0};

	assert_int_equal(gp_file_read(sample, 16u << 20, &text), 0);
	shape(gp_buf_str(&text), &theirs, lines);
	shape(ours, &mine, lines);
	assert_string_equal(gp_buf_str(&mine), gp_buf_str(&theirs));
	gp_buf_free(&text);
	gp_buf_free(&theirs);
	gp_buf_free(&mine);
}

static void the_text_is_the_drivers(void **state)
{
	const char *sample = corpus("kfd612/hqds_running.txt");
	struct small_machine m;
	struct gp_vgpu_process *process;
	struct reading r;

	(void)state;
	if (!sample)
		skip();
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	process = small_process(&m, 7);
	for (u32 id = 0; id < 3; id++)
		small_queue(&m, process, 0, id, GP_KFD_QUEUE_COMPUTE_AQL);
	small_update(&m);
	read_all(&m, &r);
	/* Node, HIQ and 24 slots with 7 rows each. */
	same_shape(sample, r.hqds_text.data, 1 + 25 * 8);
	/* One process with three queues of 64 rows each. */
	same_shape(corpus("kfd612/mqds_running.txt"), r.mqds_text.data, 1 + 3 * 65);
	same_shape(corpus("kfd612/rls_running.txt"), r.rls_text.data, 3);
	reading_free(&r);
	small_machine_free(&m);

	small_machine_make(&m, "mi308x", 1, GP_NATIVE);
	read_all(&m, &r);
	/* All four XCCs and all eight SDMA engines of a real one. */
	same_shape(corpus("kfd_debugfs/hqds_mi308x_gfx942_node2_active.txt"), r.hqds_text.data,
		   1 + 4 * 25 * 8 + 64 * 8);
	reading_free(&r);
	small_machine_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_machine_has_slots_but_no_queues),
		cmocka_unit_test(a_mapped_queue_is_in_a_slot_with_all_its_registers),
		cmocka_unit_test(registers_are_those_the_driver_wrote),
		cmocka_unit_test(on_several_xccs_each_has_its_descriptor_and_save_area),
		cmocka_unit_test(a_suspended_queue_is_in_mqds_alone),
		cmocka_unit_test(a_cu_mask_is_dealt_out_to_the_shader_engines),
		cmocka_unit_test(newest_queues_come_first_in_mqds),
		cmocka_unit_test(sdma_queues_are_on_their_engine),
		cmocka_unit_test(more_processes_than_vmids_close_the_loop),
		cmocka_unit_test(the_text_is_the_drivers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
