// SPDX-License-Identifier: MIT
/* SET_CU_MASK, GET_QUEUE_WAVE_STATE and ALLOC_QUEUE_GWS. */
#include <errno.h>
#include <stdlib.h>

#include "vgpu/server/state.h"

/*
 * The driver deals the bits out to the XCCs in turn, so that a mask is as balanced as it can be:
 * the model numbers its CUs that way. Whatever is presented, it has the chip's own XCCs.
 */
static void map_mask(struct gp_vgpu_queue *queue, const u32 *words, u32 bits)
{
	const struct gp_model_chip *chip = &queue->device->file.chip;
	u32 total = GP_MIN(chip->xcc_count * chip->cu_per_xcc, (u32)GP_MODEL_MAX_CU);

	memset(queue->cu_mask, 0, sizeof(queue->cu_mask));
	for (u32 i = 0; i < GP_MIN(bits, total); i++)
		if (words[i / 32] >> i % 32 & 1)
			queue->cu_mask[i / 64] |= 1ull << i % 64;
}

int gp_vgpu_serve_set_cu_mask(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	const struct gp_kfd_set_cu_mask_args *args = GP_VGPU_ARGS(request, gp_kfd_set_cu_mask_args);
	u32 bits = GP_MIN(args->num_cu_mask, (u32)GP_KFD_MAX_CU_MASK);
	u32 words[GP_KFD_MAX_CU_MASK / 32];
	struct gp_vgpu_queue *queue;

	if (args->num_cu_mask % 32 || !args->num_cu_mask)
		return -EINVAL;
	if (request->header.flags & (GP_VGPU_NULL_ARRAY | GP_VGPU_BAD_ARRAY) ||
	    request->header.payload_size < bits / 8)
		return -EFAULT;
	queue = gp_vgpu_queue(request->owner, args->queue_id);
	if (!queue)
		return -EFAULT;
	memcpy(words, request->payload, bits / 8);
	if (!gp_vgpu_is_sdma(queue->args.queue_type))
		map_mask(queue, words, bits);
	return gp_vgpu_queue_update(server, queue, request);
}

/* What one XCC's area holds; the model knows the whole, the XCCs are equal. */
struct used {
	u32 ctl_stack, waves;
};

static struct used used_of(const struct gp_vgpu_server *server, const struct gp_vgpu_queue *queue)
{
	const struct gp_vgpu_gpu *gpu = &queue->device->file.gpu;
	struct gp_model_queue_state state = {0};
	u32 xccs = GP_MAX(gpu->xcc_count, 1u);
	u64 stack;

	if (server->options.compute && queue->process->shared) {
		const struct gp_vgpu_mirror *mirror = &queue->process->shared->mirrors[queue->id];

		return (struct used){.ctl_stack = mirror->saved_stack,
				     .waves = mirror->saved_waves};
	}
	(void)gp_model_queue_state(queue->device->model, queue->model_queue, &state);
	stack = (u64)state.saved_waves / xccs * GP_KFD_CTL_WAVE_BYTES;
	return (struct used){
		.ctl_stack = (u32)GP_MIN(stack, (u64)queue->args.ctl_stack_size),
		.waves = (u32)GP_MIN(state.saved_bytes / xccs, (u64)UINT32_MAX / 2),
	};
}

/*
 * The control stack of one XCC: eight bytes for each saved wave, here its number and where its
 * state begins. (The states themselves are the hardware's to write. Where clients execute kernels
 * they have written the stack as well.)
 */
static void save_stack(struct gp_vgpu_server *server, const struct gp_vgpu_queue *queue,
		       struct used used, u64 address)
{
	u32 waves = used.ctl_stack / GP_KFD_CTL_WAVE_BYTES, *stack;

	if (!waves || server->options.compute)
		return;
	stack = calloc(waves, GP_KFD_CTL_WAVE_BYTES);
	if (!stack)
		return;
	for (u32 i = 0; i < waves; i++) {
		stack[i * 2] = i;
		stack[i * 2 + 1] = queue->args.ctl_stack_size + i * (used.waves / waves);
	}
	server->host.write(server->host.context, queue->process->pid,
			   address + queue->args.ctl_stack_size - used.ctl_stack, stack,
			   (size_t)waves * GP_KFD_CTL_WAVE_BYTES);
	free(stack);
}

void gp_vgpu_save_headers(struct gp_vgpu_server *server, const struct gp_vgpu_queue *queue,
			  u64 address)
{
	struct used used = used_of(server, queue);
	struct gp_kfd_context_save_area_header header = {
		.wave_state =
			{
				/* The stack grows down from its end, the waves up from there. */
				.control_stack_offset = queue->args.ctl_stack_size - used.ctl_stack,
				.control_stack_size = used.ctl_stack,
				.wave_state_offset = queue->args.ctl_stack_size + used.waves,
				.wave_state_size = used.waves,
			},
	};

	if (!address || gp_vgpu_is_sdma(queue->args.queue_type) || !server->host.write)
		return;
	if (server->options.compute && address == queue->args.ctx_save_restore_address)
		return; /* its client has */
	for (u32 xcc = 0; xcc < queue->device->file.gpu.xcc_count; xcc++) {
		u64 area = address + (u64)xcc * queue->args.ctx_save_restore_size;

		server->host.write(server->host.context, queue->process->pid, area,
				   &header.wave_state, sizeof(header.wave_state));
		save_stack(server, queue, used, area);
	}
}

int gp_vgpu_serve_wave_state(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_kfd_get_queue_wave_state_args *args =
		GP_VGPU_ARGS(request, gp_kfd_get_queue_wave_state_args);
	struct gp_vgpu_queue *queue = gp_vgpu_queue(request->owner, args->queue_id);
	struct used used;

	if (!queue)
		return -EFAULT;
	if (gp_vgpu_is_sdma(queue->args.queue_type) || gp_vgpu_queue_active(queue))
		return -EINVAL;
	used = used_of(server, queue);
	args->ctl_stack_used_size = used.ctl_stack;
	args->save_area_used_size = used.waves;
	gp_vgpu_save_headers(server, queue, args->ctl_stack_address);
	return 0;
}

static struct gp_vgpu_queue *gws_holder(struct gp_vgpu_process *process,
					const struct gp_vgpu_device *device)
{
	for (struct gp_vgpu_queue *queue = process->newest; queue; queue = queue->older)
		if (queue->gws && queue->device == device)
			return queue;
	return NULL;
}

/* Whether a process may hold GWS and have a debugger (Linux 6.12 amdkfd, kfd_debug.h). */
static bool debugs_gws(const struct gp_vgpu_device *device)
{
	u32 gfx = device->file.gpu.gfx_version, firmware = device->file.mec_firmware;

	if (gfx == 90000)
		return firmware >= 0x81b6;
	if (gfx < 90008)
		return firmware >= 0x1b6;
	return gfx != 90008 || firmware >= 0x30;
}

int gp_vgpu_debug_possible(struct gp_vgpu_server *server, struct gp_vgpu_process *target)
{
	for (u32 i = 0; i < server->device_count; i++) {
		const struct gp_vgpu_device *device = &server->devices[i];

		if (gws_holder(target, device) && !debugs_gws(device))
			return -EBUSY;
	}
	return 0;
}

int gp_vgpu_serve_alloc_gws(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_kfd_alloc_queue_gws_args *args =
		GP_VGPU_ARGS(request, gp_kfd_alloc_queue_gws_args);
	struct gp_vgpu_queue *queue = gp_vgpu_queue(request->owner, args->queue_id);
	struct gp_vgpu_queue *holder;

	if (!queue)
		return -EINVAL;
	if (server->options.policy == GP_POLICY_NO_HWS)
		return -ENODEV;
	if (request->owner->debug.enabled && !debugs_gws(queue->device))
		return -EBUSY;
	holder = gws_holder(request->owner, queue->device);
	if (args->num_gws && holder)
		return -EBUSY; /* one queue of a process at a time */
	if (!args->num_gws && !holder)
		return -EINVAL;
	queue->gws = args->num_gws != 0;
	if (!args->num_gws)
		holder->gws = false;
	args->first_gws = 0;
	return gp_vgpu_queue_update(server, queue, request);
}
