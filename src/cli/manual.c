// SPDX-License-Identifier: MIT
/*
 * gpreempt manual COMMAND: prints the manual page (roff, or plain text) of a command, made from the
 * table that also gives its help and completion. The build installs its output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/roff.h"

static void put_line(FILE *out, const char *text)
{
	fputs(text, out);
	putc('\n', out);
}

/* roff takes '\' as its escape, '-' as a hyphen and a line that starts with '.' or '\'' as a
 * request; none of that is meant here. */
static void print_text(FILE *out, const char *text)
{
	bool at_start = true;

	for (; *text; text++) {
		if (at_start && (*text == '.' || *text == '\''))
			fputs("\\&", out);
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else
			putc(*text, out);
		at_start = *text == '\n';
	}
}

/* Paragraphs are separated by an empty line. */
static void print_paragraphs(FILE *out, const char *text)
{
	const char *gap;

	while ((gap = strstr(text, "\n\n"))) {
		char part[4096];
		size_t len = (size_t)(gap - text);

		if (len >= sizeof(part))
			break;
		memcpy(part, text, len);
		part[len] = '\0';
		print_text(out, part);
		put_line(out, "\n.PP");
		text = gap + 2;
	}
	print_text(out, text);
	putc('\n', out);
}

static void print_option(FILE *out, const struct gp_option *option)
{
	fprintf(out, ".TP\n");
	if (option->id < 256)
		fprintf(out, "\\fB\\-%c\\fR, ", option->id);
	fprintf(out, "\\fB\\-\\-");
	print_text(out, option->name);
	fprintf(out, "\\fR");
	if (option->takes == GP_REQUIRED_ARGUMENT)
		fprintf(out, " \\fI%s\\fR", option->value);
	else if (option->takes == GP_OPTIONAL_ARGUMENT)
		fprintf(out, " [\\fI%s\\fR]", option->value);
	putc('\n', out);
	print_text(out, option->help);
	putc('\n', out);
}

static void print_see_also(FILE *out, const struct gp_command *self)
{
	put_line(out, ".SH SEE ALSO");
	for (size_t i = 0; gp_cli_commands[i]; i++) {
		if (gp_cli_commands[i] != self)
			fprintf(out, "\\fBgpreempt\\-%s\\fR(1),\n", gp_cli_commands[i]->name);
	}
	put_line(out, "\\fBgpreempt\\fR(1)\n.PP\nThe JSON of every command is described in "
		      "docs/reference/json.md.");
}

static void print_heading(FILE *out, const char *page, const char *summary)
{
	fprintf(out, ".TH %s 1 \"\" \"gpreempt " GP_VERSION "\" \"User Commands\"\n.SH NAME\n",
		page);
	print_text(out, page);
	fprintf(out, " \\- ");
	print_text(out, summary);
	putc('\n', out);
}

static void print_command(FILE *out, const struct gp_command *command)
{
	char page[64];

	snprintf(page, sizeof(page), "%s%s", command->alone ? "" : "gpreempt-", command->name);
	print_heading(out, page, command->summary);
	fprintf(out, ".SH SYNOPSIS\n\\fB%s%s\\fR [\\fIOPTION\\fR...] ",
		command->alone ? "" : "gpreempt ", command->name);
	print_text(out, command->arguments);
	put_line(out, "\n.SH DESCRIPTION");
	print_paragraphs(out, command->description ? command->description : command->summary);
	put_line(out, ".SH OPTIONS");
	for (const struct gp_option *o = command->options; o->name; o++)
		print_option(out, o);
	put_line(out, ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nshow a summary and exit\n"
		      ".TP\n\\fB\\-\\-version\\fR\nprint the version and exit");
	put_line(out, ".SH EXIT STATUS");
	print_paragraphs(out, command->exit_status ? command->exit_status
						   : "0 ok, 1 not found or failed, 2 bad usage.");
	put_line(
		out,
		".SH ENVIRONMENT\n\\fBNO_COLOR\\fR turns colour off; it is used only on a terminal "
		"anyway.\n.br\n\\fBLC_ALL\\fR, \\fBLC_MESSAGES\\fR, \\fBLANG\\fR choose the "
		"language "
		"of messages (English, Chinese).");
	put_line(out, ".SH EXAMPLES\n.nf");
	print_text(out, command->examples);
	put_line(out, ".fi");
	print_see_also(out, command);
}

static void print_overview(FILE *out)
{
	print_heading(out, "gpreempt", "find, watch and preempt GPU work");
	put_line(out, ".SH SYNOPSIS\n\\fBgpreempt\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] "
		      "[\\fIARGUMENT\\fR...]\n.SH COMMANDS");
	for (size_t i = 0; gp_cli_commands[i]; i++) {
		fprintf(out, ".TP\n\\fBgpreempt\\-%s\\fR(1)\n", gp_cli_commands[i]->name);
		print_text(out, gp_cli_commands[i]->summary);
		putc('\n', out);
	}
	put_line(out, ".PP\n\\fBgpreempt help\\fR \\fICOMMAND\\fR explains one; \\fBgpreempt "
		      "\\-\\-version\\fR prints the version.");
	print_see_also(out, NULL);
}

/* The page of a command, an overview without one; false: there is no such command. */
static bool print_page(FILE *out, const char *name)
{
	if (!name || strcmp(name, "gpreempt") == 0) {
		print_overview(out);
		return true;
	}
	if (strcmp(name, gp_cli_queue_finder.name) == 0) {
		print_command(out, &gp_cli_queue_finder);
		return true;
	}
	for (size_t i = 0; gp_cli_commands[i]; i++) {
		if (strcmp(name, gp_cli_commands[i]->name) == 0) {
			print_command(out, gp_cli_commands[i]);
			return true;
		}
	}
	return false;
}

static int set(void *ctx, int id, const char *value)
{
	(void)id, (void)value;
	*(bool *)ctx = true;
	return 0;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	bool text = isatty(STDOUT_FILENO);
	int first, status = gp_command_parse(command, argc, argv, set, &text, &first);
	struct gp_nearest nearest = {0};
	size_t size;
	char *page = NULL;
	FILE *out;
	bool found;

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (argc - first > 1)
		return gp_usage_error(command, "%s", _("specify one command"));
	out = open_memstream(&page, &size);
	found = out && print_page(out, argv[first]);
	if (out)
		fclose(out);
	if (found && text)
		gp_cli_roff_text(page, stdout);
	else if (found)
		fputs(page, stdout);
	free(page);
	if (found)
		return GP_EXIT_OK;
	nearest.typed = argv[first];
	gp_cli_command_nearest(&nearest);
	return *nearest.word ? gp_usage_error(command, "unknown command '%s'; did you mean '%s'?",
					      argv[first], nearest.word)
			     : gp_usage_error(command, "unknown command '%s'", argv[first]);
}

static const struct gp_option options[] = {
	{'t', "text", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print plain text (default on a terminal), not roff")},
	{0},
};

const struct gp_command gp_cli_manual = {
	.name = "manual",
	.arguments = "[COMMAND]",
	.completion = GP_COMPLETE_TOPIC,
	.summary = N_("Print the manual page of a command"),
	.description = N_(
		"On a terminal, prints the page as plain text; into a file or a pipe, in the roff\n"
		"format that man(1) reads."),
	.options = options,
	.examples = "  gpreempt manual find\n"
		    "  gpreempt manual --text find | less\n"
		    "  gpreempt manual find | man -l -\n",
	.run = run,
};
