// SPDX-License-Identifier: MIT
/* Targets that do things of their own: end, exec, stop, are debugged, shut their runtime down. */
#include "live.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static s64 hold(struct client *client, pid_t pid)
{
	s64 id = open_pid(client, pid, DEBUG);

	CHECK(id > 0);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, -1), 1);
	return id;
}

static void target_killed(struct live *live)
{
	struct actor target = start_target(1, 1);
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = hold(client, target.pid);
	actor_kill(&live->self, &target); /* its parent hears of it although we trace it */
	wait_event(client, GP_EVENT_GONE, target.pid);
	EXPECT(suspend(client, id, 0, 0, -1), -ESRCH);
	EXPECT(renew(client, id), -ENOLCK);
	EXPECT(target_info(client, id).process_count, 0);
}

static void signals_arrive(struct live *live)
{
	struct actor target = start_target(1, 1);
	struct client *client;
	int status;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = hold(client, target.pid);
	EXPECT(kill(target.pid, SIGWINCH), 0); /* ignored, but a traced process stops for it */
	EXPECT(DO(&target, do_read_index, 0), 0);
	EXPECT(resume(client, id, -1), 1);
	EXPECT(kill(target.pid, SIGUSR1), 0); /* nothing handles it there */
	EXPECT(waitpid(target.pid, &status, 0), target.pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
	wait_event(client, GP_EVENT_GONE, target.pid);
}

static void target_stopped(struct live *live)
{
	struct actor target = start_target(1, 1);
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = hold(client, target.pid);
	EXPECT(kill(target.pid, SIGSTOP), 0);
	UNTIL(&live->self, strchr("tT", state_of(target.pid)));
	EXPECT(resume(client, id, -1), 1);
	comes_on(live, target.pid, 1);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, -1), 1);
	/* It stays stopped through all of this, until it is told to go on. */
	UNTIL(&live->self, strchr("tT", state_of(target.pid)));
	EXPECT(kill(target.pid, SIGCONT), 0);
	EXPECT(DO(&target, do_read_index, 0), 0);
	EXPECT(resume(client, id, -1), 1);
}

/* Stopped before we come, stopped after we leave. */
static void stopped_all_the_time(struct live *live)
{
	struct actor target = start_target(1, 1);
	struct client *client;

	EXPECT(kill(target.pid, SIGSTOP), 0);
	UNTIL(&live->self, state_of(target.pid) == 'T');
	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = hold(client, target.pid);
	is_off(live, target.pid, 1);
	EXPECT(resume(client, id, -1), 1);
	close_client(client);
	UNTIL(&live->self, tracer_of(target.pid) == 0);
	UNTIL(&live->self, state_of(target.pid) == 'T');
	EXPECT(kill(target.pid, SIGCONT), 0);
	EXPECT(DO(&target, do_read_index, 0), 0);
}

static void gone_to_another_program(struct live *live, struct client *client, pid_t pid, s64 id)
{
	wait_event(client, GP_EVENT_GONE, pid);
	UNTIL(&live->self, tracer_of(pid) == 0);
	wait_gone(&live->self, pid);
	EXPECT(suspend(client, id, 0, 0, -1), -ESRCH);
	EXPECT(tracer_of(pid), 0); /* the new program is left alone */
	EXPECT(open_pid(client, pid, 0), -ENODEV);
	EXPECT(kill(pid, SIGKILL), 0);
	EXPECT(waitpid(pid, NULL, 0), pid);
}

static void target_execs(struct live *live)
{
	struct actor target;
	struct client *client;
	int ends[2];

	CHECK(pipe(ends) == 0);
	target = start_target(1, 1);
	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = hold(client, target.pid);
	BEGIN(&target, do_exec, (u64)ends[0]);
	gone_to_another_program(live, client, target.pid, id);
}

static void *exec_here(void *data)
{
	(void)data;
	execl("/bin/sleep", "sleep", "1000", (char *)NULL);
	_exit(1);
}

/* Of a thread that nobody traces: the lead thread, which is traced, vanishes. */
static s64 do_exec_elsewhere(struct self *self, const u64 *args, u64 *out)
{
	pthread_t thread;

	(void)self, (void)args, (void)out;
	CHECK(pthread_create(&thread, NULL, exec_here, NULL) == 0);
	for (;;)
		pause();
}

static void another_thread_execs(struct live *live)
{
	struct actor target = start_target(1, 1);
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = hold(client, target.pid);
	BEGIN(&target, do_exec_elsewhere, 0);
	/* Ask on and on, also in the moment in between. */
	while (renew(client, id) == 0) {
		resume(client, id, -1);
		if (suspend(client, id, LONG_LEASE, LONG_LEASE, -1) < 0)
			break;
	}
	gone_to_another_program(live, client, target.pid, id);
}

static s64 debugger_of(struct self *me, pid_t pid)
{
	json_t *status = machine_status(me), *process;
	s64 found = -1;
	size_t i;

	json_array_foreach(json_object_get(status, "processes"), i, process)
	{
		if (json_integer_value(json_object_get(process, "pid")) == pid)
			found = json_integer_value(json_object_get(process, "debugger"));
	}
	json_decref(status);
	return found;
}

static void under_a_debugger(struct live *live)
{
	struct actor target = start_target(1, 1), gdb = start_actor();
	struct client *client;

	EXPECT(DO(&gdb, do_open_kfd), 0);
	EXPECT(DO(&gdb, do_seize, (u64)target.pid), 0);
	EXPECT(DO(&gdb, do_enable, (u64)target.pid, 0), 0);
	start_holder(live, NULL, NULL);
	client = connect_client(live);
	EXPECT(open_pid(client, target.pid, 0), -EBUSY);
	CHECK(strstr(reason(client), "debugger"));
	/* Its session is as it was. */
	EXPECT(debugger_of(&live->self, target.pid), gdb.pid);
	EXPECT(DO(&gdb, do_snapshot, (u64)target.pid, NEW), 1);
	/* Opened before the debugger came: refused at the suspend. */
	struct actor late = start_target(1, 1);
	s64 id = open_pid(client, late.pid, 0);
	CHECK(id > 0);
	EXPECT(DO(&gdb, do_seize, (u64)late.pid), 0);
	EXPECT(suspend(client, id, 0, 0, -1), -EBUSY);
	EXPECT(debugger_of(&live->self, late.pid), 0);
	/* It goes; now it works. */
	EXPECT(DO(&gdb, do_detach, (u64)late.pid), 0);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, -1), 1);
}

static void runtime_too_old(struct live *live)
{
	struct actor target = start_target(0, 0);
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = open_pid(client, target.pid, 0);
	CHECK(id > 0);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, -1), -EOPNOTSUPP);
	CHECK(strstr(reason(client), "gpreempt run"));
	/* Left alone: it can enable its runtime now, and nobody is there to be waited for. */
	EXPECT(debugger_of(&live->self, target.pid), 0);
	EXPECT(DO(&target, do_runtime, 1), 0);
	EXPECT(DO(&target, do_create, COMPUTE), 0);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, -1), 1);
	is_off(live, target.pid, 1);
}

static void runtime_goes_off(struct live *live)
{
	struct actor target = start_target(1, 1);
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = hold(client, target.pid);
	EXPECT(resume(client, id, -1), 1);
	/* hsa_shut_down() waits for a debugger that is there. */
	EXPECT(DO(&target, do_destroy, 0), 0);
	EXPECT(DO(&target, do_runtime, 0), 0);
	EXPECT(DO(&target, do_create, COMPUTE), 0);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, -1), -EOPNOTSUPP);
	EXPECT(DO(&target, do_destroy, 0), 0);
	EXPECT(DO(&target, do_runtime, 1), 0);
	EXPECT(DO(&target, do_create, COMPUTE), 0);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, -1), 1);
}

static void not_on_a_gpu(struct live *live)
{
	struct actor target = start_actor();
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	EXPECT(open_pid(client, target.pid, 0), -ENODEV);
	EXPECT(open_pid(client, target.pid, DEBUG), -ENODEV);
	EXPECT(open_pid(client, target.pid, 1), -ENOENT);
	EXPECT(open_pid(client, target.pid, 3), -EOPNOTSUPP);
	EXPECT(open_pid(client, target.pid, 99), -EINVAL);
}

/* It does not know its pid here, and we do not use the one it knows. */
static void in_a_pid_namespace(struct live *live)
{
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	if (unshare(CLONE_NEWPID))
		return; /* not allowed to */
	struct actor target = start_target(1, 1);
	s64 id = hold(client, target.pid);
	is_off(live, target.pid, 1);
	EXPECT(resume(client, id, -1), 1);
	comes_on(live, target.pid, 1);
	actor_kill(&live->self, &target);
	wait_event(client, GP_EVENT_GONE, target.pid);
}

const struct live_row live_target[] = {
	{"a target that ends is forgotten, and its parent told", target_killed, EVERYWHERE},
	{"signals reach a target that is held", signals_arrive, EVERYWHERE},
	{"a target that is stopped stays stopped and continues", target_stopped, EVERYWHERE},
	{"a target stopped before and after", stopped_all_the_time, EVERYWHERE},
	{"a target that execs is let go", target_execs, EVERYWHERE},
	{"a target whose other thread execs is let go", another_thread_execs, EVERYWHERE},
	{"a target under a debugger is refused and not touched", under_a_debugger, EVERYWHERE},
	{"a runtime without RUNTIME_ENABLE is refused and not blocked", runtime_too_old,
	 EVERYWHERE},
	{"a runtime that shuts down is answered", runtime_goes_off, EVERYWHERE},
	{"a target in a pid namespace of its own", in_a_pid_namespace, EVERYWHERE},
	{"a process without a GPU is refused", not_on_a_gpu, EVERYWHERE},
	{0},
};
