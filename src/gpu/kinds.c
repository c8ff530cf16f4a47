// SPDX-License-Identifier: MIT
#include "gpu/gpu.h"

const struct gp_gpu_ops *const gp_gpu_kinds[] = {
	&gp_kfd_ops,
	&gp_nvrm_ops,
	NULL,
};
