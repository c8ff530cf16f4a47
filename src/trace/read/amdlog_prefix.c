// SPDX-License-Identifier: MIT
#include <endian.h>

#include "trace/read/amdlog_parts.h"

/*
 * The regular prefix, the same in every release since 4.0:
 *   :3:rocdevice.cpp            :3110: 6120334455 us: ...
 *   0 2                         28   33
 * File names longer than 25 bytes and line numbers over 9999 push it out of shape, and so do
 * wrappers; those take the long way.
 */
#define COLON_FILE   2
#define COLON_LINE   28
#define COLON_TIME   33
#define TIME         35
#define TIME_DIGITS  19 /* always fit 64 bits */
#define LINE_DIGITS  7
#define LEVEL_DIGITS 2

/* Largest time in microseconds that is still a time in nanoseconds. */
#define TIME_LIMIT_US (UINT64_MAX / 1000)

static bool regular_prefix(const char *line, const char *number_end)
{
	return number_end - line > TIME && number_end - line <= TIME + TIME_DIGITS &&
	       line[0] == ':' && line[COLON_FILE] == ':' && line[COLON_LINE] == ':' &&
	       line[COLON_TIME] == ':' && line[COLON_TIME + 1] == ' ' && gp_is_digit(line[TIME]) &&
	       gp_is_digit(line[1]) && gp_is_digit(line[COLON_LINE + 1]);
}

static const char *back_over_blanks(const char *from, const char *p)
{
	while (p > from && p[-1] == ' ')
		p--;
	return p;
}

static const char *back_over_digits(const char *from, const char *p)
{
	while (p > from && gp_is_digit(p[-1]))
		p--;
	return p;
}

static bool is_file_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || gp_is_digit(c) || c == '_' ||
	       c == '.' || c == '-' || c == '+' || c == '/';
}

/* Steps back over "<line>:" and its padding; NULL when it is not there. */
static const char *back_over_line_number(const char *from, const char *p)
{
	const char *digits;

	p = back_over_blanks(from, p);
	if (p == from || p[-1] != ':')
		return NULL;
	p = back_over_blanks(from, p - 1);
	digits = back_over_digits(from, p);
	if (digits == p || p - digits > LINE_DIGITS || digits == from || digits[-1] != ':')
		return NULL;
	return digits - 1;
}

/* Steps back over ":3:" or ":", whichever is there; NULL when neither is. */
static const char *back_over_level(const char *from, const char *p, bool *level)
{
	const char *digits;

	*level = false;
	if (p == from || p[-1] != ':')
		return NULL;
	p--;
	digits = back_over_digits(from, p);
	if (digits < p && p - digits <= LEVEL_DIGITS && digits > from && digits[-1] == ':') {
		*level = true;
		return digits - 1;
	}
	return p;
}

static const char *irregular_start(const char *from, const char *number)
{
	const char *p, *file, *file_end, *start;
	bool level;

	p = back_over_line_number(from, number);
	if (!p)
		return NULL;
	file_end = back_over_blanks(from, p);
	for (file = file_end; file > from && is_file_byte(file[-1]); file--)
		;
	start = back_over_level(from, file, &level);
	/* Without the LOCATION bit of AMD_LOG_MASK the name is blank; only the level remains. */
	if (file == file_end)
		return level ? start : NULL;
	if (!memchr(file, '.', (size_t)(file_end - file)))
		return NULL;
	return start ? start : file; /* a quill build prints no level and no colon */
}

/* Eight digits at once; false when one of them is not a digit. */
static inline bool eight_digits(const char *p, u64 *value)
{
	u64 x;

	memcpy(&x, p, sizeof(x));
	x = le64toh(x);
	if (((x & 0xf0f0f0f0f0f0f0f0u) | ((x + 0x0606060606060606u) & 0xf0f0f0f0f0f0f0f0u) >> 4) !=
	    0x3333333333333333u)
		return false;
	x = (x & 0x0f0f0f0f0f0f0f0fu) * (10 << 8 | 1) >> 8;
	x = (x & 0x00ff00ff00ff00ffu) * (100 << 16 | 1) >> 16;
	*value = (x & 0x0000ffff0000ffffu) * (10000ull << 32 | 1) >> 32;
	return true;
}

/* [p, end) as a number, if it is one of at most TIME_DIGITS digits and nothing else. */
static bool whole_number(const char *p, const char *end, u64 *value)
{
	u64 sum = 0, eight;

	if (p == end || end - p > TIME_DIGITS)
		return false;
	for (; end - p >= 8; p += 8) {
		if (!eight_digits(p, &eight))
			return false;
		sum = sum * 100000000 + eight;
	}
	for (; p < end; p++) {
		if (!gp_is_digit(*p))
			return false;
		sum = sum * 10 + (u64)(*p - '0');
	}
	*value = sum;
	return true;
}

bool gp_trace_amdlog_prefix(const char *line, const char *us, const char *end,
			    struct gp_trace_prefix *prefix)
{
	const char *number_end, *number;

	if (us - line < 2 || us[-1] != ' ')
		return false;
	number_end = us - 1;
	/* ROCm 6.3 prints "123d us:". */
	if (number_end[-1] == 'd')
		number_end--;
	prefix->body = us + 3 < end ? us + 3 : end;
	if (regular_prefix(line, number_end)) {
		prefix->start = line;
		if (whole_number(line + TIME, number_end, &prefix->us))
			return true;
	}
	number = back_over_digits(line, number_end);
	prefix->start = irregular_start(line, number);
	return prefix->start && whole_number(number, number_end, &prefix->us);
}

bool gp_trace_amdlog_is_helper(const char *line, const char *end)
{
	const char *p = line;
	u64 number;

	if (!GP_PARSE_LITERAL(&p, end, ":"))
		return false;
	gp_skip_blanks(&p, end);
	if (!gp_parse_u64(&p, end, &number) || number > 9 || !GP_PARSE_LITERAL(&p, end, ":"))
		return false;
	gp_skip_blanks(&p, end);
	for (line = p; p < end && is_file_byte(*p); p++)
		;
	if (p == line || !memchr(line, '.', (size_t)(p - line)))
		return false;
	gp_skip_blanks(&p, end);
	if (!GP_PARSE_LITERAL(&p, end, ":"))
		return false;
	gp_skip_blanks(&p, end);
	if (!gp_parse_u64(&p, end, &number))
		return false;
	gp_skip_blanks(&p, end);
	return p < end && *p == ':';
}

static bool take_pid(struct gp_trace_text *text, struct gp_event *event)
{
	u32 pid;

	gp_skip_blanks(&text->p, text->end);
	if (!gp_trace_text_u32(text, &pid) || pid == 0 || pid > INT32_MAX)
		return false;
	event->pid = pid;
	gp_skip_blanks(&text->p, text->end);
	return true;
}

static bool take_tid(struct gp_trace_text *text, struct gp_event *event)
{
	gp_skip_blanks(&text->p, text->end);
	if (!gp_trace_text_hex(text, &event->tid) || !GP_TEXT_LITERAL(text, "]"))
		return false;
	event->valid |= GP_EV_TID;
	return true;
}

/* "[pid:42    tid:0x7f6120d0e5a0]" and its variations, 5.7 and later. */
static bool take_bracket(struct gp_trace_text *text, struct gp_event *event)
{
	/* The pid is whole only if something follows it: "[pid:8823" may be the start of 88231. */
	if (!take_pid(text, event) || !GP_TEXT_LITERAL(text, "tid:"))
		return false;
	event->valid |= GP_EV_PID;
	return take_tid(text, event);
}

/* "4242 : [tid:0x7f6120d0e5a0]", 4.5 to 5.6. A message may start with a number too. */
static bool take_bare(struct gp_trace_text *text, struct gp_event *event)
{
	const char *start = text->p;

	if (take_pid(text, event) && GP_TEXT_LITERAL(text, ":")) {
		gp_skip_blanks(&text->p, text->end);
		if (GP_TEXT_LITERAL(text, "[tid:")) {
			event->valid |= GP_EV_PID;
			return take_tid(text, event);
		}
	}
	text->p = start;
	return true;
}

/* Where a head that starts at p would be kept: by its last digits, which differ between threads. */
static struct gp_trace_head *head_slot(struct gp_trace_head_cache *cache,
				       const struct gp_trace_text *text)
{
	u64 tail;

	if (cache->last_len < sizeof(tail) || (size_t)(text->end - text->p) < cache->last_len)
		return &cache->slots[0];
	memcpy(&tail, text->p + cache->last_len - sizeof(tail), sizeof(tail));
	return &cache->slots[tail * 0x9e3779b97f4a7c15u >> 60];
}

/* "[pid:" is next. */
static bool cached_bracket(struct gp_trace_head_cache *cache, struct gp_trace_text *text,
			   struct gp_event *event)
{
	struct gp_trace_head *head = head_slot(cache, text);
	const char *start = text->p;
	size_t len;

	if (head->len && (size_t)(text->end - text->p) >= head->len &&
	    memcmp(text->p, head->text, head->len) == 0) {
		event->pid = head->pid;
		event->tid = head->tid;
		event->valid |= GP_EV_PID | GP_EV_TID;
		text->p += head->len;
		return true;
	}
	text->p += sizeof("[pid:") - 1;
	if (!take_bracket(text, event))
		return false;
	len = (size_t)(text->p - start);
	if (len <= GP_HEAD_MAX) {
		cache->last_len = len;
		head = head_slot(cache, &(struct gp_trace_text){.p = start, .end = text->end});
		head->len = (u8)len;
		memcpy(head->text, start, len);
		head->pid = event->pid;
		head->tid = event->tid;
	}
	return true;
}

bool gp_trace_amdlog_head(const struct gp_trace_prefix *prefix, struct gp_trace_head_cache *cache,
			  struct gp_trace_text *text, struct gp_event *event)
{
	if (prefix->us <= TIME_LIMIT_US) {
		event->time_ns = prefix->us * 1000;
		event->valid |= GP_EV_TIME;
	}
	gp_skip_blanks(&text->p, text->end);
	if (text->p == text->end)
		return !text->cut;
	if (text->end - text->p > 5 && memcmp(text->p, "[pid:", 5) == 0)
		return cached_bracket(cache, text, event);
	if (gp_is_digit(*text->p))
		return take_bare(text, event);
	return true;
}
