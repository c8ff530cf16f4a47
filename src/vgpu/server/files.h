/* SPDX-License-Identifier: MIT */
/*
 * Writing the tree of a virtual GPU: paths are absolute as a client sees them ("/sys/...") and
 * land under <directory>/root. Files and directories appear and disappear at once (rename), so that
 * a reader never meets half of one. Errors are remembered in the writer; a caller writes many
 * files and checks once.
 */
#ifndef GP_VGPU_SERVER_FILES_H
#define GP_VGPU_SERVER_FILES_H

#include "base/buf.h"

struct gp_vgpu_files {
	const char *directory; /* of the machine */
	int error;             /* 0 or the first -errno */
};

/* A file, with the directories above it. */
void gp_vgpu_files_write(struct gp_vgpu_files *files, const char *path, const void *data,
			 size_t size);
/* One number or word and a newline. */
void gp_vgpu_files_number(struct gp_vgpu_files *files, u64 value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void gp_vgpu_files_text(struct gp_vgpu_files *files, const char *text, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* An empty file in the place of a device that every user may open: access(2) asks for its mode. */
void gp_vgpu_files_device(struct gp_vgpu_files *files, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* An empty directory, with those above it. */
void gp_vgpu_files_directory(struct gp_vgpu_files *files, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A symbolic link; the target is written as it is. */
void gp_vgpu_files_link(struct gp_vgpu_files *files, const char *target, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * A directory that must appear whole: begin, write under gp_vgpu_files_staging(), publish. One at a
 * time.
 */
const char *gp_vgpu_files_staging(void);
void gp_vgpu_files_begin(struct gp_vgpu_files *files);
void gp_vgpu_files_publish(struct gp_vgpu_files *files, const char *path);
/* A file or a directory with all it holds goes, at once as seen from outside. */
void gp_vgpu_files_remove(struct gp_vgpu_files *files, const char *path);

#endif
