// SPDX-License-Identifier: MIT
/* `gpreempt run`: a program with the agent inside. This process becomes the program. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core.h"
#include "base/host/program.h"
#include "cli/command.h"
#include "inspect/doctor.h"
#include "proto/directory.h"
#include "proto/launch.h"
#include "proto/proto.h"

#define LIBRARY         GP_LAUNCH_LIBRARY
#define AUTO_LIBRARY    GP_LAUNCH_AUTO_LIBRARY
#define EXIT_FAILED     125
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND  127
#define PRIORITY_MAX    65535u
#define DEADLINE_MAX    (3600 * GP_NS_PER_S)
#define AHEAD_MAX       (20 * GP_NS_PER_MS)

enum {
	OPTION_PRIORITY = 'p',
	OPTION_CLASS = 'c',
	OPTION_GROUP = 'g',
	OPTION_WEIGHT = 'w',
	OPTION_DEADLINE = 'd',
	OPTION_AHEAD = 256,
};

static int take_duration(const char *option, const char *text, u64 max, u64 *us)
{
	u64 ns;
	int error = gp_option_duration(&gp_cli_run, option, text, GP_NS_PER_US, max, &ns);

	if (!error)
		*us = ns / GP_NS_PER_US;
	return error;
}

static int take_ahead(struct gp_proto_launch_wish *wish, const char *value)
{
	bool automatic = strcmp(value, "auto") == 0;

	wish->ahead = automatic ? GP_LAUNCH_AHEAD_AUTO : GP_LAUNCH_AHEAD_TIME;
	return automatic ? 0 : take_duration("ahead", value, AHEAD_MAX, &wish->ahead_us);
}

static int take_number(const char *option, const char *text, u64 min, u64 max, u32 *out)
{
	u64 number;
	int error = gp_option_count(&gp_cli_run, option, text, min, max, &number);

	if (!error)
		*out = (u32)number;
	return error;
}

static int set(void *ctx, int id, const char *value)
{
	struct gp_proto_launch_wish *wish = ctx;

	switch (id) {
	case OPTION_PRIORITY:
		wish->has_priority = true;
		return take_number("priority", value, 0, PRIORITY_MAX, &wish->priority);
	case OPTION_WEIGHT:
		return take_number("weight", value, 1, GP_LAUNCH_WEIGHT_MAX, &wish->weight);
	case OPTION_DEADLINE:
		return take_duration("deadline", value, DEADLINE_MAX, &wish->deadline_us);
	case OPTION_AHEAD:
		return take_ahead(wish, value);
	case OPTION_CLASS:
		if (!gp_proto_launch_is_class(value)) {
			return gp_usage_error(&gp_cli_run,
					      "invalid class '%s' (use online, normal or offline)",
					      value);
		}
		wish->job_class = value;
		return 0;
	default:
		if (!gp_proto_launch_is_group(value)) {
			return gp_usage_error(
				&gp_cli_run, "invalid group name '%s' (must be 1 to %d bytes long)",
				value, GP_PROTO_NAME - 1);
		}
		wish->group = value;
		return 0;
	}
}

/* ---- the library ---- */

/* By a path that LD_PRELOAD can hold: its own, or a link among the sockets. */
static int library_path(bool automatic, char *out, size_t size, struct gp_diag *diag)
{
	const char *name = automatic ? AUTO_LIBRARY : LIBRARY;
	char library[PATH_MAX];
	int error = automatic ? gp_program_beside("lib/gpreempt/" AUTO_LIBRARY, "lib/" AUTO_LIBRARY,
						  library, sizeof(library))
			      : gp_program_beside("lib/gpreempt/" LIBRARY, "lib/" LIBRARY, library,
						  sizeof(library));

	if (error)
		return gp_fail(diag, error, "cannot find %s; reinstall gpreempt", name);
	if (gp_proto_launch_can_list(library))
		return snprintf(out, size, "%s", library) < (int)size ? 0 : -ENAMETOOLONG;
	error = gp_proto_directory_path(out, size, name, 1);
	if (error || !gp_proto_launch_can_list(out))
		return gp_fail(diag, error ? error : -EINVAL,
			       "cannot preload %s: its path contains spaces or colons, and a link "
			       "to it cannot be created",
			       library);
	/* What another installation left there is not ours. */
	unlink(out);
	if (symlink(library, out) && errno != EEXIST)
		return gp_fail(diag, -errno, "cannot create %s: %s", out, strerror(errno));
	return 0;
}

static int prepare(const struct gp_proto_launch_wish *wish, struct gp_diag *diag)
{
	struct gp_proto_launch launch;
	char library[PATH_MAX];
	int error;

	gp_proto_launch_own(&launch);
	error = library_path(gp_proto_launch_is_auto(&launch, wish), library, sizeof(library),
			     diag);
	if (error)
		return error;
	error = gp_proto_launch_prepare(&launch, wish, library);
	if (error)
		return gp_fail(diag, error, "%s", strerror(-error));
	return 0;
}

/* ---- the program ---- */

static int check(const char *name, char *path, size_t size, struct gp_diag *diag)
{
	enum gp_program_kind kind;
	char which[PATH_MAX];
	int error = gp_program_find(name, path, size);

	if (!error)
		error = gp_program_check(path, &kind, which, sizeof(which));
	if (error) {
		gp_fail(diag, error, "cannot run %s: %s", name, strerror(-error));
		return error == -ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
	}
	switch (kind) {
	case GP_PROGRAM_OK:
		return 0;
	case GP_PROGRAM_STATIC:
		gp_fail(diag, -EACCES,
			"%s is statically linked: the agent library cannot be loaded into it; run "
			"it without 'gpreempt run'",
			which);
		break;
	case GP_PROGRAM_RIGHTS:
		gp_fail(diag, -EACCES,
			"%s is set-user-ID, set-group-ID or has capabilities: the system does not "
			"allow libraries to be preloaded into it",
			which);
		break;
	case GP_PROGRAM_NOT_64:
		gp_fail(diag, -EACCES,
			"%s is not a 64-bit program; KFD supports only 64-bit programs", which);
		break;
	case GP_PROGRAM_NO_INTERPRETER:
		gp_fail(diag, -EACCES, "cannot run %s: its interpreter '%s' does not exist", path,
			which);
		break;
	}
	return EXIT_CANNOT_RUN;
}

/* The agent makes its socket when the program creates its first queue, and cannot print. A
 * directory that does not exist yet is made then: most programs have no queue. */
static void warn_without_room(struct gp_diag *diag)
{
	char directory[PATH_MAX - 32], path[PATH_MAX];
	int fd, error = gp_proto_directory_path(directory, sizeof(directory), "agents", 0);

	if (!error) {
		snprintf(path, sizeof(path), "%s/.room-%d", directory, getpid());
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		error = fd < 0 ? -errno : 0;
		if (fd >= 0) {
			close(fd);
			unlink(path);
		}
	}
	if (error == -ENOSPC || error == -EDQUOT)
		gp_diag(diag, GP_WARNING,
			"cannot create the agent's socket in %s: %s; the program runs, but "
			"gpreempt cannot control it until there is free space",
			gp_proto_directory_name(path, sizeof(path), "agents"), strerror(-error));
}

/* In a container the program would run as well, and nobody outside would see it. For people only:
 * many containers have no daemon outside, and the output of their programs is kept. */
static void warn_in_container(struct gp_diag *diag)
{
	struct gp_inspect_doctor d = {.live = true};
	const struct gp_root live = {.dir = ""};

	if (!isatty(STDERR_FILENO))
		return;
	gp_inspect_doctor_container(&live, &d);
	if (!d.container[0])
		return;
	if (!getenv("GPREEMPT_VGPU") && access("/dev/kfd", F_OK) && access("/dev/nvidiactl", F_OK))
		gp_diag(diag, GP_WARNING,
			"this container (%s) has no GPU; start it with --device /dev/kfd --device "
			"/dev/dri",
			d.container);
	if (!d.shared_directory && !getenv("GPREEMPT_DIR"))
		gp_diag(diag, GP_WARNING,
			"/run/gpreempt is not mounted in this container (%s): a gpreemptd outside "
			"does not see "
			"this program; start the container with -v "
			"/run/gpreempt/agents:/run/gpreempt/agents -e "
			"GPREEMPT_DIR=/run/gpreempt",
			d.container);
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct gp_proto_launch_wish wish = {0};
	struct gp_command_diag sink;
	char path[PATH_MAX];
	int first, status = gp_command_parse(command, argc, argv, set, &wish, &first);

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (first >= argc || !*argv[first])
		return gp_usage_error(command, "COMMAND is missing");
	gp_command_diag_init(&sink, command);
	status = check(argv[first], path, sizeof(path), &sink.diag);
	if (status)
		return status;
	if (prepare(&wish, &sink.diag))
		return EXIT_FAILED;
	warn_without_room(&sink.diag);
	warn_in_container(&sink.diag);
	fflush(stdout);
	execv(path, argv + first);
	gp_fail(&sink.diag, -errno, "cannot run %s: %s", path, strerror(errno));
	return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

static const struct gp_option options[] = {
	{OPTION_PRIORITY, "priority", GP_REQUIRED_ARGUMENT, "N", GP_COMPLETE_NONE,
	 N_("logical priority, 0 to 65535; higher wins (default: by\n"
	    "class, online 2000, normal 1000, offline 500)")},
	{OPTION_CLASS, "class", GP_REQUIRED_ARGUMENT, "CLASS", GP_COMPLETE_CLASS,
	 N_("online (latency-critical), normal, or offline (batch\nwork)")},
	{OPTION_GROUP, "group", GP_REQUIRED_ARGUMENT, "NAME", GP_COMPLETE_NONE,
	 N_("form one job with all programs of this group, which are\n"
	    "suspended and resumed together")},
	{OPTION_WEIGHT, "weight", GP_REQUIRED_ARGUMENT, "W", GP_COMPLETE_NONE,
	 N_("share of the GPU relative to other jobs, 1 to 100\n"
	    "(default 1), for the policies fair and quantum; same as\n"
	    "weight = W x 100 in a [rule] section of gpreemptd.conf")},
	{OPTION_DEADLINE, "deadline", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("announce that each request must be done within TIME, such as\n"
	    "5ms; to schedule by deadlines, set 'deadline' in a [rule]\n"
	    "section of gpreemptd.conf as well")},
	{OPTION_AHEAD, "ahead", GP_REQUIRED_ARGUMENT, "TIME|auto", GP_COMPLETE_NONE,
	 N_("CUDA: switch the GPU to this program when a request is\nannounced, and keep it for at "
	    "most TIME (up to 20ms);\nauto: when a request arrives on a socket, pipe or\neventfd "
	    "that is usually followed by launches")},
	{0},
};

const struct gp_command gp_cli_run = {
	.name = "run",
	.arguments = "[--] COMMAND [ARGUMENT...]",
	.completion = GP_COMPLETE_COMMAND,
	.summary = N_("Run a program so that its GPU work can be suspended and resumed"),
	.description = N_("Loads a small library (the agent) into COMMAND and its children. It "
			  "suspends and resumes\n"
			  "their GPU queues when 'gpreempt suspend' or a scheduler asks, reports "
			  "whether they have\n"
			  "work, and limits their compute units. Without such a request it changes "
			  "nothing. Other\n"
			  "libraries in HSA_TOOLS_LIB or LD_PRELOAD keep working; 'gpreempt vgpu' "
			  "can be placed\n"
			  "before or after 'gpreempt run'."),
	.exit_status = N_("Exit status: that of COMMAND; 125 if the agent library cannot be found "
			  "or preloaded,\n"
			  "126 if COMMAND cannot be run (a static or set-user-ID program), 127 if "
			  "COMMAND is not\n"
			  "found; 2 bad usage."),
	.options = options,
	.examples = "  gpreempt run --class online -- ./server\n"
		    "  gpreempt run --class offline --group training -- python3 train.py\n"
		    "  # on a virtual GPU\n"
		    "  gpreempt vgpu -- gpreempt run -- ./program\n",
	.run = run,
};
