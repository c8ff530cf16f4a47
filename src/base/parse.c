// SPDX-License-Identifier: MIT
#include "base/parse.h"

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

size_t gp_word_distance(const char *a, const char *b)
{
	enum { MOST = 32 };
	size_t row[MOST + 1], length = strlen(b);

	if (length > MOST || strlen(a) > MOST)
		return MOST;
	for (size_t i = 0; i <= length; i++)
		row[i] = i;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= length; j++) {
			size_t change = diagonal + (a[i - 1] != b[j - 1]);
			size_t less = row[j] < row[j - 1] ? row[j] : row[j - 1];

			diagonal = row[j];
			row[j] = change < less + 1 ? change : less + 1;
		}
	}
	return row[length];
}
