// SPDX-License-Identifier: MIT
#include "standin.h"

#include "vgpu/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/kfd_driver.h"

struct standin standin;

/* ---- what the library gets from elsewhere ---- */

struct gp_vgpu_client *gp_vgpu_client(void)
{
	return &standin.client;
}

struct gp_vgpu_client *gp_vgpu_client_if_any(void)
{
	return &standin.client;
}

struct gp_vgpu_client *gp_vgpu_client_new(u64 file)
{
	(void)file;
	return NULL;
}

void gp_vgpu_client_free(struct gp_vgpu_client *client)
{
	(void)client;
}

const char *gp_vgpu_root(void)
{
	return getenv("STANDIN_ROOT");
}

void gp_vgpu_refresh(const char *path)
{
	(void)path;
	standin.requests++;
}

static int account(const struct gp_vgpu_call *call)
{
	const struct gp_kfd_alloc_memory_of_gpu_args *args = call->args;
	u32 gpu = args->gpu_id == GPU1;

	assert_int_equal(call->args_size, sizeof(*args));
	if (args->size > GPU_VRAM - standin.vram_used[gpu])
		return -ENOMEM;
	standin.vram_used[gpu] += args->size;
	return 0;
}

int gp_vgpu_client_request(struct gp_vgpu_client *client, struct gp_vgpu_call *call)
{
	struct gp_kfd_create_queue_args *create = call->args;
	const struct gp_vgpu_free *object = call->payload;

	assert_ptr_equal(client, &standin.client);
	standin.requests++;
	standin.last_nr = call->ioctl_nr;
	standin.last_flags = call->flags;
	standin.last_payload = call->payload_size;
	call->receive_fd = -1;
	if (standin.refuse)
		return standin.refuse;
	switch (call->ioctl_nr) {
	case _IOC_NR(GP_KFD_IOC_ALLOC_MEMORY_OF_GPU):
		return account(call);
	case _IOC_NR(GP_KFD_IOC_FREE_MEMORY_OF_GPU):
		assert_int_equal(call->payload_size, sizeof(*object));
		standin.vram_used[object->gpu_id == GPU1] -= object->bytes;
		return 0;
	case _IOC_NR(GP_KFD_IOC_CREATE_QUEUE):
		create->queue_id = standin.next_queue;
		create->doorbell_offset = standin.next_queue * 8;
		return 0;
	default:
		return 0;
	}
}

bool gp_vgpu_cp_end(struct gp_vgpu_client *client)
{
	(void)client;
	return false;
}

void gp_vgpu_cp_unmapped(struct gp_vgpu_client *client, u64 address, u64 size)
{
	(void)client, (void)address, (void)size;
}

void gp_vgpu_cp_remapped(struct gp_vgpu_client *client)
{
	(void)client;
	standin.remapped++;
}

void *gp_vgpu_cp_doorbell_view(struct gp_vgpu_client *client, u32 gpu_index)
{
	(void)client, (void)gpu_index;
	return NULL;
}

int gp_vgpu_cp_doorbell_fd(struct gp_vgpu_client *client, u32 gpu_index)
{
	(void)client, (void)gpu_index;
	return memfd_create("doorbells", 0);
}

void gp_vgpu_cp_doorbell_mapped(struct gp_vgpu_client *client, u32 gpu_index, void *addr)
{
	(void)client, (void)gpu_index, (void)addr;
}

int gp_vgpu_cp_add(struct gp_vgpu_client *client, const struct gp_vgpu_cp_queue *queue)
{
	(void)client;
	if (standin.cp_error)
		return standin.cp_error;
	standin.cp_queues++;
	standin.last_added = *queue;
	return 0;
}

int gp_vgpu_cp_update(struct gp_vgpu_client *client, const struct gp_vgpu_cp_queue *queue)
{
	(void)client;
	standin.last_added = *queue;
	return 0;
}

void gp_vgpu_cp_remove(struct gp_vgpu_client *client, u32 queue_id)
{
	(void)client, (void)queue_id;
	/* After the server: the CP must not lose a queue that is still there. */
	assert_int_equal(standin.last_nr, _IOC_NR(GP_KFD_IOC_DESTROY_QUEUE));
	standin.cp_queues--;
}

/* ---- the machine ---- */

int standin_setup(void **state)
{
	struct gp_vgpu_client *client = &standin.client;
	struct gp_vgpu_welcome *machine = &client->machine;
	static const u32 ids[2] = {GPU0, GPU1};

	(void)state;
	memset(&standin, 0, sizeof(standin));
	client->pid = getpid();
	pthread_mutex_init(&client->lock, NULL);
	machine->gpu_count = 2;
	machine->kfd_minor = GP_KFD_VERSION_MINOR;
	for (u32 i = 0; i < 2; i++)
		machine->gpus[i] = (struct gp_vgpu_gpu){
			.gpu_id = ids[i],
			.render_minor = 128 + i,
			.device_id = 0x740f,
			.gfx_version = 90010,
			.cu_count = 104,
			.xcc_count = 1,
			.wave_size = 64,
			.vram_bytes = GPU_VRAM,
			.cwsr_bytes = CWSR_BYTES,
			.ctl_stack_bytes = CTL_BYTES,
			.debug_bytes = 0,
		};
	client->memory = gp_vgpu_memory_create();
	client->events = gp_vgpu_events_create();
	client->queues = gp_vgpu_queues_create();
	client->svm = gp_vgpu_svm_create();
	standin.kfd = gp_vgpu_fd_open(GP_VGPU_FD_KFD, 0, O_CLOEXEC);
	standin.render = gp_vgpu_fd_open(GP_VGPU_FD_RENDER, 0, O_CLOEXEC);
	return client->memory && client->events && client->queues && client->svm ? 0 : -1;
}

int standin_teardown(void **state)
{
	(void)state;
	gp_vgpu_memory_destroy(standin.client.memory);
	gp_vgpu_events_destroy(standin.client.events);
	gp_vgpu_svm_destroy(standin.client.svm);
	gp_vgpu_free(standin.client.queues);
	close(standin.kfd);
	close(standin.render);
	return 0;
}

int kfd(unsigned long request, void *args)
{
	return gp_vgpu_kfd_ioctl(gp_vgpu_fd_check(standin.kfd), request, args);
}

void acquire_both(void)
{
	struct gp_kfd_acquire_vm_args args = {.drm_fd = (u32)standin.render, .gpu_id = GPU0};
	int second = gp_vgpu_fd_open(GP_VGPU_FD_RENDER, 1, O_CLOEXEC);

	assert_int_equal(kfd(GP_KFD_IOC_ACQUIRE_VM, &args), 0);
	args = (struct gp_kfd_acquire_vm_args){.drm_fd = (u32)second, .gpu_id = GPU1};
	assert_int_equal(kfd(GP_KFD_IOC_ACQUIRE_VM, &args), 0);
	close(second);
}
