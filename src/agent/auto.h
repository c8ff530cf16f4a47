/* SPDX-License-Identifier: MIT */
/*
 * `gpreempt run --ahead auto`: the GPU is switched to this program when a descriptor becomes
 * readable that is usually followed by launches, without a change to the program. It is in a
 * separate library (libgpreempt_agent_auto.so): programs that did not ask for it have none of this.
 *
 *   auto_calls.c     libc: read, recv, poll, epoll_wait...  ──► event ─┐
 *   auto_launches.c  launches in CUDA, by way of dlsym()     ──► launch ┴► auto_learn.c
 *   auto_learn.c     which descriptors are followed by launches, and what may be spent on them
 *   auto_hint.c      the thread that launches the waiting kernel (cuda.c), and its end
 *   auto_team.c      front end and launching program in two processes (proto/ahead.h)
 *
 * An event opens an episode of its descriptor. The next launch closes it as a hit: of the thread
 * that launches if that one had events, of all otherwise. An episode without a launch is a miss. A
 * descriptor with enough hits has the GPU switched at its next event. The GPU time of hints that
 * no launch followed comes out of a budget.
 *
 * The program's calls and launches run the code up to the line to auto_hint.c: no lock, no
 * allocation, no call that could block, errno as it was. Two threads that change the record of a
 * descriptor at the same time may lose a count, nothing else.
 */
#ifndef GP_AGENT_AUTO_H
#define GP_AGENT_AUTO_H

#include "agent/agent.h"
#include "proto/ahead.h"

enum {
	GP_AGENT_AUTO_FDS = 4096, /* higher descriptors go without */
	GP_AGENT_AUTO_OPEN = 16,  /* episodes that a launch of another thread can close */
	GP_AGENT_AUTO_MINE = 4,   /* episodes that a thread remembers */
	GP_AGENT_AUTO_SCORE = 1000,
	GP_AGENT_AUTO_TRUST = 500,   /* score from which on an event is a hint */
	GP_AGENT_AUTO_EPISODES = 16, /* before that it is not trusted */
	GP_AGENT_AUTO_FLOOD = 64,    /* events that are too many for one launch */
	GP_AGENT_AUTO_CONTROL = 256, /* one in so many hints is left out, to compare */
	GP_AGENT_AUTO_JUDGED = 32,   /* hints after which they are judged */
};

#define GP_AGENT_AUTO_WINDOW_NS (20 * GP_NS_PER_MS)  /* an episode */
#define GP_AGENT_AUTO_IDLE_NS   (200 * GP_NS_PER_US) /* without a launch: the context is idle */
#define GP_AGENT_AUTO_SWITCH_NS (600 * GP_NS_PER_US) /* to this program and back */
#define GP_AGENT_AUTO_SAVED_NS  (20 * GP_NS_PER_MS)  /* the most that the budget holds */
#define GP_AGENT_AUTO_PART      200                  /* of the time that is the budget: 0.5 % */
#define GP_AGENT_AUTO_PAUSE_NS  (30 * GP_NS_PER_S)   /* switched off for this long */

/* What is known of a descriptor, or of all that a listening one accepted. */
struct gp_agent_source {
	u64 opened;              /* the first event of the episode; 0: none is open */
	u32 events;              /* in it */
	u32 delay_us, spread_us; /* until the launch, and how much that varies */
	u16 score, episodes;
	u8 kind;      /* enum in auto_learn.c */
	u16 listener; /* 1 + the descriptor that accepted it; 0: none */
};

struct gp_agent_learn {
	struct gp_agent_source own[GP_AGENT_AUTO_FDS], accepted[GP_AGENT_AUTO_FDS];
	u32 open[GP_AGENT_AUTO_OPEN]; /* sources, as gp_agent_learn_id(); 0: free */
	u64 launched;                 /* the last launch */
	u64 off_until;                /* 0: on */
	u32 off_why;                  /* enum gp_proto_ahead_state */
	s64 budget_ns;
	u64 filled;  /* when the budget was last added to */
	u32 chances; /* events that were hints, or would have been but for the comparison */
	u32 judged, judged_useful;
	u64 hints, useful, wasted, wasted_ns, refused; /* all time */
	u32 with_us, without_us;                       /* requests with a hint, and without */
	u32 with, without;                             /* how many of them were seen */
	u32 launches;                                  /* of a request: the average, times 16 */
	struct gp_proto_ahead *team; /* of a front end: the memory of the program that launches */
};

/* What a thread remembers; lives in its static thread-local storage. */
struct gp_agent_thread {
	u32 mine[GP_AGENT_AUTO_MINE]; /* sources with an open episode; 0: none */
	u64 began;                    /* the first of their events */
	u32 launched;                 /* since then: 1 without a hint, 2 with one */
	bool control;                 /* its hint was left out, to compare */
};

/* ---- auto_learn.c: pure but for the atomics; `now` is CLOCK_MONOTONIC ---- */

void gp_agent_learn_init(struct gp_agent_learn *learn, u64 now);
/* False: a file, a terminal, or too high a number. Asks the kernel once for each descriptor. */
bool gp_agent_learn_wanted(struct gp_agent_learn *learn, int fd);
/* The descriptor was readable. The time when the GPU should be switched, or 0: not at all. */
u64 gp_agent_learn_event(struct gp_agent_learn *learn, struct gp_agent_thread *thread, int fd,
			 u64 now);
void gp_agent_learn_accepted(struct gp_agent_learn *learn, int listener, int fd);
void gp_agent_learn_closed(struct gp_agent_learn *learn, int fd);
/* True: the first launch after an event, or after a while. */
bool gp_agent_learn_launch(struct gp_agent_learn *learn, struct gp_agent_thread *thread,
			   bool hinted, u64 now);
/* The thread is back where it waits for the next request. */
void gp_agent_learn_returned(struct gp_agent_learn *learn, struct gp_agent_thread *thread, u64 now);
/* Pays for a hint that holds the GPU for `hold`; false: there is not enough. */
bool gp_agent_learn_pay(struct gp_agent_learn *learn, u64 hold, u64 now);
/* The request has made `launches` launches and calls something else: it is one of few launches,
 * and has made as many as usual. Its kernels follow one another on the GPU without the host. */
bool gp_agent_learn_last(const struct gp_agent_learn *learn, u32 launches);
/* So many launches came between a hint and the end of its request. */
void gp_agent_learn_count(struct gp_agent_learn *learn, u32 launches);
/* How the hint ended. */
void gp_agent_learn_judge(struct gp_agent_learn *learn, u64 hold, bool useful, u64 now);
/* How long the GPU is held, for a program whose launches come this long after an event. */
u64 gp_agent_learn_hold(u64 delay_us);
/* How long after an event of the descriptor its launches usually come. */
u32 gp_agent_learn_delay(const struct gp_agent_learn *learn, int fd);
bool gp_agent_learn_known(const struct gp_agent_learn *learn, int fd);
u32 gp_agent_learn_id(int fd, bool accepted);
void gp_agent_learn_describe(const struct gp_agent_learn *learn, u64 now,
			     struct gp_proto_msg_ahead *out);

/* ---- auto_hint.c ---- */

extern struct gp_agent_learn gp_agent_learned;
/* Off: this process has nothing of it. On from the start, or never. */
extern bool gp_agent_auto_on;

/* A call of the program on a descriptor returned: it was readable. Any thread, any signal handler;
 * may change errno. */
void gp_agent_auto_event(int fd);
void gp_agent_auto_accepted(int listener, int fd);
/* A thread is about to wait for its next request. */
void gp_agent_auto_returned(void);
/* The program calls CUDA: a launch, a call that usually comes after launches, one that waits for
 * the whole device, the end of a context. */
void gp_agent_auto_launch(void);
void gp_agent_auto_after(void);
void gp_agent_auto_sync(void);
void gp_agent_auto_end(void);

/* ---- auto_launches.c ---- */

/* As dlsym(), without the ways in front of the functions of CUDA. */
void *gp_agent_auto_symbol(void *library, const char *name);

/* ---- auto_team.c ---- */

/* When the library is loaded: notes the team's name. */
void gp_agent_team_init(void);
/* In the program that launches: the memory, in the team's file if one can be made. NULL: none. */
struct gp_proto_ahead *gp_agent_team_make(struct gp_agent *agent);
void gp_agent_team_leave(void);
void gp_agent_team_forked(void);
/* Any thread, any signal handler, in a program that launches nothing: looks for the team's file
 * now and then. */
void gp_agent_team_look(struct gp_agent_learn *learn, u64 now);

#endif
