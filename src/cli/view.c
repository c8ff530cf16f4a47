// SPDX-License-Identifier: MIT
/* Prints an answer in the format that was asked for, once or repeatedly: see view.h. */
#include "cli/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/repeat.h"
#include "show/term.h"

/* ---- options ---- */

bool gp_cli_view_has(int id)
{
	return id == GP_VIEW_JSON || id == GP_VIEW_WATCH || id == GP_VIEW_COUNT ||
	       id == GP_VIEW_FORMAT;
}

static int set_format(struct gp_cli_view *view, const struct gp_command *command, const char *value)
{
	if (strcmp(value, "text") == 0)
		view->format = GP_SHOW_TEXT;
	else if (strcmp(value, "json") == 0)
		view->format = GP_SHOW_JSON;
	else if (strcmp(value, "csv") == 0)
		view->format = GP_SHOW_CSV;
	else
		return gp_usage_error(command, "invalid format '%s' (text, json or csv)", value);
	return 0;
}

int gp_cli_view_set(struct gp_cli_view *view, const struct gp_command *command, int id,
		    const char *value)
{
	switch (id) {
	case GP_VIEW_JSON:
		view->format = GP_SHOW_JSON;
		return 0;
	case GP_VIEW_FORMAT:
		return set_format(view, command, value);
	case GP_VIEW_COUNT:
		return gp_option_count(command, "count", value, 1, UINT64_MAX, &view->count);
	default:
		view->watch = true;
		return value ? gp_option_duration(command, "watch", value, GP_REPEAT_MIN,
						  GP_REPEAT_MAX, &view->interval_ns)
			     : 0;
	}
}

int gp_cli_view_check(const struct gp_cli_view *view, const struct gp_command *command)
{
	if (view->count && !view->watch)
		return gp_usage_error(command, "--count needs --watch");
	return GP_EXIT_OK;
}

bool gp_cli_view_colour(const struct gp_cli_view *view)
{
	return view->colour == GP_COLOUR_ALWAYS ||
	       (view->colour == GP_COLOUR_AUTO && gp_term_colour(stdout));
}

/* ---- readings ---- */

struct run {
	const struct gp_cli_view *view;
	struct gp_command_diag *sink;
	int (*make)(void *ctx, struct gp_doc **doc);
	void *ctx;
	bool colour, screen;
	bool again;  /* there was a reading before */
	bool failed; /* the last reading, on a screen */
	int error;   /* of the last reading that was printed */
	char *said;  /* messages of the last reading */
};

/* At most one screen, so that the top of the table stays in place. */
static int print_screen(const struct gp_doc *doc, enum gp_show_format format, FILE *screen)
{
	size_t lines = gp_term_lines(stdout), size, left = 0;
	char *text = NULL, *end;
	FILE *stream = open_memstream(&text, &size);
	int error;

	if (!stream)
		return -ENOMEM;
	error = gp_show_print(doc, stream, format);
	if (fclose(stream) && !error)
		error = -ENOMEM;
	end = text;
	for (size_t shown = 0; !error && *end; end = strchrnul(end, '\n')) {
		end += *end == '\n';
		if (lines > 2 && shown++ >= lines - 2)
			break;
	}
	for (const char *rest = end; !error && *rest; rest++)
		left += *rest == '\n';
	if (!error)
		fwrite(text, 1, (size_t)(end - text), screen);
	if (left)
		fprintf(screen,
			ngettext("... %zu more line\n", "... %zu more lines\n",
				 (unsigned long)left),
			left);
	free(text);
	return error;
}

static int print(const struct run *run, struct gp_doc *doc, FILE *stream)
{
	enum gp_show_format format = run->view->format;
	struct timespec now;
	char time[48];

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(time, sizeof(time), "%lld.%03ld", (long long)now.tv_sec, now.tv_nsec / 1000000);
	if (format == GP_SHOW_CSV)
		return gp_show_print_csv(doc, stream,
					 &(struct gp_show_csv){.header = !run->again,
							       .time = run->view->watch ? time
											: NULL});
	if (format == GP_SHOW_JSON && run->view->watch) {
		gp_doc_fact(doc, "time", NULL,
			    gp_v_real(GP_UNIT_REAL,
				      (double)now.tv_sec + (double)now.tv_nsec / 1e9));
		return gp_show_print(doc, stream, GP_SHOW_JSON_LINE);
	}
	if (format == GP_SHOW_JSON)
		return gp_show_print(doc, stream, format);
	format = run->colour ? GP_SHOW_COLOUR : GP_SHOW_TEXT;
	if (run->screen)
		return print_screen(doc, format, stream);
	if (run->again)
		putc('\n', stream);
	return gp_show_print(doc, stream, format);
}

/* Messages of this reading: below the answer on a screen, else on stderr unless they were there. */
static void show_messages(struct run *run, char *messages, FILE *stream)
{
	if (run->failed)
		; /* shown when the screen has gone */
	else if (run->screen && *messages)
		fprintf(stream, "\n%s", messages);
	else if (!run->said || strcmp(run->said, messages) != 0)
		fputs(messages, stderr);
	free(run->said);
	run->said = messages;
}

/* What failed is there again soon; nothing is known of it if the first reading fails. */
static bool passes(const struct run *run, int error)
{
	return error && run->again && run->view->watch && run->view->passes &&
	       run->view->passes(error);
}

static int take(void *ctx, FILE *stream)
{
	struct run *run = ctx;
	struct gp_doc *doc = NULL;
	char *messages = NULL;
	size_t size;
	int error;

	run->sink->kept = run->view->watch ? open_memstream(&messages, &size) : NULL;
	error = run->make(run->ctx, &doc);
	/* What is known is printed, also if the rest could not be read. The stream is memory: only
	 * a lack of it can fail. */
	if (doc) {
		run->error = error;
		error = print(run, doc, stream) ? -ENOMEM : 0;
	}
	if (run->sink->kept) {
		fclose(run->sink->kept);
		run->sink->kept = NULL;
		run->failed = error && run->screen && !passes(run, error);
		show_messages(run, messages, stream);
	}
	gp_doc_free(doc);
	if (passes(run, error))
		error = 0;
	run->again = true;
	return error;
}

static int run_with(struct run *run)
{
	const struct gp_cli_view *view = run->view;
	struct gp_cli_repeat repeat = {.diag = &run->sink->diag,
				       .once = !view->watch,
				       .interval_ns =
					       view->interval_ns ? view->interval_ns : GP_NS_PER_S,
				       .count = view->count,
				       .redraw = run->screen};
	int error = gp_cli_repeat_run(&repeat, take, run);

	if (run->failed)
		fputs(run->said, stderr);
	free(run->said);
	return error ? error : run->error;
}

int gp_cli_view_run(const struct gp_cli_view *view, struct gp_command_diag *sink,
		    int (*make)(void *ctx, struct gp_doc **doc), void *ctx)
{
	return run_with(&(struct run){.view = view,
				      .sink = sink,
				      .make = make,
				      .ctx = ctx,
				      .colour = gp_cli_view_colour(view),
				      .screen = view->watch && !view->scroll &&
						!gp_cli_view_is_data(view) &&
						isatty(STDOUT_FILENO)});
}
