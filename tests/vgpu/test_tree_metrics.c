// SPDX-License-Identifier: MIT
/* Figures of a GPU that change: activity. */
#include "abi/gpu_metrics.h"
#include "small_machine.h"

static void expect(struct small_machine *m, const char *expected, u32 in_metrics)
{
	static const char path[] = "/sys/class/drm/card0/device/gpu_busy_percent";
	struct gp_metrics_1_3 metrics;
	struct gp_buf text = {0};

	assert_int_equal(gp_vgpu_tree_refresh(&m->server, path), 0);
	small_read(m, path, &text);
	assert_string_equal(gp_buf_str(&text), expected);
	small_read(m, "/sys/class/drm/card0/device/gpu_metrics", &text);
	assert_int_equal(text.len, sizeof(metrics));
	memcpy(&metrics, text.data, sizeof(metrics));
	assert_int_equal(metrics.header.content, 3);
	assert_int_equal(metrics.gfx_percent, in_metrics);
	assert_int_equal(metrics.gfx_mhz, m->server.devices[0].file.fcompute_mhz);
	assert_int_equal(metrics.temperature_edge, 0xffff);
	gp_buf_free(&text);
}

static void activity_is_the_share_of_the_cus_since_the_last_reading(void **state)
{
	const u64 ms = GP_NS_PER_MS;
	struct gp_model_work work = {.kernel = true,
				     .waves_per_workgroup = 1,
				     .vgprs = 32,
				     .lds_bytes = 65536, /* one per CU */
				     .workgroup_ns = 10 * ms};
	struct small_machine m;
	struct gp_vgpu_queue *queue;
	struct gp_model *model;
	u64 now;

	(void)state;
	small_machine_make(&m, "mi210", 1, GP_COMPAT);
	assert_int_equal(gp_vgpu_tree_create(&m.server), 0);
	queue = small_queue(&m, small_process(&m, 12), 0, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	small_update(&m);
	model = m.server.devices[0].model;
	now = gp_model_now(model) + 10 * ms;
	gp_model_advance(model, now);
	expect(&m, "0\n", 0);
	work.workgroups = m.server.devices[0].file.gpu.cu_count / 2;
	assert_int_equal(gp_model_submit(model, now, queue->model_queue, &work), 0);
	gp_model_advance(model, now + 5 * ms);
	expect(&m, "49\n", 49); /* half of the CUs, but for the launch */
	gp_model_advance(model, now + 5 * ms + ms / 2);
	expect(&m, "49\n", 49); /* too soon */
	gp_model_advance(model, now + 40 * ms);
	expect(&m, "7\n", 7);
	gp_model_advance(model, now + 50 * ms);
	expect(&m, "0\n", 0);
	small_machine_free(&m);
}

static void figures_of_gfx942_have_the_layout_of_its_driver(void **state)
{
	static const char path[] = "/sys/class/drm/card0/device/gpu_metrics";
	struct gp_metrics_1_7 metrics;
	struct small_machine m;
	struct gp_buf text = {0};

	(void)state;
	small_machine_make(&m, "mi308x", 1, GP_NATIVE);
	assert_int_equal(gp_vgpu_tree_create(&m.server), 0);
	assert_int_equal(gp_vgpu_tree_refresh(&m.server, path), 0);
	small_read(&m, path, &text);
	assert_int_equal(text.len, sizeof(metrics));
	memcpy(&metrics, text.data, sizeof(metrics));
	assert_int_equal(metrics.header.bytes, sizeof(metrics));
	assert_int_equal(metrics.header.content, 7);
	/* amd-smi of ROCm 7.2 cannot do without the number of partitions. */
	assert_int_equal(metrics.partitions, 1);
	assert_int_equal(metrics.throttled[4], 0);
	assert_int_equal(metrics.gfx_mhz[0], m.server.devices[0].file.fcompute_mhz);
	assert_int_equal(metrics.gfx_mhz[4], 0xffff); /* four XCCs */
	assert_int_equal(metrics.pcie_width, 16);
	assert_int_equal(metrics.pcie_speed, 320);
	assert_int_equal(metrics.socket_power, 0xffff);
	gp_buf_free(&text);
	small_machine_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(activity_is_the_share_of_the_cus_since_the_last_reading),
		cmocka_unit_test(figures_of_gfx942_have_the_layout_of_its_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
