// SPDX-License-Identifier: MIT
/*
 * Prometheus metrics over HTTP, on 127.0.0.1 unless `metrics_address` says otherwise, and only
 * with `metrics_port`. libmicrohttpd
 * parses the requests without its own thread: its epoll descriptor is part of the loop, so that the
 * thread that decides also reads the figures. The cost of a client is bounded: few connections,
 * little memory each, one answer, a time limit.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef GP_HAVE_MICROHTTPD
#include <microhttpd.h>
#endif

#include "base/buf.h"
#include "base/i18n.h"
#include "daemon/daemon.h"

enum {
	CONNECTIONS = 8,
	CONNECTION_BYTES = 16 * 1024, /* for a request's head and the answer's */
	CONNECTION_S = 30,            /* without a byte in either direction */
	BACKLOG = 16,
};

#ifdef GP_HAVE_MICROHTTPD
static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status,
			     struct gp_buf *body, const char *header, const char *value)
{
	struct MHD_Response *response;
	enum MHD_Result queued = MHD_NO;

	response = body->error ? NULL
			       : MHD_create_response_from_buffer(body->len, body->data,
								 MHD_RESPMEM_MUST_COPY);
	gp_buf_free(body);
	if (!response)
		return MHD_NO;
	/* There are few connections, so each is closed after its answer. */
	if (MHD_add_response_header(response, "Connection", "close") == MHD_YES &&
	    MHD_add_response_header(response, header, value) == MHD_YES)
		queued = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return queued;
}

/* Answers when the head of the request is there: what follows it is not wanted. */
static enum MHD_Result request(void *context, struct MHD_Connection *connection, const char *url,
			       const char *method, const char *version, const char *upload,
			       size_t *upload_size, void **state)
{
	struct gp_daemon *daemon = context;
	struct gp_buf body = {0};

	(void)version;
	(void)upload;
	(void)upload_size;
	(void)state;
	if (strcmp(url, "/metrics") != 0) {
		gp_buf_puts(&body, "Not found; use /metrics.\n");
		return reply(connection, MHD_HTTP_NOT_FOUND, &body, "Content-Type", "text/plain");
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0) {
		gp_buf_puts(&body, "Method not allowed; use GET.\n");
		return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, &body, "Allow", "GET");
	}
	gp_daemon_metrics_text(daemon, &body);
	return reply(connection, MHD_HTTP_OK, &body, "Content-Type",
		     "text/plain; version=0.0.4; charset=utf-8");
}

static u32 connections(const struct gp_daemon_metrics *metrics)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(metrics->http, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

	return info ? info->num_connections : 0;
}

/* One round; the rest of a round that was cut off and time limits come back by the timer. */
static void serve(struct gp_daemon *daemon)
{
	struct gp_daemon_metrics *metrics = &daemon->metrics;
	MHD_UNSIGNED_LONG_LONG wait_ms;
	u32 before = connections(metrics);
	u64 at = UINT64_MAX;

	MHD_run(metrics->http);
	if (MHD_get_timeout(metrics->http, &wait_ms) == MHD_YES)
		at = gp_monotonic_ns() + GP_MIN(wait_ms, CONNECTION_S * 1000ull) * GP_NS_PER_MS;
	/* With all places taken it stops listening, and begins again only in the round after one
	 * became free: nothing else would bring that round. */
	if (connections(metrics) < before)
		at = gp_monotonic_ns();
	gp_timer_set(&daemon->loop, &metrics->timer, at);
}

static void metrics_ready(struct gp_watch *watch, u32 events)
{
	(void)events;
	serve(gp_container(watch, struct gp_daemon, metrics.watch));
}

static void metrics_time(struct gp_timer *timer)
{
	serve(gp_container(timer, struct gp_daemon, metrics.timer));
}

union any_address {
	struct sockaddr common;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* The configuration was checked: the text is a number of one of the two kinds. */
static socklen_t address_of(const char *text, u32 port, union any_address *out)
{
	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
		out->v4.sin_family = AF_INET;
		out->v4.sin_port = htons((u16)port);
		return sizeof(out->v4);
	}
	if (inet_pton(AF_INET6, text, &out->v6.sin6_addr) != 1)
		return 0;
	out->v6.sin6_family = AF_INET6;
	out->v6.sin6_port = htons((u16)port);
	return sizeof(out->v6);
}

/* A listening socket, and which port it got. */
static int listen_on(const char *text, u32 port, u32 *got)
{
	union any_address address;
	socklen_t size = address_of(text, port, &address);
	int on = 1, fd;

	if (!size)
		return -EINVAL;
	fd = socket(address.common.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* A daemon that is started again need not wait for old connections to be forgotten. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, &address.common, size) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, &address.common, &size) < 0) {
		int error = -errno;

		close(fd);
		return error;
	}
	*got = ntohs(address.common.sa_family == AF_INET ? address.v4.sin_port
							 : address.v6.sin6_port);
	return fd;
}

/* Takes the listening socket. */
static int http_start(struct gp_daemon *daemon, int listener)
{
	struct gp_daemon_metrics *metrics = &daemon->metrics;
	const union MHD_DaemonInfo *info;
	int fd;

	metrics->http =
		MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, request, daemon,
				 MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT,
				 (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				 (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
				 (unsigned)CONNECTION_S, MHD_OPTION_END);
	if (!metrics->http) {
		close(listener);
		return -ENOMEM;
	}
	gp_timer_init(&metrics->timer, metrics_time);
	info = MHD_get_daemon_info(metrics->http, MHD_DAEMON_INFO_EPOLL_FD);
	/* The loop owns what it watches; this one is the library's. */
	fd = info ? dup(info->epoll_fd) : -1;
	return fd < 0 ? -EMFILE : gp_loop_watch(&daemon->loop, &metrics->watch, fd, metrics_ready);
}

static void http_stop(struct gp_daemon_metrics *metrics)
{
	MHD_stop_daemon(metrics->http);
}
#else
static int listen_on(const char *text, u32 port, u32 *got)
{
	(void)text;
	(void)port;
	(void)got;
	return -EOPNOTSUPP;
}

static int http_start(struct gp_daemon *daemon, int listener)
{
	(void)daemon;
	(void)listener;
	return -EOPNOTSUPP;
}

static void http_stop(struct gp_daemon_metrics *metrics)
{
	(void)metrics;
}
#endif

/* Takes the listening socket: nothing else listens any more. */
static int start_on(struct gp_daemon *daemon, int listener, const char *address, u32 port)
{
	struct gp_daemon_metrics *metrics = &daemon->metrics;
	int error;

	gp_daemon_metrics_stop(daemon);
	error = http_start(daemon, listener);
	if (error) {
		gp_daemon_metrics_stop(daemon);
		return error;
	}
	metrics->port = port;
	snprintf(metrics->address, sizeof(metrics->address), "%s", address);
	return 0;
}

int gp_daemon_metrics_start(struct gp_daemon *daemon, const char *address, u32 port)
{
	u32 got = 0;
	int listener = listen_on(address, port, &got);

	return listener < 0 ? listener : start_on(daemon, listener, address, got);
}

void gp_daemon_metrics_stop(struct gp_daemon *daemon)
{
	struct gp_daemon_metrics *metrics = &daemon->metrics;

	if (!metrics->http)
		return;
	gp_timer_set(&daemon->loop, &metrics->timer, UINT64_MAX);
	gp_loop_unwatch(&daemon->loop, &metrics->watch);
	http_stop(metrics);
	metrics->http = NULL;
	metrics->port = 0;
}

/* Another address may overlap the old one, whose port is in use until it is given up. */
static int move(struct gp_daemon *daemon, const char *address, u32 port)
{
	char old[GP_CONFIG_TEXT];
	u32 old_port = daemon->metrics.port;
	int error = gp_daemon_metrics_start(daemon, address, port);

	if (error != -EADDRINUSE || port != old_port)
		return error;
	memcpy(old, daemon->metrics.address, sizeof(old));
	gp_daemon_metrics_stop(daemon);
	error = gp_daemon_metrics_start(daemon, address, port);
	if (error)
		gp_daemon_metrics_start(daemon, old, old_port);
	return error;
}

int gp_daemon_metrics_configure(struct gp_daemon *daemon)
{
	u32 port = daemon->config.metrics_port;
	const char *address = daemon->config.metrics_address;
	int error;

	if (port == daemon->metrics.port &&
	    (!port || strcmp(address, daemon->metrics.address) == 0))
		return 0;
	if (!port) {
		gp_daemon_metrics_stop(daemon);
		return 0;
	}
	error = move(daemon, address, port);
	if (error == -EOPNOTSUPP)
		gp_diag(daemon->diag, GP_WARNING,
			"metrics are disabled: this gpreemptd was built without libmicrohttpd");
	else if (error && daemon->metrics.http)
		gp_diag(daemon->diag, GP_WARNING,
			"cannot listen on %s port %u: %s; metrics stay on %s port %u", address,
			port, strerror(-error), daemon->metrics.address, daemon->metrics.port);
	else if (error)
		gp_diag(daemon->diag, GP_WARNING,
			"metrics are disabled: cannot listen on %s port %u: %s", address, port,
			strerror(-error));
	return error;
}
