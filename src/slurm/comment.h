/* SPDX-License-Identifier: MIT */
/*
 * AdminComment of a job that has ended. slurmctld refuses to change it then, so it is changed in
 * the accounting database, with sacct and sacctmgr; without slurmdbd nothing happens.
 * For a process of the epilog that has an alarm: the programs may wait for slurmdbd.
 */
#ifndef GP_SLURM_COMMENT_H
#define GP_SLURM_COMMENT_H

#include "base/types.h"

/* Adds the text, which must not contain quotation marks, unless it is there. Other nodes of the job
 * do the same at that moment: a text that is missing afterwards is added again. */
void gp_slurm_comment_add(u32 job, const char *text);

#endif
