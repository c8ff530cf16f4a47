// SPDX-License-Identifier: GPL-2.0
/* Finds what neither amdgpu nor the kernel exports, by name. */
#include <linux/kprobes.h>

#include "fakegpu.h"

static unsigned long must_find(const struct fg_symbols *sym, const char *name)
{
	unsigned long address = sym->lookup(name);

	if (!address)
		pr_err("fakegpu: this kernel has no %s\n", name);
	return address;
}

int fg_find_symbols(struct fg_symbols *sym)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	int error = register_kprobe(&probe);

	if (error)
		return error;
	sym->lookup = (void *)probe.addr;
	unregister_kprobe(&probe);

#define FIND(member, name)						\
	do {								\
		sym->member = (void *)must_find(sym, name);		\
		if (!sym->member)					\
			return -ENOENT;					\
	} while (0)
	FIND(device_probe, "amdgpu:amdgpu_amdkfd_device_probe");
	FIND(device_init, "amdgpu:amdgpu_amdkfd_device_init");
	FIND(device_fini, "amdgpu:amdgpu_amdkfd_device_fini_sw");
	FIND(process_by_pasid, "amdgpu:kfd_lookup_process_by_pasid");
	FIND(process_unref, "amdgpu:kfd_unref_process");
	FIND(interrupt, "amdgpu:kgd2kfd_interrupt");
	FIND(pre_reset, "amdgpu:kgd2kfd_pre_reset");
	FIND(post_reset, "amdgpu:kgd2kfd_post_reset");
	FIND(processes, "amdgpu:kfd_processes_table");
	FIND(processes_srcu, "amdgpu:kfd_processes_srcu");
	FIND(preemption_timeout_ms, "amdgpu:queue_preemption_timeout_ms");
	FIND(sched_policy, "amdgpu:sched_policy");
	FIND(mmput_async, "mmput_async");
#undef FIND
	return 0;
}
