// SPDX-License-Identifier: MIT
/* AdminComment of a job that has ended: see comment.h. */
#include "slurm/comment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/spawn.h"

#define COMMENT_MAX 4096 /* bytes, for all nodes of the job */
#define TRIES       8
#ifndef GP_SLURM_PATH /* the test has its own */
#define GP_SLURM_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#endif

/* Runs a program of Slurm without a shell; its output is in `out`. False: it failed. */
static bool run(const char *const *arguments, char *out, size_t size)
{
	int pipes[2], status;
	size_t used = 0;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC))
		return false;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* the alarm ends this process's parent only */
		gp_spawn_reset_signals();
		gp_spawn_silence();
		if (dup2(pipes[1], STDOUT_FILENO) >= 0 && setenv("PATH", GP_SLURM_PATH, 1) == 0)
			execvp(arguments[0], (char *const *)arguments);
		_exit(127);
	}
	close(pipes[1]);
	while (pid > 0 && used + 1 < size) {
		ssize_t got = read(pipes[0], out + used, size - 1 - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	out[used] = 0;
	close(pipes[0]);
	if (pid < 0)
		return false;
	status = gp_spawn_wait(pid);
	return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void gp_slurm_comment_add(u32 job, const char *text)
{
	char number[16], which[32], set[2 * COMMENT_MAX + 32], before[COMMENT_MAX], ignored[512];
	const char *look[] = {"sacct", "-n", "-P", "-X", "-j", number, "-o", "AdminComment", NULL};
	const char *change[] = {"sacctmgr", "-i",  "-Q",  "modify", "job",
				"where",    which, "set", set,      NULL};

	snprintf(number, sizeof(number), "%u", job);
	snprintf(which, sizeof(which), "jobid=%u", job);
	for (int tries = 0; tries < TRIES; tries++) {
		if (!run(look, before, sizeof(before)))
			return;
		before[strcspn(before, "\n")] = 0;
		if (strstr(before, text))
			return;
		if (strlen(before) + strlen(text) + 3 >= COMMENT_MAX || strchr(before, '"'))
			return;
		snprintf(set, sizeof(set), "AdminComment=%s%s%s", before, *before ? "; " : "",
			 text);
		/* The database may hear of the job only now. */
		(void)run(change, ignored, sizeof(ignored));
		usleep((useconds_t)(getpid() % 100 + 100 * tries) * 1000);
	}
}
