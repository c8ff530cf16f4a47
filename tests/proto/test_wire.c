// SPDX-License-Identifier: MIT
/* One message a packet: what is sent comes out, and what lies does not. */
#include "testlib.h"

#include <errno.h>
#include <grp.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/wire.h"

static struct gp_wire_message message;
static int ends[2];

static int open_pair(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int close_pair(void **state)
{
	(void)state;
	close(ends[0]);
	close(ends[1]);
	return 0;
}

static u32 open_descriptors(void)
{
	u32 count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void a_message_arrives_whole(void **state)
{
	struct gp_proto_msg_value body = {.target = 3, .value = 9};

	(void)state;
	assert_int_equal(gp_wire_send(ends[0], GP_MSG_SHARE, 17, -5, &body, sizeof(body), -1), 0);
	assert_int_equal(gp_wire_receive(ends[1], &message, 0), 0);
	assert_int_equal(message.header.type, GP_MSG_SHARE);
	assert_int_equal(message.header.serial, 17);
	assert_int_equal(message.header.status, -5);
	assert_int_equal(message.fd, -1);
	assert_true(gp_wire_fits(&message, sizeof(body), 0, 0));
	assert_memory_equal(message.body, &body, sizeof(body));
	assert_int_equal(gp_wire_receive(ends[1], &message, 0), -EAGAIN);
	assert_int_equal(gp_wire_receive(ends[1], &message, 1), -EAGAIN);
}

static void the_largest_message_fits_and_a_larger_one_does_not(void **state)
{
	static u8 body[GP_PROTO_MAX];
	size_t most = GP_PROTO_MAX - sizeof(struct gp_proto_msg);

	(void)state;
	memset(body, 7, sizeof(body));
	assert_int_equal(gp_wire_send(ends[0], 1, 1, 0, body, most + 1, -1), -EMSGSIZE);
	assert_int_equal(gp_wire_send(ends[0], 1, 1, 0, body, most, -1), 0);
	assert_int_equal(gp_wire_receive(ends[1], &message, 0), 0);
	assert_memory_equal(message.body, body, most);
}

static void a_descriptor_comes_along(void **state)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	u32 before = open_descriptors();

	(void)state;
	assert_int_equal(gp_wire_send(ends[0], 1, 1, 0, NULL, 0, null), 0);
	assert_int_equal(gp_wire_receive(ends[1], &message, 0), 0);
	assert_true(message.fd >= 0);
	assert_int_equal(fcntl(message.fd, F_GETFD), FD_CLOEXEC);
	close(message.fd);
	close(null);
	assert_int_equal(open_descriptors(), before - 1);
}

/* A peer cannot fill our table with descriptors nobody asked for. */
static void surplus_descriptors_are_closed(void **state)
{
	u32 before = open_descriptors();

	(void)state;
	for (int count = 2; count < 64; count *= 4) {
		int fds[64];
		union {
			struct cmsghdr align;
			char bytes[CMSG_SPACE(sizeof(fds))];
		} control = {0};
		struct gp_proto_msg header = {.version = GP_PROTO_VERSION, .size = sizeof(header)};
		struct iovec part = {&header, sizeof(header)};
		struct msghdr packet = {.msg_iov = &part,
					.msg_iovlen = 1,
					.msg_control = control.bytes,
					.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int))};
		struct cmsghdr *c = CMSG_FIRSTHDR(&packet);

		for (int i = 0; i < count; i++)
			fds[i] = ends[0];
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, (size_t)count * sizeof(int));
		assert_true(sendmsg(ends[0], &packet, 0) > 0);
		if (gp_wire_receive(ends[1], &message, 0) == 0 && message.fd >= 0)
			close(message.fd);
		assert_int_equal(open_descriptors(), before);
	}
}

/* A packet of no bytes looks like the end, and may have brought descriptors. */
static void descriptors_of_an_empty_packet_are_closed(void **state)
{
	u32 before = open_descriptors();
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = {0};
	struct msghdr packet = {.msg_control = control.bytes,
				.msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&packet);
	int sent[2] = {0, 1};

	(void)state;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(sent));
	memcpy(CMSG_DATA(c), sent, sizeof(sent));
	assert_int_equal(sendmsg(ends[0], &packet, 0), 0);
	assert_int_equal(gp_wire_receive(ends[1], &message, 0), -ECONNRESET);
	assert_int_equal(message.fd, -1);
	assert_int_equal(open_descriptors(), before);
}

static void packets_that_lie_are_refused(void **state)
{
	struct gp_proto_msg header = {.version = GP_PROTO_VERSION, .size = sizeof(header)};
	static u8 much[GP_PROTO_MAX + 100];

	(void)state;
	assert_int_equal(send(ends[0], &header, 7, 0), 7);
	assert_int_equal(gp_wire_receive(ends[1], &message, 0), -EPROTO);
	header.size++;
	assert_true(send(ends[0], &header, sizeof(header), 0) > 0);
	assert_int_equal(gp_wire_receive(ends[1], &message, 0), -EPROTO);
	header = (struct gp_proto_msg){.version = GP_PROTO_VERSION + 1, .size = sizeof(header)};
	assert_true(send(ends[0], &header, sizeof(header), 0) > 0);
	assert_int_equal(gp_wire_receive(ends[1], &message, 0), -EPROTONOSUPPORT);
	header = (struct gp_proto_msg){.version = GP_PROTO_VERSION, .size = sizeof(much)};
	memcpy(much, &header, sizeof(header));
	assert_true(send(ends[0], much, sizeof(much), 0) > 0);
	assert_int_equal(gp_wire_receive(ends[1], &message, 0), -EPROTO);
}

static void a_peer_that_left_is_noticed(void **state)
{
	(void)state;
	close(ends[0]);
	assert_int_equal(gp_wire_receive(ends[1], &message, 1000), -ECONNRESET);
	assert_int_equal(gp_wire_send(ends[1], 1, 1, 0, NULL, 0, -1), -EPIPE);
	ends[0] = dup(ends[1]);
}

static void a_full_socket_does_not_block(void **state)
{
	static u8 body[4096];
	int error = 0;

	(void)state;
	for (int i = 0; i < 100000 && !error; i++)
		error = gp_wire_send(ends[0], 1, 1, 0, body, sizeof(body), -1);
	assert_int_equal(error, -EAGAIN);
}

static void count_event(const struct gp_wire_message *event, void *data)
{
	assert_int_equal(event->header.type, GP_MSG_EVENT);
	(*(int *)data)++;
}

static void a_call_skips_events_and_old_answers(void **state)
{
	struct gp_proto_msg_event event = {0};
	int events = 0;

	(void)state;
	gp_wire_send(ends[1], GP_MSG_EVENT, 0, 0, &event, sizeof(event), -1);
	gp_wire_send(ends[1], GP_MSG_RENEW, 41, 0, NULL, 0, -1);
	gp_wire_send(ends[1], GP_MSG_EVENT, 0, 0, &event, sizeof(event), -1);
	gp_wire_send(ends[1], GP_MSG_RENEW, 42, 5, NULL, 0, -1);
	assert_int_equal(gp_wire_call(ends[0], GP_MSG_RENEW, 42, NULL, 0, -1, &message, 1000,
				      count_event, &events),
			 5);
	assert_int_equal(events, 2);
	assert_int_equal(gp_wire_call(ends[0], GP_MSG_RENEW, 43, NULL, 0, -1, &message, 1, NULL,
				      NULL),
			 -ETIME);
	gp_wire_refuse(ends[1], &(struct gp_proto_msg){.type = GP_MSG_RENEW, .serial = 44}, -ENOLCK,
		       GP_SAY_LEASE_ENDED);
	assert_int_equal(gp_wire_call(ends[0], GP_MSG_RENEW, 44, NULL, 0, -1, &message, 1000, NULL,
				      NULL),
			 -ENOLCK);
	assert_int_equal(gp_wire_why(&message)->reason[0].code, GP_SAY_LEASE_ENDED);
	/* An error without its reasons is not one. */
	gp_wire_send(ends[1], GP_MSG_RENEW, 45, -EIO, NULL, 0, -1);
	assert_int_equal(gp_wire_call(ends[0], GP_MSG_RENEW, 45, NULL, 0, -1, &message, 1000, NULL,
				      NULL),
			 -EPROTO);
}

/* In the version of the peer, with its serial: it must be able to read it. */
static void another_version_is_refused_in_its_own(void **state)
{
	struct gp_proto_msg theirs = {.version = 1,
				      .type = GP_MSG_HELLO,
				      .size = sizeof(theirs),
				      .serial = 7};
	struct {
		struct gp_proto_msg header;
		struct gp_proto_msg_refusal body;
	} got;

	(void)state;
	assert_true(send(ends[0], &theirs, sizeof(theirs), 0) > 0);
	assert_int_equal(gp_wire_receive(ends[1], &message, 0), -EPROTONOSUPPORT);
	assert_int_equal(gp_wire_refuse_version(ends[1], &message.header), 0);
	assert_int_equal(recv(ends[0], &got, sizeof(got), MSG_DONTWAIT), sizeof(got));
	assert_int_equal(got.header.version, 1);
	assert_int_equal(got.header.size, sizeof(got));
	assert_int_equal(got.header.serial, 7);
	assert_int_equal(got.header.status, -EPROTONOSUPPORT);
	assert_non_null(strstr(got.body.text, "version 1"));
	/* A refusal that reaches this version is an answer like any other. */
	theirs.version = GP_PROTO_VERSION;
	theirs.serial = 46;
	gp_wire_refuse_version(ends[1], &theirs);
	assert_int_equal(gp_wire_call(ends[0], GP_MSG_HELLO, 46, NULL, 0, -1, &message, 1000, NULL,
				      NULL),
			 -EPROTONOSUPPORT);
	/* Takes the question that the call sent. */
	assert_int_equal(gp_wire_receive(ends[1], &message, 0), 0);
}

static void text_is_always_terminated(void **state)
{
	const char field[4] = {'a', 'b', 'c', 'd'};
	char out[4], small[3];

	(void)state;
	gp_wire_text(out, sizeof(out), field, sizeof(field));
	assert_string_equal(out, "abc");
	gp_wire_text(small, sizeof(small), field, sizeof(field));
	assert_string_equal(small, "ab");
}

static void the_peer_is_known(void **state)
{
	pid_t pid;
	uid_t uid;

	(void)state;
	assert_int_equal(gp_wire_peer(ends[0], &pid, &uid), 0);
	assert_int_equal(pid, getpid());
	assert_int_equal(uid, geteuid());
	assert_true(gp_wire_peer_allowed(geteuid()));
	assert_true(gp_wire_peer_allowed(0));
	assert_false(gp_wire_peer_allowed(geteuid() + 12345));
	assert_int_equal(gp_wire_agent_allowed(geteuid() + 12345), geteuid() == 0);
	assert_true(gp_wire_peer_in_group(ends[0], getegid()));
	assert_false(gp_wire_peer_in_group(ends[0], getegid() + 12345));
}

static void a_peers_other_groups_count_too(void **state)
{
	const gid_t other[] = {getegid() + 1, getegid() + 12345};
	gid_t before[64];
	int pair[2], count = getgroups(64, before);

	(void)state;
	if (geteuid() != 0 || count < 0 || setgroups(2, other) < 0)
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(setgroups((size_t)count, before), 0);
	assert_true(gp_wire_peer_in_group(pair[0], getegid() + 12345));
	assert_false(gp_wire_peer_in_group(pair[0], getegid() + 2));
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)
	const struct CMUnitTest tests[] = {
		T(a_message_arrives_whole),
		T(the_largest_message_fits_and_a_larger_one_does_not),
		T(a_descriptor_comes_along),
		T(surplus_descriptors_are_closed),
		T(descriptors_of_an_empty_packet_are_closed),
		T(packets_that_lie_are_refused),
		T(a_peer_that_left_is_noticed),
		T(a_full_socket_does_not_block),
		T(a_call_skips_events_and_old_answers),
		T(another_version_is_refused_in_its_own),
		T(text_is_always_terminated),
		T(the_peer_is_known),
		T(a_peers_other_groups_count_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
