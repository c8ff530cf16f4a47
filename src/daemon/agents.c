// SPDX-License-Identifier: MIT
/*
 * Finds agents: each listens on a socket in agents/, which appears (inotify) when it accepts
 * connections. agent_message.c handles their messages. A connection ends with its program, or when
 * the program breaks the protocol; then its queues leave the core, and the program runs.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/i18n.h"
#include "daemon/daemon.h"
#include "proto/directory.h"

#define TRY_AGAIN_NS (10 * GP_NS_PER_MS)

static void connect_to(struct gp_daemon_client *client);

static void agent_time(struct gp_timer *timer)
{
	struct gp_daemon_client *client = gp_container(timer, struct gp_daemon_client, timer);

	switch (client->state) {
	case GP_CLIENT_CONNECT:
		connect_to(client);
		break;
	case GP_CLIENT_READY:
		/* Throttled until now; what it said meanwhile may be lost, its memory is not. */
		gp_loop_pause(&client->daemon->loop, &client->watch, false);
		gp_daemon_agent_look(client, gp_monotonic_ns());
		gp_daemon_agent_confirm(client);
		break;
	default:
		gp_daemon_client_free(client); /* it never introduced itself */
	}
}

/* An agent over its limit of messages is paused for the rest of the second; before its introduction
 * it stays paused until the limit for the handshake ends it. */
static void keep_rate(struct gp_daemon_client *client)
{
	struct gp_daemon *daemon = client->daemon;
	struct gp_daemon_config_user limits;
	u64 now = gp_monotonic_ns();

	if (now - client->second_start >= GP_NS_PER_S) {
		client->second_start = now;
		client->messages = 0;
	}
	gp_daemon_config_user(&daemon->config, client->who.uid, client->who.user, &limits);
	if (client->messages++ < limits.max_messages)
		return;
	daemon->stats.dropped_messages++;
	gp_loop_pause(&daemon->loop, &client->watch, true);
	if (client->state == GP_CLIENT_READY)
		gp_timer_set(&daemon->loop, &client->timer, client->second_start + GP_NS_PER_S);
}

static void drop(struct gp_daemon_client *client)
{
	struct gp_daemon *daemon = client->daemon;
	u64 start = gp_daemon_question_clock();
	u32 uid = client->who.uid;
	bool leaves = client->job != NULL;

	gp_daemon_client_free(client);
	if (leaves)
		gp_daemon_join_charge(daemon, uid, start);
}

static void agent_ready(struct gp_watch *watch, u32 events)
{
	struct gp_daemon_client *client = gp_container(watch, struct gp_daemon_client, watch);
	struct gp_daemon *daemon = client->daemon;
	int error;

	/* While it is paused only its end is reported. */
	if (watch->paused) {
		if (events & (EPOLLHUP | EPOLLERR))
			drop(client);
		return;
	}
	error = gp_wire_receive(watch->fd, &daemon->message, 0);
	if (error == -EAGAIN)
		return;
	if (!error) {
		bool joins = !client->job;
		u64 start = gp_daemon_question_clock();

		error = gp_daemon_agent_message(client, &daemon->message);
		if (joins)
			gp_daemon_join_charge(daemon, client->who.uid, start);
		if (daemon->message.fd >= 0)
			close(daemon->message.fd);
	}
	if (error) {
		bool ended = error == -ECONNRESET || error == -ESRCH || error == -EDQUOT;
		bool say = !ended && gp_daemon_user_may_log(daemon, client->who.uid);

		if (say && error == -EPROTONOSUPPORT)
			gp_diag(daemon->diag, GP_WARNING,
				"process %u is not scheduled: its agent is a different version; "
				"restart the program",
				client->who.pid);
		else if (say)
			gp_diag(daemon->diag, GP_WARNING, "ignoring the agent in process %u: %s",
				client->who.pid, strerror(-error));
		drop(client);
		return;
	}
	keep_rate(client);
}

static int socket_path(const struct gp_daemon *daemon, const char *name, char *out, size_t size)
{
	int length = snprintf(out, size, "%s/%s", daemon->agents_path, name);

	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

static int try_connect(const struct gp_daemon_client *client, int *out)
{
	char path[PATH_MAX];
	int fd;

	if (socket_path(client->daemon, client->socket, path, sizeof(path)))
		return -ENAMETOOLONG;
	fd = gp_proto_directory_connect_owned(path);
	/* Nobody listens there any more: agents show their socket only when they do. */
	if (fd == -ECONNREFUSED)
		unlink(path);
	if (fd < 0)
		return fd;
	*out = fd;
	return 0;
}

/* A process has one agent: an earlier one belongs to the program before exec. */
static void forget_others(const struct gp_daemon_client *client)
{
	struct gp_list *link, *next;

	gp_list_for_each_safe(link, next, &client->daemon->clients)
	{
		struct gp_daemon_client *other = gp_container(link, struct gp_daemon_client, link);

		if (other != client && other->pidfd >= 0 && other->who.pid == client->who.pid)
			gp_daemon_client_free(other);
	}
}

static void connect_to(struct gp_daemon_client *client)
{
	struct gp_daemon *daemon = client->daemon;
	pid_t pid;
	uid_t uid;
	int fd = -1, error;

	/* Programs that come and go all the time wait; those of other users do not. */
	client->waits =
		client->who.uid != geteuid() && gp_daemon_question_waits(daemon, client->who.uid);
	if (client->waits) {
		gp_timer_set(&daemon->loop, &client->timer,
			     gp_monotonic_ns() + GP_DAEMON_JOIN_WAIT_NS);
		return;
	}
	error = try_connect(client, &fd);
	if (error == -EAGAIN && ++client->tries < GP_DAEMON_CONNECT_TRIES) {
		gp_timer_set(&daemon->loop, &client->timer,
			     gp_monotonic_ns() + (TRY_AGAIN_NS << client->tries));
		return;
	}
	if (!error)
		error = gp_wire_peer(fd, &pid, &uid);
	if (!error)
		error = gp_daemon_client_identify(client, (u32)pid);
	/* The listener may have ended, and its pid may belong to another user now. A process of
	 * root may have changed its user. */
	if (!error && uid && client->who.uid != uid)
		error = -EPERM;
	if (!error) {
		gp_daemon_attach_forget(daemon, (u32)pid);
		forget_others(client);
	}
	if (error && fd >= 0)
		close(fd);
	if (!error)
		error = gp_loop_watch(&daemon->loop, &client->watch, fd, agent_ready);
	if (error) {
		gp_daemon_client_free(client);
		return;
	}
	gp_timer_set(&daemon->loop, &client->timer,
		     gp_monotonic_ns() + GP_DAEMON_SHAKE_S * GP_NS_PER_S);
	gp_daemon_agent_greet(client);
}

static bool known(struct gp_daemon *daemon, const char *name)
{
	gp_list_each (const struct gp_daemon_client, client, link, &daemon->clients) {
		if (strcmp(client->socket, name) == 0)
			return true;
	}
	return false;
}

/* A socket that accepts no connection is retried for a while, and its process is unknown until it
 * does: each owner of such files may have so many. max_clients limits the others, also those that
 * are not connected to yet because their user waits; a section of the configuration may name the
 * user, as a program that is known does. */
static bool within_limit(struct gp_daemon *daemon, const char *name, u32 *uid)
{
	struct gp_daemon_config_user limits;
	u32 strangers = 0, waiting = 0;
	const char *user = "";
	char path[PATH_MAX];

	if (socket_path(daemon, name, path, sizeof(path)) || gp_proto_directory_owner(path, uid))
		return false;
	gp_list_each (const struct gp_daemon_client, client, link, &daemon->clients) {
		bool unknown = client->pidfd < 0;

		if (client->who.uid != *uid)
			continue;
		strangers += unknown && !client->waits;
		waiting += unknown && client->waits;
		user = unknown ? user : client->who.user;
	}
	gp_daemon_config_user(&daemon->config, *uid, user, &limits);
	if (strangers < GP_DAEMON_STRANGERS && waiting < limits.max_clients)
		return true;
	daemon->stats.refused_clients++;
	return false;
}

static void found(void *data, const char *agents, const char *name)
{
	struct gp_daemon *daemon = data;
	struct gp_daemon_client *client;
	u32 uid;

	(void)agents;
	if (known(daemon, name) || !within_limit(daemon, name, &uid))
		return;
	client = gp_daemon_client_new(daemon);
	if (!client)
		return;
	gp_wire_text(client->socket, sizeof(client->socket), name, sizeof(client->socket));
	client->who.uid = uid;
	gp_timer_init(&client->timer, agent_time);
	connect_to(client);
}

static void scan(struct gp_daemon *daemon)
{
	gp_proto_directory_each_agent(daemon->agents_path, found, daemon);
}

static void agents_ready(struct gp_watch *watch, u32 events)
{
	struct gp_daemon *daemon = gp_container(watch, struct gp_daemon, agents_watch);
	_Alignas(struct inotify_event) char buffer[4096];
	ssize_t length = read(watch->fd, buffer, sizeof(buffer));

	(void)events;
	gp_daemon_tidy_soon(daemon);
	for (char *at = buffer; length > 0 && at < buffer + length;) {
		const struct inotify_event *event = (const struct inotify_event *)at;

		if (event->mask & IN_Q_OVERFLOW)
			scan(daemon);
		else if (event->len && gp_proto_directory_is_agent(event->name))
			found(daemon, daemon->agents_path, event->name);
		at += sizeof(*event) + event->len;
	}
}

/* -EUSERS: the user has no instance left. The kernel says EMFILE, as if it were descriptors. */
static int new_inotify(void)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), error = fd < 0 ? -errno : 0;
	int other = error == -EMFILE ? epoll_create1(EPOLL_CLOEXEC) : -1;

	if (other < 0)
		return error ? error : fd;
	close(other);
	return -EUSERS;
}

int gp_daemon_agents_start(struct gp_daemon *daemon)
{
	int fd, error = gp_proto_directory_agents(daemon->agents_path, sizeof(daemon->agents_path),
						  true);

	if (error)
		return error;
	fd = new_inotify();
	if (fd < 0)
		return fd;
	if (inotify_add_watch(fd, daemon->agents_path, IN_MOVED_TO | IN_CREATE | IN_ONLYDIR) < 0) {
		error = -errno;
		close(fd);
		return error;
	}
	error = gp_loop_watch(&daemon->loop, &daemon->agents_watch, fd, agents_ready);
	/* After the watch, so that no agent is missed between the two. */
	if (!error)
		scan(daemon);
	gp_daemon_tidy_soon(daemon);
	return error;
}

void gp_daemon_agents_stop(struct gp_daemon *daemon)
{
	gp_loop_unwatch(&daemon->loop, &daemon->agents_watch);
	gp_timer_set(&daemon->loop, &daemon->tidy_timer, UINT64_MAX);
	while (!gp_list_empty(&daemon->clients))
		gp_daemon_client_free(
			gp_container(daemon->clients.next, struct gp_daemon_client, link));
}
