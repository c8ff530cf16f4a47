// SPDX-License-Identifier: MIT
/*
 * gpreempt manual COMMAND: prints the manual page (roff) of a command, made from the table that
 * also gives its help and completion. The build installs its output.
 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

/* roff takes '\' as its escape, '-' as a hyphen and a line that starts with '.' or '\'' as a
 * request; none of that is meant here. */
static void print_text(const char *text)
{
	bool at_start = true;

	for (; *text; text++) {
		if (at_start && (*text == '.' || *text == '\''))
			fputs("\\&", stdout);
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
		at_start = *text == '\n';
	}
}

/* Paragraphs are separated by an empty line. */
static void print_paragraphs(const char *text)
{
	const char *gap;

	while ((gap = strstr(text, "\n\n"))) {
		char part[4096];
		size_t len = (size_t)(gap - text);

		if (len >= sizeof(part))
			break;
		memcpy(part, text, len);
		part[len] = '\0';
		print_text(part);
		puts("\n.PP");
		text = gap + 2;
	}
	print_text(text);
	putchar('\n');
}

static void print_option(const struct gp_option *option)
{
	printf(".TP\n");
	if (option->id < 256)
		printf("\\fB\\-%c\\fR, ", option->id);
	printf("\\fB\\-\\-");
	print_text(option->name);
	printf("\\fR");
	if (option->takes == GP_REQUIRED_ARGUMENT)
		printf(" \\fI%s\\fR", option->value);
	else if (option->takes == GP_OPTIONAL_ARGUMENT)
		printf(" [\\fI%s\\fR]", option->value);
	putchar('\n');
	print_text(option->help);
	putchar('\n');
}

static void print_see_also(const struct gp_command *self)
{
	puts(".SH SEE ALSO");
	for (size_t i = 0; gp_cli_commands[i]; i++) {
		if (gp_cli_commands[i] != self)
			printf("\\fBgpreempt\\-%s\\fR(1),\n", gp_cli_commands[i]->name);
	}
	puts("\\fBgpreempt\\fR(1)\n.PP\nThe JSON of every command is described in "
	     "docs/reference/json.md.");
}

static void print_heading(const char *page, const char *summary)
{
	printf(".TH %s 1 \"\" \"gpreempt " GP_VERSION "\" \"User Commands\"\n.SH NAME\n", page);
	print_text(page);
	printf(" \\- ");
	print_text(summary);
	putchar('\n');
}

static void print_command(const struct gp_command *command)
{
	char page[64];

	snprintf(page, sizeof(page), "%s%s", command->alone ? "" : "gpreempt-", command->name);
	print_heading(page, command->summary);
	printf(".SH SYNOPSIS\n\\fB%s%s\\fR [\\fIOPTION\\fR...] ", command->alone ? "" : "gpreempt ",
	       command->name);
	print_text(command->arguments);
	puts("\n.SH DESCRIPTION");
	print_paragraphs(command->description ? command->description : command->summary);
	puts(".SH OPTIONS");
	for (const struct gp_option *o = command->options; o->name; o++)
		print_option(o);
	puts(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nshow a summary and exit\n"
	     ".TP\n\\fB\\-\\-version\\fR\nprint the version and exit");
	puts(".SH EXIT STATUS");
	print_paragraphs(command->exit_status ? command->exit_status
					      : "0 ok, 1 not found or failed, 2 bad usage.");
	puts(".SH ENVIRONMENT\n\\fBNO_COLOR\\fR turns colour off; it is used only on a terminal "
	     "anyway.\n.br\n\\fBLC_ALL\\fR, \\fBLC_MESSAGES\\fR, \\fBLANG\\fR choose the language "
	     "of messages (English, Chinese).");
	puts(".SH EXAMPLES\n.nf");
	print_text(command->examples);
	puts(".fi");
	print_see_also(command);
}

static void print_overview(void)
{
	print_heading("gpreempt", "find, watch and preempt GPU work");
	puts(".SH SYNOPSIS\n\\fBgpreempt\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] "
	     "[\\fIARGUMENT\\fR...]\n.SH COMMANDS");
	for (size_t i = 0; gp_cli_commands[i]; i++) {
		printf(".TP\n\\fBgpreempt\\-%s\\fR(1)\n", gp_cli_commands[i]->name);
		print_text(gp_cli_commands[i]->summary);
		putchar('\n');
	}
	puts(".PP\n\\fBgpreempt help\\fR \\fICOMMAND\\fR explains one; \\fBgpreempt "
	     "\\-\\-version\\fR prints the version.");
	print_see_also(NULL);
}

static int no_options(void *ctx, int id, const char *value)
{
	(void)ctx, (void)id, (void)value;
	return 0;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	int first, status = gp_command_parse(command, argc, argv, no_options, NULL, &first);
	struct gp_nearest nearest = {0};

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (argc - first > 1)
		return gp_usage_error(command, "%s", _("specify one command"));
	nearest.typed = argv[first];
	if (first == argc || strcmp(argv[first], "gpreempt") == 0) {
		print_overview();
		return GP_EXIT_OK;
	}
	if (strcmp(argv[first], gp_cli_queue_finder.name) == 0) {
		print_command(&gp_cli_queue_finder);
		return GP_EXIT_OK;
	}
	for (size_t i = 0; gp_cli_commands[i]; i++) {
		if (strcmp(argv[first], gp_cli_commands[i]->name) == 0) {
			print_command(gp_cli_commands[i]);
			return GP_EXIT_OK;
		}
	}
	gp_cli_command_nearest(&nearest);
	return *nearest.word ? gp_usage_error(command, "unknown command '%s'; did you mean '%s'?",
					      argv[first], nearest.word)
			     : gp_usage_error(command, "unknown command '%s'", argv[first]);
}

static const struct gp_option options[] = {{0}};

const struct gp_command gp_cli_manual = {
	.name = "manual",
	.arguments = "[COMMAND]",
	.completion = GP_COMPLETE_TOPIC,
	.summary = N_("Print the manual page of a command"),
	.options = options,
	.examples = "  gpreempt manual find | man -l -\n",
	.run = run,
};
