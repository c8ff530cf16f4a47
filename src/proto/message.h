/* SPDX-License-Identifier: MIT */
/*
 * Messages of the holder, an agent, the daemon or a GPU back end to a person: a code and its
 * arguments travel; the program that shows them makes the sentence, in the reader's language, from
 * the one table in message.c. A code keeps its number for as long as
 * GP_PROTO_VERSION stays the same.
 */
#ifndef GP_PROTO_MESSAGE_H
#define GP_PROTO_MESSAGE_H

#include <stdarg.h>

#include "base/types.h"

enum gp_proto_code {
	GP_SAY_NOTHING,
	GP_SAY_ERROR, /* just the errno */

	/* the holder: requests */
	GP_SAY_NOT_SERVED,
	GP_SAY_NO_TARGET,
	GP_SAY_NO_PIDFD,
	GP_SAY_NO_ROOM,
	GP_SAY_NO_MECHANISM,
	GP_SAY_TOO_MANY_TARGETS,
	GP_SAY_GROUP_EMPTY,
	GP_SAY_LEASE_ENDED,
	GP_SAY_SHARE_RANGE,
	GP_SAY_PRIORITY_RANGE,
	GP_SAY_LEASE_RANGE,
	GP_SAY_GRACE_RANGE,
	GP_SAY_BAD_FLAG,
	GP_SAY_COPIES_WHOLE,
	GP_SAY_GROUP_QUEUES,
	GP_SAY_HELD_TOGETHER,
	GP_SAY_TIMED_OUT,
	GP_SAY_BREAKER,

	/* the holder: a process */
	GP_SAY_GONE,
	GP_SAY_NOT_VISIBLE,
	GP_SAY_NO_ANSWER,
	GP_SAY_RUNTIME_OFF,
	GP_SAY_NO_QUEUE,
	GP_SAY_STUCK,
	GP_SAY_WHOLE_ONLY,
	GP_SAY_SESSION_TAKEN,
	GP_SAY_PROCESS_ERROR,
	GP_SAY_NOT_BUILT_IN,
	GP_SAY_CANNOT,
	GP_SAY_WORKS_NOW,

	/* mechanisms: kfd-agent */
	GP_SAY_AGENT_NONE,
	GP_SAY_AGENT_WORKS,
	GP_SAY_AGENT_SILENT,
	GP_SAY_AGENT_VERSION,
	GP_SAY_USES_NVIDIA,

	/* kfd-debug */
	GP_SAY_NO_PROCESS,
	GP_SAY_OTHER_USER,
	GP_SAY_UNDER_DEBUGGER,
	GP_SAY_NOT_AMD,
	GP_SAY_DEBUG_WORKS,
	GP_SAY_TRACE_FORBIDDEN,
	GP_SAY_TRACE_ERROR,
	GP_SAY_DEBUG_MISSING,
	GP_SAY_DEBUG_LEFTOVER,
	GP_SAY_DEBUG_ERROR,
	GP_SAY_DEBUG_DISABLED,
	GP_SAY_KFD_ERROR,
	GP_SAY_PIPE_ERROR,
	GP_SAY_LIST_ERROR,

	/* kfd-module */
	GP_SAY_MODULE_NONE,
	GP_SAY_MODULE_ERROR,
	GP_SAY_MODULE_VERSION,
	GP_SAY_MODULE_WORKS,

	/* nv-suspend */
	GP_SAY_NV_WORKS,
	GP_SAY_NV_NO_DRIVER,
	GP_SAY_NV_BRANCH,
	GP_SAY_NV_PTRACE,
	GP_SAY_NV_FILES,
	GP_SAY_NV_INHERITED,
	GP_SAY_NV_NOT_USED,
	GP_SAY_NV_MPS_SERVER,
	GP_SAY_NV_MPS_CLIENT,
	GP_SAY_NV_CHANNELS,

	/* an agent's answers */
	GP_SAY_HOLD_RANGE,
	GP_SAY_QUEUE_NAMED,
	GP_SAY_NOTHING_HELD,
	GP_SAY_NOT_STOPPED,
	GP_SAY_DRIVER_REFUSED,
	GP_SAY_NO_DESCRIPTOR,

	/* an agent or the daemon */
	GP_SAY_VALUE_RANGE,
	GP_SAY_UNKNOWN_REQUEST,

	/* the daemon */
	GP_SAY_NO_JOB,
	GP_SAY_JOB_OTHER_USER,
	GP_SAY_CEILING,
	GP_SAY_SCHEDULER_REFUSED,
	GP_SAY_GROUP_ONLY,
	GP_SAY_OWNER_ONLY,
	GP_SAY_BAD_CONFIG,
	GP_SAY_HOLD_OBSERVES,
	GP_SAY_METRICS_KEPT,
	GP_SAY_DIARY_KEPT,
	GP_SAY_DEVICES_ABSENT,

	GP_SAY_COUNT,
};

enum {
	GP_PROTO_ARGS = 124,  /* bytes of a message's arguments */
	GP_PROTO_REASONS = 4, /* messages in one answer: one per mechanism */
};

struct gp_proto_message {
	u16 code;                 /* enum gp_proto_code */
	u16 error;                /* errno of a "%m"; 0: none */
	char args[GP_PROTO_ARGS]; /* each ends with a NUL; cut off when they do not fit */
};

/* Several messages that belong together; a single one is its own reason. */
struct gp_proto_reasons {
	u32 count;
	struct gp_proto_message reason[GP_PROTO_REASONS];
};

_Static_assert(sizeof(struct gp_proto_message) == 128, "layout");

/* Fills *out with a code and the arguments that its format in message.c takes; `error` (a negative
 * errno) is its "%m". Returns `error`. A NULL `out` drops it. */
int gp_proto_say(struct gp_proto_message *out, int error, enum gp_proto_code code, ...);
int gp_proto_vsay(struct gp_proto_message *out, int error, enum gp_proto_code code, va_list list);

/* The sentence, in the language of this process. Trusts nothing in the message. */
void gp_proto_message_text(const struct gp_proto_message *message, char *out, size_t size);
/* All of them, joined with "; ". */
void gp_proto_reasons_text(const struct gp_proto_reasons *reasons, char *out, size_t size);

/* Adds a message, as far as there is room; `first`: before the others. */
void gp_proto_reasons_add(struct gp_proto_reasons *reasons, const struct gp_proto_message *message,
			  bool first);

/* "kfd-debug"; "?" for a number that is not a mechanism. */
const char *gp_proto_mechanism_name(u32 mechanism);

#endif
