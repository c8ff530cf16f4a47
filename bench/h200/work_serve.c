// SPDX-License-Identifier: MIT
/*
 * Blocks of work for comparisons, one line of standard input each, one line of JSON back:
 *   online SECONDS GAP_MS KERNELS US STOP_PID AHEAD
 * requests at random, each KERNELS launches of US; while one is served STOP_PID is suspended (0:
 * nobody). AHEAD 2: it is announced, and counts from when STOP_PID is suspended
 *   offline SECONDS US
 * launches of US that fill the GPU, back to back
 *   launch SECONDS
 * the cost of an empty launch
 *   begin, end
 * a request is announced to gpreempt's agent, or ended
 */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nvctl.h"
#include "work.h"

#define SAMPLES 400000

static double exponential(uint64_t *seed, double mean)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return -mean * log(((double)(*seed >> 11) + 1) / 9007199254740993.0);
}

static void print_samples(const char *name, const float *samples, size_t count)
{
	printf(",\"%s\":[", name);
	for (size_t i = 0; i < count; i++)
		printf("%s%.1f", i ? "," : "", (double)samples[i]);
	printf("]");
}

static void online(struct work *w, const char *line, double rate)
{
	double seconds = 1, gap_ms = 15, us = 20;
	unsigned kernels = 20, stop_pid = 0, ahead = 0;
	float *samples = calloc(SAMPLES, sizeof(*samples));
	uint64_t seed = 42, begin = now_ns(), end;
	struct nvctl *control = NULL;
	size_t count = 0;
	int failed = 0;

	sscanf(line, "%*s %lf %lf %u %lf %u %u", &seconds, &gap_ms, &kernels, &us, &stop_pid,
	       &ahead);
	if (stop_pid && nvctl_open(stop_pid, &control))
		failed = 1;
	end = begin + (uint64_t)(seconds * 1e9);
	while (now_ns() < end && count < SAMPLES) {
		uint64_t arrived;

		sleep_ns((uint64_t)(exponential(&seed, gap_ms) * 1e6));
		arrived = now_ns();
		if (control)
			failed += nvctl_suspend(control, NULL) != 0;
		if (ahead == 2)
			arrived = now_ns();
		for (unsigned i = 0; i < kernels; i++)
			launch_tick(w, (uint64_t)(us * rate) + 1, (unsigned)w->sms);
		CHECK(w, w->cu.StreamSynchronize(w->stream));
		samples[count++] = (float)((double)(now_ns() - arrived) / 1e3);
		if (control)
			failed += nvctl_resume(control, NULL) != 0;
	}
	printf("{\"role\":\"online\",\"failed\":%d,\"seconds\":%.3f", failed,
	       (double)(now_ns() - begin) / 1e9);
	print_samples("us", samples, count);
	printf("}\n");
	nvctl_close(control);
	free(samples);
}

static void offline(struct work *w, const char *line, double rate)
{
	double seconds = 1, us = 2000;
	uint64_t begin = now_ns(), done = 0, end;

	sscanf(line, "%*s %lf %lf", &seconds, &us);
	end = begin + (uint64_t)(seconds * 1e9);
	while (now_ns() < end) {
		for (int i = 0; i < 4; i++)
			launch_tick(w, (uint64_t)(us * rate) + 1, (unsigned)w->sms * 8);
		CHECK(w, w->cu.StreamSynchronize(w->stream));
		done += 4;
	}
	printf("{\"role\":\"offline\",\"steps\":%llu,\"seconds\":%.6f}\n", (unsigned long long)done,
	       (double)(now_ns() - begin) / 1e9);
}

static void launch(struct work *w, const char *line)
{
	double seconds = 1;
	float *call = calloc(SAMPLES, sizeof(*call)), *whole = calloc(SAMPLES, sizeof(*whole));
	uint64_t end;
	size_t count = 0;

	sscanf(line, "%*s %lf", &seconds);
	end = now_ns() + (uint64_t)(seconds * 1e9);
	while (now_ns() < end && count < SAMPLES) {
		uint64_t begin = now_ns(), launched;

		launch_tick(w, 0, 1);
		launched = now_ns();
		CHECK(w, w->cu.StreamSynchronize(w->stream));
		call[count] = (float)((double)(launched - begin) / 1e3);
		whole[count++] = (float)((double)(now_ns() - begin) / 1e3);
	}
	printf("{\"role\":\"launch\"");
	print_samples("call_us", call, count > 20000 ? 20000 : count);
	print_samples("us", whole, count > 20000 ? 20000 : count);
	printf("}\n");
	free(call);
	free(whole);
}

static void announce(int begin)
{
	int (*request)(int, uint64_t);
	uint64_t at;

	*(void **)&request = dlsym(RTLD_DEFAULT, "gpreempt_agent_request");
	at = now_ns();
	if (request)
		request(begin, 0);
	printf("{\"role\":\"%s\",\"agent\":%d,\"at_ns\":%llu}\n", begin ? "begin" : "end",
	       request != NULL, (unsigned long long)at);
}

int serve(struct work *w)
{
	double rate = chunks_per_us(w);
	char line[256];

	printf("{\"role\":\"ready\",\"pid\":%d,\"sms\":%d,\"chunks_per_us\":%.3f}\n", getpid(),
	       w->sms, rate);
	while (fgets(line, sizeof(line), stdin)) {
		if (strncmp(line, "online", 6) == 0)
			online(w, line, rate);
		else if (strncmp(line, "offline", 7) == 0)
			offline(w, line, rate);
		else if (strncmp(line, "launch", 6) == 0)
			launch(w, line);
		else if (strncmp(line, "begin", 5) == 0 || strncmp(line, "end", 3) == 0)
			announce(line[0] == 'b');
		else
			break;
	}
	printf("{\"role\":\"end\",\"wrong\":%d}\n", launches_ran(w) != w->launched);
	return 0;
}
