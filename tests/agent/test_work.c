/*
 * What the agent says about work: busy, drained, unknown; edges per GPU; queues that rest and are
 * parked; doorbells that meet looks.
 */
#include "fake_driver.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "abi/amd_queue.h"
#include "abi/amd_signal.h"
#include "abi/aql.h"

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

#define PACKETS 16

/* A queue in the test's own memory. */
struct ring {
	struct gp_amd_queue object;
	struct gp_aql_dispatch packets[PACKETS] __attribute__((aligned(64)));
	struct gp_amd_signal signal;
	u32 id;
};

static void make_ring_on(struct fake *fake, struct ring *ring, u32 gpu_id)
{
	struct gp_kfd_create_queue_args args = {
		.ring_base_address = (uintptr_t)ring->packets,
		.ring_size = sizeof(ring->packets),
		.read_pointer_address = (uintptr_t)&ring->object.read_dispatch_id,
		.write_pointer_address = (uintptr_t)&ring->object.write_dispatch_id,
		.gpu_id = gpu_id,
		.queue_type = GP_KFD_QUEUE_COMPUTE_AQL,
		.queue_percentage = 100,
		.queue_priority = 7,
	};

	fake->agent->hooked = true;
	assert_int_equal(gp_agent_create_queue(fake->agent, FAKE_FD, GP_KFD_IOC_CREATE_QUEUE,
					       &args),
			 0);
	ring->id = args.queue_id;
}

static void make_ring(struct fake *fake, struct ring *ring)
{
	make_ring_on(fake, ring, 77);
}

static void submit(struct fake *fake, struct ring *ring, bool barrier, bool with_signal)
{
	u64 index = ring->object.write_dispatch_id++;
	struct gp_aql_dispatch *packet = &ring->packets[index % PACKETS];

	*packet = (struct gp_aql_dispatch){.header = GP_AQL_KERNEL_DISPATCH |
						     (barrier ? GP_AQL_HEADER_BARRIER : 0)};
	if (with_signal) {
		ring->signal.value++;
		packet->completion_signal = (uintptr_t)&ring->signal;
	}
	gp_agent_doorbell(fake->agent, (uintptr_t)&ring->object, index);
}

static u32 state_of(struct fake *fake, const struct ring *ring)
{
	gp_agent_look(fake->agent);
	return fake->agent->activity->slot[ring->id].state;
}

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
	struct gp_msg_edge edge;

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

/* All its packets are done, as far as their signals tell. */
static void finish(struct ring *ring)
{
	ring->object.read_dispatch_id = ring->object.write_dispatch_id;
	ring->signal.value = 0;
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

/* ---- parked queues ---- */

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(launched_is_not_done),
		TEST(a_signal_that_is_gone_is_unknown),
		TEST(without_a_barrier_bit_packets_before_the_last_may_still_run),
		TEST(the_ring_comes_round),
		TEST(the_last_queue_that_drains_is_an_edge),
		TEST(a_doubtful_queue_does_not_hold_back_an_edge),
		TEST(each_gpu_has_edges_of_its_own),
		TEST(looks_are_closest_when_the_end_is_due),
		TEST(one_that_takes_long_does_not_change_what_is_usual),
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
		TEST(only_the_first_busy_queue_is_an_edge),
		TEST(a_doorbell_of_an_unknown_queue_is_nothing),
		TEST(many_queues_come_and_go_at_one_place),
		TEST(no_work_is_missed_when_a_doorbell_meets_a_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
