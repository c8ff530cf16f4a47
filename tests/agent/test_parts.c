/* The agent's smaller parts: RUNTIME_ENABLE, CU masks, activity, descriptors, fork, identity. */
#include "fake_driver.h"

#include <fcntl.h>
#include <sys/wait.h>

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

/* ---- RUNTIME_ENABLE ---- */

static void an_old_kernel_is_not_asked_for_runtime_enable(void **state)
{
	struct fake *fake = *state;

	fake->minor = 12;
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(fake->runtime_enables, 0);
}

static void runtime_enable_comes_once_and_before_the_first_queue(void **state)
{
	struct fake *fake = *state;

	fake->minor = 17;
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(fake->runtime_enables, 1);
	assert_int_equal(fake->creates_before_runtime, 0);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	app_destroy(fake, 0);
	app_destroy(fake, 1);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(fake->runtime_enables, 1);
}

static void a_runtime_that_enables_itself_is_left_alone(void **state)
{
	struct gp_kfd_runtime_enable_args args = {.mode_mask = GP_KFD_RUNTIME_ENABLE};
	struct fake *fake = *state;

	fake->minor = 17;
	gp_agent_runtime_enable(fake->agent, FAKE_FD, GP_KFD_IOC_RUNTIME_ENABLE, &args);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(fake->runtime_enables, 1);
	app_destroy(fake, 0);
	/* Switched off again: the next first queue needs it anew. */
	args.mode_mask = 0;
	gp_agent_runtime_enable(fake->agent, FAKE_FD, GP_KFD_IOC_RUNTIME_ENABLE, &args);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(fake->runtime_enables, 3);
}

static void a_refused_runtime_enable_costs_nothing(void **state)
{
	static const int errors[] = {EBUSY, EEXIST, EINVAL, ENOTTY};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(errors); i++) {
		struct fake *fake = fake_new();

		fake->minor = 13;
		fake->runtime_error = errors[i];
		assert_int_equal(app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7), 0);
		assert_int_equal(fake->runtime_enables, 1);
		fake_free(fake);
	}
}

/* ---- shares ---- */

static int share(struct fake *fake, u32 first, u32 thousandths)
{
	return gp_agent_set_share(fake->agent, first, thousandths);
}

static void give_gpu(struct fake *fake, u32 cus)
{
	fake->agent->gpu_count = 1;
	fake->agent->gpu[0] = (struct gp_agent_gpu){77, cus};
}

static int app_mask(struct fake *fake, u32 id, u32 bits, const u32 *mask)
{
	struct gp_kfd_set_cu_mask_args args = {id, bits, (uintptr_t)mask};

	return gp_agent_set_cu_mask(fake->agent, FAKE_FD, GP_KFD_IOC_SET_CU_MASK, &args) ? -errno
											 : 0;
}

static void a_share_is_that_part_of_the_cus(void **state)
{
	struct fake *fake = *state;

	give_gpu(fake, 80);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	app_create(fake, GP_KFD_QUEUE_SDMA, 15);
	assert_int_equal(share(fake, 0, 500), 0);
	assert_int_equal(fake->masks, 1); /* a DMA queue has no CUs */
	assert_int_equal(fake->queue[0].mask_bits, 96);
	assert_int_equal(fake->queue[0].mask[0], 0xffffffff);
	assert_int_equal(fake->queue[0].mask[1], 0xff);
	assert_int_equal(share(fake, 0, 500), 0);
	assert_int_equal(fake->masks, 1);
	/* The other half, disjoint. */
	assert_int_equal(share(fake, 500, 500), 0);
	assert_int_equal(fake->queue[0].mask[0], 0);
	assert_int_equal(fake->queue[0].mask[1], 0xffffff00);
	assert_int_equal(fake->queue[0].mask[2], 0xffff);
	/* All of it: the driver gets every CU, once. */
	assert_int_equal(share(fake, 0, 1000), 0);
	assert_int_equal(fake->queue[0].mask[0] & fake->queue[0].mask[1], 0xffffffff);
	assert_int_equal(fake->queue[0].mask[2], 0xffff);
	assert_int_equal(share(fake, 0, 1000), 0);
	assert_int_equal(fake->masks, 3);
}

static void the_programs_own_mask_is_respected_and_comes_back(void **state)
{
	static const u32 own[2] = {0xf0f0, 0};
	struct fake *fake = *state;

	give_gpu(fake, 64);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(app_mask(fake, 0, 64, own), 0);
	assert_int_equal(share(fake, 0, 63), 0); /* 4 CUs, of its own eight */
	assert_int_equal(fake->queue[0].mask[0], 0xf0);
	assert_int_equal(share(fake, 0, 1), 0); /* never none */
	assert_int_equal(fake->queue[0].mask[0], 0x10);
	assert_int_equal(share(fake, 0, 1000), 0);
	assert_int_equal(fake->queue[0].mask_bits, 64);
	assert_int_equal(fake->queue[0].mask[0], 0xf0f0);
}

static void a_mask_set_under_a_share_is_narrowed(void **state)
{
	static const u32 own[2] = {0xffff0000, 0xffffffff};
	struct fake *fake = *state;

	give_gpu(fake, 64);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	share(fake, 0, 250);
	assert_int_equal(app_mask(fake, 0, 64, own), 0);
	assert_int_equal(fake->queue[0].mask[0], 0xffff0000);
	assert_int_equal(fake->queue[0].mask[1], 0);
	share(fake, 0, 1000);
	assert_int_equal(fake->queue[0].mask[0], 0xffff0000);
	assert_int_equal(fake->queue[0].mask[1], 0xffffffff);
}

static void a_new_queue_gets_the_share(void **state)
{
	struct fake *fake = *state;

	give_gpu(fake, 64);
	share(fake, 0, 500);
	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	assert_int_equal(fake->queue[0].mask[0], 0xffffffff);
	assert_int_equal(fake->queue[0].mask[1], 0);
	assert_int_equal(share(fake, 0, 0), -EINVAL);
	assert_int_equal(share(fake, 0, 1001), -EINVAL);
	assert_int_equal(share(fake, 1000, 500), -EINVAL);
}

/* ---- activity ---- */

#define PACKETS 16

/* A queue in the test's own memory. */
struct ring {
	struct gp_amd_queue object;
	struct gp_aql_dispatch packets[PACKETS] __attribute__((aligned(64)));
	struct gp_amd_signal signal;
	u32 id;
};

static void make_ring(struct fake *fake, struct ring *ring)
{
	struct gp_kfd_create_queue_args args = {
		.ring_base_address = (uintptr_t)ring->packets,
		.ring_size = sizeof(ring->packets),
		.read_pointer_address = (uintptr_t)&ring->object.read_dispatch_id,
		.write_pointer_address = (uintptr_t)&ring->object.write_dispatch_id,
		.gpu_id = 77,
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

/* ---- descriptors, fork, identity ---- */

static void own_descriptors_are_out_of_the_way(void **state)
{
	struct fake *fake = *state;
	int fd = gp_agent_own(fake->agent, open("/dev/null", O_RDONLY | O_CLOEXEC));

	assert_true(fd >= GP_AGENT_FD_MIN);
	assert_true(gp_agent_owns(fake->agent, fd));
	assert_false(gp_agent_owns(fake->agent, 0));
	assert_false(gp_agent_owns(fake->agent, -1));
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	gp_agent_disown(fake->agent, fd);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_false(gp_agent_owns(fake->agent, fd));
	assert_int_equal(gp_agent_own(fake->agent, -1), -1);
}

static void a_child_starts_from_nothing(void **state)
{
	struct fake *fake = *state;
	int fd = gp_agent_own(fake->agent, open("/dev/null", O_RDONLY | O_CLOEXEC)), status;
	pid_t child;

	app_create(fake, GP_KFD_QUEUE_COMPUTE_AQL, 7);
	hold(fake, 0, ALL);
	pthread_mutex_lock(&fake->agent->lock); /* by a thread that the child does not have */
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		gp_agent_forked(fake->agent);
		_exit(pthread_mutex_trylock(&fake->agent->lock) || fake->agent->queue_count ||
		      fake->agent->pid || fcntl(fd, F_GETFD) != -1 ||
		      gp_agent_tick(fake->agent) != 0);
	}
	pthread_mutex_unlock(&fake->agent->lock);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	gp_agent_disown(fake->agent, fd);
}

static void identity_comes_from_the_environment(void **state)
{
	struct gp_agent_identity identity;

	(void)state;
	gp_agent_identify(&identity);
	assert_int_equal(identity.priority, GPREEMPT_PRIORITY_DEFAULT);
	assert_int_equal(identity.weight, 1);
	assert_int_equal(identity.job_class, 0);
	setenv("GPREEMPT_CLASS", "offline", 1);
	setenv("GPREEMPT_GROUP",
	       "a-name-that-is-longer-than-sixty-three-bytes-and-is-cut-there-xxxx", 1);
	setenv("GPREEMPT_WEIGHT", "0", 1);
	gp_agent_identify(&identity);
	assert_int_equal(identity.priority, GPREEMPT_PRIORITY_OFFLINE);
	assert_int_equal(identity.weight, 1);
	assert_int_equal(strlen(identity.group), GP_PROTO_NAME - 1);
	setenv("GPREEMPT_CLASS", "online", 1);
	setenv("GPREEMPT_PRIORITY", "65536", 1);
	gp_agent_identify(&identity);
	assert_int_equal(identity.priority, GPREEMPT_PRIORITY_ONLINE);
	setenv("GPREEMPT_PRIORITY", "65535", 1);
	setenv("GPREEMPT_DEADLINE_US", "12x", 1);
	gp_agent_identify(&identity);
	assert_int_equal(identity.priority, 65535);
	assert_int_equal(identity.deadline_us, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_old_kernel_is_not_asked_for_runtime_enable),
		TEST(runtime_enable_comes_once_and_before_the_first_queue),
		TEST(a_runtime_that_enables_itself_is_left_alone),
		cmocka_unit_test(a_refused_runtime_enable_costs_nothing),
		TEST(a_share_is_that_part_of_the_cus),
		TEST(the_programs_own_mask_is_respected_and_comes_back),
		TEST(a_mask_set_under_a_share_is_narrowed),
		TEST(a_new_queue_gets_the_share),
		TEST(launched_is_not_done),
		TEST(a_queue_that_rests_is_held_without_a_call),
		TEST(a_parked_queue_is_stopped_before_its_doorbell_rings),
		TEST(a_doorbell_that_is_not_seen_is_found_by_looking),
		TEST(long_work_is_no_rest),
		TEST(a_named_queue_is_stopped_whether_it_rests_or_not),
		TEST(where_doorbells_are_not_seen_nothing_is_parked),
		TEST(a_signal_that_is_gone_is_unknown),
		TEST(without_a_barrier_bit_packets_before_the_last_may_still_run),
		TEST(the_ring_comes_round),
		TEST(only_the_first_busy_queue_is_an_edge),
		TEST(a_doorbell_of_an_unknown_queue_is_nothing),
		TEST(many_queues_come_and_go_at_one_place),
		TEST(no_work_is_missed_when_a_doorbell_meets_a_look),
		TEST(own_descriptors_are_out_of_the_way),
		TEST(a_child_starts_from_nothing),
		cmocka_unit_test(identity_comes_from_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
