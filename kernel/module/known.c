// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What the functions of amdgpu are, for a driver without type information, as
 * the ROCm driver (DKMS) usually is: from its source. The script `known` has read
 * the signatures there into known.h, with the version of the driver; a driver
 * of another version is refused.
 */
#define pr_fmt(fmt) "gpreempt: " fmt

#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/static_call.h>
#include <linux/string.h>

#include "gpreempt.h"
#include "known.h"

DEFINE_STATIC_CALL_NULL(module_named, find_module);

static const char *signature_of(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known_functions); i++)
		if (!strcmp(known_functions[i].name, name))
			return known_functions[i].signature;
	return "nowhere in its source";
}

static bool same(const char *have, const char *want)
{
	return have && !strcmp(have, want);
}

int gp_inspect_init(void)
{
	struct module *driver;

	if (!GP_FIND(module_named, "find_module"))
		return -ENOENT;
	preempt_disable();	/* the list of modules is read under RCU */
	driver = static_call(module_named)(GP_DRIVER);
	if (driver && !try_module_get(driver))
		driver = NULL;
	preempt_enable();
	if (!driver) {
		pr_err("%s is not loaded\n", GP_DRIVER);
		return -ENOENT;
	}
	gp_driver_found(driver);
	if (KNOWN_SRCVERSION[0] ? same(driver->srcversion, KNOWN_SRCVERSION) :
				  same(driver->version, KNOWN_VERSION))
		return 0;
	pr_err("%s is version %s (%s), built for %s (%s)\n", GP_DRIVER,
	       driver->version ?: "unknown", driver->srcversion ?: "unknown",
	       KNOWN_VERSION, KNOWN_SRCVERSION[0] ? KNOWN_SRCVERSION : "any build");
	return -ENOEXEC;
}

bool gp_inspect_is(const char *name, const char *signature)
{
	return !strcmp(signature_of(name), signature);
}

int gp_inspect_check(const char *name, const char *expected, bool in_driver)
{
	if (gp_inspect_is(name, expected))
		return 0;
	pr_err("%s is %s, known is %s\n", name, signature_of(name), expected);
	return -ENOEXEC;
}

/* Only drivers before the debug trap are asked for members: `known` refuses those. */
int gp_holder_member(const char *structure, const char *name, const char *expected)
{
	pr_err("%s.%s is not known, expected is %s\n", structure, name, expected);
	return -1;
}
