// SPDX-License-Identifier: MIT
/* Which descriptors are followed by launches, and what is spent on those that are not. */
#include <testlib.h>

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/auto.h"
#include "base/clock.h"

#define MS      GP_NS_PER_MS
#define US      GP_NS_PER_US
#define SOCKET  5
#define NOISE   7
#define BATCHES 40 /* requests that are enough to learn */
#define LEAD    (400 * US)

struct bench {
	struct gp_agent_learn learn;
	struct gp_agent_thread thread, other;
	u64 now;
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->now = GP_NS_PER_S;
	gp_agent_learn_init(&b->learn, b->now);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* A request: an event, and a launch of the same thread or of the other. True: it was hinted. */
static bool request(struct bench *b, int fd, bool crosses)
{
	bool hinted;

	b->now += 10 * MS;
	hinted = gp_agent_learn_event(&b->learn, &b->thread, fd, b->now) != 0;
	b->now += 300 * US;
	gp_agent_learn_launch(&b->learn, crosses ? &b->other : &b->thread, hinted, b->now);
	b->now += 700 * US;
	gp_agent_learn_returned(&b->learn, &b->thread, b->now);
	return hinted;
}

static u32 requests(struct bench *b, int fd, bool crosses, int count)
{
	u32 hinted = 0;

	for (int i = 0; i < count; i++)
		hinted += request(b, fd, crosses);
	return hinted;
}

/* When the GPU is switched, before a launch that is expected after `delay`; the usual where the
 * hint is left out to compare. */
static u64 lead_of(struct bench *b, u64 delay)
{
	u64 at;

	b->now += 10 * MS;
	at = gp_agent_learn_event(&b->learn, &b->thread, SOCKET, b->now);
	assert_true(at >= b->now || b->thread.control);
	at = b->thread.control ? LEAD : b->now + delay - at;
	b->now += delay;
	gp_agent_learn_launch(&b->learn, &b->thread, true, b->now);
	gp_agent_learn_returned(&b->learn, &b->thread, b->now);
	return at;
}

static void a_launch_that_comes_on_time_needs_a_shorter_lead(void **state)
{
	struct bench *b = *state;
	u64 steady, unsteady = 0;

	for (int i = 0; i < BATCHES; i++) {
		b->now += 10 * MS;
		gp_agent_learn_event(&b->learn, &b->thread, SOCKET, b->now);
		b->now += 2 * MS;
		gp_agent_learn_launch(&b->learn, &b->thread, false, b->now);
		gp_agent_learn_returned(&b->learn, &b->thread, b->now);
	}
	for (int i = 0; i < BATCHES; i++)
		steady = lead_of(b, 2 * MS);
	assert_in_range(steady, LEAD, 450 * US);
	for (int i = 0; i < BATCHES; i++)
		unsteady = GP_MAX(unsteady, lead_of(b, i % 2 ? 2 * MS : 3 * MS) - (i % 2 ? 0 : MS));
	assert_true(unsteady > 450 * US);
}

/* Learns from requests that take `first`; afterwards one takes `with` with a hint and `without`
 * without one. What the agent says in the end, or as soon as hints are off. */
static u32 state_when(struct bench *b, u64 first, u64 with, u64 without)
{
	struct gp_proto_msg_ahead said = {0};

	for (int i = 0; i < 2 * GP_AGENT_AUTO_CONTROL; i++) {
		u64 at, took;
		bool paid;

		b->now += 10 * MS;
		at = gp_agent_learn_event(&b->learn, &b->thread, SOCKET, b->now);
		paid = at && gp_agent_learn_pay(&b->learn, MS, b->now);
		took = i < GP_AGENT_AUTO_EPISODES ? first : paid ? with : without;
		b->now += 300 * US;
		gp_agent_learn_launch(&b->learn, &b->thread, paid, b->now);
		b->now += took;
		gp_agent_learn_returned(&b->learn, &b->thread, b->now);
		if (paid)
			gp_agent_learn_judge(&b->learn, MS, true, b->now);
		gp_agent_learn_describe(&b->learn, b->now, &said);
		if (said.state == GP_AHEAD_OFF_SLOWER)
			break;
	}
	return said.state;
}

/* It started slowly; now a request is faster without a hint than with one. */
static void hints_end_although_the_first_requests_were_slow(void **state)
{
	assert_int_equal(state_when(*state, 5 * MS, 800 * US, 600 * US), GP_AHEAD_OFF_SLOWER);
}

/* A server that started before the training: with it a request takes longer than before, with a
 * hint and still more without one. */
static void hints_go_on_although_the_first_requests_were_alone(void **state)
{
	assert_int_equal(state_when(*state, 600 * US, 800 * US, 1000 * US), GP_AHEAD_ON);
}

/* A hint ends with the last launch of a request, if that can be known. */
static void the_last_of_few_launches_is_known(void **state)
{
	struct bench *b = *state;

	assert_true(gp_agent_learn_last(&b->learn, 1));
	for (int i = 0; i < 16; i++)
		gp_agent_learn_count(&b->learn, 3);
	assert_false(gp_agent_learn_last(&b->learn, 2));
	assert_true(gp_agent_learn_last(&b->learn, 3));
	for (int i = 0; i < 8; i++)
		gp_agent_learn_count(&b->learn, 300);
	assert_false(gp_agent_learn_last(&b->learn, 300));
	for (int i = 0; i < 32; i++)
		gp_agent_learn_count(&b->learn, 1);
	assert_true(gp_agent_learn_last(&b->learn, 1));
	for (int i = 0; i < 32; i++)
		gp_agent_learn_count(&b->learn, UINT32_MAX);
	assert_false(gp_agent_learn_last(&b->learn, 1));
}

static void a_descriptor_that_launches_follow_is_trusted_after_a_while(void **state)
{
	struct bench *b = *state;

	assert_int_equal(requests(b, SOCKET, false, GP_AGENT_AUTO_EPISODES), 0);
	assert_int_equal(requests(b, SOCKET, false, BATCHES), BATCHES - 1); /* one to compare */
	assert_in_range(gp_agent_learn_delay(&b->learn, SOCKET), 290, 310);
}

static void a_thread_that_launches_for_another_counts(void **state)
{
	struct bench *b = *state;

	assert_true(requests(b, SOCKET, true, BATCHES) > 0);
}

static void a_descriptor_that_nothing_follows_is_never_trusted(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < 10000; i++) {
		b->now += 100 * US;
		assert_int_equal(gp_agent_learn_event(&b->learn, &b->thread, NOISE, b->now), 0);
	}
}

static void trust_ends_with_the_launches(void **state)
{
	struct bench *b = *state;
	u32 hinted = 0;

	requests(b, SOCKET, false, BATCHES);
	for (int i = 0; i < 100; i++) {
		b->now += 50 * MS;
		hinted += gp_agent_learn_event(&b->learn, &b->thread, SOCKET, b->now) != 0;
	}
	assert_in_range(hinted, 1, 4);
}

/* Messages at another thread, 10,000 per second, beside requests: neither trusted themselves, nor
 * in the way of those that are. */
static void a_flood_beside_requests_is_not_trusted(void **state)
{
	struct bench *b = *state;
	u32 hinted = 0;

	for (int i = 0; i < 200; i++) {
		hinted += request(b, SOCKET, i % 2);
		for (int j = 0; j < 240; j++) {
			b->now += 100 * US;
			assert_int_equal(gp_agent_learn_event(&b->learn, &b->other, NOISE, b->now),
					 0);
		}
	}
	assert_true(hinted > 100);
}

/* As many messages as that are about something else, though a launch comes soon after each. */
static void a_flood_before_each_launch_is_not_trusted(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < 200; i++) {
		for (int j = 0; j < 100; j++) {
			b->now += 100 * US;
			assert_int_equal(gp_agent_learn_event(&b->learn, &b->thread, NOISE, b->now),
					 0);
		}
		gp_agent_learn_launch(&b->learn, &b->other, false, b->now);
	}
}

static void events_of_one_request_are_one(void **state)
{
	struct bench *b = *state;

	requests(b, SOCKET, false, BATCHES);
	b->now += 10 * MS;
	assert_true(gp_agent_learn_event(&b->learn, &b->thread, SOCKET, b->now) != 0);
	b->now += 10 * US;
	assert_int_equal(gp_agent_learn_event(&b->learn, &b->thread, SOCKET, b->now), 0);
}

static void a_context_that_is_busy_needs_no_hint(void **state)
{
	struct bench *b = *state;

	requests(b, SOCKET, false, BATCHES);
	b->now += 10 * MS;
	gp_agent_learn_launch(&b->learn, &b->other, false, b->now);
	b->now += 100 * US;
	assert_int_equal(gp_agent_learn_event(&b->learn, &b->thread, SOCKET, b->now), 0);
}

static void connections_share_what_their_listener_learned(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < BATCHES; i++) {
		gp_agent_learn_accepted(&b->learn, SOCKET, 10 + i % 3);
		request(b, 10 + i % 3, false);
		gp_agent_learn_closed(&b->learn, 10 + i % 3);
	}
	gp_agent_learn_accepted(&b->learn, SOCKET, 99);
	assert_true(request(b, 99, false));
	gp_agent_learn_closed(&b->learn, 99);
	assert_false(request(b, 99, false)); /* the number is another's now */
}

static void a_closed_descriptor_is_forgotten(void **state)
{
	struct bench *b = *state;
	int fd = eventfd(0, 0);

	assert_true(gp_agent_learn_wanted(&b->learn, fd));
	requests(b, fd, false, BATCHES);
	gp_agent_learn_closed(&b->learn, fd);
	assert_false(gp_agent_learn_known(&b->learn, fd));
	assert_int_equal(requests(b, fd, false, GP_AGENT_AUTO_EPISODES), 0);
	close(fd);
}

static void files_do_not_count(void **state)
{
	struct bench *b = *state;
	int file = fileno(tmpfile()), pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_false(gp_agent_learn_wanted(&b->learn, file));
	assert_true(gp_agent_learn_wanted(&b->learn, pair[0]));
	assert_false(gp_agent_learn_wanted(&b->learn, -1));
	assert_false(gp_agent_learn_wanted(&b->learn, GP_AGENT_AUTO_FDS));
	assert_false(gp_agent_learn_wanted(&b->learn, 999)); /* not open */
	close(pair[0]);
	close(pair[1]);
}

/* Whatever is learned: a hint after the other that nothing follows. */
static void hints_in_vain_cost_less_than_a_hundredth(void **state)
{
	struct bench *b = *state;
	u64 begin = b->now, hold = gp_agent_learn_hold(300);

	for (int i = 0; i < 100000; i++) {
		b->now += MS;
		if (gp_agent_learn_pay(&b->learn, hold, b->now))
			gp_agent_learn_judge(&b->learn, hold, false, b->now);
	}
	assert_true(b->learn.wasted > 0 && b->learn.refused > 0);
	assert_true(b->learn.wasted_ns * 100 < b->now - begin);
}

static void useful_hints_are_free(void **state)
{
	struct bench *b = *state;
	u64 hold = gp_agent_learn_hold(300);

	for (int i = 0; i < 10000; i++) {
		b->now += MS;
		assert_true(gp_agent_learn_pay(&b->learn, hold, b->now));
		gp_agent_learn_judge(&b->learn, hold, true, b->now);
	}
	assert_int_equal(b->learn.wasted_ns, 0);
}

static void hints_that_are_mostly_in_vain_end_for_a_while(void **state)
{
	struct bench *b = *state;
	struct gp_proto_msg_ahead said;

	requests(b, SOCKET, false, BATCHES);
	for (int i = 0; i < GP_AGENT_AUTO_JUDGED; i++)
		gp_agent_learn_judge(&b->learn, MS, i % 4 == 0, b->now);
	gp_agent_learn_describe(&b->learn, b->now, &said);
	assert_int_equal(said.state, GP_AHEAD_OFF_FALSE);
	assert_int_equal(said.off_ms, GP_AGENT_AUTO_PAUSE_NS / MS);
	assert_false(request(b, SOCKET, false));
	b->now += GP_AGENT_AUTO_PAUSE_NS;
	assert_true(request(b, SOCKET, false));
	gp_agent_learn_describe(&b->learn, b->now, &said);
	assert_int_equal(said.state, GP_AHEAD_ON);
	assert_int_equal(said.sources, 1);
}

/* Requests that the hint does not make faster: `more` is what it adds. */
static u32 state_after(struct bench *b, s64 more)
{
	struct gp_proto_msg_ahead said;

	for (int i = 0; i < 200; i++) {
		bool hinted = request(b, SOCKET, false);

		b->thread = (struct gp_agent_thread){.began = b->now,
						     .launched = hinted ? 2 : 1,
						     .control = !hinted};
		b->now += (u64)(1000 + (hinted ? more : 0)) * US;
		gp_agent_learn_returned(&b->learn, &b->thread, b->now);
		if (hinted)
			gp_agent_learn_judge(&b->learn, MS, true, b->now);
	}
	gp_agent_learn_describe(&b->learn, b->now, &said);
	return said.state;
}

static void hints_that_make_requests_slower_end_for_a_while(void **state)
{
	assert_int_equal(state_after(*state, 400), GP_AHEAD_OFF_SLOWER);
}

static void hints_that_make_requests_faster_go_on(void **state)
{
	assert_int_equal(state_after(*state, -200), GP_AHEAD_ON);
}

static void one_hint_in_many_is_left_out_to_compare(void **state)
{
	struct bench *b = *state;
	u32 hinted;

	requests(b, SOCKET, false, BATCHES);
	requests(b, SOCKET, false, GP_AGENT_AUTO_CONTROL);
	hinted = requests(b, SOCKET, false, 2 * GP_AGENT_AUTO_CONTROL);
	assert_int_equal(hinted, 2 * GP_AGENT_AUTO_CONTROL - 2);
}

static void launches_that_come_late_have_the_gpu_late(void **state)
{
	struct bench *b = *state;
	u64 at = 0;

	for (int i = 0; i < BATCHES; i++) {
		b->now += 50 * MS;
		at = gp_agent_learn_event(&b->learn, &b->thread, SOCKET, b->now);
		if (at)
			assert_in_range(at - b->now, 5 * MS, 8 * MS - 400 * US);
		b->now += 8 * MS;
		gp_agent_learn_launch(&b->learn, &b->thread, at != 0, b->now);
	}
	assert_true(at != 0);
	assert_in_range(gp_agent_learn_hold(8000), 8 * MS, 10 * MS);
}

/* A front end sees the launches of the other program in its memory. */
static void a_front_end_learns_from_the_other_programs_launches(void **state)
{
	struct gp_proto_ahead team = {.magic = GP_AHEAD_MAGIC};
	struct bench *b = *state;
	u32 hinted = 0;

	b->learn.team = &team;
	for (int i = 0; i < BATCHES; i++) {
		b->now += 25 * MS;
		hinted += gp_agent_learn_event(&b->learn, &b->thread, SOCKET, b->now) != 0;
		b->now += 400 * US;
		team.burst[team.next++ % GP_AHEAD_BURSTS] = b->now;
	}
	assert_int_equal(hinted, BATCHES - GP_AGENT_AUTO_EPISODES);
	assert_in_range(gp_agent_learn_delay(&b->learn, SOCKET), 390, 410);
}

static void the_answer_of_the_other_program_is_not_a_request(void **state)
{
	struct gp_proto_ahead team = {.magic = GP_AHEAD_MAGIC};
	struct bench *b = *state;
	u32 hinted = 0;

	b->learn.team = &team;
	for (int i = 0; i < 4 * BATCHES; i++) {
		b->now += 8 * MS;
		hinted += gp_agent_learn_event(&b->learn, &b->thread, SOCKET, b->now) != 0;
		b->now += 400 * US;
		team.burst[team.next++ % GP_AHEAD_BURSTS] = b->now;
		b->now += (i % 2 ? 1 : 6) * MS;
		assert_int_equal(gp_agent_learn_event(&b->learn, &b->thread, NOISE, b->now), 0);
	}
	assert_true(hinted > 3 * BATCHES);
	assert_int_equal(b->learn.own[NOISE].score, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_launch_that_comes_on_time_needs_a_shorter_lead),
		TEST(hints_end_although_the_first_requests_were_slow),
		TEST(hints_go_on_although_the_first_requests_were_alone),
		TEST(the_last_of_few_launches_is_known),
		TEST(a_descriptor_that_launches_follow_is_trusted_after_a_while),
		TEST(a_thread_that_launches_for_another_counts),
		TEST(a_descriptor_that_nothing_follows_is_never_trusted),
		TEST(trust_ends_with_the_launches),
		TEST(a_flood_beside_requests_is_not_trusted),
		TEST(a_flood_before_each_launch_is_not_trusted),
		TEST(events_of_one_request_are_one),
		TEST(a_context_that_is_busy_needs_no_hint),
		TEST(connections_share_what_their_listener_learned),
		TEST(a_closed_descriptor_is_forgotten),
		TEST(files_do_not_count),
		TEST(hints_in_vain_cost_less_than_a_hundredth),
		TEST(useful_hints_are_free),
		TEST(hints_that_are_mostly_in_vain_end_for_a_while),
		TEST(hints_that_make_requests_slower_end_for_a_while),
		TEST(hints_that_make_requests_faster_go_on),
		TEST(one_hint_in_many_is_left_out_to_compare),
		TEST(launches_that_come_late_have_the_gpu_late),
		TEST(a_front_end_learns_from_the_other_programs_launches),
		TEST(the_answer_of_the_other_program_is_not_a_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
