// SPDX-License-Identifier: MIT
/* Scalar instructions. */
#include "machine.h"

static void wave_ends(void **state)
{
	struct machine *m = *state;

	RUN(m, 0xbf800000); /* s_nop 0 */
	assert_int_equal(m->wave->executed, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(wave_ends, machine_gfx90a, machine_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
