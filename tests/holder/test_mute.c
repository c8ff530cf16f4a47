// SPDX-License-Identifier: MIT
/* Programs that do not answer: nothing that is asked of another waits for them. */
#include "agent_scene.h"

#include "holder/direct.h"

/* Agent 0 is mute from its first suspend on, agent 1 is well; both are open in one connection. */
static struct client *client;
static int mute, well;
static u32 asked; /* serial of what the mute one was asked */

static void tell_suspend(int target)
{
	struct gp_proto_msg_suspend body = {.target = (u32)target,
					    .lease_ms = LONG_LEASE,
					    .limit_ms = LONG_LEASE,
					    .timeout_ms = LONG_LEASE};

	tell(client, GP_MSG_SUSPEND, &body, sizeof(body), -1);
}

static struct gp_holder_member *member_of(pid_t pid)
{
	struct gp_holder_member *member = gp_holder_member_find(&scene.holder, (u32)pid, 0);

	assert_non_null(member);
	return member;
}

static void make_mute(void)
{
	client = scene_client(&scene);
	for (u32 i = 0; i < 2; i++) {
		start_agent(i, i ? "well" : "mute");
		agent_ready(i);
	}
	mute = open_pid(client, agents[0], 0);
	well = open_pid(client, agents[1], 0);
	assert_true(mute > 0 && well > 0);
	set(&shown[0].deaf, 1);
	tell_suspend(mute);
	asked = client->serial;
	UNTIL(&scene, member_of(agents[0])->direct->step == GP_DIRECT_STOPPING);
	/* The test decides when it is given up. */
	member_of(agents[0])->direct->until_ns = gp_monotonic_ns() + PATIENCE_NS;
}

/* The next answer is to this, however often it is repeated. */
static void is_answered(u16 type, int target, int status)
{
	struct gp_proto_msg_suspend act = {.target = (u32)target,
					   .lease_ms = LONG_LEASE,
					   .limit_ms = LONG_LEASE};
	struct gp_proto_msg_target about = {.target = (u32)target};
	bool acts = type == GP_MSG_SUSPEND || type == GP_MSG_RESUME;

	tell(client, type, acts ? (void *)&act : &about, acts ? sizeof(act) : sizeof(about), -1);
	assert_int_equal(answer(&scene, client), status);
	assert_int_equal(client->message.header.type, type);
	assert_int_equal(client->message.header.serial, client->serial);
}

static void everything_else_goes_on(void **state)
{
	(void)state;
	make_mute();
	for (int i = 0; i < 3; i++) {
		is_answered(GP_MSG_SUSPEND, well, 2);
		is_answered(GP_MSG_RENEW, well, 0);
		is_answered(GP_MSG_INFO, well, 0);
		is_answered(GP_MSG_QUEUES, well, 2);
		is_answered(GP_MSG_HOLDS, 0, 2);
		is_answered(GP_MSG_RESUME, well, 2);
	}
	is_answered(GP_MSG_RELEASE, agents[1], 0);
	is_answered(GP_MSG_CLOSE, well, 0);
	well = open_pid(client, agents[1], 0);
	is_answered(GP_MSG_SUSPEND, well, 2);
	int group = open_group(client, "well");
	is_answered(GP_MSG_SUSPEND, group, 2);
	assert_false(scene.holder.finished.next != &scene.holder.finished);
	assert_int_equal(shown[0].suspends, 0);
	client_close(client);
}

static void what_is_asked_of_it_is_answered_in_order(void **state)
{
	static const u16 types[] = {GP_MSG_SUSPEND, GP_MSG_RESUME, GP_MSG_INFO, GP_MSG_QUEUES};
	struct gp_proto_msg_suspend body = {0};
	struct gp_proto_msg_target about = {0};

	(void)state;
	make_mute();
	body.target = about.target = (u32)mute;
	tell(client, GP_MSG_RESUME, &body, sizeof(body), -1);
	tell(client, GP_MSG_INFO, &about, sizeof(about), -1);
	tell(client, GP_MSG_QUEUES, &about, sizeof(about), -1);
	is_answered(GP_MSG_SUSPEND, well, 2);
	set(&shown[0].deaf, 0);
	for (u32 i = 0; i < GP_ARRAY_SIZE(types); i++) {
		assert_true(answer(&scene, client) >= 0);
		assert_int_equal(client->message.header.type, types[i]);
		assert_int_equal(client->message.header.serial, asked + i);
	}
	client_close(client);
}

/* More than a connection may leave unanswered: each target brings some room for its own. */
static void many_mute_ones_leave_room_for_the_others(void **state)
{
	u32 unanswered = 1, late = 0;

	(void)state;
	make_mute();
	for (; unanswered < 2 * GP_HOLDER_REQUESTS; unanswered++) {
		int another = open_pid(client, agents[0], 0); /* nor does that wait for it */

		assert_true(another > 0);
		assert_int_equal(opened(client)->mechanism, GP_MECHANISM_KFD_AGENT);
		tell_suspend(another);
	}
	is_answered(GP_MSG_SUSPEND, well, 2);
	is_answered(GP_MSG_RESUME, well, 2);
	set(&shown[0].deaf, 0);
	for (u32 i = 0; i < unanswered; i++)
		late += answer(&scene, client) == 2;
	assert_int_equal(late, unanswered);
	client_close(client);
}

/* What was asked before is answered as well, when the program or its time-out lets it. */
static void a_mute_one_can_be_closed(void **state)
{
	struct gp_proto_msg_target about = {0};

	(void)state;
	make_mute();
	about.target = (u32)mute;
	tell(client, GP_MSG_INFO, &about, sizeof(about), -1); /* known, and not sent: in order */
	UNTIL(&scene,
	      !gp_list_empty(&scene.holder.connections) &&
		      gp_container(scene.holder.connections.next, struct gp_holder_connection, link)
				      ->request_count == 2);
	tell(client, GP_MSG_CLOSE, &about, sizeof(about), -1);
	assert_int_equal(answer(&scene, client), 0);
	assert_int_equal(client->message.header.type, GP_MSG_INFO);
	assert_int_equal(answer(&scene, client), 0);
	assert_int_equal(client->message.header.type, GP_MSG_CLOSE);
	is_answered(GP_MSG_SUSPEND, well, 2);
	set(&shown[0].deaf, 0);
	assert_int_equal(answer(&scene, client), 2);
	assert_int_equal(client->message.header.serial, asked);
	/* It did what it was asked, and lets go with its connection. */
	UNTIL(&scene, shown[0].suspends == 1 && !shown[0].suspended);
	client_close(client);
}

/* Its owner would lose the lease over it. */
static void a_renewal_does_not_wait_for_a_suspension_under_way(void **state)
{
	(void)state;
	make_mute();
	is_answered(GP_MSG_RENEW, mute, 0);
	set(&shown[0].deaf, 0);
	assert_int_equal(answer(&scene, client), 2);
	assert_int_equal(client->message.header.serial, asked);
	client_close(client);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, agent_scene_open, agent_scene_close)
	const struct CMUnitTest tests[] = {
		T(everything_else_goes_on),
		T(what_is_asked_of_it_is_answered_in_order),
		T(many_mute_ones_leave_room_for_the_others),
		T(a_mute_one_can_be_closed),
		T(a_renewal_does_not_wait_for_a_suspension_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
