/* SPDX-License-Identifier: MIT */
/*
 * The dispatches under way and the threads that run them. compute->lock guards everything but the
 * group that a thread is running. Private to vgpu/compute.
 */
#ifndef GP_VGPU_COMPUTE_JOB_H
#define GP_VGPU_COMPUTE_JOB_H

#include <pthread.h>

#include "base/core.h"
#include "vgpu/compute/compute.h"

#define GP_VGPU_WORKERS 16

/* Registers of a wave, or the memory of a group; kept for the next one. */
struct gp_vgpu_spare {
	struct gp_vgpu_spare *next;
};

/* A group under way. */
struct gp_vgpu_group {
	struct gp_list link; /* in job->ready */
	struct gp_isa_group group;
	struct gp_isa_wave *waves[GP_ISA_GROUP_WAVES];
	u32 place; /* which private memory it has, and which XCC */
	bool is_saved;
	u32 saved_first;               /* the wave whose state the LDS is part of */
	u64 saved[GP_ISA_GROUP_WAVES]; /* addresses in the save area; 0: the wave has ended */
	_Alignas(64) u8 lds[];
};

/* A dispatch under way. */
struct gp_vgpu_job {
	struct gp_list link; /* in compute->jobs */
	struct gp_vgpu_compute *compute;
	struct gp_isa_launch launch;
	struct gp_isa_host host;
	u32 gpu_id, gpu_index, queue_id;
	u64 tag;
	u32 count[3];
	u64 total, started, ended; /* groups */
	u32 group_waves;           /* of a whole group */
	u32 resident, limit;       /* groups under way, and the most there may be */
	u32 running;               /* of them, by a thread right now */
	struct gp_list ready;      /* the others */
	bool grow;                 /* a group used up its share: one more may start */
	bool held, dropped;
	struct gp_vgpu_computed result;
	u64 places[]; /* bitmap of those that are taken */
};

struct gp_vgpu_worker {
	struct gp_vgpu_compute *compute;
	pthread_t thread;
	struct gp_isa_runner runner;
	struct gp_vgpu_job *job; /* whose pages the runner remembers */
	bool running;
	u64 flushed; /* compute->flushes that it has seen */
};

struct gp_vgpu_compute {
	struct gp_vgpu_client *client;
	int wake_fd;
	pthread_mutex_t lock;
	pthread_cond_t work, boundary;
	bool ending;
	_Atomic bool ready; /* the threads are there, or are being made */
	bool can_ask;       /* whether memory can be written */
	u64 flushes;
	u32 worker_count;
	struct gp_vgpu_worker workers[GP_VGPU_WORKERS];
	struct gp_list jobs, over;
	struct gp_vgpu_spare *waves;     /* registers that are not in use */
	struct gp_vgpu_handler *handler; /* of the driver, or NULL: its waves are saved by us */
	u64 held[GP_VGPU_MAX_QUEUES / 64], failed[GP_VGPU_MAX_QUEUES / 64];
	u64 gws[GP_VGPU_MAX_GPUS][GP_ISA_GWS];
};

/* ---- job.c; all with the lock ---- */

struct gp_vgpu_job *gp_vgpu_job_new(struct gp_vgpu_compute *compute,
				    const struct gp_isa_launch *launch, u32 gpu_index);
void gp_vgpu_job_free(struct gp_vgpu_job *job);
/* A group to run, or NULL: none is ready and none can start. */
struct gp_vgpu_group *gp_vgpu_job_take(struct gp_vgpu_job *job);
/* Whether none of its groups may run: it is held or dropped, or a dispatch of its queue has failed.
 */
bool gp_vgpu_job_stands(const struct gp_vgpu_job *job);
/* Whether one more group can start. */
bool gp_vgpu_job_can_grow(const struct gp_vgpu_job *job);
/* It stopped for this reason; true if the job is over, and its result is filled in. */
bool gp_vgpu_job_put(struct gp_vgpu_job *job, struct gp_vgpu_worker *worker,
		     struct gp_vgpu_group *group, enum gp_isa_stop stop, u32 failed);

/* ---- handler.c; with the lock ---- */

/* Of the machine in this directory; NULL: it has none. */
struct gp_vgpu_handler *gp_vgpu_handler_open(const char *directory);
/* Says what it did. */
void gp_vgpu_handler_close(struct gp_vgpu_handler *handler);
/* Writes group->saved once more, with the handler, and compares. Differences are reported. */
void gp_vgpu_handler_save(struct gp_vgpu_handler *handler, const struct gp_vgpu_job *job,
			  const struct gp_vgpu_group *group);
/* False: it could not, and the registers are lost. */
bool gp_vgpu_handler_restore(struct gp_vgpu_handler *handler, const struct gp_vgpu_job *job,
			     struct gp_vgpu_group *group);

/* ---- save.c; with the lock, and no thread runs a group of this queue ---- */

void gp_vgpu_jobs_save(struct gp_vgpu_compute *compute, u32 queue_id, struct gp_vgpu_save_area *of);
void gp_vgpu_jobs_restore(struct gp_vgpu_compute *compute, u32 queue_id);

#endif
