// SPDX-License-Identifier: MIT
/*
 * Rate of empty dispatches: hsa_rate QUEUES PACKETS. Each queue is kept full by its own thread;
 * prints packets per second over all queues and checks that each completed once.
 */
#include <pthread.h>
#include <time.h>

#include "hsa_program.h"

static struct hsa_program program;
static uint64_t kernel;
static long packets;

static void *feed(void *data)
{
	hsa_kernel_dispatch_packet_t packet = hsa_program_dispatch(kernel, 64, 0);
	hsa_queue_t *queue = hsa_program_queue(&program, 4096);

	(void)data;
	HSA(hsa_signal_create(packets, 0, NULL, &packet.completion_signal));
	for (long i = 0; i < packets; i++)
		hsa_program_submit(queue, &packet);
	CHECK(hsa_signal_wait_scacquire(packet.completion_signal, HSA_SIGNAL_CONDITION_LT, 1,
					UINT64_MAX, HSA_WAIT_STATE_BLOCKED) == 0);
	CHECK(hsa_queue_load_read_index_relaxed(queue) == (uint64_t)packets);
	HSA(hsa_signal_destroy(packet.completion_signal));
	return NULL;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	long queues = argc > 1 ? atol(argv[1]) : 1;
	pthread_t threads[64];
	double start;

	packets = argc > 2 ? atol(argv[2]) : 100000;
	CHECK(queues >= 1 && queues <= 64);
	program = hsa_program_begin();
	kernel = hsa_program_kernel(&program);
	start = now();
	for (long i = 0; i < queues; i++)
		CHECK(!pthread_create(&threads[i], NULL, feed, NULL));
	for (long i = 0; i < queues; i++)
		CHECK(!pthread_join(threads[i], NULL));
	printf("%ld queues: %.0f packets/s\n", queues,
	       (double)queues * (double)packets / (now() - start));
	return 0; /* with the queues: see hsa_program.h */
}
