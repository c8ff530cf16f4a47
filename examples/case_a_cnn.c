// SPDX-License-Identifier: MIT
/* Case A: inference with a residual CNN, one stream, one batch after another. */
#include <stdio.h>

#include "networks.h"

int main(int argc, char **argv)
{
	struct example_options options = {
		.name = "case_a_cnn",
		.summary = "Runs a ResNet-50-shaped CNN, batch after batch.",
		.seconds = 3,
		.batch = 8,
	};
	struct example_latency latency = {0};
	struct example example;
	hipStream_t stream;
	double start, end;
	int launches = 0;

	example_parse(&options, argc, argv);
	example_init(&example, &options, cnn_floats(options.batch));
	stream = example_stream(&example);
	cnn_forward(&example, options.batch, stream);
	EXAMPLE_CHECK(hipStreamSynchronize(stream));

	start = example_begin(&example);
	do {
		double before = example_now();

		launches += cnn_forward(&example, options.batch, stream);
		EXAMPLE_CHECK(hipStreamSynchronize(stream));
		end = example_now();
		example_latency_add(&latency, end - before);
	} while (end - start < options.seconds);

	printf("case_a_cnn: %.1f images/s, %.0f kernels/s\n",
	       (double)latency.count * options.batch / (end - start), launches / (end - start));
	example_latency_print(&latency, "batches");
	example_latency_free(&latency);
	EXAMPLE_CHECK(hipStreamDestroy(stream));
	example_free(&example);
	return 0;
}
