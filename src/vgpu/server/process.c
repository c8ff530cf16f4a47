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

#include "vgpu/server/state.h"

struct gp_vgpu_process *gp_vgpu_process_find(struct gp_vgpu_server *server, pid_t pid)
{
	for (struct gp_vgpu_process *p = server->processes; p; p = p->next)
		if (p->pid == pid && p->context == GP_VGPU_PRIMARY)
			return p;
	return NULL;
}

/* Doorbell slices on the BAR: the lowest free index. */
static u32 free_index(const struct gp_vgpu_server *server)
{
	u32 index = 0;
	bool taken = true;

	while (taken) {
		taken = false;
		for (const struct gp_vgpu_process *p = server->processes; p && !taken; p = p->next)
			taken = p->index == index;
		index += taken;
	}
	return index;
}

/* Not to be guessed by another process of the same user. */
static u64 new_token(struct gp_vgpu_server *server)
{
	u64 token = 0;

	if (getrandom(&token, sizeof(token), GRND_NONBLOCK) != sizeof(token) || !token)
		token = ++server->next_token;
	return token;
}

static void watch_pid(struct gp_vgpu_server *server, struct gp_vgpu_process *process)
{
	if (server->epoll_fd < 0)
		return;
	process->pid_fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (process->pid_fd >= 0)
		(void)gp_vgpu_watch(server, process->pid_fd, GP_VGPU_WATCH_PID, process);
}

/* The lowest number that no secondary process of this pid has. */
static u32 free_context(const struct gp_vgpu_server *server, pid_t pid)
{
	u32 context = GP_VGPU_PRIMARY + 1;
	bool taken = true;

	while (taken) {
		taken = false;
		for (const struct gp_vgpu_process *p = server->processes; p && !taken; p = p->next)
			taken = p->pid == pid && p->context == context;
		context += taken;
	}
	return context;
}

static struct gp_vgpu_process *add(struct gp_vgpu_server *server, pid_t pid, u32 context)
{
	struct gp_vgpu_process *process = calloc(1, sizeof(*process)), **end = &server->processes;

	if (!process)
		return NULL;
	process->pid = pid;
	process->context = context;
	process->token = new_token(server);
	process->pasid = server->next_pasid++;
	process->index = free_index(server);
	for (u32 i = 0; i < GP_VGPU_MAX_GPUS; i++)
		process->model_process[i] = GP_MODEL_NONE;
	process->debug.event_fd = -1;
	process->shared_fd = process->bell_fd = process->client_bell_fd = process->pid_fd = -1;
	process->requests_tail = &process->requests;
	watch_pid(server, process);
	while (*end)
		end = &(*end)->next;
	*end = process;
	gp_vgpu_tree_process(server, process);
	return process;
}

struct gp_vgpu_process *gp_vgpu_process_add(struct gp_vgpu_server *server, pid_t pid)
{
	return add(server, pid, GP_VGPU_PRIMARY);
}

struct gp_vgpu_process *gp_vgpu_process_add_secondary(struct gp_vgpu_server *server, pid_t pid)
{
	return add(server, pid, free_context(server, pid));
}

/* Sealed: a client that could shrink the file could kill the server with it. */
static int share_memory(struct gp_vgpu_process *process)
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

int gp_vgpu_process_share(struct gp_vgpu_process *process)
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

u32 gp_vgpu_server_minor(const struct gp_vgpu_server *server)
{
	static const u32 minors[] = {[GP_ERA_6_1] = GP_KFD_MINOR_LINUX_6_1,
				     [GP_ERA_6_5] = GP_KFD_MINOR_DEBUG,
				     [GP_ERA_6_12] = GP_KFD_VERSION_MINOR,
				     [GP_ERA_6_16] = GP_KFD_MINOR_LINUX_6_16,
				     [GP_ERA_7_0] = GP_KFD_MINOR_CREATE_PROCESS};

	return minors[server->options.era];
}

bool gp_vgpu_server_strict(const struct gp_vgpu_server *server)
{
	return server->devices[0].file.personality == GP_NATIVE && server->options.era > GP_ERA_6_1;
}

void gp_vgpu_server_welcome(const struct gp_vgpu_server *server,
			    const struct gp_vgpu_process *process, struct gp_vgpu_welcome *out)
{
	*out = (struct gp_vgpu_welcome){
		.token = process->token,
		.gpu_count = server->device_count,
		.kfd_minor = gp_vgpu_server_minor(server),
		.strict = gp_vgpu_server_strict(server),
		.runtime_enable = server->options.runtime_enable,
		.compute = server->options.compute,
		.shared_bytes = sizeof(struct gp_vgpu_shared),
		.raw_epoch_ns = server->raw_epoch_ns,
		.speed_permille = server->options.speed_permille,
	};
	for (u32 i = 0; i < server->device_count; i++)
		out->gpus[i] = server->devices[i].file.gpu;
}

/* ---- death ---- */

static void unlink_process(struct gp_vgpu_server *server, struct gp_vgpu_process *process)
{
	struct gp_vgpu_process **at = &server->processes;

	while (*at && *at != process)
		at = &(*at)->next;
	if (*at)
		*at = process->next;
	process->next = server->graves;
	server->graves = process;
}

static void leave_devices(struct gp_vgpu_server *server, struct gp_vgpu_process *process)
{
	while (process->newest) {
		struct gp_vgpu_queue *queue = process->newest;

		/* The copies of a dead process are not waited for. */
		(void)gp_model_queue_abandon(queue->device->model, queue->model_queue);
		gp_vgpu_queue_free(server, queue);
	}
	for (u32 i = 0; i < server->device_count; i++) {
		struct gp_vgpu_device *device = &server->devices[i];

		device->vram_used -= process->vram_used[i];
		if (process->model_process[i] != GP_MODEL_NONE)
			device->owners[process->model_process[i]] = NULL;
		/* Even a process that merely opened /dev/kfd preempts the whole device when it
		 * ends. */
		gp_vgpu_update_silent(server, device);
	}
}

static void close_watched(struct gp_vgpu_server *server, int fd)
{
	if (fd < 0)
		return;
	gp_vgpu_unwatch(server, fd);
	close(fd);
}

void gp_vgpu_process_remove(struct gp_vgpu_server *server, struct gp_vgpu_process *process)
{
	if (process->dead)
		return;
	process->dead = true;
	gp_vgpu_requests_drop(server, process);
	gp_vgpu_debug_process_gone(server, process);
	leave_devices(server, process);
	unlink_process(server, process);
	for (struct gp_vgpu_connection *c = server->connections; c; c = c->next)
		if (c->process == process)
			gp_vgpu_connection_close(server, c);
	close_watched(server, process->pid_fd);
	close_watched(server, process->bell_fd);
	if (process->client_bell_fd >= 0)
		close(process->client_bell_fd);
	if (process->shared_fd >= 0)
		close(process->shared_fd);
	if (process->shared)
		munmap(process->shared, sizeof(*process->shared));
	process->shared = NULL;
	/* The secondary ones end with the program. */
	for (struct gp_vgpu_process *p = server->processes; p; p = p->next)
		if (process->context == GP_VGPU_PRIMARY && p->pid == process->pid)
			p->condemned = true;
	gp_vgpu_tree_process_gone(server, process);
}

void gp_vgpu_bury(struct gp_vgpu_server *server)
{
	struct gp_vgpu_process *process;

	while ((process = server->graves)) {
		server->graves = process->next;
		free(process);
	}
}
