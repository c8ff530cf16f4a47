/* SPDX-License-Identifier: MIT */
/*
 * Kernel costs (data/kernels.json): how long a workgroup of a kernel runs, by the beginning of the
 * kernel's name. The virtual GPU writes the table to a file that every client maps.
 */
#ifndef GP_GPUFILE_KERNELS_H
#define GP_GPUFILE_KERNELS_H

#include "base/diag.h"

#define GP_GPUFILE_KERNEL_NAME 120 /* longer names are compared by their beginning */

struct gp_gpufile_kernel {
	char name[GP_GPUFILE_KERNEL_NAME];
	u64 workgroup_ns;
};
_Static_assert(sizeof(struct gp_gpufile_kernel) == 128, "kernel layout");

/*
 * Reads the file (NULL: the installed one). Longest names first, so that the first entry that is a
 * prefix of a kernel's name is its cost; the last has an empty name and is the default. The caller
 * frees *out.
 */
int gp_gpufile_kernels_load(const char *path, struct gp_diag *diag, struct gp_gpufile_kernel **out,
			    size_t *count);

#endif
