// SPDX-License-Identifier: MIT
/*
 * Keeps agents/ free of what is not an agent's socket. In root's directory every user can make
 * files there, as in /tmp, and one that makes thousands leaves no inode for the sockets of the
 * others. So what is not a socket is removed, and of sockets each user has a share. A directory is
 * emptied into agents/ one level at a time, so that no depth of it matters.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/i18n.h"
#include "daemon/daemon.h"
#include "proto/directory.h"

#define SOON_NS     (100 * GP_NS_PER_MS)
#define NEXT_NS     GP_NS_PER_MS
#define QUIET_NS    (60 * GP_NS_PER_S) /* between two messages */
#define STEP        1024               /* files removed at once; then others have their turn */
#define USERS       64
#define FIRST_STEPS 4096

struct tidying {
	struct gp_daemon *daemon;
	int directory;
	u32 removed, moved;
	uid_t culprit; /* of the last one */
	struct {
		uid_t uid;
		u32 sockets;
	} user[USERS];
	u32 users;
};

static void count_removed(struct tidying *tidying, const struct stat *st)
{
	tidying->removed++;
	tidying->culprit = st->st_uid;
}

/* Directories in it come to agents/ itself, and are seen there the next time. */
static void empty_directory(struct tidying *tidying, const char *name, const struct stat *st)
{
	int fd = openat(tidying->directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (!list) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while (tidying->removed < STEP && (entry = readdir(list))) {
		char moved[64];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, entry->d_name, 0) < 0 && errno == EISDIR) {
			snprintf(moved, sizeof(moved), ".left-%d-%u", getpid(),
				 ++tidying->daemon->tidy_moved);
			if (renameat(fd, entry->d_name, tidying->directory, moved) == 0)
				tidying->moved++;
		}
		count_removed(tidying, st);
	}
	closedir(list);
}

static void remove_file(struct tidying *tidying, const char *name, const struct stat *st)
{
	bool directory = S_ISDIR(st->st_mode);

	if (directory && unlinkat(tidying->directory, name, AT_REMOVEDIR) < 0 && errno == ENOTEMPTY)
		empty_directory(tidying, name, st);
	if (unlinkat(tidying->directory, name, directory ? AT_REMOVEDIR : 0) == 0 ||
	    errno == ENOENT)
		count_removed(tidying, st);
}

/* Users beyond the table are not limited. */
static bool within_share(struct tidying *tidying, uid_t uid)
{
	u32 i = 0;

	while (i < tidying->users && tidying->user[i].uid != uid)
		i++;
	if (i == USERS)
		return true;
	if (i == tidying->users)
		tidying->user[tidying->users++].uid = uid;
	return ++tidying->user[i].sockets <= GP_DAEMON_FILES_USER;
}

static bool is_connected(const struct gp_daemon *daemon, const char *name)
{
	gp_list_each (const struct gp_daemon_client, client, link, &daemon->clients) {
		if (client->pidfd >= 0 && strcmp(client->socket, name) == 0)
			return true;
	}
	return false;
}

static void consider(struct tidying *tidying, const char *name)
{
	struct stat st;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    fstatat(tidying->directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    st.st_uid == geteuid())
		return;
	if (!S_ISSOCK(st.st_mode) ||
	    (!within_share(tidying, st.st_uid) && !is_connected(tidying->daemon, name)))
		remove_file(tidying, name, &st);
}

static void report(struct gp_daemon *daemon, const struct tidying *tidying)
{
	u64 now = gp_monotonic_ns();

	daemon->tidy_removed += tidying->removed;
	if (!tidying->removed || (daemon->tidy_said_ns && now - daemon->tidy_said_ns < QUIET_NS))
		return;
	gp_diag(daemon->diag, GP_WARNING,
		ngettext("removed %u file from %s, which is only for agent sockets, up to %d per "
			 "user; it belonged to user %u",
			 "removed %u files from %s, which is only for agent sockets, up to %d per "
			 "user; the last one belonged to user %u",
			 daemon->tidy_removed),
		daemon->tidy_removed, daemon->agents_path, GP_DAEMON_FILES_USER,
		(u32)tidying->culprit);
	daemon->tidy_said_ns = now;
	daemon->tidy_removed = 0;
}

/* Only where all users can make files, and only root can remove theirs. */
static bool is_shared(int directory)
{
	struct stat st;

	return geteuid() == 0 && fstat(directory, &st) == 0 && st.st_uid == 0 &&
	       (st.st_mode & S_IWOTH);
}

bool gp_daemon_tidy(struct gp_daemon *daemon)
{
	struct tidying tidying = {.daemon = daemon};
	struct dirent *entry;
	DIR *list;

	tidying.directory =
		open(daemon->agents_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	list = tidying.directory >= 0 && is_shared(tidying.directory) ? fdopendir(tidying.directory)
								      : NULL;
	if (!list) {
		if (tidying.directory >= 0)
			close(tidying.directory);
		return false;
	}
	while (tidying.removed < STEP && (entry = readdir(list)))
		consider(&tidying, entry->d_name);
	closedir(list);
	report(daemon, &tidying);
	return tidying.removed >= STEP || tidying.moved;
}

static void tidy_time(struct gp_timer *timer)
{
	struct gp_daemon *daemon = gp_container(timer, struct gp_daemon, tidy_timer);

	gp_timer_set(&daemon->loop, timer,
		     gp_daemon_tidy(daemon) ? gp_monotonic_ns() + NEXT_NS : UINT64_MAX);
}

void gp_daemon_tidy_soon(struct gp_daemon *daemon)
{
	if (!gp_timer_armed(&daemon->tidy_timer))
		gp_timer_set(&daemon->loop, &daemon->tidy_timer, gp_monotonic_ns() + SOON_NS);
}

/* From before the start: the daemon's own files need inodes, too. */
void gp_daemon_tidy_first(struct gp_daemon *daemon)
{
	if (gp_proto_directory_path(daemon->agents_path, sizeof(daemon->agents_path), "agents", 0))
		return;
	for (u32 i = 0; i < FIRST_STEPS && gp_daemon_tidy(daemon); i++)
		;
}

void gp_daemon_tidy_init(struct gp_daemon *daemon)
{
	gp_timer_init(&daemon->tidy_timer, tidy_time);
}
