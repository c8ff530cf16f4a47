// SPDX-License-Identifier: MIT
/* Documents of commands: JSON without a wrapper, parts for people only or for JSON only. */
#include <errno.h>

#include "show/doc.h"
#include "show/page.h"
#include "show/parts.h"
#include "testlib.h"

static char *printed(const struct gp_doc *doc, enum gp_show_format format)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_int_equal(gp_show_print(doc, out, format), 0);
	fclose(out);
	return text;
}

static void expect(struct gp_doc *doc, enum gp_show_format format, const char *wanted)
{
	char *text = printed(doc, format);

	assert_string_equal(text, wanted);
	free(text);
}

/* Expects the text and the JSON, and frees the document. */
static void expect_both(struct gp_doc *doc, const char *text, const char *json)
{
	expect(doc, GP_SHOW_TEXT, text);
	expect(doc, GP_SHOW_JSON_LINE, json);
	gp_doc_free(doc);
}

static void an_answer_is_one_object_in_the_order_of_its_parts(void **state)
{
	struct gp_doc *doc = gp_doc_new_answer();

	(void)state;
	gp_doc_fact(doc, "pid", "Process", gp_v_count(4711));
	gp_doc_fact(doc, "name", "Name", gp_v_missing());
	gp_doc_table(doc, "queues", NULL);
	gp_doc_column(doc, "ring", "RING");
	gp_doc_column(doc, "size", "SIZE");
	gp_doc_cell(doc, gp_v_hex(0x7f00));
	gp_doc_cell(doc, gp_v_bytes(2048));
	gp_doc_fact(doc, "last", "Last", gp_v_bool(true));
	expect(doc, GP_SHOW_JSON,
	       "{\n  \"pid\": 4711,\n  \"name\": null,\n  \"queues\": [\n    {\n"
	       "      \"ring\": \"0x7f00\",\n      \"size\": 2048\n    }\n  ],\n"
	       "  \"last\": true\n}\n");
	expect_both(doc,
		    "Process: 4711\nName:    -\n\n  RING     SIZE\n0x7f00  2.0 KiB\n\nLast: yes\n",
		    "{\"pid\":4711,\"name\":null,\"queues\":[{\"ring\":\"0x7f00\",\"size\":2048}],"
		    "\"last\":true}\n");
}

static void without_a_key_for_people_without_a_title_for_json(void **state)
{
	struct gp_doc *doc = gp_doc_new_answer();

	(void)state;
	gp_doc_fact(doc, NULL, "Shown", gp_v_text("here"));
	gp_doc_fact(doc, "hidden", NULL, gp_v_count(1));
	gp_doc_fact(doc, NULL, "Also shown", gp_v_text("there"));
	gp_doc_line(doc, "%d lines of text", 1);
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "a", "A");
	gp_doc_column(doc, NULL, "B");
	gp_doc_column(doc, "c", NULL);
	gp_doc_cell(doc, gp_v_count(1));
	gp_doc_cell(doc, gp_v_count(2));
	gp_doc_cell(doc, gp_v_json(json_pack("[i, i]", 3, 4)));
	gp_doc_table(doc, "only_json", NULL);
	gp_doc_column(doc, "x", NULL);
	gp_doc_cell(doc, gp_v_text("x"));
	gp_doc_table(doc, NULL, NULL);
	gp_doc_column(doc, "x", "ONLY TEXT");
	gp_doc_cell(doc, gp_v_text("x"));
	expect_both(
		doc,
		"Shown:      here\nAlso shown: there\n1 lines of text\n\nA  B\n1  2\n\n"
		"ONLY TEXT\nx\n",
		"{\"hidden\":1,\"rows\":[{\"a\":1,\"c\":[3,4]}],\"only_json\":[{\"x\":\"x\"}]}\n");
}

static void objects_nest_and_lists_hold_rows_values_and_objects(void **state)
{
	struct gp_doc *doc = gp_doc_new_answer();

	(void)state;
	gp_doc_open(doc, "outer", "Outer");
	gp_doc_fact(doc, "a", "A", gp_v_count(1));
	gp_doc_open(doc, "inner", NULL);
	gp_doc_fact(doc, "b", "B", gp_v_count(2));
	gp_doc_note(doc, "a note");
	gp_doc_close(doc);
	gp_doc_fact(doc, "c", "C", gp_v_count(3));
	gp_doc_close(doc);
	gp_doc_open(doc, NULL, "Heading");
	gp_doc_fact(doc, "d", "D", gp_v_count(4));
	gp_doc_close(doc);
	gp_doc_open_list(doc, "list", NULL);
	gp_doc_fact(doc, "", NULL, gp_v_count(5));
	gp_doc_open(doc, NULL, NULL);
	gp_doc_fact(doc, "e", NULL, gp_v_count(6));
	gp_doc_close(doc);
	gp_doc_table(doc, NULL, NULL);
	gp_doc_column(doc, "f", NULL);
	gp_doc_cell(doc, gp_v_count(7));
	gp_doc_note(doc, "not in an array");
	gp_doc_close(doc);
	gp_doc_close(doc); /* one too many */
	gp_doc_fact(doc, "g", NULL, gp_v_count(8));
	expect_both(doc, "Outer\nA: 1\nB: 2\n- a note\nC: 3\n\nHeading\nD: 4\n- not in an array\n",
		    "{\"outer\":{\"a\":1,\"inner\":{\"b\":2,\"notes\":[\"a note\"]},\"c\":3},"
		    "\"d\":4,\"list\":[5,{\"e\":6},{\"f\":7}],\"g\":8}\n");
}

static void a_list_is_an_array_of_its_rows(void **state)
{
	struct gp_doc *doc = gp_doc_new_list();

	(void)state;
	expect(doc, GP_SHOW_JSON_LINE, "[]\n");
	gp_doc_table(doc, NULL, NULL);
	gp_doc_column(doc, "pid", "PID");
	gp_doc_cell(doc, gp_v_count(1));
	gp_doc_cell(doc, gp_v_count(2));
	expect_both(doc, "PID\n  1\n  2\n", "[{\"pid\":1},{\"pid\":2}]\n");
}

static void absent_is_not_in_json_and_missing_is_null(void **state)
{
	struct gp_doc *doc = gp_doc_new_answer();

	(void)state;
	gp_doc_fact(doc, "a", "A", gp_v_absent());
	gp_doc_fact(doc, "b", "B", gp_v_if(false, gp_v_count(1)));
	gp_doc_fact(doc, "c", "C", gp_v_text_or_missing(""));
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "d", "D");
	gp_doc_column(doc, "e", "E");
	gp_doc_cell(doc, gp_v_absent());
	gp_doc_cell(doc, gp_v_missing());
	expect_both(doc, "A: -\nB: -\nC: -\n\nD  E\n-  -\n",
		    "{\"b\":null,\"c\":null,\"rows\":[{\"e\":null}]}\n");
}

static void another_text_for_people_keeps_the_json(void **state)
{
	struct gp_doc *doc = gp_doc_new_answer();

	(void)state;
	gp_doc_fact(doc, "id", "GPU", gp_v_as(gp_v_count(0x1a2b), "1a2b"));
	gp_doc_fact(doc, "word", "Word", gp_v_as(gp_v_text("raw"), "pretty"));
	gp_doc_fact(doc, "none", "None", gp_v_as(gp_v_missing(), "not checked"));
	gp_doc_factf(doc, "version", "Version", "%d.%d", 1, 2);
	expect_both(doc, "GPU:     1a2b\nWord:    pretty\nNone:    not checked\nVersion: 1.2\n",
		    "{\"id\":6699,\"word\":\"raw\",\"none\":null,\"version\":\"1.2\"}\n");
}

static void optional_columns_need_a_value_and_numbers_stand_right(void **state)
{
	struct gp_doc *doc = gp_doc_new_answer();

	(void)state;
	gp_doc_table(doc, "rows", "Title");
	gp_doc_column(doc, "a", "AAAA");
	gp_doc_column(doc, "b", "BBBB");
	gp_doc_optional(doc);
	gp_doc_column(doc, "c", "CCCC");
	gp_doc_column(doc, "d", "DDDD");
	gp_doc_right(doc);
	gp_doc_cell(doc, gp_v_count(1));
	gp_doc_cell(doc, gp_v_missing());
	gp_doc_cell(doc, gp_v_missing());
	gp_doc_cell(doc, gp_v_text("x"));
	expect_both(doc, "Title\nAAAA  CCCC  DDDD\n   1  -        x\n",
		    "{\"rows\":[{\"a\":1,\"b\":null,\"c\":null,\"d\":\"x\"}]}\n");
}

static void an_empty_table_says_what_it_was_given(void **state)
{
	struct gp_doc *doc = gp_doc_new_answer();

	(void)state;
	gp_doc_table(doc, "plain", NULL);
	gp_doc_column(doc, "a", "A");
	gp_doc_table(doc, "silent", "Silent");
	gp_doc_if_empty(doc, NULL);
	gp_doc_column(doc, "a", "A");
	gp_doc_table(doc, "said", NULL);
	gp_doc_if_empty(doc, "no queues");
	gp_doc_column(doc, "a", "A");
	expect_both(doc, "A\n\nno queues\n", "{\"plain\":[],\"silent\":[],\"said\":[]}\n");
}

static void colours_only_where_they_are_wanted(void **state)
{
	struct gp_doc *doc = gp_doc_new_answer();
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	gp_doc_line(doc, "bad");
	gp_doc_paint(doc, GP_RED);
	gp_doc_fact(doc, "f", "F", gp_v_text("good"));
	gp_doc_paint(doc, GP_GREEN);
	gp_doc_table(doc, "t", NULL);
	gp_doc_column(doc, "c", "C");
	gp_doc_cell(doc, gp_v_text("dim"));
	gp_doc_paint(doc, GP_DIM);
	assert_int_equal(gp_show_text(doc, out, true), 0);
	fclose(out);
	assert_string_equal(text, "\033[31mbad\033[0m\nF: \033[32mgood\033[0m\n\n"
				  "\033[1mC\033[0m\n\033[2mdim\033[0m\n");
	free(text);
	expect_both(doc, "bad\nF: good\n\nC\ndim\n", "{\"f\":\"good\",\"t\":[{\"c\":\"dim\"}]}\n");
}

static void every_format_shows_an_answer(void **state)
{
	struct gp_doc *doc = gp_doc_new_answer();
	char *text;

	(void)state;
	gp_doc_open(doc, "o", "Heading");
	gp_doc_line(doc, "A line.");
	gp_doc_fact(doc, "hidden", NULL, gp_v_count(1));
	gp_doc_table(doc, "t", NULL);
	gp_doc_column(doc, "a", NULL);
	gp_doc_column(doc, "b", "B");
	gp_doc_cell(doc, gp_v_text("hidden"));
	gp_doc_cell(doc, gp_v_text("cell"));
	expect(doc, GP_SHOW_MARKDOWN, "\n## Heading\n\nA line.\n\n\n| B |\n|---|\n| cell |\n\n");
	text = printed(doc, GP_SHOW_HTML);
	assert_non_null(strstr(text, "<h2 id=\"s1\">Heading</h2>\n<p>A line.</p>\n"
				     "<div class=\"t\" tabindex=\"0\"><table><thead><tr>"
				     "<th scope=\"col\">B</th></tr></thead>"));
	assert_null(strstr(text, "hidden"));
	assert_null(strstr(text, "<h1>"));
	free(text);
	gp_doc_free(doc);
}

static void curves_are_drawn_on_the_page_only(void **state)
{
	static const u64 fast[] = {1000, 2000, 5000}, slow[] = {1000000, 5000000, 5000000};
	struct gp_doc *doc = gp_doc_new_answer();
	char *text;

	(void)state;
	gp_doc_title(doc, "<Title>");
	gp_doc_curve(doc, "without a picture", fast, 3);
	gp_doc_curves(doc, "a <job>");
	gp_doc_curve(doc, "fast & first", fast, 3);
	gp_doc_curve(doc, "slow", slow, 3);
	expect(doc, GP_SHOW_TEXT, "<Title>\n");
	expect(doc, GP_SHOW_JSON_LINE, "{}\n");
	text = printed(doc, GP_SHOW_HTML);
	assert_non_null(strstr(text, "<h1>&lt;Title&gt;</h1>"));
	assert_non_null(strstr(text, "a &lt;job&gt;"));
	assert_null(strstr(text, "without a picture"));
	/* From the first mark of the axis at 0 % to the last at 100 %. */
	assert_non_null(strstr(text, "\"M70.0 250.0L"));
	assert_non_null(strstr(text, "L885.0 130.0L885.0 10.0\""));
	assert_non_null(strstr(text, ">fast &amp; first (p99 2 us)</span>"));
	assert_non_null(strstr(text, "class=\"m\">1 us</text>"));
	assert_non_null(strstr(text, "class=\"e\">5 ms</text>"));
	free(text);
	gp_doc_free(doc);
}

static void bars_and_lanes_have_round_axes(void **state)
{
	struct gp_doc *doc = gp_doc_new_answer();
	char *text;

	(void)state;
	gp_doc_headline(doc, "12 x", "faster <than> before");
	gp_doc_chart(doc, "bars");
	gp_doc_bar(doc, "slow", gp_v_ns(430200000));
	gp_doc_bar(doc, "fast", gp_v_ns(10));
	gp_doc_lanes(doc, "lanes", 1000, 101000);
	gp_doc_lane(doc, "first");
	gp_doc_lane_span(doc, 0, 51000, GP_SPAN_RUNS); /* cut at the begin of the axis */
	gp_doc_lane_span(doc, 101000, 102000, GP_SPAN_WAITS);
	gp_doc_lane(doc, "second");
	gp_doc_lane_span(doc, 51000, 101000, GP_SPAN_SUSPENDED);
	expect(doc, GP_SHOW_TEXT, "12 x faster <than> before\n");
	expect(doc, GP_SHOW_MARKDOWN, "\n**12 x** faster &lt;than&gt; before\n\n");
	expect(doc, GP_SHOW_JSON_LINE, "{}\n");
	text = printed(doc, GP_SHOW_HTML);
	assert_non_null(strstr(text, "<b>12 x</b><span>faster &lt;than&gt; before</span>"));
	assert_non_null(strstr(text, ">0</text>"));
	assert_non_null(strstr(text, ">400 ms</text>"));
	assert_non_null(strstr(text, ">430.2 ms</text>"));
	assert_null(strstr(text, ">500 ms</text>"));
	assert_non_null(strstr(text, ">20 us</text>"));
	assert_non_null(strstr(text, "<title>runs on the GPU: 50 us</title>"));
	assert_non_null(strstr(text, "<title>suspended by gpreempt: 50 us</title>"));
	assert_null(strstr(text, "waits for the GPU"));
	free(text);
	gp_doc_free(doc);
}

static void a_page_is_read_from_json(void **state)
{
	static const char good[] =
		"{\"title\": \"T\", \"blocks\": [{\"headline\": \"2 x\", \"text\": \"better\"},"
		"{\"section\": \"S\"}, {\"fact\": \"seed\", \"value\": 7}, {\"line\": \"L\"},"
		"{\"table\": null, \"columns\": [\"A\", \"B\"], \"rows\": [[\"x\", {\"ns\": "
		"5000}]]},"
		"{\"chart\": \"C\", \"of\": [[\"a\", {\"rate\": 2.5}]]},"
		"{\"curves\": \"V\", \"of\": [[\"a\", [1000, 2000]]]},"
		"{\"lanes\": \"W\", \"from_ns\": 0, \"to_ns\": 9000,"
		" \"of\": [[\"a\", [[0, 4000, \"suspended\"]]]]}]}";
	static const char *const bad[] = {
		"{\"blocks\": [{}]}",
		"{\"blocks\": [{\"table\": null, \"columns\": [\"A\"], \"rows\": [[1, 2]]}]}",
		"{\"blocks\": [{\"chart\": \"C\", \"of\": [[1, 2]]}]}",
		("{\"blocks\": [{\"lanes\": \"W\", \"from_ns\": 0, \"to_ns\": 1,"
		 " \"of\": [[\"a\", [[0, 1, \"sleeps\"]]]]}]}"),
	};
	json_t *json = json_loads(good, 0, NULL);
	struct gp_doc *doc = gp_show_page(json, NULL);
	char *text = printed(doc, GP_SHOW_HTML);

	(void)state;
	assert_non_null(strstr(text, "<b>2 x</b>"));
	assert_non_null(strstr(text, "<dt>seed</dt><dd>7</dd>"));
	assert_non_null(strstr(text, "<td class=\"n\">5 us</td>"));
	assert_non_null(strstr(text, "suspended by gpreempt: 4 us"));
	free(text);
	gp_doc_free(doc);
	json_decref(json);
	for (size_t i = 0; i < GP_ARRAY_SIZE(bad); i++) {
		json = json_loads(bad[i], 0, NULL);
		assert_non_null(json);
		assert_null(gp_show_page(json, NULL));
		json_decref(json);
	}
}

static void csv_is_the_list_quoted_as_rfc_4180_says(void **state)
{
	struct gp_doc *doc = gp_doc_new_answer();
	char *text = NULL;
	size_t len;
	FILE *out;

	(void)state;
	gp_doc_fact(doc, "mode", NULL, gp_v_text("act"));
	gp_doc_table(doc, "first", NULL);
	gp_doc_column(doc, "other", NULL);
	gp_doc_table(doc, "jobs", NULL);
	gp_doc_main(doc);
	gp_doc_column(doc, "name", "NAME");
	gp_doc_column(doc, NULL, "PEOPLE ONLY");
	gp_doc_column(doc, "held_ns", "HELD");
	gp_doc_column(doc, "queues", NULL);
	gp_doc_cell(doc, gp_v_text("a \"b\", c"));
	gp_doc_cell(doc, gp_v_text("x"));
	gp_doc_cell(doc, gp_v_ns(1500));
	gp_doc_cell(doc, gp_v_json(json_pack("[i,i]", 1, 2)));
	gp_doc_cell(doc, gp_v_text("=line\nbreak\033[2J\x7f"));
	gp_doc_cell(doc, gp_v_text("x"));
	gp_doc_cell(doc, gp_v_missing());
	gp_doc_cell(doc, gp_v_as(gp_v_json(json_array()), "none"));
	expect(doc, GP_SHOW_CSV,
	       "name,held_ns,queues\n\"a \"\"b\"\", c\",1500,\"[1,2]\"\n"
	       "=line?break?[2J?,,none\n");
	out = open_memstream(&text, &len);
	assert_int_equal(gp_show_print_csv(doc, out, &(struct gp_show_csv){.time = "7.5"}), 0);
	fclose(out);
	assert_string_equal(text, "7.5,\"a \"\"b\"\", c\",1500,\"[1,2]\"\n"
				  "7.5,=line?break?[2J?,,none\n");
	free(text);
	gp_doc_free(doc);
}

static void csv_without_a_list_is_a_row_of_facts(void **state)
{
	struct gp_doc *doc = gp_doc_new_answer();

	(void)state;
	gp_doc_fact(doc, "jobs", NULL, gp_v_count(2));
	gp_doc_open(doc, "classes", NULL);
	gp_doc_open(doc, "online", NULL);
	gp_doc_fact(doc, "held", NULL, gp_v_bool(true));
	gp_doc_close(doc);
	gp_doc_close(doc);
	gp_doc_fact(doc, "name", NULL, gp_v_missing());
	expect(doc, GP_SHOW_CSV, "jobs,classes.online.held,name\n2,true,\n");
	gp_doc_free(doc);
	assert_int_equal(gp_show_print(NULL, stdout, GP_SHOW_CSV), -ENOMEM);
}

static void errors_are_remembered(void **state)
{
	struct gp_doc *doc = gp_doc_new_answer();

	(void)state;
	assert_int_equal(gp_show_print(NULL, stdout, GP_SHOW_TEXT), -ENOMEM);
	gp_doc_fact(doc, "a", "A", gp_v_json(NULL));
	assert_int_equal(gp_show_print(doc, stdout, GP_SHOW_JSON), -ENOMEM);
	assert_null(gp_doc_json(doc));
	gp_doc_free(doc);
	doc = gp_doc_new_answer();
	for (int i = 0; i < GP_DOC_DEPTH; i++)
		gp_doc_open(doc, "a", "A");
	assert_int_equal(gp_show_print(doc, stdout, GP_SHOW_JSON), -E2BIG);
	gp_doc_cell(doc, gp_v_json(json_object())); /* outside of a table: dropped, not leaked */
	gp_doc_free(doc);
	gp_doc_line(NULL, "nothing");
	gp_doc_close(NULL);
	gp_doc_paint(NULL, GP_RED);
	gp_doc_fact(NULL, "a", "A", gp_v_json(json_object()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_one_object_in_the_order_of_its_parts),
		cmocka_unit_test(without_a_key_for_people_without_a_title_for_json),
		cmocka_unit_test(objects_nest_and_lists_hold_rows_values_and_objects),
		cmocka_unit_test(a_list_is_an_array_of_its_rows),
		cmocka_unit_test(absent_is_not_in_json_and_missing_is_null),
		cmocka_unit_test(another_text_for_people_keeps_the_json),
		cmocka_unit_test(optional_columns_need_a_value_and_numbers_stand_right),
		cmocka_unit_test(an_empty_table_says_what_it_was_given),
		cmocka_unit_test(colours_only_where_they_are_wanted),
		cmocka_unit_test(every_format_shows_an_answer),
		cmocka_unit_test(curves_are_drawn_on_the_page_only),
		cmocka_unit_test(bars_and_lanes_have_round_axes),
		cmocka_unit_test(a_page_is_read_from_json),
		cmocka_unit_test(csv_is_the_list_quoted_as_rfc_4180_says),
		cmocka_unit_test(csv_without_a_list_is_a_row_of_facts),
		cmocka_unit_test(errors_are_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
