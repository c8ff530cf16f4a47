// SPDX-License-Identifier: MIT
/* The connection to gpreemptd: see daemon_client.h. */
#include "cli/daemon/daemon_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/host/stopped.h"
#include "proto/directory.h"

enum { STEP_MS = 1000, HELLO_MS = 2000, TIMEOUT_MS = 10000 };

/* ---- a gpreemptd that does not answer ---- */

/* The letter of its state in /proc/PID/stat; 0: not known. */
static char process_state(u32 pid)
{
	char path[64], text[512], *end;
	int fd, len;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = (int)read(fd, text, sizeof(text) - 1);
	close(fd);
	text[GP_MAX(len, 0)] = '\0';
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : 0;
}

static enum gp_stopped stopped(u32 pid)
{
	static const struct gp_root live = {""};
	struct gp_freezers freezers = {0};
	struct gp_stopped_look look;

	if (!pid)
		return GP_STOPPED_NOT;
	gp_freezers_find(&live, &freezers);
	return gp_stopped_read(&live, &freezers, pid, &look) ? GP_STOPPED_NOT : look.by;
}

/*
 * Waiting on is of no use if it is stopped. One that greets nobody and does not run either hangs;
 * on a machine with much to do it is ready to run, and gets all the time there is.
 */
static bool is_hopeless(u32 pid, u16 type, int waited_ms)
{
	enum gp_stopped by = stopped(pid);
	char state;

	if (by == GP_STOPPED_SIGNAL || by == GP_STOPPED_FROZEN)
		return true;
	state = type == GP_MSG_HELLO && waited_ms >= HELLO_MS && pid ? process_state(pid) : 0;
	return state && state != 'R';
}

static int call(struct gp_cli_daemon_client *client, u16 type, const void *body, size_t size)
{
	struct gp_wire_message *message = &client->message;
	int status = gp_wire_call(client->socket, type, ++client->serial, body, size, -1, message,
				  STEP_MS, NULL, NULL);

	for (int waited_ms = STEP_MS; status == -ETIME && waited_ms < TIMEOUT_MS &&
				      !is_hopeless(client->pid, type, waited_ms);
	     waited_ms += STEP_MS)
		status = gp_wire_await(client->socket, type, client->serial, message, STEP_MS, NULL,
				       NULL);
	return status;
}

static int say_silent(u32 pid, struct gp_diag *diag)
{
	switch (stopped(pid)) {
	case GP_STOPPED_SIGNAL:
		return gp_fail(diag, -ETIME,
			       "gpreemptd (pid %u) is stopped and cannot answer; 'kill -CONT %u' "
			       "continues it",
			       pid, pid);
	case GP_STOPPED_FROZEN:
		return gp_fail(diag, -ETIME,
			       "gpreemptd (pid %u) is frozen and cannot answer; thaw its control "
			       "group, or unpause its container",
			       pid);
	default:
		return gp_fail(diag, -ETIME,
			       "gpreemptd does not answer; if this persists, restart it "
			       "('systemctl restart gpreemptd'): jobs that it holds run again");
	}
}

/* ---- the connection ---- */

static void note_peer(struct gp_cli_daemon_client *client, struct gp_diag *diag)
{
	pid_t pid = 0;
	uid_t uid;

	if (gp_wire_peer(client->socket, &pid, &uid) || pid <= 0)
		return;
	if (client->pid && client->pid != (u32)pid)
		gp_diag(diag, GP_NOTE, "gpreemptd restarted (pid %u, before: %u)", (u32)pid,
			client->pid);
	client->pid = (u32)pid;
}

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
	note_peer(client, diag);
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
	int status = call(client, type, body, size);

	if (status == -ETIME)
		return say_silent(client->pid, diag);
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

bool gp_cli_daemon_is_away(int error)
{
	return error == -ENOENT || error == -ECONNREFUSED || error == -ECONNRESET ||
	       error == -EPIPE || error == -ETIME;
}

int gp_cli_daemon_holds_for(u32 pid, char owner[GP_PROTO_NAME])
{
	struct gp_cli_daemon_client *client = calloc(1, sizeof(*client));
	struct gp_proto_msg_job *jobs = NULL;
	int found = client ? gp_cli_daemon_open(client, NULL) : -ENOMEM;

	if (!found) {
		found = gp_cli_daemon_jobs(client, NULL, pid, &jobs);
		if (found > 0)
			found = jobs[0].away == GP_AWAY_OWNER && jobs[0].kept == GP_KEPT_HELD;
		if (found > 0)
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
