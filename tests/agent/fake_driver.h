/* SPDX-License-Identifier: MIT */
/*
 * A driver of a few lines behind the agent: it keeps what each queue was last told, counts the
 * calls, fails when asked to, and complains about a call that changes nothing. Time is the test's.
 */
#ifndef GP_TESTS_FAKE_DRIVER_H
#define GP_TESTS_FAKE_DRIVER_H

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "abi/kfd_debug.h"
#include "abi/kfd_sched.h"
#include "agent/agent.h"
#include "testlib.h"

#define FAKE_QUEUES 64
#define FAKE_FD     1000000 /* cannot be duplicated: the agent uses it as it is */

struct fake_queue {
	bool used;
	struct gp_kfd_update_queue_args now;
	u32 mask_bits;
	u32 mask[GP_AGENT_MASK_WORDS];
	u32 logical; /* 0: never set */
};

struct fake {
	struct gp_agent *agent;
	struct fake_queue queue[FAKE_QUEUES];
	u64 now, call_takes;
	void (*asked_for_time)(struct fake *fake); /* called once, in the middle of a look */
	u32 minor;
	int runtime_enables, runtime_error, creates_before_runtime;
	int updates, creates, masks; /* calls that arrived */
	int useless;                 /* updates that changed nothing */
	int wrong_rings;             /* updates with another ring than that of the queue */
	int fail_in;                 /* the n-th update from now fails; 0: none */
	int fail_with, fail_times;
	int mask_error; /* of every SET_CU_MASK */
	/* A driver with logical priorities, if it has features; otherwise it does not know the
	 * query. */
	u32 features, most_logical;
	int unknown_error, queries, logical_updates;
};

/* Of the logical priority alone: everything else must be as it is. */
static inline int fake_update_logical(struct fake *fake,
				      const struct gp_kfd_update_queue_sched_args *args)
{
	struct fake_queue *queue = &fake->queue[args->queue.queue_id % FAKE_QUEUES];

	fake->logical_updates++;
	assert_true(queue->used);
	assert_memory_equal(&queue->now, &args->queue, sizeof(args->queue));
	assert_int_equal(args->sched_flags, GP_KFD_QUEUE_SCHED_SET_PRIORITY);
	if (args->logical_priority > fake->most_logical) {
		errno = EACCES;
		return -1;
	}
	queue->logical = args->logical_priority;
	return 0;
}

static inline int fake_query(struct fake *fake, struct gp_kfd_get_queue_sched_args *args)
{
	fake->queries++;
	if (!fake->features) {
		errno = fake->unknown_error;
		return -1;
	}
	args->features = fake->features;
	return 0;
}

static inline int fake_update(struct fake *fake, const struct gp_kfd_update_queue_args *args)
{
	struct fake_queue *queue = &fake->queue[args->queue_id % FAKE_QUEUES];

	fake->updates++;
	if (fake->fail_in && --fake->fail_in == 0) {
		if (--fake->fail_times > 0)
			fake->fail_in = 1;
		errno = fake->fail_with;
		return -1;
	}
	if (!queue->used || args->queue_id >= FAKE_QUEUES) {
		errno = EFAULT;
		return -1;
	}
	if ((args->queue_percentage & 0xff) > 100 || args->queue_priority > 15) {
		errno = EINVAL;
		return -1;
	}
	/* The ROCm driver never gives the process back after this. */
	if (args->ring_base_address != queue->now.ring_base_address ||
	    args->ring_size != queue->now.ring_size) {
		fake->wrong_rings++;
		errno = EFAULT;
		return -1;
	}
	fake->useless += memcmp(&queue->now, args, sizeof(*args)) == 0;
	queue->now = *args;
	return 0;
}

static inline int fake_create(struct fake *fake, struct gp_kfd_create_queue_args *args)
{
	u32 id = 0;

	fake->creates++;
	while (id < FAKE_QUEUES && fake->queue[id].used)
		id++;
	if (id == FAKE_QUEUES) {
		errno = ENOSPC;
		return -1;
	}
	args->queue_id = id;
	args->doorbell_offset = 0xd00d;
	fake->queue[id] = (struct fake_queue){
		.used = true,
		.now = {.ring_base_address = args->ring_base_address,
			.queue_id = id,
			.ring_size = args->ring_size,
			.queue_percentage = args->queue_percentage,
			.queue_priority = args->queue_priority},
	};
	return 0;
}

static inline int fake_call(void *data, int fd, unsigned long request, void *argument)
{
	struct fake *fake = data;
	struct gp_kfd_destroy_queue_args *destroy = argument;
	struct gp_kfd_set_cu_mask_args *mask = argument;

	assert_int_equal(fd, FAKE_FD);
	fake->now += fake->call_takes;
	switch (_IOC_NR(request)) {
	case _IOC_NR(GP_KFD_IOC_GET_VERSION):
		*(struct gp_kfd_get_version_args *)argument =
			(struct gp_kfd_get_version_args){1, fake->minor};
		return 0;
	case _IOC_NR(GP_KFD_IOC_RUNTIME_ENABLE):
		if (!fake->runtime_enables++)
			fake->creates_before_runtime = fake->creates;
		errno = fake->runtime_error;
		return fake->runtime_error ? -1 : 0;
	case _IOC_NR(GP_KFD_IOC_CREATE_QUEUE):
		return fake_create(fake, argument);
	case _IOC_NR(GP_KFD_IOC_UPDATE_QUEUE):
		if (_IOC_SIZE(request) == sizeof(struct gp_kfd_update_queue_sched_args))
			return fake_update_logical(fake, argument);
		return fake_update(fake, argument);
	case _IOC_NR(GP_KFD_IOC_GET_QUEUE_SCHED):
		return fake_query(fake, argument);
	case _IOC_NR(GP_KFD_IOC_DESTROY_QUEUE):
		if (destroy->queue_id >= FAKE_QUEUES || !fake->queue[destroy->queue_id].used) {
			errno = EINVAL;
			return -1;
		}
		fake->queue[destroy->queue_id].used = false;
		return 0;
	case _IOC_NR(GP_KFD_IOC_SET_CU_MASK):
		fake->masks++;
		errno = fake->mask_error;
		if (fake->mask_error)
			return -1;
		assert_true(mask->queue_id < FAKE_QUEUES && fake->queue[mask->queue_id].used);
		fake->queue[mask->queue_id].mask_bits = mask->num_cu_mask;
		memcpy(fake->queue[mask->queue_id].mask, (void *)(uintptr_t)mask->cu_mask_ptr,
		       mask->num_cu_mask / 8);
		return 0;
	default:
		errno = ENOTTY;
		return -1;
	}
}

static inline u64 fake_now(void *data)
{
	struct fake *fake = data;
	void (*call)(struct fake * fake) = fake->asked_for_time;

	fake->asked_for_time = NULL;
	if (call)
		call(fake);
	return fake->now;
}

static inline struct fake *fake_new(void)
{
	struct fake *fake = calloc(1, sizeof(*fake));
	struct gp_agent_driver driver = {.call = fake_call, .now = fake_now, .data = fake};

	assert_non_null(fake);
	fake->agent = calloc(1, sizeof(*fake->agent));
	assert_non_null(fake->agent);
	fake->now = 1000000000;
	fake->minor = 11;
	fake->unknown_error = ENOTTY;
	fake->most_logical = GP_KFD_LOGICAL_PRIORITY_MAX;
	gp_agent_init(fake->agent, &driver);
	fake->agent->pid = getpid(); /* as if the service ran */
	fake->agent->identity.priority = GP_PRIORITY_DEFAULT;
	return fake;
}

static inline void fake_free(struct fake *fake)
{
	gp_agent_hide_all(fake->agent);
	if (fake->agent->activity_fd >= 0)
		close(fake->agent->activity_fd);
	free(fake->agent);
	free(fake);
}

/* The program's calls. */
static inline int app_create(struct fake *fake, u32 type, u32 priority)
{
	struct gp_kfd_create_queue_args args = {
		.ring_base_address = 0x10000,
		.ring_size = 4096,
		.gpu_id = 77,
		.queue_type = type,
		.queue_percentage = 100,
		.queue_priority = priority,
	};

	if (gp_agent_create_queue(fake->agent, FAKE_FD, GP_KFD_IOC_CREATE_QUEUE, &args))
		return -errno;
	assert_int_equal(args.queue_percentage, 100);
	assert_int_equal(args.doorbell_offset, 0xd00d);
	return (int)args.queue_id;
}

static inline int app_update_ring(struct fake *fake, u32 id, u32 percentage, u32 priority, u64 ring,
				  u32 bytes)
{
	struct gp_kfd_update_queue_args args = {.ring_base_address = ring,
						.queue_id = id,
						.ring_size = bytes,
						.queue_percentage = percentage,
						.queue_priority = priority};

	return gp_agent_update_queue(fake->agent, FAKE_FD, GP_KFD_IOC_UPDATE_QUEUE, &args) ? -errno
											   : 0;
}

static inline int app_update(struct fake *fake, u32 id, u32 percentage, u32 priority)
{
	return app_update_ring(fake, id, percentage, priority, 0x10000, 4096);
}

static inline int app_destroy(struct fake *fake, u32 id)
{
	struct gp_kfd_destroy_queue_args args = {.queue_id = id};

	return gp_agent_destroy_queue(fake->agent, FAKE_FD, GP_KFD_IOC_DESTROY_QUEUE, &args)
		       ? -errno
		       : 0;
}

/* An owner's. At most four ids. */
struct ask {
	struct {
		u32 lease_ms, limit_ms, timeout_ms, count, flags;
		u64 sent_ns;
	} head;
	u32 ids[4];
};

/* As it comes over the wire. */
struct wire_ask {
	u64 room[(sizeof(struct gp_proto_msg_suspend) + 4 * sizeof(u32)) / sizeof(u64)];
};

static inline struct wire_ask wire_ask(struct ask ask)
{
	struct wire_ask out = {{0}};
	struct gp_proto_msg_suspend *message = (struct gp_proto_msg_suspend *)out.room;

	message->lease_ms = ask.head.lease_ms;
	message->limit_ms = ask.head.limit_ms;
	message->timeout_ms = ask.head.timeout_ms;
	message->count = ask.head.count;
	message->flags = (u16)ask.head.flags;
	message->sent_ns = ask.head.sent_ns;
	memcpy(message->ids, ask.ids, sizeof(ask.ids));
	return out;
}

static inline int hold_and_tell(struct fake *fake, u32 owner, struct ask ask,
				struct gp_proto_msg_done *done)
{
	struct wire_ask wire = wire_ask(ask);

	return gp_agent_suspend(fake->agent, &fake->agent->owner[owner],
				(const struct gp_proto_msg_suspend *)wire.room, done);
}

static inline int hold(struct fake *fake, u32 owner, struct ask ask)
{
	struct gp_proto_msg_done done;

	return hold_and_tell(fake, owner, ask, &done);
}

static inline int let_go(struct fake *fake, u32 owner, struct ask ask)
{
	struct wire_ask wire = wire_ask(ask);
	struct gp_proto_msg_done done;

	return gp_agent_resume(fake->agent, &fake->agent->owner[owner],
			       (const struct gp_proto_msg_suspend *)wire.room, &done);
}

#define ALL ((struct ask){.head = {.lease_ms = 1000, .limit_ms = 60000}})
#define ONE(id) \
	((struct ask){.head = {.lease_ms = 1000, .limit_ms = 60000, .count = 1}, .ids = {id}})

static inline u32 percentage(const struct fake *fake, u32 id)
{
	return fake->queue[id].now.queue_percentage;
}

#endif
