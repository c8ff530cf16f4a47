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

struct member {
	const char *type, *name;
	u32 offset;
};

#define MEMBER(type, name) { #type, #name, offsetof(struct type, name) }
#define SIZE(type) { #type, NULL, sizeof(struct type) }

static const struct member members[] = {
	SIZE(amdgpu_device),
	MEMBER(amdgpu_device, pdev),
	MEMBER(amdgpu_device, ddev),
	MEMBER(amdgpu_device, asic_type),
	MEMBER(amdgpu_device, ip_versions),
	MEMBER(amdgpu_device, reg_offset),
	MEMBER(amdgpu_device, gmc),
	MEMBER(amdgpu_device, gfx),
	MEMBER(amdgpu_device, sdma),
	MEMBER(amdgpu_device, gds),
	MEMBER(amdgpu_device, doorbell),
	MEMBER(amdgpu_device, doorbell_index),
	MEMBER(amdgpu_device, vm_manager),
	MEMBER(amdgpu_device, mman),
	MEMBER(amdgpu_device, pm),
	MEMBER(amdgpu_device, kfd),
	MEMBER(amdgpu_device, reset_domain),
	MEMBER(amdgpu_device, have_atomics_support),
	SIZE(amdgpu_bo),
	MEMBER(amdgpu_bo, vm_bo),
	SIZE(amdgpu_bo_va),
	MEMBER(amdgpu_bo_va, queue_refcount),
	SIZE(amdgpu_fpriv),
	MEMBER(amdgpu_vm, root),
	MEMBER(amdgpu_vm, last_tlb_flush),
	SIZE(kgd_mem),
	MEMBER(kgd_mem, bo),
	MEMBER(kgd_mem, va),
	MEMBER(kgd_mem, alloc_flags),
	MEMBER(kgd_mem, mapped_to_gpu_memory),
	SIZE(kfd_dev),
	MEMBER(kfd_dev, kfd2kgd),
	MEMBER(kfd_dev, nodes),
	MEMBER(kfd_dev, kfd_processes_count),
	SIZE(kfd2kgd_calls),
	MEMBER(kfd_node, dqm),
	MEMBER(kfd_node, id),
	MEMBER(device_queue_manager, lock_hidden),
	MEMBER(device_queue_manager, queues),
	MEMBER(device_queue_manager, is_hws_hang),
	MEMBER(device_queue_manager, destroy_wait),
	MEMBER(qcm_process_device, queues_list),
	MEMBER(qcm_process_device, cwsr_kaddr),
	MEMBER(kfd_process_device, process),
	MEMBER(kfd_process_device, qpd),
	MEMBER(kfd_process, kfd_processes),
	MEMBER(kfd_process, mm),
	MEMBER(kfd_process, mutex),
	MEMBER(kfd_process, event_mutex),
	MEMBER(kfd_process, lead_thread),
	MEMBER(kfd_process, pasid),
	MEMBER(kfd_process, pdds),
	MEMBER(kfd_process, n_pdds),
	MEMBER(kfd_process, runtime_enable_sema),
	MEMBER(queue, properties),
	MEMBER(queue, gart_mqd_addr),
	MEMBER(queue_properties, queue_id),
	MEMBER(queue_properties, priority),
	MEMBER(queue_properties, queue_percent),
	MEMBER(queue_properties, is_evicted),
	MEMBER(queue_properties, is_suspended),
};

struct reader {
	s32 (*find)(const char *name, u32 kind, struct btf **btf);
	const struct btf_type *(*type)(const struct btf *btf, u32 id);
	const char *(*name)(const struct btf *btf, u32 offset);
	void (*put)(struct btf *btf);
};

/* The member's offset, or the size of the type; -1 when there is none. */
static s64 offset_in(const struct reader *reader, const struct member *want)
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

/* @lie: pretend that one member is elsewhere, to see this fail. */
int fg_check_layout(const struct fg_symbols *sym, bool lie)
{
	struct reader reader = {
		.find = (void *)sym->lookup("bpf_find_btf_id"),
		.type = (void *)sym->lookup("btf_type_by_id"),
		.name = (void *)sym->lookup("btf_name_by_offset"),
		.put = (void *)sym->lookup("btf_put"),
	};
	int wrong = 0;
	u32 i;

	if (!reader.find || !reader.type || !reader.name || !reader.put) {
		pr_err("fakegpu: no type information (BTF) in this kernel\n");
		return -ENOEXEC;
	}
	for (i = 0; i < ARRAY_SIZE(members); i++) {
		const struct member *want = &members[i];
		s64 have = offset_in(&reader, want);

		if (have == want->offset && !(lie && i == 0))
			continue;
		pr_err("fakegpu: %s%s%s is at %lld in this driver, built for %u\n",
		       want->type, want->name ? "." : "",
		       want->name ?: " (size)", have, want->offset);
		wrong++;
	}
	if (wrong)
		pr_err("fakegpu: built for another kernel, not loading\n");
	else
		pr_info("fakegpu: %zu members of the driver's structures are in place\n",
			ARRAY_SIZE(members));
	return wrong ? -ENOEXEC : 0;
}
