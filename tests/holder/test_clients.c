// SPDX-License-Identifier: MIT
/* Clients that break the rules, and those that wait for their turn. */
#include "fixture.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

static void hello_comes_first(void **state)
{
	struct client *client = scene_stranger(&scene);
	struct gp_proto_msg_target body = {0};

	(void)state;
	assert_int_equal(ask(&scene, client, GP_MSG_RENEW, &body, sizeof(body), -1), -ECONNRESET);
	client_close(client);
}

static void wrong_sizes_end_the_connection(void **state)
{
	static const u16 types[] = {GP_MSG_OPEN,     GP_MSG_CLOSE, GP_MSG_INFO,    GP_MSG_QUEUES,
				    GP_MSG_SUSPEND,  GP_MSG_RENEW, GP_MSG_RESUME,  GP_MSG_HOLDS,
				    GP_MSG_PRIORITY, GP_MSG_SHARE, GP_MSG_RELEASE, 4711};
	u8 body[4096] = {0};
	struct client *other = scene_client(&scene);

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(types); i++)
		for (size_t size = 1; size < sizeof(body); size = size * 3 + 1) {
			struct client *client = scene_client(&scene);

			assert_int_equal(ask(&scene, client, types[i], body, size, -1),
					 -ECONNRESET);
			client_close(client);
		}
	/* Nobody else notices. */
	assert_true(open_self(&scene, other, 0) > 0);
	client_close(other);
}

static void a_client_of_another_version_is_refused(void **state)
{
	struct client *old = scene_stranger(&scene), *other = scene_client(&scene);
	struct {
		struct gp_proto_msg header;
		struct gp_proto_msg_hello body;
	} hello = {
		.header = {.version = 1, .type = GP_MSG_HELLO, .size = sizeof(hello), .serial = 1}};
	struct {
		struct gp_proto_msg header;
		struct gp_proto_msg_refusal body;
	} got;

	(void)state;
	assert_int_equal(send(old->fd, &hello, sizeof(hello), 0), sizeof(hello));
	while (recv(old->fd, &got, sizeof(got), MSG_DONTWAIT) < 0)
		gp_holder_step(&scene.holder, 10);
	assert_int_equal(got.header.version, 1);
	assert_int_equal(got.header.status, -EPROTONOSUPPORT);
	assert_non_null(strstr(got.body.text, "restart"));
	assert_int_equal(recv(old->fd, &got, sizeof(got), MSG_DONTWAIT), 0);
	assert_true(open_self(&scene, other, 0) > 0);
	client_close(old);
	client_close(other);
}

static void lying_count_ends_the_connection(void **state)
{
	struct gp_proto_msg_suspend body = {.count = 5};
	struct client *client = scene_client(&scene);

	(void)state;
	assert_int_equal(ask(&scene, client, GP_MSG_SUSPEND, &body, sizeof(body), -1), -ECONNRESET);
	client_close(client);
}

static void serial_0_is_for_events(void **state)
{
	struct client *client = scene_client(&scene);
	struct gp_proto_msg_target body = {0};

	(void)state;
	client->serial = UINT32_MAX;
	assert_int_equal(ask(&scene, client, GP_MSG_RENEW, &body, sizeof(body), -1), -ECONNRESET);
	client_close(client);
}

static void values_out_of_range_are_refused(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);
	struct gp_proto_msg_value value = {.target = (u32)target, .value = 65536};
	struct gp_proto_msg_suspend body = {.target = (u32)target, .grace = 256};

	(void)state;
	assert_int_equal(suspend(&scene, client, target, 49, 0), -EINVAL);
	assert_int_equal(suspend(&scene, client, target, 50, 3600001), -EINVAL);
	assert_int_equal(ask(&scene, client, GP_MSG_SUSPEND, &body, sizeof(body), -1), -EINVAL);
	assert_int_equal(suspend(&scene, client, target + 1, 0, 0), -EBADF);
	assert_int_equal(ask(&scene, client, GP_MSG_PRIORITY, &value, sizeof(value), -1), -EINVAL);
	value.value = 1001;
	assert_int_equal(ask(&scene, client, GP_MSG_SHARE, &value, sizeof(value), -1), -EINVAL);
	value.value = 0;
	assert_int_equal(ask(&scene, client, GP_MSG_SHARE, &value, sizeof(value), -1), -EINVAL);
	assert_int_equal(fake.suspends, 0);
	client_close(client);
}

static int suspend_with_copies(struct client *client, int target)
{
	struct gp_proto_msg_suspend body = {.target = (u32)target,
					    .lease_ms = LONG_LEASE,
					    .limit_ms = LONG_LEASE,
					    .flags = GP_SUSPEND_COPIES};

	return ask(&scene, client, GP_MSG_SUSPEND, &body, sizeof(body), -1);
}

static u32 info_flags(struct client *client, int target)
{
	assert_int_equal(target_call(&scene, client, GP_MSG_INFO, target), 0);
	return ((const struct gp_proto_msg_info *)client->message.body)->flags;
}

static void copies_stand_still_while_anybody_wants_it(void **state)
{
	struct client *first = scene_client(&scene), *second = scene_client(&scene);
	int a = open_self(&scene, first, 0), b = open_self(&scene, second, 0);

	(void)state;
	assert_int_equal(suspend(&scene, first, a, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	assert_false(fake.copies);
	assert_int_equal(info_flags(first, a), 0);
	assert_int_equal(suspend_with_copies(second, b), FAKE_QUEUES);
	assert_true(fake.copies);
	assert_int_equal(info_flags(first, a), GP_SUSPEND_COPIES);
	assert_int_equal(target_call(&scene, first, GP_MSG_HOLDS, 0), 2);
	assert_int_equal(((const struct gp_proto_msg_holds *)first->message.body)->holds[0].flags,
			 0);
	assert_int_equal(((const struct gp_proto_msg_holds *)first->message.body)->holds[1].flags,
			 GP_SUSPEND_COPIES);
	assert_int_equal(resume(&scene, second, b), 0); /* the first still holds the queues */
	assert_false(fake.copies);
	assert_true(fake.suspended[0]);
	/* The last word of one client counts. */
	assert_int_equal(suspend_with_copies(first, a), FAKE_QUEUES);
	assert_true(fake.copies);
	assert_int_equal(suspend(&scene, first, a, LONG_LEASE, LONG_LEASE), FAKE_QUEUES);
	assert_false(fake.copies);
	client_close(first);
	client_close(second);
}

static void copies_are_of_the_whole_process(void **state)
{
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0), gpu = open_self(&scene, client, 100);
	u64 room[(sizeof(struct gp_proto_msg_suspend) + sizeof(u64)) / sizeof(u64)] = {0};
	struct gp_proto_msg_suspend *body = (void *)room;

	(void)state;
	assert_int_equal(suspend_with_copies(client, gpu), -EINVAL);
	*body = (struct gp_proto_msg_suspend){.target = (u32)target,
					      .flags = GP_SUSPEND_COPIES,
					      .count = 1};
	assert_int_equal(ask(&scene, client, GP_MSG_SUSPEND, body, sizeof(*body) + sizeof(u32), -1),
			 -EINVAL);
	*body = (struct gp_proto_msg_suspend){.target = (u32)target, .flags = 4};
	assert_int_equal(ask(&scene, client, GP_MSG_SUSPEND, body, sizeof(*body), -1), -EINVAL);
	assert_int_equal(fake.suspends, 0);
	client_close(client);
}

static void open_without_a_pidfd_is_refused(void **state)
{
	struct client *client = scene_client(&scene);
	struct gp_proto_msg_open body = {0};
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(ask(&scene, client, GP_MSG_OPEN, &body, sizeof(body), -1), -EBADF);
	assert_int_equal(ask(&scene, client, GP_MSG_OPEN, &body, sizeof(body), null), -EBADF);
	close(null);
	client_close(client);
}

static void too_many_targets_are_refused(void **state)
{
	struct client *client = scene_client(&scene);
	int last = 0, limit = geteuid() ? GP_HOLDER_TARGETS : GP_HOLDER_MEMBERS;

	(void)state;
	for (int i = 0; i < limit; i++)
		assert_true((last = open_self(&scene, client, 0)) > 0);
	assert_int_equal(open_self(&scene, client, 0), -EMFILE);
	assert_int_equal(target_call(&scene, client, GP_MSG_CLOSE, last), 0);
	assert_true(open_self(&scene, client, 0) > 0);
	assert_int_equal(scene.holder.member_count, 1); /* one process, one worker */
	client_close(client);
}

/* Asks and never reads: it is cut off, the holder goes on. */
static void who_does_not_read_is_cut_off(void **state)
{
	struct client *silent = scene_client(&scene), *other = scene_client(&scene);
	struct gp_proto_msg_target body = {0};
	bool sent = true;

	(void)state;
	for (int i = 0; i < 200000 && scene.holder.connection_count == 2; i++) {
		sent = gp_wire_send(silent->fd, GP_MSG_HOLDS, ++silent->serial, 0, &body,
				    sizeof(body), -1) == 0;
		gp_holder_step(&scene.holder, 0);
	}
	(void)sent;
	assert_int_equal(scene.holder.connection_count, 1);
	assert_true(open_self(&scene, other, 0) > 0);
	client_close(silent);
	client_close(other);
}

static void answers_come_in_order(void **state)
{
	int gate[2];
	struct client *client = scene_client(&scene);
	int target = open_self(&scene, client, 0);
	struct gp_proto_msg_suspend body = {.target = (u32)target, .lease_ms = LONG_LEASE};
	struct gp_proto_msg_target ask_info = {.target = (u32)target};

	(void)state;
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	fake.gate = gate[0];
	tell(client, GP_MSG_SUSPEND, &body, sizeof(body), -1);
	u32 first = client->serial;
	for (int i = 0; i < 10; i++)
		tell(client, GP_MSG_INFO, &ask_info, sizeof(ask_info), -1);
	UNTIL(&scene, fake.suspends == 1);
	for (int i = 0; i < 20; i++)
		gp_holder_step(&scene.holder, 0);
	assert_int_equal(gp_wire_receive(client->fd, &client->message, 0), -EAGAIN);
	assert_int_equal(write(gate[1], "x", 1), 1);
	for (u32 i = 0; i < 11; i++) {
		assert_true(answer(&scene, client) >= 0);
		assert_int_equal(client->message.header.serial, first + i);
	}
	close(gate[0]);
	close(gate[1]);
	fake.gate = -1;
	client_close(client);
}

/* A client with more requests than its share waits; the others do not. */
static void a_flood_waits_by_itself(void **state)
{
	int gate[2];
	struct client *flood = scene_client(&scene), *other = scene_client(&scene);
	int target = open_self(&scene, flood, 0);
	struct gp_proto_msg_suspend body = {.target = (u32)target, .lease_ms = LONG_LEASE};
	u32 sent = 0;

	(void)state;
	assert_int_equal(pipe2(gate, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(fcntl(gate[0], F_SETFL, 0), 0);
	fake.gate = gate[0];
	while (sent < 1000 && gp_wire_send(flood->fd, GP_MSG_SUSPEND, ++flood->serial, 0, &body,
					   sizeof(body), -1) == 0)
		sent++;
	for (int i = 0; i < 300; i++)
		gp_holder_step(&scene.holder, 0);
	struct gp_holder_connection *first =
		gp_container(scene.holder.connections.next, struct gp_holder_connection, link);
	assert_true(sent > GP_HOLDER_REQUESTS + GP_HOLDER_REQUESTS_TARGET);
	assert_int_equal(first->request_count, GP_HOLDER_REQUESTS + GP_HOLDER_REQUESTS_TARGET);
	struct gp_proto_msg_target none = {0};
	assert_int_equal(ask(&scene, other, GP_MSG_HOLDS, &none, sizeof(none), -1), 1);
	close(gate[1]); /* read() ends at once from now on */
	for (u32 i = 0; i < sent; i++)
		assert_int_equal(answer(&scene, flood), FAKE_QUEUES);
	close(gate[0]);
	fake.gate = -1;
	client_close(flood);
	client_close(other);
}

static int listen_for_clients(char place[static 64], struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_non_null(place_make(place, 64));
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address->sun_path, sizeof(address->sun_path), "%s/s", place);
	assert_int_equal(bind(fd, (struct sockaddr *)address, sizeof(*address)), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

/* With no descriptor left the socket stays readable. */
static void without_descriptors_it_rests_instead_of_spinning(void **state)
{
	char place[64];
	struct sockaddr_un address;
	int listener = listen_for_clients(place, &address);
	int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), spare = dup(client);
	struct pollfd ready = {.fd = scene.holder.loop.epoll, .events = POLLIN};
	struct rlimit before, none;

	(void)state;
	assert_int_equal(gp_loop_watch(&scene.holder.loop, &scene.holder.listen, listener,
				       gp_holder_connection_accept),
			 0);
	assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	close(spare); /* the lowest that is free, and all above it are forbidden */
	none = (struct rlimit){.rlim_cur = (rlim_t)spare, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	while (!scene.holder.accept_again_ns)
		gp_holder_step(&scene.holder, 60000);
	/* Nothing to do until its timer rings. */
	u64 due = scene.holder.accept_again_ns;
	int events = poll(&ready, 1, 0);
	u64 now = gp_monotonic_ns();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(events == 0 || now >= due);
	UNTIL(&scene, scene.holder.connection_count == 1);
	close(client);
	UNTIL(&scene, scene.holder.connection_count == 0);
	gp_loop_unwatch(&scene.holder.loop, &scene.holder.listen);
	unlink(address.sun_path);
	rmdir(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		INLINE(hello_comes_first),
		INLINE(wrong_sizes_end_the_connection),
		INLINE(a_client_of_another_version_is_refused),
		INLINE(lying_count_ends_the_connection),
		INLINE(serial_0_is_for_events),
		INLINE(values_out_of_range_are_refused),
		INLINE(copies_stand_still_while_anybody_wants_it),
		INLINE(copies_are_of_the_whole_process),
		INLINE(open_without_a_pidfd_is_refused),
		INLINE(too_many_targets_are_refused),
		INLINE(who_does_not_read_is_cut_off),
		THREADED(answers_come_in_order),
		THREADED(a_flood_waits_by_itself),
		INLINE(without_descriptors_it_rests_instead_of_spinning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
