/* SPDX-License-Identifier: MIT */
/*
 * How a command of the command line describes itself: one table of options gives parsing, --help
 * and shell completion. cli/ holds one file per command; main.c lists them.
 */
#ifndef GP_CLI_COMMAND_H
#define GP_CLI_COMMAND_H

#include "base/diag.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/units.h"

enum gp_cli_exit { GP_EXIT_OK = 0, GP_EXIT_FAILED = 1, GP_EXIT_USAGE = 2 };

/* What a shell offers after an option or as an argument. */
enum gp_cli_completion_kind {
	GP_COMPLETE_NONE,
	GP_COMPLETE_FILE,
	GP_COMPLETE_DIRECTORY,
	GP_COMPLETE_PID,
	GP_COMPLETE_COMMAND,
	GP_COMPLETE_SHELL, /* bash, zsh, fish */
	GP_COMPLETE_TOPIC, /* a command of gpreempt */
	GP_COMPLETE_GPU,   /* a virtual GPU: a name or a file */
	GP_COMPLETE_VGPU,  /* start, stop, status; after "--" a program and its arguments */
};

enum gp_cli_argument { GP_NO_ARGUMENT, GP_REQUIRED_ARGUMENT, GP_OPTIONAL_ARGUMENT };

struct gp_cli_option {
	int id;           /* a short option's letter, or >= 256 for a long one only */
	const char *name; /* without "--" */
	enum gp_cli_argument takes;
	const char *value; /* "FILE"; NULL when it takes none */
	enum gp_cli_completion_kind completion;
	const char *help; /* N_() */
};

struct gp_cli_command {
	const char *name;
	const char *arguments;                  /* "PID [LOG...]" */
	enum gp_cli_completion_kind completion; /* of the arguments */
	const char *summary;                    /* N_(): one line, no final stop */
	const char *description;                /* N_(): paragraphs */
	const struct gp_cli_option *options; /* ends with an entry without name; --help is added */
	const char *exit_status;             /* N_(): a paragraph; NULL: as of most commands */
	const char *examples; /* not translated; lines as typed, comments start with # */
	int (*run)(const struct gp_cli_command *command, int argc, char **argv);
};

/*
 * Parses argv[1..] by the command's table. Calls set() for each option in order; it returns 0 or
 * -EINVAL after saying why. Afterwards argv[*first...argc-1] are the arguments. Returns 0;
 * -EINVAL when the usage was wrong (said already); 1 when --help was printed. An optional
 * argument of an option is taken from the next word if that word begins with a digit.
 */
int gp_cli_parse(const struct gp_cli_command *command, int argc, char **argv,
		 int (*set)(void *ctx, int id, const char *value), void *ctx, int *first);

void gp_cli_help(const struct gp_cli_command *command, const char *program);
/* Becomes the program of that name, with all arguments but a first --help. Returns only on failure.
 */
int gp_cli_exec(const struct gp_cli_command *command, const char *program, int argc, char **argv);

/* "gpreempt find: <text>" on stderr, then "try 'gpreempt find --help'"; returns GP_EXIT_USAGE. */
int gp_cli_usage_error(const struct gp_cli_command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Values of options that are durations or counts (base/units.h), with a usage error that names the
 * option. 0 or -EINVAL.
 */
int gp_cli_take_duration(const struct gp_cli_command *command, const char *option,
			 const char *value, u64 min, u64 max, u64 *ns);
int gp_cli_take_count(const struct gp_cli_command *command, const char *option, const char *value,
		      u64 min, u64 max, u64 *count);

/* A sink that prints to stderr as "<program>: warning: <text>". */
struct gp_cli_diag {
	struct gp_diag diag;
	const char *program;
	size_t errors;
};

void gp_cli_diag_init(struct gp_cli_diag *sink, const struct gp_cli_command *command);

/* GP_EXIT_OK, or GP_EXIT_USAGE after saying that --root names no directory. */
int gp_cli_check_root(const struct gp_cli_command *command, const struct gp_root *root);

/* Flushes stdout; turns a write error (full disk, closed pipe) into a message and GP_EXIT_FAILED.
 */
int gp_cli_finish_output(const struct gp_cli_command *command, int status);

/* The commands, NULL-terminated. */
extern const struct gp_cli_command *const gp_cli_commands[];
extern const struct gp_cli_command gp_cli_find, gp_cli_queue_finder, gp_cli_hqd, gp_cli_mqd,
	gp_cli_runlist, gp_cli_ps, gp_cli_doctor, gp_cli_completion, gp_cli_manual, gp_cli_vgpu,
	gp_cli_sim, gp_cli_selftest;
extern const struct gp_cli_command gp_cli_queues_trace, gp_cli_compare, gp_cli_report,
	gp_cli_analyze, gp_cli_trace;
extern const struct gp_cli_command gp_cli_run;
extern const struct gp_cli_command gp_cli_suspend, gp_cli_resume, gp_cli_status, gp_cli_renice,
	gp_cli_release;
extern const struct gp_cli_command gp_cli_why, gp_cli_log, gp_cli_stats, gp_cli_config, gp_cli_top;

#endif
