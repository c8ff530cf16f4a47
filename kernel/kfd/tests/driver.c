// SPDX-License-Identifier: MIT
/* What the rows of the patched driver share. */
#include <fcntl.h>
#include <sys/ioctl.h>

#include "kfd.h"

#define PROC "/sys/class/kfd/kfd/proc"

static int ask(struct gp_kfd_get_queue_sched_args *args)
{
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC), error;

	CHECK(fd >= 0);
	error = call(fd, GP_KFD_IOC_GET_QUEUE_SCHED, args);
	close(fd);
	return error;
}

bool patched(void)
{
	struct gp_kfd_get_queue_sched_args args = {.queue_id = GP_KFD_QUEUE_SCHED_NO_QUEUE};
	int error = ask(&args);

	/* The ROCm driver has another errno for what it does not know. */
	CHECK(error == 0 || error == -ENOTTY || error == -EINVAL);
	return error == 0;
}

void needs_patches(void)
{
	if (!patched())
		skip("the driver is not patched");
}

u32 features(void)
{
	struct gp_kfd_get_queue_sched_args args = {.queue_id = GP_KFD_QUEUE_SCHED_NO_QUEUE};

	EXPECT(ask(&args), 0);
	return args.features;
}

int write_error(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t result;

	CHECK(fd >= 0);
	result = write(fd, text, strlen(text));
	if (result < 0)
		result = -errno;
	close(fd);
	return result == (ssize_t)strlen(text) ? 0 : (int)result;
}

void write_file(const char *path, const char *text)
{
	EXPECT(write_error(path, text), 0);
}

const char *queue_file(pid_t pid, u32 id, const char *name)
{
	static char text[128];
	char path[128], *whole;

	snprintf(path, sizeof(path), PROC "/%d/queues/%u/%s", (int)pid, id, name);
	whole = slurp(path);
	if (!whole)
		return "none";
	snprintf(text, sizeof(text), "%s", whole);
	free(whole);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

u64 taken_off(struct self *me, pid_t pid, u32 id)
{
	json_t *status, *process, *queue;
	size_t i, j;
	u64 count = UINT64_MAX;

	settle(me);
	status = machine_status(me);
	json_array_foreach(json_object_get(status, "processes"), i, process)
	{
		if (json_integer_value(json_object_get(process, "pid")) != pid)
			continue;
		json_array_foreach(json_object_get(process, "queues"), j, queue)
		{
			if (json_integer_value(json_object_get(queue, "id")) == id)
				count = (u64)json_integer_value(
					json_object_get(queue, "taken_off"));
		}
	}
	json_decref(status);
	CHECK(count != UINT64_MAX);
	return count;
}

struct actor start_busy(struct self *me, u32 queues)
{
	struct actor actor = start_target(can_debug(me), queues);

	EXPECT(DO(&actor, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, look(me, actor.pid, 0).cu_ns > 0);
	return actor;
}

bool is(const struct actor *actor, u32 id, const char *state)
{
	return strcmp(queue_file(actor->pid, id, "state"), state) == 0;
}

void both_work(struct self *me, const struct actor *a, const struct actor *b)
{
	u64 first = look(me, a->pid, 0).cu_ns, second = look(me, b->pid, 0).cu_ns;

	UNTIL(me, look(me, a->pid, 0).cu_ns > first);
	UNTIL(me, look(me, b->pid, 0).cu_ns > second);
}

void by_process(void)
{
	if (patched())
		write_file(BY_PROCESS, "1");
}

/* ---- a pair for the scheduler ---- */

struct actor start_with(struct self *me, u32 queues, u32 priority)
{
	struct actor actor = start_target(can_debug(me), queues);

	for (u32 id = 0; id < queues; id++)
		EXPECT(DO(&actor, do_set_priority, id, priority), 0);
	return actor;
}

struct actor start_low(struct self *me)
{
	struct actor actor = start_with(me, 2, LOW);

	EXPECT(DO(&actor, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, look(me, actor.pid, 0).cu_ns > 0);
	return actor;
}

void start_pair(struct self *me, struct actor *low, struct actor *high)
{
	needs_patches();
	write_file(POLICY, "priority");
	*low = start_low(me);
	*high = start_with(me, 1, HIGH);
}

void contend(struct self *me, struct actor *low, struct actor *high)
{
	(void)me;
	EXPECT(DO(high, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, is(low, 0, "preempted"));
}

/* ---- a target and its debugger ---- */

struct actor start_debugger(const struct actor *target)
{
	struct actor debugger = start_actor();

	EXPECT(DO(&debugger, do_open_kfd), 0);
	EXPECT(DO(&debugger, do_seize, PID(*target)), 0);
	EXPECT(DO(&debugger, do_enable, PID(*target), 0), 0);
	EXPECT(DO(&debugger, do_snapshot, PID(*target), NEW), 2);
	EXPECT(DO(&debugger, do_suspend, PID(*target), 2, 0, 1), 2);
	EXPECT(DO(&debugger, do_detach, PID(*target)), 0);
	return debugger;
}

void start_held(struct self *me, struct actor *target, struct actor *debugger)
{
	*target = start_busy(me, 2);
	*debugger = start_debugger(target);
	/* As the holder of kfd-debug does; amdgpu-dkms accepts no operation otherwise. */
	EXPECT(DO(debugger, do_seize, PID(*target)), 0);
}

void are_on(struct self *me, pid_t pid, bool on)
{
	EXPECT(look_settled(me, pid, 0).mapped, on);
	EXPECT(look(me, pid, 1).mapped, on);
}

void come_on(struct self *me, pid_t pid)
{
	UNTIL(me, look(me, pid, 0).mapped && look(me, pid, 1).mapped);
}

/* ---- calls ---- */

static unsigned long sized(unsigned long request, size_t size)
{
	return _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), size);
}

int create_sized(struct self *self, struct gp_kfd_create_queue_sched_args *args, size_t size)
{
	return call(self->kfd, sized(GP_KFD_IOC_CREATE_QUEUE, size), args);
}

int update_sized(struct self *self, struct gp_kfd_update_queue_sched_args *args, size_t size)
{
	return call(self->kfd, sized(GP_KFD_IOC_UPDATE_QUEUE, size), args);
}

struct gp_kfd_get_queue_sched_args query(struct self *self, u32 id)
{
	struct gp_kfd_get_queue_sched_args args = {.queue_id = id};

	EXPECT(call(self->kfd, GP_KFD_IOC_GET_QUEUE_SCHED, &args), 0);
	return args;
}

s64 do_set_priority(struct self *self, const u64 *args, u64 *out)
{
	const struct gp_kfd_create_queue_args *queue = &self->queues[args[0]].args;
	struct gp_kfd_update_queue_sched_args update = {
		.queue = {.ring_base_address = queue->ring_base_address,
			  .queue_id = (u32)args[0],
			  .ring_size = queue->ring_size,
			  .queue_percentage = queue->queue_percentage,
			  .queue_priority = queue->queue_priority},
		.logical_priority = (u32)args[1],
		.sched_flags = GP_KFD_QUEUE_SCHED_SET_PRIORITY,
	};

	(void)out;
	return update_sized(self, &update, sizeof(update));
}

s64 do_lease(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_dbg_trap_suspend_lease_args lease = {.lease_ms = (u32)args[1],
							   .pad = (u32)args[2]};
	struct gp_kfd_dbg_trap_args debug = {.pid = (u32)args[0],
					     .op = GP_KFD_DBG_SET_SUSPEND_LEASE};
	s64 result;

	memcpy(&debug.enable, &lease, sizeof(lease));
	result = call(self->kfd, GP_KFD_IOC_DBG_TRAP, &debug);
	memcpy(&lease, &debug.enable, sizeof(lease));
	out[0] = lease.expired;
	return result;
}

s64 do_pause(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_criu_args criu = {.op = args[0] ? GP_KFD_CRIU_PROCESS_INFO
						      : GP_KFD_CRIU_UNPAUSE};

	(void)out;
	return call(self->kfd, GP_KFD_IOC_CRIU_OP, &criu);
}
