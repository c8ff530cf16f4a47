// SPDX-License-Identifier: MIT
/* kfd-debug: listing, suspending and resuming the queues of the target. See debug.h. */
#include "gpu/kfd/debug.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "abi/amd_queue.h"
#include "base/buf.h"
#include "base/clock.h"

#define ATTEMPTS 4 /* a queue can become new, or go, between the list and the call */

/* ---- the list ---- */

static struct gp_gpu_control_queue *find(struct gp_kfd_debug_target *control, u32 id)
{
	for (size_t i = 0; i < control->queues.count; i++)
		if (control->queues.items[i].id == id)
			return &control->queues.items[i];
	return NULL;
}

static int snapshot(struct gp_kfd_debug_target *control, u32 *count)
{
	struct gp_kfd_dbg_trap_args args = {0};
	int error;

	for (int i = 0; i < ATTEMPTS; i++) {
		args.queue_snapshot.exception_mask = GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW);
		args.queue_snapshot.snapshot_buf_ptr = (uintptr_t)control->entries;
		args.queue_snapshot.num_queues = GP_KFD_MAX_QUEUES;
		args.queue_snapshot.entry_size = sizeof(control->entries[0]);
		error = gp_kfd_debug_trap(control, GP_KFD_DBG_GET_QUEUE_SNAPSHOT, &args);
		if (error == -EPERM)
			error = gp_kfd_debug_recover(control);
		else if (error != -EINTR)
			break;
		if (error && error != -EINTR)
			return error;
		error = -EINTR; /* ours again, or interrupted: another try */
	}
	if (error)
		return error;
	*count = args.queue_snapshot.num_queues;
	if (*count > GP_KFD_MAX_QUEUES)
		*count = GP_KFD_MAX_QUEUES;
	return 0;
}

static struct gp_gpu_control_queue entry_queue(const struct gp_kfd_queue_snapshot_entry *entry,
					       const struct gp_gpu_control_queue *before)
{
	struct gp_gpu_control_queue queue = {
		.id = entry->queue_id,
		.gpu_id = entry->gpu_id,
		.type = entry->queue_type,
		.valid = GP_QUEUE_HAS_KFD_ID | GP_QUEUE_HAS_RING,
		.ring = entry->ring_base_address,
		.ring_bytes = entry->ring_size,
	};
	bool is_new = entry->exception_status & GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW);

	/* Ids are used again: a queue that is new is not the one that was suspended. */
	if (before && !is_new && before->ring == queue.ring) {
		queue.suspended = before->suspended;
		queue.failed = before->failed;
	}
	return queue;
}

static int refresh(struct gp_kfd_debug_target *control)
{
	struct gp_gpu_control_queues fresh = {0};
	u32 count = 0;
	int error = snapshot(control, &count);
	bool changed = false;

	if (!error && count) {
		fresh.items = calloc(count, sizeof(*fresh.items));
		u64 *pointers = reallocarray(control->pointers, count, 2 * sizeof(u64));
		if (pointers)
			control->pointers = pointers;
		if (!fresh.items || !pointers)
			error = -ENOMEM;
	}
	if (error) {
		free(fresh.items);
		return error;
	}
	for (u32 i = 0; i < count; i++) {
		const struct gp_kfd_queue_snapshot_entry *entry = &control->entries[i];
		const struct gp_gpu_control_queue *before = find(control, entry->queue_id);

		fresh.items[i] = entry_queue(entry, before);
		changed |= !before || before->ring != fresh.items[i].ring;
		control->pointers[2 * i] = entry->read_pointer_address;
		control->pointers[2 * i + 1] = entry->write_pointer_address;
	}
	fresh.count = fresh.capacity = count;
	changed |= count != control->queues.count;
	gp_gpu_control_queues_free(&control->queues);
	control->queues = fresh;
	control->stale = false;
	control->changed |= changed;
	return 0;
}

void gp_kfd_debug_answer_runtime(struct gp_kfd_debug_target *control)
{
	struct gp_kfd_dbg_trap_args args = {0};

	args.send_runtime_event.exception_mask = GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME);
	gp_kfd_debug_trap(control, GP_KFD_DBG_SEND_RUNTIME_EVENT, &args);
}

/* The target may be in RUNTIME_ENABLE, on or off, and wait for us. */
static void runtime_changed(struct gp_kfd_debug_target *control)
{
	struct gp_kfd_runtime_info info = {0};
	struct gp_kfd_dbg_trap_args args = {0};

	args.query_exception_info.info_ptr = (uintptr_t)&info;
	args.query_exception_info.info_size = sizeof(info);
	args.query_exception_info.exception_code = GP_KFD_EC_PROCESS_RUNTIME;
	args.query_exception_info.clear_exception = 1;
	if (gp_kfd_debug_trap(control, GP_KFD_DBG_QUERY_EXCEPTION_INFO, &args))
		return;
	control->runtime_state = info.runtime_state;
	gp_kfd_debug_answer_runtime(control);
}

/* Reads away the bytes that announce something; true when there were some. */
static bool announced(struct gp_kfd_debug_target *control)
{
	char bytes[256];
	bool any = false;

	while (read(control->events[0], bytes, sizeof(bytes)) > 0)
		any = true;
	return any;
}

int gp_kfd_debug_make_current(struct gp_kfd_debug_target *control)
{
	if (announced(control)) {
		runtime_changed(control);
		control->stale = true;
	}
	return control->stale ? refresh(control) : 0;
}

/* ---- what only the target's memory knows ---- */

static bool target_read(struct gp_kfd_debug_target *control, u64 address, void *out, size_t size)
{
	return pread(control->memory, out, size, (off_t)address) == (ssize_t)size;
}

/* ROCr's queue object, when the pointers lie where they do in one and it names this ring. */
static void add_object(struct gp_kfd_debug_target *control, struct gp_gpu_control_queue *queue,
		       const u64 *pointers)
{
	u64 object = pointers[0] - offsetof(struct gp_amd_queue, read_dispatch_id);
	struct gp_hsa_queue found;

	if (pointers[1] != object + offsetof(struct gp_amd_queue, write_dispatch_id) ||
	    !target_read(control, object, &found, sizeof(found)) ||
	    found.base_address != queue->ring)
		return;
	queue->object = object;
	queue->hsa_id = found.id;
	queue->valid |= GP_QUEUE_HAS_OBJECT | GP_QUEUE_HAS_HSA_ID;
}

int gp_kfd_debug_list(struct gp_gpu_control *base, struct gp_gpu_control_queues *out)
{
	struct gp_kfd_debug_target *control = gp_kfd_debug_target(base);
	int error = gp_kfd_debug_make_current(control);
	size_t count = control->queues.count;

	*out = (struct gp_gpu_control_queues){0};
	if (error || !count)
		return error;
	out->items = calloc(count, sizeof(*out->items));
	if (!out->items)
		return -ENOMEM;
	memcpy(out->items, control->queues.items, count * sizeof(*out->items));
	out->count = out->capacity = count;
	for (size_t i = 0; i < count; i++) {
		struct gp_gpu_control_queue *queue = &out->items[i];
		const u64 *pointers = &control->pointers[2 * i];

		if (queue->type != GP_KFD_QUEUE_COMPUTE_AQL)
			continue;
		if (target_read(control, pointers[0], &queue->read_index, sizeof(u64)) &&
		    target_read(control, pointers[1], &queue->write_index, sizeof(u64)))
			queue->valid |= GP_QUEUE_HAS_POINTERS;
		add_object(control, queue, pointers);
	}
	return 0;
}

/* ---- suspend and resume ---- */

/* The ids to hand to the driver: those asked for whose state is not yet `suspended`. */
static int collect(struct gp_kfd_debug_target *control, const u32 *ids, size_t count,
		   bool suspended, u32 *number, u32 *already)
{
	size_t all = ids ? count : control->queues.count;

	*number = *already = 0;
	for (size_t i = 0; i < all; i++) {
		struct gp_gpu_control_queue *queue =
			ids ? find(control, ids[i]) : &control->queues.items[i];

		if (!queue && suspended)
			return -ENOENT;
		if (!queue)
			continue;
		if (queue->suspended == suspended)
			(*already)++;
		else if (*number < GP_KFD_MAX_QUEUES)
			control->ids[(*number)++] = queue->id;
	}
	return 0;
}

/* Result bits of a call into the list. -EIO: the hardware did not let go; -EAGAIN: some were
 * skipped, because they are new or being destroyed. */
static int decode(struct gp_kfd_debug_target *control, u32 number, bool suspended, u32 *done)
{
	int error = 0;

	for (u32 i = 0; i < number; i++) {
		u32 id = control->ids[i] & ~(GP_KFD_DBG_QUEUE_ERROR | GP_KFD_DBG_QUEUE_INVALID);
		struct gp_gpu_control_queue *queue = find(control, id);

		if (!queue)
			continue;
		if (control->ids[i] & GP_KFD_DBG_QUEUE_ERROR) {
			/* The driver keeps it marked as suspended whatever the hardware did. */
			queue->failed = true;
			queue->suspended = true;
			error = -EIO;
		} else if (control->ids[i] & GP_KFD_DBG_QUEUE_INVALID) {
			control->stale = true;
			error = error ? error : -EAGAIN;
		} else {
			queue->suspended = suspended;
			queue->failed = false;
			(*done)++;
		}
	}
	return error;
}

static int issue(struct gp_kfd_debug_target *control, u32 number, bool suspend, u32 grace,
		 struct gp_gpu_control_done *done)
{
	struct gp_kfd_dbg_trap_args args = {0};
	u64 before = gp_monotonic_ns();
	int result;

	if (!done->issued_ns)
		done->issued_ns = before;
	if (suspend) {
		args.suspend_queues.queue_array_ptr = (uintptr_t)control->ids;
		args.suspend_queues.num_queues = number;
		args.suspend_queues.grace_period = grace;
		result = gp_kfd_debug_trap(control, GP_KFD_DBG_SUSPEND_QUEUES, &args);
	} else {
		args.resume_queues.queue_array_ptr = (uintptr_t)control->ids;
		args.resume_queues.num_queues = number;
		result = gp_kfd_debug_trap(control, GP_KFD_DBG_RESUME_QUEUES, &args);
	}
	done->driver_ns += gp_monotonic_ns() - before;
	if (result >= 0)
		return decode(control, number, suspend, &done->queues);
	if (result == -EPERM)
		result = gp_kfd_debug_recover(control);
	return result ? result : -EAGAIN; /* ours again: another try */
}

static int change(struct gp_kfd_debug_target *control, const u32 *ids, size_t count, bool suspend,
		  u32 grace, struct gp_gpu_control_done *done)
{
	int error = -EAGAIN;

	*done = (struct gp_gpu_control_done){0};
	for (int i = 0; error == -EAGAIN && i < ATTEMPTS; i++) {
		u32 number, already;

		error = gp_kfd_debug_make_current(control);
		if (error)
			return error;
		error = collect(control, ids, count, suspend, &number, &already);
		if (error)
			return error;
		done->queues = suspend ? already : 0;
		if (!number)
			return (int)done->queues;
		error = issue(control, number, suspend, grace, done);
	}
	/* What is still skipped is being destroyed. */
	return error && error != -EAGAIN ? error : (int)done->queues;
}

int gp_kfd_debug_suspend(struct gp_gpu_control *base, const u32 *ids, size_t count, u32 grace,
			 struct gp_gpu_control_done *done)
{
	/* Other values reach the hardware cut to 8 bits, and 0 there means for ever. */
	if (grace > GP_KFD_GRACE_MAX)
		return -EINVAL;
	return change(gp_kfd_debug_target(base), ids, count, true,
		      grace ? grace : GP_KFD_GRACE_DEFAULT, done);
}

int gp_kfd_debug_resume(struct gp_gpu_control *base, const u32 *ids, size_t count,
			struct gp_gpu_control_done *done)
{
	return change(gp_kfd_debug_target(base), ids, count, false, 0, done);
}
