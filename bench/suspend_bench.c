// SPDX-License-Identifier: MIT
/*
 * From the call to the driver call: `gpreempt vgpu -- suspend_bench CYCLES` suspends and resumes a
 * process with four queues through a holder of its own and prints where the time goes, and beside
 * it what waking one thread after another costs on this machine with nothing in between. Under
 * `gpreempt run` the mechanism is kfd-agent, otherwise kfd-debug. The model's own time is the
 * driver's share and is subtracted.
 */
#include "../tests/holder/live/live.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/core.h"

#define QUEUES  4
#define WAKES   2 /* client to loop, loop to worker */
#define SECONDS 60

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

static void print(const char *what, u64 *times, u32 count)
{
	qsort(times, count, sizeof(*times), by_size);
	printf("%-28s p50 %8.1f us   p99 %8.1f us\n", what, (double)times[count / 2] / 1000,
	       (double)times[(u64)count * 99 / 100] / 1000);
}

/* ---- the limit: threads that only wake the next ---- */

struct relay {
	int in, out;
};

static void *pass_on(void *data)
{
	struct relay *relay = data;
	u64 word;

	while (recv(relay->in, &word, sizeof(word), 0) == (ssize_t)sizeof(word)) {
		u64 now = now_ns();

		CHECK(send(relay->out, relay->out == relay->in ? &now : &word, sizeof(word), 0) >
		      0);
	}
	return NULL;
}

/* Time until the second of two threads, woken one after the other, runs. */
static void bare_wakes(u64 *times, u32 count)
{
	int first[2], second[2];
	pthread_t threads[WAKES];

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, first));
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, second));
	struct relay relays[WAKES] = {{first[1], second[0]}, {second[1], second[1]}};
	for (int i = 0; i < WAKES; i++)
		CHECK(!pthread_create(&threads[i], NULL, pass_on, &relays[i]));
	for (u32 i = 0; i < count; i++) {
		u64 before = now_ns(), word = before, after;

		CHECK(send(first[0], &word, sizeof(word), 0) > 0);
		/* The second thread answers into second[0], where nobody reads but us. */
		CHECK(recv(second[0], &after, sizeof(after), 0) > 0);
		times[i] = after - before;
	}
	shutdown(first[0], SHUT_RDWR);
	shutdown(second[0], SHUT_RDWR);
	for (int i = 0; i < WAKES; i++)
		pthread_join(threads[i], NULL);
}

/* ---- suspend and resume ---- */

struct figures {
	u64 *issue, *host, *total, *back;
};

static void one(struct client *client, s64 target, u16 type, struct figures *out, u32 index)
{
	struct gp_proto_msg_suspend body = {.target = (u32)target,
					    .lease_ms = LONG_LEASE,
					    .limit_ms = LONG_LEASE,
					    .sent_ns = now_ns()};
	u64 before = body.sent_ns;

	EXPECT(ask(client, type, &body, sizeof(body), -1), QUEUES);
	const struct gp_proto_msg_done *done = (const void *)client->message.body;
	out->total[index] = now_ns() - before;
	out->issue[index] = done->issue_ns;
	out->host[index] = out->total[index] - GP_MIN(out->total[index], done->driver_ns);
	out->back[index] = out->host[index] - GP_MIN(out->host[index], done->issue_ns);
}

/* There and back to the holder's loop, which answers this by itself. */
static u64 ask_the_loop(struct client *client, s64 target)
{
	struct gp_proto_msg_target body = {.target = (u32)target};
	u64 before = now_ns();

	EXPECT(ask(client, GP_MSG_INFO, &body, sizeof(body), -1), 0);
	return now_ns() - before;
}

static struct figures figures_of(u32 count)
{
	struct figures figures = {calloc(count, 8), calloc(count, 8), calloc(count, 8),
				  calloc(count, 8)};

	CHECK(figures.issue && figures.host && figures.total && figures.back);
	return figures;
}

static void print_figures(const char *mechanism, const char *what, struct figures *figures,
			  u32 count)
{
	char name[64];

	snprintf(name, sizeof(name), "%s %s to driver call", mechanism, what);
	print(name, figures->issue, count);
	snprintf(name, sizeof(name), "%s %s without driver", mechanism, what);
	print(name, figures->host, count);
	snprintf(name, sizeof(name), "%s %s in all", mechanism, what);
	print(name, figures->total, count);
}

/* Of the host's own time, by medians: library and socket to the holder's loop (half of there and
 * back), from there through its worker (and, with an agent, through the program's) to the ioctl,
 * and from the driver's return to the caller. After print_figures(), which sorts. */
static void print_steps(const char *mechanism, const char *what, struct figures *figures,
			const u64 *loop, u32 count)
{
	bool agent = strcmp(mechanism, "kfd-agent") == 0;
	char name[64];

	qsort(figures->back, count, sizeof(u64), by_size);
	double issue = (double)figures->issue[count / 2], back = (double)figures->back[count / 2];
	double there = GP_MIN((double)loop[count / 2] / 2, issue), all = (issue + back) / 100;

	snprintf(name, sizeof(name), "%s %s, steps", mechanism, what);
	printf("%-28s library, socket, holder %.1f us (%.0f %%); %s %.1f us (%.0f %%); "
	       "answer %.1f us (%.0f %%)\n",
	       name, there / 1000, there / all, agent ? "worker, agent, ioctl" : "worker, ioctl",
	       (issue - there) / 1000, (issue - there) / all, back / 1000, back / all);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"?", "kfd-agent", "kfd-debug"};
	u32 count = argc > 1 ? (u32)atoi(argv[1]) : 2000;
	struct live live = {.self = {.kfd = -1, .render = -1, .status_fd = -1, .pipe = {-1, -1}}};
	char directory[] = "/tmp/gpbench-XXXXXX";
	struct figures stop = figures_of(count), go = figures_of(count);
	u64 *wakes = calloc(count, sizeof(u64)), *loop = calloc(count, sizeof(u64));

	CHECK(wakes && loop && count && mkdtemp(directory));
	setenv("GPREEMPT_DIR", directory, 1);
	struct actor target = start_target(1, QUEUES);
	start_holder(&live, NULL, NULL);
	struct client *client = connect_client(&live);
	s64 id = open_pid(client, target.pid, 0);
	CHECK(id > 0);
	u32 mechanism = ((const struct gp_proto_msg_opened *)client->message.body)->mechanism;
	for (u32 i = 0; i < count; i++) {
		one(client, id, GP_MSG_SUSPEND, &stop, i);
		one(client, id, GP_MSG_RESUME, &go, i);
		loop[i] = ask_the_loop(client, id);
	}
	bare_wakes(wakes, count);
	print_figures(names[mechanism], "suspend", &stop, count);
	print_figures(names[mechanism], "resume", &go, count);
	qsort(loop, count, sizeof(u64), by_size);
	print_steps(names[mechanism], "suspend", &stop, loop, count);
	print_steps(names[mechanism], "resume", &go, loop, count);
	print("bare wakes, two in a row", wakes, count);
	close_client(client);
	kill(live.holder, SIGTERM);
	waitpid(live.holder, NULL, 0);
	kill(target.pid, SIGKILL);
	waitpid(target.pid, NULL, 0);
	CHECK(!place_remove(directory));
	return 0;
}
