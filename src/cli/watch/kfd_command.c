// SPDX-License-Identifier: MIT
#include "cli/watch/kfd_command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "show/term.h"

/* ---- options ---- */

static int set_number(struct gp_cli_kfd_cli *cli, int id, const char *value)
{
	const char *p = value, *end = value + strlen(value);
	u64 number;

	if (id == GP_OPT_PID && gp_argument_pid(value, &cli->query.pid))
		return 0;
	if (id == GP_OPT_COUNT)
		return gp_cli_take_count(cli->command, "count", value, 1, UINT64_MAX, &cli->count);
	if (id == GP_OPT_GPU && gp_parse_hex(&p, end, &number) && p == end &&
	    number <= UINT32_MAX) {
		cli->query.has_gpu = true;
		cli->query.gpu_id = (u32)number;
		return 0;
	}
	if (id == GP_OPT_GFX && gp_inspect_kfd_query_set_gfx(&cli->query, value))
		return 0;
	if (id == GP_OPT_PID)
		gp_cli_usage_error(cli->command, "'%s' is not a pid", value);
	else if (id == GP_OPT_GPU)
		gp_cli_usage_error(cli->command, "'%s' is not a gpu_id in hex", value);
	else
		gp_cli_usage_error(cli->command, "'%s' is not a GPU name such as gfx942", value);
	return -EINVAL;
}

static int set_watch(struct gp_cli_kfd_cli *cli, const char *value)
{
	cli->watch = true;
	return value ? gp_cli_take_duration(cli->command, "watch", value, GP_WATCH_MIN,
					    GP_WATCH_MAX, &cli->interval_ns)
		     : 0;
}

static int set_option(void *ctx, int id, const char *value)
{
	struct gp_cli_kfd_cli *cli = ctx;

	switch (id) {
	case GP_OPT_FILE:
		cli->query.file = value;
		return 0;
	case GP_OPT_MQDS:
		cli->query.mqds_file = value;
		return 0;
	case GP_OPT_ROOT:
		cli->query.root.dir = value;
		return 0;
	case GP_OPT_JSON:
		cli->json = true;
		return 0;
	case GP_OPT_RAW:
		cli->show.raw = true;
		return 0;
	case GP_OPT_REGISTERS:
		cli->show.registers = true;
		return 0;
	case GP_OPT_PER_XCC:
		cli->show.per_xcc = true;
		return 0;
	case GP_OPT_ALL:
		cli->show.all = true;
		return 0;
	case GP_OPT_PARTIAL:
		cli->query.partial = true;
		return 0;
	case GP_OPT_WATCH:
		return set_watch(cli, value);
	}
	return set_number(cli, id, value);
}

static bool is_stdin(const char *file)
{
	return file && strcmp(file, "-") == 0;
}

/* A pipe is read once, and waiting for its writer could not be ended by a signal. */
static bool is_pipe(const char *file)
{
	struct stat status;

	return is_stdin(file) || (file && stat(file, &status) == 0 && S_ISFIFO(status.st_mode));
}

/* Combinations that mean nothing; GP_EXIT_OK when there are none. */
static int check_options(const struct gp_cli_kfd_cli *cli)
{
	if (cli->count && !cli->watch)
		return gp_cli_usage_error(cli->command, "--count needs --watch");
	if (cli->watch && (is_pipe(cli->query.file) || is_pipe(cli->query.mqds_file)))
		return gp_cli_usage_error(
			cli->command,
			"--watch cannot be used with a pipe, which can be read only once");
	if (is_stdin(cli->query.file) && is_stdin(cli->query.mqds_file))
		return gp_cli_usage_error(cli->command,
					  "only one of --file and --mqds can be standard input");
	if (!cli->json && cli->show.raw && cli->show.registers)
		return gp_cli_usage_error(cli->command, "choose one of --raw and --registers");
	return GP_EXIT_OK;
}

/* ---- readings ---- */

struct run {
	struct gp_cli_kfd_cli *cli;
	gp_kfd_sample sample;
	struct gp_inspect_grid before;
	size_t readings;
	bool empty;
};

static int print_text(struct run *run, const struct gp_cli_kfd_output *out, FILE *stream)
{
	bool colour = gp_term_colour(stdout);
	struct gp_table *table;
	int error = out->text.error;

	if (!error && out->grid.row_count) {
		table = gp_inspect_grid_table(&out->grid, run->readings ? &run->before : NULL,
					      colour);
		error = table ? gp_table_print(table, stream, colour) : -ENOMEM;
		gp_table_free(table);
	}
	if (!error)
		fputs(gp_buf_str(&out->text), stream);
	return error;
}

/* At most one screen, so that the top of the table stays where it is. */
static int print_screen(struct run *run, const struct gp_cli_kfd_output *out, FILE *screen)
{
	size_t lines = gp_term_lines(stdout), size, left = 0;
	char *text = NULL, *end;
	FILE *stream = open_memstream(&text, &size);
	int error;

	if (!stream)
		return -ENOMEM;
	error = print_text(run, out, stream);
	if (fclose(stream) && !error)
		error = -ENOMEM;
	end = text;
	for (size_t shown = 0; !error && *end; end = strchrnul(end, '\n')) {
		end += *end == '\n';
		if (lines > 2 && shown++ >= lines - 2)
			break;
	}
	for (const char *rest = end; !error && *rest; rest++)
		left += *rest == '\n';
	if (!error)
		fwrite(text, 1, (size_t)(end - text), screen);
	if (left)
		fprintf(screen, _("... %zu more lines\n"), left);
	free(text);
	return error;
}

static int print_output(struct run *run, struct gp_cli_kfd_output *out, FILE *stream)
{
	bool watch = run->cli->watch;

	if (run->cli->json) {
		if (watch && out->json)
			json_object_set_new(out->json, "time",
					    json_real((double)gp_clock_ns(CLOCK_REALTIME) / 1e9));
		return out->json ? gp_json_print(stream, out->json, watch) : -ENOMEM;
	}
	if (watch && isatty(STDOUT_FILENO))
		return print_screen(run, out, stream);
	if (run->readings)
		putc('\n', stream);
	return print_text(run, out, stream);
}

static int take_sample(void *ctx, FILE *stream)
{
	struct run *run = ctx;
	struct gp_cli_kfd_output out = {0};
	int error = run->sample(run->cli, &out);

	if (!error) {
		/* The stream is memory: all that can fail is to have enough. */
		if (print_output(run, &out, stream))
			error = -ENOMEM;
		run->empty = out.empty;
		gp_inspect_grid_free(&run->before);
		run->before = out.grid;
		out.grid = (struct gp_inspect_grid){0};
		run->readings++;
	}
	json_decref(out.json);
	gp_inspect_grid_free(&out.grid);
	gp_buf_free(&out.text);
	return error;
}

static int not_found(struct gp_cli_kfd_cli *cli)
{
	if (cli->query.pid)
		gp_fail(&cli->sink.diag, -ESRCH, "no queue of process %u", cli->query.pid);
	else
		gp_fail(&cli->sink.diag, -ESRCH, "no GPU %x", cli->query.gpu_id);
	return GP_EXIT_FAILED;
}

int gp_cli_kfd_command_run(const struct gp_cli_command *command, int argc, char **argv,
			   gp_kfd_sample sample)
{
	struct gp_cli_kfd_cli cli = {.command = command, .interval_ns = GP_NS_PER_S};
	struct run run = {.cli = &cli, .sample = sample};
	struct gp_cli_watch watch;
	int first, status;

	gp_cli_diag_init(&cli.sink, command);
	status = gp_cli_parse(command, argc, argv, set_option, &cli, &first);
	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	if (first < argc)
		return gp_cli_usage_error(command,
					  "unexpected argument '%s'; give a file with --file",
					  argv[first]);
	status = check_options(&cli);
	if (!status)
		status = gp_cli_check_root(command, &cli.query.root);
	if (status)
		return status;
	watch = (struct gp_cli_watch){.diag = &cli.sink.diag,
				      .once = !cli.watch,
				      .interval_ns = cli.interval_ns,
				      .count = cli.count,
				      .redraw = cli.watch && !cli.json && isatty(STDOUT_FILENO)};
	status = gp_cli_watch_run(&watch, take_sample, &run);
	gp_inspect_grid_free(&run.before);
	if (status)
		return GP_EXIT_FAILED;
	return run.empty && !cli.watch ? not_found(&cli) : GP_EXIT_OK;
}
