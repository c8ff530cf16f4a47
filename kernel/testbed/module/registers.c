// SPDX-License-Identifier: GPL-2.0
/*
 * amdkfd reaches registers through a table of functions for each generation.
 * This takes the driver's own table for gfx90a and replaces what would touch
 * a register; what only computes a value (the debug trap's, the grace
 * period's) stays the driver's.
 */
#include "fakegpu.h"
#include "sdma0/sdma0_4_2_2_offset.h"
#if __has_include("sdma/sdma_4_4_2_offset.h")
#include "sdma/sdma_4_4_2_offset.h"
#endif

#define SDMA_RANGES	4

#define HQD_WORDS	56	/* CP_MQD_BASE_ADDR .. CP_HQD_PQ_WPTR_HI */
#define HQD_ACTIVE	2	/* of them, CP_HQD_ACTIVE */
#define FIRST_HQD_REG	((0x2000 + 0x1245) << 2)
#define HIQ_PIPE	4	/* the first of the second MEC */

static struct kfd2kgd_calls calls;

static int init_interrupts(struct amdgpu_device *adev, u32 pipe FG_INST)
{
	return 0;
}

static int map_pasid(struct amdgpu_device *adev, u32 pasid,
		     unsigned int vmid FG_INST)
{
	return 0;
}

static void program_memory(struct amdgpu_device *adev, u32 vmid, u32 config,
			   u32 base, u32 limit, u32 bases FG_INST)
{
}

/* Only without the hardware scheduler, which is not modelled. */
static int load_hqd(struct amdgpu_device *adev, void *mqd, u32 pipe, u32 queue,
		    u32 __user *wptr, u32 shift, u32 mask,
		    struct mm_struct *mm FG_INST)
{
	return -EOPNOTSUPP;
}

static int load_sdma(struct amdgpu_device *adev, void *mqd, u32 __user *wptr,
		     struct mm_struct *mm)
{
	return -EOPNOTSUPP;
}

/* The registers of a slot are what its MQD says. */
static int dump_hqd(struct amdgpu_device *adev, u32 pipe, u32 queue,
		    u32 (**dump)[2], u32 *count FG_INST)
{
	u32 (*words)[2] = kcalloc(HQD_WORDS, sizeof(*words), GFP_KERNEL);
	struct fg_device *gpu = fg_of(adev);
	struct v9_mqd *mqd = NULL;
	u32 i;

	if (!words)
		return -ENOMEM;
	mutex_lock(&gpu->lock);
	if (pipe >= HIQ_PIPE)
		mqd = gpu->fw.on ? gpu->fw.mqds[FG_XCC] : NULL;
	else if (gpu->fw.slots[pipe * FG_QUEUES + queue])
		mqd = gpu->fw.slots[pipe * FG_QUEUES + queue]->mqd;
	if (mqd && pipe < HIQ_PIPE)
		mqd = fg_xcc_mqd(mqd, FG_XCC);
	for (i = 0; i < HQD_WORDS; i++) {
		words[i][0] = FIRST_HQD_REG + i * sizeof(u32);
		words[i][1] = mqd ? (&mqd->cp_mqd_base_addr_lo)[i] : 0;
	}
	if (mqd)
		words[HQD_ACTIVE][1] = 1;
	mutex_unlock(&gpu->lock);
	*dump = words;
	*count = HQD_WORDS;
	return 0;
}

/* The ranges that the driver reads, all zero: SDMA is mapped and not run. */
static int dump_sdma(struct amdgpu_device *adev, u32 engine, u32 queue,
		     u32 (**dump)[2], u32 *count)
{
	static const u32 gfx90a[SDMA_RANGES][2] = {
		{ mmSDMA0_RLC0_RB_CNTL, mmSDMA0_RLC0_DOORBELL },
		{ mmSDMA0_RLC0_STATUS, mmSDMA0_RLC0_CSA_ADDR_HI },
		{ mmSDMA0_RLC0_IB_SUB_REMAIN, mmSDMA0_RLC0_MINOR_PTR_UPDATE },
		{ mmSDMA0_RLC0_MIDCMD_DATA0, mmSDMA0_RLC0_MIDCMD_CNTL },
	};
#ifdef regSDMA_RLC0_RB_CNTL
	static const u32 gfx942[SDMA_RANGES][2] = {
		{ regSDMA_RLC0_RB_CNTL, regSDMA_RLC0_DOORBELL },
		{ regSDMA_RLC0_STATUS, regSDMA_RLC0_CSA_ADDR_HI },
		{ regSDMA_RLC0_IB_SUB_REMAIN, regSDMA_RLC0_MINOR_PTR_UPDATE },
		{ regSDMA_RLC0_MIDCMD_DATA0, regSDMA_RLC0_MIDCMD_CNTL },
	};
	const u32 (*ranges)[2] = fg_xccs == 1 ? gfx90a : gfx942;
#else
	const u32 (*ranges)[2] = gfx90a;
#endif
	u32 (*words)[2], total = 0, i, reg;

	for (i = 0; i < SDMA_RANGES; i++)
		total += ranges[i][1] - ranges[i][0] + 1;
	words = kcalloc(total, sizeof(*words), GFP_KERNEL);
	if (!words)
		return -ENOMEM;
	*dump = words;
	*count = total;
	for (i = 0; i < SDMA_RANGES; i++)
		for (reg = ranges[i][0]; reg <= ranges[i][1]; reg++)
			(*words++)[0] = reg << 2;
	return 0;
}

static bool hqd_occupied(struct amdgpu_device *adev, u64 address, u32 pipe,
			 u32 queue FG_INST)
{
	return false;
}

static int destroy_hqd(struct amdgpu_device *adev, void *mqd,
		       enum kfd_preempt_type type, unsigned int timeout,
		       u32 pipe, u32 queue FG_INST)
{
	fg_hiq_unload(fg_of(adev), mqd);
	return 0;
}

static bool sdma_occupied(struct amdgpu_device *adev, void *mqd)
{
	return false;
}

static int destroy_sdma(struct amdgpu_device *adev, void *mqd,
			unsigned int timeout)
{
	return 0;
}

static int control_waves(struct amdgpu_device *adev, u32 index,
			 u32 command FG_INST)
{
	return 0;
}

static bool vmid_pasid(struct amdgpu_device *adev, u8 vmid, u16 *pasid)
{
	*pasid = 0;
	return false;
}

static void set_page_table(struct amdgpu_device *adev, u32 vmid, u64 base)
{
}

static void set_trap_handler(struct amdgpu_device *adev, u32 vmid, u64 tba,
			     u64 tma FG_INST)
{
}

void fg_replace_registers(struct kfd_dev *kfd)
{
	calls = *kfd->kfd2kgd;
	calls.program_sh_mem_settings = program_memory;
	calls.set_pasid_vmid_mapping = map_pasid;
	calls.init_interrupts = init_interrupts;
	calls.hqd_load = load_hqd;
	calls.hiq_mqd_load = fg_hiq_load;
	calls.hqd_sdma_load = load_sdma;
	calls.hqd_dump = dump_hqd;
	calls.hqd_sdma_dump = dump_sdma;
	calls.hqd_is_occupied = hqd_occupied;
	calls.hqd_destroy = destroy_hqd;
	calls.hqd_sdma_is_occupied = sdma_occupied;
	calls.hqd_sdma_destroy = destroy_sdma;
	calls.wave_control_execute = control_waves;
	calls.get_atc_vmid_pasid_mapping_info = vmid_pasid;
	calls.set_vm_context_page_table_base = set_page_table;
	calls.program_trap_handler_settings = set_trap_handler;
	fg_own_registers(&calls);
	kfd->kfd2kgd = &calls;
}
