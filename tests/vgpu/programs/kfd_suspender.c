// SPDX-License-Identifier: MIT
/*
 * kfd_suspender SEED MICROSECONDS PID...: holds the processes as a debugger (PTRACE_SEIZE,
 * DBG_TRAP) and suspends or resumes all queues of a random one every so often, until all are gone.
 * Prints how often it did. Processes without RUNTIME_ENABLE cannot be suspended: that is an error.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/kfd_debug.h"
#include "check.h"

#define TARGETS 16

struct target {
	pid_t pid;
	int stopped;
	uint32_t ids[GP_KFD_MAX_QUEUES], count;
};

static int kfd;

static int trap(pid_t pid, uint32_t op, struct gp_kfd_dbg_trap_args *args)
{
	args->pid = (uint32_t)pid;
	args->op = op;
	return ioctl(kfd, GP_KFD_IOC_DBG_TRAP, args);
}

/* Its queues, none of them new afterwards. */
static void look(struct target *target)
{
	static struct gp_kfd_queue_snapshot_entry entries[GP_KFD_MAX_QUEUES];
	struct gp_kfd_dbg_trap_args args = {0};

	args.queue_snapshot.exception_mask = GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW);
	args.queue_snapshot.snapshot_buf_ptr = (uintptr_t)entries;
	args.queue_snapshot.num_queues = GP_KFD_MAX_QUEUES;
	args.queue_snapshot.entry_size = sizeof(entries[0]);
	target->count = 0;
	if (trap(target->pid, GP_KFD_DBG_GET_QUEUE_SNAPSHOT, &args))
		return;
	target->count = args.queue_snapshot.num_queues;
	for (uint32_t i = 0; i < target->count; i++)
		target->ids[i] = entries[i].queue_id;
}

/* 1: done; 0: the process is going. */
static int change(struct target *target)
{
	struct gp_kfd_dbg_trap_args args = {0};
	int result;

	if (target->stopped) {
		result = trap(target->pid, GP_KFD_DBG_RESUME_QUEUES, &args);
	} else {
		look(target);
		if (!target->count)
			return 0;
		args.suspend_queues.queue_array_ptr = (uintptr_t)target->ids;
		args.suspend_queues.num_queues = target->count;
		result = trap(target->pid, GP_KFD_DBG_SUSPEND_QUEUES, &args);
	}
	if (result < 0) {
		CHECK(errno == ESRCH || errno == EPERM); /* EPERM: ROCr has ended its runtime */
		return 0;
	}
	target->stopped = !target->stopped;
	return 1;
}

/* ROCr since 6 ends its runtime when it shuts down, and that waits for the debugger's answer. */
static void answer_runtime(pid_t pid)
{
	struct gp_kfd_runtime_info info = {0};
	struct gp_kfd_dbg_trap_args query = {0}, answer = {0};

	query.query_exception_info.info_ptr = (uintptr_t)&info;
	query.query_exception_info.info_size = sizeof(info);
	query.query_exception_info.exception_code = GP_KFD_EC_PROCESS_RUNTIME;
	query.query_exception_info.clear_exception = 1;
	if (trap(pid, GP_KFD_DBG_QUERY_EXCEPTION_INFO, &query))
		return;
	answer.send_runtime_event.exception_mask = GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME);
	trap(pid, GP_KFD_DBG_SEND_RUNTIME_EVENT, &answer);
}

/* A process that was seized stops at every signal; it gets it, and goes on. */
static int pump(struct target *targets, int count)
{
	int status, alive = 0;

	for (int i = 0; i < count; i++) {
		pid_t pid = targets[i].pid ? waitpid(targets[i].pid, &status, __WALL | WNOHANG) : 0;

		if (pid > 0 && WIFSTOPPED(status)) {
			int signal = status >> 16 ? 0 : WSTOPSIG(status);

			ptrace(PTRACE_CONT, pid, 0, signal);
		} else if (pid > 0 || (pid < 0 && errno == ECHILD)) {
			targets[i].pid = 0;
		}
		if (targets[i].pid)
			answer_runtime(targets[i].pid);
		alive += targets[i].pid != 0;
	}
	return alive;
}

int main(int argc, char **argv)
{
	static struct target targets[TARGETS];
	int count = argc - 3, done = 0;
	unsigned int seed;
	long pause;

	CHECK(argc > 3 && count <= TARGETS);
	seed = (unsigned int)atol(argv[1]);
	pause = atol(argv[2]);
	kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	CHECK(kfd >= 0);
	for (int i = 0; i < count; i++) {
		struct gp_kfd_dbg_trap_args args = {0};
		struct gp_kfd_runtime_info info = {0};

		targets[i].pid = atoi(argv[i + 3]);
		CHECK(!ptrace(PTRACE_SEIZE, targets[i].pid, 0, 0));
		args.enable.dbg_fd = 2;
		args.enable.rinfo_ptr = (uintptr_t)&info;
		args.enable.rinfo_size = sizeof(info);
		CHECK(!trap(targets[i].pid, GP_KFD_DBG_ENABLE, &args));
		CHECK(info.runtime_state == GP_KFD_RUNTIME_ENABLED);
	}
	printf("attached\n");
	fflush(stdout);
	while (pump(targets, count)) {
		struct target *target = &targets[(unsigned int)rand_r(&seed) % (unsigned int)count];

		if (target->pid)
			done += change(target);
		usleep((useconds_t)((unsigned long)rand_r(&seed) % (unsigned long)(2 * pause + 1)));
	}
	printf("%d changes\n", done);
	return 0;
}
