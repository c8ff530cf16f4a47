// SPDX-License-Identifier: MIT
/* What a holder does, and what is seen of it. */
#include <fcntl.h>
#include <sys/syscall.h>

#include "module.h"

static int device_fd = -1;

int device(void)
{
	if (device_fd < 0)
		device_fd = open(GPREEMPT_DEVICE, O_RDWR | O_CLOEXEC);
	CHECK(device_fd >= 0);
	return device_fd;
}

void close_device(void)
{
	if (device_fd >= 0)
		close(device_fd);
	device_fd = -1;
}

int pidfd_of(u64 pid)
{
	return (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
}

s64 do_hold(struct self *self, const u64 *args, u64 *out)
{
	struct gpreempt_evict evict = {.pidfd = pidfd_of(args[0]), .lease_ms = (u32)args[1]};
	int error;

	(void)self, (void)out;
	error = evict.pidfd < 0 ? -errno : call(device(), GPREEMPT_IOC_EVICT, &evict);
	close(evict.pidfd);
	return error ? error : (s64)evict.depth;
}

s64 do_let_go(struct self *self, const u64 *args, u64 *out)
{
	struct gpreempt_restore restore = {.pidfd = pidfd_of(args[0]), .flags = (u32)args[1]};
	int error;

	(void)self;
	error = restore.pidfd < 0 ? -errno : call(device(), GPREEMPT_IOC_RESTORE, &restore);
	close(restore.pidfd);
	out[0] = restore.holders;
	return error ? error : (s64)restore.depth;
}

s64 do_renew(struct self *self, const u64 *args, u64 *out)
{
	struct gpreempt_renew renew = {.pidfd = args[0] ? pidfd_of(args[0]) : -1,
				       .lease_ms = (u32)args[1]};
	int error = call(device(), GPREEMPT_IOC_RENEW, &renew);

	(void)self, (void)out;
	if (renew.pidfd >= 0)
		close(renew.pidfd);
	return error ? error : (s64)renew.renewed;
}

s64 do_pause(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_criu_args criu = {.op = args[0] ? GP_KFD_CRIU_PROCESS_INFO
						      : GP_KFD_CRIU_UNPAUSE};

	(void)out;
	return call(self->kfd, GP_KFD_IOC_CRIU_OP, &criu);
}

/* ---- at random ---- */

static u64 next_random(u64 *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

/* The process may be gone, and a lease may have run out. */
static bool may_be(s64 result)
{
	return result >= 0 || result == -ESRCH || result == -ENOENT;
}

s64 do_churn(struct self *self, const u64 *args, u64 *out)
{
	u64 seed = args[0];

	for (u64 i = 0; i < args[1]; i++) {
		u64 pid = args[2 + next_random(&seed) % 2];
		s64 result = 0;

		switch (next_random(&seed) % 8) {
		case 0:
			close_device();
			break;
		case 1:
			result = do_renew(self, LIST(next_random(&seed) % 2 ? pid : 0, 5), out);
			break;
		case 2:
			result = do_let_go(self, LIST(pid, GPREEMPT_RESTORE_WHOLLY), out);
			break;
		case 3:
		case 4:
			result = do_let_go(self, LIST(pid, 0), out);
			break;
		default:
			result = do_hold(self, LIST(pid, 1 + next_random(&seed) % 20), out);
		}
		/* A renewal of a process that is gone has no pidfd, or none that counts. */
		if (!may_be(result))
			return result;
	}
	close_device();
	return 0;
}

/* ---- what is seen ---- */

struct gpreempt_state state_of(u64 pid)
{
	struct gpreempt_state state = {.pidfd = pidfd_of(pid)};

	CHECK(state.pidfd >= 0);
	EXPECT(call(device(), GPREEMPT_IOC_STATE, &state), 0);
	close(state.pidfd);
	return state;
}

struct gpreempt_statistics statistics(void)
{
	struct gpreempt_statistics statistics;

	EXPECT(call(device(), GPREEMPT_IOC_STATISTICS, &statistics), 0);
	return statistics;
}

void is_on(struct self *me, const struct actor *actor, u32 id, bool on)
{
	struct queue_view view = look_settled(me, actor->pid, id);

	EXPECT(view.mapped, on);
	EXPECT(view.evicted, !on);
}

void comes_on(struct self *me, const struct actor *actor, u32 id)
{
	UNTIL(me, look(me, actor->pid, id).mapped);
	EXPECT(look_settled(me, actor->pid, id).evicted, 0);
}

struct actor start_busy(struct self *me, u32 queues)
{
	struct actor actor = start_target(0, queues);

	EXPECT(DO(&actor, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, look(me, actor.pid, 0).cu_ns > 0);
	return actor;
}
