// SPDX-License-Identifier: MIT
/* Messages are codes with arguments; the reader makes sentences of them, in its own language. */
#include <errno.h>

#include "testlib.h"

#include "proto/message.h"

static bool foreign;

/* A language in which a few sentences are written in capitals, one with its arguments reordered. */
static const char *capitals(const char *text)
{
	static const struct {
		const char *from, *to;
	} known[] = {
		{"process %u has exited", "PROCESS %u: GONE, 100%% OF IT"},
		{"process %u is being debugged by %s (pid %u); quit the debugger first",
		 "(%3$u) %2$s HAS %1$u"},
		{"cannot trace process %u: %m; 'gpreempt doctor' names missing permissions",
		 "%m (%u)"},
		{"the request does not include a pidfd; client and holder may be different "
		 "versions (restart the older one)",
		 "进程已结束"},
	};

	for (size_t i = 0; foreign && i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].from, text) == 0)
			return known[i].to;
	return text;
}

/* With optimisation libintl.h turns the first into the second. */
char *__wrap_gettext(const char *text);
char *__wrap_dcgettext(const char *domain, const char *text, int category);

char *__wrap_gettext(const char *text)
{
	return (char *)(uintptr_t)capitals(text);
}

char *__wrap_dcgettext(const char *domain, const char *text, int category)
{
	(void)domain, (void)category;
	return (char *)(uintptr_t)capitals(text);
}

static const char *text_of(const struct gp_proto_message *message)
{
	static char out[512];

	gp_proto_message_text(message, out, sizeof(out));
	return out;
}

static void arguments_arrive_in_the_sentence(void **state)
{
	struct gp_proto_message message;

	foreign = *state;
	assert_int_equal(gp_proto_say(&message, -ESRCH, GP_SAY_GONE, 4000000000u), -ESRCH);
	assert_string_equal(text_of(&message), "process 4000000000 has exited");
	gp_proto_say(&message, -EBUSY, GP_SAY_UNDER_DEBUGGER, 7, "my gdb", 12);
	assert_string_equal(
		text_of(&message),
		"process 7 is being debugged by my gdb (pid 12); quit the debugger first");
	gp_proto_say(&message, -EACCES, GP_SAY_TRACE_ERROR, 5);
	assert_string_equal(text_of(&message), "cannot trace process 5: Permission denied; "
					       "'gpreempt doctor' names missing permissions");
	assert_int_equal(gp_proto_say(NULL, -EIO, GP_SAY_STUCK, 1), -EIO);
}

static void the_reader_has_the_sentence_in_its_language(void **state)
{
	struct gp_proto_message message;

	(void)state;
	foreign = true;
	gp_proto_say(&message, -ESRCH, GP_SAY_GONE, 4711);
	assert_string_equal(text_of(&message), "PROCESS 4711: GONE, 100% OF IT");
	gp_proto_say(&message, -EBUSY, GP_SAY_UNDER_DEBUGGER, 7, "my gdb", 12);
	assert_string_equal(text_of(&message), "(12) my gdb HAS 7");
	gp_proto_say(&message, -EACCES, GP_SAY_TRACE_ERROR, 5);
	assert_string_equal(text_of(&message), "Permission denied (5)");
	foreign = false;
}

static void no_character_is_cut_in_two(void **state)
{
	static const char whole[] = "进程已结束";
	char out[sizeof(whole)];
	struct gp_proto_message message;

	(void)state;
	foreign = true;
	gp_proto_say(&message, -EBADF, GP_SAY_NO_PIDFD);
	for (size_t size = 1; size <= sizeof(whole); size++) {
		memset(out, 'x', sizeof(out));
		gp_proto_message_text(&message, out, size);
		assert_int_equal(strlen(out), (size - 1) / 3 * 3);
		assert_memory_equal(out, whole, strlen(out));
	}
	foreign = false;
}

static void reasons_are_joined_in_order(void **state)
{
	struct gp_proto_reasons reasons = {0};
	struct gp_proto_message message;
	char out[256];

	(void)state;
	gp_proto_say(&message, -ENOENT, GP_SAY_AGENT_NONE, 5);
	gp_proto_reasons_add(&reasons, &message, false);
	gp_proto_say(&message, -ENODEV, GP_SAY_NV_NOT_USED, 5);
	gp_proto_reasons_add(&reasons, &message, false);
	gp_proto_say(&message, -EPERM, GP_SAY_OTHER_USER, 5);
	gp_proto_reasons_add(&reasons, &message, true);
	gp_proto_reasons_text(&reasons, out, sizeof(out));
	assert_string_equal(out, "process 5 belongs to another user; process 5 was not started "
				 "with 'gpreempt run', or has not used the GPU yet; "
				 "process 5 does not use /dev/nvidiactl");
	for (int i = 0; i < 2 * GP_PROTO_REASONS; i++)
		gp_proto_reasons_add(&reasons, &message, i % 2);
	assert_int_equal(reasons.count, GP_PROTO_REASONS);
}

static void every_code_has_a_sentence(void **state)
{
	(void)state;
	for (u32 code = GP_SAY_ERROR; code < GP_SAY_COUNT; code++) {
		struct gp_proto_message message = {.code = (u16)code};

		assert_true(*text_of(&message));
	}
}

/* A peer may send anything: what comes out is a text that fits. */
static void any_message_is_survived(void **state)
{
	unsigned random = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct gp_proto_reasons reasons;
		size_t size;
		char out[64];

		for (size_t at = 0; at < sizeof(reasons); at++)
			((u8 *)&reasons)[at] = (u8)rand_r(&random);
		for (u32 n = 0; n < GP_PROTO_REASONS; n++)
			reasons.reason[n].code %= 2 * GP_SAY_COUNT;
		size = 1 + (size_t)rand_r(&random) % sizeof(out);
		memset(out, 'x', sizeof(out));
		gp_proto_reasons_text(&reasons, out, size);
		assert_non_null(memchr(out, '\0', size));
	}
}

static void long_arguments_are_cut_off(void **state)
{
	struct gp_proto_message message;
	char path[512];

	(void)state;
	memset(path, 'p', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	gp_proto_say(&message, -EOPNOTSUPP, GP_SAY_NV_MPS_CLIENT, 77, path);
	assert_non_null(strstr(text_of(&message), "process 77 is an MPS client"));
	assert_non_null(strstr(text_of(&message), "ppp): it shares"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_arrive_in_the_sentence),
		cmocka_unit_test(the_reader_has_the_sentence_in_its_language),
		cmocka_unit_test(no_character_is_cut_in_two),
		cmocka_unit_test(reasons_are_joined_in_order),
		cmocka_unit_test(every_code_has_a_sentence),
		cmocka_unit_test(any_message_is_survived),
		cmocka_unit_test(long_arguments_are_cut_off),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
