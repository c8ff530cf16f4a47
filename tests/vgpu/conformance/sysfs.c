// SPDX-License-Identifier: MIT
/* Section 5: what sysfs says of a node and of processes, in the driver's own words. */
#include "conformance.h"

/* ---- topology ---- */

#define NODE "/sys/class/kfd/kfd/topology/nodes/1/properties"

/* Names of a GPU node's properties in order, as node_show() of each era writes them. */
#define FIRST                                                                                     \
	"cpu_cores_count simd_count mem_banks_count caches_count io_links_count p2p_links_count " \
	"cpu_core_id_base simd_id_base max_waves_per_simd lds_size_in_kb gds_size_in_kb num_gws " \
	"wave_front_size array_count simd_arrays_per_engine cu_per_simd_array simd_per_cu "       \
	"max_slots_scratch_cu gfx_target_version vendor_id device_id location_id domain "         \
	"drm_render_minor hive_id num_sdma_engines num_sdma_xgmi_engines "                        \
	"num_sdma_queues_per_engine num_cp_queues "
#define CLOCK "max_engine_clk_fcompute local_mem_size fw_version capability "
#define DEBUG "debug_prop "
#define NAMES "sdma_fw_version unique_id "
#define XCCS  "num_xcc "
#define LAST  "max_engine_clk_ccompute "

static void expect_names(const char *expected)
{
	char *text = slurp(NODE), *line, names[2048] = "";
	size_t used = 0;

	CHECK(text);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char *space = strchr(line, ' ');

		CHECK(space && space[1]);
		*space = '\0';
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s ", line);
		CHECK(used < sizeof(names));
	}
	if (strcmp(names, expected) != 0)
		printf("# %s\n", names);
	EXPECT(strcmp(names, expected), 0);
	free(text);
}

static void names_of_6_1(struct self *me)
{
	(void)me;
	expect_names(FIRST CLOCK NAMES LAST);
}

static void names_of_6_5(struct self *me)
{
	(void)me;
	expect_names(FIRST CLOCK DEBUG NAMES XCCS LAST);
}

static void names_of_6_12(struct self *me)
{
	(void)me;
	expect_names(FIRST "cwsr_size ctl_stack_size " CLOCK DEBUG NAMES XCCS LAST);
}

/* ---- processes ---- */

static void expect_text(pid_t pid, const char *name, const char *expected)
{
	char path[128], *text;

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/%s", (int)pid, name);
	text = slurp(path);
	if (!text || strcmp(text, expected) != 0)
		printf("# %s is \"%s\"\n", path, text ? text : "(missing)");
	CHECK(text && strcmp(text, expected) == 0);
	free(text);
}

static void proc_files(struct self *me)
{
	struct actor a, b;
	char name[64], number[32];

	a = start_target(0, 3);
	b = start_target(0, 2);
	open_gpu(me);
	EXPECT(DO(&a, do_create, SDMA), 3);
	snprintf(number, sizeof(number), "%u\n", (u32)process_number(me, a.pid, "pasid"));
	expect_text(a.pid, "pasid", number);
	snprintf(number, sizeof(number), "%u", me->gpu_id);
	expect_text(a.pid, "queues/0/gpuid", number);
	expect_text(a.pid, "queues/2/gpuid", number);
	expect_text(b.pid, "queues/1/gpuid", number);
	snprintf(number, sizeof(number), "%u", RING_BYTES);
	expect_text(a.pid, "queues/0/size", number);
	expect_text(a.pid, "queues/0/type", "0");
	expect_text(a.pid, "queues/3/type", "1");
	snprintf(name, sizeof(name), "vram_%u", me->gpu_id);
	expect_text(a.pid, name, "0\n");
	snprintf(name, sizeof(name), "sdma_%u", me->gpu_id);
	expect_text(a.pid, name, "0\n");
	snprintf(name, sizeof(name), "stats_%u/evicted_ms", me->gpu_id);
	expect_text(a.pid, name, "0\n");
	snprintf(name, sizeof(name), "stats_%u/cu_occupancy", me->gpu_id);
	expect_text(b.pid, name, "0\n");
	/* A process without queues. */
	expect_text(getpid(), name, "0\n");
}

static void xgmi_type(struct self *me)
{
	struct gp_kfd_create_queue_args args;

	open_gpu(me);
	args = good_queue(me, GP_KFD_QUEUE_SDMA_XGMI);
	EXPECT(create_queue(me, &args), 0);
	expect_text(getpid(), "queues/0/type", "4");
}

static void by_engine_type(struct self *me)
{
	struct gp_kfd_create_queue_args args;

	open_gpu(me);
	args = good_queue(me, GP_KFD_QUEUE_SDMA_BY_ENGINE);
	EXPECT(create_queue(me, &args), 0);
	EXPECT(args.queue_type, GP_KFD_QUEUE_SDMA_BY_ENGINE);
	expect_text(getpid(), "queues/0/type", "1");
	args = good_queue(me, GP_KFD_QUEUE_SDMA_BY_ENGINE);
	args.sdma_engine_id = 2; /* the first of XGMI's */
	EXPECT(create_queue(me, &args), 0);
	expect_text(getpid(), "queues/1/type", "4");
	args.sdma_engine_id = 99;
	EXPECT(call(me->kfd, GP_KFD_IOC_CREATE_QUEUE, &args), -EINVAL);
}

static void no_engine_type(struct self *me)
{
	struct gp_kfd_create_queue_args args;

	open_gpu(me);
	args = good_queue(me, GP_KFD_QUEUE_SDMA_BY_ENGINE);
	EXPECT(create_queue(me, &args), -GP_KFD_ENOTSUPP);
}

const struct row rows_sysfs[] = {
	{"kfd 5.1", "the properties of a node of 6.1, by name and order", names_of_6_1, ERA_6_1,
	 NULL},
	{"kfd 5.1", "6.5 adds debug_prop and num_xcc", names_of_6_5, ERA_6_5, NULL},
	{"kfd 5.1", "6.12 adds cwsr_size and ctl_stack_size", names_of_6_12, ERA_6_12, NULL},
	{"kfd 5.2, 6.12 text", "sysfs proc: newlines but for queues, the driver's own queue types",
	 proc_files, EVERYWHERE, NULL},
	{"kfd 5.2", "XGMI queues are type 4 there", xgmi_type, EVERYWHERE, NULL},
	{"kfd 5.2", "by-engine queues are what their engine is", by_engine_type, ERA_6_12, NULL},
	{"kfd 1.3", "before KFD 1.17 there are none: 524", no_engine_type, ERA_6_5, NULL},
	{"kfd 1.3", "before KFD 1.17 there are none: 524", no_engine_type, ERA_6_1, NULL},
	{0},
};
