/* SPDX-License-Identifier: MIT */
/*
 * The data of `gpreempt top`: one reading of the daemon, or of the scheduler inside the driver
 * (top_driver.c), sorted and filtered; and its document (top_columns.c). The driver knows less:
 * values it does not have are missing.
 */
#ifndef GP_CLI_WATCH_TOP_VIEW_H
#define GP_CLI_WATCH_TOP_VIEW_H

#include "cli/daemon/daemon_client.h"
#include "cli/control/target_command.h"
#include "cli/watch/row.h"
#include "inspect/driver_sched.h"
#include "inspect/ps.h"
#include "inspect/sensors.h"

enum gp_cli_top_sort {
	GP_TOP_PRIORITY,
	GP_TOP_RAN,
	GP_TOP_HELD,
	GP_TOP_PREEMPTIONS,
	GP_TOP_PID,
	GP_TOP_P99,
	GP_TOP_GPU,
	GP_TOP_SORTS,
};

enum {
	GP_TOP_HISTORY = 240, /* readings of a GPU */
	GP_TOP_TREND = 30,    /* and of a job */
	GP_TOP_UNKNOWN = 255, /* no percentage yet */
};

/* What happened between the last two readings, of a job or a GPU. */
struct gp_cli_top_rate {
	u64 id;               /* of the job; gpu_id */
	u64 busy_ns, held_ns; /* at the last reading */
	u8 busy, held;        /* per cent of the time; GP_TOP_UNKNOWN */
	bool seen;
	u8 history[GP_TOP_HISTORY]; /* per cent busy, oldest first; the last GP_TOP_TREND of a job
				     */
};

struct gp_cli_top_rates {
	struct gp_cli_top_rate *jobs;
	size_t job_count, job_capacity;
	struct gp_cli_top_rate gpus[GP_DAEMON_DEVICES];
	size_t gpu_count;
	u64 read_ns; /* the daemon's time of the last reading */
	bool totals; /* the screen shows totals instead */
	bool ascii;
};

/* A process that uses a GPU, and the job that it belongs to. */
struct gp_cli_top_member {
	u32 pid;
	u64 job;
};

struct gp_cli_top_data {
	struct gp_proto_msg_daemon_status status;
	struct gp_proto_msg_job *jobs;
	size_t job_count;
	struct gp_proto_msg_device devices[GP_DAEMON_DEVICES];
	size_t device_count;
	struct gp_cli_holds
		holds; /* of all users, as reported by the holder; empty if it does not answer */
	struct gp_inspect_ps machine; /* GPUs and processes as their drivers list them */
	struct gp_inspect_sensors sensors[GP_DAEMON_DEVICES]; /* of devices */
	struct gp_cli_top_member *members;                    /* of jobs, if they were read */
	size_t member_count, member_capacity;
	const struct gp_cli_top_rates *rates; /* of the screen; NULL: only totals */
	bool from_driver;
	struct gp_inspect_driver_sched driver; /* and then this; ids of jobs are their pids */
};

/* Replaces the reading by a new one. Errors have a message. */
int gp_cli_top_read(struct gp_cli_top_data *top, struct gp_cli_daemon_client *client,
		    struct gp_diag *diag);
int gp_cli_top_read_driver(struct gp_cli_top_data *top, const struct gp_root *root,
			   struct gp_diag *diag);
void gp_cli_top_free(struct gp_cli_top_data *top);

/* ---- rates: top_rates.c ---- */

/* Compares the reading with the last one. */
int gp_cli_top_rates_note(struct gp_cli_top_rates *rates, const struct gp_cli_top_data *top);
void gp_cli_top_rates_free(struct gp_cli_top_rates *rates);
const struct gp_cli_top_rate *gp_cli_top_rate_of(const struct gp_cli_top_rates *rates, u64 job);

/* ---- GPUs: top_rates.c ---- */

/* Its place in the list of GPUs, or -1. */
int gp_cli_top_gpu_index(const struct gp_cli_top_data *top, u32 gpu_id);
/* As its driver lists it, or NULL. */
const struct gp_gpu *gp_cli_top_gpu(const struct gp_cli_top_data *top, u32 gpu_id);
/* Product and address: "AMD Instinct MI300X"; "" if it is not known. */
void gp_cli_top_gpu_name(const struct gp_cli_top_data *top,
			 const struct gp_proto_msg_device *device, char *out, size_t size);
/* Memory and compute units of all processes of the job on its GPU; false: not known. */
bool gp_cli_top_usage(const struct gp_cli_top_data *top, const struct gp_proto_msg_job *job,
		      struct gp_gpu_usage *out);

/* ---- processes of jobs: top_members.c ---- */

/* Asks the daemon for the job of every process that the drivers list. */
int gp_cli_top_read_members(struct gp_cli_top_data *top, struct gp_cli_daemon_client *client);
size_t gp_cli_top_member_count(const struct gp_cli_top_data *top, u64 job);
/* As its driver lists it, or NULL. */
const struct gp_inspect_ps_row *gp_cli_top_process(const struct gp_cli_top_data *top, u32 pid);
/* Adds its memory and compute units on all GPUs. */
void gp_cli_top_process_usage(const struct gp_gpu_process *process, struct gp_gpu_usage *out);

/* Sorts, and removes jobs without `filter` in their name, group or pid. */
void gp_cli_top_arrange(struct gp_cli_top_data *top, enum gp_cli_top_sort sort, const char *filter);
const char *gp_cli_top_sort_name(enum gp_cli_top_sort sort);

/* Whether it is known which queues have work: those of NVIDIA are in memory that only the program
 * reads, and the hardware shares the GPU by time slices. */
bool gp_cli_top_sees_work(u32 gpu_id);
/* Time on the GPU: as its driver reports it, or as gpreemptd sees its work. */
u64 gp_cli_top_ran_ns(const struct gp_proto_msg_job *job);
/* "priority", or why nothing is preempted there. */
const char *gp_cli_top_policy(const struct gp_cli_top_data *top,
			      const struct gp_proto_msg_device *device);
/* The same on all GPUs; NULL: it is not. */
const char *gp_cli_top_common_policy(const struct gp_cli_top_data *top);
/* Whether any job has a latency, or there is none to ask. */
bool gp_cli_top_knows_latency(const struct gp_cli_top_data *top);
/* "gpreemptd (pid 4711), mode act: 2 jobs, 1 held" */
void gp_cli_top_status_text(const struct gp_cli_top_data *top, char *out, size_t size);
/* The columns of jobs: top_columns.c. */
void gp_cli_top_put_job(struct gp_cli_row *row, const struct gp_cli_top_data *top,
			const struct gp_proto_msg_job *job);
/* The queues that the driver lists, as a table. */
void gp_cli_top_put_queues(struct gp_doc *doc, const struct gp_cli_top_data *top);
/* `driver_policy`: of the scheduler inside the driver beside the daemon's; "" none. */
struct gp_doc *gp_cli_top_doc(const struct gp_cli_top_data *top, const char *driver_policy);

/* ---- of the driver only: top_driver.c ---- */

/* A job in the last reading; NULL: it is not one of the driver. */
const struct gp_inspect_driver_job *gp_cli_top_driver_job(const struct gp_cli_top_data *top,
							  const struct gp_proto_msg_job *job);

#endif
