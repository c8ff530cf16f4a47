/* SPDX-License-Identifier: MIT */
/*
 * The messages between the programs of gpreempt: version, limits and layout. All travel over Unix
 * sockets of type SOCK_SEQPACKET in one directory (proto/directory.h): one message per packet, a
 * header and one of the bodies below, in the host's byte order (a socket does not leave the
 * machine). A message that is not exactly as long as its type and count demand ends the connection.
 *
 * Two services speak it:
 *
 *   holder.sock     the holder; its clients are the library, the command line and the daemon.
 *   agents/ID.sock  the agent inside a client program; the holder and the daemon connect to it. ID
 *                   is unique in the directory. The process behind it is known from SO_PEERCRED: a
 *                   program in a container does not know its pid outside. Every *.sock file
 *                   listens; one that refuses connections belongs to a dead program, and the first
 *                   process that finds it removes it.
 *
 * Requests are answered with the same type and serial and `status` 0, a count, or -errno; an answer
 * with a negative status has a struct gp_proto_reasons as its body. Events have serial 0. An agent
 * answers in order; the holder does so per target, and its answers to RENEW, OPEN, SHARE and
 * PRIORITY wait for none.
 *
 * Programs of different versions meet after an update: an agent in a program that still runs, a
 * holder or daemon that was not restarted. The header stays the same in every version. A service
 * that receives another version refuses in the version of its peer (gp_wire_refuse_version) and
 * closes the connection; the peer goes on unmanaged.
 */
#ifndef GP_PROTO_PROTO_H
#define GP_PROTO_PROTO_H

#include "base/types.h"
#include "proto/facts.h"
#include "proto/message.h"

enum {
	GP_PROTO_VERSION = 5,
	GP_PROTO_MAX = 64 * 1024, /* bytes of one message, header included */
	GP_PROTO_TEXT = 240,      /* bytes of a text, NUL included */
	GP_PROTO_NAME = 64,       /* bytes of a group's or program's name, NUL included */
	GP_PROTO_QUEUES = 512,    /* queue records in one message */
	GP_PROTO_IDS = 1024,      /* queue ids in one message */
};

enum gp_proto_msg_type {
	/* both services */
	GP_MSG_HELLO = 1, /* first message of a connection, both ways */

	/* holder: requests */
	GP_MSG_OPEN = 16, /* gp_proto_msg_open, with a pidfd (SCM_RIGHTS) unless a group ->
			     gp_proto_msg_opened */
	GP_MSG_CLOSE,     /* gp_proto_msg_target -> - */
	GP_MSG_INFO,      /* gp_proto_msg_target -> gp_proto_msg_info */
	GP_MSG_QUEUES,    /* gp_proto_msg_queues_ask -> gp_proto_msg_queues; status is the number in
			     all */
	GP_MSG_SUSPEND, /* gp_proto_msg_suspend -> gp_proto_msg_done; status is the number of queues
			 */
	GP_MSG_RESUME,  /* gp_proto_msg_suspend (leases ignored) -> gp_proto_msg_done */
	GP_MSG_RENEW,   /* gp_proto_msg_target (0: all of this connection) -> - */
	GP_MSG_PRIORITY, /* gp_proto_msg_value -> - */
	GP_MSG_SHARE,    /* gp_proto_msg_value -> - */
	GP_MSG_HOLDS, /* gp_proto_msg_target: index of the first wanted -> gp_proto_msg_holds: every
		       * suspension
		       */
	GP_MSG_RELEASE, /* gp_proto_msg_target: pid as the target, 0 all -> -; status is how many */

	/* holder: events */
	GP_MSG_EVENT = 48, /* gp_proto_msg_event */

	/* agent: requests */
	GP_MSG_AGENT_WATCH = 64, /* gp_proto_msg_target: non-zero: send edges -> - with the memfd of
				  * struct gp_proto_activity */
	GP_MSG_AGENT_QUEUES,     /* - -> gp_proto_msg_queues */
	GP_MSG_AGENT_SUSPEND,    /* gp_proto_msg_suspend (target ignored) -> gp_proto_msg_done */
	GP_MSG_AGENT_RESUME,     /* gp_proto_msg_suspend -> gp_proto_msg_done */
	GP_MSG_AGENT_RENEW,      /* gp_proto_msg_suspend (count 0): new lease -> - */
	GP_MSG_AGENT_SHARE, /* gp_proto_msg_value (target: the first CU in thousandths; 0) -> - */
	GP_MSG_AGENT_PRIORITY, /* gp_proto_msg_value -> - */
	GP_MSG_AGENT_AHEAD,    /* - -> gp_proto_msg_ahead (proto/ahead.h) */
	GP_MSG_AGENT_RULED,    /* gp_proto_msg_value: the priority for the driver instead of the
				* program's own, UINT32_MAX none (target: the most that a stream may
				* make of it), while this connection lasts -> - */

	/* agent: events */
	GP_MSG_AGENT_EDGE = 96, /* gp_proto_msg_edge: work arrived at or left this program */
	GP_MSG_AGENT_CHANGED,   /* - : queues came, went or have another priority; ask again */
	GP_MSG_AGENT_REQUEST,   /* gp_proto_msg_request: a hint of the program */
	GP_MSG_AGENT_HELD,      /* gp_proto_msg_target: the process of another connection that holds
				 * all queues, UINT32_MAX not visible; 0: none does any more */
};

struct gp_proto_msg {
	u16 version; /* GP_PROTO_VERSION */
	u16 type;
	u32 size; /* of the whole message */
	u32 serial;
	s32 status;
};

/* How a service refuses another version, with status -EPROTONOSUPPORT: English, the same in every
 * version. */
struct gp_proto_msg_refusal {
	char text[GP_PROTO_TEXT];
};

/* Program to service, and back. An agent's answer has everything; others leave the rest 0. */
struct gp_proto_msg_hello {
	u32 pid; /* of the sender, in its own namespace; the peer's credentials are what counts */
	u32 priority;
	u32 job_class; /* enum gp_proto_class */
	u32 weight;
	u64 deadline_us;
	char group[GP_PROTO_NAME]; /* "": a separate job */
	char name[GP_PROTO_NAME];  /* program */
};

struct gp_proto_msg_target {
	u32 target;
	u32 reserved;
};

struct gp_proto_msg_value {
	u32 target;
	u32 value;
};

struct gp_proto_msg_open {
	u32 mechanism;             /* enum gp_proto_mechanism */
	u32 gpu_id;                /* 0: all */
	char group[GP_PROTO_NAME]; /* "": the process of the pidfd */
};

struct gp_proto_msg_opened {
	u32 target;
	u32 mechanism;
	u32 process_count;
	struct gp_proto_reasons why;
};

struct gp_proto_msg_info {
	u32 mechanism, process_count, priority, suspended, mine, owner_count;
	s32 owner_pid;
	u32 flags; /* enum gp_proto_suspend_flag, of all owners */
	u64 since_ns;
	struct gp_proto_reasons why;
};

struct gp_proto_msg_queues_ask {
	u32 target;
	u32 first; /* index of the first one wanted */
};

/* As struct gpreempt_queue; kept apart so that the wire does not change with the library. */
struct gp_proto_msg_queue {
	s32 pid;
	u32 gpu_id, valid, kfd_id;
	u64 hsa_id;
	u32 type, state;
	u64 ring, ring_bytes, object, read_index, write_index;
	u32 hardware_priority, logical_priority, busy;
	s32 owner_pid;
	u64 since_ns;
};

struct gp_proto_msg_queues {
	u32 count, reserved;
	struct gp_proto_msg_queue queues[];
};

struct gp_proto_msg_suspend {
	u32 target;
	u32 lease_ms, limit_ms, timeout_ms;
	u16 grace;
	u16 flags;   /* enum gp_proto_suspend_flag: a holder that knows none takes them for a wrong
			grace */
	u32 count;   /* ids that follow; 0: all queues, also those created later */
	u64 sent_ns; /* CLOCK_MONOTONIC when the caller asked: for the latency */
	u32 ids[];
};

struct gp_proto_msg_done {
	u64 issue_ns, driver_ns, skew_ns;
	u32 queues, processes;
};

struct gp_proto_msg_hold {
	s32 pid, owner_pid;
	u16 mechanism, flags; /* enum gp_proto_suspend_flag */
	u32 queues;           /* 0: all */
	u64 since_ns, lease_ends_ns;
	char owner[GP_PROTO_NAME];
};

struct gp_proto_msg_holds {
	u32 count, reserved;
	struct gp_proto_msg_hold holds[];
};

struct gp_proto_msg_event {
	u32 kind, target; /* kind: enum gp_proto_event_kind */
	s32 pid, result;
};

struct gp_proto_msg_edge {
	u64 now_ns; /* CLOCK_MONOTONIC */
	u32 busy;  /* enum gp_proto_activity_state. BUSY: a queue got work while no other one of its
		    * GPU had any; DRAINED: all of them are; UNKNOWN: the rest of them is in doubt
		    */
	u32 queue; /* index in struct gp_proto_activity */
};

struct gp_proto_msg_request {
	u64 now_ns;
	u64 deadline_us; /* begin: 0 none */
	u32 begin;       /* 1 begin, 0 end */
	u32 open;        /* requests open now */
};

_Static_assert(sizeof(struct gp_proto_msg) == 16, "header");
_Static_assert(sizeof(struct gp_proto_msg_queue) == 96, "queue record");
_Static_assert(sizeof(struct gp_proto_msg) + sizeof(struct gp_proto_msg_queues) +
			       GP_PROTO_QUEUES * sizeof(struct gp_proto_msg_queue) <=
		       GP_PROTO_MAX,
	       "a full answer fits");

#endif
