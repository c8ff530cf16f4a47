// SPDX-License-Identifier: MIT
/* A dispatch: its groups, where they have their private memory, and when it is over. */
#include <time.h>

#include "abi/kfd_driver.h"
#include "base/clock.h"
#include "vgpu/compute/job.h"
#include "vgpu/isa/save.h"
#include "vgpu/heap.h"

#define CLOCK_NS      10 /* s_memrealtime counts at 100 MHz */
#define WAVES_PER_CU  32
#define SIMDS         4 /* of a compute unit, each with registers for its waves */
#define SIMD_VECTORS  512
#define LDS_BYTES     65536u
#define MESSAGE_EVENT 1 /* s_sendmsg: an interrupt, with the event in m0 */
#define EVENT_BITS    0xffffffu

/* ---- what the instructions need of the process ---- */

static void *host_page(void *data, u64 va, bool write)
{
	struct gp_vgpu_job *job = data;

	return gp_vgpu_gpu_page(job->compute->client, job->gpu_id, va,
				write && job->compute->can_ask);
}

static u64 host_clock(void *data, bool real)
{
	(void)data;
	return gp_clock_ns(CLOCK_MONOTONIC_RAW) / (real ? CLOCK_NS : 1);
}

static void host_message(void *data, u32 message, u32 m0)
{
	struct gp_vgpu_job *job = data;

	if (message == MESSAGE_EVENT)
		gp_vgpu_event_set(job->compute->client, m0 & EVENT_BITS);
}

/* ---- groups ---- */

/* What the registers and the LDS of a compute unit are enough for; the save area is made for that.
 */
static u32 groups_per_cu(const struct gp_vgpu_job *job)
{
	u32 of_simd = SIMD_VECTORS / gp_isa_vectors(gp_isa_gpr_alloc(&job->launch));
	u32 waves = GP_MIN(of_simd, (u32)WAVES_PER_CU / SIMDS) * SIMDS;
	u32 groups = waves / job->group_waves;

	if (job->launch.lds_bytes)
		groups = GP_MIN(groups, LDS_BYTES / job->launch.lds_bytes);
	return GP_MAX(groups, 1u);
}

static u32 limit_of(const struct gp_vgpu_job *job, const struct gp_vgpu_gpu *gpu)
{
	u64 limit = (u64)gpu->cu_count * groups_per_cu(job);

	if (job->launch.scratch)
		limit = GP_MIN(limit, (u64)job->launch.scratch_waves / job->group_waves);
	return (u32)GP_MIN(GP_MAX(limit, 1ull), job->total);
}

struct gp_vgpu_job *gp_vgpu_job_new(struct gp_vgpu_compute *compute,
				    const struct gp_isa_launch *launch, u32 gpu_index)
{
	const struct gp_vgpu_gpu *gpu = &compute->client->machine.gpus[gpu_index];
	u64 items = (u64)launch->group[0] * launch->group[1] * launch->group[2];
	u32 count[3], room;
	struct gp_vgpu_job *job;

	gp_isa_groups(launch, count);
	room = (gpu->cu_count * WAVES_PER_CU + 63) / 64;
	job = gp_vgpu_alloc(sizeof(*job) + (size_t)GP_MAX(room, 1u) * sizeof(u64));
	if (!job)
		return NULL;
	job->compute = compute;
	job->launch = *launch;
	job->gpu_id = gpu->gpu_id;
	job->gpu_index = gpu_index;
	memcpy(job->count, count, sizeof(count));
	job->total = (u64)count[0] * count[1] * count[2];
	job->group_waves = (u32)gp_divide_up(items, GP_ISA_LANES);
	job->limit = limit_of(job, gpu);
	job->host = (struct gp_isa_host){
		.data = job,
		.page = host_page,
		.clock = host_clock,
		.message = host_message,
		.shared_base = GP_KFD_LDS_BASE,
		.private_base = GP_KFD_SCRATCH_BASE,
		.gws = compute->gws[gpu_index],
	};
	gp_list_init(&job->link);
	gp_list_init(&job->ready);
	return job;
}

static struct gp_isa_wave *wave_take(struct gp_vgpu_compute *compute)
{
	struct gp_vgpu_spare *spare = compute->waves;

	if (!spare)
		return gp_vgpu_alloc(sizeof(struct gp_isa_wave));
	compute->waves = spare->next;
	return (struct gp_isa_wave *)(void *)spare;
}

static void wave_put(struct gp_vgpu_compute *compute, struct gp_isa_wave *wave)
{
	struct gp_vgpu_spare *spare = (void *)wave;

	if (!wave)
		return;
	spare->next = compute->waves;
	compute->waves = spare;
}

static void group_free(struct gp_vgpu_job *job, struct gp_vgpu_group *group)
{
	for (u32 i = 0; i < GP_ISA_GROUP_WAVES; i++)
		wave_put(job->compute, group->waves[i]);
	gp_bit_clear(job->places, group->place);
	job->resident--;
	gp_vgpu_free(group);
}

static u32 place_take(struct gp_vgpu_job *job)
{
	u32 place = 0;

	while (gp_bit_test(job->places, place))
		place++;
	gp_bit_set(job->places, place);
	return place;
}

/* The next group of the grid, or NULL without memory. */
static struct gp_vgpu_group *group_new(struct gp_vgpu_job *job)
{
	u32 id[3] = {(u32)(job->started % job->count[0]),
		     (u32)(job->started / job->count[0] % job->count[1]),
		     (u32)(job->started / job->count[0] / job->count[1])};
	size_t size = sizeof(struct gp_vgpu_group) + job->launch.lds_bytes;
	struct gp_vgpu_group *group = gp_vgpu_alloc(size);

	if (!group)
		return NULL;
	gp_list_init(&group->link);
	group->place = place_take(job);
	group->group = (struct gp_isa_group){
		.lds = group->lds,
		.lds_bytes = job->launch.lds_bytes,
		.waves = gp_isa_waves(&job->launch, id),
	};
	job->resident++;
	for (u32 i = 0; i < group->group.waves; i++) {
		group->waves[i] = wave_take(job->compute);
		if (!group->waves[i]) {
			group_free(job, group);
			return NULL;
		}
		gp_isa_start(&job->launch, id, i, group->place * job->group_waves + i,
			     &group->group, group->waves[i]);
	}
	job->started++;
	return group;
}

/* The next job may get the same address: no thread may take its pages for that one's. */
void gp_vgpu_job_free(struct gp_vgpu_job *job)
{
	struct gp_vgpu_compute *compute = job->compute;

	for (u32 i = 0; i < compute->worker_count; i++)
		if (compute->workers[i].job == job)
			compute->workers[i].job = NULL;
	while (!gp_list_empty(&job->ready)) {
		struct gp_vgpu_group *group =
			gp_container(job->ready.next, struct gp_vgpu_group, link);

		gp_list_remove(&group->link);
		group_free(job, group);
	}
	gp_list_remove(&job->link);
	gp_vgpu_free(job);
}

bool gp_vgpu_job_can_grow(const struct gp_vgpu_job *job)
{
	return job->started < job->total && job->resident < job->limit;
}

bool gp_vgpu_job_stands(const struct gp_vgpu_job *job)
{
	return job->held || job->dropped || gp_bit_test(job->compute->failed, job->queue_id);
}

/*
 * A group that has not used up its share comes first, then a new one if those under way seem to
 * wait, then the others in turn.
 */
struct gp_vgpu_group *gp_vgpu_job_take(struct gp_vgpu_job *job)
{
	bool none = gp_list_empty(&job->ready);
	struct gp_vgpu_group *group = NULL;

	if (gp_vgpu_job_stands(job))
		return NULL;
	if ((none || job->grow) && gp_vgpu_job_can_grow(job))
		group = group_new(job);
	if (!group && !none) {
		group = gp_container(job->ready.next, struct gp_vgpu_group, link);
		gp_list_remove(&group->link);
	}
	if (!group)
		return NULL;
	job->grow = false;
	job->running++;
	return group;
}

/* The first wave that fails decides. */
static void job_fail(struct gp_vgpu_job *job, struct gp_vgpu_worker *worker,
		     const struct gp_isa_wave *wave, enum gp_isa_stop stop)
{
	struct gp_vgpu_computed *result = &job->result;

	if (result->stop > GP_ISA_ENDED)
		return;
	gp_bit_set(job->compute->failed, job->queue_id); /* its other dispatches stop as well */
	result->stop = stop;
	result->address = stop == GP_ISA_FAULT ? wave->fault : wave->pc;
	gp_isa_describe(&worker->runner, wave, result->text);
}

bool gp_vgpu_job_put(struct gp_vgpu_job *job, struct gp_vgpu_worker *worker,
		     struct gp_vgpu_group *group, enum gp_isa_stop stop, u32 failed)
{
	job->running--;
	if (stop >= GP_ISA_FAULT)
		job_fail(job, worker, group->waves[failed], stop);
	if (stop == GP_ISA_RUNNING || stop == GP_ISA_WAITS) {
		gp_list_add_tail(&job->ready, &group->link);
		job->grow = true;
		return job->result.stop > GP_ISA_ENDED && !job->running;
	}
	group_free(job, group);
	job->ended++;
	if (job->result.stop <= GP_ISA_ENDED && job->ended == job->total)
		job->result.stop = GP_ISA_ENDED;
	return job->result.stop >= GP_ISA_ENDED && !job->running;
}
