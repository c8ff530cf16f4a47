// SPDX-License-Identifier: MIT
/* The checker of invariants must itself be able to find fault: every fault below, by name. */
#include "rig.h"

/* A device in the middle of everything: running, saved, dispatching, completing, copying. */
static struct rig *busy_rig(u32 queue[4])
{
	struct rig *rig = rig_default();

	for (u32 i = 0; i < 3; i++)
		queue[i] = rig_queue(rig, 7);
	queue[3] = rig_sdma(rig, 0);
	rig_map(rig);
	rig_submit(rig, queue[0], rig_kernel(1, 20, 50000));
	rig_submit(rig, queue[1], rig_kernel(2, 20, 50000));
	rig_until(rig, rig->now + 5000);
	rig_set(rig, queue[1], false, 7, 0);
	rig_map(rig);
	rig_submit(rig, queue[2], rig_kernel(3, 2, 90000));
	rig_submit(rig, queue[3], (struct gp_model_work){.tag = 4, .bytes = 100000});
	rig_until(rig, rig->now + 60000);
	assert_true(rig_state(rig, queue[0]).resident_waves > 0);
	assert_true(rig_state(rig, queue[1]).saved_waves > 0);
	return rig;
}

static struct gp_model_batch *resident(struct rig *rig)
{
	struct gp_model *m = rig->model;

	for (u32 i = 0; i < m->events.count; i++)
		if (m->events.entry[i].kind == GP_EVENT_BATCH)
			return gp_pool_at(&m->batches_pool, m->events.entry[i].value);
	fail_msg("nothing is resident");
	return NULL;
}

/* Breaks one thing on a fresh device, and expects to be told that. */
#define FINDS(text, ...)                                                                  \
	do {                                                                              \
		u32 queue[4];                                                             \
		struct rig *rig = busy_rig(queue);                                        \
		struct gp_model *m = rig->model;                                          \
		struct gp_model_queue *on = gp_model_queue(m, queue[0]),                  \
				      *off = gp_model_queue(m, queue[1]);                 \
		struct gp_model_batch *batch = resident(rig),                             \
				      *saved = gp_container(off->saved.next,              \
							    struct gp_model_batch, link); \
		const char *said;                                                         \
                                                                                          \
		(void)on, (void)off, (void)batch, (void)saved;                            \
		assert_null(gp_model_check(m));                                           \
		__VA_ARGS__;                                                              \
		said = gp_model_check(m);                                                 \
		if (!said || !strstr(said, text))                                         \
			fail_msg("expected \"%s\", was told \"%s\"", text,                \
				 said ? said : "nothing");                                \
		rig_free(rig);                                                            \
	} while (0)

static void a_broken_batch_is_found(void **state)
{
	(void)state;
	FINDS("CU count of a batch", batch->cus++);
	FINDS("do not fill", batch->lanes += 40);
	FINDS("do not fill", saved->rounds = 0);
	FINDS("is resident", saved->resident = true);
	FINDS("not resident", batch->resident = false);
	FINDS("or one is free", gp_bit_set(m->free, gp_lowest_bit(batch->cu[0])));
	FINDS("outside its queue's mask", batch->packet->queue->now.cu_mask[0] = 0);
	FINDS("neither in use nor free", gp_bit_set(m->free, 60));
	FINDS("end time of a batch", batch->left_ns++);
	FINDS("in the past", m->now = 1ull << 40);
}

static void a_broken_queue_is_found(void **state)
{
	(void)state;
	FINDS("saved waves or bytes", off->saved_bytes++);
	FINDS("packets do not add up", on->submitted++);
	FINDS("packets do not add up", on->launched++);
	FINDS("launched out of turn",
	      gp_container(off->waiting.next, struct gp_model_packet, link)->groups_left = 0);
	FINDS("complete or in the wrong queue",
	      gp_container(off->waiting.next, struct gp_model_packet, link)->over = true);
	FINDS("marked live",
	      gp_container(gp_model_queue(m, queue[2])->live.next, struct gp_model_packet, link)
		      ->groups_left = 1);
	FINDS("ready without a packet", gp_model_queue(m, queue[2])->dispatch = GP_DISPATCH_READY);
	FINDS("without being mapped", off->held_cus = 1);
	FINDS("though it is disabled", on->now.enabled = false);
	FINDS("does not hold", on->running_cus = 9);
}

static void broken_sums_are_found(void **state)
{
	(void)state;
	FINDS("mapped queues", m->stats.mapped_queues++);
	FINDS("ready queues", m->ready_queues++);
	FINDS("CUs do not add up", m->free_cus--);
	FINDS("batch or packet is lost", m->batches_pool.used++);
	FINDS("enabled queues", m->enabled_work++);
	FINDS("by queue and by batch", m->removed_cu_ns++);
	FINDS("neither restored", m->dropped_bytes++);
	FINDS("did not end on time", m->phase = GP_PHASE_GRACE, m->phase_end = 0);
	FINDS("more time went", m->stats.switch_ns = 1ull << 60);
	FINDS("events do not match", m->engine[0].packet = NULL);
	FINDS("the wrong packet", m->engine[1].packet = m->engine[0].packet);
	FINDS("did not wait", m->phase = GP_PHASE_UNMAP, m->phase_end = m->now,
	      m->stats.switch_ns = 0, m->frozen_at = m->now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_broken_batch_is_found),
		cmocka_unit_test(a_broken_queue_is_found),
		cmocka_unit_test(broken_sums_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
