// SPDX-License-Identifier: MIT
/* Section 2.1: who may use DBG_TRAP on whom, in both eras, and in which order it is found out. */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/capability.h>

#include "conformance.h"

#define PID(actor) ((u64)(actor).pid)

static void nobody_there(struct self *me)
{
	struct actor dead = start_actor();
	siginfo_t info;

	open_kfd(me);
	EXPECT(ME(me, do_enable, 0x7ffffffe, 0), -ESRCH);
	EXPECT(ME(me, do_enable, 0xfffffffe, 0), -ESRCH);
	EXPECT(ME(me, do_enable, 0, 0), -ESRCH);
	/* Traced, dead and not yet reaped: a task without memory, as a kernel thread is one. */
	EXPECT(ME(me, do_seize, PID(dead)), 0);
	close(dead.socket);
	CHECK(waitid(P_PID, (id_t)dead.pid, &info, WEXITED | WNOWAIT) == 0);
	EXPECT(ME(me, do_enable, PID(dead), 0), -ESRCH);
	CHECK(waitpid(dead.pid, NULL, 0) == dead.pid);
}

static void no_kfd_process(struct self *me)
{
	struct actor target = start_actor();

	open_kfd(me);
	EXPECT(ME(me, do_enable, PID(target), 0), -ESRCH);
	EXPECT(ME(me, do_snapshot, PID(target), 0), -ESRCH);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_snapshot, PID(target), 0), -ESRCH);
	EXPECT(ME(me, do_disable, PID(target)), -ESRCH);
	EXPECT(THREAD(me, do_enable, PID(target), 0), -ESRCH);
}

static void tracer_may_enable_first(struct self *me)
{
	struct actor target = start_actor();
	u64 out[ARGS] = {9, 9, 9};

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ASK(me, out, do_enable, PID(target), 0), 0);
	EXPECT(out[0], GP_KFD_RUNTIME_DISABLED);
	CHECK(process_exists(me, target.pid));
	EXPECT(DO(&target, do_open_gpu), 0);
	EXPECT(DO(&target, do_create, COMPUTE), 0);
	EXPECT(ME(me, do_snapshot, PID(target), 0), 1);
}

static void untraced_is_eperm(struct self *me)
{
	struct actor target = start_target(1, 1);

	open_kfd(me);
	EXPECT(ME(me, do_enable, PID(target), 0), -EPERM);
	EXPECT(ME(me, do_snapshot, PID(target), 0), -EPERM);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), -EPERM);
	EXPECT(ME(me, do_resume_all, PID(target)), -EPERM);
	EXPECT(ME(me, do_op, PID(target), 99), -EPERM);
}

static void disable_needs_it_too(struct self *me)
{
	struct actor target = start_target(1, 1), debugger = start_actor();

	open_kfd(me);
	EXPECT(ME(me, do_disable, PID(target)), -EPERM);
	EXPECT(DO(&debugger, do_open_kfd), 0);
	EXPECT(DO(&debugger, do_seize, PID(target)), 0);
	EXPECT(DO(&debugger, do_enable, PID(target)), 0);
	EXPECT(ME(me, do_disable, PID(target)), -EPERM);
	EXPECT(DO(&debugger, do_snapshot, PID(target)), 1);
}

static void anybody_may_disable(struct self *me)
{
	struct actor target = start_target(1, 1), debugger = start_actor();

	open_kfd(me);
	EXPECT(ME(me, do_disable, PID(target)), -EINVAL);
	EXPECT(DO(&debugger, do_open_kfd), 0);
	EXPECT(DO(&debugger, do_seize, PID(target)), 0);
	EXPECT(DO(&debugger, do_enable, PID(target)), 0);
	EXPECT(DO(&debugger, do_snapshot, PID(target), NEW), 1);
	EXPECT(DO(&debugger, do_suspend, PID(target), 1, 0), 1);
	EXPECT(ME(me, do_disable, PID(target)), 0);
	EXPECT(look_settled(me, target.pid, 0).mapped, 1);
	EXPECT(DO(&debugger, do_snapshot, PID(target)), -EINVAL);
}

static void seized_by_another_thread(struct self *me)
{
	struct actor target = start_target(1, 1);

	open_kfd(me);
	EXPECT(THREAD(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_enable, PID(target), 0), -EPERM);
	EXPECT(ME(me, do_snapshot, PID(target), 0), -EPERM);
	EXPECT(THREAD(me, do_enable, PID(target), 0), 0);
}

static void all_threads_after_enable(struct self *me)
{
	struct actor target = start_target(1, 2);

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_enable, PID(target), 0), 0);
	EXPECT(THREAD(me, do_snapshot, PID(target), NEW), 2);
	EXPECT(THREAD(me, do_suspend, PID(target), 1, 0), 1);
	EXPECT(THREAD(me, do_resume, PID(target), 1, 0), 1);
	EXPECT(THREAD(me, do_disable, PID(target)), 0);
}

static void tracing_thread_for_ever(struct self *me)
{
	struct actor target = start_target(1, 2);

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_enable, PID(target), 0), 0);
	EXPECT(THREAD(me, do_snapshot, PID(target), NEW), -EPERM);
	EXPECT(THREAD(me, do_suspend, PID(target), 1, 0), -EPERM);
	EXPECT(ME(me, do_snapshot, PID(target), NEW), 2);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
	EXPECT(THREAD(me, do_resume_all, PID(target)), -EPERM);
}

static void goes_on_after_detach(struct self *me)
{
	struct actor target = start_target(1, 2);

	attach(me, &target, 0);
	EXPECT(ME(me, do_detach, PID(target)), 0);
	EXPECT(ME(me, do_snapshot, PID(target), 0), 2);
	EXPECT(ME(me, do_suspend, PID(target), 2, 0, 1), 2);
	EXPECT(look_settled(me, target.pid, 1).mapped, 0);
	EXPECT(ME(me, do_resume, PID(target), 2, 0, 1), 2);
	EXPECT(THREAD(me, do_suspend, PID(target), 1, 0), 1);
	EXPECT(ME(me, do_disable, PID(target)), 0);
	EXPECT(ME(me, do_snapshot, PID(target), 0), -EPERM);
	EXPECT(ME(me, do_enable, PID(target), 0), -EPERM);
}

static void ends_with_detach(struct self *me)
{
	struct actor target = start_target(1, 2);

	attach(me, &target, 0);
	EXPECT(ME(me, do_detach, PID(target)), 0);
	EXPECT(ME(me, do_snapshot, PID(target), 0), -EPERM);
	EXPECT(ME(me, do_suspend, PID(target), 2, 0, 1), -EPERM);
	EXPECT(ME(me, do_disable, PID(target)), 0);
}

/* ---- the lead thread ---- */

struct second_thread {
	_Atomic pid_t tid;
	int ends[2];
};

static void *sit(void *context)
{
	struct second_thread *second = context;
	char byte;

	second->tid = (pid_t)syscall(SYS_gettid);
	(void)!read(second->ends[0], &byte, 1);
	return NULL;
}

static s64 start_thread(struct self *self, const u64 *args, u64 *out)
{
	static struct second_thread second;
	pthread_t thread;

	(void)self, (void)args, (void)out;
	CHECK(pipe(second.ends) == 0);
	CHECK(pthread_create(&thread, NULL, sit, &second) == 0);
	while (!second.tid)
		;
	return second.tid;
}

static void only_another_thread_is_traced(struct self *me)
{
	struct actor target = start_target(1, 1);
	s64 tid = DO(&target, start_thread);

	CHECK(tid > 0);
	open_kfd(me);
	EXPECT(ME(me, do_seize, (u64)tid), 0);
	EXPECT(ME(me, do_enable, PID(target), 0), -EPERM);
	EXPECT(ME(me, do_enable, (u64)tid, 0), -EPERM);
}

static void any_thread_names_the_process(struct self *me)
{
	struct actor target = start_target(1, 1);
	s64 tid = DO(&target, start_thread);

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_enable, (u64)tid, 0), 0);
	EXPECT(ME(me, do_snapshot, (u64)tid, NEW), 1);
	EXPECT(ME(me, do_suspend, (u64)tid, 1, 0), 1);
	EXPECT(look_settled(me, target.pid, 0).suspended, 1);
}

/* ---- the owner is stored first ---- */

static void failed_enable_makes_the_owner(struct self *me)
{
	struct actor target = start_target(1, 1);
	u64 out[ARGS] = {0};

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(THREAD(me, do_enable, PID(target), 0), -EPERM);
	EXPECT(ME(me, do_enable_bad_fd, PID(target)), -EBADF);
	EXPECT(other_thread(me, do_enable, LIST(PID(target)), out), 0);
	EXPECT(out[0], GP_KFD_RUNTIME_ENABLED);
	EXPECT(out[1], 0x1234);
	EXPECT(ME(me, do_enable, PID(target), 0), -EALREADY);
}

static void failed_enable_changes_nothing_for_threads(struct self *me)
{
	struct actor target = start_target(1, 1);

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_enable_bad_fd, PID(target)), -EBADF);
	EXPECT(THREAD(me, do_enable, PID(target), 0), -EPERM);
	EXPECT(ME(me, do_enable, PID(target), 0), 0);
}

static void self_needs_no_ptrace(struct self *me)
{
	u64 pid = (u64)getpid();
	u64 out[ARGS] = {9, 9};

	open_gpu(me);
	EXPECT(enable_runtime(me, 1), 0);
	must_create(me, COMPUTE);
	EXPECT(ASK(me, out, do_enable, pid, 0), 0);
	EXPECT(out[0], GP_KFD_RUNTIME_ENABLED);
	EXPECT(THREAD(me, do_snapshot, pid, NEW), 1);
	EXPECT(THREAD(me, do_suspend, pid, 1, 0), 1);
	EXPECT(look_settled(me, getpid(), 0).mapped, 0);
	EXPECT(ME(me, do_resume_all, pid), 1);
	EXPECT(ME(me, do_disable, pid), 0);
}

/* A process that others may not look into, traced before it became one. */
static s64 hide(struct self *self, const u64 *args, u64 *out)
{
	(void)self, (void)args, (void)out;
	return prctl(PR_SET_DUMPABLE, 0);
}

static void seize_is_enough(struct self *me)
{
	struct actor target = start_target(1, 1);

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(DO(&target, hide), 0);
	EXPECT(ME(me, do_enable, PID(target), 0), 0);
	EXPECT(ME(me, do_snapshot, PID(target), NEW), 1);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
	/* It was never stopped: it still answers. */
	EXPECT(DO(&target, do_available_memory), 0);
}

/* ---- what comes after the permission ---- */

static void not_enabled_is_einval(struct self *me)
{
	struct actor target = start_target(1, 1);

	open_kfd(me);
	EXPECT(ME(me, do_disable, (u64)getpid()), -EINVAL);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	for (u32 op = GP_KFD_DBG_DISABLE; op <= GP_KFD_DBG_GET_DEVICE_SNAPSHOT; op++)
		EXPECT(ME(me, do_op, PID(target), op), -EINVAL);
}

static void hardware_needs_the_runtime(struct self *me)
{
	struct actor target = start_target(0, 1);

	attach(me, &target, 0);
	for (u32 op = GP_KFD_DBG_SET_WAVE_LAUNCH_OVERRIDE; op <= GP_KFD_DBG_SET_FLAGS; op++)
		EXPECT(ME(me, do_op, PID(target), op), -EPERM);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), -EPERM);
	EXPECT(ME(me, do_resume, PID(target), 1, 0), -EPERM);
	EXPECT(ME(me, do_query_event, PID(target), 0), -EAGAIN);
	EXPECT(ME(me, do_snapshot, PID(target), 0), 1);
}

static void unknown_op_is_einval(struct self *me)
{
	struct actor target = start_target(1, 1);

	attach(me, &target, 0);
	EXPECT(ME(me, do_op, PID(target), 15), -EINVAL);
	EXPECT(ME(me, do_op, PID(target), 99), -EINVAL);
}

static void enabled_already(struct self *me)
{
	u64 pid = (u64)getpid(), out[ARGS] = {9};

	open_kfd(me);
	EXPECT(ASK(me, out, do_enable, pid, 0), 0);
	EXPECT(out[0], GP_KFD_RUNTIME_DISABLED);
	EXPECT(out[2], 16);
	EXPECT(ME(me, do_enable, pid, 0), -EALREADY);
	EXPECT(ME(me, do_enable_bad_fd, pid), -EALREADY);
}

static void enable_arguments(struct self *me)
{
	u64 pid = (u64)getpid(), out[ARGS], write_end;

	open_kfd(me);
	write_end = (u64)me->pipe[1];
	EXPECT(ME(me, do_enable_bad_fd, pid), -EBADF);
	EXPECT(ME(me, do_disable, pid), -EINVAL);
	/* exception mask, rinfo_ptr, rinfo_size | dbg_fd << 32 */
	EXPECT(ME(me, do_op, pid, GP_KFD_DBG_ENABLE, 0, 8, 16 | write_end << 32), -EFAULT);
	EXPECT(ME(me, do_disable, pid), -EINVAL);
	EXPECT(ASK(me, out, do_op, pid, GP_KFD_DBG_ENABLE, 0, 0, write_end << 32), 0);
	EXPECT(out[2] & 0xffffffff, 16);
	EXPECT(ME(me, do_disable, pid), 0);
}

static void the_descriptor_is_the_callers(struct self *me)
{
	struct actor target = start_target(1, 0);

	attach(me, &target, NEW);
	EXPECT(pipe_bytes(me), 0);
	EXPECT(DO(&target, do_create, COMPUTE), 0);
	EXPECT(pipe_bytes(me), 1);
}

/* What a process that root has given nothing to is: traced by ancestors, without capabilities. */
static s64 be_ordinary(struct self *self, const u64 *args, u64 *out)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	(void)self, (void)args, (void)out;
	CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
	(void)prctl(PR_SET_PTRACER, 0); /* EINVAL without Yama */
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

static s64 become_nobody(struct self *self, const u64 *args, u64 *out)
{
	const uid_t nobody = 65534;

	open_kfd(self);
	EXPECT(do_available_memory(self, args, out), -EINVAL); /* connected, and no such GPU */
	return setresuid(nobody, nobody, nobody) ? -errno : 0;
}

static int ptrace_scope(void)
{
	char *text = slurp("/proc/sys/kernel/yama/ptrace_scope");
	int scope = text ? atoi(text) : 0;

	free(text);
	return scope;
}

/* KFD asks nothing but whether the attach is there. */
static void the_attach_decides(struct self *me)
{
	struct actor child = start_target(1, 0), sibling = start_target(1, 0),
		     debugger = start_actor(), nobody = start_actor(), root = start_target(1, 0);
	s64 expected = ptrace_scope() ? -EPERM : 0;

	EXPECT(DO(&child, be_ordinary), 0);
	EXPECT(DO(&sibling, be_ordinary), 0);
	EXPECT(DO(&debugger, do_open_kfd), 0);
	EXPECT(DO(&debugger, be_ordinary), 0);
	open_kfd(me);
	EXPECT(ME(me, be_ordinary), 0);
	EXPECT(ME(me, do_seize, PID(child)), 0);
	EXPECT(ME(me, do_enable, PID(child), 0), 0);
	EXPECT(DO(&debugger, do_seize, PID(sibling)), expected);
	EXPECT(DO(&debugger, do_enable, PID(sibling), 0), expected);
	/* Only root has somebody else to be. */
	if (geteuid() == 0 && DO(&nobody, become_nobody) == 0) {
		EXPECT(DO(&nobody, do_seize, PID(root)), -EPERM);
		EXPECT(DO(&nobody, do_enable, PID(root), 0), -EPERM);
	}
}

const struct row rows_permission[] = {
	{"kfd 2.1/2, 6.12 T2", "no such pid, or a task without memory: ESRCH", nobody_there,
	 DEBUGGER, NULL},
	{"kfd 2.1/3, 6.12 T2", "a process without /dev/kfd is ESRCH, but for ENABLE by its tracer",
	 no_kfd_process, DEBUGGER, NULL},
	{"kfd 2.1/3, 6.12 T2", "ENABLE by the tracer makes the process before it opens /dev/kfd",
	 tracer_may_enable_first, DEBUGGER, NULL},
	{"kfd 2.1/4, 6.12 T2",
	 "without ptrace EPERM, also for an unknown op and before 'not enabled'", untraced_is_eperm,
	 DEBUGGER, NULL},
	{"kfd 2.1/4, 6.12 T2", "since 6.12 DISABLE by a stranger is EPERM too",
	 disable_needs_it_too, ERA_6_12, NULL},
	{"kfd 2.1/4", "before, anybody may DISABLE", anybody_may_disable, ERA_6_5, NULL},
	{"kfd 2.1/4, 6.12 T2", "SEIZE by thread X, ENABLE by thread Y is EPERM",
	 seized_by_another_thread, DEBUGGER, NULL},
	{"kfd 2.1/4, 6.12 T2", "after ENABLE any thread of the debugger may",
	 all_threads_after_enable, ERA_6_12, NULL},
	{"kfd 2.1/4", "before, every op needs the very thread that attached",
	 tracing_thread_for_ever, ERA_6_5, NULL},
	{"kfd 2.1/4, 6.12 T2", "after PTRACE_DETACH the debugger goes on until DISABLE",
	 goes_on_after_detach, ERA_6_12, NULL},
	{"kfd 2.1/4", "before, PTRACE_DETACH ended it, but for DISABLE", ends_with_detach, ERA_6_5,
	 NULL},
	{"kfd 2.1/4, 6.12 T13", "tracing another thread than the leader is EPERM",
	 only_another_thread_is_traced, DEBUGGER, NULL},
	{"kfd 2.1/4, 6.12 T13", "with the leader traced, pid may be any thread of the target",
	 any_thread_names_the_process, DEBUGGER, NULL},
	{"kfd 2.1/4, 6.12 T2", "a failed ENABLE by the tracer makes its process the debugger",
	 failed_enable_makes_the_owner, ERA_6_12, NULL},
	{"kfd 2.1/4", "before, a failed ENABLE gave other threads nothing",
	 failed_enable_changes_nothing_for_threads, ERA_6_5, NULL},
	{"kfd 2.1/4, 6.12 T11", "a process may debug itself without ptrace", self_needs_no_ptrace,
	 DEBUGGER, NULL},
	{"kfd 2.1/4", "PTRACE_SEIZE is enough, and KFD itself asks for no access", seize_is_enough,
	 DEBUGGER, NULL},
	{"kfd 2.1/5, 6.12 T2", "any op but ENABLE before ENABLE is EINVAL", not_enabled_is_einval,
	 DEBUGGER, NULL},
	{"kfd 2.1/5, 6.12 T2", "an unknown op is EINVAL", unknown_op_is_einval, DEBUGGER, NULL},
	{"kfd 2.1/6, 6.12 T2", "ops 4 to 10 with the runtime off are EPERM, not EACCES",
	 hardware_needs_the_runtime, DEBUGGER, NULL},
	{"kfd 2.1/7, 6.12 T2", "ENABLE twice is EALREADY; rinfo_size comes back as 16",
	 enabled_already, DEBUGGER, NULL},
	{"kfd 2.1/7, 6.12 T2",
	 "bad dbg_fd EBADF, bad rinfo_ptr EFAULT and undone, NULL of size 0 fine", enable_arguments,
	 DEBUGGER, NULL},
	{"kfd 2.1/7", "dbg_fd is the caller's, and gets one byte for an enabled exception",
	 the_descriptor_is_the_callers, DEBUGGER, NULL},
	{"6.12 T16", "ptrace_scope and user ids decide through the ptrace attach alone",
	 the_attach_decides, DEBUGGER, NULL},
	{0},
};
