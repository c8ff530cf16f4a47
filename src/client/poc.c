// SPDX-License-Identifier: MIT
/*
 * libgpreempt_poc over the public interface of libgpreempt. Its interface has no handle, so the
 * state is one per process, behind one lock.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpreempt.h"
#include "libgpreempt_poc.h"

enum {
	LEASE_MS = 1000, /* the thread shares a machine, and an interpreter, with others */
	RENEW_MS = LEASE_MS / 4,
	TEXT = 320,
};

struct poc_target {
	struct poc_target *next;
	struct gpreempt_target *target;
	int32_t pid;
	bool held;
};

struct poc {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* something is held, or `ending` */
	pid_t owner;            /* process the rest belongs to; 0: none */
	struct gpreempt *context;
	struct poc_target *targets;
	pthread_t renewer;
	bool ending;
	uint32_t limit_ms;
};

static struct poc the = {.lock = PTHREAD_MUTEX_INITIALIZER, .limit_ms = GPREEMPT_LIMIT_MS};
static _Thread_local char sentence[TEXT];

static int fail(int error, const char *text)
{
	snprintf(sentence, sizeof(sentence), "%s", text);
	return error;
}

static int fail_in_library(int error)
{
	return fail(error, gpreempt_error(the.context));
}

/* ---- renewing ---- */

static bool renew_all(void)
{
	bool any = false;

	for (struct poc_target *at = the.targets; at; at = at->next) {
		/* At its limit, released by somebody, or with the holder gone: it runs. */
		if (at->held && gpreempt_target_renew(at->target) < 0)
			at->held = false;
		any |= at->held;
	}
	return any;
}

static void *renew(void *unused)
{
	struct timespec next;
	struct gpreempt_event event;

	(void)unused;
	pthread_mutex_lock(&the.lock);
	while (!the.ending) {
		bool any = renew_all();

		/* Nobody reads them here, and they must not pile up. */
		while (gpreempt_next_event(the.context, &event))
			;
		clock_gettime(CLOCK_MONOTONIC, &next);
		next.tv_nsec += RENEW_MS * 1000000L;
		if (next.tv_nsec >= 1000000000L) {
			next.tv_nsec -= 1000000000L;
			next.tv_sec++;
		}
		if (any)
			pthread_cond_timedwait(&the.changed, &the.lock, &next);
		else
			pthread_cond_wait(&the.changed, &the.lock);
	}
	pthread_mutex_unlock(&the.lock);
	return NULL;
}

/* The thread is the program's guest: no signal is delivered to it. */
static int start_renewer(void)
{
	pthread_condattr_t clock;
	sigset_t all, old;

	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&the.changed, &clock);
	pthread_condattr_destroy(&clock);
	the.ending = false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int error = pthread_create(&the.renewer, NULL, renew, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -error;
}

/* A child starts anew: what the parent had is the parent's, and its thread may have had the lock.
 */
static void in_child(void)
{
	pthread_mutex_init(&the.lock, NULL);
	the.owner = 0;
	the.context = NULL;
	the.targets = NULL;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

/* ---- with the lock held ---- */

static int init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (the.owner == getpid())
		return 0;
	pthread_once(&once, watch_forks);
	int error = gpreempt_open(&the.context);
	if (error) {
		the.context = NULL;
		return fail_in_library(error);
	}
	error = start_renewer();
	if (error) {
		gpreempt_close(the.context);
		the.context = NULL;
		return fail(error, "cannot start the thread that renews leases");
	}
	the.owner = getpid();
	return 0;
}

static struct poc_target *find(int32_t pid)
{
	for (struct poc_target *at = the.targets; at; at = at->next) {
		if (at->pid == pid)
			return at;
	}
	return NULL;
}

static void forget(int32_t pid)
{
	for (struct poc_target **at = &the.targets; *at; at = &(*at)->next) {
		struct poc_target *gone = *at;

		if (gone->pid == pid) {
			*at = gone->next;
			gpreempt_target_close(gone->target);
			free(gone);
			return;
		}
	}
}

static int open_target(int32_t pid, struct poc_target **out)
{
	int error = init();
	struct poc_target *target;

	if (error)
		return error;
	*out = find(pid);
	if (*out)
		return 0;
	target = calloc(1, sizeof(*target));
	if (!target)
		return fail(-ENOMEM, "out of memory");
	error = gpreempt_target_open(the.context, pid, NULL, &target->target);
	if (error) {
		free(target);
		return fail_in_library(error);
	}
	target->pid = pid;
	target->next = the.targets;
	the.targets = target;
	*out = target;
	return 0;
}

/* The process we knew by a number may be gone and its number another's. */
static bool is_stale(int32_t pid, int status, int attempt)
{
	if (status != -ESRCH || attempt)
		return false;
	forget(pid);
	return true;
}

static int suspend(int32_t pid, const uint32_t *ids, uint32_t count, uint32_t grace)
{
	struct gpreempt_suspend_options options = {.size = sizeof(options),
						   .lease_ms = LEASE_MS,
						   .limit_ms = the.limit_ms,
						   .grace = grace};
	struct poc_target *target;
	int status;

	for (int attempt = 0;; attempt++) {
		status = open_target(pid, &target);
		if (status)
			return status;
		status = ids ? gpreempt_target_suspend_queues(target->target, ids, count, &options)
			     : gpreempt_target_suspend(target->target, &options);
		if (status >= 0) {
			target->held = true;
			pthread_cond_signal(&the.changed);
			return status;
		}
		fail_in_library(status);
		if (!is_stale(pid, status, attempt))
			return status;
	}
}

static int resume(int32_t pid, const uint32_t *ids, uint32_t count)
{
	struct poc_target *target = the.owner == getpid() ? find(pid) : NULL;
	int status;

	if (!target)
		return 0;
	status = ids ? gpreempt_target_resume_queues(target->target, ids, count)
		     : gpreempt_target_resume(target->target);
	if (status < 0)
		return fail_in_library(status);
	/* Of some queues others may be left; the thread finds out when none is. */
	if (!ids)
		target->held = false;
	return status;
}

static void fill(const struct gpreempt_queue *from, struct gpreempt_poc_queue_status *to)
{
	*to = (struct gpreempt_poc_queue_status){
		.queue_id = from->kfd_id,
		.gpu_id = from->gpu_id,
		.pid = from->pid,
		.valid = from->valid,
		.is_suspended = from->state == GPREEMPT_QUEUE_SUSPENDED,
		.is_active = from->busy,
		.ring_address = from->ring,
		.rptr = from->read_index,
		.wptr = from->write_index,
		.priority = from->hardware_priority,
		.suspended_by = from->owner_pid,
		.suspended_since_ns = from->since_ns,
	};
}

static int get_status(int32_t pid, struct gpreempt_poc_queue_status *status, uint32_t room)
{
	struct gpreempt_queue *queues = calloc(room ? room : 1, sizeof(*queues));
	struct poc_target *target;
	int count;

	if (!queues)
		return fail(-ENOMEM, "out of memory");
	for (int attempt = 0;; attempt++) {
		count = open_target(pid, &target);
		if (count)
			break;
		count = gpreempt_target_queues(target->target, queues, room);
		if (count < 0)
			fail_in_library(count);
		if (!is_stale(pid, count, attempt))
			break;
	}
	for (uint32_t i = 0; count > 0 && i < (uint32_t)count && i < room; i++)
		fill(&queues[i], &status[i]);
	free(queues);
	return count;
}

/* ---- the interface ---- */

int gpreempt_poc_init(void)
{
	pthread_mutex_lock(&the.lock);
	int error = init();
	pthread_mutex_unlock(&the.lock);
	return error;
}

void gpreempt_poc_close(void)
{
	pthread_t renewer;

	pthread_mutex_lock(&the.lock);
	if (the.owner != getpid() || the.ending) {
		pthread_mutex_unlock(&the.lock);
		return;
	}
	the.ending = true;
	renewer = the.renewer;
	pthread_cond_signal(&the.changed);
	pthread_mutex_unlock(&the.lock);
	pthread_join(renewer, NULL);
	pthread_mutex_lock(&the.lock);
	while (the.targets)
		forget(the.targets->pid);
	gpreempt_close(the.context);
	the.context = NULL;
	the.owner = 0;
	pthread_mutex_unlock(&the.lock);
}

int gpreempt_suspend_queues(int32_t pid, const uint32_t *queue_ids, uint32_t num_queues,
			    uint32_t grace_period)
{
	if (!queue_ids != !num_queues)
		return fail(-EINVAL,
			    "pass queue ids and their count, or NULL and 0 for all queues");
	pthread_mutex_lock(&the.lock);
	int status = suspend(pid, queue_ids, num_queues, grace_period);
	pthread_mutex_unlock(&the.lock);
	return status;
}

int gpreempt_resume_queues(int32_t pid, const uint32_t *queue_ids, uint32_t num_queues)
{
	if (!queue_ids != !num_queues)
		return fail(-EINVAL,
			    "pass queue ids and their count, or NULL and 0 for all queues");
	pthread_mutex_lock(&the.lock);
	int status = resume(pid, queue_ids, num_queues);
	pthread_mutex_unlock(&the.lock);
	return status;
}

int gpreempt_get_queue_status(int32_t pid, struct gpreempt_poc_queue_status *status, uint32_t room)
{
	if (room > 1u << 16)
		room = 1u << 16;
	pthread_mutex_lock(&the.lock);
	int count = get_status(pid, status, room);
	pthread_mutex_unlock(&the.lock);
	return count;
}

int gpreempt_poc_set_limit(uint32_t limit_ms)
{
	if (limit_ms < GPREEMPT_LEASE_MIN_MS || limit_ms > GPREEMPT_LIMIT_MAX_MS)
		return fail(-EINVAL, "the limit must be 50 to 3600000 ms");
	pthread_mutex_lock(&the.lock);
	the.limit_ms = limit_ms;
	pthread_mutex_unlock(&the.lock);
	return 0;
}

const char *gpreempt_poc_error(void)
{
	return sentence;
}
