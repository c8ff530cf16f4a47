// SPDX-License-Identifier: MIT
/* Addresses of functions and of texts, from the lists that the file carries. */
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/parse.h"
#include "trace/read/tracedat_parts.h"

void gp_trace_dat_symbols_free(struct gp_trace_dat_symbols *symbols)
{
	free(symbols->text);
	free(symbols->items);
	memset(symbols, 0, sizeof(*symbols));
}

static int by_address(const void *a, const void *b)
{
	const struct gp_trace_dat_symbol *x = a, *y = b;

	/* Of several at one address the first stays first. */
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* "ffffffffc0a01230 t init_mqd.isra.0\t[amdgpu]": the name without what the compiler added. */
static bool take_symbol(const char *p, const char *end, struct gp_trace_dat_symbol *symbol)
{
	const char *start;

	if (!gp_parse_hex(&p, end, &symbol->address) || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return false;
	start = p += 3;
	while (p < end && *p != '\t' && *p != ' ' && *p != '\r')
		p++;
	for (const char *dot = start + 1; dot < p; dot++)
		if (*dot == '.') {
			p = dot;
			break;
		}
	symbol->name = start;
	symbol->len = (u32)(p - start);
	return p > start;
}

/* `0xffffffff82a3c120 : "[KFD-TRACE] %s\n"`: the text, its escapes undone in place. */
static bool take_print(char *p, char *end, struct gp_trace_dat_symbol *symbol)
{
	const char *q = p;
	char *open = memchr(p, '"', (size_t)(end - p)), *close = end, *out;

	if (!gp_parse_hex(&q, end, &symbol->address) || !open)
		return false;
	while (close > open + 1 && close[-1] != '"')
		close--;
	if (--close <= open)
		return false;
	out = open + 1;
	for (char *in = out; in < close; in++) {
		if (*in == '\\' && in + 1 < close) {
			in++;
			*out++ = *in == 'n' ? '\n' : *in == 't' ? '\t' : *in;
		} else {
			*out++ = *in;
		}
	}
	symbol->name = open + 1;
	symbol->len = (u32)(out - open - 1);
	return true;
}

/* Of several at one address the first stays: a look-up need not walk over the others. */
static void sort(struct gp_trace_dat_symbols *symbols)
{
	struct gp_trace_dat_symbol *items = symbols->items;
	size_t kept = 1;

	qsort(items, symbols->count, sizeof(*items), by_address);
	for (size_t i = 1; i < symbols->count; i++)
		if (items[i].address != items[kept - 1].address)
			items[kept++] = items[i];
	symbols->count = kept;
}

static int add(struct gp_trace_dat_symbols *symbols, char *text, size_t len, bool prints)
{
	char *p = text, *end = text + len;
	int error = 0;

	if (symbols->text) {
		free(text);
		return 0;
	}
	symbols->text = text;
	while (p < end && !error) {
		char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end;
		struct gp_trace_dat_symbol symbol;

		if (prints ? take_print(p, stop, &symbol) : take_symbol(p, stop, &symbol)) {
			error = gp_array_grow((void **)&symbols->items, symbols->count,
					      &symbols->capacity, sizeof(symbol));
			if (!error)
				symbols->items[symbols->count++] = symbol;
		}
		p = stop + 1;
	}
	if (symbols->count)
		sort(symbols);
	return error;
}

int gp_trace_dat_symbols_add(struct gp_trace_dat_symbols *symbols, char *text, size_t len)
{
	return add(symbols, text, len, false);
}

int gp_trace_dat_prints_add(struct gp_trace_dat_symbols *prints, char *text, size_t len)
{
	return add(prints, text, len, true);
}

/* The last one that is not behind the address; number + 1. */
static u32 search(const struct gp_trace_dat_symbols *symbols, u64 address)
{
	size_t low = 0, high = symbols->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return (u32)low;
}

const struct gp_trace_dat_symbol *gp_trace_dat_symbol(struct gp_trace_dat_symbols *symbols,
						      u64 address)
{
	size_t slot = (size_t)((address ^ address >> 11) % GP_DAT_RECENT);

	if (!symbols->recent[slot] || symbols->recent_address[slot] != address) {
		u32 found = search(symbols, address);

		if (!found)
			return NULL;
		symbols->recent[slot] = found;
		symbols->recent_address[slot] = address;
	}
	return &symbols->items[symbols->recent[slot] - 1];
}

const struct gp_trace_dat_symbol *gp_trace_dat_symbol_at(struct gp_trace_dat_symbols *symbols,
							 u64 address)
{
	const struct gp_trace_dat_symbol *symbol = gp_trace_dat_symbol(symbols, address);

	return symbol && symbol->address == address ? symbol : NULL;
}
