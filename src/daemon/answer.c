// SPDX-License-Identifier: MIT
/* Requests on gpreemptd.sock: anyone may read; only the owner of a process or root may change it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/daemon.h"

static int reply(struct gp_daemon_peer *peer, const struct gp_proto_msg *ask, int status,
		 const void *body, size_t size)
{
	return gp_wire_send(peer->watch.fd, ask->type, ask->serial, status, body, size, -1);
}

static int hello(struct gp_daemon_peer *peer, const struct gp_wire_message *message)
{
	struct gp_proto_msg_hello me = {.pid = (u32)getpid(), .name = "gpreemptd"};

	if (!gp_wire_fits(message, sizeof(me), 0, 0))
		return -EPROTO;
	peer->greeted = true;
	return reply(peer, &message->header, 0, &me, sizeof(me));
}

static int status(struct gp_daemon_peer *peer, const struct gp_proto_msg *ask)
{
	struct gp_proto_msg_daemon_status body;

	gp_daemon_report_status(peer->daemon, &body);
	return reply(peer, ask, 0, &body, sizeof(body));
}

static int jobs(struct gp_daemon_peer *peer, const struct gp_proto_msg *ask,
		const struct gp_proto_msg_daemon_ask *what)
{
	struct gp_daemon *daemon = peer->daemon;
	struct gp_proto_msg_jobs *out = (struct gp_proto_msg_jobs *)daemon->answer;
	u64 total = 0;

	*out = (struct gp_proto_msg_jobs){0};
	gp_list_each (const struct gp_daemon_job, job, link, &daemon->jobs) {
		const struct gp_daemon_client *client =
			what->pid ? gp_daemon_host_client(daemon, what->pid) : NULL;

		if (what->pid && (!client || client->job != job))
			continue;
		if (total++ >= what->first && out->count < GP_DAEMON_JOBS)
			gp_daemon_report_job_view(daemon, job, &out->jobs[out->count++]);
	}
	return reply(peer, ask, (int)total, out, sizeof(*out) + out->count * sizeof(out->jobs[0]));
}

static int devices(struct gp_daemon_peer *peer, const struct gp_proto_msg *ask)
{
	struct gp_daemon *daemon = peer->daemon;
	struct gp_proto_msg_devices *out = (struct gp_proto_msg_devices *)daemon->answer;

	*out = (struct gp_proto_msg_devices){0};
	while (out->count < daemon->device_count) {
		gp_daemon_report_device_view(daemon, out->count, &out->devices[out->count]);
		out->count++;
	}
	return reply(peer, ask, (int)out->count, out,
		     sizeof(*out) + out->count * sizeof(out->devices[0]));
}

/* Lines from `first` on. The next question starts after the last one given; an answer without any
 * is the end. */
static int decisions(struct gp_daemon_peer *peer, const struct gp_proto_msg *ask,
		     const struct gp_proto_msg_daemon_ask *what)
{
	struct gp_daemon *daemon = peer->daemon;
	struct gp_proto_msg_decisions *out = (struct gp_proto_msg_decisions *)daemon->answer;
	u64 id = GP_MAX(what->first, gp_daemon_record_first(&daemon->record));

	*out = (struct gp_proto_msg_decisions){0};
	for (; id < daemon->record.next && out->count < GP_DAEMON_DECISIONS; id++) {
		const struct gp_proto_msg_decision *line = gp_daemon_record_at(&daemon->record, id);

		if (!what->pid || gp_daemon_report_concerns(daemon, line, what->pid))
			out->decisions[out->count++] = *line;
	}
	return reply(peer, ask, (int)out->count, out,
		     sizeof(*out) + out->count * sizeof(out->decisions[0]));
}

static int work(struct gp_daemon_peer *peer, const struct gp_proto_msg *ask,
		const struct gp_proto_msg_daemon_ask *what)
{
	struct gp_daemon *daemon = peer->daemon;
	struct gp_proto_msg_works *out = (struct gp_proto_msg_works *)daemon->answer;
	u64 id = GP_MAX(what->first, gp_daemon_record_first_work(&daemon->record));

	*out = (struct gp_proto_msg_works){0};
	for (; id < daemon->record.next_work && out->count < GP_DAEMON_WORKS; id++) {
		const struct gp_proto_msg_work *line =
			gp_daemon_record_work_at(&daemon->record, id);

		if (!what->pid || line->pid == what->pid)
			out->works[out->count++] = *line;
	}
	return reply(peer, ask, (int)out->count, out,
		     sizeof(*out) + out->count * sizeof(out->works[0]));
}

static int accounts(struct gp_daemon_peer *peer, const struct gp_proto_msg *ask,
		    const struct gp_proto_msg_daemon_ask *what)
{
	struct gp_proto_msg_accounts *out = (struct gp_proto_msg_accounts *)peer->daemon->answer;
	u32 total = gp_daemon_account_list(peer->daemon, what->first, what->pid, out);

	return reply(peer, ask, (int)total, out,
		     sizeof(*out) + out->count * sizeof(out->accounts[0]));
}

static int stats(struct gp_daemon_peer *peer, const struct gp_proto_msg *ask)
{
	struct gp_proto_msg_stats *out = (struct gp_proto_msg_stats *)peer->daemon->answer;

	gp_daemon_report_stats(peer->daemon, out);
	return reply(peer, ask, 0, out, sizeof(*out));
}

/* ---- changes ---- */

static bool privileged(const struct gp_daemon_peer *peer)
{
	return peer->uid == 0 || peer->uid == geteuid();
}

/* Above the ceilings: an administrator's decision, by root or through the group. */
static bool above_ceilings(const struct gp_daemon_peer *peer)
{
	u32 group = peer->daemon->operators;

	return privileged(peer) ||
	       (group != GP_DAEMON_NO_GROUP && gp_wire_peer_in_group(peer->watch.fd, group));
}

/* The process whose job is to be changed, or NULL after the refusal was sent (its result in
 * *error). */
static struct gp_daemon_client *own_client(struct gp_daemon_peer *peer,
					   const struct gp_proto_msg *ask, u32 pid, int *error)
{
	struct gp_daemon_client *client = gp_daemon_host_client(peer->daemon, pid);

	if (!client) {
		*error = gp_wire_refuse(peer->watch.fd, ask, -ESRCH, GP_SAY_NO_JOB, pid);
		return NULL;
	}
	if (!privileged(peer) && client->job->uid != peer->uid) {
		*error = gp_wire_refuse(peer->watch.fd, ask, -EPERM, GP_SAY_JOB_OTHER_USER, pid);
		return NULL;
	}
	return client;
}

static int set(struct gp_daemon_peer *peer, const struct gp_proto_msg *ask,
	       const struct gp_proto_msg_set *what)
{
	struct gp_daemon *daemon = peer->daemon;
	struct gp_daemon_config_user limits;
	int error = 0;
	struct gp_daemon_client *client = own_client(peer, ask, what->pid, &error);

	if (!client)
		return error;
	/* An unprivileged peer is the user of the process, and may be configured by name. */
	struct gp_daemon_job *job = client->job;
	gp_daemon_config_user(&daemon->config, client->who.uid, client->who.user, &limits);
	if (((what->what & GP_DAEMON_SET_PRIORITY) && what->priority > GP_SCHED_PRIORITY_MAX) ||
	    ((what->what & GP_DAEMON_SET_CLASS) && what->job_class > GP_SCHED_CLASS_OFFLINE) ||
	    ((what->what & GP_DAEMON_SET_WEIGHT) &&
	     (!what->weight || what->weight > GP_SCHED_WEIGHT_MAX)))
		return gp_wire_refuse(peer->watch.fd, ask, -EINVAL, GP_SAY_VALUE_RANGE);
	if (!above_ceilings(peer) &&
	    (((what->what & GP_DAEMON_SET_PRIORITY) && what->priority > limits.max_priority) ||
	     ((what->what & GP_DAEMON_SET_WEIGHT) && what->weight > limits.max_weight)))
		return gp_wire_refuse(peer->watch.fd, ask, -EPERM, GP_SAY_CEILING,
				      limits.max_priority, limits.max_weight);
	struct gp_sched_job_spec before = job->spec;
	u32 changed = job->changed;
	if (what->what & GP_DAEMON_SET_PRIORITY)
		job->spec.priority = what->priority;
	if (what->what & GP_DAEMON_SET_CLASS)
		job->spec.class = what->job_class;
	if (what->what & GP_DAEMON_SET_WEIGHT)
		job->spec.weight = what->weight;
	job->changed |= what->what;
	error = gp_daemon_host_respec(daemon, job);
	if (error) {
		job->spec = before;
		job->changed = changed;
		return gp_wire_refuse(peer->watch.fd, ask, error, GP_SAY_SCHEDULER_REFUSED);
	}
	gp_daemon_report_set(daemon, job, what->what, peer->uid);
	if (!privileged(peer))
		gp_daemon_question_charge(daemon, peer->uid,
					  (u64)__builtin_popcount(what->what) *
						  GP_DAEMON_LINE_COST_NS);
	return reply(peer, ask, 0, NULL, 0);
}

static int pin(struct gp_daemon_peer *peer, const struct gp_proto_msg *ask,
	       const struct gp_proto_msg_pin *what)
{
	int error = 0;
	struct gp_daemon_client *client = own_client(peer, ask, what->pid, &error);

	if (!client)
		return error;
	if (what->pin > GP_SCHED_PIN_HOLD)
		return gp_wire_refuse(peer->watch.fd, ask, -EINVAL, GP_SAY_VALUE_RANGE);
	/* A job that is never preempted is above every ceiling. */
	if (what->pin == GP_SCHED_PIN_RUN && !above_ceilings(peer))
		return gp_wire_refuse(peer->watch.fd, ask, -EPERM, GP_SAY_GROUP_ONLY);
	/* A hold that has ended is forgotten first, so that it can be asked for again. */
	gp_daemon_host_respec(peer->daemon, client->job);
	client->job->asked_pin = what->pin;
	gp_daemon_host_respec(peer->daemon, client->job);
	return reply(peer, ask, 0, NULL, 0);
}

static int hold(struct gp_daemon_peer *peer, const struct gp_proto_msg *ask,
		const struct gp_proto_msg_named_hold *what)
{
	if (!privileged(peer))
		return gp_wire_refuse(peer->watch.fd, ask, -EPERM, GP_SAY_OWNER_ONLY);
	return gp_daemon_hold_ask(peer, ask, what);
}

static int reload(struct gp_daemon_peer *peer, const struct gp_proto_msg *ask)
{
	struct gp_proto_reasons warning = {0};
	int error;

	if (!privileged(peer))
		return gp_wire_refuse(peer->watch.fd, ask, -EPERM, GP_SAY_OWNER_ONLY);
	error = gp_daemon_reload(peer->daemon);
	if (peer->daemon->metrics_error)
		return gp_wire_refuse(peer->watch.fd, ask, error, GP_SAY_METRICS_KEPT);
	if (peer->daemon->diary_error)
		return gp_wire_refuse(peer->watch.fd, ask, error, GP_SAY_DIARY_KEPT);
	if (error)
		return gp_wire_refuse(peer->watch.fd, ask, error, GP_SAY_BAD_CONFIG);
	warning.count = peer->daemon->absent_devices ? 1 : 0;
	gp_proto_say(&warning.reason[0], 0, GP_SAY_DEVICES_ABSENT, peer->daemon->absent_devices);
	return reply(peer, ask, 0, &warning, sizeof(warning));
}

/* What each request's body must be. */
static size_t body_size(u16 type)
{
	switch (type) {
	case GP_MSG_DAEMON_JOBS:
	case GP_MSG_DAEMON_DECISIONS:
	case GP_MSG_DAEMON_WORK:
	case GP_MSG_DAEMON_ACCOUNTS:
		return sizeof(struct gp_proto_msg_daemon_ask);
	case GP_MSG_DAEMON_SET:
		return sizeof(struct gp_proto_msg_set);
	case GP_MSG_DAEMON_PIN:
		return sizeof(struct gp_proto_msg_pin);
	case GP_MSG_DAEMON_HOLD:
		return sizeof(struct gp_proto_msg_named_hold);
	default:
		return 0;
	}
}

int gp_daemon_service_answer(struct gp_daemon_peer *peer, const struct gp_wire_message *message)
{
	/* Answers use the daemon's one buffer; what is asked is copied out of it first. */
	struct gp_proto_msg ask = message->header;
	union {
		struct gp_proto_msg_daemon_ask ask;
		struct gp_proto_msg_set set;
		struct gp_proto_msg_pin pin;
		struct gp_proto_msg_named_hold hold;
	} body;

	if (ask.type == GP_MSG_HELLO)
		return hello(peer, message);
	if (!peer->greeted)
		return -EPROTO;
	if (ask.type < GP_MSG_DAEMON_STATUS || ask.type > GP_MSG_DAEMON_HOLD)
		return gp_wire_refuse(peer->watch.fd, &ask, -EOPNOTSUPP, GP_SAY_UNKNOWN_REQUEST);
	if (!gp_wire_fits(message, body_size(ask.type), 0, 0))
		return -EPROTO;
	memcpy(&body, message->body, sizeof(body));
	switch (ask.type) {
	case GP_MSG_DAEMON_STATUS:
		return status(peer, &ask);
	case GP_MSG_DAEMON_JOBS:
		return jobs(peer, &ask, &body.ask);
	case GP_MSG_DAEMON_DEVICES:
		return devices(peer, &ask);
	case GP_MSG_DAEMON_DECISIONS:
		return decisions(peer, &ask, &body.ask);
	case GP_MSG_DAEMON_FOLLOW:
		peer->following = true;
		return reply(peer, &ask, 0, NULL, 0);
	case GP_MSG_DAEMON_STATS:
		return stats(peer, &ask);
	case GP_MSG_DAEMON_WORK:
		return work(peer, &ask, &body.ask);
	case GP_MSG_DAEMON_ACCOUNTS:
		return accounts(peer, &ask, &body.ask);
	case GP_MSG_DAEMON_SET:
		return set(peer, &ask, &body.set);
	case GP_MSG_DAEMON_PIN:
		return pin(peer, &ask, &body.pin);
	case GP_MSG_DAEMON_HOLD:
		return hold(peer, &ask, &body.hold);
	default:
		return reload(peer, &ask);
	}
}
