/* SPDX-License-Identifier: MIT */
/*
 * The messages of gpreemptd.sock: what the daemon knows, what it decided and why, and the few
 * things it can be asked to change. Same framing as proto/proto.h (one message per packet, HELLO
 * first, answers in order with the request's type and serial, events with serial 0); `gpreempt
 * why`, `log`, `stats`, `top` and `config` speak it. Every user who can connect may look; a user
 * changes only the jobs they own.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC. Unknown values are GP_DAEMON_UNKNOWN or
 * GP_DAEMON_NEVER, never 0.
 */
#ifndef GP_PROTO_DAEMON_H
#define GP_PROTO_DAEMON_H

#include "proto/proto.h"

#define GP_DAEMON_SOCKET  "gpreemptd.sock"
#define GP_DAEMON_UNKNOWN UINT64_MAX
#define GP_DAEMON_NEVER   UINT64_MAX
#define GP_DAEMON_NONE    0xffffffffu

enum {
	GP_DAEMON_JOBS = 64, /* records in one answer */
	GP_DAEMON_ACCOUNTS = 36,
	GP_DAEMON_PIDS = 8, /* processes that an account names */
	GP_DAEMON_DEVICES = 64,
	GP_DAEMON_DECISIONS = 128,
	GP_DAEMON_WORKS = 512,
	GP_DAEMON_WHYS = 40,    /* room for counts by reason */
	GP_DAEMON_BUCKETS = 40, /* of a histogram: bucket n counts 2^n <= ns < 2^(n+1) */
	GP_DAEMON_CLASSES = GP_CLASS_COUNT,
};

enum gp_proto_daemon_msg {
	GP_MSG_DAEMON_STATUS = 128, /* - -> gp_proto_msg_daemon_status */
	GP_MSG_DAEMON_JOBS, /* gp_proto_msg_daemon_ask -> gp_proto_msg_jobs; status is the number in
			       all */
	GP_MSG_DAEMON_DEVICES,   /* - -> gp_proto_msg_devices */
	GP_MSG_DAEMON_DECISIONS, /* gp_proto_msg_daemon_ask -> gp_proto_msg_decisions; status is
				    their number */
	GP_MSG_DAEMON_FOLLOW,    /* - -> -; from then on events GP_MSG_DAEMON_DECISION */
	GP_MSG_DAEMON_STATS,     /* - -> gp_proto_msg_stats */
	GP_MSG_DAEMON_SET,       /* gp_proto_msg_set -> - */
	GP_MSG_DAEMON_PIN,       /* gp_proto_msg_pin -> - */
	GP_MSG_DAEMON_RELOAD,    /* - -> -: reads the configuration again */
	GP_MSG_DAEMON_WORK, /* gp_proto_msg_daemon_ask -> gp_proto_msg_works; status is their number
			     */
	GP_MSG_DAEMON_ACCOUNTS, /* gp_proto_msg_daemon_ask -> gp_proto_msg_accounts; status is the
				   number in all */
	GP_MSG_DAEMON_HOLD, /* gp_proto_msg_named_hold -> gp_proto_msg_named_held; the answer comes
			       when the processes are suspended, or cannot be */

	GP_MSG_DAEMON_DECISION = 160, /* event: gp_proto_msg_decision */
};

struct gp_proto_msg_daemon_status {
	u64 started_ns, now_ns;
	u64 first_decision, next_decision; /* ids that can be asked for: first <= id < next */
	u32 pid, mode;                     /* mode: 0 observe, 1 act */
	u32 jobs, processes, queues, held, devices;
	u32 configured;        /* 1: `config` was read; 0: built-in values */
	u32 urgency;           /* CPU scheduling class: 0 normal, 1 nice, 2 realtime */
	u32 latency_target_us; /* of the class online; 0: none */
	char config[256];
	char problem[GP_PROTO_TEXT]; /* why it cannot act although it should; "" nothing */
};

struct gp_proto_msg_daemon_ask {
	u64 first; /* jobs, accounts: how many to skip; decisions: id of the first one wanted */
	u32 pid;   /* only what concerns this process; 0: everything */
	u32 reserved;
};

enum gp_proto_daemon_run { /* as enum gp_sched_run */
			   GP_DAEMON_RUNNING,
			   GP_DAEMON_SUSPENDING,
			   GP_DAEMON_SUSPENDED,
			   GP_DAEMON_RESUMING,
};

/* Whether queues that a program names are not scheduled, and why. */
enum gp_proto_daemon_claim {
	GP_CLAIM_HOLDS,
	GP_CLAIM_NOT_LISTED, /* the driver does not list them */
	GP_CLAIM_UNCHECKED,  /* the driver cannot be asked, and it is another user's program */
};

/* Why a job has no claim on a GPU although it may have work. */
enum gp_proto_away {
	GP_AWAY_NOT,
	GP_AWAY_STOPPED, /* by a signal */
	GP_AWAY_TRACED,  /* by a debugger */
	GP_AWAY_FROZEN,  /* its control group is */
	GP_AWAY_HAND,    /* suspended by another process than gpreemptd */
	GP_AWAY_OWNER,   /* held by name: gp_proto_msg_named_hold */
	GP_AWAY_SWAPPED, /* its GPU memory is in host memory, by a rule */
};

/* Whether gpreemptd keeps a job that is away off the GPU: of its processes, the worst. */
enum gp_proto_kept {
	GP_KEPT_NOT,
	GP_KEPT_HELD,
	GP_KEPT_ASKED,  /* the call is under way */
	GP_KEPT_FAILED, /* it is tried again */
};

enum gp_proto_slice { /* of the slowest of a job's processes */
		      GP_SLICE_NONE,
		      GP_SLICE_CONFIRMED, /* set and read back */
		      GP_SLICE_REQUESTED,
		      GP_SLICE_FAILED, /* it is tried again */
};

struct gp_proto_msg_job {
	u64 id;       /* of this job in the daemon's life; never used again */
	u32 uid, pid; /* pid: of its first process */
	u32 processes, queues, busy_queues, devices;
	u32 job_class, priority, weight, pin, run;
	u32 gpu_id;     /* of its first queue; 0: it has none */
	u32 attached;   /* 1: watched from outside; 0: through its agent */
	u32 held_for;   /* pid that it makes room for, or GP_DAEMON_NONE */
	u32 claim;      /* enum gp_proto_daemon_claim: of its processes, the worst */
	u32 ceiling;    /* its priority is limited to this; GP_DAEMON_NONE: it asked for less */
	u64 held_since; /* GP_DAEMON_NEVER: is not held */
	u64 held_ns, ran_ns;
	u64 suspends, declined, failures; /* declined in any mode */
	/* Of mode act while gpreemptd observed, now or before. In none of the other totals. */
	u64 would_held_ns, would_longest_ns, would_suspends, would_preempted, would_waited_ns;
	u64 preempted; /* times that others were suspended for it */
	u64 waited_ns; /* in all, by its work before others were suspended for it */
	u64 suspend_ns, resume_ns, burst_ns; /* estimates */
	u64 backlog;                         /* packets not launched, or GP_DAEMON_UNKNOWN */
	u64 started_ns, ended_ns;            /* ended_ns: GP_DAEMON_NEVER while it exists */
	u32 away, away_by; /* enum gp_proto_away; pid of the process that suspended it, or 0 */
	u64 away_since;    /* GP_DAEMON_NEVER: is not away */
	u32 kept;          /* enum gp_proto_kept */
	s32 keep_error;    /* failed: -errno */
	u32 changed;       /* enum gp_proto_daemon_set: by a user, which overrides its rule */
	u32 reserved;
	u64 longest_ns;  /* the longest time that it was held, by whatever */
	u32 latency_of;  /* 1: announced requests; 0: bursts of work */
	u32 slice_state; /* enum gp_proto_slice */
	u64 latency_count, latency_p50_ns, latency_p99_ns; /* from arrival to completion */
	u32 slice_us;                                      /* confirmed: as the driver reports it */
	s32 slice_error;                                   /* failed: -errno */
	/* What the driver reports of its use of the GPU; activity 0: nothing. */
	u32 activity, share_ppm;   /* share of the GPU's time in the last second */
	u64 active_ns, switches;   /* time that it had the GPU; how often it got it */
	u64 switched_out, lost_ns; /* times that the hardware took it away from its work, and how
				    * long it waited then */
	u64 memory;                /* on the GPU; 0: not known */
	u64 swapped;               /* bytes that are in host memory, by a rule */
	char swap_said[GP_PROTO_TEXT]; /* why it was not swapped out the last time; "": it was */
	char name[GP_PROTO_NAME], group[GP_PROTO_NAME], rule[GP_PROTO_NAME];
	char owner[GP_PROTO_NAME]; /* GP_AWAY_OWNER: the name of the owner */
};

struct gp_proto_msg_jobs {
	u32 count, reserved;
	struct gp_proto_msg_job jobs[];
};

/* A job with its identity: a current one, or one of the last that ended. */
struct gp_proto_msg_account {
	struct gp_proto_msg_job job;
	u32 pids[GP_DAEMON_PIDS]; /* processes that it had; 0: no more */
	char user[GP_PROTO_NAME];
	char cgroup[512]; /* of its first process; "": not known */
};

struct gp_proto_msg_accounts {
	u32 count, reserved;
	struct gp_proto_msg_account accounts[];
};

/* Why gpreemptd does not preempt on a GPU for a while. */
enum gp_proto_stand {
	GP_STAND_NOT,
	GP_STAND_FAILURES, /* operations failed, one after the other */
	GP_STAND_LOSS,     /* they cost more than they gained */
};

/* Whether it is read which process uses a GPU. */
enum gp_proto_reading {
	GP_READING_NONE, /* this kind of GPU does not report it */
	GP_READING_UNUSED,
	GP_READING_ON,
	GP_READING_FAILED,
};

struct gp_proto_msg_device {
	u32 gpu_id, node;
	u32 policy, can_suspend, can_share;
	u32 broken; /* 1: preempting is switched off, a driver call failed badly */
	u32 members, running, held, admitted_ppm;
	u64 suspend_ns, resume_ns;
	u64 busy_ns;                   /* in all, with a job running on it */
	u32 stands_down;               /* enum gp_proto_stand */
	u32 mhz;                       /* clock; 0 as below */
	u64 again_ns;                  /* GP_DAEMON_NEVER: does not stand down */
	u64 stood_down;                /* times */
	u32 reading;                   /* enum gp_proto_reading */
	s32 reading_error;             /* FAILED: -errno */
	u64 active_ns;                 /* time that a process had it */
	u64 switches_lost;             /* records that are missing; times are too small by them */
	u64 memory_total, memory_free; /* total 0: not known, or the driver's files show it */
	u32 milliwatts, celsius;       /* 0: likewise */
	char name[GP_PROTO_NAME];
};

struct gp_proto_msg_devices {
	u32 count, reserved;
	struct gp_proto_msg_device devices[];
};

enum gp_proto_decision_kind { /* the first as enum gp_sched_action_kind */
			      GP_DECISION_SUSPEND,
			      GP_DECISION_RESUME,
			      GP_DECISION_SHARE,
			      GP_DECISION_RENEW,
			      GP_DECISION_TIMER,
			      GP_DECISION_NOTE,
			      GP_DECISION_DONE, /* an operation ended: cause, cost_ns, error;
						 * why: SUSPEND, RESUME or SHARE */
			      GP_DECISION_CAME, /* a job came; gone */
			      GP_DECISION_WENT,
			      /* preempting on gpu_id costs more than it gains, or fails: why is
			       * enum gp_proto_stand, limit_ns the pause, cost_ns and saves_ns what
			       * was measured; and the end of it */
			      GP_DECISION_STAND_DOWN,
			      GP_DECISION_ACT_AGAIN,
			      /* a job that is away is suspended as well (or error says why not),
			       * and is let go: away, other_name (the owner), waited_ns */
			      GP_DECISION_KEPT,
			      GP_DECISION_LET_GO,
			      /* a user set the job's priority, class or weight: why is enum
			       * gp_proto_daemon_set, one of them; other_name is the user */
			      GP_DECISION_SET,
};

/* A line of the record: the observation and the action. As struct gp_sched_reason, with names. */
struct gp_proto_msg_decision {
	u64 id; /* of this line: 1, 2, 3... without gaps; a gap means that lines were lost */
	u64 reason, cause; /* ids of the core's reasons */
	u64 at_ns;
	u32 kind, why, policy, shield;
	u64 job, other; /* ids of jobs; 0: none */
	u32 job_pid, other_pid;
	u32 gpu_id;
	u32 observed; /* 1: it was only recorded, nothing was done */
	u32 job_priority, other_priority;
	u64 job_rank, other_rank;
	u64 waited_ns, ran_ns, cost_ns, saves_ns, limit_ns;
	u32 used_ppm, needs_ppm, limit_ppm;
	s32 error;
	u32 share, job_class;
	u32 away, away_by; /* a job is away or back: enum gp_proto_away; pid of its holder, or 0 */
	u32 slice_us;      /* DONE of a share: as the driver reports it; 0: none */
	u32 reserved;
	char job_name[GP_PROTO_NAME], other_name[GP_PROTO_NAME];
};

struct gp_proto_msg_decisions {
	u32 count, reserved;
	struct gp_proto_msg_decision decisions[];
};

/* A queue got work, or has none left: a line of a second record, which is longer than that of
 * decisions in lines and shorter in time. */
struct gp_proto_msg_work {
	u64 id; /* 1, 2, 3... without gaps */
	u64 at_ns;
	u64 job; /* its id */
	u32 pid, kfd_id, gpu_id;
	u32 work; /* as enum gp_sched_work: drained, busy, perhaps */
};

struct gp_proto_msg_works {
	u32 count, reserved;
	struct gp_proto_msg_work works[];
};

struct gp_proto_daemon_histogram {
	u64 count, sum_ns, max_ns;
	u64 bucket[GP_DAEMON_BUCKETS];
};

struct gp_proto_msg_stats {
	u64 started_ns, now_ns, events;
	u32 mode, jobs, processes, queues, held, why_count;
	u64 why[GP_DAEMON_WHYS];
	u64 preemptions; /* jobs suspended because another had work */
	u64 operations, failures, leases_lost, renewals;
	u64 suspended_ns[GP_DAEMON_CLASSES]; /* by the class of the held job */
	struct gp_proto_daemon_histogram
		burst[GP_DAEMON_CLASSES];                 /* work came until it was drained */
	struct gp_proto_daemon_histogram waited;          /* work came until others had to yield */
	struct gp_proto_daemon_histogram suspend, resume; /* operations, as the driver took them */
	/* observe: as if it had acted */
	u64 would_preemptions, would_cost_ns;
	struct gp_proto_daemon_histogram would_waited;
	u64 beside_ns; /* that work ran beside work that would have been held for it */
	u64 refused_clients, dropped_messages; /* over a user's limits */
};

enum gp_proto_daemon_set {
	GP_DAEMON_SET_PRIORITY = 1u << 0,
	GP_DAEMON_SET_CLASS = 1u << 1,
	GP_DAEMON_SET_WEIGHT = 1u << 2,
};

struct gp_proto_msg_set {
	u32 pid;
	u32 what; /* enum gp_proto_daemon_set */
	u32 priority, job_class, weight;
	u32 reserved;
};

struct gp_proto_msg_pin {
	u32 pid;
	u32 pin; /* 0 none, 1 run, 2 hold */
};

/* Keeps the jobs of a group off the GPU for as long as the connection stays, or ends that. A job of
 * Slurm is in the group "slurm-JOBID" whatever its programs call theirs. Only for root and the
 * daemon's user. */
struct gp_proto_msg_named_hold {
	char owner[GP_PROTO_NAME]; /* shown to users: "slurm" */
	char group[GP_PROTO_NAME];
	u32 on; /* 0: ends it, whichever connection asked for it */
	u32 reserved;
};

struct gp_proto_msg_named_held {
	u32 processes; /* that there are now; more that come are held as well */
	u32 held;      /* of these, suspended */
};

_Static_assert(sizeof(struct gp_proto_msg) + sizeof(struct gp_proto_msg_jobs) +
			       GP_DAEMON_JOBS * sizeof(struct gp_proto_msg_job) <=
		       GP_PROTO_MAX,
	       "jobs fit");
_Static_assert(sizeof(struct gp_proto_msg) + sizeof(struct gp_proto_msg_accounts) +
			       GP_DAEMON_ACCOUNTS * sizeof(struct gp_proto_msg_account) <=
		       GP_PROTO_MAX,
	       "accounts fit");
_Static_assert(sizeof(struct gp_proto_msg) + sizeof(struct gp_proto_msg_decisions) +
			       GP_DAEMON_DECISIONS * sizeof(struct gp_proto_msg_decision) <=
		       GP_PROTO_MAX,
	       "decisions fit");
_Static_assert(sizeof(struct gp_proto_msg) + sizeof(struct gp_proto_msg_works) +
			       GP_DAEMON_WORKS * sizeof(struct gp_proto_msg_work) <=
		       GP_PROTO_MAX,
	       "work fits");
_Static_assert(sizeof(struct gp_proto_msg_stats) < GP_PROTO_MAX / 2, "statistics fit");

#endif
