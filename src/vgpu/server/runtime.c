// SPDX-License-Identifier: MIT
/* RUNTIME_ENABLE: the target's half of debugging. Also the wait for the debugger's answer. */
#include <errno.h>

#include "vgpu/server/state.h"

static void answered(struct gp_vgpu_server *server, struct gp_vgpu_request *request);

/* The driver's down_interruptible() of runtime_enable_sema, with the mutex given up. */
static void wait_for_debugger(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_vgpu_process *process = request->owner;

	if (process->runtime_posts) {
		process->runtime_posts--;
		request->interrupted = false;
		answered(server, request);
		return;
	}
	if (request->interrupted) {
		answered(server, request);
		return;
	}
	request->resume = answered;
	gp_vgpu_request_park(request);
}

/* Nothing else wakes it: not DISABLE, not the debugger's death. */
void gp_vgpu_runtime_post(struct gp_vgpu_server *server, struct gp_vgpu_process *target)
{
	for (struct gp_vgpu_request *r = target->parked; r; r = r->next)
		if (r->header.ioctl_nr == _IOC_NR(GP_KFD_IOC_RUNTIME_ENABLE)) {
			gp_vgpu_request_unpark(server, r);
			return;
		}
	target->runtime_posts++;
}

static bool is_enable(const struct gp_vgpu_request *request)
{
	return GP_VGPU_ARGS(request, gp_kfd_runtime_enable_args)->mode_mask & GP_KFD_RUNTIME_ENABLE;
}

static void done(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	(void)server;
	request->result = 0;
}

static void disable_finish(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	request->owner->ttmp_setup = 0;
	request->resume = done;
	gp_vgpu_debug_refresh(server, request);
	if (!request->waiting)
		done(server, request);
}

static void answered(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_vgpu_process *process = request->owner;

	process->runtime_retry = request->interrupted;
	if (request->interrupted)
		request->result = -EINTR;
	else if (is_enable(request))
		request->result = 0;
	else
		disable_finish(server, request);
}

static void notify_debugger(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	gp_vgpu_raise(server, request->owner, NULL, GP_KFD_EC_PROCESS_RUNTIME);
	wait_for_debugger(server, request);
}

/*
 * --runtime-enable called it before the program did, without a debugger's address. A runtime that
 * calls it itself takes over: it would not start with EBUSY.
 */
static bool takes_over(const struct gp_vgpu_server *server, const struct gp_vgpu_process *process,
		       const struct gp_kfd_runtime_enable_args *args)
{
	return server->options.runtime_enable && process->runtime_state == GP_KFD_RUNTIME_ENABLED &&
	       !process->r_debug && args->r_debug;
}

static int enable(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	const struct gp_kfd_runtime_enable_args *args =
		GP_VGPU_ARGS(request, gp_kfd_runtime_enable_args);
	struct gp_vgpu_process *process = request->owner;

	if (process->runtime_retry) {
		/* A debugger that left meanwhile is not waited for; the flag stays, as there. */
		if (process->debug.enabled)
			wait_for_debugger(server, request);
		return (int)request->result;
	}
	if (process->runtime_state != GP_KFD_RUNTIME_DISABLED && !takes_over(server, process, args))
		return -EBUSY;
	if (process->queue_count)
		return -EEXIST;
	process->runtime_state = GP_KFD_RUNTIME_ENABLED;
	process->r_debug = args->r_debug;
	process->ttmp_setup = !!(args->mode_mask & GP_KFD_RUNTIME_TTMP_SAVE);
	if (!process->debug.enabled)
		return 0;
	request->resume = notify_debugger;
	gp_vgpu_debug_refresh(server, request); /* the deferred activation */
	if (!request->waiting)
		notify_debugger(server, request);
	return (int)request->result;
}

static int disable(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	struct gp_vgpu_process *process = request->owner;
	bool was_enabled = process->runtime_state == GP_KFD_RUNTIME_ENABLED;

	process->runtime_state = GP_KFD_RUNTIME_DISABLED;
	process->r_debug = 0;
	if (!process->debug.enabled) {
		disable_finish(server, request);
	} else if (process->runtime_retry) {
		wait_for_debugger(server, request);
	} else {
		request->resume = notify_debugger;
		if (was_enabled)
			gp_vgpu_debug_deactivate(server, process, request);
		if (!request->waiting)
			notify_debugger(server, request);
	}
	return (int)request->result;
}

int gp_vgpu_serve_runtime_enable(struct gp_vgpu_server *server, struct gp_vgpu_request *request)
{
	return is_enable(request) ? enable(server, request) : disable(server, request);
}
