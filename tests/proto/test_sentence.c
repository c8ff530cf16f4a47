// SPDX-License-Identifier: MIT
/* What the holder says is put into another language: the linker puts this file's in front. */
#include "testlib.h"

#include "proto/sentence.h"

/* A language in which a few sentences are written in capitals, one of them the other way round. */
static const char *capitals(const char *text)
{
	static const struct {
		const char *from, *to;
	} known[] = {
		{"process %u is gone", "PROCESS %u: GONE, 100%% OF IT"},
		{"process %u was not started with 'gpreempt run'", "NO AGENT IN %u"},
		{"process %u is under a debugger (%s, pid %u); quit that first",
		 "(%3$u) %2$s HAS %1$u"},
		{"process %u cannot be traced: %s", "%u: %s"},
		{"process %u: %s", "SOMETHING OF %u: %s"},
		{"process %u: its descriptors: %s", "DESCRIPTORS OF %u: %s"},
		{"%s: %s; it is for root and its group", "ROOT'S: %s (%s)"},
		{"the process is gone", "进程已结束"},
		{"Permission denied", "NO!"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].from, text) == 0)
			return known[i].to;
	return text;
}

/* With optimisation the header makes the last of them of each. */
char *__wrap_gettext(const char *text);
char *__wrap_dgettext(const char *domain, const char *text);
char *__wrap_dcgettext(const char *domain, const char *text, int category);

char *__wrap_gettext(const char *text)
{
	return (char *)(uintptr_t)capitals(text);
}

char *__wrap_dgettext(const char *domain, const char *text)
{
	(void)domain;
	return (char *)(uintptr_t)capitals(text);
}

char *__wrap_dcgettext(const char *domain, const char *text, int category)
{
	(void)domain, (void)category;
	return (char *)(uintptr_t)capitals(text);
}

static const char *translated(const char *text)
{
	static char out[256];

	gp_proto_sentence_translate(text, out, sizeof(out));
	return out;
}

static void numbers_and_names_stay(void **state)
{
	(void)state;
	assert_string_equal(translated("process 4711 is gone"), "PROCESS 4711: GONE, 100% OF IT");
	assert_string_equal(
		translated("process 7 is under a debugger (my gdb, pid 12); quit that first"),
		"(12) my gdb HAS 7");
}

static void what_the_c_library_said_is_translated_too(void **state)
{
	(void)state;
	assert_string_equal(translated("process 5 cannot be traced: Permission denied"), "5: NO!");
}

/* Whichever comes first in the table. */
static void the_sentence_that_says_most_is_meant(void **state)
{
	(void)state;
	assert_string_equal(translated("process 5: its descriptors: Permission denied"),
			    "DESCRIPTORS OF 5: NO!");
	assert_string_equal(translated("process 5: Permission denied"), "SOMETHING OF 5: NO!");
}

static void several_reasons_are_told_apart(void **state)
{
	(void)state;
	assert_string_equal(
		translated("process 5 was not started with 'gpreempt run'; /dev/gpreempt: "
			   "Permission denied; it is for root and its group; process 5 is under a "
			   "debugger (gdb, pid 6); quit that first; no NVIDIA driver"),
		"NO AGENT IN 5; ROOT'S: /dev/gpreempt (NO!); (6) gdb HAS 5; no NVIDIA driver");
}

static void what_is_not_known_stays(void **state)
{
	(void)state;
	assert_string_equal(translated(""), "");
	assert_string_equal(translated("of a later version; process 5 is gone; 100 %s %"),
			    "of a later version; PROCESS 5: GONE, 100% OF IT; 100 %s %");
	assert_string_equal(translated("process -5 is gone"), "process -5 is gone");
	assert_string_equal(translated("process 5 is gon"), "process 5 is gon");
}

static void no_character_is_cut_in_two(void **state)
{
	static const char whole[] = "进程已结束";
	char out[sizeof(whole)];

	(void)state;
	for (size_t size = 1; size <= sizeof(whole); size++) {
		memset(out, 'x', sizeof(out));
		gp_proto_sentence_translate("the process is gone", out, size);
		assert_int_equal(strlen(out), (size - 1) / 3 * 3);
		assert_memory_equal(out, whole, strlen(out));
	}
}

/* A holder may say anything: what comes out is a text that fits, and soon. */
static void any_text_is_survived(void **state)
{
	static const char *const pieces[] = {"process ",
					     "5",
					     "-1",
					     ": ",
					     "; ",
					     "%s",
					     "%1$s",
					     "is gone",
					     "(gdb, pid 6)",
					     "\xe8\xbf",
					     "/dev/gpreempt",
					     " was not started with ",
					     "'gpreempt run'",
					     " is under a debugger ",
					     "quit that first",
					     "%"};
	u32 random = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char text[240] = "", out[64];
		size_t size = 1 + (size_t)rand_r(&random) % sizeof(out);

		for (int n = rand_r(&random) % 24; n > 0; n--) {
			const char *piece = pieces[(size_t)rand_r(&random) %
						   (sizeof(pieces) / sizeof(pieces[0]))];

			if (strlen(text) + strlen(piece) < sizeof(text))
				strcat(text, piece);
		}
		memset(out, 'x', sizeof(out));
		gp_proto_sentence_translate(text, out, size);
		assert_non_null(memchr(out, '\0', size));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_names_stay),
		cmocka_unit_test(what_the_c_library_said_is_translated_too),
		cmocka_unit_test(the_sentence_that_says_most_is_meant),
		cmocka_unit_test(several_reasons_are_told_apart),
		cmocka_unit_test(what_is_not_known_stays),
		cmocka_unit_test(no_character_is_cut_in_two),
		cmocka_unit_test(any_text_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
