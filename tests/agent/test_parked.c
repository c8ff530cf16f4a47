// SPDX-License-Identifier: MIT
/* Queues that rest and are held without a driver call, until they get work. */
#include "ring.h"

#include <sys/uio.h>

/* Two rings, of which `rests` has had no work for longer than it takes, and everybody lets go. */
static void let_one_rest(struct fake *fake, struct ring *works, struct ring *rests)
{
	make_ring(fake, works);
	make_ring(fake, rests);
	assert_int_equal(hold(fake, 0, ALL), 2);
	assert_int_equal(let_go(fake, 0, ALL), 2);
	fake->now += 2 * GP_NS_PER_S;
	submit(fake, works, true, true);
	fake->updates = 0;
}

static void a_queue_that_rests_is_held_without_a_call(void **state)
{
	struct fake *fake = *state;
	struct ring works = {0}, rests = {0};

	let_one_rest(fake, &works, &rests);
	assert_int_equal(hold(fake, 0, ALL), 2); /* both count as held */
	assert_int_equal(fake->updates, 1);
	assert_int_equal(percentage(fake, works.id), 0);
	assert_int_equal(percentage(fake, rests.id), 100);
	assert_int_equal(fake->agent->activity->slot[rests.id].suspended, 1);
	let_go(fake, 0, ALL);
	assert_int_equal(fake->updates, 2);
	assert_int_equal(percentage(fake, works.id), 100);
	assert_int_equal(fake->agent->activity->slot[rests.id].suspended, 0);
}

static void all_that_run_again_are_counted(void **state)
{
	struct fake *fake = *state;
	struct ring works = {0}, rests = {0};

	let_one_rest(fake, &works, &rests);
	assert_int_equal(hold(fake, 0, ALL), 2);
	assert_int_equal(percentage(fake, rests.id), 100); /* parked */
	assert_int_equal(let_go(fake, 0, ALL), 2);
}

static void a_parked_queue_is_stopped_before_its_doorbell_rings(void **state)
{
	struct fake *fake = *state;
	struct ring works = {0}, rests = {0};

	let_one_rest(fake, &works, &rests);
	hold(fake, 0, ALL);
	submit(fake, &rests, true, true);
	assert_int_equal(percentage(fake, rests.id), 0);
	assert_int_equal(fake->updates, 2);
	submit(fake, &rests, true, true);
	assert_int_equal(fake->updates, 2);
	let_go(fake, 0, ALL);
	assert_int_equal(percentage(fake, rests.id), 100);
	/* It has work now: the next hold stops it at once. */
	hold(fake, 0, ALL);
	assert_int_equal(percentage(fake, rests.id), 0);
}

/* The linker puts this in front of the agent's reading of rings: after the n-th read from now the
 * program writes a packet and gets as far as its doorbell. */
static struct {
	int in; /* 0: nothing happens */
	struct fake *fake;
	struct ring *ring;
	bool rung; /* the GPU heard it; otherwise the doorbell found the mark and waits for the lock
		    */
} program;
ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long count,
				const struct iovec *there, unsigned long there_count,
				unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long count,
				const struct iovec *there, unsigned long there_count,
				unsigned long flags);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long count,
				const struct iovec *there, unsigned long there_count,
				unsigned long flags)
{
	ssize_t got = __real_process_vm_readv(pid, here, count, there, there_count, flags);

	if (program.in && --program.in == 0) {
		program.ring->object.write_dispatch_id++;
		program.rung = !program.fake->agent->ringer[program.ring->id].parked;
	}
	return got;
}

/* Whenever the packet comes while the queue is being parked, the queue is stopped in the end. */
static void no_packet_slips_past_a_queue_that_is_being_parked(void **state)
{
	int after = 0, rung = 0, waited = 0;

	(void)state;
	do {
		struct fake *fake = fake_new();
		struct ring works = {0}, rests = {0};

		let_one_rest(fake, &works, &rests);
		program.fake = fake;
		program.ring = &rests;
		program.rung = false;
		program.in = ++after;
		hold(fake, 0, ALL);
		if (program.in == 0) {
			rung += program.rung;
			waited += !program.rung;
			if (!program.rung)
				gp_agent_unpark(fake->agent, rests.id);
			assert_int_equal(percentage(fake, rests.id), 0);
		}
		fake_free(fake);
	} while (program.in == 0);
	program.in = 0;
	/* Both sides of the mark were tried. */
	assert_true(rung > 0 && waited > 0);
}

static void a_queue_rests_after_a_second_without_work(void **state)
{
	struct fake *fake = *state;
	struct ring ring = {0};

	make_ring(fake, &ring);
	/* Since when it stands still is known from the first look on. */
	hold(fake, 0, ALL);
	let_go(fake, 0, ALL);
	fake->now += GP_NS_PER_S - 1;
	hold(fake, 0, ALL);
	assert_int_equal(percentage(fake, ring.id), 0);
	let_go(fake, 0, ALL);
	fake->now += 1;
	hold(fake, 0, ALL);
	assert_int_equal(percentage(fake, ring.id), 100);
}

static void a_doorbell_that_is_not_seen_is_found_by_looking(void **state)
{
	struct fake *fake = *state;
	struct ring works = {0}, rests = {0};

	let_one_rest(fake, &works, &rests);
	hold(fake, 0, ALL);
	assert_true(gp_agent_look(fake->agent));
	assert_int_equal(percentage(fake, rests.id), 100);
	rests.object.write_dispatch_id++;
	gp_agent_look(fake->agent);
	assert_int_equal(percentage(fake, rests.id), 0);
}

/* Of the runtime's own: its doorbell never reaches us, and its last packet has no signal. */
static void run_unseen(struct ring *ring)
{
	ring->packets[ring->object.write_dispatch_id++ % PACKETS] =
		(struct gp_aql_dispatch){.header = GP_AQL_KERNEL_DISPATCH};
	ring->object.read_dispatch_id = ring->object.write_dispatch_id;
}

static void a_queue_of_the_runtime_that_stands_still_rests(void **state)
{
	struct fake *fake = *state;
	struct ring own = {0};

	make_ring(fake, &own);
	run_unseen(&own);
	assert_int_equal(state_of(fake, &own), GP_ACTIVITY_UNKNOWN);
	fake->now += GP_NS_PER_S - 1;
	hold(fake, 0, ALL);
	assert_int_equal(percentage(fake, own.id), 0);
	let_go(fake, 0, ALL);
	fake->now += 1;
	hold(fake, 0, ALL);
	assert_int_equal(percentage(fake, own.id), 100);
	/* It moves: asked about its state meanwhile or not, the next look stops it. */
	run_unseen(&own);
	gp_agent_busy(fake->agent, &fake->agent->queue[own.id], &(u32){0});
	gp_agent_look(fake->agent);
	assert_int_equal(percentage(fake, own.id), 0);
}

static void a_kernel_without_a_signal_is_no_rest(void **state)
{
	struct fake *fake = *state;
	struct ring ring = {0};

	make_ring(fake, &ring);
	submit(fake, &ring, true, false);
	finish(&ring);
	assert_int_equal(state_of(fake, &ring), GP_ACTIVITY_UNKNOWN);
	fake->now += 5 * GP_NS_PER_S;
	hold(fake, 0, ALL);
	assert_int_equal(percentage(fake, ring.id), 0);
}

static void long_work_is_no_rest(void **state)
{
	struct fake *fake = *state;
	struct ring works = {0}, rests = {0};

	let_one_rest(fake, &works, &rests);
	works.object.read_dispatch_id = 1; /* launched, not done */
	hold(fake, 0, ALL);
	let_go(fake, 0, ALL);
	fake->now += 5 * GP_NS_PER_S;
	hold(fake, 0, ALL);
	assert_int_equal(percentage(fake, works.id), 0);
}

static void a_named_queue_is_stopped_whether_it_rests_or_not(void **state)
{
	struct fake *fake = *state;
	struct ring works = {0}, rests = {0};

	let_one_rest(fake, &works, &rests);
	assert_int_equal(hold(fake, 0, ONE(rests.id)), 1);
	assert_int_equal(percentage(fake, rests.id), 0);
}

static void where_doorbells_are_not_seen_nothing_is_parked(void **state)
{
	struct fake *fake = *state;
	struct ring works = {0}, rests = {0};

	let_one_rest(fake, &works, &rests);
	fake->agent->hooked = false;
	hold(fake, 0, ALL);
	assert_int_equal(percentage(fake, rests.id), 0);
}

/* ---- off the GPU: a queue without work would keep a VMID ---- */

#define OFF ((struct ask){.head = {.lease_ms = 1000, .limit_ms = 60000, .flags = GP_SUSPEND_OFF}})

static void an_owner_that_needs_the_place_stops_queues_that_rest(void **state)
{
	struct fake *fake = *state;
	struct ring works = {0}, rests = {0};

	let_one_rest(fake, &works, &rests);
	hold(fake, 0, ALL);
	assert_int_equal(percentage(fake, rests.id), 100);
	/* Also one that is held already. */
	assert_int_equal(hold(fake, 1, OFF), 2);
	assert_int_equal(percentage(fake, rests.id), 0);
	assert_int_equal(percentage(fake, works.id), 0);
	assert_int_equal(fake->updates, 2);
}

/* One call per request, not one per queue. */
static void a_queue_that_rests_stays_off_until_its_doorbell(void **state)
{
	struct fake *fake = *state;
	struct ring works = {0}, rests = {0};

	let_one_rest(fake, &works, &rests);
	hold(fake, 0, OFF);
	fake->updates = 0;
	assert_int_equal(let_go(fake, 0, ALL), 2); /* neither is held */
	assert_int_equal(percentage(fake, works.id), 100);
	assert_int_equal(percentage(fake, rests.id), 0);
	assert_int_equal(fake->agent->activity->slot[rests.id].suspended, 0);
	hold(fake, 0, OFF);
	assert_int_equal(fake->updates, 2);
	let_go(fake, 0, ALL);
	submit(fake, &rests, true, true);
	assert_int_equal(percentage(fake, rests.id), 100);
}

static void work_of_a_queue_that_is_off_is_found_by_looking(void **state)
{
	struct fake *fake = *state;
	struct ring works = {0}, rests = {0};

	let_one_rest(fake, &works, &rests);
	hold(fake, 0, OFF);
	/* While it is held: it is seen. */
	finish(&works);
	assert_true(gp_agent_look(fake->agent));
	let_go(fake, 0, ALL);
	assert_int_equal(percentage(fake, rests.id), 0);
	assert_true(gp_agent_look(fake->agent));
	rests.object.write_dispatch_id++;
	gp_agent_look(fake->agent);
	assert_int_equal(percentage(fake, rests.id), 100);
}

static void queues_return_when_the_owner_that_needed_the_place_goes(void **state)
{
	struct fake *fake = *state;
	struct ring works = {0}, rests = {0};

	let_one_rest(fake, &works, &rests);
	hold(fake, 0, OFF);
	let_go(fake, 0, ALL);
	assert_int_equal(percentage(fake, rests.id), 0);
	gp_agent_let_go(fake->agent, &fake->agent->owner[0]);
	assert_int_equal(percentage(fake, rests.id), 100);
	/* The next one that holds it has not asked for it. */
	hold(fake, 0, ALL);
	assert_int_equal(percentage(fake, rests.id), 100);
}

/* How often the agent looks in that time, were it woken whenever it asks for it. */
static u32 looks_in(struct fake *fake, u64 ns)
{
	u64 end = fake->now + ns, next = 0;
	u32 looks = 0;

	while (fake->now < end) {
		next = gp_agent_tick(fake->agent);
		if (gp_agent_look(fake->agent)) {
			looks++;
			fake->now += 4 * GP_NS_PER_MS;
		} else {
			fake->now = next && next < end ? next : end;
		}
	}
	return looks;
}

/* Nothing was taken off the GPU for a while: there is room, and nothing to look for. */
static void a_program_that_was_off_once_is_left_alone(void **state)
{
	struct fake *fake = *state;
	struct ring works = {0}, rests = {0};

	let_one_rest(fake, &works, &rests);
	finish(&works);
	hold(fake, 0, OFF);
	let_go(fake, 0, ALL);
	finish(&works);
	assert_int_equal(percentage(fake, rests.id), 0);
	assert_in_range(looks_in(fake, 2 * GP_NS_PER_S), 1, 260); /* of the first second */
	assert_int_equal(percentage(fake, rests.id), 100);
	fake->updates = 0;
	assert_int_equal(looks_in(fake, 60 * GP_NS_PER_S), 0);
	assert_int_equal(fake->updates, 0);
}

/* A daemon that goes on taking it off finds the queue off: no call for it. */
static void a_queue_stays_off_while_it_is_taken_off_again_and_again(void **state)
{
	struct fake *fake = *state;
	struct ring works = {0}, rests = {0};

	let_one_rest(fake, &works, &rests);
	for (u32 i = 0; i < 20; i++) {
		hold(fake, 0, OFF);
		let_go(fake, 0, ALL);
		looks_in(fake, GP_NS_PER_S / 2);
		assert_int_equal(percentage(fake, rests.id), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_queue_that_rests_is_held_without_a_call),
		TEST(all_that_run_again_are_counted),
		TEST(a_parked_queue_is_stopped_before_its_doorbell_rings),
		TEST(no_packet_slips_past_a_queue_that_is_being_parked),
		TEST(a_queue_rests_after_a_second_without_work),
		TEST(a_doorbell_that_is_not_seen_is_found_by_looking),
		TEST(a_queue_of_the_runtime_that_stands_still_rests),
		TEST(a_kernel_without_a_signal_is_no_rest),
		TEST(long_work_is_no_rest),
		TEST(a_named_queue_is_stopped_whether_it_rests_or_not),
		TEST(where_doorbells_are_not_seen_nothing_is_parked),
		TEST(an_owner_that_needs_the_place_stops_queues_that_rest),
		TEST(a_queue_that_rests_stays_off_until_its_doorbell),
		TEST(work_of_a_queue_that_is_off_is_found_by_looking),
		TEST(queues_return_when_the_owner_that_needed_the_place_goes),
		TEST(a_program_that_was_off_once_is_left_alone),
		TEST(a_queue_stays_off_while_it_is_taken_off_again_and_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
