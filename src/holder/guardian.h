/* SPDX-License-Identifier: MIT */
/*
 * A child that kills (SIGKILL) this process when the time in *guard_ns has passed and this process
 * neither acts nor is only waiting for a CPU, so that the driver resumes what it held. *guard_ns is
 * in shared memory; GP_NEVER when nothing is held.
 */
#ifndef GP_HOLDER_GUARDIAN_H
#define GP_HOLDER_GUARDIAN_H

#include <sys/types.h>

#include "base/core.h"

/* Until it has run it has this process's lock and socket. wait: return only then, so that they end
 * with this process. */
int gp_holder_guardian_start(u64 *guard_ns, pid_t *pid, bool wait);
/* Shared memory for it. */
u64 *gp_holder_guardian_clock(void);

#endif
