// SPDX-License-Identifier: MIT
/* A directory of gpreemptd that all users can write to: the plugins, which are root's, take nothing
 * in it from another user. Needs root, which can be both. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/daemon.h"
#include "slurm/connection.h"
#include "slurm/marks.h"
#include "testlib.h"

enum { OTHER_USER = 65534, WAIT_MS = 100 };

static char place[4096];

static int begin(void **state)
{
	(void)state;
	if (!place_make(place, sizeof(place)))
		return -1;
	return setenv("GPREEMPT_DIR", place, 1);
}

static int finish(void **state)
{
	(void)state;
	return place_remove(place);
}

/* Calls `what` in a process of the user. */
static void as_user(uid_t user, void (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (setresuid(user, user, user) == 0)
			what();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* It stays there, and who connects gets no answer. */
static int listener = -1;

static void listen_here(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/%s", place, GP_DAEMON_SOCKET);
	unlink(address.sun_path);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0)
		listen(listener, 4);
}

static int status_with_listener_of(uid_t user)
{
	struct gp_slurm_connection connection = {.fd = -1};
	char path[sizeof(place) + 32];
	int status;

	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	as_user(user, listen_here);
	status = gp_slurm_open(&connection, WAIT_MS);
	assert_int_equal(connection.fd, -1);
	close(listener);
	snprintf(path, sizeof(path), "%s/%s", place, GP_DAEMON_SOCKET);
	unlink(path);
	return status;
}

static void the_socket_of_another_user_is_not_asked(void **state)
{
	(void)state;
	assert_int_equal(chmod(place, 01777), 0);
	assert_int_equal(status_with_listener_of(0), -ETIME);
	assert_int_equal(status_with_listener_of(OTHER_USER), -EPERM);
}

static void mark_17(void)
{
	char path[sizeof(place) + 32];

	snprintf(path, sizeof(path), "%s/slurm", place);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/slurm/17", place);
	close(open(path, O_CREAT | O_WRONLY, 0600));
}

static void marks_in_the_directory_of_another_user_do_not_count(void **state)
{
	char path[sizeof(place) + 32];

	(void)state;
	snprintf(path, sizeof(path), "%s/slurm", place);
	assert_int_equal(chmod(place, 01777), 0);
	as_user(OTHER_USER, mark_17);
	assert_int_equal(gp_slurm_marks(NULL, 0), -EPERM);
	/* Root's, but open to all. */
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(gp_slurm_marks(NULL, 0), -EPERM);
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(gp_slurm_marks(NULL, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_socket_of_another_user_is_not_asked),
		cmocka_unit_test(marks_in_the_directory_of_another_user_do_not_count),
	};

	if (geteuid() != 0) {
		printf("1..0 # SKIP root is needed to be two users\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, begin, finish);
}
