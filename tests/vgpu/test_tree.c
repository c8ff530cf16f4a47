// SPDX-License-Identifier: MIT
/* The tree of a virtual GPU, read with what reads the real one. */
#include <limits.h>
#include <sys/stat.h>

#include "gpu/kfd/kfd.h"
#include "small_machine.h"

#define TOPOLOGY "/sys/devices/virtual/kfd/kfd/topology"

static struct gp_root root_of(struct small_machine *m, char *path, size_t size)
{
	snprintf(path, size, "%s/root", m->tree.dir);
	return (struct gp_root){.dir = path};
}

/* Keys of a properties file, joined by blanks. */
static void keys_of(struct small_machine *m, const char *path, char *out, size_t size)
{
	struct gp_buf text = {0};
	size_t used = 0;

	small_read(m, path, &text);
	for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n"))
		used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? " " : "",
					 (int)strcspn(line, " "), line);
	gp_buf_free(&text);
}

#define COMMON_KEYS                                                                               \
	"cpu_cores_count simd_count mem_banks_count caches_count io_links_count p2p_links_count " \
	"cpu_core_id_base simd_id_base max_waves_per_simd lds_size_in_kb gds_size_in_kb num_gws " \
	"wave_front_size array_count simd_arrays_per_engine cu_per_simd_array simd_per_cu "       \
	"max_slots_scratch_cu gfx_target_version vendor_id device_id location_id domain "         \
	"drm_render_minor hive_id num_sdma_engines num_sdma_xgmi_engines "                        \
	"num_sdma_queues_per_engine num_cp_queues cwsr_size ctl_stack_size "

static void properties_have_the_drivers_keys_in_its_order(void **state)
{
	struct small_machine m;
	char keys[2048];

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	assert_int_equal(gp_vgpu_tree_create(&m.server), 0);
	keys_of(&m, TOPOLOGY "/nodes/0/properties", keys, sizeof(keys));
	assert_string_equal(keys, COMMON_KEYS "max_engine_clk_ccompute");
	keys_of(&m, TOPOLOGY "/nodes/1/properties", keys, sizeof(keys));
	assert_string_equal(keys, COMMON_KEYS
			    "max_engine_clk_fcompute local_mem_size fw_version capability "
			    "debug_prop sdma_fw_version unique_id num_xcc max_engine_clk_ccompute");
	keys_of(&m, TOPOLOGY "/nodes/1/io_links/0/properties", keys, sizeof(keys));
	assert_string_equal(keys,
			    "type version_major version_minor node_from node_to weight "
			    "min_latency max_latency min_bandwidth max_bandwidth "
			    "recommended_transfer_size recommended_sdma_engine_id_mask flags");
	keys_of(&m, TOPOLOGY "/nodes/1/caches/0/properties", keys, sizeof(keys));
	assert_string_equal(keys, "processor_id_low level size cache_line_size "
				  "cache_lines_per_tag association latency type sibling_map");
	keys_of(&m, TOPOLOGY "/nodes/1/mem_banks/0/properties", keys, sizeof(keys));
	assert_string_equal(keys, "heap_type size_in_bytes flags width mem_clk_max");
	small_machine_free(&m);
}

/* Value of a key in a properties text; fails when it is not there. */
static u64 value_of(const char *text, const char *key)
{
	char wanted[64];
	const char *at;

	snprintf(wanted, sizeof(wanted), "\n%s ", key);
	at = strstr(text, wanted);
	assert_non_null(at);
	return strtoull(at + strlen(wanted), NULL, 10);
}

static void gfx90a_is_shown_as_the_driver_showed_one(void **state)
{
	/* What does not depend on the board: Linux 6.12.115 on a gfx90a with 104 CUs. */
	static const struct {
		const char *key;
		u64 value;
	} rows[] = {
		{"simd_count", 416},
		{"max_waves_per_simd", 8},
		{"lds_size_in_kb", 64},
		{"wave_front_size", 64},
		{"array_count", 8},
		{"cu_per_simd_array", 14},
		{"simd_per_cu", 4},
		{"max_slots_scratch_cu", 32},
		{"gfx_target_version", 90010},
		{"num_sdma_engines", 2},
		{"num_cp_queues", 24},
		{"cwsr_size", 63508480},
		{"ctl_stack_size", 36864},
		{"debug_prop", 470},
		{"num_xcc", 1},
		{"local_mem_size", 0},
	};
	struct small_machine m;
	struct gp_buf text = {0};

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	assert_int_equal(gp_vgpu_tree_create(&m.server), 0);
	small_read(&m, TOPOLOGY "/nodes/1/properties", &text);
	for (size_t i = 0; i < GP_ARRAY_SIZE(rows); i++)
		assert_int_equal(value_of(gp_buf_str(&text), rows[i].key), rows[i].value);
	/* Bits ROCr and debuggers depend on: 64-bit doorbells, trap debug, its firmware. */
	assert_int_equal(value_of(gp_buf_str(&text), "capability") & 0x2007a280, 0x2007a280);
	gp_buf_free(&text);
	small_machine_free(&m);
}

/* The cache beside memory is there on gfx94x alone, whatever the chip behind it has. */
static void l3_is_shown_where_the_driver_shows_it(void **state)
{
	static const struct {
		const char *gpu;
		enum gp_vgpu_personality personality;
		const char *caches;
	} rows[] = {
		{"mi308x", GP_NATIVE, "\ncaches_count 5\n"},
		{"mi308x", GP_COMPAT, "\ncaches_count 4\n"},
		{"mi210", GP_NATIVE, "\ncaches_count 4\n"},
	};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(rows); i++) {
		struct small_machine m;
		struct gp_buf text = {0};

		small_machine_make(&m, rows[i].gpu, 1, rows[i].personality);
		assert_int_equal(gp_vgpu_tree_create(&m.server), 0);
		small_read(&m, TOPOLOGY "/nodes/1/properties", &text);
		assert_non_null(strstr(gp_buf_str(&text), rows[i].caches));
		gp_buf_free(&text);
		if (i == 0) {
			small_read(&m, TOPOLOGY "/nodes/1/caches/4/properties", &text);
			assert_int_equal(value_of(gp_buf_str(&text), "level"), 3);
			assert_int_equal(value_of(gp_buf_str(&text), "size"), 262144);
			gp_buf_free(&text);
		}
		small_machine_free(&m);
	}
}

static void our_own_reader_finds_the_gpus(void **state)
{
	struct small_machine m;
	struct gp_gpu_list gpus = {0};
	char path[128];
	struct gp_root root;

	(void)state;
	small_machine_make(&m, "mi308x", 2, GP_NATIVE);
	assert_int_equal(gp_vgpu_tree_create(&m.server), 0);
	root = root_of(&m, path, sizeof(path));
	assert_int_equal(gp_kfd_ops.discover(&root, &m.diag.diag, &gpus), 0);
	assert_int_equal(gpus.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(gpus.items[i].node, i + 1);
		assert_int_equal(gpus.items[i].gpu_id, m.server.devices[i].file.gpu.gpu_id);
		assert_int_equal(gpus.items[i].gfx_version, 90402);
		assert_int_equal(gpus.items[i].cu_count, 80);
		assert_int_equal(gpus.items[i].xcc_count, 4);
		assert_int_equal(gpus.items[i].cwsr_bytes, 0xba6000);
	}
	gp_gpu_list_free(&gpus);
	small_machine_free(&m);
}

static void gpus_of_a_machine_are_linked_with_each_other(void **state)
{
	struct small_machine m;
	struct gp_buf text = {0};

	(void)state;
	small_machine_make(&m, "mi300x", 2, GP_COMPAT);
	assert_int_equal(gp_vgpu_tree_create(&m.server), 0);
	small_read(&m, TOPOLOGY "/nodes/2/io_links/1/properties", &text);
	assert_non_null(strstr(gp_buf_str(&text), "type 11\n"));
	assert_int_equal(value_of(gp_buf_str(&text), "node_from"), 2);
	assert_int_equal(value_of(gp_buf_str(&text), "node_to"), 1);
	assert_int_equal(value_of(gp_buf_str(&text), "weight"), 15);
	small_read(&m, TOPOLOGY "/nodes/0/properties", &text);
	assert_int_equal(value_of(gp_buf_str(&text), "io_links_count"), 2);
	gp_buf_free(&text);
	small_machine_free(&m);
}

static void class_and_device_directories_show_the_same(void **state)
{
	struct small_machine m;
	struct gp_buf text = {0}, same = {0};

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	assert_int_equal(gp_vgpu_tree_create(&m.server), 0);
	small_read(&m, TOPOLOGY "/nodes/1/gpu_id", &text);
	small_read(&m, "/sys/class/kfd/kfd/topology/nodes/1/gpu_id", &same);
	assert_string_equal(gp_buf_str(&text), gp_buf_str(&same));
	/* libdrm wants to see this directory through the device number. */
	small_read(&m, "/sys/dev/char/226:128/device/device", &text);
	assert_string_equal(gp_buf_str(&text), "0x740f\n");
	small_read(&m, "/sys/dev/char/226:128/device/drm/renderD128/dev", &text);
	assert_string_equal(gp_buf_str(&text), "226:128\n");
	small_read(&m, "/sys/class/drm/renderD128/device/vendor", &text);
	assert_string_equal(gp_buf_str(&text), "0x1002\n");
	small_read(&m, "/proc/modules", &text);
	assert_memory_equal(gp_buf_str(&text), "amdgpu ", 7);
	gp_buf_free(&text);
	gp_buf_free(&same);
	small_machine_free(&m);
}

/* ---- processes ---- */

/* access(2) answers by these modes; the directory above keeps others out. */
static void devices_may_be_written_and_files_only_read(void **state)
{
	static const struct {
		const char *path;
		mode_t mode;
	} rows[] = {
		{"dev/kfd", 0666},
		{"dev/dri/renderD128", 0666},
		{"proc/modules", 0444},
	};
	struct small_machine m;

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	assert_int_equal(gp_vgpu_tree_create(&m.server), 0);
	for (size_t i = 0; i < GP_ARRAY_SIZE(rows); i++) {
		char path[PATH_MAX];
		struct stat status;

		snprintf(path, sizeof(path), "%s/root/%s", m.tree.dir, rows[i].path);
		assert_int_equal(stat(path, &status), 0);
		assert_int_equal(status.st_mode & 0777, rows[i].mode);
	}
	small_machine_free(&m);
}

static void expect(struct small_machine *m, const char *text, const char *format, ...)
{
	struct gp_buf found = {0};
	char path[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	small_read(m, path, &found);
	assert_string_equal(gp_buf_str(&found), text);
	gp_buf_free(&found);
}

static void a_process_shows_its_queues_as_the_driver_does(void **state)
{
	static const char proc[] = "/sys/class/kfd/kfd/proc";
	struct small_machine m;
	struct gp_vgpu_process *process;
	char id[16];

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	assert_int_equal(gp_vgpu_tree_create(&m.server), 0);
	process = small_process(&m, 4711);
	process->vram_used[0] = 123456;
	process->sdma_ns[0] = 7000;
	gp_vgpu_tree_process(&m.server, process);
	expect(&m, "32769\n", "%s/4711/pasid", proc);
	small_queue(&m, process, 0, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	small_queue(&m, process, 0, 1, GP_KFD_QUEUE_SDMA);
	small_queue(&m, process, 0, 2, GP_KFD_QUEUE_SDMA_XGMI);
	gp_vgpu_tree_process(&m.server, process);
	snprintf(id, sizeof(id), "%u", m.server.devices[0].file.gpu.gpu_id);
	/* No newline; and not the ioctl's numbers: AQL is 0, XGMI is 4. */
	expect(&m, "0", "%s/4711/queues/0/type", proc);
	expect(&m, "1", "%s/4711/queues/1/type", proc);
	expect(&m, "4", "%s/4711/queues/2/type", proc);
	expect(&m, "65536", "%s/4711/queues/0/size", proc);
	expect(&m, id, "%s/4711/queues/0/gpuid", proc);
	expect(&m, "123456\n", "%s/4711/vram_%s", proc, id);
	expect(&m, "7\n", "%s/4711/sdma_%s", proc, id);
	expect(&m, "0\n", "%s/4711/stats_%s/evicted_ms", proc, id);
	expect(&m, "0\n", "%s/4711/counters_%s/faults", proc, id);
	small_machine_free(&m);
}

static void queues_and_processes_go_as_they_came(void **state)
{
	struct small_machine m;
	struct gp_gpu_process_list list = {0};
	struct gp_vgpu_process *process;
	struct gp_root root;
	char path[128];

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	assert_int_equal(gp_vgpu_tree_create(&m.server), 0);
	root = root_of(&m, path, sizeof(path));
	process = small_process(&m, 99);
	small_queue(&m, process, 0, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	small_queue(&m, process, 0, 5, GP_KFD_QUEUE_COMPUTE_AQL);
	gp_vgpu_tree_process(&m.server, process);
	assert_int_equal(gp_kfd_ops.describe(&root, &m.diag.diag, 0, &list), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].pid, 99);
	assert_int_equal(list.items[0].queue_count, 2);
	assert_int_equal(list.items[0].queues[1].id, 5);
	gp_gpu_process_list_free(&list);

	free(process->queues[0]);
	process->queues[0] = NULL;
	gp_vgpu_tree_process(&m.server, process);
	assert_int_equal(gp_kfd_ops.describe(&root, &m.diag.diag, 0, &list), 0);
	assert_int_equal(list.items[0].queue_count, 1);
	assert_int_equal(list.items[0].queues[0].id, 5);
	gp_gpu_process_list_free(&list);

	gp_vgpu_tree_process_gone(&m.server, process);
	assert_int_equal(gp_kfd_ops.describe(&root, &m.diag.diag, 0, &list), 0);
	assert_int_equal(list.count, 0);
	gp_gpu_process_list_free(&list);
	assert_false(gp_root_exists(&root, "/../.stage"));
	assert_false(gp_root_exists(&root, "/../.gone"));
	assert_int_equal(m.diag.errors + m.diag.warnings, 0);
	small_machine_free(&m);
}

static void opening_a_file_brings_it_up_to_date(void **state)
{
	struct small_machine m;
	struct gp_vgpu_process *process;
	char path[128];
	u32 id;

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	assert_int_equal(gp_vgpu_tree_create(&m.server), 0);
	id = m.server.devices[0].file.gpu.gpu_id;
	process = small_process(&m, 12);
	small_queue(&m, process, 0, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	gp_vgpu_tree_process(&m.server, process);
	process->vram_used[0] = m.server.devices[0].vram_used = 8192;
	process->queues[0]->args.ring_size = 4096;
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/12/vram_%u", id);
	expect(&m, "0\n", "%s", path);
	assert_int_equal(gp_vgpu_tree_refresh(&m.server, path), 0);
	expect(&m, "8192\n", "%s", path);
	expect(&m, "4096", "/sys/class/kfd/kfd/proc/12/queues/0/size");
	expect(&m, "0\n", "/sys/class/drm/renderD128/device/mem_info_vram_used");
	assert_int_equal(gp_vgpu_tree_refresh(
				 &m.server, "/sys/class/drm/renderD128/device/mem_info_vram_used"),
			 0);
	expect(&m, "8192\n", "/sys/class/drm/renderD128/device/mem_info_vram_used");
	assert_int_equal(gp_vgpu_tree_refresh(&m.server, "/sys/kernel/debug/kfd/rls"), 0);
	assert_int_equal(gp_vgpu_tree_refresh(&m.server, "/sys/kernel/debug/kfd/no-such"), 0);
	assert_int_equal(gp_vgpu_tree_refresh(&m.server, "/etc/passwd"), 0);
	assert_int_equal(gp_vgpu_tree_refresh(&m.server, "/sys/class/kfd/kfd/proc/777/pasid"), 0);
	small_machine_free(&m);
}

/* Its creation waits for the hardware, and files are opened meanwhile. */
static void a_queue_that_is_being_created_is_not_listed_in_part(void **state)
{
	static const char queues[] = "/sys/class/kfd/kfd/proc/12/queues";
	struct small_machine m;
	struct gp_vgpu_process *process;
	struct gp_root root;
	char path[128], id[16];

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	assert_int_equal(gp_vgpu_tree_create(&m.server), 0);
	root = root_of(&m, path, sizeof(path));
	snprintf(id, sizeof(id), "%u", m.server.devices[0].file.gpu.gpu_id);
	process = small_process(&m, 12);
	gp_vgpu_tree_process(&m.server, process);
	small_queue(&m, process, 0, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	assert_int_equal(gp_vgpu_tree_refresh(&m.server, "/sys/class/kfd/kfd/proc/12/pasid"), 0);
	assert_false(gp_root_exists(&root, "%s/0", queues));
	gp_vgpu_tree_process(&m.server, process);
	expect(&m, id, "%s/0/gpuid", queues);
	expect(&m, "0", "%s/0/type", queues);
	expect(&m, "65536", "%s/0/size", queues);
	small_machine_free(&m);
}

static ino_t inode_of(const struct small_machine *m, const char *path)
{
	char place[PATH_MAX];
	struct stat status;

	snprintf(place, sizeof(place), "%s/root%s", m->server.options.directory, path);
	assert_int_equal(stat(place, &status), 0);
	return status.st_ino;
}

static void a_file_that_has_not_changed_is_not_written_again(void **state)
{
	const char *size = "/sys/class/kfd/kfd/proc/12/queues/0/size";
	struct small_machine m;
	struct gp_vgpu_process *process;
	ino_t before;

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	assert_int_equal(gp_vgpu_tree_create(&m.server), 0);
	process = small_process(&m, 12);
	small_queue(&m, process, 0, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	gp_vgpu_tree_process(&m.server, process);
	assert_int_equal(gp_vgpu_tree_refresh(&m.server, size), 0);
	before = inode_of(&m, size);
	assert_int_equal(gp_vgpu_tree_refresh(&m.server, size), 0);
	assert_int_equal(inode_of(&m, size), before);
	process->queues[0]->args.ring_size *= 2; /* as many digits or one more: other content */
	assert_int_equal(gp_vgpu_tree_refresh(&m.server, size), 0);
	assert_int_not_equal(inode_of(&m, size), before);
	small_machine_free(&m);
}

static void the_status_names_figures_processes_and_queues(void **state)
{
	struct small_machine m;
	struct gp_buf text = {0};
	struct gp_vgpu_process *process;
	json_t *json, *queue;

	(void)state;
	small_machine_make(&m, "mi308x", 1, GP_COMPAT);
	process = small_process(&m, 12);
	small_enable(small_queue(&m, process, 0, 3, GP_KFD_QUEUE_COMPUTE_AQL), false);
	assert_int_equal(gp_vgpu_server_status(&m.server, &text), 0);
	json = json_loads(gp_buf_str(&text), 0, NULL);
	assert_non_null(json);
	queue = json_array_get(
		json_object_get(json_array_get(json_object_get(json, "processes"), 0), "queues"),
		0);
	assert_int_equal(json_integer_value(json_object_get(queue, "id")), 3);
	assert_true(json_is_true(json_object_get(queue, "suspended")));
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(json_object_get(json, "gpus"), 0),
						  "personality")),
		"compat");
	assert_non_null(json_object_get(json_object_get(json, "figures"), "cost.unmap_ns"));
	json_decref(json);
	gp_buf_free(&text);
	small_machine_free(&m);
}

static void a_status_always_fits_in_a_message(void **state)
{
	struct small_machine m;
	struct gp_buf text = {0};
	struct gp_vgpu_process *process;
	json_t *json;

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	for (u32 p = 0; p < 16; p++) {
		struct gp_vgpu_queue *one;

		process = small_process(&m, 1000 + (pid_t)p);
		one = small_queue(&m, process, 0, 0, GP_KFD_QUEUE_COMPUTE_AQL);
		for (u32 id = 1; id < 128; id++) {
			process->queues[id] = calloc(1, sizeof(*one));
			*process->queues[id] = *one;
			process->queues[id]->id = id;
		}
	}
	assert_int_equal(gp_vgpu_server_status(&m.server, &text), 0);
	assert_true(text.len <= GP_VGPU_PAYLOAD_MAX);
	json = json_loads(gp_buf_str(&text), 0, NULL);
	assert_int_equal(json_array_size(json_object_get(json, "processes")), 16);
	json_decref(json);
	gp_buf_free(&text);
	small_machine_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(properties_have_the_drivers_keys_in_its_order),
		cmocka_unit_test(gfx90a_is_shown_as_the_driver_showed_one),
		cmocka_unit_test(l3_is_shown_where_the_driver_shows_it),
		cmocka_unit_test(our_own_reader_finds_the_gpus),
		cmocka_unit_test(gpus_of_a_machine_are_linked_with_each_other),
		cmocka_unit_test(class_and_device_directories_show_the_same),
		cmocka_unit_test(devices_may_be_written_and_files_only_read),
		cmocka_unit_test(a_process_shows_its_queues_as_the_driver_does),
		cmocka_unit_test(queues_and_processes_go_as_they_came),
		cmocka_unit_test(opening_a_file_brings_it_up_to_date),
		cmocka_unit_test(a_queue_that_is_being_created_is_not_listed_in_part),
		cmocka_unit_test(a_file_that_has_not_changed_is_not_written_again),
		cmocka_unit_test(the_status_names_figures_processes_and_queues),
		cmocka_unit_test(a_status_always_fits_in_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
