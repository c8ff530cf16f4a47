// SPDX-License-Identifier: MIT
/* Kernel functions on the timeline: a slice when a return was seen, nested as they ran. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "trace/analyse/perfetto_parts.h"

#define DEPTH 64

struct frame {
	u32 name;
	u64 begin;
	u64 cursor; /* where the last function in it ended */
};

struct gp_trace_perfetto_stack {
	struct frame *frames;
	size_t depth, capacity;
	u64 cursor; /* where the last outermost one ended */
};

void gp_trace_perfetto_function_free(struct gp_trace_perfetto *p)
{
	gp_map_free(&p->stack_map);
	for (size_t i = 0; i < p->stack_count; i++)
		free(p->stacks[i].frames);
	free(p->stacks);
}

static struct gp_trace_perfetto_stack *stack_of(struct gp_trace_perfetto *p, u32 track)
{
	u32 at = gp_map_get(&p->stack_map, track, 0);

	if (at != GP_MAP_NONE)
		return &p->stacks[at];
	at = (u32)p->stack_count;
	if (gp_array_grow((void **)&p->stacks, p->stack_count, &p->stack_capacity,
			  sizeof(*p->stacks)) ||
	    gp_map_put(&p->stack_map, track, 0, at))
		return NULL;
	p->stacks[p->stack_count++] = (struct gp_trace_perfetto_stack){0};
	return &p->stacks[at];
}

static u64 *cursor(struct gp_trace_perfetto_stack *stack)
{
	return stack->depth ? &stack->frames[stack->depth - 1].cursor : &stack->cursor;
}

static u64 later(u64 a, u64 b)
{
	return a > b ? a : b;
}

static int enter(struct gp_trace_perfetto_stack *stack, u32 name, u64 time)
{
	u64 begin;

	/* A clock that went back, or a tracer without returns: what is open will not be closed. */
	if (stack->depth == DEPTH)
		memmove(stack->frames, stack->frames + 1, --stack->depth * sizeof(*stack->frames));
	if (gp_array_grow((void **)&stack->frames, stack->depth, &stack->capacity,
			  sizeof(*stack->frames)))
		return -ENOMEM;
	begin = later(time, *cursor(stack));
	stack->frames[stack->depth++] = (struct frame){name, begin, begin};
	return 0;
}

/*
 * Times are rounded to microseconds in a trace's text and durations are not, so that a function may
 * seem to end behind the one around it. Slices that are not nested would be drawn wrongly: each
 * ends with the last one in it at the earliest, and begins where the one before ended.
 */
static void leave(struct gp_trace_perfetto *p, struct gp_trace_perfetto_stack *stack, u32 pid,
		  u32 tid, u32 name, const struct gp_event *event)
{
	u64 length = event->valid & GP_EV_DURATION ? event->duration_ns : 0, begin, end;
	size_t at = stack->depth;

	while (at > 0 && stack->frames[at - 1].name != name)
		at--;
	if (at) {
		struct frame *frame = &stack->frames[at - 1];

		begin = frame->begin;
		/* A leaf has one line, with the time at which it was entered. */
		end = later(event->time_ns, frame->cursor);
		if (event->time_ns <= begin)
			end = later(begin + length, frame->cursor);
		stack->depth = at - 1;
	} else if (length && length <= event->time_ns) {
		/* Entered before the trace. */
		stack->depth = 0;
		begin = later(event->time_ns - length, stack->cursor);
		end = later(event->time_ns, begin);
	} else {
		return;
	}
	*cursor(stack) = end;
	gp_trace_perfetto_slice(p, pid, tid, p->names.items[name].text, p->names.items[name].len,
				event, begin, end - begin);
}

int gp_trace_perfetto_function(struct gp_trace_perfetto *p, const struct gp_event *event)
{
	struct gp_trace_perfetto_stack *stack;
	u32 pid, tid, name;

	if (!event->name_len)
		return 0;
	if (gp_trace_perfetto_thread_track(p, event, GP_GROUP_KERNEL, &pid, &tid) ||
	    gp_strings_add(&p->names, event->name, event->name_len, &name))
		return -ENOMEM;
	stack = stack_of(p, tid);
	if (!stack)
		return -ENOMEM;
	if (event->kind == GP_EVENT_LEAVE) {
		leave(p, stack, pid, tid, name, event);
		return 0;
	}
	if (enter(stack, name, event->time_ns))
		return -ENOMEM;
	/* The graph tracer prints returns and no text; other tracers may not print returns. */
	return event->text
		       ? gp_trace_perfetto_instant(p, pid, tid, event->name, event->name_len, event)
		       : 0;
}
