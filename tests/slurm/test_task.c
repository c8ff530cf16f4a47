// SPDX-License-Identifier: MIT
/* The task plugin as slurmd loads it, without a slurmd. gpreemptd is a process of the test, or
 * there is none. How long the plugin waits is judged by a clock of the test, which moves only when
 * the plugin waits. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "proto/daemon.h"
#include "proto/wire.h"
#include "slurm/marks.h"
#include "testlib.h"

enum { ROUNDS = 40, STEP_US = 100, WAIT_S = 40, OLD_S = 1000, AN_HOUR_S = 3600 };
enum { BOUND_MS = 1000, LATE_BOUND_MS = 50 };

static char place[4096];

/* ---- clocks ---- */

static bool is_virtual;             /* poll() does not wait, and its time passes at once */
static _Atomic bool *greeted;       /* gpreemptd has; until then poll() waits for it */
static bool unaccepted;             /* it will not */
static _Thread_local u64 waited_ns; /* by this thread */
static _Atomic s64 *wall_ahead_s;   /* how far the clock that can be set is ahead */
static _Atomic u32 *wait_count;     /* of the thread that renews holds, for real */
static _Atomic s64 ahead_s;         /* and the one that cannot: time has passed */
static _Atomic bool is_hurried;     /* a thread that waits for a condition has waited at once */
int poll(struct pollfd *fds, nfds_t count, int timeout);
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
			   const struct timespec *until);
int clock_gettime(clockid_t clock, struct timespec *out);

/* In the place of the functions of the C library, for the plugin as well. */
int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	struct timespec none = {0}, until = {timeout / 1000, (long)(timeout % 1000) * 1000000};
	bool skips = is_virtual && timeout > 0 && (*greeted || unaccepted);
	int found = (int)syscall(SYS_ppoll, fds, count,
				 skips         ? &none
				 : timeout < 0 ? NULL
					       : &until,
				 NULL, 0);

	if (skips && !found)
		waited_ns += (u64)timeout * GP_NS_PER_MS;
	return found;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	int error = (int)syscall(SYS_clock_gettime, clock, out);

	if (error)
		return error;
	if (clock == CLOCK_REALTIME)
		out->tv_sec += wall_ahead_s ? *wall_ahead_s : 0;
	if (clock == CLOCK_MONOTONIC)
		out->tv_sec += ahead_s;
	if (clock == CLOCK_MONOTONIC && is_virtual)
		*out = gp_timespec(GP_NS_PER_S + waited_ns);
	return 0;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
			   const struct timespec *until)
{
	int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

	if (!is_hurried) {
		/* By the clock of the condition; dlsym() would find the oldest version. */
		*(void **)&real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
		++*wait_count;
		return real(condition, lock, until);
	}
	pthread_mutex_unlock(lock);
	usleep(STEP_US);
	pthread_mutex_lock(lock);
	ahead_s++; /* with the lock: the waits of others for gpreemptd do not become shorter */
	return ETIMEDOUT;
}

/* ---- gpreemptd ---- */

static _Atomic u32 *asked; /* holds that gpreemptd was asked for, and ends of holds */
static _Atomic u32 *last;  /* of them: the number of the job, plus HOLDS if it is to be held */
#define HOLDS 1000

static void see(const struct gp_wire_message *ask)
{
	const struct gp_proto_msg_named_hold *hold = (const void *)ask->body;
	unsigned job = 0;

	sscanf(hold->group, "slurm-%u", &job);
	*last = job + (hold->on ? HOLDS : 0);
	++*asked;
}

/* Greets, and answers holds unless it is mute. */
static void serve(int client, bool mute)
{
	static struct gp_wire_message ask;
	struct gp_proto_msg_named_held held = {.processes = 1, .held = 1};
	struct gp_proto_msg_hello hello = {0};

	while (gp_wire_receive(client, &ask, -1) == 0) {
		u32 serial = ask.header.serial;

		if (ask.header.type == GP_MSG_DAEMON_HOLD)
			see(&ask);
		if (ask.header.type == GP_MSG_HELLO) {
			gp_wire_send(client, GP_MSG_HELLO, serial, 0, &hello, sizeof(hello), -1);
			*greeted = true;
		} else if (!mute)
			gp_wire_send(client, ask.header.type, serial, 0, &held, sizeof(held), -1);
	}
}

static pid_t daemon_start(bool mute)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/%s", place, GP_DAEMON_SOCKET);
	unlink(address.sun_path);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 4), 0);
	*greeted = false;
	pid_t pid = fork();
	if (pid == 0) {
		alarm(2 * WAIT_S);
		/* A plugin whose greeting takes long on a busy machine connects anew. */
		for (;;) {
			int client = accept(listener, NULL, NULL);

			serve(client, mute);
			close(client);
		}
	}
	close(listener);
	return pid;
}

static void daemon_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- slurmd ---- */

/* What the plugin writes to slurmd's log. */
void slurm_error(const char *format, ...);
void slurm_info(const char *format, ...);
void slurm_debug(const char *format, ...);

static _Atomic u32 errors;

void slurm_error(const char *format, ...)
{
	(void)format;
	errors++;
}

void slurm_info(const char *format, ...)
{
	(void)format;
}

void slurm_debug(const char *format, ...)
{
	(void)format;
}

static void *share(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static int begin(void **state)
{
	(void)state;
	if (!place_make(place, sizeof(place)))
		return -1;
	asked = share(sizeof(*asked));
	last = share(sizeof(*last));
	greeted = share(sizeof(*greeted));
	wall_ahead_s = share(sizeof(*wall_ahead_s));
	wait_count = share(sizeof(*wait_count));
	if (asked == MAP_FAILED || last == MAP_FAILED || greeted == MAP_FAILED ||
	    wall_ahead_s == MAP_FAILED || wait_count == MAP_FAILED)
		return -1;
	return setenv("GPREEMPT_DIR", place, 1);
}

static int finish(void **state)
{
	(void)state;
	return place_remove(place);
}

/* A job whose epilog did not run. */
static void mark_old(u32 job)
{
	struct timespec at[2] = {{.tv_sec = time(NULL) - OLD_S}, {.tv_sec = time(NULL) - OLD_S}};
	char path[sizeof(place) + 32];

	assert_true(gp_slurm_mark(job, NULL));
	snprintf(path, sizeof(path), "%s/slurm/%u", place, job);
	assert_int_equal(utimensat(AT_FDCWD, path, at, 0), 0);
}

struct plugin {
	int (*start)(void), (*end)(void);
	int (*suspend)(uint32_t), (*resume)(uint32_t);
};

/* In a process that becomes slurmd. */
static struct plugin load(void)
{
	static char name[] = "slurmd";
	void *plugin = dlopen(GP_SLURM_TASK, RTLD_NOW | RTLD_LOCAL);
	struct plugin out;

	program_invocation_short_name = name;
	if (!plugin)
		_exit(2);
	*(void **)&out.start = dlsym(plugin, "init");
	*(void **)&out.end = dlsym(plugin, "fini");
	*(void **)&out.suspend = dlsym(plugin, "task_p_slurmd_suspend_job");
	*(void **)&out.resume = dlsym(plugin, "task_p_slurmd_resume_job");
	if (!out.start || !out.end || !out.suspend || !out.resume || out.start())
		_exit(3);
	return out;
}

/* Runs a test as slurmd: it ends with 0. */
static void as_slurmd(void (*test)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(WAIT_S);
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static u64 takes_ms(int (*call)(uint32_t), u32 job)
{
	u64 before = waited_ns;

	if (call(job))
		_exit(5); /* Slurm would take it for a failure of the job */
	return (waited_ns - before) / GP_NS_PER_MS;
}

static void expect(u64 ms, u64 least, u64 most)
{
	if (ms < least || ms > most) {
		fprintf(stderr, "# waited %llu ms, not %llu to %llu\n", (unsigned long long)ms,
			(unsigned long long)least, (unsigned long long)most);
		_exit(6);
	}
}

static void waits(void)
{
	struct plugin plugin;
	/* The thread of the plugin tries as well, until there is no room for more, which is known
	 * at once. */
	u64 least = unaccepted ? 0 : BOUND_MS - 10;

	/* Marks of the last test would start it before the first suspension. */
	for (u32 job = 1; job < 10; job++)
		gp_slurm_unmark(job);
	plugin = load();
	is_virtual = true;
	/* All of it, since an answer may come late, and no more. */
	expect(takes_ms(plugin.suspend, 1), BOUND_MS - 10, BOUND_MS);
	expect(takes_ms(plugin.resume, 1), least, BOUND_MS);
	for (u32 job = 2; job < 10; job++)
		expect(takes_ms(plugin.suspend, job), 0, LATE_BOUND_MS);
}

static void a_mute_gpreemptd_costs_a_job_at_most_one_second(void **state)
{
	pid_t pid = daemon_start(true);

	(void)state;
	as_slurmd(waits);
	daemon_end(pid);
}

/* As a gpreemptd that hangs before it has accepted the connection. */
static void a_hung_gpreemptd_costs_a_job_at_most_one_second(void **state)
{
	pid_t pid = daemon_start(true);

	(void)state;
	kill(pid, SIGSTOP);
	unaccepted = true;
	as_slurmd(waits);
	unaccepted = false;
	daemon_end(pid);
}

static void does_not_wait(void)
{
	struct plugin plugin = load();

	is_virtual = true;
	for (u32 job = 1; job < 10; job++) {
		expect(takes_ms(plugin.suspend, job), 0, 0);
		expect(takes_ms(plugin.resume, job), 0, 0);
	}
}

static void without_gpreemptd_nothing_waits(void **state)
{
	char path[sizeof(place) + 32];

	(void)state;
	snprintf(path, sizeof(path), "%s/%s", place, GP_DAEMON_SOCKET);
	unlink(path);
	as_slurmd(does_not_wait);
}

/* Until gpreemptd was asked that often. */
static void await_asked(u32 times)
{
	for (u64 end = gp_monotonic_ns() + WAIT_S / 2 * GP_NS_PER_S; *asked < times;) {
		if (gp_monotonic_ns() > end)
			fail_msg("gpreemptd was asked %u times, not %u", *asked, times);
		usleep(10000);
	}
}

static void await_last(u32 request)
{
	for (u64 end = gp_monotonic_ns() + WAIT_S / 2 * GP_NS_PER_S; *last != request;) {
		if (gp_monotonic_ns() > end)
			fail_msg("gpreemptd was last asked %u, not %u", *last, request);
		usleep(10000);
	}
}

static void is_held_again(void)
{
	struct plugin plugin = load();

	plugin.suspend(17);
	for (;;)
		pause(); /* its thread does the rest */
}

/* The clock of the machine was an hour ahead when the thread looked at it, and then was set. */
static void holds_are_renewed_whatever_the_wall_clock_says(void **state)
{
	pid_t daemon = daemon_start(false), slurmd;

	(void)state;
	*asked = 0;
	*wait_count = 0;
	*wall_ahead_s = AN_HOUR_S;
	slurmd = fork();
	if (slurmd == 0) {
		alarm(2 * WAIT_S);
		is_held_again();
	}
	for (u64 end = gp_monotonic_ns() + WAIT_S / 2 * GP_NS_PER_S; !*wait_count;) {
		if (gp_monotonic_ns() > end)
			fail_msg("the thread does not wait");
		usleep(10000);
	}
	*wall_ahead_s = 0;
	/* More than once: the thread may not have waited yet when the first one ends. */
	for (int i = 0; i < 3; i++) {
		await_asked(1);
		daemon_end(daemon);
		*asked = 0;
		daemon = daemon_start(false);
	}
	await_asked(1);
	/* Once per second: with the wrong clock it would not wait at all. */
	assert_in_range(*wait_count, 1, 4 * WAIT_S);
	daemon_end(slurmd);
	daemon_end(daemon);
	gp_slurm_unmark(17);
}

static void is_let_go(void)
{
	pid_t pid = daemon_start(false);
	struct plugin plugin = load();

	plugin.suspend(18);
	await_asked(1);
	/* The epilog, whose request gpreemptd has read before. */
	gp_slurm_mark_over(18);
	await_last(18);
	/* A suspension that slurmd makes later still. */
	plugin.suspend(18);
	if (gp_slurm_is_marked(18) || *last != 18)
		_exit(8);
	daemon_end(pid);
}

static void a_job_that_is_over_is_let_go_and_not_held_again(void **state)
{
	(void)state;
	*asked = 0;
	as_slurmd(is_let_go);
	gp_slurm_mark_begin(18);
}

/* Most of them: a slow gpreemptd may read what was asked first later. */
static void is_asked_for_each_minute(void)
{
	enum { MINUTES = 6, LEAST = 3 };
	struct plugin plugin = load();
	u32 before;

	plugin.suspend(22);
	before = *asked;
	is_hurried = true;
	for (int i = 0; i < WAIT_S * 50 && *asked < before + MINUTES; i++)
		usleep(10000);
	is_hurried = false;
	if (*asked < before + MINUTES || ahead_s < LEAST * 60)
		_exit(12);
}

/* A child of slurmd may have asked for it as well, and ended the hold with its connection. */
static void a_hold_is_asked_for_again_each_minute(void **state)
{
	pid_t pid = daemon_start(false);

	(void)state;
	*asked = 0;
	as_slurmd(is_asked_for_each_minute);
	daemon_end(pid);
	gp_slurm_unmark(22);
}

static void await_errors(u32 count)
{
	for (int i = 0; i < WAIT_S * 50 && errors < count; i++)
		usleep(10000);
	if (errors < count)
		_exit(9);
}

static void is_held_later(void)
{
	char path[sizeof(place) + 32];

	snprintf(path, sizeof(path), "%s/slurm", place);
	if (!gp_slurm_mark(19, NULL) || chmod(path, 0770))
		_exit(10);
	load();
	await_errors(1);
	if (*asked || chmod(path, 0700))
		_exit(11);
	await_asked(1);
}

static void a_job_is_held_when_its_mark_can_be_seen_again(void **state)
{
	pid_t pid = daemon_start(false);

	(void)state;
	*asked = 0;
	as_slurmd(is_held_later);
	daemon_end(pid);
	gp_slurm_unmark(19);
}

/* What the kernel shows of sockets, for the plugin: only the second look sees the step of job 21.
 */
static _Atomic u32 looks;
static bool is_shown;
int open(const char *path, int flags, ...);

int open(const char *path, int flags, ...)
{
	bool sockets = strcmp(path, "/proc/net/unix") == 0;
	char shown[sizeof(place) + 32];
	va_list more;

	va_start(more, flags);
	mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
	va_end(more);
	if (sockets && is_shown) {
		snprintf(shown, sizeof(shown), "%s/%s", place, looks++ ? "second" : "first");
		path = shown;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static void is_seen_by_the_second_look(void)
{
	static const char step[] = "0: 2 0 10000 0001 01 1 /run/n1_21.0\n";
	char path[sizeof(place) + 32];
	struct plugin plugin;

	snprintf(path, sizeof(path), "%s/first", place);
	gp_file_write_atomic(path, "\n", 1);
	snprintf(path, sizeof(path), "%s/second", place);
	gp_file_write_atomic(path, step, strlen(step));
	mark_old(21);
	mark_old(22);
	is_shown = true;
	plugin = load();
	while (gp_slurm_is_marked(22))
		usleep(10000);
	if (plugin.end() || !gp_slurm_is_marked(21))
		_exit(12);
}

static void a_mark_is_lost_only_if_two_looks_say_so(void **state)
{
	(void)state;
	as_slurmd(is_seen_by_the_second_look);
	gp_slurm_unmark(21);
}

static void load_and_unload(u32 after_us)
{
	struct plugin plugin = load();

	usleep(after_us);
	_exit(plugin.end() ? 4 : 0);
}

/* Its thread removes the marks of lost jobs, which takes a while, and then finds nothing to do. */
static void a_slurmd_that_ends_while_marks_are_removed_does_not_hang(void **state)
{
	int status;

	(void)state;
	for (u32 i = 0; i < ROUNDS; i++) {
		mark_old(4294967295u);
		pid_t pid = fork();

		if (pid == 0) {
			alarm(WAIT_S);
			load_and_unload(i * STEP_US);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mute_gpreemptd_costs_a_job_at_most_one_second),
		cmocka_unit_test(a_hung_gpreemptd_costs_a_job_at_most_one_second),
		cmocka_unit_test(without_gpreemptd_nothing_waits),
		cmocka_unit_test(holds_are_renewed_whatever_the_wall_clock_says),
		cmocka_unit_test(a_job_that_is_over_is_let_go_and_not_held_again),
		cmocka_unit_test(a_job_is_held_when_its_mark_can_be_seen_again),
		cmocka_unit_test(a_hold_is_asked_for_again_each_minute),
		cmocka_unit_test(a_mark_is_lost_only_if_two_looks_say_so),
		cmocka_unit_test(a_slurmd_that_ends_while_marks_are_removed_does_not_hang),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, begin, finish);
}
