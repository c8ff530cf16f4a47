/* SPDX-License-Identifier: MIT */
/*
 * Facts that several programs must agree on: mechanisms, limits, priorities, queue fields and event
 * kinds. Each is written here once. include/gpreempt.h repeats some of them for its users;
 * client/client.h asserts that they are equal. Nothing but numbers: any room may include it that
 * docs/architecture.md lets.
 */
#ifndef GP_PROTO_FACTS_H
#define GP_PROTO_FACTS_H

/* How a process is suspended. AUTO takes the first mechanism that works. */
enum gp_proto_mechanism {
	GP_MECHANISM_AUTO,
	GP_MECHANISM_KFD_AGENT,
	GP_MECHANISM_KFD_DEBUG,
	GP_MECHANISM_KFD_MODULE,
	GP_MECHANISM_NV_SUSPEND,
	GP_MECHANISM_COUNT,
};

/* Their names, by number: the initialiser of an array. */
#define GP_MECHANISM_NAMES                                                   \
	{                                                                    \
		"auto", "kfd-agent", "kfd-debug", "kfd-module", "nv-suspend" \
	}

enum {
	GP_LEASE_MS = 100, /* default */
	GP_LEASE_MIN_MS = 50,
	GP_LIMIT_MS = 2000, /* default */
	GP_LIMIT_MAX_MS = 3600000,
	GP_SUSPEND_GRACE_MAX = 255,
};

/* Logical priorities: higher wins. */
enum {
	GP_PRIORITY_OFFLINE = 500,
	GP_PRIORITY_DEFAULT = 1000,
	GP_PRIORITY_ONLINE = 2000,
	GP_PRIORITY_MAX = 65535,
};

enum gp_proto_class { GP_CLASS_NORMAL, GP_CLASS_ONLINE, GP_CLASS_OFFLINE, GP_CLASS_COUNT };

#define GP_CLASS_NAMES                        \
	{                                     \
		"normal", "online", "offline" \
	}

/* A share of a GPU's compute units, in thousandths: the size, and where it begins. */
#define GP_SHARE_ALL         1000u
#define GP_SHARE_SIZE(part)  ((part)&0xffffu)
#define GP_SHARE_FIRST(part) ((part) >> 16)

/* Which fields of a queue record are known. */
enum gp_proto_queue_field {
	GP_QUEUE_HAS_KFD_ID = 1u << 0,
	GP_QUEUE_HAS_HSA_ID = 1u << 1,
	GP_QUEUE_HAS_RING = 1u << 2,
	GP_QUEUE_HAS_OBJECT = 1u << 3,
	GP_QUEUE_HAS_POINTERS = 1u << 4,
	GP_QUEUE_HAS_PRIORITY = 1u << 5,
	GP_QUEUE_HAS_ACTIVITY = 1u << 6,
};

enum gp_proto_queue_state {
	GP_QUEUE_IS_RUNNING,
	GP_QUEUE_IS_SUSPENDED,
	GP_QUEUE_IS_FAILED,
};

enum gp_proto_suspend_flag {
	GP_SUSPEND_COPIES = 1u << 0, /* NVIDIA: copies as well as kernels */
	GP_SUSPEND_OFF = 1u << 1,    /* kfd-agent: queues that rest leave the GPU as well */
};

/* What the holder reports unasked. */
enum gp_proto_event_kind {
	GP_EVENT_DONE = 1, /* made by the library */
	GP_EVENT_LEASE_LOST,
	GP_EVENT_GONE,
	GP_EVENT_JOINED,
	GP_EVENT_QUEUES,
	GP_EVENT_BREAKER,
	GP_EVENT_HELD_ELSEWHERE,
};

#endif
