/* SPDX-License-Identifier: MIT */
/*
 * The text that `hqd`, `mqd` and `runlist` decode: debugfs of the live system, a saved file or a
 * pipe, with one message when it cannot be read; and the queues that the user selected.
 */
#ifndef GP_INSPECT_KFD_INPUT_H
#define GP_INSPECT_KFD_INPUT_H

#include "base/buf.h"
#include "base/diag.h"
#include "base/file.h"
#include "gpu/kfd/debugfs.h"

struct gp_inspect_kfd_query {
	struct gp_root root;
	const char *file;       /* NULL: live; "-": standard input */
	const char *stdin_name; /* what messages call standard input */
	const char *mqds_file;  /* NULL: live descriptors with live text, none with a file */
	u32 gfx_version;        /* 0: find out */
	u32 pid;                /* 0: all */
	bool has_gpu;
	u32 gpu_id;
	bool partial; /* show the complete part of a damaged text */
};

/* "gfx942"; false if the name is not valid. */
bool gp_inspect_kfd_query_set_gfx(struct gp_inspect_kfd_query *query, const char *name);

/* A text with the name its messages use. */
struct gp_inspect_kfd_input {
	char name[4096];
	struct gp_buf text;
	bool live;
};

/* Reads `file`, or the debugfs path under the root when it is NULL. Errors have a message. */
int gp_inspect_kfd_input_read(const struct gp_inspect_kfd_query *query, const char *file,
			      const char *path, struct gp_diag *diag,
			      struct gp_inspect_kfd_input *out);
void gp_inspect_kfd_input_free(struct gp_inspect_kfd_input *input);
/* The command for a copy of a debugfs file that starts so; NULL: the text is another. */
const char *gp_inspect_kfd_command(const char *text, size_t len);
/* The source for a parser of gpu/kfd/debugfs.h; points into the input. */
struct gp_gpu_debugfs_source gp_inspect_kfd_input_source(const struct gp_inspect_kfd_query *query,
							 const struct gp_inspect_kfd_input *input,
							 struct gp_kfd_gfx *gfx);
/* After -EBADMSG from a parser: notes that --partial shows the rest. Returns the error. */
int gp_inspect_kfd_input_judge(int error, struct gp_diag *diag);

/* The register layouts to read with: forced by the user, or from the topology. */
int gp_inspect_kfd_query_gfx(const struct gp_inspect_kfd_query *query, struct gp_kfd_gfx *out);

/*
 * The descriptors that give slots and runlists their pids. If the user did not name the source, its
 * absence is not an error: *from is "" and the list empty.
 */
int gp_inspect_kfd_query_owners(const struct gp_inspect_kfd_query *query, struct gp_kfd_gfx *gfx,
				struct gp_diag *diag, struct gp_kfd_slot_list *out, char *from,
				size_t size);

/* Removes the slots that the user did not select. */
void gp_inspect_kfd_query_filter(const struct gp_inspect_kfd_query *query,
				 struct gp_kfd_slot_list *list);

#endif
