// SPDX-License-Identifier: MIT
/* What actors can be told to do; rows do the same themselves with ME(). */
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "conformance.h"

s64 do_open_kfd(struct self *self, const u64 *args, u64 *out)
{
	(void)args, (void)out;
	open_kfd(self);
	return 0;
}

s64 do_open_gpu(struct self *self, const u64 *args, u64 *out)
{
	(void)args, (void)out;
	open_gpu(self);
	return 0;
}

s64 do_close_kfd(struct self *self, const u64 *args, u64 *out)
{
	(void)args, (void)out;
	return close(self->kfd);
}

s64 do_create(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_create_queue_args queue = good_queue(self, (u32)args[0]);
	int error = create_queue(self, &queue);

	(void)out;
	return error ? error : (s64)queue.queue_id;
}

s64 do_destroy(struct self *self, const u64 *args, u64 *out)
{
	(void)out;
	return destroy_queue(self, (u32)args[0]);
}

s64 do_update(struct self *self, const u64 *args, u64 *out)
{
	(void)out;
	return update_queue(self, (u32)args[0], (u32)args[1], (u32)args[2]);
}

s64 do_submit(struct self *self, const u64 *args, u64 *out)
{
	(void)out;
	submit(self, (u32)args[0], (u32)args[1]);
	return 0;
}

s64 do_submit_one(struct self *self, const u64 *args, u64 *out)
{
	(void)out;
	submit_kernel(self, (u32)args[0], (enum kernel)args[1], 1);
	return 0;
}

s64 do_read_index(struct self *self, const u64 *args, u64 *out)
{
	(void)out;
	return (s64)__atomic_load_n(self->queues[args[0]].read_index, __ATOMIC_ACQUIRE);
}

s64 do_runtime(struct self *self, const u64 *args, u64 *out)
{
	(void)out;
	return enable_runtime(self, (u32)args[0]);
}

s64 do_available_memory(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_get_available_memory_args memory = {.gpu_id = self->gpu_id};

	(void)args, (void)out;
	return call(self->kfd, GP_KFD_IOC_AVAILABLE_MEMORY, &memory);
}

s64 do_clock_counters(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_get_clock_counters_args clock = {.gpu_id = self->gpu_id};

	(void)args, (void)out;
	return call(self->kfd, GP_KFD_IOC_GET_CLOCK_COUNTERS, &clock);
}

s64 do_create_event(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_create_event_args event = {.event_type = GP_KFD_EVENT_SIGNAL};

	(void)args, (void)out;
	return call(self->kfd, GP_KFD_IOC_CREATE_EVENT, &event);
}

s64 do_gws(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_alloc_queue_gws_args gws = {.queue_id = (u32)args[0],
						  .num_gws = (u32)args[1]};

	(void)out;
	return call(self->kfd, GP_KFD_IOC_ALLOC_QUEUE_GWS, &gws);
}

s64 do_hw_event(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_create_event_args event = {.event_type = GP_KFD_EVENT_HW_EXCEPTION};
	int error = call(self->kfd, GP_KFD_IOC_CREATE_EVENT, &event);

	(void)args, (void)out;
	return error ? error : (s64)event.event_id;
}

s64 do_wait_event(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_event_data data = {.event_id = (u32)args[0]};
	struct gp_kfd_wait_events_args wait = {.events_ptr = (uintptr_t)&data,
					       .num_events = 1,
					       .timeout = 60000};
	int error = call(self->kfd, GP_KFD_IOC_WAIT_EVENTS, &wait);

	out[0] = data.hw_exception_data.memory_lost;
	out[1] = data.hw_exception_data.gpu_id;
	return error ? error : (s64)wait.wait_result;
}

s64 do_kfd_number(struct self *self, const u64 *args, u64 *out)
{
	(void)args, (void)out;
	return self->kfd;
}

s64 do_criu(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_criu_args criu = {.op = (u32)args[2]};
	int process = (int)syscall(SYS_pidfd_open, (pid_t)args[0], 0), fd;
	s64 result;

	(void)self;
	CHECK(process >= 0);
	fd = (int)syscall(SYS_pidfd_getfd, process, (int)args[1], 0);
	CHECK(fd >= 0);
	result = call(fd, GP_KFD_IOC_CRIU_OP, &criu);
	out[0] = criu.pid;
	out[1] = criu.num_devices;
	out[2] = criu.num_objects;
	out[3] = criu.num_bos;
	/* Whatever the op: no other ioctl works on it. */
	EXPECT(call(fd, GP_KFD_IOC_GET_VERSION, &(struct gp_kfd_get_version_args){0}),
	       (pid_t)args[0] == getpid() ? 0 : -EBADF);
	close(fd);
	close(process);
	return result;
}

s64 do_smi(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_smi_events_args events = {.gpuid = self->gpu_id};
	u64 mask = ~0ull;
	int error = call(self->kfd, GP_KFD_IOC_SMI_EVENTS, &events);

	(void)args, (void)out;
	if (error)
		return error;
	EXPECT(write((int)events.anon_fd, &mask, sizeof(mask)), sizeof(mask));
	return (s64)events.anon_fd;
}

s64 do_smi_read(struct self *self, const u64 *args, u64 *out)
{
	char text[ARGS * sizeof(u64)] = "";
	ssize_t n = read((int)args[0], text, sizeof(text) - 1);

	(void)self;
	memcpy(out, text, sizeof(text));
	return n < 0 ? -errno : n;
}

s64 do_exec(struct self *self, const u64 *args, u64 *out)
{
	(void)self, (void)out;
	/* Reads what it was given as 0 until that is closed. */
	dup2((int)args[0], 0);
	execl("/bin/cat", "cat", (char *)NULL);
	_exit(1);
}

/* ---- ptrace ---- */

s64 do_seize(struct self *self, const u64 *args, u64 *out)
{
	(void)self, (void)out;
	return ptrace(PTRACE_SEIZE, (pid_t)args[0], 0, 0) ? -errno : 0;
}

s64 do_detach(struct self *self, const u64 *args, u64 *out)
{
	pid_t pid = (pid_t)args[0];
	int status;

	(void)self, (void)out;
	if (ptrace(PTRACE_INTERRUPT, pid, 0, 0))
		return -errno;
	while (waitpid(pid, &status, __WALL) < 0)
		CHECK(errno == EINTR);
	CHECK(WIFSTOPPED(status));
	return ptrace(PTRACE_DETACH, pid, 0, 0) ? -errno : 0;
}

/* ---- DBG_TRAP ---- */

static s64 trap(struct self *self, struct gp_kfd_dbg_trap_args *args)
{
	return call(self->kfd, GP_KFD_IOC_DBG_TRAP, args);
}

s64 do_op(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_dbg_trap_args debug = {.pid = (u32)args[0], .op = (u32)args[1]};
	s64 result;

	memcpy(&debug.enable, args + 2, sizeof(debug.enable));
	result = trap(self, &debug);
	memcpy(out, &debug.enable, sizeof(debug.enable));
	return result;
}

/* out: runtime state, r_debug, rinfo_size */
static s64 enable(struct self *self, pid_t pid, u64 mask, int fd, u64 *out)
{
	struct gp_kfd_runtime_info info = {.runtime_state = 99};
	struct gp_kfd_dbg_trap_args debug = {.pid = (u32)pid, .op = GP_KFD_DBG_ENABLE};
	s64 result;

	debug.enable.exception_mask = mask;
	debug.enable.rinfo_ptr = (uintptr_t)&info;
	debug.enable.rinfo_size = sizeof(info);
	debug.enable.dbg_fd = (u32)fd;
	result = trap(self, &debug);
	out[0] = info.runtime_state;
	out[1] = info.r_debug;
	out[2] = debug.enable.rinfo_size;
	out[3] = info.ttmp_setup;
	return result;
}

s64 do_enable(struct self *self, const u64 *args, u64 *out)
{
	return enable(self, (pid_t)args[0], args[1], self->pipe[1], out);
}

s64 do_enable_bad_fd(struct self *self, const u64 *args, u64 *out)
{
	return enable(self, (pid_t)args[0], 0, 3999, out);
}

s64 do_disable(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_dbg_trap_args debug = {.pid = (u32)args[0], .op = GP_KFD_DBG_DISABLE};

	(void)out;
	return trap(self, &debug);
}

s64 do_snapshot(struct self *self, const u64 *args, u64 *out)
{
	static struct gp_kfd_queue_snapshot_entry entries[MAX_QUEUES];
	struct gp_kfd_dbg_trap_args debug = {.pid = (u32)args[0],
					     .op = GP_KFD_DBG_GET_QUEUE_SNAPSHOT};
	s64 result;

	debug.queue_snapshot.exception_mask = args[1];
	debug.queue_snapshot.snapshot_buf_ptr = (uintptr_t)entries;
	debug.queue_snapshot.num_queues = MAX_QUEUES;
	debug.queue_snapshot.entry_size = sizeof(entries[0]);
	result = trap(self, &debug);
	for (u32 i = 0; !result && i < debug.queue_snapshot.num_queues; i++)
		if (entries[i].queue_id < ARGS)
			out[entries[i].queue_id] = entries[i].exception_status;
	return result ? result : debug.queue_snapshot.num_queues;
}

static s64 change(struct self *self, const u64 *args, u64 *out, u32 op)
{
	struct gp_kfd_dbg_trap_args debug = {.pid = (u32)args[0], .op = op};
	u32 ids[3] = {(u32)args[2], (u32)args[3], (u32)args[4]};
	s64 result;

	if (op == GP_KFD_DBG_SUSPEND_QUEUES) {
		debug.suspend_queues.queue_array_ptr = (uintptr_t)ids;
		debug.suspend_queues.num_queues = (u32)args[1];
		debug.suspend_queues.exception_mask = args[5];
	} else {
		debug.resume_queues.queue_array_ptr = (uintptr_t)ids;
		debug.resume_queues.num_queues = (u32)args[1];
	}
	result = trap(self, &debug);
	for (u32 i = 0; i < GP_ARRAY_SIZE(ids); i++)
		out[i] = ids[i];
	return result;
}

s64 do_suspend(struct self *self, const u64 *args, u64 *out)
{
	return change(self, args, out, GP_KFD_DBG_SUSPEND_QUEUES);
}

s64 do_resume(struct self *self, const u64 *args, u64 *out)
{
	return change(self, args, out, GP_KFD_DBG_RESUME_QUEUES);
}

s64 do_suspend_grace(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_dbg_trap_args debug = {.pid = (u32)args[0], .op = GP_KFD_DBG_SUSPEND_QUEUES};
	u32 id = (u32)args[1];
	s64 result;

	debug.suspend_queues.queue_array_ptr = (uintptr_t)&id;
	debug.suspend_queues.num_queues = 1;
	debug.suspend_queues.grace_period = (u32)args[2];
	result = trap(self, &debug);
	out[0] = id;
	return result;
}

s64 do_resume_all(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_dbg_trap_args debug = {.pid = (u32)args[0], .op = GP_KFD_DBG_RESUME_QUEUES};

	(void)out;
	debug.resume_queues.num_queues = (u32)args[1]; /* any number */
	return trap(self, &debug);
}

s64 do_send_runtime_event(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_dbg_trap_args debug = {.pid = (u32)args[0],
					     .op = GP_KFD_DBG_SEND_RUNTIME_EVENT};

	(void)out;
	debug.send_runtime_event.exception_mask = RUNTIME;
	return trap(self, &debug);
}

s64 do_query_event(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_dbg_trap_args debug = {.pid = (u32)args[0],
					     .op = GP_KFD_DBG_QUERY_DEBUG_EVENT};
	s64 result;

	debug.query_debug_event.exception_mask = args[1];
	result = trap(self, &debug);
	out[0] = debug.query_debug_event.exception_mask;
	out[1] = debug.query_debug_event.queue_id;
	out[2] = debug.query_debug_event.gpu_id;
	return result;
}
