// SPDX-License-Identifier: MIT
/*
 * The counters of a timeline: how many kernels and copies run on a GPU, how many packets a queue
 * has, how many jobs gpreemptd keeps suspended. What runs is counted at the end: rows of a profile
 * are not sorted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/analyse/perfetto_parts.h"

/* Beginnings and ends that are kept, 16 bytes each; a profile with more has no such counter. */
#define GP_PERFETTO_CHANGES (8u << 20)

struct gp_trace_perfetto_change {
	u64 time_ns;
	u32 pid;
	s32 by;
};

static void put(struct gp_trace_perfetto *p, u32 pid, const char *name, const char *key,
		u64 time_ns, u64 value)
{
	gp_timeline_add(&p->timeline, &(struct gp_timeline_event){
					      .phase = 'C',
					      .pid = pid,
					      .name = name,
					      .time_ns = time_ns,
					      .args = {{key, .number = value}},
				      });
}

int gp_trace_perfetto_count_run(struct gp_trace_perfetto *p, u32 pid, u64 begin_ns, u64 end_ns)
{
	if (p->change_count > GP_PERFETTO_CHANGES)
		return 0;
	for (u32 i = 0; i < 2; i++) {
		if (gp_array_grow((void **)&p->changes, p->change_count, &p->change_capacity,
				  sizeof(*p->changes)))
			return -ENOMEM;
		p->changes[p->change_count++] =
			(struct gp_trace_perfetto_change){i ? end_ns : begin_ns, pid, i ? -1 : 1};
	}
	return 0;
}

void gp_trace_perfetto_count_depth(struct gp_trace_perfetto *p, u32 pid, u64 time_ns,
				   const struct gp_event *event)
{
	const u32 needed = GP_EV_RPTR | GP_EV_WPTR;
	char name[48];

	if ((event->valid & needed) != needed || event->wptr < event->rptr)
		return;
	snprintf(name, sizeof(name), "packets in queue 0x%llx", (unsigned long long)event->queue);
	put(p, pid, name, "packets", time_ns, event->wptr - event->rptr);
}

static bool is(const struct gp_event *event, const char *name)
{
	return event->name_len == strlen(name) && memcmp(event->name, name, event->name_len) == 0;
}

int gp_trace_perfetto_count_held(struct gp_trace_perfetto *p, u64 time_ns,
				 const struct gp_event *event)
{
	bool held = is(event, "suspend"), was;

	/* What was only observed was not done. */
	if (event->partial || !(event->valid & GP_EV_PID) ||
	    (!held && !is(event, "resume") && !is(event, "went")))
		return 0;
	was = gp_map_get(&p->held, event->pid, 0) == 1;
	if (was == held)
		return 0;
	p->held_count += held ? 1 : (u64)-1;
	put(p, 0, "suspended jobs", "jobs", time_ns, p->held_count);
	return gp_map_put(&p->held, event->pid, 0, held);
}

/* Ends before begins of the same time: what follows at once does not overlap. */
static int by_time(const void *a, const void *b)
{
	const struct gp_trace_perfetto_change *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->by - y->by;
}

void gp_trace_perfetto_counters_end(struct gp_trace_perfetto *p)
{
	size_t count = p->change_count;
	s64 running = 0;

	if (count && count <= GP_PERFETTO_CHANGES)
		qsort(p->changes, count, sizeof(*p->changes), by_time);
	for (size_t i = 0; i < count && count <= GP_PERFETTO_CHANGES; i++) {
		const struct gp_trace_perfetto_change *change = &p->changes[i];
		const struct gp_trace_perfetto_change *next =
			i + 1 < count ? &p->changes[i + 1] : NULL;

		running = i && change->pid == change[-1].pid ? running + change->by : change->by;
		/* One value per moment. An end sorts before the begin of a run without length. */
		if (!next || next->pid != change->pid || next->time_ns != change->time_ns)
			put(p, change->pid, "running on the GPU", "running", change->time_ns,
			    running > 0 ? (u64)running : 0);
	}
	free(p->changes);
	gp_map_free(&p->held);
}
