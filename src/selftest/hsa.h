/* SPDX-License-Identifier: MIT */
/*
 * As much of HSA as the self-test's own GPU program uses, found in libhsa-runtime64.so.1 when it
 * runs: nothing of ROCm is needed to build it. Types and numbers are those of the HSA Runtime
 * Specification 1.2 (hsa.h of ROCr 5.2.3), which every ROCr has kept.
 */
#ifndef GP_SELFTEST_HSA_H
#define GP_SELFTEST_HSA_H

#include <stddef.h>
#include <stdint.h>

#define GP_HSA_LIBRARY     "libhsa-runtime64.so.1"
#define GP_HSA_INFO_NODE   16 /* HSA_AGENT_INFO_NODE: the KFD topology node */
#define GP_HSA_INFO_DEVICE 17
#define GP_HSA_INFO_ISA    19
#define GP_HSA_INFO_UNITS  0xa002 /* HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT */
#define GP_HSA_DEVICE_CPU  0
#define GP_HSA_DEVICE_GPU  1
#define GP_HSA_ISA_LENGTH  0 /* HSA_ISA_INFO_NAME_LENGTH, with its NUL */
#define GP_HSA_ISA_NAME    1
#define GP_HSA_QUEUE_MULTI 0
#define GP_HSA_LESS        2 /* HSA_SIGNAL_CONDITION_LT */
#define GP_HSA_BLOCKED     0 /* HSA_WAIT_STATE_BLOCKED */

/* hsa_executable_symbol_info_t: of a kernel */
#define GP_HSA_KERNARG_BYTES 11
#define GP_HSA_GROUP_BYTES   13
#define GP_HSA_PRIVATE_BYTES 14
#define GP_HSA_KERNEL_OBJECT 22

/* hsa_ext_amd.h: memory pools */
#define GP_HSA_POOL_SEGMENT 0
#define GP_HSA_POOL_FLAGS   1
#define GP_HSA_POOL_GLOBAL  0 /* segment */
#define GP_HSA_POOL_KERNARG 1 /* flag: host memory that CPU and GPU see alike */

struct gp_selftest_hsa_queue {
	uint32_t type, features;
	void *base;
	uint64_t doorbell;
	uint32_t size, reserved; /* packets */
	uint64_t id;
};
_Static_assert(offsetof(struct gp_selftest_hsa_queue, doorbell) == 16, "hsa_queue_t");
_Static_assert(sizeof(struct gp_selftest_hsa_queue) == 40, "hsa_queue_t");

/* Functions return an hsa_status_t: 0 is success. Agents and signals are handles. */
struct gp_selftest_hsa {
	int (*init)(void);
	int (*status_string)(int status, const char **text);
	int (*iterate_agents)(int (*found)(uint64_t agent, void *data), void *data);
	int (*agent_get_info)(uint64_t agent, int what, void *value);
	int (*queue_create)(uint64_t agent, uint32_t size, uint32_t type,
			    void (*error)(int status, struct gp_selftest_hsa_queue *queue,
					  void *data),
			    void *data, uint32_t private_bytes, uint32_t group_bytes,
			    struct gp_selftest_hsa_queue **queue);
	uint64_t (*queue_add_write_index)(const struct gp_selftest_hsa_queue *queue,
					  uint64_t count);
	uint64_t (*queue_read_index)(const struct gp_selftest_hsa_queue *queue);
	int (*signal_create)(int64_t value, uint32_t consumers, const void *agents,
			     uint64_t *signal);
	int64_t (*signal_load)(uint64_t signal);
	void (*signal_store)(uint64_t signal, int64_t value);
	int64_t (*signal_wait)(uint64_t signal, int condition, int64_t value, uint64_t ticks,
			       int state);
	int (*isa_get_info)(uint64_t isa, int what, void *value);
	int (*reader_create)(const void *code, size_t size, uint64_t *reader);
	int (*executable_create)(int profile, int rounding, const char *options,
				 uint64_t *executable);
	int (*executable_load)(uint64_t executable, uint64_t agent, uint64_t reader,
			       const char *options, uint64_t *loaded);
	int (*executable_freeze)(uint64_t executable, const char *options);
	int (*executable_symbol)(uint64_t executable, const char *name, const uint64_t *agent,
				 uint64_t *symbol);
	int (*symbol_get_info)(uint64_t symbol, int what, void *value);
	int (*iterate_pools)(uint64_t agent, int (*found)(uint64_t pool, void *data), void *data);
	int (*pool_get_info)(uint64_t pool, int what, void *value);
	int (*pool_allocate)(uint64_t pool, size_t size, uint32_t flags, void **memory);
	int (*allow_access)(uint32_t count, const uint64_t *agents, const uint32_t *flags,
			    const void *memory);
};

#endif
