/* SPDX-License-Identifier: MIT */
/*
 * Analysis: what KFD did in the kernel, from ENTER and LEAVE events: how often each function ran
 * and for how long, and each creation of a queue with its time by step. Feeds on any mix of
 * tracers: where returns were not traced, a step lasts until the next function of the same thread.
 */
#ifndef GP_TRACE_ANALYSE_KFDPATH_H
#define GP_TRACE_ANALYSE_KFDPATH_H

#include "trace/read/event.h"
#include "base/string_table.h"

struct gp_trace_function_use {
	u32 name;
	u64 count;
	u64 timed, total_ns, low_ns, high_ns; /* runs whose length is known */
	u64 inside, inside_ns;                /* in creations of queues: entries, own time */
	u64 line;                             /* of its first event */
	u32 input;
};

struct gp_trace_creation {
	u32 pid, input;
	u64 line;
	u64 start_ns, length_ns;
	bool ended; /* its return was seen; else it lasted at least this */
};

/*
 * Calls of unmap_queues_cpsch that took queues off the GPU. A call returns at once if no runlist is
 * active; only a trace of what it calls shows which calls those are.
 */
struct gp_trace_unmaps {
	bool known; /* a function that only real unmaps call was traced */
	u64 count;
	u64 timed, total_ns; /* those whose length is known */
	u64 line;            /* of the first */
	u32 input;
};

/* Creations that are kept one by one; so that memory is bounded. */
#define GP_KFDPATH_CREATIONS 1024

struct gp_trace_kfdpath {
	struct gp_strings names;
	struct gp_trace_function_use *functions; /* by name */
	size_t function_count, function_capacity;
	u64 creation_count, creation_ended, creation_ns; /* all, with a return, sum of lengths */
	struct gp_trace_creation longest;
	struct gp_trace_creation *creations; /* the first ones, in the order they began */
	size_t creation_kept, creation_capacity;
	struct gp_trace_unmaps unmaps;
	u64 lost, gaps;
	/* private */
	struct gp_map threads; /* (input, pid) -> thread */
	struct gp_trace_path_thread *states;
	size_t state_count, state_capacity;
	struct gp_map open; /* (thread, function) -> entered, see times */
	u64 *times;
	size_t time_count, time_capacity;
	u32 input;
};

void gp_trace_kfdpath_free(struct gp_trace_kfdpath *path);
/* A gp_event_fn; zero-initialised is empty. */
int gp_trace_kfdpath_event(void *ctx, const struct gp_event *event);
void gp_trace_kfdpath_next_input(struct gp_trace_kfdpath *path);
/* Ends creations that are still open. */
void gp_trace_kfdpath_finish(struct gp_trace_kfdpath *path);
/* The function of this name, or NULL. */
const struct gp_trace_function_use *gp_trace_kfdpath_find(const struct gp_trace_kfdpath *path,
							  const char *name);
/* Which names are meant: this one, those that start so, or those that hold it. */
enum gp_trace_match { GP_MATCH_NAME, GP_MATCH_START, GP_MATCH_PART };
/* Runs of all functions that match; *first (may be NULL) gets one of them. */
u64 gp_trace_kfdpath_count(const struct gp_trace_kfdpath *path, enum gp_trace_match match,
			   const char *text, const struct gp_trace_function_use **first);

#endif
