// SPDX-License-Identifier: MIT
#include "trace/analyse/workload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/core.h"
#include "base/parse.h"
#include "trace/read/kfdlog.h"

#define FIRST_BIN_NS GP_NS_PER_MS

int gp_trace_workload_init(struct gp_trace_workload *workload)
{
	memset(workload, 0, sizeof(*workload));
	workload->bin_ns = FIRST_BIN_NS;
	workload->queues = gp_trace_log_queues_new();
	return workload->queues ? 0 : -ENOMEM;
}

void gp_trace_workload_free(struct gp_trace_workload *workload)
{
	gp_trace_log_queues_free(workload->queues);
	gp_strings_free(&workload->names);
	gp_map_free(&workload->pending);
	gp_map_free(&workload->last_seen);
	free(workload->kernels);
	memset(workload, 0, sizeof(*workload));
}

static u64 pid_of(const struct gp_event *event)
{
	return event->valid & GP_EV_PID ? event->pid : UINT64_MAX;
}

static u64 tid_of(const struct gp_event *event)
{
	return event->valid & GP_EV_TID ? event->tid : 0;
}

/* "name [clone .kd]" and "name.kd" are the same kernel. */
static size_t bare_length(const char *name, size_t len)
{
	static const char *const tails[] = {" [clone .kd]", ".kd"};

	while (len && name[len - 1] == ' ')
		len--;
	for (size_t i = 0; i < GP_ARRAY_SIZE(tails); i++) {
		size_t tail = strlen(tails[i]);

		if (len > tail && memcmp(name + len - tail, tails[i], tail) == 0)
			return len - tail;
	}
	return len;
}

static int kernel_name(struct gp_trace_workload *workload, const struct gp_event *event)
{
	size_t len = bare_length(event->name, event->name_len);
	struct gp_trace_kernel_use *kernel;
	u32 id;

	if (!len)
		return 0;
	if (gp_strings_add(&workload->names, event->name, len, &id))
		return -ENOMEM;
	if (id == workload->kernel_count) {
		if (gp_array_grow((void **)&workload->kernels, workload->kernel_count,
				  &workload->kernel_capacity, sizeof(*kernel)))
			return -ENOMEM;
		kernel = &workload->kernels[workload->kernel_count++];
		*kernel = (struct gp_trace_kernel_use){.name = id};
		kernel->kernel_class = gp_trace_kernel_class(event->name, len);
	}
	return gp_map_put(&workload->pending, pid_of(event), tid_of(event), id + 1);
}

/* "grid=[50176, 1, 1]": the product. */
static bool take_box(const char *text, size_t len, const char *key, u64 *product)
{
	const char *end = text + len, *p = memmem(text, len, key, strlen(key));
	u64 value;

	if (!p)
		return false;
	p += strlen(key);
	*product = 1;
	for (int i = 0; i < 3; i++) {
		if (i && !GP_PARSE_LITERAL(&p, end, ","))
			return false;
		gp_skip_blanks(&p, end);
		if (!gp_parse_u64(&p, end, &value) ||
		    __builtin_mul_overflow(*product, value, product))
			return false;
	}
	return p < end && *p == ']';
}

static void use_kernel(struct gp_trace_workload *workload, u32 id, const struct gp_event *event)
{
	struct gp_trace_kernel_use *kernel = &workload->kernels[id];
	u64 grid, workgroup, sum;

	kernel->count++;
	workload->named++;
	workload->classes[kernel->kernel_class]++;
	if (!event->text || !take_box(event->text, event->text_len, "grid=[", &grid) ||
	    !take_box(event->text, event->text_len, "workgroup=[", &workgroup) ||
	    __builtin_add_overflow(kernel->grid_sum, grid, &sum))
		return;
	if (!kernel->sized || grid < kernel->grid_low)
		kernel->grid_low = grid;
	if (!kernel->sized || grid > kernel->grid_high)
		kernel->grid_high = grid;
	kernel->grid_sum = sum;
	kernel->workgroup = workgroup;
	kernel->sized++;
}

static void keep_gap(struct gp_trace_workload *workload, struct gp_trace_gap gap)
{
	size_t at = workload->gap_count < GP_WORKLOAD_GAPS ? workload->gap_count++
							   : GP_WORKLOAD_GAPS - 1;

	if (workload->gap_count == GP_WORKLOAD_GAPS && at == GP_WORKLOAD_GAPS - 1 &&
	    workload->gaps[at].length_ns >= gap.length_ns)
		return;
	for (; at && workload->gaps[at - 1].length_ns < gap.length_ns; at--)
		workload->gaps[at] = workload->gaps[at - 1];
	workload->gaps[at] = gap;
}

static void add_bin(struct gp_trace_workload *workload, u64 since)
{
	while (since / workload->bin_ns >= GP_WORKLOAD_BINS) {
		for (size_t i = 0; i < GP_WORKLOAD_BINS / 2; i++)
			workload->bins[i] = workload->bins[2 * i] + workload->bins[2 * i + 1];
		memset(workload->bins + GP_WORKLOAD_BINS / 2, 0, sizeof(workload->bins) / 2);
		workload->bin_ns *= 2;
	}
	workload->bins[since / workload->bin_ns]++;
}

static void end_window(struct gp_trace_workload *workload)
{
	u32 queues = workload->window_queues;

	if (workload->in_window && queues)
		workload->windows[queues < GP_WORKLOAD_AT_ONCE ? queues : GP_WORKLOAD_AT_ONCE]++;
	workload->window_queues = 0;
}

/* Lines of ROCr use another clock than the rest of a log: their times count only in a log without
 * other times. */
static bool has_clock(struct gp_trace_workload *workload, const struct gp_event *event)
{
	if (workload->has_time && event->clock == workload->clock)
		return true;
	if (workload->has_time && event->clock != GP_CLOCK_MONOTONIC)
		return false;
	workload->has_time = true;
	workload->clock = event->clock;
	workload->first_ns = workload->last_ns = event->time_ns;
	workload->shift_ns = workload->jumps = 0;
	workload->timed = workload->idle_ns = workload->idle_gaps = 0;
	workload->gap_count = 0;
	memset(workload->windows, 0, sizeof(workload->windows));
	memset(workload->bins, 0, sizeof(workload->bins));
	workload->window_queues = 0;
	workload->in_window = false;
	return true;
}

/*
 * Threads write out of order: a time a little before the last one counts as the last one. Where the
 * clock went back, time goes on from there: nothing is measured across the jump.
 */
static u64 time_of(struct gp_trace_workload *workload, const struct gp_event *event)
{
	u64 now = event->time_ns + workload->shift_ns;

	if (now >= workload->last_ns)
		return now;
	if (workload->last_ns - now >= GP_WORKLOAD_JUMP_NS) {
		workload->jumps++;
		workload->shift_ns = workload->last_ns - event->time_ns;
	}
	return workload->last_ns;
}

static int note_time(struct gp_trace_workload *workload, const struct gp_event *event)
{
	u64 now, window;

	if (!has_clock(workload, event))
		return 0;
	workload->timed++;
	now = time_of(workload, event);
	if (now - workload->last_ns >= GP_WORKLOAD_IDLE_NS) {
		workload->idle_ns += now - workload->last_ns;
		workload->idle_gaps++;
		keep_gap(workload, (struct gp_trace_gap){workload->last_ns, now - workload->last_ns,
							 event->line});
	}
	workload->last_ns = now;
	add_bin(workload, now - workload->first_ns);
	window = (now - workload->first_ns) / GP_WORKLOAD_WINDOW_NS;
	if (!workload->in_window || window != workload->window) {
		end_window(workload);
		workload->window = window;
		workload->in_window = true;
	}
	if (!(event->valid & GP_EV_QUEUE))
		return 0;
	/* A window number that does not fit is taken modulo: it only has to differ from the last.
	 */
	window = window % (GP_MAP_NONE - 1) + 1;
	if (gp_map_get(&workload->last_seen, pid_of(event), event->queue) == window)
		return 0;
	workload->window_queues++;
	return gp_map_put(&workload->last_seen, pid_of(event), event->queue, (u32)window);
}

/* Any packet with both pointers says how many were in its queue; equal ones say 0. */
static bool note_waiting(struct gp_trace_workload *workload, const struct gp_event *event)
{
	const u32 needed = GP_EV_RPTR | GP_EV_WPTR;

	if ((event->valid & needed) != needed || event->wptr < event->rptr)
		return false;
	workload->ahead_seen++;
	workload->ahead_high = GP_MAX(workload->ahead_high, event->wptr - event->rptr);
	return true;
}

static int dispatch(struct gp_trace_workload *workload, const struct gp_event *event)
{
	u32 pending = gp_map_get(&workload->pending, pid_of(event), tid_of(event));

	workload->dispatches++;
	if (note_waiting(workload, event)) {
		workload->ahead_count++;
		if (__builtin_add_overflow(workload->ahead_sum, event->wptr - event->rptr,
					   &workload->ahead_sum))
			workload->ahead_sum = UINT64_MAX;
	}
	if (pending != GP_MAP_NONE && pending) {
		use_kernel(workload, pending - 1, event);
		if (gp_map_put(&workload->pending, pid_of(event), tid_of(event), 0))
			return -ENOMEM;
	}
	return event->valid & GP_EV_TIME ? note_time(workload, event) : 0;
}

static void copy(struct gp_trace_workload *workload, const struct gp_event *event)
{
	u64 size;

	workload->copies++;
	/* "HSA Asycn Copy" (sic) prints something else as its size. */
	if (memmem(event->name, event->name_len, "Asycn", 5) ||
	    !gp_trace_text_key(event->text, event->text_len, "size", &size) ||
	    __builtin_add_overflow(workload->copy_bytes, size, &workload->copy_bytes))
		workload->unsized_copies++;
}

int gp_trace_workload_event(void *ctx, const struct gp_event *event)
{
	struct gp_trace_workload *workload = ctx;
	int ret = gp_trace_log_queues_event(workload->queues, event);

	if (ret)
		return ret;
	switch (event->kind) {
	case GP_EVENT_KERNEL_NAME:
		return kernel_name(workload, event);
	case GP_EVENT_DISPATCH:
		return dispatch(workload, event);
	case GP_EVENT_BARRIER:
		workload->barriers++;
		note_waiting(workload, event);
		return 0;
	case GP_EVENT_COPY_START:
		copy(workload, event);
		return 0;
	case GP_EVENT_API_ENTER:
		workload->calls++;
		workload->waits += memmem(event->name, event->name_len, "Synchronize", 11) != NULL;
		return 0;
	default:
		return 0;
	}
}

static int by_count(const void *a, const void *b)
{
	const struct gp_trace_kernel_use *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

int gp_trace_workload_finish(struct gp_trace_workload *workload)
{
	end_window(workload);
	workload->in_window = false;
	if (workload->kernel_count)
		qsort(workload->kernels, workload->kernel_count, sizeof(*workload->kernels),
		      by_count);
	return gp_trace_log_queues_finish(workload->queues);
}

bool gp_trace_workload_has_packets(const struct gp_trace_workload *workload)
{
	return workload->dispatches || workload->barriers;
}

bool gp_trace_workload_has_copies(const struct gp_trace_workload *workload)
{
	return workload->copies || gp_trace_workload_has_packets(workload);
}

double gp_trace_workload_rate(const struct gp_trace_workload *workload)
{
	if (!workload->has_time || workload->last_ns == workload->first_ns)
		return 0;
	return (double)(workload->timed - 1) * 1e9 /
	       (double)(workload->last_ns - workload->first_ns);
}
