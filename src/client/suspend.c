// SPDX-License-Identifier: MIT
/* Suspending and resuming, at once or asynchronously, and what it took. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core.h"
#include "client/client.h"

/* A request with at most this many ids needs no memory. */
#define FEW 16

union request {
	struct gp_proto_msg_suspend body;
	u32 room[sizeof(struct gp_proto_msg_suspend) / sizeof(u32) + FEW];
};

static int read_options(struct gpreempt *context, const struct gpreempt_suspend_options *given,
			struct gp_proto_msg_suspend *body)
{
	struct gpreempt_suspend_options options = {0};

	if (given && given->size < sizeof(given->size))
		return gp_client_fail(context, -EINVAL,
				      "the size field of the options struct is not set");
	if (given)
		memcpy(&options, given,
		       given->size < sizeof(options) ? given->size : sizeof(options));
	*body = (struct gp_proto_msg_suspend){
		.lease_ms = options.lease_ms ? options.lease_ms : GPREEMPT_LEASE_MS,
		.limit_ms = options.limit_ms ? options.limit_ms : GPREEMPT_LIMIT_MS,
		.timeout_ms = options.timeout_ms ? options.timeout_ms : GP_LIB_CALL_MS,
		.grace = (u16)options.grace,
		.flags = (u16)options.flags,
	};
	if (body->lease_ms < GPREEMPT_LEASE_MIN_MS || body->lease_ms > GPREEMPT_LIMIT_MAX_MS)
		return gp_client_fail(context, -EINVAL, "a lease must be %d to %d ms",
				      GPREEMPT_LEASE_MIN_MS, GPREEMPT_LIMIT_MAX_MS);
	if (body->limit_ms > GPREEMPT_LIMIT_MAX_MS)
		return gp_client_fail(context, -EINVAL, "a suspension can last at most %d ms",
				      GPREEMPT_LIMIT_MAX_MS);
	if (body->timeout_ms > GPREEMPT_LIMIT_MAX_MS)
		return gp_client_fail(context, -EINVAL, "a timeout must be at most %d ms",
				      GPREEMPT_LIMIT_MAX_MS);
	if (options.grace > 255)
		return gp_client_fail(context, -EINVAL,
				      "a grace period must be 1 to 255 units of 1024 GPU clocks, "
				      "or 0 for the driver's default");
	if (options.flags & ~(u32)(GPREEMPT_SUSPEND_COPIES | GPREEMPT_SUSPEND_OFF))
		return gp_client_fail(
			context, -EINVAL,
			"unknown suspend flag; gpreempt.h lists GPREEMPT_SUSPEND_ flags, "
			"and the library may be older than the header");
	return 0;
}

int gp_client_measure(struct gpreempt_target *target, const struct gp_wire_message *message,
		      u64 sent_ns)
{
	struct gp_proto_msg_done done;

	if (!gp_wire_fits(message, sizeof(done), 0, 0))
		return -EPROTO;
	memcpy(&done, message->body, sizeof(done));
	target->measured = true;
	target->latency = (struct gpreempt_latency){
		.total_ns = gp_monotonic_ns() - sent_ns,
		.issue_ns = done.issue_ns,
		.driver_ns = done.driver_ns,
		.skew_ns = done.skew_ns,
		.queues = done.queues,
		.processes = done.processes,
	};
	return 0;
}

/* With the call lock held. `body` has room for the ids, which follow it. */
static int ask(struct gpreempt_target *target, u16 type, struct gp_proto_msg_suspend *body,
	       u64 sent_ns)
{
	struct gpreempt *context = target->context;
	size_t size = sizeof(*body) + body->count * sizeof(body->ids[0]);
	u32 timeout_ms = body->timeout_ms + context->extra_ms;

	body->sent_ns = sent_ns;
	int status = gp_client_call(context, target, type, body, size, (int)timeout_ms);
	if (status >= 0 && gp_client_measure(target, &context->message, sent_ns) < 0)
		status = gp_client_malformed(context);
	/* Letting go of some queues may leave others. */
	if (status >= 0 && (type == GP_MSG_SUSPEND || !body->count))
		target->held = type == GP_MSG_SUSPEND;
	return status;
}

/* ids NULL: all queues. */
static int act(struct gpreempt_target *target, u16 type, const u32 *ids, size_t count,
	       const struct gpreempt_suspend_options *options)
{
	struct gpreempt *context = target->context;
	u64 sent_ns = gp_monotonic_ns();
	union request few, *request = &few;

	if (ids && (count < 1 || count > GPREEMPT_QUEUES_MAX))
		return gp_client_fail(context, -EINVAL, "the number of queues must be 1 to %d",
				      GPREEMPT_QUEUES_MAX);
	if (count > FEW)
		request = malloc(sizeof(*request) + count * sizeof(*ids));
	if (!request)
		return gp_client_fail(context, -ENOMEM, "out of memory");
	int status = read_options(context, options, &request->body);
	request->body.count = (u32)count;
	if (count)
		memcpy(request->body.ids, ids, count * sizeof(*ids));
	if (!status)
		status = gp_client_enter(context);
	if (!status) {
		/* What a holder that is gone held runs already; no new one is started for it. */
		if (type == GP_MSG_SUSPEND || context->socket >= 0)
			status = ask(target, type, &request->body, sent_ns);
		gp_client_leave(context);
	}
	if (request != &few)
		free(request);
	return status;
}

int gpreempt_target_suspend(struct gpreempt_target *target,
			    const struct gpreempt_suspend_options *options)
{
	return act(target, GP_MSG_SUSPEND, NULL, 0, options);
}

int gpreempt_target_resume(struct gpreempt_target *target)
{
	return act(target, GP_MSG_RESUME, NULL, 0, NULL);
}

int gpreempt_target_suspend_queues(struct gpreempt_target *target, const uint32_t *kfd_ids,
				   size_t count, const struct gpreempt_suspend_options *options)
{
	if (!kfd_ids)
		return gp_client_fail(target->context, -EINVAL,
				      "the list of queue ids must not be NULL");
	return act(target, GP_MSG_SUSPEND, kfd_ids, count, options);
}

int gpreempt_target_resume_queues(struct gpreempt_target *target, const uint32_t *kfd_ids,
				  size_t count)
{
	if (!kfd_ids)
		return gp_client_fail(target->context, -EINVAL,
				      "the list of queue ids must not be NULL");
	return act(target, GP_MSG_RESUME, kfd_ids, count, NULL);
}

int gpreempt_target_renew(struct gpreempt_target *target)
{
	struct gpreempt *context = target->context;
	struct gp_proto_msg_target body = {0};
	int status = gp_client_enter(context);

	if (status)
		return status;
	if (!target->held)
		status = gp_client_fail(context, -ENOLCK,
					"there is no suspension to renew: it was not requested, or "
					"its lease has ended");
	else
		status = gp_client_call(context, target, GP_MSG_RENEW, &body, sizeof(body),
					GP_LIB_CALL_MS);
	if (status == -ENOLCK)
		target->held = false;
	gp_client_leave(context);
	return status < 0 ? status : 0;
}

int gpreempt_target_latency(struct gpreempt_target *target, struct gpreempt_latency *latency)
{
	struct gpreempt *context = target->context;
	size_t size = latency->size;

	if (size < sizeof(latency->size))
		return gp_client_fail(context, -EINVAL,
				      "the size field of struct gpreempt_latency is not set");
	int status = gp_client_enter(context);
	if (status)
		return status;
	if (target->measured) {
		struct gpreempt_latency full = target->latency;

		full.size = size;
		memcpy(latency, &full, size < sizeof(full) ? size : sizeof(full));
	} else {
		status = gp_client_fail(context, -ENODATA,
					"nothing has been suspended or resumed on this target yet");
	}
	gp_client_leave(context);
	return status;
}

/* ---- asynchronous ---- */

static int act_async(struct gpreempt_target *target, u16 type,
		     const struct gpreempt_suspend_options *options)
{
	struct gp_proto_msg_suspend body;
	int status = read_options(target->context, options, &body);

	if (!status)
		status = gp_client_enter(target->context);
	if (status)
		return status;
	body.sent_ns = gp_monotonic_ns();
	status = gp_client_begin(target, type, &body, sizeof(body), body.timeout_ms);
	gp_client_leave(target->context);
	return status;
}

int gpreempt_target_suspend_async(struct gpreempt_target *target,
				  const struct gpreempt_suspend_options *options)
{
	return act_async(target, GP_MSG_SUSPEND, options);
}

int gpreempt_target_resume_async(struct gpreempt_target *target)
{
	return act_async(target, GP_MSG_RESUME, NULL);
}
