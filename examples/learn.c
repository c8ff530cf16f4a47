// SPDX-License-Identifier: MIT
/* Training with a result: see learn.h. */
#include "learn.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define AHEAD        2
#define SLOTS        (AHEAD + 2) /* weights that are read, and those that kernels under way write */
#define POLL_SECONDS 1e-3

struct learner {
	struct example *example;
	hipStream_t stream;
	float *weights[SLOTS]; /* in memory of the host, which the kernels read and write */
	size_t count;          /* of each */
	hipEvent_t done[AHEAD];
};

static void submit(struct learner *learner, long step)
{
	struct example *example = learner->example;
	const float *from = learner->weights[step % SLOTS];
	float *to = learner->weights[(step + 1) % SLOTS];
	const float *unused = example->b;
	int number = (int)step, columns = 0, depth = 0;
	void *arguments[] = {&from, &unused, &to, &number, &columns, &depth};

	EXAMPLE_CHECK(hipModuleLaunchKernel(example->kernels[EXAMPLE_LEARN_20MS],
					    (unsigned int)example->resident[EXAMPLE_LEARN_20MS], 1,
					    1, EXAMPLE_THREADS, 1, 1, 0, learner->stream, arguments,
					    NULL));
	EXAMPLE_CHECK(hipEventRecord(learner->done[step % AHEAD], learner->stream));
}

/* FNV-1a of the weights after this step. */
static uint32_t checksum(const struct learner *learner, long step)
{
	const unsigned char *bytes = (const unsigned char *)learner->weights[(step + 1) % SLOTS];
	uint32_t sum = 2166136261u;

	for (size_t i = 0; i < learner->count * sizeof(float); i++)
		sum = (sum ^ bytes[i]) * 16777619u;
	return sum;
}

static void wait_for(const struct learner *learner, long step)
{
	hipError_t state;

	while ((state = hipEventQuery(learner->done[step % AHEAD])) == hipErrorNotReady)
		example_sleep_until(example_now() + POLL_SECONDS);
	EXAMPLE_CHECK(state);
}

static void learner_init(struct learner *learner, struct example *example, hipStream_t stream)
{
	learner->example = example;
	learner->stream = stream;
	learner->count = (size_t)example->resident[EXAMPLE_LEARN_20MS] * EXAMPLE_THREADS;
	for (int i = 0; i < SLOTS; i++) {
		EXAMPLE_CHECK(hipHostMalloc((void **)&learner->weights[i],
					    learner->count * sizeof(float), hipHostMallocDefault));
		for (size_t j = 0; j < learner->count; j++)
			learner->weights[i][j] = 0;
	}
	for (int i = 0; i < AHEAD; i++)
		EXAMPLE_CHECK(hipEventCreateWithFlags(&learner->done[i], hipEventDisableTiming));
}

static void learner_free(struct learner *learner)
{
	for (int i = 0; i < SLOTS; i++)
		EXAMPLE_CHECK(hipHostFree(learner->weights[i]));
	for (int i = 0; i < AHEAD; i++)
		EXAMPLE_CHECK(hipEventDestroy(learner->done[i]));
}

void learn_train(struct example *example, hipStream_t stream)
{
	const char *path = example->options->samples;
	FILE *samples = path ? fopen(path, "w") : NULL;
	struct learner learner;
	long submitted = 0;
	double begin, end;

	if (path && !samples) {
		perror(path);
		exit(1);
	}
	learner_init(&learner, example, stream);
	if (samples) {
		setvbuf(samples, NULL, _IOLBF, 0); /* it may be read and ended at any time */
		fprintf(samples, "done_s,weights\n");
	}
	begin = end = example_now();
	for (long step = 0; end - begin < example->options->seconds; step++) {
		while (submitted < step + AHEAD)
			submit(&learner, submitted++);
		wait_for(&learner, step);
		end = example_now();
		if (samples)
			fprintf(samples, "%.6f,%u\n", end, checksum(&learner, step));
	}
	EXAMPLE_CHECK(hipStreamSynchronize(stream));
	printf("offline_trainer: %.2f steps/s, weights %08x\n",
	       (double)submitted / (example_now() - begin), checksum(&learner, submitted - 1));
	if (samples && fclose(samples)) {
		perror(path);
		exit(1);
	}
	learner_free(&learner);
}
