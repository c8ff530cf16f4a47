// SPDX-License-Identifier: MIT
/*
 * What the agent costs its program, with no driver, runtime or GPU behind it: this program is all
 * three. It loads the agent's library, plays ROCr (tables, a queue in memory, a signal) and the
 * driver (an ioctl() of its own), and a child of it plays the scheduler at the agent's socket.
 *
 * agent_bench LIBRARY: prints one figure a line, "NAME VALUE", for bench/run.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/amd_queue.h"
#include "abi/amd_signal.h"
#include "abi/aql.h"
#include "abi/hsa_table.h"
#include "abi/kfd_ioctl.h"
#include "proto/activity.h"
#include "proto/directory.h"
#include "proto/wire.h"

#define ROUNDS       400
#define PER_ROUND    20000
#define EDGES        2000
#define SUSPENDS     2000
#define CORE_ENTRIES 128

static struct gp_amd_queue queue __attribute__((aligned(256)));
static struct gp_aql_dispatch packets[64] __attribute__((aligned(4096)));
static struct gp_amd_signal doorbell = {.kind = GP_AMD_SIGNAL_DOORBELL}, done_signal;
static volatile u64 rung;

static u64 now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (u64)at.tv_sec * 1000000000 + (u64)at.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "agent_bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- the driver: the library finds this one behind its own ---- */

int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *argument;

	(void)fd;
	va_start(list, request);
	argument = va_arg(list, void *);
	va_end(list);
	if (_IOC_NR(request) == _IOC_NR(GP_KFD_IOC_GET_VERSION))
		*(struct gp_kfd_get_version_args *)argument =
			(struct gp_kfd_get_version_args){1, 11};
	return 0; /* the queue's id is 0 */
}

/* ---- the runtime ---- */

static void plain_store(u64 signal, s64 value)
{
	(void)signal;
	__atomic_store_n(&rung, (u64)value, __ATOMIC_RELEASE);
}

typedef void store_function(u64 signal, s64 value);
typedef bool load_function(struct gp_hsa_tables *tables, u64 version, u64 failed, void *names);
typedef int ioctl_function(int fd, unsigned long request, ...);

static struct gp_hsa_functions *new_table(void)
{
	size_t bytes = sizeof(struct gp_hsa_functions) + CORE_ENTRIES * sizeof(void *);
	struct gp_hsa_functions *table = calloc(1, bytes);

	if (!table)
		fail("memory");
	table->version = (struct gp_hsa_table_version){1, (u32)bytes, 0, 0};
	for (int i = 0; i < CORE_ENTRIES; i++)
		table->function[i] = (void *)plain_store;
	return table;
}

static store_function *load(const char *library)
{
	struct gp_kfd_create_queue_args args = {
		.ring_base_address = (uintptr_t)packets,
		.ring_size = sizeof(packets),
		.read_pointer_address = (uintptr_t)&queue.read_dispatch_id,
		.write_pointer_address = (uintptr_t)&queue.write_dispatch_id,
		.gpu_id = 1,
		.queue_type = GP_KFD_QUEUE_COMPUTE_AQL,
		.queue_percentage = 100,
		.queue_priority = 7,
	};
	struct gp_hsa_tables tables = {.version = {1, sizeof(tables), 0, 0},
				       .core = new_table(),
				       .amd = new_table()};
	void *handle = dlopen(library, RTLD_NOW);
	load_function *on_load = handle ? (load_function *)dlsym(handle, "OnLoad") : NULL;
	ioctl_function *agents = handle ? (ioctl_function *)dlsym(handle, "ioctl") : NULL;

	if (!on_load || !agents || agents == (ioctl_function *)ioctl) {
		fprintf(stderr, "agent_bench: %s: %s\n", library, handle ? "no agent" : dlerror());
		exit(1);
	}
	doorbell.queue = (uintptr_t)&queue;
	on_load(&tables, 1, 0, NULL);
	if (agents(0, GP_KFD_IOC_CREATE_QUEUE, &args))
		fail("CREATE_QUEUE");
	return (store_function *)tables.core->function[GP_HSA_CORE_SIGNAL_STORE_SCRELEASE];
}

/* One more packet with a barrier bit and a signal; not rung yet. */
static s64 submit(void)
{
	u64 index = queue.write_dispatch_id;

	packets[index % 64] = (struct gp_aql_dispatch){
		.header = GP_AQL_KERNEL_DISPATCH | GP_AQL_HEADER_BARRIER,
		.completion_signal = (uintptr_t)&done_signal,
	};
	__atomic_store_n(&done_signal.value, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&queue.write_dispatch_id, index + 1, __ATOMIC_SEQ_CST);
	return (s64)index;
}

static void complete(void)
{
	__atomic_store_n(&queue.read_dispatch_id, queue.write_dispatch_id, __ATOMIC_SEQ_CST);
	__atomic_store_n(&done_signal.value, 0, __ATOMIC_SEQ_CST);
}

/* ---- figures ---- */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(const char *name, double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_size);
	printf("%s_p50 %.1f\n%s_p99 %.1f\n", name, values[count / 2], name,
	       values[count * 99 / 100]);
}

static double round_ns(store_function *store, s64 index)
{
	u64 start = now();

	for (int i = 0; i < PER_ROUND; i++)
		store((uintptr_t)&doorbell, index);
	return (double)(now() - start) / PER_ROUND;
}

/* The difference of the two in turns: what else the machine does hits both. */
static void busy_doorbell(store_function *store)
{
	static double with[ROUNDS], without[ROUNDS];
	s64 index = submit();

	for (int i = 0; i < ROUNDS; i++) {
		without[i] = round_ns(plain_store, index);
		with[i] = round_ns(store, index);
	}
	print("plain_doorbell_ns", without, ROUNDS);
	print("agent_doorbell_ns", with, ROUNDS);
	printf("doorbell_added_ns %.1f\n", with[ROUNDS / 2] - without[ROUNDS / 2]);
	complete();
}

/* ---- the scheduler, in a process of its own ---- */

static int connect_agent(void)
{
	char directory[108], name[300];
	struct dirent *entry;
	DIR *list;
	int fd = -ENOENT;

	if (gp_proto_directory_path(directory, sizeof(directory), "agents", 0))
		fail("directory");
	list = opendir(directory);
	while (list && fd < 0 && (entry = readdir(list)))
		if (strstr(entry->d_name, ".sock")) {
			snprintf(name, sizeof(name), "agents/%s", entry->d_name);
			fd = gp_proto_directory_connect(name);
		}
	if (list)
		closedir(list);
	if (fd < 0) {
		errno = -fd;
		fail("the agent's socket");
	}
	return fd;
}

struct shared {
	u64 heard_ns[2 * EDGES]; /* when the watcher got each edge */
	u64 heard;
};

static struct gp_wire_message message;

static int greet(void)
{
	struct gp_proto_msg_hello hello = {0};
	int fd = connect_agent();

	if (gp_wire_call(fd, GP_MSG_HELLO, 1, &hello, sizeof(hello), -1, &message, -1, NULL, NULL))
		fail("HELLO");
	return fd;
}

static _Noreturn void watch(struct shared *shared, int ready)
{
	struct gp_proto_msg_target on = {.target = 1};
	int fd = greet();

	if (gp_wire_call(fd, GP_MSG_AGENT_WATCH, 2, &on, sizeof(on), -1, &message, -1, NULL, NULL))
		fail("WATCH");
	if (write(ready, "", 1) != 1)
		_exit(1);
	while (!gp_wire_receive(fd, &message, -1)) {
		if (message.header.type != GP_MSG_AGENT_EDGE)
			continue;
		if (shared->heard < 2 * EDGES)
			shared->heard_ns[shared->heard] = now();
		__atomic_add_fetch(&shared->heard, 1, __ATOMIC_SEQ_CST);
	}
	_exit(0);
}

static void await(struct shared *shared, u64 count)
{
	const struct timespec nap = {0, 20000};

	while (__atomic_load_n(&shared->heard, __ATOMIC_SEQ_CST) < count)
		nanosleep(&nap, NULL);
}

static void edges(store_function *store, struct shared *shared)
{
	static double call[EDGES], heard[EDGES], drained[EDGES];
	u64 base = shared->heard;

	for (int i = 0; i < EDGES; i++) {
		s64 index = submit();
		u64 start = now(), end;

		store((uintptr_t)&doorbell, index);
		call[i] = (double)(now() - start);
		await(shared, base + 2 * (u64)i + 1);
		heard[i] = (double)(shared->heard_ns[base + 2 * (u64)i] - start);
		end = now();
		complete();
		await(shared, base + 2 * (u64)i + 2);
		drained[i] = (double)(shared->heard_ns[base + 2 * (u64)i + 1] - end);
	}
	print("edge_call_ns", call, EDGES);
	print("edge_heard_ns", heard, EDGES);
	print("drained_heard_ns", drained, EDGES);
}

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* The service thread's: nothing else of this process runs meanwhile. */
static double idle_percent(void)
{
	double before = cpu_seconds();

	sleep(2);
	return 100 * (cpu_seconds() - before) / 2;
}

/* What the machine itself takes until a sleeping process runs: part of every suspension. */
static void bare_wakes(void)
{
	static double wake[SUSPENDS];
	int pair[2];
	u64 at;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		fail("a socket pair");
	pid = fork();
	if (pid < 0)
		fail("a child");
	if (!pid) {
		close(pair[0]);
		while (read(pair[1], &at, sizeof(at)) == sizeof(at)) {
			at = now();
			if (write(pair[1], &at, sizeof(at)) != sizeof(at))
				break;
		}
		_exit(0);
	}
	close(pair[1]);
	for (int i = 0; i < SUSPENDS; i++) {
		u64 start = now();

		if (write(pair[0], &start, sizeof(start)) != sizeof(start) ||
		    read(pair[0], &at, sizeof(at)) != sizeof(at))
			fail("a wake");
		wake[i] = (double)(at - start);
	}
	close(pair[0]);
	waitpid(pid, NULL, 0);
	print("bare_wake_ns", wake, SUSPENDS);
}

static _Noreturn void ask_for_suspends(void)
{
	static double issue[SUSPENDS], total[SUSPENDS];
	struct gp_proto_msg_suspend ask = {.lease_ms = 1000, .limit_ms = 10000};
	int fd = greet();

	for (int i = 0; i < SUSPENDS; i++) {
		u64 start = now();

		ask.sent_ns = start;
		if (gp_wire_call(fd, GP_MSG_AGENT_SUSPEND, 3, &ask, sizeof(ask), -1, &message, -1,
				 NULL, NULL) != 1)
			fail("SUSPEND");
		total[i] = (double)(now() - start);
		issue[i] = (double)((const struct gp_proto_msg_done *)message.body)->issue_ns;
		if (gp_wire_call(fd, GP_MSG_AGENT_RESUME, 4, &ask, sizeof(ask), -1, &message, -1,
				 NULL, NULL) != 1)
			fail("RESUME");
	}
	bare_wakes();
	print("suspend_issue_ns", issue, SUSPENDS);
	print("suspend_total_ns", total, SUSPENDS);
	fflush(stdout);
	_exit(0);
}

static pid_t child(void (*work)(struct shared *, int), struct shared *shared)
{
	int ready[2];
	char byte;
	pid_t pid;

	fflush(stdout);
	if (pipe(ready))
		fail("a pipe");
	pid = fork();
	if (pid < 0)
		fail("a child");
	if (!pid) {
		if (work)
			work(shared, ready[1]);
		ask_for_suspends();
	}
	close(ready[1]);
	if (work && read(ready[0], &byte, 1) != 1)
		fail("the watcher");
	close(ready[0]);
	return pid;
}

int main(int argc, char **argv)
{
	char directory[] = "/tmp/gpreempt-bench-XXXXXX";
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	store_function *store;
	char agents[128];
	pid_t watcher;

	if (argc != 2 || shared == MAP_FAILED || !mkdtemp(directory))
		fail("usage: agent_bench LIBRARY");
	setenv("GPREEMPT_DIR", directory, 1);
	store = load(argv[1]);
	busy_doorbell(store);
	waitpid(child(NULL, NULL), NULL, 0);
	printf("idle_percent %.4f\n", idle_percent());
	watcher = child(watch, shared);
	edges(store, shared);
	printf("watched_idle_percent %.4f\n", idle_percent());
	store((uintptr_t)&doorbell, submit());
	printf("watched_busy_percent %.4f\n", idle_percent());
	complete();
	kill(watcher, SIGKILL);
	waitpid(watcher, NULL, 0);
	/* The agent takes its socket's name away at exit; the directories are ours. */
	snprintf(agents, sizeof(agents), "%s/agents", directory);
	fflush(stdout);
	watcher = fork();
	if (watcher == 0) {
		while (getppid() != 1 && rmdir(agents) && errno == ENOTEMPTY)
			usleep(1000);
		rmdir(agents);
		rmdir(directory);
		_exit(0);
	}
	return 0;
}
