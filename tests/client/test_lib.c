// SPDX-License-Identifier: MIT
/* libgpreempt against a fake holder: what is asked, and what is answered. */
#include "scene.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

#include "proto/directory.h"

static void suspend_and_resume_count_the_queues(void **state)
{
	struct gpreempt_target *target = open_self(*state);
	struct gpreempt_target_info info = {.size = sizeof(info)};

	assert_int_equal(gpreempt_target_suspend(target, NULL), 3);
	assert_int_equal(gpreempt_target_info(target, &info), 0);
	assert_int_equal(info.mechanism, GPREEMPT_KFD_DEBUG);
	assert_int_equal(info.mine, 1);
	assert_int_equal(info.owner_pid, getpid());
	assert_string_equal(info.why, "a debug session (DBG_TRAP) can suspend the process");
	assert_int_equal(gpreempt_target_renew(target), 0);
	assert_int_equal(gpreempt_target_resume(target), 3);
	assert_int_equal(gpreempt_target_resume(target), 0);
	assert_int_equal(gpreempt_target_renew(target), -ENOLCK);
	assert_int_equal(gpreempt_target_info(target, &info), 0);
	assert_int_equal(info.mine, 0);
	gpreempt_target_close(target);
}

static void latency_is_known_after_the_first_call(void **state)
{
	struct gpreempt_target *target = open_self(*state);
	struct gpreempt_latency latency = {.size = sizeof(latency)};

	assert_int_equal(gpreempt_target_latency(target, &latency), -ENODATA);
	assert_int_equal(gpreempt_target_suspend(target, NULL), 3);
	assert_int_equal(gpreempt_target_latency(target, &latency), 0);
	assert_int_equal(latency.issue_ns, 11);
	assert_int_equal(latency.driver_ns, 22);
	assert_int_equal(latency.queues, 3);
	assert_true(latency.total_ns > 0);
}

static void a_struct_of_an_older_library_is_filled_as_far_as_it_goes(void **state)
{
	struct gpreempt_target *target = open_self(*state);
	struct gpreempt_target_info info;
	struct gpreempt_suspend_options options = {.size = offsetof(struct gpreempt_suspend_options,
								    limit_ms),
						   .lease_ms = 60,
						   .limit_ms = UINT32_MAX,
						   .grace = 9999};

	memset(&info, 0x5a, sizeof(info));
	info.size = offsetof(struct gpreempt_target_info, suspended);
	assert_int_equal(gpreempt_target_info(target, &info), 0);
	assert_int_equal(info.priority, 1000);
	assert_int_equal(info.suspended, 0x5a5a5a5a);
	assert_int_equal(gpreempt_target_suspend(target, &options), 3);
	options.size = sizeof(options);
	assert_int_equal(gpreempt_target_suspend(target, &options), -EINVAL);
}

static void bad_arguments_are_refused_before_anything_is_sent(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target = open_self(scene), *none;
	struct gpreempt_suspend_options options = {.size = sizeof(options), .lease_ms = 49};
	struct gpreempt_target_options how = {.size = sizeof(how), .mechanism = 99};
	u32 ids[GPREEMPT_QUEUES_MAX + 1] = {0};

	assert_int_equal(gpreempt_target_suspend(target, &options), -EINVAL);
	assert_string_equal(gpreempt_error(scene->context), "a lease must be 50 to 3600000 ms");
	options = (struct gpreempt_suspend_options){.size = sizeof(options), .grace = 256};
	assert_int_equal(gpreempt_target_suspend(target, &options), -EINVAL);
	options = (struct gpreempt_suspend_options){.size = sizeof(options), .flags = 1u << 31};
	assert_int_equal(gpreempt_target_suspend(target, &options), -EINVAL);
	options = (struct gpreempt_suspend_options){.size = 0};
	assert_int_equal(gpreempt_target_suspend(target, &options), -EINVAL);
	assert_int_equal(gpreempt_target_suspend_queues(target, ids, 0, NULL), -EINVAL);
	assert_int_equal(gpreempt_target_suspend_queues(target, ids, GPREEMPT_QUEUES_MAX + 1, NULL),
			 -EINVAL);
	assert_int_equal(gpreempt_target_set_priority(target, 65536), -EINVAL);
	assert_int_equal(gpreempt_target_share(target, 0), -EINVAL);
	assert_int_equal(gpreempt_target_share(target, 1001), -EINVAL);
	assert_int_equal(gpreempt_target_open(scene->context, getpid(), &how, &none), -EINVAL);
	assert_int_equal(gpreempt_target_open(scene->context, 0, NULL, &none), -EINVAL);
	assert_int_equal(gpreempt_group_open(scene->context, "", NULL, &none), -EINVAL);
	assert_null(none);
}

static void what_the_holder_refuses_comes_with_its_sentence(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target;
	u32 ids[] = {1, 5000};

	assert_int_equal(gpreempt_group_open(scene->context, "refused", NULL, &target),
			 -EOPNOTSUPP);
	assert_non_null(strstr(gpreempt_error(scene->context),
			       "the holder was built without this mechanism"));
	target = open_self(scene);
	assert_int_equal(gpreempt_target_suspend_queues(target, ids, 2, NULL), -ENOENT);
	assert_non_null(strstr(gpreempt_error(scene->context),
			       "one of the specified queues does not exist"));
	assert_int_equal(gpreempt_target_suspend_queues(target, ids, 1, NULL), 1);
	assert_int_equal(gpreempt_target_resume_queues(target, ids, 1), 1);
	assert_int_equal(gpreempt_target_share(target, 500), -EOPNOTSUPP);
	assert_int_equal(gpreempt_target_set_priority(target, 2000), 0);
}

static void a_process_that_is_gone_is_esrch(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(gpreempt_target_open(scene->context, child, NULL, &target), -ESRCH);
	assert_non_null(strstr(gpreempt_error(scene->context), "does not exist"));
}

static void *tell_number(void *fd)
{
	int number = gettid();
	char byte;

	if (write(((int *)fd)[1], &number, sizeof(number)) == sizeof(number))
		(void)!read(((int *)fd)[2], &byte, 1);
	return NULL;
}

static void a_thread_is_no_process(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target;
	int pipes[4], number = 0;
	pthread_t thread;

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(pipe(pipes + 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, tell_number, pipes), 0);
	assert_int_equal(read(pipes[0], &number, sizeof(number)), sizeof(number));
	assert_int_equal(gpreempt_target_open(scene->context, number, NULL, &target), -ESRCH);
	assert_non_null(strstr(gpreempt_error(scene->context), "does not exist"));
	close(pipes[3]);
	pthread_join(thread, NULL);
	for (int i = 0; i < 3; i++)
		close(pipes[i]);
}

static void a_long_list_of_queues_comes_in_pages(void **state)
{
	struct gpreempt_target *target = open_group(*state, "many");
	struct gpreempt_queue *queues = calloc(2000, sizeof(*queues));

	assert_int_equal(gpreempt_target_queues(target, queues, 2000), 1300);
	for (u32 i = 0; i < 1300; i++)
		assert_int_equal(queues[i].kfd_id, i);
	assert_int_equal(queues[0].valid, GPREEMPT_QUEUE_KFD_ID | GPREEMPT_QUEUE_RING);
	memset(queues, 0, 2000 * sizeof(*queues));
	assert_int_equal(gpreempt_target_queues(target, queues, 600), 1300);
	assert_int_equal(queues[599].kfd_id, 599);
	assert_int_equal(queues[600].ring, 0);
	assert_int_equal(gpreempt_target_queues(target, NULL, 0), 1300);
	free(queues);
}

static void asynchronous_calls_end_as_events(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target = open_self(scene);
	struct gpreempt_event event;
	int first = gpreempt_target_suspend_async(target, NULL);
	int second = gpreempt_target_resume_async(target);

	assert_true(first > 0 && second > 0 && first != second);
	/* A call in between takes its own answer and keeps the others. */
	assert_int_equal(gpreempt_target_set_priority(target, 7), 0);
	event = next_event(scene->context);
	assert_int_equal(event.kind, GPREEMPT_EVENT_DONE);
	assert_int_equal(event.ticket, first);
	assert_int_equal(event.result, 3);
	assert_ptr_equal(event.target, target);
	event = next_event(scene->context);
	assert_int_equal(event.ticket, second);
	assert_int_equal(gpreempt_next_event(scene->context, &event), 0);
	struct pollfd quiet = {.fd = gpreempt_fd(scene->context), .events = POLLIN};
	assert_int_equal(poll(&quiet, 1, 0), 0);
}

static void a_share_needs_not_be_waited_for(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *hung = open_group(scene, "hang"),
			       *can = open_group(scene, "shares"), *cannot = open_self(scene);
	struct gpreempt_event event;
	int never = gpreempt_target_share_async(hung, 500);
	int first = gpreempt_target_share_async(can, 500);
	int second = gpreempt_target_share_async(cannot, 500);

	assert_true(never > 0 && first > never && second > first);
	event = next_event(scene->context);
	assert_int_equal(event.kind, GPREEMPT_EVENT_DONE);
	assert_int_equal(event.ticket, first);
	assert_int_equal(event.result, 0);
	assert_ptr_equal(event.target, can);
	event = next_event(scene->context);
	assert_int_equal(event.ticket, second);
	assert_int_equal(event.result, -EOPNOTSUPP);
	assert_int_equal(gpreempt_target_share_async(can, 1001), -EINVAL);
	assert_int_equal(gpreempt_target_share_async(can, 0), -EINVAL);
	/* What is held stays held, and what was measured stays what it is. */
	struct gpreempt_latency latency = {.size = sizeof(latency)};
	assert_int_equal(gpreempt_target_suspend(can, NULL), 3);
	assert_true(gpreempt_target_share_async(can, 500) > 0);
	event = next_event(scene->context);
	assert_int_equal(event.result, 0);
	assert_int_equal(gpreempt_target_renew(can), 0);
	assert_int_equal(gpreempt_target_latency(can, &latency), 0);
	assert_int_equal(latency.queues, 3);
}

static void a_lost_lease_is_an_event_and_enolck(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target = open_group(scene, "lose");

	assert_int_equal(gpreempt_target_suspend(target, NULL), 3);
	struct gpreempt_event event = next_event(scene->context);
	assert_int_equal(event.kind, GPREEMPT_EVENT_LEASE_LOST);
	assert_ptr_equal(event.target, target);
	assert_int_equal(gpreempt_target_renew(target), -ENOLCK);
}

/* 0: it said that process 4711 is held by nobody else. */
static int held_elsewhere(struct gpreempt *context, int pid)
{
	struct gpreempt_event event = next_event(context);

	assert_int_equal(event.kind, GPREEMPT_EVENT_HELD_ELSEWHERE);
	assert_int_equal(event.pid, pid);
	return event.result;
}

static void holds_of_others_are_events(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target = open_group(scene, "elsewhere");
	struct gpreempt_event event;

	assert_int_equal(gpreempt_target_set_priority(target, 77), 0);
	assert_int_equal(held_elsewhere(scene->context, 4711), 77);
	assert_int_equal(gpreempt_target_set_priority(target, 0), 0);
	assert_int_equal(held_elsewhere(scene->context, 4711), 0);
	/* However many were not read, the last state arrives, and only that. */
	for (unsigned int i = 0; i <= 3000; i++)
		assert_int_equal(gpreempt_target_set_priority(target, i), 0);
	assert_int_equal(gpreempt_target_share(target, 500), -EOPNOTSUPP); /* comes after them */
	assert_int_equal(held_elsewhere(scene->context, 4711), 3000);
	assert_int_equal(gpreempt_next_event(scene->context, &event), 0);
}

/* What it held for others runs as well. */
static void holds_of_others_end_with_the_holder(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target = open_group(scene, "elsewhere");
	struct gpreempt_event event;

	assert_int_equal(gpreempt_target_set_priority(target, 77), 0);
	assert_int_equal(held_elsewhere(scene->context, 4711), 77);
	signal_holder(scene, SIGKILL);
	assert_int_equal(held_elsewhere(scene->context, 0), 0);
	assert_int_equal(gpreempt_target_set_priority(target, 78), 0);
	assert_int_equal(held_elsewhere(scene->context, 4711), 78);
	assert_int_equal(gpreempt_next_event(scene->context, &event), 0);
}

static void events_of_a_closed_target_are_forgotten(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target = open_group(scene, "lose");
	struct gpreempt_target *other = open_self(scene);
	struct gpreempt_event event;

	assert_int_equal(gpreempt_target_suspend(target, NULL), 3);
	assert_true(gpreempt_target_suspend_async(target, NULL) > 0);
	assert_true(gpreempt_target_suspend_async(other, NULL) > 0);
	gpreempt_target_close(target);
	event = next_event(scene->context);
	assert_ptr_equal(event.target, other);
	assert_int_equal(gpreempt_next_event(scene->context, &event), 0);
}

struct worker {
	struct gpreempt *context;
	struct gpreempt_target *target;
	int wrong;
};

static void *work(void *data)
{
	struct worker *worker = data;

	for (int i = 0; i < 200; i++) {
		worker->wrong += gpreempt_target_suspend(worker->target, NULL) != 3;
		worker->wrong += gpreempt_target_resume(worker->target) != 3;
		worker->wrong += gpreempt_target_set_priority(worker->target, 70000) != -EINVAL;
		worker->wrong += strstr(gpreempt_error(worker->context), "70000") == NULL;
	}
	return NULL;
}

static void threads_share_a_context(void **state)
{
	struct scene *scene = *state;
	struct worker workers[4];
	pthread_t threads[4];

	for (int i = 0; i < 4; i++) {
		workers[i] = (struct worker){.context = scene->context, .target = open_self(scene)};
		assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(workers[i].wrong, 0);
	}
	assert_string_equal(gpreempt_error(scene->context), "");
}

static void a_child_after_fork_cannot_use_the_connection(void **state)
{
	struct scene *scene = *state;
	struct gpreempt_target *target = open_self(scene);
	int status;
	pid_t child;

	assert_int_equal(gpreempt_target_suspend(target, NULL), 3);
	child = fork();
	if (child == 0)
		_exit(gpreempt_target_resume(target) == -EPERM ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(gpreempt_target_renew(target), 0);
}

static void hints_without_an_agent_are_harmless(void **state)
{
	(void)state;
	assert_int_equal(gpreempt_request_begin(1000), 0);
	assert_int_equal(gpreempt_request_end(), 0);
}

static void a_virtual_machine_has_sockets_of_its_own(void **state)
{
	char machine[64], path[96], expected[96], run[72];

	(void)state;
	assert_non_null(place_make(machine, sizeof(machine)));
	unsetenv("GPREEMPT_DIR");
	setenv("GPREEMPT_VGPU", machine, 1);
	snprintf(run, sizeof(run), "%s/run", machine);
	snprintf(expected, sizeof(expected), "%s/holder.sock", run);
	assert_int_equal(gp_proto_directory_path(path, sizeof(path), "holder.sock", 0), -ENOENT);
	assert_int_equal(gp_proto_directory_path(path, sizeof(path), "holder.sock", 1), 0);
	assert_string_equal(path, expected);
	/* What was asked for by name comes first. */
	setenv("GPREEMPT_DIR", machine, 1);
	assert_int_equal(gp_proto_directory_path(path, sizeof(path), "x", 0), 0);
	assert_string_not_equal(path, expected);
	unsetenv("GPREEMPT_VGPU");
	assert_int_equal(rmdir(run), 0);
	assert_int_equal(rmdir(machine), 0);
}

static void names_and_version(void **state)
{
	(void)state;
	assert_string_equal(gpreempt_mechanism_name(GPREEMPT_KFD_DEBUG), "kfd-debug");
	assert_string_equal(gpreempt_mechanism_name(GPREEMPT_AUTO), "auto");
	assert_null(gpreempt_mechanism_name((enum gpreempt_mechanism)77));
	assert_string_equal(gpreempt_version(), GP_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(suspend_and_resume_count_the_queues),
		TEST(latency_is_known_after_the_first_call),
		TEST(a_struct_of_an_older_library_is_filled_as_far_as_it_goes),
		TEST(bad_arguments_are_refused_before_anything_is_sent),
		TEST(what_the_holder_refuses_comes_with_its_sentence),
		TEST(a_process_that_is_gone_is_esrch),
		TEST(a_thread_is_no_process),
		TEST(a_long_list_of_queues_comes_in_pages),
		TEST(asynchronous_calls_end_as_events),
		TEST(a_share_needs_not_be_waited_for),
		TEST(a_lost_lease_is_an_event_and_enolck),
		TEST(holds_of_others_are_events),
		TEST(holds_of_others_end_with_the_holder),
		TEST(events_of_a_closed_target_are_forgotten),
		TEST(threads_share_a_context),
		TEST(a_child_after_fork_cannot_use_the_connection),
		cmocka_unit_test(hints_without_an_agent_are_harmless),
		cmocka_unit_test(a_virtual_machine_has_sockets_of_its_own),
		cmocka_unit_test(names_and_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
