// SPDX-License-Identifier: MIT
#include "tree.h"

#include <errno.h>

#include "abi/kfd_debug.h"
#include "gpu/gpu.h"
#include "gpu/kfd/kfd.h"
#include "gpu/nvrm/nvrm.h"

#define NODES "/sys/class/kfd/kfd/topology/nodes"
#define PROC  "/sys/class/kfd/kfd/proc"

static struct gp_root fixture_root(void)
{
	return (struct gp_root){.dir = fixture("root")};
}

static const struct gp_gpu_process *process_of(const struct gp_gpu_process_list *list, u32 pid)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].pid == pid)
			return &list->items[i];
	}
	fail_msg("process %u is not listed", pid);
	return NULL;
}

static const struct gp_gpu_usage *usage_of(const struct gp_gpu_process *process, u32 gpu_id)
{
	for (size_t i = 0; i < process->usage_count; i++) {
		if (process->usages[i].gpu_id == gpu_id)
			return &process->usages[i];
	}
	fail_msg("process %u has no usage of %u", process->pid, gpu_id);
	return NULL;
}

static void gpus_are_listed_with_their_properties_and_cpus_are_not(void **state)
{
	struct gp_root root = fixture_root();
	struct test_diag sink = TEST_DIAG;
	struct gp_gpu_list list;
	const struct gp_gpu *gpu;
	char name[16];

	(void)state;
	assert_int_equal(gp_kfd_ops.discover(&root, &sink.diag, &list), 0);
	assert_string_equal(gp_buf_str(&sink.text), "");
	assert_int_equal(list.count, 2);
	gpu = &list.items[0];
	assert_int_equal(gpu->node, 1);
	assert_int_equal(gpu->gpu_id, 51154);
	assert_string_equal(gpu->name, "ip discovery");
	assert_int_equal(gpu->cu_count, 80);
	assert_int_equal(gpu->xcc_count, 4);
	assert_int_equal(gpu->vram_bytes, 206158430208ull);
	assert_int_equal(gpu->cp_queues, 24);
	assert_int_equal(gpu->sdma_engines, 2);
	assert_int_equal(gpu->sdma_queues_per_engine, 8);
	assert_int_equal(gpu->firmware, 177);
	assert_int_equal(gpu->cwsr_bytes, 12214272);
	assert_true(gpu->capability & GP_KFD_CAP_TRAP_DEBUG_FW);
	assert_string_equal(gpu->partition, "SPX");
	assert_string_equal(gpu->product, "AMD Instinct MI308X");
	assert_string_equal(gpu->uuid, "GPU-00000000000003e9");
	gp_kfd_gfx_name(gpu->gfx_version, name, sizeof(name));
	assert_string_equal(name, "gfx942");
	assert_int_equal(gpu->valid, 0x7ff);
	gpu = &list.items[1];
	assert_int_equal(gpu->cu_count, 104);
	assert_int_equal(gpu->pci_domain, 1);
	assert_int_equal(gpu->pci_bus, 0x83);
	assert_int_equal(gpu->pci_device, 1);
	assert_int_equal(gpu->pci_function, 0);
	assert_false(gpu->valid & GP_GPU_PARTITION);
	gp_gpu_list_free(&list);
}

static void machine_without_kfd_has_no_gpus_and_no_error(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_gpu_process_list processes;
	struct gp_gpu_list list;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	for (size_t i = 0; gp_gpu_kinds[i]; i++) {
		assert_int_equal(gp_gpu_kinds[i]->discover(&tree.root, &sink.diag, &list), 0);
		assert_int_equal(list.count, 0);
	}
	assert_int_equal(gp_kfd_ops.describe(&tree.root, &sink.diag, 0, &processes), 0);
	assert_int_equal(processes.count, 0);
	assert_int_equal(gp_kfd_ops.describe(&tree.root, &sink.diag, 7, &processes), 0);
	assert_int_equal(processes.count, 0);
	assert_string_equal(gp_buf_str(&sink.text), "");
	tree_remove(&tree);
}

static void malformed_properties_are_skipped_and_counted(void **state)
{
	static const char text[] = "simd_count 320\r\n"
				   "\n"
				   "simd_per_cu\n"
				   " 5\n"
				   "capability -1\n"
				   "num_xcc 99999999999999999999999\n"
				   "gfx_target_version 90402 \n"
				   "num_cp_queues 24";
	struct gp_kfd_property p[] = {{.key = "simd_count"},
				      {.key = "simd_per_cu"},
				      {.key = "capability"},
				      {.key = "num_xcc"},
				      {.key = "num_cp_queues"}};

	(void)state;
	assert_int_equal(gp_kfd_parse_properties(text, sizeof(text) - 1, p, GP_ARRAY_SIZE(p)), 5);
	assert_true(p[0].known);
	assert_int_equal(p[0].value, 320);
	assert_false(p[1].known);
	assert_false(p[2].known);
	assert_false(p[3].known);
	assert_int_equal(p[4].value, 24);
	/* The length given ends the text, not a NUL. */
	p[4].known = false;
	gp_kfd_parse_properties(text, sizeof(text) - 3, p, GP_ARRAY_SIZE(p));
	assert_false(p[4].known);
}

static void gpu_with_broken_files_is_listed_with_what_is_known(void **state)
{
	struct test_diag sink = TEST_DIAG;
	static char huge[70000];
	struct gp_gpu_list list;
	struct tree tree;

	(void)state;
	memset(huge, 'x', sizeof(huge));
	tree_make(&tree);
	tree_text(&tree, NODES "/1/gpu_id", "7\n");
	tree_write(&tree, NODES "/1/properties", huge, sizeof(huge));
	tree_write(&tree, NODES "/1/name", huge, 100);
	tree_text(&tree, NODES "/2/gpu_id", "8\n");
	tree_text(&tree, NODES "/2/properties",
		  "simd_count 8\nsimd_per_cu 0\nfw_version 4294967296\njunk\n");
	tree_text(&tree, NODES "/2/mem_banks/0/properties", "heap_type 1\n");
	tree_text(&tree, NODES "/2/mem_banks/1/properties", "heap_type 2\nsize_in_bytes 4096\n");
	tree_text(&tree, NODES "/2/mem_banks/2/properties",
		  "heap_type 1\nsize_in_bytes 18446744073709551615\n");
	tree_text(&tree, NODES "/2/mem_banks/3/properties", "heap_type 1\nsize_in_bytes 4096\n");
	tree_dir(&tree, NODES "/2/mem_banks/4");
	tree_dir(&tree, NODES "/3");
	tree_text(&tree, NODES "/4/gpu_id", "not a number\n");
	tree_text(&tree, NODES "/5/gpu_id", "4294967296\n");
	tree_text(&tree, NODES "/x/gpu_id", "9\n");
	assert_int_equal(gp_kfd_ops.discover(&tree.root, &sink.diag, &list), 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[0].gpu_id, 7);
	assert_int_equal(list.items[0].valid, 0);
	assert_string_equal(list.items[0].name, "");
	assert_int_equal(list.items[1].valid, GP_GPU_VRAM);
	assert_int_equal(list.items[1].vram_bytes, 8192);
	assert_non_null(strstr(gp_buf_str(&sink.text), "KFD node 1: cannot read its properties"));
	assert_non_null(strstr(gp_buf_str(&sink.text), "KFD node 2: skipped 1 malformed line "));
	assert_non_null(strstr(gp_buf_str(&sink.text), "KFD node 4: cannot read its gpu_id"));
	gp_buf_free(&sink.text);
	gp_gpu_list_free(&list);
	tree_remove(&tree);
}

static void node_hidden_by_the_device_cgroup_is_left_out_with_a_note(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_gpu_list list;
	struct tree tree;
	char path[PATH_MAX];
	int error;

	(void)state;
	tree_make(&tree);
	tree_text(&tree, NODES "/1/gpu_id", "7\n");
	tree_text(&tree, NODES "/1/properties", "num_xcc 1\n");
	tree_text(&tree, NODES "/2/gpu_id", "8\n");
	tree_path(&tree, path, sizeof(path), NODES "/2/gpu_id");
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(chmod(tree.dir, 0755), 0);
	/* Nothing is unreadable to root. */
	if (geteuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	error = gp_kfd_ops.discover(&tree.root, &sink.diag, &list);
	assert_int_equal(seteuid(getuid()), 0);
	assert_int_equal(error, 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].gpu_id, 7);
	assert_non_null(strstr(gp_buf_str(&sink.text), "hides KFD node 2"));
	assert_int_equal(sink.errors + sink.warnings, 0);
	gp_buf_free(&sink.text);
	gp_gpu_list_free(&list);
	tree_remove(&tree);
}

static void processes_have_their_queues_and_usage_per_gpu(void **state)
{
	struct gp_root root = fixture_root();
	struct test_diag sink = TEST_DIAG;
	const struct gp_gpu_process *process;
	const struct gp_gpu_usage *usage;
	struct gp_gpu_process_list list;

	(void)state;
	assert_int_equal(gp_kfd_ops.describe(&root, &sink.diag, 0, &list), 0);
	assert_int_equal(list.count, 8);
	process = process_of(&list, 4242);
	assert_true(process->pasid_known);
	assert_int_equal(process->pasid, 32771);
	assert_int_equal(process->queue_count, 7);
	assert_int_equal(process->queues[3].gpu_id, 24428);
	assert_int_equal(process->queues[2].size, 1048576);
	assert_int_equal(process->queues[4].type, GP_QUEUE_SDMA);
	/* Ids are in order of their value: 10 after 5. */
	assert_int_equal(process->queues[6].id, 10);
	assert_int_equal(process->queues[6].type, GP_QUEUE_SDMA_XGMI);
	usage = usage_of(process, 51154);
	assert_int_equal(usage->valid, 0xf);
	assert_int_equal(usage->vram_bytes, 4294967296ull);
	assert_int_equal(usage->sdma_us, 1500000);
	assert_int_equal(usage->cu_occupancy, 76);
	usage = usage_of(process, 24428);
	assert_int_equal(usage->evicted_ms, 12);
	assert_int_equal(process_of(&list, 4300)->queues[1].type, GP_QUEUE_SDMA);
	assert_int_equal(process_of(&list, 4500)->queues[1].type, GP_QUEUE_OTHER);
	assert_int_equal(process_of(&list, 4600)->queue_count, 0);
	gp_gpu_process_list_free(&list);
	assert_string_equal(gp_buf_str(&sink.text), "");
}

static void what_sysfs_does_not_have_is_missing_not_zero(void **state)
{
	struct gp_root root = fixture_root();
	struct test_diag sink = TEST_DIAG;
	const struct gp_gpu_process *process;
	struct gp_gpu_process_list list;

	(void)state;
	assert_int_equal(gp_kfd_ops.describe(&root, &sink.diag, 4700, &list), 0);
	assert_int_equal(list.count, 1);
	process = &list.items[0];
	assert_false(process->pasid_known);
	assert_int_equal(usage_of(process, 51154)->valid, GP_USAGE_VRAM);
	assert_int_equal(usage_of(process, 24428)->valid, GP_USAGE_SDMA);
	/* Queue 0 lost its gpuid file: it was being destroyed. */
	assert_int_equal(process->queue_count, 1);
	assert_int_equal(process->queues[0].id, 1);
	gp_gpu_process_list_free(&list);
}

static void unreadable_figure_is_missing_beside_readable_ones(void **state)
{
	struct gp_gpu_process_list list;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	tree_text(&tree, PROC "/10/vram_7", "lots\n");
	tree_text(&tree, PROC "/10/stats_7/evicted_ms", "5\n");
	assert_int_equal(gp_kfd_ops.describe(&tree.root, NULL, 0, &list), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(usage_of(&list.items[0], 7)->valid, GP_USAGE_EVICTED);
	assert_int_equal(usage_of(&list.items[0], 7)->evicted_ms, 5);
	gp_gpu_process_list_free(&list);
	tree_remove(&tree);
}

static void process_that_vanishes_is_left_out(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_gpu_process_list list;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	tree_text(&tree, PROC "/10/pasid", "1\n");
	tree_dir(&tree, PROC "/11");             /* emptied, about to be removed */
	tree_link(&tree, PROC "/12", "nowhere"); /* listed, then gone */
	tree_text(&tree, PROC "/notapid/pasid", "1\n");
	tree_text(&tree, PROC "/13", "not a directory");
	assert_int_equal(gp_kfd_ops.describe(&tree.root, &sink.diag, 0, &list), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].pid, 10);
	assert_string_equal(gp_buf_str(&sink.text), "");
	gp_gpu_process_list_free(&list);
	assert_int_equal(gp_kfd_ops.describe(&tree.root, &sink.diag, 12, &list), 0);
	assert_int_equal(list.count, 0);
	tree_remove(&tree);
}

static void broken_queue_and_impossible_gpu_count_are_said(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_gpu_process_list list;
	struct tree tree;
	char path[128];

	(void)state;
	tree_make(&tree);
	tree_text(&tree, PROC "/10/queues/0/gpuid", "x");
	tree_text(&tree, PROC "/10/queues/0/type", "0");
	tree_text(&tree, PROC "/10/queues/0/size", "4096");
	tree_text(&tree, PROC "/10/queues/1/gpuid", "4294967296");
	tree_text(&tree, PROC "/10/queues/1/type", "0");
	tree_text(&tree, PROC "/10/queues/1/size", "4096");
	tree_text(&tree, PROC "/10/queues/x/size", "4096");
	tree_text(&tree, PROC "/10/vram_99999999999", "1");
	tree_text(&tree, PROC "/20/pasid", "1\n");
	for (int i = 0; i < 1025; i++) {
		snprintf(path, sizeof(path), PROC "/20/vram_%d", i);
		tree_text(&tree, path, "1\n");
	}
	assert_int_equal(gp_kfd_ops.describe(&tree.root, &sink.diag, 0, &list), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].pid, 10);
	assert_int_equal(list.items[0].queue_count, 0);
	assert_int_equal(list.items[0].usage_count, 0);
	assert_int_equal(sink.warnings, 3);
	assert_non_null(strstr(gp_buf_str(&sink.text), "process 10: cannot read queue 0"));
	assert_non_null(strstr(gp_buf_str(&sink.text), "process 20: cannot read"));
	gp_buf_free(&sink.text);
	gp_gpu_process_list_free(&list);
	tree_remove(&tree);
}

static void unreadable_lists_are_errors_that_name_the_directory(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_gpu_process_list processes;
	struct gp_gpu_list gpus;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	/* A loop of links cannot be opened by anyone, root included. */
	tree_link(&tree, NODES, "nodes");
	tree_link(&tree, PROC, "proc");
	tree_link(&tree, "/proc/driver/nvidia/gpus", "gpus");
	assert_int_equal(gp_kfd_ops.discover(&tree.root, &sink.diag, &gpus), -ELOOP);
	assert_int_equal(gp_kfd_ops.describe(&tree.root, &sink.diag, 0, &processes), -ELOOP);
	assert_int_equal(gp_nvrm_ops.discover(&tree.root, &sink.diag, &gpus), -ELOOP);
	assert_int_equal(sink.errors, 3);
	assert_non_null(strstr(gp_buf_str(&sink.text), NODES));
	assert_non_null(strstr(gp_buf_str(&sink.text), PROC));
	gp_buf_free(&sink.text);
	tree_remove(&tree);
}

static void nvidia_devices_come_from_proc(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_gpu_list list;
	struct tree tree;
	char version[32];

	(void)state;
	tree_make(&tree);
	assert_false(gp_nvrm_driver_version(&tree.root, version, sizeof(version)));
	tree_text(&tree, "/proc/driver/nvidia/version",
		  "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release "
		  "Build  (builder@host)  Mon Jan  5 20:00:00 UTC 2026\nGCC version:  gcc 12\n");
	tree_text(&tree, "/proc/driver/nvidia/gpus/0000:65:00.0/information",
		  "Model: \t\t NVIDIA H200\nIRQ:   \t\t 88\n"
		  "GPU UUID: \t GPU-0a1b2c3d-0000-1111-2222-333344445555\nDevice Minor: \t 3\n");
	tree_text(&tree, "/proc/driver/nvidia/gpus/bad/information", "\n\nnothing\n");
	tree_dir(&tree, "/proc/driver/nvidia/gpus/0000:66:00.0");
	assert_true(gp_nvrm_driver_version(&tree.root, version, sizeof(version)));
	assert_string_equal(version, "580.159.04");
	assert_true(gp_nvrm_open_modules(&tree.root));
	/* A GPU that could be divided, and one that is. */
	assert_false(gp_nvrm_has_mig(&tree.root));
	tree_text(&tree, "/proc/driver/nvidia/capabilities/mig/config", "");
	tree_text(&tree, "/proc/driver/nvidia/capabilities/gpu0/mig/none", "");
	assert_false(gp_nvrm_has_mig(&tree.root));
	tree_text(&tree, "/proc/driver/nvidia/capabilities/gpu1/mig/gi3/access", "");
	assert_true(gp_nvrm_has_mig(&tree.root));
	assert_false(gp_nvrm_driver_version(&tree.root, version, 4));
	assert_int_equal(gp_nvrm_ops.discover(&tree.root, &sink.diag, &list), 0);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.items[0].name, "NVIDIA H200");
	assert_string_equal(list.items[0].product, "NVIDIA H200");
	assert_string_equal(list.items[0].uuid, "GPU-0a1b2c3d-0000-1111-2222-333344445555");
	assert_string_equal(list.items[1].uuid, "");
	assert_int_equal(list.items[0].node, 3);
	assert_int_equal(list.items[0].pci_bus, 0x65);
	assert_int_equal(list.items[0].valid, GP_GPU_PCI);
	assert_int_equal(list.items[1].valid, 0);
	gp_gpu_list_free(&list);
	tree_remove(&tree);
}

/* The driver's own output on a fake gfx90a; values read off it by eye. */
static void real_sample_of_topology(void **state)
{
	const char *sample = corpus("kfd612/topology_node1/properties");
	struct gp_buf text = {0};
	struct gp_kfd_property p[] = {{.key = "simd_count"},
				      {.key = "simd_per_cu"},
				      {.key = "gfx_target_version"},
				      {.key = "capability"},
				      {.key = "cwsr_size"},
				      {.key = "num_cp_queues"},
				      {.key = "max_engine_clk_ccompute"}};

	(void)state;
	if (!sample)
		skip();
	assert_int_equal(gp_file_read(sample, 65536, &text), 0);
	assert_int_equal(gp_kfd_parse_properties(gp_buf_str(&text), text.len, p, GP_ARRAY_SIZE(p)),
			 0);
	assert_int_equal(p[0].value / p[1].value, 104);
	assert_int_equal(p[2].value, 90010);
	assert_int_equal(p[3].value, 0x2007a280);
	assert_int_equal(p[4].value, 63508480);
	assert_int_equal(p[5].value, 24);
	assert_true(p[6].known);
	gp_buf_free(&text);
}

/* Makes files of a listing "== ./172/pasid" followed by the content. */
static void tree_of_listing(const struct tree *tree, char *text)
{
	for (char *p = text; p && *p;) {
		char *name = p + strlen("== ."), *body = strchr(p, '\n');
		char *next = strstr(body, "\n== ");
		char path[256];

		*body++ = '\0';
		if (next)
			*next = '\0';
		snprintf(path, sizeof(path), PROC "%s", name);
		tree_text(tree, path, body);
		p = next ? next + 1 : NULL;
	}
}

static void real_sample_of_processes(void **state)
{
	static const struct {
		u32 pid, pasid, queues, occupancy;
	} expected[] = {{168, 3, 0, 0}, {171, 1, 3, 1}, {172, 2, 2, 1}};
	const char *sample = corpus("kfd612/proc_running.txt");
	struct gp_gpu_process_list list;
	struct gp_buf text = {0};
	struct tree tree;

	(void)state;
	if (!sample)
		skip();
	assert_int_equal(gp_file_read(sample, 1 << 20, &text), 0);
	tree_make(&tree);
	tree_of_listing(&tree, text.data);
	assert_int_equal(gp_kfd_ops.describe(&tree.root, NULL, 0, &list), 0);
	assert_int_equal(list.count, GP_ARRAY_SIZE(expected));
	for (size_t i = 0; i < list.count; i++) {
		const struct gp_gpu_process *process = &list.items[i];

		assert_int_equal(process->pid, expected[i].pid);
		assert_int_equal(process->pasid, expected[i].pasid);
		assert_int_equal(process->queue_count, expected[i].queues);
		assert_int_equal(usage_of(process, 24428)->valid, 0xf);
		assert_int_equal(usage_of(process, 24428)->cu_occupancy, expected[i].occupancy);
		for (size_t q = 0; q < process->queue_count; q++) {
			assert_int_equal(process->queues[q].id, q);
			assert_int_equal(process->queues[q].gpu_id, 24428);
			assert_int_equal(process->queues[q].type, GP_QUEUE_COMPUTE);
			assert_int_equal(process->queues[q].size, 65536);
		}
	}
	gp_gpu_process_list_free(&list);
	gp_buf_free(&text);
	tree_remove(&tree);
}

static void a_queue_is_listed_on_its_gpu_or_not_at_all(void **state)
{
	struct tree tree;

	(void)state;
	tree_make(&tree);
	/* A driver without the list, or with one from before queues were in it. */
	assert_int_equal(gp_gpu_lists_queue(&tree.root, 12, 77, 3), -EOPNOTSUPP);
	tree_dir(&tree, "/sys/class/kfd/kfd/proc/12");
	assert_int_equal(gp_gpu_lists_queue(&tree.root, 12, 77, 3), -EOPNOTSUPP);
	tree_write(&tree, "/sys/class/kfd/kfd/proc/12/queues/3/gpuid", "77\n", 3);
	assert_int_equal(gp_gpu_lists_queue(&tree.root, 12, 77, 3), 1);
	assert_int_equal(gp_gpu_lists_queue(&tree.root, 12, 78, 3), 0);
	assert_int_equal(gp_gpu_lists_queue(&tree.root, 12, 77, 4), 0);
	assert_int_equal(gp_gpu_lists_queue(&tree.root, 13, 77, 3), 0);
	/* NVIDIA lists no queues: a process that has the GPU open may have one. */
	assert_int_equal(gp_gpu_lists_queue(&tree.root, 12, GP_GPU_NVIDIA, 3), -EOPNOTSUPP);
	tree_remove(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queue_is_listed_on_its_gpu_or_not_at_all),
		cmocka_unit_test(gpus_are_listed_with_their_properties_and_cpus_are_not),
		cmocka_unit_test(machine_without_kfd_has_no_gpus_and_no_error),
		cmocka_unit_test(malformed_properties_are_skipped_and_counted),
		cmocka_unit_test(gpu_with_broken_files_is_listed_with_what_is_known),
		cmocka_unit_test(node_hidden_by_the_device_cgroup_is_left_out_with_a_note),
		cmocka_unit_test(processes_have_their_queues_and_usage_per_gpu),
		cmocka_unit_test(what_sysfs_does_not_have_is_missing_not_zero),
		cmocka_unit_test(unreadable_figure_is_missing_beside_readable_ones),
		cmocka_unit_test(process_that_vanishes_is_left_out),
		cmocka_unit_test(broken_queue_and_impossible_gpu_count_are_said),
		cmocka_unit_test(unreadable_lists_are_errors_that_name_the_directory),
		cmocka_unit_test(nvidia_devices_come_from_proc),
		cmocka_unit_test(real_sample_of_topology),
		cmocka_unit_test(real_sample_of_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
