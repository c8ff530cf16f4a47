/* SPDX-License-Identifier: MIT */
/* gpreempt stats by job: accounts of current jobs and of the last that ended. */
#ifndef GP_CLI_DAEMON_STATS_JOBS_H
#define GP_CLI_DAEMON_STATS_JOBS_H

#include "cli/daemon/daemon_client.h"

/* Which jobs; all that is set must match. */
struct gp_cli_stats_filter {
	bool jobs; /* list jobs, whether or not anything else is set */
	u32 pid;
	const char *group, *cgroup; /* shell patterns */
	const char *user;           /* name or number */
	u64 since_ns;               /* ended not longer ago than this; 0: no limit */
};

bool gp_cli_stats_filter_set(const struct gp_cli_stats_filter *filter);
/* The list of jobs in *out; -errno after a message. */
int gp_cli_stats_jobs(struct gp_cli_daemon_client *client, struct gp_diag *diag,
		      const struct gp_cli_stats_filter *filter, struct gp_doc **out);

#endif
