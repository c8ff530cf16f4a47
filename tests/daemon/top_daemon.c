// SPDX-License-Identifier: MIT
/*
 * A daemon with two jobs for the test of `gpreempt top`: an offline one, which has work, and an
 * online one, whose streams are of low priority; with the argument busy it has work as well. The
 * argument limit makes suspensions end after a second. With the arguments many N it has twenty jobs
 * on N GPUs, of which some have work now and then, and a latency target. Prints the directory and
 * two pids, and serves until its input ends.
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

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "many") == 0)
		return serve_many((u32)strtoul(argv[2], NULL, 10));

	bool limit = argc > 1 && strcmp(argv[1], "limit") == 0;
	struct rig *rig = rig_new(limit ? "[daemon]\nmode = act\nmax_suspend = 1s\n" : ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_new(rig, 1, 2000);

	/* U+009B begins a command to the terminal, as ESC [ does. */
	strcpy(high->hello.name, "pro\xc2\x9b"
				 "gram");
	high->lower = GP_SCHED_STREAM_STEP;
	agent_await(rig, high);
	work(rig, low, true);
	work(rig, high, argc > 1 && !limit);
	printf("%s %d %d\n", rig->directory, (int)low->pid, (int)high->pid);
	fflush(stdout);
	serve(rig, NULL);
	return 0;
}
