// SPDX-License-Identifier: MIT
/* The kfd-debug mechanism itself, without a holder: this thread is the debugger. */
#include "live.h"

#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "gpu/control.h"

#define FOREVER 256 /* grace whose low 8 bits are 0: the hardware waits for the waves */

static const struct gp_gpu_control_ops *const ops = &gp_kfd_debug_control;

static struct gp_gpu_control *attach_to(pid_t pid)
{
	struct gp_gpu_control *control;
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	CHECK(pidfd >= 0);
	EXPECT(ops->attach(pidfd, (u32)pid, NULL, &control), 0);
	return control;
}

static void let_go_of_ptrace(pid_t pid)
{
	int status;

	CHECK(!ptrace(PTRACE_INTERRUPT, pid, 0, 0));
	while (waitpid(pid, &status, __WALL) < 0)
		CHECK(errno == EINTR);
	CHECK(WIFSTOPPED(status));
	CHECK(!ptrace(PTRACE_DETACH, pid, 0, 0));
}

/* As if something had made us lose the target, and another debugger had come by. */
static void stolen_session(struct live *live)
{
	struct actor target = start_target(1, 2), thief = start_actor();
	struct gp_gpu_control *control = attach_to(target.pid);
	struct gp_gpu_control_done done;

	EXPECT(ops->suspend(control, NULL, 0, 0, &done), 2);
	let_go_of_ptrace(target.pid);
	EXPECT(DO(&thief, do_open_kfd), 0);
	EXPECT(DO(&thief, do_seize, (u64)target.pid), 0);
	EXPECT(DO(&thief, do_enable, (u64)target.pid, 0), -EALREADY);
	/* While it is there we keep away. */
	EXPECT(ops->resume(control, NULL, 0, &done), -EPERM);
	EXPECT(DO(&thief, do_detach, (u64)target.pid), 0);
	EXPECT(ops->resume(control, NULL, 0, &done), 2);
	EXPECT(tracer_of(target.pid), getpid());
	comes_on(live, target.pid, 2);
	EXPECT(ops->suspend(control, NULL, 0, 0, &done), 2);
	is_off(live, target.pid, 2);
	actor_kill(&live->self, &thief);
	ops->detach(control);
	comes_on(live, target.pid, 2);
}

static void left_over_session(struct live *live)
{
	struct actor target = start_target(1, 1), before = start_actor();
	int pidfd = (int)syscall(SYS_pidfd_open, target.pid, 0);
	struct gp_gpu_control *control;

	EXPECT(DO(&before, do_open_kfd), 0);
	EXPECT(DO(&before, do_seize, (u64)target.pid), 0);
	EXPECT(DO(&before, do_enable, (u64)target.pid, 0), 0);
	EXPECT(DO(&before, do_detach, (u64)target.pid), 0);
	/* The driver made us its owner without counting us: the session is ended, we are told. */
	EXPECT(ops->attach(pidfd, (u32)target.pid, NULL, &control), -EUCLEAN);
	comes_on(live, target.pid, 1);
	EXPECT(DO(&before, do_snapshot, (u64)target.pid, 0), -EPERM);
}

static void calls_that_change_nothing(struct live *live)
{
	struct actor target = start_target(1, 2);
	struct gp_gpu_control *control = attach_to(target.pid);
	struct gp_gpu_control_done done;
	u64 updates;

	EXPECT(ops->suspend(control, NULL, 0, 0, &done), 2);
	updates = figure(&live->self, "updates");
	EXPECT(ops->suspend(control, NULL, 0, 0, &done), 2);
	EXPECT(done.issued_ns, 0);
	EXPECT(ops->suspend(control, (const u32[]){1}, 1, 0, &done), 1);
	EXPECT(figure(&live->self, "updates"), updates);
	/* One for two queues. */
	EXPECT(ops->resume(control, NULL, 0, &done), 2);
	EXPECT(figure(&live->self, "updates"), updates + 1);
	EXPECT(ops->resume(control, NULL, 0, &done), 0);
	EXPECT(ops->resume(control, (const u32[]){0, 1, 77}, 3, &done), 0);
	EXPECT(figure(&live->self, "updates"), updates + 1);
	EXPECT(ops->suspend(control, (const u32[]){77}, 1, 0, &done), -ENOENT);
	EXPECT(ops->suspend(control, NULL, 0, 256, &done), -EINVAL);
	EXPECT(ops->suspend(control, NULL, 0, 255, &done), 2);
	ops->detach(control);
}

/* Ids are used again: the new queue 0 is not the suspended one. */
static void reused_ids(struct live *live)
{
	struct actor target = start_target(1, 1);
	struct gp_gpu_control *control = attach_to(target.pid);
	struct gp_gpu_control_done done;

	EXPECT(ops->suspend(control, NULL, 0, 0, &done), 1);
	EXPECT(ops->resume(control, NULL, 0, &done), 1);
	EXPECT(DO(&target, do_destroy, 0), 0);
	EXPECT(DO(&target, do_create, COMPUTE), 0);
	EXPECT(DO(&target, do_create, COMPUTE), 1);
	EXPECT(ops->suspend(control, NULL, 0, 0, &done), 2);
	is_off(live, target.pid, 2);
	ops->detach(control);
	comes_on(live, target.pid, 2);
}

static s64 suspend_for_ever(struct self *self, const u64 *args, u64 *out)
{
	return do_suspend_grace(self, LIST(args[0], args[1], FOREVER), out);
}

/* Somebody else's suspend hangs the hardware scheduler; ours then fails, and says so. */
static void hung_hardware(struct live *live)
{
	struct self *me = &live->self;
	struct actor target = start_target(1, 2), other = start_target(1, 1),
		     debugger = start_actor();
	struct gp_gpu_control *control = attach_to(target.pid);
	struct gp_gpu_control_queues queues = {0};
	struct gp_gpu_control_done done;

	EXPECT(DO(&debugger, do_open_kfd), 0);
	EXPECT(DO(&debugger, do_seize, (u64)other.pid), 0);
	EXPECT(DO(&debugger, do_enable, (u64)other.pid, 0), 0);
	EXPECT(DO(&debugger, do_snapshot, (u64)other.pid, NEW), 1);
	settle(me);
	hold_clock(me, 0);
	EXPECT(DO(&other, do_submit_one, 0, SLOW), 0);
	run_for(me, other.pid, 0, 10 * MS);
	BEGIN(&debugger, suspend_for_ever, (u64)other.pid, 0);
	UNTIL(me, gpu_number(me, "updates_pending") == 1);
	hold_clock(me, 500 * MS); /* past the timeout of 400, not to the end of the kernel */
	EXPECT(actor_end(&debugger), 0);
	EXPECT(gpu_number(me, "hung"), 1);
	EXPECT(ops->suspend(control, NULL, 0, 0, &done), -EIO);
	EXPECT(ops->queues(control, &queues), 0);
	EXPECT(queues.count, 2);
	CHECK(queues.items[0].failed && queues.items[1].failed);
	gp_gpu_control_queues_free(&queues);
	EXPECT(ops->resume(control, NULL, 0, &done), -EIO);
	hold_clock(me, NEVER);
	UNTIL(me, gpu_number(me, "hung") == 0);
	EXPECT(ops->resume(control, NULL, 0, &done), 2);
	EXPECT(ops->suspend(control, NULL, 0, 0, &done), 2);
	is_off(live, target.pid, 2);
	ops->detach(control);
}

static void looking_changes_nothing(struct live *live)
{
	struct actor target = start_target(1, 1);
	u64 updates = figure(&live->self, "updates");
	int pidfd = (int)syscall(SYS_pidfd_open, target.pid, 0);
	struct gp_gpu_control_queues queues;
	struct gp_proto_message why;

	EXPECT(ops->probe(pidfd, (u32)target.pid, &why), 0);
	EXPECT(ops->look(pidfd, (u32)target.pid, &queues), 0);
	EXPECT(queues.count, 1);
	EXPECT(queues.items[0].valid, GP_QUEUE_HAS_KFD_ID);
	gp_gpu_control_queues_free(&queues);
	EXPECT(tracer_of(target.pid), 0);
	EXPECT(figure(&live->self, "updates"), updates);
	EXPECT(process_exists(&live->self, getpid()), 0); /* we did not even open the device */
}

static void *probe_as_nobody(void *data)
{
	struct gp_proto_message why;
	s64 *result = data;

	/* Of this thread alone. */
	if (syscall(SYS_setresuid, 65534, 65534, 65534))
		*result = 1;
	else
		*result = ops->probe(-1, (u32)result[1], &why);
	return NULL;
}

static void another_users(struct live *live)
{
	struct actor target = start_target(1, 1);
	s64 result[2] = {0, target.pid};
	pthread_t thread;

	(void)live;
	if (geteuid() != 0)
		return; /* only root can become somebody else */
	CHECK(pthread_create(&thread, NULL, probe_as_nobody, result) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	EXPECT(result[0], -EPERM);
}

const struct live_row live_control[] = {
	{"a stolen session is taken back", stolen_session, ERA_6_12},
	{"a session that another debugger left behind is ended", left_over_session, ERA_6_12},
	{"calls that would change nothing are not made", calls_that_change_nothing, EVERYWHERE},
	{"a queue id that is used again is a new queue", reused_ids, EVERYWHERE},
	{"hung hardware is an error, and comes back", hung_hardware, EVERYWHERE},
	{"probing and listing change nothing", looking_changes_nothing, EVERYWHERE},
	{"another user's process is refused", another_users, EVERYWHERE},
	{0},
};
