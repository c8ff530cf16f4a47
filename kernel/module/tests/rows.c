// SPDX-License-Identifier: MIT
/* The rules of /dev/gpreempt, on the real driver. Ids: "module N" and, apart, "fault". */
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "module.h"

/* ---- one holder ---- */

static void evicts_and_restores(struct self *me)
{
	struct actor target = start_busy(me, 2), other = start_busy(me, 1);
	struct gpreempt_statistics before = statistics(), after;
	u64 done;

	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 1);
	is_on(me, &target, 0, false);
	is_on(me, &target, 1, false);
	is_on(me, &other, 0, true);
	EXPECT(state_of(PID(target)).evicted, 1);
	EXPECT(state_of(PID(target)).holders, 1);
	EXPECT(state_of(PID(target)).depth, 1);
	CHECK(state_of(PID(target)).lease_ms > 0);
	EXPECT(state_of(PID(other)).evicted, 0);
	/* In the middle of its kernel, which goes on where it was. */
	done = look(me, target.pid, 0).cu_ns;
	EXPECT(DO(&target, do_create, COMPUTE), 2);
	is_on(me, &target, 2, false);
	EXPECT(look(me, target.pid, 0).cu_ns, done);
	EXPECT(ME(me, do_let_go, PID(target), 0), 0);
	for (u32 id = 0; id < 3; id++)
		is_on(me, &target, id, true);
	UNTIL(me, look(me, target.pid, 0).cu_ns > done);
	EXPECT(look(me, target.pid, 0).completed, 0);
	EXPECT(state_of(PID(target)).evicted, 0);
	after = statistics();
	EXPECT(after.evictions - before.evictions, 1);
	EXPECT(after.restores - before.restores, 1);
	EXPECT(after.targets, 0);
	CHECK(after.evict_ns > before.evict_ns);
}

static void nests(struct self *me)
{
	struct actor target = start_busy(me, 1);
	u64 unmaps;

	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 1);
	unmaps = figure(me, "unmaps");
	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 2);
	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 3);
	EXPECT(ME(me, do_let_go, PID(target), 0), 2);
	is_on(me, &target, 0, false);
	EXPECT(figure(me, "unmaps"), unmaps); /* the driver was not asked */
	EXPECT(ME(me, do_let_go, PID(target), 0), 1);
	is_on(me, &target, 0, false);
	EXPECT(ME(me, do_let_go, PID(target), 0), 0);
	is_on(me, &target, 0, true);
	EXPECT(ME(me, do_let_go, PID(target), 0), -ENOENT);
	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 1);
	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 2);
	EXPECT(ME(me, do_let_go, PID(target), GPREEMPT_RESTORE_WHOLLY), 0);
	is_on(me, &target, 0, true);
}

static void refuses(struct self *me)
{
	struct actor target = start_busy(me, 1), plain = start_actor();
	struct gpreempt_info info = {0};
	struct gpreempt_evict evict = {.pidfd = pidfd_of(PID(target)), .lease_ms = 1000};
	struct gpreempt_restore restore = {.pidfd = evict.pidfd, .flags = 2};
	struct gpreempt_state state = {.pidfd = evict.pidfd, .reserved = 1};

	EXPECT(call(device(), GPREEMPT_IOC_INFO, &info), 0);
	EXPECT(info.abi, GPREEMPT_ABI);
	EXPECT(info.gpus, gpus_of_machine(me));
	EXPECT(info.lease_max_ms, GPREEMPT_LEASE_MAX_MS);
	EXPECT(call(device(), _IO(GPREEMPT_IOC, 99), NULL), -ENOTTY);
	EXPECT(call(device(), _IOR(GPREEMPT_IOC, 0, u64), &info), -ENOTTY);
	EXPECT(call(device(), GPREEMPT_IOC_EVICT, NULL), -EFAULT);
	evict.flags = 1;
	EXPECT(call(device(), GPREEMPT_IOC_EVICT, &evict), -EINVAL);
	evict.flags = 0, evict.reserved = 1;
	EXPECT(call(device(), GPREEMPT_IOC_EVICT, &evict), -EINVAL);
	EXPECT(call(device(), GPREEMPT_IOC_RESTORE, &restore), -EINVAL);
	EXPECT(call(device(), GPREEMPT_IOC_STATE, &state), -EINVAL);
	evict.pidfd = device(), evict.reserved = 0;
	EXPECT(call(device(), GPREEMPT_IOC_EVICT, &evict), -EBADF);
	evict.pidfd = -1;
	EXPECT(call(device(), GPREEMPT_IOC_EVICT, &evict), -EBADF);
	EXPECT(ME(me, do_hold, PID(target), 0), -EINVAL);
	EXPECT(ME(me, do_hold, PID(target), GPREEMPT_LEASE_MAX_MS + 1), -EINVAL);
	EXPECT(ME(me, do_renew, 0, 0), -EINVAL);
	/* A process without /dev/kfd, the kernel's own, and init. */
	EXPECT(ME(me, do_hold, PID(plain), 1000), -ESRCH);
	EXPECT(ME(me, do_hold, 2, 1000), -ESRCH);
	EXPECT(ME(me, do_hold, 1, 1000), -ESRCH);
	EXPECT(ME(me, do_let_go, PID(target), 0), -ENOENT);
	EXPECT(ME(me, do_renew, PID(target), 1000), -ENOENT);
	EXPECT(ME(me, do_renew, 0, 1000), 0);
	is_on(me, &target, 0, true);
	EXPECT(statistics().targets, 0);
}

/* An old driver would reach through NULL when it restores such a process. */
static void needs_a_vm(struct self *me)
{
	struct actor target = start_actor();
	bool can = can_debug(me);

	EXPECT(DO(&target, do_open_kfd), 0);
	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), can ? 1 : -EOPNOTSUPP);
	EXPECT(ME(me, do_let_go, PID(target), 0), can ? 0 : -ENOENT);
	EXPECT(statistics().targets, 0);
	EXPECT(DO(&target, do_open_gpu), 0);
	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 1);
	EXPECT(ME(me, do_let_go, PID(target), 0), 0);
}

/* ---- several ---- */

static void last_holder_counts(struct self *me)
{
	struct actor target = start_busy(me, 1), holder = start_actor(), third = start_actor();

	EXPECT(DO(&holder, do_hold, PID(target), LONG_LEASE), 1);
	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 1);
	EXPECT(state_of(PID(target)).holders, 2);
	/* Who does not hold it cannot let it go. */
	EXPECT(DO(&third, do_let_go, PID(target), 0), -ENOENT);
	EXPECT(DO(&holder, do_let_go, PID(target), 0), 0);
	EXPECT(holder.out[0], 1);
	is_on(me, &target, 0, false);
	EXPECT(ME(me, do_let_go, PID(target), 0), 0);
	is_on(me, &target, 0, true);
}

static void holder_is_killed(struct self *me)
{
	struct actor target = start_busy(me, 1), other = start_busy(me, 1),
		     holder = start_actor();
	u64 abandoned = statistics().abandoned;

	EXPECT(DO(&holder, do_hold, PID(target), LONG_LEASE), 1);
	EXPECT(DO(&holder, do_hold, PID(target), LONG_LEASE), 2);
	EXPECT(DO(&holder, do_hold, PID(other), LONG_LEASE), 1);
	is_on(me, &target, 0, false);
	is_on(me, &other, 0, false);
	actor_kill(me, &holder);
	comes_on(me, &target, 0);
	comes_on(me, &other, 0);
	EXPECT(statistics().abandoned - abandoned, 2);
	EXPECT(statistics().targets, 0);
}

static void holder_hangs(struct self *me)
{
	struct actor target = start_busy(me, 1), holder = start_actor();
	u64 expired = statistics().expired;

	EXPECT(DO(&holder, do_hold, PID(target), 300), 1);
	CHECK(kill(holder.pid, SIGSTOP) == 0);
	UNTIL(me, statistics().expired == expired + 1);
	comes_on(me, &target, 0);
	EXPECT(state_of(PID(target)).holders, 0);
	CHECK(kill(holder.pid, SIGCONT) == 0);
	/* It finds out. */
	EXPECT(DO(&holder, do_let_go, PID(target), 0), -ENOENT);
	EXPECT(DO(&holder, do_renew, PID(target), 300), -ENOENT);
	EXPECT(DO(&holder, do_renew, 0, 300), 0);
	is_on(me, &target, 0, true);
}

/* Holds it with a short lease and makes that a long one, in time. */
static void hold_renewed(struct self *me, u64 pid, u64 renewed)
{
	do
		EXPECT(ME(me, do_hold, pid, 1000), 1);
	while (ME(me, do_renew, renewed, LONG_LEASE) != 1);
}

static void renewal_keeps_it(struct self *me)
{
	struct actor target = start_busy(me, 1);

	for (u32 all = 0; all < 2; all++) {
		hold_renewed(me, PID(target), all ? 0 : PID(target));
		CHECK(state_of(PID(target)).lease_ms > 1000);
		/* Shorter is not a renewal. */
		EXPECT(ME(me, do_renew, 0, 1), 1);
		EXPECT(ME(me, do_hold, PID(target), 1), 2);
		nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
		is_on(me, &target, 0, false);
		EXPECT(ME(me, do_let_go, PID(target), GPREEMPT_RESTORE_WHOLLY), 0);
		is_on(me, &target, 0, true);
	}
}

/* What was renewed before is not a lease of what comes later. */
static void renewal_is_not_for_later(struct self *me)
{
	struct actor target = start_busy(me, 1), other = start_busy(me, 1);
	u64 expired = statistics().expired;

	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 1);
	EXPECT(ME(me, do_renew, 0, LONG_LEASE), 1);
	EXPECT(ME(me, do_hold, PID(other), 100), 1);
	UNTIL(me, statistics().expired == expired + 1);
	comes_on(me, &other, 0);
	is_on(me, &target, 0, false);
}

/* ---- the process itself ---- */

static void victim_is_killed(struct self *me)
{
	struct actor target = start_busy(me, 2), holder = start_actor();
	struct gpreempt_statistics before = statistics();
	int pidfd = pidfd_of(PID(target));
	struct gpreempt_restore restore = {.pidfd = pidfd};

	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 1);
	EXPECT(DO(&holder, do_hold, PID(target), 500), 1);
	actor_kill(me, &target);
	EXPECT(call(device(), GPREEMPT_IOC_RESTORE, &restore), -ESRCH);
	/* One lease runs out, the other is closed. */
	UNTIL(me, statistics().expired == before.expired + 1);
	close_device();
	UNTIL(me, statistics().targets == 0);
	EXPECT(statistics().gone, before.gone + 1);
	close(pidfd);
}

static void victim_execs(struct self *me)
{
	struct actor target;
	int ends[2];
	u64 gone;

	CHECK(pipe(ends) == 0);
	target = start_busy(me, 1);
	gone = statistics().gone;
	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 1);
	BEGIN(&target, do_exec, (u64)ends[0]);
	wait_gone(me, target.pid);
	/* The process is there, what was held is not. */
	EXPECT(ME(me, do_let_go, PID(target), 0), -ENOENT);
	EXPECT(ME(me, do_hold, PID(target), 1000), -ESRCH);
	close_device();
	UNTIL(me, statistics().targets == 0);
	EXPECT(statistics().gone, gone + 1);
	kill(target.pid, SIGKILL);
}

/* The driver's own evictions and ours, in either order. */
static void drivers_own_stays(struct self *me)
{
	struct actor target = start_busy(me, 1);

	EXPECT(DO(&target, do_pause, 1), 0);
	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 1);
	EXPECT(ME(me, do_let_go, PID(target), 0), 0);
	is_on(me, &target, 0, false);
	EXPECT(ME(me, do_let_go, PID(target), 0), -ENOENT);
	is_on(me, &target, 0, false);
	EXPECT(DO(&target, do_pause, 0), 0);
	is_on(me, &target, 0, true);

	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 1);
	EXPECT(DO(&target, do_pause, 1), 0);
	EXPECT(DO(&target, do_pause, 0), 0);
	is_on(me, &target, 0, false);
	EXPECT(ME(me, do_let_go, PID(target), 0), 0);
	is_on(me, &target, 0, true);
}

/* ---- the module ---- */

static void cannot_be_removed(struct self *me)
{
	struct actor target = start_busy(me, 1);

	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 1);
	EXPECT(syscall(SYS_delete_module, "gpreempt", O_NONBLOCK) ? -errno : 0, -EAGAIN);
	EXPECT(syscall(SYS_delete_module, "amdgpu", O_NONBLOCK) ? -errno : 0, -EAGAIN);
	is_on(me, &target, 0, false);
	close_device();
	comes_on(me, &target, 0);
}

/* errno of an open by another user, 0 when it is let in. */
static int open_as(gid_t group)
{
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		if (setgroups(0, NULL) || setresgid(group, group, group) ||
		    setresuid(1000, 1000, 1000))
			_exit(255);
		_exit(open(GPREEMPT_DEVICE, O_RDWR) < 0 ? errno : 0);
	}
	while (waitpid(child, &status, 0) < 0)
		CHECK(errno == EINTR);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void is_for_root_and_its_group(struct self *me)
{
	(void)me;
	EXPECT(open_as(1000), EACCES);
	CHECK(chmod(GPREEMPT_DEVICE, 0666) == 0);
	EXPECT(open_as(1000), EPERM);
	EXPECT(open_as(0), EPERM); /* root's group is nobody's */
	CHECK(chown(GPREEMPT_DEVICE, 0, 77) == 0);
	EXPECT(open_as(1000), EPERM);
	EXPECT(open_as(77), 0);
	CHECK(chmod(GPREEMPT_DEVICE, 0660) == 0);
	EXPECT(open_as(1000), EACCES);
	EXPECT(open_as(77), 0);
	CHECK(chown(GPREEMPT_DEVICE, 0, 0) == 0 && chmod(GPREEMPT_DEVICE, 0600) == 0);
}

/* ---- much of it ---- */

#define CYCLES 1000 /* unless GP_CYCLES says more: without KVM they take minutes */

static void many_cycles(struct self *me)
{
	struct actor target = start_busy(me, 2), other = start_busy(me, 1);
	struct gpreempt_statistics before = statistics(), after;
	const char *asked = getenv("GP_CYCLES");
	u64 cycles = asked && *asked ? strtoull(asked, NULL, 10) : CYCLES;
	u64 done = look(me, target.pid, 0).cu_ns;

	for (u64 i = 0; i < cycles; i++) {
		EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 1);
		EXPECT(ME(me, do_let_go, PID(target), 0), 0);
		if (i % 100 == 0)
			alarm(120); /* of the row: it moves */
	}
	printf("# %llu cycles\n", (unsigned long long)cycles);
	is_on(me, &target, 0, true);
	is_on(me, &target, 1, true);
	is_on(me, &other, 0, true);
	UNTIL(me, look(me, target.pid, 0).cu_ns > done);
	after = statistics();
	EXPECT(after.evictions - before.evictions, cycles);
	EXPECT(after.restores - before.restores, cycles);
	EXPECT(after.unrestored + after.failed, before.unrestored + before.failed);
}

static void churn(struct self *me)
{
	struct actor holders[3], targets[2];

	for (size_t i = 0; i < GP_ARRAY_SIZE(holders); i++)
		holders[i] = start_actor();
	for (u64 round = 0; round < 5; round++) {
		for (size_t i = 0; i < GP_ARRAY_SIZE(targets); i++)
			targets[i] = start_target(0, 1);
		for (size_t i = 0; i < GP_ARRAY_SIZE(holders); i++)
			BEGIN(&holders[i], do_churn, round * 16 + i, 100, PID(targets[0]),
			      PID(targets[1]));
		actor_kill(me, &targets[0]); /* while they are at it */
		for (size_t i = 0; i < GP_ARRAY_SIZE(holders); i++)
			EXPECT(actor_end(&holders[i]), 0);
		comes_on(me, &targets[1], 0);
		actor_kill(me, &targets[1]);
	}
	UNTIL(me, statistics().targets == 0);
	EXPECT(statistics().unrestored, 0);
}

/* ---- a GPU that does not answer ---- */

void write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void nothing_is_held(struct self *me)
{
	struct actor target = start_busy(me, 1);
	u64 failed = statistics().failed;
	s64 error;

	write_to(HANG, "Y");
	write_to(TIMEOUT, "500");
	error = ME(me, do_hold, PID(target), LONG_LEASE);
	write_to(HANG, "N");
	write_to(TIMEOUT, "60000");
	EXPECT(error, -ETIME);
	EXPECT(statistics().failed, failed + 1);
	EXPECT(statistics().targets, 0);
	EXPECT(state_of(PID(target)).evicted, 0);
	EXPECT(ME(me, do_let_go, PID(target), 0), -ENOENT);
	/* When it answers again, so does the driver; nothing was counted twice. */
	if (!can_debug(me) || !failure_is_undone(me)) {
		/* Before 6.5 only after a reset, which keeps this process off. */
		write_to(RESET, "1");
		actor_kill(me, &target);
		target = start_busy(me, 1);
	}
	settle(me);
	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 1);
	is_on(me, &target, 0, false);
	EXPECT(ME(me, do_let_go, PID(target), 0), 0);
	is_on(me, &target, 0, true);
}

/* The driver keeps processes off for good after it has reset their GPU. */
static void reset_stays(struct self *me)
{
	struct actor target = start_busy(me, 1), later;

	EXPECT(ME(me, do_hold, PID(target), LONG_LEASE), 1);
	write_to(RESET, "1");
	EXPECT(ME(me, do_let_go, PID(target), 0), 0);
	is_on(me, &target, 0, false);
	actor_kill(me, &target);
	later = start_busy(me, 1);
	EXPECT(ME(me, do_hold, PID(later), LONG_LEASE), 1);
	EXPECT(ME(me, do_let_go, PID(later), 0), 0);
	is_on(me, &later, 0, true);
}

const struct row rows_module[] = {
	{"module 1", "evicts all queues in mid-kernel, new ones too, and restores them",
	 evicts_and_restores, EVERYWHERE, NULL},
	{"module 2", "nests: as many restores as evictions, one of each for the driver", nests,
	 EVERYWHERE, NULL},
	{"module 3", "wrong requests and processes are refused", refuses, EVERYWHERE, NULL},
	{"module 3", "a process without a VM is held only where the driver can restore it",
	 needs_a_vm, EVERYWHERE, NULL},
	{"module 4", "a process runs when its last holder lets go", last_holder_counts, EVERYWHERE,
	 NULL},
	{"module 5", "a holder that is killed lets go", holder_is_killed, EVERYWHERE, NULL},
	{"module 6", "a holder that hangs loses its lease", holder_hangs, EVERYWHERE, NULL},
	{"module 7", "a lease that is renewed goes on", renewal_keeps_it, EVERYWHERE, NULL},
	{"module 7", "a renewal is not for later evictions", renewal_is_not_for_later, EVERYWHERE,
	 NULL},
	{"module 8", "a process that is killed while evicted is gone", victim_is_killed, EVERYWHERE,
	 NULL},
	{"module 8", "a process that execs is no longer held", victim_execs, EVERYWHERE, NULL},
	{"module 9", "the driver's own evictions are never undone, nor are ours", drivers_own_stays,
	 EVERYWHERE, NULL},
	{"module 10", "neither the module nor amdgpu can be removed while it holds",
	 cannot_be_removed, EVERYWHERE, NULL},
	{"module 11", "the device is for CAP_SYS_ADMIN and its group", is_for_root_and_its_group,
	 EVERYWHERE, NULL},
	{"module 12", "holders at random on processes that die", churn, EVERYWHERE, NULL},
	{"module 13", "many cycles lose nothing", many_cycles, EVERYWHERE, NULL},
	{"gpus 1", "a process is evicted on all of its GPUs, and restored", several_are_evicted,
	 EVERYWHERE, NULL},
	{"gpus 2", "one GPU that does not answer: ETIME, and nothing is held on the others",
	 one_does_not_answer, DEBUGGER, NULL},
	{"fault", "a GPU that does not answer: ETIME, and nothing is held", nothing_is_held,
	 EVERYWHERE, NULL},
	{"fault", "a reset of the GPU is not undone by letting go", reset_stays, EVERYWHERE, NULL},
	{0},
};
