/* SPDX-License-Identifier: MIT */
/*
 * The keeper of a suspension, which is what `gpreempt suspend` is until it lets go: suspend.c,
 * suspend_say.c for what it prints, and suspend_swap.c for --swap.
 */
#ifndef GP_CLI_CONTROL_SUSPEND_H
#define GP_CLI_CONTROL_SUSPEND_H

#include "cli/control/target_command.h"
#include "show/doc.h"

struct gp_cli_keeper {
	const struct gp_command *command;
	char **words; /* of the command line */
	struct gp_command_diag sink;
	struct gpreempt *context;
	struct gpreempt_target *target;
	enum gpreempt_mechanism mechanism;
	const char *group;
	u32 pid;
	u32 *ids;
	size_t id_count;
	u64 for_ns, lease_ns;
	bool json, verbose, wait, copies;
	bool swap;                      /* its memory is moved when the hold lasts */
	bool swapped;                   /* it was: there is no target, and no lease */
	bool swap_now;                  /* at once, without a suspension before */
	u64 swap_after_ns, swap_memory; /* swap_memory: limit of all that are out; 0: half of it */
	bool said;                      /* why it failed */
	bool empty;                     /* the group had no process when it was opened */
	char name[128];
	u64 started_ns;
	int signals;
};

/* ---- suspend_say.c ---- */

/* Something that happened: an object in JSON; callers add the line for people. */
struct gp_doc *gp_cli_keeper_event(const struct gp_cli_keeper *keeper, const char *event,
				   const char *key, int number);
void gp_cli_keeper_print(const struct gp_cli_keeper *keeper, struct gp_doc *doc);
/* One that people read elsewhere, as a diagnostic. */
void gp_cli_keeper_say(const struct gp_cli_keeper *keeper, const char *event, const char *key,
		       int number);
double gp_cli_keeper_held_s(const struct gp_cli_keeper *keeper);
/* Reports the library's error. Returns the exit status. */
int gp_cli_keeper_failed(struct gp_cli_keeper *keeper);
/* For --verbose: mechanism and times. */
void gp_cli_keeper_details(struct gp_cli_keeper *keeper);
/* After --copy-engines, where the mechanism leaves no choice. */
void gp_cli_keeper_note_copies(struct gp_cli_keeper *keeper);
/* Suspensions nest by owner: whether another one still holds the target, and says so. */
bool gp_cli_keeper_say_others(struct gp_cli_keeper *keeper);

/* ---- suspend.c ---- */

int gp_cli_keeper_open(struct gp_cli_keeper *keeper);
int gp_cli_keeper_take(struct gp_cli_keeper *keeper);

/* ---- suspend_swap.c; a negative status: go on ---- */

/* Before anything is touched. 0 or -errno. */
int gp_cli_keeper_check_swap(struct gp_cli_keeper *keeper);
int gp_cli_keeper_swap_out(struct gp_cli_keeper *keeper);
/* --swap-now: instead of gp_cli_keeper_take(). 0 or -errno, which has been reported. */
int gp_cli_keeper_swap_now(struct gp_cli_keeper *keeper);
/* While it is out. */
int gp_cli_keeper_check_swapped(struct gp_cli_keeper *keeper);
int gp_cli_keeper_come_back(struct gp_cli_keeper *keeper);

#endif
