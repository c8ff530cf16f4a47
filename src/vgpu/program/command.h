/* SPDX-License-Identifier: MIT */
/* The command line of `gpreempt vgpu`, shared by gpreempt and gpreempt-vgpu. */
#ifndef GP_VGPU_PROGRAM_COMMAND_H
#define GP_VGPU_PROGRAM_COMMAND_H

#include "base/command.h"

enum gp_vgpu_option {
	GP_VGPU_OPTION_GPU = 256,
	GP_VGPU_OPTION_COUNT,
	GP_VGPU_OPTION_SPEED,
	GP_VGPU_OPTION_PERSONALITY,
	GP_VGPU_OPTION_ERA,
	GP_VGPU_OPTION_RUNTIME_ENABLE,
	GP_VGPU_OPTION_COMPUTE,
	GP_VGPU_OPTION_SEED,
	GP_VGPU_OPTION_KERNELS,
	GP_VGPU_OPTION_TIMEOUT,
	GP_VGPU_OPTION_CHECKPOINT,
	GP_VGPU_OPTION_POLICY,
	GP_VGPU_OPTION_RECOVERY,
	GP_VGPU_OPTION_NAME,
	GP_VGPU_OPTION_JSON,
};

extern const struct gp_command gp_vgpu_command;

#endif
