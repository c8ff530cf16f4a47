// SPDX-License-Identifier: MIT
/*
 * gpreempt-holder: started on demand by the library, one per user. It returns when holder.sock
 * answers: with 0 when it went into the background, or when another holder is there already;
 * otherwise it says why on stderr. It ends when it has not been needed for a while.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/command.h"
#include "base/spawn.h"
#include "base/host/urgent.h"
#include "holder/guardian.h"
#include "holder/holder.h"
#include "proto/directory.h"

#define SOCKET  "holder.sock"
#define LOCK    "holder.lock"
#define BACKLOG 128
#define WAIT_MS 5000 /* for another holder that is ending */

static const struct gp_gpu_control_ops *const mechanisms[] = {&gp_holder_agent_control,
							      &gp_kfd_module_control,
							      &gp_kfd_debug_control,
							      &gp_nvrm_control, NULL};

struct program {
	bool foreground;
	u32 idle_ms;
	int lock, listen;
};

static int say(int error, const char *what)
{
	fprintf(stderr, "gpreempt-holder: %s: %s\n", what, strerror(-error));
	return 1;
}

static bool another_answers(void)
{
	int fd = gp_proto_directory_try_connect(SOCKET);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* 0 the lock is ours, 1 another holder answers. Waits for one that is just ending. */
static int take_lock(struct program *program)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int error = gp_proto_directory_path(path, sizeof(path), LOCK, 1);

	if (error)
		return error;
	program->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (program->lock < 0)
		return -errno;
	for (int i = 0; i < WAIT_MS; i++) {
		if (flock(program->lock, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK)
			return -errno;
		if (another_answers())
			return 1;
		nanosleep(&(struct timespec){.tv_nsec = GP_NS_PER_MS}, NULL);
	}
	return -EBUSY;
}

/* -EPERM: what may be in the directory is not to be trusted. -EBUSY: another holder has the lock,
 * and does not answer. */
static int refuse_lock(int error)
{
	char path[PATH_MAX], text[PATH_MAX + 64];

	if (error == -EPERM)
		snprintf(text, sizeof(text), _("unsafe socket directory %s"),
			 gp_proto_directory_name(path, sizeof(path), ""));
	else if (error == -EBUSY)
		snprintf(text, sizeof(text), _("a holder that does not answer has the lock of %s"),
			 gp_proto_directory_name(path, sizeof(path), LOCK));
	else
		snprintf(text, sizeof(text), _("cannot use the socket directory %s"),
			 gp_proto_directory_name(path, sizeof(path), LOCK));
	return say(error, text);
}

static int open_socket(struct program *program)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int error = gp_proto_directory_path(address.sun_path, sizeof(address.sun_path), SOCKET, 1);

	if (error)
		return error;
	unlink(address.sun_path); /* left behind by one that was killed: the lock is ours */
	program->listen = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (program->listen < 0)
		return -errno;
	mode_t mask = umask(0177);
	if (bind(program->listen, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(program->listen, BACKLOG) < 0)
		error = -errno;
	umask(mask);
	return error;
}

static void write_pid(int lock)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	if (ftruncate(lock, 0) || pwrite(lock, text, (size_t)length, 0) != length)
		fprintf(stderr, "gpreempt-holder: " LOCK ": %s\n", strerror(errno));
}

static void remove_socket(void)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];

	if (!gp_proto_directory_path(path, sizeof(path), SOCKET, 0))
		unlink(path);
}

static int serve(const struct program *program)
{
	static struct gp_holder holder;
	struct gp_holder_options options = {
		.mechanisms = mechanisms,
		.listen_fd = program->listen,
		.lock_name = LOCK,
		.lock_fd = program->lock,
		.idle_ms = program->idle_ms,
		.guard_ns = gp_holder_guardian_clock(),
	};

	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	gp_raise_descriptors();
	int error = options.guard_ns ? gp_holder_open(&holder, &options) : -ENOMEM;
	if (error)
		return say(error, _("cannot start"));
	/* Clients wait for this loop; on a busy host it would wait for a CPU. */
	(void)gp_urgent_begin();
	while (!gp_holder_step(&holder, -1))
		;
	/* Clients that come now find no socket, and start another holder, which waits for the lock.
	 */
	if (holder.homeless)
		fprintf(stderr, "gpreempt-holder: %s\n",
			_("the socket directory was removed; exiting"));
	else
		remove_socket();
	gp_holder_close(&holder);
	return 0;
}

enum { OPTION_FOREGROUND = 256, OPTION_IDLE };

static const struct gp_option options[] = {
	{OPTION_FOREGROUND, "foreground", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("stay in the foreground")},
	{OPTION_IDLE, "idle", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("exit after TIME without clients (default 5s; 0: never)")},
	{0},
};

static const struct gp_command command = {
	.name = "gpreempt-holder",
	.alone = true,
	.arguments = "",
	.summary = N_("Manage the suspensions of one user's clients; started on demand"),
	.exit_status = N_("Exit status: 0 ok, 1 failed, 2 bad usage."),
	.options = options,
};

static int set(void *ctx, int id, const char *value)
{
	struct program *program = ctx;
	u64 idle;

	if (id == OPTION_FOREGROUND)
		program->foreground = true;
	if (id != OPTION_IDLE)
		return 0;
	if (gp_option_duration(&command, "idle", value, 0, 86400 * GP_NS_PER_S, &idle))
		return GP_EXIT_USAGE;
	program->idle_ms = (u32)(idle / GP_NS_PER_MS);
	return 0;
}

int main(int argc, char **argv)
{
	struct program program = {.idle_ms = GP_HOLDER_IDLE_MS, .lock = -1, .listen = -1};
	int first, status;

	gp_i18n_init();
	status = gp_command_parse(&command, argc, argv, set, &program, &first);
	if (status < 0)
		return GP_EXIT_USAGE;
	if (!status && first < argc)
		return gp_usage_error(&command, "unexpected argument '%s'", argv[first]);
	if (status)
		return gp_command_finish(&command, GP_EXIT_OK);
	int error = take_lock(&program);
	if (error > 0)
		return 0;
	if (error)
		return refuse_lock(error);
	error = open_socket(&program);
	if (error)
		return say(error, SOCKET);
	/* The rest came from the process that started this one. */
	gp_spawn_close_from(3, (const int[]){program.lock, program.listen}, 2);
	if (!program.foreground) {
		error = gp_spawn_background();
		if (error)
			return say(error, _("cannot start its background process (check 'ulimit "
					    "-u' and free memory)"));
	}
	/* Again: SO_PEERCRED names the process that listened last. */
	if (listen(program.listen, BACKLOG) < 0)
		return say(-errno, SOCKET);
	write_pid(program.lock);
	return serve(&program);
}
