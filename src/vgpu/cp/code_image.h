/* SPDX-License-Identifier: MIT */
/*
 * Bytes of a code object, from a file, from memory or from the GPU's. Used to find the names and
 * arguments of kernels. The bytes belong to the program and may change while they are read: no read
 * can crash, and every length is checked.
 */
#ifndef GP_VGPU_CP_CODE_IMAGE_H
#define GP_VGPU_CP_CODE_IMAGE_H

#include <elf.h>

#include "vgpu/cp/cp_state.h"

#define GP_CP_URI_MAX 4096

struct gp_vgpu_cp_image {
	struct gp_vgpu_cp *cp; /* GPU memory; NULL = a file or memory of the process */
	u32 gpu_id;
	int fd; /* -1 = memory */
	u64 offset, size;
};

bool gp_vgpu_cp_image_read(const struct gp_vgpu_cp_image *image, u64 at, void *to, size_t size);
/* A string that may end anywhere; cut at `size`. */
bool gp_vgpu_cp_image_string(const struct gp_vgpu_cp_image *image, u64 at, char *to, size_t size);
/* What a URI in the list of ROCr names. */
bool gp_vgpu_cp_image_open(const char *uri, struct gp_vgpu_cp_image *image);
void gp_vgpu_cp_image_close(struct gp_vgpu_cp_image *image);
bool gp_vgpu_cp_image_header(const struct gp_vgpu_cp_image *image, Elf64_Ehdr *header);

#endif
