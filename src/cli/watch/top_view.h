/* SPDX-License-Identifier: MIT */
/*
 * What `gpreempt top` shows: one reading of the daemon, or of the scheduler inside the driver
 * (top_driver.c), sorted and filtered, as tables. The driver knows less: what it does not tell is
 * missing.
 */
#ifndef GP_CLI_WATCH_TOP_VIEW_H
#define GP_CLI_WATCH_TOP_VIEW_H

#include "show/table.h"
#include "cli/daemon/daemon_client.h"
#include "cli/control/target_command.h"
#include "inspect/driver_sched.h"

enum gp_cli_top_sort {
	GP_TOP_PRIORITY,
	GP_TOP_RAN,
	GP_TOP_HELD,
	GP_TOP_PREEMPTIONS,
	GP_TOP_PID,
	GP_TOP_SORTS,
};

struct gp_cli_top_data {
	struct gp_proto_msg_daemon_status status;
	struct gp_proto_msg_job *jobs;
	size_t job_count;
	struct gp_proto_msg_device devices[GP_DAEMON_DEVICES];
	size_t device_count;
	struct gp_cli_holds
		holds; /* everybody's, as this user's holder tells; empty when it does not */
	bool from_driver;
	struct gp_inspect_driver_sched driver; /* and then this; ids of jobs are their pids */
};

/* Asks for everything; what was there before is freed. Says what went wrong. */
int gp_cli_top_read(struct gp_cli_top_data *top, struct gp_cli_daemon_client *client,
		    struct gp_diag *diag);
int gp_cli_top_read_driver(struct gp_cli_top_data *top, const struct gp_root *root,
			   struct gp_diag *diag);
void gp_cli_top_free(struct gp_cli_top_data *top);
/* Sorts, and takes out jobs whose name, group or pid does not have `filter` in it. */
void gp_cli_top_arrange(struct gp_cli_top_data *top, enum gp_cli_top_sort sort, const char *filter);
const char *gp_cli_top_sort_name(enum gp_cli_top_sort sort);

/* The process, not the daemon, that keeps the job's first process suspended; 0: none is known. */
u32 gp_cli_top_stopped_by(const struct gp_cli_top_data *top, const struct gp_proto_msg_job *job);
/* Whether it is known what has work there: NVIDIA's queues are in memory that only it reads, and
 * the hardware shares the GPU by time slices. */
bool gp_cli_top_sees_work(u32 gpu_id);
const char *gp_cli_top_state(const struct gp_cli_top_data *top, const struct gp_proto_msg_job *job);
/* "priority", or why nothing is preempted there. */
const char *gp_cli_top_policy(const struct gp_cli_top_data *top,
			      const struct gp_proto_msg_device *device);
struct gp_table *gp_cli_top_jobs(const struct gp_cli_top_data *top);
struct gp_table *gp_cli_top_devices(const struct gp_cli_top_data *top);
json_t *gp_cli_top_json(const struct gp_cli_top_data *top);

/* ---- of the driver only: top_driver.c ---- */

/* Of a job in the last reading; NULL: it is not the driver's. */
const struct gp_inspect_driver_job *gp_cli_top_driver_job(const struct gp_cli_top_data *top,
							  const struct gp_proto_msg_job *job);
/* "the driver's scheduler, policy priority: 2 jobs, 1 held" */
void gp_cli_top_driver_text(const struct gp_cli_top_data *top, char *out, size_t size);
/* Each queue of the jobs: who has it off. */
struct gp_table *gp_cli_top_queues(const struct gp_cli_top_data *top);
json_t *gp_cli_top_driver_json(const struct gp_cli_top_data *top);
/* Of one job, as JSON has them. */
json_t *gp_cli_top_queues_json(const struct gp_inspect_driver_job *job);

#endif
