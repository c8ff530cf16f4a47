// SPDX-License-Identifier: MIT
/* Section 2.2: RUNTIME_ENABLE, the wait for the debugger, and what ENABLE does to a target. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "abi/pm4.h"
#include "conformance.h"

#define PID(actor) ((u64)(actor).pid)
#define TTMP       (GP_KFD_RUNTIME_ENABLE | GP_KFD_RUNTIME_TTMP_SAVE)

static void twice_is_ebusy(struct self *me)
{
	open_gpu(me);
	EXPECT(enable_runtime(me, 1), 0);
	EXPECT(enable_runtime(me, 1), -EBUSY);
	EXPECT(enable_runtime(me, TTMP), -EBUSY);
	EXPECT(enable_runtime(me, 0), 0);
	EXPECT(enable_runtime(me, 0), 0);
	EXPECT(enable_runtime(me, TTMP), 0);
}

static void before_the_vm(struct self *me)
{
	open_kfd(me);
	EXPECT(enable_runtime(me, 1), 0);
	open_gpu(me);
	EXPECT(must_create(me, COMPUTE), 0);
}

static void queue_is_eexist(struct self *me)
{
	open_gpu(me);
	must_create(me, COMPUTE);
	EXPECT(enable_runtime(me, 1), -EEXIST);
	EXPECT(enable_runtime(me, TTMP), -EEXIST);
	EXPECT(destroy_queue(me, 0), 0);
	must_create(me, SDMA);
	EXPECT(enable_runtime(me, 1), -EEXIST);
	EXPECT(destroy_queue(me, 0), 0);
	EXPECT(enable_runtime(me, TTMP), 0);
}

static void off_with_a_queue(struct self *me)
{
	open_gpu(me);
	EXPECT(enable_runtime(me, 1), 0);
	must_create(me, COMPUTE);
	/* Already on beats the queue. */
	EXPECT(enable_runtime(me, 1), -EBUSY);
	EXPECT(enable_runtime(me, 0), 0);
	EXPECT(enable_runtime(me, 1), -EEXIST);
}

static void state_is_per_process(struct self *me)
{
	struct actor first = start_target(1, 0), second = start_target(3, 0),
		     third = start_target(0, 0);
	u64 out[ARGS];

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(first)), 0);
	EXPECT(ME(me, do_seize, PID(second)), 0);
	EXPECT(ME(me, do_seize, PID(third)), 0);
	EXPECT(ASK(me, out, do_enable, PID(first), 0), 0);
	EXPECT(out[0], GP_KFD_RUNTIME_ENABLED);
	EXPECT(out[1], 0x1234);
	EXPECT(out[3], 0);
	EXPECT(ASK(me, out, do_enable, PID(second), 0), 0);
	EXPECT(out[3], 1);
	EXPECT(ASK(me, out, do_enable, PID(third), 0), 0);
	EXPECT(out[0], GP_KFD_RUNTIME_DISABLED);
}

/* ---- with a debugger there ---- */

static void waits_for_the_debugger(struct self *me)
{
	struct actor target = start_target(0, 0);
	u64 out[ARGS];

	attach(me, &target, RUNTIME);
	BEGIN(&target, do_runtime, 1);
	CHECK(is_blocked(me, &target));
	EXPECT(pipe_bytes(me), 1);
	EXPECT(ASK(me, out, do_query_event, PID(target), RUNTIME), 0);
	EXPECT(out[0], RUNTIME);
	EXPECT(ME(me, do_query_event, PID(target), RUNTIME), -EAGAIN);
	EXPECT(process_number(me, target.pid, "blocked"), 1);
	EXPECT(ME(me, do_send_runtime_event, PID(target)), 0);
	EXPECT(actor_end(&target), 0);
	/* And off again. */
	BEGIN(&target, do_runtime, 0);
	CHECK(is_blocked(me, &target));
	EXPECT(pipe_bytes(me), 1);
	EXPECT(ME(me, do_send_runtime_event, PID(target)), 0);
	EXPECT(actor_end(&target), 0);
}

static void waits_unheard(struct self *me)
{
	struct actor target = start_target(0, 0);

	attach(me, &target, 0);
	BEGIN(&target, do_runtime, 1);
	CHECK(is_blocked(me, &target));
	EXPECT(pipe_bytes(me), 0);
	EXPECT(ME(me, do_query_event, PID(target), RUNTIME), -EAGAIN);
	EXPECT(ME(me, do_send_runtime_event, PID(target)), 0);
	EXPECT(actor_end(&target), 0);
	EXPECT(DO(&target, do_create, COMPUTE), 0);
	EXPECT(ME(me, do_snapshot, PID(target), NEW), 1);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
	EXPECT(ME(me, do_resume, PID(target), 1, 0), 1);
}

/* A stop and a continue by the tracer, without any signal. */
static void stop_and_continue(pid_t pid)
{
	int status;

	CHECK(ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0);
	while (waitpid(pid, &status, __WALL) < 0)
		CHECK(errno == EINTR);
	CHECK(WIFSTOPPED(status));
	CHECK(ptrace(PTRACE_CONT, pid, 0, 0) == 0);
}

static void interrupted_by_a_stop(struct self *me)
{
	struct actor target = start_target(0, 0);

	attach(me, &target, 0);
	BEGIN(&target, do_runtime, 1);
	CHECK(is_blocked(me, &target));
	stop_and_continue(target.pid);
	EXPECT(actor_end(&target), -EINTR);
	/* Again: it waits again, and is answered. */
	BEGIN(&target, do_runtime, 1);
	CHECK(is_blocked(me, &target));
	EXPECT(ME(me, do_send_runtime_event, PID(target)), 0);
	EXPECT(actor_end(&target), 0);
}

static void left_blocked_by_disable(struct self *me)
{
	struct actor target = start_target(0, 0);

	attach(me, &target, RUNTIME);
	BEGIN(&target, do_runtime, 1);
	CHECK(is_blocked(me, &target));
	EXPECT(ME(me, do_disable, PID(target)), 0);
	EXPECT(process_number(me, target.pid, "blocked"), 1);
	CHECK(!actor_finished(&target));
	/* Only an interruption ends it, and then it succeeds. */
	stop_and_continue(target.pid);
	EXPECT(actor_end(&target), -EINTR);
	EXPECT(DO(&target, do_runtime, 1), 0);
}

static void left_blocked_by_death(struct self *me)
{
	struct actor target = start_target(0, 0), debugger = start_actor();

	EXPECT(DO(&debugger, do_open_kfd), 0);
	EXPECT(DO(&debugger, do_seize, PID(target)), 0);
	EXPECT(DO(&debugger, do_enable, PID(target), RUNTIME), 0);
	BEGIN(&target, do_runtime, 1);
	CHECK(is_blocked(me, &target));
	actor_kill(me, &debugger);
	EXPECT(process_number(me, target.pid, "blocked"), 1);
	CHECK(!actor_finished(&target));
	EXPECT(ME(me, do_seize, PID(target)), 0);
	stop_and_continue(target.pid);
	EXPECT(actor_end(&target), -EINTR);
	EXPECT(DO(&target, do_runtime, 1), 0);
}

static void queue_beats_the_wait(struct self *me)
{
	struct actor target = start_target(0, 1);

	attach(me, &target, RUNTIME);
	EXPECT(DO(&target, do_runtime, 1), -EEXIST);
}

static void only_the_process_itself(struct self *me)
{
	struct actor target = start_target(0, 0);

	/* There is no argument that names another. */
	open_kfd(me);
	EXPECT(enable_runtime(me, 1), 0);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_enable, PID(target), 0), 0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), -EPERM);
}

static void capability_for_the_runtime(struct self *me)
{
	const u32 needed = GP_KFD_CAP_TRAP_DEBUG | GP_KFD_CAP_LAUNCH_OVERRIDE |
			   GP_KFD_CAP_LAUNCH_MODE | GP_KFD_CAP_TRAP_DEBUG_FW;

	open_gpu(me);
	EXPECT(me->node.capability & needed, needed);
	CHECK(me->node.capability & GP_KFD_CAP_WATCH_POINTS);
}

static void old_runtimes_are_told_so(struct self *me)
{
	u32 old_trap[8] = {0};

	/* libhsakmt 5.2.3 asks the old debug trap for its version and takes ENOTTY for "none". */
	open_kfd(me);
	EXPECT(call(me->kfd, _IOC(_IOC_READ | _IOC_WRITE, 'K', 0x82, sizeof(old_trap)), old_trap),
	       -ENOTTY);
}

/* ---- what ENABLE does ---- */

static void activation_is_deferred(struct self *me)
{
	struct actor target = start_target(0, 0);
	u64 before;

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	before = figure(me, "updates");
	EXPECT(ME(me, do_enable, PID(target), 0), 0);
	EXPECT(figure(me, "updates"), before);
	BEGIN(&target, do_runtime, 1);
	CHECK(is_blocked(me, &target));
	EXPECT(figure(me, "updates"), before + 1);
	EXPECT(ME(me, do_send_runtime_event, PID(target)), 0);
	EXPECT(actor_end(&target), 0);
}

/* The packet of the process in rls that has traps on in SPI_GDBG_PER_VMID_CNTL (dword 14). */
static bool traps_are_on(void)
{
	char *text = slurp("/sys/kernel/debug/kfd/rls");
	u32 words[64], count = 0;

	CHECK(text);
	for (char *line = strchr(text, '\n'); line && line[1] == ' ';
	     line = strchr(line + 1, '\n')) {
		char *at = strchr(line + 1, ':') + 1, *end = strchr(line + 1, '\n');

		while (at && at < end && count < GP_ARRAY_SIZE(words))
			words[count++] = (u32)strtoul(at, &at, 16);
	}
	free(text);
	CHECK(count >= 15 && (words[0] >> GP_PM4_OPCODE_FROM & 0xff) == GP_PM4_MAP_PROCESS);
	return words[14] != 0;
}

static void enable_reaches_the_runlist(struct self *me)
{
	struct actor target = start_target(1, 1);
	u64 before;

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	before = figure(me, "updates");
	CHECK(!traps_are_on());
	EXPECT(ME(me, do_enable, PID(target), 0), 0);
	EXPECT(figure(me, "updates"), before + 1);
	CHECK(traps_are_on());
	EXPECT(ME(me, do_disable, PID(target)), 0);
	CHECK(!traps_are_on());
}

static void births_and_deaths_are_told(struct self *me)
{
	struct actor target = start_target(1, 1);
	u64 out[ARGS];

	attach(me, &target, NEW | DELETED);
	EXPECT(pipe_bytes(me), 0);
	EXPECT(DO(&target, do_create, COMPUTE), 1);
	EXPECT(pipe_bytes(me), 1);
	EXPECT(ASK(me, out, do_query_event, PID(target), NEW), 0);
	EXPECT(out[0], NEW);
	EXPECT(out[1], 1);
	EXPECT(DO(&target, do_destroy, 1), 0);
	EXPECT(pipe_bytes(me), 1);
	EXPECT(ASK(me, out, do_query_event, PID(target), DELETED), 0);
	EXPECT(out[0], DELETED);
	EXPECT(ME(me, do_query_event, PID(target), ~0ull), -EAGAIN);
	/* With nothing enabled nothing is told, and nothing is found. */
	EXPECT(ME(me, do_op, PID(target), GP_KFD_DBG_SET_EXCEPTIONS_ENABLED, 0), 0);
	EXPECT(DO(&target, do_create, COMPUTE), 1);
	EXPECT(pipe_bytes(me), 0);
	EXPECT(ME(me, do_query_event, PID(target), NEW), -EAGAIN);
	/* Enabling what is pending tells at once. */
	EXPECT(ME(me, do_op, PID(target), GP_KFD_DBG_SET_EXCEPTIONS_ENABLED, NEW), 0);
	EXPECT(pipe_bytes(me), 1);
}

/* The flag in the TMA of the driver's own trap handler, which only the machine sees. */
static void debug_flag(struct self *me)
{
	struct actor target = start_target(0, 0);

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_enable, PID(target), 0), 0);
	EXPECT(process_number(me, target.pid, "trap_debug"), 0);
	BEGIN(&target, do_runtime, 1);
	CHECK(is_blocked(me, &target));
	EXPECT(process_number(me, target.pid, "trap_debug"), 1);
	EXPECT(ME(me, do_send_runtime_event, PID(target)), 0);
	EXPECT(actor_end(&target), 0);
	EXPECT(ME(me, do_disable, PID(target)), 0);
	EXPECT(process_number(me, target.pid, "trap_debug"), 0);
}

#define UNSUPPORTED 20 /* EC_QUEUE_PACKET_UNSUPPORTED */

/* Where the runtime wants to be told of errors, and a signal event for it. */
static s64 expect_errors(struct self *self, const u64 *args, u64 *out)
{
	struct gp_kfd_context_save_area_header *header =
		(void *)(uintptr_t)self->queues[args[0]].args.ctx_save_restore_address;
	struct gp_kfd_create_event_args event = {.event_type = GP_KFD_EVENT_SIGNAL,
						 .auto_reset = 1};
	u64 *payload = calloc(1, sizeof(*payload));

	EXPECT(call(self->kfd, GP_KFD_IOC_CREATE_EVENT, &event), 0);
	CHECK(payload);
	header->err_payload_addr = (uintptr_t)payload;
	header->err_event_id = event.event_id;
	out[0] = event.event_id;
	return (s64)(uintptr_t)payload;
}

static s64 payload_at(struct self *self, const u64 *args, u64 *out)
{
	(void)self, (void)out;
	return (s64)__atomic_load_n((u64 *)(uintptr_t)args[0], __ATOMIC_ACQUIRE);
}

/* A packet of a type that there is not. */
static s64 submit_bad(struct self *self, const u64 *args, u64 *out)
{
	struct queue *queue = &self->queues[args[0]];
	u16 *header = (u16 *)(uintptr_t)queue->args.ring_base_address;

	(void)out;
	__atomic_store_n(header, 0x7f, __ATOMIC_RELEASE);
	__atomic_store_n(queue->write_index, 1, __ATOMIC_RELEASE);
	__atomic_store_n(queue->doorbell, 0, __ATOMIC_RELEASE);
	return 0;
}

static void enabled_goes_to_the_debugger(struct self *me)
{
	struct actor target = start_target(1, 1);
	u64 payload = (u64)DO(&target, expect_errors, 0), event = target.out[0], out[ARGS];
	struct gp_kfd_dbg_trap_args send = {.pid = (u32)target.pid,
					    .op = GP_KFD_DBG_SEND_RUNTIME_EVENT};

	attach(me, &target, GP_KFD_EC_MASK(UNSUPPORTED));
	EXPECT(DO(&target, submit_bad, 0), 0);
	UNTIL(me, pipe_bytes(me) == 1);
	EXPECT(ASK(me, out, do_query_event, PID(target), GP_KFD_EC_MASK(UNSUPPORTED)), 0);
	EXPECT(out[0], GP_KFD_EC_MASK(UNSUPPORTED));
	EXPECT(out[1], 0);
	EXPECT(DO(&target, payload_at, payload), 0);
	/* It may pass it on. */
	send.send_runtime_event.exception_mask = GP_KFD_EC_MASK(UNSUPPORTED);
	send.send_runtime_event.queue_id = 9; /* nobody's: lost without a word */
	EXPECT(call(me->kfd, GP_KFD_IOC_DBG_TRAP, &send), 0);
	EXPECT(DO(&target, payload_at, payload), 0);
	send.send_runtime_event.queue_id = 0;
	EXPECT(call(me->kfd, GP_KFD_IOC_DBG_TRAP, &send), 0);
	EXPECT(DO(&target, do_wait_event, event), GP_KFD_WAIT_COMPLETE);
	EXPECT(DO(&target, payload_at, payload), GP_KFD_EC_MASK(UNSUPPORTED));
}

static void others_go_to_the_runtime(struct self *me)
{
	struct actor target = start_target(1, 1);
	u64 payload = (u64)DO(&target, expect_errors, 0), event = target.out[0];

	attach(me, &target, DELETED);
	EXPECT(DO(&target, submit_bad, 0), 0);
	EXPECT(DO(&target, do_wait_event, event), GP_KFD_WAIT_COMPLETE);
	EXPECT(DO(&target, payload_at, payload), GP_KFD_EC_MASK(UNSUPPORTED));
	EXPECT(pipe_bytes(me), 0);
}

static void no_capability(struct self *me)
{
	open_gpu(me);
	EXPECT(me->node.capability & GP_KFD_CAPS_DEBUG, 0);
}

const struct row rows_runtime[] = {
	{"kfd 2.2/1, 6.12 T1", "RUNTIME_ENABLE when it is on is EBUSY; off any time, also twice",
	 twice_is_ebusy, DEBUGGER, NULL},
	{"6.12 T1", "RUNTIME_ENABLE works before ACQUIRE_VM", before_the_vm, DEBUGGER, NULL},
	{"kfd 2.2/1, 6.12 T1", "with any queue it is EEXIST, in both modes, until the last is gone",
	 queue_is_eexist, DEBUGGER, NULL},
	{"6.12 T1", "turned off with a queue there it cannot be turned on again", off_with_a_queue,
	 DEBUGGER, NULL},
	{"kfd 2.2/1, 6.12 T2", "state, r_debug and TTMP setup are the process's own",
	 state_is_per_process, DEBUGGER, NULL},
	{"kfd 2.2/1", "only a process itself can turn it on", only_the_process_itself, DEBUGGER,
	 NULL},
	{"kfd 2.2/2, 6.12 T2", "with a debugger it raises EC_PROCESS_RUNTIME and waits, on and off",
	 waits_for_the_debugger, DEBUGGER, NULL},
	{"6.12 4", "with exception mask 0 it waits but nobody is told", waits_unheard, DEBUGGER,
	 NULL},
	{"kfd 2.2/2, 6.12 4, 6.12 T2", "a stop of the waiting thread is EINTR, not restarted",
	 interrupted_by_a_stop, DEBUGGER, NULL},
	{"6.12 4, 6.12 T12", "DISABLE leaves it blocked until a signal; then it succeeds",
	 left_blocked_by_disable, DEBUGGER, NULL},
	{"6.12 4, 6.12 T12", "the debugger's death leaves it blocked too", left_blocked_by_death,
	 DEBUGGER, NULL},
	{"6.12 T2", "with a queue it is EEXIST also under a debugger, without waiting",
	 queue_beats_the_wait, DEBUGGER, NULL},
	{"kfd 2.2/3", "the node's capability says that debugging works (bit 29)",
	 capability_for_the_runtime, DEBUGGER, NULL},
	{"kfd 2.2/3", "linux 6.1's capability says nothing of it", no_capability, ERA_6_1, NULL},
	{"kfd 2.2/3", "ioctl 0x82, which ROCm 5.2 asks instead, is ENOTTY",
	 old_runtimes_are_told_so, DEBUGGER, NULL},
	{"kfd 2.2/4", "ENABLE before RUNTIME_ENABLE is legal and touches the hardware only later",
	 activation_is_deferred, DEBUGGER, NULL},
	{"kfd 2.2/5", "ENABLE refreshes the runlist once and turns traps on in MAP_PROCESS",
	 enable_reaches_the_runlist, DEBUGGER, NULL},
	{"kfd 2.2/5, 6.12 T3, 6.12 T5", "EC_QUEUE_NEW and EC_DEVICE_QUEUE_DELETE tell of queues",
	 births_and_deaths_are_told, DEBUGGER, NULL},
	{"kfd 2.2/5", "the trap handler's debug flag follows ENABLE, RUNTIME_ENABLE and DISABLE",
	 debug_flag, DEBUGGER, NULL},
	{"kfd 2.2/5",
	 "an exception the debugger enabled goes to it, and to the runtime only if it passes it on",
	 enabled_goes_to_the_debugger, DEBUGGER, NULL},
	{"kfd 2.2/5", "one it did not enable goes to the runtime", others_go_to_the_runtime,
	 DEBUGGER, NULL},
	{"kfd 2.2/6", "gfx942, and gfx90a from MEC firmware 51 on, advertise it",
	 capability_for_the_runtime, DEBUGGER, NULL},
	{0},
};
