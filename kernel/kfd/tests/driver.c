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

	CHECK(error == 0 || error == -ENOTTY);
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

void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
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
