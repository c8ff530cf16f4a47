// SPDX-License-Identifier: MIT
/*
 * What a worker does to its process: bring it to what is wanted with as few driver calls as can be,
 * keep it there while queues come and go, and try again, a bounded number of times, what the driver
 * could not do at once.
 */
#include "holder/holder.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/core.h"

#define TRIES 5 /* the pauses between them double from 1 ms */

bool gp_holder_want_empty(const struct gp_holder_want *want)
{
	return !want->all && !want->gpu_count && !want->id_count;
}

bool gp_holder_want_covers(const struct gp_holder_want *want,
			   const struct gp_gpu_control_queue *queue)
{
	if (want->all)
		return true;
	for (u32 i = 0; i < want->gpu_count; i++)
		if (want->gpus[i] == queue->gpu_id)
			return true;
	for (u32 i = 0; i < want->id_count; i++)
		if (want->ids[i] == queue->id)
			return true;
	return false;
}

void gp_holder_want_free(struct gp_holder_want *want)
{
	free(want->ids);
	*want = (struct gp_holder_want){0};
}

/* ---- reasons ---- */

static enum gp_proto_code reason(int error, u32 mechanism)
{
	switch (error) {
	case -ETIME:
		/* With the others it is the driver that took too long. */
		return mechanism == GP_MECHANISM_KFD_AGENT ? GP_SAY_NO_ANSWER
							   : GP_SAY_PROCESS_ERROR;
	case -ESRCH:
		return GP_SAY_GONE;
	case -EOPNOTSUPP:
		return GP_SAY_RUNTIME_OFF;
	case -ENOENT:
		return GP_SAY_NO_QUEUE;
	case -EIO:
		return GP_SAY_STUCK;
	case -EPERM:
		return GP_SAY_SESSION_TAKEN;
	default:
		return GP_SAY_PROCESS_ERROR;
	}
}

void gp_holder_job_explain(struct gp_holder_job *job, u32 mechanism, u32 pid)
{
	if (job->result >= 0 || job->why.count)
		return;
	job->why.count = 1;
	if (job->result == -EXDEV)
		gp_proto_say(&job->why.reason[0], job->result, GP_SAY_WHOLE_ONLY,
			     gp_proto_mechanism_name(mechanism), pid);
	else
		gp_proto_say(&job->why.reason[0], job->result, reason(job->result, mechanism), pid);
}

/* ---- probe and attach ---- */

/* Which of two refusals says more of the process: that it has no agent, or that the module is not
 * for this user, says least. */
static int weight(int error)
{
	return error == -ENOENT || error == -EACCES ? 1 : error == -ENODEV ? 2 : 3;
}

/* The first mechanism that works, and why not those before it. */
static int choose(struct gp_holder_applied *applied, u32 asked, enum gp_proto_code no_agent,
		  struct gp_proto_reasons *why)
{
	struct gp_proto_message message;
	int result = -EOPNOTSUPP;

	*why = (struct gp_proto_reasons){0};
	for (const struct gp_gpu_control_ops *const *m = applied->mechanisms; *m; m++) {
		if (asked != GP_MECHANISM_AUTO && asked != (*m)->mechanism)
			continue;
		/* Where kfd-agent works the loop uses it. */
		int error = (*m)->probe
				    ? (*m)->probe(applied->pidfd, applied->pid, &message)
				    : gp_proto_say(&message,
						   no_agent == GP_SAY_AGENT_SILENT ? -ECONNREFUSED
										   : -ENOENT,
						   no_agent, applied->pid);
		if (error != -ENXIO && (!why->count || weight(error) > weight(result)))
			result = error;
		/* A module that is not loaded is worth mentioning only to a client that asks for
		 * it. That the process belongs to another user comes first. */
		if (error != -ENXIO || asked != GP_MECHANISM_AUTO)
			gp_proto_reasons_add(why, &message, error == -EPERM);
		if (error)
			continue;
		applied->ops = *m;
		return 0;
	}
	if (!why->count) {
		gp_proto_say(&message, result, GP_SAY_NOT_BUILT_IN);
		gp_proto_reasons_add(why, &message, false);
	}
	return result;
}

static void probe(struct gp_holder_applied *applied, struct gp_holder_job *job)
{
	u32 asked = job->asked;

	if (applied->ops && asked == GP_MECHANISM_AUTO && (applied->pinned || applied->control))
		asked = applied->ops->mechanism;
	job->result = choose(applied, asked, job->no_agent, &job->why);
	applied->pinned |= !job->result && job->asked != GP_MECHANISM_AUTO;
	applied->error = job->result;
	applied->why = job->why;
}

/* Before it is attached: a better mechanism may work by now. */
static void choose_again(struct gp_holder_applied *applied)
{
	const struct gp_gpu_control_ops *before = applied->ops;
	struct gp_proto_reasons why;

	if (!applied->pinned && !applied->control && before &&
	    choose(applied, GP_MECHANISM_AUTO, GP_SAY_AGENT_NONE, &why))
		applied->ops = before; /* whose attach() says what is wrong */
}

static int attach(struct gp_holder_applied *applied, struct gp_holder_job *job)
{
	struct gp_proto_message why = {0};
	int error;

	if (applied->gone)
		return -ESRCH;
	if (applied->control)
		return 0;
	choose_again(applied);
	if (!applied->ops) {
		job->why = applied->why;
		return applied->error ? applied->error : -EOPNOTSUPP;
	}
	error = applied->ops->attach(applied->pidfd, applied->pid, &why, &applied->control);
	if (error && why.code)
		gp_proto_reasons_add(&job->why, &why, false);
	return error;
}

void gp_holder_apply_end(struct gp_holder_applied *applied)
{
	if (applied->control)
		applied->ops->detach(applied->control);
	applied->control = NULL;
	gp_holder_want_free(&applied->want);
}

/* ---- apply ---- */

/* Some queues only: what is not covered starts, what is stops. */
static int apply_some(struct gp_holder_applied *applied, const struct gp_holder_want *want,
		      struct gp_gpu_control_done *done, u32 *started)
{
	struct gp_gpu_control_queues list = {0};
	struct gp_gpu_control_done start = {0};
	int error = applied->ops->queues(applied->control, &list);
	u32 *starts = calloc(2 * list.count + 1, sizeof(u32)), *stops = starts + list.count;
	size_t start_count = 0, stop_count = 0;

	if (!error && !starts)
		error = -ENOMEM;
	for (size_t i = 0; !error && i < list.count; i++)
		if (gp_holder_want_covers(want, &list.items[i]))
			stops[stop_count++] = list.items[i].id;
		else if (list.items[i].suspended)
			starts[start_count++] = list.items[i].id;
	if (!error && start_count)
		error = applied->ops->resume(applied->control, starts, start_count, &start);
	if (error >= 0 && stop_count)
		error = applied->ops->suspend(applied->control, stops, stop_count, want->grace,
					      done);
	if (start.issued_ns)
		done->issued_ns = start.issued_ns;
	done->driver_ns += start.driver_ns;
	*started = start.queues;
	free(starts);
	gp_gpu_control_queues_free(&list);
	return error < 0 ? error : 0;
}

/* done->queues: how many are stopped now; *started: how many run because of this. */
static int apply_once(struct gp_holder_applied *applied, const struct gp_holder_want *want,
		      struct gp_gpu_control_done *done, u32 *started)
{
	struct gp_gpu_control *control = applied->control;
	int result;

	*done = (struct gp_gpu_control_done){0};
	*started = 0;
	if (gp_holder_want_empty(want)) {
		result = applied->ops->resume(control, NULL, 0, done);
		*started = done->queues;
		done->queues = 0;
	} else {
		if (applied->ops->lease && want->lease_ms) {
			result = applied->ops->lease(control, want->lease_ms);
			if (result < 0)
				return result;
		}
		if (applied->ops->copies)
			applied->ops->copies(control, want->copies);
		if (!want->all)
			return apply_some(applied, want, done, started);
		result = applied->ops->suspend(control, NULL, 0, want->grace, done);
	}
	return result < 0 ? result : 0;
}

bool gp_holder_worth_another_try(int error)
{
	return error == -EBUSY || error == -EINTR || error == -ETIME || error == -EAGAIN ||
	       error == -EIO;
}

static int apply(struct gp_holder_applied *applied, const struct gp_holder_want *want,
		 u64 deadline_ns, struct gp_gpu_control_done *done, u32 *started)
{
	int error = 0;

	for (int i = 0; i < TRIES; i++) {
		struct timespec pause = {.tv_nsec = GP_NS_PER_MS << i};
		struct gp_gpu_control_done undone;

		error = apply_once(applied, want, done, started);
		if (!gp_holder_worth_another_try(error) || i + 1 == TRIES ||
		    gp_monotonic_ns() >= deadline_ns)
			break;
		/* The driver keeps what failed marked as suspended; it starts over. */
		if (error == -EIO && !gp_holder_want_empty(want))
			applied->ops->resume(applied->control, NULL, 0, &undone);
		nanosleep(&pause, NULL);
	}
	return error;
}

int gp_holder_job_check(const struct gp_holder_job *job, const struct gp_gpu_control_queues *list)
{
	for (u32 i = 0; i < job->check_count; i++) {
		size_t q = 0;

		while (q < list->count && list->items[q].id != job->check[i])
			q++;
		if (q == list->count)
			return -ENOENT;
	}
	return 0;
}

static int check_queues(struct gp_holder_applied *applied, const struct gp_holder_job *job)
{
	struct gp_gpu_control_queues list = {0};
	int error = applied->ops->queues(applied->control, &list);

	if (!error)
		error = gp_holder_job_check(job, &list);
	gp_gpu_control_queues_free(&list);
	return error;
}

/*
 * For a mechanism that stops all or nothing. Refused also when others hold all of the process now:
 * they may let go first, and all of it would stand still for whoever wanted one queue.
 */
static int check_whole(struct gp_holder_applied *applied, const struct gp_holder_job *job)
{
	struct gp_gpu_control_queues list = {0};
	int error = job->mine.id_count ? -EXDEV : applied->ops->queues(applied->control, &list);

	for (size_t i = 0; !error && i < list.count; i++)
		if (!gp_holder_want_covers(&job->mine, &list.items[i]))
			error = -EXDEV;
	gp_gpu_control_queues_free(&list);
	return error;
}

void gp_holder_job_count(struct gp_holder_job *job, const struct gp_gpu_control_queues *list)
{
	job->done.queues = 0;
	for (size_t i = 0; i < list->count; i++)
		job->done.queues += gp_holder_want_covers(&job->mine, &list->items[i]);
}

static void add_gpu(struct gp_holder_job *job, u32 gpu_id)
{
	for (u32 i = 0; i < job->gpu_count; i++)
		if (job->gpus[i] == gpu_id)
			return;
	if (job->gpu_count < GP_HOLDER_GPUS)
		job->gpus[job->gpu_count++] = gpu_id;
}

void gp_holder_job_note_gpus(struct gp_holder_job *job, const struct gp_gpu_control_queues *list)
{
	for (size_t i = 0; i < list->count; i++)
		add_gpu(job, list->items[i].gpu_id);
}

/* For the breaker, which devices it has queues on; for the answer, how many of them are stopped. */
static void note(struct gp_holder_applied *applied, struct gp_holder_job *job,
		 void (*take)(struct gp_holder_job *, const struct gp_gpu_control_queues *))
{
	struct gp_gpu_control_queues list = {0};

	if (applied->gone || !applied->control || applied->ops->queues(applied->control, &list) < 0)
		return;
	take(job, &list);
	gp_gpu_control_queues_free(&list);
}

static int apply_job(struct gp_holder_applied *applied, struct gp_holder_job *job)
{
	bool fresh = !applied->control;
	int error;

	if (gp_holder_want_empty(&job->want) && !applied->control)
		return 0;
	error = attach(applied, job);
	if (!error && applied->ops->traits & GP_CONTROL_WHOLE && !gp_holder_want_empty(&job->mine))
		error = check_whole(applied, job);
	if (!error && job->check_count)
		error = check_queues(applied, job);
	if (error)
		return error;
	error = apply(applied, &job->want, job->deadline_ns, &job->done, &job->started);
	if (!error && job->counted)
		note(applied, job, gp_holder_job_count);
	if (error == -ESRCH)
		applied->gone = true;
	/* What cannot be started again must not stay stopped while nobody holds it: the end of the
	 * session starts everything. */
	if (error == -EPERM || (error && error != -ESRCH && gp_holder_want_empty(&job->want))) {
		gp_holder_apply_end(applied);
		return error;
	}
	/* From here on it is kept that way. */
	gp_holder_want_free(&applied->want);
	applied->want = job->want;
	job->want = (struct gp_holder_want){0};
	if (fresh || error)
		note(applied, job, gp_holder_job_note_gpus);
	return error;
}

static int list_job(struct gp_holder_applied *applied, struct gp_holder_job *job)
{
	int error;

	choose_again(applied);
	if (!applied->control && applied->ops && applied->ops->look)
		return applied->ops->look(applied->pidfd, applied->pid, &job->queues);
	error = attach(applied, job);
	return error ? error : applied->ops->queues(applied->control, &job->queues);
}

static int value_job(struct gp_holder_applied *applied, struct gp_holder_job *job)
{
	int (*operation)(struct gp_gpu_control *, u32) = NULL;
	int error;

	choose_again(applied);
	if (!applied->ops)
		return attach(applied, job);
	if (job->kind == GP_JOB_SHARE)
		operation = applied->ops->share;
	else if (job->kind == GP_JOB_PRIORITY)
		operation = applied->ops->priority;
	else
		operation = applied->ops->lease;
	/* Only for those who want to know. */
	if (!operation && job->kind != GP_JOB_SHARE)
		return 0;
	if (!operation) {
		job->why.count = 1;
		return gp_proto_say(&job->why.reason[0], -EOPNOTSUPP, GP_SAY_CANNOT,
				    gp_proto_mechanism_name(applied->ops->mechanism));
	}
	error = attach(applied, job);
	return error ? error : operation(applied->control, job->value);
}

void gp_holder_apply_job(struct gp_holder_applied *applied, struct gp_holder_job *job)
{
	switch (job->kind) {
	case GP_JOB_PROBE:
		probe(applied, job);
		job->ops = applied->ops;
		return;
	case GP_JOB_APPLY:
		job->result = apply_job(applied, job);
		break;
	case GP_JOB_QUEUES:
		job->result = list_job(applied, job);
		break;
	case GP_JOB_LEASE:
	case GP_JOB_SHARE:
	case GP_JOB_PRIORITY:
		job->result = value_job(applied, job);
		break;
	case GP_JOB_STOP:
		gp_holder_apply_end(applied);
		job->result = 0;
		break;
	case GP_JOB_NOTICE:
		break;
	}
	job->ops = applied->ops;
	gp_holder_job_explain(job, applied->ops ? applied->ops->mechanism : GP_MECHANISM_AUTO,
			      applied->pid);
}

bool gp_holder_has_ended(int pidfd)
{
	struct pollfd end = {.fd = pidfd, .events = POLLIN};

	return pidfd >= 0 && poll(&end, 1, 0) > 0 && end.revents & POLLIN;
}

/* Without a session the process may still be traced: nobody else would pass its signals on. */
static void pass_strays(struct gp_holder_applied *applied)
{
	for (const struct gp_gpu_control_ops *const *m = applied->mechanisms; *m; m++)
		if ((*m)->stray && !(applied->control && applied->ops == *m))
			(*m)->stray(applied->pid);
}

int gp_holder_apply_pump(struct gp_holder_applied *applied, int *result)
{
	struct gp_gpu_control_done done;
	u32 started;

	*result = 0;
	if (applied->gone)
		return 0;
	if (applied->control && applied->ops->pump)
		*result = applied->ops->pump(applied->control);
	pass_strays(applied);
	if (gp_holder_has_ended(applied->pidfd))
		*result = -ESRCH;
	/* Queues that came while it is suspended are suspended at once. */
	if (*result == 1 && !gp_holder_want_empty(&applied->want))
		apply(applied, &applied->want, gp_monotonic_ns() + GP_NS_PER_S, &done, &started);
	if (*result == -ESRCH)
		applied->gone = true;
	if (*result == -EPERM)
		gp_holder_apply_end(applied); /* the next suspend starts anew */
	return *result != 0;
}
