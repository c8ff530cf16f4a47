/* SPDX-License-Identifier: MIT */
/*
 * The identity of a client, from the kernel, and the rule of the configuration that matches it. A
 * client's own request is only a wish: rules override it and ceilings limit it.
 */
#ifndef GP_DAEMON_WHO_H
#define GP_DAEMON_WHO_H

#include "base/file.h"
#include "daemon/config/config.h"
#include "proto/proto.h"

struct gp_daemon_who {
	u32 pid, uid;
	u64 start_time; /* clock ticks after boot; 0: not known */
	char user[64];
	char executable[512]; /* full path; "" when not readable */
	char name[GP_PROTO_NAME];
	char cgroup[512];    /* of the v2 hierarchy, or the last of v1; "" when not known */
	char container[300]; /* name, or id; "" none */
	u32 slurm_job;       /* by its control groups; 0: none */
};

/* -ESRCH when there is no such process. */
int gp_daemon_who_read(const struct gp_root *root, u32 pid, struct gp_daemon_who *out);

/* "slurm-JOBID", the group of a job of Slurm: its number, or 0 for any other name. */
u32 gp_daemon_slurm_job(const char *group);
/* Whether a client in this group belongs to a job of Slurm. */
bool gp_daemon_who_is_slurm(const struct gp_daemon_who *who, const char *group);

/* The first rule that matches, or NULL. */
const struct gp_daemon_config_rule *gp_daemon_rule_find(const struct gp_daemon_config *config,
							const struct gp_daemon_who *who);
bool gp_daemon_rule_matches(const struct gp_daemon_config_rule *rule,
			    const struct gp_daemon_who *who);

/* The group of a client: that of its agent (""), replaced by the rule's. Of a job of Slurm no rule
 * does: the job stays one job on this node, "slurm-JOBID", which Slurm can suspend. Its control
 * group says that it is one; its name does only if Slurm has none on this host. True if a rule was
 * set aside for that. */
bool gp_daemon_who_group(const struct gp_root *root, const struct gp_daemon_who *who,
			 const struct gp_daemon_config_rule *rule, char *group, size_t size);

/* The request of a job, before rules: from an agent's HELLO; all 0 for a process without one. */
struct gp_daemon_wish {
	u32 job_class; /* 0 none, 1 online, 2 offline, as on the wire */
	u32 priority;  /* GP_SCHED_NONE: not said */
	u32 weight;    /* 0: not said */
};

/* The highest priority of a client's work, streams included: the user's limit, unless the rule says
 * its class or priority. */
u32 gp_daemon_who_ceiling(const struct gp_daemon_config *config, const struct gp_daemon_who *who,
			  const struct gp_daemon_config_rule *rule);

/* The spec for the scheduler: wish, then rule, then the user's ceiling. */
void gp_daemon_who_spec(const struct gp_daemon_config *config, const struct gp_daemon_who *who,
			const struct gp_daemon_config_rule *rule, const struct gp_daemon_wish *wish,
			struct gp_sched_job_spec *out);

#endif
