// SPDX-License-Identifier: MIT
/*
 * Decisions in the journal of systemd, with a field for each value: see diary.h. One datagram per
 * decision, of lines NAME=value, to the socket of journald; snapshots are not written.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/daemon.h"
#include "proto/diary.h"

#define SOCKET "/run/systemd/journal/socket"
#define WORD   "journal"
/* How long a journald that does not read is waited for once the daemon wants to end, and how often
 * is looked whether it does. */
#define LAST_NS (GP_NS_PER_S)
#define LOOK_US 200000
/* Of our decisions, as journalctl MESSAGE_ID= finds them. */
#define MESSAGE_ID "5f1c0f6de30c4f2fa28a6f1f0f7f4c71"

const char *gp_daemon_journal_socket(const char *decision_log)
{
	size_t word = strlen(WORD);

	if (strncmp(decision_log, WORD, word) != 0)
		return NULL;
	if (decision_log[word] == '\0')
		return SOCKET;
	return decision_log[word] == ':' && decision_log[word + 1] == '/' ? decision_log + word + 1
									  : NULL;
}

/* A program chooses its name: a line break in it must not begin another field. */
static void put_text(struct gp_buf *out, const char *field, const char *text)
{
	if (!*text)
		return;
	gp_buf_printf(out, "%s=", field);
	for (; *text; text++)
		gp_buf_printf(out, "%c", (unsigned char)*text < ' ' || *text == 127 ? '?' : *text);
	gp_buf_printf(out, "\n");
}

static void put_number(struct gp_buf *out, const char *field, bool known, u64 number)
{
	if (known)
		gp_buf_printf(out, "%s=%llu\n", field, (unsigned long long)number);
}

/* What a user set, and to what. */
static const char *name_setting(const struct gp_proto_msg_decision *line, char *value, size_t size)
{
	static const char *const classes[] = GP_CLASS_NAMES;

	switch (line->why) {
	case GP_DAEMON_SET_PRIORITY:
		snprintf(value, size, "%u", line->job_priority);
		return "priority";
	case GP_DAEMON_SET_CLASS:
		snprintf(value, size, "%s",
			 line->job_class < GP_ARRAY_SIZE(classes) ? classes[line->job_class] : "?");
		return "class";
	case GP_DAEMON_SET_WEIGHT:
		snprintf(value, size, "%u", line->share);
		return "weight";
	}
	return NULL;
}

static void put_message(struct gp_buf *out, const struct gp_proto_msg_decision *line)
{
	const char *kind = gp_proto_decision_kind_name(line->kind);
	bool core = line->kind <= GP_DECISION_NOTE && line->why < GP_SCHED_WHYS;
	const char *why = core ? gp_sched_why_name(line->why) : NULL;
	char text[3 * GP_PROTO_NAME + 128], other[GP_PROTO_NAME + 32] = "", value[16] = "";

	if (line->kind == GP_DECISION_SET)
		why = name_setting(line, value, sizeof(value));
	if (line->other_pid)
		snprintf(other, sizeof(other), ", %s (pid %u)", line->other_name, line->other_pid);
	else if (*line->other_name)
		snprintf(other, sizeof(other), ", %s", line->other_name);
	snprintf(text, sizeof(text), "%s%s: %s (pid %u)%s%s%s%s%s", kind ? kind : "?",
		 line->observed ? " (observed)" : "", line->job_name, line->job_pid, other,
		 why ? ": " : "", why ? why : "", *value ? " " : "", value);
	put_text(out, "MESSAGE", text);
	put_text(out, "GPREEMPT_KIND", kind ? kind : "");
	put_text(out, "GPREEMPT_WHY", why ? why : "");
	put_text(out, "GPREEMPT_VALUE", value);
}

static void put_fields(struct gp_buf *out, const struct gp_proto_msg_decision *line)
{
	const u64 none = GP_DAEMON_UNKNOWN;

	put_message(out, line);
	gp_buf_printf(out, "MESSAGE_ID=" MESSAGE_ID "\nPRIORITY=6\nSYSLOG_IDENTIFIER=gpreemptd\n");
	put_number(out, "GPREEMPT_DECISION", true, line->id);
	put_number(out, "GPREEMPT_JOB", line->job, line->job);
	put_number(out, "GPREEMPT_JOB_PID", line->job_pid, line->job_pid);
	put_text(out, "GPREEMPT_JOB_NAME", line->job_name);
	put_number(out, "GPREEMPT_OTHER", line->other, line->other);
	put_number(out, "GPREEMPT_OTHER_PID", line->other_pid, line->other_pid);
	put_text(out, "GPREEMPT_OTHER_NAME", line->other_name);
	if (line->gpu_id)
		gp_buf_printf(out, "GPREEMPT_GPU=0x%x\n", line->gpu_id);
	put_number(out, "GPREEMPT_OBSERVED", true, line->observed);
	put_number(out, "GPREEMPT_WAITED_NS", line->waited_ns != none, line->waited_ns);
	put_number(out, "GPREEMPT_RAN_NS", line->ran_ns != none, line->ran_ns);
	put_number(out, "GPREEMPT_COST_NS", line->cost_ns != none, line->cost_ns);
	put_number(out, "GPREEMPT_SAVES_NS", line->saves_ns != none, line->saves_ns);
	if (line->error)
		gp_buf_printf(out, "GPREEMPT_ERRNO=%d\n", -line->error);
}

static int connect_to(const char *path)
{
	const struct timeval look = {.tv_usec = LOOK_US};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &look, sizeof(look)) == 0 &&
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	int error = -errno;

	close(fd);
	return error;
}

/* One datagram; `end`: when the wait is over, which is known once *quit is set. */
static int send_one(int fd, const struct gp_buf *fields, const atomic_bool *quit, u64 *end)
{
	for (;;) {
		if (!*end && atomic_load(quit))
			*end = gp_monotonic_ns() + LAST_NS;
		if (*end && gp_monotonic_ns() >= *end)
			return -ETIMEDOUT;
		if (send(fd, fields->data, fields->len, MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
}

int gp_daemon_journal_put(const char *path, const struct gp_buf *text, const atomic_bool *quit)
{
	const char *at = text->data, *end = text->data + text->len;
	struct gp_proto_diary_line line;
	int fd = connect_to(path), error = 0, first = fd < 0 ? fd : 0;
	u64 last = 0;

	/* One that cannot be sent does not keep back the others. */
	while (fd >= 0 && error != -ETIMEDOUT && at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((stop ? stop : end) - at);
		struct gp_buf fields = {0};

		if (gp_proto_diary_read(at, length, &line) && line.kind == GP_DIARY_DECISION) {
			put_fields(&fields, &line.is.decision);
			error = fields.error ? fields.error : send_one(fd, &fields, quit, &last);
			first = first ? first : error;
			gp_buf_free(&fields);
		}
		at += length + 1;
	}
	if (fd >= 0)
		close(fd);
	return first;
}
