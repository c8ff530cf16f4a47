// SPDX-License-Identifier: MIT
/*
 * Questions of docs/findings.md that the driver's own code answers: how often the runlist is
 * reloaded, what active_runlist does to a second process, whose doorbells and queue ids are whose.
 * They hold on the stock driver and on the patched one.
 */
#include "kfd.h"

#define SLICE_WORDS (8192 / 4) /* doorbells of a process on a device, in words of the BAR */

/* The second process's queue is mapped, and works beside the first. */
void finding_runlist(struct self *me)
{
	struct actor first = start_busy(me, 1), second;
	u64 runlists = figure(me, "runlists"), done;

	second = start_busy(me, 1);
	EXPECT(figure(me, "runlists") - runlists, 1);
	EXPECT(look(me, first.pid, 0).mapped, 1);
	EXPECT(look(me, second.pid, 0).mapped, 1);
	EXPECT(figure(me, "oversubscribed"), 0);
	done = look(me, first.pid, 0).cu_ns;
	UNTIL(me, look(me, first.pid, 0).cu_ns > done);
	done = look(me, second.pid, 0).cu_ns;
	UNTIL(me, look(me, second.pid, 0).cu_ns > done);
}

/* Calls are not gathered: n queues are n reloads, but one SUSPEND of n queues is one. */
void finding_batches(struct self *me)
{
	struct actor target;
	u64 runlists;

	target = start_target(can_debug(me), 0);
	runlists = figure(me, "runlists");
	for (u32 id = 0; id < 3; id++)
		EXPECT(DO(&target, do_create, COMPUTE), id);
	EXPECT(figure(me, "runlists") - runlists, 3);
	if (can_debug(me))
		attach(me, &target, 0);
	EXPECT(DO(&target, do_update, 0, 100, 9), 0);
	runlists = figure(me, "runlists");
	/* What changes nothing costs the same. */
	EXPECT(DO(&target, do_update, 0, 100, 9), 0);
	EXPECT(figure(me, "runlists") - runlists, 1);
	if (!can_debug(me))
		return;
	EXPECT(ME(me, do_suspend, PID(target), 2, 0, 1), 2);
	EXPECT(figure(me, "runlists") - runlists, 2);
	EXPECT(ME(me, do_resume, PID(target), 2, 0, 1), 2);
	EXPECT(figure(me, "runlists") - runlists, 3);
}

static s64 do_doorbell(struct self *self, const u64 *args, u64 *out)
{
	(void)out;
	return (s64)(self->queues[args[0]].args.doorbell_offset % 8192);
}

/* Absolute doorbells of a process's queues on the BAR, in words, from the MQDs. */
static u32 doorbell_word(pid_t pid, u32 nth)
{
	char *text = slurp("/sys/kernel/debug/kfd/mqds"), *line, *rest = NULL;
	const u32 control = 0x8f; /* cp_hqd_pq_doorbell_control, word of struct v9_mqd */
	bool inside = false;
	u32 found = 0, word = 0, seen = 0;

	CHECK(text);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		int owner;
		u32 at, v[8];

		if (sscanf(line, "Process %d PASID", &owner) == 1)
			inside = owner == pid;
		if (!inside || sscanf(line, " %x: %x %x %x %x %x %x %x %x", &at, v, v + 1, v + 2,
				      v + 3, v + 4, v + 5, v + 6, v + 7) != 9)
			continue;
		if (at / 4 != control / 8 * 8)
			continue;
		if (seen++ == nth) {
			word = v[control % 8];
			found = 1;
		}
	}
	free(text);
	EXPECT(found, 1);
	return word >> 2 & 0x3ffffff;
}

/* Each process has a slice of its own; within it the n-th free doorbell, not the queue's id. */
void finding_doorbells(struct self *me)
{
	struct actor first = start_target(0, 2), second = start_target(0, 2);
	u32 a, b;

	EXPECT(DO(&first, do_doorbell, 0), 0);
	EXPECT(DO(&first, do_doorbell, 1), 8);
	EXPECT(DO(&second, do_doorbell, 0), 0);
	settle(me);
	/* Newest first: the second line is queue 0. */
	a = doorbell_word(first.pid, 1);
	b = doorbell_word(second.pid, 1);
	EXPECT(doorbell_word(first.pid, 0), a + 2);
	EXPECT(a % SLICE_WORDS, b % SLICE_WORDS);
	CHECK(a != b && a / SLICE_WORDS != b / SLICE_WORDS);
	/* An SDMA queue takes an id, but its doorbell is its engine's. */
	EXPECT(DO(&first, do_create, SDMA), 2);
	EXPECT(DO(&first, do_create, COMPUTE), 3);
	EXPECT(DO(&first, do_doorbell, 2) >= 0x100 * 8, 1);
	EXPECT(DO(&first, do_doorbell, 3), 2 * 8);
}

/* Ids are the process's own, lowest first, and used again. */
void finding_ids(struct self *me)
{
	struct actor first = start_target(0, 2), second = start_target(0, 2);

	EXPECT(DO(&first, do_destroy, 0), 0);
	EXPECT(look_settled(me, second.pid, 0).exists, 1);
	EXPECT(DO(&second, do_create, COMPUTE), 2);
	EXPECT(DO(&first, do_create, COMPUTE), 0);
	EXPECT(DO(&first, do_create, COMPUTE), 2);
}
