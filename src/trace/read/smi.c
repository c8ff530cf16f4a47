// SPDX-License-Identifier: MIT
#include "trace/read/smi.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/i18n.h"
#include "base/json.h"
#include "base/parse.h"
#include "base/lines.h"

#define COLUMNS 16

struct reader {
	gp_event_fn fn;
	void *ctx;
	struct gp_trace_smi_stats *stats;
	/* rocm-smi: where columns are, -1 = nowhere; `table` while their rows come. */
	int pid, name, gpus, vram, cu;
	size_t columns;
	bool table;
	/* amd-smi: what is known of the process so far. */
	struct gp_event event;
	bool open, has_gpu;
	u64 gpu;
};

/* ---- values ---- */

struct word {
	const char *p;
	size_t len;
};

static struct word trim(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	while (end > p && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	return (struct word){p, (size_t)(end - p)};
}

static bool is(const struct word *word, const char *text)
{
	return word->len == strlen(text) && !memcmp(word->p, text, word->len);
}

static bool number(const struct word *word, u64 *value)
{
	const char *p = word->p, *end = p + word->len;

	return gp_parse_u64(&p, end, value) && p == end;
}

/* "10.1 GB"; a unit is 1024 of the one before. */
static bool bytes(const struct word *word, u64 *value)
{
	static const char units[] = "BKMGT";
	const char *p = word->p, *end = p + word->len, *unit;
	u64 whole, scale = 10;
	double number;

	if (!gp_parse_u64(&p, end, &whole) || whole > 1ull << 40)
		return false;
	number = (double)whole;
	if (GP_PARSE_LITERAL(&p, end, "."))
		for (; p < end && gp_is_digit(*p) && scale < 1000000000; p++, scale *= 10)
			number += (double)(*p - '0') / (double)scale;
	gp_skip_blanks(&p, end);
	unit = p < end ? strchr(units, *p) : units;
	if (!unit || !*unit)
		return false;
	for (; unit > units; unit--)
		number *= 1024;
	if (number >= 0x1p62)
		return false;
	*value = (u64)number;
	return true;
}

static int deliver(struct reader *reader, struct gp_event *event)
{
	event->kind = GP_EVENT_PROCESS;
	if (!(event->valid & GP_EV_PID)) {
		reader->stats->damaged++;
		return 0;
	}
	reader->stats->processes++;
	return reader->fn ? reader->fn(reader->ctx, event) : 0;
}

static void set_pid(struct gp_event *event, u64 pid)
{
	if (!pid || pid > INT32_MAX)
		return;
	event->pid = (u32)pid;
	event->valid |= GP_EV_PID;
}

static void set_vram(struct gp_event *event, u64 size)
{
	event->size = size;
	event->valid |= GP_EV_SIZE | GP_EV_BYTES;
}

static void set_name(struct gp_event *event, const char *text, size_t len)
{
	if (len == 3 && !memcmp(text, "N/A", 3))
		return;
	event->name = text;
	event->name_len = len;
}

/* ---- rocm-smi ---- */

static size_t split_tabs(const struct gp_line *line, struct word *out)
{
	const char *p = line->text, *end = p + line->len;
	size_t count = 0;

	while (count < COLUMNS && p <= end) {
		const char *tab = p < end ? memchr(p, '\t', (size_t)(end - p)) : NULL;

		out[count++] = trim(p, tab ? tab : end);
		if (!tab)
			break;
		p = tab + 1;
	}
	return count;
}

/* The words between runs of at least so many blanks. */
static size_t split_blanks(const struct gp_line *line, size_t least, struct word *out, size_t max)
{
	struct word rest = trim(line->text, line->text + line->len);
	const char *p = rest.p, *end = rest.p + rest.len;
	size_t count = 0;

	while (p < end && count < max) {
		const char *start = p, *blank;

		for (;;) {
			while (p < end && *p != ' ')
				p++;
			blank = p;
			while (p < end && *p == ' ')
				p++;
			if (p == end || (size_t)(p - blank) >= least)
				break;
		}
		out[count++] = (struct word){start, (size_t)(blank - start)};
	}
	return count;
}

/*
 * A terminal or a web page may have turned the tabs into blanks. Titles are then two blanks apart.
 * In a row only the name, which is second, may have blanks in it: the others are counted from the
 * ends.
 */
static size_t split_row(const struct gp_line *line, size_t columns, struct word *out)
{
	struct word words[COLUMNS * 4];
	size_t count = split_blanks(line, 1, words, GP_ARRAY_SIZE(words)), extra;

	if (columns < 2 || count < columns)
		return 0;
	extra = count - columns;
	out[0] = words[0];
	out[1] = trim(words[1].p, words[1 + extra].p + words[1 + extra].len);
	for (size_t i = 2; i < columns; i++)
		out[i] = words[i + extra];
	return columns;
}

static size_t split(const struct reader *reader, const struct gp_line *line, struct word *out)
{
	if (memchr(line->text, '\t', line->len))
		return split_tabs(line, out);
	return reader->table ? split_row(line, reader->columns, out)
			     : split_blanks(line, 2, out, COLUMNS);
}

/* The line with the titles of columns. */
static bool take_titles(struct reader *reader, const struct word *words, size_t count)
{
	reader->pid = reader->name = reader->gpus = reader->vram = reader->cu = -1;
	for (size_t i = 0; i < count; i++) {
		if (is(&words[i], "PID"))
			reader->pid = (int)i;
		else if (is(&words[i], "PROCESS NAME"))
			reader->name = (int)i;
		else if (is(&words[i], "GPU(s)"))
			reader->gpus = (int)i;
		else if (is(&words[i], "VRAM USED"))
			reader->vram = (int)i;
		else if (is(&words[i], "CU OCCUPANCY"))
			reader->cu = (int)i;
	}
	return reader->pid >= 0 && reader->name >= 0;
}

static int take_row(struct reader *reader, const struct gp_line *line, const struct word *words,
		    size_t count)
{
	struct gp_event event = {.line = line->number};
	u64 value;

	reader->stats->recognised++;
	if ((size_t)reader->pid < count && number(&words[reader->pid], &value))
		set_pid(&event, value);
	if ((size_t)reader->name < count)
		set_name(&event, words[reader->name].p, words[reader->name].len);
	if (reader->vram >= 0 && (size_t)reader->vram < count &&
	    bytes(&words[reader->vram], &value))
		set_vram(&event, value);
	if (reader->gpus >= 0 && (size_t)reader->gpus < count &&
	    number(&words[reader->gpus], &event.count))
		event.valid |= GP_EV_COUNT;
	if (reader->cu >= 0 && (size_t)reader->cu < count && number(&words[reader->cu], &value)) {
		event.text = words[reader->cu].p;
		event.text_len = words[reader->cu].len;
	}
	return deliver(reader, &event);
}

/* ---- amd-smi ---- */

static int close_process(struct reader *reader)
{
	bool open = reader->open;

	reader->open = false;
	return open ? deliver(reader, &reader->event) : 0;
}

/* "        VRAM_MEM: 10.1 GB". */
static int take_pair(struct reader *reader, const struct gp_line *line)
{
	const char *p = line->text, *end = p + line->len, *colon = memchr(p, ':', line->len);
	struct gp_event *event = &reader->event;
	struct word key, value;
	u64 found;
	int ret = 0;

	if (!colon)
		return 0;
	key = trim(p, colon);
	value = trim(colon + 1, end);
	if (is(&key, "GPU") && number(&value, &found)) {
		ret = close_process(reader);
		reader->gpu = found;
		reader->has_gpu = true;
		reader->stats->recognised++;
	} else if (is(&key, "PROCESS_INFO") && reader->has_gpu) {
		ret = close_process(reader);
		reader->stats->recognised++;
		*event = (struct gp_event){.line = line->number,
					   .gpu = reader->gpu,
					   .valid = GP_EV_GPU};
		reader->open = value.len == 0;
	} else if (reader->open && is(&key, "PID") && number(&value, &found)) {
		set_pid(event, found);
	} else if (reader->open && is(&key, "NAME")) {
		set_name(event, value.p, value.len);
	} else if (reader->open && is(&key, "VRAM_MEM") && bytes(&value, &found)) {
		set_vram(event, found);
	} else if (reader->open && is(&key, "CU_OCCUPANCY")) {
		event->text = value.p;
		event->text_len = value.len;
	}
	return ret;
}

static int take_line(struct reader *reader, const struct gp_line *line)
{
	const char *p = line->text, *end = p + line->len;
	struct word words[COLUMNS];
	size_t count;

	gp_skip_blanks(&p, end);
	if (p == end || *p == '=') {
		reader->table = reader->table && p == end;
		return 0;
	}
	if (memmem(p, (size_t)(end - p), "No KFD PIDs currently running", 29) ||
	    memmem(p, (size_t)(end - p), "No running processes detected", 29)) {
		reader->stats->recognised++;
		return 0;
	}
	count = split(reader, line, words);
	if (reader->table)
		return take_row(reader, line, words, count);
	if (count > 1 && take_titles(reader, words, count)) {
		reader->table = true;
		reader->columns = count;
		reader->stats->recognised++;
		return 0;
	}
	return take_pair(reader, line);
}

static int take_text(struct reader *reader, const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	struct gp_line line = {0};
	int ret = 0;

	while (p < end && !ret) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));

		line.text = p;
		line.len = (size_t)((newline ? newline : end) - p);
		line.number++;
		ret = take_line(reader, &line);
		p = newline ? newline + 1 : end;
	}
	return ret ? ret : close_process(reader);
}

/* ---- amd-smi --json ---- */

/* False for "N/A", which stands where a number and its unit should be. */
static bool json_bytes(const json_t *usage, u64 *found)
{
	const json_t *value = json_object_get(usage, "value");
	const char *unit = json_string_value(json_object_get(usage, "unit"));
	char text[64];
	struct word word = {text, 0};

	if (!json_is_number(value) || json_number_value(value) < 0 ||
	    json_number_value(value) > 1e12)
		return false;
	word.len = (size_t)snprintf(text, sizeof(text), "%.6f %.8s", json_number_value(value),
				    unit ? unit : "B");
	return bytes(&word, found);
}

static int take_object(struct reader *reader, const json_t *process, const json_t *gpu)
{
	const json_t *info = json_object_get(process, "process_info"), *usage;
	struct gp_event event = {0};
	const char *name;
	u64 vram;

	if (!json_is_object(info))
		info = process;
	if (json_is_integer(json_object_get(info, "pid")))
		set_pid(&event, (u64)json_integer_value(json_object_get(info, "pid")));
	name = json_string_value(json_object_get(info, "name"));
	if (name)
		set_name(&event, name, strlen(name));
	usage = json_object_get(json_object_get(info, "memory_usage"), "vram_mem");
	if (!usage)
		usage = json_object_get(info, "mem_usage");
	if (json_bytes(usage, &vram))
		set_vram(&event, vram);
	if (json_is_integer(gpu)) {
		event.gpu = (u64)json_integer_value(gpu);
		event.valid |= GP_EV_GPU;
	}
	return deliver(reader, &event);
}

static int take_json(struct reader *reader, const char *text, size_t len)
{
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL), *gpu, *process;
	size_t i, k;
	int ret = 0;

	json_array_foreach(root, i, gpu)
	{
		const json_t *list = json_object_get(gpu, "process_list");

		if (!list || !json_object_get(gpu, "gpu"))
			continue;
		reader->stats->recognised++;
		json_array_foreach((json_t *)list, k, process)
		{
			if (!ret && json_is_object(process))
				ret = take_object(reader, process, json_object_get(gpu, "gpu"));
		}
	}
	json_decref(root);
	return ret;
}

int gp_trace_smi_read(int fd, const char *name, struct gp_diag *diag, gp_event_fn fn, void *ctx,
		      struct gp_trace_smi_stats *stats)
{
	struct reader reader = {.fn = fn, .ctx = ctx, .stats = stats};
	struct gp_buf text = {0};
	const char *p;
	long got = 0;
	int ret = 0;

	memset(stats, 0, sizeof(*stats));
	while (!ret && text.len <= GP_SMI_MAX) {
		ret = gp_buf_reserve(&text, 65536);
		got = ret ? ret : gp_read_some(fd, text.data + text.len, 65536);
		if (got <= 0)
			break;
		text.len += (size_t)got;
		text.data[text.len] = '\0';
	}
	if (got < 0)
		ret = gp_fail(diag, (int)got, "cannot read %s: %s", name, strerror((int)-got));
	p = gp_buf_str(&text);
	while (*p == ' ' || *p == '\n' || *p == '\t')
		p++;
	if (!ret && text.len <= GP_SMI_MAX)
		ret = *p == '[' ? take_json(&reader, gp_buf_str(&text), text.len)
				: take_text(&reader, gp_buf_str(&text), text.len);
	gp_buf_free(&text);
	if (!ret && !stats->recognised)
		ret = gp_fail(diag, -EINVAL,
			      "%s: no process list (expected the output of 'rocm-smi --showpids' "
			      "or 'amd-smi process')",
			      name);
	return ret;
}
