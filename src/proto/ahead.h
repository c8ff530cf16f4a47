/* SPDX-License-Identifier: MIT */
/*
 * Switching ahead without the program's help (`gpreempt run --ahead auto`): what an agent answers
 * to GP_MSG_AGENT_AHEAD, and the memory that the agents of a team share.
 *
 * A team is what one `gpreempt run` started, or one --group: a front end that receives requests,
 * and the program that launches them on a GPU. The latter makes a file in the socket directory
 * (GP_AHEAD_FILE and the team's name), keeps it locked while it lives, and waits on `word`. A front
 * end maps the file if it belongs to the same user, no other user may open it, and it is locked.
 * All that it can do with it is to ask for a hint, which the other program limits by its budget.
 */
#ifndef GP_PROTO_AHEAD_H
#define GP_PROTO_AHEAD_H

#include "base/types.h"

#define GP_AHEAD_FILE "ahead-"

enum {
	GP_AHEAD_MAGIC = 0x67706168, /* "gpah" */
	GP_AHEAD_BURSTS = 16,
	GP_AHEAD_TEAM = 80, /* bytes of a team's name, NUL included */
};

struct gp_proto_ahead {
	u32 magic;
	u32 word;                   /* futex: changes when a hint is asked for */
	u64 asked;                  /* CLOCK_MONOTONIC: switch the GPU then; 0: no */
	u32 delay_us;               /* launches usually follow that much later */
	u32 next;                   /* index in `burst` of the next one */
	u64 told;                   /* hints that front ends asked for */
	u64 burst[GP_AHEAD_BURSTS]; /* when launches began after a pause; 0: not yet */
};

enum gp_proto_ahead_state {
	GP_AHEAD_NONE,     /* not asked for */
	GP_AHEAD_LEARNING, /* no descriptor is known to be followed by launches */
	GP_AHEAD_ON,
	GP_AHEAD_OFF_FALSE,  /* for a while: most hints were not followed by a launch */
	GP_AHEAD_OFF_SLOWER, /* for a while: requests with a hint took longer */
};

struct gp_proto_msg_ahead {
	u32 state;                          /* enum gp_proto_ahead_state */
	u32 sources;                        /* descriptors that are followed by launches */
	u64 hints, useful, wasted, refused; /* refused: for lack of budget */
	u64 told;                           /* asked for by front ends */
	u64 wasted_ns;                      /* GPU time, with the switches */
	u32 delay_us;                       /* from an event to the launch; 0: unknown */
	u32 off_ms;                         /* switched off for so long yet */
	u32 with_us, without_us;            /* a request with a hint and without; 0: unknown */
};

#endif
