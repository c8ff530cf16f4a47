// SPDX-License-Identifier: MIT
/* Starting a machine when the system refuses a lock or a pipe, or when its server ends: an error,
 * and nothing left behind. */
#include "testlib.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

/* The first that a server does is to read these: it can be killed there. */
static bool kill_server;

int __real_gp_gpufile_kernels_load(const char *path, struct gp_diag *diag,
				   struct gp_gpufile_kernel **kernels, size_t *count);
int __wrap_gp_gpufile_kernels_load(const char *path, struct gp_diag *diag,
				   struct gp_gpufile_kernel **kernels, size_t *count);
int __wrap_gp_gpufile_kernels_load(const char *path, struct gp_diag *diag,
				   struct gp_gpufile_kernel **kernels, size_t *count)
{
	if (kill_server)
		raise(SIGKILL);
	return __real_gp_gpufile_kernels_load(path, diag, kernels, count);
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

/* What we say: the server has another copy of the sink. */
static void start_says(bool private_machine, const char *expected)
{
	const struct gp_vgpu_options options = {.gpu = "mi308x",
						.name = "ended",
						.kernels = "/no/such.json"};
	struct gp_vgpu_machine machine = {0};
	struct test_diag sink = TEST_DIAG;

	fflush(NULL); /* the server's exit() would print it once more */
	assert_int_equal(private_machine ? gp_vgpu_start_private(&options, &sink.diag, &machine)
					 : gp_vgpu_start_kept(&options, &sink.diag, &machine),
			 -EIO);
	assert_non_null(strstr(gp_buf_str(&sink.text), expected));
	assert_int_equal(sink.errors, *expected ? 1 : 0);
	gp_buf_free(&sink.text);
	assert_int_not_equal(access(machine.directory, F_OK), 0);
}

static void a_server_that_is_killed_is_reported(void **state)
{
	(void)state;
	kill_server = true;
	start_says(true, "the virtual GPU did not start");
	start_says(false, "the virtual GPU did not start");
	kill_server = false;
}

static void a_server_that_said_why_is_not(void **state)
{
	(void)state;
	start_says(true, "");
	start_says(false, "");
}

static void write_header(const char *path, const char *words)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fprintf(file,
		"x cwsr_trap_aldebaran_hex[] = {\n%s\n};\nx cwsr_trap_gfx9_4_3_hex[] = {\n%s\n};\n",
		words, words);
	assert_int_equal(fclose(file), 0);
}

static void a_trap_handler_is_followed_by_zeros(void **state)
{
	char header[128], path[128];
	unsigned int words[3];
	FILE *file;

	(void)state;
	snprintf(header, sizeof(header), "%s/header", runtime);
	snprintf(path, sizeof(path), "%s/" GP_VGPU_HANDLER, runtime);
	write_header(header, "0xbf810000, 0x1, 0x2,");
	assert_int_equal(gp_vgpu_handler_write(header, runtime, NULL), 0);
	write_header(header, "0xbf810000,");
	assert_int_equal(gp_vgpu_handler_write(header, runtime, NULL), 0);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fread(words, sizeof(words), 1, file), 1);
	fclose(file);
	assert_int_equal(words[0], 0xbf810000);
	assert_int_equal(words[1] + words[2], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_lock_starts_no_machine),
		cmocka_unit_test(a_refused_pipe_leaves_no_directory),
		cmocka_unit_test(a_server_that_is_killed_is_reported),
		cmocka_unit_test(a_server_that_said_why_is_not),
		cmocka_unit_test(a_trap_handler_is_followed_by_zeros),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
