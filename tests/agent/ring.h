/* SPDX-License-Identifier: MIT */
/* Queues in the test's own memory, behind the agent and its fake driver. */
#ifndef GP_TESTS_RING_H
#define GP_TESTS_RING_H

#include "abi/amd_queue.h"
#include "abi/amd_signal.h"
#include "abi/aql.h"
#include "fake_driver.h"

static inline int setup(void **state)
{
	*state = fake_new();
	return 0;
}

static inline int teardown(void **state)
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

static inline void make_ring_on(struct fake *fake, struct ring *ring, u32 gpu_id)
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

static inline void make_ring(struct fake *fake, struct ring *ring)
{
	make_ring_on(fake, ring, 77);
}

static inline void submit(struct fake *fake, struct ring *ring, bool barrier, bool with_signal)
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

static inline u32 state_of(struct fake *fake, const struct ring *ring)
{
	gp_agent_look(fake->agent);
	return fake->agent->activity->slot[ring->id].state;
}

/* All its packets are done, as far as their signals tell. */
static inline void finish(struct ring *ring)
{
	ring->object.read_dispatch_id = ring->object.write_dispatch_id;
	ring->signal.value = 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
