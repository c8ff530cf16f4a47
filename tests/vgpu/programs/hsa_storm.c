// SPDX-License-Identifier: MIT
/*
 * hsa_storm QUEUES PACKETS: dispatches on several queues, each with a signal of its own; checks
 * that every one completes exactly once and in the order of its queue (barrier bit). Prints its
 * pid, waits for a line (or the end of its input), dispatches and prints "done".
 */
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "hsa_program.h"

#define WINDOW 256 /* signals of a queue; a packet waits for the one that had its signal before */

static struct hsa_program program;
static uint64_t kernel;
static long packets;

/*
 * From the newest to the oldest, so that each is looked at after all that came later: when one is
 * complete, everything before it in the queue must be. 1 = under way, 0 = complete once.
 */
static void check_order(const hsa_signal_t *signals, long oldest, long next)
{
	bool complete = false;

	for (long i = next - 1; i >= oldest; i--) {
		hsa_signal_value_t value = hsa_signal_load_scacquire(signals[i % WINDOW]);

		CHECK(value == 0 || value == 1);
		CHECK(value == 0 || !complete);
		complete |= value == 0;
	}
}

/* Waits for the oldest packet under way until no more than `room` are. */
static void reap(const hsa_signal_t *signals, long *oldest, long next, long room)
{
	while (next - *oldest > room) {
		const hsa_signal_t *signal = &signals[*oldest % WINDOW];

		hsa_signal_wait_scacquire(*signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
					  HSA_WAIT_STATE_BLOCKED);
		check_order(signals, *oldest, next);
		CHECK(hsa_signal_load_scacquire(*signal) == 0); /* once, not twice */
		hsa_signal_store_relaxed(*signal, 1);
		(*oldest)++;
	}
}

static void *feed(void *data)
{
	hsa_kernel_dispatch_packet_t packet = hsa_program_dispatch(kernel, 64, 1);
	hsa_queue_t *queue = hsa_program_queue(&program, 1024);
	hsa_signal_t signals[WINDOW];
	long oldest = 0;

	(void)data;
	for (int i = 0; i < WINDOW; i++)
		HSA(hsa_signal_create(1, 0, NULL, &signals[i]));
	for (long i = 0; i < packets; i++) {
		reap(signals, &oldest, i, WINDOW - 1);
		packet.completion_signal = signals[i % WINDOW];
		hsa_program_submit(queue, &packet);
	}
	reap(signals, &oldest, packets, 0);
	CHECK(hsa_queue_load_read_index_relaxed(queue) == (uint64_t)packets);
	for (int i = 0; i < WINDOW; i++)
		HSA(hsa_signal_destroy(signals[i]));
	return NULL;
}

int main(int argc, char **argv)
{
	long queues = argc > 1 ? atol(argv[1]) : 4;
	pthread_t threads[64];

	packets = argc > 2 ? atol(argv[2]) : 1000;
	CHECK(queues >= 1 && queues <= 64);
	program = hsa_program_begin();
	kernel = hsa_program_kernel(&program);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	(void)getchar();
	for (long i = 0; i < queues; i++)
		CHECK(!pthread_create(&threads[i], NULL, feed, NULL));
	for (long i = 0; i < queues; i++)
		CHECK(!pthread_join(threads[i], NULL));
	printf("done\n");
	return 0; /* with the queues: see hsa_program.h */
}
