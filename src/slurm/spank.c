// SPDX-License-Identifier: MIT
/*
 * gpreempt_spank.so: a SPANK plugin of Slurm. --gpreempt-class and --gpreempt-weight of a job, or
 * the defaults of its partition in plugstack.conf, give its programs the agent, as `gpreempt run`
 * does; all of them on a node are one job of gpreemptd, in the group slurm-JOBID. Wrong values are
 * refused at submission. At the end of the job the hold of the task plugin ends, and what the job
 * got of the GPU goes to its AdminComment.
 *
 * Nothing here keeps a job from starting or ending: without an agent library, without gpreemptd or
 * with a mistake in plugstack.conf the job runs as it does without the plugin, and the log says so.
 */
#include <errno.h>
#include <signal.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/core.h"
#include "base/spawn.h"
#include "proto/launch.h"
#include "slurm/comment.h"
#include "slurm/connection.h"
#include "slurm/marks.h"
#include "slurm/plugin.h"
#include "slurm/settings.h"

SPANK_PLUGIN(gpreempt, 1)

#define WAIT_MS        1000 /* for one answer of gpreemptd */
#define ACCOUNT_S      60   /* for the accounting as a whole */
#define EPILOG_WAIT_MS 5000 /* of it, the job's end waits for this */

/* Where `make install` or the package puts it. In the file as text, for the test of the package. */
static const char agent_path[] __attribute__((used)) = GP_SLURM_AGENT;

/* A plugin has no handle that could own it. */
static struct gp_slurm_settings settings;
static char job_class[16];
static u32 job_weight;

/* ---- options ---- */

static int take_class(int value, const char *text, int remote)
{
	(void)value, (void)remote;
	if (!gp_proto_launch_is_class(text)) {
		slurm_error("invalid --gpreempt-class '%s' (use online, normal or offline)", text);
		return -1;
	}
	snprintf(job_class, sizeof(job_class), "%s", text);
	return 0;
}

static int take_weight(int value, const char *text, int remote)
{
	(void)value, (void)remote;
	if (!gp_proto_launch_weight(text, &job_weight)) {
		slurm_error("invalid --gpreempt-weight '%s' (use 1 to %u)", text,
			    GP_LAUNCH_WEIGHT_MAX);
		return -1;
	}
	return 0;
}

static struct spank_option options[] = {
	{"gpreempt-class", "CLASS", "GPU class of the job: online, normal or offline", 1, 0,
	 take_class},
	{"gpreempt-weight", "W", "share of the GPU relative to other jobs, 1 to 100", 1, 0,
	 take_weight},
};

static void read_settings(int count, char **arguments)
{
	settings = (struct gp_slurm_settings){.account = true};
	snprintf(settings.agent, sizeof(settings.agent), "%s", agent_path);
	for (int i = 0; i < count; i++) {
		if (!gp_slurm_settings_read(&settings, arguments[i]))
			slurm_error("gpreempt: plugstack.conf: invalid argument '%s' (ignored)",
				    arguments[i]);
	}
}

/* The node: as Slurm calls it, or else its host. */
static const char *node_name(void)
{
	static char host[256] = "?";
	const char *node = getenv("SLURMD_NODENAME");

	if (node)
		return node;
	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = 0;
	return host;
}

/* The directory of gpreemptd on this node, for what follows in this process: that of
 * plugstack.conf, or else slurmd's own. NULL: the usual one. */
static const char *use_directory(void)
{
	char directory[512];
	const char *used;

	gp_slurm_settings_directory(&settings, node_name(), directory, sizeof(directory));
	if (*directory)
		setenv("GPREEMPT_DIR", directory, 1);
	used = getenv("GPREEMPT_DIR");
	return used && *used ? used : NULL;
}

GP_SLURM_EXPORT int slurm_spank_init(spank_t spank, int count, char **arguments)
{
	uint32_t job = 0;

	read_settings(count, arguments);
	for (size_t i = 0; i < GP_ARRAY_SIZE(options); i++) {
		if (spank_option_register(spank, &options[i]) != ESPANK_SUCCESS)
			slurm_debug("gpreempt: --%s is not available here", options[i].name);
	}
	/* In slurmstepd, as root: a requeued job has the number of one that is over. */
	if (spank_remote(spank) == 1 && spank_get_item(spank, S_JOB_ID, &job) == ESPANK_SUCCESS) {
		use_directory();
		gp_slurm_mark_begin(job);
	}
	return 0;
}

/* ---- the environment of the job ---- */

static int job_get(void *data, const char *name, char *out, size_t size)
{
	spank_err_t error = spank_getenv(data, name, out, (int)size);

	if (error == ESPANK_SUCCESS)
		return 1;
	return error == ESPANK_ENV_NOEXIST ? 0 : -ENOSPC;
}

static int job_set(void *data, const char *name, const char *value, bool replace)
{
	spank_err_t error = spank_setenv(data, name, value, replace);

	return error == ESPANK_SUCCESS || error == ESPANK_ENV_EXISTS ? 0 : -ENOMEM;
}

static int job_unset(void *data, const char *name)
{
	spank_err_t error = spank_unsetenv(data, name);

	return error == ESPANK_SUCCESS || error == ESPANK_ENV_NOEXIST ? 0 : -ENOMEM;
}

/* The one beside settings.agent that --ahead auto needs; false: it is not there. */
static bool auto_agent(char *out, size_t size)
{
	const char *name = strrchr(settings.agent, '/');

	return name &&
	       snprintf(out, size, "%.*s/%s", (int)(name - settings.agent), settings.agent,
			GP_LAUNCH_AUTO_LIBRARY) < (int)size &&
	       access(out, R_OK) == 0;
}

static int give_agent(spank_t spank, const struct gp_slurm_default *found)
{
	struct gp_proto_launch launch = {.data = spank,
					 .get = job_get,
					 .set = job_set,
					 .unset = job_unset};
	char group[32], library[sizeof(settings.agent) + 32];
	/* Where the plugins look for gpreemptd: the job's own variable may be that of another node,
	 * where it called srun. */
	struct gp_proto_launch_wish wish = {.group = group,
					    .weight = found->weight,
					    .directory = use_directory()};
	uint32_t job = 0;

	if (spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS)
		return -EINVAL;
	gp_slurm_group(job, group, sizeof(group));
	if (*found->job_class)
		wish.job_class = found->job_class;
	if (!gp_proto_launch_is_auto(&launch, &wish) || !auto_agent(library, sizeof(library)))
		snprintf(library, sizeof(library), "%s", settings.agent);
	return gp_proto_launch_prepare(&launch, &wish, library);
}

/* In slurmstepd, before the tasks of the step start. */
GP_SLURM_EXPORT int slurm_spank_user_init(spank_t spank, int count, char **arguments)
{
	char partition[256] = "";
	struct gp_slurm_default wish;
	int error;

	(void)count, (void)arguments;
	if (spank_remote(spank) != 1)
		return 0;
	if (spank_getenv(spank, "SLURM_JOB_PARTITION", partition, sizeof(partition)))
		partition[0] = 0;
	wish = gp_slurm_settings_for(&settings, partition);
	if (*job_class)
		memcpy(wish.job_class, job_class, sizeof(wish.job_class));
	if (job_weight)
		wish.weight = job_weight;
	if (!*wish.job_class && !wish.weight)
		return 0;
	if (access(settings.agent, R_OK)) {
		slurm_error("gpreempt: cannot read %s: %s; the job runs without the agent",
			    settings.agent, strerror(errno));
		return 0;
	}
	error = give_agent(spank, &wish);
	if (error)
		slurm_error("gpreempt: cannot prepare the environment of the job: %s",
			    strerror(-error));
	return 0;
}

/* ---- the end of the job ---- */

static void account(struct gp_slurm_connection *connection, const struct gp_slurm_run *run)
{
	struct gp_slurm_account used;
	char text[512];

	if (gp_slurm_account(connection, run, WAIT_MS, &used) || !used.jobs)
		return;
	snprintf(text, sizeof(text),
		 "gpreempt %s: ran=%.3fs held=%.3fs suspensions=%llu longest_hold=%.3fs",
		 node_name(), (double)used.ran_ns / 1e9, (double)used.held_ns / 1e9,
		 (unsigned long long)used.suspends, (double)used.longest_ns / 1e9);
	gp_slurm_comment_add(run->job, text);
}

static void end_job(const struct gp_slurm_run *run)
{
	struct gp_slurm_connection connection = {.fd = -1};

	if (gp_slurm_open(&connection, WAIT_MS))
		return;
	(void)gp_slurm_hold(&connection, run->job, false, WAIT_MS);
	if (settings.account && connection.fd >= 0)
		account(&connection, run);
	gp_slurm_close(&connection);
}

/* On each node, as root, when the job is over. In a process of its own: slurmdbd may not answer.
 */
GP_SLURM_EXPORT int slurm_spank_job_epilog(spank_t spank, int count, char **arguments)
{
	u64 end = gp_monotonic_ns() + EPILOG_WAIT_MS * GP_NS_PER_MS;
	struct gp_slurm_run run = {0};
	pid_t pid;

	read_settings(count, arguments); /* there was no slurm_spank_init() in this process */
	if (spank_get_item(spank, S_JOB_ID, &run.job) != ESPANK_SUCCESS ||
	    spank_get_item(spank, S_JOB_UID, &run.uid) != ESPANK_SUCCESS)
		return 0;
	/* Here: the job may begin again when the epilog has ended. */
	use_directory();
	run.begun_ns = gp_slurm_mark_over(run.job);
	pid = fork();
	if (pid == 0) {
		signal(SIGALRM, SIG_DFL);
		alarm(ACCOUNT_S);
		setsid();
		gp_spawn_silence(); /* slurmd may read the epilog's output up to its end */
		end_job(&run);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0 && gp_monotonic_ns() < end)
		usleep(10000);
	return 0;
}
