// SPDX-License-Identifier: MIT
/*
 * Every collective of RCCL over all GPUs, from one process: each must return. What it computed is
 * not looked at.
 *
 * usage: collectives
 */
#include <stdio.h>
#include <stdlib.h>

#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <rccl/rccl.h>

#define GPUS  8
#define COUNT 4096 /* floats that each rank sends to each other */

#define CHECK(call)                                                       \
	do {                                                              \
		int error_ = (int)(call);                                 \
		if (error_) {                                             \
			fprintf(stderr, "%s: error %d\n", #call, error_); \
			exit(1);                                          \
		}                                                         \
	} while (0)

struct rank {
	ncclComm_t comm;
	hipStream_t stream;
	float *in, *out;
};

static int count;

static void all_reduce(struct rank *r)
{
	CHECK(ncclAllReduce(r->in, r->out, COUNT, ncclFloat, ncclSum, r->comm, r->stream));
}

static void reduce(struct rank *r)
{
	CHECK(ncclReduce(r->in, r->out, COUNT, ncclFloat, ncclMax, 0, r->comm, r->stream));
}

static void broadcast(struct rank *r)
{
	CHECK(ncclBroadcast(r->in, r->out, COUNT, ncclFloat, 0, r->comm, r->stream));
}

static void all_gather(struct rank *r)
{
	CHECK(ncclAllGather(r->in, r->out, COUNT, ncclFloat, r->comm, r->stream));
}

static void reduce_scatter(struct rank *r)
{
	CHECK(ncclReduceScatter(r->in, r->out, COUNT, ncclFloat, ncclSum, r->comm, r->stream));
}

static void gather(struct rank *r)
{
	CHECK(ncclGather(r->in, r->out, COUNT, ncclFloat, 0, r->comm, r->stream));
}

static void scatter(struct rank *r)
{
	CHECK(ncclScatter(r->in, r->out, COUNT, ncclFloat, 0, r->comm, r->stream));
}

static void all_to_all(struct rank *r)
{
	CHECK(ncclAllToAll(r->in, r->out, COUNT, ncclFloat, r->comm, r->stream));
}

static void send_receive(struct rank *r)
{
	int me;

	CHECK(ncclCommUserRank(r->comm, &me));
	CHECK(ncclSend(r->in, COUNT, ncclFloat, (me + 1) % count, r->comm, r->stream));
	CHECK(ncclRecv(r->out, COUNT, ncclFloat, (me + count - 1) % count, r->comm, r->stream));
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(struct rank *rank);
	} collectives[] = {
		{"AllReduce", all_reduce},  {"Reduce", reduce},
		{"Broadcast", broadcast},   {"AllGather", all_gather},
		{"Gather", gather},         {"ReduceScatter", reduce_scatter},
		{"Scatter", scatter},       {"AllToAll", all_to_all},
		{"SendRecv", send_receive},
	};
	struct rank ranks[GPUS];
	ncclComm_t comms[GPUS];

	CHECK(hipGetDeviceCount(&count));
	if (count > GPUS)
		count = GPUS;
	CHECK(ncclCommInitAll(comms, count, NULL));
	for (int i = 0; i < count; i++) {
		ranks[i].comm = comms[i];
		CHECK(hipSetDevice(i));
		CHECK(hipStreamCreate(&ranks[i].stream));
		CHECK(hipMalloc((void **)&ranks[i].in, GPUS * COUNT * sizeof(float)));
		CHECK(hipMalloc((void **)&ranks[i].out, GPUS * COUNT * sizeof(float)));
	}
	for (size_t c = 0; c < sizeof(collectives) / sizeof(collectives[0]); c++) {
		CHECK(ncclGroupStart());
		for (int i = 0; i < count; i++)
			collectives[c].run(&ranks[i]);
		CHECK(ncclGroupEnd());
		for (int i = 0; i < count; i++)
			CHECK(hipStreamSynchronize(ranks[i].stream));
		printf("returned %s\n", collectives[c].name);
		fflush(stdout);
	}
	for (int i = 0; i < count; i++)
		CHECK(ncclCommDestroy(comms[i]));
	return 0;
}
