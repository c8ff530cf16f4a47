// SPDX-License-Identifier: MIT
/* The logical priority: in ioctls of every size, checked, cheap to change, and in sysfs. */
#include <unistd.h>

#include "kfd.h"

#define BYTES_BEFORE_1_17 88
#define ONLINE            2000 /* class online, without the step of a stream */
#define CEILING           "/sys/module/amdgpu/parameters/max_logical_priority"

static void is_file(pid_t pid, u32 id, const char *name, const char *expected)
{
	const char *text = queue_file(pid, id, name);

	if (strcmp(text, expected) != 0) {
		printf("# queue %u: %s is '%s', not '%s'\n", id, name, text, expected);
		CHECK(!"the file says so");
	}
}

static u32 create_with(struct self *me, size_t size, u32 priority, u32 flags)
{
	/* Room behind the struct, for drivers that copy more back than they were given. */
	struct {
		struct gp_kfd_create_queue_sched_args args;
		u64 behind[4];
	} given = {.args = {.queue = good_queue(me, COMPUTE),
			    .logical_priority = priority,
			    .sched_flags = flags},
		   .behind = {7, 7, 7, 7}};
	unsigned char before[sizeof(given)];

	memcpy(before, &given, sizeof(given));
	EXPECT(create_sized(me, &given.args, size), 0);
	EXPECT(memcmp((char *)&given + size, before + size, sizeof(given) - size), 0);
	return given.args.queue.queue_id;
}

void sizes_are_compatible(struct self *me)
{
	struct gp_kfd_get_queue_sched_args args = {.queue_id = 0};
	const u32 set = GP_KFD_QUEUE_SCHED_SET_PRIORITY;
	int unknown;

	open_gpu(me);
	/* Shorter than this kernel's, as long as stock's, as long as ours, and longer. */
	EXPECT(create_with(me, BYTES_BEFORE_1_17, 43, set), 0);
	EXPECT(create_with(me, sizeof(struct gp_kfd_create_queue_args), 43, set), 1);
	EXPECT(create_with(me, sizeof(struct gp_kfd_create_queue_sched_args), 43, set), 2);
	EXPECT(create_with(me, sizeof(struct gp_kfd_create_queue_sched_args) + 16, 44, set), 3);
	EXPECT(create_with(me, sizeof(struct gp_kfd_create_queue_sched_args), 0, set), 4);
	EXPECT(create_with(me, sizeof(struct gp_kfd_create_queue_sched_args), 0, 0), 5);
	unknown = call(me->kfd, GP_KFD_IOWR(0x7e, gp_kfd_get_queue_sched_args), &args);
	CHECK(unknown == -ENOTTY || unknown == -EINVAL);
	if (!patched()) {
		/* It took all of them, and only the query tells that it means nothing. */
		EXPECT(call(me->kfd, GP_KFD_IOC_GET_QUEUE_SCHED, &args), unknown);
		is_file(getpid(), 2, "logical_priority", "none");
		return;
	}
	EXPECT(query(me, 0).logical_priority, GP_KFD_LOGICAL_PRIORITY_DEFAULT);
	EXPECT(query(me, 1).logical_priority, GP_KFD_LOGICAL_PRIORITY_DEFAULT);
	EXPECT(query(me, 2).logical_priority, 43);
	EXPECT(query(me, 3).logical_priority, 44);
	EXPECT(query(me, 4).logical_priority, 0);
	EXPECT(query(me, 5).logical_priority, GP_KFD_LOGICAL_PRIORITY_DEFAULT);
	is_file(getpid(), 1, "logical_priority", "1000");
	is_file(getpid(), 2, "logical_priority", "43");
	is_file(getpid(), 4, "logical_priority", "0");
	/* Numbers between the driver's last and ours are nobody's. */
	EXPECT(call(me->kfd, GP_KFD_IOWR(0x27, gp_kfd_get_queue_sched_args), &args), unknown);
	EXPECT(call(me->kfd, GP_KFD_IOWR(0, gp_kfd_get_queue_sched_args), &args), unknown);
	/* The ROCm driver has a second range there. */
	if (unknown == -ENOTTY)
		EXPECT(call(me->kfd, GP_KFD_IOWR(0x80, gp_kfd_get_queue_sched_args), &args),
		       -ENOTTY);
}

static int create_error(struct self *me, u32 priority, u32 flags)
{
	struct gp_kfd_create_queue_sched_args args = {.queue = good_queue(me, COMPUTE),
						      .logical_priority = priority,
						      .sched_flags = flags};

	return create_sized(me, &args, sizeof(args));
}

static int update_error(struct self *me, u32 id, u32 priority, u32 flags)
{
	struct gp_kfd_update_queue_sched_args args = {
		.queue = {.ring_base_address = me->queues[0].args.ring_base_address,
			  .queue_id = id,
			  .ring_size = RING_BYTES,
			  .queue_percentage = 100,
			  .queue_priority = 7},
		.logical_priority = priority,
		.sched_flags = flags};

	return update_sized(me, &args, sizeof(args));
}

void values_are_checked(struct self *me)
{
	struct gp_kfd_get_queue_sched_args args = {.queue_id = 3};
	int refused = patched() ? -EINVAL : 0;

	open_gpu(me);
	must_create(me, COMPUTE);
	EXPECT(create_error(me, 65535, 1), 0);
	EXPECT(create_error(me, 65536, 1), refused);
	EXPECT(create_error(me, 0xffffffff, 1), refused);
	EXPECT(create_error(me, 5, 0), refused);
	EXPECT(create_error(me, 5, 3), refused);
	EXPECT(update_error(me, 0, 65535, 1), 0);
	EXPECT(update_error(me, 0, 65536, 1), refused);
	EXPECT(update_error(me, 0, 5, 0), refused);
	EXPECT(update_error(me, 0, 5, 2), refused);
	EXPECT(update_error(me, 9, 5, 1), -EFAULT);
	if (!patched())
		return;
	EXPECT(query(me, 0).logical_priority, 65535);
	EXPECT(query(me, 1).logical_priority, 65535);
	EXPECT(call(me->kfd, GP_KFD_IOC_GET_QUEUE_SCHED, &args), -EINVAL);
	CHECK(features() & GP_KFD_QUEUE_SCHED_PRIORITY);
	EXPECT(!!(features() & GP_KFD_QUEUE_SCHED_LEASE), can_debug(me));
}

/* Keeps /dev/kfd, and has no capabilities any more. */
static s64 do_become_nobody(struct self *self, const u64 *args, u64 *out)
{
	const uid_t nobody = 65534;

	(void)self, (void)args, (void)out;
	return setresuid(nobody, nobody, nobody) ? -errno : 0;
}

static s64 do_create_with(struct self *self, const u64 *args, u64 *out)
{
	(void)out;
	return create_error(self, (u32)args[0], GP_KFD_QUEUE_SCHED_SET_PRIORITY);
}

void high_needs_privilege(struct self *me)
{
	struct actor target = start_target(0, 1);
	int refused = patched() ? -EACCES : 0;

	(void)me;
	/* Root may, and keeps what it has. */
	EXPECT(DO(&target, do_set_priority, 0, 65535), 0);
	EXPECT(DO(&target, do_become_nobody), 0);
	EXPECT(DO(&target, do_set_priority, 0, ONLINE), refused);
	EXPECT(DO(&target, do_set_priority, 0, 65535), refused);
	EXPECT(DO(&target, do_create_with, ONLINE), refused);
	if (!patched())
		return;
	EXPECT(strcmp(queue_file(target.pid, 0, "logical_priority"), "65535"), 0);
	EXPECT(DO(&target, do_set_priority, 0, 65536), -EINVAL);
	EXPECT(DO(&target, do_set_priority, 0, ONLINE - 1), 0);
	EXPECT(DO(&target, do_create_with, ONLINE - 1), 0);
	/* The administrator decides; what is not given is not asked about. */
	write_file(CEILING, "900");
	EXPECT(DO(&target, do_set_priority, 0, 901), -EACCES);
	EXPECT(DO(&target, do_set_priority, 0, 900), 0);
	EXPECT(DO(&target, do_create, COMPUTE), 2);
	write_file(CEILING, "3000");
	EXPECT(DO(&target, do_set_priority, 0, 3000), 0);
	write_file(CEILING, "1999");
}

void updates_are_cheap(struct self *me)
{
	u64 updates;

	open_gpu(me);
	must_create(me, COMPUTE);
	updates = figure(me, "updates");
	EXPECT(ME(me, do_set_priority, 0, 77), 0);
	EXPECT(figure(me, "updates") - updates, patched() ? 0 : 1);
	if (!patched())
		return;
	EXPECT(query(me, 0).logical_priority, 77);
	/* Of an older program, which knows none: it stays. The hardware's is another. */
	EXPECT(update_queue(me, 0, 100, 11), 0);
	EXPECT(query(me, 0).logical_priority, 77);
	EXPECT(look_settled(me, getpid(), 0).priority, 11);
	/* Both in one: one reload. */
	updates = figure(me, "updates");
	EXPECT(update_error(me, 0, 78, 1), 0);
	EXPECT(query(me, 0).logical_priority, 78);
	EXPECT(look_settled(me, getpid(), 0).priority, 7);
	EXPECT(figure(me, "updates") - updates, 1);
}

/* What is there without a debugger; sched 2 has queues that are preempted. */
static void sysfs_shows_evictions(struct self *me)
{
	EXPECT(update_queue(me, 0, 0, 7), 0);
	is_file(getpid(), 0, "state", "disabled");
	is_file(getpid(), 1, "state", "active");
	EXPECT(ME(me, do_pause, 1), 0);
	is_file(getpid(), 0, "state", "disabled evicted");
	is_file(getpid(), 1, "state", "evicted");
	EXPECT(query(me, 1).state, GP_KFD_QUEUE_STATE_EVICTED);
	EXPECT(ME(me, do_pause, 0), 0);
	EXPECT(update_queue(me, 0, 100, 7), 0);
	is_file(getpid(), 0, "state", "active");
	is_file(getpid(), 1, "state", "active");
	/* That is no time of the scheduler's. */
	EXPECT(query(me, 1).suspended_ns, 0);
	is_file(getpid(), 1, "suspended_ms", "0");
}

void sysfs_shows_queues(struct self *me)
{
	const u64 pid = (u64)getpid();
	u64 first;

	open_gpu(me);
	if (can_debug(me))
		EXPECT(enable_runtime(me, 1), 0);
	must_create(me, COMPUTE);
	must_create(me, COMPUTE);
	if (!patched()) {
		is_file(getpid(), 0, "state", "none");
		is_file(getpid(), 0, "suspended_ms", "none");
		return;
	}
	is_file(getpid(), 0, "state", "active");
	is_file(getpid(), 0, "suspended_ms", "0");
	EXPECT(query(me, 0).suspended_ns, 0);
	if (!can_debug(me)) {
		sysfs_shows_evictions(me);
		return;
	}
	EXPECT(ME(me, do_enable, pid, 0), 0);
	EXPECT(ME(me, do_snapshot, pid, NEW), 2);
	EXPECT(ME(me, do_suspend, pid, 1, 0), 1);
	is_file(getpid(), 0, "state", "suspended");
	is_file(getpid(), 1, "state", "active");
	EXPECT(query(me, 0).state, GP_KFD_QUEUE_STATE_SUSPENDED);
	UNTIL(me, atoi(queue_file(getpid(), 0, "suspended_ms")) > 0);
	EXPECT(update_queue(me, 0, 0, 7), 0);
	is_file(getpid(), 0, "state", "disabled suspended");
	EXPECT(ME(me, do_pause, 1), 0);
	is_file(getpid(), 0, "state", "disabled suspended evicted");
	is_file(getpid(), 1, "state", "evicted");
	EXPECT(ME(me, do_pause, 0), 0);
	EXPECT(ME(me, do_resume, pid, 1, 0), 1);
	is_file(getpid(), 0, "state", "disabled");
	EXPECT(update_queue(me, 0, 100, 7), 0);
	is_file(getpid(), 0, "state", "active");
	/* It does not grow any more, and the next time adds to it. */
	first = query(me, 0).suspended_ns;
	CHECK(first > 0);
	EXPECT(query(me, 0).suspended_ns, first);
	EXPECT(query(me, 1).suspended_ns, 0);
	EXPECT(ME(me, do_suspend, pid, 1, 0), 1);
	UNTIL(me, query(me, 0).suspended_ns > first);
	EXPECT(ME(me, do_resume, pid, 1, 0), 1);
}
