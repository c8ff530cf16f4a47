// SPDX-License-Identifier: MIT
/* Strict holds: on a GPU that is shared by slices others are stopped for a job whose rule says so.
 */
#include "rig.h"

#define NVIDIA GP_GPU_NVIDIA
#define STRICT                                                        \
	ACT "[rule server]\nexecutable = server\nstrict = requests\n" \
	    "[rule loner]\nexecutable = loner\nstrict = always\n"

static struct agent *on_gpu(struct rig *rig, u32 gpu_id, u32 priority)
{
	struct agent *agent = agent_new(rig, 0, priority);

	agent->gpu_id = gpu_id;
	rig_until(rig, gp_daemon_host_client(rig->daemon, (u32)agent->pid) &&
			       gp_daemon_host_client(rig->daemon, (u32)agent->pid)->queue_count);
	return agent;
}

/* The rule for this name counts for it from now on. */
static void rename_to(struct rig *rig, const struct agent *agent, const char *name)
{
	struct gp_daemon_client *client = gp_daemon_host_client(rig->daemon, (u32)agent->pid);

	snprintf(client->who.executable, sizeof(client->who.executable), "/opt/%s", name);
	assert_int_equal(gp_daemon_host_respec(rig->daemon, client->job), 0);
	rig_run(rig);
}

static struct agent *server_on(struct rig *rig, u32 gpu_id, u32 priority)
{
	struct agent *agent = on_gpu(rig, gpu_id, priority);

	rename_to(rig, agent, "server");
	return agent;
}

static void request(struct rig *rig, struct agent *agent, bool begin)
{
	struct gp_proto_msg_request it = {.now_ns = gp_monotonic_ns(), .begin = begin};

	agent->memory->open_requests += begin ? 1 : -1u;
	it.open = agent->memory->open_requests;
	agent_say(agent, GP_MSG_AGENT_REQUEST, &it, sizeof(it));
	rig_run(rig);
}

static bool held(const struct agent *agent)
{
	return fake_held(agent->pid);
}

/* What the record says that the last preemption of it saves. */
static u64 said_to_save(struct rig *rig, const struct agent *agent)
{
	u64 saves = 0;

	for (u64 id = gp_daemon_record_first(&rig->daemon->record); id < rig->daemon->record.next;
	     id++) {
		const struct gp_proto_msg_decision *line =
			gp_daemon_record_at(&rig->daemon->record, id);

		if (line->kind == GP_DECISION_SUSPEND && line->job_pid == (u32)agent->pid)
			saves = line->saves_ns;
	}
	return saves;
}

static u32 work_of_first(struct rig *rig, const struct agent *agent)
{
	return gp_daemon_host_client(rig->daemon, (u32)agent->pid)->queues[0].work;
}

static void those_below_stand_still_while_a_request_is_served(void **state)
{
	struct rig *rig = rig_new(STRICT);
	struct agent *trainer = on_gpu(rig, NVIDIA, 500), *server = server_on(rig, NVIDIA, 2000);

	(void)state;
	rig_run(rig);
	assert_int_equal(fake.suspends, 0);
	for (u32 i = 1; i <= 3; i++) {
		request(rig, server, true);
		rig_until(rig, held(trainer));
		request(rig, server, true); /* two that overlap */
		request(rig, server, false);
		assert_true(held(trainer));
		request(rig, server, false);
		rig_until(rig, !held(trainer));
		assert_int_equal(lines(rig, trainer, GP_DECISION_SUSPEND, GP_SCHED_WHY_INVERSION),
				 i);
		/* Without end, so that no preemption is ever declined as too dear. */
		assert_true(said_to_save(rig, trainer) > GP_SCHED_SPAN_MAX / 2 &&
			    said_to_save(rig, trainer) <= GP_SCHED_SPAN_MAX);
	}
	assert_int_equal(lines(rig, server, GP_DECISION_SUSPEND, GP_SCHED_WHYS), 0);
	assert_int_equal(rig->daemon->stats.burst[GP_SCHED_CLASS_NORMAL].count, 3);
	rig_free(rig);
}

static void without_a_rule_slices_are_all_there_is(void **state)
{
	struct rig *rig = rig_new(STRICT);
	struct agent *trainer = on_gpu(rig, NVIDIA, 500), *server = on_gpu(rig, NVIDIA, 2000);

	(void)state;
	request(rig, server, true);
	assert_int_equal(fake.suspends, 0);
	/* It has one from now on, and loses it again. */
	rename_to(rig, server, "server");
	rig_until(rig, held(trainer));
	rename_to(rig, server, "somebody");
	rig_until(rig, !held(trainer));
	rig_free(rig);
}

static void who_is_above_level_or_elsewhere_is_left_alone(void **state)
{
	struct rig *rig = rig_new(STRICT);
	struct agent *above = on_gpu(rig, NVIDIA, 3000), *level = on_gpu(rig, NVIDIA, 2000);
	struct agent *elsewhere = on_gpu(rig, NVIDIA + 1, 500), *amd = on_gpu(rig, GPU, 500);
	struct agent *below = on_gpu(rig, NVIDIA, 1999), *server = server_on(rig, NVIDIA, 2000);

	(void)state;
	work(rig, amd, true);
	request(rig, server, true);
	rig_until(rig, held(below));
	assert_false(held(above) || held(level) || held(elsewhere) || held(amd) || held(server));
	request(rig, server, false);
	rig_until(rig, !held(below));
	assert_int_equal(fake.suspends, 1);
	assert_int_equal(work_of_first(rig, amd), GP_SCHED_BUSY); /* which is known there */
	rig_free(rig);
}

static void those_who_are_held_do_not_push_each_other_aside(void **state)
{
	struct rig *rig = rig_new(STRICT);
	struct agent *low = on_gpu(rig, NVIDIA, 2000), *middle = on_gpu(rig, NVIDIA, 2050);
	struct agent *server = server_on(rig, NVIDIA, 2100);

	(void)state;
	request(rig, server, true);
	rig_until(rig, held(low) && held(middle));
	request(rig, server, false);
	rig_until(rig, !held(low) && !held(middle));
	assert_int_equal(fake.suspends, 2);
	/* Nor when it ends in the middle of a request. */
	request(rig, server, true);
	rig_until(rig, held(low) && held(middle));
	agent_end(server);
	rig_until(rig, !held(low) && !held(middle));
	rig_run(rig);
	assert_int_equal(fake.suspends, 4);
	rig_free(rig);
}

static void of_two_that_are_strict_the_higher_is_served_first(void **state)
{
	struct rig *rig = rig_new(STRICT);
	struct agent *low = server_on(rig, NVIDIA, 2000), *high = server_on(rig, NVIDIA, 2500);
	struct agent *trainer = on_gpu(rig, NVIDIA, 500);

	(void)state;
	request(rig, low, true);
	rig_until(rig, held(trainer));
	request(rig, high, true);
	rig_until(rig, held(low) && held(trainer));
	request(rig, high, false);
	rig_until(rig, !held(low));
	rig_run(rig);
	assert_true(held(trainer));
	request(rig, low, false);
	rig_until(rig, !held(trainer));
	rig_free(rig);
}

static void always_is_as_long_as_it_is_there(void **state)
{
	struct rig *rig = rig_new(STRICT);
	struct agent *trainer = on_gpu(rig, NVIDIA, 500), *loner = on_gpu(rig, NVIDIA, 2000), *late;

	(void)state;
	rename_to(rig, loner, "loner");
	rig_until(rig, held(trainer));
	late = on_gpu(rig, NVIDIA, 700);
	rig_until(rig, held(late));
	/* One that is given more is let go. */
	late->hello.priority = 2000;
	agent_say(late, GP_MSG_AGENT_CHANGED, NULL, 0);
	rig_until(rig, !held(late));
	assert_true(held(trainer));
	agent_end(loner);
	rig_until(rig, !held(trainer));
	rig_free(rig);
}

static void no_hold_is_longer_than_max_suspend(void **state)
{
	struct rig *rig =
		rig_new("[daemon]\nmode = act\nlease = 60s\nmax_suspend = 50ms\noperation_timeout "
			"= 60s\n" PROMPT "[rule loner]\nexecutable = loner\nstrict = always\n");
	struct agent *trainer = on_gpu(rig, NVIDIA, 500), *loner = on_gpu(rig, NVIDIA, 2000);

	(void)state;
	rename_to(rig, loner, "loner");
	rig_until(rig, lines(rig, trainer, GP_DECISION_RESUME, GP_SCHED_WHY_MAX_SUSPEND) >= 2);
	assert_true(lines(rig, trainer, GP_DECISION_SUSPEND, GP_SCHED_WHYS) >= 2);
	rig_free(rig);
}

static void copy_engines_stop_where_the_device_says_so(void **state)
{
	struct rig *rig = rig_new(STRICT "[device 0x10de0001]\ncopies = yes\n");
	struct agent *without = on_gpu(rig, NVIDIA, 500), *with = on_gpu(rig, NVIDIA + 1, 500);
	struct agent *server = server_on(rig, NVIDIA, 2000);
	struct agent *other = server_on(rig, NVIDIA + 1, 2000);

	(void)state;
	request(rig, server, true);
	request(rig, other, true);
	rig_until(rig, held(without) && held(with));
	assert_int_equal(fake_target(without->pid)->flags, 0);
	assert_int_equal(fake_target(with->pid)->flags, GPREEMPT_SUSPEND_COPIES);
	rig_free(rig);
}

static void other_policies_and_devices_that_must_not_suspend_do_not(void **state)
{
	static const char *const sections[] = {"[device 0x10de0000]\npolicy = off\n",
					       "[device 0x10de0000]\npolicy = quantum\n",
					       "[device 0x10de0000]\npolicy = fair\n",
					       "[device 0x10de0000]\nsuspend = no\n"};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(sections); i++) {
		char config[2048];
		struct rig *rig;
		struct agent *trainer, *server;

		snprintf(config, sizeof(config), "%s%s", STRICT, sections[i]);
		rig = rig_new(config);
		trainer = on_gpu(rig, NVIDIA, 500);
		server = server_on(rig, NVIDIA, 2000);
		request(rig, server, true);
		assert_int_equal(fake.suspends, 0);
		if (!strstr(sections[i], "suspend"))
			assert_int_equal(work_of_first(rig, trainer), GP_SCHED_DRAINED);
		rig_free(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_below_stand_still_while_a_request_is_served),
		cmocka_unit_test(without_a_rule_slices_are_all_there_is),
		cmocka_unit_test(who_is_above_level_or_elsewhere_is_left_alone),
		cmocka_unit_test(those_who_are_held_do_not_push_each_other_aside),
		cmocka_unit_test(of_two_that_are_strict_the_higher_is_served_first),
		cmocka_unit_test(always_is_as_long_as_it_is_there),
		cmocka_unit_test(no_hold_is_longer_than_max_suspend),
		cmocka_unit_test(copy_engines_stop_where_the_device_says_so),
		cmocka_unit_test(other_policies_and_devices_that_must_not_suspend_do_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
