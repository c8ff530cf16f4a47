// SPDX-License-Identifier: MIT
/* What an agent says is a claim: its queues must be the driver's, its priority its user's to give.
 */
#include "rig.h"

enum { OTHER = 65534 };

static struct gp_daemon_client *client_of(struct rig *rig, const struct agent *agent)
{
	return gp_daemon_host_client(rig->daemon, (u32)agent->pid);
}

/* Until its queues have been judged twice. */
static struct agent *agent_judged(struct rig *rig, u32 job_class, u32 priority)
{
	struct agent *agent = agent_new(rig, job_class, priority);

	rig_until(rig, client_of(rig, agent) && client_of(rig, agent)->claim != GP_CLAIM_HOLDS);
	return agent;
}

static u32 claim_shown(struct rig *rig, const struct agent *agent)
{
	struct gp_proto_msg_job view;

	gp_daemon_report_job_view(rig->daemon, job_of(rig, agent), &view);
	return view.claim;
}

static void queues_that_the_driver_does_not_list_have_no_claim(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *trainer = agent_known(rig, 2, 500), *liar;

	(void)state;
	work(rig, trainer, true);
	rig_listed = 0;
	liar = agent_judged(rig, 1, 2100);
	work(rig, liar, true);
	assert_int_equal(client_of(rig, liar)->queue_count, 0);
	assert_false(job_of(rig, trainer)->wanted_held);
	assert_int_equal(lines(rig, trainer, GP_DECISION_SUSPEND, GP_SCHED_WHYS), 0);
	assert_int_equal(claim_shown(rig, liar), GP_CLAIM_NOT_LISTED);
	assert_int_equal(claim_shown(rig, trainer), GP_CLAIM_HOLDS);
	assert_non_null(strstr(gp_buf_str(&rig->said.text), "the driver does not list them"));
	rig_free(rig);
}

static void a_gpu_that_is_only_named_does_not_become_a_device(void **state)
{
	struct rig *rig = rig_new(ACT);
	u32 before = rig->daemon->device_count;

	(void)state;
	rig_listed = -EOPNOTSUPP;
	agent_judged(rig, 1, 2000);
	assert_int_equal(rig->daemon->device_count, before);
	rig_free(rig);
}

static void where_the_driver_cannot_be_asked_the_own_user_is_believed(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *trainer = agent_known(rig, 2, 500), *server;

	(void)state;
	rig_listed = -EOPNOTSUPP; /* the GPU is known by now */
	server = agent_known(rig, 1, 2000);
	work(rig, trainer, true);
	work(rig, server, true);
	assert_true(job_of(rig, trainer)->wanted_held);
	rig_free(rig);
}

static void another_users_queues_are_not_believed_there(void **state)
{
	struct rig *rig;
	struct agent *trainer, *stranger;

	(void)state;
	if (geteuid() != 0)
		skip();
	rig = rig_new(ACT);
	trainer = agent_known(rig, 2, 500);
	work(rig, trainer, true);
	rig_listed = -EOPNOTSUPP;
	rig_agent_uid = OTHER;
	stranger = agent_judged(rig, 1, 2000);
	assert_int_equal(client_of(rig, stranger)->who.uid, OTHER);
	work(rig, stranger, true);
	assert_false(job_of(rig, trainer)->wanted_held);
	assert_int_equal(claim_shown(rig, stranger), GP_CLAIM_UNCHECKED);
	rig_free(rig);
}

/* The list may be older than the end of a queue. */
static void one_list_that_is_out_of_date_is_no_lie(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent = agent_known(rig, 1, 2000);

	(void)state;
	rig_listed = 0;
	agent->queues = 2; /* one more, which has ended when the list arrives */
	agent_say(agent, GP_MSG_AGENT_CHANGED, NULL, 0);
	for (u32 before = agent->questions; agent->questions == before;) {
		gp_loop_step(&rig->daemon->loop, 10);
		agent_serve(agent);
	}
	agent->queues = 1;
	rig_run(rig);
	assert_int_equal(claim_shown(rig, agent), GP_CLAIM_HOLDS);
	assert_null(strstr(gp_buf_str(&rig->said.text), "ignoring"));
	rig_free(rig);
}

/* The driver lists a new queue a little later than its agent. */
static void a_queue_that_is_listed_later_counts_then(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent;

	(void)state;
	rig_listed = 0;
	agent = agent_judged(rig, 1, 2000);
	assert_int_equal(client_of(rig, agent)->queue_count, 0);
	rig_listed = 1;
	rig_until(rig, client_of(rig, agent)->queue_count == 1);
	rig_until(rig, claim_shown(rig, agent) == GP_CLAIM_HOLDS);
	rig_free(rig);
}

/* Neither many names nor many lists cost much. */
static void a_list_of_lies_is_looked_up_only_at_its_beginning(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *agent;
	u32 questions;

	(void)state;
	rig_listed = 0;
	rig_lookups = 0;
	agent = agent_new(rig, 1, 2000);
	agent->queues = 8;
	rig_until(rig, client_of(rig, agent) && client_of(rig, agent)->claim != GP_CLAIM_HOLDS);
	assert_int_equal(rig_lookups, 2 * 4);
	questions = agent->questions;
	for (int i = 0; i < 100; i++)
		agent_say(agent, GP_MSG_AGENT_CHANGED, NULL, 0);
	rig_run(rig);
	/* The one under way, and one for all that changed meanwhile. */
	assert_true(agent->questions > questions && agent->questions <= questions + 2);
	rig_free(rig);
}

static u32 count_said(struct rig *rig, const char *text)
{
	u32 count = 0;

	for (const char *at = gp_buf_str(&rig->said.text); (at = strstr(at, text)); at++)
		count++;
	return count;
}

static void one_users_programs_cannot_fill_the_log(void **state)
{
	struct rig *rig;

	(void)state;
	if (geteuid() != 0)
		skip();
	rig = rig_new(ACT);
	for (u32 uid = 0; uid < 2; uid++) {
		struct agent *agent;

		rig_agent_uid = uid ? OTHER : 0;
		agent = agent_known(rig, 1, 1000);
		for (int i = 0; i < 30; i++) {
			int before = agent->socket;
			char path[128], link[128];

			/* No message; then it is found again. */
			assert_int_equal(send(before, "nonsense", 8, MSG_NOSIGNAL), 8);
			rig_until(rig, agent->socket < 0);
			snprintf(path, sizeof(path), "%s/agents/%zu.sock", rig->directory,
				 rig->agents);
			snprintf(link, sizeof(link), "%s/agents/.%zu", rig->directory, rig->agents);
			assert_int_equal(rename(path, link), 0);
			assert_int_equal(rename(link, path), 0);
			agent_await(rig, agent);
		}
		/* Ten, and one more every 10 s. */
		assert_true(count_said(rig, "ignoring the agent") >= (uid ? 30 + 10 : 30));
		assert_true(count_said(rig, "ignoring the agent") < 30 + 30);
	}
	rig_free(rig);
}

/* A program destroys its queue and still calls it busy. */
static void a_claim_ends_with_the_queue(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct agent *server = agent_known(rig, 1, 2000), *trainer = agent_known(rig, 2, 500);

	(void)state;
	work(rig, trainer, true);
	work(rig, server, true);
	assert_true(job_of(rig, trainer)->wanted_held);
	rig_listed_except = server->pid;
	rig_until(rig, !job_of(rig, trainer)->wanted_held);
	rig_until(rig, claim_shown(rig, server) == GP_CLAIM_NOT_LISTED);
	assert_int_equal(client_of(rig, trainer)->queue_count, 1);
	rig_free(rig);
}

/* ---- priorities ---- */

static u32 priority_of(struct rig *rig, u32 uid, u32 priority)
{
	struct agent *agent;

	rig_agent_uid = uid;
	agent = agent_known(rig, 1, priority);
	return job_of(rig, agent)->spec.priority;
}

static void another_user_stays_below_class_online_unless_it_is_granted(void **state)
{
	struct rig *rig;

	(void)state;
	if (geteuid() != 0)
		skip();
	rig = rig_new(ACT);
	assert_int_equal(priority_of(rig, 0, 2000), 2000);
	assert_int_equal(priority_of(rig, OTHER, 2000), 1900);
	assert_int_equal(priority_of(rig, OTHER, 2100), 1900);
	assert_int_equal(priority_of(rig, OTHER, 1200), 1200);
	rig_free(rig);
	rig = rig_new(ACT "[user 65534]\nmax_priority = 2000\n");
	assert_int_equal(priority_of(rig, OTHER, 2100), 2000);
	rig_free(rig);
	rig = rig_new(ACT "[rule r]\nuser = 65534\nclass = online\n");
	assert_int_equal(priority_of(rig, OTHER, 1200), 2000);
	rig_free(rig);
}

/* A queue of a high-priority stream counts 100 more. */
static void a_stream_does_not_lift_a_job_above_its_ceiling(void **state)
{
	struct rig *rig = rig_new(ACT "[user *]\nmax_priority = 1900\n");
	struct agent *first = agent_new(rig, 1, 1850), *second;

	(void)state;
	first->lower = -100u; /* of a high-priority stream */
	agent_await(rig, first);
	second = agent_known(rig, 1, 1900);
	work(rig, second, true);
	work(rig, first, true);
	/* 1850 and not 1950: the second one goes first. */
	assert_false(job_of(rig, second)->wanted_held);
	assert_true(job_of(rig, first)->wanted_held);
	/* A ceiling that leaves room for it, set later, counts at once. */
	reload_as(rig, ACT "[user *]\nmax_priority = 1950\n");
	rig_until(rig, job_of(rig, second)->wanted_held && !job_of(rig, first)->wanted_held);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queues_that_the_driver_does_not_list_have_no_claim),
		cmocka_unit_test(a_gpu_that_is_only_named_does_not_become_a_device),
		cmocka_unit_test(where_the_driver_cannot_be_asked_the_own_user_is_believed),
		cmocka_unit_test(another_users_queues_are_not_believed_there),
		cmocka_unit_test(one_list_that_is_out_of_date_is_no_lie),
		cmocka_unit_test(a_queue_that_is_listed_later_counts_then),
		cmocka_unit_test(a_list_of_lies_is_looked_up_only_at_its_beginning),
		cmocka_unit_test(one_users_programs_cannot_fill_the_log),
		cmocka_unit_test(a_claim_ends_with_the_queue),
		cmocka_unit_test(another_user_stays_below_class_online_unless_it_is_granted),
		cmocka_unit_test(a_stream_does_not_lift_a_job_above_its_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
