// SPDX-License-Identifier: MIT
/* Paths and descriptors on a live machine: every function that takes one leads to the right place.
 */
#include "client_program.h"

#include <dirent.h>
#include <dlfcn.h>
#include <poll.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

static void devices_look_like_devices(void)
{
	struct pollfd poll_fd = {.fd = kfd, .events = POLLIN};
	struct gp_kfd_get_version_args version;
	struct stat st;
	int copy;

	CHECK(stat("/dev/kfd", &st) == 0 && S_ISCHR(st.st_mode));
	CHECK(fstat(kfd, &st) == 0 && S_ISCHR(st.st_mode));
	CHECK(fstat(render, &st) == 0 && major(st.st_rdev) == 226 && minor(st.st_rdev) == 128);
	CHECK(access("/dev/dri/renderD128", R_OK) == 0);
	CHECK(open("/dev/dri/renderD191", O_RDWR) < 0 && errno == ENOENT);
	CHECK(poll(&poll_fd, 1, 0) == 1);
	copy = fcntl(kfd, F_DUPFD_CLOEXEC, 60);
	CHECK(copy >= 60 && call(copy, GP_KFD_IOC_GET_VERSION, &version) == 0);
	CHECK(version.major_version == GP_KFD_VERSION_MAJOR);
	CHECK(close(copy) == 0);
	CHECK(call(copy, GP_KFD_IOC_GET_VERSION, &version) == -EBADF);
	CHECK(call(kfd, _IO('K', 0x82), NULL) == -ENOTTY);
	CHECK(call(kfd, GP_KFD_IOC_GET_VERSION, (void *)8) == -EFAULT);
}

static void files_are_there(void)
{
	char path[128], resolved[4096];
	DIR *nodes = opendir("/sys/devices/virtual/kfd/kfd/topology/nodes");
	FILE *modules = fopen("/proc/modules", "re");
	char line[256];
	bool found = false;

	CHECK(nodes != NULL && modules != NULL);
	closedir(nodes);
	while (fgets(line, sizeof(line), modules))
		found |= !strncmp(line, "amdgpu ", 7);
	fclose(modules);
	CHECK(found);
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/pasid", (int)getpid());
	CHECK(access(path, R_OK) == 0);
	CHECK(realpath("/sys/class/kfd/kfd/topology", resolved) != NULL);
	CHECK(!strncmp(resolved, "/sys/", 5));
}

/* The function of that name, as a program built elsewhere would call it. */
static void *function(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	CHECK(found != NULL);
	return found;
}

static void every_way_to_open_works(void)
{
	static const char *const plain[] = {"open", "open64", "__open_2", "__open64_2"};
	static const char *const at[] = {"openat", "openat64", "__openat_2", "__openat64_2"};
	int (*open_it)(const char *, int, ...), (*open_at)(int, const char *, int, ...);
	FILE *(*open_file)(const char *, const char *);
	struct gp_kfd_get_version_args version;
	struct dirent **names = NULL;
	FILE *file;
	int fd, count;

	for (size_t i = 0; i < GP_ARRAY_SIZE(plain); i++) {
		open_it = (__typeof__(open_it))function(plain[i]);
		fd = open_it("/dev/kfd", O_RDWR);
		CHECK(call(fd, GP_KFD_IOC_GET_VERSION, &version) == 0 && close(fd) == 0);
		open_at = (__typeof__(open_at))function(at[i]);
		fd = open_at(AT_FDCWD, "/sys/class/kfd/kfd/topology/generation_id", O_RDONLY);
		CHECK(fd >= 0 && close(fd) == 0);
	}
	open_file = (__typeof__(open_file))function("fopen64");
	file = open_file("/sys/class/kfd/kfd/topology/system_properties", "r");
	CHECK(file != NULL);
	fclose(file);
	count = scandir("/dev/dri", &names, NULL, NULL);
	CHECK(count > 2);
	while (count--)
		free(names[count]);
	free(names);
	fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	CHECK(fd < 0 || close(fd) == 0);
}

static void every_way_to_look_works(void)
{
	static const char *const stats[] = {"stat", "stat64", "lstat", "lstat64"};
	static const char *const old[] = {"__xstat", "__xstat64", "__lxstat", "__lxstat64"};
	static const char *const fds[] = {"__fxstat", "__fxstat64"};
	static const char *const accesses[] = {"access", "eaccess", "euidaccess"};
	int (*stat_it)(const char *, struct stat *), (*old_stat)(int, const char *, struct stat *);
	int (*fd_stat)(int, int, struct stat *), (*access_it)(const char *, int);
	const int version = 1; /* _STAT_VER_LINUX of x86-64 */
	struct statx extended;
	char text[4096], *resolved;
	struct stat st;

	for (size_t i = 0; i < GP_ARRAY_SIZE(stats); i++) {
		stat_it = (__typeof__(stat_it))function(stats[i]);
		old_stat = (__typeof__(old_stat))function(old[i]);
		CHECK(stat_it("/dev/kfd", &st) == 0 && S_ISCHR(st.st_mode));
		CHECK(old_stat(version, "/dev/dri/renderD128", &st) == 0 && S_ISCHR(st.st_mode));
	}
	for (size_t i = 0; i < GP_ARRAY_SIZE(fds); i++) {
		fd_stat = (__typeof__(fd_stat))function(fds[i]);
		CHECK(fd_stat(version, kfd, &st) == 0 && S_ISCHR(st.st_mode));
	}
	for (size_t i = 0; i < GP_ARRAY_SIZE(accesses); i++) {
		access_it = (__typeof__(access_it))function(accesses[i]);
		CHECK(access_it("/sys/module/amdgpu", F_OK) == 0);
	}
	CHECK(faccessat(AT_FDCWD, "/dev/kfd", F_OK, 0) == 0);
	CHECK(fstatat(AT_FDCWD, "/dev/kfd", &st, 0) == 0 && S_ISCHR(st.st_mode));
	CHECK(fstatat(kfd, "", &st, AT_EMPTY_PATH) == 0 && S_ISCHR(st.st_mode));
	CHECK(statx(AT_FDCWD, "/dev/kfd", 0, STATX_BASIC_STATS, &extended) == 0);
	CHECK(S_ISCHR(extended.stx_mode));
	CHECK(readlink("/sys/class/kfd/kfd", text, sizeof(text)) > 0 || errno == EINVAL);
	CHECK(readlinkat(AT_FDCWD, "/sys/class/kfd/kfd", text, sizeof(text)) > 0 ||
	      errno == EINVAL);
	CHECK(getxattr("/dev/kfd", "user.none", text, sizeof(text)) < 0 && errno != ENOENT);
	CHECK(lgetxattr("/dev/kfd", "user.none", text, sizeof(text)) < 0 && errno != ENOENT);
	resolved = canonicalize_file_name("/sys/class/kfd");
	CHECK(resolved && !strcmp(resolved, "/sys/class/kfd"));
	free(resolved);
	CHECK(chdir("/sys/class/kfd") == 0 && access("kfd", F_OK) == 0);
	CHECK(chdir("/") == 0);
}

static bool has_us(int fd)
{
	char text[65536], line[64];
	ssize_t n;

	CHECK(fd >= 0);
	n = read(fd, text, sizeof(text) - 1);
	CHECK(n >= 0 && close(fd) == 0);
	text[n] = '\0';
	snprintf(line, sizeof(line), "Process %d PASID", (int)getpid());
	return strstr(text, line) != NULL;
}

/* However a file is reached, it is as of now. */
static void relative_paths_are_up_to_date(void)
{
	int directory = open("/sys/kernel/debug/kfd", O_RDONLY | O_DIRECTORY);

	CHECK(directory >= 0);
	CHECK(has_us(openat(directory, "mqds", O_RDONLY)));
	CHECK(has_us(openat(directory, "../kfd/./mqds", O_RDONLY)));
	CHECK(close(directory) == 0);
	CHECK(chdir("/sys/kernel") == 0);
	CHECK(has_us(open("debug/kfd/mqds", O_RDONLY)));
	CHECK(chdir("/sys/kernel/debug/kfd") == 0 && has_us(open("mqds", O_RDONLY)));
	CHECK(chdir("/") == 0);
}

/* Not even root: there is nothing in the driver that would take it. */
static void nobody_writes_to_them(void)
{
	static const char *const files[] = {"/sys/kernel/debug/kfd/mqds",
					    "/sys/class/kfd/kfd/topology/generation_id",
					    "/proc/modules", "/sys/class/kfd/new"};

	for (size_t i = 0; i < GP_ARRAY_SIZE(files); i++) {
		CHECK(open(files[i], O_WRONLY) < 0 && errno == EACCES);
		CHECK(open(files[i], O_RDWR | O_TRUNC | O_CREAT, 0600) < 0 && errno == EACCES);
		CHECK(fopen(files[i], "w") == NULL && errno == EACCES);
		CHECK(fopen(files[i], "r+") == NULL && errno == EACCES);
	}
	CHECK(chdir("/sys/class/kfd/kfd/topology") == 0);
	CHECK(open("generation_id", O_RDWR) < 0 && errno == EACCES);
	CHECK(chdir("/") == 0);
}

static void copies_are_the_same_device(void)
{
	struct gp_kfd_get_version_args version;
	int copies[3] = {dup(kfd), dup2(kfd, 200), dup3(kfd, 201, O_CLOEXEC)};

	for (size_t i = 0; i < GP_ARRAY_SIZE(copies); i++)
		CHECK(call(copies[i], GP_KFD_IOC_GET_VERSION, &version) == 0);
	/* Another file in its place is no device any more. */
	CHECK(dup2(STDERR_FILENO, 200) == 200);
	CHECK(call(200, GP_KFD_IOC_GET_VERSION, &version) < 0);
	for (size_t i = 0; i < GP_ARRAY_SIZE(copies); i++)
		CHECK(close(copies[i]) == 0);
}

int main(void)
{
	open_devices();
	relative_paths_are_up_to_date();
	nobody_writes_to_them();
	devices_look_like_devices();
	files_are_there();
	every_way_to_open_works();
	every_way_to_look_works();
	copies_are_the_same_device();
	return 0;
}
