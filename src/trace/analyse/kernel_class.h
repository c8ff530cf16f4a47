/* SPDX-License-Identifier: MIT */
/* The class of a GPU kernel, guessed from its name (mangled or not). */
#ifndef GP_TRACE_ANALYSE_KERNEL_CLASS_H
#define GP_TRACE_ANALYSE_KERNEL_CLASS_H

#include "base/types.h"

enum gp_trace_kernel_class {
	GP_KERNEL_GEMM,
	GP_KERNEL_CONVOLUTION,
	GP_KERNEL_ATTENTION,
	GP_KERNEL_SOFTMAX,
	GP_KERNEL_NORMALISATION,
	GP_KERNEL_POOLING,
	GP_KERNEL_ELEMENTWISE,
	GP_KERNEL_REDUCTION,
	GP_KERNEL_INDEXING,
	GP_KERNEL_COPY,
	GP_KERNEL_FILL,
	GP_KERNEL_COMMUNICATION,
	GP_KERNEL_OTHER,
	GP_KERNEL_CLASSES,
};

enum gp_trace_kernel_class gp_trace_kernel_class(const char *name, size_t len);
/* The word for JSON; never translated. */
const char *gp_trace_kernel_class_code(enum gp_trace_kernel_class kernel_class);
/* The word for people. */
const char *gp_trace_kernel_class_name(enum gp_trace_kernel_class kernel_class);

#endif
