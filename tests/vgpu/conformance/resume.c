// SPDX-License-Identifier: MIT
/* Section 2.4: RESUME_QUEUES. */
#include "conformance.h"

#define PID(actor) ((u64)(actor).pid)

static s64 resume_raw(struct self *me, pid_t pid, const void *array, u32 count)
{
	struct gp_kfd_dbg_trap_args debug = {.pid = (u32)pid, .op = GP_KFD_DBG_RESUME_QUEUES};

	debug.resume_queues.queue_array_ptr = (uintptr_t)array;
	debug.resume_queues.num_queues = count;
	return call(me->kfd, GP_KFD_IOC_DBG_TRAP, &debug);
}

static void same_convention(struct self *me)
{
	struct actor target = start_target(1, 2);
	static u32 many[1025];
	u64 out[ARGS];

	attach(me, &target, 0);
	EXPECT(ME(me, do_suspend, PID(target), 2, 0, 1), 2);
	EXPECT(ASK(me, out, do_resume, PID(target), 3, 0, 5, 1), 2);
	EXPECT(out[0], 0);
	EXPECT(out[1], 5 | INVALID);
	EXPECT(out[2], 1);
	EXPECT(ASK(me, out, do_resume, PID(target), 1, 9), 0);
	EXPECT(out[0], 9 | INVALID);
	EXPECT(resume_raw(me, target.pid, many, 1025), -EINVAL);
	EXPECT(resume_raw(me, target.pid, (void *)8, 1), -EFAULT);
	EXPECT(resume_raw(me, target.pid, many, 0), 0);
	EXPECT(look_settled(me, target.pid, 0).mapped, 1);
	EXPECT(look(me, target.pid, 1).mapped, 1);
}

static void null_is_all(struct self *me)
{
	struct actor target = start_target(1, 3);

	attach(me, &target, 0);
	EXPECT(ME(me, do_suspend, PID(target), 2, 0, 2), 2);
	/* Running ones are counted too; the number does not matter. */
	EXPECT(resume_raw(me, target.pid, NULL, 7), 3);
	for (u32 id = 0; id < 3; id++)
		EXPECT(look_settled(me, target.pid, id).mapped, 1);
	EXPECT(resume_raw(me, target.pid, NULL, 0), 3);
}

static void running_is_counted(struct self *me)
{
	struct actor target = start_target(1, 2);
	u64 before;

	attach(me, &target, 0);
	before = figure(me, "updates");
	EXPECT(ME(me, do_resume, PID(target), 1, 1), 1);
	EXPECT(figure(me, "updates"), before + 1);
}

static void inactive_stays_off(struct self *me)
{
	struct actor target = start_target(1, 1);

	attach(me, &target, 0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
	EXPECT(DO(&target, do_update, 0, 100, 7), 0);
	EXPECT(look_settled(me, target.pid, 0).mapped, 0);
	EXPECT(DO(&target, do_update, 0, 0, 7), 0);
	EXPECT(ME(me, do_resume, PID(target), 1, 0), 1);
	EXPECT(look_settled(me, target.pid, 0).mapped, 0);
	EXPECT(look(me, target.pid, 0).suspended, 0);
	/* One that is off can be suspended and resumed as well. */
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
	EXPECT(DO(&target, do_update, 0, 100, 7), 0);
	EXPECT(look_settled(me, target.pid, 0).mapped, 0);
	EXPECT(ME(me, do_resume, PID(target), 1, 0), 1);
	EXPECT(look_settled(me, target.pid, 0).mapped, 1);
}

static void one_update(struct self *me)
{
	struct actor target = start_target(1, 3);
	u64 before;

	attach(me, &target, 0);
	EXPECT(ME(me, do_suspend, PID(target), 3, 0, 1, 2), 3);
	before = figure(me, "updates");
	EXPECT(ME(me, do_resume, PID(target), 3, 0, 1, 2), 3);
	EXPECT(figure(me, "updates"), before + 1);
	before = figure(me, "updates");
	EXPECT(ME(me, do_resume, PID(target), 1, 9), 0);
	EXPECT(figure(me, "updates"), before);
}

const struct row rows_resume[] = {
	{"kfd 2.4/1, 6.12 T4b", "the array has the same convention and errors", same_convention,
	 DEBUGGER, NULL},
	{"kfd 2.4/2, 6.12 T4b, 6.12 T24",
	 "a NULL array of any number is all queues, running ones counted", null_is_all, DEBUGGER,
	 NULL},
	{"kfd 2.4/3, 6.12 T4", "a queue that was not suspended is counted, and costs a preemption",
	 running_is_counted, DEBUGGER, NULL},
	{"kfd 2.4/4, 6.12 T7", "it runs again only with a percentage", inactive_stays_off, DEBUGGER,
	 NULL},
	{"kfd 2.4/5", "one update of the runlist for a call, none when no id matched", one_update,
	 DEBUGGER, NULL},
	{0},
};
