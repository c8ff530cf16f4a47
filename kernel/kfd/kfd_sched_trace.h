/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Every action of the scheduler, as it is taken, with its reason. */
#if !defined(KFD_SCHED_TRACE_H_INCLUDED) || defined(TRACE_HEADER_MULTI_READ)
#define KFD_SCHED_TRACE_H_INCLUDED

#include <linux/tracepoint.h>
#include <linux/version.h>

#undef KFD_SCHED_ASSIGN_STR
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define KFD_SCHED_ASSIGN_STR(field) __assign_str(field, field)
#else
#define KFD_SCHED_ASSIGN_STR(field) __assign_str(field)
#endif

#undef TRACE_SYSTEM
#define TRACE_SYSTEM amdkfd
#define TRACE_INCLUDE_FILE kfd_sched_trace

TRACE_EVENT(kfd_sched_action,
	TP_PROTO(u64 id, const char *action, const char *why, int pid,
		 int other, u32 priority, u32 other_priority, u64 waited_ns,
		 u64 took_ns, int error),
	TP_ARGS(id, action, why, pid, other, priority, other_priority,
		waited_ns, took_ns, error),
	TP_STRUCT__entry(
		__field(u64, id)
		__string(action, action)
		__string(why, why)
		__field(int, pid)
		__field(int, other)
		__field(u32, priority)
		__field(u32, other_priority)
		__field(u64, waited_ns)
		__field(u64, took_ns)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->id = id;
		KFD_SCHED_ASSIGN_STR(action);
		KFD_SCHED_ASSIGN_STR(why);
		__entry->pid = pid;
		__entry->other = other;
		__entry->priority = priority;
		__entry->other_priority = other_priority;
		__entry->waited_ns = waited_ns;
		__entry->took_ns = took_ns;
		__entry->error = error;
	),
	TP_printk("id=%llu action=%s why=%s pid=%d other=%d priority=%u other_priority=%u waited_ns=%llu took_ns=%llu error=%d",
		  __entry->id, __get_str(action), __get_str(why), __entry->pid,
		  __entry->other, __entry->priority, __entry->other_priority,
		  __entry->waited_ns, __entry->took_ns, __entry->error)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#include <trace/define_trace.h>
