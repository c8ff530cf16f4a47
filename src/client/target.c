// SPDX-License-Identifier: MIT
/* Targets: opening, closing, what they are, their queues, priority and share. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/client.h"

#define SHARE_ALL 1000

/* Takes what the caller's struct has of ours: it may be of an older or a newer library. */
static int read_options(struct gpreempt *context, const struct gpreempt_target_options *given,
			struct gp_proto_msg_open *ask)
{
	struct gpreempt_target_options options = {0};

	if (given && given->size < sizeof(given->size))
		return gp_client_fail(context, -EINVAL,
				      "the size field of the options struct is not set");
	if (given)
		memcpy(&options, given,
		       given->size < sizeof(options) ? given->size : sizeof(options));
	if (!gpreempt_mechanism_name(options.mechanism))
		return gp_client_fail(
			context, -EINVAL,
			"unknown mechanism %d; enum gpreempt_mechanism in gpreempt.h lists "
			"all",
			(int)options.mechanism);
	ask->mechanism = options.mechanism;
	ask->gpu_id = options.gpu_id;
	return 0;
}

static void unlink_target(struct gpreempt_target *target)
{
	for (struct gpreempt_target **at = &target->context->targets; *at; at = &(*at)->next) {
		if (*at == target) {
			*at = target->next;
			return;
		}
	}
}

static void free_target(struct gpreempt_target *target)
{
	if (target->pidfd >= 0)
		close(target->pidfd);
	free(target);
}

static int open_target(struct gpreempt_target *target, struct gpreempt_target **out)
{
	struct gpreempt *context = target->context;
	int error = gp_client_enter(context);

	if (!error) {
		for (int attempt = 0; attempt < 2; attempt++) {
			bool fresh = context->socket < 0;

			error = gp_client_greet(context, false);
			if (!error)
				error = gp_client_open_target(context, target);
			/* A holder that ended while nothing was asked of it is replaced. */
			if (error != -ECONNRESET || fresh)
				break;
		}
		if (!error) {
			target->next = context->targets;
			context->targets = target;
		}
		gp_client_leave(context);
	}
	if (error)
		free_target(target);
	else
		*out = target;
	return error;
}

static int new_target(struct gpreempt *context, const struct gpreempt_target_options *options,
		      struct gpreempt_target **out)
{
	struct gpreempt_target *target = calloc(1, sizeof(*target));

	if (!target)
		return gp_client_fail(context, -ENOMEM, "out of memory");
	target->context = context;
	target->pidfd = -1;
	int error = read_options(context, options, &target->ask);
	if (error)
		free(target);
	else
		*out = target;
	return error;
}

/* A target that is not open yet. */
static int new_process(struct gpreempt *context, int pid,
		       const struct gpreempt_target_options *options, struct gpreempt_target **out)
{
	struct gpreempt_target *target = NULL;

	if (pid <= 0)
		return gp_client_fail(
			context, -EINVAL,
			"invalid pid %d; 'gpreempt ps' lists the processes that use a GPU", pid);
	int error = new_target(context, options, &target);
	if (error)
		return error;
	target->pid = pid;
	/* From here on the number is not used again: it may come to mean another process. */
	target->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (target->pidfd < 0) {
		error = -errno;
		free_target(target);
		/* A thread that leads no process: EINVAL, later kernels ENOENT (6.18 does). */
		if (error == -EINVAL || error == -ENOENT)
			error = -ESRCH;
		if (error == -ESRCH)
			return gp_client_fail(
				context, error,
				"process %d does not exist (it may have exited); 'gpreempt ps' "
				"lists the processes that use a GPU",
				pid);
		return gp_client_fail(context, error, "cannot open a pidfd for process %d: %s", pid,
				      strerror(-error));
	}
	*out = target;
	return 0;
}

int gpreempt_target_open(struct gpreempt *context, int pid,
			 const struct gpreempt_target_options *options,
			 struct gpreempt_target **out)
{
	struct gpreempt_target *target = NULL;
	int error = new_process(context, pid, options, &target);

	*out = NULL;
	return error ? error : open_target(target, out);
}

int gpreempt_target_open_async(struct gpreempt *context, int pid,
			       const struct gpreempt_target_options *options,
			       struct gpreempt_target **out)
{
	struct gpreempt_target *target = NULL;
	int status = new_process(context, pid, options, &target);

	*out = NULL;
	if (status)
		return status;
	status = gp_client_enter(context);
	if (!status) {
		status = gp_client_begin_open(target);
		if (status > 0) {
			target->next = context->targets;
			context->targets = target;
		}
		gp_client_leave(context);
	}
	if (status > 0)
		*out = target;
	else
		free_target(target);
	return status;
}

int gpreempt_group_open(struct gpreempt *context, const char *name,
			const struct gpreempt_target_options *options, struct gpreempt_target **out)
{
	struct gpreempt_target *target = NULL;

	*out = NULL;
	if (!name || !*name || strlen(name) >= GP_PROTO_NAME)
		return gp_client_fail(context, -EINVAL, "a group name must be 1 to %d bytes long",
				      GP_PROTO_NAME - 1);
	int error = new_target(context, options, &target);
	if (error)
		return error;
	memcpy(target->ask.group, name, strlen(name));
	return open_target(target, out);
}

void gpreempt_target_close(struct gpreempt_target *target)
{
	struct gpreempt *context;

	if (!target)
		return;
	context = target->context;
	/* In a child after fork() the connection is the parent's: nothing of it is touched. */
	if (gp_client_enter(context) == 0) {
		struct gp_proto_msg_target body = {0};

		if (context->socket >= 0 && target->generation == context->generation)
			(void)gp_client_call(context, target, GP_MSG_CLOSE, &body, sizeof(body),
					     GP_LIB_CALL_MS);
		gp_client_forget_target(context, target);
		unlink_target(target);
		gp_client_leave(context);
	} else {
		unlink_target(target);
	}
	free_target(target);
}

int gpreempt_target_set_priority(struct gpreempt_target *target, uint32_t priority)
{
	struct gp_proto_msg_value body = {.value = priority};

	if (priority > GPREEMPT_PRIORITY_MAX)
		return gp_client_fail(target->context, -EINVAL,
				      "invalid logical priority %u (must be 0 to %d)", priority,
				      GPREEMPT_PRIORITY_MAX);
	int status = gp_client_enter(target->context);
	if (status)
		return status;
	status = gp_client_call(target->context, target, GP_MSG_PRIORITY, &body, sizeof(body),
				GP_LIB_CALL_MS);
	gp_client_leave(target->context);
	return status < 0 ? status : 0;
}

static int check_share(const struct gpreempt_target *target, uint32_t thousandths)
{
	uint32_t size = thousandths & 0xffff, first = thousandths >> 16;

	if (size < 1 || first + size > SHARE_ALL)
		return gp_client_fail(
			target->context, -EINVAL,
			"invalid share of %u thousandths from %u on (must be at least "
			"1, and the sum at most 1000)",
			size, first);
	return 0;
}

/* With the call lock held. */
static void note_share(struct gpreempt_target *target, u32 thousandths)
{
	target->share = thousandths == SHARE_ALL ? 0 : thousandths;
}

int gpreempt_target_share(struct gpreempt_target *target, uint32_t thousandths)
{
	struct gp_proto_msg_value body = {.value = thousandths};
	int status = check_share(target, thousandths);

	if (!status)
		status = gp_client_enter(target->context);
	if (status)
		return status;
	note_share(target, 0);
	status = gp_client_call(target->context, target, GP_MSG_SHARE, &body, sizeof(body),
				GP_LIB_CALL_MS);
	if (status >= 0)
		note_share(target, thousandths);
	gp_client_leave(target->context);
	return status;
}

int gpreempt_target_share_async(struct gpreempt_target *target, uint32_t thousandths)
{
	struct gp_proto_msg_value body = {.value = thousandths};
	int status = check_share(target, thousandths);

	if (!status)
		status = gp_client_enter(target->context);
	if (status)
		return status;
	note_share(target, 0);
	status = gp_client_begin(target, GP_MSG_SHARE, &body, sizeof(body), GP_LIB_CALL_MS);
	if (status > 0)
		note_share(target, thousandths);
	gp_client_leave(target->context);
	return status;
}

static void fill_info(const struct gp_proto_msg_info *from, struct gpreempt_target_info *to)
{
	*to = (struct gpreempt_target_info){
		.mechanism = (enum gpreempt_mechanism)from->mechanism,
		.process_count = from->process_count,
		.priority = from->priority,
		.suspended = from->suspended,
		.mine = from->mine,
		.owner_count = from->owner_count,
		.owner_pid = from->owner_pid,
		.since_ns = from->since_ns,
		.copies = (from->flags & GP_SUSPEND_COPIES) != 0,
	};
	gp_proto_reasons_text(&from->why, to->why, sizeof(to->why));
}

int gpreempt_target_info(struct gpreempt_target *target, struct gpreempt_target_info *info)
{
	struct gpreempt *context = target->context;
	struct gpreempt_target_info full;
	struct gp_proto_msg_target body = {0};
	size_t size = info->size;

	if (size < sizeof(info->size))
		return gp_client_fail(context, -EINVAL,
				      "the size field of struct gpreempt_target_info is not set");
	int status = gp_client_enter(context);
	if (status)
		return status;
	status = gp_client_call(context, target, GP_MSG_INFO, &body, sizeof(body), GP_LIB_CALL_MS);
	if (status >= 0 && !gp_wire_fits(&context->message, sizeof(struct gp_proto_msg_info), 0, 0))
		status = gp_client_malformed(context);
	if (status >= 0) {
		fill_info((const void *)context->message.body, &full);
		full.size = size;
		memcpy(info, &full, size < sizeof(full) ? size : sizeof(full));
		status = 0;
	}
	gp_client_leave(context);
	return status;
}

static void fill_queue(const struct gp_proto_msg_queue *from, struct gpreempt_queue *to)
{
	*to = (struct gpreempt_queue){
		.pid = from->pid,
		.gpu_id = from->gpu_id,
		.valid = from->valid,
		.kfd_id = from->kfd_id,
		.hsa_id = from->hsa_id,
		.type = from->type,
		.state = from->state,
		.ring = from->ring,
		.ring_bytes = from->ring_bytes,
		.object = from->object,
		.read_index = from->read_index,
		.write_index = from->write_index,
		.hardware_priority = from->hardware_priority,
		.logical_priority = from->logical_priority,
		.busy = from->busy,
		.owner_pid = from->owner_pid,
		.since_ns = from->since_ns,
	};
}

/* One page of the list, from entry `first` on. Returns how many there are in all. */
static int read_queues(struct gpreempt_target *target, struct gpreempt_queue *queues, size_t room,
		       size_t first, size_t *got)
{
	struct gpreempt *context = target->context;
	const struct gp_proto_msg_queues *answer = (const void *)context->message.body;
	struct gp_proto_msg_queues_ask body = {.first = (u32)first};
	int total =
		gp_client_call(context, target, GP_MSG_QUEUES, &body, sizeof(body), GP_LIB_CALL_MS);

	if (total < 0)
		return total;
	if (context->message.header.size < sizeof(struct gp_proto_msg) + sizeof(*answer) ||
	    !gp_wire_fits(&context->message, sizeof(*answer), answer->count,
			  sizeof(answer->queues[0])))
		return gp_client_malformed(context);
	*got = answer->count;
	for (size_t i = 0; i < *got && first + i < room; i++)
		fill_queue(&answer->queues[i], &queues[first + i]);
	return total;
}

int gpreempt_target_queues(struct gpreempt_target *target, struct gpreempt_queue *queues,
			   size_t room)
{
	size_t first = 0, got = 0;
	int total = gp_client_enter(target->context);

	if (total)
		return total;
	/* The list may change between two pages; it only has to end. */
	do {
		total = read_queues(target, queues, room, first, &got);
		first += got;
	} while (total > 0 && got && first < (size_t)total && first < room);
	gp_client_leave(target->context);
	return total;
}
