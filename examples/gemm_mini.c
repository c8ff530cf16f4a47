// SPDX-License-Identifier: MIT
/* The smallest example: one matrix product, over and over. */
#include <stdio.h>

#include "example.h"

#define IN_FLIGHT 16

int main(int argc, char **argv)
{
	struct example_options options = {
		.name = "gemm_mini",
		.summary = "Multiplies two square matrices repeatedly.",
		.seconds = 2,
		.batch = 1,
		.size = 1024,
	};
	struct example example;
	hipStream_t stream;
	hipEvent_t first, last;
	float milliseconds;
	double start, end, flops;
	long products = 0;

	example_parse(&options, argc, argv);
	example_init(&example, &options, (size_t)options.size * (size_t)options.size);
	stream = example_stream(&example);
	EXAMPLE_CHECK(hipEventCreate(&first));
	EXAMPLE_CHECK(hipEventCreate(&last));
	example_launch(&example, EXAMPLE_GEMM, options.size, options.size, options.size, stream);
	EXAMPLE_CHECK(hipStreamSynchronize(stream));

	start = example_now();
	do {
		EXAMPLE_CHECK(hipEventRecord(first, stream));
		for (int i = 0; i < IN_FLIGHT; i++)
			example_launch(&example, EXAMPLE_GEMM, options.size, options.size,
				       options.size, stream);
		EXAMPLE_CHECK(hipEventRecord(last, stream));
		EXAMPLE_CHECK(hipStreamSynchronize(stream));
		products += IN_FLIGHT;
		end = example_now();
	} while (end - start < options.seconds);

	EXAMPLE_CHECK(hipEventElapsedTime(&milliseconds, first, last));
	flops = 2.0 * options.size * options.size * options.size;
	printf("gemm_mini: %d x %d: %.1f products/s, %.3f ms each on the GPU, %.1f GFLOP/s\n",
	       options.size, options.size, (double)products / (end - start),
	       milliseconds / IN_FLIGHT, flops * (double)products / (end - start) * 1e-9);
	EXAMPLE_CHECK(hipEventDestroy(first));
	EXAMPLE_CHECK(hipEventDestroy(last));
	EXAMPLE_CHECK(hipStreamDestroy(stream));
	example_free(&example);
	return 0;
}
