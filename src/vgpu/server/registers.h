/* SPDX-License-Identifier: MIT */
/*
 * A queue as registers: the descriptor (MQD) the driver writes at creation, and what the hardware
 * slot (HQD) holds while it is mapped. Values follow from the queue's state.
 */
#ifndef GP_VGPU_SERVER_REGISTERS_H
#define GP_VGPU_SERVER_REGISTERS_H

#include "abi/kfd_hqd.h"
#include "vgpu/server/server.h"

/* Descriptor of a compute queue on one XCC. */
void gp_vgpu_mqd(const struct gp_vgpu_queue *queue, u32 xcc, u32 words[GP_MQD_WORDS]);
void gp_vgpu_sdma_mqd(const struct gp_vgpu_queue *queue, u32 words[GP_SDMA_MQD_WORDS]);

/* Slot of a mapped queue. */
void gp_vgpu_hqd(const struct gp_vgpu_queue *queue, const struct gp_model_queue_state *state,
		 u32 xcc, u32 words[GP_HQD_WORDS]);
void gp_vgpu_sdma_slot(const struct gp_vgpu_queue *queue, const struct gp_model_queue_state *state,
		       u32 words[GP_SDMA_WORDS_MAX]);
/* The driver's own queue to the firmware, always mapped. */
void gp_vgpu_hiq(const struct gp_vgpu_device *device, u32 xcc, u32 words[GP_HQD_WORDS]);

/* Descriptors of the XCCs lie one after another, each with its control stack. */
u64 gp_vgpu_mqd_address(const struct gp_vgpu_queue *queue, u32 xcc);

#endif
