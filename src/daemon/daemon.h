/* SPDX-License-Identifier: MIT */
/*
 * gpreemptd: hosts the scheduler core (sched/) on a live system. One thread owns everything here.
 * Events from agents, the library, the command line, signals and timers go to the core; its
 * decisions are recorded and, in mode `act`, carried out with libgpreempt.
 *
 *   agents.c   finds agents, talks to them            host.c     jobs and the core
 *   attach.c   processes without an agent             act.c      operations through the library
 *   absent.c   processes that are stopped             library.c  the connection to the holder
 *   keep.c     their GPU work, suspended as well      holds.c    holds by name (Slurm)
 *   share.c    shares through the library             report.c   record, statistics, views
 *   worth.c    whether acting is worth it             account.c  totals of jobs, current and ended
 *   strict.c   suspensions on GPUs that do not show work
 *   turns.c    jobs on them that run one at a time
 *   activity.c which process had a GPU, where the driver reports it
 *   diary.c    decisions on disk
 *   swap.c     jobs whose GPU memory goes to host memory; child.c, memory.c: helpers
 *   service.c  gpreemptd.sock                         metrics.c  the same for Prometheus, over HTTP
 *
 * A suspension is a lease that this thread renews: if it dies or hangs, everything resumes.
 */
#ifndef GP_DAEMON_DAEMON_H
#define GP_DAEMON_DAEMON_H

#include <sys/types.h>

#include "base/clock.h"
#include "base/host/stopped.h"
#include "base/host/urgent.h"
#include "base/loop.h"
#include "daemon/activity.h"
#include "daemon/config/config.h"
#include "daemon/diary.h"
#include "daemon/figures.h"
#include "daemon/keep.h"
#include "daemon/latency.h"
#include "daemon/helper/memory.h"
#include "daemon/record.h"
#include "daemon/metrics/spread.h"
#include "daemon/swap/swap.h"
#include "daemon/who.h"
#include "gpreempt.h"
#include "proto/activity.h"
#include "proto/wire.h"

enum {
	GP_DAEMON_PEERS = 64,      /* connections to gpreemptd.sock */
	GP_DAEMON_PEERS_USER = 16, /* of one user */
	GP_DAEMON_CONNECT_TRIES = 12,
	GP_DAEMON_STRANGERS = 64,    /* per user: agent sockets not connected yet */
	GP_DAEMON_FILES_USER = 1024, /* of one user in agents/ */
	GP_DAEMON_SHIELDS = GP_SCHED_SHIELD_PIN + 1,
	GP_DAEMON_SHAKE_S = 10, /* limit for an agent's handshake */
};

#define GP_DAEMON_GROUP    "gpreempt" /* its members may exceed their ceilings */
#define GP_DAEMON_NO_GROUP UINT32_MAX

/* What preempting on a device costs and gains: worth.c. */
struct gp_daemon_worth {
	u32 failures, cycles;           /* in a row; preemptions in this account */
	u64 since_ns, cost_ns, gain_ns; /* since_ns: the account's first operation; 0: none */
	enum gp_proto_stand why;        /* it stands down, until again_ns */
	u64 again_ns, pause_ns, times;
	bool proven; /* acting has gained something for a second since it last stood down */
	bool due;    /* the core does not know yet */
};

enum gp_daemon_verdict { GP_DAEMON_NOT_KNOWN, GP_DAEMON_LOSES, GP_DAEMON_GAINS };

struct gp_daemon_job_worth {
	u32 device;
	bool counts;  /* its suspension is a preemption, or it is parked */
	bool parked;  /* it left the GPU without work */
	u64 since_ns; /* confirmed; 0: it is not, or not any more */
};

/* The shares of a device together, as they were last set. */
struct gp_daemon_device_shares {
	u64 all, most; /* most: the largest */
	u32 lower;     /* jobs with less that may run at the same time */
	u32 takers;    /* jobs that take turns, or would if they were not idle */
	bool slices;
};

struct gp_daemon_device {
	u32 gpu_id, node;
	char name[GP_PROTO_NAME], product[GP_PROTO_NAME];
	char pci[16], uuid[48]; /* "": not known, as the product */
	u32 broken;             /* targets whose breaker is open */
	u32 running;            /* clients with work on it that are not held */
	u64 busy_since, busy_ns;
	u32 places; /* processes that it runs at once; 0: not known */
	struct gp_daemon_worth worth;
	struct gp_daemon_device_activity on_gpu;
	struct gp_daemon_device_memory memory;
	struct gp_daemon_device_shares shares;
};

struct gp_daemon_client_queue {
	u32 kfd_id, gpu_id;
	u64 ring, object;
	u32 handle;                  /* the core's */
	u32 work;                    /* enum gp_sched_work, as the core has it */
	u64 backlog;                 /* GP_DAEMON_UNKNOWN */
	u64 write_index;             /* attached: when it was last read */
	u32 priority;                /* agent: logical, as last seen */
	bool seen;                   /* while a new list is compared with this one */
	enum gp_sched_stream stream; /* of its program, before the user's ceiling */
};

enum gp_daemon_client_state {
	GP_CLIENT_CONNECT, /* waits to retry */
	GP_CLIENT_HELLO,   /* sent HELLO */
	GP_CLIENT_WATCH,   /* asked for its memory */
	GP_CLIENT_QUEUES,  /* asked for its queues, the first time */
	GP_CLIENT_READY,
};

/* A process's share of the GPU. Parts are thousandths, as GPREEMPT_SHARE_AT() has them. */
struct gp_daemon_client_share {
	u32 due, sent; /* to be sent, 0: nothing; under way or the last that was */
	int ticket;    /* of the call under way; 0: none */
	u32 tries;     /* that failed, of this one */
	u64 again_ns;  /* `due` waits until then; 0: it does not */
	u32 confirmed; /* the part that the last call set; 0: none, or another is under way */
	u32 slice_us;  /* as the driver reported after that; 0: not known */
	int error;     /* of the last call, while it is tried again */
};

/* Why a process cannot use the GPU, though it may have work: absent.c. */
struct gp_daemon_client_away {
	struct gp_stopped_look look; /* the last one */
	enum gp_stopped stopped;     /* by the host */
	s32 hand;                    /* process that suspended it, not this one; -1: not visible */
	int group;                   /* of its control group in the watch; 0: none */
	bool counted;                /* in daemon->away_count */
	bool asked;                  /* a suspend may take effect when it returns */
};

struct gp_daemon_job_away {
	enum gp_proto_away by;
	u32 pid;                   /* GP_AWAY_HAND: of the process, 0: not known */
	u64 since;                 /* GP_DAEMON_NEVER: is not away */
	char owner[GP_PROTO_NAME]; /* GP_AWAY_OWNER: its name */
	bool due, returning;       /* due: to be decided again */
};

/* A process: known through its agent, or attached by rule. */
struct gp_daemon_client {
	struct gp_list link;     /* in the daemon */
	struct gp_list job_link; /* in its job */
	struct gp_daemon *daemon;
	struct gp_watch watch; /* the agent's socket, or a pidfd */
	struct gp_timer timer; /* CONNECT: try again; handshake: give up; READY: throttled until */
	char socket[64];       /* "ID.sock" in agents/; "" attached */
	enum gp_daemon_client_state state;
	u32 tries, serial;
	bool waits;                    /* CONNECT: until its user's programs are heard again */
	bool watching;                 /* it reports its work */
	bool attached, ask_again;      /* ask_again: queues changed while a list was under way */
	const struct gp_gpu_ops *kind; /* attached: its driver listed the process */

	struct gp_daemon_who who;
	struct gp_daemon_wish wish;
	u32 ruled;      /* priority for the driver that its agent got; GP_DAEMON_NONE: none */
	u32 ruled_most; /* and the most that a stream makes of it */
	char group[GP_PROTO_NAME];
	int pidfd;
	const struct gp_proto_activity *activity; /* mapped; NULL: only edges are known */

	struct gp_daemon_job *job;
	u32 process; /* the core's */
	int opening; /* ticket of the opening of its target; 0: none is under way */
	u32 open_tries;
	u64 open_again_ns; /* to try whether it can be preempted, which waits for the holder */
	u32 open;          /* requests, as it said last, or its memory when it was last looked at */
	struct gp_daemon_requests requests;
	struct gp_daemon_client_queue *queues;
	size_t queue_count, queue_capacity;
	bool busy;
	u64 busy_since;
	u64 active_ns;         /* attached: when its rings last moved */
	u32 claim, list_claim; /* enum gp_proto_daemon_claim: as reported; of the last list */
	bool doubted;          /* the last list had queues that are not real */
	u32 misses;            /* how many, as far as they were looked up */
	bool listing;          /* it was asked for a list */
	u64 claims_at_ns;      /* when its queues are looked up again */
	u64 second_start;      /* messages are counted by the second */
	u32 messages;

	struct gpreempt_target *target; /* NULL: cannot be controlled, or observing */
	bool held;                      /* suspended for us, and the lease is ours to renew */
	u64 leased_ns;                  /* when the lease was last given or renewed */
	bool broken;                    /* the holder does not preempt on a GPU of it */
	struct gp_daemon_client_share share;
	struct gp_daemon_client_away away;
	struct gp_daemon_client_keep keep;
	struct gp_daemon_client_activity on_gpu;
	struct gp_daemon_client_swap swap;
	u64 memory, memory_seen; /* on all GPUs; seen in the report under way */
	u64 next_open_ns;        /* when to try again to get a target */
};

struct gp_daemon_job {
	struct gp_list link;
	struct gp_list clients;
	u64 id;
	u32 handle; /* the core's */
	u32 uid;
	char name[GP_PROTO_NAME], group[GP_PROTO_NAME], rule[GP_PROTO_NAME];
	struct gp_sched_job_spec spec;
	u32 changed;   /* enum gp_proto_daemon_set: set by hand, outlives a reload */
	u32 asked_pin; /* by hand */
	bool left_alone, uncontrolled;
	u32 strict; /* enum gp_daemon_strict */
	struct gp_daemon_config_swap swap;
	enum gp_sched_pin pin; /* as the core has it */

	bool wanted_held; /* the last action was SUSPEND */
	bool follow;      /* its GPU work follows the host's stop */
	struct gp_daemon_job_away away;
	struct gp_daemon_job_off off;
	enum gp_proto_kept kept_said; /* as the record says, since kept_ns */
	u64 kept_ns;
	struct gp_daemon_job_worth worth;
	struct gp_daemon_job_activity on_gpu;
	u64 suspend_reason; /* 0: it is not suspended, not even in thought */
	struct gp_daemon_job_figures figures;
	u64 started_ns;
	u32 pids[GP_DAEMON_PIDS]; /* the first processes that it had */
	struct gp_daemon_latency requests, bursts;
	u32 share[GP_SCHED_MAX_DEVICES]; /* relative; 0: none */
};

/* An operation of the core under way: one driver call for each process of the job. */
struct gp_daemon_operation {
	struct gp_list link;
	u64 token, reason, job_id;
	u32 job; /* the core's handle */
	bool suspend;
	bool parks;        /* without work, for its place: no limit but the lease */
	bool off;          /* also queues without work leave the GPU */
	u32 pending, sent; /* calls under way; sent to processes that are not away */
	bool withdrawn;    /* not waited for: a process is away */
	int result;
	u64 cost_ns, started_ns;
};

struct gp_daemon_ticket {
	int ticket;
	struct gp_daemon_operation *operation;
	struct gp_daemon_client *client;
};

/* An answer for the core that must wait until its actions are taken. */
struct gp_daemon_answer {
	u64 token; /* 0: the lease of `job` is lost */
	u32 job;
	int result;
	u64 cost_ns;
};

struct gp_daemon_peer {
	struct gp_list link;
	struct gp_daemon *daemon;
	struct gp_watch watch;
	pid_t pid;
	uid_t uid;
	bool greeted, following;
};

/* A user that asks on gpreemptd.sock: see questions.c. */
struct gp_daemon_asker {
	uid_t uid;
	u64 paid_ns; /* when its questions up to now are paid for; 0: not in use */
	u64 log_ns;  /* the same of messages about its programs */
	bool paused;
};

/* What the driver reports of jobs of one class. */
struct gp_daemon_metrics_activity {
	u64 active_ns, switches, switched_out, lost_ns;
};

struct gp_daemon_metrics {
	struct MHD_Daemon *http; /* NULL: off */
	struct gp_watch watch;   /* its epoll descriptor */
	struct gp_timer timer;
	u32 port;
	char address[GP_CONFIG_TEXT]; /* that it listens on */
	u64 started_wall_ns;          /* 0: not asked for yet */
	struct gp_daemon_spread burst[GP_DAEMON_CLASSES], request[GP_DAEMON_CLASSES];
	struct gp_daemon_spread waited, suspend, resume;
	u64 put_off[GP_DAEMON_SHIELDS]; /* suspensions, by what had put them off */
	/* As last reported. */
	u64 suspended_ns[GP_DAEMON_CLASSES], busy_ns[GP_SCHED_MAX_DEVICES];
	u64 active_ns[GP_DAEMON_CLASSES];
	struct gp_daemon_metrics_activity ended[GP_DAEMON_CLASSES]; /* jobs */
};

struct gp_daemon {
	struct gp_loop loop;
	struct gp_diag *diag;
	struct gp_root root;
	/* gp_gpu_lists_queue(); tests bring their own. */
	int (*lists_queue)(const struct gp_root *root, u32 pid, u32 gpu_id, u32 queue);
	struct gp_daemon_config config;
	const char *config_path;        /* NULL: built-in values */
	int forced_mode;                /* on the command line; -1: the configuration's */
	int metrics_error, diary_error; /* of the last reload: these stay as they were; 0: none */
	u32 absent_devices;             /* sections of it without a GPU */
	u64 started_ns;
	enum gp_urgency urgency; /* of this thread, as obtained */

	struct gp_sched *sched;
	void *sched_memory;
	struct gp_daemon_job **by_handle;
	struct gp_timer sched_timer;
	struct gp_daemon_device devices[GP_SCHED_MAX_DEVICES];
	u32 device_count;
	struct gp_list jobs, clients;
	u64 last_job_id;
	u32 job_count, attached_count, busy_count; /* clients, the last two */
	bool strict;   /* a job was strict: strict.c has something to look at */
	bool follow;   /* a job followed its stop: all its processes are looked at */
	bool in_turns; /* batch jobs run one at a time */
	struct gp_daemon_reader reader;
	struct gp_list children; /* helpers that were started */
	struct gp_daemon_child *memory_helper;
	u64 memory_again_ns;
	/* A rule has `swap`, or a process was left; gp_daemon_swap_step() is under way. */
	bool swaps, swapping;
	bool ending; /* no child is started any more */
	struct gp_timer swap_timer;

	struct gp_freezers freezers;
	struct gp_watch group_watch; /* changes of control groups */
	struct gp_timer absent_timer;
	struct gp_timer worth_timer; /* try again to act */
	u64 absent_poll_ns;          /* when every process with a claim is looked at again */
	u32 away_count;              /* clients */
	bool away_due;               /* a job is to be decided again */
	struct gp_timer keep_timer;
	struct gp_list holds; /* by name */
	u32 hold_count, unanswered;

	struct gpreempt *library;
	struct gp_watch library_watch;
	u64 woken_ns;                  /* when an event was last handled */
	struct gp_timer library_timer; /* try again to open it */
	struct gp_timer share_timer;   /* try again to send a share */
	struct gp_list operations;
	struct gp_daemon_ticket *tickets;
	size_t ticket_count, ticket_capacity;
	struct gp_daemon_answer *answers;
	size_t answer_count, answer_capacity;
	bool settling;
	char problem[GP_PROTO_TEXT];

	struct gp_watch agents_watch; /* inotify */
	char agents_path[108];
	struct gp_timer scan_timer, read_timer;
	struct gp_timer tidy_timer; /* agents/ has changed */
	u32 tidy_removed, tidy_moved;
	u64 tidy_said_ns;
	u64 read_interval_ns;

	struct gp_watch listen_watch, signal_watch, directory_watch;
	struct gp_timer listen_timer; /* accepts again after there was no descriptor left */
	int lock;
	bool homeless; /* the directory of the sockets is gone */
	u32 operators; /* GP_DAEMON_GROUP as a number, or GP_DAEMON_NO_GROUP */
	struct gp_list peers;
	u32 peer_count;
	struct gp_daemon_asker askers[GP_DAEMON_PEERS];
	struct gp_timer question_timer; /* users that asked too much are heard again */
	struct gp_timer watchdog_timer;
	u64 watchdog_ns;

	struct gp_daemon_record record;
	struct gp_daemon_accounts accounts; /* jobs that ended */
	struct gp_proto_msg_stats stats;
	struct gp_daemon_metrics metrics;
	struct gp_daemon_diary diary;   /* on disk */
	struct gp_wire_message message; /* the last one received */
	char answer[GP_PROTO_MAX];      /* room for one that is sent */
};

/* ---- daemon.c ---- */

/* Takes the configuration. `directory` services (socket, agents) start with gp_daemon_start(). */
int gp_daemon_init(struct gp_daemon *daemon, struct gp_daemon_config *config,
		   const char *config_path, struct gp_diag *diag);
int gp_daemon_start(struct gp_daemon *daemon);
/* Says that scheduling cannot start, and what to check. Returns the error. */
int gp_daemon_refuse_start(struct gp_diag *diag, int error);
/* Resumes all jobs and frees everything. */
void gp_daemon_free(struct gp_daemon *daemon);
/* Reads the file again; keeps the old configuration if the new one has a mistake. A part that
 * cannot be changed stays as it was, and its error is returned: metrics_error and diary_error. */
int gp_daemon_reload(struct gp_daemon *daemon);

/* ---- host.c: jobs and the core ---- */

int gp_daemon_host_init(struct gp_daemon *daemon);
void gp_daemon_host_free(struct gp_daemon *daemon);
/* After every event of the core: carries out what it decided. */
void gp_daemon_host_settle(struct gp_daemon *daemon);
/* Index of a device, which is added when it is new; GP_DAEMON_NONE when there are too many. */
u32 gp_daemon_host_device(struct gp_daemon *daemon, u32 gpu_id);
/* Gives a device its configuration; its actions are not carried out yet. */
void gp_daemon_host_set_device(struct gp_daemon *daemon, u32 index);
/* Warns of sections of GPUs that are not there; returns how many there are. */
u32 gp_daemon_host_absent(struct gp_daemon *daemon);
/* Gives every device its configuration. */
void gp_daemon_host_configure(struct gp_daemon *daemon);

/* The client gets its job, or a new one. */
int gp_daemon_host_join(struct gp_daemon *daemon, struct gp_daemon_client *client);
/* The client's queues leave the core, and its job if it was the last client. */
void gp_daemon_host_leave(struct gp_daemon *daemon, struct gp_daemon_client *client);
/* Spec and pin again, after a change of configuration or by hand. -EBUSY as the core. */
int gp_daemon_host_respec(struct gp_daemon *daemon, struct gp_daemon_job *job);

int gp_daemon_host_queue_add(struct gp_daemon *daemon, struct gp_daemon_client *client,
			     const struct gp_daemon_client_queue *queue,
			     enum gp_sched_stream stream);
void gp_daemon_host_queue_remove(struct gp_daemon *daemon, struct gp_daemon_client *client,
				 size_t index);
void gp_daemon_host_work(struct gp_daemon *daemon, struct gp_daemon_client *client,
			 struct gp_daemon_client_queue *queue, enum gp_sched_work work, u64 at_ns);

struct gp_daemon_client *gp_daemon_host_client(struct gp_daemon *daemon, u32 pid);

/* ---- turns.c ---- */

/* Whether such a job may take turns at all. */
bool gp_daemon_turns_may(const struct gp_sched_job_spec *spec);
/* Whether the job takes turns where the hardware has time slices, if another one does as well. */
bool gp_daemon_turns_takes(struct gp_daemon *daemon, const struct gp_daemon_job *job);
/* Also a job that is idle, and takes turns as soon as it is not. */
bool gp_daemon_turns_would(struct gp_daemon *daemon, const struct gp_daemon_job *job);
/* How many jobs do, for each device. */
void gp_daemon_turns_count(struct gp_daemon *daemon, u32 *takers);

/* ---- absent.c ---- */

void gp_daemon_absent_start(struct gp_daemon *daemon);
void gp_daemon_absent_join(struct gp_daemon_client *client);
void gp_daemon_absent_leave(struct gp_daemon_client *client);
bool gp_daemon_absent_is(const struct gp_daemon_client *client);
/* Its state changed: operations follow now, and the job is decided again with the next event. */
void gp_daemon_absent_changed(struct gp_daemon_client *client);
void gp_daemon_absent_due(struct gp_daemon_job *job, struct gp_daemon *daemon);
/* The process's work changed. */
void gp_daemon_absent_work(struct gp_daemon_client *client);
/* Another process suspended it (its pid, or -1), or none does any more (0). */
void gp_daemon_absent_hand(struct gp_daemon_client *client, s32 pid);
/* Looks at a process whose operation failed: true if it is away, and the failure does not count. */
bool gp_daemon_absent_excuses(struct gp_daemon_client *client);
/* Looks whether the host has stopped it, whatever the last look said. */
bool gp_daemon_absent_stopped(struct gp_daemon_client *client);
/* An operation is under way. */
void gp_daemon_absent_asked(struct gp_daemon *daemon);
/* The core's note about the job is written. */
void gp_daemon_absent_noted(struct gp_daemon_job *job);
/* True: the core got an event, and its actions must be carried out. */
bool gp_daemon_absent_step(struct gp_daemon *daemon);
/* Looks from now on, if there is something to look at. */
void gp_daemon_absent_adapt(struct gp_daemon *daemon);

/* ---- strict.c ---- */

/* Whether the job is strict and has the GPU for itself now. */
bool gp_daemon_strict_serves(const struct gp_daemon_job *job);
/* Reads open requests from the memory of the programs. */
void gp_daemon_strict_look(struct gp_daemon *daemon);
/* True: the core got an event, and its actions must be carried out. */
bool gp_daemon_strict_step(struct gp_daemon *daemon);

#include "daemon/acts.h"
#include "daemon/answers.h"
#include "daemon/clients.h"
#include "daemon/worth.h"

#endif
