// SPDX-License-Identifier: MIT
#include "base/jsonwalk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/i18n.h"
#include "base/magic.h"
#include "base/utf8.h"
#include "base/lines.h"

#define BUFFER_SIZE (256u << 10)
#define PATH_SIZE   512
#define KEY_SIZE    128

struct level {
	char type;        /* '{' or '[' */
	size_t path_len;  /* of the container's own path */
	bool expects_key; /* '{' only */
};

struct walker {
	const char *const *paths;
	size_t path_count;
	gp_json_fn fn;
	void *ctx;
	struct gp_json_stats *stats;
	struct level levels[GP_JSON_DEPTH_MAX];
	u32 depth;
	char path[PATH_SIZE];
	size_t path_len;
	char key[KEY_SIZE];
	size_t key_len;
	bool in_string, escaped, is_key;
	/* While a wanted value is collected. */
	bool capturing;
	size_t which;
	u32 inside; /* open brackets of it */
	struct gp_buf value;
	bool too_long, done, broken;
};

/* Names in traces may hold any bytes; jansson takes UTF-8 only. */
static void repair(struct gp_buf *text)
{
	for (size_t i = 0; i < text->len;) {
		u32 code;
		size_t step = gp_utf8_next(text->data + i, text->len - i, &code);

		if (!step)
			text->data[i] = '?';
		i += step ? step : 1;
	}
}

static int deliver(struct walker *walker)
{
	json_t *json = NULL;
	int ret = 0;

	walker->capturing = false;
	if (walker->value.error)
		return -ENOMEM;
	if (!walker->too_long) {
		repair(&walker->value);
		json = json_loadb(walker->value.data, walker->value.len, JSON_ALLOW_NUL, NULL);
	}
	if (json) {
		walker->stats->values++;
		ret = walker->fn(walker->ctx, walker->which, json);
		json_decref(json);
	} else {
		walker->stats->refused++;
	}
	return ret;
}

static void keep(struct walker *walker, const char *from, const char *to)
{
	size_t len = (size_t)(to - from);

	if (len > GP_JSON_VALUE_MAX - walker->value.len)
		walker->too_long = true;
	else
		gp_buf_add(&walker->value, from, len);
}

/* More bytes of the value that is collected; *p is left behind those that are its. */
static int capture(struct walker *walker, const char **p, const char *end)
{
	const char *from = *p;

	for (; *p < end; ++*p) {
		char c = **p;

		if (walker->in_string) {
			if (walker->escaped)
				walker->escaped = false;
			else if (c == '\\')
				walker->escaped = true;
			else if (c == '"')
				walker->in_string = false;
		} else if (c == '"') {
			walker->in_string = true;
		} else if (c == '{' || c == '[') {
			walker->inside++;
		} else if ((c == '}' || c == ']') && --walker->inside == 0) {
			++*p;
			keep(walker, from, *p);
			return deliver(walker);
		}
	}
	keep(walker, from, end);
	return 0;
}

/* The path of the value that starts now; false when it does not fit, and so can match nothing. */
static bool set_path(struct walker *walker)
{
	const struct level *top = walker->depth ? &walker->levels[walker->depth - 1] : NULL;
	size_t base = top ? top->path_len : 0;
	const char *last = top && top->type == '{' ? walker->key : "#";
	size_t len = top && top->type == '{' ? walker->key_len : 1;

	walker->path_len = base;
	if (!top)
		return true;
	if (base + len + 2 > sizeof(walker->path))
		return false;
	walker->path[base] = '/';
	memcpy(walker->path + base + 1, last, len);
	walker->path_len = base + 1 + len;
	return true;
}

/* An object or array starts: it is collected, or gone into. */
static void open_value(struct walker *walker, char c)
{
	if (set_path(walker)) {
		for (size_t i = 0; i < walker->path_count; i++) {
			if (strlen(walker->paths[i]) != walker->path_len ||
			    memcmp(walker->paths[i], walker->path, walker->path_len) != 0)
				continue;
			walker->capturing = true;
			walker->which = i;
			walker->inside = 0;
			walker->too_long = false;
			walker->value.len = 0;
			return;
		}
	}
	if (walker->depth == GP_JSON_DEPTH_MAX) {
		walker->broken = true;
		return;
	}
	walker->levels[walker->depth++] = (struct level){
		.type = c,
		.path_len = walker->path_len,
		.expects_key = c == '{',
	};
}

static void string_byte(struct walker *walker, char c)
{
	if (walker->escaped) {
		walker->escaped = false;
	} else if (c == '\\') {
		walker->escaped = true;
	} else if (c == '"') {
		walker->in_string = false;
		return;
	}
	/* A key with escapes in it, or a longer one, is none of ours. */
	if (walker->is_key && walker->key_len < sizeof(walker->key))
		walker->key[walker->key_len++] = c;
}

static void close_level(struct walker *walker, char c)
{
	if (!walker->depth || walker->levels[walker->depth - 1].type != (c == '}' ? '{' : '[')) {
		walker->broken = true;
		return;
	}
	walker->done = --walker->depth == 0;
}

static void structure_byte(struct walker *walker, char c)
{
	struct level *top = walker->depth ? &walker->levels[walker->depth - 1] : NULL;

	switch (c) {
	case '"':
		walker->in_string = true;
		walker->is_key = top && top->expects_key;
		if (walker->is_key)
			walker->key_len = 0;
		break;
	case '{':
	case '[':
		open_value(walker, c);
		break;
	case '}':
	case ']':
		close_level(walker, c);
		break;
	case ':':
	case ',':
		if (top && top->type == '{')
			top->expects_key = c == ',';
		break;
	}
}

static int take(struct walker *walker, const char *p, const char *end)
{
	int ret = 0;

	while (p < end && !ret && !walker->broken && !walker->done) {
		if (walker->capturing) {
			ret = capture(walker, &p, end);
			continue;
		}
		if (walker->in_string)
			string_byte(walker, *p);
		/* Banners of the profiler may stand before the first bracket. */
		else if (walker->depth || *p == '{' || *p == '[')
			structure_byte(walker, *p);
		/* The first byte of a value to collect is collected too. */
		p += !walker->capturing;
	}
	return ret;
}

static int read_all(struct walker *walker, int fd, const char *name, struct gp_diag *diag,
		    char *buffer)
{
	int ret = 0;
	long got;

	while (!ret && !walker->broken && !walker->done &&
	       (got = gp_read_some(fd, buffer, BUFFER_SIZE)) != 0) {
		const char *command, *format = NULL;

		if (got < 0)
			return gp_fail(diag, (int)got, "%s: cannot read: %s", name,
				       strerror((int)-got));
		if (!walker->stats->bytes)
			format = gp_compression(buffer, (size_t)got, &command);
		if (format)
			return gp_fail(
				diag, -EINVAL,
				"%s is compressed (%s); decompress it first: %s FILE > NEWFILE",
				name, format, command);
		walker->stats->bytes += (u64)got;
		ret = take(walker, buffer, buffer + got);
	}
	walker->stats->cut = !walker->done;
	return ret;
}

int gp_json_walk(int fd, const char *name, struct gp_diag *diag, const char *const *paths,
		 size_t count, gp_json_fn fn, void *ctx, struct gp_json_stats *stats)
{
	struct walker *walker = calloc(1, sizeof(*walker));
	char *buffer = malloc(BUFFER_SIZE);
	int ret;

	memset(stats, 0, sizeof(*stats));
	if (walker && buffer) {
		walker->paths = paths;
		walker->path_count = count;
		walker->fn = fn;
		walker->ctx = ctx;
		walker->stats = stats;
		ret = read_all(walker, fd, name, diag, buffer);
		gp_buf_free(&walker->value);
	} else {
		ret = gp_fail(diag, -ENOMEM, "%s: out of memory", name);
	}
	free(walker);
	free(buffer);
	return ret;
}
