/* SPDX-License-Identifier: MIT */
/* The one agent of a process, for the files that meet the outside: libc, the loader, the runtime.
 */
#ifndef GP_AGENT_INTERPOSE_H
#define GP_AGENT_INTERPOSE_H

#include "agent/agent.h"

#define GP_AGENT_EXPORT __attribute__((visibility("default")))

/* Made at the first call. */
struct gp_agent *gp_agent_self(void);
/* NULL when there was none yet. */
struct gp_agent *gp_agent_if_any(void);

/* Our ioctl(), under another name. */
int gp_agent_ioctl(int fd, unsigned long request, ...);

/* load.c: registers a new agent for fork and exit. */
void gp_agent_prepare(struct gp_agent *agent);

/* patch.c: makes the runtime call our ioctl() where it is not in front of it already. */
void gp_agent_patch_runtime(void);

/* cuda.c: a request begins or ends. Any thread. */
void gp_agent_ahead(bool begin);

/* For libgpreempt, which finds it with dlsym(): a request began or ended. Returns 0. */
int gpreempt_agent_request(int begin, uint64_t deadline_us);

#endif
