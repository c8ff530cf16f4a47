// SPDX-License-Identifier: MIT
/* Suspensions, with a driver of the test's own: what is called, when, and what never is. */
#include "fake_driver.h"

#include <sys/socket.h>
#include <unistd.h>

static int setup(void **state)
{
	*state = fake_new();
	return 0;
}

static int teardown(void **state)
{
	fake_free(*state);
	return 0;
}

static void one_call_stops_a_queue_and_one_starts_it(void **state)
{
	struct fake *fake = *state;

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	app_create(fake, GP_KFD_QUEUE_SDMA, 15);
	assert_int_equal(hold(fake, 0, ALL), 2);
	assert_int_equal(fake->updates, 2);
	assert_int_equal(percentage(fake, 0) + percentage(fake, 1), 0);
	assert_int_equal(hold(fake, 0, ALL), 2);
	assert_int_equal(hold(fake, 1, ALL), 2);
	assert_int_equal(fake->updates, 2);
	assert_int_equal(let_go(fake, 0, ALL), 0);
	assert_int_equal(let_go(fake, 1, ALL), 2);
	assert_int_equal(let_go(fake, 1, ALL), 0);
	assert_int_equal(fake->updates, 4);
	assert_int_equal(percentage(fake, 0), 100);
	assert_int_equal(fake->queue[1].now.queue_priority, 15);
}

static void the_cost_of_a_change_is_told(void **state)
{
	struct fake *fake = *state;
	struct gp_proto_msg_done done;
	struct ask ask = ALL;

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	fake->call_takes = 500;
	ask.head.sent_ns = fake->now - 70;
	assert_int_equal(hold_and_tell(fake, 0, ask, &done), 2);
	assert_int_equal(done.issue_ns, 70);
	assert_int_equal(done.driver_ns, 1000);
	assert_int_equal(done.queues, 2);
	assert_int_equal(done.processes, 1);
}

static void what_the_program_asks_of_a_held_queue_is_kept_for_later(void **state)
{
	struct fake *fake = *state;

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	hold(fake, 0, ALL);
	/* A new priority is the driver's at once, without waking the queue. */
	assert_int_equal(app_update(fake, 0, 100, 11), 0);
	assert_int_equal(percentage(fake, 0), 0);
	assert_int_equal(fake->queue[0].now.queue_priority, 11);
	assert_int_equal(fake->updates, 2);
	/* A new percentage alone is nothing to it. */
	assert_int_equal(app_update(fake, 0, 50, 11), 0);
	assert_int_equal(fake->updates, 2);
	let_go(fake, 0, ALL);
	assert_int_equal(percentage(fake, 0), 50);
	assert_int_equal(fake->queue[0].now.queue_priority, 11);
	assert_int_equal(fake->useless, 0);
}

static void a_queue_the_program_stopped_itself_stays_stopped(void **state)
{
	struct fake *fake = *state;

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(app_update(fake, 0, 0, 7), 0);
	assert_int_equal(hold(fake, 0, ALL), 1);
	assert_int_equal(let_go(fake, 0, ALL), 0);
	assert_int_equal(fake->updates, 1);
	assert_int_equal(percentage(fake, 0), 0);
}

/* What the program asks for wrongly is between it and the driver; we never ask for it ourselves. */
static void a_ring_that_the_driver_refused_is_never_sent(void **state)
{
	struct fake *fake = *state;

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(app_update_ring(fake, 0, 100, 7, 0x20000, 4096), -EFAULT);
	hold(fake, 0, ALL);
	assert_int_equal(percentage(fake, 0), 0);
	assert_int_equal(app_update_ring(fake, 0, 100, 7, 0x10000, 8192), -EFAULT);
	let_go(fake, 0, ALL);
	assert_int_equal(percentage(fake, 0), 100);
	assert_int_equal(fake->wrong_rings, 2);
}

static void what_the_driver_refuses_reaches_the_program(void **state)
{
	struct fake *fake = *state;

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	hold(fake, 0, ALL);
	assert_int_equal(app_update(fake, 0, 101, 7), -EINVAL);
	assert_int_equal(app_update(fake, 0, 100, 16), -EINVAL);
	assert_int_equal(app_update(fake, 9, 100, 7), -EFAULT);
	let_go(fake, 0, ALL);
	assert_int_equal(percentage(fake, 0), 100);
	assert_int_equal(fake->queue[0].now.queue_priority, 7);
	assert_int_equal(app_destroy(fake, 9), -EINVAL);
	for (u32 i = 1; i < FAKE_QUEUES; i++)
		assert_int_equal(app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7), (int)i);
	assert_int_equal(app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7), -ENOSPC);
}

static void a_queue_created_while_all_are_held_is_born_stopped(void **state)
{
	struct fake *fake = *state;
	int id;

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	hold(fake, 0, ALL);
	id = app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(percentage(fake, (u32)id), 0);
	assert_int_equal(fake->updates, 1);
	let_go(fake, 0, ALL);
	assert_int_equal(percentage(fake, (u32)id), 100);
	hold(fake, 0, ONE(0));
	assert_int_equal(percentage(fake, (u32)app_create(fake, 2, 7)), 100);
}

static void an_id_that_comes_back_is_a_new_queue(void **state)
{
	struct fake *fake = *state;

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(hold(fake, 0, ONE(0)), 1);
	assert_int_equal(app_destroy(fake, 0), 0);
	assert_int_equal(app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7), 0);
	assert_int_equal(percentage(fake, 0), 100);
	assert_int_equal(let_go(fake, 0, ALL), 0);
	assert_int_equal(hold(fake, 0, ONE(1)), -ENOENT);
	assert_int_equal(hold(fake, 0, ONE(GP_AGENT_QUEUES)), -ENOENT);
}

static void letting_go_of_one_keeps_the_others(void **state)
{
	struct fake *fake = *state;

	for (int i = 0; i < 3; i++)
		app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	hold(fake, 0, ALL);
	assert_int_equal(let_go(fake, 0, ONE(1)), 1);
	assert_int_equal(percentage(fake, 0) + percentage(fake, 2), 0);
	assert_int_equal(percentage(fake, 1), 100);
	assert_int_equal(let_go(fake, 0, ONE(0)), 1);
	assert_int_equal(let_go(fake, 0, ONE(2)), 1);
	assert_int_equal(gp_agent_tick(fake->agent), 0); /* no lease is left */
}

/* A queue that is found held only now is no reason to count below none. */
static void letting_go_never_frees_less_than_none(void **state)
{
	struct fake *fake = *state;

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	fake->agent->owner[1].all = true;
	fake->agent->owner[1].lease_end = fake->now + GP_NS_PER_S;
	assert_int_equal(let_go(fake, 0, ALL), 0);
	assert_int_equal(percentage(fake, 0), 0);
}

static void a_lease_ends_by_itself(void **state)
{
	struct fake *fake = *state;
	struct gp_proto_msg_suspend renew = {0};

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	hold(fake, 0, ALL);
	assert_int_equal(gp_agent_tick(fake->agent), fake->now + 1000 * GP_NS_PER_MS);
	fake->now += 999 * GP_NS_PER_MS;
	assert_int_equal(gp_agent_renew(fake->agent, &fake->agent->owner[0], &renew), 0);
	assert_int_equal(gp_agent_tick(fake->agent), fake->now + 1000 * GP_NS_PER_MS);
	fake->now += 1000 * GP_NS_PER_MS;
	assert_int_equal(gp_agent_renew(fake->agent, &fake->agent->owner[0], &renew), -ENOLCK);
	assert_int_equal(gp_agent_tick(fake->agent), 0);
	assert_int_equal(percentage(fake, 0), 100);
}

static void the_limit_counts_renewals(void **state)
{
	struct fake *fake = *state;
	struct gp_proto_msg_suspend renew = {.lease_ms = 1000};
	u64 start = fake->now;

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	hold(fake, 0, (struct ask){.head = {.lease_ms = 1000, .limit_ms = 2500}});
	for (int i = 0; i < 4; i++) {
		fake->now += 600 * GP_NS_PER_MS;
		assert_int_equal(gp_agent_renew(fake->agent, &fake->agent->owner[0], &renew), 0);
		hold(fake, 0, ALL); /* a repeat does not move it either */
	}
	assert_int_equal(gp_agent_tick(fake->agent), start + 2500 * GP_NS_PER_MS);
	fake->now = start + 2500 * GP_NS_PER_MS;
	gp_agent_tick(fake->agent);
	assert_int_equal(percentage(fake, 0), 100);
	hold(fake, 0, ALL); /* and the next suspension is a new one */
	assert_int_equal(gp_agent_tick(fake->agent), fake->now + 1000 * GP_NS_PER_MS);
}

static void bad_leases_are_refused(void **state)
{
	struct fake *fake = *state;
	struct gp_proto_msg_suspend renew = {.lease_ms = 49};

	assert_int_equal(hold(fake, 0, (struct ask){.head = {.lease_ms = 49}}), -EINVAL);
	assert_int_equal(hold(fake, 0, (struct ask){.head = {.lease_ms = 3600001}}), -EINVAL);
	assert_int_equal(hold(fake, 0, (struct ask){.head = {.limit_ms = 3600001}}), -EINVAL);
	assert_int_equal(hold(fake, 0, (struct ask){.head = {0}}), 0);
	assert_int_equal(gp_agent_tick(fake->agent), fake->now + 100 * GP_NS_PER_MS);
	assert_int_equal(gp_agent_renew(fake->agent, &fake->agent->owner[0], &renew), -EINVAL);
}

static void a_busy_driver_is_asked_again(void **state)
{
	struct fake *fake = *state;

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	fake->fail_in = 1;
	fake->fail_times = 2;
	fake->fail_with = EBUSY;
	assert_int_equal(hold(fake, 0, ALL), 1);
	assert_int_equal(fake->updates, 3);
	assert_int_equal(percentage(fake, 0), 0);
}

static void a_suspend_that_fails_half_way_stops_nothing(void **state)
{
	struct fake *fake = *state;

	for (int i = 0; i < 3; i++)
		app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	fake->fail_in = 2;
	fake->fail_with = EACCES;
	assert_int_equal(hold(fake, 0, ALL), -EACCES);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(percentage(fake, i), 100);
	assert_int_equal(fake->agent->queue[1].error, -EACCES);
	assert_int_equal(hold(fake, 0, ALL), 3);
	assert_int_equal(fake->agent->queue[1].error, 0);
}

static void a_resume_that_fails_is_tried_again(void **state)
{
	struct fake *fake = *state;

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	hold(fake, 0, ALL);
	fake->fail_in = 1;
	fake->fail_with = EIO;
	assert_int_equal(let_go(fake, 0, ALL), -EIO);
	assert_int_equal(percentage(fake, 0), 0);
	fake->now = gp_agent_tick(fake->agent);
	assert_int_equal(gp_agent_tick(fake->agent), 0);
	assert_int_equal(percentage(fake, 0), 100);
}

/* However long the driver refuses, e.g. during a reset. */
static void no_queue_is_left_stopped_for_nobody(void **state)
{
	struct fake *fake = *state;

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	hold(fake, 0, ALL);
	fake->fail_in = 1;
	fake->fail_with = EIO;
	fake->fail_times = 200;
	assert_int_equal(let_go(fake, 0, ALL), -EIO);
	for (int i = 0; i < 1000 && !percentage(fake, 0); i++) {
		u64 next = gp_agent_tick(fake->agent);

		if (percentage(fake, 0))
			break;
		assert_int_not_equal(next, 0);
		fake->now = next;
	}
	assert_int_equal(percentage(fake, 0), 100);
}

static void *cancel_and_tell(void *data)
{
	pthread_cancel(pthread_self());
	gp_agent_tell(data, GP_MSG_AGENT_CHANGED, NULL, 0, false);
	for (;;)
		pause();
	return NULL;
}

/* Sending is where a thread can be cancelled; the program's calls were none before. */
static void a_cancelled_thread_leaves_no_lock_behind(void **state)
{
	struct fake *fake = *state;
	struct gp_agent *agent = fake->agent;
	pthread_t thread;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	agent->connection[0] = (struct gp_agent_connection){.fd = ends[0], .greeted = true};
	assert_int_equal(pthread_create(&thread, NULL, cancel_and_tell, agent), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	agent->connection[0].fd = -1;
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(pthread_mutex_trylock(&agent->watch_lock), 0);
	pthread_mutex_unlock(&agent->watch_lock);
}

static void a_suspend_that_takes_too_long_lets_go(void **state)
{
	struct fake *fake = *state;
	struct ask ask = ALL;

	for (int i = 0; i < 3; i++)
		app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	fake->call_takes = 3 * GP_NS_PER_MS;
	ask.head.timeout_ms = 5;
	assert_int_equal(hold(fake, 0, ask), -ETIME);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(percentage(fake, i), 100);
}

static void an_owner_that_is_gone_holds_nothing(void **state)
{
	struct fake *fake = *state;

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	hold(fake, 0, ALL);
	hold(fake, 1, ONE(0));
	gp_agent_let_go(fake->agent, &fake->agent->owner[0]);
	assert_int_equal(percentage(fake, 0), 0);
	gp_agent_let_go(fake->agent, &fake->agent->owner[1]);
	assert_int_equal(percentage(fake, 0), 100);
}

static void a_queue_that_is_being_destroyed_is_left_alone(void **state)
{
	struct fake *fake = *state;

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	fake->agent->queue[0].leaving = true;
	hold(fake, 0, ALL);
	assert_int_equal(fake->updates, 0);
	fake->agent->queue[0].leaving = false;
	assert_int_equal(app_destroy(fake, 0), 0);
	assert_int_equal(fake->agent->queue_count, 0);
}

/* ---- anything in any order ---- */

struct wish {
	bool used;
	u32 percentage, priority;
};

static void check(struct fake *fake, const struct wish *wishes, u32 seed)
{
	for (u32 id = 0; id < FAKE_QUEUES; id++) {
		const struct gp_kfd_update_queue_args *now = &fake->queue[id].now;
		bool held;

		if (fake->queue[id].used != wishes[id].used)
			fail_msg("seed %u: queue %u is not there or too much there", seed, id);
		if (!wishes[id].used)
			continue;
		held = gp_agent_held(fake->agent, &fake->agent->queue[id]);
		if (now->queue_percentage != (held ? 0 : wishes[id].percentage) ||
		    now->queue_priority != wishes[id].priority)
			fail_msg("seed %u: queue %u has %u %%, priority %u", seed, id,
				 now->queue_percentage, now->queue_priority);
	}
	if (fake->useless)
		fail_msg("seed %u: a call that changed nothing", seed);
}

static void step(struct fake *fake, struct wish *wishes, u32 *random)
{
	u32 what = (u32)rand_r(random) % 12, owner = (u32)rand_r(random) % 4;
	u32 id = (u32)rand_r(random) % 12;
	int got;

	switch (what) {
	case 0:
	case 1:
		got = app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
		if (got >= 0)
			wishes[got] = (struct wish){true, 100, 7};
		break;
	case 2:
		if (!app_destroy(fake, id))
			wishes[id].used = false;
		break;
	case 3:
	case 4: {
		u32 percent = id % 3 ? 100 : 50, priority = (u32)rand_r(random) % 16;

		/* One that changes nothing is the program's own affair. */
		if (wishes[id].used &&
		    (wishes[id].percentage != percent || wishes[id].priority != priority) &&
		    !app_update(fake, id, percent, priority))
			wishes[id] = (struct wish){true, percent, priority};
		break;
	}
	case 5:
	case 6:
		hold(fake, owner, ALL);
		break;
	case 7:
		hold(fake, owner, ONE(id));
		break;
	case 8:
		let_go(fake, owner, ALL);
		break;
	case 9:
		let_go(fake, owner, ONE(id));
		break;
	case 10:
		gp_agent_let_go(fake->agent, &fake->agent->owner[owner]);
		break;
	default:
		fake->now += (u64)(rand_r(random) % 1500) * GP_NS_PER_MS;
		gp_agent_tick(fake->agent);
	}
}

static void whatever_happens_the_driver_has_what_it_should(void **state)
{
	(void)state;
	for (u32 seed = 1; seed <= 40; seed++) {
		struct fake *fake = fake_new();
		struct wish wishes[FAKE_QUEUES] = {0};
		u32 random = seed;

		for (int i = 0; i < 1500; i++) {
			step(fake, wishes, &random);
			check(fake, wishes, seed);
		}
		fake_free(fake);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_call_stops_a_queue_and_one_starts_it),
		TEST(the_cost_of_a_change_is_told),
		TEST(what_the_program_asks_of_a_held_queue_is_kept_for_later),
		TEST(a_queue_the_program_stopped_itself_stays_stopped),
		TEST(a_ring_that_the_driver_refused_is_never_sent),
		TEST(what_the_driver_refuses_reaches_the_program),
		TEST(a_queue_created_while_all_are_held_is_born_stopped),
		TEST(an_id_that_comes_back_is_a_new_queue),
		TEST(letting_go_of_one_keeps_the_others),
		TEST(letting_go_never_frees_less_than_none),
		TEST(a_lease_ends_by_itself),
		TEST(the_limit_counts_renewals),
		TEST(bad_leases_are_refused),
		TEST(a_busy_driver_is_asked_again),
		TEST(a_suspend_that_fails_half_way_stops_nothing),
		TEST(a_resume_that_fails_is_tried_again),
		TEST(no_queue_is_left_stopped_for_nobody),
		TEST(a_cancelled_thread_leaves_no_lock_behind),
		TEST(a_suspend_that_takes_too_long_lets_go),
		TEST(an_owner_that_is_gone_holds_nothing),
		TEST(a_queue_that_is_being_destroyed_is_left_alone),
		cmocka_unit_test(whatever_happens_the_driver_has_what_it_should),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
