// SPDX-License-Identifier: MIT
/*
 * Questions of docs/findings.md that the driver's own code answers: how often the runlist is
 * reloaded, what active_runlist does to a second process, whose doorbells and queue ids are whose,
 * which of amdgpu's other machinery a queue needs. They hold on the stock driver and on the patched
 * one.
 */
#include <fcntl.h>

#include "kfd.h"

#define SLICE_WORDS (8192 / 4) /* doorbells of a process on a device, in words of the BAR */

/* The second process's queue is mapped, and works beside the first. */
void finding_runlist(struct self *me)
{
	struct actor first = start_busy(me, 1), second;
	u64 runlists = figure(me, "runlists"), done;

	second = start_busy(me, 1);
	EXPECT(figure(me, "runlists") - runlists, 1);
	EXPECT(look(me, first.pid, 0).mapped, 1);
	EXPECT(look(me, second.pid, 0).mapped, 1);
	EXPECT(figure(me, "oversubscribed"), 0);
	done = look(me, first.pid, 0).cu_ns;
	UNTIL(me, look(me, first.pid, 0).cu_ns > done);
	done = look(me, second.pid, 0).cu_ns;
	UNTIL(me, look(me, second.pid, 0).cu_ns > done);
}

/* Calls are not gathered: n queues are n reloads, but one SUSPEND of n queues is one. */
void finding_batches(struct self *me)
{
	struct actor target;
	u64 runlists;

	target = start_target(can_debug(me), 0);
	runlists = figure(me, "runlists");
	for (u32 id = 0; id < 3; id++)
		EXPECT(DO(&target, do_create, COMPUTE), id);
	EXPECT(figure(me, "runlists") - runlists, 3);
	if (can_debug(me))
		attach(me, &target, 0);
	EXPECT(DO(&target, do_update, 0, 100, 9), 0);
	runlists = figure(me, "runlists");
	/* What changes nothing costs the same. */
	EXPECT(DO(&target, do_update, 0, 100, 9), 0);
	EXPECT(figure(me, "runlists") - runlists, 1);
	if (!can_debug(me))
		return;
	EXPECT(ME(me, do_suspend, PID(target), 2, 0, 1), 2);
	EXPECT(figure(me, "runlists") - runlists, 2);
	EXPECT(ME(me, do_resume, PID(target), 2, 0, 1), 2);
	EXPECT(figure(me, "runlists") - runlists, 3);
}

static s64 do_doorbell(struct self *self, const u64 *args, u64 *out)
{
	(void)out;
	return (s64)(self->queues[args[0]].args.doorbell_offset % 8192);
}

/* A queue has an MQD on each. */
static u32 count_xccs(void)
{
	char *text = slurp("/sys/class/kfd/kfd/topology/nodes/1/properties");
	const char *at = text ? strstr(text, "\nnum_xcc ") : NULL;
	u32 count = at ? (u32)strtoul(at + strlen("\nnum_xcc "), NULL, 10) : 1;

	free(text);
	return count ? count : 1;
}

/* Absolute doorbells of a process's queues on the BAR, in words, from the MQDs. */
static u32 doorbell_word(pid_t pid, u32 nth)
{
	char *text = slurp("/sys/kernel/debug/kfd/mqds"), *line, *rest = NULL;
	const u32 control = 0x8f; /* cp_hqd_pq_doorbell_control, word of struct v9_mqd */
	bool inside = false;
	u32 found = 0, word = 0, seen = 0, xccs = count_xccs();

	CHECK(text);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		int owner;
		u32 at, v[8];

		if (sscanf(line, "Process %d PASID", &owner) == 1)
			inside = owner == pid;
		if (!inside || sscanf(line, " %x: %x %x %x %x %x %x %x %x", &at, v, v + 1, v + 2,
				      v + 3, v + 4, v + 5, v + 6, v + 7) != 9)
			continue;
		if (at / 4 != control / 8 * 8)
			continue;
		if (seen++ == nth * xccs) {
			word = v[control % 8];
			found = 1;
		}
	}
	free(text);
	EXPECT(found, 1);
	return word >> 2 & 0x3ffffff;
}

/* Each process has a slice of its own; within it the n-th free doorbell, not the queue's id. */
void finding_doorbells(struct self *me)
{
	struct actor first = start_target(0, 2), second = start_target(0, 2);
	u32 a, b;

	EXPECT(DO(&first, do_doorbell, 0), 0);
	EXPECT(DO(&first, do_doorbell, 1), 8);
	EXPECT(DO(&second, do_doorbell, 0), 0);
	settle(me);
	/* Newest first: the second line is queue 0. */
	a = doorbell_word(first.pid, 1);
	b = doorbell_word(second.pid, 1);
	EXPECT(doorbell_word(first.pid, 0), a + 2);
	EXPECT(a % SLICE_WORDS, b % SLICE_WORDS);
	CHECK(a != b && a / SLICE_WORDS != b / SLICE_WORDS);
	/* An SDMA queue takes an id, but its doorbell is its engine's. */
	EXPECT(DO(&first, do_create, SDMA), 2);
	EXPECT(DO(&first, do_create, COMPUTE), 3);
	EXPECT(DO(&first, do_doorbell, 2) >= 0x100 * 8, 1);
	EXPECT(DO(&first, do_doorbell, 3), 2 * 8);
}

/* Ids are the process's own, lowest first, and used again. */
void finding_ids(struct self *me)
{
	struct actor first = start_target(0, 2), second = start_target(0, 2);

	EXPECT(DO(&first, do_destroy, 0), 0);
	EXPECT(look_settled(me, second.pid, 0).exists, 1);
	EXPECT(DO(&second, do_create, COMPUTE), 2);
	EXPECT(DO(&first, do_create, COMPUTE), 0);
	EXPECT(DO(&first, do_create, COMPUTE), 2);
}

/* ---- rings and workqueues ---- */

#define TRACING "/sys/kernel/tracing/"
#define QUEUED  TRACING "events/workqueue/workqueue_queue_work/enable"

/* Every way to a ring of amdgpu, and (the last) a function that every change of a queue calls. */
static const char *const probed[] = {"amdgpu_ring_alloc",         "amdgpu_ring_commit",
				     "amdgpu_ib_schedule",        "amdgpu_job_submit",
				     "drm_sched_entity_push_job", "pm_send_runlist"};

static void write_probe(const char *format, const char *name)
{
	int fd = open(TRACING "kprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC);
	char line[96];

	CHECK(fd >= 0);
	snprintf(line, sizeof(line), format, name, name);
	CHECK(write(fd, line, strlen(line)) == (ssize_t)strlen(line));
	close(fd);
}

static void start_probes(void)
{
	for (size_t i = 0; i < GP_ARRAY_SIZE(probed); i++)
		write_probe("p:finding/%s %s\n", probed[i]);
	write_file(TRACING "events/finding/enable", "1");
	write_file(QUEUED, "1");
}

static void end_probes(void)
{
	write_file(QUEUED, "0");
	write_file(TRACING "events/finding/enable", "0");
	for (size_t i = 0; i < GP_ARRAY_SIZE(probed); i++)
		write_probe("-:finding/%s\n", probed[i]);
}

/* How often the function was called since start_probes(). */
static u64 calls_of(const char *name)
{
	char *text = slurp(TRACING "kprobe_profile"), *line, *rest = NULL, found[64];
	unsigned long long hits, count = UINT64_MAX;

	CHECK(text);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (sscanf(line, " %63s %llu", found, &hits) == 2 && strcmp(found, name) == 0)
			count = hits;
	free(text);
	CHECK(count != UINT64_MAX);
	return count;
}

/* All work of the driver that may come in a queue's life: what, and for which workqueue. None of these
 * is ordered. */
static const char *const works[][2] = {
	{"kfd_process_wq_release", "kfd_process_wq"}, /* a process exits */
	{"copy_context_work_handler", "events"},      /* a debugger suspends its queues */
	{"interrupt_wq", "KFD IH"},                   /* a signal that somebody sleeps for */
};

/* Whether the driver did this work; another one fails the row. */
static bool was_queued(const char *work)
{
	char *text = slurp(TRACING "trace"), *line, *rest = NULL;
	bool found = false;

	CHECK(text);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *function = strstr(line, "function="), wanted[128];
		bool known = false;

		if (!function || !strstr(function, "[amdgpu] workqueue="))
			continue;
		for (size_t i = 0; i < GP_ARRAY_SIZE(works) && !known; i++) {
			snprintf(wanted, sizeof(wanted), "function=%s [amdgpu] workqueue=%s ",
				 works[i][0], works[i][1]);
			known = strncmp(function, wanted, strlen(wanted)) == 0;
			found |= known && strcmp(works[i][0], work) == 0;
		}
		if (!known)
			fail(__FILE__, __LINE__, function, 1, 0);
	}
	free(text);
	return found;
}

/*
 * The GPU here has no ring at all, so a queue that needed one would not work. The driver's functions
 * say the same: from its creation to the exit of its process none of them submits to a ring or to
 * the GPU scheduler, and no work goes to an ordered workqueue (KFD has one, for restores after an
 * eviction).
 */
void finding_rings(struct self *me)
{
	struct actor target, debugger;
	char path[64];

	start_probes();
	target = start_target(can_debug(me), 2);
	EXPECT(DO(&target, do_submit, 0, 1000), 0);
	UNTIL(me, look(me, target.pid, 0).completed == 1);
	EXPECT(DO(&target, do_update, 0, 100, 9), 0);
	if (can_debug(me)) {
		debugger = start_debugger(&target); /* suspends both */
		EXPECT(DO(&debugger, do_resume_all, PID(target)), 2);
		actor_kill(me, &debugger);
	}
	EXPECT(DO(&target, do_create, SDMA), 2);
	EXPECT(DO(&target, do_destroy, 0), 0);
	actor_kill(me, &target);
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d", (int)target.pid);
	UNTIL(me, access(path, F_OK) != 0);
	/* The probes see what there is, and nothing else. */
	CHECK(calls_of("pm_send_runlist") > 0);
	for (size_t i = 0; i + 1 < GP_ARRAY_SIZE(probed); i++)
		EXPECT(calls_of(probed[i]), 0);
	CHECK(was_queued("kfd_process_wq_release"));
	EXPECT(was_queued("copy_context_work_handler"), can_debug(me));
	end_probes();
}
