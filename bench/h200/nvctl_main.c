// SPDX-License-Identifier: MIT
/*
 * nvctl: controls processes as its standard input says, a line each, and answers with a line of
 * JSON. attach PID | detach PID | suspend PID | resume PID | share PID N | slice PID US describe
 * PID | release PID | cpu Leases are kept while it runs; when it ends, or is killed, everything
 * runs again.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "nvctl.h"
#include "page.h"

#define TARGETS 64
#define PUMP_MS 30 /* three times a lease */

static struct target {
	uint32_t pid;
	struct nvctl *control;
} targets[TARGETS];

static struct target *find(uint32_t pid)
{
	for (int i = 0; i < TARGETS; i++) {
		if (targets[i].pid == pid)
			return &targets[i];
	}
	return NULL;
}

static void answer(int error, const struct nvctl_took *took)
{
	printf("{\"error\":%d,\"total_ns\":%llu,\"driver_ns\":%llu,\"queues\":%u}\n", error,
	       (unsigned long long)took->total_ns, (unsigned long long)took->driver_ns,
	       took->queues);
}

static void attach(uint32_t pid)
{
	struct target *t = find(0);
	uint64_t begin = now_ns();
	int error = t ? nvctl_open(pid, &t->control) : -ENOSPC;

	if (!error)
		t->pid = pid;
	printf("{\"error\":%d,\"total_ns\":%llu,\"calls\":%llu}\n", error,
	       (unsigned long long)(now_ns() - begin),
	       (unsigned long long)(error ? 0 : nvctl_calls(t->control)));
}

static void describe(struct target *t)
{
	char text[512];

	printf("{\"error\":0,\"groups\":[");
	for (uint32_t i = 0; nvctl_describe(t->control, i, text, sizeof(text)) == 0; i++)
		printf("%s%s", i ? "," : "", text);
	printf("]}\n");
}

static void cpu(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	printf("{\"error\":0,\"cpu_us\":%lld}\n",
	       (long long)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000 +
		       use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static void obey(const char *line)
{
	struct nvctl_took took = {0};
	char word[32] = "";
	uint32_t pid = 0;
	uint64_t number = 0, begin = now_ns();
	struct target *t;
	int error;

	sscanf(line, "%31s %u %lu", word, &pid, &number);
	t = pid ? find(pid) : NULL;
	if (strcmp(word, "cpu") == 0) {
		cpu();
	} else if (strcmp(word, "attach") == 0) {
		attach(pid);
	} else if (strcmp(word, "release") == 0) {
		answer(nvctl_release(pid), &took);
	} else if (!t) {
		answer(-ESRCH, &took);
	} else if (strcmp(word, "describe") == 0) {
		describe(t);
	} else if (strcmp(word, "detach") == 0) {
		nvctl_close(t->control);
		*t = (struct target){0};
		answer(0, &took);
	} else {
		error = strcmp(word, "suspend") == 0  ? nvctl_suspend(t->control, &took)
			: strcmp(word, "resume") == 0 ? nvctl_resume(t->control, &took)
			: strcmp(word, "share") == 0  ? nvctl_share(t->control, (uint32_t)number)
			: strcmp(word, "slice") == 0
				? nvctl_share(t->control, nvctl_share_for(number))
				: -EINVAL;
		took.total_ns = now_ns() - begin;
		answer(error, &took);
	}
}

static void pump_all(void)
{
	for (int i = 0; i < TARGETS; i++) {
		if (targets[i].pid)
			nvctl_pump(targets[i].control);
	}
}

int main(void)
{
	struct pollfd fd = {.fd = 0, .events = POLLIN};
	uint64_t pumped = 0;
	char line[256];

	setvbuf(stdin, NULL, _IONBF, 0); /* poll() sees what is not read */
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (;;) {
		int ready = poll(&fd, 1, PUMP_MS);

		if (now_ns() - pumped >= PUMP_MS * 1000000ull) {
			pump_all();
			pumped = now_ns();
		}
		if (ready == 0)
			continue;
		if (!fgets(line, sizeof(line), stdin))
			break;
		obey(line);
	}
	for (int i = 0; i < TARGETS; i++)
		nvctl_close(targets[i].control);
	return 0;
}
