// SPDX-License-Identifier: MIT
/* Scenario files: what they say, and what is said about wrong ones. */
#include <errno.h>
#include <stdlib.h>

#include "sim/scenario.h"
#include "testlib.h"

static struct gp_sim_scenario *parse(const char *text, struct test_diag *diag, int *error)
{
	struct gp_sim_scenario *scenario = malloc(sizeof(*scenario));

	assert_non_null(scenario);
	assert_int_equal(gp_sim_scenario_init(scenario, &diag->diag), 0);
	*error = gp_sim_scenario_parse(scenario, "s.sim", text, strlen(text), &diag->diag);
	return scenario;
}

static void a_scenario_says_what_it_says(void **state)
{
	struct test_diag diag = TEST_DIAG;
	int error;
	struct gp_sim_scenario *s =
		parse("# comment\n"
		      "[run]\ntitle = T\ntime = 1.5s\nseed = 7\n"
		      "[gpu]\nchip = mi300x\ncount = 2\nsave = 10us\n"
		      "[scheduler]\npolicy = fair\nslice = 5ms # more\n"
		      "[job a]\nclass = online\narrival = poisson 100/s\nkernels = 4\n"
		      "kernel = 500us\ngpu = 1\n"
		      "[job b]\nweight = 300\narrival = closed 2ms\ngpu = all\n",
		      &diag, &error);

	(void)state;
	assert_int_equal(error, 0);
	assert_string_equal(s->title, "T");
	assert_int_equal(s->time_ns, 1500000000);
	assert_int_equal(s->seed, 7);
	assert_string_equal(s->chip.name, "mi300x");
	assert_int_equal(s->gpus, 2);
	assert_int_equal(s->chip.model.save_ns, 10000);
	assert_int_equal(s->device.policy, GP_SCHED_FAIR);
	assert_int_equal(s->device.slice_ns, 5000000);
	assert_int_equal(s->job_count, 2);
	assert_int_equal(s->jobs[0].spec.class, GP_SCHED_CLASS_ONLINE);
	assert_int_equal(s->jobs[0].arrival, GP_SIM_POISSON);
	assert_int_equal(s->jobs[0].every_ns, 10000000);
	assert_int_equal(s->jobs[0].kernel_ns, 500000);
	assert_int_equal(s->jobs[0].gpu, 1);
	assert_int_equal(s->jobs[1].think_ns, 2000000);
	assert_int_equal(s->jobs[1].gpu, GP_SIM_ALL_GPUS);
	gp_sim_scenario_free(s);
	free(s);
}

static void errors_name_file_line_and_what_is_needed(void **state)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
		{"[run]\ntime = 5\n[job a]\n", "s.sim:2: time: '5' has no unit"},
		{"[run]\ncolour = red\n",
		 "s.sim:2: unknown key \"colour\" (use title, time, seed, notice, call)\n"},
		{"[job a]\nkernl = 1ms\n",
		 "s.sim:2: unknown key \"kernl\"; did you mean \"kernel\"?\n"},
		{"[job a]\narival = closed\n", "did you mean \"arrival\"?"},
		{"[gpu]\nchips = mi300x\n", "did you mean \"chip\"?"},
		{"[scheduler]\npolcy = fair\n", "did you mean \"policy\"?"},
		{"[scheduler]\nleese = 1s\n", "did you mean \"lease\"?"},
		{"[runs]\n", "s.sim:1: unknown section [runs]"},
		{"time = 1s\n", "s.sim:1: key before the first [SECTION]"},
		{"[run\n", "s.sim:1: malformed section (expected [NAME])"},
		{"[run]\nhello\n", "s.sim:2: expected [SECTION] or KEY = VALUE"},
		{"[job a]\narrival = sometimes\n", "s.sim:2: arrival = sometimes: expected"},
		{"[job a]\narrival = poisson 0/s\n", "s.sim:2: arrival = poisson 0/s: expected"},
		{"[job a]\npriority = 65536\n", "a whole number from 0 to 65535"},
		{"[job a]\n[job a]\n", "s.sim:2: duplicate job \"a\""},
		{"[gpu]\ncosts = cheap\n", "s.sim:2: costs = cheap: expected low, best or high"},
		{"[scheduler]\npolicy = best\n", "off, priority, fair, deadline, quantum"},
		{"[gpu]\nchip = mi999\n", "unknown GPU 'mi999'"},
		/* What the model would refuse without a word. */
		{"[gpu]\ncontention_permille = 10001\n", "a whole number from 0 to 10000"},
		{"[gpu]\nquantum = 0s\n[job a]\n", "[gpu] quantum must not be 0"},
		{"[run]\ntime = 1s\n", "s.sim: no [job NAME] section"},
		{"[run]\ntime = 0s\n[job a]\n", "[run] time must not be 0"},
		{"[job a]\ngpu = 3\n", "s.sim:1: job a: gpu = 3 is out of range ([gpu] count = 1)"},
		{"[job a]\ncus = 81\n", "s.sim:1: job a: too many CUs; the GPU has 80"},
		{"[job a]\nkernel = 10ns\nrounds = 20\n", "at least 1 ns per round"},
		{"[job a]\nstart = 2s\nstop = 1s\n", "stop must be after start"},
		{"[run]\ntime = 25h\n", "'25h' is out of range (0 ns to 24 h)"},
		{"[run]\ntime = s\n", "s.sim:2: time: 's' is not a duration"},
		{"[run]\ntime = .5s\n", "is not a duration"},
		{"[run]\ntime = 99999999999999999999s\n", "is out of range"},
		{"[run]\ntime = 999999999999999999s\n", "is out of range"},
		{"[run]\ntime = 100000s\n", "is out of range"},
		{"[job a]\nkernel = 1ms\nkernel = 2ms\n", "s.sim:3: duplicate key \"kernel\""},
		{"[work a]\n", "s.sim:1: [work a] must follow [job a]"},
		{"[job a]\narrival = recorded\n", "arrival = recorded needs a [work a] section"},
		{"[job a]\n[work a]\n0ns 0 1us\n", "[work a] needs arrival = recorded"},
		{"[job a]\narrival = recorded\nprocesses = 2\n[work a]\n0ns 0 1us\n",
		 "can have only one process"},
		{"[job a]\narrival = recorded\n[work a]\n0ns 0 1us\n[work a]\n",
		 "s.sim:5: duplicate [work a]"},
		{"[job a]\narrival = recorded\n[work a]\n5us 0 1us\n4us 0 1us\n",
		 "s.sim:5: requests must be in chronological order"},
		{"[job a]\narrival = recorded\n[work a]\n+ 0 1us\n",
		 "s.sim:4: requests must be in chronological order"},
		{"[job a]\narrival = recorded\n[work a]\n0ns 0 0ns\n", "s.sim:4: \"0ns 0 0ns\": "},
		{"[job a]\narrival = recorded\n[work a]\n0ns 64 1us\n", "expected TIME QUEUE"},
		{"[job a]\narrival = recorded\n[work a]\n0ns 0 1us 3 4\n", "expected TIME QUEUE"},
		{"[job a]\narrival = recorded\n[work a]\nkernel = 1ms\n", "expected TIME QUEUE"},
		{"[run]\n[job a]\ndeadline = 5ms\n",
		 "s.sim:2: job a: a deadline must be at least 1us"},
	};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(rows); i++) {
		struct test_diag diag = TEST_DIAG;
		int error;
		struct gp_sim_scenario *s = parse(rows[i].text, &diag, &error);

		assert_int_equal(error < 0, 1);
		if (!strstr(gp_buf_str(&diag.text), rows[i].said))
			fail_msg("row %zu: '%s' was said, not '%s'", i, gp_buf_str(&diag.text),
				 rows[i].said);
		gp_buf_free(&diag.text);
		gp_sim_scenario_free(s);
		free(s);
	}
}

static void costs_are_taken_at_the_end_of_their_range_that_is_asked_for(void **state)
{
	static const char *const ends[] = {"low", "best", "high"};
	u64 unmap[3], save[3];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct test_diag diag = TEST_DIAG;
		char text[64];
		struct gp_sim_scenario *s;
		int error;

		snprintf(text, sizeof(text), "[gpu]\ncosts = %s\nmap = 7us\n[job a]\n", ends[i]);
		s = parse(text, &diag, &error);
		assert_int_equal(error, 0);
		unmap[i] = s->chip.model.unmap_ns;
		save[i] = s->chip.model.save_bytes_per_us;
		assert_int_equal(s->chip.model.map_ns, 7000);
		gp_sim_scenario_free(s);
		free(s);
	}
	assert_true(unmap[0] < unmap[1] && unmap[1] < unmap[2]);
	assert_true(save[0] > save[1] && save[1] > save[2]);
}

/* `count` jobs of so many processes. */
static int parse_many(u32 count, u32 processes, struct test_diag *diag, u32 *jobs)
{
	struct gp_buf text = {0};
	struct gp_sim_scenario *s;
	int error;

	for (u32 i = 0; i < count; i++)
		gp_buf_printf(&text, "[job job%u]\nprocesses = %u\n", i, processes);
	s = parse(gp_buf_str(&text), diag, &error);
	*jobs = s->job_count;
	gp_sim_scenario_free(s);
	free(s);
	gp_buf_free(&text);
	return error;
}

static void jobs_and_processes_are_limited_by_the_core_alone(void **state)
{
	struct test_diag diag = TEST_DIAG;
	u32 jobs;

	(void)state;
	assert_int_equal(parse_many(GP_SCHED_MAX_JOBS, 1, &diag, &jobs), 0);
	assert_int_equal(jobs, GP_SCHED_MAX_JOBS);
	assert_int_equal(parse_many(16, GP_SCHED_MAX_PROCESSES / 16, &diag, &jobs), 0);
	assert_string_equal(gp_buf_str(&diag.text), "");
	assert_int_equal(parse_many(GP_SCHED_MAX_JOBS + 1, 1, &diag, &jobs), -EINVAL);
	assert_non_null(
		strstr(gp_buf_str(&diag.text), "s.sim:131073: too many jobs (maximum 65536)"));
	gp_buf_free(&diag.text);
	assert_int_equal(parse_many(17, GP_SCHED_MAX_PROCESSES / 16, &diag, &jobs), -EINVAL);
	assert_non_null(
		strstr(gp_buf_str(&diag.text), "s.sim: too many processes (69632, maximum 65536)"));
	gp_buf_free(&diag.text);
}

static void assert_same_kernel(const struct gp_sim_kernel *a, const struct gp_sim_kernel *b)
{
	assert_int_equal(a->at_ns, b->at_ns);
	assert_int_equal(a->kernel_ns, b->kernel_ns);
	assert_int_equal(a->job, b->job);
	assert_int_equal(a->queue, b->queue);
	assert_int_equal(a->workgroups, b->workgroups);
	assert_int_equal(a->more, b->more);
}

static void recorded_work_is_read_kernel_by_kernel(void **state)
{
	static const char text[] = "[job a]\narrival = recorded\nqueues = 2\n"
				   "[job b]\narrival = recorded closed\n"
				   "[work b]\n1.5us 0 3ns # a comment\n"
				   "[work a]\n\n0ns 0 10us\n+ 1 20us 7\n10us 1 5us\n";
	static const struct gp_sim_kernel wanted[] = {
		{.at_ns = 1500, .kernel_ns = 3, .job = 1},
		{.kernel_ns = 10000},
		{.kernel_ns = 20000, .workgroups = 7, .more = true}, /* a request has one queue */
		{.at_ns = 10000, .kernel_ns = 5000, .queue = 1},
	};
	struct test_diag diag = TEST_DIAG;
	int error;
	struct gp_sim_scenario *s = parse(text, &diag, &error);

	(void)state;
	assert_int_equal(error, 0);
	assert_int_equal(s->work_count, GP_ARRAY_SIZE(wanted));
	for (size_t i = 0; i < s->work_count; i++)
		assert_same_kernel(&s->work[i], &wanted[i]);
	assert_int_equal(s->jobs[0].work_first, 1);
	assert_int_equal(s->jobs[0].work_count, 3);
	assert_int_equal(s->jobs[0].arrival, GP_SIM_RECORDED);
	assert_int_equal(s->jobs[1].arrival, GP_SIM_RECORDED_CLOSED);
	gp_sim_scenario_free(s);
	free(s);
}

static void random_scenarios_are_whole_and_differ(void **state)
{
	struct gp_sim_scenario *a = malloc(sizeof(*a)), *b = malloc(sizeof(*b));
	u32 different = 0, recorded = 0;

	(void)state;
	for (u64 seed = 0; seed < 200; seed++) {
		struct test_diag diag = TEST_DIAG;

		assert_int_equal(gp_sim_scenario_init(a, &diag.diag), 0);
		assert_int_equal(gp_sim_scenario_init(b, &diag.diag), 0);
		gp_sim_scenario_random(a, seed);
		gp_sim_scenario_random(b, seed);
		assert_memory_equal(a, b, offsetof(struct gp_sim_scenario, jobs));
		assert_memory_equal(a->jobs, b->jobs, a->job_count * sizeof(*a->jobs));
		assert_int_equal(a->work_count, b->work_count);
		for (size_t i = 0; i < a->work_count; i++)
			assert_same_kernel(&a->work[i], &b->work[i]);
		assert_int_equal(gp_sim_scenario_check(a, "random", &diag.diag), 0);
		gp_sim_scenario_random(b, seed + 1);
		different += a->job_count != b->job_count ||
			     memcmp(a->jobs, b->jobs, a->job_count * sizeof(*a->jobs)) != 0;
		recorded += a->work_count != 0;
		gp_sim_scenario_free(a);
		gp_sim_scenario_free(b);
	}
	assert_in_range(recorded, 20, 190);
	assert_int_equal(different, 200);
	free(a);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scenario_says_what_it_says),
		cmocka_unit_test(errors_name_file_line_and_what_is_needed),
		cmocka_unit_test(costs_are_taken_at_the_end_of_their_range_that_is_asked_for),
		cmocka_unit_test(jobs_and_processes_are_limited_by_the_core_alone),
		cmocka_unit_test(recorded_work_is_read_kernel_by_kernel),
		cmocka_unit_test(random_scenarios_are_whole_and_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
