// SPDX-License-Identifier: MIT
/* The threads that run groups; see compute.h for what they promise. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "abi/aql.h"
#include "base/clock.h"
#include "vgpu/compute/job.h"
#include "vgpu/heap.h"

#define BATCH       8192 /* instructions between two looks at what others want */
#define BATCHES     64   /* of a group before the next one */
#define STACK_BYTES (256u << 10)
#define NAP_NS      200000 /* when all groups wait */

static void wake(struct gp_vgpu_compute *compute)
{
	u64 one = 1;

	if (write(compute->wake_fd, &one, sizeof(one)) < 0)
		return; /* full: it is awake */
}

/* ---- the threads ---- */

static struct gp_vgpu_group *find_work(struct gp_vgpu_compute *compute, struct gp_vgpu_job **out)
{
	gp_list_each (struct gp_vgpu_job, job, link, &compute->jobs) {
		struct gp_vgpu_group *group = gp_vgpu_job_take(job);

		if (!group)
			continue;
		/* The next look begins with the others. */
		gp_list_remove(&job->link);
		gp_list_add_tail(&compute->jobs, &job->link);
		*out = job;
		return group;
	}
	return NULL;
}

/* Pages that were remembered for another dispatch, or before a flush, are not used. */
static void prepare(struct gp_vgpu_worker *worker, struct gp_vgpu_job *job)
{
	if (worker->job != job || worker->flushed != worker->compute->flushes)
		gp_isa_forget_pages(&worker->runner);
	worker->job = job;
	worker->flushed = worker->compute->flushes;
	worker->runner.host = &job->host;
	worker->runner.gfx = job->launch.gfx;
}

/* Between two batches, with the lock: others that wait for this thread are told. */
static void boundary(struct gp_vgpu_worker *worker, bool running)
{
	worker->running = running;
	pthread_cond_broadcast(&worker->compute->boundary);
}

/* False if the group only waits, for others or for memory to change. */
static bool run(struct gp_vgpu_worker *worker, struct gp_vgpu_job *job, struct gp_vgpu_group *group)
{
	struct gp_vgpu_compute *compute = worker->compute;
	enum gp_isa_stop stop = GP_ISA_RUNNING;
	u32 failed = 0;

	for (u32 i = 0; i < BATCHES && stop == GP_ISA_RUNNING; i++) {
		if (gp_vgpu_job_stands(job))
			break;
		prepare(worker, job);
		boundary(worker, true);
		pthread_mutex_unlock(&compute->lock);
		stop = gp_isa_run_group(&worker->runner, &group->group, group->waves, BATCH,
					&failed);
		pthread_mutex_lock(&compute->lock);
		boundary(worker, false);
	}
	if (!gp_vgpu_job_put(job, worker, group, stop, failed))
		return stop != GP_ISA_WAITS || gp_vgpu_job_can_grow(job);
	worker->job = NULL;
	gp_list_remove(&job->link);
	if (job->dropped)
		return true; /* the thread that dropped it frees it */
	gp_list_add_tail(&compute->over, &job->link);
	wake(compute);
	return true;
}

static void nap(struct gp_vgpu_compute *compute)
{
	struct timespec until = gp_timespec(gp_monotonic_ns() + NAP_NS);

	pthread_cond_timedwait(&compute->work, &compute->lock, &until);
}

static void *worker_thread(void *data)
{
	struct gp_vgpu_worker *worker = data;
	struct gp_vgpu_compute *compute = worker->compute;

	pthread_setname_np(pthread_self(), "gpreempt-wave");
	pthread_mutex_lock(&compute->lock);
	while (!compute->ending && worker >= compute->workers + compute->worker_count)
		pthread_cond_wait(&compute->work, &compute->lock); /* until it is counted */
	while (!compute->ending) {
		struct gp_vgpu_job *job;
		struct gp_vgpu_group *group = find_work(compute, &job);

		if (!group)
			pthread_cond_wait(&compute->work, &compute->lock);
		else if (!run(worker, job, group))
			nap(compute);
	}
	pthread_mutex_unlock(&compute->lock);
	return NULL;
}

/* With every signal blocked: they are the application's to handle, on its own threads. */
static int worker_start(struct gp_vgpu_worker *worker)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int result;

	worker->runner.cache = gp_vgpu_alloc(gp_isa_cache_bytes());
	if (!worker->runner.cache)
		return -ENOMEM;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = pthread_create(&worker->thread, &attributes, worker_thread, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (result)
		gp_vgpu_free(worker->runner.cache);
	return -result;
}

int gp_vgpu_compute_ready(struct gp_vgpu_compute *compute)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	u32 wanted = online < 1 ? 1 : online > GP_VGPU_WORKERS ? GP_VGPU_WORKERS : (u32)online;
	u32 made = 0;
	int result = 0;

	if (atomic_exchange(&compute->ready, true))
		return 0;
	while (!result && made < wanted) {
		struct gp_vgpu_worker *worker = &compute->workers[made];

		worker->compute = compute;
		result = worker_start(worker);
		if (!result)
			made++;
	}
	pthread_mutex_lock(&compute->lock);
	compute->worker_count = made;
	pthread_cond_broadcast(&compute->work);
	pthread_mutex_unlock(&compute->lock);
	if (!made)
		atomic_store(&compute->ready, false);
	return made ? 0 : result;
}

/* ---- for the command processor ---- */

struct gp_vgpu_compute *gp_vgpu_compute_new(struct gp_vgpu_client *client, int wake_fd)
{
	struct gp_vgpu_compute *compute = gp_vgpu_alloc(sizeof(*compute));
	pthread_condattr_t monotonic;

	if (!compute)
		return NULL;
	compute->client = client;
	compute->wake_fd = wake_fd;
	compute->can_ask = gp_vgpu_can_ask();
	compute->handler = gp_vgpu_handler_open(client->directory);
	pthread_mutex_init(&compute->lock, NULL);
	/* A nap does not depend on the clock that can be set. */
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&compute->work, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_cond_init(&compute->boundary, NULL);
	gp_list_init(&compute->jobs);
	gp_list_init(&compute->over);
	return compute;
}

void gp_vgpu_compute_free(struct gp_vgpu_compute *compute)
{
	struct gp_vgpu_spare *spare;

	pthread_mutex_lock(&compute->lock);
	compute->ending = true;
	pthread_cond_broadcast(&compute->work);
	pthread_mutex_unlock(&compute->lock);
	for (u32 i = 0; i < compute->worker_count; i++) {
		pthread_join(compute->workers[i].thread, NULL);
		gp_vgpu_free(compute->workers[i].runner.cache);
	}
	while (!gp_list_empty(&compute->jobs) || !gp_list_empty(&compute->over))
		gp_vgpu_job_free(gp_container(gp_list_empty(&compute->jobs) ? compute->over.next
									    : compute->jobs.next,
					      struct gp_vgpu_job, link));
	gp_vgpu_handler_close(compute->handler);
	while ((spare = compute->waves)) {
		compute->waves = spare->next;
		gp_vgpu_free(spare);
	}
	gp_vgpu_free(compute);
}

/* Whether it can be executed at all. */
static int launch_check(const struct gp_isa_launch *launch)
{
	u64 items = (u64)launch->group[0] * launch->group[1] * launch->group[2];

	if (!launch->grid[0] || !launch->grid[1] || !launch->grid[2])
		return -E2BIG;
	if (items > GP_GFX9_WORKGROUP_MAX || launch->lds_bytes > GP_GFX9_LDS_MAX)
		return -EDOM;
	if (launch->scratch && launch->scratch_waves < gp_divide_up(items, GP_ISA_LANES))
		return -ENOSPC;
	return 0;
}

int gp_vgpu_compute_start(struct gp_vgpu_compute *compute, const struct gp_isa_launch *launch,
			  u32 gpu_index, u32 queue_id, u64 tag)
{
	int result = launch_check(launch);
	struct gp_vgpu_job *job;

	if (!result)
		result = gp_vgpu_compute_ready(compute);
	if (result)
		return result;
	pthread_mutex_lock(&compute->lock);
	job = gp_vgpu_job_new(compute, launch, gpu_index);
	if (job) {
		job->queue_id = queue_id;
		job->tag = tag;
		job->result = (struct gp_vgpu_computed){.tag = tag, .queue_id = queue_id};
		job->held = gp_bit_test(compute->held, queue_id);
		gp_list_add_tail(&compute->jobs, &job->link);
		pthread_cond_broadcast(&compute->work);
	}
	pthread_mutex_unlock(&compute->lock);
	return job ? 0 : -ENOMEM;
}

bool gp_vgpu_compute_take(struct gp_vgpu_compute *compute, struct gp_vgpu_computed *out)
{
	struct gp_vgpu_job *job = NULL;

	pthread_mutex_lock(&compute->lock);
	if (!gp_list_empty(&compute->over)) {
		job = gp_container(compute->over.next, struct gp_vgpu_job, link);
		*out = job->result;
		gp_vgpu_job_free(job);
	}
	pthread_mutex_unlock(&compute->lock);
	return job;
}

static bool runs(const struct gp_vgpu_compute *compute, u32 queue_id)
{
	for (u32 i = 0; i < compute->worker_count; i++) {
		const struct gp_vgpu_worker *worker = &compute->workers[i];

		if (worker->running && worker->job && worker->job->queue_id == queue_id)
			return true;
	}
	return false;
}

static void hold_all(struct gp_vgpu_compute *compute, u32 queue_id, bool held)
{
	gp_list_each (struct gp_vgpu_job, job, link, &compute->jobs)
		if (job->queue_id == queue_id)
			job->held = held;
}

void gp_vgpu_compute_hold(struct gp_vgpu_compute *compute, u32 queue_id,
			  struct gp_vgpu_save_area *area)
{
	pthread_mutex_lock(&compute->lock);
	gp_bit_set(compute->held, queue_id);
	hold_all(compute, queue_id, true);
	while (runs(compute, queue_id))
		pthread_cond_wait(&compute->boundary, &compute->lock);
	gp_vgpu_jobs_save(compute, queue_id, area);
	pthread_mutex_unlock(&compute->lock);
}

void gp_vgpu_compute_release(struct gp_vgpu_compute *compute, u32 queue_id)
{
	pthread_mutex_lock(&compute->lock);
	gp_vgpu_jobs_restore(compute, queue_id);
	gp_bit_clear(compute->held, queue_id);
	hold_all(compute, queue_id, false);
	pthread_cond_broadcast(&compute->work);
	pthread_mutex_unlock(&compute->lock);
}

static struct gp_vgpu_job *find_job(struct gp_list *list, u32 queue_id)
{
	gp_list_each (struct gp_vgpu_job, job, link, list)
		if (job->queue_id == queue_id)
			return job;
	return NULL;
}

void gp_vgpu_compute_drop(struct gp_vgpu_compute *compute, u32 queue_id)
{
	struct gp_vgpu_job *job;

	pthread_mutex_lock(&compute->lock);
	while ((job = find_job(&compute->jobs, queue_id)) ||
	       (job = find_job(&compute->over, queue_id))) {
		job->dropped = true;
		while (job->running)
			pthread_cond_wait(&compute->boundary, &compute->lock);
		gp_vgpu_job_free(job);
	}
	gp_bit_clear(compute->held, queue_id);
	gp_bit_clear(compute->failed, queue_id);
	pthread_mutex_unlock(&compute->lock);
}

void gp_vgpu_compute_stop(struct gp_vgpu_compute *compute, u32 queue_id)
{
	pthread_mutex_lock(&compute->lock);
	gp_bit_set(compute->failed, queue_id);
	while (runs(compute, queue_id))
		pthread_cond_wait(&compute->boundary, &compute->lock);
	pthread_mutex_unlock(&compute->lock);
}

static bool lags(const struct gp_vgpu_compute *compute)
{
	for (u32 i = 0; i < compute->worker_count; i++)
		if (compute->workers[i].running && compute->workers[i].flushed < compute->flushes)
			return true;
	return false;
}

void gp_vgpu_compute_flush(struct gp_vgpu_compute *compute)
{
	pthread_mutex_lock(&compute->lock);
	compute->flushes++;
	while (lags(compute))
		pthread_cond_wait(&compute->boundary, &compute->lock);
	pthread_mutex_unlock(&compute->lock);
}
