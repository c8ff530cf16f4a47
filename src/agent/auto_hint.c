// SPDX-License-Identifier: MIT
/*
 * The thread that has the GPU switched (cuda.c), so that no thread of the program launches anything
 * for it. It exists from the program's first launch on, with every signal blocked, and waits for a
 * word that the program's threads, or a front end, change.
 */
#include "agent/auto.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/interpose.h"
#include "base/clock.h"

#define STACK_BYTES (256u << 10)
#define SLACK_NS    1000
#define LATEST_NS   (100 * GP_NS_PER_MS) /* further ahead nobody asks in earnest */

/* No hint; a kernel waits on the GPU; it was told to end; the request is over. */
enum { IDLE, ARMED, RELEASED, OVER };

struct gp_agent_learn gp_agent_learned;
bool gp_agent_auto_on;

static struct {
	struct gp_proto_ahead *page; /* NULL: nothing was launched yet */
	int started;
	pid_t pid;                        /* a child that shares our memory is another */
	u32 state;                        /* futex: woken when it is OVER */
	const struct gp_agent_thread *by; /* that launched since it is armed */
	u32 launches;                     /* since then */
	void *context;                    /* the last one that was launched in */
	pthread_mutex_t use;              /* while CUDA is called with it */
	bool ended;
} hint = {.use = PTHREAD_MUTEX_INITIALIZER};

/* In static storage: the first use in a signal handler must not allocate. */
static __thread struct gp_agent_thread thread __attribute__((tls_model("initial-exec")));

static long futex(u32 *word, int operation, u32 value, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

/* ---- the thread ---- */

static void sleep_until(u64 at)
{
	struct timespec until = gp_timespec(at);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* Until the request ends, or the kernel does by itself. */
static void hold(u64 ns)
{
	u64 end = gp_monotonic_ns() + ns;

	for (u64 now = gp_monotonic_ns(); now < end; now = gp_monotonic_ns()) {
		struct timespec left = gp_timespec(end - now);
		u32 state = __atomic_load_n(&hint.state, __ATOMIC_ACQUIRE);

		if (state == OVER)
			return;
		futex(&hint.state, FUTEX_WAIT_PRIVATE, state, &left);
	}
}

static bool arm(u64 ns)
{
	bool good;

	pthread_mutex_lock(&hint.use);
	__atomic_store_n(&hint.by, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&hint.launches, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&hint.state, ARMED, __ATOMIC_RELEASE);
	good = hint.context && !hint.ended && gp_agent_ahead_begin(hint.context, ns);
	pthread_mutex_unlock(&hint.use);
	/* It was told to end before it was there. */
	if (good && __atomic_load_n(&hint.state, __ATOMIC_ACQUIRE) != ARMED)
		gp_agent_ahead_release();
	return good;
}

static void give(u64 at, u32 delay_us)
{
	struct gp_agent_learn *learn = &gp_agent_learned;
	u64 now = gp_monotonic_ns(), since = at < now ? at : now,
	    ns = gp_agent_learn_hold(delay_us);
	bool useful, good;

	if (at > now + LATEST_NS)
		return;
	if (at > now)
		sleep_until(at);
	/* It was faster than we are. */
	if (__atomic_load_n(&learn->launched, __ATOMIC_RELAXED) > since ||
	    !gp_agent_learn_pay(learn, ns, gp_monotonic_ns()))
		return;
	good = arm(ns);
	if (good) {
		hold(ns);
		gp_agent_ahead_end();
	}
	useful = !good || __atomic_load_n(&learn->launched, __ATOMIC_RELAXED) > since;
	__atomic_store_n(&hint.state, IDLE, __ATOMIC_RELEASE);
	if (good && useful)
		gp_agent_learn_count(learn, __atomic_load_n(&hint.launches, __ATOMIC_RELAXED));
	gp_agent_learn_judge(learn, ns, useful, gp_monotonic_ns());
}

/* While the program still starts, and not at its first hint. */
static void prepare(void)
{
	pthread_mutex_lock(&hint.use);
	if (hint.context && !hint.ended)
		gp_agent_ahead_prepare(hint.context);
	pthread_mutex_unlock(&hint.use);
}

static void *serve(void *unused)
{
	struct gp_proto_ahead *page = hint.page;

	(void)unused;
	prctl(PR_SET_NAME, "gpreempt-ahead");
	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	prepare();
	for (;;) {
		u32 word = __atomic_load_n(&page->word, __ATOMIC_ACQUIRE);
		u64 at = __atomic_exchange_n(&page->asked, 0, __ATOMIC_ACQ_REL);

		if (at)
			give(at, __atomic_load_n(&page->delay_us, __ATOMIC_RELAXED));
		else
			futex(&page->word, FUTEX_WAIT, word, NULL);
	}
	return NULL;
}

/* Before CUDA ends, which registered its own end earlier. */
static void at_exit(void)
{
	pthread_mutex_lock(&hint.use);
	hint.ended = true;
	pthread_mutex_unlock(&hint.use);
	gp_agent_team_leave();
}

static void start_thread(void)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t id;

	hint.page = gp_agent_team_make(gp_agent_self());
	if (!hint.page || pthread_attr_init(&attributes))
		return;
	atexit(at_exit);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pthread_create(&id, &attributes, serve, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
}

/* A launch is not a cancellation point; what opens files here would be one. */
static void start(void)
{
	int cancel;

	if (__atomic_exchange_n(&hint.started, 1, __ATOMIC_ACQ_REL) || getpid() != hint.pid)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	start_thread();
	pthread_setcancelstate(cancel, NULL);
}

/* ---- the program's threads ---- */

static bool change(u32 from, u32 to)
{
	return __atomic_compare_exchange_n(&hint.state, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* The kernel on the GPU ends at once, by a store. The thread that gave the hint sleeps on: to wake
 * it here would cost the request a call. */
static void release(void)
{
	if (change(ARMED, RELEASED))
		gp_agent_ahead_release();
}

static void finish(void)
{
	release();
	if (change(RELEASED, OVER))
		futex(&hint.state, FUTEX_WAKE_PRIVATE, 1, NULL);
}

void gp_agent_auto_launch(void)
{
	u64 now = gp_monotonic_ns();
	u32 state = __atomic_load_n(&hint.state, __ATOMIC_ACQUIRE);
	bool hinted = state == ARMED || state == RELEASED;
	struct gp_proto_ahead *page;
	int error = errno;
	void *context;

	if (state == ARMED && !__atomic_load_n(&hint.by, __ATOMIC_RELAXED))
		__atomic_store_n(&hint.by, &thread, __ATOMIC_RELAXED);
	if (hinted)
		__atomic_add_fetch(&hint.launches, 1, __ATOMIC_RELAXED);
	if (!gp_agent_learn_launch(&gp_agent_learned, &thread, hinted, now))
		return;
	context = gp_agent_ahead_context();
	if (context)
		__atomic_store_n(&hint.context, context, __ATOMIC_RELEASE);
	if (!__atomic_load_n(&hint.started, __ATOMIC_ACQUIRE))
		start();
	page = __atomic_load_n(&hint.page, __ATOMIC_ACQUIRE);
	if (page)
		__atomic_store_n(&page->burst[__atomic_fetch_add(&page->next, 1, __ATOMIC_RELAXED) %
					      GP_AHEAD_BURSTS],
				 now, __ATOMIC_RELAXED);
	errno = error;
}

/* Beside a kernel that waits, those of the request start later; and the trainer would have the GPU
 * back only when the answer is sent. But CUDA takes tens of microseconds to hand a graph over: if
 * the kernel ended before, the GPU would change back to the trainer, and once more to the graph. */
void gp_agent_auto_after(void)
{
	if (__atomic_load_n(&hint.state, __ATOMIC_ACQUIRE) == ARMED &&
	    __atomic_load_n(&hint.by, __ATOMIC_RELAXED) == &thread &&
	    gp_agent_learn_last(&gp_agent_learned,
				__atomic_load_n(&hint.launches, __ATOMIC_RELAXED)))
		release();
}

void gp_agent_auto_sync(void)
{
	int error = errno;

	release();
	errno = error;
}

void gp_agent_auto_end(void)
{
	int error = errno;

	pthread_mutex_lock(&hint.use);
	finish();
	hint.context = NULL;
	pthread_mutex_unlock(&hint.use);
	errno = error;
}

void gp_agent_auto_returned(void)
{
	if (__builtin_expect(!thread.launched, 1))
		return;
	gp_agent_learn_returned(&gp_agent_learned, &thread, gp_monotonic_ns());
	if (__atomic_load_n(&hint.by, __ATOMIC_RELAXED) == &thread)
		finish();
}

void gp_agent_auto_event(int fd)
{
	struct gp_agent_learn *learn = &gp_agent_learned;
	struct gp_proto_ahead *page = __atomic_load_n(&hint.page, __ATOMIC_ACQUIRE);
	const struct gp_agent *agent = gp_agent_if_any();
	u64 at, now;

	if (!gp_agent_learn_known(learn, fd) && agent && gp_agent_owns(agent, fd))
		return;
	if (!gp_agent_learn_wanted(learn, fd))
		return;
	now = gp_monotonic_ns();
	if (!page) {
		gp_agent_team_look(learn, now);
		page = __atomic_load_n(&learn->team, __ATOMIC_ACQUIRE);
	}
	at = gp_agent_learn_event(learn, &thread, fd, now);
	if (!at || !page)
		return;
	if (page != hint.page)
		__atomic_add_fetch(&page->told, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&page->delay_us, gp_agent_learn_delay(learn, fd), __ATOMIC_RELAXED);
	__atomic_store_n(&page->asked, at, __ATOMIC_RELEASE);
	__atomic_add_fetch(&page->word, 1, __ATOMIC_RELEASE);
	futex(&page->word, FUTEX_WAKE, 1, NULL);
}

void gp_agent_auto_accepted(int listener, int fd)
{
	gp_agent_learn_accepted(&gp_agent_learned, listener, fd);
}

/* A child of vfork() closes its own, in our memory. */
static void closed(int fd)
{
	if (gp_agent_learn_known(&gp_agent_learned, fd) && getpid() == hint.pid)
		gp_agent_learn_closed(&gp_agent_learned, fd);
}

static void describe(struct gp_proto_msg_ahead *out)
{
	gp_agent_learn_describe(&gp_agent_learned, gp_monotonic_ns(), out);
	if (hint.page)
		out->told = __atomic_load_n(&hint.page->told, __ATOMIC_RELAXED);
}

/* ---- coming and going ---- */

static void forked(void)
{
	hint.page = NULL; /* the parent's */
	hint.started = 0;
	hint.state = IDLE;
	hint.context = NULL;
	hint.by = NULL;
	hint.pid = getpid();
	pthread_mutex_init(&hint.use, NULL); /* a thread that is not here may have had it */
	memset(&thread, 0, sizeof(thread));
	gp_agent_team_forked();
	gp_agent_ahead_forked();
}

__attribute__((constructor)) static void begin(void)
{
	const char *wanted = getenv("GPREEMPT_AHEAD");

	if (!wanted || strcmp(wanted, "auto") != 0)
		return;
	hint.pid = getpid();
	gp_agent_learn_init(&gp_agent_learned, gp_monotonic_ns());
	gp_agent_team_init();
	pthread_atfork(NULL, NULL, forked);
	gp_agent_hooks = (struct gp_agent_hooks){.closed = closed,
						 .describe = describe,
						 .symbol = gp_agent_auto_symbol};
	gp_agent_auto_on = true;
}
