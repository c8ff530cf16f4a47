// SPDX-License-Identifier: MIT
/* Online work: requests arrive at a steady rate, whether the last is served or not. */
#include <stdio.h>
#include <string.h>

#include "networks.h"
#include "spin.h"

int main(int argc, char **argv)
{
	struct example_options options = {
		.name = "online_server",
		.summary =
			"Serves CNN requests that arrive at a steady rate, and measures the time "
			"from arrival to answer.",
		.seconds = 3,
		.batch = 1,
		.rate = 50,
		.priority = -1,
		.seed = 1,
	};
	struct example_latency latency = {0};
	struct example example;
	hipStream_t stream;
	double start, end = 0;
	float *input, answer[8];

	example_parse(&options, argc, argv);
	if (options.rate == 0)
		options.rate = 1;
	example_init(&example, &options, cnn_floats(options.batch));
	stream = example_stream(&example);
	if (options.load == EXAMPLE_LOAD_SPIN) {
		spin_serve(&example, stream);
		EXAMPLE_CHECK(hipStreamDestroy(stream));
		example_free(&example);
		return 0;
	}
	EXAMPLE_CHECK(hipHostMalloc((void **)&input, 224 * 224 * 3 * sizeof(float), 0));
	memset(input, 0, 224 * 224 * 3 * sizeof(float));
	cnn_forward(&example, options.batch, stream);
	EXAMPLE_CHECK(hipStreamSynchronize(stream));

	start = example_now();
	for (long request = 0;; request++) {
		double arrival = start + (double)request / options.rate;

		if (arrival - start >= options.seconds)
			break;
		/* One that comes late has waited in a queue: that counts too. */
		example_sleep_until(arrival);
		EXAMPLE_CHECK(hipMemcpyAsync(example.a, input, 224 * 224 * 3 * sizeof(float),
					     hipMemcpyHostToDevice, stream));
		cnn_forward(&example, options.batch, stream);
		EXAMPLE_CHECK(hipMemcpyAsync(answer, example.c, sizeof(answer),
					     hipMemcpyDeviceToHost, stream));
		EXAMPLE_CHECK(hipStreamSynchronize(stream));
		end = example_now();
		example_latency_add(&latency, end - arrival);
	}

	printf("online_server: %.1f requests/s of %d offered\n",
	       (double)latency.count / (end - start), options.rate);
	example_latency_print(&latency, "requests");
	example_latency_free(&latency);
	EXAMPLE_CHECK(hipHostFree(input));
	EXAMPLE_CHECK(hipStreamDestroy(stream));
	example_free(&example);
	return 0;
}
