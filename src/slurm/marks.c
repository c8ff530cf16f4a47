// SPDX-License-Identifier: MIT
/* Marks of suspended jobs: see marks.h. */
#include "slurm/marks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/core.h"
#include "base/file.h"
#include "base/parse.h"
#include "proto/directory.h"

#define OVER          ".over"
#define BEGUN         ".begun"
#define OVER_S        60 /* a suspension does not come later than this after the epilog */
#define BEGUN_S       (7 * 24 * 3600)
#define BEGUN_JOBS    64 /* at a time */
#define SOCKETS_LIMIT (64u << 20)

/* The directory of the marks, open, or -errno; -ENOENT: there is none. One that another user made,
 * or can write to, is not used (-EPERM): a mark holds the job of that number. */
static int marks_open(bool create)
{
	char path[PATH_MAX];
	struct stat status;
	int directory, error = gp_proto_directory_path(path, sizeof(path), "slurm", create);

	if (error)
		return error;
	if (create)
		(void)!mkdir(path, 0700);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory < 0)
		return -errno;
	if (fstat(directory, &status) || status.st_uid != geteuid() ||
	    (status.st_mode & (S_IWGRP | S_IWOTH))) {
		close(directory);
		return -EPERM;
	}
	return directory;
}

static void name_of(u32 job, const char *end, char *out, size_t size)
{
	snprintf(out, size, "%u%s", job, end);
}

static bool make(int directory, const char *name)
{
	int file = openat(directory, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (file < 0)
		return false;
	/* Its age counts from the last suspension. */
	(void)!futimens(file, NULL);
	close(file);
	return true;
}

bool gp_slurm_mark(u32 job, bool *marked)
{
	char name[24], over[24];
	int directory = marks_open(true);
	bool made, ended = false;

	name_of(job, "", name, sizeof(name));
	name_of(job, OVER, over, sizeof(over));
	made = directory >= 0 && make(directory, name);
	/* In this order, and the epilog in the other one: the mark does not stay. */
	if (directory >= 0) {
		ended = faccessat(directory, over, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
		if (ended)
			(void)!unlinkat(directory, name, 0);
		close(directory);
	}
	if (marked)
		*marked = made && !ended;
	return !ended;
}

static void remove_file(u32 job, const char *end)
{
	int directory = marks_open(false);
	char name[24];

	if (directory < 0)
		return;
	name_of(job, end, name, sizeof(name));
	(void)!unlinkat(directory, name, 0);
	close(directory);
}

void gp_slurm_unmark(u32 job)
{
	remove_file(job, "");
}

bool gp_slurm_is_marked(u32 job)
{
	int directory = marks_open(false);
	char name[24];
	bool is;

	/* What cannot be looked at may be there: a hold does not end for lack of descriptors. */
	if (directory < 0)
		return directory != -ENOENT;
	name_of(job, "", name, sizeof(name));
	is = faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
	close(directory);
	return is;
}

static bool is_older(int directory, const char *name, time_t before)
{
	struct stat status;

	return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       status.st_mtime <= before;
}

/* The job of the socket of a slurmstepd, ".../NODE_17.4294967291": its path ends there. */
static bool step_of(const char *path, const char *end, u32 *job)
{
	const char *at = memrchr(path, '_', (size_t)(end - path));

	if (!at)
		return false;
	at++;
	return gp_parse_u32(&at, end, job) && at < end && *at == '.';
}

/* Takes the jobs out of the list that have a step on this node, by the socket that each slurmstepd
 * listens on. Not by the processes of a job: what the kernel shows of a process can make a reader
 * wait for that process, and this is a thread of slurmd. */
static size_t leave_out(const struct gp_buf *sockets, u32 *jobs, size_t count)
{
	const char *line = gp_buf_str(sockets);

	while (*line) {
		const char *end = line + strcspn(line, "\n");
		const char *path = memchr(line, '/', (size_t)(end - line));
		u32 job;

		/* A path that is too long is only its last part. */
		if (!path)
			path = memrchr(line, ' ', (size_t)(end - line));
		if (path && step_of(path, end, &job)) {
			for (size_t k = 0; k < count;) {
				if (jobs[k] == job)
					jobs[k] = jobs[--count];
				else
					k++;
			}
		}
		line = *end ? end + 1 : end;
	}
	return count;
}

/* Those whose job has no step on this node. */
static size_t without_steps(const struct gp_root *root, u32 *jobs, size_t count)
{
	struct gp_buf sockets = {0};

	/* Without the list of sockets none is known to have none. */
	if (!count || gp_root_read(root, SOCKETS_LIMIT, &sockets, "/proc/net/unix"))
		count = 0;
	else
		count = leave_out(&sockets, jobs, count);
	gp_buf_free(&sockets);
	return count;
}

/* What earlier jobs left; closes the directory. Also when they began, if their epilog did not run:
 * after a week, since an allocation may be without a step for long. */
static void remove_old(int directory)
{
	const struct gp_root live = {.dir = ""};
	DIR *list = fdopendir(directory);
	time_t now = time(NULL);
	const struct dirent *entry;
	u32 begun[BEGUN_JOBS];
	size_t count = 0;
	char name[24];

	if (!list) {
		close(directory);
		return;
	}
	while ((entry = readdir(list))) {
		const char *at = entry->d_name, *end = strchr(at, '.');

		if (end && strcmp(end, OVER) == 0 && is_older(directory, at, now - OVER_S))
			(void)!unlinkat(directory, at, 0);
		else if (end && strcmp(end, BEGUN) == 0 && count < BEGUN_JOBS &&
			 is_older(directory, at, now - BEGUN_S))
			count += gp_parse_u32(&at, end, &begun[count]) && at == end;
	}
	count = without_steps(&live, begun, count);
	for (size_t i = 0; i < count; i++) {
		name_of(begun[i], BEGUN, name, sizeof(name));
		(void)!unlinkat(directory, name, 0);
	}
	closedir(list);
}

static u64 take_begun(int directory, u32 job)
{
	char name[24], text[24] = "";
	u64 begun = 0;
	int file;

	name_of(job, BEGUN, name, sizeof(name));
	file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0)
		return 0;
	if (read(file, text, sizeof(text) - 1) < 0 || !gp_argument_u64(text, &begun) ||
	    begun > gp_monotonic_ns()) /* before the last boot */
		begun = 0;
	close(file);
	(void)!unlinkat(directory, name, 0);
	return begun;
}

u64 gp_slurm_mark_over(u32 job)
{
	int directory = marks_open(true);
	char name[24];
	u64 begun;

	if (directory < 0)
		return 0;
	name_of(job, OVER, name, sizeof(name));
	(void)make(directory, name);
	name_of(job, "", name, sizeof(name));
	(void)!unlinkat(directory, name, 0);
	begun = take_begun(directory, job);
	remove_old(directory);
	return begun;
}

void gp_slurm_mark_begin(u32 job)
{
	int directory = marks_open(true), file;
	char name[24];

	if (directory < 0)
		return;
	name_of(job, OVER, name, sizeof(name));
	(void)!unlinkat(directory, name, 0);
	name_of(job, BEGUN, name, sizeof(name));
	file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file >= 0) { /* otherwise an earlier step made it */
		dprintf(file, "%llu", (unsigned long long)gp_monotonic_ns());
		close(file);
	}
	close(directory);
}

/* Those that were made until `before`, as far as the file system knows; 0: all. -errno. */
static int marks_list(time_t before, u32 *jobs, size_t room)
{
	int directory = marks_open(false), error;
	DIR *list = directory >= 0 ? fdopendir(directory) : NULL;
	const struct dirent *entry;
	size_t count = 0;
	u64 job;

	if (directory < 0)
		return directory == -ENOENT ? 0 : directory;
	if (!list) {
		error = -errno;
		close(directory);
		return error;
	}
	for (errno = 0; (entry = readdir(list)); errno = 0) {
		if (!gp_argument_u64(entry->d_name, &job) || job > UINT32_MAX ||
		    (before && !is_older(directory, entry->d_name, before)))
			continue;
		if (count < room)
			jobs[count] = (u32)job;
		count++;
	}
	error = -errno;
	closedir(list);
	return error ? error : (int)count;
}

int gp_slurm_marks(u32 *jobs, size_t room)
{
	return marks_list(0, jobs, room);
}

size_t gp_slurm_marks_old(u64 age_s, u32 *jobs, size_t room)
{
	int found = marks_list(time(NULL) - (time_t)age_s, jobs, room);

	return GP_MIN((size_t)GP_MAX(found, 0), room);
}

size_t gp_slurm_marks_lost(const struct gp_root *root, u64 age_s, u32 *jobs, size_t room)
{
	return without_steps(root, jobs, gp_slurm_marks_old(age_s, jobs, room));
}
