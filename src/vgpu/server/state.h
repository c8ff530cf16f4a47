/* SPDX-License-Identifier: MIT */
/*
 * Internals of the server: requests and their order, updates of the runlist, processes, rings and
 * connections. server.h is the interface.
 *
 * Ownership: a connection belongs to struct gp_vgpu_server; a queue to its process until it is
 * destroyed, then to its device until the model has released it; a request to the process in whose
 * line it stands (`owner`). Everything runs in one thread.
 */
#ifndef GP_VGPU_SERVER_STATE_H
#define GP_VGPU_SERVER_STATE_H

#include "vgpu/ioctls.h"
#include "vgpu/server/server.h"

/* Limits of one device's model. */
#define GP_VGPU_MODEL_PROCESSES 512
#define GP_VGPU_MODEL_WORK      65536

/* ---- server.c ---- */

/* The machine without sockets: options, models, host. For gp_vgpu_server_start() and for tests. */
int gp_vgpu_server_init(struct gp_vgpu_server *server, const struct gp_vgpu_server_options *options,
			const struct gp_vgpu_gpufile *file, const struct gp_vgpu_server_host *host,
			struct gp_diag *diag);
void gp_vgpu_server_fini(struct gp_vgpu_server *server);
u64 gp_vgpu_server_raw_time(const struct gp_vgpu_server *server, u64 model_ns);
/* Time stands still from `until_ns` after now on, as long as that connection lives; ~0: goes on. */
void gp_vgpu_server_hold(struct gp_vgpu_server *server, u64 until_ns,
			 const struct gp_vgpu_connection *holder);

/* ---- advance.c: time and the models ---- */

/* An update of a device's runlist, asked for or under way. */
struct gp_vgpu_update {
	struct gp_vgpu_update *next;
	struct gp_vgpu_request *request; /* NULL: no request waits */
	u64 tag;
	u32 grace;     /* as asked for */
	bool all;      /* UNMAP_QUEUES names all queues, not all but static ones */
	u64 asked_ns;  /* model time it was the first; the preemption timeout counts from here */
	bool in_model; /* else it waits for room */
	bool answered; /* its fence came, or the wait for it was given up */
};

/*
 * Runs all devices up to the present, but handles at most GP_VGPU_EVENTS events, so that requests
 * need not wait; the rest falls behind the clock.
 */
#define GP_VGPU_EVENTS 8192 /* of all models, in one call */
void gp_vgpu_server_advance(struct gp_vgpu_server *server);
/* Model time of the next thing that happens by itself; GP_MODEL_NEVER. */
u64 gp_vgpu_server_next(const struct gp_vgpu_server *server);
/* Waits for the last update without a request; false if there is none. */
bool gp_vgpu_update_join(struct gp_vgpu_device *device, struct gp_vgpu_request *request);
/* Frees destroyed queues that the model no longer uses. */
void gp_vgpu_reap(struct gp_vgpu_device *device);
/* Detaches a request that is being freed from its updates. */
void gp_vgpu_update_forget(struct gp_vgpu_server *server, const struct gp_vgpu_request *request);
/* SCH_WAVE as the driver writes it -> the model's grace. */
u32 gp_vgpu_model_grace(u32 grace);

/* ---- settle.c: clients follow when their queues are taken off or put back ---- */

void gp_vgpu_settle_begin(const struct gp_vgpu_queue *queue);
void gp_vgpu_settle_publish(struct gp_vgpu_server *server, const struct gp_vgpu_device *device,
			    bool off);
/* True if the request has to wait; gp_vgpu_request_updated() is called later. */
bool gp_vgpu_settle_wait(struct gp_vgpu_server *server, struct gp_vgpu_request *request);
void gp_vgpu_settle_forget(struct gp_vgpu_server *server, const struct gp_vgpu_request *request);
/* Lets those go on that have waited long enough. */
void gp_vgpu_settle_check(struct gp_vgpu_server *server);
u64 gp_vgpu_settle_next(const struct gp_vgpu_server *server);

/* ---- evict.c: queues taken off for reasons of the driver's own, and CRIU_OP ---- */

/* Why, as SMI events say it (kfd_ioctl.h, KFD_QUEUE_EVICTION_TRIGGERS). */
enum gp_vgpu_eviction { GP_VGPU_EVICTED_BY_SUSPEND = 3, GP_VGPU_EVICTED_BY_CRIU = 4 };

/* All queues of the process, on all devices; evictions count. The request, if any, waits. */
void gp_vgpu_evict(struct gp_vgpu_server *server, struct gp_vgpu_process *process,
		   enum gp_vgpu_eviction why, struct gp_vgpu_request *request);
/* Undoes one. */
void gp_vgpu_restore(struct gp_vgpu_server *server, struct gp_vgpu_process *process,
		     struct gp_vgpu_request *request);
/* The process whose descriptor a CRIU_OP was called with; 0 when it does not say. */
pid_t gp_vgpu_criu_pid(const struct gp_vgpu_request *request);

/*
 * Resets the GPU: running work is lost, existing queues stay off, their processes get hardware
 * exception events, and new queues work.
 */
void gp_vgpu_reset(struct gp_vgpu_server *server, struct gp_vgpu_device *device);

/* ---- packets.c: the HIQ ---- */

/* The packets that the driver sends up to the fence of an update. */
void gp_vgpu_packets_unmap(struct gp_vgpu_device *device, const struct gp_vgpu_update *update);
/* All of an update; with nothing mapped before there is nothing to unmap. */
void gp_vgpu_packets_switch(struct gp_vgpu_server *server, struct gp_vgpu_device *device,
			    const struct gp_vgpu_update *update, bool was_mapped);
/* One as text: "UNMAP_QUEUES 3". */
void gp_vgpu_packet_text(const struct gp_vgpu_packet *packet, char *out, size_t size);

/* ---- requests.c: the order of a process's ioctls ---- */

/* Takes a checked request over (it was allocated with malloc) and serves it when its turn comes. */
void gp_vgpu_request_submit(struct gp_vgpu_server *server, struct gp_vgpu_request *request);
/* The last of its updates is done. */
void gp_vgpu_request_updated(struct gp_vgpu_server *server, struct gp_vgpu_request *request);
/* Waits for something else than an update, without holding up the next. */
void gp_vgpu_request_park(struct gp_vgpu_request *request);
/* A parked request takes its place behind the others again; its `resume` is called then. */
void gp_vgpu_request_unpark(struct gp_vgpu_server *server, struct gp_vgpu_request *request);
/* A signal: only a parked request notices. */
void gp_vgpu_request_cancel(struct gp_vgpu_server *server,
			    const struct gp_vgpu_connection *connection, u32 sequence);
/* Everything a dying process asked for, or others asked about it. */
void gp_vgpu_requests_drop(struct gp_vgpu_server *server, struct gp_vgpu_process *process);
void gp_vgpu_request_free(struct gp_vgpu_request *request);
/* Appends to what goes back. The payload that came in is overwritten. */
void gp_vgpu_payload(struct gp_vgpu_request *request, const void *data, u32 size);
void gp_vgpu_serve(struct gp_vgpu_server *server, struct gp_vgpu_process *process);

/* args of a request as their type. */
#define GP_VGPU_ARGS(request, type) ((struct type *)(void *)(request)->header.args)

/* ---- process.c ---- */

struct gp_vgpu_process *gp_vgpu_process_find(struct gp_vgpu_server *server, pid_t pid);
/* NULL without memory. */
struct gp_vgpu_process *gp_vgpu_process_add(struct gp_vgpu_server *server, pid_t pid);
/* One more of the same pid, for CREATE_PROCESS. gp_vgpu_process_find() finds the primary one. */
struct gp_vgpu_process *gp_vgpu_process_add_secondary(struct gp_vgpu_server *server, pid_t pid);
/* Shared memory and eventfds for a client; once. */
int gp_vgpu_process_share(struct gp_vgpu_process *process);
/*
 * The process is gone: queues, memory, debuggers, requests, files. Nothing refers to it any more
 * but events the loop already has in hand, so gp_vgpu_bury() frees it.
 */
void gp_vgpu_process_remove(struct gp_vgpu_server *server, struct gp_vgpu_process *process);
void gp_vgpu_bury(struct gp_vgpu_server *server);
/* KFD 1.x of the era, as GET_VERSION reports it. */
u32 gp_vgpu_server_minor(const struct gp_vgpu_server *server);
/* CREATE_QUEUE checks buffers as Linux 6.5 and later do. */
bool gp_vgpu_server_strict(const struct gp_vgpu_server *server);
void gp_vgpu_server_welcome(const struct gp_vgpu_server *server,
			    const struct gp_vgpu_process *process, struct gp_vgpu_welcome *out);

/* ---- rings.c ---- */

/* Hands over what is in the work ring. -EPROTO: the client lies; -EAGAIN: some is left. */
int gp_vgpu_ring_read(struct gp_vgpu_server *server, struct gp_vgpu_process *process);
void gp_vgpu_ring_done(struct gp_vgpu_process *process, const struct gp_vgpu_done *done);
/* A done that belongs to no packet. */
void gp_vgpu_ring_tell(struct gp_vgpu_process *process, const struct gp_vgpu_done *done);
/* Wakes clients that have new dones. */
void gp_vgpu_ring_notify(struct gp_vgpu_server *server);
/* Drops the work in the ring for a queue that goes, so that it cannot reach a new queue with that
 * id. */
void gp_vgpu_ring_forget(struct gp_vgpu_process *process, u32 queue_id);
/* Checks and converts one slot. Pure, for the fuzzer. */
int gp_vgpu_work_check(const struct gp_vgpu_work *work, bool sdma, struct gp_model_work *out);

/* ---- doorbells.c: numbers that are given out ---- */

int gp_vgpu_queue_id(const struct gp_vgpu_process *process, u32 *id);
int gp_vgpu_doorbell_take(struct gp_vgpu_process *process, struct gp_vgpu_queue *queue);
void gp_vgpu_doorbell_drop(struct gp_vgpu_process *process, struct gp_vgpu_queue *queue);
/* Chooses engine and queue for an SDMA queue. */
int gp_vgpu_sdma_take(struct gp_vgpu_queue *queue, u32 *queue_on_engine);
void gp_vgpu_sdma_drop(struct gp_vgpu_queue *queue);

/* ---- queue_state.c ---- */
/* Writes how much of a queue's save areas is used at the start of each of them. */
void gp_vgpu_save_headers(struct gp_vgpu_server *server, const struct gp_vgpu_queue *queue,
			  u64 address);

/* 0, or -EBUSY for a target with GWS on a GPU whose firmware cannot debug it. */
int gp_vgpu_debug_possible(struct gp_vgpu_server *server, struct gp_vgpu_process *target);

/* ---- debug_queues.c, debug_events.c: parts of DBG_TRAP ---- */

/* One operation on a target: its result, or the request is left waiting. */
typedef int gp_vgpu_debug_operation(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
				    struct gp_vgpu_request *request);
gp_vgpu_debug_operation gp_vgpu_debug_suspend, gp_vgpu_debug_resume, gp_vgpu_debug_queue_snapshot,
	gp_vgpu_debug_device_snapshot, gp_vgpu_debug_query_event, gp_vgpu_debug_query_info,
	gp_vgpu_debug_set_mask, gp_vgpu_debug_launch, gp_vgpu_debug_watch;
/* Where to report an exception that the command processor met (enum gp_vgpu_told). */
int gp_vgpu_debug_exception(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
			    const struct gp_vgpu_exception *what);
void gp_vgpu_debug_clear_status(struct gp_vgpu_process *target);
/* Registers of the debugger on every device: one refresh each. */
void gp_vgpu_debug_refresh(struct gp_vgpu_server *server, struct gp_vgpu_request *request);
/* The target's queues run again and nothing of the debugger is left in the hardware. */
void gp_vgpu_debug_deactivate(struct gp_vgpu_server *server, struct gp_vgpu_process *target,
			      struct gp_vgpu_request *request);

/* ---- foreign.c: descriptors of clients ---- */

/* A descriptor to use for writing in place of `fd`, which is taken over. */
int gp_vgpu_foreign_adopt(int fd);
/* One byte to it, if that is possible without waiting. */
void gp_vgpu_foreign_tell(int fd);
void gp_vgpu_foreign_close(int fd);

/* ---- runtime.c ---- */
void gp_vgpu_runtime_post(struct gp_vgpu_server *server, struct gp_vgpu_process *target);

/* ---- smi.c ---- */
void gp_vgpu_smi_close(struct gp_vgpu_server *server);

/* ---- message.c: checks on messages of clients ---- */

/*
 * Checks one message as it came from the socket: sizes, version, kind. -EPROTO for anything that a
 * correct client does not send. *payload points into the message.
 */
int gp_vgpu_message_check(const void *data, size_t len, struct gp_vgpu_header *header,
			  const u8 **payload);

/* ---- accept.c ---- */

/* Once, before the loop: as many descriptors as are allowed, and one to spare. */
void gp_vgpu_accept_begin(struct gp_vgpu_server *server);
void gp_vgpu_connection_accept(struct gp_vgpu_server *server);
/* Every turn: listens again when that was paused for want of descriptors, and it is time. */
void gp_vgpu_accept_again(struct gp_vgpu_server *server);
/* host.peer of a real machine. */
int gp_vgpu_server_peer(void *context, int fd, pid_t *pid, uid_t *uid);

/* ---- connection.c ---- */

struct gp_vgpu_connection {
	struct gp_vgpu_connection *next;
	int fd;
	pid_t pid;
	struct gp_vgpu_process *process; /* NULL before HELLO */
	u32 under_way;
	bool reserved; /* on the last descriptor: closed after a moment */
	bool closed;   /* freed by the loop once nothing refers to it */
};

/* One or more messages are there, or the peer has gone. */
void gp_vgpu_connection_readable(struct gp_vgpu_server *server,
				 struct gp_vgpu_connection *connection);
void gp_vgpu_connection_close(struct gp_vgpu_server *server, struct gp_vgpu_connection *connection);
/* Frees closed ones and removes processes that have none left. */
void gp_vgpu_connections_reap(struct gp_vgpu_server *server);
void gp_vgpu_connection_reply(struct gp_vgpu_server *server, struct gp_vgpu_request *request);

/* ---- loop.c ---- */

/* The data of an epoll event: a kind and a pointer to a live object. */
int gp_vgpu_watch(struct gp_vgpu_server *server, int fd, u32 kind, void *object);
/*
 * Before it is closed, always: as long as a client holds the same file, closing it here does not
 * end the watch, and its events would name an object that is gone.
 */
void gp_vgpu_unwatch(struct gp_vgpu_server *server, int fd);
enum gp_vgpu_watch_kind {
	GP_VGPU_WATCH_LISTEN,
	GP_VGPU_WATCH_TIMER,
	GP_VGPU_WATCH_SIGNAL,
	GP_VGPU_WATCH_HOME,
	GP_VGPU_WATCH_CONNECTION,
	GP_VGPU_WATCH_WORK,
	GP_VGPU_WATCH_PID,
};

#endif
