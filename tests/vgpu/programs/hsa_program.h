/* SPDX-License-Identifier: MIT */
/*
 * HSA for test programs: the first CPU and GPU, their memory, queues, an empty kernel, packets.
 *
 * A program with several queues ends with them, without hsa_queue_destroy() and hsa_shut_down():
 * all queues share one event, which resets itself. In ROCr before event ages (KFD 1.14) the thread
 * that handles errors can take the wake-up of a queue that is destroyed while another exists, one
 * of ROCr's own as well, and destroying it then never ends.
 */
#ifndef GP_PROGRAMS_HSA_PROGRAM_H
#define GP_PROGRAMS_HSA_PROGRAM_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <sched.h>

#include "check.h"

#define HSA(call) CHECK((call) == HSA_STATUS_SUCCESS)

struct hsa_program {
	hsa_agent_t cpu, gpu;
	hsa_amd_memory_pool_t host, vram;
};

static inline hsa_status_t hsa_program_agent(hsa_agent_t found, void *data)
{
	struct hsa_program *program = data;
	hsa_device_type_t type;

	HSA(hsa_agent_get_info(found, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_CPU && !program->cpu.handle)
		program->cpu = found;
	if (type == HSA_DEVICE_TYPE_GPU && !program->gpu.handle)
		program->gpu = found;
	return HSA_STATUS_SUCCESS;
}

static inline hsa_status_t hsa_program_pool(hsa_amd_memory_pool_t found, void *data)
{
	hsa_amd_segment_t segment;

	HSA(hsa_amd_memory_pool_get_info(found, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
	if (segment != HSA_AMD_SEGMENT_GLOBAL)
		return HSA_STATUS_SUCCESS;
	*(hsa_amd_memory_pool_t *)data = found;
	return HSA_STATUS_INFO_BREAK;
}

static inline struct hsa_program hsa_program_begin(void)
{
	struct hsa_program program = {0};

	HSA(hsa_init());
	HSA(hsa_iterate_agents(hsa_program_agent, &program));
	CHECK(program.cpu.handle && program.gpu.handle);
	CHECK(hsa_amd_agent_iterate_memory_pools(program.cpu, hsa_program_pool, &program.host) ==
	      HSA_STATUS_INFO_BREAK);
	CHECK(hsa_amd_agent_iterate_memory_pools(program.gpu, hsa_program_pool, &program.vram) ==
	      HSA_STATUS_INFO_BREAK);
	return program;
}

/* A kernel descriptor without a name: the virtual GPU gives it the default cost. */
static inline uint64_t hsa_program_kernel(const struct hsa_program *program)
{
	void *memory;

	HSA(hsa_amd_memory_pool_allocate(program->host, 4096, 0, &memory));
	HSA(hsa_amd_agents_allow_access(1, &program->gpu, NULL, memory));
	memset(memory, 0, 4096);
	return (uint64_t)(uintptr_t)memory;
}

static inline hsa_queue_t *hsa_program_queue(const struct hsa_program *program, uint32_t packets)
{
	hsa_queue_t *queue;

	HSA(hsa_queue_create(program->gpu, packets, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX,
			     UINT32_MAX, &queue));
	return queue;
}

static inline hsa_kernel_dispatch_packet_t hsa_program_dispatch(uint64_t kernel, uint32_t items,
								int barrier)
{
	return (hsa_kernel_dispatch_packet_t){
		.header = (uint16_t)(HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
				     barrier << HSA_PACKET_HEADER_BARRIER),
		.setup = 1,
		.workgroup_size_x = 64,
		.workgroup_size_y = 1,
		.workgroup_size_z = 1,
		.grid_size_x = items,
		.grid_size_y = 1,
		.grid_size_z = 1,
		.kernel_object = kernel,
	};
}

/* Waits for room, writes the packet, its header last, and rings the doorbell. */
static inline void hsa_program_submit(hsa_queue_t *queue, const void *packet)
{
	uint64_t index = hsa_queue_add_write_index_scacq_screl(queue, 1);
	char *slot = (char *)queue->base_address + index % queue->size * 64;
	uint32_t first;

	while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
		sched_yield();
	memcpy(slot + 4, (const char *)packet + 4, 60);
	memcpy(&first, packet, 4);
	__atomic_store_n((uint32_t *)slot, first, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

#endif
