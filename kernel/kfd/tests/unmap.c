// SPDX-License-Identifier: MIT
/* Who is taken off the hardware when one process changes. */
#include <sys/wait.h>

#include "kfd.h"

#define QUANTUM "/sys/module/fakegpu/parameters/quantum_ms"
#define PROCESSES 10 /* more than VMIDs */

/* How often the bystander was taken off since the last time. */
static u64 suffered(struct self *me, const struct actor *bystander, u64 *mark)
{
	u64 now = taken_off(me, bystander->pid, 0), times = now - *mark;

	*mark = now;
	return times;
}

/* A debugger comes, suspends and resumes. */
static void debugger_changes(struct self *me, const struct actor *bystander,
			     const struct actor *target, u64 *mark, u64 times)
{
	attach(me, target, 0);
	/* ENABLE changes what MAP_PROCESS says, of all: everybody is mapped again. */
	EXPECT(suffered(me, bystander, mark), 1);
	EXPECT(ME(me, do_suspend, PID(*target), 2, 0, 1), 2);
	EXPECT(suffered(me, bystander, mark), times);
	EXPECT(look(me, target->pid, 0).mapped, 0);
	EXPECT(ME(me, do_resume, PID(*target), 2, 0, 1), 2);
	EXPECT(suffered(me, bystander, mark), times);
	EXPECT(look(me, target->pid, 0).mapped, 1);
}

/* Everything that changes a process; times: that the bystander suffers each of it. */
static void each_change(struct self *me, u64 times)
{
	struct actor bystander = start_busy(me, 1), target = start_busy(me, 2), visitor;
	u64 mark = taken_off(me, bystander.pid, 0), own = taken_off(me, target.pid, 0);
	bool debug = can_debug(me);
	u64 unmaps;

	if (debug)
		debugger_changes(me, &bystander, &target, &mark, times);
	/* It is unmapped before its MQD is written, and not only because the new runlist lacks it. */
	unmaps = figure(me, "unmaps");
	EXPECT(DO(&target, do_update, 1, 100, 9), 0);
	EXPECT(figure(me, "unmaps") - unmaps, 1);
	EXPECT(suffered(me, &bystander, &mark), times);
	EXPECT(DO(&target, do_pause, 1), 0);
	EXPECT(suffered(me, &bystander, &mark), times);
	EXPECT(look(me, target.pid, 0).mapped, 0);
	EXPECT(DO(&target, do_pause, 0), 0);
	EXPECT(suffered(me, &bystander, &mark), times);
	EXPECT(look(me, target.pid, 0).mapped, 1);
	EXPECT(DO(&target, do_create, COMPUTE), 2);
	EXPECT(suffered(me, &bystander, &mark), times);
	EXPECT(DO(&target, do_destroy, 2), 0);
	EXPECT(suffered(me, &bystander, &mark), times);
	/* The first queue of a process, and the end of one. */
	visitor = start_target(0, 1);
	EXPECT(suffered(me, &bystander, &mark), times);
	actor_kill(me, &visitor);
	EXPECT(suffered(me, &bystander, &mark), times);
	/* The end of one that merely opened the device. */
	visitor = start_actor();
	EXPECT(DO(&visitor, do_open_kfd), 0);
	actor_kill(me, &visitor);
	EXPECT(suffered(me, &bystander, &mark), times);
	/* DISABLE resumes, and refreshes three times. */
	if (debug) {
		EXPECT(ME(me, do_disable, PID(target)), 0);
		EXPECT(suffered(me, &bystander, &mark), 3 + times);
	}
	/* The target itself was taken off: the counter counts. */
	CHECK(taken_off(me, target.pid, 0) > own);
	EXPECT(look(me, target.pid, 0).mapped, 1);
	EXPECT(look(me, bystander.pid, 0).mapped, 1);
	EXPECT(look(me, bystander.pid, 0).completed, 0);
}

/* The first row that touches it: as the module was loaded. The others turn it on. */
void off_unless_asked(struct self *me)
{
	char *text;

	needs_patches();
	text = slurp(BY_PROCESS);
	CHECK(text && strcmp(text, "0\n") == 0);
	free(text);
	each_change(me, 1);
}

void others_stay_mapped(struct self *me)
{
	by_process();
	each_change(me, patched() ? 0 : 1);
}

void old_way_is_there(struct self *me)
{
	needs_patches();
	write_file(BY_PROCESS, "1");
	write_file(BY_PROCESS, "0");
	each_change(me, 1);
}

/* SUSPEND; or the driver evicts it, where there is no debugger. */
static void suspend(struct self *me, struct actor *target)
{
	if (can_debug(me))
		EXPECT(ME(me, do_suspend, PID(*target), 1, 0), 1);
	else
		EXPECT(DO(target, do_pause, 1), 0);
}

static void resume(struct self *me, struct actor *target)
{
	if (can_debug(me))
		EXPECT(ME(me, do_resume_all, PID(*target)), 1);
	else
		EXPECT(DO(target, do_pause, 0), 0);
}

/*
 * Suspends the queue of the fourth, without rotation meanwhile. The firmware could map again what a
 * chained runlist names, so here everybody is taken off, once.
 */
static void suspend_unrotated(struct self *me, struct actor *busy)
{
	u64 marks[PROCESSES];
	u32 mapped = 0;

	write_file(QUANTUM, "1000000000");
	for (u32 i = 0; i < PROCESSES; i++) {
		bool counts = i != 3 && look_settled(me, busy[i].pid, 0).mapped;

		marks[i] = counts ? taken_off(me, busy[i].pid, 0) : NEVER;
		mapped += counts;
	}
	CHECK(mapped > 2);
	suspend(me, &busy[3]);
	for (u32 i = 0; i < PROCESSES; i++)
		if (marks[i] != NEVER)
			EXPECT(suffered(me, &busy[i], &marks[i]), 1);
	write_file(QUANTUM, "10");
}

/* More processes than VMIDs: the runlist is chained, and rotates. */
void chained_runlists(struct self *me)
{
	struct actor busy[PROCESSES];
	u64 done[GP_ARRAY_SIZE(busy)];

	by_process();
	for (u32 i = 0; i < GP_ARRAY_SIZE(busy); i++)
		busy[i] = start_busy(me, 1);
	EXPECT(figure(me, "oversubscribed"), 1);
	if (can_debug(me))
		attach(me, &busy[3], 0);
	suspend_unrotated(me, busy);
	for (u32 i = 0; i < GP_ARRAY_SIZE(busy); i++)
		done[i] = look_settled(me, busy[i].pid, 0).cu_ns;
	/* All others get on, it does not. */
	for (u32 i = 0; i < GP_ARRAY_SIZE(busy); i++)
		if (i != 3)
			UNTIL(me, look(me, busy[i].pid, 0).cu_ns > done[i]);
	EXPECT(look(me, busy[3].pid, 0).cu_ns, done[3]);
	resume(me, &busy[3]);
	UNTIL(me, look(me, busy[3].pid, 0).cu_ns > done[3]);
	/* Fewer, and it is not any more. */
	for (u32 i = 0; i < 3; i++)
		actor_kill(me, &busy[i]);
	EXPECT(figure(me, "oversubscribed"), 0);
	for (u32 i = 3; i < GP_ARRAY_SIZE(busy); i++)
		EXPECT(look_settled(me, busy[i].pid, 0).mapped, 1);
}

/* One of the changes that a debugger makes, or its process while there is one. */
static void change_debugged(struct self *me, struct actor *target, u64 id)
{
	switch (id % 5) {
	case 0:
		EXPECT(ME(me, do_suspend, PID(*target), 1, id % 3), 1);
		break;
	case 1:
		EXPECT(ME(me, do_resume, PID(*target), 1, id % 3), 1);
		break;
	case 2:
		EXPECT(DO(target, do_update, id % 3, id / 8 % 2 * 100, 7), 0);
		break;
	case 3:
		EXPECT(ME(me, do_resume_all, PID(*target)), 3);
		break;
	default:
		EXPECT(DO(target, do_submit, id % 3, 1000), 0);
	}
}

/* The same without: the driver evicts and restores, which it counts. */
static void change_evicted(struct actor *target, u64 id, bool *evicted)
{
	switch (id % 5) {
	case 0:
	case 1:
		*evicted = !*evicted;
		EXPECT(DO(target, do_pause, *evicted), 0);
		break;
	case 2:
	case 3:
		EXPECT(DO(target, do_update, id % 3, id / 8 % 2 * 100, 7), 0);
		break;
	default:
		EXPECT(DO(target, do_submit, id % 3, 1000), 0);
	}
}

/* Many changes in a row: what is mapped is what should be, and work gets done. */
void churn_keeps_maps(struct self *me)
{
	bool debug = can_debug(me), evicted = false;
	struct actor bystander = start_busy(me, 1), target = start_target(debug, 3);
	u64 mark = taken_off(me, bystander.pid, 0), seed = 1;

	by_process();
	if (debug)
		attach(me, &target, 0);
	suffered(me, &bystander, &mark);
	for (u32 i = 0; i < 200; i++) {
		u64 id = (seed = seed * 6364136223846793005ull + 1442695040888963407ull) >> 33;

		if (debug)
			change_debugged(me, &target, id);
		else
			change_evicted(&target, id, &evicted);
	}
	if (debug)
		EXPECT(ME(me, do_resume_all, PID(target)), 3);
	else if (evicted)
		EXPECT(DO(&target, do_pause, 0), 0);
	for (u32 id = 0; id < 3; id++) {
		EXPECT(DO(&target, do_update, id, 100, 7), 0);
		UNTIL(me, look(me, target.pid, id).completed == look(me, target.pid, id).submitted);
		EXPECT(look_settled(me, target.pid, id).mapped, 1);
	}
	if (patched())
		EXPECT(suffered(me, &bystander, &mark), 0);
	else
		CHECK(suffered(me, &bystander, &mark) > 100);
}
