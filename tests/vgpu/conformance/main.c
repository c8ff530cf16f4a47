// SPDX-License-Identifier: MIT
/* The table, and running it: TAP, a line a row, each in a process of its own. */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "abi/aql.h"
#include "conformance.h"

#define ROW_SECONDS 120 /* only ends a hang */
#define SKIPPED     77
#define NAP_NS      300000

#ifdef GP_ROWS /* the rows of another program: kernel/module/tests */
extern const struct row GP_ROWS[];
static const struct row *const tables[] = {GP_ROWS};
#else
static const struct row *const tables[] = {
	rows_dispatch, rows_permission, rows_runtime,  rows_suspend,  rows_unmap,
	rows_resume,   rows_life,       rows_update,   rows_priority, rows_create,
	rows_theft,    rows_cost,       rows_snapshot, rows_text,     rows_sysfs,
	rows_evict,    rows_machines,   rows_library,  rows_share,    rows_contexts,
};
#endif

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

/* NULL: not known, or to a glibc before 2.32. */
static const char *error_name(s64 value)
{
#if __GLIBC_PREREQ(2, 32)
	if (value < 0 && value > -GP_KFD_ENOTSUPP)
		return strerrorname_np((int)-value);
#endif
	(void)value;
	return NULL;
}

static void print_value(s64 value)
{
	const char *name = error_name(value);

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

/* Goes back to main() through a pipe that every row has. */
static int reason_fd = -1;

_Noreturn void skip(const char *why)
{
	(void)!write(reason_fd, why, strlen(why));
	_exit(SKIPPED);
}

/* What machine this is: the bits a row may ask for. */
static unsigned int machine_kind(struct self *me)
{
	json_t *status = machine_status(me),
	       *gpu = json_array_get(json_object_get(status, "gpus"), 0);
	const char *era = json_string_value(json_object_get(status, "era"));
	const char *personality = json_string_value(json_object_get(gpu, "personality"));
	unsigned int kind = 0;
	json_int_t gfx;

	CHECK(era && personality);
	if (strcmp(era, "6.1") == 0)
		kind |= ERA_6_1;
	else
		kind |= DEBUGGER | (strcmp(era, "6.5") == 0 ? ERA_6_5 : ERA_6_12);
	if (strcmp(era, "6.16") == 0)
		kind |= ERA_6_16;
	kind |= strcmp(era, "7.0") == 0 ? ERA_7_0 : BEFORE_7_0;
	kind |= strcmp(personality, "native") == 0 ? NATIVE : COMPAT;
	if (!json_is_true(json_object_get(status, "checkpoint")))
		kind |= REFUSED;
	if (json_integer_value(json_object_get(status, "sched_policy")) == 2)
		kind |= NO_HWS;
	if (json_is_true(json_object_get(status, "gpu_recovery")))
		kind |= RESETS;
	gfx = json_integer_value(json_object_get(gpu, "gfx_version"));
	if (gfx == GP_GFX_VERSION_90A)
		kind |= ROCM;
	if (gfx == 90008)
		kind |= OLD_FW;
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

/*
 * What another machine does differently, from a file: how, rule and reason on a line, with tabs
 * between. `differs` must fail; `apart` is not run with the others; `corrupts` leaves the machine
 * unsound and is run by itself (--only), on one that may die.
 */
struct exception {
	char *how, *rule, *reason;
};

static struct exception exceptions[64];
static size_t exception_count;

static void read_exceptions(const char *path)
{
	char *text = slurp(path), *line;

	CHECK(text);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		struct exception *next = &exceptions[exception_count];

		if (*line == '#')
			continue;
		CHECK(exception_count < GP_ARRAY_SIZE(exceptions));
		next->how = strsep(&line, "\t");
		next->rule = strsep(&line, "\t");
		next->reason = strsep(&line, "\t");
		CHECK(next->rule && next->reason);
		exception_count++;
	}
}

static const char *excepted(const struct row *row, const char *how)
{
	for (size_t i = 0; i < exception_count; i++)
		if (strcmp(exceptions[i].rule, row->rule) == 0 &&
		    strcmp(exceptions[i].how, how) == 0)
			return exceptions[i].reason;
	return NULL;
}

/* 0, 1, or SKIPPED with the reason. */
static int run(const struct row *row, char *reason, size_t size)
{
	int status, ends[2];
	pid_t child;
	ssize_t n;

	fflush(stdout);
	CHECK(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		struct self me = {.kfd = -1, .render = -1, .status_fd = -1, .pipe = {-1, -1}};

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(ROW_SECONDS);
		reason_fd = ends[1];
		row->run(&me);
		fflush(stdout);
		_exit(0);
	}
	while (waitpid(child, &status, 0) < 0)
		CHECK(errno == EINTR);
	n = read(ends[0], reason, size - 1);
	reason[n > 0 ? n : 0] = '\0';
	close(ends[0]);
	close(ends[1]);
	if (WIFSIGNALED(status))
		printf("# killed by signal %d\n", WTERMSIG(status));
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		return SKIPPED;
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* The next row begins with a machine that has come to rest. */
static void rest(struct self *me)
{
	UNTIL(me, gpu_number(me, "hung") == 0 && gpu_number(me, "updates_pending") == 0);
	UNTIL(me, process_number(me, 0, "processes") == 0);
}

/* Its line of the report; true when it failed. */
static bool report(const struct row *row, int number, int result, const char *reason)
{
	const char *differs = excepted(row, "differs");
	bool failed = result == 1;

	if (differs && result != SKIPPED) {
		printf("not ok %d - %s %s # %s %s\n", number, row->id, row->rule,
		       failed ? "TODO" : "no longer different:", differs);
		return !failed;
	}
	printf("%s %d - %s %s%s%s\n", failed ? "not ok" : "ok", number, row->id, row->rule,
	       result == SKIPPED ? " # SKIP " : "", result == SKIPPED ? reason : "");
	return failed;
}

#define REAL_GPU "--on-a-real-gpu-which-may-crash-this-machine"

/* The variable alone leads nowhere: without the library /dev/kfd is that of the machine. */
static bool in_a_virtual_machine(void)
{
	char *maps = getenv("GPREEMPT_VGPU") ? slurp("/proc/self/maps") : NULL;
	bool found = maps && strstr(maps, "libgpreempt_vgpu");

	free(maps);
	return found;
}

/*
 * Rows send what a correct program never sends. Drivers exist that do not survive it
 * (amdgpu-dkms 6.12.12: an oops, processes that hang for ever), so that only a virtual GPU and the
 * fake GPU of kernel/testbed are taken without being told to.
 */
static void refuse_real_gpu(int *argc, char ***argv)
{
	if (*argc > 1 && strcmp((*argv)[1], REAL_GPU) == 0) {
		(*argc)--;
		(*argv)++;
		return;
	}
	if (in_a_virtual_machine() || access("/sys/module/fakegpu", F_OK) == 0)
		return;
	fprintf(stderr,
		"conformance: this is neither a virtual GPU (gpreempt vgpu -- conformance) nor "
		"kernel/testbed. The rows can crash the kernel of this machine; to run them "
		"nevertheless: conformance " REAL_GPU "\n");
	exit(2);
}

/* Why the row is not run now; NULL: it is. */
static const char *left_out(const struct row *row, const char *only)
{
	const char *why;

	if (!row->run)
		return row->open;
	why = excepted(row, "apart");
	if (!why && !only)
		why = excepted(row, "corrupts");
	return why;
}

/* usage: conformance [--on-a-real-gpu-which-may-crash-this-machine] [--differences FILE] [--only
 * RULE] [PART OF A ROW'S ID...] */
int main(int argc, char **argv)
{
	struct self me = {.kfd = -1, .render = -1, .status_fd = -1};
	const char *only = NULL;
	unsigned int kind;
	int count = 0, failed = 0;

	refuse_real_gpu(&argc, &argv);
	kind = machine_kind(&me);

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (; argc > 2 && strncmp(argv[1], "--", 2) == 0; argc -= 2, argv += 2) {
		if (strcmp(argv[1], "--differences") == 0)
			read_exceptions(argv[2]);
		else if (strcmp(argv[1], "--only") == 0)
			only = argv[2];
	}
	for (size_t t = 0; t < GP_ARRAY_SIZE(tables); t++)
		for (const struct row *row = tables[t]; row->id; row++) {
			const char *open = left_out(row, only);
			char reason[128];

			if (only ? strcmp(row->rule, only) != 0 : !wanted(row, argv + 1, kind))
				continue;
			if (open) {
				printf("ok %d - %s %s # SKIP %s\n", ++count, row->id, row->rule,
				       open);
				continue;
			}
			failed += report(row, ++count, run(row, reason, sizeof(reason)), reason);
			rest(&me);
		}
	printf("1..%d\n", count);
	return failed > 0;
}
