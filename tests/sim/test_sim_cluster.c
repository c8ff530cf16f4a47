// SPDX-License-Identifier: MIT
/* Clusters: cases computed by hand, scenario files, and random clusters with every invariant
 * checked after every event. */
#include <unistd.h>

#include "base/core.h"
#include "sim/cluster/engine.h"
#include "testlib.h"

#define S GP_NS_PER_S

static struct gp_sim_cluster_result result;

/* What an online job leaves is all an offline job's. */
static void begin(struct gp_sim_cluster *cluster, u32 nodes, u32 gpus, u64 seconds)
{
	gp_sim_cluster_init(cluster);
	cluster->nodes = nodes;
	cluster->gpus = gpus;
	cluster->time_ns = seconds * S;
	cluster->share_given = true;
	for (u32 i = 0; i < GP_SIM_CLUSTER_LOADS; i++)
		cluster->share[i] = GP_SIM_CLUSTER_FULL - 100 * i;
}

static void add(struct gp_sim_cluster *cluster, bool online, u64 at, u32 nodes, u32 gpus, u64 run,
		u32 busy_percent)
{
	struct gp_sim_cluster_job job = {.at_ns = at * S,
					 .run_ns = run * S,
					 .checkpoint_ns = 4 * S,
					 .nodes = nodes,
					 .gpus = gpus,
					 .busy = busy_percent * 10,
					 .online = online};

	assert_int_equal(gp_sim_cluster_add_job(cluster, &job), 0);
}

static void run(struct gp_sim_cluster *cluster, enum gp_sim_cluster_arrangement arrangement)
{
	struct gp_sim_cluster_options options = {.check = true};
	struct test_diag sink = TEST_DIAG;

	assert_int_equal(gp_sim_cluster_run(cluster, arrangement, &options, &sink.diag, &result),
			 0);
	assert_int_equal(sink.errors, 0);
	gp_buf_free(&sink.text);
}

/* GPU seconds. */
static u64 used(enum gp_sim_cluster_use use)
{
	assert_int_equal((u64)(result.use[use] % (GP_SIM_CLUSTER_FULL * S)), 0);
	return (u64)(result.use[use] / (GP_SIM_CLUSTER_FULL * S));
}

static void prepare(struct gp_sim_cluster *cluster)
{
	struct test_diag sink = TEST_DIAG;

	assert_int_equal(gp_sim_cluster_prepare(cluster, "test", &sink.diag), 0);
	gp_buf_free(&sink.text);
}

/* ---- one GPU: 100 s of offline work from 0 on, an online job for 20 s at 10, busy for half ----
 */

static void one_gpu(struct gp_sim_cluster *cluster)
{
	begin(cluster, 1, 1, 200);
	cluster->grace_ns = 5 * S;
	cluster->restart_ns = 3 * S;
	add(cluster, true, 10, 1, 1, 20, 50);
	add(cluster, false, 0, 1, 1, 100, 100);
	prepare(cluster);
}

static void exclusive_gpu_makes_the_online_job_wait(void **state)
{
	struct gp_sim_cluster cluster;

	(void)state;
	one_gpu(&cluster);
	run(&cluster, GP_SIM_CLUSTER_EXCLUSIVE);
	assert_int_equal(result.online.wait.max, 90 * S);
	assert_int_equal(used(GP_SIM_CLUSTER_OFFLINE), 100);
	assert_int_equal(used(GP_SIM_CLUSTER_ONLINE), 10);
	assert_int_equal(used(GP_SIM_CLUSTER_RESERVED), 10);
	assert_int_equal(used(GP_SIM_CLUSTER_FREE), 80);
	assert_int_equal(result.online.completed + result.offline.completed, 2);
	gp_sim_cluster_free(&cluster);
}

static void killed_job_loses_what_follows_its_checkpoint(void **state)
{
	struct gp_sim_cluster cluster;

	(void)state;
	one_gpu(&cluster);
	run(&cluster, GP_SIM_CLUSTER_REQUEUE);
	/* Killed at 10 with 8 kept; the online job has the GPU at 15, until 35; 3 to restart. */
	assert_int_equal(result.online.wait.max, 5 * S);
	assert_int_equal(result.offline.kills, 1);
	assert_int_equal(used(GP_SIM_CLUSTER_LOST), 2);
	assert_int_equal(used(GP_SIM_CLUSTER_RESTART), 5 + 3);
	assert_int_equal(used(GP_SIM_CLUSTER_OFFLINE), 100);
	assert_int_equal(used(GP_SIM_CLUSTER_RESERVED), 10);
	assert_int_equal(used(GP_SIM_CLUSTER_FREE), 200 - 10 - 10 - 2 - 8 - 100);
	assert_int_equal(result.offline.completed, 1);
	gp_sim_cluster_free(&cluster);
}

static void shared_gpu_keeps_both_jobs_running(void **state)
{
	struct gp_sim_cluster cluster;

	(void)state;
	one_gpu(&cluster);
	run(&cluster, GP_SIM_CLUSTER_SHARE);
	assert_int_equal(result.online.wait.max, 0);
	assert_int_equal(result.offline.kills, 0);
	assert_int_equal(used(GP_SIM_CLUSTER_OFFLINE), 100);
	assert_int_equal(used(GP_SIM_CLUSTER_ONLINE), 10);
	assert_int_equal(used(GP_SIM_CLUSTER_FREE), 90); /* the offline job ends at 110 */
	gp_sim_cluster_free(&cluster);
}

static void preemption_has_its_price(void **state)
{
	struct gp_sim_cluster cluster;

	(void)state;
	one_gpu(&cluster);
	cluster.share[5] = 400; /* beside the online job: 8 s of work in 20 s */
	run(&cluster, GP_SIM_CLUSTER_SHARE);
	assert_int_equal(used(GP_SIM_CLUSTER_SWITCHING), 2);
	assert_int_equal(used(GP_SIM_CLUSTER_FREE), 200 - 112);
	gp_sim_cluster_free(&cluster);
}

static void end_of_the_run_counts_what_was_done_by_then(void **state)
{
	struct gp_sim_cluster cluster;

	(void)state;
	one_gpu(&cluster);
	cluster.time_ns = 60 * S;
	run(&cluster, GP_SIM_CLUSTER_EXCLUSIVE);
	assert_int_equal(used(GP_SIM_CLUSTER_OFFLINE), 60);
	assert_int_equal(result.offline.running, 1);
	assert_int_equal(result.online.waiting, 1);
	assert_int_equal(result.online.waited_ns, 50 * S);
	assert_int_equal(result.online.wait.count, 0);
	gp_sim_cluster_free(&cluster);
}

/* ---- gangs ---- */

static void gang_is_as_fast_as_its_slowest_gpu(void **state)
{
	struct gp_sim_cluster cluster;

	(void)state;
	begin(&cluster, 2, 1, 200);
	add(&cluster, true, 0, 1, 1, 50, 40);
	add(&cluster, false, 0, 2, 1, 100, 100);
	prepare(&cluster);
	run(&cluster, GP_SIM_CLUSTER_SHARE);
	/* 30 s of work in the first 50 s, then 70 s. */
	assert_int_equal(used(GP_SIM_CLUSTER_OFFLINE), 200);
	assert_int_equal(used(GP_SIM_CLUSTER_STALLED), 20);
	assert_int_equal(used(GP_SIM_CLUSTER_ONLINE), 20);
	assert_int_equal(used(GP_SIM_CLUSTER_FREE), 2 * 80);
	run(&cluster, GP_SIM_CLUSTER_EXCLUSIVE);
	assert_int_equal(result.offline.wait.max, 50 * S);
	gp_sim_cluster_free(&cluster);
}

static void gang_is_killed_as_a_whole(void **state)
{
	struct gp_sim_cluster cluster;

	(void)state;
	begin(&cluster, 2, 2, 100);
	cluster.grace_ns = 0;
	cluster.restart_ns = 0;
	add(&cluster, false, 0, 2, 2, 40, 100);
	add(&cluster, true, 6, 1, 1, 10, 100);
	prepare(&cluster);
	run(&cluster, GP_SIM_CLUSTER_REQUEUE);
	/* 2 s of 4 GPUs are lost; it starts again at 16, with 36 s left. */
	assert_int_equal(used(GP_SIM_CLUSTER_LOST), 8);
	assert_int_equal(used(GP_SIM_CLUSTER_OFFLINE), 160);
	assert_int_equal(used(GP_SIM_CLUSTER_FREE), 10 * 3 + 48 * 4);
	assert_int_equal(result.offline.wait.max, 0);
	gp_sim_cluster_free(&cluster);
}

/* Two nodes that are never free at the same time, because there is always a smaller job. */
static u64 waits_for(u64 patience)
{
	struct gp_sim_cluster cluster;
	u64 wait;

	begin(&cluster, 2, 1, 1000);
	cluster.patience_ns = patience * S;
	for (u64 at = 0; at < 900; at += 5)
		add(&cluster, false, at, 1, 1, 20, 100);
	add(&cluster, false, 1, 2, 1, 10, 100);
	prepare(&cluster);
	run(&cluster, GP_SIM_CLUSTER_EXCLUSIVE);
	wait = result.offline.wait.max;
	gp_sim_cluster_free(&cluster);
	return wait;
}

static void nodes_are_kept_for_a_gang_that_waited_for_long(void **state)
{
	struct gp_sim_cluster cluster;

	(void)state;
	begin(&cluster, 2, 1, 200);
	cluster.patience_ns = 12 * S;
	add(&cluster, false, 0, 1, 1, 10, 100); /* first node until 10, the next one until 20 */
	add(&cluster, false, 0, 1, 1, 15, 100); /* second node until 15 */
	add(&cluster, false, 1, 2, 1, 10, 100); /* the gang */
	add(&cluster, false, 2, 1, 1, 10, 100);
	add(&cluster, false, 3, 1, 1, 10, 100); /* would have the second node at 15 */
	prepare(&cluster);
	run(&cluster, GP_SIM_CLUSTER_EXCLUSIVE);
	/* At 15 the gang has waited for 14: the second node is kept, then the first at 20. */
	assert_int_equal(result.offline.wait.max, (30 - 3) * S);
	assert_int_equal(result.offline.completed, 5);
	assert_true(waits_for(900) > waits_for(30));
	gp_sim_cluster_free(&cluster);
}

static void smaller_jobs_pass_one_that_does_not_fit(void **state)
{
	struct gp_sim_cluster cluster;

	(void)state;
	begin(&cluster, 1, 2, 100);
	add(&cluster, false, 0, 1, 1, 50, 100);
	add(&cluster, false, 1, 1, 2, 10, 100);
	add(&cluster, false, 2, 1, 1, 10, 100);
	prepare(&cluster);
	run(&cluster, GP_SIM_CLUSTER_EXCLUSIVE);
	assert_int_equal(result.offline.completed, 3);
	assert_int_equal(result.offline.wait.max, 49 * S);
	assert_int_equal(result.offline.wait.min, 0);
	gp_sim_cluster_free(&cluster);
}

/* ---- random clusters ---- */

static u64 roll(u64 *dice, u64 below)
{
	*dice = gp_mix(*dice);
	return *dice % below;
}

static void random_cluster(struct gp_sim_cluster *cluster, u64 seed)
{
	u64 dice = gp_mix(seed), jobs = 5 + roll(&dice, 60);

	begin(cluster, 1 + (u32)roll(&dice, 6), 1 + (u32)roll(&dice, 4), 100 + roll(&dice, 2000));
	cluster->grace_ns = roll(&dice, 2) * roll(&dice, 40 * S);
	cluster->restart_ns = roll(&dice, 2) * roll(&dice, 90 * S);
	cluster->patience_ns = roll(&dice, 300 * S);
	for (u32 i = 1; i < GP_SIM_CLUSTER_LOADS; i++)
		cluster->share[i] = (u32)roll(&dice, GP_SIM_CLUSTER_FULL - 100 * i + 1);
	while (jobs--) {
		struct gp_sim_cluster_job job = {
			.at_ns = roll(&dice, cluster->time_ns),
			.run_ns = 1 + roll(&dice, 300 * S),
			.checkpoint_ns = roll(&dice, 2) * roll(&dice, 60 * S),
			.nodes = 1 + (u32)roll(&dice, cluster->nodes),
			.gpus = 1 + (u32)roll(&dice, cluster->gpus),
			.busy = (u32)roll(&dice, GP_SIM_CLUSTER_FULL + 1),
			.online = roll(&dice, 2),
		};

		assert_int_equal(gp_sim_cluster_add_job(cluster, &job), 0);
	}
	prepare(cluster);
}

static void nothing_is_lost_in_random_clusters(void **state)
{
	u64 kills = 0, events = 0;

	(void)state;
	for (u64 seed = 1; seed <= 400; seed++) {
		struct gp_sim_cluster cluster;

		random_cluster(&cluster, seed);
		for (int a = 0; a < GP_SIM_CLUSTER_ARRANGEMENTS; a++) {
			run(&cluster, a);
			kills += result.offline.kills;
			events += result.events;
			assert_true(a == GP_SIM_CLUSTER_REQUEUE || !result.offline.kills);
		}
		gp_sim_cluster_free(&cluster);
	}
	assert_true(kills > 400 && events > 10000); /* the clusters were full enough */
}

/* ---- files ---- */

static int parse(struct gp_sim_cluster *cluster, struct test_diag *sink, const char *text)
{
	gp_sim_cluster_init(cluster);
	return gp_sim_cluster_parse(cluster, "x.sim", text, strlen(text), &sink->diag);
}

static void file_is_read(void **state)
{
	static const char text[] =
		"[run]\ntime = 48h\nseed = 7\n[cluster] # here\nnodes = 100\ngpus = 4\nshare = "
		"90%\n"
		"[job a]\nclass = online\narrival = poisson 2/d per node\nrun = exponential 3h\n"
		"busy = 12.5%\n[job b]\nclass = offline\narrival = every 2h\nrun = 90min\nnodes = "
		"2\n"
		"gpus = 3\ncheckpoint = 10min\n";
	struct test_diag sink = TEST_DIAG;
	struct gp_sim_cluster c;

	(void)state;
	assert_true(gp_sim_cluster_is(text, strlen(text)));
	assert_false(gp_sim_cluster_is("[run]\n# no [cluster]\n", 21));
	assert_int_equal(parse(&c, &sink, text), 0);
	assert_int_equal(c.share[5], 450);
	assert_int_equal(gp_sim_cluster_left(&c, 250), (720 + 630) / 2);
	assert_int_equal(c.kinds[0].busy, 125);
	assert_int_equal(gp_sim_cluster_prepare(&c, "x.sim", &sink.diag), 0);
	/* 23 of b, and about 400 of a. */
	u64 online = 0;
	for (size_t i = 0; i < c.job_count; i++) {
		online += c.jobs[i].online;
		assert_true(!i || c.jobs[i - 1].at_ns <= c.jobs[i].at_ns);
	}
	assert_int_equal(c.job_count - online, 23);
	assert_in_range(online, 320, 480);
	gp_sim_cluster_free(&c);
	gp_buf_free(&sink.text);
}

static void mistakes_are_named_with_their_line(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{"[cluster]\nnodes = 0\n", "x.sim:2: nodes"},
		{"[cluster]\ngpu = 4\n", "did you mean \"gpus\""},
		{"[cluster]\nshare = 101%\n", "x.sim:2: share = 101%: expected a percentage"},
		{"[gpu]\n", "unknown section [gpu] in a cluster scenario"},
		{"[job a]\nclass = normal\n", "expected online or offline"},
		{"[job a]\nrun = 5\n", "x.sim:2: run:"},
		{"[job a]\nrun = 5h\n", "x.sim:1: job a: arrival and run are missing"},
		{"[job a]\narrival = poisson 3\n", "x.sim:2: arrival = poisson 3: expected"},
		{"[job a]\narrival = per node\n", "x.sim:2: arrival = per node: expected"},
		{"[job a]\n[job a]\n", "duplicate job"},
		{"[trace]\nfile = /nonexistent\n", "cannot read /nonexistent"},
	};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(cases); i++) {
		struct test_diag sink = TEST_DIAG;
		struct gp_sim_cluster c;

		assert_true(parse(&c, &sink, cases[i].text) < 0);
		if (!strstr(gp_buf_str(&sink.text), cases[i].error))
			fail_msg("%s: %s", cases[i].error, gp_buf_str(&sink.text));
		gp_sim_cluster_free(&c);
		gp_buf_free(&sink.text);
	}
}

static int trace(struct gp_sim_cluster *cluster, struct test_diag *sink, const char *text)
{
	char path[] = "/tmp/gp-trace-XXXXXX";
	int fd = mkstemp(path), error;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	gp_sim_cluster_init(cluster);
	error = gp_sim_cluster_trace(cluster, path, &sink->diag);
	unlink(path);
	return error;
}

static void trace_has_its_columns_in_any_order(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_sim_cluster c;

	(void)state;
	assert_int_equal(trace(&c, &sink,
			       "class,submit_s,user,nodes,gpus,run_s,busy_percent\n"
			       "offline,30,ann,2,8,3600,\nonline,5.7,bob,1,1,60,35\n"),
			 0);
	c.nodes = 2;
	prepare(&c);
	assert_int_equal(c.job_count, 2);
	assert_true(c.jobs[0].online);
	assert_int_equal(c.jobs[0].at_ns, 5 * S);
	assert_int_equal(c.jobs[0].busy, 350);
	assert_int_equal(c.jobs[1].nodes * c.jobs[1].gpus, 16);
	assert_int_equal(c.jobs[1].run_ns, 3600 * S);
	gp_sim_cluster_free(&c);
	gp_buf_free(&sink.text);
}

static void mistakes_in_a_trace_are_named(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{"submit_s,class,nodes,gpus\n", "column run_s is missing"},
		{"submit_s,class,nodes,gpus,run_s\n1,online,1,1,60\n2,batch,1,1,60\n",
		 ":3: invalid value in column class"},
		{"submit_s,class,nodes,gpus,run_s\n1,online,0,1,60\n",
		 ":2: invalid value in column nodes"},
		{"submit_s,class,nodes,gpus,run_s\n1,online,1\n",
		 ":2: invalid value in column gpus"},
	};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(cases); i++) {
		struct test_diag sink = TEST_DIAG;
		struct gp_sim_cluster c;

		assert_true(trace(&c, &sink, cases[i].text) < 0);
		if (!strstr(gp_buf_str(&sink.text), cases[i].error))
			fail_msg("%s: %s", cases[i].error, gp_buf_str(&sink.text));
		gp_sim_cluster_free(&c);
		gp_buf_free(&sink.text);
	}
}

static void job_that_never_fits_is_refused(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_sim_cluster c;

	(void)state;
	begin(&c, 2, 4, 100);
	add(&c, false, 0, 1, 5, 10, 100);
	assert_true(gp_sim_cluster_prepare(&c, "test", &sink.diag) < 0);
	assert_non_null(strstr(gp_buf_str(&sink.text), "(nodes 1 of 2, GPUs per node 5 of 4)"));
	gp_sim_cluster_free(&c);
	gp_buf_free(&sink.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exclusive_gpu_makes_the_online_job_wait),
		cmocka_unit_test(killed_job_loses_what_follows_its_checkpoint),
		cmocka_unit_test(shared_gpu_keeps_both_jobs_running),
		cmocka_unit_test(preemption_has_its_price),
		cmocka_unit_test(end_of_the_run_counts_what_was_done_by_then),
		cmocka_unit_test(gang_is_as_fast_as_its_slowest_gpu),
		cmocka_unit_test(gang_is_killed_as_a_whole),
		cmocka_unit_test(nodes_are_kept_for_a_gang_that_waited_for_long),
		cmocka_unit_test(smaller_jobs_pass_one_that_does_not_fit),
		cmocka_unit_test(nothing_is_lost_in_random_clusters),
		cmocka_unit_test(file_is_read),
		cmocka_unit_test(mistakes_are_named_with_their_line),
		cmocka_unit_test(trace_has_its_columns_in_any_order),
		cmocka_unit_test(mistakes_in_a_trace_are_named),
		cmocka_unit_test(job_that_never_fits_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
