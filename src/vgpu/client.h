/* SPDX-License-Identifier: MIT */
/*
 * One client of a virtual GPU: the state of the preload library in one process, and what the
 * command processor needs of the library. The functions are in vgpu/preload; vgpu/cp includes
 * nothing of that folder but this.
 *
 * Exported functions (open, ioctl, mmap, ...) find the client with gp_vgpu_client(), which connects
 * on first use and again in a forked child. A preload library cannot be handed its state, so this
 * is its one global; everything else gets the pointer.
 *
 * Locks: `lock` guards tables; it is never held across a request to the server or a wait.
 */
#ifndef GP_VGPU_CLIENT_H
#define GP_VGPU_CLIENT_H

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
	char directory[256]; /* of the virtual GPU */
	struct gp_vgpu_welcome machine;
	struct gp_vgpu_shared *shared;
	int work_fd, done_fd; /* written, and read, when there is something in that ring */
	pthread_mutex_t lock;
	struct gp_vgpu_memory *memory;
	struct gp_vgpu_events *events;
	struct gp_vgpu_cp *cp; /* NULL until the first queue */
	struct gp_vgpu_queues *queues;
	struct gp_vgpu_svm *svm;
	int lifeline;            /* the first connection; hangs up when the server ends */
	_Atomic bool gone;       /* the server does not answer any more */
	_Atomic u32 acquired_vm; /* GPUs whose ACQUIRE_VM was called, a bit each */
	/* Secondary KFD processes (contexts.c). `lock` of the primary one guards the list. */
	_Atomic(struct gp_vgpu_client *) secondary, next;
	u64 file;                     /* whose descriptor it is; 0: the primary one */
	u64 render[GP_VGPU_MAX_GPUS]; /* the render nodes whose address spaces it acquired */
	u32 users;                    /* the descriptor, and calls under way */
	bool closed;                  /* the descriptor is; calls may be under way */
	_Atomic bool ended;           /* its CP is to stop and free it */
};

/* Ends a secondary client: the server sees it go. */
void gp_vgpu_client_free(struct gp_vgpu_client *client);
/* NULL when this process does not run on a virtual GPU, or the server is gone. */
struct gp_vgpu_client *gp_vgpu_client(void);

/* Moves a descriptor of ours out of the application's way: a high number, close-on-exec, refused
 * to its close(). Returns the new one and closes `fd`; `fd` itself when there is no room. */
int gp_vgpu_own_fd(int fd);
void gp_vgpu_close_own(int fd);
/* One line on stderr, "gpreempt: ...", without stdio. */
void gp_vgpu_say(const char *text, const char *detail);

/* Reports an error to the server; returns where else to report it (enum gp_vgpu_told). */
int gp_vgpu_client_exception(struct gp_vgpu_client *client, const struct gp_vgpu_exception *what);

/* ---- memory.c: the memory of this process as the GPU sees it ---- */

/* CPU address for a GPU address, or NULL when [va, va + size) is not mapped to this GPU. */
void *gp_vgpu_gpu_pointer(struct gp_vgpu_client *client, u32 gpu_id, u64 va, u64 size);
/* Copies that answer -EFAULT instead of killing the process. */
int gp_vgpu_copy_in(void *to, u64 from, size_t size);
int gp_vgpu_copy_out(u64 to, const void *from, size_t size);
/* Whether a store there does not kill the process; asked without touching what is there. */
bool gp_vgpu_can_write(const void *at, size_t size);
/* Whether the kernel can say so (Linux 5.14). */
bool gp_vgpu_can_ask(void);
/* CPU address of the page of 4 KiB that the GPU has there, or NULL if it cannot be read, or
 * (`write`) not be written. */
void *gp_vgpu_gpu_page(struct gp_vgpu_client *client, u32 gpu_id, u64 va, bool write);
/* ---- events.c ---- */

/* Wakes every waiter of the event, as the GPU does at the end of a signal. Any thread. */
void gp_vgpu_event_set(struct gp_vgpu_client *client, u32 event_id);
/* A VM fault: every memory event, with this address. */
void gp_vgpu_event_memory_fault(struct gp_vgpu_client *client, u32 gpu_id, u64 va);
/* A GPU reset: every hardware exception event. */
void gp_vgpu_event_hw_exception(struct gp_vgpu_client *client, u32 gpu_id, bool memory_lost);

#endif
