/* SPDX-License-Identifier: MIT */
/*
 * libgpreempt_poc: the smallest way to stop and continue queues of another process; the interface
 * of the first proof of concept, over libgpreempt. Plain integers and arrays, no handles: from
 * Python, ctypes.CDLL("libgpreempt_poc.so") is all it takes.
 *
 * A queue is named by its KFD id, as gpreempt_get_queue_status() gives it. The `id=` of an AMD log
 * is an HSA id and names another queue, or none.
 *
 * Here as well, a suspension is a lease. A thread of this library renews it in the background, so
 * that the process runs again when this one dies or is stopped, and in any case after the limit: 2
 * s unless gpreempt_poc_set_limit() says otherwise (at most an hour). A suspension that reached it
 * shows as running, and suspending again starts it anew.
 *
 * Functions return 0 or a count, or -errno; gpreempt_poc_error() has the sentence for people. They
 * may be called from any thread and wait for each other. A child after fork() starts with
 * gpreempt_poc_init().
 */
#ifndef LIBGPREEMPT_POC_H
#define LIBGPREEMPT_POC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One queue. Fields whose bit is not in `valid` are not known and 0. */
struct gpreempt_poc_queue_status {
	uint32_t queue_id; /* KFD id */
	uint32_t gpu_id;
	int32_t pid;
	uint32_t valid;              /* enum gpreempt_queue_field of gpreempt.h */
	uint32_t is_suspended;       /* 1: by any context */
	uint32_t is_active;          /* 1: has work that is not known to be done; valid bit 6 */
	uint64_t ring_address;       /* valid bit 2 */
	uint64_t rptr, wptr;         /* packets; valid bit 4 */
	uint32_t priority;           /* hardware priority, 0..15; valid bit 5 */
	int32_t suspended_by;        /* pid; 0: none */
	uint64_t suspended_since_ns; /* CLOCK_MONOTONIC; 0: running */
};

/* Connects to the holder, starting it when there is none. Repeats are harmless. */
int gpreempt_poc_init(void);
/* Resumes everything and ends the renewing thread. */
void gpreempt_poc_close(void);

/* Stops queues of a process; no ids (NULL, 0): all of them, also those created later.
 * `grace_period` is 1..255 units of 1024 GPU clocks for waves to end, 0 the driver's own. Returns
 * how many queues are stopped. -ENOENT: one of the ids is not a queue of it; nothing was done. */
int gpreempt_suspend_queues(int32_t pid, const uint32_t *queue_ids, uint32_t num_queues,
			    uint32_t grace_period);
/* Lets them continue exactly where they stopped. Returns how many run because of it; 0 when this
 * process held none. */
int gpreempt_resume_queues(int32_t pid, const uint32_t *queue_ids, uint32_t num_queues);

/* Fills at most `room` entries and returns how many queues there are. */
int gpreempt_get_queue_status(int32_t pid, struct gpreempt_poc_queue_status *status, uint32_t room);

/* The longest a suspension lasts from now on, renewals included: 50 to 3600000 ms. */
int gpreempt_poc_set_limit(uint32_t limit_ms);
/* The sentence of this thread's last error; "" when there was none. */
const char *gpreempt_poc_error(void);

#ifdef __cplusplus
}
#endif

#endif
