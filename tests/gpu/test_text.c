// SPDX-License-Identifier: MIT
/* Which command reads a copy of a debugfs file, from its first lines. */
#include "debugfs_text.h"

static const char *command_of(const char *text)
{
	return gp_kfd_text_command(text, strlen(text));
}

static void a_copy_names_the_command_that_reads_it(void **state)
{
	static const char *const files[][2] = {{"debugfs/gfx9/hqds", "hqd"},
					       {"debugfs/gfx9/mqds", "mqd"},
					       {"debugfs/gfx9/rls", "runlist"}};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(files); i++) {
		struct text text;

		text_load(&text, fixture(files[i][0]));
		assert_string_equal(gp_kfd_text_command(text.source.text, text.source.len),
				    files[i][1]);
		gp_buf_free(&text.buf);
	}
}

static void a_runlist_without_packets_is_one(void **state)
{
	(void)state;
	assert_string_equal(command_of("Node 1, gpu_id 5f21:\nNo active runlist\n"), "runlist");
}

static void other_text_names_no_command(void **state)
{
	(void)state;
	assert_null(command_of(""));
	assert_null(command_of("Process of another kind\n"));
	assert_null(command_of("Process 12 without an address space\n"));
	assert_null(command_of("Node 1, gpu_id 5f21:\n"));
	assert_null(command_of("Node 1, gpu_id 5f21:\nsomething else\n"));
	assert_null(command_of("Node 1, gpu_id xyz:\nNo active runlist\n"));
	assert_null(command_of("Node 1, gpu_id 123456789:\nNo active runlist\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_names_the_command_that_reads_it),
		cmocka_unit_test(a_runlist_without_packets_is_one),
		cmocka_unit_test(other_text_names_no_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
