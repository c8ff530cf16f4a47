// SPDX-License-Identifier: MIT
/*
 * A daemon with two jobs for the test of `gpreempt top`: an offline one, which has work, and an
 * online one, whose streams are of low priority; with the argument busy it has work as well. The
 * argument limit makes suspensions end after a second. With the arguments many N it has twenty jobs
 * on N GPUs, of which some have work now and then, and a latency target. With the arguments repeats
 * N, it declined a preemption N times and N more times while it is followed. With the argument
 * group, its only job is a group of two processes. Prints the directory and two pids, and serves
 * until its input ends.
 */
#include "rig.h"

#include <poll.h>

enum { JOBS = 20 };

static void serve(struct rig *rig, void (*step)(struct rig *rig, u32 round))
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	for (u32 round = 0; poll(&input, 1, 0) == 0; round++) {
		if (step)
			step(rig, round);
		rig_run(rig);
		gp_loop_step(&rig->daemon->loop, 50);
	}
	rig_free(rig);
}

/* Servers have a burst of work now and then, each at its own pace. */
static void let_work(struct rig *rig, u32 round)
{
	for (u32 i = 0; i < JOBS; i++) {
		bool busy = i % 3 == 0 && round % (4 + i) < 2;

		if (i % 3 == 0 && (round % (4 + i) == 0 || round % (4 + i) == 2))
			work(rig, rig->agent[i], busy);
	}
}

/* One job of two processes, with a rule. */
static int serve_group(void)
{
	struct rig *rig = rig_new(ACT "[rule training]\nexecutable = *\ngroup = training\n");
	struct agent *agent[2];

	for (u32 i = 0; i < GP_ARRAY_SIZE(agent); i++)
		agent[i] = agent_known(rig, 2, 500);
	printf("%s %d %d\n", rig->directory, (int)agent[0]->pid, (int)agent[1]->pid);
	fflush(stdout);
	serve(rig, NULL);
	return 0;
}

static int serve_many(u32 gpus)
{
	static const char *const names[] = {"llm-server", "resnet-train", "embedding-batch"};
	struct rig *rig = rig_new("[daemon]\nmode = act\nlatency_target = 50ms\n");

	for (u32 i = 0; i < JOBS; i++) {
		struct agent *agent =
			agent_new(rig, i % 3 == 0 ? 1 : 2, i % 3 == 0 ? 2000 : 500 + i);

		agent->gpu_id = GPU + i % gpus;
		snprintf(agent->hello.name, sizeof(agent->hello.name), "%s-%u", names[i % 3], i);
		agent_await(rig, agent);
		work(rig, agent, i % 3 == 1);
	}
	printf("%s %d %d\n", rig->directory, (int)rig->agent[0]->pid, (int)rig->agent[1]->pid);
	fflush(stdout);
	serve(rig, let_work);
	return 0;
}

/* The same decision, with another cost. */
static void decline(struct rig *rig, const struct agent *for_it, u32 number)
{
	const struct gp_proto_msg_decision *kept;
	struct gp_proto_msg_decision line = {.at_ns = number * GP_NS_PER_MS,
					     .kind = GP_DECISION_NOTE,
					     .why = GP_SCHED_WHY_DECLINED,
					     .policy = GP_SCHED_PRIORITY,
					     .job = 1,
					     .other = 2,
					     .job_pid = (u32)for_it->pid,
					     .other_pid = 4711,
					     .gpu_id = GPU,
					     .waited_ns = GP_DAEMON_UNKNOWN,
					     .ran_ns = GP_DAEMON_UNKNOWN,
					     .cost_ns = (2 + number) * GP_NS_PER_MS,
					     .saves_ns = GP_NS_PER_MS,
					     .limit_ns = GP_DAEMON_UNKNOWN,
					     .job_name = "trainer",
					     .other_name = "server"};

	kept = gp_daemon_record_add(&rig->daemon->record, &line);
	gp_daemon_service_follow(rig->daemon, kept);
}

static int serve_repeats(u32 count)
{
	struct rig *rig = rig_new(ACT);
	struct agent *low = agent_known(rig, 2, 500);
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	char byte;

	for (u32 i = 0; i < count; i++)
		decline(rig, low, i);
	printf("%s %d 0\n", rig->directory, (int)low->pid);
	fflush(stdout);
	/* A byte of input is a line more; its end is the end. */
	for (u32 i = count;;) {
		gp_loop_step(&rig->daemon->loop, 20);
		if (poll(&input, 1, 0) != 1)
			continue;
		if (read(STDIN_FILENO, &byte, 1) != 1)
			break;
		decline(rig, low, i++);
	}
	rig_free(rig);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "repeats") == 0)
		return serve_repeats((u32)strtoul(argv[2], NULL, 10));
	if (argc > 2 && strcmp(argv[1], "many") == 0)
		return serve_many((u32)strtoul(argv[2], NULL, 10));

	if (argc > 1 && strcmp(argv[1], "group") == 0)
		return serve_group();

	bool limit = argc > 1 && strcmp(argv[1], "limit") == 0;
	bool observe = argc > 1 && strcmp(argv[1], "observe") == 0;
	struct rig *rig = rig_new(limit     ? "[daemon]\nmode = act\nmax_suspend = 1s\n"
				  : observe ? "[daemon]\nmode = observe\n"
					    : ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_new(rig, 1, 2000);

	/* U+009B begins a command to the terminal, as ESC [ does. */
	strcpy(high->hello.name, "pro\xc2\x9b"
				 "gram");
	high->lower = GP_SCHED_STREAM_STEP;
	agent_await(rig, high);
	work(rig, low, true);
	work(rig, high, argc > 1 && !limit && !observe);
	printf("%s %d %d\n", rig->directory, (int)low->pid, (int)high->pid);
	fflush(stdout);
	serve(rig, NULL);
	return 0;
}
