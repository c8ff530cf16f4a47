/* SPDX-License-Identifier: MIT */
/*
 * The jobs of this node that Slurm has suspended, as empty files beside the socket of gpreemptd:
 * "slurm/17". They are the memory of the task plugin, whose holds end with
 * their connection: when gpreemptd or slurmd has been started again, it asks for them anew. The
 * epilog removes the mark of a job that ended while it was suspended and leaves "slurm/17.over", so
 * that a suspension that comes late does not mark it again. The first step of a job that is
 * requeued under the same number removes that, and notes in "slurm/17.begun" when it came: jobs
 * that gpreemptd has had under that number before are of another run.
 */
#ifndef GP_SLURM_MARKS_H
#define GP_SLURM_MARKS_H

#include "base/types.h"

struct gp_root;

/* Whether the job is to be held. A job that cannot be marked is, as long as the connection stays;
 * one that is over is not. *marked, if not NULL: whether the mark was made, and its removal ends
 * the hold. */
bool gp_slurm_mark(u32 job, bool *marked);
void gp_slurm_unmark(u32 job);
/* Also true if that cannot be known now. */
bool gp_slurm_is_marked(u32 job);
/* The job has ended here: its mark goes, and does not return. Removes the files of jobs that ended
 * more than a minute ago, and those of gp_slurm_mark_begin() that are a week old and whose job has
 * no step here, since its epilog did not run. When it began, by gp_monotonic_ns(); 0: not known. */
u64 gp_slurm_mark_over(u32 job);
/* A step of a job begins, the first one or another. */
void gp_slurm_mark_begin(u32 job);
/* The first `room` of them; how many there are, or -errno: it cannot be known now. */
int gp_slurm_marks(u32 *jobs, size_t room);
/* Those at least `age_s` old; at most `room`. */
size_t gp_slurm_marks_old(u64 age_s, u32 *jobs, size_t room);
/* Those at least `age_s` old whose job has no step here: its epilog did not run. At most `room`. */
size_t gp_slurm_marks_lost(const struct gp_root *root, u64 age_s, u32 *jobs, size_t room);

#endif
