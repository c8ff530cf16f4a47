/* SPDX-License-Identifier: MIT */
/*
 * Which process had a GPU, where its driver reports that (gpu/activity.h): a thread reads, the loop
 * accounts. Used by the views of jobs, metrics, the timeline, and the turns of batch jobs. Where
 * nothing is reported, or its reading fails, everything else works as without it, and the device
 * says why.
 */
#ifndef GP_DAEMON_ACTIVITY_H
#define GP_DAEMON_ACTIVITY_H

#include <pthread.h>

#include "base/loop.h"
#include "gpu/activity.h"
#include "proto/daemon.h"
#include "sched/sched.h"

struct gp_daemon;
struct gp_daemon_client;
struct gp_daemon_job;

enum { GP_DAEMON_SWITCHES = 8192 }; /* that wait for the loop; more are lost */

/* A device, as the thread and the loop share it. */
struct gp_daemon_source {
	u32 gpu_id;  /* 0: no more devices */
	bool wanted; /* a job uses it */
	bool open;
	int error;    /* why it is not open */
	u64 lost;     /* since the loop looked */
	u64 until_ns; /* records are complete up to then */
};

struct gp_daemon_seen {
	u32 device;
	struct gp_gpu_switch what;
};

struct gp_daemon_reader {
	pthread_t thread;
	bool running;          /* the thread */
	struct gp_watch watch; /* eventfd: there is something to account */
	int wake;              /* eventfd: there is something to read, or it should end */
	pthread_mutex_t lock;  /* of what follows */
	bool stop;
	u64 interval_ns;
	struct gp_daemon_source sources[GP_SCHED_MAX_DEVICES];
	struct gp_daemon_seen *seen; /* GP_DAEMON_SWITCHES */
	u32 count;
};

/* Of a device, as the loop has it. */
struct gp_daemon_device_activity {
	enum gp_proto_reading state;
	int error;
	bool known;          /* which process has it: there was a record since the last loss */
	u32 active;          /* processes of jobs that have it */
	u64 other_ns;        /* another one has it since then; GP_DAEMON_NEVER */
	u64 until_ns;        /* records are complete up to then */
	u64 ends;            /* how often a process lost it */
	u64 active_ns, lost; /* time that a process had it, records that are missing: in all */
	u64 contended_ns;    /* time in which another process may have waited */
	u64 allowance, refilled_ns; /* of lines in the timeline */
};

/* Of a process. */
struct gp_daemon_client_activity {
	u64 from_ns;      /* counts since then; 0: nothing is reported */
	u64 open_ns;      /* it has the GPU since then; GP_DAEMON_NEVER */
	u32 device;       /* the one it has, by index */
	u64 ended_ns;     /* it had it until then; GP_DAEMON_NEVER */
	u64 contended_ns; /* of its device when it ended */
	u64 runnable_ns;  /* since then it may run */
	u64 ends;         /* of its device at that time */
	bool shown;       /* the timeline has its start */
	u64 active_ns, switches, preempted, lost_ns;
	u64 mark_ns, mark_active_ns; /* of the share */
	u32 share_ppm;
};

/* Of processes of a job that ended. */
struct gp_daemon_job_activity {
	u64 active_ns, switches, preempted, lost_ns;
	bool known;  /* there was such a process */
	bool idle;   /* it could run, and did not want to */
	bool read;   /* its use of the GPU is reported */
	bool recent; /* it has a GPU, or had it a moment ago */
};

/* ---- activity.c: reading ---- */

void gp_daemon_activity_init(struct gp_daemon *daemon);
void gp_daemon_activity_free(struct gp_daemon *daemon);
/* Reads devices that are in use, from now on; starts the thread when there is one. */
void gp_daemon_activity_adapt(struct gp_daemon *daemon);

/* ---- activity_account.c ---- */

void gp_daemon_activity_join(struct gp_daemon_client *client);
/* Its figures stay with its job. */
void gp_daemon_activity_leave(struct gp_daemon_client *client);
void gp_daemon_activity_switch(struct gp_daemon *daemon, u32 device,
			       const struct gp_gpu_switch *what);
/* Records are missing: which process has the GPU is not known. */
void gp_daemon_activity_lost(struct gp_daemon *daemon, u32 device, u64 count);
/* Records up to `until_ns` have been accounted. */
void gp_daemon_activity_until(struct gp_daemon *daemon, u32 device, u64 until_ns);
/* The device is read from now on (error 0), or no longer. */
void gp_daemon_activity_state(struct gp_daemon *daemon, u32 device, enum gp_proto_reading state,
			      int error);
void gp_daemon_activity_view(const struct gp_daemon *daemon, const struct gp_daemon_job *job,
			     struct gp_proto_msg_job *out);

#endif
