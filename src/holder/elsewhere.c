// SPDX-License-Identifier: MIT
/*
 * Clients hear of the holds of others: a daemon must know that a job does not run because of a
 * `gpreempt suspend`, and has no claim to the GPU meanwhile. What counts is a hold that covers all
 * queues the client sees of the process, from the moment they are stopped.
 */
#include "holder/holder.h"

/* Whether this hold, of another target of the process, stops all that `target` sees of it. */
static bool hold_stops(const struct gp_holder_target *held, const struct gp_holder_target *target,
		       const struct gp_holder_member *member)
{
	const struct gp_holder_hold *hold = &held->hold;

	if (!hold->active || !hold->all || hold->lease_ends_ns == GP_NEVER)
		return false;
	return !held->gpu_id || held->gpu_id == target->gpu_id ||
	       (member->gpu_count == 1 && member->gpus[0] == held->gpu_id);
}

static s32 member_holder(const struct gp_holder_member *member,
			 const struct gp_holder_target *target)
{
	const struct gp_list *at;

	gp_list_for_each (at, &member->links) {
		const struct gp_holder_target *other = gp_holder_linked_target(at);

		if (other->connection != target->connection && hold_stops(other, target, member))
			return other->connection->pid > 0 ? other->connection->pid : -1;
	}
	return 0;
}

/* Who else holds it, by any mechanism. */
static s32 holder_of(const struct gp_holder_link *link)
{
	s32 held_by = member_holder(link->member, link->target);

	if (held_by || !link->member->twin)
		return held_by;
	gp_list_each (const struct gp_holder_member, other, link, &link->member->holder->members) {
		if (other->pid == link->member->pid && !other->gone && !held_by)
			held_by = member_holder(other, link->target);
	}
	return held_by;
}

static void tell_links(struct gp_holder_member *member)
{
	gp_list_each (struct gp_holder_link, link, by_member, &member->links) {
		s32 held_by = link->target->opened ? holder_of(link) : 0;

		if (held_by == link->held_by)
			continue;
		link->held_by = held_by;
		gp_holder_connection_event(link->target->connection, GP_EVENT_HELD_ELSEWHERE,
					   link->target->id, (s32)member->pid, held_by);
	}
}

void gp_holder_elsewhere_changed(struct gp_holder_member *member)
{
	if (!member->twin) {
		tell_links(member);
		return;
	}
	gp_list_each (struct gp_holder_member, other, link, &member->holder->members) {
		if (other->pid == member->pid && !other->gone)
			tell_links(other);
	}
}

void gp_holder_elsewhere_target_changed(struct gp_holder_target *target)
{
	struct gp_list *at;

	gp_list_for_each (at, &target->links)
		gp_holder_elsewhere_changed(gp_holder_linked_member(at));
}
