// SPDX-License-Identifier: MIT
/* kfd-debug: the session with one target. See debug.h. */
#include "gpu/kfd/debug.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/core.h"
#include "gpu/kfd/kfd.h"

#define KFD_PROC "/sys/class/kfd/kfd/proc"
#define EXCEPTIONS                                                                             \
	(GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW) | GP_KFD_EC_MASK(GP_KFD_EC_DEVICE_QUEUE_DELETE) | \
	 GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME))
/* How long another thread's exec may take from the end of the lead thread to the new program. */
#define EXEC_MS 500

bool gp_kfd_debug_harmless(const struct gp_kfd_dbg_trap_args *args)
{
	u64 array = 0;
	u32 count = 0;

	if (args->op == GP_KFD_DBG_SUSPEND_QUEUES) {
		array = args->suspend_queues.queue_array_ptr;
		count = args->suspend_queues.num_queues;
	} else if (args->op == GP_KFD_DBG_RESUME_QUEUES) {
		array = args->resume_queues.queue_array_ptr;
		count = args->resume_queues.num_queues;
	}
	return count <= GP_KFD_MAX_QUEUES && (array || !count);
}

int gp_kfd_debug_trap(struct gp_kfd_debug_target *control, u32 op,
		      struct gp_kfd_dbg_trap_args *args)
{
	args->pid = control->base.pid;
	args->op = op;
	if (!gp_kfd_debug_harmless(args))
		return -EINVAL;
	int result = ioctl(control->kfd, GP_KFD_IOC_DBG_TRAP, args);
	if (result >= 0)
		return result;
	if (errno == ESRCH)
		control->gone = true;
	return -errno;
}

/* ---- probe ---- */

static bool uses_kfd(u32 pid)
{
	return gp_root_exists(NULL, KFD_PROC "/%u", pid);
}

static void tracer_name(u32 tracer, char *out, size_t size)
{
	struct gp_buf text = {0};

	snprintf(out, size, "?");
	if (!gp_root_read(NULL, 256, &text, "/proc/%u/comm", tracer) && text.len) {
		snprintf(out, size, "%s", gp_buf_str(&text));
		out[strcspn(out, "\n")] = 0;
	}
	gp_buf_free(&text);
}

static int probe(int pidfd, u32 pid, struct gp_proto_message *why)
{
	u32 tracer = 0, uid = 0;
	char name[32];
	int error = gp_kfd_debug_status(pid, &tracer, &uid);

	(void)pidfd;
	if (error)
		return gp_proto_say(why, -ESRCH, GP_SAY_NO_PROCESS, pid);
	if (geteuid() != 0 && uid != geteuid())
		return gp_proto_say(why, -EPERM, GP_SAY_OTHER_USER, pid);
	if (tracer && !gp_root_exists(NULL, "/proc/self/task/%u", tracer)) {
		/* Never ENABLE there: it would take over, and damage, the other's session. */
		tracer_name(tracer, name, sizeof(name));
		return gp_proto_say(why, -EBUSY, GP_SAY_UNDER_DEBUGGER, pid, name, tracer);
	}
	if (!uses_kfd(pid))
		return gp_proto_say(why, -ENODEV, GP_SAY_NOT_AMD, pid);
	return gp_proto_say(why, 0, GP_SAY_DEBUG_WORKS);
}

/* ---- attach and detach ---- */

static void disable(struct gp_kfd_debug_target *control)
{
	struct gp_kfd_dbg_trap_args args = {0};

	if (!control->enabled)
		return;
	if (!control->gone) {
		gp_kfd_debug_answer_runtime(control);
		gp_kfd_debug_trap(control, GP_KFD_DBG_DISABLE, &args);
	}
	control->enabled = false;
}

static int enable(struct gp_kfd_debug_target *control)
{
	struct gp_kfd_runtime_info info = {0};
	struct gp_kfd_dbg_trap_args args = {0};

	args.enable.exception_mask = EXCEPTIONS;
	args.enable.rinfo_ptr = (uintptr_t)&info;
	args.enable.rinfo_size = sizeof(info);
	args.enable.dbg_fd = (u32)control->events[1];
	int error = gp_kfd_debug_trap(control, GP_KFD_DBG_ENABLE, &args);
	if (error)
		return error;
	control->enabled = true;
	control->runtime_state = info.runtime_state;
	return 0;
}

/* amdkfd answers unknown requests with ENOTTY, the DKMS driver with EINVAL, which has other reasons
 * as well. */
static bool debug_is_missing(const struct gp_kfd_debug_target *control, int error)
{
	struct gp_kfd_get_version_args version = {0};

	if (error != -EINVAL)
		return error == -ENOTTY;
	return ioctl(control->kfd, GP_KFD_IOC_GET_VERSION, &version) == 0 &&
	       version.major_version == 1 && version.minor_version < GP_KFD_MINOR_DEBUG;
}

static int say_enable_error(struct gp_kfd_debug_target *control, struct gp_proto_message *why,
			    int error)
{
	struct gp_kfd_dbg_trap_args args = {0};

	switch (debug_is_missing(control, error) ? -ENOTTY : error) {
	case -ENOTTY:
		return gp_proto_say(why, -EOPNOTSUPP, GP_SAY_DEBUG_MISSING, control->base.pid);
	case -EALREADY:
		/* Somebody enabled it and let go of ptrace. The driver has made us the owner
		 * without counting us: end the session while its pointer to us is good. */
		gp_kfd_debug_trap(control, GP_KFD_DBG_DISABLE, &args);
		return gp_proto_say(why, -EUCLEAN, GP_SAY_DEBUG_LEFTOVER, control->base.pid);
	case -ESRCH:
		return gp_proto_say(why, error, GP_SAY_GONE, control->base.pid);
	default:
		return gp_proto_say(why, error, GP_SAY_DEBUG_ERROR, control->base.pid);
	}
}

static int open_device(struct gp_kfd_debug_target *control, struct gp_proto_message *why)
{
	control->kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	if (control->kfd < 0)
		return gp_proto_say(why, -errno, GP_SAY_KFD_ERROR);
	if (pipe2(control->events, O_CLOEXEC | O_NONBLOCK) < 0)
		return gp_proto_say(why, -errno, GP_SAY_PIPE_ERROR);
	return 0;
}

static int begin(struct gp_kfd_debug_target *control, struct gp_proto_message *why)
{
	u32 tracer = 0, uid;
	int error = probe(control->base.pidfd, control->base.pid, why);

	if (!error)
		error = open_device(control, why);
	if (error)
		return error;
	error = gp_kfd_debug_remember_program(control);
	if (!error && !gp_kfd_debug_status(control->base.pid, &tracer, &uid) &&
	    tracer != (u32)syscall(SYS_gettid))
		error = gp_kfd_debug_seize(control);
	/* A pid that was still the pinned process's after it was seized is that process. */
	if (!error && syscall(SYS_pidfd_send_signal, control->base.pidfd, 0, NULL, 0) < 0)
		error = -ESRCH;
	if (!error && !gp_kfd_debug_same_program(control))
		error = -ESRCH;
	if (error)
		return gp_proto_say(why, error,
				    error == -EPERM ? GP_SAY_TRACE_FORBIDDEN : GP_SAY_TRACE_ERROR,
				    control->base.pid);
	error = enable(control);
	if (error)
		return say_enable_error(control, why, error);
	if (control->runtime_state == GP_KFD_RUNTIME_DISABLED) {
		disable(control);
		return gp_proto_say(why, -EOPNOTSUPP, GP_SAY_DEBUG_DISABLED, control->base.pid);
	}
	error = gp_kfd_debug_make_current(control);
	return error ? gp_proto_say(why, error, GP_SAY_LIST_ERROR, control->base.pid) : 0;
}

static void release(struct gp_kfd_debug_target *control)
{
	/* Passes on what came meanwhile. One that has stopped since is detached here and gets its
	 * signal, a running one at its next signal or when this thread ends: stopping it to detach
	 * could fail its system calls with EINTR. */
	if (!control->gone) {
		gp_kfd_debug_signals(control);
		gp_kfd_debug_stray(control->base.pid);
	}
	int fds[] = {control->kfd, control->memory, control->events[0], control->events[1]};
	for (size_t i = 0; i < GP_ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	gp_gpu_control_queues_free(&control->queues);
	free(control->pointers);
	free(control);
}

static void detach(struct gp_gpu_control *base)
{
	struct gp_kfd_debug_target *control = gp_kfd_debug_target(base);

	disable(control); /* resumes everything */
	release(control);
}

static int attach(int pidfd, u32 pid, struct gp_proto_message *why, struct gp_gpu_control **out)
{
	struct gp_kfd_debug_target *control = calloc(1, sizeof(*control));

	if (!control)
		return -ENOMEM;
	control->base = (struct gp_gpu_control){.pid = pid, .pidfd = pidfd};
	control->kfd = control->memory = control->events[0] = control->events[1] = -1;
	control->stale = true;
	int error = begin(control, why);
	if (error) {
		detach(&control->base);
		return error;
	}
	*out = &control->base;
	return 0;
}

/* ---- a session that is not ours any more ---- */

static void wait_a_moment(void)
{
	nanosleep(&(struct timespec){.tv_nsec = GP_NS_PER_MS}, NULL);
}

/*
 * The target is not traced by us. When another of its threads calls exec, the lead thread, and
 * our hold on it, go a moment before the program does: in that moment everything looks as after a
 * theft, and seizing again would get us the new program. So the old one must prove that it stays.
 */
static int seize_again(struct gp_kfd_debug_target *control)
{
	for (int i = 0; i < EXEC_MS; i++) {
		if (!gp_kfd_debug_same_program(control))
			return -ESRCH;
		wait_a_moment();
	}
	int error = gp_kfd_debug_seize(control);
	if (!error && !gp_kfd_debug_same_program(control))
		error = -ESRCH;
	return error;
}

static int take_back(struct gp_kfd_debug_target *control)
{
	int error = seize_again(control);

	if (error) {
		control->gone |= error == -ESRCH;
		return error == -ESRCH ? error : -EPERM;
	}
	/* EALREADY makes the caller the owner, and the driver had counted us before. */
	error = enable(control);
	if (error && error != -EALREADY)
		return error == -ESRCH ? error : -EPERM;
	control->enabled = true;
	control->stale = true;
	return 0;
}

int gp_kfd_debug_recover(struct gp_kfd_debug_target *control)
{
	u32 tracer = 0, uid = 0;
	int error = gp_kfd_debug_signals(control);

	if (error)
		return error;
	error = gp_kfd_debug_status(control->base.pid, &tracer, &uid);
	if (error)
		return error;
	/* Ours as before: what the driver refuses is a target without a runtime. */
	if (tracer == (u32)syscall(SYS_gettid))
		return -EOPNOTSUPP;
	return tracer ? -EPERM : take_back(control);
}

/* ---- events ---- */

static int event_fd(struct gp_gpu_control *base)
{
	return gp_kfd_debug_target(base)->events[0];
}

static int pump(struct gp_gpu_control *base)
{
	struct gp_kfd_debug_target *control = gp_kfd_debug_target(base);
	int error = gp_kfd_debug_signals(control);

	if (!error)
		error = gp_kfd_debug_make_current(control);
	if (error)
		return error;
	struct pollfd end = {.fd = control->base.pidfd, .events = POLLIN};
	if (poll(&end, 1, 0) > 0 && end.revents & POLLIN) {
		gp_kfd_debug_signals(control);
		control->gone = true;
	}
	bool changed = control->changed;
	control->changed = false;
	return control->gone ? -ESRCH : changed;
}

/* ---- the queues as sysfs shows them ---- */

static u32 ioctl_type(enum gp_gpu_queue_type type)
{
	switch (type) {
	case GP_QUEUE_SDMA:
		return GP_KFD_QUEUE_SDMA;
	case GP_QUEUE_SDMA_XGMI:
		return GP_KFD_QUEUE_SDMA_XGMI;
	default:
		return GP_KFD_QUEUE_COMPUTE_AQL; /* sysfs does not distinguish AQL and PM4 */
	}
}

int gp_kfd_debug_look(int pidfd, u32 pid, struct gp_gpu_control_queues *out)
{
	struct gp_gpu_process_list list = {0};
	struct gp_root live = {.dir = ""};
	int error = gp_kfd_describe(&live, NULL, pid, &list);

	(void)pidfd;
	*out = (struct gp_gpu_control_queues){0};
	for (size_t i = 0; !error && i < list.count; i++)
		for (size_t q = 0; !error && q < list.items[i].queue_count; q++) {
			const struct gp_gpu_queue *queue = &list.items[i].queues[q];

			error = gp_array_grow((void **)&out->items, out->count, &out->capacity,
					      sizeof(*out->items));
			if (!error)
				out->items[out->count++] = (struct gp_gpu_control_queue){
					.id = queue->id,
					.gpu_id = queue->gpu_id,
					.type = ioctl_type(queue->type),
					.valid = GP_QUEUE_HAS_KFD_ID,
					.ring_bytes = queue->size,
				};
		}
	gp_gpu_process_list_free(&list);
	if (error)
		gp_gpu_control_queues_free(out);
	return error;
}

const struct gp_gpu_control_ops gp_kfd_debug_control = {
	.mechanism = GP_MECHANISM_KFD_DEBUG,
	.probe = probe,
	.attach = attach,
	.detach = detach,
	.fd = event_fd,
	.pump = pump,
	.queues = gp_kfd_debug_list,
	.suspend = gp_kfd_debug_suspend,
	.resume = gp_kfd_debug_resume,
	.stray = gp_kfd_debug_stray,
	.look = gp_kfd_debug_look,
	.lease = gp_kfd_debug_lease,
};
