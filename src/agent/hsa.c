// SPDX-License-Identifier: MIT
/*
 * The runtime's side: ROCr loads the tools named in HSA_TOOLS_LIB, blanks between them, and hands
 * each its tables of functions in turn, so that a profiler's library and this one go on beside each
 * other. We put ourselves in front of the stores that ring doorbells or set signals, of the end of
 * a signal, and of the queue's priority.
 */
#include "agent/interpose.h"

#include "abi/amd_signal.h"
#include "abi/hsa_table.h"

typedef void store_function(u64 signal, s64 value);
typedef int destroy_function(u64 signal);
typedef int priority_function(void *queue, int priority);

enum core_hook { STORE_RELAXED, STORE_SCRELEASE, SILENT_RELAXED, SILENT_SCRELEASE, DESTROY, HOOKS };

/* The functions behind ours. Written once, before the program can use the tables. */
static struct {
	void *core[HOOKS];
	priority_function *set_priority;
	struct gp_agent *agent;
} behind;

/* A doorbell is a signal of its own kind that knows its queue; handles are addresses. */
static inline void notice(u64 handle, s64 value)
{
	const struct gp_amd_signal *signal = (const struct gp_amd_signal *)(uintptr_t)handle;

	if (!signal)
		return;
	if (signal->kind < 0)
		gp_agent_doorbell(behind.agent, signal->queue, (u64)value);
	else
		gp_agent_signal_reused(behind.agent, handle);
}

static inline void store(enum core_hook hook, u64 signal, s64 value)
{
	notice(signal, value);
	((store_function *)behind.core[hook])(signal, value);
}

static void store_relaxed(u64 signal, s64 value)
{
	store(STORE_RELAXED, signal, value);
}

static void store_screlease(u64 signal, s64 value)
{
	store(STORE_SCRELEASE, signal, value);
}

static void silent_relaxed(u64 signal, s64 value)
{
	store(SILENT_RELAXED, signal, value);
}

static void silent_screlease(u64 signal, s64 value)
{
	store(SILENT_SCRELEASE, signal, value);
}

static int destroy(u64 signal)
{
	gp_agent_signal_reused(behind.agent, signal);
	return ((destroy_function *)behind.core[DESTROY])(signal);
}

static int set_priority(void *queue, int priority)
{
	int result = behind.set_priority(queue, priority);

	/* Also where the runtime does not hand it on to the driver. */
	gp_agent_set_stream(behind.agent, (uintptr_t)queue, priority - GP_HSA_PRIORITY_NORMAL);
	return result;
}

static const struct {
	u32 index;
	void *ours;
} core_hooks[HOOKS] = {
	[STORE_RELAXED] = {GP_HSA_CORE_SIGNAL_STORE_RELAXED, (void *)store_relaxed},
	[STORE_SCRELEASE] = {GP_HSA_CORE_SIGNAL_STORE_SCRELEASE, (void *)store_screlease},
	[SILENT_RELAXED] = {GP_HSA_CORE_SIGNAL_SILENT_STORE_RELAXED, (void *)silent_relaxed},
	[SILENT_SCRELEASE] = {GP_HSA_CORE_SIGNAL_SILENT_STORE_SCRELEASE, (void *)silent_screlease},
	[DESTROY] = {GP_HSA_CORE_SIGNAL_DESTROY, (void *)destroy},
};

/* Newer runtimes (seen in October 2024's) take every loaded library with this name for a tool, also
 * where HSA_TOOLS_LIB does not name it. */
extern const u32 HSA_AMD_TOOL_PRIORITY;
GP_AGENT_EXPORT const u32 HSA_AMD_TOOL_PRIORITY = 0;

/* Puts `ours` into a table that is long enough, once. */
static void *replace(struct gp_hsa_functions *table, u32 index, void *ours)
{
	size_t end = offsetof(struct gp_hsa_functions, function[index + 1]);
	void *before;

	if (!table || table->version.minor_id < end)
		return NULL;
	before = table->function[index];
	if (!before || before == ours)
		return NULL;
	table->function[index] = ours;
	return before;
}

static u32 priority_index(const struct gp_hsa_functions *amd)
{
	if (amd && amd->version.major_id == 1 && amd->version.minor_id <= GP_HSA_AMD_TABLE_1_BYTES)
		return GP_HSA_AMD_QUEUE_SET_PRIORITY_1;
	if (amd && amd->version.major_id == 2)
		return GP_HSA_AMD_QUEUE_SET_PRIORITY_2;
	return 0;
}

bool OnLoad(struct gp_hsa_tables *tables, u64 runtime_version, u64 failed_tool_count,
	    const char *const *failed_tool_names);

GP_AGENT_EXPORT bool OnLoad(struct gp_hsa_tables *tables, u64 runtime_version,
			    u64 failed_tool_count, const char *const *failed_tool_names)
{
	u32 index = priority_index(tables->amd);
	void *before;

	(void)runtime_version, (void)failed_tool_count, (void)failed_tool_names;
	behind.agent = gp_agent_self();
	gp_agent_patch_runtime();
	for (u32 i = 0; i < HOOKS; i++) {
		before = replace(tables->core, core_hooks[i].index, core_hooks[i].ours);
		if (before)
			behind.core[i] = before;
	}
	if (behind.core[STORE_RELAXED] && behind.core[STORE_SCRELEASE])
		__atomic_store_n(&behind.agent->hooked, true, __ATOMIC_RELEASE);
	before = index ? replace(tables->amd, index, (void *)set_priority) : NULL;
	if (before)
		behind.set_priority = (priority_function *)before;
	return true;
}
