/* SPDX-License-Identifier: MIT */
/* What the tests of the holder's books share: a fresh holder for each, and the fake's queues. */
#ifndef GP_TEST_HOLDER_FIXTURE_H
#define GP_TEST_HOLDER_FIXTURE_H

#include "scene.h"

static struct scene scene;

static inline int fresh(void **state)
{
	(void)state;
	scene_open(&scene, true);
	return 0;
}

static inline int fresh_threads(void **state)
{
	(void)state;
	scene_open(&scene, false);
	return 0;
}

static inline int done(void **state)
{
	(void)state;
	scene_close(&scene);
	return 0;
}

/* Whether every queue of the fake is so. */
static inline bool all(bool state)
{
	for (u32 i = 0; i < FAKE_QUEUES; i++)
		if (fake.suspended[i] != state)
			return false;
	return true;
}

/* Jobs in the loop, repeatable; or in threads, as they are. */
#define INLINE(f)   cmocka_unit_test_setup_teardown(f, fresh, done)
#define THREADED(f) cmocka_unit_test_setup_teardown(f, fresh_threads, done)

#endif
