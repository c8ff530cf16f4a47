// SPDX-License-Identifier: MIT
/* Whose a debug session is, before and after; and suspensions that expire. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "kfd.h"

static struct actor start_thief(const struct actor *target)
{
	struct actor debugger = start_actor();

	EXPECT(DO(&debugger, do_open_kfd), 0);
	EXPECT(DO(&debugger, do_seize, PID(*target)), 0);
	EXPECT(DO(&debugger, do_enable, PID(*target), 0), -EALREADY);
	EXPECT(DO(&debugger, do_detach, PID(*target)), 0);
	return debugger;
}

void session_stays(struct self *me)
{
	struct actor target = start_target(1, 2), first = start_debugger(&target),
		     second = start_thief(&target);
	bool after = patched();

	are_on(me, target.pid, false);
	EXPECT(DO(&first, do_snapshot, PID(target), 0), after ? 2 : -EPERM);
	EXPECT(DO(&second, do_snapshot, PID(target), 0), after ? -EPERM : 2);
	EXPECT(DO(&second, do_resume_all, PID(target)), after ? -EPERM : 2);
	if (!after)
		EXPECT(DO(&second, do_suspend, PID(target), 2, 0, 1), 2);
	are_on(me, target.pid, false);
	/* The end of the one who suspended them lets them run; or nobody's does. */
	actor_kill(me, &first);
	are_on(me, target.pid, after);
	/* Stock: before the thief, whose end would leave a pointer to freed memory. */
	actor_kill(me, &target);
}

/* A session that was never begun gives no rights. */
void failed_enable_is_forgotten(struct self *me)
{
	struct actor target = start_target(1, 2);

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_enable_bad_fd, PID(target)), -EBADF);
	EXPECT(ME(me, do_detach, PID(target)), 0);
	EXPECT(ME(me, do_enable, PID(target), 0), patched() ? -EPERM : 0);
	EXPECT(ME(me, do_disable, PID(target)), patched() ? -EPERM : 0);
}

static void nothing(int signal)
{
	(void)signal;
}

static s64 do_catch_signal(struct self *self, const u64 *args, u64 *out)
{
	struct sigaction action = {.sa_handler = nothing};

	(void)self, (void)out;
	return sigaction((int)args[0], &action, NULL);
}

/* Catches SIGUSR1, and has a debugger that waits for its runtime and does not trace it. */
static struct actor start_watched(struct self *me)
{
	struct actor target = start_actor();

	EXPECT(DO(&target, do_open_gpu), 0);
	EXPECT(DO(&target, do_catch_signal, SIGUSR1), 0);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_enable, PID(target), RUNTIME), 0);
	EXPECT(ME(me, do_detach, PID(target)), 0);
	return target;
}

/* Begun with a debugger that goes while the runtime waits for it. */
static struct actor start_waiting(struct self *me, struct actor *debugger)
{
	struct actor target = start_actor();

	*debugger = start_actor();
	EXPECT(DO(&target, do_open_gpu), 0);
	EXPECT(DO(debugger, do_open_kfd), 0);
	EXPECT(DO(debugger, do_seize, PID(target)), 0);
	EXPECT(DO(debugger, do_enable, PID(target), RUNTIME), 0);
	BEGIN(&target, do_runtime, 1);
	CHECK(is_blocked(me, &target));
	return target;
}

static void goes_on(struct self *me, struct actor *target)
{
	if (!patched()) {
		EXPECT(process_number(me, target->pid, "blocked"), 1);
		return;
	}
	EXPECT(actor_end(target), 0);
	/* It is on, once. */
	EXPECT(DO(target, do_runtime, 1), -EBUSY);
	EXPECT(DO(target, do_create, COMPUTE), 0);
}

void disable_wakes_runtime(struct self *me)
{
	struct actor debugger, target = start_waiting(me, &debugger);

	EXPECT(DO(&debugger, do_disable, PID(target)), 0);
	goes_on(me, &target);
	if (!patched())
		return;
	/* Nothing is left over that would wake the next one too early. */
	EXPECT(DO(&target, do_destroy, 0), 0);
	EXPECT(DO(&target, do_runtime, 0), 0);
	EXPECT(DO(&debugger, do_enable, PID(target), RUNTIME), 0);
	BEGIN(&target, do_runtime, 1);
	CHECK(is_blocked(me, &target));
	EXPECT(DO(&debugger, do_send_runtime_event, PID(target)), 0);
	EXPECT(actor_end(&target), 0);
	/* And when it disables itself. */
	BEGIN(&target, do_runtime, 0);
	CHECK(is_blocked(me, &target));
	EXPECT(DO(&debugger, do_disable, PID(target)), 0);
	EXPECT(actor_end(&target), 0);
}

void death_wakes_runtime(struct self *me)
{
	struct actor debugger, target = start_waiting(me, &debugger);

	actor_kill(me, &debugger);
	goes_on(me, &target);
}

/* A call that was interrupted, and whose retry found the debugger gone, is over. */
void retry_is_forgotten(struct self *me)
{
	struct actor target;

	open_kfd(me);
	target = start_watched(me);
	BEGIN(&target, do_runtime, 1);
	CHECK(is_blocked(me, &target));
	CHECK(kill(target.pid, SIGUSR1) == 0);
	EXPECT(actor_end(&target), -EINTR);
	EXPECT(ME(me, do_disable, PID(target)), 0);
	EXPECT(DO(&target, do_runtime, 1), 0);
	EXPECT(DO(&target, do_runtime, 0), 0);
	/* Stock still takes this for the retry of the first, and does nothing. */
	EXPECT(DO(&target, do_runtime, 1), 0);
	EXPECT(DO(&target, do_runtime, 1), patched() ? -EBUSY : 0);
}

/* ---- two threads of a runtime ---- */

static s64 do_block_signal(struct self *self, const u64 *args, u64 *out)
{
	sigset_t set;

	(void)self, (void)out;
	sigemptyset(&set);
	sigaddset(&set, (int)args[0]);
	return -pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* Enables in another thread, which does not hear SIGUSR1. */
static s64 do_enable_beside(struct self *self, const u64 *args, u64 *out)
{
	(void)args;
	EXPECT(other_thread(self, do_block_signal, LIST(SIGUSR1), out), 0);
	return other_thread_begin(self, do_runtime, LIST(1));
}

/* What that thread's call returned; args: what do_enable_beside did. */
static s64 do_end_beside(struct self *self, const u64 *args, u64 *out)
{
	struct actor thread = {.socket = (int)args[0]};

	(void)self, (void)out;
	return actor_end(&thread);
}

/* One thread enables, and waits; then the other disables, and waits. */
static struct actor start_two(struct self *me, u64 *thread)
{
	struct actor target = start_watched(me);
	s64 socket;

	socket = DO(&target, do_enable_beside, 0);
	CHECK(socket > 0);
	*thread = (u64)socket;
	UNTIL(me, process_number(me, target.pid, "blocked") == 1);
	BEGIN(&target, do_runtime, 0);
	UNTIL(me, process_number(me, target.pid, "blocked") == 2);
	return target;
}

void two_wait(struct self *me)
{
	struct actor target;
	u64 thread;

	needs_patches();
	open_kfd(me);
	/* The first has the answer; the signal is for the second, which has none and holds nothing. */
	target = start_two(me, &thread);
	EXPECT(ME(me, do_send_runtime_event, PID(target)), 0);
	UNTIL(me, process_number(me, target.pid, "blocked") == 1);
	CHECK(kill(target.pid, SIGUSR1) == 0);
	EXPECT(actor_end(&target), -EINTR);
	EXPECT(DO(&target, do_end_beside, thread), 0);
	/* It is tried again, and answered. */
	BEGIN(&target, do_runtime, 0);
	CHECK(is_blocked(me, &target));
	EXPECT(ME(me, do_send_runtime_event, PID(target)), 0);
	EXPECT(actor_end(&target), 0);
	EXPECT(ME(me, do_disable, PID(target)), 0);
	actor_kill(me, &target);
	/* The session's end wakes both. */
	target = start_two(me, &thread);
	EXPECT(ME(me, do_disable, PID(target)), 0);
	EXPECT(actor_end(&target), 0);
	EXPECT(DO(&target, do_end_beside, thread), 0);
	/* And nothing is left over of it for the next. */
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_enable, PID(target), RUNTIME), 0);
	BEGIN(&target, do_runtime, 1);
	CHECK(is_blocked(me, &target));
	EXPECT(ME(me, do_disable, PID(target)), 0);
	EXPECT(actor_end(&target), 0);
}

/* Debugger and target end at the same time, in any order. */
void both_end_together(struct self *me)
{
	needs_patches();
	for (u32 i = 0; i < 30; i++) {
		struct actor target = start_target(1, 2), debugger = start_debugger(&target);

		CHECK(kill(i % 2 ? target.pid : debugger.pid, SIGKILL) == 0);
		CHECK(kill(i % 2 ? debugger.pid : target.pid, SIGKILL) == 0);
		CHECK(waitpid(target.pid, NULL, 0) == target.pid);
		CHECK(waitpid(debugger.pid, NULL, 0) == debugger.pid);
		close(target.socket);
		close(debugger.socket);
	}
	UNTIL(me, figure(me, "mapped_queues") == 0);
}

/* Stock writes to freed memory here (slub_debug), so it is not asked. */
void dead_thief_is_forgotten(struct self *me)
{
	struct actor target, first, second;

	needs_patches();
	target = start_target(1, 2);
	first = start_debugger(&target);
	second = start_thief(&target);
	actor_kill(me, &second);
	EXPECT(DO(&first, do_disable, PID(target)), 0);
	are_on(me, target.pid, true);
	EXPECT(DO(&target, do_enable, PID(target), 0), 0);
	EXPECT(DO(&target, do_disable, PID(target)), 0);
	actor_kill(me, &target);
}

/* ---- leases ---- */

void lease_expires(struct self *me)
{
	struct actor target, debugger;
	u64 done;

	start_held(me, &target, &debugger);
	if (!patched()) {
		EXPECT(DO(&debugger, do_lease, PID(target), 100), -EINVAL);
		return;
	}
	/* From when it is set, and for suspensions that are there already. */
	EXPECT(DO(&debugger, do_lease, PID(target), 60000), 0);
	EXPECT(debugger.out[0], 0);
	are_on(me, target.pid, false);
	done = look(me, target.pid, 0).cu_ns;
	EXPECT(DO(&debugger, do_lease, PID(target), 50), 0);
	/* It hangs, and the target works on. */
	CHECK(kill(debugger.pid, SIGSTOP) == 0);
	come_on(me, target.pid);
	UNTIL(me, look(me, target.pid, 0).cu_ns > done);
	EXPECT(strcmp(queue_file(target.pid, 0, "state"), "active"), 0);
	CHECK(kill(debugger.pid, SIGCONT) == 0);
	EXPECT(DO(&debugger, do_lease, PID(target), 50), 0);
	EXPECT(debugger.out[0], 1);
	/* And for those that come after. */
	EXPECT(DO(&debugger, do_suspend, PID(target), 2, 0, 1), 2);
	come_on(me, target.pid);
	EXPECT(DO(&debugger, do_lease, PID(target), 50), 0);
	EXPECT(debugger.out[0], 2);
}

void lease_is_renewed(struct self *me)
{
	struct actor target, debugger;

	needs_patches();
	start_held(me, &target, &debugger);
	/*
	 * A longer lease is what counts, however short the last one. The guest's clock counts its
	 * instructions: two calls are never so far apart as the first lease is long.
	 */
	EXPECT(DO(&debugger, do_lease, PID(target), 200), 0);
	EXPECT(DO(&debugger, do_lease, PID(target), 60000), 0);
	CHECK(nanosleep(&(struct timespec){.tv_nsec = 600000000}, NULL) == 0);
	are_on(me, target.pid, false);
	/* 0 is for ever: the session's end ends it. */
	EXPECT(DO(&debugger, do_lease, PID(target), 0), 0);
	EXPECT(debugger.out[0], 0);
	EXPECT(DO(&debugger, do_resume_all, PID(target)), 2);
	are_on(me, target.pid, true);
}

/* A lease is the session's: the next one begins without. */
void lease_ends_with_session(struct self *me)
{
	struct actor target, debugger;

	needs_patches();
	start_held(me, &target, &debugger);
	EXPECT(DO(&debugger, do_lease, PID(target), 50), 0);
	come_on(me, target.pid);
	EXPECT(DO(&debugger, do_disable, PID(target)), 0);
	EXPECT(DO(&debugger, do_lease, PID(target), 50), -EINVAL);
	EXPECT(DO(&debugger, do_detach, PID(target)), 0);
	EXPECT(DO(&debugger, do_lease, PID(target), 50), -EPERM);
	EXPECT(DO(&debugger, do_seize, PID(target)), 0);
	EXPECT(DO(&debugger, do_enable, PID(target), 0), 0);
	EXPECT(DO(&debugger, do_lease, PID(target), 60000), 0);
	EXPECT(debugger.out[0], 0);
	/* It dies with a lease that has long to go. */
	EXPECT(DO(&debugger, do_suspend, PID(target), 2, 0, 1), 2);
	are_on(me, target.pid, false);
	actor_kill(me, &debugger);
	are_on(me, target.pid, true);
}

void lease_is_checked(struct self *me)
{
	struct actor target = start_target(1, 2);

	open_kfd(me);
	EXPECT(ME(me, do_lease, PID(target), 50), -EPERM);
	attach(me, &target, 0);
	EXPECT(ME(me, do_lease, PID(target), 60001), -EINVAL);
	EXPECT(ME(me, do_lease, PID(target), 50, 1), -EINVAL);
	EXPECT(ME(me, do_lease, PID(target), 60000), patched() ? 0 : -EINVAL);
}

void target_ends_in_lease(struct self *me)
{
	needs_patches();
	for (u32 i = 0; i < 5; i++) {
		struct actor target, debugger;

		start_held(me, &target, &debugger);
		EXPECT(DO(&debugger, do_lease, PID(target), i ? 10 : 60000), 0);
		/* Its tracer would have to wait for it first. */
		EXPECT(DO(&debugger, do_detach, PID(target)), 0);
		actor_kill(me, &target);
		EXPECT(DO(&debugger, do_lease, PID(target), 10), -ESRCH);
		actor_kill(me, &debugger);
	}
}
