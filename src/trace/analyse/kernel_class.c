// SPDX-License-Identifier: MIT
#include "trace/analyse/kernel_class.h"

#include <string.h>

#include "base/i18n.h"

/* In this order: implicit-GEMM convolutions hold "gemm", attention kernels hold "softmax" and
 * "gemm", and nearly everything of PyTorch holds "elementwise". Compared in lower case. */
static const struct {
	const char *part;
	enum gp_trace_kernel_class kernel_class;
} parts[] = {
	{"nccl", GP_KERNEL_COMMUNICATION},
	{"rccl", GP_KERNEL_COMMUNICATION},
	{"allreduce", GP_KERNEL_COMMUNICATION},
	{"all_reduce", GP_KERNEL_COMMUNICATION},
	{"conv", GP_KERNEL_CONVOLUTION},
	{"igemm", GP_KERNEL_CONVOLUTION},
	{"winograd", GP_KERNEL_CONVOLUTION},
	{"im2col", GP_KERNEL_CONVOLUTION},
	{"attention", GP_KERNEL_ATTENTION},
	{"attn", GP_KERNEL_ATTENTION},
	{"fmha", GP_KERNEL_ATTENTION},
	{"flash", GP_KERNEL_ATTENTION},
	{"cijk_", GP_KERNEL_GEMM},
	{"gemm", GP_KERNEL_GEMM},
	{"matmul", GP_KERNEL_GEMM},
	{"gemv", GP_KERNEL_GEMM},
	{"softmax", GP_KERNEL_SOFTMAX},
	{"norm", GP_KERNEL_NORMALISATION},
	{"welford", GP_KERNEL_NORMALISATION},
	{"pool", GP_KERNEL_POOLING},
	{"fillbuffer", GP_KERNEL_FILL},
	{"memset", GP_KERNEL_FILL},
	{"fillfunctor", GP_KERNEL_FILL},
	{"copybuffer", GP_KERNEL_COPY},
	{"memcpy", GP_KERNEL_COPY},
	{"copy", GP_KERNEL_COPY},
	{"transpose", GP_KERNEL_COPY},
	{"reduce", GP_KERNEL_REDUCTION},
	{"reduction", GP_KERNEL_REDUCTION},
	{"embedding", GP_KERNEL_INDEXING},
	{"gather", GP_KERNEL_INDEXING},
	{"scatter", GP_KERNEL_INDEXING},
	{"index", GP_KERNEL_INDEXING},
	{"elementwise", GP_KERNEL_ELEMENTWISE},
	{"relu", GP_KERNEL_ELEMENTWISE},
	{"gelu", GP_KERNEL_ELEMENTWISE},
	{"add_", GP_KERNEL_ELEMENTWISE},
	{"vectoradd", GP_KERNEL_ELEMENTWISE},
	{"vadd", GP_KERNEL_ELEMENTWISE},
};

static const struct {
	const char *code, *name;
} words[GP_KERNEL_CLASSES] = {
	[GP_KERNEL_GEMM] = {"gemm", N_("GEMM")},
	[GP_KERNEL_CONVOLUTION] = {"convolution", N_("convolution")},
	[GP_KERNEL_ATTENTION] = {"attention", N_("attention")},
	[GP_KERNEL_SOFTMAX] = {"softmax", N_("softmax")},
	[GP_KERNEL_NORMALISATION] = {"normalisation", N_("normalisation")},
	[GP_KERNEL_POOLING] = {"pooling", N_("pooling")},
	[GP_KERNEL_ELEMENTWISE] = {"elementwise", N_("elementwise")},
	[GP_KERNEL_REDUCTION] = {"reduction", N_("reduction")},
	[GP_KERNEL_INDEXING] = {"indexing", N_("indexing")},
	[GP_KERNEL_COPY] = {"copy", N_("copy")},
	[GP_KERNEL_FILL] = {"fill", N_("fill")},
	[GP_KERNEL_COMMUNICATION] = {"communication", N_("communication")},
	[GP_KERNEL_OTHER] = {"other", N_("other")},
};

/* Longest name looked at; what a kernel is stands early, and names reach 4096 bytes. */
#define LOOK_AT 1024

enum gp_trace_kernel_class gp_trace_kernel_class(const char *name, size_t len)
{
	char lower[LOOK_AT];

	if (len > sizeof(lower))
		len = sizeof(lower);
	for (size_t i = 0; i < len; i++)
		lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
	for (size_t i = 0; i < GP_ARRAY_SIZE(parts); i++) {
		if (memmem(lower, len, parts[i].part, strlen(parts[i].part)))
			return parts[i].kernel_class;
	}
	return GP_KERNEL_OTHER;
}

const char *gp_trace_kernel_class_code(enum gp_trace_kernel_class kernel_class)
{
	return words[kernel_class].code;
}

const char *gp_trace_kernel_class_name(enum gp_trace_kernel_class kernel_class)
{
	return gettext(words[kernel_class].name);
}
