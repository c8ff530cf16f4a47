/* The table, and running it: TAP, a line a row, each in a process of its own. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "conformance.h"

#define ROW_SECONDS 120 /* only ends a hang */
#define NAP_NS      300000

static const struct row *const tables[] = {
	rows_dispatch, rows_permission, rows_runtime,  rows_suspend, rows_resume,
	rows_life,     rows_update,     rows_priority, rows_create,  rows_theft,
	rows_cost,     rows_snapshot,   rows_text,     rows_evict,
};

static u64 now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (u64)time.tv_sec * 1000000000 + (u64)time.tv_nsec;
}

u64 deadline(void)
{
	return now_ns() + (u64)ROW_SECONDS * 1000000000 / 2;
}

bool past(u64 deadline)
{
	/* Who asks will ask again: others need the processor too. */
	nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
	return now_ns() > deadline;
}

static void print_value(s64 value)
{
	const char *name =
		value < 0 && value > -GP_KFD_ENOTSUPP ? strerrorname_np((int)-value) : NULL;

	printf(" %lld (0x%llx%s%s)", (long long)value, (unsigned long long)value, name ? ", " : "",
	       name ? name : "");
}

_Noreturn void fail(const char *file, int line, const char *what, s64 got, s64 expected)
{
	const char *base = strrchr(file, '/');

	printf("# %s:%d: %s", base ? base + 1 : file, line, what);
	if (expected == INT64_MIN) {
		printf(" does not hold;");
	} else {
		printf(" should be");
		print_value(expected);
		printf(", not");
	}
	print_value(got);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

/* What machine this is: the bits a row may ask for. */
static unsigned int machine_kind(struct self *me)
{
	json_t *status = machine_status(me),
	       *gpu = json_array_get(json_object_get(status, "gpus"), 0);
	const char *era = json_string_value(json_object_get(status, "era"));
	const char *personality = json_string_value(json_object_get(gpu, "personality"));
	unsigned int kind = 0;

	CHECK(era && personality);
	kind |= strcmp(era, "6.5") == 0 ? ERA_6_5 : ERA_6_12;
	kind |= strcmp(personality, "native") == 0 ? NATIVE : COMPAT;
	if (!json_is_true(json_object_get(status, "checkpoint")))
		kind |= REFUSED;
	json_decref(status);
	return kind;
}

static bool wanted(const struct row *row, char **names, unsigned int kind)
{
	if ((row->where & kind) != row->where || (row->where & SPECIAL) != (kind & SPECIAL))
		return false;
	if (!*names)
		return true;
	for (; *names; names++)
		if (strstr(row->id, *names))
			return true;
	return false;
}

static bool run(const struct row *row)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		struct self me = {.kfd = -1, .render = -1, .status_fd = -1, .pipe = {-1, -1}};

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(ROW_SECONDS);
		row->run(&me);
		fflush(stdout);
		_exit(0);
	}
	while (waitpid(child, &status, 0) < 0)
		CHECK(errno == EINTR);
	if (WIFSIGNALED(status))
		printf("# killed by signal %d\n", WTERMSIG(status));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The next row begins with a machine that has come to rest. */
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

	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t t = 0; t < GP_ARRAY_SIZE(tables); t++)
		for (const struct row *row = tables[t]; row->id; row++) {
			bool ok;

			if (!wanted(row, argv + 1, kind))
				continue;
			if (!row->run) {
				printf("ok %d - %s %s # SKIP %s\n", ++count, row->id, row->rule,
				       row->open);
				continue;
			}
			ok = run(row);
			failed += !ok;
			printf("%s %d - %s %s\n", ok ? "ok" : "not ok", ++count, row->id,
			       row->rule);
			rest(&me);
		}
	printf("1..%d\n", count);
	return failed > 0;
}
