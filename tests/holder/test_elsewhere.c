// SPDX-License-Identifier: MIT
/* Clients hear when others begin and end to hold what they have open. */
#include "fixture.h"

#define KIND GP_EVENT_HELD_ELSEWHERE

static u32 heard(struct client *client)
{
	return count_events(&scene, client, KIND);
}

/* The next one, and whether it says that another process holds the target. */
static void hears(struct client *client, int target, bool held)
{
	struct gp_proto_msg_event event = wait_event(&scene, client, KIND);

	assert_int_equal(event.target, target);
	assert_int_equal(event.pid, getpid());
	assert_int_equal(event.result, held ? getpid() : 0);
}

static int suspend_one_queue(struct client *client, int target, u32 id)
{
	_Alignas(struct gp_proto_msg_suspend) char
		room[sizeof(struct gp_proto_msg_suspend) + sizeof(u32)] = {0};
	struct gp_proto_msg_suspend *body = (void *)room;

	*body = (struct gp_proto_msg_suspend){.target = (u32)target,
					      .lease_ms = LONG_LEASE,
					      .count = 1};
	body->ids[0] = id;
	return ask(&scene, client, GP_MSG_SUSPEND, body,
		   offsetof(struct gp_proto_msg_suspend, ids) + sizeof(u32), -1);
}

static void others_hear_when_a_hold_begins_and_ends(void **state)
{
	struct client *hand = scene_client(&scene), *other = scene_client(&scene);
	int held = open_self(&scene, hand, 0), seen = open_self(&scene, other, 0);

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(suspend(&scene, hand, held, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
		hears(other, seen, true);
		/* Once, however often it is renewed. */
		assert_int_equal(suspend(&scene, hand, held, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
		assert_int_equal(target_call(&scene, hand, GP_MSG_RENEW, held), 0);
		assert_int_equal(heard(other), 0);
		assert_int_equal(resume(&scene, hand, held), FAKE_QUEUES);
		hears(other, seen, false);
	}
	/* A client is not told of what it did itself, through whichever target. */
	open_self(&scene, hand, 0);
	assert_int_equal(suspend(&scene, hand, held, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	assert_int_equal(heard(hand), 0);
	client_close(hand);
	hears(other, seen, true);
	hears(other, seen, false);
	client_close(other);
}

static void one_that_comes_later_hears_after_its_open(void **state)
{
	struct client *hand = scene_client(&scene), *late = scene_client(&scene);
	int held = open_self(&scene, hand, 0), seen;

	(void)state;
	assert_int_equal(suspend(&scene, hand, held, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	seen = open_self(&scene, late, 0);
	assert_int_equal(late->event_count, 0); /* it would not know the target */
	hears(late, seen, true);
	assert_int_equal(target_call(&scene, hand, GP_MSG_CLOSE, held), 0);
	hears(late, seen, false);
	seen = open_self(&scene, late, 0);
	assert_int_equal(heard(late), 0);
	client_close(hand);
	client_close(late);
}

static void the_end_of_a_lease_is_heard(void **state)
{
	struct client *hand = scene_client(&scene), *other = scene_client(&scene);
	int held = open_self(&scene, hand, 0), seen = open_self(&scene, other, 0);

	(void)state;
	assert_int_equal(suspend(&scene, hand, held, 50, LONG_LEASE), FAKE_QUEUES);
	hears(other, seen, true);
	hears(other, seen, false);
	assert_true(all(false));
	assert_int_equal(suspend(&scene, hand, held, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	hears(other, seen, true);
	assert_int_equal(target_call(&scene, other, GP_MSG_RELEASE, getpid()), 1);
	hears(other, seen, false);
	client_close(hand);
	client_close(other);
}

static void a_suspend_that_fails_is_not_heard(void **state)
{
	struct client *hand = scene_client(&scene), *other = scene_client(&scene);
	int held = open_self(&scene, hand, 0);

	(void)state;
	open_self(&scene, other, 0);
	fake.fail[0] = -EINVAL;
	fake.fail_count = 1;
	assert_int_equal(suspend(&scene, hand, held, LONG_LEASE, LONG_LEASE), -EINVAL);
	assert_int_equal(heard(other), 0);
	client_close(hand);
	client_close(other);
}

static void a_part_is_not_the_whole(void **state)
{
	struct client *hand = scene_client(&scene), *other = scene_client(&scene);
	struct client *on_gpu = scene_client(&scene);
	int held = open_self(&scene, hand, 0), one_gpu = open_self(&scene, hand, 200);
	int whole = open_self(&scene, other, 0), seen = open_self(&scene, on_gpu, 200);

	(void)state;
	assert_int_equal(suspend_one_queue(hand, held, 1), 1);
	assert_int_equal(heard(other) + heard(on_gpu), 0);
	assert_int_equal(suspend(&scene, hand, one_gpu, LONG_LEASE, LONG_LEASE), 1);
	hears(on_gpu, seen, true); /* of what it has open it is the whole */
	assert_int_equal(heard(other), 0);
	assert_int_equal(suspend(&scene, hand, held, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	hears(other, whole, true);
	assert_int_equal(resume(&scene, hand, one_gpu), 0);
	assert_int_equal(heard(on_gpu), 0); /* the other hold covers it as well */
	assert_int_equal(resume(&scene, hand, held), FAKE_QUEUES);
	hears(on_gpu, seen, false);
	hears(other, whole, false);
	client_close(hand);
	client_close(other);
	client_close(on_gpu);
}

static void the_last_of_two_owners_ends_it(void **state)
{
	struct client *a = scene_client(&scene), *b = scene_client(&scene);
	struct client *other = scene_client(&scene);
	int in_a = open_self(&scene, a, 0), in_b = open_self(&scene, b, 0);
	int seen = open_self(&scene, other, 0);

	(void)state;
	assert_int_equal(suspend(&scene, a, in_a, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	hears(other, seen, true);
	hears(b, in_b, true);
	assert_int_equal(suspend(&scene, b, in_b, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	hears(a, in_a, true);
	assert_int_equal(resume(&scene, a, in_a), 0);
	hears(b, in_b, false); /* only b itself holds it now */
	assert_int_equal(heard(other), 0);
	assert_int_equal(resume(&scene, b, in_b), FAKE_QUEUES);
	hears(a, in_a, false);
	hears(other, seen, false);
	client_close(a);
	client_close(b);
	client_close(other);
}

static void the_mechanism_makes_no_difference(void **state)
{
	struct gp_gpu_control_ops second = fake_ops;
	struct gp_proto_msg_open body = {.mechanism = 4};
	struct client *hand = scene_client(&scene), *other = scene_client(&scene);
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0), held, seen;

	(void)state;
	second.mechanism = 4;
	scene.mechanisms[1] = &second;
	seen = open_self(&scene, other, 0);
	assert_int_equal(ask(&scene, hand, GP_MSG_OPEN, &body, sizeof(body), pidfd), 0);
	held = (int)((const struct gp_proto_msg_opened *)hand->message.body)->target;
	assert_int_equal(scene.holder.member_count, 2);
	assert_int_equal(suspend(&scene, hand, held, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	hears(other, seen, true);
	client_close(hand);
	hears(other, seen, false);
	client_close(other);
	close(pidfd);
	UNTIL(&scene, !scene.holder.member_count);
}

/* It gets the state that holds by then, and is not cut off. */
static void one_that_does_not_read_is_told_the_last_state(void **state)
{
	struct client *hand = scene_client(&scene), *other = scene_client(&scene);
	int held = open_self(&scene, hand, 0), room = 1, last = -1;
	struct gp_holder_connection *connection;

	(void)state;
	open_self(&scene, other, 0);
	connection = gp_container(scene.holder.connections.prev, struct gp_holder_connection, link);
	setsockopt(connection->watch.fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	for (int i = 0; i < 40000; i++) {
		assert_int_equal(suspend(&scene, hand, held, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
		if (i < 39999)
			assert_int_equal(resume(&scene, hand, held), FAKE_QUEUES);
	}
	assert_int_equal(scene.holder.connection_count, 2);
	assert_non_null(connection->out);
	for (bool empty = false; !empty;) {
		empty = !connection->out;
		gp_holder_step(&scene.holder, 0);
		while (gp_wire_receive(other->fd, &other->message, 0) == 0)
			last = ((struct gp_proto_msg_event *)other->message.body)->result;
	}
	assert_int_equal(last, getpid());
	client_close(hand);
	client_close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		INLINE(others_hear_when_a_hold_begins_and_ends),
		INLINE(one_that_comes_later_hears_after_its_open),
		INLINE(the_end_of_a_lease_is_heard),
		INLINE(a_suspend_that_fails_is_not_heard),
		INLINE(a_part_is_not_the_whole),
		INLINE(the_last_of_two_owners_ends_it),
		INLINE(the_mechanism_makes_no_difference),
		INLINE(one_that_does_not_read_is_told_the_last_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
