// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Processes that are held. A target is a process's memory (mm), which is what
 * KFD knows a process by; a hold is one holder's claim on it, with its depth
 * and its lease. The driver is asked once when the first hold comes and once
 * when the last one goes, so what KFD counts of ours is never more than one
 * and KFD's own evictions are neither seen nor undone.
 *
 * A target has a lock of its own, held while the driver is asked: a GPU that
 * does not answer delays only who wants the same process. Order: a target's
 * lock, then a holder's; the table's is taken alone.
 */
#define pr_fmt(fmt) "gpreempt: " fmt

#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "gpreempt.h"

struct gp_holder_target {
	struct kref ref;	/* of each hold, of the timer, of who looks */
	struct list_head list;
	struct mm_struct *mm;	/* its address is ours, its users are not */
	pid_t pid;
	struct mutex lock;	/* for what follows */
	struct list_head holds;
	bool evicted;
	u64 since;
	struct delayed_work expiry;
};

struct gp_holder_hold {
	struct list_head in_target, in_holder;
	struct gp_holder_target *target;
	struct gp_holder *holder;
	u32 depth;
	u64 until;	/* ktime, ns; under the holder's lock */
};

static struct {
	struct mutex lock;
	struct list_head targets;
	u64 count;
	struct workqueue_struct *workers;
	atomic64_t evictions, restores, expired, abandoned, gone, failed;
	atomic64_t unrestored, evict_ns, restore_ns;
} gp;

/* ---- the table ---- */

static void expire(struct work_struct *work);

/* A new reference; NULL when there is none or, with @pid, no memory. */
static struct gp_holder_target *get_target(struct mm_struct *mm, pid_t pid)
{
	struct gp_holder_target *target;

	mutex_lock(&gp.lock);
	list_for_each_entry(target, &gp.targets, list)
		if (target->mm == mm) {
			kref_get(&target->ref);
			goto out;
		}
	target = pid ? kzalloc(sizeof(*target), GFP_KERNEL_ACCOUNT) : NULL;
	if (target) {
		kref_init(&target->ref);
		mutex_init(&target->lock);
		INIT_LIST_HEAD(&target->holds);
		INIT_DELAYED_WORK(&target->expiry, expire);
		mmgrab(mm);
		target->mm = mm;
		target->pid = pid;
		list_add(&target->list, &gp.targets);
		gp.count++;
	}
out:
	mutex_unlock(&gp.lock);
	return target;
}

static void free_target(struct kref *ref)
{
	struct gp_holder_target *target = container_of(ref, struct gp_holder_target, ref);

	list_del(&target->list);
	gp.count--;
	mutex_unlock(&gp.lock);
	WARN_ON(target->evicted);
	mmdrop(target->mm);
	kfree(target);
}

static void put_target(struct gp_holder_target *target)
{
	kref_put_mutex(&target->ref, free_target, &gp.lock);
}

/* ---- the driver ---- */

static int evict(struct gp_holder_target *target, u64 *took_ns)
{
	u64 start = ktime_get_ns();
	int error = gp_driver_evict(target->mm);

	target->since = ktime_get_ns();
	*took_ns = target->since - start;
	if (error) {
		atomic64_inc(&gp.failed);
		return error;
	}
	target->evicted = true;
	atomic64_inc(&gp.evictions);
	atomic64_add(*took_ns, &gp.evict_ns);
	return 0;
}

static u64 restore(struct gp_holder_target *target)
{
	u64 start = ktime_get_ns(), took_ns;
	int error = -ESRCH;

	target->evicted = false;
	/*
	 * Its memory must not go while KFD works on it. Who drops the last
	 * reference tears it down, which is not for us to do.
	 */
	if (mmget_not_zero(target->mm)) {
		error = gp_driver_restore(target->mm);
		mmput_async(target->mm);
	}
	took_ns = ktime_get_ns() - start;
	if (error == -ESRCH) {
		atomic64_inc(&gp.gone);
		return took_ns;
	}
	atomic64_inc(&gp.restores);
	atomic64_add(took_ns, &gp.restore_ns);
	if (error) {
		atomic64_inc(&gp.unrestored);
		pr_warn_ratelimited("restoring process %d: error %d\n",
				    target->pid, error);
	}
	return took_ns;
}

/* ---- holds, under their target's lock ---- */

static struct gp_holder_hold *find_hold(struct gp_holder_target *target,
				 const struct gp_holder *holder)
{
	struct gp_holder_hold *hold;

	list_for_each_entry(hold, &target->holds, in_target)
		if (hold->holder == holder)
			return hold;
	return NULL;
}

static struct gp_holder_hold *add_hold(struct gp_holder_target *target,
				struct gp_holder *holder)
{
	struct gp_holder_hold *hold = kzalloc(sizeof(*hold), GFP_KERNEL_ACCOUNT);
	bool full;

	if (!hold)
		return ERR_PTR(-ENOMEM);
	hold->target = target;
	hold->holder = holder;
	spin_lock(&holder->lock);
	full = holder->count == GPREEMPT_MAX_HOLDS;
	if (!full) {
		holder->count++;
		list_add(&hold->in_holder, &holder->holds);
	}
	spin_unlock(&holder->lock);
	if (full) {
		kfree(hold);
		return ERR_PTR(-ENOSPC);
	}
	kref_get(&target->ref);
	list_add(&hold->in_target, &target->holds);
	return hold;
}

static void extend(struct gp_holder_hold *hold, u64 until)
{
	spin_lock(&hold->holder->lock);
	hold->until = max(hold->until, until);
	spin_unlock(&hold->holder->lock);
}

/*
 * Unless its lease goes on after @now. The caller has a reference of the
 * target besides the hold's.
 */
static bool remove_hold(struct gp_holder_hold *hold, u64 now)
{
	struct gp_holder *holder = hold->holder;
	bool over;

	/* A renewal comes before this, or does not find it any more. */
	spin_lock(&holder->lock);
	over = hold->until <= now;
	if (over) {
		list_del(&hold->in_holder);
		holder->count--;
	}
	spin_unlock(&holder->lock);
	if (!over)
		return false;
	list_del(&hold->in_target);
	put_target(hold->target);
	kfree(hold);
	return true;
}

/* The timer goes off when the first lease ends; it has a reference. */
static void set_timer(struct gp_holder_target *target)
{
	u64 now = ktime_get_ns(), first = U64_MAX;
	struct gp_holder_hold *hold;

	list_for_each_entry(hold, &target->holds, in_target)
		first = min(first, READ_ONCE(hold->until));
	if (first == U64_MAX) {
		if (cancel_delayed_work(&target->expiry))
			put_target(target);
		return;
	}
	kref_get(&target->ref);
	if (mod_delayed_work(gp.workers, &target->expiry,
			     first > now ? nsecs_to_jiffies(first - now) + 1 : 0))
		put_target(target);	/* it was set and had one */
}

/* After holds were removed: what the driver is told, and the timer. */
static u64 follow_holds(struct gp_holder_target *target)
{
	u64 took_ns = 0;

	if (target->evicted && list_empty(&target->holds))
		took_ns = restore(target);
	set_timer(target);
	return took_ns;
}

static void expire(struct work_struct *work)
{
	struct gp_holder_target *target = container_of(to_delayed_work(work),
						struct gp_holder_target, expiry);
	struct gp_holder_hold *hold, *next;
	u64 now;

	mutex_lock(&target->lock);
	now = ktime_get_ns();
	list_for_each_entry_safe(hold, next, &target->holds, in_target)
		if (remove_hold(hold, now))
			atomic64_inc(&gp.expired);
	follow_holds(target);
	mutex_unlock(&target->lock);
	put_target(target);
}

/* ---- what a holder asks for ---- */

void gp_holder_init(struct gp_holder *holder)
{
	spin_lock_init(&holder->lock);
	INIT_LIST_HEAD(&holder->holds);
}

/* One of its targets, with a reference, or NULL. */
static struct gp_holder_target *any_target(struct gp_holder *holder)
{
	struct gp_holder_target *target = NULL;
	struct gp_holder_hold *hold;

	spin_lock(&holder->lock);
	hold = list_first_entry_or_null(&holder->holds, struct gp_holder_hold,
					in_holder);
	if (hold) {
		target = hold->target;
		kref_get(&target->ref);
	}
	spin_unlock(&holder->lock);
	return target;
}

void gp_holder_drop(struct gp_holder *holder)
{
	struct gp_holder_target *target;
	struct gp_holder_hold *hold;

	while ((target = any_target(holder))) {
		mutex_lock(&target->lock);
		hold = find_hold(target, holder);	/* or it expired */
		if (hold) {
			atomic64_inc(&gp.abandoned);
			remove_hold(hold, U64_MAX);
			follow_holds(target);
		}
		mutex_unlock(&target->lock);
		put_target(target);
	}
}

static u64 lease_end(u32 lease_ms)
{
	return ktime_get_ns() + (u64)lease_ms * NSEC_PER_MSEC;
}

static int evict_locked(struct gp_holder_target *target, struct gp_holder *holder,
			struct gpreempt_evict *args)
{
	struct gp_holder_hold *hold = find_hold(target, holder);
	int error = 0;

	if (hold && hold->depth == GPREEMPT_MAX_DEPTH)
		return -EOVERFLOW;
	if (!hold)
		hold = add_hold(target, holder);
	if (IS_ERR(hold))
		return PTR_ERR(hold);
	/* Never with a hold that was there before: then it is off. */
	if (!target->evicted)
		error = evict(target, &args->took_ns);
	if (error) {
		remove_hold(hold, U64_MAX);
		return error;
	}
	extend(hold, lease_end(args->lease_ms));
	args->depth = ++hold->depth;
	set_timer(target);
	return 0;
}

int gp_evict(struct gp_holder *holder, struct mm_struct *mm, pid_t pid,
	     struct gpreempt_evict *args)
{
	struct gp_holder_target *target = get_target(mm, pid);
	int error;

	if (!target)
		return -ENOMEM;
	error = mutex_lock_killable(&target->lock);
	if (!error) {
		error = evict_locked(target, holder, args);
		mutex_unlock(&target->lock);
	}
	put_target(target);
	return error;
}

static u32 holders_of(const struct gp_holder_target *target)
{
	const struct gp_holder_hold *hold;
	u32 count = 0;

	list_for_each_entry(hold, &target->holds, in_target)
		count++;
	return count;
}

static int restore_locked(struct gp_holder_target *target, struct gp_holder *holder,
			  struct gpreempt_restore *args)
{
	struct gp_holder_hold *hold = find_hold(target, holder);

	if (!hold)
		return -ENOENT;
	hold->depth--;
	if (args->flags & GPREEMPT_RESTORE_WHOLLY)
		hold->depth = 0;
	args->depth = hold->depth;
	if (!hold->depth) {
		remove_hold(hold, U64_MAX);
		args->took_ns = follow_holds(target);
	}
	args->holders = holders_of(target);
	return 0;
}

int gp_restore(struct gp_holder *holder, struct mm_struct *mm,
	       struct gpreempt_restore *args)
{
	struct gp_holder_target *target = get_target(mm, 0);
	int error;

	if (!target)
		return -ENOENT;
	error = mutex_lock_killable(&target->lock);
	if (!error) {
		error = restore_locked(target, holder, args);
		mutex_unlock(&target->lock);
	}
	put_target(target);
	return error;
}

/* The timers find out when they go off. */
static int renew_all(struct gp_holder *holder, struct gpreempt_renew *args)
{
	u64 until = lease_end(args->lease_ms);
	struct gp_holder_hold *hold;

	spin_lock(&holder->lock);
	list_for_each_entry(hold, &holder->holds, in_holder)
		hold->until = max(hold->until, until);
	args->renewed = holder->count;
	spin_unlock(&holder->lock);
	return 0;
}

int gp_renew(struct gp_holder *holder, struct mm_struct *mm,
	     struct gpreempt_renew *args)
{
	struct gp_holder_target *target;
	struct gp_holder_hold *hold;
	int error;

	if (!mm)
		return renew_all(holder, args);
	target = get_target(mm, 0);
	if (!target)
		return -ENOENT;
	error = mutex_lock_killable(&target->lock);
	if (error)
		goto out;
	hold = find_hold(target, holder);
	if (hold) {
		extend(hold, lease_end(args->lease_ms));
		args->renewed = 1;
	} else {
		error = -ENOENT;
	}
	mutex_unlock(&target->lock);
out:
	put_target(target);
	return error;
}

int gp_state(struct gp_holder *holder, struct mm_struct *mm,
	     struct gpreempt_state *args)
{
	struct gp_holder_target *target = get_target(mm, 0);
	u64 now = ktime_get_ns();
	struct gp_holder_hold *hold;
	int error;

	if (!target)
		return 0;	/* nobody holds it: all zero */
	error = mutex_lock_killable(&target->lock);
	if (error)
		goto out;
	args->evicted = target->evicted;
	args->holders = holders_of(target);
	if (target->evicted && now > target->since)
		args->evicted_ns = now - target->since;
	hold = find_hold(target, holder);
	if (hold) {
		u64 until = READ_ONCE(hold->until);

		args->depth = hold->depth;
		if (until > now)
			args->lease_ms = div_u64(until - now, NSEC_PER_MSEC);
	}
	mutex_unlock(&target->lock);
out:
	put_target(target);
	return error;
}

void gp_statistics(struct gpreempt_statistics *out)
{
	*out = (struct gpreempt_statistics){
		.evictions = atomic64_read(&gp.evictions),
		.restores = atomic64_read(&gp.restores),
		.expired = atomic64_read(&gp.expired),
		.abandoned = atomic64_read(&gp.abandoned),
		.gone = atomic64_read(&gp.gone),
		.failed = atomic64_read(&gp.failed),
		.unrestored = atomic64_read(&gp.unrestored),
		.evict_ns = atomic64_read(&gp.evict_ns),
		.restore_ns = atomic64_read(&gp.restore_ns),
	};
	mutex_lock(&gp.lock);
	out->targets = gp.count;
	mutex_unlock(&gp.lock);
}

/* ---- loading ---- */

int gp_targets_init(void)
{
	mutex_init(&gp.lock);
	INIT_LIST_HEAD(&gp.targets);
	gp.workers = alloc_workqueue("gpreempt", WQ_UNBOUND | WQ_HIGHPRI, 0);
	return gp.workers ? 0 : -ENOMEM;
}

void gp_targets_exit(void)
{
	destroy_workqueue(gp.workers);
	WARN_ON(!list_empty(&gp.targets));
}
