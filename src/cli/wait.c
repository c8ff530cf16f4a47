// SPDX-License-Identifier: MIT
#include "cli/wait.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/core.h"

void gp_cli_ending_signals(sigset_t *set)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action;

	sigemptyset(set);
	for (size_t i = 0; i < GP_ARRAY_SIZE(numbers); i++)
		if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL)
			sigaddset(set, numbers[i]);
}

int gp_cli_wait(int fd, int ms, int signals, const sigset_t *set)
{
	struct pollfd ready[] = {{.fd = fd, .events = POLLIN},
				 {.fd = signals, .events = POLLIN},
				 {.fd = STDOUT_FILENO}};
	struct signalfd_siginfo info;
	sigset_t before;
	int number = 0;

	sigprocmask(SIG_BLOCK, set, &before);
	if (poll(ready, GP_ARRAY_SIZE(ready), ms) > 0) {
		if (ready[1].revents && read(signals, &info, sizeof(info)) == sizeof(info))
			number = (int)info.ssi_signo;
		else if (ready[2].revents)
			number = SIGPIPE;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return number;
}
