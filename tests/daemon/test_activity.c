// SPDX-License-Identifier: MIT
/* What is concluded from the records of a GPU: times, preemptions, idle batch jobs. */
#include "rig.h"

#define NVIDIA GP_GPU_NVIDIA
/* The test plays the reader. */
#define QUIET                                                                                      \
	"[daemon]\nactivity = no\nmode = act\nlease = 60s\nmax_suspend = 600s\noperation_timeout " \
	"= 60s\n" PROMPT

static struct agent *on_gpu(struct rig *rig, u32 job_class, u32 priority)
{
	struct agent *agent = agent_new(rig, job_class, priority);

	agent->gpu_id = NVIDIA;
	rig_until(rig, gp_daemon_host_client(rig->daemon, (u32)agent->pid) &&
			       gp_daemon_host_client(rig->daemon, (u32)agent->pid)->queue_count);
	return agent;
}

static u32 device(struct rig *rig)
{
	return gp_daemon_host_device(rig->daemon, NVIDIA);
}

static struct rig *reading(void)
{
	struct rig *rig = rig_new(QUIET);

	gp_daemon_activity_state(rig->daemon, device(rig), GP_READING_ON, 0);
	return rig;
}

/* Times are in microseconds after all agents are there. */
static u64 zero_ns;

static void at(struct rig *rig, u64 us, u32 pid, bool begins)
{
	gp_daemon_activity_switch(rig->daemon, device(rig),
				  &(struct gp_gpu_switch){.at_ns = zero_ns + us * 1000,
							  .pid = pid,
							  .begins = begins});
}

static void region(struct rig *rig, u64 from_us, u64 to_us, u32 pid)
{
	at(rig, from_us, pid, true);
	at(rig, to_us, pid, false);
}

static void until(struct rig *rig, u64 us)
{
	gp_daemon_activity_until(rig->daemon, device(rig), zero_ns + us * 1000);
	gp_daemon_host_settle(rig->daemon);
	rig_run(rig);
}

static struct gp_proto_msg_job view(struct rig *rig, const struct agent *agent)
{
	struct gp_proto_msg_job out;

	gp_daemon_report_job_view(rig->daemon,
				  gp_daemon_host_client(rig->daemon, (u32)agent->pid)->job, &out);
	return out;
}

static void time_on_the_gpu_is_counted_while_it_lasts(void **state)
{
	struct rig *rig = reading();
	struct agent *agent = on_gpu(rig, 0, 1000);

	(void)state;
	zero_ns = gp_monotonic_ns();
	region(rig, 100, 600, (u32)agent->pid);
	at(rig, 1000, (u32)agent->pid, true);
	until(rig, 3000);
	assert_int_equal(view(rig, agent).activity, 1);
	assert_int_equal(view(rig, agent).switches, 2);
	assert_int_equal(view(rig, agent).active_ns, 2500000);
	until(rig, 4000);
	assert_int_equal(view(rig, agent).active_ns, 3500000);
	rig_free(rig);
}

static void a_share_is_of_the_last_second(void **state)
{
	struct rig *rig = reading();
	struct agent *agent = on_gpu(rig, 0, 1000);

	(void)state;
	zero_ns = gp_monotonic_ns();
	until(rig, 0);
	region(rig, 100000, 350000, (u32)agent->pid);
	until(rig, 1000000);
	assert_int_equal(view(rig, agent).share_ppm, 250000);
	until(rig, 2000000);
	assert_int_equal(view(rig, agent).share_ppm, 0);
	rig_free(rig);
}

/* As measured: a server with requests of 0.6 ms, a trainer that has work all the time. */
static void the_trainer_is_preempted_and_the_server_is_idle(void **state)
{
	struct rig *rig = reading();
	struct agent *trainer = on_gpu(rig, 0, 500), *server = on_gpu(rig, 0, 2000);

	(void)state;
	gp_daemon_host_client(rig->daemon, (u32)trainer->pid)->share.slice_us = 31;
	gp_daemon_host_client(rig->daemon, (u32)server->pid)->share.slice_us = 125952;
	zero_ns = gp_monotonic_ns();
	at(rig, 0, (u32)trainer->pid, true);
	for (u32 i = 1; i <= 10; i++) {
		at(rig, i * 20000 - 90, (u32)trainer->pid, false);
		region(rig, i * 20000, i * 20000 + 600, (u32)server->pid);
		at(rig, i * 20000 + 690, (u32)trainer->pid, true);
	}
	assert_int_equal(view(rig, trainer).switched_out, 10);
	assert_int_equal(view(rig, trainer).lost_ns, 10 * 780000);
	assert_int_equal(view(rig, server).switches, 10);
	assert_int_equal(view(rig, server).switched_out, 0);
	assert_int_equal(view(rig, server).lost_ns, 0);
	rig_free(rig);
}

static void two_that_alternate_preempt_each_other(void **state)
{
	struct rig *rig = reading();
	struct agent *one = on_gpu(rig, 0, 1000), *other = on_gpu(rig, 0, 1000);

	(void)state;
	gp_daemon_host_client(rig->daemon, (u32)one->pid)->share.slice_us = 2048;
	gp_daemon_host_client(rig->daemon, (u32)other->pid)->share.slice_us = 2048;
	zero_ns = gp_monotonic_ns();
	for (u32 i = 0; i < 10; i++) {
		region(rig, i * 5000, i * 5000 + 2048, (u32)one->pid);
		region(rig, i * 5000 + 2400, i * 5000 + 4448, (u32)other->pid);
	}
	assert_int_equal(view(rig, one).switched_out, 9);
	assert_int_equal(view(rig, other).switched_out, 9);
	rig_free(rig);
}

static void a_process_that_had_the_pid_before_is_another(void **state)
{
	struct rig *rig = reading();
	struct agent *agent;

	(void)state;
	zero_ns = gp_monotonic_ns();
	agent = on_gpu(rig, 0, 1000);
	region(rig, 0, 1, (u32)agent->pid); /* before it came */
	at(rig, 0, (u32)agent->pid, true);
	zero_ns = gp_monotonic_ns();
	at(rig, 500, (u32)agent->pid, false); /* nobody saw its start */
	assert_int_equal(view(rig, agent).switches, 0);
	assert_int_equal(view(rig, agent).active_ns, 0);
	region(rig, 1000, 2000, (u32)agent->pid);
	assert_int_equal(view(rig, agent).active_ns, 1000000);
	rig_free(rig);
}

static void strangers_and_hidden_pids_count_for_the_device_only(void **state)
{
	struct rig *rig = reading();
	struct agent *agent = on_gpu(rig, 0, 1000);
	struct gp_proto_msg_device out;

	(void)state;
	zero_ns = gp_monotonic_ns();
	region(rig, 0, 1000, GP_ACTIVITY_HIDDEN);
	region(rig, 2000, 3000, GP_ACTIVITY_KERNEL);
	region(rig, 4000, 5000, 4194304); /* no pid is that large */
	at(rig, 6000, GP_ACTIVITY_HIDDEN, false);
	gp_daemon_report_device_view(rig->daemon, device(rig), &out);
	assert_int_equal(out.active_ns, 3000000);
	assert_int_equal(view(rig, agent).switches, 0);
	rig_free(rig);
}

static void what_was_lost_is_not_made_up(void **state)
{
	struct rig *rig = reading();
	struct agent *agent = on_gpu(rig, 0, 1000);
	struct gp_proto_msg_device out;

	(void)state;
	zero_ns = gp_monotonic_ns();
	at(rig, 0, (u32)agent->pid, true);
	gp_daemon_activity_lost(rig->daemon, device(rig), 12);
	at(rig, 9000, (u32)agent->pid, false);
	assert_int_equal(view(rig, agent).active_ns, 0);
	region(rig, 10000, 11000, (u32)agent->pid);
	assert_int_equal(view(rig, agent).active_ns, 1000000);
	assert_int_equal(view(rig, agent).switched_out, 0);
	gp_daemon_report_device_view(rig->daemon, device(rig), &out);
	assert_int_equal(out.switches_lost, 12);
	rig_free(rig);
}

/* Its queue is on the first GPU; it also uses a second one. */
static void time_is_booked_on_the_gpu_where_it_was(void **state)
{
	struct rig *rig = reading();
	struct agent *agent = on_gpu(rig, 0, 1000);
	u32 second = gp_daemon_host_device(rig->daemon, NVIDIA + 1), pid = (u32)agent->pid;
	struct gp_proto_msg_device out;

	(void)state;
	gp_daemon_activity_state(rig->daemon, second, GP_READING_ON, 0);
	zero_ns = gp_monotonic_ns();
	gp_daemon_activity_switch(rig->daemon, second,
				  &(struct gp_gpu_switch){.at_ns = zero_ns,
							  .pid = pid,
							  .begins = true});
	at(rig, 3000, pid, false); /* its start on the first was not seen */
	gp_daemon_activity_switch(rig->daemon, second,
				  &(struct gp_gpu_switch){.at_ns = zero_ns + 5000000, .pid = pid});
	gp_daemon_report_device_view(rig->daemon, device(rig), &out);
	assert_int_equal(out.active_ns, 0);
	gp_daemon_report_device_view(rig->daemon, second, &out);
	assert_int_equal(out.active_ns, 5000000);
	assert_int_equal(view(rig, agent).active_ns, 5000000);
	/* A loss on the first ends nothing on the second. */
	gp_daemon_activity_switch(rig->daemon, second,
				  &(struct gp_gpu_switch){.at_ns = zero_ns + 6000000,
							  .pid = pid,
							  .begins = true});
	gp_daemon_activity_lost(rig->daemon, device(rig), 1);
	gp_daemon_activity_switch(rig->daemon, second,
				  &(struct gp_gpu_switch){.at_ns = zero_ns + 7000000, .pid = pid});
	assert_int_equal(view(rig, agent).active_ns, 6000000);
	rig_free(rig);
}

static void a_job_keeps_what_its_processes_had(void **state)
{
	struct rig *rig = reading();
	struct agent *agent = on_gpu(rig, 0, 1000);
	struct gp_proto_msg_accounts *accounts = calloc(1, GP_PROTO_MAX);
	u32 pid = (u32)agent->pid;

	(void)state;
	zero_ns = gp_monotonic_ns();
	region(rig, 0, 1000, pid);
	at(rig, 2000, pid, true);
	until(rig, 5000);
	agent_end(agent);
	rig_until(rig, !gp_daemon_host_client(rig->daemon, pid));
	assert_int_equal(gp_daemon_account_list(rig->daemon, 0, pid, accounts), 1);
	assert_int_equal(accounts->accounts[0].job.active_ns, 4000000);
	assert_int_equal(accounts->accounts[0].job.activity, 1);
	assert_int_equal(rig->daemon->metrics.ended[0].active_ns +
				 rig->daemon->metrics.ended[1].active_ns +
				 rig->daemon->metrics.ended[2].active_ns,
			 4000000);
	free(accounts);
	rig_free(rig);
}

static void a_switch_is_a_line_of_the_timeline_and_too_many_are_not(void **state)
{
	struct rig *rig = reading();
	struct agent *agent = on_gpu(rig, 0, 1000);
	u64 first = rig->daemon->record.next_work;

	(void)state;
	zero_ns = gp_monotonic_ns();
	region(rig, 0, 1, (u32)agent->pid);
	assert_int_equal(rig->daemon->record.next_work - first, 2);
	for (u32 i = 1; i < 10000; i++)
		region(rig, 2 * i, 2 * i + 1, (u32)agent->pid);
	assert_int_equal(rig->daemon->record.next_work - first, 4000);
	rig_free(rig);
}

/* ---- turns ---- */

static bool held(const struct agent *agent)
{
	return fake_held(agent->pid);
}

static void an_idle_batch_job_gives_its_turn_up_and_comes_back(void **state)
{
	struct rig *rig = reading();
	struct agent *busy = on_gpu(rig, 0, 500), *idle = on_gpu(rig, 0, 500);

	(void)state;
	rig_until(rig, held(busy) != held(idle));
	rig_until(rig, held(busy)); /* it is the other one's turn */
	zero_ns = gp_monotonic_ns();
	at(rig, 0, (u32)busy->pid, false); /* it had the GPU until it was held */
	until(rig, 1000);
	until(rig, 150000);
	rig_until(rig, !held(busy) && !held(idle));
	/* One that works alone is not stopped any more... */
	at(rig, 151000, (u32)busy->pid, true);
	until(rig, 400000);
	assert_false(held(busy) || held(idle));
	/* ...until the other one has work again. */
	at(rig, 401000, (u32)busy->pid, false);
	at(rig, 401100, (u32)idle->pid, true);
	until(rig, 402000);
	rig_until(rig, held(busy) != held(idle));
	rig_free(rig);
}

/* Others wait for it: 20 ms are enough while the GPU is free. */
static void a_turn_is_given_up_soon(void **state)
{
	struct rig *rig = reading();
	struct agent *busy = on_gpu(rig, 0, 500), *idle = on_gpu(rig, 0, 500);

	(void)state;
	rig_until(rig, held(busy) != held(idle));
	rig_until(rig, held(busy));
	zero_ns = gp_monotonic_ns();
	at(rig, 0, (u32)busy->pid, false);
	region(rig, 10, 1000, (u32)idle->pid); /* the last of its work */
	until(rig, 15000);
	assert_true(held(busy));
	until(rig, 25000);
	rig_until(rig, !held(busy) && !held(idle));
	rig_free(rig);
}

/* Beside a server their slices are short; alone, or where nothing is read, they are not batch jobs.
 */
static void jobs_of_class_normal_take_turns_beside_a_server(void **state)
{
	struct rig *rig = reading();
	struct agent *one = on_gpu(rig, 0, 1000), *other = on_gpu(rig, 0, 1000);

	(void)state;
	zero_ns = gp_monotonic_ns();
	region(rig, 0, 10, (u32)one->pid);
	region(rig, 20, 30, (u32)other->pid);
	until(rig, 1000);
	assert_false(held(one) || held(other));
	struct agent *server = on_gpu(rig, 0, 2000);
	rig_until(rig, held(one) != held(other));
	assert_false(held(server));
	gp_daemon_activity_state(rig->daemon, device(rig), GP_READING_FAILED, -EPERM);
	gp_daemon_host_settle(rig->daemon);
	rig_until(rig, !held(one) && !held(other));
	rig_free(rig);
}

/* ---- strict holds ---- */

static void make_strict(struct rig *rig, const struct agent *agent)
{
	struct gp_daemon_client *client = gp_daemon_host_client(rig->daemon, (u32)agent->pid);

	snprintf(client->who.executable, sizeof(client->who.executable), "/opt/server");
	assert_int_equal(gp_daemon_host_respec(rig->daemon, client->job), 0);
	rig_run(rig);
}

static void a_strict_server_is_served_while_it_uses_the_gpu(void **state)
{
	struct rig *rig = rig_new(QUIET "[rule server]\nexecutable = server\nstrict = activity\n");
	struct agent *server = on_gpu(rig, 0, 2000), *trainer = on_gpu(rig, 0, 500);

	(void)state;
	gp_daemon_activity_state(rig->daemon, device(rig), GP_READING_ON, 0);
	make_strict(rig, server);
	zero_ns = gp_monotonic_ns();
	at(rig, 0, (u32)trainer->pid, true);
	until(rig, 1000);
	assert_false(held(trainer));
	at(rig, 2000, (u32)server->pid, true);
	until(rig, 3000);
	rig_until(rig, held(trainer));
	at(rig, 4000, (u32)trainer->pid, false);
	at(rig, 5000, (u32)server->pid, false);
	until(rig, 90000); /* it may come back soon */
	assert_true(held(trainer));
	until(rig, 120000);
	rig_until(rig, !held(trainer));
	/* What is not read is not believed. */
	at(rig, 130000, (u32)server->pid, true);
	until(rig, 131000);
	rig_until(rig, held(trainer));
	gp_daemon_activity_state(rig->daemon, device(rig), GP_READING_FAILED, -EPERM);
	gp_daemon_host_settle(rig->daemon);
	rig_until(rig, !held(trainer));
	rig_free(rig);
}

static void a_job_that_is_idle_is_not_held_for_a_strict_one(void **state)
{
	struct rig *rig = rig_new(QUIET "[rule server]\nexecutable = server\nstrict = always\n");
	struct agent *server = on_gpu(rig, 0, 2000), *idle = on_gpu(rig, 0, 500);

	(void)state;
	gp_daemon_activity_state(rig->daemon, device(rig), GP_READING_ON, 0);
	zero_ns = gp_monotonic_ns();
	region(rig, 0, 10, (u32)server->pid);
	until(rig, 1000);
	until(rig, 150000);
	make_strict(rig, server);
	assert_false(held(idle));
	at(rig, 160000, (u32)idle->pid, true);
	until(rig, 161000);
	rig_until(rig, held(idle));
	rig_free(rig);
}

static void a_job_that_may_only_be_kept_waiting_is_not_idle(void **state)
{
	struct rig *rig = reading();
	struct agent *server = on_gpu(rig, 0, 2000);
	struct agent *one = on_gpu(rig, 0, 500), *other = on_gpu(rig, 0, 500);

	(void)state;
	rig_until(rig, held(one) != held(other));
	zero_ns = gp_monotonic_ns();
	at(rig, 0, (u32)server->pid, true); /* and it has it all the time */
	until(rig, 1000);
	for (u32 i = 1; i < 20; i++)
		until(rig, i * 50000);
	assert_true(held(one) != held(other));
	rig_free(rig);
}

static void nothing_is_concluded_before_the_first_record_or_after_a_loss(void **state)
{
	struct rig *rig = reading();
	struct agent *one = on_gpu(rig, 0, 500), *other = on_gpu(rig, 0, 500);

	(void)state;
	rig_until(rig, held(one) != held(other));
	zero_ns = gp_monotonic_ns();
	for (u32 i = 1; i < 10; i++)
		until(rig, i * 50000);
	assert_true(held(one) != held(other));
	at(rig, 500000, (u32)one->pid, true);
	at(rig, 500001, (u32)one->pid, false);
	gp_daemon_activity_lost(rig->daemon, device(rig), 1);
	for (u32 i = 11; i < 20; i++)
		until(rig, i * 50000);
	rig_until(rig, held(one) != held(other));
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_on_the_gpu_is_counted_while_it_lasts),
		cmocka_unit_test(a_share_is_of_the_last_second),
		cmocka_unit_test(the_trainer_is_preempted_and_the_server_is_idle),
		cmocka_unit_test(two_that_alternate_preempt_each_other),
		cmocka_unit_test(a_process_that_had_the_pid_before_is_another),
		cmocka_unit_test(strangers_and_hidden_pids_count_for_the_device_only),
		cmocka_unit_test(what_was_lost_is_not_made_up),
		cmocka_unit_test(time_is_booked_on_the_gpu_where_it_was),
		cmocka_unit_test(a_job_keeps_what_its_processes_had),
		cmocka_unit_test(a_switch_is_a_line_of_the_timeline_and_too_many_are_not),
		cmocka_unit_test(an_idle_batch_job_gives_its_turn_up_and_comes_back),
		cmocka_unit_test(a_turn_is_given_up_soon),
		cmocka_unit_test(jobs_of_class_normal_take_turns_beside_a_server),
		cmocka_unit_test(a_strict_server_is_served_while_it_uses_the_gpu),
		cmocka_unit_test(a_job_that_is_idle_is_not_held_for_a_strict_one),
		cmocka_unit_test(a_job_that_may_only_be_kept_waiting_is_not_idle),
		cmocka_unit_test(nothing_is_concluded_before_the_first_record_or_after_a_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
