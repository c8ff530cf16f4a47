// SPDX-License-Identifier: MIT
/* What `gpreempt selftest --calibrate` measures inside the GPU program: see calibrate.c. */
#include <time.h>

#include "abi/aql.h"
#include "selftest/least.h"
#include "selftest/work.h"

enum {
	FEW = 2,
	MANY = GP_WORK_PACKETS,
	CREATIONS = 8, /* the shortest counts: the host only adds */
	WAIT_NS = 60 * 1000000000LL,
	HSA_ACTIVE = 1,
	SLICE = 10000000, /* of a wait, in ticks of an unknown clock */
	NAP_NS = 4000000,
};

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long wait_for(struct gp_selftest_kernel_work *work, uint64_t signal)
{
	int64_t end = now() + WAIT_NS;

	while (work->hsa.signal_wait(signal, GP_HSA_LESS, 1, SLICE, HSA_ACTIVE) > 0)
		if (now() > end)
			return gp_selftest_work_fail(work, "a packet did not complete within 60 s");
	return 0;
}

/*
 * Before a wait that has never been shorter than `least`: who polls all the time uses up its share
 * of a busy host, and is not on a processor when it ends. Short waits are polled from their begin.
 */
static void nap(uint64_t least)
{
	uint64_t ns = least - least / 4;

	if (least >= NAP_NS)
		nanosleep(&(struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)},
			  NULL);
}

static void push_one(struct gp_selftest_kernel_work *work, int packet, bool serial)
{
	struct gp_aql_barrier barrier = {
		.header = GP_AQL_BARRIER_AND | (serial ? GP_AQL_HEADER_BARRIER : 0),
		.completion_signal = work->done[0][packet],
	};

	work->hsa.signal_store(work->done[0][packet], 1);
	gp_selftest_work_push(work, 0, &barrier);
}

/* The shortest time of `count` packets in the first queue; its doubt is added to the program's. */
static long shortest(struct gp_selftest_kernel_work *work, int count, bool serial)
{
	struct gp_selftest_least least = {0};
	int64_t first = now();

	for (int round = 0; !gp_selftest_rounds_enough(round, (uint64_t)(now() - first),
						       gp_selftest_least_settled(&least));
	     round++) {
		int64_t begin = now();

		for (int i = 0; i < count; i++)
			push_one(work, i, serial);
		nap(least.ns);
		for (int i = 0; i < count; i++)
			if (wait_for(work, work->done[0][i]) < 0)
				return -1;
		gp_selftest_least_take(&least, (uint64_t)(now() - begin));
	}
	work->doubt += (long)gp_selftest_least_doubt(&least);
	return (long)least.ns;
}

long gp_selftest_work_packet_ns(struct gp_selftest_kernel_work *work, bool serial)
{
	long few, many;

	work->doubt = 0;
	few = shortest(work, FEW, serial);
	many = few < 0 ? few : shortest(work, MANY, serial);
	if (many < 0)
		return -1;
	work->doubt /= MANY - FEW;
	return many > few ? (many - few) / (MANY - FEW) : 0;
}

/* With a crowd: its own end, which it is told of while it is suspended, shows that its waves are
 * back. A virtual kernel cannot be told; there waves are back before any packet is taken. */
long gp_selftest_work_submit(struct gp_selftest_kernel_work *work)
{
	if (gp_selftest_work_crowd_runs(work) && !work->is_virtual) {
		__atomic_store_n(work->kernel.stop, 1, __ATOMIC_SEQ_CST);
		work->watched = work->done[1][0];
		return 0;
	}
	push_one(work, 0, true);
	work->watched = work->done[0][0];
	return 0;
}

void gp_selftest_work_watch(struct gp_selftest_kernel_work *work)
{
	int64_t begin = now();

	nap(work->soonest.ns);
	work->done_at = wait_for(work, work->watched) < 0 ? -1 : (long)now();
	if (work->done_at > 0)
		gp_selftest_least_take(&work->soonest, (uint64_t)(work->done_at - begin));
}

/*
 * The queues stay: all queues of a process share one event of the driver, which resets itself. In
 * ROCr before event ages (KFD 1.14) the thread that handles errors can consume the wake-up of
 * hsa_queue_destroy() for a queue while another exists, and that call then never returns.
 */
long gp_selftest_work_create_ns(struct gp_selftest_kernel_work *work)
{
	int64_t best = INT64_MAX;

	for (int round = 0; round < CREATIONS; round++) {
		struct gp_selftest_hsa_queue *queue;
		int64_t begin = now(), took;
		int status = work->hsa.queue_create(work->gpu, 64, GP_HSA_QUEUE_MULTI, NULL, NULL,
						    UINT32_MAX, UINT32_MAX, &queue);

		if (status)
			return gp_selftest_work_fail_hsa(work, "hsa_queue_create", status);
		took = now() - begin;
		best = took < best ? took : best;
	}
	return (long)best;
}
