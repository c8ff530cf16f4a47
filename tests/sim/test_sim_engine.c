// SPDX-License-Identifier: MIT
/* The engine: what must be true of any simulation, and what each policy must bring about. */
#include <errno.h>
#include <stdlib.h>

#include "sim/engine.h"
#include "testlib.h"

static const char serve[] = "[run]\ntime = 1s\n"
			    "[gpu]\njitter_permille = 0\n"
			    "[job server]\nclass = online\narrival = poisson 100/s\nkernels = 2\n"
			    "kernel = 500us\n"
			    "[job trainer]\nclass = offline\ndepth = 2\nkernel = 20ms\n";

static struct gp_sim_result run(const char *text, enum gp_sched_policy_id policy, u32 only)
{
	struct gp_sim_scenario *s = malloc(sizeof(*s));
	struct gp_sim_options options = {.only_job = only, .check = true};
	struct test_diag diag = TEST_DIAG;
	struct gp_sim_result result;

	assert_non_null(s);
	assert_int_equal(gp_sim_scenario_init(s, &diag.diag), 0);
	assert_int_equal(gp_sim_scenario_parse(s, "s", text, strlen(text), &diag.diag), 0);
	s->device.policy = policy;
	if (gp_sim_run(s, &options, &diag.diag, &result))
		fail_msg("%s", gp_buf_str(&diag.text));
	gp_sim_scenario_free(s);
	free(s);
	return result;
}

static u64 p99(const struct gp_sim_result *result, u32 job)
{
	return gp_histogram_at(&result->jobs[job].latency, 990);
}

static void the_same_scenario_gives_the_same_result(void **state)
{
	struct gp_sim_result a = run(serve, GP_SCHED_PRIORITY, GP_SCHED_NONE);
	struct gp_sim_result b = run(serve, GP_SCHED_PRIORITY, GP_SCHED_NONE);

	(void)state;
	assert_int_equal(a.events, b.events);
	assert_memory_equal(a.jobs, b.jobs, a.job_count * sizeof(*a.jobs));
	gp_sim_result_free(&a);
	gp_sim_result_free(&b);
}

static void a_lone_kernel_takes_its_time_and_nobody_is_preempted(void **state)
{
	struct gp_sim_result alone = run(serve, GP_SCHED_PRIORITY, 1);

	(void)state;
	/* Two deep: each waits for the one before. Launch and signal cost a little. */
	assert_in_range(alone.jobs[1].latency.max, 20000000, 41000000);
	assert_int_equal(alone.suspends, 0);
	gp_sim_result_free(&alone);
}

static void priority_gives_the_online_job_the_gpu(void **state)
{
	struct gp_sim_result alone = run(serve, GP_SCHED_PRIORITY, 0);
	struct gp_sim_result off = run(serve, GP_SCHED_OFF, GP_SCHED_NONE);
	struct gp_sim_result with = run(serve, GP_SCHED_PRIORITY, GP_SCHED_NONE);

	(void)state;
	assert_true(with.suspends > 0);
	assert_int_equal(off.suspends, 0);
	assert_int_equal(with.jobs[0].suspends, 0);
	assert_true(p99(&off, 0) > 3 * p99(&with, 0));
	assert_true(p99(&with, 0) < 2 * p99(&alone, 0));
	/* And the offline job is not starved. */
	assert_true(with.jobs[1].completed > off.jobs[1].completed / 2);
	gp_sim_result_free(&alone);
	gp_sim_result_free(&off);
	gp_sim_result_free(&with);
}

static void add_held(void *data, u32 job, u64 from, u64 to)
{
	u64 *held = data;

	assert_true(from <= to);
	held[job] += to - from;
}

static void a_timeline_shows_every_hold_also_the_one_at_the_end(void **state)
{
	/* From 500 ms on there is always urgent work. */
	static const char text[] = "[run]\ntime = 600ms\n[scheduler]\nmax_suspend = 1s\n"
				   "[job server]\nclass = online\nstart = 500ms\ndepth = 4\n"
				   "kernel = 20ms\n"
				   "[job trainer]\nclass = offline\ndepth = 2\nkernel = 20ms\n";
	u64 held[2] = {0};
	struct gp_sim_observer observer = {.held = add_held, .data = held};
	struct gp_sim_options options = {.only_job = GP_SCHED_NONE,
					 .check = true,
					 .observer = &observer};
	struct gp_sim_scenario *s = malloc(sizeof(*s));
	struct test_diag diag = TEST_DIAG;
	struct gp_sim_result result;

	(void)state;
	assert_int_equal(gp_sim_scenario_init(s, &diag.diag), 0);
	if (gp_sim_scenario_parse(s, "s", text, strlen(text), &diag.diag) ||
	    gp_sim_run(s, &options, &diag.diag, &result))
		fail_msg("%s", gp_buf_str(&diag.text));
	assert_int_equal(result.jobs[0].held_ns, 0);
	assert_in_range(result.jobs[1].held_ns, 80000000, 100000000);
	assert_int_equal(held[0], 0);
	assert_int_equal(held[1], result.jobs[1].held_ns);
	gp_sim_result_free(&result);
	gp_sim_scenario_free(s);
	free(s);
}

static void fair_shares_follow_weights(void **state)
{
	static const char text[] = "[run]\ntime = 3s\n[scheduler]\nslice = 10ms\n"
				   "[job one]\nweight = 100\nkernel = 5ms\ndepth = 2\n"
				   "[job three]\nweight = 300\nkernel = 5ms\ndepth = 2\n";
	struct gp_sim_result fair = run(text, GP_SCHED_FAIR, GP_SCHED_NONE);

	(void)state;
	/* Three to one, within a fifth: the slice is how far ahead one may be. */
	assert_in_range(fair.jobs[1].cu_ns * 100 / fair.jobs[0].cu_ns, 240, 360);
	gp_sim_result_free(&fair);
}

/* The hardware begins its rotation anew in every turn: without a whole round in one of them, the
 * last processes of both jobs never finish. */
static void processes_beyond_the_vmids_finish_in_turns(void **state)
{
	static const char text[] = "[run]\ntime = 1s\n[gpu]\njitter_permille = 0\nvmids = 2\n"
				   "[job one]\nprocesses = 3\nkernel = 5ms\ndepth = 2\n"
				   "[job two]\nprocesses = 3\nkernel = 5ms\ndepth = 2\n";
	struct gp_sim_result result = run(text, GP_SCHED_QUANTUM, GP_SCHED_NONE);

	(void)state;
	assert_true(result.suspends > 10);
	assert_in_range(result.jobs[0].cu_ns * 100 / result.jobs[1].cu_ns, 80, 125);
	gp_sim_result_free(&result);
}

/* A server whose end of work is never known for sure claims the GPU for a moment, not for ever. */
static void work_in_doubt_is_a_claim_with_a_limit(void **state)
{
	static const char format[] = "[run]\ntime = 2s\n[gpu]\njitter_permille = 0\n"
				     "[faults]\ndoubt = %u\n"
				     "[job server]\nclass = online\narrival = every 20ms\n"
				     "kernel = 1ms\n"
				     "[job trainer]\nclass = offline\nkernel = 5ms\ndepth = 2\n";
	u64 used[2];

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		char text[sizeof(format) + 8];
		struct gp_sim_result result;

		snprintf(text, sizeof(text), format, i * 1000);
		result = run(text, GP_SCHED_PRIORITY, GP_SCHED_NONE);
		used[i] = result.jobs[1].cu_ns;
		gp_sim_result_free(&result);
	}
	assert_true(used[1] < used[0]);
	assert_true(used[1] > used[0] / 10 * 8);
}

static void nothing_is_lost_when_everything_fails(void **state)
{
	static const char text[] =
		"[run]\ntime = 2s\n"
		"[faults]\nfail = 300\nhang = 200\nlate = 300\ntwice = 300\n"
		"kill = 1000\nrestart = 1000\ndestroy = 1000\n"
		"[job server]\nclass = online\narrival = every 5ms\nkernel = 1ms\n"
		"[job trainer]\nclass = offline\nprocesses = 3\nqueues = 2\n"
		"depth = 3\nkernel = 5ms\n";
	struct gp_sim_result result = run(text, GP_SCHED_PRIORITY, GP_SCHED_NONE);

	(void)state;
	assert_true(result.operations_failed > 0);
	assert_true(result.jobs[0].completed > 0);
	assert_true(result.jobs[1].completed > 0);
	assert_true(result.jobs[0].lost + result.jobs[1].lost > 0);
	gp_sim_result_free(&result);
}

static void a_limit_on_events_ends_a_run(void **state)
{
	struct gp_sim_scenario *s = malloc(sizeof(*s));
	struct gp_sim_options options = {.only_job = GP_SCHED_NONE, .max_events = 500};
	struct gp_sim_result result;

	(void)state;
	assert_int_equal(gp_sim_scenario_init(s, NULL), 0);
	assert_int_equal(gp_sim_scenario_parse(s, "s", serve, strlen(serve), NULL), 0);
	assert_int_equal(gp_sim_run(s, &options, NULL, &result), 0);
	assert_true(result.cut);
	assert_in_range(result.events + result.gpu_events, 500, 600);
	gp_sim_result_free(&result);
	gp_sim_scenario_free(s);
	free(s);
}

static void percentiles_are_within_a_hundredth(void **state)
{
	struct gp_histogram *h = calloc(1, sizeof(*h));

	(void)state;
	assert_int_equal(gp_histogram_at(h, 500), 0);
	for (u64 i = 1; i <= 100000; i++)
		gp_histogram_add(h, i * 1000);
	assert_in_range(gp_histogram_at(h, 500), 50000000, 50500000);
	assert_in_range(gp_histogram_at(h, 990), 99000000, 99990000);
	assert_int_equal(gp_histogram_at(h, 1000), 100000000);
	assert_in_range(gp_histogram_at(h, 0), 1000, 1008);
	gp_histogram_add(h, UINT64_MAX);
	assert_int_equal(gp_histogram_at(h, 1000), UINT64_MAX);
	/* Every bucket's bound is in that bucket. */
	for (u32 i = 0; i + 1 < GP_HISTOGRAM_BUCKETS; i++)
		assert_true(gp_histogram_bound(i) < gp_histogram_bound(i + 1));
	free(h);
}

/* More calls at once than the model has room for wait their turn, as they do for the driver's lock.
 */
static void many_processes_are_held_at_once(void **state)
{
	static const char text[] = "[run]\ntime = 100ms\n"
				   "[job server]\nclass = online\nprocesses = 64\narrival = every "
				   "20ms\nkernel = 100us\n"
				   "[job a]\nclass = offline\nprocesses = 64\nkernel = 20ms\n"
				   "[job b]\nclass = offline\nprocesses = 64\nkernel = 20ms\n";
	struct gp_sim_result result = run(text, GP_SCHED_PRIORITY, GP_SCHED_NONE);

	(void)state;
	assert_true(result.suspends >= 2);
	/* An update for each process of each suspend and resume. */
	assert_true(result.updates > 2 * 64);
	gp_sim_result_free(&result);
}

static void the_limit_counts_what_happens_inside_the_gpu(void **state)
{
	/* One kernel of many rounds: nobody is told of anything until its end. */
	static const char text[] = "[run]\ntime = 1000s\n"
				   "[job a]\nkernel = 500s\nrounds = 100000\n";
	struct gp_sim_scenario *s = malloc(sizeof(*s));
	struct gp_sim_options options = {.only_job = GP_SCHED_NONE, .max_events = 1000};
	struct gp_sim_result result;

	(void)state;
	assert_non_null(s);
	assert_int_equal(gp_sim_scenario_init(s, NULL), 0);
	assert_int_equal(gp_sim_scenario_parse(s, "s", text, strlen(text), NULL), 0);
	assert_int_equal(gp_sim_run(s, &options, NULL, &result), 0);
	assert_true(result.cut);
	assert_true(result.time_ns < 100000000000ull);
	gp_sim_result_free(&result);
	gp_sim_scenario_free(s);
	free(s);
}

static void count_request(void *data, u32 job, u64 arrived, u64 done, u64 work)
{
	u64 *sum = data;

	(void)done;
	assert_int_equal(work, job ? 1000000 : 100000);
	if (job == 0)
		*sum = gp_mix(*sum + arrived);
}

/* 400 jobs; and the requests of the first arrive when they do with the others gone. */
static void arrivals_do_not_depend_on_what_else_runs(void **state)
{
	u64 sums[2] = {0}, completed[2];
	struct gp_sim_observer observer = {.request = count_request};
	struct gp_sim_options options = {.observer = &observer};
	struct gp_buf text = {0};

	(void)state;
	gp_buf_printf(&text, "[run]\ntime = 3s\n[job server]\nclass = online\n"
			     "arrival = poisson 20/s\nkernel = 100us\nstop = 800ms\n");
	for (u32 i = 0; i < 400; i++)
		gp_buf_printf(&text, "[job batch%u]\nclass = offline\nstart = %uus\nstop = 500ms\n",
			      i, i);
	for (u32 i = 0; i < 2; i++) {
		struct gp_sim_scenario s;
		struct test_diag diag = TEST_DIAG;
		struct gp_sim_result result;

		observer.data = &sums[i];
		options.only_job = i ? GP_SCHED_NONE : 0;
		assert_int_equal(gp_sim_scenario_init(&s, &diag.diag), 0);
		if (gp_sim_scenario_parse(&s, "s", gp_buf_str(&text), text.len, &diag.diag) ||
		    gp_sim_run(&s, &options, &diag.diag, &result))
			fail_msg("%s", gp_buf_str(&diag.text));
		assert_int_equal(result.job_count, 401);
		completed[i] = result.jobs[0].completed;
		gp_sim_result_free(&result);
		gp_sim_scenario_free(&s);
	}
	assert_in_range(completed[0], 5, 40);
	assert_int_equal(completed[0], completed[1]);
	assert_int_equal(sums[0], sums[1]);
	gp_buf_free(&text);
}

#define QUIET_GPU                                                                              \
	"[gpu]\njitter_permille = 0\ndispatch = 0ns\ncomplete = 0ns\nunmap = 0ns\nmap = 0ns\n" \
	"unmap_queue = 0ns\nmap_queue = 0ns\ncontention_permille = 0\n"

/* On a GPU without costs a request is done when its kernels are, to the nanosecond. */
static void recorded_requests_come_when_they_came(void **state)
{
	static const char text[] = "[run]\ntime = 100ms\n" QUIET_GPU
				   "[job a]\narrival = recorded\nqueues = 2\n[work a]\n"
				   "1ms 0 100us 80\n+ 0 200us 80\n" /* 300 us */
				   "1ms 1 50us 1\n"                 /* beside it */
				   "50ms 0 7us 80\n"
				   "200ms 0 1us\n"; /* after the end: never comes */
	struct gp_sim_result result = run(text, GP_SCHED_OFF, GP_SCHED_NONE);
	const struct gp_sim_job_result *job = &result.jobs[0];

	(void)state;
	assert_int_equal(job->arrived, 3);
	assert_int_equal(job->completed, 3);
	assert_int_equal(job->kernels, 4);
	assert_int_equal(job->latency.count, 3);
	assert_in_range(job->latency.max, 300000, 351000);
	/* 307 us on all 80 CUs and 50 us on one of them. */
	assert_int_equal(job->cu_ns, 307000ull * 80 + 50000);
	gp_sim_result_free(&result);
}

static void closed_recordings_wait_for_their_own_results_only(void **state)
{
	/* Recorded alone: 10 ms, 5 ms of thought, again. The other makes everything wait. */
	static const char text[] =
		"[run]\ntime = 200ms\n" QUIET_GPU
		"[job batch]\nclass = offline\narrival = recorded closed\nqueues = 2\n"
		"[work batch]\n0ns 0 10ms\n0ns 1 1ms 1\n15ms 0 10ms\n15ms 1 1ms 1\n30ms 0 10ms\n"
		"[job %s]\nclass = online\narrival = recorded\n[work server]\n1ms 0 30ms\n";
	char both[sizeof(text) + 16];
	struct gp_sim_result alone, loaded;

	(void)state;
	snprintf(both, sizeof(both), text, "server");
	alone = run(both, GP_SCHED_PRIORITY, 0);
	loaded = run(both, GP_SCHED_PRIORITY, GP_SCHED_NONE);
	assert_int_equal(alone.jobs[0].completed, 5);
	assert_int_equal(loaded.jobs[0].completed, 5);
	/* Open, the third would have come at 30 ms and waited; closed, it had nobody to wait for:
	 * only what was under way when the server came is late. */
	assert_true(loaded.jobs[0].latency.max > 39000000);
	assert_in_range(gp_histogram_at(&loaded.jobs[0].latency, 500), 1000000, 10400000);
	assert_int_equal(loaded.jobs[0].cu_ns, alone.jobs[0].cu_ns);
	gp_sim_result_free(&alone);
	gp_sim_result_free(&loaded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_scenario_gives_the_same_result),
		cmocka_unit_test(a_lone_kernel_takes_its_time_and_nobody_is_preempted),
		cmocka_unit_test(priority_gives_the_online_job_the_gpu),
		cmocka_unit_test(a_timeline_shows_every_hold_also_the_one_at_the_end),
		cmocka_unit_test(fair_shares_follow_weights),
		cmocka_unit_test(processes_beyond_the_vmids_finish_in_turns),
		cmocka_unit_test(work_in_doubt_is_a_claim_with_a_limit),
		cmocka_unit_test(nothing_is_lost_when_everything_fails),
		cmocka_unit_test(a_limit_on_events_ends_a_run),
		cmocka_unit_test(percentiles_are_within_a_hundredth),
		cmocka_unit_test(many_processes_are_held_at_once),
		cmocka_unit_test(the_limit_counts_what_happens_inside_the_gpu),
		cmocka_unit_test(arrivals_do_not_depend_on_what_else_runs),
		cmocka_unit_test(recorded_requests_come_when_they_came),
		cmocka_unit_test(closed_recordings_wait_for_their_own_results_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
