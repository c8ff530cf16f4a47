// SPDX-License-Identifier: MIT
/*
 * nvcontexts: two contexts in one process under `gpreempt run --ahead TIME`, with requests that go
 * to one and the other in turn, then from a thread for each at once. What an announcement takes,
 * how long a context waits for one that nobody ends, and how much memory the GPU has less in the
 * end. Then contexts that come and go, more than the agent keeps: each must still be kept waiting.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "page.h"

#define TURNS   400
#define THREADS 2000 /* requests of each thread */
#define CHURN   72   /* contexts, one after the other */
#define KEPT_US 400  /* --ahead is more than that */

typedef void *handle;
static struct {
	int (*init)(unsigned);
	int (*device)(int *, int);
	int (*create)(handle *, unsigned, int);
	int (*destroy)(handle);
	int (*set)(handle);
	int (*sync)(void);
	int (*memory)(size_t *, size_t *);
	int (*request)(int, uint64_t);
} f;

static int find(void *library, const char *name, void *function)
{
	*(void **)function = dlsym(library, name);
	if (!*(void **)function)
		fprintf(stderr, "nvcontexts: no %s\n", name);
	return !*(void **)function;
}

static int load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "nvcontexts: %s\n", dlerror());
		return 1;
	}
	return find(library, "cuInit", &f.init) || find(library, "cuDeviceGet", &f.device) ||
	       find(library, "cuCtxCreate_v2", &f.create) ||
	       find(library, "cuCtxDestroy_v2", &f.destroy) ||
	       find(library, "cuCtxSetCurrent", &f.set) ||
	       find(library, "cuCtxSynchronize", &f.sync) ||
	       find(library, "cuMemGetInfo_v2", &f.memory) ||
	       find(RTLD_DEFAULT, "gpreempt_agent_request", &f.request);
}

static void *requests(void *context)
{
	f.set(context);
	for (int i = 0; i < THREADS; i++) {
		f.request(1, 0);
		f.request(0, 0);
	}
	return NULL;
}

/* How long the context is busy after an announcement. */
static double busy_us(int end)
{
	uint64_t begin;

	f.sync();
	f.request(1, 0);
	begin = now_ns();
	if (end)
		f.request(0, 0);
	f.sync();
	begin = now_ns() - begin;
	if (!end)
		f.request(0, 0);
	return (double)begin / 1e3;
}

/* Resident memory, KiB: what the agent keeps of contexts that ended. */
static long resident(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file && fscanf(file, "%*d %ld", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * 4;
}

/* How many of the contexts had the GPU kept for them. */
static int churn(int device, long *grown)
{
	int kept = 0;
	long before = 0;

	for (int i = 0; i < CHURN; i++) {
		handle context;

		if (f.create(&context, 0, device))
			return -1;
		kept += busy_us(0) > KEPT_US;
		f.destroy(context);
		if (i == CHURN / 8)
			before = resident();
	}
	*grown = resident() - before;
	return kept;
}

int main(void)
{
	double took[TURNS];
	size_t before, after, all;
	handle contexts[2];
	pthread_t threads[2];
	uint64_t begin;
	int device, kept;
	long grown = 0;

	if (load() || f.init(0) || f.device(&device, 0) || f.create(&contexts[0], 0, device) ||
	    f.create(&contexts[1], 0, device))
		return 1;
	for (int i = 0; i < TURNS; i++) {
		f.set(contexts[i % 2]);
		if (i == 2)
			f.memory(&before, &all);
		begin = now_ns();
		f.request(1, 0);
		took[i] = (double)(now_ns() - begin) / 1e3;
		f.request(0, 0);
	}
	begin = now_ns();
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, requests, contexts[i]))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("{\"threads_ms\":%.1f,\"requests\":%d", (double)(now_ns() - begin) / 1e6,
	       2 * THREADS);
	printf(",\"busy_us\":%.1f,\"busy_ended_us\":%.1f", busy_us(0), busy_us(1));
	f.memory(&after, &all);
	printf(",\"memory_less\":%lld,\"begin_us\":[", (long long)before - (long long)after);
	for (int i = 0; i < TURNS; i++)
		printf("%s%.1f", i ? "," : "", took[i]);
	printf("]");
	f.destroy(contexts[0]);
	f.destroy(contexts[1]);
	kept = churn(device, &grown);
	printf(",\"churn\":%d,\"churn_kept\":%d,\"churn_grown_kib\":%ld}\n", CHURN, kept, grown);
	return 0;
}
