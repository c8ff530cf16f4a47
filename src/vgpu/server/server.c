// SPDX-License-Identifier: MIT
/* The machine: devices with their models, the clock, the socket. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/i18n.h"
#include "base/parse.h"
#include "vgpu/server/server.h"

#define PERMILLE          1000
#define NS_PER_S          1000000000ull
#define FIRST_MQD         0x8000000000ull /* addresses of descriptors are made up from here */
#define BACKLOG           64
#define STATUS_FILE_LIMIT 65536

/* ---- time ---- */

/* a * b / c without losing high bits; saturates. */
static u64 scale(u64 a, u64 b, u64 c)
{
	unsigned __int128 product = (unsigned __int128)a * b / c;

	return product > UINT64_MAX ? UINT64_MAX : (u64)product;
}

u64 gp_vgpu_server_now(const struct gp_vgpu_server *vm)
{
	return vm->now_ns;
}

void gp_vgpu_server_tick(struct gp_vgpu_server *vm)
{
	u64 raw = GP_MAX(vm->host.raw_ns(vm->host.context), vm->raw_epoch_ns);
	u64 passed = scale(raw - vm->raw_epoch_ns, vm->options.speed_permille, PERMILLE);
	u64 due = passed > vm->behind_ns ? passed - vm->behind_ns : 0;

	if (due > vm->hold_at_ns) {
		vm->behind_ns += due - vm->hold_at_ns;
		due = vm->hold_at_ns;
	}
	vm->due_ns = GP_MAX(vm->due_ns, due);
	/* Time in which nothing happens costs nothing; the rest is gp_vgpu_server_advance()'s. */
	vm->now_ns = GP_MAX(vm->now_ns, GP_MIN(vm->due_ns, gp_vgpu_server_next(vm)));
}

void gp_vgpu_server_hold(struct gp_vgpu_server *vm, u64 until_ns,
			 const struct gp_vgpu_server_connection *holder)
{
	bool endless = until_ns > GP_MODEL_TIME_MAX;

	gp_vgpu_server_tick(vm);
	vm->hold_at_ns = endless ? GP_MODEL_NEVER : vm->due_ns + until_ns;
	vm->holder = endless ? NULL : holder;
}

/*
 * Rounded up: at that moment the model's clock has reached model_ns, or will if the machine does
 * not fall behind any more.
 */
u64 gp_vgpu_server_raw_time(const struct gp_vgpu_server *vm, u64 model_ns)
{
	u64 speed = vm->options.speed_permille;

	model_ns = model_ns > UINT64_MAX - vm->behind_ns ? UINT64_MAX : model_ns + vm->behind_ns;
	return vm->raw_epoch_ns + scale(model_ns, PERMILLE, speed) +
	       (scale(model_ns, PERMILLE, speed) * speed / PERMILLE < model_ns);
}

static u64 monotonic_raw(void *context)
{
	struct timespec now;

	(void)context;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (u64)now.tv_sec * NS_PER_S + (u64)now.tv_nsec;
}

/* ---- other processes ---- */

static void status_line(const char *line, const char *end, struct gp_vgpu_server_task *out)
{
	u32 value;

	if (GP_PARSE_LITERAL(&line, end, "Tgid:\t") && gp_parse_u32(&line, end, &value))
		out->tgid = (pid_t)value;
	else if (GP_PARSE_LITERAL(&line, end, "TracerPid:\t") && gp_parse_u32(&line, end, &value))
		out->tracer = (pid_t)value;
	else if (GP_PARSE_LITERAL(&line, end, "VmSize:"))
		out->has_memory = true; /* kernel threads and the dead have no such line */
}

static int read_task(void *context, pid_t tid, struct gp_vgpu_server_task *out)
{
	struct gp_buf text = {0};
	char path[64];
	int error;

	(void)context;
	*out = (struct gp_vgpu_server_task){0};
	if (tid <= 0)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	error = gp_file_read(path, STATUS_FILE_LIMIT, &text);
	for (const char *line = gp_buf_str(&text); !error && *line;) {
		const char *end = strchrnul(line, '\n');

		status_line(line, end, out);
		line = *end ? end + 1 : end;
	}
	gp_buf_free(&text);
	return error || !out->tgid ? -ESRCH : 0;
}

/* Needs what ptrace needs; where that is not given the save areas stay as they were. */
static void write_memory(void *context, pid_t pid, u64 address, const void *data, size_t size)
{
	struct iovec from = {.iov_base = (void *)data, .iov_len = size};
	struct iovec to = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};

	(void)context;
	(void)!process_vm_writev(pid, &from, 1, &to, 1, 0);
}

/* ---- devices ---- */

static int make_model(struct gp_vgpu_server *vm, struct gp_vgpu_server_device *device)
{
	struct gp_model_config config = {
		.chip = device->file.chip,
		.max_processes = GP_VM_MODEL_PROCESSES,
		.max_queues = GP_KFD_DEVICE_QUEUES,
		.max_work = GP_VM_MODEL_WORK,
		.seed = vm->options.seed + device->index,
	};

	device->model_bytes = gp_model_memory(&config);
	if (!device->model_bytes)
		return gp_fail(vm->diag, -EINVAL, "GPU %s: its description cannot be modelled",
			       device->file.name);
	device->model_memory = mmap(NULL, device->model_bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (device->model_memory == MAP_FAILED) {
		device->model_memory = NULL;
		return -ENOMEM;
	}
	device->by_model = calloc(GP_KFD_DEVICE_QUEUES, sizeof(struct gp_vgpu_server_queue *));
	device->owners = calloc(GP_VM_MODEL_PROCESSES, sizeof(struct gp_vgpu_server_process *));
	device->owned = calloc(GP_VM_MODEL_PROCESSES, sizeof(u32));
	if (!device->by_model || !device->owners || !device->owned)
		return -ENOMEM;
	return gp_model_init(&device->model, device->model_memory, device->model_bytes, &config);
}

static int add_device(struct gp_vgpu_server *vm, const struct gp_vgpu_gpufile *file, u32 index)
{
	struct gp_vgpu_server_device *device = &vm->devices[index];

	gp_vgpu_gpufile_place(&device->file, file, index, vm->options.gpu_count);
	device->index = index;
	device->node = index + 1;
	vm->device_count = index + 1;
	return make_model(vm, device);
}

int gp_vgpu_server_init(struct gp_vgpu_server *vm, const struct gp_vgpu_server_options *options,
			const struct gp_vgpu_gpufile *file, const struct gp_vgpu_server_host *host,
			struct gp_diag *diag)
{
	int error = 0;

	*vm = (struct gp_vgpu_server){
		.options = *options,
		.host = *host,
		.diag = diag,
		.next_mqd = FIRST_MQD,
		.next_pasid = GP_KFD_FIRST_PASID,
		.hold_at_ns = GP_MODEL_NEVER,
		.epoll_fd = -1,
		.listen_fd = -1,
		.timer_fd = -1,
		.signal_fd = -1,
		.reserve_fd = -1,
	};
	if (!options->speed_permille || !options->gpu_count ||
	    options->gpu_count > GP_VGPU_MAX_GPUS)
		return gp_fail(diag, -EINVAL, "speed must not be 0 and GPUs must be 1 to %d",
			       GP_VGPU_MAX_GPUS);
	vm->raw_epoch_ns = host->raw_ns(host->context);
	for (u32 i = 0; i < options->gpu_count && !error; i++)
		error = add_device(vm, file, i);
	if (error)
		gp_vgpu_server_fini(vm);
	return error;
}

static void free_device(struct gp_vgpu_server_device *device)
{
	struct gp_vgpu_server_update *update;
	struct gp_vgpu_server_queue *queue;

	while ((update = device->updates)) {
		device->updates = update->next;
		free(update);
	}
	while ((queue = device->zombies)) {
		device->zombies = queue->zombie;
		free(queue);
	}
	free(device->by_model);
	free(device->owners);
	free(device->owned);
	if (device->model_memory)
		munmap(device->model_memory, device->model_bytes);
	gp_vgpu_gpufile_free(&device->file);
}

void gp_vgpu_server_fini(struct gp_vgpu_server *vm)
{
	while (vm->processes)
		gp_vgpu_server_process_remove(vm, vm->processes);
	gp_vgpu_server_bury(vm);
	for (u32 i = 0; i < vm->device_count; i++)
		free_device(&vm->devices[i]);
	vm->device_count = 0;
	gp_vgpu_server_smi_close(vm);
}

/* ---- the socket ---- */

static int listen_at(struct gp_vgpu_server *vm)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = (size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s",
				      vm->options.directory, GP_VGPU_SOCKET);

	if (len >= sizeof(address.sun_path))
		return gp_fail(vm->diag, -ENAMETOOLONG, "%s: path too long for a socket",
			       vm->options.directory);
	vm->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (vm->listen_fd < 0)
		return -errno;
	(void)unlink(address.sun_path);
	if (bind(vm->listen_fd, (struct sockaddr *)&address, sizeof(address)) ||
	    chmod(address.sun_path, 0600) || listen(vm->listen_fd, BACKLOG))
		return gp_fail(vm->diag, -errno, "%s: %s", address.sun_path, strerror(errno));
	return gp_vgpu_server_watch(vm, vm->listen_fd, GP_VM_WATCH_LISTEN, NULL);
}

int gp_vgpu_server_start(struct gp_vgpu_server *vm, const struct gp_vgpu_server_options *options,
			 const struct gp_vgpu_gpufile *file, struct gp_diag *diag)
{
	static const struct gp_vgpu_server_host host = {
		.raw_ns = monotonic_raw,
		.task = read_task,
		.reply = gp_vgpu_server_connection_reply,
		.write = write_memory,
		.peer = gp_vgpu_server_peer,
	};
	int error = gp_vgpu_server_init(vm, options, file, &host, diag);

	if (error)
		return error;
	vm->message = malloc(sizeof(struct gp_vgpu_request) + GP_VGPU_PAYLOAD_MAX);
	vm->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!vm->message || vm->epoll_fd < 0)
		error = -ENOMEM;
	if (!error)
		error = gp_vgpu_server_tree_create(vm);
	if (!error)
		error = listen_at(vm);
	if (error)
		gp_vgpu_server_stop(vm);
	return error;
}

static void close_if_open(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void gp_vgpu_server_stop(struct gp_vgpu_server *vm)
{
	char path[4096];

	for (struct gp_vgpu_server_connection *c = vm->connections; c; c = c->next)
		gp_vgpu_server_connection_close(vm, c);
	gp_vgpu_server_connections_reap(vm);
	gp_vgpu_server_fini(vm);
	if (vm->listen_fd >= 0) {
		snprintf(path, sizeof(path), "%s/%s", vm->options.directory, GP_VGPU_SOCKET);
		(void)unlink(path);
	}
	close_if_open(&vm->listen_fd);
	close_if_open(&vm->timer_fd);
	close_if_open(&vm->signal_fd);
	close_if_open(&vm->reserve_fd);
	close_if_open(&vm->epoll_fd);
	free(vm->message);
	vm->message = NULL;
}
