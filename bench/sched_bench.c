// SPDX-License-Identifier: MIT
/*
 * The cost of an event in the scheduler core: 16 to 65,536 queues of at most 4,096 jobs on one
 * device, policy `priority`, random priorities. Work comes and drains at random, about one queue in
 * 32 has some; every operation is answered and every timer served, and each of those is an event as
 * well. For comparison, a scan of all queues per event on the same work. Prints a line per size:
 * queues, jobs, ns and time-stamp cycles per event, ns of the scan, actions per event, bytes per
 * queue.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sched/sched.h"

#define MAX_JOBS 4096u
#define STEP_NS  20000 /* between two events, of the scheduler's time */
#define PENDING  1024u

struct work_event {
	u32 queue;
	bool busy;
};

struct figures {
	double ns, cycles, scan_ns, actions, bytes;
};

static u64 clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

/* Of this thread: what others do on the machine costs cache, but not time. */
static u64 own_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static u64 cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

/* What happens, made before the clock runs. */
static struct work_event *make_events(u32 queues, u32 count)
{
	struct work_event *events = malloc(sizeof(*events) * count);
	u32 *list = malloc(sizeof(*list) * queues); /* busy ones first */
	u32 busy = 0, wanted = 4 + queues / 32;
	u64 dice = queues;

	if (!events || !list)
		exit(1);
	for (u32 i = 0; i < queues; i++)
		list[i] = i;
	for (u32 i = 0; i < count; i++) {
		bool more = (dice = gp_mix(dice)) % (2 * wanted) >= busy && busy < queues;
		u32 at = (u32)((dice >> 32) % (more ? queues - busy : busy)) + (more ? busy : 0);
		u32 edge = more ? busy++ : --busy, queue = list[at];

		events[i] = (struct work_event){queue, more};
		list[at] = list[edge];
		list[edge] = queue;
	}
	free(list);
	return events;
}

static struct gp_sched *make_sched(u32 queues, u32 jobs, u32 policy, void **memory)
{
	struct gp_sched_device_config device;
	struct gp_sched_config config;
	struct gp_sched *sched;
	u32 process = 0, queue, job;
	size_t size;

	gp_sched_defaults(&config);
	config.devices = 1;
	config.max_jobs = config.max_processes = jobs;
	config.max_queues = queues;
	size = gp_sched_memory(&config);
	*memory = malloc(size);
	if (!*memory || gp_sched_init(&sched, *memory, size, &config))
		exit(1);
	gp_sched_device_defaults(&device);
	device.policy = (enum gp_sched_policy_id)policy;
	if (gp_sched_device_set(sched, 0, 0, &device))
		exit(1);
	for (u32 i = 0; i < jobs; i++) {
		struct gp_sched_job_spec spec = {.priority = (u32)(gp_mix(i) % 65536)};

		if (gp_sched_job_add(sched, 0, &spec, &job) ||
		    gp_sched_process_add(sched, 0, job, &process))
			exit(1);
	}
	/* Neighbours in number are of different jobs. */
	for (u32 i = 0; i < queues; i++)
		if (gp_sched_queue_add(sched, 0, i % jobs, 0, GP_SCHED_STREAM_NORMAL, &queue))
			exit(1);
	return sched;
}

struct host {
	struct gp_sched *sched;
	u64 now, events, actions;
	u64 pending[PENDING];
	u32 first, count;
};

static void take(struct host *host)
{
	struct gp_sched_action action;

	host->events++;
	while (gp_sched_take(host->sched, &action)) {
		host->actions++;
		if (!action.token)
			continue;
		if (host->count == PENDING)
			exit(1);
		host->pending[(host->first + host->count++) % PENDING] = action.token;
	}
}

static void answer_one(struct host *host)
{
	u64 token = host->pending[host->first];

	host->first = (host->first + 1) % PENDING;
	host->count--;
	if (!gp_sched_operation(host->sched, host->now, token, 0, 400000) || true)
		take(host);
}

static void replay(struct host *host, const struct work_event *events, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		host->now += STEP_NS;
		if (gp_sched_next(host->sched) <= host->now &&
		    !gp_sched_timer(host->sched, host->now))
			take(host);
		while (host->count)
			answer_one(host);
		if (gp_sched_work(host->sched, host->now, events[i].queue,
				  events[i].busy ? GP_SCHED_BUSY : GP_SCHED_DRAINED,
				  GP_SCHED_UNKNOWN))
			exit(1);
		take(host);
	}
}

/* The naive scheduler: scan every queue for the highest that waits and the one that runs. */
struct scanned {
	u32 priority;
	bool active, running;
	u32 pending;
};

static double scan(const struct work_event *events, u32 count, u32 queues, u32 jobs)
{
	struct scanned *all = calloc(queues, sizeof(*all));
	volatile u32 inversions = 0;
	u64 start;

	if (!all)
		exit(1);
	for (u32 i = 0; i < queues; i++)
		all[i] = (struct scanned){.priority = (u32)(gp_mix(i % jobs) % 65536),
					  .active = true};
	start = own_ns();
	for (u32 i = 0; i < count; i++) {
		struct scanned *waiting = NULL, *running = NULL;

		all[events[i].queue].pending = events[i].busy;
		for (u32 k = 0; k < queues; k++) {
			if (!all[k].active || !all[k].pending)
				continue;
			if (!waiting || all[k].priority > waiting->priority)
				waiting = &all[k];
			if (all[k].running)
				running = &all[k];
		}
		if (running && waiting && waiting->priority > running->priority) {
			inversions++;
			running->running = false;
		}
		if (waiting)
			waiting->running = true;
	}
	free(all);
	return (double)(own_ns() - start) / count;
}

static struct figures measure(u32 queues, u32 count, u32 policy)
{
	u32 jobs = GP_MIN(queues, MAX_JOBS), warm = count / 4;
	struct work_event *events = make_events(queues, count);
	struct gp_sched_config config;
	struct host host = {0};
	struct figures f;
	u64 start, wall, tick;
	void *memory;

	host.sched = make_sched(queues, jobs, policy, &memory);
	replay(&host, events, warm);
	host.events = host.actions = 0;
	start = own_ns();
	wall = clock_ns(CLOCK_MONOTONIC);
	tick = cycles();
	replay(&host, events + warm, count - warm);
	f.ns = (double)(own_ns() - start) / (double)host.events;
	f.cycles = f.ns * (double)(cycles() - tick) / (double)(clock_ns(CLOCK_MONOTONIC) - wall);
	f.actions = (double)host.actions / (double)host.events;
	f.scan_ns = scan(events, GP_MIN(count, GP_MAX(1000, 20000000 / queues)), queues, jobs);
	gp_sched_defaults(&config);
	config.devices = 1;
	config.max_jobs = config.max_processes = jobs;
	config.max_queues = queues;
	f.bytes = (double)gp_sched_memory(&config) / queues;
	free(memory);
	free(events);
	return f;
}

int main(int argc, char **argv)
{
	u32 count = argc > 1 ? (u32)strtoul(argv[1], NULL, 10) : 1000000;
	u32 repeat = argc > 2 ? (u32)strtoul(argv[2], NULL, 10) : 3;

	u32 policy = argc > 3 ? (u32)strtoul(argv[3], NULL, 10) : GP_SCHED_PRIORITY;

	for (u32 queues = 16; queues <= 65536; queues *= 4) {
		struct figures best = measure(queues, count, policy);

		for (u32 i = 1; i < repeat; i++) {
			struct figures again = measure(queues, count, policy);

			if (again.ns < best.ns)
				best = again;
		}
		printf("%u %u %.1f %.1f %.1f %.2f %.1f\n", queues, GP_MIN(queues, MAX_JOBS),
		       best.ns, best.cycles, best.scan_ns, best.actions, best.bytes);
	}
	return 0;
}
