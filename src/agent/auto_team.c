// SPDX-License-Identifier: MIT
/*
 * Front end and launching program in two processes: the file of the team (proto/ahead.h). The
 * launching program makes it in its own time. A front end opens it within a call of the program,
 * maybe in a signal handler, so that only system calls are made there.
 */
#include "agent/auto.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "proto/directory.h"

#define EVENTS  32          /* before a program may be a front end, and between its looks */
#define LOOK_NS GP_NS_PER_S /* between looks */
#define MOST    16          /* files that are mapped in all: they are never unmapped */
#define RESERVE 4096
#define YOUNG_S 10  /* a file that is younger may not be locked yet */
#define LEFT    256 /* files that are looked at */

static struct {
	char path[256]; /* "": no team */
	int fd;         /* the launching program's, locked; the front end's, to see whether it is */
	bool made;
	u32 events, busy, mapped;
	u64 looked;
	ino_t inode; /* of the file that a front end has mapped */
} team = {.fd = -1};

void gp_agent_team_init(void)
{
	const char *name = getenv("GPREEMPT_TEAM");
	char file[GP_AHEAD_TEAM + sizeof(GP_AHEAD_FILE)], directory[sizeof(team.path) / 2];

	if (!name || !*name || strlen(name) >= GP_AHEAD_TEAM ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(name))
		return;
	snprintf(file, sizeof(file), GP_AHEAD_FILE "%s", name);
	gp_proto_directory_name(directory, sizeof(directory), file);
	if (snprintf(team.path, sizeof(team.path), "%s/%s", directory, file) >=
	    (int)sizeof(team.path))
		team.path[0] = '\0';
}

/* ---- the program that launches ---- */

/* Under a name of its own until it is locked and has its size. */
static int make_file(void)
{
	char path[sizeof(team.path) + 32], checked[sizeof(team.path)];
	const char *name = strrchr(team.path, '/');
	int fd;

	if (!name || gp_proto_directory_path(checked, sizeof(checked), name + 1, 1) ||
	    strcmp(checked, team.path) != 0)
		return -1;
	snprintf(path, sizeof(path), "%s.%d", team.path, getpid());
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) || ftruncate(fd, RESERVE) || rename(path, team.path)) {
		unlink(path);
		close(fd);
		return -1;
	}
	return fd;
}

/* A file that no living program keeps, and not one that is being made. */
static bool is_left(const char *path, u64 now_s)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	bool left = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		    st.st_uid == geteuid() && (u64)st.st_mtime + YOUNG_S < now_s &&
		    flock(fd, LOCK_SH | LOCK_NB) == 0;

	if (fd >= 0)
		close(fd);
	return left;
}

/* Programs that were killed have left theirs, under names that nobody uses again. */
static void remove_left(void)
{
	const char *slash = strrchr(team.path, '/');
	char path[sizeof(team.path) + 256];
	struct dirent *entry;
	u32 most = LEFT;
	DIR *directory;

	if (!slash)
		return;
	snprintf(path, sizeof(path), "%.*s", (int)(slash - team.path), team.path);
	directory = opendir(path);
	while (directory && most && (entry = readdir(directory))) {
		if (strncmp(entry->d_name, GP_AHEAD_FILE, strlen(GP_AHEAD_FILE)) != 0)
			continue;
		most--;
		snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - team.path), team.path,
			 entry->d_name);
		if (is_left(path, (u64)time(NULL)))
			unlink(path);
	}
	if (directory)
		closedir(directory);
}

struct gp_proto_ahead *gp_agent_team_make(struct gp_agent *agent)
{
	if (team.path[0])
		remove_left();
	int fd = team.path[0] ? gp_agent_own(agent, make_file()) : -1;
	struct gp_proto_ahead *memory =
		mmap(NULL, RESERVE, PROT_READ | PROT_WRITE,
		     fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return NULL;
	team.fd = fd;
	team.made = fd >= 0;
	__atomic_store_n(&memory->magic, GP_AHEAD_MAGIC, __ATOMIC_RELEASE);
	return memory;
}

/* At exit. Another program of the team may have put its own there. */
void gp_agent_team_leave(void)
{
	struct stat ours, there;

	if (team.made && fstat(team.fd, &ours) == 0 && lstat(team.path, &there) == 0 &&
	    ours.st_ino == there.st_ino && ours.st_dev == there.st_dev)
		unlink(team.path);
	team.made = false;
}

void gp_agent_team_forked(void)
{
	team.fd = -1;
	team.made = false;
	team.busy = 0;
}

/* ---- the front end ---- */

static bool is_locked(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
		flock(fd, LOCK_UN);
		return false;
	}
	return errno == EWOULDBLOCK;
}

/* Its number, or 0: it is not to be trusted, or its owner does not live. */
static ino_t check_file(int fd)
{
	struct stat st;
	bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		    st.st_uid == geteuid() && !(st.st_mode & 077) && st.st_nlink == 1 &&
		    st.st_size >= RESERVE && is_locked(fd);

	return good ? st.st_ino : 0;
}

/* Out of the way of programs that count on the lowest numbers. */
static int open_file(void)
{
	int high, fd = open(team.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -1;
	high = fcntl(fd, F_DUPFD_CLOEXEC, GP_AGENT_FD_MIN);
	close(fd);
	return high;
}

static struct gp_proto_ahead *map_file(int fd)
{
	struct gp_proto_ahead *memory = MAP_FAILED;

	if (team.mapped < MOST)
		memory = mmap(NULL, RESERVE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return NULL;
	if (__atomic_load_n(&memory->magic, __ATOMIC_ACQUIRE) != GP_AHEAD_MAGIC) {
		munmap(memory, RESERVE);
		return NULL;
	}
	team.mapped++;
	return memory;
}

void gp_agent_team_look(struct gp_agent_learn *learn, u64 now)
{
	ino_t inode;
	int fd, cancel;

	if (!team.path[0] || __atomic_add_fetch(&team.events, 1, __ATOMIC_RELAXED) % EVENTS ||
	    now - team.looked < LOOK_NS || __atomic_exchange_n(&team.busy, 1, __ATOMIC_ACQUIRE))
		return;
	/* The program's call has its data already: the thread must not end in our open(). */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	team.looked = now;
	fd = open_file();
	inode = check_file(fd);
	if (inode != team.inode) {
		struct gp_proto_ahead *memory = inode ? map_file(fd) : NULL;

		team.inode = memory ? inode : 0;
		__atomic_store_n(&learn->team, memory, __ATOMIC_RELEASE);
	}
	if (fd >= 0)
		close(fd);
	__atomic_store_n(&team.busy, 0, __ATOMIC_RELEASE);
	pthread_setcancelstate(cancel, NULL);
}
