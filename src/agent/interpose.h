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

/* load.c: fork and exit are told of a new agent. */
void gp_agent_prepare(struct gp_agent *agent);

/* For libgpreempt, which finds it with dlsym(): a request began or ended. Returns 0. */
int gpreempt_agent_request(int begin, uint64_t deadline_us);

#endif
