// SPDX-License-Identifier: MIT
/* Adds headlines and pictures to a document. */
#include <errno.h>
#include <stdlib.h>

#include "base/i18n.h"
#include "show/parts.h"

/* With a title that is shown as it is. */
static struct gp_show_block *add_named(struct gp_doc *doc, enum gp_show_block_type type,
				       const char *title)
{
	struct gp_show_block *block = gp_show_block_add(doc, type, NULL);

	if (block)
		block->title = gp_show_copy(doc, title);
	return block;
}

/* The picture that is being filled in, if it is one of these. */
static struct gp_show_block *current(struct gp_doc *doc, enum gp_show_block_type type)
{
	struct gp_show_block *block = gp_show_block_last(doc);

	return block && block->type == type ? block : NULL;
}

static void add_part(struct gp_doc *doc, struct gp_show_block *block, const char *name)
{
	if (block)
		gp_show_column_add(doc, block,
				   (struct gp_doc_column){.title = gp_show_copy(doc, name)});
}

static void add_values(struct gp_doc *doc, struct gp_show_block *block, const u64 *values,
		       size_t count)
{
	u64 *grown = reallocarray(block->values, block->value_count + count + 1, sizeof(*values));

	if (!grown) {
		doc->error = -ENOMEM;
		return;
	}
	memcpy(grown + block->value_count, values, count * sizeof(*values));
	block->values = grown;
	block->value_count += count;
}

void gp_doc_headline(struct gp_doc *doc, const char *figure, const char *text)
{
	struct gp_show_block *block = add_named(doc, GP_BLOCK_HEADLINE, text);

	if (block)
		block->key = gp_show_copy(doc, figure);
}

void gp_doc_series(struct gp_doc *doc, const char *key, const char *title, const u64 *values,
		   size_t count, u64 start, u64 step)
{
	struct gp_show_block *block = gp_show_block_add(doc, GP_BLOCK_SERIES, key);

	if (!block)
		return;
	block->title = gp_show_copy(doc, title ? gettext(title) : NULL);
	add_values(doc, block, values, count);
	block->start = start;
	block->step = step;
}

void gp_doc_curves(struct gp_doc *doc, const char *title)
{
	add_named(doc, GP_BLOCK_CURVES, title);
}

void gp_doc_curve(struct gp_doc *doc, const char *name, const u64 *ns, size_t count)
{
	struct gp_show_block *block = current(doc, GP_BLOCK_CURVES);

	if (!block)
		return;
	add_values(doc, block, ns, count);
	add_part(doc, block, name);
}

void gp_doc_chart(struct gp_doc *doc, const char *title)
{
	add_named(doc, GP_BLOCK_CHART, title);
}

void gp_doc_bar(struct gp_doc *doc, const char *name, struct gp_show_value value)
{
	struct gp_show_block *block = current(doc, GP_BLOCK_CHART);

	add_part(doc, block, name);
	gp_show_cell_add(doc, block, value);
}

void gp_doc_lanes(struct gp_doc *doc, const char *title, u64 from_ns, u64 to_ns)
{
	struct gp_show_block *block = add_named(doc, GP_BLOCK_LANES, title);

	if (!block)
		return;
	block->start = from_ns;
	block->step = to_ns > from_ns ? to_ns - from_ns : 1;
}

void gp_doc_lane(struct gp_doc *doc, const char *name)
{
	add_part(doc, current(doc, GP_BLOCK_LANES), name);
}

void gp_doc_lane_span(struct gp_doc *doc, u64 from_ns, u64 to_ns, enum gp_doc_span kind)
{
	struct gp_show_block *block = current(doc, GP_BLOCK_LANES);
	u64 end = block ? block->start + block->step : 0;

	if (!block || !block->column_count || from_ns >= end || to_ns <= block->start ||
	    to_ns < from_ns)
		return;
	from_ns = from_ns > block->start ? from_ns : block->start;
	to_ns = to_ns < end ? to_ns : end;
	add_values(doc, block,
		   (u64[]){block->column_count - 1, from_ns - block->start, to_ns - block->start,
			   kind},
		   4);
}
