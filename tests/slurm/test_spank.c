// SPDX-License-Identifier: MIT
/* The SPANK plugin as slurmstepd loads it, without Slurm: a job gets exactly the environment that
 * `gpreempt run` gives a program for the same class, weight and group. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testlib.h"

enum { JOB = 17, VARIABLES = 64, ROOM = 65536 };

static char place[4096];

/* ---- Slurm ---- */

static char *variables[VARIABLES + 1]; /* of the job */
static char *partition;

void slurm_error(const char *format, ...)
{
	fprintf(stderr, "# %s\n", format);
}

void slurm_debug(const char *format, ...)
{
	(void)format;
}

void slurm_info(const char *format, ...)
{
	(void)format;
}

static char **place_of(const char *name)
{
	size_t length = strlen(name), i = 0;

	while (variables[i] &&
	       (strncmp(variables[i], name, length) != 0 || variables[i][length] != '='))
		i++;
	return &variables[i];
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *out, int size)
{
	char **at = place_of(name);

	(void)spank;
	if (strcmp(name, "SLURM_JOB_PARTITION") == 0)
		return snprintf(out, (size_t)size, "%s", partition) < size ? ESPANK_SUCCESS
									   : ESPANK_NOSPACE;
	if (!*at)
		return ESPANK_ENV_NOEXIST;
	return snprintf(out, (size_t)size, "%s", strchr(*at, '=') + 1) < size ? ESPANK_SUCCESS
									      : ESPANK_NOSPACE;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
	char **at = place_of(name);

	(void)spank;
	if (*at && !overwrite)
		return ESPANK_ENV_EXISTS;
	free(*at);
	assert_true(at < variables + VARIABLES && asprintf(at, "%s=%s", name, value) > 0);
	return ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t spank, const char *name)
{
	char **at = place_of(name);

	(void)spank;
	if (!*at)
		return ESPANK_ENV_NOEXIST;
	free(*at);
	do
		at[0] = at[1];
	while (*at++);
	return ESPANK_SUCCESS;
}

int spank_remote(spank_t spank)
{
	(void)spank;
	return 1;
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *option)
{
	(void)spank, (void)option;
	return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
	va_list list;

	(void)spank;
	assert_true(item == S_JOB_ID || item == S_JOB_UID);
	va_start(list, item);
	*va_arg(list, uint32_t *) = item == S_JOB_ID ? JOB : 1000; /* both have this size */
	va_end(list);
	return ESPANK_SUCCESS;
}

/* No process can be made. */
static bool no_fork;

pid_t fork(void)
{
	if (!no_fork)
		return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
	errno = EAGAIN;
	return -1;
}

/* ---- both environments ---- */

static void clear(void)
{
	for (size_t i = 0; variables[i]; i++) {
		free(variables[i]);
		variables[i] = NULL;
	}
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
	clear();
	return place_remove(place);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What the plugin sets for a job that has these variables, one per line. */
static void by_slurm(char **arguments, int count, const char *const *has, char *out)
{
	void *plugin = dlopen(GP_SLURM_SPANK, RTLD_NOW | RTLD_LOCAL);
	int (*start)(spank_t, int, char **), (*user)(spank_t, int, char **);
	size_t n = 0, at = 0;

	if (!plugin)
		fail_msg("%s", dlerror());
	*(void **)&start = dlsym(plugin, "slurm_spank_init");
	*(void **)&user = dlsym(plugin, "slurm_spank_user_init");
	assert_true(start && user);
	clear();
	for (size_t i = 0; has[i]; i++)
		assert_non_null(variables[i] = strdup(has[i]));
	assert_int_equal(start(NULL, count, arguments), 0);
	assert_int_equal(user(NULL, count, arguments), 0);
	while (variables[n])
		n++;
	qsort(variables, n, sizeof(*variables), compare);
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(out + at, ROOM - at, "%s\n", variables[i]);
	dlclose(plugin);
}

/* The same of `gpreempt run`. */
static void by_run(const char *options, const char *const *has, char *out)
{
	char command[8192];
	size_t at = (size_t)snprintf(command, sizeof(command), "env -i");
	FILE *from;

	for (; *has; has++)
		at += (size_t)snprintf(command + at, sizeof(command) - at, " '%s'", *has);
	snprintf(command + at, sizeof(command) - at, " %s run %s -- /usr/bin/env | LC_ALL=C sort",
		 GP_GPREEMPT, options);
	from = popen(command, "r");
	assert_non_null(from);
	at = fread(out, 1, ROOM - 1, from);
	out[at] = 0;
	assert_int_equal(pclose(from), 0);
}

static void are_the_same(char **arguments, int count, const char *options, const char *const *has)
{
	static char slurm[ROOM], run[ROOM];

	by_slurm(arguments, count, has, slurm);
	by_run(options, has, run);
	assert_non_null(strstr(slurm, "LD_PRELOAD="));
	assert_string_equal(slurm, run);
}

static void a_job_gets_what_gpreempt_run_sets(void **state)
{
	static char agent[] = "agent=" GP_AGENT;
	char *arguments[] = {agent, "class=normal", "class.high=online", "weight.high=03"};
	char given[sizeof(place) + 32];
	const char *const plain[] = {given, NULL};
	const char *const full[] = {given,
				    "LD_PRELOAD=/lib/x.so:/old/libgpreempt_agent.so",
				    "HSA_TOOLS_LIB=/lib/profiler.so",
				    "HSA_TOOLS_ROCPROFILER_V1_TOOLS=0",
				    "GPREEMPT_CLASS=offline",
				    "GPREEMPT_GROUP=mine",
				    "GPREEMPT_WEIGHT=7",
				    "GPREEMPT_PRIORITY=600",
				    NULL};
	const char *const ahead[] = {given, "GPREEMPT_AHEAD=auto", NULL};
	const char *const us[] = {given, "GPREEMPT_AHEAD_US=100", "GPREEMPT_DEADLINE_US=5", NULL};
	const char *const *const all[] = {plain, full, ahead, us};

	(void)state;
	snprintf(given, sizeof(given), "GPREEMPT_DIR=%s", place);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		partition = "high";
		are_the_same(arguments, 4, "--class online --weight 3 --group slurm-17", all[i]);
		partition = "low";
		are_the_same(arguments, 4, "--class normal --group slurm-17", all[i]);
	}
}

static void the_directory_is_that_of_the_node(void **state)
{
	static char agent[] = "agent=" GP_AGENT, text[ROOM];
	const char *const other[] = {"GPREEMPT_DIR=/run/other", NULL};
	char directory[sizeof(place) + 32], host[256] = "", expected[sizeof(place) + 320];
	char *arguments[] = {agent, "class=normal", directory};

	(void)state;
	partition = "low";
	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	host[strcspn(host, ".")] = 0;
	snprintf(directory, sizeof(directory), "directory=%.200s/%%n", place);
	for (int named = 0; named < 2; named++) {
		if (named)
			setenv("SLURMD_NODENAME", "n1", 1);
		by_slurm(arguments, 3, other, text);
		snprintf(expected, sizeof(expected), "GPREEMPT_DIR=%.200s/%s\n", place,
			 named ? "n1" : host);
		assert_non_null(strstr(text, expected));
	}
	unsetenv("SLURMD_NODENAME");
	/* slurmd's own. */
	setenv("GPREEMPT_DIR", place, 1);
	by_slurm(arguments, 2, other, text);
	snprintf(expected, sizeof(expected), "GPREEMPT_DIR=%s\n", place);
	assert_non_null(strstr(text, expected));
}

/* It may begin again right after the epilog, and a process of the epilog may be late. */
static void a_job_is_over_before_the_epilog_starts_a_process(void **state)
{
	void *plugin = dlopen(GP_SLURM_SPANK, RTLD_NOW | RTLD_LOCAL);
	int (*epilog)(spank_t, int, char **);
	char path[sizeof(place) + 32];

	(void)state;
	assert_non_null(plugin);
	*(void **)&epilog = dlsym(plugin, "slurm_spank_job_epilog");
	assert_non_null(epilog);
	no_fork = true;
	assert_int_equal(epilog(NULL, 0, NULL), 0);
	no_fork = false;
	snprintf(path, sizeof(path), "%s/slurm/%d.over", place, JOB);
	assert_int_equal(access(path, F_OK), 0);
	dlclose(plugin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_gets_what_gpreempt_run_sets),
		cmocka_unit_test(the_directory_is_that_of_the_node),
		cmocka_unit_test(a_job_is_over_before_the_epilog_starts_a_process),
	};

	return cmocka_run_group_tests(tests, begin, finish);
}
