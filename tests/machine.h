/* SPDX-License-Identifier: MIT */
/* A machine for `gpreempt doctor`, for tests that then take away from it. */
#ifndef GP_TESTS_MACHINE_H
#define GP_TESTS_MACHINE_H

#include "abi/kfd_ioctl.h"
#include "inspect/doctor.h"

/* A machine on which every KFD mechanism that exists can work. */
static inline struct gp_inspect_doctor good_machine(struct gp_gpu *gpu)
{
	*gpu = (struct gp_gpu){.node = 1,
			       .gpu_id = 7,
			       .valid = GP_GPU_GFX | GP_GPU_CAPABILITY | GP_GPU_FIRMWARE,
			       .gfx_version = 90402,
			       .firmware = 177,
			       .capability = GP_KFD_CAP_TRAP_DEBUG_FW};
	return (struct gp_inspect_doctor){
		.valid = GP_DOCTOR_KERNEL | GP_DOCTOR_LOCKDOWN | GP_DOCTOR_SCHED_POLICY |
			 GP_DOCTOR_CWSR | GP_DOCTOR_PTRACE_SCOPE | GP_DOCTOR_CAPABILITIES |
			 GP_DOCTOR_ROCR_VERSION | GP_DOCTOR_KFD_VERSION,
		.live = true,
		.kernel = "6.12.57",
		.kernel_major = 6,
		.kernel_minor = 12,
		.lockdown = "none",
		.amdgpu_loaded = true,
		.cwsr_enable = 1,
		.kfd_present = true,
		.kfd_major = 1,
		.kfd_minor = 17,
		.amd = {.items = gpu, .count = 1},
		.kfd_device = {.path = "/dev/kfd", .group = "render", .checked = true},
		.capabilities = 1ull << GP_CAP_SYS_PTRACE | 1ull << GP_CAP_SYS_MODULE,
		.rocr_major = 6,
		.rocr_minor = 3,
	};
}

#endif
