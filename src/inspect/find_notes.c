// SPDX-License-Identifier: MIT
/* Messages of gpreempt find about missing, doubtful or contradictory sources. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core.h"
#include "inspect/find_parts.h"

/* Pids named in a message. */
#define GP_PIDS_NAMED 8

void gp_inspect_find_warn_about_match(const struct gp_inspect_find_process *process, size_t logged,
				      size_t matched, bool descriptors, struct gp_diag *diag)
{
	if (logged && !matched && descriptors && process->alive)
		gp_diag(diag, GP_WARNING,
			"process %u is running, but none of its queues matches the log: the log is "
			"probably from another run or machine (--no-live reads only the log)",
			process->pid);
}

/* Facts that could not be read of a process that has queues. */
void gp_inspect_find_note_missing(const struct gp_inspect_find_process *process,
				  const struct gp_inspect_find_machine *live, struct gp_diag *diag)
{
	int error = live->state.descriptors_error ? live->state.descriptors_error
						  : live->state.slots_error;

	if (!gp_inspect_find_listed(live, process->pid) || !error)
		return;
	gp_diag(diag, GP_NOTE,
		"cannot read debugfs (%s), so the rings, pointers and activity of the running "
		"process are unknown; mount debugfs and run as root",
		strerror(-error));
}

/* "16, 77, ..." of the pids the logs have. */
static void logged_pids(const struct gp_inspect_find_result *result, char *out, size_t size,
			bool *unnamed)
{
	const struct gp_trace_log_queue *items;
	size_t total, named = 0;
	u32 last = 0;

	items = gp_trace_log_queues_items(result->log, &total);
	*unnamed = false;
	out[0] = '\0';
	for (size_t i = 0; i < total; i++) {
		size_t len = strlen(out);

		*unnamed |= items[i].pid == 0;
		if (!items[i].pid || items[i].pid == last)
			continue;
		last = items[i].pid;
		if (named == GP_PIDS_NAMED)
			snprintf(out + len, size - len, ", ...");
		else if (named < GP_PIDS_NAMED)
			snprintf(out + len, size - len, "%s%u", named ? ", " : "", last);
		named++;
	}
}

int gp_inspect_find_report_absent(const struct gp_inspect_find_options *options,
				  const struct gp_inspect_find_result *out, struct gp_diag *diag)
{
	const struct gp_inspect_find_process *process = &out->processes[0];
	char pids[128];
	bool unnamed;

	if (process->count)
		return 0;
	logged_pids(out, pids, sizeof(pids), &unnamed);
	if (*pids)
		return gp_fail(diag, -ESRCH,
			       "process %u has no queue in the log; the log contains queues of "
			       "these processes: %s",
			       options->pid, pids);
	if (options->log_count && !process->alive)
		return gp_fail(diag, -ESRCH,
			       "process %u: the log contains no queues; record a log with "
			       "AMD_LOG_LEVEL=4 (5 with ROCm 7.1 or later)",
			       options->pid);
	if (!process->alive)
		return gp_fail(
			diag, -ESRCH,
			"process %u does not exist; for a pid inside a container, use --container",
			options->pid);
	return gp_fail(diag, -ESRCH,
		       "process %u has no GPU queues (it has not created any, or has destroyed "
		       "them)",
		       options->pid);
}

/*
 * A log that ends before the process began is of another run. Times are CLOCK_MONOTONIC in the log
 * and since boot in /proc, which differ by the time the machine slept: worth a warning, no more.
 */
static void note_age(const struct gp_inspect_find_process *process, struct gp_diag *diag)
{
	u64 last = 0, started;

	if (!process->described || !(process->process.valid & GP_PROCESS_START))
		return;
	for (size_t i = 0; i < process->count; i++) {
		if (process->queues[i].from[GP_FIND_USE] && process->queues[i].last_ns > last)
			last = process->queues[i].last_ns;
	}
	started = process->process.start_time * (GP_NS_PER_S / (u64)sysconf(_SC_CLK_TCK));
	if (last && last < started)
		gp_diag(diag, GP_WARNING,
			"the log ends before process %u started (%.1f s after boot): the log is "
			"probably from another run or machine",
			process->pid, (double)started / 1e9);
}

/* Which of its pids a process is known by in the log, when that is not its host pid. */
void gp_inspect_find_note_alias(const struct gp_inspect_find_identity *identity,
				const struct gp_trace_log_queue *logged, size_t count,
				const struct gp_inspect_find_process *process, struct gp_diag *diag)
{
	for (size_t i = 0; i < count; i++) {
		if (!logged[i].pid || logged[i].pid == process->pid || identity->count < 2)
			continue;
		gp_diag(diag, GP_NOTE,
			"pid %u in the log is assumed to be process %u, which has that pid inside "
			"its container",
			logged[i].pid, process->pid);
		return;
	}
}

/* What a reader of rows from a log and from the live system must know about them. */
void gp_inspect_find_note_log(const struct gp_inspect_find_options *options,
			      const struct gp_inspect_find_process *process, size_t logged,
			      const struct gp_inspect_find_result *out, struct gp_diag *diag)
{
	char pids[128];
	bool unnamed;

	if (!options->log_count)
		return;
	note_age(process, diag);
	logged_pids(out, pids, sizeof(pids), &unnamed);
	if (!logged && process->count && *pids)
		gp_diag(diag, GP_WARNING,
			"the log contains no queue of process %u, only of these processes: %s; "
			"showing the live system",
			process->pid, pids);
	else if (logged && !options->no_live && !process->alive)
		gp_diag(diag, GP_NOTE,
			"process %u is not running: showing the log; ACTIVE means that the log "
			"does not record that the queue was destroyed",
			process->pid);
}

/* A log without any pid is taken as this process's; in one with pids, such lines are not. */
void gp_inspect_find_claim_unnamed(const struct gp_inspect_find_options *options,
				   const struct gp_inspect_find_result *out,
				   struct gp_inspect_find_identity *identity, struct gp_diag *diag)
{
	char pids[128];
	bool unnamed;

	logged_pids(out, pids, sizeof(pids), &unnamed);
	identity->unnamed = unnamed && !*pids;
	if (identity->unnamed)
		gp_diag(diag, GP_WARNING,
			"this log has no pids (ROCm up to 4.5, or 6.3 and later at level 3): all "
			"its lines are attributed to process %u",
			options->pid);
	else if (unnamed)
		gp_diag(diag, GP_WARNING,
			"some log lines have no pid; their queues are omitted "
			"('gpreempt find --all' shows them)");
}
