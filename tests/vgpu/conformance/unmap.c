// SPDX-License-Identifier: MIT
/* Section 2.3: what SUSPEND waits for and who waits for it, grace periods, and the packets it
 * sends. */
#include "conformance.h"

#define PID(actor) ((u64)(actor).pid)
#define FOREVER    256 /* grace whose low 8 bits are 0: the hardware waits for the waves */

static s64 suspend_for_ever(struct self *self, const u64 *args, u64 *out)
{
	return do_suspend_grace(self, LIST(args[0], args[1], FOREVER), out);
}

/* Starts a SUSPEND that waits for the end of a kernel; returns while it waits, the clock held. */
static void suspend_slowly(struct self *me, struct actor *debugger, struct actor *target)
{
	EXPECT(DO(debugger, do_open_kfd), 0);
	EXPECT(DO(debugger, do_seize, PID(*target)), 0);
	EXPECT(DO(debugger, do_enable, PID(*target), 0), 0);
	EXPECT(DO(debugger, do_snapshot, PID(*target), NEW), 1);
	settle(me);
	hold_clock(me, 0);
	EXPECT(DO(target, do_submit_one, 0, LONG), 0);
	run_for(me, target->pid, 0, 10 * MS);
	BEGIN(debugger, suspend_for_ever, PID(*target), 0);
	UNTIL(me, gpu_number(me, "updates_pending") == 1);
}

static void the_target_waits_others_do_not(struct self *me)
{
	struct actor target = start_target(1, 1), debugger = start_actor(),
		     other = start_target(0, 1);

	suspend_slowly(me, &debugger, &target);
	BEGIN(&target, do_available_memory, 0);
	UNTIL(me, process_number(me, target.pid, "in_line") == 2);
	EXPECT(DO(&other, do_available_memory), 0);
	EXPECT(DO(&other, do_clock_counters), 0);
	EXPECT(DO(&other, do_create_event), 0);
	/* Its own queues wait for the device all the same. */
	BEGIN(&other, do_update, 0, 100, 7);
	UNTIL(me, gpu_number(me, "updates_pending") == 2);
	CHECK(!actor_finished(&target) && !actor_finished(&other));
	hold_clock(me, NEVER);
	EXPECT(actor_end(&debugger), 1);
	EXPECT(actor_end(&target), 0);
	EXPECT(actor_end(&other), 0);
	CHECK(look(me, target.pid, 0).cu_ns > LONG_CU_NS * 98 / 100);
}

/* Calls that the process could answer without the server. */
static void its_other_calls_wait_too(struct self *me)
{
	deed *calls[] = {do_clock_counters, do_create_event};

	for (size_t i = 0; i < GP_ARRAY_SIZE(calls); i++) {
		struct actor target = start_target(1, 1), debugger = start_actor();

		suspend_slowly(me, &debugger, &target);
		BEGIN(&target, calls[i], 0);
		UNTIL(me, process_number(me, target.pid, "in_line") == 2);
		CHECK(!actor_finished(&target));
		hold_clock(me, NEVER);
		EXPECT(actor_end(&target), 0);
		EXPECT(actor_end(&debugger), 1);
		EXPECT(DO(&target, calls[i]), 0);
		actor_kill(me, &debugger);
		actor_kill(me, &target);
	}
}

static void finite_grace(struct self *me)
{
	static const u32 graces[] = {0, 1, 255, 300, 511, 0xfffffffe, GP_KFD_GRACE_DEFAULT};
	struct actor target = start_target(1, 1);

	attach(me, &target, 0);
	EXPECT(DO(&target, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, look(me, target.pid, 0).cu_ns > 0);
	for (size_t i = 0; i < GP_ARRAY_SIZE(graces); i++) {
		EXPECT(ME(me, do_suspend_grace, PID(target), 0, graces[i]), 1);
		EXPECT(look_settled(me, target.pid, 0).mapped, 0);
		EXPECT(look(me, target.pid, 0).completed, 0);
		EXPECT(ME(me, do_resume_all, PID(target)), 1);
	}
}

static void endless_grace(struct self *me)
{
	static const u32 graces[] = {256, 65536};
	struct actor target = start_target(1, 1);

	attach(me, &target, 0);
	for (u32 i = 0; i < GP_ARRAY_SIZE(graces); i++) {
		EXPECT(DO(&target, do_submit_one, 0, LONG), 0);
		UNTIL(me, look(me, target.pid, 0).launched == i + 1);
		EXPECT(ME(me, do_suspend_grace, PID(target), 0, graces[i]), 1);
		/* The waves were not saved: they ran to their end. */
		CHECK(look(me, target.pid, 0).cu_ns > (i + 1) * LONG_CU_NS * 98 / 100);
		EXPECT(ME(me, do_resume_all, PID(target)), 1);
	}
}

static void grace_is_not_kept(struct self *me)
{
	struct actor target = start_target(1, 1);

	attach(me, &target, 0);
	EXPECT(ME(me, do_suspend_grace, PID(target), 0, FOREVER), 1);
	EXPECT(ME(me, do_resume_all, PID(target)), 1);
	EXPECT(DO(&target, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, look(me, target.pid, 0).launched == 1);
	/* The next ones have the default again. */
	EXPECT(DO(&target, do_update, 0, 0, 7), 0);
	EXPECT(look_settled(me, target.pid, 0).completed, 0);
	EXPECT(look(me, target.pid, 0).mapped, 0);
}

#define LONGEST_TIMEOUT 500 /* ms; the row runs a kernel longer than that */

static void hung_hardware(struct self *me)
{
	struct actor target = start_target(1, 2), debugger = start_actor(),
		     other = start_target(0, 1);
	json_t *status = machine_status(me);
	json_int_t timeout = json_integer_value(json_object_get(status, "preemption_timeout_ms"));

	json_decref(status);
	CHECK(timeout > 0 && timeout <= LONGEST_TIMEOUT); /* --preemption-timeout 400ms */
	EXPECT(DO(&debugger, do_open_kfd), 0);
	EXPECT(DO(&debugger, do_seize, PID(target)), 0);
	EXPECT(DO(&debugger, do_enable, PID(target), 0), 0);
	EXPECT(DO(&debugger, do_snapshot, PID(target), NEW), 2);
	settle(me);
	hold_clock(me, 0);
	EXPECT(DO(&target, do_submit_one, 0, SLOW), 0);
	run_for(me, target.pid, 0, 10 * MS);
	BEGIN(&debugger, suspend_for_ever, PID(target), 0);
	UNTIL(me, gpu_number(me, "updates_pending") == 1);
	/* Past the timeout, but not to the end of the kernel. */
	hold_clock(me, 2 * LONGEST_TIMEOUT * MS / 3 + 200 * MS);
	EXPECT(actor_end(&debugger), 0);
	EXPECT(debugger.out[0], ERROR);
	EXPECT(gpu_number(me, "hung"), 1);
	/* Marked as suspended all the same; and everybody else fails until it comes back. */
	EXPECT(look(me, target.pid, 0).suspended, 1);
	EXPECT(DO(&debugger, do_suspend, PID(target), 2, 0, 1), 0);
	EXPECT(debugger.out[0], ERROR);
	EXPECT(debugger.out[1], 1 | ERROR);
	EXPECT(DO(&debugger, do_resume, PID(target), 2, 0, 1), 0);
	EXPECT(debugger.out[0], ERROR);
	EXPECT(DO(&other, do_update, 0, 100, 7), -EACCES);
	EXPECT(DO(&other, do_create, COMPUTE), -ETIME);
	hold_clock(me, NEVER);
}

/* The packets since the first `from`, which must be exactly these. */
static void expect_packets(struct self *me, u64 from, const char *const *expected)
{
	json_t *status, *gpu, *packets;
	size_t first;

	settle(me);
	status = machine_status(me);
	gpu = json_array_get(json_object_get(status, "gpus"), 0);
	packets = json_object_get(gpu, "packets");
	first = json_array_size(packets) -
		(size_t)((u64)json_integer_value(json_object_get(gpu, "packets_sent")) - from);
	for (size_t i = first; i < json_array_size(packets); i++, expected++) {
		const char *text = json_string_value(json_array_get(packets, i));

		CHECK(text && *expected);
		if (strcmp(text, *expected) != 0)
			printf("# %s instead of %s\n", text, *expected);
		EXPECT(strcmp(text, *expected), 0);
	}
	CHECK(!*expected);
	json_decref(status);
}

#define PACKETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void packets_in_order(struct self *me)
{
	struct actor target = start_target(1, 2), other = start_target(0, 1);
	u64 mark;

	(void)other;
	attach(me, &target, 0);
	settle(me);
	mark = gpu_number(me, "packets_sent");
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
	expect_packets(me, mark,
		       PACKETS("WRITE_DATA 40400140", "UNMAP_QUEUES 3", "QUERY_STATUS",
			       "WRITE_DATA 40404040", "RUN_LIST 2"));
	/* Grace that does not fit, and the default, which is not written. */
	mark = gpu_number(me, "packets_sent");
	EXPECT(ME(me, do_suspend_grace, PID(target), 0, 300), 1);
	EXPECT(ME(me, do_suspend_grace, PID(target), 0, GP_KFD_GRACE_DEFAULT), 1);
	expect_packets(me, mark,
		       PACKETS("WRITE_DATA 40402c40", "UNMAP_QUEUES 3", "QUERY_STATUS",
			       "WRITE_DATA 40404040", "RUN_LIST 2", "UNMAP_QUEUES 3",
			       "QUERY_STATUS", "RUN_LIST 2"));
	mark = gpu_number(me, "packets_sent");
	EXPECT(ME(me, do_resume, PID(target), 1, 0), 1);
	expect_packets(me, mark, PACKETS("UNMAP_QUEUES 3", "QUERY_STATUS", "RUN_LIST 3"));
}

static void all_or_non_static(struct self *me)
{
	struct actor target = start_target(1, 1);
	u64 mark;

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	settle(me);
	mark = gpu_number(me, "packets_sent");
	EXPECT(ME(me, do_enable, PID(target), 0), 0);
	expect_packets(me, mark,
		       PACKETS("WRITE_DATA 40400140", "UNMAP_QUEUES 2", "QUERY_STATUS",
			       "WRITE_DATA 40404040", "RUN_LIST 1"));
	mark = gpu_number(me, "packets_sent");
	EXPECT(DO(&target, do_update, 0, 0, 7), 0);
	/* Nothing is left to map, and then nothing to unmap. */
	EXPECT(DO(&target, do_update, 0, 100, 7), 0);
	expect_packets(me, mark, PACKETS("UNMAP_QUEUES 3", "QUERY_STATUS", "RUN_LIST 1"));
}

const struct row rows_unmap[] = {
	{"kfd 2.3/6, kfd 2.5/9, 6.12 T4",
	 "an unmap that hangs: 0, ERROR in the ids, UPDATE EACCES, CREATE ETIME", hung_hardware,
	 DEBUGGER, NULL},
	{"kfd 2.3/8, 6.12 7",
	 "while SUSPEND waits, the target's ioctls wait; others' do not, but for the device",
	 the_target_waits_others_do_not, DEBUGGER, NULL},
	{"6.12 7", "GET_CLOCK_COUNTERS and CREATE_EVENT of the target wait too",
	 its_other_calls_wait_too, DEBUGGER, NULL},
	{"kfd 2.3/9, 6.12 3",
	 "grace: 0 is 1, eight bits count, 0xffffffff is the default: waves are saved",
	 finite_grace, DEBUGGER, NULL},
	{"6.12 3", "multiples of 256 are for ever: waves run to their end", endless_grace, DEBUGGER,
	 NULL},
	{"kfd 2.3/9, 6.12 T4c", "the register has its boot value again afterwards",
	 grace_is_not_kept, DEBUGGER, NULL},
	{"6.12 T4, 6.12 T4c",
	 "the packets on the HIQ: WRITE_DATA, UNMAP_QUEUES, QUERY_STATUS, WRITE_DATA, RUN_LIST",
	 packets_in_order, DEBUGGER, NULL},
	{"6.12 5", "ENABLE unmaps 'all queues' with the shortest grace, UPDATE 'all non-static'",
	 all_or_non_static, DEBUGGER, NULL},
	{0},
};
