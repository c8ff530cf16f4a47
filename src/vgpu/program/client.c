// SPDX-License-Identifier: MIT
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/i18n.h"
#include "base/parse.h"
#include "vgpu/program/program.h"

#define PATIENCE_MS  30000 /* a server that is alive answers in far less */
#define PATIENCE_ENV "GPREEMPT_VGPU_PATIENCE_MS"
#define MS_PER_S     1000

static int patience_ms(void)
{
	const char *text = getenv(PATIENCE_ENV);
	u64 number;

	return text && gp_argument_u64(text, &number) && number && number < INT_MAX ? (int)number
										    : PATIENCE_MS;
}

/* Neither connecting nor asking may hang on a server that does not run. */
static void limit_waits(int fd)
{
	int ms = patience_ms();
	struct timeval limit = {.tv_sec = ms / MS_PER_S,
				.tv_usec = (suseconds_t)(ms % MS_PER_S) * 1000};

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

int gp_vgpu_connect(const char *directory)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s/" GP_VGPU_SOCKET, directory) >=
	    (int)sizeof(address.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	limit_waits(fd);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		int error = errno == EAGAIN ? -ETIMEDOUT : -errno;

		close(fd);
		return error;
	}
	return fd;
}

/* A request without arguments. The reply, header and payload, is owned by the caller. */
static int ask(int fd, u32 kind, struct gp_vgpu_reply **out, size_t *payload)
{
	struct gp_vgpu_header request = {
		.version = GP_VGPU_VERSION,
		.kind = kind,
		.sequence = 1,
		.tid = getpid(),
	};
	size_t room = sizeof(struct gp_vgpu_reply) + GP_VGPU_PAYLOAD_MAX;
	ssize_t n;

	if (send(fd, &request, sizeof(request), MSG_NOSIGNAL) != (ssize_t)sizeof(request))
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	*out = malloc(room);
	if (!*out)
		return -ENOMEM;
	do
		n = recv(fd, *out, room, 0);
	while (n < 0 && errno == EINTR);
	if (n >= (ssize_t)sizeof(struct gp_vgpu_reply)) {
		*payload = (size_t)n - sizeof(struct gp_vgpu_reply);
		return 0;
	}
	if (n < 0)
		n = errno == EAGAIN ? -ETIMEDOUT : -errno;
	else
		n = -EPROTO;
	free(*out);
	*out = NULL;
	return (int)n;
}

int gp_vgpu_not_running(const char *directory, int error, struct gp_diag *diag)
{
	const char *slash = strrchr(directory, '/'), *name = slash ? slash + 1 : directory;

	if (error == -ENOENT || error == -ECONNREFUSED) {
		if (strncmp(name, GP_VGPU_PRIVATE, strlen(GP_VGPU_PRIVATE)) == 0)
			return gp_fail(diag, -ENOENT, "the machine in %s has stopped", directory);
		if (strcmp(name, GP_VGPU_DEFAULT) == 0)
			return gp_fail(
				diag, -ENOENT,
				"machine '%s' is not running; start it with 'gpreempt vgpu start'",
				name);
		return gp_fail(diag, -ENOENT,
			       "machine '%s' is not running; start it with 'gpreempt vgpu start "
			       "--name %s'",
			       name, name);
	}
	return gp_fail(diag, error,
		       "cannot reach the machine in %s: %s; stop it with 'gpreempt vgpu stop' and "
		       "start it again",
		       directory, strerror(-error));
}

int gp_vgpu_status(const char *directory, struct gp_diag *diag, json_t **out)
{
	struct gp_vgpu_reply *reply = NULL;
	json_error_t why;
	size_t payload = 0;
	int fd = gp_vgpu_connect(directory), error;

	*out = NULL;
	if (fd < 0)
		return gp_vgpu_not_running(directory, fd, diag);
	error = ask(fd, GP_VGPU_STATUS, &reply, &payload);
	close(fd);
	if (!error && reply->result < 0)
		error = reply->result;
	if (!error) {
		*out = json_loadb((const char *)(reply + 1), payload, 0, &why);
		error = *out ? 0 : -EPROTO;
	}
	free(reply);
	if (error)
		gp_fail(diag, error, "the machine in %s does not answer: %s", directory,
			strerror(-error));
	return error;
}

static int wait_for_end(int pidfd)
{
	int ended;

	do
		ended = poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, patience_ms());
	while (ended < 0 && errno == EINTR);
	return ended > 0 ? 0 : -ETIMEDOUT;
}

/* A process behind the socket, as a descriptor; -1 when there is none. */
static int server_of(int fd)
{
	struct ucred server = {0};

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &server, &(socklen_t){sizeof(server)}) ||
	    server.pid <= 0)
		return -1;
	return (int)syscall(SYS_pidfd_open, server.pid, 0);
}

bool gp_vgpu_answers(const char *directory)
{
	struct gp_vgpu_reply *reply = NULL;
	size_t payload;
	int fd = gp_vgpu_connect(directory), pidfd, error;

	if (fd < 0)
		return false;
	pidfd = server_of(fd);
	error = ask(fd, GP_VGPU_STATUS, &reply, &payload);
	free(reply);
	close(fd);
	/* On its way out: wait until it is. */
	if (error && error != -ETIMEDOUT && pidfd >= 0)
		(void)wait_for_end(pidfd);
	if (pidfd >= 0)
		close(pidfd);
	return !error || error == -ETIMEDOUT;
}

int gp_vgpu_stop(const char *directory, struct gp_diag *diag)
{
	struct gp_vgpu_reply *reply = NULL;
	size_t payload;
	int fd = gp_vgpu_connect(directory), pidfd, error;

	if (fd < 0)
		return gp_vgpu_not_running(directory, fd, diag);
	pidfd = server_of(fd);
	error = ask(fd, GP_VGPU_STOP, &reply, &payload);
	/* It may be gone before it could answer. */
	if (error == -EPROTO || error == -ECONNRESET || error == -EPIPE)
		error = 0;
	free(reply);
	close(fd);
	if (!error && pidfd >= 0)
		error = wait_for_end(pidfd);
	if (pidfd >= 0)
		close(pidfd);
	if (error)
		gp_fail(diag, error, "cannot stop the machine in %s: %s", directory,
			strerror(-error));
	return error;
}
