// SPDX-License-Identifier: MIT
/* The gate through which every call to the resource manager passes. */
#include "rig.h"

#include "gpu/nvrm/call.h"

static const u32 forbidden[] = {
	0xa06c0101, /* GPFIFO_SCHEDULE of a group */
	0xa06f0103, /* of a channel */
	0xa06c0105, /* PREEMPT */
	0xa06c0107, /* SET_INTERLEAVE_LEVEL */
	0xa06c0110, /* MAKE_REALTIME */
	0xa06f0111, /* RESTART_RUNLIST */
	0xa06f0112, /* STOP_CHANNEL */
	0x00801711, /* STOP_RUNLIST */
	0x00801712, /* START_RUNLIST */
	0x20801110, /* FIFO_CONFIG_CTXSW_TIMEOUT */
	0x20801115, /* RUNLIST_SET_SCHED_POLICY */
	0x20801210, /* GR_SET_CTXSW_PREEMPTION_MODE */
	0x20800122, /* GPU_EXEC_REG_OPS */
	0x83de0317, /* DEBUG_SUSPEND_CONTEXT */
	0x20800194, /* GPU_SET_COMPUTE_POLICY_CONFIG */
};

static void only_the_listed_controls_reach_the_driver(void **state)
{
	struct fake fake;
	struct fake_program program;
	struct gp_nvrm_session session;
	u8 params[1024] = {1};
	u64 before;

	(void)state;
	assert_int_equal(fake_create(&fake, "580.159.04"), 0);
	assert_int_equal(fake_program_start(&fake, &program), 0);
	assert_int_equal(fake_program_context(&fake, &program, false), 0);
	session = (struct gp_nvrm_session){&fake.port, program.fd, program.client};
	before = atomic_load(&fake.rm->calls);
	for (size_t i = 0; i < GP_ARRAY_SIZE(forbidden); i++) {
		for (u32 size = 0; size < 64; size++)
			assert_int_equal(gp_nvrm_call(&session, program.group, forbidden[i], params,
						      size),
					 -EPERM);
	}
	assert_int_equal(atomic_load(&fake.rm->calls), before);
	close(program.fd);
	fake_destroy(&fake);
}

static void a_stop_that_would_lose_work_is_refused(void **state)
{
	struct gp_nv_disable_channels p = {.disable = 1, .count = 1};
	struct gp_nv_timeslice slice = {.us = 0};
	struct gp_nv_ctxsw_stats stats = {.flags = 0};
	struct gp_nv_handle_info info = {.index = GP_NV_HANDLE_CLASS};

	(void)state;
	assert_true(gp_nvrm_call_allowed(GP_NV_CMD_DISABLE_CHANNELS, &p, sizeof(p)));
	assert_false(gp_nvrm_call_allowed(GP_NV_CMD_DISABLE_CHANNELS, &p, sizeof(p) - 1));
	assert_false(gp_nvrm_call_allowed(GP_NV_CMD_DISABLE_CHANNELS, NULL, sizeof(p)));
	p.rewind = 1;
	assert_false(gp_nvrm_call_allowed(GP_NV_CMD_DISABLE_CHANNELS, &p, sizeof(p)));
	p = (struct gp_nv_disable_channels){.disable = 1, .count = 1, .event = 1};
	assert_false(gp_nvrm_call_allowed(GP_NV_CMD_DISABLE_CHANNELS, &p, sizeof(p)));
	p = (struct gp_nv_disable_channels){.disable = 1, .count = 1, .only_scheduling = 1};
	assert_false(gp_nvrm_call_allowed(GP_NV_CMD_DISABLE_CHANNELS, &p, sizeof(p)));
	p = (struct gp_nv_disable_channels){.disable = 1, .count = 65};
	assert_false(gp_nvrm_call_allowed(GP_NV_CMD_DISABLE_CHANNELS, &p, sizeof(p)));
	p.count = 0;
	assert_false(gp_nvrm_call_allowed(GP_NV_CMD_DISABLE_CHANNELS, &p, sizeof(p)));
	assert_false(gp_nvrm_call_allowed(GP_NV_CMD_SET_TIMESLICE, &slice, sizeof(slice)));
	assert_true(gp_nvrm_call_allowed(GP_NV_CMD_GET_TIMESLICE, &slice, sizeof(slice)));
	slice.us = 1;
	assert_true(gp_nvrm_call_allowed(GP_NV_CMD_SET_TIMESLICE, &slice, sizeof(slice)));
	assert_true(gp_nvrm_call_allowed(GP_NV_CMD_CTXSW_STATS, &stats, sizeof(stats)));
	stats.flags = 1; /* would reset them for whoever else reads them */
	assert_false(gp_nvrm_call_allowed(GP_NV_CMD_CTXSW_STATS, &stats, sizeof(stats)));
	assert_true(gp_nvrm_call_allowed(GP_NV_CMD_HANDLE_INFO, &info, sizeof(info)));
	info.index = 3;
	assert_false(gp_nvrm_call_allowed(GP_NV_CMD_HANDLE_INFO, &info, sizeof(info)));
}

static void the_managers_answer_becomes_an_errno(void **state)
{
	(void)state;
	assert_int_equal(gp_nvrm_error(GP_NV_OK), 0);
	assert_int_equal(gp_nvrm_error(GP_NV_INVALID_CLIENT), -EACCES);
	assert_int_equal(gp_nvrm_error(GP_NV_OBJECT_NOT_FOUND), -ENOENT);
	assert_int_equal(gp_nvrm_error(GP_NV_INSUFFICIENT_PERMISSIONS), -EPERM);
	assert_int_equal(gp_nvrm_error(GP_NV_INVALID_PARAM_STRUCT), -EPROTO);
	assert_int_equal(gp_nvrm_error(GP_NV_NOT_SUPPORTED), -EOPNOTSUPP);
	assert_int_equal(gp_nvrm_error(GP_NV_TIMEOUT), -ETIMEDOUT);
	assert_int_equal(gp_nvrm_error(0xffff), -EIO);
}

static void a_client_is_known_on_its_own_open_file_only(void **state)
{
	struct fake fake;
	struct fake_program program, other;
	struct gp_nvrm_session session;
	u32 class_id;

	(void)state;
	assert_int_equal(fake_create(&fake, "580.159.04"), 0);
	assert_int_equal(fake_program_start(&fake, &program), 0);
	assert_int_equal(fake_program_start(&fake, &other), 0);
	session = (struct gp_nvrm_session){&fake.port, other.fd, program.client};
	assert_int_equal(gp_nvrm_class_of(&session, program.client, &class_id), -EACCES);
	session.fd = program.fd;
	assert_int_equal(gp_nvrm_class_of(&session, program.client, &class_id), 0);
	assert_int_equal(class_id, GP_NV_CLASS_CLIENT);
	session.fd = 0;
	assert_int_equal(gp_nvrm_class_of(&session, program.client, &class_id), -ENOTTY);
	close(program.fd);
	close(other.fd);
	fake_destroy(&fake);
}

static void the_newest_client_bounds_the_others(void **state)
{
	struct fake fake;
	struct fake_program program;
	u32 newest;

	(void)state;
	assert_int_equal(fake_create(&fake, "580.159.04"), 0);
	atomic_store(&fake.rm->clients, 4000);
	assert_int_equal(fake_program_start(&fake, &program), 0);
	assert_int_equal(gp_nvrm_newest_client(&fake.port, &newest), 0);
	assert_int_equal(newest, program.client + 1);
	assert_int_equal(fake_open_files(&fake), 1);
	close(program.fd);
	fake_destroy(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_listed_controls_reach_the_driver),
		cmocka_unit_test(a_stop_that_would_lose_work_is_refused),
		cmocka_unit_test(the_managers_answer_becomes_an_errno),
		cmocka_unit_test(a_client_is_known_on_its_own_open_file_only),
		cmocka_unit_test(the_newest_client_bounds_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
