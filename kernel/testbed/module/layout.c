// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's structures are not an interface: a point release, or another
 * configuration, moves their members. The loader's check of the version magic
 * does not see that, but the type information (BTF) that comes with the
 * running amdgpu.ko does. Every member that is used here must be where this
 * module was compiled to find it.
 */
#include <linux/btf.h>

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

struct reader {
	s32 (*find)(const char *name, u32 kind, struct btf **btf);
	const struct btf_type *(*type)(const struct btf *btf, u32 id);
	const char *(*name)(const struct btf *btf, u32 offset);
	void (*put)(struct btf *btf);
};

/* The member's offset, or the size of the type; -1 when there is none. */
static s64 offset_in(const struct reader *reader, const struct fg_member *want)
{
	const struct btf_type *type;
	const struct btf_member *member;
	struct btf *btf = NULL;
	s32 id = reader->find(want->type, BTF_KIND_STRUCT, &btf);
	s64 result = -1;
	u32 i;

	if (id < 0)
		return -1;
	type = reader->type(btf, id);
	if (!want->name)
		result = type->size;
	member = (const struct btf_member *)(type + 1);
	for (i = 0; want->name && i < BTF_INFO_VLEN(type->info); i++) {
		u32 bits = member[i].offset;

		if (strcmp(reader->name(btf, member[i].name_off), want->name))
			continue;
		if (BTF_INFO_KFLAG(type->info))
			bits = BTF_MEMBER_BIT_OFFSET(bits);
		result = bits / 8;
	}
	reader->put(btf);
	return result;
}

static u32 compare(const struct reader *reader, const struct fg_member *want,
		   u32 *count)
{
	u32 wrong = 0;

	for (; want->type; want++) {
		s64 have = offset_in(reader, want);

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
	struct reader reader = {
		.find = (void *)sym->lookup("bpf_find_btf_id"),
		.type = (void *)sym->lookup("btf_type_by_id"),
		.name = (void *)sym->lookup("btf_name_by_offset"),
		.put = (void *)sym->lookup("btf_put"),
	};
	u32 wrong, count = 0;

	if (!reader.find || !reader.type || !reader.name || !reader.put) {
		pr_err("fakegpu: no type information (BTF) in this kernel\n");
		return -ENOEXEC;
	}
	wrong = compare(&reader, members, &count) +
		compare(&reader, fg_own_members, &count);
	if (lie)
		wrong += compare(&reader, elsewhere, &count);
	if (wrong) {
		pr_err("fakegpu: built for another kernel, not loading\n");
		return -ENOEXEC;
	}
	pr_info("fakegpu: %u members of the driver's structures are in place\n",
		count);
	return 0;
}
