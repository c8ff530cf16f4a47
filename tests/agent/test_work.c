// SPDX-License-Identifier: MIT
/*
 * What the agent says about work: busy, drained, unknown; edges per GPU; doorbells that meet looks.
 */
#include "ring.h"

#include <sys/socket.h>

static void launched_is_not_done(void **state)
{
	struct fake *fake = *state;
	struct ring ring = {0};

	make_ring(fake, &ring);
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_DRAINED);
	submit(fake, &ring, true, true);
	assert_int_equal(fake->agent->activity->slot[ring.id].state, GP_ACTIVITY_BUSY);
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_BUSY);
	ring.object.read_dispatch_id = 1;
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_BUSY);
	ring.signal.value = 0;
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_DRAINED);
	assert_int_equal(fake->agent->activity->busy_queues, 0);
	assert_int_equal(fake->agent->activity->edges, 1);
}

static void a_signal_that_is_gone_is_unknown(void **state)
{
	struct fake *fake = *state;
	struct ring ring = {0};

	make_ring(fake, &ring);
	submit(fake, &ring, true, true);
	ring.object.read_dispatch_id = 1;
	ring.packets[0].completion_signal = 0x10; /* no address of this process */
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_UNKNOWN);
	assert_int_equal(fake->agent->activity->busy_queues, 1);
	assert_int_equal(fake->agent->busy, 0);
}

static void without_a_barrier_bit_packets_before_the_last_may_still_run(void **state)
{
	struct fake *fake = *state;
	struct ring ring = {0};

	make_ring(fake, &ring);
	submit(fake, &ring, false, true);
	ring.object.read_dispatch_id = 1;
	ring.signal.value = 0;
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_DRAINED); /* there is none before it */
	submit(fake, &ring, true, false);
	submit(fake, &ring, false, true);
	ring.object.read_dispatch_id = 3;
	ring.signal.value = 0;
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_UNKNOWN);
	submit(fake, &ring, true, true);
	ring.object.read_dispatch_id = 4;
	ring.signal.value = 0;
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_DRAINED);
}

static void the_ring_comes_round(void **state)
{
	struct fake *fake = *state;
	struct ring ring = {0};

	make_ring(fake, &ring);
	for (int i = 0; i < 5 * PACKETS + 3; i++) {
		submit(fake, &ring, true, true);
		ring.object.read_dispatch_id = ring.object.write_dispatch_id;
		assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_BUSY);
		ring.signal.value = 0;
		assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_DRAINED);
	}
	assert_int_equal(fake->agent->activity->slot[ring.id].doorbells, 5 * PACKETS + 3);
}

/* ---- a signal is a claim with a limit ---- */

/* The program sets its signal again before anybody has looked at it, past the runtime. */
static void a_signal_that_never_fires_is_doubted_after_a_while(void **state)
{
	struct fake *fake = *state;
	struct ring ring = {0};

	make_ring(fake, &ring);
	submit(fake, &ring, true, true);
	ring.object.read_dispatch_id = 1;
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_BUSY);
	fake->now += 9 * GP_NS_PER_MS;
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_BUSY);
	fake->now += 2 * GP_NS_PER_MS;
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_UNKNOWN);
	assert_int_equal(fake->agent->busy, 0);
	/* It says nothing about how long work takes. */
	assert_int_equal(fake->agent->usual_ns, 0);
	/* The next packet is work again. */
	submit(fake, &ring, true, true);
	assert_int_equal(fake->agent->activity->slot[ring.id].state, GP_ACTIVITY_BUSY);
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_BUSY);
}

/* Packets that wait in the ring are work, however long it takes. */
static void packets_that_wait_are_never_doubted(void **state)
{
	struct fake *fake = *state;
	struct ring ring = {0};

	make_ring(fake, &ring);
	submit(fake, &ring, true, true);
	submit(fake, &ring, true, true);
	ring.object.read_dispatch_id = 1;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_BUSY);
		fake->now += GP_NS_PER_S;
	}
}

static void long_kernels_have_a_longer_limit_once_one_is_known(void **state)
{
	struct fake *fake = *state;
	struct ring ring = {0};

	make_ring(fake, &ring);
	for (int i = 0; i < 3; i++) {
		submit(fake, &ring, true, true);
		ring.object.read_dispatch_id = ring.object.write_dispatch_id;
		assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_BUSY);
		fake->now += 300 * GP_NS_PER_MS;
		/* The first one is doubted, and looked at until it fires. */
		assert_int_equal(state_of(fake, &ring), i ? GP_ACTIVITY_BUSY : GP_ACTIVITY_UNKNOWN);
		assert_true(gp_agent_look(fake->agent));
		fake->now += 100 * GP_NS_PER_MS;
		ring.signal.value = 0;
		assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_DRAINED);
		assert_int_equal(fake->agent->usual_ns, 400 * GP_NS_PER_MS);
	}
}

/* One slow burst does not keep a claim alive that never ends. */
static void an_exception_does_not_lengthen_the_limit(void **state)
{
	struct fake *fake = *state;
	struct ring ring = {0};

	make_ring(fake, &ring);
	for (int i = 0; i < 8; i++) {
		submit(fake, &ring, true, true);
		fake->now += (i == 6 ? 200 : 2) * GP_NS_PER_MS;
		finish(&ring);
		assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_DRAINED);
	}
	submit(fake, &ring, true, true);
	ring.object.read_dispatch_id = ring.object.write_dispatch_id;
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_BUSY);
	fake->now += 11 * GP_NS_PER_MS;
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_UNKNOWN);
}

static void time_in_suspension_does_not_count(void **state)
{
	struct fake *fake = *state;
	struct ring ring = {0};

	make_ring(fake, &ring);
	submit(fake, &ring, true, true);
	ring.object.read_dispatch_id = 1;
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_BUSY);
	hold(fake, 0, ALL);
	fake->now += 500 * GP_NS_PER_MS;
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_BUSY);
	let_go(fake, 0, ALL);
	fake->now += 9 * GP_NS_PER_MS;
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_BUSY);
	fake->now += 2 * GP_NS_PER_MS;
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_UNKNOWN);
}

static void a_signal_that_the_program_sets_again_has_fired(void **state)
{
	struct fake *fake = *state;
	struct ring ring = {0};

	make_ring(fake, &ring);
	for (int i = 0; i < 3; i++) {
		submit(fake, &ring, true, true);
		ring.object.read_dispatch_id = ring.object.write_dispatch_id;
		gp_agent_signal_reused(fake->agent, 0x1000); /* another one */
		assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_BUSY);
		/* Waited for, and set to 1 for the next packet; or destroyed, and its memory is
		 * another signal. */
		ring.signal.value = 0;
		gp_agent_signal_reused(fake->agent, (uintptr_t)&ring.signal);
		ring.signal.value = 1;
		fake->now += GP_NS_PER_MS;
		assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_DRAINED);
		assert_int_equal(fake->agent->usual_ns, GP_NS_PER_MS);
		ring.signal.value = 0; /* as submit() wants it */
	}
	/* Set before its packet is rung, it has not. */
	ring.object.write_dispatch_id++;
	ring.packets[3] = ring.packets[2];
	ring.signal.value = 1;
	gp_agent_signal_reused(fake->agent, (uintptr_t)&ring.signal);
	ring.object.read_dispatch_id = 4;
	gp_agent_doorbell(fake->agent, (uintptr_t)&ring.object, 3);
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_BUSY);
}

/* ---- edges ---- */

/* Somebody who watches, and what it hears. */
static int watch(struct fake *fake)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	fake->agent->connection[0] =
		(struct gp_agent_connection){.fd = pair[0], .greeted = true, .watching = true};
	fake->agent->watchers = 1;
	return pair[1];
}

static void end_watch(struct fake *fake, int fd)
{
	close(fake->agent->connection[0].fd);
	fake->agent->connection[0].fd = -1;
	close(fd);
}

enum { SILENCE, RISE, FALL, DOUBT };

static int heard(int fd, const struct ring *ring)
{
	static struct gp_wire_message message;
	struct gp_proto_msg_edge edge;

	if (gp_wire_receive(fd, &message, 0))
		return SILENCE;
	assert_int_equal(message.header.type, GP_MSG_AGENT_EDGE);
	assert_true(gp_wire_fits(&message, sizeof(edge), 0, 0));
	memcpy(&edge, message.body, sizeof(edge));
	assert_int_equal(edge.queue, ring->id);
	return edge.busy == GP_ACTIVITY_BUSY      ? RISE
	       : edge.busy == GP_ACTIVITY_UNKNOWN ? DOUBT
						  : FALL;
}

/* The runtime says what a stream asked for when its queue is known already. */
static void the_step_of_a_stream_is_told(void **state)
{
	static struct gp_wire_message message;
	struct fake *fake = *state;
	struct ring ring = {0};
	int fd;

	make_ring(fake, &ring);
	fd = watch(fake);
	gp_agent_set_stream(fake->agent, (uintptr_t)&ring.object, 0);
	assert_int_not_equal(gp_wire_receive(fd, &message, 0), 0); /* as it was */
	gp_agent_set_stream(fake->agent, (uintptr_t)&ring.object, -1);
	assert_int_equal(gp_wire_receive(fd, &message, 0), 0);
	assert_int_equal(message.header.type, GP_MSG_AGENT_CHANGED);
	end_watch(fake, fd);
}

static void the_last_queue_that_drains_is_an_edge(void **state)
{
	struct fake *fake = *state;
	struct ring one = {0}, two = {0};
	int fd;

	make_ring(fake, &one);
	make_ring(fake, &two);
	fd = watch(fake);
	submit(fake, &one, true, true);
	assert_int_equal(heard(fd, &one), RISE);
	submit(fake, &two, true, true);
	finish(&one);
	gp_agent_look(fake->agent);
	assert_int_equal(heard(fd, NULL), SILENCE);
	finish(&two);
	gp_agent_look(fake->agent);
	assert_int_equal(heard(fd, &two), FALL);
	assert_int_equal(heard(fd, NULL), SILENCE);
	end_watch(fake, fd);
}

static struct ring *passed;

static void ring_the_one_that_was_looked_at(struct fake *fake)
{
	submit(fake, passed, true, true);
}

/* Nobody would look at it again otherwise, and it would have work for ever. */
static void a_doorbell_behind_the_look_that_finds_the_others_drained_is_looked_at(void **state)
{
	struct fake *fake = *state;
	struct ring first = {0}, second = {0};
	int fd;

	make_ring(fake, &first);
	make_ring(fake, &second);
	fd = watch(fake);
	gp_agent_look_now(fake->agent);
	submit(fake, &second, true, true);
	assert_int_equal(heard(fd, &second), RISE);
	finish(&second);
	fake->now += GP_NS_PER_MS;
	passed = &first;
	fake->asked_for_time = ring_the_one_that_was_looked_at;
	gp_agent_look_now(fake->agent);
	assert_null(fake->asked_for_time);
	assert_int_equal(fake->agent->activity->slot[first.id].state, GP_ACTIVITY_BUSY);
	assert_int_equal(fake->agent->activity->slot[second.id].state, GP_ACTIVITY_DRAINED);
	assert_int_equal(fake->agent->look_at, fake->now + GP_AGENT_LOOK_MIN_NS);
	finish(&first);
	gp_agent_look_now(fake->agent);
	assert_int_equal(heard(fd, &first), FALL);
	end_watch(fake, fd);
}

/* A queue that is held and has work is not looked at: it does not change. */
static void a_doorbell_beside_a_held_queue_with_work_is_looked_at(void **state)
{
	struct fake *fake = *state;
	struct ring held = {0}, other = {0};
	int fd;

	make_ring(fake, &held);
	make_ring(fake, &other);
	fd = watch(fake);
	submit(fake, &held, true, true);
	assert_int_equal(heard(fd, &held), RISE);
	hold(fake, 0, ONE(held.id));
	gp_agent_look_now(fake->agent);
	fake->now += GP_NS_PER_S;
	gp_agent_look_now(fake->agent);
	assert_int_equal(fake->agent->look_at, 0);
	submit(fake, &other, true, true);
	assert_int_equal(fake->agent->look_at, fake->now + GP_AGENT_LOOK_MIN_NS);
	let_go(fake, 0, ONE(held.id));
	end_watch(fake, fd);
}

static void a_doubtful_queue_does_not_hold_back_an_edge(void **state)
{
	struct fake *fake = *state;
	struct ring doubtful = {0}, sure = {0};
	int fd;

	make_ring(fake, &doubtful);
	make_ring(fake, &sure);
	fd = watch(fake);
	submit(fake, &doubtful, true, false);
	assert_int_equal(heard(fd, &doubtful), RISE);
	submit(fake, &sure, true, true);
	finish(&doubtful);
	gp_agent_look(fake->agent);
	assert_int_equal(state_of(fake, &doubtful), GP_ACTIVITY_UNKNOWN);
	assert_int_equal(heard(fd, NULL), SILENCE);
	finish(&sure);
	gp_agent_look(fake->agent);
	assert_int_equal(heard(fd, &sure), DOUBT);
	/* Still in doubt, and the other one works again: an edge each time. */
	submit(fake, &sure, true, true);
	assert_int_equal(heard(fd, &sure), RISE);
	finish(&sure);
	gp_agent_look(fake->agent);
	assert_int_equal(heard(fd, &sure), DOUBT);
	/* A barrier with a signal behind it ends the doubt. */
	submit(fake, &doubtful, true, true);
	assert_int_equal(heard(fd, &doubtful), RISE);
	finish(&doubtful);
	gp_agent_look(fake->agent);
	assert_int_equal(heard(fd, &doubtful), FALL);
	assert_int_equal(heard(fd, NULL), SILENCE);
	end_watch(fake, fd);
}

static void each_gpu_has_edges_of_its_own(void **state)
{
	struct fake *fake = *state;
	struct ring here = {0}, there = {0};
	int fd;

	make_ring_on(fake, &here, 77);
	make_ring_on(fake, &there, 78);
	fd = watch(fake);
	submit(fake, &here, true, true);
	assert_int_equal(heard(fd, &here), RISE);
	submit(fake, &there, true, true);
	assert_int_equal(heard(fd, &there), RISE);
	finish(&here);
	gp_agent_look(fake->agent);
	assert_int_equal(heard(fd, &here), FALL);
	finish(&there);
	gp_agent_look(fake->agent);
	assert_int_equal(heard(fd, &there), FALL);
	assert_int_equal(heard(fd, NULL), SILENCE);
	end_watch(fake, fd);
}

static void looks_are_closest_when_the_end_is_due(void **state)
{
	u64 usual = 12 * GP_NS_PER_MS, far, near;

	(void)state;
	/* Nothing known: an eighth of the time so far. */
	assert_int_equal(gp_agent_look_interval(8 * GP_NS_PER_MS, 0), GP_NS_PER_MS);
	far = gp_agent_look_interval(8 * GP_NS_PER_MS, usual);
	near = gp_agent_look_interval(usual - GP_NS_PER_MS / 10, usual);
	assert_true(near < far);
	assert_true(gp_agent_look_interval(usual + GP_NS_PER_MS / 10, usual) == near);
	/* A wrong estimate costs nothing: never later than without one. */
	for (u64 elapsed = 1; elapsed < GP_NS_PER_S; elapsed = elapsed * 3 / 2 + 1)
		assert_true(gp_agent_look_interval(elapsed, usual) <=
			    gp_agent_look_interval(elapsed, 0));
	assert_int_equal(gp_agent_look_interval(1000 * GP_NS_PER_S, usual),
			 gp_agent_look_interval(1000 * GP_NS_PER_S, 0));
}

static void one_that_takes_long_does_not_change_what_is_usual(void **state)
{
	struct fake *fake = *state;
	struct ring ring = {0};
	u64 usual;

	make_ring(fake, &ring);
	for (int i = 0; i < 20; i++) {
		submit(fake, &ring, true, true);
		fake->now += (i % 3 ? 10 : 1000) * GP_NS_PER_MS;
		finish(&ring);
		gp_agent_look(fake->agent);
		fake->now += 30 * GP_NS_PER_MS;
	}
	usual = fake->agent->usual_ns;
	assert_int_equal(usual, 10 * GP_NS_PER_MS);
}

static void only_the_first_busy_queue_is_an_edge(void **state)
{
	struct fake *fake = *state;
	struct ring one = {0}, two = {0};

	make_ring(fake, &one);
	make_ring(fake, &two);
	submit(fake, &one, true, true);
	submit(fake, &two, true, true);
	submit(fake, &two, true, true);
	assert_int_equal(fake->agent->activity->edges, 1);
	assert_int_equal(fake->agent->activity->busy_queues, 2);
	one.object.read_dispatch_id = 1;
	one.signal.value = 0;
	gp_agent_look(fake->agent);
	submit(fake, &one, true, true);
	assert_int_equal(fake->agent->activity->edges, 1);
	assert_int_equal(fake->agent->activity->busy_queues, 2);
}

static void a_doorbell_of_an_unknown_queue_is_nothing(void **state)
{
	struct fake *fake = *state;
	struct ring ring = {0};

	gp_agent_doorbell(fake->agent, 0x1234, 5);
	make_ring(fake, &ring);
	gp_agent_doorbell(fake->agent, 0x1234, 5);
	app_destroy(fake, ring.id);
	gp_agent_doorbell(fake->agent, (uintptr_t)&ring.object, 0);
	assert_int_equal(fake->agent->activity->busy_queues, 0);
	assert_int_equal(fake->agent->activity->slot[ring.id].ring, 0);
}

static void many_queues_come_and_go_at_one_place(void **state)
{
	struct fake *fake = *state;
	struct ring ring;

	/* More than the table has doors: tombstones are used again. */
	for (int i = 0; i < 3 * GP_AGENT_DOORS; i++) {
		memset(&ring, 0, sizeof(ring));
		make_ring(fake, &ring);
		submit(fake, &ring, true, true);
		assert_int_equal(fake->agent->activity->slot[ring.id].doorbells, 1);
		assert_int_equal(app_destroy(fake, ring.id), 0);
		assert_int_equal(fake->agent->busy, 0);
	}
}

/* ---- doorbells and looks at the same time ---- */

#define RINGS 20000

struct ringer {
	struct fake *fake;
	struct ring ring;
};

/* Each packet is done at once; the ring is never longer than one. */
static void *ring_often(void *data)
{
	struct ringer *ringer = data;
	struct ring *ring = &ringer->ring;

	for (u64 i = 0; i < RINGS; i++) {
		ring->packets[i % PACKETS] = (struct gp_aql_dispatch){
			.header = GP_AQL_KERNEL_DISPATCH | GP_AQL_HEADER_BARRIER,
			.completion_signal = (uintptr_t)&ring->signal,
		};
		__atomic_store_n(&ring->signal.value, 1, __ATOMIC_SEQ_CST);
		__atomic_store_n(&ring->object.write_dispatch_id, i + 1, __ATOMIC_SEQ_CST);
		gp_agent_doorbell(ringer->fake->agent, (uintptr_t)&ring->object, i);
		/* Rung and not done: whatever a look saw before, it is busy now. */
		if (__atomic_load_n(&ringer->fake->agent->activity->slot[ring->id].state,
				    __ATOMIC_SEQ_CST) == GP_ACTIVITY_DRAINED)
			return (void *)1;
		__atomic_store_n(&ring->object.read_dispatch_id, i + 1, __ATOMIC_SEQ_CST);
		__atomic_store_n(&ring->signal.value, 0, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void no_work_is_missed_when_a_doorbell_meets_a_look(void **state)
{
	static struct ringer ringers[2];
	struct fake *fake = *state;
	pthread_t threads[2];
	void *wrong;

	for (int i = 0; i < 2; i++) {
		ringers[i] = (struct ringer){.fake = fake};
		make_ring(fake, &ringers[i].ring);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ring_often, &ringers[i]), 0);
	while (__atomic_load_n(&ringers[0].ring.object.read_dispatch_id, __ATOMIC_SEQ_CST) <
		       RINGS &&
	       __atomic_load_n(&ringers[1].ring.object.read_dispatch_id, __ATOMIC_SEQ_CST) < RINGS)
		gp_agent_look(fake->agent);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	gp_agent_look(fake->agent);
	assert_int_equal(fake->agent->busy, 0);
	assert_int_equal(fake->agent->activity->busy_queues, 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fake->agent->activity->slot[ringers[i].ring.id].doorbells, RINGS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(launched_is_not_done),
		TEST(a_signal_that_is_gone_is_unknown),
		TEST(without_a_barrier_bit_packets_before_the_last_may_still_run),
		TEST(the_ring_comes_round),
		TEST(a_signal_that_never_fires_is_doubted_after_a_while),
		TEST(packets_that_wait_are_never_doubted),
		TEST(long_kernels_have_a_longer_limit_once_one_is_known),
		TEST(an_exception_does_not_lengthen_the_limit),
		TEST(time_in_suspension_does_not_count),
		TEST(a_signal_that_the_program_sets_again_has_fired),
		TEST(the_step_of_a_stream_is_told),
		TEST(the_last_queue_that_drains_is_an_edge),
		TEST(a_doorbell_behind_the_look_that_finds_the_others_drained_is_looked_at),
		TEST(a_doorbell_beside_a_held_queue_with_work_is_looked_at),
		TEST(a_doubtful_queue_does_not_hold_back_an_edge),
		TEST(each_gpu_has_edges_of_its_own),
		TEST(looks_are_closest_when_the_end_is_due),
		TEST(one_that_takes_long_does_not_change_what_is_usual),
		TEST(only_the_first_busy_queue_is_an_edge),
		TEST(a_doorbell_of_an_unknown_queue_is_nothing),
		TEST(many_queues_come_and_go_at_one_place),
		TEST(no_work_is_missed_when_a_doorbell_meets_a_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
