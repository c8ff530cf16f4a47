// SPDX-License-Identifier: MIT
/* Drivers that do not do what they should, processes that end, memory that is not there. */
#include "fixture.h"

static void errors_that_pass_are_tried_again(void **state)
{
	static const int errors[] = {-EBUSY, -EINTR, -ETIME};
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(errors); i++) {
		fake.fail[0] = fake.fail[1] = errors[i];
		fake.fail_count = 2;
		assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE),
				 FAKE_QUEUES);
		assert_int_equal(resume(&scene, client, target), FAKE_QUEUES);
	}
	client_close(client);
}

static void one_that_does_not_answer_may_be_stopped(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);

	(void)state;
	for (u32 mechanism = 1; mechanism <= 2; mechanism++) {
		fake_ops.mechanism = mechanism;
		for (int i = 0; i < 5; i++)
			fake.fail[i] = -ETIME;
		fake.fail_count = 5;
		assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -ETIME);
		/* An agent is in the process; a driver is not. */
		assert_int_equal(refusal(client) != GP_SAY_NO_ANSWER,
				 mechanism != GP_MECHANISM_KFD_AGENT);
	}
	client_close(client);
}

static void hang(int tries)
{
	for (int i = 0; i < tries; i++)
		fake.fail[i] = -EIO;
	fake.fail_count = tries;
}

static void a_device_that_hangs_is_left_alone_until_it_heals(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0), made;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(count_events(&scene, client, GP_EVENT_BREAKER), 0);
		hang(5); /* each of its tries */
		assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -EIO);
		assert_true(all(false)); /* and nothing is left stopped */
	}
	assert_int_equal(wait_event(&scene, client, GP_EVENT_BREAKER).result, 1);
	made = fake.suspends;
	if (suspend(&scene, client, target, LONG_LEASE, LONG_LEASE) == -EIO) {
		/* Within its pause, as it should be unless this machine stood still. */
		assert_int_equal(refusal(client), GP_SAY_BREAKER);
		assert_int_equal(fake.suspends, made);
		UNTIL(&scene,
		      suspend(&scene, client, target, LONG_LEASE, LONG_LEASE) == FAKE_QUEUES);
	}
	client->event_count = GP_MIN(client->event_count, 64u);
	UNTIL(&scene, count_events(&scene, client, GP_EVENT_BREAKER));
	bool healed = false;
	for (u32 i = 0; i < client->event_count; i++)
		healed |= client->events[i].kind == GP_EVENT_BREAKER && !client->events[i].result;
	assert_true(healed);
	client_close(client);
}

/* Both GPUs of the fake: what is told of one is told of the other. */
static void hears_twice(struct client *client, int result)
{
	assert_int_equal(wait_event(&scene, client, GP_EVENT_BREAKER).result, result);
	assert_int_equal(wait_event(&scene, client, GP_EVENT_BREAKER).result, result);
}

static void end_pauses(void)
{
	for (size_t i = 0; i < GP_ARRAY_SIZE(scene.holder.breakers); i++)
		scene.holder.breakers[i].retry_ns = gp_monotonic_ns();
	gp_holder_wake_at(&scene.holder, gp_monotonic_ns());
}

/* Whoever waits for the device to be well again (the daemon) tries nothing until it is told. */
static void a_device_that_hung_is_offered_again_by_itself(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);

	(void)state;
	for (int i = 0; i < 2; i++) {
		hang(5);
		assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -EIO);
	}
	hears_twice(client, 1);
	hears_twice(client, 0); /* after its pause, a second */
	/* The one try: when it fails the device is off again at once, and is offered again. */
	hang(5);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -EIO);
	hears_twice(client, 1);
	end_pauses();
	hears_twice(client, 0);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	/* It works: that was told already. */
	assert_int_equal(resume(&scene, client, target), FAKE_QUEUES);
	assert_int_equal(count_events(&scene, client, GP_EVENT_BREAKER), 0);
	client_close(client);
}

static void only_one_suspend_tries_a_device_that_hung(void **state)
{
	int gate[2];
	struct client *client = scene_client(&scene), *other = scene_client(&scene);
	int target = open_self(&scene, client, 0), second = open_self(&scene, other, 0);
	struct gp_proto_msg_suspend body = {.target = (u32)target,
					    .lease_ms = LONG_LEASE,
					    .limit_ms = LONG_LEASE,
					    .timeout_ms = 60000};

	(void)state;
	for (int i = 0; i < 2; i++) {
		hang(5);
		assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -EIO);
	}
	end_pauses();
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	fake.gate = gate[0];
	tell(client, GP_MSG_SUSPEND, &body, sizeof(body), -1);
	UNTIL(&scene, scene.holder.breakers[0].trying_until_ns);
	assert_int_equal(suspend(&scene, other, second, LONG_LEASE, LONG_LEASE), -EIO);
	close(gate[1]);
	assert_int_equal(answer(&scene, client), FAKE_QUEUES);
	assert_int_equal(suspend(&scene, other, second, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	close(gate[0]);
	fake.gate = -1;
	client_close(client);
	client_close(other);
}

/* Of two devices one is still off: the other's try is not used up by the refusal. */
static void a_refused_suspend_is_no_try(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);

	(void)state;
	for (int i = 0; i < 2; i++) {
		hang(5);
		assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -EIO);
	}
	for (size_t i = 0; i < GP_ARRAY_SIZE(scene.holder.breakers); i++) {
		struct gp_holder_breaker *breaker = &scene.holder.breakers[i];

		if (breaker->gpu_id)
			breaker->retry_ns = breaker->gpu_id == 100 ? 0 : GP_NEVER;
	}
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -EIO);
	for (size_t i = 0; i < GP_ARRAY_SIZE(scene.holder.breakers); i++)
		scene.holder.breakers[i].retry_ns = 0;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	client_close(client);
}

/* The linker puts this in front of the holder's calloc(). */
static size_t no_memory_for; /* blocks of this size fail; 0: none do */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
	return no_memory_for && count * size == no_memory_for ? NULL : __real_calloc(count, size);
}

static void what_nobody_holds_runs_even_without_memory(void **state)
{
	struct client *client = scene_client(&scene), *other = scene_client(&scene);
	int target = open_self(&scene, client, 0), second = open_self(&scene, other, 0);

	(void)state;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	no_memory_for = sizeof(struct gp_holder_job);
	assert_int_equal(resume(&scene, client, target), -ENOMEM);
	assert_true(all(true));
	no_memory_for = 0;
	UNTIL(&scene, all(false));
	/* The same when it is its connection that ends. */
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	no_memory_for = sizeof(struct gp_holder_job);
	client_close(client);
	UNTIL(&scene, scene.holder.connection_count == 1);
	assert_true(all(true));
	no_memory_for = 0;
	UNTIL(&scene, all(false));
	(void)second;
	client_close(other);
}

static void a_suspend_that_takes_too_long_is_undone(void **state)
{
	int gate[2];
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);
	struct gp_proto_msg_suspend body = {.target = (u32)target,
					    .lease_ms = LONG_LEASE,
					    .limit_ms = LONG_LEASE,
					    .timeout_ms = 1};

	(void)state;
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	fake.gate = gate[0];
	assert_int_equal(ask(&scene, client, GP_MSG_SUSPEND, &body, sizeof(body), -1), -ETIME);
	close(gate[1]); /* now the driver comes back */
	UNTIL(&scene, fake.resumes > 0);
	UNTIL(&scene, all(false));
	assert_int_equal(target_call(&scene, client, GP_MSG_RENEW, target), -ENOLCK);
	close(gate[0]);
	fake.gate = -1;
	client_close(client);
}

static void attach_errors_come_with_their_reason(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);

	(void)state;
	fake.attach_error = -EOPNOTSUPP;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -EOPNOTSUPP);
	assert_int_equal(refusal(client), GP_SAY_NV_CHANNELS);
	fake.attach_error = 0;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	fake.probe_error = -EBUSY;
	assert_int_equal(open_self(&scene, client, 0), -EBUSY);
	assert_true(all(true)); /* those who have it open do not suffer */
	client_close(client);
}

/* Off by one in the driver's books: everything is let go, and another holder takes over. */
static void a_tainted_holder_ends(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);

	(void)state;
	fake.attach_error = -EUCLEAN;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -EBUSY);
	assert_true(scene.holder.ending);
	client_close(client);
}

static void a_process_that_ends_is_reported(void **state)
{
	struct client *client = scene_client(&scene);
	struct gp_proto_msg_open body = {0};
	int hold[2];

	(void)state;
	assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
	pid_t child = fork();
	if (!child) {
		char byte;
		close(hold[1]);
		(void)!read(hold[0], &byte, 1);
		_exit(0);
	}
	close(hold[0]);
	int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	assert_int_equal(ask(&scene, client, GP_MSG_OPEN, &body, sizeof(body), pidfd), 0);
	int target = (int)((struct gp_proto_msg_opened *)client->message.body)->target;
	close(pidfd);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	close(hold[1]);
	assert_int_equal(wait_event(&scene, client, GP_EVENT_GONE).pid, child);
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), -ESRCH);
	assert_int_equal(waitpid(child, NULL, 0), child);
	UNTIL(&scene, scene.holder.member_count == 0);
	client_close(client);
}

/* Nobody holds it any more: a driver that refuses to start it is left no choice. */
/* One GPU hangs, or is gone, and the other has stopped already. */
static void a_process_of_which_one_gpu_does_not_stop_runs_on_all(void **state)
{
	static const int errors[] = {-EIO, -ENODEV};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(errors); i++) {
		struct client *client = scene_client(&scene), *other = scene_client(&scene);
		int target = open_self(&scene, client, 0), seen = open_self(&scene, other, 0);

		fake.partial = true;
		for (fake.fail_count = 0; fake.fail_count < 5; fake.fail_count++)
			fake.fail[fake.fail_count] = errors[i];
		assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE),
				 errors[i]);
		assert_int_equal(refusal(client),
				 errors[i] == -EIO ? GP_SAY_STUCK : GP_SAY_PROCESS_ERROR);
		UNTIL(&scene, all(false));
		assert_int_equal(target_call(&scene, client, GP_MSG_RENEW, target), -ENOLCK);
		assert_int_equal(count_events(&scene, other, GP_EVENT_HELD_ELSEWHERE), 0);
		fake.fail_count = 0;
		/* It can be held again, and let go. */
		assert_int_equal(suspend(&scene, other, seen, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
		assert_int_equal(resume(&scene, other, seen), FAKE_QUEUES);
		client_close(client);
		client_close(other);
		UNTIL(&scene, !scene.holder.member_count);
	}
}

/* Its GPU was reset while it was held: the session ends, which starts what is left. */
static void a_gpu_that_is_reset_while_held_lets_go(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);

	(void)state;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	fake.resume_error = -ENODEV;
	assert_int_equal(resume(&scene, client, target), -ENODEV);
	assert_int_equal(refusal(client), GP_SAY_PROCESS_ERROR);
	assert_int_equal(fake.attached, 0);
	assert_true(all(false));
	fake.resume_error = 0;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	client_close(client);
}

/* The driver does not come back from one call: the process can be opened all the same. */
static void a_slow_suspend_delays_no_open(void **state)
{
	int gate[2];
	struct client *slow = scene_client(&scene), *other = scene_client(&scene);
	int target = open_self(&scene, slow, 0);
	struct gp_proto_msg_suspend body = {.target = (u32)target, .lease_ms = LONG_LEASE};

	(void)state;
	assert_int_equal(suspend(&scene, slow, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	fake.gate = gate[0];
	tell(slow, GP_MSG_SUSPEND, &body, sizeof(body), -1);
	UNTIL(&scene, fake.suspends == 2);
	assert_true(open_self(&scene, other, 0) > 0);
	assert_int_equal(((const struct gp_proto_msg_opened *)other->message.body)->mechanism, 2);
	assert_int_equal(gp_wire_receive(slow->fd, &slow->message, 0), -EAGAIN);
	assert_int_equal(write(gate[1], "x", 1), 1);
	assert_int_equal(answer(&scene, slow), FAKE_QUEUES);
	close(gate[0]);
	close(gate[1]);
	fake.gate = -1;
	client_close(slow);
	client_close(other);
}

static void what_cannot_be_resumed_is_let_go(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);

	(void)state;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	assert_int_equal(fake.attached, 1);
	fake.resume_error = -EBUSY;
	assert_int_equal(resume(&scene, client, target), -EBUSY);
	assert_int_equal(fake.attached, 0);
	assert_false(fake.suspended[0]);
	fake.resume_error = 0;
	assert_int_equal(suspend(&scene, client, target, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	client_close(client);
}

/* A renewal that waited for it would come too late for everybody else. */
static void a_slow_suspend_holds_up_no_renewal(void **state)
{
	struct client *client = scene_client(&scene);
	struct gp_proto_msg_target all = {0};
	int target = open_self(&scene, client, 0), gate[2];
	struct gp_proto_msg_suspend body = {.target = (u32)target,
					    .lease_ms = LONG_LEASE,
					    .limit_ms = LONG_LEASE,
					    .timeout_ms = LONG_LEASE};

	(void)state;
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	fake.gate = gate[0];
	tell(client, GP_MSG_SUSPEND, &body, sizeof(body), -1);
	assert_int_equal(ask(&scene, client, GP_MSG_RENEW, &all, sizeof(all), -1), 0);
	assert_int_equal(client->message.header.type, GP_MSG_RENEW);
	assert_int_equal(write(gate[1], "x", 1), 1);
	client->serial--;
	assert_int_equal(answer(&scene, client), FAKE_QUEUES);
	fake.gate = -1;
	client_close(client);
	close(gate[0]);
	close(gate[1]);
}

/* An attach that failed may leave the process traced by the worker. */
static void a_process_without_a_session_is_looked_after(void **state)
{
	const struct gp_gpu_control_ops *const mechanisms[] = {&fake_ops, NULL};
	struct gp_holder_applied applied = {.mechanisms = mechanisms, .pid = 1, .pidfd = -1};
	int result = 1;

	(void)state;
	fake.strays = 0;
	assert_int_equal(gp_holder_apply_pump(&applied, &result), 0);
	assert_int_equal(result, 0);
	assert_int_equal(fake.strays, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		INLINE(errors_that_pass_are_tried_again),
		INLINE(one_that_does_not_answer_may_be_stopped),
		INLINE(a_device_that_hangs_is_left_alone_until_it_heals),
		INLINE(a_device_that_hung_is_offered_again_by_itself),
		INLINE(a_refused_suspend_is_no_try),
		THREADED(only_one_suspend_tries_a_device_that_hung),
		INLINE(what_nobody_holds_runs_even_without_memory),
		THREADED(a_suspend_that_takes_too_long_is_undone),
		INLINE(attach_errors_come_with_their_reason),
		INLINE(a_tainted_holder_ends),
		THREADED(a_process_that_ends_is_reported),
		THREADED(a_slow_suspend_holds_up_no_renewal),
		THREADED(a_slow_suspend_delays_no_open),
		INLINE(a_process_of_which_one_gpu_does_not_stop_runs_on_all),
		INLINE(a_gpu_that_is_reset_while_held_lets_go),
		INLINE(what_cannot_be_resumed_is_let_go),
		INLINE(a_process_without_a_session_is_looked_after),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
