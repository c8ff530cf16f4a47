/* SPDX-License-Identifier: MIT */
/*
 * What the commands that act on other processes share: times and mechanisms as arguments, and the
 * holder as they see it beside the library (which process holds which queues, and a release without
 * its help).
 */
#ifndef GP_CLI_CONTROL_TARGET_COMMAND_H
#define GP_CLI_CONTROL_TARGET_COMMAND_H

#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/types.h"
#include "cli/command.h"
#include "gpreempt.h"
#include "proto/wire.h"

/*
 * `gpreempt resume` names to a running `gpreempt suspend` what to let go by this signal, whose
 * value is a queue's id or GP_KEEPER_ALL. It is sent only to a process that has it blocked, which
 * is how a keeper waits for it: no process is killed by mistake.
 */
#define GP_KEEPER_SIGNAL (SIGRTMIN + 5)
#define GP_KEEPER_ALL    (-1)

/* "kfd-debug", "auto", ... */
bool gp_cli_mechanism_argument(const char *text, enum gpreempt_mechanism *mechanism);
/* Queue ids from argv[first] on; -EINVAL after saying why. The array is the caller's to free. */
int gp_cli_queue_arguments(const struct gp_command *command, int argc, char **argv, int first,
			   u32 **ids, size_t *count);

/* 0, or -ESRCH if the group is empty, after saying so. Without a group always 0. */
int gp_cli_group_present(struct gpreempt *context, const char *group,
			 struct gpreempt_target *target, struct gp_diag *diag);
/*
 * Says why a process could not be opened or changed: `reason`, and what to do when it is on a
 * virtual GPU that this command is not on. `words` is this command as typed. A program that
 * 'gpreempt run' has just started has no GPU yet: that is said instead, if it was not `open` and
 * no `mechanism` was named that has no need of its agent.
 */
void gp_cli_target_failed(u32 pid, bool open, u32 mechanism, int error, const char *reason,
			  char **words, struct gp_diag *diag);

/* When nothing is held of it: -ESRCH when there is no such process, -EPERM when it is another
 * user's, -EXDEV when it is on another virtual GPU; after saying so. */
int gp_cli_target_absent(u32 pid, char **words, struct gp_diag *diag);

/* Whether the host has stopped the process (a signal, a debugger, a freezer). */
bool gp_cli_target_stopped(u32 pid);
/* 0, or -ETIME, after saying so, if the process is stopped and only its agent could answer. */
int gp_cli_target_mute(u32 pid, struct gp_diag *diag);

/* Whether 'gpreempt run --group NAME' started the process. */
bool gp_cli_target_in_group(u32 pid, const char *group);

/* "process 4711", "group 'training'"; for messages. */
void gp_cli_target_name(char *out, size_t size, u32 pid, const char *group);

/* ---- the holder without the library ---- */

struct gp_cli_holder {
	int socket;          /* -1: none */
	pid_t pid;           /* 0: not known */
	char directory[108]; /* of another user's holder, for root; "": this user's */
	uid_t uid;           /* of that user */
	struct gp_wire_message message;
};

/* 0, or -errno after a message if GPREEMPT_DIR is set and cannot be entered: that no holder is
 * found there would say nothing. */
int gp_cli_holder_check_directory(struct gp_diag *diag);
/* Connects to the holder there is; none is started. -ENOENT: there is none. -ETIME: it hangs, and
 * `pid` is set when it could be found. */
int gp_cli_holder_connect(struct gp_cli_holder *holder, int timeout_ms);
/* The holder of that directory by its lock file; 0 when there is none, or it cannot be known. */
pid_t gp_cli_holder_owner(const struct gp_cli_holder *holder);
/* For root: calls `visit` for the holder of every other user, not yet connected, until it returns
 * non-zero; returns that. One per user, so that no user can keep this busy. */
int gp_cli_holder_each_other(struct gp_cli_holder *room,
			     int (*visit)(void *data, struct gp_cli_holder *holder), void *data);
void gp_cli_holder_close(struct gp_cli_holder *holder);
/* Sends one of the requests that name no target of ours. Returns the answer's status. */
int gp_cli_holder_ask(struct gp_cli_holder *holder, u16 type, u32 value, int timeout_ms);

struct gp_cli_holds {
	struct gp_proto_msg_hold *items;
	size_t count, capacity;
};

/* Every suspension; the caller frees items. */
int gp_cli_holder_holds(struct gp_cli_holder *holder, struct gp_cli_holds *holds, int timeout_ms);

/* Reads the sentence of a refused request. */
void gp_cli_holder_text(const struct gp_cli_holder *holder, char *out, size_t size);

#endif
