// SPDX-License-Identifier: MIT
/* Dividing the time of a run between its layers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core.h"
#include "trace/analyse/submission.h"

/* Stretches of time that do not touch, in order; `before` is how much of them lies before each. */
struct cover {
	struct stretch {
		u64 begin, end, before;
	} * items;
	size_t count;
	u64 length;
};

static int by_begin(const void *a, const void *b)
{
	const struct gp_trace_span *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* What both cover together; either may be NULL. Spans are in order. */
static int join(const struct cover *a, const struct gp_trace_spans *b, struct cover *out)
{
	size_t i = 0, k = 0, from = a ? a->count : 0, more = b ? b->count : 0;

	memset(out, 0, sizeof(*out));
	out->items = malloc((from + more ? from + more : 1) * sizeof(*out->items));
	if (!out->items)
		return -ENOMEM;
	while (i < from || k < more) {
		bool first = k == more || (i < from && a->items[i].begin <= b->items[k].begin);
		u64 begin = first ? a->items[i].begin : b->items[k].begin;
		u64 end = first ? a->items[i].end : b->items[k].end;
		struct stretch *last = out->count ? &out->items[out->count - 1] : NULL;

		i += first;
		k += !first;
		if (last && begin <= last->end) {
			out->length += end > last->end ? end - last->end : 0;
			last->end = GP_MAX(last->end, end);
			continue;
		}
		out->items[out->count++] = (struct stretch){begin, end, out->length};
		out->length += end - begin;
	}
	return 0;
}

/* How much of the cover lies before `time`. */
static u64 covered_before(const struct cover *cover, u64 time)
{
	size_t low = 0, high = cover->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cover->items[middle].begin < time)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return 0;
	return cover->items[low - 1].before + GP_MIN(cover->items[low - 1].end, time) -
	       cover->items[low - 1].begin;
}

static void look_inside(struct gp_trace_submission *submission, const struct cover *hsa,
			const struct cover *gpu)
{
	const struct gp_trace_spans *hip = &submission->spans[GP_LAYER_HIP];

	for (size_t i = 0; i < hip->count; i++) {
		const struct gp_trace_span *span = &hip->items[i];
		struct gp_trace_use *use = &submission->uses[span->use];

		use->hsa_ns += covered_before(hsa, span->end) - covered_before(hsa, span->begin);
		use->gpu_ns += covered_before(gpu, span->end) - covered_before(gpu, span->begin);
		use->valid |= GP_USE_INSIDE;
	}
}

/* Deepest first: what a kernel covers is not also its caller's. */
static int divide(struct gp_trace_submission *submission)
{
	static const enum gp_trace_layer order[GP_SUBMISSION_LAYERS] = {GP_LAYER_KERNEL,
									GP_LAYER_COPY, GP_LAYER_HSA,
									GP_LAYER_HIP};
	struct cover covers[GP_SUBMISSION_LAYERS] = {0}, hsa = {0};
	int error = 0;

	for (size_t i = 0; i < GP_SUBMISSION_LAYERS && !error; i++) {
		const struct gp_trace_spans *spans = &submission->spans[order[i]];

		error = join(i ? &covers[i - 1] : NULL, spans, &covers[i]);
		submission->timed[order[i]] = spans->count > 0;
		submission->alone_ns[order[i]] = covers[i].length - (i ? covers[i - 1].length : 0);
	}
	if (!error)
		error = join(NULL, &submission->spans[GP_LAYER_HSA], &hsa);
	if (!error) {
		look_inside(submission, &hsa, &covers[1]);
		if (submission->has_wall)
			submission->application_ns =
				submission->last_ns - submission->first_ns -
				GP_MIN(covers[GP_SUBMISSION_LAYERS - 1].length,
				       submission->last_ns - submission->first_ns);
	}
	for (size_t i = 0; i < GP_SUBMISSION_LAYERS; i++)
		free(covers[i].items);
	free(hsa.items);
	return error;
}

static int by_layer_and_time(const void *a, const void *b)
{
	const struct gp_trace_use *x = a, *y = b;

	if (x->layer != y->layer)
		return x->layer < y->layer ? -1 : 1;
	if (gp_trace_use_total(x) != gp_trace_use_total(y))
		return gp_trace_use_total(x) > gp_trace_use_total(y) ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static int by_place(const void *a, const void *b)
{
	const struct gp_trace_queue_use *x = a, *y = b;

	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	return x->queue < y->queue ? -1 : x->queue > y->queue;
}

int gp_trace_submission_finish(struct gp_trace_submission *submission)
{
	int error;

	for (size_t i = 0; i < GP_SUBMISSION_LAYERS; i++) {
		struct gp_trace_spans *spans = &submission->spans[i];

		if (spans->count)
			qsort(spans->items, spans->count, sizeof(*spans->items), by_begin);
		submission->sum_ns[i] = gp_trace_submission_layer_total(submission, i);
	}
	error = divide(submission);
	/* The spans know uses by place; from here on they are in the reader's order. */
	for (size_t i = 0; i < GP_SUBMISSION_LAYERS; i++) {
		free(submission->spans[i].items);
		memset(&submission->spans[i], 0, sizeof(submission->spans[i]));
	}
	if (submission->use_count)
		qsort(submission->uses, submission->use_count, sizeof(*submission->uses),
		      by_layer_and_time);
	if (submission->queue_count)
		qsort(submission->queues, submission->queue_count, sizeof(*submission->queues),
		      by_place);
	return error;
}
