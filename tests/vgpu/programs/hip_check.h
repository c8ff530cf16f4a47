/* SPDX-License-Identifier: MIT */
/* The HIP programs' part of check.h. */
#ifndef GP_PROGRAMS_HIP_CHECK_H
#define GP_PROGRAMS_HIP_CHECK_H

#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#include "check.h"

#define NOT_APPLICABLE 77 /* exit status: this version of HIP has no such call */

#define HIP(call)                                                                     \
	do {                                                                          \
		hipError_t error_ = (call);                                           \
		if (error_ != hipSuccess) {                                           \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
				hipGetErrorName(error_));                             \
			exit(1);                                                      \
		}                                                                     \
	} while (0)

/* PREFIX and the name of the first GPU, such as gfx90a. */
static inline const char *gpu_name(const char *prefix)
{
	static char text[2][320];
	static int turn;
	hipDeviceProp_t properties;

	turn = !turn;
	HIP(hipGetDeviceProperties(&properties, 0));
	snprintf(text[turn], sizeof(text[turn]), "%s%.*s", prefix,
		 (int)strcspn(properties.gcnArchName, ":"), properties.gcnArchName);
	return text[turn];
}

/* A kernel from source, by hiprtc. */
static inline hipFunction_t compile_kernel(const char *source, const char *name)
{
	const char *options[] = {gpu_name("--offload-arch=")};
	hiprtcProgram program;
	hipFunction_t function;
	hipModule_t module;
	size_t size;
	char *code;

	CHECK(hiprtcCreateProgram(&program, source, "kernel.hip", 0, NULL, NULL) == HIPRTC_SUCCESS);
	CHECK(hiprtcCompileProgram(program, 1, options) == HIPRTC_SUCCESS);
	CHECK(hiprtcGetCodeSize(program, &size) == HIPRTC_SUCCESS);
	code = malloc(size);
	CHECK(code && hiprtcGetCode(program, code) == HIPRTC_SUCCESS);
	HIP(hipModuleLoadData(&module, code));
	HIP(hipModuleGetFunction(&function, module, name));
	hiprtcDestroyProgram(&program);
	return function; /* its module lives as long as the program */
}

#endif
