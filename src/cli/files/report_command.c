// SPDX-License-Identifier: MIT
#include "cli/files/report_command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/read/plain.h"

void gp_cli_report_cli_init(struct gp_cli_report_cli *cli, const struct gp_command *command)
{
	memset(cli, 0, sizeof(*cli));
	cli->command = command;
	gp_command_diag_init(&cli->sink, command);
}

bool gp_cli_report_option(struct gp_cli_report_cli *cli, int id, const char *value)
{
	switch (id) {
	case GP_OPT_REPORT_JSON:
		cli->json = true;
		return true;
	case GP_OPT_REPORT_FORMAT:
		cli->json = strcmp(value, "json") == 0;
		cli->csv = strcmp(value, "csv") == 0;
		if (!cli->json && !cli->csv && strcmp(value, "text") != 0)
			cli->usage =
				gp_usage_error(cli->command,
					       "invalid format '%s' (text, json or csv)", value);
		return true;
	case GP_OPT_REPORT_MARKDOWN:
		cli->markdown = true;
		return true;
	case GP_OPT_REPORT_PERFETTO:
		cli->perfetto = value;
		cli->quiet |= gp_file_is_standard(value);
		return true;
	case GP_OPT_REPORT_HTML:
		cli->html = value;
		cli->quiet |= gp_file_is_standard(value);
		return true;
	}
	return false;
}

int gp_cli_report_open(struct gp_cli_report_cli *cli, const char *path, const char **name)
{
	struct stat info;
	int fd;

	if (strcmp(path, "-") == 0) {
		*name = _("standard input");
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	} else {
		*name = path;
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0) {
		int error = -errno;

		return gp_fail(&cli->sink.diag, error, "cannot open %s: %s", *name,
			       strerror(-error));
	}
	if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
		close(fd);
		return gp_fail(&cli->sink.diag, -EISDIR, "%s is a directory; name a file", *name);
	}
	return gp_trace_plain(fd, *name, &cli->sink.diag);
}

int gp_cli_report_timeline(struct gp_cli_report_cli *cli)
{
	struct stat info;
	int fd = -1, error;

	if (!cli->perfetto)
		return 0;
	/* A device or a pipe is written to; only a file is replaced. */
	if (gp_file_is_standard(cli->perfetto)) {
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	} else if (stat(cli->perfetto, &info) == 0 && !S_ISREG(info.st_mode)) {
		fd = open(cli->perfetto, O_WRONLY | O_CLOEXEC);
	} else if (asprintf(&cli->temporary, "%s.XXXXXX", cli->perfetto) < 0) {
		cli->temporary = NULL;
	} else {
		fd = mkostemp(cli->temporary, O_CLOEXEC);
		if (fd >= 0)
			fchmod(fd, 0644);
	}
	if (fd >= 0)
		cli->file = fdopen(fd, "w");
	if (cli->file)
		cli->timeline = gp_trace_perfetto_new(cli->file);
	if (cli->timeline)
		return 0;
	error = errno ? -errno : -ENOMEM;
	if (fd >= 0 && !cli->file)
		close(fd);
	gp_cli_report_timeline_end(cli, error);
	return gp_fail(&cli->sink.diag, error, "cannot write %s: %s", cli->perfetto,
		       strerror(-error));
}

int gp_cli_report_timeline_end(struct gp_cli_report_cli *cli, int error)
{
	int failed = 0;

	if (cli->timeline)
		failed = gp_trace_perfetto_end(cli->timeline);
	if (cli->file && fclose(cli->file) && !failed)
		failed = -errno;
	if (cli->temporary && cli->file && !error && !failed &&
	    rename(cli->temporary, cli->perfetto))
		failed = -errno;
	if (cli->temporary && (error || failed))
		unlink(cli->temporary);
	if (failed && !error)
		error = gp_fail(&cli->sink.diag, failed, "cannot write %s: %s", cli->perfetto,
				strerror(-failed));
	free(cli->temporary);
	cli->temporary = NULL;
	cli->timeline = NULL;
	cli->file = NULL;
	return error;
}

int gp_cli_report_write(struct gp_cli_report_cli *cli, const char *path, const struct gp_buf *text)
{
	int error = gp_file_write_atomic(path, gp_buf_str(text), text->len);

	if (error)
		gp_fail(&cli->sink.diag, error, "cannot write %s: %s", path, strerror(-error));
	return error;
}

int gp_cli_report_print(struct gp_cli_report_cli *cli, const struct gp_doc *doc)
{
	struct gp_buf text = {0};
	int error = 0;

	if (!doc)
		return gp_fail(&cli->sink.diag, -ENOMEM, "%s", _("out of memory"));
	if (cli->html) {
		error = gp_doc_html(doc, &text);
		if (!error)
			error = gp_cli_report_write(cli, cli->html, &text);
		gp_buf_free(&text);
	}
	if (error || cli->quiet)
		return error;
	if (cli->csv)
		return gp_show_print_csv_tables(doc, stdout);
	return gp_show_print(doc, stdout,
			     cli->json       ? GP_SHOW_JSON
			     : cli->markdown ? GP_SHOW_MARKDOWN
					     : GP_SHOW_TEXT);
}
