// SPDX-License-Identifier: MIT
/*
 * Rate of empty dispatches: hsa_rate QUEUES PACKETS. Each queue is kept full by its own thread;
 * prints packets a second over all queues and checks that each completed once.
 */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "check.h"

#define HSA(call) CHECK((call) == HSA_STATUS_SUCCESS)

static hsa_agent_t cpu, gpu;
static hsa_amd_memory_pool_t host;
static uint64_t kernel;
static long packets;

static hsa_status_t agent(hsa_agent_t found, void *data)
{
	hsa_device_type_t type;

	(void)data;
	HSA(hsa_agent_get_info(found, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_CPU && !cpu.handle)
		cpu = found;
	if (type == HSA_DEVICE_TYPE_GPU && !gpu.handle)
		gpu = found;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t pool(hsa_amd_memory_pool_t found, void *data)
{
	*(hsa_amd_memory_pool_t *)data = found;
	return HSA_STATUS_INFO_BREAK;
}

static void *feed(void *data)
{
	hsa_kernel_dispatch_packet_t packet = {0};
	hsa_queue_t *queue, **made = data;
	hsa_signal_t done;

	HSA(hsa_queue_create(gpu, 4096, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX,
			     &queue));
	HSA(hsa_signal_create(packets, 0, NULL, &done));
	packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE;
	packet.setup = 1;
	packet.workgroup_size_x = 64;
	packet.workgroup_size_y = packet.workgroup_size_z = 1;
	packet.grid_size_x = 64;
	packet.grid_size_y = packet.grid_size_z = 1;
	packet.kernel_object = kernel;
	packet.completion_signal = done;
	for (long i = 0; i < packets; i++) {
		uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
		char *slot = (char *)queue->base_address + index % queue->size * 64;

		while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
			sched_yield();
		memcpy(slot + 4, (char *)&packet + 4, 60);
		__atomic_store_n((uint32_t *)slot, packet.header | (uint32_t)packet.setup << 16,
				 __ATOMIC_RELEASE);
		hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
	}
	CHECK(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
					HSA_WAIT_STATE_BLOCKED) == 0);
	CHECK(hsa_queue_load_read_index_relaxed(queue) == (uint64_t)packets);
	HSA(hsa_signal_destroy(done));
	*made = queue;
	return NULL;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	long queues = argc > 1 ? atol(argv[1]) : 1;
	pthread_t threads[64];
	hsa_queue_t *made[64];
	double start;
	void *memory;

	packets = argc > 2 ? atol(argv[2]) : 100000;
	CHECK(queues >= 1 && queues <= 64);
	HSA(hsa_init());
	HSA(hsa_iterate_agents(agent, NULL));
	CHECK(hsa_amd_agent_iterate_memory_pools(cpu, pool, &host) == HSA_STATUS_INFO_BREAK);
	/* A descriptor without a name: the default cost. */
	HSA(hsa_amd_memory_pool_allocate(host, 4096, 0, &memory));
	HSA(hsa_amd_agents_allow_access(1, &gpu, NULL, memory));
	memset(memory, 0, 4096);
	kernel = (uint64_t)(uintptr_t)memory;
	start = now();
	for (long i = 0; i < queues; i++)
		CHECK(!pthread_create(&threads[i], NULL, feed, &made[i]));
	for (long i = 0; i < queues; i++)
		CHECK(!pthread_join(threads[i], NULL));
	printf("%ld queues: %.0f packets/s\n", queues,
	       (double)queues * (double)packets / (now() - start));
	/* One after another: ROCr 5.2.3 can lose a wake-up when several go at once. */
	for (long i = 0; i < queues; i++)
		HSA(hsa_queue_destroy(made[i]));
	HSA(hsa_shut_down());
	return 0;
}
