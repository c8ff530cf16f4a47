// SPDX-License-Identifier: MIT
/*
 * Finding, starting and reaching the holder. The program goes into the background by itself and
 * ends when its socket answers, so that its end is all there is to wait for; what stays is detached
 * from this process: no child, no terminal, no descriptors.
 */
#include <errno.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/spawn.h"
#include "client/client.h"
#include "proto/directory.h"

#define PROGRAM "gpreempt-holder"
#define SOCKET  "holder.sock"
/* Between two looks while another process's holder is starting or ending; grows. */
#define AGAIN_MS     10
#define AGAIN_MAX_MS 500
#define LOOK_MS      5

/* Whether this code is linked into the program itself. Its name there is what it was called by: a
 * name without a path would be looked for in the working directory. */
static bool is_program(const Dl_info *here)
{
	Dl_info program;

	return dladdr((void *)getauxval(AT_PHDR), &program) && program.dli_fbase == here->dli_fbase;
}

/* Beside the library or the program that has it inside: build tree, then installed. */
static int find_program(char *out, size_t size)
{
	static const char *const places[] = {PROGRAM, "../bin/" PROGRAM,
					     "../libexec/gpreempt/" PROGRAM,
					     "../../libexec/gpreempt/" PROGRAM};
	const char *named = secure_getenv("GPREEMPT_HOLDER");
	char self[PATH_MAX];
	Dl_info info;
	char *slash;

	if (named && *named)
		return snprintf(out, size, "%s", named) < (int)size ? 0 : -ENAMETOOLONG;
	if (!dladdr((void *)find_program, &info) || !info.dli_fname)
		return -ENOENT;
	if (is_program(&info)) {
		ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

		if (length <= 0)
			return -ENOENT;
		self[length] = '\0';
	} else if (!realpath(info.dli_fname, self)) {
		return -ENOENT;
	}
	slash = strrchr(self, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	for (size_t i = 0; i < GP_ARRAY_SIZE(places); i++) {
		int length = snprintf(out, size, "%s/%s", self, places[i]);

		if (length < (int)size && access(out, X_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

/* A list of libraries (LD_PRELOAD: colons or blanks) without our agent, of either kind. New memory.
 */
static char *without_agent(const char *entry)
{
	static const char agent[] = "libgpreempt_agent";
	const char *list = strchr(entry, '=') + 1;
	char *out = calloc(1, strlen(entry) + 1), *end;

	if (!out)
		return NULL;
	memcpy(out, entry, (size_t)(list - entry));
	end = out + (list - entry);
	while (*list) {
		size_t length = strcspn(list, ": "), separator = list[length] ? 1 : 0;
		const char *name = list + length;

		while (name > list && name[-1] != '/')
			name--;
		if (strncmp(name, agent, strlen(agent)) != 0) {
			memcpy(end, list, length + separator);
			end += length + separator;
		}
		list += length + separator;
	}
	if (end > out && (end[-1] == ':' || end[-1] == ' '))
		end[-1] = '\0';
	return out;
}

static bool is_library_list(const char *entry)
{
	static const char *const names[] = {"LD_PRELOAD=", "HSA_TOOLS_LIB="};

	for (size_t i = 0; i < GP_ARRAY_SIZE(names); i++)
		if (strncmp(entry, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static void free_environment(char **environment)
{
	for (char **at = environment; at && *at; at++)
		free(*at);
	free(environment);
}

/* This program's, but the holder is no client of itself: started from a program under `gpreempt
 * run` it would have an agent inside. A virtual GPU's library stays. NULL without memory. */
static char **holder_environment(void)
{
	size_t count = 0, used = 0;
	char **out;

	while (environ[count])
		count++;
	out = calloc(count + 1, sizeof(*out));
	for (size_t i = 0; out && i < count; i++) {
		out[used] = is_library_list(environ[i]) ? without_agent(environ[i])
							: strdup(environ[i]);
		if (!out[used]) {
			free_environment(out);
			return NULL;
		}
		/* An empty list would name the empty library. */
		if (out[used][strlen(out[used]) - 1] == '=' && is_library_list(out[used])) {
			free(out[used]);
			out[used] = NULL;
		} else {
			used++;
		}
	}
	return out;
}

/* In the child, between fork and exec: system calls only. */
static _Noreturn void become_holder(const char *program, char *const *environment, int errors,
				    bool change_directory)
{
	static char name[] = PROGRAM;
	char *const argv[] = {name, NULL};

	(void)setsid();
	gp_spawn_reset_signals();
	if (change_directory && chdir("/") < 0)
		_exit(127);
	/* Above the standard streams, so that silencing these does not lose it. */
	errors = fcntl(errors, F_DUPFD, STDERR_FILENO + 1);
	if (errors < 0 || gp_spawn_silence() || dup2(errors, STDERR_FILENO) < 0)
		_exit(127);
	gp_spawn_close_from(STDERR_FILENO + 1, NULL, 0);
	execve(program, argv, environment);
	_exit(127);
}

/* Runs the program, which leaves a holder in the background and ends. Returns its pid. */
static pid_t spawn(const char *program, int *errors)
{
	const char *directory = getenv("GPREEMPT_DIR");
	bool change = program[0] == '/' && (!directory || directory[0] == '/');
	char **environment = holder_environment();
	int pipes[2];
	sigset_t all, old;

	if (!environment)
		return -ENOMEM;
	if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK) < 0) {
		free_environment(environment);
		return -errno;
	}
	/* No handler of this program may run in the child. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid_t child = fork();
	if (child == 0)
		become_holder(program, environment, pipes[1], change);
	if (child < 0)
		child = -errno;
	free_environment(environment);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	close(pipes[1]);
	if (child < 0)
		close(pipes[0]);
	else
		*errors = pipes[0];
	return child;
}

/* Waits for the program's end: its status as waitpid() has it, -ETIME, or 0 where somebody else
 * (SIGCHLD ignored, a waitpid() of this program for any child) took it. */
static int await_end(pid_t child, u64 deadline_ns)
{
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
	int status = 0, left;
	pid_t got;

	/* Without a descriptor for its end (none left, a kernel or a filter that has none) poll()
	 * only sleeps. Whatever happens, no child is left behind. */
	for (;;) {
		got = waitpid(child, &status, WNOHANG);
		left = gp_client_left_ms(deadline_ns);
		if ((got != 0 && !(got < 0 && errno == EINTR)) || left == 0)
			break;
		poll(&end, 1, end.fd < 0 && left > LOOK_MS ? LOOK_MS : left);
	}
	if (end.fd >= 0)
		close(end.fd);
	if (got == 0) {
		kill(child, SIGKILL);
		gp_spawn_wait(child);
		return -ETIME;
	}
	return got == child ? status : 0;
}

/* Not gp_proto_directory_connect(): a holder that hangs with a full backlog must not block us. */
static int try_connect(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int error = gp_proto_directory_path(address.sun_path, sizeof(address.sun_path), SOCKET, 1);

	if (error)
		return error;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static int check_peer(const struct gpreempt *context, int fd)
{
	pid_t pid;
	uid_t uid;
	int error = gp_wire_peer(fd, &pid, &uid);

	if (!error && gp_wire_peer_allowed(uid))
		return fd;
	close(fd);
	return gp_client_fail(context, error ? error : -EPERM,
			      "the holder's socket belongs to another user; remove it or set "
			      "GPREEMPT_DIR");
}

static int fail_connect(const struct gpreempt *context, int error)
{
	char path[PATH_MAX];

	gp_proto_directory_name(path, sizeof(path), "");
	if (error == -EPERM)
		return gp_client_fail(
			context, error,
			"unsafe socket directory %s: it must belong to you or root, and only its "
			"owner may write to it (set GPREEMPT_DIR to use another)",
			path);
	if (error == -EACCES || error == -ENOTDIR || error == -EROFS)
		return gp_client_fail(context, error,
				      "cannot use the socket directory %s: %s; set GPREEMPT_DIR to "
				      "a directory that you may create or write to",
				      path, strerror(-error));
	if (error == -EAGAIN)
		return gp_client_fail(context, -ETIME,
				      "the holder does not accept connections; use 'gpreempt "
				      "release --all' to end a hung holder");
	return gp_client_fail(context, error,
			      "cannot connect to the holder in %s: %s; 'gpreempt release --all' "
			      "ends a holder that hangs",
			      path, strerror(-error));
}

/* Waits for a change in the directory, but not for long: a socket that starts to listen makes
 * none. */
static void await_change(u64 deadline_ns, int at_most_ms)
{
	char path[PATH_MAX];
	struct pollfd one = {.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .events = POLLIN};
	int left = gp_client_left_ms(deadline_ns);

	if (one.fd >= 0 && gp_proto_directory_path(path, sizeof(path), "", 0) == 0)
		inotify_add_watch(one.fd, path, IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_ATTRIB);
	poll(&one, 1, left < at_most_ms ? left : at_most_ms);
	if (one.fd >= 0)
		close(one.fd);
}

/* Starts a holder; 0: there is one now, ours or another's. */
static int start(const struct gpreempt *context, u64 deadline_ns)
{
	char program[PATH_MAX];

	if (find_program(program, sizeof(program)) < 0)
		return gp_client_fail(context, -ENOENT,
				      "cannot find gpreempt-holder next to libgpreempt; set "
				      "GPREEMPT_HOLDER to its path");
	if (access(program, X_OK) < 0)
		return gp_client_fail(context, -errno, "cannot run %s: %s", program,
				      strerror(errno));
	int errors = -1;
	pid_t child = spawn(program, &errors);
	if (child < 0)
		return gp_client_fail(context, child, "cannot start %s: %s", program,
				      strerror(-child));
	int status = await_end(child, deadline_ns);
	char text[256] = "";
	ssize_t length = read(errors, text, sizeof(text) - 1);
	close(errors);
	if (status == -ETIME)
		return gp_client_fail(context, -ETIME,
				      "%s did not start in time; the machine may be overloaded",
				      program);
	if (status < 0)
		return gp_client_fail(context, status, "cannot wait for %s: %s", program,
				      strerror(-status));
	if (!status)
		return 0;
	text[length > 0 ? length : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return gp_client_fail(context, -ECONNREFUSED, "the holder could not start: %s",
			      *text ? text : program);
}

int gp_client_connect(const struct gpreempt *context, int timeout_ms)
{
	u64 deadline_ns = gp_monotonic_ns() + (u64)timeout_ms * GP_NS_PER_MS;
	int again_ms = AGAIN_MS, tried = 0;

	for (;;) {
		int fd = try_connect();
		if (fd >= 0)
			return check_peer(context, fd);
		/* Only these mean that nobody listens. */
		bool found_none = fd == -ENOENT || fd == -ECONNREFUSED;
		if (!found_none && fd != -EAGAIN)
			return fail_connect(context, fd);
		if (gp_client_left_ms(deadline_ns) == 0)
			return fail_connect(context, found_none ? -ETIME : fd);
		int status = found_none ? start(context, deadline_ns) : 0;
		if (status < 0)
			return status;
		/* Nothing to wait for when it was started, unless it has ended again. */
		if (tried++ || !found_none) {
			await_change(deadline_ns, again_ms);
			again_ms = again_ms * 2 < AGAIN_MAX_MS ? again_ms * 2 : AGAIN_MAX_MS;
		}
	}
}
