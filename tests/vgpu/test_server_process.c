// SPDX-License-Identifier: MIT
/* RUNTIME_ENABLE, the birth and death of processes, SMI events. */
#include <poll.h>
#include <sys/epoll.h>

#include "fake_server.h"

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
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET);

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

/* Newer runtimes call it themselves, and do not start when it is refused. */
static void a_runtime_takes_over_what_the_machine_enabled_for_it(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET);
	struct gp_kfd_runtime_enable_args machine = {.mode_mask = GP_KFD_RUNTIME_ENABLE};

	assert_int_equal(CALL(fake, a, RUNTIME_ENABLE, &machine), 0);
	assert_int_equal(runtime_enable(fake, a, 1), -EBUSY); /* the option is not set */
	fake->server.options.runtime_enable = true;
	assert_int_equal(CALL(fake, a, RUNTIME_ENABLE, &machine), -EBUSY);
	assert_int_equal(runtime_enable(fake, a, 3), 0);
	assert_int_equal(a->r_debug, 0x1234);
	assert_int_equal(a->ttmp_setup, 1);
	assert_int_equal(runtime_enable(fake, a, 3), -EBUSY);
}

static u32 ask_runtime(struct fake_server *fake, struct gp_vgpu_process *process, u32 mode)
{
	struct gp_kfd_runtime_enable_args args = {.mode_mask = mode};

	return begin(fake, &(struct call){.process = process,
					  .nr = _IOC_NR(GP_KFD_IOC_RUNTIME_ENABLE),
					  .args = &args,
					  .args_size = sizeof(args)});
}

static u32 begin_runtime(struct fake_server *fake, struct gp_vgpu_process *process, u32 mode)
{
	u32 sequence = ask_runtime(fake, process, mode);

	pass(fake, MS);
	return sequence;
}

static s64 send_event(struct fake_server *fake, struct gp_vgpu_process *debugger, u64 mask,
		      u32 queue)
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
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET), *d = process_add(fake, DEBUGGER);
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
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET), *d = process_add(fake, DEBUGGER);

	set_tracer(fake, TARGET, DEBUGGER);
	enable(fake, d, TARGET);
	send_event(fake, d, GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME), 0);
	assert_int_equal(runtime_enable(fake, a, 1), 0);
	/* Other exceptions are for a queue; of one that is not there nobody hears. */
	assert_int_equal(send_event(fake, d, 1, 0), 0);
	create(fake, a);
	assert_int_equal(send_event(fake, d, 1, 0), 0);
	assert_int_equal(send_event(fake, d, GP_KFD_EC_MASK(GP_KFD_EC_DEVICE_MEMORY_VIOLATION), 0),
			 -ENODEV);
}

static void only_a_signal_wakes_it_when_the_debugger_leaves(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET), *d = process_add(fake, DEBUGGER);
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
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET), *d = process_add(fake, DEBUGGER);
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

/* The signal comes while the driver waits for a preemption, which it does not interrupt. */
static void a_signal_stays_pending_until_the_wait_for_the_debugger(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET), *d = process_add(fake, DEBUGGER);
	u32 waiting;

	assert_int_equal(runtime_enable(fake, a, 1), 0);
	set_tracer(fake, TARGET, DEBUGGER);
	enable(fake, d, TARGET);
	create(fake, a);
	waiting = ask_runtime(fake, a, 0);
	assert_null(a->parked);
	signal_to(fake, waiting);
	pass(fake, 3000 * MS);
	assert_int_equal(result_of(fake, waiting), -EINTR);
}

/* ---- life and death ---- */

static void a_copy_dies_with_its_process(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET), *b = process_add(fake, DEBUGGER);
	u64 bytes = 1ull << 32; /* 429 ms */

	create_on(fake, a, 0, GP_KFD_QUEUE_SDMA);
	for (u64 tag = 1; tag < 10; tag++)
		ring_put(a, &(struct gp_vgpu_work){.bytes = bytes, .tag = tag});
	gp_vgpu_ring_read(&fake->server, a);
	pass(fake, MS);
	process_end(fake, a);
	pass(fake, MS);
	assert_null(fake->server.devices[0].zombies);
	assert_null(fake->server.devices[0].updates);
	assert_int_equal(create(fake, b), 0);
	assert_int_equal(fake->server.devices[0].queue_count, 1);
}

/* The client may hold the same files for as long as it likes. */
static void nothing_of_a_removed_process_is_watched_any_more(void **state)
{
	struct fake_server *fake = *state;
	struct epoll_event event;
	struct gp_vgpu_process *a;
	u64 one = 1;
	int held;

	fake->server.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	a = process_add(fake, getpid());
	assert_int_equal(gp_vgpu_watch(&fake->server, a->bell_fd, GP_VGPU_WATCH_WORK, a), 0);
	held = dup(a->client_bell_fd);
	assert_int_equal(write(held, &one, sizeof(one)), sizeof(one));
	assert_int_equal(epoll_wait(fake->server.epoll_fd, &event, 1, 0), 1);
	process_end(fake, a);
	assert_int_equal(epoll_wait(fake->server.epoll_fd, &event, 1, 0), 0);
	close(held);
	close(fake->server.epoll_fd);
	fake->server.epoll_fd = -1;
}

static void whoever_merely_opened_kfd_costs_a_preemption_when_it_ends(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *bystander = process_add(fake, TARGET);
	u64 before;

	create(fake, bystander);
	before = updates(fake, 0);
	for (int i = 0; i < 5; i++)
		process_end(fake, process_add(fake, 900));
	assert_int_equal(updates(fake, 0), before + 5);
}

static void a_dead_process_leaves_nothing_behind(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET), *b = process_add(fake, DEBUGGER);
	struct gp_vgpu_work work = kernel(0, 1, 100 * MS), other = kernel(0, 2, MS);
	u32 index = a->index;

	for (u32 i = 0; i < 4; i++)
		create_on(fake, a, i % 2, GP_KFD_QUEUE_COMPUTE_AQL);
	create(fake, b);
	ring_put(a, &work);
	gp_vgpu_ring_read(&fake->server, a);
	pass(fake, MS);
	process_end(fake, a);
	ring_put(b, &other);
	gp_vgpu_ring_read(&fake->server, b);
	pass(fake, 5 * MS);
	assert_int_equal(completed(b), 1); /* not behind the dead one's kernel */
	assert_int_equal(fake->server.devices[0].queue_count, 1);
	assert_int_equal(fake->server.devices[1].queue_count, 0);
	assert_null(fake->server.devices[0].zombies);
	assert_int_equal(fake->tree_gone, 1);
	assert_int_equal(process_add(fake, 101)->index, index); /* its doorbells are free again */
}

static void a_process_that_dies_while_it_creates_a_queue_leaves_none(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET);
	struct gp_kfd_create_queue_args args = queue_args(fake, 0, GP_KFD_QUEUE_COMPUTE_AQL);

	begin(fake, &(struct call){.process = a,
				   .nr = _IOC_NR(GP_KFD_IOC_CREATE_QUEUE),
				   .args = &args,
				   .args_size = sizeof(args)});
	process_end(fake, a);
	pass(fake, MS);
	assert_int_equal(fake->server.devices[0].queue_count, 0);
}

static void calls_of_one_process_are_answered_in_order(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET), *b = process_add(fake, DEBUGGER);
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

/* ---- SMI ---- */

static u32 smi_text(int fd, char *text, u32 size)
{
	ssize_t got = read(fd, text, size - 1);

	text[got > 0 ? got : 0] = 0;
	return got > 0 ? (u32)got : 0;
}

static void smi_events_pass_the_filter_of_the_reader(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET);
	struct gp_kfd_smi_events_args args = {.gpuid = gpu_id(fake, 0)};
	u64 filter = 1ull << (9 - 1);
	char text[128];
	int fd;

	assert_int_equal(CALL(fake, a, SMI_EVENTS, &args), 0);
	fd = answer_of(fake, fake->sequence)->fd;
	assert_true(fd >= 0);
	gp_vgpu_smi_event(&fake->server, args.gpuid, TARGET, "9 1 -100 5f6c 2\n");
	assert_int_equal(read(fd, text, 1), -1); /* nothing asked for, and it does not block */
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(write(fd, &filter, sizeof(filter)), sizeof(filter));
	gp_vgpu_smi_event(&fake->server, args.gpuid, TARGET, "9 1 -100 5f6c 2\n");
	gp_vgpu_smi_event(&fake->server, args.gpuid, TARGET, "a 1 -100 5f6c 0\n");
	gp_vgpu_smi_event(&fake->server, args.gpuid, DEBUGGER, "9 1 -200 5f6c 2\n");
	gp_vgpu_smi_event(&fake->server, 1, TARGET, "9 1 -100 1 2\n");
	assert_int_equal(smi_text(fd, text, sizeof(text)), 16);
	assert_string_equal(text, "9 1 -100 5f6c 2\n");
	/* Suspend and update are no evictions. */
	create(fake, a);
	update_percent(fake, a, 0, 0);
	assert_int_equal(smi_text(fd, text, sizeof(text)), 0);
	close(fd);
	answer_of(fake, fake->sequence)->fd = -1;
	gp_vgpu_smi_event(&fake->server, gpu_id(fake, 0), TARGET, "9 1 -100 5f6c 2\n");
	assert_null(fake->server.smi);
	args.gpuid = 1;
	assert_int_equal(CALL(fake, a, SMI_EVENTS, &args), -EINVAL);
}

static void migrations_are_two_smi_events(void **state)
{
	struct fake_server *fake = *state;
	struct gp_vgpu_process *a = process_add(fake, TARGET);
	u32 gpu = gpu_id(fake, 0);
	struct gp_kfd_smi_events_args args = {.gpuid = gpu};
	struct gp_vgpu_migration move = {
		.page = 0x7f10, .pages = 4, .to = gpu, .prefetch = gpu, .preferred = ~0u};
	u64 filter = 1ull << (5 - 1) | 1ull << (6 - 1);
	char text[256], start[96], end[96];
	unsigned long long first, second;
	int fd;

	assert_int_equal(CALL(fake, a, SMI_EVENTS, &args), 0);
	fd = answer_of(fake, fake->sequence)->fd;
	assert_int_equal(write(fd, &filter, sizeof(filter)), sizeof(filter));
	gp_vgpu_smi_migration(&fake->server, TARGET, &move);
	smi_text(fd, text, sizeof(text));
	assert_int_equal(sscanf(text, "5 %llu ", &first), 1);
	assert_int_equal(sscanf(strchr(text, '\n') + 1, "6 %llu ", &second), 1);
	assert_true(first <= second);
	snprintf(start, sizeof(start), " -%d @7f10(4) 0->%x %x:ffffffff 0\n6 ", TARGET, gpu, gpu);
	snprintf(end, sizeof(end), " -%d @7f10(4) 0->%x 0\n", TARGET, gpu);
	assert_non_null(strstr(text, start));
	assert_non_null(strstr(strchr(text, '\n'), end));
	/* Back: the GPU that had it says so. */
	move.from = gpu, move.to = 0;
	gp_vgpu_smi_migration(&fake->server, TARGET, &move);
	assert_true(smi_text(fd, text, sizeof(text)) > 0);
	close(fd);
	answer_of(fake, fake->sequence)->fd = -1;
}

#define WITH(test, first) cmocka_unit_test_setup_teardown(test, first, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(runtime_enable_comes_before_the_first_queue, start),
		WITH(a_runtime_takes_over_what_the_machine_enabled_for_it, start),
		WITH(with_a_debugger_runtime_enable_waits_for_its_answer, start),
		WITH(an_answer_before_the_question_is_kept, start),
		WITH(only_a_signal_wakes_it_when_the_debugger_leaves, start),
		WITH(an_interrupted_runtime_enable_waits_again, start),
		WITH(a_signal_stays_pending_until_the_wait_for_the_debugger, start),
		WITH(a_copy_dies_with_its_process, start),
		WITH(nothing_of_a_removed_process_is_watched_any_more, start),
		WITH(whoever_merely_opened_kfd_costs_a_preemption_when_it_ends, start),
		WITH(a_dead_process_leaves_nothing_behind, start_two),
		WITH(a_process_that_dies_while_it_creates_a_queue_leaves_none, start),
		WITH(calls_of_one_process_are_answered_in_order, start),
		WITH(smi_events_pass_the_filter_of_the_reader, start),
		WITH(migrations_are_two_smi_events, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
