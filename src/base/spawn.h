/* SPDX-License-Identifier: MIT */
/*
 * Processes that outlive or watch the one that started them: detaching, and a guardian's set-up.
 * All of it may be called between fork() and exec(), or in a child of a process with threads:
 * system calls only, no allocation, no locks.
 */
#ifndef GP_BASE_SPAWN_H
#define GP_BASE_SPAWN_H

#include <signal.h>
#include <sys/types.h>

#include "base/types.h"

/* Runs `run` in a new session and process that is not a child of this one, so that it is never
 * met in wait() and leaves no zombie; it ends with status 0 when `run` returns. 0, or -errno. */
int gp_spawn_detached(void (*run)(void *data), void *data);

/* This process goes on in the background, in its own session; the caller's process ends with 0. */
int gp_spawn_background(void);

/* In a child that undoes what its parent leaves behind: its own session and name (`name`),
 * every signal blocked that can be, and no descriptor but the `count` in `keep`. */
void gp_spawn_guard(const char *name, const int *keep, size_t count);

/* Every signal has its default action, and none is blocked. */
void gp_spawn_reset_signals(void);

/* Standard input, output and error become /dev/null. */
int gp_spawn_silence(void);

/* Closes every descriptor from `from` on but the `count` (at most 4) in `keep`. */
void gp_spawn_close_from(int from, const int *keep, size_t count);

/* Whether a signal that this process took must be sent to its child as well. What a key of a
 * terminal sends reaches the whole process group; a hangup reaches only the leader of the session.
 */
bool gp_spawn_passes_on(const siginfo_t *info);

/* Waits for the child's end: its status as waitpid() has it, or -errno. */
int gp_spawn_wait(pid_t child);

#endif
