// SPDX-License-Identifier: MIT
/*
 * What a packet costs in the model: empty kernels of one workgroup, each queue kept a few packets
 * deep, 1 to 4096 queues, all mapped. Prints nanoseconds of this machine per packet.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model/model.h"

#define DEPTH 4

static u64 clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

static struct gp_model_config config_for(u32 queues)
{
	return (struct gp_model_config){
		.chip = {.xcc_count = 4,
			 .cu_per_xcc = 20,
			 .simd_per_cu = 4,
			 .waves_per_simd = 8,
			 .wave_size = 64,
			 .vgpr_per_simd = 512,
			 .lds_per_cu = 65536,
			 .slots = 4096,
			 .vmids = 13,
			 .quantum_ns = 10000000,
			 .dispatch_ns = 1000,
			 .complete_ns = 500,
			 .save_bytes_per_us = 100000,
			 .restore_bytes_per_us = 100000,
			 .clock_khz = 2100000},
		.max_processes = 1,
		.max_queues = queues,
		.max_work = queues * DEPTH,
	};
}

/* Nanoseconds per packet, or 0 when something is wrong. */
static double measure(u32 queues, u64 packets)
{
	static const struct gp_model_work work = {.kernel = true,
						  .barrier = true,
						  .workgroups = 1,
						  .waves_per_workgroup = 1,
						  .vgprs = 32,
						  .workgroup_ns = 2000};
	struct gp_model_config config = config_for(queues);
	struct gp_model_queue_config queue_config = {.priority = 7, .enabled = true};
	size_t size = gp_model_memory(&config);
	void *memory = malloc(size);
	struct gp_model_action action;
	struct gp_model *model;
	u64 completed = 0, start = 0, now = 0;
	u32 process, queue;

	if (!memory || gp_model_init(&model, memory, size, &config) ||
	    gp_model_process_add(model, &process))
		return 0;
	for (u32 i = 0; i < queues; i++)
		if (gp_model_queue_add(model, process, &queue_config, &queue))
			return 0;
	if (gp_model_runlist_update(model, 0, 0, 1))
		return 0;
	for (u32 i = 0; i < queues * DEPTH; i++)
		if (gp_model_submit(model, 0, i % queues, &work))
			return 0;
	while (completed < packets + packets / 4 &&
	       (now = gp_model_next(model)) != GP_MODEL_NEVER) {
		gp_model_advance(model, now);
		while (gp_model_take(model, &action)) {
			if (action.kind != GP_MODEL_COMPLETED)
				continue;
			if (++completed == packets / 4) /* caches are warm, clocks are up */
				start = clock_ns();
			if (gp_model_submit(model, now, action.queue, &work))
				return 0;
		}
	}
	start = clock_ns() - start;
	free(memory);
	return (double)start / (double)(completed - packets / 4);
}

int main(void)
{
	printf("model, ns per packet (empty kernel, 80 CUs)\n");
	for (u32 queues = 1; queues <= 4096; queues *= 4)
		printf("%6u queues %8.0f\n", queues, measure(queues, 400000));
	return 0;
}
