// SPDX-License-Identifier: MIT
/* Rules of machines that are not like the others: see `enum where`. */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "abi/sdma.h"
#include "conformance.h"

#define PID(actor) ((u64)(actor).pid)
#define NOBODY     0x3ffffff0u /* above every pid */
#define FOREVER    256         /* grace */

/* ---- no hardware scheduler ---- */

static void no_scheduler(struct self *me)
{
	struct actor target = start_target(1, 1); /* RUNTIME_ENABLE works */
	u64 self = (u64)getpid();

	open_kfd(me);
	/* Before any look at the pid, the op or the caller. */
	EXPECT(ME(me, do_enable, NOBODY, 0), -EINVAL);
	EXPECT(ME(me, do_op, NOBODY, 99), -EINVAL);
	EXPECT(ME(me, do_enable, self, 0), -EINVAL);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_enable, PID(target), 0), -EINVAL);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), -EINVAL);
	EXPECT(ME(me, do_disable, PID(target)), -EINVAL);
	/* The lever from inside is left. */
	EXPECT(DO(&target, do_update, 0, 0, 7), 0);
	EXPECT(look_settled(me, target.pid, 0).mapped, 0);
	EXPECT(DO(&target, do_update, 0, 100, 7), 0);
	EXPECT(look_settled(me, target.pid, 0).mapped, 1);
	EXPECT(DO(&target, do_gws, 0, 64), -ENODEV);
}

static void no_more_than_fits(struct self *me)
{
	struct gp_kfd_create_queue_args queue;
	u32 slots;

	open_gpu(me);
	slots = node_property("num_cp_queues");
	for (u32 i = 0; i < slots; i++)
		must_create(me, COMPUTE);
	queue = good_queue(me, COMPUTE);
	EXPECT(create_queue(me, &queue), -EBUSY);
	must_create(me, SDMA);
	EXPECT(destroy_queue(me, 3), 0);
	EXPECT(create_queue(me, &queue), 0);
	EXPECT(queue.queue_id, 3);
}

/* ---- GPUs that cannot be debugged, or not always ---- */

static void gws_or_debugger(struct self *me)
{
	struct actor target = start_target(1, 2);

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(DO(&target, do_gws, 0, 64), 0);
	EXPECT(ME(me, do_enable, PID(target), 0), -EBUSY);
	EXPECT(DO(&target, do_gws, 0, 0), 0);
	EXPECT(ME(me, do_enable, PID(target), 0), 0);
	EXPECT(DO(&target, do_gws, 1, 64), -EBUSY);
	EXPECT(ME(me, do_disable, PID(target)), 0);
	EXPECT(DO(&target, do_gws, 1, 64), 0);
}

static void gws_and_debugger(struct self *me)
{
	struct actor target = start_target(1, 1);

	EXPECT(DO(&target, do_gws, 0, 64), 0);
	attach(me, &target, 0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
}

/* ---- reset ---- */

static s64 suspend_for_ever(struct self *self, const u64 *args, u64 *out)
{
	return do_suspend_grace(self, LIST(args[0], args[1], FOREVER), out);
}

static void told_of_the_reset(struct self *me, struct actor *process, u64 event)
{
	EXPECT(DO(process, do_wait_event, event), GP_KFD_WAIT_COMPLETE);
	EXPECT(process->out[0], 1); /* memory is lost */
	EXPECT(process->out[1], gpu_number(me, "gpu_id"));
}

static void reset_after_a_hang(struct self *me)
{
	struct actor target = start_target(1, 1), other = start_target(0, 1), later;
	u64 events[2], smi, out[ARGS];

	events[0] = (u64)DO(&target, do_hw_event);
	events[1] = (u64)DO(&other, do_hw_event);
	smi = (u64)DO(&other, do_smi);
	attach(me, &target, 0);
	EXPECT(DO(&target, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, look(me, target.pid, 0).cu_ns > 0);
	EXPECT(ASK(me, out, suspend_for_ever, PID(target), 0), 0);
	EXPECT(out[0], ERROR);
	EXPECT(gpu_number(me, "resets"), 1);
	EXPECT(gpu_number(me, "hung"), 0);
	told_of_the_reset(me, &target, events[0]);
	told_of_the_reset(me, &other, events[1]);
	CHECK(DO(&other, do_smi_read, smi) > 0);
	EXPECT(memcmp(other.out, "3 1 ", 4), 0);
	/* What was there is lost, also a bystander's. */
	EXPECT(DO(&target, do_update, 0, 100, 7), -EACCES);
	EXPECT(DO(&other, do_update, 0, 100, 7), -EACCES);
	EXPECT(ME(me, do_resume_all, PID(target)), 1);
	EXPECT(look_settled(me, target.pid, 0).mapped, 0);
	EXPECT(look(me, other.pid, 0).mapped, 0);
	EXPECT(look(me, other.pid, 0).evicted, 1);
	EXPECT(DO(&other, do_destroy, 0), 0);
	/* Whoever comes now finds a GPU that works. */
	later = start_target(0, 1);
	EXPECT(DO(&later, do_submit, 0, 1000), 0);
	UNTIL(me, look(me, later.pid, 0).completed == 1);
}

const struct row rows_machines[] = {
	{"kfd 2.1/1, 6.12 H, 6.12 T1",
	 "sched_policy 2 is EINVAL before any look at the pid; RUNTIME_ENABLE still works",
	 no_scheduler, NO_HWS, NULL},
	{"kfd 3.3", "without the hardware scheduler a queue more than there are slots is EBUSY",
	 no_more_than_fits, NO_HWS, NULL},
	{"kfd 2.1/7", "ENABLE of a target that holds GWS is EBUSY where the GPU cannot do both",
	 gws_or_debugger, OLD_FW, NULL},
	{"kfd 2.1/7", "where it can, GWS and a debugger go together", gws_and_debugger, DEBUGGER,
	 NULL},
	{"kfd 2.5/9",
	 "a hang ends in a reset: ERROR, events, queues lost and UPDATE EACCES, the GPU works "
	 "again",
	 reset_after_a_hang, RESETS, NULL},
	OPEN("kfd 2.1/7", "ENABLE of a GPU before SOC15 is ENODEV",
	     "the virtual GPU models gfx9 alone"),
	OPEN("kfd 2.3/2, kfd 2.3/5",
	     "with MES the grace period is ignored, a failure sets ERROR and ends the loop",
	     "the virtual GPU models no part with MES"),
	{0},
};
