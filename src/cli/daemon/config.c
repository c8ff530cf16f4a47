// SPDX-License-Identifier: MIT
/* gpreempt config: checks a configuration of gpreemptd, or has it read again. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/host/program.h"
#include "cli/daemon/daemon_client.h"

static int none(void *ctx, int id, const char *value)
{
	(void)ctx;
	(void)id;
	(void)value;
	return 0;
}

/* The daemon's own reader does it: there is one truth about its file. */
static int check(const struct gp_command *command, char *file)
{
	static char name[] = "gpreempt config", option[] = "--check";
	char *arguments[] = {name, option, file, NULL};
	struct gp_command_diag sink;
	char path[PATH_MAX];

	gp_command_diag_init(&sink, command);
	if (gp_program_beside("sbin/gpreemptd", "bin/gpreemptd", path, sizeof(path))) {
		gp_fail(&sink.diag, -ENOENT, "cannot find %s; reinstall gpreempt", "gpreemptd");
		return GP_EXIT_FAILED;
	}
	fflush(stdout);
	execv(path, arguments);
	gp_fail(&sink.diag, -errno, "cannot run %s: %s; reinstall gpreempt", path, strerror(errno));
	return GP_EXIT_FAILED;
}

static void warn(const struct gp_cli_daemon_client *client, struct gp_diag *diag)
{
	struct gp_proto_reasons reasons;
	char text[2 * GP_PROTO_TEXT];

	memcpy(&reasons, client->message.body, sizeof(reasons));
	if (!reasons.count)
		return;
	gp_proto_reasons_text(&reasons, text, sizeof(text));
	gp_diag(diag, GP_WARNING, "%s", text);
}

static int reload(const struct gp_command *command)
{
	struct gp_cli_daemon_client client = {.socket = -1};
	struct gp_command_diag sink;
	int error;

	gp_command_diag_init(&sink, command);
	if (gp_cli_daemon_open(&client, &sink.diag))
		return GP_EXIT_FAILED;
	error = gp_cli_daemon_ask(&client, &sink.diag, GP_MSG_DAEMON_RELOAD, NULL, 0,
				  sizeof(struct gp_proto_reasons), 0);
	if (error >= 0)
		warn(&client, &sink.diag);
	gp_cli_daemon_close(&client);
	return error < 0 ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	int first, status = gp_command_parse(command, argc, argv, none, NULL, &first);
	int count;

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	count = argc - first;
	if (count == 2 && strcmp(argv[first], "check") == 0)
		return check(command, argv[first + 1]);
	if (count == 1 && strcmp(argv[first], "reload") == 0)
		return reload(command);
	return gp_usage_error(command, "specify 'check FILE' or 'reload'");
}

static const struct gp_option options[] = {{0}};

const struct gp_command gp_cli_config = {
	.name = "config",
	.arguments = "check FILE | reload",
	.completion = GP_COMPLETE_CONFIG,
	.summary = N_("Check a gpreemptd configuration file, or make gpreemptd reload its own"),
	.description = N_(
		"'check' reads FILE as gpreemptd does and prints every error with its "
		"line number and,\n"
		"where possible, a correction. 'reload' makes gpreemptd read its file "
		"again, as SIGHUP\n"
		"does; a file with errors changes nothing, and a metrics port or decision_log that "
		"cannot be\n"
		"used is reported and stays as it was. gpreemptd.conf(5) lists the keys."),
	.options = options,
	.exit_status = N_("Exit status: 0 no errors, 1 errors, not everything reloaded, or no "
			  "daemon; 2 bad usage."),
	.examples = "  gpreempt config check /etc/gpreempt/gpreemptd.conf\n"
		    "  gpreempt config reload\n",
	.run = run,
};
