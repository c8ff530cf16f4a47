// SPDX-License-Identifier: MIT
/* Detached processes, guardians, and descriptors that travel over a socket. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fdpass.h"
#include "base/spawn.h"
#include "testlib.h"

struct report {
	int to;
};

static void tell_session(void *data)
{
	const struct report *report = data;
	pid_t me[3] = {getpid(), getsid(0), getppid()};

	(void)!write(report->to, me, sizeof(me));
}

static void detached_process_is_not_a_child(void **state)
{
	int pipes[2];
	pid_t told[3];

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(gp_spawn_detached(tell_session, &(struct report){pipes[1]}), 0);
	assert_int_equal(read(pipes[0], told, sizeof(told)), sizeof(told));
	assert_int_not_equal(told[1], getsid(0));
	assert_int_not_equal(told[2], getpid());
	assert_int_equal(waitpid(told[0], NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	close(pipes[0]);
	close(pipes[1]);
}

static void guardian_keeps_only_its_descriptors(void **state)
{
	int pipes[2], other = open("/dev/null", O_RDONLY);
	char seen[4] = "";
	pid_t child;

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		gp_spawn_guard("test-guard", &pipes[1], 1);
		raise(SIGTERM); /* blocked */
		seen[0] = fcntl(other, F_GETFD) < 0 ? 'c' : 'o';
		seen[1] = fcntl(pipes[0], F_GETFD) < 0 ? 'c' : 'o';
		seen[2] = fcntl(STDOUT_FILENO, F_GETFD) < 0 ? 'c' : 'o';
		(void)!write(pipes[1], seen, 3);
		_exit(7);
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], seen, 3), 3);
	assert_string_equal(seen, "cco");
	assert_int_equal(WEXITSTATUS(gp_spawn_wait(child)), 7);
	assert_int_equal(gp_spawn_wait(child), -ECHILD);
	close(pipes[0]);
	close(other);
}

static void close_from_keeps_what_is_named_in_any_order(void **state)
{
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		int high = fcntl(STDERR_FILENO, F_DUPFD, 40), low = dup2(high, 20);
		int between = dup2(high, 30), after = dup2(high, 50);

		gp_spawn_close_from(3, (const int[]){high, low}, 2);
		_exit(fcntl(high, F_GETFD) >= 0 && fcntl(low, F_GETFD) >= 0 &&
				      fcntl(between, F_GETFD) < 0 && fcntl(after, F_GETFD) < 0 &&
				      fcntl(STDERR_FILENO, F_GETFD) >= 0
			      ? 0
			      : 1);
	}
	assert_int_equal(gp_spawn_wait(child), 0);
}

static int closed;

static void count_closed(int fd)
{
	close(fd);
	closed++;
}

static void only_expected_descriptors_are_taken(void **state)
{
	int pair[2], sent[3] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}, got[2] = {-1, -1};
	char byte = 'x';
	struct iovec part = {&byte, 1};
	struct msghdr out = {.msg_iov = &part, .msg_iovlen = 1}, in = out, none = out;
	union gp_fdpass room;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	gp_fdpass_put(&out, &room, sent, 3);
	assert_int_equal(sendmsg(pair[0], &out, 0), 1);
	gp_fdpass_expect(&in, &room);
	assert_int_equal(recvmsg(pair[1], &in, MSG_CMSG_CLOEXEC), 1);
	assert_int_equal(gp_fdpass_take(&in, got, 2, count_closed), 3);
	assert_int_equal(closed, 1);
	assert_true(got[0] > 2 && got[1] > 2);
	close(got[0]);
	close(got[1]);
	gp_fdpass_put(&none, &room, sent, 0);
	assert_null(none.msg_control);
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(detached_process_is_not_a_child),
		cmocka_unit_test(guardian_keeps_only_its_descriptors),
		cmocka_unit_test(close_from_keeps_what_is_named_in_any_order),
		cmocka_unit_test(only_expected_descriptors_are_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
