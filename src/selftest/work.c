// SPDX-License-Identifier: MIT
/*
 * gpreempt-selftest-work NODE QUEUES [virtual]: the GPU program that `gpreempt selftest` stops and
 * continues. It makes queues and submits packets, each with a completion signal of its own: a
 * barrier behind a gate that the CPU opens, then kernels that check themselves until they are told
 * to stop (kernel.cl), or more barriers where there is no kernel for the GPU. A packet that
 * completes before an earlier one of its queue, twice or never is an error, and so is a wrong value
 * in a register. One letter on stdin is a command, one line on stdout its answer: "ok NUMBER" or
 * "bad SENTENCE"; the first line is "ok QUEUES SOURCE [WHY]". It ends when stdin does.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "abi/aql.h"
#include "selftest/work.h"

#define PACKETS       GP_WORK_PACKETS
#define RING_PACKETS  64
#define WAIT_S        120

#define SYSTEM_FENCES GP_WORK_FENCES

long gp_selftest_work_fail(struct gp_selftest_kernel_work *work, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(work->error, sizeof(work->error), format, args);
	va_end(args);
	return -1;
}

long gp_selftest_work_fail_hsa(struct gp_selftest_kernel_work *work, const char *call, int status)
{
	const char *text = NULL;

	if (work->hsa.status_string(status, &text) || !text)
		text = "?";
	return gp_selftest_work_fail(work, "%s: %.200s (0x%x)", call, text, (unsigned int)status);
}

/* ---- the runtime ---- */

static long load(struct gp_selftest_kernel_work *work)
{
	struct gp_selftest_hsa *hsa = &work->hsa;
	const struct {
		void *function; /* where its address goes */
		const char *name;
	} names[] = {
		{&hsa->init, "hsa_init"},
		{&hsa->status_string, "hsa_status_string"},
		{&hsa->iterate_agents, "hsa_iterate_agents"},
		{&hsa->agent_get_info, "hsa_agent_get_info"},
		{&hsa->queue_create, "hsa_queue_create"},
		{&hsa->queue_add_write_index, "hsa_queue_add_write_index_screlease"},
		{&hsa->queue_read_index, "hsa_queue_load_read_index_scacquire"},
		{&hsa->signal_create, "hsa_signal_create"},
		{&hsa->signal_load, "hsa_signal_load_scacquire"},
		{&hsa->signal_store, "hsa_signal_store_screlease"},
		{&hsa->signal_wait, "hsa_signal_wait_scacquire"},
		{&hsa->isa_get_info, "hsa_isa_get_info_alt"},
		{&hsa->reader_create, "hsa_code_object_reader_create_from_memory"},
		{&hsa->executable_create, "hsa_executable_create_alt"},
		{&hsa->executable_load, "hsa_executable_load_agent_code_object"},
		{&hsa->executable_freeze, "hsa_executable_freeze"},
		{&hsa->executable_symbol, "hsa_executable_get_symbol_by_name"},
		{&hsa->symbol_get_info, "hsa_executable_symbol_get_info"},
		{&hsa->iterate_pools, "hsa_amd_agent_iterate_memory_pools"},
		{&hsa->pool_get_info, "hsa_amd_memory_pool_get_info"},
		{&hsa->pool_allocate, "hsa_amd_memory_pool_allocate"},
		{&hsa->allow_access, "hsa_amd_agents_allow_access"},
	};
	char why[160];
	void *library = gp_selftest_rocm_open(GP_HSA_LIBRARY, why, sizeof(why));

	if (!library)
		return gp_selftest_work_fail(work, "no ROCm runtime: %s", why);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *found = dlsym(library, names[i].name);

		if (!found)
			return gp_selftest_work_fail(work, GP_HSA_LIBRARY " has no %s",
						     names[i].name);
		memcpy(names[i].function, &found, sizeof(found));
	}
	return 0;
}

static int take_pool(uint64_t pool, void *data)
{
	struct gp_selftest_kernel_work *work = data;
	uint32_t segment = 0, flags = 0;

	if (!work->host_pool && !work->hsa.pool_get_info(pool, GP_HSA_POOL_SEGMENT, &segment) &&
	    segment == GP_HSA_POOL_GLOBAL &&
	    !work->hsa.pool_get_info(pool, GP_HSA_POOL_FLAGS, &flags) &&
	    flags & GP_HSA_POOL_KERNARG)
		work->host_pool = pool;
	return 0;
}

static int take_agent(uint64_t agent, void *data)
{
	struct gp_selftest_kernel_work *work = data;
	uint32_t type = 0, node = 0;

	if (work->hsa.agent_get_info(agent, GP_HSA_INFO_DEVICE, &type) ||
	    work->hsa.agent_get_info(agent, GP_HSA_INFO_NODE, &node))
		return 0;
	if (type == GP_HSA_DEVICE_GPU && node == work->node)
		work->gpu = agent;
	return type == GP_HSA_DEVICE_CPU ? work->hsa.iterate_pools(agent, take_pool, work) : 0;
}

static long make_queue(struct gp_selftest_kernel_work *work, uint32_t index)
{
	struct gp_selftest_hsa *hsa = &work->hsa;
	int status = hsa->queue_create(work->gpu, RING_PACKETS, GP_HSA_QUEUE_MULTI, NULL, NULL,
				       UINT32_MAX, UINT32_MAX, &work->queues[index]);

	if (status)
		return gp_selftest_work_fail_hsa(work, "hsa_queue_create", status);
	for (int i = 0; i < PACKETS; i++) {
		status = hsa->signal_create(0, 0, NULL, &work->done[index][i]);
		if (status)
			return gp_selftest_work_fail_hsa(work, "hsa_signal_create", status);
	}
	return 0;
}

static long prepare(struct gp_selftest_kernel_work *work)
{
	int status;

	if (load(work) < 0)
		return -1;
	status = work->hsa.init();
	if (status)
		return gp_selftest_work_fail_hsa(work, "hsa_init", status);
	status = work->hsa.iterate_agents(take_agent, work);
	if (status)
		return gp_selftest_work_fail_hsa(work, "hsa_iterate_agents", status);
	if (!work->gpu)
		return gp_selftest_work_fail(work,
					     "the ROCm runtime does not list GPU node %u; it may "
					     "be hidden by ROCR_VISIBLE_DEVICES",
					     work->node);
	if (gp_selftest_work_kernel(work) < 0)
		return -1;
	status = work->hsa.signal_create(0, 0, NULL, &work->gate);
	if (status)
		return gp_selftest_work_fail_hsa(work, "hsa_signal_create", status);
	for (uint32_t i = 0; i < work->queue_count; i++)
		if (make_queue(work, i) < 0)
			return -1;
	return 0;
}

/* ---- the work ---- */

/* The header last: until then the packet processor takes the slot for empty. */
void gp_selftest_work_push(struct gp_selftest_kernel_work *work, uint32_t index, const void *packet)
{
	struct gp_selftest_hsa_queue *queue = work->queues[index];
	uint64_t at = work->hsa.queue_add_write_index(queue, 1);
	char *slot = (char *)queue->base + at % queue->size * GP_AQL_PACKET_BYTES;
	uint32_t first;

	memcpy(&first, packet, sizeof(first));
	memcpy(slot + sizeof(first), (const char *)packet + sizeof(first),
	       GP_AQL_PACKET_BYTES - sizeof(first));
	__atomic_store_n((uint32_t *)slot, first, __ATOMIC_RELEASE);
	work->hsa.signal_store(queue->doorbell, (int64_t)at);
}

static void push_barrier(struct gp_selftest_kernel_work *work, uint32_t index, int packet)
{
	struct gp_aql_barrier barrier = {
		.header = GP_AQL_BARRIER_AND | GP_AQL_HEADER_BARRIER | SYSTEM_FENCES,
		.dependencies = {packet == 0 ? work->gate : 0},
		.completion_signal = work->done[index][packet],
	};

	gp_selftest_work_push(work, index, &barrier);
}

static void push_kernel(struct gp_selftest_kernel_work *work, uint32_t index, int packet)
{
	const struct gp_selftest_work_kernel *kernel = &work->kernel;
	struct gp_aql_dispatch dispatch = {
		.header = GP_AQL_KERNEL_DISPATCH | GP_AQL_HEADER_BARRIER | SYSTEM_FENCES,
		.setup = 1,
		.workgroup_x = GP_WORK_GROUP,
		.workgroup_y = 1,
		.workgroup_z = 1,
		.grid_x = GP_WORK_ITEMS,
		.grid_y = 1,
		.grid_z = 1,
		.private_segment_bytes = kernel->private_bytes,
		.group_segment_bytes = kernel->group_bytes,
		.kernel_object = kernel->object,
		.kernarg_address =
			(uintptr_t)kernel->arguments + (size_t)index * kernel->kernarg_bytes,
		.completion_signal = work->done[index][packet],
	};

	gp_selftest_work_push(work, index, &dispatch);
}

static void submit(struct gp_selftest_kernel_work *work, uint32_t index, int packet)
{
	if (packet && work->kernel.source != GP_WORK_BARRIERS)
		push_kernel(work, index, packet);
	else
		push_barrier(work, index, packet);
}

static void set_stop(struct gp_selftest_kernel_work *work, uint32_t stop)
{
	if (work->kernel.stop)
		__atomic_store_n(work->kernel.stop, stop, __ATOMIC_SEQ_CST);
}

/* A batch in every queue, all of it behind the gate. The one before must have ended. */
static long put(struct gp_selftest_kernel_work *work)
{
	set_stop(work, 0);
	work->hsa.signal_store(work->gate, 1);
	for (uint32_t q = 0; q < work->queue_count; q++) {
		for (int i = 0; i < PACKETS; i++)
			work->hsa.signal_store(work->done[q][i], 1);
		for (int i = 0; i < PACKETS; i++)
			submit(work, q, i);
	}
	work->submitted++;
	return (long)work->queue_count * PACKETS;
}

/* Everything may run to its end. */
static long open_gate(struct gp_selftest_kernel_work *work)
{
	set_stop(work, 1);
	work->hsa.signal_store(work->gate, 0);
	return 0;
}

/* How many packets have completed. Read from the last: those before a complete one must be, too. */
static long look(struct gp_selftest_kernel_work *work)
{
	long count = 0;

	for (uint32_t q = 0; q < work->queue_count; q++) {
		bool later = false;

		for (int i = PACKETS - 1; i >= 0; i--) {
			int64_t value = work->hsa.signal_load(work->done[q][i]);

			if (value != 0 && value != 1)
				return gp_selftest_work_fail(
					work, "packet %d of queue %u completed %lld times", i, q,
					(long long)(1 - value));
			if (value == 1 && later)
				return gp_selftest_work_fail(
					work, "a later packet overtook packet %d of queue %u", i,
					q);
			if (value == 0)
				later = true;
			count += value == 0;
		}
	}
	return count;
}

/* Until that packet of every queue has completed. */
static long wait_for(struct gp_selftest_kernel_work *work, int packet)
{
	time_t begin = time(NULL);

	for (uint32_t q = 0; q < work->queue_count; q++) {
		/* Ticks are of an unknown clock: short waits, and our own time. */
		while (work->hsa.signal_wait(work->done[q][packet], GP_HSA_LESS, 1, 10000000,
					     GP_HSA_BLOCKED) > 0) {
			if (look(work) < 0)
				return -1;
			if (time(NULL) - begin > WAIT_S)
				return gp_selftest_work_fail(work,
							     "queue %u did not finish within %d s",
							     q, WAIT_S);
		}
	}
	return 0;
}

/* The first kernel of each queue runs when this is answered, and goes on until the gate is opened.
 */
static long run(struct gp_selftest_kernel_work *work)
{
	work->hsa.signal_store(work->gate, 0);
	return wait_for(work, 0);
}

static long finish(struct gp_selftest_kernel_work *work)
{
	open_gate(work);
	if (wait_for(work, PACKETS - 1) < 0)
		return -1;
	for (uint32_t q = 0; q < work->queue_count; q++) {
		uint64_t read = work->hsa.queue_read_index(work->queues[q]);

		if (read > work->submitted * PACKETS)
			return gp_selftest_work_fail(
				work,
				"queue %u consumed %llu packets, but only %llu were submitted", q,
				(unsigned long long)read,
				(unsigned long long)(work->submitted * PACKETS));
	}
	return gp_selftest_work_check(work) < 0 ? -1 : look(work);
}

static void answer(struct gp_selftest_kernel_work *work, long result)
{
	if (result < 0)
		printf("bad %s\n", work->error);
	else
		printf("ok %ld\n", result);
	fflush(stdout);
}

static void introduce(const struct gp_selftest_kernel_work *work)
{
	static const char *const sources[] = {"barriers", "kernel", "hiprtc"};

	printf("ok %u %s %s\n", work->queue_count, sources[work->kernel.source], work->kernel.why);
	fflush(stdout);
}

static bool obey(struct gp_selftest_kernel_work *work, char command)
{
	switch (command) {
	case 'p':
		answer(work, put(work));
		return true;
	case 'g':
		answer(work, open_gate(work));
		return true;
	case 'r':
		answer(work, run(work));
		return true;
	case 'l':
		answer(work, look(work));
		return true;
	case 'f':
		answer(work, finish(work));
		return true;
	case 'd':
	case 's':
		answer(work, gp_selftest_work_packet_ns(work, command == 's'));
		return true;
	case 'u':
		answer(work, work->doubt);
		return true;
	case 'w':
		answer(work, gp_selftest_work_submit(work));
		/* From here on, whatever is asked next: the packet may end before that is. */
		gp_selftest_work_watch(work);
		return true;
	case 'a':
		answer(work, work->done_at);
		return true;
	case 'q':
		answer(work, gp_selftest_work_create_ns(work));
		return true;
	case 'b':
	case 'B':
		answer(work, gp_selftest_work_crowd(work, command == 'B'));
		return true;
	case 'k':
		answer(work, gp_selftest_work_crowd_runs(work));
		return true;
	case 'v':
		answer(work, gp_selftest_work_group_bytes(work));
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	static struct gp_selftest_kernel_work work; /* too large for a small stack */
	char command;

	if (argc == 3 && strcmp(argv[1], "--compile") == 0)
		_exit(gp_selftest_work_compile(argv[2])); /* without the exit handlers of HIP */
	if (argc != 3 && argc != 4)
		return 2;
	work.is_virtual = argc == 4;
	work.node = (uint32_t)strtoul(argv[1], NULL, 10);
	work.queue_count = (uint32_t)strtoul(argv[2], NULL, 10);
	if (!work.queue_count || work.queue_count > GP_WORK_QUEUES)
		return 2;
	if (prepare(&work) < 0) {
		answer(&work, -1);
		return 1;
	}
	introduce(&work);
	while (read(STDIN_FILENO, &command, 1) == 1 && obey(&work, command))
		;
	open_gate(&work);
	/* The queues end with the process: see gp_selftest_work_create_ns(). hsa_shut_down()
	 * destroys queues of its own while ours exist. */
	return 0;
}
