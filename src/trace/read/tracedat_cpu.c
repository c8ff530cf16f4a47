// SPDX-License-Identifier: MIT
/* The ring buffer of one CPU: blocks of the file, pages in them, records in these. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef GP_HAVE_ZSTD
#include <zstd.h>
#endif

#include "trace/read/tracedat_parts.h"

#define BLOCK      (64u << 10) /* read at once, when not compressed */
#define CHUNK_MAX  (16u << 20) /* what one compressed chunk may hold */
#define SIZE_MASK  0x07ffffffu /* of the page's length; flags are above */
#define MISSED     (1u << 31)  /* events were lost before this page */
#define STORED     (1u << 30)  /* and how many is behind its records */
#define TIME_BITS  27
#define STAMP_MASK ((1ull << 59) - 1) /* an absolute time has 59 bits */

enum { LENGTH_EXTRA = 0, PADDING = 29, TIME_EXTEND = 30, TIME_STAMP = 31 };

long gp_trace_dat_decompress(void *to, size_t room, const void *from, size_t len)
{
#ifdef GP_HAVE_ZSTD
	size_t got = ZSTD_decompress(to, room, from, len);

	return ZSTD_isError(got) ? -EINVAL : (long)got;
#else
	(void)to, (void)room, (void)from, (void)len;
	return -EOPNOTSUPP;
#endif
}

static int reserve(struct gp_trace_dat_cpu *cpu, size_t size)
{
	u8 *block;

	if (size <= cpu->block_capacity)
		return 0;
	block = realloc(cpu->block, size);
	if (!block)
		return -ENOMEM;
	cpu->block = block;
	cpu->block_capacity = size;
	return 0;
}

/* The next pages as they are in the file. */
static int read_block(struct gp_trace_dat_cpu *cpu, struct gp_trace_dat_pages *pages)
{
	size_t want =
		cpu->page_size > BLOCK ? cpu->page_size : BLOCK / cpu->page_size * cpu->page_size;
	ssize_t got;

	if (want > cpu->left)
		want = (size_t)cpu->left;
	if (reserve(cpu, want))
		return -ENOMEM;
	got = gp_trace_dat_read_at(pages->fd, cpu->block, want, cpu->offset);
	if (got < 0)
		return (int)got;
	cpu->offset += (u64)got;
	cpu->left = (size_t)got < want ? 0 : cpu->left - (u64)got;
	cpu->block_len = (size_t)got;
	return 0;
}

/* Compressed and uncompressed length, then the bytes. */
static int read_chunk(struct gp_trace_dat_cpu *cpu, struct gp_trace_dat_pages *pages)
{
	u32 head[2];
	ssize_t got = cpu->left < sizeof(head)
			      ? 0
			      : gp_trace_dat_read_at(pages->fd, head, sizeof(head), cpu->offset);
	void *packed;
	long size;

	if (got < 0)
		return (int)got;
	if (got < (ssize_t)sizeof(head) || head[0] > cpu->left - sizeof(head) ||
	    head[0] > CHUNK_MAX || head[1] > CHUNK_MAX || head[1] > pages->unpacked ||
	    cpu->offset + sizeof(head) + head[0] > pages->file_size) {
		pages->stats->damaged++;
		cpu->chunks = 0;
		return 0;
	}
	packed = malloc(head[0] ? head[0] : 1);
	if (!packed || reserve(cpu, head[1])) {
		free(packed);
		return -ENOMEM;
	}
	got = gp_trace_dat_read_at(pages->fd, packed, head[0], cpu->offset + sizeof(head));
	size = got == (ssize_t)head[0]
		       ? gp_trace_dat_decompress(cpu->block, head[1], packed, head[0])
		       : -EINVAL;
	free(packed);
	cpu->chunks--;
	cpu->offset += sizeof(head) + head[0];
	cpu->left -= sizeof(head) + head[0];
	if (size < 0)
		pages->stats->damaged++;
	cpu->block_len = size < 0 ? 0 : (size_t)size;
	pages->unpacked -= head[1];
	return 0;
}

/* More pages; 1, 0 at the end. */
static int next_block(struct gp_trace_dat_cpu *cpu, struct gp_trace_dat_pages *pages)
{
	int error = 0;

	cpu->block_at = cpu->block_len = 0;
	while (!error && !cpu->block_len && (cpu->compressed ? cpu->chunks : cpu->left > 0))
		error = cpu->compressed ? read_chunk(cpu, pages) : read_block(cpu, pages);
	pages->stats->bytes += cpu->block_len;
	return error ? error : cpu->block_len > 0;
}

/* A page: its time, its length with flags, and records. 1, 0 at the end. */
static int next_page(struct gp_trace_dat_cpu *cpu, struct gp_trace_dat_pages *pages)
{
	u32 head = 8 + pages->long_size;
	const u8 *page;
	u64 commit, len;

	if (cpu->block_len - cpu->block_at < cpu->page_size) {
		/* What is less than a page was cut. */
		if (cpu->block_at < cpu->block_len)
			pages->stats->damaged++;
		int more = next_block(cpu, pages);

		if (more <= 0)
			return more;
		if (cpu->block_len < cpu->page_size) {
			pages->stats->damaged++;
			return 0;
		}
	}
	page = cpu->block + cpu->block_at;
	cpu->block_at += cpu->page_size;
	cpu->time = gp_dat_number(page, 8);
	commit = gp_dat_number(page + 8, pages->long_size);
	len = commit & SIZE_MASK;
	if (len > cpu->page_size - head) {
		pages->stats->damaged++;
		len = 0;
	}
	cpu->page = page;
	cpu->at = page + head;
	cpu->end = cpu->at + len;
	if (commit & MISSED) {
		cpu->gap = true;
		if (commit & STORED && cpu->page_size - head - len >= pages->long_size)
			cpu->lost += gp_dat_number(cpu->end, pages->long_size);
	}
	return 1;
}

/* The record at cpu->at; false when the page has no more. */
static bool next_record(struct gp_trace_dat_cpu *cpu, struct gp_trace_tracedat_stats *stats)
{
	while (cpu->end - cpu->at >= 4) {
		u32 head = (u32)gp_dat_number(cpu->at, 4), type = head & 31, extra = 0;
		u64 delta = head >> 5, len;
		const u8 *p = cpu->at + 4;

		if (type == PADDING && !delta)
			break;
		if (type == LENGTH_EXTRA || type >= PADDING) {
			if (cpu->end - p < 4)
				goto damaged;
			extra = (u32)gp_dat_number(p, 4);
		}
		if (type == TIME_EXTEND || type == TIME_STAMP) {
			delta |= (u64)extra << TIME_BITS;
			cpu->time = type == TIME_EXTEND ? cpu->time + delta
							: (cpu->time & ~STAMP_MASK) | delta;
			cpu->at = p + 4;
			continue;
		}
		cpu->time += delta;
		if (type == LENGTH_EXTRA && extra < 4)
			goto damaged;
		len = type == PADDING        ? ((u64)extra + 3) & ~3ull
		      : type == LENGTH_EXTRA ? ((u64)extra - 4 + 3) & ~3ull
					     : type * 4;
		if (type == LENGTH_EXTRA)
			p += 4;
		if (len > (u64)(cpu->end - p))
			goto damaged;
		cpu->at = p + len;
		if (type == PADDING)
			continue;
		cpu->record = p;
		cpu->record_len = (u32)len;
		return true;
	}
	return false;
damaged:
	stats->damaged++;
	cpu->at = cpu->end;
	return false;
}

int gp_trace_dat_cpu_next(struct gp_trace_dat_cpu *cpu, struct gp_trace_dat_pages *pages)
{
	for (;;) {
		if (cpu->page && next_record(cpu, pages->stats))
			return 1;
		int more = next_page(cpu, pages);

		if (more <= 0)
			return more;
	}
}
