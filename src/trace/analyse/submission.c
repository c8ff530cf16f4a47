// SPDX-License-Identifier: MIT
#include "trace/analyse/submission.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/core.h"

void gp_trace_submission_free(struct gp_trace_submission *submission)
{
	gp_strings_free(&submission->names);
	gp_map_free(&submission->by_name);
	gp_map_free(&submission->by_queue);
	gp_map_free(&submission->seen);
	for (size_t i = 0; i < GP_SUBMISSION_LAYERS; i++)
		free(submission->spans[i].items);
	free(submission->uses);
	free(submission->devices);
	free(submission->queues);
	memset(submission, 0, sizeof(*submission));
}

void gp_trace_submission_next_input(struct gp_trace_submission *submission)
{
	submission->input++;
}

static enum gp_trace_layer layer_of(const struct gp_event *event)
{
	return event->kind == GP_EVENT_KERNEL ? GP_LAYER_KERNEL
	       : event->kind == GP_EVENT_COPY ? GP_LAYER_COPY
					      : event->layer;
}

/* "vectorAdd(int) [clone .kd]" is vectorAdd(int). */
static size_t bare_length(const char *name, size_t len)
{
	static const char tail[] = " [clone .kd]";

	if (len > sizeof(tail) - 1 &&
	    memcmp(name + len - (sizeof(tail) - 1), tail, sizeof(tail) - 1) == 0)
		return len - (sizeof(tail) - 1);
	return len;
}

static int find_use(struct gp_trace_submission *submission, const struct gp_event *event, u32 *out)
{
	enum gp_trace_layer layer = layer_of(event);
	size_t len = bare_length(event->name, event->name_len);
	u32 name;

	if (gp_strings_add(&submission->names, event->name ? event->name : "", len, &name))
		return -ENOMEM;
	*out = gp_map_get(&submission->by_name, layer, name);
	if (*out != GP_MAP_NONE)
		return 0;
	*out = (u32)submission->use_count;
	if (gp_array_grow((void **)&submission->uses, submission->use_count,
			  &submission->use_capacity, sizeof(*submission->uses)) ||
	    gp_map_put(&submission->by_name, layer, name, *out))
		return -ENOMEM;
	submission->uses[submission->use_count++] =
		(struct gp_trace_use){.name = name, .layer = layer};
	return 0;
}

/* True when another file had it already. */
static int is_duplicate(struct gp_trace_submission *submission, const struct gp_event *event,
			u32 use, bool *duplicate)
{
	u64 end = event->time_ns + event->duration_ns, key = gp_mix(end ^ (u64)use << 32);
	u32 input = gp_map_get(&submission->seen, event->time_ns, key);

	*duplicate = input != GP_MAP_NONE && input != submission->input;
	if (*duplicate) {
		submission->duplicates++;
		return 0;
	}
	return gp_map_put(&submission->seen, event->time_ns, key, submission->input);
}

static void note_kernel(struct gp_trace_use *use, const struct gp_event *event)
{
	if (event->valid & GP_EV_GRID) {
		if (!(use->valid & GP_USE_GRID) || event->grid < use->grid_low)
			use->grid_low = event->grid;
		if (!(use->valid & GP_USE_GRID) || event->grid > use->grid_high)
			use->grid_high = event->grid;
		use->workgroup = event->workgroup;
		use->valid |= GP_USE_GRID;
	}
	if (event->valid & GP_EV_REGISTERS) {
		use->vgpr = event->vgpr;
		use->sgpr = event->sgpr;
		use->valid |= GP_USE_REGISTERS;
	}
	if (event->valid & GP_EV_LDS) {
		use->lds = event->lds;
		use->scratch = event->scratch;
		use->valid |= GP_USE_LDS;
	}
	if (event->valid & GP_EV_WAVE) {
		use->wave = event->wave;
		use->valid |= GP_USE_WAVE;
	}
	if (event->valid & GP_EV_GPU) {
		use->gpu = event->gpu;
		use->valid |= GP_USE_GPU;
	}
	if (event->valid & GP_EV_QUEUE) {
		use->queue = event->queue;
		use->valid |= GP_USE_QUEUE;
	}
	if (event->valid & GP_EV_STAGES && event->valid & GP_EV_TIME &&
	    event->dispatch_ns <= event->time_ns &&
	    event->complete_ns >= event->time_ns + event->duration_ns) {
		use->queued_ns += event->time_ns - event->dispatch_ns;
		use->seen_ns += event->complete_ns - event->time_ns - event->duration_ns;
		use->stages++;
		use->valid |= GP_USE_STAGES;
	}
}

static int note_queue(struct gp_trace_submission *submission, const struct gp_event *event)
{
	struct gp_trace_queue_use *queue;
	u32 at;

	if (event->kind != GP_EVENT_KERNEL || !(event->valid & GP_EV_QUEUE))
		return 0;
	at = gp_map_get(&submission->by_queue, event->valid & GP_EV_GPU ? event->gpu : UINT64_MAX,
			event->queue);
	if (at == GP_MAP_NONE) {
		at = (u32)submission->queue_count;
		if (gp_array_grow((void **)&submission->queues, submission->queue_count,
				  &submission->queue_capacity, sizeof(*queue)) ||
		    gp_map_put(&submission->by_queue,
			       event->valid & GP_EV_GPU ? event->gpu : UINT64_MAX, event->queue,
			       at))
			return -ENOMEM;
		submission->queues[submission->queue_count++] = (struct gp_trace_queue_use){
			.gpu = event->valid & GP_EV_GPU ? event->gpu : UINT64_MAX,
			.queue = event->queue,
			.first_ns = UINT64_MAX,
		};
	}
	queue = &submission->queues[at];
	queue->kernels++;
	if (event->valid & GP_EV_TIME) {
		u64 end = event->time_ns + event->duration_ns;

		queue->busy_ns += event->duration_ns;
		queue->first_ns = GP_MIN(queue->first_ns, event->time_ns);
		queue->last_ns = GP_MAX(queue->last_ns, end);
	}
	return 0;
}

static int note_span(struct gp_trace_submission *submission, const struct gp_event *event, u32 use)
{
	enum gp_trace_layer layer = submission->uses[use].layer;
	struct gp_trace_spans *spans;
	u64 end = event->time_ns + event->duration_ns;

	if (!submission->has_wall || event->time_ns < submission->first_ns)
		submission->first_ns = event->time_ns;
	if (!submission->has_wall || end > submission->last_ns)
		submission->last_ns = end;
	submission->has_wall = true;
	if (layer >= GP_SUBMISSION_LAYERS)
		return 0;
	spans = &submission->spans[layer];
	if (spans->count >= GP_SUBMISSION_SPANS_MAX) {
		submission->spans_left_out++;
		return 0;
	}
	if (gp_array_grow((void **)&spans->items, spans->count, &spans->capacity,
			  sizeof(*spans->items)))
		return -ENOMEM;
	spans->items[spans->count++] = (struct gp_trace_span){event->time_ns, end, use};
	return 0;
}

static void note_pid(struct gp_trace_submission *submission, const struct gp_event *event)
{
	if (!(event->valid & GP_EV_PID))
		return;
	submission->several_pids |= submission->has_pid && submission->pid != event->pid;
	if (!submission->has_pid)
		submission->pid = event->pid;
	submission->has_pid = true;
}

static int note_run(struct gp_trace_submission *submission, const struct gp_event *event)
{
	struct gp_trace_use *use;
	bool duplicate = false;
	u32 at;

	if (event->valid & GP_EV_TIME && event->time_ns > UINT64_MAX - event->duration_ns)
		return 0;
	if (find_use(submission, event, &at))
		return -ENOMEM;
	if (event->valid & GP_EV_TIME && is_duplicate(submission, event, at, &duplicate))
		return -ENOMEM;
	use = &submission->uses[at];
	if (event->kind == GP_EVENT_KERNEL)
		note_kernel(use, event);
	if (duplicate)
		return 0;
	use->calls++;
	note_pid(submission, event);
	if (event->valid & GP_EV_BYTES &&
	    !__builtin_add_overflow(use->bytes, event->size, &use->bytes))
		use->valid |= GP_USE_BYTES;
	if (note_queue(submission, event))
		return -ENOMEM;
	if (!(event->valid & GP_EV_TIME))
		return 0;
	if (!(use->valid & GP_USE_TIMED) || event->duration_ns < use->low_ns)
		use->low_ns = event->duration_ns;
	if (event->duration_ns > use->high_ns)
		use->high_ns = event->duration_ns;
	use->total_ns += event->duration_ns;
	use->valid |= GP_USE_TIMED;
	return note_span(submission, event, at);
}

static int note_total(struct gp_trace_submission *submission, const struct gp_event *event)
{
	u32 at;

	if (find_use(submission, event, &at))
		return -ENOMEM;
	submission->uses[at].summary_calls += event->count;
	submission->uses[at].summary_ns += event->duration_ns;
	submission->uses[at].valid |= GP_USE_SUMMARY;
	return 0;
}

static int note_device(struct gp_trace_submission *submission, const struct gp_event *event)
{
	u32 name;

	if (submission->device_count == GP_SUBMISSION_DEVICES_MAX)
		return 0;
	for (size_t i = 0; i < submission->device_count; i++)
		if (submission->devices[i].node == event->gpu)
			return 0;
	if (gp_strings_add(&submission->names, event->name, event->name_len, &name) ||
	    gp_array_grow((void **)&submission->devices, submission->device_count,
			  &submission->device_capacity, sizeof(*submission->devices)))
		return -ENOMEM;
	submission->devices[submission->device_count++] =
		(struct gp_trace_device){.node = event->gpu, .cus = event->count, .name = name};
	return 0;
}

int gp_trace_submission_event(void *ctx, const struct gp_event *event)
{
	switch (event->kind) {
	case GP_EVENT_CALL:
	case GP_EVENT_KERNEL:
	case GP_EVENT_COPY:
		return note_run(ctx, event);
	case GP_EVENT_TOTAL:
		return note_total(ctx, event);
	case GP_EVENT_AGENT:
		return note_device(ctx, event);
	default:
		return 0;
	}
}

u64 gp_trace_use_calls(const struct gp_trace_use *use)
{
	return use->calls ? use->calls : use->summary_calls;
}

u64 gp_trace_use_total(const struct gp_trace_use *use)
{
	return use->valid & GP_USE_TIMED ? use->total_ns : use->summary_ns;
}

u64 gp_trace_submission_layer_total(const struct gp_trace_submission *submission,
				    enum gp_trace_layer layer)
{
	u64 total = 0;

	for (size_t i = 0; i < submission->use_count; i++)
		if (submission->uses[i].layer == layer)
			total += gp_trace_use_total(&submission->uses[i]);
	return total;
}
