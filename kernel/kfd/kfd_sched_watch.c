// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The scheduler's eyes: one thread that reads the ring pointers of all queues while there is
 * anything to decide, and tells the core who has work. And what it shows in debugfs.
 *
 * AQL's read index moves when a packet is launched, so a ring that is caught up may belong to a
 * queue that works. Its waves tell, where the hardware counts them; a queue that has none twice in
 * a row is drained. Where they are not counted it may be drained, and the core waits a while.
 *
 * Rings are in the memory of their processes. They are read without locks and without page faults:
 * whoever serves a fault of a client (userfaultfd, FUSE, a slow disk) must not stop this thread. What
 * cannot be read now is unknown, and waves alone tell. The last reference to the memory ends its
 * process, which takes our lock: that is left to a worker.
 */
#include <linux/kthread.h>
#include <linux/mmu_context.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include <linux/debugfs.h>
#include <linux/module.h>

#include "kfd_priv.h"
#include "kfd_device_queue_manager.h"
#include "kfd_sched.h"
#include "kfd_sched_host.h"

static unsigned int poll_us = 1000;
module_param_named(kfd_sched_poll_us, poll_us, uint, 0644);
MODULE_PARM_DESC(kfd_sched_poll_us,
		 "How often the scheduler looks at the rings, while there is anything to decide (1000)");

/* ---- reading the rings ---- */

/* Where to read, with a reference to each memory. Returns their number. */
static u32 collect(void)
{
	struct kfd_sched_queue *queue;
	struct kfd_sched_job *job;
	u32 count = 0;

	list_for_each_entry(job, &kfd_sched.jobs, list) {
		list_for_each_entry(queue, &job->queues, list) {
			const struct queue_properties *p = &queue->q->properties;

			if (count == KFD_SCHED_QUEUES)
				return count;
			kfd_sched.readings[count++] = (struct kfd_sched_reading){
				.serial = queue->serial,
				.handle = queue->handle,
				.mm = job->mm && mmget_not_zero(job->mm) ? job->mm : NULL,
				.read_at = (u64)(uintptr_t)p->read_ptr,
				.write_at = (u64)(uintptr_t)p->write_ptr,
			};
		}
	}
	return count;
}

static void read_one(struct kfd_sched_reading *reading)
{
	u64 read = 0, written = 0;

	/* Written first: what is read later is never behind it. */
	reading->valid =
		!copy_from_user_nofault(&written,
					(void __user *)(uintptr_t)reading->write_at,
					sizeof(written)) &&
		!copy_from_user_nofault(&read,
					(void __user *)(uintptr_t)reading->read_at,
					sizeof(read));
	reading->read = read;
	reading->written = written;
}

static void read_all(u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		struct kfd_sched_reading *reading = &kfd_sched.readings[i];

		if (!reading->mm)
			continue;
		kthread_use_mm(reading->mm);
		read_one(reading);
		kthread_unuse_mm(reading->mm);
		mmput_async(reading->mm);
	}
}

/* ---- what they mean ---- */

static bool has_packets(const struct queue *q, const struct kfd_sched_reading *reading)
{
	if (q->properties.format == KFD_QUEUE_FORMAT_AQL)
		return reading->written > reading->read;
	return (u32)reading->written != (u32)reading->read;
}

#ifdef KFD_SCHED_WAVES_BY_PROCESS
/* Of all queues of the process on the device: beside one that works an idle one counts as busy. */
static bool find_waves(const struct queue *q)
{
	struct kfd_node *node = q->device;
	u32 pasid = q->process->pasid;
	int waves = 0, max_waves = 0;

	if (kfd_sched.waves_node != node || kfd_sched.waves_poll != kfd_sched.polls ||
	    kfd_sched.waves->pasid != pasid) {
		node->kfd2kgd->get_cu_occupancy(node->adev, pasid, &waves, &max_waves);
		*kfd_sched.waves = (struct kfd_cu_occupancy){ waves, pasid };
		kfd_sched.waves_node = node;
		kfd_sched.waves_poll = kfd_sched.polls;
	}
	return kfd_sched.waves->wave_cnt;
}
#else
/* Of all queues of the device, on each of its XCCs, once a look. */
static void count_waves(struct kfd_node *node)
{
	int max_waves = 0, xcc;
	u32 count = 0;

	if (kfd_sched.waves_node == node && kfd_sched.waves_poll == kfd_sched.polls)
		return;
	memset(kfd_sched.waves, 0, KFD_SCHED_WAVES * sizeof(*kfd_sched.waves));
	/* The same queue may be in another slot there: each has its own part. */
	for_each_inst(xcc, node->xcc_mask) {
		if (count == KFD_SCHED_XCCS)
			break;
		node->kfd2kgd->get_cu_occupancy(node->adev,
						kfd_sched.waves + AMDGPU_MAX_QUEUES * count++,
						&max_waves, xcc);
	}
	kfd_sched.waves_node = node;
	kfd_sched.waves_poll = kfd_sched.polls;
}

static bool find_waves(const struct queue *q)
{
	int i;

	count_waves(q->device);
	for (i = 0; i < KFD_SCHED_WAVES; i++)
		if (kfd_sched.waves[i].wave_cnt &&
		    kfd_sched.waves[i].doorbell_off == q->properties.doorbell_off)
			return true;
	return false;
}
#endif

/* 1: it has waves, 0: none, -1: nobody counts them */
static int has_waves(const struct queue *q)
{
	if (!q->device->kfd2kgd->get_cu_occupancy ||
	    q->properties.type != KFD_QUEUE_TYPE_COMPUTE)
		return -1;
	return find_waves(q);
}

static enum gp_sched_work judge(struct kfd_sched_queue *queue,
				const struct kfd_sched_reading *reading)
{
	const struct queue *q = queue->q;
	int waves;

	if (reading->valid && has_packets(q, reading)) {
		queue->quiet = false;
		return GP_SCHED_BUSY;
	}
	/* Off the hardware: what it was doing is saved, and it has it still. */
	if (!q->properties.is_active)
		return queue->work;
	waves = has_waves(q);
	if (waves > 0) {
		queue->quiet = false;
		return GP_SCHED_BUSY;
	}
	if (waves < 0 || !reading->valid)
		return GP_SCHED_MAYBE;
	if (!queue->quiet) {
		queue->quiet = true;
		return queue->work;
	}
	return GP_SCHED_DRAINED;
}

static void report(const struct kfd_sched_reading *reading)
{
	struct kfd_sched_queue *queue = kfd_sched.queue_by_handle[reading->handle];
	enum gp_sched_work work;

	/* It may be gone since, and its handle another's. */
	if (!queue || queue->serial != reading->serial)
		return;
	work = judge(queue, reading);
	if (work == queue->work)
		return;
	if (work == GP_SCHED_MAYBE && queue->work == GP_SCHED_DRAINED)
		return;	/* nothing came since */
	queue->work = work;
	gp_sched_work(kfd_sched.core, ktime_get_ns(), queue->handle, work,
		      GP_SCHED_UNKNOWN);
	kfd_sched_take_actions();
}

static void look(void)
{
	u32 count, i;

	mutex_lock(&kfd_sched.lock);
	count = collect();
	mutex_unlock(&kfd_sched.lock);
	read_all(count);
	mutex_lock(&kfd_sched.lock);
	kfd_sched.polls++;	/* before the first: waves of the last look do not count */
	for (i = 0; i < count; i++)
		report(&kfd_sched.readings[i]);
	gp_sched_timer(kfd_sched.core, ktime_get_ns());
	kfd_sched_take_actions();
	mutex_unlock(&kfd_sched.lock);
	kfd_sched_operate();
}

/* One process alone has nobody to wait for. */
static bool has_to_look(void)
{
	return kfd_sched_in_effect() && READ_ONCE(kfd_sched.job_count) > 1;
}

/* What the core has to do without news, such as a resume that failed. When it wants to be asked next. */
static u64 do_timers(void)
{
	u64 next;

	mutex_lock(&kfd_sched.lock);
	gp_sched_timer(kfd_sched.core, ktime_get_ns());
	kfd_sched_take_actions();
	mutex_unlock(&kfd_sched.lock);
	kfd_sched_operate();
	mutex_lock(&kfd_sched.lock);
	next = gp_sched_next(kfd_sched.core);
	mutex_unlock(&kfd_sched.lock);
	return next;
}

static bool has_news(void)
{
	return kthread_should_stop() || READ_ONCE(kfd_sched.woken) || has_to_look();
}

/* Decided by a call of the driver, since the last look. */
static bool has_to_operate(void)
{
	return kthread_should_stop() || !list_empty(&kfd_sched.todo);
}

static void sleep_until_news(void)
{
	u64 poll_ns = (u64)max(poll_us, 50u) * NSEC_PER_USEC, next, now;

	WRITE_ONCE(kfd_sched.woken, false);
	next = do_timers();
	if (next == GP_SCHED_NEVER) {
		wait_event_interruptible(kfd_sched.wait, has_news());
		return;
	}
	now = ktime_get_ns();
	wait_event_interruptible_hrtimeout(kfd_sched.wait, has_news(),
		ns_to_ktime(next > now + poll_ns ? next - now : poll_ns));
}

int kfd_sched_thread(void *unused)
{
	while (!kthread_should_stop()) {
		if (has_to_look()) {
			look();
			wait_event_interruptible_hrtimeout(kfd_sched.wait,
				has_to_operate(),
				ns_to_ktime((u64)max(poll_us, 50u) * NSEC_PER_USEC));
		} else {
			sleep_until_news();
		}
	}
	return 0;
}

/* ---- debugfs ---- */

static const char * const run_names[] = { "running", "suspending", "suspended", "resuming" };

static void show_job(struct seq_file *m, const struct kfd_sched_job *job)
{
	struct gp_sched_job_state state;

	if (gp_sched_job_state(kfd_sched.core, job->job, &state))
		return;
	seq_printf(m, "job pid=%d priority=%u state=%s queues=%u busy=%u for=%d held_ns=%llu ran_ns=%llu suspends=%llu declined=%llu failures=%llu\n",
		   job->pid, job->priority, run_names[state.run], state.queues,
		   state.busy_queues,
		   state.held_for < KFD_SCHED_JOBS && kfd_sched.by_handle[state.held_for] ?
			kfd_sched.by_handle[state.held_for]->pid : 0,
		   state.held_ns, state.ran_ns, state.suspends, state.declined,
		   state.failures);
}

static int sched_show(struct seq_file *m, void *unused)
{
	struct gp_sched_stats stats;
	struct kfd_sched_job *job;
	u32 i;

	mutex_lock(&kfd_sched.lock);
	gp_sched_stats(kfd_sched.core, &stats);
	seq_printf(m, "policy=%s poll_us=%u polls=%llu\n",
		   gp_sched_policy_name(kfd_sched.policy), poll_us, kfd_sched.polls);
	seq_printf(m, "jobs=%u queues=%u held=%u events=%llu suspends=%llu resumes=%llu errors=%llu\n",
		   stats.jobs, stats.queues, stats.held, stats.events,
		   kfd_sched.suspends, kfd_sched.resumes, kfd_sched.errors);
	for (i = 0; i < GP_SCHED_WHYS; i++)
		if (stats.why[i])
			seq_printf(m, "why %s=%llu\n", gp_sched_why_name(i),
				   stats.why[i]);
	list_for_each_entry(job, &kfd_sched.jobs, list)
		show_job(m, job);
	mutex_unlock(&kfd_sched.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sched);

static void show_decision(struct seq_file *m, const struct kfd_sched_decision *d)
{
	seq_printf(m, "id=%llu cause=%llu at_ns=%llu action=%s why=%s policy=%s pid=%d other=%d priority=%u other_priority=%u waited_ns=%lld ran_ns=%lld cost_ns=%lld saves_ns=%lld limit_ns=%lld took_ns=%llu error=%d\n",
		   d->id, d->cause, d->at_ns, d->action, d->why, d->policy, d->pid,
		   d->other, d->priority, d->other_priority, (s64)d->waited_ns,
		   (s64)d->ran_ns, (s64)d->cost_ns, (s64)d->saves_ns, (s64)d->limit_ns,
		   d->took_ns, d->error);
}

/* The oldest first. */
static int decisions_show(struct seq_file *m, void *unused)
{
	u64 i = 0;

	mutex_lock(&kfd_sched.lock);
	if (kfd_sched.decision_count > KFD_SCHED_DECISIONS)
		i = kfd_sched.decision_count - KFD_SCHED_DECISIONS;
	for (; i < kfd_sched.decision_count; i++)
		show_decision(m, &kfd_sched.decisions[i % KFD_SCHED_DECISIONS]);
	mutex_unlock(&kfd_sched.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(decisions);

void kfd_sched_debugfs_init(struct dentry *root)
{
	if (!kfd_sched.core)
		return;
	debugfs_create_file("sched", 0444, root, NULL, &sched_fops);
	debugfs_create_file("sched_decisions", 0444, root, NULL, &decisions_fops);
}
