// SPDX-License-Identifier: GPL-2.0
/*
 * Where the members of the driver's structures are, for a kernel whose modules
 * have no type information (before 5.11): kernel/testbed/layout has read it from
 * the objects that amdgpu.ko was linked from. It is for that build alone.
 */
#include <linux/module.h>
#include <linux/string.h>

#include "fakegpu.h"
#include "known_layout.h"

s64 fg_layout_offset(const struct fg_member *want)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(known_layout); i++) {
		const struct fg_member *known = &known_layout[i];

		if (strcmp(known->type, want->type) ||
		    !known->name != !want->name)
			continue;
		if (!want->name || !strcmp(known->name, want->name))
			return known->offset;
	}
	return -1;
}

int fg_layout_init(const struct fg_symbols *sym)
{
	struct module *(*find)(const char *name) =
		(void *)sym->lookup("find_module");
	const struct module *driver;
	int error = -ENOEXEC;

	preempt_disable();
	driver = find ? find("amdgpu") : NULL;
	if (driver && driver->srcversion &&
	    !strcmp(driver->srcversion, KNOWN_SRCVERSION))
		error = 0;
	preempt_enable();
	if (error)
		pr_err("fakegpu: this amdgpu is not the one that it was built with\n");
	return error;
}
