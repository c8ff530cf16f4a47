// SPDX-License-Identifier: MIT
/* A library of ROCm: where the linker finds it, or where AMD's packages put it. */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "selftest/work.h"

#define OPT "/opt"

static int is_rocm(const struct dirent *entry)
{
	return strncmp(entry->d_name, "rocm-", 5) == 0;
}

void *gp_selftest_rocm_open(const char *name, char *why, size_t size)
{
	struct dirent **entries = NULL;
	void *library = dlopen(name, RTLD_NOW);
	const char *error = library ? NULL : dlerror();
	char path[512];
	int count = 0;

	/* Now: libraries that interpose functions used below clear it. */
	snprintf(why, size, "%s", error ? error : "");

	if (!library) {
		snprintf(path, sizeof(path), OPT "/rocm/lib/%s", name);
		library = dlopen(path, RTLD_NOW);
	}
	/* The newest of /opt/rocm-X.Y.Z, where nobody made the link. */
	if (!library)
		count = scandir(OPT, &entries, is_rocm, versionsort);
	for (int i = count - 1; i >= 0; i--) {
		snprintf(path, sizeof(path), OPT "/%s/lib/%s", entries[i]->d_name, name);
		library = library ? library : dlopen(path, RTLD_NOW);
		free(entries[i]);
	}
	free(entries);
	return library;
}
