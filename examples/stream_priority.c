// SPDX-License-Identifier: MIT
/*
 * Stream priorities: short requests on one stream while another stream of the same process always
 * has batch work, first with both streams at the same priority, then with different ones. The twin
 * of scripts/poc/test_stream_priority.py for machines without PyTorch.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "example.h"

#define AHEAD 8 /* batch products that are submitted and not done */

struct batch {
	struct example *example;
	hipStream_t stream;
	atomic_bool end;
	long products;
};

static void *batch_run(void *argument)
{
	struct batch *batch = argument;
	const struct example_options *options = batch->example->options;
	hipEvent_t done[AHEAD];

	/* HIP's current device belongs to the thread. */
	EXAMPLE_CHECK(hipSetDevice(options->device));
	for (int i = 0; i < AHEAD; i++)
		EXAMPLE_CHECK(hipEventCreateWithFlags(&done[i], hipEventDisableTiming));
	while (!atomic_load(&batch->end)) {
		int turn = (int)(batch->products % AHEAD);

		if (batch->products >= AHEAD)
			EXAMPLE_CHECK(hipEventSynchronize(done[turn]));
		example_launch(batch->example, EXAMPLE_GEMM, options->size, options->size,
			       options->size, batch->stream);
		EXAMPLE_CHECK(hipEventRecord(done[turn], batch->stream));
		batch->products++;
	}
	EXAMPLE_CHECK(hipStreamSynchronize(batch->stream));
	for (int i = 0; i < AHEAD; i++)
		EXAMPLE_CHECK(hipEventDestroy(done[i]));
	return NULL;
}

/* Requests of two small products each. Time on the GPU's clock, from the arrival in the stream to
 * the end of the work, so that a busy host does not count; the wall clock is beside it. */
static void serve(struct example *example, hipStream_t stream, struct example_latency *gpu,
		  struct example_latency *wall)
{
	const struct example_options *options = example->options;
	int size = options->size / 8 ? options->size / 8 : 1;
	double start = example_now();
	hipEvent_t first, last;

	EXAMPLE_CHECK(hipEventCreate(&first));
	EXAMPLE_CHECK(hipEventCreate(&last));
	for (long request = 0;; request++) {
		double arrival = start + (double)request / options->rate;
		float milliseconds;

		if (request > 0 && arrival - start >= options->seconds)
			break;
		example_sleep_until(arrival);
		EXAMPLE_CHECK(hipEventRecord(first, stream));
		example_launch(example, EXAMPLE_GEMM, size, size, size, stream);
		example_launch(example, EXAMPLE_GEMM, size, size, size, stream);
		EXAMPLE_CHECK(hipEventRecord(last, stream));
		EXAMPLE_CHECK(hipStreamSynchronize(stream));
		example_latency_add(wall, example_now() - arrival);
		EXAMPLE_CHECK(hipEventElapsedTime(&milliseconds, first, last));
		example_latency_add(gpu, milliseconds * 1e-3);
	}
	EXAMPLE_CHECK(hipEventDestroy(first));
	EXAMPLE_CHECK(hipEventDestroy(last));
}

static const char *level(hipStream_t stream)
{
	int priority;

	EXAMPLE_CHECK(hipStreamGetPriority(stream, &priority));
	return priority < 0 ? "high" : priority > 0 ? "low" : "normal";
}

/* One run; returns the median time of a request on the GPU, in seconds. */
static double measure(struct example *example, int request_priority, int batch_priority)
{
	struct example_latency gpu = {0}, wall = {0};
	struct batch batch = {.example = example};
	char title[64];
	hipStream_t stream;
	pthread_t thread;
	double start, elapsed, median;

	EXAMPLE_CHECK(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, request_priority));
	EXAMPLE_CHECK(
		hipStreamCreateWithPriority(&batch.stream, hipStreamNonBlocking, batch_priority));
	start = example_now();
	if (pthread_create(&thread, NULL, batch_run, &batch) != 0)
		example_check(hipErrorOutOfMemory, "pthread_create");
	serve(example, stream, &gpu, &wall);
	atomic_store(&batch.end, true);
	pthread_join(thread, NULL);
	elapsed = example_now() - start;

	snprintf(title, sizeof(title), "requests %s, batch %s", level(stream), level(batch.stream));
	puts(title);
	example_latency_print(&gpu, "  requests, GPU clock");
	example_latency_print(&wall, "  requests, wall clock");
	printf("  batch: %.1f products/s\n", (double)batch.products / elapsed);
	fflush(stdout);
	median = gpu.items[gpu.count / 2]; /* printing has sorted them */
	example_latency_free(&gpu);
	example_latency_free(&wall);
	EXAMPLE_CHECK(hipStreamDestroy(stream));
	EXAMPLE_CHECK(hipStreamDestroy(batch.stream));
	return median;
}

int main(int argc, char **argv)
{
	struct example_options options = {
		.name = "stream_priority",
		.summary = "Measures requests on one stream beside batch work on another, without "
			   "and with\nstream priorities.",
		.seconds = 3,
		.batch = 1,
		.rate = 50,
		.size = 4096,
	};
	struct example example;
	double without, with;

	example_parse(&options, argc, argv);
	if (options.rate == 0)
		options.rate = 1;
	example_init(&example, &options, (size_t)options.size * (size_t)options.size);
	without = measure(&example, 0, 0);
	with = measure(&example, -1, 1);
	printf("stream_priority: p50 without / with priorities %.2f (above 1: they helped)\n",
	       without / with);
	example_free(&example);
	return 0;
}
