// SPDX-License-Identifier: MIT
/* The oracle: cases computed by hand, small ones by trying everything, and that no run of the
 * engine beats it. */
#include <stdlib.h>

#include "sim/judge.h"
#include "sim/oracle.h"
#include "testlib.h"

static struct gp_sim_oracle_result solve(const struct gp_sim_oracle_request *requests, size_t count,
					 u64 suspend, u64 resume, u64 time)
{
	struct gp_sim_oracle_request *copy = calloc(count + 1, sizeof(*copy));
	struct gp_sim_oracle_cost cost = {suspend, resume};
	struct gp_sim_oracle_limits none = {0};
	struct gp_sim_oracle_result result;

	assert_non_null(copy);
	if (count)
		memcpy(copy, requests, count * sizeof(*copy));
	assert_int_equal(gp_sim_oracle(copy, count, &cost, &none, time, &result), 0);
	free(copy);
	return result;
}

static void batch_work_has_everything_without_requests(void **state)
{
	(void)state;
	assert_int_equal(solve(NULL, 0, 3, 2, 100).offline_ns, 100);
}

static void each_visit_costs_one_preemption(void **state)
{
	/* Two requests of 10 far apart, as early as possible: 100 - 20 - 2 * 5. */
	static const struct gp_sim_oracle_request far[] = {{20, 10, 0, 0}, {60, 10, 0, 0}};
	struct gp_sim_oracle_result result = solve(far, 2, 3, 2, 100);

	(void)state;
	assert_int_equal(result.offline_ns, 70);
	assert_int_equal(result.visits, 2);
	assert_int_equal(result.online_ns, 20);
}

static void a_gap_shorter_than_a_preemption_is_a_pause(void **state)
{
	/* 4 between them: waiting costs 4, going back 5. At 6 it is the other way round. */
	static const struct gp_sim_oracle_request near[] = {{20, 10, 0, 0}, {34, 10, 0, 0}};
	static const struct gp_sim_oracle_request wide[] = {{20, 10, 0, 0}, {36, 10, 0, 0}};
	struct gp_sim_oracle_result result = solve(near, 2, 3, 2, 100);

	(void)state;
	assert_int_equal(result.offline_ns, 100 - 20 - 5 - 4);
	assert_int_equal(result.visits, 1);
	assert_int_equal(result.pause_ns, 4);
	assert_int_equal(solve(wide, 2, 3, 2, 100).offline_ns, 100 - 20 - 10);
}

static void requests_that_may_wait_share_a_visit(void **state)
{
	/* The first may end at 44: it begins at 34, just when the second comes. */
	static const struct gp_sim_oracle_request late[] = {{20, 10, 44, 0}, {44, 10, 0, 0}};
	/* One less, and it is a pause of one. */
	static const struct gp_sim_oracle_request less[] = {{20, 10, 43, 0}, {44, 10, 0, 0}};

	(void)state;
	assert_int_equal(solve(late, 2, 3, 2, 100).offline_ns, 100 - 20 - 5);
	assert_int_equal(solve(less, 2, 3, 2, 100).offline_ns, 100 - 20 - 5 - 1);
}

static void requests_may_come_in_any_order(void **state)
{
	static const struct gp_sim_oracle_request mixed[] = {{60, 10, 0, 0}, {20, 10, 0, 0}};

	(void)state;
	assert_int_equal(solve(mixed, 2, 3, 2, 100).offline_ns, 70);
}

/* Three servers in turn, 100 apart: each comes with its visit, so that one place is enough, and
 * each queue that stays would cost. */
static void a_server_that_comes_with_its_visit_costs_nothing(void **state)
{
	struct gp_sim_oracle_limits limits = {.servers = 3,
					      .places = 2,
					      .change_ns = 10,
					      .queue_ns = 1};
	struct gp_sim_oracle_cost cost = {3, 2};
	struct gp_sim_oracle_request requests[6];
	struct gp_sim_oracle_result result;

	(void)state;
	for (u32 i = 0; i < 6; i++)
		requests[i] = (struct gp_sim_oracle_request){100 * (i + 1), 10, 0, i % 3};
	assert_int_equal(gp_sim_oracle(requests, 6, &cost, &limits, 1000, &result), 0);
	assert_int_equal(result.resident, 1);
	assert_int_equal(result.reloads, 3);
	assert_int_equal(result.change_ns, 0);
	assert_int_equal(result.offline_ns, 1000 - 60 - 6 * 5);
}

/* Three servers in turn, in one visit, on a GPU with two places or one. */
static void servers_beyond_the_places_cost_changes(void **state)
{
	struct gp_sim_oracle_limits limits = {.servers = 3, .places = 2, .change_ns = 10};
	struct gp_sim_oracle_cost cost = {3, 2};
	static const struct gp_sim_oracle_request turns[] = {{100, 10, 0, 0}, {101, 10, 0, 1},
							     {102, 10, 0, 2}, {125, 10, 0, 0},
							     {135, 10, 0, 1}, {145, 10, 0, 2}};
	struct gp_sim_oracle_request requests[6];
	struct gp_sim_oracle_result result;

	(void)state;
	memcpy(requests, turns, sizeof(turns));
	assert_int_equal(gp_sim_oracle(requests, 6, &cost, &limits, 1000, &result), 0);
	/* 0 1 2: server 1 is needed last and makes room; 0 stays; then 1 comes back, and 2 stays.
	 */
	assert_int_equal(result.visits, 1);
	assert_int_equal(result.resident, 2);
	assert_int_equal(result.reloads, 1);
	assert_int_equal(result.offline_ns, 1000 - 60 - 5);
	limits.places = 1;
	memcpy(requests, turns, sizeof(turns));
	assert_int_equal(gp_sim_oracle(requests, 6, &cost, &limits, 1000, &result), 0);
	assert_int_equal(result.reloads, 3);
	assert_int_equal(result.change_ns, 2 * 10); /* one comes with the visit */
	assert_int_equal(result.offline_ns, 1000 - 60 - 5 - 20);
}

static void a_visit_has_one_change_of_servers_for_nothing(void **state)
{
	struct gp_sim_oracle_limits limits = {.servers = 2,
					      .places = 1,
					      .change_ns = 10,
					      .queue_ns = 1};
	struct gp_sim_oracle_cost cost = {3, 2};
	/* One visit: servers 0, 1, and both again when they have lost their place. */
	struct gp_sim_oracle_request requests[] = {{100, 10, 0, 0},
						   {101, 10, 0, 1},
						   {112, 10, 0, 0},
						   {121, 10, 0, 1}};
	struct gp_sim_oracle_result result;

	(void)state;
	assert_int_equal(gp_sim_oracle(requests, 4, &cost, &limits, 1000, &result), 0);
	assert_int_equal(result.visits, 1);
	assert_int_equal(result.reloads, 2);
	assert_int_equal(result.change_ns, 10 + 1);
	assert_int_equal(result.offline_ns, 1000 - 40 - 5 - 11);
}

static void requests_of_a_server_that_may_wait_cost_one_change(void **state)
{
	struct gp_sim_oracle_limits limits = {.servers = 2, .places = 1, .change_ns = 10};
	struct gp_sim_oracle_cost cost = {3, 2};
	/* Servers 0, 1, 0, 1, 0: the last three within the time that the first of them has. */
	struct gp_sim_oracle_request requests[] = {{100, 10, 0, 0},
						   {200, 10, 0, 1},
						   {300, 10, 500, 0},
						   {400, 10, 500, 1},
						   {450, 10, 500, 0}};
	struct gp_sim_oracle_result result;

	(void)state;
	assert_int_equal(gp_sim_oracle(requests, 5, &cost, &limits, 1000, &result), 0);
	assert_int_equal(result.reloads, 2); /* 0 for the third and the last, 1 */
}

/* Three batch programs, each at least once in 100: 30 turns in 1000, one of them after a visit. */
static void batch_programs_have_their_turns(void **state)
{
	struct gp_sim_oracle_limits limits = {.batch = 3, .max_suspend_ns = 100};
	struct gp_sim_oracle_cost cost = {3, 2};
	struct gp_sim_oracle_request request = {100, 10, 0, 0};
	struct gp_sim_oracle_result result;

	(void)state;
	assert_int_equal(gp_sim_oracle(&request, 1, &cost, &limits, 1000, &result), 0);
	assert_int_equal(result.turn_ns, 29 * 5);
	assert_int_equal(result.offline_ns, 1000 - 10 - 5 - 29 * 5);
	limits.batch = 1;
	assert_int_equal(gp_sim_oracle(&request, 1, &cost, &limits, 1000, &result), 0);
	assert_int_equal(result.turn_ns, 0);
}

static void costs_are_those_of_the_chip(void **state)
{
	/* 2 CUs of 1 SIMD with 4 waves: one workgroup of 64 registers per lane per CU. */
	static const struct gp_model_chip chip = {.xcc_count = 1,
						  .cu_per_xcc = 2,
						  .simd_per_cu = 1,
						  .waves_per_simd = 4,
						  .wave_size = 64,
						  .vgpr_per_simd = 512,
						  .lds_per_cu = 65536,
						  .unmap_ns = 1000,
						  .unmap_queue_ns = 10,
						  .map_ns = 500,
						  .map_queue_ns = 20,
						  .save_ns = 100,
						  .restore_ns = 200,
						  .save_bytes_per_us = 1000,
						  .restore_bytes_per_us = 2000};
	u64 bytes = 2 * gp_model_workgroup_bytes(&chip, 4, 64, 0);
	struct gp_sim_oracle_cost cost = gp_sim_oracle_cost(&chip, 64);

	(void)state;
	assert_int_equal(bytes, 2 * 4 * 64 * 64 * 4);
	assert_int_equal(cost.suspend_ns, 1530 + 100 + bytes);
	assert_int_equal(cost.resume_ns, 1530 + 200 + bytes / 2);
}

/* ---- trying everything ---- */

enum { TIME = 40, REQUESTS = 4 };

/* The most batch work from time t on with `served` units of the requests done; -1: some request
 * would be late. Each unit of time is one decision. */
static int explore(const struct gp_sim_oracle_request *requests, int count, int suspend, int resume,
		   int t, bool online, int served, int memo[TIME + 1][2][TIME + 1])
{
	int due = 0, there = 0, best = -1, value;

	for (int i = 0; i < count; i++) {
		if ((int)requests[i].due_ns <= t)
			due += (int)requests[i].work_ns;
		if ((int)requests[i].arrived_ns <= t)
			there += (int)requests[i].work_ns;
	}
	if (served < due)
		return -1;
	if (t >= TIME)
		return 0;
	if (memo[t][online][served] != -2)
		return memo[t][online][served];
	if (online) {
		/* Serves, waits, or goes back. */
		value = explore(requests, count, suspend, resume, t + 1, true,
				served + (served < there), memo);
		best = value;
		if (t + resume <= TIME) {
			value = explore(requests, count, suspend, resume, t + resume, false, served,
					memo);
			best = GP_MAX(best, value);
		}
	} else {
		value = explore(requests, count, suspend, resume, t + 1, false, served, memo);
		best = value < 0 ? -1 : value + 1;
		if (t + suspend <= TIME) {
			value = explore(requests, count, suspend, resume, t + suspend, true, served,
					memo);
			best = GP_MAX(best, value);
		}
	}
	return memo[t][online][served] = best;
}

static int brute_force(const struct gp_sim_oracle_request *requests, int count, int suspend,
		       int resume)
{
	static int memo[TIME + 1][2][TIME + 1];

	for (int t = 0; t <= TIME; t++)
		for (int served = 0; served <= TIME; served++)
			memo[t][0][served] = memo[t][1][served] = -2;
	return explore(requests, count, suspend, resume, 0, false, 0, memo);
}

/* All over before the end, so that no cost is cut off; `sorted`: first come, first due. */
static int make_case(u64 *dice, struct gp_sim_oracle_request *requests, u64 slack, bool sorted,
		     int room)
{
	int count = 1 + (int)((*dice = gp_mix(*dice)) % REQUESTS);
	u64 at = 8, end = 0, due = 0;

	for (int i = 0; i < count; i++) {
		at += (*dice = gp_mix(*dice)) % 7;
		requests[i] = (struct gp_sim_oracle_request){
			.arrived_ns = at,
			.work_ns = 1 + (*dice = gp_mix(*dice)) % 3,
		};
		end = GP_MAX(end, at) + requests[i].work_ns;
		requests[i].due_ns = end + (slack ? (*dice = gp_mix(*dice)) % slack : 0);
		due = GP_MAX(due, requests[i].due_ns);
		if (sorted)
			requests[i].due_ns = due;
	}
	return (int)due + room <= TIME ? count : 0;
}

static void small_cases_agree_with_trying_everything(void **state)
{
	u64 dice = 7;
	u32 cases = 0, exact = 0;

	(void)state;
	for (u32 i = 0; i < 6000; i++) {
		struct gp_sim_oracle_request requests[REQUESTS];
		static const u64 slacks[] = {0, 3, 9, 9};
		u64 slack = slacks[i % 4];
		int suspend = 1 + (int)((dice = gp_mix(dice)) % 3);
		int resume = 1 + (int)((dice = gp_mix(dice)) % 3);
		int count = make_case(&dice, requests, slack, i % 4 != 3, resume + 1);

		if (!count)
			continue;
		int best = brute_force(requests, count, suspend, resume);
		u64 bound =
			solve(requests, (size_t)count, (u64)suspend, (u64)resume, TIME).offline_ns;

		assert_in_range(best, 0, TIME);
		/* Never less than is possible; without slack exactly that. */
		if (bound < (u64)best || (!slack && bound != (u64)best))
			fail_msg("case %u: bound %llu, possible %d", i, (unsigned long long)bound,
				 best);
		cases += i % 4 != 3;
		exact += i % 4 != 3 && bound == (u64)best;
	}
	assert_true(cases > 3000);
	/* With slack the room between visits is estimated: rarely too generous. */
	assert_true(exact * 100 >= cases * 97);
}

static void long_lists_lose_one_visit_per_part(void **state)
{
	enum { MANY = 10000 };
	struct gp_sim_oracle_request *requests = calloc(MANY, sizeof(*requests));
	struct gp_sim_oracle_result result;

	(void)state;
	assert_non_null(requests);
	for (u32 i = 0; i < MANY; i++)
		requests[i] = (struct gp_sim_oracle_request){i * 100 + 50, 10, 0, 0};
	result = solve(requests, MANY, 3, 2, MANY * 100);
	/* 85 of each 100; three parts, so two visits for nothing. */
	assert_int_equal(result.offline_ns, MANY * 85 + 2 * 5);
	free(requests);
}

/* ---- the scheduler against it ---- */

static struct gp_sim_verdict judge(const char *text, enum gp_sched_policy_id policy,
				   struct gp_sim_result *result)
{
	struct gp_sim_judge *judge = malloc(sizeof(*judge));
	struct gp_sim_options options = {.only_job = GP_SCHED_NONE};
	struct test_diag diag = TEST_DIAG;
	struct gp_sim_alone alone;
	struct gp_sim_verdict verdict;
	struct gp_sim_scenario s;

	assert_non_null(judge);
	assert_int_equal(gp_sim_scenario_init(&s, &diag.diag), 0);
	if (gp_sim_scenario_parse(&s, "s", text, strlen(text), &diag.diag) ||
	    gp_sim_judge_can(&s, &diag.diag))
		fail_msg("%s", gp_buf_str(&diag.text));
	s.device.policy = policy;
	assert_int_equal(gp_sim_judge_alone(&s, 500000000, 0, &diag.diag, &alone), 0);
	gp_sim_judge_begin(judge, &s, 500000000, &alone);
	options.observer = &judge->observer;
	if (gp_sim_run(&s, &options, &diag.diag, result))
		fail_msg("%s", gp_buf_str(&diag.text));
	assert_int_equal(gp_sim_judge_end(judge, result, &verdict), 0);
	gp_sim_judge_free(judge);
	free(judge);
	gp_sim_scenario_free(&s);
	return verdict;
}

static void no_policy_beats_the_oracle(void **state)
{
	static const char format[] =
		"[run]\ntime = 7s\nseed = %u\n[gpu]\njitter_permille = 0\ncontention_permille = 0\n"
		"[job a]\nclass = online\narrival = poisson %u/s\nkernels = 4\nkernel = 500us\n"
		"[job b]\nclass = online\narrival = every 33ms\nkernel = 2ms\n"
		"[job c]\nclass = offline\nkernel = %ums\ndepth = 2\n"
		"[job d]\nclass = offline\nkernel = 13ms\n";
	static const u32 rates[] = {5, 100, 350, 0}, kernels[] = {3, 20, 500, 0};
	char text[sizeof(format) + 64];

	(void)state;
	for (u32 i = 0; i < 9; i++) {
		for (u32 policy = GP_SCHED_OFF; policy <= GP_SCHED_FAIR; policy++) {
			struct gp_sim_result result;
			struct gp_sim_verdict verdict;
			u64 kernels_done, luck;

			snprintf(text, sizeof(text), format, i + 1, rates[i % 3], kernels[i / 3]);
			verdict = judge(text, (enum gp_sched_policy_id)policy, &result);
			/* A kernel that ends in time saves a visit. */
			kernels_done = result.jobs[2].kernels + result.jobs[3].kernels;
			luck = kernels_done * (verdict.cost.suspend_ns + verdict.cost.resume_ns);
			if (verdict.offline_ns > verdict.oracle.offline_ns + luck)
				fail_msg("case %u, policy %u: %llu ns of batch work, at most %llu",
					 i, policy, (unsigned long long)verdict.offline_ns,
					 (unsigned long long)verdict.oracle.offline_ns);
			assert_true(verdict.offline_ns > 0);
			assert_true(verdict.share_known);
			assert_true(verdict.share >= 0);
			gp_sim_result_free(&result);
		}
	}
}

/* Requests slow each other down and not the batch job: that is not the scheduler's doing. */
static void servers_that_slow_each_other_down_are_taken_as_they_are(void **state)
{
	static const char format[] =
		"[run]\ntime = 4s\n[gpu]\njitter_permille = 0\ncontention_permille = %u\n"
		"[job a]\nclass = online\narrival = poisson 100/s\nkernels = 4\nkernel = 500us\n"
		"[job b]\nclass = online\narrival = poisson 100/s\nkernels = 4\nkernel = 500us\n"
		"[job c]\nclass = offline\nkernel = 20ms\ndepth = 2\n";
	u32 stretch[2];

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		char text[sizeof(format) + 16];
		struct test_diag diag = TEST_DIAG;
		struct gp_sim_scenario s;
		struct gp_sim_alone alone;

		snprintf(text, sizeof(text), format, i * 1000);
		assert_int_equal(gp_sim_scenario_init(&s, &diag.diag), 0);
		assert_int_equal(gp_sim_scenario_parse(&s, "s", text, strlen(text), &diag.diag), 0);
		assert_int_equal(gp_sim_judge_alone(&s, 0, 0, &diag.diag, &alone), 0);
		assert_true(alone.p99_ns >= 2000000);
		stretch[i] = alone.stretch_ppm;
		gp_sim_scenario_free(&s);
	}
	assert_int_equal(stretch[0], 1000000);
	assert_in_range(stretch[1], 1002000, 2000000);
}

/* Servers that run one after the other in the run, and side by side alone: the oracle may do as the
 * scheduler does, and is not beaten by it. */
static void servers_that_run_one_after_the_other_are_taken_at_that(void **state)
{
	struct gp_buf text = {0};
	struct gp_sim_result result;
	struct gp_sim_verdict verdict;

	(void)state;
	gp_buf_printf(&text, "[run]\ntime = 4s\n[gpu]\njitter_permille = 0\n");
	for (u32 i = 0; i < 4; i++)
		gp_buf_printf(&text,
			      "[job server%u]\nclass = online\narrival = poisson 90/s\n"
			      "kernels = 4\nkernel = 500us\n",
			      i);
	for (u32 i = 0; i < 20; i++)
		gp_buf_printf(&text, "[job batch%u]\nclass = offline\nkernel = 20ms\ndepth = 2\n",
			      i);
	verdict = judge(gp_buf_str(&text), GP_SCHED_PRIORITY, &result);
	assert_true(verdict.oracle.online_ns <= verdict.online_ns + verdict.online_ns / 100);
	assert_true(verdict.ratio < 1);
	gp_sim_result_free(&result);
	gp_buf_free(&text);
}

/*
 * Servers that start with a backlog, beyond the places, at 86 % load. They must work it off: side
 * by side they take more of the GPU than there is, and batch jobs then get nothing for ever.
 */
static void a_backlog_of_many_servers_does_not_starve_batch_jobs(void **state)
{
	(void)state;
	for (u32 seed = 1; seed <= 3; seed++) {
		struct gp_buf text = {0};
		struct gp_sim_result result;
		struct gp_sim_verdict verdict;

		gp_buf_printf(&text, "[run]\ntime = 5s\nseed = %u\n", seed);
		for (u32 i = 0; i < 24; i++)
			gp_buf_printf(&text,
				      "[job server%u]\nclass = online\n"
				      "arrival = poisson 18/s\nkernels = 4\n"
				      "kernel = 500us\n",
				      i);
		for (u32 i = 0; i < 64; i++)
			gp_buf_printf(&text,
				      "[job batch%u]\nclass = offline\nkernel = 20ms\n"
				      "depth = 2\n",
				      i);
		verdict = judge(gp_buf_str(&text), GP_SCHED_PRIORITY, &result);
		if (verdict.ratio < 0.5)
			fail_msg("seed %u: %.3f of what is possible", seed, verdict.ratio);
		gp_sim_result_free(&result);
		gp_buf_free(&text);
	}
}

static void a_job_that_gets_nothing_is_seen(void **state)
{
	/* The second batch job has no work in the last seconds: its share in some window is 0. */
	static const char text[] = "[run]\ntime = 7s\n"
				   "[job a]\nclass = online\narrival = every 50ms\n"
				   "[job b]\nclass = offline\nkernel = 5ms\n"
				   "[job c]\nclass = offline\nkernel = 5ms\nstop = 600ms\n";
	struct gp_sim_result result;
	struct gp_sim_verdict verdict = judge(text, GP_SCHED_PRIORITY, &result);

	(void)state;
	assert_true(verdict.share_known);
	assert_true(verdict.share == 0);
	gp_sim_result_free(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batch_work_has_everything_without_requests),
		cmocka_unit_test(each_visit_costs_one_preemption),
		cmocka_unit_test(a_gap_shorter_than_a_preemption_is_a_pause),
		cmocka_unit_test(requests_that_may_wait_share_a_visit),
		cmocka_unit_test(requests_may_come_in_any_order),
		cmocka_unit_test(a_server_that_comes_with_its_visit_costs_nothing),
		cmocka_unit_test(servers_beyond_the_places_cost_changes),
		cmocka_unit_test(a_visit_has_one_change_of_servers_for_nothing),
		cmocka_unit_test(requests_of_a_server_that_may_wait_cost_one_change),
		cmocka_unit_test(batch_programs_have_their_turns),
		cmocka_unit_test(costs_are_those_of_the_chip),
		cmocka_unit_test(small_cases_agree_with_trying_everything),
		cmocka_unit_test(long_lists_lose_one_visit_per_part),
		cmocka_unit_test(no_policy_beats_the_oracle),
		cmocka_unit_test(servers_that_slow_each_other_down_are_taken_as_they_are),
		cmocka_unit_test(servers_that_run_one_after_the_other_are_taken_at_that),
		cmocka_unit_test(a_backlog_of_many_servers_does_not_starve_batch_jobs),
		cmocka_unit_test(a_job_that_gets_nothing_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
