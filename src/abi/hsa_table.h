/* SPDX-License-Identifier: MIT */
/*
 * The entries that gpreempt replaces in the function tables that ROCr passes to tools
 * (HSA_TOOLS_LIB, OnLoad). Positions after hsa_api_trace.h of ROCr 5.2.3 (major 1) and of October
 * 2024 (core major 2, AMD extensions major 2); the core table has kept its order between them, the
 * AMD table has not.
 */
#ifndef GP_ABI_HSA_TABLE_H
#define GP_ABI_HSA_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct gp_hsa_table_version {
	uint32_t major_id;
	uint32_t minor_id; /* bytes of the table */
	uint32_t step_id, reserved;
};

/* CoreApiTable and AmdExtTable alike. */
struct gp_hsa_functions {
	struct gp_hsa_table_version version;
	void *function[];
};

struct gp_hsa_tables {
	struct gp_hsa_table_version version;
	struct gp_hsa_functions *core, *amd;
};
_Static_assert(offsetof(struct gp_hsa_functions, function) == 16, "first function");
_Static_assert(offsetof(struct gp_hsa_tables, amd) == 24, "second table");

#define GP_HSA_CORE_SIGNAL_DESTROY                38
#define GP_HSA_CORE_SIGNAL_STORE_RELAXED          41
#define GP_HSA_CORE_SIGNAL_STORE_SCRELEASE        42
#define GP_HSA_CORE_SIGNAL_SILENT_STORE_RELAXED   102
#define GP_HSA_CORE_SIGNAL_SILENT_STORE_SCRELEASE 103

/* hsa_amd_queue_set_priority: functions were put before it when the major changed. */
#define GP_HSA_AMD_QUEUE_SET_PRIORITY_1 37
#define GP_HSA_AMD_QUEUE_SET_PRIORITY_2 39
#define GP_HSA_AMD_TABLE_1_BYTES        400 /* 5.2.3; a longer table of major 1 is not known */

/* amd_signal_t's kind of a doorbell: of the AQL form, and of the older one. */
#define GP_AMD_SIGNAL_DOORBELL        (-1)
#define GP_AMD_SIGNAL_LEGACY_DOORBELL (-2)

/* hsa_amd_queue_priority_t */
enum gp_hsa_priority { GP_HSA_PRIORITY_LOW, GP_HSA_PRIORITY_NORMAL, GP_HSA_PRIORITY_HIGH };

#endif
