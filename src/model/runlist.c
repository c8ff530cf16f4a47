// SPDX-License-Identifier: MIT
/*
 * The runlist: which queues are on the hardware. One switch is grace, unmap with save, map with
 * restore; an update is one switch, so is a rotation. Updates are served one after another.
 */
#include "model/state.h"

#define GRACE_CLOCKS 1024 /* unit of a grace period (CP_IQ_WAIT_TIME2.SCH_WAVE) */

/* The slowest XCC decides; bytes and the result are far below 2^54. */
static u64 transfer_ns(const u64 *xcc_bytes, u64 bytes_per_us)
{
	u64 most = 0;

	for (u32 i = 0; i < GP_MODEL_MAX_XCC; i++)
		most = GP_MAX(most, xcc_bytes[i]);
	return most / bytes_per_us * 1000 + gp_divide_up(most % bytes_per_us * 1000, bytes_per_us);
}

/* Takes everything off the CUs and off the timers, with what it has left. */
static void freeze(struct gp_model *m, u64 *xcc_bytes)
{
	u32 sdma[GP_MODEL_MAX_ENGINES], sdma_count = 0;
	struct gp_list *link;

	while (m->events.count) {
		struct gp_heap_entry event = gp_heap_pop(&m->events);
		u64 left = event.key - m->now;
		struct gp_model_packet *packet;
		struct gp_model_queue *q;

		switch ((enum gp_model_event_kind)event.kind) {
		case GP_EVENT_BATCH:
			gp_model_cu_save(m, gp_pool_at(&m->batches_pool, event.value), xcc_bytes);
			break;
		case GP_EVENT_DISPATCH:
			q = gp_pool_at(&m->queues_pool, event.value);
			q->dispatch_left_ns = left;
			break;
		case GP_EVENT_COMPLETE:
			packet = gp_pool_at(&m->packets_pool, event.value);
			packet->complete_left_ns = left;
			break;
		case GP_EVENT_SDMA:
			sdma[sdma_count++] = event.value;
			break;
		}
	}
	for (u32 i = 0; i < sdma_count; i++)
		gp_model_event(m, m->engine[sdma[i]].end_ns, GP_EVENT_SDMA, sdma[i]);
	m->phase = GP_PHASE_UNMAP;
	gp_list_for_each (link, &m->mapped) {
		gp_model_queue_refresh(m, gp_container(link, struct gp_model_queue, mapped_link));
	}
	GP_ASSERT(!m->ready_queues && !m->running_cus && m->free_cus == m->cus);
}

void gp_model_runlist_wait_sdma(struct gp_model *m)
{
	m->phase_end = GP_MAX(m->unmap_end, m->now);
	for (u32 i = 0; i < m->config.chip.sdma_engines; i++)
		if (m->engine[i].packet)
			m->phase_end = GP_MAX(m->phase_end, m->engine[i].end_ns);
}

static void unmap_begin(struct gp_model *m)
{
	const struct gp_model_chip *chip = &m->config.chip;
	u64 xcc_bytes[GP_MODEL_MAX_XCC] = {0};
	u64 cost = 0;

	memset(&m->unmapped, 0, sizeof(m->unmapped));
	m->unmapped.unmapped_queues = m->stats.mapped_queues;
	m->frozen_at = m->now;
	freeze(m, xcc_bytes);
	if (m->unmapped.unmapped_queues)
		cost = chip->unmap_ns + m->unmapped.unmapped_queues * chip->unmap_queue_ns;
	if (m->unmapped.saved_waves)
		cost += chip->save_ns + transfer_ns(xcc_bytes, chip->save_bytes_per_us);
	m->unmap_end = m->now + cost;
	gp_model_runlist_wait_sdma(m);
}

static void switch_begin(struct gp_model *m)
{
	GP_ASSERT(m->phase == GP_PHASE_RUN);
	if (m->stats.oversubscribed)
		m->quantum_left = m->quantum_end > m->now ? m->quantum_end - m->now : 0;
	if (!m->current.grace_ns || !m->resident_batches) {
		unmap_begin(m);
		return;
	}
	m->phase = GP_PHASE_GRACE;
	m->phase_end = m->now + m->current.grace_ns;
}

static void serve_next_update(struct gp_model *m)
{
	if (!m->update_count)
		return;
	m->current = m->updates[m->update_head];
	m->update_head = (m->update_head + 1) % GP_MODEL_MAX_UPDATES;
	m->update_count--;
	switch_begin(m);
}

int gp_model_runlist_update(struct gp_model *m, u64 now, u32 grace, u64 tag)
{
	struct gp_model_update update = {.tag = tag};

	if (!tag)
		return -EINVAL;
	if (!gp_model_reach(m, now) || m->update_count == GP_MODEL_MAX_UPDATES)
		return -EAGAIN;
	/* At most 2^32 * 2^10 * 10^6 / 10^3, and the product fits too. */
	update.grace_ns = (u64)grace * GRACE_CLOCKS * 1000000 / m->config.chip.clock_khz;
	m->updates[(m->update_head + m->update_count++) % GP_MODEL_MAX_UPDATES] = update;
	if (m->phase == GP_PHASE_RUN)
		serve_next_update(m);
	return 0;
}

void gp_model_end_grace(struct gp_model *m)
{
	if (m->phase == GP_PHASE_GRACE)
		m->phase_end = m->now;
}

static struct gp_model_queue *first_queue(const struct gp_model *m, const struct gp_list *process)
{
	for (; process != &m->processes; process = process->next) {
		const struct gp_model_process *p =
			gp_container(process, struct gp_model_process, link);

		if (p->queue_count)
			return gp_container(p->queues.next, struct gp_model_queue, link);
	}
	return NULL;
}

/* The order of the runlist, which is a circle: processes by age, in each its queues by age. */
static struct gp_model_queue *queue_after(const struct gp_model *m, const struct gp_model_queue *q)
{
	struct gp_model_queue *next;

	if (q->link.next != &q->process->queues)
		return gp_container(q->link.next, struct gp_model_queue, link);
	next = first_queue(m, q->process->link.next);
	return next ? next : first_queue(m, m->processes.next);
}

void gp_model_runlist_changed(struct gp_model *m, struct gp_model_queue *q)
{
	if (!q->changed)
		gp_list_add_tail(&m->changed, &q->changed_link);
	q->changed = true;
}

/* Among the enabled processes by age: few come and go at a time, so the next older one is near. */
static void insert(struct gp_model *m, struct gp_model_process *process)
{
	struct gp_list *before = &m->enabled, *link = process->link.prev;

	for (; link != &m->processes; link = link->prev) {
		struct gp_model_process *older = gp_container(link, struct gp_model_process, link);

		if (older->enabled) {
			before = &older->enabled_link;
			break;
		}
	}
	gp_list_add_head(before, &process->enabled_link);
	m->enabled_processes++;
}

/* The queue is enabled from now on, or is not any more. */
static void count(struct gp_model *m, const struct gp_model_queue *q, bool enabled)
{
	struct gp_model_process *process = q->process;

	if (enabled && !process->enabled++) {
		insert(m, process);
	} else if (!enabled && !--process->enabled) {
		gp_list_remove(&process->enabled_link);
		m->enabled_processes--;
	}
	m->enabled_queues += enabled ? 1 : -1u;
	if (q->wanted.type == GP_MODEL_COMPUTE)
		m->enabled_compute += enabled ? 1 : -1u;
}

void gp_model_runlist_forget(struct gp_model *m, struct gp_model_queue *q)
{
	struct gp_model_queue *next = queue_after(m, q);

	if (q->changed)
		gp_list_remove(&q->changed_link);
	if (q->now.enabled)
		count(m, q, false);
	if (next == q)
		next = NULL;
	if (m->turn == q)
		m->turn = next;
	if (m->next_turn == q)
		m->next_turn = next;
}

static void apply(struct gp_model *m, struct gp_model_queue *q)
{
	u64 work = q->submitted - q->completed, any = 0;

	if (q->now.enabled) {
		m->enabled_work -= work;
		count(m, q, false);
	}
	q->now = q->wanted;
	if (q->now.enabled) {
		m->enabled_work += work;
		count(m, q, true);
	}
	for (u32 i = 0; i < GP_MODEL_CU_WORDS; i++)
		any |= q->now.cu_mask[i];
	for (u32 i = 0; i < GP_MODEL_CU_WORDS; i++) {
		u64 inside = gp_cu_word(m, i);

		q->now.cu_mask[i] = any ? q->now.cu_mask[i] & inside : inside;
	}
}

/* Takes over what is wanted of the queues, and says whether it fits. */
static bool apply_all(struct gp_model *m)
{
	while (!gp_list_empty(&m->changed)) {
		struct gp_model_queue *q =
			gp_container(m->changed.next, struct gp_model_queue, changed_link);

		gp_list_remove(&q->changed_link);
		q->changed = false;
		apply(m, q);
	}
	return m->enabled_processes <= m->config.chip.vmids &&
	       m->enabled_compute <= m->config.chip.slots;
}

static struct gp_model_queue *oldest_queue(const struct gp_model_process *process)
{
	return gp_container(process->queues.next, struct gp_model_queue, link);
}

/* The next process in the circle that has an enabled queue; there is one. */
static const struct gp_model_process *next_enabled(const struct gp_model *m,
						   const struct gp_model_process *process)
{
	const struct gp_list *link = process->enabled_link.next;

	if (process->enabled)
		return gp_container(link == &m->enabled ? link->next : link,
				    struct gp_model_process, enabled_link);
	do {
		link = process->link.next == &m->processes ? m->processes.next : process->link.next;
		process = gp_container(link, struct gp_model_process, link);
	} while (!process->enabled);
	return process;
}

/* The circle without processes that have nothing enabled. */
static struct gp_model_queue *enabled_after(const struct gp_model *m, struct gp_model_queue *q)
{
	do {
		if (q->process->enabled && q->link.next != &q->process->queues)
			q = gp_container(q->link.next, struct gp_model_queue, link);
		else
			q = oldest_queue(next_enabled(m, q->process));
	} while (!q->now.enabled);
	return q;
}

static struct gp_model_queue *first_enabled(const struct gp_model *m)
{
	struct gp_model_queue *q = m->turn;

	if (!q)
		q = oldest_queue(
			gp_container(m->enabled.next, struct gp_model_process, enabled_link));
	return q->now.enabled ? q : enabled_after(m, q);
}

/* Maps queues from `turn` on until one does not fit: it will have the next turn. */
static void select_queues(struct gp_model *m)
{
	struct gp_model_queue *q = m->enabled_queues ? first_enabled(m) : NULL;
	u32 slots = 0;

	m->stats.mapped_queues = m->stats.mapped_processes = 0;
	m->next_turn = NULL;
	for (u32 left = m->enabled_queues; left; left--, q = enabled_after(m, q)) {
		bool compute = q->now.type == GP_MODEL_COMPUTE;
		struct gp_model_process *p = q->process;

		if ((compute && slots == m->config.chip.slots) ||
		    (p->vmid_index == GP_MODEL_NONE &&
		     m->stats.mapped_processes == m->config.chip.vmids)) {
			m->next_turn = q;
			break;
		}
		if (p->vmid_index == GP_MODEL_NONE)
			p->vmid_index = m->stats.mapped_processes++;
		if (compute)
			q->slot = slots++;
		q->mapped = true;
		m->stats.mapped_queues++;
		gp_list_add_tail(&m->mapped, &q->mapped_link);
	}
	GP_ASSERT(!m->next_turn == !m->stats.oversubscribed);
}

/* Whose turn it is: a rotation moves on, an update only if the quantum is over anyway. */
static void choose_turn(struct gp_model *m)
{
	bool was = m->stats.oversubscribed;

	m->stats.oversubscribed = !apply_all(m);
	if (!m->stats.oversubscribed) {
		m->turn = NULL;
		return;
	}
	if (was && m->current.tag && m->quantum_left)
		return;
	m->turn = was ? m->next_turn : NULL;
	m->quantum_left = m->config.chip.quantum_ns;
}

/* Places saved batches. Those that find CUs are read back before the map ends: what that takes. */
static u64 restore(struct gp_model *m)
{
	u64 xcc_bytes[GP_MODEL_MAX_XCC] = {0};
	struct gp_list *link;

	gp_list_for_each (link, &m->mapped) {
		gp_model_queue_refresh(m, gp_container(link, struct gp_model_queue, mapped_link));
	}
	GP_ASSERT(!m->restored_count);
	gp_model_cu_return(m);
	gp_model_cu_allocate(m);
	if (!m->restored_count)
		return 0;
	for (u32 i = 0; i < m->restored_count; i++)
		gp_model_cu_bytes(m, gp_pool_at(&m->batches_pool, m->restored[i]), xcc_bytes);
	return m->config.chip.restore_ns +
	       transfer_ns(xcc_bytes, m->config.chip.restore_bytes_per_us);
}

static void map_begin(struct gp_model *m)
{
	const struct gp_model_chip *chip = &m->config.chip;
	u64 cost = 0;

	m->phase = GP_PHASE_MAP;
	choose_turn(m);
	select_queues(m);
	if (m->stats.mapped_queues)
		cost = chip->map_ns + m->stats.mapped_queues * chip->map_queue_ns;
	m->phase_end = m->now + cost + restore(m);
}

static void unmap_end(struct gp_model *m)
{
	struct gp_model_action *action = gp_model_emit(m, GP_MODEL_UNMAPPED);

	action->tag = m->current.tag;
	action->saved_bytes = m->unmapped.saved_bytes;
	action->saved_waves = m->unmapped.saved_waves;
	action->unmapped_queues = m->unmapped.unmapped_queues;
	while (!gp_list_empty(&m->mapped)) {
		struct gp_model_queue *q =
			gp_container(m->mapped.next, struct gp_model_queue, mapped_link);

		GP_ASSERT(q->mapped && !q->ready && !q->resident_waves);
		q->mapped = false;
		q->process->vmid_index = GP_MODEL_NONE;
		gp_list_remove(&q->mapped_link);
	}
	map_begin(m);
}

static void map_end(struct gp_model *m)
{
	struct gp_list *link;

	gp_model_emit(m, GP_MODEL_MAPPED)->tag = m->current.tag;
	m->stats.switch_ns += m->now - m->frozen_at;
	if (m->current.tag)
		m->stats.updates++;
	else
		m->stats.rotations++;
	m->phase = GP_PHASE_RUN;
	m->quantum_end = m->now + m->quantum_left;
	gp_model_cu_thaw(m);
	gp_list_for_each (link, &m->mapped) {
		gp_model_queue_thaw(m, gp_container(link, struct gp_model_queue, mapped_link));
	}
	m->unsettled = true;
	serve_next_update(m);
}

void gp_model_runlist_phase(struct gp_model *m)
{
	switch (m->phase) {
	case GP_PHASE_GRACE:
		unmap_begin(m);
		break;
	case GP_PHASE_UNMAP:
		unmap_end(m);
		break;
	case GP_PHASE_MAP:
		map_end(m);
		break;
	case GP_PHASE_RUN:
		break;
	}
}

void gp_model_runlist_rotate(struct gp_model *m)
{
	memset(&m->current, 0, sizeof(m->current));
	switch_begin(m);
}

u64 gp_model_runlist_next(const struct gp_model *m)
{
	switch (m->phase) {
	case GP_PHASE_GRACE:
		return m->resident_batches ? m->phase_end : m->now;
	case GP_PHASE_UNMAP:
	case GP_PHASE_MAP:
		return m->phase_end;
	case GP_PHASE_RUN:
		break;
	}
	if (!m->stats.oversubscribed || !m->enabled_work)
		return GP_MODEL_NEVER;
	return GP_MAX(m->quantum_end, m->now);
}
