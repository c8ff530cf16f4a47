// SPDX-License-Identifier: MIT
/*
 * A process for the tools to look at, made of the conformance test's parts: two queues, a kernel
 * without an end on the first.
 *
 * usage: worker [high]     until it is killed; says "ready" when it works; high: its second queue
 *                          has a high priority
 *        worker idle       the same, but its first kernel ends; SIGUSR1: another without an end
 *        worker look PID   what the machine says of that process's queues
 */
#include "conformance.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#define HIGH_PRIORITY 11 /* of HIP's high streams */

_Noreturn void fail(const char *file, int line, const char *what, s64 got, s64 expected)
{
	fprintf(stderr, "%s:%d: %s: %lld, not %lld\n", file, line, what, (long long)got,
		(long long)expected);
	exit(1);
}

_Noreturn void skip(const char *why)
{
	puts(why);
	exit(77);
}

u64 deadline(void)
{
	return (u64)time(NULL) + 60;
}

bool past(u64 deadline)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return (u64)time(NULL) > deadline;
}

static void show(struct self *me, pid_t pid)
{
	settle(me);
	for (u32 id = 0; id < MAX_QUEUES; id++) {
		struct queue_view queue = look(me, pid, id);

		if (queue.exists)
			printf("queue %u %s%s%s\n", id, queue.mapped ? "mapped" : "off",
			       queue.suspended ? " suspended" : "",
			       queue.launched > queue.completed ? " busy" : "");
	}
}

int main(int argc, char **argv)
{
	struct self me = {.kfd = -1, .render = -1, .status_fd = -1, .pipe = {-1, -1}};

	if (argc == 3) {
		show(&me, (pid_t)atoi(argv[2]));
		return 0;
	}
	open_gpu(&me);
	if (can_debug(&me))
		EXPECT(enable_runtime(&me, 1), 0);
	must_create(&me, COMPUTE);
	must_create(&me, COMPUTE);
	/* As a runtime does for a stream of high priority. */
	if (argc == 2 && strcmp(argv[1], "high") == 0)
		EXPECT(update_queue(&me, 1, 100, HIGH_PRIORITY), 0);
	bool idle = argc == 2 && strcmp(argv[1], "idle") == 0;
	sigset_t asked;

	sigemptyset(&asked);
	sigaddset(&asked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &asked, NULL);
	submit_kernel(&me, 0, idle ? LONG : ENDLESS, 1);
	UNTIL(&me, look(&me, getpid(), 0).cu_ns > 0);
	if (idle)
		UNTIL(&me, look(&me, getpid(), 0).completed == 1);
	puts("ready");
	fflush(stdout);
	if (idle) {
		sigwait(&asked, &(int){0});
		submit_kernel(&me, 0, ENDLESS, 1);
	}
	for (;;)
		pause();
}
