// SPDX-License-Identifier: MIT
/*
 * Queues through ROCr: priorities, CU masks, barriers with dependencies, barrier-value, blocked and
 * active waits, profiling times, copies by the DMA engines, and queue errors.
 */
#include <time.h>

#include "hsa_program.h"

#define BYTES (8u << 20)

static struct hsa_program program;

static hsa_signal_t signal_new(hsa_signal_value_t value)
{
	hsa_signal_t signal;

	HSA(hsa_signal_create(value, 0, NULL, &signal));
	return signal;
}

static hsa_barrier_and_packet_t barrier(hsa_signal_t completion)
{
	hsa_barrier_and_packet_t packet = {0};

	packet.header = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE |
			1 << HSA_PACKET_HEADER_BARRIER |
			HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
			HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
	packet.completion_signal = completion;
	return packet;
}

static hsa_signal_value_t wait_zero(hsa_signal_t signal, hsa_wait_state_t how)
{
	return hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, how);
}

static hsa_queue_t *queue_new(uint32_t packets, void (*error)(hsa_status_t, hsa_queue_t *, void *),
			      void *data)
{
	hsa_queue_t *queue;

	HSA(hsa_queue_create(program.gpu, packets, HSA_QUEUE_TYPE_MULTI, error, data, UINT32_MAX,
			     UINT32_MAX, &queue));
	return queue;
}

static void waits_and_times(void)
{
	static const hsa_amd_queue_priority_t priorities[] = {HSA_AMD_QUEUE_PRIORITY_LOW,
							      HSA_AMD_QUEUE_PRIORITY_NORMAL,
							      HSA_AMD_QUEUE_PRIORITY_HIGH};
	const uint32_t mask[4] = {0xffff, 0, 0, 0};
	uint64_t last = 0;

	for (int i = 0; i < 3; i++) {
		hsa_queue_t *queue = queue_new(1024, NULL, NULL);
		hsa_signal_t done = signal_new(1);
		hsa_barrier_and_packet_t packet = barrier(done);
		hsa_amd_profiling_dispatch_time_t time;

		HSA(hsa_amd_queue_set_priority(queue, priorities[i]));
		HSA(hsa_amd_queue_cu_set_mask(queue, 64, mask));
		HSA(hsa_amd_profiling_set_profiler_enabled(queue, 1));
		for (int k = 0; k < 6; k++) {
			hsa_signal_store_relaxed(done, 1);
			hsa_program_submit(queue, &packet);
			CHECK(!wait_zero(done,
					 k % 2 ? HSA_WAIT_STATE_BLOCKED : HSA_WAIT_STATE_ACTIVE));
			HSA(hsa_amd_profiling_get_dispatch_time(program.gpu, done, &time));
			CHECK(time.start <= time.end && time.start >= last);
			last = time.end;
		}
		HSA(hsa_signal_destroy(done));
		HSA(hsa_queue_destroy(queue));
	}
}

/* A chain over two queues, let go by the CPU; every signal fires once. */
static void dependencies(void)
{
	hsa_queue_t *queues[2] = {queue_new(64, NULL, NULL), queue_new(64, NULL, NULL)};
	hsa_signal_t chain[33];
	hsa_amd_barrier_value_packet_t value = {0};
	hsa_barrier_and_packet_t packet;

	for (int i = 0; i < 33; i++)
		chain[i] = signal_new(1);
	for (int i = 1; i < 33; i++) {
		packet = barrier(chain[i]);
		packet.dep_signal[i % 5] = chain[i - 1];
		hsa_program_submit(queues[i % 2], &packet);
	}
	CHECK(hsa_signal_wait_scacquire(chain[1], HSA_SIGNAL_CONDITION_LT, 1, 1000000,
					HSA_WAIT_STATE_ACTIVE) == 1);
	hsa_signal_store_screlease(chain[0], 0);
	for (int i = 1; i < 33; i++)
		CHECK(wait_zero(chain[i], HSA_WAIT_STATE_BLOCKED) == 0);

	value.header.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC << HSA_PACKET_HEADER_TYPE |
			      1 << HSA_PACKET_HEADER_BARRIER;
	value.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
	value.signal = chain[0];
	value.value = 40;
	value.mask = 0xff;
	value.cond = HSA_SIGNAL_CONDITION_GTE;
	value.completion_signal = chain[1];
	hsa_signal_store_relaxed(chain[1], 1);
	hsa_program_submit(queues[0], &value);
	hsa_signal_store_screlease(chain[0], 0x100 + 39);
	CHECK(hsa_signal_wait_scacquire(chain[1], HSA_SIGNAL_CONDITION_LT, 1, 1000000,
					HSA_WAIT_STATE_ACTIVE) == 1);
	hsa_signal_store_screlease(chain[0], 41);
	CHECK(wait_zero(chain[1], HSA_WAIT_STATE_BLOCKED) == 0);
	for (int i = 0; i < 33; i++)
		HSA(hsa_signal_destroy(chain[i]));
}

/* More packets than the ring has, without waiting in between. */
static void many(void)
{
	hsa_queue_t *queue = queue_new(64, NULL, NULL);
	hsa_signal_t done = signal_new(10000);
	hsa_barrier_and_packet_t packet = barrier(done);

	for (int i = 0; i < 10000; i++)
		hsa_program_submit(queue, &packet);
	CHECK(wait_zero(done, HSA_WAIT_STATE_BLOCKED) == 0);
	CHECK(hsa_queue_load_read_index_relaxed(queue) == 10000);
	HSA(hsa_signal_destroy(done));
	HSA(hsa_queue_destroy(queue));
}

static void copies(void)
{
	unsigned char *in, *out, *device;
	hsa_signal_t done = signal_new(1);

	HSA(hsa_amd_memory_pool_allocate(program.host, BYTES, 0, (void **)&in));
	HSA(hsa_amd_memory_pool_allocate(program.host, BYTES, 0, (void **)&out));
	HSA(hsa_amd_memory_pool_allocate(program.vram, BYTES, 0, (void **)&device));
	HSA(hsa_amd_agents_allow_access(1, &program.gpu, NULL, in));
	HSA(hsa_amd_agents_allow_access(1, &program.gpu, NULL, out));
	fill_bytes(in, BYTES, 1);
	memset(out, 0, BYTES);
	HSA(hsa_amd_memory_async_copy(device, program.gpu, in, program.cpu, BYTES, 0, NULL, done));
	CHECK(wait_zero(done, HSA_WAIT_STATE_BLOCKED) == 0);
	hsa_signal_store_relaxed(done, 1);
	HSA(hsa_amd_memory_async_copy(out, program.cpu, device, program.gpu, BYTES, 0, NULL, done));
	CHECK(wait_zero(done, HSA_WAIT_STATE_BLOCKED) == 0);
	CHECK(!memcmp(in, out, BYTES));
	HSA(hsa_amd_memory_fill(device, 0x01020304, BYTES / 4));
	hsa_signal_store_relaxed(done, 1);
	HSA(hsa_amd_memory_async_copy(out, program.cpu, device, program.gpu, BYTES, 0, NULL, done));
	CHECK(wait_zero(done, HSA_WAIT_STATE_BLOCKED) == 0);
	for (size_t i = 0; i < BYTES / 4; i++)
		CHECK(((uint32_t *)out)[i] == 0x01020304);
	HSA(hsa_amd_memory_pool_free(in));
	HSA(hsa_amd_memory_pool_free(out));
	HSA(hsa_amd_memory_pool_free(device));
	HSA(hsa_signal_destroy(done));
}

static void on_error(hsa_status_t status, hsa_queue_t *queue, void *data)
{
	(void)queue;
	__atomic_store_n((int *)data, (int)status, __ATOMIC_SEQ_CST);
}

static void error_is(const void *packet, hsa_status_t expected)
{
	const struct timespec nap = {0, 1000000};
	int status = 0;
	hsa_queue_t *queue = queue_new(64, on_error, &status);

	hsa_program_submit(queue, packet);
	for (int i = 0; i < 60000 && !__atomic_load_n(&status, __ATOMIC_SEQ_CST); i++)
		nanosleep(&nap, NULL);
	if (status != (int)expected)
		fprintf(stderr, "queue error %x, not %x\n", status, (int)expected);
	CHECK(status == (int)expected);
	HSA(hsa_queue_destroy(queue));
}

static void errors(void)
{
	hsa_kernel_dispatch_packet_t packet = {0};

	packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE;
	packet.setup = 1;
	packet.workgroup_size_x = packet.workgroup_size_y = packet.workgroup_size_z = 1;
	packet.grid_size_x = packet.grid_size_y = packet.grid_size_z = 1;
	error_is(&packet, HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
	packet.grid_size_x = 0;
	error_is(&packet, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS);
	packet.grid_size_x = 1;
	packet.workgroup_size_x = 2000;
	error_is(&packet, HSA_STATUS_ERROR_INVALID_ARGUMENT);
	packet.header = 0x42;
	error_is(&packet, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
}

int main(void)
{
	program = hsa_program_begin();
	/* These destroy their queues, each of which is the only one. */
	waits_and_times();
	many();
	errors();
	copies();
	dependencies();
	return 0; /* with the queues: see hsa_program.h */
}
