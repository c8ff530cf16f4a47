/* SPDX-License-Identifier: MIT */
/*
 * What a holder and its lifeline, both killed at once, leave behind: NVIDIA channels that nobody
 * will start again, because the driver ties them to their process and not to whoever stopped them.
 * Whether a channel is stopped cannot be asked, so all of a process's are started; that harms
 * nobody, unless somebody holds them, who is to be asked to let go first.
 */
#ifndef GP_INSPECT_STRANDED_H
#define GP_INSPECT_STRANDED_H

#include "base/diag.h"
#include "base/file.h"
#include "base/types.h"

/* Starts the channels of one process, or with pid 0 of every process of this user. Returns how many
 * processes that were, or the first -errno, said, after all were tried. */
int gp_inspect_stranded_release(const struct gp_root *root, u32 pid, struct gp_diag *diag);

#endif
