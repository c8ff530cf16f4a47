// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of amdgpu that would reach for TTM, page tables or registers go
 * to ours instead: ftrace changes where they return to before their first
 * instruction, as live patches do. One function is only counted.
 */
#include <linux/dma-fence.h>

#include "fakegpu.h"

/* ---- small replacements ---- */

static int acquire_vm(struct amdgpu_device *adev, struct amdgpu_vm *vm,
		      void **info, struct dma_fence **fence)
{
	*info = (void *)1;	/* only compared with NULL */
	if (fence)
		*fence = dma_fence_get_stub();
	return 0;
}

static void release_vm(struct amdgpu_device *adev, void *priv)
{
}

static void destroy_vm(struct amdgpu_device *adev, struct amdgpu_vm *vm)
{
}

static int set_vm_pasid(struct amdgpu_device *adev, struct amdgpu_vm *vm,
			u32 pasid)
{
	return 0;
}

/* Looks like one, and is never read. */
static u64 page_directory(void *priv)
{
	return ((uintptr_t)priv & 0xfffffff000ull) | AMDGPU_PTE_VALID;
}

static int no_memory_op(struct kgd_mem *mem, void *priv)
{
	return 0;
}

static void no_unmap(struct kgd_mem *mem)
{
}

static int no_sync(struct amdgpu_device *adev, struct kgd_mem *mem, bool intr)
{
	return 0;
}

static int no_tlb_flush(struct amdgpu_device *adev, struct amdgpu_vm *vm,
			u32 type, u32 mask)
{
	return 0;
}

static void no_hdp_flush(struct amdgpu_device *adev, struct amdgpu_ring *ring)
{
}

static void no_idle(struct amdgpu_device *adev, bool idle)
{
}

/* Global wave sync: a resource without a content. */
static int alloc_gws(struct amdgpu_device *adev, size_t size, void **mem)
{
	*mem = &fg;
	return 0;
}

static void free_gws(struct amdgpu_device *adev, void *mem)
{
}

static int add_gws(void *info, void *gws, struct kgd_mem **mem)
{
	*mem = gws;	/* only compared with NULL */
	return 0;
}

static int remove_gws(void *info, void *mem)
{
	return 0;
}

/* Nothing resets this GPU by itself: what is asked for is counted. */
static void count_reset(struct amdgpu_device *adev)
{
	fg.figures.resets++;
}

static u64 clock_counter(struct amdgpu_device *adev)
{
	return ktime_get_ns() / 10;	/* 100 MHz */
}

static size_t available_memory(struct amdgpu_device *adev, u8 xcp)
{
	return adev->gmc.real_vram_size;
}

/* ---- redirection ---- */

struct hook {
	const char *name;
	void *function;
	struct ftrace_ops ops;
	bool registered;
};

static void notrace redirect(unsigned long ip, unsigned long parent,
			     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct hook *hook = container_of(ops, struct hook, ops);

	ftrace_get_regs(fregs)->ip = (unsigned long)hook->function;
}

/* Every change of a queue is an unmap and a map of the device; map is last. */
static void notrace count_update(unsigned long ip, unsigned long parent,
				 struct ftrace_ops *ops,
				 struct ftrace_regs *fregs)
{
	fg.figures.updates++;	/* the driver holds its lock */
}

#define HOOK(name, function) { "amdgpu:" #name, function }

static struct hook hooks[] = {
	HOOK(amdgpu_amdkfd_alloc_gtt_mem, fg_alloc_gtt),
	HOOK(amdgpu_amdkfd_free_gtt_mem, fg_free_gtt),
	HOOK(amdgpu_amdkfd_gpuvm_acquire_process_vm, acquire_vm),
	HOOK(amdgpu_amdkfd_gpuvm_release_process_vm, release_vm),
	HOOK(amdgpu_amdkfd_gpuvm_destroy_cb, destroy_vm),
	HOOK(amdgpu_amdkfd_gpuvm_set_vm_pasid, set_vm_pasid),
	HOOK(amdgpu_amdkfd_gpuvm_get_process_page_dir, page_directory),
	HOOK(amdgpu_amdkfd_gpuvm_alloc_memory_of_gpu, fg_alloc_memory),
	HOOK(amdgpu_amdkfd_gpuvm_free_memory_of_gpu, fg_free_memory),
	HOOK(amdgpu_amdkfd_gpuvm_map_memory_to_gpu, fg_map_memory),
	HOOK(amdgpu_amdkfd_gpuvm_unmap_memory_from_gpu, fg_unmap_memory),
	HOOK(amdgpu_amdkfd_gpuvm_dmaunmap_mem, no_memory_op),
	HOOK(amdgpu_amdkfd_gpuvm_sync_memory, no_sync),
	HOOK(amdgpu_amdkfd_gpuvm_map_gtt_bo_to_kernel, fg_memory_to_kernel),
	HOOK(amdgpu_amdkfd_gpuvm_unmap_gtt_bo_from_kernel, no_unmap),
	HOOK(amdgpu_file_to_fpriv, fg_file_to_fpriv),
	HOOK(amdgpu_vm_bo_lookup_mapping, fg_lookup_mapping),
	HOOK(amdgpu_bo_create_kernel, fg_create_doorbells),
	HOOK(amdgpu_bo_free_kernel, fg_free_doorbells),
	HOOK(amdgpu_doorbell_index_on_bar, fg_doorbell_index),
	HOOK(amdgpu_vm_flush_compute_tlb, no_tlb_flush),
	HOOK(amdgpu_device_flush_hdp, no_hdp_flush),
	HOOK(amdgpu_amdkfd_alloc_gws, alloc_gws),
	HOOK(amdgpu_amdkfd_free_gws, free_gws),
	HOOK(amdgpu_amdkfd_add_gws_to_process, add_gws),
	HOOK(amdgpu_amdkfd_remove_gws_from_process, remove_gws),
	HOOK(amdgpu_amdkfd_set_compute_idle, no_idle),
	HOOK(amdgpu_amdkfd_gpu_reset, count_reset),
	HOOK(amdgpu_amdkfd_get_gpu_clock_counter, clock_counter),
	HOOK(amdgpu_amdkfd_get_available_memory, available_memory),
	HOOK(map_queues_cpsch, NULL),
};

static int hook_one(const struct fg_symbols *sym, struct hook *hook)
{
	unsigned long address = sym->lookup(hook->name);
	int error;

	if (!address) {
		pr_err("fakegpu: no function %s\n", hook->name);
		return -ENOENT;
	}
	hook->ops.func = hook->function ? redirect : count_update;
	hook->ops.flags = FTRACE_OPS_FL_RECURSION;
	if (hook->function)
		hook->ops.flags |= FTRACE_OPS_FL_SAVE_REGS |
				   FTRACE_OPS_FL_IPMODIFY;
	error = ftrace_set_filter_ip(&hook->ops, address, 0, 0);
	if (!error)
		error = register_ftrace_function(&hook->ops);
	if (error)
		pr_err("fakegpu: cannot redirect %s: %d\n", hook->name, error);
	hook->registered = !error;
	return error;
}

int fg_hook(const struct fg_symbols *sym)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		int error = hook_one(sym, &hooks[i]);

		if (error) {
			fg_unhook();
			return error;
		}
	}
	return 0;
}

void fg_unhook(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		if (hooks[i].registered)
			unregister_ftrace_function(&hooks[i].ops);
		hooks[i].registered = false;
	}
}
