// SPDX-License-Identifier: MIT
/* Case B: inference with a transformer, several streams that overlap. */
#include <stdio.h>

#include "networks.h"

#define STREAMS 4

int main(int argc, char **argv)
{
	struct example_options options = {
		.name = "case_b_transformer",
		.summary = "Runs a BERT-base-shaped transformer on four streams.",
		.seconds = 3,
		.batch = 4,
	};
	struct example_latency latency = {0};
	struct example example;
	hipStream_t streams[STREAMS];
	double start, end;
	int launches = 0;

	example_parse(&options, argc, argv);
	example_init(&example, &options, transformer_floats(options.batch));
	for (int i = 0; i < STREAMS; i++)
		streams[i] = example_stream(&example);
	transformer_forward(&example, options.batch, streams[0]);
	EXAMPLE_CHECK(hipDeviceSynchronize());

	start = example_begin(&example);
	do {
		double before = example_now();

		for (int i = 0; i < STREAMS; i++)
			launches += transformer_forward(&example, options.batch, streams[i]);
		for (int i = 0; i < STREAMS; i++)
			EXAMPLE_CHECK(hipStreamSynchronize(streams[i]));
		end = example_now();
		example_latency_add(&latency, end - before);
	} while (end - start < options.seconds);

	printf("case_b_transformer: %.1f sequences/s, %.0f kernels/s\n",
	       (double)latency.count * STREAMS * options.batch / (end - start),
	       launches / (end - start));
	example_latency_print(&latency, "rounds of four streams");
	example_latency_free(&latency);
	for (int i = 0; i < STREAMS; i++)
		EXAMPLE_CHECK(hipStreamDestroy(streams[i]));
	example_free(&example);
	return 0;
}
