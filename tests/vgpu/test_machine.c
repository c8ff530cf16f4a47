// SPDX-License-Identifier: MIT
/* Starting a machine when the system refuses a lock or a pipe: an error, and nothing left behind.
 */
#include "testlib.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "vgpu/program/program.h"

static int flock_error, pipe_error;

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
	errno = flock_error;
	return flock_error ? -1 : __real_flock(fd, operation);
}

int __real_pipe2(int fds[2], int flags);
int __wrap_pipe2(int fds[2], int flags);
int __wrap_pipe2(int fds[2], int flags)
{
	errno = pipe_error;
	return pipe_error ? -1 : __real_pipe2(fds, flags);
}

static char runtime[64];

static int set_up(void **state)
{
	(void)state;
	return place_make(runtime, sizeof(runtime)) && !setenv("XDG_RUNTIME_DIR", runtime, 1) ? 0
											      : -1;
}

static int tear_down(void **state)
{
	(void)state;
	flock_error = pipe_error = 0;
	return place_remove(runtime);
}

/* Starts a machine that cannot be started; its directory must not be there afterwards. */
static void start_fails(bool private_machine, int expected)
{
	const struct gp_vgpu_options options = {.gpu = "mi308x", .name = "refused"};
	struct gp_vgpu_machine machine = {0};

	assert_int_equal(private_machine ? gp_vgpu_start_private(&options, NULL, &machine)
					 : gp_vgpu_start_kept(&options, NULL, &machine),
			 expected);
	assert_int_equal(machine.server, -1);
	assert_int_not_equal(access(machine.directory, F_OK), 0);
}

static void a_refused_lock_starts_no_machine(void **state)
{
	int before = open("/dev/null", O_RDONLY), after;

	(void)state;
	flock_error = ENOLCK;
	start_fails(false, -ENOLCK);
	flock_error = 0;
	after = open("/dev/null", O_RDONLY);
	assert_int_equal(after, before + 1); /* no descriptor is left open */
	close(before);
	close(after);
}

static void a_refused_pipe_leaves_no_directory(void **state)
{
	(void)state;
	pipe_error = EMFILE;
	start_fails(false, -EMFILE);
	start_fails(true, -EMFILE);
	pipe_error = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_lock_starts_no_machine),
		cmocka_unit_test(a_refused_pipe_leaves_no_directory),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
