/* SPDX-License-Identifier: MIT */
/*
 * The scheduler core: which job has the GPU, and why. A pure state machine: events and time in,
 * actions out. No clock, no I/O, no floating point and no allocation after gp_sched_init(), so that
 * the daemon (real time), sim/ (virtual time) and a kernel host the same code, and the same events
 * give the same actions, bit for bit. One thread owns an instance; nothing here locks.
 *
 * The unit is the job: it owns processes, which own queues, on one or more devices. A job is
 * suspended and resumed as a whole. On each device one policy ranks the jobs that have work there
 * and says which must yield; a job runs unless a device where it has work says that it must yield.
 *
 * Guarantees of every policy, checked by gp_sched_check() (state.h):
 * - No job is held without a live reason: a held job has work, and on some device another job with
 *   work is before it. When the reason ends, the RESUME is among the actions of that same event.
 * - A job without work is held only to make room on the hardware (PARKED, park.c), on devices with
 *   `places` and if it `parks`. Its wait counts from its work on. Its RESUME is among the actions
 * of the event that brings its work, unless a higher job is before it, or equals run that are known
 *   to fill the device: then it is when they drain, or turn_ns after the last one that was let in,
 *   and one of them whose turn is over is held in its place.
 * - No job with work is held longer than its max_suspend (default 2 s); after that it runs for at
 * least turn_ns before it can be held again. Those two together are the starvation bound. Under the
 *   `priority` policy ageing makes it smaller: a job of priority p is held by one of priority P for
 *   at most (P - p) * age_step_ns. Both count what the job was denied before: only a run of turn_ns
 *   makes up for it, and a shorter one for its part.
 * - In any 5 s a job that always has work runs for at least half its fair share of what higher jobs
 *   leave (`priority`): a job must gain twice what operations cost it, and is not preempted before
 *   it has (tally.c). Exceptions: a pin, an absent job, operations on it that fail. The fault tests
 *   check this (sim/share.c).
 *   Where stopping all jobs of a level costs more than a quarter of their time, or they are more
 *   than the device has places, they take turns instead of running side by side, if they complete
 *   as much that way (narrow.c). Then each has its part of that time; a turn beside a higher job
 *   becomes shorter with their number, and ageing counts as max_suspend: turns by age are spread
 *   over that.
 * - No inversion (lower work running beside higher) lasts longer than the shield that allowed it:
 *   a resume that is under way (op_timeout_ns), min_run_ns after it, turn_ns after one by ageing or
 *   max_suspend, the cost estimate when a preemption is declined, what it is owed (at most
 *   1.25 * max_suspend), back-off (at most 10 s) when the job's operations fail. The event that
 * ends the shield has the SUSPEND among its actions.
 * - A device with held work is left idle at most linger_ns (hysteresis), hint_ns (preempt-ahead) or
 *   unknown_ns (a queue that may or may not be drained).
 * - A preemption is declined when it costs more than it saves: the estimate of suspending and
 *   resuming the victim is more than the estimate of what it still needs. When the victim outlives
 *   that second estimate it is suspended after all, so that a wrong estimate costs no more than a
 *   right one would have saved.
 *
 * How a host uses it
 *   size = gp_sched_memory(&config); gp_sched_init(&sched, memory, size, &config);
 *   gp_sched_device_set() for each device, then in a loop:
 *     an event happens -> the function for it, with the time -> gp_sched_take() until it is false.
 * Every event function answers -EAGAIN, and the event has not happened, while actions have not been
 * taken: take them and call again. An event that names something that does not exist is -ENOENT. A
 * time earlier than the last one counts as the last one. Timers that are due happen before any
 * event, so that the promises hold by the time of the events even when the host is late.
 *
 * All actions of one event, up to the gp_sched_take() that answers false, are one batch: its
 * SUSPENDs, or its RESUMEs, may go out in one call per process or per device where the mechanism
 * has one. Shields that end at about the same time end together, so that batches are large. The
 * answers are one per token all the same.
 *
 * Duties of the host
 * - Operations on one job are carried out in the order of their actions. Each is answered once with
 *   gp_sched_operation(); late, repeated or missing answers are tolerated (op_timeout_ns).
 * - A RESUME ends the lease: from that action on it is not renewed, whatever the result of the
 *   operation. So a resume that fails or hangs still ends by the lease.
 * - `mode = observe` is implemented by the host: it answers each operation with 0 without doing it.
 */
#ifndef GP_SCHED_SCHED_H
#define GP_SCHED_SCHED_H

#include "base/core.h"

#define GP_SCHED_MAX_DEVICES      64
#define GP_SCHED_MAX_JOBS         65536
#define GP_SCHED_MAX_PROCESSES    65536
#define GP_SCHED_MAX_QUEUES       (1u << 20)
#define GP_SCHED_PRIORITY_MAX     65535u
#define GP_SCHED_PRIORITY_NORMAL  1000u
#define GP_SCHED_PRIORITY_OFFLINE 500u
#define GP_SCHED_PRIORITY_ONLINE  2000u
#define GP_SCHED_STREAM_STEP      100u /* a high or low stream adds or takes this */
#define GP_SCHED_WEIGHT_DEFAULT   100u
#define GP_SCHED_WEIGHT_MAX       10000u
#define GP_SCHED_NONE             0xffffffffu /* no such job, device, priority... */
#define GP_SCHED_NEVER            UINT64_MAX
#define GP_SCHED_UNKNOWN          UINT64_MAX   /* an estimate or a measurement that is missing */
#define GP_SCHED_TIME_MAX         (1ull << 62) /* later counts as this */
#define GP_SCHED_SPAN_MAX         (1ull << 40) /* of any duration in a config: 18 minutes */

enum gp_sched_policy_id {
	GP_SCHED_OFF,      /* no job yields */
	GP_SCHED_PRIORITY, /* highest logical priority first, equals side by side, with ageing */
	GP_SCHED_FAIR,     /* weighted dominant-resource fairness: the job that is ahead yields */
	GP_SCHED_DEADLINE, /* earliest deadline first, with admission */
	GP_SCHED_QUANTUM,  /* one at a time, in turn, for a share of the period */
	GP_SCHED_POLICIES,
};

struct gp_sched_config {
	u32 devices, max_jobs, max_processes, max_queues;
	u64 lease_ns;       /* of a suspension; renewed every third of it */
	u64 max_suspend_ns; /* for jobs that do not say */
	u64 op_timeout_ns;  /* an operation not answered by then counts as failed */
};

/* Everything that belongs to one device. gp_sched_device_defaults() has the usual values. */
struct gp_sched_device_config {
	enum gp_sched_policy_id policy;
	bool can_suspend;          /* false: no job is held because of this device */
	bool can_share;            /* SHARE works: `quantum` gives shares instead of turns */
	bool slices;               /* SHARE is the length of turns that the hardware takes by itself
				    * and idle jobs do not use: `priority` also sets it */
	u64 suspend_ns, resume_ns; /* cost, until there is a measurement */
	u64 min_run_ns;            /* a resumed job is left alone for that long */
	u64 turn_ns;               /* the same after a resume by ageing, max_suspend or a turn */
	u64 linger_ns;    /* a drained job keeps its place for at most this long; 0: not at all */
	u64 hint_ns;      /* a hint has missed if no work came this long after its time */
	u64 unknown_ns;   /* a queue that is `unknown` for this long counts as drained */
	u64 age_step_ns;  /* priority: held for this long = one level up; 0: no ageing */
	u64 slice_ns;     /* fair: how far ahead, at weight 100, one may be; quantum: the period;
			   * in_turns: a turn */
	u32 places;       /* processes that it runs at once, by its VMIDs; 0: not known. With more,
			   * idle ones are parked (park.c), and those with work take turns as
			   * soon as one is preempted (narrow.c) */
	u64 memory_bytes; /* fair: the device's memory; 0 leaves memory out of the account */
	u32 utilisation_ppm; /* deadline: admitted up to here, in millionths of the device */
};

enum gp_sched_class { GP_SCHED_CLASS_NORMAL, GP_SCHED_CLASS_ONLINE, GP_SCHED_CLASS_OFFLINE };

/* The wishes for a job; each can be changed at any time. */
struct gp_sched_job_spec {
	u64 tag; /* the host's; comes back in the job's state */
	enum gp_sched_class class;
	u32 priority; /* 0..65535, higher wins; GP_SCHED_NONE: by class (500, 1000, 2000) */
	u32 weight;   /* fair, quantum: 1..10000; 0: 100 */
	/*
	 * deadline_ns != 0: every burst of work must end this long after it arrived, and needs
	 * at most budget_ns of the device, once in period_ns (0: the same as the deadline).
	 */
	u64 deadline_ns, budget_ns, period_ns;
	u64 max_suspend_ns; /* 0: the config's */
	/* On a device with `slices`, policy `priority`: runs one at a time with the others that say
	 * so, for turns of about slice_ns. Jobs that do not say so come before it. */
	bool in_turns;
	/* Suspended, it is off the hardware with all its queues, and the host still sees its work:
	 * it can be parked (park.c). */
	bool parks;
};

enum gp_sched_pin {
	GP_SCHED_PIN_NONE,
	GP_SCHED_PIN_RUN,  /* is never held, has no share, and does not count as an inversion */
	GP_SCHED_PIN_HOLD, /* is held now, until the pin is changed or max_suspend is over */
};

enum gp_sched_work {
	GP_SCHED_DRAINED, /* index caught up and last signal fired, or occupancy 0 */
	GP_SCHED_BUSY,
	GP_SCHED_MAYBE, /* index caught up, the rest unknown: drained after unknown_ns */
};

enum gp_sched_stream { GP_SCHED_STREAM_LOW, GP_SCHED_STREAM_NORMAL, GP_SCHED_STREAM_HIGH };

enum gp_sched_action_kind {
	GP_SCHED_SUSPEND, /* the whole job, with a lease until until_ns; idempotent */
	GP_SCHED_RESUME,  /* the whole job */
	GP_SCHED_SHARE,   /* the job's share of the device, relative to the others'; 0: no limit */
	GP_SCHED_RENEW,   /* every lease of a job whose last action is SUSPEND, until until_ns */
	GP_SCHED_TIMER,   /* call gp_sched_timer() at until_ns; replaces the last one */
	GP_SCHED_NOTE,    /* nothing to do: a reason for the record */
};

enum gp_sched_why {
	/* SUSPEND */
	GP_SCHED_WHY_INVERSION, /* `other` has work and is before it */
	GP_SCHED_WHY_HINT,      /* `other` is expected and would be before it */
	GP_SCHED_WHY_AHEAD,     /* fair: it is limit_ns ahead of `other` */
	GP_SCHED_WHY_TURN_OVER, /* quantum: `other` is next */
	GP_SCHED_WHY_PINNED,    /* a user asked for it */
	GP_SCHED_WHY_JOINED,    /* a queue came to a held job: suspend that one too */
	GP_SCHED_WHY_PARKED,    /* it is idle, and others need its place on the hardware */
	/* RESUME */
	GP_SCHED_WHY_CLEAR, /* no job is before it any more */
	GP_SCHED_WHY_AGED,  /* priority: it waited itself up to `other` in limit_ns, in parts */
	GP_SCHED_WHY_TURN,  /* fair, quantum: it is its turn */
	GP_SCHED_WHY_MAX_SUSPEND, /* held for limit_ns, together with what it was denied before */
	GP_SCHED_WHY_IDLE,        /* it has no work left */
	GP_SCHED_WHY_UNPINNED,
	GP_SCHED_WHY_POLICY,    /* the policy or what the device can do was changed */
	GP_SCHED_WHY_GONE,      /* the job was removed; its token is 0, no answer is expected */
	GP_SCHED_WHY_WITHDRAWN, /* it is absent from now on; no token, as for GONE */
	GP_SCHED_WHY_RECOVER,   /* an operation failed: back to the safe side */
	/* NOTE */
	GP_SCHED_WHY_DECLINED,    /* preempting would cost cost_ns and save saves_ns */
	GP_SCHED_WHY_OWED,        /* it ran for ran_ns, and preemptions cost it cost_ns */
	GP_SCHED_WHY_FAILED,      /* an operation failed with `error`; left alone for limit_ns */
	GP_SCHED_WHY_TIMEOUT,     /* an operation was not answered in limit_ns */
	GP_SCHED_WHY_LEASE_LOST,  /* it runs though it was to be held */
	GP_SCHED_WHY_REFUSED,     /* deadline: needs_ppm on top of used_ppm is over limit_ppm */
	GP_SCHED_WHY_OVERRUN,     /* deadline: over its budget of limit_ns, deadline put off */
	GP_SCHED_WHY_MISSED,      /* deadline: drained late_ns = waited_ns after its deadline */
	GP_SCHED_WHY_HINT_MISSED, /* hinted work did not come */
	GP_SCHED_WHY_LINGER,      /* kept its place: it usually comes back after waited_ns */
	GP_SCHED_WHY_EARLY,       /* kept its place: it usually has work for ran_ns */
	GP_SCHED_WHY_ABSENT,      /* the host has stopped it: it has no claim on any device */
	GP_SCHED_WHY_PRESENT,     /* it is back, after waited_ns */
	/* SHARE, RENEW, TIMER */
	GP_SCHED_WHY_WEIGHT,
	GP_SCHED_WHY_ROUTINE,
	GP_SCHED_WHYS,
};

/* The reason why a decision was delayed. */
enum gp_sched_shield {
	GP_SCHED_SHIELD_NONE,
	GP_SCHED_SHIELD_MIN_RUN,
	GP_SCHED_SHIELD_TURN,
	GP_SCHED_SHIELD_COST,
	GP_SCHED_SHIELD_FAILED,
	GP_SCHED_SHIELD_PIN,
	GP_SCHED_SHIELD_OWED,
};

/* Why, and what was seen. Fixed size; times that do not apply are 0, unknown ones UNKNOWN. */
struct gp_sched_reason {
	u64 id;    /* 1, 2, 3... of this instance */
	u64 cause; /* RESUME and NOTE: id of the SUSPEND it belongs to, or 0 */
	u64 at_ns;
	enum gp_sched_why why;
	enum gp_sched_policy_id policy;
	enum gp_sched_shield shield; /* SUSPEND: the cause of its delay */
	u32 job, other, device;      /* or GP_SCHED_NONE */
	u32 job_priority, other_priority;
	u64 job_rank, other_rank; /* the policy's numbers that were compared: less is first */
	u64 waited_ns; /* SUSPEND: by `other` since its work came; RESUME: held; see the enum */
	u64 ran_ns;    /* SUSPEND: by the job since it was resumed or its work came */
	u64 cost_ns;   /* estimate: suspend and resume */
	u64 saves_ns;  /* estimate: time the job still needs */
	u64 limit_ns;  /* the bound that decided */
	u32 used_ppm, needs_ppm, limit_ppm; /* REFUSED */
	s32 error;                          /* FAILED: -errno */
};

struct gp_sched_action {
	enum gp_sched_action_kind kind;
	u32 job, device; /* device: SHARE; for SUSPEND the one that decided */
	u32 share;
	u64 token; /* SUSPEND, RESUME: hand it to gp_sched_operation() */
	u64 until_ns;
	struct gp_sched_reason reason;
};

struct gp_sched;

/* The usual values: 2 s max_suspend, 100 ms leases, 100 ms for an operation. Sizes are not set. */
void gp_sched_defaults(struct gp_sched_config *config);
/* The usual values with the `priority` policy. */
void gp_sched_device_defaults(struct gp_sched_device_config *config);

/* Bytes of memory an instance needs; 0 when the config is not usable. */
size_t gp_sched_memory(const struct gp_sched_config *config);
/*
 * All devices start with their defaults and the policy off. -EINVAL for a config that is not
 * usable, -ENOMEM when size is too small. Memory that is never used is never touched.
 */
int gp_sched_init(struct gp_sched **out, void *memory, size_t size,
		  const struct gp_sched_config *config);

/*
 * Sets policy and numbers of a device. No job is dropped: jobs keep their place, and a held job
 * that need not be held under the new rules is resumed. -EINVAL for values that are not usable.
 * This is the one event that costs time in the number of the device's jobs.
 */
int gp_sched_device_set(struct gp_sched *sched, u64 now, u32 device,
			const struct gp_sched_device_config *config);

/*
 * Jobs, processes and queues come and go. Handles are small numbers and are used again. -ENOSPC
 * when the limits of the config are reached, -EINVAL for a spec that is not usable. Removing a job
 * removes its processes and queues, removing a process its queues: in time proportional to those. A
 * held job that is removed is resumed, last of all.
 */
int gp_sched_job_add(struct gp_sched *sched, u64 now, const struct gp_sched_job_spec *spec,
		     u32 *job);
/*
 * Priority, class, weight, deadline, max_suspend. -EBUSY when a deadline cannot be admitted on a
 * device where the job is: a NOTE says why, and the job stays as it was.
 */
int gp_sched_job_set(struct gp_sched *sched, u64 now, u32 job,
		     const struct gp_sched_job_spec *spec);
int gp_sched_job_pin(struct gp_sched *sched, u64 now, u32 job, enum gp_sched_pin pin);
int gp_sched_job_remove(struct gp_sched *sched, u64 now, u32 job);
/*
 * The host, or another owner, has stopped the job (SIGSTOP, a frozen cgroup, a hold by hand), or it
 * goes on. While it is absent its work claims nothing: no job is held because of it, and neither
 * SUSPEND nor RESUME is issued for it. Queues and their work are still reported, and count again
 * when it returns. A hold that it has is over: the last action on it is a RESUME without a token,
 * which the host may leave to the end of the lease. Operations that are under way are forgotten,
 * and so is back-off: late answers are stale. A pin stays, and is applied again on its return.
 */
int gp_sched_job_absent(struct gp_sched *sched, u64 now, u32 job, bool absent);

int gp_sched_process_add(struct gp_sched *sched, u64 now, u32 job, u32 *process);
int gp_sched_process_remove(struct gp_sched *sched, u64 now, u32 process);

/* A new queue is drained. A job whose deadline does not fit on a new device runs there without. */
int gp_sched_queue_add(struct gp_sched *sched, u64 now, u32 process, u32 device,
		       enum gp_sched_stream stream, u32 *queue);
int gp_sched_queue_remove(struct gp_sched *sched, u64 now, u32 queue);
int gp_sched_queue_stream(struct gp_sched *sched, u64 now, u32 queue, enum gp_sched_stream stream);

/*
 * State of a queue as the device or the client reports it; repeats are harmless. needs_ns: device
 * time that the new work needs, or GP_SCHED_UNKNOWN; only for BUSY.
 */
int gp_sched_work(struct gp_sched *sched, u64 now, u32 queue, enum gp_sched_work work,
		  u64 needs_ns);

/* The job will have work on the device at about at_ns: jobs in its way may be moved before. */
int gp_sched_hint(struct gp_sched *sched, u64 now, u32 job, u32 device, u64 at_ns);

/* Device time used since the last such event. Without it the time a job ran is taken. */
struct gp_sched_usage {
	u64 cu_ns;        /* share of the CUs * time */
	u64 copy_ns;      /* share of the copy engines * time */
	u64 memory_bytes; /* held now */
};
int gp_sched_usage(struct gp_sched *sched, u64 now, u32 job, u32 device,
		   const struct gp_sched_usage *usage);

/*
 * The end of the operation with that token: 0 or -errno, and what it cost the device (or
 * GP_SCHED_UNKNOWN: the time since the action is taken). -ESTALE for a token that is not under way:
 * a late or repeated answer, which changes nothing.
 */
int gp_sched_operation(struct gp_sched *sched, u64 now, u64 token, int result, u64 cost_ns);

/* The job runs though the last action on it was SUSPEND. */
int gp_sched_lease_lost(struct gp_sched *sched, u64 now, u32 job);

/* Time has come. Does nothing when it has not; being late only makes things late. */
int gp_sched_timer(struct gp_sched *sched, u64 now);
/* When gp_sched_timer() has something to do; GP_SCHED_NEVER if it has not. */
u64 gp_sched_next(const struct gp_sched *sched);

/* Whether there are actions to take, so that events are answered with -EAGAIN. */
bool gp_sched_pending(const struct gp_sched *sched);
/* The next action, in the order in which they are to be done: of a batch, SUSPENDs first. */
bool gp_sched_take(struct gp_sched *sched, struct gp_sched_action *out);

enum gp_sched_run {
	GP_SCHED_RUNNING,
	GP_SCHED_SUSPENDING, /* the operation is under way */
	GP_SCHED_SUSPENDED,
	GP_SCHED_RESUMING,
};

struct gp_sched_job_state {
	u64 tag;
	enum gp_sched_class class;
	enum gp_sched_pin pin;
	enum gp_sched_run run;
	bool absent, parked;
	u32 priority, weight;
	u32 processes, queues, busy_queues, devices;
	u64 held_since; /* GP_SCHED_NEVER: is not held */
	u64 held_by;    /* id of the reason for which it is held, or 0 */
	u32 held_for;   /* the job it makes room for now, or GP_SCHED_NONE */
	u64 held_ns;    /* in all, up to now */
	u64 ran_ns;     /* with work and not held, in all, up to gp_sched_now() */
	u64 blocked_ns; /* with work and held, in all: it runs then where nothing is carried out */
	/* Devices on which it runs, or is held with work, now: ran_ns and blocked_ns grow this fast
	 * until the next event. */
	u32 running, blocked;
	u64 absent_ns; /* in all, up to now */
	u64 suspends, declined, failures;
	u64 suspend_ns, resume_ns; /* estimates */
	u64 burst_ns;              /* estimate of a burst of work, or GP_SCHED_UNKNOWN */
};
int gp_sched_job_state(const struct gp_sched *sched, u32 job, struct gp_sched_job_state *out);

struct gp_sched_device_state {
	enum gp_sched_policy_id policy;
	u32 members;       /* jobs with a queue on it */
	u32 running, held; /* of these, with work */
	u32 admitted_ppm;  /* deadline */
	bool narrow;       /* priority: jobs of one level take turns, because stops cost too much */
	bool crowded;      /* more processes than places */
	u64 suspend_ns, resume_ns;
};
int gp_sched_device_state(const struct gp_sched *sched, u32 device,
			  struct gp_sched_device_state *out);

struct gp_sched_stats {
	u64 now_ns, events;
	u32 jobs, processes, queues, held, absent;
	u64 why[GP_SCHED_WHYS]; /* actions by reason */
	u64 stale;              /* answers that were late or repeated */
};
void gp_sched_stats(const struct gp_sched *sched, struct gp_sched_stats *out);

u64 gp_sched_now(const struct gp_sched *sched);

/* Names for configuration files and output: "priority", "max_suspend"... NULL when out of range. */
const char *gp_sched_policy_name(enum gp_sched_policy_id policy);
const char *gp_sched_why_name(enum gp_sched_why why);
const char *gp_sched_shield_name(enum gp_sched_shield shield);

#endif
