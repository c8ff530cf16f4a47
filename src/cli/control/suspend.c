// SPDX-License-Identifier: MIT
/* gpreempt suspend: holds a process off the GPU, as its keeper, until told to let go. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/clock.h"
#include "cli/control/suspend.h"

enum {
	OPTION_JSON = 'j',
	OPTION_VERBOSE = 'v',
	OPTION_GROUP = 'g',
	OPTION_FOR = 256,
	OPTION_MECHANISM,
	OPTION_LEASE,
	OPTION_WAIT,
	OPTION_COPY_ENGINES,
	OPTION_SWAP,
	OPTION_SWAP_AFTER,
	OPTION_SWAP_NOW,
	OPTION_SWAP_MEMORY,
	RENEWALS = 3, /* per lease */
};

#define LIMIT_MAX  (GPREEMPT_LIMIT_MAX_MS * GP_NS_PER_MS)
#define SWAP_AFTER (5 * GP_NS_PER_S)
#define LEASE      GP_NS_PER_S        /* a shell is not scheduled as promptly as a daemon */
#define SLACK      (10 * GP_NS_PER_S) /* added to --for as the holder's limit */

static int set(void *ctx, int id, const char *value)
{
	struct gp_cli_keeper *keeper = ctx;
	const struct gp_command *command = keeper->command;

	switch (id) {
	case OPTION_JSON:
		keeper->json = true;
		return 0;
	case OPTION_VERBOSE:
		keeper->verbose = true;
		return 0;
	case OPTION_GROUP:
		keeper->group = value;
		return 0;
	case OPTION_WAIT:
		keeper->wait = true;
		return 0;
	case OPTION_COPY_ENGINES:
		keeper->copies = true;
		return 0;
	case OPTION_SWAP:
		keeper->swap = true;
		return 0;
	case OPTION_SWAP_NOW:
		keeper->swap = keeper->swap_now = true;
		return 0;
	case OPTION_SWAP_MEMORY:
		return gp_option_size(command, "swap-memory", value, 1, 1ull << 50,
				      &keeper->swap_memory);
	case OPTION_SWAP_AFTER:
		keeper->swap = true;
		return gp_option_duration(command, "swap-after", value, 0, LIMIT_MAX,
					  &keeper->swap_after_ns);
	case OPTION_FOR:
		return gp_option_duration(command, "for", value, GP_NS_PER_MS, LIMIT_MAX,
					  &keeper->for_ns);
	case OPTION_LEASE:
		return gp_option_duration(command, "lease", value,
					  GPREEMPT_LEASE_MIN_MS * GP_NS_PER_MS, LIMIT_MAX,
					  &keeper->lease_ns);
	default:
		if (gp_cli_mechanism_argument(value, &keeper->mechanism))
			return 0;
		return gp_usage_error(command,
				      "unknown mechanism '%s' (use kfd-agent, kfd-debug, "
				      "kfd-module or nv-suspend)",
				      value);
	}
}

int gp_cli_keeper_take(struct gp_cli_keeper *keeper)
{
	struct gpreempt_suspend_options options = {
		.size = sizeof(options),
		.lease_ms = (u32)(keeper->lease_ns / GP_NS_PER_MS),
		.limit_ms = GPREEMPT_LIMIT_MAX_MS,
		.flags = keeper->copies ? GPREEMPT_SUSPEND_COPIES : 0,
	};
	struct gp_doc *doc;
	int count;

	if (keeper->for_ns && keeper->for_ns + SLACK < LIMIT_MAX)
		options.limit_ms = (u32)((keeper->for_ns + SLACK) / GP_NS_PER_MS);
	if (keeper->ids)
		count = gpreempt_target_suspend_queues(keeper->target, keeper->ids,
						       keeper->id_count, &options);
	else
		count = gpreempt_target_suspend(keeper->target, &options);
	if (count < 0)
		return count;
	keeper->started_ns = gp_monotonic_ns();
	if (keeper->copies)
		gp_cli_keeper_note_copies(keeper);
	doc = gp_cli_keeper_event(keeper, "suspended", "queues", count);
	if (!keeper->empty)
		gp_doc_line(doc,
			    keeper->for_ns
				    ? ngettext("%s: %d queue suspended", "%s: %d queues suspended",
					       (unsigned long)count)
				    : ngettext("%s: %d queue suspended; press Ctrl-C to resume",
					       "%s: %d queues suspended; press Ctrl-C to resume",
					       (unsigned long)count),
			    keeper->name, count);
	gp_cli_keeper_print(keeper, doc);
	if (keeper->verbose)
		gp_cli_keeper_details(keeper);
	return 0;
}

/* A group is open whether or not anybody is in it; a name that was mistyped is empty for ever. */
static int check_group(struct gp_cli_keeper *keeper)
{
	struct gpreempt_target_info info = {.size = sizeof(info)};
	int error = gpreempt_target_info(keeper->target, &info);

	keeper->empty = !error && !info.process_count;
	if (error || !keeper->empty)
		return error;
	keeper->said = !keeper->wait;
	if (!keeper->wait)
		return gp_fail(&keeper->sink.diag, -ESRCH,
			       "group '%s': %s; use --wait to suspend its processes as they start",
			       keeper->group, info.why);
	gp_diag(&keeper->sink.diag, GP_NOTE,
		"group '%s': %s; waiting to suspend its processes as they start", keeper->group,
		info.why);
	return 0;
}

int gp_cli_keeper_open(struct gp_cli_keeper *keeper)
{
	struct gpreempt_target_options options = {.size = sizeof(options),
						  .mechanism = keeper->mechanism};
	int error;

	if (!keeper->group)
		return gpreempt_target_open(keeper->context, (int)keeper->pid, &options,
					    &keeper->target);
	error = gpreempt_group_open(keeper->context, keeper->group, &options, &keeper->target);
	return error ? error : check_group(keeper);
}

static int let_go(struct gp_cli_keeper *keeper)
{
	int count = keeper->swapped ? 0 : gpreempt_target_resume(keeper->target);
	struct gp_doc *doc;

	if (keeper->swapped)
		return gp_cli_keeper_come_back(keeper);

	if (count < 0)
		return gp_cli_keeper_failed(keeper);
	if (gp_cli_keeper_say_others(keeper))
		return GP_EXIT_OK;
	doc = gp_cli_keeper_event(keeper, "resumed", "queues", count);
	gp_doc_line(doc,
		    ngettext("%s: %d queue resumed after %.1f s",
			     "%s: %d queues resumed after %.1f s", (unsigned long)count),
		    keeper->name, count, gp_cli_keeper_held_s(keeper));
	gp_cli_keeper_print(keeper, doc);
	return GP_EXIT_OK;
}

/* A negative result: go on. */
static int handle_event(struct gp_cli_keeper *keeper, const struct gpreempt_event *event)
{
	switch (event->kind) {
	case GPREEMPT_EVENT_LEASE_LOST:
		gp_cli_keeper_say(keeper, "lease_lost", NULL, 0);
		gp_diag(&keeper->sink.diag, GP_ERROR,
			"lease lost: this command no longer holds %s (the suspension was released, "
			"was not renewed in time or reached its limit, or the holder exited)",
			keeper->name);
		return GP_EXIT_FAILED;
	case GPREEMPT_EVENT_GONE:
		gp_cli_keeper_say(keeper, "gone", "process", event->pid);
		if (keeper->group && !keeper->verbose)
			return -1;
		gp_diag(&keeper->sink.diag, GP_NOTE, "process %d ended", event->pid);
		return keeper->group ? -1 : GP_EXIT_OK;
	case GPREEMPT_EVENT_JOINED:
		gp_cli_keeper_say(keeper, "joined", "process", event->pid);
		if (keeper->verbose)
			gp_diag(&keeper->sink.diag, GP_NOTE,
				"process %d joined the group and is suspended as well", event->pid);
		return -1;
	case GPREEMPT_EVENT_BREAKER:
		gp_cli_keeper_say(keeper, "breaker", "open", event->result);
		gp_diag(&keeper->sink.diag, GP_WARNING,
			event->result ? _("the driver failed twice in a row to suspend queues on "
					  "the GPU of %s; the holder leaves that GPU alone for 1 "
					  "to 64 s, then it is tried again (dmesg may say why)")
				      : _("preemption is enabled again on the GPU of %s"),
			keeper->name);
		return -1;
	default:
		return -1;
	}
}

/* Ctrl-C, or `gpreempt resume`. A negative result: go on. */
static int handle_signal(struct gp_cli_keeper *keeper)
{
	struct signalfd_siginfo info;
	struct gp_doc *doc;

	while (read(keeper->signals, &info, sizeof(info)) == sizeof(info)) {
		u32 id = (u32)info.ssi_int;

		/* Sent by hand it has no value: as any other that ends programs. */
		if ((int)info.ssi_signo != GP_KEEPER_SIGNAL || info.ssi_code != SI_QUEUE ||
		    info.ssi_int == GP_KEEPER_ALL)
			return let_go(keeper);
		if (keeper->swapped) {
			gp_diag(&keeper->sink.diag, GP_WARNING,
				"%s is swapped out; its queues resume together", keeper->name);
			continue;
		}
		if (gpreempt_target_resume_queues(keeper->target, &id, 1) < 0) {
			gp_diag(&keeper->sink.diag, GP_WARNING, "%s",
				gpreempt_error(keeper->context));
			continue;
		}
		doc = gp_cli_keeper_event(keeper, "queue_resumed", "queue", (int)id);
		gp_doc_line(doc, "%s: queue %u resumed", keeper->name, id);
		gp_cli_keeper_print(keeper, doc);
	}
	return -1;
}

static int renew(struct gp_cli_keeper *keeper)
{
	int error = keeper->swapped ? 0 : gpreempt_target_renew(keeper->target);
	struct gpreempt_event lost = {.kind = GPREEMPT_EVENT_LEASE_LOST};

	if (keeper->swapped)
		return gp_cli_keeper_check_swapped(keeper);
	if (error == -ENOLCK)
		return handle_event(keeper, &lost);
	return error ? gp_cli_keeper_failed(keeper) : -1;
}

static int keep(struct gp_cli_keeper *keeper)
{
	u64 end = keeper->for_ns ? keeper->started_ns + keeper->for_ns : UINT64_MAX;
	u64 step = keeper->lease_ns / RENEWALS, next = keeper->started_ns + step;
	int status = -1;

	while (status < 0) {
		struct pollfd fds[] = {{.fd = keeper->signals, .events = POLLIN},
				       {.fd = gpreempt_fd(keeper->context), .events = POLLIN}};
		u64 swap = keeper->swap ? keeper->started_ns + keeper->swap_after_ns : UINT64_MAX;
		u64 now = gp_monotonic_ns(), until = GP_MIN(GP_MIN(next, end), swap);
		u64 left = until > now ? until - now : 0;
		struct timespec timeout = gp_timespec(left);
		struct gpreempt_event event;

		if (ppoll(fds, GP_ARRAY_SIZE(fds), &timeout, NULL) < 0 && errno != EINTR)
			return GP_EXIT_FAILED;
		while (status < 0 && gpreempt_next_event(keeper->context, &event))
			status = handle_event(keeper, &event);
		if (status < 0)
			status = handle_signal(keeper);
		now = gp_monotonic_ns();
		if (status < 0 && now >= end)
			status = let_go(keeper);
		if (status < 0 && now >= swap) {
			status = gp_cli_keeper_swap_out(keeper);
			next = gp_monotonic_ns() + step;
			continue;
		}
		if (status < 0 && now >= next) {
			status = renew(keeper);
			next = now + step;
		}
	}
	return status;
}

static int hold(struct gp_cli_keeper *keeper)
{
	int status = GP_EXIT_FAILED, error;
	sigset_t set_of_signals;

	/* From before the suspension on: a Ctrl-C must not leave by the back door. */
	sigemptyset(&set_of_signals);
	sigaddset(&set_of_signals, SIGINT);
	sigaddset(&set_of_signals, SIGTERM);
	sigaddset(&set_of_signals, SIGHUP);
	sigaddset(&set_of_signals, GP_KEEPER_SIGNAL);
	sigprocmask(SIG_BLOCK, &set_of_signals, NULL);
	keeper->signals = signalfd(-1, &set_of_signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (keeper->signals < 0) {
		gp_fail(&keeper->sink.diag, -errno,
			"cannot receive signals: %s; check the limit of open files (ulimit -n)",
			strerror(errno));
		return status;
	}
	error = gpreempt_open(&keeper->context);
	if (error >= 0)
		error = gp_cli_keeper_open(keeper);
	if (error >= 0 && keeper->swap)
		error = gp_cli_keeper_check_swap(keeper);
	if (error >= 0)
		error = keeper->swap_now ? gp_cli_keeper_swap_now(keeper)
					 : gp_cli_keeper_take(keeper);
	if (error >= 0)
		status = keep(keeper);
	else if (!keeper->said)
		gp_cli_target_failed(keeper->pid, keeper->target, keeper->mechanism, error,
				     gpreempt_error(keeper->context), keeper->words,
				     &keeper->sink.diag);
	gpreempt_close(keeper->context);
	close(keeper->signals);
	return status;
}

static int run(const struct gp_command *command, int argc, char **argv)
{
	struct gp_cli_keeper keeper = {.command = command,
				       .words = argv,
				       .lease_ns = LEASE,
				       .swap_after_ns = SWAP_AFTER,
				       .signals = -1};
	int first, status = gp_command_parse(command, argc, argv, set, &keeper, &first);

	if (status)
		return status < 0 ? GP_EXIT_USAGE : GP_EXIT_OK;
	gp_command_diag_init(&keeper.sink, command);
	if (keeper.wait && !keeper.group)
		return gp_usage_error(command, "--wait needs --group");
	if (keeper.swap && keeper.group)
		return gp_usage_error(command, "--swap needs a process, not --group");
	if (keeper.group && first < argc)
		return gp_usage_error(command, "unexpected argument '%s'", argv[first]);
	if (!keeper.group) {
		if (first == argc)
			return gp_usage_error(command, "specify a process or --group");
		if (!gp_argument_pid(argv[first], &keeper.pid))
			return gp_usage_error(
				command,
				"'%s' is not a pid; 'gpreempt ps' lists the processes that use a "
				"GPU",
				argv[first]);
		if (gp_cli_queue_arguments(command, argc, argv, first + 1, &keeper.ids,
					   &keeper.id_count))
			return GP_EXIT_USAGE;
		if (keeper.ids && keeper.swap) {
			free(keeper.ids);
			return gp_usage_error(command, "--swap cannot be combined with queue ids");
		}
		if (keeper.ids && keeper.copies) {
			free(keeper.ids);
			return gp_usage_error(command,
					      "--copy-engines cannot be combined with queue ids");
		}
	}
	gp_cli_target_name(keeper.name, sizeof(keeper.name), keeper.pid, keeper.group);
	status = hold(&keeper);
	free(keeper.ids);
	return status;
}

static const struct gp_option options[] = {
	{OPTION_FOR, "for", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("resume after TIME (30s, 500ms, 2m; at most 1h)")},
	{OPTION_GROUP, "group", GP_REQUIRED_ARGUMENT, "NAME", GP_COMPLETE_NONE,
	 N_("all processes that 'gpreempt run --group NAME' started")},
	{OPTION_WAIT, "wait", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("accept an empty group; suspend processes as they join")},
	{OPTION_MECHANISM, "mechanism", GP_REQUIRED_ARGUMENT, "NAME", GP_COMPLETE_NONE,
	 N_("use kfd-agent, kfd-debug, kfd-module or nv-suspend\n"
	    "(default: the first that works)")},
	{OPTION_LEASE, "lease", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("how long the suspension lasts if this command hangs\n"
	    "(default 1s, at least 50ms)")},
	{OPTION_COPY_ENGINES, "copy-engines", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("NVIDIA: also suspend copies between host and GPU, not only\n"
	    "kernels")},
	{OPTION_SWAP, "swap", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("NVIDIA: if the hold lasts, move the GPU memory of the process\n"
	    "to host memory until it resumes")},
	{OPTION_SWAP_AFTER, "swap-after", GP_REQUIRED_ARGUMENT, "TIME", GP_COMPLETE_NONE,
	 N_("when to move it (default 5s; implies --swap)")},
	{OPTION_SWAP_NOW, "swap-now", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("move it without suspending first; exit if it cannot be moved")},
	{OPTION_SWAP_MEMORY, "swap-memory", GP_REQUIRED_ARGUMENT, "SIZE", GP_COMPLETE_NONE,
	 N_("host memory for all processes that are swapped out (64GiB;\n"
	    "default: half of it)")},
	{OPTION_JSON, "json", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("print JSON, one object per event")},
	{OPTION_VERBOSE, "verbose", GP_NO_ARGUMENT, NULL, GP_COMPLETE_NONE,
	 N_("report the chosen mechanism, the reason and the time taken")},
	{0},
};

const struct gp_command gp_cli_suspend = {
	.name = "suspend",
	.arguments = "PID [QUEUE...]",
	.completion = GP_COMPLETE_PID,
	.summary = N_("Suspend a process's GPU work, even in the middle of a kernel"),
	.description = N_(
		"Suspends all queues of the process (or the named ones, by KFD id) and holds them\n"
		"until Ctrl-C, 'gpreempt resume' or the end of the given time; then they continue\n"
		"exactly where they stopped. The process keeps its memory on the GPU, unless "
		"--swap\n"
		"moves it to host memory.\n"
		"\n"
		"The suspension is a lease that this command renews: if the command dies or "
		"hangs,\n"
		"the process resumes. A process held by several commands resumes when the last of\n"
		"them releases it; 'gpreempt release' ends every suspension."),
	.options = options,
	.exit_status = N_("Exit status: 0 resumed as requested or the process ended, 1 not "
			  "suspended or lease\n"
			  "lost, 2 bad usage."),
	.examples = "  gpreempt suspend 4711 --for 30s\n"
		    "  # two of its queues, until Ctrl-C\n"
		    "  gpreempt suspend 4711 0 3\n"
		    "  # every rank of a job, with the reason for the mechanism\n"
		    "  gpreempt suspend --group training --verbose\n"
		    "  # free its GPU memory for an hour\n"
		    "  gpreempt suspend 4711 --swap --for 1h\n"
		    "  # before the job starts\n"
		    "  gpreempt suspend --group training --wait\n",
	.run = run,
};
