/* SPDX-License-Identifier: MIT */
/*
 * A process as the NVIDIA back end sees it before it acts: whether it can be controlled from
 * outside and, if not, why; copies of its descriptors of the control device.
 */
#ifndef GP_GPU_NVRM_TARGET_H
#define GP_GPU_NVRM_TARGET_H

#include "gpu/nvrm/objects.h"
#include "proto/message.h"

/*
 * 0, or -errno and why: -ENODEV it does not use the driver, -EOPNOTSUPP it must not be controlled
 * this way (driver of an unknown branch, MPS, descriptors of another process), -EPERM no right to
 * copy its descriptors, -ESRCH it is gone. Changes nothing.
 */
int gp_nvrm_target_check(const struct gp_nvrm_port *port, int pidfd, u32 pid,
			 struct gp_proto_message *why);

/* Copies the descriptors of the control device whose numbers are not in `files` yet, except those
 * shared with an ancestor of the process: *owner is that ancestor. Returns how many are new, or
 * -errno. */
int gp_nvrm_target_files(const struct gp_nvrm_port *port, int pidfd, u32 pid,
			 struct gp_nvrm_file *files, u32 *count, u32 *owner);

#endif
