// SPDX-License-Identifier: MIT
/* The join of log, sysfs, descriptors and slots, on data made for each sentence. */
#include "testlib.h"

#include "inspect/find.h"

#define PID    4242
#define RING_A 0x7f1000000000ull
#define RING_B 0x7f1000200000ull
#define OBJ_A  0x7f2000001000ull
#define OBJ_B  0x7f2000002000ull

struct scene {
	struct gp_kfd_slot descriptors[4], slots[4];
	struct gp_gpu_queue ids[4];
	struct gp_gpu_process sysfs;
	struct gp_gpu_state state;
	struct gp_inspect_find_live live;
	struct gp_inspect_find_process out;
	size_t matched;
};

static void scene_init(struct scene *s)
{
	*s = (struct scene){0};
	s->sysfs = (struct gp_gpu_process){.pid = PID, .queues = s->ids};
	s->state.descriptors.items = s->descriptors;
	s->state.slots.items = s->slots;
	s->live = (struct gp_inspect_find_live){.sysfs = &s->sysfs, .state = &s->state, .pid = PID};
}

static void add_descriptor(struct scene *s, u64 ring, u64 object, u64 bytes, u32 pid)
{
	s->state.valid |= GP_WATCH_DESCRIPTORS;
	s->descriptors[s->state.descriptors.count++] = (struct gp_kfd_slot){
		.kind = GP_SLOT_COMPUTE,
		.gpu_id = 0xf7bc,
		.pid = pid,
		.valid = GP_SLOT_REGISTERS | GP_SLOT_OBJECT | GP_SLOT_PRIORITY,
		.ring = ring,
		.object = object,
		.ring_bytes = bytes,
		.queue_priority = 11,
	};
}

static void add_slot(struct scene *s, u64 ring, u32 pid, bool active)
{
	s->state.valid |= GP_WATCH_SLOTS;
	s->slots[s->state.slots.count++] = (struct gp_kfd_slot){
		.kind = GP_SLOT_COMPUTE,
		.gpu_id = 0xf7bc,
		.pid = pid,
		.active = active,
		.valid = GP_SLOT_REGISTERS | GP_SLOT_POINTERS | GP_SLOT_BACKLOG,
		.aql = true,
		.ring = ring,
		.rptr = 18,
		.wptr = 19,
		.backlog = 1,
	};
}

static void add_id(struct scene *s, u32 id, u64 size)
{
	s->ids[s->sysfs.queue_count++] = (struct gp_gpu_queue){.id = id,
							       .gpu_id = 0xf7bc,
							       .type = GP_QUEUE_COMPUTE,
							       .size = size};
}

static struct gp_inspect_find_queue *join(struct scene *s, const struct gp_trace_log_queue *logged,
					  size_t count)
{
	assert_int_equal(gp_inspect_find_join(logged, count, &s->live, &s->out, &s->matched), 0);
	return s->out.queues;
}

static void log_matches_by_ring(void **state)
{
	struct gp_trace_log_queue logged = {.pid = PID,
					    .address = RING_A,
					    .dispatches = 7,
					    .valid = GP_LQ_PACKETS};
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	q = join(&s, &logged, 1);
	assert_int_equal(s.out.count, 1);
	assert_int_equal(s.matched, 1);
	assert_int_equal(q->key, GP_KEY_RING);
	assert_int_equal(q->object, OBJ_A);
	assert_int_equal(q->from[GP_FIND_OBJECT], GP_FROM_MQD);
	assert_int_equal(q->dispatches, 7);
	assert_int_equal(q->from[GP_FIND_DISPATCHES], GP_FROM_LOG);
	/* 11 is what the driver calls high. */
	assert_int_equal(q->priority, 2);
	free(s.out.queues);
}

static void log_matches_by_object(void **state)
{
	struct gp_trace_log_queue logged = {.pid = PID, .address = OBJ_A, .key = GP_ADDRESS_OBJECT};
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	q = join(&s, &logged, 1);
	assert_int_equal(s.out.count, 1);
	assert_int_equal(q->key, GP_KEY_OBJECT);
	assert_int_equal(q->ring, RING_A);
	free(s.out.queues);
}

static void an_address_known_to_be_a_ring_is_not_taken_for_an_object(void **state)
{
	struct gp_trace_log_queue logged = {.pid = PID, .address = OBJ_A, .key = GP_ADDRESS_RING};
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	join(&s, &logged, 1);
	assert_int_equal(s.out.count, 2);
	assert_int_equal(s.matched, 0);
	free(s.out.queues);
}

static void the_same_object_with_another_ring_is_another_queue(void **state)
{
	struct gp_trace_log_queue logged = {.pid = PID,
					    .address = RING_B,
					    .key = GP_ADDRESS_RING,
					    .valid = GP_LQ_OBJECT,
					    .object = OBJ_A};
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	join(&s, &logged, 1);
	assert_int_equal(s.out.count, 2);
	free(s.out.queues);
}

static void creation_and_use_under_two_addresses_become_one_row(void **state)
{
	struct gp_trace_log_queue logged[] = {
		{.pid = PID, .address = OBJ_A, .created = true},
		{.pid = PID,
		 .address = RING_A,
		 .dispatches = 3,
		 .barriers = 1,
		 .valid = GP_LQ_PACKETS},
	};
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	q = join(&s, logged, 2);
	assert_int_equal(s.out.count, 1);
	assert_int_equal(q->key, GP_KEY_BOTH);
	assert_int_equal(q->dispatches, 3);
	assert_int_equal(q->barriers, 1);
	free(s.out.queues);
}

static void a_deleted_queue_is_not_the_live_one_at_its_address(void **state)
{
	struct gp_trace_log_queue logged = {.pid = PID, .address = RING_A, .deleted = true};
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	q = join(&s, &logged, 1);
	assert_int_equal(s.out.count, 2);
	assert_false(q[0].logged);
	assert_false(q[1].active);
	free(s.out.queues);
}

static void activity_and_pointers_come_from_the_slot_of_the_same_process(void **state)
{
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	add_descriptor(&s, RING_B, OBJ_B, 1 << 20, PID);
	add_slot(&s, RING_A, PID, true);
	/* The same address in another process, and a stale slot, say nothing of ours. */
	add_slot(&s, RING_B, PID + 1, true);
	add_slot(&s, RING_B, PID, false);
	q = join(&s, NULL, 0);
	assert_int_equal(s.out.count, 2);
	assert_true(q[0].active);
	assert_int_equal(q[0].rptr, 18);
	assert_int_equal(q[0].backlog, 1);
	assert_false(q[1].active);
	assert_int_equal(q[1].from[GP_FIND_ACTIVE], GP_FROM_HQD);
	assert_int_equal(q[1].from[GP_FIND_RPTR], GP_FROM_NOWHERE);
	free(s.out.queues);
}

static void live_pointers_are_not_mixed_with_logged_ones(void **state)
{
	struct gp_trace_log_queue logged = {.pid = PID,
					    .address = RING_A,
					    .valid = GP_LQ_RPTR | GP_LQ_WPTR,
					    .rptr = 5,
					    .wptr = 9};
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	add_slot(&s, RING_A, PID, true);
	q = join(&s, &logged, 1);
	assert_int_equal(q->rptr, 18);
	assert_int_equal(q->wptr, 19);
	assert_int_equal(q->backlog, 1);
	free(s.out.queues);
}

static void backlog_of_a_log_is_what_was_ahead_of_the_last_packet(void **state)
{
	struct gp_trace_log_queue logged = {.pid = PID,
					    .address = RING_A,
					    .valid = GP_LQ_RPTR | GP_LQ_WPTR,
					    .rptr = 5,
					    .wptr = 9};
	struct gp_inspect_find_process out = {0};
	size_t matched;

	(void)state;
	assert_int_equal(gp_inspect_find_join(&logged, 1, NULL, &out, &matched), 0);
	assert_int_equal(out.queues[0].backlog, 4);
	free(out.queues);
}

static void one_id_for_one_queue_is_a_match(void **state)
{
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	add_descriptor(&s, RING_B, OBJ_B, 1 << 16, PID);
	add_id(&s, 0, 1 << 16);
	add_id(&s, 3, 1 << 20);
	q = join(&s, NULL, 0);
	assert_int_equal(s.out.count, 2);
	assert_int_equal(q[0].kfd_id, 3);
	assert_int_equal(q[0].from[GP_FIND_KFD_ID], GP_FROM_MATCH);
	assert_int_equal(q[1].kfd_id, 0);
	assert_int_equal(q[0].candidate_count, 0);
	free(s.out.queues);
}

static void ids_that_fit_several_queues_stay_candidates(void **state)
{
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	add_descriptor(&s, RING_B, OBJ_B, 1 << 20, PID);
	add_id(&s, 0, 1 << 20);
	add_id(&s, 1, 1 << 20);
	q = join(&s, NULL, 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(q[i].from[GP_FIND_KFD_ID], GP_FROM_NOWHERE);
		assert_int_equal(q[i].candidate_count, 2);
		assert_int_equal(q[i].candidates[1], 1);
	}
	free(s.out.queues);
}

static void one_id_for_two_queues_belongs_to_neither(void **state)
{
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	add_descriptor(&s, RING_B, OBJ_B, 1 << 20, PID);
	add_id(&s, 0, 1 << 20);
	q = join(&s, NULL, 0);
	assert_int_equal(q[0].from[GP_FIND_KFD_ID], GP_FROM_NOWHERE);
	assert_int_equal(q[1].from[GP_FIND_KFD_ID], GP_FROM_NOWHERE);
	free(s.out.queues);
}

static void an_id_that_fits_nothing_is_a_queue_of_its_own(void **state)
{
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	add_id(&s, 5, 4096);
	q = join(&s, NULL, 0);
	assert_int_equal(s.out.count, 1);
	assert_int_equal(q->kfd_id, 5);
	assert_int_equal(q->from[GP_FIND_KFD_ID], GP_FROM_SYSFS);
	assert_int_equal(q->from[GP_FIND_RING], GP_FROM_NOWHERE);
	assert_int_equal(q->from[GP_FIND_ACTIVE], GP_FROM_NOWHERE);
	free(s.out.queues);
}

static void descriptors_of_others_and_of_further_xccs_are_left_out(void **state)
{
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	s.descriptors[1].xcc = 1;
	add_descriptor(&s, RING_B, OBJ_B, 1 << 20, PID + 1);
	join(&s, NULL, 0);
	assert_int_equal(s.out.count, 1);
	free(s.out.queues);
}

static void the_first_xcc_of_a_partition_need_not_be_0(void **state)
{
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	add_slot(&s, RING_A, PID, true);
	add_slot(&s, RING_A, PID, true);
	s.slots[0].valid |= GP_SLOT_XCC;
	s.slots[0].xcc = 3;
	s.slots[0].rptr = 0;
	s.slots[1].valid |= GP_SLOT_XCC;
	s.slots[1].xcc = 2;
	q = join(&s, NULL, 0);
	assert_true(q->active);
	assert_int_equal(q->rptr, 18);
	free(s.out.queues);
}

static void a_slot_that_was_not_decoded_leaves_activity_unknown(void **state)
{
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	add_slot(&s, RING_B, PID, true);
	add_slot(&s, 0, 0, false);
	s.slots[1].valid = 0;
	q = join(&s, NULL, 0);
	assert_int_equal(q->from[GP_FIND_ACTIVE], GP_FROM_NOWHERE);
	free(s.out.queues);
	/* Nor is it known when somebody, we do not know who, has that ring on the hardware. */
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	add_slot(&s, RING_A, 0, true);
	q = join(&s, NULL, 0);
	assert_int_equal(q->from[GP_FIND_ACTIVE], GP_FROM_NOWHERE);
	free(s.out.queues);
}

static void pointers_that_do_not_count_packets_are_not_shown(void **state)
{
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	add_slot(&s, RING_A, PID, true);
	s.slots[0].aql = false;
	q = join(&s, NULL, 0);
	assert_true(q->active);
	assert_int_equal(q->from[GP_FIND_RPTR], GP_FROM_NOWHERE);
	assert_int_equal(q->from[GP_FIND_BACKLOG], GP_FROM_NOWHERE);
	free(s.out.queues);
}

static void a_queue_known_from_a_log_alone_gets_no_id(void **state)
{
	struct gp_trace_log_queue logged = {.pid = PID,
					    .address = RING_A,
					    .valid = GP_LQ_SIZE,
					    .size_packets = 16384};
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	add_id(&s, 4, 1 << 20);
	q = join(&s, &logged, 1);
	assert_int_equal(s.out.count, 1);
	assert_int_equal(q->from[GP_FIND_KFD_ID], GP_FROM_NOWHERE);
	assert_int_equal(q->candidate_count, 1);
	assert_int_equal(q->candidates[0], 4);
	free(s.out.queues);
	/* A size the log does not tell rules nothing out. */
	scene_init(&s);
	add_id(&s, 4, 1 << 20);
	logged.valid = 0;
	q = join(&s, &logged, 1);
	assert_int_equal(s.out.count, 1);
	assert_int_equal(q->candidate_count, 1);
	free(s.out.queues);
}

static void an_id_of_another_gpu_or_type_is_another_queue(void **state)
{
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	add_id(&s, 0, 1 << 20);
	add_id(&s, 1, 1 << 20);
	add_id(&s, 2, 1 << 20);
	s.ids[1].gpu_id = 0x1234;
	s.ids[2].type = GP_QUEUE_SDMA_XGMI;
	q = join(&s, NULL, 0);
	assert_int_equal(s.out.count, 3);
	assert_int_equal(q[0].kfd_id, 0);
	assert_int_equal(q[1].kfd_id, 1);
	assert_int_equal(q[2].kfd_id, 2);
	free(s.out.queues);
}

static void one_queue_with_two_possible_ids_has_neither(void **state)
{
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	add_id(&s, 0, 1 << 20);
	add_id(&s, 1, 1 << 20);
	q = join(&s, NULL, 0);
	assert_int_equal(s.out.count, 1);
	assert_int_equal(q->from[GP_FIND_KFD_ID], GP_FROM_NOWHERE);
	assert_int_equal(q->candidate_count, 2);
	free(s.out.queues);
}

static void a_deleted_queue_does_not_compete_for_an_id(void **state)
{
	struct gp_trace_log_queue logged = {.pid = PID,
					    .address = RING_B,
					    .deleted = true,
					    .valid = GP_LQ_SIZE,
					    .size_packets = 16384};
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	add_id(&s, 6, 1 << 20);
	q = join(&s, &logged, 1);
	assert_int_equal(q[0].kfd_id, 6);
	assert_int_equal(q[0].from[GP_FIND_KFD_ID], GP_FROM_MATCH);
	free(s.out.queues);
}

static void what_the_driver_lacks_is_gone_if_the_process_is_alive(void **state)
{
	struct gp_trace_log_queue logged = {.pid = PID, .address = RING_B};
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	s.live.alive = true;
	add_descriptor(&s, RING_A, OBJ_A, 1 << 20, PID);
	q = join(&s, &logged, 1);
	assert_false(q[1].active);
	assert_int_equal(q[1].from[GP_FIND_ACTIVE], GP_FROM_MQD);
	free(s.out.queues);
	/* Without descriptors, a process that has no queue at all says the same. */
	scene_init(&s);
	s.live.alive = s.live.sysfs_read = true;
	s.live.sysfs = NULL;
	q = join(&s, &logged, 1);
	assert_false(q->active);
	assert_int_equal(q->from[GP_FIND_ACTIVE], GP_FROM_SYSFS);
	free(s.out.queues);
}

static void more_candidates_than_kept_are_counted(void **state)
{
	struct gp_gpu_queue ids[GP_FIND_CANDIDATES_MAX + 4];
	struct gp_trace_log_queue logged = {.pid = PID, .address = RING_A};
	struct gp_inspect_find_queue *q;
	struct scene s;

	(void)state;
	scene_init(&s);
	s.sysfs.queues = ids;
	for (u32 i = 0; i < GP_ARRAY_SIZE(ids); i++)
		ids[i] = (struct gp_gpu_queue){.id = i, .type = GP_QUEUE_COMPUTE, .size = 4096};
	s.sysfs.queue_count = GP_ARRAY_SIZE(ids);
	q = join(&s, &logged, 1);
	assert_int_equal(q->candidate_count, GP_FIND_CANDIDATES_MAX + 4);
	free(s.out.queues);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log_matches_by_ring),
		cmocka_unit_test(log_matches_by_object),
		cmocka_unit_test(an_address_known_to_be_a_ring_is_not_taken_for_an_object),
		cmocka_unit_test(the_same_object_with_another_ring_is_another_queue),
		cmocka_unit_test(creation_and_use_under_two_addresses_become_one_row),
		cmocka_unit_test(a_deleted_queue_is_not_the_live_one_at_its_address),
		cmocka_unit_test(activity_and_pointers_come_from_the_slot_of_the_same_process),
		cmocka_unit_test(live_pointers_are_not_mixed_with_logged_ones),
		cmocka_unit_test(backlog_of_a_log_is_what_was_ahead_of_the_last_packet),
		cmocka_unit_test(one_id_for_one_queue_is_a_match),
		cmocka_unit_test(ids_that_fit_several_queues_stay_candidates),
		cmocka_unit_test(one_id_for_two_queues_belongs_to_neither),
		cmocka_unit_test(an_id_that_fits_nothing_is_a_queue_of_its_own),
		cmocka_unit_test(descriptors_of_others_and_of_further_xccs_are_left_out),
		cmocka_unit_test(the_first_xcc_of_a_partition_need_not_be_0),
		cmocka_unit_test(a_slot_that_was_not_decoded_leaves_activity_unknown),
		cmocka_unit_test(pointers_that_do_not_count_packets_are_not_shown),
		cmocka_unit_test(a_queue_known_from_a_log_alone_gets_no_id),
		cmocka_unit_test(an_id_of_another_gpu_or_type_is_another_queue),
		cmocka_unit_test(one_queue_with_two_possible_ids_has_neither),
		cmocka_unit_test(a_deleted_queue_does_not_compete_for_an_id),
		cmocka_unit_test(what_the_driver_lacks_is_gone_if_the_process_is_alive),
		cmocka_unit_test(more_candidates_than_kept_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
