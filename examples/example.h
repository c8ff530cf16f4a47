/* SPDX-License-Identifier: MIT */
/*
 * What the example programs share: kernels compiled at run time (hiprtc, so no HIP compiler is
 * needed), launches, options and figures. They run on real ROCm and on `gpreempt vgpu`, where
 * kernels take their time but compute nothing unless it is told to; only --load learn has a result
 * that can be compared.
 */
#ifndef GP_EXAMPLE_H
#define GP_EXAMPLE_H

#include <hip/hip_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

/* The kernels; each is one kind of layer and works on rows of floats. */
enum example_kernel {
	EXAMPLE_GEMM,       /* c = a * b: one workgroup for 64 x 64 of c */
	EXAMPLE_CONV,       /* 3 x 3 convolution as a GEMM over gathered rows */
	EXAMPLE_ATTENTION,  /* one workgroup for 16 queries of a head */
	EXAMPLE_SOFTMAX,    /* one workgroup for a row */
	EXAMPLE_LAYERNORM,  /* one workgroup for a row */
	EXAMPLE_RELU,       /* 1024 elements in a workgroup */
	EXAMPLE_ADD,        /* 1024 elements in a workgroup */
	EXAMPLE_POOL,       /* 1024 elements in a workgroup */
	EXAMPLE_SPIN_500US, /* every CU for half a millisecond */
	EXAMPLE_SPIN_20MS,
	EXAMPLE_LEARN_20MS, /* the same with a result: see learn.h */
	EXAMPLE_KERNELS,
};

#define EXAMPLE_THREADS 256 /* of a workgroup */

enum example_load {
	EXAMPLE_LOAD_NETWORK,
	EXAMPLE_LOAD_SPIN,  /* kernels of a fixed time instead */
	EXAMPLE_LOAD_LEARN, /* the same with a result; trainers only */
};

struct example_options {
	const char *name;    /* of the program */
	const char *summary; /* for --help */
	double seconds;      /* how long to run */
	double begin;        /* when to start measuring, CLOCK_MONOTONIC; 0: when ready */
	int batch;           /* images, sequences, ... at a time */
	int rate;            /* requests a second, for a server */
	int size;            /* matrix size */
	int priority;        /* of the streams: -1 high, 0, 1 low */
	int device;
	enum example_load load;
	bool poisson;        /* requests arrive at random instead of evenly */
	bool cut;            /* a server ends without serving what is left */
	int seed;            /* of those; 0: a program without the last three */
	const char *samples; /* file for every single time, or NULL */
};

struct example {
	const struct example_options *options;
	hipModule_t module;
	hipFunction_t kernels[EXAMPLE_KERNELS];
	int resident[EXAMPLE_KERNELS]; /* workgroups that the whole GPU holds at once */
	int compute_units;
	float *a, *b, *c; /* on the GPU, `floats` each */
	size_t floats;
};

/* Reads the command line into options; exits after --help or a mistake. */
void example_parse(struct example_options *options, int argc, char **argv);
/* Device, kernels and buffers; says what went wrong and exits if there is no GPU. */
void example_init(struct example *example, const struct example_options *options, size_t floats);
void example_free(struct example *example);
/* Waits until options->begin, so that several programs measure the same time, and returns the time.
 * A program that is not ready then says so. */
double example_begin(const struct example *example);

hipStream_t example_stream(const struct example *example);
/* One launch over `rows` rows of `columns` floats, with `depth` of inner work. */
void example_launch(struct example *example, enum example_kernel kernel, int rows, int columns,
		    int depth, hipStream_t stream);

#define EXAMPLE_CHECK(call) example_check((call), #call)
void example_check(hipError_t error, const char *what);

/* CLOCK_MONOTONIC in seconds. */
double example_now(void);
void example_sleep_until(double when);

/* Latencies; prints count, mean and percentiles in milliseconds. */
struct example_latency {
	double *items;
	size_t count, capacity;
};

void example_latency_add(struct example_latency *latency, double seconds);
void example_latency_print(struct example_latency *latency, const char *what);
void example_latency_free(struct example_latency *latency);

#endif
