// SPDX-License-Identifier: MIT
/* GPU files: the three that are shipped, what follows from them, and files that are wrong. */
#include <errno.h>

#include "base/host/program.h"
#include "tree.h"
#include "vgpu/gpufile.h"

static const char *const names[] = {"mi210", "mi300x", "mi308x"};

static void save_areas_are_as_large_as_the_driver_wants_them(void **state)
{
	/* The table of MI300X and MI308X; gfx90a with 104 CUs as Linux 6.12 printed it. */
	static const struct {
		u32 gfx, cus, arrays, stack, debug;
		u64 cwsr;
	} rows[] = {
		{90402, 38, 4, 12288, 48640, 23203840},
		{90402, 20, 4, 8192, 25600, 12214272},
		{90010, 104, 8, 36864, 131072, 63508480},
	};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(rows); i++) {
		u64 cwsr;
		u32 stack, debug;

		gp_vgpu_cwsr_sizes(rows[i].gfx, rows[i].cus, rows[i].arrays, 1, &cwsr, &stack,
				   &debug);
		assert_int_equal(stack, rows[i].stack);
		assert_int_equal(cwsr, rows[i].cwsr);
		assert_int_equal(debug, rows[i].debug);
	}
}

static void older_gfx9_has_smaller_save_areas(void **state)
{
	u64 cwsr;
	u32 stack, debug;

	(void)state;
	/* gfx906: the small register file. */
	gp_vgpu_cwsr_sizes(90006, 60, 4, 1, &cwsr, &stack, &debug);
	assert_int_equal(cwsr - stack, (60ull * (0x40000 + 0x15000) + 4095) / 4096 * 4096);
}

static void shipped_gpus_load_in_both_personalities(void **state)
{
	static const u32 cus[] = {104, 304, 80}, xccs[] = {1, 8, 4};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(names); i++) {
		struct test_diag diag = TEST_DIAG;
		struct gp_vgpu_gpufile file;

		assert_int_equal(gp_vgpu_gpufile_load(names[i], GP_COMPAT, &diag.diag, &file), 0);
		assert_string_equal(file.name, names[i]);
		assert_int_equal(file.gpu.gfx_version, 90010);
		assert_int_equal(file.gpu.xcc_count, 1);
		assert_int_equal(file.gpu.cu_count, cus[i]);
		assert_int_equal(file.chip.xcc_count, xccs[i]);
		assert_int_equal(file.chip.sdma_engines,
				 file.sdma_engines + file.sdma_xgmi_engines);
		gp_vgpu_gpufile_free(&file);

		assert_int_equal(gp_vgpu_gpufile_load(names[i], GP_NATIVE, &diag.diag, &file), 0);
		assert_int_equal(file.gpu.xcc_count, xccs[i]);
		assert_int_equal(file.gpu.cu_count, cus[i]);
		assert_int_equal(file.gpu.gfx_version, xccs[i] > 1 ? 90402 : 90010);
		gp_vgpu_gpufile_free(&file);
		assert_int_equal(diag.errors, 0);
		gp_buf_free(&diag.text);
	}
}

static void native_mi308x_has_the_save_area_a_real_one_shows(void **state)
{
	struct gp_vgpu_gpufile file;

	(void)state;
	assert_int_equal(gp_vgpu_gpufile_load("mi308x", GP_NATIVE, NULL, &file), 0);
	assert_int_equal(file.gpu.cwsr_bytes, 0xba6000);
	assert_int_equal(file.gpu.ctl_stack_bytes, 0x2000);
	assert_int_equal(file.array_count, 16);
	gp_vgpu_gpufile_free(&file);
}

static void every_figure_says_where_it_comes_from(void **state)
{
	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(names); i++) {
		struct gp_vgpu_gpufile file;
		const char *name;
		json_t *figure;

		assert_int_equal(gp_vgpu_gpufile_load(names[i], GP_COMPAT, NULL, &file), 0);
		assert_true(json_object_size(file.figures) > 40);
		json_object_foreach(file.figures, name, figure)
		{
			assert_true(json_is_integer(json_object_get(figure, "value")));
			assert_true(json_string_length(json_object_get(figure, "source")) > 0);
		}
		gp_vgpu_gpufile_free(&file);
	}
}

static void several_gpus_have_ids_of_their_own_and_one_hive(void **state)
{
	struct gp_vgpu_gpufile file, placed[8];

	(void)state;
	assert_int_equal(gp_vgpu_gpufile_load("mi300x", GP_COMPAT, NULL, &file), 0);
	for (u32 i = 0; i < 8; i++) {
		gp_vgpu_gpufile_place(&placed[i], &file, i, 8);
		assert_int_equal(placed[i].gpu.render_minor, 128 + i);
		assert_int_not_equal(placed[i].gpu.gpu_id, 0);
		assert_true(placed[i].gpu.gpu_id <= 0xffff);
		assert_int_not_equal(placed[i].hive_id, 0);
		assert_int_equal(placed[i].hive_id, placed[0].hive_id);
		for (u32 j = 0; j < i; j++) {
			assert_int_not_equal(placed[i].gpu.gpu_id, placed[j].gpu.gpu_id);
			assert_int_not_equal(placed[i].location_id, placed[j].location_id);
			assert_int_not_equal(placed[i].unique_id, placed[j].unique_id);
		}
	}
	for (u32 i = 0; i < 8; i++)
		gp_vgpu_gpufile_free(&placed[i]);
	gp_vgpu_gpufile_place(&placed[0], &file, 0, 1);
	assert_int_equal(placed[0].hive_id, 0);
	gp_vgpu_gpufile_free(&placed[0]);
	gp_vgpu_gpufile_free(&file);
}

/* ---- wrong files ---- */

static json_t *shipped(const char *relative)
{
	char path[PATH_MAX];
	json_t *json;

	assert_int_equal(gp_program_beside(relative, relative, path, sizeof(path)), 0);
	json = json_load_file(path, 0, NULL);
	assert_non_null(json);
	return json;
}

/* Loads a shipped file after `spoil` had its way with it; what was said is in diag. */
static int load_spoilt(void (*spoil)(json_t *root), struct test_diag *diag)
{
	json_t *root = shipped("data/gpus/mi210.json");
	struct gp_vgpu_gpufile file;
	struct tree tree;
	char path[PATH_MAX];
	int error;

	spoil(root);
	tree_make(&tree);
	snprintf(path, sizeof(path), "%s/gpu.json", tree.dir);
	assert_int_equal(json_dump_file(root, path, 0), 0);
	json_decref(root);
	error = gp_vgpu_gpufile_load(path, GP_COMPAT, &diag->diag, &file);
	if (!error)
		gp_vgpu_gpufile_free(&file);
	else
		assert_null(file.figures);
	tree_remove(&tree);
	return error;
}

static json_t *figure(json_t *root, const char *section, const char *name)
{
	return json_object_get(json_object_get(root, section), name);
}

static void unspoilt(json_t *root)
{
	(void)root;
}

static void without_unmap(json_t *root)
{
	json_object_del(json_object_get(root, "cost"), "unmap_ns");
}

static void without_source(json_t *root)
{
	json_object_del(figure(root, "cost", "map_ns"), "source");
}

static void with_odd_kind(json_t *root)
{
	json_object_set_new(figure(root, "cost", "map_ns"), "kind", json_string("guess"));
}

static void with_many_xccs(json_t *root)
{
	json_object_set_new(figure(root, "chip", "xcc_count"), "value", json_integer(9));
}

static void with_many_cus(json_t *root)
{
	json_object_set_new(figure(root, "chip", "xcc_count"), "value", json_integer(8));
	json_object_set_new(figure(root, "compat", "xcc_count"), "value", json_integer(8));
}

static void with_misspelt_name(json_t *root)
{
	json_t *cost = json_object_get(root, "cost");

	json_object_set(cost, "unmap_nss", json_object_get(cost, "unmap_ns"));
}

static void with_odd_arrays(json_t *root)
{
	json_object_set_new(figure(root, "compat", "arrays_per_xcc"), "value", json_integer(6));
}

static void with_negative(json_t *root)
{
	json_object_set_new(figure(root, "cost", "save_ns"), "value", json_integer(-1));
}

static void with_fraction(json_t *root)
{
	json_object_set_new(figure(root, "cost", "save_ns"), "value", json_real(1.5));
}

static void with_text(json_t *root)
{
	json_object_set_new(figure(root, "cost", "save_ns"), "value", json_string("50"));
}

static void with_bare_number(json_t *root)
{
	json_object_set_new(json_object_get(root, "cost"), "save_ns", json_integer(50000));
}

static void with_misspelt_key(json_t *root)
{
	json_object_del(figure(root, "cost", "save_ns"), "value");
	json_object_set_new(figure(root, "cost", "save_ns"), "valeu", json_integer(5));
}

static void with_misspelt_instead(json_t *root)
{
	with_misspelt_name(root);
	without_unmap(root);
}

static void with_odd_section(json_t *root)
{
	json_object_set_new(root, "costs", json_object());
}

/* In the section of the personality that is not shown. */
static void with_odd_name_elsewhere(json_t *root)
{
	json_object_set_new(json_object_get(root, "native"), "gfx", json_integer(1));
}

static void with_many_engines(json_t *root)
{
	json_object_set_new(figure(root, "compat", "sdma_xgmi_engines"), "value", json_integer(15));
}

static void with_odd_slots(json_t *root)
{
	json_object_set_new(figure(root, "chip", "slots"), "value", json_integer(23));
}

static void with_little_memory(json_t *root)
{
	json_object_set_new(figure(root, "chip", "vram_bytes"), "value", json_integer(1 << 25));
}

static void with_less_memory(json_t *root)
{
	json_object_set_new(figure(root, "chip", "vram_bytes"), "value", json_integer(1 << 24));
}

static void without_title(json_t *root)
{
	json_object_del(root, "title");
}

static void wrong_files_are_refused_with_file_and_key(void **state)
{
	static const struct {
		void (*spoil)(json_t *root);
		const char *said;
	} rows[] = {
		{without_unmap, "cost.unmap_ns is missing"},
		{without_source, "cost.map_ns: \"source\" is missing"},
		{with_odd_kind, "cost.map_ns: \"kind\" must be"},
		{with_many_xccs, "chip.xcc_count: 9 is out of range (1 to 8)"},
		{with_many_cus, "832 CUs exceed the maximum of 512"},
		{with_misspelt_name, "unknown figure cost.unmap_nss"},
		{with_odd_arrays, "6 shader arrays"},
		{with_negative, "cost.save_ns: \"value\" must be a non-negative integer"},
		{with_fraction, "cost.save_ns: \"value\" must be a non-negative integer"},
		{with_text, "cost.save_ns: \"value\" must be a non-negative integer"},
		{with_bare_number, "cost.save_ns: expected {\"value\": N, \"kind\": WORD"},
		{with_misspelt_key, "cost.save_ns: unknown key \"valeu\""},
		{with_misspelt_instead, "unknown figure cost.unmap_nss"},
		{with_odd_section, "unknown section or key \"costs\""},
		{with_odd_name_elsewhere, "unknown figure native.gfx"},
		{with_many_engines, "more than 16 SDMA engines"},
		{with_odd_slots, "chip.slots"},
		{with_less_memory, "chip.vram_bytes: 16777216 is out of range (33554432 to"},
		{without_title, "\"title\" must be"},
	};
	struct test_diag good = TEST_DIAG;

	(void)state;
	assert_int_equal(load_spoilt(unspoilt, &good), 0);
	assert_int_equal(load_spoilt(with_little_memory, &good), 0);
	for (size_t i = 0; i < GP_ARRAY_SIZE(rows); i++) {
		struct test_diag diag = TEST_DIAG;

		assert_int_equal(load_spoilt(rows[i].spoil, &diag), -EINVAL);
		assert_non_null(strstr(gp_buf_str(&diag.text), rows[i].said));
		assert_non_null(strstr(gp_buf_str(&diag.text), "gpu.json"));
		gp_buf_free(&diag.text);
	}
}

static void a_gpu_that_is_not_there_is_said_so(void **state)
{
	struct test_diag diag = TEST_DIAG;
	struct gp_vgpu_gpufile file;

	(void)state;
	assert_int_equal(gp_vgpu_gpufile_load("mi999", GP_COMPAT, &diag.diag, &file), -ENOENT);
	assert_non_null(strstr(gp_buf_str(&diag.text), "mi308x"));
	assert_int_equal(gp_vgpu_gpufile_load("/nowhere/x.json", GP_COMPAT, &diag.diag, &file),
			 -ENOENT);
	gp_buf_free(&diag.text);
}

static void names_may_be_typed_in_capitals(void **state)
{
	struct gp_vgpu_gpufile file;

	(void)state;
	assert_int_equal(gp_vgpu_gpufile_load("MI308X", GP_COMPAT, NULL, &file), 0);
	assert_string_equal(file.name, "mi308x");
	gp_vgpu_gpufile_free(&file);
	assert_true(gp_vgpu_gpufile_known("Mi210"));
	assert_false(gp_vgpu_gpufile_known("mi211"));
	assert_false(gp_vgpu_gpufile_known(""));
	/* Paths are taken as they are; loading says whether there is such a file. */
	assert_true(gp_vgpu_gpufile_known("/nowhere/X.json"));
}

static void text_that_is_not_json_is_refused_with_its_line(void **state)
{
	struct test_diag diag = TEST_DIAG;
	struct gp_vgpu_gpufile file;
	struct tree tree;
	char path[PATH_MAX];

	(void)state;
	tree_make(&tree);
	tree_text(&tree, "/x.json", "{\n  \"name\": oops\n}\n");
	tree_path(&tree, path, sizeof(path), "/x.json");
	assert_int_equal(gp_vgpu_gpufile_load(path, GP_COMPAT, &diag.diag, &file), -EINVAL);
	assert_non_null(strstr(gp_buf_str(&diag.text), "x.json:2:"));
	gp_buf_free(&diag.text);
	tree_remove(&tree);
}

/* ---- kernels ---- */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(save_areas_are_as_large_as_the_driver_wants_them),
		cmocka_unit_test(older_gfx9_has_smaller_save_areas),
		cmocka_unit_test(shipped_gpus_load_in_both_personalities),
		cmocka_unit_test(native_mi308x_has_the_save_area_a_real_one_shows),
		cmocka_unit_test(every_figure_says_where_it_comes_from),
		cmocka_unit_test(several_gpus_have_ids_of_their_own_and_one_hive),
		cmocka_unit_test(wrong_files_are_refused_with_file_and_key),
		cmocka_unit_test(a_gpu_that_is_not_there_is_said_so),
		cmocka_unit_test(names_may_be_typed_in_capitals),
		cmocka_unit_test(text_that_is_not_json_is_refused_with_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
