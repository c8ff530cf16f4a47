// SPDX-License-Identifier: MIT
/*
 * A daemon with two jobs for the test of `gpreempt top`: an offline one, which has work, and an
 * online one, whose streams are of low priority; with the argument busy it has work as well. The
 * argument limit makes suspensions end after a second. Prints their pids and serves until its input
 * ends.
 */
#include "rig.h"

#include <poll.h>

int main(int argc, char **argv)
{
	bool limit = argc > 1 && strcmp(argv[1], "limit") == 0;
	struct rig *rig = rig_new(limit ? "[daemon]\nmode = act\nmax_suspend = 1s\n" : ACT);
	struct agent *low = agent_known(rig, 2, 500), *high = agent_new(rig, 1, 2000);
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	/* U+009B begins a command to the terminal, as ESC [ does. */
	strcpy(high->hello.name, "pro\xc2\x9b"
				 "gram");
	high->lower = GP_SCHED_STREAM_STEP;
	agent_await(rig, high);
	work(rig, low, true);
	work(rig, high, argc > 1 && !limit);
	printf("%s %d %d\n", rig->directory, (int)low->pid, (int)high->pid);
	fflush(stdout);
	while (poll(&input, 1, 0) == 0) {
		rig_run(rig);
		gp_loop_step(&rig->daemon->loop, 50);
	}
	rig_free(rig);
	return 0;
}
