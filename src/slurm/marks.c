// SPDX-License-Identifier: MIT
/* Marks of suspended jobs: see marks.h. */
#include "slurm/marks.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "proto/directory.h"

/* The directory of the marks, open; -1: there is none. */
static int marks_open(bool create)
{
	char path[PATH_MAX];

	if (gp_proto_directory_path(path, sizeof(path), "slurm", create))
		return -1;
	if (create)
		(void)!mkdir(path, 0700);
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
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
		if (file >= 0)
			close(file);
	} else {
		(void)!unlinkat(directory, name, 0);
	}
	close(directory);
}

size_t gp_slurm_marks(u32 *jobs, size_t room)
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
		if (count < room)
			jobs[count] = (u32)job;
		count++;
	}
	if (list)
		closedir(list);
	return count;
}
