// SPDX-License-Identifier: MIT
/* Rows of columns, and those of top. */
#include <string.h>

#include "cli/watch/top_view.h"
#include "printed.h"

static void text_is_in_the_order_of_places_and_json_in_that_of_calls(void **state)
{
	struct gp_cli_row row = {.part = GP_CLI_TEXT};
	struct gp_doc *doc = gp_doc_new_answer();
	json_t *json;
	char *text;

	(void)state;
	for (int part = GP_CLI_JSON; part <= GP_CLI_TEXT; part++) {
		row.part = (enum gp_cli_part)part;
		gp_doc_table(doc, part == GP_CLI_JSON ? "rows" : NULL, NULL);
		for (int pass = 0; pass < 2; pass++) {
			gp_cli_put(&row, "b", "B", GP_CLI_AT(2), gp_v_count(2));
			gp_cli_put(&row, "a", "A", GP_CLI_AT(1), gp_v_count(1));
			gp_cli_put(&row, "j", NULL, 0, gp_v_json(json_array()));
			gp_cli_put(&row, NULL, "T", GP_CLI_AT(3), gp_v_text("t"));
			if (!pass)
				gp_cli_row_columns(&row, doc);
		}
		gp_cli_row_cells(&row, doc);
	}
	json = gp_doc_json(doc);
	text = json_dumps(json, JSON_COMPACT);
	assert_string_equal(text, "{\"rows\":[{\"b\":2,\"a\":1,\"j\":[]}]}");
	free(text);
	json_decref(json);
	text = text_of(doc);
	assert_string_equal(text, "A  B  T\n1  2  t\n");
	free(text);
}

static void texts_of_a_row_are_cut_when_it_is_full(void **state)
{
	struct gp_cli_row row = {.part = GP_CLI_TEXT};
	char large[2 * GP_CLI_ROW_TEXT];
	const char *first, *second;

	(void)state;
	memset(large, 'x', sizeof(large));
	large[sizeof(large) - 1] = '\0';
	first = gp_cli_text(&row, "%s", "first");
	second = gp_cli_text(&row, "%s", large);
	assert_string_equal(first, "first");
	assert_int_equal(strlen(second), GP_CLI_ROW_TEXT - sizeof("first") - 1);
	assert_string_equal(gp_cli_text(&row, "more"), "");
	gp_cli_row_clear(&row);
	assert_string_equal(gp_cli_text(&row, "again"), "again");
}

static struct gp_cli_top_data two_jobs(struct gp_proto_msg_job jobs[2])
{
	struct gp_cli_top_data top = {.status = {.mode = 1, .pid = 7, .jobs = 2, .held = 1},
				      .jobs = jobs,
				      .job_count = 2};

	jobs[0] = (struct gp_proto_msg_job){.id = 1,
					    .pid = 100,
					    .queues = 2,
					    .priority = 500,
					    .run = GP_DAEMON_SUSPENDED,
					    .held_ns = 3000000,
					    .held_for = 200,
					    .backlog = GP_DAEMON_UNKNOWN,
					    .name = "batch"};
	jobs[1] = (struct gp_proto_msg_job){.id = 2,
					    .pid = 200,
					    .queues = 1,
					    .busy_queues = 1,
					    .priority = 2000,
					    .ran_ns = 5000000,
					    .held_since = GP_DAEMON_NEVER,
					    .held_for = GP_DAEMON_NONE,
					    .backlog = 4,
					    .name = "server"};
	return top;
}

static void top_shows_in_json_what_it_shows_in_the_table(void **state)
{
	struct gp_proto_msg_job jobs[2];
	struct gp_cli_top_data top = two_jobs(jobs);
	json_t *json = json_of(gp_cli_top_doc(&top, "")), *job;
	char *text = text_of(gp_cli_top_doc(&top, "priority"));

	(void)state;
	assert_non_null(strstr(text, "gpreemptd (pid 7), mode act: 2 jobs, 1 held\n"));
	assert_non_null(
		strstr(text, "The driver's built-in scheduler is also active (policy priority)"));
	assert_non_null(strstr(text, "held        0/2        -"));
	assert_non_null(strstr(text, "running     1/1        4"));
	free(text);
	job = json_array_get(json_object_get(json, "jobs"), 0);
	assert_string_equal(json_string_value(json_object_get(job, "state")), "suspended");
	assert_int_equal(json_integer_value(json_object_get(job, "held_ns")), 3000000);
	assert_int_equal(json_integer_value(json_object_get(job, "held_for")), 200);
	assert_true(json_is_null(json_object_get(job, "backlog")));
	assert_true(json_is_null(json_object_get(json, "driver")));
	job = json_array_get(json_object_get(json, "jobs"), 1);
	assert_true(json_is_null(json_object_get(job, "held_for")));
	assert_int_equal(json_integer_value(json_object_get(job, "backlog")), 4);
	json_decref(json);
}

static void jobs_are_sorted_by_what_was_asked_for(void **state)
{
	struct gp_proto_msg_job jobs[2];
	struct gp_cli_top_data top = two_jobs(jobs);

	(void)state;
	gp_cli_top_arrange(&top, GP_TOP_PRIORITY, NULL);
	assert_int_equal(top.jobs[0].pid, 200);
	gp_cli_top_arrange(&top, GP_TOP_HELD, NULL);
	assert_int_equal(top.jobs[0].pid, 100);
	gp_cli_top_arrange(&top, GP_TOP_RAN, NULL);
	assert_int_equal(top.jobs[0].pid, 200);
	gp_cli_top_arrange(&top, GP_TOP_PID, NULL);
	assert_int_equal(top.jobs[0].pid, 100);
	gp_cli_top_arrange(&top, GP_TOP_PREEMPTIONS, "serv");
	assert_int_equal(top.job_count, 1);
	assert_int_equal(top.jobs[0].pid, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_in_the_order_of_places_and_json_in_that_of_calls),
		cmocka_unit_test(texts_of_a_row_are_cut_when_it_is_full),
		cmocka_unit_test(top_shows_in_json_what_it_shows_in_the_table),
		cmocka_unit_test(jobs_are_sorted_by_what_was_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
