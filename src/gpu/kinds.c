// SPDX-License-Identifier: MIT
#include "gpu/gpu.h"

const struct gp_gpu_ops *const gp_gpu_kinds[] = {
	&gp_kfd_ops,
	&gp_nvrm_ops,
	NULL,
};

const struct gp_gpu_ops *gp_gpu_kind(u32 gpu_id)
{
	return gp_gpu_is_nvidia(gpu_id) ? &gp_nvrm_ops : &gp_kfd_ops;
}
