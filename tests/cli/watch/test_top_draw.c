// SPDX-License-Identifier: MIT
/* The screen of top, drawn without a terminal. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include <ncurses.h>

#include "cli/watch/top_screen.h"
#include "sched/sched.h"
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

/* A job of three processes, of which the driver lists two. */
static void the_tree_lists_the_processes_of_a_group(void **state)
{
	struct gp_gpu_usage usage = {.gpu_id = 100,
				     .valid = GP_USAGE_VRAM | GP_USAGE_OCCUPANCY,
				     .vram_bytes = 3 << 20,
				     .cu_occupancy = 7};
	struct gp_gpu_process processes[] = {{.pid = 1000, .usages = &usage, .usage_count = 1},
					     {.pid = 1001, .usages = &usage, .usage_count = 1}};
	struct gp_inspect_ps_row rows[] = {{.gpu = &processes[0]}, {.gpu = &processes[1]}};
	struct gp_cli_top_member members[] = {{1000, 1}, {1001, 1}};
	struct gp_proto_msg_job jobs[JOBS];
	struct gp_cli_top_screen screen = {0};
	char command[] = "trainer --rank 1", *text;

	(void)state;
	fill(&screen, jobs, GP_NS_PER_S);
	strcpy(rows[1].process.command, command);
	jobs[0].processes = 3;
	screen.top.job_count = 2;
	screen.top.machine.rows = rows;
	screen.top.machine.count = 2;
	screen.top.machine.processes.items = processes;
	screen.top.machine.processes.count = 2;
	screen.top.members = members;
	screen.top.member_count = 2;
	text = drawn(&screen, 80, 24);
	assert_null(strstr(text, "rank 1"));
	free(text);
	screen.tree = true;
	text = drawn(&screen, 80, 24);
	assert_non_null(strstr(text, "|- 1000  VRAM 3.0 MiB  CUS 7"));
	assert_non_null(strstr(text, "|- 1001  VRAM 3.0 MiB  CUS 7  trainer --rank 1"));
	assert_non_null(strstr(text, "`- 1 process that does not use a GPU now"));
	free(text);
	/* The memory of a job is that of all its processes. */
	text = drawn(&screen, 200, 40);
	assert_non_null(strstr(text, "6.0 MiB"));
	free(text);
	gp_cli_top_rates_free(&screen.rates);
	gp_cli_canvas_free(&screen.canvas);
}

static void the_detail_names_the_gpu_in_hex_and_shows_queues_and_why(void **state)
{
	struct gp_proto_msg_job jobs[JOBS];
	struct gp_cli_top_screen screen = {0};
	char why[] = "It has been held for 4 ms, to make room for pid 7.\n", *text;

	(void)state;
	fill(&screen, jobs, GP_NS_PER_S);
	screen.mode = GP_TOP_DETAIL;
	jobs[0].gpu_id = screen.top.devices[0].gpu_id = 0xbe32;
	screen.queues[0] = (struct gp_cli_top_queue){.pid = 1000,
						     .id = 3,
						     .gpu_id = 0xbe32,
						     .type = "compute",
						     .ring_bytes = 262144,
						     .work = GP_SCHED_BUSY,
						     .since_ns = GP_NS_PER_S / 2};
	screen.queue_count = 1;
	screen.why = why;
	screen.lines[0] = (struct gp_cli_top_line){GP_NS_PER_S - GP_NS_PER_MS, "first"};
	screen.lines[1] = (struct gp_cli_top_line){GP_NS_PER_S, "second"};
	screen.line_count = 2;
	text = drawn(&screen, 80, 24);
	assert_non_null(strstr(text, "GPU             0: 0xbe32\n"));
	assert_non_null(strstr(text, "queue 3 of process 1000, GPU 0, compute, ring of 256.0 KiB, "
				     "busy for 500 ms"));
	assert_non_null(strstr(text, "It has been held for 4 ms, to make room for pid 7.\n"));
	assert_non_null(strstr(text, "just now: second\n 1 ms ago: first\n"));
	assert_null(strstr(text, "gpu_id"));
	assert_null(strstr(text, "busy_queues"));
	free(text);
	gp_cli_top_rates_free(&screen.rates);
	gp_cli_canvas_free(&screen.canvas);
}

/* At 80x24 a job with a history is longer than the screen. */
static void the_detail_is_scrolled_and_stays_with_its_job(void **state)
{
	struct gp_proto_msg_job jobs[JOBS];
	struct gp_cli_top_screen screen = {0};
	char *text;

	(void)state;
	fill(&screen, jobs, GP_NS_PER_S);
	screen.mode = GP_TOP_DETAIL;
	screen.why = strdup("It runs.\n");
	for (u32 i = 0; i < 40; i++) {
		screen.lines[i].at_ns = GP_NS_PER_S;
		snprintf(screen.lines[i].text, sizeof(screen.lines[i].text), "line-%u.", i);
	}
	screen.line_count = 40;
	text = drawn(&screen, 80, 24);
	assert_non_null(strstr(text, "line-39."));
	assert_null(strstr(text, "line-0."));
	assert_non_null(strstr(text, "lines: 0 more above, "));
	assert_non_null(strstr(text, "Left Right other job"));
	free(text);
	gp_cli_top_key(&screen, KEY_NPAGE);
	text = drawn(&screen, 80, 24);
	assert_null(strstr(text, "It runs."));
	assert_non_null(strstr(text, "line-20."));
	assert_int_equal(screen.selected, 1);
	free(text);
	gp_cli_top_key(&screen, KEY_END);
	text = drawn(&screen, 80, 24);
	assert_non_null(strstr(text, "line-0."));
	assert_non_null(strstr(text, " 0 more below"));
	free(text);
	gp_cli_top_key(&screen, KEY_UP);
	text = drawn(&screen, 80, 24);
	assert_non_null(strstr(text, " 1 more below"));
	free(text);
	gp_cli_top_key(&screen, KEY_RIGHT);
	assert_int_equal(screen.selected, 2);
	assert_int_equal(screen.detail_first, 0);
	gp_cli_top_rates_free(&screen.rates);
	gp_cli_canvas_free(&screen.canvas);
}

/* NVIDIA without requests: no work is seen, and nothing is known of latencies. */
static void columns_and_lines_that_hold_nothing_are_left_out(void **state)
{
	static const char *const empty[] = {"P50", "P99", "BACKLOG", "BUSY%", "TREND"};
	struct gp_proto_msg_job jobs[JOBS];
	struct gp_cli_top_screen screen = {0};
	char *text;

	(void)state;
	fill(&screen, jobs, GP_NS_PER_S);
	for (u32 i = 0; i < JOBS; i++) {
		jobs[i].latency_count = 0;
		jobs[i].gpu_id |= GP_GPU_NVIDIA;
	}
	text = drawn(&screen, 200, 60);
	for (size_t i = 0; i < GP_ARRAY_SIZE(empty); i++)
		assert_null(strstr(text, empty[i]));
	assert_non_null(strstr(text, "no latency: no job announced a request"));
	free(text);
	jobs[3].latency_count = 1;
	text = drawn(&screen, 200, 60);
	assert_non_null(strstr(text, "P99"));
	assert_null(strstr(text, "no latency"));
	/* The policy is that of all GPUs: the first line has it, and only that. */
	assert_non_null(strstr(text, "policy none"));
	assert_null(strstr(strstr(text, "policy none") + 11, "none"));
	free(text);
	screen.top.devices[3].broken = 1;
	text = drawn(&screen, 200, 60);
	assert_null(strstr(text, "policy none"));
	assert_non_null(strstr(text, "disabled"));
	free(text);
	gp_cli_top_rates_free(&screen.rates);
	gp_cli_canvas_free(&screen.canvas);
}

/* Where the list leaves room; a screen that is full has none. */
static void the_last_decisions_are_below_the_list(void **state)
{
	struct gp_proto_msg_job jobs[JOBS];
	struct gp_cli_top_screen screen = {0};
	char *text;

	(void)state;
	fill(&screen, jobs, GP_NS_PER_S);
	screen.lines[0] = (struct gp_cli_top_line){GP_NS_PER_S - GP_NS_PER_MS, "first"};
	screen.lines[1] = (struct gp_cli_top_line){GP_NS_PER_S, "second"};
	screen.line_count = 2;
	text = drawn(&screen, 120, 40);
	assert_non_null(strstr(text, "Last decisions, newest first\n just now: second\n 1 ms ago: "
				     "first\n"));
	free(text);
	text = drawn(&screen, 80, 24);
	assert_null(strstr(text, "Last decisions"));
	free(text);
	gp_cli_top_rates_free(&screen.rates);
	gp_cli_canvas_free(&screen.canvas);
}

static void without_a_daemon_it_says_what_is_missing(void **state)
{
	struct gp_cli_daemon_client client = {.socket = -1};
	struct gp_cli_top_screen screen = {.client = &client, .said = "gpreemptd is not running"};
	char processes[] = "PID  GPUS\n4711  1\n", *text;

	(void)state;
	screen.processes = processes;
	text = drawn(&screen, 80, 24);
	assert_non_null(strstr(text, "no connection to gpreemptd\n\ngpreemptd is not running\n"));
	assert_non_null(strstr(text, "Processes that use a GPU now"));
	assert_non_null(strstr(text, "4711  1\n"));
	assert_non_null(strstr(text, "\nq quit  ? help  d interval\n"));
	free(text);
	gp_cli_canvas_free(&screen.canvas);
}

/* A line that is as long as the screen is wide was cut, or just fits. */
static void expect_uncut(const char *text, size_t width)
{
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") < width);
}

static void help_fits_80_columns_and_24_lines(void **state)
{
	struct gp_proto_msg_job jobs[JOBS];
	struct gp_cli_top_screen screen = {0};
	const char *last;
	char *text;

	(void)state;
	fill(&screen, jobs, GP_NS_PER_S);
	for (int width = 60; width < 140; width += 7) {
		text = drawn(&screen, width, 24);
		text[strlen(text) - 1] = '\0';
		last = strrchr(text, '\n') + 1;
		assert_true(strncmp(last, "q quit  ? help  Enter detail", 28) == 0);
		assert_true(strlen(last) < (size_t)width);
		free(text);
	}
	gp_cli_top_key(&screen, '?');
	text = drawn(&screen, 80, 24);
	expect_uncut(text, 80);
	assert_non_null(strstr(text, "driver reports."));
	free(text);
	gp_cli_top_rates_free(&screen.rates);
	gp_cli_canvas_free(&screen.canvas);
}

static void long_text_is_broken_at_blanks(void **state)
{
	struct gp_cli_canvas canvas = {0};
	char *text;

	(void)state;
	assert_int_equal(gp_cli_canvas_begin(&canvas, 8, 4), 0);
	assert_int_equal(gp_cli_canvas_wrap(&canvas, 0, 1, 4, "one two three", 0), 2);
	assert_int_equal(gp_cli_canvas_wrap(&canvas, 2, 0, 3, "abcdefghijkl", 0), 3);
	text = text_of(&canvas);
	assert_string_equal(text, " one two\n three\nabcdefgh\n\n");
	free(text);
	gp_cli_canvas_free(&canvas);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_cut_by_columns_and_cannot_move_the_cursor),
		cmocka_unit_test(a_chart_uses_its_lines_and_shows_unknown_as_nothing),
		cmocka_unit_test(wanted_columns_stay_at_every_width),
		cmocka_unit_test(keys_select_scroll_and_change_the_view),
		cmocka_unit_test(the_tree_lists_the_processes_of_a_group),
		cmocka_unit_test(the_detail_names_the_gpu_in_hex_and_shows_queues_and_why),
		cmocka_unit_test(the_detail_is_scrolled_and_stays_with_its_job),
		cmocka_unit_test(columns_and_lines_that_hold_nothing_are_left_out),
		cmocka_unit_test(the_last_decisions_are_below_the_list),
		cmocka_unit_test(without_a_daemon_it_says_what_is_missing),
		cmocka_unit_test(help_fits_80_columns_and_24_lines),
		cmocka_unit_test(long_text_is_broken_at_blanks),
	};

	setlocale(LC_ALL, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
