// SPDX-License-Identifier: MIT
/*
 * Compute units: how much of a kernel fits on one, which queue gets the free ones, and batches from
 * start to end, through any number of saves.
 */
#include "model/state.h"

#define VGPR_GRANULE 8 /* gfx90a and gfx94x allocate vector registers in eights */

static u32 vgprs_allocated(u32 vgprs)
{
	return vgprs > UINT32_MAX - VGPR_GRANULE ? UINT32_MAX
	       : vgprs ? (vgprs + VGPR_GRANULE - 1) / VGPR_GRANULE * VGPR_GRANULE
		       : VGPR_GRANULE;
}

u32 gp_model_occupancy(const struct gp_model_chip *chip, u32 waves_per_workgroup, u32 vgprs,
		       u32 lds_bytes)
{
	u32 by_registers = chip->vgpr_per_simd / vgprs_allocated(vgprs);
	u32 waves = GP_MIN(chip->waves_per_simd, by_registers) * chip->simd_per_cu;
	u32 groups = waves_per_workgroup ? waves / waves_per_workgroup : 0;

	if (lds_bytes)
		groups = GP_MIN(groups, chip->lds_per_cu / lds_bytes);
	return groups;
}

u64 gp_model_workgroup_bytes(const struct gp_model_chip *chip, u32 waves_per_workgroup, u32 vgprs,
			     u32 lds_bytes)
{
	u64 wave = chip->wave_fixed_bytes, total;

	/* Far beyond what fits on a CU: any large answer will do, but not a wrapped one. */
	wave += (u64)vgprs_allocated(vgprs) * chip->wave_size * sizeof(u32);
	if (!gp_multiply(waves_per_workgroup, wave, GP_MODEL_TIME_MAX, &total))
		return GP_MODEL_TIME_MAX;
	return total + lds_bytes;
}

void gp_model_cu_mark(struct gp_model *m, struct gp_model_queue *q)
{
	q->cu_ns += q->running_cus * (m->now - q->cu_mark);
	q->cu_mark = m->now;
}

/* The lowest `count` bits of `from`, moved to `to`. */
static void move_bits(u64 *from, u64 *to, u32 count)
{
	for (u32 i = 0; i < GP_MODEL_CU_WORDS && count; i++) {
		for (; from[i] && count; count--) {
			u64 bit = from[i] & -from[i];

			from[i] ^= bit;
			to[i] |= bit;
		}
	}
	GP_ASSERT(!count);
}

static u32 count_bits(const u64 *map)
{
	u32 count = 0;

	for (u32 i = 0; i < GP_MODEL_CU_WORDS; i++)
		count += gp_popcount(map[i]);
	return count;
}

static void hold(struct gp_model *m, struct gp_model_batch *batch)
{
	struct gp_model_queue *q = batch->packet->queue;

	for (u32 i = 0; i < GP_MODEL_CU_WORDS; i++) {
		GP_ASSERT(!(batch->cu[i] & ~m->free[i]));
		GP_ASSERT(!(batch->cu[i] & ~q->now.cu_mask[i]));
		m->free[i] &= ~batch->cu[i];
	}
	batch->resident = true;
	m->free_cus -= batch->cus;
	q->held_cus += batch->cus;
	m->resident_batches++;
	q->resident_waves += batch->lanes * batch->packet->waves;
}

static void give_up(struct gp_model *m, struct gp_model_batch *batch)
{
	struct gp_model_queue *q = batch->packet->queue;

	for (u32 i = 0; i < GP_MODEL_CU_WORDS; i++) {
		GP_ASSERT(!(batch->cu[i] & m->free[i]));
		m->free[i] |= batch->cu[i];
	}
	batch->resident = false;
	m->free_cus += batch->cus;
	q->held_cus -= batch->cus;
	m->resident_batches--;
	q->resident_waves -= batch->lanes * batch->packet->waves;
}

/* From now on the batch makes progress. */
static void run(struct gp_model *m, struct gp_model_batch *batch)
{
	struct gp_model_queue *q = batch->packet->queue;

	gp_model_cu_mark(m, q);
	q->running_cus += batch->cus;
	m->running_cus += batch->cus;
	batch->started_ns = m->now;
	gp_model_event(m, m->now + batch->left_ns, GP_EVENT_BATCH,
		       gp_pool_index(&m->batches_pool, batch));
}

/* The batch stops running, done or not; both accounts get the time since it started. */
static void stop(struct gp_model *m, struct gp_model_batch *batch)
{
	struct gp_model_queue *q = batch->packet->queue;
	u64 ran = m->now - batch->started_ns;

	GP_ASSERT(ran <= batch->left_ns);
	gp_model_cu_mark(m, q);
	q->running_cus -= batch->cus;
	m->running_cus -= batch->cus;
	batch->left_ns -= ran;
	m->stats.busy_cu_ns += batch->cus * ran;
	m->stats.ran_wg_ns += batch->lanes * ran;
	batch->packet->ran_wg_ns += batch->lanes * ran;
	give_up(m, batch);
}

/* Puts a saved batch on up to `limit` of the CUs in `usable`, preferring those it had. */
static void place(struct gp_model *m, struct gp_model_batch *batch, u64 *usable, u32 limit)
{
	struct gp_model_packet *packet = batch->packet;
	struct gp_model_queue *q = packet->queue;
	u64 had[GP_MODEL_CU_WORDS], take[GP_MODEL_CU_WORDS] = {0};
	u32 same;

	for (u32 i = 0; i < GP_MODEL_CU_WORDS; i++)
		had[i] = batch->cu[i] & usable[i];
	same = GP_MIN(count_bits(had), limit);
	move_bits(had, take, same);
	for (u32 i = 0; i < GP_MODEL_CU_WORDS; i++)
		usable[i] &= ~take[i];
	move_bits(usable, take, limit - same);
	if (limit < batch->cus) {
		/* What does not fit stays saved; both parts have the same time left. */
		struct gp_model_batch *rest = gp_pool_get(&m->batches_pool);
		u64 others[GP_MODEL_CU_WORDS];

		GP_ASSERT(rest);
		rest->packet = packet;
		rest->rounds = batch->rounds;
		rest->left_ns = batch->left_ns;
		rest->cus = batch->cus - limit;
		rest->lanes = batch->lanes - limit * packet->occupancy;
		for (u32 i = 0; i < GP_MODEL_CU_WORDS; i++)
			others[i] = batch->cu[i] & ~take[i];
		move_bits(others, rest->cu, rest->cus);
		gp_list_add_head(&batch->link, &rest->link);
		batch->cus = limit;
		batch->lanes = limit * packet->occupancy;
	}
	memcpy(batch->cu, take, sizeof(take));
	gp_list_remove(&batch->link);
	q->saved_waves -= batch->lanes * packet->waves;
	q->saved_bytes -= batch->lanes * packet->group_bytes;
	m->stats.restored_bytes += batch->lanes * packet->group_bytes;
	hold(m, batch);
	if (m->phase == GP_PHASE_RUN)
		run(m, batch);
	else
		m->restored[m->restored_count++] = gp_pool_index(&m->batches_pool, batch);
}

static void start_batch(struct gp_model *m, struct gp_model_packet *packet, u64 *usable, u32 cus)
{
	struct gp_model_batch *batch = gp_pool_get(&m->batches_pool);
	u64 room = (u64)cus * packet->occupancy;

	GP_ASSERT(batch && packet->groups_left);
	batch->packet = packet;
	batch->cus = cus;
	batch->lanes = (u32)GP_MIN(room, packet->groups_left);
	batch->rounds = 1;
	if (packet->group_ns < GP_MODEL_BATCH_NS)
		batch->rounds = (u32)GP_MIN(GP_MODEL_BATCH_NS / packet->group_ns,
					    packet->groups_left / batch->lanes);
	move_bits(usable, batch->cu, cus);
	packet->groups_left -= (u64)batch->lanes * batch->rounds;
	packet->groups_live += (u64)batch->lanes * batch->rounds;
	hold(m, batch);
	m->stats.batches++;
	m->started[m->started_count++] = gp_pool_index(&m->batches_pool, batch);
	if (!packet->launched)
		gp_model_queue_launch(m, packet);
	if (!packet->groups_left)
		gp_model_queue_started(m, packet);
}

/* Gives one queue at most `share` free CUs. False when it can use none of them. */
static bool serve(struct gp_model *m, struct gp_model_queue *q, u32 share)
{
	u64 usable[GP_MODEL_CU_WORDS];
	u32 count;

	for (u32 i = 0; i < GP_MODEL_CU_WORDS; i++)
		usable[i] = m->free[i] & q->now.cu_mask[i];
	count = GP_MIN(count_bits(usable), share);
	if (!count)
		return false;
	if (!gp_list_empty(&q->saved)) {
		struct gp_model_batch *batch =
			gp_container(q->saved.next, struct gp_model_batch, link);

		place(m, batch, usable, GP_MIN(count, batch->cus));
	} else {
		struct gp_model_packet *packet =
			gp_container(q->waiting.next, struct gp_model_packet, link);
		u64 need = gp_divide_up(packet->groups_left, packet->occupancy);

		start_batch(m, packet, usable, (u32)GP_MIN(count, need));
	}
	gp_model_queue_refresh(m, q);
	return true;
}

/* One turn for every ready queue of a level, each with an equal share of what is left. */
static bool serve_level(struct gp_model *m, u32 level)
{
	bool any = false;

	for (u32 turns = m->ready_count[level]; turns && m->free_cus; turns--) {
		struct gp_list *link = m->ready[level].next;

		gp_list_remove(link);
		gp_list_add_tail(&m->ready[level], link);
		any |= serve(m, gp_container(link, struct gp_model_queue, ready_link),
			     (u32)gp_divide_up(m->free_cus, turns));
	}
	return any;
}

/* How long a new batch takes with everything in place that started at the same instant. */
static void set_time(struct gp_model *m, struct gp_model_batch *batch)
{
	u64 alone = batch->rounds * batch->packet->group_ns, slower;
	u32 mine = batch->packet->queue->held_cus;
	u32 others = m->cus - m->free_cus - mine;

	batch->left_ns = alone;
	if (!others || !m->config.chip.contention_permille)
		return;
	slower = (u64)m->config.chip.contention_permille * others / (m->cus - mine);
	slower = gp_scale(alone, slower, 1000);
	batch->left_ns += slower;
	batch->packet->contention_wg_ns += batch->lanes * slower;
}

void gp_model_cu_allocate(struct gp_model *m)
{
	u32 levels = m->ready_levels;

	m->started_count = 0;
	for (; levels && m->free_cus; levels &= ~(1u << gp_highest_bit(levels)))
		while (m->free_cus && serve_level(m, gp_highest_bit(levels)))
			;
	for (u32 i = 0; i < m->started_count; i++) {
		struct gp_model_batch *batch = gp_pool_at(&m->batches_pool, m->started[i]);

		set_time(m, batch);
		run(m, batch);
	}
	m->started_count = 0;
}

void gp_model_cu_thaw(struct gp_model *m)
{
	for (u32 i = 0; i < m->restored_count; i++)
		run(m, gp_pool_at(&m->batches_pool, m->restored[i]));
	m->restored_count = 0;
}

void gp_model_cu_return(struct gp_model *m)
{
	for (u32 level = GP_MODEL_LEVELS; level-- > 0;) {
		struct gp_list *queue, *next_queue, *link, *following;

		gp_list_for_each_safe(queue, next_queue, &m->ready[level])
		{
			struct gp_model_queue *q =
				gp_container(queue, struct gp_model_queue, ready_link);

			gp_list_for_each_safe(link, following, &q->saved)
			{
				struct gp_model_batch *batch =
					gp_container(link, struct gp_model_batch, link);
				u64 usable[GP_MODEL_CU_WORDS], missing = 0;

				for (u32 i = 0; i < GP_MODEL_CU_WORDS; i++) {
					usable[i] = m->free[i] & q->now.cu_mask[i];
					missing |= batch->cu[i] & ~usable[i];
				}
				if (!missing)
					place(m, batch, usable, batch->cus);
			}
			gp_model_queue_refresh(m, q);
		}
	}
}

void gp_model_cu_batch_over(struct gp_model *m, struct gp_model_batch *batch)
{
	struct gp_model_packet *packet = batch->packet;

	stop(m, batch);
	GP_ASSERT(!batch->left_ns);
	packet->groups_live -= (u64)batch->lanes * batch->rounds;
	gp_pool_put(&m->batches_pool, batch);
	if (!packet->groups_left && !packet->groups_live)
		gp_model_queue_over(m, packet);
	m->unsettled = true;
}

u64 gp_model_cu_bytes(const struct gp_model *m, const struct gp_model_batch *batch, u64 *xcc_bytes)
{
	const struct gp_model_packet *packet = batch->packet;
	u32 lanes = batch->lanes;

	for (u32 i = 0; i < GP_MODEL_CU_WORDS; i++) {
		for (u64 word = batch->cu[i]; word; word &= word - 1) {
			u32 xcc = (i * 64 + gp_lowest_bit(word)) % m->config.chip.xcc_count;
			u32 here = GP_MIN(lanes, packet->occupancy);

			xcc_bytes[xcc] += here * packet->group_bytes;
			lanes -= here;
		}
	}
	GP_ASSERT(!lanes);
	return batch->lanes * packet->group_bytes;
}

void gp_model_cu_save(struct gp_model *m, struct gp_model_batch *batch, u64 *xcc_bytes)
{
	struct gp_model_queue *q = batch->packet->queue;
	u64 bytes = gp_model_cu_bytes(m, batch, xcc_bytes);
	u32 waves = batch->lanes * batch->packet->waves;

	stop(m, batch);
	gp_list_add_tail(&q->saved, &batch->link);
	q->saved_waves += waves;
	q->saved_bytes += bytes;
	m->stats.saved_bytes += bytes;
	m->unmapped.saved_bytes += bytes;
	m->unmapped.saved_waves += waves;
}
