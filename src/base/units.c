// SPDX-License-Identifier: MIT
/*
 * One table of units per kind of quantity decides how it is read and how it is printed. Numbers
 * are scaled as integers: "0.1 s" is exactly 100,000,000 ns.
 */
#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/i18n.h"
#include "base/parse.h"

struct unit {
	const char *name;
	u64 value;
	u64 until; /* larger values are printed in the next unit */
};

/* "d", "m" and "µs" are read, never printed. */
static const struct unit times[] = {
	{"ns", 1, GP_NS_PER_US},
	{"us", GP_NS_PER_US, GP_NS_PER_MS},
	{"ms", GP_NS_PER_MS, GP_NS_PER_S},
	{"s", GP_NS_PER_S, 600 * GP_NS_PER_S},
	{"min", 60 * GP_NS_PER_S, 36000 * GP_NS_PER_S},
	{"h", 3600 * GP_NS_PER_S, 0},
	{"d", 24 * 3600 * GP_NS_PER_S, 0},
	{"m", 60 * GP_NS_PER_S, 0},
	{"µs", GP_NS_PER_US, 0},
	{0},
};

static const struct unit sizes[] = {
	{"B", 1, 1ull << 10},
	{"KiB", 1ull << 10, 1ull << 20},
	{"MiB", 1ull << 20, 1ull << 30},
	{"GiB", 1ull << 30, 1ull << 40},
	{"TiB", 1ull << 40, 0},
	{0},
};

static const struct unit *unit_for(const struct unit *units, u64 value)
{
	while (units->until && value >= units->until)
		units++;
	return units;
}

/* Digits with an optional fraction, of which the first nine places count. */
static bool number_parse(const char **p, const char *end, u64 *whole, u64 *billionths)
{
	u64 place = GP_NS_PER_S;

	*billionths = 0;
	if (!gp_parse_u64(p, end, whole))
		return false;
	if (end - *p < 2 || **p != '.' || !gp_is_digit((*p)[1]))
		return true;
	for ((*p)++; *p < end && gp_is_digit(**p); (*p)++) {
		place /= 10;
		*billionths += place * (u64)(**p - '0');
	}
	return true;
}

static bool measure_scale(const struct unit *unit, u64 whole, u64 billionths, u64 *value)
{
	/* A size's unit times a billion does not fit into 64 bits. */
	u64 part = (u64)((unsigned __int128)billionths * unit->value / GP_NS_PER_S);

	return !__builtin_mul_overflow(whole, unit->value, value) &&
	       !__builtin_add_overflow(*value, part, value);
}

/* 0, -ENOMSG (no unit), -EINVAL or -ERANGE. */
static int measure_parse(const char *text, const struct unit *units, u64 *value)
{
	const char *p = text, *end = text + strlen(text);
	u64 whole, billionths;

	if (!number_parse(&p, end, &whole, &billionths))
		return gp_is_digit(*text) ? -ERANGE : -EINVAL;
	gp_skip_blanks(&p, end);
	*value = 0;
	if (p == end)
		return whole || billionths ? -ENOMSG : 0;
	for (; units->name; units++) {
		if (strcmp(p, units->name) == 0)
			return measure_scale(units, whole, billionths, value) ? 0 : -ERANGE;
	}
	return -EINVAL;
}

int gp_duration_parse(const char *text, u64 min, u64 max, u64 *ns, char error[GP_UNITS_ERROR])
{
	int result = measure_parse(text, times, ns);

	if (!result && *ns >= min && *ns <= max)
		return 0;
	if (!error)
		return -EINVAL;
	if (result == -ENOMSG)
		snprintf(error, GP_UNITS_ERROR, _("'%s' has no unit (use ns, us, ms, s, min or h)"),
			 text);
	else if (result == -EINVAL)
		snprintf(error, GP_UNITS_ERROR,
			 _("'%s' is not a duration (use a number and a unit, such as 250us, 10ms "
			   "or 1.5s)"),
			 text);
	else
		snprintf(error, GP_UNITS_ERROR, _("'%s' is out of range (%s to %s)"), text,
			 gp_duration_text(min).text,
			 gp_duration_text(max - max % unit_for(times, max)->value).text);
	return -EINVAL;
}

int gp_size_parse(const char *text, u64 min, u64 max, u64 *bytes, char error[GP_UNITS_ERROR])
{
	int result = measure_parse(text, sizes, bytes);

	if (!result && *bytes >= min && *bytes <= max)
		return 0;
	if (!error)
		return -EINVAL;
	if (result == -ENOMSG)
		snprintf(error, GP_UNITS_ERROR, _("'%s' has no unit (use B, KiB, MiB, GiB or TiB)"),
			 text);
	else if (result == -EINVAL)
		snprintf(error, GP_UNITS_ERROR,
			 _("'%s' is not a size (use a number and a unit, such as 64GiB)"), text);
	else
		snprintf(error, GP_UNITS_ERROR, _("'%s' is out of range (%s to %s)"), text,
			 gp_size_text(min).text, gp_size_text(max).text);
	return -EINVAL;
}

int gp_count_parse(const char *text, u64 min, u64 max, u64 *count, char error[GP_UNITS_ERROR])
{
	if (gp_argument_u64(text, count) && *count >= min && *count <= max)
		return 0;
	if (error && max == UINT64_MAX)
		snprintf(error, GP_UNITS_ERROR,
			 _("'%s' is invalid; use a whole number, %llu or more"), text,
			 (unsigned long long)min);
	else if (error)
		snprintf(error, GP_UNITS_ERROR,
			 _("'%s' is invalid; use a whole number from %llu to %llu"), text,
			 (unsigned long long)min, (unsigned long long)max);
	return -EINVAL;
}

struct gp_units_text gp_duration_text(u64 ns)
{
	const struct unit *unit = unit_for(times, ns);
	struct gp_units_text out;
	char number[24];
	size_t length;
	double value;

	if (ns == UINT64_MAX) {
		snprintf(out.text, sizeof(out.text), "%s", _("unknown"));
		return out;
	}
	value = (double)ns / (double)unit->value;
	length = (size_t)snprintf(number, sizeof(number), "%.*f", value < 100 ? 2 : 1, value);
	while (number[length - 1] == '0')
		length--;
	if (number[length - 1] == '.')
		length--;
	snprintf(out.text, sizeof(out.text), "%.*s %s", (int)length, number, unit->name);
	return out;
}

struct gp_units_text gp_size_text(u64 bytes)
{
	const struct unit *unit = unit_for(sizes, bytes);
	struct gp_units_text out;

	snprintf(out.text, sizeof(out.text), "%.*f %s", unit->value > 1,
		 (double)bytes / (double)unit->value, unit->name);
	return out;
}
