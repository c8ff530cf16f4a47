// SPDX-License-Identifier: MIT
/* Asking an agent about its hints. See ahead.h. */
#include "cli/ahead.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/i18n.h"
#include "base/units.h"
#include "proto/directory.h"
#include "proto/wire.h"

#define TIMEOUT_MS 1000

struct question {
	u32 pid;
	bool answered;
	struct gp_proto_msg_ahead *out;
	struct gp_wire_message message;
};

/* The process at the other end is who the kernel says; its name for itself does not count. */
static bool is_asked(int fd, u32 pid)
{
	pid_t peer;
	uid_t uid;

	return gp_wire_peer(fd, &peer, &uid) == 0 && (u32)peer == pid && gp_wire_agent_allowed(uid);
}

static void ask(void *data, const char *agents, const char *name)
{
	struct gp_proto_msg_hello me = {.pid = (u32)getpid()};
	struct question *question = data;
	struct gp_wire_message *got = &question->message;
	char path[PATH_MAX];
	int fd, error;

	if (question->answered ||
	    (size_t)snprintf(path, sizeof(path), "%s/%s", agents, name) >= sizeof(path))
		return;
	fd = gp_proto_directory_connect_owned(path);
	if (fd < 0)
		return;
	got->fd = -1;
	error = !is_asked(fd, question->pid);
	if (!error)
		error = gp_wire_call(fd, GP_MSG_HELLO, 1, &me, sizeof(me), -1, got, TIMEOUT_MS,
				     NULL, NULL);
	if (!error)
		error = gp_wire_call(fd, GP_MSG_AGENT_AHEAD, 2, NULL, 0, -1, got, TIMEOUT_MS, NULL,
				     NULL);
	if (!error && gp_wire_fits(got, sizeof(*question->out), 0, 0)) {
		memcpy(question->out, got->body, sizeof(*question->out));
		question->answered = true;
	}
	if (got->fd >= 0)
		close(got->fd);
	close(fd);
}

bool gp_cli_ahead_read(u32 pid, struct gp_proto_msg_ahead *out)
{
	struct question *question = calloc(1, sizeof(*question));
	char agents[PATH_MAX];
	bool answered;

	*out = (struct gp_proto_msg_ahead){.state = GP_AHEAD_NONE};
	if (!question)
		return false;
	question->pid = pid;
	question->out = out;
	if (!gp_proto_directory_path(agents, sizeof(agents), "agents", 0))
		(void)gp_proto_directory_each_agent(agents, ask, question);
	if (!question->answered && !gp_proto_directory_other_agents(agents, sizeof(agents)))
		(void)gp_proto_directory_each_agent(agents, ask, question);
	answered = question->answered && out->state != GP_AHEAD_NONE;
	free(question);
	return answered;
}

/* ---- showing ---- */

static void add_state(struct gp_doc *doc, const struct gp_proto_msg_ahead *ahead)
{
	u64 off = ahead->off_ms * GP_NS_PER_MS;

	switch (ahead->state) {
	case GP_AHEAD_LEARNING:
		gp_doc_line(doc, "Switching ahead (auto): no descriptor is known to be followed by "
				 "launches yet.");
		break;
	case GP_AHEAD_OFF_FALSE:
		gp_doc_line(doc,
			    "Switching ahead (auto) is off for another %s: most switches were not "
			    "followed by a launch.",
			    gp_duration_text(off).text);
		break;
	case GP_AHEAD_OFF_SLOWER:
		gp_doc_line(doc,
			    "Switching ahead (auto) is off for another %s: it did not make "
			    "requests faster.",
			    gp_duration_text(off).text);
		break;
	default:
		gp_doc_line(doc,
			    "Switching ahead (auto): launches follow %s after a request arrives "
			    "(descriptors: %u).",
			    gp_duration_text(ahead->delay_us * GP_NS_PER_US).text, ahead->sources);
		break;
	}
}

void gp_cli_ahead_lines(struct gp_doc *doc, const struct gp_proto_msg_ahead *ahead)
{
	add_state(doc, ahead);
	gp_doc_line(doc,
		    "Switches ahead: %llu; requested by front ends: %llu; without a launch: %llu, "
		    "%s of GPU time; declined for lack of budget: %llu.",
		    (unsigned long long)ahead->hints, (unsigned long long)ahead->told,
		    (unsigned long long)ahead->wasted, gp_duration_text(ahead->wasted_ns).text,
		    (unsigned long long)ahead->refused);
	if (ahead->with_us && ahead->without_us)
		gp_doc_line(doc, "A request takes %s with it and %s without.",
			    gp_duration_text(ahead->with_us * GP_NS_PER_US).text,
			    gp_duration_text(ahead->without_us * GP_NS_PER_US).text);
}

static const char *state_name(u32 state)
{
	static const char *const names[] = {
		[GP_AHEAD_LEARNING] = "learning",
		[GP_AHEAD_ON] = "on",
		[GP_AHEAD_OFF_FALSE] = "off_false",
		[GP_AHEAD_OFF_SLOWER] = "off_slower",
	};

	return state < GP_ARRAY_SIZE(names) ? names[state] : NULL;
}

void gp_cli_ahead_facts(struct gp_doc *doc, bool known, const struct gp_proto_msg_ahead *ahead)
{
	if (!known) {
		gp_doc_fact(doc, "ahead", NULL, gp_v_missing());
		return;
	}
	gp_doc_open(doc, "ahead", NULL);
	gp_doc_fact(doc, "state", NULL, gp_v_text(state_name(ahead->state)));
	gp_doc_fact(doc, "descriptors", NULL, gp_v_count(ahead->sources));
	gp_doc_fact(doc, "hints", NULL, gp_v_count(ahead->hints));
	gp_doc_fact(doc, "told", NULL, gp_v_count(ahead->told));
	gp_doc_fact(doc, "useful", NULL, gp_v_count(ahead->useful));
	gp_doc_fact(doc, "wasted", NULL, gp_v_count(ahead->wasted));
	gp_doc_fact(doc, "wasted_ns", NULL, gp_v_count(ahead->wasted_ns));
	gp_doc_fact(doc, "refused", NULL, gp_v_count(ahead->refused));
	gp_doc_fact(doc, "delay_us", NULL, gp_v_if(ahead->delay_us, gp_v_count(ahead->delay_us)));
	gp_doc_fact(doc, "with_us", NULL, gp_v_if(ahead->with_us, gp_v_count(ahead->with_us)));
	gp_doc_fact(doc, "without_us", NULL,
		    gp_v_if(ahead->without_us, gp_v_count(ahead->without_us)));
	gp_doc_close(doc);
}
