// SPDX-License-Identifier: MIT
/* Files of kernel costs: the one that is shipped, and files that are wrong. */
#include <errno.h>

#include "gpufile/kernels.h"
#include "tree.h"

static void kernels_are_sorted_by_length_with_the_default_last(void **state)
{
	struct gp_gpufile_kernel *kernels;
	size_t count;

	(void)state;
	assert_int_equal(gp_gpufile_kernels_load(NULL, NULL, &kernels, &count), 0);
	assert_true(count > 4);
	assert_string_equal(kernels[count - 1].name, "");
	for (size_t i = 1; i < count; i++)
		assert_true(strlen(kernels[i].name) <= strlen(kernels[i - 1].name));
	for (size_t i = 0; i < count; i++)
		assert_int_not_equal(kernels[i].workgroup_ns, 0);
	free(kernels);
}

static void kernel_files_that_are_wrong_are_refused(void **state)
{
#define COST(value) "{\"value\": " value ", \"source\": \"x\", \"kind\": \"assumed\"}"
#define DEFAULT     "\"default\": {\"workgroup_ns\": " COST("5") "}"
	static const struct {
		const char *text, *said;
	} rows[] = {
		{"{}", "default.workgroup_ns is missing"},
		{"[]", "one JSON object"},
		{"{\"default\": {\"workgroup_ns\": " COST("0") "}}", "0 is out of range (1 to"},
		{"{\"default\": {\"workgroup_ns\": " COST("1.5") "}}",
		 "must be a non-negative integer"},
		{"{\"default\": {\"workgroup_ns\": 5}}", "default.workgroup_ns: expected {"},
		{"{\"default\": {\"workgroup_ns\": {\"value\": 5, \"source\": \"x\", \"kind\": "
		 "\"felt\"}}}",
		 "\"kind\" must be"},
		{"{" DEFAULT ", \"kernels\": [{\"prefix\": \"\"}]}",
		 "kernels[0]: \"prefix\" must be"},
		{"{" DEFAULT ", \"kernels\": [{\"prefix\": \"gemm\"}]}",
		 "kernels[0] (gemm).workgroup_ns is missing"},
		{"{" DEFAULT ", \"kernels\": [{\"name\": \"gemm\"}]}", "unknown key \"name\""},
		{"{" DEFAULT ", \"kernel\": []}", "unknown section or key \"kernel\""},
		{"{" DEFAULT ", \"kernels\": {}}", "\"kernels\" must be a list"},
	};
	struct tree tree;
	char path[PATH_MAX];

	(void)state;
	tree_make(&tree);
	tree_path(&tree, path, sizeof(path), "/k.json");
	for (size_t i = 0; i < GP_ARRAY_SIZE(rows); i++) {
		struct test_diag diag = TEST_DIAG;
		struct gp_gpufile_kernel *kernels;
		size_t count;

		tree_text(&tree, "/k.json", rows[i].text);
		assert_int_equal(gp_gpufile_kernels_load(path, &diag.diag, &kernels, &count),
				 -EINVAL);
		assert_null(kernels);
		assert_int_equal(diag.errors, 1);
		assert_non_null(strstr(gp_buf_str(&diag.text), rows[i].said));
		gp_buf_free(&diag.text);
	}
	tree_remove(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_are_sorted_by_length_with_the_default_last),
		cmocka_unit_test(kernel_files_that_are_wrong_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
