// SPDX-License-Identifier: MIT
/* A daemon that starts with too little memory says so: each allocation fails once, in turn. */
#include "rig.h"

static long left = -1; /* allocations until one fails; negative: none does */

static bool fails(void)
{
	return left >= 0 && left-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

/* The first error of all that main() does before its loop. *enough: no allocation failed. */
static int start(struct gp_daemon *daemon, struct gp_diag *diag, long failing, bool *enough)
{
	struct gp_daemon_config config;
	int error;

	left = failing;
	error = gp_daemon_config_parse("test", PROMPT, strlen(PROMPT), diag, &config);
	if (!error) {
		error = gp_daemon_init(daemon, &config, NULL, diag);
		if (error) {
			left = -1;
			gp_daemon_refuse_start(diag, error);
		}
	}
	if (!error) {
		error = gp_daemon_start(daemon);
		*enough = left >= 0;
		left = -1;
		gp_daemon_free(daemon);
	}
	left = -1;
	return error;
}

static void a_start_without_memory_is_an_error_and_nothing_else(void **state)
{
	char directory[64];
	struct gp_daemon *daemon = calloc(1, sizeof(*daemon));
	long failing = 0, errors = 0;

	(void)state;
	assert_non_null(place_make(directory, sizeof(directory)));
	setenv("GPREEMPT_DIR", directory, 1);
	fake_reset();
	for (bool enough = false; !enough && failing < 10000; failing++) {
		struct test_diag said = TEST_DIAG;

		errors += start(daemon, &said.diag, failing, &enough) != 0;
		/* The limit of open files has nothing to do with it. */
		assert_false(said.text.len && strstr(said.text.data, "ulimit -n"));
		gp_buf_free(&said.text);
	}
	assert_true(failing < 10000);
	assert_true(errors > 2);
	free(daemon);
	place_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_start_without_memory_is_an_error_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
