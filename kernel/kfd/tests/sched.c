/*
 * The scheduler inside the driver: who is preempted for whom, and who is put back. Rows ask for
 * states that come, never for how soon.
 */
#include "kfd.h"

#define POLICY     "/sys/module/amdgpu/parameters/kfd_sched"
#define BY_PROCESS "/sys/module/amdgpu/parameters/unmap_by_process"
#define STATE      "/sys/kernel/debug/kfd/sched"
#define DECISIONS  "/sys/kernel/debug/kfd/sched_decisions"
#define TRACING    "/sys/kernel/tracing/"

#define LOW        500
#define HIGH       2000

static bool is(const struct actor *actor, u32 id, const char *state)
{
	return strcmp(queue_file(actor->pid, id, "state"), state) == 0;
}

static struct actor start_with(struct self *me, u32 queues, u32 priority)
{
	struct actor actor = start_target(can_debug(me), queues);

	for (u32 id = 0; id < queues; id++)
		EXPECT(DO(&actor, do_set_priority, id, priority), 0);
	return actor;
}

/* Has work without an end; two queues, the second idle. */
static struct actor start_low(struct self *me)
{
	struct actor actor = start_with(me, 2, LOW);

	EXPECT(DO(&actor, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, look(me, actor.pid, 0).cu_ns > 0);
	return actor;
}

void sched_is_off(struct self *me)
{
	struct actor low, high;

	needs_patches();
	write_file(POLICY, "off");
	EXPECT(features() & GP_KFD_QUEUE_SCHED_IN_EFFECT, 0);
	low = start_low(me);
	high = start_with(me, 1, HIGH);
	EXPECT(DO(&high, do_submit_one, 0, LONG), 0);
	UNTIL(me, look(me, high.pid, 0).completed == 1);
	EXPECT(strcmp(queue_file(low.pid, 0, "suspended_ms"), "0"), 0);
	/* It can be turned on and off while they work. */
	write_file(POLICY, "priority");
	CHECK(features() & GP_KFD_QUEUE_SCHED_IN_EFFECT);
	EXPECT(DO(&high, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, is(&low, 0, "preempted"));
	write_file(POLICY, "off");
	EXPECT(is(&low, 0, "active"), 1);
	EXPECT(look_settled(me, low.pid, 0).mapped, 1);
}

void sched_inversion(struct self *me)
{
	struct actor low, high;
	u64 done;

	needs_patches();
	write_file(BY_PROCESS, "1");
	write_file(POLICY, "priority");
	low = start_low(me);
	high = start_with(me, 1, HIGH);
	for (u32 i = 1; i <= 3; i++) {
		u64 off = taken_off(me, high.pid, 0);

		EXPECT(DO(&high, do_submit_one, 0, LONG), 0);
		UNTIL(me, is(&low, 0, "preempted") && is(&low, 1, "preempted"));
		EXPECT(look_settled(me, low.pid, 0).mapped, 0);
		done = look(me, low.pid, 0).cu_ns;
		UNTIL(me, look(me, high.pid, 0).completed == i);
		/* In the middle of its kernel; it goes on where it was. */
		UNTIL(me, is(&low, 0, "active") && is(&low, 1, "active"));
		UNTIL(me, look(me, low.pid, 0).cu_ns > done);
		EXPECT(look(me, low.pid, 0).completed, 0);
		/* And who it was for was not disturbed. */
		EXPECT(taken_off(me, high.pid, 0), off);
	}
	CHECK(atoi(queue_file(low.pid, 0, "suspended_ms")) > 0);
	EXPECT(atoi(queue_file(high.pid, 0, "suspended_ms")), 0);
	write_file(POLICY, "off");
}

void sched_equals(struct self *me)
{
	struct actor first, second;

	needs_patches();
	write_file(POLICY, "priority");
	first = start_low(me);
	second = start_with(me, 1, LOW);
	EXPECT(DO(&second, do_submit_one, 0, LONG), 0);
	UNTIL(me, look(me, second.pid, 0).completed == 1);
	EXPECT(strcmp(queue_file(first.pid, 0, "suspended_ms"), "0"), 0);
	EXPECT(strcmp(queue_file(second.pid, 0, "suspended_ms"), "0"), 0);
	write_file(POLICY, "off");
}

void sched_deaths(struct self *me)
{
	struct actor low, high;

	needs_patches();
	write_file(POLICY, "priority");
	/* The one it was for dies. */
	low = start_low(me);
	high = start_with(me, 1, HIGH);
	EXPECT(DO(&high, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, is(&low, 0, "preempted"));
	actor_kill(me, &high);
	UNTIL(me, is(&low, 0, "active"));
	UNTIL(me, look(me, low.pid, 0).mapped);
	/* The one that is off dies. */
	high = start_with(me, 1, HIGH);
	EXPECT(DO(&high, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, is(&low, 0, "preempted"));
	actor_kill(me, &low);
	EXPECT(look_settled(me, high.pid, 0).mapped, 1);
	/* It destroys its queues while it is off. */
	low = start_low(me);
	UNTIL(me, is(&low, 0, "preempted"));
	EXPECT(DO(&low, do_destroy, 0), 0);
	EXPECT(DO(&low, do_destroy, 1), 0);
	EXPECT(DO(&low, do_create, COMPUTE), 0);
	UNTIL(me, is(&low, 0, "active"));
	write_file(POLICY, "off");
}

void sched_changes(struct self *me)
{
	struct actor low, high;

	needs_patches();
	write_file(POLICY, "priority");
	low = start_low(me);
	high = start_with(me, 1, HIGH);
	EXPECT(DO(&high, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, is(&low, 0, "preempted"));
	/* A queue that comes to a process that is off goes off, too. */
	EXPECT(DO(&low, do_create, COMPUTE), 2);
	UNTIL(me, is(&low, 0, "preempted") && is(&low, 2, "preempted"));
	/* The highest of its queues counts. */
	EXPECT(DO(&low, do_set_priority, 2, 3000), 0);
	UNTIL(me, is(&low, 0, "active") && is(&high, 0, "preempted"));
	EXPECT(DO(&low, do_destroy, 2), 0);
	UNTIL(me, is(&low, 0, "preempted") && is(&high, 0, "active"));
	write_file(POLICY, "off");
}

/* Three reasons to be off, each its own; where there is no debugger two. */
void sched_reasons(struct self *me)
{
	bool debug = can_debug(me);
	struct actor low, high;

	needs_patches();
	write_file(POLICY, "priority");
	low = start_low(me);
	high = start_with(me, 1, HIGH);
	if (debug) {
		attach(me, &low, 0);
		EXPECT(ME(me, do_suspend, PID(low), 2, 0, 1), 2);
	}
	EXPECT(DO(&high, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, is(&low, 0, debug ? "suspended preempted" : "preempted"));
	if (debug)
		EXPECT(ME(me, do_resume_all, PID(low)), 2);
	EXPECT(look_settled(me, low.pid, 0).suspended, 0);
	EXPECT(DO(&low, do_pause, 1), 0);
	UNTIL(me, is(&low, 0, "evicted preempted"));
	write_file(POLICY, "off");
	EXPECT(is(&low, 0, "evicted"), 1);
	EXPECT(look_settled(me, low.pid, 0).mapped, 0);
	EXPECT(DO(&low, do_pause, 0), 0);
	EXPECT(is(&low, 0, "active"), 1);
	EXPECT(look_settled(me, low.pid, 0).mapped, 1);
}

static bool says(const char *path, const char *format, int pid, int other)
{
	char *text = slurp(path), line[128];
	bool found;

	CHECK(text);
	snprintf(line, sizeof(line), format, pid, other);
	found = strstr(text, line);
	free(text);
	return found;
}

void sched_tells(struct self *me)
{
	struct actor low, high;

	needs_patches();
	write_file(POLICY, "priority");
	write_file(TRACING "events/amdkfd/kfd_sched_action/enable", "1");
	low = start_low(me);
	high = start_with(me, 1, HIGH);
	EXPECT(DO(&high, do_submit_one, 0, LONG), 0);
	UNTIL(me, look(me, high.pid, 0).completed == 1);
	UNTIL(me, is(&low, 0, "active"));
	CHECK(says(STATE, "policy=priority", 0, 0));
	CHECK(says(STATE, "why inversion=", 0, 0));
	CHECK(says(STATE, "job pid=%d priority=500 state=running queues=2", low.pid, 0));
	CHECK(says(STATE, "job pid=%d priority=2000 state=running queues=1", high.pid, 0));
	CHECK(says(DECISIONS,
		   "action=suspend why=inversion policy=priority pid=%d other=%d priority=500 "
		   "other_priority=2000",
		   low.pid, high.pid));
	CHECK(says(DECISIONS, "action=resume why=clear policy=priority pid=%d", low.pid, 0));
	CHECK(says(TRACING "trace", "action=suspend why=inversion pid=%d other=%d", low.pid,
		   high.pid));
	write_file(TRACING "events/amdkfd/kfd_sched_action/enable", "0");
	write_file(POLICY, "off");
}

/* Nobody is off for longer than max_suspend, however important the other. */
void sched_starvation(struct self *me)
{
	struct actor low, high;
	u64 done;

	needs_patches();
	write_file(POLICY, "priority");
	low = start_low(me);
	high = start_with(me, 1, HIGH);
	EXPECT(DO(&high, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, is(&low, 0, "preempted"));
	done = look(me, low.pid, 0).cu_ns;
	UNTIL(me, look(me, low.pid, 0).cu_ns > done);
	UNTIL(me, is(&low, 0, "preempted"));
	EXPECT(look(me, high.pid, 0).completed, 0);
	write_file(POLICY, "off");
}

void sched_policies(struct self *me)
{
	char *text;

	(void)me;
	needs_patches();
	write_file(POLICY, "fair");
	text = slurp(POLICY);
	CHECK(text && strcmp(text, "fair\n") == 0);
	free(text);
	write_file(POLICY, "off\n");
	text = slurp(POLICY);
	CHECK(text && strcmp(text, "off\n") == 0);
	free(text);
}
