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

#include "base/clock.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/parse.h"
#include "vgpu/server/state.h"

#define PERMILLE          1000
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

u64 gp_vgpu_server_now(const struct gp_vgpu_server *server)
{
	return server->now_ns;
}

void gp_vgpu_server_tick(struct gp_vgpu_server *server)
{
	u64 raw = GP_MAX(server->host.raw_ns(server->host.context), server->raw_epoch_ns);
	u64 passed = scale(raw - server->raw_epoch_ns, server->options.speed_permille, PERMILLE);
	u64 due = passed > server->behind_ns ? passed - server->behind_ns : 0;

	if (due > server->hold_at_ns) {
		server->behind_ns += due - server->hold_at_ns;
		due = server->hold_at_ns;
	}
	server->due_ns = GP_MAX(server->due_ns, due);
	/* Time in which nothing happens costs nothing; the rest is gp_vgpu_server_advance()'s. */
	server->now_ns =
		GP_MAX(server->now_ns, GP_MIN(server->due_ns, gp_vgpu_server_next(server)));
}

void gp_vgpu_server_hold(struct gp_vgpu_server *server, u64 until_ns,
			 const struct gp_vgpu_connection *holder)
{
	bool endless = until_ns > GP_MODEL_TIME_MAX;

	gp_vgpu_server_tick(server);
	server->hold_at_ns = endless ? GP_MODEL_NEVER : server->due_ns + until_ns;
	server->holder = endless ? NULL : holder;
}

/*
 * Rounded up: at that moment the model's clock has reached model_ns, or will if the machine does
 * not fall behind any more.
 */
u64 gp_vgpu_server_raw_time(const struct gp_vgpu_server *server, u64 model_ns)
{
	u64 speed = server->options.speed_permille;

	model_ns = model_ns > UINT64_MAX - server->behind_ns ? UINT64_MAX
							     : model_ns + server->behind_ns;
	return server->raw_epoch_ns + scale(model_ns, PERMILLE, speed) +
	       (scale(model_ns, PERMILLE, speed) * speed / PERMILLE < model_ns);
}

static u64 monotonic_raw(void *context)
{
	(void)context;
	return gp_clock_ns(CLOCK_MONOTONIC_RAW);
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

static int make_model(struct gp_vgpu_server *server, struct gp_vgpu_device *device)
{
	struct gp_model_config config = {
		.chip = device->file.chip,
		.max_processes = GP_VGPU_MODEL_PROCESSES,
		.max_queues = GP_KFD_DEVICE_QUEUES,
		.max_work = GP_VGPU_MODEL_WORK,
		.seed = server->options.seed + device->index,
	};

	device->model_bytes = gp_model_memory(&config);
	if (!device->model_bytes)
		return gp_fail(server->diag, -EINVAL,
			       "cannot create a model of GPU %s: invalid description",
			       device->file.name);
	device->model_memory = mmap(NULL, device->model_bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (device->model_memory == MAP_FAILED) {
		device->model_memory = NULL;
		return -ENOMEM;
	}
	device->by_model = calloc(GP_KFD_DEVICE_QUEUES, sizeof(struct gp_vgpu_queue *));
	device->owners = calloc(GP_VGPU_MODEL_PROCESSES, sizeof(struct gp_vgpu_process *));
	device->owned = calloc(GP_VGPU_MODEL_PROCESSES, sizeof(u32));
	if (!device->by_model || !device->owners || !device->owned)
		return -ENOMEM;
	return gp_model_init(&device->model, device->model_memory, device->model_bytes, &config);
}

static int add_device(struct gp_vgpu_server *server, const struct gp_vgpu_gpufile *file, u32 index)
{
	struct gp_vgpu_device *device = &server->devices[index];

	gp_vgpu_gpufile_place(&device->file, file, index, server->options.gpu_count);
	device->index = index;
	device->node = index + 1;
	server->device_count = index + 1;
	return make_model(server, device);
}

int gp_vgpu_server_init(struct gp_vgpu_server *server, const struct gp_vgpu_server_options *options,
			const struct gp_vgpu_gpufile *file, const struct gp_vgpu_server_host *host,
			struct gp_diag *diag)
{
	int error = 0;

	*server = (struct gp_vgpu_server){
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
		.home_fd = -1,
		.inotify_fd = -1,
		.reserve_fd = -1,
	};
	if (!options->speed_permille || !options->gpu_count ||
	    options->gpu_count > GP_VGPU_MAX_GPUS)
		return gp_fail(diag, -EINVAL,
			       "the speed must be above 0, and the number of GPUs must be 1 to %d",
			       GP_VGPU_MAX_GPUS);
	server->raw_epoch_ns = host->raw_ns(host->context);
	for (u32 i = 0; i < options->gpu_count && !error; i++)
		error = add_device(server, file, i);
	if (error)
		gp_vgpu_server_fini(server);
	return error;
}

static void free_device(struct gp_vgpu_device *device)
{
	struct gp_vgpu_update *update;
	struct gp_vgpu_queue *queue;

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

void gp_vgpu_server_fini(struct gp_vgpu_server *server)
{
	while (server->processes)
		gp_vgpu_process_remove(server, server->processes);
	gp_vgpu_bury(server);
	for (u32 i = 0; i < server->device_count; i++)
		free_device(&server->devices[i]);
	server->device_count = 0;
	gp_vgpu_smi_close(server);
}

/* ---- the socket ---- */

static int listen_at(struct gp_vgpu_server *server)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = (size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s",
				      server->options.directory, GP_VGPU_SOCKET);

	if (len >= sizeof(address.sun_path))
		return gp_fail(server->diag, -ENAMETOOLONG, "%s: path too long for a socket",
			       server->options.directory);
	server->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server->listen_fd < 0)
		return -errno;
	(void)unlink(address.sun_path);
	if (bind(server->listen_fd, (struct sockaddr *)&address, sizeof(address)) ||
	    chmod(address.sun_path, 0600) || listen(server->listen_fd, BACKLOG))
		return gp_fail(server->diag, -errno, "%s: %s", address.sun_path, strerror(errno));
	return gp_vgpu_watch(server, server->listen_fd, GP_VGPU_WATCH_LISTEN, NULL);
}

int gp_vgpu_server_start(struct gp_vgpu_server *server,
			 const struct gp_vgpu_server_options *options,
			 const struct gp_vgpu_gpufile *file, struct gp_diag *diag)
{
	static const struct gp_vgpu_server_host host = {
		.raw_ns = monotonic_raw,
		.task = read_task,
		.reply = gp_vgpu_connection_reply,
		.write = write_memory,
		.peer = gp_vgpu_server_peer,
	};
	int error = gp_vgpu_server_init(server, options, file, &host, diag);

	if (error)
		return error;
	server->message = malloc(sizeof(struct gp_vgpu_header) + GP_VGPU_PAYLOAD_MAX);
	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!server->message || server->epoll_fd < 0)
		error = -ENOMEM;
	if (!error)
		error = gp_vgpu_tree_create(server);
	if (!error)
		error = listen_at(server);
	if (error)
		gp_vgpu_server_stop(server);
	return error;
}

static void close_if_open(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void gp_vgpu_server_stop(struct gp_vgpu_server *server)
{
	char path[4096];

	for (struct gp_vgpu_connection *c = server->connections; c; c = c->next)
		gp_vgpu_connection_close(server, c);
	gp_vgpu_connections_reap(server);
	gp_vgpu_server_fini(server);
	if (server->listen_fd >= 0 && !server->gone) {
		snprintf(path, sizeof(path), "%s/%s", server->options.directory, GP_VGPU_SOCKET);
		(void)unlink(path);
	}
	close_if_open(&server->listen_fd);
	close_if_open(&server->timer_fd);
	close_if_open(&server->signal_fd);
	close_if_open(&server->home_fd);
	close_if_open(&server->inotify_fd);
	close_if_open(&server->reserve_fd);
	close_if_open(&server->epoll_fd);
	free(server->message);
	server->message = NULL;
}
