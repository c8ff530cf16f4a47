// SPDX-License-Identifier: MIT
/* Commands that are programs of their own (vgpu, sim): described here, run there. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"

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

int gp_cli_exec(const struct gp_cli_command *command, const char *program, int argc, char **argv)
{
	struct gp_cli_diag sink;
	char path[PATH_MAX], name[64];

	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		snprintf(name, sizeof(name), "gpreempt %s", command->name);
		gp_cli_help(command, name);
		return GP_EXIT_OK;
	}
	gp_cli_diag_init(&sink, command);
	errno = ENOENT;
	if (find_program(program, path, sizeof(path)) == 0) {
		fflush(stdout);
		execv(path, argv);
	}
	gp_fail(&sink.diag, -errno, "cannot run %s: %s", program, strerror(errno));
	return GP_EXIT_CANNOT_RUN;
}
