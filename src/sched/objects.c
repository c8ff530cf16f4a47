// SPDX-License-Identifier: MIT
/* Jobs, processes and queues come and go, change, and have work. */
#include "sched/state.h"

static struct gp_sched_process *process_of(const struct gp_sched *s, u32 index)
{
	struct gp_sched_process *process;

	if (index >= s->processes.fresh)
		return NULL;
	process = gp_pool_at(&s->processes, index);
	return process->job ? process : NULL;
}

static struct gp_sched_queue *queue_of(const struct gp_sched *s, u32 index)
{
	struct gp_sched_queue *queue;

	if (index >= s->queues.fresh)
		return NULL;
	queue = (struct gp_sched_queue *)s->queues.base + index;
	return queue->member ? queue : NULL;
}

struct gp_sched_member *gp_sched_job_member(const struct gp_sched *s, const struct gp_sched_job *j,
					    u32 device)
{
	struct gp_list *link;

	(void)s;
	gp_list_for_each (link, &j->members) {
		struct gp_sched_member *m = gp_container(link, struct gp_sched_member, job_link);

		if (m->device == device)
			return m;
	}
	return NULL;
}

static bool spec_usable(const struct gp_sched_job_spec *spec)
{
	return (u32)spec->class <= GP_SCHED_CLASS_OFFLINE &&
	       (spec->priority <= GP_SCHED_PRIORITY_MAX || spec->priority == GP_SCHED_NONE) &&
	       spec->weight <= GP_SCHED_WEIGHT_MAX && spec->deadline_ns <= GP_SCHED_SPAN_MAX &&
	       spec->period_ns <= GP_SCHED_SPAN_MAX && spec->max_suspend_ns <= GP_SCHED_SPAN_MAX &&
	       (!spec->deadline_ns || (spec->deadline_ns >= 1000 && spec->budget_ns &&
				       spec->budget_ns <= spec->deadline_ns &&
				       (!spec->period_ns || spec->period_ns >= spec->budget_ns)));
}

/* The spec with what it leaves to the defaults filled in. */
static void adopt(struct gp_sched *s, struct gp_sched_job *j, const struct gp_sched_job_spec *spec)
{
	static const u32 by_class[] = {
		[GP_SCHED_CLASS_NORMAL] = GP_SCHED_PRIORITY_NORMAL,
		[GP_SCHED_CLASS_ONLINE] = GP_SCHED_PRIORITY_ONLINE,
		[GP_SCHED_CLASS_OFFLINE] = GP_SCHED_PRIORITY_OFFLINE,
	};

	j->spec = *spec;
	j->priority = spec->priority == GP_SCHED_NONE ? by_class[spec->class] : spec->priority;
	j->weight = spec->weight ? spec->weight : GP_SCHED_WEIGHT_DEFAULT;
	if (!spec->period_ns)
		j->spec.period_ns = spec->deadline_ns;
	if (!spec->max_suspend_ns)
		j->spec.max_suspend_ns = s->config.max_suspend_ns;
}

int gp_sched_job_add(struct gp_sched *s, u64 now, const struct gp_sched_job_spec *spec, u32 *out)
{
	struct gp_sched_job *j;
	int error;

	if (!spec_usable(spec))
		return -EINVAL;
	error = gp_sched_begin(s, now);
	if (error)
		return error;
	j = gp_pool_get(&s->jobs);
	if (!j)
		return -ENOSPC;
	j->used = true;
	j->held_since = j->retry_at = GP_SCHED_NEVER;
	j->tally_at = j->window_at = s->now;
	j->held_device = j->op_device = GP_SCHED_NONE;
	gp_list_init(&j->members);
	gp_list_init(&j->processes);
	adopt(s, j, spec);
	*out = gp_job_index(s, j);
	s->timer_place[*out] = 0;
	s->stats.jobs++;
	return 0;
}

/* Whether every device takes the job with this deadline; the first that does not says so. */
static bool admitted(struct gp_sched *s, struct gp_sched_job *j)
{
	struct gp_list *link;

	gp_list_for_each (link, &j->members) {
		struct gp_sched_member *m = gp_container(link, struct gp_sched_member, job_link);
		const struct gp_sched_device *d = gp_member_device(s, m);

		if (j->spec.deadline_ns && d->config.policy == GP_SCHED_DEADLINE && !m->ppm)
			return false;
	}
	return true;
}

/* Each device learns the job's new spec: its weight, its key, its deadline. */
static void rejoin(struct gp_sched *s, struct gp_sched_job *j, const struct gp_sched_job_spec *spec)
{
	struct gp_list *link;
	u32 weight = j->weight;

	gp_list_for_each (link, &j->members) {
		struct gp_sched_member *m = gp_container(link, struct gp_sched_member, job_link);
		const struct gp_sched_policy *policy = gp_member_device(s, m)->policy;

		gp_sched_member_account(s, m);
		if (policy->leave)
			policy->leave(s, m);
	}
	adopt(s, j, spec);
	gp_list_for_each (link, &j->members) {
		struct gp_sched_member *m = gp_container(link, struct gp_sched_member, job_link);
		struct gp_sched_device *d = gp_member_device(s, m);

		if (m->contends)
			d->weights += j->weight - (u64)weight;
		if (d->policy->join)
			d->policy->join(s, m);
	}
}

int gp_sched_job_set(struct gp_sched *s, u64 now, u32 index, const struct gp_sched_job_spec *spec)
{
	struct gp_sched_job *j = gp_sched_job(s, index);
	struct gp_sched_job_spec before;
	struct gp_list *link;
	int error;

	if (!j)
		return -ENOENT;
	if (!spec_usable(spec))
		return -EINVAL;
	error = gp_sched_begin(s, now);
	if (error)
		return error;
	before = j->spec;
	rejoin(s, j, spec);
	if (!admitted(s, j)) {
		before.weight = before.weight ? before.weight : GP_SCHED_WEIGHT_DEFAULT;
		rejoin(s, j, &before);
		error = -EBUSY;
	}
	gp_list_for_each (link, &j->members) {
		struct gp_sched_member *m = gp_container(link, struct gp_sched_member, job_link);

		if (!error && m->contends && gp_member_device(s, m)->policy->arrive)
			gp_member_device(s, m)->policy->arrive(s, m);
		gp_sched_member_share(s, m);
	}
	gp_sched_job_place(s, j);
	gp_sched_job_arm(s, j);
	if (j->parked && !j->spec.parks)
		gp_sched_job_resume(s, j, GP_SCHED_WHY_CLEAR, GP_SCHED_SHIELD_NONE, NULL);
	if (gp_job_held(j) && !j->parked &&
	    gp_later(j->aged_since, j->spec.max_suspend_ns) <= s->now)
		gp_sched_job_timer(s, j); /* the new bound is over already */
	gp_sched_settle(s);
	return error;
}

int gp_sched_job_pin(struct gp_sched *s, u64 now, u32 index, enum gp_sched_pin pin)
{
	struct gp_sched_job *j = gp_sched_job(s, index);
	enum gp_sched_pin before;
	struct gp_list *link;
	int error;

	if (!j)
		return -ENOENT;
	if ((u32)pin > GP_SCHED_PIN_HOLD)
		return -EINVAL;
	error = gp_sched_begin(s, now);
	if (error)
		return error;
	before = j->pin;
	j->pin = pin;
	if (before == pin)
		return 0;
	if (j->absent && pin == GP_SCHED_PIN_HOLD) {
		; /* when it returns */
	} else if (gp_job_held(j)) {
		/* Held by the policy: a pin only takes its members out of that, or lets it go. */
		if (pin == GP_SCHED_PIN_HOLD) {
			gp_sched_unpark(s, j);
			gp_list_for_each (link, &j->members)
				gp_container(link, struct gp_sched_member, job_link)->waits = false;
			gp_sched_job_place(s, j);
		} else {
			gp_sched_job_resume(s, j, GP_SCHED_WHY_UNPINNED, GP_SCHED_SHIELD_NONE,
					    NULL);
		}
	} else if (pin == GP_SCHED_PIN_HOLD) {
		gp_sched_job_suspend(s, j, GP_SCHED_WHY_PINNED, NULL, NULL)->reason.limit_ns =
			j->spec.max_suspend_ns;
	} else if (j->run == GP_SCHED_RUNNING) {
		bool run = pin == GP_SCHED_PIN_RUN;

		gp_sched_job_shield(s, j, run ? GP_SCHED_SHIELD_PIN : GP_SCHED_SHIELD_NONE,
				    run ? GP_SCHED_NEVER : 0);
	}
	gp_list_for_each (link, &j->members)
		gp_sched_member_share(s, gp_container(link, struct gp_sched_member, job_link));
	gp_sched_settle(s);
	return 0;
}

/* After its processes or queues changed: the places that it takes. */
static void count_places(struct gp_sched *s, struct gp_sched_job *j)
{
	struct gp_list *link;

	gp_list_for_each (link, &j->members) {
		struct gp_sched_member *m = gp_container(link, struct gp_sched_member, job_link);

		if (gp_member_device(s, m)->config.places)
			gp_sched_member_place(s, m);
	}
}

int gp_sched_process_add(struct gp_sched *s, u64 now, u32 index, u32 *out)
{
	struct gp_sched_job *j = gp_sched_job(s, index);
	struct gp_sched_process *process;
	int error;

	if (!j)
		return -ENOENT;
	error = gp_sched_begin(s, now);
	if (error)
		return error;
	process = gp_pool_get(&s->processes);
	if (!process)
		return -ENOSPC;
	process->job = index + 1;
	gp_list_init(&process->queues);
	gp_list_add_tail(&j->processes, &process->link);
	j->process_count++;
	s->stats.processes++;
	*out = gp_pool_index(&s->processes, process);
	count_places(s, j);
	gp_sched_settle(s);
	return 0;
}

static struct gp_sched_member *member_add(struct gp_sched *s, struct gp_sched_job *j, u32 device)
{
	struct gp_sched_device *d = &s->device[device];
	struct gp_sched_member *m = gp_pool_get(&s->members);

	if (!m)
		return NULL;
	m->used = true;
	m->waits_in = GP_ORDERS;
	m->job = gp_job_index(s, j);
	m->device = (u8)device;
	m->drained = m->hint_at = m->tick_at = GP_SCHED_NEVER;
	m->usage_at = s->now;
	gp_list_add_tail(&d->members, &m->link);
	gp_list_add_tail(&j->members, &m->job_link);
	s->timer_place[s->timer_member + gp_member_index(s, m)] = 0;
	d->member_count++;
	if (d->policy->join)
		d->policy->join(s, m);
	gp_sched_member_share(s, m);
	return m;
}

static void member_remove(struct gp_sched *s, struct gp_sched_member *m)
{
	struct gp_sched_device *d = gp_member_device(s, m);

	GP_ASSERT(!m->queues && !gp_member_work(m));
	gp_sched_member_unghost(s, m);
	if (gp_member_job(s, m)->parked)
		gp_sched_job_resume(s, gp_member_job(s, m), GP_SCHED_WHY_CLEAR,
				    GP_SCHED_SHIELD_NONE, NULL);
	if (d->policy->leave)
		d->policy->leave(s, m);
	m->hint_at = GP_SCHED_NEVER;
	gp_sched_member_arm(s, m);
	gp_sched_park_place(s, m);
	gp_list_remove(&m->link);
	gp_list_remove(&m->job_link);
	d->member_count--;
	gp_pool_put(&s->members, m);
}

int gp_sched_queue_add(struct gp_sched *s, u64 now, u32 index, u32 device,
		       enum gp_sched_stream stream, u32 *out)
{
	struct gp_sched_process *process = process_of(s, index);
	struct gp_sched_member *m;
	struct gp_sched_queue *q;
	struct gp_sched_job *j;
	int error;

	if (!process || device >= s->config.devices)
		return -ENOENT;
	if ((u32)stream > GP_SCHED_STREAM_HIGH)
		return -EINVAL;
	error = gp_sched_begin(s, now);
	if (error)
		return error;
	q = gp_pool_get(&s->queues);
	if (!q)
		return -ENOSPC;
	j = gp_job_at(s, process->job - 1);
	m = gp_sched_job_member(s, j, device);
	if (!m)
		m = member_add(s, j, device);
	if (!m) {
		gp_pool_put(&s->queues, q);
		return -ENOSPC;
	}
	gp_list_add_tail(&process->queues, &q->link);
	q->member = gp_member_index(s, m) + 1;
	q->stream = (u8)stream;
	q->work = GP_SCHED_DRAINED;
	m->queues++;
	j->queue_count++;
	s->stats.queues++;
	count_places(s, j);
	if (gp_job_held(j))
		gp_sched_job_suspend_again(s, j);
	*out = gp_pool_index(&s->queues, q);
	gp_sched_settle(s);
	return 0;
}

/* The queue's part in its member's counts, out of them. */
static void uncount(struct gp_sched_member *m, struct gp_sched_queue *q)
{
	if (q->work == GP_SCHED_BUSY || (q->work == GP_SCHED_MAYBE && q->epoch == m->epoch))
		m->busy[q->stream]--;
	if (q->work == GP_SCHED_MAYBE && q->epoch == m->epoch)
		m->maybe[q->stream]--;
	m->doubted -= q->work == GP_SCHED_MAYBE;
}

static void count(struct gp_sched *s, struct gp_sched_member *m, struct gp_sched_queue *q)
{
	if (q->work != GP_SCHED_DRAINED)
		m->busy[q->stream]++;
	if (q->work != GP_SCHED_MAYBE)
		return;
	m->doubted++;
	m->maybe[q->stream]++;
	m->maybe_until = gp_later(s->now, gp_member_device(s, m)->config.unknown_ns);
	q->epoch = m->epoch;
}

static void queue_drop(struct gp_sched *s, struct gp_sched_queue *q)
{
	struct gp_sched_member *m = gp_member_at(s, q->member - 1);

	uncount(m, q);
	gp_list_remove(&q->link);
	gp_pool_put(&s->queues, q);
	s->stats.queues--;
	m->queues--;
	gp_member_job(s, m)->queue_count--;
	gp_sched_member_update(s, m);
	if (!m->queues)
		member_remove(s, m);
}

static void process_drop(struct gp_sched *s, struct gp_sched_process *process)
{
	while (!gp_list_empty(&process->queues))
		queue_drop(s, gp_container(process->queues.next, struct gp_sched_queue, link));
	gp_job_at(s, process->job - 1)->process_count--;
	count_places(s, gp_job_at(s, process->job - 1));
	gp_list_remove(&process->link);
	gp_pool_put(&s->processes, process);
	s->stats.processes--;
}

int gp_sched_queue_remove(struct gp_sched *s, u64 now, u32 index)
{
	struct gp_sched_queue *q = queue_of(s, index);
	int error;

	if (!q)
		return -ENOENT;
	error = gp_sched_begin(s, now);
	if (error)
		return error;
	queue_drop(s, q);
	gp_sched_settle(s);
	return 0;
}

int gp_sched_process_remove(struct gp_sched *s, u64 now, u32 index)
{
	struct gp_sched_process *process = process_of(s, index);
	int error;

	if (!process)
		return -ENOENT;
	error = gp_sched_begin(s, now);
	if (error)
		return error;
	process_drop(s, process);
	gp_sched_settle(s);
	return 0;
}

int gp_sched_job_remove(struct gp_sched *s, u64 now, u32 index)
{
	struct gp_sched_job *j = gp_sched_job(s, index);
	int error;

	if (!j)
		return -ENOENT;
	error = gp_sched_begin(s, now);
	if (error)
		return error;
	if (gp_job_held(j))
		gp_sched_job_resume(s, j, GP_SCHED_WHY_GONE, GP_SCHED_SHIELD_NONE, NULL)->token = 0;
	while (!gp_list_empty(&j->processes))
		process_drop(s, gp_container(j->processes.next, struct gp_sched_process, link));
	gp_sched_set_timer(s, index, GP_SCHED_NEVER);
	gp_sched_job_forget(s, j);
	s->stats.absent -= j->absent;
	gp_pool_put(&s->jobs, j);
	s->stats.jobs--;
	gp_sched_settle(s);
	return 0;
}

int gp_sched_queue_stream(struct gp_sched *s, u64 now, u32 index, enum gp_sched_stream stream)
{
	struct gp_sched_queue *q = queue_of(s, index);
	struct gp_sched_member *m;
	int error;

	if (!q)
		return -ENOENT;
	if ((u32)stream > GP_SCHED_STREAM_HIGH)
		return -EINVAL;
	error = gp_sched_begin(s, now);
	if (error)
		return error;
	m = gp_member_at(s, q->member - 1);
	if (q->work == GP_SCHED_BUSY || (q->work == GP_SCHED_MAYBE && q->epoch == m->epoch)) {
		m->busy[q->stream]--;
		m->busy[stream]++;
	}
	if (q->work == GP_SCHED_MAYBE && q->epoch == m->epoch) {
		m->maybe[q->stream]--;
		m->maybe[stream]++;
	}
	q->stream = (u8)stream;
	gp_sched_member_place(s, m);
	gp_sched_settle(s);
	return 0;
}

int gp_sched_work(struct gp_sched *s, u64 now, u32 index, enum gp_sched_work work, u64 needs_ns)
{
	struct gp_sched_queue *q = queue_of(s, index);
	struct gp_sched_member *m;
	int error;

	if (!q)
		return -ENOENT;
	if ((u32)work > GP_SCHED_MAYBE)
		return -EINVAL;
	error = gp_sched_begin(s, now);
	if (error)
		return error;
	m = gp_member_at(s, q->member - 1);
	if (work == GP_SCHED_BUSY && needs_ns && needs_ns <= GP_SCHED_SPAN_MAX)
		m->needs_ns = GP_MIN(m->needs_ns + needs_ns, GP_SCHED_SPAN_MAX);
	if (work == q->work)
		return 0;
	uncount(m, q);
	q->work = (u8)work;
	count(s, m, q);
	gp_sched_member_update(s, m);
	gp_sched_settle(s);
	return 0;
}
