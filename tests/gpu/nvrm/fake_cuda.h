/* SPDX-License-Identifier: MIT */
/*
 * A libcuda for tests and for bench/h200 --fake: a context makes its objects in the fake resource
 * manager (GPREEMPT_FAKE_NVIDIA), and a thread per context does what its kernels would, while its
 * channels are not stopped. Its times mean nothing.
 *
 *   fake_cuda.c          CUDA's functions, and the agent's view: contexts without a manager
 *   fake_cuda_kernels.c  what the kernels of the self-test, the benchmark and the agent do
 */
#ifndef GP_FAKE_CUDA_H
#define GP_FAKE_CUDA_H

#include <pthread.h>

#include "fake.h"

#define FAKE_RING    64
#define FAKE_STREAMS 16
#define FAKE_KERNELS 6

struct context;

struct launch {
	const struct kernel *kernel;
	u32 blocks, threads;
	u64 a[5]; /* parameters */
};

struct kernel {
	const char *name;
	const char *sizes; /* of the parameters, a digit each */
	void (*run)(struct context *context, const struct launch *launch);
	bool at_once; /* done by the launch, not by the context's thread */
};
extern const struct kernel fake_kernels[FAKE_KERNELS];

struct handle {
	struct context *context;
	u32 index; /* kernel, or number of the stream: the first is for kernels */
};

struct context {
	struct fake_object *channel, *copier, *group; /* one of each kind stands for all */
	pthread_mutex_t lock;
	pthread_cond_t change;
	struct launch ring[FAKE_RING];
	u64 put, got;
	u64 credit; /* us of timeslices that were not used yet */
	struct handle functions[FAKE_KERNELS], streams[FAKE_STREAMS];
	u32 stream_count;
	/* For tests of the agent. */
	const u32 *flag;
	u32 until;
	int loads, launches;
	int other_launches; /* of the kernel that does nothing */
	int last_thread;    /* that launched for the agent */
	int generation;     /* how often it ended */
};

/* FAKE_CUDA_FAULT spoils it: `stop` goes on while stopped, `register` loses a step, `twice` runs a
 * kernel twice, `slice` ignores timeslices. */
bool fake_cuda_has_fault(const char *name);
void fake_cuda_wait(const struct fake_object *channel);

#endif
