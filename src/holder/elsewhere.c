// SPDX-License-Identifier: MIT
/*
 * Clients hear of the holds of others: a daemon must know that a job does not run because of a
 * `gpreempt suspend`, and has no claim to the GPU meanwhile. What counts is a hold that covers all
 * queues the client sees of the process, from the moment they are stopped.
 */
#include "holder/direct.h"

#define HOLDS 16 /* that differ in owner or GPU, of one process: of more, some are not seen */

/* The holds that stop a process, each of another client or GPU. */
struct holds {
	const struct gp_holder_target *by[HOLDS];
	u32 count;
};

static bool is_known(const struct holds *holds, const struct gp_holder_target *target)
{
	for (u32 i = 0; i < holds->count; i++)
		if (holds->by[i]->connection == target->connection &&
		    holds->by[i]->gpu_id == target->gpu_id)
			return true;
	return false;
}

static void find_holds(const struct gp_holder_member *member, struct holds *holds)
{
	const struct gp_list *at;

	gp_list_for_each (at, &member->links) {
		const struct gp_holder_target *target = gp_holder_linked_target(at);

		if (target->hold.active && target->hold.all &&
		    target->hold.lease_ends_ns != GP_NEVER && holds->count < HOLDS &&
		    !is_known(holds, target))
			holds->by[holds->count++] = target;
	}
}

/* By any mechanism. */
static struct holds find_all_holds(const struct gp_holder_member *member)
{
	struct holds holds = {.count = 0};

	find_holds(member, &holds);
	if (!member->twin)
		return holds;
	gp_list_each (const struct gp_holder_member, other, link, &member->holder->members) {
		if (other != member && other->pid == member->pid && !other->gone)
			find_holds(other, &holds);
	}
	return holds;
}

/* The process of another client that holds all this one sees; 0: none, -1: not visible here. */
static s32 holder_of(const struct gp_holder_link *link, const struct holds *holds)
{
	const struct gp_holder_target *target = link->target;
	const struct gp_holder_member *member = link->member;

	for (u32 i = 0; i < holds->count; i++) {
		const struct gp_holder_target *by = holds->by[i];
		bool covers = !by->gpu_id || by->gpu_id == target->gpu_id ||
			      (member->gpu_count == 1 && member->gpus[0] == by->gpu_id);

		if (by->connection != target->connection && covers)
			return by->connection->pid > 0 ? by->connection->pid : -1;
	}
	/* Or another user's holder, as the agent says. */
	return member->direct && member->direct->agent ? member->direct->agent->held_by : 0;
}

static void inform(struct gp_holder_link *link, const struct holds *holds)
{
	s32 held_by = link->target->opened ? holder_of(link, holds) : 0;

	if (held_by == link->held_by)
		return;
	link->held_by = held_by;
	gp_holder_connection_event(link->target->connection, GP_EVENT_HELD_ELSEWHERE,
				   link->target->id, (s32)link->member->pid, held_by);
}

static void inform_all(struct gp_holder_member *member, const struct holds *holds)
{
	gp_list_each (struct gp_holder_link, link, by_member, &member->links)
		inform(link, holds);
}

void gp_holder_elsewhere_member_changed(struct gp_holder_member *member)
{
	struct holds holds = find_all_holds(member);

	if (!member->twin) {
		inform_all(member, &holds);
		return;
	}
	gp_list_each (struct gp_holder_member, other, link, &member->holder->members) {
		if (other->pid == member->pid && !other->gone)
			inform_all(other, &holds);
	}
}

void gp_holder_elsewhere_changed(struct gp_holder_target *target)
{
	struct gp_list *at;

	gp_list_for_each (at, &target->links)
		gp_holder_elsewhere_member_changed(gp_holder_linked_member(at));
}

void gp_holder_elsewhere_opened(struct gp_holder_target *target)
{
	gp_list_each (struct gp_holder_link, link, by_target, &target->links) {
		struct holds holds = find_all_holds(link->member);

		inform(link, &holds);
	}
}
