/* SPDX-License-Identifier: MIT */
/*
 * The inside of the queue analysis: queues.c takes events, queues_streams.c finds the queue of each
 * stream, queues_finish.c completes what needs the whole log. Nothing else includes this.
 */
#ifndef GP_TRACE_ANALYSE_QUEUES_PARTS_H
#define GP_TRACE_ANALYSE_QUEUES_PARTS_H

#include "base/map.h"
#include "trace/analyse/queues.h"

/* Threads that are inside hipStreamCreate at the same time; more push out the oldest. */
#define GP_OPEN_CALLS 64

/* A map value that says "more than one". */
#define GP_SEVERAL (GP_MAP_NONE - 1)

/* What is kept of a row only while reading; same index as the row. */
struct gp_trace_queue_state {
	bool used;         /* first_ns and last_ns are of packets */
	bool gone;         /* merged into another row */
	bool prefixed;     /* without pid: a line of it had its prefix */
	bool threaded;     /* without pid: and a thread, so that is how its release writes */
	bool torn;         /* without pid: because the pid was torn off */
	bool maybe_failed; /* an error of an unnamed queue may have been its own */
	enum gp_trace_clock clock; /* of first_ns and last_ns */
	u32 input;                 /* the last one that named it */
	u64 pointers_at;           /* event number of rptr and wptr */
	/* Event numbers, 0 = never. */
	u64 created_at, used_at, deleted_at;
	u64 created_ns; /* 0 = not known; same clock as first_ns */
};

/* A thread inside hipStreamCreate. */
struct gp_trace_open_call {
	u64 owner;
	bool has_tid;
	bool unclear; /* without tid: another call is open as well, or two queues were named */
	u64 tid;
	u32 row;   /* the queue named last since it entered, or GP_MAP_NONE */
	u32 depth; /* without tid: calls that have not returned */
	u64 entered;
};

/* Queue errors that do not say which queue, of one owner. */
struct gp_trace_unnamed_error {
	u64 first, last; /* event numbers */
	u32 candidates;  /* rows that were alive then */
	struct gp_trace_failure failure;
};

struct gp_trace_log_queues {
	struct gp_trace_log_queue *rows;
	size_t count, capacity;
	struct gp_trace_queue_state *states;
	size_t state_capacity;
	/* The first number is the owner: a process, or an input without pids. */
	struct gp_map by_address; /* (owner, address) -> row, the newest */
	struct gp_map by_object;  /* (owner, object) -> row */
	struct gp_map bound;      /* (row, stream) -> 1 */
	struct gp_map old_owners; /* (owner, 0) -> 1: ROCm 5.2 or older */
	struct gp_map erring;     /* (owner, 0) -> unnamed error */
	struct gp_map users;      /* (input, address) -> row with a pid, or GP_SEVERAL */
	struct gp_trace_unnamed_error *errors;
	size_t error_count, error_capacity;
	struct gp_trace_open_call calls[GP_OPEN_CALLS];
	size_t call_count;
	u64 events;
	u32 input;
	size_t input_row;          /* the first row that this input added */
	u64 with_pid, without_pid; /* lines about queues in this input */
	u32 last_row;              /* the row found last: packets come in runs */
	u64 last_old;              /* the owner found last in old_owners */
	bool partial;              /* the reader left kinds of events out */
};

/* Whose an event or a row is: a unique number, never 0. */
static inline u64 gp_owner(u32 pid, u32 input)
{
	return pid ? pid : ((u64)input + 1) << 32;
}

static inline u64 gp_event_owner(const struct gp_trace_log_queues *queues,
				 const struct gp_event *event)
{
	return gp_owner(event->valid & GP_EV_PID ? event->pid : 0, queues->input);
}

static inline u64 gp_row_owner(const struct gp_trace_log_queues *queues, u32 row)
{
	return gp_owner(queues->rows[row].pid, queues->states[row].input);
}

/* Remembers that a stream is on the queue, once. 0 or -ENOMEM. */
int gp_trace_log_queue_bind(struct gp_trace_log_queues *queues, u32 row, u64 stream);
/* An API_ENTER or API_RETURN. 0 or -ENOMEM. */
int gp_trace_log_queues_call(struct gp_trace_log_queues *queues, const struct gp_event *event);
/* A queue got a stream: of the call that is open, if one is. */
void gp_trace_log_queues_call_named(struct gp_trace_log_queues *queues,
				    const struct gp_event *event, u32 row);
/* Decides which rows of the input that ends here lost their pid to a tear. */
void gp_trace_log_queues_settle_input(struct gp_trace_log_queues *queues);
/* Widens first_ns and last_ns by a packet's time. Times of two clocks are not mixed. */
void gp_trace_log_queue_used_at(struct gp_trace_log_queue *row, struct gp_trace_queue_state *state,
				u64 time_ns, enum gp_trace_clock clock);

#endif
