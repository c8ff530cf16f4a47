/* SPDX-License-Identifier: MIT */
/*
 * `gpreempt top` on a full screen: readings of the daemon (or the driver) every interval, and keys
 * that change jobs of the daemon after a confirmation. top_screen.c has the keys and the loop,
 * top_terminal.c the terminal. Drawing fills a canvas and needs no terminal: top_draw.c (the list),
 * top_gpus.c, top_detail.c (one job), top_recent.c (decisions), top_help.c (keys; no daemon).
 */
#ifndef GP_CLI_WATCH_TOP_SCREEN_H
#define GP_CLI_WATCH_TOP_SCREEN_H

#include "cli/watch/top_canvas.h"
#include "cli/watch/top_view.h"

enum {
	GP_TOP_INPUT = 64,
	GP_TOP_LINES = 64,  /* of decisions about a job */
	GP_TOP_QUEUES = 64, /* of a job */
};

enum gp_cli_top_mode {
	GP_TOP_LIST,     /* keys are commands */
	GP_TOP_FILTER,   /* a text is written */
	GP_TOP_RENICE,   /* a number is written */
	GP_TOP_INTERVAL, /* a duration is written */
	GP_TOP_CONFIRM,  /* y does it */
	GP_TOP_HELP,     /* any key goes back */
	GP_TOP_DETAIL,   /* of the selected job */
};

enum gp_cli_top_action { GP_TOP_DO_SUSPEND, GP_TOP_DO_CONTINUE, GP_TOP_DO_RENICE };

struct gp_cli_top_line {
	u64 at_ns;
	char text[256];
};

struct gp_cli_top_queue {
	u32 pid, id, gpu_id;
	const char *type; /* NULL: the driver does not list it */
	u64 ring_bytes;
	u32 work;     /* enum gp_sched_work .. */
	u64 since_ns; /* .. since then; 0: not seen */
};

struct gp_cli_top_screen {
	struct gp_diag diag;                 /* keeps the message for the last line */
	struct gp_cli_daemon_client *client; /* NULL: the driver is read */
	const struct gp_root *root;
	struct gp_cli_top_data top;
	struct gp_cli_top_rates rates;
	struct gp_cli_canvas canvas;
	bool connected, quit, paused, tree, colour;
	u64 interval_ns;
	enum gp_cli_top_sort sort;
	enum gp_cli_top_mode mode;
	enum gp_cli_top_action action;
	char filter[GP_TOP_INPUT], input[GP_TOP_INPUT];
	u64 selected;     /* id of a job; 0: none */
	u64 concerns;     /* id of the job that is asked about */
	u64 held;         /* id of the job that this screen suspended; 0: none */
	u64 held_ns;      /* the daemon's time of that */
	size_t first_gpu; /* shown: the first of those that fit */
	u32 priority;
	char said[256];
	/* As drawn last: the line of the first job, and which job is on it. */
	int jobs_y, jobs_shown;
	size_t first_job;
	/* The last decisions: in GP_TOP_DETAIL of the selected job, else of all. */
	struct gp_cli_top_line lines[GP_TOP_LINES];
	size_t line_count;
	struct gp_cli_top_queue queues[GP_TOP_QUEUES];
	size_t queue_count;
	char *why;                     /* sentences, one per line */
	int detail_first, detail_page; /* the first line shown; lines shown, as drawn last */
	/* Without a daemon: a table of processes. */
	char *processes;
};

struct gp_cli_top_options {
	enum gp_cli_top_sort sort;
	const char *filter;
	u64 interval_ns;
	bool colour;
};

/* Until the user ends it or a signal does; the terminal is as it was afterwards. -ENOTTY when the
 * terminal cannot do it (without a message). */
int gp_cli_top_screen(struct gp_cli_daemon_client *client, const struct gp_root *root,
		      const struct gp_cli_top_options *options);
/* What a key does: a character, or a KEY_ of ncurses. */
void gp_cli_top_key(struct gp_cli_top_screen *screen, int key);
/* A click on a line, and the wheel. */
void gp_cli_top_click(struct gp_cli_top_screen *screen, int y);
void gp_cli_top_wheel(struct gp_cli_top_screen *screen, int by);
void gp_cli_top_move(struct gp_cli_top_screen *screen, long by);

/* ---- the terminal: top_terminal.c ---- */

/* -ENOTTY if it cannot show a full screen. */
int gp_cli_top_terminal(struct gp_cli_top_screen *screen, int signals,
			void (*loop)(struct gp_cli_top_screen *screen, int signals));
/* Size of the terminal, then what was drawn. */
void gp_cli_top_refresh(struct gp_cli_top_screen *screen);
/* Handles all keys that were pressed. */
void gp_cli_top_read_keys(struct gp_cli_top_screen *screen);

/* ---- drawing ---- */

/* The job with that id in the last reading, or NULL. */
const struct gp_proto_msg_job *gp_cli_top_find(const struct gp_cli_top_screen *screen, u64 id);
/* Fills the canvas, which has been begun. */
void gp_cli_top_draw(struct gp_cli_top_screen *screen);
/* GPUs from line y on, `room` lines at most. Returns the next free line. */
int gp_cli_top_draw_gpus(struct gp_cli_top_screen *screen, int y, int room);
void gp_cli_top_draw_help(struct gp_cli_top_screen *screen);
/* Instead of all that, without a daemon: what is missing, and what the drivers list. */
void gp_cli_top_draw_absent(struct gp_cli_top_screen *screen);
void gp_cli_top_read_absent(struct gp_cli_top_screen *screen);
void gp_cli_top_draw_detail(struct gp_cli_top_screen *screen);
/* The last decisions, newest first: `whole` breaks lines that are too long, else they are cut.
 * Returns the next free line. */
int gp_cli_top_draw_decisions(struct gp_cli_top_screen *screen, int y, int end, bool whole);
/* Below the list, where nothing else is. */
void gp_cli_top_draw_recent(struct gp_cli_top_screen *screen, int y);
/* Asks for the last decisions about a process, or (0) all. */
void gp_cli_top_read_decisions(struct gp_cli_top_screen *screen, u32 pid);
/* Asks for the queues of the selected job and the decisions about it. */
void gp_cli_top_read_detail(struct gp_cli_top_screen *screen);
enum gp_cli_style gp_cli_top_style(enum gp_show_colour colour);

#endif
