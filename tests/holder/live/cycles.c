// SPDX-License-Identifier: MIT
/*
 * Many cycles of suspend and resume over four processes that always have work: no packet is lost
 * or done twice, nothing leaks. GP_PROMISE_CYCLES says how many.
 */
#include "live.h"

#include <dirent.h>

/* The sanitizers keep what was freed for a while; they look for leaks themselves. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
#define GROWTH (512ull << 20)
#else
#define GROWTH (4ull << 20)
#endif

#define TARGETS 4
#define QUEUES  2
#define ROUND   64 /* cycles after which everything must have caught up: the rings are small */

static u32 descriptors_of(pid_t pid)
{
	char path[64];
	u32 count = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *directory = opendir(path);
	CHECK(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static u64 memory_of(pid_t pid)
{
	char path[64];
	u64 pages = 0;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	char *text = slurp(path);
	CHECK(text && sscanf(text, "%*u %lu", &pages) == 1);
	free(text);
	return pages * 4096;
}

/* id -> packets done */
static s64 do_catch_up(struct self *self, const u64 *args, u64 *out)
{
	struct queue *queue = &self->queues[args[0]];

	(void)out;
	UNTIL(self, __atomic_load_n(queue->read_index, __ATOMIC_ACQUIRE) == queue->written);
	return (s64)queue->written;
}

static void catch_up(struct live *live, struct actor *targets, u64 submitted)
{
	for (u32 t = 0; t < TARGETS; t++)
		for (u32 q = 0; q < QUEUES; q++) {
			EXPECT(DO(&targets[t], do_catch_up, q), submitted);
			UNTIL(&live->self,
			      look(&live->self, targets[t].pid, q).completed == submitted);
		}
}

static void cycle(struct client *client, s64 target, struct actor *actor)
{
	EXPECT(suspend(client, target, LONG_LEASE, LONG_LEASE, -1), QUEUES);
	for (u32 q = 0; q < QUEUES; q++)
		EXPECT(DO(actor, do_submit, q, 1000), 0);
	EXPECT(resume(client, target, -1), QUEUES);
}

static void many_cycles(struct live *live)
{
	const char *asked = getenv("GP_PROMISE_CYCLES");
	u64 cycles = asked ? strtoull(asked, NULL, 10) : 10000, each = 0;
	struct actor targets[TARGETS];
	s64 ids[TARGETS];
	u32 descriptors = 0;
	u64 memory = 0;

	start_holder(live, NULL, NULL);
	struct client *client = connect_client(live);
	for (u32 t = 0; t < TARGETS; t++) {
		targets[t] = start_target(1, QUEUES);
		ids[t] = open_pid(client, targets[t].pid, DEBUG);
		CHECK(ids[t] > 0);
	}
	while (each * TARGETS < cycles) {
		for (u32 t = 0; t < TARGETS; t++)
			cycle(client, ids[t], &targets[t]);
		if (++each % ROUND == 0)
			catch_up(live, targets, each);
		if (each == ROUND) {
			descriptors = descriptors_of(live->holder);
			memory = memory_of(live->holder);
		}
	}
	catch_up(live, targets, each);
	EXPECT(descriptors_of(live->holder), descriptors);
	/* A page a cycle would be hundreds of megabytes; allocators need a little room. */
	CHECK(memory_of(live->holder) < memory + GROWTH);
	printf("# %llu cycles\n", (unsigned long long)(each * TARGETS));
}

const struct live_row live_cycles[] = {
	{"cycles over four processes lose nothing and leak nothing", many_cycles, EVERYWHERE},
	{0},
};
