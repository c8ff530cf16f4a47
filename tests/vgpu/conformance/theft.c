// SPDX-License-Identifier: MIT
/* facts/kernel-6.12.md, point 1 and T10: how a second debugger takes a session over. */
#include "conformance.h"

#define PID(actor) ((u64)(actor).pid)

/* Holds both queues of the target and has let go of ptrace. */
static struct actor first_debugger(const struct actor *target)
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

static struct actor thief(const struct actor *target)
{
	struct actor debugger = start_actor();

	EXPECT(DO(&debugger, do_open_kfd), 0);
	EXPECT(DO(&debugger, do_seize, PID(*target)), 0);
	EXPECT(DO(&debugger, do_enable, PID(*target), 0), -EALREADY);
	EXPECT(DO(&debugger, do_detach, PID(*target)), 0);
	return debugger;
}

static void off(struct self *me, pid_t pid)
{
	EXPECT(look_settled(me, pid, 0).mapped, 0);
	EXPECT(look(me, pid, 1).mapped, 0);
}

static void on(struct self *me, pid_t pid)
{
	EXPECT(look_settled(me, pid, 0).mapped, 1);
	EXPECT(look(me, pid, 1).mapped, 1);
}

static void second_debugger(struct self *me)
{
	struct actor target = start_target(1, 2), first = first_debugger(&target);

	open_kfd(me);
	EXPECT(ME(me, do_enable, PID(target), 0), -EPERM);
	EXPECT(ME(me, do_snapshot, PID(target), 0), -EPERM);
	EXPECT(ME(me, do_resume_all, PID(target)), -EPERM);
	EXPECT(ME(me, do_disable, PID(target)), -EPERM);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_snapshot, PID(target), 0), 2);
	EXPECT(ME(me, do_enable, PID(target), 0), -EALREADY);
	EXPECT(ME(me, do_detach, PID(target)), 0);
	/* It is the owner now. */
	EXPECT(ME(me, do_snapshot, PID(target), 0), 2);
	EXPECT(DO(&first, do_snapshot, PID(target), 0), -EPERM);
	off(me, target.pid);
	/* Before its owner ends: the driver would write to what it has freed. */
	actor_kill(me, &target);
}

static void nobody_resumes(struct self *me)
{
	struct actor target = start_target(1, 2), first = first_debugger(&target),
		     second = thief(&target);

	actor_kill(me, &first);
	off(me, target.pid);
	actor_kill(me, &second);
	off(me, target.pid);
	EXPECT(DO(&target, do_submit, 0, 1000), 0);
	EXPECT(DO(&target, do_read_index, 0), 0);
	/* A third one comes to the rescue. */
	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_enable, PID(target), 0), -EALREADY);
	EXPECT(ME(me, do_resume_all, PID(target)), 2);
	on(me, target.pid);
	UNTIL(me, look(me, target.pid, 0).completed == 1);
	EXPECT(ME(me, do_disable, PID(target)), 0);
	EXPECT(ME(me, do_enable, PID(target), 0), 0);
}

static void taken_back(struct self *me)
{
	struct actor target = start_target(1, 2), first = first_debugger(&target),
		     second = thief(&target);

	EXPECT(DO(&second, do_snapshot, PID(target), 0), 2);
	actor_kill(me, &second);
	off(me, target.pid);
	EXPECT(DO(&first, do_snapshot, PID(target), 0), -EPERM);
	EXPECT(DO(&first, do_resume_all, PID(target)), -EPERM);
	EXPECT(DO(&first, do_seize, PID(target)), 0);
	EXPECT(DO(&first, do_enable, PID(target), 0), -EALREADY);
	EXPECT(DO(&first, do_detach, PID(target)), 0);
	EXPECT(DO(&first, do_resume_all, PID(target)), 2);
	on(me, target.pid);
	EXPECT(DO(&first, do_suspend, PID(target), 2, 0, 1), 2);
	/* It is the owner again: its death resumes. */
	actor_kill(me, &first);
	on(me, target.pid);
}

static void thief_may_resume_and_disable(struct self *me)
{
	struct actor target = start_target(1, 2), first = first_debugger(&target),
		     second = thief(&target);

	actor_kill(me, &first);
	EXPECT(DO(&second, do_resume, PID(target), 2, 0, 1), 2);
	on(me, target.pid);
	EXPECT(DO(&second, do_disable, PID(target)), 0);
	on(me, target.pid);
	EXPECT(DO(&second, do_snapshot, PID(target), 0), -EPERM);
}

static void attached_is_safe(struct self *me)
{
	struct actor target = start_target(1, 2), second = start_actor();

	attach(me, &target, 0);
	EXPECT(DO(&second, do_open_kfd), 0);
	EXPECT(DO(&second, do_seize, PID(target)), -EPERM);
	EXPECT(DO(&second, do_enable, PID(target), 0), -EPERM);
	EXPECT(ME(me, do_snapshot, PID(target), 0), 2);
}

/* The real driver does not count them: the allocator's checks report them (kernel/testbed). */
static void freed_writes_are(struct self *me, u64 expected)
{
	json_t *status = machine_status(me), *count = json_object_get(status, "freed_writes");

	if (count)
		EXPECT(json_integer_value(count), (json_int_t)expected);
	json_decref(status);
}

/* The machine survives what corrupts the driver's memory, and says that it happened. */
static void freed_object_is_written(struct self *me)
{
	struct actor target = start_target(1, 2), first = first_debugger(&target),
		     second = thief(&target);
	json_t *status = machine_status(me);
	u64 before = (u64)json_integer_value(json_object_get(status, "freed_writes"));

	json_decref(status);
	actor_kill(me, &second);
	freed_writes_are(me, before);
	EXPECT(DO(&first, do_seize, PID(target)), 0);
	EXPECT(DO(&first, do_disable, PID(target)), 0);
	freed_writes_are(me, before + 1);
	on(me, target.pid);
	/* Once more; this time the target ends. */
	EXPECT(DO(&first, do_enable, PID(target), 0), 0);
	EXPECT(DO(&first, do_detach, PID(target)), 0);
	second = thief(&target);
	actor_kill(me, &second);
	actor_kill(me, &target);
	freed_writes_are(me, before + 2);
	/* Taken back in time, it is not. */
	target = start_target(1, 2);
	second = first_debugger(&target);
	actor_kill(me, &first);
	first = thief(&target);
	actor_kill(me, &first);
	EXPECT(DO(&second, do_seize, PID(target)), 0);
	EXPECT(DO(&second, do_enable, PID(target), 0), -EALREADY);
	EXPECT(DO(&second, do_disable, PID(target)), 0);
	freed_writes_are(me, before + 2);
}

const struct row rows_theft[] = {
	{"6.12 1, 6.12 T10",
	 "a traced second debugger may use ops, gets EALREADY and owns the session",
	 second_debugger, ERA_6_12, NULL},
	{"6.12 1, 6.12 T10c", "after a theft neither death resumes; a third ENABLE rescues",
	 nobody_resumes, ERA_6_12, NULL},
	{"6.12 1, 6.12 T10b", "the first debugger takes it back with SEIZE and ENABLE", taken_back,
	 ERA_6_12, NULL},
	{"6.12 T10", "the thief may RESUME and DISABLE", thief_may_resume_and_disable, ERA_6_12,
	 NULL},
	{"6.12 1", "who stays attached cannot be robbed", attached_is_safe, DEBUGGER, NULL},
	{"6.12 1",
	 "DISABLE, or the target's end, after the thief's exit is a write to freed memory",
	 freed_object_is_written, ERA_6_12, NULL},
	{0},
};
