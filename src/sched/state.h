/* SPDX-License-Identifier: MIT */
/*
 * Internals of the scheduler core: its objects, and the functions that its files share.
 * Only sched/ and its own tests include this.
 *
 * A member is a job on a device: it exists while the job has a queue there, and contends while one
 * of those has work, or is about to (a ghost: a hint, or a job that is expected back). On its
 * device a contending member is in RUN, and in LAST unless something shields its job, when its job
 * may run; in HELD when its job is held and this device wants that; in none when another device
 * does.
 *
 *   RUN   best first    the first is not disturbed by the others
 *   LAST  worst first   the first is suspended next
 *   HELD  best first    the first is resumed next
 *   TURN  the same, of those that wait for their turn as well (narrow.c), by what they waited
 *   QUEUED the same, of those that wait for a place on the hardware (park.c)
 *   NEXT  those of TURN, by what they got: the first has the next turn
 *   IDLE  longest first those without work that may be parked (park.c), PARKED those that are
 *
 * An event changes objects and marks devices dirty; gp_sched_settle() then looks at the heads of
 * the dirty devices' orders until they agree. That is all the deciding there is (decide.c).
 */
#ifndef GP_SCHED_STATE_H
#define GP_SCHED_STATE_H

#include "sched/sched.h"
#include "sched/order.h"

#define GP_SCHED_ACTIONS     256 /* room for them; settling goes on when they are taken */
#define GP_SCHED_EVENT_ROOM  8   /* actions that one timer or one step may make */
#define GP_SCHED_TOKEN_SHIFT 20
#define GP_SCHED_RETRY_NS    GP_NS_PER_MS /* a failed resume: again after that, doubled... */
#define GP_SCHED_RETRY_SHIFT 10           /* ... so often at most */
#define GP_SCHED_BACKOFF_NS  10000000ull  /* a failed suspend: left alone, doubled as well */
#define GP_SCHED_HINT_TRUST  3            /* misses in a row after which hints do not act */
#define GP_SCHED_EARLY       4            /* a burst below 1 / 4 of the usual may be a pause */
#define GP_SCHED_STORM       8            /* operations at once count as so many at most */
#define GP_SCHED_HALF_LIFE   30           /* 2^30 ns: gains and losses count half after that */
#define GP_SCHED_AVERAGE     3            /* estimates move by 1 / 2^3 of the difference */
#define GP_SCHED_BACKGROUND  (1ull << 63) /* deadline: keys of those without one */

enum {
	GP_ORDER_RUN,
	GP_ORDER_LAST,
	GP_ORDER_HELD,
	GP_ORDER_TURN,
	GP_ORDER_QUEUED,
	GP_ORDER_NEXT,
	GP_ORDER_IDLE,
	GP_ORDER_PARKED,
	GP_ORDERS
};

enum gp_sched_ghost { GP_GHOST_NONE, GP_GHOST_LINGER, GP_GHOST_HINT };

struct gp_sched_queue {
	struct gp_list link; /* in its process */
	u32 member;          /* + 1; 0: not in use */
	u16 epoch;           /* MAYBE: the member's when it was counted */
	u8 stream, work;     /* enum gp_sched_stream, enum gp_sched_work */
};

struct gp_sched_process {
	struct gp_list link; /* in its job */
	struct gp_list queues;
	u32 job; /* + 1 */
};

struct gp_sched_member {
	struct gp_list link; /* in its device */
	u32 job, queues;
	u32 processes, resident; /* counted in those of its device */
	u8 device;
	bool used, contends, metered;
	bool waits;      /* its job is held and this device wants it so */
	bool over;       /* narrow: its turn is */
	bool slot;       /* narrow: it runs, and counts in the device's `slots` */
	bool beside;     /* park.c: in this burst it started beside an equal or higher one */
	u8 ghost;        /* enum gp_sched_ghost */
	u8 early_misses; /* it kept its place in vain, so often in a row */
	u8 waits_in;     /* HELD, TURN or QUEUED; GP_ORDERS: none */
	u16 epoch;       /* of its MAYBE queues */
	u32 busy[3];     /* queues with work by stream, MAYBE ones of this epoch among them */
	u32 place[GP_ORDERS];
	u32 maybe[3];
	u32 doubted; /* MAYBE queues of any epoch: they may have work */
	u32 parked;  /* park.c: processes, counted in those of its device */
	u64 mark;    /* ran_ns is right up to here, while it runs */
	u64 ran_ns;  /* in this burst of work */
	/* Estimates: of a burst, of the gap between two; 0 = none yet. And what the host said. */
	u64 burst_ns, gap_ns, needs_ns;
	u64 arrived, drained;
	u64 alone_ns; /* park.c: a burst without an equal or higher one beside it; 0: none yet */
	u64 maybe_until, ghost_until, hint_at;
	struct gp_list job_link;
	/* The policies'. */
	u64 tick_at;  /* look at it again, while it runs */
	u64 vtime;    /* fair */
	u64 clock;    /* fair, deadline: the device's, so far accounted for */
	u64 usage_at; /* fair: of the last report */
	u64 turn;     /* quantum, turns */
	u64 served;   /* narrow: it ran for so long .. */
	u32 round;    /* .. since the device became narrow for this time */
	u64 deadline, due, budget, period_end; /* deadline: now, of this burst, left */
	u32 ppm;                               /* deadline: admitted with; 0: not admitted */
	u32 share;                             /* last SHARE */
};

struct gp_sched_job {
	struct gp_list link; /* the pool's */
	bool used, outlived; /* outlived: a preemption was declined, and the burst went on */
	bool absent;         /* the host has stopped it: none of its members contends */
	bool parked;         /* held without work, for its place: park.c */
	bool queued;         /* it was, until its work came: it waits for a place */
	u8 run, shield, pin; /* enums gp_sched_run, gp_sched_shield, gp_sched_pin */
	u8 put_off;          /* the shield that ended at put_off_at */
	u32 contending;      /* members */
	u32 priority, weight;
	u64 held_since; /* time of the SUSPEND; GP_SCHED_NEVER: not held */
	u64 aged_since; /* the same less what it was denied before and has not made up for */
	struct gp_list members, processes;
	u64 shield_until, shield_ns, put_off_at;
	struct gp_sched_job_spec spec;
	u64 held_by;
	u32 held_device;
	u64 token, op_at, op_until, retry_at;
	u64 lost_at;   /* its lease was lost */
	u32 op_device; /* with a token: where it counts in `switching` */
	bool storms;   /* and in `storm` */
	u32 op_among;  /* operations under way there when it began, itself among them */
	bool was_idle; /* when it was last suspended: that costs less than a preemption */
	u32 tries;     /* failures in a row */
	u32 hint_misses;
	u64 suspend_ns, resume_ns; /* 0: none yet */
	u32 process_count, queue_count;
	u64 held_ns, ran_ns, resumed_at;
	u64 blocked_ns; /* with work and held */
	u64 absent_since, absent_ns;
	u64 denied_ns;   /* when it was last let go: since aged_since */
	u64 makes_up_ns; /* a run of that length makes up for it */
	/* Time with work in which it ran, and that preemptions took from it; the last seconds'. */
	u64 gained_ns, lost_ns;
	u64 tally_at, window_at;
	u64 storm_ns, storm_weighted; /* of the device it was last held for, at tally_at */
	u64 suspends, declined, failures;
};

struct gp_sched_policy;

struct gp_sched_device {
	struct gp_sched_device_config config;
	const struct gp_sched_policy *policy;
	struct gp_sched_order order[GP_ORDERS];
	struct gp_list members, *share_cursor;
	u32 member_count, index;
	u64 suspend_ns, resume_ns; /* estimates */
	bool changed;              /* by gp_sched_device_set(), not settled yet */
	u64 weights;               /* of contending members */
	u32 contenders;
	u32 processes, resident; /* of all members, and of those that are not held: park.c */
	u32 parked;              /* processes of jobs that are held without work */
	u32 queue_level;         /* priority of those that wait for a place */
	u64 let_in_at;           /* the last one of those that waited for a place */
	u64 stretch;    /* a burst beside others, in sixteenths of one alone; 0: not known */
	u64 stretch_at; /* when it was last seen */
	u32 switching;  /* operations under way */
	u32 storm;      /* of these, of jobs whose last one did not fail */
	u64 storm_ns, storm_weighted, storm_at; /* see tally.c */
	u64 clock, clock_at; /* ns << 4 / number of running, while nothing is switching */
	u64 vfloor;          /* fair */
	u64 turn;            /* quantum, turns: the last one given */
	u32 admitted_ppm;    /* deadline */
	/* narrow.c */
	bool narrow, rate_known; /* rate_known: rate_wide is */
	u32 narrow_level, slots;
	u32 round;         /* how often it became narrow */
	u64 served;        /* by the last member that had a turn, until then */
	u64 forced_at;     /* the last turn beside a higher job */
	u64 stopped_at;    /* the last of its level was, as .. */
	u32 stopped;       /* .. so many at that time */
	u64 narrow_ageing; /* after so long one of that level comes beside a higher one */
	u64 preempted_at, wide_until, wide_ns;
	u64 owed_first, owed_last;
	u64 rate_at, rate_drains, rate_wide;
	u64 slot_ns, slot_since; /* time with a slot in use, since rate_at */
	u32 slot_count;          /* how often one was given */
	u64 run_ns;              /* time for which one had it, on average */
	u64 turn_ns;             /* a turn, by what is left to the level; 0: not known yet */
};

/*
 * A policy is these few functions. `best` is the first of RUN. Where one is NULL nothing is to do.
 */
struct gp_sched_policy {
	const char *name;
	bool declines; /* preemptions are weighed against their cost */
	bool ahead;    /* hints and lingering make sense */
	bool owes;     /* a job that preemptions cost more than it gets is left alone */
	bool clock;    /* reckons with device->clock */
	bool parks;    /* idle jobs make room on the hardware: park.c */
	enum gp_sched_why suspends, resumes;
	/* Its place among the running or the held members. Less is first. */
	u64 (*key)(const struct gp_sched *sched, const struct gp_sched_member *member, bool held);
	/* Must member, which runs, make room for best? */
	bool (*yields)(const struct gp_sched *sched, const struct gp_sched_member *best,
		       const struct gp_sched_member *member);
	/* From when on may member, which is held, run beside best? */
	u64 (*returns)(const struct gp_sched *sched, const struct gp_sched_member *best,
		       const struct gp_sched_member *member);
	/* Work came to a member that had none; it has drained; it starts to run (again). */
	void (*arrive)(struct gp_sched *sched, struct gp_sched_member *member);
	void (*drain)(struct gp_sched *sched, struct gp_sched_member *member);
	void (*start)(struct gp_sched *sched, struct gp_sched_member *member);
	/* It has run for so long since the last time this was called. */
	void (*ran)(struct gp_sched *sched, struct gp_sched_member *member, u64 ns);
	/* tick_at has come. True when its key may have changed. */
	void (*tick)(struct gp_sched *sched, struct gp_sched_member *member);
	/* Before best is compared with others: brings its key up to date. True when it moved. */
	bool (*refresh)(struct gp_sched *sched, struct gp_sched_member *best);
	void (*used)(struct gp_sched *sched, struct gp_sched_member *member,
		     const struct gp_sched_usage *usage);
	/* The policy is set, or the member is new, or its job's spec changed; and the opposite. */
	void (*join)(struct gp_sched *sched, struct gp_sched_member *member);
	void (*leave)(struct gp_sched *sched, struct gp_sched_member *member);
};

struct gp_sched {
	struct gp_sched_config config;
	u64 now;
	u64 dirty; /* a bit per device */
	struct gp_pool jobs, processes, queues, members;
	struct gp_sched_device *device;
	struct gp_sched_order timers;
	u32 *timer_place;
	u32 timer_member, timer_device, timer_renew; /* where their numbers start */
	u64 armed;                                   /* last TIMER */
	u32 held;                                    /* jobs */
	u64 tokens, reasons;
	struct gp_sched_action *actions;
	u32 action_count;                                       /* to be taken */
	u32 action_first, action_last, first_taken, last_taken; /* sched.c */
	struct gp_sched_stats stats;
};

/* policy_turns.c, for policy_priority.c */
u64 gp_sched_turns_key(const struct gp_sched_member *member);
void gp_sched_turns_arrive(struct gp_sched *sched, struct gp_sched_member *member);
void gp_sched_turns_start(struct gp_sched *sched, struct gp_sched_member *member);
void gp_sched_turns_tick(struct gp_sched *sched, struct gp_sched_member *member);

extern const struct gp_sched_policy gp_sched_policy_off, gp_sched_policy_priority,
	gp_sched_policy_fair, gp_sched_policy_deadline, gp_sched_policy_quantum;

static inline struct gp_sched_job *gp_job_at(const struct gp_sched *s, u32 index)
{
	return (struct gp_sched_job *)s->jobs.base + index;
}

static inline u32 gp_job_index(const struct gp_sched *s, const struct gp_sched_job *job)
{
	return (u32)(job - (const struct gp_sched_job *)s->jobs.base);
}

static inline struct gp_sched_member *gp_member_at(const struct gp_sched *s, u32 index)
{
	return (struct gp_sched_member *)s->members.base + index;
}

static inline u32 gp_member_index(const struct gp_sched *s, const struct gp_sched_member *member)
{
	return (u32)(member - (const struct gp_sched_member *)s->members.base);
}

static inline struct gp_sched_job *gp_member_job(const struct gp_sched *s,
						 const struct gp_sched_member *member)
{
	return gp_job_at(s, member->job);
}

static inline struct gp_sched_device *gp_member_device(const struct gp_sched *s,
						       const struct gp_sched_member *member)
{
	return &s->device[member->device];
}

/* The logical priority on this device: the job's, and its busy streams'. */
static inline u32 gp_sched_member_priority(const struct gp_sched *s,
					   const struct gp_sched_member *member)
{
	u32 priority = gp_member_job(s, member)->priority;

	if (member->busy[GP_SCHED_STREAM_HIGH])
		return GP_MIN(priority + GP_SCHED_STREAM_STEP, GP_SCHED_PRIORITY_MAX);
	if (member->busy[GP_SCHED_STREAM_LOW] && !member->busy[GP_SCHED_STREAM_NORMAL])
		return priority - GP_MIN(priority, GP_SCHED_STREAM_STEP);
	return priority;
}

/* It runs in turns with others of its device. */
static inline bool gp_sched_turns_has(const struct gp_sched *s,
				      const struct gp_sched_member *member)
{
	const struct gp_sched_device_config *config = &gp_member_device(s, member)->config;

	return config->slices && config->policy == GP_SCHED_PRIORITY &&
	       gp_member_job(s, member)->spec.in_turns;
}

/* It takes turns with its equals: narrow.c. */
static inline bool gp_sched_narrow_has(const struct gp_sched *s,
				       const struct gp_sched_member *member)
{
	const struct gp_sched_device *device = gp_member_device(s, member);

	return device->narrow && !gp_sched_turns_has(s, member) &&
	       gp_sched_member_priority(s, member) == device->narrow_level;
}

static inline bool gp_job_held(const struct gp_sched_job *job)
{
	return job->held_since != GP_SCHED_NEVER;
}

static inline u32 gp_member_work(const struct gp_sched_member *member)
{
	return member->busy[0] + member->busy[1] + member->busy[2];
}

/* Of one that runs: can it be preempted now? A ghost has nothing to preempt. */
static inline bool gp_member_exposed(const struct gp_sched *s, const struct gp_sched_member *member)
{
	const struct gp_sched_job *job = gp_member_job(s, member);

	return gp_member_device(s, member)->config.can_suspend && !member->ghost && !job->shield &&
	       job->run == GP_SCHED_RUNNING;
}

static inline u64 gp_later(u64 at, u64 by)
{
	return GP_MIN(at + by, GP_SCHED_TIME_MAX); /* both are at most 2^62 */
}

/* Held, and this device wants it so. */
static inline bool gp_member_waits(const struct gp_sched_member *member)
{
	return member->waits_in != GP_ORDERS;
}

/* The first member of an order, or NULL. */
static inline struct gp_sched_member *gp_order_top(const struct gp_sched *s,
						   const struct gp_sched_order *order)
{
	return order->count ? gp_member_at(s, order->entry[0].id) : NULL;
}

/* sched.c */
struct gp_sched_job *gp_sched_job(const struct gp_sched *sched, u32 job);
/* Starts an event: -EAGAIN when there are actions to take; else it is now, and nothing is due. */
int gp_sched_begin(struct gp_sched *sched, u64 now);
struct gp_sched_action *gp_sched_emit(struct gp_sched *sched, enum gp_sched_action_kind kind,
				      enum gp_sched_why why, u32 job, u32 other, u32 device);
void gp_sched_move_timer(struct gp_sched *sched, u32 id, u64 at);
/* Most are asked for again as they are. */
static inline void gp_sched_set_timer(struct gp_sched *sched, u32 id, u64 at)
{
	u32 place = sched->timer_place[id];

	if (place ? sched->timers.entry[place - 1].key != at : at != GP_SCHED_NEVER)
		gp_sched_move_timer(sched, id, at);
}
/* A running average: the first value counts whole. */
u64 gp_sched_average(u64 average, u64 value);

/* member.c */
/* Brings its running time up to now. */
void gp_sched_member_account(struct gp_sched *sched, struct gp_sched_member *member);
/* Brings the device's clock up to now: it counts the device time of each running member. */
void gp_sched_device_clock(struct gp_sched *sched, struct gp_sched_device *device);
/* Into and out of the orders, as its state and its job's demand; again when its key may differ. */
void gp_sched_member_place(struct gp_sched *sched, struct gp_sched_member *member);
void gp_sched_job_place(struct gp_sched *sched, struct gp_sched_job *job);
/* After its queues changed: work came, or the last is gone. */
void gp_sched_member_update(struct gp_sched *sched, struct gp_sched_member *member);
void gp_sched_member_unghost(struct gp_sched *sched, struct gp_sched_member *member);
/* Its work claims nothing from now on: the job is absent. */
void gp_sched_member_withdraw(struct gp_sched *sched, struct gp_sched_member *member);
void gp_sched_member_arm(struct gp_sched *sched, struct gp_sched_member *member);
void gp_sched_member_timer(struct gp_sched *sched, struct gp_sched_member *member);
/* Time it still needs, as the host said or by experience; or GP_SCHED_UNKNOWN. */
u64 gp_sched_member_remaining(const struct gp_sched *sched, const struct gp_sched_member *member);
/* It has run for longer than that said, or nothing is known. */
bool gp_sched_member_is_late(const struct gp_sched *sched, const struct gp_sched_member *member);
/* SHARE, when the device's policy works by shares and this member's is not what was last sent. */
void gp_sched_member_share(struct gp_sched *sched, struct gp_sched_member *member);

/* objects.c */
struct gp_sched_member *gp_sched_job_member(const struct gp_sched *sched,
					    const struct gp_sched_job *job, u32 device);

/* operation.c */
u64 gp_sched_job_cost(const struct gp_sched *sched, const struct gp_sched_job *job, u32 device);
/* The job is held from now on, because of `other` on that member's device. */
struct gp_sched_action *gp_sched_job_suspend(struct gp_sched *sched, struct gp_sched_job *job,
					     enum gp_sched_why why,
					     const struct gp_sched_member *member,
					     const struct gp_sched_member *other);
/* The job that it makes room for now, or GP_SCHED_NONE. */
u32 gp_sched_job_held_for(const struct gp_sched *sched, const struct gp_sched_job *job);
/* A queue came to a job that is held. */
void gp_sched_job_suspend_again(struct gp_sched *sched, struct gp_sched_job *job);
struct gp_sched_action *gp_sched_job_resume(struct gp_sched *sched, struct gp_sched_job *job,
					    enum gp_sched_why why, enum gp_sched_shield shield,
					    const struct gp_sched_member *other);
void gp_sched_job_shield(struct gp_sched *sched, struct gp_sched_job *job,
			 enum gp_sched_shield shield, u64 until);
void gp_sched_job_arm(struct gp_sched *sched, struct gp_sched_job *job);
/* The job goes: operations under way for it are forgotten. */
void gp_sched_job_forget(struct gp_sched *sched, struct gp_sched_job *job);
void gp_sched_job_timer(struct gp_sched *sched, struct gp_sched_job *job);

/* narrow.c */
u64 gp_sched_narrow_turn(const struct gp_sched *sched, u32 device);
/* A run of that length makes up for what a job was denied. */
u64 gp_sched_narrow_makes_up(const struct gp_sched *sched, u32 device);
/* How long one of them waits until it has aged, where that takes `ageing` for one alone. */
u64 gp_sched_narrow_bound(const struct gp_sched *sched, u32 device, u64 ageing);
/* From when on the next of them may have a turn beside a higher job, by ageing. */
u64 gp_sched_narrow_forced(const struct gp_sched *sched, u32 device);
/* It is stopped: its wait counts as longer by this, so that jobs that are stopped at once do not
 * all age at once. */
u64 gp_sched_narrow_credit(const struct gp_sched *sched, const struct gp_sched_member *member);
/* A turn that it has beside a higher job: turn_ns, or less so that all of them fit. */
u64 gp_sched_narrow_shield(const struct gp_sched *sched, u32 device);
/* That member is to be preempted for `best`. `costly`: that costs it and its equals too much. */
void gp_sched_narrow_begin(struct gp_sched *sched, const struct gp_sched_member *member,
			   const struct gp_sched_member *best, bool costly);
/* It waits for its turn from now on, or not; it runs, or not. */
void gp_sched_narrow_place(struct gp_sched *sched, struct gp_sched_member *member);
/* The one whose turn it is, of those that wait. */
struct gp_sched_member *gp_sched_narrow_next(struct gp_sched *sched,
					     struct gp_sched_device *device);
/* Has it paid? */
void gp_sched_narrow_look(struct gp_sched *sched, struct gp_sched_device *device);
void gp_sched_narrow_drained(struct gp_sched *sched, const struct gp_sched_member *member);

/* park.c */
/* Counts its processes, and whether it may be or is parked; again when its state changes. */
void gp_sched_park_place(struct gp_sched *sched, struct gp_sched_member *member);
/* One job parked or let go, if that is to be done. True when something changed. */
bool gp_sched_park_step(struct gp_sched *sched, struct gp_sched_device *device);
/* It has work, or is held for another reason from now on: its wait begins. */
void gp_sched_unpark(struct gp_sched *sched, struct gp_sched_job *job);
/* It starts to run, and is not in RUN yet; a burst is over, and it still is. */
void gp_sched_park_started(const struct gp_sched *sched, struct gp_sched_member *member);
void gp_sched_park_drained(struct gp_sched *sched, struct gp_sched_member *member);
/* Does it wait for a place? Those that do are of one priority, that of their equals that run: .. */
bool gp_sched_park_queues(const struct gp_sched *sched, const struct gp_sched_member *member);
/* .. when a higher one runs, the first of them is held like others. False: there is none. */
bool gp_sched_park_unqueue(struct gp_sched *sched, const struct gp_sched_device *device,
			   const struct gp_sched_member *best);
/* Does it make room for an equal after a turn, if they fill the device? Its turn is over then. */
bool gp_sched_park_takes_turns(const struct gp_sched *sched, const struct gp_sched_member *member);
void gp_sched_park_tick(const struct gp_sched *sched, struct gp_sched_member *member);
/* The one that has its place next, or NULL: none is waiting, or not long enough. */
struct gp_sched_member *gp_sched_park_exchange(const struct gp_sched *sched,
					       const struct gp_sched_device *device,
					       const struct gp_sched_member *last);
/* The turns of all that run side by side are over: the first of them has another one, alone. */
bool gp_sched_park_again(struct gp_sched *sched, const struct gp_sched_device *device,
			 struct gp_sched_member *best);
/* It waits for a place from now on. */
void gp_sched_park_queue(struct gp_sched *sched, struct gp_sched_member *member);
/* When one that waits for a place is let in beside a running equal; 0: at once. */
u64 gp_sched_park_returns(const struct gp_sched_device *device);
/* After so long the hardware, which rotates through them, has run all processes that are on the
 * device; 0: it runs them at once. A change of what is on the device begins the round anew. */
u64 gp_sched_park_round(const struct gp_sched *sched, const struct gp_sched_device *device);

/* tally.c */
/* Brings what it gained and lost up to now: before its state or its work changes. */
void gp_sched_job_tally(struct gp_sched *sched, struct gp_sched_job *job);
/* It is suspended for that device, or GP_SCHED_NONE: losses count there from now on. */
void gp_sched_job_tally_on(struct gp_sched *sched, struct gp_sched_job *job, u32 device);
/* An operation begins (1) or ends (-1). */
void gp_sched_storm_count(struct gp_sched *sched, struct gp_sched_device *device, u32 by);
/* How long it must run until preemptions have cost it no more than it got; at most max_suspend. */
u64 gp_sched_job_owed(struct gp_sched *sched, struct gp_sched_job *job);
/* From when on its wait counts, were it suspended now. */
u64 gp_sched_job_aged(const struct gp_sched *sched, const struct gp_sched_job *job);
/* After ns, rounded up by a quarter at most, so that what ends at about the same time ends at once.
 */
u64 gp_sched_together(u64 now, u64 ns);

/* decide.c */
void gp_sched_settle(struct gp_sched *sched);

/* check.c: the first invariant that does not hold, in words, or NULL. Walks everything. */
const char *gp_sched_check(const struct gp_sched *sched);

#endif
