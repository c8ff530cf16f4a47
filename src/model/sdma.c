// SPDX-License-Identifier: MIT
/* SDMA engines: one packet at a time each, round robin over the mapped queues that have one. */
#include "model/state.h"

static void start(struct gp_model *m, u32 index)
{
	struct gp_model_engine *engine = &m->engine[index];
	struct gp_model_queue *q =
		gp_container(engine->ready.next, struct gp_model_queue, ready_link);
	struct gp_model_packet *packet =
		gp_container(q->waiting.next, struct gp_model_packet, link);

	GP_ASSERT(q->mapped && q->ready && !gp_list_empty(&q->waiting));
	engine->packet = packet;
	engine->end_ns = m->now + packet->group_ns;
	q->dispatch = GP_DISPATCH_STARTED;
	gp_list_remove(&packet->link);
	gp_list_add_tail(&q->live, &packet->link);
	q->live_count++;
	gp_model_queue_launch(m, packet);
	gp_model_queue_refresh(m, q);
	gp_model_event(m, engine->end_ns, GP_EVENT_SDMA, index);
}

void gp_model_sdma_start(struct gp_model *m)
{
	for (u32 i = 0; i < m->config.chip.sdma_engines; i++)
		if (!m->engine[i].packet && !gp_list_empty(&m->engine[i].ready))
			start(m, i);
}

void gp_model_sdma_over(struct gp_model *m, u32 index)
{
	struct gp_model_engine *engine = &m->engine[index];
	struct gp_model_packet *packet = engine->packet;
	struct gp_model_queue *q = packet->queue;

	GP_ASSERT(engine->end_ns == m->now);
	engine->packet = NULL;
	packet->over = true;
	packet->end_ns = m->now;
	q->dispatch = GP_DISPATCH_IDLE;
	gp_model_queue_complete(m, packet);
	/* Another queue of the engine may be waiting while this one has nothing more. */
	m->unsettled = true;
}

/* There is one event for a busy engine; it goes to the top, past its parents, and out. */
static void remove_event(struct gp_model *m, u32 index)
{
	struct gp_heap_entry *entry = m->events.entry;
	u32 at = 0;

	while (at < m->events.count &&
	       (entry[at].kind != GP_EVENT_SDMA || entry[at].value != index))
		at++;
	GP_ASSERT(at < m->events.count);
	for (; at; at = (at - 1) / 2)
		entry[at] = entry[(at - 1) / 2];
	gp_heap_pop(&m->events);
}

void gp_model_sdma_abandon(struct gp_model *m, u32 index)
{
	struct gp_model_engine *engine = &m->engine[index];

	remove_event(m, index);
	engine->packet->queue->dispatch = GP_DISPATCH_IDLE;
	engine->packet = NULL;
	m->unsettled = true;
	if (m->phase == GP_PHASE_UNMAP)
		gp_model_runlist_wait_sdma(m);
}
