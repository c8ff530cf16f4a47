// SPDX-License-Identifier: MIT
/*
 * Circuit breakers: a GPU that twice in a row did not let go of its queues is not preempted for a
 * while, because each further try costs everybody on it, and a hang ends in a reset by the driver.
 * After the pause everybody hears that it may be tried again (a daemon that waited for somebody
 * else to try would wait for ever), and one suspend is let through; when it works the breaker is
 * closed, otherwise it is open at once and the pause doubles.
 */
#include "holder/holder.h"

#include <errno.h>

#include "base/core.h"

#define FAILURES     2
#define PAUSE_NS     GP_NS_PER_S
#define PAUSE_MAX_NS (64 * PAUSE_NS)
#define TRY_NS       (30 * PAUSE_NS) /* a try that has not ended by then is no longer waited for */

static struct gp_holder_breaker *breaker_of(struct gp_holder *holder, u32 gpu_id, bool make)
{
	struct gp_holder_breaker *free_one = NULL;

	for (size_t i = 0; i < GP_ARRAY_SIZE(holder->breakers); i++) {
		struct gp_holder_breaker *breaker = &holder->breakers[i];

		if (breaker->gpu_id == gpu_id)
			return breaker;
		if (!breaker->gpu_id && !free_one)
			free_one = breaker;
	}
	if (!make || !free_one)
		return NULL;
	*free_one = (struct gp_holder_breaker){.gpu_id = gpu_id, .pause_ns = PAUSE_NS};
	return free_one;
}

int gp_holder_breaker_check(struct gp_holder *holder, const struct gp_holder_member *member,
			    u32 *gpu_id)
{
	u64 now = gp_monotonic_ns();

	for (u32 i = 0; i < member->gpu_count; i++) {
		struct gp_holder_breaker *breaker = breaker_of(holder, member->gpus[i], false);

		if (!breaker || !breaker->open)
			continue;
		if (breaker->trying_until_ns > now || now < breaker->retry_ns) {
			*gpu_id = breaker->gpu_id;
			return -EIO;
		}
	}
	return 0;
}

void gp_holder_breaker_try(const struct gp_holder_member *member)
{
	u64 now = gp_monotonic_ns();

	for (u32 i = 0; i < member->gpu_count; i++) {
		struct gp_holder_breaker *breaker =
			breaker_of(member->holder, member->gpus[i], false);

		if (breaker && breaker->open)
			breaker->trying_until_ns = now + TRY_NS;
	}
}

/* Everybody with a target on that device hears of it. */
static void tell(struct gp_holder *holder, u32 gpu_id, bool open)
{
	struct gp_list *l;

	gp_list_each (struct gp_holder_member, member, link, &holder->members) {
		bool here = false;

		for (u32 i = 0; i < member->gpu_count; i++)
			here |= member->gpus[i] == gpu_id;
		if (!here)
			continue;
		gp_list_for_each (l, &member->links) {
			struct gp_holder_target *target = gp_holder_linked_target(l);

			gp_holder_connection_event(target->connection, GP_EVENT_BREAKER, target->id,
						   (s32)member->pid, open);
		}
	}
}

static void report(struct gp_holder *holder, u32 gpu_id, bool failed)
{
	struct gp_holder_breaker *breaker = breaker_of(holder, gpu_id, failed);

	if (!breaker)
		return;
	if (!failed) {
		if (breaker->open && !breaker->told)
			tell(holder, gpu_id, false);
		*breaker = (struct gp_holder_breaker){0};
		return;
	}
	breaker->failures++;
	breaker->trying_until_ns = 0;
	if (breaker->open)
		breaker->pause_ns = GP_MIN(2 * breaker->pause_ns, PAUSE_MAX_NS);
	breaker->retry_ns = gp_monotonic_ns() + breaker->pause_ns;
	if (breaker->failures < FAILURES)
		return;
	gp_holder_wake_at(holder, breaker->retry_ns);
	if (breaker->open && !breaker->told)
		return;
	breaker->open = true;
	breaker->told = false;
	tell(holder, gpu_id, true);
}

u64 gp_holder_breaker_expire(struct gp_holder *holder, u64 now)
{
	u64 next = GP_NEVER;

	for (size_t i = 0; i < GP_ARRAY_SIZE(holder->breakers); i++) {
		struct gp_holder_breaker *breaker = &holder->breakers[i];

		if (!breaker->open || breaker->told)
			continue;
		if (breaker->retry_ns > now) {
			next = GP_MIN(next, breaker->retry_ns);
			continue;
		}
		breaker->told = true;
		tell(holder, breaker->gpu_id, false);
	}
	return next;
}

void gp_holder_breaker_report(struct gp_holder *holder, const struct gp_holder_member *member,
			      int result)
{
	bool failed = result == -EIO || result == -ETIME;

	for (u32 i = 0; i < member->gpu_count; i++) {
		struct gp_holder_breaker *breaker = breaker_of(holder, member->gpus[i], false);

		/* Other outcomes say nothing of the device. */
		if (result < 0 && !failed) {
			if (breaker)
				breaker->trying_until_ns = 0;
			continue;
		}
		report(holder, member->gpus[i], failed);
	}
}
