/* SPDX-License-Identifier: MIT */
/*
 * The table of gpu/activity.h for NVIDIA, over a given port: tests bring their own. The port must
 * outlive what is opened.
 */
#ifndef GP_GPU_NVRM_ACTIVITY_H
#define GP_GPU_NVRM_ACTIVITY_H

#include "abi/nvrm_events.h"
#include "gpu/activity.h"
#include "gpu/nvrm/nvrm.h"
#include "gpu/nvrm/port.h"

int gp_nvrm_activity_open(const struct gp_nvrm_port *port, u32 gpu_id,
			  struct gp_gpu_activity **out);

#endif
