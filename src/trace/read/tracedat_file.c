// SPDX-License-Identifier: MIT
/* The parts of a trace.dat, in the order of version 6 or by the options of version 7. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/i18n.h"
#include "base/parse.h"
#include "trace/read/tracedat_parts.h"

#define OPTION_SECTIONS 64   /* trace-cmd writes one, or two */
#define OPTIONS_MAX     4096 /* in a whole file; one may name itself as the next */

/* Numbers of the file format (trace-cmd.dat.v6.5, trace-cmd.dat.v7.5). */
enum {
	OPTION_DONE = 0,
	OPTION_BUFFER = 3,
	OPTION_CLOCK = 4,
	OPTION_HEADER = 16,
	OPTION_FTRACE = 17,
	OPTION_EVENTS = 18,
	OPTION_SYMBOLS = 19,
	OPTION_PRINTS = 20,
	OPTION_TEXT = 22,
	SECTION_COMPRESSED = 1
};

/* ---- parts ---- */

static int skip_named(struct gp_trace_dat_input *in, const char *name)
{
	char found[GP_DAT_NAME], *block;
	size_t len;
	int error = gp_trace_dat_get_string(in, found);

	if (!error && strcmp(found, name))
		error = -EINVAL;
	if (!error)
		error = gp_trace_dat_get_block(in, 8, &block, &len);
	if (!error)
		free(block);
	return error;
}

/* The layout of pages is known by the size of a long. */
static int take_header(struct gp_trace_dat_input *in)
{
	int error = skip_named(in, "header_page");

	return error ? error : skip_named(in, "header_event");
}

static int take_formats(struct gp_trace_dat_reader *reader, struct gp_trace_dat_input *in)
{
	u64 count = 0;
	int error = gp_trace_dat_get_number(in, 4, &count);

	for (u64 i = 0; i < count && !error; i++) {
		char *text;
		size_t len;

		error = gp_trace_dat_get_block(in, 8, &text, &len);
		if (error)
			break;
		error = gp_trace_dat_format_add(&reader->context.formats, text, len);
		free(text);
	}
	return error;
}

static int take_systems(struct gp_trace_dat_reader *reader, struct gp_trace_dat_input *in)
{
	char name[GP_DAT_NAME];
	u64 count = 0;
	int error = gp_trace_dat_get_number(in, 4, &count);

	for (u64 i = 0; i < count && !error; i++) {
		error = gp_trace_dat_get_string(in, name);
		if (!error)
			error = take_formats(reader, in);
	}
	return error;
}

static int take_list(struct gp_trace_dat_input *in, struct gp_trace_dat_symbols *symbols,
		     int (*add)(struct gp_trace_dat_symbols *, char *, size_t))
{
	char *text;
	size_t len;
	int error = gp_trace_dat_get_block(in, 4, &text, &len);

	return error ? error : add(symbols, text, len);
}

/* "local", or "[local] global mono". */
static void take_clock(struct gp_trace_dat_reader *reader, const char *text, size_t len)
{
	static const struct {
		const char *name;
		enum gp_trace_clock clock;
		bool ns;
	} clocks[] = {
		{"mono", GP_CLOCK_MONOTONIC, true}, {"mono_raw", GP_CLOCK_MONOTONIC_RAW, true},
		{"boot", GP_CLOCK_BOOTTIME, true},  {"counter", GP_CLOCK_TRACE, false},
		{"x86-tsc", GP_CLOCK_TRACE, false}, {"uptime", GP_CLOCK_TRACE, false},
	};
	const char *open = memchr(text, '[', len), *start = open ? open + 1 : text, *end = start;

	while (end < text + len && *end && *end != ']' && *end != ' ' && *end != '\n')
		end++;
	for (size_t i = 0; i < GP_ARRAY_SIZE(clocks); i++) {
		if ((size_t)(end - start) != strlen(clocks[i].name) ||
		    memcmp(start, clocks[i].name, (size_t)(end - start)))
			continue;
		reader->context.stats->clock = clocks[i].clock;
		reader->context.stats->has_time = clocks[i].ns;
	}
}

static int add_cpu(struct gp_trace_dat_reader *reader, u32 number, u64 offset, u64 size,
		   u32 page_size, bool compressed)
{
	struct gp_trace_dat_cpu cpu = {.cpu = number,
				       .offset = offset,
				       .left = size,
				       .page_size = page_size,
				       .compressed = compressed};
	u64 chunks = 0;

	if (!size)
		return 0;
	/* A file that was cut has what is before the cut. Pages of two CPUs are never the same. */
	if (offset > reader->file.end || reader->cpu_count == GP_DAT_CPUS ||
	    reader->claimed > reader->file.end) {
		reader->context.stats->damaged++;
		return 0;
	}
	if (size > reader->file.end - offset)
		cpu.left = reader->file.end - offset;
	reader->claimed += cpu.left;
	if (compressed) {
		struct gp_trace_dat_input in = reader->file;

		in.at = offset;
		if (cpu.left < 4 || gp_trace_dat_get_number(&in, 4, &chunks)) {
			reader->context.stats->damaged++;
			return 0;
		}
		/* Their number is not counted in the size. */
		cpu.chunks = (u32)chunks;
		cpu.offset += 4;
		if (cpu.left > reader->file.end - cpu.offset)
			cpu.left = reader->file.end - cpu.offset;
	}
	if (gp_array_grow((void **)&reader->cpus, reader->cpu_count, &reader->cpu_capacity,
			  sizeof(cpu)))
		return -ENOMEM;
	reader->cpus[reader->cpu_count++] = cpu;
	return 0;
}

static bool good_page(u64 size)
{
	return size >= 64 && size <= (1u << 20) && size % 8 == 0;
}

/* ---- version 6: one part after the other ---- */

static int take_options_6(struct gp_trace_dat_reader *reader, struct gp_trace_dat_input *in)
{
	while (reader->options++ < OPTIONS_MAX) {
		u64 id = 0, size;
		int error = gp_trace_dat_get_number(in, 2, &id);
		char data[512];

		if (error || id == OPTION_DONE)
			return error;
		error = gp_trace_dat_get_number(in, 4, &size);
		if (error || size > in->end - in->at)
			return error ? error : -EINVAL;
		if (id == OPTION_CLOCK && size < sizeof(data)) {
			struct gp_trace_dat_input copy = *in;

			error = gp_trace_dat_get(&copy, data, (size_t)size);
			if (!error)
				take_clock(reader, data, (size_t)size);
		}
		if (error)
			return error;
		in->at += size;
	}
	return -EINVAL;
}

static int take_cpus_6(struct gp_trace_dat_reader *reader, struct gp_trace_dat_input *in, u64 cpus)
{
	char kind[11] = "";
	int error = gp_trace_dat_get(in, kind, 10);

	if (!error && !memcmp(kind, "options  ", 10)) {
		error = take_options_6(reader, in);
		if (!error)
			error = gp_trace_dat_get(in, kind, 10);
	}
	if (error)
		return error;
	if (memcmp(kind, "flyrecord", 10)) {
		reader->text = true;
		return -EINVAL;
	}
	for (u64 i = 0; i < cpus && !error; i++) {
		u64 offset = 0, size = 0;

		error = gp_trace_dat_get_number(in, 8, &offset);
		if (!error)
			error = gp_trace_dat_get_number(in, 8, &size);
		if (!error)
			error = add_cpu(reader, (u32)i, offset, size, reader->page_size, false);
	}
	return error;
}

static int take_version_6(struct gp_trace_dat_reader *reader, struct gp_trace_dat_input *in)
{
	struct gp_trace_dat_context *context = &reader->context;
	char *lines;
	size_t len;
	u64 cpus = 0;
	int error = take_header(in);

	if (!error)
		error = take_formats(reader, in);
	if (!error)
		error = take_systems(reader, in);
	if (!error)
		error = take_list(in, &context->symbols, gp_trace_dat_symbols_add);
	if (!error)
		error = take_list(in, &context->prints, gp_trace_dat_prints_add);
	if (!error)
		error = gp_trace_dat_get_block(in, 8, &lines, &len);
	if (error)
		return error;
	free(lines); /* names of tasks */
	error = gp_trace_dat_get_number(in, 4, &cpus);
	return error ? error : take_cpus_6(reader, in, cpus);
}

/* ---- version 7: parts with heads, and options that say where they are ---- */

/* The part at an offset: the file itself, or what was compressed there (*owned, freed by the
 * caller). */
static int open_section(struct gp_trace_dat_reader *reader, u64 offset,
			struct gp_trace_dat_input *out, u8 **owned)
{
	struct gp_trace_dat_input in = reader->file;
	u64 id, flags = 0, size = 0, packed_size = 0, full = 0;
	u8 *packed;
	int error = offset > in.end ? -EINVAL : 0;

	*owned = NULL;
	in.at = offset;
	if (!error)
		error = gp_trace_dat_get_number(&in, 2, &id);
	if (!error)
		error = gp_trace_dat_get_number(&in, 2, &flags);
	in.at += 4; /* where its description is */
	if (!error)
		error = in.at > in.end ? -EINVAL : gp_trace_dat_get_number(&in, 8, &size);
	if (error || size > in.end - in.at)
		return error ? error : -EINVAL;
	*out = in;
	out->end = in.at + size;
	if (!(flags & SECTION_COMPRESSED))
		return 0;
	error = gp_trace_dat_get_number(out, 4, &packed_size);
	if (!error)
		error = gp_trace_dat_get_number(out, 4, &full);
	if (error || packed_size > out->end - out->at || full > GP_DAT_PART_MAX)
		return error ? error : -EINVAL;
	packed = malloc(packed_size ? (size_t)packed_size : 1);
	*owned = malloc(full ? (size_t)full : 1);
	if (!packed || !*owned)
		error = -ENOMEM;
	if (!error)
		error = gp_trace_dat_get(out, packed, (size_t)packed_size);
	if (!error && gp_trace_dat_decompress(*owned, (size_t)full, packed, (size_t)packed_size) !=
			      (long)full)
		error = -EINVAL;
	free(packed);
	*out = (struct gp_trace_dat_input){.memory = *owned, .end = full};
	return error;
}

static int take_section(struct gp_trace_dat_reader *reader, u64 id, u64 offset)
{
	struct gp_trace_dat_context *context = &reader->context;
	struct gp_trace_dat_input in;
	u8 *owned;
	int error = open_section(reader, offset, &in, &owned);

	if (error) {
		free(owned);
		return error;
	}
	switch (id) {
	case OPTION_HEADER:
		error = take_header(&in);
		break;
	case OPTION_FTRACE:
		error = take_formats(reader, &in);
		break;
	case OPTION_EVENTS:
		error = take_systems(reader, &in);
		break;
	case OPTION_SYMBOLS:
		error = take_list(&in, &context->symbols, gp_trace_dat_symbols_add);
		break;
	case OPTION_PRINTS:
		error = take_list(&in, &context->prints, gp_trace_dat_prints_add);
		break;
	}
	free(owned);
	return error;
}

/* Where a buffer is, its name, its clock, and its CPUs. */
static int take_buffer(struct gp_trace_dat_reader *reader, struct gp_trace_dat_input *in)
{
	u64 offset, page_size = 0, cpus = 0, flags = 0;
	struct gp_trace_dat_input section = reader->file;
	char name[GP_DAT_NAME], clock[GP_DAT_NAME];
	int error = gp_trace_dat_get_number(in, 8, &offset);

	if (!error)
		error = gp_trace_dat_get_string(in, name);
	if (!error)
		error = gp_trace_dat_get_string(in, clock);
	if (!error)
		error = gp_trace_dat_get_number(in, 4, &page_size);
	if (!error)
		error = gp_trace_dat_get_number(in, 4, &cpus);
	if (!error)
		error = offset > section.end - 2 ? -EINVAL : 0;
	section.at = error ? 0 : offset + 2;
	if (!error)
		error = gp_trace_dat_get_number(&section, 2, &flags);
	if (error || !good_page(page_size))
		return error ? error : -EINVAL;
	take_clock(reader, clock, strlen(clock));
	for (u64 i = 0; i < cpus && !error; i++) {
		u64 cpu = 0, at = 0, size = 0;

		error = gp_trace_dat_get_number(in, 4, &cpu);
		if (!error)
			error = gp_trace_dat_get_number(in, 8, &at);
		if (!error)
			error = gp_trace_dat_get_number(in, 8, &size);
		if (!error)
			error = add_cpu(reader, (u32)cpu, at, size, (u32)page_size,
					flags & SECTION_COMPRESSED);
	}
	return error;
}

/* One section of options; *next is where more are, 0 = none. */
static int take_options_7(struct gp_trace_dat_reader *reader, struct gp_trace_dat_input *in,
			  u64 *next)
{
	*next = 0;
	while (reader->options++ < OPTIONS_MAX) {
		u64 id = 0, size = 0, offset = 0;
		int error = gp_trace_dat_get_number(in, 2, &id);
		struct gp_trace_dat_input data;

		if (!error)
			error = gp_trace_dat_get_number(in, 4, &size);
		if (error || size > in->end - in->at)
			return error ? error : -EINVAL;
		data = *in;
		data.end = in->at + size;
		in->at += size;
		if (id == OPTION_DONE)
			return gp_trace_dat_get_number(&data, 8, next);
		if (id == OPTION_BUFFER) {
			error = take_buffer(reader, &data);
		} else if (id >= OPTION_HEADER && id <= OPTION_PRINTS) {
			error = gp_trace_dat_get_number(&data, 8, &offset);
			if (!error && !(reader->parts & 1u << id))
				error = take_section(reader, id, offset);
			reader->parts |= 1u << id;
		} else if (id == OPTION_TEXT) {
			reader->text = true;
		}
		if (error)
			return error;
	}
	return -EINVAL;
}

static int take_version_7(struct gp_trace_dat_reader *reader, struct gp_trace_dat_input *in)
{
	char algorithm[GP_DAT_NAME], version[GP_DAT_NAME];
	u64 next = 0;
	int error = gp_trace_dat_get_string(in, algorithm);

	if (!error)
		error = gp_trace_dat_get_string(in, version);
	if (!error)
		error = gp_trace_dat_get_number(in, 8, &next);
	if (error)
		return error;
	reader->compressed = strcmp(algorithm, "none") != 0;
	if (reader->compressed && strcmp(algorithm, GP_TRACE_DAT_COMPRESSION))
		return gp_fail(reader->diag, -EOPNOTSUPP,
			       "%s is compressed with %.16s, which is not supported. Convert it: "
			       "trace-cmd convert -i FILE -o NEW --compression none",
			       reader->name, algorithm);
	for (u32 sections = 0; next && !error; sections++) {
		struct gp_trace_dat_input section;
		u8 *owned;

		/* One that names itself as the next would be unpacked for ever. */
		if (sections == OPTION_SECTIONS)
			return gp_fail(reader->diag, -EBADMSG, "%s: too many option sections",
				       reader->name);
		error = open_section(reader, next, &section, &owned);
		if (!error)
			error = take_options_7(reader, &section, &next);
		free(owned);
	}
	return error;
}

/* ---- the start ---- */

int gp_trace_dat_open(struct gp_trace_dat_reader *reader)
{
	char magic[GP_DAT_MAGIC_LEN], version[GP_DAT_NAME];
	u64 endian = 0, long_size = 0, page_size = 0;
	struct gp_trace_dat_input start = reader->file, *in = &start;
	int error = gp_trace_dat_get(in, magic, sizeof(magic));

	if (!error)
		error = gp_trace_dat_get_string(in, version);
	if (!error)
		error = gp_trace_dat_get_number(in, 1, &endian);
	if (!error)
		error = gp_trace_dat_get_number(in, 1, &long_size);
	if (!error)
		error = gp_trace_dat_get_number(in, 4, &page_size);
	if (error)
		return error;
	reader->context.stats->version = (u32)atoi(version);
	if (endian || long_size != 8)
		return gp_fail(
			reader->diag, -EOPNOTSUPP,
			"%s was recorded on a 32-bit or big-endian machine, which is not supported",
			reader->name);
	if (strcmp(version, "6") && strcmp(version, "7"))
		return gp_fail(reader->diag, -EOPNOTSUPP,
			       "%s has version %.8s; versions 6 and 7 are supported. Convert it: "
			       "trace-cmd convert -i FILE -o NEW --file-version 7",
			       reader->name, version);
	if (!good_page(page_size))
		return -EINVAL;
	reader->page_size = (u32)page_size;
	reader->pages.long_size = (u32)long_size;
	return version[0] == '6' ? take_version_6(reader, in) : take_version_7(reader, in);
}
