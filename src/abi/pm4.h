/* SPDX-License-Identifier: MIT */
/*
 * The PM4 packets of a runlist, as the packet manager of KFD writes them and debugfs rls shows
 * them. A packet starts with a type-3 header; its length is the header's count + 2 dwords, so
 * packets this file does not know can be stepped over.
 *
 * Sources: Linux 6.12 amdkfd: kfd_pm4_opcodes.h, kfd_pm4_headers_ai.h (gfx9, gfx10),
 * kfd_pm4_headers_aldebaran.h (gfx90a, gfx942), kfd_packet_manager_v9.c. Positions were checked on
 * a runlist that the 6.12 driver built for gfx90a.
 */
#ifndef GP_ABI_PM4_H
#define GP_ABI_PM4_H

/* Header: 31:30 type (3), 29:16 count, 15:8 opcode. */
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

#endif
