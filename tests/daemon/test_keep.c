// SPDX-License-Identifier: MIT
/* GPU work that follows the host's stop, and holds by name: who is suspended, how long, and what
 * ends it. */
#include "owner.h"
#include "proto/swapped.h"

#define FOLLOW ACT "[rule all]\nexecutable = *\nfollow_stop = yes\n"
#define BRIEF \
	"[daemon]\nmode = act\nlease = 50ms\nmax_suspend = 10ms\noperation_timeout = 60s\n" PROMPT

static struct gp_daemon_client *client_of(struct rig *rig, const struct agent *agent)
{
	return gp_daemon_host_client(rig->daemon, (u32)agent->pid);
}

static void stop(const struct agent *agent, bool stopped)
{
	kill(agent->pid, stopped ? SIGSTOP : SIGCONT);
}

static void pass(struct rig *rig, u64 ms)
{
	u64 start = gp_monotonic_ns();

	while (gp_monotonic_ns() - start < ms * GP_NS_PER_MS) {
		rig_run(rig);
		gp_loop_step(&rig->daemon->loop, 10);
	}
}

/* ---- owners ---- */

static struct gp_proto_msg_named_held owner_hold(struct owner *owner, struct rig *rig,
						 const char *group, u32 on)
{
	struct gp_proto_msg_named_held held;

	owner_ask(owner, group, on);
	rig_until(rig, owner_has_answer(owner));
	assert_int_equal(owner->message.header.status, 0);
	assert_true(gp_wire_fits(&owner->message, sizeof(held), 0, 0));
	memcpy(&held, owner->message.body, sizeof(held));
	return held;
}

/* ---- follow_stop ---- */

static void a_stopped_process_leaves_the_gpu_until_it_continues(void **state)
{
	struct rig *rig = rig_new(BRIEF "[rule all]\nexecutable = *\nfollow_stop = yes\n");
	struct agent *agent = agent_known(rig, 2, 500);

	(void)state;
	work(rig, agent, true);
	stop(agent, true);
	rig_until(rig, fake_held(agent->pid));
	/* Its agent cannot answer. */
	assert_int_equal(fake.last_mechanism, GPREEMPT_KFD_DEBUG);
	rig_run(rig);
	assert_int_equal(view(rig, agent).away, GP_AWAY_STOPPED);
	assert_int_equal(view(rig, agent).kept, GP_KEPT_HELD);
	assert_int_equal(lines(rig, agent, GP_DECISION_KEPT, GP_SCHED_WHYS), 1);
	/* Longer than max_suspend, the lease renewed. */
	int before = fake.renewals;
	pass(rig, 200);
	assert_true(fake_held(agent->pid));
	assert_true(fake.renewals > before);
	assert_int_equal(fake.suspends, 1);
	stop(agent, false);
	rig_until(rig, !fake_held(agent->pid));
	assert_int_equal(view(rig, agent).kept, GP_KEPT_NOT);
	assert_int_equal(view(rig, agent).away, GP_AWAY_NOT);
	assert_int_equal(lines(rig, agent, GP_DECISION_LET_GO, GP_SCHED_WHYS), 1);
	assert_true(view(rig, agent).held_ns >= 200 * GP_NS_PER_MS);
	assert_true(view(rig, agent).longest_ns >= 200 * GP_NS_PER_MS);
	assert_int_equal(view(rig, agent).suspends, 1);
	rig_free(rig);
}

static void without_the_rule_nothing_is_suspended(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_known(rig, 2, 500);

	(void)state;
	work(rig, agent, true);
	stop(agent, true);
	rig_until(rig, view(rig, agent).away == GP_AWAY_STOPPED);
	pass(rig, 150);
	assert_int_equal(fake.suspends, 0);
	assert_int_equal(view(rig, agent).kept, GP_KEPT_NOT);
	rig_free(rig);
}

static void jobs_of_slurm_follow_unless_a_rule_says_no(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_in_group(rig, "slurm-17"), *other = agent_in_group(rig, "x");

	(void)state;
	work(rig, agent, true);
	work(rig, other, true);
	stop(agent, true);
	stop(other, true);
	rig_until(rig, fake_held(agent->pid) && view(rig, other).away);
	assert_false(fake_held(other->pid));
	reload_as(rig, ACT "[rule all]\nexecutable = *\nfollow_stop = no\n");
	rig_until(rig, !fake_held(agent->pid));
	reload_as(rig, FOLLOW);
	rig_until(rig, fake_held(agent->pid) && fake_held(other->pid));
	rig_free(rig);
}

static void one_stopped_rank_of_a_running_job_is_left_as_it_is(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *a = agent_in_group(rig, "slurm-17"), *b = agent_in_group(rig, "slurm-17");

	(void)state;
	work(rig, a, true);
	work(rig, b, true);
	stop(a, true);
	rig_until(rig, rig->daemon->away_count == 1);
	pass(rig, 150);
	assert_int_equal(fake.suspends, 0);
	stop(b, true);
	rig_until(rig, fake_held(a->pid) && fake_held(b->pid));
	/* One line for the job. */
	assert_int_equal(lines(rig, a, GP_DECISION_KEPT, GP_SCHED_WHYS), 1);
	stop(b, false);
	rig_until(rig, !fake_held(a->pid) && !fake_held(b->pid));
	rig_free(rig);
}

static void what_cannot_be_suspended_is_reported_and_tried_again(void **state)
{
	struct rig *rig = rig_new(FOLLOW);
	struct agent *agent = agent_known(rig, 2, 500);

	(void)state;
	work(rig, agent, true);
	fake.suspend_error = -EOPNOTSUPP;
	stop(agent, true);
	rig_until(rig, view(rig, agent).kept == GP_KEPT_FAILED);
	assert_int_equal(view(rig, agent).keep_error, -EOPNOTSUPP);
	fake.suspend_error = 0;
	rig_until(rig, fake_held(agent->pid));
	rig_until(rig, view(rig, agent).kept == GP_KEPT_HELD);
	/* The end of the process is the end of it. */
	agent_end(agent);
	rig_until(rig, gp_list_empty(&rig->daemon->jobs));
	rig_free(rig);
}

/* ---- holds by name ---- */

static void an_owner_is_answered_when_all_processes_are_suspended(void **state)
{
	struct rig *rig = rig_new(BRIEF);
	struct agent *a = agent_in_group(rig, "slurm-17"), *b = agent_in_group(rig, "slurm-17");
	struct agent *other = agent_in_group(rig, "slurm-18");
	struct owner owner;

	(void)state;
	work(rig, a, true);
	work(rig, other, true);
	owner_open(&owner, rig);
	fake.wait = true;
	owner_ask(&owner, "slurm-17", 1);
	rig_until(rig, fake.waiting_count == 2);
	assert_false(owner_has_answer(&owner));
	fake.wait = false;
	fake_finish(1);
	rig_until(rig, owner_has_answer(&owner));
	const struct gp_proto_msg_named_held *held = (const void *)owner.message.body;
	assert_int_equal(owner.message.header.serial, owner.serial);
	assert_int_equal(held->processes, 2);
	assert_int_equal(held->held, 2);
	assert_true(fake_held(a->pid) && fake_held(b->pid) && !fake_held(other->pid));
	assert_int_equal(view(rig, a).away, GP_AWAY_OWNER);
	assert_string_equal(view(rig, a).owner, "slurm");
	pass(rig, 150); /* beyond max_suspend */
	assert_true(fake_held(a->pid));
	/* One that comes is held as well. */
	struct agent *late = agent_in_group(rig, "slurm-17");
	rig_until(rig, fake_held(late->pid));
	owner_hold(&owner, rig, "slurm-17", 0);
	rig_until(rig, !fake_held(a->pid) && !fake_held(b->pid) && !fake_held(late->pid));
	assert_int_equal(view(rig, a).away, GP_AWAY_NOT);
	close(owner.socket);
	rig_free(rig);
}

static void a_hold_ends_with_its_owner_or_by_its_name(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_in_group(rig, "slurm-17");
	struct owner first, second;

	(void)state;
	work(rig, agent, true);
	owner_open(&first, rig);
	owner_open(&second, rig);
	owner_hold(&first, rig, "slurm-17", 1);
	assert_true(fake_held(agent->pid));
	close(first.socket);
	rig_until(rig, !fake_held(agent->pid));
	/* One that comes back takes over what the other connection held. */
	owner_open(&first, rig);
	owner_hold(&first, rig, "slurm-17", 1);
	assert_int_equal(owner_hold(&second, rig, "slurm-17", 1).held, 1);
	close(first.socket);
	pass(rig, 30);
	assert_true(fake_held(agent->pid));
	owner_open(&first, rig);
	owner_hold(&first, rig, "slurm-17", 0);
	rig_until(rig, !fake_held(agent->pid));
	close(first.socket);
	close(second.socket);
	rig_free(rig);
}

static void a_group_without_processes_is_no_reason_to_wait(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct owner owner;

	(void)state;
	owner_open(&owner, rig);
	assert_int_equal(owner_hold(&owner, rig, "slurm-99", 1).processes, 0);
	owner_hold(&owner, rig, "slurm-99", 0);
	owner_hold(&owner, rig, "slurm-98", 0); /* was never held */
	close(owner.socket);
	rig_free(rig);
}

static void a_daemon_that_observes_refuses_holds_and_lets_go(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_in_group(rig, "slurm-17");
	struct owner owner;

	(void)state;
	work(rig, agent, true);
	owner_open(&owner, rig);
	owner_hold(&owner, rig, "slurm-17", 1);
	assert_true(fake_held(agent->pid));
	reload_as(rig, "[daemon]\nmode = observe\n");
	assert_int_equal(view(rig, agent).away, GP_AWAY_NOT);
	assert_int_equal(view(rig, agent).kept, GP_KEPT_NOT);
	owner_ask(&owner, "slurm-17", 1);
	rig_until(rig, owner_has_answer(&owner));
	assert_int_equal(owner.message.header.status, -EOPNOTSUPP);
	close(owner.socket);
	rig_free(rig);
}

static void what_an_agent_suspended_stays_so_while_its_process_is_stopped(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_in_group(rig, "slurm-17");
	struct owner owner;

	(void)state;
	work(rig, agent, true);
	owner_open(&owner, rig);
	owner_hold(&owner, rig, "slurm-17", 1);
	assert_int_equal(fake.last_mechanism, GPREEMPT_AUTO);
	stop(agent, true);
	waitpid(agent->pid, NULL, WUNTRACED);
	/* The holder gives an agent up that does not answer, and nothing works from outside. */
	fake.suspend_error = -EOPNOTSUPP;
	fake_lose(agent->pid);
	pass(rig, 50);
	assert_int_equal(view(rig, agent).kept, GP_KEPT_HELD);
	/* It continues, and its agent lets go: the owner still wants it held. */
	fake.suspend_error = 0;
	stop(agent, false);
	rig_until(rig, fake_held(agent->pid));
	rig_until(rig, view(rig, agent).kept == GP_KEPT_HELD);
	owner_hold(&owner, rig, "slurm-17", 0);
	rig_until(rig, !fake_held(agent->pid));
	assert_int_equal(view(rig, agent).suspends, 1); /* to the owner it was one */
	owner_hold(&owner, rig, "slurm-17", 1);
	owner_hold(&owner, rig, "slurm-17", 0);
	assert_int_equal(view(rig, agent).suspends, 2);
	close(owner.socket);
	rig_free(rig);
}

static void one_that_has_continued_is_not_suspended_from_outside(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_in_group(rig, "slurm-17");
	struct owner owner;

	(void)state;
	work(rig, agent, true);
	owner_open(&owner, rig);
	owner_hold(&owner, rig, "slurm-17", 1);
	stop(agent, true);
	rig_until(rig, client_of(rig, agent)->away.stopped);
	/* It is continued, and its agent says that its lease is over, before the next look. */
	stop(agent, false);
	fake_lose(agent->pid);
	rig_until(rig, fake_held(agent->pid));
	assert_int_equal(fake.last_mechanism, GPREEMPT_AUTO);
	close(owner.socket);
	rig_free(rig);
}

static void one_that_is_awake_while_the_holder_takes_it_has_not_continued(void **state)
{
	struct rig *rig = rig_new(FOLLOW);
	struct agent *agent = agent_known(rig, 2, 500);

	(void)state;
	work(rig, agent, true);
	fake.wait = true;
	stop(agent, true);
	rig_until(rig, fake.waiting_count);
	assert_int_equal(fake.last_mechanism, GPREEMPT_KFD_DEBUG);
	int opens = fake.opens;
	stop(agent, false);
	pass(rig, 150);
	assert_int_equal(client_of(rig, agent)->away.stopped, GP_STOPPED_SIGNAL);
	stop(agent, true);
	waitpid(agent->pid, NULL, WUNTRACED);
	fake_finish(1);
	rig_run(rig);
	assert_int_equal(fake.opens, opens);
	assert_int_equal(view(rig, agent).kept, GP_KEPT_HELD);
	stop(agent, false);
	rig_until(rig, view(rig, agent).away == GP_AWAY_NOT);
	assert_false(fake_held(agent->pid));
	/* One that has continued is seen when the holder has answered. */
	stop(agent, true);
	rig_until(rig, fake.waiting_count);
	stop(agent, false);
	fake_finish(1);
	rig_until(rig, view(rig, agent).away == GP_AWAY_NOT);
	assert_false(fake_held(agent->pid));
	rig_free(rig);
}

static void the_end_of_a_hold_is_on_record_where_its_process_continued_before(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_in_group(rig, "slurm-17");
	struct owner owner;

	(void)state;
	work(rig, agent, true);
	owner_open(&owner, rig);
	for (u32 i = 1; i <= 2; i++) {
		owner_hold(&owner, rig, "slurm-17", 1);
		stop(agent, true);
		waitpid(agent->pid, NULL, WUNTRACED);
		fake.suspend_error = -EOPNOTSUPP;
		fake_lose(agent->pid);
		rig_until(rig, client_of(rig, agent)->keep.asleep);
		owner_hold(&owner, rig, "slurm-17", 0);
		assert_int_equal(view(rig, agent).kept, GP_KEPT_HELD); /* it is stopped */
		stop(agent, false);
		rig_until(rig, view(rig, agent).away == GP_AWAY_NOT);
		assert_int_equal(view(rig, agent).kept, GP_KEPT_NOT);
		fake.suspend_error = 0;
		assert_int_equal(lines(rig, agent, GP_DECISION_KEPT, GP_SCHED_WHYS), i);
		assert_int_equal(lines(rig, agent, GP_DECISION_LET_GO, GP_SCHED_WHYS), i);
	}
	close(owner.socket);
	rig_free(rig);
}

static void a_lost_lease_is_taken_again(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_in_group(rig, "slurm-17");
	struct owner owner;

	(void)state;
	owner_open(&owner, rig);
	owner_hold(&owner, rig, "slurm-17", 1);
	fake_lose(agent->pid);
	rig_until(rig, fake_held(agent->pid));
	close(owner.socket);
	rig_until(rig, !fake_held(agent->pid));
	rig_free(rig);
}

/* ---- processes that are swapped out ---- */

/* As the last gpreemptd, or a user, left it: this process will bring it back. */
static struct agent *agent_swapped_out(struct rig *rig, const char *group)
{
	struct agent *agent = agent_new(rig, 2, 500);
	struct gp_proto_swapped record = {.pid = (u32)agent->pid,
					  .keeper = (u32)getpid(),
					  .start = gp_proto_swapped_start((u32)agent->pid),
					  .bytes = 4096,
					  .out = true};

	assert_int_equal(gp_proto_swapped_write(&record), 0);
	snprintf(agent->hello.group, sizeof(agent->hello.group), "%s", group);
	agent_await(rig, agent);
	return agent;
}

/* It looks at what is due at once. */
static void look_again(struct rig *rig, const struct agent *agent)
{
	client_of(rig, agent)->swap.again_ns = 0;
	gp_daemon_host_settle(rig->daemon);
}

static void a_process_that_is_out_when_it_comes_is_left_to_its_keeper(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_swapped_out(rig, "");

	(void)state;
	rig_run(rig);
	assert_int_equal(view(rig, agent).away, GP_AWAY_SWAPPED);
	assert_int_equal(view(rig, agent).swapped, 4096);
	look_again(rig, agent);
	assert_true(gp_list_empty(&rig->daemon->children));
	gp_proto_swapped_remove((u32)agent->pid);
	look_again(rig, agent);
	rig_until(rig, view(rig, agent).away == GP_AWAY_NOT);
	assert_int_equal(view(rig, agent).swapped, 0);
	rig_free(rig);
}

static void a_held_process_that_is_out_is_not_suspended_and_stays_out(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_swapped_out(rig, "slurm-17");
	struct gp_proto_msg_named_held held;
	struct owner owner;

	(void)state;
	owner_open(&owner, rig);
	held = owner_hold(&owner, rig, "slurm-17", 1);
	assert_int_equal(held.processes, 1);
	assert_int_equal(held.held, 1);
	assert_int_equal(fake.suspends, 0);
	/* Nothing is looked at until the hold ends, or it is back by other means. */
	look_again(rig, agent);
	assert_int_equal(client_of(rig, agent)->swap.again_ns, 0);
	owner_hold(&owner, rig, "slurm-17", 0);
	assert_true(client_of(rig, agent)->swap.again_ns > 0);
	assert_int_equal(view(rig, agent).away, GP_AWAY_SWAPPED);
	/* Back while it is not held; then a hold is an ordinary one. */
	gp_proto_swapped_remove((u32)agent->pid);
	look_again(rig, agent);
	rig_until(rig, view(rig, agent).away == GP_AWAY_NOT);
	held = owner_hold(&owner, rig, "slurm-17", 1);
	assert_int_equal(held.held, 1);
	assert_true(fake_held(agent->pid));
	close(owner.socket);
	rig_free(rig);
}

static void a_hold_ends_where_memory_begins_to_move_and_returns_with_it(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_in_group(rig, "slurm-17");
	struct owner owner;

	(void)state;
	owner_open(&owner, rig);
	owner_hold(&owner, rig, "slurm-17", 1);
	assert_true(fake_held(agent->pid));
	client_of(rig, agent)->swap.state = GP_DAEMON_SWAP_GOING;
	gp_daemon_absent_changed(client_of(rig, agent));
	gp_daemon_host_settle(rig->daemon);
	assert_false(fake_held(agent->pid));
	/* An owner that asks again waits until it has moved. */
	owner_ask(&owner, "slurm-17", 1);
	pass(rig, 50);
	assert_false(owner_has_answer(&owner));
	client_of(rig, agent)->swap.state = GP_DAEMON_SWAP_IN;
	gp_daemon_absent_changed(client_of(rig, agent));
	gp_daemon_host_settle(rig->daemon);
	rig_until(rig, owner_has_answer(&owner));
	assert_true(fake_held(agent->pid));
	close(owner.socket);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stopped_process_leaves_the_gpu_until_it_continues),
		cmocka_unit_test(without_the_rule_nothing_is_suspended),
		cmocka_unit_test(jobs_of_slurm_follow_unless_a_rule_says_no),
		cmocka_unit_test(one_stopped_rank_of_a_running_job_is_left_as_it_is),
		cmocka_unit_test(what_cannot_be_suspended_is_reported_and_tried_again),
		cmocka_unit_test(an_owner_is_answered_when_all_processes_are_suspended),
		cmocka_unit_test(a_hold_ends_with_its_owner_or_by_its_name),
		cmocka_unit_test(a_group_without_processes_is_no_reason_to_wait),
		cmocka_unit_test(a_daemon_that_observes_refuses_holds_and_lets_go),
		cmocka_unit_test(what_an_agent_suspended_stays_so_while_its_process_is_stopped),
		cmocka_unit_test(one_that_has_continued_is_not_suspended_from_outside),
		cmocka_unit_test(one_that_is_awake_while_the_holder_takes_it_has_not_continued),
		cmocka_unit_test(the_end_of_a_hold_is_on_record_where_its_process_continued_before),
		cmocka_unit_test(a_lost_lease_is_taken_again),
		cmocka_unit_test(a_process_that_is_out_when_it_comes_is_left_to_its_keeper),
		cmocka_unit_test(a_held_process_that_is_out_is_not_suspended_and_stays_out),
		cmocka_unit_test(a_hold_ends_where_memory_begins_to_move_and_returns_with_it),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
