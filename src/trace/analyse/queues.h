/* SPDX-License-Identifier: MIT */
/*
 * Analysis: from a stream of events, the queues each process used: addresses, use, streams.
 * Deterministic, one pass; memory grows with distinct queues (and streams) only.
 */
#ifndef GP_TRACE_ANALYSE_QUEUES_H
#define GP_TRACE_ANALYSE_QUEUES_H

#include "trace/read/event.h"

/* What an address in the log stands for. Through ROCm 6.1 a log prints one address per queue and
 * releases differ on which; from 6.2 on it prints both. */
enum gp_trace_address_kind { GP_ADDRESS_UNKNOWN, GP_ADDRESS_RING, GP_ADDRESS_OBJECT };

enum gp_trace_log_queue_field {
	GP_LQ_OBJECT = 1u << 0,
	GP_LQ_HSA_ID = 1u << 1,
	GP_LQ_SIZE = 1u << 2,
	GP_LQ_PRIORITY = 1u << 3,
	GP_LQ_STREAMS = 1u << 4,
	GP_LQ_RPTR = 1u << 5,
	GP_LQ_WPTR = 1u << 6,
	GP_LQ_FIRST = 1u << 7,   /* first_ns and last_ns */
	GP_LQ_FAILED = 1u << 8,  /* `failed` is known to be true, or false */
	GP_LQ_HANDLES = 1u << 9, /* stream_handles: at least one was bound */
	/* dispatches, barriers: packets of this process are logged. At AMD_LOG_LEVEL 3, and up to 4
	 * in ROCm 7, none are. */
	GP_LQ_PACKETS = 1u << 10,
};

/* Why a queue was aborted. */
struct gp_trace_failure {
	char error[64]; /* HSA_STATUS_..., "" when the message has none */
	u64 line;       /* in its input */
};

struct gp_trace_log_queue {
	u32 pid;                        /* 0 = the log does not say */
	u64 address;                    /* HWq= or the life-cycle line's pointer */
	enum gp_trace_address_kind key; /* what `address` is */
	u64 object; /* SWq=, when printed; or `address`, when that is the object */
	u32 valid;  /* enum gp_trace_log_queue_field */
	u64 hsa_id;
	u64 size_packets;
	u32 priority;             /* HSA: 0 low, 1 normal, 2 high */
	u32 streams, streams_max; /* on the queue at the end, and at most */
	u64 *stream_handles;      /* HIP streams bound to it, in order of binding */
	size_t stream_count, stream_capacity;
	u64 dispatches, barriers;
	u64 first_ns, last_ns; /* first and last packet; without packets, creation and the last
				* line about it */
	u64 rptr, wptr;        /* of the last packet that printed them */
	bool created;
	bool deleted; /* or its address was given to a new queue */
	bool failed;
	struct gp_trace_failure failure; /* with `failed` */
};

struct gp_trace_log_queues; /* the analysis */

struct gp_trace_log_queues *gp_trace_log_queues_new(void);
void gp_trace_log_queues_free(struct gp_trace_log_queues *queues);
/* A gp_event_fn; ctx is the struct gp_trace_log_queues. Returns 0 or -ENOMEM. */
int gp_trace_log_queues_event(void *ctx, const struct gp_event *event);
/*
 * Called before each log after the first (before the first it does no harm): lines without pid of
 * two logs are of two processes for all that is known.
 */
void gp_trace_log_queues_next_input(struct gp_trace_log_queues *queues);
/*
 * Called once after the last event. Lines whose pid was torn off go to the process that uses that
 * address in the same input, if there is exactly one. In logs without SWq=, a queue created under
 * one address and used under another later (created prints the object, HWq= the ring) is put
 * together where exactly one pair in the process is possible. An error that names no queue goes to
 * the one queue its process had then; with several, whether each failed is not known.
 */
int gp_trace_log_queues_finish(struct gp_trace_log_queues *queues);
/*
 * Ordered by pid, then by first appearance. Valid until freed. A queue created at the address of
 * an earlier one of its process has its own row.
 */
const struct gp_trace_log_queue *gp_trace_log_queues_items(const struct gp_trace_log_queues *queues,
							   size_t *count);

#endif
