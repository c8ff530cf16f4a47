// SPDX-License-Identifier: MIT
/*
 * The one global of the library: whether this process runs on a virtual GPU, and its client.
 * The environment is read once, by the constructor or by the first call before it, when there is
 * but one thread. The client is made by the first /dev/kfd or render node that is opened.
 */
#include "vgpu/cp/cp.h"
#include "vgpu/preload/parts.h"
#include "vgpu/heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { UNKNOWN, ABSENT, PRESENT };

static struct {
	_Atomic int state;
	char directory[sizeof(((struct gp_vgpu_client *)0)->directory)];
	char root[sizeof(((struct gp_vgpu_client *)0)->directory) + sizeof("/" GP_VGPU_ROOT)];
	_Atomic(struct gp_vgpu_client *) client;
	_Atomic pid_t maker; /* the process that is making a client; stale in a forked child */
	_Atomic bool failed; /* said so already */
} self;

void *gp_vgpu_real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

void gp_vgpu_say(const char *text, const char *detail)
{
	char line[512] = "gpreempt: ";
	size_t used = strlen(line);
	const char *parts[] = {text, detail, "\n"};
	ssize_t ignored;

	for (size_t i = 0; i < GP_ARRAY_SIZE(parts); i++) {
		size_t length = parts[i] ? strlen(parts[i]) : 0;

		if (length > sizeof(line) - 2 - used)
			length = sizeof(line) - 2 - used;
		if (length)
			memcpy(line + used, parts[i], length);
		used += length;
	}
	line[used - 1] = '\n';
	ignored = write(STDERR_FILENO, line, used);
	(void)ignored;
}

__attribute__((constructor(101))) static void find_machine(void)
{
	const char *directory;
	size_t length;

	if (atomic_load_explicit(&self.state, memory_order_relaxed) != UNKNOWN)
		return;
	directory = getenv(GP_VGPU_ENV);
	length = directory ? strlen(directory) : 0;
	if (!length || directory[0] != '/' || length >= sizeof(self.directory)) {
		atomic_store(&self.state, ABSENT);
		return;
	}
	memcpy(self.directory, directory, length + 1);
	memcpy(self.root, directory, length);
	memcpy(self.root + length, "/" GP_VGPU_ROOT, sizeof("/" GP_VGPU_ROOT));
	atomic_store(&self.state, PRESENT);
}

const char *gp_vgpu_root(void)
{
	int state = atomic_load_explicit(&self.state, memory_order_acquire);

	if (state == UNKNOWN) {
		find_machine();
		state = atomic_load(&self.state);
	}
	return state == PRESENT ? self.root : NULL;
}

const char *gp_vgpu_client_directory(void)
{
	return gp_vgpu_root() ? self.directory : NULL;
}

static void let_go(struct gp_vgpu_client *client)
{
	if (client->cp)
		gp_vgpu_cp_forked(client);
	gp_vgpu_memory_forked(client->memory);
	gp_vgpu_close_own(client->lifeline);
	gp_vgpu_close_own(client->work_fd);
	gp_vgpu_close_own(client->done_fd);
}

/*
 * A forked child has the memory of its parent but is not a client. It closes the descriptors that
 * it inherited: the server must see the connections of the parent close when the parent dies.
 */
static void let_go_of_parent(void)
{
	struct gp_vgpu_client *parent = atomic_exchange(&self.client, NULL);

	if (!parent || parent->pid == getpid())
		return;
	gp_vgpu_connections_forked();
	let_go(parent);
	for (struct gp_vgpu_client *c = parent->secondary; c; c = c->next)
		let_go(c);
}

static void after_fork_in_child(void)
{
	gp_vgpu_heap_forked();
	atomic_store(&self.maker, 0);
	let_go_of_parent();
}

static int map_shared(struct gp_vgpu_client *client, int fd)
{
	void *shared, *at;

	if (fd < 0 || client->machine.shared_bytes < sizeof(struct gp_vgpu_shared))
		return -EPROTO;
	/* Secondary processes come and go. */
	at = client->file ? NULL : gp_vgpu_addresses(client->machine.shared_bytes);
	shared = (void *)syscall(SYS_mmap, at, client->machine.shared_bytes, PROT_READ | PROT_WRITE,
				 MAP_SHARED | (at ? MAP_FIXED : 0), fd, (off_t)0);
	if (shared == MAP_FAILED)
		return -errno;
	madvise(shared, client->machine.shared_bytes, MADV_DONTFORK);
	client->shared = shared;
	return 0;
}

static int fill(struct gp_vgpu_client *client)
{
	int fds[3], error;

	client->pid = getpid();
	client->lifeline = client->work_fd = client->done_fd = -1;
	pthread_mutex_init(&client->lock, NULL);
	strcpy(client->directory, self.directory);
	error = gp_vgpu_connect_first(client, fds);
	if (error)
		return error;
	error = map_shared(client, fds[0]);
	if (fds[0] >= 0)
		syscall(SYS_close, fds[0]);
	client->work_fd = gp_vgpu_own_fd(fds[1]);
	client->done_fd = gp_vgpu_own_fd(fds[2]);
	if (error)
		return error;
	if (client->work_fd < 0 || client->done_fd < 0 ||
	    client->machine.gpu_count > GP_VGPU_MAX_GPUS)
		return -EPROTO;
	client->memory = gp_vgpu_memory_create();
	client->events = gp_vgpu_events_create();
	client->queues = gp_vgpu_queues_create();
	client->svm = gp_vgpu_svm_create();
	if (!client->memory || !client->events || !client->queues || !client->svm)
		return -ENOMEM;
	return 0;
}

void gp_vgpu_client_free(struct gp_vgpu_client *client)
{
	gp_vgpu_memory_destroy(client->memory);
	gp_vgpu_events_destroy(client->events);
	gp_vgpu_svm_destroy(client->svm);
	gp_vgpu_free(client->queues);
	if (client->shared)
		syscall(SYS_munmap, client->shared, client->machine.shared_bytes);
	gp_vgpu_close_own(client->lifeline);
	gp_vgpu_close_own(client->work_fd);
	gp_vgpu_close_own(client->done_fd);
	gp_vgpu_free(client);
}

struct gp_vgpu_client *gp_vgpu_client_new(u64 file)
{
	struct gp_vgpu_client *client = gp_vgpu_alloc(sizeof(*client));

	if (!client)
		return NULL;
	client->file = file;
	if (fill(client) == 0)
		return client;
	gp_vgpu_client_free(client);
	return NULL;
}

static struct gp_vgpu_client *make(void)
{
	static _Atomic bool registered;
	struct gp_vgpu_client *client;
	int error;

	/* First: another thread may fork while the heap below is locked. */
	if (!atomic_exchange(&registered, true))
		pthread_atfork(NULL, NULL, after_fork_in_child);
	client = gp_vgpu_alloc(sizeof(*client));
	error = client ? fill(client) : -ENOMEM;
	if (!error) {
		gp_vgpu_warn_old_rocr(client);
		return client;
	}
	if (!atomic_exchange(&self.failed, true))
		gp_vgpu_say(error == -EPROTO ? "a different version of the virtual GPU runs in "
					     : "no virtual GPU answers in ",
			    self.directory);
	if (client)
		gp_vgpu_client_free(client);
	return NULL;
}

/* One maker at a time. A maker of another process is a lock that fork() copied. */
static void take_turn(pid_t pid)
{
	for (;;) {
		pid_t holder = 0;

		if (atomic_compare_exchange_strong(&self.maker, &holder, pid))
			return;
		if (holder != pid && atomic_compare_exchange_strong(&self.maker, &holder, pid))
			return;
		sched_yield();
	}
}

static bool shares_memory(pid_t other)
{
	return syscall(SYS_kcmp, getpid(), other, KCMP_VM, 0, 0) == 0;
}

struct gp_vgpu_client *gp_vgpu_client(void)
{
	struct gp_vgpu_client *client;
	pid_t pid;

	if (!gp_vgpu_root())
		return NULL;
	pid = getpid();
	client = atomic_load_explicit(&self.client, memory_order_acquire);
	if (!client || client->pid != pid) {
		/* A vfork child runs in its parent's memory: that client is the parent's to keep.
		 */
		if (client && shares_memory(client->pid))
			return NULL;
		take_turn(pid);
		client = atomic_load(&self.client);
		if (!client || client->pid != pid) {
			let_go_of_parent();
			client = make();
			atomic_store_explicit(&self.client, client, memory_order_release);
		}
		atomic_store(&self.maker, 0);
	}
	return client && !client->gone ? client : NULL;
}

struct gp_vgpu_client *gp_vgpu_client_if_any(void)
{
	return atomic_load_explicit(&self.client, memory_order_acquire);
}
