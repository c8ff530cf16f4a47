/* SPDX-License-Identifier: MIT */
/*
 * The command processor: a thread in each client process that reads the rings, because only the
 * process sees its own memory. It turns packets into work for the server's model and, when the
 * model says so, moves read indices, does what the packet does to memory, and fires completion
 * signals.
 *
 *   doorbell -> CP reads packet -> work ring -> model ... LAUNCHED -> read index moves
 *                                                     ... COMPLETED -> data, signal, event
 *
 * Idle costs nothing: the doorbell pages are write-protected (userfaultfd) and the thread sleeps
 * in poll(). Where userfaultfd is not allowed, it polls at growing intervals.
 */
#ifndef GP_VGPU_CP_CP_H
#define GP_VGPU_CP_CP_H

#include "vgpu/client.h"

#define GP_VGPU_DOORBELL_BYTES 8192 /* slice of a process on a device */

struct gp_vgpu_cp_queue {
	u32 id; /* the KFD id */
	u32 gpu_index;
	u32 type; /* KFD_IOC_QUEUE_TYPE_* */
	u64 ring, ring_bytes;
	u64 read_pointer, write_pointer; /* addresses */
	u32 doorbell_slot;               /* of 8 bytes in the slice */
	u64 save_area;                   /* its header says how the runtime wants errors reported */
	u32 save_bytes, stack_bytes;     /* of each XCC's part, and of the control stack in it */
};

/* The doorbell slice of a GPU: a shared mapping the application maps too. Descriptor, or -errno. */
int gp_vgpu_cp_doorbell_fd(struct gp_vgpu_client *client, u32 gpu_index);
/* Our own view of it, where it was made; NULL otherwise. */
void *gp_vgpu_cp_doorbell_view(struct gp_vgpu_client *client, u32 gpu_index);
/* The application mapped the slice at `addr`: watch it. */
void gp_vgpu_cp_doorbell_mapped(struct gp_vgpu_client *client, u32 gpu_index, void *addr);

/* Starts the thread if need be. 0 or -errno. The server already knows the queue. */
int gp_vgpu_cp_add(struct gp_vgpu_client *client, const struct gp_vgpu_cp_queue *queue);
/* The ring of a queue changed (UPDATE_QUEUE). */
int gp_vgpu_cp_update(struct gp_vgpu_client *client, const struct gp_vgpu_cp_queue *queue);
/* After it returns the CP touches neither ring nor pointers of this queue. */
void gp_vgpu_cp_remove(struct gp_vgpu_client *client, u32 queue_id);

/* The application is about to unmap this memory: queues that live in it stand still from now on. */
void gp_vgpu_cp_unmapped(struct gp_vgpu_client *client, u64 address, u64 size);

/* Addresses of the GPU changed their meaning: waves see what they mean now. */
void gp_vgpu_cp_remapped(struct gp_vgpu_client *client);

/* This client is not used any more: its CP stops, and frees it. False: it has none. */
bool gp_vgpu_cp_end(struct gp_vgpu_client *client);

/* In a forked child: forget everything; the thread did not survive. */
void gp_vgpu_cp_forked(struct gp_vgpu_client *client);

#endif
