/* SPDX-License-Identifier: MIT */
/*
 * The inside of the reader of trace.dat, cut along the file: tracedat_file.c reads its parts, with
 * the means of tracedat_input.c, tracedat_format.c descriptions of events, tracedat_symbols.c
 * addresses, tracedat_cpu.c pages of the ring buffer, tracedat_event.c what is in them; tracedat.c
 * merges CPUs. Nothing outside the reader includes this.
 */
#ifndef GP_TRACE_READ_TRACEDAT_PARTS_H
#define GP_TRACE_READ_TRACEDAT_PARTS_H

#include <string.h>

#include "base/string_table.h"
#include "trace/read/tracedat.h"

#define GP_DAT_MAGIC     "\x17\x08\x44tracing"
#define GP_DAT_MAGIC_LEN 10
#define GP_DAT_TYPES     65536 /* common_type has 16 bits */
#define GP_DAT_TEXT      1024  /* of an event's fields; longer is cut */
#define GP_DAT_CPUS      8192
#define GP_DAT_PART_MAX  (64u << 20) /* the symbols of a big kernel are 20 MB */

/* ---- descriptions of events ---- */

enum gp_trace_dat_kind {
	GP_DAT_POINT,
	GP_DAT_FUNCTION,
	GP_DAT_GRAPH_ENTRY,
	GP_DAT_GRAPH_EXIT,
	GP_DAT_PRINT,  /* text */
	GP_DAT_BPRINT, /* address of a format, and values */
	GP_DAT_BPUTS,  /* address of a text */
	GP_DAT_PROBE,  /* a function's entry */
	GP_DAT_RETURN, /* a function's return */
};

struct gp_trace_dat_field {
	char name[48];
	u32 offset, size;
	bool is_signed, is_text, is_common;
	bool dynamic;  /* 16 bits offset, 16 bits length of what is elsewhere in the record */
	bool relative; /* that offset counts from behind this field */
};

struct gp_trace_dat_format {
	enum gp_trace_dat_kind kind;
	char name[64];
	size_t name_len;
	struct gp_trace_dat_field *fields;
	size_t field_count, field_capacity;
	/* Of the kinds that need them, else 0 = not there; a place is its offset + 1. */
	u32 address, parent, buffer, format_address, call_time, return_time;
};

struct gp_trace_dat_formats {
	u16 *by_type; /* number + 1; GP_DAT_TYPES of them */
	struct gp_trace_dat_format *items;
	size_t count, capacity;
};

/* One description; unknown parts are left out. 0 or -ENOMEM. */
int gp_trace_dat_format_add(struct gp_trace_dat_formats *formats, const char *text, size_t len);
void gp_trace_dat_formats_free(struct gp_trace_dat_formats *formats);

/* ---- addresses ---- */

struct gp_trace_dat_symbol {
	u64 address;
	const char *name; /* in the text, up to len */
	u32 len;
};

#define GP_DAT_RECENT 1024

struct gp_trace_dat_symbols {
	char *text;
	struct gp_trace_dat_symbol *items; /* by address */
	size_t count, capacity;
	u32 recent[GP_DAT_RECENT]; /* what looked-up addresses were: number + 1 */
	u64 recent_address[GP_DAT_RECENT];
};

/* /proc/kallsyms' text; takes it. `exact` of the kernel's list of formats. 0 or -ENOMEM. */
int gp_trace_dat_symbols_add(struct gp_trace_dat_symbols *symbols, char *text, size_t len);
/* The kernel's list of formats of prints, `0xADDRESS : "text"`; takes it. */
int gp_trace_dat_prints_add(struct gp_trace_dat_symbols *prints, char *text, size_t len);
void gp_trace_dat_symbols_free(struct gp_trace_dat_symbols *symbols);
/* The symbol that an address is in, or NULL. */
const struct gp_trace_dat_symbol *gp_trace_dat_symbol(struct gp_trace_dat_symbols *symbols,
						      u64 address);
/* The one that is exactly there, or NULL. */
const struct gp_trace_dat_symbol *gp_trace_dat_symbol_at(struct gp_trace_dat_symbols *symbols,
							 u64 address);

/* ---- pages ---- */

struct gp_trace_dat_cpu {
	u32 cpu;
	u64 offset, left; /* in the file: where the next block is, and how much there is */
	u32 page_size;
	bool compressed;
	u32 chunks; /* still to come, when compressed */
	u8 *block;  /* pages that were read */
	size_t block_len, block_at, block_capacity;
	/* The page. */
	const u8 *page, *at, *end;
	u64 time;
	/* The event. */
	const u8 *record;
	u32 record_len;
	u64 last_time;
	bool gap; /* before this event, */
	u64 lost; /* of so many; 0: unknown */
};

struct gp_trace_dat_pages {
	int fd;
	u32 long_size;
	u64 file_size;
	u64 unpacked; /* bytes that may still come out of compressed chunks */
	struct gp_trace_tracedat_stats *stats;
};

/* On to the next event. 1, 0 at the end, or -errno. */
int gp_trace_dat_cpu_next(struct gp_trace_dat_cpu *cpu, struct gp_trace_dat_pages *pages);

/* Little endian, of 1, 2, 4 or 8 bytes. */
static inline u64 gp_dat_number(const u8 *p, u32 size)
{
	u64 value = 0;

	memcpy(&value, p, size > 8 ? 8 : size);
	return value;
}

/* The compression of parts that this build can read; "": none. */
#ifdef GP_HAVE_ZSTD
#define GP_TRACE_DAT_COMPRESSION "zstd"
#else
#define GP_TRACE_DAT_COMPRESSION ""
#endif
/* Decompresses it; the bytes, at most room, or -EINVAL. */
long gp_trace_dat_decompress(void *to, size_t room, const void *from, size_t len);

/* ---- events ---- */

struct gp_trace_dat_context {
	struct gp_trace_dat_formats formats;
	struct gp_trace_dat_symbols symbols, prints;
	u64 number;
	gp_event_fn fn;
	void *ctx;
	struct gp_trace_tracedat_stats *stats;
	char text[GP_DAT_TEXT];
};

/* The record of a CPU as an event, handed on. */
int gp_trace_dat_event(struct gp_trace_dat_context *context, const struct gp_trace_dat_cpu *cpu);
/* A print whose values are behind its format, into context->text; returns its length. */
size_t gp_trace_dat_bprint(struct gp_trace_dat_context *context, const char *format,
			   size_t format_len, const u8 *p, const u8 *end);

/* ---- the file ---- */

/* Bytes to be read, of the file or of a part that was decompressed. */
struct gp_trace_dat_input {
	int fd;
	const u8 *memory; /* NULL = the file */
	u64 at, end;
};

#define GP_DAT_NAME 256 /* of the strings in the file */

/* Bytes read, fewer at the end of the file; -errno. */
ssize_t gp_trace_dat_read_at(int fd, void *to, size_t len, u64 offset);
/* Each returns -EINVAL if the input is too short. A string has room for GP_DAT_NAME bytes. */
int gp_trace_dat_get(struct gp_trace_dat_input *in, void *out, size_t len);
int gp_trace_dat_get_number(struct gp_trace_dat_input *in, u32 size, u64 *value);
int gp_trace_dat_get_string(struct gp_trace_dat_input *in, char *out);
/* A block with its length, of so many bytes, in front; freed by the caller. */
int gp_trace_dat_get_block(struct gp_trace_dat_input *in, u32 length_size, char **out, size_t *len);

struct gp_trace_dat_reader {
	struct gp_trace_dat_input file;
	const char *name;
	struct gp_diag *diag;
	struct gp_trace_dat_context context;
	struct gp_trace_dat_pages pages;
	struct gp_trace_dat_cpu *cpus;
	size_t cpu_count, cpu_capacity;
	u32 page_size;
	bool compressed;
	u32 options, parts; /* how many were read; which, by number */
	u64 claimed;        /* bytes of the file that are pages */
	bool text;          /* it holds a trace as text, which is not read */
	size_t *heap;       /* of CPUs, the earliest first */
	size_t heap_count;
};

/* Reads everything but the pages. 0 or -errno; -EINVAL where it is cut or damaged, of which nothing
 * was said. */
int gp_trace_dat_open(struct gp_trace_dat_reader *reader);

#endif
