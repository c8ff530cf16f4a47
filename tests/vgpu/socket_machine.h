/* SPDX-License-Identifier: MIT */
/*
 * A server as a process of its own, and what a client of it says, message by message.
 */
#ifndef GP_TEST_SOCKET_MACHINE_H
#define GP_TEST_SOCKET_MACHINE_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "fake_server.h"

#define SPEED (1000 * 1000) /* a thousand times real time: nothing here waits for the GPU */
#define WAIT  10000         /* ms; only a broken server lets it pass */

struct machine {
	char directory[64];
	pid_t server;
};

/* How a server of a test differs from the usual one. */
struct twist {
	rlim_t descriptors; /* 0: as many as there are */
	int (*peer)(void *context, int fd, pid_t *pid, uid_t *uid);
};

static inline void limit_descriptors(rlim_t count)
{
	struct rlimit limit = {count, count};

	if (count)
		(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static inline void serve(const char *directory, int ready, const struct twist *twist)
{
	struct fake_server *fake = calloc(1, sizeof(*fake));
	struct gp_vgpu_gpufile file = fake_gpu(GP_COMPAT);
	struct gp_vgpu_server_options options = {.directory = directory,
						 .speed_permille = SPEED,
						 .gpu_count = 1,
						 .era = GP_ERA_6_12,
						 .preemption_timeout_ms = 9000};
	int error;

	alarm(60);
	limit_descriptors(twist->descriptors);
	error = gp_vgpu_server_start(&fake->server, &options, &file, NULL);
	if (twist->peer)
		fake->server.host.peer = twist->peer;
	if (!error)
		error = gp_vgpu_server_run(&fake->server, ready);
	gp_vgpu_server_stop(&fake->server);
	free(fake);
	exit(error ? 1 : 0); /* not _exit(): leaks are looked for, coverage is written */
}

static inline int start_with(void **state, struct twist twist)
{
	struct machine *machine = calloc(1, sizeof(*machine));
	int ready[2];
	char byte;

	assert_non_null(place_make(machine->directory, sizeof(machine->directory)));
	assert_int_equal(pipe(ready), 0);
	machine->server = fork();
	if (!machine->server) {
		close(ready[0]);
		serve(machine->directory, ready[1], &twist);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	*state = machine;
	return 0;
}

static inline int start(void **state)
{
	return start_with(state, (struct twist){0});
}

static inline int stop(void **state)
{
	struct machine *machine = *state;
	int status;

	kill(machine->server, SIGTERM);
	waitpid(machine->server, &status, 0);
	place_remove(machine->directory);
	free(machine);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* ---- a client ---- */

static inline int dial(const struct machine *machine)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/" GP_VGPU_SOCKET,
		 machine->directory);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

struct message {
	struct gp_vgpu_header header;
	u8 payload[64];
};

static inline void send_with(int fd, const struct message *message, const int *fds, u32 count)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {0};
	struct iovec part = {(void *)message,
			     sizeof(message->header) + message->header.payload_size};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *rights;

	if (count) {
		header.msg_control = control;
		header.msg_controllen = CMSG_SPACE(count * sizeof(int));
		rights = CMSG_FIRSTHDR(&header);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(rights), fds, count * sizeof(int));
	}
	/* A server that has hung up already is what receive() finds. */
	if (sendmsg(fd, &header, MSG_NOSIGNAL) < 0)
		assert_true(errno == EPIPE || errno == ECONNRESET);
}

struct got {
	struct gp_vgpu_reply reply;
	u8 payload[4096];
	int fds[4];
	u32 fd_count;
};

/* False when the server has hung up. */
static inline bool receive(int fd, struct got *got)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
	struct iovec parts[] = {{&got->reply, sizeof(got->reply)},
				{got->payload, sizeof(got->payload)}};
	struct msghdr header = {.msg_iov = parts,
				.msg_iovlen = 2,
				.msg_control = control,
				.msg_controllen = sizeof(control)};
	struct pollfd reader = {.fd = fd, .events = POLLIN};
	struct cmsghdr *rights;
	ssize_t len;

	got->fd_count = 0;
	assert_int_equal(poll(&reader, 1, WAIT), 1);
	len = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
	if (len <= 0)
		return false;
	assert_int_equal(len, sizeof(got->reply) + got->reply.payload_size);
	rights = CMSG_FIRSTHDR(&header);
	if (rights) {
		got->fd_count = (u32)((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(got->fds, CMSG_DATA(rights), got->fd_count * sizeof(int));
	}
	return true;
}

static inline bool hello(int fd, u64 token, struct got *got)
{
	struct message message = {.header = {.version = GP_VGPU_VERSION,
					     .kind = GP_VGPU_HELLO,
					     .payload_size = sizeof(struct gp_vgpu_hello)}};

	memcpy(message.payload, &token, sizeof(token));
	send_with(fd, &message, NULL, 0);
	return receive(fd, got);
}

static inline struct message ioctl_message(u32 nr, const void *args, u32 size)
{
	struct message message = {.header = {.version = GP_VGPU_VERSION,
					     .kind = GP_VGPU_IOCTL,
					     .sequence = 7,
					     .tid = getpid(),
					     .ioctl_nr = nr,
					     .args_size = size}};

	memcpy(message.header.args, args, size);
	return message;
}

static inline s32 call_with(int fd, u32 nr, void *args, u32 size, int pass)
{
	struct message message = ioctl_message(nr, args, size);
	struct got got;

	send_with(fd, &message, &pass, pass >= 0);
	assert_true(receive(fd, &got));
	assert_int_equal(got.reply.sequence, 7);
	memcpy(args, got.reply.args, size);
	return got.reply.result;
}

#define IOCTL(fd_, request, args) \
	call_with(fd_, _IOC_NR(GP_KFD_IOC_##request), args, sizeof(*(args)), -1)

static inline void drop_descriptors(const struct got *got)
{
	for (u32 i = 0; i < got->fd_count; i++)
		close(got->fds[i]);
}

/* A process of its own on the machine; what it does ends with it. */
static inline struct gp_vgpu_welcome join(int fd)
{
	struct gp_vgpu_welcome welcome;
	struct got got;

	assert_true(hello(fd, 0, &got));
	memcpy(&welcome, got.payload, sizeof(welcome));
	drop_descriptors(&got);
	return welcome;
}

static inline struct gp_kfd_create_queue_args new_queue(u32 id)
{
	return (struct gp_kfd_create_queue_args){.ring_base_address = 0x10000,
						 .ring_size = 4096,
						 .gpu_id = id,
						 .queue_type = GP_KFD_QUEUE_COMPUTE_AQL,
						 .queue_percentage = 100,
						 .queue_priority = 7};
}

/* Runs `act` in a process of its own, as another client. */
static inline pid_t other(struct machine *machine, void (*act)(struct machine *machine))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	alarm(30);
	act(machine);
	_exit(0);
}

#endif
