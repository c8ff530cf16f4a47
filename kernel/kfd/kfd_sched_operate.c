// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What the scheduler has decided is written down and done: processes are preempted and restored
 * through the device queue manager, by one thread, one after another. The lock is not held
 * meanwhile: a GPU that is slow to let go of a process, or hangs, holds up nobody but those who end
 * that process. The core is told when it is over, as it would be by a device.
 */
#include "kfd_priv.h"
#include "kfd_device_queue_manager.h"
#include "kfd_sched_host.h"

#define CREATE_TRACE_POINTS
#include "kfd_sched_trace.h"

static const char * const action_names[] = {
	[GP_SCHED_SUSPEND] = "suspend",
	[GP_SCHED_RESUME] = "resume",
	[GP_SCHED_NOTE] = "note",
};

static struct kfd_sched_job *job_at(u32 handle)
{
	return handle < KFD_SCHED_JOBS ? kfd_sched.by_handle[handle] : NULL;
}

static int pid_of(u32 handle)
{
	struct kfd_sched_job *job = job_at(handle);

	return job ? job->pid : 0;
}

static void record(const struct gp_sched_action *action, int pid, int other, int error,
		   u64 took_ns)
{
	const struct gp_sched_reason *why = &action->reason;
	struct kfd_sched_decision *decision =
		&kfd_sched.decisions[kfd_sched.decision_count++ % KFD_SCHED_DECISIONS];

	*decision = (struct kfd_sched_decision){
		.id = why->id,
		.cause = why->cause,
		.at_ns = why->at_ns,
		.waited_ns = why->waited_ns,
		.ran_ns = why->ran_ns,
		.cost_ns = why->cost_ns,
		.took_ns = took_ns,
		.saves_ns = why->saves_ns,
		.limit_ns = why->limit_ns,
		.action = action_names[action->kind],
		.why = gp_sched_why_name(why->why),
		.policy = gp_sched_policy_name(why->policy),
		.pid = pid,
		.other = other,
		.error = error,
		.priority = why->job_priority,
		.other_priority = why->other_priority,
	};
	trace_kfd_sched_action(decision->id, decision->action, decision->why,
			       decision->pid, decision->other,
			       decision->priority, decision->other_priority,
			       decision->waited_ns, took_ns, error);
}

/* On all devices; the first error counts, but nobody is left half way. */
int kfd_sched_preempt(struct kfd_process *p, bool off)
{
	int error = 0, i;

	for (i = 0; i < p->n_pdds; i++) {
		struct kfd_process_device *pdd = p->pdds[i];
		int r = preempt_process_queues(pdd->dev->dqm, &pdd->qpd, off);

		if (r && !error)
			error = r;
	}
	/* What could not be taken off everywhere runs everywhere. */
	if (error && off)
		for (i = 0; i < p->n_pdds; i++)
			preempt_process_queues(p->pdds[i]->dev->dqm,
					       &p->pdds[i]->qpd, false);
	return error;
}

/* The last that the core wants of a job counts; nobody has begun with the one before. */
static void note_operation(const struct gp_sched_action *action)
{
	struct kfd_sched_job *job = job_at(action->job);

	if (!job)
		return;
	if (list_empty(&job->todo))
		list_add_tail(&job->todo, &kfd_sched.todo);
	else
		record(&job->action, job->pid, job->other, -ECANCELED, 0);
	job->action = *action;
	job->other = pid_of(action->reason.other);
}

void kfd_sched_take_actions(void)
{
	struct gp_sched_action action;

	while (gp_sched_take(kfd_sched.core, &action)) {
		switch (action.kind) {
		case GP_SCHED_SUSPEND:
		case GP_SCHED_RESUME:
			note_operation(&action);
			break;
		case GP_SCHED_NOTE:
			record(&action, pid_of(action.job), pid_of(action.reason.other),
			       action.reason.error, 0);
			break;
		default: /* the thread asks the core for the next timer; leases: kfd_sched.c */
			break;
		}
	}
}

/* The lock is let go meanwhile; who frees the job waits. */
static void operate(struct kfd_sched_job *job)
{
	const struct gp_sched_action action = job->action;
	bool off = action.kind == GP_SCHED_SUSPEND;
	int pid = job->pid, other = job->other, error;
	u64 start = ktime_get_ns(), cost_ns;

	kfd_sched.operating = job;
	mutex_unlock(&kfd_sched.lock);
	error = kfd_sched_preempt(job->process, off);
	cost_ns = ktime_get_ns() - start;
	mutex_lock(&kfd_sched.lock);
	kfd_sched.operating = NULL;
	if (error)
		kfd_sched.errors++;
	else if (off)
		kfd_sched.suspends++;
	else
		kfd_sched.resumes++;
	record(&action, pid, other, error, cost_ns);
	gp_sched_operation(kfd_sched.core, ktime_get_ns(), action.token, error, cost_ns);
	kfd_sched_take_actions();
	WRITE_ONCE(kfd_sched.operations, kfd_sched.operations + 1);
	wake_up_all(&kfd_sched.done);
}

void kfd_sched_operate(void)
{
	struct kfd_sched_job *job;

	mutex_lock(&kfd_sched.lock);
	while ((job = list_first_entry_or_null(&kfd_sched.todo, struct kfd_sched_job, todo))) {
		list_del_init(&job->todo);
		operate(job);
	}
	mutex_unlock(&kfd_sched.lock);
}

/* Nobody is to do it any more; false when there is none. */
bool kfd_sched_drop_operation(struct kfd_sched_job *job)
{
	if (list_empty(&job->todo))
		return false;
	record(&job->action, job->pid, job->other, 0, 0);
	list_del_init(&job->todo);
	return true;
}

int kfd_sched_wait_for_operation(bool killable)
{
	u64 seen = kfd_sched.operations;
	int error = 0;

	mutex_unlock(&kfd_sched.lock);
	if (killable)
		error = wait_event_killable(kfd_sched.done,
					    READ_ONCE(kfd_sched.operations) != seen);
	else
		wait_event(kfd_sched.done, READ_ONCE(kfd_sched.operations) != seen);
	mutex_lock(&kfd_sched.lock);
	return error;
}
