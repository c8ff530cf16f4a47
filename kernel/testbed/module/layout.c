// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's structures are not an interface: a point release, or another
 * configuration, moves their members. The loader's check of the version magic
 * does not see that, but the type information of amdgpu.ko does. Every member
 * that is used here must be where this module was compiled to find it.
 * layout-btf.c asks the running driver, layout-known.c the objects that it was
 * linked from.
 */
#include "fakegpu.h"

static const struct fg_member members[] = {
	FG_SIZE(amdgpu_device),
	FG_MEMBER(amdgpu_device, pdev),
	FG_MEMBER(amdgpu_device, ddev),
	FG_MEMBER(amdgpu_device, asic_type),
	FG_MEMBER(amdgpu_device, rev_id),
	FG_MEMBER(amdgpu_device, ip_versions),
	FG_MEMBER(amdgpu_device, reg_offset),
	FG_MEMBER(amdgpu_device, gmc),
	FG_MEMBER(amdgpu_device, gfx),
	FG_MEMBER(amdgpu_device, sdma),
	FG_MEMBER(amdgpu_device, gds),
	FG_MEMBER(amdgpu_device, doorbell),
	FG_MEMBER(amdgpu_device, doorbell_index),
	FG_MEMBER(amdgpu_device, vm_manager),
	FG_MEMBER(amdgpu_device, mman),
	FG_MEMBER(amdgpu_device, pm),
	FG_MEMBER(amdgpu_device, kfd),
	FG_MEMBER(amdgpu_device, reset_domain),
	FG_MEMBER(amdgpu_device, have_atomics_support),
	FG_SIZE(amdgpu_bo),
	FG_MEMBER(amdgpu_bo, vm_bo),
	FG_SIZE(amdgpu_bo_va),
	FG_SIZE(amdgpu_fpriv),
	FG_MEMBER(amdgpu_vm, root),
	FG_MEMBER(amdgpu_vm, pd_phys_addr),
	FG_MEMBER(amdgpu_vm, pasid),
	FG_MEMBER(amdgpu_vm, last_tlb_flush),
	FG_SIZE(kgd_mem),
	FG_MEMBER(kgd_mem, bo),
	FG_MEMBER(kgd_mem, va),
	FG_MEMBER(kgd_mem, alloc_flags),
	FG_MEMBER(kgd_mem, mapped_to_gpu_memory),
	FG_SIZE(kfd_dev),
	FG_MEMBER(kfd_dev, kfd2kgd),
	FG_SIZE(kfd2kgd_calls),
	FG_MEMBER(device_queue_manager, lock_hidden),
	FG_MEMBER(device_queue_manager, queues),
	FG_MEMBER(device_queue_manager, is_hws_hang),
	FG_MEMBER(qcm_process_device, queues_list),
	FG_MEMBER(qcm_process_device, cwsr_kaddr),
	FG_MEMBER(kfd_process_device, process),
	FG_MEMBER(kfd_process_device, qpd),
	FG_MEMBER(kfd_process, kfd_processes),
	FG_MEMBER(kfd_process, mm),
	FG_MEMBER(kfd_process, mutex),
	FG_MEMBER(kfd_process, event_mutex),
	FG_MEMBER(kfd_process, lead_thread),
	FG_PASID_MEMBER,
	FG_MEMBER(kfd_process, pdds),
	FG_MEMBER(kfd_process, n_pdds),
	FG_MEMBER(queue, properties),
	FG_MEMBER(queue, gart_mqd_addr),
	FG_MEMBER(queue_properties, queue_id),
	FG_MEMBER(queue_properties, priority),
	FG_MEMBER(queue_properties, queue_percent),
	FG_MEMBER(queue_properties, is_evicted),
	{ NULL }
};

static u32 compare(const struct fg_member *want, u32 *count)
{
	u32 wrong = 0;

	for (; want->type; want++) {
		s64 have = fg_layout_offset(want);

		(*count)++;
		if (have == want->offset)
			continue;
		pr_err("fakegpu: %s%s%s is at %lld in this driver, built for %u\n",
		       want->type, want->name ? "." : "",
		       want->name ?: " (size)", have, want->offset);
		wrong++;
	}
	return wrong;
}

/* @lie: look for a member that is elsewhere, to see this fail. */
int fg_check_layout(const struct fg_symbols *sym, bool lie)
{
	static const struct fg_member elsewhere[] = {
		{ "amdgpu_device", NULL, 1 }, { NULL }
	};
	u32 wrong, count = 0;
	int error = fg_layout_init(sym);

	if (error)
		return error;
	wrong = compare(members, &count) + compare(fg_own_members, &count);
	if (lie)
		wrong += compare(elsewhere, &count);
	if (wrong) {
		pr_err("fakegpu: built for another kernel, not loading\n");
		return -ENOEXEC;
	}
	pr_info("fakegpu: %u members of the driver's structures are in place\n",
		count);
	return 0;
}
