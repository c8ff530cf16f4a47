// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Hosts the scheduler core of gpreempt in amdkfd. The driver says here which queues exist and how
 * important they are, kfd_sched_watch.c looks at their rings, the core decides, and
 * kfd_sched_operate.c preempts and restores processes through the device queue manager.
 *
 * A process is a job; its priority is the highest logical priority of its queues. All of its
 * queues are preempted together, on all GPUs.
 *
 * Nothing outlives the driver that could hold a process off: a suspension is of this module, its
 * thread decides when it ends, and the core ends each after max_suspend at the latest. So leases
 * need no clock of their own here.
 *
 * The driver's calls only tell the core; what it decides is done by the thread, without the lock.
 * A GPU that is slow to let go of a process, or hangs, holds up nobody but that process's end.
 */
#include <linux/module.h>
#include <linux/sched/mm.h>

#include "kfd_priv.h"
#include "kfd_device_queue_manager.h"
#include "kfd_sched.h"
#include "kfd_sched_host.h"

struct kfd_sched_host kfd_sched;

/* ---- queues come and go ---- */

static int set_policy(u32 device)
{
	struct gp_sched_device_config config;
	struct kfd_node *node = kfd_sched.nodes[device];
	int error;

	gp_sched_device_defaults(&config);
	config.policy = kfd_sched.policy;
	config.can_suspend = node && can_preempt_process_queues(node->dqm);
	error = gp_sched_device_set(kfd_sched.core, ktime_get_ns(), device, &config);
	kfd_sched_take_actions();
	return error;
}

/* The core's number of a device, which has it while it has queues. */
static int device_of(struct kfd_node *node, u32 *device)
{
	u32 i, free = KFD_SCHED_DEVICES;

	for (i = 0; i < KFD_SCHED_DEVICES; i++) {
		if (kfd_sched.nodes[i] == node)
			break;
		if (!kfd_sched.nodes[i] && free == KFD_SCHED_DEVICES)
			free = i;
	}
	if (i < KFD_SCHED_DEVICES) {
		*device = i;
		return 0;
	}
	if (free == KFD_SCHED_DEVICES)
		return -ENOSPC;
	kfd_sched.nodes[free] = node;
	*device = free;
	return set_policy(free);
}

/* A device without queues may go. */
static void forget_if_unused(u32 device)
{
	if (device < KFD_SCHED_DEVICES && !kfd_sched.node_queues[device])
		kfd_sched.nodes[device] = NULL;
}

static void leave_device(u32 device)
{
	kfd_sched.node_queues[device]--;
	forget_if_unused(device);
}

static struct kfd_sched_job *find_job(struct kfd_process *process)
{
	struct kfd_sched_job *job;

	list_for_each_entry(job, &kfd_sched.jobs, list)
		if (job->process == process)
			return job;
	return NULL;
}

/* Not while the thread is at it. Returns whether its process is to be restored, by the caller. */
static bool free_job(struct kfd_sched_job *job)
{
	bool held;

	/* The core resumes it, last of all, if it is held. */
	gp_sched_job_remove(kfd_sched.core, ktime_get_ns(), job->job);
	kfd_sched_take_actions();
	held = kfd_sched_drop_operation(job);
	kfd_sched.by_handle[job->job] = NULL;
	kfd_sched.job_count--;
	list_del(&job->list);
	if (job->mm)
		mmdrop(job->mm);
	kfree(job);
	return held;
}

static struct kfd_sched_job *make_job(struct kfd_process *process, u32 priority)
{
	struct gp_sched_job_spec spec = { .priority = priority };
	struct kfd_sched_job *job = kzalloc(sizeof(*job), GFP_KERNEL);

	if (!job)
		return NULL;
	INIT_LIST_HEAD(&job->queues);
	INIT_LIST_HEAD(&job->todo);
	job->process = process;
	job->priority = priority;
	job->pid = process->lead_thread->pid;
	if (gp_sched_job_add(kfd_sched.core, ktime_get_ns(), &spec, &job->job)) {
		kfree(job);
		return NULL;
	}
	kfd_sched_take_actions();
	/* Its own thread is here, so it has it still; afterwards only a reference tells. */
	if (current->mm && current->mm == process->mm) {
		job->mm = current->mm;
		mmgrab(job->mm);
	}
	kfd_sched.by_handle[job->job] = job;
	kfd_sched.job_count++;
	list_add(&job->list, &kfd_sched.jobs);
	if (gp_sched_process_add(kfd_sched.core, ktime_get_ns(), job->job,
				 &job->handle)) {
		free_job(job);
		return NULL;
	}
	kfd_sched_take_actions();
	return job;
}

/* The highest of its queues'. */
static void set_priority(struct kfd_sched_job *job)
{
	struct gp_sched_job_spec spec = {};
	struct kfd_sched_queue *queue;

	list_for_each_entry(queue, &job->queues, list)
		spec.priority = max(spec.priority, queue->q->properties.logical_priority);
	if (spec.priority == job->priority)
		return;
	job->priority = spec.priority;
	gp_sched_job_set(kfd_sched.core, ktime_get_ns(), job->job, &spec);
	kfd_sched_take_actions();
}

static struct kfd_sched_queue *find_queue(struct queue *q)
{
	struct kfd_sched_job *job = find_job(q->process);
	struct kfd_sched_queue *queue;

	if (job)
		list_for_each_entry(queue, &job->queues, list)
			if (queue->q == q)
				return queue;
	return NULL;
}

static int add_queue(struct kfd_sched_job *job, struct queue *q)
{
	struct kfd_sched_queue *queue;
	int error;

	if (job->queue_count == KFD_SCHED_JOB_QUEUES)
		return -ENOSPC;
	queue = kzalloc(sizeof(*queue), GFP_KERNEL);
	if (!queue)
		return -ENOMEM;
	queue->device = KFD_SCHED_DEVICES;
	error = device_of(q->device, &queue->device);
	if (!error)
		error = gp_sched_queue_add(kfd_sched.core, ktime_get_ns(), job->handle,
					   queue->device, GP_SCHED_STREAM_NORMAL,
					   &queue->handle);
	if (error) {
		forget_if_unused(queue->device);
		kfree(queue);
		return error;
	}
	queue->q = q;
	queue->job = job;
	queue->serial = ++kfd_sched.serial;
	queue->work = GP_SCHED_DRAINED;
	kfd_sched.node_queues[queue->device]++;
	kfd_sched.queue_count++;
	kfd_sched.queue_by_handle[queue->handle] = queue;
	job->queue_count++;
	list_add(&queue->list, &job->queues);
	kfd_sched_take_actions();
	set_priority(job);
	return 0;
}

static void wake(void)
{
	WRITE_ONCE(kfd_sched.woken, true);
	wake_up(&kfd_sched.wait);
}

void kfd_sched_queue_created(struct queue *q)
{
	struct kfd_sched_job *job;

	if (!kfd_sched.core)
		return;
	mutex_lock(&kfd_sched.lock);
	job = find_job(q->process);
	if (!job)
		job = make_job(q->process, q->properties.logical_priority);
	if (!job || add_queue(job, q))
		pr_warn_once("amdkfd: too many queues for the scheduler\n");
	if (job && list_empty(&job->queues))
		free_job(job);
	mutex_unlock(&kfd_sched.lock);
	wake();
}

static bool remove_queue(struct kfd_sched_queue *queue)
{
	struct kfd_sched_job *job = queue->job;

	list_del(&queue->list);
	kfd_sched.queue_by_handle[queue->handle] = NULL;
	kfd_sched.queue_count--;
	job->queue_count--;
	gp_sched_queue_remove(kfd_sched.core, ktime_get_ns(), queue->handle);
	kfd_sched_take_actions();
	leave_device(queue->device);
	kfree(queue);
	if (list_empty(&job->queues))
		return free_job(job);
	set_priority(job);
	return false;
}

void kfd_sched_queue_destroyed(struct queue *q)
{
	struct kfd_sched_queue *queue;
	bool restore = false;

	if (!kfd_sched.core || !q)
		return;
	mutex_lock(&kfd_sched.lock);
	while ((queue = find_queue(q)) && queue->job == kfd_sched.operating)
		kfd_sched_wait_for_operation(false);
	if (queue)
		restore = remove_queue(queue);
	mutex_unlock(&kfd_sched.lock);
	/* It may have more queues than are looked at; it has no job any more. */
	if (restore)
		kfd_sched_preempt(q->process, false);
	wake();
}

void kfd_sched_queue_changed(struct queue *q)
{
	struct kfd_sched_queue *queue;

	if (!kfd_sched.core)
		return;
	mutex_lock(&kfd_sched.lock);
	queue = find_queue(q);
	if (queue)
		set_priority(queue->job);
	mutex_unlock(&kfd_sched.lock);
	wake();
}

bool kfd_sched_in_effect(void)
{
	return kfd_sched.core && READ_ONCE(kfd_sched.policy) != GP_SCHED_OFF;
}

/* ---- the policy, a parameter of the module ---- */

static int policy_set(const char *text, const struct kernel_param *param)
{
	enum gp_sched_policy_id policy;
	int error = 0;
	u32 i;

	for (policy = 0; policy < GP_SCHED_POLICIES; policy++)
		if (sysfs_streq(text, gp_sched_policy_name(policy)))
			break;
	if (policy == GP_SCHED_POLICIES)
		return -EINVAL;
	/* A deadline and a budget belong to a request. No call of KFD carries them, and without them
	 * the policy would order all jobs behind those that have some, of which there are none.
	 */
	if (policy == GP_SCHED_DEADLINE)
		return -EOPNOTSUPP;
	/* On the command line the module is not there yet. */
	if (!kfd_sched.core) {
		kfd_sched.policy = policy;
		return 0;
	}
	mutex_lock(&kfd_sched.lock);
	WRITE_ONCE(kfd_sched.policy, policy);
	for (i = 0; i < KFD_SCHED_DEVICES; i++)
		if (kfd_sched.nodes[i])
			set_policy(i);
	wake();
	/* Off is when everybody runs again. */
	while (kfd_sched.policy == GP_SCHED_OFF && !error &&
	       (!list_empty(&kfd_sched.todo) || kfd_sched.operating))
		error = kfd_sched_wait_for_operation(true);
	mutex_unlock(&kfd_sched.lock);
	return error;
}

static int policy_get(char *text, const struct kernel_param *param)
{
	return sysfs_emit(text, "%s\n", gp_sched_policy_name(READ_ONCE(kfd_sched.policy)));
}

static const struct kernel_param_ops policy_ops = {
	.set = policy_set,
	.get = policy_get,
};
module_param_cb(kfd_sched, &policy_ops, NULL, 0644);
MODULE_PARM_DESC(kfd_sched,
		 "Schedule compute queues by logical priority (off = default, priority, fair, quantum)");

/* ---- beginning and end ---- */

static void free_all(void)
{
	kvfree(kfd_sched.memory);
	kvfree(kfd_sched.readings);
	kfree(kfd_sched.waves);
	kfd_sched.core = NULL;
}

void kfd_sched_init(void)
{
	struct gp_sched_config config;
	size_t size;

	mutex_init(&kfd_sched.lock);
	init_waitqueue_head(&kfd_sched.wait);
	init_waitqueue_head(&kfd_sched.done);
	INIT_LIST_HEAD(&kfd_sched.jobs);
	INIT_LIST_HEAD(&kfd_sched.todo);
	gp_sched_defaults(&config);
	config.devices = KFD_SCHED_DEVICES;
	config.max_jobs = KFD_SCHED_JOBS;
	config.max_processes = KFD_SCHED_JOBS;
	config.max_queues = KFD_SCHED_QUEUES;
	/* An operation is over when the call returns; a GPU that hangs takes that long. */
	config.op_timeout_ns = 2ull * queue_preemption_timeout_ms * NSEC_PER_MSEC;
	size = gp_sched_memory(&config);
	kfd_sched.memory = size ? kvmalloc(size, GFP_KERNEL) : NULL;
	kfd_sched.readings = kvcalloc(KFD_SCHED_QUEUES, sizeof(*kfd_sched.readings),
				      GFP_KERNEL);
	kfd_sched.waves = kcalloc(KFD_SCHED_WAVES, sizeof(*kfd_sched.waves), GFP_KERNEL);
	if (!kfd_sched.memory || !kfd_sched.readings || !kfd_sched.waves ||
	    gp_sched_init(&kfd_sched.core, kfd_sched.memory, size, &config)) {
		pr_warn("amdkfd: no scheduler\n");
		free_all();
		return;
	}
	kfd_sched.thread = kthread_run(kfd_sched_thread, NULL, "kfd_sched");
	if (IS_ERR(kfd_sched.thread)) {
		pr_warn("amdkfd: no scheduler\n");
		free_all();
	}
}

/* All processes are gone. */
void kfd_sched_exit(void)
{
	if (!kfd_sched.core)
		return;
	kthread_stop(kfd_sched.thread);
	WARN_ON(!list_empty(&kfd_sched.jobs));
	free_all();
}
