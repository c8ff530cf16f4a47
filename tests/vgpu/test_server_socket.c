// SPDX-License-Identifier: MIT
/* The server as a process of its own: framing, descriptors, several clients, bad ones, signals. */
#include <fcntl.h>

#include "socket_machine.h"

static void hello_gives_a_token_and_three_descriptors(void **state)
{
	int first = dial(*state), second = dial(*state), wrong = dial(*state);
	struct gp_vgpu_welcome welcome;
	struct gp_vgpu_shared *shared;
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
	struct gp_vgpu_welcome welcome;
	struct gp_kfd_create_queue_args args;
	struct gp_vgpu_shared *shared;
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
		assert_true(read(done.fd, &one, sizeof(one)) > 0);
	}
	assert_int_equal(shared->done[0].kind, GP_VGPU_LAUNCHED);
	assert_int_equal(shared->done[1].kind, GP_VGPU_COMPLETED);
	assert_int_equal(shared->done[1].tag, 42);
	assert_true(shared->done[1].start_raw_ns > welcome.raw_epoch_ns);
	munmap(shared, sizeof(*shared));
	drop_descriptors(&got);
	close(fd);
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
	struct gp_vgpu_shared *shared;
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

/* No more rings for this one: it would be there to read for ever. */
static void shut_the_bell_down(struct machine *machine)
{
	int fd = dial(machine);
	struct got got;

	if (!hello(fd, 0, &got) || shutdown(got.fds[1], SHUT_WR))
		_exit(2);
	_exit(receive(fd, &got) ? 1 : 0);
}

/* Everything the client has is set to block, full, and never read. */
static void stuff_the_bell(struct machine *machine)
{
	struct gp_kfd_get_available_memory_args args = {0};
	struct gp_vgpu_welcome welcome;
	struct gp_kfd_create_queue_args queue;
	struct gp_vgpu_shared *shared;
	char bytes[4096] = {0};
	int fd = dial(machine);
	struct got got;

	if (!hello(fd, 0, &got))
		_exit(2);
	memcpy(&welcome, got.payload, sizeof(welcome));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, got.fds[0], 0);
	while (send(got.fds[1], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	for (u32 i = 1; i < 3; i++)
		if (fcntl(got.fds[i], F_SETFL, fcntl(got.fds[i], F_GETFL) & ~O_NONBLOCK))
			_exit(3);
	queue = new_queue(welcome.gpus[0].gpu_id);
	args.gpu_id = queue.gpu_id;
	if (IOCTL(fd, CREATE_QUEUE, &queue))
		_exit(4);
	/* A done for each of 2000 packets, which nobody reads from the bell. */
	for (u32 i = 0; i < 2000; i++) {
		shared->work[i % GP_VGPU_WORK_SLOTS] = kernel(0, i, 1000);
		__atomic_store_n(&shared->work_ring.produced, i + 1, __ATOMIC_RELEASE);
		(void)!send(got.fds[1], bytes, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (IOCTL(fd, AVAILABLE_MEMORY, &args))
			_exit(5);
	}
	_exit(0);
}

static void nothing_of_a_client_makes_the_server_wait(void **state)
{
	struct gp_kfd_get_available_memory_args args = {0};
	int fd = dial(*state), status;

	args.gpu_id = join(fd).gpus[0].gpu_id;
	waitpid(other(*state, stuff_the_bell), &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(IOCTL(fd, AVAILABLE_MEMORY, &args), 0);
	close(fd);
}

/* A debugger's pipe that is full, and set to block by its owner again and again. */
static void a_full_pipe_of_a_debugger_does_not_stop_the_server(void **state)
{
	int fd = dial(*state), ends[2];
	struct gp_kfd_dbg_trap_args enable = {.pid = (u32)getpid(), .op = GP_KFD_DBG_ENABLE};
	struct gp_kfd_create_queue_args queue;
	struct gp_kfd_get_available_memory_args args = {0};
	char bytes[4096] = {0};

	queue = new_queue(join(fd).gpus[0].gpu_id);
	args.gpu_id = queue.gpu_id;
	assert_int_equal(pipe(ends), 0);
	enable.enable.exception_mask = ~0ull;
	assert_int_equal(call_with(fd, _IOC_NR(GP_KFD_IOC_DBG_TRAP), &enable, sizeof(enable),
				   ends[1]),
			 0);
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	while (write(ends[1], bytes, sizeof(bytes)) > 0 || write(ends[1], bytes, 1) > 0)
		;
	fcntl(ends[1], F_SETFL, 0);
	for (u32 i = 0; i < 4; i++) {
		assert_int_equal(IOCTL(fd, CREATE_QUEUE, &queue), 0); /* tells of a new queue */
		assert_int_equal(IOCTL(fd, AVAILABLE_MEMORY, &args), 0);
	}
	close(ends[0]);
	close(ends[1]);
	close(fd);
}

static void smi_descriptors_are_counted(void **state)
{
	struct gp_kfd_smi_events_args args = {0};
	int fd = dial(*state), kept[33];
	struct message message;
	struct got got;

	args.gpuid = join(fd).gpus[0].gpu_id;
	message = ioctl_message(_IOC_NR(GP_KFD_IOC_SMI_EVENTS), &args, sizeof(args));
	for (u32 i = 0; i < 32; i++) {
		send_with(fd, &message, NULL, 0);
		assert_true(receive(fd, &got));
		assert_int_equal(got.reply.result, 0);
		assert_int_equal(got.fd_count, 1);
		kept[i] = got.fds[0];
	}
	send_with(fd, &message, NULL, 0);
	assert_true(receive(fd, &got));
	assert_int_equal(got.reply.result, -EMFILE);
	/* One that was closed makes room. */
	close(kept[31]);
	send_with(fd, &message, NULL, 0);
	assert_true(receive(fd, &got));
	assert_int_equal(got.reply.result, 0);
	drop_descriptors(&got);
	for (u32 i = 0; i < 31; i++)
		close(kept[i]);
	close(fd);
}

static void clients_that_lie_are_cut_off_and_others_do_not_notice(void **state)
{
	void (*const liars[])(struct machine *) = {babble, show_four_descriptors, call_before_hello,
						   overflow_ring, shut_the_bell_down};
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
	struct gp_vgpu_welcome old = join(before), new = join(after);
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
	struct gp_vgpu_welcome welcome = join(first);
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
	message.header.kind = GP_VGPU_CANCEL;
	send_with(fd, &message, NULL, 0);
	assert_true(receive(fd, &got));
	assert_int_equal(got.reply.result, -EINTR);
	close(fd);
	close(first);
}

static void status_refresh_and_stop_need_no_hello(void **state)
{
	struct machine *machine = *state;
	struct message message = {.header = {.version = GP_VGPU_VERSION, .kind = GP_VGPU_STATUS}};
	int fd = dial(machine);
	struct got got;

	send_with(fd, &message, NULL, 0);
	assert_true(receive(fd, &got));
	assert_int_equal(got.reply.payload_size, 2);
	message.header.kind = GP_VGPU_REFRESH;
	message.header.payload_size = 4;
	memcpy(message.payload, "/sys", 4);
	send_with(fd, &message, NULL, 0);
	assert_true(receive(fd, &got));
	assert_int_equal(got.reply.result, 0);
	message.header = (struct gp_vgpu_header){.version = GP_VGPU_VERSION, .kind = GP_VGPU_STOP};
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
		WITH(nothing_of_a_client_makes_the_server_wait),
		WITH(a_full_pipe_of_a_debugger_does_not_stop_the_server),
		WITH(smi_descriptors_are_counted),
		WITH(clients_that_lie_are_cut_off_and_others_do_not_notice),
		WITH(a_second_hello_without_a_token_is_a_new_image),
		WITH(a_signal_reaches_a_blocked_destroy),
		WITH(status_refresh_and_stop_need_no_hello),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
