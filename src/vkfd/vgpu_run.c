/* Running a command on a machine: may it be preloaded, start it, hand on signals, its status. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/i18n.h"
#include "vkfd/vgpu.h"

#define LIBRARY       "libgpreempt_vkfd.so"
#define SCRIPT_DEPTH  4
#define PHDRS_MAX     128
#define GRACE_SECONDS 2   /* for a command whose machine is gone */
#define SIGNAL_STATUS 128 /* + signal: how shells report a process that was killed */

/* ---- the program ---- */

/* The way execvp() looks. */
static int find_program(const char *name, char *path, size_t size)
{
	const char *directories = getenv("PATH");
	int error = -ENOENT;

	if (strchr(name, '/'))
		return snprintf(path, size, "%s", name) < (int)size ? 0 : -ENAMETOOLONG;
	if (!directories)
		directories = "/bin:/usr/bin";
	for (const char *p = directories;; p++) {
		size_t len = strcspn(p, ":");
		struct stat status;

		if (snprintf(path, size, "%.*s%s%s", (int)len, p, len ? "/" : "", name) <
			    (int)size &&
		    stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
			if (access(path, X_OK) == 0)
				return 0;
			error = -EACCES;
		}
		p += len;
		if (!*p)
			return error;
	}
}

/* The run-time linker ignores LD_PRELOAD when a program gains rights. */
static bool gains_rights(const char *path, const struct stat *status)
{
	if (status->st_mode & S_ISUID && status->st_uid != getuid())
		return true;
	if (status->st_mode & S_ISGID && status->st_mode & S_IXGRP && status->st_gid != getgid())
		return true;
	return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static int check_elf(int fd, const char *path, const Elf64_Ehdr *header, struct gp_diag *diag)
{
	bool interpreter = false;

	if (header->e_ident[EI_CLASS] != ELFCLASS64)
		return gp_fail(diag, -EACCES, _("%s is not a 64-bit program; KFD has no others"),
			       path);
	for (u32 i = 0; i < header->e_phnum && i < PHDRS_MAX && !interpreter; i++) {
		Elf64_Phdr segment;

		if (pread(fd, &segment, sizeof(segment),
			  (off_t)(header->e_phoff + (u64)i * header->e_phentsize)) !=
		    (ssize_t)sizeof(segment))
			break;
		interpreter = segment.p_type == PT_INTERP;
	}
	if (interpreter)
		return 0;
	return gp_fail(diag, -EACCES,
		       _("%s is linked statically: no library can be loaded into it, so it cannot "
			 "see the virtual GPU"),
		       path);
}

static int check_file(const char *path, int depth, struct gp_diag *diag);

/* "#!/usr/bin/env python3": what counts is the interpreter. */
static int check_script(const char *path, const char *text, size_t size, int depth,
			struct gp_diag *diag)
{
	char interpreter[PATH_MAX];
	/* A carriage return is part of the name, as for the kernel. */
	size_t start = 2 + strspn(text + 2, " \t"), len = strcspn(text + start, " \t\n");

	if (start + len >= size || len == 0 || len >= sizeof(interpreter) || depth == 0)
		return 0; /* the kernel will say */
	memcpy(interpreter, text + start, len);
	interpreter[len] = '\0';
	if (access(interpreter, F_OK) && errno == ENOENT)
		return gp_fail(diag, -EACCES,
			       _("cannot run %s: its interpreter '%s' does not exist"), path,
			       interpreter);
	return check_file(interpreter, depth - 1, diag);
}

static int check_file(const char *path, int depth, struct gp_diag *diag)
{
	union {
		Elf64_Ehdr elf;
		char text[256];
	} start = {0};
	struct stat status;
	int fd, error = 0;
	ssize_t n;

	if (stat(path, &status))
		return gp_fail(diag, -errno, _("cannot run %s: %s"), path, strerror(errno));
	if (!S_ISREG(status.st_mode) || access(path, X_OK))
		return gp_fail(diag, -EACCES, _("cannot run %s: %s"), path, strerror(EACCES));
	if (gains_rights(path, &status))
		return gp_fail(diag, -EACCES,
			       _("%s is set-user-ID, set-group-ID or has capabilities: the system "
				 "does not let a library be loaded into it, so it cannot see the "
				 "virtual GPU"),
			       path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* executable but not readable: nothing to check */
	n = pread(fd, &start, sizeof(start) - 1, 0);
	if (n >= (ssize_t)sizeof(start.elf) && memcmp(start.text, ELFMAG, SELFMAG) == 0)
		error = check_elf(fd, path, &start.elf, diag);
	else if (n > 2 && start.text[0] == '#' && start.text[1] == '!')
		error = check_script(path, start.text, (size_t)n, depth, diag);
	close(fd);
	return error;
}

int gp_vgpu_check_program(const char *name, struct gp_diag *diag, char *path, size_t size)
{
	int error = find_program(name, path, size);

	if (error)
		return gp_fail(diag, error, _("cannot run %s: %s"), name, strerror(-error));
	return check_file(path, SCRIPT_DEPTH, diag);
}

/* ---- the environment ---- */

/* LD_PRELOAD takes blanks and colons as separators and knows no way to quote them. */
static bool can_be_listed(const char *path)
{
	return !strpbrk(path, " :\t\n");
}

/* The library by a path that LD_PRELOAD can hold: its own, or a link in the machine's directory. */
static int library_path(const char *directory, char *out, size_t size, struct gp_diag *diag)
{
	char library[PATH_MAX];
	int error = gp_data_find("lib/gpreempt/" LIBRARY, "lib/" LIBRARY, library, sizeof(library));

	if (error)
		return gp_fail(diag, error, _("%s is not installed beside this program"), LIBRARY);
	if (can_be_listed(library))
		return snprintf(out, size, "%s", library) < (int)size ? 0 : -ENAMETOOLONG;
	if (snprintf(out, size, "%s/" LIBRARY, directory) >= (int)size)
		return -ENAMETOOLONG;
	if (!can_be_listed(out))
		return gp_fail(diag, -EINVAL,
			       _("%s cannot be preloaded: its path and that of the machine hold "
				 "blanks or colons"),
			       library);
	if (symlink(library, out) && errno != EEXIST)
		return gp_fail(diag, -errno, _("cannot make %s: %s"), out, strerror(errno));
	return 0;
}

/* Ours last: an agent that watches the program's calls must see them before we answer. */
static int set_environment(const char *directory, struct gp_diag *diag)
{
	char library[PATH_MAX], *value;
	const char *before = getenv("LD_PRELOAD");
	int error = library_path(directory, library, sizeof(library), diag);

	if (error)
		return error;
	if (before && *before && !strstr(before, LIBRARY)) {
		if (asprintf(&value, "%s:%s", before, library) < 0)
			return -ENOMEM;
	} else {
		/* Inside another machine ours is there already. */
		value = strdup(before && *before ? before : library);
	}
	if (!value || setenv("LD_PRELOAD", value, 1) || setenv(GP_VKFD_ENV, directory, 1))
		error = -ENOMEM;
	free(value);
	return error;
}

/* ---- the process ---- */

/* Signals that end programs are the command's to handle; this process waits for what it does. */
static const int forwarded[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGUSR1, SIGUSR2};

static void wanted_signals(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < GP_ARRAY_SIZE(forwarded); i++)
		sigaddset(set, forwarded[i]);
	sigaddset(set, SIGCHLD);
}

void gp_vgpu_hold_signals(struct gp_vgpu_machine *machine)
{
	sigset_t signals;

	/* Where it is ignored, as under some supervisors, children end without a word. */
	signal(SIGCHLD, SIG_DFL);
	wanted_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &machine->mask);
}

static _Noreturn void execute(const char *path, char **argv, const sigset_t *mask, int report)
{
	int error;

	sigprocmask(SIG_SETMASK, mask, NULL);
	execv(path, argv);
	error = errno;
	if (write(report, &error, sizeof(error)) < 0)
		_exit(GP_VGPU_FAILED);
	_exit(error == ENOENT ? GP_VGPU_NOT_FOUND : GP_VGPU_CANNOT_RUN);
}

/* What is left until then; 0 when it is over. */
static struct timespec time_left(const struct timespec *end)
{
	struct timespec now, left = {0};
	s64 ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (s64)(end->tv_sec - now.tv_sec) * 1000000000 + (end->tv_nsec - now.tv_nsec);
	if (ns > 0)
		left = (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	return left;
}

/* Whether our server ended although the command did not. */
static bool server_ended(struct gp_vgpu_machine *machine)
{
	if (machine->server <= 0 || waitpid(machine->server, NULL, WNOHANG) != machine->server)
		return false;
	machine->server = 0;
	return true;
}

/* Waits for the command, handing on what is sent to us. */
static int wait_command(pid_t child, struct gp_vgpu_machine *machine, const sigset_t *signals,
			struct gp_diag *diag)
{
	struct timespec kill_at, left;
	bool lost = false, killed = false;
	int status;

	for (;;) {
		siginfo_t info;
		int got;
		pid_t ended = waitpid(child, &status, WNOHANG);

		if (ended == child)
			break;
		if (ended < 0 && errno != EINTR)
			return GP_VGPU_FAILED;
		if (server_ended(machine)) {
			gp_fail(diag, -EIO, _("the virtual machine ended unexpectedly"));
			lost = true;
			kill(child, SIGTERM);
			clock_gettime(CLOCK_MONOTONIC, &kill_at);
			kill_at.tv_sec += GRACE_SECONDS;
		}
		if (lost && !killed)
			left = time_left(&kill_at);
		got = sigtimedwait(signals, &info, lost && !killed ? &left : NULL);
		if (got < 0 && errno == EAGAIN) {
			kill(child, SIGKILL);
			killed = true;
		}
		/* A terminal tells the whole group: the command has had it. */
		if (got > 0 && got != SIGCHLD && info.si_code != SI_KERNEL)
			kill(child, got);
	}
	if (lost)
		return GP_VGPU_FAILED;
	return WIFSIGNALED(status) ? SIGNAL_STATUS + WTERMSIG(status) : WEXITSTATUS(status);
}

int gp_vgpu_run(struct gp_vgpu_machine *machine, char **argv, struct gp_diag *diag)
{
	char path[PATH_MAX];
	sigset_t signals;
	int report[2], why = 0, status;
	pid_t child;

	status = gp_vgpu_check_program(argv[0], diag, path, sizeof(path));
	if (status)
		return status == -ENOENT ? GP_VGPU_NOT_FOUND : GP_VGPU_CANNOT_RUN;
	if (set_environment(machine->directory, diag) || pipe2(report, O_CLOEXEC))
		return GP_VGPU_FAILED;
	wanted_signals(&signals);
	child = fork();
	if (child == 0)
		execute(path, argv, &machine->mask, report[1]);
	close(report[1]);
	if (child < 0) {
		close(report[0]);
		gp_fail(diag, -errno, _("cannot start a process: %s"), strerror(errno));
		return GP_VGPU_FAILED;
	}
	if (read(report[0], &why, sizeof(why)) == (ssize_t)sizeof(why))
		gp_fail(diag, -why, _("cannot run %s: %s"), path, strerror(why));
	close(report[0]);
	return wait_command(child, machine, &signals, diag);
}
