/* SPDX-License-Identifier: MIT */
/*
 * The queues of a process from all sources: AMD_LOG_LEVEL logs, the driver's list in sysfs, and the
 * descriptors and slots in debugfs. The sources are joined on two keys, the ring base and the queue
 * object; each fact keeps the name of its source.
 *
 * A KFD queue id is set only when exactly one queue can have it. Otherwise it stays unknown and the
 * candidates are listed: acting on a wrong id would stop the queue of another process.
 */
#ifndef GP_INSPECT_FIND_H
#define GP_INSPECT_FIND_H

#include "base/diag.h"
#include "base/file.h"
#include "gpu/gpu.h"
#include "base/host/container.h"
#include "base/host/process.h"
#include "trace/read/amdlog.h"
#include "trace/analyse/queues.h"

/* Levels of HSA: 0 low, 1 normal, 2 high. */
#define GP_FIND_PRIORITY_HIGH 2

/* Candidates that are kept; all are counted. */
#define GP_FIND_CANDIDATES_MAX 16

/* Facts of a queue that may be unknown. */
enum gp_inspect_find_fact {
	GP_FIND_RING,
	GP_FIND_OBJECT,
	GP_FIND_KFD_ID,
	GP_FIND_HSA_ID,
	GP_FIND_GPU,
	GP_FIND_TYPE,
	GP_FIND_SIZE,
	GP_FIND_PRIORITY,
	GP_FIND_KFD_PRIORITY,
	GP_FIND_STREAMS,
	GP_FIND_DISPATCHES,
	GP_FIND_BARRIERS,
	GP_FIND_USE, /* first and last */
	GP_FIND_ACTIVE,
	GP_FIND_RPTR,
	GP_FIND_WPTR,
	GP_FIND_BACKLOG,
	GP_FIND_FACTS,
};

/* Where a fact came from; GP_FROM_NOWHERE = unknown. */
enum gp_inspect_find_source {
	GP_FROM_NOWHERE,
	GP_FROM_LOG,
	GP_FROM_SYSFS,
	GP_FROM_MQD,
	GP_FROM_HQD,
	GP_FROM_MATCH, /* sysfs id whose GPU, type and size fit exactly one queue */
};

/* The key that joined the log with the live system. */
enum gp_inspect_find_key { GP_KEY_NONE, GP_KEY_RING, GP_KEY_OBJECT, GP_KEY_BOTH };

struct gp_inspect_find_queue {
	enum gp_inspect_find_source from[GP_FIND_FACTS];
	enum gp_inspect_find_key key;
	bool described; /* the driver has a descriptor of it */
	bool logged;    /* address is set */
	u64 address;    /* as the log printed it (HWq=) */
	enum gp_trace_address_kind address_kind;
	u64 ring, object;
	u32 kfd_id;
	u64 hsa_id;
	u32 gpu_id;
	enum gp_gpu_queue_type type;
	u64 size;         /* bytes */
	u32 priority;     /* 0 low, 1 normal, 2 high */
	u32 kfd_priority; /* 0..15 */
	u32 streams, streams_max;
	const u64 *stream_handles; /* owned by the log analysis */
	size_t stream_count;
	u64 dispatches, barriers;
	u64 first_ns, last_ns; /* CLOCK_MONOTONIC */
	bool active, deleted;
	bool failed, failed_known;
	struct gp_trace_failure failure; /* with `failed` */
	u64 rptr, wptr, backlog;         /* packets */
	/* KFD ids it may have, when kfd_id is unknown; the count may be larger. */
	u32 candidates[GP_FIND_CANDIDATES_MAX];
	size_t candidate_count;
};

struct gp_inspect_find_process {
	bool pid_known;
	u32 pid; /* host pid when the process is alive, else as given or logged */
	bool alive;
	bool described; /* `process` was read; `contained`: `container` too */
	struct gp_process process;
	bool contained;
	struct gp_container container;
	struct gp_inspect_find_queue *queues;
	size_t count, capacity;
};

struct gp_inspect_find_input {
	const char *name;
	struct gp_trace_amdlog_stats stats;
	bool fast;          /* only lines that name a queue were looked at and counted */
	bool pid_from_name; /* lines without a pid took it from the file's name */
};

struct gp_inspect_find_options {
	struct gp_root root;
	u32 pid;               /* 0 with `all` */
	const char *container; /* the pid is one inside this container */
	bool all, fast, no_live;
	char **logs;
	size_t log_count;
	const char *stdin_name; /* what messages call the log "-" */
	/* Bytes read of a log; total 0 = unknown. `name` NULL: the log was read. */
	void (*progress)(void *ctx, const char *name, u64 done, u64 total);
	void *progress_ctx;
};

struct gp_inspect_find_result {
	struct gp_inspect_find_process *processes;
	size_t count, capacity;
	struct gp_inspect_find_input *inputs;
	size_t input_count;
	struct gp_trace_log_queues *log;
};

/*
 * 0 when every input was read, also if no queue was found; -ESRCH when the pid is neither alive nor
 * in a log; another -errno, with a message, when an input could not be used.
 */
int gp_inspect_find(const struct gp_inspect_find_options *options, struct gp_diag *diag,
		    struct gp_inspect_find_result *out);
void gp_inspect_find_result_free(struct gp_inspect_find_result *result);

/* Joins one process; split out so that tests can feed it. Log queues of other pids are ignored
 * unless their pid is in `pids` (a container's own pid of the same process) or unknown. */
struct gp_inspect_find_live {
	u32 pid;
	bool alive;                         /* the process exists on this machine */
	bool sysfs_read;                    /* KFD is here, and its list of processes was read */
	const struct gp_gpu_process *sysfs; /* NULL: not in that list */
	const struct gp_gpu_state *state;   /* or NULL */
};
int gp_inspect_find_join(const struct gp_trace_log_queue *logged, size_t logged_count,
			 const struct gp_inspect_find_live *live,
			 struct gp_inspect_find_process *out, size_t *matched);

#endif
