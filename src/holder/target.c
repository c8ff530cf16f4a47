// SPDX-License-Identifier: MIT
/* Targets: what a client opened, and its hold on it. */
#include "base/core.h"
#include "holder/holder.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- targets and links ---- */

struct gp_holder_target *gp_holder_target_add(struct gp_holder_connection *connection)
{
	struct gp_holder_target *target;

	/* Root's daemon has the programs of all users on one connection. */
	if (connection->target_count == (geteuid() ? GP_HOLDER_TARGETS : GP_HOLDER_MEMBERS))
		return NULL;
	target = calloc(1, sizeof(*target));
	if (!target)
		return NULL;
	gp_list_init(&target->links);
	gp_list_init(&target->order);
	target->connection = connection;
	do
		target->id = ++connection->next_target;
	while (!target->id || gp_holder_target_find(connection, target->id));
	gp_list_add_tail(&connection->targets, &target->link);
	connection->target_count++;
	return target;
}

struct gp_holder_target *gp_holder_target_find(struct gp_holder_connection *connection, u32 id)
{
	gp_list_each (struct gp_holder_target, target, link, &connection->targets) {
		if (target->id == id)
			return target;
	}
	return NULL;
}

int gp_holder_target_link(struct gp_holder_target *target, struct gp_holder_member *member)
{
	struct gp_holder_link *link = calloc(1, sizeof(*link));

	if (!link)
		return -ENOMEM;
	link->target = target;
	link->member = member;
	gp_list_add_tail(&target->links, &link->by_target);
	gp_list_add_tail(&member->links, &link->by_member);
	return 0;
}

void gp_holder_link_remove(struct gp_holder_link *link)
{
	gp_list_remove(&link->by_target);
	gp_list_remove(&link->by_member);
	free(link);
}

void gp_holder_target_remove(struct gp_holder_target *target)
{
	struct gp_holder_connection *connection = target->connection;
	struct gp_list *at, *next;

	gp_holder_hold_drop(target);
	gp_holder_request_forget_target(target);
	gp_list_for_each_safe(at, next, &target->links)
	{
		struct gp_holder_link *link = gp_container(at, struct gp_holder_link, by_target);
		struct gp_holder_member *member = link->member;

		gp_holder_link_remove(link);
		if (target->share)
			gp_holder_member_reshare(member);
		gp_holder_member_unused(member);
	}
	if (target->group[0])
		connection->holder->group_targets--;
	gp_list_remove(&target->link);
	connection->target_count--;
	free(target);
}

/* ---- holds ---- */

void gp_holder_hold_clear(struct gp_holder_hold *hold)
{
	free(hold->ids);
	*hold = (struct gp_holder_hold){0};
}

void gp_holder_hold_drop(struct gp_holder_target *target)
{
	struct gp_list *at;

	if (!target->hold.active)
		return;
	gp_holder_hold_clear(&target->hold);
	gp_list_for_each (at, &target->links)
		gp_holder_member_apply(gp_holder_linked_member(at), NULL, false, NULL, 0);
	gp_holder_elsewhere_changed(target);
}

void gp_holder_hold_lose(struct gp_holder_target *target)
{
	struct gp_holder_link *first =
		gp_list_empty(&target->links)
			? NULL
			: gp_container(target->links.next, struct gp_holder_link, by_target);

	if (!target->hold.active)
		return;
	gp_holder_hold_drop(target);
	gp_holder_connection_event(target->connection, GP_EVENT_LEASE_LOST, target->id,
				   first ? (s32)first->member->pid : 0, 0);
}

void gp_holder_hold_renew(struct gp_holder_target *target)
{
	struct gp_holder_hold *hold = &target->hold;
	struct gp_list *at;

	if (!hold->active || hold->lease_ends_ns == GP_NEVER)
		return;
	hold->lease_ends_ns = gp_monotonic_ns() + hold->lease_ms * GP_NS_PER_MS;
	gp_holder_wake_at(target->connection->holder, hold->lease_ends_ns);
	gp_list_for_each (at, &target->links)
		gp_holder_member_lease(gp_holder_linked_member(at));
}

static bool has_id(const struct gp_holder_hold *hold, u32 id)
{
	for (u32 i = 0; i < hold->count; i++)
		if (hold->ids[i] == id)
			return true;
	return false;
}

bool gp_holder_hold_covers(const struct gp_holder_target *target,
			   const struct gp_gpu_control_queue *queue)
{
	if (!target->hold.active)
		return false;
	if (!target->hold.all)
		return has_id(&target->hold, queue->id);
	return !target->gpu_id || target->gpu_id == queue->gpu_id;
}

/* ---- what all holds together want of a member ---- */

static int want_ids(struct gp_holder_want *want, const struct gp_holder_hold *hold)
{
	u32 *ids = reallocarray(want->ids, want->id_count + hold->count, sizeof(u32));

	if (!ids)
		return -ENOMEM;
	want->ids = ids;
	for (u32 i = 0; i < hold->count; i++) {
		bool known = false;

		for (u32 k = 0; k < want->id_count && !known; k++)
			known = ids[k] == hold->ids[i];
		if (!known)
			ids[want->id_count++] = hold->ids[i];
	}
	return 0;
}

static int want_more(struct gp_holder_want *want, const struct gp_holder_target *target, u64 now)
{
	const struct gp_holder_hold *hold = &target->hold;
	/* Of one that is still being made, the whole lease is left. */
	u64 lease_ends = hold->lease_ends_ns == GP_NEVER ? now + hold->lease_ms * GP_NS_PER_MS
							 : hold->lease_ends_ns;
	u64 ends = GP_MIN(lease_ends, hold->limit_ends_ns);
	u64 left = ends > now ? gp_divide_up(ends - now, GP_NS_PER_MS) : 1;

	want->grace = GP_MAX(want->grace, hold->grace);
	want->off |= hold->off;
	want->lease_ms = GP_MAX(want->lease_ms, (u32)left);
	if (!hold->all)
		return hold->count ? want_ids(want, hold) : 0;
	want->copies |= hold->copies;
	if (!target->gpu_id)
		want->all = true;
	else if (want->gpu_count < GP_HOLDER_GPUS)
		want->gpus[want->gpu_count++] = target->gpu_id;
	return 0;
}

int gp_holder_member_want(struct gp_holder_member *member, struct gp_holder_want *want)
{
	u64 now = gp_monotonic_ns();
	int error = 0;

	*want = (struct gp_holder_want){0};
	gp_list_each (struct gp_holder_link, link, by_member, &member->links) {
		if (link->target->hold.active && !error)
			error = want_more(want, link->target, now);
	}
	if (error)
		gp_holder_want_free(want);
	return error;
}

int gp_holder_target_want(const struct gp_holder_target *target, struct gp_holder_member *member,
			  struct gp_holder_want *want, bool *differs)
{
	struct gp_list *at;

	*want = (struct gp_holder_want){0};
	*differs = false;
	if (target->hold.all && !target->gpu_id)
		return 0;
	gp_list_for_each (at, &member->links) {
		struct gp_holder_target *other = gp_holder_linked_target(at);

		*differs |= other != target && other->hold.active;
	}
	return want_more(want, target, gp_monotonic_ns());
}

/* ---- time ---- */

static u64 expire_target(struct gp_holder_target *target, u64 now)
{
	u64 ends = GP_MIN(target->hold.lease_ends_ns, target->hold.limit_ends_ns);

	if (!target->hold.active)
		return GP_NEVER;
	if (ends > now)
		return ends;
	gp_holder_hold_lose(target);
	return GP_NEVER;
}

static u64 expire_requests(struct gp_holder_connection *connection, u64 now)
{
	struct gp_list *at, *next;
	u64 nearest = GP_NEVER;

	gp_list_for_each_safe(at, next, &connection->requests)
	{
		struct gp_holder_request *request =
			gp_container(at, struct gp_holder_request, link);

		if (request->answered)
			continue;
		if (request->deadline_ns > now) {
			nearest = GP_MIN(nearest, request->deadline_ns);
			continue;
		}
		gp_holder_request_expired(request);
		/* It may have answered several at once: look again. */
		return GP_MIN(nearest, now);
	}
	return nearest;
}

u64 gp_holder_target_expire(struct gp_holder *holder, u64 now)
{
	u64 nearest = GP_NEVER;

	gp_list_each (struct gp_holder_connection, connection, link, &holder->connections) {
		gp_list_each (struct gp_holder_target, target, link, &connection->targets) {
			u64 ends = expire_target(target, now);

			nearest = GP_MIN(nearest, ends);
		}
		u64 due = expire_requests(connection, now);
		nearest = GP_MIN(nearest, due);
	}
	return nearest;
}

u64 gp_holder_target_due(const struct gp_holder *holder)
{
	u64 nearest = GP_NEVER;

	gp_list_each (const struct gp_holder_connection, connection, link, &holder->connections) {
		gp_list_each (const struct gp_holder_target, target, link, &connection->targets) {
			const struct gp_holder_hold *hold = &target->hold;

			if (hold->active)
				nearest = GP_MIN(nearest,
						 GP_MIN(hold->lease_ends_ns, hold->limit_ends_ns));
		}
		gp_list_each (const struct gp_holder_request, request, link,
			      &connection->requests) {
			if (!request->answered)
				nearest = GP_MIN(nearest, request->deadline_ns);
		}
	}
	return nearest;
}
