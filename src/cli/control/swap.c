// SPDX-License-Identifier: MIT
#include "cli/control/swap.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/i18n.h"
#include "base/units.h"
#include "gpreempt.h"

enum { LOCK_MS = 5000 }; /* for work that was submitted to end */

static const struct gp_root live = {.dir = ""};

/* ---- whether ---- */

static int check_memory(u32 pid, u64 bytes, u64 most, struct gp_diag *diag)
{
	struct gp_inspect_swap_host host;
	struct gp_proto_swapped_list list;
	u64 need = gp_inspect_swap_need(bytes), swapped = 0, room;
	int error = gp_inspect_swap_host(&live, pid, &host);

	if (error)
		return gp_fail(diag, error, "cannot determine the free host memory: %s",
			       strerror(-error));
	if (gp_proto_swapped_read(&list) == 0) {
		for (size_t i = 0; i < list.count; i++)
			swapped += list.items[i].bytes;
		gp_proto_swapped_free(&list);
	}
	room = GP_MIN(host.available, host.limit);
	if (need > room)
		return gp_fail(diag, -ENOMEM,
			       "cannot swap out process %u: it needs %s of host memory while it is "
			       "out, but only %s are available",
			       pid, gp_size_text(need).text, gp_size_text(room).text);
	if (swapped + bytes > (most ? most : host.total / 2))
		return gp_fail(diag, -ENOMEM,
			       "cannot swap out process %u: with its %s, processes that are "
			       "swapped out would take more than %s of host memory",
			       pid, gp_size_text(bytes).text,
			       gp_size_text(most ? most : host.total / 2).text);
	return 0;
}

static int check_state(u32 pid, struct gp_nvrm_swap *seen, struct gp_diag *diag)
{
	int error = gp_nvrm_swap_look(pid, seen);

	if (error == -ENOSYS)
		return gp_fail(diag, error,
			       "cannot swap out process %u: libcuda cannot be loaded or lacks the "
			       "checkpoint functions (driver 570 or later has them)",
			       pid);
	if (error)
		return gp_fail(diag, error,
			       "cannot swap out process %u: CUDA does not report its state "
			       "(error %u)",
			       pid, seen->cuda);
	if (seen->state != GP_SWAP_RUNNING)
		return gp_fail(diag, -EBUSY,
			       "cannot swap out process %u: it is locked or swapped out already; "
			       "'gpreempt release %u' brings it back",
			       pid, pid);
	if (!(seen->valid & GP_SWAP_BYTES))
		return gp_fail(diag, -ENODATA,
			       "cannot swap out process %u: NVML does not report how much GPU "
			       "memory it has",
			       pid);
	return 0;
}

int gp_cli_swap_check(u32 pid, u32 mechanism, u64 most, struct gp_diag *diag)
{
	struct gp_nvrm_swap seen;
	int error;

	if (mechanism != GPREEMPT_NV_SUSPEND)
		return gp_fail(diag, -EOPNOTSUPP,
			       "--swap needs an NVIDIA GPU: the driver of process %u has no call "
			       "that moves its GPU memory (mechanism %s)",
			       pid,
			       gpreempt_mechanism_name(mechanism)
				       ? gpreempt_mechanism_name(mechanism)
				       : "?");
	switch (gp_nvrm_swap_refusal(&live, pid)) {
	case GP_SWAP_MANAGED:
		return gp_fail(diag, -EOPNOTSUPP,
			       "cannot swap out process %u: it uses managed memory (UVM), which "
			       "CUDA does not checkpoint",
			       pid);
	case GP_SWAP_COLLECTIVE:
		return gp_fail(diag, -EOPNOTSUPP,
			       "cannot swap out process %u: it is one of several ranks that use "
			       "NCCL, which would wait for each other",
			       pid);
	default:
		break;
	}
	error = check_state(pid, &seen, diag);
	return error ? error : check_memory(pid, seen.bytes, most, diag);
}

/* ---- out and back ---- */

static const char *step_name(u32 step)
{
	static const char *const names[] = {"load",       "state",   "lock",
					    "checkpoint", "restore", "unlock"};

	return step < GP_ARRAY_SIZE(names) ? names[step] : "?";
}

/* What it is now, where it is not what it should be. */
static void say_state(u32 pid, const struct gp_nvrm_swap *done, struct gp_diag *diag)
{
	if (!(done->valid & GP_SWAP_STATE) || done->state == GP_SWAP_LOCKED ||
	    done->state == GP_SWAP_CHECKPOINTED)
		gp_diag(diag, GP_WARNING,
			"process %u may be locked or swapped out; 'gpreempt release %u' brings it "
			"back",
			pid, pid);
	else if (done->state == GP_SWAP_FAILED)
		gp_diag(diag, GP_ERROR, "CUDA reports that the state of process %u is lost", pid);
}

static int report(u32 pid, int error, const struct gp_nvrm_swap *done, struct gp_diag *diag)
{
	if (error == -ETIMEDOUT)
		gp_fail(diag, error,
			"process %u is not swapped out: its work did not end within %u s (an "
			"endless kernel?); try again later, or suspend it without --swap",
			pid, LOCK_MS / 1000);
	else if (error == -ETIME)
		gp_fail(diag, error,
			"cannot swap process %u: the CUDA checkpoint helper does not respond", pid);
	else if (error == -ECHILD)
		gp_fail(diag, error,
			"cannot swap process %u: the CUDA checkpoint helper ended without an "
			"answer; dmesg may say why",
			pid);
	else
		gp_fail(diag, error, "process %u: CUDA error %u at step '%s'", pid, done->cuda,
			step_name(done->step));
	say_state(pid, done, diag);
	return error;
}

int gp_cli_swap_out(u32 pid, u64 most, struct gp_nvrm_swap *done, struct gp_diag *diag)
{
	struct gp_proto_swapped record = {.pid = pid,
					  .keeper = (u32)getpid(),
					  .start = gp_proto_swapped_start(pid),
					  .since_ns = gp_monotonic_ns()};
	struct gp_nvrm_swap seen;
	int error = check_state(pid, &seen, diag);

	if (!error)
		error = check_memory(pid, seen.bytes, most, diag);
	if (error)
		return error;
	record.bytes = seen.bytes;
	error = gp_proto_swapped_write(&record);
	if (error)
		return gp_fail(diag, error, "cannot record that process %u is swapped out: %s", pid,
			       strerror(-error));
	error = gp_nvrm_swap_out(pid, LOCK_MS, done);
	done->bytes = seen.bytes;
	if (!error) {
		record.out = true;
		record.since_ns = gp_monotonic_ns();
		gp_proto_swapped_write(&record);
		return 0;
	}
	if ((done->valid & GP_SWAP_STATE) && done->state == GP_SWAP_RUNNING)
		gp_proto_swapped_remove(pid);
	return report(pid, error, done, diag);
}

int gp_cli_swap_back(u32 pid, struct gp_nvrm_swap *done, struct gp_diag *diag)
{
	struct gp_nvrm_swap seen = {0};
	struct gp_proto_swapped record;
	int error;

	/* A restore that does not fit would fail half-way. */
	if (gp_proto_swapped_find(pid, &record) == 0 && record.out &&
	    gp_nvrm_swap_look(pid, &seen) == 0 && seen.state == GP_SWAP_CHECKPOINTED &&
	    (seen.valid & GP_SWAP_FREE) && seen.free < record.bytes)
		return gp_fail(diag, -ENOMEM,
			       "cannot bring process %u back: it needs %s on the GPU, and %s are "
			       "free; end or suspend other programs, then use 'gpreempt release "
			       "%u'",
			       pid, gp_size_text(record.bytes).text, gp_size_text(seen.free).text,
			       pid);
	error = gp_nvrm_swap_back(pid, done);
	if (!error || !gp_proto_swapped_start(pid))
		gp_proto_swapped_remove(pid);
	return error ? report(pid, error, done, diag) : 0;
}

int gp_cli_swap_release(u32 pid, struct gp_diag *diag)
{
	struct gp_proto_swapped_list list = {0};
	struct gp_nvrm_swap done;
	int count = 0, first = 0;

	/* A record may be missing; its driver knows better. */
	if (pid && gp_proto_swapped_find(pid, &(struct gp_proto_swapped){0}) &&
	    (!gp_root_exists(&live, "/proc/driver/nvidia/version") ||
	     gp_nvrm_swap_look(pid, &done) || done.state == GP_SWAP_RUNNING))
		return 0;
	if (pid) {
		first = gp_cli_swap_back(pid, &done, diag);
		return first ? first : 1;
	}
	first = gp_proto_swapped_read(&list);
	for (size_t i = 0; i < list.count; i++) {
		int error = gp_cli_swap_back(list.items[i].pid, &done, diag);

		count += !error;
		first = first ? first : error;
	}
	gp_proto_swapped_free(&list);
	return first ? first : count;
}
