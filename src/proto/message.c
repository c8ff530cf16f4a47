// SPDX-License-Identifier: MIT
/* The table of messages, and how arguments get into a message and out of it again. */
#include "proto/message.h"

#include <stdio.h>
#include <string.h>

#include "base/i18n.h"
#include "proto/facts.h"

#define ARGS  4
#define JOINT "; "

/* Arguments are %u, %d and %s; %m is the message's errno. */
static const char *const formats[GP_SAY_COUNT] = {
	[GP_SAY_ERROR] = "%m",

	[GP_SAY_NOT_SERVED] =
		N_("the holder closed the connection: it does not serve this user, or "
		   "has too many clients; end some and try again"),
	[GP_SAY_NO_TARGET] = N_("the target is not open (or was closed): open it with "
				"gpreempt_target_open() first"),
	[GP_SAY_NO_PIDFD] = N_("the request does not include a pidfd; client and holder may be "
			       "different versions (restart the older one)"),
	[GP_SAY_NO_ROOM] = N_("the holder cannot manage any more processes; resume some "
			      "('gpreempt status' lists them), then try again"),
	[GP_SAY_NO_MECHANISM] =
		N_("unknown mechanism %u; client and holder may be different versions "
		   "(restart the older one)"),
	[GP_SAY_TOO_MANY_TARGETS] = N_("this client has too many open targets; close some with "
				       "gpreempt_target_close()"),
	[GP_SAY_GROUP_EMPTY] =
		N_("no process of the group is running, or none has used the GPU yet"),
	[GP_SAY_LEASE_ENDED] =
		N_("there is no suspension to renew: it was not requested, or its lease has ended"),
	[GP_SAY_SHARE_RANGE] = N_("a share must be 1 to 1000 (thousandths of the GPU)"),
	[GP_SAY_PRIORITY_RANGE] = N_("a priority must be 0 to 65535"),
	[GP_SAY_LEASE_RANGE] = N_("a lease must be %u to %u ms, and a limit at most %u ms"),
	[GP_SAY_GRACE_RANGE] = N_("a grace period must be 1 to 255 units of 1024 GPU clocks, or 0 "
				  "for the driver's default"),
	[GP_SAY_BAD_FLAG] = N_("unknown suspend flag; gpreempt.h lists GPREEMPT_SUSPEND_ flags, "
			       "and the library may be older than the header"),
	[GP_SAY_COPIES_WHOLE] =
		N_("copy engines can be suspended only with the whole process, not with single "
		   "queues or GPUs"),
	[GP_SAY_GROUP_QUEUES] =
		N_("queues can be selected only in a process, not in a group; give a "
		   "pid instead of --group"),
	[GP_SAY_HELD_TOGETHER] = N_("all queues were suspended together; resume the whole target"),
	[GP_SAY_TIMED_OUT] =
		N_("the request timed out; if it was a suspension, it has been undone"),
	[GP_SAY_BREAKER] =
		N_("GPU 0x%x is not preempted for now because its queues did not stop in "
		   "time; try again later"),

	[GP_SAY_GONE] = N_("process %u has exited"),
	[GP_SAY_NOT_VISIBLE] =
		N_("the target process has exited, or is in a pid namespace that the "
		   "holder cannot see; 'gpreempt ps' lists the processes that use a "
		   "GPU"),
	[GP_SAY_NO_ANSWER] = N_("process %u did not answer in time; a process stopped by a signal "
				"cannot answer until it continues"),
	[GP_SAY_RUNTIME_OFF] = N_("the GPU runtime of process %u was shut down"),
	[GP_SAY_NO_QUEUE] = N_("process %u does not have the specified queue; 'gpreempt status "
			       "PID' lists its queues"),
	[GP_SAY_STUCK] = N_("the GPU did not stop the queues of process %u, which runs on; "
			    "dmesg may say why"),
	[GP_SAY_WHOLE_ONLY] = N_("%s can suspend process %u only as a whole; use kfd-agent or "
				 "kfd-debug for single queues or GPUs"),
	[GP_SAY_SESSION_TAKEN] =
		N_("another debugger attached to process %u and resumed it; end that debugger, or "
		   "use another --mechanism"),
	[GP_SAY_PROCESS_ERROR] = N_("process %u: %m"),
	[GP_SAY_NOT_BUILT_IN] = N_("the holder was built without this mechanism; choose another "
				   "--mechanism ('gpreempt doctor' lists them)"),
	[GP_SAY_CANNOT] = N_("%s does not support this operation; 'gpreempt doctor' lists what "
			     "each mechanism can do"),
	[GP_SAY_WORKS_NOW] = N_("the mechanism is now %s"),

	[GP_SAY_AGENT_NONE] =
		N_("process %u was not started with 'gpreempt run', or has not used the GPU yet"),
	[GP_SAY_AGENT_WORKS] = N_("the process was started with 'gpreempt run'"),
	[GP_SAY_AGENT_SILENT] = N_("the agent in process %u does not answer: %m"),
	[GP_SAY_AGENT_VERSION] =
		N_("the agent in process %u has a different version; restart the program"),
	[GP_SAY_USES_NVIDIA] = N_("process %u uses an NVIDIA GPU"),

	[GP_SAY_NO_PROCESS] = N_("process %u does not exist (it may have exited); 'gpreempt ps' "
				 "lists the processes that use a GPU"),
	[GP_SAY_OTHER_USER] = N_("process %u belongs to another user"),
	[GP_SAY_UNDER_DEBUGGER] =
		N_("process %u is being debugged by %s (pid %u); quit the debugger first"),
	[GP_SAY_NOT_AMD] = N_("process %u does not use an AMD GPU"),
	[GP_SAY_DEBUG_WORKS] = N_("a debug session (DBG_TRAP) can suspend the process"),
	[GP_SAY_TRACE_FORBIDDEN] =
		N_("cannot trace process %u: it belongs to another user, or "
		   "kernel.yama.ptrace_scope forbids it; start it with 'gpreempt run'"),
	[GP_SAY_TRACE_ERROR] =
		N_("cannot trace process %u: %m; 'gpreempt doctor' names missing permissions"),
	[GP_SAY_DEBUG_MISSING] = N_("this amdgpu driver has no debug interface (added in Linux "
				    "6.5); start process %u with 'gpreempt run'"),
	[GP_SAY_DEBUG_LEFTOVER] = N_("a detached debugger left a stale debug session in process "
				     "%u; the session has been ended, try again"),
	[GP_SAY_DEBUG_ERROR] = N_("cannot start a debug session with process %u: %m"),
	[GP_SAY_DEBUG_DISABLED] =
		N_("the GPU runtime of process %u did not enable debugging (before ROCm 6.3 it may "
		   "not do so); start it with 'gpreempt run'"),
	[GP_SAY_KFD_ERROR] = N_("cannot open /dev/kfd: %m; see 'gpreempt doctor'"),
	[GP_SAY_PIPE_ERROR] =
		N_("cannot create a pipe: %m; check the limit of open files (ulimit -n)"),
	[GP_SAY_LIST_ERROR] =
		N_("cannot read the queues of process %u from /dev/kfd: %m; 'gpreempt doctor' "
		   "shows what kfd-debug needs"),

	[GP_SAY_MODULE_NONE] = N_("gpreempt.ko is not loaded: %s does not exist"),
	[GP_SAY_MODULE_ERROR] =
		N_("cannot open %s: %m (only root and the file's group have access)"),
	[GP_SAY_MODULE_VERSION] = N_("the loaded gpreempt.ko is a different version"),
	[GP_SAY_MODULE_WORKS] = N_("gpreempt.ko can suspend the process"),

	[GP_SAY_NV_WORKS] = N_("the NVIDIA driver can suspend the channels of the process and set "
			       "their time slices"),
	[GP_SAY_NV_NO_DRIVER] = N_("no NVIDIA driver (/proc/driver/nvidia/version does not exist)"),
	[GP_SAY_NV_BRANCH] = N_("NVIDIA driver %s is from an unverified branch; set "
				"GPREEMPT_NVRM_FORCE=1 to try it anyway"),
	[GP_SAY_NV_PTRACE] =
		N_("cannot copy the file descriptors of process %u: it belongs to another user, or "
		   "kernel.yama.ptrace_scope forbids it; start it with 'gpreempt run'"),
	[GP_SAY_NV_FILES] = N_("cannot read the file descriptors of process %u: %m"),
	[GP_SAY_NV_INHERITED] =
		N_("process %u inherited its NVIDIA descriptors from process %u, which would be "
		   "suspended as well; specify that process instead"),
	[GP_SAY_NV_NOT_USED] = N_("process %u does not use /dev/nvidiactl"),
	[GP_SAY_NV_MPS_SERVER] =
		N_("process %u is an MPS server: suspending it would suspend all its clients"),
	[GP_SAY_NV_MPS_CLIENT] =
		N_("process %u is an MPS client (control daemon in %s): it shares the server's "
		   "channels with other clients and cannot be suspended separately"),
	[GP_SAY_NV_CHANNELS] = N_("cannot list the NVIDIA channels of process %u: %m"),

	[GP_SAY_HOLD_RANGE] = N_("the lease or limit is out of range"),
	[GP_SAY_QUEUE_NAMED] =
		N_("one of the specified queues does not exist; 'gpreempt status PID' "
		   "lists the queues of a process"),
	[GP_SAY_NOTHING_HELD] = N_("nothing is suspended: the lease has ended"),
	[GP_SAY_NOT_STOPPED] =
		N_("the queues did not stop in time and have been resumed; try again "
		   "when the GPU is less busy"),
	[GP_SAY_DRIVER_REFUSED] =
		N_("the driver refused to change a queue of the process; dmesg may say "
		   "why, and 'gpreempt status PID' shows its state"),
	[GP_SAY_NO_DESCRIPTOR] = N_(
		"the program has no free file descriptor; its agent needs one to report activity"),

	[GP_SAY_VALUE_RANGE] = N_("the value is out of range"),
	[GP_SAY_UNKNOWN_REQUEST] = N_("unknown request; the sender may be a different version"),

	[GP_SAY_NO_JOB] = N_("process %u is not a job of gpreemptd; start it with 'gpreempt "
			     "run', or list the jobs with 'gpreempt top --once'"),
	[GP_SAY_JOB_OTHER_USER] = N_("pid %u belongs to another user"),
	[GP_SAY_CEILING] =
		N_("the request exceeds your configured limits (priority %u, weight %u)"),
	[GP_SAY_SCHEDULER_REFUSED] = N_("the scheduler refused the request; see 'gpreempt log'"),
	[GP_SAY_GROUP_ONLY] = N_("only root and members of the gpreempt group may exempt a job "
				 "from preemption; use sudo, or ask to be added to the group"),
	[GP_SAY_OWNER_ONLY] = N_("only root and the user that runs gpreemptd may reload its "
				 "configuration or hold jobs by name; use sudo"),
	[GP_SAY_BAD_CONFIG] = N_("the new configuration has errors, so the old one stays in "
				 "effect; run 'gpreempt config check FILE' to list the errors"),
	[GP_SAY_HOLD_OBSERVES] = N_("gpreemptd only observes; set mode = act in its configuration"),
	[GP_SAY_METRICS_KEPT] =
		N_("the new configuration is in effect, except metrics_port and metrics_address: "
		   "%m; correct them and reload again"),
	[GP_SAY_DIARY_KEPT] = N_("the new configuration is in effect, except decision_log: %m; "
				 "correct it and reload again"),
	[GP_SAY_DEVICES_ABSENT] =
		N_("[device ...] sections without effect, because this machine has no such GPU: "
		   "%u; 'gpreempt config check FILE' names them"),
};

const char *gp_proto_mechanism_name(u32 mechanism)
{
	static const char *const names[GP_MECHANISM_COUNT] = GP_MECHANISM_NAMES;

	return mechanism < GP_MECHANISM_COUNT ? names[mechanism] : "?";
}

/* The conversion that begins at this '%', and what follows it. `which`: its argument, from 0, where
 * a translation names it (%2$s); otherwise it stays. 0: not a conversion. */
static char conversion(const char **format, unsigned *which)
{
	const char *p = *format + 1;

	if (*p >= '1' && *p <= '9' && p[1] == '$') {
		*which = (unsigned)(*p - '1');
		p += 2;
	}
	if (!*p || !strchr("uxdsm%", *p))
		return 0;
	*format = p + 1;
	return *p;
}

int gp_proto_vsay(struct gp_proto_message *out, int error, enum gp_proto_code code, va_list list)
{
	const char *format = code < GP_SAY_COUNT && formats[code] ? formats[code] : "";
	size_t used = 0;

	if (!out)
		return error;
	*out = (struct gp_proto_message){.code = (u16)code, .error = (u16)-error};
	while ((format = strchr(format, '%')) != NULL && used < sizeof(out->args)) {
		size_t room = sizeof(out->args) - used;
		unsigned which;
		int length = -1;

		switch (conversion(&format, &which)) {
		case 'u':
			length = snprintf(out->args + used, room, "%u", va_arg(list, unsigned));
			break;
		case 'x':
			length = snprintf(out->args + used, room, "%x", va_arg(list, unsigned));
			break;
		case 'd':
			length = snprintf(out->args + used, room, "%d", va_arg(list, int));
			break;
		case 's':
			length = snprintf(out->args + used, room, "%s", va_arg(list, const char *));
			break;
		case 0:
			format++;
		}
		if (length >= 0)
			used += (size_t)length + 1;
	}
	out->args[sizeof(out->args) - 1] = 0;
	return error;
}

int gp_proto_say(struct gp_proto_message *out, int error, enum gp_proto_code code, ...)
{
	va_list list;

	va_start(list, code);
	gp_proto_vsay(out, error, code, list);
	va_end(list);
	return error;
}

/* ---- sentences ---- */

struct text {
	char *out;
	size_t size, used;
};

static bool is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80; /* of a UTF-8 character */
}

static void put(struct text *text, const char *from, size_t length)
{
	size_t room = text->size - text->used - 1;

	if (length > room)
		for (length = room; length && is_continuation(from[length]);)
			length--;
	memcpy(text->out + text->used, from, length);
	text->used += length;
	text->out[text->used] = '\0';
}

static void find_args(const struct gp_proto_message *message, const char *args[ARGS],
		      size_t lengths[ARGS])
{
	const char *at = message->args, *end = message->args + sizeof(message->args);

	for (int i = 0; i < ARGS; i++) {
		args[i] = at;
		lengths[i] = strnlen(at, (size_t)(end - at));
		at += lengths[i];
		at += at < end;
	}
}

static void put_message(struct text *text, const struct gp_proto_message *message)
{
	const char *format = message->code < GP_SAY_COUNT ? formats[message->code] : NULL;
	size_t lengths[ARGS];
	const char *args[ARGS];
	unsigned next = 0;

	if (!format)
		return;
	find_args(message, args, lengths);
	format = gettext(format);
	while (*format) {
		size_t plain = strcspn(format, "%");
		unsigned which = next;
		char letter;

		put(text, format, plain);
		format += plain;
		if (!*format)
			break;
		letter = conversion(&format, &which);
		if (letter == 'm') {
			const char *error = strerror(message->error);

			put(text, error, strlen(error));
		} else if (letter && letter != '%') {
			if (which < ARGS)
				put(text, args[which], lengths[which]);
			next++;
		} else {
			put(text, "%", 1);
			format += !letter;
		}
	}
}

void gp_proto_message_text(const struct gp_proto_message *message, char *out, size_t size)
{
	struct text text = {.out = out, .size = size};

	out[0] = '\0';
	put_message(&text, message);
}

void gp_proto_reasons_text(const struct gp_proto_reasons *reasons, char *out, size_t size)
{
	struct text text = {.out = out, .size = size};

	out[0] = '\0';
	for (u32 i = 0; i < reasons->count && i < GP_PROTO_REASONS; i++) {
		if (text.used)
			put(&text, JOINT, sizeof(JOINT) - 1);
		put_message(&text, &reasons->reason[i]);
	}
}

void gp_proto_reasons_add(struct gp_proto_reasons *reasons, const struct gp_proto_message *message,
			  bool first)
{
	u32 at = first ? 0 : reasons->count;

	if (reasons->count == GP_PROTO_REASONS)
		return;
	memmove(&reasons->reason[at + 1], &reasons->reason[at],
		(reasons->count - at) * sizeof(*message));
	reasons->reason[at] = *message;
	reasons->count++;
}
