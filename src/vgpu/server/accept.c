// SPDX-License-Identifier: MIT
/*
 * New connections, and how many there may be. Nobody can have so many that others find no room;
 * and when descriptors run out all the same, one is kept back for whoever comes to stop the
 * machine: such a connection is served for a moment only, and no process can begin on it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vgpu/server/server.h"

#define MAX_OF_PID  512 /* connections of one process: about one for each of its threads */
#define MAX_SILENT  64  /* of these, before HELLO: they ask one thing and go */
#define SEND_BUFFER (1 << 20)
#define PAUSE_NS    (20 * 1000000ull) /* what a connection on the last descriptor gets */

void gp_vgpu_server_accept_begin(struct gp_vgpu_server *vm)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	vm->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int gp_vgpu_server_peer(void *context, int fd, pid_t *pid, uid_t *uid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	(void)context;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return -errno;
	*pid = peer.pid;
	*uid = peer.uid;
	return 0;
}

static bool may_connect(struct gp_vgpu_server *vm, int fd, pid_t *pid)
{
	u32 all = 0, silent = 0;
	uid_t uid;

	if (vm->host.peer(vm->host.context, fd, pid, &uid) || (uid != geteuid() && uid != 0))
		return false;
	for (const struct gp_vgpu_server_connection *c = vm->connections; c; c = c->next) {
		if (c->closed || c->pid != *pid)
			continue;
		all++;
		silent += !c->process;
	}
	return all < MAX_OF_PID && silent < MAX_SILENT;
}

/* Takes the descriptor over. */
static void add(struct gp_vgpu_server *vm, int fd, bool reserved)
{
	struct gp_vgpu_server_connection *connection = calloc(1, sizeof(*connection));
	int bytes = SEND_BUFFER;
	pid_t pid;

	if (!connection || !may_connect(vm, fd, &pid) ||
	    gp_vgpu_server_watch(vm, fd, GP_VM_WATCH_CONNECTION, connection)) {
		close(fd);
		free(connection);
		return;
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	connection->fd = fd;
	connection->pid = pid;
	connection->reserved = reserved;
	connection->next = vm->connections;
	vm->connections = connection;
}

static int accept_one(const struct gp_vgpu_server *vm)
{
	return accept4(vm->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* The descriptor kept back is used, and nobody else is let in until it is there again. */
static void accept_last(struct gp_vgpu_server *vm)
{
	int fd = -1;

	if (vm->reserve_fd >= 0) {
		close(vm->reserve_fd);
		vm->reserve_fd = -1;
		fd = accept_one(vm);
	}
	if (fd >= 0)
		add(vm, fd, true);
	gp_vgpu_server_unwatch(vm, vm->listen_fd);
	vm->accept_paused = true;
	vm->accept_again_ns = vm->host.raw_ns(vm->host.context) + PAUSE_NS;
}

void gp_vgpu_server_connection_accept(struct gp_vgpu_server *vm)
{
	int fd = accept_one(vm);

	if (fd >= 0)
		add(vm, fd, false);
	else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		accept_last(vm);
}

void gp_vgpu_server_accept_again(struct gp_vgpu_server *vm)
{
	u64 now;

	if (!vm->accept_paused)
		return;
	now = vm->host.raw_ns(vm->host.context);
	if (now < vm->accept_again_ns)
		return;
	for (struct gp_vgpu_server_connection *c = vm->connections; c; c = c->next)
		if (c->reserved)
			gp_vgpu_server_connection_close(vm, c);
	vm->accept_again_ns = now + PAUSE_NS;
	if (vm->reserve_fd < 0)
		vm->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (vm->reserve_fd >= 0 &&
	    !gp_vgpu_server_watch(vm, vm->listen_fd, GP_VM_WATCH_LISTEN, NULL))
		vm->accept_paused = false;
}
