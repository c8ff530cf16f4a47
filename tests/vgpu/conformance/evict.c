// SPDX-License-Identifier: MIT
/* Evictions, and the one lever on them from outside: CRIU_OP by the tracer (2.5, 6.12 point 8). */
#include <signal.h>
#include <sys/wait.h>

#include "conformance.h"

#define PID(actor) ((u64)(actor).pid)

/* A target without any debugging, and the number of its /dev/kfd. */
static struct actor start_plain(u32 queues, u64 *kfd)
{
	struct actor target = start_target(0, queues);

	*kfd = (u64)DO(&target, do_kfd_number);
	return target;
}

static void is_on(struct self *me, pid_t pid, u32 id, bool on)
{
	EXPECT(look_settled(me, pid, id).mapped, on);
}

static void only_the_tracer(struct self *me)
{
	u64 kfd, out[ARGS];
	struct actor target = start_plain(2, &kfd);

	/* Whoever may trace it gets the descriptor, but has no right to it yet. */
	EXPECT(ME(me, do_criu, PID(target), kfd, GP_KFD_CRIU_PROCESS_INFO), -EBADF);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(THREAD(me, do_criu, PID(target), kfd, GP_KFD_CRIU_PROCESS_INFO), -EBADF);
	is_on(me, target.pid, 0, true);
	EXPECT(ASK(me, out, do_criu, PID(target), kfd, GP_KFD_CRIU_PROCESS_INFO), 0);
	EXPECT(out[0], target.pid);
	EXPECT(out[1], 1); /* devices */
	EXPECT(out[2], 2); /* queues and events */
	EXPECT(out[3], 7); /* rings, pointers and save areas of two, one EOP buffer */
	is_on(me, target.pid, 0, false);
	EXPECT(ME(me, do_criu, PID(target), kfd, GP_KFD_CRIU_UNPAUSE), 0);
	is_on(me, target.pid, 0, true);
	EXPECT(ME(me, do_detach, PID(target)), 0);
	EXPECT(ME(me, do_criu, PID(target), kfd, GP_KFD_CRIU_PROCESS_INFO), -EBADF);
}

static void its_own(struct self *me)
{
	struct gp_kfd_criu_args args = {.op = GP_KFD_CRIU_PROCESS_INFO};

	open_gpu(me);
	must_create(me, COMPUTE);
	EXPECT(call(me->kfd, GP_KFD_IOC_CRIU_OP, &args), 0);
	EXPECT(args.pid, getpid());
	is_on(me, getpid(), 0, false);
	args.op = GP_KFD_CRIU_UNPAUSE;
	EXPECT(call(me->kfd, GP_KFD_IOC_CRIU_OP, &args), 0);
	is_on(me, getpid(), 0, true);
	EXPECT(call(me->kfd, GP_KFD_IOC_CRIU_OP, NULL), -EFAULT);
	args.op = 77;
	EXPECT(call(me->kfd, GP_KFD_IOC_CRIU_OP, &args), -EINVAL);
}

static void refused(struct self *me)
{
	struct gp_kfd_criu_args args = {.op = GP_KFD_CRIU_PROCESS_INFO};
	u64 kfd;
	struct actor target = start_plain(1, &kfd);

	open_kfd(me);
	EXPECT(call(me->kfd, GP_KFD_IOC_CRIU_OP, &args), -EACCES);
	args.op = GP_KFD_CRIU_UNPAUSE;
	EXPECT(call(me->kfd, GP_KFD_IOC_CRIU_OP, &args), -EACCES);
	EXPECT(call(me->kfd, GP_KFD_IOC_CRIU_OP, NULL), -EACCES);
	/* Whose it is comes first. */
	EXPECT(ME(me, do_criu, PID(target), kfd, GP_KFD_CRIU_PROCESS_INFO), -EBADF);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_criu, PID(target), kfd, GP_KFD_CRIU_PROCESS_INFO), -EACCES);
	is_on(me, target.pid, 0, true);
}

/* "9 <ns> -<pid> <gpu_id> 4": everything but the time. */
static void expect_event(struct actor *target, u64 events, u32 number, const char *rest)
{
	unsigned int event;
	unsigned long long ns;
	char text[48], end[48] = "";

	CHECK(DO(target, do_smi_read, events) > 0);
	memcpy(text, target->out, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	CHECK(sscanf(text, "%x %llu %47[^\n]", &event, &ns, end) == 3 && ns > 0);
	EXPECT(event, number);
	if (strcmp(end, rest) != 0)
		printf("# '%s' instead of '%s'\n", end, rest);
	EXPECT(strcmp(end, rest), 0);
}

static void pauses_everything(struct self *me)
{
	u64 kfd, events;
	struct actor target = start_plain(2, &kfd);
	char rest[48];

	events = (u64)DO(&target, do_smi);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(DO(&target, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, look(me, target.pid, 0).cu_ns > 0);
	/* No RUNTIME_ENABLE, and the queues are new: neither matters. */
	EXPECT(ME(me, do_criu, PID(target), kfd, GP_KFD_CRIU_PROCESS_INFO), 0);
	is_on(me, target.pid, 0, false);
	is_on(me, target.pid, 1, false);
	EXPECT(look(me, target.pid, 0).evicted, 1);
	EXPECT(look(me, target.pid, 0).suspended, 0);
	snprintf(rest, sizeof(rest), "-%d %x 4", (int)target.pid, (u32)gpu_number(me, "gpu_id"));
	expect_event(&target, events, 9, rest);
	EXPECT(DO(&target, do_smi_read, events), -EAGAIN);
	/* A queue made meanwhile is off too. */
	EXPECT(DO(&target, do_create, COMPUTE), 2);
	is_on(me, target.pid, 2, false);
	EXPECT(ME(me, do_criu, PID(target), kfd, GP_KFD_CRIU_UNPAUSE), 0);
	for (u32 id = 0; id < 3; id++)
		is_on(me, target.pid, id, true);
	/* Whether it was rescheduled: Linux 6.1 says only that it was. */
	snprintf(rest, sizeof(rest), "-%d %x%s", (int)target.pid, (u32)gpu_number(me, "gpu_id"),
		 can_debug(me) ? " 0" : "");
	expect_event(&target, events, 10, rest);
	EXPECT(ME(me, do_criu, PID(target), kfd, GP_KFD_CRIU_UNPAUSE), -EINVAL);
}

static void counted_not_balanced(struct self *me)
{
	u64 kfd;
	struct actor target = start_plain(1, &kfd);

	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_criu, PID(target), kfd, GP_KFD_CRIU_PROCESS_INFO), 0);
	EXPECT(ME(me, do_criu, PID(target), kfd, GP_KFD_CRIU_PROCESS_INFO), 0);
	EXPECT(ME(me, do_criu, PID(target), kfd, GP_KFD_CRIU_UNPAUSE), 0);
	is_on(me, target.pid, 0, false);
	/* There is no way back. */
	EXPECT(ME(me, do_criu, PID(target), kfd, GP_KFD_CRIU_UNPAUSE), -EINVAL);
	is_on(me, target.pid, 0, false);
}

static void tracer_dies(struct self *me)
{
	u64 kfd;
	struct actor target = start_plain(1, &kfd), tracer = start_actor();

	EXPECT(DO(&tracer, do_seize, PID(target)), 0);
	EXPECT(DO(&tracer, do_criu, PID(target), kfd, GP_KFD_CRIU_PROCESS_INFO), 0);
	is_on(me, target.pid, 0, false);
	actor_kill(me, &tracer);
	is_on(me, target.pid, 0, false);
	EXPECT(look(me, target.pid, 0).evicted, 1);
}

/* ---- with a debugger ---- */

static void flag_of_its_own(struct self *me)
{
	struct actor target = start_target(1, 3);
	u64 kfd = (u64)DO(&target, do_kfd_number);

	attach(me, &target, 0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
	EXPECT(ME(me, do_criu, PID(target), kfd, GP_KFD_CRIU_PROCESS_INFO), 0);
	EXPECT(look(me, target.pid, 0).suspended, 1);
	EXPECT(look(me, target.pid, 1).suspended, 0);
	/* Both flags change while the other is set, and are counted. */
	EXPECT(ME(me, do_suspend, PID(target), 1, 1), 1);
	for (u32 id = 0; id < 3; id++) {
		is_on(me, target.pid, id, false);
		EXPECT(look(me, target.pid, id).evicted, 1);
	}
	EXPECT(ME(me, do_criu, PID(target), kfd, GP_KFD_CRIU_UNPAUSE), 0);
	is_on(me, target.pid, 0, false);
	is_on(me, target.pid, 1, false);
	is_on(me, target.pid, 2, true);
	EXPECT(ME(me, do_resume_all, PID(target)), 3);
	for (u32 id = 0; id < 3; id++)
		is_on(me, target.pid, id, true);
}

static void resume_leaves_it_off(struct self *me)
{
	struct actor target = start_target(1, 1);
	u64 kfd = (u64)DO(&target, do_kfd_number);

	attach(me, &target, 0);
	EXPECT(ME(me, do_criu, PID(target), kfd, GP_KFD_CRIU_PROCESS_INFO), 0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
	EXPECT(ME(me, do_resume, PID(target), 1, 0), 1);
	is_on(me, target.pid, 0, false);
	EXPECT(look(me, target.pid, 0).suspended, 0);
	EXPECT(ME(me, do_disable, PID(target)), 0);
	is_on(me, target.pid, 0, false);
	/* DESTROY does not wait for it: that is for suspended queues alone. */
	EXPECT(DO(&target, do_destroy, 0), 0);
}

const struct row rows_evict[] = {
	{"kfd 1.1/5, 6.12 8, 6.12 T15",
	 "CRIU_OP of the ptracer passes the EBADF rule and pauses; nothing else does",
	 only_the_tracer, EVERYWHERE, NULL},
	{"kfd 1.1/5", "CRIU_OP of the process itself, and its errors", its_own, EVERYWHERE, NULL},
	{"kfd 1.1/5", "CRIU_OP without the capability is EACCES, arguments unread", refused,
	 REFUSED, NULL},
	{"kfd 2.5/8, 6.12 T15",
	 "CRIU PROCESS_INFO evicts all queues until UNPAUSE, with SMI events 9 and 10",
	 pauses_everything, EVERYWHERE, NULL},
	{"6.12 8, 6.12 T15", "two PROCESS_INFO and one UNPAUSE leave the queues evicted for good",
	 counted_not_balanced, EVERYWHERE, NULL},
	{"6.12 8, 6.12 T15b", "a pause fails closed: the tracer's death leaves the queues off",
	 tracer_dies, EVERYWHERE, NULL},
	{"kfd 2.5/7, 6.12 T15", "eviction is a flag of its own beside suspension", flag_of_its_own,
	 DEBUGGER, NULL},
	{"kfd 2.4/4, 6.12 T15", "an evicted queue stays off after RESUME", resume_leaves_it_off,
	 DEBUGGER, NULL},
	{0},
};
