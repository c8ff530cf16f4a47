// SPDX-License-Identifier: MIT
/*
 * Setting an event activates every waiter it has; an auto-reset event stays signaled only when
 * there was none. Anything simpler loses wake-ups of ROCr's shut-down.
 */
#include "vgpu/preload/events.h"
#include "vgpu/heap.h"

#include <errno.h>
#include <string.h>

struct gp_vgpu_events *gp_vgpu_events_create(void)
{
	struct gp_vgpu_events *events = gp_vgpu_alloc(sizeof(*events));

	if (!events)
		return NULL;
	pthread_mutex_init(&events->lock, NULL);
	/* Id 0 is taken: the driver uses it to ignore interrupts that carry none. */
	events->signal_count = 1;
	events->lowest_free = 1;
	return events;
}

void gp_vgpu_events_destroy(struct gp_vgpu_events *events)
{
	if (!events)
		return;
	for (u32 i = 0; i < GP_KFD_SIGNAL_EVENT_LIMIT; i++)
		gp_vgpu_free(events->signals[i]);
	for (u32 i = 0; i < events->other_count; i++)
		gp_vgpu_free(events->others[i]);
	gp_vgpu_free(events->others);
	pthread_mutex_destroy(&events->lock);
	gp_vgpu_free(events);
}

struct gp_vgpu_event *gp_vgpu_event_find(struct gp_vgpu_events *events, u32 id)
{
	if (id < GP_KFD_SIGNAL_EVENT_LIMIT)
		return events->signals[id];
	id -= GP_KFD_FIRST_NONSIGNAL_EVENT;
	return id < events->other_count ? events->others[id] : NULL;
}

void gp_vgpu_event_fire(struct gp_vgpu_event *event)
{
	event->signaled = true;
	event->age++;
	for (struct gp_vgpu_waiter *waiter = event->waiters; waiter; waiter = waiter->next) {
		if (!waiter->waits)
			continue;
		if (event->auto_reset)
			event->signaled = false;
		waiter->activated = true;
		gp_vgpu_sleeper_wake(waiter->sleeper);
	}
}

static bool is_signal(u32 type)
{
	return type == GP_KFD_EVENT_SIGNAL || type == GP_KFD_EVENT_DEBUG;
}

/* ---- the event page ---- */

static void set_page(struct gp_vgpu_events *events, void *page, u64 bytes)
{
	events->page = page;
	memset(page, GP_KFD_UNSIGNALED_BYTE,
	       bytes < GP_KFD_EVENT_PAGE_BYTES ? bytes : GP_KFD_EVENT_PAGE_BYTES);
	events->slots = (u32)(bytes / sizeof(u64));
	if (events->slots > GP_KFD_SIGNAL_EVENT_LIMIT)
		events->slots = GP_KFD_SIGNAL_EVENT_LIMIT;
}

static int use_page(struct gp_vgpu_client *client, u64 handle)
{
	struct gp_vgpu_events *events = client->events;
	u64 bytes;
	void *page;
	u32 gpu;
	int error;

	if (events->page)
		return -EINVAL;
	error = gp_vgpu_bound_gpu(client, (u32)(handle >> GP_KFD_HANDLE_GPU_SHIFT), -ENODEV, &gpu);
	if (error)
		return error;
	page = gp_vgpu_memory_kernel_map(client, handle, &bytes);
	if (!page)
		return -EINVAL;
	set_page(events, page, bytes);
	return 0;
}

/* Old user space lets the driver make the page and maps it from /dev/kfd afterwards. */
static int make_page(struct gp_vgpu_client *client)
{
	struct gp_vgpu_events *events = client->events;
	void *page =
		gp_vgpu_memory_event_page(client, GP_KFD_EVENT_PAGE_BYTES, &events->page_offset);

	if (!page)
		return -ENOMEM;
	set_page(events, page, GP_KFD_EVENT_PAGE_BYTES);
	events->own_page = true;
	events->slots = GP_KFD_OLDEST_EVENT_SLOTS;
	return 0;
}

int gp_vgpu_events_page(struct gp_vgpu_client *client, u64 length, u64 *offset)
{
	struct gp_vgpu_events *events = client->events;
	int error = 0;

	pthread_mutex_lock(&events->lock);
	if (!events->page || !events->own_page || length > GP_KFD_EVENT_PAGE_BYTES) {
		error = -EINVAL;
	} else {
		*offset = events->page_offset;
		events->slots = (u32)(length / sizeof(u64));
	}
	pthread_mutex_unlock(&events->lock);
	return error;
}

/* ---- CREATE, DESTROY, SET, RESET ---- */

static int place_signal(struct gp_vgpu_client *client, struct gp_vgpu_event *event)
{
	struct gp_vgpu_events *events = client->events;
	u32 id;
	int error = events->page ? 0 : make_page(client);

	if (error)
		return error;
	for (id = events->lowest_free; id < events->slots && events->signals[id]; id++)
		;
	if (id >= events->slots)
		return -ENOSPC;
	events->lowest_free = id + 1;
	events->signals[id] = event;
	events->signal_count++;
	events->page[id] = GP_KFD_UNSIGNALED_SLOT;
	event->id = id;
	return 0;
}

static int place_other(struct gp_vgpu_events *events, struct gp_vgpu_event *event)
{
	struct gp_vgpu_event **others;
	u32 at = 0;

	while (at < events->other_count && events->others[at])
		at++;
	if (at == events->other_count) {
		others = gp_vgpu_realloc(events->others, (at + 1) * sizeof(*others));
		if (!others)
			return -ENOMEM;
		events->others = others;
		events->other_count++;
	}
	events->others[at] = event;
	event->id = GP_KFD_FIRST_NONSIGNAL_EVENT + at;
	return 0;
}

/* Under the lock; others read it. */
static void count_event(struct gp_vgpu_client *client, u32 change)
{
	if (client->shared)
		__atomic_fetch_add(&client->shared->events, change, __ATOMIC_RELAXED);
}

int gp_vgpu_ioctl_create_event(struct gp_vgpu_client *client, void *data)
{
	struct gp_kfd_create_event_args *args = data;
	struct gp_vgpu_events *events = client->events;
	struct gp_vgpu_event *event = gp_vgpu_alloc(sizeof(*event));
	int error = event ? 0 : -ENOMEM;

	pthread_mutex_lock(&events->lock);
	if (!error && args->event_page_offset)
		error = use_page(client, args->event_page_offset);
	if (!error) {
		args->event_page_offset = 0;
		event->type = args->event_type;
		event->auto_reset = args->auto_reset != 0;
		event->age = GP_KFD_FIRST_EVENT_AGE;
		error = is_signal(event->type) ? place_signal(client, event)
					       : place_other(events, event);
	}
	if (!error) {
		count_event(client, 1);
		args->event_id = args->event_trigger_data = event->id;
		if (is_signal(event->type)) {
			args->event_page_offset = GP_KFD_MMAP_EVENTS << GP_KFD_MMAP_TYPE_SHIFT;
			args->event_slot_index = event->id;
		}
	}
	pthread_mutex_unlock(&events->lock);
	if (error)
		gp_vgpu_free(event);
	return error;
}

static int destroy_event(struct gp_vgpu_client *client, u32 id)
{
	struct gp_vgpu_events *events = client->events;
	struct gp_vgpu_event *event = gp_vgpu_event_find(events, id);

	if (!event)
		return -EINVAL;
	/* Their calls fail. */
	for (struct gp_vgpu_waiter *next, *waiter = event->waiters; waiter; waiter = next) {
		next = waiter->next;
		waiter->event = NULL;
		waiter->listed = false;
		gp_vgpu_sleeper_wake(waiter->sleeper);
	}
	if (is_signal(event->type)) {
		events->signals[id] = NULL;
		events->signal_count--;
		if (id < events->lowest_free)
			events->lowest_free = id;
	} else {
		events->others[id - GP_KFD_FIRST_NONSIGNAL_EVENT] = NULL;
	}
	count_event(client, (u32)-1);
	gp_vgpu_free(event);
	return 0;
}

/* SET and RESET are for signal events alone. */
static int change_event(struct gp_vgpu_events *events, u32 id, bool set)
{
	struct gp_vgpu_event *event;
	bool found;

	pthread_mutex_lock(&events->lock);
	event = gp_vgpu_event_find(events, id);
	found = event && event->type == GP_KFD_EVENT_SIGNAL;
	if (found && set)
		gp_vgpu_event_fire(event);
	else if (found)
		event->signaled = false;
	pthread_mutex_unlock(&events->lock);
	return found ? 0 : -EINVAL;
}

int gp_vgpu_ioctl_destroy_event(struct gp_vgpu_client *client, void *data)
{
	const struct gp_kfd_destroy_event_args *args = data;
	int error;

	pthread_mutex_lock(&client->events->lock);
	error = destroy_event(client, args->event_id);
	pthread_mutex_unlock(&client->events->lock);
	return error;
}

int gp_vgpu_ioctl_set_event(struct gp_vgpu_client *client, void *data)
{
	return change_event(client->events, ((struct gp_kfd_set_event_args *)data)->event_id, true);
}

int gp_vgpu_ioctl_reset_event(struct gp_vgpu_client *client, void *data)
{
	return change_event(client->events, ((struct gp_kfd_reset_event_args *)data)->event_id,
			    false);
}

/* ---- what the GPU does ---- */

void gp_vgpu_event_set(struct gp_vgpu_client *client, u32 event_id)
{
	struct gp_vgpu_events *events = client->events;
	struct gp_vgpu_event *event;

	if (!event_id)
		return;
	pthread_mutex_lock(&events->lock);
	event = gp_vgpu_event_find(events, event_id);
	if (event && is_signal(event->type)) {
		if (events->page && event_id < events->slots)
			events->page[event_id] = GP_KFD_UNSIGNALED_SLOT;
		gp_vgpu_event_fire(event);
	}
	pthread_mutex_unlock(&events->lock);
}

/* Fires every event of a type, with the same data. */
static void fire_all(struct gp_vgpu_events *events, u32 type, union gp_vgpu_event_data data)
{
	pthread_mutex_lock(&events->lock);
	for (u32 i = 0; i < events->other_count; i++) {
		struct gp_vgpu_event *event = events->others[i];

		if (!event || event->type != type)
			continue;
		event->data = data;
		gp_vgpu_event_fire(event);
	}
	pthread_mutex_unlock(&events->lock);
}

void gp_vgpu_event_memory_fault(struct gp_vgpu_client *client, u32 gpu_id, u64 va)
{
	fire_all(client->events, GP_KFD_EVENT_MEMORY,
		 (union gp_vgpu_event_data){.memory = {
						    .failure.NotPresent = 1,
						    .va = va & ~(u64)(GP_KFD_PAGE - 1),
						    .gpu_id = gpu_id,
					    }});
}

void gp_vgpu_event_hw_exception(struct gp_vgpu_client *client, u32 gpu_id, bool memory_lost)
{
	fire_all(client->events, GP_KFD_EVENT_HW_EXCEPTION,
		 (union gp_vgpu_event_data){
			 .hardware = {.memory_lost = memory_lost, .gpu_id = gpu_id}});
}
