// SPDX-License-Identifier: MIT
/* One report as text, JSON, Markdown and HTML, with names that try to break out of each. */
#include "testlib.h"
#include "show/doc.h"

#define EVIL "a|b`*_<script>alert(1)</script>\"'&\n\x1b[31m\xff,=1+1"

static struct gp_doc *sample(void)
{
	struct gp_doc *doc = gp_doc_new("sample", "Title <1>");
	static const u64 values[] = {0, 1, 7};

	assert_non_null(doc);
	gp_doc_section(doc, "one", "First");
	gp_doc_fact(doc, "long_name", "Long name", gp_v_ns(11225018));
	gp_doc_fact(doc, "b", "B", gp_v_missing());
	gp_doc_fact(doc, "word", "Word", gp_v_word("yes-code", "shown"));
	gp_doc_table(doc, "rows", "Rows");
	gp_doc_column(doc, "name", "NAME");
	gp_doc_column(doc, "calls", "CALLS");
	gp_doc_bars(doc);
	gp_doc_cell(doc, gp_v_text(EVIL));
	gp_doc_cell(doc, gp_v_count(3));
	gp_doc_cell(doc, gp_v_textn("short", 5));
	gp_doc_cell(doc, gp_v_missing());
	gp_doc_cell(doc, gp_v_text("a row that was not finished"));
	gp_doc_note(doc, "a note about %s", EVIL);
	gp_doc_series(doc, "curve", "Curve", values, 3, 5, 10);
	gp_doc_section(doc, "empty", "Empty");
	gp_doc_table(doc, "none", NULL);
	gp_doc_column(doc, "x", "X");
	assert_int_equal(gp_doc_error(doc), 0);
	return doc;
}

static char *printed(const struct gp_doc *doc)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_int_equal(gp_show_print(doc, out, GP_SHOW_TEXT), 0);
	fclose(out);
	return text;
}

static void text_lines_up_and_cannot_drive_the_terminal(void **state)
{
	struct gp_doc *doc = sample();
	char *text = printed(doc);

	(void)state;
	assert_non_null(strstr(text, "Long name: 11.23 ms\nB:         -\nWord:      shown\n"));
	assert_null(strchr(text, '\x1b'));
	assert_null(strchr(text, '\xff'));
	assert_null(strstr(text, "not finished"));
	assert_non_null(strstr(text, "Empty\nnone\n"));
	assert_non_null(strstr(text, "| 7\n"));
	free(text);
	gp_doc_free(doc);
}

static void json_has_numbers_codes_and_every_row(void **state)
{
	struct gp_doc *doc = sample();
	json_t *json = gp_doc_json(doc), *one = json_object_get(json, "one"), *row;

	(void)state;
	assert_string_equal(json_string_value(json_object_get(json, "report")), "sample");
	assert_int_equal(json_integer_value(json_object_get(one, "long_name")), 11225018);
	assert_true(json_is_null(json_object_get(one, "b")));
	assert_string_equal(json_string_value(json_object_get(one, "word")), "yes-code");
	assert_int_equal(json_array_size(json_object_get(one, "rows")), 2);
	row = json_array_get(json_object_get(one, "rows"), 0);
	assert_non_null(strstr(json_string_value(json_object_get(row, "name")), "<script>"));
	assert_int_equal(json_integer_value(json_object_get(row, "calls")), 3);
	assert_int_equal(json_array_size(json_object_get(one, "notes")), 1);
	assert_int_equal(json_integer_value(json_array_get(
				 json_object_get(json_object_get(one, "curve"), "values"), 2)),
			 7);
	assert_int_equal(json_array_size(json_object_get(json_object_get(json, "empty"), "none")),
			 0);
	json_decref(json);
	gp_doc_free(doc);
}

static void markdown_keeps_a_row_on_its_line_and_names_are_no_markup(void **state)
{
	struct gp_doc *doc = sample();
	struct gp_buf out = {0};
	const char *row;

	(void)state;
	assert_int_equal(gp_doc_markdown(doc, &out), 0);
	assert_null(strstr(out.data, "<script>"));
	row = strstr(out.data, "| a\\|b\\`\\*\\_&lt;script&gt;alert(1)&lt;/script&gt;");
	assert_non_null(row);
	assert_non_null(strstr(row, "=1+1 | 3 |\n"));
	assert_true(strchr(row, '\n') > strstr(row, "| 3 |"));
	assert_non_null(strstr(out.data, "|---|---:|\n"));
	gp_buf_free(&out);
	gp_doc_free(doc);
}

static void html_escapes_and_loads_nothing(void **state)
{
	struct gp_doc *doc = sample();
	struct gp_buf out = {0};

	(void)state;
	assert_int_equal(gp_doc_html(doc, &out), 0);
	assert_null(strstr(out.data, "<script"));
	assert_null(strstr(out.data, "http:"));
	assert_null(strstr(out.data, "https:"));
	assert_non_null(strstr(out.data, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"));
	assert_non_null(strstr(out.data, "<title>Title &lt;1&gt;</title>"));
	assert_non_null(strstr(out.data, "prefers-color-scheme:dark"));
	assert_non_null(strstr(out.data, "default-src 'none'"));
	assert_non_null(strstr(out.data, "<rect width=\"120.0\""));
	assert_non_null(strstr(out.data, "<dl>\n<dt>Long name</dt><dd>11.23 ms</dd>"));
	assert_non_null(strstr(out.data, "</dl>\n<p class=\"k\">"));
	gp_buf_free(&out);
	gp_doc_free(doc);
}

static void values_are_shown_in_units_of_their_size(void **state)
{
	static const struct {
		struct gp_show_value value;
		const char *shown;
	} cases[] = {
		{{.unit = GP_UNIT_NS, .number = 584}, "584 ns"},
		{{.unit = GP_UNIT_NS, .number = 13520}, "13.52 us"},
		{{.unit = GP_UNIT_NS, .number = 136190899}, "136.2 ms"},
		{{.unit = GP_UNIT_NS, .number = 2500000000}, "2.5 s"},
		{{.unit = GP_UNIT_BYTES, .number = 1000}, "1000 B"},
		{{.unit = GP_UNIT_BYTES, .number = 4194304}, "4.0 MiB"},
		{{.unit = GP_UNIT_BYTES, .number = 3ull << 50}, "3072.0 TiB"},
		{{.unit = GP_UNIT_PERCENT, .real = 99.19982}, "99.20 %"},
		{{.unit = GP_UNIT_RATE, .real = 120.04}, "120.0 /s"},
		{{.unit = GP_UNIT_REAL, .real = 0.5}, "0.5"},
		{{.unit = GP_UNIT_HEX, .number = 0x1800}, "0x1800"},
		{{.unit = GP_UNIT_BOOL, .number = 1}, "yes"},
		{{.unit = GP_UNIT_BOOL}, "no"},
		{{.unit = GP_UNIT_MISSING}, "-"},
	};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(cases); i++) {
		struct gp_buf out = {0};

		gp_show_value_text(&cases[i].value, &out);
		assert_string_equal(gp_buf_str(&out), cases[i].shown);
		gp_buf_free(&out);
	}
}

static void cells_outside_a_table_are_dropped(void **state)
{
	struct gp_doc *doc = gp_doc_new("r", "t");
	char *text;

	(void)state;
	gp_doc_cell(doc, gp_v_count(1));
	gp_doc_section(doc, "s", "S");
	gp_doc_cell(doc, gp_v_count(1));
	gp_doc_column(doc, "x", "X");
	gp_doc_bars(doc);
	text = printed(doc);
	assert_string_equal(text, "t\n\nS\n");
	free(text);
	gp_doc_free(doc);
	gp_doc_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_lines_up_and_cannot_drive_the_terminal),
		cmocka_unit_test(json_has_numbers_codes_and_every_row),
		cmocka_unit_test(markdown_keeps_a_row_on_its_line_and_names_are_no_markup),
		cmocka_unit_test(html_escapes_and_loads_nothing),
		cmocka_unit_test(values_are_shown_in_units_of_their_size),
		cmocka_unit_test(cells_outside_a_table_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
