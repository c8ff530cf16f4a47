// SPDX-License-Identifier: MIT
/* The directory of gpreempt's sockets: see directory.h. */
#include "proto/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/proto.h"

#include "base/types.h"

#define CONNECT_SECONDS 5
#define SYSTEM          "/run/gpreempt"
#define AGENTS          "agents"
#define SUFFIX          ".sock"

struct place {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	bool shared; /* may be sticky and for everybody to write to, like /tmp */
};

static int check(const char *path, bool create, bool shared)
{
	struct stat st;

	/* Root's is for everybody to look for the daemon in. */
	if (create && mkdir(path, strcmp(path, SYSTEM) ? 0700 : 0755) < 0 && errno != EEXIST)
		return -errno;
	if (lstat(path, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return -EPERM;
	/* One that an administrator made for everybody is sticky, like /tmp. */
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) && !(shared && (st.st_mode & S_ISVTX)))
		return -EPERM;
	return 0;
}

/* What one user's programs leave for another's to find: the daemon's files and the agents'. */
static bool is_common(const char *name)
{
	size_t length = strlen(AGENTS);

	return strncmp(name, "gpreemptd.", 10) == 0 ||
	       (strncmp(name, AGENTS, length) == 0 && (!name[length] || name[length] == '/'));
}

static int own_place(struct place *out)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int length;

	out->shared = false;
	if (runtime && *runtime)
		length = snprintf(out->path, sizeof(out->path), "%s/gpreempt", runtime);
	else
		length = snprintf(out->path, sizeof(out->path), "/tmp/gpreempt-%u",
				  (unsigned)geteuid());
	return length < 0 || (size_t)length >= sizeof(out->path) ? -ENAMETOOLONG : 0;
}

static bool has_daemon(const char *place, uid_t owner)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/gpreemptd.sock", place);
	return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == owner;
}

/* There a daemon of root's serves all users: it has made agents/ for them. */
static bool is_for_everybody(const char *place)
{
	const mode_t open_to_all = S_ISVTX | S_IWOTH | S_IXOTH;
	char agents[PATH_MAX];
	struct stat st;

	snprintf(agents, sizeof(agents), "%s/" AGENTS, place);
	return lstat(agents, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == 0 &&
	       (st.st_mode & open_to_all) == open_to_all;
}

/* Root's daemon is at work, and this user has none of its own, which would come first. */
static bool is_served(void)
{
	struct place own;

	return has_daemon(SYSTEM, 0) && is_for_everybody(SYSTEM) &&
	       (own_place(&own) || !has_daemon(own.path, geteuid()));
}

static bool is_roots(const char *path)
{
	struct stat st;

	return geteuid() != 0 && lstat(path, &st) == 0 && st.st_uid == 0;
}

static int find_place(struct place *out, const char *name)
{
	const char *dir = getenv("GPREEMPT_DIR");
	const char *machine = getenv("GPREEMPT_VGPU");
	size_t size = sizeof(out->path);
	int length;

	out->shared = false;
	if (dir && *dir && (is_common(name) || !is_roots(dir))) {
		out->shared = true;
		length = snprintf(out->path, size, "%s", dir);
	} else if (machine && *machine) {
		length = snprintf(out->path, size, "%s/run", machine);
	} else if (geteuid() == 0 || (is_common(name) && is_served())) {
		length = snprintf(out->path, size, SYSTEM);
	} else {
		return own_place(out);
	}
	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

int gp_proto_directory_path(char *out, size_t size, const char *name, int create)
{
	struct place place;
	int error = find_place(&place, name);

	if (!error)
		error = check(place.path, create, place.shared);
	if (error)
		return error;
	int length = snprintf(out, size, "%s/%s", place.path, name);
	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

const char *gp_proto_directory_name(char *out, size_t size, const char *name)
{
	struct place place;

	find_place(&place, name); /* cut where it is too long */
	snprintf(out, size, "%s", place.path);
	return out;
}

int gp_proto_directory_agents(char *out, size_t size, bool serve)
{
	struct place place;
	struct stat parent, st;
	mode_t mode;
	int error = gp_proto_directory_path(out, size, AGENTS, 1);

	if (!error)
		error = find_place(&place, AGENTS);
	if (error)
		return error;
	if (mkdir(out, 0700) < 0 && errno != EEXIST)
		return -errno;
	if (lstat(place.path, &parent) < 0 || lstat(out, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	/* In a directory for everybody another may have made it, who could change what is in it. */
	if (serve && st.st_uid != geteuid())
		return -EPERM;
	mode = parent.st_mode & 01777;
	/* Its place is for everybody whatever the umask was, or who made it. */
	if (serve && geteuid() == 0 && strcmp(place.path, SYSTEM) == 0 && !(mode & S_IXOTH)) {
		if (chmod(place.path, 0755) < 0)
			return -errno;
		mode = 0755;
	}
	if (serve && geteuid() == 0 && (mode & S_IXOTH))
		mode = 01777;
	else if (is_for_everybody(place.path))
		return 0;
	if (st.st_uid == geteuid() && (st.st_mode & 07777) != mode && chmod(out, mode) < 0)
		return -errno;
	return 0;
}

int gp_proto_directory_other_agents(char *out, size_t size)
{
	const char *dir = getenv("GPREEMPT_DIR"), *machine = getenv("GPREEMPT_VGPU");
	struct place place, own;
	struct stat st;
	int length, error = find_place(&place, AGENTS);

	if (error || geteuid() == 0 || (dir && *dir) || (machine && *machine) || own_place(&own))
		return -ENOENT;
	if (strcmp(place.path, SYSTEM))
		snprintf(own.path, sizeof(own.path), SYSTEM);
	error = check(own.path, false, false);
	if (error)
		return error;
	length = snprintf(out, size, "%s/" AGENTS, own.path);
	if (length < 0 || (size_t)length >= size)
		return -ENAMETOOLONG;
	return lstat(out, &st) == 0 && S_ISDIR(st.st_mode) ? 0 : -ENOENT;
}

bool gp_proto_directory_misplaced(const char *socket)
{
	const char *slash = strrchr(socket, '/');
	char directory[PATH_MAX], agents[PATH_MAX];
	struct place place;
	struct stat st;

	if (!slash)
		return false;
	snprintf(directory, sizeof(directory), "%.*s", (int)(slash - socket), socket);
	/* A directory that was removed is not made again. */
	if (lstat(socket, &st) < 0)
		return errno == ENOENT && lstat(directory, &st) == 0;
	if (find_place(&place, AGENTS) ||
	    (!has_daemon(place.path, 0) && !has_daemon(place.path, geteuid())))
		return false;
	snprintf(agents, sizeof(agents), "%s/" AGENTS, place.path);
	return strcmp(agents, directory) != 0;
}

bool gp_proto_directory_is_agent(const char *name)
{
	size_t length = strlen(name), suffix = sizeof(SUFFIX) - 1;

	return *name != '.' && length > suffix && length < GP_PROTO_NAME &&
	       strcmp(name + length - suffix, SUFFIX) == 0;
}

int gp_proto_directory_each_agent(const char *agents,
				  void (*found)(void *data, const char *agents, const char *name),
				  void *data)
{
	DIR *directory = opendir(agents);
	struct dirent *entry;

	if (!directory)
		return -errno;
	while ((entry = readdir(directory)) != NULL)
		if (gp_proto_directory_is_agent(entry->d_name))
			found(data, agents, entry->d_name);
	closedir(directory);
	return 0;
}

/* The file itself, never what a link names: in a directory for all users anybody can make links.
 * Its descriptor (O_PATH), or -errno. */
static int open_file(const char *path, uid_t *owner)
{
	struct stat st;
	int error = 0, fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		error = -errno;
	else if (!S_ISSOCK(st.st_mode))
		error = S_ISLNK(st.st_mode) ? -ELOOP : -ENOTSOCK;
	if (error) {
		close(fd);
		return error;
	}
	*owner = st.st_uid;
	return fd;
}

static int connect_file(int file, const char *path, int seconds)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval most = {.tv_sec = seconds};
	int error, fd;

	/* By descriptor, so that it is the file that was looked at; where there is no /proc, by
	 * name. */
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", file);
	if (access(address.sun_path, F_OK) < 0 &&
	    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path) >=
		    (int)sizeof(address.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (seconds ? 0 : SOCK_NONBLOCK), 0);
	if (fd < 0)
		return -errno;
	/* It counts for connect(), too. */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static int connect_within(const char *name, int seconds)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	uid_t owner;
	int fd, file, error = gp_proto_directory_path(path, sizeof(path), name, 0);

	if (error)
		return error;
	file = open_file(path, &owner);
	if (file < 0)
		return file;
	fd = connect_file(file, path, seconds);
	close(file);
	return fd;
}

int gp_proto_directory_owner(const char *path, unsigned int *owner)
{
	uid_t uid;
	int file = open_file(path, &uid);

	if (file < 0)
		return file;
	close(file);
	*owner = uid;
	return 0;
}

int gp_proto_directory_connect_owned(const char *path)
{
	uid_t owner, me = geteuid();
	int fd, file = open_file(path, &owner);

	if (file < 0)
		return file;
	fd = me == 0 || owner == me || owner == 0 ? connect_file(file, path, 0) : -EPERM;
	close(file);
	return fd;
}

int gp_proto_directory_connect(const char *name)
{
	return connect_within(name, CONNECT_SECONDS);
}

int gp_proto_directory_try_connect(const char *name)
{
	return connect_within(name, 0);
}

int gp_proto_directory_watch(const char *lock)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int fd, error = gp_proto_directory_path(path, sizeof(path), lock, 0);

	if (error)
		return error;
	fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0)
		return -errno;
	/* IN_ATTRIB is its link count: an open file is deleted only when it is closed, and its
	 * directory after it. */
	if (inotify_add_watch(fd, path, IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF) < 0)
		error = -errno;
	*strrchr(path, '/') = '\0';
	if (!error && inotify_add_watch(fd, path, IN_MOVE_SELF | IN_ONLYDIR) < 0)
		error = -errno;
	if (error)
		close(fd);
	return error ? error : fd;
}

bool gp_proto_directory_lost(int watch, const char *lock, int lock_fd)
{
	_Alignas(struct inotify_event) char events[4096];
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct stat there, ours;

	while (read(watch, events, sizeof(events)) > 0)
		;
	if (gp_proto_directory_path(path, sizeof(path), lock, 0) || lstat(path, &there) < 0 ||
	    fstat(lock_fd, &ours) < 0)
		return true;
	return there.st_dev != ours.st_dev || there.st_ino != ours.st_ino;
}
