// SPDX-License-Identifier: MIT
/*
 * When the GPU does not do what the driver asks of it: the fake one has knobs for that. What failed is
 * tried again, and when all is well everybody works. The last rows, because one that fails leaves
 * the machine broken; the guest mends it after them, and they before they begin.
 */
#include <sys/wait.h>

#include "kfd.h"

#define KNOB    "/sys/module/fakegpu/parameters/"
#define TIMEOUT "/sys/module/amdgpu/parameters/queue_preemption_timeout_ms"

/* The scheduler firmware answers nothing, and the driver does not wait long for it; or all is well. */
static void hang(bool on)
{
	if (on)
		write_file(TIMEOUT, "200");
	write_file(KNOB "hang", on ? "Y" : "N");
	if (!on)
		write_file(TIMEOUT, "60000");
}

/* There is no memory for a runlist. */
static void starve(bool on)
{
	write_file(KNOB "fail_runlist", on ? "Y" : "N");
}

/* What a row that failed before this one may have left. */
static void mend(void)
{
	hang(false);
	starve(false);
}

/* Operations of the scheduler that failed, ever. */
static u64 errors(void)
{
	char *text = slurp(SCHED), *at;
	u64 count;

	CHECK(text);
	at = strstr(text, " errors=");
	CHECK(at);
	count = strtoull(at + strlen(" errors="), NULL, 10);
	free(text);
	return count;
}

void fault_preemption(struct self *me)
{
	struct actor low, high;
	u64 before;

	mend();
	by_process();
	start_pair(me, &low, &high);
	before = errors();
	hang(true);
	EXPECT(DO(&high, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, errors() > before);
	/* What could not be taken off is not held for off. */
	UNTIL(me, is(&low, 0, "active") && is(&low, 1, "active"));
	hang(false);
	/* After a while it is tried again, and then it is. */
	UNTIL(me, is(&low, 0, "preempted") && !look(me, low.pid, 0).mapped);
	UNTIL(me, look(me, high.pid, 0).mapped);
	actor_kill(me, &high);
	UNTIL(me, is(&low, 0, "active"));
	both_work(me, &low, &low);
	write_file(POLICY, "off");
}

void fault_restore(struct self *me)
{
	struct actor low, high;
	u64 before;

	mend();
	needs_patches();
	write_file(BY_PROCESS, "0");
	start_pair(me, &low, &high);
	contend(me, &low, &high);
	before = errors();
	hang(true);
	/* Without a policy nothing is decided any more, but what was is undone. */
	write_file(POLICY, "off");
	UNTIL(me, errors() > before);
	hang(false);
	UNTIL(me, look(me, low.pid, 0).mapped && look(me, high.pid, 0).mapped);
	both_work(me, &low, &high);
	EXPECT(is(&low, 0, "active"), 1);
}

void fault_lease(struct self *me)
{
	struct actor bystander, target, debugger;
	u64 resets;

	mend();
	needs_patches();
	write_file(BY_PROCESS, "0");
	/* Without anybody on the GPU there would be nothing to take off it. */
	bystander = start_busy(me, 1);
	start_held(me, &target, &debugger);
	resets = gpu_number(me, "resets");
	hang(true);
	EXPECT(DO(&debugger, do_lease, PID(target), 50), 0);
	/* The driver waited in vain, and asks for a reset. */
	UNTIL(me, gpu_number(me, "resets") > resets);
	EXPECT(look(me, target.pid, 0).mapped, 0);
	hang(false);
	come_on(me, target.pid);
	both_work(me, &bystander, &target);
	/* It has ended once. */
	EXPECT(DO(&debugger, do_lease, PID(target), 50), 0);
	EXPECT(debugger.out[0], 1);
}

void fault_memory(struct self *me)
{
	struct actor bystander, target;

	mend();
	by_process();
	bystander = start_busy(me, 1);
	target = start_busy(me, 2);
	starve(true);
	CHECK(DO(&target, do_update, 1, 100, 9) < 0);
	/* Nothing of the runlist before may go on: what it names may be gone. */
	are_on(me, target.pid, false);
	EXPECT(look_settled(me, bystander.pid, 0).mapped, 0);
	starve(false);
	EXPECT(DO(&target, do_update, 1, 100, 7), 0);
	come_on(me, target.pid);
	both_work(me, &bystander, &target);
	if (!can_debug(me))
		return;
	/* And for a resume, before which there is nothing to unmap by process. */
	attach(me, &target, 0);
	EXPECT(ME(me, do_suspend, PID(target), 2, 0, 1), 2);
	EXPECT(look_settled(me, bystander.pid, 0).mapped, 1);
	starve(true);
	EXPECT(ME(me, do_resume, PID(target), 2, 0, 1), 0);
	EXPECT(look_settled(me, bystander.pid, 0).mapped, 0);
	starve(false);
	EXPECT(ME(me, do_resume, PID(target), 2, 0, 1), 2);
	come_on(me, target.pid);
	both_work(me, &bystander, &target);
}

void fault_runlist(struct self *me)
{
	struct actor bystander, target;

	mend();
	by_process();
	bystander = start_busy(me, 1);
	target = start_busy(me, 2);
	attach(me, &target, 0);
	EXPECT(ME(me, do_suspend, PID(target), 2, 0, 1), 2);
	/* Of the target nothing is mapped: by process, the new runlist is all that is sent. */
	hang(true);
	EXPECT(ME(me, do_resume, PID(target), 2, 0, 1), 0);
	hang(false);
	EXPECT(ME(me, do_resume, PID(target), 2, 0, 1), 2);
	come_on(me, target.pid);
	both_work(me, &bystander, &target);
	actor_kill(me, &target);
	EXPECT(look_settled(me, bystander.pid, 0).mapped, 1);
}
