// SPDX-License-Identifier: MIT
/*
 * Holds by name: an owner such as Slurm keeps the jobs of a group off the GPU, for as long as it
 * says and its connection stays. An owner that comes back, on another connection, has its holds by
 * asking for them again, and can end each by its name. The answer comes when every process of the
 * group is suspended or cannot be, so that an owner can stop them afterwards.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"

#define HOLDS_MAX 4096

static bool covers(const struct gp_daemon_hold *hold, const struct gp_daemon_client *client)
{
	return strcmp(hold->group, client->group) == 0 ||
	       (hold->slurm_job && hold->slurm_job == client->who.slurm_job);
}

const struct gp_daemon_hold *gp_daemon_hold_of(const struct gp_daemon_client *client)
{
	const struct gp_daemon *daemon = client->daemon;

	if (daemon->config.mode != GP_MODE_ACT)
		return NULL;
	gp_list_each (const struct gp_daemon_hold, hold, link, &daemon->holds) {
		if (covers(hold, client))
			return hold;
	}
	return NULL;
}

static struct gp_daemon_hold *find(struct gp_daemon *daemon, const char *owner, const char *group)
{
	gp_list_each (struct gp_daemon_hold, hold, link, &daemon->holds) {
		if (strcmp(hold->owner, owner) == 0 && strcmp(hold->group, group) == 0)
			return hold;
	}
	return NULL;
}

void gp_daemon_hold_recheck(struct gp_daemon *daemon)
{
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients) {
		if (client->job)
			gp_daemon_absent_changed(client);
	}
	gp_daemon_host_settle(daemon);
}

static void end(struct gp_daemon *daemon, struct gp_daemon_hold *hold)
{
	gp_list_each (struct gp_daemon_client, client, link, &daemon->clients) {
		if (client->keep.hold == hold)
			client->keep.hold = NULL;
	}
	gp_list_remove(&hold->link);
	daemon->hold_count--;
	daemon->unanswered -= hold->unanswered;
	free(hold);
}

static int answer(struct gp_daemon_peer *peer, const struct gp_proto_msg *ask,
		  const struct gp_proto_msg_named_held *held)
{
	return gp_wire_send(peer->watch.fd, ask->type, ask->serial, 0, held, sizeof(*held), -1);
}

static struct gp_daemon_hold *begin(struct gp_daemon *daemon, const char *owner, const char *group)
{
	struct gp_daemon_hold *hold =
		daemon->hold_count < HOLDS_MAX ? calloc(1, sizeof(*hold)) : NULL;

	if (!hold)
		return NULL;
	snprintf(hold->owner, sizeof(hold->owner), "%s", owner);
	snprintf(hold->group, sizeof(hold->group), "%s", group);
	hold->slurm_job = gp_daemon_slurm_job(group);
	gp_list_add_tail(&daemon->holds, &hold->link);
	daemon->hold_count++;
	return hold;
}

int gp_daemon_hold_ask(struct gp_daemon_peer *peer, const struct gp_proto_msg *ask,
		       const struct gp_proto_msg_named_hold *what)
{
	struct gp_daemon *daemon = peer->daemon;
	char owner[GP_PROTO_NAME], group[GP_PROTO_NAME];
	struct gp_daemon_hold *hold;

	gp_wire_text(owner, sizeof(owner), what->owner, sizeof(what->owner));
	gp_wire_text(group, sizeof(group), what->group, sizeof(what->group));
	if (!*owner || !*group)
		return gp_wire_refuse(peer->watch.fd, ask, -EINVAL, GP_SAY_VALUE_RANGE);
	hold = find(daemon, owner, group);
	if (!what->on) {
		if (hold)
			end(daemon, hold);
		gp_daemon_hold_recheck(daemon);
		return answer(peer, ask, &(struct gp_proto_msg_named_held){0});
	}
	if (daemon->config.mode != GP_MODE_ACT)
		return gp_wire_refuse(peer->watch.fd, ask, -EOPNOTSUPP, GP_SAY_HOLD_OBSERVES);
	if (!hold)
		hold = begin(daemon, owner, group);
	if (!hold)
		return gp_wire_refuse(peer->watch.fd, ask, -ENOMEM, GP_SAY_SCHEDULER_REFUSED);
	hold->peer = peer;
	hold->ask = *ask;
	daemon->unanswered += !hold->unanswered;
	hold->unanswered = true;
	gp_daemon_hold_recheck(daemon);
	return 0;
}

static bool is_settled(const struct gp_daemon *daemon, const struct gp_daemon_hold *hold,
		       struct gp_proto_msg_named_held *out)
{
	*out = (struct gp_proto_msg_named_held){0};
	gp_list_each (const struct gp_daemon_client, client, link, &daemon->clients) {
		if (!client->job || !covers(hold, client))
			continue;
		if (client->keep.state == GP_KEPT_ASKED || gp_daemon_swap_moves(client))
			return false;
		out->processes++;
		out->held += client->keep.state == GP_KEPT_HELD || gp_daemon_swap_is(client);
	}
	return true;
}

void gp_daemon_hold_answer(struct gp_daemon *daemon)
{
	struct gp_proto_msg_named_held held;

	if (!daemon->unanswered)
		return;
	gp_list_each (struct gp_daemon_hold, hold, link, &daemon->holds) {
		if (!hold->unanswered || !is_settled(daemon, hold, &held))
			continue;
		hold->unanswered = false;
		daemon->unanswered--;
		/* A peer that cannot take it has ended, or will be told by its own clock. */
		(void)!answer(hold->peer, &hold->ask, &held);
	}
}

void gp_daemon_hold_drop(struct gp_daemon_peer *peer)
{
	struct gp_daemon *daemon = peer->daemon;
	struct gp_list *link, *next;
	bool any = false;

	gp_list_for_each_safe(link, next, &daemon->holds)
	{
		struct gp_daemon_hold *hold = gp_container(link, struct gp_daemon_hold, link);

		if (hold->peer != peer)
			continue;
		end(daemon, hold);
		any = true;
	}
	if (any)
		gp_daemon_hold_recheck(daemon);
}
