// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of amdgpu that would reach for TTM, page tables or registers go
 * to ours instead: ftrace changes where they return to before their first
 * instruction, as live patches do. One function is only counted.
 */
#include <linux/dma-fence.h>
#include <linux/version.h>

#include "fakegpu.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 11, 0)
/* Registers are given as such, and recursion is not asked to be prevented: it is. */
#define ftrace_regs		pt_regs
#define ftrace_get_regs(regs)	(regs)
#define FTRACE_OPS_FL_RECURSION	0

/* It is not exported there. */
static void free_filter(struct ftrace_ops *ops)
{
	void (*free)(struct ftrace_ops *ops) =
		(void *)fg_sym.lookup("ftrace_free_filter");

	if (free)
		free(ops);
}
#else
#define free_filter		ftrace_free_filter
#endif

/* ---- small replacements ---- */

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

static void no_idle(struct amdgpu_device *adev, bool idle)
{
}

/* Global wave sync: a resource without a content. */
static int alloc_gws(struct amdgpu_device *adev, size_t size, void **mem)
{
	*mem = adev;
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
	fg_of(adev)->figures.resets++;
}

static u64 clock_counter(struct amdgpu_device *adev)
{
	return ktime_get_ns() / 10;	/* 100 MHz */
}

/* The driver's pool of GTT memory, of which runlists are made. */
static int no_gtt(void)
{
	return -ENOMEM;
}

/* ---- redirection ---- */

static void notrace redirect(unsigned long ip, unsigned long parent,
			     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct fg_hook *hook = container_of(ops, struct fg_hook, ops);

	if (!hook->only_if || READ_ONCE(*hook->only_if))
		ftrace_get_regs(fregs)->ip = (unsigned long)hook->function;
}

/* Every change of a queue is an unmap and a map of the device; map is last. */
static void notrace count_update(unsigned long ip, unsigned long parent,
				 struct ftrace_ops *ops,
				 struct ftrace_regs *fregs)
{
	fg_gpus[0].figures.updates++;	/* of all; the driver holds its lock */
}

static struct fg_hook hooks[] = {
	FG_HOOK(amdgpu_amdkfd_alloc_gtt_mem, fg_alloc_gtt),
	FG_HOOK(amdgpu_amdkfd_free_gtt_mem, fg_free_gtt),
	FG_HOOK(amdgpu_amdkfd_gpuvm_alloc_memory_of_gpu, fg_alloc_memory),
	FG_HOOK(amdgpu_amdkfd_gpuvm_free_memory_of_gpu, fg_free_memory),
	FG_HOOK(amdgpu_amdkfd_gpuvm_map_memory_to_gpu, fg_map_memory),
	FG_HOOK(amdgpu_amdkfd_gpuvm_unmap_memory_from_gpu, fg_unmap_memory),
	FG_HOOK(amdgpu_amdkfd_gpuvm_dmaunmap_mem, no_memory_op),
	FG_HOOK(amdgpu_amdkfd_gpuvm_sync_memory, no_sync),
	FG_HOOK(amdgpu_amdkfd_gpuvm_map_gtt_bo_to_kernel, fg_memory_to_kernel),
	FG_HOOK(amdgpu_amdkfd_gpuvm_unmap_gtt_bo_from_kernel, no_unmap),
	FG_HOOK(amdgpu_amdkfd_alloc_gws, alloc_gws),
	FG_HOOK(amdgpu_amdkfd_free_gws, free_gws),
	FG_HOOK(amdgpu_amdkfd_add_gws_to_process, add_gws),
	FG_HOOK(amdgpu_amdkfd_remove_gws_from_process, remove_gws),
	FG_HOOK(amdgpu_amdkfd_set_compute_idle, no_idle),
	FG_HOOK(amdgpu_amdkfd_gpu_reset, count_reset),
	FG_HOOK(amdgpu_amdkfd_get_gpu_clock_counter, clock_counter),
	FG_HOOK_IF(kfd_gtt_sa_allocate, no_gtt, &fg_fail_runlist),
	FG_HOOK(map_queues_cpsch, NULL),
	{ NULL }
};

static int hook_one(const struct fg_symbols *sym, struct fg_hook *hook)
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

static int hook_all(const struct fg_symbols *sym, struct fg_hook *hook)
{
	int error = 0;

	for (; hook->name && !error; hook++)
		error = hook_one(sym, hook);
	return error;
}

static void unhook_all(struct fg_hook *hook)
{
	for (; hook->name; hook++) {
		if (hook->registered)
			unregister_ftrace_function(&hook->ops);
		hook->registered = false;
		free_filter(&hook->ops);
	}
}

int fg_hook(const struct fg_symbols *sym)
{
	int error = hook_all(sym, hooks);

	if (!error)
		error = hook_all(sym, fg_own_hooks);
	if (error)
		fg_unhook();
	return error;
}

void fg_unhook(void)
{
	unhook_all(hooks);
	unhook_all(fg_own_hooks);
}
