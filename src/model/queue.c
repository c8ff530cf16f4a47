// SPDX-License-Identifier: MIT
/* Queues and the packets in them, from submission to the completion signal. */
#include "model/state.h"

#define GROUPS_LIMIT  (1ull << 40)
#define GROUP_LIMIT   (1ull << 50) /* ns */
#define ACCOUNT_LIMIT (1ull << 62) /* ns of workgroup time in one packet */
#define COPY_LIMIT    (1ull << 50) /* bytes */

static bool config_usable(const struct gp_model *m, const struct gp_model_queue_config *config)
{
	u64 inside = 0, any = 0;

	if (config->priority >= GP_MODEL_LEVELS)
		return false;
	if (config->type == GP_MODEL_SDMA)
		return config->engine < m->config.chip.sdma_engines;
	if (config->type != GP_MODEL_COMPUTE)
		return false;
	for (u32 i = 0; i < GP_MODEL_CU_WORDS; i++) {
		any |= config->cu_mask[i];
		inside |= config->cu_mask[i] & gp_cu_word(m, i);
	}
	return inside || !any;
}

static int engine_slot(struct gp_model *m, u32 index, u32 *slot)
{
	struct gp_model_engine *engine = &m->engine[index];

	for (u32 i = 0; i < m->config.chip.sdma_queues_per_engine; i++) {
		if (gp_bit_test(&engine->slots, i))
			continue;
		gp_bit_set(&engine->slots, i);
		*slot = i;
		return 0;
	}
	return -ENOSPC;
}

int gp_model_queue_add(struct gp_model *m, u32 process_index,
		       const struct gp_model_queue_config *config, u32 *out)
{
	struct gp_model_process *process = gp_model_process(m, process_index);
	u32 slot = GP_MODEL_NONE;
	struct gp_model_queue *q;

	if (!process || !config_usable(m, config))
		return -EINVAL;
	q = gp_pool_get(&m->queues_pool);
	if (!q)
		return -ENOSPC;
	if (config->type == GP_MODEL_SDMA && engine_slot(m, config->engine, &slot)) {
		gp_pool_put(&m->queues_pool, q);
		return -ENOSPC;
	}
	q->process = process;
	q->wanted = *config;
	gp_list_init(&q->changed_link);
	gp_model_runlist_changed(m, q);
	q->slot = slot;
	q->cu_mark = m->now;
	gp_list_init(&q->ready_link);
	gp_list_init(&q->mapped_link);
	gp_list_init(&q->waiting);
	gp_list_init(&q->live);
	gp_list_init(&q->saved);
	gp_list_add_tail(&process->queues, &q->link);
	process->queue_count++;
	*out = gp_pool_index(&m->queues_pool, q);
	return 0;
}

int gp_model_queue_set(struct gp_model *m, u32 index, const struct gp_model_queue_config *config)
{
	struct gp_model_queue *q = gp_model_queue(m, index);

	if (!q || !config_usable(m, config) || config->type != q->wanted.type)
		return -EINVAL;
	if (config->type == GP_MODEL_SDMA && config->engine != q->wanted.engine)
		return -EINVAL;
	q->wanted = *config;
	gp_model_runlist_changed(m, q);
	return 0;
}

static void drop_packets(struct gp_model *m, struct gp_list *packets)
{
	struct gp_list *link, *following;

	gp_list_for_each_safe(link, following, packets)
	{
		struct gp_model_packet *packet = gp_container(link, struct gp_model_packet, link);

		m->stats.dropped_wg_ns += packet->ran_wg_ns;
		gp_list_remove(link);
		gp_pool_put(&m->packets_pool, packet);
	}
}

int gp_model_queue_abandon(struct gp_model *m, u32 index)
{
	struct gp_model_queue *q = gp_model_queue(m, index);
	struct gp_model_engine *engine;

	if (!q)
		return -EINVAL;
	if (q->wanted.type != GP_MODEL_SDMA)
		return 0;
	engine = &m->engine[q->wanted.engine];
	if (engine->packet && engine->packet->queue == q)
		gp_model_sdma_abandon(m, q->wanted.engine);
	if (q->now.enabled)
		m->enabled_work -= q->submitted - q->completed;
	/* Only the engine's packet is ever live, and only live ones are launched. */
	drop_packets(m, &q->live);
	drop_packets(m, &q->waiting);
	q->live_count = 0;
	q->submitted = q->launched = q->completed;
	gp_model_queue_refresh(m, q);
	return 0;
}

int gp_model_queue_remove(struct gp_model *m, u32 index, u32 *dropped)
{
	struct gp_model_queue *q = gp_model_queue(m, index);
	struct gp_list *link, *following;

	if (!q)
		return -EINVAL;
	if (q->mapped)
		return -EBUSY;
	GP_ASSERT(!q->ready && !q->running_cus && !q->resident_waves);
	if (dropped)
		*dropped = (u32)(q->submitted - q->completed);
	if (q->now.enabled)
		m->enabled_work -= q->submitted - q->completed;
	gp_list_for_each_safe(link, following, &q->saved)
	{
		gp_list_remove(link);
		gp_pool_put(&m->batches_pool, gp_container(link, struct gp_model_batch, link));
	}
	drop_packets(m, &q->waiting);
	drop_packets(m, &q->live);
	m->dropped_bytes += q->saved_bytes;
	m->removed_cu_ns += q->cu_ns;
	if (q->wanted.type == GP_MODEL_SDMA)
		gp_bit_clear(&m->engine[q->wanted.engine].slots, q->slot);
	gp_model_runlist_forget(m, q);
	q->process->queue_count--;
	gp_list_remove(&q->link);
	gp_pool_put(&m->queues_pool, q);
	return 0;
}

/* The kernel's own workgroup time: the seed, the queue and the packet's number decide, no clock. */
static u64 with_jitter(const struct gp_model *m, u32 queue, u64 number, u64 ns)
{
	u32 jitter = m->config.chip.jitter_permille;
	u64 dice;

	if (!jitter)
		return ns;
	dice = gp_mix(gp_mix(m->config.seed ^ (u64)queue << 40) + number) % (2 * jitter + 1);
	return GP_MAX(gp_scale(ns, 1000 - jitter + dice, 1000), 1);
}

static bool work_usable(const struct gp_model *m, const struct gp_model_queue *q,
			const struct gp_model_work *work)
{
	const struct gp_model_chip *chip = &m->config.chip;
	u64 slowest, total;

	if (q->wanted.type == GP_MODEL_SDMA)
		return work->bytes <= COPY_LIMIT;
	if (!work->kernel)
		return true;
	if (!work->workgroups || work->workgroups > GROUPS_LIMIT || !work->workgroup_ns ||
	    work->workgroup_ns > GROUP_LIMIT || !work->waves_per_workgroup)
		return false;
	slowest = gp_scale(work->workgroup_ns, 1000 + chip->jitter_permille, 1000) + 1;
	slowest = gp_scale(slowest, 1000 + chip->contention_permille, 1000) + 1;
	return gp_multiply(work->workgroups, slowest, ACCOUNT_LIMIT, &total) &&
	       gp_model_occupancy(chip, work->waves_per_workgroup, work->vgprs, work->lds_bytes);
}

static void fill(struct gp_model *m, struct gp_model_packet *packet, struct gp_model_queue *q,
		 const struct gp_model_work *work)
{
	const struct gp_model_chip *chip = &m->config.chip;

	packet->queue = q;
	packet->tag = work->tag;
	packet->barrier = work->barrier;
	if (q->wanted.type == GP_MODEL_SDMA) {
		/* Bytes per microsecond: two terms, so that the factor 1000 cannot overflow. */
		u64 rate = chip->sdma_bytes_per_us;

		packet->group_ns = chip->sdma_packet_ns + work->bytes / rate * 1000 +
				   gp_divide_up(work->bytes % rate * 1000, rate);
		return;
	}
	packet->kernel = work->kernel;
	if (!work->kernel)
		return;
	packet->occupancy =
		gp_model_occupancy(chip, work->waves_per_workgroup, work->vgprs, work->lds_bytes);
	packet->waves = work->waves_per_workgroup;
	packet->group_bytes = gp_model_workgroup_bytes(chip, work->waves_per_workgroup, work->vgprs,
						       work->lds_bytes);
	packet->group_ns =
		with_jitter(m, gp_pool_index(&m->queues_pool, q), q->submitted, work->workgroup_ns);
	packet->groups = packet->groups_left = work->workgroups;
}

int gp_model_submit(struct gp_model *m, u64 now, u32 index, const struct gp_model_work *work)
{
	struct gp_model_queue *q = gp_model_queue(m, index);
	struct gp_model_packet *packet;

	if (!q || !work_usable(m, q, work))
		return -EINVAL;
	if (!gp_model_reach(m, now))
		return -EAGAIN;
	packet = gp_pool_get(&m->packets_pool);
	if (!packet)
		return -EAGAIN;
	fill(m, packet, q, work);
	gp_list_add_tail(&q->waiting, &packet->link);
	q->submitted++;
	if (q->now.enabled)
		m->enabled_work++;
	gp_model_queue_pump(m, q);
	return 0;
}

/* Whether the queue wants what its ready list gives: CUs, or its engine. */
static bool wants(const struct gp_model *m, const struct gp_model_queue *q)
{
	if (!q->mapped)
		return false;
	if (m->phase == GP_PHASE_MAP)
		return !gp_list_empty(&q->saved);
	if (m->phase != GP_PHASE_RUN)
		return false;
	if (q->now.type == GP_MODEL_SDMA)
		return q->dispatch == GP_DISPATCH_IDLE && !gp_list_empty(&q->waiting);
	return q->dispatch == GP_DISPATCH_READY || !gp_list_empty(&q->saved);
}

void gp_model_queue_refresh(struct gp_model *m, struct gp_model_queue *q)
{
	u32 level = q->now.priority;
	bool ready = wants(m, q);

	if (ready)
		m->unsettled = true;
	if (ready == q->ready)
		return;
	q->ready = ready;
	if (q->now.type == GP_MODEL_SDMA) {
		if (ready)
			gp_list_add_tail(&m->engine[q->now.engine].ready, &q->ready_link);
		else
			gp_list_remove(&q->ready_link);
		return;
	}
	if (ready) {
		gp_list_add_tail(&m->ready[level], &q->ready_link);
		m->ready_count[level]++;
		m->ready_queues++;
		m->ready_levels |= 1u << level;
		return;
	}
	gp_list_remove(&q->ready_link);
	m->ready_queues--;
	if (!--m->ready_count[level])
		m->ready_levels &= ~(1u << level);
}

void gp_model_queue_pump(struct gp_model *m, struct gp_model_queue *q)
{
	const struct gp_model_packet *first;

	if (!q->mapped || m->phase != GP_PHASE_RUN || gp_list_empty(&q->waiting))
		return;
	if (q->now.type == GP_MODEL_SDMA) {
		gp_model_queue_refresh(m, q);
		return;
	}
	first = gp_container(q->waiting.next, struct gp_model_packet, link);
	if (q->dispatch != GP_DISPATCH_IDLE || (first->barrier && q->live_count))
		return;
	q->dispatch = GP_DISPATCH_STARTED;
	gp_model_event(m, m->now + m->config.chip.dispatch_ns, GP_EVENT_DISPATCH,
		       gp_pool_index(&m->queues_pool, q));
}

void gp_model_queue_launch(struct gp_model *m, struct gp_model_packet *packet)
{
	struct gp_model_action *action = gp_model_emit(m, GP_MODEL_LAUNCHED);

	GP_ASSERT(!packet->launched);
	packet->launched = true;
	packet->start_ns = m->now;
	packet->queue->launched++;
	action->queue = gp_pool_index(&m->queues_pool, packet->queue);
	action->tag = packet->tag;
}

void gp_model_queue_started(struct gp_model *m, struct gp_model_packet *packet)
{
	struct gp_model_queue *q = packet->queue;

	GP_ASSERT(packet->launched && !packet->groups_left && q->waiting.next == &packet->link);
	gp_list_remove(&packet->link);
	gp_list_add_tail(&q->live, &packet->link);
	q->live_count++;
	q->dispatch = GP_DISPATCH_IDLE;
	gp_model_queue_pump(m, q);
}

void gp_model_queue_dispatched(struct gp_model *m, struct gp_model_queue *q)
{
	struct gp_model_packet *packet =
		gp_container(q->waiting.next, struct gp_model_packet, link);

	GP_ASSERT(q->dispatch == GP_DISPATCH_STARTED && !gp_list_empty(&q->waiting));
	if (packet->kernel) {
		q->dispatch = GP_DISPATCH_READY;
		gp_model_queue_refresh(m, q);
		return;
	}
	gp_model_queue_launch(m, packet);
	gp_model_queue_started(m, packet);
	gp_model_queue_over(m, packet);
}

void gp_model_queue_over(struct gp_model *m, struct gp_model_packet *packet)
{
	GP_ASSERT(!packet->over && !packet->groups_left && !packet->groups_live);
	packet->over = true;
	packet->end_ns = m->now;
	gp_model_event(m, m->now + m->config.chip.complete_ns, GP_EVENT_COMPLETE,
		       gp_pool_index(&m->packets_pool, packet));
}

void gp_model_queue_complete(struct gp_model *m, struct gp_model_packet *packet)
{
	struct gp_model_action *action = gp_model_emit(m, GP_MODEL_COMPLETED);
	struct gp_model_queue *q = packet->queue;

	GP_ASSERT(packet->launched && packet->over && q->live_count);
	/* The packet's own account: every workgroup had its time, once. */
	GP_ASSERT(!packet->kernel || packet->ran_wg_ns == packet->groups * packet->group_ns +
								  packet->contention_wg_ns);
	action->queue = gp_pool_index(&m->queues_pool, q);
	action->tag = packet->tag;
	action->start_ns = packet->start_ns;
	action->end_ns = packet->end_ns;
	m->stats.work_wg_ns += packet->groups * packet->group_ns;
	m->stats.contention_wg_ns += packet->contention_wg_ns;
	gp_list_remove(&packet->link);
	gp_pool_put(&m->packets_pool, packet);
	q->live_count--;
	q->completed++;
	GP_ASSERT(q->completed <= q->launched && q->launched <= q->submitted);
	if (q->now.enabled)
		m->enabled_work--;
	gp_model_queue_pump(m, q);
}

void gp_model_queue_thaw(struct gp_model *m, struct gp_model_queue *q)
{
	struct gp_list *link;

	if (q->dispatch == GP_DISPATCH_STARTED)
		gp_model_event(m, m->now + q->dispatch_left_ns, GP_EVENT_DISPATCH,
			       gp_pool_index(&m->queues_pool, q));
	gp_list_for_each (link, &q->live) {
		struct gp_model_packet *packet = gp_container(link, struct gp_model_packet, link);

		if (packet->over)
			gp_model_event(m, m->now + packet->complete_left_ns, GP_EVENT_COMPLETE,
				       gp_pool_index(&m->packets_pool, packet));
	}
	gp_model_queue_pump(m, q);
	gp_model_queue_refresh(m, q);
}
