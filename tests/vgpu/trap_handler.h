/* SPDX-License-Identifier: MIT */
/*
 * The trap handler of a driver, for the tests that have it as a judge: cwsr_trap_handler.h that
 * GP_TRAP_HANDLER names, or one that the kernel testbed has downloaded. It is looked for when a
 * test runs: what was there when the build was configured may be gone.
 */
#ifndef GP_TEST_TRAP_HANDLER_H
#define GP_TEST_TRAP_HANDLER_H

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* NULL: there is none. One that was named is returned even if it cannot be read: that is an error
 * of the test. */
static inline const char *trap_handler(void)
{
	static char found[PATH_MAX];
	const char *named = getenv("GP_TRAP_HANDLER"), *kernels = getenv("GP_KERNEL_CACHE");
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char pattern[PATH_MAX];
	glob_t paths = {0};

	if (named && *named)
		return named;
	snprintf(pattern, sizeof(pattern), "%s%s/*/amd/amdkfd/cwsr_trap_handler.h",
		 kernels ? kernels
		 : cache ? cache
		 : home  ? home
			 : "",
		 kernels ? ""
		 : cache ? "/gpreempt/kernel"
			 : "/.cache/gpreempt/kernel");
	found[0] = '\0';
	if (!glob(pattern, 0, NULL, &paths))
		for (size_t i = 0; i < paths.gl_pathc && !found[0]; i++)
			if (!access(paths.gl_pathv[i], R_OK))
				snprintf(found, sizeof(found), "%s", paths.gl_pathv[i]);
	globfree(&paths);
	return found[0] ? found : NULL;
}

#endif
