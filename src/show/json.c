// SPDX-License-Identifier: MIT
/* A document as JSON. */
#include "show/parts.h"

/* Where members go: the innermost object or array that is open. References are borrowed. */
struct place {
	json_t *stack[GP_DOC_DEPTH];
	size_t depth;
};

static json_t *innermost(const struct place *place)
{
	return place->stack[place->depth];
}

/* Takes over the reference to value. */
static int put(const struct place *place, const char *key, json_t *value)
{
	json_t *into = innermost(place);

	if (json_is_array(into))
		return json_array_append_new(into, value);
	if (key)
		return json_object_set_new(into, key, value);
	json_decref(value);
	return 0;
}

static void push(struct place *place, const char *key, json_t *value)
{
	/* Without a key the members are those of the enclosing object. */
	bool same = !key && json_is_object(innermost(place));
	json_t *into = same ? innermost(place) : value;

	/* Without memory its members are dropped: jansson takes NULL for an object that failed. */
	if (put(place, key, value))
		into = NULL;
	place->stack[++place->depth] = into;
}

static json_t *row_json(const struct gp_show_block *block, size_t row)
{
	json_t *json = json_object();

	for (size_t c = 0; c < block->column_count; c++) {
		const struct gp_show_value *value = &block->cells[row * block->column_count + c];

		if (block->columns[c].key && value->unit != GP_UNIT_ABSENT)
			json_object_set_new(json, block->columns[c].key, gp_show_value_json(value));
	}
	return json;
}

static void put_table(const struct place *place, const struct gp_show_block *block)
{
	bool in_list = json_is_array(innermost(place));
	json_t *rows = in_list ? json_incref(innermost(place)) : json_array();

	for (size_t r = 0; r < gp_show_block_rows(block); r++)
		json_array_append_new(rows, row_json(block, r));
	if (in_list)
		json_decref(rows);
	else
		put(place, block->key, rows);
}

static json_t *series_json(const struct gp_show_block *block)
{
	json_t *values = json_array();

	for (size_t i = 0; i < block->value_count; i++)
		json_array_append_new(values, gp_json_u64_if(true, block->values[i]));
	return json_pack("{s:o, s:o, s:o}", "start_ns", gp_json_u64_if(true, block->start),
			 "step_ns", gp_json_u64_if(true, block->step), "values", values);
}

static void put_note(const struct place *place, const char *text)
{
	json_t *notes = json_object_get(innermost(place), "notes");

	if (!json_is_object(innermost(place)))
		return;
	if (!notes) {
		notes = json_array();
		json_object_set_new(innermost(place), "notes", notes);
	}
	json_array_append_new(notes, gp_json_str(text));
}

static void put_block(struct place *place, const struct gp_show_block *block)
{
	switch (block->type) {
	case GP_BLOCK_SECTION:
		place->depth = 0;
		push(place, block->key, json_object());
		break;
	case GP_BLOCK_OPEN:
		push(place, block->key, json_object());
		break;
	case GP_BLOCK_LIST:
		push(place, block->key, json_array());
		break;
	case GP_BLOCK_CLOSE:
		place->depth--;
		break;
	case GP_BLOCK_FACT:
		if (block->key && block->value.unit != GP_UNIT_ABSENT)
			put(place, block->key, gp_show_value_json(&block->value));
		break;
	case GP_BLOCK_NOTE:
		put_note(place, block->title);
		break;
	case GP_BLOCK_TABLE:
		put_table(place, block);
		break;
	case GP_BLOCK_SERIES:
		if (block->key)
			put(place, block->key, series_json(block));
		break;
	case GP_BLOCK_LINE:
	case GP_BLOCK_HEADLINE:
	case GP_BLOCK_CURVES:
	case GP_BLOCK_CHART:
	case GP_BLOCK_LANES:
		break;
	}
}

json_t *gp_doc_json(const struct gp_doc *doc)
{
	struct place place = {0};

	if (gp_doc_error(doc))
		return NULL;
	place.stack[0] = doc->kind == GP_DOC_LIST ? json_array() : json_object();
	if (!place.stack[0])
		return NULL;
	if (doc->kind == GP_DOC_REPORT)
		json_object_set_new(place.stack[0], "report", gp_json_str(doc->name));
	for (size_t i = 0; i < doc->count; i++)
		put_block(&place, &doc->blocks[i]);
	return place.stack[0];
}
