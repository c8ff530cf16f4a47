// SPDX-License-Identifier: MIT
/*
 * gpreemptd.sock: connections of the command line. A peer that does not read loses lines of the
 * record (their numbers show it) and is dropped when an answer does not fit; it never delays the
 * scheduler.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/i18n.h"
#include "daemon/daemon.h"
#include "proto/directory.h"

#define BACKLOG         16
#define ACCEPT_AGAIN_NS (100 * GP_NS_PER_MS)
#define LOCK            "gpreemptd.lock"

static void drop(struct gp_daemon_peer *peer)
{
	struct gp_daemon *daemon = peer->daemon;

	gp_daemon_hold_drop(peer);
	gp_loop_unwatch(&daemon->loop, &peer->watch);
	gp_list_remove(&peer->link);
	daemon->peer_count--;
	free(peer);
}

static void peer_ready(struct gp_watch *watch, u32 events)
{
	struct gp_daemon_peer *peer = gp_container(watch, struct gp_daemon_peer, watch);
	struct gp_daemon *daemon = peer->daemon;
	u64 start = gp_daemon_question_clock();
	uid_t uid = peer->uid;
	int error;

	/* While it is paused only its end is reported. */
	if (watch->paused) {
		if (events & (EPOLLHUP | EPOLLERR))
			drop(peer);
		return;
	}
	error = gp_wire_receive(watch->fd, &daemon->message, 0);
	if (error == -EAGAIN)
		return;
	if (!error) {
		error = gp_daemon_service_answer(peer, &daemon->message);
		if (daemon->message.fd >= 0)
			close(daemon->message.fd);
	} else if (error == -EPROTONOSUPPORT) {
		gp_wire_refuse_version(watch->fd, &daemon->message.header);
	}
	if (error)
		drop(peer);
	gp_daemon_question_charge(daemon, uid, gp_daemon_question_clock() - start);
}

static u32 peers_of(const struct gp_daemon *daemon, uid_t uid)
{
	u32 count = 0;

	gp_list_each (struct gp_daemon_peer, peer, link, &daemon->peers)
		count += peer->uid == uid;
	return count;
}

static void listen_time(struct gp_timer *timer)
{
	struct gp_daemon *daemon = gp_container(timer, struct gp_daemon, listen_timer);

	gp_loop_pause(&daemon->loop, &daemon->listen_watch, false);
}

static void listen_ready(struct gp_watch *watch, u32 events)
{
	struct gp_daemon *daemon = gp_container(watch, struct gp_daemon, listen_watch);
	struct gp_daemon_peer *peer = NULL;
	pid_t pid;
	uid_t uid;
	int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd < 0) {
		/* With no descriptor left the socket stays readable: do not spin on it. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
			gp_loop_pause(&daemon->loop, watch, true);
			gp_timer_set(&daemon->loop, &daemon->listen_timer,
				     gp_monotonic_ns() + ACCEPT_AGAIN_NS);
		}
		return;
	}
	/* Some connections are reserved for root. */
	if (gp_wire_peer(fd, &pid, &uid) == 0 &&
	    daemon->peer_count < GP_DAEMON_PEERS - (uid ? GP_DAEMON_PEERS_USER : 0) &&
	    peers_of(daemon, uid) < GP_DAEMON_PEERS_USER)
		peer = calloc(1, sizeof(*peer));
	if (!peer) {
		close(fd);
		return;
	}
	peer->daemon = daemon;
	peer->pid = pid;
	peer->uid = uid;
	if (gp_loop_watch(&daemon->loop, &peer->watch, fd, peer_ready)) {
		free(peer);
		return;
	}
	gp_list_add_tail(&daemon->peers, &peer->link);
	daemon->peer_count++;
	gp_loop_pause(&daemon->loop, &peer->watch, gp_daemon_question_waits(daemon, uid));
}

/* Each line is charged like an answer; a user in debt loses lines, as a peer that does not read. */
void gp_daemon_service_follow(struct gp_daemon *daemon, const struct gp_proto_msg_decision *line)
{
	gp_list_each (struct gp_daemon_peer, peer, link, &daemon->peers) {
		if (!peer->following || gp_daemon_question_waits(daemon, peer->uid))
			continue;
		u64 start = gp_daemon_question_clock();
		gp_wire_send(peer->watch.fd, GP_MSG_DAEMON_DECISION, 0, 0, line, sizeof(*line), -1);
		gp_daemon_question_charge(daemon, peer->uid, gp_daemon_question_clock() - start);
	}
}

/* One daemon per directory: with the lock it may replace a stale socket. */
static int take_lock(struct gp_daemon *daemon)
{
	char path[256];
	int error = gp_proto_directory_path(path, sizeof(path), LOCK, 1);

	if (error)
		return error;
	daemon->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (daemon->lock < 0)
		return -errno;
	if (flock(daemon->lock, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return 0;
}

static void directory_ready(struct gp_watch *watch, u32 events)
{
	struct gp_daemon *daemon = gp_container(watch, struct gp_daemon, directory_watch);

	(void)events;
	if (!gp_proto_directory_lost(watch->fd, LOCK, daemon->lock))
		return;
	daemon->homeless = daemon->loop.stop = true;
	gp_diag(daemon->diag, GP_WARNING, "the socket directory was removed; exiting");
}

/* If it fails, a daemon whose directory is removed stays, which is harmless. */
static void watch_directory(struct gp_daemon *daemon)
{
	int fd = gp_proto_directory_watch(LOCK);

	if (fd >= 0)
		(void)!gp_loop_watch(&daemon->loop, &daemon->directory_watch, fd, directory_ready);
}

void gp_daemon_service_init(struct gp_daemon *daemon)
{
	gp_timer_init(&daemon->listen_timer, listen_time);
	gp_daemon_questions_init(daemon);
}

int gp_daemon_service_start(struct gp_daemon *daemon)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct group *group = getgrnam(GP_DAEMON_GROUP);
	int fd, error = take_lock(daemon);

	/* Once: looking up a group may be slow. */
	daemon->operators = group ? group->gr_gid : GP_DAEMON_NO_GROUP;
	if (!error)
		error = gp_proto_directory_path(address.sun_path, sizeof(address.sun_path),
						GP_DAEMON_SOCKET, 1);
	if (error)
		return error;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	unlink(address.sun_path);
	/* The directory decides which users may connect; each request checks the user. */
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(address.sun_path, 0666) < 0 || listen(fd, BACKLOG) < 0) {
		error = -errno;
		close(fd);
		return error;
	}
	error = gp_loop_watch(&daemon->loop, &daemon->listen_watch, fd, listen_ready);
	if (!error)
		watch_directory(daemon);
	return error;
}

void gp_daemon_service_stop(struct gp_daemon *daemon)
{
	char path[256];

	while (!gp_list_empty(&daemon->peers))
		drop(gp_container(daemon->peers.next, struct gp_daemon_peer, link));
	/* In a directory that is there again the socket is another's. */
	if (daemon->listen_watch.fd >= 0 && !daemon->homeless &&
	    gp_proto_directory_path(path, sizeof(path), GP_DAEMON_SOCKET, 0) == 0)
		unlink(path);
	gp_loop_unwatch(&daemon->loop, &daemon->directory_watch);
	gp_loop_unwatch(&daemon->loop, &daemon->listen_watch);
	gp_timer_set(&daemon->loop, &daemon->listen_timer, UINT64_MAX);
	gp_timer_set(&daemon->loop, &daemon->question_timer, UINT64_MAX);
	if (daemon->lock >= 0)
		close(daemon->lock);
	daemon->lock = -1;
}
