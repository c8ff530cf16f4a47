// SPDX-License-Identifier: MIT
#include "base/command.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/utf8.h"

#define GP_OPTIONS_MAX 32
/* No option of a command has these ids. */
#define GP_OPTION_HELP    1
#define GP_OPTION_VERSION 2
#define GP_HELP_INDENT    30

/* "gpreempt find" is PREFIX(command) and the name. */
#define PREFIX(command) ((command)->alone ? "" : "gpreempt ")

static void option_heading(const struct gp_option *option, char *out, size_t size)
{
	char value[48] = "";

	if (option->takes == GP_REQUIRED_ARGUMENT)
		snprintf(value, sizeof(value), " %s", option->value);
	else if (option->takes == GP_OPTIONAL_ARGUMENT)
		snprintf(value, sizeof(value), " [%s]", option->value);
	if (option->id < 256)
		snprintf(out, size, "  -%c, --%s%s", option->id, option->name, value);
	else
		snprintf(out, size, "      --%s%s", option->name, value);
}

/* Help texts may hold line breaks; every line starts in the same column. */
static void print_option(const struct gp_option *option)
{
	char heading[128];
	const char *text = gettext(option->help);
	size_t width;

	option_heading(option, heading, sizeof(heading));
	width = strlen(heading);
	if (width + 2 > GP_HELP_INDENT)
		printf("%s\n%*s", heading, GP_HELP_INDENT, "");
	else
		printf("%s%*s", heading, (int)(GP_HELP_INDENT - width), "");
	for (; *text; text++) {
		putchar(*text);
		if (*text == '\n')
			printf("%*s", GP_HELP_INDENT, "");
	}
	putchar('\n');
}

void gp_command_help(const struct gp_command *command)
{
	static const struct gp_option common[] = {
		{.id = 'h', .name = "help", .help = N_("show this help and exit")},
		{.id = 256, .name = "version", .help = N_("print the version and exit")},
	};

	printf(_("Usage: %s%s [OPTION...]%s%s\n\n%s.\n"), PREFIX(command), command->name,
	       *command->arguments ? " " : "", command->arguments, gettext(command->summary));
	if (command->description)
		printf("\n%s\n", gettext(command->description));
	printf("\n%s\n", _("Options:"));
	for (const struct gp_option *o = command->options; o->name; o++)
		print_option(o);
	for (size_t i = 0; i < GP_ARRAY_SIZE(common); i++)
		print_option(&common[i]);
	printf("\n%s\n", command->exit_status
				 ? gettext(command->exit_status)
				 : _("Exit status: 0 ok, 1 not found or failed, 2 bad usage."));
	if (command->examples)
		printf("\n%s\n%s", _("Examples:"), command->examples);
}

static void build_tables(const struct gp_command *command, struct option *longs, char *shorts)
{
	size_t count = 0;

	/* '+': the first argument ends the options of a command that runs another; elsewhere
	 * options and arguments may be mixed. ':' tells a missing value apart. */
	if (command->completion == GP_COMPLETE_COMMAND || command->completion == GP_COMPLETE_VGPU)
		*shorts++ = '+';
	*shorts++ = ':';
	for (const struct gp_option *o = command->options; o->name && count < GP_OPTIONS_MAX; o++) {
		longs[count++] = (struct option){.name = o->name,
						 .has_arg = o->takes == GP_REQUIRED_ARGUMENT
								    ? required_argument
							    : o->takes == GP_OPTIONAL_ARGUMENT
								    ? optional_argument
								    : no_argument,
						 .val = o->id};
		if (o->id < 256) {
			*shorts++ = (char)o->id;
			if (o->takes != GP_NO_ARGUMENT)
				*shorts++ = ':';
			if (o->takes == GP_OPTIONAL_ARGUMENT)
				*shorts++ = ':';
		}
	}
	longs[count++] = (struct option){.name = "help", .val = GP_OPTION_HELP};
	longs[count++] = (struct option){.name = "version", .val = GP_OPTION_VERSION};
	longs[count] = (struct option){0};
	*shorts++ = 'h';
	*shorts = '\0';
}

static const struct gp_option *find_option(const struct gp_command *command, int id)
{
	for (const struct gp_option *o = command->options; o->name; o++) {
		if (o->id == id)
			return o;
	}
	return NULL;
}

/* `word` is as typed: "--jsn=x". */
static void refuse_option(const struct gp_command *command, const struct option *longs,
			  const char *word)
{
	char name[64];
	struct gp_nearest nearest = {.typed = name};

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	if (strncmp(name, "--", 2) == 0)
		nearest.typed += 2;
	for (; longs->name && nearest.typed != name; longs++) {
		gp_nearest_look(&nearest, longs->name);
		if (strcmp(nearest.typed, longs->name) == 0) {
			gp_usage_error(command, "option '%s' does not take a value", name);
			return;
		}
	}
	if (*nearest.word)
		gp_usage_error(command, "unknown option '%s'; did you mean '--%s'?", name,
			       nearest.word);
	else
		gp_usage_error(command, "unknown option '%s'", word);
}

int gp_command_parse(const struct gp_command *command, int argc, char **argv,
		     int (*set)(void *ctx, int id, const char *value), void *ctx, int *first)
{
	struct option longs[GP_OPTIONS_MAX + 3];
	char shorts[3 * GP_OPTIONS_MAX + 5];
	int id;

	build_tables(command, longs, shorts);
	opterr = 0;
	optind = 0;
	while ((id = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct gp_option *option;

		if (id == GP_OPTION_HELP || id == 'h') {
			gp_command_help(command);
			return 1;
		}
		if (id == GP_OPTION_VERSION) {
			printf("%s %s\n", command->alone ? command->name : "gpreempt", GP_VERSION);
			return 1;
		}
		if (id == '?' || id == ':') {
			char letter[] = {'-', (char)optopt, '\0'};
			bool is_short = optopt > ' ' && optopt < 0x7f &&
					strncmp(argv[optind - 1], "--", 2) != 0;

			const char *word = is_short ? letter : argv[optind - 1];

			if (id == ':')
				gp_usage_error(command, "option '%s' needs a value", word);
			else
				refuse_option(command, longs, word);
			return -EINVAL;
		}
		option = find_option(command, id);
		if (option && option->takes == GP_OPTIONAL_ARGUMENT && !optarg && optind < argc &&
		    gp_is_digit(*argv[optind]))
			optarg = argv[optind++];
		if (set(ctx, id, optarg))
			return -EINVAL;
	}
	*first = optind;
	return 0;
}

int gp_usage_error(const struct gp_command *command, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), gettext(format), args);
	va_end(args);
	gp_text_make_safe(text);
	fprintf(stderr, "%s%s: %s\n", PREFIX(command), command->name, text);
	fprintf(stderr, _("Try '%s%s --help'.\n"), PREFIX(command), command->name);
	return GP_EXIT_USAGE;
}

int gp_option_duration(const struct gp_command *command, const char *option, const char *value,
		       u64 min, u64 max, u64 *ns)
{
	char why[GP_UNITS_ERROR];

	return gp_duration_parse(value, min, max, ns, why)
		       ? gp_usage_error(command, "--%s: %s", option, why)
		       : 0;
}

int gp_option_size(const struct gp_command *command, const char *option, const char *value, u64 min,
		   u64 max, u64 *bytes)
{
	char why[GP_UNITS_ERROR];

	return gp_size_parse(value, min, max, bytes, why)
		       ? gp_usage_error(command, "--%s: %s", option, why)
		       : 0;
}

int gp_option_count(const struct gp_command *command, const char *option, const char *value,
		    u64 min, u64 max, u64 *count)
{
	char why[GP_UNITS_ERROR];

	return gp_count_parse(value, min, max, count, why)
		       ? gp_usage_error(command, "--%s: %s", option, why)
		       : 0;
}

static void emit(struct gp_diag *diag, enum gp_severity severity, const char *text)
{
	struct gp_command_diag *sink = (struct gp_command_diag *)diag;
	const char *label = "";

	/* What was printed so far belongs before the message; a line that shows progress makes room
	 * for it. */
	fflush(stdout);
	if (!sink->kept && atomic_exchange(&diag->progress, false))
		fputs("\r\033[K", stderr);
	if (severity == GP_ERROR)
		sink->errors++;
	else
		label = severity == GP_WARNING ? _("warning: ") : _("note: ");
	fprintf(sink->kept ? sink->kept : stderr, "%s%s: %s%s\n", PREFIX(sink->command),
		sink->command->name, label, text);
}

void gp_command_diag_init(struct gp_command_diag *sink, const struct gp_command *command)
{
	*sink = (struct gp_command_diag){.diag = {.emit = emit}, .command = command};
}

int gp_command_check_root(const struct gp_command *command, const struct gp_root *root)
{
	struct stat info;

	if (gp_root_is_live(root) || (stat(root->dir, &info) == 0 && S_ISDIR(info.st_mode)))
		return GP_EXIT_OK;
	return gp_usage_error(command, "--root: '%s' is not a directory", root->dir);
}

int gp_command_finish(const struct gp_command *command, int status)
{
	bool failed = ferror(stdout);

	errno = 0;
	if (fflush(stdout) == 0 && !failed)
		return status;
	fprintf(stderr, _("%s%s: cannot write the output: %s\n"), PREFIX(command), command->name,
		errno ? strerror(errno) : _("the disk is full, or the reader has exited"));
	return GP_EXIT_FAILED;
}
