/*
 * gpreempt-selftest-work NODE QUEUES: the GPU program that `gpreempt selftest` stops and continues.
 * It makes queues and submits barrier packets, each with a completion signal of its own, the first
 * of each queue behind a gate that the CPU opens. A packet that completes before an earlier one of
 * its queue, twice or never is an error. One letter on stdin is a command, one line on stdout its
 * answer: "ok NUMBER" or "bad SENTENCE". It ends when stdin does.
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
#include "selftest/hsa.h"

#define QUEUES_MAX    64
#define PACKETS       16 /* of one batch in each queue */
#define RING_PACKETS  64
#define WAIT_S        120

#define SYSTEM_FENCES (2u << 9 | 2u << 11)

struct work {
	struct gp_hsa hsa;
	uint32_t node, queue_count;
	uint64_t gpu, gate;
	struct gp_hsa_queue *queues[QUEUES_MAX];
	uint64_t done[QUEUES_MAX][PACKETS];
	uint64_t submitted; /* batches */
	char error[256];
};

__attribute__((format(printf, 2, 3))) static long fail(struct work *work, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(work->error, sizeof(work->error), format, args);
	va_end(args);
	return -1;
}

static long fail_hsa(struct work *work, const char *call, int status)
{
	const char *text = NULL;

	if (work->hsa.status_string(status, &text) || !text)
		text = "?";
	return fail(work, "%s: %.200s (0x%x)", call, text, (unsigned int)status);
}

/* ---- the runtime ---- */

static long load(struct work *work)
{
	struct gp_hsa *hsa = &work->hsa;
	const struct {
		void *function; /* where its address goes */
		const char *name;
	} names[] = {
		{&hsa->init, "hsa_init"},
		{&hsa->shut_down, "hsa_shut_down"},
		{&hsa->status_string, "hsa_status_string"},
		{&hsa->iterate_agents, "hsa_iterate_agents"},
		{&hsa->agent_get_info, "hsa_agent_get_info"},
		{&hsa->queue_create, "hsa_queue_create"},
		{&hsa->queue_destroy, "hsa_queue_destroy"},
		{&hsa->queue_add_write_index, "hsa_queue_add_write_index_screlease"},
		{&hsa->queue_read_index, "hsa_queue_load_read_index_scacquire"},
		{&hsa->signal_create, "hsa_signal_create"},
		{&hsa->signal_load, "hsa_signal_load_scacquire"},
		{&hsa->signal_store, "hsa_signal_store_screlease"},
		{&hsa->signal_wait, "hsa_signal_wait_scacquire"},
	};
	void *library = dlopen(GP_HSA_LIBRARY, RTLD_NOW);

	/* Not in the linker's list: where AMD's packages put it. */
	if (!library)
		library = dlopen("/opt/rocm/lib/" GP_HSA_LIBRARY, RTLD_NOW);
	if (!library)
		return fail(work, "no ROCm runtime: %s", dlerror());
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *found = dlsym(library, names[i].name);

		if (!found)
			return fail(work, GP_HSA_LIBRARY " has no %s", names[i].name);
		memcpy(names[i].function, &found, sizeof(found));
	}
	return 0;
}

static int take_agent(uint64_t agent, void *data)
{
	struct work *work = data;
	uint32_t type = 0, node = 0;

	if (!work->hsa.agent_get_info(agent, GP_HSA_INFO_DEVICE, &type) &&
	    !work->hsa.agent_get_info(agent, GP_HSA_INFO_NODE, &node) &&
	    type == GP_HSA_DEVICE_GPU && node == work->node)
		work->gpu = agent;
	return 0;
}

static long make_queue(struct work *work, uint32_t index)
{
	struct gp_hsa *hsa = &work->hsa;
	int status = hsa->queue_create(work->gpu, RING_PACKETS, GP_HSA_QUEUE_MULTI, NULL, NULL,
				       UINT32_MAX, UINT32_MAX, &work->queues[index]);

	if (status)
		return fail_hsa(work, "hsa_queue_create", status);
	for (int i = 0; i < PACKETS; i++) {
		status = hsa->signal_create(0, 0, NULL, &work->done[index][i]);
		if (status)
			return fail_hsa(work, "hsa_signal_create", status);
	}
	return 0;
}

static long prepare(struct work *work)
{
	int status;

	if (load(work) < 0)
		return -1;
	status = work->hsa.init();
	if (status)
		return fail_hsa(work, "hsa_init", status);
	status = work->hsa.iterate_agents(take_agent, work);
	if (status)
		return fail_hsa(work, "hsa_iterate_agents", status);
	if (!work->gpu)
		return fail(work,
			    "the ROCm runtime does not show GPU node %u; is it hidden by "
			    "ROCR_VISIBLE_DEVICES?",
			    work->node);
	status = work->hsa.signal_create(0, 0, NULL, &work->gate);
	if (status)
		return fail_hsa(work, "hsa_signal_create", status);
	for (uint32_t i = 0; i < work->queue_count; i++)
		if (make_queue(work, i) < 0)
			return -1;
	return work->queue_count;
}

/* ---- the work ---- */

static void submit(struct work *work, uint32_t index, int packet)
{
	struct gp_hsa_queue *queue = work->queues[index];
	struct gp_aql_barrier barrier = {
		.header = GP_AQL_BARRIER_AND | GP_AQL_HEADER_BARRIER | SYSTEM_FENCES,
		.completion_signal = work->done[index][packet],
	};
	uint64_t at = work->hsa.queue_add_write_index(queue, 1);
	char *slot = (char *)queue->base + at % queue->size * GP_AQL_PACKET_BYTES;
	uint32_t first;

	if (packet == 0)
		barrier.dependencies[0] = work->gate;
	memcpy(&first, &barrier, sizeof(first));
	memcpy(slot + sizeof(first), (char *)&barrier + sizeof(first),
	       sizeof(barrier) - sizeof(first));
	/* The header last: until then the packet processor takes the slot for empty. */
	__atomic_store_n((uint32_t *)slot, first, __ATOMIC_RELEASE);
	work->hsa.signal_store(queue->doorbell, (int64_t)at);
}

/* A batch in every queue, all of it behind the gate. The one before must have ended. */
static long put(struct work *work)
{
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

static long open_gate(struct work *work)
{
	work->hsa.signal_store(work->gate, 0);
	return 0;
}

/* How many packets have completed. Read from the last: those before a complete one must be, too. */
static long look(struct work *work)
{
	long count = 0;

	for (uint32_t q = 0; q < work->queue_count; q++) {
		bool later = false;

		for (int i = PACKETS - 1; i >= 0; i--) {
			int64_t value = work->hsa.signal_load(work->done[q][i]);

			if (value != 0 && value != 1)
				return fail(work, "packet %d of queue %u completed %lld times", i,
					    q, (long long)(1 - value));
			if (value == 1 && later)
				return fail(work, "packet %d of queue %u was passed by a later one",
					    i, q);
			if (value == 0)
				later = true;
			count += value == 0;
		}
	}
	return count;
}

static long finish(struct work *work)
{
	time_t begin = time(NULL);

	for (uint32_t q = 0; q < work->queue_count; q++) {
		/* Ticks are of an unknown clock: short waits, and our own time. */
		while (work->hsa.signal_wait(work->done[q][PACKETS - 1], GP_HSA_LESS, 1, 10000000,
					     GP_HSA_BLOCKED) > 0) {
			if (look(work) < 0)
				return -1;
			if (time(NULL) - begin > WAIT_S)
				return fail(work, "queue %u did not finish within %d s", q, WAIT_S);
		}
	}
	for (uint32_t q = 0; q < work->queue_count; q++) {
		uint64_t read = work->hsa.queue_read_index(work->queues[q]);

		if (read > work->submitted * PACKETS)
			return fail(work, "queue %u took %llu packets of %llu", q,
				    (unsigned long long)read,
				    (unsigned long long)(work->submitted * PACKETS));
	}
	return look(work);
}

static void answer(struct work *work, long result)
{
	if (result < 0)
		printf("bad %s\n", work->error);
	else
		printf("ok %ld\n", result);
	fflush(stdout);
}

static bool obey(struct work *work, char command)
{
	switch (command) {
	case 'p':
		answer(work, put(work));
		return true;
	case 'g':
		answer(work, open_gate(work));
		return true;
	case 'l':
		answer(work, look(work));
		return true;
	case 'f':
		answer(work, finish(work));
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	static struct work work; /* too large for a small stack */
	char command;
	long ready;

	if (argc != 3)
		return 2;
	work.node = (uint32_t)strtoul(argv[1], NULL, 10);
	work.queue_count = (uint32_t)strtoul(argv[2], NULL, 10);
	if (!work.queue_count || work.queue_count > QUEUES_MAX)
		return 2;
	ready = prepare(&work);
	answer(&work, ready);
	if (ready < 0)
		return 1;
	while (read(STDIN_FILENO, &command, 1) == 1 && obey(&work, command))
		;
	open_gate(&work);
	for (uint32_t q = 0; q < work.queue_count; q++)
		work.hsa.queue_destroy(work.queues[q]);
	return work.hsa.shut_down() ? 1 : 0;
}
