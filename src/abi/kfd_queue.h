/* SPDX-License-Identifier: MIT */
/*
 * Queue resources as amdkfd 6.12 (6.12.115) hands them out on the parts this project knows: limits,
 * doorbell numbers, SDMA slots and the scheduler's wait time. Not part of the ioctl interface, but
 * visible through it (ids, offsets, errno) and through debugfs. Holds no code.
 */
#ifndef GP_ABI_KFD_QUEUE_H
#define GP_ABI_KFD_QUEUE_H

#include "abi/kfd_driver.h"

/* Per process and device (kfd_process_queue_manager.c): the HWS limit, and that of GC 9.4.3. */
#define GP_KFD_PROCESS_QUEUES     127
#define GP_KFD_PROCESS_QUEUES_943 255
#define GP_KFD_DEVICE_QUEUES      4096   /* module parameter max_num_of_queues_per_device */
#define GP_KFD_GFX_943            90400u /* gfx_target_version of the first GC 9.4.3 part */

/*
 * Doorbells: 1024 of 8 bytes per process and device. Those between FIRST and LAST_NON_CP, and the
 * same 512 further on, belong to SDMA and other engines (amdgpu_doorbell.h). An SDMA queue has
 * first + engine * step + queue / 2, odd queues in the mirror.
 */
#define GP_KFD_DOORBELLS            1024
#define GP_KFD_DOORBELL_NON_CP      0x100
#define GP_KFD_DOORBELL_LAST_NON_CP 0x1e8
#define GP_KFD_DOORBELL_MIRROR      512
#define GP_KFD_DOORBELL_SDMA_STEP   10
/* Dword index on the BAR of slot 0 of process 0, and the distance to the next process. */
#define GP_KFD_DOORBELL_BAR_BASE    0x800
#define GP_KFD_DOORBELL_BAR_PROCESS 0x800
#define GP_KFD_DOORBELL_BYTES       8

/* First PASID amdgpu gives out with 16 bits. */
#define GP_KFD_FIRST_PASID 0x8000

/* CP_IQ_WAIT_TIME2.SCH_WAVE: units of 1024 clocks; its reset value; 0 = no limit. */
#define GP_KFD_SCH_WAVE_MASK 0xffu
#define GP_KFD_SCH_WAVE_BOOT 0x40u

/* Control stack of a saved wave and the header before them (kfd_queue.c, gfx9). */
#define GP_KFD_CTL_WAVE_BYTES 8
#define GP_KFD_VRAM_ALIGN     (2u << 20) /* AVAILABLE_MEMORY is rounded down to this */

#define GP_KFD_WATCH_POINTS   4 /* per device, shared by all debuggers */
#define GP_KFD_GWS_TOTAL      64

/* DBG_TRAP SET_FLAGS, SET_WAVE_LAUNCH_MODE and _OVERRIDE (kfd_ioctl.h 1.17). */
#define GP_KFD_DBG_FLAG_SINGLE_MEM_OP 1u
#define GP_KFD_LAUNCH_NORMAL          0
#define GP_KFD_LAUNCH_HALT            1
#define GP_KFD_LAUNCH_DEBUG           3
#define GP_KFD_OVERRIDE_OR            0
#define GP_KFD_OVERRIDE_REPLACE       1
/* Trap bits gfx90a and gfx942 can override: FP exceptions, integer divide, address watch. */
#define GP_KFD_TRAP_MASK_GFX90A 0x1ffu

#define GP_PCI_VENDOR_AMD       0x1002u

#endif
