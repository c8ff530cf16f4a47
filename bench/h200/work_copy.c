// SPDX-License-Identifier: MIT
/*
 * nvwork copy: kernels back to back and, at the same time, copies to the GPU and back from another
 * thread, so that what is stopped of the two can be told apart. Each pattern goes there and back
 * many times before it is compared; the last line says how many round trips and how many were
 * wrong.
 */
#include <pthread.h>
#include <string.h>

#include "work.h"

#define BYTES (16u << 20) /* far above what a copy without its engine would take */
#define TRIPS 16          /* with one pattern */

struct copier {
	struct work *w;
	uint64_t trips, wrong;
};

static void fill(uint64_t *words, uint64_t seed)
{
	for (size_t i = 0; i < BYTES / 8; i++)
		words[i] = (seed + i) * 0x9e3779b97f4a7c15ull;
}

static void *copy(void *data)
{
	struct copier *copier = data;
	struct work *w = copier->w;
	CUdeviceptr device;
	CUstream stream;
	void *out, *back;

	CHECK(w, w->cu.CtxSetCurrent(w->context));
	CHECK(w, w->cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(w, w->cu.MemAlloc(&device, BYTES));
	CHECK(w, w->cu.MemHostAlloc(&out, BYTES, 0));
	CHECK(w, w->cu.MemHostAlloc(&back, BYTES, 0));
	for (uint64_t seed = 1; !w->page->stop; seed++) {
		fill(out, seed);
		memset(back, 0xff, BYTES);
		for (int i = 0; i < TRIPS && !w->page->stop; i++) {
			CHECK(w, w->cu.MemcpyHtoDAsync(device, out, BYTES, stream));
			CHECK(w, w->cu.MemcpyDtoHAsync(back, device, BYTES, stream));
			CHECK(w, w->cu.StreamSynchronize(stream));
			w->page->copies = ++copier->trips;
		}
		copier->wrong += copier->trips && memcmp(out, back, BYTES) != 0 && !w->page->stop;
	}
	return NULL;
}

int run_copy(struct work *w, double us)
{
	struct copier copier = {.w = w};
	pthread_t thread;
	uint64_t ran;

	if (pthread_create(&thread, NULL, copy, &copier))
		return 3;
	run_kernels(w, us);
	pthread_join(thread, NULL);
	ran = launches_ran(w);
	printf("{\"mode\":\"copy\",\"us\":%.1f,\"launched\":%llu,\"ran\":%llu,\"trips\":%llu,"
	       "\"bytes\":%u,\"patterns_wrong\":%llu,\"wrong\":%d}\n",
	       us, (unsigned long long)w->launched, (unsigned long long)ran,
	       (unsigned long long)copier.trips, BYTES, (unsigned long long)copier.wrong,
	       ran != w->launched || copier.wrong);
	return ran != w->launched || copier.wrong;
}
