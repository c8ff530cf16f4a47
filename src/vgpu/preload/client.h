/* SPDX-License-Identifier: MIT */
/*
 * The preload library's view of itself: one client of a virtual machine, in one process. Exported
 * functions (open, ioctl, mmap, ...) find it with gp_vgpu_client(), which connects on first use and
 * again in a forked child. A preload library cannot be handed its state, so it
 * has one global; everything else gets the pointer.
 *
 * Locks: `lock` guards tables; it is never held across a request to the server or a wait.
 */
#ifndef GP_VGPU_PRELOAD_CLIENT_H
#define GP_VGPU_PRELOAD_CLIENT_H

#include <pthread.h>
#include <sys/types.h>

#include "abi/kfd_ioctl.h"
#include "vgpu/wire.h"

struct gp_vgpu_memory; /* memory.c */
struct gp_vgpu_events; /* events.c */
struct gp_vgpu_cp;     /* cp.c */
struct gp_vgpu_queues; /* queues.c */
struct gp_vgpu_svm;    /* svm.c */

struct gp_vgpu_client {
	pid_t pid;           /* the process this state belongs to */
	char directory[256]; /* of the virtual machine */
	struct gp_vgpu_welcome machine;
	struct gp_vgpu_shared *shared;
	int work_fd, done_fd; /* written, and read, when there is something in that ring */
	pthread_mutex_t lock;
	struct gp_vgpu_memory *memory;
	struct gp_vgpu_events *events;
	struct gp_vgpu_cp *cp; /* NULL until the first queue */
	struct gp_vgpu_queues *queues;
	struct gp_vgpu_svm *svm;
	int lifeline;            /* the connection that made us a process there; hangs up with it */
	_Atomic bool gone;       /* the server does not answer any more */
	_Atomic u32 acquired_vm; /* GPUs whose ACQUIRE_VM was called, a bit each */
};

/* NULL when this process does not run on a virtual machine, or the server is gone. */
struct gp_vgpu_client *gp_vgpu_client(void);

/* Libc's own function behind one we export, e.g. GP_VGPU_REAL(open)(path, flags). */
#define GP_VGPU_REAL(name)                                              \
	({                                                              \
		static __typeof__(&name) real_;                         \
		if (!real_)                                             \
			real_ = (__typeof__(&name))gp_vgpu_real(#name); \
		real_;                                                  \
	})
void *gp_vgpu_real(const char *name);

/* Index of a GPU in machine.gpus, or -1. */
int gp_vgpu_gpu_index(const struct gp_vgpu_client *client, u32 gpu_id);
/* Moves a descriptor of ours out of the application's way: a high number, close-on-exec, refused
 * to its close(). Returns the new one and closes `fd`; `fd` itself when there is no room. */
int gp_vgpu_own_fd(int fd);
void gp_vgpu_close_own(int fd);
/* One line on stderr, "gpreempt: ...", without stdio. */
void gp_vgpu_say(const char *text, const char *detail);

/* ---- connect.c ---- */

/*
 * One request to the server and its reply, on this thread's own connection. args: in and out, size
 * bytes. payload: in, payload_size bytes; out, at most payload_room bytes, *payload_size set.
 * Descriptors: send_fd -1 = none; *receive_fd is -1 or a new descriptor the caller closes.
 * Returns the ioctl's result or -errno; -EINTR after a signal, when the server gave it up;
 * -ENODEV when the server is gone.
 */
struct gp_vgpu_call {
	u32 kind, ioctl_nr, flags;
	void *args;
	u32 args_size;
	void *payload;
	u32 payload_size, payload_room;
	int send_fd;
	int receive_fd;
	/* -EINTR after every interruption: handlers that restart system calls, stops, a tracer.
	 * Otherwise the C library's rules hold, as for a driver that sleeps restartably. */
	bool never_restarts;
};
int gp_vgpu_client_request(struct gp_vgpu_client *client, struct gp_vgpu_call *call);
/* Tells the server of an error; who else is to be told (enum gp_vgpu_told). */
int gp_vgpu_client_exception(struct gp_vgpu_client *client, const struct gp_vgpu_exception *what);

/* ---- memory.c: what the GPU sees of this process's memory ---- */

/* CPU address for a GPU address, or NULL when [va, va + size) is not mapped to this GPU. */
void *gp_vgpu_gpu_pointer(struct gp_vgpu_client *client, u32 gpu_id, u64 va, u64 size);
/* Copies that answer -EFAULT instead of killing the process. */
int gp_vgpu_copy_in(void *to, u64 from, size_t size);
int gp_vgpu_copy_out(u64 to, const void *from, size_t size);
/* True when [va, va + size) is exactly one allocation mapped on gpu_id (native's strict checks). */
bool gp_vgpu_is_allocation(struct gp_vgpu_client *client, u32 gpu_id, u64 va, u64 size);
void *gp_vgpu_memory_mmap(struct gp_vgpu_client *client, void *addr, size_t len, int prot,
			  int flags, bool render_node, off_t offset);

/* ---- events.c ---- */

/* What the GPU does at the end of a signal: wakes every waiter of the event. Any thread. */
void gp_vgpu_event_set(struct gp_vgpu_client *client, u32 event_id);
/* A VM fault: every memory event, with this address. */
void gp_vgpu_event_memory_fault(struct gp_vgpu_client *client, u32 gpu_id, u64 va);
/* A GPU reset: every hardware exception event. */
void gp_vgpu_event_hw_exception(struct gp_vgpu_client *client, u32 gpu_id, bool memory_lost);

#endif
