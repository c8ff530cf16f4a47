// SPDX-License-Identifier: MIT
/*
 * nvwork: GPU work that can be watched and checked.
 *   endless PAGE            one kernel that fills the GPU until the page says stop
 *   short PAGE US           kernels of about US microseconds, back to back, until then
 *   copy PAGE US            the same, and at the same time copies to the GPU and back
 *   serve                   blocks of work as standard input says (online, offline, launch)
 * The last line of output is a JSON object; "wrong" is what the check found, and must be 0.
 */
#include "work.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "kernels.h"

#define QUEUE 16 /* launches under way */

void check(struct work *w, CUresult result, const char *what)
{
	const char *text = "?";

	if (!result)
		return;
	if (w->cu.GetErrorString)
		w->cu.GetErrorString(result, &text);
	fprintf(stderr, "nvwork: %s: %d %s\n", what, result, text);
	exit(3);
}

static void load(struct work *w)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "nvwork: %s\n", dlerror());
		exit(2);
	}
#define X(name, symbol, arguments)                                      \
	*(void **)&w->cu.name = dlsym(library, symbol);                 \
	if (!w->cu.name) {                                              \
		fprintf(stderr, "nvwork: libcuda has no %s\n", symbol); \
		exit(2);                                                \
	}
	CU_FUNCTIONS(X)
#undef X
}

static void load_kernels(struct work *w)
{
	static char log[8192];
	int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
	CUmodule module;
	CUresult result = w->cu.ModuleLoadDataEx(&module, kernels_ptx, 2, options, values);

	if (result)
		fprintf(stderr, "nvwork: the kernels: %s\n", log);
	CHECK(w, result);
	CHECK(w, w->cu.ModuleGetFunction(&w->tick, module, "tick"));
	CHECK(w, w->cu.ModuleGetFunction(&w->endless, module, "endless"));
}

/* The page cannot be mapped everywhere: then a thread copies. */
static void *relay(void *data)
{
	struct work *w = data;

	for (;;) {
		w->page->progress = w->mapped->progress;
		w->mapped->stop = w->page->stop;
	}
	return NULL;
}

static void map_page(struct work *w)
{
	void *host = w->page;
	pthread_t thread;

	if (w->cu.MemHostRegister(host, 4096, CU_MEMHOSTREGISTER_DEVICEMAP)) {
		CHECK(w, w->cu.MemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
		memset(host, 0, 4096);
		w->mapped = host;
		pthread_create(&thread, NULL, relay, w);
		fprintf(stderr, "nvwork: the page is relayed\n");
	}
	CHECK(w, w->cu.MemHostGetDevicePointer(&w->page_device, host, 0));
}

static void start(struct work *w, const char *page)
{
	CUdevice device;

	load(w);
	CHECK(w, w->cu.Init(0));
	CHECK(w, w->cu.DeviceGet(&device, 0));
	CHECK(w, w->cu.PrimaryCtxRetain(&w->context, device));
	CHECK(w, w->cu.CtxSetCurrent(w->context));
	CHECK(w,
	      w->cu.DeviceGetAttribute(&w->sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
	load_kernels(w);
	CHECK(w, w->cu.StreamCreate(&w->stream, CU_STREAM_NON_BLOCKING));
	CHECK(w, w->cu.MemAlloc(&w->ran, 4096));
	CHECK(w, w->cu.MemsetD8(w->ran, 0, 4096));
	w->page = page_map(page, 1);
	if (!w->page) {
		perror(page);
		exit(2);
	}
	map_page(w);
}

void launch_tick(struct work *w, uint64_t chunks, unsigned blocks)
{
	CUdeviceptr sink = w->ran + 64;
	void *parameters[] = {&w->page_device, &w->progress, &w->ran, &chunks, &sink};

	CHECK(w,
	      w->cu.LaunchKernel(w->tick, blocks, 1, 1, 128, 1, 1, 0, w->stream, parameters, NULL));
	w->progress += chunks;
	w->launched++;
}

/* Chunks that take a microsecond, by trying. */
double chunks_per_us(struct work *w)
{
	uint64_t begin, chunks = 20000;

	for (int i = 0; i < 3; i++) {
		begin = now_ns();
		launch_tick(w, chunks, (unsigned)w->sms);
		CHECK(w, w->cu.StreamSynchronize(w->stream));
	}
	return (double)chunks / ((double)(now_ns() - begin) / 1e3);
}

uint64_t launches_ran(struct work *w)
{
	uint64_t ran = 0;

	CHECK(w, w->cu.CtxSynchronize());
	CHECK(w, w->cu.MemcpyDtoH(&ran, w->ran, sizeof(ran)));
	return ran;
}

/* ---- short ---- */

void run_kernels(struct work *w, double us)
{
	uint64_t chunks = (uint64_t)(us * chunks_per_us(w));
	CUevent events[QUEUE];

	chunks = chunks ? chunks : 1;
	for (int i = 0; i < QUEUE; i++)
		CHECK(w, w->cu.EventCreate(&events[i], CU_EVENT_DISABLE_TIMING));
	w->page->ready = 1;
	for (uint64_t i = 0; !w->page->stop; i++) {
		if (i >= QUEUE)
			CHECK(w, w->cu.EventSynchronize(events[i % QUEUE]));
		launch_tick(w, chunks, (unsigned)w->sms);
		CHECK(w, w->cu.EventRecord(events[i % QUEUE], w->stream));
	}
}

static int run_short(struct work *w, double us)
{
	uint64_t ran;

	run_kernels(w, us);
	ran = launches_ran(w);
	printf("{\"mode\":\"short\",\"us\":%.1f,\"launched\":%llu,\"ran\":%llu,\"progress\":%llu,"
	       "\"expected\":%llu,\"wrong\":%d}\n",
	       us, (unsigned long long)w->launched, (unsigned long long)ran,
	       (unsigned long long)w->page->progress, (unsigned long long)w->progress,
	       ran != w->launched || w->page->progress != w->progress);
	return ran != w->launched;
}

/* ---- endless ---- */

static uint32_t after(uint32_t x, uint64_t steps)
{
	uint32_t a = LCG_A, c = LCG_C, ra = 1, rc = 0;

	for (; steps; steps >>= 1) {
		if (steps & 1) {
			rc = a * rc + c;
			ra *= a;
		}
		c *= a + 1;
		a *= a;
	}
	return ra * x + rc;
}

static int run_endless(struct work *w)
{
	const unsigned threads = 256, words = 32 * 256; /* 32 KiB of shared memory a block */
	unsigned blocks = (unsigned)w->sms * 4;
	size_t count = (size_t)blocks * threads, wrong = 0;
	uint32_t *x = calloc(count, 4), bad = 0;
	uint64_t *n = calloc(count, 8);
	CUdeviceptr dx, dn, dstop = w->ran + 128, dbad = w->ran + 256;
	void *parameters[] = {&w->page_device, &dstop, &dx, &dn, &dbad, (void *)&words};

	CHECK(w, w->cu.MemAlloc(&dx, count * 4));
	CHECK(w, w->cu.MemAlloc(&dn, count * 8));
	CHECK(w, w->cu.FuncSetAttribute(w->endless, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
					words * 4));
	CHECK(w, w->cu.LaunchKernel(w->endless, blocks, 1, 1, threads, 1, 1, words * 4, w->stream,
				    parameters, NULL));
	w->page->ready = 1;
	CHECK(w, w->cu.CtxSynchronize());
	CHECK(w, w->cu.MemcpyDtoH(x, dx, count * 4));
	CHECK(w, w->cu.MemcpyDtoH(n, dn, count * 8));
	CHECK(w, w->cu.MemcpyDtoH(&bad, dbad, 4));
	for (size_t i = 0; i < count; i++)
		wrong += after((uint32_t)i * 747796405u + 12345u, n[i]) != x[i];
	printf("{\"mode\":\"endless\",\"threads\":%zu,\"registers_wrong\":%zu,\"shared_wrong\":%u,"
	       "\"wrong\":%d}\n",
	       count, wrong, bad, wrong || bad);
	free(x);
	free(n);
	return wrong || bad;
}

int main(int argc, char **argv)
{
	struct work w = {0};
	char page[64], path[80];
	int result;

	if (argc < 2 || (argc < 3 && strcmp(argv[1], "serve"))) {
		fprintf(stderr,
			"usage: nvwork endless PAGE | short PAGE US | copy PAGE US | serve\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* an endless kernel must not outlive its experiment */
	snprintf(page, sizeof(page), "nvwork.%d", getpid());
	if (argc > 2)
		snprintf(page, sizeof(page), "%s", argv[2]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	start(&w, page);
	if (strcmp(argv[1], "serve") == 0)
		result = serve(&w);
	else if (strcmp(argv[1], "copy") == 0)
		result = run_copy(&w, argc > 3 ? atof(argv[3]) : 100);
	else if (strcmp(argv[1], "short") == 0)
		result = run_short(&w, argc > 3 ? atof(argv[3]) : 100);
	else
		result = run_endless(&w);
	snprintf(path, sizeof(path), "/dev/shm/%s", page);
	unlink(path);
	return result;
}
