/* SPDX-License-Identifier: MIT */
/*
 * Executes kernels: threads in the client process that run the work-groups of dispatches, a few
 * thousand instructions at a time. The command processor starts a dispatch when the model has
 * launched it and fires its signal when the model has completed it and its last wave has ended
 * here.
 *
 * A queue can be held: its waves then stand still between two instructions until it is released,
 * and their registers are in its save area meanwhile.
 * Memory can be unmapped after gp_vgpu_compute_flush(): no wave uses a page that was there before.
 *
 * Groups start in order and run until they end. One that is not over after its share of
 * instructions makes room for the next, up to as many as the GPU has room for, so groups can wait
 * for each other.
 *
 * The functions may be called by any thread; none is called back.
 */
#ifndef GP_VGPU_COMPUTE_COMPUTE_H
#define GP_VGPU_COMPUTE_COMPUTE_H

#include "vgpu/client.h"
#include "vgpu/isa/launch.h"

struct gp_vgpu_compute;

/* A dispatch that is over. */
struct gp_vgpu_computed {
	u64 tag;
	u32 queue_id;
	enum gp_isa_stop stop;  /* GP_ISA_ENDED, or why a wave could not go on */
	u64 address;            /* GP_ISA_FAULT: of the memory; others: of the instruction */
	char text[GP_ISA_NAME]; /* GP_ISA_ILLEGAL, GP_ISA_REFUSED: the instruction */
};

/* `wake_fd` is an eventfd that is written when a dispatch is over. NULL: no memory. */
struct gp_vgpu_compute *gp_vgpu_compute_new(struct gp_vgpu_client *client, int wake_fd);
/* Ends the threads and drops dispatches that are under way. */
void gp_vgpu_compute_free(struct gp_vgpu_compute *compute);

/* Makes the threads, where they are not there yet. Without a lock, see vgpu/heap.h. */
int gp_vgpu_compute_ready(struct gp_vgpu_compute *compute);
/* 0 or -errno; gp_vgpu_compute_ready() is called if that was not done. -E2BIG: a direction of the
 * grid is 0; -EDOM: more work-items or LDS than a group can have; -ENOSPC: private memory for less
 * than a group. */
int gp_vgpu_compute_start(struct gp_vgpu_compute *compute, const struct gp_isa_launch *launch,
			  u32 gpu_index, u32 queue_id, u64 tag);
/* One that is over, or false. */
bool gp_vgpu_compute_take(struct gp_vgpu_compute *compute, struct gp_vgpu_computed *out);

/* Where the waves of a queue are saved: an area for each XCC, one behind the other. */
struct gp_vgpu_save_area {
	u64 address;
	u32 bytes, stack_bytes; /* of one, and of its control stack */
	u32 xccs;
	u32 stack_used, waves_used; /* out: bytes in the first one */
};

/* After it returns no wave of this queue executes until it is released, and its waves are in the
 * save area, from where they are read when it is. */
void gp_vgpu_compute_hold(struct gp_vgpu_compute *compute, u32 queue_id,
			  struct gp_vgpu_save_area *area);
void gp_vgpu_compute_release(struct gp_vgpu_compute *compute, u32 queue_id);
/* None of its waves executes any more, until the queue is dropped. A dispatch that fails does this
 * to its queue. */
void gp_vgpu_compute_stop(struct gp_vgpu_compute *compute, u32 queue_id);
/* Forgets what this queue has under way, held or not. */
void gp_vgpu_compute_drop(struct gp_vgpu_compute *compute, u32 queue_id);
void gp_vgpu_compute_flush(struct gp_vgpu_compute *compute);

#endif
