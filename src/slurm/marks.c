// SPDX-License-Identifier: MIT
/* Marks of suspended jobs: see marks.h. */
#include "slurm/marks.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/core.h"
#include "base/host/process.h"
#include "base/parse.h"
#include "proto/directory.h"

#define CGROUP_LIMIT 65536u

/* The directory of the marks, open; -1: there is none. One that another user made, or can write to,
 * is not used: a mark holds the job of that number. */
static int marks_open(bool create)
{
	char path[PATH_MAX];
	struct stat status;
	int directory;

	if (gp_proto_directory_path(path, sizeof(path), "slurm", create))
		return -1;
	if (create)
		(void)!mkdir(path, 0700);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory >= 0 && (fstat(directory, &status) || status.st_uid != geteuid() ||
			       (status.st_mode & (S_IWGRP | S_IWOTH)))) {
		close(directory);
		return -1;
	}
	return directory;
}

void gp_slurm_mark(u32 job, bool on)
{
	int directory = marks_open(on), file;
	char name[16];

	if (directory < 0)
		return;
	snprintf(name, sizeof(name), "%u", job);
	if (on) {
		file = openat(directory, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (file >= 0) {
			/* Its age counts from the last suspension. */
			(void)!futimens(file, NULL);
			close(file);
		}
	} else {
		(void)!unlinkat(directory, name, 0);
	}
	close(directory);
}

static bool is_older(int directory, const char *name, time_t before)
{
	struct stat status;

	return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       status.st_mtime <= before;
}

/* Those that were made until `before`, as far as the file system knows; 0: all. */
static size_t marks_list(time_t before, u32 *jobs, size_t room)
{
	int directory = marks_open(false);
	DIR *list = directory >= 0 ? fdopendir(directory) : NULL;
	const struct dirent *entry;
	size_t count = 0;
	u64 job;

	if (!list && directory >= 0)
		close(directory);
	while (list && (entry = readdir(list))) {
		if (!gp_argument_u64(entry->d_name, &job) || job > UINT32_MAX)
			continue;
		if (before && !is_older(directory, entry->d_name, before))
			continue;
		if (count < room)
			jobs[count] = (u32)job;
		count++;
	}
	if (list)
		closedir(list);
	return count;
}

size_t gp_slurm_marks(u32 *jobs, size_t room)
{
	return marks_list(0, jobs, room);
}

/* Whether this text of /proc/PID/cgroup names the group that slurmd made for the job. */
static bool in_group(const struct gp_buf *text, u32 job)
{
	const char *at = gp_buf_str(text);
	char name[24];
	size_t len = (size_t)snprintf(name, sizeof(name), "/job_%u", job);

	while ((at = strstr(at, name))) {
		at += len;
		if (*at == '/' || *at == '\n' || !*at)
			return true;
	}
	return false;
}

/* Takes the job of a process out of the list. A program may have another environment than it was
 * started with; the group stays. */
static size_t leave_out(const struct gp_root *root, u32 pid, u32 *jobs, size_t count)
{
	struct gp_buf group = {0};
	char text[16];
	u64 job = 0;
	bool named = gp_process_environment(root, pid, "SLURM_JOB_ID", text, sizeof(text)) == 0 &&
		     gp_argument_u64(text, &job);

	(void)gp_root_read(root, CGROUP_LIMIT, &group, "/proc/%u/cgroup", pid);
	for (size_t k = 0; k < count;) {
		if ((named && jobs[k] == job) || in_group(&group, jobs[k]))
			jobs[k] = jobs[--count];
		else
			k++;
	}
	gp_buf_free(&group);
	return count;
}

size_t gp_slurm_marks_lost(const struct gp_root *root, u64 age_s, u32 *jobs, size_t room)
{
	size_t count = marks_list(time(NULL) - (time_t)age_s, jobs, room), processes = 0;
	u32 *pids = NULL;

	count = GP_MIN(count, room);
	/* Without the list of processes none is known to be lost. */
	if (!count || gp_process_list(root, &pids, &processes))
		return 0;
	for (size_t i = 0; i < processes && count; i++)
		count = leave_out(root, pids[i], jobs, count);
	free(pids);
	return count;
}
