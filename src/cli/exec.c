// SPDX-License-Identifier: MIT
/* Starts the programs behind vgpu, sim and selftest. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "sim/program/command.h"

#define GP_EXIT_CANNOT_RUN 125

/* Beside this program in a build tree, in libexec when installed. */
static int find_program(const char *name, char *out, size_t size)
{
	static const char *const places[] = {"", "../libexec/gpreempt/"};
	char exe[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (len <= 0)
		return -ENOENT;
	exe[len] = '\0';
	slash = strrchr(exe, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	for (size_t i = 0; i < GP_ARRAY_SIZE(places); i++) {
		int n = snprintf(out, size, "%s/%s%s", exe, places[i], name);

		if (n < (int)size && access(out, X_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

/* `gpreempt sim` turns recordings into a scenario before the simulator runs. */
static bool has_recordings(const struct gp_command *command, int argc, char **argv)
{
	for (int i = 1; command == &gp_sim_command && i < argc; i++)
		if (strcmp(argv[i], "--from") == 0 || strncmp(argv[i], "--from=", 7) == 0)
			return true;
	return false;
}

int gp_cli_exec(const struct gp_command *command, int argc, char **argv)
{
	struct gp_command_diag sink;
	char path[PATH_MAX], program[64];

	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		gp_command_help(command);
		return GP_EXIT_OK;
	}
	if (has_recordings(command, argc, argv))
		return gp_cli_sim_from(command, argc, argv);
	gp_command_diag_init(&sink, command);
	snprintf(program, sizeof(program), "gpreempt-%s", command->name);
	errno = ENOENT;
	if (find_program(program, path, sizeof(path)) == 0) {
		fflush(stdout);
		execv(path, argv);
	}
	gp_fail(&sink.diag, -errno, "cannot run %s: %s", program, strerror(errno));
	return GP_EXIT_CANNOT_RUN;
}
