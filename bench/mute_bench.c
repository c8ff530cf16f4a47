// SPDX-License-Identifier: MIT
/*
 * Programs that do not answer: `gpreempt vgpu -- gpreempt run -- mute_bench CYCLES` opens one
 * healthy program and 64 others in one connection, as gpreemptd has it, stops (SIGSTOP) 0, 1, 8 or
 * 64 of the others, asks the holder to suspend those, and measures what suspending and resuming the
 * healthy one takes meanwhile. The model's own time is the driver's share and is subtracted. The
 * cases take turns, so that their ratios do not depend on what else the machine does.
 */
#include "../tests/holder/live/live.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/core.h"

#define MUTE_MAX 64
#define ROUNDS   8
#define SECONDS  120

static const u32 cases[] = {0, 1, 8, MUTE_MAX};

struct bench {
	struct live live;
	struct client *client;
	struct actor healthy, mute[MUTE_MAX];
	s64 target, mute_target[MUTE_MAX];
	u32 answered; /* by those that were mute */
	u64 *times[GP_ARRAY_SIZE(cases)];
	u32 count[GP_ARRAY_SIZE(cases)];
};

static u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

u64 deadline(void)
{
	return now_ns() + SECONDS * 1000000000ull;
}

bool past(u64 when)
{
	return now_ns() > when;
}

_Noreturn void fail(const char *file, int line, const char *what, s64 got, s64 expected)
{
	fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", file, line, what, (long long)got,
		(long long)expected);
	_exit(1);
}

static int by_size(const void *a, const void *b)
{
	u64 left = *(const u64 *)a, right = *(const u64 *)b;

	return left < right ? -1 : left > right;
}

static void send_act(struct bench *bench, u16 type, s64 target)
{
	struct gp_proto_msg_suspend body = {.target = (u32)target,
					    .lease_ms = LONG_LEASE,
					    .limit_ms = LONG_LEASE,
					    .timeout_ms = LONG_LEASE,
					    .sent_ns = now_ns()};

	begin(bench->client, type, &body, sizeof(body));
}

/* The answer to the last request; answers of others that come before it are counted. */
static void await_last(struct bench *bench)
{
	struct client *client = bench->client;

	for (;;) {
		EXPECT(gp_wire_receive(client->fd, &client->message, SECONDS * 1000), 0);
		if (client->message.header.serial == client->serial)
			return;
		bench->answered += client->message.header.serial != 0;
	}
}

static void measure(struct bench *bench, size_t which, u32 cycles)
{
	for (u32 i = 0; i < 2 * cycles; i++) {
		const struct gp_proto_msg_done *done = (const void *)bench->client->message.body;
		u64 before = now_ns(), took;

		send_act(bench, i % 2 ? GP_MSG_RESUME : GP_MSG_SUSPEND, bench->target);
		await_last(bench);
		took = now_ns() - before;
		EXPECT(bench->client->message.header.status, 1);
		bench->times[which][bench->count[which]++] = took - GP_MIN(took, done->driver_ns);
	}
}

static void one_case(struct bench *bench, size_t which, u32 cycles)
{
	u32 mute = cases[which];

	for (u32 i = 0; i < mute; i++)
		kill(bench->mute[i].pid, SIGSTOP);
	bench->answered = 0;
	for (u32 i = 0; i < mute; i++)
		send_act(bench, GP_MSG_SUSPEND, bench->mute_target[i]);
	measure(bench, which, cycles);
	for (u32 i = 0; i < mute; i++)
		kill(bench->mute[i].pid, SIGCONT);
	while (bench->answered < mute) {
		EXPECT(gp_wire_receive(bench->client->fd, &bench->client->message, SECONDS * 1000),
		       0);
		bench->answered += bench->client->message.header.serial != 0;
	}
	for (u32 i = 0; i < mute; i++) {
		send_act(bench, GP_MSG_RESUME, bench->mute_target[i]);
		await_last(bench);
	}
}

int main(int argc, char **argv)
{
	static struct bench bench = {
		.live = {.self = {.kfd = -1, .render = -1, .status_fd = -1, .pipe = {-1, -1}}}};
	u32 cycles = GP_MAX((argc > 1 ? (u32)atoi(argv[1]) : 2000) / ROUNDS, 1u);
	char directory[] = "/tmp/gpbench-XXXXXX";

	CHECK(mkdtemp(directory));
	setenv("GPREEMPT_DIR", directory, 1);
	bench.healthy = start_target(1, 1);
	for (u32 i = 0; i < MUTE_MAX; i++)
		bench.mute[i] = start_target(1, 1);
	start_holder(&bench.live, NULL, NULL);
	bench.client = connect_client(&bench.live);
	bench.target = open_pid(bench.client, bench.healthy.pid, 0);
	CHECK(bench.target > 0);
	for (u32 i = 0; i < MUTE_MAX; i++)
		CHECK((bench.mute_target[i] = open_pid(bench.client, bench.mute[i].pid, 0)) > 0);
	for (size_t i = 0; i < GP_ARRAY_SIZE(cases); i++)
		CHECK((bench.times[i] = calloc(2ul * cycles * ROUNDS, sizeof(u64))));
	for (u32 round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < GP_ARRAY_SIZE(cases); i++)
			one_case(&bench, i, cycles);
	for (size_t i = 0; i < GP_ARRAY_SIZE(cases); i++) {
		qsort(bench.times[i], bench.count[i], sizeof(u64), by_size);
		printf("%2u mute programs   p50 %8.1f us   p99 %8.1f us\n", cases[i],
		       (double)bench.times[i][bench.count[i] / 2] / 1000,
		       (double)bench.times[i][(u64)bench.count[i] * 99 / 100] / 1000);
	}
	close_client(bench.client);
	kill(bench.live.holder, SIGTERM);
	waitpid(bench.live.holder, NULL, 0);
	for (u32 i = 0; i <= MUTE_MAX; i++) {
		pid_t pid = i < MUTE_MAX ? bench.mute[i].pid : bench.healthy.pid;

		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	CHECK(!place_remove(directory));
	return 0;
}
