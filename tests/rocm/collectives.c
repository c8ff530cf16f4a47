// SPDX-License-Identifier: MIT
/*
 * Every collective of RCCL over all GPUs, from one process: each must return and, if "data" is
 * given, leave the right numbers on every GPU and nothing beside them.
 *
 * usage: collectives [data]
 */
#include <stdbool.h>
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

#define NOTHING (-1.0f) /* what was there before */

static int count;

/* ---- the numbers ---- */

/* Whole and small, so that sums are exact in any order. */
static float given(int rank, int i)
{
	return (float)(100 * rank + i % 97);
}

static float sum(int i)
{
	float total = 0;

	for (int rank = 0; rank < count; rank++)
		total += given(rank, i);
	return total;
}

static float want_sum(int me, int i)
{
	(void)me;
	return i < COUNT ? sum(i) : NOTHING;
}

static float want_most(int me, int i)
{
	return me == 0 && i < COUNT ? given(count - 1, i) : NOTHING;
}

static float want_first(int me, int i)
{
	(void)me;
	return i < COUNT ? given(0, i) : NOTHING;
}

static float want_all(int me, int i)
{
	(void)me;
	return i < count * COUNT ? given(i / COUNT, i % COUNT) : NOTHING;
}

static float want_all_at_first(int me, int i)
{
	return me == 0 ? want_all(me, i) : NOTHING;
}

static float want_part_of_sum(int me, int i)
{
	return i < COUNT ? sum(me * COUNT + i) : NOTHING;
}

static float want_part_of_first(int me, int i)
{
	return i < COUNT ? given(0, me * COUNT + i) : NOTHING;
}

static float want_part_of_all(int me, int i)
{
	return i < count * COUNT ? given(i / COUNT, me * COUNT + i % COUNT) : NOTHING;
}

static float want_neighbour(int me, int i)
{
	return i < COUNT ? given((me + count - 1) % count, i) : NOTHING;
}

/* ---- the collectives ---- */

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

static void fill(struct rank *rank, int me, float *host)
{
	for (int i = 0; i < GPUS * COUNT; i++)
		host[i] = given(me, i);
	CHECK(hipMemcpy(rank->in, host, GPUS * COUNT * sizeof(float), hipMemcpyHostToDevice));
	for (int i = 0; i < GPUS * COUNT; i++)
		host[i] = NOTHING;
	CHECK(hipMemcpy(rank->out, host, GPUS * COUNT * sizeof(float), hipMemcpyHostToDevice));
}

static bool is_right(const char *name, float (*want)(int me, int i), const struct rank *rank,
		     int me, float *host)
{
	CHECK(hipMemcpy(host, rank->out, GPUS * COUNT * sizeof(float), hipMemcpyDeviceToHost));
	for (int i = 0; i < GPUS * COUNT; i++) {
		if (host[i] == want(me, i))
			continue;
		printf("wrong %s: GPU %d, number %d is %g, not %g\n", name, me, i, (double)host[i],
		       (double)want(me, i));
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct rank *rank);
		float (*want)(int me, int i); /* number i of this GPU */
	} collectives[] = {
		{"AllReduce", all_reduce, want_sum},
		{"Reduce", reduce, want_most},
		{"Broadcast", broadcast, want_first},
		{"AllGather", all_gather, want_all},
		{"Gather", gather, want_all_at_first},
		{"ReduceScatter", reduce_scatter, want_part_of_sum},
		{"Scatter", scatter, want_part_of_first},
		{"AllToAll", all_to_all, want_part_of_all},
		{"SendRecv", send_receive, want_neighbour},
	};
	static float host[GPUS * COUNT];
	struct rank ranks[GPUS];
	ncclComm_t comms[GPUS];
	bool data = argc > 1;

	(void)argv;
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
		bool right = data;

		for (int i = 0; i < count; i++)
			fill(&ranks[i], i, host);
		CHECK(ncclGroupStart());
		for (int i = 0; i < count; i++)
			collectives[c].run(&ranks[i]);
		CHECK(ncclGroupEnd());
		for (int i = 0; i < count; i++)
			CHECK(hipStreamSynchronize(ranks[i].stream));
		printf("returned %s\n", collectives[c].name);
		for (int i = 0; i < count && right; i++)
			right = is_right(collectives[c].name, collectives[c].want, &ranks[i], i,
					 host);
		if (right)
			printf("right %s\n", collectives[c].name);
		fflush(stdout);
	}
	for (int i = 0; i < count; i++)
		CHECK(ncclCommDestroy(comms[i]));
	return 0;
}
