// SPDX-License-Identifier: MIT
/* Time and the models: runlist updates, what the models report, what is left of dead queues. */
#include <errno.h>
#include <stdlib.h>

#include "base/core.h"
#include "vgpu/server/state.h"

u32 gp_vgpu_model_grace(u32 grace)
{
	u32 field;

	if (grace == GP_KFD_GRACE_DEFAULT)
		return GP_KFD_SCH_WAVE_BOOT;
	/* The driver guards 0 alone; what the register's 8 bits make of the rest is its fate. */
	field = (grace ? grace : GP_KFD_GRACE_MIN) & GP_KFD_SCH_WAVE_MASK;
	return field ? field : UINT32_MAX;
}

static void request_update_over(struct gp_vgpu_server *server, struct gp_vgpu_update *update,
				int error)
{
	struct gp_vgpu_request *request = update->request;

	update->answered = true;
	update->request = NULL;
	if (!request)
		return;
	if (error)
		request->update_error = error;
	if (--request->updates_pending)
		return;
	if (error || !gp_vgpu_settle_wait(server, request))
		gp_vgpu_request_updated(server, request);
}

/* As many as the model takes; the rest when it has room again. */
static void hand_over(struct gp_vgpu_server *server, struct gp_vgpu_device *device)
{
	u64 now = gp_vgpu_server_now(server);

	for (struct gp_vgpu_update *update = device->updates; update; update = update->next) {
		if (update->in_model)
			continue;
		if (gp_model_runlist_update(device->model, now, gp_vgpu_model_grace(update->grace),
					    update->tag))
			return;
		update->in_model = true;
		update->asked_ns = gp_model_now(device->model);
	}
}

static int update_add(struct gp_vgpu_server *server, struct gp_vgpu_device *device, u32 grace,
		      bool all, struct gp_vgpu_request *request)
{
	struct gp_vgpu_update *update, **end = &device->updates;

	update = calloc(1, sizeof(*update));
	if (!update)
		return -ENOMEM;
	update->tag = ++device->next_tag;
	update->grace = grace;
	update->all = all;
	update->request = request;
	while (*end)
		end = &(*end)->next;
	*end = update;
	hand_over(server, device);
	return 0;
}

static void ask(struct gp_vgpu_server *server, struct gp_vgpu_device *device, u32 grace, bool all,
		struct gp_vgpu_request *request)
{
	int error = device->hung ? -ETIME : update_add(server, device, grace, all, request);

	if (!request)
		return;
	if (error) {
		request->update_error = error;
		return;
	}
	request->updates_pending++;
	request->waiting = true;
}

void gp_vgpu_update(struct gp_vgpu_server *server, struct gp_vgpu_device *device, u32 grace,
		    struct gp_vgpu_request *request)
{
	ask(server, device, grace, false, request);
}

void gp_vgpu_update_debug(struct gp_vgpu_server *server, struct gp_vgpu_device *device,
			  struct gp_vgpu_request *request)
{
	ask(server, device, 0, true, request);
}

bool gp_vgpu_update_join(struct gp_vgpu_device *device, struct gp_vgpu_request *request)
{
	struct gp_vgpu_update *last = NULL;

	for (struct gp_vgpu_update *update = device->updates; update; update = update->next)
		if (!update->request && !update->answered)
			last = update;
	if (!last || device->hung)
		return false;
	last->request = request;
	request->updates_pending++;
	request->waiting = true;
	return true;
}

void gp_vgpu_update_silent(struct gp_vgpu_server *server, struct gp_vgpu_device *device)
{
	gp_vgpu_update(server, device, GP_KFD_GRACE_DEFAULT, NULL);
}

void gp_vgpu_update_forget(struct gp_vgpu_server *server, const struct gp_vgpu_request *request)
{
	gp_vgpu_settle_forget(server, request);
	for (u32 i = 0; i < server->device_count; i++)
		for (struct gp_vgpu_update *u = server->devices[i].updates; u; u = u->next)
			if (u->request == request)
				u->request = NULL;
}

static void packet_launched(struct gp_vgpu_queue *queue, const struct gp_model_action *action)
{
	struct gp_vgpu_process *process = queue->process;

	queue->launched++;
	queue->dones_due--;
	if (process)
		gp_vgpu_ring_done(process, &(struct gp_vgpu_done){.queue_id = queue->id,
								  .kind = GP_VGPU_LAUNCHED,
								  .tag = action->tag});
}

static void packet_completed(struct gp_vgpu_server *server, struct gp_vgpu_queue *queue,
			     const struct gp_model_action *action)
{
	struct gp_vgpu_process *process = queue->process;

	queue->completed++;
	queue->in_flight--;
	queue->dones_due--;
	if (!process)
		return;
	process->outstanding--;
	if (gp_vgpu_is_sdma(queue->args.queue_type))
		process->sdma_ns[queue->device->index] += action->end_ns - action->start_ns;
	gp_vgpu_ring_done(process,
			  &(struct gp_vgpu_done){
				  .queue_id = queue->id,
				  .kind = GP_VGPU_COMPLETED,
				  .tag = action->tag,
				  .start_raw_ns = gp_vgpu_server_raw_time(server, action->start_ns),
				  .end_raw_ns = gp_vgpu_server_raw_time(server, action->end_ns),
			  });
}

/*
 * The caller's ioctl returns when the fence of the unmap comes; the new runlist is mapped after
 * that. The update itself is over when it is mapped.
 */
static void update_progress(struct gp_vgpu_server *server, struct gp_vgpu_device *device,
			    const struct gp_model_action *action)
{
	bool mapped = action->kind == GP_MODEL_MAPPED;
	struct gp_vgpu_update **at = &device->updates, *update;

	while (*at && (*at)->tag != action->tag)
		at = &(*at)->next;
	update = *at;
	if (!update)
		return;
	device->hung = false;
	gp_vgpu_settle_publish(server, device, !mapped);
	if (!mapped && !update->answered)
		gp_vgpu_packets_switch(server, device, update, action->unmapped_queues > 0);
	if (mapped)
		*at = update->next;
	/* The driver sends the next one now. */
	if (mapped && device->updates && device->updates->in_model)
		device->updates->asked_ns = GP_MAX(device->updates->asked_ns, action->at_ns);
	if (!update->answered)
		request_update_over(server, update, 0);
	if (mapped)
		free(update);
}

static void act(struct gp_vgpu_server *server, struct gp_vgpu_device *device,
		const struct gp_model_action *action)
{
	struct gp_vgpu_queue *queue;

	if (action->kind == GP_MODEL_UNMAPPED || action->kind == GP_MODEL_MAPPED) {
		if (action->tag)
			update_progress(server, device, action);
		return;
	}
	if (action->queue >= GP_KFD_DEVICE_QUEUES || !device->by_model[action->queue])
		return;
	queue = device->by_model[action->queue];
	if (action->kind == GP_MODEL_LAUNCHED)
		packet_launched(queue, action);
	else
		packet_completed(server, queue, action);
}

/* A model process goes with its last queue. */
static void owner_release(struct gp_vgpu_device *device, u32 id)
{
	struct gp_vgpu_process *process = device->owners[id];

	if (--device->owned[id] || gp_model_process_remove(device->model, id))
		return;
	device->owners[id] = NULL;
	if (process)
		process->model_process[device->index] = GP_MODEL_NONE;
}

void gp_vgpu_reap(struct gp_vgpu_device *device)
{
	struct gp_vgpu_queue **at = &device->zombies, *queue;
	u32 dropped;

	while ((queue = *at)) {
		if (gp_model_queue_remove(device->model, queue->model_queue, &dropped)) {
			at = &queue->zombie;
			continue;
		}
		*at = queue->zombie;
		device->by_model[queue->model_queue] = NULL;
		device->queue_count--;
		owner_release(device, queue->model_process);
		free(queue);
	}
}

/* When the driver gives up the wait for the fence of the first update. */
static u64 timeout_at(const struct gp_vgpu_server *server, const struct gp_vgpu_device *device)
{
	u64 limit = server->options.preemption_timeout_ms * GP_NS_PER_MS;
	const struct gp_vgpu_update *update = device->updates;

	if (!limit || !update || !update->in_model || update->answered)
		return GP_MODEL_NEVER;
	return update->asked_ns + limit;
}

/* The driver waits for the fence, then asks for a reset; the waiting calls get ETIME. */
static void check_timeout(struct gp_vgpu_server *server, struct gp_vgpu_device *device)
{
	struct gp_vgpu_update *update = device->updates;

	if (gp_model_now(device->model) < timeout_at(server, device))
		return;
	device->hung = true;
	gp_vgpu_packets_unmap(device, update);
	/* Requests behind it fail with it; each answer may free requests but no update. */
	for (; update; update = update->next)
		if (!update->answered)
			request_update_over(server, update, -ETIME);
	if (server->options.recovery)
		gp_vgpu_reset(server, device);
}

/* However late it is called, what the driver gave up before it happened stays given up. */
static bool advance_device(struct gp_vgpu_server *server, struct gp_vgpu_device *device,
			   u32 *events)
{
	struct gp_model_action action;
	bool any = false;
	u64 until;

	do {
		until = GP_MIN(server->due_ns, timeout_at(server, device));
		(void)gp_model_advance_some(device->model, until, events);
		while (gp_model_take(device->model, &action)) {
			act(server, device, &action);
			any = true;
		}
		check_timeout(server, device);
	} while (*events && (gp_model_next(device->model) <= until || until < server->due_ns));
	hand_over(server, device);
	gp_vgpu_reap(device);
	return any;
}

/* Rounds bound the work of one call; what is left shows in gp_vgpu_server_next(). */
#define ROUNDS 64

/* One round over the devices; how far all of them have come is the time. */
static bool advance_devices(struct gp_vgpu_server *server, u32 *events)
{
	u64 reached = server->due_ns;
	bool any = false;

	for (u32 i = 0; i < server->device_count; i++) {
		any |= advance_device(server, &server->devices[i], &events[i]);
		reached = GP_MIN(reached, gp_model_now(server->devices[i].model));
	}
	server->now_ns = GP_MAX(server->now_ns, reached);
	return any;
}

void gp_vgpu_server_advance(struct gp_vgpu_server *server)
{
	u32 events[GP_VGPU_MAX_GPUS];
	bool any = true;

	for (u32 i = 0; i < server->device_count; i++)
		events[i] = GP_VGPU_EVENTS / server->device_count;
	for (u32 round = 0; any && round < ROUNDS; round++) {
		any = advance_devices(server, events);
		for (struct gp_vgpu_process *p = server->processes; p; p = p->next)
			if (p->stalled && gp_vgpu_ring_read(server, p) == -EPROTO)
				p->condemned = true;
	}
	server->behind_ns += server->due_ns - server->now_ns;
	server->due_ns = server->now_ns;
	gp_vgpu_settle_check(server);
	gp_vgpu_ring_notify(server);
}

u64 gp_vgpu_server_next(const struct gp_vgpu_server *server)
{
	u64 next = gp_vgpu_settle_next(server);

	for (u32 i = 0; i < server->device_count; i++) {
		const struct gp_vgpu_device *device = &server->devices[i];

		next = GP_MIN(next, gp_model_next(device->model));
		next = GP_MIN(next, timeout_at(server, device));
	}
	return next;
}
