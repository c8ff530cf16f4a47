// SPDX-License-Identifier: MIT
/* Runs the rows of live.h: TAP, a line a row, each in a process of its own. */
#include "live.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define ROW_SECONDS 120 /* at least: GP_PROMISE_CYCLES makes a row longer */

#ifdef GP_LIVE_AGENTS /* a program of its own, without sanitizers: the agent is loaded into it */
#define LONG_ROWS     live_agents
#define OTHER_MACHINE NULL
static const struct live_row *const tables[] = {live_agents};
#else
#define LONG_ROWS     live_cycles
#define OTHER_MACHINE live_reset
static const struct live_row *const tables[] = {live_basic,   live_breaks, live_target,
						live_control, live_cycles, live_reset};
#endif

u64 deadline(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec + ROW_SECONDS / 2;
}

bool past(u64 when)
{
	struct timespec now;

	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec > when;
}

_Noreturn void fail(const char *file, int line, const char *what, s64 got, s64 expected)
{
	const char *base = strrchr(file, '/');

	printf("# %s:%d: %s", base ? base + 1 : file, line, what);
	if (expected == INT64_MIN)
		printf(" does not hold (%lld)\n", (long long)got);
	else
		printf(" should be %lld, not %lld\n", (long long)expected, (long long)got);
	fflush(stdout);
	_exit(1);
}

static unsigned int machine_kind(struct self *me)
{
	json_t *status = machine_status(me);
	const char *era = json_string_value(json_object_get(status, "era"));
	unsigned int kind = era && !strcmp(era, "6.5") ? ERA_6_5 : ERA_6_12;

	json_decref(status);
	return kind;
}

static _Noreturn void run_row(const struct live_row *row, const char *directory)
{
	struct live live = {.self = {.kfd = -1, .render = -1, .status_fd = -1, .pipe = {-1, -1}},
			    .holder = 0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (row->run != LONG_ROWS[0].run)
		alarm(ROW_SECONDS);
	snprintf(live.directory, sizeof(live.directory), "%s", directory);
	setenv("GPREEMPT_DIR", directory, 1);
	row->run(&live);
	/* By hand: everything a row started must end before its directory goes. */
	if (live.holder > 0) {
		kill(live.holder, SIGKILL);
		waitpid(live.holder, NULL, 0);
	}
	fflush(stdout);
	_exit(0);
}

static bool run(const struct live_row *row)
{
	char directory[64];
	pid_t child;
	int status;

	CHECK(place_make(directory, sizeof(directory)));
	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (!child)
		run_row(row, directory);
	while (waitpid(child, &status, 0) < 0)
		CHECK(errno == EINTR);
	CHECK(!place_remove(directory));
	if (WIFSIGNALED(status))
		printf("# killed by signal %d\n", WTERMSIG(status));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void rest(struct self *me)
{
	UNTIL(me, gpu_number(me, "hung") == 0 && gpu_number(me, "updates_pending") == 0);
	UNTIL(me, process_number(me, 0, "processes") == 0);
}

int main(int argc, char **argv)
{
	struct self me = {.kfd = -1, .render = -1, .status_fd = -1};
	unsigned int kind = machine_kind(&me);
	int count = 0, failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t t = 0; t < GP_ARRAY_SIZE(tables); t++)
		for (const struct live_row *row = tables[t]; row->name; row++) {
			bool asked = argc > 1 && strstr(row->name, argv[1]);
			/* The long one, and those of another machine, only when they are asked for.
			 */
			bool special = tables[t] == LONG_ROWS || tables[t] == OTHER_MACHINE;

			if ((!asked && (argc > 1 || special)) || (row->where & kind) != row->where)
				continue;
			bool ok = run(row);
			failed += !ok;
			printf("%s %d - %s\n", ok ? "ok" : "not ok", ++count, row->name);
			rest(&me);
		}
	printf("1..%d\n", count);
	return failed > 0;
}
