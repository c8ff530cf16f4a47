// SPDX-License-Identifier: MIT
#include "trace/analyse/inquiry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core.h"
#include "base/i18n.h"
#include "base/magic.h"
#include "trace/read/amdlog.h"
#include "trace/read/ftrace.h"
#include "trace/read/kfdlog.h"
#include "trace/read/rocprof.h"
#include "trace/read/tracedat.h"

/* How far a time may go back before it is the clock that did. */
#define THREAD_NS  GP_NS_PER_MS
#define PROCESS_NS GP_NS_PER_S

int gp_trace_inquiry_init(struct gp_trace_inquiry *inquiry, enum gp_trace_clock trace_clock)
{
	memset(inquiry, 0, sizeof(*inquiry));
	inquiry->trace_clock = trace_clock;
	inquiry->queues = gp_trace_kfd_queues_new();
	return inquiry->queues ? 0 : -ENOMEM;
}

void gp_trace_inquiry_free(struct gp_trace_inquiry *inquiry)
{
	for (size_t i = 0; i < inquiry->count; i++) {
		struct gp_trace_inquiry_input *input = inquiry->inputs[i];

		if (input->workload)
			gp_trace_workload_free(input->workload);
		gp_map_free(&input->thread_time);
		free(input->times);
		free(input->workload);
		free(input->name);
		free(input);
	}
	free(inquiry->inputs);
	gp_trace_kfdpath_free(&inquiry->path);
	gp_trace_kfd_queues_free(inquiry->queues);
	gp_trace_submission_free(&inquiry->submission);
	free(inquiry->processes);
	memset(inquiry, 0, sizeof(*inquiry));
}

static struct gp_trace_inquiry_input *new_input(struct gp_trace_inquiry *inquiry, const char *name)
{
	struct gp_trace_inquiry_input *input = calloc(1, sizeof(*input));

	if (!input)
		return NULL;
	input->name = strdup(name);
	if (!input->name || gp_array_grow((void **)&inquiry->inputs, inquiry->count,
					  &inquiry->capacity, sizeof(*inquiry->inputs))) {
		free(input->name);
		free(input);
		return NULL;
	}
	inquiry->inputs[inquiry->count++] = input;
	return input;
}

static struct gp_trace_inquiry_input *current(struct gp_trace_inquiry *inquiry)
{
	return inquiry->inputs[inquiry->count - 1];
}

int gp_trace_inquiry_tell(struct gp_trace_inquiry *inquiry, const struct gp_event *event)
{
	struct gp_trace_inquiry_input *input = current(inquiry);

	input->events++;
	if (event->valid & GP_EV_TIME)
		input->clocks |= 1u << event->clock;
	return inquiry->tap ? inquiry->tap(inquiry->tap_ctx, event) : 0;
}

/* The line of the same thread before "Created ..." is written when the creation begins. */
static int note_creation(struct gp_trace_inquiry_input *input, const struct gp_event *event)
{
	u64 pid = event->valid & GP_EV_PID ? event->pid : UINT64_MAX;
	u64 tid = event->valid & GP_EV_TID ? event->tid : 0;
	u32 at;

	/* ROCr's own lines have another clock: a time between the two is none. */
	if (!(event->valid & GP_EV_TIME) || event->clock != GP_CLOCK_MONOTONIC)
		return 0;
	at = gp_map_get(&input->thread_time, pid, tid);
	if (event->kind == GP_EVENT_QUEUE_CREATED) {
		if (at != GP_MAP_NONE && event->time_ns >= input->times[at]) {
			input->creation_ns += event->time_ns - input->times[at];
			input->creations++;
		}
		if (input->anchor_count < GP_INQUIRY_ANCHORS)
			input->anchors[input->anchor_count++] = event->time_ns;
		if (event->valid & GP_EV_PID)
			input->pid = event->pid;
	}
	/* Lines of a thread are in order; without thread ids, all lines nearly are. */
	if (at != GP_MAP_NONE && event->time_ns < input->times[at] &&
	    input->times[at] - event->time_ns > (event->valid & GP_EV_TID ? THREAD_NS : PROCESS_NS))
		input->jumps++;
	if (at == GP_MAP_NONE) {
		at = (u32)input->time_count;
		if (gp_array_grow((void **)&input->times, input->time_count, &input->time_capacity,
				  sizeof(*input->times)) ||
		    gp_map_put(&input->thread_time, pid, tid, at))
			return -ENOMEM;
		input->time_count++;
	}
	input->times[at] = event->time_ns;
	return 0;
}

static int log_event(void *ctx, const struct gp_event *event)
{
	struct gp_trace_inquiry *inquiry = ctx;
	struct gp_trace_inquiry_input *input = current(inquiry);
	int ret = gp_trace_workload_event(input->workload, event);

	if (!ret)
		ret = note_creation(input, event);
	if (ret)
		return ret;
	switch (event->kind) {
	case GP_EVENT_QUEUE_CREATED:
		if (!input->created_line)
			input->created_line = event->line;
		if (!input->priority_line && event->valid & GP_EV_PRIORITY && event->priority != 1)
			input->priority_line = event->line;
		break;
	case GP_EVENT_DISPATCH:
		if (!input->packet_line)
			input->packet_line = event->line;
		break;
	case GP_EVENT_COPY_START:
		if (!input->copy_line)
			input->copy_line = event->line;
		break;
	case GP_EVENT_VERSION:
		if (!input->version_line)
			input->version_line = event->line;
		break;
	default:
		break;
	}
	return gp_trace_inquiry_tell(inquiry, event);
}

static int read_log(struct gp_trace_inquiry *inquiry, int fd, struct gp_diag *diag)
{
	struct gp_trace_inquiry_input *input = current(inquiry);
	struct gp_trace_amdlog_options options = {.name = input->name};
	struct gp_trace_amdlog_stats stats;
	int ret;

	input->clock = GP_CLOCK_MONOTONIC;
	input->workload = calloc(1, sizeof(*input->workload));
	if (!input->workload || gp_trace_workload_init(input->workload))
		return -ENOMEM;
	ret = gp_trace_amdlog_read(fd, &options, diag, log_event, inquiry, &stats);
	input->damaged = stats.torn + stats.overlong;
	return ret ? ret : gp_trace_workload_finish(input->workload);
}

static int kernel_event(void *ctx, const struct gp_event *event)
{
	struct gp_trace_inquiry *inquiry = ctx;
	int ret = gp_trace_kfdpath_event(&inquiry->path, event);

	if (!ret)
		ret = gp_trace_kfd_queues_event(inquiry->queues, event);
	return ret ? ret : gp_trace_inquiry_tell(inquiry, event);
}

static int read_trace(struct gp_trace_inquiry *inquiry, int fd, struct gp_diag *diag)
{
	struct gp_trace_inquiry_input *input = current(inquiry);
	struct gp_trace_ftrace_options options = {.name = input->name,
						  .clock = inquiry->trace_clock};
	struct gp_trace_ftrace_stats stats;
	int ret;

	input->clock = inquiry->trace_clock;
	ret = gp_trace_ftrace_read(fd, &options, diag, kernel_event, inquiry, &stats);
	input->lost = stats.lost;
	input->gaps = stats.gaps;
	input->jumps = stats.jumps;
	input->damaged = stats.unknown;
	return ret;
}

static int read_binary(struct gp_trace_inquiry *inquiry, int fd, struct gp_diag *diag)
{
	struct gp_trace_inquiry_input *input = current(inquiry);
	struct gp_trace_tracedat_stats stats;
	int ret = gp_trace_tracedat_read(fd, input->name, diag, kernel_event, inquiry, &stats);

	input->clock = stats.clock;
	input->lost = stats.lost;
	input->gaps = stats.gaps;
	input->jumps = stats.jumps;
	input->damaged = stats.damaged + stats.unknown;
	return ret;
}

static int read_prints(struct gp_trace_inquiry *inquiry, int fd, struct gp_diag *diag)
{
	struct gp_trace_kfdlog_stats stats;

	int ret;

	current(inquiry)->clock = GP_CLOCK_DMESG;
	ret = gp_trace_kfdlog_read(fd, current(inquiry)->name, diag, kernel_event, inquiry, &stats);
	if (!ret && stats.general == stats.recognised)
		gp_diag(diag, GP_NOTE,
			"%s has messages of KFD (%llu), but none about a queue; to see those, "
			"write "
			"'module amdgpu +p' to /sys/kernel/debug/dynamic_debug/control and record "
			"again",
			current(inquiry)->name, (unsigned long long)stats.recognised);
	return ret;
}

static int profile_event(void *ctx, const struct gp_event *event)
{
	struct gp_trace_inquiry *inquiry = ctx;
	int ret = gp_trace_submission_event(&inquiry->submission, event);

	return ret ? ret : gp_trace_inquiry_tell(inquiry, event);
}

static int read_profile(struct gp_trace_inquiry *inquiry, int fd, struct gp_diag *diag)
{
	struct gp_trace_rocprof_stats stats;
	int ret;

	current(inquiry)->clock = GP_CLOCK_BOOTTIME;
	gp_trace_submission_next_input(&inquiry->submission);
	ret = gp_trace_rocprof_read(fd, current(inquiry)->name, diag, profile_event, inquiry,
				    &stats);
	current(inquiry)->damaged = stats.damaged + stats.backwards;
	if (!ret && stats.kind == GP_ROCPROF_NONE)
		return gp_fail(diag, -EINVAL,
			       "%s is a SQLite database, but not from rocprofv3; record with "
			       "'rocprofv3 --output-format rocpd' or csv",
			       current(inquiry)->name);
	if (!ret && stats.cut)
		gp_diag(diag, GP_WARNING,
			"%s: the file is truncated; only complete entries are counted",
			current(inquiry)->name);
	return ret;
}

/* Reports why a file cannot be identified. */
static int refuse(int fd, const char *name, struct gp_diag *diag)
{
	char start[16];
	ssize_t got = pread(fd, start, sizeof(start), 0);
	const char *command, *format;

	if (got < 0)
		return gp_fail(diag, -errno, "cannot read %s: %s", name, strerror(errno));
	if (got == 0)
		return gp_fail(diag, -EINVAL, "%s is empty", name);
	format = gp_compression(start, (size_t)got, &command);
	if (format)
		return gp_fail(diag, -EINVAL,
			       "%s is compressed (%s); decompress it first: %s FILE > NEWFILE",
			       name, format, command);
	return gp_fail(diag, -EINVAL,
		       "%s: unknown format (expected an AMD log, libhsakmt output, ftrace text, "
		       "trace.dat, KFD kernel messages, a rocprof file, a process list from "
		       "rocm-smi or amd-smi, or the output of 'gpreempt log --json')",
		       name);
}

int gp_trace_inquiry_add(struct gp_trace_inquiry *inquiry, int fd, const char *name,
			 struct gp_diag *diag)
{
	struct gp_trace_inquiry_input *input = new_input(inquiry, name);
	int error;

	if (!input)
		return gp_fail(diag, -ENOMEM, "%s: out of memory", name);
	/* Functions of the kernel are kept per file. */
	inquiry->path.input = (u32)(inquiry->count - 1);
	error = gp_trace_source_identify(fd, name, &input->kind);
	if (error)
		return gp_fail(diag, error, "cannot read %s: %s", name, strerror(-error));
	switch (input->kind) {
	case GP_SOURCE_AMDLOG:
		return read_log(inquiry, fd, diag);
	case GP_SOURCE_FTRACE:
		return read_trace(inquiry, fd, diag);
	case GP_SOURCE_TRACEDAT:
		return read_binary(inquiry, fd, diag);
	case GP_SOURCE_KFDLOG:
		return read_prints(inquiry, fd, diag);
	case GP_SOURCE_ROCPROF:
		return read_profile(inquiry, fd, diag);
	case GP_SOURCE_HSAKMT:
		return gp_trace_inquiry_read_hsakmt(inquiry, fd, diag);
	case GP_SOURCE_SMI:
		return gp_trace_inquiry_read_smi(inquiry, fd, diag);
	case GP_SOURCE_DECISIONS:
		return gp_trace_inquiry_read_decisions(inquiry, fd, diag);
	case GP_SOURCE_CLOCKS:
		return gp_trace_inquiry_read_clocks(inquiry, fd, diag);
	case GP_SOURCE_UNKNOWN:
	case GP_SOURCE_KINDS:
		break;
	}
	return refuse(fd, name, diag);
}

/*
 * The nth queue that a log saw created is the nth that KFD created for that process, if both saw as
 * many; the log writes its line when the driver is done.
 */
static void find_anchors(const struct gp_trace_inquiry *inquiry,
			 const struct gp_trace_inquiry_input *log, struct gp_trace_anchor *anchors,
			 size_t *count)
{
	const struct gp_trace_kfdpath *path = &inquiry->path;
	size_t found = 0;

	for (size_t i = 0; i < path->creation_kept; i++)
		found += path->creations[i].pid == log->pid;
	if (!log->pid || path->creation_count > path->creation_kept || found != log->anchor_count ||
	    log->anchor_count == GP_INQUIRY_ANCHORS)
		return;
	for (size_t i = 0, nth = 0; i < path->creation_kept; i++) {
		const struct gp_trace_creation *creation = &path->creations[i];

		if (creation->pid != log->pid)
			continue;
		anchors[*count + nth] =
			(struct gp_trace_anchor){log->anchors[nth],
						 creation->start_ns + creation->length_ns};
		nth++;
	}
	*count += found;
}

int gp_trace_inquiry_finish(struct gp_trace_inquiry *inquiry)
{
	struct gp_trace_anchor *anchors = NULL;
	size_t room = 0, count = 0;
	int error;

	gp_trace_kfdpath_finish(&inquiry->path);
	error = gp_trace_kfd_queues_finish(inquiry->queues);
	if (!error)
		error = gp_trace_submission_finish(&inquiry->submission);
	for (size_t i = 0; i < inquiry->count; i++)
		room += inquiry->inputs[i]->anchor_count;
	if (error || !room)
		return error;
	anchors = calloc(room, sizeof(*anchors));
	if (!anchors)
		return -ENOMEM;
	for (size_t i = 0; i < inquiry->count; i++)
		if (inquiry->inputs[i]->anchor_count)
			find_anchors(inquiry, inquiry->inputs[i], anchors, &count);
	gp_trace_align(anchors, count, &inquiry->alignment);
	free(anchors);
	return 0;
}
