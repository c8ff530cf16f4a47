/* SPDX-License-Identifier: MIT */
/*
 * The register blocks that KFD dumps for a hardware queue slot (debugfs hqds) and that a queue
 * descriptor holds (debugfs mqds): names, positions and bit fields. gpu/kfd decodes with it and
 * inspect/ prints registers from it.
 *
 * Sources: Linux 6.1 and 6.12, drivers/gpu/drm/amd: amdgpu_amdkfd_gfx_v9.c to _v12.c (hqd_dump,
 * hqd_sdma_dump), include/v9_structs.h to v12_structs.h (compute from dword 128, SDMA),
 * asic_reg/gc/gc_9_0_{offset,sh_mask}.h and gc_1{0_1,1_0,2_0}_0_offset.h,
 * amdkfd/kfd_mqd_manager_v9.c and cik_regs.h (QUANTUM_SCALE_1MS). Positions were checked on dumps
 * of an MI308X (gfx942) and of the 6.12 driver on gfx90a.
 */
#ifndef GP_ABI_KFD_HQD_H
#define GP_ABI_KFD_HQD_H

#include "abi/bits.h"

/*
 * Compute (CP) block: 56 consecutive registers, the same order on gfx9 to gfx12, and the same
 * order again in a descriptor from dword 128 on. X(index, name).
 */
#define GP_HQD_WORDS              56
#define GP_MQD_BLOCK              128 /* dword of the descriptor where the block starts */
#define GP_MQD_WORDS              512
#define GP_MQD_HEADER             0xc0310800u /* dword 0 of a compute descriptor */
#define GP_HQD_FIRST_DWORD_GFX9   0x1245u     /* CP_MQD_BASE_ADDR without the block's base */
#define GP_HQD_FIRST_DWORD_GFX10  0x1fa9u
#define GP_HQD_SEGMENT_GFX10      0x1260u /* base segment 0 of GC on every gfx10 part */
#define GP_HQD_SEGMENT_ALIGN_GFX9 0x1000u /* 0x2000 for XCC 0; other XCCs start elsewhere */

#define GP_HQD_REGISTERS(X)                  \
	X(0, CP_MQD_BASE_ADDR)               \
	X(1, CP_MQD_BASE_ADDR_HI)            \
	X(2, CP_HQD_ACTIVE)                  \
	X(3, CP_HQD_VMID)                    \
	X(4, CP_HQD_PERSISTENT_STATE)        \
	X(5, CP_HQD_PIPE_PRIORITY)           \
	X(6, CP_HQD_QUEUE_PRIORITY)          \
	X(7, CP_HQD_QUANTUM)                 \
	X(8, CP_HQD_PQ_BASE)                 \
	X(9, CP_HQD_PQ_BASE_HI)              \
	X(10, CP_HQD_PQ_RPTR)                \
	X(11, CP_HQD_PQ_RPTR_REPORT_ADDR)    \
	X(12, CP_HQD_PQ_RPTR_REPORT_ADDR_HI) \
	X(13, CP_HQD_PQ_WPTR_POLL_ADDR)      \
	X(14, CP_HQD_PQ_WPTR_POLL_ADDR_HI)   \
	X(15, CP_HQD_PQ_DOORBELL_CONTROL)    \
	X(16, RESERVED_16)                   \
	X(17, CP_HQD_PQ_CONTROL)             \
	X(18, CP_HQD_IB_BASE_ADDR)           \
	X(19, CP_HQD_IB_BASE_ADDR_HI)        \
	X(20, CP_HQD_IB_RPTR)                \
	X(21, CP_HQD_IB_CONTROL)             \
	X(22, CP_HQD_IQ_TIMER)               \
	X(23, CP_HQD_IQ_RPTR)                \
	X(24, CP_HQD_DEQUEUE_REQUEST)        \
	X(25, CP_HQD_DMA_OFFLOAD)            \
	X(26, CP_HQD_SEMA_CMD)               \
	X(27, CP_HQD_MSG_TYPE)               \
	X(28, CP_HQD_ATOMIC0_PREOP_LO)       \
	X(29, CP_HQD_ATOMIC0_PREOP_HI)       \
	X(30, CP_HQD_ATOMIC1_PREOP_LO)       \
	X(31, CP_HQD_ATOMIC1_PREOP_HI)       \
	X(32, CP_HQD_HQ_STATUS0)             \
	X(33, CP_HQD_HQ_CONTROL0)            \
	X(34, CP_MQD_CONTROL)                \
	X(35, CP_HQD_HQ_STATUS1)             \
	X(36, CP_HQD_HQ_CONTROL1)            \
	X(37, CP_HQD_EOP_BASE_ADDR)          \
	X(38, CP_HQD_EOP_BASE_ADDR_HI)       \
	X(39, CP_HQD_EOP_CONTROL)            \
	X(40, CP_HQD_EOP_RPTR)               \
	X(41, CP_HQD_EOP_WPTR)               \
	X(42, CP_HQD_EOP_EVENTS)             \
	X(43, CP_HQD_CTX_SAVE_BASE_ADDR_LO)  \
	X(44, CP_HQD_CTX_SAVE_BASE_ADDR_HI)  \
	X(45, CP_HQD_CTX_SAVE_CONTROL)       \
	X(46, CP_HQD_CNTL_STACK_OFFSET)      \
	X(47, CP_HQD_CNTL_STACK_SIZE)        \
	X(48, CP_HQD_WG_STATE_OFFSET)        \
	X(49, CP_HQD_CTX_SAVE_SIZE)          \
	X(50, CP_HQD_GDS_RESOURCE_STATE)     \
	X(51, CP_HQD_ERROR)                  \
	X(52, CP_HQD_EOP_WPTR_MEM)           \
	X(53, CP_HQD_AQL_CONTROL)            \
	X(54, CP_HQD_PQ_WPTR_LO)             \
	X(55, CP_HQD_PQ_WPTR_HI)

#define GP_HQD_INDEX(index, name) GP_##name = (index),
enum { GP_HQD_REGISTERS(GP_HQD_INDEX) };
#undef GP_HQD_INDEX

/*
 * SDMA (RLC) block: 42 registers on gfx9 and gfx10, 44 on gfx942 (two more MIDCMD words), dumped
 * in four ranges; a descriptor holds the same registers without the gaps from dword 0 on.
 */
#define GP_SDMA_WORDS_MIN  42
#define GP_SDMA_WORDS_MAX  44
#define GP_SDMA_MQD_WORDS  128 /* gfx10: 130 */
#define GP_SDMA_MQD_ENGINE 126 /* driver's own use of two reserved words */
#define GP_SDMA_MQD_QUEUE  127

#define GP_SDMA_REGISTERS(X)        \
	X(0, RB_CNTL)               \
	X(1, RB_BASE)               \
	X(2, RB_BASE_HI)            \
	X(3, RB_RPTR)               \
	X(4, RB_RPTR_HI)            \
	X(5, RB_WPTR)               \
	X(6, RB_WPTR_HI)            \
	X(7, RB_WPTR_POLL_CNTL)     \
	X(8, RB_RPTR_ADDR_HI)       \
	X(9, RB_RPTR_ADDR_LO)       \
	X(10, IB_CNTL)              \
	X(11, IB_RPTR)              \
	X(12, IB_OFFSET)            \
	X(13, IB_BASE_LO)           \
	X(14, IB_BASE_HI)           \
	X(15, IB_SIZE)              \
	X(16, SKIP_CNTL)            \
	X(17, CONTEXT_STATUS)       \
	X(18, DOORBELL)             \
	X(19, STATUS)               \
	X(20, DOORBELL_LOG)         \
	X(21, WATERMARK)            \
	X(22, DOORBELL_OFFSET)      \
	X(23, CSA_ADDR_LO)          \
	X(24, CSA_ADDR_HI)          \
	X(25, IB_SUB_REMAIN)        \
	X(26, PREEMPT)              \
	X(27, DUMMY_REG)            \
	X(28, RB_WPTR_POLL_ADDR_HI) \
	X(29, RB_WPTR_POLL_ADDR_LO) \
	X(30, RB_AQL_CNTL)          \
	X(31, MINOR_PTR_UPDATE)     \
	X(32, MIDCMD_DATA0)         \
	X(33, MIDCMD_DATA1)         \
	X(34, MIDCMD_DATA2)         \
	X(35, MIDCMD_DATA3)         \
	X(36, MIDCMD_DATA4)         \
	X(37, MIDCMD_DATA5)         \
	X(38, MIDCMD_DATA6)         \
	X(39, MIDCMD_DATA7)         \
	X(40, MIDCMD_DATA8)         \
	X(41, MIDCMD_9)             \
	X(42, MIDCMD_10)            \
	X(43, MIDCMD_11)

#define GP_SDMA_INDEX(index, name) GP_SDMA_##name = (index),
enum { GP_SDMA_REGISTERS(GP_SDMA_INDEX) };
#undef GP_SDMA_INDEX

/* The four ranges: index of the first register, and its distance in bytes from RB_CNTL. */
#define GP_SDMA_RANGES(X) X(0, 0x00) X(19, 0xa0) X(25, 0xbc) X(32, 0x100)

/* gfx11: 43 registers in five ranges. */
#define GP_SDMA11_REGISTERS(X)      \
	X(0, RB_CNTL)               \
	X(1, RB_BASE)               \
	X(2, RB_BASE_HI)            \
	X(3, RB_RPTR)               \
	X(4, RB_RPTR_HI)            \
	X(5, RB_WPTR)               \
	X(6, RB_WPTR_HI)            \
	X(7, RB_RPTR_ADDR_HI)       \
	X(8, RB_RPTR_ADDR_LO)       \
	X(9, IB_CNTL)               \
	X(10, IB_RPTR)              \
	X(11, IB_OFFSET)            \
	X(12, IB_BASE_LO)           \
	X(13, IB_BASE_HI)           \
	X(14, IB_SIZE)              \
	X(15, SKIP_CNTL)            \
	X(16, CONTEXT_STATUS)       \
	X(17, DOORBELL)             \
	X(18, DOORBELL_LOG)         \
	X(19, DOORBELL_OFFSET)      \
	X(20, CSA_ADDR_LO)          \
	X(21, CSA_ADDR_HI)          \
	X(22, SCHEDULE_CNTL)        \
	X(23, IB_SUB_REMAIN)        \
	X(24, PREEMPT)              \
	X(25, DUMMY_REG)            \
	X(26, RB_WPTR_POLL_ADDR_HI) \
	X(27, RB_WPTR_POLL_ADDR_LO) \
	X(28, RB_AQL_CNTL)          \
	X(29, MINOR_PTR_UPDATE)     \
	X(30, RB_PREEMPT)           \
	X(31, MIDCMD_DATA0)         \
	X(32, MIDCMD_DATA1)         \
	X(33, MIDCMD_DATA2)         \
	X(34, MIDCMD_DATA3)         \
	X(35, MIDCMD_DATA4)         \
	X(36, MIDCMD_DATA5)         \
	X(37, MIDCMD_DATA6)         \
	X(38, MIDCMD_DATA7)         \
	X(39, MIDCMD_DATA8)         \
	X(40, MIDCMD_DATA9)         \
	X(41, MIDCMD_DATA10)        \
	X(42, MIDCMD_CNTL)

/* gfx12: 49 registers without a gap. */
#define GP_SDMA12_REGISTERS(X)       \
	X(0, RB_CNTL)                \
	X(1, RB_BASE)                \
	X(2, RB_BASE_HI)             \
	X(3, RB_RPTR)                \
	X(4, RB_RPTR_HI)             \
	X(5, RB_WPTR)                \
	X(6, RB_WPTR_HI)             \
	X(7, RB_RPTR_ADDR_LO)        \
	X(8, RB_RPTR_ADDR_HI)        \
	X(9, IB_CNTL)                \
	X(10, IB_RPTR)               \
	X(11, IB_OFFSET)             \
	X(12, IB_BASE_LO)            \
	X(13, IB_BASE_HI)            \
	X(14, IB_SIZE)               \
	X(15, DOORBELL)              \
	X(16, DOORBELL_LOG)          \
	X(17, DOORBELL_OFFSET)       \
	X(18, CSA_ADDR_LO)           \
	X(19, CSA_ADDR_HI)           \
	X(20, SCHEDULE_CNTL)         \
	X(21, IB_SUB_REMAIN)         \
	X(22, PREEMPT)               \
	X(23, DUMMY_REG)             \
	X(24, RB_WPTR_POLL_ADDR_LO)  \
	X(25, RB_WPTR_POLL_ADDR_HI)  \
	X(26, RB_AQL_CNTL)           \
	X(27, MINOR_PTR_UPDATE)      \
	X(28, MCU_DBG0)              \
	X(29, MCU_DBG1)              \
	X(30, CONTEXT_SWITCH_STATUS) \
	X(31, MIDCMD_CNTL)           \
	X(32, MIDCMD_DATA0)          \
	X(33, MIDCMD_DATA1)          \
	X(34, MIDCMD_DATA2)          \
	X(35, MIDCMD_DATA3)          \
	X(36, MIDCMD_DATA4)          \
	X(37, MIDCMD_DATA5)          \
	X(38, MIDCMD_DATA6)          \
	X(39, MIDCMD_DATA7)          \
	X(40, MIDCMD_DATA8)          \
	X(41, MIDCMD_DATA9)          \
	X(42, MIDCMD_DATA10)         \
	X(43, WAIT_UNSATISFIED_THD)  \
	X(44, MQD_BASE_ADDR_LO)      \
	X(45, MQD_BASE_ADDR_HI)      \
	X(46, MQD_CONTROL)           \
	X(47, DEQUEUE_REQUEST)       \
	X(48, CONTEXT_STATUS)

#define GP_SDMA11_INDEX(index, name) GP_SDMA11_##name = (index),
#define GP_SDMA12_INDEX(index, name) GP_SDMA12_##name = (index),
enum { GP_SDMA11_REGISTERS(GP_SDMA11_INDEX) };
enum { GP_SDMA12_REGISTERS(GP_SDMA12_INDEX) };
#undef GP_SDMA11_INDEX
#undef GP_SDMA12_INDEX

/* ---- bit fields: X(register, field, from, to) ---- */

/* Those whose position is the same on gfx9 and gfx10. */
#define GP_HQD_FIELDS(X)                                         \
	X(CP_HQD_ACTIVE, ACTIVE, 0, 0)                           \
	X(CP_HQD_ACTIVE, BUSY_GATE, 1, 1)                        \
	X(CP_HQD_VMID, VMID, 0, 3)                               \
	X(CP_HQD_VMID, IB_VMID, 8, 11)                           \
	X(CP_HQD_VMID, VQID, 16, 25)                             \
	X(CP_HQD_PERSISTENT_STATE, PRELOAD_REQ, 0, 0)            \
	X(CP_HQD_PERSISTENT_STATE, PRELOAD_SIZE, 8, 17)          \
	X(CP_HQD_PERSISTENT_STATE, RESTORE_ACTIVE, 28, 28)       \
	X(CP_HQD_PERSISTENT_STATE, RELAUNCH_WAVES, 29, 29)       \
	X(CP_HQD_PERSISTENT_STATE, QSWITCH_MODE, 30, 30)         \
	X(CP_HQD_PERSISTENT_STATE, DISP_ACTIVE, 31, 31)          \
	X(CP_HQD_PIPE_PRIORITY, PIPE_PRIORITY, 0, 1)             \
	X(CP_HQD_QUEUE_PRIORITY, PRIORITY_LEVEL, 0, 3)           \
	X(CP_HQD_QUANTUM, QUANTUM_EN, 0, 0)                      \
	X(CP_HQD_QUANTUM, QUANTUM_SCALE, 4, 4)                   \
	X(CP_HQD_QUANTUM, QUANTUM_DURATION, 8, 13)               \
	X(CP_HQD_QUANTUM, QUANTUM_ACTIVE, 31, 31)                \
	X(CP_HQD_PQ_DOORBELL_CONTROL, DOORBELL_MODE, 0, 0)       \
	X(CP_HQD_PQ_DOORBELL_CONTROL, DOORBELL_BIF_DROP, 1, 1)   \
	X(CP_HQD_PQ_DOORBELL_CONTROL, DOORBELL_OFFSET, 2, 27)    \
	X(CP_HQD_PQ_DOORBELL_CONTROL, DOORBELL_SOURCE, 28, 28)   \
	X(CP_HQD_PQ_DOORBELL_CONTROL, DOORBELL_SCHD_HIT, 29, 29) \
	X(CP_HQD_PQ_DOORBELL_CONTROL, DOORBELL_EN, 30, 30)       \
	X(CP_HQD_PQ_DOORBELL_CONTROL, DOORBELL_HIT, 31, 31)      \
	X(CP_HQD_PQ_CONTROL, QUEUE_SIZE, 0, 5)                   \
	X(CP_HQD_PQ_CONTROL, RPTR_BLOCK_SIZE, 8, 13)             \
	X(CP_HQD_PQ_CONTROL, QUEUE_FULL_EN, 14, 14)              \
	X(CP_HQD_PQ_CONTROL, PQ_EMPTY, 15, 15)                   \
	X(CP_HQD_PQ_CONTROL, NO_UPDATE_RPTR, 27, 27)             \
	X(CP_HQD_PQ_CONTROL, UNORD_DISPATCH, 28, 28)             \
	X(CP_HQD_PQ_CONTROL, PRIV_STATE, 30, 30)                 \
	X(CP_HQD_PQ_CONTROL, KMD_QUEUE, 31, 31)                  \
	X(CP_HQD_EOP_CONTROL, EOP_SIZE, 0, 5)                    \
	X(CP_HQD_AQL_CONTROL, CONTROL0, 0, 14)

#define GP_SDMA_FIELDS(X)                         \
	X(RB_CNTL, RB_ENABLE, 0, 0)               \
	X(RB_CNTL, RB_SIZE, 1, 5)                 \
	X(RB_CNTL, RPTR_WRITEBACK_ENABLE, 12, 12) \
	X(RB_CNTL, RPTR_WRITEBACK_TIMER, 16, 20)  \
	X(RB_CNTL, RB_PRIV, 23, 23)               \
	X(RB_CNTL, RB_VMID, 24, 27)               \
	X(CONTEXT_STATUS, SELECTED, 0, 0)         \
	X(CONTEXT_STATUS, IDLE, 2, 2)             \
	X(CONTEXT_STATUS, EXPIRED, 3, 3)          \
	X(CONTEXT_STATUS, EXCEPTION, 4, 6)        \
	X(DOORBELL, ENABLE, 28, 28)               \
	X(DOORBELL, CAPTURED, 30, 30)             \
	X(DOORBELL_OFFSET, OFFSET, 2, 27)

/* GP_CP_HQD_VMID__VMID(value) and so on. */
#define GP_FIELD_ENUM(reg, field, from, to) \
	GP_##reg##__##field##__FROM = (from), GP_##reg##__##field##__TO = (to),
#define GP_SDMA_FIELD_ENUM(reg, field, from, to) GP_FIELD_ENUM(SDMA_##reg, field, from, to)
enum { GP_HQD_FIELDS(GP_FIELD_ENUM) GP_SDMA_FIELDS(GP_SDMA_FIELD_ENUM) };
#undef GP_SDMA_FIELD_ENUM
#undef GP_FIELD_ENUM

/* A named field of a block of words: GP_HQD_FIELD(words, CP_HQD_VMID, VMID). */
#define GP_HQD_FIELD(words, reg, field) \
	gp_bits((words)[GP_##reg], GP_##reg##__##field##__FROM, GP_##reg##__##field##__TO)
#define GP_SDMA_FIELD(words, reg, field) GP_HQD_FIELD(words, SDMA_##reg, field)

/* Units. */
#define GP_HQD_ADDRESS_SHIFT    8    /* PQ_BASE, EOP_BASE, RB_BASE hold address >> 8 */
#define GP_AQL_PACKET_DWORDS    16   /* 64-byte packets; PQ_RPTR and PQ_WPTR count dwords */
#define GP_AQL_READ_INDEX       0x80 /* of read_dispatch_id in amd_queue_t, which ROCr reports to */
#define GP_HQD_SIZE_LIMIT       40   /* log2 of the largest ring believed, in dwords */
#define GP_HQD_QUANTUM_SCALE_MS 1    /* QUANTUM_SCALE 1: the duration is in milliseconds */

#endif
