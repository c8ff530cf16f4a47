// SPDX-License-Identifier: MIT
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "show/doc.h"
#include "testlib.h"

static void table_lines_up_and_neutralises_control_characters(void **state)
{
	struct gp_doc *doc = gp_doc_new_answer();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	setlocale(LC_ALL, "C.UTF-8");
	gp_doc_table(doc, "rows", NULL);
	gp_doc_column(doc, "pid", "进程");
	gp_doc_right(doc);
	gp_doc_column(doc, "empty", "EMPTY");
	gp_doc_optional(doc);
	gp_doc_column(doc, "name", "NAME");
	gp_doc_cell(doc, gp_v_text("1"));
	gp_doc_cell(doc, gp_v_missing());
	gp_doc_cell(doc, gp_v_text("a\033[2Jb"));
	gp_doc_cell(doc, gp_v_missing());
	gp_doc_cell(doc, gp_v_missing());
	gp_doc_cell(doc, gp_v_text("x"));
	gp_doc_paint(doc, GP_RED);
	assert_int_equal(gp_show_print(doc, out, GP_SHOW_TEXT), 0);
	fclose(out);
	assert_string_equal(text, "进程  NAME\n   1  a?[2Jb\n   -  x\n");
	free(text);
	gp_doc_free(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_lines_up_and_neutralises_control_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
