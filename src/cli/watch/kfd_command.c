// SPDX-License-Identifier: MIT
/*
 * Which options of `hqd`, `mqd` and `runlist` go together, and where a reading is printed: on one
 * screen with --watch on a terminal, otherwise one after the other.
 */
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
		return gp_cli_view_set(&cli->view, cli->command, GP_VIEW_COUNT, value);
	if (id == GP_OPT_GPU && gp_parse_hex(&p, end, &number) && p == end &&
	    number <= UINT32_MAX) {
		cli->query.has_gpu = true;
		cli->query.gpu_id = (u32)number;
		return 0;
	}
	if (id == GP_OPT_GFX && gp_inspect_kfd_query_set_gfx(&cli->query, value))
		return 0;
	if (id == GP_OPT_PID)
		gp_usage_error(cli->command,
			       "'%s' is not a pid; 'gpreempt ps' lists the processes that use a "
			       "GPU",
			       value);
	else if (id == GP_OPT_GPU)
		gp_usage_error(
			cli->command,
			"'%s' is not a gpu_id such as 0x636; 'gpreempt doctor' lists those of this "
			"machine",
			value);
	else
		gp_usage_error(cli->command, "'%s' is not a GPU name such as gfx942", value);
	return -EINVAL;
}

static int set_option(void *ctx, int id, const char *value)
{
	struct gp_cli_kfd_cli *cli = ctx;

	if (gp_cli_view_has(id))
		return gp_cli_view_set(&cli->view, cli->command, id, value);
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
	if (cli->view.watch && (is_pipe(cli->query.file) || is_pipe(cli->query.mqds_file)))
		return gp_usage_error(
			cli->command,
			"--watch needs a file that can be read repeatedly, not a pipe");
	if (is_stdin(cli->query.file) && is_stdin(cli->query.mqds_file))
		return gp_usage_error(cli->command,
				      "only one of --file and --mqds can be standard input");
	if (!cli->show.json && cli->show.raw && cli->show.registers)
		return gp_usage_error(cli->command, "--raw cannot be combined with --registers");
	return gp_cli_view_check(&cli->view, cli->command);
}

/* ---- readings ---- */

struct run {
	struct gp_cli_kfd_cli *cli;
	gp_kfd_sample sample;
	struct gp_cli_marks marks;
	bool empty;
};

int gp_cli_kfd_check_owners(struct gp_cli_kfd_cli *cli, const char *pids_from)
{
	if (!cli->query.pid || *pids_from)
		return 0;
	if (cli->query.file)
		return gp_fail(&cli->sink.diag, -ENODATA,
			       "--pid needs the mqds saved with this file, which name the owner of "
			       "each queue (--mqds)");
	return gp_fail(&cli->sink.diag, -ENODATA,
		       "--pid needs mqds, which name the owner of each queue, but they cannot be "
		       "read; run as root, or give a saved copy with --mqds");
}

int gp_cli_kfd_sample_slots(struct gp_cli_kfd_cli *cli, struct gp_cli_kfd_output *out,
			    gp_kfd_read_slots read)
{
	struct gp_inspect_slots slots = {0};
	int error = read(&cli->query, &cli->sink.diag, &slots);

	if (!error)
		error = gp_cli_kfd_check_owners(cli, slots.pids_from);
	if (!error) {
		out->empty = !slots.list.count && (cli->query.pid || cli->query.has_gpu);
		cli->show.from_file = cli->query.file;
		/* The message that nothing was found is the whole answer. */
		out->doc = out->empty && !gp_cli_view_is_data(&cli->view)
				   ? gp_doc_new_answer()
				   : gp_cli_slots_doc(&slots, &cli->show);
	}
	gp_inspect_slots_free(&slots);
	return error;
}

static int make(void *ctx, struct gp_doc **doc)
{
	struct run *run = ctx;
	struct gp_cli_kfd_output out = {0};
	int error = run->sample(run->cli, &out);

	*doc = out.doc;
	run->empty = out.empty;
	gp_cli_marks_next(&run->marks);
	return error;
}

static int not_found(struct gp_cli_kfd_cli *cli)
{
	if (cli->query.pid && cli->query.gpu_id)
		gp_fail(&cli->sink.diag, -ESRCH,
			"process %u has no queue on GPU 0x%x in this list; without a pid and "
			"a GPU, all queues are shown",
			cli->query.pid, cli->query.gpu_id);
	else if (cli->query.pid)
		gp_fail(&cli->sink.diag, -ESRCH,
			"process %u has no queue in this list; without a pid, all queues "
			"are shown",
			cli->query.pid);
	else
		gp_fail(&cli->sink.diag, -ESRCH,
			"no GPU 0x%x in this list; 'gpreempt doctor' lists "
			"the GPUs",
			cli->query.gpu_id);
	return GP_EXIT_FAILED;
}

int gp_cli_kfd_command_run(const struct gp_command *command, int argc, char **argv,
			   gp_kfd_sample sample)
{
	struct gp_cli_kfd_cli cli = {.command = command, .query.stdin_name = _("standard input")};
	struct run run = {.cli = &cli, .sample = sample};
	int first, status;

	gp_command_diag_init(&cli.sink, command);
	status = gp_command_parse(command, argc, argv, set_option, &cli, &first);
	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	/* A saved copy, as with --file. */
	if (first < argc && !cli.query.file)
		cli.query.file = argv[first++];
	if (first < argc)
		return gp_usage_error(command, "unexpected argument '%s'", argv[first]);
	cli.show.json = cli.view.format == GP_SHOW_JSON;
	cli.show.csv = cli.view.format == GP_SHOW_CSV;
	status = check_options(&cli);
	if (!status)
		status = gp_command_check_root(command, &cli.query.root);
	if (status)
		return status;
	run.marks.colour = gp_term_colour(stdout);
	cli.show.marks = &run.marks;
	status = gp_cli_view_run(&cli.view, &cli.sink, make, &run);
	gp_cli_marks_free(&run.marks);
	if (status)
		return GP_EXIT_FAILED;
	return run.empty && !cli.view.watch ? not_found(&cli) : GP_EXIT_OK;
}
