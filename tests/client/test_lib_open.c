// SPDX-License-Identifier: MIT
/* Opening a target without waiting: a holder that answers OPEN late, never, or with an error. */
#include "scene.h"

#include <errno.h>

#include "client/client.h"

enum { OPENS = 4242, REFUSES = 4243 };

/* Opened by a mechanism whose OPENs the fake holder keeps until settle(). */
static int begin(struct scene *scene, struct gpreempt_target **target)
{
	struct gpreempt_target_options options = {.size = sizeof(options),
						  .mechanism = GPREEMPT_KFD_MODULE};
	int ticket = gpreempt_target_open_async(scene->context, getpid(), &options, target);

	assert_true(ticket > 0);
	assert_non_null(*target);
	return ticket;
}

static void settle(struct scene *scene, u32 how)
{
	struct gpreempt_target *other = open_group(scene, "other");

	assert_int_equal(gpreempt_target_set_priority(other, how), 0);
	gpreempt_target_close(other);
}

static void ends(struct scene *scene, int ticket, int result)
{
	struct gpreempt_event event = next_event(scene->context);

	assert_int_equal(event.kind, GPREEMPT_EVENT_DONE);
	assert_int_equal(event.ticket, ticket);
	assert_int_equal(event.result, result);
}

static void no_event(struct scene *scene)
{
	struct gpreempt_event event;

	assert_int_equal(gpreempt_next_event(scene->context, &event), 0);
}

static void nothing_waits_for_an_opening(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *late, *other;
	int opening = begin(scene, &late);
	int suspending = gpreempt_target_suspend_async(late, NULL);
	int resuming = gpreempt_target_resume_async(late);

	assert_true(suspending > opening && resuming > suspending);
	other = open_self(scene);
	assert_int_equal(gpreempt_target_suspend(other, NULL), 3);
	assert_int_equal(gpreempt_target_renew(other), 0);
	assert_int_equal(gpreempt_target_resume(other), 3);
	gpreempt_target_close(other);
	no_event(scene);
	settle(scene, OPENS);
	ends(scene, opening, 0);
	ends(scene, suspending, 3);
	ends(scene, resuming, 3);
	no_event(scene);
	assert_int_equal(gpreempt_target_suspend(late, NULL), 3);
}

static void an_opening_that_fails_ends_what_waited_for_it(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *late;
	int opening = begin(scene, &late);
	int suspending = gpreempt_target_suspend_async(late, NULL);

	settle(scene, REFUSES);
	ends(scene, opening, -EOPNOTSUPP);
	assert_non_null(strstr(gpreempt_error(scene->context), "built"));
	ends(scene, suspending, -EOPNOTSUPP);
	no_event(scene);
	/* It can be tried again. */
	suspending = gpreempt_target_suspend_async(late, NULL);
	assert_true(suspending > 0);
	settle(scene, OPENS);
	ends(scene, suspending, 3);
	gpreempt_target_close(late);
}

static void a_target_can_be_closed_while_it_is_opened(void **state)
{
	struct scene *scene = *state;

	/* More than the holder has room for: each is closed there as well. */
	for (int i = 0; i < 100; i++) {
		struct gpreempt_target *late;

		begin(scene, &late);
		assert_true(gpreempt_target_suspend_async(late, NULL) > 0);
		gpreempt_target_close(late);
		settle(scene, OPENS);
		no_event(scene);
	}
	gpreempt_target_close(open_self(scene));
}

static void a_call_waits_for_the_opening_of_its_own_target(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *late, *other = open_group(scene, "other");
	int opening = begin(scene, &late);
	/* Sent before the call below, and answered while that waits. */
	struct gp_proto_msg_value opens = {.target = other->id, .value = OPENS};

	assert_int_equal(gp_wire_send(scene->context->socket, GP_MSG_PRIORITY,
				      gp_client_next_serial(scene->context), 0, &opens,
				      sizeof(opens), -1),
			 0);
	assert_int_equal(gpreempt_target_suspend(late, NULL), 3);
	ends(scene, opening, 0);
	no_event(scene);
}

/* Its targets are opened again without waiting, too. */
static void a_new_holder_opens_without_waiting(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *late;
	int opening = begin(scene, &late), suspending;

	signal_holder(scene, SIGKILL);
	ends(scene, opening, -ECONNRESET);
	suspending = gpreempt_target_suspend_async(late, NULL);
	assert_true(suspending > 0);
	no_event(scene);
	settle(scene, OPENS);
	ends(scene, suspending, 3);
	no_event(scene);
}

static void a_process_that_does_not_exist_is_an_error_at_once(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target;

	assert_int_equal(gpreempt_target_open_async(scene->context, 0, NULL, &target), -EINVAL);
	assert_int_equal(gpreempt_target_open_async(scene->context, INT32_MAX, NULL, &target),
			 -ESRCH);
	assert_null(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_waits_for_an_opening),
		TEST(an_opening_that_fails_ends_what_waited_for_it),
		TEST(a_target_can_be_closed_while_it_is_opened),
		TEST(a_call_waits_for_the_opening_of_its_own_target),
		TEST(a_new_holder_opens_without_waiting),
		TEST(a_process_that_does_not_exist_is_an_error_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
