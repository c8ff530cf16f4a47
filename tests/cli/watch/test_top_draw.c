// SPDX-License-Identifier: MIT
/* The screen of top, drawn without a terminal. */
#include <locale.h>
#include <string.h>

#include "cli/watch/top_screen.h"
#include "testlib.h"

static char *text_of(const struct gp_cli_canvas *canvas)
{
	struct gp_buf out = {0};

	gp_cli_canvas_text(canvas, &out);
	return out.data;
}

static void text_is_cut_by_columns_and_cannot_move_the_cursor(void **state)
{
	struct gp_cli_canvas canvas = {0};
	char *text;

	(void)state;
	assert_int_equal(gp_cli_canvas_begin(&canvas, 8, 3), 0);
	assert_int_equal(gp_cli_canvas_put(&canvas, 0, 0, 3, "\xe4\xb8\xad\xe6\x96\x87", 0), 2);
	gp_cli_canvas_put(&canvas, 1, 0, 8, "a\x1b[2J\x9b", GP_STYLE_RIGHT);
	gp_cli_canvas_put(&canvas, 2, 6, 8, "long", 0);
	gp_cli_canvas_put(&canvas, 9, 0, 8, "outside", 0);
	text = text_of(&canvas);
	assert_string_equal(text, "\xe4\xb8\xad\n  a?[2J?\n      lo\n");
	free(text);
	gp_cli_canvas_free(&canvas);
}

static void a_chart_uses_its_lines_and_shows_unknown_as_nothing(void **state)
{
	const u8 percent[] = {GP_TOP_UNKNOWN, 0, 50, 100};
	struct gp_cli_canvas canvas = {.ascii = true};
	struct gp_buf line = {0};
	char *text;

	(void)state;
	assert_int_equal(gp_cli_canvas_begin(&canvas, 6, 2), 0);
	gp_cli_canvas_chart(&canvas, 0, 0, 6, 2, percent, 4, 0);
	text = text_of(&canvas);
	assert_string_equal(text, "     #\n    ##\n");
	free(text);
	gp_cli_sparkline(&line, percent, 4, 3, true);
	assert_string_equal(gp_buf_str(&line), " =#");
	gp_buf_free(&line);
	gp_cli_canvas_free(&canvas);
}

enum { JOBS = 20, GPUS = 8 };

/* Jobs that had the GPU half of the time since the last reading. */
static void fill(struct gp_cli_top_screen *screen, struct gp_proto_msg_job *jobs, u64 now)
{
	*screen = (struct gp_cli_top_screen){.connected = true,
					     .interval_ns = GP_NS_PER_S,
					     .rates = screen->rates,
					     .canvas = screen->canvas};
	screen->top.status = (struct gp_proto_msg_daemon_status){.mode = 1,
								 .jobs = JOBS,
								 .now_ns = now,
								 .latency_target_us = 5000};
	screen->top.jobs = jobs;
	screen->top.job_count = JOBS;
	screen->top.device_count = GPUS;
	screen->top.rates = &screen->rates;
	for (u32 i = 0; i < GPUS; i++)
		screen->top.devices[i] =
			(struct gp_proto_msg_device){.gpu_id = 100 + i, .busy_ns = now / 2};
	for (u32 i = 0; i < JOBS; i++) {
		jobs[i] = (struct gp_proto_msg_job){.id = i + 1,
						    .pid = 1000 + i,
						    .gpu_id = 100 + i % GPUS,
						    .job_class = GP_CLASS_ONLINE,
						    .busy_queues = 1,
						    .queues = 1,
						    .latency_count = 1,
						    .latency_p99_ns = 7 * GP_NS_PER_MS,
						    .held_since = GP_DAEMON_NEVER,
						    .backlog = GP_DAEMON_UNKNOWN,
						    .ran_ns = now / 2};
		snprintf(jobs[i].name, sizeof(jobs[i].name), "name-%u", i);
	}
	screen->selected = 1;
	assert_int_equal(gp_cli_top_rates_note(&screen->rates, &screen->top), 0);
}

static char *drawn(struct gp_cli_top_screen *screen, int width, int height)
{
	screen->canvas.ascii = true;
	assert_int_equal(gp_cli_canvas_begin(&screen->canvas, width, height), 0);
	gp_cli_top_draw(screen);
	return text_of(&screen->canvas);
}

static void wanted_columns_stay_at_every_width(void **state)
{
	static const char *const wanted[] = {"PID",  " GPU ", "STATE", "P99",
					     "NAME", "7 ms",  "name-0"};
	static const int sizes[][2] = {{60, 20}, {80, 24}, {120, 40}, {200, 60}};
	struct gp_proto_msg_job jobs[JOBS];
	struct gp_cli_top_screen screen = {0};

	(void)state;
	fill(&screen, jobs, 1000 * GP_NS_PER_S);
	fill(&screen, jobs, 1001 * GP_NS_PER_S);
	for (size_t i = 0; i < GP_ARRAY_SIZE(sizes); i++) {
		char *text = drawn(&screen, sizes[i][0], sizes[i][1]);

		for (size_t k = 0; k < GP_ARRAY_SIZE(wanted); k++)
			assert_non_null(strstr(text, wanted[k]));
		assert_non_null(strstr(text, "50%"));
		assert_non_null(strstr(text, "target p99: 5 ms"));
		assert_true((strstr(text, "TREND") != NULL) == (sizes[i][0] >= 120));
		assert_true((strstr(text, "more below") != NULL) == (sizes[i][1] < 30));
		free(text);
	}
	gp_cli_top_rates_free(&screen.rates);
	gp_cli_canvas_free(&screen.canvas);
}

static void keys_select_scroll_and_change_the_view(void **state)
{
	struct gp_proto_msg_job jobs[JOBS];
	struct gp_cli_top_screen screen = {0};
	char *text;

	(void)state;
	fill(&screen, jobs, GP_NS_PER_S);
	free(drawn(&screen, 80, 24));
	gp_cli_top_move(&screen, 1000);
	assert_int_equal(screen.selected, JOBS);
	text = drawn(&screen, 80, 24);
	assert_non_null(strstr(text, "name-19"));
	assert_non_null(strstr(text, ", 0 more below"));
	free(text);
	gp_cli_top_click(&screen, screen.jobs_y);
	assert_int_equal(screen.selected, screen.first_job + 1);
	gp_cli_top_key(&screen, '?');
	text = drawn(&screen, 80, 24);
	assert_non_null(strstr(text, "any key goes back"));
	free(text);
	gp_cli_top_key(&screen, 'x');
	assert_int_equal(screen.mode, GP_TOP_LIST);
	gp_cli_top_rates_free(&screen.rates);
	gp_cli_canvas_free(&screen.canvas);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_cut_by_columns_and_cannot_move_the_cursor),
		cmocka_unit_test(a_chart_uses_its_lines_and_shows_unknown_as_nothing),
		cmocka_unit_test(wanted_columns_stay_at_every_width),
		cmocka_unit_test(keys_select_scroll_and_change_the_view),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
