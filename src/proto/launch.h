/* SPDX-License-Identifier: MIT */
/*
 * The environment that puts the agent into a program: `gpreempt run` and the plugin for Slurm make
 * it with the same function, so that a job gets from both what it gets from one.
 */
#ifndef GP_PROTO_LAUNCH_H
#define GP_PROTO_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

#define GP_LAUNCH_LIBRARY      "libgpreempt_agent.so"
#define GP_LAUNCH_AUTO_LIBRARY "libgpreempt_agent_auto.so" /* the same, with --ahead auto */
#define GP_LAUNCH_CLASS        "GPREEMPT_CLASS"
#define GP_LAUNCH_GROUP        "GPREEMPT_GROUP"
#define GP_LAUNCH_WEIGHT       "GPREEMPT_WEIGHT"
#define GP_LAUNCH_WEIGHT_MAX   100u /* times the usual one; a rule has hundredths */

/* The environment of the program that is to be started: this process's, or a job's. */
struct gp_proto_launch {
	void *data;
	/* 1: the variable is in `out`; 0: it does not exist; -errno, -ENOSPC if it does not fit. */
	int (*get)(void *data, const char *name, char *out, size_t size);
	/* 0 or -errno. A variable that exists stays as it is unless `replace` is set. */
	int (*set)(void *data, const char *name, const char *value, bool replace);
};

/* "online", "normal" or "offline". */
bool gp_proto_launch_is_class(const char *text);
/* 1 to GP_PROTO_NAME - 1 bytes. */
bool gp_proto_launch_is_group(const char *text);

/* Whether LD_PRELOAD can name this path: it has no way to quote a separator. */
bool gp_proto_launch_can_list(const char *path);
/* The environment of this process. */
void gp_proto_launch_own(struct gp_proto_launch *out);
/* Loads the library, which LD_PRELOAD can name, in front of those that are loaded already; one of
 * an earlier launch is replaced. 0 or -errno. */
int gp_proto_launch_load(const struct gp_proto_launch *launch, const char *library);
/* The name that a front end and the program that launches know each other by: for --ahead auto. */
int gp_proto_launch_team(const struct gp_proto_launch *launch);

#endif
