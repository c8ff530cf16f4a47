// SPDX-License-Identifier: MIT
/*
 * The agent's thread: it accepts connections, hands their messages to answer.c, and keeps the
 * leases. It exists only in programs that create queues, from the first one on, with every signal
 * blocked. What cannot be had (descriptors, a thread) is tried again at the next queue; where there
 * is only no place or no room for the socket, the thread tries until there is. While nothing
 * watches the program, the thread checks that the socket is where a daemon looks for it.
 */
#include "base/clock.h"
#include "agent/agent.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/directory.h"

#define STACK_BYTES (256u << 10)
#define BACKLOG     8
#define AGAIN_NS    (100 * GP_NS_PER_MS) /* until accept() is tried again with a full table */
#define ROOM_NS     GP_NS_PER_S          /* until there may be room for the socket */
#define PLACE_NS    (2 * GP_NS_PER_S)    /* until the place of the socket is checked */
#define PER_WAKE    16                   /* messages of one connection in a row */
#define NAP_NS      10000000
#define SLACK_NS    1000 /* timers of this thread may be late by this much */
#define PATH_ROOM   sizeof(((struct sockaddr_un *)0)->sun_path)
#define SUFFIX      ".sock"
#define DIRECTORY   "agents"

/* ---- connections ---- */

static void drop(struct gp_agent *agent, u32 index)
{
	int fd = agent->connection[index].fd;

	pthread_mutex_lock(&agent->watch_lock);
	if (agent->connection[index].watching)
		__atomic_sub_fetch(&agent->watchers, 1, __ATOMIC_SEQ_CST);
	agent->connection[index] = (struct gp_agent_connection){.fd = -1};
	pthread_mutex_unlock(&agent->watch_lock);
	pthread_mutex_lock(&agent->lock);
	gp_agent_let_go(agent, &agent->owner[index]);
	pthread_mutex_unlock(&agent->lock);
	gp_agent_disown(agent, fd);
}

static void welcome(struct gp_agent *agent)
{
	u32 index = 0;
	pid_t pid;
	uid_t uid;
	int fd = accept4(agent->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		/* With a full table the socket stays readable: do not spin on it. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			agent->listen_again = gp_agent_now(agent) + AGAIN_NS;
		return;
	}
	while (index < GP_AGENT_CONNECTIONS && agent->connection[index].fd >= 0)
		index++;
	if (index == GP_AGENT_CONNECTIONS || gp_wire_peer(fd, &pid, &uid) ||
	    !gp_wire_peer_allowed(uid)) {
		close(fd);
		return;
	}
	fd = gp_agent_own(agent, fd);
	if (fd < 0)
		return;
	pthread_mutex_lock(&agent->lock);
	agent->owner[index].pid = pid;
	pthread_mutex_unlock(&agent->lock);
	pthread_mutex_lock(&agent->watch_lock);
	agent->connection[index] = (struct gp_agent_connection){.fd = fd};
	pthread_mutex_unlock(&agent->watch_lock);
}

static void listen_to(struct gp_agent *agent, u32 index)
{
	int fd = agent->connection[index].fd;

	for (int i = 0; i < PER_WAKE; i++) {
		int error = gp_wire_receive(fd, &agent->message, 0);

		if (error == -EAGAIN)
			return;
		if (error == -EPROTONOSUPPORT)
			gp_wire_refuse_version(fd, &agent->message.header);
		if (!error)
			error = gp_agent_answer(agent, index, &agent->message);
		if (agent->message.fd >= 0)
			close(agent->message.fd);
		if (error) {
			drop(agent, index);
			return;
		}
	}
}

void gp_agent_tell_locked(struct gp_agent *agent, u16 type, const void *body, size_t size,
			  bool watchers_only)
{
	for (u32 i = 0; i < GP_AGENT_CONNECTIONS; i++) {
		const struct gp_agent_connection *connection = &agent->connection[i];

		/* One that does not read misses events; it never delays the program. */
		if (connection->fd >= 0 && connection->greeted &&
		    (connection->watching || !watchers_only))
			gp_wire_send(connection->fd, type, 0, 0, body, size, -1);
	}
}

void gp_agent_tell(struct gp_agent *agent, u16 type, const void *body, size_t size,
		   bool watchers_only)
{
	int cancel;

	/* A program's thread that ends in sendmsg() would keep the lock for ever. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&agent->watch_lock);
	gp_agent_tell_locked(agent, type, body, size, watchers_only);
	pthread_mutex_unlock(&agent->watch_lock);
	pthread_setcancelstate(cancel, NULL);
}

/* Holders of other users, and a daemon behind them, must know that it is held: once per change. */
static void report_holds(struct gp_agent *agent)
{
	for (u32 i = 0; i < GP_AGENT_CONNECTIONS; i++) {
		struct gp_agent_connection *connection = &agent->connection[i];
		struct gp_proto_msg_target body = {0};

		if (connection->fd < 0 || !connection->greeted || connection->watching)
			continue;
		body.target = gp_agent_held_by_another(agent, i);
		if (body.target != connection->held &&
		    !gp_wire_send(connection->fd, GP_MSG_AGENT_HELD, 0, 0, &body, sizeof(body), -1))
			connection->held = body.target;
	}
}

/* ---- the socket ---- */

/* Under another name until it listens: whoever finds a *.sock that refuses may remove it. */
static int open_socket(struct gp_agent *agent)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char directory[PATH_ROOM];
	unsigned int salt = (unsigned int)gp_agent_now(agent);
	int fd, error = gp_proto_directory_agents(directory, sizeof(directory), false);

	if (error)
		return error;
	if (getrandom(&salt, sizeof(salt), GRND_NONBLOCK) < 0)
		salt ^= (unsigned int)getpid() << 16;
	if (snprintf(address.sun_path, PATH_ROOM, "%s/.%d-%08x", directory, getpid(), salt) >=
		    (int)PATH_ROOM ||
	    snprintf(agent->path, sizeof(agent->path), "%s/%d-%08x.sock", directory, getpid(),
		     salt) >= (int)PATH_ROOM)
		return -ENAMETOOLONG;
	fd = gp_agent_own(agent, socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		error = -errno;
	} else if (listen(fd, BACKLOG) < 0 || rename(address.sun_path, agent->path) < 0) {
		error = -errno;
		unlink(address.sun_path);
	}
	if (error) {
		gp_agent_disown(agent, fd);
		agent->path[0] = '\0';
		return error;
	}
	agent->listen = fd;
	return 0;
}

/* Files of others may fill the directory for a while; a daemon removes them. Root's is there only
 * when its daemon has started. */
static bool comes_later(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -ENOENT || error == -EACCES;
}

/* A daemon of root's that starts after the program looks in a directory of its own, and may have a
 * file system mounted where the socket was. Connections stay. */
static void check_place(struct gp_agent *agent)
{
	u64 now = gp_agent_now(agent);
	char path[sizeof(agent->path)];
	int fd = agent->listen;

	if (fd < 0 || __atomic_load_n(&agent->watchers, __ATOMIC_RELAXED)) {
		agent->place_at = 0;
		return;
	}
	if (agent->place_at > now)
		return;
	if (agent->place_at && gp_proto_directory_misplaced(agent->path)) {
		memcpy(path, agent->path, sizeof(path));
		if (open_socket(agent) == 0) {
			unlink(path);
			gp_agent_disown(agent, fd);
		} else {
			memcpy(agent->path, path, sizeof(path));
		}
	}
	agent->place_at = now + PLACE_NS;
}

void gp_agent_remove_socket(struct gp_agent *agent)
{
	if (agent->path[0] && agent->pid == getpid())
		unlink(agent->path);
	agent->path[0] = '\0';
}

/* Names that dead programs left: killed, or become another program. */
static void sweep(const struct gp_agent *agent)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char directory[PATH_ROOM];
	struct dirent *entry;
	DIR *list;

	if (gp_proto_directory_path(directory, sizeof(directory), DIRECTORY, 0))
		return;
	list = opendir(directory);
	while (list && (entry = readdir(list))) {
		size_t length = strlen(entry->d_name);
		int fd;

		if (length < sizeof(SUFFIX) ||
		    strcmp(entry->d_name + length + 1 - sizeof(SUFFIX), SUFFIX) != 0 ||
		    snprintf(address.sun_path, PATH_ROOM, "%s/%s", directory, entry->d_name) >=
			    (int)PATH_ROOM ||
		    strcmp(address.sun_path, agent->path) == 0)
			continue;
		/* Only one's own: what others put there is not ours to talk to. */
		fd = gp_proto_directory_connect_owned(address.sun_path);
		if (fd >= 0)
			close(fd);
		else if (fd == -ECONNREFUSED)
			unlink(address.sun_path);
	}
	if (list)
		closedir(list);
}

/* ---- the thread ---- */

static u64 earlier(u64 a, u64 b)
{
	return !a || (b && b < a) ? b : a;
}

static void wait_for_work(struct gp_agent *agent, u64 until, struct pollfd *fds)
{
	const struct timespec nap = {0, NAP_NS};
	u64 at = gp_agent_now(agent);
	struct timespec left = {0};

	errno = 0;
	for (u32 i = 0; i < GP_AGENT_CONNECTIONS; i++)
		fds[i] = (struct pollfd){.fd = agent->connection[i].fd, .events = POLLIN};
	if (agent->listen >= 0 && agent->listen_again <= at)
		agent->listen_again = 0;
	fds[GP_AGENT_CONNECTIONS] =
		(struct pollfd){.fd = agent->listen_again ? -1 : agent->listen, .events = POLLIN};
	fds[GP_AGENT_CONNECTIONS + 1] = (struct pollfd){.fd = agent->timer, .events = POLLIN};
	until = earlier(earlier(until, agent->listen_again), agent->place_at);
	if (until > at) {
		left = gp_timespec(until - at);
	}
	if (ppoll(fds, GP_AGENT_CONNECTIONS + 2, until ? &left : NULL, NULL) > 0)
		return;
	for (u32 i = 0; i < GP_AGENT_CONNECTIONS + 2; i++)
		fds[i].revents = 0;
	/* A limit below the number of descriptors we ask about, or no memory: not in a hurry. */
	if (errno == EINVAL || errno == ENOMEM)
		nanosleep(&nap, NULL);
}

static void look_if_due(struct gp_agent *agent, int events)
{
	u64 times;

	if (events & POLLNVAL) { /* closed behind our back */
		gp_agent_disown(agent, agent->timer);
		agent->timer = gp_agent_own(agent, timerfd_create(CLOCK_MONOTONIC,
								  TFD_CLOEXEC | TFD_NONBLOCK));
	} else if (!events || read(agent->timer, &times, sizeof(times)) != (ssize_t)sizeof(times)) {
		return;
	}
	pthread_mutex_lock(&agent->lock);
	gp_agent_look_now(agent);
	pthread_mutex_unlock(&agent->lock);
}

static void *serve(void *data)
{
	struct gp_agent *agent = data;
	struct pollfd fds[GP_AGENT_CONNECTIONS + 2];

	prctl(PR_SET_NAME, "gpreempt-agent");
	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	sweep(agent);
	for (;;) {
		u64 next;

		pthread_mutex_lock(&agent->lock);
		next = gp_agent_tick(agent);
		pthread_mutex_unlock(&agent->lock);
		check_place(agent);
		wait_for_work(agent, next, fds);
		look_if_due(agent, fds[GP_AGENT_CONNECTIONS + 1].revents);
		for (u32 i = 0; i < GP_AGENT_CONNECTIONS; i++) {
			if (fds[i].revents & POLLNVAL)
				drop(agent, i);
			else if (fds[i].revents)
				listen_to(agent, i);
		}
		report_holds(agent);
		if (fds[GP_AGENT_CONNECTIONS].revents & POLLNVAL) {
			/* Closed behind our back. */
			gp_agent_disown(agent, agent->listen);
			agent->listen = -1;
			unlink(agent->path);
		} else if (fds[GP_AGENT_CONNECTIONS].revents) {
			welcome(agent);
		}
		if (agent->listen < 0 && agent->listen_again <= gp_agent_now(agent)) {
			int error = open_socket(agent);

			agent->listen_again = 0;
			if (error)
				agent->listen_again = gp_agent_now(agent) +
						      (comes_later(error) ? ROOM_NS : AGAIN_NS);
		}
	}
	return NULL;
}

static int start_thread(struct gp_agent *agent)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int error = pthread_attr_init(&attributes);

	if (error)
		return -error;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	/* The thread inherits the mask: the program's signals are never delivered to it. */
	sigprocmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attributes, serve, agent);
	sigprocmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -error;
}

void gp_agent_serve(struct gp_agent *agent)
{
	pid_t pid = getpid();
	int error;

	if (agent->pid == pid)
		return;
	if (agent->pid)
		gp_agent_forked(agent); /* by a system call that skipped the handlers */
	if (__atomic_exchange_n(&agent->starting, 1, __ATOMIC_ACQ_REL))
		return;
	gp_agent_identify(&agent->identity);
	agent->pid = pid;
	agent->timer =
		gp_agent_own(agent, timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
	error = agent->timer < 0 ? -errno : open_socket(agent);
	if (comes_later(error)) {
		agent->listen_again = gp_agent_now(agent) + ROOM_NS;
		error = 0;
	}
	if (!error)
		error = start_thread(agent);
	if (error) {
		gp_agent_remove_socket(agent);
		if (agent->timer >= 0)
			gp_agent_disown(agent, agent->timer);
		agent->timer = -1;
		if (agent->listen >= 0)
			gp_agent_disown(agent, agent->listen);
		agent->listen = -1;
		agent->pid = 0;
	}
	__atomic_store_n(&agent->starting, 0, __ATOMIC_RELEASE);
}

void gp_agent_forked(struct gp_agent *agent)
{
	struct gp_agent_driver driver = agent->driver;

	for (u32 i = 0; i < GP_AGENT_OWN_FDS; i++)
		if (agent->own_fd[i] >= 0)
			gp_agent_disown(agent, agent->own_fd[i]);
	gp_agent_hide_all(agent);
	/* A lock may have been held by a thread that does not exist here. */
	memset(agent->owner, 0, sizeof(agent->owner));
	for (u32 id = 0; id < agent->highest; id++)
		agent->queue[id].used = false;
	agent->queue_count = agent->highest = agent->gpu_count = 0;
	agent->share_first = agent->share_by = agent->ruled_by = 0;
	agent->nv.highest = agent->nv.groups = 0;
	agent->watchers = agent->busy = 0;
	agent->look_at = 0;
	agent->usual_ns = agent->most_ns = agent->taken = 0;
	agent->runtime_asked = agent->kfd_is_ours = false;
	agent->retry_at = agent->listen_again = agent->place_at = 0;
	agent->path[0] = '\0';
	agent->pid = 0;
	agent->starting = 0;
	gp_agent_init(agent, &driver);
}
