// SPDX-License-Identifier: MIT
/* Section 2.5: what ends a suspension, and what a suspended process can do meanwhile. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "conformance.h"

#define PID(actor) ((u64)(actor).pid)

/* Both queues of a target held by an actor. */
static struct actor start_debugger(const struct actor *target)
{
	struct actor debugger = start_actor();

	EXPECT(DO(&debugger, do_open_kfd), 0);
	EXPECT(DO(&debugger, do_seize, PID(*target)), 0);
	EXPECT(DO(&debugger, do_enable, PID(*target), 0), 0);
	EXPECT(DO(&debugger, do_snapshot, PID(*target), NEW), 2);
	EXPECT(DO(&debugger, do_suspend, PID(*target), 2, 0, 1), 2);
	return debugger;
}

static void all_run(struct self *me, pid_t pid, u32 count)
{
	for (u32 id = 0; id < count; id++) {
		EXPECT(look_settled(me, pid, id).mapped, 1);
		EXPECT(look(me, pid, id).suspended, 0);
	}
}

static void none_runs(struct self *me, pid_t pid, u32 count)
{
	for (u32 id = 0; id < count; id++) {
		EXPECT(look_settled(me, pid, id).mapped, 0);
		EXPECT(look(me, pid, id).suspended, 1);
	}
}

static void works(struct self *me, struct actor *target)
{
	u64 done = look(me, target->pid, 0).completed;

	EXPECT(DO(target, do_submit, 0, 1000), 0);
	UNTIL(me, look(me, target->pid, 0).completed == done + 1);
}

static void disable_resumes(struct self *me)
{
	struct actor target = start_target(1, 2);

	attach(me, &target, NEW);
	EXPECT(ME(me, do_suspend, PID(target), 2, 0, 1), 2);
	none_runs(me, target.pid, 2);
	EXPECT(ME(me, do_disable, PID(target)), 0);
	all_run(me, target.pid, 2);
	/* The descriptor was given back and the mask is gone. */
	EXPECT(DO(&target, do_create, COMPUTE), 2);
	EXPECT(pipe_bytes(me), 0);
	EXPECT(ME(me, do_snapshot, PID(target), 0), -EINVAL);
}

static s64 watch(struct self *me, u64 pid, u64 *id)
{
	u64 out[ARGS] = {0};
	/* address, mode and mask, gpu_id */
	s64 result = ASK(me, out, do_op, pid, GP_KFD_DBG_SET_NODE_ADDRESS_WATCH, 0x1000, 0,
			 gpu_number(me, "gpu_id"));

	*id = out[2] >> 32;
	return result;
}

static void disable_cleans_up(struct self *me)
{
	struct actor target = start_target(1, 1);
	u64 pid = PID(target), out[ARGS], id;

	attach(me, &target, 0);
	for (u32 round = 0; round < 2; round++) {
		for (u32 i = 0; i < 4; i++) {
			EXPECT(watch(me, pid, &id), 0);
			EXPECT(id, i);
		}
		EXPECT(watch(me, pid, &id), -ENOMEM);
		/* SET_FLAGS says what they were; SINGLE_MEM_OP where the GPU can. */
		EXPECT(ASK(me, out, do_op, pid, GP_KFD_DBG_SET_FLAGS, 1), 0);
		EXPECT(out[0] & 0xffffffff, 0);
		EXPECT(ASK(me, out, do_op, pid, GP_KFD_DBG_SET_FLAGS, 1), 0);
		EXPECT(out[0] & 0xffffffff, 1);
		EXPECT(ME(me, do_op, pid, GP_KFD_DBG_SET_WAVE_LAUNCH_MODE, 1), 0);
		EXPECT(ME(me, do_op, pid, GP_KFD_DBG_SET_WAVE_LAUNCH_MODE, 2), -EINVAL);
		EXPECT(ME(me, do_disable, pid), 0);
		EXPECT(ME(me, do_enable, pid, 0), 0);
	}
}

static void killed_debugger(struct self *me)
{
	struct actor target = start_target(1, 2), debugger = start_debugger(&target);

	none_runs(me, target.pid, 2);
	actor_kill(me, &debugger);
	all_run(me, target.pid, 2);
	works(me, &target);
}

static void killed_after_detach(struct self *me)
{
	struct actor target = start_target(1, 2), debugger = start_debugger(&target);

	EXPECT(DO(&debugger, do_detach, PID(target)), 0);
	none_runs(me, target.pid, 2);
	actor_kill(me, &debugger);
	all_run(me, target.pid, 2);
	works(me, &target);
}

static void debugger_exits(struct self *me)
{
	struct actor target = start_target(1, 2), debugger = start_debugger(&target);

	close(debugger.socket); /* it leaves by itself */
	CHECK(waitpid(debugger.pid, NULL, 0) == debugger.pid);
	wait_gone(me, debugger.pid);
	all_run(me, target.pid, 2);
	works(me, &target);
}

static void debugger_execs(struct self *me)
{
	struct actor target = start_target(1, 2), debugger;
	int ends[2];

	CHECK(pipe(ends) == 0);
	debugger = start_debugger(&target);
	BEGIN(&debugger, do_exec, (u64)ends[0]);
	wait_gone(me, debugger.pid);
	all_run(me, target.pid, 2);
	EXPECT(kill(debugger.pid, 0), 0);
	kill(debugger.pid, SIGKILL);
}

static void two_targets_of_one_debugger(struct self *me)
{
	struct actor first = start_target(1, 2), second = start_target(1, 2),
		     debugger = start_debugger(&first);

	EXPECT(DO(&debugger, do_seize, PID(second)), 0);
	EXPECT(DO(&debugger, do_enable, PID(second), 0), 0);
	EXPECT(DO(&debugger, do_snapshot, PID(second), NEW), 2);
	EXPECT(DO(&debugger, do_suspend, PID(second), 2, 0, 1), 2);
	actor_kill(me, &debugger);
	all_run(me, first.pid, 2);
	all_run(me, second.pid, 2);
}

static void debugger_closes(struct self *me)
{
	struct actor target = start_target(1, 2), debugger = start_debugger(&target);

	EXPECT(DO(&debugger, do_close_kfd), 0);
	none_runs(me, target.pid, 2);
	CHECK(process_exists(me, debugger.pid));
	actor_kill(me, &debugger);
	all_run(me, target.pid, 2);
}

/* ---- the target ends ---- */

static void target_killed(struct self *me, bool detach)
{
	struct actor target = start_target(1, 2);
	char path[64];

	attach(me, &target, 0);
	EXPECT(DO(&target, do_submit, 0, 60000), 0);
	UNTIL(me, look(me, target.pid, 0).cu_ns > 0);
	EXPECT(ME(me, do_suspend, PID(target), 2, 0, 1), 2);
	if (detach)
		EXPECT(ME(me, do_detach, PID(target)), 0);
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d", (int)target.pid);
	EXPECT(access(path, F_OK), 0);
	actor_kill(me, &target);
	CHECK(access(path, F_OK) < 0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), -ESRCH);
	EXPECT(ME(me, do_disable, PID(target)), -ESRCH);
	EXPECT(figure(me, "mapped_queues"), 0);
}

static void traced_target_killed(struct self *me)
{
	target_killed(me, false);
}

static void detached_target_killed(struct self *me)
{
	target_killed(me, true);
}

static s64 suspend_myself(struct self *self, const u64 *args, u64 *out)
{
	(void)args;
	EXPECT(ME(self, do_enable, (u64)getpid(), 0), 0);
	EXPECT(ME(self, do_snapshot, (u64)getpid(), NEW), 2);
	return ASK(self, out, do_suspend, (u64)getpid(), 2, 0, 1);
}

static void ignore(int number)
{
	(void)number;
}

static s64 catch_signals(struct self *self, const u64 *args, u64 *out)
{
	struct sigaction action = {.sa_handler = ignore};

	(void)self, (void)args, (void)out;
	return sigaction(SIGUSR1, &action, NULL);
}

static void suspended_by_itself(struct self *me)
{
	struct actor target = start_target(1, 2);

	EXPECT(DO(&target, catch_signals), 0);
	EXPECT(DO(&target, do_submit, 0, 20000), 0);
	EXPECT(DO(&target, suspend_myself), 2);
	none_runs(me, target.pid, 2);
	/* It waits for itself; a signal ends that. */
	BEGIN(&target, do_destroy, 0);
	CHECK(is_blocked(me, &target));
	CHECK(kill(target.pid, SIGUSR1) == 0);
	EXPECT(actor_end(&target), -EINTR);
	none_runs(me, target.pid, 2);
	close(target.socket);
	CHECK(waitpid(target.pid, NULL, 0) == target.pid);
	wait_gone(me, target.pid);
	EXPECT(figure(me, "mapped_queues"), 0);
}

/* ---- DESTROY of a suspended queue ---- */

static void destroy_blocks(struct self *me)
{
	struct actor target = start_target(1, 3);
	u64 out[ARGS];

	attach(me, &target, DELETED);
	EXPECT(ME(me, do_suspend, PID(target), 1, 2), 1);
	BEGIN(&target, do_destroy, 2);
	CHECK(is_blocked(me, &target));
	/* It is still there, and suspended: counted. */
	EXPECT(ME(me, do_snapshot, PID(target), 0), 3);
	EXPECT(ASK(me, out, do_suspend, PID(target), 1, 2), 1);
	EXPECT(out[0], 2);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
	/* Another queue's resume does not help, although it wakes the call. */
	EXPECT(ME(me, do_resume, PID(target), 1, 0), 1);
	CHECK(is_blocked(me, &target));
	EXPECT(pipe_bytes(me), 0);
	EXPECT(ME(me, do_resume, PID(target), 1, 2), 1);
	EXPECT(actor_end(&target), 0);
	EXPECT(pipe_bytes(me), 1);
	EXPECT(ME(me, do_snapshot, PID(target), 0), 2);
}

static void deliver(pid_t pid)
{
	int status;

	CHECK(kill(pid, SIGUSR1) == 0);
	/* A seized process stops at every signal until its tracer hands it on. */
	while (waitpid(pid, &status, __WALL) < 0)
		CHECK(errno == EINTR);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1);
	CHECK(ptrace(PTRACE_CONT, pid, 0, SIGUSR1) == 0);
}

static void destroy_interrupted(struct self *me)
{
	struct actor target = start_target(1, 2);

	EXPECT(DO(&target, catch_signals), 0);
	attach(me, &target, 0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 1), 1);
	BEGIN(&target, do_destroy, 1);
	CHECK(is_blocked(me, &target));
	deliver(target.pid);
	EXPECT(actor_end(&target), -EINTR);
	EXPECT(ME(me, do_snapshot, PID(target), 0), 2);
	EXPECT(look(me, target.pid, 1).suspended, 1);
	BEGIN(&target, do_destroy, 1);
	CHECK(is_blocked(me, &target));
	EXPECT(ME(me, do_disable, PID(target)), 0);
	EXPECT(actor_end(&target), 0);
	EXPECT(look(me, target.pid, 1).exists, 0);
	EXPECT(look_settled(me, target.pid, 0).mapped, 1);
}

/* Two threads of the target: the other one blocks, the first comes second. */
static s64 destroy_twice(struct self *self, const u64 *args, u64 *out)
{
	struct self watcher = {.status_fd = -1};
	struct actor thread = {0};
	s64 second, first;

	EXPECT(THREAD(self, do_available_memory), 0); /* the thread is there */
	thread.socket = other_thread_begin(self, do_destroy, LIST(args[0]));
	UNTIL(me, process_number(&watcher, getpid(), "blocked") == 1);
	second = destroy_queue(self, (u32)args[0]);
	EXPECT(ME(self, do_resume, (u64)getpid(), 1, args[0]), 1);
	first = actor_end(&thread);
	out[0] = (u64)first;
	out[1] = (u64)(s64)destroy_queue(self, (u32)args[0]);
	return second;
}

static void second_destroy_is_ebusy(struct self *me)
{
	struct actor target = start_target(1, 2);

	(void)me;
	EXPECT(DO(&target, suspend_myself), 2);
	EXPECT(DO(&target, destroy_twice, 1), -EBUSY);
	EXPECT(target.out[0], 0);
	EXPECT((s64)target.out[1], -EINVAL);
}

static void killed_in_destroy(struct self *me)
{
	struct actor target = start_target(1, 1);

	attach(me, &target, 0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
	BEGIN(&target, do_destroy, 0);
	CHECK(is_blocked(me, &target));
	actor_kill(me, &target);
	EXPECT(figure(me, "mapped_queues"), 0);
}

static void destroy_without_a_debugger(struct self *me)
{
	struct actor target = start_target(1, 1);

	attach(me, &target, 0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
	EXPECT(ME(me, do_disable, PID(target)), 0);
	EXPECT(DO(&target, do_destroy, 0), 0);
	EXPECT(DO(&target, do_destroy, 0), -EINVAL);
}

/* ---- meanwhile ---- */

static void create_meanwhile(struct self *me)
{
	struct actor target = start_target(1, 2), other = start_target(0, 1);

	attach(me, &target, NEW);
	EXPECT(ME(me, do_suspend, PID(target), 2, 0, 1), 2);
	EXPECT(DO(&target, do_create, COMPUTE), 2);
	EXPECT(pipe_bytes(me), 1);
	EXPECT(look_settled(me, target.pid, 2).mapped, 1);
	none_runs(me, target.pid, 2);
	EXPECT(DO(&target, do_submit, 2, 1000), 0);
	UNTIL(me, look(me, target.pid, 2).completed == 1);
	EXPECT(ME(me, do_suspend, PID(target), 1, 2), 0);
	EXPECT(ME(me, do_snapshot, PID(target), NEW), 3);
	EXPECT(ME(me, do_suspend, PID(target), 1, 2), 1);
	/* Others come and go; what is off stays off. */
	EXPECT(DO(&other, do_create, COMPUTE), 1);
	none_runs(me, target.pid, 3);
	EXPECT(DO(&other, do_destroy, 0), 0);
	none_runs(me, target.pid, 3);
	EXPECT(ME(me, do_resume, PID(target), 3, 0, 1, 2), 3);
	all_run(me, target.pid, 3);
}

static void child_of_a_target(struct self *me)
{
	struct gp_kfd_get_version_args version;
	int status;
	pid_t child;

	open_gpu(me);
	EXPECT(enable_runtime(me, 1), 0);
	must_create(me, COMPUTE);
	must_create(me, COMPUTE);
	EXPECT(ME(me, suspend_myself), 2);
	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		EXPECT(call(me->kfd, GP_KFD_IOC_GET_VERSION, &version), -EBADF);
		EXPECT(ME(me, do_resume_all, (u64)getppid()), -EBADF);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	EXPECT(status, 0);
	/* Its death is not ours. */
	none_runs(me, getpid(), 2);
}

const struct row rows_life[] = {
	{"kfd 2.5/1", "DISABLE resumes all queues, forgets masks and the descriptor",
	 disable_resumes, DEBUGGER, NULL},
	{"kfd 2.5/1", "DISABLE gives watch points back and clears flags", disable_cleans_up,
	 DEBUGGER, NULL},
	{"kfd 2.5/2, 6.12 T8", "the debugger is killed while it traces: all queues run again",
	 killed_debugger, DEBUGGER, NULL},
	{"kfd 2.5/2, 6.12 T8", "the debugger is killed after it detached: the same",
	 killed_after_detach, DEBUGGER, NULL},
	{"kfd 2.5/2, 6.12 T8", "the debugger exits: the same", debugger_exits, DEBUGGER, NULL},
	{"6.12 T8b", "the debugger execs: the same", debugger_execs, DEBUGGER, NULL},
	{"6.12 T8", "a debugger of two targets dies: both run", two_targets_of_one_debugger,
	 DEBUGGER, NULL},
	{"kfd 2.5/3, 6.12 T8", "the debugger only closes /dev/kfd: nothing until it dies",
	 debugger_closes, DEBUGGER, NULL},
	{"kfd 2.5/4, 6.12 T9", "the target is killed while suspended: gone, later ops ESRCH",
	 traced_target_killed, DEBUGGER, NULL},
	{"kfd 2.5/4, 6.12 T9", "the target is killed after the debugger detached: the same",
	 detached_target_killed, DEBUGGER, NULL},
	{"6.12 6, 6.12 T11",
	 "a process that suspended itself blocks in DESTROY, EINTR, and exits clean",
	 suspended_by_itself, DEBUGGER, NULL},
	{"kfd 2.5/5, 6.12 T6, kfd 2.4/6",
	 "DESTROY of a suspended queue blocks until that queue is resumed", destroy_blocks,
	 DEBUGGER, NULL},
	{"6.12 6, 6.12 T6, 6.12 2",
	 "a signal is EINTR, the queue intact; the retry blocks; DISABLE ends it",
	 destroy_interrupted, DEBUGGER, NULL},
	{"kfd 2.5/5, 6.12 T22", "a second DESTROY of it is EBUSY; of one that is gone EINVAL",
	 second_destroy_is_ebusy, DEBUGGER, NULL},
	{"6.12 T9b", "a process blocked in DESTROY can be killed", killed_in_destroy, DEBUGGER,
	 NULL},
	{"kfd 2.5/5", "without a debugger DESTROY does not block", destroy_without_a_debugger,
	 DEBUGGER, NULL},
	{"kfd 2.5/6, 6.12 T5", "a queue made meanwhile runs and is new; the others stay off",
	 create_meanwhile, DEBUGGER, NULL},
	{"kfd 2.5/10",
	 "a forked child of the target cannot use the descriptor; its end changes nothing",
	 child_of_a_target, DEBUGGER, NULL},
	{0},
};
