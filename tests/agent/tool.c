// SPDX-License-Identifier: MIT
/*
 * Another tool's library for HSA_TOOLS_LIB, as a profiler has: it stands in front of the same
 * function of the runtime's table as the agent and prints how often it was called.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "abi/hsa_table.h"

typedef void store_function(uint64_t signal, int64_t value);

static store_function *behind;
static unsigned long stores;

static void store(uint64_t signal, int64_t value)
{
	__atomic_add_fetch(&stores, 1, __ATOMIC_RELAXED);
	behind(signal, value);
}

bool OnLoad(struct gp_hsa_tables *tables, uint64_t version, uint64_t failed,
	    const char *const *names);
bool OnLoad(struct gp_hsa_tables *tables, uint64_t version, uint64_t failed,
	    const char *const *names)
{
	void **place = &tables->core->function[GP_HSA_CORE_SIGNAL_STORE_SCRELEASE];

	(void)version, (void)failed, (void)names;
	behind = (store_function *)*place;
	*place = (void *)store;
	return true;
}

__attribute__((destructor)) static void say(void)
{
	fprintf(stderr, "tool: %lu stores\n", stores);
}
