// SPDX-License-Identifier: MIT
#include "vgpu/server/registers.h"

#include <string.h>

/* Linux 6.12 amdkfd: kfd_mqd_manager_v9.c, and cik_regs.h for the quantum. */
#define PERSISTENT_STATE    0x00005301u /* PRELOAD_REQ, PRELOAD_SIZE 0x53 */
#define QSWITCH_MODE        (1u << 30)  /* with a save area */
#define QUANTUM             0x111u      /* enabled, in milliseconds, 1 */
#define RPTR_BLOCK          (5u << 8)
#define QUEUE_FULL_EN       (1u << 14)
#define PQ_EMPTY            (1u << 15)
#define WPP_CLAMP_EN        (1u << 16)
#define SLOT_BASED_WPTR     (2u << 25)
#define NO_UPDATE_RPTR      (1u << 27)
#define UNORDERED_DISPATCH  (1u << 28)
#define IB_CONTROL          0x00b00000u
#define HQ_STATUS0          0x00004000u
#define MQD_CONTROL         0x00000100u
#define DOORBELL_BIF_DROP   (1u << 1)
#define DOORBELL_MAPPED     0x60000000u /* enabled, hit by the scheduler; an MI308X shows both */
#define PIPELINE_STATISTICS 11          /* dwords of the part before the registers */
#define RESOURCE_LIMITS     20
#define LOGIC_XCC           39
#define CHUNK_SIZE          41
#define SDMA_RB_CNTL        0x00061000u /* RPTR_WRITEBACK_ENABLE, timer 6 */
#define SDMA_DUMMY          0xfu
#define SDMA_DOORBELL_EN    (1u << 28)
#define FIRST_KFD_VMID      3 /* GC 9.4.1 to 9.4.4 */
#define MQD_BYTES           4096
#define GFX942              90400 /* and above: several XCCs */

static void put64(u32 *words, u32 index, u64 value)
{
	words[index] = (u32)value;
	words[index + 1] = (u32)(value >> 32);
}

static u32 log2_ceiling(u64 value)
{
	u32 bits = 0;

	while (bits < 63 && (1ull << bits) < value)
		bits++;
	return bits;
}

/* 0-6 low, 7-10 medium, 11-15 high (kfd_mqd_manager.c, pipe_priority_map). */
static u32 pipe_priority(u32 priority)
{
	return priority < 7 ? 0 : priority < 11 ? 1 : 2;
}

u64 gp_vgpu_mqd_address(const struct gp_vgpu_queue *queue, u32 xcc)
{
	return queue->mqd_address + (u64)xcc * (MQD_BYTES + queue->args.ctl_stack_size);
}

static bool is_aql(const struct gp_vgpu_queue *queue)
{
	return queue->args.queue_type == GP_KFD_QUEUE_COMPUTE_AQL;
}

static u32 pq_control(const struct gp_vgpu_queue *queue, u32 xcc)
{
	/* A ring of 2^n dwords is written as n - 1. */
	u32 size = log2_ceiling(queue->args.ring_size / 4);
	u32 value = (size ? size - 1 : 0) | RPTR_BLOCK | UNORDERED_DISPATCH;

	if (!is_aql(queue))
		return value;
	value |= SLOT_BASED_WPTR | QUEUE_FULL_EN | WPP_CLAMP_EN;
	/* One XCC reports the read pointer; on parts with one, ROCr does not want it. */
	if (queue->device->file.gpu.gfx_version < GFX942 || xcc)
		value |= NO_UPDATE_RPTR;
	return value;
}

/* Where the client's command processor is, in the units of the ring. The client's own word. */
static u64 read_index(const struct gp_vgpu_queue *queue)
{
	const struct gp_vgpu_shared *shared = queue->process->shared;
	u64 seen = 0;

	if (shared)
		seen = __atomic_load_n(&shared->mirrors[queue->id].read_index, __ATOMIC_RELAXED);
	return is_aql(queue) && queue->launched > seen ? queue->launched : seen;
}

static u64 write_index(const struct gp_vgpu_queue *queue)
{
	const struct gp_vgpu_shared *shared = queue->process->shared;
	u64 seen = 0, read = read_index(queue);

	if (shared)
		seen = __atomic_load_n(&shared->mirrors[queue->id].write_index, __ATOMIC_RELAXED);
	return seen > read ? seen : read;
}

static u32 ring_rptr(const struct gp_vgpu_queue *queue)
{
	u32 dwords = queue->args.ring_size / 4;

	u64 unit = is_aql(queue) ? GP_AQL_PACKET_DWORDS : 1; /* PM4 counts dwords */

	return dwords ? (u32)(read_index(queue) * unit % dwords) : 0;
}

static void save_area(const struct gp_vgpu_queue *queue, const struct gp_model_queue_state *state,
		      u32 xcc, u32 *block)
{
	const struct gp_kfd_create_queue_args *args = &queue->args;
	u32 xccs = queue->device->file.gpu.xcc_count;
	u32 stack = state->saved_waves / xccs * 8;

	if (!args->ctx_save_restore_address)
		return;
	if (stack > args->ctl_stack_size)
		stack = args->ctl_stack_size;
	put64(block, GP_CP_HQD_CTX_SAVE_BASE_ADDR_LO,
	      args->ctx_save_restore_address + (u64)xcc * args->ctx_save_restore_size);
	block[GP_CP_HQD_CNTL_STACK_OFFSET] = args->ctl_stack_size - stack;
	block[GP_CP_HQD_CNTL_STACK_SIZE] = args->ctl_stack_size;
	block[GP_CP_HQD_WG_STATE_OFFSET] =
		args->ctl_stack_size + (u32)(state->saved_bytes / xccs & ~3ull);
	block[GP_CP_HQD_CTX_SAVE_SIZE] = args->ctx_save_restore_size;
}

/* The register part, the same in descriptor and slot. */
static void compute_block(const struct gp_vgpu_queue *queue,
			  const struct gp_model_queue_state *state, u32 xcc, u32 *block)
{
	const struct gp_kfd_create_queue_args *args = &queue->args;

	put64(block, GP_CP_MQD_BASE_ADDR, gp_vgpu_mqd_address(queue, xcc));
	block[GP_CP_HQD_PERSISTENT_STATE] =
		PERSISTENT_STATE | (args->ctx_save_restore_address ? QSWITCH_MODE : 0);
	block[GP_CP_HQD_PIPE_PRIORITY] = pipe_priority(queue->priority);
	block[GP_CP_HQD_QUEUE_PRIORITY] = queue->priority;
	block[GP_CP_HQD_QUANTUM] = QUANTUM;
	put64(block, GP_CP_HQD_PQ_BASE, args->ring_base_address >> GP_HQD_ADDRESS_SHIFT);
	block[GP_CP_HQD_PQ_RPTR] = ring_rptr(queue);
	put64(block, GP_CP_HQD_PQ_RPTR_REPORT_ADDR, args->read_pointer_address);
	put64(block, GP_CP_HQD_PQ_WPTR_POLL_ADDR, args->write_pointer_address);
	block[GP_CP_HQD_PQ_DOORBELL_CONTROL] = queue->doorbell << 2 | DOORBELL_BIF_DROP;
	block[GP_CP_HQD_PQ_CONTROL] = pq_control(queue, xcc);
	block[GP_CP_HQD_IB_CONTROL] = IB_CONTROL;
	block[GP_CP_HQD_HQ_STATUS0] = HQ_STATUS0;
	block[GP_CP_MQD_CONTROL] = MQD_CONTROL;
	if (args->eop_buffer_address) {
		put64(block, GP_CP_HQD_EOP_BASE_ADDR,
		      args->eop_buffer_address >> GP_HQD_ADDRESS_SHIFT);
		block[GP_CP_HQD_EOP_CONTROL] = log2_ceiling(args->eop_buffer_size / 4) - 1;
	}
	save_area(queue, state, xcc, block);
	block[GP_CP_HQD_AQL_CONTROL] = is_aql(queue);
	put64(block, GP_CP_HQD_PQ_WPTR_LO, write_index(queue) * GP_AQL_PACKET_DWORDS);
}

static void model_state(const struct gp_vgpu_queue *queue, struct gp_model_queue_state *state)
{
	if (gp_model_queue_state(queue->device->model, queue->model_queue, state))
		memset(state, 0, sizeof(*state));
}

/*
 * COMPUTE_STATIC_THREAD_MGMT_SE0 to 7: which CUs of each shader engine. The driver deals the bits
 * of a mask out to the XCCs that are shown in turn, and those of an XCC to its engines in turn.
 */
static void cu_mask_words(const struct gp_vgpu_queue *queue, u32 xcc, u32 *words)
{
	static const u8 places[] = {23, 24, 26, 27, 39, 40, 41, 42};
	const struct gp_vgpu_gpufile *file = &queue->device->file;
	u32 xccs = file->gpu.xcc_count;
	u32 engines = file->array_count / file->arrays_per_engine / xccs;
	bool any = false;

	engines = GP_MIN(engines, (u32)GP_ARRAY_SIZE(places));
	for (size_t i = 0; i < GP_MODEL_CU_WORDS; i++)
		any |= queue->cu_mask[i] != 0;
	for (size_t i = 0; i < GP_ARRAY_SIZE(places); i++)
		words[places[i]] = any && i < engines ? 0 : UINT32_MAX;
	for (u32 bit = xcc; any && bit < file->gpu.cu_count; bit += xccs) {
		u32 turn = bit / xccs;

		if (queue->cu_mask[bit / 64] >> bit % 64 & 1)
			words[places[turn % engines]] |= 1u << turn / engines % 32;
	}
}

void gp_vgpu_mqd(const struct gp_vgpu_queue *queue, u32 xcc, u32 words[GP_MQD_WORDS])
{
	struct gp_model_queue_state state;

	model_state(queue, &state);
	memset(words, 0, GP_MQD_WORDS * sizeof(*words));
	words[0] = GP_MQD_HEADER;
	words[PIPELINE_STATISTICS] = 1;
	words[RESOURCE_LIMITS] = 0x40;
	cu_mask_words(queue, xcc, words);
	if (queue->device->file.gpu.gfx_version >= GFX942) {
		words[LOGIC_XCC] = xcc;
		words[CHUNK_SIZE] = 1;
	}
	compute_block(queue, &state, xcc, words + GP_MQD_BLOCK);
}

static u32 vmid(const struct gp_model_queue_state *state)
{
	return FIRST_KFD_VMID + state->vmid_index;
}

void gp_vgpu_hqd(const struct gp_vgpu_queue *queue, const struct gp_model_queue_state *state,
		 u32 xcc, u32 words[GP_HQD_WORDS])
{
	memset(words, 0, GP_HQD_WORDS * sizeof(*words));
	compute_block(queue, state, xcc, words);
	words[GP_CP_HQD_ACTIVE] = 1;
	words[GP_CP_HQD_VMID] = vmid(state) | vmid(state) << 8;
	words[GP_CP_HQD_PQ_DOORBELL_CONTROL] |= DOORBELL_MAPPED;
	if (read_index(queue) == write_index(queue))
		words[GP_CP_HQD_PQ_CONTROL] |= PQ_EMPTY;
}

static void sdma_block(const struct gp_vgpu_queue *queue, u32 *words)
{
	const struct gp_kfd_create_queue_args *args = &queue->args;

	words[GP_SDMA_RB_CNTL] = SDMA_RB_CNTL | log2_ceiling(args->ring_size / 4) << 1;
	put64(words, GP_SDMA_RB_BASE, args->ring_base_address >> GP_HQD_ADDRESS_SHIFT);
	put64(words, GP_SDMA_RB_RPTR, read_index(queue));
	put64(words, GP_SDMA_RB_WPTR, write_index(queue));
	words[GP_SDMA_RB_RPTR_ADDR_HI] = (u32)(args->read_pointer_address >> 32);
	words[GP_SDMA_RB_RPTR_ADDR_LO] = (u32)args->read_pointer_address;
	words[GP_SDMA_DOORBELL_OFFSET] = queue->doorbell << 2;
	words[GP_SDMA_DUMMY_REG] = SDMA_DUMMY;
}

void gp_vgpu_sdma_mqd(const struct gp_vgpu_queue *queue, u32 words[GP_SDMA_MQD_WORDS])
{
	struct gp_model_queue_state state;

	model_state(queue, &state);
	memset(words, 0, GP_SDMA_MQD_WORDS * sizeof(*words));
	sdma_block(queue, words);
	words[GP_SDMA_MQD_ENGINE] = queue->sdma_engine;
	words[GP_SDMA_MQD_QUEUE] = state.mapped ? state.slot : 0;
}

void gp_vgpu_sdma_slot(const struct gp_vgpu_queue *queue, const struct gp_model_queue_state *state,
		       u32 words[GP_SDMA_WORDS_MAX])
{
	memset(words, 0, GP_SDMA_WORDS_MAX * sizeof(*words));
	sdma_block(queue, words);
	words[GP_SDMA_RB_CNTL] |= 1 | vmid(state) << 24;
	words[GP_SDMA_DOORBELL] = SDMA_DOORBELL_EN;
	words[GP_SDMA_RB_WPTR_POLL_ADDR_HI] = (u32)(queue->args.write_pointer_address >> 32);
	words[GP_SDMA_RB_WPTR_POLL_ADDR_LO] = (u32)queue->args.write_pointer_address;
	/* Idle when it has read all there is. */
	words[GP_SDMA_CONTEXT_STATUS] = read_index(queue) == write_index(queue) ? 1u << 2 : 1;
}

/* Packets to the firmware for one update: UNMAP_QUEUES, QUERY_STATUS, RUN_LIST. */
#define HIQ_UPDATE_DWORDS 17
#define HIQ_DWORDS        512 /* PAGE_SIZE / 2 of the driver */

void gp_vgpu_hiq(const struct gp_vgpu_device *device, u32 xcc, u32 words[GP_HQD_WORDS])
{
	struct gp_model_stats stats;
	u64 wptr;

	gp_model_stats(device->model, &stats);
	wptr = stats.updates * HIQ_UPDATE_DWORDS;
	memset(words, 0, GP_HQD_WORDS * sizeof(*words));
	words[GP_CP_MQD_BASE_ADDR] = 0x006e3000 + xcc * 0x1000;
	words[GP_CP_HQD_ACTIVE] = 1;
	words[GP_CP_HQD_PERSISTENT_STATE] = PERSISTENT_STATE;
	words[GP_CP_HQD_QUEUE_PRIORITY] = 1;
	words[GP_CP_HQD_QUANTUM] = QUANTUM;
	words[GP_CP_HQD_PQ_BASE] = 0x0000fcc0;
	words[GP_CP_HQD_PQ_RPTR] = (u32)(wptr % HIQ_DWORDS);
	words[GP_CP_HQD_PQ_RPTR_REPORT_ADDR] = 0x00fcd800;
	words[GP_CP_HQD_PQ_WPTR_POLL_ADDR] = 0x00fcda00;
	words[GP_CP_HQD_PQ_DOORBELL_CONTROL] = 0x1000 | DOORBELL_MAPPED;
	/* Ordered, privileged, the kernel's, 512 dwords. */
	words[GP_CP_HQD_PQ_CONTROL] = 0xd0000508u | PQ_EMPTY;
	words[GP_CP_HQD_IB_CONTROL] = IB_CONTROL;
	words[GP_CP_HQD_HQ_STATUS0] = HQ_STATUS0;
	words[GP_CP_MQD_CONTROL] = MQD_CONTROL;
	words[GP_CP_HQD_EOP_BASE_ADDR] = 0x0000fcc8;
	words[GP_CP_HQD_EOP_CONTROL] = 9;
	put64(words, GP_CP_HQD_PQ_WPTR_LO, wptr);
}
