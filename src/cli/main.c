// SPDX-License-Identifier: MIT
/* gpreempt: finds the command and runs it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/i18n.h"
#include "base/utf8.h"
#include "cli/command.h"

static void print_help(void)
{
	printf(_("Usage: gpreempt COMMAND [OPTION...] [ARGUMENT...]\n\n"
		 "Find, watch and preempt GPU work.\n\n"));
	for (size_t i = 0; gp_cli_commands[i]; i++) {
		const char *group = gp_cli_command_group(gp_cli_commands[i]);

		if (group)
			printf("%s%s\n", i ? "\n" : "", group);
		printf("  %-12s %s\n", gp_cli_commands[i]->name,
		       gettext(gp_cli_commands[i]->summary));
	}
	printf(_("\n'gpreempt COMMAND --help' explains a command; "
		 "'gpreempt --version' prints the version.\n"));
}

/* A help text that could not be written must not look like success. */
static int finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr, _("%s: cannot write the output: %s\n"), "gpreempt", strerror(errno));
	return GP_EXIT_FAILED;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	return (command->run ? command->run : gp_cli_exec)(command, argc, argv);
}

int main(int argc, char **argv)
{
	static char help_option[] = "--help";
	const char *name = argc > 1 ? argv[1] : NULL;
	struct gp_nearest nearest = {0};
	char shown[256];

	gp_i18n_init();
	if (!name) {
		print_help();
		return finish(GP_EXIT_USAGE);
	}
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		puts("gpreempt " GP_VERSION);
		return finish(GP_EXIT_OK);
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
		if (argc < 3) {
			print_help();
			return finish(GP_EXIT_OK);
		}
		/* "gpreempt help find" is "gpreempt find --help". */
		name = argv[2];
		argv[2] = help_option;
	}
	if (argc > 2 && argv[2] == help_option && strcmp(name, gp_cli_queue_finder.name) == 0) {
		gp_command_help(&gp_cli_queue_finder);
		return finish(GP_EXIT_OK);
	}
	for (size_t i = 0; gp_cli_commands[i]; i++) {
		const struct gp_command *command = gp_cli_commands[i];

		if (strcmp(command->name, name) == 0)
			return gp_command_finish(command, run(command, argc - 1, argv + 1));
	}
	nearest.typed = name;
	gp_cli_command_nearest(&nearest);
	snprintf(shown, sizeof(shown), "%s", name);
	gp_text_make_safe(shown);
	if (*nearest.word)
		fprintf(stderr, _("gpreempt: unknown command '%s'; did you mean '%s'?\n"), shown,
			nearest.word);
	else
		fprintf(stderr, _("gpreempt: unknown command '%s'\n"), shown);
	fputs(_("Try 'gpreempt --help' for a list.\n"), stderr);
	return GP_EXIT_USAGE;
}
