// SPDX-License-Identifier: MIT
/* Whose holds and shares a process is under, with a fake mechanism. */
#include "fixture.h"

static void one_owner_at_a_time_lets_go(void **state)
{
	struct client *a = scene_client(&scene), *b = scene_client(&scene);
	int in_a = open_self(&scene, a, 0), in_b = open_self(&scene, b, 0);

	(void)state;
	assert_int_equal(suspend(&scene, a, in_a, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	assert_int_equal(suspend(&scene, b, in_b, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	client_close(a); /* as good as resume */
	UNTIL(&scene, scene.holder.connection_count == 1);
	assert_true(all(true));
	assert_int_equal(resume(&scene, b, in_b), FAKE_QUEUES);
	assert_true(all(false));
	assert_int_equal(resume(&scene, b, in_b), 0);
	client_close(b);
}

static void a_gpu_filter_leaves_the_other_gpu_alone(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 200), whole = open_self(&scene, client, 0);

	(void)state;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), 1);
	assert_false(fake.suspended[0] || fake.suspended[1]);
	assert_true(fake.suspended[2]);
	assert_int_equal(suspend(&scene, client, whole, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	assert_true(all(true));
	/* What the other hold covers stays. */
	assert_int_equal(resume(&scene, client, whole), 2);
	assert_true(fake.suspended[2]);
	assert_int_equal(resume(&scene, client, target), 1);
	assert_true(all(false));
	client_close(client);
}

static int suspend_queues(struct client *client, int target, const u32 *ids, u32 count)
{
	static u64 room[(sizeof(struct gp_proto_msg_suspend) + 8 * sizeof(u32)) / sizeof(u64)];
	struct gp_proto_msg_suspend *body = (void *)room;

	*body = (struct gp_proto_msg_suspend){.target = (u32)target,
					      .lease_ms = LONG_LEASE,
					      .limit_ms = LONG_LEASE,
					      .timeout_ms = 60000,
					      .count = count};
	memcpy(body->ids, ids, count * sizeof(u32));
	return ask(&scene, client, GP_MSG_SUSPEND, body, sizeof(*body) + count * sizeof(u32), -1);
}

/* Whatever others hold, an owner hears of what stands still for itself. */
static void an_owner_counts_its_own_queues(void **state)
{
	struct client *a = scene_client(&scene), *b = scene_client(&scene);
	int whole = open_self(&scene, a, 0), some = open_self(&scene, b, 0);
	int on_one_gpu = open_self(&scene, b, 200);

	(void)state;
	assert_int_equal(suspend(&scene, a, whole, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	assert_int_equal(suspend_queues(b, some, (u32[]){1}, 1), 1);
	assert_int_equal(((struct gp_proto_msg_done *)b->message.body)->queues, 1);
	assert_int_equal(suspend_queues(b, some, (u32[]){2}, 1), 2);
	assert_int_equal(suspend(&scene, b, on_one_gpu, LONG_LEASE, LONG_LEASE), 1);
	assert_int_equal(suspend_queues(b, some, (u32[]){7}, 1), -ENOENT);
	assert_int_equal(resume(&scene, a, whole), 1);
	assert_true(!fake.suspended[0] && fake.suspended[1] && fake.suspended[2]);
	client_close(a);
	client_close(b);
}

/* Also while another holds all of it: when that one lets go, all would stay stopped for the part.
 */
static void a_mechanism_for_whole_processes_refuses_parts_of_them(void **state)
{
	struct client *a = scene_client(&scene), *b = scene_client(&scene);
	int whole = open_self(&scene, a, 0), part = open_self(&scene, b, 0);
	int on_one_gpu = open_self(&scene, b, 200);

	(void)state;
	fake_ops.traits = GP_CONTROL_WHOLE;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(suspend_queues(b, part, (u32[]){1}, 1), -EXDEV);
		assert_int_equal(refusal(b), GP_SAY_WHOLE_ONLY);
		assert_int_equal(suspend_queues(b, part, (u32[]){0, 1, 2}, 3), -EXDEV);
		assert_int_equal(suspend(&scene, b, on_one_gpu, LONG_LEASE, LONG_LEASE), -EXDEV);
		assert_true(all(i > 0));
		assert_int_equal(suspend(&scene, a, whole, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	}
	/* A part of what the target holds already is no part. */
	assert_int_equal(suspend_queues(a, whole, (u32[]){1}, 1), FAKE_QUEUES);
	assert_int_equal(resume(&scene, a, whole), FAKE_QUEUES);
	assert_true(all(false));
	client_close(a);
	client_close(b);
}

/* ---- shares ---- */

static int share(struct client *client, int target, u32 value)
{
	struct gp_proto_msg_value body = {.target = (u32)target, .value = value};

	return ask(&scene, client, GP_MSG_SHARE, &body, sizeof(body), -1);
}

static void a_share_ends_with_its_client(void **state)
{
	struct client *a = scene_client(&scene), *b = scene_client(&scene);
	struct client *other = scene_client(&scene);
	int in_a = open_self(&scene, a, 0), in_b = open_self(&scene, b, 0);

	(void)state;
	assert_true(open_self(&scene, other, 0) > 0); /* somebody keeps the process open */
	assert_int_equal(share(a, in_a, 250), 0);
	assert_int_equal(share(b, in_b, 500), 0);
	assert_int_equal(fake.share, 500);
	client_close(b);
	UNTIL(&scene, scene.holder.connection_count == 2);
	assert_int_equal(fake.share, 250); /* a's holds still */
	assert_int_equal(target_call(&scene, a, GP_MSG_CLOSE, in_a), 0);
	assert_int_equal(fake.share, 1000);
	/* One that was lifted by its client is nobody's any more. */
	in_a = open_self(&scene, a, 0);
	assert_int_equal(share(a, in_a, 300), 0);
	assert_int_equal(share(a, in_a, 1000), 0);
	fake.share = 0;
	client_close(a);
	UNTIL(&scene, scene.holder.connection_count == 1);
	assert_int_equal(fake.share, 0);
	client_close(other);
}

/* ---- which mechanism ---- */

/* Why none works: the one that says least of the process must not speak for all. */
static void every_mechanism_says_why_it_does_not_work(void **state)
{
	static const struct gp_gpu_control_ops *before;
	struct client *client = scene_client(&scene);

	(void)state;
	before = scene.mechanisms[1];
	scene.mechanisms[1] = &other_ops;
	fake.probe_error = -EACCES; /* as of a device that is for root */
	other_probe_error = -ENODEV;
	assert_int_equal(open_self(&scene, client, 0), -ENODEV);
	assert_int_equal(refusal(client), GP_SAY_DEBUG_WORKS);
	assert_int_equal(gp_wire_why(&client->message)->reason[1].code, GP_SAY_MODULE_WORKS);
	other_probe_error = -EBUSY;
	assert_int_equal(open_self(&scene, client, 0), -EBUSY);
	/* It is somebody else's: that is the reason, whatever else there is. */
	other_probe_error = -EPERM;
	assert_int_equal(open_self(&scene, client, 0), -EPERM);
	assert_int_equal(refusal(client), GP_SAY_MODULE_WORKS);
	assert_int_equal(gp_wire_why(&client->message)->reason[1].code, GP_SAY_DEBUG_WORKS);
	scene.mechanisms[1] = before;
	client_close(client);
}

/* ---- leases ---- */

static void leases_end_by_themselves(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);

	(void)state;
	assert_int_equal(suspend(&scene, client, target, 50, LONG_LEASE), FAKE_QUEUES);
	assert_int_equal(wait_event(&scene, client, GP_EVENT_LEASE_LOST).target, target);
	assert_true(all(false));
	assert_int_equal(target_call(&scene, client, GP_MSG_RENEW, target), -ENOLCK);
	client_close(client);
}

/* The mechanism hears of the lease, of each renewal, and of the priority. */
static void leases_are_handed_on(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);
	struct gp_proto_msg_value value = {.target = (u32)target, .value = 1234};
	int before;

	(void)state;
	assert_int_equal(suspend(&scene, client, target, 5000, LONG_LEASE), FAKE_QUEUES);
	assert_int_equal(fake.lease_ms, 5000);
	before = fake.leases;
	assert_int_equal(target_call(&scene, client, GP_MSG_RENEW, 0), 0);
	assert_int_equal(target_call(&scene, client, GP_MSG_RENEW, target), 0);
	assert_int_equal(fake.leases, before + 2);
	assert_int_equal(ask(&scene, client, GP_MSG_PRIORITY, &value, sizeof(value), -1), 0);
	assert_int_equal(fake.priority, 1234);
	value.value = 250;
	assert_int_equal(ask(&scene, client, GP_MSG_SHARE, &value, sizeof(value), -1), 0);
	assert_int_equal(fake.share, 250);
	assert_int_equal(target_call(&scene, client, GP_MSG_INFO, target), 0);
	assert_int_equal(((struct gp_proto_msg_info *)client->message.body)->priority, 1234);
	client_close(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		INLINE(one_owner_at_a_time_lets_go),
		INLINE(a_gpu_filter_leaves_the_other_gpu_alone),
		INLINE(an_owner_counts_its_own_queues),
		INLINE(a_mechanism_for_whole_processes_refuses_parts_of_them),
		INLINE(a_share_ends_with_its_client),
		INLINE(every_mechanism_says_why_it_does_not_work),
		INLINE(leases_end_by_themselves),
		INLINE(leases_are_handed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
