// SPDX-License-Identifier: MIT
/*
 * A worker: the thread that acts on one process. It sleeps on its socket, on the control's
 * descriptor and on the process's pidfd. Jobs lie in a list; a byte on the socket says that there
 * are some, or that the process may have something (a nudge), so that the loop never waits for a
 * worker that hangs in the driver. Jobs come back as packets of one pointer. A socket pair, because
 * a wake through one costs a quarter of one through an eventfd here.
 */
#include "holder/holder.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define STACK_BYTES (512u * 1024)
#define JOBS        'j'
#define NUDGE       'n'

struct gp_holder_worker {
	struct gp_holder_member *member; /* only handed back in notices; the loop's */
	int ends[2];                     /* the loop's and the thread's */
	bool is_inline;
	pthread_t thread;
	pthread_mutex_t lock; /* of jobs */
	struct gp_list jobs;  /* for the thread, oldest first */
	struct gp_holder_applied applied;
};

static void send_pointer(int fd, struct gp_holder_job *job)
{
	ssize_t sent;

	do
		sent = send(fd, &job, sizeof(job), MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
}

static void notice(struct gp_holder_worker *worker, int result)
{
	struct gp_holder_job *job = gp_holder_job_new(worker->member, GP_JOB_NOTICE, NULL);

	if (!job)
		return;
	job->result = result;
	send_pointer(worker->ends[1], job);
}

/* Descriptors that may say something of the process; -1 entries are ignored by poll. */
static int wait_for_something(struct gp_holder_worker *worker, struct pollfd *fds)
{
	const struct gp_holder_applied *applied = &worker->applied;
	int control =
		applied->control && applied->ops->fd ? applied->ops->fd(applied->control) : -1;

	fds[0] = (struct pollfd){.fd = worker->ends[1], .events = POLLIN};
	fds[1] = (struct pollfd){.fd = applied->gone ? -1 : control, .events = POLLIN};
	fds[2] = (struct pollfd){.fd = applied->gone ? -1 : applied->pidfd, .events = POLLIN};
	return poll(fds, 3, -1);
}

static struct gp_holder_job *next_job(struct gp_holder_worker *worker)
{
	struct gp_holder_job *job = NULL;

	pthread_mutex_lock(&worker->lock);
	if (!gp_list_empty(&worker->jobs)) {
		job = gp_container(worker->jobs.next, struct gp_holder_job, link);
		gp_list_remove(&job->link);
	}
	pthread_mutex_unlock(&worker->lock);
	return job;
}

/* False when STOP was done. */
static bool run_jobs(struct gp_holder_worker *worker)
{
	struct gp_holder_job *job;
	bool stop = false;

	while (!stop && (job = next_job(worker)) != NULL) {
		stop = job->kind == GP_JOB_STOP;
		gp_holder_apply_job(&worker->applied, job);
		job->finished_ns = gp_monotonic_ns();
		send_pointer(worker->ends[1], job);
	}
	return !stop;
}

static void *run(void *data)
{
	struct gp_holder_worker *worker = data;
	struct pollfd fds[3];
	char bytes[64];
	int result;

	do {
		if (wait_for_something(worker, fds) < 0)
			continue;
		/* A byte is a job or a nudge, and a nudge may be lost in a full socket: looking at
		 * the process costs little. */
		bool nudged = fds[0].revents &&
			      recv(worker->ends[1], bytes, sizeof(bytes), MSG_DONTWAIT) > 0;
		if ((nudged || fds[1].revents || fds[2].revents) &&
		    gp_holder_apply_pump(&worker->applied, &result))
			notice(worker, result);
	} while (run_jobs(worker));
	return NULL;
}

int gp_holder_worker_start(struct gp_holder_member *member, struct gp_holder_worker **out)
{
	struct gp_holder_worker *worker = calloc(1, sizeof(*worker));
	pthread_attr_t attributes;
	int error = 0;

	if (!worker)
		return -ENOMEM;
	worker->member = member;
	worker->is_inline = member->holder->options.inline_jobs;
	gp_list_init(&worker->jobs);
	pthread_mutex_init(&worker->lock, NULL);
	worker->applied.mechanisms = member->holder->options.mechanisms;
	worker->applied.pid = member->pid;
	worker->applied.pidfd = member->pidfd;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, worker->ends) < 0) {
		error = -errno;
		free(worker);
		return error;
	}
	error = gp_loop_watch(&member->holder->loop, &member->watch, worker->ends[0],
			      gp_holder_member_ready);
	if (error) {
		close(worker->ends[1]);
		free(worker);
		return error;
	}
	if (!worker->is_inline) {
		pthread_attr_init(&attributes);
		pthread_attr_setstacksize(&attributes, STACK_BYTES);
		error = -pthread_create(&worker->thread, &attributes, run, worker);
		pthread_attr_destroy(&attributes);
	}
	if (error) {
		gp_loop_unwatch(&member->holder->loop, &member->watch);
		close(worker->ends[1]);
		free(worker);
		return error;
	}
	*out = worker;
	return 0;
}

/* When its socket is full it has enough to wake up for. */
static void wake(struct gp_holder_worker *worker, char why)
{
	send(worker->ends[0], &why, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void gp_holder_worker_post(struct gp_holder_worker *worker, struct gp_holder_job *job)
{
	if (worker->is_inline) {
		gp_holder_apply_job(&worker->applied, job);
		job->finished_ns = gp_monotonic_ns();
		gp_list_add_tail(&job->member->holder->finished, &job->link);
		return;
	}
	pthread_mutex_lock(&worker->lock);
	gp_list_add_tail(&worker->jobs, &job->link);
	pthread_mutex_unlock(&worker->lock);
	wake(worker, JOBS);
}

struct gp_holder_job *gp_holder_worker_take(struct gp_holder_worker *worker)
{
	struct gp_holder_job *job;

	if (recv(worker->ends[0], &job, sizeof(job), MSG_DONTWAIT) != (ssize_t)sizeof(job))
		return NULL;
	return job;
}

void gp_holder_worker_nudge(struct gp_holder_worker *worker)
{
	if (!worker->is_inline)
		wake(worker, NUDGE);
}

void gp_holder_worker_join(struct gp_holder_worker *worker)
{
	struct gp_holder_job *job;

	if (!worker->is_inline)
		pthread_join(worker->thread, NULL);
	while ((job = gp_holder_worker_take(worker)) != NULL)
		gp_holder_job_free(job); /* notices that crossed STOP */
	close(worker->ends[1]);
	pthread_mutex_destroy(&worker->lock);
	free(worker);
}
