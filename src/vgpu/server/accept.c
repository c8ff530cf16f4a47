// SPDX-License-Identifier: MIT
/*
 * New connections and their limits. No process can have so many that others find no room. If
 * descriptors run out all the same, one is reserved so that the machine can still be stopped: such
 * a connection is served for a moment only, and no client can start on it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core.h"
#include "vgpu/server/state.h"

#define MAX_OF_PID  512 /* connections of one process: about one for each of its threads */
#define MAX_SILENT  64  /* of these, before HELLO: they ask one thing and go */
#define SEND_BUFFER (1 << 20)
#define PAUSE_NS    (20 * GP_NS_PER_MS) /* what a connection on the last descriptor gets */

void gp_vgpu_accept_begin(struct gp_vgpu_server *server)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	server->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
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

static bool may_connect(struct gp_vgpu_server *server, int fd, pid_t *pid)
{
	u32 all = 0, silent = 0;
	uid_t uid;

	if (server->host.peer(server->host.context, fd, pid, &uid) ||
	    (uid != geteuid() && uid != 0))
		return false;
	for (const struct gp_vgpu_connection *c = server->connections; c; c = c->next) {
		if (c->closed || c->pid != *pid)
			continue;
		all++;
		silent += !c->process;
	}
	return all < MAX_OF_PID && silent < MAX_SILENT;
}

/* Takes the descriptor over. */
static void add(struct gp_vgpu_server *server, int fd, bool reserved)
{
	struct gp_vgpu_connection *connection = calloc(1, sizeof(*connection));
	int bytes = SEND_BUFFER;
	pid_t pid;

	if (!connection || !may_connect(server, fd, &pid) ||
	    gp_vgpu_watch(server, fd, GP_VGPU_WATCH_CONNECTION, connection)) {
		close(fd);
		free(connection);
		return;
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	connection->fd = fd;
	connection->pid = pid;
	connection->reserved = reserved;
	connection->next = server->connections;
	server->connections = connection;
}

static int accept_one(const struct gp_vgpu_server *server)
{
	return accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* The reserved descriptor is in use: no connection is accepted until it is free again. */
static void accept_last(struct gp_vgpu_server *server)
{
	int fd = -1;

	if (server->reserve_fd >= 0) {
		close(server->reserve_fd);
		server->reserve_fd = -1;
		fd = accept_one(server);
	}
	if (fd >= 0)
		add(server, fd, true);
	gp_vgpu_unwatch(server, server->listen_fd);
	server->accept_paused = true;
	server->accept_again_ns = server->host.raw_ns(server->host.context) + PAUSE_NS;
}

void gp_vgpu_connection_accept(struct gp_vgpu_server *server)
{
	int fd = accept_one(server);

	if (fd >= 0)
		add(server, fd, false);
	else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		accept_last(server);
}

void gp_vgpu_accept_again(struct gp_vgpu_server *server)
{
	u64 now;

	if (!server->accept_paused)
		return;
	now = server->host.raw_ns(server->host.context);
	if (now < server->accept_again_ns)
		return;
	for (struct gp_vgpu_connection *c = server->connections; c; c = c->next)
		if (c->reserved)
			gp_vgpu_connection_close(server, c);
	server->accept_again_ns = now + PAUSE_NS;
	if (server->reserve_fd < 0)
		server->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (server->reserve_fd >= 0 &&
	    !gp_vgpu_watch(server, server->listen_fd, GP_VGPU_WATCH_LISTEN, NULL))
		server->accept_paused = false;
}
