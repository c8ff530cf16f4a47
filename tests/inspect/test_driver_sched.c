// SPDX-License-Identifier: MIT
/* What the scheduler inside the driver says of itself, read from text of a guest of kernel/testbed.
 */
#include "tree.h"

#include <errno.h>

#include "inspect/driver_sched.h"

#define PROC "/sys/class/kfd/kfd/proc"

/* kernel/testbed/run 6.12 patched sched_10, with other pids and round times. */
static const char text[] =
	"policy=priority poll_us=1000 polls=121\n"
	"jobs=2 queues=3 held=1 events=137 suspends=1 resumes=0 errors=0\n"
	"why inversion=1\n"
	"why routine=9\n"
	"job pid=201 priority=2000 state=running queues=1 busy=1 for=0 held_ns=0 ran_ns=45000000 "
	"suspends=0 declined=0 failures=0\n"
	"job pid=200 priority=500 state=suspended queues=2 busy=1 for=201 held_ns=44000000 "
	"ran_ns=31000000 suspends=1 declined=2 failures=3\n";

static void tree_queue(const struct tree *tree, const char *pid, const char *id, const char *state)
{
	static const char *const files[][2] = {{"gpuid", "24439\n"},
					       {"type", "0\n"},
					       {"size", "16384\n"},
					       {"logical_priority", "500\n"},
					       {"suspended_ms", "44\n"}};
	char path[128];

	for (size_t i = 0; i < GP_ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), PROC "/%s/queues/%s/%s", pid, id, files[i][0]);
		tree_text(tree, path, files[i][1]);
	}
	snprintf(path, sizeof(path), PROC "/%s/queues/%s/state", pid, id);
	tree_text(tree, path, state);
}

static void jobs_and_counters_are_read(void **state)
{
	struct gp_inspect_driver_sched sched;

	(void)state;
	assert_int_equal(gp_inspect_driver_sched_parse(text, sizeof(text) - 1, &sched), 0);
	assert_string_equal(sched.policy, "priority");
	assert_int_equal(sched.poll_us, 1000);
	assert_int_equal(sched.polls, 121);
	assert_int_equal(sched.held, 1);
	assert_int_equal(sched.events, 137);
	assert_int_equal(sched.suspends, 1);
	assert_int_equal(sched.resumes, 0);
	assert_int_equal(sched.errors, 0);
	assert_int_equal(sched.unread, 0);
	assert_int_equal(sched.job_count, 2);
	assert_int_equal(sched.jobs[0].pid, 201);
	assert_int_equal(sched.jobs[0].run, GP_DRIVER_RUNNING);
	assert_int_equal(sched.jobs[0].held_for, 0);
	assert_int_equal(sched.jobs[1].pid, 200);
	assert_int_equal(sched.jobs[1].priority, 500);
	assert_int_equal(sched.jobs[1].run, GP_DRIVER_SUSPENDED);
	assert_int_equal(sched.jobs[1].queues, 2);
	assert_int_equal(sched.jobs[1].busy, 1);
	assert_int_equal(sched.jobs[1].held_for, 201);
	assert_int_equal(sched.jobs[1].held_ns, 44000000);
	assert_int_equal(sched.jobs[1].ran_ns, 31000000);
	assert_int_equal(sched.jobs[1].suspends, 1);
	assert_int_equal(sched.jobs[1].declined, 2);
	assert_int_equal(sched.jobs[1].failures, 3);
	gp_inspect_driver_sched_free(&sched);
}

/* Wherever it is cut, what is read is whole; a line without its end is not. */
static void text_that_is_cut_is_no_job(void **state)
{
	const size_t two = (size_t)(strchr(strchr(text, '\n') + 1, '\n') - text);
	struct gp_inspect_driver_sched sched;

	(void)state;
	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		/* Of its own, so that a checker sees reading behind it. */
		char *cut = malloc(len + 1);
		size_t jobs = 0;
		int error;

		memcpy(cut, text, len);
		for (size_t i = 0; i + 5 < len; i++)
			jobs += memcmp(cut + i, "\njob ", 5) == 0 &&
				memchr(cut + i + 1, '\n', len - i - 1) != NULL;
		error = gp_inspect_driver_sched_parse(cut, len, &sched);
		if (len < two && error != 0)
			assert_int_equal(error, -EPROTO);
		if (len >= two)
			assert_int_equal(error, 0);
		if (!error) {
			assert_int_equal(sched.job_count, jobs);
			assert_true(sched.unread <= 1);
			gp_inspect_driver_sched_free(&sched);
		}
		free(cut);
	}
}

static void other_text_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"\n\n",
		"policy=priority poll_us=1000 polls=1\n",
		"policy= poll_us=1000 polls=1\nheld=0 events=0 suspends=0 resumes=0 errors=0\n",
		"policy=a-name-that-is-too-long poll_us=1 polls=1\nheld=0 events=0 suspends=0 "
		"resumes=0 errors=0\n",
		"policy=off poll_us=1000 polls=99999999999999999999\nheld=0 events=0 suspends=0 "
		"resumes=0 errors=0\n",
		"policy=off poll_us=1000 polls=1\nheld=x events=0 suspends=0 resumes=0 errors=0\n",
		"policy=off poll_us=1000 polls=1\nevents=0 suspends=0 resumes=0 errors=0\n",
	};
	struct gp_inspect_driver_sched sched;

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(wrong); i++)
		assert_int_equal(gp_inspect_driver_sched_parse(wrong[i], strlen(wrong[i]), &sched),
				 -EPROTO);
}

/* A later driver may say more, in another order; a line that lacks something is counted. */
static void lines_are_read_by_their_keys(void **state)
{
	static const char later[] =
		"polls=7 policy=deadline new=1 poll_us=50\n"
		"errors=1 resumes=2 suspends=3 events=4 held=0 x=y\n"
		"job pids=5 failures=9 declined=8 suspends=7 ran_ns=6 held_ns=5 for=4 busy=3 "
		"queues=2 "
		"state=resuming priority=1 pid=77 more=5\n"
		"job pid=78 priority=1 state=asleep queues=1 busy=0 for=0 held_ns=0 ran_ns=0 "
		"suspends=0 declined=0 failures=0\n"
		"job pid=0 priority=1 state=running queues=1 busy=0 for=0 held_ns=0 ran_ns=0 "
		"suspends=0 declined=0 failures=0\n"
		"job pid=-1 priority=1 state=running queues=1 busy=0 for=0 held_ns=0 ran_ns=0 "
		"suspends=0 declined=0 failures=0\n"
		"job pid=79 priority=4294967296 state=running queues=1 busy=0 for=0 held_ns=0 "
		"ran_ns=0 suspends=0 declined=0 failures=0\n"
		"job pid=80\n"
		"job pid=81 priority=1 state=running queues=1 busy=0 for=0 held_ns=0 ran_ns=0 "
		"suspends=0 declined=0 failures=1x\n"
		"and something else\n";
	struct gp_inspect_driver_sched sched;

	(void)state;
	assert_int_equal(gp_inspect_driver_sched_parse(later, sizeof(later) - 1, &sched), 0);
	assert_string_equal(sched.policy, "deadline");
	assert_int_equal(sched.poll_us, 50);
	assert_int_equal(sched.suspends, 3);
	assert_int_equal(sched.job_count, 1);
	assert_int_equal(sched.jobs[0].pid, 77);
	assert_int_equal(sched.jobs[0].run, GP_DRIVER_RESUMING);
	assert_int_equal(sched.jobs[0].failures, 9);
	assert_int_equal(sched.unread, 7);
	gp_inspect_driver_sched_free(&sched);
}

static void queues_are_those_of_sysfs(void **state)
{
	struct gp_inspect_driver_sched sched;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	tree_text(&tree, GP_DRIVER_SCHED, text);
	tree_queue(&tree, "200", "0", "preempted\n");
	tree_queue(&tree, "200", "1", "suspended preempted\n");
	/* As a driver without the patch has it: nothing but size and type. */
	tree_text(&tree, PROC "/201/queues/3/gpuid", "24439\n");
	tree_text(&tree, PROC "/201/queues/3/type", "0\n");
	tree_text(&tree, PROC "/201/queues/3/size", "16384\n");
	tree_text(&tree, PROC "/201/queues/3/state", "\n");
	tree_text(&tree, PROC "/201/queues/3/logical_priority", "4294967296\n");
	assert_int_equal(gp_inspect_driver_sched_read(&tree.root, &sched), 0);
	assert_int_equal(sched.jobs[1].item_count, 2);
	assert_int_equal(sched.jobs[1].items[0].id, 0);
	assert_int_equal(sched.jobs[1].items[0].gpu_id, 24439);
	assert_int_equal(sched.jobs[1].items[0].valid, GP_DRIVER_QUEUE_PRIORITY |
							       GP_DRIVER_QUEUE_STATE |
							       GP_DRIVER_QUEUE_SUSPENDED);
	assert_string_equal(sched.jobs[1].items[0].state, "preempted");
	assert_int_equal(sched.jobs[1].items[0].logical_priority, 500);
	assert_int_equal(sched.jobs[1].items[0].suspended_ms, 44);
	assert_string_equal(sched.jobs[1].items[1].state, "suspended preempted");
	assert_int_equal(sched.jobs[0].item_count, 1);
	assert_int_equal(sched.jobs[0].items[0].valid, 0);
	assert_false(sched.jobs[0].known);
	gp_inspect_driver_sched_free(&sched);
	tree_remove(&tree);
}

static void a_job_that_runs_with_all_queues_off_is_off(void **state)
{
	struct gp_inspect_driver_queue queues[] = {
		{.valid = GP_DRIVER_QUEUE_STATE, .state = "suspended"},
		{.valid = GP_DRIVER_QUEUE_STATE, .state = "evicted"},
	};
	struct gp_inspect_driver_job job = {.items = queues, .item_count = 2};

	(void)state;
	assert_true(gp_inspect_driver_job_is_off(&job));
	job.run = GP_DRIVER_SUSPENDED;
	assert_false(gp_inspect_driver_job_is_off(&job));
	job.run = GP_DRIVER_RUNNING;
	strcpy(queues[1].state, "active");
	assert_false(gp_inspect_driver_job_is_off(&job));
	queues[1].valid = 0;
	assert_false(gp_inspect_driver_job_is_off(&job));
	job.item_count = 0;
	assert_false(gp_inspect_driver_job_is_off(&job));
}

static void a_driver_without_is_told_from_one_that_is_off(void **state)
{
	struct gp_inspect_driver_sched sched;
	struct tree tree;
	char policy[16];

	(void)state;
	tree_make(&tree);
	assert_int_equal(gp_inspect_driver_sched_read(&tree.root, &sched), -ENOENT);
	gp_inspect_driver_sched_policy(&tree.root, policy, sizeof(policy));
	assert_string_equal(policy, "");
	tree_text(&tree, "/sys/module/amdgpu/parameters/kfd_sched", "off\n");
	gp_inspect_driver_sched_policy(&tree.root, policy, sizeof(policy));
	assert_string_equal(policy, "off");
	tree_text(&tree, GP_DRIVER_SCHED, "not the driver's\n");
	assert_int_equal(gp_inspect_driver_sched_read(&tree.root, &sched), -EPROTO);
	tree_remove(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_and_counters_are_read),
		cmocka_unit_test(text_that_is_cut_is_no_job),
		cmocka_unit_test(other_text_is_refused),
		cmocka_unit_test(lines_are_read_by_their_keys),
		cmocka_unit_test(queues_are_those_of_sysfs),
		cmocka_unit_test(a_job_that_runs_with_all_queues_off_is_off),
		cmocka_unit_test(a_driver_without_is_told_from_one_that_is_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
