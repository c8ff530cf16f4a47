// SPDX-License-Identifier: MIT
/* What users leave in agents/: only sockets of agents stay, and no user fills it. Needs root. */
#include "rig.h"

enum { OTHER_USER = 65534 };

static void path_of(const struct rig *rig, char *out, size_t size, const char *name)
{
	snprintf(out, size, "%s/agents/%s", rig->directory, name);
}

static void give(const char *path)
{
	assert_int_equal(lchown(path, OTHER_USER, OTHER_USER), 0);
}

static void leave_file(const struct rig *rig, const char *name)
{
	char path[256];
	int fd;

	path_of(rig, path, sizeof(path), name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	give(path);
}

static void leave_directory(const struct rig *rig, const char *name)
{
	char path[256];

	path_of(rig, path, sizeof(path), name);
	assert_int_equal(mkdir(path, 0700), 0);
	give(path);
}

static u32 files_in_agents(const struct rig *rig)
{
	char path[256];
	struct gp_names names;
	u32 count;

	path_of(rig, path, sizeof(path), "");
	assert_int_equal(gp_root_list(&(struct gp_root){.dir = ""}, &names, "%s", path), 0);
	count = (u32)names.count;
	gp_names_free(&names);
	return count;
}

/* Root's daemon, for all users. */
static struct rig *rig_for_everybody(void)
{
	struct rig *rig = rig_new(ACT);

	rig_stop(rig);
	assert_int_equal(chmod(rig->directory, 0755), 0);
	rig_start(rig, ACT);
	return rig;
}

static void what_is_no_socket_is_removed_from_the_directory_of_agents(void **state)
{
	struct rig *rig;
	char path[256], name[64];

	(void)state;
	if (geteuid() != 0)
		skip();
	rig = rig_for_everybody();
	agent_known(rig, 1, 2000);
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "%d%s", i, i % 2 ? "" : ".sock");
		leave_file(rig, name);
	}
	leave_directory(rig, "d.sock");
	leave_directory(rig, "d.sock/d");
	leave_directory(rig, "d.sock/d/d");
	leave_file(rig, "d.sock/d/d/f");
	path_of(rig, path, sizeof(path), "l.sock");
	assert_int_equal(symlink("/etc", path), 0);
	give(path);
	path_of(rig, path, sizeof(path), "p.sock");
	assert_int_equal(mkfifo(path, 0600), 0);
	give(path);
	/* The agent's socket is left. */
	rig_until(rig, files_in_agents(rig) == 1);
	assert_non_null(strstr(gp_buf_str(&rig->said.text), "which is only for agent sockets"));
	assert_int_equal(access("/etc/passwd", F_OK), 0);
	/* So are root's files. */
	leave_file(rig, "note");
	path_of(rig, path, sizeof(path), "note");
	assert_int_equal(chown(path, 0, 0), 0);
	leave_file(rig, "junk");
	rig_until(rig, files_in_agents(rig) == 2);
	rig_free(rig);
}

/* Also before a new daemon makes files of its own. */
static void a_daemon_that_starts_removes_them_first(void **state)
{
	struct rig *rig;
	char name[64];

	(void)state;
	if (geteuid() != 0)
		skip();
	rig = rig_for_everybody();
	rig_stop(rig);
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		leave_file(rig, name);
	}
	rig_start(rig, ACT);
	assert_int_equal(files_in_agents(rig), 0);
	rig_free(rig);
}

static void a_user_has_a_share_of_the_sockets(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	enum { MANY = GP_DAEMON_FILES_USER + 100 };
	struct rig *rig;

	(void)state;
	if (geteuid() != 0)
		skip();
	rig = rig_for_everybody();
	agent_known(rig, 1, 2000);
	for (int i = 0; i < MANY; i++) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		/* Not yet shown, so that the daemon does not find out that nobody listens. */
		snprintf(address.sun_path, sizeof(address.sun_path), "%s/agents/.%d",
			 rig->directory, i + 100);
		assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
		give(address.sun_path);
		close(fd);
	}
	rig_until(rig, files_in_agents(rig) == GP_DAEMON_FILES_USER + 1);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_socket_is_removed_from_the_directory_of_agents),
		cmocka_unit_test(a_daemon_that_starts_removes_them_first),
		cmocka_unit_test(a_user_has_a_share_of_the_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
