// SPDX-License-Identifier: GPL-2.0
/*
 * What is Linux 6.1's alone: a device without nodes, doorbells that the driver
 * takes from the BAR itself, a VM that is acquired from a file, no debug trap,
 * no check of a queue's buffers.
 */
#include <linux/dma-fence.h>

#include "fakegpu.h"

#define AMDGPU_DOORBELLS 0x400	/* before KFD's */
#define OCCUPIED_WAVES	32

const char fg_era[] = "6.1";
const char fg_personality[] = "compat";	/* CREATE_QUEUE takes any buffers */
const char fg_driver[] = "linux";

const int fg_own_xccs = 1;

void fg_own_description(struct amdgpu_device *adev)
{
	adev->doorbell.num_doorbells = AMDGPU_DOORBELLS;
}

struct device_queue_manager *fg_manager(const struct fg_device *gpu)
{
	return gpu->adev->kfd.dev->dqm;
}

void fg_own_started(struct fg_device *gpu)
{
}

u32 fg_gpu_id(const struct fg_device *gpu)
{
	return gpu->adev->kfd.dev->id;
}

int fg_pre_reset(const struct fg_device *gpu)
{
	int (*pre_reset)(struct kfd_dev *kfd) = fg_sym.pre_reset;

	return pre_reset(gpu->adev->kfd.dev);
}

u32 fg_blocked_calls(struct kfd_process *process)
{
	return 0;	/* there is no debugger to wait for */
}

bool fg_traps_on(struct kfd_process *process)
{
	return false;
}

/* ---- small replacements ---- */

static int acquire_vm(struct amdgpu_device *adev, struct file *file,
		      void **info, struct dma_fence **fence)
{
	struct amdgpu_fpriv *fpriv;
	int error = fg_file_to_fpriv(file, &fpriv);

	if (error)
		return error;
	*info = (void *)1;	/* only compared with NULL */
	if (fence)
		*fence = dma_fence_get_stub();
	return 0;
}

static void release_vm(struct amdgpu_device *adev, void *priv)
{
}

static int set_vm_pasid(struct amdgpu_device *adev, struct file *file,
			u32 pasid)
{
	return 0;
}

static int no_flush_pasid(struct amdgpu_device *adev, u16 pasid,
			  enum TLB_FLUSH_TYPE type)
{
	return 0;
}

static int no_flush_vmid(struct amdgpu_device *adev, u16 vmid)
{
	return 0;
}

static size_t available_memory(struct amdgpu_device *adev)
{
	return adev->gmc.real_vram_size;
}

/* ---- registers ---- */

static void occupancy(struct amdgpu_device *adev, int pasid, int *waves,
		      int *max_waves)
{
	struct fg_device *gpu = fg_of(adev);
	u32 i;

	*waves = 0;
	mutex_lock(&gpu->lock);
	for (i = 0; i < FG_SLOTS; i++) {
		struct fg_queue *queue = gpu->fw.slots[i];

		if (queue && queue->busy && queue->pasid == pasid)
			*waves += OCCUPIED_WAVES;
	}
	mutex_unlock(&gpu->lock);
	*max_waves = 32;
}

void fg_own_registers(struct kfd2kgd_calls *calls)
{
	calls->get_cu_occupancy = occupancy;
}

/* ---- tables ---- */

struct fg_hook fg_own_hooks[] = {
	FG_HOOK(amdgpu_amdkfd_gpuvm_acquire_process_vm, acquire_vm),
	FG_HOOK(amdgpu_amdkfd_gpuvm_release_process_vm, release_vm),
	FG_HOOK(amdgpu_amdkfd_gpuvm_set_vm_pasid, set_vm_pasid),
	FG_HOOK(amdgpu_amdkfd_flush_gpu_tlb_pasid, no_flush_pasid),
	FG_HOOK(amdgpu_amdkfd_flush_gpu_tlb_vmid, no_flush_vmid),
	FG_HOOK(amdgpu_amdkfd_get_available_memory, available_memory),
	{ NULL }
};

const struct fg_member fg_own_members[] = {
	FG_MEMBER(kfd_dev, dqm),
	FG_MEMBER(kfd_dev, id),
	{ NULL }
};
