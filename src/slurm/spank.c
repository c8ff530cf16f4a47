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
#define ACCOUNT_S      20   /* for the accounting as a whole */
#define EPILOG_WAIT_MS 5000 /* of it, the job's end waits for this */

/* Where `make install` or the package puts it. In the file as text, for the test of the package. */
static const char agent_path[] __attribute__((used)) = GP_SLURM_AGENT;

/* A plugin has no handle that could own it. */
static struct gp_slurm_settings settings;
static char job_class[16], job_weight[8];

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
	if (!gp_slurm_is_weight(text)) {
		slurm_error("invalid --gpreempt-weight '%s' (use 1 to %u)", text,
			    GP_LAUNCH_WEIGHT_MAX);
		return -1;
	}
	snprintf(job_weight, sizeof(job_weight), "%s", text);
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

GP_SLURM_EXPORT int slurm_spank_init(spank_t spank, int count, char **arguments)
{
	read_settings(count, arguments);
	for (size_t i = 0; i < GP_ARRAY_SIZE(options); i++) {
		if (spank_option_register(spank, &options[i]) != ESPANK_SUCCESS)
			slurm_debug("gpreempt: --%s is not available here", options[i].name);
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

static int give_agent(spank_t spank, const struct gp_slurm_default *wish)
{
	struct gp_proto_launch launch = {.data = spank, .get = job_get, .set = job_set};
	/* Of slurmd: the job's variables may be those of another node, where it called srun. */
	const char *usual = getenv("GPREEMPT_DIR"), *node = getenv("SLURMD_NODENAME");
	char group[32], directory[512];
	uint32_t job = 0;
	int error = -EINVAL;

	if (spank_get_item(spank, S_JOB_ID, &job) == ESPANK_SUCCESS)
		error = 0;
	gp_slurm_group(job, group, sizeof(group));
	if (!error)
		error = job_set(spank, GP_LAUNCH_GROUP, group, true);
	if (!error && *wish->job_class)
		error = job_set(spank, GP_LAUNCH_CLASS, wish->job_class, true);
	if (!error && *wish->weight)
		error = job_set(spank, GP_LAUNCH_WEIGHT, wish->weight, true);
	/* Where the plugins on this node look for gpreemptd. */
	gp_slurm_settings_directory(&settings, node ? node : "", directory, sizeof(directory));
	if (usual && *usual)
		snprintf(directory, sizeof(directory), "%s", usual);
	if (!error && *directory)
		error = job_set(spank, "GPREEMPT_DIR", directory, true);
	return error ? error : gp_proto_launch_load(&launch, settings.agent);
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
	if (*job_weight)
		memcpy(wish.weight, job_weight, sizeof(wish.weight));
	if (!*wish.job_class && !*wish.weight)
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

static void account(struct gp_slurm_connection *connection, uint32_t job, uid_t uid,
		    const char *node)
{
	struct gp_slurm_account used;
	char text[256];

	if (gp_slurm_account(connection, job, uid, WAIT_MS, &used) || !used.jobs)
		return;
	snprintf(text, sizeof(text),
		 "gpreempt %s: ran=%.3fs held=%.3fs suspensions=%llu longest_hold=%.3fs", node,
		 (double)used.ran_ns / 1e9, (double)used.held_ns / 1e9,
		 (unsigned long long)used.suspends, (double)used.longest_ns / 1e9);
	gp_slurm_comment_add(job, text);
}

static void end_job(uint32_t job, uid_t uid)
{
	struct gp_slurm_connection connection = {.fd = -1};
	const char *name = getenv("SLURMD_NODENAME");
	char node[256] = "?", directory[512];

	if (name)
		snprintf(node, sizeof(node), "%s", name);
	else
		gethostname(node, sizeof(node) - 1);
	gp_slurm_settings_directory(&settings, node, directory, sizeof(directory));
	if (*directory)
		setenv("GPREEMPT_DIR", directory, 1);
	gp_slurm_mark(job, false);
	if (gp_slurm_open(&connection, WAIT_MS))
		return;
	(void)gp_slurm_hold(&connection, job, false, WAIT_MS);
	if (settings.account && connection.fd >= 0)
		account(&connection, job, uid, node);
	gp_slurm_close(&connection);
}

/* On each node, as root, when the job is over. In a process of its own: slurmdbd may not answer.
 */
GP_SLURM_EXPORT int slurm_spank_job_epilog(spank_t spank, int count, char **arguments)
{
	u64 end = gp_monotonic_ns() + EPILOG_WAIT_MS * GP_NS_PER_MS;
	uint32_t job = 0;
	uid_t uid = (uid_t)-1;
	pid_t pid;

	read_settings(count, arguments); /* there was no slurm_spank_init() in this process */
	if (spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS ||
	    spank_get_item(spank, S_JOB_UID, &uid) != ESPANK_SUCCESS)
		return 0;
	pid = fork();
	if (pid == 0) {
		signal(SIGALRM, SIG_DFL);
		alarm(ACCOUNT_S);
		setsid();
		gp_spawn_silence(); /* slurmd may read the epilog's output up to its end */
		end_job(job, uid);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0 && gp_monotonic_ns() < end)
		usleep(10000);
	return 0;
}
