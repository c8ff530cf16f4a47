// SPDX-License-Identifier: MIT
/* CREATE, DESTROY and UPDATE of queues. The other queue ioctls are in queue_state.c. */
#include <errno.h>
#include <stdlib.h>

#include "vgpu/server/state.h"

struct gp_vgpu_queue *gp_vgpu_queue(struct gp_vgpu_process *process, u32 id)
{
	return id < GP_VGPU_MAX_QUEUES ? process->queues[id] : NULL;
}

struct gp_vgpu_device *gp_vgpu_device(struct gp_vgpu_server *server, u32 gpu_id)
{
	for (u32 i = 0; i < server->device_count; i++)
		if (server->devices[i].file.gpu.gpu_id == gpu_id)
			return &server->devices[i];
	return NULL;
}

bool gp_vgpu_queue_active(const struct gp_vgpu_queue *queue)
{
	return queue->args.ring_base_address && queue->args.ring_size && queue->percent &&
	       !queue->evicted && !queue->suspended;
}

bool gp_vgpu_queue_lost(const struct gp_vgpu_queue *queue)
{
	return queue->device->hung || queue->process->reset[queue->device->index];
}

static struct gp_model_queue_config wanted(const struct gp_vgpu_queue *queue, bool enabled)
{
	struct gp_model_queue_config config = {
		.type = gp_vgpu_is_sdma(queue->args.queue_type) ? GP_MODEL_SDMA : GP_MODEL_COMPUTE,
		.engine = queue->sdma_engine,
		.priority = queue->priority,
		.enabled = enabled,
	};

	memcpy(config.cu_mask, queue->cu_mask, sizeof(config.cu_mask));
	return config;
}

void gp_vgpu_queue_apply(struct gp_vgpu_server *server, struct gp_vgpu_queue *queue)
{
	struct gp_model_queue_config config = wanted(queue, gp_vgpu_queue_active(queue));

	(void)server;
	(void)gp_model_queue_set(queue->device->model, queue->model_queue, &config);
}

/* ---- CREATE ---- */

static int check_create(struct gp_vgpu_server *server, struct gp_kfd_create_queue_args *args,
			struct gp_vgpu_device **device)
{
	int error = gp_vgpu_check_create(gp_vgpu_server_minor(server), args);

	if (error)
		return error;
	*device = gp_vgpu_device(server, args->gpu_id);
	if (!*device)
		return -EINVAL;
	if (args->queue_type == GP_KFD_QUEUE_SDMA_BY_ENGINE &&
	    args->sdma_engine_id >= (*device)->file.chip.sdma_engines)
		return -EINVAL;
	return gp_vgpu_server_strict(server)
		       ? gp_vgpu_check_buffer_sizes(&(*device)->file.gpu, args)
		       : 0;
}

static int check_limits(const struct gp_vgpu_process *process, const struct gp_vgpu_device *device)
{
	u32 limit = device->file.gpu.gfx_version >= GP_KFD_GFX_943 ? GP_KFD_PROCESS_QUEUES_943
								   : GP_KFD_PROCESS_QUEUES;

	if (process->device_queues[device->index] >= limit)
		return -ENOSPC;
	return device->queue_count >= GP_KFD_DEVICE_QUEUES ? -EPERM : 0;
}

/* Policies that do not oversubscribe: pqm_create_queue(), allocate_vmid() and allocate_hqd(). */
static int check_policy(const struct gp_vgpu_server *server, const struct gp_vgpu_process *process,
			const struct gp_vgpu_device *device, u32 type)
{
	u32 processes = 0, queues = 0;
	bool joins = !process->device_queues[device->index];

	if (server->options.policy == GP_POLICY_HWS || gp_vgpu_is_sdma(type))
		return 0;
	for (const struct gp_vgpu_process *p = server->processes; p; p = p->next) {
		processes += p->device_queues[device->index] > 0;
		for (const struct gp_vgpu_queue *queue = p->newest; queue; queue = queue->older)
			queues += queue->device == device && gp_vgpu_queue_active(queue) &&
				  !gp_vgpu_is_sdma(queue->args.queue_type);
	}
	if (server->options.policy == GP_POLICY_NO_OVERSUBSCRIBE)
		return processes >= device->file.chip.vmids || queues >= device->file.chip.slots
			       ? -EPERM
			       : 0;
	if (joins && processes >= device->file.chip.vmids)
		return -ENOMEM;
	return queues >= device->file.chip.slots ? -EBUSY : 0;
}

static int model_add(struct gp_vgpu_process *process, struct gp_vgpu_queue *queue)
{
	struct gp_vgpu_device *device = queue->device;
	u32 *owner = &process->model_process[device->index];
	struct gp_model_queue_config config = wanted(queue, gp_vgpu_queue_active(queue));
	int error = 0;

	if (*owner == GP_MODEL_NONE)
		error = gp_model_process_add(device->model, owner);
	if (error)
		return -ENOMEM;
	device->owners[*owner] = process;
	if (gp_model_queue_add(device->model, *owner, &config, &queue->model_queue)) {
		if (!device->owned[*owner] && !gp_model_process_remove(device->model, *owner)) {
			device->owners[*owner] = NULL;
			*owner = GP_MODEL_NONE;
		}
		return -ENOMEM;
	}
	device->owned[*owner]++;
	queue->model_process = *owner;
	device->by_model[queue->model_queue] = queue;
	return 0;
}

static int queue_add(struct gp_vgpu_server *server, struct gp_vgpu_process *process,
		     struct gp_vgpu_queue *queue)
{
	int error = gp_vgpu_queue_id(process, &queue->id);

	if (!error)
		error = gp_vgpu_doorbell_take(process, queue);
	if (error)
		return error;
	error = model_add(process, queue);
	if (error) {
		gp_vgpu_doorbell_drop(process, queue);
		return error;
	}
	queue->mqd_address = server->next_mqd;
	server->next_mqd += queue->device->file.gpu.ctl_stack_bytes + 2 * GP_KFD_PAGE;
	queue->older = process->newest;
	process->newest = queue;
	process->queues[queue->id] = queue;
	process->queue_count++;
	gp_vgpu_settle_begin(queue);
	if (!process->device_queues[queue->device->index]++)
		process->joined[queue->device->index] = queue->mqd_address;
	queue->device->queue_count++;
	return 0;
}

static void list_remove(struct gp_vgpu_process *process, struct gp_vgpu_queue *queue)
{
	struct gp_vgpu_queue **at = &process->newest;

	while (*at != queue)
		at = &(*at)->older;
	*at = queue->older;
}

/* The packets that were under way never come back: their dones are not due any more. */
static void forget_packets(struct gp_vgpu_process *process, struct gp_vgpu_queue *queue)
{
	process->outstanding -= queue->in_flight;
	process->dones_due -= queue->dones_due;
}

void gp_vgpu_queue_free(struct gp_vgpu_server *server, struct gp_vgpu_queue *queue)
{
	struct gp_vgpu_process *process = queue->process;
	struct gp_model_queue_config config = wanted(queue, false);
	struct gp_vgpu_device *device = queue->device;

	(void)server;
	(void)gp_model_queue_set(device->model, queue->model_queue, &config);
	forget_packets(process, queue);
	gp_vgpu_ring_forget(process, queue->id);
	gp_vgpu_doorbell_drop(process, queue);
	list_remove(process, queue);
	process->queues[queue->id] = NULL;
	process->queue_count--;
	process->device_queues[device->index]--;
	queue->process = NULL;
	queue->zombie = device->zombies;
	device->zombies = queue;
}

static void created(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_vgpu_process *process = request->owner;
	struct gp_kfd_create_queue_args *args = GP_VGPU_ARGS(request, gp_kfd_create_queue_args);
	struct gp_vgpu_queue *queue = gp_vgpu_queue(process, (u32)request->context[0]);

	if (request->update_error) {
		gp_vgpu_queue_free(server, queue);
		request->result = request->update_error;
		return;
	}
	args->queue_id = queue->id;
	args->doorbell_offset = GP_KFD_MMAP_DOORBELL << GP_KFD_MMAP_TYPE_SHIFT |
				(u64)args->gpu_id << GP_KFD_MMAP_GPU_ID_SHIFT |
				(u64)queue->doorbell_id * GP_KFD_DOORBELL_BYTES;
	queue->args.queue_id = args->queue_id;
	queue->args.doorbell_offset = args->doorbell_offset;
	request->result = 0;
	gp_vgpu_tree_process(server, process);
	gp_vgpu_raise(server, process, queue, GP_KFD_EC_QUEUE_NEW);
}

static void create_again(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_kfd_create_queue_args *args = GP_VGPU_ARGS(request, gp_kfd_create_queue_args);

	gp_vgpu_reap(gp_vgpu_device(server, args->gpu_id));
	request->result = gp_vgpu_serve_create_queue(server, request);
}

/*
 * The dead are still on the hardware until the update that their death asked for; the driver waits
 * for it before it gives their places away, so this does too.
 */
static bool wait_for_the_dead(struct gp_vgpu_request *request, struct gp_vgpu_device *device)
{
	if (request->context[1] || !device->zombies || !gp_vgpu_update_join(device, request))
		return false;
	request->context[1] = true;
	request->resume = create_again;
	return true;
}

int gp_vgpu_serve_create_queue(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_kfd_create_queue_args *args = GP_VGPU_ARGS(request, gp_kfd_create_queue_args);
	struct gp_vgpu_process *process = request->owner;
	struct gp_vgpu_device *device = NULL;
	struct gp_vgpu_queue *queue;
	int error = check_create(server, args, &device);

	if (!error)
		error = check_limits(process, device);
	if (!error)
		error = check_policy(server, process, device, args->queue_type);
	if (error)
		return error;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	queue->process = process;
	queue->device = device;
	queue->args = *args;
	queue->percent = args->queue_percentage & GP_KFD_PERCENT_MASK;
	queue->priority = args->queue_priority;
	queue->evicted = process->evictions[device->index] > 0;
	queue->exception_status = GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW);
	error = queue_add(server, process, queue);
	if (error) {
		free(queue);
		if (error == -ENOMEM)
			(void)wait_for_the_dead(request, device);
		return error;
	}
	request->context[0] = queue->id;
	request->resume = created;
	if (gp_vgpu_queue_active(queue))
		gp_vgpu_update(server, device, GP_KFD_GRACE_DEFAULT, request);
	if (!request->waiting)
		created(server, request);
	return (int)request->result;
}

/* ---- DESTROY ---- */

static void destroyed(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_vgpu_process *process = request->owner;
	struct gp_vgpu_queue *queue = gp_vgpu_queue(process, (u32)request->context[0]);

	/* After a timeout the driver lets go of the queue all the same, and says so. */
	request->result = request->update_error;
	gp_vgpu_raise(server, process, queue, GP_KFD_EC_DEVICE_QUEUE_DELETE);
	gp_vgpu_queue_free(server, queue);
	gp_vgpu_tree_process(server, process);
}

static void destroy_now(struct gp_vgpu_server *server, struct gp_vgpu_request *request,
			struct gp_vgpu_queue *queue)
{
	struct gp_model_queue_config config = wanted(queue, false);

	request->resume = destroyed;
	if (gp_vgpu_queue_active(queue)) {
		(void)gp_model_queue_set(queue->device->model, queue->model_queue, &config);
		gp_vgpu_update(server, queue->device, GP_KFD_GRACE_DEFAULT, request);
	}
	if (!request->waiting)
		destroyed(server, request);
}

/* Woken by a resume of the queue, or by a signal. */
static void destroy_woken(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_vgpu_queue *queue = gp_vgpu_queue(request->owner, (u32)request->context[0]);

	if (queue->suspended && request->interrupted) {
		queue->destroying = false;
		request->result = -EINTR;
	} else if (queue->suspended) {
		gp_vgpu_request_park(request); /* suspended again before its turn came */
	} else {
		destroy_now(server, request, queue);
	}
}

int gp_vgpu_serve_destroy_queue(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	const struct gp_kfd_destroy_queue_args *args =
		GP_VGPU_ARGS(request, gp_kfd_destroy_queue_args);
	struct gp_vgpu_process *process = request->owner;
	struct gp_vgpu_queue *queue = gp_vgpu_queue(process, args->queue_id);

	if (!queue || queue->destroying)
		return queue ? -EBUSY : -EINVAL;
	queue->destroying = true;
	request->context[0] = queue->id;
	if (process->debug.enabled && queue->suspended) {
		request->resume = destroy_woken;
		destroy_woken(server, request);
		return (int)request->result;
	}
	destroy_now(server, request, queue);
	return (int)request->result;
}

/* ---- UPDATE ---- */

static void updated(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	(void)server;
	request->result = request->update_error;
}

int gp_vgpu_queue_update(struct gp_vgpu_server *server, struct gp_vgpu_queue *queue,
			 struct gp_vgpu_request *request)
{
	if (gp_vgpu_queue_lost(queue))
		return -EACCES;
	gp_vgpu_queue_apply(server, queue);
	request->resume = updated;
	gp_vgpu_update(server, queue->device, GP_KFD_GRACE_DEFAULT, request);
	if (!request->waiting)
		updated(server, request);
	return (int)request->result;
}

int gp_vgpu_serve_update_queue(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_kfd_update_queue_args *args = GP_VGPU_ARGS(request, gp_kfd_update_queue_args);
	struct gp_vgpu_queue *queue = gp_vgpu_queue(request->owner, args->queue_id);
	int error =
		gp_vgpu_check_ring(gp_vgpu_server_minor(server), args->queue_percentage,
				   args->queue_priority, args->ring_base_address, &args->ring_size);

	if (error)
		return error;
	if (!queue || gp_vgpu_queue_lost(queue))
		return queue ? -EACCES : -EFAULT;
	queue->args.ring_base_address = args->ring_base_address;
	queue->args.ring_size = args->ring_size;
	queue->percent = args->queue_percentage & GP_KFD_PERCENT_MASK;
	queue->priority = args->queue_priority;
	gp_vgpu_tree_process(server, request->owner);
	return gp_vgpu_queue_update(server, queue, request);
}
