// SPDX-License-Identifier: MIT
/*
 * Reader of debugfs mqds: per process and queue the descriptor in memory, once per XCC. A dump that
 * starts again at offset 0 under the same header belongs to the next XCC.
 */
#include <errno.h>
#include <stdlib.h>

#include "abi/kfd_hqd.h"
#include "base/parse.h"
#include "gpu/kfd/slot.h"
#include "gpu/kfd/text.h"

struct mqds {
	const struct gp_gpu_debugfs_source *source;
	struct gp_diag *diag;
	struct gp_kfd_slot_list *out;
	struct gp_kfd_lines lines;
	struct gp_kfd_doubts doubts;
	bool have_process;
	u32 pid;
	u64 pasid;
	struct gp_kfd_slot slot; /* being read, if open */
	bool open;
	u32 xcc;                          /* dumps finished under this header */
	size_t compute_words, sdma_words; /* words of the dumps seen so far; 0 = none */
	struct gp_kfd_block block;
};

/*
 * "Process 171 PASID 0x1:". Kernels since 6.14 have a PASID per device and print the pid again, in
 * decimal: that is not a PASID; the result is 0, which the hardware reserves for the kernel.
 */
static bool parse_process(struct mqds *mqds)
{
	const char *p = mqds->lines.p, *end = mqds->lines.end;
	u32 pid;
	u64 pasid;
	bool hex;

	if (!GP_PARSE_LITERAL(&p, end, "Process ") || !gp_parse_u32(&p, end, &pid) ||
	    !GP_PARSE_LITERAL(&p, end, " PASID "))
		return false;
	hex = end - p > 2 && p[0] == '0' && p[1] == 'x';
	if (!(hex ? gp_parse_hex(&p, end, &pasid) : gp_parse_u64(&p, end, &pasid)) ||
	    !GP_PARSE_LITERAL(&p, end, ":") || p != end)
		return false;
	mqds->pid = pid;
	mqds->pasid = !hex && pasid == pid ? 0 : pasid;
	mqds->have_process = true;
	return true;
}

static bool parse_header(const struct gp_kfd_lines *lines, struct gp_kfd_slot *slot)
{
	const char *p = lines->p, *end = lines->end;
	u64 id;

	gp_skip_blanks(&p, end);
	if (GP_PARSE_LITERAL(&p, end, "Compute queue on device "))
		slot->kind = GP_SLOT_COMPUTE;
	else if (GP_PARSE_LITERAL(&p, end, "SDMA queue on device "))
		slot->kind = GP_SLOT_SDMA;
	else if (GP_PARSE_LITERAL(&p, end, "DIQ on device "))
		slot->kind = GP_SLOT_DIQ;
	else
		return false;
	if (!gp_parse_hex(&p, end, &id) || id > UINT32_MAX || p != end)
		return false;
	slot->gpu_id = (u32)id;
	return true;
}

static void decode_sdma(struct mqds *mqds, u32 version)
{
	const struct gp_kfd_sdma_layout *layout = gp_kfd_sdma_descriptor(version, &mqds->block);

	if (!layout)
		return;
	gp_kfd_slot_decode_sdma(&mqds->slot, layout, mqds->block.words);
	gp_kfd_sdma_place(layout, mqds->block.words, &mqds->slot);
}

/* Leaves the words of a layout that is not known as they are. */
static void decode(struct mqds *mqds)
{
	const struct gp_gpu_debugfs_source *source = mqds->source;
	struct gp_kfd_slot *slot = &mqds->slot;
	const struct gp_kfd_block *block = &mqds->block;
	u32 version = source->gfx_version ? source->gfx_version(source->ctx, slot->gpu_id) : 0;

	if (version && !gp_kfd_gfx_has_layout(version))
		return;
	if (slot->kind == GP_SLOT_SDMA)
		decode_sdma(mqds, version);
	else if (block->count == GP_MQD_WORDS && (version || block->words[0] == GP_MQD_HEADER))
		gp_kfd_slot_decode_cp(slot, block->words + GP_MQD_BLOCK);
	/* The VMID is the firmware's choice; until it saved the queue once there is none. */
	if (!slot->vmid)
		slot->valid &= ~(u32)GP_SLOT_VMID;
}

static size_t expected_words(const struct mqds *mqds)
{
	if (mqds->slot.kind == GP_SLOT_SDMA)
		return mqds->sdma_words ? mqds->sdma_words : GP_SDMA_MQD_WORDS;
	return mqds->compute_words ? mqds->compute_words : GP_MQD_WORDS;
}

static int finish_dump(struct mqds *mqds, bool at_end)
{
	struct gp_kfd_slot *slot = &mqds->slot;
	bool missing = mqds->block.broken || mqds->block.count < expected_words(mqds);
	int error;

	if (!mqds->open)
		return 0;
	mqds->open = false;
	if (missing && at_end) {
		mqds->doubts.cut_line = slot->line;
		return 0;
	}
	if (missing) {
		if (!mqds->doubts.broken++)
			mqds->doubts.broken_line = slot->line;
	} else {
		*(slot->kind == GP_SLOT_SDMA ? &mqds->sdma_words : &mqds->compute_words) =
			mqds->block.count;
		decode(mqds);
	}
	slot->xcc = mqds->xcc;
	if (mqds->xcc) {
		slot->valid |= GP_SLOT_XCC;
		mqds->out->items[mqds->out->count - 1].valid |= GP_SLOT_XCC;
	}
	error = gp_kfd_slot_push(mqds->out, slot, &mqds->block);
	mqds->xcc++;
	return error;
}

static void open_dump(struct mqds *mqds, const struct gp_kfd_slot *header)
{
	mqds->slot = (struct gp_kfd_slot){.kind = header->kind,
					  .node = GP_SLOT_NO_NODE,
					  .gpu_id = header->gpu_id,
					  .pid = mqds->pid,
					  .pasid = mqds->pasid,
					  .line = header->line};
	mqds->open = true;
	mqds->block.count = 0;
	mqds->block.broken = false;
}

static int take_row(struct mqds *mqds, enum gp_kfd_row_result result, const struct gp_kfd_row *row)
{
	struct gp_kfd_slot header = mqds->slot;
	int error = 0;

	if (!mqds->open) {
		gp_kfd_doubt_line(&mqds->doubts, mqds->lines.number);
		return 0;
	}
	if (result == GP_ROW_OK && row->address == 0 && mqds->block.count) {
		error = finish_dump(mqds, false);
		header.line = mqds->lines.number;
		open_dump(mqds, &header);
	}
	if (result == GP_ROW_BROKEN || row->address != mqds->block.count * 4)
		mqds->block.broken = true;
	else
		gp_kfd_block_add(&mqds->block, row);
	return error;
}

static int take_line(struct mqds *mqds)
{
	struct gp_kfd_slot header = {0};
	struct gp_kfd_row row;
	enum gp_kfd_row_result result = gp_kfd_row_parse(&mqds->lines, &row);
	enum gp_gpu_debugfs_file file;
	u32 node, gpu_id;
	int error;

	if (result != GP_ROW_NONE)
		return take_row(mqds, result, &row);
	if (gp_kfd_lines_blank(&mqds->lines))
		return 0;
	if (mqds->have_process && parse_header(&mqds->lines, &header)) {
		error = finish_dump(mqds, false);
		mqds->xcc = 0;
		header.line = mqds->lines.number;
		open_dump(mqds, &header);
		return error;
	}
	if (parse_process(mqds))
		return finish_dump(mqds, false);
	file = gp_kfd_node_parse(&mqds->lines, &node, &gpu_id) ? GP_FILE_HQDS
							       : gp_kfd_line_file(&mqds->lines);
	if (!mqds->have_process && file == GP_FILE_HQDS) {
		/* hqds and rls start with the same line; the next one differs. */
		u32 line = mqds->lines.number;
		bool is_rls = gp_kfd_lines_next(&mqds->lines) &&
			      gp_kfd_line_file(&mqds->lines) != GP_FILE_HQDS;

		return gp_kfd_wrong_file(mqds->source, mqds->diag, line,
					 is_rls ? GP_FILE_RLS : GP_FILE_HQDS);
	}
	if (mqds->lines.torn && mqds->have_process)
		mqds->doubts.cut_line = mqds->lines.number;
	else
		gp_kfd_doubt_line(&mqds->doubts, mqds->lines.number);
	if (mqds->open && mqds->block.count < expected_words(mqds))
		mqds->block.broken = true;
	return 0;
}

int gp_kfd_parse_mqds(const struct gp_gpu_debugfs_source *source, struct gp_diag *diag,
		      struct gp_kfd_slot_list *out)
{
	struct mqds *mqds;
	int error = gp_kfd_text_check(source, diag);

	if (error)
		return error;
	mqds = calloc(1, sizeof(*mqds));
	if (!mqds)
		return -ENOMEM;
	mqds->source = source;
	mqds->diag = diag;
	mqds->out = out;
	gp_kfd_lines_init(&mqds->lines, source);
	while (!error && gp_kfd_lines_next(&mqds->lines))
		error = take_line(mqds);
	if (!error)
		error = finish_dump(mqds, true);
	if (!error)
		error = gp_kfd_doubts_say(&mqds->doubts, source, diag, "mqds", mqds->have_process,
					  out->count > 0, &out->incomplete);
	free(mqds);
	if (error)
		gp_kfd_slot_list_free(out);
	return error;
}
