/* SPDX-License-Identifier: MIT */
/*
 * The few functions of CUDA's driver library the benchmark programs use, taken from libcuda.so.1 at
 * run time: no toolkit is needed to build them.
 */
#ifndef GP_BENCH_CU_H
#define GP_BENCH_CU_H

#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;

enum {
	CU_STREAM_NON_BLOCKING = 1,
	CU_EVENT_DISABLE_TIMING = 2,
	CU_MEMHOSTREGISTER_DEVICEMAP = 2,
	CU_MEMHOSTALLOC_DEVICEMAP = 2,
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
	CU_JIT_ERROR_LOG_BUFFER = 5,
	CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};

/* X(name, symbol, arguments) */
#define CU_FUNCTIONS(X)                                                                            \
	X(Init, "cuInit", (unsigned flags))                                                        \
	X(DriverGetVersion, "cuDriverGetVersion", (int *version))                                  \
	X(DeviceGet, "cuDeviceGet", (CUdevice * device, int ordinal))                              \
	X(DeviceGetName, "cuDeviceGetName", (char *name, int size, CUdevice device))               \
	X(DeviceGetAttribute, "cuDeviceGetAttribute",                                              \
	  (int *value, int attribute, CUdevice device))                                            \
	X(PrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext * context, CUdevice device))    \
	X(CtxSetCurrent, "cuCtxSetCurrent", (CUcontext context))                                   \
	X(CtxSynchronize, "cuCtxSynchronize", (void))                                              \
	X(ModuleLoadDataEx, "cuModuleLoadDataEx",                                                  \
	  (CUmodule * module, const void *image, unsigned count, int *options, void **values))     \
	X(ModuleGetFunction, "cuModuleGetFunction",                                                \
	  (CUfunction * function, CUmodule module, const char *name))                              \
	X(FuncSetAttribute, "cuFuncSetAttribute", (CUfunction function, int attribute, int value)) \
	X(MemAlloc, "cuMemAlloc_v2", (CUdeviceptr * pointer, size_t size))                         \
	X(MemsetD8, "cuMemsetD8_v2", (CUdeviceptr pointer, unsigned char value, size_t size))      \
	X(MemcpyDtoH, "cuMemcpyDtoH_v2", (void *to, CUdeviceptr from, size_t size))                \
	X(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                                 \
	  (CUdeviceptr to, const void *from, size_t size, CUstream stream))                        \
	X(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                                 \
	  (void *to, CUdeviceptr from, size_t size, CUstream stream))                              \
	X(MemHostAlloc, "cuMemHostAlloc", (void **pointer, size_t size, unsigned flags))           \
	X(MemHostRegister, "cuMemHostRegister_v2", (void *pointer, size_t size, unsigned flags))   \
	X(MemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2",                                 \
	  (CUdeviceptr * device, void *host, unsigned flags))                                      \
	X(StreamCreate, "cuStreamCreate", (CUstream * stream, unsigned flags))                     \
	X(StreamSynchronize, "cuStreamSynchronize", (CUstream stream))                             \
	X(EventCreate, "cuEventCreate", (CUevent * event, unsigned flags))                         \
	X(EventRecord, "cuEventRecord", (CUevent event, CUstream stream))                          \
	X(EventSynchronize, "cuEventSynchronize", (CUevent event))                                 \
	X(GetErrorString, "cuGetErrorString", (CUresult result, const char **text))                \
	X(LaunchKernel, "cuLaunchKernel",                                                          \
	  (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,   \
	   unsigned bz, unsigned shared, CUstream stream, void **parameters, void **extra))

struct cu {
#define X(name, symbol, arguments) CUresult(*name) arguments;
	CU_FUNCTIONS(X)
#undef X
};

#endif
