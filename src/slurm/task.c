// SPDX-License-Identifier: MIT
/*
 * task/gpreempt: a task plugin of Slurm. Before slurmd stops the processes of a job (scontrol
 * suspend, a gang time slice, preemption by a partition), gpreemptd takes their work off the GPU;
 * when the job is resumed it lets go. slurmd waits at most WAIT_MS for it, and goes on whatever the
 * result is: without gpreemptd a job is suspended as it is without this plugin.
 *
 * The hold belongs to the connection of this slurmd. If slurmd ends, the hold ends, and gpreemptd
 * follows the stop of the processes (follow_stop). If gpreemptd ends and is started again, a thread
 * here asks for the holds anew. scancel of a suspended job does not call resume: the epilog of the
 * SPANK plugin ends the hold, and so does the end of the processes.
 *
 * Slurm refuses a plugin of another version, and a slurmd that lacks a function of its task plugin
 * does not start: scripts/slurm-plugins checks both before it installs.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <slurm/slurm_version.h>
#include <slurm/spank.h> /* slurmd's log */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/core.h"
#include "base/file.h"
#include "slurm/holds.h"
#include "slurm/marks.h"
#include "slurm/plugin.h"

#define WAIT_MS       1000 /* for gpreemptd to suspend a job */
#define LATE_MS       50   /* the same after two calls without an answer: many jobs may follow */
#define LATE          2

#define RENEW_S       1   /* between two looks whether gpreemptd has ended, while a job is held */
#define RENEW_WAIT_MS 500 /* for all jobs to be held again */

#define TIDY_S        60 /* between two looks for marks of jobs that are gone, and their age */
#define TIDY_JOBS     64

const char plugin_name[] = "gpreempt task plugin";
const char plugin_type[] = "task/gpreempt";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/* A plugin has no handle that could own it; slurmd calls from many threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gp_slurm_holds holds = {.connection = {.fd = -1}};
static u32 late;       /* calls without an answer, one after the other */
static bool all_asked; /* this connection was asked for all marked jobs */

/* While jobs are suspended, a thread notices that gpreemptd has ended and asks a new one for the
 * holds. */
static pthread_t renewer;
static pid_t renewer_process; /* 0: no thread */
static pthread_t loader;      /* which may fork to become a daemon */
static bool ending;
static pthread_cond_t changed; /* waits by the monotonic clock: the other one can be set */

static u64 in_ms(u64 ms)
{
	return gp_monotonic_ns() + ms * GP_NS_PER_MS;
}

/* ---- the thread that renews ---- */

/* All that are marked. If they cannot be listed now (descriptors may be used up), once more later:
 * all_asked stays false. */
static void renew_all(void)
{
	static int last; /* what was logged */
	int marks = gp_slurm_holds_renew(&holds), error = GP_MIN(marks, 0);

	all_asked = !error;
	if (error && error != last)
		slurm_error("gpreempt: cannot list the suspended jobs: %s; trying again",
			    strerror(-error));
	if (marks > GP_SLURM_JOBS)
		slurm_error("gpreempt: %d jobs are suspended; the GPU work of %d of them is not "
			    "held again",
			    marks, marks - GP_SLURM_JOBS);
	last = error;
}

static bool is_in(const u32 *jobs, size_t count, u32 job)
{
	while (count && jobs[count - 1] != job)
		count--;
	return count > 0;
}

/* Marks of jobs that ended without the epilog of the SPANK plugin (it is not installed, or the node
 * went down): a job with such a number would be held. If the first look finds any there is a second
 * one: the list of sockets can lack one while it changes. Both are without the lock, for which
 * slurmd waits: they read all sockets. A job that was suspended meanwhile has a new mark. */
static void tidy(void)
{
	struct gp_root live = {.dir = ""};
	u32 first[TIDY_JOBS], jobs[TIDY_JOBS], old[TIDY_JOBS];
	size_t found, count, still;

	pthread_mutex_unlock(&lock);
	found = gp_slurm_marks_lost(&live, TIDY_S, first, TIDY_JOBS);
	count = found ? gp_slurm_marks_lost(&live, TIDY_S, jobs, TIDY_JOBS) : 0;
	pthread_mutex_lock(&lock);
	still = count ? gp_slurm_marks_old(TIDY_S, old, TIDY_JOBS) : 0;
	/* Bounded as a whole: slurmd waits for the lock. */
	u64 end = in_ms(LATE_MS);

	for (size_t i = 0; i < count; i++) {
		if (!is_in(first, found, jobs[i]) || !is_in(old, still, jobs[i]))
			continue;
		gp_slurm_unmark(jobs[i]);
		if (holds.connection.fd >= 0)
			(void)gp_slurm_holds_ask(&holds, jobs[i], false, end);
	}
}

/* Asks a new gpreemptd for all holds, and one that did not read for those that are left. */
static void renew_some(void)
{
	bool fresh = gp_slurm_ended(&holds.connection);

	if (fresh && gp_slurm_holds_open(&holds, LATE_MS))
		return;
	gp_slurm_holds_check(&holds);
	if (fresh || !all_asked)
		renew_all();
	gp_slurm_holds_settle(&holds, in_ms(fresh ? RENEW_WAIT_MS : LATE_MS));
}

/* Without a connection nothing is: what gpreemptd had ended with it. */
static bool is_owed(void)
{
	return (holds.count || holds.held_count) && holds.connection.fd >= 0;
}

static void init_condition(void)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

static void *renew(void *unused)
{
	u64 tidied_ns = 0, now;
	struct timespec until;

	pthread_mutex_lock(&lock);
	while (!ending) {
		now = gp_monotonic_ns();
		if (!tidied_ns || now - tidied_ns >= TIDY_S * GP_NS_PER_S) {
			/* A child of slurmd may have asked for them too, and ended them with its
			 * connection. */
			all_asked &= !tidied_ns;
			tidied_ns = now;
			tidy();
			continue; /* it may have been told to end while the lock was free */
		}
		if (!gp_slurm_marks(NULL, 0) && !is_owed()) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		renew_some();
		until = gp_timespec(gp_monotonic_ns() + RENEW_S * GP_NS_PER_S);
		pthread_cond_timedwait(&changed, &lock, &until);
	}
	pthread_mutex_unlock(&lock);
	return unused;
}

/* With the lock. Without a thread the holds are not renewed, and all else works. */
static void start_renewing(void)
{
	sigset_t all, before;

	if (renewer_process != getpid()) {
		/* The signals are those of slurmd. */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		renewer_process = pthread_create(&renewer, NULL, renew, NULL) == 0 ? getpid() : 0;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_cond_signal(&changed);
}

/*
 * In a child there is no thread that could unlock the lock, and the connection is the parent's. A
 * slurmd that becomes a daemon forks from the thread that loaded the plugin, and renews there;
 * those that will be another program are forked elsewhere.
 */
static void forked(void)
{
	bool renewed = renewer_process != 0;

	pthread_mutex_init(&lock, NULL);
	init_condition();
	gp_slurm_close(&holds.connection);
	renewer_process = 0;
	if (renewed && pthread_equal(pthread_self(), loader))
		start_renewing();
}

/* ---- holds ---- */

static int hold(u32 job, bool on)
{
	struct gp_slurm_connection *connection = &holds.connection;
	u64 end = in_ms(late < LATE ? WAIT_MS : LATE_MS);
	int status = 0;

	/* The connection may be of a gpreemptd that has ended since: once more with a new one. */
	for (int tries = 0; tries < 2; tries++) {
		bool fresh = connection->fd < 0;

		status = fresh ? gp_slurm_holds_open(&holds, gp_slurm_left_ms(end)) : 0;
		if (!status && fresh)
			renew_all();
		if (!status)
			status = gp_slurm_holds_ask(&holds, job, on, end);
		/* Those of other jobs ended with the last connection. What is asked is done,
		 * waited for or not. */
		if (fresh)
			gp_slurm_holds_settle(&holds, end);
		if (status >= 0 || fresh || connection->fd >= 0)
			break;
	}
	late = status == -ETIME ? late + 1 : 0;
	return status;
}

static void change(u32 job, bool on)
{
	bool marked = false;
	int status;

	/* Before the lock is waited for: the epilog may come meanwhile. */
	if (on && !gp_slurm_mark(job, &marked)) {
		slurm_debug("gpreempt: job %u has ended; it is not held", job);
		return;
	}
	pthread_mutex_lock(&lock);
	if (!on)
		gp_slurm_unmark(job);
	status = hold(job, on);
	if (marked)
		gp_slurm_holds_watch(&holds, job);
	start_renewing();
	pthread_mutex_unlock(&lock);

	if (status == -ENOENT || status == -ECONNREFUSED || status == -EOPNOTSUPP)
		slurm_debug("gpreempt: job %u: gpreemptd does not run or only observes", job);
	else if (status < 0)
		slurm_error("gpreempt: job %u: cannot %s its GPU work: %s; Slurm goes on", job,
			    on ? "suspend" : "resume", strerror(-status));
	else if (on)
		slurm_info("gpreempt: job %u: GPU work is suspended (processes: %d)", job, status);
}

GP_SLURM_EXPORT int init(void)
{
	/* slurmstepd loads the plugin as well. */
	if (strcmp(program_invocation_short_name, "slurmd") != 0)
		return 0;
	init_condition();
	loader = pthread_self();
	(void)pthread_atfork(NULL, NULL, forked);
	/* A slurmd that was started again has its jobs still. */
	pthread_mutex_lock(&lock);
	if (gp_slurm_marks(NULL, 0))
		start_renewing();
	pthread_mutex_unlock(&lock);
	return 0;
}

GP_SLURM_EXPORT int fini(void)
{
	bool join;

	pthread_mutex_lock(&lock);
	ending = true;
	join = renewer_process == getpid();
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	if (join)
		pthread_join(renewer, NULL);
	gp_slurm_close(&holds.connection);
	return 0;
}

GP_SLURM_EXPORT int task_p_slurmd_suspend_job(uint32_t job)
{
	change(job, true);
	return 0;
}

GP_SLURM_EXPORT int task_p_slurmd_resume_job(uint32_t job)
{
	change(job, false);
	return 0;
}

/* ---- what a task plugin must have; nothing is to be done ---- */

GP_SLURM_EXPORT int task_p_slurmd_batch_request(void *request)
{
	(void)request;
	return 0;
}

GP_SLURM_EXPORT int task_p_slurmd_launch_request(void *request, uint32_t node, char **error)
{
	(void)request, (void)node, (void)error;
	return 0;
}

GP_SLURM_EXPORT int task_p_pre_setuid(void *job)
{
	(void)job;
	return 0;
}

GP_SLURM_EXPORT int task_p_pre_launch_priv(void *job, uint32_t node, uint32_t task)
{
	(void)job, (void)node, (void)task;
	return 0;
}

GP_SLURM_EXPORT int task_p_pre_launch(void *job)
{
	(void)job;
	return 0;
}

GP_SLURM_EXPORT int task_p_post_term(void *job, void *task)
{
	(void)job, (void)task;
	return 0;
}

GP_SLURM_EXPORT int task_p_post_step(void *job)
{
	(void)job;
	return 0;
}

GP_SLURM_EXPORT int task_p_add_pid(int pid)
{
	(void)pid;
	return 0;
}

GP_SLURM_EXPORT int task_p_pre_set_affinity(void *job, uint32_t node)
{
	(void)job, (void)node;
	return 0;
}

GP_SLURM_EXPORT int task_p_set_affinity(void *job, uint32_t node)
{
	(void)job, (void)node;
	return 0;
}

GP_SLURM_EXPORT int task_p_post_set_affinity(void *job, uint32_t node)
{
	(void)job, (void)node;
	return 0;
}
