/* SPDX-License-Identifier: MIT */
/*
 * `gpreempt top` on a full screen: readings of the daemon (or the driver) every second, and keys
 * that change jobs of the daemon after a confirmation. top_screen.c has the keys and the loop,
 * top_draw.c draws.
 */
#ifndef GP_CLI_WATCH_TOP_SCREEN_H
#define GP_CLI_WATCH_TOP_SCREEN_H

#include "cli/watch/top_view.h"

enum {
	GP_TOP_HISTORY = 64, /* readings of a GPU */
	GP_TOP_INPUT = 64,
	GP_TOP_UNKNOWN = 255, /* no percentage yet */
};

enum gp_cli_top_mode {
	GP_TOP_LIST,    /* keys are commands */
	GP_TOP_FILTER,  /* a text is written */
	GP_TOP_RENICE,  /* a number is written */
	GP_TOP_CONFIRM, /* y does it */
};

enum gp_cli_top_action { GP_TOP_DO_SUSPEND, GP_TOP_DO_CONTINUE, GP_TOP_DO_RENICE };

struct gp_cli_top_gpu {
	u32 gpu_id;
	u64 busy_ns;
	u8 history[GP_TOP_HISTORY]; /* per cent of the time, oldest first */
};

struct gp_cli_top_screen {
	struct gp_diag diag;                 /* keeps the message for the last line */
	struct gp_cli_daemon_client *client; /* NULL: the driver is read */
	const struct gp_root *root;
	struct gp_cli_top_data top;
	bool connected, quit;
	enum gp_cli_top_sort sort;
	enum gp_cli_top_mode mode;
	enum gp_cli_top_action action;
	char filter[GP_TOP_INPUT], input[GP_TOP_INPUT];
	u64 selected; /* id of a job; 0: none */
	u64 concerns; /* id of the job that is asked about */
	u64 held;     /* id of the job that this screen suspended; 0: none */
	u64 held_ns;  /* the daemon's time of that */
	u32 priority;
	char said[256];
	struct gp_cli_top_gpu gpus[GP_DAEMON_DEVICES];
	u64 read_ns; /* the daemon's time of the last reading */
};

/* Until the user ends it or a signal does; the terminal is as it was afterwards. -ENOTTY when the
 * terminal cannot do it (without a message). */
int gp_cli_top_screen(struct gp_cli_daemon_client *client, const struct gp_root *root,
		      enum gp_cli_top_sort sort, const char *filter);

/* The job with that id in the last reading, or NULL. */
const struct gp_proto_msg_job *gp_cli_top_find(const struct gp_cli_top_screen *screen, u64 id);
void gp_cli_top_draw(const struct gp_cli_top_screen *screen);

#endif
