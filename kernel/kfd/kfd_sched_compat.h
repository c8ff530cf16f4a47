/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the kernels that kernel/patches is for have under different names: Linux 6.1 and 6.12. */
#ifndef KFD_SCHED_COMPAT_H_INCLUDED
#define KFD_SCHED_COMPAT_H_INCLUDED

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define kfd_node kfd_dev	/* no GPU is partitioned */
#endif

/* Waves are counted by process, and not by queue and XCC. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define KFD_SCHED_WAVES_BY_PROCESS
#define AMDGPU_MAX_QUEUES KGD_MAX_QUEUES
struct kfd_cu_occupancy {
	u32 wave_cnt, pasid;
};
#endif

#endif
