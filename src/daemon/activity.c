// SPDX-License-Identifier: MIT
/*
 * Reading which process had a GPU. A thread does it, because a call to the driver may wait for its
 * locks, and the loop renews leases. The thread owns what it opened; it and the loop share one
 * structure under a lock that neither holds while it calls anything that waits.
 *
 * The interval bounds how late a figure is, and how late an idle batch job gives its turn up. With
 * nothing to read the thread sleeps.
 */
#include "daemon/activity.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/host/process.h"
#include "daemon/daemon.h"

#define SLOW_NS  (250 * GP_NS_PER_MS)
#define FAST_NS  (20 * GP_NS_PER_MS) /* while batch jobs take turns, or a strict job needs it */
#define AGAIN_NS (10 * GP_NS_PER_S)  /* try again to open a device */

enum { BATCH = 1024, END_S = 2 };

/* ---- the thread ---- */

struct opened {
	const struct gp_gpu_activity_ops *ops;
	struct gp_gpu_activity *activity; /* NULL: not open */
	u64 again_ns;
};

struct thread {
	struct gp_daemon_reader *reader;
	const struct gp_root *root;
	struct opened devices[GP_SCHED_MAX_DEVICES];
	struct gp_gpu_switch batch[BATCH];
};

static void kick(int fd)
{
	u64 one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		return; /* it is full: whoever waits for it wakes up */
}

static void drain(int fd)
{
	u64 count;

	if (read(fd, &count, sizeof(count)) < 0)
		return; /* there was nothing */
}

static void close_device(struct opened *opened)
{
	if (opened->activity)
		opened->ops->close(opened->activity);
	opened->activity = NULL;
}

/* Pids of records mean nothing to a daemon in a container of its own. */
static int open_device(struct thread *thread, u32 device, u32 gpu_id)
{
	struct opened *opened = &thread->devices[device];

	opened->ops = gp_gpu_kind(gpu_id)->activity;
	if (!gp_process_host_view(thread->root))
		return -EREMOTE;
	return opened->ops->open(thread->root, gpu_id, &opened->activity);
}

static void publish(struct gp_daemon_reader *reader, u32 device, const struct gp_gpu_switch *batch,
		    int count, u64 lost, u64 until_ns)
{
	struct gp_daemon_source *source = &reader->sources[device];

	pthread_mutex_lock(&reader->lock);
	source->lost += lost;
	for (int i = 0; i < count; i++) {
		if (reader->count < GP_DAEMON_SWITCHES)
			reader->seen[reader->count++] =
				(struct gp_daemon_seen){.device = device, .what = batch[i]};
		else
			source->lost++;
	}
	source->until_ns = until_ns;
	pthread_mutex_unlock(&reader->lock);
}

static void publish_state(struct gp_daemon_reader *reader, u32 device, bool open, int error)
{
	pthread_mutex_lock(&reader->lock);
	reader->sources[device].open = open;
	reader->sources[device].error = error;
	pthread_mutex_unlock(&reader->lock);
}

static void read_device(struct thread *thread, u32 device, u32 gpu_id)
{
	struct opened *opened = &thread->devices[device];
	u64 lost = 0, until_ns = 0;
	int count, error;

	if (!opened->activity) {
		if (gp_monotonic_ns() < opened->again_ns)
			return;
		error = open_device(thread, device, gpu_id);
		publish_state(thread->reader, device, !error, error);
		opened->again_ns = gp_monotonic_ns() + AGAIN_NS;
		if (error)
			return;
	}
	do {
		count = opened->ops->read(opened->activity, thread->batch, BATCH, &lost, &until_ns);
		if (count >= 0)
			publish(thread->reader, device, thread->batch, count, lost, until_ns);
		lost = 0;
	} while (count == BATCH);
	if (count < 0) {
		close_device(opened);
		publish_state(thread->reader, device, false, count);
	}
}

/* One round. How long to wait for the next; 0: for ever, UINT64_MAX: it is over. */
static u64 read_all(struct thread *thread)
{
	struct gp_daemon_reader *reader = thread->reader;
	u32 wanted[GP_SCHED_MAX_DEVICES] = {0};
	u64 interval;
	bool any = false, stop;

	pthread_mutex_lock(&reader->lock);
	stop = reader->stop;
	interval = reader->interval_ns;
	for (u32 i = 0; i < GP_SCHED_MAX_DEVICES; i++) {
		if (reader->sources[i].wanted)
			wanted[i] = reader->sources[i].gpu_id;
	}
	pthread_mutex_unlock(&reader->lock);
	for (u32 i = 0; i < GP_SCHED_MAX_DEVICES; i++) {
		if (wanted[i] && !stop)
			read_device(thread, i, wanted[i]);
		else if (thread->devices[i].activity)
			close_device(&thread->devices[i]), publish_state(reader, i, false, 0);
		any |= wanted[i] != 0;
	}
	kick(reader->watch.fd);
	return stop ? UINT64_MAX : any ? interval : 0;
}

static void *run_thread(void *data)
{
	struct thread *thread = data;
	u64 wait;

	/* The daemon may be urgent; this is not. */
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
	pthread_setname_np(pthread_self(), "gpreemptd-read");
	while ((wait = read_all(thread)) != UINT64_MAX) {
		struct pollfd poll_for = {.fd = thread->reader->wake, .events = POLLIN};

		if (poll(&poll_for, 1, wait ? (int)(wait / GP_NS_PER_MS) : -1) > 0)
			drain(thread->reader->wake);
	}
	free(thread);
	return NULL;
}

/* ---- the loop ---- */

static void account(struct gp_daemon *daemon, struct gp_daemon_reader *reader)
{
	struct gp_daemon_source sources[GP_SCHED_MAX_DEVICES];

	pthread_mutex_lock(&reader->lock);
	memcpy(sources, reader->sources, sizeof(sources));
	for (u32 i = 0; i < GP_SCHED_MAX_DEVICES; i++)
		reader->sources[i].lost = 0;
	/* Losses come first, because it is not known where they were. */
	for (u32 i = 0; i < daemon->device_count; i++) {
		const struct gp_daemon_source *source = &sources[i];

		if (!source->gpu_id)
			continue;
		gp_daemon_activity_state(daemon, i,
					 !source->wanted ? GP_READING_UNUSED
					 : source->open  ? GP_READING_ON
					 : source->error ? GP_READING_FAILED
							 : GP_READING_UNUSED,
					 source->error);
		if (source->lost)
			gp_daemon_activity_lost(daemon, i, source->lost);
	}
	for (u32 i = 0; i < reader->count; i++)
		gp_daemon_activity_switch(daemon, reader->seen[i].device, &reader->seen[i].what);
	reader->count = 0;
	pthread_mutex_unlock(&reader->lock);
	for (u32 i = 0; i < daemon->device_count; i++) {
		if (sources[i].open)
			gp_daemon_activity_until(daemon, i, sources[i].until_ns);
	}
}

static void ready(struct gp_watch *watch, u32 events)
{
	struct gp_daemon *daemon = gp_container(watch, struct gp_daemon, reader.watch);

	(void)events;
	drain(watch->fd);
	account(daemon, &daemon->reader);
	gp_daemon_host_settle(daemon);
}

static int start(struct gp_daemon *daemon)
{
	struct gp_daemon_reader *reader = &daemon->reader;
	struct thread *thread = calloc(1, sizeof(*thread));
	int error, fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	reader->seen = calloc(GP_DAEMON_SWITCHES, sizeof(*reader->seen));
	reader->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	error = thread && reader->seen ? 0 : -ENOMEM;
	if (!error && (fd < 0 || reader->wake < 0))
		error = -EMFILE;
	if (!error) {
		error = gp_loop_watch(&daemon->loop, &reader->watch, fd, ready);
		fd = -1;
	}
	if (!error) {
		*thread = (struct thread){.reader = reader, .root = &daemon->root};
		error = -pthread_create(&reader->thread, NULL, run_thread, thread);
	}
	reader->running = !error;
	if (error) {
		free(thread);
		if (fd >= 0)
			close(fd);
	}
	return error;
}

static bool is_used(const struct gp_daemon *daemon, u32 device)
{
	struct gp_sched_device_state state;

	return daemon->config.activity && gp_gpu_kind(daemon->devices[device].gpu_id)->activity &&
	       gp_sched_device_state(daemon->sched, device, &state) == 0 && state.members;
}

static bool is_strict(const struct gp_daemon *daemon)
{
	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		if (job->strict == GP_STRICT_ACTIVITY)
			return true;
	}
	return false;
}

void gp_daemon_activity_adapt(struct gp_daemon *daemon)
{
	struct gp_daemon_reader *reader = &daemon->reader;
	u64 interval = daemon->in_turns || is_strict(daemon) ? FAST_NS : SLOW_NS;
	bool changed = false;

	if (!reader->running) {
		bool any = false;

		for (u32 i = 0; i < daemon->device_count; i++)
			any |= is_used(daemon, i);
		if (!any || reader->seen || start(daemon))
			return;
	}
	pthread_mutex_lock(&reader->lock);
	for (u32 i = 0; i < daemon->device_count; i++) {
		bool used = is_used(daemon, i);

		changed |= reader->sources[i].wanted != used;
		reader->sources[i].wanted = used;
		reader->sources[i].gpu_id = daemon->devices[i].gpu_id;
	}
	changed |= interval < reader->interval_ns;
	reader->interval_ns = interval;
	pthread_mutex_unlock(&reader->lock);
	if (changed)
		kick(reader->wake);
}

void gp_daemon_activity_init(struct gp_daemon *daemon)
{
	daemon->reader.watch.fd = daemon->reader.wake = -1;
	daemon->reader.interval_ns = SLOW_NS;
	pthread_mutex_init(&daemon->reader.lock, NULL);
}

void gp_daemon_activity_free(struct gp_daemon *daemon)
{
	struct gp_daemon_reader *reader = &daemon->reader;
	struct timespec limit;

	if (reader->running) {
		pthread_mutex_lock(&reader->lock);
		reader->stop = true;
		pthread_mutex_unlock(&reader->lock);
		kick(reader->wake);
		/* A driver that hangs does not keep the daemon from ending. */
		clock_gettime(CLOCK_REALTIME, &limit);
		limit.tv_sec += END_S;
		if (pthread_timedjoin_np(reader->thread, NULL, &limit))
			return;
		reader->running = false;
	}
	gp_loop_unwatch(&daemon->loop, &reader->watch);
	if (reader->wake >= 0)
		close(reader->wake);
	reader->wake = -1;
	free(reader->seen);
	reader->seen = NULL;
	pthread_mutex_destroy(&reader->lock);
}
