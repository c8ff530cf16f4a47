/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the drivers that kernel/patches is for have under different names: those of Linux 6.1 and 6.12,
 * and the ROCm driver, which is built for kernels from 4.18 on. So the driver is asked, by the version of its
 * interface (1.11 in Linux 6.1; 1.17 in Linux 6.12 and in amdgpu-dkms 6.12.12), and never the kernel.
 */
#ifndef KFD_SCHED_COMPAT_H_INCLUDED
#define KFD_SCHED_COMPAT_H_INCLUDED

#include <linux/kfd_ioctl.h>

#if KFD_IOCTL_MAJOR_VERSION != 1
#error "kernel/patches knows KFD 1.x"
#endif

/* Before the debug trap (1.13) a GPU was not partitioned. */
#if KFD_IOCTL_MINOR_VERSION < 13
#define kfd_node kfd_dev
#endif

/* Waves are counted by process, and not by queue and XCC. */
#if KFD_IOCTL_MINOR_VERSION < 17
#define KFD_SCHED_WAVES_BY_PROCESS
#define AMDGPU_MAX_QUEUES KGD_MAX_QUEUES
struct kfd_cu_occupancy {
	u32 wave_cnt, pasid;
};
#endif

#endif
