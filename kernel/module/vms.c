// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Drivers before KFD's debug trap (Linux 6.5) restore a process by asking for
 * its page directory on each of its GPUs, and one on which the process has no
 * VM yet (ACQUIRE_VM) is asked for through NULL. So with such a driver only
 * processes that have all their VMs are evicted. A VM that a process has it
 * keeps until its memory goes, so what was found out before an eviction holds
 * when it is undone.
 *
 * Nothing tells except the driver's own structures. Where their members are,
 * its type information (BTF) says.
 */
#define pr_fmt(fmt) "gpreempt: " fmt

#include <linux/mutex.h>
#include <linux/static_call.h>

#include "gpreempt.h"

struct kfd_process;

/* Prototypes for the calls; there are no such functions. */
struct kfd_process *gp_process_of(const struct mm_struct *mm);
void gp_unref_process(struct kfd_process *process);

DEFINE_STATIC_CALL_NULL(process_of, gp_process_of);
DEFINE_STATIC_CALL_NULL(unref_process, gp_unref_process);

/* Offsets in struct kfd_process, and in its kfd_process_device. */
static struct {
	int mutex, devices, device_count, vm;
} at;

static void *member(void *object, int offset)
{
	return (u8 *)object + offset;
}

int gp_vms_init(void)
{
	void *lookup, *unref;
	int error = gp_inspect_check("kfd_lookup_process_by_mm",
			     "kfd_process * (mm_struct *)", true);

	if (!error)
		error = gp_inspect_check("kfd_unref_process", "void (kfd_process *)",
				 true);
	if (error)
		return error;
	at.mutex = gp_holder_member("kfd_process", "mutex", "mutex");
	at.devices = gp_holder_member("kfd_process", "pdds", "kfd_process_device *[]");
	at.device_count = gp_holder_member("kfd_process", "n_pdds", "u32");
	at.vm = gp_holder_member("kfd_process_device", "drm_priv", "void *");
	if (at.mutex < 0 || at.devices < 0 || at.device_count < 0 || at.vm < 0)
		return -ENOEXEC;
	lookup = gp_inspect_find("amdgpu:kfd_lookup_process_by_mm");
	unref = gp_inspect_find("amdgpu:kfd_unref_process");
	if (!lookup || !unref)
		return -ENOENT;
	GP_CALL(process_of, lookup);
	GP_CALL(unref_process, unref);
	return 0;
}

int gp_vms_check(struct mm_struct *mm)
{
	struct kfd_process *process = static_call(process_of)(mm);
	void **devices;
	struct mutex *lock;
	u32 count, i;
	int error = 0;

	if (IS_ERR_OR_NULL(process))
		return -ESRCH;
	lock = member(process, at.mutex);
	devices = member(process, at.devices);
	/* ACQUIRE_VM has it, and may set what it takes back when it fails. */
	mutex_lock(lock);
	count = *(u32 *)member(process, at.device_count);
	for (i = 0; i < count; i++)
		if (!*(void **)member(devices[i], at.vm))
			error = -EOPNOTSUPP;
	mutex_unlock(lock);
	static_call(unref_process)(process);
	return error;
}
