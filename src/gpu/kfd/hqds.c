// SPDX-License-Identifier: MIT
/* Reader of debugfs hqds: one header and a dump of registers per hardware queue slot. */
#include <errno.h>
#include <stdlib.h>

#include "abi/kfd_hqd.h"
#include "base/i18n.h"
#include "base/parse.h"
#include "gpu/kfd/slot.h"
#include "gpu/kfd/text.h"

struct hqds {
	const struct gp_gpu_debugfs_source *source;
	struct gp_diag *diag;
	struct gp_kfd_slot_list *out;
	struct gp_kfd_lines lines;
	struct gp_kfd_doubts doubts;
	struct gp_kfd_slot slot; /* being read, if open */
	bool open;
	bool refused; /* the kernel printed an empty line where the rows should be */
	bool have_node;
	bool node_empty; /* nothing after the node line yet */
	u32 node_line;
	u32 node, gpu_id;
	size_t cp_words, sdma_words; /* words of the blocks seen so far; 0 = none */
	struct gp_kfd_block block;
};

/* "Inst 3,  " in front of a slot, since 6.5. */
static void parse_instance(const char **p, const char *end, struct gp_kfd_slot *slot)
{
	const char *start = *p;

	if (GP_PARSE_LITERAL(p, end, "Inst ") && gp_parse_u32(p, end, &slot->xcc) &&
	    GP_PARSE_LITERAL(p, end, ",")) {
		slot->valid |= GP_SLOT_XCC;
		gp_skip_blanks(p, end);
		return;
	}
	*p = start;
	slot->xcc = 0;
}

static bool parse_header(const struct gp_kfd_lines *lines, struct gp_kfd_slot *slot)
{
	const char *p = lines->p, *end = lines->end;

	gp_skip_blanks(&p, end);
	parse_instance(&p, end, slot);
	if (GP_PARSE_LITERAL(&p, end, "CP Pipe ")) {
		slot->kind = GP_SLOT_COMPUTE;
		slot->mec = 1;
		return gp_parse_u32(&p, end, &slot->pipe) &&
		       GP_PARSE_LITERAL(&p, end, ", Queue ") &&
		       gp_parse_u32(&p, end, &slot->queue) && p == end;
	}
	if (GP_PARSE_LITERAL(&p, end, "HIQ on MEC ")) {
		slot->kind = GP_SLOT_HIQ;
		return gp_parse_u32(&p, end, &slot->mec) && GP_PARSE_LITERAL(&p, end, " Pipe ") &&
		       gp_parse_u32(&p, end, &slot->pipe) && GP_PARSE_LITERAL(&p, end, " Queue ") &&
		       gp_parse_u32(&p, end, &slot->queue) && p == end;
	}
	if (GP_PARSE_LITERAL(&p, end, "SDMA Engine ")) {
		slot->kind = GP_SLOT_SDMA;
		return gp_parse_u32(&p, end, &slot->pipe) && GP_PARSE_LITERAL(&p, end, ", RLC ") &&
		       gp_parse_u32(&p, end, &slot->queue) && p == end;
	}
	return false;
}

static bool is_stopped(const struct gp_kfd_lines *lines)
{
	const char *p = lines->p;

	gp_skip_blanks(&p, lines->end);
	return GP_PARSE_LITERAL(&p, lines->end, "Device is stopped") && p == lines->end;
}

static u32 version_of(const struct hqds *hqds)
{
	return hqds->source->gfx_version
		       ? hqds->source->gfx_version(hqds->source->ctx, hqds->gpu_id)
		       : 0;
}

static bool cp_layout_known(const struct hqds *hqds, u32 version)
{
	if (version)
		return hqds->block.count == GP_HQD_WORDS && gp_kfd_block_contiguous(&hqds->block);
	return gp_kfd_block_cp_layout(&hqds->block) != GP_CP_UNKNOWN;
}

/* Leaves the words of a layout that is not known as they are. */
static void decode(struct hqds *hqds)
{
	const struct gp_kfd_sdma_layout *sdma = NULL;
	u32 version = version_of(hqds);

	if (version && !gp_kfd_gfx_has_layout(version))
		return;
	if (hqds->slot.kind == GP_SLOT_SDMA)
		sdma = gp_kfd_sdma_slot(version, &hqds->block);
	if (sdma)
		gp_kfd_slot_decode_sdma(&hqds->slot, sdma, hqds->block.words);
	else if (hqds->slot.kind != GP_SLOT_SDMA && cp_layout_known(hqds, version))
		gp_kfd_slot_decode_cp(&hqds->slot, hqds->block.words);
}

/* Words a block of this kind should have, as far as is known. */
static size_t expected_words(const struct hqds *hqds)
{
	if (hqds->slot.kind == GP_SLOT_SDMA)
		return hqds->sdma_words ? hqds->sdma_words : GP_SDMA_WORDS_MIN;
	return hqds->cp_words ? hqds->cp_words : GP_HQD_WORDS;
}

static int finish_slot(struct hqds *hqds, bool at_end)
{
	struct gp_kfd_slot *slot = &hqds->slot;
	bool missing, is_short;

	if (!hqds->open)
		return 0;
	hqds->open = false;
	is_short =
		hqds->block.count < expected_words(hqds) && !(hqds->refused && !hqds->block.count);
	missing = hqds->block.broken || is_short;
	if (at_end && missing) {
		hqds->doubts.cut_line = slot->line;
		return 0;
	}
	if (missing) {
		if (!hqds->doubts.broken++)
			hqds->doubts.broken_line = slot->line;
	} else if (hqds->block.count) {
		size_t *words = slot->kind == GP_SLOT_SDMA ? &hqds->sdma_words : &hqds->cp_words;

		*words = hqds->block.count;
		decode(hqds);
	}
	return gp_kfd_slot_push(hqds->out, slot, &hqds->block);
}

static void open_slot(struct hqds *hqds, const struct gp_kfd_slot *slot)
{
	hqds->slot = *slot;
	hqds->slot.node = hqds->node;
	hqds->slot.gpu_id = hqds->gpu_id;
	hqds->slot.line = hqds->lines.number;
	hqds->open = true;
	hqds->refused = false;
	hqds->node_empty = false;
	hqds->block.count = 0;
	hqds->block.broken = false;
}

static int take_row(struct hqds *hqds, enum gp_kfd_row_result result, const struct gp_kfd_row *row)
{
	if (!hqds->open) {
		if (hqds->have_node && hqds->node_empty && !hqds->out->count)
			return gp_kfd_wrong_file(hqds->source, hqds->diag, hqds->lines.number,
						 GP_FILE_RLS);
		gp_kfd_doubt_line(&hqds->doubts, hqds->lines.number);
	} else if (result == GP_ROW_BROKEN) {
		hqds->block.broken = true;
	} else {
		gp_kfd_block_add(&hqds->block, row);
	}
	return 0;
}

static int take_line(struct hqds *hqds)
{
	struct gp_kfd_slot slot = {0};
	struct gp_kfd_row row;
	enum gp_kfd_row_result result = gp_kfd_row_parse(&hqds->lines, &row);
	enum gp_gpu_debugfs_file file;
	int error;

	if (result != GP_ROW_NONE)
		return take_row(hqds, result, &row);
	if (gp_kfd_lines_blank(&hqds->lines)) {
		/* Blanks that the end of the text cut off may have been a row. */
		hqds->refused = hqds->open && !hqds->block.count && !hqds->lines.torn;
		if (hqds->lines.torn && hqds->have_node)
			hqds->doubts.cut_line = hqds->lines.number;
		return 0;
	}
	if (hqds->have_node && parse_header(&hqds->lines, &slot)) {
		error = finish_slot(hqds, false);
		open_slot(hqds, &slot);
		return error;
	}
	if (gp_kfd_node_parse(&hqds->lines, &hqds->node, &hqds->gpu_id)) {
		error = finish_slot(hqds, false);
		hqds->have_node = hqds->node_empty = true;
		hqds->node_line = hqds->lines.number;
		return error;
	}
	if (hqds->have_node && is_stopped(&hqds->lines)) {
		hqds->node_empty = false;
		gp_diag(hqds->diag, GP_NOTE, "%s:%u: GPU 0x%x is stopped and shows no queues",
			hqds->source->name, hqds->lines.number, hqds->gpu_id);
		return 0;
	}
	file = gp_kfd_line_file(&hqds->lines);
	if (!hqds->out->count && !hqds->open && (file == GP_FILE_MQDS || file == GP_FILE_RLS))
		return gp_kfd_wrong_file(hqds->source, hqds->diag, hqds->lines.number, file);
	/* A line torn by the end of the text is reported as a cut, not as unknown. */
	if (hqds->lines.torn && hqds->have_node)
		hqds->doubts.cut_line = hqds->lines.number;
	else
		gp_kfd_doubt_line(&hqds->doubts, hqds->lines.number);
	if (hqds->open && !hqds->refused && hqds->block.count < expected_words(hqds))
		hqds->block.broken = true;
	return 0;
}

int gp_kfd_parse_hqds(const struct gp_gpu_debugfs_source *source, struct gp_diag *diag,
		      struct gp_kfd_slot_list *out)
{
	struct hqds *hqds;
	int error = gp_kfd_text_check(source, diag);

	if (error)
		return error;
	hqds = calloc(1, sizeof(*hqds));
	if (!hqds)
		return -ENOMEM;
	hqds->source = source;
	hqds->diag = diag;
	hqds->out = out;
	gp_kfd_lines_init(&hqds->lines, source);
	while (!error && gp_kfd_lines_next(&hqds->lines))
		error = take_line(hqds);
	if (!error)
		error = finish_slot(hqds, true);
	if (!error && hqds->node_empty && !hqds->doubts.cut_line)
		hqds->doubts.cut_line = hqds->node_line;
	if (!error)
		error = gp_kfd_doubts_say(&hqds->doubts, source, diag, "hqds", hqds->have_node,
					  out->count > 0, &out->incomplete);
	free(hqds);
	if (error)
		gp_kfd_slot_list_free(out);
	return error;
}
