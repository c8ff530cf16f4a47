// SPDX-License-Identifier: MIT
#include "trace/read/hsakmt.h"

#include <errno.h>
#include <string.h>

#include "base/i18n.h"
#include "base/parse.h"

#define CALL "[hsaKmt"

struct reader {
	gp_event_fn fn;
	void *ctx;
	struct gp_trace_hsakmt_stats *stats;
};

/* Of libhsakmt's fmm.c, queues.c and openclose.c, as seen with level 7. */
static const char *const sentences[] = {
	"acquiring VM for ",          "Initialized unreserved SVM apertures",
	"mem_handle_aperture start ", "SVM alignment default order is ",
	"Allocating GTT for CWSR",
};

/* The first sentence in [p, end), or NULL. */
static const char *find_sentence(const char *p, const char *end)
{
	const char *first = memmem(p, (size_t)(end - p), CALL, sizeof(CALL) - 1);

	for (size_t i = 0; i < GP_ARRAY_SIZE(sentences); i++) {
		const char *found =
			memmem(p, (size_t)(end - p), sentences[i], strlen(sentences[i]));

		if (found && (!first || found < first))
			first = found;
	}
	return first;
}

static void describe(const char *p, const char *end, struct gp_event *event)
{
	const char *close = *p == '[' ? memchr(p, ']', (size_t)(end - p)) : NULL;

	event->kind = close ? GP_EVENT_API_ENTER : GP_EVENT_POINT;
	event->name = close ? p + 1 : "hsakmt";
	event->name_len = close ? (size_t)(close - p - 1) : strlen("hsakmt");
	if (close)
		p = close + 1;
	gp_skip_blanks(&p, end);
	event->text = p;
	event->text_len = (size_t)(end - p);
}

static int take_line(void *ctx, const struct gp_line *line)
{
	struct reader *reader = ctx;
	const char *p = line->text, *end = p + line->len, *next;
	int ret = 0;

	p = find_sentence(p, end);
	if (!p)
		reader->stats->unknown += line->len > 0;
	/* Where the newline is missing, the next sentence begins in the same line. */
	for (; p && !ret; p = next) {
		struct gp_event event = {.line = line->number};

		next = p + 1 < end ? find_sentence(p + 1, end) : NULL;
		describe(p, next ? next : end, &event);
		reader->stats->recognised++;
		if (reader->fn)
			ret = reader->fn(reader->ctx, &event);
	}
	return ret;
}

int gp_trace_hsakmt_read(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn, void *ctx,
			 struct gp_trace_hsakmt_stats *stats)
{
	struct reader reader = {.fn = fn, .ctx = ctx, .stats = stats};
	int ret;

	memset(stats, 0, sizeof(*stats));
	ret = gp_lines_read(fd, name, diag, take_line, &reader, &stats->lines);
	if (!ret && !stats->recognised)
		ret = gp_fail(diag, -EINVAL,
			      "%s: no libhsakmt output. Run the program with HSAKMT_DEBUG_LEVEL=7 "
			      "and save its standard error",
			      name);
	return ret;
}
