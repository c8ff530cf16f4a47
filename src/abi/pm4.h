/* SPDX-License-Identifier: MIT */
/*
 * The PM4 packets of a runlist, as the packet manager of KFD writes them and debugfs rls shows
 * them, and those of compute queues. A packet starts with a type-3 header; its length is the
 * header's count + 2 dwords, so packets this file does not know can be stepped over.
 *
 * Sources: Linux 6.12 amdkfd: kfd_pm4_opcodes.h, kfd_pm4_headers_ai.h (gfx9, gfx10),
 * kfd_pm4_headers_aldebaran.h (gfx90a, gfx942), kfd_packet_manager_v9.c. Positions were checked on
 * a runlist that the 6.12 driver built for gfx90a.
 */
#ifndef GP_ABI_PM4_H
#define GP_ABI_PM4_H

#include "abi/bits.h"

/* Header: 31:30 type (3), 29:16 count, 15:8 opcode. */
#define GP_PM4_TYPE2        2 /* a filler of one dword */
#define GP_PM4_TYPE3        3
#define GP_PM4_TYPE_FROM    30
#define GP_PM4_TYPE_TO      31
#define GP_PM4_COUNT_FROM   16
#define GP_PM4_COUNT_TO     29
#define GP_PM4_COUNT_EXTRA  2 /* the header itself, and count is one less than the body */
#define GP_PM4_OPCODE_FROM  8
#define GP_PM4_OPCODE_TO    15

#define GP_PM4_NOP          0x10
#define GP_PM4_WRITE_DATA   0x37
#define GP_PM4_MAP_PROCESS  0xa1
#define GP_PM4_MAP_QUEUES   0xa2
#define GP_PM4_UNMAP_QUEUES 0xa3
#define GP_PM4_QUERY_STATUS 0xa4
#define GP_PM4_RUN_LIST     0xa5

/* UNMAP_QUEUES: queue_sel, 5:4 of the first dword. */
#define GP_PM4_UNMAP_ALL        2
#define GP_PM4_UNMAP_NON_STATIC 3

/* CP_IQ_WAIT_TIME2, which WRITE_DATA sets: SCH_WAVE is 15:8; the value that 6.12 restores. */
#define GP_PM4_IQ_WAIT_TIME2_BOOT 0x40404040u
#define GP_PM4_SCH_WAVE_FROM      8
#define GP_PM4_SCH_WAVE_BITS      0xff00u

/* MAP_PROCESS: 16 dwords on gfx9 and gfx10, 21 on gfx90a and gfx942; both have these. */
#define GP_PM4_MAP_PROCESS_WORDS      16
#define GP_PM4_MAP_PROCESS_ID         1 /* 15:0 PASID, 31:25 quantum */
#define GP_PM4_MAP_PROCESS_PASID_TO   15
#define GP_PM4_MAP_PROCESS_QUANTUM    25 /* ..31; the firmware's unit, 10 on 6.12 */
#define GP_PM4_MAP_PROCESS_PAGE_TABLE 2  /* lo, hi */
#define GP_PM4_MAP_PROCESS_QUEUES     13 /* 31:22 queues of the process, mapped or not */
#define GP_PM4_MAP_PROCESS_QUEUES_BIT 22

/* MAP_QUEUES: 7 dwords. */
#define GP_PM4_MAP_QUEUES_WORDS    7
#define GP_PM4_MAP_QUEUES_FLAGS    1 /* 3:2 extended engine, 23:21 queue type, 28:26 engine */
#define GP_PM4_MAP_QUEUES_EXTENDED 2
#define GP_PM4_MAP_QUEUES_TYPE     21
#define GP_PM4_MAP_QUEUES_ENGINE   26
#define GP_PM4_MAP_QUEUES_DOORBELL 2 /* 27:2 */
#define GP_PM4_MAP_QUEUES_MQD      3 /* lo, hi */
#define GP_PM4_MAP_QUEUES_WPTR     5 /* lo, hi */
/* Engine: without extension 0 compute, 2 SDMA0, 3 SDMA1; extension 1 = SDMA0-7, 2 = SDMA8-15. */
#define GP_PM4_ENGINE_COMPUTE 0
#define GP_PM4_ENGINE_SDMA0   2
#define GP_PM4_ENGINE_SDMA1   3
/* Queue type. */
#define GP_PM4_QUEUE_NORMAL 0
#define GP_PM4_QUEUE_DEBUG  1
#define GP_PM4_QUEUE_STATIC 2

/* RUN_LIST inside a runlist closes the loop: the firmware starts over, i.e. it time-slices. */
#define GP_PM4_RUN_LIST_WORDS 4
#define GP_PM4_RUN_LIST_IB    1 /* lo (bits 31:2), hi */
#define GP_PM4_RUN_LIST_SIZE  3 /* 19:0 dwords, 20 chain, 23 valid, 27:24 processes at a time */

/*
 * ---- compute queues ----
 * Sources: Linux 6.12 amdgpu/soc15d.h (opcodes and most fields), gc_9_0_offset.h (registers), and
 * the MEC packets of amdkfd/kfd_pm4_headers_ai.h. Dword numbers count the header as 0.
 */
#define GP_PM4_NOP_ALONE       0x3fff /* count of a NOP without a body */
#define GP_PM4_UNREADABLE      0xffffffffu
#define GP_PM4_DISPATCH_DIRECT 0x15 /* 1..3 dimensions, 4 initiator */
#define GP_PM4_ATOMIC_MEM      0x1e /* 1 operation 6:0, 2..3 address, 4..5 source, 6..7 compare */
#define GP_PM4_WAIT_REG_MEM                                                                    \
	0x3c                        /* 1 function 2:0, space 5:4, operation 7:6, 2..3 address, \
				       4 reference, 5 mask */
#define GP_PM4_INDIRECT_BUFFER 0x3f /* 1..2 address, 3 size 19:0, chain 20 */
#define GP_PM4_COPY_DATA       0x40 /* 1 source 3:0, target 11:8, 2..3 source, 4..5 target */
#define GP_PM4_EVENT_WRITE     0x46
#define GP_PM4_RELEASE_MEM                                                                      \
	0x49                         /* 2 interrupt 26:24, data 31:29, 3..4 address, 5..6 data, \
					7 context id of the interrupt */
#define GP_PM4_DMA_DATA         0x50 /* 1 source 30:29, 2..3 source, 4..5 target, 6 bytes 25:0 */
#define GP_PM4_ACQUIRE_MEM      0x58
#define GP_PM4_SET_SH_REG       0x76 /* 1 offset 15:0, values */
#define GP_PM4_SET_UCONFIG_REG  0x79

#define GP_PM4_INDIRECT_WORDS   4
#define GP_PM4_INDIRECT_CHAIN   (1u << 20)
#define GP_PM4_DISPATCH_THREADS (1u << 5)  /* dimensions in threads, not workgroups */
#define GP_PM4_WRITE_SAME       (1u << 16) /* WRITE_DATA: all to one address; target in 11:8 */
#define GP_PM4_WAIT_MEMORY      1

#define GP_PM4_SH_BASE          0x2c00
#define GP_PM4_NUM_THREAD_X     0x2e07
#define GP_PM4_PGM_LO           0x2e0c /* address / 256; its upper part follows */
#define GP_PM4_SCRATCH_BASE_LO  0x2e10 /* gfx940 and later; address / 256 */
#define GP_PM4_PGM_RSRC1        0x2e12
#define GP_PM4_PGM_RSRC2        0x2e13
#define GP_PM4_TMPRING_SIZE     0x2e18
#define GP_PM4_PGM_RSRC3        0x2e2d
#define GP_PM4_USER_DATA        0x2e40
#define GP_PM4_USER_DATAS       16

enum gp_pm4_release_data {
	GP_PM4_DATA_LOW = 1,
	GP_PM4_DATA_WIDE = 2,
	GP_PM4_DATA_CLOCK = 3,
	GP_PM4_DATA_SYSTEM_CLOCK = 4,
};

enum gp_pm4_release_interrupt {
	GP_PM4_INTERRUPT = 1,
	GP_PM4_INTERRUPT_CONFIRMED = 2,
};

/* TC_OP of gfx9; bit 6 only says that nothing is returned. */
#define GP_PM4_ATOMIC_64        0x20
#define GP_PM4_ATOMIC_OPERATION 0x1f
enum gp_pm4_atomic {
	GP_PM4_ATOMIC_SWAP = 0x07,
	GP_PM4_ATOMIC_COMPARE_SWAP = 0x08,
	GP_PM4_ATOMIC_ADD = 0x0f,
	GP_PM4_ATOMIC_SUB = 0x10,
};

enum gp_pm4_copy_source {
	GP_PM4_COPY_MEMORY = 1,
	GP_PM4_COPY_L2 = 2,
	GP_PM4_COPY_IMMEDIATE = 5,
	GP_PM4_COPY_CLOCK = 9,
};
#define GP_PM4_COPY_WIDE (1u << 16)

#define GP_PM4_DMA_VALUE 2 /* DMA_DATA: the source is a value */

static inline uint32_t gp_pm4_opcode(uint32_t header)
{
	return gp_bits(header, GP_PM4_OPCODE_FROM, GP_PM4_OPCODE_TO);
}

#endif
