// SPDX-License-Identifier: MIT
/* A configuration that is read again: parts that cannot be changed stay as they were, and whoever
 * asked hears it. */
#include "peer.h"

#include <arpa/inet.h>

static int reload(struct rig *rig, struct peer *peer, const char *text)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/conf", rig->directory);
	assert_int_equal(gp_file_write_atomic(path, text, strlen(text)), 0);
	rig->daemon->config_path = path;
	return ask(peer, GP_MSG_DAEMON_RELOAD, NULL, 0);
}

static u32 said_code(const struct peer *peer)
{
	return ((const struct gp_proto_reasons *)peer->message.body)->reason[0].code;
}

/* A socket that listens on a port of its own. */
static int taken(u32 *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*port = ntohs(address.sin_port);
	return fd;
}

static void a_port_that_is_taken_leaves_the_metrics_where_they_are(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct peer peer;
	char text[128];
	u32 port, old;
	int fd = taken(&port);

	(void)state;
	peer_open(&peer, rig);
	greet(&peer);
	assert_int_equal(gp_daemon_metrics_start(rig->daemon, "127.0.0.1", 0), 0);
	old = rig->daemon->metrics.port;
	snprintf(text, sizeof(text), "[daemon]\nmode = act\nmetrics_port = %u\n", port);
	assert_int_equal(reload(rig, &peer, text), -EADDRINUSE);
	assert_int_equal(said_code(&peer), GP_SAY_METRICS_KEPT);
	assert_int_equal(rig->daemon->metrics.port, old);
	assert_non_null(rig->daemon->metrics.http);
	/* Reading it again is trying it again. */
	close(fd);
	assert_int_equal(reload(rig, &peer, text), 0);
	assert_int_equal(rig->daemon->metrics.port, port);
	/* Another address with the port that is in use by the daemon itself. */
	snprintf(text, sizeof(text),
		 "[daemon]\nmode = act\nmetrics_port = %u\nmetrics_address = 0.0.0.0\n", port);
	assert_int_equal(reload(rig, &peer, text), 0);
	assert_string_equal(rig->daemon->metrics.address, "0.0.0.0");
	/* An address that this machine does not have. */
	snprintf(text, sizeof(text),
		 "[daemon]\nmode = act\nmetrics_port = %u\nmetrics_address = 192.0.2.1\n", port);
	assert_int_equal(reload(rig, &peer, text), -EADDRNOTAVAIL);
	assert_string_equal(rig->daemon->metrics.address, "0.0.0.0");
	close(peer.socket);
	rig_free(rig);
}

static void a_decision_log_that_cannot_be_written_replaces_none(void **state)
{
	struct rig *rig = rig_new(ACT);
	char text[256], path[128];
	struct peer peer;

	(void)state;
	peer_open(&peer, rig);
	greet(&peer);
	snprintf(path, sizeof(path), "%s/decisions", rig->directory);
	snprintf(text, sizeof(text), "[daemon]\nmode = act\ndecision_log = %s\n", path);
	assert_int_equal(reload(rig, &peer, text), 0);
	struct gp_daemon_diary_writer *writer = rig->daemon->diary.writer;
	assert_non_null(writer);
	snprintf(text, sizeof(text),
		 "[daemon]\nmode = observe\ndecision_log = %s/missing/decisions\n", rig->directory);
	assert_int_equal(reload(rig, &peer, text), -ENOENT);
	assert_int_equal(said_code(&peer), GP_SAY_DIARY_KEPT);
	assert_ptr_equal(rig->daemon->diary.writer, writer);
	/* The rest is in effect. */
	assert_int_equal(rig->daemon->config.mode, GP_MODE_OBSERVE);
	snprintf(text, sizeof(text), "[daemon]\nmode = observe\ndecision_log = journal:%s/none\n",
		 rig->directory);
	assert_int_equal(reload(rig, &peer, text), -ENOENT);
	assert_ptr_equal(rig->daemon->diary.writer, writer);
	assert_int_equal(reload(rig, &peer, "[daemon]\n"), 0);
	assert_null(rig->daemon->diary.writer);
	close(peer.socket);
	rig_free(rig);
}

static void a_section_of_a_gpu_that_is_not_there_is_a_warning(void **state)
{
	struct rig *rig = rig_new(ACT);
	struct peer peer;
	const struct gp_proto_reasons *warning = (const struct gp_proto_reasons *)peer.message.body;

	(void)state;
	agent_known(rig, 1, 2000); /* GPU 4711, 0x1267 */
	peer_open(&peer, rig);
	greet(&peer);
	gp_buf_free(&rig->said.text);
	assert_int_equal(reload(rig, &peer, ACT "[device 0x1267]\nmin_run = 1ms\n"), 0);
	assert_int_equal(warning->count, 0);
	assert_null(strstr(gp_buf_str(&rig->said.text), "no effect"));
	/* The id as it is printed, without its 0x; decimal; and a node. */
	assert_int_equal(reload(rig, &peer, ACT "[device 1267]\nmin_run = 1ms\n"), 0);
	assert_int_equal(warning->count, 1);
	assert_int_equal(warning->reason[0].code, GP_SAY_DEVICES_ABSENT);
	assert_non_null(
		strstr(gp_buf_str(&rig->said.text),
		       "[device 1267] has no effect: this machine has no GPU 0x4f3; did you "
		       "mean [device 0x1267]?"));
	assert_int_equal(reload(rig, &peer,
				ACT "[device 0x77]\nmin_run = 1ms\n[device node 7]\nturn = 9ms\n"),
			 0);
	assert_string_equal(warning->reason[0].args, "2");
	assert_non_null(strstr(gp_buf_str(&rig->said.text), "[device 0x77] has no effect"));
	assert_non_null(strstr(gp_buf_str(&rig->said.text), "[device node 7] has no effect"));
	close(peer.socket);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_that_is_taken_leaves_the_metrics_where_they_are),
		cmocka_unit_test(a_decision_log_that_cannot_be_written_replaces_none),
		cmocka_unit_test(a_section_of_a_gpu_that_is_not_there_is_a_warning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
