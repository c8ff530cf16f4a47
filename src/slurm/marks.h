/* SPDX-License-Identifier: MIT */
/*
 * The jobs of this node that Slurm has suspended, as empty files beside the socket of gpreemptd:
 * "slurm/17". They are the memory of the task plugin, whose holds end with
 * their connection: when gpreemptd or slurmd has been started again, it asks for them anew. The
 * epilog removes the mark of a job that ended while it was suspended, so that a job that is
 * requeued under the same number is not held.
 */
#ifndef GP_SLURM_MARKS_H
#define GP_SLURM_MARKS_H

#include "base/types.h"

struct gp_root;

/* A job that cannot be marked is held as long as the connection stays. */
void gp_slurm_mark(u32 job, bool on);
/* The first `room` of them; how many there are. */
size_t gp_slurm_marks(u32 *jobs, size_t room);
/* Those at least `age_s` old that have no process: a job whose epilog did not run. At most `room`.
 */
size_t gp_slurm_marks_lost(const struct gp_root *root, u64 age_s, u32 *jobs, size_t room);

#endif
