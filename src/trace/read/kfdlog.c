// SPDX-License-Identifier: MIT
#include "trace/read/kfdlog.h"

#include <errno.h>
#include <string.h>

#include "base/core.h"
#include "base/i18n.h"
#include "base/parse.h"

#define TRACE_MARK "[KFD-TRACE] "

struct reader {
	gp_event_fn fn;
	void *ctx;
	struct gp_trace_kfdlog_stats *stats;
	u32 pid; /* of the last comment that named one */
	bool has_pid;
};

/* Sentences of amdkfd (kfd_chardev.c, kfd_process_queue_manager.c, kfd_device_queue_manager.c; 6.1
 * to the 2026 DKMS tree). The text behind them is handed on as it is. */
static const char *const sentences[] = {
	"Creating queue ioctl",
	"Creating queue for ",
	"Queue Percentage: ",
	"Queue Priority: ",
	"Queue Address: ",
	"Queue Size: ",
	"Queue r/w Pointers: ",
	"Queue Format: ",
	"Queue EOP: ",
	"Queue CTX save area: ",
	"The new slot id ",
	"SDMA engine id: ",
	"SDMA queue id: ",
	"hqd slot - pipe ",
	"Loading mqd to hqd on pipe ",
	"Total of ",
	"PQM After DQM create queue",
	"PQM done creating queue",
	"Queue id ",
	"Ring buffer address == ",
	"Read ptr address == ",
	"Write ptr address == ",
	"Destroying queue id ",
	"Updating queue id ",
	"map_queues_cpsch sent runlist",
	"Building runlist ib process count: ",
	"Suspending PASID ",
	"Restoring PASID ",
};

/* Its start, and what it warns of: not about one queue. */
static const char *const general[] = {
	"Allocated ",
	"Total number of KFD nodes to be created: ",
	"HMM registered ",
	"added device ",
	"skipped device ",
	"Virtual CRAT table created for ",
	"Topology: Add ",
	"KFD node ",
	"kgd2kfd_probe failed",
	"Runlist is getting oversubscribed",
	"qcm fence wait loop timeout expired",
	"The cp might be in an unrecoverable state",
	"Failed to evict process queues",
	"Freeing queue vital buffer ",
};

bool gp_trace_text_key(const char *text, size_t len, const char *key, u64 *value)
{
	const char *end = text + len, *p = text;
	size_t key_len = strlen(key);

	while ((p = memmem(p, (size_t)(end - p), key, key_len)) != NULL) {
		const char *after = p + key_len;
		bool start = p == text || p[-1] == ' ' || p[-1] == ',' || p[-1] == '\t';

		p++;
		if (!start || !GP_PARSE_LITERAL(&after, end, "="))
			continue;
		if (end - after >= 2 && after[0] == '0' && after[1] == 'x') {
			if (!gp_parse_hex(&after, end, value))
				return false;
		} else if (!gp_parse_u64(&after, end, value)) {
			return false;
		}
		return after == end || *after == ' ' || *after == ',' || *after == ')';
	}
	return false;
}

/* "431.635174" as nanoseconds. */
static bool parse_seconds(const char **p, const char *end, u64 *ns)
{
	const char *q = *p;
	u64 seconds, fraction = 0, scale = GP_NS_PER_S;

	if (!gp_parse_u64(&q, end, &seconds) || seconds > UINT64_MAX / GP_NS_PER_S - 1 ||
	    q == end || *q != '.')
		return false;
	for (q++; q < end && gp_is_digit(*q) && scale > 1; q++) {
		scale /= 10;
		fraction += (u64)(*q - '0') * scale;
	}
	if (scale == GP_NS_PER_S)
		return false;
	while (q < end && gp_is_digit(*q))
		q++;
	*ns = seconds * GP_NS_PER_S + fraction;
	*p = q;
	return true;
}

bool gp_trace_kernel_time(const char **p, const char *end, u64 *ns)
{
	const char *q = *p;

	if (!GP_PARSE_LITERAL(&q, end, "["))
		return false;
	gp_skip_blanks(&q, end);
	if (!parse_seconds(&q, end, ns))
		return false;
	if (q < end && *q == ']') {
		*p = q + 1;
		return true;
	}
	return false;
}

/* The time of a line whose message starts at `message`: dmesg's, or the last "12.345678:" before.
 */
static bool line_time(const char *line, const char *message, struct gp_event *event)
{
	const char *p = line, *q;
	u64 ns;

	gp_skip_blanks(&p, message);
	if (gp_trace_kernel_time(&p, message, &ns)) {
		event->clock = GP_CLOCK_DMESG;
	} else {
		for (q = message; q > line; q--) {
			if (q[-1] != ':' || q - line < 2 || !gp_is_digit(q[-2]))
				continue;
			for (p = q - 1; p > line && (gp_is_digit(p[-1]) || p[-1] == '.'); p--)
				;
			if (parse_seconds(&p, q - 1, &ns) && p == q - 1)
				break;
		}
		if (q == line)
			return false;
		event->clock = GP_CLOCK_TRACE;
	}
	event->time_ns = ns;
	event->valid |= GP_EV_TIME;
	return true;
}

/* "# process 1 (PID=3932831)". */
static void take_comment(struct reader *reader, const char *p, const char *end)
{
	const char *found = memmem(p, (size_t)(end - p), "PID=", 4);
	u32 pid;

	if (!found)
		return;
	found += 4;
	if (gp_parse_u32(&found, end, &pid)) {
		reader->pid = pid;
		reader->has_pid = true;
	}
}

static int deliver(struct reader *reader, const struct gp_line *line, struct gp_event *event,
		   const char *message)
{
	u64 pid;

	event->kind = GP_EVENT_KFD;
	event->line = line->number;
	event->clock = GP_CLOCK_DMESG;
	line_time(line->text, message, event);
	if (gp_trace_text_key(event->text, event->text_len, "pid", &pid) && pid &&
	    pid <= INT32_MAX) {
		event->pid = (u32)pid;
		event->valid |= GP_EV_PID;
	} else if (reader->has_pid) {
		event->pid = reader->pid;
		event->valid |= GP_EV_PID;
		event->headless = true;
	}
	reader->stats->recognised++;
	return reader->fn ? reader->fn(reader->ctx, event) : 0;
}

/* "NAME: key=value ..."; a number at the end of a cut line may have lost digits: it is left out. */
static int take_trace(struct reader *reader, const struct gp_line *line, const char *p)
{
	const char *end = line->text + line->len, *message = p, *name = p;
	struct gp_event event = {0};

	while (p < end && ((*p >= 'A' && *p <= 'Z') || *p == '_' || gp_is_digit(*p)))
		p++;
	if (p == name || p == end || *p != ':')
		return 0;
	event.name = name;
	event.name_len = (size_t)(p - name);
	p++;
	gp_skip_blanks(&p, end);
	while (line->cut && end > p && end[-1] != ' ')
		end--;
	event.text = p;
	event.text_len = (size_t)(end - p);
	return deliver(reader, line, &event, message);
}

/* A dynamic-debug sentence behind "amdgpu: ". */
static int take_sentence(struct reader *reader, const struct gp_line *line, const char *p)
{
	const char *end = line->text + line->len;
	size_t queue = GP_ARRAY_SIZE(sentences), all = queue + GP_ARRAY_SIZE(general);

	for (size_t i = 0; i < all && !line->cut; i++) {
		const char *sentence = i < queue ? sentences[i] : general[i - queue];
		struct gp_event event = {0};
		const char *rest = p;

		if (!gp_parse_text(&rest, end, sentence, strlen(sentence)))
			continue;
		reader->stats->general += i >= queue;
		event.name = sentence;
		event.name_len = strlen(sentence);
		event.text = rest;
		event.text_len = (size_t)(end - rest);
		return deliver(reader, line, &event, p);
	}
	return 0;
}

static int take_line(void *ctx, const struct gp_line *line)
{
	struct reader *reader = ctx;
	const char *p = line->text, *end = p + line->len, *mark, *next;

	gp_skip_blanks(&p, end);
	if (p < end && *p == '#') {
		take_comment(reader, p, end);
		return 0;
	}
	mark = memmem(p, (size_t)(end - p), TRACE_MARK, sizeof(TRACE_MARK) - 1);
	if (mark)
		return take_trace(reader, line, mark + sizeof(TRACE_MARK) - 1);
	mark = NULL;
	for (next = p; (next = memmem(next, (size_t)(end - next), "amdgpu: ", 8)) != NULL;) {
		next += 8;
		mark = next;
	}
	return mark ? take_sentence(reader, line, mark) : 0;
}

int gp_trace_kfdlog_read(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn, void *ctx,
			 struct gp_trace_kfdlog_stats *stats)
{
	struct reader reader = {.fn = fn, .ctx = ctx, .stats = stats};
	int ret;

	memset(stats, 0, sizeof(*stats));
	ret = gp_lines_read(fd, name, diag, take_line, &reader, &stats->lines);
	if (!ret && !stats->lines.lines)
		return gp_fail(diag, -EINVAL, "%s is empty", name);
	if (!ret && !stats->recognised)
		ret = gp_fail(diag, -EINVAL,
			      "%s: no KFD message found in lines 1 to %llu. Load a driver with "
			      "[KFD-TRACE] messages, or enable those of the stock driver: echo "
			      "'module amdgpu +p' > /sys/kernel/debug/dynamic_debug/control",
			      name, (unsigned long long)stats->lines.lines);
	return ret;
}
