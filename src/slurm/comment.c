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

/* The rest of the first line that starts with `start`, up to its end. */
static bool read_line(int fd, const char *start, char *out, size_t size)
{
	FILE *lines = fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0, length = strlen(start);
	bool found = false;

	if (!lines) {
		close(fd);
		return false;
	}
	/* To its end: a program whose output is not read fails. */
	while (getline(&line, &room, lines) > 0) {
		if (found || strncmp(line, start, length) != 0)
			continue;
		line[strcspn(line, "\n")] = 0;
		found = (size_t)snprintf(out, size, "%s", line + length) < size;
	}
	free(line);
	fclose(lines);
	return found;
}

/* Runs a program of Slurm without a shell. Whether it printed a line that starts so; -1: it failed.
 */
static int run(const char *const *arguments, const char *start, char *out, size_t size)
{
	int pipes[2], status;
	bool found;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC))
		return -1;
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
	found = read_line(pipes[0], start, out, size);
	if (pid < 0)
		return -1;
	status = gp_spawn_wait(pid);
	return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? found : -1;
}

/*
 * The name of the job as sacctmgr takes it, and its comment. The number of one task of an array is
 * that of the array as well, and stands for all of its tasks: that task is "6_1". 0: the database
 * does not have it yet; -1: it cannot be changed.
 */
static int look(u32 job, char *name, size_t name_size, char *comment, size_t comment_size)
{
	const char *arguments[] = {"sacct", "-n", "-P", "-X",
				   "-j",    name, "-o", "JobIDRaw,JobID,AdminComment",
				   NULL};
	char start[16], line[COMMENT_MAX + 64];
	int found, length;

	snprintf(name, name_size, "%u", job);
	snprintf(start, sizeof(start), "%u|", job);
	found = run(arguments, start, line, sizeof(line));
	if (found <= 0)
		return found;
	length = (int)strcspn(line, "|");
	if (!line[length] || memchr(line, '[', (size_t)length)) /* tasks that have not started */
		return 0;
	if (memchr(line, '_', (size_t)length) &&
	    (size_t)snprintf(name, name_size, "%.*s", length, line) >= name_size)
		return -1;
	return (size_t)snprintf(comment, comment_size, "%s", line + length + 1) < comment_size ? 1
											       : -1;
}

void gp_slurm_comment_add(u32 job, const char *text)
{
	char name[32], which[48], set[2 * COMMENT_MAX + 32], before[COMMENT_MAX], ignored[512];
	const char *change[] = {"sacctmgr", "-i",  "-Q",  "modify", "job",
				"where",    which, "set", set,      NULL};

	for (int tries = 0; tries < TRIES; tries++) {
		int found = look(job, name, sizeof(name), before, sizeof(before));

		if (found < 0 || (found && strstr(before, text)))
			return;
		if (found &&
		    (strlen(before) + strlen(text) + 3 >= COMMENT_MAX || strchr(before, '"')))
			return;
		if (found) {
			snprintf(which, sizeof(which), "jobid=%s", name);
			snprintf(set, sizeof(set), "AdminComment=%s%s%s", before,
				 *before ? "; " : "", text);
			(void)run(change, "", ignored, sizeof(ignored));
		}
		usleep((useconds_t)(getpid() % 100 + 100 * tries) * 1000);
	}
}
