// SPDX-License-Identifier: MIT
/* Puts the queues of one process together from log, sysfs, descriptors and slots. */
#include <errno.h>
#include <stdlib.h>

#include "inspect/find.h"

#define GP_AQL_PACKET_BYTES 64

static bool known(const struct gp_inspect_find_queue *queue, enum gp_inspect_find_fact fact)
{
	return queue->from[fact] != GP_FROM_NOWHERE;
}

/* Takes a fact unless a better source already gave it. */
#define GP_SET(queue, fact, member, value, source)      \
	do {                                            \
		if (!known(queue, fact)) {              \
			(queue)->member = (value);      \
			(queue)->from[fact] = (source); \
		}                                       \
	} while (0)

static struct gp_inspect_find_queue *add_queue(struct gp_inspect_find_process *process)
{
	struct gp_inspect_find_queue *queue;

	if (gp_array_grow((void **)&process->queues, process->count, &process->capacity,
			  sizeof(*process->queues)))
		return NULL;
	queue = &process->queues[process->count++];
	*queue = (struct gp_inspect_find_queue){0};
	return queue;
}

/* HSA's three levels as the driver numbers them: 0-6 low, 7-10 normal, 11-15 high. */
static u32 level_of(u32 kfd_priority)
{
	return kfd_priority < 7 ? 0 : kfd_priority < 11 ? 1 : 2;
}

static int add_descriptor(struct gp_inspect_find_process *process, const struct gp_kfd_slot *mqd)
{
	struct gp_inspect_find_queue *queue = add_queue(process);

	if (!queue)
		return -ENOMEM;
	queue->described = true;
	GP_SET(queue, GP_FIND_GPU, gpu_id, mqd->gpu_id, GP_FROM_MQD);
	GP_SET(queue, GP_FIND_TYPE, type,
	       mqd->kind == GP_SLOT_SDMA ? GP_QUEUE_SDMA : GP_QUEUE_COMPUTE, GP_FROM_MQD);
	if (!(mqd->valid & GP_SLOT_REGISTERS))
		return 0;
	GP_SET(queue, GP_FIND_RING, ring, mqd->ring, GP_FROM_MQD);
	GP_SET(queue, GP_FIND_SIZE, size, mqd->ring_bytes, GP_FROM_MQD);
	if (mqd->valid & GP_SLOT_OBJECT)
		GP_SET(queue, GP_FIND_OBJECT, object, mqd->object, GP_FROM_MQD);
	if (mqd->valid & GP_SLOT_PRIORITY) {
		GP_SET(queue, GP_FIND_KFD_PRIORITY, kfd_priority, mqd->queue_priority, GP_FROM_MQD);
		GP_SET(queue, GP_FIND_PRIORITY, priority, level_of(mqd->queue_priority),
		       GP_FROM_MQD);
	}
	return 0;
}

/* A queue has one descriptor per XCC; the first carries the truth. */
static int add_descriptors(struct gp_inspect_find_process *process,
			   const struct gp_inspect_find_live *live)
{
	const struct gp_kfd_slot_list *list = &live->state->descriptors;
	int error = 0;

	for (size_t i = 0; i < list->count && !error; i++) {
		const struct gp_kfd_slot *mqd = &list->items[i];

		if (mqd->pid == live->pid && mqd->xcc == 0 && mqd->kind != GP_SLOT_DIQ)
			error = add_descriptor(process, mqd);
	}
	return error;
}

/*
 * The active slot of this queue: one per XCC, of which the first carries the read pointer. A node
 * of a partitioned GPU may start at any XCC. *certain is false when there may be one all the
 * same: slots of this GPU that were not decoded, or an active one with this ring whose process is
 * not known.
 */
static const struct gp_kfd_slot *find_slot(const struct gp_inspect_find_live *live,
					   const struct gp_inspect_find_queue *queue, bool *certain)
{
	const struct gp_kfd_slot_list *list = &live->state->slots;
	const struct gp_kfd_slot *best = NULL;
	bool seen = false;

	*certain = true;
	for (size_t i = 0; i < list->count; i++) {
		const struct gp_kfd_slot *slot = &list->items[i];

		if (slot->gpu_id != queue->gpu_id)
			continue;
		seen = true;
		if (!(slot->valid & GP_SLOT_REGISTERS))
			*certain = false;
		else if (slot->active && slot->ring == queue->ring && !slot->pid)
			*certain = false;
		else if (slot->active && slot->ring == queue->ring && slot->pid == live->pid &&
			 (!best || slot->xcc < best->xcc))
			best = slot;
	}
	*certain &= seen;
	return best;
}

/* Every slot is listed, so a queue in none of them is not on the hardware now. */
static void add_slots(struct gp_inspect_find_process *process,
		      const struct gp_inspect_find_live *live)
{
	for (size_t i = 0; i < process->count; i++) {
		struct gp_inspect_find_queue *queue = &process->queues[i];
		const struct gp_kfd_slot *slot;
		bool certain;

		if (!known(queue, GP_FIND_RING))
			continue;
		slot = find_slot(live, queue, &certain);
		if (slot || certain)
			GP_SET(queue, GP_FIND_ACTIVE, active, slot != NULL, GP_FROM_HQD);
		/* Only AQL pointers count packets; hqd shows the others in their own unit. */
		if (!slot || !(slot->valid & GP_SLOT_POINTERS) || !slot->aql)
			continue;
		GP_SET(queue, GP_FIND_WPTR, wptr, slot->wptr, GP_FROM_HQD);
		if (!(slot->valid & GP_SLOT_BACKLOG))
			continue;
		GP_SET(queue, GP_FIND_RPTR, rptr, slot->rptr, GP_FROM_HQD);
		GP_SET(queue, GP_FIND_BACKLOG, backlog, slot->backlog, GP_FROM_HQD);
	}
}

/*
 * Which key says that they are the same queue. A ring or object that matches is worth nothing when
 * the other one is known on both sides and differs: addresses are used again.
 */
static enum gp_inspect_find_key match_key(const struct gp_inspect_find_queue *queue,
					  const struct gp_trace_log_queue *logged)
{
	bool has_ring = known(queue, GP_FIND_RING), has_object = known(queue, GP_FIND_OBJECT);
	bool ring = has_ring && logged->key != GP_ADDRESS_OBJECT && queue->ring == logged->address;
	bool object = has_object &&
		      ((logged->key != GP_ADDRESS_RING && queue->object == logged->address) ||
		       ((logged->valid & GP_LQ_OBJECT) && queue->object == logged->object));

	if (ring && object)
		return GP_KEY_BOTH;
	if (ring)
		return has_object && (logged->valid & GP_LQ_OBJECT) ? GP_KEY_NONE : GP_KEY_RING;
	if (object)
		return has_ring && logged->key == GP_ADDRESS_RING ? GP_KEY_NONE : GP_KEY_OBJECT;
	return GP_KEY_NONE;
}

static void set_pointers_from_log(struct gp_inspect_find_queue *queue,
				  const struct gp_trace_log_queue *logged)
{
	/* Live pointers are newer; the two must not be mixed. */
	if (known(queue, GP_FIND_RPTR) || known(queue, GP_FIND_WPTR))
		return;
	if (logged->valid & GP_LQ_RPTR)
		GP_SET(queue, GP_FIND_RPTR, rptr, logged->rptr, GP_FROM_LOG);
	if (logged->valid & GP_LQ_WPTR)
		GP_SET(queue, GP_FIND_WPTR, wptr, logged->wptr, GP_FROM_LOG);
	/* The log's wptr is the slot of the packet itself: so many were ahead of it. */
	if ((logged->valid & GP_LQ_RPTR) && (logged->valid & GP_LQ_WPTR) &&
	    logged->wptr >= logged->rptr)
		GP_SET(queue, GP_FIND_BACKLOG, backlog, logged->wptr - logged->rptr, GP_FROM_LOG);
}

static void merge_log(struct gp_inspect_find_queue *queue, const struct gp_trace_log_queue *logged)
{
	queue->logged = true;
	queue->address = logged->address;
	queue->address_kind = logged->key;
	queue->deleted = logged->deleted;
	queue->failed = logged->failed;
	queue->failure = logged->failure;
	queue->failed_known = logged->valid & GP_LQ_FAILED;
	if (queue->key == GP_KEY_RING || queue->key == GP_KEY_BOTH)
		queue->address_kind = GP_ADDRESS_RING;
	else if (queue->key == GP_KEY_OBJECT && logged->key == GP_ADDRESS_UNKNOWN)
		queue->address_kind = GP_ADDRESS_OBJECT;
	if (queue->address_kind == GP_ADDRESS_RING)
		GP_SET(queue, GP_FIND_RING, ring, logged->address, GP_FROM_LOG);
	if (queue->address_kind == GP_ADDRESS_OBJECT)
		GP_SET(queue, GP_FIND_OBJECT, object, logged->address, GP_FROM_LOG);
	if (logged->valid & GP_LQ_OBJECT)
		GP_SET(queue, GP_FIND_OBJECT, object, logged->object, GP_FROM_LOG);
	if (logged->valid & GP_LQ_HSA_ID)
		GP_SET(queue, GP_FIND_HSA_ID, hsa_id, logged->hsa_id, GP_FROM_LOG);
	/* HIP's hardware queues are AQL compute queues. */
	GP_SET(queue, GP_FIND_TYPE, type, GP_QUEUE_COMPUTE, GP_FROM_LOG);
	if ((logged->valid & GP_LQ_SIZE) && logged->size_packets <= UINT32_MAX)
		GP_SET(queue, GP_FIND_SIZE, size, logged->size_packets * GP_AQL_PACKET_BYTES,
		       GP_FROM_LOG);
	if ((logged->valid & GP_LQ_PRIORITY) && logged->priority <= GP_FIND_PRIORITY_HIGH)
		GP_SET(queue, GP_FIND_PRIORITY, priority, logged->priority, GP_FROM_LOG);
	if (logged->valid & GP_LQ_STREAMS) {
		GP_SET(queue, GP_FIND_STREAMS, streams, logged->streams, GP_FROM_LOG);
		queue->streams_max = logged->streams_max;
	}
	if (logged->valid & GP_LQ_HANDLES) {
		queue->stream_handles = logged->stream_handles;
		queue->stream_count = logged->stream_count;
	}
	if (logged->valid & GP_LQ_PACKETS) {
		GP_SET(queue, GP_FIND_DISPATCHES, dispatches, logged->dispatches, GP_FROM_LOG);
		GP_SET(queue, GP_FIND_BARRIERS, barriers, logged->barriers, GP_FROM_LOG);
	}
	if (logged->valid & GP_LQ_FIRST) {
		if (!known(queue, GP_FIND_USE))
			queue->last_ns = logged->last_ns;
		GP_SET(queue, GP_FIND_USE, first_ns, logged->first_ns, GP_FROM_LOG);
	}
	/* A queue that may have failed may be dead: the log does not show it. */
	if (logged->deleted || logged->failed || (logged->valid & GP_LQ_FAILED))
		GP_SET(queue, GP_FIND_ACTIVE, active, !logged->deleted && !logged->failed,
		       GP_FROM_LOG);
	set_pointers_from_log(queue, logged);
}

/* A log queue that was deleted cannot be a live one, whatever its address says. */
static struct gp_inspect_find_queue *find_match(struct gp_inspect_find_process *process,
						size_t live_count,
						const struct gp_trace_log_queue *logged)
{
	if (logged->deleted)
		return NULL;
	for (size_t i = 0; i < live_count; i++) {
		struct gp_inspect_find_queue *queue = &process->queues[i];
		enum gp_inspect_find_key key = match_key(queue, logged);

		if (key == GP_KEY_NONE)
			continue;
		/* Creation and use of one queue may have been logged under its two addresses. */
		queue->key = queue->key && queue->key != key ? GP_KEY_BOTH : key;
		return queue;
	}
	return NULL;
}

static void add_counts(struct gp_inspect_find_queue *queue, const struct gp_trace_log_queue *logged)
{
	if (queue->logged) {
		queue->dispatches += logged->dispatches;
		queue->barriers += logged->barriers;
		if (known(queue, GP_FIND_USE) && (logged->valid & GP_LQ_FIRST)) {
			if (logged->first_ns < queue->first_ns)
				queue->first_ns = logged->first_ns;
			if (logged->last_ns > queue->last_ns)
				queue->last_ns = logged->last_ns;
		}
	}
	merge_log(queue, logged);
}

/*
 * A queue of the log that the driver does not have is gone, whether or not the log saw its end. The
 * descriptors show it, or sysfs when the process has no queue at all.
 */
static void settle_activity(struct gp_inspect_find_queue *queue,
			    const struct gp_inspect_find_live *live)
{
	if (!live || !live->alive)
		return;
	if (live->state && (live->state->valid & GP_WATCH_DESCRIPTORS))
		GP_SET(queue, GP_FIND_ACTIVE, active, false, GP_FROM_MQD);
	else if (live->sysfs_read && (!live->sysfs || !live->sysfs->queue_count))
		GP_SET(queue, GP_FIND_ACTIVE, active, false, GP_FROM_SYSFS);
}

static int add_logged(struct gp_inspect_find_process *process,
		      const struct gp_trace_log_queue *logged, size_t logged_count,
		      const struct gp_inspect_find_live *live, size_t *matched)
{
	size_t live_count = process->count;

	*matched = 0;
	for (size_t i = 0; i < logged_count; i++) {
		struct gp_inspect_find_queue *queue = find_match(process, live_count, &logged[i]);

		if (queue) {
			(*matched)++;
		} else {
			queue = add_queue(process);
			if (!queue)
				return -ENOMEM;
			settle_activity(queue, live);
		}
		add_counts(queue, &logged[i]);
	}
	return 0;
}

static bool is_sdma(enum gp_gpu_queue_type type)
{
	return type == GP_QUEUE_SDMA || type == GP_QUEUE_SDMA_XGMI;
}

/* Could the driver's queue be this row? Only what both know can differ. */
static bool may_be(const struct gp_inspect_find_queue *queue, const struct gp_gpu_queue *id)
{
	if (queue->deleted)
		return false;
	if (known(queue, GP_FIND_GPU) && queue->gpu_id != id->gpu_id)
		return false;
	if (known(queue, GP_FIND_TYPE) && is_sdma(queue->type) != is_sdma(id->type))
		return false;
	return !known(queue, GP_FIND_SIZE) || queue->size == id->size;
}

static void add_candidate(struct gp_inspect_find_queue *queue, u32 id)
{
	if (queue->candidate_count < GP_FIND_CANDIDATES_MAX)
		queue->candidates[queue->candidate_count] = id;
	queue->candidate_count++;
}

static int add_unclaimed(struct gp_inspect_find_process *process, const struct gp_gpu_queue *id)
{
	struct gp_inspect_find_queue *queue = add_queue(process);

	if (!queue)
		return -ENOMEM;
	GP_SET(queue, GP_FIND_KFD_ID, kfd_id, id->id, GP_FROM_SYSFS);
	GP_SET(queue, GP_FIND_GPU, gpu_id, id->gpu_id, GP_FROM_SYSFS);
	GP_SET(queue, GP_FIND_TYPE, type, id->type, GP_FROM_SYSFS);
	GP_SET(queue, GP_FIND_SIZE, size, id->size, GP_FROM_SYSFS);
	return 0;
}

/*
 * sysfs has the ids but no address. An id belongs to a row only if the row has a descriptor, the id
 * fits no other row and the row fits no other id. A row that only a log knows may be from another
 * run: it gets candidates and nothing more. Ids that fit no row are queues without another source.
 */
static int add_ids(struct gp_inspect_find_process *process, const struct gp_gpu_process *sysfs)
{
	size_t rows = process->count;
	size_t *fits = calloc(sysfs->queue_count ? sysfs->queue_count : 1, sizeof(*fits));
	int error = fits ? 0 : -ENOMEM;

	for (size_t i = 0; i < sysfs->queue_count && !error; i++) {
		const struct gp_gpu_queue *id = &sysfs->queues[i];

		for (size_t r = 0; r < rows; r++) {
			if (!may_be(&process->queues[r], id))
				continue;
			fits[i]++;
			add_candidate(&process->queues[r], id->id);
		}
		if (!fits[i])
			error = add_unclaimed(process, id);
	}
	for (size_t i = 0; i < sysfs->queue_count && !error; i++) {
		for (size_t r = 0; r < rows && fits[i] == 1; r++) {
			struct gp_inspect_find_queue *queue = &process->queues[r];

			if (queue->candidate_count != 1 || !queue->described ||
			    queue->candidates[0] != sysfs->queues[i].id)
				continue;
			GP_SET(queue, GP_FIND_KFD_ID, kfd_id, queue->candidates[0], GP_FROM_MATCH);
			queue->candidate_count = 0;
		}
	}
	free(fits);
	return error;
}

int gp_inspect_find_join(const struct gp_trace_log_queue *logged, size_t logged_count,
			 const struct gp_inspect_find_live *live,
			 struct gp_inspect_find_process *out, size_t *matched)
{
	int error = 0;

	*matched = 0;
	if (live && live->state && (live->state->valid & GP_WATCH_DESCRIPTORS))
		error = add_descriptors(out, live);
	if (!error && live && live->state && (live->state->valid & GP_WATCH_SLOTS))
		add_slots(out, live);
	if (!error)
		error = add_logged(out, logged, logged_count, live, matched);
	if (!error && live && live->sysfs)
		error = add_ids(out, live->sysfs);
	return error;
}
