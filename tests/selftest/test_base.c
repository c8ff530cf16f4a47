// SPDX-License-Identifier: MIT
/* The GPU file of --calibrate is that of the GPU: by its gfx version, CUs and XCCs. */
#include <errno.h>
#include <limits.h>

#include "testlib.h"

#include "selftest/base.h"

static const char *directory; /* data/gpus */

static void expect(u32 gfx, u32 cus, u32 xccs, bool virtual_gpu, int found, const char *name)
{
	struct gp_gpu gpu = {.valid = GP_GPU_GFX | GP_GPU_CU | (xccs ? GP_GPU_XCC : 0),
			     .gfx_version = gfx,
			     .cu_count = cus,
			     .xcc_count = xccs};
	struct gp_selftest_report report = {.gpu = &gpu, .virtual_gpu = virtual_gpu};
	char path[PATH_MAX] = "";

	assert_int_equal(gp_selftest_base_find(directory, &report, path, sizeof(path)), found);
	assert_string_equal(*path ? strrchr(path, '/') + 1 : path, name);
}

static void the_file_of_the_gpu_is_chosen(void **state)
{
	(void)state;
	expect(90010, 104, 1, false, 0, "mi210.json");
	expect(90402, 80, 4, false, 0, "mi308x.json");
	expect(90402, 304, 8, false, 0, "mi300x.json");
	/* A kernel before XCCs does not name them. */
	expect(90010, 104, 0, false, 0, "mi210.json");
}

static void a_virtual_gpu_may_show_itself_as_another(void **state)
{
	(void)state;
	expect(90010, 80, 1, true, 0, "mi308x.json");
	expect(90010, 304, 1, true, 0, "mi300x.json");
	expect(90010, 104, 1, true, 0, "mi210.json");
	expect(90402, 80, 4, true, 0, "mi308x.json");
	/* A real one does not. */
	expect(90010, 80, 1, false, 1, "mi210.json");
}

static void the_nearest_of_the_family_does_not_fit(void **state)
{
	(void)state;
	expect(90010, 110, 1, false, 1, "mi210.json");
	/* Partitions, and a part with fewer XCCs. */
	expect(90402, 38, 1, false, 1, "mi300x.json");
	expect(90402, 20, 1, false, 1, "mi308x.json");
	expect(90402, 228, 6, false, 1, "mi300x.json");
	/* The same shape, another version of the family. */
	expect(90400, 304, 8, false, 1, "mi300x.json");
}

static void another_family_has_no_file(void **state)
{
	(void)state;
	expect(110000, 96, 1, false, -ENOENT, "");
	expect(90500, 256, 8, false, -ENOENT, "");
}

static void xccs_are_those_of_the_topology(void **state)
{
	struct gp_gpu gpu = {.valid = GP_GPU_XCC, .xcc_count = 8};
	struct gp_selftest_report report = {.gpu = &gpu};
	json_t *file = json_pack("{s:{s:{s:i}}}", "chip", "xcc_count", "value", 4);

	(void)state;
	assert_int_equal(gp_selftest_base_xccs(&report, file), 8);
	report.virtual_gpu = true;
	assert_int_equal(gp_selftest_base_xccs(&report, file), 4);
	json_decref(file);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_of_the_gpu_is_chosen),
		cmocka_unit_test(a_virtual_gpu_may_show_itself_as_another),
		cmocka_unit_test(the_nearest_of_the_family_does_not_fit),
		cmocka_unit_test(another_family_has_no_file),
		cmocka_unit_test(xccs_are_those_of_the_topology),
	};

	if (argc < 2)
		return 1;
	directory = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
