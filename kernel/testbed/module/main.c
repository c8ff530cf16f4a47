// SPDX-License-Identifier: GPL-2.0
/* Loading: the device as amdgpu would have found it, then the driver's own
 * initialisation. See fakegpu.h for the parts.
 */
#include <linux/module.h>
#include <linux/vmalloc.h>

#include "fakegpu.h"
#include "amd_pcie.h"
#include "amdgpu_reset.h"

/* QEMU's ivshmem-plain: a PCI device whose BAR is memory. */
#define DOORBELL_VENDOR	0x1af4
#define DOORBELL_DEVICE	0x1110
#define DOORBELL_BAR	2
#define VRAM_BYTES	(16ull << 30)
#define DEBUG_MEC_FW	64	/* at least 51: can be debugged */
#define GWS_MEC2_FW	0x28	/* at least that: has global wave sync */
#define SDMA_ENGINES	5	/* two of them, the rest for XGMI */
#define MI308X_SDMA_ENGINES 8	/* likewise */
#define MI308X_DEBUG_MEC_FW 185
#define GWS_ENTRIES	64
#define FIRST_RENDER	128	/* minor */
#define BOOT_WAIT_TIMES	0x40404040	/* CP_IQ_WAIT_TIME2, gc_9_0_default.h */

struct fg_symbols fg_sym;
struct fg_device fg_gpus[FG_GPUS];

int fg_gpu_count = 1;
module_param_named(gpus, fg_gpu_count, int, 0444);
MODULE_PARM_DESC(gpus, "how many; each needs an ivshmem device");

int fg_xccs = 1;
module_param_named(xccs, fg_xccs, int, 0444);
MODULE_PARM_DESC(xccs, "1: a gfx90a; 4: a gfx942 of four XCCs");
int fg_workgroup_us = 1000;
module_param_named(workgroup_us, fg_workgroup_us, int, 0644);
MODULE_PARM_DESC(workgroup_us, "how long a workgroup takes");
int fg_quantum_ms = 10;
module_param_named(quantum_ms, fg_quantum_ms, int, 0644);
MODULE_PARM_DESC(quantum_ms, "rotation of queues that do not fit");
int fg_save_us = 20;
module_param_named(save_us, fg_save_us, int, 0644);
MODULE_PARM_DESC(save_us, "how long saving waves takes");
int fg_poll_us = 200;
module_param_named(poll_us, fg_poll_us, int, 0644);
MODULE_PARM_DESC(poll_us, "pause between looks at rings and doorbells");
/* Faults. */
bool fg_hang;
module_param_named(hang, fg_hang, bool, 0644);
MODULE_PARM_DESC(hang, "the firmware answers nothing");
bool fg_fail_unmap;
module_param_named(fail_unmap, fg_fail_unmap, bool, 0644);
MODULE_PARM_DESC(fail_unmap, "a busy queue does not let go, and is named");
bool fg_fail_runlist;
module_param_named(fail_runlist, fg_fail_runlist, bool, 0644);
MODULE_PARM_DESC(fail_runlist, "there is no memory for a runlist");
int fg_late_fence_ms;
module_param_named(late_fence_ms, fg_late_fence_ms, int, 0644);
MODULE_PARM_DESC(late_fence_ms, "the firmware's answer comes so late");
int fg_hang_gpu = -1;
module_param_named(hang_gpu, fg_hang_gpu, int, 0644);
MODULE_PARM_DESC(hang_gpu, "which GPU hangs, from 0; -1: all");
static bool lie;
module_param(lie, bool, 0444);
MODULE_PARM_DESC(lie, "behave as if built for another kernel: do not load");

static u32 gc_base[] = { 0x2000, 0xa000, 0, 0, 0, 0 };

static void describe_compute(struct amdgpu_device *adev)
{
	struct amdgpu_gfx *gfx = &adev->gfx;
	u32 engines = fg_xccs == 1 ? 8 : 4;	/* of one XCC */
	u32 cus = FG_CUS / fg_xccs / engines;	/* of one of them */
	u32 i, xcc;

	gfx->mec.num_mec = 2;
	gfx->mec.num_pipe_per_mec = FG_PIPES;
	gfx->mec.num_queue_per_pipe = FG_QUEUES;
	for (i = 0; i < FG_SLOTS * fg_xccs; i++)
		if (i % FG_QUEUES < FG_AMDGPU_QUEUES)
			set_bit(i % FG_SLOTS, FG_QUEUE_BITMAP(gfx, i / FG_SLOTS));
	gfx->mec_fw_version =
		fg_xccs == 1 ? DEBUG_MEC_FW : MI308X_DEBUG_MEC_FW;
	gfx->mec2_fw_version = GWS_MEC2_FW;
	gfx->config.max_shader_engines = engines;
	gfx->config.max_sh_per_se = 1;
	gfx->config.max_cu_per_sh = cus;
	gfx->cu_info.number = FG_CUS;
	gfx->cu_info.simd_per_cu = 4;
	gfx->cu_info.max_waves_per_simd = 8;
	gfx->cu_info.wave_front_size = 64;
	gfx->cu_info.max_scratch_slots_per_cu = 32;
	gfx->cu_info.lds_size = 64;
	for (xcc = 0; xcc < fg_xccs; xcc++)
		for (i = 0; i < engines; i++)
			FG_CU_BITMAP(gfx, xcc)[i % 4][i / 4] = (1 << cus) - 1;
}

static void describe_doorbells(struct fg_device *gpu,
			       struct amdgpu_device *adev)
{
	struct amdgpu_doorbell_index *index = &adev->doorbell_index;
	const u32 apart = AMDGPU_VEGA20_DOORBELL_sDMA_ENGINE1 -
			  AMDGPU_VEGA20_DOORBELL_sDMA_ENGINE0;
	u32 i;

	adev->doorbell.base = pci_resource_start(gpu->pdev, DOORBELL_BAR);
	adev->doorbell.size = pci_resource_len(gpu->pdev, DOORBELL_BAR);
	for (i = 0; i < adev->sdma.num_instances; i++)
		index->sdma_engine[i] =
			AMDGPU_VEGA20_DOORBELL_sDMA_ENGINE0 + i * apart;
	index->first_non_cp = AMDGPU_VEGA20_DOORBELL64_FIRST_NON_CP;
	index->last_non_cp = AMDGPU_VEGA20_DOORBELL64_LAST_NON_CP;
}

static int describe_device(struct fg_device *gpu, struct amdgpu_device *adev)
{
	gpu->minor.index = FIRST_RENDER + gpu->index;
	adev->pdev = gpu->pdev;
	adev->dev = &gpu->pdev->dev;
	adev->ddev.dev = &gpu->pdev->dev;
	adev->ddev.render = &gpu->minor;
	adev->asic_type = fg_xccs == 1 ? CHIP_ALDEBARAN : CHIP_IP_DISCOVERY;
	adev->rev_id = fg_xccs == 1 ? 0 : 1;	/* 0 is a gfx941 */
	adev->ip_versions[GC_HWIP][0] = fg_xccs == 1 ? IP_VERSION(9, 4, 2) :
						       IP_VERSION(9, 4, 3);
	adev->ip_versions[SDMA0_HWIP][0] = fg_xccs == 1 ? IP_VERSION(4, 4, 0) :
							  IP_VERSION(4, 4, 2);
	adev->reg_offset[GC_HWIP][0] = gc_base;
	adev->sdma.num_instances =
		fg_xccs == 1 ? SDMA_ENGINES : MI308X_SDMA_ENGINES;
	adev->gds.gws_size = GWS_ENTRIES;
	adev->have_atomics_support = true;
	adev->gmc.real_vram_size = VRAM_BYTES;
	adev->gmc.visible_vram_size = VRAM_BYTES;
	adev->gmc.xgmi.supported = true;	/* engines 2..4 are for it */
	adev->gmc.vram_width = 4096;
	adev->gmc.vram_type = AMDGPU_VRAM_TYPE_HBM;
	adev->vm_manager.first_kfd_vmid = FG_FIRST_VMID;
	adev->vm_manager.max_pfn = 1ull << 36;
	adev->pm.pcie_mlw_mask = CAIL_PCIE_LINK_WIDTH_SUPPORT_X16;
	adev->pm.pcie_gen_mask = CAIL_PCIE_LINK_SPEED_SUPPORT_GEN4;
	spin_lock_init(&adev->mman.bdev.lru_lock);
	describe_compute(adev);
	describe_doorbells(gpu, adev);
	fg_own_description(adev);
	adev->reset_domain = kzalloc(sizeof(*adev->reset_domain), GFP_KERNEL);
	if (!adev->reset_domain)
		return -ENOMEM;
	init_rwsem(&adev->reset_domain->sem);
	adev->reset_domain->wq = alloc_ordered_workqueue("fakegpu-reset", 0);
	return adev->reset_domain->wq ? 0 : -ENOMEM;
}

struct fg_device *fg_of(const struct amdgpu_device *adev)
{
	struct fg_device *gpu;

	fg_for_each(gpu)
		if (gpu->adev == adev)
			return gpu;
	WARN(1, "fakegpu: a GPU that is not ours");
	return fg_gpus;
}

static void free_device(struct fg_device *gpu)
{
	if (gpu->adev && gpu->adev->reset_domain) {
		if (gpu->adev->reset_domain->wq)
			destroy_workqueue(gpu->adev->reset_domain->wq);
		kfree(gpu->adev->reset_domain);
	}
	kvfree(gpu->adev);
	if (gpu->bar)
		iounmap(gpu->bar);
	if (gpu->pdev) {
		pci_disable_device(gpu->pdev);
		pci_dev_put(gpu->pdev);
	}
}

static int make_device(struct fg_device *gpu)
{
	struct pci_dev *before = gpu->index ? gpu[-1].pdev : NULL;
	int error;

	mutex_init(&gpu->lock);
	INIT_LIST_HEAD(&gpu->queues);
	gpu->clock.last = ktime_get();
	gpu->clock.hold_ns = U64_MAX;
	gpu->fw.wait_times = BOOT_WAIT_TIMES;
	set_bit(0, gpu->doorbell_pages);	/* amdgpu's */
	/* Searching takes a reference away. */
	gpu->pdev = pci_get_device(DOORBELL_VENDOR, DOORBELL_DEVICE,
				   pci_dev_get(before));
	if (!gpu->pdev) {
		pr_err("fakegpu: no ivshmem device; this is for QEMU\n");
		return -ENODEV;
	}
	error = pci_enable_device(gpu->pdev);
	if (error)
		return error;
	gpu->bar = ioremap(pci_resource_start(gpu->pdev, DOORBELL_BAR),
			   pci_resource_len(gpu->pdev, DOORBELL_BAR));
	gpu->adev = kvzalloc(sizeof(*gpu->adev), GFP_KERNEL);
	if (!gpu->bar || !gpu->adev)
		return -ENOMEM;
	return describe_device(gpu, gpu->adev);
}

static int start_driver(struct fg_device *gpu)
{
	struct amdgpu_device *adev = gpu->adev;

	gpu->thread = kthread_run(fg_firmware_thread, gpu, "fakegpu%u",
				  gpu->index);
	if (IS_ERR(gpu->thread)) {
		int error = PTR_ERR(gpu->thread);

		gpu->thread = NULL;
		return error;
	}
	fg_sym.device_probe(adev);
	if (!adev->kfd.dev) {
		pr_err("fakegpu: the driver does not know this device\n");
		return -ENODEV;
	}
	fg_replace_registers(adev->kfd.dev);
	fg_sym.device_init(adev);
	if (!adev->kfd.init_complete) {
		pr_err("fakegpu: the driver did not take the device\n");
		fg_sym.device_fini(adev);
		return -ENODEV;
	}
	gpu->started = true;
	fg_own_started(gpu);
	pr_info("fakegpu: gpu_id %u\n", fg_gpu_id(gpu));
	return fg_render_init(gpu);
}

/* All of them, as far as they were begun; the last first. */
static void stop(void)
{
	struct fg_device *gpu;

	fg_status_exit();
	for (gpu = fg_gpus + fg_gpu_count - 1; gpu >= fg_gpus; gpu--) {
		if (gpu->started)
			fg_sym.device_fini(gpu->adev);
		if (gpu->thread)
			kthread_stop(gpu->thread);
	}
	fg_unhook();
}

static void free_devices(void)
{
	struct fg_device *gpu;

	fg_for_each(gpu)
		free_device(gpu);
}

static int start(void)
{
	struct fg_device *gpu;
	int error = fg_hook(&fg_sym);

	if (error)
		return error;
	fg_for_each(gpu) {
		error = start_driver(gpu);
		if (error)
			break;
	}
	if (!error)
		error = fg_status_init();
	if (!error)
		return 0;
	fg_for_each(gpu)
		fg_render_exit(gpu);
	stop();
	return error;
}

static int __init fakegpu_init(void)
{
	struct fg_device *gpu;
	int error;

	if ((fg_xccs != 1 && fg_xccs != fg_own_xccs) || fg_gpu_count < 1 ||
	    fg_gpu_count > FG_GPUS) {
		pr_err("fakegpu: no %d GPUs of %d XCCs here\n", fg_gpu_count,
		       fg_xccs);
		return -EINVAL;
	}
	error = fg_find_symbols(&fg_sym);
	if (!error)
		error = fg_check_layout(&fg_sym, lie);
	if (error)
		return error;
	fg_for_each(gpu) {
		gpu->index = gpu - fg_gpus;
		error = make_device(gpu);
		if (error)
			break;
	}
	if (!error)
		error = start();
	if (error)
		free_devices();
	return error;
}

/*
 * The driver does not expect a GPU to go while processes know it, and a
 * process that has ended is taken down later: wait for the last of them.
 */
static void __exit fakegpu_exit(void)
{
	struct fg_device *gpu;

	fg_for_each(gpu)
		fg_render_exit(gpu);
	fg_wait_for_processes();
	stop();
	pr_info("fakegpu: %u objects left behind, %u queues\n",
		fg_memory_left(), fg_queues_left());
	free_devices();
}

module_init(fakegpu_init);
module_exit(fakegpu_exit);
MODULE_DESCRIPTION("A GPU that is not there, for the tests of gpreempt");
MODULE_LICENSE("GPL");
