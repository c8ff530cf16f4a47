// SPDX-License-Identifier: MIT
/* The invariants of the model, checked from the outside in; tests call it after every step. */
#include "model/state.h"

/* Gathered over all queues, to be compared with the model's own sums. */
struct sums {
	u32 enabled, compute, processes; /* enabled queues, those of compute, processes with any */
	const struct gp_list *last;      /* of these processes, in model->enabled */
	u32 mapped, ready, held, running, resident, batches, packets, saved;
	u64 work, cu_ns, saved_bytes;
	u64 cu[GP_MODEL_CU_WORDS];
};

static const char *check_batch(const struct gp_model_batch *batch)
{
	const struct gp_model_packet *packet = batch->packet;
	u32 bits = 0;

	for (u32 i = 0; i < GP_MODEL_CU_WORDS; i++)
		bits += gp_popcount(batch->cu[i]);
	if (bits != batch->cus || !batch->cus)
		return "the CU count of a batch is wrong";
	if (!batch->lanes || !batch->rounds ||
	    gp_divide_up(batch->lanes, packet->occupancy) != batch->cus)
		return "the lanes of a batch do not fill its CUs";
	return NULL;
}

static const char *check_saved(const struct gp_model_queue *q, struct sums *sums)
{
	u32 waves = 0, cus = q->held_cus, held = 0;
	const struct gp_list *link;
	u64 bytes = 0;

	gp_list_for_each (link, &q->saved) {
		const struct gp_model_batch *batch =
			gp_container(link, struct gp_model_batch, link);
		const char *broken = check_batch(batch);

		if (broken)
			return broken;
		if (batch->resident || batch->packet->queue != q)
			return "a saved batch is resident or in the wrong queue";
		waves += batch->lanes * batch->packet->waves;
		bytes += batch->lanes * batch->packet->group_bytes;
		cus += batch->cus;
		held++;
	}
	if (waves != q->saved_waves || bytes != q->saved_bytes)
		return "a queue's saved waves or bytes do not add up";
	if (!gp_list_empty(&q->saved))
		sums->saved = GP_MAX(sums->saved, cus);
	sums->batches += held;
	sums->saved_bytes += bytes;
	return NULL;
}

static const char *check_packets(const struct gp_model_queue *q, struct sums *sums)
{
	u64 waiting = 0, live = 0, launched = 0;
	const struct gp_list *link;

	gp_list_for_each (link, &q->waiting) {
		const struct gp_model_packet *packet =
			gp_container(link, struct gp_model_packet, link);

		if (packet->launched && (waiting || !packet->groups_left))
			return "a packet was launched out of turn";
		if (packet->queue != q || packet->over)
			return "a waiting packet is complete or in the wrong queue";
		launched += packet->launched;
		waiting++;
	}
	gp_list_for_each (link, &q->live) {
		const struct gp_model_packet *packet =
			gp_container(link, struct gp_model_packet, link);

		if (!packet->launched || packet->groups_left)
			return "a packet with unstarted workgroups is marked live";
		live++;
	}
	launched += live;
	if (live != q->live_count || waiting + live != q->submitted - q->completed ||
	    launched != q->launched - q->completed)
		return "a queue's packets do not add up";
	if (q->dispatch == GP_DISPATCH_READY && !waiting)
		return "a queue is ready without a packet";
	sums->packets += (u32)(waiting + live);
	sums->work += q->now.enabled ? waiting + live : 0;
	return NULL;
}

static const char *check_queue(const struct gp_model *m, const struct gp_model_queue *q,
			       struct sums *sums)
{
	const char *broken = check_saved(q, sums);

	if (!broken)
		broken = check_packets(q, sums);
	if (broken)
		return broken;
	if (!q->mapped && (q->ready || q->held_cus || q->resident_waves))
		return "a queue uses the hardware without being mapped";
	if (q->mapped && (q->process->vmid_index == GP_MODEL_NONE || !q->now.enabled))
		return "a queue is mapped without a VMID or though it is disabled";
	if (q->running_cus > q->held_cus || q->cu_mark > m->now)
		return "a queue runs on CUs it does not hold";
	sums->mapped += q->mapped;
	sums->enabled += q->now.enabled;
	sums->compute += q->now.enabled && q->now.type == GP_MODEL_COMPUTE;
	sums->ready += q->ready && q->now.type == GP_MODEL_COMPUTE;
	sums->held += q->held_cus;
	sums->running += q->running_cus;
	sums->cu_ns += q->cu_ns + q->running_cus * (m->now - q->cu_mark);
	return NULL;
}

/* Every resident batch: those with an event, and while mapping those just placed. */
static const char *check_resident(const struct gp_model *m, struct sums *sums)
{
	u32 total = m->events.count + m->restored_count;

	for (u32 i = 0; i < total; i++) {
		const struct gp_heap_entry *event =
			i < m->events.count ? &m->events.entry[i] : NULL;
		const struct gp_model_batch *batch;
		const char *broken;

		if (event && event->key < m->now)
			return "an event is in the past";
		if (event && event->kind != GP_EVENT_BATCH)
			continue;
		batch = gp_pool_at(&m->batches_pool,
				   event ? event->value : m->restored[i - m->events.count]);
		broken = check_batch(batch);
		if (broken)
			return broken;
		if (!batch->resident)
			return "a batch has an event but is not resident";
		for (u32 w = 0; w < GP_MODEL_CU_WORDS; w++) {
			if (batch->cu[w] & (sums->cu[w] | m->free[w]))
				return "two batches hold the same CU, or one is free";
			if (batch->cu[w] & ~batch->packet->queue->now.cu_mask[w])
				return "a batch holds a CU outside its queue's mask";
			sums->cu[w] |= batch->cu[w];
		}
		if (event && event->key != batch->started_ns + batch->left_ns)
			return "the end time of a batch does not match its remaining time";
		sums->resident++;
	}
	for (u32 w = 0; w < GP_MODEL_CU_WORDS; w++)
		if ((m->free[w] | sums->cu[w]) != gp_cu_word(m, w))
			return "a CU is neither in use nor free, or does not exist";
	sums->batches += sums->resident;
	return NULL;
}

/* An engine at work has its packet in the queue's live list and exactly one event. */
static const char *check_engines(const struct gp_model *m)
{
	u32 busy = 0, events = 0;

	for (u32 i = 0; i < m->events.count; i++)
		events += m->events.entry[i].kind == GP_EVENT_SDMA;
	for (u32 i = 0; i < GP_MODEL_MAX_ENGINES; i++) {
		const struct gp_model_packet *packet = m->engine[i].packet;

		if (!packet)
			continue;
		busy++;
		if (!packet->queue->process || packet->queue->now.engine != i ||
		    packet->queue->live.next != &packet->link)
			return "an engine runs the wrong packet";
		if (m->phase == GP_PHASE_MAP ||
		    (m->phase == GP_PHASE_UNMAP && m->phase_end < m->engine[i].end_ns))
			return "an unmap did not wait for an engine";
	}
	return busy == events ? NULL : "engines and their events do not match";
}

static const char *check_sums(const struct gp_model *m, const struct sums *sums)
{
	struct gp_model_stats stats;

	gp_model_stats(m, &stats);
	if (sums->mapped != (m->phase == GP_PHASE_MAP || m->phase == GP_PHASE_RUN
				     ? m->stats.mapped_queues
				     : sums->mapped) ||
	    stats.mapped_processes > m->config.chip.vmids)
		return "mapped queues or processes do not add up";
	if (sums->enabled != m->enabled_queues || sums->compute != m->enabled_compute ||
	    sums->processes != m->enabled_processes)
		return "enabled queues or their processes do not add up";
	if (sums->ready != m->ready_queues)
		return "ready queues do not add up";
	if (sums->held != m->cus - m->free_cus || sums->running != m->running_cus ||
	    sums->resident != m->resident_batches)
		return "CUs do not add up";
	if (sums->batches != m->batches_pool.used || sums->packets != m->packets_pool.used)
		return "a batch or packet is lost";
	if (sums->saved > m->cus)
		return "the batches of a queue use more CUs than exist";
	if (sums->work != m->enabled_work)
		return "work in enabled queues does not add up";
	if (sums->cu_ns + m->removed_cu_ns != stats.busy_cu_ns)
		return "CU time by queue and by batch differ";
	if (stats.saved_bytes != stats.restored_bytes + sums->saved_bytes + m->dropped_bytes)
		return "saved bytes are neither restored, kept nor dropped";
	if (m->phase != GP_PHASE_RUN && m->phase_end < m->now)
		return "a switch did not end on time";
	if (stats.switch_ns > stats.now_ns)
		return "more time went into switches than has passed";
	return NULL;
}

const char *gp_model_check(const struct gp_model *m)
{
	const struct gp_list *p, *link;
	struct sums sums = {.last = &m->enabled};
	const char *broken;

	gp_list_for_each (p, &m->processes) {
		const struct gp_model_process *process =
			gp_container(p, struct gp_model_process, link);
		u32 before = sums.enabled;

		gp_list_for_each (link, &process->queues) {
			broken = check_queue(m, gp_container(link, struct gp_model_queue, link),
					     &sums);
			if (broken)
				return broken;
		}
		if (process->enabled != sums.enabled - before)
			return "the enabled-queue count of a process is wrong";
		if (!process->enabled)
			continue;
		sums.processes++;
		if (process->enabled_link.prev != sums.last)
			return "processes with enabled queues are not in order";
		sums.last = &process->enabled_link;
	}
	broken = check_resident(m, &sums);
	if (!broken)
		broken = check_engines(m);
	return broken ? broken : check_sums(m, &sums);
}
