// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Stands in for a driver without type information: a module called amdgpu with
 * the functions that gpreempt.ko calls, two GPUs that count evictions as the
 * ROCm DKMS driver does (an eviction goes on after a GPU that fails, and is
 * counted on every GPU), and a knob that makes one of them time out. The
 * headers below have the layout of that driver's source and only these
 * prototypes, for kernel/module/known.
 *
 * It shows that the module builds, loads and behaves on a kernel without BTF
 * of modules, and what it does after a failed eviction. It shows nothing about
 * the real driver: that is for kernel/testbed.
 */
#include <linux/errno.h>
#include <linux/mm_types.h>
#include <linux/module.h>

struct kfd_node;
struct kfd_process;

#include "amd/amdgpu/amdgpu_amdkfd.h"
#include "amd/amdkfd/kfd_debug.h"
#include "amd/amdkfd/kfd_priv.h"
#include "include/uapi/linux/kfd_ioctl.h"

#define GPUS 2

/* As KFD counts them: 0, the process runs there. */
static int evicted[GPUS];
static int count = GPUS;
module_param_array(evicted, int, &count, 0444);
static int calls;
module_param(calls, int, 0444);
/* The GPU that does not answer; -1: none. */
static int fails = -1;
module_param(fails, int, 0644);
static int sched_policy;
module_param(sched_policy, int, 0444);

noinline int kfd_topology_enum_kfd_devices(uint8_t idx, struct kfd_node **kdev)
{
	if (idx >= GPUS)
		return -1;
	*kdev = (struct kfd_node *)&evicted[idx];
	return 0;
}

noinline int kfd_process_evict_queues(struct kfd_process *p, bool force,
				      uint32_t trigger)
{
	int i, error = 0;

	for (i = 0; i < GPUS; i++) {
		evicted[i]++;
		if (i == fails) {
			error = -ETIME;
			if (!force)
				return error;
		}
	}
	return error;
}

noinline int kgd2kfd_quiesce_mm(struct mm_struct *mm, uint32_t trigger)
{
	calls++;
	if (!mm || trigger != KFD_QUEUE_EVICTION_TRIGGER_SUSPEND)
		return -EINVAL;
	return kfd_process_evict_queues(NULL, true, trigger);
}

noinline int kgd2kfd_resume_mm(struct mm_struct *mm)
{
	int i;

	for (i = 0; i < GPUS; i++)
		if (WARN_ON(!evicted[i]--))
			evicted[i] = 0;
	return 0;
}

noinline int kfd_dbg_trap_enable(struct kfd_process *target)
{
	return 0;
}

static int __init stand_in_init(void)
{
	return 0;
}

static void __exit stand_in_exit(void)
{
}

module_init(stand_in_init);
module_exit(stand_in_exit);
MODULE_DESCRIPTION("Stands in for amdgpu, for the tests of gpreempt");
MODULE_LICENSE("GPL");
MODULE_VERSION(VERSION);
