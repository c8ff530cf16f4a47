/* SPDX-License-Identifier: MIT */
/*
 * Rules with `swap`: the GPU memory of a job that is kept off the GPU goes to host memory. The
 * daemon decides when; `gpreempt suspend --swap-now` does it, one process for each, and brings it
 * back when it gets a signal or when the daemon dies. See swap.c.
 */
#ifndef GP_DAEMON_SWAP_H
#define GP_DAEMON_SWAP_H

#include "daemon/helper/child.h"
#include "proto/daemon.h"

struct gp_daemon_client;
struct gp_daemon_job;

enum gp_daemon_swap_state {
	GP_DAEMON_SWAP_IN,
	GP_DAEMON_SWAP_CHECKED, /* it is looked at whether it can be done; nothing is touched */
	/* From here on the process is away. */
	GP_DAEMON_SWAP_GOING,
	GP_DAEMON_SWAP_OUT,
	GP_DAEMON_SWAP_COMING,
	GP_DAEMON_SWAP_LEFT, /* still out, and not by a child of ours: it is looked at again */
};

/* Of a process. */
struct gp_daemon_client_swap {
	enum gp_daemon_swap_state state;
	struct gp_daemon_child *child;
	u64 devices;               /* a bit for each device that it was on */
	u64 pressed_ns, served_ns; /* kept off the GPU since then, and last; 0: it is not */
	u64 fits_ns;               /* there is room for it since then; 0: there is not */
	u64 again_ns, pause_ns;    /* not tried before; doubles */
	u64 bytes;                 /* that were moved */
	bool refused;              /* its GPU has no such call, or it is one of several processes */
	char said[GP_PROTO_TEXT];  /* why it was not swapped out the last time */
};

void gp_daemon_swap_init(struct gp_daemon *daemon);
/* After every event: swaps out and back what is due. */
void gp_daemon_swap_step(struct gp_daemon *daemon);
/* Its process has a job now: it may be out already, left so by the last gpreemptd. */
void gp_daemon_swap_join(struct gp_daemon_client *client);
/* Its process or its job ends. */
void gp_daemon_swap_leave(struct gp_daemon_client *client);
/* Whether it is being moved, or is out. */
bool gp_daemon_swap_is(const struct gp_daemon_client *client);
bool gp_daemon_swap_moves(const struct gp_daemon_client *client);
void gp_daemon_swap_view(const struct gp_daemon_job *job, struct gp_proto_msg_job *out);

#endif
