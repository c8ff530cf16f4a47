// SPDX-License-Identifier: GPL-2.0
/*
 * What is Linux 6.12's alone: nodes under the device, doorbells that are
 * buffer objects, the debug trap, buffers that are checked when a queue is
 * made, and the reset of one queue.
 */
#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>

#include "fakegpu.h"

#define TRAP_DEBUG_FLAG	2	/* word of the second-level trap's memory */
#define OCCUPIED_WAVES	32

const char fg_era[] = "6.12";
const char fg_personality[] = "native";	/* CREATE_QUEUE checks buffers */
#ifdef FG_DKMS
const char fg_driver[] = "dkms";
#else
const char fg_driver[] = "linux";
#endif

const int fg_own_xccs = FG_XCCS;

static enum amdgpu_pkg_type package(struct amdgpu_device *adev)
{
	return AMDGPU_PKG_TYPE_OAM;
}

static enum amdgpu_memory_partition memory_mode(struct amdgpu_device *adev)
{
	return AMDGPU_NPS1_PARTITION_MODE;
}

/* The driver asks a GPU of several XCCs what it is. */
static const struct amdgpu_smuio_funcs smuio = { .get_pkg_type = package };
static const struct amdgpu_gmc_funcs gmc = {
	.query_mem_partition_mode = memory_mode,
};

void fg_own_description(struct amdgpu_device *adev)
{
	adev->gfx.xcc_mask = (1 << fg_xccs) - 1;
	adev->gfx.num_xcc_per_xcp = fg_xccs;
	adev->smuio.funcs = &smuio;
	adev->gmc.gmc_funcs = &gmc;
	adev->doorbell.num_kernel_doorbells = PAGE_SIZE / sizeof(u32);
}

struct device_queue_manager *fg_manager(const struct fg_device *gpu)
{
	return gpu->adev->kfd.dev->nodes[0]->dqm;
}

void fg_own_started(struct fg_device *gpu)
{
#ifdef FG_DKMS
	/*
	 * Which of the GPU's parts interrupt this node: set only with partitions
	 * (xcp_mgr), which ours has not. All come from the first.
	 */
	gpu->adev->kfd.dev->nodes[0]->interrupt_bitmap |= 1;
#endif
}

u32 fg_gpu_id(const struct fg_device *gpu)
{
	return gpu->adev->kfd.dev->nodes[0]->id;
}

#ifndef FG_DKMS
void fg_wait_for_processes(void)
{
	struct fg_device *gpu;

	fg_for_each(gpu)
		while (atomic_read(&gpu->adev->kfd.dev->kfd_processes_count))
			msleep(20);
}
#endif

int fg_pre_reset(const struct fg_device *gpu)
{
	int (*pre_reset)(struct kfd_dev *kfd,
			 struct amdgpu_reset_context *context) =
		fg_sym.pre_reset;

	return pre_reset(gpu->adev->kfd.dev, NULL);
}

/* ---- the debug trap ---- */

/* Calls that wait for a debugger: DESTROY_QUEUE and RUNTIME_ENABLE. */
static u32 blocked_in_destroy(const struct fg_device *gpu,
			      struct kfd_process *process)
{
	wait_queue_head_t *destroyers = &fg_manager(gpu)->destroy_wait;
	struct wait_queue_entry *waiter;
	unsigned long flags;
	u32 count = 0;

	spin_lock_irqsave(&destroyers->lock, flags);
	list_for_each_entry(waiter, &destroyers->head, entry) {
		struct task_struct *task = waiter->private;

		if (task && task->tgid == process->lead_thread->pid)
			count++;
	}
	spin_unlock_irqrestore(&destroyers->lock, flags);
	return count;
}

u32 fg_blocked_calls(struct kfd_process *process)
{
	struct semaphore *runtime = &process->runtime_enable_sema;
	struct fg_device *gpu;
	struct list_head *entry;
	unsigned long flags;
	u32 count = 0;

	fg_for_each(gpu)
		count += blocked_in_destroy(gpu, process);
	raw_spin_lock_irqsave(&runtime->lock, flags);
	list_for_each(entry, &runtime->wait_list)
		count++;
	raw_spin_unlock_irqrestore(&runtime->lock, flags);
	return count;
}

bool fg_traps_on(struct kfd_process *process)
{
	u64 *memory;

	if (!process->n_pdds || !process->pdds[0]->qpd.cwsr_kaddr)
		return false;
	memory = process->pdds[0]->qpd.cwsr_kaddr + KFD_CWSR_TMA_OFFSET;
	return memory[TRAP_DEBUG_FLAG];
}

/* ---- small replacements ---- */

static int acquire_vm(struct amdgpu_device *adev, struct amdgpu_vm *vm,
		      void **info, struct dma_fence **fence)
{
	*info = (void *)1;	/* only compared with NULL */
	if (fence)
		*fence = fg_new_fence();
	return !fence || *fence ? 0 : -ENOMEM;
}

static void destroy_vm(struct amdgpu_device *adev, struct amdgpu_vm *vm)
{
}

#ifdef FG_DKMS
/* Whose VM it is, for a message: ours does not say. */
static void *no_task_info(struct amdgpu_vm *vm)
{
	return NULL;
}
#else	/* there a VM keeps the PASID that it was born with */
static void release_vm(struct amdgpu_device *adev, void *priv)
{
}

static int set_vm_pasid(struct amdgpu_device *adev, struct amdgpu_vm *vm,
			u32 pasid)
{
	return 0;
}
#endif

static int no_tlb_flush(struct amdgpu_device *adev, struct amdgpu_vm *vm,
			u32 type, u32 mask)
{
	return 0;
}

static void no_hdp_flush(struct amdgpu_device *adev, struct amdgpu_ring *ring)
{
}

static size_t available_memory(struct amdgpu_device *adev, u8 xcp)
{
	return adev->gmc.real_vram_size;
}

/* ---- doorbells ---- */

struct fg_doorbells {
	struct amdgpu_bo bo;
	struct fg_device *gpu;
	u32 page, pages;
};

static DEFINE_MUTEX(doorbell_lock);

static int create_doorbells(struct amdgpu_device *adev, unsigned long size,
			int align, u32 domain, struct amdgpu_bo **bo,
			u64 *gpu_addr, void **cpu_addr)
{
	struct fg_device *gpu = fg_of(adev);
	struct fg_doorbells *doorbells;
	u32 offset;

	if (domain != AMDGPU_GEM_DOMAIN_DOORBELL) {
		pr_err("fakegpu: a buffer in domain %x: not modelled\n",
		       domain);
		return -ENOMEM;
	}
	doorbells = kzalloc(sizeof(*doorbells), GFP_KERNEL);
	if (!doorbells)
		return -ENOMEM;
	doorbells->gpu = gpu;
	doorbells->pages = PAGE_ALIGN(size) >> PAGE_SHIFT;
	/* Aligned, so that a doorbell's place says its number (run.c). */
	mutex_lock(&doorbell_lock);
	doorbells->page = bitmap_find_next_zero_area(gpu->doorbell_pages,
						     FG_DOORBELL_PAGES, 1,
						     doorbells->pages,
						     doorbells->pages - 1);
	if (doorbells->page < FG_DOORBELL_PAGES)
		bitmap_set(gpu->doorbell_pages, doorbells->page,
			   doorbells->pages);
	mutex_unlock(&doorbell_lock);
	if (doorbells->page >= FG_DOORBELL_PAGES) {
		kfree(doorbells);
		return -ENOMEM;
	}
	offset = doorbells->page << PAGE_SHIFT;
	memset_io(gpu->bar + offset, 0, size);
	fg_bo_init(&doorbells->bo, size);
	fg_memory_count(1);
	*bo = &doorbells->bo;
	if (gpu_addr)
		*gpu_addr = offset;
	if (cpu_addr)
		*cpu_addr = (void __force *)gpu->bar + offset;
	return 0;
}

static void free_doorbells(struct amdgpu_bo **bo, u64 *gpu_addr,
			   void **cpu_addr)
{
	struct fg_doorbells *doorbells;

	if (!bo || !*bo)
		return;
	doorbells = container_of(*bo, struct fg_doorbells, bo);
	mutex_lock(&doorbell_lock);
	bitmap_clear(doorbells->gpu->doorbell_pages, doorbells->page,
		     doorbells->pages);
	mutex_unlock(&doorbell_lock);
	dma_resv_fini(&doorbells->bo.tbo.base._resv);
	kfree(doorbells);
	fg_memory_count(-1);
	*bo = NULL;
	if (gpu_addr)
		*gpu_addr = 0;
	if (cpu_addr)
		*cpu_addr = NULL;
}

static u32 doorbell_index(struct amdgpu_device *adev, struct amdgpu_bo *bo,
		      u32 index, u32 size)
{
	struct fg_doorbells *doorbells =
		container_of(bo, struct fg_doorbells, bo);

	return (doorbells->page << PAGE_SHIFT) / sizeof(u32) +
	       index * DIV_ROUND_UP(size, sizeof(u32));
}

/* ---- registers ---- */

static void occupancy(struct amdgpu_device *adev, struct kfd_cu_occupancy *out,
		      int *max_waves, u32 inst)
{
	struct fg_device *gpu = fg_of(adev);
	u32 i;

	mutex_lock(&gpu->lock);
	for (i = 0; i < FG_SLOTS; i++) {
		struct fg_queue *queue = gpu->fw.slots[i];

		if (!queue || !queue->busy)
			continue;
		out[i].wave_cnt = OCCUPIED_WAVES;
		out[i].doorbell_off = queue->doorbell;
	}
	mutex_unlock(&gpu->lock);
	*max_waves = 32;
}

static void wait_times(struct amdgpu_device *adev, u32 *times, u32 inst)
{
	*times = fg_of(adev)->fw.wait_times;
}

static u32 set_watch(struct amdgpu_device *adev, u64 address, u32 mask, u32 id,
		     u32 mode, u32 vmid, u32 inst)
{
	return 0x80000000 | mode << 29;
}

static u32 clear_watch(struct amdgpu_device *adev, u32 id)
{
	return 0;
}

/* For the driver's reset of one queue that did not let go. */
static u64 slot_address(struct amdgpu_device *adev, u32 pipe, u32 queue,
			u32 inst)
{
	struct fg_device *gpu = fg_of(adev);
	struct fg_queue *on;
	u64 address = 0;

	mutex_lock(&gpu->lock);
	on = gpu->fw.slots[pipe * FG_QUEUES + queue];
	if (on && on->mqd)
		address = ((u64)on->mqd->cp_hqd_pq_base_hi << 32 |
			   on->mqd->cp_hqd_pq_base_lo) << 8;
	mutex_unlock(&gpu->lock);
	return address;
}

static u64 reset_slot(struct amdgpu_device *adev, u32 pipe, u32 queue,
		      u32 inst, unsigned int timeout)
{
	struct fg_device *gpu = fg_of(adev);
	u64 address = slot_address(adev, pipe, queue, inst);
	struct fg_queue *on;

	/* Each XCC has it on a slot; it is off when the last of them is reset. */
	if (inst + 1 < fg_xccs)
		return address;
	mutex_lock(&gpu->lock);
	on = gpu->fw.slots[pipe * FG_QUEUES + queue];
	if (on) {
		fg_queue_save(on);
		on->busy = false;
	}
	gpu->fw.slots[pipe * FG_QUEUES + queue] = NULL;
	mutex_unlock(&gpu->lock);
	return address;
}

void fg_own_registers(struct kfd2kgd_calls *calls)
{
	calls->get_cu_occupancy = occupancy;
	calls->get_iq_wait_times = wait_times;
	calls->set_address_watch = set_watch;
	calls->clear_address_watch = clear_watch;
	calls->hqd_get_pq_addr = slot_address;
	calls->hqd_reset = reset_slot;
}

/* ---- tables ---- */

struct fg_hook fg_own_hooks[] = {
	FG_HOOK(amdgpu_amdkfd_gpuvm_acquire_process_vm, acquire_vm),
	FG_HOOK(amdgpu_amdkfd_gpuvm_destroy_cb, destroy_vm),
	FG_HOOK(amdgpu_amdkfd_gpuvm_restore_process_bos, fg_restore_memory),
#ifdef FG_DKMS
	FG_HOOK(amdgpu_vm_get_task_info_vm, no_task_info),
#else
	FG_HOOK(amdgpu_amdkfd_gpuvm_release_process_vm, release_vm),
	FG_HOOK(amdgpu_amdkfd_gpuvm_set_vm_pasid, set_vm_pasid),
#endif
	FG_HOOK(amdgpu_file_to_fpriv, fg_file_to_fpriv),
	FG_HOOK(amdgpu_vm_bo_lookup_mapping, fg_lookup_mapping),
	FG_HOOK(amdgpu_bo_create_kernel, create_doorbells),
	FG_HOOK(amdgpu_bo_free_kernel, free_doorbells),
	FG_HOOK(amdgpu_doorbell_index_on_bar, doorbell_index),
	FG_HOOK(amdgpu_vm_flush_compute_tlb, no_tlb_flush),
	FG_HOOK(amdgpu_device_flush_hdp, no_hdp_flush),
	FG_HOOK(amdgpu_amdkfd_get_available_memory, available_memory),
	{ NULL }
};

const struct fg_member fg_own_members[] = {
	FG_MEMBER(amdgpu_device, smuio),
	FG_MEMBER(amdgpu_bo_va, queue_refcount),
	FG_MEMBER(kfd_dev, nodes),
#ifndef FG_DKMS
	FG_MEMBER(kfd_dev, kfd_processes_count),
#endif
	FG_MEMBER(kfd_node, dqm),
	FG_MEMBER(kfd_node, id),
	FG_MEMBER(kfd_node, interrupt_bitmap),
	FG_MEMBER(device_queue_manager, destroy_wait),
	FG_MEMBER(kfd_process, ef),
	FG_MEMBER(kfd_process, runtime_enable_sema),
	FG_MEMBER(queue_properties, is_suspended),
	{ NULL }
};
