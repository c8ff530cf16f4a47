// SPDX-License-Identifier: MIT
/*
 * Which descriptors are followed by launches, and what may be spent on them. Run by the program's
 * own threads, also in signal handlers: nothing but loads and stores, and one fstat() for each
 * descriptor. See auto.h.
 */
#include "agent/auto.h"

#include <sys/stat.h>

#include "base/clock.h"

/* A record is not used: its descriptor is not known; it can be waited for; it cannot. */
enum { UNKNOWN, READABLE, OTHER };

#define GET(field)        __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define PUT(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)
#define MOST_US           1000000u
#define ANSWER_NS         (3 * GP_NS_PER_MS)
#define LEAD_US           400u /* before the launch that is expected, and twice what it varies by */
#define HOLD_LEAST        (500 * GP_NS_PER_US)
#define HOLD_MOST         (10 * GP_NS_PER_MS)
#define HOLD_MORE         (400 * GP_NS_PER_US)
#define COMPARED          8  /* requests without a hint that say how long one takes */
#define MEMORY            64 /* requests in an average */
#define FEW               4  /* launches after which nothing else is to come, or soon */
#define LAUNCH            16 /* a launch in the average of them */
#define MOST_LAUNCHES     100000u

void gp_agent_learn_init(struct gp_agent_learn *learn, u64 now)
{
	learn->filled = now;
	learn->budget_ns = GP_AGENT_AUTO_SAVED_NS;
}

u32 gp_agent_learn_id(int fd, bool accepted)
{
	return 1 + 2 * (u32)fd + accepted;
}

static struct gp_agent_source *source_of(struct gp_agent_learn *learn, u32 id)
{
	u32 fd = (id - 1) / 2 % GP_AGENT_AUTO_FDS;

	return (id - 1) % 2 ? &learn->accepted[fd] : &learn->own[fd];
}

bool gp_agent_learn_wanted(struct gp_agent_learn *learn, int fd)
{
	struct gp_agent_source *s;
	struct stat st;
	u8 kind;

	if (fd < 0 || fd >= GP_AGENT_AUTO_FDS)
		return false;
	s = &learn->own[fd];
	kind = GET(s->kind);
	if (kind == UNKNOWN) {
		if (fstat(fd, &st))
			return false;
		/* eventfd, epoll and the like are of no type. */
		kind = S_ISSOCK(st.st_mode) || S_ISFIFO(st.st_mode) || !(st.st_mode & S_IFMT)
			       ? READABLE
			       : OTHER;
		PUT(s->kind, kind);
	}
	return kind == READABLE;
}

/* ---- the list of open episodes ---- */

static void list_add(struct gp_agent_learn *learn, u32 id)
{
	for (u32 i = 0; i < GP_AGENT_AUTO_OPEN; i++) {
		u32 none = 0;

		if (GET(learn->open[i]) == id ||
		    __atomic_compare_exchange_n(&learn->open[i], &none, id, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return;
	}
}

static void list_remove(struct gp_agent_learn *learn, u32 id)
{
	for (u32 i = 0; i < GP_AGENT_AUTO_OPEN; i++)
		if (GET(learn->open[i]) == id)
			PUT(learn->open[i], 0);
}

/* ---- episodes ---- */

static u32 blend(u32 old, u32 seen)
{
	return old ? old - old / 4 + seen / 4 : seen;
}

/* What is not known yet varies by an eighth. */
static void note_delay(struct gp_agent_source *s, u32 took_us)
{
	u32 delay = GET(s->delay_us), off = took_us > delay ? took_us - delay : delay - took_us;

	PUT(s->spread_us, delay ? blend(GET(s->spread_us), off) : took_us / 8);
	PUT(s->delay_us, blend(delay, took_us));
}

static void close_episode(struct gp_agent_learn *learn, u32 id, bool hit, u64 now)
{
	struct gp_agent_source *s = source_of(learn, id);
	u64 took_us = (now - GET(s->opened)) / GP_NS_PER_US;
	u16 score = GET(s->score), episodes = GET(s->episodes);

	/* So many events for one launch: most of them are about something else. */
	if (hit && GET(s->events) <= GP_AGENT_AUTO_FLOOD) {
		PUT(s->score, (u16)(score + (GP_AGENT_AUTO_SCORE - score) / 4));
		note_delay(s, (u32)GP_MIN(took_us, MOST_US));
	} else {
		PUT(s->score, (u16)(score - score / 4));
	}
	if (episodes < UINT16_MAX)
		PUT(s->episodes, (u16)(episodes + 1));
	PUT(s->opened, 0);
	list_remove(learn, id);
}

/* A front end learns of launches when it looks: the first one since then, or 0. */
static u64 first_of_team(const struct gp_agent_learn *learn, u64 since)
{
	const struct gp_proto_ahead *team = __atomic_load_n(&learn->team, __ATOMIC_ACQUIRE);
	u64 first = 0;

	for (u32 i = 0; team && since && i < GP_AHEAD_BURSTS; i++) {
		u64 at = GET(team->burst[i]);

		if (at > since && (!first || at < first))
			first = at;
	}
	return first;
}

static void settle_by_team(struct gp_agent_learn *learn, u32 id)
{
	u64 opened = id ? GET(source_of(learn, id)->opened) : 0;
	u64 first = first_of_team(learn, opened);

	if (first)
		close_episode(learn, id, first - opened < GP_AGENT_AUTO_WINDOW_NS, first);
}

/* In a front end, an event at another descriptor after the launch of the thread's request is the
 * answer to it, and so is any event soon after a launch. */
static bool is_answer(struct gp_agent_learn *learn, struct gp_agent_thread *thread, u32 id, u64 now)
{
	bool again = false;

	if (!learn->team)
		return false;
	if (!first_of_team(learn, thread->began))
		return first_of_team(learn, now - ANSWER_NS) != 0;
	for (u32 i = 0; i < GP_AGENT_AUTO_MINE; i++) {
		again |= thread->mine[i] == id;
		settle_by_team(learn, thread->mine[i]);
	}
	*thread = (struct gp_agent_thread){0};
	return !again || first_of_team(learn, now - ANSWER_NS) != 0;
}

static void thread_note(struct gp_agent_thread *thread, u32 id, u64 now)
{
	if (!thread->began || now - thread->began > GP_AGENT_AUTO_WINDOW_NS)
		*thread = (struct gp_agent_thread){.began = now};
	for (u32 i = 0; i < GP_AGENT_AUTO_MINE; i++) {
		if (thread->mine[i] == id)
			return;
		if (!thread->mine[i]) {
			thread->mine[i] = id;
			return;
		}
	}
}

static bool is_trusted(const struct gp_agent_source *s)
{
	return GET(s->score) >= GP_AGENT_AUTO_TRUST && GET(s->episodes) >= GP_AGENT_AUTO_EPISODES;
}

/* Of an accepted connection that of all of its listener. */
static u32 id_of(const struct gp_agent_learn *learn, int fd)
{
	u16 listener = GET(learn->own[fd].listener);

	return gp_agent_learn_id(listener ? listener - 1 : fd, listener != 0);
}

/* Requests from which was learned say nothing about those of now: the program had just started, or
 * it had the GPU for itself. So the first comparison is made soon. */
static bool is_left_out(u32 chance)
{
	u32 in = chance <= GP_AGENT_AUTO_CONTROL ? GP_AGENT_AUTO_CONTROL / COMPARED
						 : GP_AGENT_AUTO_CONTROL;

	return chance % in == 0;
}

u64 gp_agent_learn_event(struct gp_agent_learn *learn, struct gp_agent_thread *thread, int fd,
			 u64 now)
{
	u32 id = id_of(learn, fd), delay, lead;
	struct gp_agent_source *s = source_of(learn, id);
	u64 opened = GET(s->opened);

	if (is_answer(learn, thread, id, now))
		return 0;
	if (opened) {
		settle_by_team(learn, id);
		opened = GET(s->opened);
	}
	if (opened && now - opened < GP_AGENT_AUTO_WINDOW_NS) {
		PUT(s->events, GET(s->events) + 1);
		thread_note(thread, id, now);
		return 0;
	}
	if (opened)
		close_episode(learn, id, false, now);
	if (now - GET(learn->launched) < GP_AGENT_AUTO_IDLE_NS)
		return 0;
	PUT(s->opened, now);
	PUT(s->events, 1);
	list_add(learn, id);
	thread_note(thread, id, now);
	if (!is_trusted(s) || now < GET(learn->off_until))
		return 0;
	if (is_left_out(__atomic_add_fetch(&learn->chances, 1, __ATOMIC_RELAXED))) {
		thread->control = true;
		return 0;
	}
	/* The GPU is this program's from then on: a launch that comes when it is expected needs
	 * less than one that may come any time. */
	delay = GET(s->delay_us);
	lead = LEAD_US + GP_MIN(2 * GET(s->spread_us), delay / 4);
	return delay > lead ? now + (delay - lead) * GP_NS_PER_US : now;
}

void gp_agent_learn_accepted(struct gp_agent_learn *learn, int listener, int fd)
{
	if (fd < 0 || fd >= GP_AGENT_AUTO_FDS || listener < 0 || listener >= GP_AGENT_AUTO_FDS)
		return;
	gp_agent_learn_closed(learn, fd);
	PUT(learn->own[fd].kind, READABLE);
	PUT(learn->own[fd].listener, (u16)(listener + 1));
}

bool gp_agent_learn_known(const struct gp_agent_learn *learn, int fd)
{
	return fd >= 0 && fd < GP_AGENT_AUTO_FDS && GET(learn->own[fd].kind) != UNKNOWN;
}

void gp_agent_learn_closed(struct gp_agent_learn *learn, int fd)
{
	if (!gp_agent_learn_known(learn, fd))
		return;
	for (int accepted = 0; accepted < 2; accepted++) {
		struct gp_agent_source *s = source_of(learn, gp_agent_learn_id(fd, accepted));

		list_remove(learn, gp_agent_learn_id(fd, accepted));
		PUT(s->opened, 0);
		PUT(s->delay_us, 0);
		PUT(s->spread_us, 0);
		PUT(s->score, 0);
		PUT(s->episodes, 0);
		PUT(s->listener, 0);
		PUT(s->kind, UNKNOWN);
	}
}

u32 gp_agent_learn_delay(const struct gp_agent_learn *learn, int fd)
{
	u32 id = id_of(learn, fd), at = (id - 1) / 2;

	return (id - 1) % 2 ? GET(learn->accepted[at].delay_us) : GET(learn->own[at].delay_us);
}

/* ---- launches ---- */

static bool close_if_open(struct gp_agent_learn *learn, u32 id, u64 now)
{
	u64 opened = id ? GET(source_of(learn, id)->opened) : 0;

	if (!opened)
		return false;
	close_episode(learn, id, now - opened < GP_AGENT_AUTO_WINDOW_NS, now);
	return now - opened < GP_AGENT_AUTO_WINDOW_NS;
}

bool gp_agent_learn_launch(struct gp_agent_learn *learn, struct gp_agent_thread *thread,
			   bool hinted, u64 now)
{
	bool pause = now - GET(learn->launched) >= GP_AGENT_AUTO_IDLE_NS, mine = false;

	PUT(learn->launched, now);
	for (u32 i = 0; i < GP_AGENT_AUTO_MINE; i++) {
		mine |= close_if_open(learn, thread->mine[i], now);
		thread->mine[i] = 0;
	}
	/* A thread that was given the request by another. */
	for (u32 i = 0; !mine && pause && !thread->launched && i < GP_AGENT_AUTO_OPEN; i++)
		close_if_open(learn, GET(learn->open[i]), now);
	if (thread->began && (mine || pause))
		thread->launched = hinted ? 2 : 1;
	return mine || pause;
}

/* A request that takes much longer than usual counts for three. */
static void average(u32 *us, u32 *count, u32 usual, u64 seen)
{
	u32 was = GET(*us), n = GET(*count) + 1;

	seen = GP_MIN(seen, usual ? 3ull * usual : MOST_US);
	PUT(*us, (u32)((s64)was + ((s64)seen - (s64)was) / (s64)GP_MIN(n, (u32)MEMORY)));
	PUT(*count, n);
}

void gp_agent_learn_returned(struct gp_agent_learn *learn, struct gp_agent_thread *thread, u64 now)
{
	u64 us = (now - thread->began) / GP_NS_PER_US;

	if (thread->began && thread->launched == 2)
		average(&learn->with_us, &learn->with, GET(learn->without_us), us);
	else if (thread->began && thread->launched && thread->control)
		average(&learn->without_us, &learn->without, GET(learn->without_us), us);
	thread->began = 0;
	thread->launched = 0;
	thread->control = false;
}

/* ---- what hints cost; the thread that gives them alone calls these ---- */

bool gp_agent_learn_last(const struct gp_agent_learn *learn, u32 launches)
{
	u32 usual = GET(learn->launches);

	/* What is usual is an average: half a launch less is as many. */
	return usual <= FEW * LAUNCH && launches * LAUNCH + LAUNCH / 2 >= usual;
}

void gp_agent_learn_count(struct gp_agent_learn *learn, u32 launches)
{
	PUT(learn->launches, blend(GET(learn->launches), GP_MIN(launches, MOST_LAUNCHES) * LAUNCH));
}

u64 gp_agent_learn_hold(u64 delay_us)
{
	u64 hold = 2 * delay_us * GP_NS_PER_US + HOLD_MORE;

	return GP_MAX(GP_MIN(hold, HOLD_MOST), HOLD_LEAST);
}

bool gp_agent_learn_pay(struct gp_agent_learn *learn, u64 hold, u64 now)
{
	s64 cost = (s64)(hold + GP_AGENT_AUTO_SWITCH_NS);

	if (now > learn->filled) {
		learn->budget_ns += (s64)((now - learn->filled) / GP_AGENT_AUTO_PART);
		learn->budget_ns = GP_MIN(learn->budget_ns, (s64)GP_AGENT_AUTO_SAVED_NS);
		learn->filled = now;
	}
	if (learn->budget_ns < cost) {
		PUT(learn->refused, learn->refused + 1);
		return false;
	}
	learn->budget_ns -= cost;
	PUT(learn->hints, learn->hints + 1);
	return true;
}

static u32 why_off(const struct gp_agent_learn *learn)
{
	u32 with = GET(learn->with_us), without = GET(learn->without_us);

	if (2 * learn->judged_useful < learn->judged)
		return GP_AHEAD_OFF_FALSE;
	if (GET(learn->with) >= GP_AGENT_AUTO_JUDGED && GET(learn->without) >= COMPARED &&
	    with > without + without / 20)
		return GP_AHEAD_OFF_SLOWER;
	return GP_AHEAD_ON;
}

/* What was compared belongs to what ran on the GPU at that time. */
static void compare_anew(struct gp_agent_learn *learn)
{
	PUT(learn->with, 0);
	PUT(learn->with_us, 0);
	PUT(learn->without, 0);
	PUT(learn->without_us, 0);
	PUT(learn->chances, 0);
}

void gp_agent_learn_judge(struct gp_agent_learn *learn, u64 hold, bool useful, u64 now)
{
	u64 cost = hold + GP_AGENT_AUTO_SWITCH_NS;
	u32 why;

	if (useful) {
		PUT(learn->useful, learn->useful + 1);
		learn->budget_ns += (s64)cost;
	} else {
		PUT(learn->wasted, learn->wasted + 1);
		PUT(learn->wasted_ns, learn->wasted_ns + cost);
	}
	learn->judged++;
	learn->judged_useful += useful;
	if (learn->judged < GP_AGENT_AUTO_JUDGED)
		return;
	why = why_off(learn);
	if (why != GP_AHEAD_ON) {
		PUT(learn->off_why, why);
		PUT(learn->off_until, now + GP_AGENT_AUTO_PAUSE_NS);
		compare_anew(learn);
	}
	learn->judged = learn->judged_useful = 0;
}

/* ---- what was learned ---- */

void gp_agent_learn_describe(const struct gp_agent_learn *learn, u64 now,
			     struct gp_proto_msg_ahead *out)
{
	u64 off = GET(learn->off_until), delays = 0;

	*out = (struct gp_proto_msg_ahead){.hints = GET(learn->hints),
					   .useful = GET(learn->useful),
					   .wasted = GET(learn->wasted),
					   .refused = GET(learn->refused),
					   .wasted_ns = GET(learn->wasted_ns),
					   .with_us = GET(learn->with_us),
					   .without_us = GET(learn->without_us)};
	for (u32 i = 0; i < 2 * GP_AGENT_AUTO_FDS; i++) {
		const struct gp_agent_source *s =
			i % 2 ? &learn->accepted[i / 2] : &learn->own[i / 2];

		if (!is_trusted(s))
			continue;
		out->sources++;
		delays += GET(s->delay_us);
	}
	out->delay_us = out->sources ? (u32)(delays / out->sources) : 0;
	out->state = out->sources ? GP_AHEAD_ON : GP_AHEAD_LEARNING;
	if (now < off) {
		out->state = GET(learn->off_why);
		out->off_ms = (u32)((off - now) / GP_NS_PER_MS);
	}
}
