// SPDX-License-Identifier: MIT
/*
 * WAIT_EVENTS. The call sleeps on its own futex; the events it names carry a record of it and
 * mark that record, so a wake-up belongs to this call and cannot be taken by another.
 */
#include "base/clock.h"
#include "vgpu/preload/events.h"
#include "vgpu/heap.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FEW 16 /* events that need no allocation */

struct wait {
	struct gp_vgpu_sleeper sleeper;
	struct gp_vgpu_waiter *waiters, few[FEW];
	u32 count;
	bool all;
	bool timed;
	u64 deadline_ns;
};

void gp_vgpu_sleeper_wake(struct gp_vgpu_sleeper *sleeper)
{
	atomic_fetch_add(&sleeper->word, 1);
	syscall(SYS_futex, &sleeper->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void link_waiter(struct gp_vgpu_event *event, struct gp_vgpu_waiter *waiter)
{
	waiter->listed = true;
	waiter->next = event->waiters;
	if (waiter->next)
		waiter->next->previous = waiter;
	event->waiters = waiter;
}

static void unlink_waiter(struct gp_vgpu_waiter *waiter)
{
	if (!waiter->listed)
		return;
	if (waiter->previous)
		waiter->previous->next = waiter->next;
	else
		waiter->event->waiters = waiter->next;
	if (waiter->next)
		waiter->next->previous = waiter->previous;
	waiter->listed = false;
}

static int enlist(struct gp_vgpu_events *events, struct wait *wait, u32 i,
		  const struct gp_kfd_event_data *data)
{
	struct gp_vgpu_waiter *waiter = &wait->waiters[i];
	struct gp_vgpu_event *event = gp_vgpu_event_find(events, data->event_id);

	if (!event)
		return -EINVAL;
	waiter->event = event;
	waiter->sleeper = &wait->sleeper;
	waiter->activated = event->signaled;
	event->signaled = event->signaled && !event->auto_reset;
	/* Age 0 comes from user space older than 1.14, which does not know ages. */
	if (event->type == GP_KFD_EVENT_SIGNAL && data->signal_event_data.last_event_age) {
		waiter->age_enabled = true;
		if (event->age != data->signal_event_data.last_event_age)
			waiter->activated = true;
	}
	waiter->waits = !waiter->activated;
	link_waiter(event, waiter);
	return 0;
}

static enum gp_kfd_wait_result condition(const struct wait *wait)
{
	u32 activated = 0;

	for (u32 i = 0; i < wait->count; i++) {
		if (!wait->waiters[i].event)
			return GP_KFD_WAIT_FAIL;
		if (!wait->waiters[i].activated)
			continue;
		if (!wait->all)
			return GP_KFD_WAIT_COMPLETE;
		activated++;
	}
	return activated == wait->count ? GP_KFD_WAIT_COMPLETE : GP_KFD_WAIT_TIMEOUT;
}

/* What happened, for those events that say more than that. */
static int report(const struct wait *wait, u64 user)
{
	for (u32 i = 0; i < wait->count; i++, user += sizeof(struct gp_kfd_event_data)) {
		const struct gp_vgpu_waiter *waiter = &wait->waiters[i];
		const struct gp_vgpu_event *event = waiter->event;
		int error = 0;

		if (!event)
			return -EINVAL;
		if (!waiter->activated)
			continue;
		if (event->type == GP_KFD_EVENT_MEMORY)
			error = gp_vgpu_copy_out(user, &event->data.memory,
						 sizeof(event->data.memory));
		else if (event->type == GP_KFD_EVENT_HW_EXCEPTION)
			error = gp_vgpu_copy_out(user, &event->data.hardware,
						 sizeof(event->data.hardware));
		else if (waiter->age_enabled)
			error = gp_vgpu_copy_out(user, &event->age, sizeof(event->age));
		if (error)
			return error;
	}
	return 0;
}

static void set_deadline(struct wait *wait, u32 timeout_ms)
{
	u32 ms = timeout_ms < GP_KFD_TIMEOUT_MAX_MS ? timeout_ms : GP_KFD_TIMEOUT_MAX_MS;

	wait->timed = timeout_ms != GP_KFD_TIMEOUT_INFINITE;
	wait->deadline_ns = gp_monotonic_ns() + ms * GP_NS_PER_MS;
}

static u32 left_ms(const struct wait *wait)
{
	u64 now = gp_monotonic_ns();

	return wait->deadline_ns > now ? (u32)((wait->deadline_ns - now) / GP_NS_PER_MS) : 0;
}

/* Enters and leaves with the lock held. 0 when woken, -ETIMEDOUT, -EINTR. */
static int sleep_once(struct gp_vgpu_events *events, struct wait *wait)
{
	struct timespec deadline = gp_timespec(wait->deadline_ns);
	u32 seen = atomic_load(&wait->sleeper.word);
	long result;
	int error;

	pthread_mutex_unlock(&events->lock);
	result = syscall(SYS_futex, &wait->sleeper.word, FUTEX_WAIT_BITSET_PRIVATE, seen,
			 wait->timed ? &deadline : NULL, NULL, FUTEX_BITSET_MATCH_ANY);
	error = result ? -errno : 0;
	pthread_mutex_lock(&events->lock);
	return error == -EAGAIN ? 0 : error;
}

/* `interrupted`: the caller will ask again, so what was consumed is put back. */
static void leave(struct wait *wait, bool interrupted)
{
	for (u32 i = 0; i < wait->count; i++) {
		struct gp_vgpu_waiter *waiter = &wait->waiters[i];

		if (!waiter->event)
			continue;
		unlink_waiter(waiter);
		if (interrupted && waiter->activated && waiter->event->auto_reset)
			gp_vgpu_event_fire(waiter->event);
	}
}

static int wait_locked(struct gp_vgpu_events *events, struct wait *wait,
		       struct gp_kfd_wait_events_args *args)
{
	struct gp_kfd_event_data data;
	int error = 0, slept = 0;

	for (u32 i = 0; i < wait->count && !error; i++) {
		error = gp_vgpu_copy_in(&data, args->events_ptr + i * sizeof(data), sizeof(data));
		if (!error)
			error = enlist(events, wait, i, &data);
	}
	if (error)
		return error;
	for (;;) {
		args->wait_result = condition(wait);
		if (args->wait_result != GP_KFD_WAIT_TIMEOUT || slept == -ETIMEDOUT ||
		    args->timeout == GP_KFD_TIMEOUT_IMMEDIATE)
			break;
		if (slept == -EINTR) {
			if (wait->timed)
				args->timeout = left_ms(wait);
			return -EINTR;
		}
		slept = sleep_once(events, wait);
	}
	return args->wait_result == GP_KFD_WAIT_COMPLETE ? report(wait, args->events_ptr) : 0;
}

int gp_vgpu_ioctl_wait_events(struct gp_vgpu_client *client, void *data)
{
	struct gp_kfd_wait_events_args *args = data;
	const u32 most = 1u << 20;
	struct gp_vgpu_events *events = client->events;
	struct wait wait = {.count = args->num_events, .all = args->wait_for_all != 0};
	int error = 0, saved = errno;

	wait.waiters = wait.few;
	if (wait.count > FEW)
		wait.waiters =
			wait.count > most ? NULL : gp_vgpu_alloc(wait.count * sizeof(wait.few[0]));
	if (!wait.waiters) {
		args->wait_result = GP_KFD_WAIT_FAIL;
		return -ENOMEM;
	}
	set_deadline(&wait, args->timeout);
	pthread_mutex_lock(&events->lock);
	error = wait_locked(events, &wait, args);
	leave(&wait, error == -EINTR);
	pthread_mutex_unlock(&events->lock);
	if (wait.waiters != wait.few)
		gp_vgpu_free(wait.waiters);
	if (error)
		args->wait_result = GP_KFD_WAIT_FAIL;
	else if (args->wait_result == GP_KFD_WAIT_FAIL)
		error = -EIO;
	errno = saved;
	return error;
}
