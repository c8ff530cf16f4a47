// SPDX-License-Identifier: MIT
/* The process that ends a holder which hangs: what it has of the holder, and until when. */
#include "testlib.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/spawn.h"
#include "holder/guardian.h"

void __real_gp_spawn_guard(const char *name, const int *keep, size_t count);
void __wrap_gp_spawn_guard(const char *name, const int *keep, size_t count);

/* As on a busy machine: it runs late. */
void __wrap_gp_spawn_guard(const char *name, const int *keep, size_t count)
{
	nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
	__real_gp_spawn_guard(name, keep, count);
}

/* Otherwise the next holder would find the lock of one that was killed at once taken. */
static void nothing_is_left_with_it_when_the_holder_serves(void **state)
{
	u64 *clock = gp_holder_guardian_clock();
	int lock[2];
	pid_t pid;
	char byte;

	(void)state;
	assert_non_null(clock);
	assert_int_equal(pipe2(lock, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(gp_holder_guardian_start(clock, &pid, true), 0);
	close(lock[1]);
	assert_int_equal(read(lock[0], &byte, 1), 0); /* no other process has it */
	close(lock[0]);
	/* It is there. */
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_left_with_it_when_the_holder_serves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
