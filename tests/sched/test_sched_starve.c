// SPDX-License-Identifier: MIT
/* Batch work gets through: what preemptions cost a job, and what it was denied before, counts. */
#include "world.h"

#define SERVERS 12
#define BATCH   36

static u32 count(struct world *w, enum gp_sched_action_kind kind, u32 job, enum gp_sched_why why)
{
	u32 found = 0;

	for (u32 i = 0; i < w->logged; i++)
		found += w->log[i].kind == kind && w->log[i].job == job &&
			 w->log[i].reason.why == why;
	return found;
}

/* 60 ms for each operation; the server is back as soon as the job runs. */
static void a_resumed_job_gets_what_its_operations_cost(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);
	struct gp_sched_action *note;
	u64 from;

	(void)state;
	w->takes = 60 * MS;
	gets_work(w, low);
	pass(w, MS);
	gets_work(w, high);
	pass(w, 61 * MS);
	drains(w, high);
	pass(w, 60 * MS);
	runs(w, low);
	from = w->now;
	gets_work(w, high);
	note = look(w, GP_SCHED_NOTE, low, GP_SCHED_WHY_OWED);
	assert_non_null(note);
	assert_int_equal(note->reason.other, high);
	assert_int_equal(note->reason.cost_ns, 120 * MS);
	assert_int_equal(note->reason.ran_ns, MS);
	assert_int_equal(note->reason.limit_ns, 239 * MS); /* twice what it lost */
	pass(w, 238 * MS);
	is_not_held(w, low);
	pass(w, 61 * MS); /* at most a quarter more */
	note = look(w, GP_SCHED_SUSPEND, low, GP_SCHED_WHY_INVERSION);
	assert_non_null(note);
	assert_true(note->reason.at_ns - from >= 239 * MS);
	assert_int_equal(note->reason.shield, GP_SCHED_SHIELD_OWED);
	end(w);
}

/* Two are stopped and started one after the other: each loses the time of both, as often as
 * operations are under way. One that runs while the other is started gains nothing yet. */
static void stopping_many_costs_more_than_stopping_one(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), other = job(w, 500), high = job(w, 2000);
	struct gp_sched_job_state got;
	struct gp_sched_action *note;

	(void)state;
	w->takes = 10 * MS;
	w->serial = true;
	gets_work(w, low);
	gets_work(w, other);
	pass(w, MS);
	gets_work(w, high);
	pass(w, 30 * MS);
	drains(w, high);
	pass(w, 20 * MS);
	gets_work(w, high);
	note = look(w, GP_SCHED_NOTE, low, GP_SCHED_WHY_OWED);
	assert_non_null(note);
	assert_int_equal(note->reason.cost_ns, 2 * (2 * 10 * MS + 10 * MS));
	/* What the log says once is counted once. */
	assert_int_equal(gp_sched_job_state(w->sched, low, &got), 0);
	assert_int_equal(got.declined, count(w, GP_SCHED_NOTE, low, GP_SCHED_WHY_OWED) +
					       count(w, GP_SCHED_NOTE, low, GP_SCHED_WHY_DECLINED));
	assert_int_equal(note->reason.ran_ns, MS);
	end(w);
}

static void losses_are_forgotten_after_some_seconds(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);

	(void)state;
	w->takes = 60 * MS;
	gets_work(w, low);
	gets_work(w, high);
	pass(w, 61 * MS);
	drains(w, high);
	pass(w, 61 * MS);
	drains(w, low);
	pass(w, 10 * S);
	gets_work_of(w, low, 10 * S);
	pass(w, MS);
	w->looked = w->logged;
	gets_work(w, high);
	is_suspended(w, low, GP_SCHED_WHY_INVERSION);
	end(w);
}

/* One that has run for long is preempted again and again at once. */
static void who_has_gained_is_preempted_at_once(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);

	(void)state;
	gets_work(w, low);
	for (u32 i = 0; i < 1000; i++) {
		pass(w, 100 * US);
		gets_work(w, high);
		is_held(w, low);
		pass(w, 100 * US);
		drains(w, high);
		pass(w, 10 * US);
	}
	assert_int_equal(count(w, GP_SCHED_NOTE, low, GP_SCHED_WHY_OWED), 0);
	end(w);
}

/* Held for 90 of 91 ms, never for long at a stretch: it ages all the same. */
static void short_stretches_add_up_to_ageing(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);
	struct gp_sched_action *action, *suspended;
	u32 rounds;

	(void)state;
	w->device.age_step_ns = MS;
	reconfigure(w);
	gets_work(w, low);
	for (rounds = 0; rounds < 100; rounds++) {
		gets_work(w, high);
		pass(w, 90 * MS);
		action = look(w, GP_SCHED_RESUME, low, GP_SCHED_WHY_AGED);
		if (action)
			break;
		drains(w, high);
		pass(w, 10 * US);
	}
	assert_true(rounds > 15 && rounds < 20); /* 1.5 s in all, less the bit that it ran */
	assert_true(action->reason.limit_ns >= 1500 * MS && action->reason.waited_ns < 90 * MS);
	/* And its turn is a whole one. */
	w->looked = (u32)(action - w->log);
	pass(w, 15 * MS);
	suspended = look(w, GP_SCHED_SUSPEND, low, GP_SCHED_WHY_INVERSION);
	assert_non_null(suspended);
	assert_true(suspended->reason.at_ns - action->reason.at_ns >= 10 * MS);
	end(w);
}

static void short_stretches_add_up_to_max_suspend(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);
	u32 rounds;

	(void)state;
	gets_work(w, low);
	for (rounds = 0; rounds < 100; rounds++) {
		gets_work(w, high);
		pass(w, 90 * MS);
		if (look(w, GP_SCHED_RESUME, low, GP_SCHED_WHY_MAX_SUSPEND))
			break;
		drains(w, high);
		pass(w, 10 * US);
	}
	assert_true(rounds > 20 && rounds < 26); /* 2 s */
	end(w);
}

/* A whole turn makes up for what was denied. */
static void a_turn_ends_the_account(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), high = job(w, 2000);

	(void)state;
	gets_work(w, low);
	for (u32 i = 0; i < 100; i++) {
		gets_work(w, high);
		pass(w, 90 * MS);
		drains(w, high);
		pass(w, 11 * MS);
	}
	assert_int_equal(count(w, GP_SCHED_RESUME, low, GP_SCHED_WHY_MAX_SUSPEND), 0);
	end(w);
}

static void answer(struct world *w, u32 job)
{
	u32 last = w->logged;

	while (w->log[--last].job != job || !w->log[last].token)
		assert_true(last);
	done(w, gp_sched_operation(w->sched, w->now, w->log[last].token, 0, GP_SCHED_UNKNOWN));
}

/* Another job that never answers does not keep a healthy one from being preempted. */
static void mute_jobs_are_not_a_loss_of_others(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low = job(w, 500), mute = job(w, 500), high = job(w, 2000);

	(void)state;
	gets_work(w, low);
	gets_work(w, mute);
	pass(w, S);
	for (u32 i = 0; i < 200; i++) {
		w->takes = GP_SCHED_NEVER;
		gets_work(w, high);
		is_held(w, low);
		pass(w, 100 * US);
		answer(w, low);
		drains(w, high);
		is_not_held(w, low);
		pass(w, 100 * US);
		answer(w, low);
		pass(w, 9800 * US);
	}
	end(w);
}

/* 12 servers and 36 batch jobs; operations wait for each other and take 1 ms each. */
struct crowd {
	struct world *w;
	u32 server[SERVERS], batch[BATCH];
	u64 busy_until[SERVERS], ran[BATCH], left, requests, narrow;
};

static void crowd_begin(struct crowd *c, u32 places)
{
	struct world *w = world(GP_SCHED_PRIORITY);

	*c = (struct crowd){.w = w};
	gp_sched_device_defaults(&w->device);
	w->device.places = places;
	reconfigure(w);
	w->takes = MS;
	w->serial = true;
	for (u32 i = 0; i < SERVERS; i++)
		c->server[i] = job(w, 2000);
	for (u32 i = 0; i < BATCH; i++) {
		c->batch[i] = job(w, 500);
		gets_work(w, c->batch[i]);
	}
}

/* Half a millisecond. Every 8 ms a server has a request of 1 ms. */
static void crowd_tick(struct crowd *c, u32 tick)
{
	u32 next = tick / 16 % SERVERS;
	struct world *w = c->w;
	struct gp_sched_device_state device;
	bool idle = true;

	if (tick % 16 == 0 && !w->busy[c->server[next]]) {
		gets_work(w, c->server[next]);
		c->busy_until[next] = w->now + MS;
		c->requests++;
	}
	for (u32 i = 0; i < SERVERS; i++) {
		if (w->busy[c->server[i]] && c->busy_until[i] <= w->now)
			drains(w, c->server[i]);
		idle = idle && !w->busy[c->server[i]];
	}
	pass(w, MS / 2);
	w->logged = w->looked = 0;
	c->left += idle;
	assert_int_equal(gp_sched_device_state(w->sched, 0, &device), 0);
	c->narrow += device.narrow;
	for (u32 i = 0; i < BATCH; i++)
		c->ran[i] += run_of(w, c->batch[i]) == GP_SCHED_RUNNING;
}

/* Jobs that leave most of the device idle: in any 5 s each runs for at least half of the time that
 * the servers leave; a third in the first, in which turns are tried. */
static void light_crowd(u32 places)
{
	u32 work[BATCH] = {0};
	struct crowd c;

	crowd_begin(&c, places);
	for (u32 tick = 0; tick < 40000; tick++) {
		/* Each has a kernel of 200 ms, and another one 0.5 ms after its end. */
		for (u32 i = 0; i < BATCH; i++) {
			u32 job = c.batch[i];

			if (!c.w->busy[job])
				gets_work(c.w, job);
			else if (work[i] == 400)
				drains(c.w, job), work[i] = 0;
			else
				work[i] += run_of(c.w, job) == GP_SCHED_RUNNING;
		}
		crowd_tick(&c, tick);
		if (tick % 10000 != 9999)
			continue;
		for (u32 i = 0; i < BATCH; i++) {
			if (c.ran[i] * (tick < 10000 ? 3 : 2) < c.left)
				fail_msg("job %u ran %llu of %llu", c.batch[i],
					 (unsigned long long)c.ran[i], (unsigned long long)c.left);
			c.ran[i] = 0;
		}
		c.left = 0;
	}
	assert_true(c.narrow > 0 && c.narrow < 10000); /* tried, and found to be worse */
	end(c.w);
}

static void a_crowd_of_light_jobs_gets_through(void **state)
{
	(void)state;
	light_crowd(0);
}

/* They take turns at first, because the device has not that many places, and complete less. */
static void light_jobs_beyond_the_places_run_side_by_side_again(void **state)
{
	(void)state;
	light_crowd(13);
}

/* Jobs that never drain take turns: each request stops one of them, and in any 5 s each has at
 * least half of an equal share. */
static void a_crowd_of_jobs_that_fill_the_device_takes_turns(void **state)
{
	struct gp_sched_job_state got;
	u64 suspends = 0, before = 0, sum;
	struct crowd c;

	(void)state;
	crowd_begin(&c, 0);
	for (u32 tick = 0; tick < 40000; tick++) {
		crowd_tick(&c, tick);
		if (tick % 10000 != 9999)
			continue;
		sum = 0;
		for (u32 i = 0; i < BATCH; i++) {
			sum += c.ran[i];
			if (c.ran[i] * 2 * BATCH < c.left)
				fail_msg("job %u ran %llu of %llu", c.batch[i],
					 (unsigned long long)c.ran[i], (unsigned long long)c.left);
			c.ran[i] = 0;
			assert_int_equal(gp_sched_job_state(c.w->sched, c.batch[i], &got), 0);
			suspends += got.suspends;
		}
		/* One runs at a time; each request stops one, and is not kept waiting. */
		if (tick > 10000) {
			assert_true(sum < 10000);
			assert_in_range(suspends - before, c.requests * 3 / 4, c.requests * 5 / 4);
		}
		before = suspends;
		suspends = c.left = c.requests = 0;
	}
	/* When the servers are gone all run side by side again. */
	for (u32 i = 0; i < SERVERS; i++)
		if (c.w->busy[c.server[i]])
			drains(c.w, c.server[i]);
	pass(c.w, 5 * S);
	for (u32 i = 0; i < BATCH; i++)
		runs(c.w, c.batch[i]);
	end(c.w);
}

/* More jobs than the device runs at once: the first request stops all of them, the second one. */
static void jobs_beyond_the_places_take_turns_at_once(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low[6], high = job(w, 2000), running = 0, suspends;
	struct gp_sched_stats stats;

	(void)state;
	w->device.places = 4;
	reconfigure(w);
	for (u32 i = 0; i < GP_ARRAY_SIZE(low); i++) {
		low[i] = job(w, 500);
		gets_work(w, low[i]);
	}
	pass(w, MS);
	gets_work(w, high);
	pass(w, MS);
	drains(w, high);
	pass(w, MS);
	for (u32 i = 0; i < GP_ARRAY_SIZE(low); i++)
		running += run_of(w, low[i]) == GP_SCHED_RUNNING;
	assert_int_equal(running, 1);
	gp_sched_stats(w->sched, &stats);
	suspends = (u32)stats.why[GP_SCHED_WHY_INVERSION];
	gets_work(w, high);
	gp_sched_stats(w->sched, &stats);
	assert_int_equal(stats.why[GP_SCHED_WHY_INVERSION], suspends + 1);
	end(w);
}

/* The higher job has work for 50 ms, then none for that long. */
static void gap(struct world *w, u32 high, u64 ns)
{
	gets_work(w, high);
	pass(w, 50 * MS);
	drains(w, high);
	pass(w, ns);
}

/* Of three that take turns: gaps of 1, 4 and 4 ms, then one for the job that had the short one,
 * though another has waited longer. */
static void the_next_turn_goes_to_the_job_that_got_least(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low[3], high = job(w, 2000), had[3] = {0}, first = 3;

	(void)state;
	w->device.places = 2;
	w->device.suspend_ns = w->device.resume_ns = 500 * US;
	reconfigure(w);
	for (u32 i = 0; i < 3; i++) {
		low[i] = job(w, 500);
		gets_work(w, low[i]);
	}
	pass(w, MS);
	for (u32 round = 0; round < 4; round++) {
		gap(w, high, round == 1 ? MS : 4 * MS);
		for (u32 i = 0; i < 3; i++) {
			if (run_of(w, low[i]) != GP_SCHED_RUNNING)
				continue;
			had[i]++;
			if (round == 1)
				first = i;
		}
	}
	assert_in_range(first, 0, 2);
	assert_int_equal(had[0] + had[1] + had[2], 4);
	assert_int_equal(had[first], 2); /* the round after, at once */
	end(w);
}

/* Time passes in small steps; how long each of them really ran is added up. */
static void pass_counting(struct world *w, u64 ns, const u32 *jobs, u32 count, u64 *ran)
{
	for (u64 end = w->now + ns; w->now < end; pass(w, 10 * US))
		for (u32 i = 0; i < count; i++)
			ran[i] += run_of(w, jobs[i]) == GP_SCHED_RUNNING ? 10 * US : 0;
}

/* Gaps that are hardly longer than a resume takes: less than half of them is left for work. A turn
 * goes on beside the higher job until it was worth its operations. */
static void a_turn_is_worth_its_operations(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low[3], high = job(w, 2000), gaps = 900;
	u64 ran[3], left = 0;

	(void)state;
	w->device.places = 2;
	reconfigure(w);
	w->takes = 330 * US;
	for (u32 i = 0; i < 3; i++) {
		low[i] = job(w, 1800);
		gets_work(w, low[i]);
	}
	pass(w, MS);
	for (u32 i = 0; i < gaps; i++) {
		if (i == gaps / 4) { /* turns have been found to pay */
			memset(ran, 0, sizeof(ran));
			left = 0;
		}
		gets_work(w, high);
		pass_counting(w, 5 * MS, low, 3, ran);
		drains(w, high);
		pass_counting(w, 530 * US, low, 3, ran);
		left += 530 * US;
	}
	assert_true(w->sched->device[0].turn_ns);
	for (u32 i = 0; i < 3; i++)
		if (ran[i] * 2 * 3 < left)
			fail_msg("job %u ran %llu us of %llu", i, (unsigned long long)(ran[i] / US),
				 (unsigned long long)(left / US));
	end(w);
}

/* All are stopped at once, by a job that has work for ever: they do not come back at once. */
static void stopped_at_once(u32 priority, u32 count)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low[60], high = job(w, 2000), busy = 0;
	struct gp_sched_stats stats;

	w->device.places = 4;
	w->device.age_step_ns = MS;
	reconfigure(w);
	pass(w, 10 * S);
	for (u32 i = 0; i < count; i++) {
		low[i] = job(w, priority);
		gets_work(w, low[i]);
	}
	pass(w, MS);
	gets_work(w, high);
	for (u32 tick = 0; tick < 21000; tick++) {
		u32 running = 0;

		pass(w, MS / 10); /* turns are short: many have one */
		for (u32 i = 0; i < count; i++)
			running += run_of(w, low[i]) == GP_SCHED_RUNNING;
		assert_in_range(running, 0, 1);
		busy += running;
	}
	assert_true(busy);
	for (u32 i = 0; i < count; i++)
		assert_true(w->ran[low[i]] > MS);
	gp_sched_stats(w->sched, &stats);
	assert_int_equal(stats.why[GP_SCHED_WHY_MAX_SUSPEND], 0);
	end(w);
}

static void jobs_that_are_stopped_at_once_come_back_one_by_one(void **state)
{
	(void)state;
	stopped_at_once(500, 32);
}

/* From ageing to max_suspend there is time for two turns, not for 60. */
static void jobs_that_are_stopped_at_once_are_not_due_at_once(void **state)
{
	(void)state;
	stopped_at_once(10, 60);
}

/* Higher work of more than a second is not a second without preemptions. */
static void after_a_long_burst_they_still_take_turns(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low[6], high = job(w, 2000);

	(void)state;
	w->device.places = 4;
	w->device.suspend_ns = w->device.resume_ns = 500 * US;
	reconfigure(w); /* without ageing */
	for (u32 i = 0; i < GP_ARRAY_SIZE(low); i++) {
		low[i] = job(w, 500);
		gets_work(w, low[i]);
	}
	pass(w, MS);
	for (u32 i = 0; i < 10; i++)
		gap(w, high, 5 * MS);
	gets_work(w, high);
	pass(w, 1500 * MS);
	drains(w, high);
	for (u32 tick = 0; tick < 100; tick++) {
		u32 running = 0;

		pass(w, MS);
		for (u32 i = 0; i < GP_ARRAY_SIZE(low); i++)
			running += run_of(w, low[i]) == GP_SCHED_RUNNING;
		assert_in_range(running, 0, 1);
	}
	end(w);
}

/* Each waits for the ones before it. What that takes is not what one operation costs. */
static void a_storm_of_operations_does_not_teach_what_one_costs(void **state)
{
	struct world *w = world(GP_SCHED_PRIORITY);
	u32 low[GP_SCHED_STORM + 8], high = job(w, 2000), last = GP_ARRAY_SIZE(low) - 1;
	struct gp_sched_job_state got;

	(void)state;
	w->takes = MS;
	w->serial = true;
	for (u32 i = 0; i <= last; i++) {
		low[i] = job(w, 500);
		gets_work(w, low[i]);
	}
	pass(w, S);
	gets_work(w, high);
	pass(w, 100 * MS);
	for (u32 i = 0; i <= last; i++) {
		gp_sched_job_state(w->sched, low[i], &got);
		assert_int_equal(got.suspend_ns,
				 i < GP_SCHED_STORM ? (i + 1) * MS : GP_SCHED_UNKNOWN);
	}
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_resumed_job_gets_what_its_operations_cost),
		cmocka_unit_test(stopping_many_costs_more_than_stopping_one),
		cmocka_unit_test(losses_are_forgotten_after_some_seconds),
		cmocka_unit_test(who_has_gained_is_preempted_at_once),
		cmocka_unit_test(short_stretches_add_up_to_ageing),
		cmocka_unit_test(short_stretches_add_up_to_max_suspend),
		cmocka_unit_test(a_turn_ends_the_account),
		cmocka_unit_test(mute_jobs_are_not_a_loss_of_others),
		cmocka_unit_test(a_crowd_of_light_jobs_gets_through),
		cmocka_unit_test(light_jobs_beyond_the_places_run_side_by_side_again),
		cmocka_unit_test(a_crowd_of_jobs_that_fill_the_device_takes_turns),
		cmocka_unit_test(jobs_beyond_the_places_take_turns_at_once),
		cmocka_unit_test(a_turn_is_worth_its_operations),
		cmocka_unit_test(jobs_that_are_stopped_at_once_are_not_due_at_once),
		cmocka_unit_test(jobs_that_are_stopped_at_once_come_back_one_by_one),
		cmocka_unit_test(after_a_long_burst_they_still_take_turns),
		cmocka_unit_test(the_next_turn_goes_to_the_job_that_got_least),
		cmocka_unit_test(a_storm_of_operations_does_not_teach_what_one_costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
