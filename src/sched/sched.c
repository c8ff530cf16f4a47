// SPDX-License-Identifier: MIT
/* Initialisation, time and actions of the scheduler core. */
#include "sched/state.h"

static const struct gp_sched_policy *const policies[GP_SCHED_POLICIES] = {
	[GP_SCHED_OFF] = &gp_sched_policy_off,
	[GP_SCHED_PRIORITY] = &gp_sched_policy_priority,
	[GP_SCHED_FAIR] = &gp_sched_policy_fair,
	[GP_SCHED_DEADLINE] = &gp_sched_policy_deadline,
	[GP_SCHED_QUANTUM] = &gp_sched_policy_quantum,
};

void gp_sched_defaults(struct gp_sched_config *config)
{
	memset(config, 0, sizeof(*config));
	config->lease_ns = 100 * GP_NS_PER_MS;
	config->max_suspend_ns = 2000 * GP_NS_PER_MS;
	config->op_timeout_ns = 100 * GP_NS_PER_MS;
}

void gp_sched_device_defaults(struct gp_sched_device_config *config)
{
	*config = (struct gp_sched_device_config){
		.policy = GP_SCHED_PRIORITY,
		.can_suspend = true,
		.suspend_ns = GP_NS_PER_MS / 2,
		.resume_ns = GP_NS_PER_MS / 2,
		.min_run_ns = GP_NS_PER_MS / 10,
		.turn_ns = 10 * GP_NS_PER_MS,
		.linger_ns = GP_NS_PER_MS,
		.hint_ns = 2 * GP_NS_PER_MS,
		.unknown_ns = GP_NS_PER_MS,
		.age_step_ns = GP_NS_PER_MS,
		.slice_ns = 10 * GP_NS_PER_MS,
		.utilisation_ppm = 900000,
	};
}

static bool config_usable(const struct gp_sched_config *c)
{
	return c->devices && c->devices <= GP_SCHED_MAX_DEVICES && c->max_jobs &&
	       c->max_jobs <= GP_SCHED_MAX_JOBS && c->max_processes &&
	       c->max_processes <= GP_SCHED_MAX_PROCESSES && c->max_queues &&
	       c->max_queues <= GP_SCHED_MAX_QUEUES && c->lease_ns >= 3 &&
	       c->lease_ns <= GP_SCHED_SPAN_MAX && c->max_suspend_ns &&
	       c->max_suspend_ns <= GP_SCHED_SPAN_MAX && c->op_timeout_ns &&
	       c->op_timeout_ns <= GP_SCHED_SPAN_MAX;
}

/* Where each array lies; with memory == NULL only the total matters. */
struct layout {
	u64 size;
	u64 devices, jobs, processes, queues, members, places, timers, actions, orders;
	u32 member_count, timer_count;
};

static u64 layout_take(struct layout *layout, u64 size, u64 count)
{
	u64 at = (layout->size + 63) & ~63ull;

	layout->size = at + size * count;
	return at;
}

static void layout_make(struct layout *l, const struct gp_sched_config *c)
{
	memset(l, 0, sizeof(*l));
	l->member_count = (u32)GP_MIN((u64)c->max_jobs * c->devices, (u64)c->max_queues);
	l->timer_count = c->max_jobs + l->member_count + c->devices + 1;
	layout_take(l, sizeof(struct gp_sched), 1);
	l->devices = layout_take(l, sizeof(struct gp_sched_device), c->devices);
	l->jobs = layout_take(l, sizeof(struct gp_sched_job), c->max_jobs);
	l->processes = layout_take(l, sizeof(struct gp_sched_process), c->max_processes);
	l->queues = layout_take(l, sizeof(struct gp_sched_queue), c->max_queues);
	l->members = layout_take(l, sizeof(struct gp_sched_member), l->member_count);
	l->places = layout_take(l, sizeof(u32), l->timer_count);
	l->timers = layout_take(l, sizeof(struct gp_sched_order_entry), l->timer_count);
	l->actions = layout_take(l, sizeof(struct gp_sched_action), GP_SCHED_ACTIONS);
	/* A job is on a device once. */
	l->orders = layout_take(l, sizeof(struct gp_sched_order_entry),
				(u64)c->max_jobs * c->devices * GP_ORDERS);
	l->size += 63; /* for memory that is not aligned */
}

size_t gp_sched_memory(const struct gp_sched_config *config)
{
	struct layout layout;

	if (!config_usable(config))
		return 0;
	layout_make(&layout, config);
	return layout.size;
}

static void init_device(struct gp_sched *s, u32 index, struct gp_sched_order_entry *entries)
{
	struct gp_sched_device *d = &s->device[index];
	struct gp_sched_member *first = gp_member_at(s, 0);

	memset(d, 0, sizeof(*d));
	gp_sched_device_defaults(&d->config);
	d->config.policy = GP_SCHED_OFF;
	d->policy = policies[GP_SCHED_OFF];
	d->index = index;
	d->suspend_ns = d->config.suspend_ns;
	d->resume_ns = d->config.resume_ns;
	gp_list_init(&d->members);
	for (u32 i = 0; i < GP_ORDERS; i++)
		gp_order_init(&d->order[i], entries + (size_t)i * s->config.max_jobs,
			      s->config.max_jobs, &first->place[i], sizeof(*first));
}

int gp_sched_init(struct gp_sched **out, void *memory, size_t size,
		  const struct gp_sched_config *config)
{
	struct gp_sched_order_entry *entries;
	struct gp_sched *s;
	struct layout l;
	char *base;

	if (!config_usable(config))
		return -EINVAL;
	layout_make(&l, config);
	if (size < l.size)
		return -ENOMEM;
	base = (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
	s = (struct gp_sched *)base;
	memset(s, 0, sizeof(*s));
	s->config = *config;
	s->armed = GP_SCHED_NEVER;
	gp_pool_init(&s->jobs, base + l.jobs, sizeof(struct gp_sched_job), config->max_jobs);
	gp_pool_init(&s->processes, base + l.processes, sizeof(struct gp_sched_process),
		     config->max_processes);
	gp_pool_init(&s->queues, base + l.queues, sizeof(struct gp_sched_queue),
		     config->max_queues);
	gp_pool_init(&s->members, base + l.members, sizeof(struct gp_sched_member), l.member_count);
	s->timer_member = config->max_jobs;
	s->timer_device = s->timer_member + l.member_count;
	s->timer_renew = s->timer_device + config->devices;
	s->timer_place = (u32 *)(base + l.places);
	memset(s->timer_place + s->timer_device, 0, sizeof(u32) * (config->devices + 1));
	gp_order_init(&s->timers, base + l.timers, l.timer_count, s->timer_place, sizeof(u32));
	s->actions = (struct gp_sched_action *)(base + l.actions);
	s->device = (struct gp_sched_device *)(base + l.devices);
	entries = (struct gp_sched_order_entry *)(base + l.orders);
	for (u32 i = 0; i < config->devices; i++)
		init_device(s, i, entries + (size_t)i * GP_ORDERS * config->max_jobs);
	*out = s;
	return 0;
}

struct gp_sched_job *gp_sched_job(const struct gp_sched *s, u32 index)
{
	struct gp_sched_job *job;

	if (index >= s->jobs.fresh)
		return NULL;
	job = gp_job_at(s, index);
	return job->used ? job : NULL;
}

/*
 * Suspensions are handed out before everything else of their batch: a change of the hardware then
 * finds fewer programs on it, and does not save what the change before it has just restored. They
 * lie at the end of the array, the others at its start; all are taken before there are new ones. A
 * job whose RESUME, or the note of whose lost lease, is in the same batch is suspended after that;
 * and where the hardware takes turns by itself, the next one runs before the last one stops, so
 * that it always has work.
 */
static bool goes_first(const struct gp_sched *s, enum gp_sched_action_kind kind, u32 job,
		       u32 device)
{
	const struct gp_sched_job *j;

	if (kind != GP_SCHED_SUSPEND ||
	    (device != GP_SCHED_NONE && s->device[device].config.slices))
		return false;
	j = gp_job_at(s, job);
	return (j->run != GP_SCHED_RESUMING || j->op_at != s->now) && j->lost_at != s->now;
}

struct gp_sched_action *gp_sched_emit(struct gp_sched *s, enum gp_sched_action_kind kind,
				      enum gp_sched_why why, u32 job, u32 other, u32 device)
{
	struct gp_sched_action *action;
	struct gp_sched_reason *r;

	/* Its other half: whoever makes actions has left GP_SCHED_EVENT_ROOM for them. */
	GP_ASSERT(s->action_count < GP_SCHED_ACTIONS);
	s->action_count++;
	action = &s->actions[goes_first(s, kind, job, device) ? GP_SCHED_ACTIONS - ++s->action_first
							      : s->action_last++];
	memset(action, 0, sizeof(*action));
	action->kind = kind;
	action->job = job;
	action->device = device;
	r = &action->reason;
	r->id = ++s->reasons;
	r->at_ns = s->now;
	r->why = why;
	r->job = job;
	r->other = other;
	r->device = device;
	if (device != GP_SCHED_NONE)
		r->policy = s->device[device].config.policy;
	if (job != GP_SCHED_NONE)
		r->job_priority = gp_job_at(s, job)->priority;
	if (other != GP_SCHED_NONE)
		r->other_priority = gp_job_at(s, other)->priority;
	s->stats.why[why]++;
	return action;
}

bool gp_sched_pending(const struct gp_sched *s)
{
	return s->action_count || s->dirty;
}

bool gp_sched_take(struct gp_sched *s, struct gp_sched_action *out)
{
	if (!s->action_count && s->dirty)
		gp_sched_settle(s);
	if (!s->action_count)
		return false;
	*out = s->actions[s->first_taken < s->action_first ? GP_SCHED_ACTIONS - ++s->first_taken
							   : s->last_taken++];
	if (!--s->action_count) /* the same few lines of cache again */
		s->action_first = s->action_last = s->first_taken = s->last_taken = 0;
	return true;
}

void gp_sched_move_timer(struct gp_sched *s, u32 id, u64 at)
{
	if (at == GP_SCHED_NEVER)
		gp_order_remove(&s->timers, id);
	else
		gp_order_set(&s->timers, id, at);
}

u64 gp_sched_average(u64 average, u64 value)
{
	if (!average)
		return GP_MAX(value, 1);
	if (value > average)
		return average + ((value - average) >> GP_SCHED_AVERAGE);
	return GP_MAX(average - ((average - value) >> GP_SCHED_AVERAGE), 1);
}

static void renew(struct gp_sched *s)
{
	struct gp_sched_action *action;

	if (!s->held) {
		gp_sched_set_timer(s, s->timer_renew, GP_SCHED_NEVER);
		return;
	}
	action = gp_sched_emit(s, GP_SCHED_RENEW, GP_SCHED_WHY_ROUTINE, GP_SCHED_NONE,
			       GP_SCHED_NONE, GP_SCHED_NONE);
	action->until_ns = gp_later(s->now, s->config.lease_ns);
	gp_sched_set_timer(s, s->timer_renew, gp_later(s->now, s->config.lease_ns / 3));
}

static bool overdue(const struct gp_sched *s)
{
	/* At the end of time nothing can be later any more. */
	return s->timers.count && s->timers.entry[0].key <= s->now && s->now < GP_SCHED_TIME_MAX;
}

/* Everything that is due. What does not fit into the ring stays due. */
static void expire(struct gp_sched *s)
{
	if (s->now >= s->armed)
		s->armed = GP_SCHED_NEVER;
	while (overdue(s) && s->action_count + GP_SCHED_EVENT_ROOM <= GP_SCHED_ACTIONS) {
		u32 id = s->timers.entry[0].id;

		if (id < s->timer_member) {
			gp_sched_job_timer(s, gp_job_at(s, id));
		} else if (id < s->timer_device) {
			gp_sched_member_timer(s, gp_member_at(s, id - s->timer_member));
		} else if (id < s->timer_renew) {
			gp_sched_set_timer(s, id, GP_SCHED_NEVER);
			s->dirty |= 1ull << (id - s->timer_device);
		} else {
			renew(s);
		}
	}
	gp_sched_settle(s);
}

static int enter(struct gp_sched *s, u64 now)
{
	if (s->action_count || s->dirty)
		return -EAGAIN;
	s->now = GP_MAX(s->now, GP_MIN(now, GP_SCHED_TIME_MAX));
	return 0;
}

int gp_sched_begin(struct gp_sched *s, u64 now)
{
	int error = enter(s, now);

	if (error)
		return error;
	/* Promises are kept in time even if the host brings something else before the timer. */
	if (overdue(s)) {
		expire(s);
		if (s->dirty || s->action_count > GP_SCHED_ACTIONS / 2)
			return -EAGAIN;
	}
	s->stats.events++;
	return 0;
}

int gp_sched_timer(struct gp_sched *s, u64 now)
{
	int error = enter(s, now);

	if (error)
		return error;
	s->stats.events++;
	expire(s);
	return 0;
}

u64 gp_sched_next(const struct gp_sched *s)
{
	return s->timers.count && s->now < GP_SCHED_TIME_MAX ? s->timers.entry[0].key
							     : GP_SCHED_NEVER;
}

u64 gp_sched_now(const struct gp_sched *s)
{
	return s->now;
}

static bool device_usable(const struct gp_sched_device_config *c)
{
	const u64 spans[] = {c->suspend_ns, c->resume_ns,   c->min_run_ns,
			     c->turn_ns,    c->linger_ns,   c->hint_ns,
			     c->slice_ns,   c->age_step_ns, c->unknown_ns};

	for (u32 i = 0; i < GP_ARRAY_SIZE(spans); i++)
		if (spans[i] > GP_SCHED_SPAN_MAX)
			return false;
	return (u32)c->policy < GP_SCHED_POLICIES && c->turn_ns >= 1000 && c->slice_ns >= 1000 &&
	       c->utilisation_ppm <= 1000000;
}

int gp_sched_device_set(struct gp_sched *s, u64 now, u32 index,
			const struct gp_sched_device_config *config)
{
	struct gp_sched_device *d;
	struct gp_list *link;
	int error;

	if (index >= s->config.devices)
		return -ENOENT;
	if (!device_usable(config))
		return -EINVAL;
	error = gp_sched_begin(s, now);
	if (error)
		return error;
	d = &s->device[index];
	gp_list_for_each (link, &d->members) {
		struct gp_sched_member *m = gp_container(link, struct gp_sched_member, link);

		gp_sched_member_account(s, m);
		gp_sched_member_unghost(s, m);
		if (d->policy->leave)
			d->policy->leave(s, m);
		m->tick_at = GP_SCHED_NEVER;
		m->over = false;
	}
	if (config->suspend_ns != d->config.suspend_ns)
		d->suspend_ns = config->suspend_ns;
	if (config->resume_ns != d->config.resume_ns)
		d->resume_ns = config->resume_ns;
	d->config = *config;
	d->policy = policies[config->policy];
	d->clock_at = s->now;
	d->changed = true;
	d->narrow = false;
	d->wide_until = d->wide_ns = 0;
	gp_list_for_each (link, &d->members) {
		struct gp_sched_member *m = gp_container(link, struct gp_sched_member, link);

		if (d->policy->join)
			d->policy->join(s, m);
		if (m->contends && d->policy->arrive)
			d->policy->arrive(s, m);
		gp_sched_member_place(s, m);
		gp_sched_member_arm(s, m);
	}
	d->share_cursor = d->members.next;
	s->dirty |= 1ull << index;
	gp_sched_settle(s);
	return 0;
}

const char *gp_sched_policy_name(enum gp_sched_policy_id policy)
{
	return (u32)policy < GP_SCHED_POLICIES ? policies[policy]->name : NULL;
}
