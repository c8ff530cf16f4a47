// SPDX-License-Identifier: MIT
/*
 * The scheduler inside the driver: who is preempted for whom, and who is put back. Rows ask for
 * states that come, never for how soon.
 */
#include "kfd.h"

#define DECISIONS "/sys/kernel/debug/kfd/sched_decisions"
#define TRACING   "/sys/kernel/tracing/"
#define GPREEMPT  "/bin/gpreempt"
#define LATE      "/sys/module/fakegpu/parameters/late_fence_ms"

static bool says_policy(const char *policy)
{
	char *text = slurp(POLICY);
	bool same = text && strcmp(text, policy) == 0;

	free(text);
	return same;
}

void sched_is_off(struct self *me)
{
	struct actor low, high;

	needs_patches();
	/* The first row that touches it: as the module was loaded. */
	CHECK(says_policy("off\n"));
	EXPECT(features() & GP_KFD_QUEUE_SCHED_IN_EFFECT, 0);
	low = start_low(me);
	high = start_with(me, 1, HIGH);
	EXPECT(DO(&high, do_submit_one, 0, LONG), 0);
	UNTIL(me, look(me, high.pid, 0).completed == 1);
	EXPECT(strcmp(queue_file(low.pid, 0, "suspended_ms"), "0"), 0);
	/* It can be turned on and off while they work. */
	write_file(POLICY, "priority");
	CHECK(features() & GP_KFD_QUEUE_SCHED_IN_EFFECT);
	contend(me, &low, &high);
	write_file(POLICY, "off");
	EXPECT(is(&low, 0, "active"), 1);
	EXPECT(look_settled(me, low.pid, 0).mapped, 1);
}

void sched_inversion(struct self *me)
{
	struct actor low, high;
	u64 done;

	by_process();
	start_pair(me, &low, &high);
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

	start_pair(me, &low, &high);
	/* The one it was for dies. */
	contend(me, &low, &high);
	actor_kill(me, &high);
	UNTIL(me, is(&low, 0, "active"));
	UNTIL(me, look(me, low.pid, 0).mapped);
	/* The one that is off dies. */
	high = start_with(me, 1, HIGH);
	contend(me, &low, &high);
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

	start_pair(me, &low, &high);
	contend(me, &low, &high);
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

	start_pair(me, &low, &high);
	if (debug) {
		attach(me, &low, 0);
		EXPECT(ME(me, do_suspend, PID(low), 2, 0, 1), 2);
	}
	EXPECT(DO(&high, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, is(&low, 0, debug ? "suspended preempted" : "preempted"));
	if (debug)
		EXPECT(ME(me, do_resume_all, PID(low)), 2);
	EXPECT(look_settled(me, low.pid, 0).suspended, 0);
	EXPECT(is(&low, 0, "active preempted"), 0);
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
	write_file(TRACING "events/amdkfd/kfd_sched_action/enable", "1");
	start_pair(me, &low, &high);
	EXPECT(DO(&high, do_submit_one, 0, LONG), 0);
	UNTIL(me, look(me, high.pid, 0).completed == 1);
	/* On the hardware, and then in the books. */
	UNTIL(me, is(&low, 0, "active"));
	UNTIL(me, says(SCHED, "job pid=%d priority=500 state=running queues=2", low.pid, 0));
	CHECK(says(SCHED, "policy=priority", 0, 0));
	CHECK(says(SCHED, "why inversion=", 0, 0));
	CHECK(says(SCHED, "job pid=%d priority=2000 state=running queues=1", high.pid, 0));
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
	struct queue_view off;

	start_pair(me, &low, &high);
	contend(me, &low, &high);
	/* The state comes before the queue is off the hardware. */
	UNTIL(me, !(off = look_settled(me, low.pid, 0)).mapped);
	UNTIL(me, look(me, low.pid, 0).cu_ns > off.cu_ns);
	UNTIL(me, is(&low, 0, "preempted"));
	EXPECT(look(me, high.pid, 0).completed, 0);
	write_file(POLICY, "off");
}

void sched_policies(struct self *me)
{
	(void)me;
	needs_patches();
	write_file(POLICY, "fair");
	CHECK(says_policy("fair\n"));
	/* Jobs of the driver have no deadlines: it says so instead of doing something else. */
	EXPECT(write_error(POLICY, "deadline"), -EOPNOTSUPP);
	EXPECT(write_error(POLICY, "none"), -EINVAL);
	CHECK(says_policy("fair\n"));
	write_file(POLICY, "off\n");
	CHECK(says_policy("off\n"));
}

/* A line of what gpreempt top prints that begins with the pid, and these words after it. */
static bool top_says(pid_t pid, const char *words, const char *then)
{
	FILE *top = popen(GPREEMPT " top --once --driver", "r");
	char line[256], begin[64];
	bool first = false, second = false;

	CHECK(top);
	while (fgets(line, sizeof(line), top)) {
		char *text = line + strspn(line, " ");

		snprintf(begin, sizeof(begin), "%d ", (int)pid);
		if (strncmp(text, begin, strlen(begin)) != 0)
			continue;
		first |= strstr(text, words) != NULL;
		second |= strstr(text, then) != NULL;
	}
	EXPECT(pclose(top), 0);
	return first && second;
}

/* Among people: the job that is off, and its queues, in gpreempt top. */
void sched_in_top(struct self *me)
{
	struct actor low, high;

	needs_patches();
	if (access(GPREEMPT, X_OK))
		skip("gpreempt is not in this guest");
	start_pair(me, &low, &high);
	UNTIL(me, top_says(low.pid, " 500  running ", " active"));
	contend(me, &low, &high);
	UNTIL(me, top_says(low.pid, " 500  held ", " preempted"));
	UNTIL(me, top_says(high.pid, " 2000  running ", " active"));
	write_file(POLICY, "off");
	EXPECT(top_says(low.pid, " 500  running ", " active"), 1);
}

/* While it is being preempted: who asks is answered, who changes is done, and it may end. */
void sched_slow(struct self *me)
{
	struct actor low, high, third;

	start_pair(me, &low, &high);
	third = start_with(me, 1, LOW);
	write_file(LATE, "5000");
	EXPECT(DO(&high, do_submit_one, 0, ENDLESS), 0);
	UNTIL(me, says(SCHED, "job pid=%d priority=500 state=suspending", low.pid, 0));
	EXPECT(DO(&third, do_set_priority, 0, 700), 0);
	CHECK(says(SCHED, "job pid=%d priority=700", third.pid, 0));
	CHECK(says(SCHED, "job pid=%d priority=500 state=suspending", low.pid, 0));
	write_file(LATE, "0");
	actor_kill(me, &low);
	CHECK(!says(SCHED, "job pid=%d ", low.pid, 0));
	EXPECT(look_settled(me, high.pid, 0).mapped, 1);
	write_file(POLICY, "off");
}
