/* SPDX-License-Identifier: MIT */
/*
 * The server of a virtual GPU: owns the models and the truth about processes, queues and
 * debuggers. One thread, one epoll loop. Requests arrive on sockets, work in shared rings, time on
 * a timerfd; the models answer with actions.
 *
 * The driver's locks are kept in effect: the ioctls of one process are served in order, and one
 * that must wait for the hardware (an unmap and map) holds up the next of the same process, not
 * those of others.
 */
#ifndef GP_VGPU_SERVER_SERVER_H
#define GP_VGPU_SERVER_SERVER_H

#include <sys/types.h>

#include "abi/kfd_debug.h"
#include "abi/kfd_ioctl.h"
#include "abi/kfd_queue.h"
#include "base/buf.h"
#include "base/diag.h"
#include "model/model.h"
#include "vgpu/gpufile.h"
#include "vgpu/wire.h"

struct gp_vgpu_server;
struct gp_vgpu_connection;
struct gp_vgpu_process;
struct gp_vgpu_request;
struct gp_vgpu_smi;
struct gp_vgpu_update;

/* Linux 6.1 has no DBG_TRAP; its permission check changed between the others
 * (kfd_ioctl_set_debug_trap()). 6.16 differs from 6.12 in its KFD version, 1.18: the last field of
 * SET_MEMORY_POLICY has a meaning there, which no model needs. 7.0 (1.19) has CREATE_PROCESS.
 */
enum gp_vgpu_server_era { GP_ERA_6_1, GP_ERA_6_5, GP_ERA_6_12, GP_ERA_6_16, GP_ERA_7_0 };

/* The process that open() makes. Others are numbered from 1; the driver's numbers are one less. */
#define GP_VGPU_PRIMARY 0

/* The parameter sched_policy of amdgpu. */
enum gp_vgpu_sched_policy {
	GP_POLICY_HWS,              /* the hardware scheduler */
	GP_POLICY_NO_OVERSUBSCRIBE, /* the same, never with more than fits */
	GP_POLICY_NO_HWS,           /* the driver loads queues itself; no debugging */
};

struct gp_vgpu_server_options {
	const char *directory;
	u64 speed_permille;
	u64 seed;
	enum gp_vgpu_server_era era;
	bool runtime_enable; /* on behalf of runtimes too old to call it */
	bool compute;        /* clients execute kernels */
	u32 gpu_count;
	u32 preemption_timeout_ms;
	bool checkpoint; /* callers count as having CAP_CHECKPOINT_RESTORE */
	enum gp_vgpu_sched_policy policy;
	bool recovery; /* a GPU that hangs is reset; else it is waited for */
};

struct gp_vgpu_queue {
	u32 id; /* in its process */
	struct gp_vgpu_process *process;
	struct gp_vgpu_device *device;
	u32 model_queue, model_process;
	struct gp_kfd_create_queue_args args; /* as created and updated since */
	u32 percent, priority;
	bool suspended, evicted, destroying;
	u32 off, given_up; /* settle.c */
	u64 exception_status;
	u32 doorbell_id;             /* slot in the process's slice */
	u32 doorbell;                /* dword index on the BAR */
	u64 mqd_address;             /* made up, unique */
	u32 sdma_engine, sdma_queue; /* and which of the engine's */
	u64 cu_mask[GP_MODEL_CU_WORDS];
	u64 launched, completed;      /* packets */
	u32 dones_due;                /* dones those packets will still make */
	u32 in_flight;                /* packets handed to the model and not complete */
	bool gws;                     /* holds the process's global wave sync on this device */
	struct gp_vgpu_queue *older;  /* of the process, newest first */
	struct gp_vgpu_queue *zombie; /* destroyed, not yet gone from the model */
};

/* A packet on the HIQ, the ring from the driver to the scheduler firmware. */
#define GP_VGPU_PACKETS 64
struct gp_vgpu_packet {
	u32 opcode; /* enum gp_pm4_opcode */
	u32 value;  /* the register's, the queue selection, or the queues of the runlist */
};

/* The share of the CUs' time that was used, when it was last asked for. */
struct gp_vgpu_activity {
	u64 at_ns, busy_cu_ns;
	u32 percent;
};

struct gp_vgpu_device {
	struct gp_vgpu_gpufile file;
	u32 node; /* topology node, the CPU is 0 */
	struct gp_model *model;
	void *model_memory;
	size_t model_bytes;
	u64 vram_used;
	struct gp_vgpu_activity activity;
	u64 next_tag;
	bool hung; /* an unmap timed out; the driver asks for a reset */
	u32 index; /* in struct gp_vgpu_server */
	u32 queue_count;
	u32 resets;
	u64 sdma_used[2][2]; /* bit = queue * engines + engine; PCIe, XGMI */
	u32 watch_points;    /* taken, all processes */
	struct gp_vgpu_packet packets[GP_VGPU_PACKETS]; /* on the HIQ, the last ones */
	u64 packet_count;                               /* ever; the next one's place follows */
	struct gp_vgpu_queue **by_model;                /* model queue -> queue */
	struct gp_vgpu_process **owners; /* model process -> process, NULL when it is dead */
	u32 *owned;                      /* model process -> its queues in the model */
	struct gp_vgpu_update *updates;  /* in order; the first ones are with the model */
	struct gp_vgpu_queue *zombies;   /* wait until the model lets them go */
};

/* Debugger side of a target. */
struct gp_vgpu_debug {
	bool enabled;
	struct gp_vgpu_process *debugger; /* not cleared by a failed ENABLE, as in the driver */
	int event_fd;                     /* the debugger's, -1 = none */
	u64 exception_mask;
	u64 process_status;                  /* process exceptions pending */
	u64 device_status[GP_VGPU_MAX_GPUS]; /* device exceptions pending */
	u32 watch_points[GP_VGPU_MAX_GPUS];  /* ids this target holds */
	u32 flags, launch_mode;
	bool dangling; /* its debugger stole the session and died: the driver's pointer is stale */
};

struct gp_vgpu_process {
	struct gp_vgpu_process *next;
	pid_t pid;
	u32 context; /* GP_VGPU_PRIMARY, or the number of a secondary one of the same pid */
	u64 token;
	u32 pasid;
	u32 index;                           /* of its doorbell slices */
	u32 model_process[GP_VGPU_MAX_GPUS]; /* GP_MODEL_NONE until its first queue there */
	struct gp_vgpu_queue *queues[GP_VGPU_MAX_QUEUES];
	u32 queue_count;
	u64 vram_used[GP_VGPU_MAX_GPUS], sdma_ns[GP_VGPU_MAX_GPUS];
	u32 evictions[GP_VGPU_MAX_GPUS];      /* that were not undone: its queues there are off */
	u64 evicted_since[GP_VGPU_MAX_GPUS];  /* raw ns */
	u64 evicted_raw_ns[GP_VGPU_MAX_GPUS]; /* by evictions that are over */
	bool paused;                          /* by CRIU_OP */
	bool reset[GP_VGPU_MAX_GPUS];         /* it had queues there when the GPU was reset */
	u32 runtime_state;                    /* KFD_RUNTIME_* */
	u64 r_debug;
	u32 ttmp_setup;
	struct gp_vgpu_debug debug;
	s32 debugging;      /* the driver's counter: a stolen session makes it wrong, as there */
	bool runtime_retry; /* RUNTIME_ENABLE was interrupted while it waited for the debugger */
	u32 runtime_posts;  /* answers of the debugger that no call has taken yet */
	struct gp_vgpu_queue *newest;
	u32 device_queues[GP_VGPU_MAX_GPUS];
	u64 joined[GP_VGPU_MAX_GPUS]; /* mqd_address of its first queue there since it had none */
	u64 doorbells[GP_VGPU_MAX_GPUS][GP_KFD_DOORBELLS / 64]; /* taken slots of its slices */
	u32 connections;
	int pid_fd;
	bool serving, stalled;
	bool condemned;    /* it lied: removed at the end of the turn */
	u64 work_consumed; /* private to the server, never wraps; copied to the shared one */
	u32 done_produced; /* likewise */
	u64 stale[GP_VGPU_MAX_QUEUES];  /* work before that was for an earlier queue of that id */
	u32 dones_due;                  /* dones that packets under way will still make */
	bool dones_new;                 /* the client must be woken */
	struct gp_vgpu_request *parked; /* those that wait without holding up others */
	struct gp_vgpu_shared *shared;
	int shared_fd;
	int bell_fd, client_bell_fd; /* the two ends: "there is something in a ring" */
	u32 outstanding;             /* packets under way */
	struct gp_vgpu_request *requests, **requests_tail; /* in order; the first may be waiting */
	bool dead;
};

/* The surroundings of the server; tests bring their own clock and processes. */
struct gp_vgpu_server_task {
	pid_t tgid;
	pid_t tracer; /* the thread that traces it, 0 = none */
	bool has_memory;
};

struct gp_vgpu_server_host {
	u64 (*raw_ns)(void *context); /* CLOCK_MONOTONIC_RAW */
	/* -ESRCH when there is no such thread. */
	int (*task)(void *context, pid_t tid, struct gp_vgpu_server_task *out);
	void (*reply)(struct gp_vgpu_server *server, struct gp_vgpu_request *request);
	/* Into a client's memory; the driver does not care whether it worked, nor does this. */
	void (*write)(void *context, pid_t pid, u64 address, const void *data, size_t size);
	/* The process at the other end of a connection. */
	int (*peer)(void *context, int fd, pid_t *pid, uid_t *uid);
	void *context;
};

struct gp_vgpu_server {
	struct gp_vgpu_server_options options;
	struct gp_vgpu_server_host host;
	struct gp_diag *diag;
	struct gp_vgpu_device devices[GP_VGPU_MAX_GPUS];
	u32 device_count;
	struct gp_vgpu_process *processes;
	u64 next_token, next_mqd;
	u32 next_pasid;
	u64 raw_epoch_ns;
	/*
	 * Model time. now_ns is what every call to a model gets: all models have come that far.
	 * due_ns is where the clock wants it; a machine that has too much to do does not get there,
	 * and then falls behind the clock for good (behind_ns): kernels take longer, never less.
	 */
	u64 now_ns, due_ns, behind_ns;
	u64 hold_at_ns; /* where it stands still; GP_MODEL_NEVER */
	const struct gp_vgpu_connection *holder;
	u64 freed_writes; /* times the driver would have written to a freed process object */
	int epoll_fd, listen_fd, timer_fd, signal_fd;
	int home_fd, inotify_fd; /* its directory, and changes of it; -1: not watched */
	bool homeless;           /* its socket was deleted: no program can connect any more */
	bool gone;      /* and so was its directory, whose path may be that of another machine */
	int reserve_fd; /* for one more connection when there are no descriptors left */
	bool accept_paused;
	u64 accept_again_ns; /* raw */
	bool stopping;
	struct gp_vgpu_connection *connections;
	struct gp_vgpu_process *graves; /* removed, freed at the end of the turn */
	struct gp_vgpu_smi *smi;
	struct gp_vgpu_request *settling;
	u8 *message; /* room for one */
	u64 armed_ns;
};

/*
 * A request under way. A handler either answers at once or leaves it waiting for the updates it
 * asked for; the loop calls `resume` when the last of them is done.
 */
struct gp_vgpu_request {
	struct gp_vgpu_request *next;
	struct gp_vgpu_process *process;
	struct gp_vgpu_connection *connection;
	struct gp_vgpu_header header;
	u8 *payload; /* owned; header.payload_size bytes in, payload_out out */
	u32 payload_out;
	int received_fd, send_fd;
	s64 result;
	struct gp_vgpu_process *owner; /* in whose order it is served: the target of DBG_TRAP */
	u32 updates_pending;
	int update_error; /* -ETIME: the hardware did not let go */
	bool started, waiting, interrupted, parked;
	struct gp_vgpu_request *settle_next; /* settle.c: waits for clients, at most until then */
	u64 settle_until;
	void (*resume)(struct gp_vgpu_server *server, struct gp_vgpu_request *request);
	u64 context[4]; /* the handler's own */
};

/* ---- server.c, loop.c: set up, run until stopped, tear down ---- */
int gp_vgpu_server_start(struct gp_vgpu_server *server,
			 const struct gp_vgpu_server_options *options,
			 const struct gp_vgpu_gpufile *file, struct gp_diag *diag);
int gp_vgpu_server_run(struct gp_vgpu_server *server, int ready_fd);
/* Notes whether its directory is still its own. */
void gp_vgpu_server_look_home(struct gp_vgpu_server *server);
void gp_vgpu_server_stop(struct gp_vgpu_server *server);

u64 gp_vgpu_server_now(const struct gp_vgpu_server *server); /* model time; never goes back */
/* Reads the clock; goes no further than the next event. */
void gp_vgpu_server_tick(struct gp_vgpu_server *server);

/* ---- queues.c ---- */
struct gp_vgpu_queue *gp_vgpu_queue(struct gp_vgpu_process *process, u32 id);
bool gp_vgpu_queue_active(const struct gp_vgpu_queue *queue);
/* Its GPU does not answer, or was reset since it was made: UPDATE is EACCES. */
bool gp_vgpu_queue_lost(const struct gp_vgpu_queue *queue);
/* Hands the queue's wanted state to the model; takes effect with the next update. */
void gp_vgpu_queue_apply(struct gp_vgpu_server *server, struct gp_vgpu_queue *queue);
/* Applies the queue's state and waits for the update; -EACCES for a lost queue. */
int gp_vgpu_queue_update(struct gp_vgpu_server *server, struct gp_vgpu_queue *queue,
			 struct gp_vgpu_request *request);
/* One device-wide unmap and map; the request (NULL: none) waits for it. grace: as written to
 * SCH_WAVE, GP_KFD_GRACE_DEFAULT = the boot value; see gp_vgpu_model_grace(). */
void gp_vgpu_update(struct gp_vgpu_server *server, struct gp_vgpu_device *device, u32 grace,
		    struct gp_vgpu_request *request);
/* The same for the debugger's registers: of all queues, with the shortest grace. */
void gp_vgpu_update_debug(struct gp_vgpu_server *server, struct gp_vgpu_device *device,
			  struct gp_vgpu_request *request);
/* The same without a request (a process died). */
void gp_vgpu_update_silent(struct gp_vgpu_server *server, struct gp_vgpu_device *device);
struct gp_vgpu_device *gp_vgpu_device(struct gp_vgpu_server *server, u32 gpu_id);
/* Takes a queue from its process and, when the model lets it go, from the device. */
void gp_vgpu_queue_free(struct gp_vgpu_server *server, struct gp_vgpu_queue *queue);

/*
 * ---- handlers of the table in vgpu/ioctls.c ----
 * Each fills args and returns the result, or leaves the request waiting; then `resume` sets it.
 */
typedef int gp_vgpu_server_handler(struct gp_vgpu_server *server, struct gp_vgpu_request *request);

/* queues.c, queue_state.c */
gp_vgpu_server_handler gp_vgpu_serve_create_queue, gp_vgpu_serve_destroy_queue,
	gp_vgpu_serve_update_queue, gp_vgpu_serve_set_cu_mask, gp_vgpu_serve_wave_state,
	gp_vgpu_serve_alloc_gws;
/* ioctl_memory.c: accounts */
gp_vgpu_server_handler gp_vgpu_serve_alloc_memory, gp_vgpu_serve_free_memory,
	gp_vgpu_serve_available_memory;
/* runtime.c, debug.c, smi.c, evict.c */
gp_vgpu_server_handler gp_vgpu_serve_runtime_enable, gp_vgpu_serve_dbg_trap,
	gp_vgpu_serve_smi_events, gp_vgpu_serve_criu;

/* ---- debug.c: events of other processes ---- */
/* Raises an exception to the debugger, if its mask has it: a byte on its descriptor. */
void gp_vgpu_raise(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
		   struct gp_vgpu_queue *queue, u32 exception);
/* A process is going: its targets are freed (unless stolen), its own debugger let go. */
void gp_vgpu_debug_process_gone(struct gp_vgpu_server *server, struct gp_vgpu_process *process);
/* A waiting DESTROY or RUNTIME_ENABLE may go on. */
void gp_vgpu_wake_waiters(struct gp_vgpu_server *server, struct gp_vgpu_process *process);
/* SMI: queue eviction and restore are the only queue events the driver reports. */
void gp_vgpu_smi_event(struct gp_vgpu_server *server, u32 gpu_id, pid_t pid, const char *text);
/* And the start and end of a migration that a prefetch asked for. */
void gp_vgpu_smi_migration(struct gp_vgpu_server *server, pid_t pid,
			   const struct gp_vgpu_migration *what);

/* ---- tree.c, debugfs.c: files ---- */
int gp_vgpu_tree_create(struct gp_vgpu_server *server);
/* Brings the file or directory at an absolute path up to date. Unknown paths: 0, nothing done. */
int gp_vgpu_tree_refresh(struct gp_vgpu_server *server, const char *path);
/* A process or queue came or went. */
void gp_vgpu_tree_process(struct gp_vgpu_server *server, struct gp_vgpu_process *process);
void gp_vgpu_tree_process_gone(struct gp_vgpu_server *server, struct gp_vgpu_process *process);
void gp_vgpu_debugfs_hqds(struct gp_vgpu_server *server, struct gp_buf *out);
void gp_vgpu_debugfs_mqds(struct gp_vgpu_server *server, struct gp_buf *out);
void gp_vgpu_debugfs_rls(struct gp_vgpu_server *server, struct gp_buf *out);
/* JSON text for `gpreempt vgpu status`. */
int gp_vgpu_server_status(struct gp_vgpu_server *server, struct gp_buf *out);

#endif
