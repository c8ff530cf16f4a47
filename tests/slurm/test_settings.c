// SPDX-License-Identifier: MIT
/* Arguments of the SPANK plugin, and the environment that it shares with gpreempt run. */
#include "testlib.h"

#include <errno.h>
#include <stdlib.h>

#include "proto/launch.h"
#include "slurm/settings.h"

static bool reads(struct gp_slurm_settings *settings, const char *argument)
{
	return gp_slurm_settings_read(settings, argument);
}

static void a_partition_comes_before_all(void **state)
{
	struct gp_slurm_settings settings = {0};
	struct gp_slurm_default found;

	(void)state;
	assert_true(reads(&settings, "class.low=offline"));
	assert_true(reads(&settings, "class=normal"));
	assert_true(reads(&settings, "weight=2"));
	assert_true(reads(&settings, "weight.high=100"));
	found = gp_slurm_settings_for(&settings, "low");
	assert_string_equal(found.job_class, "offline");
	assert_int_equal(found.weight, 2);
	found = gp_slurm_settings_for(&settings, "high");
	assert_string_equal(found.job_class, "normal");
	assert_int_equal(found.weight, 100);
	found = gp_slurm_settings_for(&settings, "");
	assert_string_equal(found.job_class, "normal");
}

static void wrong_arguments_change_nothing(void **state)
{
	static const char *const wrong[] = {
		"",          "class",      "class=",      "class=fast",  "class.=normal",
		"classes=x", "weight=0",   "weight=101",  "weight=1x",   "weight=1.5",
		"agent=x",   "agent=/a b", "agent=/a:b",  "account=may", "group=x",
		"weight.",   "class.low=", "directory=x",
	};
	struct gp_slurm_settings settings = {0};
	char directory[64];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (reads(&settings, wrong[i]))
			fail_msg("'%s' is taken", wrong[i]);
	}
	assert_int_equal(settings.count, 0);
	assert_string_equal(settings.agent, "");
	assert_true(reads(&settings, "agent=/usr/lib/a.so"));
	assert_string_equal(settings.agent, "/usr/lib/a.so");
	assert_true(reads(&settings, "directory=/run/%n/x"));
	gp_slurm_settings_directory(&settings, "n7", directory, sizeof(directory));
	assert_string_equal(directory, "/run/n7/x");
	assert_true(reads(&settings, "account=yes") && settings.account);
	assert_true(reads(&settings, "account=no") && !settings.account);
}

static void partitions_have_a_limit(void **state)
{
	struct gp_slurm_settings settings = {0};
	char argument[64];

	(void)state;
	for (int i = 0; i < GP_SLURM_PARTITIONS; i++) {
		snprintf(argument, sizeof(argument), "class.p%d=normal", i);
		assert_true(reads(&settings, argument));
	}
	assert_false(reads(&settings, "class.more=normal"));
	assert_true(reads(&settings, "class.p3=online"));
	assert_string_equal(gp_slurm_settings_for(&settings, "p3").job_class, "online");
}

static void the_agent_is_first_in_the_lists_and_there_once(void **state)
{
	const struct gp_proto_launch_wish nothing = {0};
	struct gp_proto_launch launch;

	(void)state;
	gp_proto_launch_own(&launch);
	setenv("LD_PRELOAD", "/x/a.so /y/b.so", 1);
	unsetenv("HSA_TOOLS_LIB");
	unsetenv("HSA_TOOLS_ROCPROFILER_V1_TOOLS");
	assert_int_equal(gp_proto_launch_prepare(&launch, &nothing, "/lib/" GP_LAUNCH_LIBRARY), 0);
	assert_string_equal(getenv("LD_PRELOAD"), "/lib/" GP_LAUNCH_LIBRARY ":/x/a.so /y/b.so");
	assert_string_equal(getenv("HSA_TOOLS_LIB"), "/lib/" GP_LAUNCH_LIBRARY);
	assert_string_equal(getenv("HSA_TOOLS_ROCPROFILER_V1_TOOLS"), "1");
	setenv("HSA_TOOLS_LIB", "/p.so /old/" GP_LAUNCH_LIBRARY, 1);
	assert_int_equal(gp_proto_launch_prepare(&launch, &nothing, "/new/" GP_LAUNCH_AUTO_LIBRARY),
			 0);
	assert_string_equal(getenv("LD_PRELOAD"),
			    "/new/" GP_LAUNCH_AUTO_LIBRARY ":/x/a.so /y/b.so");
	assert_string_equal(getenv("HSA_TOOLS_LIB"), "/p.so /new/" GP_LAUNCH_AUTO_LIBRARY);
	unsetenv("LD_PRELOAD");
	unsetenv("HSA_TOOLS_LIB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_partition_comes_before_all),
		cmocka_unit_test(wrong_arguments_change_nothing),
		cmocka_unit_test(partitions_have_a_limit),
		cmocka_unit_test(the_agent_is_first_in_the_lists_and_there_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
