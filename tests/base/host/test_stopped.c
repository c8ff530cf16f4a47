// SPDX-License-Identifier: MIT
/* Processes that the host has stopped: a made tree for every state, and real processes. */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/host/stopped.h"

#define MOUNTS                                                                             \
	"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"              \
	"37 31 0:34 / /sys/fs/cgroup/freezer rw shared:9 - cgroup cgroup rw,freezer\n"     \
	"36 31 0:33 / /sys/fs/cgroup/freezer_not rw - cgroup cgroup rw,freezers,devices\n" \
	"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime master:1 - cgroup2 cgroup2 "      \
	"rw,nsdelegate\n"
#define V1 "/sys/fs/cgroup/freezer/job/freezer.state"
#define V2 "/sys/fs/cgroup/unified/job/cgroup.events"

static void thread(const struct tree *tree, const char *tid, char letter, int switches)
{
	char path[128], text[256];

	snprintf(text, sizeof(text),
		 "Name:\tx\nState:\t%c (word)\nTgid:\t7\nvoluntary_ctxt_switches:\t%d\n"
		 "nonvoluntary_ctxt_switches:\t1\n",
		 letter, switches);
	if (strcmp(tid, "7") == 0)
		tree_text(tree, "/proc/7/status", text);
	snprintf(path, sizeof(path), "/proc/7/task/%s/status", tid);
	tree_text(tree, path, text);
}

static void made(struct tree *tree, struct gp_freezers *freezers)
{
	tree_make(tree);
	tree_text(tree, "/proc/self/mountinfo", MOUNTS);
	tree_text(tree, "/proc/7/cgroup", "6:cpu,freezer:/job\n1:name=systemd:/x\n0::/job\n");
	tree_text(tree, V1, "THAWED\n");
	tree_text(tree, V2, "populated 1\nfrozen 0\n");
	thread(tree, "7", 'S', 5);
	thread(tree, "8", 'S', 6);
	gp_freezers_find(&tree->root, freezers);
}

static enum gp_stopped look(const struct tree *tree, const struct gp_freezers *freezers)
{
	struct gp_stopped_look it;

	assert_int_equal(gp_stopped_read(&tree->root, freezers, 7, &it), 0);
	return it.by;
}

static void freezers_are_found_where_they_are_mounted(void **state)
{
	struct gp_freezers freezers;
	struct tree tree;

	(void)state;
	made(&tree, &freezers);
	assert_string_equal(freezers.v1, "/sys/fs/cgroup/freezer");
	assert_string_equal(freezers.v2, "/sys/fs/cgroup/unified");
	assert_int_equal(look(&tree, &freezers), GP_STOPPED_NOT);
	tree_remove(&tree);
}

static void a_process_is_stopped_when_all_its_threads_are(void **state)
{
	struct gp_freezers freezers;
	struct tree tree;

	(void)state;
	made(&tree, &freezers);
	thread(&tree, "7", 'T', 5);
	assert_int_equal(look(&tree, &freezers), GP_STOPPED_NOT);
	thread(&tree, "8", 'T', 6);
	assert_int_equal(look(&tree, &freezers), GP_STOPPED_SIGNAL);
	thread(&tree, "8", 't', 6);
	assert_int_equal(look(&tree, &freezers), GP_STOPPED_TRACED);
	/* The first thread may have ended before the others. */
	thread(&tree, "7", 'Z', 5);
	assert_int_equal(look(&tree, &freezers), GP_STOPPED_TRACED);
	thread(&tree, "8", 'S', 6);
	assert_int_equal(look(&tree, &freezers), GP_STOPPED_NOT);
	/* One that has ended whole is not stopped. */
	thread(&tree, "8", 'Z', 6);
	assert_int_equal(look(&tree, &freezers), GP_STOPPED_NOT);
	tree_remove(&tree);
}

static void a_process_that_ran_between_two_looks_is_not_stopped(void **state)
{
	struct gp_stopped_look first, second;
	struct gp_freezers freezers;
	struct tree tree;

	(void)state;
	made(&tree, &freezers);
	thread(&tree, "7", 't', 5);
	thread(&tree, "8", 't', 6);
	assert_int_equal(gp_stopped_read(&tree.root, &freezers, 7, &first), 0);
	assert_int_equal(gp_stopped_read(&tree.root, &freezers, 7, &second), 0);
	assert_true(gp_stopped_agree(&first, &second));
	/* strace: it stands at the next system call. */
	thread(&tree, "8", 't', 8);
	assert_int_equal(gp_stopped_read(&tree.root, &freezers, 7, &second), 0);
	assert_int_equal(second.by, GP_STOPPED_TRACED);
	assert_false(gp_stopped_agree(&first, &second));
	thread(&tree, "8", 'S', 6);
	assert_int_equal(gp_stopped_read(&tree.root, &freezers, 7, &second), 0);
	assert_false(gp_stopped_agree(&first, &second));
	tree_remove(&tree);
}

static void both_freezers_stop_a_process(void **state)
{
	struct gp_freezers freezers;
	struct tree tree;

	(void)state;
	made(&tree, &freezers);
	tree_text(&tree, V1, "FREEZING\n");
	assert_int_equal(look(&tree, &freezers), GP_STOPPED_NOT);
	thread(&tree, "7", 'D', 5);
	assert_int_equal(look(&tree, &freezers), GP_STOPPED_FROZEN);
	tree_text(&tree, V1, "FROZEN\n");
	thread(&tree, "7", 'S', 5);
	assert_int_equal(look(&tree, &freezers), GP_STOPPED_FROZEN);
	tree_text(&tree, V1, "THAWED\n");
	assert_int_equal(look(&tree, &freezers), GP_STOPPED_NOT);
	tree_text(&tree, V2, "populated 1\nfrozen 1\n");
	assert_int_equal(look(&tree, &freezers), GP_STOPPED_FROZEN);
	/* Outside of the mounted part of the hierarchy nothing is known. */
	tree_text(&tree, "/proc/7/cgroup", "0::/../other\n");
	assert_int_equal(look(&tree, &freezers), GP_STOPPED_NOT);
	assert_int_equal(gp_stopped_read(&tree.root, &freezers, 70, &(struct gp_stopped_look){0}),
			 -ESRCH);
	tree_remove(&tree);
}

static void a_part_of_the_hierarchy_may_be_mounted(void **state)
{
	struct gp_freezers freezers;
	struct tree tree;

	(void)state;
	made(&tree, &freezers);
	tree_text(&tree, "/proc/self/mountinfo",
		  "41 31 0:38 /docker/12 /cg rw - cgroup2 cgroup2 rw\n");
	gp_freezers_find(&tree.root, &freezers);
	tree_text(&tree, "/cg/in/cgroup.events", "frozen 1\n");
	tree_text(&tree, "/cg/3/cgroup.events", "frozen 1\n");
	tree_text(&tree, "/proc/7/cgroup", "0::/docker/12/in\n");
	assert_int_equal(look(&tree, &freezers), GP_STOPPED_FROZEN);
	tree_text(&tree, "/proc/7/cgroup", "0::/docker/123\n");
	assert_int_equal(look(&tree, &freezers), GP_STOPPED_NOT);
	tree_remove(&tree);
}

static void a_change_of_the_group_is_reported(void **state)
{
	struct gp_stopped_watch watch;
	struct gp_stopped_look it;
	struct gp_freezers freezers;
	struct tree tree;
	char path[PATH_MAX];
	int number, fd;

	(void)state;
	made(&tree, &freezers);
	assert_int_equal(gp_stopped_watch_open(&watch), 0);
	assert_int_equal(gp_stopped_read(&tree.root, &freezers, 7, &it), 0);
	number = gp_stopped_watch_add(&watch, &tree.root, it.events);
	assert_true(number > 0);
	assert_int_equal(gp_stopped_watch_add(&watch, &tree.root, it.events), number);
	assert_int_equal(gp_stopped_watch_next(&watch), 0);
	tree_path(&tree, path, sizeof(path), V2);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "populated 1\nfrozen 1\n", 21), 21);
	close(fd);
	assert_int_equal(gp_stopped_watch_next(&watch), number);
	assert_int_equal(gp_stopped_watch_next(&watch), 0);
	gp_stopped_watch_remove(&watch, number);
	assert_int_equal(gp_stopped_watch_next(&watch), 0);
	assert_true(gp_stopped_watch_add(&watch, &tree.root, "/no/such") < 0);
	gp_stopped_watch_close(&watch);
	tree_remove(&tree);
}

/* ---- real processes ---- */

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static enum gp_stopped live(pid_t pid)
{
	struct gp_root root = {.dir = ""};
	struct gp_freezers freezers;
	struct gp_stopped_look it;

	gp_freezers_find(&root, &freezers);
	assert_int_equal(gp_stopped_read(&root, &freezers, (u32)pid, &it), 0);
	return it.by;
}

static void sigstop_and_a_debugger_are_seen(void **state)
{
	pid_t pid = sleeper();
	int status;

	(void)state;
	assert_int_equal(live(pid), GP_STOPPED_NOT);
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_int_equal(live(pid), GP_STOPPED_SIGNAL);
	kill(pid, SIGCONT);
	assert_int_equal(waitpid(pid, &status, WCONTINUED), pid);
	assert_int_equal(live(pid), GP_STOPPED_NOT);
	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(live(pid), GP_STOPPED_TRACED);
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
	}
	end(pid);
}

static bool put(const char *directory, const char *file, const char *text)
{
	char path[256];
	int fd;
	bool written;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	fd = open(path, O_WRONLY);
	written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return written;
}

/* Freezes a process in a group of its own; skipped where this user may not make one. */
static void freeze(const char *mount, const char *file, const char *frozen, const char *thawed,
		   bool notified)
{
	struct gp_stopped_watch watch = {.fd = -1};
	char directory[200], events[256], number[16];
	struct gp_root root = {.dir = ""};
	pid_t pid = sleeper();

	snprintf(directory, sizeof(directory), "%s/gpreempt-test-%d", mount, (int)getpid());
	snprintf(events, sizeof(events), "%s/cgroup.events", directory);
	snprintf(number, sizeof(number), "%d", (int)pid);
	if (!*mount || mkdir(directory, 0755) < 0 || !put(directory, "cgroup.procs", number)) {
		rmdir(directory);
		end(pid);
		skip();
	}
	if (notified) {
		assert_int_equal(gp_stopped_watch_open(&watch), 0);
		assert_true(gp_stopped_watch_add(&watch, &root, events) > 0);
	}
	assert_true(put(directory, file, frozen));
	if (notified) {
		struct pollfd ready = {.fd = watch.fd, .events = POLLIN};

		assert_int_equal(poll(&ready, 1, 60000), 1);
		assert_true(gp_stopped_watch_next(&watch) > 0);
	}
	for (u64 start = gp_monotonic_ns();
	     live(pid) != GP_STOPPED_FROZEN && gp_monotonic_ns() - start < 60 * GP_NS_PER_S;)
		usleep(1000);
	assert_int_equal(live(pid), GP_STOPPED_FROZEN);
	assert_true(put(directory, file, thawed));
	for (u64 start = gp_monotonic_ns();
	     live(pid) != GP_STOPPED_NOT && gp_monotonic_ns() - start < 60 * GP_NS_PER_S;)
		usleep(1000);
	assert_int_equal(live(pid), GP_STOPPED_NOT);
	end(pid);
	gp_stopped_watch_close(&watch);
	assert_int_equal(rmdir(directory), 0);
}

static void a_group_frozen_by_the_second_version_is_seen_and_reported(void **state)
{
	struct gp_freezers freezers;

	(void)state;
	gp_freezers_find(&(struct gp_root){.dir = ""}, &freezers);
	freeze(freezers.v2, "cgroup.freeze", "1", "0", true);
}

static void a_group_frozen_by_the_first_version_is_seen(void **state)
{
	struct gp_freezers freezers;

	(void)state;
	gp_freezers_find(&(struct gp_root){.dir = ""}, &freezers);
	freeze(freezers.v1, "freezer.state", "FROZEN", "THAWED", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(freezers_are_found_where_they_are_mounted),
		cmocka_unit_test(a_process_is_stopped_when_all_its_threads_are),
		cmocka_unit_test(a_process_that_ran_between_two_looks_is_not_stopped),
		cmocka_unit_test(both_freezers_stop_a_process),
		cmocka_unit_test(a_part_of_the_hierarchy_may_be_mounted),
		cmocka_unit_test(a_change_of_the_group_is_reported),
		cmocka_unit_test(sigstop_and_a_debugger_are_seen),
		cmocka_unit_test(a_group_frozen_by_the_second_version_is_seen_and_reported),
		cmocka_unit_test(a_group_frozen_by_the_first_version_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
