// SPDX-License-Identifier: MIT
/* Section 2.3: SUSPEND_QUEUES. */
#include <sys/mman.h>

#include "conformance.h"

#define PID(actor) ((u64)(actor).pid)

static s64 suspend_raw(struct self *me, pid_t pid, const void *array, u32 count)
{
	struct gp_kfd_dbg_trap_args debug = {.pid = (u32)pid, .op = GP_KFD_DBG_SUSPEND_QUEUES};

	debug.suspend_queues.queue_array_ptr = (uintptr_t)array;
	debug.suspend_queues.num_queues = count;
	return call(me->kfd, GP_KFD_IOC_DBG_TRAP, &debug);
}

static void ids_come_back_marked(struct self *me)
{
	struct actor target = start_target(1, 2);
	u64 out[ARGS];

	attach(me, &target, 0);
	EXPECT(ASK(me, out, do_suspend, PID(target), 3, 0, 5, 1), 2);
	EXPECT(out[0], 0);
	EXPECT(out[1], 5 | INVALID);
	EXPECT(out[2], 1);
	EXPECT(look(me, target.pid, 0).suspended, 1);
	EXPECT(look(me, target.pid, 1).suspended, 1);
	EXPECT(ASK(me, out, do_suspend, PID(target), 1, 9), 0);
	EXPECT(out[0], 9 | INVALID);
	/* Two of one: the first entry is the queue's. */
	EXPECT(ASK(me, out, do_suspend, PID(target), 2, 0, 0), 1);
	EXPECT(out[0], 0);
	EXPECT(out[1], INVALID);
}

static void array_can_be_used_again(struct self *me)
{
	struct actor target = start_target(1, 1);
	u64 out[ARGS];

	attach(me, &target, 0);
	EXPECT(ASK(me, out, do_suspend, PID(target), 1, INVALID), 1);
	EXPECT(out[0], 0);
	EXPECT(look(me, target.pid, 0).suspended, 1);
	EXPECT(ASK(me, out, do_suspend, PID(target), 1, ERROR), 0);
	EXPECT(out[0], ERROR | INVALID);
}

static void bad_arrays(struct self *me)
{
	struct actor target = start_target(1, 1);
	static u32 many[1025];

	attach(me, &target, 0);
	EXPECT(suspend_raw(me, target.pid, NULL, 1), -EINVAL);
	EXPECT(suspend_raw(me, target.pid, NULL, 0), 0);
	EXPECT(suspend_raw(me, target.pid, many, 0), 0);
	EXPECT(suspend_raw(me, target.pid, many, 1025), -EINVAL);
	EXPECT(suspend_raw(me, target.pid, (void *)8, 1), -EFAULT);
	EXPECT(look(me, target.pid, 0).suspended, 0);
	/* 1024 is allowed; the first entry alone is the queue's. */
	EXPECT(suspend_raw(me, target.pid, many, 1024), 1);
	EXPECT(many[0], 0);
	EXPECT(many[1023], INVALID);
}

static void read_only_array(struct self *me)
{
	struct actor target = start_target(1, 1);
	u32 *ids = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(ids != MAP_FAILED);
	attach(me, &target, 0);
	EXPECT(suspend_raw(me, target.pid, ids, 1), 1);
	EXPECT(look_settled(me, target.pid, 0).mapped, 0);
}

static void suspended_again_is_counted(struct self *me)
{
	struct actor target = start_target(1, 1);
	u64 before, out[ARGS];

	attach(me, &target, 0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
	before = figure(me, "updates");
	EXPECT(ASK(me, out, do_suspend, PID(target), 1, 0), 1);
	EXPECT(out[0], 0);
	EXPECT(figure(me, "updates"), before + 1);
}

/* ---- EC_QUEUE_NEW ---- */

static void new_queue_is_skipped(struct self *me)
{
	struct actor target = start_target(1, 2);
	u64 before, out[ARGS];

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	/* Made before any debugger was there; and ENABLE tells nothing of them. */
	EXPECT(ME(me, do_enable, PID(target), NEW), 0);
	EXPECT(pipe_bytes(me), 0);
	before = figure(me, "updates");
	EXPECT(ASK(me, out, do_suspend, PID(target), 2, 0, 1), 0);
	EXPECT(out[0], INVALID);
	EXPECT(out[1], 1 | INVALID);
	EXPECT(figure(me, "updates"), before);
	EXPECT(look(me, target.pid, 0).suspended, 0);
	/* A look that clears nothing changes nothing. */
	EXPECT(ASK(me, out, do_snapshot, PID(target), 0), 2);
	EXPECT(out[0], NEW);
	EXPECT(ME(me, do_suspend, PID(target), 2, 0, 1), 0);
	EXPECT(ASK(me, out, do_snapshot, PID(target), NEW), 2);
	EXPECT(out[1], NEW);
	EXPECT(ASK(me, out, do_snapshot, PID(target), 0), 2);
	EXPECT(out[1], 0);
	EXPECT(ME(me, do_suspend, PID(target), 2, 0, 1), 2);
}

static void query_clears_new(struct self *me)
{
	struct actor target = start_target(1, 2);
	u64 out[ARGS];

	open_gpu(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_enable, PID(target), NEW), 0);
	EXPECT(ASK(me, out, do_query_event, PID(target), NEW), 0);
	EXPECT(out[0], NEW);
	EXPECT(out[1], 1); /* the newest first */
	EXPECT(out[2], me->gpu_id);
	EXPECT(ASK(me, out, do_suspend, PID(target), 2, 0, 1), 1);
	EXPECT(out[0], INVALID);
	EXPECT(out[1], 1);
	/* Not enabled is not found, and not cleared. */
	EXPECT(ME(me, do_op, PID(target), GP_KFD_DBG_SET_EXCEPTIONS_ENABLED, 0), 0);
	EXPECT(ME(me, do_query_event, PID(target), NEW), -EAGAIN);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 0);
}

static void info_clears_new(struct self *me)
{
	struct actor target = start_target(1, 1);
	u64 info[8], code = GP_KFD_EC_QUEUE_NEW;

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_enable, PID(target), 0), 0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 0);
	/* info_ptr, info_size | source_id << 32, exception_code | clear << 32 */
	EXPECT(ME(me, do_op, PID(target), GP_KFD_DBG_QUERY_EXCEPTION_INFO, (uintptr_t)info, 64,
		  code),
	       0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 0);
	EXPECT(ME(me, do_op, PID(target), GP_KFD_DBG_QUERY_EXCEPTION_INFO, (uintptr_t)info, 64,
		  code | 1ull << 32),
	       0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
}

static void disable_clears_new(struct self *me)
{
	struct actor target = start_target(1, 1);
	u64 out[ARGS];

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_enable, PID(target), 0), 0);
	EXPECT(ME(me, do_disable, PID(target)), 0);
	EXPECT(ME(me, do_enable, PID(target), 0), 0);
	EXPECT(ASK(me, out, do_snapshot, PID(target), 0), 1);
	EXPECT(out[0], 0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
	EXPECT(ME(me, do_disable, PID(target)), 0);
	/* One made with no debugger there is new again. */
	EXPECT(DO(&target, do_create, COMPUTE), 1);
	EXPECT(ME(me, do_enable, PID(target), 0), 0);
	EXPECT(ASK(me, out, do_snapshot, PID(target), 0), 2);
	EXPECT(out[0], 0);
	EXPECT(out[1], NEW);
}

static void own_mask_comes_too_late(struct self *me)
{
	struct actor target = start_target(1, 2);
	u64 out[ARGS];

	open_kfd(me);
	EXPECT(ME(me, do_seize, PID(target)), 0);
	EXPECT(ME(me, do_enable, PID(target), NEW), 0);
	/* All listed are new: nothing is suspended and nothing is cleared. */
	EXPECT(ME(me, do_suspend, PID(target), 2, 0, 1, 0, NEW), 0);
	EXPECT(ASK(me, out, do_snapshot, PID(target), 0), 2);
	EXPECT(out[0], NEW);
	EXPECT(out[1], NEW);
	/* One can be: NEW goes from the other as well, for the next call. */
	EXPECT(ME(me, do_query_event, PID(target), NEW), 0);
	EXPECT(ASK(me, out, do_suspend, PID(target), 2, 0, 1, 0, NEW), 1);
	EXPECT(out[0], INVALID);
	EXPECT(out[1], 1);
	EXPECT(ASK(me, out, do_snapshot, PID(target), 0), 2);
	EXPECT(out[0], 0);
	EXPECT(ME(me, do_suspend, PID(target), 2, 0, 1), 2);
}

/* ---- the hardware ---- */

static void one_update_for_all_ids(struct self *me)
{
	struct actor target = start_target(1, 3), other = start_target(0, 1);
	u64 before, saved;

	attach(me, &target, 0);
	EXPECT(DO(&other, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, look(me, other.pid, 0).cu_ns > 0);
	before = figure(me, "updates");
	saved = figure(me, "saved_bytes");
	EXPECT(ME(me, do_suspend, PID(target), 3, 0, 1, 2), 3);
	EXPECT(figure(me, "updates"), before + 1);
	/* The queues of others come off too, with their waves, and on again. */
	CHECK(figure(me, "saved_bytes") > saved);
	EXPECT(look(me, other.pid, 0).mapped, 1);
	EXPECT(look(me, target.pid, 2).mapped, 0);
	before = look(me, other.pid, 0).cu_ns;
	UNTIL(me, look(me, other.pid, 0).cu_ns > before);
}

static void the_rest_of_the_process_runs(struct self *me)
{
	struct actor target = start_target(1, 2);
	struct queue_view then, now;

	attach(me, &target, 0);
	EXPECT(DO(&target, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, look(me, target.pid, 0).cu_ns > 0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
	EXPECT(look_settled(me, target.pid, 1).mapped, 1);
	EXPECT(DO(&target, do_submit, 1, 5000), 0);
	then = look(me, target.pid, 0);
	EXPECT(then.mapped, 0);
	UNTIL(me, look(me, target.pid, 1).completed == 1);
	now = look(me, target.pid, 0);
	EXPECT(now.cu_ns, then.cu_ns);
	EXPECT(now.completed, 0);
}

static void progress_is_kept(struct self *me)
{
	struct actor target = start_target(1, 1);
	u64 then;

	attach(me, &target, 0);
	hold_clock(me, 0);
	EXPECT(DO(&target, do_submit_one, 0, LONG), 0);
	run_for(me, target.pid, 0, 100 * MS);
	EXPECT(NOW(me, ME(me, do_suspend, PID(target), 1, 0)), 1);
	then = look_settled(me, target.pid, 0).cu_ns;
	CHECK(then > LONG_CU_NS / 4 && then < LONG_CU_NS * 3 / 4);
	EXPECT(DO(&target, do_read_index, 0), 1);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1); /* time goes by */
	settle(me);
	EXPECT(look(me, target.pid, 0).cu_ns, then);
	EXPECT(look(me, target.pid, 0).completed, 0);
	EXPECT(ME(me, do_resume, PID(target), 1, 0), 1);
	UNTIL(me, look(me, target.pid, 0).completed == 1);
	/* Nothing ran twice and nothing was left out. */
	CHECK(look(me, target.pid, 0).cu_ns > LONG_CU_NS * 98 / 100);
	CHECK(look(me, target.pid, 0).cu_ns < LONG_CU_NS * 102 / 100);
}

static s64 header_of(struct self *self, const u64 *args, u64 *out)
{
	u8 *area = (u8 *)(uintptr_t)self->queues[args[0]].args.ctx_save_restore_address +
		   (u64)self->node.cwsr_bytes * args[1];
	struct gp_kfd_context_save_area_header *header = (void *)area;

	if (args[2]) /* mark it first */
		memset(header, 0x5a, sizeof(*header));
	out[0] = header->wave_state.control_stack_offset;
	out[1] = header->wave_state.control_stack_size;
	out[2] = header->wave_state.wave_state_offset;
	out[3] = header->wave_state.wave_state_size;
	out[4] = header->debug_offset;
	out[5] = self->node.ctl_stack_bytes;
	return self->node.xcc_count;
}

static void headers_are_written(struct self *me)
{
	struct actor target = start_target(1, 2);
	u32 xccs = (u32)DO(&target, header_of, 0, 0, 0);

	attach(me, &target, 0);
	for (u32 queue = 0; queue < 2; queue++)
		for (u32 xcc = 0; xcc < xccs; xcc++)
			EXPECT(DO(&target, header_of, queue, xcc, 1), xccs);
	EXPECT(DO(&target, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, look(me, target.pid, 0).cu_ns > 0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
	/* Of every queue, the one that was not suspended too, and of every XCC. */
	for (u32 queue = 0; queue < 2; queue++)
		for (u32 xcc = 0; xcc < xccs; xcc++) {
			u64 *o = target.out;

			EXPECT(DO(&target, header_of, queue, xcc, 0), xccs);
			EXPECT(o[0] + o[1], o[5]); /* the stack ends where the waves begin */
			EXPECT(o[2], o[5] + o[3]); /* the end of what is used */
			EXPECT(o[4], 0x5a5a5a5a);  /* the rest is not the driver's to write */
			CHECK(queue || (o[1] > 0 && o[3] > 0));
			CHECK(!queue || (o[1] == 0 && o[3] == 0));
		}
}

/* Word `at` of the control stack's used part, its words, and those before it that were touched. */
static s64 stack_of(struct self *self, const u64 *args, u64 *out)
{
	u8 *area = (u8 *)(uintptr_t)self->queues[args[0]].args.ctx_save_restore_address +
		   (u64)self->node.cwsr_bytes * args[1];
	struct gp_kfd_context_save_area_header *header = (void *)area;
	u32 *words = (u32 *)(void *)area, first = sizeof(*header) / sizeof(u32);

	if (args[2]) { /* mark it first */
		memset(area, 0x5a, self->node.ctl_stack_bytes);
		return 0;
	}
	out[0] = header->wave_state.control_stack_offset / sizeof(u32);
	out[1] = header->wave_state.control_stack_size / sizeof(u32);
	out[2] = 0;
	for (u32 i = first; i < out[0]; i++)
		out[2] += words[i] != 0x5a5a5a5a;
	out[3] = header->wave_state.wave_state_offset - header->wave_state.wave_state_size;
	out[4] = header->wave_state.wave_state_offset;
	/* Waves are numbered, and their states lie one after another. */
	for (u32 i = 0; i < out[1]; i += 2) {
		u32 number = words[out[0] + i], place = words[out[0] + i + 1];

		if (number != i / 2 || place < out[3] || place >= out[4] ||
		    (i && place <= words[out[0] + i - 1]))
			return i;
	}
	return (s64)out[1];
}

static void control_stack_is_written(struct self *me)
{
	struct actor target = start_target(1, 2);
	u32 xccs = (u32)DO(&target, header_of, 0, 0, 0);

	attach(me, &target, 0);
	for (u32 xcc = 0; xcc < xccs; xcc++) {
		EXPECT(DO(&target, stack_of, 0, xcc, 1), 0);
		EXPECT(DO(&target, stack_of, 1, xcc, 1), 0);
	}
	EXPECT(DO(&target, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, look(me, target.pid, 0).cu_ns > 0);
	EXPECT(ME(me, do_suspend, PID(target), 1, 0), 1);
	for (u32 xcc = 0; xcc < xccs; xcc++) {
		s64 words = DO(&target, stack_of, 0, xcc, 0);

		CHECK(words > 0);
		EXPECT(words, target.out[1]); /* or it stopped at a bad entry */
		EXPECT(target.out[2], 0);     /* nothing below is touched */
		/* The other queue had nothing to save. */
		EXPECT(DO(&target, stack_of, 1, xcc, 0), 0);
		EXPECT(target.out[2], 0);
	}
}

const struct row rows_suspend[] = {
	{"kfd 2.3/1, 6.12 T4b", "every id is marked INVALID but those that were handled",
	 ids_come_back_marked, DEBUGGER, NULL},
	{"6.12 T4b", "an id with INVALID set is accepted, one with ERROR is not",
	 array_can_be_used_again, DEBUGGER, NULL},
	{"kfd 2.3/1, 6.12 T4b",
	 "over 1024 EINVAL, NULL with a number EINVAL, bad pointer EFAULT, 0 is 0", bad_arrays,
	 DEBUGGER, NULL},
	{"6.12 T4b", "an array that cannot be written loses the results, not the suspend",
	 read_only_array, DEBUGGER, NULL},
	{"kfd 2.3/2, 6.12 T4", "suspended already is counted, and costs a preemption",
	 suspended_again_is_counted, DEBUGGER, NULL},
	{"kfd 2.3/2-3, 6.12 T3", "a new queue is skipped in silence until a snapshot clears NEW",
	 new_queue_is_skipped, DEBUGGER, NULL},
	{"kfd 2.3/3, 6.12 T3", "QUERY_DEBUG_EVENT clears NEW, where it is enabled",
	 query_clears_new, DEBUGGER, NULL},
	{"kfd 2.3/3, 6.12 T23", "QUERY_EXCEPTION_INFO with clear clears NEW", info_clears_new,
	 DEBUGGER, NULL},
	{"kfd 2.3/3, 6.12 T3", "DISABLE clears NEW; a queue made without a debugger has it",
	 disable_clears_new, DEBUGGER, NULL},
	{"kfd 2.3/3, 6.12 T3", "SUSPEND's own mask clears NEW of all listed, if one was suspended",
	 own_mask_comes_too_late, DEBUGGER, NULL},
	{"kfd 2.3/4, 6.12 T4", "one call is one unmap and map of all queues of all processes",
	 one_update_for_all_ids, DEBUGGER, NULL},
	{"kfd 2.3/4, 6.12 T4", "the other queues of the process are mapped again and run",
	 the_rest_of_the_process_runs, DEBUGGER, NULL},
	{"6.12 T4", "a suspended kernel keeps its progress", progress_is_kept, DEBUGGER, NULL},
	{"kfd 2.3/7, 6.12 T4",
	 "save-area headers of all queues and XCCs are written, 16 bytes each", headers_are_written,
	 DEBUGGER, NULL},
	{"kfd 2.3/7", "the used control stack is written: an entry for each saved wave",
	 control_stack_is_written, DEBUGGER, NULL},
	{0},
};
