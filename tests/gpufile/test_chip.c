// SPDX-License-Identifier: MIT
/* GPU files: every cost has a range, and the cheap and the dear end of a preemption follow from it.
 */
#include <errno.h>

#include "gpufile/chip.h"
#include "tree.h"

static const char *const shipped[] = {"mi210", "mi300x", "mi308x"};

static json_t *load_json(const char *name)
{
	char path[PATH_MAX];
	json_t *root;
	int error;

	assert_int_equal(gp_gpufile_path(name, path, sizeof(path)), 0);
	root = gp_gpufile_figure_file(path, NULL, &error);
	assert_non_null(root);
	return root;
}

static void every_cost_has_a_range_and_a_source(void **state)
{
	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(shipped); i++) {
		json_t *root = load_json(shipped[i]), *entry;
		const char *key;
		u32 costs = 0;

		json_object_foreach(json_object_get(root, "cost"), key, entry)
		{
			json_int_t low = json_integer_value(json_object_get(entry, "low"));
			json_int_t high = json_integer_value(json_object_get(entry, "high"));
			json_int_t value = json_integer_value(json_object_get(entry, "value"));

			if (!json_object_get(entry, "low") || low > value || value > high ||
			    low == high)
				fail_msg("%s: %s has no range", shipped[i], key);
			costs++;
		}
		assert_int_equal(costs, 15);
		json_decref(root);
	}
}

static void the_ends_of_a_preemption_follow_from_the_ranges(void **state)
{
	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(shipped); i++) {
		struct gp_gpufile_chip chip;

		assert_int_equal(gp_gpufile_load(shipped[i], NULL, &chip), 0);
		assert_true(chip.cheap.unmap_ns < chip.model.unmap_ns);
		assert_true(chip.model.unmap_ns < chip.dear.unmap_ns);
		assert_true(chip.cheap.save_ns < chip.model.save_ns);
		assert_true(chip.model.restore_ns < chip.dear.restore_ns);
		/* More bytes per microsecond cost less. */
		assert_true(chip.cheap.save_bytes_per_us > chip.model.save_bytes_per_us);
		assert_true(chip.model.restore_bytes_per_us > chip.dear.restore_bytes_per_us);
		/* Not part of the cost of a preemption. */
		assert_int_equal(chip.cheap.quantum_ns, chip.model.quantum_ns);
		assert_int_equal(chip.dear.contention_permille, chip.model.contention_permille);
		assert_int_equal(chip.dear.sdma_engines, chip.model.sdma_engines);
	}
}

/* The bound that a log of a real MI308X sets: 0.1 ms for an idle unmap and map. */
static void an_idle_unmap_and_map_cost_at_most_what_was_observed(void **state)
{
	struct gp_gpufile_chip chip;

	(void)state;
	assert_int_equal(gp_gpufile_load("mi308x", NULL, &chip), 0);
	assert_true(chip.dear.unmap_ns + chip.dear.map_ns <= 100000);
	assert_true(chip.model.unmap_ns + chip.model.map_ns <= 100000);
}

static void ranges_that_are_wrong_are_refused(void **state)
{
	static const struct {
		json_int_t low, high; /* -2: left out */
		const char *said;
	} rows[] = {
		{-2, 9, "cost.unmap_ns: \"low\" must be a non-negative integer"},
		{0, -2, "cost.unmap_ns: \"high\" must be a non-negative integer"},
		{-1, 99999999, "cost.unmap_ns: \"low\" must be a non-negative integer"},
		{40000, 99999999, "cost.unmap_ns: 40000 is out of range (0 to 25000)"},
		{0, 10, "cost.unmap_ns: 10 is out of range (25000 to 1000000000000)"},
	};
	struct tree tree;
	char path[PATH_MAX];

	(void)state;
	tree_make(&tree);
	tree_path(&tree, path, sizeof(path), "/gpu.json");
	for (size_t i = 0; i < GP_ARRAY_SIZE(rows); i++) {
		json_t *root = load_json("mi308x");
		json_t *entry = json_object_get(json_object_get(root, "cost"), "unmap_ns");
		struct test_diag diag = TEST_DIAG;
		struct gp_gpufile_chip chip;

		json_object_del(entry, "low");
		json_object_del(entry, "high");
		if (rows[i].low != -2)
			json_object_set_new(entry, "low", json_integer(rows[i].low));
		if (rows[i].high != -2)
			json_object_set_new(entry, "high", json_integer(rows[i].high));
		assert_int_equal(json_dump_file(root, path, 0), 0);
		assert_int_equal(gp_gpufile_load(path, &diag.diag, &chip), -EINVAL);
		if (!strstr(gp_buf_str(&diag.text), rows[i].said))
			fail_msg("'%s' was said, not '%s'", gp_buf_str(&diag.text), rows[i].said);
		gp_buf_free(&diag.text);
		json_decref(root);
	}
	tree_remove(&tree);
}

static void a_figure_without_a_range_is_its_own_range(void **state)
{
	json_t *entry = json_pack("{s:i,s:s,s:s}", "value", 7, "kind", "assumed", "source", "x");
	struct gp_gpufile_range range;

	(void)state;
	assert_int_equal(gp_gpufile_figure_range(entry, "f", "n", 0, 10, NULL, &range), 0);
	assert_int_equal(range.low, 7);
	assert_int_equal(range.high, 7);
	json_decref(entry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cost_has_a_range_and_a_source),
		cmocka_unit_test(the_ends_of_a_preemption_follow_from_the_ranges),
		cmocka_unit_test(an_idle_unmap_and_map_cost_at_most_what_was_observed),
		cmocka_unit_test(ranges_that_are_wrong_are_refused),
		cmocka_unit_test(a_figure_without_a_range_is_its_own_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
