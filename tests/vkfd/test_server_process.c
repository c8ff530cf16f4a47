/* RUNTIME_ENABLE, rings, the birth and death of processes, SMI events. */
#include <poll.h>

#include "fake_vm.h"

#define TARGET   100
#define DEBUGGER 200

static int start(void **state)
{
	*state = fake_start(1, GP_ERA_6_12, GP_COMPAT);
	return 0;
}

static int start_two(void **state)
{
	*state = fake_start(2, GP_ERA_6_12, GP_COMPAT);
	return 0;
}

static int stop(void **state)
{
	fake_stop(*state);
	return 0;
}

/* ---- RUNTIME_ENABLE ---- */

static void runtime_enable_comes_before_the_first_queue(void **state)
{
	struct fake_vm *fake = *state;
	struct gp_vm_process *a = process_add(fake, TARGET);

	assert_int_equal(runtime_enable(fake, a, 1), 0);
	assert_int_equal(runtime_enable(fake, a, 1), -EBUSY);
	assert_int_equal(runtime_enable(fake, a, 0), 0);
	assert_int_equal(runtime_enable(fake, a, 0), 0);
	create(fake, a);
	assert_int_equal(runtime_enable(fake, a, 1), -EEXIST);
	assert_int_equal(runtime_enable(fake, a, 3), -EEXIST);
	destroy(fake, a, 0);
	assert_int_equal(runtime_enable(fake, a, 3), 0);
	assert_int_equal(a->ttmp_setup, 1);
	create(fake, a);
	assert_int_equal(runtime_enable(fake, a, 0), 0);
	assert_int_equal(runtime_enable(fake, a, 1), -EEXIST);
}

static u32 begin_runtime(struct fake_vm *fake, struct gp_vm_process *process, u32 mode)
{
	struct gp_kfd_runtime_enable_args args = {.mode_mask = mode};
	u32 sequence = begin(fake, &(struct call){.process = process,
						  .nr = _IOC_NR(GP_KFD_IOC_RUNTIME_ENABLE),
						  .args = &args,
						  .args_size = sizeof(args)});

	pass(fake, MS);
	return sequence;
}

static s64 send_event(struct fake_vm *fake, struct gp_vm_process *debugger, u64 mask, u32 queue)
{
	struct gp_kfd_dbg_trap_args args = {
		.pid = TARGET,
		.op = GP_KFD_DBG_SEND_RUNTIME_EVENT,
		.send_runtime_event = {.exception_mask = mask, .queue_id = queue},
	};

	return trap(fake, debugger, 0, &args, 0, NULL, 0);
}

static void with_a_debugger_runtime_enable_waits_for_its_answer(void **state)
{
	struct fake_vm *fake = *state;
	struct gp_vm_process *a = process_add(fake, TARGET), *d = process_add(fake, DEBUGGER);
	u64 runtime = GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME);
	struct gp_kfd_dbg_trap_args query = {.pid = TARGET, .op = GP_KFD_DBG_QUERY_DEBUG_EVENT};
	int ends[2];
	char byte;
	u32 waiting;

	assert_int_equal(pipe(ends), 0);
	set_tracer(fake, TARGET, DEBUGGER);
	assert_int_equal(enable_from(fake, d, 0, TARGET, runtime, ends[1]), 0);
	waiting = begin_runtime(fake, a, 1);
	assert_int_equal(result_of(fake, waiting), NOT_YET);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	query.query_debug_event.exception_mask = runtime;
	assert_int_equal(trap(fake, d, 0, &query, 0, NULL, 0), 0);
	assert_true(query.query_debug_event.exception_mask == runtime);
	assert_int_equal(send_event(fake, d, runtime, 0), 0);
	assert_int_equal(result_of(fake, waiting), 0);
	/* Off again: the same wait. */
	waiting = begin_runtime(fake, a, 0);
	assert_int_equal(result_of(fake, waiting), NOT_YET);
	send_event(fake, d, runtime, 0);
	pass(fake, MS);
	assert_int_equal(result_of(fake, waiting), 0);
	assert_int_equal(a->runtime_state, GP_KFD_RUNTIME_DISABLED);
	close(ends[0]);
}

static void an_answer_before_the_question_is_kept(void **state)
{
	struct fake_vm *fake = *state;
	struct gp_vm_process *a = process_add(fake, TARGET), *d = process_add(fake, DEBUGGER);

	set_tracer(fake, TARGET, DEBUGGER);
	enable(fake, d, TARGET);
	send_event(fake, d, GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME), 0);
	assert_int_equal(runtime_enable(fake, a, 1), 0);
	/* Other exceptions are for a queue, which must be there. */
	assert_int_equal(send_event(fake, d, 1, 0), -EINVAL);
	create(fake, a);
	assert_int_equal(send_event(fake, d, 1, 0), 0);
	assert_int_equal(send_event(fake, d, GP_KFD_EC_MASK(GP_KFD_EC_DEVICE_MEMORY_VIOLATION), 0),
			 -ENODEV);
}

static void only_a_signal_wakes_it_when_the_debugger_leaves(void **state)
{
	struct fake_vm *fake = *state;
	struct gp_vm_process *a = process_add(fake, TARGET), *d = process_add(fake, DEBUGGER);
	struct gp_kfd_dbg_trap_args query = {.pid = TARGET, .op = GP_KFD_DBG_QUERY_DEBUG_EVENT};
	u32 waiting;

	set_tracer(fake, TARGET, DEBUGGER);
	enable(fake, d, TARGET);
	waiting = begin_runtime(fake, a, 1);
	query.query_debug_event.exception_mask = ~0ull;
	assert_int_equal(trap(fake, d, 0, &query, 0, NULL, 0), -EAGAIN);
	assert_int_equal(simple_op(fake, d, TARGET, GP_KFD_DBG_DISABLE), 0);
	process_end(fake, d);
	pass(fake, 3000 * MS);
	assert_int_equal(result_of(fake, waiting), NOT_YET);
	signal_to(fake, waiting);
	assert_int_equal(result_of(fake, waiting), -EINTR);
	assert_int_equal(runtime_enable(fake, a, 1), 0);
}

static void an_interrupted_runtime_enable_waits_again(void **state)
{
	struct fake_vm *fake = *state;
	struct gp_vm_process *a = process_add(fake, TARGET), *d = process_add(fake, DEBUGGER);
	u32 waiting;

	set_tracer(fake, TARGET, DEBUGGER);
	enable(fake, d, TARGET);
	waiting = begin_runtime(fake, a, 1);
	signal_to(fake, waiting);
	waiting = begin_runtime(fake, a, 1);
	assert_int_equal(result_of(fake, waiting), NOT_YET);
	send_event(fake, d, GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME), 0);
	assert_int_equal(result_of(fake, waiting), 0);
}

/* ---- rings ---- */

static void every_packet_is_launched_and_completed_once_and_in_order(void **state)
{
	struct fake_vm *fake = *state;
	struct gp_vm_process *a = process_add(fake, TARGET);
	u64 launched[2] = {0}, finished[2] = {0};
	struct gp_vkfd_done done;

	create(fake, a);
	create(fake, a);
	for (u32 i = 0; i < 3000; i++)
		ring_put(a, &(struct gp_vkfd_work){.queue_id = i % 2,
						   .tag = i / 2,
						   .flags = GP_VKFD_BARRIER});
	assert_int_equal(gp_vm_ring_read(&fake->vm, a), 0);
	while (a->outstanding)
		pass(fake, MS);
	while (ring_get(a, &done)) {
		u64 *next = done.kind == GP_VKFD_LAUNCHED ? launched : finished;

		assert_int_equal(done.tag, next[done.queue_id]++);
	}
	assert_int_equal(launched[0] + launched[1], 3000);
	assert_int_equal(finished[0] + finished[1], 3000);
	assert_int_equal(a->dones_due, 0);
}

static void a_full_done_ring_holds_up_only_its_own_process(void **state)
{
	struct fake_vm *fake = *state;
	struct gp_vm_process *a = process_add(fake, TARGET), *b = process_add(fake, DEBUGGER);
	u32 put = 0, got = 0;

	create(fake, a);
	create(fake, b);
	for (u32 i = 0; i < GP_VKFD_WORK_SLOTS; i++, put++)
		ring_put(a, &(struct gp_vkfd_work){.tag = i});
	gp_vm_ring_read(&fake->vm, a);
	pass(fake, 100 * MS);
	assert_int_equal(a->shared->done_ring.produced, 2 * GP_VKFD_WORK_SLOTS);
	for (u32 i = 0; i < 100; i++, put++)
		ring_put(a, &(struct gp_vkfd_work){.tag = i});
	assert_int_equal(gp_vm_ring_read(&fake->vm, a), -EAGAIN);
	assert_true(a->stalled);
	ring_put(b, &(struct gp_vkfd_work){.tag = 1});
	assert_int_equal(gp_vm_ring_read(&fake->vm, b), 0);
	pass(fake, MS);
	assert_int_equal(completed(b), 1);
	got += completed(a);
	pass(fake, 10 * MS);
	assert_false(a->stalled);
	got += completed(a);
	assert_int_equal(got, put);
}

static void more_work_than_the_model_takes_waits(void **state)
{
	struct fake_vm *fake = *state;
	struct gp_vm_process *all[17];
	u32 got = 0;

	for (u32 p = 0; p < 17; p++) {
		all[p] = gp_vm_process_add(&fake->vm, 1000 + (pid_t)p);
		assert_int_equal(gp_vm_process_share(all[p]), 0);
		create(fake, all[p]);
		for (u32 i = 0; i < GP_VKFD_WORK_SLOTS; i++)
			ring_put(all[p], &(struct gp_vkfd_work){.tag = i});
		gp_vm_ring_read(&fake->vm, all[p]);
	}
	assert_true(all[16]->stalled); /* 16 * 4096 is all the model holds */
	for (u32 turn = 0; turn < 100; turn++) {
		pass(fake, 20 * MS);
		for (u32 p = 0; p < 17; p++)
			got += completed(all[p]);
	}
	assert_int_equal(got, 17 * GP_VKFD_WORK_SLOTS);
}

static void a_ring_that_lies_is_noticed(void **state)
{
	struct fake_vm *fake = *state;
	struct gp_vm_process *a = process_add(fake, TARGET);
	struct gp_model_work out;
	struct gp_vkfd_work work = kernel(0, 1, 1000), bad;

	create(fake, a);
	a->shared->work_ring.produced = GP_VKFD_WORK_SLOTS + 1;
	assert_int_equal(gp_vm_ring_read(&fake->vm, a), -EPROTO);
	assert_int_equal(fake->diag.warnings, 1);
	a->shared->work_ring.produced = 0;
	a->shared->done_ring.consumed = 1;
	ring_put(a, &work);
	assert_int_equal(gp_vm_ring_read(&fake->vm, a), -EPROTO);
	a->shared->done_ring.consumed = 0;
	assert_int_equal(gp_vm_ring_read(&fake->vm, a), 0);
	bad = work;
	bad.queue_id = GP_VKFD_MAX_QUEUES;
	ring_put(a, &bad);
	assert_int_equal(gp_vm_ring_read(&fake->vm, a), -EPROTO);
#define LIES(field, value, sdma)                                               \
	do {                                                                   \
		bad = work;                                                    \
		bad.field = (value);                                           \
		assert_int_equal(gp_vm_work_check(&bad, sdma, &out), -EPROTO); \
	} while (0)
	LIES(flags, 0x80, false);
	LIES(workgroups, 0, false);
	LIES(workgroups, 1ull << 60, false);
	LIES(workgroup_ns, UINT64_MAX, false);
	LIES(waves_per_workgroup, 0, false);
	LIES(waves_per_workgroup, 65, false);
	LIES(vgprs, 513, false);
	LIES(lds_bytes, 65537, false);
	LIES(bytes, UINT64_MAX, false);
	LIES(tag, 0, true); /* a kernel on an SDMA queue */
	assert_int_equal(gp_vm_work_check(&work, false, &out), 0);
	assert_int_equal(out.workgroups, 8);
}

static void work_for_a_queue_that_is_gone_is_dropped(void **state)
{
	struct fake_vm *fake = *state;
	struct gp_vm_process *a = process_add(fake, TARGET);
	struct gp_vkfd_work work = kernel(3, 1, 1000);

	ring_put(a, &work);
	assert_int_equal(gp_vm_ring_read(&fake->vm, a), 0);
	assert_int_equal(a->shared->work_ring.consumed, 1);
	assert_int_equal(a->outstanding, 0);
}

static void sdma_time_is_counted(void **state)
{
	struct fake_vm *fake = *state;
	struct gp_vm_process *a = process_add(fake, TARGET);

	create_on(fake, a, 0, GP_KFD_QUEUE_SDMA);
	ring_put(a, &(struct gp_vkfd_work){.bytes = 10000000, .flags = GP_VKFD_BARRIER});
	gp_vm_ring_read(&fake->vm, a);
	pass(fake, 10 * MS);
	assert_int_equal(completed(a), 1);
	assert_true(a->sdma_ns[0] >= MS);
}

/* ---- life and death ---- */

static void whoever_merely_opened_kfd_costs_a_preemption_when_it_ends(void **state)
{
	struct fake_vm *fake = *state;
	struct gp_vm_process *bystander = process_add(fake, TARGET);
	u64 before;

	create(fake, bystander);
	before = updates(fake, 0);
	for (int i = 0; i < 5; i++)
		process_end(fake, process_add(fake, 900));
	assert_int_equal(updates(fake, 0), before + 5);
}

static void a_dead_process_leaves_nothing_behind(void **state)
{
	struct fake_vm *fake = *state;
	struct gp_vm_process *a = process_add(fake, TARGET), *b = process_add(fake, DEBUGGER);
	struct gp_vkfd_work work = kernel(0, 1, 100 * MS), other = kernel(0, 2, MS);
	u32 index = a->index;

	for (u32 i = 0; i < 4; i++)
		create_on(fake, a, i % 2, GP_KFD_QUEUE_COMPUTE_AQL);
	create(fake, b);
	ring_put(a, &work);
	gp_vm_ring_read(&fake->vm, a);
	pass(fake, MS);
	process_end(fake, a);
	ring_put(b, &other);
	gp_vm_ring_read(&fake->vm, b);
	pass(fake, 5 * MS);
	assert_int_equal(completed(b), 1); /* not behind the dead one's kernel */
	assert_int_equal(fake->vm.devices[0].queue_count, 1);
	assert_int_equal(fake->vm.devices[1].queue_count, 0);
	assert_null(fake->vm.devices[0].zombies);
	assert_int_equal(fake->tree_gone, 1);
	assert_int_equal(process_add(fake, 101)->index, index); /* its doorbells are free again */
}

static void a_process_that_dies_while_it_creates_a_queue_leaves_none(void **state)
{
	struct fake_vm *fake = *state;
	struct gp_vm_process *a = process_add(fake, TARGET);
	struct gp_kfd_create_queue_args args = queue_args(fake, 0, GP_KFD_QUEUE_COMPUTE_AQL);

	begin(fake, &(struct call){.process = a,
				   .nr = _IOC_NR(GP_KFD_IOC_CREATE_QUEUE),
				   .args = &args,
				   .args_size = sizeof(args)});
	process_end(fake, a);
	pass(fake, MS);
	assert_int_equal(fake->vm.devices[0].queue_count, 0);
}

static void calls_of_one_process_are_answered_in_order(void **state)
{
	struct fake_vm *fake = *state;
	struct gp_vm_process *a = process_add(fake, TARGET), *b = process_add(fake, DEBUGGER);
	struct gp_kfd_create_queue_args args = queue_args(fake, 0, GP_KFD_QUEUE_COMPUTE_AQL);
	struct gp_kfd_get_available_memory_args room = {.gpu_id = gpu_id(fake, 0)};
	struct call memory = {.nr = _IOC_NR(GP_KFD_IOC_AVAILABLE_MEMORY),
			      .args = &room,
			      .args_size = sizeof(room)};
	u32 first, second, other;

	create(fake, b);
	first = begin(fake, &(struct call){.process = a,
					   .nr = _IOC_NR(GP_KFD_IOC_CREATE_QUEUE),
					   .args = &args,
					   .args_size = sizeof(args)});
	memory.process = a;
	second = begin(fake, &memory);
	memory.process = b;
	other = begin(fake, &memory);
	assert_int_equal(result_of(fake, other), 0);
	assert_int_equal(result_of(fake, first), NOT_YET);
	assert_int_equal(result_of(fake, second), NOT_YET);
	pass(fake, MS);
	assert_int_equal(result_of(fake, first), 0);
	assert_int_equal(result_of(fake, second), 0);
}

static void speed_stretches_time_both_ways(void **state)
{
	struct fake_vm *fake = *state;

	fake->vm.options.speed_permille = 500;
	fake->now = fake->vm.raw_epoch_ns + 1000;
	gp_vm_tick(&fake->vm);
	assert_int_equal(gp_vm_now(&fake->vm), 500);
	assert_int_equal(gp_vm_raw_time(&fake->vm, 500), fake->now);
	fake->vm.options.speed_permille = 3000;
	assert_int_equal(gp_vm_raw_time(&fake->vm, 3001), fake->vm.raw_epoch_ns + 1001);
	fake->vm.options.speed_permille = 500;
	fake->now -= 100; /* a clock that goes back does not turn the model back */
	gp_vm_tick(&fake->vm);
	assert_int_equal(gp_vm_now(&fake->vm), 500);
}

/* ---- SMI ---- */

static u32 smi_text(int fd, char *text, u32 size)
{
	ssize_t got = read(fd, text, size - 1);

	text[got > 0 ? got : 0] = 0;
	return got > 0 ? (u32)got : 0;
}

static void smi_events_pass_the_filter_of_the_reader(void **state)
{
	struct fake_vm *fake = *state;
	struct gp_vm_process *a = process_add(fake, TARGET);
	struct gp_kfd_smi_events_args args = {.gpuid = gpu_id(fake, 0)};
	u64 filter = 1ull << (9 - 1);
	char text[128];
	int fd;

	assert_int_equal(CALL(fake, a, SMI_EVENTS, &args), 0);
	fd = answer_of(fake, fake->sequence)->fd;
	assert_true(fd >= 0);
	gp_vm_smi_event(&fake->vm, args.gpuid, TARGET, "9 1 -100 5f6c 2\n");
	assert_int_equal(read(fd, text, 1), -1); /* nothing asked for, and it does not block */
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(write(fd, &filter, sizeof(filter)), sizeof(filter));
	gp_vm_smi_event(&fake->vm, args.gpuid, TARGET, "9 1 -100 5f6c 2\n");
	gp_vm_smi_event(&fake->vm, args.gpuid, TARGET, "a 1 -100 5f6c 0\n");
	gp_vm_smi_event(&fake->vm, args.gpuid, DEBUGGER, "9 1 -200 5f6c 2\n");
	gp_vm_smi_event(&fake->vm, 1, TARGET, "9 1 -100 1 2\n");
	assert_int_equal(smi_text(fd, text, sizeof(text)), 16);
	assert_string_equal(text, "9 1 -100 5f6c 2\n");
	/* Suspend and update are no evictions. */
	create(fake, a);
	update_percent(fake, a, 0, 0);
	assert_int_equal(smi_text(fd, text, sizeof(text)), 0);
	close(fd);
	answer_of(fake, fake->sequence)->fd = -1;
	gp_vm_smi_event(&fake->vm, gpu_id(fake, 0), TARGET, "9 1 -100 5f6c 2\n");
	assert_null(fake->vm.smi);
	args.gpuid = 1;
	assert_int_equal(CALL(fake, a, SMI_EVENTS, &args), -EINVAL);
}

#define WITH(test, first) cmocka_unit_test_setup_teardown(test, first, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(runtime_enable_comes_before_the_first_queue, start),
		WITH(with_a_debugger_runtime_enable_waits_for_its_answer, start),
		WITH(an_answer_before_the_question_is_kept, start),
		WITH(only_a_signal_wakes_it_when_the_debugger_leaves, start),
		WITH(an_interrupted_runtime_enable_waits_again, start),
		WITH(every_packet_is_launched_and_completed_once_and_in_order, start),
		WITH(a_full_done_ring_holds_up_only_its_own_process, start),
		WITH(more_work_than_the_model_takes_waits, start),
		WITH(a_ring_that_lies_is_noticed, start),
		WITH(work_for_a_queue_that_is_gone_is_dropped, start),
		WITH(sdma_time_is_counted, start),
		WITH(whoever_merely_opened_kfd_costs_a_preemption_when_it_ends, start),
		WITH(a_dead_process_leaves_nothing_behind, start_two),
		WITH(a_process_that_dies_while_it_creates_a_queue_leaves_none, start),
		WITH(calls_of_one_process_are_answered_in_order, start),
		WITH(speed_stretches_time_both_ways, start),
		WITH(smi_events_pass_the_filter_of_the_reader, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
