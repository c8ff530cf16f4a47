// SPDX-License-Identifier: MIT
/* Where the sockets are, and which directories are not trusted. */
#include "testlib.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/directory.h"

static char place[64], dir[128], path[256];

static int fresh(void **state)
{
	(void)state;
	if (!place_make(place, sizeof(place)))
		return -1;
	snprintf(dir, sizeof(dir), "%s/d", place);
	return setenv("GPREEMPT_DIR", dir, 1);
}

static int done(void **state)
{
	(void)state;
	return place_remove(place);
}

static void it_is_made_when_asked_for_and_private(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(gp_proto_directory_path(path, sizeof(path), "x.sock", 0), -ENOENT);
	assert_int_equal(gp_proto_directory_path(path, sizeof(path), "x.sock", 1), 0);
	assert_int_equal(strncmp(path, dir, strlen(dir)), 0);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(gp_proto_directory_connect("x.sock"), -ENOENT);
}

static void one_that_others_may_write_to_is_refused(void **state)
{
	(void)state;
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(chmod(dir, 0770), 0);
	assert_int_equal(gp_proto_directory_path(path, sizeof(path), "x", 1), -EPERM);
	assert_int_equal(gp_proto_directory_connect("x"), -EPERM);
	assert_string_equal(gp_proto_directory_name(path, sizeof(path), "x"), dir);
	/* Made for everybody by an administrator: sticky, as /tmp is. */
	assert_int_equal(chmod(dir, 01777), 0);
	assert_int_equal(gp_proto_directory_path(path, sizeof(path), "x", 1), 0);
}

static bool told(int watch)
{
	struct pollfd fds = {.fd = watch, .events = POLLIN};

	return poll(&fds, 1, 0) == 1;
}

static void one_that_is_removed_or_moved_is_noticed(void **state)
{
	char moved[256], lock[256];
	int fd, watch;

	(void)state;
	assert_int_equal(gp_proto_directory_watch("lock"), -ENOENT);
	assert_int_equal(gp_proto_directory_path(lock, sizeof(lock), "lock", 1), 0);
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	watch = gp_proto_directory_watch("lock");
	assert_true(fd >= 0 && watch >= 0);
	assert_false(told(watch));
	/* What is no more than a change is none. */
	assert_int_equal(chmod(lock, 0640), 0);
	assert_true(told(watch));
	assert_false(gp_proto_directory_lost(watch, "lock", fd));
	assert_false(told(watch));
	snprintf(moved, sizeof(moved), "%s/moved", place);
	assert_int_equal(rename(dir, moved), 0);
	assert_true(told(watch));
	assert_true(gp_proto_directory_lost(watch, "lock", fd));
	assert_int_equal(rename(moved, dir), 0);
	assert_false(gp_proto_directory_lost(watch, "lock", fd));
	/* Still open, as the lock of whoever serves it is. */
	assert_int_equal(unlink(lock), 0);
	assert_true(told(watch));
	assert_int_equal(close(open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600)), 0);
	assert_true(gp_proto_directory_lost(watch, "lock", fd));
	unlink(lock);
	close(fd);
	close(watch);
}

static void links_and_files_are_refused(void **state)
{
	(void)state;
	assert_int_equal(symlink("/tmp", dir), 0);
	assert_int_equal(gp_proto_directory_path(path, sizeof(path), "x", 1), -ENOTDIR);
}

static void somebody_elses_is_refused(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(chown(dir, 65534, 65534), 0);
	assert_int_equal(gp_proto_directory_path(path, sizeof(path), "x", 1), -EPERM);
}

/* Whoever listens and takes no connection must not hold us up. */
static void a_full_queue_is_not_waited_for(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fds[8], count = 0, listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), fd;

	(void)state;
	assert_int_equal(gp_proto_directory_path(path, sizeof(path), "s", 1), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", path);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 1), 0);
	while ((fd = gp_proto_directory_try_connect("s")) >= 0 && count < 8)
		fds[count++] = fd;
	assert_int_equal(fd, -EAGAIN);
	assert_true(count > 0);
	while (count)
		close(fds[--count]);
	close(listener);
	unlink(address.sun_path);
}

static int listen_at(const char *name, struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_int_equal(gp_proto_directory_path(path, sizeof(path), name, 1), 0);
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address->sun_path, sizeof(address->sun_path), "%.100s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)address, sizeof(*address)), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

/* In a directory for all users anybody can make links, to sockets that are not for us. */
static void a_link_to_a_socket_is_not_followed(void **state)
{
	struct sockaddr_un address;
	char link[300], file[300];
	unsigned int owner;
	int listener = listen_at("s", &address), fd;

	(void)state;
	snprintf(link, sizeof(link), "%s/l", dir);
	snprintf(file, sizeof(file), "%s/f", dir);
	assert_int_equal(symlink(address.sun_path, link), 0);
	assert_int_equal(close(open(file, O_CREAT | O_RDWR | O_CLOEXEC, 0600)), 0);
	assert_int_equal(gp_proto_directory_connect("l"), -ELOOP);
	assert_int_equal(gp_proto_directory_try_connect("l"), -ELOOP);
	assert_int_equal(gp_proto_directory_connect_owned(link), -ELOOP);
	assert_int_equal(gp_proto_directory_connect_owned(file), -ENOTSOCK);
	assert_int_equal(gp_proto_directory_owner(link, &owner), -ELOOP);
	assert_int_equal(gp_proto_directory_owner(address.sun_path, &owner), 0);
	assert_int_equal(owner, geteuid());
	fd = gp_proto_directory_connect_owned(address.sun_path);
	assert_true(fd >= 0);
	close(fd);
	fd = gp_proto_directory_connect("s");
	assert_true(fd >= 0);
	close(fd);
	close(listener);
	assert_int_equal(gp_proto_directory_connect_owned(address.sun_path), -ECONNREFUSED);
	unlink(link);
	unlink(file);
	unlink(address.sun_path);
}

static void somebody_elses_socket_is_left_alone(void **state)
{
	struct sockaddr_un address;
	int listener, fd;

	(void)state;
	if (geteuid() != 0)
		skip();
	listener = listen_at("s", &address);
	assert_int_equal(chmod(place, 0755), 0);
	assert_int_equal(chmod(dir, 01777), 0);
	assert_int_equal(chmod(address.sun_path, 0666), 0);
	assert_int_equal(chown(address.sun_path, 65533, 65533), 0);
	assert_int_equal(seteuid(65534), 0);
	fd = gp_proto_directory_connect_owned(address.sun_path);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(fd, -EPERM);
	/* Root's is everybody's, and root may talk to all. */
	fd = gp_proto_directory_connect_owned(address.sun_path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(chown(address.sun_path, 0, 0), 0);
	assert_int_equal(seteuid(65534), 0);
	fd = gp_proto_directory_connect_owned(address.sun_path);
	assert_int_equal(seteuid(0), 0);
	assert_true(fd >= 0);
	close(fd);
	close(listener);
	unlink(address.sun_path);
}

static void one_of_roots_serves_everybody_when_its_daemon_says_so(void **state)
{
	char agents[200], own[200];
	struct stat st;

	(void)state;
	if (geteuid() != 0)
		skip();
	snprintf(own, sizeof(own), "%s/own", place);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(mkdir(own, 0700), 0);
	assert_int_equal(chown(own, 65534, 65534), 0);
	assert_int_equal(chmod(place, 0755), 0);
	setenv("XDG_RUNTIME_DIR", own, 1);
	/* A directory that is closed stays so, and one program alone opens none. */
	assert_int_equal(gp_proto_directory_agents(agents, sizeof(agents), true), 0);
	assert_int_equal(stat(agents, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(gp_proto_directory_agents(agents, sizeof(agents), false), 0);
	assert_int_equal(stat(agents, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(gp_proto_directory_agents(agents, sizeof(agents), true), 0);
	assert_int_equal(gp_proto_directory_agents(agents, sizeof(agents), false), 0);
	assert_int_equal(stat(agents, &st), 0);
	assert_int_equal(st.st_mode & 07777, 01777);
	/* The daemon's and the agents' files are there for another user, the holder's are its own.
	 */
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(gp_proto_directory_path(path, sizeof(path), "gpreemptd.sock", 0), 0);
	assert_int_equal(strncmp(path, dir, strlen(dir)), 0);
	assert_int_equal(gp_proto_directory_path(path, sizeof(path), "agents/1.sock", 1), 0);
	assert_int_equal(strncmp(path, dir, strlen(dir)), 0);
	assert_int_equal(gp_proto_directory_agents(path, sizeof(path), false), 0);
	assert_string_equal(path, agents);
	assert_int_equal(gp_proto_directory_agents(path, sizeof(path), true), -EPERM);
	assert_int_equal(gp_proto_directory_path(path, sizeof(path), "holder.sock", 1), 0);
	assert_int_equal(seteuid(0), 0);
	unsetenv("XDG_RUNTIME_DIR");
	assert_int_equal(strncmp(path, own, strlen(own)), 0);
	assert_int_equal(gp_proto_directory_path(path, sizeof(path), "holder.sock", 0), 0);
	assert_int_equal(strncmp(path, dir, strlen(dir)), 0);
	rmdir(agents);
	strcat(own, "/gpreempt");
	rmdir(own);
	*strrchr(own, '/') = '\0';
	rmdir(own);
}

/* A /run of this process's own, so that /run/gpreempt is not the machine's. */
static bool own_run(void)
{
	return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("gpreempt", "/run", "tmpfs", 0, "mode=755") == 0;
}

static bool is_in(const char *name, const char *where)
{
	assert_int_equal(gp_proto_directory_path(path, sizeof(path), name, 1), 0);
	return strncmp(path, where, strlen(where)) == 0 && path[strlen(where)] == '/';
}

static void a_user_has_roots_daemon_while_it_runs_and_none_of_its_own(void **state)
{
	static const char system[] = "/run/gpreempt";
	struct sockaddr_un address;
	char own[200], agents[200];
	int daemon, mine;

	(void)state;
	unsetenv("GPREEMPT_DIR");
	unsetenv("GPREEMPT_VGPU");
	if (!own_run())
		skip();
	assert_int_equal(mkdir("/run/user", 0777), 0);
	assert_int_equal(chmod("/run/user", 0777), 0);
	setenv("XDG_RUNTIME_DIR", "/run/user", 1);
	snprintf(own, sizeof(own), "/run/user/gpreempt");
	/* Closed, as an earlier root program may have left it: its daemon opens it. */
	assert_int_equal(mkdir(system, 0700), 0);
	assert_int_equal(gp_proto_directory_agents(agents, sizeof(agents), true), 0);
	assert_int_equal(seteuid(65534), 0);
	assert_true(is_in("agents/x", own));
	assert_int_equal(gp_proto_directory_agents(path, sizeof(path), false), 0);
	assert_int_equal(seteuid(0), 0);
	daemon = listen_at("gpreemptd.sock", &address);
	assert_int_equal(seteuid(65534), 0);
	assert_true(is_in("gpreemptd.sock", system));
	assert_true(is_in("agents/x", system));
	assert_true(is_in("holder.sock", own));
	/* What it started before is still found. */
	assert_int_equal(gp_proto_directory_other_agents(path, sizeof(path)), 0);
	assert_string_equal(path, "/run/user/gpreempt/agents");
	/* Its own daemon comes first. */
	setenv("GPREEMPT_DIR", own, 1);
	mine = listen_at("gpreemptd.sock", &address);
	unsetenv("GPREEMPT_DIR");
	assert_true(is_in("gpreemptd.sock", own));
	assert_true(is_in("agents/x", own));
	assert_int_equal(gp_proto_directory_other_agents(path, sizeof(path)), 0);
	assert_string_equal(path, "/run/gpreempt/agents");
	unlink(address.sun_path);
	/* Nobody's: what anybody could put there does not count. */
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(chown("/run/gpreempt/gpreemptd.sock", 65533, 65533), 0);
	assert_int_equal(seteuid(65534), 0);
	assert_true(is_in("agents/x", own));
	assert_int_equal(seteuid(0), 0);
	unsetenv("XDG_RUNTIME_DIR");
	close(daemon);
	close(mine);
	umount2("/run", MNT_DETACH);
}

static void names_that_do_not_fit_are_refused(void **state)
{
	char small[20];

	(void)state;
	assert_int_equal(gp_proto_directory_path(small, sizeof(small), "holder.sock", 1),
			 -ENAMETOOLONG);
}

static void count_agent(void *data, const char *agents, const char *name)
{
	(void)agents;
	*(int *)data += strcmp(name, "12-abc.sock") == 0 ? 1 : 100;
}

static void only_files_named_as_sockets_are_agents(void **state)
{
	static const char *const names[] = {"12-abc.sock", ".12-abc.sock", ".sock", "12-abc.socket",
					    "lock"};
	char directory[64];
	int found = 0;

	(void)state;
	assert_non_null(place_make(directory, sizeof(directory)));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
	}
	assert_int_equal(gp_proto_directory_each_agent(directory, count_agent, &found), 0);
	assert_int_equal(found, 1);
	place_remove(directory);
	assert_int_equal(gp_proto_directory_each_agent(directory, count_agent, &found), -ENOENT);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fresh, done)
	const struct CMUnitTest tests[] = {
		T(it_is_made_when_asked_for_and_private),
		T(one_that_others_may_write_to_is_refused),
		T(one_that_is_removed_or_moved_is_noticed),
		T(links_and_files_are_refused),
		T(somebody_elses_is_refused),
		T(a_full_queue_is_not_waited_for),
		T(a_link_to_a_socket_is_not_followed),
		T(somebody_elses_socket_is_left_alone),
		T(one_of_roots_serves_everybody_when_its_daemon_says_so),
		T(a_user_has_roots_daemon_while_it_runs_and_none_of_its_own),
		T(names_that_do_not_fit_are_refused),
		cmocka_unit_test(only_files_named_as_sockets_are_agents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
