// SPDX-License-Identifier: MIT
#include "show/page.h"

#include <errno.h>

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static enum gp_show_colour colour_of(const json_t *json)
{
	const char *name = text_of(json, "colour");

	if (!name)
		return GP_PLAIN;
	return strcmp(name, "red") == 0      ? GP_RED
	       : strcmp(name, "green") == 0  ? GP_GREEN
	       : strcmp(name, "yellow") == 0 ? GP_YELLOW
					     : GP_PLAIN;
}

static struct gp_show_value value_of(const json_t *json)
{
	static const struct {
		const char *key;
		enum gp_show_unit unit;
		bool real;
	} units[] = {{"ns", GP_UNIT_NS, false},
		     {"bytes", GP_UNIT_BYTES, false},
		     {"percent", GP_UNIT_PERCENT, true},
		     {"rate", GP_UNIT_RATE, true},
		     {"real", GP_UNIT_REAL, true}};
	struct gp_show_value value = gp_v_missing();

	if (json_is_string(json))
		return gp_v_text(json_string_value(json));
	if (json_is_integer(json))
		return gp_v_count((u64)json_integer_value(json));
	if (json_is_real(json))
		return gp_v_real(GP_UNIT_REAL, json_real_value(json));
	for (size_t i = 0; i < GP_ARRAY_SIZE(units); i++) {
		const json_t *number = json_object_get(json, units[i].key);

		if (!json_is_number(number))
			continue;
		value = units[i].real ? gp_v_real(units[i].unit, json_number_value(number))
				      : gp_v_number(units[i].unit, (u64)json_number_value(number));
	}
	if (text_of(json, "text"))
		value = value.unit == GP_UNIT_MISSING ? gp_v_text(text_of(json, "text"))
						      : gp_v_as(value, text_of(json, "text"));
	value.colour = colour_of(json);
	return value;
}

static bool put_table(struct gp_doc *doc, const json_t *block)
{
	const json_t *columns = json_object_get(block, "columns"), *item, *row;
	size_t i, k;

	gp_doc_table(doc, NULL, text_of(block, "table"));
	json_array_foreach(columns, i, item)
	{
		const json_t *bar;

		gp_doc_column(doc, NULL, json_string_value(item));
		json_array_foreach(json_object_get(block, "bars"), k, bar)
		{
			if ((size_t)json_integer_value(bar) == i)
				gp_doc_bars(doc);
		}
	}
	json_array_foreach(json_object_get(block, "rows"), i, row)
	{
		if (json_array_size(row) != json_array_size(columns))
			return false;
		json_array_foreach(row, k, item)
		{
			struct gp_show_value value = value_of(item);

			gp_doc_cell(doc, value);
			gp_doc_paint(doc, value.colour);
		}
	}
	return json_array_size(columns) != 0;
}

/* The name and the rest of ["name", rest]. */
static const char *pair(const json_t *json, const json_t **rest)
{
	*rest = json_array_get(json, 1);
	return *rest ? json_string_value(json_array_get(json, 0)) : NULL;
}

static bool put_chart(struct gp_doc *doc, const json_t *block)
{
	const json_t *item, *value;
	size_t i;

	gp_doc_chart(doc, text_of(block, "chart"));
	json_array_foreach(json_object_get(block, "of"), i, item)
	{
		const char *name = pair(item, &value);

		if (!name)
			return false;
		gp_doc_bar(doc, name, value_of(value));
	}
	return true;
}

#define POINTS 1001

/* All curves of a picture have as many points. */
static bool put_curves(struct gp_doc *doc, const json_t *block)
{
	const json_t *item, *points, *point;
	size_t i, k, count = 0;
	u64 ns[POINTS];

	gp_doc_curves(doc, text_of(block, "curves"));
	json_array_foreach(json_object_get(block, "of"), i, item)
	{
		const char *name = pair(item, &points);

		if (!name || json_array_size(points) > POINTS ||
		    (i && json_array_size(points) != count))
			return false;
		count = json_array_size(points);
		json_array_foreach(points, k, point)
		{
			ns[k] = (u64)json_number_value(point);
		}
		gp_doc_curve(doc, name, ns, count);
	}
	return true;
}

static bool put_spans(struct gp_doc *doc, const json_t *spans)
{
	static const char *const kinds[GP_SPAN_KINDS] = {"runs", "waits", "suspended"};
	const json_t *span;
	size_t i;

	json_array_foreach(spans, i, span)
	{
		const char *name = json_string_value(json_array_get(span, 2));
		u32 kind = 0;

		while (name && kind < GP_SPAN_KINDS && strcmp(name, kinds[kind]) != 0)
			kind++;
		if (!name || kind == GP_SPAN_KINDS)
			return false;
		gp_doc_lane_span(doc, (u64)json_number_value(json_array_get(span, 0)),
				 (u64)json_number_value(json_array_get(span, 1)),
				 (enum gp_doc_span)kind);
	}
	return true;
}

static bool put_lanes(struct gp_doc *doc, const json_t *block)
{
	const json_t *item, *spans;
	u64 from, to;
	size_t i;

	if (!gp_json_get_u64(block, "from_ns", &from) || !gp_json_get_u64(block, "to_ns", &to))
		return false;
	gp_doc_lanes(doc, text_of(block, "lanes"), from, to);
	json_array_foreach(json_object_get(block, "of"), i, item)
	{
		const char *name = pair(item, &spans);

		if (!name)
			return false;
		gp_doc_lane(doc, name);
		if (!put_spans(doc, spans))
			return false;
	}
	return true;
}

static bool put_block(struct gp_doc *doc, const json_t *block)
{
	struct gp_show_value value = value_of(json_object_get(block, "value"));

	if (text_of(block, "headline"))
		gp_doc_headline(doc, text_of(block, "headline"), text_of(block, "text"));
	else if (text_of(block, "section"))
		gp_doc_section(doc, NULL, text_of(block, "section"));
	else if (text_of(block, "line"))
		gp_doc_line(doc, "%s", text_of(block, "line"));
	else if (text_of(block, "note"))
		gp_doc_note(doc, "%s", text_of(block, "note"));
	else if (text_of(block, "fact"))
		gp_doc_fact(doc, NULL, text_of(block, "fact"), value);
	else if (json_object_get(block, "table"))
		return put_table(doc, block);
	else if (text_of(block, "chart"))
		return put_chart(doc, block);
	else if (text_of(block, "lanes"))
		return put_lanes(doc, block);
	else
		return text_of(block, "curves") && put_curves(doc, block);
	return true;
}

struct gp_doc *gp_show_page(const json_t *json, struct gp_diag *diag)
{
	struct gp_doc *doc = gp_doc_new_answer();
	const json_t *block;
	size_t i;

	gp_doc_title(doc, text_of(json, "title"));
	json_array_foreach(json_object_get(json, "blocks"), i, block)
	{
		if (put_block(doc, block))
			continue;
		gp_fail(diag, -EINVAL, "block %zu of the page is malformed", i + 1);
		gp_doc_free(doc);
		return NULL;
	}
	return doc;
}
