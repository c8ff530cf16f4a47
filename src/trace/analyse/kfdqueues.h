/* SPDX-License-Identifier: MIT */
/*
 * Analysis: the queues named in the log lines of KFD. Per process the ids and doorbells, whether
 * the ids are those of the PID-hash experiment, what the doorbell offsets mean, and whether two
 * processes really share anything. Memory grows with distinct queues only.
 */
#ifndef GP_TRACE_ANALYSE_KFDQUEUES_H
#define GP_TRACE_ANALYSE_KFDQUEUES_H

#include "show/doc.h"
#include "trace/read/event.h"

/* The experiment that hashes pids into queue ids: id = (pid % 256) * 4 + n. */
#define GP_PID_HASH_PROCESSES 256
#define GP_PID_HASH_QUEUES    4

/* Doorbells of SOC15 parts: 8 bytes each, 1024 per process and device, so a process's slice is
 * 0x800 dwords; the kernel's own come first (Linux 6.1 and 6.12). */
#define GP_DOORBELL_SLICE_DWORDS 0x800
#define GP_DOORBELL_DWORDS       2
#define GP_DOORBELL_BYTES        8
#define GP_DOORBELL_MMAP_TYPE    3 /* bits 63:62 of CREATE_QUEUE's doorbell_offset */

enum gp_trace_kfd_queue_field {
	GP_KQ_PID = 1u << 0,
	GP_KQ_TYPE = 1u << 1,
	GP_KQ_GPU = 1u << 2,
	GP_KQ_IN_PROCESS = 1u << 3,
	GP_KQ_ABSOLUTE = 1u << 4,
	GP_KQ_DOORBELL_ID = 1u << 5,
	GP_KQ_PASID = 1u << 6,
	GP_KQ_INDEX = 1u << 7,
	GP_KQ_BASE = 1u << 8,
	GP_KQ_RING = 1u << 9,
	GP_KQ_CREATED = 1u << 10, /* created_ns */
	GP_KQ_DESTROYED = 1u << 11,
	GP_KQ_MQD = 1u << 12,
};

struct gp_trace_kfd_queue {
	u32 valid; /* enum gp_trace_kfd_queue_field */
	u32 pid;
	u64 id; /* of KFD, per process */
	u64 type, gpu;
	u64 in_process; /* doorbell_offset_in_process, as printed */
	u64 absolute;   /* dword offset on the doorbell BAR */
	u64 doorbell_id;
	u64 pasid, index, base, ring, mqd;
	u64 created_ns;
	u64 line; /* of its first print */
};

/* What the numbers of a process's doorbell_offset_in_process are. */
enum gp_trace_offset_reading {
	GP_OFFSET_NONE,    /* none printed */
	GP_OFFSET_BYTES,   /* bytes inside the process's own slice, as the name says */
	GP_OFFSET_SLICE,   /* dwords on the BAR: the process's slice, absolute */
	GP_OFFSET_UNKNOWN, /* fits neither */
};

enum gp_trace_pid_hash {
	GP_HASH_UNKNOWN, /* no pid */
	GP_HASH_MATCH,   /* the lowest id is (pid % 256) * 4 */
	GP_HASH_STOCK,   /* from 0: the first free id of the process */
	GP_HASH_OTHER,
};

struct gp_trace_kfd_process {
	bool has_pid;
	u32 pid;
	size_t first, count; /* its queues in the sorted array */
	size_t alive;        /* not seen destroyed */
	u64 id_low, id_high;
	enum gp_trace_pid_hash hash;
	enum gp_trace_offset_reading reading;
	bool has_offsets;
	u64 offset_low, offset_high;
	bool has_slice;
	u64 slice;    /* index of the process's slice, from 0 */
	u64 step_low; /* smallest distance of two of its offsets, 0 = fewer than two */
};

struct gp_trace_kfd_queues;

struct gp_trace_kfd_queues *gp_trace_kfd_queues_new(void);
void gp_trace_kfd_queues_free(struct gp_trace_kfd_queues *queues);
/* A gp_event_fn; looks at GP_EVENT_KFD only. */
int gp_trace_kfd_queues_event(void *ctx, const struct gp_event *event);
/* After the last event. 0 or -ENOMEM. */
int gp_trace_kfd_queues_finish(struct gp_trace_kfd_queues *queues);
/* Ordered by pid, id and creation. */
const struct gp_trace_kfd_queue *gp_trace_kfd_queues_items(const struct gp_trace_kfd_queues *queues,
							   size_t *count);
const struct gp_trace_kfd_process *
gp_trace_kfd_queues_processes(const struct gp_trace_kfd_queues *queues, size_t *count);
/* The whole report; NULL without memory. */
struct gp_doc *gp_trace_kfd_queues_doc(const struct gp_trace_kfd_queues *queues);

#endif
