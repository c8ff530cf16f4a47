// SPDX-License-Identifier: MIT
/*
 * Threads for which there is no connection of their own: they take turns on a common one, which
 * survives signal handlers that call the driver and threads that are cancelled.
 */
#include "client_program.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define CROWD 600 /* more than the server accepts from one process */

static int ask(void)
{
	struct gp_kfd_get_available_memory_args memory = {.gpu_id = gpu_id};
	int result = call(kfd, GP_KFD_IOC_AVAILABLE_MEMORY, &memory);

	CHECK(result || memory.available > 0);
	return result;
}

static pthread_barrier_t crowd;

static void *one_of_many(void *context)
{
	(void)context;
	CHECK(ask() == 0);
	pthread_barrier_wait(&crowd); /* all connections are open now */
	CHECK(ask() == 0);
	return NULL;
}

static void a_crowd_takes_turns(void)
{
	static pthread_t threads[CROWD];
	pthread_attr_t small;

	CHECK(!pthread_barrier_init(&crowd, NULL, CROWD));
	CHECK(!pthread_attr_init(&small) && !pthread_attr_setstacksize(&small, 256u << 10));
	for (int i = 0; i < CROWD; i++)
		CHECK(!pthread_create(&threads[i], &small, one_of_many, NULL));
	for (int i = 0; i < CROWD; i++)
		CHECK(!pthread_join(threads[i], NULL));
	pthread_attr_destroy(&small);
	pthread_barrier_destroy(&crowd);
}

/* Returns the limit that was. */
static rlim_t limit_descriptors(rlim_t count)
{
	struct rlimit limit;
	rlim_t before;

	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	before = limit.rlim_cur;
	limit.rlim_cur = count;
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	return before;
}

/* From here on no socket can be opened: every new thread uses the common connection. */
static rlim_t use_up_descriptors(void)
{
	int lowest = dup(STDIN_FILENO);

	CHECK(lowest >= 0 && close(lowest) == 0);
	return limit_descriptors((rlim_t)lowest);
}

/* ---- a thread that waits in the server ---- */

static struct {
	pthread_t thread;
	_Atomic pid_t tid;
	_Atomic bool go;
	_Atomic int result, in_handler;
} waiter;

static int enable_runtime(u32 mode)
{
	struct gp_kfd_runtime_enable_args args = {.mode_mask = mode};

	return call(kfd, GP_KFD_IOC_RUNTIME_ENABLE, &args);
}

/* With a debugger there this waits for the debugger's answer, which never comes. */
static void *wait_in_server(void *context)
{
	(void)context;
	waiter.tid = (pid_t)syscall(SYS_gettid);
	while (!waiter.go)
		sched_yield();
	waiter.result = enable_runtime(0);
	/* The cancellation that came meanwhile is still pending; it has been seen to wait. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	return NULL;
}

static void handler(int number)
{
	(void)number;
	waiter.in_handler = ask();
}

static char state_in(int stat)
{
	char text[512];
	ssize_t got = pread(stat, text, sizeof(text) - 1, 0);
	const char *end;

	CHECK(got > 0);
	text[got] = '\0';
	end = strrchr(text, ')');
	return end ? end[2] : '?';
}

static void debug_myself(void)
{
	struct gp_kfd_runtime_info info;
	struct gp_kfd_dbg_trap_args args = {.pid = (u32)getpid(), .op = GP_KFD_DBG_ENABLE};
	int fds[2], error = enable_runtime(GP_KFD_RUNTIME_ENABLE);

	CHECK(error == 0 || error == -EBUSY); /* the machine may have done it for us */
	CHECK(pipe(fds) == 0);
	args.enable.dbg_fd = (u32)fds[1];
	args.enable.rinfo_ptr = (uintptr_t)&info;
	args.enable.rinfo_size = sizeof(info);
	CHECK(call(kfd, GP_KFD_IOC_DBG_TRAP, &args) == 0);
}

static void *ask_once(void *context)
{
	*(int *)context = ask();
	return NULL;
}

static void the_common_connection_survives_signals_and_cancellation(void)
{
	struct sigaction action = {.sa_handler = handler};
	void *how = NULL;
	pthread_t next;
	rlim_t limit;
	char path[64];
	int stat, result = -1;

	debug_myself();
	sigaction(SIGUSR1, &action, NULL);
	CHECK(!pthread_create(&waiter.thread, NULL, wait_in_server, NULL));
	while (!waiter.tid)
		sched_yield();
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)waiter.tid);
	stat = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(stat >= 0);
	CHECK(dlopen("libgcc_s.so.1", RTLD_NOW)); /* pthread_cancel() needs it, and a descriptor */
	limit = use_up_descriptors();
	waiter.go = true;
	while (state_in(stat) != 'S')
		sched_yield();
	CHECK(!pthread_cancel(waiter.thread));
	CHECK(!pthread_kill(waiter.thread, SIGUSR1));
	CHECK(!pthread_join(waiter.thread, &how));
	CHECK(how != PTHREAD_CANCELED);
	CHECK(waiter.result == -EINTR);
	CHECK(waiter.in_handler == -EBUSY);
	CHECK(!pthread_create(&next, NULL, ask_once, &result));
	CHECK(!pthread_join(next, NULL));
	CHECK(result == 0);
	CHECK(ask() == 0);
	limit_descriptors(limit); /* sanitizers need some at the end */
}

int main(void)
{
	open_devices();
	a_crowd_takes_turns();
	the_common_connection_survives_signals_and_cancellation();
	return 0;
}
