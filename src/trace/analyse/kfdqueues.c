// SPDX-License-Identifier: MIT
#include "trace/analyse/kfdqueues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "trace/read/kfdlog.h"
#include "base/map.h"

/* Pids in the map are these, shifted: 0 stands for "no pid was printed". */
#define KEY_PID(pid, known) ((known) ? (u64)(pid) + 1 : 0)

struct gp_trace_kfd_queues {
	struct gp_trace_kfd_queue *items;
	size_t count, capacity;
	struct gp_trace_kfd_process *processes;
	size_t process_count, process_capacity;
	struct gp_map map; /* (pid, id) -> item */
	/* Dynamic debug describes a queue in several lines; these are from the last ones. */
	u32 pid;
	bool has_pid;
	u64 gpu;
	bool has_gpu;
	u32 last; /* the item created last by sentences, or GP_MAP_NONE */
};

struct gp_trace_kfd_queues *gp_trace_kfd_queues_new(void)
{
	struct gp_trace_kfd_queues *queues = calloc(1, sizeof(*queues));

	if (queues)
		queues->last = GP_MAP_NONE;
	return queues;
}

void gp_trace_kfd_queues_free(struct gp_trace_kfd_queues *queues)
{
	if (!queues)
		return;
	gp_map_free(&queues->map);
	free(queues->items);
	free(queues->processes);
	free(queues);
}

static bool name_is(const struct gp_event *event, const char *name)
{
	return event->name_len == strlen(name) && memcmp(event->name, name, event->name_len) == 0;
}

/* The row of a queue, made when it is new or (`create`) was destroyed before. NULL: no memory. */
static struct gp_trace_kfd_queue *row(struct gp_trace_kfd_queues *queues, bool has_pid, u32 pid,
				      u64 id, bool create, const struct gp_event *event)
{
	u64 key = KEY_PID(pid, has_pid);
	u32 at = gp_map_get(&queues->map, key, id);
	struct gp_trace_kfd_queue *queue;

	if (at != GP_MAP_NONE && !(create && queues->items[at].valid & GP_KQ_DESTROYED))
		return &queues->items[at];
	if (queues->count >= GP_MAP_NONE ||
	    gp_array_grow((void **)&queues->items, queues->count, &queues->capacity,
			  sizeof(*queues->items)) ||
	    gp_map_put(&queues->map, key, id, (u32)queues->count))
		return NULL;
	queue = &queues->items[queues->count++];
	*queue = (struct gp_trace_kfd_queue){.id = id, .line = event->line};
	if (has_pid) {
		queue->pid = pid;
		queue->valid |= GP_KQ_PID;
	}
	return queue;
}

static void take(const struct gp_event *event, const char *key, u32 field, u64 *value,
		 struct gp_trace_kfd_queue *queue)
{
	u64 number;

	if (gp_trace_text_key(event->text, event->text_len, key, &number)) {
		*value = number;
		queue->valid |= field;
	}
}

/* doorbell_offset= is CREATE_QUEUE's mmap cookie in some prints and a dword offset in others. */
static void take_doorbell(const struct gp_event *event, const char *key,
			  struct gp_trace_kfd_queue *queue)
{
	u64 value;

	if (!gp_trace_text_key(event->text, event->text_len, key, &value))
		return;
	if (value >> 62 == GP_DOORBELL_MMAP_TYPE) {
		if (!(queue->valid & GP_KQ_GPU))
			queue->gpu = value >> 46 & 0xffff;
		queue->valid |= GP_KQ_GPU;
	} else if (value >= GP_DOORBELL_SLICE_DWORDS && value >> 32 == 0) {
		queue->absolute = value;
		queue->valid |= GP_KQ_ABSOLUTE;
	}
}

static int take_print(struct gp_trace_kfd_queues *queues, const struct gp_event *event)
{
	bool destroy = name_is(event, "DESTROY_QUEUE") || name_is(event, "KFD_MQD_DESTROY");
	bool create = !destroy && memmem(event->name, event->name_len, "CREATE", 6);
	struct gp_trace_kfd_queue *queue;
	u64 id;

	if (!gp_trace_text_key(event->text, event->text_len, "queue_id", &id) &&
	    !gp_trace_text_key(event->text, event->text_len, "qid", &id))
		return 0;
	queue = row(queues, event->valid & GP_EV_PID, event->pid, id, create, event);
	if (!queue)
		return -ENOMEM;
	if (destroy) {
		queue->valid |= GP_KQ_DESTROYED;
		return 0;
	}
	if (create && event->valid & GP_EV_TIME && !(queue->valid & GP_KQ_CREATED)) {
		queue->created_ns = event->time_ns;
		queue->valid |= GP_KQ_CREATED;
	}
	take(event, "queue_type", GP_KQ_TYPE, &queue->type, queue);
	take(event, "type", GP_KQ_TYPE, &queue->type, queue);
	take(event, "gpu_id", GP_KQ_GPU, &queue->gpu, queue);
	take(event, "gpu", GP_KQ_GPU, &queue->gpu, queue);
	take(event, "doorbell_offset_in_process", GP_KQ_IN_PROCESS, &queue->in_process, queue);
	take(event, "doorbell_id", GP_KQ_DOORBELL_ID, &queue->doorbell_id, queue);
	take(event, "pasid", GP_KQ_PASID, &queue->pasid, queue);
	take(event, "process_index", GP_KQ_INDEX, &queue->index, queue);
	take(event, "base_queue_id", GP_KQ_BASE, &queue->base, queue);
	take(event, "mqd_addr", GP_KQ_MQD, &queue->mqd, queue);
	take_doorbell(event, "doorbell_offset", queue);
	take_doorbell(event, "doorbell", queue);
	return 0;
}

/* "process pid 94314 on gpu 0xf7bc", or "PASID 0x8001 on gpu 0xf7bc" up to 6.13. */
static void creating_for(struct gp_trace_kfd_queues *queues, const struct gp_event *event)
{
	const char *p = event->text, *end = p + event->text_len;

	queues->has_pid =
		GP_PARSE_LITERAL(&p, end, "process pid ") && gp_parse_u32(&p, end, &queues->pid);
	p = memmem(event->text, event->text_len, "gpu 0x", 6);
	if (p)
		p += 4;
	queues->has_gpu = p && gp_parse_hex(&p, end, &queues->gpu);
	queues->last = GP_MAP_NONE;
}

static int take_sentence(struct gp_trace_kfd_queues *queues, const struct gp_event *event)
{
	const char *p = event->text, *end = p + event->text_len;
	bool destroy = name_is(event, "Destroying queue id ");
	struct gp_trace_kfd_queue *queue;
	u64 id;

	if (name_is(event, "Creating queue for ")) {
		creating_for(queues, event);
		return 0;
	}
	if (name_is(event, "Ring buffer address == ") && queues->last != GP_MAP_NONE) {
		queue = &queues->items[queues->last];
		if (gp_parse_hex(&p, end, &queue->ring))
			queue->valid |= GP_KQ_RING;
		return 0;
	}
	if (!(name_is(event, "Queue id ") || destroy) || !gp_parse_u64(&p, end, &id))
		return 0;
	if (destroy) {
		struct gp_event as = *event;

		if (!GP_PARSE_LITERAL(&p, end, " for process pid ") ||
		    !gp_parse_u32(&p, end, &as.pid))
			return 0;
		queue = row(queues, true, as.pid, id, false, event);
		if (queue)
			queue->valid |= GP_KQ_DESTROYED;
		return queue ? 0 : -ENOMEM;
	}
	queue = row(queues, queues->has_pid, queues->pid, id, true, event);
	if (!queue)
		return -ENOMEM;
	queues->last = (u32)(queue - queues->items);
	if (event->valid & GP_EV_TIME) {
		queue->created_ns = event->time_ns;
		queue->valid |= GP_KQ_CREATED;
	}
	if (queues->has_gpu) {
		queue->gpu = queues->gpu;
		queue->valid |= GP_KQ_GPU;
	}
	return 0;
}

int gp_trace_kfd_queues_event(void *ctx, const struct gp_event *event)
{
	if (event->kind != GP_EVENT_KFD || !event->name_len)
		return 0;
	if (memmem(event->name, event->name_len, " ", 1))
		return take_sentence(ctx, event);
	return take_print(ctx, event);
}

static int order(const void *a, const void *b)
{
	const struct gp_trace_kfd_queue *x = a, *y = b;
	u64 px = KEY_PID(x->pid, x->valid & GP_KQ_PID), py = KEY_PID(y->pid, y->valid & GP_KQ_PID);

	if (px != py)
		return px < py ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* See gp_trace_offset_reading. A process's compute queues take its first free doorbell, so its
 * lowest is id 0: offset 0 counted inside the slice, a multiple of the slice counted on the BAR. */
static void read_offsets(struct gp_trace_kfd_process *process,
			 const struct gp_trace_kfd_queue *queues)
{
	for (size_t i = process->first; i < process->first + process->count; i++) {
		if (queues[i].valid & GP_KQ_ABSOLUTE && !process->has_slice) {
			process->slice = queues[i].absolute / GP_DOORBELL_SLICE_DWORDS - 1;
			process->has_slice = true;
		}
		if (!(queues[i].valid & GP_KQ_IN_PROCESS))
			continue;
		if (!process->has_offsets || queues[i].in_process < process->offset_low)
			process->offset_low = queues[i].in_process;
		if (!process->has_offsets || queues[i].in_process > process->offset_high)
			process->offset_high = queues[i].in_process;
		process->has_offsets = true;
	}
	if (!process->has_offsets)
		return;
	for (size_t i = process->first; i + 1 < process->first + process->count; i++) {
		u64 step = queues[i + 1].in_process - queues[i].in_process;

		if (queues[i].valid & queues[i + 1].valid & GP_KQ_IN_PROCESS &&
		    queues[i + 1].in_process > queues[i].in_process &&
		    (!process->step_low || step < process->step_low))
			process->step_low = step;
	}
	if (process->offset_low == 0) {
		process->reading = GP_OFFSET_BYTES;
	} else if (process->offset_low % GP_DOORBELL_SLICE_DWORDS == 0) {
		process->reading = GP_OFFSET_SLICE;
		if (!process->has_slice)
			process->slice = process->offset_low / GP_DOORBELL_SLICE_DWORDS - 1;
		process->has_slice = true;
	} else {
		process->reading = GP_OFFSET_UNKNOWN;
	}
}

static void judge(struct gp_trace_kfd_process *process, const struct gp_trace_kfd_queue *queues)
{
	const struct gp_trace_kfd_queue *first = &queues[process->first];

	process->id_low = first->id;
	process->id_high = queues[process->first + process->count - 1].id;
	for (size_t i = process->first; i < process->first + process->count; i++)
		process->alive += !(queues[i].valid & GP_KQ_DESTROYED);
	if (process->has_pid) {
		u64 base = process->pid % GP_PID_HASH_PROCESSES * GP_PID_HASH_QUEUES;

		process->hash = process->id_low == base ? GP_HASH_MATCH
				: process->id_low == 0  ? GP_HASH_STOCK
							: GP_HASH_OTHER;
	}
	read_offsets(process, queues);
}

int gp_trace_kfd_queues_finish(struct gp_trace_kfd_queues *queues)
{
	if (!queues->count)
		return 0;
	qsort(queues->items, queues->count, sizeof(*queues->items), order);
	for (size_t i = 0; i < queues->count; i++) {
		const struct gp_trace_kfd_queue *queue = &queues->items[i];
		struct gp_trace_kfd_process *process =
			queues->process_count ? &queues->processes[queues->process_count - 1]
					      : NULL;

		if (process && process->has_pid == !!(queue->valid & GP_KQ_PID) &&
		    process->pid == queue->pid) {
			process->count++;
			continue;
		}
		if (gp_array_grow((void **)&queues->processes, queues->process_count,
				  &queues->process_capacity, sizeof(*queues->processes)))
			return -ENOMEM;
		queues->processes[queues->process_count++] = (struct gp_trace_kfd_process){
			.has_pid = queue->valid & GP_KQ_PID,
			.pid = queue->pid,
			.first = i,
			.count = 1,
		};
	}
	for (size_t i = 0; i < queues->process_count; i++)
		judge(&queues->processes[i], queues->items);
	return 0;
}

const struct gp_trace_kfd_queue *gp_trace_kfd_queues_items(const struct gp_trace_kfd_queues *queues,
							   size_t *count)
{
	*count = queues->count;
	return queues->items;
}

const struct gp_trace_kfd_process *
gp_trace_kfd_queues_processes(const struct gp_trace_kfd_queues *queues, size_t *count)
{
	*count = queues->process_count;
	return queues->processes;
}
