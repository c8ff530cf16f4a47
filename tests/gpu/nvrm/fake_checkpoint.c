// SPDX-License-Identifier: MIT
/*
 * The checkpoint functions of libcuda, and as much of NVML as gpreempt asks: states of processes in
 * the fake's shared memory. The helper that calls them can be stopped or failed at each step. A
 * lock needs channels that run, because work that was submitted must end.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake.h"

enum { NOT_INITIALIZED = 3, ILLEGAL_STATE = 401, NOT_READY = 600, UNKNOWN = 999 };

#define FUNCTION(symbol, arguments) \
	int symbol arguments;       \
	int symbol arguments

static struct fake fake;

static struct fake_swapped *process_of(int pid)
{
	if (!fake.rm && fake_join(&fake, getenv("GPREEMPT_FAKE_NVIDIA")))
		abort();
	for (u32 i = 0; i < FAKE_SWAPPED; i++) {
		u32 none = 0;
		struct fake_swapped *found = &fake.rm->swapped[i];

		if (atomic_load(&found->pid) == (u32)pid ||
		    atomic_compare_exchange_strong(&found->pid, &none, (u32)pid))
			return found;
	}
	abort();
}

/* Before the step it waits to be killed, or fails; after it, it waits. */
static int at_step(u32 step, bool before)
{
	u32 fault = atomic_load(&fake.rm->swap_fault);

	if (fault == step * 10 + (before ? FAKE_SWAP_BEFORE : FAKE_SWAP_AFTER)) {
		atomic_store(&fake.rm->swap_helper, (u32)getpid());
		raise(SIGSTOP);
	}
	return fault == step * 10 + (before ? FAKE_SWAP_FAILS : FAKE_SWAP_FAILS_LATE) ? UNKNOWN : 0;
}

static int change(int pid, u32 step, u32 from, u32 to)
{
	struct fake_swapped *process = process_of(pid);
	int error = at_step(step, true);

	if (error)
		return error;
	if (atomic_load(&process->state) != from)
		return ILLEGAL_STATE;
	atomic_store(&process->state, to);
	atomic_fetch_add(&process->changes, 1);
	return at_step(step, false);
}

FUNCTION(cuCheckpointProcessGetState, (int pid, int *state))
{
	struct fake_swapped *process = process_of(pid);
	u32 blind = atomic_load(&fake.rm->blind);

	if (blind && atomic_load(&process->changes) % 2 &&
	    atomic_compare_exchange_strong(&fake.rm->blind, &blind, blind - 1))
		return UNKNOWN;
	*state = (int)atomic_load(&process->state);
	return 0;
}

FUNCTION(cuCheckpointProcessLock, (int pid, const u32 *arguments))
{
	u32 left_ms = arguments[0];

	(void)process_of(pid);
	/* Stopped work does not end until it runs; endless work never does, and is not waited for.
	 */
	while (fake_channels(&fake).compute_stopped && left_ms) {
		usleep(1000);
		left_ms--;
	}
	if (fake_channels(&fake).compute_stopped || atomic_load(&fake.rm->endless))
		return arguments[0] ? NOT_READY : UNKNOWN;
	return change(pid, FAKE_STEP_LOCK, 0, 1);
}

FUNCTION(cuCheckpointProcessCheckpoint, (int pid, const void *arguments))
{
	(void)arguments;
	return change(pid, FAKE_STEP_CHECKPOINT, 1, 2);
}

FUNCTION(cuCheckpointProcessRestore, (int pid, const void *arguments))
{
	(void)arguments;
	return change(pid, FAKE_STEP_RESTORE, 2, 1);
}

FUNCTION(cuCheckpointProcessUnlock, (int pid, const void *arguments))
{
	(void)arguments;
	return change(pid, FAKE_STEP_UNLOCK, 1, 0);
}
