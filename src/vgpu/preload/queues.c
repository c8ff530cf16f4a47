// SPDX-License-Identifier: MIT
/*
 * CREATE, UPDATE, DESTROY and SET_CU_MASK. The server owns the queues; the command processor gets a
 * queue after the server made it and loses it after the server destroyed it. In between the CP may
 * still submit packets of a destroyed queue, which the server drops.
 */
#include "vgpu/cp/cp.h"
#include "vgpu/preload/parts.h"

#include <errno.h>

#include "vgpu/ioctls.h"
#include "vgpu/heap.h"

struct entry {
	bool used;
	struct gp_vgpu_cp_queue queue;
	u64 eop;
};

struct gp_vgpu_queues {
	pthread_mutex_t lock;
	pthread_cond_t freed; /* an entry became unused */
	struct entry entries[GP_VGPU_MAX_QUEUES];
	u32 count;
};

struct gp_vgpu_queues *gp_vgpu_queues_create(void)
{
	struct gp_vgpu_queues *queues = gp_vgpu_alloc(sizeof(*queues));

	if (!queues)
		return NULL;
	pthread_mutex_init(&queues->lock, NULL);
	pthread_cond_init(&queues->freed, NULL);
	return queues;
}

bool gp_vgpu_queues_any(struct gp_vgpu_client *client)
{
	bool any;

	pthread_mutex_lock(&client->queues->lock);
	any = client->queues->count > 0;
	pthread_mutex_unlock(&client->queues->lock);
	return any;
}

bool gp_vgpu_queues_use(struct gp_vgpu_client *client, u32 gpu_index, u64 start, u64 size)
{
	struct gp_vgpu_queues *queues = client->queues;
	bool use = false;

	pthread_mutex_lock(&queues->lock);
	for (u32 id = 0, seen = 0; !use && seen < queues->count && id < GP_VGPU_MAX_QUEUES; id++) {
		const struct entry *entry = &queues->entries[id];
		const u64 buffers[] = {entry->queue.ring, entry->queue.read_pointer,
				       entry->queue.write_pointer, entry->queue.save_area,
				       entry->eop};

		seen += entry->used;
		for (size_t i = 0; entry->used && i < GP_ARRAY_SIZE(buffers); i++)
			use |= entry->queue.gpu_index == gpu_index && buffers[i] &&
			       buffers[i] - start < size;
	}
	pthread_mutex_unlock(&queues->lock);
	return use;
}

/* kfd_queue_acquire_buffers(): every buffer must be exactly one mapping of this GPU. */
static int check_buffers(struct gp_vgpu_client *client, const struct gp_kfd_create_queue_args *args,
			 u32 gpu_index)
{
	const struct gp_vgpu_gpu *gpu = &client->machine.gpus[gpu_index];
	u32 id = args->gpu_id;
	u64 area;

	if (!gp_vgpu_is_allocation(client, id, args->write_pointer_address, GP_KFD_PAGE) ||
	    !gp_vgpu_is_allocation(client, id, args->read_pointer_address, GP_KFD_PAGE) ||
	    !gp_vgpu_is_allocation(client, id, args->ring_base_address, args->ring_size))
		return -EINVAL;
	if (gp_vgpu_is_sdma(args->queue_type))
		return 0;
	if (gp_vgpu_check_buffer_sizes(gpu, args))
		return -EINVAL;
	if (args->eop_buffer_address &&
	    !gp_vgpu_is_allocation(client, id, args->eop_buffer_address, args->eop_buffer_size))
		return -EINVAL;
	area = ((u64)args->ctx_save_restore_size + gpu->debug_bytes) * gpu->xcc_count;
	area = (area + GP_KFD_PAGE - 1) & ~(u64)(GP_KFD_PAGE - 1);
	if (!gp_vgpu_is_allocation(client, id, args->ctx_save_restore_address, area) &&
	    !gp_vgpu_svm_covers(client, gpu_index, args->ctx_save_restore_address, area))
		return -EINVAL;
	return 0;
}

/* ---- CREATE ---- */

static int destroy_at_server(struct gp_vgpu_client *client, u32 id)
{
	struct gp_kfd_destroy_queue_args args = {.queue_id = id};

	return gp_vgpu_forward(client, _IOC_NR(GP_KFD_IOC_DESTROY_QUEUE), &args, sizeof(args));
}

/* The server may give an id out again before the thread that destroyed it has removed it from the
 * CP. */
static void enter(struct gp_vgpu_queues *queues, const struct gp_vgpu_cp_queue *queue, u64 eop)
{
	struct entry *entry = &queues->entries[queue->id];

	pthread_mutex_lock(&queues->lock);
	while (entry->used)
		pthread_cond_wait(&queues->freed, &queues->lock);
	*entry = (struct entry){.used = true, .queue = *queue, .eop = eop};
	queues->count++;
	pthread_mutex_unlock(&queues->lock);
}

static bool leave(struct gp_vgpu_queues *queues, u32 id)
{
	bool used;

	if (id >= GP_VGPU_MAX_QUEUES)
		return false;
	pthread_mutex_lock(&queues->lock);
	used = queues->entries[id].used;
	queues->entries[id].used = false;
	queues->count -= used;
	pthread_cond_broadcast(&queues->freed);
	pthread_mutex_unlock(&queues->lock);
	return used;
}

int gp_vgpu_ioctl_create_queue(struct gp_vgpu_client *client, void *data)
{
	struct gp_kfd_create_queue_args *args = data;
	struct gp_vgpu_cp_queue queue;
	u32 gpu;
	int error = gp_vgpu_check_create(client->machine.kfd_minor, args);

	if (!error)
		error = gp_vgpu_bound_gpu(client, args->gpu_id, -ESRCH, &gpu);
	if (!error && client->machine.strict)
		error = check_buffers(client, args, gpu);
	if (!error)
		error = gp_vgpu_forward(client, _IOC_NR(GP_KFD_IOC_CREATE_QUEUE), args,
					sizeof(*args));
	if (error)
		return error;
	if (args->queue_id >= GP_VGPU_MAX_QUEUES)
		return -EPROTO;
	queue = (struct gp_vgpu_cp_queue){
		.id = args->queue_id,
		.gpu_index = gpu,
		.type = args->queue_type,
		.ring = args->ring_base_address,
		.ring_bytes = args->ring_size,
		.read_pointer = args->read_pointer_address,
		.write_pointer = args->write_pointer_address,
		.save_area = args->ctx_save_restore_address,
		.save_bytes = args->ctx_save_restore_size,
		.stack_bytes = args->ctl_stack_size,
		.doorbell_slot =
			(u32)(args->doorbell_offset & (GP_KFD_DOORBELL_SLICE - 1)) / sizeof(u64),
	};
	args->doorbell_offset = GP_KFD_MMAP_DOORBELL << GP_KFD_MMAP_TYPE_SHIFT |
				(u64)args->gpu_id << GP_KFD_MMAP_GPU_ID_SHIFT |
				queue.doorbell_slot * sizeof(u64);
	enter(client->queues, &queue, args->eop_buffer_address);
	error = gp_vgpu_cp_add(client, &queue);
	if (error) {
		(void)destroy_at_server(client, queue.id);
		leave(client->queues, queue.id);
	}
	return error;
}

/* ---- UPDATE, DESTROY, SET_CU_MASK ---- */

int gp_vgpu_ioctl_update_queue(struct gp_vgpu_client *client, void *data)
{
	struct gp_kfd_update_queue_args *args = data;
	struct gp_vgpu_queues *queues = client->queues;
	struct gp_vgpu_cp_queue queue;
	bool known;
	int error =
		gp_vgpu_check_ring(client->machine.kfd_minor, args->queue_percentage,
				   args->queue_priority, args->ring_base_address, &args->ring_size);

	if (error)
		return error;
	pthread_mutex_lock(&queues->lock);
	known = args->queue_id < GP_VGPU_MAX_QUEUES && queues->entries[args->queue_id].used;
	if (known)
		queue = queues->entries[args->queue_id].queue;
	pthread_mutex_unlock(&queues->lock);
	if (!known)
		return -EFAULT;
	/* The ring may only be named again, never moved; address 0 stops the queue. */
	if (client->machine.strict && args->ring_base_address &&
	    (args->ring_base_address != queue.ring ||
	     !gp_vgpu_is_allocation(client, client->machine.gpus[queue.gpu_index].gpu_id,
				    args->ring_base_address, args->ring_size)))
		return -EFAULT;
	error = gp_vgpu_forward(client, _IOC_NR(GP_KFD_IOC_UPDATE_QUEUE), args, sizeof(*args));
	if (error || !args->ring_base_address ||
	    (args->ring_base_address == queue.ring && args->ring_size == queue.ring_bytes))
		return error;
	queue.ring = args->ring_base_address;
	queue.ring_bytes = args->ring_size;
	pthread_mutex_lock(&queues->lock);
	queues->entries[queue.id].queue = queue;
	pthread_mutex_unlock(&queues->lock);
	return gp_vgpu_cp_update(client, &queue);
}

int gp_vgpu_ioctl_destroy_queue(struct gp_vgpu_client *client, void *data)
{
	const struct gp_kfd_destroy_queue_args *args = data;
	int error = destroy_at_server(client, args->queue_id);
	bool known = false;

	/* With the server gone there is nothing left to run it either; and hardware that did not
	 * let go of it in time does not keep the driver from letting go. */
	if (error && error != -ENODEV && error != -ETIME)
		return error;
	if (args->queue_id < GP_VGPU_MAX_QUEUES) {
		pthread_mutex_lock(&client->queues->lock);
		known = client->queues->entries[args->queue_id].used;
		pthread_mutex_unlock(&client->queues->lock);
	}
	if (known) {
		gp_vgpu_cp_remove(client, args->queue_id);
		leave(client->queues, args->queue_id);
	}
	return error;
}

/* Only the server checks the number of bits; a bad pointer travels as a flag, after that check. */
int gp_vgpu_ioctl_set_cu_mask(struct gp_vgpu_client *client, void *data)
{
	struct gp_kfd_set_cu_mask_args *args = data;
	u32 words[GP_KFD_MAX_CU_MASK / 32];
	struct gp_vgpu_call call = gp_vgpu_ioctl_call(GP_KFD_IOC_SET_CU_MASK, args);

	call.payload = words;
	call.payload_size = args->num_cu_mask / 32 * sizeof(u32);
	if (call.payload_size > sizeof(words))
		call.payload_size = sizeof(words);
	if (gp_vgpu_copy_in(words, args->cu_mask_ptr, call.payload_size))
		call.flags |= GP_VGPU_BAD_ARRAY;
	return gp_vgpu_client_request(client, &call);
}
