// SPDX-License-Identifier: MIT
#include "testlib.h"

#include <errno.h>

#include "base/units.h"

static void durations_are_read_in_every_unit(void **state)
{
	static const struct {
		const char *text;
		u64 ns;
	} cases[] = {
		{"7ns", 7},
		{"250us", 250000},
		{"250µs", 250000},
		{"1.5 ms", 1500000},
		{"0.000000001s", 1},
		{"2s", 2000000000},
		{"10min", 600000000000},
		{"10m", 600000000000},
		{"1h", 3600000000000},
		{"0", 0},
	};
	char error[GP_UNITS_ERROR];
	u64 ns;

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(cases); i++) {
		assert_int_equal(gp_duration_parse(cases[i].text, 0, UINT64_MAX, &ns, error), 0);
		assert_int_equal(ns, cases[i].ns);
	}
}

static void duration_refused(const char *text, const char *why)
{
	char error[GP_UNITS_ERROR] = "";
	u64 ns;

	assert_int_equal(gp_duration_parse(text, 1000, 90 * GP_NS_PER_S, &ns, error), -EINVAL);
	assert_string_equal(error, why);
	assert_int_equal(gp_duration_parse(text, 1000, 90 * GP_NS_PER_S, &ns, NULL), -EINVAL);
}

static void a_duration_without_a_unit_is_refused(void **state)
{
	(void)state;
	duration_refused("5", "'5' has no unit (use ns, us, ms, s, min or h)");
	duration_refused("1.5", "'1.5' has no unit (use ns, us, ms, s, min or h)");
}

static void what_is_not_a_duration_says_what_to_write(void **state)
{
	static const char *const bad[] = {"",    "soon", "ms",   "-1ms", "+1ms", "5 m s", "1e3ms",
					  "1.s", ".5s",  "0x5s", "5S",   "inf",  "1..5s"};
	char error[GP_UNITS_ERROR];

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(bad); i++) {
		snprintf(error, sizeof(error),
			 "'%s' is not a duration (use a number and a unit, such as 250us, 10ms or "
			 "1.5s)",
			 bad[i]);
		duration_refused(bad[i], error);
	}
}

static void values_out_of_range_name_the_range(void **state)
{
	char error[GP_UNITS_ERROR];
	u64 value;

	(void)state;
	duration_refused("0", "'0' is out of range (1 us to 90 s)");
	duration_refused("999ns", "'999ns' is out of range (1 us to 90 s)");
	duration_refused("99999999999999999999s",
			 "'99999999999999999999s' is out of range (1 us to 90 s)");
	duration_refused("18446744073709s", "'18446744073709s' is out of range (1 us to 90 s)");
	assert_int_equal(gp_size_parse("2TiB", 0, 1ull << 40, &value, error), -EINVAL);
	assert_string_equal(error, "'2TiB' is out of range (0 B to 1.0 TiB)");
	assert_int_equal(gp_count_parse("9", 1, 8, &value, error), -EINVAL);
	assert_string_equal(error, "'9' is invalid; use a whole number from 1 to 8");
	assert_int_equal(gp_count_parse("x", 1, UINT64_MAX, &value, error), -EINVAL);
	assert_string_equal(error, "'x' is invalid; use a whole number, 1 or more");
}

static void sizes_need_a_unit(void **state)
{
	char error[GP_UNITS_ERROR];
	u64 bytes;

	(void)state;
	assert_int_equal(gp_size_parse("1.5KiB", 0, UINT64_MAX, &bytes, error), 0);
	assert_int_equal(bytes, 1536);
	assert_int_equal(gp_size_parse("192 GiB", 0, UINT64_MAX, &bytes, error), 0);
	assert_int_equal(bytes, 192ull << 30);
	assert_int_equal(gp_size_parse("64", 0, UINT64_MAX, &bytes, error), -EINVAL);
	assert_string_equal(error, "'64' has no unit (use B, KiB, MiB, GiB or TiB)");
	assert_int_equal(gp_size_parse("64G", 0, UINT64_MAX, &bytes, error), -EINVAL);
	assert_string_equal(error, "'64G' is not a size (use a number and a unit, such as 64GiB)");
}

static void what_is_printed_can_be_read_back(void **state)
{
	static const struct {
		u64 ns;
		const char *text;
	} cases[] = {
		{0, "0 ns"},
		{999, "999 ns"},
		{13520, "13.52 us"},
		{850000, "850 us"},
		{11230000, "11.23 ms"},
		{136190899, "136.2 ms"},
		{2500000000, "2.5 s"},
		{599 * GP_NS_PER_S, "599 s"},
		{600 * GP_NS_PER_S, "10 min"},
		{36000 * GP_NS_PER_S, "10 h"},
	};

	(void)state;
	for (size_t i = 0; i < GP_ARRAY_SIZE(cases); i++) {
		u64 again;

		assert_string_equal(gp_duration_text(cases[i].ns).text, cases[i].text);
		assert_int_equal(gp_duration_parse(cases[i].text, 0, UINT64_MAX, &again, NULL), 0);
		assert_string_equal(gp_duration_text(again).text, cases[i].text);
	}
	assert_string_equal(gp_duration_text(UINT64_MAX).text, "unknown");
	assert_string_equal(gp_size_text(1023).text, "1023 B");
	assert_string_equal(gp_size_text(5ull << 30).text, "5.0 GiB");
	assert_string_equal(gp_size_text(UINT64_MAX).text, "16777216.0 TiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_are_read_in_every_unit),
		cmocka_unit_test(a_duration_without_a_unit_is_refused),
		cmocka_unit_test(what_is_not_a_duration_says_what_to_write),
		cmocka_unit_test(values_out_of_range_name_the_range),
		cmocka_unit_test(sizes_need_a_unit),
		cmocka_unit_test(what_is_printed_can_be_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
