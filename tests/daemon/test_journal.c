// SPDX-License-Identifier: MIT
/* Decisions for the journal of systemd that its socket does not take. */
#include "testlib.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/diary.h"
#include "proto/diary.h"

static int refused; /* the number of the datagram that is too long; 0: none */
static int sent;

ssize_t __real_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags)
{
	if (++sent != refused)
		return __real_send(fd, data, size, flags);
	errno = EMSGSIZE;
	return -1;
}

static int journal_open(char *path, size_t size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char place[64];
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_non_null(place_make(place, sizeof(place)));
	snprintf(path, size, "%s/journal", place);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void write_decisions(struct gp_buf *text, u64 count)
{
	for (u64 i = 1; i <= count; i++) {
		struct gp_proto_diary_line line = {.kind = GP_DIARY_DECISION,
						   .is.decision = {.id = i, .job = 1}};

		snprintf(line.is.decision.job_name, sizeof(line.is.decision.job_name), "job");
		gp_proto_diary_write(text, &line);
	}
}

/* Which decisions came, as bits. */
static u32 received(int fd)
{
	static char datagram[65536];
	ssize_t length;
	u32 came = 0;

	while ((length = recv(fd, datagram, sizeof(datagram) - 1, 0)) > 0) {
		datagram[length] = '\0';
		const char *field = strstr(datagram, "\nGPREEMPT_DECISION=");

		assert_non_null(field);
		came |= 1u << atoi(field + strlen("\nGPREEMPT_DECISION="));
	}
	return came;
}

static void one_that_is_too_long_keeps_back_no_other(void **state)
{
	struct gp_buf text = {0};
	atomic_bool quit = false;
	char path[96];
	int fd = journal_open(path, sizeof(path));

	(void)state;
	write_decisions(&text, 3);
	sent = refused = 0;
	assert_int_equal(gp_daemon_journal_put(path, &text, &quit), 0);
	assert_int_equal(received(fd), 1u << 1 | 1u << 2 | 1u << 3);
	sent = 0;
	refused = 2;
	assert_int_equal(gp_daemon_journal_put(path, &text, &quit), -EMSGSIZE);
	assert_int_equal(received(fd), 1u << 1 | 1u << 3);
	gp_buf_free(&text);
	close(fd);
	*strrchr(path, '/') = '\0';
	place_remove(path);
}

static void a_setting_is_written_with_its_value(void **state)
{
	static const struct {
		u32 what;
		const char *message, *value;
	} settings[] = {
		{GP_DAEMON_SET_PRIORITY, ", alice: priority 1500\n", "\nGPREEMPT_VALUE=1500\n"},
		{GP_DAEMON_SET_CLASS, ", alice: class online\n", "\nGPREEMPT_VALUE=online\n"},
		{GP_DAEMON_SET_WEIGHT, ", alice: weight 3\n", "\nGPREEMPT_VALUE=3\n"},
	};
	atomic_bool quit = false;
	char path[96];
	int fd = journal_open(path, sizeof(path));

	(void)state;
	sent = refused = 0;
	for (size_t i = 0; i < GP_ARRAY_SIZE(settings); i++) {
		struct gp_proto_diary_line line = {.kind = GP_DIARY_DECISION,
						   .is.decision = {.id = i + 1,
								   .kind = GP_DECISION_SET,
								   .why = settings[i].what,
								   .job = 1,
								   .job_name = "job",
								   .other_name = "alice",
								   .job_priority = 1500,
								   .job_class = GP_CLASS_ONLINE,
								   .share = 3}};
		struct gp_buf text = {0};
		char datagram[4096];
		ssize_t length;

		gp_proto_diary_write(&text, &line);
		assert_int_equal(gp_daemon_journal_put(path, &text, &quit), 0);
		length = recv(fd, datagram, sizeof(datagram) - 1, 0);
		assert_true(length > 0);
		datagram[length] = '\0';
		assert_non_null(strstr(datagram, settings[i].message));
		assert_non_null(strstr(datagram, settings[i].value));
		gp_buf_free(&text);
	}
	close(fd);
	*strrchr(path, '/') = '\0';
	place_remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_setting_is_written_with_its_value),
		cmocka_unit_test(one_that_is_too_long_keeps_back_no_other),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
