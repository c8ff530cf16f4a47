// SPDX-License-Identifier: MIT
#include "trace/read/scan.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static void marks_clear(struct gp_trace_marks *marks)
{
	marks->time[0] = NULL;
	marks->time[1] = NULL;
	marks->queue = NULL;
	marks->queues = 0;
}

/* ---- portable ---- */

static bool queue_starts(const char *p)
{
	return (p[0] == 'q' || p[0] == 'f' || p[0] == 'd') &&
	       (p[1] == '=' || p[1] == 'C' || p[1] == 'w');
}

static void line_portable(const char *line, struct gp_trace_marks *marks)
{
	const char *p;

	marks_clear(marks);
	for (p = line; *p != '\n'; p++) {
		if (p[0] == 'u' && p[1] == 's' && p[2] == ':') {
			if (!marks->time[0])
				marks->time[0] = p;
			else if (!marks->time[1])
				marks->time[1] = p;
		} else if (p[0] == 'q' && p[1] == '=') {
			if (!marks->queue)
				marks->queue = p;
			marks->queues++;
		}
	}
	marks->end = p;
}

static const char *queue_portable(const char *p, const char *end, u64 *newlines)
{
	for (; p < end; p++) {
		if (*p == '\n')
			(*newlines)++;
		else if (queue_starts(p))
			return p;
	}
	return end;
}

static const struct gp_trace_scan scan_portable = {"portable", line_portable, queue_portable};

/* ---- x86-64: the same loop with 16 and 32 bytes a step ---- */

#if defined(__x86_64__)

static inline void marks_add(struct gp_trace_marks *marks, const char *p, u32 time, u32 queue)
{
	if (time) {
		if (!marks->time[0]) {
			marks->time[0] = p + __builtin_ctz(time);
			time &= time - 1;
		}
		if (time && !marks->time[1])
			marks->time[1] = p + __builtin_ctz(time);
	}
	if (queue) {
		if (!marks->queue)
			marks->queue = p + __builtin_ctz(queue);
		marks->queues += (u32)__builtin_popcount(queue);
	}
}

#define LOAD128(p)   _mm_loadu_si128((const __m128i *)(const void *)(p))
#define IS128(v, c)  _mm_cmpeq_epi8(v, _mm_set1_epi8(c))
#define AND128(a, b) _mm_and_si128(a, b)
#define BITS128(v)   ((u32)_mm_movemask_epi8(v))
#define LOAD256(p)   _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define IS256(v, c)  _mm256_cmpeq_epi8(v, _mm256_set1_epi8(c))
#define AND256(a, b) _mm256_and_si256(a, b)
#define BITS256(v)   ((u32)_mm256_movemask_epi8(v))
#define BELOW(bit)   ((1u << (bit)) - 1)
#define AVX2         __attribute__((target("avx2,popcnt,bmi")))

#define DEFINE_LINE(width, vector, step, attributes)                                               \
	attributes static void line_##width(const char *p, struct gp_trace_marks *marks)           \
	{                                                                                          \
		marks_clear(marks);                                                                \
		for (;; p += (step)) {                                                             \
			vector a = LOAD##width(p), b = LOAD##width(p + 1);                         \
			u32 ends = BITS##width(IS##width(a, '\n'));                                \
			u32 time = BITS##width(                                                    \
				AND##width(AND##width(IS##width(a, 'u'), IS##width(b, 's')),       \
					   IS##width(LOAD##width(p + 2), ':')));                   \
			u32 queue = BITS##width(AND##width(IS##width(a, 'q'), IS##width(b, '='))); \
			if (ends) {                                                                \
				u32 keep = BELOW(__builtin_ctz(ends));                             \
				marks_add(marks, p, time &keep, queue &keep);                      \
				marks->end = p + __builtin_ctz(ends);                              \
				return;                                                            \
			}                                                                          \
			if (time | queue)                                                          \
				marks_add(marks, p, time, queue);                                  \
		}                                                                                  \
	}

DEFINE_LINE(128, __m128i, 16, )
DEFINE_LINE(256, __m256i, 32, AVX2)

static inline __m128i starts_128(const char *p)
{
	__m128i a = LOAD128(p), b = LOAD128(p + 1);

	return _mm_and_si128(_mm_or_si128(_mm_or_si128(IS128(a, 'q'), IS128(a, 'f')),
					  IS128(a, 'd')),
			     _mm_or_si128(_mm_or_si128(IS128(b, '='), IS128(b, 'C')),
					  IS128(b, 'w')));
}

/*
 * A byte is one of a set whose members differ in their low four bits when the table entry for
 * those bits is the byte itself. Entries of no member hold a byte that looks up another entry.
 */
AVX2 static inline __m256i starts_256(const char *p)
{
	const __m256i first = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(1, 'q', 0, 0, 'd', 0, 'f', 0, 0, 0, 0, 0, 0, 0, 0, 0));
	const __m256i second = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(1, 0, 0, 'C', 0, 0, 0, 'w', 0, 0, 0, 0, 0, '=', 0, 0));
	__m256i a = LOAD256(p), b = LOAD256(p + 1);

	return _mm256_and_si256(_mm256_cmpeq_epi8(a, _mm256_shuffle_epi8(first, a)),
				_mm256_cmpeq_epi8(b, _mm256_shuffle_epi8(second, b)));
}

static const char *queue_128(const char *p, const char *end, u64 *newlines)
{
	for (; end - p >= 16; p += 16) {
		u32 ends = BITS128(IS128(LOAD128(p), '\n')), hits = BITS128(starts_128(p));

		if (hits) {
			u32 bit = (u32)__builtin_ctz(hits);

			*newlines += (u32)__builtin_popcount(ends & BELOW(bit));
			return p + bit;
		}
		*newlines += (u32)__builtin_popcount(ends);
	}
	return queue_portable(p, end, newlines);
}

AVX2 static const char *queue_256(const char *p, const char *end, u64 *newlines)
{
	u64 count = 0;

	for (; end - p >= 64; p += 64) {
		__m256i low = starts_256(p), high = starts_256(p + 32);
		u64 ends = BITS256(IS256(LOAD256(p), '\n')) |
			   (u64)BITS256(IS256(LOAD256(p + 32), '\n')) << 32;

		if (!_mm256_testz_si256(_mm256_or_si256(low, high), _mm256_set1_epi8(-1))) {
			u64 hits = BITS256(low) | (u64)BITS256(high) << 32;
			u32 bit = (u32)__builtin_ctzll(hits);

			count += (u64)__builtin_popcountll(ends & ((1ull << bit) - 1));
			*newlines += count;
			return p + bit;
		}
		count += (u64)__builtin_popcountll(ends);
	}
	*newlines += count;
	return queue_portable(p, end, newlines);
}

static const struct gp_trace_scan scan_sse2 = {"sse2", line_128, queue_128};
static const struct gp_trace_scan scan_avx2 = {"avx2", line_256, queue_256};

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") &&
	       __builtin_cpu_supports("bmi");
}
#endif

size_t gp_trace_scan_all(const struct gp_trace_scan **out, size_t capacity)
{
	size_t count = 0;

	if (count < capacity)
		out[count++] = &scan_portable;
#if defined(__x86_64__)
	if (count < capacity)
		out[count++] = &scan_sse2;
	if (count < capacity && has_avx2())
		out[count++] = &scan_avx2;
#endif
	return count;
}

const struct gp_trace_scan *gp_trace_scan_select(void)
{
	const struct gp_trace_scan *all[4];

	return all[gp_trace_scan_all(all, GP_ARRAY_SIZE(all)) - 1];
}
