/* The server as a process of its own: framing, descriptors, several clients, bad ones, signals. */
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "fake_vm.h"

#define SPEED (1000 * 1000) /* a thousand times real time: nothing here waits for the GPU */
#define WAIT  10000         /* ms; only a broken server lets it pass */

struct machine {
	char directory[64];
	pid_t server;
};

static void serve(const char *directory, int ready)
{
	struct fake_vm *fake = calloc(1, sizeof(*fake));
	struct gp_gpufile file = fake_gpu(GP_COMPAT);
	struct gp_vm_options options = {.directory = directory,
					.speed_permille = SPEED,
					.gpu_count = 1,
					.era = GP_ERA_6_12,
					.preemption_timeout_ms = 9000};
	int error;

	alarm(60);
	error = gp_vm_start(&fake->vm, &options, &file, NULL);
	if (!error)
		error = gp_vm_run(&fake->vm, ready);
	gp_vm_stop(&fake->vm);
	free(fake);
	exit(error ? 1 : 0); /* not _exit(): leaks are looked for, coverage is written */
}

static int start(void **state)
{
	struct machine *machine = calloc(1, sizeof(*machine));
	int ready[2];
	char byte;

	strcpy(machine->directory, "/tmp/gp-server-XXXXXX");
	assert_non_null(mkdtemp(machine->directory));
	assert_int_equal(pipe(ready), 0);
	machine->server = fork();
	if (!machine->server) {
		close(ready[0]);
		serve(machine->directory, ready[1]);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	*state = machine;
	return 0;
}

static int stop(void **state)
{
	struct machine *machine = *state;
	int status;

	kill(machine->server, SIGTERM);
	waitpid(machine->server, &status, 0);
	rmdir(machine->directory);
	free(machine);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* ---- a client ---- */

static int dial(const struct machine *machine)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/" GP_VKFD_SOCKET,
		 machine->directory);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

struct message {
	struct gp_vkfd_request header;
	u8 payload[64];
};

static void send_with(int fd, const struct message *message, const int *fds, u32 count)
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
	assert_true(sendmsg(fd, &header, MSG_NOSIGNAL) > 0);
}

struct got {
	struct gp_vkfd_reply reply;
	u8 payload[4096];
	int fds[4];
	u32 fd_count;
};

/* False when the server has hung up. */
static bool receive(int fd, struct got *got)
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

static bool hello(int fd, u64 token, struct got *got)
{
	struct message message = {.header = {.version = GP_VKFD_VERSION,
					     .kind = GP_VKFD_HELLO,
					     .payload_size = sizeof(struct gp_vkfd_hello)}};

	memcpy(message.payload, &token, sizeof(token));
	send_with(fd, &message, NULL, 0);
	return receive(fd, got);
}

static struct message ioctl_message(u32 nr, const void *args, u32 size)
{
	struct message message = {.header = {.version = GP_VKFD_VERSION,
					     .kind = GP_VKFD_IOCTL,
					     .sequence = 7,
					     .tid = getpid(),
					     .ioctl_nr = nr,
					     .args_size = size}};

	memcpy(message.header.args, args, size);
	return message;
}

static s32 call_with(int fd, u32 nr, void *args, u32 size, int pass)
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

static void drop_descriptors(const struct got *got)
{
	for (u32 i = 0; i < got->fd_count; i++)
		close(got->fds[i]);
}

/* A process of its own on the machine; what it does ends with it. */
static struct gp_vkfd_welcome join(int fd)
{
	struct gp_vkfd_welcome welcome;
	struct got got;

	assert_true(hello(fd, 0, &got));
	memcpy(&welcome, got.payload, sizeof(welcome));
	drop_descriptors(&got);
	return welcome;
}

static struct gp_kfd_create_queue_args new_queue(u32 id)
{
	return (struct gp_kfd_create_queue_args){.ring_base_address = 0x10000,
						 .ring_size = 4096,
						 .gpu_id = id,
						 .queue_type = GP_KFD_QUEUE_COMPUTE_AQL,
						 .queue_percentage = 100,
						 .queue_priority = 7};
}

/* ---- tests ---- */

static void hello_gives_a_token_and_three_descriptors(void **state)
{
	int first = dial(*state), second = dial(*state), wrong = dial(*state);
	struct gp_vkfd_welcome welcome;
	struct gp_vkfd_shared *shared;
	struct got got;

	assert_true(hello(first, 0, &got));
	memcpy(&welcome, got.payload, sizeof(welcome));
	assert_int_equal(got.fd_count, 3);
	assert_int_equal(welcome.gpu_count, 1);
	assert_int_equal(welcome.kfd_minor, 17);
	assert_int_equal(welcome.speed_permille, SPEED);
	assert_int_equal(welcome.shared_bytes, sizeof(*shared));
	/* A client cannot pull the memory from under the server. */
	assert_int_equal(ftruncate(got.fds[0], 0), -1);
	drop_descriptors(&got);
	assert_true(hello(second, welcome.token, &got));
	assert_int_equal(got.fd_count, 0);
	assert_false(hello(wrong, welcome.token + 1, &got));
	close(first);
	close(second);
	close(wrong);
}

static void packets_come_back_through_the_rings(void **state)
{
	int fd = dial(*state);
	struct gp_vkfd_welcome welcome;
	struct gp_kfd_create_queue_args args;
	struct gp_vkfd_shared *shared;
	struct pollfd done = {.events = POLLIN};
	struct got got;
	u64 one = 1;

	assert_true(hello(fd, 0, &got));
	memcpy(&welcome, got.payload, sizeof(welcome));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, got.fds[0], 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	args = new_queue(welcome.gpus[0].gpu_id);
	assert_int_equal(IOCTL(fd, CREATE_QUEUE, &args), 0);
	assert_int_equal(args.queue_id, 0);
	shared->work[0] = kernel(0, 42, MS);
	__atomic_store_n(&shared->work_ring.produced, 1, __ATOMIC_RELEASE);
	assert_int_equal(write(got.fds[1], &one, sizeof(one)), sizeof(one));
	done.fd = got.fds[2];
	while (__atomic_load_n(&shared->done_ring.produced, __ATOMIC_ACQUIRE) < 2) {
		assert_int_equal(poll(&done, 1, WAIT), 1);
		assert_int_equal(read(done.fd, &one, sizeof(one)), sizeof(one));
	}
	assert_int_equal(shared->done[0].kind, GP_VKFD_LAUNCHED);
	assert_int_equal(shared->done[1].kind, GP_VKFD_COMPLETED);
	assert_int_equal(shared->done[1].tag, 42);
	assert_true(shared->done[1].start_raw_ns > welcome.raw_epoch_ns);
	munmap(shared, sizeof(*shared));
	drop_descriptors(&got);
	close(fd);
}

/* Runs `act` in a process of its own, as another client. */
static pid_t other(struct machine *machine, void (*act)(struct machine *machine))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	alarm(30);
	act(machine);
	_exit(0);
}

static void hog(struct machine *machine)
{
	struct gp_kfd_alloc_memory_of_gpu_args alloc = {.size = 60ull << 20,
							.flags = GP_KFD_ALLOC_VRAM};
	int fd = dial(machine);
	u32 id = join(fd).gpus[0].gpu_id;
	struct gp_kfd_create_queue_args args = new_queue(id);

	alloc.gpu_id = id;
	if (IOCTL(fd, CREATE_QUEUE, &args) || IOCTL(fd, ALLOC_MEMORY_OF_GPU, &alloc))
		_exit(1);
	kill(getpid(), SIGKILL);
}

static void a_killed_client_gives_its_memory_back(void **state)
{
	struct gp_kfd_alloc_memory_of_gpu_args alloc = {.size = 60ull << 20,
							.flags = GP_KFD_ALLOC_VRAM};
	int fd = dial(*state), status, tries = 0;
	s32 result = -ENOMEM;

	alloc.gpu_id = join(fd).gpus[0].gpu_id;
	waitpid(other(*state, hog), &status, 0);
	assert_true(WIFSIGNALED(status));
	/* It has ended; the server hears of it in its own time. */
	while (result == -ENOMEM && tries++ < 100000)
		result = IOCTL(fd, ALLOC_MEMORY_OF_GPU, &alloc);
	assert_int_equal(result, 0);
	close(fd);
}

static void babble(struct machine *machine)
{
	int fd = dial(machine);
	struct got got;

	join(fd);
	send(fd, "nonsense", 8, MSG_NOSIGNAL);
	_exit(receive(fd, &got) ? 1 : 0);
}

static void show_four_descriptors(struct machine *machine)
{
	struct gp_kfd_get_available_memory_args args = {0};
	struct message message = ioctl_message(0x23, &args, sizeof(args));
	int fd = dial(machine), fds[4] = {0, 1, 2, 2};
	struct got got;

	join(fd);
	send_with(fd, &message, fds, 4);
	_exit(receive(fd, &got) ? 1 : 0);
}

static void call_before_hello(struct machine *machine)
{
	struct gp_kfd_get_available_memory_args args = {0};
	struct message message = ioctl_message(0x23, &args, sizeof(args));
	int fd = dial(machine);
	struct got got;

	send_with(fd, &message, NULL, 0);
	_exit(receive(fd, &got) ? 1 : 0);
}

static void overflow_ring(struct machine *machine)
{
	int fd = dial(machine);
	struct gp_vkfd_shared *shared;
	struct got got;
	u64 one = 1;

	if (!hello(fd, 0, &got))
		_exit(2);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, got.fds[0], 0);
	shared->work_ring.produced = 1u << 31;
	if (write(got.fds[1], &one, sizeof(one)) != sizeof(one))
		_exit(3);
	_exit(receive(fd, &got) ? 1 : 0);
}

static void clients_that_lie_are_cut_off_and_others_do_not_notice(void **state)
{
	void (*const liars[])(struct machine *) = {babble, show_four_descriptors, call_before_hello,
						   overflow_ring};
	struct gp_kfd_get_available_memory_args args = {0};
	int fd = dial(*state), status;

	args.gpu_id = join(fd).gpus[0].gpu_id;
	for (u32 i = 0; i < GP_ARRAY_SIZE(liars); i++) {
		waitpid(other(*state, liars[i]), &status, 0);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
		assert_int_equal(IOCTL(fd, AVAILABLE_MEMORY, &args), 0);
	}
	close(fd);
}

static void a_second_hello_without_a_token_is_a_new_image(void **state)
{
	int before = dial(*state), after = dial(*state);
	struct gp_vkfd_welcome old = join(before), new = join(after);
	struct gp_kfd_create_queue_args args = new_queue(new.gpus[0].gpu_id);
	struct got got;

	assert_true(old.token != new.token);
	assert_false(receive(before, &got));
	assert_int_equal(IOCTL(after, CREATE_QUEUE, &args), 0);
	assert_int_equal(args.queue_id, 0);
	close(before);
	close(after);
}

static s32 trap_self(int fd, struct gp_kfd_dbg_trap_args *args, int pass)
{
	args->pid = (u32)getpid();
	return call_with(fd, _IOC_NR(GP_KFD_IOC_DBG_TRAP), args, sizeof(*args), pass);
}

static void a_signal_reaches_a_blocked_destroy(void **state)
{
	int fd = dial(*state), first = dial(*state);
	struct gp_vkfd_welcome welcome = join(first);
	struct gp_kfd_create_queue_args queue = new_queue(welcome.gpus[0].gpu_id);
	struct gp_kfd_runtime_enable_args runtime = {.mode_mask = 1};
	struct gp_kfd_dbg_trap_args args = {.op = GP_KFD_DBG_ENABLE};
	struct gp_kfd_destroy_queue_args target = {0};
	struct message message;
	struct got got;
	u32 zero = 0;

	assert_true(hello(fd, welcome.token, &got));
	assert_int_equal(IOCTL(fd, RUNTIME_ENABLE, &runtime), 0);
	assert_int_equal(IOCTL(fd, CREATE_QUEUE, &queue), 0);
	assert_int_equal(trap_self(fd, &args, 2), 0);
	args = (struct gp_kfd_dbg_trap_args){.op = GP_KFD_DBG_GET_QUEUE_SNAPSHOT,
					     .queue_snapshot = {NEW_MASK, 0, 1, 64}};
	assert_int_equal(trap_self(fd, &args, -1), 0);
	args = (struct gp_kfd_dbg_trap_args){.pid = (u32)getpid(),
					     .op = GP_KFD_DBG_SUSPEND_QUEUES,
					     .suspend_queues = {.num_queues = 1}};
	message = ioctl_message(_IOC_NR(GP_KFD_IOC_DBG_TRAP), &args, sizeof(args));
	message.header.payload_size = sizeof(zero);
	memcpy(message.payload, &zero, sizeof(zero));
	send_with(fd, &message, NULL, 0);
	assert_true(receive(fd, &got));
	assert_int_equal(got.reply.result, 1);
	assert_int_equal(got.reply.payload_size, sizeof(zero));
	message = ioctl_message(_IOC_NR(GP_KFD_IOC_DESTROY_QUEUE), &target, sizeof(target));
	send_with(fd, &message, NULL, 0);
	message.header.kind = GP_VKFD_CANCEL;
	send_with(fd, &message, NULL, 0);
	assert_true(receive(fd, &got));
	assert_int_equal(got.reply.result, -EINTR);
	close(fd);
	close(first);
}

static void status_refresh_and_stop_need_no_hello(void **state)
{
	struct machine *machine = *state;
	struct message message = {.header = {.version = GP_VKFD_VERSION, .kind = GP_VKFD_STATUS}};
	int fd = dial(machine);
	struct got got;

	send_with(fd, &message, NULL, 0);
	assert_true(receive(fd, &got));
	assert_int_equal(got.reply.payload_size, 2);
	message.header.kind = GP_VKFD_REFRESH;
	message.header.payload_size = 4;
	memcpy(message.payload, "/sys", 4);
	send_with(fd, &message, NULL, 0);
	assert_true(receive(fd, &got));
	assert_int_equal(got.reply.result, 0);
	message.header = (struct gp_vkfd_request){.version = GP_VKFD_VERSION, .kind = GP_VKFD_STOP};
	send_with(fd, &message, NULL, 0);
	assert_true(receive(fd, &got));
	assert_false(receive(fd, &got));
	close(fd);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(hello_gives_a_token_and_three_descriptors),
		WITH(packets_come_back_through_the_rings),
		WITH(a_killed_client_gives_its_memory_back),
		WITH(clients_that_lie_are_cut_off_and_others_do_not_notice),
		WITH(a_second_hello_without_a_token_is_a_new_image),
		WITH(a_signal_reaches_a_blocked_destroy),
		WITH(status_refresh_and_stop_need_no_hello),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
