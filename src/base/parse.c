// SPDX-License-Identifier: MIT
#include "base/parse.h"

#include "base/core.h"

/* Largest pid the kernel hands out is 2^22; pid_t is a signed int. */
#define GP_PID_LIMIT 0x7fffffffu

bool gp_parse_u64(const char **p, const char *end, u64 *value)
{
	const char *q = *p;
	u64 sum = 0;

	for (; q < end && gp_is_digit(*q); q++) {
		if (__builtin_mul_overflow(sum, 10u, &sum) ||
		    __builtin_add_overflow(sum, (u64)(*q - '0'), &sum))
			return false;
	}
	if (q == *p)
		return false;
	*p = q;
	*value = sum;
	return true;
}

bool gp_parse_u32(const char **p, const char *end, u32 *value)
{
	const char *q = *p;
	u64 wide;

	if (!gp_parse_u64(&q, end, &wide) || wide > UINT32_MAX)
		return false;
	*p = q;
	*value = (u32)wide;
	return true;
}

bool gp_parse_hex(const char **p, const char *end, u64 *value)
{
	const char *q = *p, *first;
	u64 sum = 0;
	int digit;

	while (end - q >= 2 && q[0] == '0' && (q[1] | 0x20) == 'x')
		q += 2;
	for (first = q; q < end && (digit = gp_hex_value(*q)) >= 0; q++) {
		if (sum >> 60)
			return false;
		sum = sum << 4 | (u64)digit;
	}
	if (q == first)
		return false;
	*p = q;
	*value = sum;
	return true;
}

bool gp_argument_u64(const char *text, u64 *value)
{
	const char *end = text + strlen(text);

	return gp_parse_u64(&text, end, value) && text == end;
}

bool gp_argument_pid(const char *text, u32 *pid)
{
	u64 value;

	if (!gp_argument_u64(text, &value) || value == 0 || value > GP_PID_LIMIT)
		return false;
	*pid = (u32)value;
	return true;
}

enum { MOST = sizeof(((struct gp_nearest *)0)->word) - 1 };

/* How many letters must be added, left out, changed or swapped to make one word of the other. */
static size_t word_distance(const char *a, const char *b)
{
	size_t steps[MOST + 1][MOST + 1], rows = strlen(a), columns = strlen(b);

	if (rows > MOST || columns > MOST)
		return MOST;
	for (size_t i = 0; i <= rows; i++) {
		for (size_t j = 0; j <= columns; j++) {
			size_t least =
				i && j ? steps[i - 1][j - 1] + (a[i - 1] != b[j - 1]) : i + j;

			if (i && j)
				least = GP_MIN(least, GP_MIN(steps[i - 1][j], steps[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				least = GP_MIN(least, steps[i - 2][j - 2] + 1);
			steps[i][j] = least;
		}
	}
	return steps[rows][columns];
}

void gp_nearest_look(struct gp_nearest *nearest, const char *word)
{
	size_t length = strlen(nearest->typed), found = word_distance(nearest->typed, word);

	/* Half of the letters may be wrong, and at most three. */
	if (found > (length < 6 ? length / 2 : 3) || (*nearest->word && found >= nearest->distance))
		return;
	nearest->distance = found;
	memcpy(nearest->word, word, strlen(word) + 1);
}
