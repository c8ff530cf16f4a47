// SPDX-License-Identifier: MIT
#include "show/term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "base/clock.h"
#include "base/i18n.h"
#include "base/utf8.h"

#define GP_PROGRESS_AFTER_NS GP_NS_PER_S /* shorter work needs no progress line */
#define GP_PROGRESS_EVERY_NS 200000000ull
#define GP_MIB               (1024.0 * 1024.0)

bool gp_term_colour(FILE *out)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if ((no_color && *no_color) || (term && strcmp(term, "dumb") == 0))
		return false;
	return isatty(fileno(out)) == 1;
}

size_t gp_term_lines(FILE *out)
{
	struct winsize size;

	return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

const char *gp_term_colour_code(enum gp_show_colour colour)
{
	switch (colour) {
	case GP_BOLD:
		return "\033[1m";
	case GP_DIM:
		return "\033[2m";
	case GP_RED:
		return "\033[31m";
	case GP_GREEN:
		return "\033[32m";
	case GP_YELLOW:
		return "\033[33m";
	case GP_REVERSE:
		return "\033[7m";
	case GP_PLAIN:
		break;
	}
	return "\033[0m";
}

size_t gp_term_width(const char *text)
{
	mbstate_t state = {0};
	size_t width = 0, len = strlen(text);

	while (len) {
		wchar_t wide;
		size_t step = mbrtowc(&wide, text, len, &state);
		int cells;

		if (step == (size_t)-1 || step == (size_t)-2 || step == 0) {
			/* Not valid in this locale: one cell per byte, as terminals do. */
			state = (mbstate_t){0};
			step = 1;
			cells = 1;
		} else {
			cells = wcwidth(wide);
		}
		width += cells > 0 ? (size_t)cells : 0;
		text += step;
		len -= step;
	}
	return width;
}

void gp_progress_start(struct gp_progress *progress, struct gp_diag *diag)
{
	u64 now = gp_monotonic_ns();

	*progress = (struct gp_progress){.wanted = isatty(STDERR_FILENO) == 1,
					 .started_ns = now,
					 .last_ns = now,
					 .diag = diag};
}

static void progress_show(struct gp_progress *progress, u64 now)
{
	progress->last_ns = now;
	progress->shown = true;
	if (progress->diag)
		atomic_store(&progress->diag->progress, true);
}

/* Whether it is time to show something. */
static bool progress_due(struct gp_progress *progress, u64 now)
{
	if (now - progress->started_ns < GP_PROGRESS_AFTER_NS ||
	    now - progress->last_ns < GP_PROGRESS_EVERY_NS)
		return false;
	progress_show(progress, now);
	return true;
}

/* "name: 5 MiB / 10 MiB (50 %), 5 MiB/s, 1 s left" */
static void progress_put(const struct gp_progress *progress, const char *what, double done,
			 double total, const char *unit)
{
	double seconds = (double)(progress->last_ns - progress->started_ns) / 1e9;
	double rate = seconds > 0 ? done / seconds : 0;
	char name[64];

	snprintf(name, sizeof(name), "%s", what);
	gp_text_make_safe(name);
	fprintf(stderr, "\r\033[K%s: %.0f%s", name, done, unit);
	if (total > 0)
		fprintf(stderr, " / %.0f%s (%.0f %%)", total, unit, 100.0 * done / total);
	fprintf(stderr, ", %.0f%s/s", rate, unit);
	if (total > done && rate > 0)
		fprintf(stderr, _(", %.0f s left"), (total - done) / rate);
	fflush(stderr);
}

void gp_progress_update(struct gp_progress *progress, const char *what, u64 done, u64 total)
{
	if (progress && progress->wanted && progress_due(progress, gp_monotonic_ns()))
		progress_put(progress, what, (double)done / GP_MIB, (double)total / GP_MIB, " MiB");
}

void gp_progress_count(struct gp_progress *progress, const char *what, u64 done, u64 total)
{
	if (progress && progress->wanted && progress_due(progress, gp_monotonic_ns()))
		progress_put(progress, what, (double)done, (double)total, "");
}

void gp_progress_step(struct gp_progress *progress, const char *step)
{
	u64 now = gp_monotonic_ns();

	if (!progress || !progress->wanted)
		return;
	if (progress->step == step && now - progress->last_ns < GP_PROGRESS_EVERY_NS)
		return;
	progress->step = step;
	progress_show(progress, now);
	fprintf(stderr, "\r\033[K%s, %.0f s", step, (double)(now - progress->started_ns) / 1e9);
	fflush(stderr);
}

void gp_progress_end(struct gp_progress *progress)
{
	if (!progress || !progress->shown)
		return;
	fputs("\r\033[K", stderr);
	progress->shown = false;
	if (progress->diag)
		atomic_store(&progress->diag->progress, false);
}
