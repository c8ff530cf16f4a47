// SPDX-License-Identifier: MIT
/* What one client can take from the others at the door: nothing. */
#include "socket_machine.h"

static int a_stranger(void *context, int fd, pid_t *pid, uid_t *uid)
{
	int error = gp_vgpu_server_peer(context, fd, pid, uid);

	*uid = geteuid() + 1;
	return error;
}

static int start_among_strangers(void **state)
{
	return start_with(state, (struct twist){.peer = a_stranger});
}

#define FEW 24

static int start_with_few_descriptors(void **state)
{
	return start_with(state, (struct twist){.descriptors = FEW});
}

/* ---- a client that was cut off ---- */

/* The client still has its end of the bell: the server must not hear it any more. */
static void ring_after_the_end(struct machine *machine)
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
	if (receive(fd, &(struct got){0}))
		_exit(1);
	for (u32 i = 0; i < 100; i++) {
		struct message status = {
			.header = {.version = GP_VGPU_VERSION, .kind = GP_VGPU_STATUS}};

		/* The other end is closed with the process, a moment after the connection. */
		(void)!send(got.fds[1], &one, sizeof(one), MSG_NOSIGNAL);
		/* A turn of the server's loop for each. */
		fd = dial(machine);
		send_with(fd, &status, NULL, 0);
		if (!receive(fd, &(struct got){0}))
			_exit(5);
		close(fd);
	}
	_exit(0);
}

static void whoever_was_cut_off_can_ring_as_it_likes(void **state)
{
	struct gp_kfd_get_available_memory_args args = {0};
	int fd = dial(*state), status;

	args.gpu_id = join(fd).gpus[0].gpu_id;
	waitpid(other(*state, ring_after_the_end), &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(IOCTL(fd, AVAILABLE_MEMORY, &args), 0);
	close(fd);
}

/* ---- how many, and who ---- */

static void other_users_are_not_let_in(void **state)
{
	int fd = dial(*state);
	struct got got;

	assert_false(receive(fd, &got));
	close(fd);
}

static void come_and_go(struct machine *machine)
{
	join(dial(machine));
}

/* Dials until the server hangs up: how many it took. */
static u32 dial_many(const struct machine *machine, int *fds, u32 most, u64 token)
{
	struct pollfd reader = {.events = POLLIN};
	struct got got;
	u32 count = 0;

	for (; count < most; count++) {
		struct message status = {
			.header = {.version = GP_VGPU_VERSION, .kind = GP_VGPU_STATUS}};

		fds[count] = dial(machine);
		if (token ? !hello(fds[count], token, &got)
			  : send(fds[count], &status, sizeof(status.header), MSG_NOSIGNAL) < 0 ||
				    !receive(fds[count], &got)) {
			close(fds[count]);
			break;
		}
		reader.fd = fds[0];
		assert_int_equal(poll(&reader, 1, 0), 0); /* the first is still there */
	}
	return count;
}

static void a_process_has_so_many_connections_and_no_more(void **state)
{
	static int silent[600], heard[600];
	struct machine *machine = *state;
	int first, status;
	u64 token;
	u32 count;

	count = dial_many(machine, silent, 600, 0);
	assert_int_equal(count, 64);
	/* Others do not notice. */
	waitpid(other(machine, come_and_go), &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	while (count)
		close(silent[--count]);
	do
		first = dial(machine);
	while (!hello(first, 0, &(struct got){0}) && !close(first));
	close(first);
	first = dial(machine);
	token = join(first).token;
	count = dial_many(machine, heard, 600, token);
	assert_int_equal(count, 511);
	while (count)
		close(heard[--count]);
	close(first);
}

static void without_descriptors_the_machine_can_still_be_asked_and_stopped(void **state)
{
	struct message message = {.header = {.version = GP_VGPU_VERSION, .kind = GP_VGPU_STATUS}};
	struct machine *machine = *state;
	int fds[FEW + 8], fd, idle, first = dial(machine);
	u64 token = join(first).token;
	struct got got;

	for (u32 i = 0; i < GP_ARRAY_SIZE(fds); i++)
		fds[i] = dial(machine);
	fd = dial(machine);
	send_with(fd, &message, NULL, 0);
	assert_true(receive(fd, &got));
	assert_false(receive(fd, &got)); /* its moment is over */
	close(fd);
	fd = dial(machine);
	assert_false(hello(fd, 0, &got)); /* there is no room for a process */
	close(fd);
	fd = dial(machine);
	assert_false(hello(fd, token, &got)); /* nor for a thread that would soon be cut off */
	close(fd);
	/* Room again. */
	for (u32 i = 0; i < GP_ARRAY_SIZE(fds); i++)
		close(fds[i]);
	for (idle = 0; idle < 1000; idle++) {
		fd = dial(machine);
		if (hello(fd, 0, &got))
			break;
		close(fd);
	}
	assert_int_equal(got.fd_count, 3);
	drop_descriptors(&got);
	for (u32 i = 0; i < GP_ARRAY_SIZE(fds); i++)
		fds[i] = dial(machine);
	message.header.kind = GP_VGPU_STOP;
	idle = dial(machine);
	send_with(idle, &message, NULL, 0);
	assert_true(receive(idle, &got));
	assert_false(receive(idle, &got));
	for (u32 i = 0; i < GP_ARRAY_SIZE(fds); i++)
		close(fds[i]);
	close(idle);
	close(fd);
	close(first);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(whoever_was_cut_off_can_ring_as_it_likes),
		cmocka_unit_test_setup_teardown(other_users_are_not_let_in, start_among_strangers,
						stop),
		WITH(a_process_has_so_many_connections_and_no_more),
		cmocka_unit_test_setup_teardown(
			without_descriptors_the_machine_can_still_be_asked_and_stopped,
			start_with_few_descriptors, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
