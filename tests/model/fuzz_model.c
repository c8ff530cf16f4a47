// SPDX-License-Identifier: MIT
/*
 * Bytes in, calls out: every function of the model with arbitrary arguments, bad handles included.
 * It must not crash, and its invariants hold after every call. Time moves in bounded steps: how
 * much happens in a stretch of it is the caller's choice, not a fault.
 */
#include "model/state.h"

#include <stdlib.h>

struct input {
	const u8 *at, *end;
};

static u64 number(struct input *in, u32 bytes)
{
	u64 value = 0;

	for (; bytes && in->at < in->end; bytes--)
		value = value << 8 | *in->at++;
	return value;
}

/* Mostly small, sometimes anything. */
static u64 odd_number(struct input *in)
{
	u32 how = (u32)number(in, 1);

	return how < 160 ? how : number(in, how < 200 ? 2 : how < 250 ? 4 : 8);
}

static struct gp_model_config make_config(struct input *in)
{
	struct gp_model_config config = {
		.chip = {.xcc_count = (u32)number(in, 1) % 9,
			 .cu_per_xcc = (u32)number(in, 1) % 20,
			 .simd_per_cu = 4,
			 .waves_per_simd = 8,
			 .wave_size = 64,
			 .vgpr_per_simd = 512,
			 .lds_per_cu = 65536,
			 .slots = (u32)number(in, 1) % 6,
			 .vmids = (u32)number(in, 1) % 4,
			 .sdma_engines = (u32)number(in, 1) % 3,
			 .sdma_queues_per_engine = 2,
			 .quantum_ns = number(in, 2) + 1000,
			 .dispatch_ns = number(in, 1),
			 .complete_ns = number(in, 1),
			 .unmap_ns = number(in, 1),
			 .unmap_queue_ns = number(in, 1),
			 .map_ns = number(in, 1),
			 .map_queue_ns = number(in, 1),
			 .save_ns = number(in, 1),
			 .restore_ns = number(in, 1),
			 .save_bytes_per_us = odd_number(in),
			 .restore_bytes_per_us = odd_number(in),
			 .wave_fixed_bytes = (u32)odd_number(in),
			 .clock_khz = 1000 + odd_number(in),
			 .sdma_bytes_per_us = odd_number(in),
			 .sdma_packet_ns = number(in, 1),
			 .contention_permille = (u32)number(in, 2),
			 .jitter_permille = (u32)number(in, 2)},
		.max_processes = (u32)number(in, 1) % 8,
		.max_queues = (u32)number(in, 1) % 12,
		.max_work = (u32)number(in, 1) % 64,
		.seed = number(in, 8),
	};

	return config;
}

static struct gp_model_queue_config make_queue(struct input *in)
{
	u32 flags = (u32)number(in, 1);
	struct gp_model_queue_config config = {
		.type = (enum gp_model_queue_type)(flags >> 1 & 3),
		.engine = flags >> 3 & 3,
		.priority = (u32)number(in, 1) % 20,
		.enabled = flags & 1,
	};

	if (flags & 0x80)
		for (u32 i = 0; i < GP_MODEL_CU_WORDS; i++)
			config.cu_mask[i] = number(in, 2);
	return config;
}

static struct gp_model_work make_work(struct input *in)
{
	u32 flags = (u32)number(in, 1);

	return (struct gp_model_work){
		.tag = number(in, 1),
		.barrier = flags & 1,
		.kernel = flags & 6,
		.workgroups = odd_number(in),
		.waves_per_workgroup = (u32)odd_number(in),
		.vgprs = (u32)odd_number(in),
		.lds_bytes = (u32)odd_number(in),
		.workgroup_ns = odd_number(in),
		.bytes = odd_number(in),
	};
}

static void step(struct gp_model *model, struct input *in, u64 *now)
{
	struct gp_model_queue_config queue_config;
	struct gp_model_queue_state state;
	struct gp_model_action action;
	struct gp_model_work work;
	u32 call = (u32)number(in, 1), handle = (u32)number(in, 1), out;

	if (handle < 224)
		handle %= 8;
	else
		handle = (u32)number(in, 4);
	switch (call % 14) {
	case 0:
		gp_model_process_add(model, &out);
		break;
	case 1:
		gp_model_process_remove(model, handle);
		break;
	case 2:
		queue_config = make_queue(in);
		gp_model_queue_add(model, handle, &queue_config, &out);
		break;
	case 3:
		queue_config = make_queue(in);
		gp_model_queue_set(model, handle, &queue_config);
		break;
	case 4:
		gp_model_queue_remove(model, handle, &out);
		break;
	case 5:
	case 6:
		work = make_work(in);
		gp_model_submit(model, *now, handle, &work);
		break;
	case 7:
		gp_model_runlist_update(model, *now, (u32)odd_number(in), number(in, 1));
		break;
	case 8:
	case 9:
		*now += number(in, 2);
		gp_model_advance(model, *now);
		break;
	case 10:
		for (u32 i = (u32)number(in, 1); i && gp_model_take(model, &action); i--)
			;
		break;
	case 11:
		gp_model_queue_state(model, handle, &state);
		gp_model_advance(model, handle % 65536); /* usually long ago */
		break;
	case 12:
		gp_model_queue_abandon(model, handle);
		break;
	case 13:
		*now += number(in, 2);
		out = handle % 64;
		gp_model_advance_some(model, *now, &out);
		break;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = {data, data + size};
	struct gp_model_config config = make_config(&in);
	size_t need = gp_model_memory(&config);
	struct gp_model *model;
	void *memory;
	u64 now = 0;

	if (!need)
		return 0;
	memory = malloc(need);
	if (!memory || gp_model_init(&model, memory, need, &config))
		__builtin_trap();
	for (u32 i = 0; i < 300 && in.at < in.end; i++) {
		step(model, &in, &now);
		if (gp_model_check(model))
			__builtin_trap();
	}
	free(memory);
	return 0;
}
