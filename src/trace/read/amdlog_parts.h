/* SPDX-License-Identifier: MIT */
/*
 * The inside of the AMD log reader, cut along the line: amdlog.c turns a file into lines,
 * amdlog_line.c a line into messages, amdlog_prefix.c reads what stands before a message,
 * amdlog_message.c and amdlog_packet.c the message. Nothing outside the reader includes this.
 */
#ifndef GP_TRACE_READ_AMDLOG_PARTS_H
#define GP_TRACE_READ_AMDLOG_PARTS_H

#include "base/parse.h"
#include "trace/read/amdlog.h"
#include "trace/read/scan.h"

/* Text still to be read. `cut` says that its end is not the end of what was written: a number that
 * touches it may have lost digits and is not taken. */
struct gp_trace_text {
	const char *p, *end;
	bool cut;
};

/*
 * "[pid:42    tid:0x7f6120d0e5a0]" is the same bytes for every line of a thread: what it said is
 * kept with the bytes, and compared instead of parsed.
 */
#define GP_HEAD_MAX   56
#define GP_HEAD_SLOTS 16

struct gp_trace_head {
	u8 len; /* 0 = free */
	char text[GP_HEAD_MAX];
	u32 pid;
	u64 tid;
};

struct gp_trace_head_cache {
	size_t last_len; /* of the head seen last; heads of one log are mostly equally long */
	struct gp_trace_head slots[GP_HEAD_SLOTS];
};

struct gp_trace_line_parser {
	const struct gp_trace_scan *scan;
	struct gp_trace_amdlog_stats *stats;
	gp_event_fn fn;
	void *ctx;
	bool fast;      /* deliver queue events only, count less */
	u64 line;       /* number of the current line */
	u64 delivered;  /* messages that prove this is a log */
	u64 first_null; /* line of the first NUL byte, 0 = none */
	struct {
		u64 torn, recognised, without_pid;
	} counted; /* the line that each was counted for last */
	struct gp_event event;
	struct gp_trace_head_cache heads;
};

/*
 * One line of [marks->end - line] bytes, already clipped to GP_AMDLOG_LINE_MAX; `cut` when its
 * newline was not seen. 0 or what the callback returned.
 */
int gp_trace_amdlog_line(struct gp_trace_line_parser *parser, const char *line,
			 const struct gp_trace_marks *marks, bool cut);

struct gp_trace_prefix {
	const char *start; /* where it begins in the line */
	const char *body;  /* after "us:" */
	u64 us;
};

/*
 * The prefix whose time ends at `us` (the 'u' of "us:"), looking no further back than `line`.
 * False when what stands there is not a log prefix.
 */
bool gp_trace_amdlog_prefix(const char *line, const char *us, const char *end,
			    struct gp_trace_prefix *prefix);
/* ":1:/path/file.cpp:12: text" and ": 1: file.cpp:  12: (0000000123) us text", which have no usable
 * time. */
bool gp_trace_amdlog_is_helper(const char *line, const char *end);
/* Time, pid and thread; leaves text->p at the message. False when they break off. */
bool gp_trace_amdlog_head(const struct gp_trace_prefix *prefix, struct gp_trace_head_cache *cache,
			  struct gp_trace_text *text, struct gp_event *event);

/*
 * Says what a message is; event already has time, pid and tid. `queues` is the number of "q=" marks
 * that may be in the text. Leaves text->p behind what was read. False when its fields break off.
 */
bool gp_trace_amdlog_message(struct gp_trace_text *text, u32 queues, struct gp_event *event);

/*
 * A packet message, text->p at "SWq=" or "HWq=". As above; event->kind stays OTHER when no packet
 * type follows. When there are more "q=" than this packet has, the text ends before the next.
 */
bool gp_trace_amdlog_packet(struct gp_trace_text *text, u32 queues, struct gp_event *event);
/* "SWq=... to map on HWq=... with size ...". */
bool gp_trace_amdlog_created(struct gp_trace_text *text, struct gp_event *event);
/* " with size N with priority N", as far as it is there. */
bool gp_trace_amdlog_created_tail(struct gp_trace_text *text, struct gp_event *event);
/* The next "SWq=" or "HWq=" in the text, or NULL. */
const char *gp_trace_amdlog_find_queue(const char *p, const char *end);

/* Numbers that are whole (see `cut`). Without one, text->p stays. */
bool gp_trace_text_hex(struct gp_trace_text *text, u64 *value);
/* An address: in every message something follows it, so at the end of the text it is not whole. */
bool gp_trace_text_address(struct gp_trace_text *text, u64 *value);
bool gp_trace_text_u64(struct gp_trace_text *text, u64 *value);
bool gp_trace_text_u32(struct gp_trace_text *text, u32 *value);

#define GP_TEXT_LITERAL(text, literal) GP_PARSE_LITERAL(&(text)->p, (text)->end, literal)

#endif
