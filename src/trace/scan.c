#include "trace/scan.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static void marks_clear(struct gp_marks *marks)
{
	marks->time[0] = NULL;
	marks->time[1] = NULL;
	marks->queue = NULL;
	marks->queues = 0;
}

/* ---- portable ---- */

static bool queue_starts(const char *p)
{
	return (p[0] == 'q' && p[1] == '=') || (p[0] == 'f' && p[1] == 'C') ||
	       (p[0] == 'd' && p[1] == 'w');
}

static void line_portable(const char *line, struct gp_marks *marks)
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

static const struct gp_scan scan_portable = {"portable", line_portable, queue_portable};

/* ---- x86-64: the same loop with 16 and 32 bytes a step ---- */

#if defined(__x86_64__)

static inline void marks_add(struct gp_marks *marks, const char *p, u32 time, u32 queue)
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
#define OR128(a, b)  _mm_or_si128(a, b)
#define BITS128(v)   ((u32)_mm_movemask_epi8(v))
#define LOAD256(p)   _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define IS256(v, c)  _mm256_cmpeq_epi8(v, _mm256_set1_epi8(c))
#define AND256(a, b) _mm256_and_si256(a, b)
#define OR256(a, b)  _mm256_or_si256(a, b)
#define BITS256(v)   ((u32)_mm256_movemask_epi8(v))
#define BELOW(bit)   ((1u << (bit)) - 1)

#define DEFINE_SCAN(width, vector, step, attributes)                                               \
	attributes static void line_##width(const char *p, struct gp_marks *marks)                 \
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
	}                                                                                          \
                                                                                                   \
	attributes static const char *queue_##width(const char *p, const char *end, u64 *newlines) \
	{                                                                                          \
		u64 count = 0;                                                                     \
                                                                                                   \
		for (; p < end; p += (step)) {                                                     \
			vector a = LOAD##width(p), b = LOAD##width(p + 1);                         \
			u32 ends = BITS##width(IS##width(a, '\n'));                                \
			u32 hits = BITS##width(OR##width(                                          \
				OR##width(AND##width(IS##width(a, 'q'), IS##width(b, '=')),        \
					  AND##width(IS##width(a, 'f'), IS##width(b, 'C'))),       \
				AND##width(IS##width(a, 'd'), IS##width(b, 'w'))));                \
			if (end - p < (step)) {                                                    \
				ends &= BELOW(end - p);                                            \
				hits &= BELOW(end - p);                                            \
			}                                                                          \
			if (hits) {                                                                \
				u32 bit = (u32)__builtin_ctz(hits);                                \
				*newlines += count + (u32)__builtin_popcount(ends & BELOW(bit));   \
				return p + bit;                                                    \
			}                                                                          \
			count += (u32)__builtin_popcount(ends);                                    \
		}                                                                                  \
		*newlines += count;                                                                \
		return end;                                                                        \
	}

DEFINE_SCAN(128, __m128i, 16, )
DEFINE_SCAN(256, __m256i, 32, __attribute__((target("avx2,popcnt,bmi"))))

static const struct gp_scan scan_sse2 = {"sse2", line_128, queue_128};
static const struct gp_scan scan_avx2 = {"avx2", line_256, queue_256};

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") &&
	       __builtin_cpu_supports("bmi");
}
#endif

size_t gp_scan_all(const struct gp_scan **out, size_t capacity)
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

const struct gp_scan *gp_scan_select(void)
{
	const struct gp_scan *all[4];

	return all[gp_scan_all(all, GP_ARRAY_SIZE(all)) - 1];
}
