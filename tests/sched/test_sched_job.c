// SPDX-License-Identifier: MIT
/* Jobs over several processes and devices, changes of policy, limits, and what is said of it all.
 */
#include "world.h"
#include "show/reason.h"

/* A queue of the job on device 1. */
static u32 second_device(struct world *w, u32 job)
{
	u32 queue;

	done(w, gp_sched_queue_add(w->sched, w->now, w->process[job], 1, GP_SCHED_STREAM_NORMAL,
				   &queue));
	return queue;
}

static void work_on(struct world *w, u32 queue, enum gp_sched_work work)
{
	done(w, gp_sched_work(w->sched, w->now, queue, work, GP_SCHED_UNKNOWN));
}

static struct world *two_devices(void)
{
	struct world *w = world(GP_SCHED_PRIORITY);

	done(w, gp_sched_device_set(w->sched, 0, 1, &w->device));
	w->looked = w->logged;
	return w;
}

static void a_job_is_held_as_a_whole(void **state)
{
	struct world *w = two_devices();
	u32 wide = job(w, 500), high = job(w, 2000), other = job(w, 100), wide1, other1;
	u32 suspends = 0;

	(void)state;
	wide1 = second_device(w, wide);
	other1 = second_device(w, other);
	gets_work(w, wide);
	work_on(w, wide1, GP_SCHED_BUSY);
	work_on(w, other1, GP_SCHED_BUSY);
	is_held(w, other); /* for the wide one, on device 1 */
	gets_work(w, high);
	for (u32 i = 0; i < w->logged; i++)
		suspends += w->log[i].kind == GP_SCHED_SUSPEND && w->log[i].job == wide;
	assert_int_equal(suspends, 1);
	is_held(w, wide);
	is_not_held(w, other); /* device 1 is not left idle for a job that cannot run */
	end(w);
}

static void it_comes_back_when_every_device_lets_it(void **state)
{
	struct world *w = two_devices();
	u32 wide = job(w, 500), here = job(w, 2000), there = job(w, 2000), wide1, there1;

	(void)state;
	wide1 = second_device(w, wide);
	there1 = second_device(w, there);
	gets_work(w, wide);
	work_on(w, wide1, GP_SCHED_BUSY);
	gets_work(w, here);
	work_on(w, there1, GP_SCHED_BUSY);
	is_held(w, wide);
	drains(w, here);
	is_held(w, wide); /* device 1 still wants it so */
	work_on(w, there1, GP_SCHED_DRAINED);
	is_resumed(w, wide, GP_SCHED_WHY_CLEAR);
	end(w);
}

static void where_it_has_no_work_a_device_has_no_say(void **state)
{
	struct world *w = two_devices();
	u32 wide = job(w, 500), here = job(w, 2000), there = job(w, 2000), wide1, there1;

	(void)state;
	wide1 = second_device(w, wide);
	there1 = second_device(w, there);
	work_on(w, there1, GP_SCHED_BUSY);
	gets_work(w, wide);
	is_not_held(w, wide);
	work_on(w, wide1, GP_SCHED_BUSY);
	is_held(w, wide);
	gets_work(w, here);
	work_on(w, wide1,
		GP_SCHED_DRAINED); /* held for device 1 until now; device 0 says no as well */
	is_held(w, wide);
	drains(w, here);
	is_not_held(w, wide);
	end(w);
}

static void all_processes_of_a_job_count(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), group = job(w, 2000), process, queue;

	(void)state;
	done(w, gp_sched_process_add(w->sched, w->now, group, &process));
	done(w, gp_sched_queue_add(w->sched, w->now, process, 0, GP_SCHED_STREAM_NORMAL, &queue));
	gets_work(w, low);
	gets_work(w, group);
	work_on(w, queue, GP_SCHED_BUSY);
	drains(w, group); /* its first process */
	is_held(w, low);
	done(w, gp_sched_process_remove(w->sched, w->now, process)); /* dies with work */
	is_not_held(w, low);
	end(w);
}

static void changing_the_policy_drops_nobody(void **state)
{
	(void)state;
	for (u32 i = 0; i < GP_SCHED_POLICIES * GP_SCHED_POLICIES; i++) {
		struct world *w = world((enum gp_sched_policy_id)(i / GP_SCHED_POLICIES));
		u32 jobs[6];
		struct gp_sched_job_state got;

		for (u32 k = 0; k < 6; k++) {
			struct gp_sched_job_spec spec = {.priority = 100 * k,
							 .weight = 1 + k,
							 .deadline_ns = k % 2 ? 50 * MS : 0,
							 .budget_ns = MS};

			gets_work(w, jobs[k] = job_like(w, &spec));
			pass(w, MS);
		}
		w->device.policy = (enum gp_sched_policy_id)(i % GP_SCHED_POLICIES);
		reconfigure(w);
		pass(w, 5 * S);
		for (u32 k = 0; k < 6; k++) {
			assert_int_equal(gp_sched_job_state(w->sched, jobs[k], &got), 0);
			assert_int_equal(got.busy_queues, 1);
			assert_true(w->ran[jobs[k]] > 0);
			drains(w, jobs[k]);
		}
		pass(w, S);
		for (u32 k = 0; k < 6; k++)
			runs(w, jobs[k]);
		end(w);
	}
}

static void switching_off_lets_everybody_go(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);

	(void)state;
	gets_work(w, low);
	gets_work(w, high);
	w->device.policy = GP_SCHED_OFF;
	done(w, gp_sched_device_set(w->sched, w->now, 0, &w->device));
	is_resumed(w, low, GP_SCHED_WHY_POLICY);
	w->device.policy = GP_SCHED_PRIORITY;
	w->device.can_suspend = false;
	reconfigure(w);
	pass(w, S);
	nothing_happens(w);
	end(w);
}

static void more_actions_than_fit_come_in_several_helpings(void **state)
{
	struct gp_sched_config config;
	struct gp_sched_device_config device;
	struct gp_sched_action action;
	struct gp_sched *sched;
	u32 job, process, queue, suspended = 0;
	size_t size;
	void *memory;

	(void)state;
	gp_sched_defaults(&config);
	config.devices = 1;
	config.max_jobs = config.max_processes = config.max_queues = 2000;
	size = gp_sched_memory(&config);
	memory = malloc(size);
	assert_non_null(memory);
	assert_int_equal(gp_sched_init(&sched, memory, size, &config), 0);
	gp_sched_device_defaults(&device);
	device.policy = GP_SCHED_OFF;
	assert_int_equal(gp_sched_device_set(sched, 0, 0, &device), 0);
	for (u32 i = 0; i < 2000; i++) {
		struct gp_sched_job_spec spec = {.priority = i};

		assert_int_equal(gp_sched_job_add(sched, 0, &spec, &job), 0);
		assert_int_equal(gp_sched_process_add(sched, 0, job, &process), 0);
		assert_int_equal(gp_sched_queue_add(sched, 0, process, 0, GP_SCHED_STREAM_NORMAL,
						    &queue),
				 0);
		assert_int_equal(gp_sched_work(sched, 0, queue, GP_SCHED_BUSY, GP_SCHED_UNKNOWN),
				 0);
	}
	device.policy = GP_SCHED_PRIORITY;
	assert_int_equal(gp_sched_device_set(sched, 1, 0, &device), 0);
	assert_int_equal(gp_sched_timer(sched, 2), -EAGAIN); /* take them first */
	while (gp_sched_take(sched, &action))
		suspended += action.kind == GP_SCHED_SUSPEND;
	assert_int_equal(suspended, 1999);
	assert_null(gp_sched_check(sched));
	assert_int_equal(gp_sched_timer(sched, 2), 0);
	free(memory);
}

static void limits_and_nonsense_are_refused(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	struct gp_sched_config config = w->config;
	struct gp_sched_device_config device = w->device;
	struct gp_sched_job_spec spec = {.priority = 65536};
	struct gp_sched *sched;
	u32 id, job0 = job(w, 1), count;

	(void)state;
	assert_int_equal(gp_sched_init(&sched, w->memory, 100, &config), -ENOMEM);
	config.devices = 0;
	assert_int_equal(gp_sched_memory(&config), 0);
	assert_int_equal(gp_sched_init(&sched, w->memory, 1 << 20, &config), -EINVAL);
	assert_int_equal(gp_sched_job_add(w->sched, 0, &spec, &id), -EINVAL);
	spec = (struct gp_sched_job_spec){.weight = 10001};
	assert_int_equal(gp_sched_job_add(w->sched, 0, &spec, &id), -EINVAL);
	spec = (struct gp_sched_job_spec){.deadline_ns = MS, .budget_ns = 2 * MS};
	assert_int_equal(gp_sched_job_set(w->sched, 0, job0, &spec), -EINVAL);
	device.policy = GP_SCHED_POLICIES;
	assert_int_equal(gp_sched_device_set(w->sched, 0, 0, &device), -EINVAL);
	assert_int_equal(gp_sched_device_set(w->sched, 0, 2, &w->device), -ENOENT);
	device = w->device;
	device.min_run_ns = UINT64_MAX;
	assert_int_equal(gp_sched_device_set(w->sched, 0, 0, &device), -EINVAL);
	assert_int_equal(gp_sched_work(w->sched, 0, 99, GP_SCHED_BUSY, 0), -ENOENT);
	assert_int_equal(gp_sched_work(w->sched, 0, w->queue[job0], (enum gp_sched_work)7, 0),
			 -EINVAL);
	assert_int_equal(gp_sched_job_remove(w->sched, 0, 63), -ENOENT);
	assert_int_equal(gp_sched_process_remove(w->sched, 0, 63), -ENOENT);
	assert_int_equal(gp_sched_queue_remove(w->sched, 0, 99), -ENOENT);
	assert_int_equal(gp_sched_hint(w->sched, 0, job0, 1, 0), -ENOENT); /* not on that device */
	assert_int_equal(gp_sched_lease_lost(w->sched, 0, 63), -ENOENT);
	for (count = 0;
	     !gp_sched_queue_add(w->sched, 0, w->process[job0], 0, GP_SCHED_STREAM_LOW, &id);
	     count++)
		;
	assert_int_equal(count, 127);
	assert_int_equal(gp_sched_queue_add(w->sched, 0, w->process[job0], 0, GP_SCHED_STREAM_LOW,
					    &id),
			 -ENOSPC);
	done(w, 0);
	end(w);
}

static void every_reason_has_a_sentence_of_its_own(void **state)
{
	char text[GP_SCHED_WHYS][512], small[8];

	(void)state;
	for (u32 i = 0; i < GP_SCHED_WHYS; i++) {
		struct gp_sched_reason reason = {.why = (enum gp_sched_why)i,
						 .job = 7,
						 .other = 9,
						 .cost_ns = 1500000,
						 .saves_ns = GP_SCHED_UNKNOWN};

		assert_non_null(gp_sched_why_name(reason.why));
		assert_in_range(gp_show_reason(&reason, "trainer", NULL, text[i], 512), 1, 511);
		for (u32 k = 0; k < i; k++)
			assert_string_not_equal(text[i], text[k]);
		assert_true(gp_show_reason(&reason, NULL, NULL, small, sizeof(small)) > 0);
	}
	assert_string_equal(
		text[GP_SCHED_WHY_DECLINED],
		"trainer is not preempted for job 9: preemption would cost 1.5 ms, but the "
		"running work should finish in unknown");
	assert_null(gp_sched_why_name(GP_SCHED_WHYS));
	assert_string_equal(gp_sched_policy_name(GP_SCHED_FAIR), "fair");
	assert_null(gp_sched_policy_name(GP_SCHED_POLICIES));
	assert_string_equal(gp_sched_shield_name(GP_SCHED_SHIELD_TURN), "turn");
}

static void a_limit_is_not_named_for_one_suspension_that_was_shorter(void **state)
{
	struct gp_sched_reason reason = {.why = GP_SCHED_WHY_MAX_SUSPEND,
					 .waited_ns = 2 * S,
					 .limit_ns = 2 * S};
	char text[512];

	(void)state;
	gp_show_reason(&reason, "trainer", NULL, text, sizeof(text));
	assert_non_null(strstr(text, "reached the limit of 2 s for one suspension"));
	reason.waited_ns = 500 * MS;
	gp_show_reason(&reason, "trainer", NULL, text, sizeof(text));
	assert_null(strstr(text, "for one suspension"));
	assert_non_null(strstr(text, "after 500 ms: together with earlier suspensions"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_is_held_as_a_whole),
		cmocka_unit_test(it_comes_back_when_every_device_lets_it),
		cmocka_unit_test(where_it_has_no_work_a_device_has_no_say),
		cmocka_unit_test(all_processes_of_a_job_count),
		cmocka_unit_test(changing_the_policy_drops_nobody),
		cmocka_unit_test(switching_off_lets_everybody_go),
		cmocka_unit_test(more_actions_than_fit_come_in_several_helpings),
		cmocka_unit_test(limits_and_nonsense_are_refused),
		cmocka_unit_test(every_reason_has_a_sentence_of_its_own),
		cmocka_unit_test(a_limit_is_not_named_for_one_suspension_that_was_shorter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
