// SPDX-License-Identifier: MIT
/* Life and death of the machine's processes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vgpu/server/server.h"

struct gp_vgpu_server_process *gp_vgpu_server_process_find(struct gp_vgpu_server *vm, pid_t pid)
{
	for (struct gp_vgpu_server_process *p = vm->processes; p; p = p->next)
		if (p->pid == pid)
			return p;
	return NULL;
}

/* Doorbell slices on the BAR: the lowest index nobody has. */
static u32 free_index(const struct gp_vgpu_server *vm)
{
	u32 index = 0;
	bool taken = true;

	while (taken) {
		taken = false;
		for (const struct gp_vgpu_server_process *p = vm->processes; p && !taken;
		     p = p->next)
			taken = p->index == index;
		index += taken;
	}
	return index;
}

/* Not to be guessed by another process of the same user. */
static u64 new_token(struct gp_vgpu_server *vm)
{
	u64 token = 0;

	if (getrandom(&token, sizeof(token), GRND_NONBLOCK) != sizeof(token) || !token)
		token = ++vm->next_token;
	return token;
}

static void watch_pid(struct gp_vgpu_server *vm, struct gp_vgpu_server_process *process)
{
	if (vm->epoll_fd < 0)
		return;
	process->pid_fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (process->pid_fd >= 0)
		(void)gp_vgpu_server_watch(vm, process->pid_fd, GP_VM_WATCH_PID, process);
}

struct gp_vgpu_server_process *gp_vgpu_server_process_add(struct gp_vgpu_server *vm, pid_t pid)
{
	struct gp_vgpu_server_process *process = calloc(1, sizeof(*process)),
				      **end = &vm->processes;

	if (!process)
		return NULL;
	process->pid = pid;
	process->token = new_token(vm);
	process->pasid = vm->next_pasid++;
	process->index = free_index(vm);
	for (u32 i = 0; i < GP_VGPU_MAX_GPUS; i++)
		process->model_process[i] = GP_MODEL_NONE;
	process->debug.event_fd = -1;
	process->shared_fd = process->bell_fd = process->client_bell_fd = process->pid_fd = -1;
	process->requests_tail = &process->requests;
	watch_pid(vm, process);
	while (*end)
		end = &(*end)->next;
	*end = process;
	gp_vgpu_server_tree_process(vm, process);
	return process;
}

/* Sealed: a client that could shrink the file could kill the server with it. */
static int share_memory(struct gp_vgpu_server_process *process)
{
	int fd = memfd_create("gpreempt-vgpu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *memory;

	if (fd < 0)
		return -errno;
	process->shared_fd = fd;
	if (ftruncate(fd, sizeof(struct gp_vgpu_shared)) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	memory = mmap(NULL, sizeof(struct gp_vgpu_shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      0);
	if (memory == MAP_FAILED)
		return -errno;
	process->shared = memory;
	return 0;
}

int gp_vgpu_server_process_share(struct gp_vgpu_server_process *process)
{
	int error = share_memory(process), ends[2];

	if (error)
		return error;
	/* Not eventfds: whether those block is for both sides to set. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		return -errno;
	process->bell_fd = ends[0];
	process->client_bell_fd = ends[1];
	return 0;
}

void gp_vgpu_server_welcome(const struct gp_vgpu_server *vm,
			    const struct gp_vgpu_server_process *process,
			    struct gp_vgpu_welcome *out)
{
	static const u32 minors[] = {[GP_ERA_6_1] = GP_KFD_MINOR_LINUX_6_1,
				     [GP_ERA_6_5] = GP_KFD_MINOR_DEBUG,
				     [GP_ERA_6_12] = GP_KFD_VERSION_MINOR};

	*out = (struct gp_vgpu_welcome){
		.token = process->token,
		.gpu_count = vm->device_count,
		.kfd_minor = minors[vm->options.era],
		.strict = vm->devices[0].file.personality == GP_NATIVE &&
			  vm->options.era > GP_ERA_6_1,
		.runtime_enable = vm->options.runtime_enable,
		.shared_bytes = sizeof(struct gp_vgpu_shared),
		.raw_epoch_ns = vm->raw_epoch_ns,
		.speed_permille = vm->options.speed_permille,
	};
	for (u32 i = 0; i < vm->device_count; i++)
		out->gpus[i] = vm->devices[i].file.gpu;
}

/* ---- death ---- */

static void unlink_process(struct gp_vgpu_server *vm, struct gp_vgpu_server_process *process)
{
	struct gp_vgpu_server_process **at = &vm->processes;

	while (*at && *at != process)
		at = &(*at)->next;
	if (*at)
		*at = process->next;
	process->next = vm->graves;
	vm->graves = process;
}

static void leave_devices(struct gp_vgpu_server *vm, struct gp_vgpu_server_process *process)
{
	while (process->newest) {
		struct gp_vgpu_server_queue *queue = process->newest;

		/* Nobody waits for the copies of the dead. */
		(void)gp_model_queue_abandon(queue->device->model, queue->model_queue);
		gp_vgpu_server_queue_free(vm, queue);
	}
	for (u32 i = 0; i < vm->device_count; i++) {
		struct gp_vgpu_server_device *device = &vm->devices[i];

		device->vram_used -= process->vram_used[i];
		if (process->model_process[i] != GP_MODEL_NONE)
			device->owners[process->model_process[i]] = NULL;
		/* Whoever merely opened /dev/kfd costs everybody a preemption when it ends. */
		gp_vgpu_server_update_silent(vm, device);
	}
}

static void close_watched(struct gp_vgpu_server *vm, int fd)
{
	if (fd < 0)
		return;
	gp_vgpu_server_unwatch(vm, fd);
	close(fd);
}

void gp_vgpu_server_process_remove(struct gp_vgpu_server *vm,
				   struct gp_vgpu_server_process *process)
{
	if (process->dead)
		return;
	process->dead = true;
	gp_vgpu_server_requests_drop(vm, process);
	gp_vgpu_server_debug_process_gone(vm, process);
	leave_devices(vm, process);
	unlink_process(vm, process);
	for (struct gp_vgpu_server_connection *c = vm->connections; c; c = c->next)
		if (c->process == process)
			gp_vgpu_server_connection_close(vm, c);
	close_watched(vm, process->pid_fd);
	close_watched(vm, process->bell_fd);
	if (process->client_bell_fd >= 0)
		close(process->client_bell_fd);
	if (process->shared_fd >= 0)
		close(process->shared_fd);
	if (process->shared)
		munmap(process->shared, sizeof(*process->shared));
	process->shared = NULL;
	gp_vgpu_server_tree_process_gone(vm, process);
}

void gp_vgpu_server_bury(struct gp_vgpu_server *vm)
{
	struct gp_vgpu_server_process *process;

	while ((process = vm->graves)) {
		vm->graves = process->next;
		free(process);
	}
}
