/* SPDX-License-Identifier: MIT */
/* The functions by which Slurm calls the task plugin; libslurm-dev has no header for them. */
#ifndef GP_SLURM_PLUGIN_H
#define GP_SLURM_PLUGIN_H

#include <stdint.h>

#define GP_SLURM_EXPORT __attribute__((visibility("default")))

extern const char plugin_name[], plugin_type[];
extern const uint32_t plugin_version;

GP_SLURM_EXPORT int init(void);
GP_SLURM_EXPORT int fini(void);
GP_SLURM_EXPORT int task_p_slurmd_batch_request(void *request);
GP_SLURM_EXPORT int task_p_slurmd_launch_request(void *request, uint32_t node, char **error);
GP_SLURM_EXPORT int task_p_slurmd_suspend_job(uint32_t job);
GP_SLURM_EXPORT int task_p_slurmd_resume_job(uint32_t job);
GP_SLURM_EXPORT int task_p_pre_setuid(void *job);
GP_SLURM_EXPORT int task_p_pre_launch_priv(void *job, uint32_t node, uint32_t task);
GP_SLURM_EXPORT int task_p_pre_launch(void *job);
GP_SLURM_EXPORT int task_p_post_term(void *job, void *task);
GP_SLURM_EXPORT int task_p_post_step(void *job);
GP_SLURM_EXPORT int task_p_add_pid(int pid);
GP_SLURM_EXPORT int task_p_pre_set_affinity(void *job, uint32_t node);
GP_SLURM_EXPORT int task_p_set_affinity(void *job, uint32_t node);
GP_SLURM_EXPORT int task_p_post_set_affinity(void *job, uint32_t node);

#endif
