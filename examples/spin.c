// SPDX-License-Identifier: MIT
/* Serving and training with kernels of a fixed time: see spin.h. */
#include "spin.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define KERNELS      4    /* of a request */
#define FLIGHT       1024 /* requests under way at most */
#define AHEAD        2
#define POLL_SECONDS 200e-6

struct request {
	hipEvent_t start, stop;
	double arrival, submitted; /* CLOCK_MONOTONIC, seconds */
};

struct server {
	struct example *example;
	struct request requests[FLIGHT];
	unsigned long submitted, done; /* counts; under the lock */
	int over;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	double begin;
	hipEvent_t first; /* GPU times are told from here */
	struct example_latency wall, gpu;
	FILE *samples;
};

/* HIP 5.2 spins in hipEventSynchronize() whatever the event's and the device's flags say, and the
 * demonstration shares two cores with everything else. */
static void wait_for(hipEvent_t event)
{
	hipError_t state;

	while ((state = hipEventQuery(event)) == hipErrorNotReady)
		example_sleep_until(example_now() + POLL_SECONDS);
	EXAMPLE_CHECK(state);
}

static FILE *open_samples(const struct example *example, const char *columns)
{
	const char *path = example->options->samples;
	FILE *file = path ? fopen(path, "w") : NULL;

	if (path && !file) {
		perror(path);
		exit(1);
	}
	if (file) {
		/* Whoever reads it may end this program at any time. */
		setvbuf(file, NULL, _IOLBF, 0);
		fprintf(file, "%s\n", columns);
	}
	return file;
}

static void close_samples(FILE *file)
{
	if (file && fclose(file)) {
		perror("samples");
		exit(1);
	}
}

/* Waits for one request after the other, so that the wall clock is read when each is done. */
static void *reap(void *argument)
{
	struct server *server = argument;

	for (;;) {
		pthread_mutex_lock(&server->lock);
		while (server->done == server->submitted && !server->over)
			pthread_cond_wait(&server->changed, &server->lock);
		int more = server->done != server->submitted;

		pthread_mutex_unlock(&server->lock);
		if (!more)
			return NULL;
		struct request *request = &server->requests[server->done % FLIGHT];
		float start = 0, stop = 0; /* milliseconds */

		wait_for(request->stop);
		double end = example_now();

		EXAMPLE_CHECK(hipEventElapsedTime(&start, server->first, request->start));
		EXAMPLE_CHECK(hipEventElapsedTime(&stop, server->first, request->stop));
		example_latency_add(&server->wall, end - request->arrival);
		example_latency_add(&server->gpu, (stop - start) / 1e3);
		if (server->samples)
			fprintf(server->samples, "%.6f,%.6f,%.6f,%.4f,%.4f\n", request->arrival,
				request->submitted, end, start, stop);
		pthread_mutex_lock(&server->lock);
		server->done++;
		pthread_cond_broadcast(&server->changed);
		pthread_mutex_unlock(&server->lock);
	}
}

static void submit(struct server *server, hipStream_t stream, double arrival)
{
	pthread_mutex_lock(&server->lock);
	while (server->submitted - server->done == FLIGHT)
		pthread_cond_wait(&server->changed, &server->lock);
	struct request *request = &server->requests[server->submitted % FLIGHT];

	pthread_mutex_unlock(&server->lock);
	EXAMPLE_CHECK(hipEventRecord(request->start, stream));
	for (int i = 0; i < KERNELS; i++)
		example_launch(server->example, EXAMPLE_SPIN_500US, 0, 0, 0, stream);
	EXAMPLE_CHECK(hipEventRecord(request->stop, stream));
	request->arrival = arrival;
	request->submitted = example_now();
	pthread_mutex_lock(&server->lock);
	server->submitted++;
	pthread_cond_broadcast(&server->changed);
	pthread_mutex_unlock(&server->lock);
}

/* Ends the program with what is not served in the samples: "-1" for what there is not. */
static void cut(struct server *server)
{
	pthread_mutex_lock(&server->lock);
	if (server->done == server->submitted) {
		pthread_mutex_unlock(&server->lock);
		return;
	}
	for (unsigned long i = server->done; server->samples && i < server->submitted; i++)
		fprintf(server->samples, "%.6f,%.6f,-1,-1,-1\n",
			server->requests[i % FLIGHT].arrival,
			server->requests[i % FLIGHT].submitted);
	printf("online_server: %lu of %lu requests served\n", server->done, server->submitted);
	fflush(NULL);
	/* Without the runtime's own end, which would wait for the GPU. */
	_exit(0);
}

static double next_arrival(double last, const struct example_options *options, unsigned short *seed)
{
	double mean = 1.0 / options->rate;

	return last + (options->poisson ? -log(1 - erand48(seed)) * mean : mean);
}

void spin_serve(struct example *example, hipStream_t stream)
{
	const struct example_options *options = example->options;
	unsigned short seed[3] = {(unsigned short)options->seed, 0x6770, 1};
	struct server *server = calloc(1, sizeof(*server));
	pthread_t reaper;

	if (!server)
		exit(1);
	server->example = example;
	server->samples =
		open_samples(example, "arrival_s,submitted_s,done_s,gpu_start_ms,gpu_done_ms");
	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->changed, NULL);
	for (int i = 0; i < FLIGHT; i++) {
		EXAMPLE_CHECK(hipEventCreateWithFlags(&server->requests[i].start, hipEventDefault));
		EXAMPLE_CHECK(hipEventCreateWithFlags(&server->requests[i].stop, hipEventDefault));
	}
	EXAMPLE_CHECK(hipEventCreateWithFlags(&server->first, hipEventDefault));
	example_launch(example, EXAMPLE_SPIN_500US, 0, 0, 0, stream);
	EXAMPLE_CHECK(hipEventRecord(server->first, stream));
	EXAMPLE_CHECK(hipStreamSynchronize(stream));
	server->begin = example_now();
	if (pthread_create(&reaper, NULL, reap, server))
		exit(1);
	for (double at = next_arrival(0, options, seed); at < options->seconds;
	     at = next_arrival(at, options, seed)) {
		example_sleep_until(server->begin + at);
		submit(server, stream, server->begin + at);
	}
	if (options->cut)
		cut(server);
	pthread_mutex_lock(&server->lock);
	server->over = 1;
	pthread_cond_broadcast(&server->changed);
	pthread_mutex_unlock(&server->lock);
	pthread_join(reaper, NULL);
	printf("online_server: %.1f requests/s of %d offered\n",
	       (double)server->done / (example_now() - server->begin), options->rate);
	example_latency_print(&server->gpu, "requests, GPU clock");
	example_latency_print(&server->wall, "requests, wall clock");
	for (int i = 0; i < FLIGHT; i++) {
		EXAMPLE_CHECK(hipEventDestroy(server->requests[i].start));
		EXAMPLE_CHECK(hipEventDestroy(server->requests[i].stop));
	}
	EXAMPLE_CHECK(hipEventDestroy(server->first));
	close_samples(server->samples);
	example_latency_free(&server->gpu);
	example_latency_free(&server->wall);
	free(server);
}

void spin_train(struct example *example, hipStream_t stream)
{
	FILE *samples = open_samples(example, "done_s,gpu_ms");
	hipEvent_t first, done[AHEAD];
	double begin, end = 0;
	float milliseconds = 0;
	long steps = 0, waited = 0;

	EXAMPLE_CHECK(hipEventCreateWithFlags(&first, hipEventDefault));
	for (int i = 0; i < AHEAD; i++)
		EXAMPLE_CHECK(hipEventCreateWithFlags(&done[i], hipEventDefault));
	begin = example_now();
	EXAMPLE_CHECK(hipEventRecord(first, stream));
	/* `waited` follows `steps` until both are at the end. */
	for (int more = 1; more || waited < steps;) {
		if (more && steps - waited < AHEAD) {
			example_launch(example, EXAMPLE_SPIN_20MS, 0, 0, 0, stream);
			EXAMPLE_CHECK(hipEventRecord(done[steps % AHEAD], stream));
			steps++;
			continue;
		}
		wait_for(done[waited % AHEAD]);
		end = example_now() - begin;
		EXAMPLE_CHECK(hipEventElapsedTime(&milliseconds, first, done[waited % AHEAD]));
		if (samples)
			fprintf(samples, "%.6f,%.4f\n", begin + end, milliseconds);
		waited++;
		more = end < example->options->seconds;
	}
	printf("offline_trainer: %.2f steps/s by the GPU clock, %.2f by the wall clock\n",
	       milliseconds > 0 ? (double)steps * 1e3 / milliseconds : 0, (double)steps / end);
	EXAMPLE_CHECK(hipEventDestroy(first));
	for (int i = 0; i < AHEAD; i++)
		EXAMPLE_CHECK(hipEventDestroy(done[i]));
	close_samples(samples);
}
