// SPDX-License-Identifier: MIT
/* Decisions on disk: every field comes back, and lines that are not ours are refused. */
#include "testlib.h"

#include <string.h>

#include "proto/diary.h"

static struct gp_proto_diary_line written_and_read(const struct gp_proto_diary_line *line)
{
	struct gp_proto_diary_line back;
	struct gp_buf text = {0};

	gp_proto_diary_write(&text, line);
	assert_int_equal(text.error, 0);
	assert_true(gp_proto_diary_read(text.data, text.len, &back));
	assert_int_equal(back.kind, line->kind);
	assert_int_equal(back.wall_ns, line->wall_ns);
	gp_buf_free(&text);
	return back;
}

/* A field that is added to the message and forgotten in the table would come back as 0. */
static void ends_with_nul(char *text, size_t size)
{
	memset(text, 'x', size - 1);
	text[size - 1] = '\0';
}

static void every_field_of_a_decision_comes_back(void **state)
{
	struct gp_proto_diary_line line = {.kind = GP_DIARY_DECISION, .wall_ns = 17}, back;
	struct gp_proto_msg_decision *decision = &line.is.decision;

	(void)state;
	memset(decision, 0x11, sizeof(*decision));
	ends_with_nul(decision->job_name, sizeof(decision->job_name));
	ends_with_nul(decision->other_name, sizeof(decision->other_name));
	decision->reserved = 0;
	decision->error = -5;
	decision->waited_ns = GP_DAEMON_UNKNOWN;
	back = written_and_read(&line);
	assert_memory_equal(&back.is.decision, decision, sizeof(*decision));
}

static void every_field_of_a_job_comes_back(void **state)
{
	struct gp_proto_diary_line line = {.kind = GP_DIARY_JOB, .wall_ns = 17}, back;
	struct gp_proto_msg_job *job = &line.is.job;

	(void)state;
	memset(job, 0x11, sizeof(*job));
	ends_with_nul(job->name, sizeof(job->name));
	ends_with_nul(job->group, sizeof(job->group));
	ends_with_nul(job->rule, sizeof(job->rule));
	ends_with_nul(job->owner, sizeof(job->owner));
	ends_with_nul(job->swap_said, sizeof(job->swap_said));
	job->reserved = 0;
	job->held_since = GP_DAEMON_NEVER;
	job->held_for = GP_DAEMON_NONE;
	back = written_and_read(&line);
	assert_memory_equal(&back.is.job, job, sizeof(*job));
}

static void every_field_of_a_gpu_and_of_the_daemon_comes_back(void **state)
{
	struct gp_proto_diary_line line = {.kind = GP_DIARY_DEVICE, .wall_ns = -3}, back;

	(void)state;
	memset(&line.is.device, 0x11, sizeof(line.is.device));
	ends_with_nul(line.is.device.name, sizeof(line.is.device.name));
	back = written_and_read(&line);
	assert_memory_equal(&back.is.device, &line.is.device, sizeof(line.is.device));
	line.kind = GP_DIARY_STATE;
	memset(&line.is.state, 0x11, sizeof(line.is.state));
	ends_with_nul(line.is.state.config, sizeof(line.is.state.config));
	ends_with_nul(line.is.state.problem, sizeof(line.is.state.problem));
	back = written_and_read(&line);
	assert_memory_equal(&back.is.state, &line.is.state, sizeof(line.is.state));
}

static void text_is_escaped_and_cut(void **state)
{
	struct gp_proto_diary_line line = {.kind = GP_DIARY_JOB}, back;
	static const char longer[] =
		"{\"is\":\"job\",\"wall_ns\":1,\"id\":7,\"name\":"
		"\"0123456789012345678901234567890123456789012345678901234567890123456789\","
		"\"later\":[1],\"pid\":\"text\"}";

	(void)state;
	strcpy(line.is.job.name, "a\"\n\\b");
	back = written_and_read(&line);
	assert_string_equal(back.is.job.name, line.is.job.name);
	/* Of another version: longer, more members, other types. */
	assert_true(gp_proto_diary_read(longer, strlen(longer), &back));
	assert_int_equal(strlen(back.is.job.name), GP_PROTO_NAME - 1);
	assert_int_equal(back.is.job.id, 7);
	assert_int_equal(back.is.job.pid, 0);
}

static void other_lines_are_refused(void **state)
{
	static const char *const lines[] = {
		"",
		"{",
		"[]",
		"7",
		"{\"is\":\"job\"}",
		"{\"is\":\"song\",\"wall_ns\":1}",
		"{\"wall_ns\":1}",
		"{\"is\":3,\"wall_ns\":1}",
		"{\"is\":\"job\",\"wall_ns\":\"1\"}",
	};
	struct gp_proto_diary_line line;

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(lines); i++)
		assert_false(gp_proto_diary_read(lines[i], strlen(lines[i]), &line));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_of_a_decision_comes_back),
		cmocka_unit_test(every_field_of_a_job_comes_back),
		cmocka_unit_test(every_field_of_a_gpu_and_of_the_daemon_comes_back),
		cmocka_unit_test(text_is_escaped_and_cut),
		cmocka_unit_test(other_lines_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
