// SPDX-License-Identifier: MIT
/* Birth, time, actions and queries; the semantics are in the other files of this room. */
#include "model/state.h"

#define TIME_LIMIT (1ull << 40) /* of one cost in the config: 18 minutes */
#define RATE_LIMIT (1ull << 50) /* bytes per microsecond */
#define UNLIMITED  UINT32_MAX   /* events in one advance */

static bool chip_usable(const struct gp_model_chip *c)
{
	const u64 times[] = {c->quantum_ns,     c->dispatch_ns,   c->complete_ns, c->unmap_ns,
			     c->map_ns,         c->map_queue_ns,  c->save_ns,     c->restore_ns,
			     c->sdma_packet_ns, c->unmap_queue_ns};
	const u64 rates[] = {c->save_bytes_per_us, c->restore_bytes_per_us};

	for (u32 i = 0; i < GP_ARRAY_SIZE(times); i++)
		if (times[i] > TIME_LIMIT)
			return false;
	for (u32 i = 0; i < GP_ARRAY_SIZE(rates); i++)
		if (!rates[i] || rates[i] > RATE_LIMIT)
			return false;
	if (c->sdma_engines && (!c->sdma_queues_per_engine || c->sdma_queues_per_engine > 64 ||
				!c->sdma_bytes_per_us || c->sdma_bytes_per_us > RATE_LIMIT))
		return false;
	return c->xcc_count && c->xcc_count <= GP_MODEL_MAX_XCC && c->cu_per_xcc &&
	       c->cu_per_xcc <= GP_MODEL_MAX_CU / c->xcc_count && c->simd_per_cu &&
	       c->simd_per_cu <= 16 && c->waves_per_simd && c->waves_per_simd <= 64 &&
	       c->wave_size && c->wave_size <= 128 && c->vgpr_per_simd &&
	       c->vgpr_per_simd <= 65536 && c->lds_per_cu <= 1u << 30 && c->slots &&
	       c->slots <= 65536 && c->vmids && c->vmids <= 65536 &&
	       c->sdma_engines <= GP_MODEL_MAX_ENGINES && c->quantum_ns &&
	       c->wave_fixed_bytes <= 1u << 20 && c->clock_khz >= 1000 &&
	       c->clock_khz <= UINT32_MAX && c->contention_permille <= 10000 &&
	       c->jitter_permille <= 1000;
}

static bool config_usable(const struct gp_model_config *config)
{
	return config->max_processes && config->max_processes <= 65536 && config->max_queues &&
	       config->max_queues <= 65536 && config->max_work && config->max_work <= 1u << 24 &&
	       chip_usable(&config->chip);
}

/* Where each array lies; with memory == NULL only the total matters. */
struct layout {
	u64 size;
	u64 processes, queues, packets, batches, events, actions, started, restored;
	u32 batch_count, event_count, action_count, cus;
};

static u64 layout_take(struct layout *layout, u64 size, u64 count)
{
	u64 at = (layout->size + 15) & ~15ull;

	layout->size = at + size * count;
	return at;
}

static void layout_make(struct layout *l, const struct gp_model_config *config)
{
	memset(l, 0, sizeof(*l));
	l->cus = config->chip.xcc_count * config->chip.cu_per_xcc;
	/*
	 * A queue starts nothing new while it has saved batches, and a batch is split at whole CUs:
	 * so the batches of a queue, resident and saved, never stand for more than all CUs.
	 */
	l->batch_count = l->cus * GP_MIN(config->max_queues, config->max_work);
	l->event_count = l->cus + config->max_queues + config->max_work + GP_MODEL_MAX_ENGINES;
	/* One allocation launches at most one packet per queue and per engine. */
	l->action_count = config->max_queues + GP_MODEL_MAX_ENGINES + 64;
	layout_take(l, sizeof(struct gp_model), 1);
	l->processes = layout_take(l, sizeof(struct gp_model_process), config->max_processes);
	l->queues = layout_take(l, sizeof(struct gp_model_queue), config->max_queues);
	l->packets = layout_take(l, sizeof(struct gp_model_packet), config->max_work);
	l->batches = layout_take(l, sizeof(struct gp_model_batch), l->batch_count);
	l->events = layout_take(l, sizeof(struct gp_heap_entry), l->event_count);
	l->actions = layout_take(l, sizeof(struct gp_model_action), l->action_count);
	l->started = layout_take(l, sizeof(u32), l->cus);
	l->restored = layout_take(l, sizeof(u32), l->cus);
	l->size += 15; /* for memory that is not aligned */
}

size_t gp_model_memory(const struct gp_model_config *config)
{
	struct layout layout;

	if (!config_usable(config))
		return 0;
	layout_make(&layout, config);
	return layout.size;
}

int gp_model_init(struct gp_model **out, void *memory, size_t size,
		  const struct gp_model_config *config)
{
	struct gp_model *m;
	struct layout l;
	char *base;

	if (!config_usable(config))
		return -EINVAL;
	layout_make(&l, config);
	if (size < l.size)
		return -ENOMEM;
	base = (char *)(((uintptr_t)memory + 15) & ~(uintptr_t)15);
	m = (struct gp_model *)base;
	memset(m, 0, sizeof(*m));
	m->config = *config;
	m->cus = m->free_cus = l.cus;
	for (u32 i = 0; i < GP_MODEL_CU_WORDS; i++)
		m->free[i] = gp_cu_word(m, i);
	gp_pool_init(&m->processes_pool, base + l.processes, sizeof(struct gp_model_process),
		     config->max_processes);
	gp_pool_init(&m->queues_pool, base + l.queues, sizeof(struct gp_model_queue),
		     config->max_queues);
	gp_pool_init(&m->packets_pool, base + l.packets, sizeof(struct gp_model_packet),
		     config->max_work);
	gp_pool_init(&m->batches_pool, base + l.batches, sizeof(struct gp_model_batch),
		     l.batch_count);
	gp_heap_init(&m->events, (struct gp_heap_entry *)(base + l.events), l.event_count);
	m->actions = (struct gp_model_action *)(base + l.actions);
	m->action_room = l.action_count;
	m->started = (u32 *)(base + l.started);
	m->restored = (u32 *)(base + l.restored);
	gp_list_init(&m->processes);
	gp_list_init(&m->mapped);
	gp_list_init(&m->changed);
	gp_list_init(&m->enabled);
	for (u32 i = 0; i < GP_MODEL_LEVELS; i++)
		gp_list_init(&m->ready[i]);
	for (u32 i = 0; i < GP_MODEL_MAX_ENGINES; i++)
		gp_list_init(&m->engine[i].ready);
	*out = m;
	return 0;
}

struct gp_model_process *gp_model_process(const struct gp_model *m, u32 index)
{
	struct gp_model_process *process;

	if (index >= m->processes_pool.fresh)
		return NULL;
	process = gp_pool_at(&m->processes_pool, index);
	return process->used ? process : NULL;
}

struct gp_model_queue *gp_model_queue(const struct gp_model *m, u32 index)
{
	struct gp_model_queue *queue;

	if (index >= m->queues_pool.fresh)
		return NULL;
	queue = gp_pool_at(&m->queues_pool, index);
	return queue->process ? queue : NULL;
}

int gp_model_process_add(struct gp_model *m, u32 *out)
{
	struct gp_model_process *process = gp_pool_get(&m->processes_pool);

	if (!process)
		return -ENOSPC;
	process->used = true;
	process->vmid_index = GP_MODEL_NONE;
	gp_list_init(&process->queues);
	gp_list_add_tail(&m->processes, &process->link);
	*out = gp_pool_index(&m->processes_pool, process);
	return 0;
}

int gp_model_process_remove(struct gp_model *m, u32 index)
{
	struct gp_model_process *process = gp_model_process(m, index);

	if (!process)
		return -EINVAL;
	if (process->queue_count)
		return -EBUSY;
	GP_ASSERT(process->vmid_index == GP_MODEL_NONE);
	gp_list_remove(&process->link);
	gp_pool_put(&m->processes_pool, process);
	return 0;
}

u32 gp_model_action_room(const struct gp_model *m)
{
	return m->action_room - m->action_count;
}

struct gp_model_action *gp_model_emit(struct gp_model *m, enum gp_model_action_kind kind)
{
	struct gp_model_action *action;

	/* Its other half: whoever lets things happen has asked gp_model_action_room() first. */
	GP_ASSERT(m->action_count < m->action_room);
	action = &m->actions[(m->action_head + m->action_count++) % m->action_room];
	memset(action, 0, sizeof(*action));
	action->kind = kind;
	action->at_ns = m->now;
	action->queue = GP_MODEL_NONE;
	return action;
}

bool gp_model_take(struct gp_model *m, struct gp_model_action *out)
{
	if (!m->action_count)
		return false;
	*out = m->actions[m->action_head];
	m->action_head = (m->action_head + 1) % m->action_room;
	m->action_count--;
	return true;
}

void gp_model_event(struct gp_model *m, u64 at, enum gp_model_event_kind kind, u32 value)
{
	bool pushed = gp_heap_push(&m->events, at, kind, value);

	GP_ASSERT(at >= m->now);
	GP_ASSERT(pushed);
	(void)pushed;
}

static void handle(struct gp_model *m, const struct gp_heap_entry *event)
{
	switch ((enum gp_model_event_kind)event->kind) {
	case GP_EVENT_BATCH:
		gp_model_cu_batch_over(m, gp_pool_at(&m->batches_pool, event->value));
		break;
	case GP_EVENT_DISPATCH:
		gp_model_queue_dispatched(m, gp_pool_at(&m->queues_pool, event->value));
		break;
	case GP_EVENT_COMPLETE:
		gp_model_queue_complete(m, gp_pool_at(&m->packets_pool, event->value));
		break;
	case GP_EVENT_SDMA:
		gp_model_sdma_over(m, event->value);
		break;
	}
}

/* Free CUs go to ready queues, once everything else of this instant has happened. */
static bool settle(struct gp_model *m)
{
	if (!m->unsettled)
		return true;
	if (gp_model_action_room(m) < m->ready_queues + GP_MODEL_MAX_ENGINES)
		return false;
	m->unsettled = false;
	if (m->phase != GP_PHASE_RUN)
		return true;
	gp_model_cu_allocate(m);
	gp_model_sdma_start(m);
	return true;
}

static bool reach(struct gp_model *m, u64 now, u32 *events)
{
	now = GP_MIN(GP_MAX(now, m->now), GP_MODEL_TIME_MAX);
	for (;;) {
		u64 event = m->events.count ? m->events.entry[0].key : GP_MODEL_NEVER;
		u64 runlist = gp_model_runlist_next(m);
		u64 at = GP_MIN(event, runlist);

		GP_ASSERT(at >= m->now);
		if (at > m->now && m->unsettled) {
			if (!settle(m))
				return false;
			continue;
		}
		if (at > now)
			break;
		if (!gp_model_action_room(m) || !*events)
			return false;
		if (*events != UNLIMITED)
			--*events;
		m->now = at;
		if (event == at) {
			struct gp_heap_entry first = gp_heap_pop(&m->events);

			handle(m, &first);
		} else if (m->phase == GP_PHASE_RUN) {
			gp_model_runlist_rotate(m);
		} else {
			gp_model_runlist_phase(m);
		}
	}
	m->now = now;
	return true;
}

bool gp_model_reach(struct gp_model *m, u64 now)
{
	u32 events = UNLIMITED;

	return reach(m, now, &events);
}

void gp_model_advance(struct gp_model *m, u64 now)
{
	gp_model_reach(m, now);
}

bool gp_model_advance_some(struct gp_model *m, u64 now, u32 *events)
{
	return reach(m, now, events);
}

u64 gp_model_now(const struct gp_model *m)
{
	return m->now;
}

u64 gp_model_next(const struct gp_model *m)
{
	u64 event = m->events.count ? m->events.entry[0].key : GP_MODEL_NEVER;
	u64 runlist = gp_model_runlist_next(m);
	u64 at = m->unsettled ? m->now : GP_MIN(event, runlist);

	return at > GP_MODEL_TIME_MAX ? GP_MODEL_NEVER : at;
}

int gp_model_queue_state(const struct gp_model *m, u32 index, struct gp_model_queue_state *out)
{
	const struct gp_model_queue *q = gp_model_queue(m, index);

	if (!q)
		return -EINVAL;
	*out = (struct gp_model_queue_state){
		.mapped = q->mapped,
		.slot = q->mapped ? q->slot : GP_MODEL_NONE,
		.vmid_index = q->mapped ? q->process->vmid_index : GP_MODEL_NONE,
		.submitted = q->submitted,
		.launched = q->launched,
		.completed = q->completed,
		.resident_waves = q->resident_waves,
		.saved_waves = q->saved_waves,
		.saved_bytes = q->saved_bytes,
		.cu_ns = q->cu_ns + q->running_cus * (m->now - q->cu_mark),
	};
	return 0;
}

void gp_model_stats(const struct gp_model *m, struct gp_model_stats *out)
{
	*out = m->stats;
	out->now_ns = m->now;
	if (m->phase == GP_PHASE_UNMAP || m->phase == GP_PHASE_MAP)
		out->switch_ns += m->now - m->frozen_at;
	if (!m->running_cus)
		return;
	for (u32 i = 0; i < m->events.count; i++) {
		const struct gp_model_batch *batch;

		if (m->events.entry[i].kind != GP_EVENT_BATCH)
			continue;
		batch = gp_pool_at(&m->batches_pool, m->events.entry[i].value);
		out->busy_cu_ns += batch->cus * (m->now - batch->started_ns);
		out->ran_wg_ns += batch->lanes * (m->now - batch->started_ns);
	}
}
