// SPDX-License-Identifier: MIT
/*
 * Requests to the server. Every thread has its own connection, so that a call that waits in the
 * server delays no other thread, and a signal interrupts only the call of its own thread.
 *
 * Threads beyond what descriptors or the server allow take turns on the first connection. The
 * thread that has it is one atomic word, so there is no moment at which a signal handler of that
 * thread would wait for itself; such a handler gets -EBUSY.
 *
 * An ioctl is not a cancellation point, but the calls that a request consists of are, so a thread
 * cannot be cancelled during one: it would take the connection with it.
 *
 * A signal ends the wait for a reply (unless the handler restarts system calls): the library sends
 * CANCEL, and the reply says whether the server finished the request or gave it up.
 */
#include "vgpu/preload/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fdpass.h"
#include "vgpu/heap.h"

#define MAX_FDS       3
#define LIMIT_SECONDS 3600 /* any: the wait goes on after it */

/* Never freed, so that a forked child can walk the list whatever its parent was doing. */
struct connection {
	struct connection *next;
	_Atomic bool taken;
	_Atomic int fd;
	bool busy; /* a request is under way; a signal handler that calls us finds it so */
	u32 sequence;
	pid_t pid;
};

static _Atomic(struct connection *) connections;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

/* The first connection, for threads that get none of their own. */
static struct {
	_Atomic u32 owner; /* thread id; 0 = free. Others wait on it with a futex. */
	struct connection connection;
} common;

static void drop(struct connection *connection)
{
	gp_vgpu_close_own(atomic_exchange(&connection->fd, -1));
	atomic_store(&connection->taken, false);
}

static void thread_ends(void *connection)
{
	drop(connection);
}

static void make_key(void)
{
	pthread_key_create(&key, thread_ends);
}

void gp_vgpu_connections_forked(void)
{
	for (struct connection *c = atomic_load(&connections); c; c = c->next)
		drop(c);
	common.owner = 0;
	pthread_once(&once, make_key);
	pthread_setspecific(key, NULL);
}

/* ---- socket ---- */

/* Directories too long for sun_path are reached through a descriptor. */
static int open_socket(void)
{
	static const char name[] = "/" GP_VGPU_SOCKET;
	const char *directory = gp_vgpu_client_directory();
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(directory);
	int dir_fd = -1, fd, error = 0;

	if (length + sizeof(name) <= sizeof(address.sun_path)) {
		memcpy(address.sun_path, directory, length);
		memcpy(address.sun_path + length, name, sizeof(name));
	} else {
		dir_fd = (int)syscall(SYS_openat, AT_FDCWD, directory,
				      O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir_fd < 0)
			return -errno;
		strcpy(address.sun_path, "/proc/self/fd/");
		gp_vgpu_number(address.sun_path + strlen(address.sun_path), (u32)dir_fd);
		strcat(address.sun_path, name);
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		error = -errno;
	while (!error && connect(fd, (struct sockaddr *)&address, sizeof(address)))
		if (errno != EINTR)
			error = -errno;
	if (dir_fd >= 0)
		syscall(SYS_close, dir_fd);
	if (!error)
		return gp_vgpu_own_fd(fd);
	if (fd >= 0)
		syscall(SYS_close, fd);
	return error;
}

static int send_message(int fd, const struct gp_vgpu_header *header,
			const struct gp_vgpu_call *call)
{
	struct iovec parts[2] = {{(void *)header, sizeof(*header)},
				 {call->payload, header->payload_size}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = header->payload_size ? 2 : 1};
	union gp_fdpass room;
	ssize_t sent;

	gp_fdpass_put(&message, &room, &call->send_fd, call->send_fd >= 0);
	do
		sent = sendmsg(fd, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* close() itself is interposed. */
static void close_unseen(int fd)
{
	syscall(SYS_close, fd);
}

/* 0, -EINTR when a signal came first, -EPROTO when that was no reply, or another -errno. */
static int receive_message(int fd, struct gp_vgpu_reply *reply, struct gp_vgpu_call *call,
			   int fds[MAX_FDS])
{
	struct iovec parts[2] = {{reply, sizeof(*reply)}, {call->payload, call->payload_room}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = call->payload_room ? 2 : 1};
	union gp_fdpass room;
	ssize_t got;

	gp_fdpass_expect(&message, &room);
	got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	if (got < 0)
		return -errno;
	if (got == 0)
		return -ENOTCONN;
	gp_fdpass_take(&message, fds, MAX_FDS, close_unseen);
	if ((size_t)got < sizeof(*reply))
		return -EPROTO;
	call->payload_size = (u32)((size_t)got - sizeof(*reply));
	return 0;
}

/* With a time limit on it, and only then, the kernel never restarts a receive. */
static void set_limit(int fd, time_t seconds)
{
	struct timeval limit = {.tv_sec = seconds};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

/* ---- one request ---- */

static int exchange(struct connection *connection, struct gp_vgpu_call *call, int fds[MAX_FDS])
{
	struct gp_vgpu_header header = {
		.version = GP_VGPU_VERSION,
		.kind = call->kind,
		.sequence = ++connection->sequence,
		.tid = (s32)syscall(SYS_gettid),
		.ioctl_nr = call->ioctl_nr,
		.args_size = call->args_size,
		.payload_size = call->payload_size,
		.flags = call->flags,
	};
	struct gp_vgpu_call cancel = {.send_fd = -1};
	struct gp_vgpu_reply reply;
	int error;

	if (call->args_size > GP_VGPU_ARGS_MAX)
		return -EINVAL;
	if (call->args_size)
		memcpy(header.args, call->args, call->args_size);
	for (int i = 0; i < MAX_FDS; i++)
		fds[i] = -1;
	error = send_message(connection->fd, &header, call);
	if (error)
		return -ENODEV;
	header.kind = GP_VGPU_CANCEL;
	header.payload_size = 0;
	do {
		error = receive_message(connection->fd, &reply, call, fds);
		/* Once; the reply comes in any case. */
		if (error == -EINTR && header.kind == GP_VGPU_CANCEL) {
			if (send_message(connection->fd, &header, &cancel))
				return -ENODEV;
			header.kind = 0;
		}
	} while (error == -EINTR || error == -EAGAIN ||
		 (!error && reply.sequence != header.sequence));
	if (error)
		return -ENODEV;
	if (call->args_size && reply.args_size <= call->args_size)
		memcpy(call->args, reply.args, reply.args_size);
	return reply.result;
}

static int say_hello(struct connection *connection, struct gp_vgpu_hello hello,
		     struct gp_vgpu_welcome *welcome, int fds[MAX_FDS])
{
	union {
		struct gp_vgpu_hello hello;
		struct gp_vgpu_welcome welcome;
	} payload = {.hello = hello};
	struct gp_vgpu_call call = {
		.kind = GP_VGPU_HELLO,
		.payload = &payload,
		.payload_size = sizeof(payload.hello),
		.payload_room = sizeof(payload),
		.send_fd = -1,
	};
	int result = exchange(connection, &call, fds);

	if (result < 0)
		return result;
	if (welcome) {
		if (call.payload_size != sizeof(*welcome))
			return -EPROTO;
		*welcome = payload.welcome;
	}
	return 0;
}

int gp_vgpu_connect_first(struct gp_vgpu_client *client, int fds[3])
{
	struct connection connection = {.fd = open_socket()};
	int error;

	for (int i = 0; i < MAX_FDS; i++)
		fds[i] = -1;
	if (connection.fd < 0)
		return connection.fd;
	client->lifeline = connection.fd;
	error = say_hello(&connection, (struct gp_vgpu_hello){.secondary = client->file != 0},
			  &client->machine, fds);
	if (!error)
		return 0;
	for (int i = 0; i < MAX_FDS; i++)
		if (fds[i] >= 0)
			syscall(SYS_close, fds[i]);
	return error;
}

/* ---- the thread's connection ---- */

static struct connection *new_connection(void)
{
	struct connection *c;

	for (c = atomic_load(&connections); c; c = c->next) {
		bool taken = false;

		if (atomic_compare_exchange_strong(&c->taken, &taken, true))
			return c;
	}
	c = gp_vgpu_alloc(sizeof(*c));
	if (!c)
		return NULL;
	c->taken = true;
	c->fd = -1;
	c->next = atomic_load(&connections);
	while (!atomic_compare_exchange_weak(&connections, &c->next, c))
		;
	return c;
}

static bool connect_it(struct gp_vgpu_client *client, struct connection *c)
{
	int fds[MAX_FDS], error;

	c->pid = client->pid;
	c->busy = false;
	c->sequence = 0;
	c->fd = open_socket();
	error = c->fd < 0 ? c->fd
			  : say_hello(c, (struct gp_vgpu_hello){.token = client->machine.token},
				      NULL, fds);
	if (c->fd >= 0)
		for (int i = 0; i < MAX_FDS; i++)
			if (fds[i] >= 0)
				syscall(SYS_close, fds[i]);
	return !error;
}

static struct connection *thread_connection(struct gp_vgpu_client *client, bool *temporary)
{
	struct connection *c;

	pthread_once(&once, make_key);
	c = pthread_getspecific(key);
	/* The thread's own is one of the primary client. */
	*temporary = client->file || (c && c->pid == client->pid && c->busy);
	if (c && !*temporary && c->pid == client->pid && c->fd >= 0)
		return c;
	c = new_connection();
	if (!c)
		return NULL;
	if (!connect_it(client, c)) {
		drop(c);
		return NULL;
	}
	if (!*temporary)
		pthread_setspecific(key, c);
	return c;
}

/* The same for every thread. -ENODEV: the server is gone. */
static int common_take(struct gp_vgpu_client *client, struct connection **connection)
{
	u32 self = (u32)syscall(SYS_gettid), owner = 0;
	char byte;

	if (!recv(client->lifeline, &byte, 1, MSG_PEEK | MSG_DONTWAIT))
		return -ENODEV;
	while (!atomic_compare_exchange_strong(&common.owner, &owner, self)) {
		if (owner == self)
			return -EBUSY;
		syscall(SYS_futex, &common.owner, FUTEX_WAIT_PRIVATE, owner, NULL, NULL, 0);
		owner = 0;
	}
	common.connection.fd = client->lifeline;
	*connection = &common.connection;
	return 0;
}

static void common_release(void)
{
	atomic_store(&common.owner, 0);
	syscall(SYS_futex, &common.owner, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void server_gone(struct gp_vgpu_client *client)
{
	if (!atomic_exchange(&client->gone, true))
		gp_vgpu_say("the virtual GPU has ended: ", client->directory);
}

static int request(struct gp_vgpu_client *client, struct gp_vgpu_call *call)
{
	int fds[MAX_FDS] = {-1, -1, -1};
	struct connection *connection;
	bool temporary;
	int result = 0;

	connection = thread_connection(client, &temporary);
	if (!connection)
		result = common_take(client, &connection);
	if (result) {
		if (result == -ENODEV)
			server_gone(client);
		return result;
	}
	connection->busy = true;
	if (call->never_restarts)
		set_limit(connection->fd, LIMIT_SECONDS);
	result = exchange(connection, call, fds);
	if (call->never_restarts)
		set_limit(connection->fd, 0);
	connection->busy = false;
	/* No answer at all, as opposed to the answer -ENODEV: the socket tells. */
	if (result == -ENODEV) {
		char byte;

		if (recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN)
			server_gone(client);
	}
	if (connection == &common.connection)
		common_release();
	else if (temporary)
		drop(connection);
	call->receive_fd = fds[0];
	for (int i = 1; i < MAX_FDS; i++)
		if (fds[i] >= 0)
			syscall(SYS_close, fds[i]);
	return result;
}

int gp_vgpu_client_request(struct gp_vgpu_client *client, struct gp_vgpu_call *call)
{
	int saved = errno, cancel, result;

	call->receive_fd = -1;
	if (client->gone)
		return -ENODEV;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	result = request(client, call);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return result;
}

int gp_vgpu_client_exception(struct gp_vgpu_client *client, const struct gp_vgpu_exception *what)
{
	struct gp_vgpu_exception payload = *what;
	struct gp_vgpu_call call = {
		.kind = GP_VGPU_EXCEPTION,
		.payload = &payload,
		.payload_size = sizeof(payload),
		.send_fd = -1,
	};
	int result = gp_vgpu_client_request(client, &call);

	return result < 0 ? GP_VGPU_TELL_OLD : result;
}

void gp_vgpu_refresh(const char *path)
{
	struct connection connection = {0};
	struct gp_vgpu_call call = {
		.kind = GP_VGPU_REFRESH,
		.payload = (void *)path,
		.payload_size = (u32)strlen(path) + 1,
		.send_fd = -1,
	};
	int saved = errno, cancel, fds[MAX_FDS];

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	/* Reading files does not make a process a client, so this is a separate connection. */
	connection.fd = open_socket();
	if (connection.fd >= 0) {
		exchange(&connection, &call, fds);
		gp_vgpu_close_own(connection.fd);
	}
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}
