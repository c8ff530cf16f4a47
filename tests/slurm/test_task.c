// SPDX-License-Identifier: MIT
/* The task plugin as slurmd loads it, without a slurmd and without a gpreemptd. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "slurm/marks.h"
#include "testlib.h"

enum { ROUNDS = 40, STEP_US = 100, WAIT_S = 40, OLD_S = 1000 };

static char place[4096];

/* What the plugin writes to slurmd's log. */
void slurm_error(const char *format, ...);
void slurm_info(const char *format, ...);
void slurm_debug(const char *format, ...);

void slurm_error(const char *format, ...)
{
	(void)format;
}

void slurm_info(const char *format, ...)
{
	(void)format;
}

void slurm_debug(const char *format, ...)
{
	(void)format;
}

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

/* A job whose epilog did not run. */
static void mark_old(u32 job)
{
	struct timespec at[2] = {{.tv_sec = time(NULL) - OLD_S}, {.tv_sec = time(NULL) - OLD_S}};
	char path[sizeof(place) + 32];

	gp_slurm_mark(job, true);
	snprintf(path, sizeof(path), "%s/slurm/%u", place, job);
	assert_int_equal(utimensat(AT_FDCWD, path, at, 0), 0);
}

static void load_and_unload(u32 after_us)
{
	static char name[] = "slurmd";
	void *plugin = dlopen(GP_SLURM_TASK, RTLD_NOW | RTLD_LOCAL);
	int (*start)(void), (*end)(void);

	program_invocation_short_name = name;
	if (!plugin)
		_exit(2);
	*(void **)&start = dlsym(plugin, "init");
	*(void **)&end = dlsym(plugin, "fini");
	if (!start || !end || start())
		_exit(3);
	usleep(after_us);
	_exit(end() ? 4 : 0);
}

/* Its thread removes the marks of lost jobs, which takes a while, and then finds nothing to do. */
static void a_slurmd_that_ends_while_marks_are_removed_does_not_hang(void **state)
{
	int status;

	(void)state;
	for (u32 i = 0; i < ROUNDS; i++) {
		mark_old(4294967295u);
		pid_t pid = fork();

		if (pid == 0) {
			alarm(WAIT_S);
			load_and_unload(i * STEP_US);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slurmd_that_ends_while_marks_are_removed_does_not_hang),
	};

	return cmocka_run_group_tests(tests, begin, finish);
}
