/* SPDX-License-Identifier: MIT */
/*
 * Shared by the three debugfs readers: lines, hex rows, and messages for text of another kind.
 * Private to gpu/kfd.
 */
#ifndef GP_GPU_KFD_TEXT_H
#define GP_GPU_KFD_TEXT_H

#include "base/diag.h"
#include "gpu/kfd/debugfs.h"

struct gp_kfd_lines {
	const char *next, *limit;
	const char *p, *end; /* the current line, without its end */
	u32 number;
	bool torn; /* the current line ends with the text, not with a newline */
};

void gp_kfd_lines_init(struct gp_kfd_lines *lines, const struct gp_gpu_debugfs_source *source);
bool gp_kfd_lines_next(struct gp_kfd_lines *lines);
bool gp_kfd_lines_blank(const struct gp_kfd_lines *lines);

#define GP_ROW_WORDS 8

/* "    0000c914: 003d0000 ...": 1 to 8 words. */
struct gp_kfd_row {
	u32 address;
	u32 words[GP_ROW_WORDS];
	size_t count;
};

enum gp_kfd_row_result { GP_ROW_NONE, GP_ROW_OK, GP_ROW_BROKEN };

enum gp_kfd_row_result gp_kfd_row_parse(const struct gp_kfd_lines *lines, struct gp_kfd_row *row);

/* "Node 1, gpu_id 5f6c:" */
bool gp_kfd_node_parse(const struct gp_kfd_lines *lines, u32 *node, u32 *gpu_id);

/* Refuses text that cannot be any of the three: compressed or binary. 0 or -EINVAL, said. */
int gp_kfd_text_check(const struct gp_gpu_debugfs_source *source, struct gp_diag *diag);

/* The one of the three files that the line belongs to, if it is certain. */
enum gp_gpu_debugfs_file { GP_FILE_ANY, GP_FILE_HQDS, GP_FILE_MQDS, GP_FILE_RLS };
enum gp_gpu_debugfs_file gp_kfd_line_file(const struct gp_kfd_lines *lines);

/* Counts lines and blocks that could not be parsed, for one message at the end. */
struct gp_kfd_doubts {
	size_t unknown; /* lines */
	u32 unknown_line;
	size_t broken; /* blocks with missing or garbled rows */
	u32 broken_line;
	u32 cut_line; /* the block that the end of the text cut; 0 = none */
};

void gp_kfd_doubt_line(struct gp_kfd_doubts *doubts, u32 line);
/*
 * `found`: anything of this format was there; `complete`: at least one whole block. Returns 0, or
 * -EINVAL when the text is not of this format or was cut before anything was complete, or -EBADMSG
 * when it is damaged and the source does not want parts. *incomplete: it is damaged.
 */
int gp_kfd_doubts_say(const struct gp_kfd_doubts *doubts,
		      const struct gp_gpu_debugfs_source *source, struct gp_diag *diag,
		      const char *format, bool found, bool complete, bool *incomplete);
/* "FILE:LINE: this is a copy of mqds ..."; returns -EINVAL. */
int gp_kfd_wrong_file(const struct gp_gpu_debugfs_source *source, struct gp_diag *diag, u32 line,
		      enum gp_gpu_debugfs_file is);

#endif
