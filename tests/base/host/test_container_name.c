// SPDX-License-Identifier: MIT
/* What a container is called, though its own files and a user's are not to be trusted. */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>

#include "base/host/container.h"
#include "base/host/safe_open.h"

#define ID1 "3fa1b2c3d4e5f60718293a4b5c6d7e8f90112233445566778899aabbccddeeff"
#define ID2 "3fb7c3d4e5f60718293a4b5c6d7e8f90112233445566778899aabbccddeeff00"

static void hostname_of(const struct tree *tree, struct gp_container *c)
{
	assert_int_equal(gp_container_of(&tree->root, 5, c), 0);
}

static void make_pipe(const struct tree *tree, const char *path)
{
	char full[PATH_MAX];

	tree_parents(tree, path);
	tree_path(tree, full, sizeof(full), path);
	unlink(full);
	assert_int_equal(mkfifo(full, 0644), 0);
}

static void container_cannot_make_us_read_the_hosts_files(void **state)
{
	struct gp_container c;
	struct tree tree;
	char target[PATH_MAX];

	(void)state;
	tree_make(&tree);
	tree_text(&tree, "/proc/5/cgroup", "0::/docker/" ID1 "\n");
	tree_text(&tree, "/secret", "host-secret\n");
	tree_path(&tree, target, sizeof(target), "/secret");
	tree_dir(&tree, "/proc/5/root/etc");
	/* By an absolute path, by climbing, by a directory that leads out. */
	tree_link(&tree, "/proc/5/root/etc/hostname", target);
	hostname_of(&tree, &c);
	assert_int_equal(c.name_source, GP_NAME_NONE);
	tree_link(&tree, "/proc/5/root/etc/hostname", "../../../../secret");
	hostname_of(&tree, &c);
	assert_int_equal(c.name_source, GP_NAME_NONE);
	tree_text(&tree, "/outside/hostname", "host-secret\n");
	tree_path(&tree, target, sizeof(target), "/proc/5/root/etc/hostname");
	assert_int_equal(unlink(target), 0);
	tree_path(&tree, target, sizeof(target), "/proc/5/root/etc");
	assert_int_equal(rmdir(target), 0);
	tree_path(&tree, target, sizeof(target), "/outside");
	tree_link(&tree, "/proc/5/root/etc", target);
	hostname_of(&tree, &c);
	assert_int_equal(c.name_source, GP_NAME_NONE);
	/* A link that stays inside is the container's own business. */
	tree_path(&tree, target, sizeof(target), "/proc/5/root/etc");
	assert_int_equal(unlink(target), 0);
	tree_text(&tree, "/proc/5/root/run/name", "inside\n");
	tree_link(&tree, "/proc/5/root/etc/hostname", "/run/name");
	hostname_of(&tree, &c);
	assert_string_equal(c.name, "inside");
	tree_remove(&tree);
}

static void pipes_directories_and_large_files_are_no_host_name(void **state)
{
	struct gp_buf large = {0};
	struct gp_container c;
	struct tree tree;
	char path[PATH_MAX];

	(void)state;
	tree_make(&tree);
	tree_text(&tree, "/proc/5/cgroup", "0::/docker/" ID1 "\n");
	make_pipe(&tree, "/proc/5/root/etc/hostname");
	hostname_of(&tree, &c); /* and does not wait for a writer */
	assert_int_equal(c.name_source, GP_NAME_NONE);
	tree_path(&tree, path, sizeof(path), "/proc/5/root/etc/hostname");
	assert_int_equal(unlink(path), 0);
	tree_dir(&tree, "/proc/5/root/etc/hostname");
	hostname_of(&tree, &c);
	assert_int_equal(c.name_source, GP_NAME_NONE);
	assert_int_equal(rmdir(path), 0);
	for (int i = 0; i < 2000; i++)
		gp_buf_puts(&large, i ? "xyz" : "name\n");
	tree_text(&tree, "/proc/5/root/etc/hostname", gp_buf_str(&large));
	hostname_of(&tree, &c);
	assert_int_equal(c.name_source, GP_NAME_NONE);
	/* A line that is too long is not cut to another name. */
	large.data[300] = '\0';
	tree_text(&tree, "/proc/5/root/etc/hostname", gp_buf_str(&large) + 5);
	hostname_of(&tree, &c);
	assert_int_equal(c.name_source, GP_NAME_NONE);
	gp_buf_free(&large);
	tree_remove(&tree);
}

/* Where the file is, by a way of locating it: the inode, or 0 when it does not find it. */
static ino_t located(int (*locate)(int dir, const char *path), const struct tree *tree,
		     const char *path)
{
	int dir = open(tree->dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = locate(dir, path);
	struct stat info = {0};

	assert_true(dir >= 0);
	if (fd >= 0) {
		assert_int_equal(fstat(fd, &info), 0);
		close(fd);
	}
	close(dir);
	return S_ISREG(info.st_mode) ? info.st_ino : 0;
}

static void file_is_located_without_openat2_too(void **state)
{
	struct tree tree;
	struct stat info;
	char path[PATH_MAX];

	(void)state;
	tree_make(&tree);
	tree_text(&tree, "/etc/hostname", "x\n");
	tree_path(&tree, path, sizeof(path), "/etc/hostname");
	assert_int_equal(stat(path, &info), 0);
	tree_link(&tree, "/etc/link", path);
	tree_link(&tree, "/linked", "etc");
	assert_int_equal(located(gp_locate_by_steps, &tree, "etc/hostname"), info.st_ino);
	assert_int_equal(located(gp_locate_by_steps, &tree, "/etc//hostname"), info.st_ino);
	assert_int_equal(located(gp_locate_by_steps, &tree, "etc/link"), 0);
	assert_int_equal(located(gp_locate_by_steps, &tree, "linked/hostname"), 0);
	assert_int_equal(located(gp_locate_by_steps, &tree, "etc/../etc/hostname"), 0);
	assert_int_equal(located(gp_locate_by_steps, &tree, "etc/missing"), 0);
	assert_int_equal(gp_locate_by_steps(-1, "etc"), -EBADF);
	memset(path, 'n', 300);
	path[300] = '\0';
	assert_int_equal(located(gp_locate_by_steps, &tree, path), 0);
	if (gp_locate_in_root(-1, "x") != -ENOSYS)
		assert_int_equal(located(gp_locate_in_root, &tree, "linked/hostname"), info.st_ino);
	tree_remove(&tree);
}

static void only_regular_files_of_real_file_systems_are_opened(void **state)
{
	struct gp_buf text = {0};
	struct tree tree;
	char path[PATH_MAX];
	int fd;

	(void)state;
	tree_make(&tree);
	tree_text(&tree, "/name", "four");
	assert_int_equal(gp_read_beneath(tree.dir, "name", 4, &text), 0);
	assert_string_equal(gp_buf_str(&text), "four");
	assert_int_equal(gp_read_beneath(tree.dir, "name", 3, &text), -EFBIG);
	/* A pipe with something in it would not even block. */
	make_pipe(&tree, "/pipe");
	tree_path(&tree, path, sizeof(path), "/pipe");
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(gp_read_beneath(tree.dir, "pipe", 4096, &text), -EINVAL);
	close(fd);
	assert_int_equal(gp_read_beneath("/dev", "null", 4096, &text), -EINVAL);
	assert_int_equal(gp_read_beneath("/proc", "self/status", 4096, &text), -EINVAL);
	assert_int_equal(gp_read_beneath("/nonexistent", "x", 4096, &text), -ENOENT);
	gp_buf_free(&text);
	tree_remove(&tree);
}

#define HOME    "/home/eve"
#define STORAGE "/.local/share/containers/storage/overlay-containers/containers.json"
#define INVENTORY                                       \
	"[{\"id\": \"" ID1 "\", \"names\": [\"one\"]}," \
	" {\"id\": \"" ID2 "\", \"names\": [\"two\"]}, {\"id\": 7}, {\"id\": \"short\"}]"

static void rootless_tree(struct tree *tree)
{
	tree_make(tree);
	tree_text(tree, "/etc/passwd", "eve:x:1001:1001::" HOME ":/bin/sh\n");
	for (u32 pid = 5; pid < 7; pid++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%u/status", pid);
		tree_text(tree, path, "Uid:\t1001\t1001\t1001\t1001\n");
		snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
		tree_text(tree, path,
			  pid == 5 ? "0::/libpod-" ID1 ".scope\n" : "0::/libpod-" ID2 ".scope\n");
	}
}

static void inventory_in_a_home_cannot_block_or_lead_out(void **state)
{
	struct gp_container c;
	struct tree tree;
	char target[PATH_MAX];

	(void)state;
	rootless_tree(&tree);
	tree_text(&tree, HOME STORAGE, INVENTORY);
	hostname_of(&tree, &c);
	assert_string_equal(c.name, "one");
	make_pipe(&tree, HOME STORAGE);
	hostname_of(&tree, &c);
	assert_int_equal(c.name_source, GP_NAME_NONE);
	tree_text(&tree, "/root/containers.json", INVENTORY);
	tree_path(&tree, target, sizeof(target), "/root/containers.json");
	tree_link(&tree, HOME STORAGE, target);
	hostname_of(&tree, &c);
	assert_int_equal(c.name_source, GP_NAME_NONE);
	tree_remove(&tree);
}

static void inventory_is_read_once_for_many_processes(void **state)
{
	struct gp_container_names names = {0};
	struct gp_container c;
	struct tree tree;
	char path[PATH_MAX];

	(void)state;
	rootless_tree(&tree);
	tree_text(&tree, HOME STORAGE, INVENTORY);
	assert_int_equal(gp_container_look_up(&tree.root, &names, 5, &c), 0);
	assert_string_equal(c.name, "one");
	tree_path(&tree, path, sizeof(path), HOME STORAGE);
	assert_int_equal(unlink(path), 0);
	/* What is not there any more was read before. */
	assert_int_equal(gp_container_look_up(&tree.root, &names, 6, &c), 0);
	assert_string_equal(c.name, "two");
	gp_container_names_free(&names);
	hostname_of(&tree, &c);
	assert_int_equal(c.name_source, GP_NAME_NONE);
	tree_remove(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(container_cannot_make_us_read_the_hosts_files),
		cmocka_unit_test(pipes_directories_and_large_files_are_no_host_name),
		cmocka_unit_test(file_is_located_without_openat2_too),
		cmocka_unit_test(only_regular_files_of_real_file_systems_are_opened),
		cmocka_unit_test(inventory_in_a_home_cannot_block_or_lead_out),
		cmocka_unit_test(inventory_is_read_once_for_many_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
