/* SPDX-License-Identifier: MIT */
/*
 * Reader of what KFD prints: `[KFD-TRACE] NAME: key=value ...` of patched drivers (in dmesg or an
 * ftrace text, with or without their prefixes) and the stock driver's dynamic-debug sentences
 * about queues. One GP_EVENT_KFD each; docs/reference/formats/kernel.md lists the names. One pass,
 * constant memory.
 */
#ifndef GP_TRACE_READ_KFDLOG_H
#define GP_TRACE_READ_KFDLOG_H

#include "base/diag.h"
#include "trace/read/event.h"
#include "base/lines.h"

struct gp_trace_kfdlog_stats {
	struct gp_lines_stats lines;
	u64 recognised;
	u64 general; /* of them: about the start of the driver or a warning, not about a queue */
};

/*
 * 0, the return of the callback, or -errno after an error message; -EINVAL if no line was from KFD.
 * In excerpts a comment "# ... PID=42" names the process of the lines below: events have
 * that pid, with `headless` set, where they print none.
 */
int gp_trace_kfdlog_read(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn, void *ctx,
			 struct gp_trace_kfdlog_stats *stats);

/*
 * The number of a key in `text` ("queue_id=216", "doorbell=0x1800"); hexadecimal where it starts
 * with 0x. False when the key is not there or what follows is not a whole number.
 */
bool gp_trace_text_key(const char *text, size_t len, const char *key, u64 *value);

/* The time of a kernel log line ("[  12.345678] ", an ftrace prefix); false when it has none. */
bool gp_trace_kernel_time(const char **p, const char *end, u64 *ns);

#endif
