// SPDX-License-Identifier: MIT
/* The documents of ps, doctor and find: their text and their JSON. */
#include <errno.h>

#include "abi/kfd_ioctl.h"
#include "cli/watch/documents.h"
#include "machine.h"
#include "printed.h"
#include "tree.h"

#define KFD "/sys/class/kfd/kfd"

/* The line of a pid, with runs of blanks made one; the buffer is overwritten by the next call. */
static const char *line_of(const char *text, const char *pid)
{
	static char line[512];
	size_t n = 0, len = strlen(pid);

	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		p += strspn(p, " ");
		if (strncmp(p, pid, len) || p[len] != ' ')
			continue;
		for (; *p && *p != '\n' && n + 1 < sizeof(line); p++) {
			if (*p != ' ' || line[n - 1] != ' ')
				line[n++] = *p;
		}
		line[n] = '\0';
		return line;
	}
	fail_msg("no line for %s in:\n%s", pid, text);
	return NULL;
}

static void table_sums_over_gpus_and_shows_missing_as_dash(void **state)
{
	struct gp_root root = {.dir = fixture("root")};
	struct test_diag sink = TEST_DIAG;
	struct gp_inspect_ps ps;
	char *text;

	(void)state;
	assert_int_equal(gp_inspect_ps_read(&root, &sink.diag, &ps), 0);
	assert_string_equal(gp_buf_str(&sink.text), "");
	text = text_of(gp_cli_ps_doc(&ps));
	assert_string_equal(line_of(text, "4242"),
			    "4242 ada docker:trainer 1,2 4 compute, 2 sdma, 1 xgmi 5.0 GiB 1.5 s "
			    "80 12 ms python3 train.py --epochs 90");
	assert_string_equal(line_of(text, "4300"),
			    "4300 serve podman:serve-prod 1 1 compute, 1 sdma 2.0 GiB 0 ns 4 1.5 s "
			    "/opt/serve --port 8000");
	assert_string_equal(line_of(text, "4400"),
			    "4400 root kubernetes:bert-0 2 1 compute 512.0 MiB - - - bert-server");
	/* Without queues is 0, a fact. */
	assert_string_equal(line_of(text, "4600"), "4600 ada - 1 0 0 B 0 ns 0 0 ns idle --wait");
	/* A sum that lacks one GPU says so. */
	assert_string_equal(line_of(text, "4700"),
			    "4700 - - 1,2 1 compute >=120.6 KiB >=7 us - - [hidden]");
	assert_string_equal(line_of(text, "4800"), "4800 - - 1 1 compute 1 B 1 us 1 1 ms -");
	/* A command cannot drive the terminal. */
	assert_non_null(strstr(line_of(text, "4900"), "[a) (b??[31m]"));
	free(text);
	gp_inspect_ps_free(&ps);
}

static json_t *row_of(json_t *json, u32 pid)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(json, "processes"), i, row)
	{
		if (json_integer_value(json_object_get(row, "pid")) == pid)
			return row;
	}
	fail_msg("no process %u", pid);
	return NULL;
}

static void json_has_each_gpu_and_null_for_unknown(void **state)
{
	struct gp_root root = {.dir = fixture("root")};
	json_t *json, *row, *gpu, *container;
	struct gp_inspect_ps ps;

	(void)state;
	assert_int_equal(gp_inspect_ps_read(&root, NULL, &ps), 0);
	json = json_of(gp_cli_ps_doc(&ps));
	assert_int_equal(json_array_size(json_object_get(json, "processes")), 8);
	row = row_of(json, 4242);
	assert_int_equal(json_integer_value(json_object_get(row, "start_time")), 880123);
	assert_int_equal(json_array_size(json_object_get(row, "queues")), 7);
	assert_int_equal(json_array_size(json_object_get(row, "gpus")), 2);
	gpu = json_array_get(json_object_get(row, "gpus"), 1);
	assert_int_equal(json_integer_value(json_object_get(gpu, "gpu_id")), 51154);
	assert_int_equal(json_integer_value(json_object_get(gpu, "node")), 1);
	assert_int_equal(json_integer_value(json_object_get(gpu, "vram_bytes")), 4294967296);
	container = json_object_get(row, "container");
	assert_string_equal(json_string_value(json_object_get(container, "name")), "trainer");
	assert_int_equal(json_integer_value(json_object_get(container, "pid")), 7);
	row = row_of(json, 4700);
	assert_true(json_is_null(json_object_get(row, "pasid")));
	assert_true(json_is_null(json_object_get(row, "uid")));
	assert_true(json_is_null(json_object_get(row, "container")));
	gpu = json_array_get(json_object_get(row, "gpus"), 0);
	assert_true(json_is_null(json_object_get(gpu, "vram_bytes")));
	assert_int_equal(json_integer_value(json_object_get(gpu, "sdma_us")), 7);
	assert_true(json_is_null(json_object_get(row_of(json, 4800), "command")));
	json_decref(json);
	gp_inspect_ps_free(&ps);
}

static void ps_without_a_driver_is_an_empty_list(void **state)
{
	struct gp_inspect_ps ps = {0};
	json_t *json = json_of(gp_cli_ps_doc(&ps));
	char *text = text_of(gp_cli_ps_doc(&ps));

	(void)state;
	assert_int_equal(json_array_size(json_object_get(json, "processes")), 0);
	assert_true(json_is_false(json_object_get(json, "kfd")));
	assert_non_null(strstr(text, "COMMAND"));
	free(text);
	json_decref(json);
}

static void nvidia_processes_are_listed_without_queues(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct tree tree;
	struct gp_inspect_ps ps;
	json_t *json, *row;

	(void)state;
	tree_make(&tree);
	tree_text(&tree, "/proc/driver/nvidia/gpus/0000:65:00.0/information",
		  "Model: \t\t NVIDIA H200\nDevice Minor: \t 3\n");
	tree_link(&tree, "/proc/41/fd/3", "/dev/nvidiactl");
	tree_link(&tree, "/proc/41/fd/4", "/dev/nvidia3");
	assert_int_equal(gp_inspect_ps_read(&tree.root, &sink.diag, &ps), 0);
	assert_int_equal(ps.count, 1);
	json = json_of(gp_cli_ps_doc(&ps));
	assert_true(json_is_true(json_object_get(json, "nvidia")));
	row = row_of(json, 41);
	assert_true(json_is_null(json_object_get(row, "queues")));
	assert_int_equal(json_integer_value(
				 json_object_get(json_array_get(json_object_get(row, "gpus"), 0),
						 "node")),
			 3);
	json_decref(json);
	gp_inspect_ps_free(&ps);
	gp_buf_free(&sink.text);
	tree_remove(&tree);
}

static void unlisted_gpus_go_by_id_and_sums_saturate(void **state)
{
	struct tree tree;
	struct gp_inspect_ps ps;
	char *text;

	(void)state;
	tree_make(&tree);
	tree_text(&tree, KFD "/proc/41/vram_7", "18446744073709551615\n");
	tree_text(&tree, KFD "/proc/41/vram_9", "18446744073709551615\n");
	tree_text(&tree, KFD "/proc/41/sdma_7", "2500\n");
	tree_text(&tree, KFD "/proc/41/sdma_9", "0\n");
	assert_int_equal(gp_inspect_ps_read(&tree.root, NULL, &ps), 0);
	text = text_of(gp_cli_ps_doc(&ps));
	assert_string_equal(line_of(text, "41"), "41 - - #7,#9 0 16777216.0 TiB 2.5 ms - - -");
	free(text);
	gp_inspect_ps_free(&ps);
	tree_remove(&tree);
}

static void doctor_shows_devices_and_states(void **state)
{
	struct gp_gpu gpu, plain = {.node = 4};
	struct gp_inspect_doctor d = good_machine(&gpu);
	char *text;
	json_t *json;

	(void)state;
	d.nvidia = (struct gp_gpu_list){.items = &plain, .count = 1};
	strcpy(d.nvidia_version, "580.1");
	d.kfd_source = GP_KFD_VERSION_PROBED;
	d.kfd_device.error = -EACCES;
	d.render_count = 2;
	d.render[0].error = -EACCES;
	d.debugfs_mounted = true;
	d.debugfs_error = -EACCES;
	d.runtime_count = 1;
	strcpy(d.runtimes[0].path, "/x/lib");
	text = text_of(gp_cli_doctor_doc(&d));
	assert_non_null(strstr(text, "1.17 (reported by the driver)"));
	assert_non_null(strstr(text, "Permission denied (group render)"));
	assert_non_null(strstr(text, "1 of 2 accessible"));
	assert_non_null(strstr(text, "kfd/hqds: Permission denied"));
	assert_non_null(strstr(text, "CAP_SYS_ADMIN:     no"));
	assert_non_null(strstr(text, "580.1 (proprietary kernel modules)"));
	assert_non_null(strstr(text, "-  /x/lib"));
	assert_non_null(strstr(text, "gfx942"));
	assert_non_null(strstr(text, "nvrm"));
	assert_non_null(strstr(text, "kfd-agent     not usable"));
	free(text);
	json = json_of(gp_cli_doctor_doc(&d));
	assert_string_equal(json_string_value(
				    json_object_get(json_object_get(json, "kfd"), "source")),
			    "probed");
	assert_int_equal(json_array_size(json_object_get(json, "gpus")), 2);
	json_decref(json);
	/* The same with the other answers. */
	d.debugfs_error = 0;
	d.kfd_device.error = 0;
	d.amdgpu_dkms = true;
	d.valid &= ~(u32)GP_DOCTOR_KFD_VERSION;
	text = text_of(gp_cli_doctor_doc(&d));
	assert_non_null(strstr(text, "kfd/hqds readable"));
	assert_non_null(strstr(text, "/dev/kfd:          accessible"));
	assert_non_null(strstr(text, "DKMS"));
	assert_non_null(strstr(text, "unknown version"));
	free(text);
}

static void doctor_on_nothing_has_every_member(void **state)
{
	struct gp_inspect_doctor d = {0};
	json_t *json = json_of(gp_cli_doctor_doc(&d));
	char *text = text_of(gp_cli_doctor_doc(&d));

	(void)state;
	assert_non_null(strstr(text, "not loaded"));
	assert_true(json_is_null(json_object_get(json, "kfd")));
	assert_true(json_is_null(json_object_get(json, "amdgpu")));
	assert_int_equal(json_array_size(json_object_get(json, "mechanisms")), 7);
	free(text);
	json_decref(json);
}

static void doctor_of_a_tree_has_its_gpus(void **state)
{
	struct gp_root root = {.dir = fixture("root")};
	struct gp_inspect_doctor d;
	json_t *json, *gpu;
	char *text;

	(void)state;
	assert_int_equal(gp_inspect_doctor_read(&root, NULL, false, &d), 0);
	text = text_of(gp_cli_doctor_doc(&d));
	assert_non_null(strstr(text, "gfx942  0000:15:00.0  SPX         80     4  192.0 GiB"));
	free(text);
	json = json_of(gp_cli_doctor_doc(&d));
	gpu = json_array_get(json_object_get(json, "gpus"), 1);
	assert_string_equal(json_string_value(json_object_get(gpu, "pci")), "0001:83:01.0");
	assert_string_equal(json_string_value(json_object_get(gpu, "capability")), "0x2007a280");
	json_decref(json);
	gp_inspect_doctor_free(&d);
}

static char *find_text(struct gp_inspect_find_queue *queue, bool long_form)
{
	struct gp_inspect_find_process process = {.pid = 4242,
						  .pid_known = true,
						  .queues = queue,
						  .count = 1};
	struct gp_inspect_find_result result = {.processes = &process, .count = 1};

	return text_of(gp_cli_find_doc(&result, long_form));
}

static void more_candidates_than_kept_are_marked(void **state)
{
	struct gp_inspect_find_queue queue = {.candidate_count = GP_FIND_CANDIDATES_MAX + 4};
	char *text;

	(void)state;
	for (u32 i = 0; i < GP_FIND_CANDIDATES_MAX; i++)
		queue.candidates[i] = i;
	text = find_text(&queue, false);
	assert_non_null(strstr(text, "? 0,1,2,"));
	assert_non_null(strstr(text, "14,15,..."));
	free(text);
	text = find_text(&queue, true);
	assert_non_null(strstr(text, "one of 0,1,2,"));
	free(text);
}

static void a_matched_id_names_sysfs_among_the_sources(void **state)
{
	struct gp_inspect_find_queue queue = {
		.from = {[GP_FIND_RING] = GP_FROM_MQD, [GP_FIND_KFD_ID] = GP_FROM_MATCH},
		.ring = 0x1000,
		.kfd_id = 3};
	char *text = find_text(&queue, false);

	(void)state;
	assert_non_null(strstr(text, "Process 4242: 1 queue\n"));
	assert_non_null(strstr(text, "sysfs+mqd"));
	/* No row has a value of these. */
	assert_null(strstr(text, "BACKLOG"));
	assert_null(strstr(text, "RING OR OBJECT"));
	free(text);
}

static void an_address_of_unknown_kind_has_its_own_column(void **state)
{
	struct gp_inspect_find_queue queue = {.logged = true, .address = 0x7f00};
	char *text = find_text(&queue, false);

	(void)state;
	assert_non_null(strstr(text, "RING OR OBJECT"));
	assert_non_null(strstr(text, "0x7f00"));
	free(text);
}

static void json_of_many_queues_is_one_list(void **state)
{
	enum { MANY = 1100 };
	struct gp_inspect_find_queue *queues = calloc(MANY, sizeof(*queues));
	struct gp_inspect_find_process process = {.queues = queues, .count = MANY};
	struct gp_inspect_find_result result = {.processes = &process, .count = 1};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *json, *list;

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		queues[i].from[GP_FIND_RING] = GP_FROM_LOG;
		queues[i].ring = i;
	}
	assert_int_equal(gp_cli_find_print_json(out, &result, false), 0);
	fclose(out);
	json = json_loads(text, 0, NULL);
	list = json_object_get(json, "queues");
	assert_int_equal(json_array_size(list), MANY);
	assert_string_equal(json_string_value(
				    json_object_get(json_array_get(list, MANY - 1), "ring")),
			    "0x44b");
	json_decref(json);
	free(text);
	free(queues);
}

static void python_file_says_none_where_nothing_is_known(void **state)
{
	struct gp_inspect_find_process process = {.pid = 4242, .pid_known = true};
	struct gp_inspect_find_queue queue = {0};
	struct gp_buf text = {0};

	(void)state;
	process.queues = &queue;
	process.count = 1;
	assert_int_equal(gp_cli_queue_finder_python(&process, &text), 0);
	assert_non_null(strstr(text.data, "'addr': None"));
	assert_non_null(strstr(text.data, "'is_active': None"));
	assert_non_null(strstr(text.data, "'kfd_queue_id': None"));
	assert_non_null(strstr(text.data, "'key': None"));
	assert_non_null(strstr(text.data, "'pid': 4242"));
	gp_buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_sums_over_gpus_and_shows_missing_as_dash),
		cmocka_unit_test(json_has_each_gpu_and_null_for_unknown),
		cmocka_unit_test(ps_without_a_driver_is_an_empty_list),
		cmocka_unit_test(nvidia_processes_are_listed_without_queues),
		cmocka_unit_test(unlisted_gpus_go_by_id_and_sums_saturate),
		cmocka_unit_test(doctor_shows_devices_and_states),
		cmocka_unit_test(doctor_on_nothing_has_every_member),
		cmocka_unit_test(doctor_of_a_tree_has_its_gpus),
		cmocka_unit_test(more_candidates_than_kept_are_marked),
		cmocka_unit_test(a_matched_id_names_sysfs_among_the_sources),
		cmocka_unit_test(an_address_of_unknown_kind_has_its_own_column),
		cmocka_unit_test(json_of_many_queues_is_one_list),
		cmocka_unit_test(python_file_says_none_where_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
