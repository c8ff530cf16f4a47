/* SPDX-License-Identifier: MIT */
/*
 * The ioctls of /dev/kfd that the virtual GPU answers: one row per number, used by the preload
 * library and by the server. A new ioctl is a row in ioctls.c and a handler on the side that the
 * row names: `handlers` in preload/ioctl.c (calls that concern the memory, events and descriptors
 * of the calling process), in server/requests.c (calls that concern the machine), or both.
 *
 * The checks on queue arguments are here for the same reason: the library makes them first, because
 * the driver makes them before it looks at the buffers of the process; the server repeats them,
 * because it trusts no client.
 */
#ifndef GP_VGPU_IOCTLS_H
#define GP_VGPU_IOCTLS_H

#include "abi/kfd_driver.h"
#include "vgpu/wire.h"

enum gp_vgpu_side {
	GP_VGPU_NOWHERE,    /* ENOTTY */
	GP_VGPU_IN_PRELOAD, /* the library answers */
	GP_VGPU_IN_SERVER,  /* the library forwards the arguments, the server answers */
	GP_VGPU_IN_BOTH,    /* the library checks or copies, and asks the server */
	GP_VGPU_REMOVED,    /* the driver dropped it: EPERM */
};

struct gp_vgpu_ioctl {
	const char *name;
	u32 request; /* number, size and direction */
	enum gp_vgpu_side side;
	u32 locks; /* enum gp_vgpu_lock: taken by the driver's handler before anything else */
	u32 minor; /* KFD 1.x that introduced it */
};

/* By number; GP_VGPU_NOWHERE for the ones that the driver does not have. */
extern const struct gp_vgpu_ioctl gp_vgpu_ioctls[GP_KFD_NR_END];

bool gp_vgpu_is_sdma(u32 queue_type);

/* ---- checks on queues: 0 or -errno, in the driver's order ---- */

/* set_queue_properties_from_user(), for CREATE and UPDATE. Rings below the minimum grow to it. */
int gp_vgpu_check_ring(u32 minor, u32 percentage, u32 priority, u64 ring, u32 *ring_size);
int gp_vgpu_check_create(u32 minor, struct gp_kfd_create_queue_args *args);
/* kfd_queue_acquire_buffers(), sizes only: EOP buffer, control stack and save area. */
int gp_vgpu_check_buffer_sizes(const struct gp_vgpu_gpu *gpu,
			       const struct gp_kfd_create_queue_args *args);

#endif
