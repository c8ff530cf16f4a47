// SPDX-License-Identifier: MIT
/* gpreempt release: ends suspensions whoever asked for them, with nobody's help if need be. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/parse.h"
#include "cli/control/swap.h"
#include "cli/control/target_command.h"
#include "inspect/stranded.h"
#include "show/doc.h"

enum {
	OPTION_JSON = 'j',
	OPTION_ALL = 'a',
	OPTION_GROUP = 'g',
	OPTION_TIMEOUT = 256,
	END_MS = 10000, /* how long a killed holder may take to end */
};

#define TIMEOUT     (2 * GP_NS_PER_S) /* a holder that takes longer to answer counts as hung */
#define TIMEOUT_MAX (3600 * GP_NS_PER_S)

struct release {
	char **words; /* of the command line */
	const struct gp_command *command;
	struct gp_command_diag sink;
	struct gp_cli_holder holder;
	u64 timeout_ns;
	u32 pid; /* 0: all, or the group */
	const char *group;
	bool all, json, killed;
	int count; /* suspensions that were ended; -1: not known */
	int others_error;
	int started; /* processes whose NVIDIA channels were started */
	int swapped; /* processes whose GPU memory was brought back */
};

static int set(void *ctx, int id, const char *value)
{
	struct release *release = ctx;

	if (id == OPTION_JSON)
		release->json = true;
	else if (id == OPTION_ALL)
		release->all = true;
	else if (id == OPTION_GROUP)
		release->group = value;
	else
		return gp_option_duration(release->command, "timeout", value, GP_NS_PER_MS,
					  TIMEOUT_MAX, &release->timeout_ns);
	return 0;
}

/*
 * Its number is that of the process that has the lock file open: it is the holder of this
 * directory. When it is gone the driver and the agents let everything run.
 */
static int kill_holder(struct release *release, int why)
{
	pid_t pid = release->holder.pid;
	struct pollfd end = {.fd = -1, .events = POLLIN};
	int error = 0;

	if (pid <= 1)
		return gp_fail(&release->sink.diag, -ESRCH,
			       "the holder does not answer, and its pid is unknown; find the "
			       "process 'gpreempt-holder' and kill it");
	end.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* Pinned first and looked at again then: it may have ended while it was waited for, and
	 * its number be somebody else's. */
	if (end.fd >= 0 && gp_cli_holder_owner(&release->holder) != pid) {
		close(end.fd);
		return 0;
	}
	if (end.fd < 0 || syscall(SYS_pidfd_send_signal, end.fd, SIGKILL, NULL, 0) < 0)
		error = errno == ESRCH ? 0 : -errno;
	if (!error && end.fd >= 0 && poll(&end, 1, END_MS) == 0)
		error = -ETIME;
	if (end.fd >= 0)
		close(end.fd);
	if (error)
		return gp_fail(&release->sink.diag, error, "cannot kill the holder (pid %d): %s",
			       (int)pid, strerror(-error));
	release->killed = true;
	release->count = -1;
	if (why == -EPROTONOSUPPORT || why == -EPROTO)
		gp_diag(&release->sink.diag, GP_WARNING,
			"killed the holder (pid %d) because it is a different version; all "
			"processes that it had suspended are running again",
			(int)pid);
	else
		gp_diag(&release->sink.diag, GP_WARNING,
			"the holder (pid %d) did not answer and was killed; all processes that it "
			"had suspended are running again",
			(int)pid);
	return 0;
}

/* Each suspended process of the group. Returns how many suspensions ended. */
static int ask_group(struct release *release, int timeout)
{
	struct gp_cli_holds holds = {0};
	int status = gp_cli_holder_holds(&release->holder, &holds, timeout), ended = 0;

	for (size_t i = 0; i < holds.count && status >= 0; i++) {
		u32 pid = (u32)holds.items[i].pid;

		if (!gp_cli_target_in_group(pid, release->group))
			continue;
		status = gp_cli_holder_ask(&release->holder, GP_MSG_RELEASE, pid, timeout);
		ended += status > 0 ? status : 0;
	}
	free(holds.items);
	return status < 0 ? status : ended;
}

static int ask(struct release *release)
{
	int timeout = (int)(release->timeout_ns / GP_NS_PER_MS);
	int status = gp_cli_holder_connect(&release->holder, timeout);
	char text[GP_PROTO_TEXT];

	if (!status && release->group)
		status = ask_group(release, timeout);
	else if (!status)
		status = gp_cli_holder_ask(&release->holder, GP_MSG_RELEASE, release->pid, timeout);
	if (status >= 0) {
		if (release->count >= 0)
			release->count += status;
		return 0;
	}
	/* Nobody to ask, so nothing is held: a suspension does not outlive its holder. */
	if (status == -ENOENT || status == -ECONNRESET || status == -EPIPE)
		return 0;
	if (status == -ETIME || status == -EAGAIN)
		return kill_holder(release, status);
	if (status == -EPROTONOSUPPORT || status == -EPROTO) {
		if (release->all)
			return kill_holder(release, status);
		return gp_fail(&release->sink.diag, status,
			       "the holder (pid %d) is a different version; it exits when idle, or "
			       "use 'gpreempt release --all' to end it",
			       (int)release->holder.pid);
	}
	gp_cli_holder_text(&release->holder, text, sizeof(text));
	return gp_fail(
		&release->sink.diag, status,
		"the holder refused the request: %s; 'gpreempt release --all' ends all suspensions",
		release->holder.socket >= 0 && *text ? text : strerror(-status));
}

static void show(struct release *release)
{
	struct gp_doc *doc = gp_doc_new_answer();
	char text[160];

	gp_doc_fact(doc, "released", NULL,
		    gp_v_if(release->count >= 0, gp_v_count((u64)release->count)));
	gp_doc_fact(doc, "holder_killed", NULL, gp_v_bool(release->killed));
	gp_doc_fact(doc, "nvidia_processes", NULL, gp_v_count((u64)release->started));
	if (release->count > 0) {
		snprintf(text, sizeof(text),
			 ngettext("%d suspension ended", "%d suspensions ended",
				  (unsigned long)release->count),
			 release->count);
		gp_doc_line(doc, "%s", text);
	} else if (!release->killed && !release->swapped) {
		gp_doc_line(doc, "nothing was suspended");
	}
	gp_doc_fact(doc, "swapped_in", NULL, gp_v_count((u64)release->swapped));
	if (release->swapped) {
		snprintf(text, sizeof(text),
			 ngettext("swapped in %d process", "swapped in %d processes",
				  (unsigned long)release->swapped),
			 release->swapped);
		gp_doc_line(doc, "%s", text);
	}
	if (release->started) {
		snprintf(text, sizeof(text),
			 ngettext("restarted the NVIDIA channels of %d process as a precaution",
				  "restarted the NVIDIA channels of %d processes as a precaution",
				  (unsigned long)release->started),
			 release->started);
		gp_doc_line(doc, "%s", text);
	}
	(void)gp_cli_answer(doc, release->json ? GP_SHOW_JSON : GP_SHOW_TEXT, &release->sink.diag);
}

/* One that fails does not keep the others from being released. */
static int ask_other(void *data, struct gp_cli_holder *holder)
{
	struct release *release = data;
	int error = ask(release);

	(void)holder; /* release->holder */
	release->others_error = release->others_error ? release->others_error : error;
	return 0;
}

static int act(struct release *release)
{
	int error;

	if (gp_cli_holder_check_directory(&release->sink.diag))
		return GP_EXIT_FAILED;
	error = ask(release);

	/* Root's reach those of all users. */
	gp_cli_holder_close(&release->holder);
	(void)gp_cli_holder_each_other(&release->holder, ask_other, release);
	if (!error)
		error = release->others_error;

	/* A suspension on NVIDIA's driver can outlive a holder that was killed with its lifeline.
	 */
	if (!error && !release->group) {
		release->started =
			gp_inspect_stranded_release(NULL, release->pid, &release->sink.diag);
		error = release->started < 0 ? release->started : 0;
	}
	if (!error && !release->group) {
		release->swapped = gp_cli_swap_release(release->pid, &release->sink.diag);
		error = release->swapped < 0 ? release->swapped : 0;
	}
	if (!error && release->pid && !release->count && !release->started && !release->swapped)
		error = gp_cli_target_absent(release->pid, release->words, &release->sink.diag);
	if (!error)
		show(release);
	gp_cli_holder_close(&release->holder);
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct release *release = calloc(1, sizeof(*release));
	int first, status;

	if (!release)
		return GP_EXIT_FAILED;
	release->command = command;
	release->words = argv;
	release->timeout_ns = TIMEOUT;
	release->holder.socket = -1;
	gp_command_diag_init(&release->sink, command);
	status = gp_command_parse(command, argc, argv, set, release, &first);
	if (status)
		status = status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	else if (argc - first + release->all + !!release->group != 1)
		status = gp_usage_error(command, "specify one process, --group or --all");
	else if (first < argc && !gp_argument_pid(argv[first], &release->pid))
		status = gp_usage_error(
			command,
			"'%s' is not a pid; 'gpreempt ps' lists the processes that use a "
			"GPU",
			argv[first]);
	else
		status = act(release);
	free(release);
	return status;
}

static const struct gp_option options[] = {
	{OPTION_GROUP, "group", GP_REQUIRED_ARGUMENT, "NAME", GP_COMPLETE_NONE,
	 N_("all processes that 'gpreempt run --group NAME' started")},
	{OPTION_ALL, "all", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("release all suspended processes of this user (as\nroot: of all users)")},
	{OPTION_TIMEOUT, "timeout", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("how long to wait for the holder before killing it\n(default 2s)")},
	{OPTION_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print JSON (schema: docs/reference/json.md)")},
	{0},
};

const struct gp_command gp_cli_release = {
	.name = "release",
	.arguments = "PID | --group NAME | --all",
	.completion = GP_COMPLETE_PID,
	.summary = N_("Force-release suspensions, even if their owner or the holder hangs"),
	.description = N_("Resumes a process, the processes of a group, or with --all every "
			  "process, even if another\n"
			  "program holds it; that program loses its lease and is notified. Needs "
			  "no daemon. A holder\n"
			  "that does not answer is killed, which releases everything it held."),
	.options = options,
	.examples = "  gpreempt release 4711\n"
		    "  gpreempt release --all\n",
	.run = run,
};
