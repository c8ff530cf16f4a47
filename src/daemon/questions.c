// SPDX-License-Identifier: MIT
/*
 * What one user may cost. How much of the daemon's time the questions of one user may take: a
 * twentieth, after a first burst. One thread answers and schedules, and a question may look at
 * every line of the record. Lines for `gpreempt log --follow` are charged as well. What an answer
 * costs is measured in processor time, so that a busy machine does not count against the user. A
 * user above the limit waits; others do not.
 */
#include <time.h>
#include <unistd.h>

#include "daemon/daemon.h"

#define TIMES        20          /* an answer is paid for after so many times its cost */
#define BURST_NS     GP_NS_PER_S /* of waiting that is not asked for: 50 ms of answers */
#define PAUSE_MIN_NS (10 * GP_NS_PER_MS)
#define LOG_EACH_NS  (10 * GP_NS_PER_S) /* between two messages about a user's programs */
#define LOG_BURST_NS (100 * GP_NS_PER_S)

u64 gp_daemon_question_clock(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (u64)now.tv_sec * GP_NS_PER_S + (u64)now.tv_nsec;
}

static void pause_peers(struct gp_daemon *daemon, uid_t uid, bool paused)
{
	gp_list_each (struct gp_daemon_peer, peer, link, &daemon->peers) {
		if (peer->uid == uid)
			gp_loop_pause(&daemon->loop, &peer->watch, paused);
	}
}

/* A user that is not known takes the place of the one that has paid first. */
static struct gp_daemon_asker *asker_of(struct gp_daemon *daemon, uid_t uid)
{
	struct gp_daemon_asker *oldest = &daemon->askers[0];

	for (size_t i = 0; i < GP_ARRAY_SIZE(daemon->askers); i++) {
		struct gp_daemon_asker *asker = &daemon->askers[i];

		if (asker->paid_ns && asker->uid == uid)
			return asker;
		if (asker->paid_ns < oldest->paid_ns)
			oldest = asker;
	}
	if (oldest->paused)
		pause_peers(daemon, oldest->uid, false);
	*oldest = (struct gp_daemon_asker){.uid = uid};
	return oldest;
}

void gp_daemon_question_charge(struct gp_daemon *daemon, uid_t uid, u64 cost_ns)
{
	struct gp_daemon_asker *asker = asker_of(daemon, uid);
	u64 now = gp_monotonic_ns();

	asker->paid_ns = GP_MAX(asker->paid_ns, now) + TIMES * cost_ns;
	if (asker->paused || asker->paid_ns < now + BURST_NS)
		return;
	asker->paused = true;
	daemon->stats.dropped_messages++;
	pause_peers(daemon, uid, true);
	if (!gp_timer_armed(&daemon->question_timer))
		gp_timer_set(&daemon->loop, &daemon->question_timer, now + PAUSE_MIN_NS);
}

void gp_daemon_join_charge(struct gp_daemon *daemon, uid_t uid, u64 start)
{
	if (uid != geteuid())
		gp_daemon_question_charge(daemon, uid,
					  gp_daemon_question_clock() - start +
						  GP_DAEMON_JOIN_COST_NS);
}

bool gp_daemon_question_waits(struct gp_daemon *daemon, uid_t uid)
{
	return asker_of(daemon, uid)->paused;
}

static void question_time(struct gp_timer *timer)
{
	struct gp_daemon *daemon = gp_container(timer, struct gp_daemon, question_timer);
	u64 now = gp_monotonic_ns(), next = UINT64_MAX;

	for (size_t i = 0; i < GP_ARRAY_SIZE(daemon->askers); i++) {
		struct gp_daemon_asker *asker = &daemon->askers[i];

		if (!asker->paused)
			continue;
		if (asker->paid_ns < now + BURST_NS) {
			asker->paused = false;
			pause_peers(daemon, asker->uid, false);
		} else {
			next = GP_MIN(next, GP_MAX(asker->paid_ns - BURST_NS, now + PAUSE_MIN_NS));
		}
	}
	gp_timer_set(&daemon->loop, timer, next);
}

bool gp_daemon_user_may_log(struct gp_daemon *daemon, uid_t uid)
{
	struct gp_daemon_asker *asker;
	u64 now = gp_monotonic_ns();

	if (uid == geteuid())
		return true;
	asker = asker_of(daemon, uid);
	asker->paid_ns = GP_MAX(asker->paid_ns, 1u);
	asker->log_ns = GP_MAX(asker->log_ns, now);
	if (asker->log_ns >= now + LOG_BURST_NS)
		return false;
	asker->log_ns += LOG_EACH_NS;
	return true;
}

void gp_daemon_questions_init(struct gp_daemon *daemon)
{
	gp_timer_init(&daemon->question_timer, question_time);
}
