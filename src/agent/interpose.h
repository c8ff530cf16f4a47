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

/* The function of this name behind ours. */
void *gp_agent_behind(const char *name, void *ours);

/* load.c: registers a new agent for fork and exit. */
void gp_agent_prepare(struct gp_agent *agent);

/* patch.c: makes the runtime call our ioctl() where it is not in front of it already. */
void gp_agent_patch_runtime(void);

/* cuda.c: a request begins or ends. Any thread. */
void gp_agent_ahead(bool begin);
/* The same for a thread of our own: the GPU is switched to this context for at most `ns`. False:
 * it is not, and there is nothing to end. */
bool gp_agent_ahead_begin(void *context, u64 ns);
/* Makes what that needs in a context: takes up to 20 ms, in which CUDA may hold up the program. */
void gp_agent_ahead_prepare(void *context);
void gp_agent_ahead_end(void);
/* The kernel that waits on the GPU ends at once; gp_agent_ahead_end() is due all the same. Any
 * thread, takes no lock. */
void gp_agent_ahead_release(void);
/* The calling thread's, or NULL. */
void *gp_agent_ahead_context(void);
void gp_agent_ahead_forked(void);

/* Set when the library for --ahead auto is loaded and was asked for; NULL otherwise. */
struct gp_agent_hooks {
	void (*closed)(int fd); /* the descriptor is closed, or becomes another one */
	void (*describe)(struct gp_proto_msg_ahead *out); /* for GP_MSG_AGENT_AHEAD */
	/* As dlsym(), without the ways in front of the functions of CUDA. */
	void *(*symbol)(void *library, const char *name);
};
extern struct gp_agent_hooks gp_agent_hooks;

/* For libgpreempt, which finds it with dlsym(): a request began or ended. Returns 0. */
int gpreempt_agent_request(int begin, uint64_t deadline_us);

#endif
