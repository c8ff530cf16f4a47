// SPDX-License-Identifier: MIT
/*
 * nvlatency: how long it takes to stop and to continue one process's kernels.
 *   nvlatency PID PAGE TRIALS SECONDS [quick]
 * PID is an nvwork whose kernels write their progress to PAGE. A trial suspends, sees when progress
 * ended, checks that it stays so, resumes and sees when it goes on. Prints one JSON object with
 * every sample; in `quick`, for many suspensions, nothing is waited for and no latency is measured.
 *   stop_us      from before the call to the last progress
 *   suspend_us   the call itself
 *   start_us     from before the call to the first progress
 *   resume_us    the call itself
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "nvctl.h"
#include "page.h"

#define SETTLE_NS 1000000u    /* after the call: still moving then is not stopped */
#define WATCH_NS  1000000u    /* how long it is watched for being still */
#define STUCK_NS  5000000000u /* no progress for so long after a resume: lost */

struct watch {
	struct page *page;
	_Atomic uint64_t last_ns, last_value; /* of the latest change */
	_Atomic uint64_t first_ns, armed;     /* of the first change after it was armed */
	_Atomic int end;
};

struct sample {
	double stop, suspend, start, resume;
};

static void *watch_run(void *data)
{
	struct watch *w = data;
	uint64_t seen = w->page->progress;

	while (!atomic_load_explicit(&w->end, memory_order_relaxed)) {
		uint64_t value = w->page->progress, now;

		if (value == seen) {
			__builtin_ia32_pause();
			continue;
		}
		now = now_ns();
		seen = value;
		atomic_store(&w->last_value, value);
		atomic_store(&w->last_ns, now);
		if (atomic_load(&w->armed)) {
			atomic_store(&w->first_ns, now);
			atomic_store(&w->armed, 0);
		}
	}
	return NULL;
}

static uint64_t jitter(uint64_t *seed, uint64_t limit)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (*seed >> 33) % limit;
}

enum outcome { STOPPED, MOVING, FAILED, STUCK };

static enum outcome trial(struct nvctl *control, struct watch *w, struct sample *s)
{
	uint64_t begin = now_ns(), called, value;
	enum outcome outcome;

	if (nvctl_suspend(control, NULL))
		return FAILED;
	s->suspend = (double)(now_ns() - begin) / 1e3;
	sleep_ns(SETTLE_NS);
	value = w->page->progress;
	sleep_ns(WATCH_NS);
	outcome = w->page->progress == value ? STOPPED : MOVING;
	/* Before the call: it ended between two kernels. */
	s->stop = ((double)atomic_load(&w->last_ns) - (double)begin) / 1e3;
	atomic_store(&w->armed, 1);
	called = now_ns();
	if (nvctl_resume(control, NULL))
		return FAILED;
	s->resume = (double)(now_ns() - called) / 1e3;
	while (atomic_load(&w->armed)) {
		if (now_ns() - called > STUCK_NS)
			return STUCK;
		sleep_ns(50000);
	}
	s->start = ((double)atomic_load(&w->first_ns) - (double)called) / 1e3;
	return outcome;
}

static void print_field(const char *name, const struct sample *samples, size_t count, size_t at)
{
	printf(",\"%s\":[", name);
	for (size_t i = 0; i < count; i++)
		printf("%s%.1f", i ? "," : "", *(const double *)((const char *)&samples[i] + at));
	printf("]");
}

static void print_all(const struct sample *samples, size_t count, const size_t *outcomes,
		      uint64_t attach_ns, uint64_t calls)
{
	printf("{\"trials\":%zu,\"stopped\":%zu,\"moving\":%zu,\"failed\":%zu,\"stuck\":%zu,"
	       "\"attach_ms\":%.3f,\"attach_calls\":%llu",
	       count, outcomes[STOPPED], outcomes[MOVING], outcomes[FAILED], outcomes[STUCK],
	       (double)attach_ns / 1e6, (unsigned long long)calls);
	print_field("stop_us", samples, count, offsetof(struct sample, stop));
	print_field("suspend_us", samples, count, offsetof(struct sample, suspend));
	print_field("start_us", samples, count, offsetof(struct sample, start));
	print_field("resume_us", samples, count, offsetof(struct sample, resume));
	printf("}\n");
}

static void measure(struct nvctl *control, struct page *page, size_t trials, double seconds,
		    uint64_t attach_ns)
{
	struct watch w = {.page = page};
	struct sample *samples = calloc(trials, sizeof(*samples));
	size_t count = 0, outcomes[4] = {0};
	uint64_t end = now_ns() + (uint64_t)(seconds * 1e9), seed = 7;
	uint64_t calls = nvctl_calls(control);
	pthread_t thread;

	pthread_create(&thread, NULL, watch_run, &w);
	while (count < trials && now_ns() < end && !outcomes[STUCK]) {
		sleep_ns(500000 + jitter(&seed, 1500000));
		outcomes[trial(control, &w, &samples[count])]++;
		count++;
	}
	atomic_store(&w.end, 1);
	pthread_join(thread, NULL);
	print_all(samples, count, outcomes, attach_ns, calls);
	free(samples);
}

static void hammer(struct nvctl *control, struct page *page, size_t trials, double seconds)
{
	uint64_t end = now_ns() + (uint64_t)(seconds * 1e9), seed = 9, before;
	size_t count = 0, failed = 0, stuck = 0;

	for (; count < trials && now_ns() < end && !stuck; count++) {
		failed += nvctl_suspend(control, NULL) != 0;
		sleep_ns(jitter(&seed, 200000));
		before = page->progress;
		failed += nvctl_resume(control, NULL) != 0;
		/* It must go on each time, not only at the end. */
		for (uint64_t begin = now_ns(); page->progress == before && !stuck;)
			stuck = now_ns() - begin > STUCK_NS;
	}
	printf("{\"suspensions\":%zu,\"failed\":%zu,\"stuck\":%zu}\n", count, failed, stuck);
}

int main(int argc, char **argv)
{
	struct nvctl *control;
	struct page *page;
	uint64_t begin;

	if (argc < 5) {
		fprintf(stderr, "usage: nvlatency PID PAGE TRIALS SECONDS [quick]\n");
		return 2;
	}
	page = page_map(argv[2], 0);
	begin = now_ns();
	if (!page || nvctl_open((uint32_t)atoi(argv[1]), &control))
		return 3;
	if (argc > 5)
		hammer(control, page, (size_t)atol(argv[3]), atof(argv[4]));
	else
		measure(control, page, (size_t)atol(argv[3]), atof(argv[4]), now_ns() - begin);
	nvctl_close(control);
	return 0;
}
