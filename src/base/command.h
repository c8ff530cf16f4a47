/* SPDX-License-Identifier: MIT */
/*
 * A command line described by one table of options: it gives parsing, --help, manual page and shell
 * completion. Used by the commands of gpreempt and by every program of this project.
 */
#ifndef GP_BASE_COMMAND_H
#define GP_BASE_COMMAND_H

#include <stdio.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/units.h"

enum gp_exit { GP_EXIT_OK = 0, GP_EXIT_FAILED = 1, GP_EXIT_USAGE = 2 };

/* What a shell offers after an option or as an argument. */
enum gp_completion {
	GP_COMPLETE_NONE,
	GP_COMPLETE_FILE,
	GP_COMPLETE_DIRECTORY,
	GP_COMPLETE_PID,
	GP_COMPLETE_COMMAND,
	GP_COMPLETE_SHELL,    /* bash, zsh, fish */
	GP_COMPLETE_TOPIC,    /* a command of gpreempt */
	GP_COMPLETE_GPU,      /* a virtual GPU: a name or a file */
	GP_COMPLETE_SCENARIO, /* of the simulator: a name or a file */
	GP_COMPLETE_CLASS,
	GP_COMPLETE_POLICY,
	GP_COMPLETE_ORDER,  /* of top */
	GP_COMPLETE_WHEN,   /* auto, always, never */
	GP_COMPLETE_FORMAT, /* text, json, csv */
	GP_COMPLETE_CONFIG, /* check and reload */
	GP_COMPLETE_VGPU,   /* start, stop, status; after "--" a program and its arguments */
};

enum gp_option_takes { GP_NO_ARGUMENT, GP_REQUIRED_ARGUMENT, GP_OPTIONAL_ARGUMENT };

struct gp_option {
	int id;           /* the letter of a short option, or >= 256 */
	const char *name; /* without "--" */
	enum gp_option_takes takes;
	const char *value; /* "FILE"; NULL without a value */
	enum gp_completion completion;
	const char *help; /* N_() */
};

struct gp_command {
	const char *name;
	bool alone;                    /* a program of this name, not a command of gpreempt */
	const char *arguments;         /* "PID [LOG...]" */
	enum gp_completion completion; /* of the arguments */
	const char *summary;           /* N_(): one line without a full stop */
	const char *description;       /* N_(): paragraphs */
	const struct gp_option
		*options; /* ends with an entry without name; --help and --version are added */
	const char *exit_status; /* N_(): a paragraph; NULL: the usual one */
	const char *examples;    /* lines as typed, comments start with #; may be NULL */
	int (*run)(const struct gp_command *command, int argc, char **argv);
};

/*
 * Parses argv[1..] by the table and calls set() for each option in order; set() returns 0, or what
 * gp_usage_error() returned. Afterwards argv[*first..argc-1] are the arguments. Returns 0, -EINVAL
 * (already reported) or 1 when --help or --version was printed. An optional value is taken from the
 * next word if that word begins with a digit.
 */
int gp_command_parse(const struct gp_command *command, int argc, char **argv,
		     int (*set)(void *ctx, int id, const char *value), void *ctx, int *first);

/* Prints the help on standard output. */
void gp_command_help(const struct gp_command *command);

/* "gpreempt find: TEXT" and "Try 'gpreempt find --help'." on stderr; returns GP_EXIT_USAGE. The
 * format is translated here. */
int gp_usage_error(const struct gp_command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Values of options that are durations, sizes or counts (base/units.h), with a usage error that
 * names the option. 0 or GP_EXIT_USAGE.
 */
int gp_option_duration(const struct gp_command *command, const char *option, const char *value,
		       u64 min, u64 max, u64 *ns);
int gp_option_size(const struct gp_command *command, const char *option, const char *value, u64 min,
		   u64 max, u64 *bytes);
int gp_option_count(const struct gp_command *command, const char *option, const char *value,
		    u64 min, u64 max, u64 *count);

/* A sink that prints to stderr as "gpreempt find: warning: TEXT". */
struct gp_command_diag {
	struct gp_diag diag;
	const struct gp_command *command;
	size_t errors;
	FILE *kept; /* the messages go here; NULL: stderr */
};

void gp_command_diag_init(struct gp_command_diag *sink, const struct gp_command *command);

/* GP_EXIT_OK, or GP_EXIT_USAGE after an error message if --root does not name a directory. */
int gp_command_check_root(const struct gp_command *command, const struct gp_root *root);

/* Flushes stdout; `status`, or GP_EXIT_FAILED and a message if writing failed (full disk, closed
 * pipe). */
int gp_command_finish(const struct gp_command *command, int status);

#endif
