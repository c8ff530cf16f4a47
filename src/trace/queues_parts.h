/*
 * The inside of the queue analysis: queues.c takes events, queues_finish.c puts together what only
 * the whole log can tell. Nothing else includes this.
 */
#ifndef GP_TRACE_QUEUES_PARTS_H
#define GP_TRACE_QUEUES_PARTS_H

#include "trace/map.h"
#include "trace/queues.h"

/* Threads that are inside hipStreamCreate at the same time; more push out the oldest. */
#define GP_OPEN_CALLS 64

/* What is kept of a row only while reading; same index as the row. */
struct gp_queue_state {
	bool used;           /* first_ns and last_ns are of packets */
	bool gone;           /* merged into another row */
	enum gp_clock clock; /* of first_ns and last_ns */
	u64 pointers_at;     /* event number of rptr and wptr */
};

/* A thread inside hipStreamCreate. */
struct gp_open_call {
	u32 pid;
	bool has_tid;
	u64 tid;
	u32 row; /* the queue named last since it entered, or GP_MAP_NONE */
	u64 entered;
};

struct gp_log_queues {
	struct gp_log_queue *rows;
	size_t count, capacity;
	struct gp_queue_state *states;
	size_t state_capacity;
	struct gp_map by_address; /* (pid, address) -> row */
	struct gp_map by_object;  /* (pid, object) -> row */
	struct gp_map bound;      /* (row, stream) -> 1 */
	struct gp_map old_pids;   /* (pid, 0) -> 1: the process runs ROCm 5.2 or older */
	struct gp_open_call calls[GP_OPEN_CALLS];
	size_t call_count;
	u64 events;
	u32 last_row; /* the row found last: packets come in runs */
	u32 last_old_pid;
	bool has_last_old_pid;
};

/* Remembers that a stream is on the queue, once. 0 or -ENOMEM. */
int gp_log_queue_bind(struct gp_log_queues *queues, u32 row, u64 stream);
/* Widens first_ns and last_ns by a packet's time. Times of two clocks are not mixed. */
void gp_log_queue_used_at(struct gp_log_queue *row, struct gp_queue_state *state, u64 time_ns,
			  enum gp_clock clock);

#endif
