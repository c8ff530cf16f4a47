// SPDX-License-Identifier: MIT
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "show/table.h"
#include "testlib.h"

static void table_lines_up_and_neutralises_control_characters(void **state)
{
	struct gp_table *table = gp_table_new();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	setlocale(LC_ALL, "C.UTF-8");
	gp_table_column(table, "进程", GP_RIGHT);
	gp_table_column(table, "EMPTY", GP_LEFT);
	gp_table_optional(table);
	gp_table_column(table, "NAME", GP_LEFT);
	gp_table_cell(table, "1");
	gp_table_missing(table);
	gp_table_cell(table, "a\033[2Jb");
	gp_table_cell(table, NULL);
	gp_table_missing(table);
	gp_table_cell(table, "x");
	gp_table_paint(table, GP_RED);
	assert_int_equal(gp_table_rows(table), 2);
	assert_int_equal(gp_table_print(table, out, false), 0);
	fclose(out);
	assert_string_equal(text, "进程  NAME\n   1  a?[2Jb\n   -  x\n");
	free(text);
	gp_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_lines_up_and_neutralises_control_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
