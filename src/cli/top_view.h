/* What `gpreempt top` shows: one reading of the daemon, sorted and filtered, as tables. */
#ifndef GP_CLI_TOP_VIEW_H
#define GP_CLI_TOP_VIEW_H

#include "base/table.h"
#include "cli/daemon_client.h"
#include "cli/target_command.h"

enum gp_top_sort {
	GP_TOP_PRIORITY,
	GP_TOP_RAN,
	GP_TOP_HELD,
	GP_TOP_PREEMPTIONS,
	GP_TOP_PID,
	GP_TOP_SORTS,
};

struct gp_top {
	struct gp_msg_daemon_status status;
	struct gp_msg_job *jobs;
	size_t job_count;
	struct gp_msg_device devices[GP_DAEMON_DEVICES];
	size_t device_count;
	struct gp_holds
		holds; /* everybody's, as this user's holder tells; empty when it does not */
};

/* Asks for everything; what was there before is freed. Says what went wrong. */
int gp_top_read(struct gp_top *top, struct gp_daemon_client *client, struct gp_diag *diag);
void gp_top_free(struct gp_top *top);
/* Sorts, and takes out jobs whose name, group or pid does not have `filter` in it. */
void gp_top_arrange(struct gp_top *top, enum gp_top_sort sort, const char *filter);
const char *gp_top_sort_name(enum gp_top_sort sort);

/* The process, not the daemon, that keeps the job's first process suspended; 0: none is known. */
u32 gp_top_stopped_by(const struct gp_top *top, const struct gp_msg_job *job);
/* Whether it is known what has work there: NVIDIA's queues are in memory that only it reads, and
 * the hardware shares the GPU by time slices. */
bool gp_top_sees_work(u32 gpu_id);
const char *gp_top_state(const struct gp_top *top, const struct gp_msg_job *job);
struct gp_table *gp_top_jobs(const struct gp_top *top);
struct gp_table *gp_top_devices(const struct gp_top *top);
json_t *gp_top_json(const struct gp_top *top);

#endif
