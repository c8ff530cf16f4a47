// SPDX-License-Identifier: MIT
/* The heap that knows where its elements are, against a list that is searched. */
#include "testlib.h"
#include "sched/order.h"

#define IDS 200

struct both {
	struct gp_sched_order order;
	struct gp_sched_order_entry entry[IDS];
	u32 place[IDS];
	bool in[IDS];
	u64 key[IDS];
};

static void empty(struct both *both)
{
	memset(both, 0, sizeof(*both));
	gp_order_init(&both->order, both->entry, IDS, both->place, sizeof(both->place[0]));
}

static void equal_keys_leave_by_number(void **state)
{
	struct both both;

	(void)state;
	empty(&both);
	for (u32 i = 0; i < IDS; i++)
		gp_order_set(&both.order, i * 77 % IDS, 5); /* 77 and 200 have no common divisor */
	for (u32 i = 0; i < IDS; i++) {
		assert_int_equal(both.entry[0].id, i);
		gp_order_remove(&both.order, i);
	}
	assert_int_equal(both.order.count, 0);
}

static void the_first_is_always_the_least(void **state)
{
	struct both both;
	u64 dice = 1;

	(void)state;
	empty(&both);
	for (u32 step = 0; step < 200000; step++) {
		u32 id = (u32)((dice = gp_mix(dice)) % IDS), least = IDS, count = 0;

		if (dice >> 40 & 3) {
			both.in[id] = true;
			both.key[id] = dice >> 32 & 63;
			gp_order_set(&both.order, id, both.key[id]);
		} else {
			both.in[id] = false;
			gp_order_remove(&both.order, id); /* harmless when it is not in */
		}
		for (u32 i = 0; i < IDS; i++) {
			count += both.in[i];
			if (both.in[i] && (least == IDS || both.key[i] < both.key[least]))
				least = i;
		}
		assert_int_equal(both.order.count, count);
		assert_int_equal(gp_order_has(&both.order, id), both.in[id]);
		if (count)
			assert_int_equal(both.entry[0].id, least);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_keys_leave_by_number),
		cmocka_unit_test(the_first_is_always_the_least),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
