// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/i18n.h"
#include "base/parse.h"
#include "base/spawn.h"
#include "vgpu/program/program.h"

#define STOP_TIMEOUT_MS 5000

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	remove(path);
	return 0;
}

static void remove_tree(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* No other user may plant files where preloaded programs will look. */
static int own_directory(const char *path, struct gp_diag *diag)
{
	struct stat status;

	if (mkdir(path, 0700) && errno != EEXIST)
		return gp_fail(diag, -errno, "cannot create %s: %s", path, strerror(errno));
	if (lstat(path, &status))
		return gp_fail(diag, -errno, "cannot find out what %s is: %s", path,
			       strerror(errno));
	if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || status.st_mode & 077)
		return gp_fail(diag, -EPERM, "%s must be a directory that you own, with mode 0700",
			       path);
	return 0;
}

/* Where this user's machines are. */
static int base_directory(struct gp_diag *diag, char *out, size_t size)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int n;

	if (!runtime || *runtime != '/' || access(runtime, W_OK)) {
		n = snprintf(out, size, "/tmp/gpreempt-vgpu-%u", (unsigned int)geteuid());
		return n < (int)size ? own_directory(out, diag) : -ENAMETOOLONG;
	}
	n = snprintf(out, size, "%s/gpreempt", runtime);
	if (n >= (int)size)
		return -ENAMETOOLONG;
	n = own_directory(out, diag);
	if (n)
		return n;
	if (snprintf(out, size, "%s/gpreempt/vgpu", runtime) >= (int)size)
		return -ENAMETOOLONG;
	return own_directory(out, diag);
}

bool gp_vgpu_good_name(const char *name)
{
	size_t len =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

	return len && !name[len] && len <= GP_VGPU_NAME_MAX;
}

int gp_vgpu_directory(const char *name, struct gp_diag *diag, char *out, size_t size)
{
	char base[PATH_MAX / 2];
	int error = base_directory(diag, base, sizeof(base));

	if (error)
		return error;
	if (!gp_vgpu_good_name(name))
		return -EINVAL;
	if (snprintf(out, size, "%s/%s", base, name) >= (int)size)
		return -ENAMETOOLONG;
	/* A socket's path has room for 107 bytes. */
	if (strlen(out) + sizeof("/" GP_VGPU_SOCKET) > 107)
		return gp_fail(diag, -ENAMETOOLONG,
			       "path %s is too long; set XDG_RUNTIME_DIR to a shorter path", out);
	return 0;
}

json_t *gp_vgpu_machines(void)
{
	struct gp_root live = {.dir = ""};
	struct gp_names names = {0};
	json_t *out = json_array();
	char base[PATH_MAX / 2], path[PATH_MAX];
	int fd;

	if (base_directory(NULL, base, sizeof(base)) || gp_root_list(&live, &names, "%s", base))
		return out;
	for (size_t i = 0; i < names.count; i++) {
		if (!gp_vgpu_good_name(names.items[i]) ||
		    gp_vgpu_directory(names.items[i], NULL, path, sizeof(path)))
			continue;
		fd = gp_vgpu_connect(path);
		if (fd < 0)
			continue;
		close(fd);
		json_array_append_new(out, json_string(names.items[i]));
	}
	gp_names_free(&names);
	return out;
}

static int write_kernels(const struct gp_vgpu_options *options, const char *directory,
			 struct gp_diag *diag)
{
	struct gp_gpufile_kernel *kernels;
	char path[PATH_MAX + sizeof("/" GP_VGPU_KERNELS)];
	size_t count;
	int error = gp_gpufile_kernels_load(options->kernels, diag, &kernels, &count);

	if (error)
		return error;
	snprintf(path, sizeof(path), "%s/" GP_VGPU_KERNELS, directory);
	error = gp_file_write_atomic(path, kernels, count * sizeof(*kernels));
	free(kernels);
	if (!error && options->server.compute) {
		snprintf(path, sizeof(path), "%s/" GP_VGPU_COMPUTES, directory);
		error = gp_file_write_atomic(path, "", 0);
	}
	if (error)
		return gp_fail(diag, error, "cannot write %s: %s", path, strerror(-error));
	if (options->trap_handler)
		return gp_vgpu_handler_write(options->trap_handler, directory, diag);
	return 0;
}

/* A descriptor of the caller that stayed open in the server would keep the reader of a pipe
 * waiting; its directory would keep a file system mounted. */
static void let_go(int first, int second)
{
	int null = open("/dev/null", O_RDWR);

	(void)!chdir("/");
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	gp_spawn_close_from(STDERR_FILENO + 1, (int[]){first, second}, 2);
}

static void reset_signals(void)
{
	static const int signals[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGCHLD, SIGUSR1, SIGUSR2};
	sigset_t held;

	for (size_t i = 0; i < GP_ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	/* Signals that end the server wait for its loop, so that it removes its directory. */
	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGHUP);
	sigprocmask(SIG_SETMASK, &held, NULL);
}

/*
 * The machine is ending: its name is free from now on. Its files are removed under another name,
 * which sweep() finds should this process be killed first.
 */
static void retire(struct gp_vgpu_server *server, const char *directory, char *gone, size_t size)
{
	const char *slash = strrchr(directory, '/');
	int n = snprintf(gone, size, "%.*s/" GP_VGPU_PRIVATE "%d", (int)(slash - directory),
			 directory, (int)getpid());

	if (n < (int)size && rename(directory, gone) == 0)
		server->options.directory = gone;
	else
		snprintf(gone, size, "%s", directory);
}

/* What a server writes to the pipe if it does not start; gp_vgpu_server_run() writes something
 * else. */
#define SAID_WHY '!'

/* Notices whether the caller has read of an error. */
struct noticing {
	struct gp_diag diag;
	struct gp_diag *to;
	bool to_log; /* not any more */
	bool error;
};

static void notice(struct gp_diag *diag, enum gp_severity severity, const char *text)
{
	struct noticing *noticing = gp_container(diag, struct noticing, diag);

	noticing->error |= severity == GP_ERROR && !noticing->to_log;
	if (noticing->to && noticing->to->emit)
		noticing->to->emit(noticing->to, severity, text);
}

/* The server, from fork to exit. Its directory goes with it. */
static int serve(const struct gp_vgpu_options *options, const char *directory, int ready_fd,
		 int log_fd, struct gp_diag *to)
{
	struct gp_vgpu_server_options server_options = options->server;
	struct noticing noticing = {.diag = {.emit = notice}, .to = to};
	struct gp_diag *diag = &noticing.diag;
	char gone[PATH_MAX];
	bool ours = true;
	struct gp_vgpu_gpufile file;
	struct gp_vgpu_server *server = calloc(1, sizeof(*server));
	int error = server ? write_kernels(options, directory, diag) : -ENOMEM;

	if (!error)
		error = gp_vgpu_gpufile_load(options->gpu, options->personality, diag, &file);
	if (!error) {
		server_options.directory = directory;
		let_go(ready_fd, log_fd);
		error = gp_vgpu_server_start(server, &server_options, &file, diag);
		if (!error) {
			noticing.to_log = log_fd >= 0 && dup2(log_fd, STDERR_FILENO) >= 0;
			error = gp_vgpu_server_run(server, ready_fd);
			gp_vgpu_server_look_home(server);
			ours = !server->gone;
			if (ours)
				retire(server, directory, gone, sizeof(gone));
			gp_vgpu_server_stop(server);
			directory = ours ? gone : directory;
		}
		gp_vgpu_gpufile_free(&file);
	}
	free(server);
	if (ours)
		remove_tree(directory);
	if (error && noticing.error) /* it never ran: the pipe is still open */
		(void)!write(ready_fd, &(char){SAID_WHY}, 1);
	return error ? GP_VGPU_FAILED : 0;
}

/* A byte when the server is ready; SAID_WHY or its end, when it is not going to be. `error`: it was
 * not even forked. */
static int wait_ready(int fd, int error, struct gp_diag *diag)
{
	char byte = 0;
	ssize_t n;

	do
		n = error ? 0 : read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		return byte == SAID_WHY ? -EIO : 0;
	return gp_fail(diag, error ? error : -EIO,
		       "the virtual GPU did not start; 'gpreempt vgpu status' lists "
		       "machines, and 'gpreempt vgpu stop' removes one that hangs");
}

static int make_directory(const char *path, struct gp_diag *diag)
{
	if (mkdir(path, 0700) == 0)
		return 0;
	if (errno == EEXIST) {
		/* Left behind by a machine that was killed. */
		remove_tree(path);
		if (mkdir(path, 0700) == 0)
			return 0;
	}
	return gp_fail(diag, -errno, "cannot create %s: %s", path, strerror(errno));
}

static int make_pipe(int ready[2], const char *directory, struct gp_diag *diag)
{
	int error = pipe2(ready, O_CLOEXEC) ? -errno : 0;

	if (!error)
		return 0;
	remove_tree(directory);
	return gp_fail(diag, error,
		       "cannot create a pipe: %s; check the limit of open files (ulimit -n)",
		       strerror(-error));
}

/* Removes directories of private machines without a launcher and a server. */
static void sweep(const char *directory)
{
	char path[PATH_MAX];
	const char *slash = strrchr(directory, '/');
	struct gp_root parent = {.dir = path};
	struct gp_names names;

	snprintf(path, sizeof(path), "%.*s", (int)(slash - directory), directory);
	if (gp_root_list(&parent, &names, "/"))
		return;
	for (size_t i = 0; i < names.count; i++) {
		const char *name = names.items[i];
		char left[PATH_MAX];
		u32 pid;
		int fd;

		if (strncmp(name, GP_VGPU_PRIVATE, strlen(GP_VGPU_PRIVATE)) != 0 ||
		    !gp_argument_pid(name + strlen(GP_VGPU_PRIVATE), &pid) ||
		    kill((pid_t)pid, 0) == 0 || errno != ESRCH ||
		    snprintf(left, sizeof(left), "%s/%s", path, name) >= (int)sizeof(left))
			continue;
		fd = gp_vgpu_connect(left);
		if (fd >= 0)
			close(fd);
		else
			remove_tree(left);
	}
	gp_names_free(&names);
}

int gp_vgpu_start_private(const struct gp_vgpu_options *options, struct gp_diag *diag,
			  struct gp_vgpu_machine *out)
{
	char name[GP_VGPU_NAME_MAX + 1];
	pid_t parent = getpid();
	int ready[2], error;

	out->server = -1;
	snprintf(name, sizeof(name), GP_VGPU_PRIVATE "%d", (int)parent);
	error = gp_vgpu_directory(name, diag, out->directory, sizeof(out->directory));
	if (!error)
		sweep(out->directory);
	error = error ? error : make_directory(out->directory, diag);
	if (error)
		return error;
	error = make_pipe(ready, out->directory, diag);
	if (error)
		return error;
	out->server = fork();
	if (out->server == 0) {
		/* Away from the terminal's Ctrl-C, but not from the parent's end. */
		setsid();
		reset_signals();
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent) {
			remove_tree(out->directory);
			_exit(GP_VGPU_FAILED);
		}
		close(ready[0]);
		exit(serve(options, out->directory, ready[1], -1, diag));
	}
	error = out->server < 0 ? -errno : 0;
	close(ready[1]);
	error = wait_ready(ready[0], error, diag);
	close(ready[0]);
	if (error)
		gp_vgpu_stop_private(out);
	return error;
}

void gp_vgpu_stop_private(struct gp_vgpu_machine *machine)
{
	if (machine->server > 0) {
		int fd = (int)syscall(SYS_pidfd_open, machine->server, 0);
		struct pollfd end = {.fd = fd, .events = POLLIN};

		int ended;

		kill(machine->server, SIGTERM);
		do {
			ended = fd < 0 ? 1 : poll(&end, 1, STOP_TIMEOUT_MS);
		} while (ended < 0 && errno == EINTR);
		if (ended <= 0)
			kill(machine->server, SIGKILL);
		if (fd >= 0)
			close(fd);
		gp_spawn_wait(machine->server);
		machine->server = -1;
	}
	remove_tree(machine->directory);
}

struct keeping {
	const struct gp_vgpu_options *options;
	const char *directory;
	int wait, ready; /* the pipe's two ends */
	struct gp_diag *diag;
};

/* In a detached process, with a log instead of a terminal. */
static void keep(void *data)
{
	const struct keeping *start = data;
	char path[PATH_MAX + sizeof("/log")];
	int log_fd;

	close(start->wait);
	reset_signals();
	snprintf(path, sizeof(path), "%s/log", start->directory);
	log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	exit(serve(start->options, start->directory, start->ready, log_fd, start->diag));
}

/* One start at a time: a machine that is coming up has a directory but does not answer yet. */
static int lock_starts(const char *directory, struct gp_diag *diag)
{
	char path[PATH_MAX];
	const char *slash = strrchr(directory, '/');
	int fd;

	snprintf(path, sizeof(path), "%.*s", (int)(slash - directory), directory);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return gp_fail(diag, -errno, "cannot open %s: %s", path, strerror(errno));
	while (flock(fd, LOCK_EX)) {
		int error = -errno;

		if (error == -EINTR)
			continue;
		close(fd);
		return gp_fail(diag, error, "cannot lock %s: %s", path, strerror(-error));
	}
	return fd;
}

static int start_kept(const struct gp_vgpu_options *options, const char *directory,
		      struct gp_diag *diag)
{
	int ready[2], error;

	if (gp_vgpu_answers(directory))
		return gp_fail(
			diag, -EEXIST,
			"machine '%s' is already running; stop it with 'gpreempt vgpu stop%s%s'",
			options->name, options->named ? " --name " : "",
			options->named ? options->name : "");
	error = make_directory(directory, diag);
	if (error)
		return error;
	error = make_pipe(ready, directory, diag);
	if (error)
		return error;
	error = gp_spawn_detached(keep,
				  &(struct keeping){options, directory, ready[0], ready[1], diag});
	close(ready[1]);
	error = wait_ready(ready[0], error, diag);
	close(ready[0]);
	if (error)
		remove_tree(directory);
	return error;
}

int gp_vgpu_start_kept(const struct gp_vgpu_options *options, struct gp_diag *diag,
		       struct gp_vgpu_machine *out)
{
	int lock, error;

	out->server = -1;
	error = gp_vgpu_directory(options->name, diag, out->directory, sizeof(out->directory));
	if (error)
		return error;
	lock = lock_starts(out->directory, diag);
	if (lock < 0)
		return lock;
	error = start_kept(options, out->directory, diag);
	close(lock);
	return error;
}
