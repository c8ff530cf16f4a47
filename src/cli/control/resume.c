// SPDX-License-Identifier: MIT
/* gpreempt resume: tells running `gpreempt suspend` commands to let go. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/parse.h"
#include "base/clock.h"
#include "cli/control/target_command.h"
#include "cli/daemon/daemon_client.h"
#include "proto/swapped.h"
#include "show/doc.h"

enum {
	OPTION_JSON = 'j',
	OPTION_GROUP = 'g',
	TIMEOUT_MS = 10000,
	SWAP_MS = 600000, /* memory is copied */
	LOOK_MS = 10,     /* between two looks at the queues */
};

struct resume {
	char **words; /* of the command line */
	const struct gp_command *command;
	struct gp_command_diag sink;
	struct gp_cli_holder holder;
	u32 pid;
	const char *group; /* instead of pid */
	char name[128];
	u32 *ids;
	size_t id_count;
	bool json;
	size_t keepers, others;
};

static int set(void *ctx, int id, const char *value)
{
	struct resume *resume = ctx;

	if (id == OPTION_JSON)
		resume->json = true;
	else
		resume->group = value;
	return 0;
}

/* A keeper has the signal blocked; anybody else would die of it. */
static bool waits_for_signal(pid_t pid)
{
	struct gp_root live = {.dir = ""};
	struct gp_buf status = {0};
	u64 mask = 0;
	const char *line;

	if (gp_root_read(&live, 65536, &status, "/proc/%d/status", (int)pid) == 0 &&
	    (line = strstr(gp_buf_str(&status), "\nSigBlk:")))
		mask = strtoull(line + strlen("\nSigBlk:"), NULL, 16);
	gp_buf_free(&status);
	return mask >> (GP_KEEPER_SIGNAL - 1) & 1;
}

static int send_to(int pidfd, int value)
{
	siginfo_t info = {.si_signo = GP_KEEPER_SIGNAL, .si_code = SI_QUEUE};

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_int = value;
	return syscall(SYS_pidfd_send_signal, pidfd, GP_KEEPER_SIGNAL, &info, 0) < 0 ? -errno : 0;
}

/* Pinned first and looked at then, so that the number cannot come to mean another. */
static int tell(struct resume *resume, pid_t keeper, int timeout_ms)
{
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, keeper, 0), .events = POLLIN};
	int error = 0;

	if (end.fd < 0)
		return errno == ESRCH ? 0 : -errno;
	if (!waits_for_signal(keeper)) {
		close(end.fd);
		resume->others++;
		return 0;
	}
	resume->keepers++;
	for (size_t i = 0; i < resume->id_count && !error; i++)
		error = send_to(end.fd, (int)resume->ids[i]);
	if (!resume->id_count)
		error = send_to(end.fd, GP_KEEPER_ALL);
	/* With everything let go it ends. */
	if (!error && !resume->id_count && poll(&end, 1, timeout_ms) == 0)
		error = -ETIME;
	close(end.fd);
	return error == -ESRCH ? 0 : error;
}

static bool is_meant(const struct resume *resume, const struct gp_proto_msg_hold *hold)
{
	return resume->group ? gp_cli_target_in_group((u32)hold->pid, resume->group)
			     : hold->pid == (s32)resume->pid;
}

static int tell_all(struct resume *resume, const struct gp_cli_holds *holds)
{
	for (size_t i = 0; i < holds->count; i++) {
		const struct gp_proto_msg_hold *hold = &holds->items[i];
		bool told = false;

		if (!is_meant(resume, hold))
			continue;
		for (size_t j = 0; j < i && !told; j++)
			told = holds->items[j].owner_pid == hold->owner_pid &&
			       is_meant(resume, &holds->items[j]);
		int error = told ? 0 : tell(resume, hold->owner_pid, TIMEOUT_MS);
		if (error)
			return gp_fail(&resume->sink.diag, error,
				       "'gpreempt suspend' (pid %d) did not release its hold: %s",
				       hold->owner_pid, strerror(-error));
	}
	return 0;
}

/* One whose memory was moved has no hold; its keeper is in the record. */
static int tell_swapped(struct resume *resume)
{
	struct gp_proto_swapped record;
	int error;

	if (!resume->pid || resume->id_count || gp_proto_swapped_find(resume->pid, &record))
		return 0;
	error = tell(resume, (pid_t)record.keeper, SWAP_MS);
	return error ? gp_fail(&resume->sink.diag, error,
			       "cannot ask process %d to release its hold: %s", (int)record.keeper,
			       strerror(-error))
		     : 0;
}

static bool still_suspended(const struct resume *resume, const struct gpreempt_queue *queues,
			    size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < resume->id_count; j++) {
			if (queues[i].kfd_id == resume->ids[j] &&
			    queues[i].state == GPREEMPT_QUEUE_SUSPENDED)
				return true;
		}
	}
	return false;
}

/* A keeper that let go of some queues goes on; what it did shows in the queues. */
static int await_queues(struct resume *resume)
{
	static struct gpreempt_queue queues[GPREEMPT_QUEUES_MAX];
	u64 deadline = gp_monotonic_ns() + TIMEOUT_MS * GP_NS_PER_MS;
	struct gpreempt *context = NULL;
	struct gpreempt_target *target;
	int error = gpreempt_open(&context), count;

	if (!error)
		error = gpreempt_target_open(context, (int)resume->pid, NULL, &target);
	while (!error) {
		count = gpreempt_target_queues(target, queues, GPREEMPT_QUEUES_MAX);
		if (count < 0)
			error = count;
		else if (count > GPREEMPT_QUEUES_MAX)
			count = GPREEMPT_QUEUES_MAX;
		if (error || !still_suspended(resume, queues, (size_t)count))
			break;
		if (gp_monotonic_ns() > deadline)
			error = gp_fail(
				&resume->sink.diag, -ETIME,
				"the queues are still suspended, although every 'gpreempt suspend' "
				"was asked to release them; see 'gpreempt status'");
		else
			poll(NULL, 0, LOOK_MS);
	}
	if (error && error != -ETIME)
		gp_fail(&resume->sink.diag, error, "%s", gpreempt_error(context));
	gpreempt_close(context);
	return error;
}

static void show(struct resume *resume)
{
	struct gp_doc *doc = gp_doc_new_answer();
	char owner[GP_PROTO_NAME];

	gp_doc_fact(doc, "pid", NULL, gp_v_if(resume->pid, gp_v_count(resume->pid)));
	gp_doc_fact(doc, "group", NULL, gp_v_text(resume->group));
	gp_doc_fact(doc, "resumed", NULL, gp_v_count(resume->keepers));
	gp_doc_fact(doc, "others", NULL, gp_v_count(resume->others));
	if (!resume->keepers)
		gp_doc_line(doc, "%s: not held by 'gpreempt suspend'", resume->name);
	else if (resume->id_count)
		gp_doc_line(doc,
			    ngettext("%s: released %zu queue", "%s: released %zu queues",
				     resume->id_count),
			    resume->name, resume->id_count);
	else
		gp_doc_line(doc, "%s: released", resume->name);
	(void)gp_cli_answer(doc, resume->json ? GP_SHOW_JSON : GP_SHOW_TEXT, &resume->sink.diag);
	/* One by name comes back: 'gpreempt release' would end its suspension for an instant. */
	if (resume->others == 1 && resume->pid && gp_cli_daemon_holds_for(resume->pid, owner) > 0)
		gp_diag(&resume->sink.diag, GP_NOTE,
			_("%s: still held by %s; only %s can end that hold"), resume->name, owner,
			owner);
	else if (resume->others)
		gp_diag(&resume->sink.diag, GP_NOTE,
			ngettext("%s: still held by %zu other process; 'gpreempt release' ends "
				 "every suspension",
				 "%s: still held by %zu other processes; 'gpreempt release' ends "
				 "every suspension",
				 resume->others),
			resume->name, resume->others);
}

static int act(struct resume *resume)
{
	struct gp_cli_holds holds = {0};
	int error = gp_cli_holder_connect(&resume->holder, TIMEOUT_MS);

	gp_cli_target_name(resume->name, sizeof(resume->name), resume->pid, resume->group);
	if (!error)
		error = gp_cli_holder_holds(&resume->holder, &holds, TIMEOUT_MS);
	if (error == -ENOENT) {
		error = 0;
	} else if (error == -ETIME) {
		gp_fail(&resume->sink.diag, error,
			"the holder (pid %d) does not answer; use 'gpreempt release --all' to end "
			"it",
			(int)resume->holder.pid);
	} else if (error) {
		gp_fail(&resume->sink.diag, error,
			"cannot ask the holder: %s; 'gpreempt release --all' ends a holder that "
			"hangs",
			strerror(-error));
	}
	if (!error)
		error = tell_all(resume, &holds);
	if (!error)
		error = tell_swapped(resume);
	if (!error && resume->pid && !resume->keepers && !resume->others)
		error = gp_cli_target_absent(resume->pid, resume->words, &resume->sink.diag);
	if (!error && resume->id_count && resume->keepers && !resume->others)
		error = await_queues(resume);
	if (!error)
		show(resume);
	free(holds.items);
	gp_cli_holder_close(&resume->holder);
	return error ? GP_EXIT_FAILED : GP_EXIT_OK;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct resume *resume = calloc(1, sizeof(*resume));
	int first, status;

	if (!resume)
		return GP_EXIT_FAILED;
	resume->command = command;
	resume->words = argv;
	resume->holder.socket = -1;
	gp_command_diag_init(&resume->sink, command);
	status = gp_command_parse(command, argc, argv, set, resume, &first);
	if (status)
		status = status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	else if (resume->group ? first < argc : first == argc)
		status = gp_usage_error(command, "specify a process or --group");
	else if (!resume->group && !gp_argument_pid(argv[first], &resume->pid))
		status = gp_usage_error(
			command,
			"'%s' is not a pid; 'gpreempt ps' lists the processes that use a "
			"GPU",
			argv[first]);
	else if (!resume->group && gp_cli_queue_arguments(command, argc, argv, first + 1,
							  &resume->ids, &resume->id_count))
		status = GP_EXIT_USAGE;
	else
		status = act(resume);
	free(resume->ids);
	free(resume);
	return status;
}

static const struct gp_option options[] = {
	{OPTION_GROUP, "group", GP_REQUIRED_ARGUMENT, "NAME", GP_COMPLETE_NONE,
	 N_("all processes that 'gpreempt run --group NAME' started")},
	{OPTION_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print JSON (schema: docs/reference/json.md)")},
	{0},
};

const struct gp_command gp_cli_resume = {
	.name = "resume",
	.arguments = "PID [QUEUE...] | --group NAME",
	.completion = GP_COMPLETE_PID,
	.summary = N_("Resume a process that 'gpreempt suspend' holds"),
	.description = N_(
		"Asks each 'gpreempt suspend' to release its hold on the process, or only on the "
		"named\n"
		"queues, and waits until it has. Holds by other programs remain; 'gpreempt "
		"release'\n"
		"ends those as well. Succeeds if nothing is held."),
	.options = options,
	.examples = "  gpreempt resume 4711\n"
		    "  # one of the queues of 'gpreempt suspend 4711 0 3'\n"
		    "  gpreempt resume 4711 3\n",
	.run = run,
};
