// SPDX-License-Identifier: MIT
/* A library without a holder: see fake_library.h. */
#include "fake_library.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct fake_library fake;

void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.fd = -1;
}

struct gpreempt_target *fake_target(int pid)
{
	for (int i = 0; i < FAKE_TARGETS; i++) {
		if (fake.target[i].pid == pid)
			return &fake.target[i];
	}
	return NULL;
}

bool fake_held(int pid)
{
	for (int i = 0; i < FAKE_TARGETS; i++) {
		if (fake.target[i].pid == pid && fake.target[i].held)
			return true;
	}
	return false;
}

static void put(const struct gpreempt_event *event)
{
	const uint64_t one = 1;

	fake.event[fake.last++ % FAKE_EVENTS] = *event;
	(void)!write(fake.fd, &one, sizeof(one));
}

void fake_tell(enum gpreempt_event_kind kind, int pid, int result)
{
	struct gpreempt_target *target = fake_target(pid);

	if (kind == GPREEMPT_EVENT_LEASE_LOST)
		target->held = false;
	put(&(struct gpreempt_event){.kind = kind, .result = result, .pid = pid, .target = target});
}

void fake_lose(int pid)
{
	for (int i = 0; i < FAKE_TARGETS; i++) {
		struct gpreempt_target *target = &fake.target[i];

		if (target->pid != pid || !target->held)
			continue;
		target->held = false;
		put(&(struct gpreempt_event){.kind = GPREEMPT_EVENT_LEASE_LOST,
					     .pid = pid,
					     .target = target});
	}
}

void fake_finish(int result)
{
	for (size_t i = 0; i < fake.waiting_count; i++) {
		struct gpreempt_target *target = fake.waiting[i].target;
		uint32_t share = fake.waiting[i].share;
		bool asked = share || fake.waiting[i].suspend;
		int end = asked && target->refuses ? target->refuses : result;

		target->pending--;
		if (share) {
			target->sharing--;
			target->share = end < 0 ? target->share : share;
		} else if (!fake.waiting[i].suspend) {
			target->held = target->resuming = false;
		} else if (end >= 0) {
			target->held = true;
		}
		put(&(struct gpreempt_event){.kind = GPREEMPT_EVENT_DONE,
					     .ticket = fake.waiting[i].ticket,
					     .result = end,
					     .pid = target->pid,
					     .target = target});
	}
	fake.waiting_count = 0;
}

/* ---- gpreempt.h ---- */

struct gpreempt {
	int nothing;
};

static struct gpreempt context;

int gpreempt_open(struct gpreempt **out)
{
	if (fake.open_error)
		return fake.open_error;
	fake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fake.open = true;
	*out = &context;
	return 0;
}

void gpreempt_close(struct gpreempt *closed)
{
	if (!closed)
		return;
	fake.open = false;
	memset(fake.target, 0, sizeof(fake.target));
	fake.waiting_count = fake.first = fake.last = 0;
	close(fake.fd);
}

const char *gpreempt_error(const struct gpreempt *of)
{
	(void)of;
	return "the fake was told to fail";
}

int gpreempt_fd(struct gpreempt *of)
{
	(void)of;
	return fake.fd;
}

int gpreempt_next_event(struct gpreempt *of, struct gpreempt_event *event)
{
	uint64_t count;

	(void)of;
	if (fake.first == fake.last) {
		(void)!read(fake.fd, &count, sizeof(count));
		return 0;
	}
	*event = fake.event[fake.first++ % FAKE_EVENTS];
	return 1;
}

int gpreempt_target_open(struct gpreempt *of, int pid,
			 const struct gpreempt_target_options *options,
			 struct gpreempt_target **out)
{
	(void)of;
	fake.last_mechanism = options ? (int)options->mechanism : GPREEMPT_AUTO;
	if (fake.target_error)
		return fake.target_error;
	for (int i = 0; i < FAKE_TARGETS; i++) {
		if (fake.target[i].pid)
			continue;
		fake.target[i] = (struct gpreempt_target){.pid = pid, .number = ++fake.targets};
		fake.opens++;
		*out = &fake.target[i];
		return 0;
	}
	return -ENOSPC;
}

/* An opening that fails is known at once, or (late_error) by its event. */
int gpreempt_target_open_async(struct gpreempt *of, int pid,
			       const struct gpreempt_target_options *options,
			       struct gpreempt_target **out)
{
	int error = gpreempt_target_open(of, pid, options, out);

	if (error)
		return error;
	put(&(struct gpreempt_event){.kind = GPREEMPT_EVENT_DONE,
				     .ticket = ++fake.ticket,
				     .result = fake.late_error,
				     .pid = pid,
				     .target = *out});
	return fake.ticket;
}

void gpreempt_target_close(struct gpreempt_target *target)
{
	fake.closed_under_way += target->pending > 0;
	for (size_t i = 0; i < fake.waiting_count; i++) {
		if (fake.waiting[i].target == target) {
			fake.waiting[i] = fake.waiting[--fake.waiting_count];
			i--;
		}
	}
	memset(target, 0, sizeof(*target));
}

static int start(struct gpreempt_target *target, bool suspend, uint32_t share)
{
	target->pending++;
	fake.waiting[fake.waiting_count].ticket = ++fake.ticket;
	fake.waiting[fake.waiting_count].suspend = suspend;
	fake.waiting[fake.waiting_count].share = share;
	fake.waiting[fake.waiting_count++].target = target;
	if (!fake.wait)
		fake_finish(suspend && fake.suspend_error ? fake.suspend_error : 1);
	return fake.ticket;
}

int gpreempt_target_suspend_async(struct gpreempt_target *target,
				  const struct gpreempt_suspend_options *options)
{
	target->flags = options ? options->flags : 0;
	target->limit_ms = options ? options->limit_ms : 0;
	fake.suspends++;
	return start(target, true, 0);
}

int gpreempt_target_resume_async(struct gpreempt_target *target)
{
	fake.resumes++;
	target->resuming = true;
	return start(target, false, 0);
}

int gpreempt_target_renew(struct gpreempt_target *target)
{
	fake.renewals++;
	if (!target->held || target->resuming)
		fake.broken_rules++;
	if (fake.renew_error) {
		target->held = false;
		return fake.renew_error;
	}
	return 0;
}

int gpreempt_target_latency(struct gpreempt_target *target, struct gpreempt_latency *latency)
{
	(void)target;
	latency->total_ns = 30000;
	latency->driver_ns = 20000;
	return 0;
}

int gpreempt_target_share(struct gpreempt_target *target, uint32_t thousandths)
{
	fake.waited_shares++;
	fake.shares++;
	fake.lifted += thousandths == 1000;
	target->share = thousandths;
	return 0;
}

int gpreempt_target_share_async(struct gpreempt_target *target, uint32_t thousandths)
{
	if (fake.share_error)
		return fake.share_error;
	fake.shares++;
	fake.lifted += thousandths == 1000;
	fake.broken_rules += target->sharing++ > 0;
	return start(target, false, thousandths);
}

int gpreempt_target_queues(struct gpreempt_target *target, struct gpreempt_queue *queues,
			   size_t room)
{
	(void)target;
	for (int i = 0; i < fake.queue_count && (size_t)i < room; i++)
		queues[i] = fake.queue[i];
	return fake.queue_count;
}
