/* SPDX-License-Identifier: MIT */
/*
 * NVIDIA channels that stay stopped when a holder and its lifeline are killed at once: the driver
 * ties them to their process, not to the one that stopped them. Whether a channel is stopped cannot
 * be read, so all channels of a process are started. This is harmless, unless another holder keeps
 * them suspended: release that one first.
 */
#ifndef GP_INSPECT_STRANDED_H
#define GP_INSPECT_STRANDED_H

#include "base/diag.h"
#include "base/file.h"
#include "base/types.h"

/* Starts the channels of one process, or with pid 0 of every process of this user. Returns the
 * number of processes, or the first error, with a message, after all were tried. */
int gp_inspect_stranded_release(const struct gp_root *root, u32 pid, struct gp_diag *diag);

#endif
