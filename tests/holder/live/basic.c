// SPDX-License-Identifier: MIT
/* What a holder is for: stop, continue, nest. */
#include "live.h"

static void keeps_its_place(struct live *live)
{
	struct actor target = start_target(1, 2);
	struct client *client;
	u64 done;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = open_pid(client, target.pid, 0);
	CHECK(id > 0);
	/* Attached now: what comes next is one driver call. */
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, -1), 2);
	EXPECT(resume(client, id, -1), 2);
	/* 10 ms into a kernel of 200 time stands still until the suspend is there. */
	settle(&live->self);
	hold_clock(&live->self, 0);
	EXPECT(DO(&target, do_submit_one, 0, LONG), 0);
	run_for(&live->self, target.pid, 0, 10 * MS);
	struct gp_proto_msg_suspend body = {.target = (u32)id,
					    .lease_ms = LONG_LEASE,
					    .limit_ms = LONG_LEASE,
					    .timeout_ms = 60000};
	begin(client, GP_MSG_SUSPEND, &body, sizeof(body));
	UNTIL(&live->self, gpu_number(&live->self, "updates_pending") == 1);
	hold_clock(&live->self, NEVER);
	EXPECT(finish(client), 2);
	is_off(live, target.pid, 2);
	done = look(&live->self, target.pid, 0).cu_ns;
	CHECK(done > 0);
	EXPECT(look(&live->self, target.pid, 0).completed, 0);
	EXPECT(DO(&target, do_submit, 1, 1000), 0);
	EXPECT(DO(&target, do_read_index, 1), 0);
	EXPECT(look_settled(&live->self, target.pid, 0).cu_ns, done);
	EXPECT(resume(client, id, -1), 2);
	UNTIL(&live->self, look(&live->self, target.pid, 0).completed == 1);
	UNTIL(&live->self, look(&live->self, target.pid, 1).completed == 1);
	EXPECT(DO(&target, do_read_index, 0), 1);
	close_client(client);
}

static void nests_by_owner(struct live *live)
{
	struct actor target = start_target(1, 1);
	struct client *a, *b;
	struct gp_proto_msg_info info;

	start_holder(live, NULL, NULL);
	a = connect_client(live);
	b = connect_client(live);
	s64 in_a = open_pid(a, target.pid, DEBUG), in_b = open_pid(b, target.pid, 0);
	CHECK(in_a > 0 && in_b > 0);
	EXPECT(suspend(a, in_a, LONG_LEASE, LONG_LEASE, -1), 1);
	EXPECT(suspend(a, in_a, LONG_LEASE, LONG_LEASE, -1), 1);
	EXPECT(suspend(b, in_b, LONG_LEASE, LONG_LEASE, -1), 1);
	info = target_info(b, in_b);
	EXPECT(info.owner_count, 2);
	EXPECT(info.suspended, 1);
	EXPECT(info.mine, 1);
	EXPECT(info.mechanism, DEBUG);
	EXPECT(info.process_count, 1);
	EXPECT(resume(a, in_a, -1), 0);
	EXPECT(resume(a, in_a, -1), 0);
	is_off(live, target.pid, 1);
	EXPECT(renew(a, in_a), -ENOLCK);
	EXPECT(renew(b, in_b), 0);
	EXPECT(target_info(a, in_a).mine, 0);
	EXPECT(resume(b, in_b, -1), 1);
	comes_on(live, target.pid, 1);
	EXPECT(target_info(a, in_a).suspended, 0);
}

static void named_queues(struct live *live)
{
	struct actor target = start_target(1, 3);
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = open_pid(client, target.pid, 0);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, 7), -ENOENT);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, 1), 1);
	EXPECT(look_settled(&live->self, target.pid, 1).mapped, 0);
	EXPECT(look(&live->self, target.pid, 0).mapped, 1);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, 9), -ENOENT);
	EXPECT(look_settled(&live->self, target.pid, 1).mapped, 0);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, 2), 2);
	EXPECT(resume(client, id, 1), 1);
	UNTIL(&live->self, look(&live->self, target.pid, 1).mapped);
	EXPECT(look_settled(&live->self, target.pid, 2).mapped, 0);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, -1), 3);
	is_off(live, target.pid, 3);
	EXPECT(resume(client, id, -1), 3);
	comes_on(live, target.pid, 3);
}

static void later_queues(struct live *live)
{
	struct actor target = start_target(1, 1);
	struct client *client;

	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = open_pid(client, target.pid, 0);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, -1), 1);
	EXPECT(DO(&target, do_create, COMPUTE), 1);
	UNTIL(&live->self, look(&live->self, target.pid, 1).suspended);
	wait_event(client, GP_EVENT_QUEUES, target.pid);
	is_off(live, target.pid, 2);
	EXPECT(resume(client, id, -1), 2);
	comes_on(live, target.pid, 2);
	EXPECT(DO(&target, do_destroy, 1), 0);
	wait_event(client, GP_EVENT_QUEUES, target.pid);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, -1), 1);
}

static void lists_queues(struct live *live)
{
	struct actor target = start_target(1, 2);
	struct client *client;
	const struct gp_proto_msg_queues *answer;

	EXPECT(DO(&target, do_submit_one, 0, LONG), 0);
	start_holder(live, NULL, NULL);
	client = connect_client(live);
	s64 id = open_pid(client, target.pid, 0);
	struct gp_proto_msg_queues_ask body = {.target = (u32)id};
	u64 updates = figure(&live->self, "updates");
	EXPECT(ask(client, GP_MSG_QUEUES, &body, sizeof(body), -1), 2);
	answer = (const void *)client->message.body;
	EXPECT(answer->count, 2);
	EXPECT(answer->queues[0].pid, target.pid);
	/* Looking preempts nobody, and does not attach. */
	EXPECT(figure(&live->self, "updates"), updates);
	EXPECT(tracer_of(target.pid), 0);
	EXPECT(suspend(client, id, LONG_LEASE, LONG_LEASE, 0), 1);
	EXPECT(ask(client, GP_MSG_QUEUES, &body, sizeof(body), -1), 2);
	for (u32 i = 0; i < 2; i++) {
		const struct gp_proto_msg_queue *queue = &answer->queues[i];

		EXPECT(queue->state, queue->kfd_id == 0);
		EXPECT(queue->owner_pid, queue->kfd_id == 0 ? getpid() : 0);
		CHECK(queue->valid & 4 && queue->ring);
		CHECK(queue->valid & 16);
		EXPECT(queue->write_index, queue->kfd_id == 0);
	}
	body.first = 1;
	EXPECT(ask(client, GP_MSG_QUEUES, &body, sizeof(body), -1), 2);
	EXPECT(answer->count, 1);
}

const struct live_row live_basic[] = {
	{"a suspended process keeps its place and goes on", keeps_its_place, EVERYWHERE},
	{"suspensions nest by owner", nests_by_owner, EVERYWHERE},
	{"named queues", named_queues, EVERYWHERE},
	{"queues created while suspended are suspended", later_queues, EVERYWHERE},
	{"listing queues costs nothing before the first suspend", lists_queues, EVERYWHERE},
	{0},
};
