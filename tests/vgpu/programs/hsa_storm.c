// SPDX-License-Identifier: MIT
/*
 * hsa_storm QUEUES PACKETS: dispatches on several queues, each with a signal of its own; checks
 * that every one completes exactly once and in the order of its queue (barrier bit). Prints its
 * pid, waits for a line (or the end of its input), dispatches and prints "done".
 */
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

#include "check.h"

#define HSA(call) CHECK((call) == HSA_STATUS_SUCCESS)
#define WINDOW    256 /* signals of a queue; a packet waits for the one that had its signal before */

static hsa_agent_t cpu, gpu;
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

/*
 * From the newest to the oldest, so that each is looked at after all that came later: when one is
 * complete, everything before it in the queue must be. 1 = under way, 0 = complete once.
 */
static void check_order(const hsa_signal_t *signals, long oldest, long next)
{
	bool complete = false;

	for (long i = next - 1; i >= oldest; i--) {
		hsa_signal_value_t value = hsa_signal_load_scacquire(signals[i % WINDOW]);

		CHECK(value == 0 || value == 1);
		CHECK(value == 0 || !complete);
		complete |= value == 0;
	}
}

/* Waits for the oldest packet under way until no more than `room` are. */
static void reap(const hsa_signal_t *signals, long *oldest, long next, long room)
{
	while (next - *oldest > room) {
		const hsa_signal_t *signal = &signals[*oldest % WINDOW];

		hsa_signal_wait_scacquire(*signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
					  HSA_WAIT_STATE_BLOCKED);
		check_order(signals, *oldest, next);
		CHECK(hsa_signal_load_scacquire(*signal) == 0); /* once, not twice */
		hsa_signal_store_relaxed(*signal, 1);
		(*oldest)++;
	}
}

static void *feed(void *data)
{
	hsa_kernel_dispatch_packet_t packet = {0};
	hsa_signal_t signals[WINDOW];
	hsa_queue_t *queue, **made = data;
	long oldest = 0;

	HSA(hsa_queue_create(gpu, 1024, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX,
			     &queue));
	for (int i = 0; i < WINDOW; i++)
		HSA(hsa_signal_create(1, 0, NULL, &signals[i]));
	packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
			1 << HSA_PACKET_HEADER_BARRIER;
	packet.setup = 1;
	packet.workgroup_size_x = 64;
	packet.workgroup_size_y = packet.workgroup_size_z = 1;
	packet.grid_size_x = 64;
	packet.grid_size_y = packet.grid_size_z = 1;
	packet.kernel_object = kernel;
	for (long i = 0; i < packets; i++) {
		uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
		char *slot = (char *)queue->base_address + index % queue->size * 64;

		reap(signals, &oldest, i, WINDOW - 1);
		packet.completion_signal = signals[i % WINDOW];
		memcpy(slot + 4, (char *)&packet + 4, 60);
		__atomic_store_n((uint32_t *)slot, packet.header | (uint32_t)packet.setup << 16,
				 __ATOMIC_RELEASE);
		hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
	}
	reap(signals, &oldest, packets, 0);
	CHECK(hsa_queue_load_read_index_relaxed(queue) == (uint64_t)packets);
	for (int i = 0; i < WINDOW; i++)
		HSA(hsa_signal_destroy(signals[i]));
	*made = queue;
	return NULL;
}

int main(int argc, char **argv)
{
	long queues = argc > 1 ? atol(argv[1]) : 4;
	hsa_amd_memory_pool_t host;
	pthread_t threads[64];
	hsa_queue_t *made[64];
	void *memory;

	packets = argc > 2 ? atol(argv[2]) : 1000;
	CHECK(queues >= 1 && queues <= 64);
	HSA(hsa_init());
	HSA(hsa_iterate_agents(agent, NULL));
	CHECK(hsa_amd_agent_iterate_memory_pools(cpu, pool, &host) == HSA_STATUS_INFO_BREAK);
	HSA(hsa_amd_memory_pool_allocate(host, 4096, 0, &memory));
	HSA(hsa_amd_agents_allow_access(1, &gpu, NULL, memory));
	memset(memory, 0, 4096);
	kernel = (uint64_t)(uintptr_t)memory;
	printf("%d\n", (int)getpid());
	fflush(stdout);
	(void)getchar();
	for (long i = 0; i < queues; i++)
		CHECK(!pthread_create(&threads[i], NULL, feed, &made[i]));
	for (long i = 0; i < queues; i++)
		CHECK(!pthread_join(threads[i], NULL));
	/* One after another: ROCr 5.2.3 can lose a wake-up when several go at once. */
	for (long i = 0; i < queues; i++)
		HSA(hsa_queue_destroy(made[i]));
	printf("done\n");
	HSA(hsa_shut_down());
	return 0;
}
