/* SPDX-License-Identifier: MIT */
/*
 * The environment that puts the agent into a program. `gpreempt run` and the plugin for Slurm fill
 * a wish and call gp_proto_launch_prepare(), which alone sets variables: a program gets the same
 * from both.
 */
#ifndef GP_PROTO_LAUNCH_H
#define GP_PROTO_LAUNCH_H

#include "base/types.h"

#define GP_LAUNCH_LIBRARY      "libgpreempt_agent.so"
#define GP_LAUNCH_AUTO_LIBRARY "libgpreempt_agent_auto.so" /* the same, with --ahead auto */
#define GP_LAUNCH_WEIGHT_MAX   100u /* times the usual one; a rule has hundredths */

/* The environment of the program that is to be started: this process's, or a job's. */
struct gp_proto_launch {
	void *data;
	/* 1: the variable is in `out`; 0: it does not exist; -errno, -ENOSPC if it does not fit. */
	int (*get)(void *data, const char *name, char *out, size_t size);
	/* 0 or -errno. A variable that exists stays as it is unless `replace` is set. */
	int (*set)(void *data, const char *name, const char *value, bool replace);
	int (*unset)(void *data, const char *name);
};

enum gp_proto_ahead { GP_LAUNCH_AHEAD_AS_IT_IS, GP_LAUNCH_AHEAD_AUTO, GP_LAUNCH_AHEAD_TIME };

/* The settings of a program. Those that are not given stay as its environment has them. */
struct gp_proto_launch_wish {
	const char *job_class, *group; /* NULL: not given */
	const char *directory;         /* of the sockets of gpreemptd; NULL: not given */
	bool has_priority;
	u32 priority;
	u32 weight;      /* 0: not given */
	u64 deadline_us; /* 0: not given */
	enum gp_proto_ahead ahead;
	u64 ahead_us; /* of GP_LAUNCH_AHEAD_TIME */
};

/* "online", "normal" or "offline". */
bool gp_proto_launch_is_class(const char *text);
/* A whole number from 1 to GP_LAUNCH_WEIGHT_MAX. */
bool gp_proto_launch_weight(const char *text, u32 *out);
/* 1 to GP_PROTO_NAME - 1 bytes. */
bool gp_proto_launch_is_group(const char *text);

/* Whether LD_PRELOAD can name this path: it has no way to quote a separator. */
bool gp_proto_launch_can_list(const char *path);
/* The environment of this process. */
void gp_proto_launch_own(struct gp_proto_launch *out);
/* Whether the program needs GP_LAUNCH_AUTO_LIBRARY: by the wish, or by its environment. */
bool gp_proto_launch_is_auto(const struct gp_proto_launch *launch,
			     const struct gp_proto_launch_wish *wish);
/* Sets everything: the wish, and the library, which LD_PRELOAD can name, in front of
 * those that are loaded already; one of an earlier launch is replaced. 0 or -errno. */
int gp_proto_launch_prepare(const struct gp_proto_launch *launch,
			    const struct gp_proto_launch_wish *wish, const char *library);

#endif
