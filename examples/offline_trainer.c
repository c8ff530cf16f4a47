// SPDX-License-Identifier: MIT
/* Offline work: training steps, as many as the GPU gives. */
#include <stdio.h>

#include "learn.h"
#include "networks.h"
#include "spin.h"

#define AHEAD 2 /* steps the host is in front of the GPU */

int main(int argc, char **argv)
{
	struct example_options options = {
		.name = "offline_trainer",
		.summary = "Trains a BERT-base-shaped transformer, step after step.",
		.seconds = 3,
		.batch = 16,
		.priority = 1,
		.seed = 1,
	};
	struct example example;
	hipStream_t stream;
	hipEvent_t done[AHEAD];
	double start, end;
	long steps = 0, launches = 0;

	example_parse(&options, argc, argv);
	example_init(&example, &options, transformer_floats(options.batch));
	stream = example_stream(&example);
	if (options.load != EXAMPLE_LOAD_NETWORK) {
		if (options.load == EXAMPLE_LOAD_LEARN)
			learn_train(&example, stream);
		else
			spin_train(&example, stream);
		EXAMPLE_CHECK(hipStreamDestroy(stream));
		example_free(&example);
		return 0;
	}
	for (int i = 0; i < AHEAD; i++)
		EXAMPLE_CHECK(hipEventCreateWithFlags(&done[i], hipEventDisableTiming));

	start = example_now();
	do {
		int turn = (int)(steps % AHEAD);

		if (steps >= AHEAD)
			EXAMPLE_CHECK(hipEventSynchronize(done[turn]));
		launches += transformer_step(&example, options.batch, stream);
		EXAMPLE_CHECK(hipEventRecord(done[turn], stream));
		steps++;
		end = example_now();
	} while (end - start < options.seconds);
	EXAMPLE_CHECK(hipStreamSynchronize(stream));
	end = example_now();

	printf("offline_trainer: %.2f steps/s, %.1f sequences/s, %.0f kernels/s\n",
	       (double)steps / (end - start), (double)steps * options.batch / (end - start),
	       (double)launches / (end - start));
	for (int i = 0; i < AHEAD; i++)
		EXAMPLE_CHECK(hipEventDestroy(done[i]));
	EXAMPLE_CHECK(hipStreamDestroy(stream));
	example_free(&example);
	return 0;
}
