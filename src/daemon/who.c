// SPDX-License-Identifier: MIT
/* Identity of a client and rules: see who.h. */
#include "daemon/who.h"

#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/host/container.h"
#include "base/parse.h"

#define CGROUP_LIMIT 65536u

/* Whether Slurm names a group above its jobs so: "slurm" or "slurm_NODE" (v1), "slurmstepd.scope"
 * or "NODE_slurmstepd.scope" (v2). */
static bool is_of_slurm(const char *name, size_t length)
{
	static const char scope[] = "slurmstepd.scope";
	size_t end = sizeof(scope) - 1;

	if (length >= end && memcmp(name + length - end, scope, end) == 0)
		return length == end || name[length - end - 1] == '_';
	return length >= 5 && memcmp(name, "slurm", 5) == 0 && (length == 5 || name[5] == '_');
}

/* "3:freezer:/slurm/uid_1000/job_17/step_0": its job, or 0. In user.slice users make groups. */
static u32 slurm_job_of(const char *line, const char *end)
{
	static const char users[] = "/user.slice/", mark[] = "job_";
	const char *path = memchr(line, '/', (size_t)(end - line)), *name, *next;
	bool inside = false;
	u32 job;

	if (!path || strncmp(path, users, sizeof(users) - 1) == 0)
		return 0;
	for (name = path + 1; name < end; name = next + 1) {
		next = memchr(name, '/', (size_t)(end - name));
		next = next ? next : end;
		if (inside && strncmp(name, mark, sizeof(mark) - 1) == 0) {
			name += sizeof(mark) - 1;
			return gp_parse_u32(&name, next, &job) && name == next ? job : 0;
		}
		inside |= is_of_slurm(name, (size_t)(next - name));
	}
	return 0;
}

static u32 find_slurm_job(const char *text)
{
	u32 job = 0;

	while (!job && *text) {
		const char *end = text + strcspn(text, "\n");

		job = slurm_job_of(text, end);
		text = *end ? end + 1 : end;
	}
	return job;
}

u32 gp_daemon_slurm_job(const char *group)
{
	const char *at = group + 6;
	u32 job;

	if (strncmp(group, "slurm-", 6) != 0 || !gp_parse_u32(&at, group + strlen(group), &job) ||
	    *at)
		return 0;
	return job;
}

bool gp_daemon_who_is_slurm(const struct gp_daemon_who *who, const char *group)
{
	return who->slurm_job || gp_daemon_slurm_job(group);
}

/* The path of the last line: "0::/user.slice/..." under v2, a controller's under v1. */
static void read_cgroup(const struct gp_root *root, u32 pid, char *out, size_t size, u32 *slurm_job)
{
	struct gp_buf text = {0};
	const char *line, *path;

	out[0] = 0;
	if (gp_root_read(root, CGROUP_LIMIT, &text, "/proc/%u/cgroup", pid) == 0 && text.len) {
		*slurm_job = find_slurm_job(text.data);
		while (text.len && text.data[text.len - 1] == '\n')
			text.data[--text.len] = 0;
		line = strrchr(text.data, '\n');
		line = line ? line + 1 : text.data;
		path = strchr(line, ':');
		path = path ? strchr(path + 1, ':') : NULL;
		if (path)
			snprintf(out, size, "%s", path + 1);
	}
	gp_buf_free(&text);
}

int gp_daemon_who_read(const struct gp_root *root, u32 pid, struct gp_daemon_who *out)
{
	struct gp_process process;
	struct gp_container container;
	int error = gp_process_read(root, pid, &process);

	if (error)
		return error;
	*out = (struct gp_daemon_who){.pid = pid};
	if (process.valid & GP_PROCESS_UID) {
		out->uid = process.uid;
		snprintf(out->user, sizeof(out->user), "%s", process.user);
	}
	if (process.valid & GP_PROCESS_START)
		out->start_time = process.start_time;
	if (process.valid & GP_PROCESS_COMM)
		snprintf(out->name, sizeof(out->name), "%s", process.comm);
	if (gp_root_readlink(root, out->executable, sizeof(out->executable), "/proc/%u/exe", pid))
		out->executable[0] = 0;
	read_cgroup(root, pid, out->cgroup, sizeof(out->cgroup), &out->slurm_job);
	if (gp_container_of(root, pid, &container) == 0)
		snprintf(out->container, sizeof(out->container), "%s",
			 *container.name ? container.name : container.id);
	return 0;
}

/* A pattern with a '/' is for the whole path, one without for the last part. */
static bool matches_path(const char *pattern, const char *path)
{
	const char *last = strrchr(path, '/');

	if (!*path)
		return false;
	if (!strchr(pattern, '/') && last)
		path = last + 1;
	return fnmatch(pattern, path, 0) == 0;
}

bool gp_daemon_rule_matches(const struct gp_daemon_config_rule *rule,
			    const struct gp_daemon_who *who)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", who->uid);
	if ((rule->given & GP_RULE_EXECUTABLE) &&
	    !matches_path(rule->executable, *who->executable ? who->executable : who->name))
		return false;
	if ((rule->given & GP_RULE_USER) && fnmatch(rule->user, who->user, 0) != 0 &&
	    strcmp(rule->user, number) != 0)
		return false;
	if ((rule->given & GP_RULE_CGROUP) && !matches_path(rule->cgroup, who->cgroup))
		return false;
	if ((rule->given & GP_RULE_CONTAINER) &&
	    (!*who->container || fnmatch(rule->container, who->container, 0) != 0))
		return false;
	return true;
}

const struct gp_daemon_config_rule *gp_daemon_rule_find(const struct gp_daemon_config *config,
							const struct gp_daemon_who *who)
{
	for (size_t i = 0; i < config->rule_count; i++) {
		if (gp_daemon_rule_matches(&config->rules[i], who))
			return &config->rules[i];
	}
	return NULL;
}

/* "slurm_exporter.service" is a unit of systemd, and not a group that slurmd made. */
static bool any_group(const glob_t *found)
{
	for (size_t i = 0; i < found->gl_pathc; i++) {
		const char *name = strrchr(found->gl_pathv[i], '/') + 1;
		const char *dot = strrchr(name, '.');

		if (!dot || strcmp(dot, ".scope") == 0)
			return true;
	}
	return false;
}

/* Whether Slurm has control groups on this host: then every process of its jobs is in one. */
static bool slurm_has_groups(const struct gp_root *root)
{
	static const char *const where[] = {"*/slurm", "*/slurm_*",
					    "system.slice/*slurmstepd.scope"};
	char pattern[PATH_MAX];
	glob_t found;
	bool has = false;

	for (size_t i = 0; i < GP_ARRAY_SIZE(where) && !has; i++) {
		if (gp_root_path(root, pattern, sizeof(pattern), "/sys/fs/cgroup/%s", where[i]))
			continue;
		if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
			has = any_group(&found);
		globfree(&found);
	}
	return has;
}

bool gp_daemon_who_group(const struct gp_root *root, const struct gp_daemon_who *who,
			 const struct gp_daemon_config_rule *rule, char *group, size_t size)
{
	bool ruled = rule && (rule->given & GP_RULE_GROUP);

	/* Without a rule a program may have another group, of its own choice; its ranks belong
	 * together. */
	if (who->slurm_job && (ruled || !*group))
		snprintf(group, size, "slurm-%u", who->slurm_job);
	/* A name alone is the program's word, and would take it out of the rule's group. */
	if (!ruled || who->slurm_job || (gp_daemon_slurm_job(group) && !slurm_has_groups(root)))
		return ruled;
	snprintf(group, size, "%s", rule->group);
	return false;
}

static u32 class_priority(u32 class)
{
	switch (class) {
	case GP_SCHED_CLASS_ONLINE:
		return GP_SCHED_PRIORITY_ONLINE;
	case GP_SCHED_CLASS_OFFLINE:
		return GP_SCHED_PRIORITY_OFFLINE;
	default:
		return GP_SCHED_PRIORITY_NORMAL;
	}
}

static void apply_rule(const struct gp_daemon_config_rule *rule, struct gp_sched_job_spec *out)
{
	if (rule->given & GP_RULE_CLASS) {
		out->class = rule->class;
		out->priority = GP_SCHED_NONE;
	}
	if (rule->given & GP_RULE_PRIORITY)
		out->priority = rule->priority;
	if (rule->given & GP_RULE_WEIGHT)
		out->weight = rule->weight;
	if (rule->given & GP_RULE_DEADLINE) {
		out->deadline_ns = rule->deadline_ns;
		out->budget_ns = rule->budget_ns;
		out->period_ns = rule->period_ns;
	}
	if (rule->given & GP_RULE_MAX_SUSPEND)
		out->max_suspend_ns = rule->max_suspend_ns;
}

u32 gp_daemon_who_ceiling(const struct gp_daemon_config *config, const struct gp_daemon_who *who,
			  const struct gp_daemon_config_rule *rule)
{
	struct gp_daemon_config_user user;

	/* What the administrator's rule says needs no leave. */
	if (rule && (rule->given & (GP_RULE_PRIORITY | GP_RULE_CLASS)))
		return GP_SCHED_PRIORITY_MAX;
	gp_daemon_config_user(config, who->uid, who->user, &user);
	return user.max_priority;
}

void gp_daemon_who_spec(const struct gp_daemon_config *config, const struct gp_daemon_who *who,
			const struct gp_daemon_config_rule *rule, const struct gp_daemon_wish *wish,
			struct gp_sched_job_spec *out)
{
	static const enum gp_sched_class classes[] = {GP_SCHED_CLASS_NORMAL, GP_SCHED_CLASS_ONLINE,
						      GP_SCHED_CLASS_OFFLINE};
	struct gp_daemon_config_user user;

	gp_daemon_config_user(config, who->uid, who->user, &user);
	*out = (struct gp_sched_job_spec){
		.class = wish->job_class < GP_ARRAY_SIZE(classes) ? classes[wish->job_class]
								  : GP_SCHED_CLASS_NORMAL,
		.priority = wish->priority,
		.weight = wish->weight,
	};
	if (rule)
		apply_rule(rule, out);
	if (out->priority > GP_SCHED_PRIORITY_MAX)
		out->priority = class_priority(out->class);
	out->priority = GP_MIN(out->priority, gp_daemon_who_ceiling(config, who, rule));
	if (!rule || !(rule->given & GP_RULE_WEIGHT))
		out->weight = GP_MIN(out->weight, user.max_weight);
}
