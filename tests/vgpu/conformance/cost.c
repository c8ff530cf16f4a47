// SPDX-License-Identifier: MIT
/* facts/kernel-6.12.md, points 5 and 9, T15, T21 and T24: what a bystander suffers and sees. */
#include <fcntl.h>
#include <sys/wait.h>

#include "conformance.h"

#define PID(actor) ((u64)(actor).pid)

/* Preemptions of the whole device that what stands between cost. */
static u64 since(struct self *me, u64 *before)
{
	u64 now = figure(me, "updates"), cost = now - *before;

	*before = now;
	return cost;
}

static void debugger_calls(struct self *me)
{
	struct actor target = start_target(1, 3);
	u64 mark = figure(me, "updates");

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(since(me, &mark), 0);
	EXPECT(ME(me, do_enable, PID(target), 0), 0);
	EXPECT(since(me, &mark), 1);
	EXPECT(ME(me, do_snapshot, PID(target), NEW), 3);
	EXPECT(since(me, &mark), 0);
	EXPECT(ME(me, do_suspend, PID(target), 3, 0, 1, 2), 3);
	EXPECT(since(me, &mark), 1);
	EXPECT(ME(me, do_resume, PID(target), 3, 0, 1, 2), 3);
	EXPECT(since(me, &mark), 1);
	EXPECT(ME(me, do_disable, PID(target)), 0);
	EXPECT(since(me, &mark), 4);
}

static void debugger_dies(struct self *me)
{
	struct actor target = start_target(1, 1), debugger = start_actor();
	u64 mark;

	EXPECT(DO(&debugger, do_open_kfd), 0);
	EXPECT(DO(&debugger, do_seize, PID(target)), 0);
	EXPECT(DO(&debugger, do_enable, PID(target), 0), 0);
	mark = figure(me, "updates");
	actor_kill(me, &debugger);
	EXPECT(since(me, &mark), 5);
}

static void queue_calls(struct self *me)
{
	u64 mark;

	open_gpu(me);
	mark = figure(me, "updates");
	must_create(me, COMPUTE);
	EXPECT(since(me, &mark), 1);
	must_create(me, SDMA);
	EXPECT(since(me, &mark), 1);
	EXPECT(update_queue(me, 0, 100, 9), 0);
	EXPECT(since(me, &mark), 1);
	EXPECT(destroy_queue(me, 0), 0);
	EXPECT(since(me, &mark), 1);
	/* Refused is free. */
	EXPECT(update_queue(me, 0, 100, 9), -EFAULT);
	EXPECT(destroy_queue(me, 0), -EINVAL);
	EXPECT(since(me, &mark), 0);
}

static void merely_opened(struct self *me)
{
	u64 mark = figure(me, "updates");

	for (int i = 0; i < 5; i++) {
		struct actor visitor = start_actor();

		EXPECT(DO(&visitor, do_open_kfd), 0);
		EXPECT(since(me, &mark), 0);
		close(visitor.socket);
		CHECK(waitpid(visitor.pid, NULL, 0) == visitor.pid);
		wait_gone(me, visitor.pid);
		EXPECT(since(me, &mark), 1);
	}
}

/* ---- nothing outside shows it ---- */

static void smi_is_silent(struct self *me)
{
	struct gp_kfd_smi_events_args events;
	u64 mask = ~0ull;
	char text[256];

	open_gpu(me);
	events = (struct gp_kfd_smi_events_args){.gpuid = me->gpu_id};
	EXPECT(call(me->kfd, GP_KFD_IOC_SMI_EVENTS, &events), 0);
	EXPECT(write((int)events.anon_fd, &mask, sizeof(mask)), sizeof(mask));
	if (can_debug(me)) {
		EXPECT(enable_runtime(me, 1), 0);
		must_create(me, COMPUTE);
		EXPECT(ME(me, do_enable, (u64)getpid(), 0), 0);
		EXPECT(ME(me, do_snapshot, (u64)getpid(), NEW), 1);
		EXPECT(ME(me, do_suspend, (u64)getpid(), 1, 0), 1);
		EXPECT(ME(me, do_resume, (u64)getpid(), 1, 0), 1);
	} else {
		must_create(me, COMPUTE);
	}
	EXPECT(update_queue(me, 0, 0, 7), 0);
	EXPECT(update_queue(me, 0, 100, 7), 0);
	settle(me);
	CHECK(read((int)events.anon_fd, text, sizeof(text)) < 0 && errno == EAGAIN);
}

static void same_text(const char *path, const char *before, bool same)
{
	char *now = slurp(path);

	CHECK(now && before);
	EXPECT(strcmp(now, before) == 0, same);
	free(now);
}

static void files_do_not_tell(struct self *me)
{
	struct actor target = start_target(1, 2);
	char path[96], *mqds, *rls, *hqds, *evicted;

	attach(me, &target, 0);
	settle(me);
	mqds = slurp("/sys/kernel/debug/kfd/mqds");
	rls = slurp("/sys/kernel/debug/kfd/rls");
	hqds = slurp("/sys/kernel/debug/kfd/hqds");
	EXPECT(ME(me, do_suspend, PID(target), 2, 0, 1), 2);
	settle(me);
	same_text("/sys/kernel/debug/kfd/mqds", mqds, true);
	same_text("/sys/kernel/debug/kfd/rls", rls, false);
	same_text("/sys/kernel/debug/kfd/hqds", hqds, false);
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/stats_%u/evicted_ms",
		 (int)target.pid, (u32)gpu_number(me, "gpu_id"));
	evicted = slurp(path);
	CHECK(evicted && strcmp(evicted, "0\n") == 0);
	for (u32 id = 0; id < 2; id++) {
		snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%u/type",
			 (int)target.pid, id);
		same_text(path, "0", true);
	}
}

/* ---- SDMA and many queues ---- */

static void sdma_is_suspended_too(struct self *me)
{
	struct actor target = start_target(1, 1);

	EXPECT(DO(&target, do_create, SDMA), 1);
	attach(me, &target, 0);
	EXPECT(ME(me, do_suspend, PID(target), 2, 0, 1), 2);
	EXPECT(look_settled(me, target.pid, 1).mapped, 0);
	EXPECT(ME(me, do_resume, PID(target), 2, 0, 1), 2);
	EXPECT(look_settled(me, target.pid, 1).mapped, 1);
}

static void suspended_queues_do_not_count(struct self *me)
{
	struct actor target = start_target(1, 27);
	struct gp_kfd_dbg_trap_args debug = {.pid = (u32)target.pid,
					     .op = GP_KFD_DBG_SUSPEND_QUEUES};
	u32 ids[8];

	attach(me, &target, 0);
	EXPECT(figure(me, "oversubscribed"), 1);
	for (u32 i = 0; i < GP_ARRAY_SIZE(ids); i++)
		ids[i] = i + 3;
	debug.suspend_queues.queue_array_ptr = (uintptr_t)ids;
	debug.suspend_queues.num_queues = GP_ARRAY_SIZE(ids);
	EXPECT(call(me->kfd, GP_KFD_IOC_DBG_TRAP, &debug), 8);
	for (u32 i = 0; i < GP_ARRAY_SIZE(ids); i++)
		EXPECT(ids[i], i + 3);
	EXPECT(figure(me, "oversubscribed"), 0);
	EXPECT(figure(me, "mapped_queues"), 19);
	EXPECT(ME(me, do_resume_all, PID(target)), 27);
	EXPECT(figure(me, "oversubscribed"), 1);
}

const struct row rows_cost[] = {
	{"6.12 5", "preemptions: ENABLE 1, SUSPEND 1, RESUME 1, DISABLE 4; SEIZE and a look none",
	 debugger_calls, DEBUGGER, NULL},
	{"6.12 5", "a debugger's death costs 4, and 1 for itself", debugger_dies, DEBUGGER, NULL},
	{"6.12 5", "CREATE_QUEUE, DESTROY_QUEUE and UPDATE_QUEUE cost 1 each", queue_calls,
	 EVERYWHERE, NULL},
	{"6.12 5", "the exit of a process that merely opened /dev/kfd costs 1", merely_opened,
	 EVERYWHERE, NULL},
	{"6.12 9, 6.12 T15", "suspend, resume and update make no SMI event", smi_is_silent,
	 EVERYWHERE, NULL},
	{"6.12 9", "a suspension changes rls and hqds, not mqds, sysfs or evicted_ms",
	 files_do_not_tell, DEBUGGER, NULL},
	{"6.12 T21", "SDMA queues suspend like compute queues", sdma_is_suspended_too, DEBUGGER,
	 NULL},
	{"6.12 T24", "suspended queues take the runlist out of oversubscription",
	 suspended_queues_do_not_count, DEBUGGER, NULL},
	{0},
};
