// SPDX-License-Identifier: MIT
/* Which processes the NVIDIA back end takes, and what it says of the others. */
#include <errno.h>
#include "rig.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "tree.h"

static int check(struct rig *rig, int pidfd, u32 pid, char why[512])
{
	struct gp_proto_message message = {0};
	int error = gp_nvrm_target_check(&rig->fake.port, pidfd, pid, &message);

	gp_proto_message_text(&message, why, 512);
	return error;
}

static void refused(struct rig *rig, int error, const char *text)
{
	char why[512];

	assert_int_equal(check(rig, rig->pidfd, (u32)rig->pid, why), error);
	if (!strstr(why, text))
		fail_msg("'%s' does not say '%s'", why, text);
}

static void taken(struct rig *rig)
{
	char why[512];

	if (check(rig, rig->pidfd, (u32)rig->pid, why))
		fail_msg("refused: %s", why);
}

static void a_cuda_process_is_taken_on_every_branch_that_was_read(void **state)
{
	static const char *const branches[] = {"550.120",    "570.86.15", "575.64.05",
					       "580.159.04", "590.48.01", "595.45.04"};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(branches); i++) {
		struct rig rig;

		RIG(rig, branches[i]);
		taken(&rig);
		assert_non_null(gp_nvrm_branch(branches[i]));
		assert_true(gp_nvrm_branch(branches[i])->tried == (branches[i][1] == '8'));
		rig_remove(&rig);
	}
}

static void an_unknown_branch_is_refused_unless_forced(void **state)
{
	struct gp_proto_message why;
	struct rig rig;

	(void)state;
	RIG(rig, "999.10.01");
	refused(&rig, -EOPNOTSUPP, "driver 999.10.01 is from an unverified branch");
	assert_int_equal(gp_nvrm_attach(&rig.fake.port, rig.pidfd, (u32)rig.pid, &why,
					&rig.control),
			 -EOPNOTSUPP);
	assert_null(rig.control);
	assert_int_equal(why.code, GP_SAY_NV_BRANCH);
	setenv("GPREEMPT_NVRM_FORCE", "0", 1);
	refused(&rig, -EOPNOTSUPP, "999.10.01");
	setenv("GPREEMPT_NVRM_FORCE", "1", 1);
	taken(&rig);
	unsetenv("GPREEMPT_NVRM_FORCE");
	assert_null(gp_nvrm_branch("580"));
	assert_null(gp_nvrm_branch("x"));
	rig_remove(&rig);
}

static void without_a_driver_or_a_descriptor_there_is_nothing_to_control(void **state)
{
	struct rig rig;
	struct gp_root root;
	char why[512] = "";
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	(void)state;
	RIG(rig, "580.159.04");
	assert_int_equal(check(&rig, self, (u32)getpid(), why), -ENODEV);
	assert_non_null(strstr(why, "does not use /dev/nvidiactl"));
	root = rig.fake.port.root;
	rig.fake.port.root.dir = "/nonexistent";
	refused(&rig, -ENODEV, "no NVIDIA driver");
	rig.fake.port.root = root;
	close(self);
	rig_remove(&rig);
}

static void a_dead_process_is_told_from_one_without_a_gpu(void **state)
{
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	kill(rig.pid, SIGKILL);
	/* Until it is waited for, its pid is its own; its descriptors are gone. */
	assert_int_equal(waitid(P_PID, (id_t)rig.pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	refused(&rig, -ENODEV, "does not use");
	waitpid(rig.pid, NULL, 0);
	refused(&rig, -ESRCH, "No such process");
	rig.pid = 0;
	close(rig.pidfd);
	fclose(rig.to);
	fclose(rig.from);
	rig_remove(&rig);
}

/* A daemon's control socket, listening or left behind. */
static int mps_daemon(const struct tree *tree, bool listening)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/control", tree->dir);
	unlink(address.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	if (listening)
		assert_int_equal(listen(fd, 4), 0);
	return fd;
}

static void mps_clients_are_refused(void **state)
{
	struct rig rig;
	struct tree tree;
	char variable[128];
	int daemon_fd;

	(void)state;
	RIG(rig, "580.159.04");
	tree_make(&tree);
	rig_end_program(&rig);
	snprintf(variable, sizeof(variable), "CUDA_MPS_PIPE_DIRECTORY=%s", tree.dir);
	rig_program(&rig, variable);
	taken(&rig);
	daemon_fd = mps_daemon(&tree, false);
	taken(&rig);
	close(daemon_fd);
	daemon_fd = mps_daemon(&tree, true);
	refused(&rig, -EOPNOTSUPP, "is an MPS client");
	close(daemon_fd);
	taken(&rig);
	rig_remove(&rig);
	tree_remove(&tree);
}

static void an_mps_server_is_refused(void **state)
{
	struct rig rig;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "mps");
	refused(&rig, -EOPNOTSUPP, "is an MPS server");
	rig_remove(&rig);
}

static void a_forked_worker_is_not_taken_for_its_parent(void **state)
{
	struct rig rig;
	char why[512] = "", owner[64];
	u32 child;
	int pidfd;

	(void)state;
	RIG(rig, "580.159.04");
	rig_say(&rig, "context");
	child = (u32)rig_say(&rig, "fork");
	pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	assert_true(pidfd >= 0);
	if (syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0) < 0) {
		close(pidfd);
		rig_remove(&rig);
		print_message("kcmp is not allowed on this machine\n");
		skip();
	}
	assert_int_equal(check(&rig, pidfd, child, why), -EOPNOTSUPP);
	snprintf(owner, sizeof(owner), "from process %d", rig.pid);
	assert_non_null(strstr(why, owner));
	taken(&rig);
	close(pidfd);
	rig_remove(&rig);
}

static void users_of_the_devices_are_described(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_gpu_process_list list;
	struct tree tree;

	(void)state;
	tree_make(&tree);
	assert_int_equal(gp_nvrm_ops.describe(&tree.root, &sink.diag, 0, &list), 0);
	assert_int_equal(list.count, 0);
	tree_link(&tree, "/proc/41/fd/3", "/dev/nvidiactl");
	tree_link(&tree, "/proc/41/fd/4", "/dev/nvidia0");
	tree_link(&tree, "/proc/41/fd/5", "/dev/nvidia0");
	tree_link(&tree, "/proc/41/fd/6", "/dev/nvidia3");
	tree_link(&tree, "/proc/41/fd/7", "/dev/nvidia-uvm");
	tree_link(&tree, "/proc/42/fd/3", "/dev/nvidia-modeset");
	tree_link(&tree, "/proc/43/fd/3", "/dev/nvidiactl");
	tree_link(&tree, "/proc/43/fd/8", "socket:[12]");
	tree_link(&tree, "/proc/self/fd/3", "/dev/nvidiactl");
	/* Copies of others' descriptors are no use of a GPU. */
	tree_link(&tree, "/proc/44/fd/3", "/dev/nvidiactl");
	tree_text(&tree, "/proc/44/comm", "gpreempt-holder\n");
	tree_link(&tree, "/proc/45/fd/3", "/dev/nvidiactl");
	tree_text(&tree, "/proc/45/comm", "gp-lifeline\n");
	assert_int_equal(gp_nvrm_ops.describe(&tree.root, &sink.diag, 0, &list), 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[0].pid, 41);
	assert_int_equal(list.items[0].usage_count, 2);
	assert_int_equal(list.items[0].usages[1].gpu_id, GP_GPU_NVIDIA + 3);
	assert_int_equal(list.items[0].usages[1].valid, 0);
	assert_int_equal(list.items[1].pid, 43);
	assert_int_equal(list.items[1].usage_count, 0);
	gp_gpu_process_list_free(&list);
	assert_int_equal(gp_nvrm_ops.describe(&tree.root, &sink.diag, 43, &list), 0);
	assert_int_equal(list.count, 1);
	gp_gpu_process_list_free(&list);
	assert_int_equal(gp_nvrm_ops.describe(&tree.root, &sink.diag, 42, &list), 0);
	assert_int_equal(list.count, 0);
	/* The driver lists no queues: a process may have one where it has the GPU open. */
	assert_int_equal(gp_gpu_lists_queue(&tree.root, 41, GP_GPU_NVIDIA + 3, 1), 1);
	assert_int_equal(gp_gpu_lists_queue(&tree.root, 41, GP_GPU_NVIDIA + 1, 1), -EOPNOTSUPP);
	assert_int_equal(gp_gpu_lists_queue(&tree.root, 43, GP_GPU_NVIDIA + 3, 1), -EOPNOTSUPP);
	tree_remove(&tree);
}

/* Any user can call a program gpreemptd; it uses the GPU as any other. */
static void only_our_own_daemon_is_left_out(void **state)
{
	struct test_diag sink = TEST_DIAG;
	struct gp_gpu_process_list list;
	struct tree tree;
	char path[PATH_MAX];

	(void)state;
	if (geteuid() != 0)
		skip();
	tree_make(&tree);
	tree_link(&tree, "/proc/41/fd/3", "/dev/nvidiactl");
	tree_link(&tree, "/proc/41/fd/4", "/dev/nvidia0");
	tree_text(&tree, "/proc/41/comm", "gpreemptd\n");
	assert_int_equal(gp_nvrm_ops.describe(&tree.root, &sink.diag, 0, &list), 0);
	assert_int_equal(list.count, 0);
	tree_path(&tree, path, sizeof(path), "/proc/41");
	assert_int_equal(chown(path, 12345, 12345), 0);
	assert_int_equal(gp_nvrm_ops.describe(&tree.root, &sink.diag, 0, &list), 0);
	assert_int_equal(list.count, 1);
	gp_gpu_process_list_free(&list);
	tree_remove(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cuda_process_is_taken_on_every_branch_that_was_read),
		cmocka_unit_test(an_unknown_branch_is_refused_unless_forced),
		cmocka_unit_test(without_a_driver_or_a_descriptor_there_is_nothing_to_control),
		cmocka_unit_test(a_dead_process_is_told_from_one_without_a_gpu),
		cmocka_unit_test(mps_clients_are_refused),
		cmocka_unit_test(an_mps_server_is_refused),
		cmocka_unit_test(a_forked_worker_is_not_taken_for_its_parent),
		cmocka_unit_test(users_of_the_devices_are_described),
		cmocka_unit_test(only_our_own_daemon_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
