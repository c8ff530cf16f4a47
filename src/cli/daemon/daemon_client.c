// SPDX-License-Identifier: MIT
/* The connection to gpreemptd: see daemon_client.h. */
#include "cli/daemon/daemon_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "proto/directory.h"

#define TIMEOUT_MS 10000

int gp_cli_daemon_open(struct gp_cli_daemon_client *client, struct gp_diag *diag)
{
	struct gp_proto_msg_hello me = {.pid = (u32)getpid(), .name = "gpreempt"};
	int error;

	client->serial = 0;
	client->wall_ns = (s64)(gp_clock_ns(CLOCK_REALTIME) - gp_monotonic_ns());
	client->socket = gp_proto_directory_connect(GP_DAEMON_SOCKET);
	if (client->socket == -ENOENT || client->socket == -ECONNREFUSED)
		return gp_fail(diag, client->socket,
			       "gpreemptd is not running; start it with 'gpreemptd' or 'systemctl "
			       "start gpreemptd'");
	if (client->socket < 0)
		return gp_fail(diag, client->socket,
			       "cannot connect to gpreemptd: %s; check that it runs ('systemctl "
			       "status gpreemptd') and that you may use its socket",
			       strerror(-client->socket));
	error = gp_cli_daemon_ask(client, diag, GP_MSG_HELLO, &me, sizeof(me), sizeof(me), 0);
	if (error < 0)
		gp_cli_daemon_close(client);
	return error < 0 ? error : 0;
}

void gp_cli_daemon_close(struct gp_cli_daemon_client *client)
{
	if (client->socket >= 0)
		close(client->socket);
	client->socket = -1;
}

int gp_cli_daemon_ask(struct gp_cli_daemon_client *client, struct gp_diag *diag, u16 type,
		      const void *body, size_t size, size_t fixed, size_t each)
{
	struct gp_wire_message *message = &client->message;
	char text[2 * GP_PROTO_TEXT];
	u32 count = 0;
	int status = gp_wire_call(client->socket, type, ++client->serial, body, size, -1, message,
				  TIMEOUT_MS, NULL, NULL);

	if (status == -ETIME)
		return gp_fail(diag, status, "gpreemptd does not answer");
	if ((status == -ECONNRESET || status == -EPIPE) && type == GP_MSG_HELLO)
		return gp_fail(diag, status,
			       "gpreemptd closed the connection; it may be a different version "
			       "(restart it) or have too many clients");
	if (status == -ECONNRESET || status == -EPIPE)
		return gp_fail(diag, status, "gpreemptd closed the connection");
	if (status == -EPROTONOSUPPORT)
		return gp_fail(diag, status, "gpreemptd is a different version; restart it");
	/* Only an answer has reasons. */
	if (status < 0 && message->header.serial == client->serial &&
	    message->header.status == status && gp_wire_why(message)) {
		gp_proto_reasons_text(gp_wire_why(message), text, sizeof(text));
		return gp_fail(diag, status, "%s", text);
	}
	if (status < 0)
		return gp_fail(diag, status,
			       "gpreemptd did not answer: %s; try again, or restart it",
			       strerror(-status));
	if (message->fd >= 0)
		close(message->fd);
	if (each)
		memcpy(&count, message->body, sizeof(count));
	if (!gp_wire_fits(message, fixed, count, each))
		return gp_fail(diag, -EPROTO,
			       "malformed reply from gpreemptd; it may be a different version");
	return status;
}

int gp_cli_daemon_decisions(struct gp_cli_daemon_client *client, struct gp_diag *diag, u64 *first,
			    u32 pid,
			    int (*each)(const struct gp_proto_msg_decision *line, void *data),
			    void *data)
{
	for (;;) {
		struct gp_proto_msg_daemon_ask ask = {.first = *first, .pid = pid};
		const struct gp_proto_msg_decisions *list;
		int status =
			gp_cli_daemon_ask(client, diag, GP_MSG_DAEMON_DECISIONS, &ask, sizeof(ask),
					  sizeof(*list), sizeof(list->decisions[0]));

		if (status <= 0)
			return status;
		list = (const struct gp_proto_msg_decisions *)client->message.body;
		if (!list->count || list->decisions[list->count - 1].id < *first)
			return 0;
		for (u32 i = 0; i < list->count; i++) {
			*first = list->decisions[i].id + 1;
			status = each(&list->decisions[i], data);
			if (status)
				return status;
		}
	}
}

int gp_cli_daemon_work(struct gp_cli_daemon_client *client, struct gp_diag *diag, u64 *first,
		       u32 pid, int (*each)(const struct gp_proto_msg_work *line, void *data),
		       void *data)
{
	for (;;) {
		struct gp_proto_msg_daemon_ask ask = {.first = *first, .pid = pid};
		const struct gp_proto_msg_works *list;
		int status = gp_cli_daemon_ask(client, diag, GP_MSG_DAEMON_WORK, &ask, sizeof(ask),
					       sizeof(*list), sizeof(list->works[0]));

		if (status <= 0)
			return status;
		list = (const struct gp_proto_msg_works *)client->message.body;
		if (!list->count || list->works[list->count - 1].id < *first)
			return 0;
		for (u32 i = 0; i < list->count; i++) {
			*first = list->works[i].id + 1;
			status = each(&list->works[i], data);
			if (status)
				return status;
		}
	}
}

int gp_cli_daemon_jobs(struct gp_cli_daemon_client *client, struct gp_diag *diag, u32 pid,
		       struct gp_proto_msg_job **out)
{
	struct gp_proto_msg_job *jobs = NULL;
	size_t count = 0, capacity = 0;

	*out = NULL;
	for (;;) {
		struct gp_proto_msg_daemon_ask ask = {.first = count, .pid = pid};
		const struct gp_proto_msg_jobs *list;
		int status = gp_cli_daemon_ask(client, diag, GP_MSG_DAEMON_JOBS, &ask, sizeof(ask),
					       sizeof(*list), sizeof(list->jobs[0]));

		list = (const struct gp_proto_msg_jobs *)client->message.body;
		if (status < 0) {
			free(jobs);
			return status;
		}
		for (u32 i = 0; i < list->count; i++) {
			if (gp_array_grow((void **)&jobs, count, &capacity, sizeof(*jobs))) {
				free(jobs);
				return gp_fail(diag, -ENOMEM, "out of memory");
			}
			jobs[count++] = list->jobs[i];
		}
		if (!list->count || count >= (size_t)status)
			break;
	}
	*out = jobs;
	return (int)count;
}

bool gp_cli_daemon_holds_for(u32 pid, char owner[GP_PROTO_NAME])
{
	struct gp_cli_daemon_client *client = malloc(sizeof(*client));
	struct gp_proto_msg_job *jobs = NULL;
	bool found = false;

	if (client && !gp_cli_daemon_open(client, NULL)) {
		found = gp_cli_daemon_jobs(client, NULL, pid, &jobs) > 0 &&
			jobs[0].away == GP_AWAY_OWNER && jobs[0].kept == GP_KEPT_HELD;
		if (found)
			gp_wire_text(owner, GP_PROTO_NAME, jobs[0].owner, sizeof(jobs[0].owner));
		gp_cli_daemon_close(client);
	}
	free(jobs);
	free(client);
	return found;
}

int gp_cli_daemon_unknown(struct gp_diag *diag, u32 pid)
{
	return gp_fail(diag, -ESRCH,
		       "gpreemptd does not know process %u; 'gpreempt top --once' lists all jobs",
		       pid);
}
